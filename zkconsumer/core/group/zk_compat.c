#include "zkconsumer/core/group/claims.h"
#include "zkconsumer/core/group/zk_compat_parts.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdlib.h>

/* The arrows are the only ones allowed:
 *
 *   NEW -> SEARCHING -> LISTING -> REGISTERING -> SUBSCRIBING -> RUNNING -> LEAVING -> CLOSED
 *    \__________________^    \              \                      ^
 *     \_________\_____________\______________\_____________________/ */
static const bool MOVES[CLOSED + 1][CLOSED + 1] = {
    [NEW] = {[SEARCHING] = true, [LISTING] = true, [REGISTERING] = true, [LEAVING] = true},
    [SEARCHING] = {[LISTING] = true, [REGISTERING] = true, [LEAVING] = true},
    [LISTING] = {[REGISTERING] = true, [LEAVING] = true},
    [REGISTERING] = {[SUBSCRIBING] = true, [LEAVING] = true},
    [SUBSCRIBING] = {[RUNNING] = true, [LEAVING] = true},
    [RUNNING] = {[LEAVING] = true},
    [LEAVING] = {[CLOSED] = true},
};

void compat_move(struct zk_compat *m, enum member_state to)
{
    assert(MOVES[m->state][to]);
    m->state = to;
}

/* ---- birth and death ---- */

void zk_compat_free(struct zk_compat *m)
{
    if (!m)
        return;
    attempt_deinit(&m->attempt);
    attempt_deinit(&m->ended);
    registrar_deinit(&m->registrar);
    committer_deinit(&m->committer);
    offset_manager_deinit(&m->offsets);
    finder_deinit(&m->finder);
    buf_deinit(&m->registration);
    for (size_t i = 0; i < m->config.subscription_count; i++) {
        if (m->subscriptions)
            free(m->subscriptions[i].topic);
    }
    free(m->subscriptions);
    topic_book_deinit(&m->book);
    zk_filter_free(m->filter);
    creator_deinit(&m->topics_creator);
    free(m->allowed);
    free(m->group);
    free(m->consumer_id);
    free(m->ids_path);
    free(m->id_path);
    event_queue_deinit(&m->events);
    free(m->owned);
    free(m);
}

static int by_topic(const void *a, const void *b)
{
    return strcmp(((const struct zk_subscription *)a)->topic,
                  ((const struct zk_subscription *)b)->topic);
}

/* Fixed topics: the book has them in the order of their names, and all are listened to. */
static enum zkc_err enter_topics(struct zk_compat *m)
{
    for (size_t i = 0; i < m->config.subscription_count; i++) {
        uint32_t number;
        enum zkc_err err = topic_book_add(&m->book, m->subscriptions[i].topic, &number);
        if (err)
            return err;
        m->book.topics[number].is_subscribed = true;
    }
    return ZKC_OK;
}

static enum zkc_err copy_subscriptions(struct zk_compat *m, const struct zk_compat_config *config)
{
    size_t n = config->subscription_count;
    struct why why;
    bool is_filter = config->pattern != ZK_PATTERN_STATIC;
    assert(!is_filter || n == 1);
    m->config.subscription_count = n;
    m->subscriptions = calloc(n + 1, sizeof *m->subscriptions);
    if (!m->subscriptions || !event_queue_init(&m->events, n))
        return ZKC_ERR_NOMEM;
    enum zkc_err err = is_filter ? zk_filter_new(config->pattern, config->subscriptions[0].topic,
                                                 config->exclude_internal_topics, &m->filter, &why)
                                 : ZKC_OK;
    if (err)
        return err;
    for (size_t i = 0; i < n; i++) {
        m->subscriptions[i].streams = config->subscriptions[i].streams;
        m->subscriptions[i].topic =
            strdup(is_filter ? zk_filter_expression(m->filter) : config->subscriptions[i].topic);
        if (!m->subscriptions[i].topic)
            return ZKC_ERR_NOMEM;
    }
    qsort(m->subscriptions, n, sizeof *m->subscriptions, by_topic);
    return is_filter ? ZKC_OK : enter_topics(m);
}

