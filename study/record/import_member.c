/* The life of one member, from the order of its operations. What an attempt of Kafka 0.8 is made of
 * is in attempt_read.c and its neighbours (core/group), and in zookeeper-consumer.md 3.3:
 *
 *     brokers, own, brokers, commits, releases, own, topics, list, members, list, offsets, claims
 *
 * (0.8.1 and 0.7 read members and topics before they release.) Other threads of a Java member say
 * things between: the finder of leaders reads the brokers after an attempt; the event thread reads
 * a list or a topic once more after each event, with an `exists` before it; the timer commits. */
#include "study/record/import_state.h"
#include "zkconsumer/core/zk/offset.h"
#include "zkconsumer/core/zk/registration.h"
#include "zkconsumer/core/zk/topic.h"
#include <stdlib.h>

#define ATTEMPTS_DEFAULT   4    /* rebalance.max.retries */
#define BACKOFF_DEFAULT_MS 2000 /* rebalance.backoff.ms */
#define QUIET_NS           UINT64_C(1000000000)

struct claim {
    struct topic_partition p;
    int64_t offset;
    bool is_read, is_tried, is_ok, has_conflict, is_deleted;
    struct trace_event *event; /* the last try */
};

struct list { /* grows in the arena */
    void *at;
    size_t count, cap;
};

struct scan { /* of brokers: whose it is turns out by what follows */
    bool is_on;
    uint64_t t_ns, end_ns, ns;
    uint64_t order, end_order;
    uint64_t ops[TRACE_OP_COUNT];
    int64_t zxid_first, zxid_last;
};

struct attempt {
    bool is_on;
    uint32_t number;
    uint64_t end_ns, decided_ns;
    uint64_t end_order, decided_order; /* of what happens then, and shows later */
    uint64_t ops[TRACE_OP_COUNT];
    uint64_t read_ns, commit_ns, release_ns, claim_ns;
    int64_t zxid_first, zxid_last;
    bool own_missing, has_list, has_self, has_no_brokers, is_list_with_self;
    unsigned scans;
    bool has_scan_after_list;
    size_t listed;
    struct list members;    /* const char * */
    struct list partitions; /* struct topic_partition */
    struct list claims;     /* struct claim */
    bool has_error;
};

enum reread { REREAD_NONE, REREAD_EVENT, REREAD_EXISTS };

struct life {
    struct import *x;
    const char *name;
    const char *id; /* consumer id; NULL: not running */
    bool has_session, is_connected, was_expired, is_leaving;
    uint64_t order; /* of events, among those of the same time */
    uint64_t session, gone_ns, gone_order;
    bool is_gone_by_client;
    struct list owned;   /* struct topic_partition */
    struct list offsets; /* struct claim: what was read or written last */
    struct list commits; /* const struct path_info *: set, and had no node */
    uint8_t *rereads;    /* by path: enum reread */
    struct scan scan;
    struct attempt attempt;
    bool in_rebalance;
    uint32_t rebalance, failed; /* attempts of the rebalance that have failed */
    const char *trigger;        /* since the rebalance began; NULL: none */
    uint64_t trigger_ns, trigger_order;
};

/* ---- lists ---- */

static void *list_add(struct life *l, struct list *list, size_t size)
{
    if (list->count == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 8;
        void *grown = import_alloc(l->x, cap, size);
        if (!grown)
            return NULL;
        if (list->count)
            memcpy(grown, list->at, list->count * size);
        list->at = grown;
        list->cap = cap;
    }
    return (char *)list->at + list->count++ * size;
}

static bool is_same(struct topic_partition a, struct topic_partition b)
{
    return topic_partition_compare(a, b) == 0;
}

static struct claim *claim_of(struct life *l, struct list *list, struct topic_partition p)
{
    struct claim *all = list->at;
    for (size_t i = 0; i < list->count; i++)
        if (is_same(all[i].p, p))
            return &all[i];
    struct claim *c = list_add(l, list, sizeof *c);
    if (c)
        *c = (struct claim){.p = p, .offset = -1};
    return c;
}

