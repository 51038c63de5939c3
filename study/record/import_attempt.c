/* Attempts, from the order of a member's operations. What one of Kafka 0.8 is made of
 * is in attempt_read.c and its neighbours (core/group), and in zookeeper-consumer.md 3.3:
 *
 *     brokers, own, brokers, commits, releases, own, topics, list, members, list, offsets, claims
 *
 * (0.8.1 and 0.7 read members and topics before they release.) The documented algorithm, which only
 * ours have (import_options.variant), does not look for itself first:
 *
 *     commits, releases, brokers, list, members, topics, claims, offsets
 *
 * Other threads of a Java member say
 * things between: the finder of leaders reads the brokers after an attempt; the event thread reads
 * a list or a topic once more after each event, with an `exists` before it; the timer commits. */
#include "study/record/import_life.h"
#include "zkconsumer/core/zk/topic.h"
#include <stdlib.h>

#define ATTEMPTS_DEFAULT   4    /* rebalance.max.retries */
#define BACKOFF_DEFAULT_MS 2000 /* rebalance.backoff.ms */
#define QUIET_NS           UINT64_C(1000000000)

/* ---- beliefs ---- */

static void emit_fetch(struct life *l, enum trace_type type, uint64_t t_ns)
{
    struct trace_event *e = l->owned.count ? life_emit(l, type, t_ns) : NULL;
    if (!e)
        return;
    e->fetch.ps = l->owned.at;
    e->fetch.count = l->owned.count;
}

void life_end_owned(struct life *l, uint64_t t_ns, const char *why)
{
    const struct topic_partition *ps = l->owned.at;
    emit_fetch(l, TRACE_FETCH_STOP, t_ns);
    for (size_t i = 0; i < l->owned.count; i++) {
        struct trace_event *e = life_emit(l, TRACE_OWN_END, t_ns);
        if (!e)
            return;
        e->own.p = ps[i];
        e->own.offset = -1;
        e->own.why = why;
    }
    l->owned = (struct list){0};
}

static int by_partition(const void *a, const void *b)
{
    return topic_partition_compare(*(const struct topic_partition *)a,
                                   *(const struct topic_partition *)b);
}

static void begin_owned(struct life *l, uint64_t t_ns)
{
    const struct claim *claims = l->attempt.claims.at;
    l->owned = (struct list){0};
    for (size_t i = 0; i < l->attempt.claims.count; i++) {
        struct topic_partition *p = life_add(l, &l->owned, sizeof *p);
        struct trace_event *e = p ? life_emit(l, TRACE_OWN_BEGIN, t_ns) : NULL;
        if (!e)
            return;
        *p = claims[i].p;
        e->own.p = claims[i].p;
        e->own.offset = claims[i].offset;
        e->own.why = "";
    }
    if (l->owned.count)
        qsort(l->owned.at, l->owned.count, sizeof(struct topic_partition), by_partition);
    emit_fetch(l, TRACE_FETCH_START, t_ns);
}

/* ---- attempts ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void hash_bytes(uint64_t *hash, const void *data, size_t len) /* FNV-1a, as the machine's */
{
    for (const uint8_t *p = data, *end = p + len; p < end; p++)
        *hash = (*hash ^ *p) * 0x100000001b3u;
}

/* What was read, in the machine's order: the same view has the same hash in members' own traces. */
static uint64_t view_hash(const struct trace_event *e)
{
    uint64_t hash = 0xcbf29ce484222325u;
    const struct topic_partition *ps = e->view.partitions;
    for (size_t i = 0; i < e->view.member_count; i++)
        hash_bytes(&hash, e->view.members[i], strlen(e->view.members[i]) + 1);
    for (size_t i = 0; i < e->view.partition_count; i++) {
        if (i == 0 || strcmp(ps[i].topic, ps[i - 1].topic) != 0)
            hash_bytes(&hash, ps[i].topic, strlen(ps[i].topic) + 1);
        hash_bytes(&hash, &ps[i].partition, sizeof ps[i].partition);
    }
    return hash;
}

