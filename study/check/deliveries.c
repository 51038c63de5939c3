/* Beliefs, deliveries, commits (C2 - C6, C9, C10), and how long a partition was in which state. */
#include "study/check/decode.h"
#include "study/check/state.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between processes of a real run a hand-over and the line about it are told by different threads:
 * a message that was taken while the gate was closing is no violation. */
#define REAL_SLACK_NS (100 * MS)

static uint64_t slack(const struct check *c)
{
    return c->is_virtual ? 0 : REAL_SLACK_NS;
}

/* ---- times of states (1.2) ---- */

void partition_settle(struct check *c, uint32_t index)
{
    struct partition *p = &c->partitions[index];
    uint64_t ns = c->now_ns - p->settled_ns;
    p->settled_ns = c->now_ns;
    if (!ns)
        return;
    if (p->believers == 0)
        p->gap_ns += ns;
    else if (p->active >= 2)
        p->dual_ns += ns;
    else if (p->active == 1)
        p->available_ns += ns;
    else if (p->awake == 0)
        p->frozen_ns += ns;
    else
        p->paused_ns += ns;
    if (p->active == 1 && p->believers > 1)
        p->latent_ns += ns;
    if (p->active == 0 || !c->has_txns)
        return;
    const struct pair *owner =
        p->has_owner && p->owner_member != NAMES_NONE ? pair_find(c, p->owner_member, index) : NULL;
    if (!owner || !owner->is_counted_active || p->active > 1)
        p->mismatch_ns += ns;
}

void pair_recount(struct check *c, struct pair *x)
{
    const struct member *m = &c->members[x->member];
    bool believes = x->believes && m->is_live;
    bool awake = believes && !m->is_suspended;
    bool active = awake && x->fetching && !m->has_lapsed;
    partition_settle(c, x->partition);
    struct partition *p = &c->partitions[x->partition];
    p->believers += (uint32_t)believes - x->is_counted_believer;
    p->awake += (uint32_t)awake - x->is_counted_awake;
    p->active += (uint32_t)active - x->is_counted_active;
    x->is_counted_believer = believes;
    x->is_counted_awake = awake;
    x->is_counted_active = active;
}

static const char *topic_of(const struct check *c, const struct pair *x)
{
    return c->partition_names.list[x->partition].text;
}

static int number_of(const struct check *c, const struct pair *x)
{
    return (int)c->partition_names.list[x->partition].number;
}

static const char *member_name(const struct check *c, const struct pair *x)
{
    return c->member_names.list[x->member].text;
}

/* ---- C5 ---- */

/* The belief is over, and nothing that was delivered covers them. */
static void refuse_pending(struct check *c, struct pair *x)
{
    for (size_t i = 0; i < x->pending_count; i++)
        violated(c, CHECK_C5, x->pending[i].gs,
                 "%s commits %" PRId64
                 " of %s/%d at %.3f s, beyond what it delivered (next is %" PRId64 ")",
                 member_name(c, x), x->pending[i].offset, topic_of(c, x), number_of(c, x),
                 (double)x->pending[i].t_ns / 1e9, x->next);
    x->pending_count = 0;
}

/* A run that was delivered answers the commits that waited for it: what they cover must have been
 * handed out before. The time of one message inside a run is not known: the run's beginning counts.
 */
static void answer_pending(struct check *c, struct pair *x, const struct trace_event *e)
{
    size_t kept = 0;
    for (size_t i = 0; i < x->pending_count; i++) {
        struct pending w = x->pending[i];
        if (w.offset - 1 > e->deliver.last) {
            x->pending[kept++] = w;
        } else if (e->deliver.first_ns > w.t_ns + slack(c)) {
            violated(c, CHECK_C5, w.gs,
                     "%s commits %" PRId64 " of %s/%d at %.3f s, and delivers %" PRId64
                     " only from %.3f s on",
                     member_name(c, x), w.offset, topic_of(c, x), number_of(c, x),
                     (double)w.t_ns / 1e9, w.offset - 1, (double)e->deliver.first_ns / 1e9);
        }
    }
    x->pending_count = kept;
}

/* Whether it was committed after its owner had gone back: of before it may be more than the owner
 * has come to since. */
