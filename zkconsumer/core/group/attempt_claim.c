#include "zkconsumer/core/group/attempt_parts.h"
#include "zkconsumer/core/zk/consumer_id.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdlib.h>

/* Deletes an owner node, whoever has written it (0.8.2 does not ask). */
static enum attempt_step send_delete(struct attempt *a, const struct group_claim *c,
                                     struct zk_op *op)
{
    char *path = zk_path_owner(a->config->group, c->topic, c->partition);
    return attempt_send_take(a, op, ZK_OP_DELETE, path, false);
}

/* Books the delete of a claim's node. False: it was refused. */
static bool is_deleted(const struct group_claim *c, int zk_rc, struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_RELEASE);
    o->release.topic = c->topic;
    o->release.partition = c->partition;
    o->release.zk_rc = zk_rc;
    return zk_rc == ZK_OK || zk_rc == ZK_NO_NODE;
}

/* ---- release ---- */

enum attempt_step release_begin(struct attempt *a, struct zk_op *op)
{
    if (a->i == a->release_count)
        return ATTEMPT_NEXT_PHASE;
    return send_delete(a, &a->release[a->i], op);
}

enum attempt_step release_answer(struct attempt *a, const struct zk_result *answer,
                                 struct zk_op *op, struct group_outputs *out)
{
    const struct group_claim *c = &a->release[a->i];
    if (!is_deleted(c, answer->zk_rc, out))
        return attempt_refused(a, "delete", a->path, answer->zk_rc);
    a->i++;
    if (a->i == a->release_count || a->release[a->i].topic_index != c->topic_index)
        a->released = a->i;
    return release_begin(a, op);
}

/* ---- undo ---- */

static enum attempt_step undo_send(struct attempt *a, struct zk_op *op)
{
    while (a->i < a->claim_count && !a->claimed[a->i])
        a->i++;
    if (a->i == a->claim_count)
        return ATTEMPT_FAILED;
    return send_delete(a, &a->claims[a->i], op);
}

enum attempt_step undo_begin(struct attempt *a, struct zk_op *op)
{
    a->claiming = CLAIM_UNDOING;
    a->i = 0;
    return undo_send(a, op);
}

enum attempt_step undo_answer(struct attempt *a, const struct zk_result *answer, struct zk_op *op,
                              struct group_outputs *out)
{
    if (!is_deleted(&a->claims[a->i], answer->zk_rc, out))
        return attempt_refused(a, "delete", a->path, answer->zk_rc);
    a->i++;
    return undo_send(a, op);
}

/* ---- claims ---- */

#define HOLDER_BYTES_MAX 512

static void say_claim(const struct attempt *a, int zk_rc, struct bytes holder,
                      struct group_outputs *out)
{
    const struct group_claim *c = &a->claims[a->i];
    struct group_output *o = group_emit(out, GROUP_OUT_CLAIM);
    o->claim.topic = c->topic;
    o->claim.partition = c->partition;
    o->claim.zk_rc = zk_rc;
    if (holder.data)
        o->claim.holder = group_text(
            out, "%.*s", holder.len > HOLDER_BYTES_MAX ? HOLDER_BYTES_MAX : (int)holder.len,
            (const char *)holder.data);
    if (zk_rc == ZK_NODE_EXISTS)
        group_notice(out, 6, "claim", ZKC_OK,
                     "waiting for the partition ownership to be deleted: [%s,%d] is owned by %s",
                     c->topic, c->partition, holder.data ? o->claim.holder : "nobody any more");
    else if (zk_rc == ZK_OK)
        group_notice(out, 7, "claim", ZKC_OK, "%s successfully owned partition [%s,%d]",
                     a->thread_id, c->topic, c->partition);
}

static enum attempt_step claim_send(struct attempt *a, struct zk_op *op)
{
    const struct group_claim *c = &a->claims[a->i];
    a->claiming = CLAIM_CREATING;
    free(a->path);
    free(a->thread_id);
    a->path = zk_path_owner(a->config->group, c->topic, c->partition);
    a->thread_id = zk_thread_id(a->config->consumer_id, c->thread);
    creator_deinit(&a->creator);
    if (!a->path || !a->thread_id ||
        creator_begin(&a->creator, a->path, bytes_of_text(a->thread_id), true, op)) {
        attempt_no_memory(a);
        return undo_begin(a, op);
    }
    return ATTEMPT_SEND;
}

enum attempt_step claims_begin(struct attempt *a, struct zk_op *op)
{
    if (a->i < a->claim_count)
        return claim_send(a, op);
    if (a->conflicts == 0)
        return ATTEMPT_NEXT_PHASE;
    why_set(&a->why, "%zu of %zu claims met an owner node of another member", a->conflicts,
            a->claim_count);
    return undo_begin(a, op);
}

/* The claim is won, or has met another's node; the others are tried all the same. */
static enum attempt_step end_claim(struct attempt *a, bool won, struct zk_op *op)
{
    a->claimed[a->i] = won;
    a->conflicts += !won;
    a->i++;
    return claims_begin(a, op);
}

static enum attempt_step created(struct attempt *a, const struct zk_result *answer,
                                 struct zk_op *op, struct group_outputs *out)
{
    int zk_rc;
    if (creator_next(&a->creator, answer->zk_rc, op, &zk_rc))
        return ATTEMPT_SEND;
    if (zk_rc == ZK_NODE_EXISTS) {
        a->claiming = CLAIM_READING;
        *op = (struct zk_op){.type = ZK_OP_GET, .path = a->path};
        return ATTEMPT_SEND;
    }
    say_claim(a, zk_rc, BYTES_NULL, out);
    if (zk_rc != ZK_OK)
        return attempt_refused(a, "create", a->path, zk_rc);
    return end_claim(a, true, op);
}

/* Who holds the node that was there? The own text counts as won: the answer to an earlier create
 * was lost, or the node is that of an own session that has ended. */
static enum attempt_step holder_read(struct attempt *a, const struct zk_result *answer,
                                     struct zk_op *op, struct group_outputs *out)
{
    if (answer->zk_rc != ZK_OK && answer->zk_rc != ZK_NO_NODE)
        return attempt_refused(a, "getData", a->path, answer->zk_rc);
    struct bytes holder = answer->zk_rc == ZK_OK ? answer->data : BYTES_NULL;
    bool own = bytes_equal_text(holder, a->thread_id);
    say_claim(a, own ? ZK_OK : ZK_NODE_EXISTS, holder, out);
    return end_claim(a, own, op);
}

enum attempt_step claims_answer(struct attempt *a, const struct zk_result *answer, struct zk_op *op,
                                struct group_outputs *out)
{
    assert(a->claiming != CLAIM_UNDOING);
    return a->claiming == CLAIM_CREATING ? created(a, answer, op, out)
                                         : holder_read(a, answer, op, out);
}