enum zkc_err zk_compat_new(const struct zk_compat_config *config, int64_t now_ms,
                           struct zk_compat **out)
{
    assert(config->rebalance_attempts_max > 0 && config->rebalance_backoff_ms >= 0);
    struct zk_compat *m = calloc(1, sizeof *m);
    if (!m)
        return ZKC_ERR_NOMEM;
    buf_init(&m->registration, ZK_DATA_BYTES_MAX);
    m->settings = *config;
    m->group = strdup(config->group);
    m->consumer_id = strdup(config->consumer_id);
    m->ids_path = zk_path_ids(config->group);
    m->id_path = zk_path_id(config->group, config->consumer_id);
    enum zkc_err err = copy_subscriptions(m, config);
    if (!m->group || !m->consumer_id || !m->ids_path || !m->id_path)
        err = ZKC_ERR_NOMEM;
    if (err) {
        zk_compat_free(m);
        return err;
    }
    m->settings.group = m->settings.consumer_id = NULL;
    m->settings.subscriptions = NULL;
    m->config = (struct attempt_config){
        .variant = config->variant,
        .strategy = config->strategy,
        .exclude_internal_topics = config->exclude_internal_topics,
        .group = m->group,
        .consumer_id = m->consumer_id,
        .ids_path = m->ids_path,
        .id_path = m->id_path,
        .subscriptions = m->subscriptions,
        .subscription_count = config->subscription_count,
        .filter = m->filter,
        .offsets_in_kafka = config->offsets_in != COMMIT_TO_ZOOKEEPER,
        .offsets_in_both = config->offsets_in == COMMIT_TO_BOTH,
        .book = &m->book,
        .switches = config->switches,
    };
    lease_init(&m->lease, config->switches.fence, 0);
    m->lease_told_ms = INT64_MIN;
    m->commit_at_ms = config->auto_commit ? now_ms + config->auto_commit_interval_ms : INT64_MAX;
    m->register_at_ms = m->backoff_until_ms = m->resend_at_ms = INT64_MAX;
    struct offset_manager_config offsets = {.group = m->group,
                                            .backoff_ms = config->offsets_channel_backoff_ms,
                                            .timeout_ms = config->offsets_channel_timeout_ms,
                                            .seed = config->seed + 1};
    committer_init(&m->committer, m->group, config->offsets_in);
    m->committer.by_session = config->switches.commit == ZK_GUARD_SESSION;
    offset_manager_init(&m->offsets, &offsets);
    finder_init(&m->finder, config->refresh_leader_backoff_ms, config->seed);
    *out = m;
    return ZKC_OK;
}

/* ---- what the parts share ---- */

void compat_say_state(struct zk_compat *m, struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_STATE);
    o->state.registered = m->is_registered;
    o->state.settled = m->is_settled;
    o->state.gave_up = m->gave_up;
}

void compat_trigger(const char *why, struct group_outputs *out)
{
    group_emit(out, GROUP_OUT_TRIGGER)->trigger = why;
}

void compat_send(struct zk_compat *m, enum group_lane lane, const struct zk_op *op,
                 struct group_outputs *out)
{
    lane_send(m->lanes, lane, op, m->connected, out);
}

void compat_send_watching(struct zk_compat *m, enum group_lane lane, enum zk_op_type type,
                          const char *path, struct group_outputs *out)
{
    struct zk_op op = {.type = type, .path = path, .watch = true};
    compat_send(m, lane, &op, out);
}

void compat_stop_fetchers(struct zk_compat *m, enum group_stop_why why, struct group_outputs *out)
{
    finder_clear(&m->finder, m->lanes);
    if (m->lost && why != GROUP_STOP_LEAVE)
        why = GROUP_STOP_LOST;
    m->lost = false;
    m->is_fetching = false;
    group_emit(out, GROUP_OUT_STOP)->stop = why;
}

/* ---- leaving ---- */