static bool is_of_mover(const struct check *c, const struct partition *p, int64_t offset)
{
    return p->mover == NAMES_NONE || offset <= c->pairs[p->mover].next;
}

static void book_commit(struct check *c, struct partition *p, int64_t offset)
{
    if (p->committed >= 0) {
        checked(c, CHECK_REGRESSIONS);
        checked(c, CHECK_REGRESSION_DEPTH);
        if (offset < p->committed) {
            counted(c, CHECK_REGRESSIONS, 1);
            counted(c, CHECK_REGRESSION_DEPTH, (uint64_t)(p->committed - offset));
        }
    }
    if (offset < p->committed && p->floor_asked >= 0 && is_of_mover(c, p, offset)) {
        if (p->floor < 0 || p->floor_asked < p->floor)
            p->floor = p->floor_asked;
        p->floor_asked = -1;
    }
    p->committed_before = p->committed;
    p->committed = p->begin_least = offset;
    p->committed_gs = c->gs;
    /* Sent before its owner had gone back in the topic made again. */
    bool is_on_its_way = p->is_reborn && !is_of_mover(c, p, offset);
    if (p->floor < 0 || p->is_of_before || is_on_its_way)
        p->floor = offset;
}

/* What lies between is wanted by nobody. */
static void skip(struct check *c, struct partition *p, int64_t from, int64_t to)
{
    uint64_t twice;
    if (from >= 0 && from < to && !offsets_add(&p->skipped, from, to - 1, &twice))
        c->failed = true;
}

/* A tool has written it with a leading zero. Who has read the offset before begins there. */
static void book_forced(struct check *c, struct partition *p, int64_t offset)
{
    int64_t least = p->begin_least < offset ? p->begin_least : offset;
    skip(c, p, p->committed, offset);
    if (offset < p->committed) {
        p->floor_asked = offset;
        p->mover = NAMES_NONE;
    }
    book_commit(c, p, offset);
    p->begin_least = least;
    p->forced = offset;
}

static void take_offset_read(struct check *c, const struct trace_event *e)
{
    struct pair *x = pair_of(c, e->m, e->offset.p);
    if (x && e->offset.offset > x->read_most)
        x->read_most = e->offset.offset;
    if (x && !e->offset.zxid && e->offset.offset > x->read_stored)
        x->read_stored = e->offset.offset;
}

static void check_commit(struct check *c, const struct trace_event *e, struct pair *x)
{
    checked(c, CHECK_C5);
    if (c->members[x->member].is_safe && (e->offset.offset <= x->read_most ||
                                          e->offset.offset == c->partitions[x->partition].forced))
        return; /* with two stores one gets what the other has; what is forced is written plain */
    if (!x->had_belief)
        violated(c, CHECK_C5, UINT64_MAX, "%s commits %s/%d, which it never owned", e->m,
                 topic_of(c, x), number_of(c, x));
    else if (x->start >= 0 && e->offset.offset < x->start &&
             (x->moved_to < 0 || e->offset.offset < x->moved_to))
        violated(c, CHECK_C5, x->since_gs,
                 "%s commits %" PRId64 " of %s/%d, before its start %" PRId64, e->m,
                 e->offset.offset, topic_of(c, x), number_of(c, x), x->start);
    else if (x->next >= 0 && e->offset.offset > x->next && e->offset.offset > x->reached) {
        if (!x->believes || x->pending_count == PENDING_MAX)
            violated(c, CHECK_C5, UINT64_MAX,
                     "%s commits %" PRId64 " of %s/%d, beyond what it delivered (next is %" PRId64
                     ")",
                     e->m, e->offset.offset, topic_of(c, x), number_of(c, x), x->next);
        else
            x->pending[x->pending_count++] = (struct pending){e->offset.offset, e->t_ns, e->gs};
    }
}

static void take_commit(struct check *c, const struct trace_event *e)
{
    struct pair *x = pair_of(c, e->m, e->offset.p);
    if (!x || e->offset.offset < 0)
        return;
    struct partition *p = &c->partitions[x->partition];
    check_commit(c, e, x);
    if (strcmp(e->offset.rc, "ok") != 0)
        return;
    if (!c->has_offset_txns && !c->has_stores)
        book_commit(c, p, e->offset.offset);
    if (!c->has_txns || c->members[x->member].is_safe) /* of those the write itself tells */
        return;
    checked(c, CHECK_STALE_COMMITS);
    if (!p->has_owner || p->owner_member != x->member)
        counted(c, CHECK_STALE_COMMITS, 1);
}

