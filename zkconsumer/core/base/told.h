/* A trouble that is tried again and fails again: whoever must know of it is told when it begins,
 * and when its cause is another, not with each attempt. */
#ifndef ZKC_BASE_TOLD_H
#define ZKC_BASE_TOLD_H

#include <stdbool.h>
#include <stdint.h>

/* One for each thing that is tried. Zeroed, nothing has been told. */
struct told {
    uint64_t cause; /* that was told last; 0: none, or it is over */
};

/* Whether to tell of it, which counts as done then. `cause` is not 0. */
bool told_is_news(struct told *t, uint64_t cause);

/* It has gone well: the next failure is news. */
void told_over(struct told *t);

/* A cause that is a text; never 0. */
uint64_t told_hash(const char *text);

/* For things that are many, and fail together: a few of them are told of, and no other while these
 * go on. Zeroed, nothing has been told. */
#define TOLD_CAUSES_MAX 16

struct told_causes {
    struct told_one {
        uint64_t cause;  /* 0: free */
        int64_t last_ms; /* when it was last seen */
    } list[TOLD_CAUSES_MAX];
};

/* As told_is_news(). What has not been seen for quiet_ms is over. */
bool told_causes_is_news(struct told_causes *t, uint64_t cause, int64_t now_ms, int64_t quiet_ms);

/* This one has gone well. */
void told_causes_over(struct told_causes *t, uint64_t cause);

#endif