/* The lock is ours, or nothing has been begun that needs it. */
static void leave(struct zk_compat *m, struct group_outputs *out)
{
    compat_move(m, LEAVING);
    m->register_at_ms = INT64_MAX;
    m->commit_at_ms = INT64_MAX;
    m->events.count = 0;
    m->ev = EV_IDLE;
    lane_abandon(&m->lanes[GROUP_LANE_EVENTS]);
    lane_abandon(&m->lanes[GROUP_LANE_REBALANCE]);
    compat_stop_fetchers(m, GROUP_STOP_LEAVE, out);
}

/* ---- one turn ---- */

static void rebalance_answer(struct zk_compat *m, const struct zk_result *answer,
                             struct group_outputs *out)
{
    if (m->state == LISTING)
        compat_list_answer(m, answer, out);
    else if (m->state == REGISTERING)
        compat_register_answer(m, answer, out);
    else if (m->state == SUBSCRIBING)
        compat_subscribe_answer(m, answer, out);
    else
        compat_rebalance_answer(m, answer, out);
}

/* Which session lives now; 0: none. */
static void set_session(struct zk_compat *m, int64_t session_id)
{
    m->config.session_id = m->committer.session_id = session_id;
}

static void lane_answer(struct zk_compat *m, enum group_lane lane, const struct zk_result *answer,
                        struct group_outputs *out)
{
    switch (lane) {
    case GROUP_LANE_REBALANCE: rebalance_answer(m, answer, out); return;
    case GROUP_LANE_EVENTS: compat_event_answer(m, answer, out); return;
    case GROUP_LANE_COMMIT: compat_commit_drive(m, answer, out); return;
    case GROUP_LANE_FINDER:
        finder_answer(&m->finder, m->now_ms, answer, m->lanes, m->connected, out);
        return;
    case GROUP_LANE_OFFSETS:
        offset_manager_scanned(&m->offsets, m->now_ms, answer, m->lanes, m->connected, out);
        return;
    case GROUP_LANE_SAFE:
    case GROUP_LANE_VIEW: assert(!"no lane of this machine");
    }
}

/* An operation that belongs to a session that has ended is not sent in another: the server would
 * not know any more whom it came from. */
static bool is_late(const struct zk_compat *m, const struct lane *lane)
{
    return lane->busy && lane->parked && lane->op.session_id != 0 &&
           lane->op.session_id != m->config.session_id;
}

static void end_late(struct zk_compat *m, enum group_lane which, struct group_outputs *out)
{
    if (!is_late(m, &m->lanes[which]))
        return;
    lane_abandon(&m->lanes[which]);
    lane_answer(m, which, &(struct zk_result){.zk_rc = ZK_SESSION_EXPIRED}, out);
}

static void take_result(struct zk_compat *m, const struct group_input *in,
                        struct group_outputs *out)
{
    if (in->result.lane == GROUP_LANE_SAFE) {
        compat_fence_answer(m, in);
        return;
    }
    struct lane *lane = &m->lanes[in->result.lane];
    const struct zk_result *answer = in->result.result;
    if (lane_answered(lane, in->result.seq, answer->zk_rc)) {
        lane_answer(m, in->result.lane, answer, out);
        return;
    }
    end_late(m, in->result.lane, out);
    if (lane->busy && lane->parked && m->connected && m->resend_at_ms == INT64_MAX)
        m->resend_at_ms = m->now_ms + GROUP_RESEND_MS;
}

static void disconnected(struct zk_compat *m)
{
    m->connected = false;
    compat_fence_disconnected(m);
}

static void expired(struct zk_compat *m, struct group_outputs *out)
{
    disconnected(m);
    lease_over(&m->lease);
    set_session(m, 0);
    compat_expired(m, out);
    for (int i = 0; i < GROUP_LANE_COUNT; i++)
        end_late(m, (enum group_lane)i, out);
}

