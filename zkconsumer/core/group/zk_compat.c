#include "zkconsumer/core/group/zk_compat.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* What the member as a whole is doing. The arrows are the only ones allowed (MOVES).
 *
 *   NEW -> REGISTERING -> SUBSCRIBING -> RUNNING -> LEAVING -> CLOSED
 *    \________\______________\______________________^ */
enum member_state { NEW, REGISTERING, SUBSCRIBING, RUNNING, LEAVING, CLOSED };

static const bool MOVES[CLOSED + 1][CLOSED + 1] = {
    [NEW] = {[REGISTERING] = true, [LEAVING] = true},
    [REGISTERING] = {[SUBSCRIBING] = true, [LEAVING] = true},
    [SUBSCRIBING] = {[RUNNING] = true, [LEAVING] = true},
    [RUNNING] = {[LEAVING] = true},
    [LEAVING] = {[CLOSED] = true},
};

/* Who holds the rebalance lock: in Java the thread that does the work. */
enum holder { NOBODY, CALLER, EXECUTOR, SESSION_HANDLER };

/* Where the rebalance of the holder is. */
enum rebalance_state {
    RB_IDLE,
    RB_READING,    /* the attempt waits for an answer */
    RB_STOPPING,   /* it waits for the fetchers */
    RB_COMMITTING, /* it waits for its commit */
    RB_WATCHING,   /* no broker: a watch is put on their list */
    RB_CLEANING,   /* the attempt has failed: fetchers are stopped once more */
    RB_CLEANED,    /* ... and what they reached is committed */
    RB_BACKOFF,
};

enum event_kind { EVENT_SESSION, EVENT_IDS, EVENT_BROKERS, EVENT_TOPIC };

struct event {
    enum event_kind kind;
    uint32_t topic_index;
};

/* What the event thread is doing. */
enum event_state {
    EV_IDLE,
    EV_REGISTERING,
    EV_REGISTER_WAIT,
    EV_WANTS_LOCK,
    EV_REBALANCING,
    EV_EXISTS,
    EV_READING,
};

struct zk_compat {
    struct attempt_config config;
    struct zk_compat_config settings; /* its strings are those of `config`, or NULL */
    char *group, *consumer_id, *ids_path, *id_path;
    char **topic_paths;
    struct zk_subscription *subscriptions;

    enum member_state state;
    int64_t now_ms, wall_ms; /* of the input being fed */
    bool connected;
    bool is_settled; /* the first rebalance has ended */
    bool gave_up;
    bool leave_wanted;
    bool is_stopped; /* while leaving: the fetchers are down, what they reached is queued */
    bool lost;       /* the session ended since the last stop */

    struct lane lanes[GROUP_LANE_COUNT];
    int64_t resend_at_ms;

    struct registrar registrar;
    struct buf registration;
    size_t subscribing_at; /* watch being put: 0, 1 on ids, then brokers, topics */
    int64_t register_at_ms;

    enum holder holder;
    enum rebalance_state rb;
    uint32_t rebalance; /* counts from 1 */
    uint32_t attempt_number;
    bool event_flag; /* ZKRebalancerListener.isWatcherTriggered */
    bool executor_wants;
    bool brokers_watched;
    bool watching_exists; /* of RB_WATCHING: exists is under way, then the list */
    int64_t backoff_until_ms;
    uint32_t rb_commit; /* job awaited in RB_COMMITTING, RB_CLEANED and LEAVING */
    struct attempt attempt;

    struct event *events; /* each kind and topic twice at most */
    size_t event_count, event_cap;
    enum event_state ev;

    struct group_claim *owned;
    size_t owned_count;
    struct commit_item *items; /* scratch, for one commit */
    size_t items_cap;

    int64_t commit_at_ms;
    uint32_t timer_commit; /* job of the timer that has not ended; it has one thread */
    struct offset_committer committer;
    struct leader_finder finder;
};

static void drive_attempt(struct zk_compat *m, const struct zk_result *answer,
                          struct group_outputs *out);

static void move(struct zk_compat *m, enum member_state to)
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
    registrar_deinit(&m->registrar);
    committer_deinit(&m->committer);
    finder_deinit(&m->finder);
    buf_deinit(&m->registration);
    for (size_t i = 0; i < m->config.subscription_count; i++) {
        if (m->subscriptions)
            free(m->subscriptions[i].topic);
        if (m->topic_paths)
            free(m->topic_paths[i]);
    }
    free(m->subscriptions);
    free(m->topic_paths);
    free(m->group);
    free(m->consumer_id);
    free(m->ids_path);
    free(m->id_path);
    free(m->events);
    free(m->owned);
    free(m->items);
    free(m);
}

