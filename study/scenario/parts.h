/* What the files of this folder share. */
#ifndef STUDY_SCENARIO_PARTS_H
#define STUDY_SCENARIO_PARTS_H

#include "study/scenario/scenario.h"

struct entry {
    char *key, *value; /* owned */
    size_t line;       /* 0: set afterwards */
};

struct scenario {
    char *file;
    struct entry *entries;
    size_t count, cap;
};

/* A value being read. */
struct reading {
    const struct scenario *scenario;
    const struct entry *entry;
    struct why *why;
    struct arena *arena;
};

/* Says what is wrong with the entry: "FILE:LINE: KEY: expected ..., found "VALUE"". Always false.
 */
bool refuse(const struct reading *r, const char *fmt, ...) ZKC_PRINTF(2, 3);

/* Each reads at *at and moves it on. False, and *at as it was: it is not there. */
bool read_natural(const char **at, uint64_t *out);
bool read_duration(const char **at, uint64_t *ns); /* 200us, 1.5s */
bool read_word(const char **at, const char *word); /* followed by a blank or the end */
void skip_blanks(const char **at);

struct fault_list {
    struct sim_fault *list; /* in the arena */
    size_t count, cap;
};

/* What faults may name. */
struct names_known {
    uint64_t members, late; /* m1 .. m(members), then late ones */
    uint64_t servers, brokers;
    const struct sim_topic *topics;
    size_t topic_count;
    uint64_t run_ns;
};

/* Adds the faults of one line: one for each of several members. */
bool read_fault(const struct reading *r, const struct names_known *known, struct fault_list *out);

/* The faults that a seed draws, as lines from fault.(first) on: a random subset of all kinds, and
 * of those count faults of random times and sizes. */
ZKC_MUST_CHECK enum zkc_err swarm_draw(struct scenario *s, const struct names_known *known,
                                       uint64_t count, uint64_t seed);
ZKC_MUST_CHECK enum zkc_err scenario_append(struct scenario *s, const char *key, const char *value);

#endif