static void leader_lost(struct zk_compat *m, const struct group_input *in,
                        struct group_outputs *out)
{
    const struct group_claim *c =
        claims_find(m->owned, m->owned_count, in->leader_lost.topic, in->leader_lost.partition);
    if (!c || !m->is_fetching)
        return;
    struct finder_wanted wanted = {c->topic, c->topic_index, c->partition};
    if (finder_want(&m->finder, &wanted, 1))
        group_notice(out, 3, "fetch", ZKC_ERR_NOMEM,
                     "[%s,%d] is not fetched until the next rebalance: out of memory", c->topic,
                     c->partition);
}

static void time_passed(struct zk_compat *m, struct group_outputs *out)
{
    if (m->now_ms >= m->resend_at_ms) {
        m->resend_at_ms = INT64_MAX;
        if (m->connected)
            lanes_resend(m->lanes, out);
    }
    compat_register_time(m, out);
    compat_rebalance_time(m, out);
    compat_commit_time(m, out);
}

/* The fetchers are down and these are the positions they left. */
static void stopped(struct zk_compat *m, const struct group_input *in, struct group_outputs *out)
{
    compat_commit_stopped(m, in, out);
    if (m->state == LEAVING)
        m->is_stopped = true;
    else
        compat_rebalance_stopped(m);
    compat_commit_drive(m, NULL, out);
}

static void searched(struct zk_compat *m, struct group_outputs *out)
{
    if (m->settings.auto_commit)
        m->commit_at_ms = m->now_ms + m->settings.auto_commit_interval_ms;
    compat_list_begin(m, out);
}

/* The constructor of 0.8.2's consumer finds the offset manager, however long it takes. */
static void begin_search(struct zk_compat *m, struct group_outputs *out)
{
    if (offset_manager_begin(&m->offsets, OFFSET_JOB_FIND, NULL, 0, 1))
        group_notice(out, 3, "offset", ZKC_ERR_NOMEM,
                     "the offset manager is not looked for before it is needed: out of memory");
    if (m->offsets.jobs[OFFSET_JOB_FIND].state == OFFSET_JOB_NONE)
        searched(m, out);
}

static void connected(struct zk_compat *m, const struct group_input *in, struct group_outputs *out)
{
    m->connected = true;
    m->session_id = in->connected.session_id;
    set_session(m, m->session_id);
    compat_fence_connected(m, in);
    m->resend_at_ms = INT64_MAX;
    lanes_resend(m->lanes, out);
    if (m->state != NEW)
        return;
    if (m->settings.offsets_in == COMMIT_TO_ZOOKEEPER) {
        compat_list_begin(m, out);
        return;
    }
    m->commit_at_ms = INT64_MAX; /* 0.8.2 starts its timer after the search */
    compat_move(m, SEARCHING);
    begin_search(m, out);
}

/* Gives the lock to whoever waits for it. In Java the monitor decides; here leaving comes first,
 * then the event thread, then the executor. */
static bool grant_lock(struct zk_compat *m, struct group_outputs *out)
{
    if (m->holder != NOBODY)
        return false;
    if (m->leave_wanted) {
        leave(m, out);
        return true;
    }
    if (m->ev == EV_WANTS_LOCK) {
        m->ev = EV_REBALANCING;
        compat_rebalance_begin(m, EVENT_THREAD, out);
        return true;
    }
    if (m->executor_wants) {
        m->executor_wants = false;
        compat_rebalance_begin(m, EXECUTOR, out);
        return true;
    }
    return false;
}

/* What the offset manager has ended. */
static void take_offsets(struct zk_compat *m, struct group_outputs *out)
{
    struct offset_outcome ignored;
    offset_manager_run(&m->offsets, m->now_ms, m->lanes, m->connected, m->brokers_watched, out);
    if (offset_manager_take(&m->offsets, OFFSET_JOB_FIND, &ignored, out) && m->state == SEARCHING)
        searched(m, out);
    compat_rebalance_fetched(m, out);
    compat_commit_stored(m, out);
}

