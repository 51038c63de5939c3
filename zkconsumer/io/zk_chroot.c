/* Makes the nodes of the chroot: the last one is tried first, for it mostly exists or has a parent;
 * then up while parents are missing, and down again. Where a parent's ACL lets nobody make nodes a
 * server says so before it looks whether there is one: then that is asked. */
#include "zkconsumer/io/zk_session_internal.h"

#include <stdlib.h>

struct walk {
    struct zk_session *s;
    zk_result_fn *fn;
    void *user;
    char *path;     /* owned: the whole chroot */
    size_t len;     /* of the node under way */
    unsigned steps; /* left: somebody may delete what we make */
};

static void try_create(struct walk *walk);

static size_t parent_len(const char *path, size_t len)
{
    while (len > 0 && path[len - 1] != '/')
        len--;
    return len > 0 ? len - 1 : 0;
}

static size_t child_len(const char *path, size_t len)
{
    return len + 1 + strcspn(path + len + 1, "/");
}

static void ask(struct walk *walk, enum zk_op_type type, zk_result_fn *fn)
{
    struct zk_op op = {.type = type};
    char end = walk->path[walk->len];

    walk->path[walk->len] = '\0';
    zk_request_send(walk->s, walk->path, &op, fn, walk);
    walk->path[walk->len] = end;
}

static void go_on(struct walk *walk, int zk_rc)
{
    if (walk->steps > 0) {
        size_t len = walk->len;
        if (zk_rc == ZK_OK && walk->path[len] != '\0')
            len = child_len(walk->path, len);
        else if (zk_rc == ZK_NO_NODE)
            len = parent_len(walk->path, len);
        if (len != walk->len && len > 0) {
            walk->len = len;
            try_create(walk);
            return;
        }
    }
    walk->fn(&(struct zk_result){.zk_rc = zk_rc}, walk->user);
    free(walk->path);
    free(walk);
}

/* Whether there is what we may not make. */
static void on_looked(const struct zk_result *result, void *user)
{
    go_on(user, result->zk_rc == ZK_NO_NODE ? ZK_NO_AUTH : result->zk_rc);
}

static void on_created(const struct zk_result *result, void *user)
{
    struct walk *walk = user;

    if (result->zk_rc == ZK_NO_AUTH)
        ask(walk, ZK_OP_EXISTS, on_looked);
    else
        go_on(walk, result->zk_rc == ZK_NODE_EXISTS ? ZK_OK : result->zk_rc);
}

static void try_create(struct walk *walk)
{
    walk->steps--;
    ask(walk, ZK_OP_CREATE, on_created);
}

void zk_session_ensure_chroot(struct zk_session *s, zk_result_fn *fn, void *user)
{
    struct walk *walk;
    unsigned nodes = 0;

    if (s->chroot_len == 0) {
        zk_request_answer(s, ZK_OK, fn, user);
        return;
    }
    walk = malloc(sizeof *walk);
    if (!walk)
        abort(); /* zk_session_send() */
    *walk = (struct walk){
        .s = s, .fn = fn, .user = user, .path = strdup(s->chroot), .len = s->chroot_len};
    if (!walk->path)
        abort();
    for (const char *c = s->chroot; *c; c++)
        nodes += *c == '/';
    walk->steps = 3 * nodes + 1;
    try_create(walk);
}