static int by_topic(const void *a, const void *b)
{
    return strcmp(((const struct zk_subscription *)a)->topic,
                  ((const struct zk_subscription *)b)->topic);
}

static bool copy_subscriptions(struct zk_compat *m, const struct zk_compat_config *config)
{
    size_t n = config->subscription_count;
    m->config.subscription_count = n;
    m->subscriptions = calloc(n + 1, sizeof *m->subscriptions);
    m->topic_paths = calloc(n + 1, sizeof *m->topic_paths);
    m->event_cap = 2 * (n + 3);
    m->events = calloc(m->event_cap, sizeof *m->events);
    if (!m->subscriptions || !m->topic_paths || !m->events)
        return false;
    for (size_t i = 0; i < n; i++) {
        m->subscriptions[i].streams = config->subscriptions[i].streams;
        m->subscriptions[i].topic = strdup(config->subscriptions[i].topic);
        if (!m->subscriptions[i].topic)
            return false;
    }
    qsort(m->subscriptions, n, sizeof *m->subscriptions, by_topic);
    for (size_t i = 0; i < n; i++) {
        m->topic_paths[i] = zk_path_topic(m->subscriptions[i].topic);
        if (!m->topic_paths[i])
            return false;
    }
    return true;
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
    if (!copy_subscriptions(m, config) || !m->group || !m->consumer_id || !m->ids_path ||
        !m->id_path) {
        zk_compat_free(m);
        return ZKC_ERR_NOMEM;
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
    };
    m->commit_at_ms = config->auto_commit ? now_ms + config->auto_commit_interval_ms : INT64_MAX;
    m->register_at_ms = m->backoff_until_ms = m->resend_at_ms = INT64_MAX;
    committer_init(&m->committer, m->group);
    finder_init(&m->finder, config->refresh_leader_backoff_ms, config->seed);
    *out = m;
    return ZKC_OK;
}

/* ---- operations ---- */

static void send_op(struct zk_compat *m, enum group_lane lane, const struct zk_op *op,
                    struct group_outputs *out)
{
    lane_send(m->lanes, lane, op, m->connected, out);
}

static void send_watching(struct zk_compat *m, enum group_lane lane, enum zk_op_type type,
                          const char *path, struct group_outputs *out)
{
    struct zk_op op = {.type = type, .path = path, .watch = true};
    send_op(m, lane, &op, out);
}

static void say_state(struct zk_compat *m, struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_STATE);
    o->state.registered = m->state == SUBSCRIBING || m->state == RUNNING;
    o->state.settled = m->is_settled;
    o->state.gave_up = m->gave_up;
}

/* ---- commits ---- */