static const struct path_info *info_of(const struct life *l, const struct item *i)
{
    static const struct path_info none = {.path = "", .kind = ZK_PATH_OTHER, .leaf = ""};
    return i->path == IMPORT_NONE ? &none : &l->x->infos[i->path];
}

static struct topic_partition partition_of(const struct life *l, const struct path_info *p)
{
    return (struct topic_partition){l->x->topic_names.list[p->topic].text, p->partition};
}

static bool is_self(const struct life *l, const struct path_info *p)
{
    return p->kind == ZK_PATH_ID && p->is_group && l->id && strcmp(p->leaf, l->id) == 0;
}

static struct trace_event *emit(struct life *l, enum trace_type type, uint64_t t_ns)
{
    return import_emit(l->x, type, t_ns, l->order, l->name, l->name);
}

/* ---- what an operation is ---- */

static enum trace_op trace_op_of(enum capture_op op)
{
    return (enum trace_op)op; /* the same order */
}

static void note_zxid(int64_t *first, int64_t *last, int64_t zxid)
{
    if (!zxid)
        return;
    if (!*first)
        *first = zxid;
    *last = zxid;
}

static void emit_op(struct life *l, const struct item *i)
{
    if (i->op > CAPTURE_SYNC)
        return;
    struct trace_event *e = emit(l, TRACE_ZK_OP, i->done_ns);
    if (!e)
        return;
    e->zk_op.op = trace_op_of(i->op);
    e->zk_op.path = info_of(l, i)->path;
    e->zk_op.has_watch = i->has_watch;
    e->zk_op.zk_rc = i->zk_rc;
    e->zk_op.zxid = i->zxid;
    e->zk_op.latency_ns = i->done_ns - i->t_ns;
}

/* ---- beliefs ---- */

static void emit_fetch(struct life *l, enum trace_type type, uint64_t t_ns)
{
    struct trace_event *e = l->owned.count ? emit(l, type, t_ns) : NULL;
    if (!e)
        return;
    e->fetch.ps = l->owned.at;
    e->fetch.count = l->owned.count;
}

