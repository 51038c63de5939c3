/* Deletes a node and everything below it, bottom up, as zkclient's deleteRecursive does: list the
 * children, each of them the same way, then the node. What is gone already is as good as deleted.
 * An op program as creator.h. */
#ifndef ZKC_BROKER_TREE_DELETER_H
#define ZKC_BROKER_TREE_DELETER_H

#include "zkconsumer/core/zk/op.h"
#include <zkconsumer/error.h>

#define TREE_DEPTH_MAX 8 /* deeper trees are none of Kafka's, and are left alone */

struct tree_level {
    char **children; /* owned; those still to do */
    size_t count;
    size_t len; /* of the path up to here */
};

struct tree_deleter {
    char *path; /* owned; of the node under way, cut at the current level */
    size_t cap;
    struct tree_level levels[TREE_DEPTH_MAX];
    size_t depth;     /* of the node under way */
    bool is_deleting; /* its delete is under way; else the list of its children */
    unsigned again;   /* children that came while we deleted: lists taken again */
};

/* The first operation. ZKC_ERR_NOMEM. *d is overwritten. */
ZKC_MUST_CHECK enum zkc_err tree_deleter_begin(struct tree_deleter *d, const char *path,
                                               struct zk_op *op);

/* True: send op. False: ended; *zk_rc is ZK_OK when nothing is left, ZK_SYSTEM_ERROR without
 * memory, ZK_BAD_ARGUMENTS for a tree that is too deep, or what a server refused. */
bool tree_deleter_next(struct tree_deleter *d, const struct zk_result *answer, struct zk_op *op,
                       int *zk_rc);

void tree_deleter_deinit(struct tree_deleter *d);

#endif
