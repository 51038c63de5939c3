/* Registers a member under /consumers/<group>/ids, with 0.8.2's rules for a node that is there
 * already (ZkUtils.createEphemeralPathExpectConflictHandleZKBug): the same data counts as a lost
 * answer to our own create; else it is taken for the node of an ended session of ours that
 * ZooKeeper has not removed yet: sleep a session timeout, try again, for ever. */
#ifndef ZKC_GROUP_REGISTRAR_H
#define ZKC_GROUP_REGISTRAR_H

#include "zkconsumer/core/group/creator.h"

struct registrar {
    enum {
        REGISTRAR_IDLE,
        REGISTRAR_CREATING,
        REGISTRAR_COMPARING,
        REGISTRAR_READING,
        REGISTRAR_WAITING
    } state;
    const char *path;  /* borrowed */
    struct bytes data; /* borrowed */
    struct creator creator;
    unsigned conflicts;
    int64_t holder_session; /* whose node it is, after REGISTRAR_WAIT */
};

enum registrar_step {
    REGISTRAR_SEND,   /* send op */
    REGISTRAR_WAIT,   /* somebody holds the node: wait a session timeout, then registrar_begin() */
    REGISTRAR_DONE,   /* registered */
    REGISTRAR_FAILED, /* *zk_rc: another error; ZK_SYSTEM_ERROR: out of memory */
};

/* Begins, or tries again after REGISTRAR_WAIT. `path` and `data` must stay until the end. */
enum registrar_step registrar_begin(struct registrar *r, const char *path, struct bytes data,
                                    struct zk_op *op, int *zk_rc);
enum registrar_step registrar_next(struct registrar *r, const struct zk_result *answer,
                                   struct zk_op *op, int *zk_rc);
void registrar_deinit(struct registrar *r);

#endif