/* The write itself, where the trace has it: it counts even if its answer was lost. */
static void take_offset_txn(struct check *c, const struct trace_event *e)
{
    struct trace_path path = trace_path_read(e->zk_txn.path);
    char topic[TOPIC_NAME_MAX + 1], digits[24];
    if (path.class_of != TRACE_CLASS_OFFSET || !e->zk_txn.value || path.topic_len >= sizeof topic ||
        e->zk_txn.value_len >= sizeof digits)
        return;
    memcpy(topic, path.topic, path.topic_len);
    topic[path.topic_len] = 0;
    memcpy(digits, e->zk_txn.value, e->zk_txn.value_len);
    digits[e->zk_txn.value_len] = 0;
    char *end;
    long long offset = strtoll(digits, &end, 10);
    struct partition *p = partition_of(c, (struct topic_partition){topic, path.partition}, NULL);
    if (!p || *end || end == digits)
        return;
    c->has_offset_txns = true;
    if (digits[0] == '0' && digits[1])
        book_forced(c, p, offset);
    else
        book_commit(c, p, offset);
}

/* ---- beliefs ---- */

static void end_belief(struct check *c, struct pair *x)
{
    refuse_pending(c, x);
    x->believes = false;
    pair_recount(c, x);
}

/* One claim may be begun several times: it was stopped, lost its connection before it was released,
 * and is wanted again. The answer to a commit of before then tells of an offset below. */
static void begin_at(struct check *c, struct pair *x, int64_t start)
{
    bool goes_on = c->members[x->member].is_safe && x->has_begun;
    if (!goes_on || start < x->start)
        x->start = start;
    x->next = start;
    x->has_begun = true;
}

static void take_own_begin(struct check *c, const struct trace_event *e)
{
    struct pair *x = pair_of(c, e->m, e->own.p);
    if (!x)
        return;
    checked(c, CHECK_C2);
    if (!c->members[x->member].is_live)
        violated(c, CHECK_C2, UINT64_MAX, "%s owns %s/%d, and is not running", e->m, topic_of(c, x),
                 number_of(c, x));
    if (x->believes)
        violated(c, CHECK_C2, x->since_gs, "%s owns %s/%d already", e->m, topic_of(c, x),
                 number_of(c, x));
    x->believes = x->had_belief = true;
    x->fetching = x->has_fetched = false;
    x->since_ns = e->t_ns;
    x->since_gs = e->gs;
    begin_at(c, x, e->own.offset >= 0 ? e->own.offset : -1);
    x->reached = -1;
    if (!c->members[x->member].is_safe)
        x->moved_to = -1; /* of a safe member: since it has claimed, safe.c */
    x->pending_count = 0;
    struct partition *p = &c->partitions[x->partition];
    p->floor_asked = -1;
    p->mover = NAMES_NONE;
    p->is_of_before = false;
    if (x->next >= 0 && x->next < p->committed) { /* it counts when that is committed */
        p->floor_asked = x->next;
        p->mover = (uint32_t)(x - c->pairs);
    } else if (x->next >= 0 && (p->floor < 0 || x->next < p->floor)) {
        p->floor = x->next;
    }
    pair_recount(c, x);
}

/* The application, or auto.offset.reset, wants other messages than those that would come next. */
static void take_moved(struct check *c, const struct trace_event *e)
{
    struct pair *x = pair_of(c, e->m, e->moved.p);
    if (!x || !x->believes)
        return;
    struct partition *p = &c->partitions[x->partition];
    int64_t from = x->next >= 0 ? x->next : p->committed;
    if (from < 0 && p->floor >= 0) /* moved before auto.offset.reset has said where it is */
        from = offsets_missing(&p->delivered, p->floor);
    skip(c, p, from, e->moved.offset);
    p->is_of_before = false;
    if (x->next > x->reached)
        x->reached = x->next;
    x->next = e->moved.offset;
    if (x->moved_to < 0 || e->moved.offset < x->moved_to)
        x->moved_to = e->moved.offset;
    if (e->moved.offset < x->start)
        x->start = e->moved.offset;
    if (p->floor < 0 && p->committed < 0)
        p->floor = e->moved.offset;
    else if (p->floor_asked < 0 || e->moved.offset < p->floor_asked ||
             p->mover != (uint32_t)(x - c->pairs)) /* who is not the owner any more may move, too */
        p->floor_asked = e->moved.offset;
    p->mover = (uint32_t)(x - c->pairs);
}

