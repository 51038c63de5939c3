/* A set of offsets, as runs that neither touch nor overlap. */
#ifndef STUDY_CHECK_OFFSETS_H
#define STUDY_CHECK_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct offset_run {
    int64_t first, last;
};

struct offsets {
    struct offset_run *runs; /* owned; ascending */
    size_t count, cap;
};

void offsets_deinit(struct offsets *s);

/* Adds first .. last (first <= last). *twice: how many of them were there before. False: out of
 * memory; nothing has changed. */
bool offsets_add(struct offsets *s, int64_t first, int64_t last, uint64_t *twice);

/* How many of first .. last are in the set; none when last < first. */
uint64_t offsets_count(const struct offsets *s, int64_t first, int64_t last);

/* The first one from `first` on that is not in the set. */
int64_t offsets_missing(const struct offsets *s, int64_t first);

#endif