/* Lets everything go on that can, until nothing can. */
static void pump(struct zk_compat *m, struct group_outputs *out)
{
    for (bool more = true; more && m->state == RUNNING;) {
        more = compat_event_begin(m, out);
        if (m->event_flag && !m->executor_wants && m->holder != EXECUTOR) {
            m->event_flag = false; /* the executor takes the flag, then waits for the lock */
            m->executor_wants = true;
            more = true;
        }
        more |= grant_lock(m, out);
    }
    if (m->leave_wanted)
        compat_rebalance_news(m);
    if (m->state != RUNNING && m->state < LEAVING && m->leave_wanted)
        leave(m, out);
    compat_commit_drive(m, NULL, out);
    finder_run(&m->finder, m->now_ms, m->lanes, m->connected,
               m->brokers_watched ? FINDER_READS_WATCHED : FINDER_READS, out);
}

void zk_compat_step(struct zk_compat *m, const struct group_input *in, struct group_outputs *out)
{
    group_outputs_clear(out);
    m->now_ms = in->now_ms;
    m->wall_ms = in->wall_ms;
    compat_rebalance_forget(m);
    if (m->state == CLOSED)
        return;
    switch (in->type) { /* all choices are here; the helpers do one thing each */
    case GROUP_IN_CONNECTED: connected(m, in, out); break;
    case GROUP_IN_DISCONNECTED: disconnected(m); break;
    case GROUP_IN_EXPIRED: expired(m, out); break;
    case GROUP_IN_RESULT: take_result(m, in, out); break;
    case GROUP_IN_WATCH: compat_watch(m, &in->watch); break;
    case GROUP_IN_STOPPED: stopped(m, in, out); break;
    case GROUP_IN_POSITIONS: compat_commit_timer(m, in, out); break;
    case GROUP_IN_COMMIT: compat_commit(m, in, out); break;
    case GROUP_IN_METADATA:
        finder_metadata(&m->finder, m->now_ms, in->metadata.seq, in->metadata.failed,
                        in->metadata.text, in->metadata.list, in->metadata.count, out);
        break;
    case GROUP_IN_OFFSETS:
        offset_manager_answered(&m->offsets, m->now_ms, &in->offsets, out);
        break;
    case GROUP_IN_LEADER_LOST: leader_lost(m, in, out); break;
    case GROUP_IN_TIME: time_passed(m, out); break;
    case GROUP_IN_LEAVE: m->leave_wanted = true; break;
    case GROUP_IN_DRAINED:
    case GROUP_IN_SESSION_CLOSED:
    case GROUP_IN_POLLED:
    case GROUP_IN_VIEW: break; /* of zk_safe */
    }
    take_offsets(m, out);
    pump(m, out);
    offset_manager_run(&m->offsets, m->now_ms, m->lanes, m->connected, m->brokers_watched, out);
    compat_fence_run(m, out);
    if (m->state == LEAVING && m->is_stopped && committer_is_idle(&m->committer)) {
        compat_move(m, CLOSED);
        group_emit(out, GROUP_OUT_CLOSE_SESSION);
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t zk_compat_deadline_ms(const struct zk_compat *m)
{
    if (m->state == CLOSED)
        return INT64_MAX;
    if (m->has_ended)
        return m->now_ms;
    int64_t at = earlier(m->resend_at_ms, m->register_at_ms);
    at = earlier(at, m->backoff_until_ms);
    at = earlier(at, m->commit_at_ms);
    at = earlier(at, compat_fence_deadline_ms(m));
    at = earlier(at, offset_manager_deadline_ms(&m->offsets));
    return earlier(at, finder_deadline_ms(&m->finder));
}

const struct group_claim *zk_compat_owned(const struct zk_compat *m, size_t *count)
{
    *count = m->owned_count;
    return m->owned;
}

const char *zk_compat_state_name(const struct zk_compat *m)
{
    switch (m->state) {
    case NEW: return "new";
    case SEARCHING:
    case LISTING:
    case REGISTERING:
    case SUBSCRIBING: return "registering";
    case LEAVING: return "leaving";
    case CLOSED: return "closed";
    case RUNNING: break;
    }
    if (m->rb == RB_BACKOFF)
        return "backoff";
    if (m->rb != RB_IDLE)
        return "rebalancing";
    if (m->gave_up)
        return "gave-up";
    return m->owned_count ? "owning" : "idle";
}