static void emit_view(struct life *l, uint64_t t_ns)
{
    struct attempt *a = &l->attempt;
    struct trace_event *e = life_emit(l, TRACE_VIEW, t_ns);
    if (!e)
        return;
    if (a->members.count)
        qsort(a->members.at, a->members.count, sizeof(const char *), by_text);
    if (a->partitions.count)
        qsort(a->partitions.at, a->partitions.count, sizeof(struct topic_partition), by_partition);
    e->view.rb = l->rebalance;
    e->view.i = a->number;
    e->view.members = a->members.at;
    e->view.member_count = a->members.count;
    e->view.partitions = a->partitions.at;
    e->view.partition_count = a->partitions.count;
    e->view.zxid_first = a->zxid_first;
    e->view.zxid_last = a->zxid_last;
    static const char *const nobody[1] = {NULL};
    static const struct topic_partition nothing[1] = {{0}};
    if (!e->view.members)
        e->view.members = nobody;
    if (!e->view.partitions)
        e->view.partitions = nothing;
    e->view.hash = view_hash(e);
}

/* All that it read offsets of, or claimed: what it had decided to own. */
static void emit_decide(struct life *l, uint64_t t_ns)
{
    const struct claim *claims = l->attempt.claims.at;
    size_t n = l->attempt.claims.count;
    struct topic_partition *want = import_alloc(l->x, n, sizeof *want);
    struct trace_event *e = want ? life_emit(l, TRACE_DECIDE, t_ns) : NULL;
    if (!e)
        return;
    for (size_t i = 0; i < n; i++)
        want[i] = claims[i].p;
    qsort(want, n, sizeof *want, by_partition);
    e->decide.rb = l->rebalance;
    e->decide.i = l->attempt.number;
    e->decide.want = want;
    e->decide.count = n;
}

static void begin_rebalance(struct life *l, uint64_t t_ns)
{
    struct trace_event *e;
    uint64_t order = l->order;
    l->order = l->trigger_order;
    if (l->trigger && (e = life_emit(l, TRACE_RB_TRIGGER, l->trigger_ns)))
        e->rb_trigger.why = l->trigger;
    l->order = order;
    l->rebalance++;
    l->failed = 0;
    l->in_rebalance = true;
    if ((e = life_emit(l, TRACE_RB_BEGIN, t_ns)))
        e->rb_begin.rb = l->rebalance;
}

void life_end_rebalance(struct life *l, uint64_t t_ns, bool ok, bool gave_up)
{
    struct trace_event *e = l->in_rebalance ? life_emit(l, TRACE_RB_END, t_ns) : NULL;
    l->in_rebalance = false;
    if (!e)
        return;
    e->rb_end.rb = l->rebalance;
    e->rb_end.tries = l->failed + ok;
    e->rb_end.ok = ok;
    e->rb_end.gave_up = e->rb_end.told_app = gave_up;
}

static uint32_t attempts_max(const struct life *l)
{
    return l->x->options.attempts_max ? l->x->options.attempts_max : ATTEMPTS_DEFAULT;
}

static uint64_t backoff_ns(const struct life *l)
{
    int64_t ms = l->x->options.backoff_ms;
    return (uint64_t)(ms >= 0 ? ms : BACKOFF_DEFAULT_MS) * 1000000;
}

static void begin_attempt(struct life *l, uint64_t begin_ns, uint64_t begin_order)
{
    struct attempt *a = &l->attempt;
    uint64_t order = l->order;
    bool is_retry =
        l->in_rebalance && l->failed > 0 && (l->failed < attempts_max(l) || !l->trigger);
    l->order = begin_order;
    if (!is_retry) {
        if (l->in_rebalance)
            life_end_rebalance(l, begin_ns, false, true);
        begin_rebalance(l, begin_ns);
        l->trigger = NULL;
    }
    *a = (struct attempt){
        .is_on = true, .number = l->failed, .end_ns = begin_ns, .end_order = l->order};
    struct trace_event *e = life_emit(l, TRACE_RB_TRY, begin_ns);
    if (e) {
        e->rb_try.rb = l->rebalance;
        e->rb_try.i = a->number;
    }
    l->order = order;
}

