#include "zkconsumer/core/group/zk_safe_parts.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdlib.h>

/* A transaction of many partitions is carried out whole or not at all. When it is refused the
 * server names the first part that fails: that partition goes its own way, and the rest is sent
 * again at once, so that n conflicts cost n more round trips at most. Where there may be many, one
 * look at the children of owners/<topic> (a hint, nothing more) tells beforehand which to leave
 * out. */

/* ---- sending ---- */

static void put_back(struct zk_safe *m, struct safe_partition *p)
{
    p->op = OP_NONE;
    safe_set_state(m, p, p->state == CLAIMING ? FREE : STOPPED);
}

/* Not sent: out of memory. */
static void put_all_back(struct zk_safe *m, struct safe_partition *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        put_back(m, list[i]);
        safe_pause(m, list[i], GROUP_RESEND_MS);
    }
}

/* Operations of one partition, at most two; 0: out of memory. */
static size_t claim_ops(struct zk_safe *m, struct safe_partition *p, struct zk_op *ops)
{
    const char *path = safe_owner_path(m, p);
    struct bytes id = bytes_of_text(safe_thread_id(m, p->thread));
    if (!path || !id.data)
        return 0;
    ops[0] = (struct zk_op){.type = ZK_OP_CREATE, .path = path, .data = id, .ephemeral = true};
    ops[1] = (struct zk_op){.type = ZK_OP_SET, .path = path, .data = id, .version = 0};
    return 2;
}

static size_t release_ops(struct zk_safe *m, struct safe_partition *p, struct zk_op *ops)
{
    const char *path = safe_owner_path(m, p);
    size_t n = safe_release_part(m, p, &ops[0]);
    if (!path || n == SIZE_MAX)
        return 0;
    ops[n] =
        (struct zk_op){.type = ZK_OP_DELETE,
                       .path = path,
                       .version = m->config.release_session ? SAFE_CLAIM_VERSION : ZK_ANY_VERSION};
    return n + 1;
}

/* A release that does is carried out once: the next has changed the version that it names. */
static bool writes_offset(const struct zk_op *ops, size_t count)
{
    return count == 2 && (ops[0].type == ZK_OP_CREATE ||
                          (ops[0].type == ZK_OP_SET && ops[0].version != ZK_ANY_VERSION));
}

static void send_batch(struct zk_safe *m, enum safe_op what, struct safe_partition *const *list,
                       size_t count, struct group_outputs *out)
{
    struct zk_op *ops = arena_alloc_array(&m->arena, 2 * count + 1, sizeof *ops);
    struct safe_batch *batch = calloc(1, sizeof *batch);
    size_t at = 0, n = 1;
    bool is_fenced = false;
    for (size_t i = 0; ops && batch && n > 0 && i < count; i++) {
        batch->partitions[i] = list[i];
        batch->first[i] = (uint16_t)at;
        n = what == OP_CLAIM ? claim_ops(m, list[i], &ops[at]) : release_ops(m, list[i], &ops[at]);
        at += n;
        is_fenced = is_fenced || (what == OP_RELEASE && n > 0 && !writes_offset(&ops[at - n], n));
    }
    if (!ops || !batch || n == 0 || !safe_can_send(m, 1)) {
        free(batch);
        put_all_back(m, list, count);
        return;
    }
    is_fenced = is_fenced && m->config.release_session && safe_fence_part(m, &ops[at]);
    at += is_fenced;
    m->releases_open += what == OP_RELEASE;
    batch->id_version = is_fenced ? m->id_version : -1;
    batch->op = what;
    batch->count = count;
    struct zk_op op = {.type = ZK_OP_MULTI, .parts = ops, .part_count = at};
    safe_send(m, (struct safe_sent){.op = what, .batch = batch}, &op, out);
}

static void flush_claims(struct zk_safe *m, struct group_outputs *out)
{
    size_t count = m->claiming_count;
    m->claiming_count = 0;
    if (count)
        send_batch(m, OP_CLAIM, m->claiming, count, out);
}

static void flush_releases(struct zk_safe *m, struct group_outputs *out)
{
    size_t count = m->releasing_count;
    m->releasing_count = 0;
    if (count)
        send_batch(m, OP_RELEASE, m->releasing, count, out);
}

bool safe_holds_claims(const struct zk_safe *m)
{
    return m->holds_claims || m->releases_open > 0;
}

