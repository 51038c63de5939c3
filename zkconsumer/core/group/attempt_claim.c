#include "zkconsumer/core/group/attempt_parts.h"
#include "zkconsumer/core/zk/consumer_id.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdlib.h>

/* ---- deletes ---- */

static bool is_guarded(const struct attempt *a)
{
    return a->config->switches.release == ZK_GUARD_SESSION;
}

/* The node went with the session that made it; what stands there now is not ours. */
static bool is_of_ended_session(const struct attempt *a, const struct group_claim *c)
{
    return is_guarded(a) && c->session_id != a->config->session_id;
}

/* Deletes an owner node, whoever has written it (0.8.2 does not ask); guarded, it looks first. */
static enum attempt_step delete_begin(struct attempt *a, const struct group_claim *c,
                                      struct zk_op *op)
{
    char *path = zk_path_owner(a->config->group, c->topic, c->partition);
    enum zk_op_type type = is_guarded(a) ? ZK_OP_EXISTS : ZK_OP_DELETE;
    enum attempt_step step = attempt_send_take(a, op, type, path, false);
    a->deleting = is_guarded(a) ? DELETE_LOOKING : DELETE_ANY;
    op->session_id = is_guarded(a) ? c->session_id : 0;
    return step;
}

static bool is_ours(const struct group_claim *c, const struct zk_result *looked)
{
    return looked->zk_rc == ZK_OK && looked->stat.ephemeral_owner == c->session_id;
}

static void say_not_ours(const struct group_claim *c, const struct zk_result *looked,
                         struct group_outputs *out)
{
    if (looked->zk_rc == ZK_OK)
        group_notice(out, 4, "claim", ZKC_OK,
                     "the owner node of [%s,%d] is another's by now (session 0x%llx): it is left "
                     "alone",
                     c->topic, c->partition, (long long)looked->stat.ephemeral_owner);
}

/* An answer to the delete, or to the look before it. ATTEMPT_NEXT_PHASE: the node is not ours any
 * more. */
static enum attempt_step delete_answer(struct attempt *a, const struct group_claim *c,
                                       const struct zk_result *answer, struct zk_op *op,
                                       struct group_outputs *out)
{
    int zk_rc = answer->zk_rc;
    if (a->deleting == DELETE_LOOKING) {
        if (is_ours(c, answer)) {
            a->deleting = DELETE_OURS;
            *op = (struct zk_op){.type = ZK_OP_DELETE,
                                 .path = a->path,
                                 .version = ZK_ANY_VERSION,
                                 .session_id = c->session_id};
            return ATTEMPT_SEND;
        }
        say_not_ours(c, answer, out);
        zk_rc = zk_rc == ZK_OK ? ZK_NO_NODE : zk_rc;
    }
    if (is_guarded(a) && zk_rc == ZK_SESSION_EXPIRED)
        zk_rc = ZK_NO_NODE;
    struct group_output *o = group_emit(out, GROUP_OUT_RELEASE);
    o->release.topic = c->topic;
    o->release.partition = c->partition;
    o->release.zk_rc = zk_rc;
    if (zk_rc == ZK_OK || zk_rc == ZK_NO_NODE)
        return ATTEMPT_NEXT_PHASE;
    return attempt_refused(a, a->deleting == DELETE_LOOKING ? "exists" : "delete", a->path, zk_rc);
}

/* ---- release ---- */

static void count_released(struct attempt *a)
{
    const struct group_claim *c = &a->release[a->i];
    a->i++;
    if (a->i == a->release_count || a->release[a->i].topic_index != c->topic_index)
        a->released = a->i;
}

enum attempt_step release_begin(struct attempt *a, struct zk_op *op)
{
    while (a->i < a->release_count && is_of_ended_session(a, &a->release[a->i]))
        count_released(a);
    if (a->i == a->release_count)
        return ATTEMPT_NEXT_PHASE;
    return delete_begin(a, &a->release[a->i], op);
}

enum attempt_step release_answer(struct attempt *a, const struct zk_result *answer,
                                 struct zk_op *op, struct group_outputs *out)
{
    enum attempt_step step = delete_answer(a, &a->release[a->i], answer, op, out);
    if (step != ATTEMPT_NEXT_PHASE)
        return step;
    count_released(a);
    return release_begin(a, op);
}

/* ---- undo ---- */

static enum attempt_step undo_send(struct attempt *a, struct zk_op *op)
{
    while (a->i < a->claim_count &&
           (a->states[a->i] != CLAIM_WON || is_of_ended_session(a, &a->claims[a->i])))
        a->i++;
    if (a->i == a->claim_count)
        return ATTEMPT_FAILED;
    return delete_begin(a, &a->claims[a->i], op);
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
    enum attempt_step step = delete_answer(a, &a->claims[a->i], answer, op, out);
    if (step != ATTEMPT_NEXT_PHASE)
        return step;
    a->i++;
    return undo_send(a, op);
}