/* The scan of brokers turns out to be the attempt's. */
void life_join_scan(struct life *l)
{
    struct attempt *a = &l->attempt;
    struct scan *s = &l->scan;
    if (!s->is_on)
        return;
    s->is_on = false;
    for (int i = 0; i < TRACE_OP_COUNT; i++)
        a->ops[i] += s->ops[i];
    a->read_ns += s->ns;
    a->scans++;
    a->has_scan_after_list = a->has_list;
    if (s->end_ns > a->end_ns)
        a->end_ns = s->end_ns;
    a->end_order = s->end_order;
    life_note_zxid(&a->zxid_first, &a->zxid_last, s->zxid_first);
    life_note_zxid(&a->zxid_first, &a->zxid_last, s->zxid_last);
}

void life_count_op(struct life *l, const struct item *i, uint64_t *ns)
{
    struct attempt *a = &l->attempt;
    if (i->op <= CAPTURE_SYNC)
        a->ops[life_op(i->op)]++;
    *ns += i->done_ns - i->t_ns;
    if (i->done_ns > a->end_ns)
        a->end_ns = i->done_ns;
    a->end_order = l->order;
    life_note_zxid(&a->zxid_first, &a->zxid_last, i->zxid);
    a->has_error = a->has_error || !i->is_answered;
}

static bool has_conflict(const struct attempt *a)
{
    const struct claim *claims = a->claims.at;
    for (size_t i = 0; i < a->claims.count; i++)
        if (claims[i].has_conflict)
            return true;
    return false;
}

static bool all_claimed(const struct attempt *a)
{
    const struct claim *claims = a->claims.at;
    for (size_t i = 0; i < a->claims.count; i++)
        if (!claims[i].is_ok)
            return false;
    return a->claims.count > 0;
}

/* A member to which nothing fell says nothing more: it has read all that were listed. That it was
 * refused (by its assignor, or by what it read) shows only in that it tries again unasked. */
static bool has_nothing(const struct attempt *a)
{
    return a->claims.count == 0 && a->has_list && a->members.count >= a->listed && !a->has_error;
}

static void emit_try_end(struct life *l, bool ok)
{
    struct attempt *a = &l->attempt;
    struct trace_event *e = life_emit(l, TRACE_RB_TRY_END, a->end_ns);
    if (!e)
        return;
    e->rb_try_end.rb = l->rebalance;
    e->rb_try_end.i = a->number;
    e->rb_try_end.ok = ok;
    e->rb_try_end.why = ok ? "" : has_conflict(a) ? "exists" : "error";
    memcpy(e->rb_try_end.ops, a->ops, sizeof a->ops);
    e->rb_try_end.read_ns = a->read_ns;
    e->rb_try_end.commit_ns = a->commit_ns;
    e->rb_try_end.release_ns = a->release_ns;
    e->rb_try_end.claim_ns = a->claim_ns;
}

/* When an attempt has ended shows in what comes next; `is_retried`: another one, and nobody asked
 * for it. */
void life_end_attempt(struct life *l, bool is_retried)
{
    struct attempt *a = &l->attempt;
    uint64_t order = l->order;
    if (!a->is_on)
        return;
    a->is_on = false;
    bool ok = all_claimed(a) || (!is_retried && (a->has_no_brokers || has_nothing(a)));
    if (a->has_list && !a->own_missing) {
        l->order = a->decided_order ? a->decided_order : a->end_order;
        emit_view(l, a->decided_order ? a->decided_ns : a->end_ns);
        if (a->claims.count || ok)
            emit_decide(l, a->decided_order ? a->decided_ns : a->end_ns);
    }
    l->order = a->end_order;
    emit_try_end(l, ok);
    if (ok && !a->has_no_brokers)
        begin_owned(l, a->end_ns);
    l->failed += !ok;
    if (ok)
        life_end_rebalance(l, a->end_ns, true, false);
    else if (l->failed == attempts_max(l) && !is_retried)
        life_end_rebalance(l, a->end_ns, false, true);
    l->order = order;
}

