/* What a member with zookeeper.mode=safe has that others have not: a lease that its claims stand
 * under, partitions that come and go one by one, what the application is done with, eviction, and a
 * session that is closed and opened again. Carries out outputs of zk_safe and finds its inputs; no
 * rule of the protocol is here. */
#include "zkconsumer/consumer/consumer.h"
#include "zkconsumer/consumer/observer.h"
#include "zkconsumer/consumer/watch_sessions.h"
#include "zkconsumer/core/group/zk_safe.h"
#include "zkconsumer/io/zk_session.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CLOSE_MS (24 * 3600 * 1000) /* closing has a deadline of its own, in consumer.c */

/* ---- birth and death ---- */

static enum zk_safe_strategy strategy_of(const struct conf_view *view)
{
    static const enum zk_safe_strategy strategies[] = {
        [CONF_STRATEGY_CEIL] = ZK_SAFE_CEIL,
        [CONF_STRATEGY_RANGE] = ZK_SAFE_RANGE,
        [CONF_STRATEGY_RENDEZVOUS] = ZK_SAFE_RENDEZVOUS,
        [CONF_STRATEGY_ROUNDROBIN] = ZK_SAFE_ROUNDROBIN};
    return view->is_strategy_auto ? ZK_SAFE_AUTO : strategies[view->strategy];
}

static void on_watch_notice(bool is_news, const char *text, void *user)
{
    zkc_consumer *c = user;
    log_cause(c->log, 4, LOG_FACILITY_ZK, "watch sessions", "%s", text);
    if (is_news)
        consumer_error(c, ZKC_ERR_UNREACHABLE, "%s", text);
}

static enum zkc_err new_watch_sessions(zkc_consumer *c)
{
    struct watch_sessions_config config = {
        .loop = c->loop,
        .connect = c->view.zookeeper_connect,
        .auth = c->view.zookeeper_auth,
        .session_timeout_ms = c->view.zookeeper_session_timeout_ms,
        .jute_maxbuffer = c->view.jute_maxbuffer,
        .sessions_max = c->view.watch_sessions_max,
        .seed = rng_next(&c->rng),
        .on_watch = member_watch,
        .on_notice = on_watch_notice,
        .on_log = member_session_log,
        .user = c,
    };
    c->safe_parts.watch_sessions = watch_sessions_new(&config);
    return c->safe_parts.watch_sessions ? ZKC_OK : ZKC_ERR_NOMEM;
}

enum zkc_err member_safe_new(zkc_consumer *c, const struct zk_subscription *subscriptions,
                             size_t count, enum zk_pattern pattern)
{
    static const enum zk_fence fences[] = {[CONF_FENCE_NONE] = ZK_FENCE_NONE,
                                           [CONF_FENCE_DISCONNECT] = ZK_FENCE_DISCONNECT,
                                           [CONF_FENCE_LEASE] = ZK_FENCE_LEASE};
    const struct conf_view *view = &c->view;
    struct zk_safe_config config = zk_safe_config_default();
    config.group = c->group;
    config.consumer_id = c->id;
    config.pattern = pattern;
    config.subscriptions = subscriptions;
    config.subscription_count = count;
    config.exclude_internal_topics = view->exclude_internal_topics;
    config.strategy = strategy_of(view);
    config.auto_commit = view->auto_commit;
    config.auto_commit_interval_ms = view->auto_commit_interval_ms;
    config.offsets_in = member_store(c);
    config.offsets_channel_backoff_ms = view->offsets_channel_backoff_ms;
    config.offsets_channel_timeout_ms = view->offsets_channel_timeout_ms;
    config.offsets_commit_retries = (uint32_t)view->offsets_commit_retries_max;
    config.handover_ms = view->hand_over_ms;
    config.poll_limit_ms = view->poll_interval_ms_max;
    config.close_timeout_ms = CLOSE_MS;
    config.refresh_leader_backoff_ms = view->refresh_leader_backoff_ms;
    config.seed = rng_next(&c->rng);
    config.fence = fences[view->fence];
    config.lease_probe = view->probe_sync ? LEASE_PROBE_SYNC : LEASE_PROBE_WRITE;
    config.claim_multi = view->claim_multi;
    config.release_session = view->release_session;
    config.commit_session = view->commit_session;
    config.watch_owners = view->watch_owners;
    config.keep_unmoved = view->keep_unmoved;
    config.coalesce = view->coalesce;
    config.sync_before_read = view->sync_before_read;
    config.observer_process = view->observer_process;
    struct why why;
    why_clear(&why);
    int64_t now_ms = loop_now_ms();
    enum zkc_err err = zk_safe_new(&config, now_ms, &c->safe, &why);
    if (err && why.text[0])
        log_line(c->log, 3, LOG_FACILITY_MEMBER, "%s", why.text);
    if (err)
        return err;
    c->safe_parts.polled_ms = now_ms;
    strangers_init(&c->safe_parts.strangers);
    err = new_watch_sessions(c);
    if (!err && view->observer_process)
        err = observer_join(c, subscriptions, count, pattern, &c->safe_parts.observer);
    return err;
}

