/* Numbers for names: the first name is 0, and so on. A name is a text with a number (a partition is
 * its topic and number; a session has no text). Grows up to its maximum. */
#ifndef STUDY_CHECK_NAMES_H
#define STUDY_CHECK_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define NAMES_NONE UINT32_MAX

struct name {
    char *text; /* owned */
    uint64_t number;
    uint64_t hash;
};

struct names {
    struct name *list;
    uint32_t count, cap, max;
    uint32_t *slots; /* place in list + 1; 0: free */
    uint32_t slot_count;
};

void names_init(struct names *n, uint32_t max);
void names_deinit(struct names *n);

/* NAMES_NONE: not there. */
uint32_t names_find(const struct names *n, const char *text, uint64_t number);
/* Adds it if it is not there. NAMES_NONE: out of memory, or at the maximum. */
uint32_t names_add(struct names *n, const char *text, uint64_t number);
/* Takes back the name that was added last. */
void names_drop(struct names *n);

#endif