static const struct group_claim *find_owned(const struct zk_compat *m, const char *topic,
                                            int32_t partition)
{
    size_t lo = 0, hi = m->owned_count;
    struct topic_partition want = {topic, partition};
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        struct topic_partition tp = {m->owned[mid].topic, m->owned[mid].partition};
        int order = topic_partition_compare(tp, want);
        if (order == 0)
            return &m->owned[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

/* Turns positions into a commit job. Those that are not owned are left out, or, with `strict`,
 * refuse the whole. */
static enum zkc_err add_commit(struct zk_compat *m, const struct group_position *list, size_t count,
                               bool strict, bool joinable, uint32_t *job)
{
    if (count > m->items_cap) {
        struct commit_item *items = realloc(m->items, count * sizeof *items);
        if (!items)
            return ZKC_ERR_NOMEM;
        m->items = items;
        m->items_cap = count;
    }
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct group_claim *c = find_owned(m, list[i].topic, list[i].partition);
        if (!c && strict)
            return ZKC_ERR_NOT_OWNED;
        if (c)
            m->items[n++] = (struct commit_item){.topic = c->topic,
                                                 .topic_index = c->topic_index,
                                                 .partition = c->partition,
                                                 .offset = list[i].offset};
    }
    return committer_add(&m->committer, m->items, n, joinable, job);
}

static void say_commit_failed(enum zkc_err err, const char *text, struct group_outputs *out)
{
    group_notice(out, 3, "offset", err, "exception during commitOffsets: %s", text);
}

/* The timer and the application: false when nothing was queued. */
static bool take_commit(struct zk_compat *m, const struct group_input *in, bool timer,
                        struct group_outputs *out)
{
    uint32_t job = 0;
    enum zkc_err err;
    if (timer)
        err = add_commit(m, in->positions.list, in->positions.count, false, true, &job);
    else
        err = add_commit(m, in->commit.list, in->commit.count, !in->commit.all_owned, true, &job);
    if (timer) {
        m->timer_commit = job;
        if (err)
            say_commit_failed(err, zkc_err_text(err), out);
        return !err;
    }
    struct group_output *o = group_emit(out, GROUP_OUT_COMMIT_QUEUED);
    o->committed.job = job;
    o->committed.err = err;
    o->committed.text = "";
    return !err;
}

static void committed(struct zk_compat *m, uint32_t job, enum zkc_err err, const char *text,
                      struct group_outputs *out);
static void commits_done(struct zk_compat *m, struct group_outputs *out);

static void drive_committer(struct zk_compat *m, const struct zk_result *answer,
                            struct group_outputs *out)
{
    for (;;) {
        struct zk_op op;
        struct why why;
        uint32_t job = 0;
        enum zkc_err err;
        enum committer_step step =
            committer_next(&m->committer, answer, &op, &job, &err, &why, out);
        answer = NULL;
        if (step == COMMITTER_SEND)
            send_op(m, GROUP_LANE_COMMIT, &op, out);
        if (step != COMMITTER_DONE)
            break;
        committed(m, job, err, why.text, out);
    }
    if (committer_is_idle(&m->committer))
        commits_done(m, out);
}

/* ---- the rebalance ---- */

static void trigger(const char *why, struct group_outputs *out)
{
    group_emit(out, GROUP_OUT_TRIGGER)->trigger = why;
}

static void begin_attempt(struct zk_compat *m, struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_TRY_BEGIN);
    o->try_begin.rebalance = m->rebalance;
    o->try_begin.attempt = m->attempt_number;
    group_notice(out, 6, "member", ZKC_OK, "begin rebalancing consumer %s try #%u", m->consumer_id,
                 m->attempt_number);
    attempt_begin(&m->attempt, &m->config, m->rebalance, m->attempt_number, m->brokers_watched,
                  m->owned, m->owned_count);
    drive_attempt(m, NULL, out);
}

static void begin_rebalance(struct zk_compat *m, enum holder holder, struct group_outputs *out)
{
    assert(m->holder == NOBODY && m->rb == RB_IDLE);
    m->holder = holder;
    m->rebalance++;
    m->attempt_number = 0;
    group_emit(out, GROUP_OUT_REBALANCE_BEGIN)->rebalance_begin.rebalance = m->rebalance;
    begin_attempt(m, out);
}

static void end_rebalance(struct zk_compat *m, bool ok, struct group_outputs *out)
{
    m->gave_up = !ok;
    struct group_output *o = group_emit(out, GROUP_OUT_REBALANCE_END);
    o->rebalance_end.rebalance = m->rebalance;
    o->rebalance_end.attempts = m->attempt_number + 1;
    o->rebalance_end.ok = ok;
    o->rebalance_end.gave_up = !ok;
    if (!ok)
        group_notice(
            out, 3, "member", ZKC_ERR_REBALANCE,
            "%s can't rebalance after %u retries: %s. It stays registered and owns nothing "
            "until the next change of members or partitions",
            m->consumer_id, m->attempt_number + 1, m->attempt.why.text);
    if (!m->is_settled || !ok) {
        m->is_settled = true;
        say_state(m, out);
    }
    attempt_deinit(&m->attempt);
    if (m->holder == SESSION_HANDLER)
        m->ev = EV_IDLE;
    m->holder = NOBODY;
    m->rb = RB_IDLE;
}

static void end_attempt(struct zk_compat *m, bool ok, struct group_outputs *out)
{
    group_notice(out, 6, "member", ZKC_OK, "end rebalancing consumer %s try #%u%s%s",
                 m->consumer_id, m->attempt_number, ok ? "" : ": ", ok ? "" : m->attempt.why.text);
    struct group_output *o = group_emit(out, GROUP_OUT_TRY_END);
    o->try_end.rebalance = m->rebalance;
    o->try_end.attempt = m->attempt_number;
    o->try_end.ok = ok;
    o->try_end.why = ok ? "" : m->attempt.why.text;
}

