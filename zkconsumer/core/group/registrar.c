#include "zkconsumer/core/group/registrar.h"
#include <assert.h>

enum registrar_step registrar_begin(struct registrar *r, const char *path, struct bytes data,
                                    struct zk_op *op, int *zk_rc)
{
    r->path = path;
    r->data = data;
    r->state = REGISTRAR_CREATING;
    creator_deinit(&r->creator);
    if (creator_begin(&r->creator, path, data, true, op) != ZKC_OK) {
        *zk_rc = ZK_SYSTEM_ERROR;
        return REGISTRAR_FAILED;
    }
    return REGISTRAR_SEND;
}

static enum registrar_step read_it(struct registrar *r, int state, struct zk_op *op)
{
    r->state = state;
    *op = (struct zk_op){.type = ZK_OP_GET, .path = r->path};
    return REGISTRAR_SEND;
}

enum registrar_step registrar_next(struct registrar *r, const struct zk_result *answer,
                                   struct zk_op *op, int *zk_rc)
{
    *zk_rc = answer->zk_rc;
    switch (r->state) {
    case REGISTRAR_CREATING:
        if (creator_next(&r->creator, answer->zk_rc, op, zk_rc))
            return REGISTRAR_SEND;
        if (*zk_rc == ZK_OK)
            break;
        return *zk_rc == ZK_NODE_EXISTS ? read_it(r, REGISTRAR_COMPARING, op) : REGISTRAR_FAILED;
    case REGISTRAR_COMPARING:
        if (answer->zk_rc == ZK_OK && bytes_equal(answer->data, r->data))
            break;
        return read_it(r, REGISTRAR_READING, op);
    case REGISTRAR_READING:
        if (answer->zk_rc == ZK_NO_NODE)
            return registrar_begin(r, r->path, r->data, op, zk_rc);
        if (answer->zk_rc != ZK_OK)
            return REGISTRAR_FAILED;
        r->state = REGISTRAR_WAITING;
        r->conflicts++;
        r->holder_session = answer->stat.ephemeral_owner;
        return REGISTRAR_WAIT;
    case REGISTRAR_IDLE:
    case REGISTRAR_WAITING: assert(!"an answer was expected by nobody");
    }
    r->state = REGISTRAR_IDLE;
    r->conflicts = 0;
    return REGISTRAR_DONE;
}

void registrar_deinit(struct registrar *r)
{
    creator_deinit(&r->creator);
    *r = (struct registrar){0};
}