static void forget_waiting(struct safe_parts *p, size_t at)
{
    free(p->waiting[at].topic);
    free(p->waiting[at].holder);
    p->waiting[at] = p->waiting[--p->waiting_count];
}

void member_safe_free(zkc_consumer *c)
{
    struct safe_parts *p = &c->safe_parts;
    observer_leave(p->observer, c);
    p->observer = NULL;
    watch_sessions_free(p->watch_sessions);
    p->watch_sessions = NULL;
    zk_safe_free(c->safe);
    c->safe = NULL;
    if (p->lease)
        gate_lease_end(p->lease);
    gate_lease_unref(p->lease);
    p->lease = NULL;
    while (p->waiting_count > 0)
        forget_waiting(p, p->waiting_count - 1);
    strangers_deinit(&p->strangers);
    free(p->waiting);
    p->waiting = NULL;
    free(p->starting);
    p->starting = NULL;
    p->starting_count = p->starting_cap = 0;
    loop_cancel(c->loop, &p->start);
}

/* ---- the session and its lease ---- */

void member_safe_connected(zkc_consumer *c, int64_t session_id)
{
    struct safe_parts *p = &c->safe_parts;
    if (c->view.mode != CONF_MODE_SAFE)
        return;
    member_safe_session_over(c);
    p->lease = gate_lease_new();
    p->lease_session = session_id;
    p->lease_end_ms = 0;
    if (!p->lease)
        log_line(c->log, 3, LOG_FACILITY_ZK,
                 "out of memory: nothing is delivered in the session 0x%" PRIx64,
                 (uint64_t)session_id);
}

void member_safe_session_over(zkc_consumer *c)
{
    struct safe_parts *p = &c->safe_parts;
    if (!p->lease)
        return;
    gate_lease_end(p->lease);
    gate_lease_unref(p->lease);
    p->lease = NULL;
    p->lease_end_ms = INT64_MIN;
    if (c->safe)
        tracing_lease(c->tracing, p->lease_session, INT64_MIN);
}

static void take_lease(zkc_consumer *c, const struct group_output *o)
{
    struct safe_parts *p = &c->safe_parts;
    if (!p->lease || o->lease.session_id != p->lease_session)
        return; /* of a session that is over, for good */
    /* Not at all may be for now only (zookeeper.fence=disconnect); the end of the session is for
     * good, see member_safe_session_over(). */
    gate_lease_move(p->lease, o->lease.end_ms == INT64_MIN ? 0 : o->lease.end_ms);
    p->lease_end_ms = o->lease.end_ms;
    p->leases++;
    tracing_lease(c->tracing, p->lease_session, o->lease.end_ms);
    stream_hub_look_again(c->hub);
    member_lease_moved(c, o->lease.session_id, o->lease.end_ms);
}