static bool is_backed_out(const struct attempt *a)
{
    const struct claim *claims = a->claims.at;
    for (size_t i = 0; i < a->claims.count; i++)
        if (!claims[i].is_tried || claims[i].is_ok)
            return false;
    return has_conflict(a);
}

/* Nothing follows by which it would show how the attempt went: it is told as ended if that shows in
 * itself, or if nothing was heard of it for a while. */
void life_leave_attempt(struct life *l, uint64_t now_ns)
{
    const struct attempt *a = &l->attempt;
    bool is_quiet = now_ns - a->end_ns >= QUIET_NS && a->claims.count == 0;
    if (a->is_on && (all_claimed(a) || is_backed_out(a) || is_quiet))
        life_end_attempt(l, false);
    l->attempt.is_on = false;
}

/* ---- operations of an attempt ---- */

bool life_scan_op(struct life *l, const struct item *i, const struct path_info *p)
{
    struct scan *s = &l->scan;
    bool begins = i->op == CAPTURE_CHILDREN && p->kind == ZK_PATH_BROKERS;
    if (begins) {
        bool is_done = all_claimed(&l->attempt);
        if (l->attempt.is_on && !is_done)
            life_join_scan(l); /* the one before */
        if (is_done)
            life_end_attempt(l, false);
        *s = (struct scan){.is_on = true, .t_ns = i->t_ns, .order = l->order};
    }
    if (!s->is_on || !(begins || (i->op == CAPTURE_GET && p->kind == ZK_PATH_BROKER)))
        return false;
    s->ops[life_op(i->op)]++;
    s->ns += i->done_ns - i->t_ns;
    s->end_ns = i->done_ns;
    s->end_order = l->order;
    life_note_zxid(&s->zxid_first, &s->zxid_last, i->zxid);
    if (begins && l->attempt.is_on && i->children && i->child_count == 0 && !l->attempt.has_list)
        l->attempt.has_no_brokers = true;
    return true;
}

/* The own registration is read when an attempt begins, in 0.8.2 once more after the release, and
 * among all members. */
static bool begins_attempt(const struct life *l)
{
    const struct attempt *a = &l->attempt;
    if (!a->is_on || a->claims.count || a->own_missing)
        return true;
    if (!a->has_list)
        return l->scan.is_on && a->scans >= 2;
    return l->scan.is_on || a->has_scan_after_list || a->has_self || !a->is_list_with_self;
}

static bool is_documented(const struct life *l)
{
    const char *variant = l->x->options.variant;
    return variant && strcmp(variant, "documented") == 0;
}

/* Nothing more is expected of the attempt: it has claimed all, or has given back what it had. */
static bool is_over(const struct attempt *a)
{
    return !a->is_on || all_claimed(a) || is_backed_out(a) || has_nothing(a);
}

static void begin_documented(struct life *l, uint64_t t_ns, uint64_t order)
{
    life_end_attempt(l, !l->trigger && t_ns - l->attempt.end_ns >= backoff_ns(l) / 2);
    begin_attempt(l, t_ns, order);
}

/* Those of the timer look the same: what is written after an event, before the members are read, is
 * taken for the attempt's. */
void life_before_commit(struct life *l, const struct item *i)
{
    if (is_documented(l) && l->trigger && l->owned.count + l->attempt.claims.count &&
        is_over(&l->attempt)) {
        l->scan.is_on = false;
        begin_documented(l, i->t_ns, l->order);
    }
}