static void take_own_end(struct check *c, const struct trace_event *e)
{
    struct pair *x = pair_of(c, e->m, e->own.p);
    if (!x)
        return;
    checked(c, CHECK_C2);
    if (!x->believes)
        violated(c, CHECK_C2, UINT64_MAX, "%s ends owning %s/%d (%s), which it does not own", e->m,
                 topic_of(c, x), number_of(c, x), e->own.why);
    end_belief(c, x);
}

static void set_fetching(struct check *c, const struct trace_event *e, struct pair *x,
                         bool fetching)
{
    if (fetching && !x->fetching && !x->has_fetched) {
        x->has_fetched = true;
        x->fetch_since_ns = e->t_ns;
    }
    x->fetching = fetching;
    pair_recount(c, x);
}

static void take_fetch(struct check *c, const struct trace_event *e)
{
    bool starts = e->type == TRACE_FETCH_START;
    for (size_t i = 0; i < e->fetch.count; i++) {
        struct pair *x = pair_of(c, e->m, e->fetch.ps[i]);
        if (!x)
            return;
        set_fetching(c, e, x, starts);
    }
    struct member *m = e->fetch.ps ? NULL : member_of(c, e->m, NULL); /* "*": all that it has */
    for (size_t i = 0; m && i < m->pair_count; i++)
        if (c->pairs[m->pairs[i]].believes)
            set_fetching(c, e, &c->pairs[m->pairs[i]], starts);
}

/* ---- C3, C4, C6 ---- */

static bool is_within_pause(const struct member *m, uint64_t t_ns)
{
    size_t kept = m->pause_count < PAUSES_KEPT ? m->pause_count : PAUSES_KEPT;
    for (size_t i = 0; i < kept; i++)
        if (t_ns > m->pauses[i].from_ns && t_ns < m->pauses[i].to_ns)
            return true;
    return false;
}

static void check_delivery_time(struct check *c, const struct trace_event *e, struct pair *x)
{
    const struct member *m = &c->members[x->member];
    checked(c, CHECK_C3);
    if (!x->believes) {
        violated(c, CHECK_C3, x->had_belief ? x->since_gs : UINT64_MAX,
                 "%s delivers %" PRId64 "..%" PRId64 " of %s/%d, which it does not own", e->m,
                 e->deliver.first, e->deliver.last, topic_of(c, x), number_of(c, x));
        return;
    }
    uint64_t from_ns = x->has_fetched ? x->fetch_since_ns : x->since_ns;
    if (e->deliver.first_ns + slack(c) < x->since_ns)
        violated(c, CHECK_C3, x->since_gs,
                 "%s delivers %s/%d from %.3f s on, and owns it from %.3f s", e->m, topic_of(c, x),
                 number_of(c, x), (double)e->deliver.first_ns / 1e9, (double)x->since_ns / 1e9);
    else if (!x->has_fetched || e->deliver.first_ns + slack(c) < from_ns)
        violated(c, CHECK_C3, x->since_gs, "%s delivers %s/%d at %.3f s before it began to fetch",
                 e->m, topic_of(c, x), number_of(c, x), (double)e->deliver.first_ns / 1e9);
    if (e->deliver.last_ns > e->t_ns)
        violated(c, CHECK_C3, UINT64_MAX, "%s delivers %s/%d until %.3f s, which is to come", e->m,
                 topic_of(c, x), number_of(c, x), (double)e->deliver.last_ns / 1e9);
    if (is_within_pause(m, e->deliver.first_ns) || is_within_pause(m, e->deliver.last_ns))
        violated(c, CHECK_C3, UINT64_MAX, "%s delivers %s/%d from %.3f s to %.3f s, suspended",
                 e->m, topic_of(c, x), number_of(c, x), (double)e->deliver.first_ns / 1e9,
                 (double)e->deliver.last_ns / 1e9);
}

