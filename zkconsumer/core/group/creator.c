#include "zkconsumer/core/group/creator.h"
#include "zkconsumer/core/zk/path.h"
#include <stdlib.h>

/* Each level is created twice at most, but for nodes that others delete meanwhile. */
#define STEPS_MAX 64

static void fill(const struct creator *c, struct zk_op *op)
{
    bool leaf = c->at == c->len;
    *op = (struct zk_op){
        .type = ZK_OP_CREATE,
        .path = c->path,
        .data = leaf ? c->data : BYTES_NULL,
        .ephemeral = leaf && c->ephemeral,
    };
}

enum zkc_err creator_begin(struct creator *c, const char *path, struct bytes data, bool ephemeral,
                           struct zk_op *op)
{
    *c = (struct creator){.path = strdup(path), .data = data, .ephemeral = ephemeral};
    if (!c->path)
        return ZKC_ERR_NOMEM;
    c->len = c->at = strlen(path);
    fill(c, op);
    return ZKC_OK;
}

/* Cuts the path before its last element. False at the root. */
static bool go_up(struct creator *c)
{
    size_t parent = zk_path_parent_length(c->path);
    if (parent == 0)
        return false;
    c->path[parent] = 0;
    c->at = parent;
    return true;
}

static void go_down(struct creator *c)
{
    c->path[c->at] = '/';
    c->at += strlen(c->path + c->at);
}

bool creator_next(struct creator *c, int answer, struct zk_op *op, int *zk_rc)
{
    bool leaf = c->at == c->len;
    bool made = answer == ZK_OK || answer == ZK_NODE_EXISTS;
    *zk_rc = answer;
    if (answer != ZK_NO_NODE && (leaf || !made))
        return false;
    *zk_rc = ZK_NO_NODE; /* of the node itself, should this be the end */
    if (++c->steps >= STEPS_MAX)
        return false;
    if (made)
        go_down(c);
    else if (!go_up(c))
        return false;
    fill(c, op);
    return true;
}

void creator_deinit(struct creator *c)
{
    free(c->path);
    *c = (struct creator){0};
}