static void read_own(struct life *l, const struct item *i)
{
    struct attempt *a = &l->attempt;
    if (begins_attempt(l)) {
        if (!l->scan.is_on)
            return; /* it looks whose node is in its way, to register */
        life_end_attempt(l, !l->trigger && l->scan.t_ns - a->end_ns >= backoff_ns(l) / 2);
        begin_attempt(l, l->scan.t_ns, l->scan.order);
    }
    life_join_scan(l);
    life_count_op(l, i, &a->read_ns);
    a->own_missing = i->zk_rc == ZK_NO_NODE;
}

static void read_member(struct life *l, const struct item *i, const struct path_info *p)
{
    struct attempt *a = &l->attempt;
    life_count_op(l, i, &a->read_ns);
    a->has_self = a->has_self || life_is_self(l, p);
    const char **id = i->zk_rc ? NULL : life_add(l, &a->members, sizeof *id);
    if (id)
        *id = p->leaf;
    a->listed -= i->zk_rc == ZK_NO_NODE && a->listed > 0; /* gone since it was listed */
}

static void read_list(struct life *l, const struct item *i)
{
    struct attempt *a = &l->attempt;
    life_join_scan(l);
    life_count_op(l, i, &a->read_ns);
    if (i->zk_rc || a->has_list)
        return;
    a->has_list = true;
    a->listed = i->child_count;
    for (size_t k = 0; k < i->child_count; k++)
        a->is_list_with_self = a->is_list_with_self || strcmp(i->children[k], l->id) == 0;
}

static void read_topic(struct life *l, const struct item *i, const struct path_info *p)
{
    struct zk_topic topic;
    struct why why;
    life_count_op(l, i, &l->attempt.read_ns);
    enum zkc_err err = i->zk_rc ? ZKC_ERR_INVALID : zk_topic_read(i->data, &topic, &why);
    import_failed(l->x, err);
    if (err)
        return;
    for (size_t k = 0; k < topic.partition_count; k++) {
        struct topic_partition *tp = life_add(l, &l->attempt.partitions, sizeof *tp);
        if (!tp)
            break;
        *tp = (struct topic_partition){l->x->topic_names.list[p->topic].text,
                                       topic.partitions[k].partition};
    }
    zk_topic_deinit(&topic);
}

static void decided(struct life *l, const struct item *i)
{
    if (l->attempt.decided_order)
        return;
    l->attempt.decided_ns = i->t_ns;
    l->attempt.decided_order = l->order;
}

static void read_offset(struct life *l, const struct item *i, const struct path_info *p)
{
    struct attempt *a = &l->attempt;
    struct topic_partition tp = life_partition(l, p);
    int64_t offset = i->zk_rc ? -1 : life_offset_in(i->data);
    if (a->is_on && a->has_list) {
        life_join_scan(l);
        decided(l, i);
        life_count_op(l, i, &a->read_ns);
        struct claim *c = life_claim(l, &a->claims, tp);
        if (!c)
            return;
        c->offset = offset;
    }
    struct claim *known = life_claim(l, &l->offsets, tp);
    struct trace_event *e =
        i->zk_rc && i->zk_rc != ZK_NO_NODE ? NULL : life_emit(l, TRACE_OFFSET_READ, i->done_ns);
    if (!known || !e)
        return;
    known->offset = offset;
    e->offset.p = tp;
    e->offset.offset = offset;
    e->offset.previous = -1;
    e->offset.rc = "ok";
    e->offset.zxid = i->zxid;
}

/* ---- claims and releases ---- */

void life_create_owner(struct life *l, const struct item *i, const struct path_info *p)
{
    struct attempt *a = &l->attempt;
    if (!a->is_on)
        return; /* of no attempt that could be followed */
    life_join_scan(l);
    decided(l, i);
    life_count_op(l, i, &a->claim_ns);
    if (i->zk_rc == ZK_NO_NODE)
        return; /* its parents come first */
    struct claim *c = life_claim(l, &a->claims, life_partition(l, p));
    struct trace_event *e = c ? life_emit(l, TRACE_CLAIM, i->done_ns) : NULL;
    if (!e)
        return;
    c->is_tried = true;
    c->is_ok = i->zk_rc == ZK_OK;
    c->has_conflict = i->zk_rc == ZK_NODE_EXISTS;
    c->event = e;
    e->claim.rb = l->rebalance;
    e->claim.i = a->number;
    e->claim.p = c->p;
    e->claim.rc = c->is_ok ? "ok" : c->has_conflict ? "exists" : "error";
}