void safe_flush(struct zk_safe *m, struct group_outputs *out)
{
    flush_releases(m, out); /* others may wait for them */
    flush_claims(m, out);
}

void safe_add_claim(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    m->claiming[m->claiming_count++] = p;
    if (m->claiming_count == SAFE_BATCH_MAX || !m->config.claim_multi)
        flush_claims(m, out);
}

void safe_add_release(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    m->releasing[m->releasing_count++] = p;
    if (m->releasing_count == SAFE_BATCH_MAX)
        flush_releases(m, out);
}

/* ---- answers ---- */

/* The part that the server says has failed; part_count: it does not say. */
static size_t failed_part(const struct zk_result *answer)
{
    size_t i = 0;
    while (i < answer->part_count &&
           (answer->parts[i].zk_rc == ZK_OK || answer->parts[i].zk_rc == ZK_RUNTIME_INCONSISTENCY))
        i++;
    return i;
}

/* Which partition of the batch this part belongs to. */
static size_t owner_of_part(const struct safe_batch *batch, size_t part)
{
    size_t k = batch->count - 1;
    while (batch->first[k] > part)
        k--;
    return k;
}

void safe_tell_released(struct zk_safe *m, const struct safe_partition *p, int zk_rc,
                        struct group_outputs *out)
{
    m->counts.releases += zk_rc == ZK_OK;
    struct group_output *o = group_emit(out, GROUP_OUT_RELEASE);
    o->release.topic = p->topic->name;
    o->release.partition = p->partition;
    o->release.zk_rc = zk_rc;
}

static void claimed(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    m->counts.claims++;
    p->op = OP_NONE;
    told_over(&p->refused_op);
    safe_tell_claim(p, ZK_OK, out);
    safe_set_state(m, p, HELD);
}

static void released(struct zk_safe *m, struct safe_partition *p, const struct zk_stat *stat,
                     struct group_outputs *out)
{
    p->op = OP_NONE;
    if (p->sent_offset >= 0)
        safe_committed(m, p, stat, out);
    safe_tell_released(m, p, ZK_OK, out);
    safe_forget(m, p, out);
}

/* One claim of the transaction was refused; the others have been put back. */
static void claim_refused(struct zk_safe *m, struct safe_partition *p, size_t others, int zk_rc,
                          struct group_outputs *out)
{
    switch (zk_rc) {
    case ZK_NODE_EXISTS:
        m->counts.conflicts++;
        p->op = OP_NONE;
        safe_tell_claim(p, zk_rc, out);
        safe_set_state(m, p, safe_wants(m, p) ? LOOKING : FREE);
        if (others > 1)
            safe_want_hint(m, p->topic);
        break;
    case ZK_NO_NODE:
        put_back(m, p);
        safe_want_parent(m, &p->topic->owners);
        break;
    default: safe_op_refused(m, p, "the claim", zk_rc, out);
    }
}

static void release_refused(struct zk_safe *m, struct safe_partition *p, bool by_owner, int zk_rc,
                            struct group_outputs *out)
{
    bool is_gone = zk_rc == ZK_NO_NODE || zk_rc == ZK_BAD_VERSION;
    if (by_owner && is_gone) { /* it is not ours any more: what is there is somebody else's */
        p->op = OP_NONE;
        group_notice(out, 4, "claim", ZKC_OK,
                     "[%s,%d]: somebody else has deleted our owner node before we released it",
                     p->topic->name, p->partition);
        safe_tell_released(m, p, zk_rc, out);
        safe_forget(m, p, out);
    } else if (!by_owner && safe_commit_refused(m, p, zk_rc, out)) {
        put_back(m, p);
    } else {
        safe_op_refused(m, p, "the release", zk_rc, out);
    }
}

/* Of the partition. */
static size_t last_part(const struct safe_batch *batch, size_t k, size_t part_count)
{
    size_t end = part_count - (batch->id_version >= 0);
    return (k + 1 < batch->count ? batch->first[k + 1] : end) - 1;
}

/* Our id node is not as it was: nothing is known to be wrong with any of them. */
static void fence_refused(struct zk_safe *m, struct safe_batch *batch, int zk_rc)
{
    for (size_t i = 0; i < batch->count; i++)
        put_back(m, batch->partitions[i]);
    if (zk_rc == ZK_NO_NODE)
        safe_id_event(m);
    else
        safe_want_fence(m, batch);
}