/* ---- claims ---- */

#define HOLDER_BYTES_MAX 512

static enum attempt_step multi_begin(struct attempt *a, struct zk_op *op);

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

/* Path and content of the owner node of claims[i]. False: out of memory. */
static bool name_claim(struct attempt *a)
{
    const struct group_claim *c = &a->claims[a->i];
    free(a->path);
    free(a->thread_id);
    a->path = zk_path_owner(a->config->group, c->topic, c->partition);
    a->thread_id = zk_thread_id(a->config->consumer_id, c->thread);
    return a->path && a->thread_id;
}

static enum attempt_step undo_without_memory(struct attempt *a, struct zk_op *op)
{
    attempt_no_memory(a);
    return undo_begin(a, op);
}

static enum attempt_step claim_send(struct attempt *a, struct zk_op *op, struct group_outputs *out)
{
    a->claiming = CLAIM_CREATING;
    creator_deinit(&a->creator);
    if (!name_claim(a) ||
        creator_begin(&a->creator, a->path, bytes_of_text(a->thread_id), true, op))
        return undo_without_memory(a, op);
    group_notice(out, 7, "claim", ZKC_OK, "%s attempting to claim partition [%s,%d]", a->thread_id,
                 a->claims[a->i].topic, a->claims[a->i].partition);
    return ATTEMPT_SEND;
}

static enum attempt_step end_in_conflict(struct attempt *a, struct zk_op *op)
{
    why_set(&a->why, "%zu of %zu claims met an owner node of another member", a->conflicts,
            a->claim_count);
    a->is_conflict = true;
    return undo_begin(a, op);
}

enum attempt_step claims_begin(struct attempt *a, struct zk_op *op, struct group_outputs *out)
{
    if (a->config->switches.claim == ZK_CLAIM_MULTI)
        return multi_begin(a, op);
    if (a->i < a->claim_count)
        return claim_send(a, op, out);
    return a->conflicts == 0 ? ATTEMPT_NEXT_PHASE : end_in_conflict(a, op);
}

/* The claim is won, or has met another's node; the others are tried all the same. */
static enum attempt_step end_claim(struct attempt *a, bool won, struct zk_op *op,
                                   struct group_outputs *out)
{
    a->conflicts += !won;
    a->i++;
    return claims_begin(a, op, out);
}

static void win(struct attempt *a, int64_t session_id)
{
    a->states[a->i] = CLAIM_WON;
    a->claims[a->i].session_id = session_id;
}

static enum attempt_step read_holder(struct attempt *a, struct zk_op *op)
{
    a->claiming = CLAIM_READING;
    *op = (struct zk_op){
        .type = ZK_OP_GET, .path = a->path, .watch = a->config->switches.watch_owners};
    return ATTEMPT_SEND;
}

static enum attempt_step created(struct attempt *a, const struct zk_result *answer,
                                 struct zk_op *op, struct group_outputs *out)
{
    int zk_rc;
    if (creator_next(&a->creator, answer->zk_rc, op, &zk_rc))
        return ATTEMPT_SEND;
    if (zk_rc == ZK_NODE_EXISTS)
        return read_holder(a, op);
    say_claim(a, zk_rc, BYTES_NULL, out);
    if (zk_rc != ZK_OK)
        return attempt_refused(a, "create", a->path, zk_rc);
    win(a, a->config->session_id);
    return end_claim(a, true, op, out);
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
    if (own)
        win(a, answer->stat.ephemeral_owner);
    else if (a->config->switches.watch_owners && answer->zk_rc == ZK_OK)
        a->states[a->i] = CLAIM_CONTESTED;
    if (own || a->config->switches.claim == ZK_CLAIM_SINGLE)
        return end_claim(a, own, op, out);
    a->conflicts++; /* the others were not claimed either */
    return end_in_conflict(a, op);
}

/* ---- claims in one transaction ---- */

static char *keep_text_take(struct attempt *a, char *text)
{
    char *kept = text ? arena_format(&a->multi, "%s", text) : NULL;
    free(text);
    return kept;
}

static bool add_part(struct attempt *a, size_t k)
{
    const struct group_claim *c = &a->claims[k];
    char *path = keep_text_take(a, zk_path_owner(a->config->group, c->topic, c->partition));
    char *thread = keep_text_take(a, zk_thread_id(a->config->consumer_id, c->thread));
    if (!path || !thread)
        return false;
    a->part_claims[a->part_count] = k;
    a->parts[a->part_count++] = (struct zk_op){
        .type = ZK_OP_CREATE, .path = path, .data = bytes_of_text(thread), .ephemeral = true};
    return true;
}

/* Longest path and thread id, twice: Kafka's names end at 249, ids have no such limit. */
#define CLAIM_BYTES_MAX (1 << 22)