/* Who holds what it could not claim; itself, if an earlier create went through unheard. */
static void read_owner(struct life *l, const struct item *i, const struct path_info *p)
{
    struct attempt *a = &l->attempt;
    if (!a->is_on || !a->claims.count)
        return;
    life_count_op(l, i, &a->claim_ns);
    struct claim *c = life_claim(l, &a->claims, life_partition(l, p));
    if (!c || !c->event || i->zk_rc || !i->data.data)
        return;
    size_t id_len = strlen(l->id);
    bool is_own = i->owner && i->owner == l->session && i->data.len > id_len &&
                  memcmp(i->data.data, l->id, id_len) == 0 && i->data.data[id_len] == '-';
    if (is_own) {
        c->is_ok = true;
        c->has_conflict = false;
        c->event->claim.rc = "ok";
        return;
    }
    c->event->claim.holder = import_text(l->x, (const char *)i->data.data, i->data.len);
}

void life_delete_owner(struct life *l, const struct item *i, const struct path_info *p)
{
    struct attempt *a = &l->attempt;
    struct topic_partition tp = life_partition(l, p);
    if (is_documented(l) && is_over(a)) {
        l->scan.is_on = false;
        begin_documented(l, i->t_ns, l->order);
    }
    bool is_back_out = a->is_on && a->claims.count;
    if (a->is_on) {
        life_join_scan(l);
        life_count_op(l, i, is_back_out ? &a->claim_ns : &a->release_ns);
    }
    struct claim *c = is_back_out ? life_claim(l, &a->claims, tp) : NULL;
    if (c)
        c->is_ok = false;
    else if (l->owned.count)
        life_end_owned(l, i->t_ns, "release");
    struct trace_event *e = life_emit(l, TRACE_RELEASE, i->done_ns);
    if (!e)
        return;
    e->release.rb = l->rebalance;
    e->release.i = a->number;
    e->release.p = tp;
    e->release.rc = i->zk_rc ? zk_rc_name(i->zk_rc) : "ok";
    e->release.foreign = i->zk_rc ? -1 : i->foreign;
}

/* ---- reads ---- */

void life_read(struct life *l, const struct item *i, const struct path_info *p)
{
    struct attempt *a = &l->attempt;
    bool is_list = p->kind == ZK_PATH_IDS && p->is_group && i->op == CAPTURE_CHILDREN;
    if (is_documented(l)) {
        if (is_list && l->scan.is_on && (is_over(a) || a->has_list))
            begin_documented(l, l->scan.t_ns, l->scan.order);
    } else if (life_is_self(l, p) && i->op == CAPTURE_GET && (begins_attempt(l) || !a->has_list)) {
        read_own(l, i);
        return;
    }
    switch (p->kind) {
    case ZK_PATH_OFFSET:
        if (p->is_group)
            read_offset(l, i, p);
        return;
    case ZK_PATH_OWNER:
        if (p->is_group)
            read_owner(l, i, p);
        return;
    default: break;
    }
    if (!a->is_on || a->claims.count)
        return;
    if (p->kind == ZK_PATH_ID && p->is_group && a->has_list) {
        life_join_scan(l);
        read_member(l, i, p);
    } else if (is_list) {
        read_list(l, i);
    } else if (p->kind == ZK_PATH_TOPIC && i->op == CAPTURE_GET) {
        life_join_scan(l);
        read_topic(l, i, p);
    } else if (p->kind == ZK_PATH_TOPICS) { /* of a filter */
        life_join_scan(l);
        life_count_op(l, i, &a->read_ns);
    }
}