static void stop_fetchers(struct zk_compat *m, enum group_stop_why why, struct group_outputs *out)
{
    finder_clear(&m->finder, m->lanes);
    if (m->lost && why != GROUP_STOP_LEAVE)
        why = GROUP_STOP_LOST;
    m->lost = false;
    group_emit(out, GROUP_OUT_STOP)->stop = why;
}

static void fail_attempt(struct zk_compat *m, struct group_outputs *out)
{
    end_attempt(m, false, out);
    group_notice(out, 4, "member", ZKC_OK, "Rebalancing attempt failed: %s", m->attempt.why.text);
    m->rb = RB_CLEANING;
    stop_fetchers(m, GROUP_STOP_FAILED, out);
}

static void back_off(struct zk_compat *m, struct group_outputs *out)
{
    m->rb = RB_BACKOFF;
    m->backoff_until_ms = m->now_ms + m->settings.rebalance_backoff_ms;
    group_emit(out, GROUP_OUT_BACKOFF)->backoff_ms = m->settings.rebalance_backoff_ms;
}

static void end_backoff(struct zk_compat *m, struct group_outputs *out)
{
    m->backoff_until_ms = INT64_MAX;
    if (m->attempt_number + 1 >= m->settings.rebalance_attempts_max) {
        end_rebalance(m, false, out);
        return;
    }
    m->attempt_number++;
    begin_attempt(m, out);
}

/* Everything is claimed: from here on it is ours. */
static void take_over(struct zk_compat *m, struct group_outputs *out)
{
    struct attempt *a = &m->attempt;
    struct finder_wanted *wanted = calloc(a->claim_count + 1, sizeof *wanted);
    for (size_t i = 0; wanted && i < a->claim_count; i++)
        wanted[i] = (struct finder_wanted){.topic = a->claims[i].topic,
                                           .topic_index = a->claims[i].topic_index,
                                           .partition = a->claims[i].partition};
    bool ok = wanted && finder_want(&m->finder, wanted, a->claim_count) == ZKC_OK;
    for (size_t i = 0; ok && i < a->claim_count; i++) {
        const struct group_claim *c = &a->claims[i];
        struct commit_item item = {c->topic, c->topic_index, c->partition, c->offset};
        ok = committer_known(&m->committer, &item) == ZKC_OK;
    }
    free(wanted);
    free(m->owned);
    m->owned = a->claims;
    m->owned_count = a->claim_count;
    a->claims = NULL;
    a->claim_count = 0;
    if (!ok) { /* what is owned is released by the next attempt */
        why_set(&a->why, "out of memory");
        fail_attempt(m, out);
        return;
    }
    struct group_output *o = group_emit(out, GROUP_OUT_ASSIGN);
    o->assign.claims = m->owned;
    o->assign.count = m->owned_count;
    end_attempt(m, true, out);
    end_rebalance(m, true, out);
}

/* 0.8.2 leaves everything as it is and from now on rebalances for each change of the brokers. */
static void watch_brokers(struct zk_compat *m, struct group_outputs *out)
{
    group_notice(out, 4, "member", ZKC_OK,
                 "no broker is registered under %s; waiting for one to appear", ZK_PATH_BROKER_IDS);
    m->rb = RB_WATCHING;
    m->brokers_watched = true;
    m->watching_exists = true;
    send_watching(m, GROUP_LANE_REBALANCE, ZK_OP_EXISTS, ZK_PATH_BROKER_IDS, out);
}

static void brokers_watched(struct zk_compat *m, struct group_outputs *out)
{
    if (m->watching_exists) {
        m->watching_exists = false;
        send_watching(m, GROUP_LANE_REBALANCE, ZK_OP_CHILDREN, ZK_PATH_BROKER_IDS, out);
        return;
    }
    end_attempt(m, true, out);
    end_rebalance(m, true, out);
}

static void commit_for_rebalance(struct zk_compat *m, const struct group_position *list,
                                 size_t count, struct group_outputs *out)
{
    if (!m->settings.auto_commit || m->owned_count == 0)
        return;
    enum zkc_err err = add_commit(m, list, count, false, false, &m->rb_commit);
    if (err)
        say_commit_failed(err, zkc_err_text(err), out);
}