/* ---- eviction ---- */

static void evicted(zkc_consumer *c)
{
    c->safe_parts.evictions++;
    c->safe_parts.is_evicted = c->safe_parts.awaits_poll = true;
    stream_hub_want_poll(c->hub);
}

static void close_session(zkc_consumer *c)
{
    if (c->leave_fed) {
        member_close_session(c);
        return;
    }
    c->safe_parts.is_evicting = true;
    member_safe_session_over(c);
    fetching_void(c->fetching, 0, NULL);
    member_close_evicted(c);
}

void member_safe_session_closed(zkc_consumer *c)
{
    c->safe_parts.is_evicting = c->safe_parts.is_evicted = false;
    c->safe_parts.is_session_closed = true;
    member_drain(c);
}

static void open_session(zkc_consumer *c)
{
    c->safe_parts.is_session_wanted = member_reopen(c) != ZKC_OK;
    if (c->safe_parts.is_session_wanted)
        log_line(c->log, 3, LOG_FACILITY_ZK, "out of memory: a new session has to wait");
}

/* ---- partitions that come and go ---- */

/* How many FETCH_STOPs of one gate there are from the first on. */
static size_t run_of(const struct group_output *list, size_t count)
{
    size_t n = 1;
    while (n < count && list[n].type == GROUP_OUT_FETCH_STOP &&
           list[n].fetch_stop.gate == list[0].fetch_stop.gate)
        n++;
    return n;
}

static void not_fetched(zkc_consumer *c, const struct group_claim *claim, enum zkc_err err)
{
    log_line(c->log, 3, LOG_FACILITY_FETCH, "[%s,%d] is not fetched until it is claimed again: %s",
             claim->topic, claim->partition, zkc_err_text(err));
    consumer_error(c, err, "[%s,%d] is not fetched until it is claimed again", claim->topic,
                   claim->partition);
}

static int by_partition(const void *a, const void *b)
{
    const struct group_claim *x = a, *y = b;
    return topic_partition_compare((struct topic_partition){x->topic, x->partition},
                                   (struct topic_partition){y->topic, y->partition});
}

/* Those that the machine has found already. */
static void start_from_leaders(zkc_consumer *c, const struct group_claim *claims, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct group_claim *claim = &claims[i];
        const struct group_leader leader = {claim->topic, claim->partition, claim->leader_id,
                                            claim->leader_host, claim->leader_port};
        fetching_leaders(c->fetching, &leader, 1);
    }
}

void member_safe_start(zkc_consumer *c)
{
    struct safe_parts *p = &c->safe_parts;
    struct group_claim *claims = p->starting;
    size_t count = p->starting_count;
    if (count == 0)
        return;
    p->starting = NULL; /* the application may call back */
    p->starting_count = p->starting_cap = 0;
    qsort(claims, count, sizeof *claims, by_partition);
    struct zkc_owned *owned = calloc(count, sizeof *owned);
    for (size_t i = 0; owned && i < count; i++)
        owned[i] = (struct zkc_owned){claims[i].topic, claims[i].partition, claims[i].thread,
                                      claims[i].offset};
    if (owned)
        member_tell_rebalance(c, ZKC_REBALANCE_ASSIGN, owned, count);
    size_t known = 0; /* claims whose leader is */
    for (size_t i = 0; i < count; i++) {
        enum zkc_err err = ZKC_ERR_NOMEM;
        if (owned && p->lease && claims[i].session_id == p->lease_session)
            err = fetching_start(c->fetching, &owned[i], claims[i].number, claims[i].offset,
                                 p->lease);
        if (err)
            not_fetched(c, &claims[i], err);
        else if (claims[i].leader_host)
            claims[known++] = claims[i];
    }
    start_from_leaders(c, claims, known);
    free(owned);
    free(claims);
}

