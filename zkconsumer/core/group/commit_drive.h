/* The one way to carry out what an offset committer wants: operations go into GROUP_LANE_COMMIT,
 * what is for Kafka goes to the offset manager. Both are their owner's; so are the jobs. */
#ifndef ZKC_GROUP_COMMIT_DRIVE_H
#define ZKC_GROUP_COMMIT_DRIVE_H

#include "zkconsumer/core/group/offset_committer.h"
#include "zkconsumer/core/group/offset_manager.h"

/* Borrowed for the call. */
struct commit_drive {
    struct offset_committer *committer;
    struct offset_manager *manager;
    struct lane *lanes;
    bool is_connected;
    unsigned tries; /* of a commit to Kafka; 1 or more */
};

struct commit_ended {
    uint32_t job;
    enum zkc_err err;
    struct why why; /* "" when there is nothing to say */
};

/* Goes on, with the answer in GROUP_LANE_COMMIT or with NULL. True: a job has ended; tell of it,
 * and call again with NULL: the next may begin. */
bool commit_drive(const struct commit_drive *d, const struct zk_result *answer,
                  struct commit_ended *ended, struct group_outputs *out);

/* Takes what the offset manager has said to the running job, if it has, and goes on with that. True
 * as above. */
bool commit_drive_stored(const struct commit_drive *d, struct commit_ended *ended,
                         struct group_outputs *out);

/* Emits a GROUP_OUT_COMMITTED. */
void commit_tell_ended(const struct commit_ended *ended, struct group_outputs *out);

#endif
