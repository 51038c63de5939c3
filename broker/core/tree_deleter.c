#include "broker/core/tree_deleter.h"
#include <stdlib.h>
#include <string.h>

#define AGAIN_MAX 16

static void list(struct tree_deleter *d, struct zk_op *op)
{
    d->is_deleting = false;
    *op = (struct zk_op){.type = ZK_OP_CHILDREN, .path = d->path};
}

static void delete (struct tree_deleter *d, struct zk_op *op)
{
    d->is_deleting = true;
    *op = (struct zk_op){.type = ZK_OP_DELETE, .path = d->path, .version = ZK_ANY_VERSION};
}

enum zkc_err tree_deleter_begin(struct tree_deleter *d, const char *path, struct zk_op *op)
{
    *d = (struct tree_deleter){.path = strdup(path), .cap = strlen(path) + 1};
    if (!d->path)
        return ZKC_ERR_NOMEM;
    d->levels[0].len = d->cap - 1;
    list(d, op);
    return ZKC_OK;
}

static void free_level(struct tree_level *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->children[i]);
    free(l->children);
    l->children = NULL;
    l->count = 0;
}

static bool take_children(struct tree_level *l, const struct zk_result *answer)
{
    free_level(l);
    if (!answer->children_count)
        return true;
    l->children = calloc(answer->children_count, sizeof *l->children);
    if (!l->children)
        return false;
    /* Taken from the end later: so the server's order stays. */
    for (size_t i = answer->children_count; i-- > 0;) {
        l->children[l->count] = strdup(answer->children[i]);
        if (!l->children[l->count])
            return false;
        l->count++;
    }
    return true;
}

/* Into the next child of the node under way. */
static bool descend(struct tree_deleter *d)
{
    struct tree_level *l = &d->levels[d->depth];
    char *name = l->children[l->count - 1];
    size_t len = l->len + 1 + strlen(name);
    if (len + 1 > d->cap) {
        char *grown = realloc(d->path, len + 1);
        if (!grown)
            return false;
        d->path = grown;
        d->cap = len + 1;
    }
    d->path[l->len] = '/';
    strcpy(d->path + l->len + 1, name);
    free(name);
    l->count--;
    d->depth++;
    d->levels[d->depth] = (struct tree_level){.len = len};
    return true;
}

/* The node under way is done with: on to its parent. */
static void ascend(struct tree_deleter *d)
{
    free_level(&d->levels[d->depth]);
    d->depth--;
    d->path[d->levels[d->depth].len] = '\0';
}

/* What to do at the node under way, whose children are known. */
static bool go_on(struct tree_deleter *d, struct zk_op *op, int *zk_rc)
{
    if (!d->levels[d->depth].count) {
        delete (d, op);
        return true;
    }
    *zk_rc = ZK_BAD_ARGUMENTS;
    if (d->depth + 1 == TREE_DEPTH_MAX)
        return false;
    *zk_rc = ZK_SYSTEM_ERROR;
    if (!descend(d))
        return false;
    list(d, op);
    return true;
}

bool tree_deleter_next(struct tree_deleter *d, const struct zk_result *answer, struct zk_op *op,
                       int *zk_rc)
{
    *zk_rc = answer->zk_rc;
    if (d->is_deleting && answer->zk_rc == ZK_NOT_EMPTY && d->again++ < AGAIN_MAX) {
        list(d, op);
        return true;
    }
    if (answer->zk_rc != ZK_OK && answer->zk_rc != ZK_NO_NODE)
        return false;
    if (!d->is_deleting && answer->zk_rc == ZK_OK) {
        *zk_rc = ZK_SYSTEM_ERROR;
        return take_children(&d->levels[d->depth], answer) && go_on(d, op, zk_rc);
    }
    *zk_rc = ZK_OK;
    if (d->depth == 0)
        return false;
    ascend(d);
    return go_on(d, op, zk_rc);
}

void tree_deleter_deinit(struct tree_deleter *d)
{
    for (size_t i = 0; i <= d->depth && d->path; i++)
        free_level(&d->levels[i]);
    free(d->path);
    *d = (struct tree_deleter){.path = NULL};
}