static void drive_attempt(struct zk_compat *m, const struct zk_result *answer,
                          struct group_outputs *out)
{
    struct zk_op op;
    for (;;) {
        m->rb = RB_READING;
        switch (attempt_next(&m->attempt, answer, m->leave_wanted, &op, out)) {
        case ATTEMPT_SEND: send_op(m, GROUP_LANE_REBALANCE, &op, out); return;
        case ATTEMPT_STOP:
            m->rb = RB_STOPPING;
            stop_fetchers(m, GROUP_STOP_REBALANCE, out);
            return;
        case ATTEMPT_COMMIT: break; /* was queued when the positions came */
        case ATTEMPT_RELEASED: m->owned_count = 0; break;
        case ATTEMPT_DONE: take_over(m, out); return;
        case ATTEMPT_NO_BROKERS: watch_brokers(m, out); return;
        case ATTEMPT_FAILED: fail_attempt(m, out); return;
        case ATTEMPT_NEXT_PHASE: assert(!"never returned");
        }
        answer = NULL;
    }
}

/* The fetchers are down and these are the positions they left. */
static void stopped(struct zk_compat *m, const struct group_input *in, struct group_outputs *out)
{
    commit_for_rebalance(m, in->positions.list, in->positions.count, out);
    if (m->state == LEAVING) {
        m->is_stopped = true;
    } else if (m->rb == RB_STOPPING) {
        m->rb = RB_COMMITTING;
    } else {
        assert(m->rb == RB_CLEANING);
        m->rb = RB_CLEANED;
    }
    drive_committer(m, NULL, out);
}

static void committed(struct zk_compat *m, uint32_t job, enum zkc_err err, const char *text,
                      struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_COMMITTED);
    o->committed.job = job;
    o->committed.err = err;
    o->committed.text = group_text(out, "%s", text);
    if (err)
        say_commit_failed(err, text, out);
    if (job == m->timer_commit)
        m->timer_commit = 0;
    if (job != m->rb_commit)
        return;
    m->rb_commit = 0;
    if (!err)
        return;
    if (m->rb == RB_COMMITTING) { /* an exception within the attempt */
        why_set(&m->attempt.why, "committing before the release: %s", text);
        fail_attempt(m, out);
    } else if (m->rb == RB_CLEANED) { /* outside of the loop's guard: the loop ends */
        end_rebalance(m, false, out);
    }
}

/* Every commit has ended, those of the application too: so none can follow a release. */
static void commits_done(struct zk_compat *m, struct group_outputs *out)
{
    if (m->rb == RB_COMMITTING)
        drive_attempt(m, NULL, out);
    else if (m->rb == RB_CLEANED)
        back_off(m, out);
}

/* ---- registration ---- */

static void drive_registrar(struct zk_compat *m, enum registrar_step step, const struct zk_op *op,
                            int zk_rc, struct group_outputs *out);

static void begin_registration(struct zk_compat *m, struct group_outputs *out)
{
    char timestamp[24];
    snprintf(timestamp, sizeof timestamp, "%lld", (long long)m->wall_ms);
    struct zk_registration r = {.pattern = ZK_PATTERN_STATIC,
                                .subscriptions = m->subscriptions,
                                .subscription_count = m->config.subscription_count,
                                .timestamp = timestamp};
    buf_clear(&m->registration);
    zk_registration_write(&m->registration, &r);
    struct zk_op op;
    int zk_rc = ZK_SYSTEM_ERROR;
    enum registrar_step step = REGISTRAR_FAILED;
    if (!m->registration.failed)
        step = registrar_begin(&m->registrar, m->id_path, buf_bytes(&m->registration), &op, &zk_rc);
    drive_registrar(m, step, &op, zk_rc, out);
}

static enum group_lane registration_lane(const struct zk_compat *m)
{
    return m->state == REGISTERING ? GROUP_LANE_REBALANCE : GROUP_LANE_EVENTS;
}

static void registered(struct zk_compat *m, struct group_outputs *out)
{
    group_notice(out, 6, "member", ZKC_OK, "%s registered with group %s", m->consumer_id, m->group);
    if (m->state == REGISTERING) {
        move(m, SUBSCRIBING);
        m->subscribing_at = 0;
        say_state(m, out);
        send_watching(m, GROUP_LANE_REBALANCE, ZK_OP_EXISTS, m->ids_path, out);
    } else {
        m->ev = EV_WANTS_LOCK;
    }
}