static void batch_refused(struct zk_safe *m, struct safe_batch *batch,
                          const struct zk_result *answer, struct group_outputs *out)
{
    size_t part = failed_part(answer);
    if (part == answer->part_count) { /* refused as a whole */
        for (size_t i = 0; i < batch->count; i++)
            safe_op_refused(m, batch->partitions[i],
                            batch->op == OP_CLAIM ? "the claim" : "the release", answer->zk_rc,
                            out);
        return;
    }
    int zk_rc = answer->parts[part].zk_rc;
    if (batch->id_version >= 0 && part + 1 == answer->part_count &&
        (zk_rc == ZK_NO_NODE || zk_rc == ZK_BAD_VERSION)) {
        fence_refused(m, batch, zk_rc);
        return;
    }
    size_t k = owner_of_part(batch, part);
    for (size_t i = 0; i < batch->count; i++)
        if (i != k)
            put_back(m, batch->partitions[i]);
    if (batch->op == OP_CLAIM)
        claim_refused(m, batch->partitions[k], batch->count - 1, zk_rc, out);
    else
        release_refused(m, batch->partitions[k], part == last_part(batch, k, answer->part_count),
                        zk_rc, out);
}

void safe_batch_answer(struct zk_safe *m, const struct safe_sent *sent,
                       const struct zk_result *answer, struct group_outputs *out)
{
    struct safe_batch *batch = sent->batch;
    if (batch->op == OP_RELEASE && --m->releases_open == 0)
        safe_poke_all(m); /* what waited for it may be claimed */
    if (!lease_is_answer(answer->zk_rc)) {
        safe_want_fence(m, batch);
        for (size_t i = 0; i < batch->count; i++)
            safe_op_lost(m, batch->partitions[i]);
    } else if (answer->zk_rc != ZK_OK) {
        batch_refused(m, batch, answer, out);
    } else {
        assert(answer->parts);
        for (size_t i = 0; i < batch->count; i++)
            if (batch->op == OP_CLAIM)
                claimed(m, batch->partitions[i], out);
            else
                released(m, batch->partitions[i], &answer->parts[batch->first[i]].stat, out);
    }
    free(batch);
}

/* ---- topics: parents and hints ---- */

void safe_want_parent(struct zk_safe *m, enum safe_parent *which)
{
    if (*which == PARENT_THERE)
        *which = PARENT_WANTED;
    m->are_topics_due = true;
}

void safe_want_hint(struct zk_safe *m, struct safe_topic *t)
{
    if (t->hint == HINT_NONE)
        t->hint = HINT_WANTED;
    m->are_topics_due = true;
}

void safe_forget_topics(struct zk_safe *m)
{
    for (size_t i = 0; i < m->topic_count; i++) {
        struct safe_topic *t = m->topics[i];
        creator_deinit(&t->creator);
        t->hint = HINT_NONE;
        t->owners = t->offsets = PARENT_THERE;
        t->retry_at_ms = INT64_MIN;
    }
    m->are_topics_due = false;
}

static enum safe_parent *parent_in_state(struct safe_topic *t, enum safe_parent state)
{
    return t->owners == state ? &t->owners : t->offsets == state ? &t->offsets : NULL;
}

static bool send_parent(struct zk_safe *m, struct safe_topic *t, struct group_outputs *out)
{
    enum safe_parent *parent = parent_in_state(t, PARENT_WANTED);
    if (!parent || parent_in_state(t, PARENT_MAKING))
        return true;
    char *path = parent == &t->owners ? zk_path_owner_topic(m->group, t->name)
                                      : zk_path_offset_topic(m->group, t->name);
    struct zk_op op;
    bool ok = path && safe_can_send(m, 1) &&
              creator_begin(&t->creator, path, BYTES_NULL, false, &op) == ZKC_OK;
    free(path);
    if (!ok)
        return false;
    *parent = PARENT_MAKING;
    safe_send(m, (struct safe_sent){.op = OP_PARENT, .topic = t}, &op, out);
    return true;
}

static bool send_hint(struct zk_safe *m, struct safe_topic *t, struct group_outputs *out)
{
    if (t->hint != HINT_WANTED || safe_holds_claims(m))
        return true;
    char *path = arena_format(&m->arena, "/consumers/%s/owners/%s", m->group, t->name);
    if (!path || !safe_can_send(m, 1))
        return false;
    t->hint = HINT_ASKED;
    struct zk_op op = {.type = ZK_OP_CHILDREN, .path = path};
    safe_send(m, (struct safe_sent){.op = OP_HINT, .topic = t}, &op, out);
    return true;
}