void member_safe_run_start(void *consumer)
{
    zkc_consumer *c = consumer;
    if (c->safe && c->state < CONSUMER_SESSION)
        member_safe_start(c);
}

/* Claims are answered one by one, mostly many in one turn of the loop: the application is told of
 * them together, in the next one. */
static void start(zkc_consumer *c, const struct group_output *o)
{
    struct safe_parts *p = &c->safe_parts;
    if (p->starting_count == p->starting_cap) {
        size_t cap = p->starting_cap ? p->starting_cap * 2 : 16;
        struct group_claim *list = realloc(p->starting, cap * sizeof *list);
        if (!list) {
            not_fetched(c, &o->fetch_start, ZKC_ERR_NOMEM);
            return;
        }
        p->starting = list;
        p->starting_cap = cap;
    }
    p->starting[p->starting_count++] = o->fetch_start;
    loop_post(c->loop, &p->start);
}

/* One that was to start, and ends before the application has heard of it. */
static void forget_starting(struct safe_parts *p, uint64_t number)
{
    for (size_t i = 0; i < p->starting_count; i++)
        if (p->starting[i].number == number) {
            p->starting[i] = p->starting[--p->starting_count];
            return;
        }
}

static void stop(zkc_consumer *c, const struct group_output *list, size_t count)
{
    bool is_lost = list[0].fetch_stop.gate == GROUP_GATE_LOST;
    struct zkc_owned *owned = calloc(count, sizeof *owned), one;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        forget_starting(&c->safe_parts, list[i].fetch_stop.claim);
        struct zkc_owned *to = owned ? &owned[n] : &one;
        n += fetching_end(c->fetching, list[i].fetch_stop.topic, list[i].fetch_stop.partition,
                          list[i].fetch_stop.claim, is_lost ? GATE_LOST : GATE_REVOKED,
                          is_lost                                    ? "lost"
                          : c->leave_fed || c->safe_parts.is_evicted ? "exit"
                                                                     : "release",
                          to);
    }
    if (owned && n > 0)
        member_tell_rebalance(c, is_lost ? ZKC_REBALANCE_LOST : ZKC_REBALANCE_REVOKE, owned, n);
    free(owned);
}

static void void_claim(zkc_consumer *c, const struct group_output *o)
{
    struct drained was;
    if (!fetching_void(c->fetching, o->voided.claim, &was))
        return;
    c->safe_parts.voided++;
    tracing_void(c->tracing, was.topic, was.partition, was.finished, was.number);
    switch (o->voided.reason) {
    case GROUP_VOID_LATE:
        log_line(c->log, 4, LOG_FACILITY_CLAIM,
                 "[%s,%d] the time for handing over is up (zookeeper.hand.over.ms): what the "
                 "application holds from offset %" PRId64 " on will be delivered again, to its "
                 "next owner",
                 was.topic, was.partition, was.finished);
        break;
    case GROUP_VOID_RESET:
        log_line(c->log, 6, LOG_FACILITY_CLAIM,
                 "[%s,%d] a forced reset to offset %" PRId64 ": what the application holds from "
                 "offset %" PRId64 " on does not count any more",
                 was.topic, was.partition, o->voided.reset, was.finished);
        break;
    case GROUP_VOID_LOST:
        log_line(c->log, 4, LOG_FACILITY_CLAIM,
                 "[%s,%d] is not ours any more: what the application holds from offset %" PRId64
                 " on will be delivered again, to its next owner",
                 was.topic, was.partition, was.finished);
        break;
    }
}

/* ---- what members should know ---- */

static struct waiting_for *find_waiting(struct safe_parts *p, const char *topic, int32_t partition)
{
    for (size_t i = 0; i < p->waiting_count; i++)
        if (p->waiting[i].partition == partition && strcmp(p->waiting[i].topic, topic) == 0)
            return &p->waiting[i];
    return NULL;
}