static void drive_registrar(struct zk_compat *m, enum registrar_step step, const struct zk_op *op,
                            int zk_rc, struct group_outputs *out)
{
    switch (step) {
    case REGISTRAR_SEND: send_op(m, registration_lane(m), op, out); return;
    case REGISTRAR_DONE: registered(m, out); return;
    case REGISTRAR_WAIT:
        group_notice(out, 4, "member", ZKC_OK,
                     "%s exists already, with another's data: taken for a node of an ended session "
                     "of ours; trying again in %lld ms. If this goes on, another process has the "
                     "same consumer.id",
                     m->id_path, (long long)m->settings.session_timeout_ms);
        break;
    case REGISTRAR_FAILED:
        group_notice(out, 3, "member", ZKC_ERR_ZOOKEEPER,
                     "registering %s: %s (%d); trying again in %lld ms", m->id_path,
                     zk_rc_name(zk_rc), zk_rc, (long long)m->settings.session_timeout_ms);
        break;
    }
    m->register_at_ms = m->now_ms + m->settings.session_timeout_ms;
    if (m->state != REGISTERING)
        m->ev = EV_REGISTER_WAIT;
}

static void register_again(struct zk_compat *m, struct group_outputs *out)
{
    m->register_at_ms = INT64_MAX;
    if (m->ev == EV_REGISTER_WAIT)
        m->ev = EV_REGISTERING;
    if (m->registrar.state != REGISTRAR_WAITING) {
        begin_registration(m, out);
        return;
    }
    struct zk_op op;
    int zk_rc;
    enum registrar_step step =
        registrar_begin(&m->registrar, m->id_path, buf_bytes(&m->registration), &op, &zk_rc);
    drive_registrar(m, step, &op, zk_rc, out);
}

static void registrar_answer(struct zk_compat *m, const struct zk_result *answer,
                             struct group_outputs *out)
{
    struct zk_op op;
    int zk_rc;
    enum registrar_step step = registrar_next(&m->registrar, answer, &op, &zk_rc);
    drive_registrar(m, step, &op, zk_rc, out);
}

/* Puts the watches one after the other: ids (exists, list), the topics (exists), and, where the
 * variant watches brokers, their list (exists, list); then the first rebalance. */
static void subscribed(struct zk_compat *m, struct group_outputs *out)
{
    size_t topics = m->config.subscription_count;
    size_t at = ++m->subscribing_at;
    if (at == 1) {
        send_watching(m, GROUP_LANE_REBALANCE, ZK_OP_CHILDREN, m->ids_path, out);
    } else if (at < 2 + topics) {
        send_watching(m, GROUP_LANE_REBALANCE, ZK_OP_EXISTS, m->topic_paths[at - 2], out);
    } else if (m->settings.watch_brokers && at < 4 + topics) {
        m->brokers_watched = true;
        send_watching(m, GROUP_LANE_REBALANCE, at == 2 + topics ? ZK_OP_EXISTS : ZK_OP_CHILDREN,
                      ZK_PATH_BROKER_IDS, out);
    } else {
        move(m, RUNNING);
        trigger("start", out);
        begin_rebalance(m, CALLER, out);
    }
}

/* ---- events ---- */

static void push_event(struct zk_compat *m, enum event_kind kind, uint32_t topic_index)
{
    size_t same = 0;
    for (size_t i = 0; i < m->event_count; i++)
        same += m->events[i].kind == kind && m->events[i].topic_index == topic_index;
    if (same >= 2)
        return; /* one of them has not begun, and will see this change too */
    assert(m->event_count < m->event_cap);
    m->events[m->event_count++] = (struct event){kind, topic_index};
}

static void pop_event(struct zk_compat *m)
{
    m->event_count--;
    memmove(&m->events[0], &m->events[1], m->event_count * sizeof *m->events);
}

static void take_watch(struct zk_compat *m, const struct zk_watch_event *event)
{
    if (strcmp(event->path, m->ids_path) == 0) {
        push_event(m, EVENT_IDS, 0);
        return;
    }
    if (m->brokers_watched && strcmp(event->path, ZK_PATH_BROKER_IDS) == 0) {
        push_event(m, EVENT_BROKERS, 0);
        return;
    }
    for (uint32_t i = 0; i < m->config.subscription_count; i++)
        if (strcmp(event->path, m->topic_paths[i]) == 0)
            push_event(m, EVENT_TOPIC, i);
}

/* zkclient tells the new session first, then an event for everything that is listened to. */
static void expired(struct zk_compat *m, struct group_outputs *out)
{
    group_notice(out, 4, "member", ZKC_OK,
                 "ZK expired; release old broker parition ownership; re-register consumer %s",
                 m->consumer_id);
    if (m->state != SUBSCRIBING && m->state != RUNNING)
        return;
    push_event(m, EVENT_SESSION, 0);
    push_event(m, EVENT_IDS, 0);
    if (m->brokers_watched)
        push_event(m, EVENT_BROKERS, 0);
    for (uint32_t i = 0; i < m->config.subscription_count; i++)
        push_event(m, EVENT_TOPIC, i);
}

