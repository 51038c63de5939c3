/* Which of the assigned partitions have been read up to the end that they had when they were
 * assigned (--exit-at-end). Values in, answers out; no clock, no calls. */
#ifndef ZKC_CLI_ENDS_H
#define ZKC_CLI_ENDS_H

#include "zkconsumer/core/base/topic_partition.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ends_partition {
    char *topic; /* owned */
    int32_t partition;
    int64_t end;      /* of its log, as first seen after the assignment; -1: not seen yet */
    int64_t position; /* next offset to read; -1: not known yet */
    bool is_reached;  /* position >= end, once */
    bool is_standing; /* cannot go on (an error about it); counts as finished, not as reached */
    bool is_start_committed; /* or is being so */
    bool is_still_ours;      /* scratch of ends_update() */
};

struct ends {
    struct ends_partition *list; /* owned; sorted by topic and partition */
    size_t count;
    size_t cap;
};

void ends_init(struct ends *e);
void ends_deinit(struct ends *e);

/* The owned partitions now: call begin, then add for each, then commit. What was not added is
 * forgotten; what comes back later starts anew. False: out of memory. */
void ends_update_begin(struct ends *e);
bool ends_update_add(struct ends *e, struct topic_partition tp);
void ends_update_commit(struct ends *e);

/* NULL: not assigned. Lent until the next update. */
struct ends_partition *ends_find(struct ends *e, struct topic_partition tp);

/* What is known now; -1: not known. The first end that is known counts. True if the partition has
 * reached it by this. */
bool ends_observe(struct ends_partition *p, int64_t position, int64_t end);

/* True if every assigned partition is finished, and with none assigned. */
bool ends_all_finished(const struct ends *e);
size_t ends_standing_count(const struct ends *e);

#endif