static struct waiting_for *add_waiting(struct safe_parts *p, const char *topic, int32_t partition)
{
    if (p->waiting_count == p->waiting_cap) {
        size_t cap = p->waiting_cap ? p->waiting_cap * 2 : 8;
        struct waiting_for *list = realloc(p->waiting, cap * sizeof *list);
        if (!list)
            return NULL;
        p->waiting = list;
        p->waiting_cap = cap;
    }
    struct waiting_for *w = &p->waiting[p->waiting_count];
    *w = (struct waiting_for){.topic = strdup(topic), .partition = partition};
    if (!w->topic)
        return NULL;
    p->waiting_count++;
    return w;
}

/* For the statistics: without memory for it they lack one. */
static void take_waiting(zkc_consumer *c, const struct group_output *o)
{
    struct safe_parts *p = &c->safe_parts;
    struct waiting_for *w = find_waiting(p, o->waiting.topic, o->waiting.partition);
    if (!o->waiting.holder) {
        if (w)
            forget_waiting(p, (size_t)(w - p->waiting));
        return;
    }
    log_line(c->log, 6, LOG_FACILITY_CLAIM,
             "waiting for the partition ownership to be deleted: [%s,%d] is held by %s",
             o->waiting.topic, o->waiting.partition, o->waiting.holder);
    w = w ? w : add_waiting(p, o->waiting.topic, o->waiting.partition);
    if (!w)
        return;
    free(w->holder);
    w->holder = strdup(o->waiting.holder);
    w->since_ms = o->waiting.since_ms;
}

static void take_foreign(zkc_consumer *c, const struct group_output *o)
{
    char by[400] = "";
    c->safe_parts.foreign_writes++;
    if (o->foreign.is_obeyed)
        return; /* asked for by our own tools, and in the log */
    struct stranger *who = strangers_find(&c->safe_parts.strangers, o->foreign.by);
    who->offset_writes++;
    who->doubled += (uint64_t)o->foreign.doubled;
    if (o->foreign.doubled > 0)
        snprintf(by, sizeof by,
                 ": most likely %s, which has no lease and had it before; it has consumed %" PRId64
                 " messages of what we deliver",
                 o->foreign.by, o->foreign.doubled);
    else if (o->foreign.by)
        snprintf(by, sizeof by, ": most likely %s, which has no lease and had it before",
                 o->foreign.by);
    consumer_error(c, ZKC_ERR_ZOOKEEPER,
                   "[%s,%d] somebody else has %s the offset of a partition that we own: %" PRId64
                   " instead of %" PRId64 "%s; the next commit with progress overwrites it",
                   o->foreign.topic, o->foreign.partition,
                   o->foreign.found < 0 ? "deleted" : "written", o->foreign.found,
                   o->foreign.expected, by);
}

/* The notice beside it says so. */
static void take_deleted(zkc_consumer *c, const struct group_output *o)
{
    c->safe_parts.foreign_deletes++;
    strangers_find(&c->safe_parts.strangers, o->deleted.by)->owner_deletes++;
}

static void take_returned(zkc_consumer *c, const struct group_output *o)
{
    struct stranger *who = strangers_find(&c->safe_parts.strangers, o->returned.consumer_id);
    int64_t messages = 0, position;
    for (size_t i = 0; i < o->returned.count; i++) {
        const struct group_position *p = &o->returned.list[i];
        if (p->offset >= 0 &&
            fetching_position(c->fetching, p->topic, p->partition, &position) == ZKC_OK &&
            position > p->offset)
            messages += position - p->offset;
    }
    who->returns++;
    who->doubtful += (uint64_t)messages;
    consumer_error(c, ZKC_ERR_ZOOKEEPER,
                   "member %s, which has no lease, is back in another session: unless it was "
                   "restarted it has delivered on without one, and of %" PRId64
                   " messages that we have handed out of what it had before (%zu partitions) as "
                   "many as it could fetch",
                   o->returned.consumer_id, messages, o->returned.count);
}