static const char *event_path(const struct zk_compat *m, const struct event *e)
{
    switch (e->kind) {
    case EVENT_IDS: return m->ids_path;
    case EVENT_BROKERS: return ZK_PATH_BROKER_IDS;
    case EVENT_TOPIC: return m->topic_paths[e->topic_index];
    case EVENT_SESSION: break;
    }
    return NULL;
}

static void begin_event(struct zk_compat *m, struct group_outputs *out)
{
    const struct event *e = &m->events[0];
    if (e->kind == EVENT_SESSION) {
        m->lost = m->lost || m->owned_count > 0;
        m->owned_count = 0;
        committer_drop_waiting(&m->committer);
        m->ev = EV_REGISTERING;
        trigger("expired", out);
        pop_event(m);
        begin_registration(m, out);
        return;
    }
    m->ev = EV_EXISTS;
    send_watching(m, GROUP_LANE_EVENTS, ZK_OP_EXISTS, event_path(m, e), out);
}

/* Both operations of the event are done. */
static void end_event(struct zk_compat *m, const struct zk_result *answer,
                      struct group_outputs *out)
{
    struct event e = m->events[0];
    pop_event(m);
    m->ev = EV_IDLE;
    if (e.kind == EVENT_TOPIC && answer->zk_rc == ZK_NO_NODE) {
        group_notice(out, 4, "member", ZKC_OK,
                     "topic %s was deleted; its partitions stay claimed until the next rebalance",
                     m->subscriptions[e.topic_index].topic);
        return;
    }
    m->event_flag = true;
    trigger("watch", out);
}

static void events_answer(struct zk_compat *m, const struct zk_result *answer,
                          struct group_outputs *out)
{
    switch (m->ev) {
    case EV_REGISTERING: registrar_answer(m, answer, out); return;
    case EV_EXISTS:
        m->ev = EV_READING;
        send_watching(m, GROUP_LANE_EVENTS,
                      m->events[0].kind == EVENT_TOPIC ? ZK_OP_GET : ZK_OP_CHILDREN,
                      event_path(m, &m->events[0]), out);
        return;
    case EV_READING: end_event(m, answer, out); return;
    case EV_IDLE:
    case EV_REGISTER_WAIT:
    case EV_WANTS_LOCK:
    case EV_REBALANCING: break;
    }
    assert(!"an answer was expected by nobody");
}

/* ---- leaving ---- */

/* The lock is ours, or nothing has been begun that needs it. */
static void leave(struct zk_compat *m, struct group_outputs *out)
{
    move(m, LEAVING);
    m->register_at_ms = INT64_MAX;
    m->commit_at_ms = INT64_MAX;
    m->event_count = 0;
    m->ev = EV_IDLE;
    lane_abandon(&m->lanes[GROUP_LANE_EVENTS]);
    lane_abandon(&m->lanes[GROUP_LANE_REBALANCE]);
    stop_fetchers(m, GROUP_STOP_LEAVE, out);
}

/* ---- one turn ---- */

static void rebalance_answer(struct zk_compat *m, const struct zk_result *answer,
                             struct group_outputs *out)
{
    if (m->state == REGISTERING)
        registrar_answer(m, answer, out);
    else if (m->state == SUBSCRIBING)
        subscribed(m, out);
    else if (m->rb == RB_WATCHING)
        brokers_watched(m, out);
    else
        drive_attempt(m, answer, out);
}

static void take_result(struct zk_compat *m, const struct group_input *in,
                        struct group_outputs *out)
{
    struct lane *lane = &m->lanes[in->result.lane];
    const struct zk_result *answer = in->result.result;
    if (!lane_answered(lane, in->result.seq, answer->zk_rc)) {
        if (lane->busy && lane->parked && m->connected && m->resend_at_ms == INT64_MAX)
            m->resend_at_ms = m->now_ms + GROUP_RESEND_MS;
        return;
    }
    switch (in->result.lane) {
    case GROUP_LANE_REBALANCE: rebalance_answer(m, answer, out); return;
    case GROUP_LANE_EVENTS: events_answer(m, answer, out); return;
    case GROUP_LANE_COMMIT: drive_committer(m, answer, out); return;
    case GROUP_LANE_FINDER:
        finder_answer(&m->finder, m->now_ms, answer, m->lanes, m->connected, out);
        return;
    }
}