/* The first run that ends at `offset` or later. */
static size_t find_produce(const struct partition *p, int64_t offset)
{
    size_t low = 0, high = p->produce_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (p->produce[mid].last < offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void check_content(struct check *c, const struct trace_event *e, const struct pair *x)
{
    const struct partition *p = &c->partitions[x->partition];
    if (!c->has_produce || p->is_reborn) /* may be of the topic that is gone */
        return;
    checked(c, CHECK_C6);
    if (e->deliver.last > p->produced) {
        violated(c, CHECK_C6, UINT64_MAX,
                 "%s delivers %" PRId64 " of %s/%d; produced is up to %" PRId64, e->m,
                 e->deliver.last, topic_of(c, x), number_of(c, x), p->produced);
        return;
    }
    size_t i = find_produce(p, e->deliver.first);
    if (i < p->produce_count && e->deliver.first >= p->produce[i].first) {
        if (e->deliver.first_ns < p->produce[i].first_ns)
            violated(c, CHECK_C6, UINT64_MAX,
                     "%s delivers %" PRId64 " of %s/%d before it was produced", e->m,
                     e->deliver.first, topic_of(c, x), number_of(c, x));
        if (e->deliver.hash && p->produce[i].hash && e->deliver.first == p->produce[i].first &&
            e->deliver.last == p->produce[i].last && e->deliver.hash != p->produce[i].hash)
            violated(c, CHECK_C6, UINT64_MAX,
                     "%s delivers %" PRId64 "..%" PRId64 " of %s/%d, not what was produced", e->m,
                     e->deliver.first, e->deliver.last, topic_of(c, x), number_of(c, x));
    }
    uint64_t hash = trace_messages_hash(trace_partition_hash(topic_of(c, x), number_of(c, x)),
                                        e->deliver.first, e->deliver.last);
    if (c->is_virtual && e->deliver.hash && e->deliver.hash != hash)
        violated(c, CHECK_C6, UINT64_MAX,
                 "%s delivers %" PRId64 "..%" PRId64 " of %s/%d, not what was produced", e->m,
                 e->deliver.first, e->deliver.last, topic_of(c, x), number_of(c, x));
}

/* A start by auto.offset.reset: what lies between the group's progress and here is skipped. */
static void begin_at_reset(struct check *c, struct partition *p, int64_t first)
{
    if (p->floor < 0 || first < p->floor) {
        p->floor = first;
        return;
    }
    int64_t missing = offsets_missing(&p->delivered, p->floor);
    if (missing >= first)
        return;
    counted(c, CHECK_SKIPPED,
            (uint64_t)(first - missing) - offsets_count(&p->delivered, missing, first - 1));
    skip(c, p, missing, first);
}

static void take_deliver(struct check *c, const struct trace_event *e)
{
    struct pair *x = pair_of(c, e->m, e->deliver.p);
    if (!x)
        return;
    struct partition *p = &c->partitions[x->partition];
    check_delivery_time(c, e, x);
    check_content(c, e, x);
    if (x->believes) {
        checked(c, CHECK_C4);
        if (x->next < 0)
            begin_at_reset(c, p, e->deliver.first);
        else if (e->deliver.first != x->next)
            violated(c, CHECK_C4, x->since_gs,
                     "%s delivers %" PRId64 " of %s/%d, expected %" PRId64, e->m, e->deliver.first,
                     topic_of(c, x), number_of(c, x), x->next);
        answer_pending(c, x, e);
        x->next = e->deliver.last + 1;
    }
    uint64_t twice = 0;
    checked(c, CHECK_DUPLICATES);
    checked(c, CHECK_SKIPPED);
    if (!offsets_add(&p->delivered, e->deliver.first, e->deliver.last, &twice))
        c->failed = true;
    counted(c, CHECK_DUPLICATES, twice);
}

static bool is_produce_delivered(const struct partition *p, size_t i)
{
    return offsets_count(&p->delivered, p->produce[i].first, p->produce[i].last) ==
           (uint64_t)(p->produce[i].last - p->produce[i].first) + 1;
}

static void take_produce(struct check *c, const struct trace_event *e)
{
    struct partition *p = partition_of(c, e->produce.p, NULL);
    if (!p)
        return;
    c->has_produce = true;
    /* What everybody has passed needs no ledger: the oldest runs that were delivered go. */
    while (p->produce_gone < p->produce_count && is_produce_delivered(p, p->produce_gone))
        p->produce_gone++;
    if (p->produce_gone > 64 && p->produce_gone > p->produce_count / 2) {
        p->produce_count -= p->produce_gone;
        memmove(p->produce, p->produce + p->produce_gone, p->produce_count * sizeof *p->produce);
        p->produce_gone = 0;
    }
    if (p->produce_count == p->produce_cap) {
        size_t cap = p->produce_cap ? p->produce_cap * 2 : 16;
        void *grown = realloc(p->produce, cap * sizeof *p->produce);
        if (!grown) {
            c->failed = true;
            return;
        }
        p->produce = grown;
        p->produce_cap = cap;
    }
    size_t at = p->produce_count++;
    for (; at > 0 && p->produce[at - 1].first > e->produce.first; at--)
        p->produce[at] = p->produce[at - 1];
    if (p->produce_gone > at)
        p->produce_gone = at;
    p->produce[at].first = e->produce.first;
    p->produce[at].last = e->produce.last;
    p->produce[at].first_ns = e->produce.first_ns;
    p->produce[at].last_ns = e->produce.last_ns;
    p->produce[at].hash = e->produce.hash;
    if (e->produce.last > p->produced)
        p->produced = e->produce.last;
}

/* ---- members ---- */

static void count_orphans(struct check *c)
{
    bool any_live = false, any_busy = false;
    for (uint32_t i = 0; i < c->member_names.count; i++) {
        any_live = any_live || c->members[i].is_live;
        any_busy = any_busy || (c->members[i].is_live && c->members[i].in_rebalance);
    }
    c->orphans = 0;
    for (uint32_t i = 0; i < c->partition_names.count; i++)
        c->orphans += c->partitions[i].believers == 0 && !c->partitions[i].is_gone;
    c->orphans_known = any_live && !any_busy && !c->foreign;
    c->orphans_unknown = c->foreign  ? "members of the group wrote no trace"
                         : !any_live ? "no member was left at the end"
                                     : "a member was still rebalancing at the end";
}

static void take_exit(struct check *c, const struct trace_event *e)
{
    struct member *m = member_of(c, e->m, NULL);
    if (!m)
        return;
    if (e->m_exit.code == TRACE_EXIT_UNKNOWN)
        c->unknown_exits++;
    checked(c, CHECK_C2);
    if (!m->is_live)
        violated(c, CHECK_C2, UINT64_MAX, "%s exits, and was not running", e->m);
    for (size_t i = 0; i < m->pair_count; i++) {
        struct pair *x = &c->pairs[m->pairs[i]];
        if (x->believes && !e->m_exit.is_clean && c->is_virtual == false)
            x->pending_count = 0; /* what it delivered last was not written any more */
        if (x->believes)
            end_belief(c, x);
        x->in_registry = x->fetching = false;
    }
    m->is_live = m->is_suspended = m->in_rebalance = m->in_try = false;
}

static void take_suspension(struct check *c, const struct trace_event *e)
{
    struct member *m = member_of(c, e->m, NULL);
    if (!m)
        return;
    m->is_suspended = e->type == TRACE_SUSPEND;
    if (m->is_suspended) {
        m->pauses[m->pause_count % PAUSES_KEPT].from_ns = e->t_ns;
        m->pauses[m->pause_count % PAUSES_KEPT].to_ns = UINT64_MAX;
        m->pause_count++;
    } else if (m->pause_count) {
        m->pauses[(m->pause_count - 1) % PAUSES_KEPT].to_ns = e->t_ns;
    }
    for (size_t i = 0; i < m->pair_count; i++)
        pair_recount(c, &c->pairs[m->pairs[i]]);
}

/* A consumer connects when it is opened, and starts when it is told what to read. */
static void name_session(struct check *c, const struct member *m)
{
    struct session *s = m->session ? session_of(c, m->session) : NULL;
    if (!s || !s->is_known || s->incarnation != m->incarnation || s->consumer_id)
        return;
    s->consumer_id = strdup(m->consumer_id);
    c->failed = c->failed || !s->consumer_id;
}

static void take_start(struct check *c, const struct trace_event *e)
{
    struct member *m = member_of(c, e->m, NULL);
    if (!m)
        return;
    checked(c, CHECK_C2);
    if (m->is_live)
        violated(c, CHECK_C2, UINT64_MAX, "%s starts, and was running", e->m);
    m->is_live = true;
    m->is_suspended = m->in_rebalance = m->in_try = false;
    m->incarnation++;
    m->zxid_seen = 0;
    m->has_view = m->has_try_end = false;
    m->pause_count = 0;
    free(m->consumer_id);
    m->consumer_id = strdup(e->m_start.id);
    c->failed = c->failed || !m->consumer_id;
    if (m->consumer_id)
        name_session(c, m);
    for (size_t i = 0; i < m->pair_count; i++)
        c->pairs[m->pairs[i]].had_belief = c->pairs[m->pairs[i]].in_registry = false;
}

void check_deliveries(struct check *c, const struct trace_event *e)
{
    switch (e->type) {
    case TRACE_M_START: take_start(c, e); break;
    case TRACE_M_EXIT: take_exit(c, e); break;
    case TRACE_SUSPEND:
    case TRACE_RESUME: take_suspension(c, e); break;
    case TRACE_OWN_BEGIN: take_own_begin(c, e); break;
    case TRACE_OWN_END: take_own_end(c, e); break;
    case TRACE_FETCH_START:
    case TRACE_FETCH_STOP: take_fetch(c, e); break;
    case TRACE_MOVED: take_moved(c, e); break;
    case TRACE_DELIVER: take_deliver(c, e); break;
    case TRACE_PRODUCE: take_produce(c, e); break;
    case TRACE_OFFSET_READ: take_offset_read(c, e); break;
    case TRACE_COMMIT: take_commit(c, e); break;
    case TRACE_ZK_TXN: take_offset_txn(c, e); break;
    default: break;
    }
}

/* C10: below the committed offset everything was delivered to somebody, or skipped by a reset. */
static void check_lost(struct check *c, uint32_t index, int64_t committed, uint64_t gs)
{
    const struct partition *p = &c->partitions[index];
    if (committed < 0 || p->floor < 0 || committed <= p->floor)
        return;
    c->tallies[CHECK_C10].checked += (uint64_t)(committed - p->floor);
    uint64_t seen = offsets_count(&p->delivered, p->floor, committed - 1);
    for (size_t i = 0; i < p->skipped.count; i++) {
        struct offset_run r = p->skipped.runs[i];
        int64_t first = r.first > p->floor ? r.first : p->floor;
        int64_t last = r.last < committed - 1 ? r.last : committed - 1;
        if (last >= first)
            seen += (uint64_t)(last - first) + 1 - offsets_count(&p->delivered, first, last);
    }
    uint64_t lost = (uint64_t)(committed - p->floor) - seen;
    if (!lost || c->unknown_exits || c->foreign)
        return;
    violated(c, CHECK_C10, gs,
             "%s/%" PRIu64 ": %" PRIu64 " messages from %" PRId64
             " on were never delivered; %" PRId64 " is committed",
             c->partition_names.list[index].text, c->partition_names.list[index].number, lost,
             offsets_missing(&p->delivered, p->floor), committed);
}

void check_deliveries_finish(struct check *c)
{
    count_orphans(c);
    if (!c->has_phases) {
        c->orphans_known = false;
        c->orphans_unknown = "the trace does not say when the run settled";
    }
    checked(c, CHECK_C9);
    counted(c, CHECK_C9, c->orphans_known ? c->orphans : 0);
    for (uint32_t i = 0; i < c->partition_names.count; i++) {
        struct partition *p = &c->partitions[i];
        check_lost(c, i, p->committed, p->committed_gs);
        check_lost(c, i, p->stored, p->stored_gs);
        int64_t from = p->floor < 0 ? 0 : p->floor;
        checked(c, CHECK_UNSEEN);
        if (p->produced >= from)
            counted(c, CHECK_UNSEEN,
                    (uint64_t)(p->produced - from) + 1 -
                        offsets_count(&p->delivered, from, p->produced));
    }
    for (uint32_t i = 0; i < c->pair_names.count; i++)
        if (!c->unknown_exits)
            refuse_pending(c, &c->pairs[i]);
}