static void take_gave_up(zkc_consumer *c, const struct group_output *o)
{
    struct stranger *who = strangers_find(&c->safe_parts.strangers, o->gave_up.consumer_id);
    if (!who->member)
        return; /* of nobody known nobody can say how much it lacks */
    bool is_news = who->free == 0 && o->gave_up.free > 0;
    who->free = o->gave_up.free;
    who->share = o->gave_up.share;
    who->gave_up_since_ms = o->gave_up.since_ms;
    if (is_news)
        consumer_error(c, ZKC_ERR_REBALANCE,
                       "member %s, which has no lease, has given up: %zu of its share of %zu "
                       "partitions are with nobody",
                       o->gave_up.consumer_id, o->gave_up.free, o->gave_up.share);
}

/* ---- outputs ---- */

size_t member_safe_carry_out(zkc_consumer *c, const struct group_output *list, size_t count)
{
    size_t n = 1;
    if (!c->safe)
        return 0;
    switch (list[0].type) {
    case GROUP_OUT_FETCH_START: start(c, list); break;
    case GROUP_OUT_FETCH_STOP:
        n = run_of(list, count);
        stop(c, list, n);
        break;
    case GROUP_OUT_VOID: void_claim(c, list); break;
    case GROUP_OUT_LEASE: take_lease(c, list); break;
    case GROUP_OUT_OPEN_SESSION: open_session(c); break;
    case GROUP_OUT_CLOSE_SESSION: close_session(c); break;
    case GROUP_OUT_WAITING: take_waiting(c, list); break;
    case GROUP_OUT_EVICTED: evicted(c); break;
    case GROUP_OUT_FOREIGN: take_foreign(c, list); break;
    case GROUP_OUT_DELETED: take_deleted(c, list); break;
    case GROUP_OUT_RETURNED: take_returned(c, list); break;
    case GROUP_OUT_GAVE_UP: take_gave_up(c, list); break;
    default: return 0;
    }
    return n;
}

/* ---- inputs ---- */

bool member_safe_take_input(zkc_consumer *c, struct group_input *in)
{
    struct safe_parts *p = &c->safe_parts;
    struct drained drained;
    *in = (struct group_input){0};
    if (p->is_session_closed) {
        p->is_session_closed = false;
        in->type = GROUP_IN_SESSION_CLOSED;
        return true;
    }
    if (p->was_polled) {
        p->was_polled = false;
        in->type = GROUP_IN_POLLED;
        return true;
    }
    if (c->fetching && fetching_take_drained(c->fetching, &drained)) {
        tracing_processed(c->tracing, drained.topic, drained.partition, drained.finished,
                          drained.number);
        in->type = GROUP_IN_DRAINED;
        in->drained.topic = drained.topic;
        in->drained.partition = drained.partition;
        in->drained.claim = drained.number;
        in->drained.finished = drained.finished;
        in->drained.moves = drained.moves;
        return true;
    }
    return observer_take_view(p->observer, c, in);
}

int64_t member_safe_polled_ms(zkc_consumer *c, int64_t now_ms)
{
    if (c->view.poll_interval_ms_max == 0)
        return -1;
    if (c->safe_parts.awaits_poll) /* that nothing is there to be asked for is no asking */
        return c->safe_parts.polled_ms;
    int64_t at = stream_hub_polled_ms(c->hub, now_ms);
    if (at > c->safe_parts.polled_ms)
        c->safe_parts.polled_ms = at;
    return c->safe_parts.polled_ms;
}

static void keep_position(const struct drained *d, void *user)
{
    zkc_consumer *c = user;
    if (member_reserve_positions(c, c->stopped_count + 1))
        c->stopped[c->stopped_count++] =
            (struct group_position){d->topic, d->partition, d->finished, d->number, d->moves};
}

