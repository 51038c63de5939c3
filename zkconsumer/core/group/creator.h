/* Creates a node and the parents it lacks, in the order of Kafka 0.8's ZkUtils on zkclient: the
 * node; on "no node" its parent, on "no node" again the parent's parent, and so on upwards; then
 * downwards each once more, the node last. Parents are persistent with null data, and one that
 * exists is as good as one created.
 *
 * An op program: creator_begin() gives the first operation, creator_next() takes an answer and
 * gives the next. */
#ifndef ZKC_GROUP_CREATOR_H
#define ZKC_GROUP_CREATOR_H

#include "zkconsumer/core/zk/op.h"
#include <zkconsumer/error.h>

struct creator {
    char *path;        /* owned; cut at `at` while a parent is created */
    size_t len;        /* of the whole path */
    size_t at;         /* length of the path being created */
    struct bytes data; /* borrowed until the end */
    bool ephemeral;
    unsigned steps;
};

/* `path` is copied, `data` must stay until the end. ZKC_ERR_NOMEM. */
ZKC_MUST_CHECK enum zkc_err creator_begin(struct creator *c, const char *path, struct bytes data,
                                          bool ephemeral, struct zk_op *op);

/* True: send op. False: ended, and *zk_rc is what became of the node itself (ZK_OK,
 * ZK_NODE_EXISTS, or an error of it or of a parent). */
bool creator_next(struct creator *c, int answer, struct zk_op *op, int *zk_rc);

void creator_deinit(struct creator *c);

#endif