/* Claims what is not won yet, in the order of the partitions. */
static enum attempt_step multi_begin(struct attempt *a, struct zk_op *op)
{
    arena_deinit(&a->multi);
    arena_init(&a->multi, CLAIM_BYTES_MAX);
    a->claiming = CLAIM_MULTI;
    a->part_count = 0;
    a->parts = arena_alloc_array(&a->multi, CLAIM_PARTS_MAX, sizeof *a->parts);
    a->part_claims = arena_alloc_array(&a->multi, CLAIM_PARTS_MAX, sizeof *a->part_claims);
    bool ok = a->parts && a->part_claims;
    for (size_t k = 0; ok && k < a->claim_count && a->part_count < CLAIM_PARTS_MAX; k++)
        if (a->states[k] != CLAIM_WON)
            ok = add_part(a, k);
    if (!ok)
        return undo_without_memory(a, op);
    if (a->part_count == 0)
        return ATTEMPT_NEXT_PHASE;
    *op = (struct zk_op){.type = ZK_OP_MULTI, .parts = a->parts, .part_count = a->part_count};
    return ATTEMPT_SEND;
}

/* The folder of the node is missing. Each time another one, but for those that somebody deletes. */
static enum attempt_step make_parent(struct attempt *a, struct zk_op *op)
{
    if (a->parents_made++ > a->claim_count)
        return attempt_refused(a, "multi", a->path, ZK_NO_NODE);
    a->claiming = CLAIM_PARENT;
    a->path[zk_path_parent_length(a->path)] = '\0';
    creator_deinit(&a->creator);
    if (creator_begin(&a->creator, a->path, BYTES_NULL, false, op))
        return undo_without_memory(a, op);
    return ATTEMPT_SEND;
}

static enum attempt_step parent_made(struct attempt *a, const struct zk_result *answer,
                                     struct zk_op *op)
{
    int zk_rc;
    if (creator_next(&a->creator, answer->zk_rc, op, &zk_rc))
        return ATTEMPT_SEND;
    if (zk_rc != ZK_OK && zk_rc != ZK_NODE_EXISTS)
        return attempt_refused(a, "create", a->path, zk_rc);
    return multi_begin(a, op);
}

static enum attempt_step claimed_all(struct attempt *a, struct zk_op *op, struct group_outputs *out)
{
    for (size_t i = 0; i < a->part_count; i++) {
        a->i = a->part_claims[i];
        win(a, a->config->session_id);
    }
    for (size_t i = 0; i < a->part_count; i++) {
        a->i = a->part_claims[i];
        if (!name_claim(a))
            return undo_without_memory(a, op);
        say_claim(a, ZK_OK, BYTES_NULL, out);
    }
    return multi_begin(a, op);
}

static enum attempt_step multi_answer(struct attempt *a, const struct zk_result *answer,
                                      struct zk_op *op, struct group_outputs *out)
{
    if (answer->zk_rc == ZK_OK)
        return claimed_all(a, op, out);
    size_t culprit = zk_result_culprit(answer);
    if (culprit >= a->part_count)
        return attempt_refused(a, "multi from", a->parts[0].path, answer->zk_rc);
    a->i = a->part_claims[culprit];
    if (!name_claim(a))
        return undo_without_memory(a, op);
    if (answer->zk_rc == ZK_NO_NODE)
        return make_parent(a, op);
    if (answer->zk_rc == ZK_NODE_EXISTS)
        return read_holder(a, op);
    say_claim(a, answer->zk_rc, BYTES_NULL, out);
    return attempt_refused(a, "multi, create", a->path, answer->zk_rc);
}

enum attempt_step claims_answer(struct attempt *a, const struct zk_result *answer, struct zk_op *op,
                                struct group_outputs *out)
{
    switch (a->claiming) {
    case CLAIM_CREATING: return created(a, answer, op, out);
    case CLAIM_READING: return holder_read(a, answer, op, out);
    case CLAIM_MULTI: return multi_answer(a, answer, op, out);
    case CLAIM_PARENT: return parent_made(a, answer, op);
    case CLAIM_UNDOING: break;
    }
    assert(!"an answer was expected by nobody");
    return ATTEMPT_FAILED;
}

/* ---- contested nodes ---- */

bool attempt_owner_event(struct attempt *a, const char *path)
{
    bool found = false;
    for (size_t k = 0; k < a->claim_count; k++) {
        const struct group_claim *c = &a->claims[k];
        if (a->states[k] != CLAIM_CONTESTED)
            continue;
        char *owner = zk_path_owner(a->config->group, c->topic, c->partition);
        if (!owner || strcmp(owner, path) == 0) { /* without memory: one attempt too many */
            a->states[k] = CLAIM_OPEN;
            found = true;
        }
        free(owner);
    }
    return found;
}

bool attempt_is_contested(const struct attempt *a)
{
    for (size_t k = 0; a->is_conflict && k < a->claim_count; k++)
        if (a->states[k] == CLAIM_CONTESTED)
            return true;
    return false;
}