void safe_run_topics(struct zk_safe *m, struct group_outputs *out)
{
    if (!m->are_topics_due || !m->is_connected || m->phase >= CLOSING)
        return;
    m->are_topics_due = false;
    for (size_t i = 0; i < m->topic_count; i++) {
        struct safe_topic *t = m->topics[i];
        if (t->hint != HINT_WANTED && !parent_in_state(t, PARENT_WANTED))
            continue;
        m->are_topics_due = true;
        if (m->now_ms < t->retry_at_ms) {
            safe_wake(m, t->retry_at_ms);
        } else if (!safe_has_room(out, SAFE_OUTPUTS_SPARE)) {
            safe_wake(m, m->now_ms);
            return;
        } else if (!send_parent(m, t, out) || !send_hint(m, t, out)) {
            t->retry_at_ms = m->now_ms + GROUP_RESEND_MS;
            safe_wake(m, t->retry_at_ms);
        }
    }
}

/* Not answered, or refused: wanted still. */
static void try_again(struct zk_safe *m, struct safe_topic *t, int64_t ms)
{
    t->retry_at_ms = m->now_ms + ms;
    m->are_topics_due = true;
    safe_wake(m, t->retry_at_ms);
}

static void parent_answer(struct zk_safe *m, struct safe_topic *t, const struct zk_result *answer,
                          struct group_outputs *out)
{
    enum safe_parent *parent = parent_in_state(t, PARENT_MAKING);
    struct zk_op op;
    int zk_rc = answer->zk_rc;
    bool lost = !lease_is_answer(zk_rc);
    if (!lost && safe_can_send(m, 1) && creator_next(&t->creator, answer->zk_rc, &op, &zk_rc)) {
        safe_send(m, (struct safe_sent){.op = OP_PARENT, .topic = t}, &op, out);
        return;
    }
    bool made = !lost && (zk_rc == ZK_OK || zk_rc == ZK_NODE_EXISTS);
    *parent = made ? PARENT_THERE : PARENT_WANTED;
    if (made) {
        creator_deinit(&t->creator);
        told_over(&t->refused_parent);
        safe_poke_topic(m, t);
        return;
    }
    if (!lost) {
        bool is_news = told_is_news(&t->refused_parent, (uint32_t)zk_rc);
        group_notice(out, 3, "zk", is_news ? ZKC_ERR_ZOOKEEPER : ZKC_OK,
                     "create %s: %s (%d); trying again", t->creator.path, zk_rc_name(zk_rc), zk_rc);
    }
    creator_deinit(&t->creator);
    try_again(m, t, lost ? GROUP_RESEND_MS : SAFE_REFUSED_MS);
}

/* A child of owners/<topic>. */
int32_t safe_partition_number(const char *name)
{
    int64_t number = 0;
    for (const char *c = name; *c; c++) {
        if (*c < '0' || *c > '9' || number > INT32_MAX)
            return -1;
        number = number * 10 + (*c - '0');
    }
    return number > INT32_MAX ? -1 : (int32_t)number;
}

static void hint_child(struct zk_safe *m, struct safe_topic *t, const char *name)
{
    int32_t number = safe_partition_number(name);
    struct safe_partition *p = number < 0 ? NULL : safe_find(m, bytes_of_text(t->name), number);
    if (p && p->state == FREE)
        p->is_taken = true;
}

static void hint_answer(struct zk_safe *m, struct safe_topic *t, const struct zk_result *answer)
{
    t->hint = HINT_NONE; /* without an answer it goes without */
    for (size_t i = 0; answer->zk_rc == ZK_OK && i < answer->children_count; i++)
        hint_child(m, t, answer->children[i]);
    if (answer->zk_rc == ZK_NO_NODE)
        safe_want_parent(m, &t->owners);
    safe_poke_topic(m, t);
}

void safe_topic_answer(struct zk_safe *m, const struct safe_sent *sent,
                       const struct zk_result *answer, struct group_outputs *out)
{
    if (sent->op == OP_HINT)
        hint_answer(m, sent->topic, answer);
    else
        parent_answer(m, sent->topic, answer, out);
}