static void end_owned(struct life *l, uint64_t t_ns, const char *why)
{
    const struct topic_partition *ps = l->owned.at;
    emit_fetch(l, TRACE_FETCH_STOP, t_ns);
    for (size_t i = 0; i < l->owned.count; i++) {
        struct trace_event *e = emit(l, TRACE_OWN_END, t_ns);
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
        struct topic_partition *p = list_add(l, &l->owned, sizeof *p);
        struct trace_event *e = p ? emit(l, TRACE_OWN_BEGIN, t_ns) : NULL;
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
    struct trace_event *e = emit(l, TRACE_VIEW, t_ns);
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
    struct trace_event *e = want ? emit(l, TRACE_DECIDE, t_ns) : NULL;
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
    if (l->trigger && (e = emit(l, TRACE_RB_TRIGGER, l->trigger_ns)))
        e->rb_trigger.why = l->trigger;
    l->order = order;
    l->rebalance++;
    l->failed = 0;
    l->in_rebalance = true;
    if ((e = emit(l, TRACE_RB_BEGIN, t_ns)))
        e->rb_begin.rb = l->rebalance;
}

static void end_rebalance(struct life *l, uint64_t t_ns, bool ok, bool gave_up)
{
    struct trace_event *e = l->in_rebalance ? emit(l, TRACE_RB_END, t_ns) : NULL;
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

static void begin_attempt(struct life *l)
{
    struct attempt *a = &l->attempt;
    uint64_t begin_ns = l->scan.t_ns, order = l->order;
    bool is_retry =
        l->in_rebalance && l->failed > 0 && (l->failed < attempts_max(l) || !l->trigger);
    l->order = l->scan.order;
    if (!is_retry) {
        if (l->in_rebalance)
            end_rebalance(l, begin_ns, false, true);
        begin_rebalance(l, begin_ns);
        l->trigger = NULL;
    }
    *a = (struct attempt){
        .is_on = true, .number = l->failed, .end_ns = begin_ns, .end_order = l->order};
    struct trace_event *e = emit(l, TRACE_RB_TRY, begin_ns);
    if (e) {
        e->rb_try.rb = l->rebalance;
        e->rb_try.i = a->number;
    }
    l->order = order;
}

/* The scan of brokers turns out to be the attempt's. */
static void join_scan(struct life *l)
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
    note_zxid(&a->zxid_first, &a->zxid_last, s->zxid_first);
    note_zxid(&a->zxid_first, &a->zxid_last, s->zxid_last);
}

static void count_op(struct life *l, const struct item *i, uint64_t *ns)
{
    struct attempt *a = &l->attempt;
    if (i->op <= CAPTURE_SYNC)
        a->ops[trace_op_of(i->op)]++;
    *ns += i->done_ns - i->t_ns;
    if (i->done_ns > a->end_ns)
        a->end_ns = i->done_ns;
    a->end_order = l->order;
    note_zxid(&a->zxid_first, &a->zxid_last, i->zxid);
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
    struct trace_event *e = emit(l, TRACE_RB_TRY_END, a->end_ns);
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
static void end_attempt(struct life *l, bool is_retried)
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
        end_rebalance(l, a->end_ns, true, false);
    else if (l->failed == attempts_max(l) && !is_retried)
        end_rebalance(l, a->end_ns, false, true);
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
static void leave_attempt(struct life *l, uint64_t now_ns)
{
    const struct attempt *a = &l->attempt;
    bool is_quiet = now_ns - a->end_ns >= QUIET_NS && a->claims.count == 0;
    if (a->is_on && (all_claimed(a) || is_backed_out(a) || is_quiet))
        end_attempt(l, false);
    l->attempt.is_on = false;
}

/* ---- operations of an attempt ---- */

static bool scan_op(struct life *l, const struct item *i, const struct path_info *p)
{
    struct scan *s = &l->scan;
    bool begins = i->op == CAPTURE_CHILDREN && p->kind == ZK_PATH_BROKERS;
    if (begins) {
        bool is_done = all_claimed(&l->attempt);
        if (l->attempt.is_on && !is_done)
            join_scan(l); /* the one before */
        if (is_done)
            end_attempt(l, false);
        *s = (struct scan){.is_on = true, .t_ns = i->t_ns, .order = l->order};
    }
    if (!s->is_on || !(begins || (i->op == CAPTURE_GET && p->kind == ZK_PATH_BROKER)))
        return false;
    s->ops[trace_op_of(i->op)]++;
    s->ns += i->done_ns - i->t_ns;
    s->end_ns = i->done_ns;
    s->end_order = l->order;
    note_zxid(&s->zxid_first, &s->zxid_last, i->zxid);
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

static void read_own(struct life *l, const struct item *i)
{
    struct attempt *a = &l->attempt;
    if (begins_attempt(l)) {
        if (!l->scan.is_on)
            return; /* it looks whose node is in its way, to register */
        end_attempt(l, !l->trigger && l->scan.t_ns - a->end_ns >= backoff_ns(l) / 2);
        begin_attempt(l);
    }
    join_scan(l);
    count_op(l, i, &a->read_ns);
    a->own_missing = i->zk_rc == ZK_NO_NODE;
}

static void read_member(struct life *l, const struct item *i, const struct path_info *p)
{
    struct attempt *a = &l->attempt;
    count_op(l, i, &a->read_ns);
    a->has_self = a->has_self || is_self(l, p);
    const char **id = i->zk_rc ? NULL : list_add(l, &a->members, sizeof *id);
    if (id)
        *id = p->leaf;
    a->listed -= i->zk_rc == ZK_NO_NODE && a->listed > 0; /* gone since it was listed */
}

static void read_list(struct life *l, const struct item *i)
{
    struct attempt *a = &l->attempt;
    count_op(l, i, &a->read_ns);
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
    count_op(l, i, &l->attempt.read_ns);
    enum zkc_err err = i->zk_rc ? ZKC_ERR_INVALID : zk_topic_read(i->data, &topic, &why);
    import_failed(l->x, err);
    if (err)
        return;
    for (size_t k = 0; k < topic.partition_count; k++) {
        struct topic_partition *tp = list_add(l, &l->attempt.partitions, sizeof *tp);
        if (!tp)
            break;
        *tp = (struct topic_partition){l->x->topic_names.list[p->topic].text,
                                       topic.partitions[k].partition};
    }
    zk_topic_deinit(&topic);
}

static int64_t offset_in(struct bytes data)
{
    int64_t offset;
    struct why why;
    return data.data && zk_offset_read(data, &offset, &why) == ZKC_OK ? offset : -1;
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
    struct topic_partition tp = partition_of(l, p);
    int64_t offset = i->zk_rc ? -1 : offset_in(i->data);
    if (a->is_on && a->has_list) {
        join_scan(l);
        decided(l, i);
        count_op(l, i, &a->read_ns);
        struct claim *c = claim_of(l, &a->claims, tp);
        if (!c)
            return;
        c->is_read = true;
        c->offset = offset;
    }
    struct claim *known = claim_of(l, &l->offsets, tp);
    struct trace_event *e =
        i->zk_rc && i->zk_rc != ZK_NO_NODE ? NULL : emit(l, TRACE_OFFSET_READ, i->done_ns);
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

static void create_owner(struct life *l, const struct item *i, const struct path_info *p)
{
    struct attempt *a = &l->attempt;
    if (!a->is_on)
        return; /* of no attempt that could be followed */
    join_scan(l);
    decided(l, i);
    count_op(l, i, &a->claim_ns);
    if (i->zk_rc == ZK_NO_NODE)
        return; /* its parents come first */
    struct claim *c = claim_of(l, &a->claims, partition_of(l, p));
    struct trace_event *e = c ? emit(l, TRACE_CLAIM, i->done_ns) : NULL;
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
    count_op(l, i, &a->claim_ns);
    struct claim *c = claim_of(l, &a->claims, partition_of(l, p));
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

static void delete_owner(struct life *l, const struct item *i, const struct path_info *p)
{
    struct attempt *a = &l->attempt;
    struct topic_partition tp = partition_of(l, p);
    bool is_back_out = a->is_on && a->claims.count;
    if (a->is_on) {
        join_scan(l);
        count_op(l, i, is_back_out ? &a->claim_ns : &a->release_ns);
    }
    struct claim *c = is_back_out ? claim_of(l, &a->claims, tp) : NULL;
    if (c)
        c->is_ok = false;
    else if (l->owned.count)
        end_owned(l, i->t_ns, "release");
    struct trace_event *e = emit(l, TRACE_RELEASE, i->done_ns);
    if (!e)
        return;
    e->release.rb = l->rebalance;
    e->release.i = a->number;
    e->release.p = tp;
    e->release.rc = i->zk_rc ? zk_rc_name(i->zk_rc) : "ok";
    e->release.foreign = i->zk_rc ? -1 : i->foreign;
}

/* ---- commits ---- */

static bool commit_pending(struct life *l, const struct path_info *p, bool take)
{
    const struct path_info **all = l->commits.at;
    for (size_t k = 0; k < l->commits.count; k++)
        if (all[k] == p) {
            if (take)
                all[k] = all[--l->commits.count];
            return true;
        }
    return false;
}

static void emit_commit(struct life *l, const struct item *i, const struct path_info *p)
{
    struct topic_partition tp = partition_of(l, p);
    struct claim *known = claim_of(l, &l->offsets, tp);
    struct trace_event *e = known ? emit(l, TRACE_COMMIT, i->done_ns) : NULL;
    if (!e)
        return;
    e->offset.p = tp;
    e->offset.offset = offset_in(i->data);
    e->offset.previous = known->offset;
    e->offset.rc = i->zk_rc ? zk_rc_name(i->zk_rc) : "ok";
    e->offset.zxid = i->zk_rc ? 0 : i->zxid;
    if (!i->zk_rc)
        known->offset = e->offset.offset;
}

/* Set; where there is no node, its parents and itself are made (and set again, if that was too
 * late). */
static void write_offset(struct life *l, const struct item *i, const struct path_info *p)
{
    struct attempt *a = &l->attempt;
    if (a->is_on && !a->claims.count) {
        join_scan(l);
        count_op(l, i, &a->commit_ns);
    }
    bool is_set = i->op == CAPTURE_SET;
    if (is_set && i->zk_rc == ZK_NO_NODE) {
        const struct path_info **at =
            commit_pending(l, p, false) ? NULL : list_add(l, &l->commits, sizeof *at);
        if (at)
            *at = p;
    } else if (is_set || commit_pending(l, p, false)) {
        if (!is_set && (i->zk_rc == ZK_NODE_EXISTS || i->zk_rc == ZK_NO_NODE))
            return;
        commit_pending(l, p, true);
        emit_commit(l, i, p);
    }
}

/* ---- one operation ---- */

/* The event thread's: `exists`, and what it reads next of the same path. */
static bool is_reread(struct life *l, const struct item *i)
{
    if (i->path == IMPORT_NONE)
        return false;
    uint8_t *state = &l->rereads[i->path];
    if (i->op == CAPTURE_EXISTS) {
        if (*state == REREAD_EVENT)
            *state = REREAD_EXISTS;
        return true;
    }
    bool is_read = i->op == CAPTURE_GET || i->op == CAPTURE_CHILDREN;
    if (*state != REREAD_EXISTS || !is_read)
        return false;
    *state = REREAD_NONE;
    return true;
}

static void take_read(struct life *l, const struct item *i, const struct path_info *p)
{
    struct attempt *a = &l->attempt;
    if (is_self(l, p) && i->op == CAPTURE_GET && (begins_attempt(l) || !a->has_list)) {
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
        join_scan(l);
        read_member(l, i, p);
    } else if (p->kind == ZK_PATH_IDS && p->is_group && i->op == CAPTURE_CHILDREN) {
        join_scan(l);
        read_list(l, i);
    } else if (p->kind == ZK_PATH_TOPIC && i->op == CAPTURE_GET) {
        join_scan(l);
        read_topic(l, i, p);
    } else if (p->kind == ZK_PATH_TOPICS) { /* of a filter */
        join_scan(l);
        count_op(l, i, &a->read_ns);
    }
}

static void take_op(struct life *l, const struct item *i)
{
    const struct path_info *p = info_of(l, i);
    struct attempt *a = &l->attempt;
    emit_op(l, i);
    if (!l->id)
        return;
    if (i->op == CAPTURE_CLOSE_SESSION) {
        end_attempt(l, false);
        end_owned(l, i->t_ns, "exit");
        l->is_leaving = i->is_answered && !i->zk_rc;
        return;
    }
    if (is_reread(l, i) || scan_op(l, i, p))
        return;
    switch (i->op) {
    case CAPTURE_GET:
    case CAPTURE_CHILDREN: take_read(l, i, p); break;
    case CAPTURE_CREATE:
        if (p->kind == ZK_PATH_OWNER && p->is_group)
            create_owner(l, i, p);
        else if (p->kind == ZK_PATH_OFFSET && p->is_group)
            write_offset(l, i, p);
        else if (p->kind == ZK_PATH_ID)
            l->scan.is_on = false; /* what follows is about this; registrations are the session's */
        else if (!a->is_on)
            break;
        else if (a->claims.count)
            count_op(l, i, &a->claim_ns); /* parents */
        else
            count_op(l, i, &a->commit_ns);
        break;
    case CAPTURE_SET:
        if (p->kind == ZK_PATH_OFFSET && p->is_group)
            write_offset(l, i, p);
        break;
    case CAPTURE_DELETE:
        if (p->kind == ZK_PATH_OWNER && p->is_group)
            delete_owner(l, i, p);
        break;
    default: break;
    }
}

/* ---- sessions ---- */

static const struct item *registration(const struct life *l, uint64_t session)
{
    uint32_t i = names_find(&l->x->session_names, "", session);
    uint32_t item = i == NAMES_NONE ? IMPORT_NONE : l->x->sessions[i].registered;
    return item == IMPORT_NONE ? NULL : &l->x->items[item];
}

static void emit_start(struct life *l, const struct item *i, const struct item *registered)
{
    struct zk_registration r;
    struct why java, why;
    struct trace_event *e = emit(l, TRACE_M_START, i->t_ns);
    if (!e)
        return;
    e->m_start.id = l->id;
    e->m_start.strategy = "";
    static const char *const nothing[1] = {NULL};
    e->m_start.topics = nothing;
    enum zkc_err err = zk_registration_read(registered->data, &r, &java, &why);
    import_failed(l->x, err);
    if (err)
        return;
    size_t n = r.subscription_count;
    const char **topics = import_alloc(l->x, n, sizeof *topics);
    for (size_t k = 0; topics && k < n; k++)
        topics[k] = import_text(l->x, r.subscriptions[k].topic, strlen(r.subscriptions[k].topic));
    e->m_start.topics = topics ? topics : nothing;
    e->m_start.topic_count = topics ? n : 0;
    for (size_t k = 0; k < n; k++) { /* 0, not known, unless it is the same for all */
        bool is_same_number = k == 0 || r.subscriptions[k].streams == r.subscriptions[0].streams;
        e->m_start.streams =
            is_same_number && (k == 0 || e->m_start.streams) ? r.subscriptions[0].streams : 0;
    }
    if (r.pattern != ZK_PATTERN_STATIC)
        e->m_start.streams = 0;
    zk_registration_deinit(&r);
}

static void emit_exit(struct life *l, uint64_t t_ns, uint64_t order, bool is_clean)
{
    uint64_t before = l->order;
    l->order = order;
    leave_attempt(l, t_ns);
    if (l->in_rebalance)
        end_rebalance(l, t_ns, false, false);
    struct trace_event *e = emit(l, TRACE_M_EXIT, t_ns);
    if (e)
        e->m_exit.is_clean = is_clean;
    l->id = NULL;
    l->owned = l->offsets = l->commits = (struct list){0};
    l->is_leaving = l->was_expired = l->has_session = false;
    l->trigger = NULL;
    l->order = before;
}

static void emit_session(struct life *l, const struct item *i, const char *what)
{
    struct trace_event *e = emit(l, TRACE_ZK_SESSION, i->t_ns);
    if (!e)
        return;
    e->zk_session.what = what;
    e->zk_session.session = i->session;
    e->zk_session.server = "";
}

static void emit_state(struct life *l, const struct item *i, const char *state)
{
    struct trace_event *e = emit(l, TRACE_ZK_STATE, i->t_ns);
    if (!e)
        return;
    e->zk_state.state = state;
    e->zk_state.server = "";
}

static void triggered(struct life *l, uint64_t t_ns, const char *why)
{
    if (l->trigger)
        return;
    l->trigger = why;
    l->trigger_ns = t_ns;
    l->trigger_order = l->order;
}

/* A process that registers in the session; the same one again, or another after it died. */
static void start(struct life *l, const struct item *i)
{
    const struct item *registered = registration(l, i->session);
    if (l->id && !l->was_expired && l->has_session)
        emit_exit(l, l->is_connected ? i->t_ns : l->gone_ns,
                  l->is_connected ? l->order : l->gone_order, false);
    if (!registered)
        return;
    bool is_new = !l->id;
    l->id = info_of(l, registered)->leaf;
    if (is_new)
        emit_start(l, i, registered);
    triggered(l, registered->done_ns, is_new ? "start" : "expired");
    memset(l->rereads, is_new ? REREAD_NONE : REREAD_EVENT, l->x->path_names.count);
    l->was_expired = false;
}

static void take_session(struct life *l, const struct item *i)
{
    start(l, i);
    l->has_session = l->is_connected = true;
    l->session = i->session;
    emit_session(l, i, "open");
    emit_state(l, i, "connected");
}

static void take_expired(struct life *l, const struct item *i)
{
    if (!l->id || i->session != l->session)
        return;
    l->was_expired = true;
    leave_attempt(l, i->t_ns);
    emit_session(l, i, "expire");
    emit_state(l, i, "expired");
    end_owned(l, i->t_ns, "lost");
}

static void take_gone(struct life *l, const struct item *i)
{
    if (i->session != l->session || !l->is_connected)
        return;
    l->is_connected = false;
    l->gone_ns = i->t_ns;
    l->gone_order = l->order;
    l->is_gone_by_client = i->is_client_end;
    if (l->is_leaving) {
        emit_session(l, i, "close");
        emit_exit(l, i->t_ns, l->order, true);
    } else {
        emit_state(l, i, "disconnected");
    }
}

static void take_watch(struct life *l, const struct item *i)
{
    const struct path_info *p = info_of(l, i);
    struct trace_event *e = emit(l, TRACE_ZK_WATCH, i->t_ns);
    if (!e)
        return;
    e->zk_watch.path = p->path;
    e->zk_watch.type = i->text;
    if (i->path != IMPORT_NONE)
        l->rereads[i->path] = REREAD_EVENT;
    if ((p->kind == ZK_PATH_IDS && p->is_group) || p->kind == ZK_PATH_TOPIC ||
        p->kind == ZK_PATH_TOPICS || p->kind == ZK_PATH_BROKERS)
        triggered(l, i->t_ns, "watch");
}

static void take_delivered(struct life *l, const struct item *i)
{
    struct trace_event *e = l->id ? emit(l, TRACE_DELIVER, i->t_ns) : NULL;
    if (!e)
        return;
    e->deliver.p = i->p;
    e->deliver.first = i->first;
    e->deliver.last = i->last;
    e->deliver.first_ns = e->deliver.last_ns = e->t_ns;
}

/* The process has gone, if its end of the connection did and nobody came back. */
static void at_end(struct life *l)
{
    leave_attempt(l, l->x->last_ns);
    if (l->id && !l->is_connected && !l->was_expired && l->is_gone_by_client)
        emit_exit(l, l->gone_ns, l->gone_order, false);
}

void import_member(struct import *x, uint32_t member)
{
    struct life l = {.x = x, .name = import_member_name(x, member)};
    l.rereads = import_alloc(x, x->path_names.count, 1);
    for (size_t k = 0; l.rereads && k < x->item_count && !x->failed; k++) {
        const struct item *i = &x->items[k];
        if (i->member != member)
            continue;
        l.order = i->order > l.order ? i->order : l.order;
        switch (i->kind) {
        case ITEM_OP: take_op(&l, i); break;
        case ITEM_WATCH: take_watch(&l, i); break;
        case ITEM_SESSION: take_session(&l, i); break;
        case ITEM_BACK:
            l.is_connected = true;
            emit_state(&l, i, "connected");
            break;
        case ITEM_EXPIRED: take_expired(&l, i); break;
        case ITEM_GONE: take_gone(&l, i); break;
        case ITEM_DELIVERED: take_delivered(&l, i); break;
        default: break;
        }
    }
    if (!x->failed)
        at_end(&l);
}