void member_safe_keep_positions(zkc_consumer *c)
{
    c->stopped_count = 0;
    fetching_finished(c->fetching, keep_position, c);
}

void member_safe_on_drained(zkc_stream *stream, void *consumer)
{
    zkc_consumer *c = consumer;
    (void)stream;
    if (c->safe && c->state < CONSUMER_SESSION)
        member_drain(c);
}

void member_safe_on_polled(void *consumer)
{
    zkc_consumer *c = consumer;
    if (!c->safe || c->state >= CONSUMER_SESSION)
        return;
    c->safe_parts.was_polled = true;
    c->safe_parts.awaits_poll = false;
    member_drain(c);
}

/* ---- statistics ---- */

static int64_t lease_left_ms(const struct safe_parts *p)
{
    if (!p->lease || p->lease_end_ms == INT64_MIN)
        return 0;
    int64_t left_ms = p->lease_end_ms == INT64_MAX ? -1 : p->lease_end_ms - loop_now_ms();
    return p->lease_end_ms != INT64_MAX && left_ms < 0 ? 0 : left_ms;
}

struct watch_spread_counts member_safe_watches(const zkc_consumer *c)
{
    const struct safe_parts *p = &c->safe_parts;
    struct watch_spread_counts n = {0};
    if (p->watch_sessions)
        n = watch_sessions_counts(p->watch_sessions);
    struct watch_spread_counts by_observer = observer_watches(p->observer);
    n.sessions += by_observer.sessions;
    n.watches += by_observer.watches;
    n.unwatched += by_observer.unwatched;
    n.is_short |= by_observer.is_short;
    return n;
}

static void add_watches(const zkc_consumer *c, struct json *j)
{
    struct watch_spread_counts n = member_safe_watches(c);
    json_object_begin(j, "watches");
    json_int(j, "left", (int64_t)n.watches);
    json_int(j, "sessions", n.sessions);
    json_int(j, "own_bytes", (int64_t)n.bytes);
    json_int(j, "unwatched", (int64_t)n.unwatched);
    json_object_end(j);
}

void member_safe_stats(zkc_consumer *c, struct json *j)
{
    const struct safe_parts *p = &c->safe_parts;
    if (!c->safe)
        return;
    struct zk_safe_counts n = zk_safe_counts(c->safe);
    json_object_begin(j, "safe");
    json_int(j, "lease_left_ms", lease_left_ms(p));
    json_int(j, "leases", (int64_t)p->leases);
    json_int(j, "probes", (int64_t)n.probes);
    json_int(j, "wanted", (int64_t)n.wanted);
    json_int(j, "owned", (int64_t)n.owned);
    json_int(j, "unsure", (int64_t)n.unsure);
    json_int(j, "overdue", (int64_t)n.overdue);
    json_int(j, "rounds", (int64_t)n.rounds);
    json_int(j, "claims", (int64_t)n.claims);
    json_int(j, "conflicts", (int64_t)n.conflicts);
    json_int(j, "releases", (int64_t)n.releases);
    json_int(j, "commits", (int64_t)n.commits);
    json_int(j, "foreign_writes", (int64_t)p->foreign_writes);
    json_int(j, "foreign_deletes", (int64_t)p->foreign_deletes);
    strangers_json(&p->strangers, j, loop_now_ms());
    json_int(j, "voided", (int64_t)p->voided);
    json_int(j, "evictions", (int64_t)p->evictions);
    add_watches(c, j);
    json_list_begin(j, "waiting");
    for (size_t i = 0; i < p->waiting_count; i++) {
        json_object_begin(j, NULL);
        json_text(j, "topic", p->waiting[i].topic);
        json_int(j, "partition", p->waiting[i].partition);
        json_text(j, "holder", p->waiting[i].holder);
        json_int(j, "for_ms", loop_now_ms() - p->waiting[i].since_ms);
        json_object_end(j);
    }
    json_list_end(j);
    json_object_end(j);
}