static void leader_lost(struct zk_compat *m, const struct group_input *in,
                        struct group_outputs *out)
{
    const struct group_claim *c = find_owned(m, in->leader_lost.topic, in->leader_lost.partition);
    if (!c)
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
    if (m->now_ms >= m->register_at_ms)
        register_again(m, out);
    if (m->rb == RB_BACKOFF && m->now_ms >= m->backoff_until_ms)
        end_backoff(m, out);
    if (m->now_ms >= m->commit_at_ms) {
        m->commit_at_ms += m->settings.auto_commit_interval_ms; /* at a fixed rate */
        if (m->commit_at_ms <= m->now_ms)
            m->commit_at_ms = m->now_ms + m->settings.auto_commit_interval_ms;
        if (m->owned_count > 0 && m->timer_commit == 0)
            group_emit(out, GROUP_OUT_POSITIONS);
    }
}

static void connected(struct zk_compat *m, struct group_outputs *out)
{
    m->connected = true;
    m->resend_at_ms = INT64_MAX;
    lanes_resend(m->lanes, out);
    if (m->state != NEW)
        return;
    move(m, REGISTERING);
    begin_registration(m, out);
}

/* Gives the lock to whoever waits for it. In Java the monitor decides; here leaving comes first,
 * then the session handler, then the executor. */
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
        begin_rebalance(m, SESSION_HANDLER, out);
        return true;
    }
    if (m->executor_wants) {
        m->executor_wants = false;
        begin_rebalance(m, EXECUTOR, out);
        return true;
    }
    return false;
}

/* Lets everything go on that can, until nothing can. */
static void pump(struct zk_compat *m, struct group_outputs *out)
{
    for (bool more = true; more && m->state == RUNNING;) {
        more = false;
        if (m->ev == EV_IDLE && m->event_count > 0) {
            begin_event(m, out);
            more = true;
        }
        if (m->event_flag && !m->executor_wants && m->holder != EXECUTOR) {
            m->event_flag = false; /* the executor takes the flag, then waits for the lock */
            m->executor_wants = true;
            more = true;
        }
        more |= grant_lock(m, out);
    }
    if (m->state != RUNNING && m->state < LEAVING && m->leave_wanted)
        leave(m, out);
    drive_committer(m, NULL, out);
    finder_run(&m->finder, m->now_ms, m->lanes, m->connected, m->brokers_watched, out);
}

void zk_compat_step(struct zk_compat *m, const struct group_input *in, struct group_outputs *out)
{
    group_outputs_clear(out);
    m->now_ms = in->now_ms;
    m->wall_ms = in->wall_ms;
    if (m->state == CLOSED)
        return;
    switch (in->type) { /* all choices are here; the helpers do one thing each */
    case GROUP_IN_CONNECTED: connected(m, out); break;
    case GROUP_IN_DISCONNECTED: m->connected = false; break;
    case GROUP_IN_EXPIRED:
        m->connected = false;
        expired(m, out);
        break;
    case GROUP_IN_RESULT: take_result(m, in, out); break;
    case GROUP_IN_WATCH: take_watch(m, &in->watch); break;
    case GROUP_IN_STOPPED: stopped(m, in, out); break;
    case GROUP_IN_POSITIONS: take_commit(m, in, true, out); break;
    case GROUP_IN_COMMIT: take_commit(m, in, false, out); break;
    case GROUP_IN_METADATA:
        finder_metadata(&m->finder, m->now_ms, in->metadata.seq, in->metadata.failed,
                        in->metadata.text, in->metadata.list, in->metadata.count, out);
        break;
    case GROUP_IN_LEADER_LOST: leader_lost(m, in, out); break;
    case GROUP_IN_TIME: time_passed(m, out); break;
    case GROUP_IN_LEAVE: m->leave_wanted = true; break;
    }
    pump(m, out);
    if (m->state == LEAVING && m->is_stopped && committer_is_idle(&m->committer)) {
        move(m, CLOSED);
        group_emit(out, GROUP_OUT_CLOSE_SESSION);
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t zk_compat_deadline_ms(const struct zk_compat *m)
{
    int64_t at = earlier(m->resend_at_ms, m->register_at_ms);
    if (m->state == CLOSED)
        return INT64_MAX;
    at = earlier(at, m->backoff_until_ms);
    at = earlier(at, m->commit_at_ms);
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
