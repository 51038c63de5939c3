#include "zkconsumer/core/group/zk_safe_parts.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdlib.h>

#define STEP_BYTES_MAX ((size_t)64 << 20)
#define TAIL_OUTPUTS   48 /* what the end of a step may say beside partitions and views */
#define SENT_MAX       1000000

/* The arrows are the only ones allowed. CONNECTING again: the session has ended, or an evicted
 * member is back. */
static const bool MOVES[CLOSED + 1][CLOSED + 1] = {
    [CONNECTING] = {[REGISTERING] = true, [LEAVING] = true},
    [REGISTERING] = {[IN] = true, [CONNECTING] = true, [LEAVING] = true},
    [IN] = {[REGISTERING] = true, [CONNECTING] = true, [LEAVING] = true},
    [LEAVING] = {[CLOSING] = true},
    [CLOSING] = {[CLOSED] = true},
    [CLOSED] = {[CONNECTING] = true, [CLOSING] = true},
};

void safe_move(struct zk_safe *m, enum safe_phase to)
{
    assert(MOVES[m->phase][to]);
    m->phase = to;
}

/* ---- birth and death ---- */

struct zk_safe_config zk_safe_config_default(void)
{
    return (struct zk_safe_config){
        .pattern = ZK_PATTERN_STATIC,
        .exclude_internal_topics = true,
        .strategy = ZK_SAFE_AUTO,
        .auto_commit = true,
        .auto_commit_interval_ms = 60000,
        .handover_ms = ZK_SAFE_HANDOVER_MS,
        .close_timeout_ms = 30000,
        .offsets_channel_backoff_ms = 1000,
        .offsets_channel_timeout_ms = 10000,
        .offsets_commit_retries = 5,
        .refresh_leader_backoff_ms = 200,
        .fence = ZK_FENCE_LEASE,
        .lease_probe = LEASE_PROBE_WRITE,
        .claim_multi = true,
        .release_session = true,
        .commit_session = true,
        .watch_owners = true,
        .keep_unmoved = true,
        .coalesce = true,
    };
}

void zk_safe_free(struct zk_safe *m)
{
    if (!m)
        return;
    safe_forget_sent(m);
    safe_free_jobs(m);
    safe_free_partitions(m);
    zk_viewer_free(m->viewer);
    zk_view_unref(m->view);
    safe_forget_strangers(m);
    offset_manager_deinit(&m->manager);
    finder_deinit(&m->finder);
    creator_deinit(&m->creator);
    buf_deinit(&m->registration);
    arena_deinit(&m->arena);
    for (size_t i = 0; m->subscriptions && i < m->config.subscription_count; i++)
        free(m->subscriptions[i].topic);
    free(m->subscriptions);
    free(m->sent);
    free(m->group);
    free(m->consumer_id);
    free(m->ids_path);
    free(m->id_path);
    free(m);
}

static int by_topic(const void *a, const void *b)
{
    return strcmp(((const struct zk_subscription *)a)->topic,
                  ((const struct zk_subscription *)b)->topic);
}

static bool copy_strings(struct zk_safe *m, const struct zk_safe_config *config)
{
    m->group = strdup(config->group);
    m->consumer_id = strdup(config->consumer_id);
    m->ids_path = zk_path_ids(config->group);
    m->id_path = zk_path_id(config->group, config->consumer_id);
    m->subscriptions = calloc(config->subscription_count + 1, sizeof *m->subscriptions);
    if (!m->group || !m->consumer_id || !m->ids_path || !m->id_path || !m->subscriptions)
        return false;
    for (size_t i = 0; i < config->subscription_count; i++) {
        m->subscriptions[i].streams = config->subscriptions[i].streams;
        m->subscriptions[i].topic = strdup(config->subscriptions[i].topic);
        if (!m->subscriptions[i].topic)
            return false;
    }
    qsort(m->subscriptions, config->subscription_count, sizeof *m->subscriptions, by_topic);
    return true;
}

/* Topics are numbered in the order of the subscription, where it names them. */
static bool number_topics(struct zk_safe *m)
{
    bool is_static = m->config.pattern == ZK_PATTERN_STATIC;
    for (size_t i = 0; is_static && i < m->config.subscription_count; i++)
        if (!safe_topic_of(m, m->subscriptions[i].topic))
            return false;
    return true;
}

static enum zkc_err new_viewer(struct zk_safe *m, struct why *why)
{
    const struct zk_viewer_config config = {
        .group = m->group,
        .pattern = m->config.pattern,
        .subscriptions = m->subscriptions,
        .subscription_count = m->config.subscription_count,
        .exclude_internal_topics = m->config.exclude_internal_topics,
        .sync_before_read = m->config.sync_before_read,
        .coalesce = m->config.coalesce,
        .bugs = m->config.bugs,
    };
    return zk_viewer_new(&config, &m->viewer, why);
}

enum zkc_err zk_safe_new(const struct zk_safe_config *config, int64_t now_ms, struct zk_safe **out,
                         struct why *why)
{
    why_set(why, "out of memory");
    struct zk_safe *m = calloc(1, sizeof *m);
    if (!m)
        return ZKC_ERR_NOMEM;
    m->config = *config;
    m->config.group = m->config.consumer_id = NULL;
    m->config.subscriptions = NULL;
    arena_init(&m->arena, STEP_BYTES_MAX);
    buf_init(&m->registration, ZK_DATA_BYTES_MAX);
    lease_init(&m->lease, config->fence, config->bugs);
    finder_init(&m->finder, config->refresh_leader_backoff_ms, config->seed);
    m->lease_told_ms = INT64_MIN;
    m->audit_at_ms = INT64_MAX;
    m->close_at_ms = m->resend_at_ms = m->partition_deadline_ms = m->overdue_at_ms = INT64_MAX;
    m->commit_at_ms = config->auto_commit ? now_ms + config->auto_commit_interval_ms : INT64_MAX;
    m->acted_pzxid = INT64_MIN;
    m->polled_ms = -1;
    m->has_observer = config->observer_process;
    m->poked_end = &m->poked;
    enum zkc_err err = ZKC_ERR_NOMEM;
    m->silent_at_ms = INT64_MAX;
    if (copy_strings(m, config) && number_topics(m))
        err = new_viewer(m, why);
    if (!err)
        safe_stored_init(m);
    if (err) {
        zk_safe_free(m);
        return err;
    }
    why_clear(why);
    *out = m;
    return ZKC_OK;
}

/* ---- operations under way ---- */

bool safe_has_room(const struct group_outputs *out, size_t count)
{
    return out->count + count + TAIL_OUTPUTS <= GROUP_OUTPUTS_MAX;
}

bool safe_can_send(struct zk_safe *m, size_t count)
{
    if (m->sent_first > 0 && m->sent_first + m->sent_count + count > m->sent_cap) {
        memmove(m->sent, m->sent + m->sent_first, m->sent_count * sizeof *m->sent);
        m->sent_first = 0;
    }
    if (m->sent_count + count <= m->sent_cap)
        return true;
    size_t cap = m->sent_cap ? m->sent_cap * 2 : 16;
    struct safe_sent *sent = cap > SENT_MAX ? NULL : realloc(m->sent, cap * sizeof *sent);
    if (!sent)
        return false;
    m->sent = sent;
    m->sent_cap = cap;
    return true;
}

uint32_t safe_send(struct zk_safe *m, struct safe_sent what, const struct zk_op *op,
                   struct group_outputs *out)
{
    assert(m->is_connected);
    assert(m->sent_first + m->sent_count < m->sent_cap);
    struct group_output *o = group_emit(out, GROUP_OUT_OP);
    o->op.lane = GROUP_LANE_SAFE;
    o->op.seq = what.seq = ++m->seq;
    o->op.op = *op;
    m->sent[m->sent_first + m->sent_count++] = what;
    m->open_count++;
    return what.seq;
}

/* Takes the entry out; its op is OP_NONE when there is none. */
static struct safe_sent take_sent(struct zk_safe *m, uint32_t seq)
{
    struct safe_sent none = {.op = OP_NONE};
    if (m->sent_count == 0)
        return none;
    uint32_t at = seq - m->sent[m->sent_first].seq; /* they are numbered without gaps */
    if (at >= m->sent_count)
        return none;
    struct safe_sent *entry = &m->sent[m->sent_first + at];
    struct safe_sent found = *entry;
    if (found.op != OP_NONE)
        m->open_count--;
    entry->op = OP_NONE;
    entry->batch = NULL;
    while (m->sent_count > 0 && m->sent[m->sent_first].op == OP_NONE) {
        m->sent_first++;
        m->sent_count--;
    }
    if (m->sent_count == 0)
        m->sent_first = 0;
    return found;
}

void safe_forget_sent(struct zk_safe *m)
{
    for (size_t i = 0; i < m->sent_count; i++)
        free(m->sent[m->sent_first + i].batch);
    m->sent_first = m->sent_count = m->open_count = m->releases_open = 0;
}

static void answer(struct zk_safe *m, const struct safe_sent *sent, const struct zk_result *result,
                   struct group_outputs *out)
{
    switch (sent->op) {
    case OP_NONE: break; /* of a session that is over */
    case OP_CLAIM:
    case OP_RELEASE: safe_batch_answer(m, sent, result, out); break;
    case OP_LOOK:
    case OP_RESOLVE:
    case OP_READ:
    case OP_REREAD:
    case OP_COMMIT: safe_partition_answer(m, sent, result, out); break;
    case OP_WATCH: safe_watched(m, sent, result, out); break;
    case OP_REGISTER:
    case OP_LOOK_ID: safe_registered_answer(m, sent, result, out); break;
    case OP_FENCE: safe_fence_answer(m, result, out); break;
    case OP_PROBE: safe_probe_answer(m, sent, result, out); break;
    case OP_PARENT:
    case OP_HINT: safe_topic_answer(m, sent, result, out); break;
    case OP_AUDIT: safe_audit_answer(m, sent, result, out); break;
    }
}

static void take_result(struct zk_safe *m, const struct group_input *in, struct group_outputs *out)
{
    const struct zk_result *result = in->result.result;
    if (in->result.lane == GROUP_LANE_VIEW) {
        zk_viewer_feed(m->viewer, in, out);
    } else if (in->result.lane == GROUP_LANE_SAFE) {
        struct safe_sent sent = take_sent(m, in->result.seq);
        answer(m, &sent, result, out);
    } else if (in->result.lane == GROUP_LANE_FINDER || in->result.lane == GROUP_LANE_OFFSETS) {
        struct lane *lane = &m->lanes[in->result.lane];
        bool is_answered = lane_answered(lane, in->result.seq, result->zk_rc);
        if (is_answered && in->result.lane == GROUP_LANE_FINDER)
            finder_answer(&m->finder, m->now_ms, result, m->lanes, m->is_connected, out);
        else if (is_answered)
            offset_manager_scanned(&m->manager, m->now_ms, result, m->lanes, m->is_connected, out);
        else if (lane->busy && lane->parked && m->is_connected && m->resend_at_ms == INT64_MAX)
            m->resend_at_ms = m->now_ms + GROUP_RESEND_MS;
    }
}

/* ---- inputs ---- */

static void take_event(struct zk_safe *m, const struct group_input *in, struct group_outputs *out)
{
    const char *path = in->watch.path;
    if (strcmp(path, m->id_path) == 0)
        safe_id_event(m);
    if (strcmp(path, ZK_PATH_BROKER_IDS) == 0) {
        finder_forget_brokers(&m->finder);
        safe_forget_leaders(m);
    }
    struct zk_path_parts parts = zk_path_parse(path);
    if (parts.kind == ZK_PATH_OWNER && bytes_equal_text(parts.group, m->group)) {
        struct safe_partition *p = safe_find(m, parts.topic, parts.partition);
        if (p && !p->is_lost && in->watch.type == ZK_EVENT_WATCH_LOST)
            safe_owner_unwatched(m, p);
        else if (p && !p->is_lost)
            safe_owner_event(m, p, out);
        return;
    }
    zk_viewer_feed(m->viewer, in, out); /* with an observer, too: it may be lost later */
}

static void leader_lost(struct zk_safe *m, const struct group_input *in, struct group_outputs *out)
{
    struct safe_partition *p =
        safe_find(m, bytes_of_text(in->leader_lost.topic), in->leader_lost.partition);
    if (p && p->is_open)
        safe_want_leader(m, p, out);
}

static void leave(struct zk_safe *m, bool for_good, struct group_outputs *out)
{
    safe_end_round(m, for_good ? "leaving" : "evicted", out);
    safe_move(m, LEAVING);
    m->must_decide = false;
    m->close_at_ms = m->now_ms + m->config.close_timeout_ms;
    safe_poke_all(m);
}

static void take_leave(struct zk_safe *m, struct group_outputs *out)
{
    if (m->is_leaving)
        return;
    m->is_leaving = true;
    switch (m->phase) {
    case CONNECTING:
    case REGISTERING:
    case IN: leave(m, true, out); break;
    case LEAVING: /* being evicted: there is time now to finish in */
    case CLOSING: break;
    case CLOSED:
        safe_move(m, CLOSING);
        group_emit(out, GROUP_OUT_CLOSE_SESSION);
        break;
    }
}

static void take_metadata(struct zk_safe *m, const struct group_input *in,
                          struct group_outputs *out)
{
    size_t first = out->count;
    finder_metadata(&m->finder, m->now_ms, in->metadata.seq, in->metadata.failed, in->metadata.text,
                    in->metadata.list, in->metadata.count, out);
    safe_keep_leaders(m, first, out);
}

/* An evicted member is back as soon as the application polls. */
static void come_back(struct zk_safe *m, struct group_outputs *out)
{
    bool has_polled = m->polled_ms < 0 || m->polled_ms >= m->evicted_at_ms;
    if (m->phase != CLOSED || m->is_leaving || !has_polled)
        return;
    safe_move(m, CONNECTING);
    group_emit(out, GROUP_OUT_OPEN_SESSION);
}

static void session_closed(struct zk_safe *m, const struct group_input *in,
                           struct group_outputs *out)
{
    if (m->phase != CLOSING)
        return;
    safe_session_over(m, "the session is closed", out);
    zk_viewer_feed(m->viewer, in, out);
    safe_move(m, CLOSED);
}

static void expired(struct zk_safe *m, const struct group_input *in, struct group_outputs *out)
{
    safe_session_over(m, "the session has ended", out);
    zk_viewer_feed(m->viewer, in, out);
    group_emit(out, GROUP_OUT_TRIGGER)->trigger = "expired";
}

/* What was under way on the connection before and has not been answered never will be. */
static void lose_open(struct zk_safe *m, struct group_outputs *out)
{
    static const struct zk_result lost = {.zk_rc = ZK_CONNECTION_LOSS};
    while (m->sent_count > 0) {
        struct safe_sent sent = take_sent(m, m->sent[m->sent_first].seq);
        answer(m, &sent, &lost, out);
    }
}

static void take_input(struct zk_safe *m, const struct group_input *in, struct group_outputs *out)
{
    switch (in->type) { /* all choices are here; the helpers do one thing each */
    case GROUP_IN_CONNECTED:
        if (m->phase >= CLOSING)
            break; /* it was on its way when the session was closed */
        m->is_connected = false;
        if (!in->connected.is_new)
            lose_open(m, out);
        safe_connected(m, in, out);
        break;
    case GROUP_IN_DISCONNECTED:
        safe_disconnected(m, out);
        zk_viewer_feed(m->viewer, in, out);
        break;
    case GROUP_IN_EXPIRED: expired(m, in, out); break;
    case GROUP_IN_SESSION_CLOSED: session_closed(m, in, out); break;
    case GROUP_IN_RESULT: take_result(m, in, out); break;
    case GROUP_IN_WATCH: take_event(m, in, out); break;
    case GROUP_IN_POSITIONS: safe_positions(m, in); break;
    case GROUP_IN_DRAINED: safe_drained(m, in); break;
    case GROUP_IN_COMMIT: safe_commit(m, in, out); break;
    case GROUP_IN_METADATA: take_metadata(m, in, out); break;
    case GROUP_IN_LEADER_LOST: leader_lost(m, in, out); break;
    case GROUP_IN_VIEW: safe_observer_view(m, in->view.view, out); break;
    case GROUP_IN_LEAVE: take_leave(m, out); break;
    case GROUP_IN_POLLED:
        if (m->now_ms > m->polled_ms)
            m->polled_ms = m->now_ms;
        break;
    case GROUP_IN_OFFSETS:
        offset_manager_answered(&m->manager, m->now_ms, &in->offsets, out);
        break;
    case GROUP_IN_TIME:
    case GROUP_IN_STOPPED: break; /* of zk_compat and reader */
    }
}

/* ---- what a step leaves to do ---- */

static int64_t poll_deadline_ms(const struct zk_safe *m)
{
    bool takes_part = m->phase == REGISTERING || m->phase == IN;
    bool is_limited = m->config.poll_limit_ms > 0 && m->polled_ms >= 0;
    return takes_part && is_limited ? m->polled_ms + m->config.poll_limit_ms : INT64_MAX;
}

static void check_polls(struct zk_safe *m, struct group_outputs *out)
{
    if (m->now_ms < poll_deadline_ms(m))
        return;
    m->counts.evictions++;
    m->evicted_at_ms = m->now_ms;
    struct group_output *o = group_emit(out, GROUP_OUT_EVICTED);
    o->evicted.limit_ms = m->config.poll_limit_ms;
    o->evicted.polled_ms = m->polled_ms;
    group_notice(
        out, 4, "member", ZKC_ERR_EVICTED,
        "the application has not asked for a message for %lld ms (max.poll.interval.ms): its "
        "partitions are given back; it joins again when it asks",
        (long long)m->config.poll_limit_ms);
    leave(m, false, out);
}

static void check_timers(struct zk_safe *m, struct group_outputs *out)
{
    if (m->now_ms >= m->commit_at_ms) {
        m->commit_at_ms = m->now_ms + m->config.auto_commit_interval_ms;
        m->wants_positions |= m->owned_count > 0;
    }
    if (m->now_ms >= m->resend_at_ms) {
        m->resend_at_ms = INT64_MAX;
        if (m->is_connected)
            lanes_resend(m->lanes, out);
    }
}

static bool all_free(const struct zk_safe *m)
{
    for (size_t i = 0; i < m->partition_count; i++)
        if (m->partitions[i]->state != FREE)
            return false;
    return true;
}

/* Everything is given back, or there is no time left for it: the server frees the rest with the
 * session, in one transaction. */
static void check_leaving(struct zk_safe *m, struct group_outputs *out)
{
    if (m->phase != LEAVING)
        return;
    bool is_done = all_free(m) && m->open_count == 0 && !m->poked;
    if (!is_done && m->session_id != 0 && m->now_ms < m->close_at_ms)
        return;
    if (m->session_id == 0 && !all_free(m))
        return; /* they are dropped in the next step */
    safe_move(m, CLOSING);
    group_emit(out, GROUP_OUT_CLOSE_SESSION);
}

/* Its share is decided on, and of each partition it has, or knows who has it, or has told what
 * keeps it from it: an offset that cannot be read, an operation that is refused. */
static bool has_first_share(const struct zk_safe *m)
{
    return m->has_acted && m->phase == IN && m->counts.placed == m->counts.wanted;
}

static void tell_state(struct zk_safe *m, struct group_outputs *out)
{
    bool is_registered = m->reg == REG_OURS;
    m->is_settled |= has_first_share(m);
    if (is_registered == m->is_told_registered && m->is_settled == m->is_told_settled)
        return;
    m->is_told_registered = is_registered;
    m->is_told_settled = m->is_settled;
    struct group_output *o = group_emit(out, GROUP_OUT_STATE);
    o->state.registered = is_registered;
    o->state.settled = m->is_settled;
}

static void run(struct zk_safe *m, struct group_outputs *out)
{
    check_polls(m, out);
    check_timers(m, out);
    come_back(m, out);
    safe_run_probes(m, out);
    safe_run_registration(m, out);
    safe_run_fence(m, out);
    safe_run_rounds(m, out);
    safe_take_stored(m, out);
    safe_run_partitions(m, out);
    safe_run_stored(m, out);
    safe_run_topics(m, out);
    safe_run_audit(m, out);
    if (m->phase < CLOSING)
        finder_run(&m->finder, m->now_ms, m->lanes, m->is_connected, FINDER_KEEPS, out);
    safe_run_jobs(m, out);
    check_leaving(m, out);
    tell_state(m, out);
    if (m->wants_positions) {
        m->wants_positions = false;
        group_emit(out, GROUP_OUT_POSITIONS);
    }
}

/* What is drained at once is told before time passes or anything is answered. */
static void end_hold(struct zk_safe *m, const struct group_input *in)
{
    if (!m->holds_claims || (in->type != GROUP_IN_TIME && in->type != GROUP_IN_RESULT))
        return;
    m->holds_claims = false;
    safe_poke_all(m);
}

void zk_safe_step(struct zk_safe *m, const struct group_input *in, struct group_outputs *out)
{
    group_outputs_clear(out);
    arena_clear(&m->arena);
    m->now_ms = in->now_ms;
    m->wall_ms = in->wall_ms;
    if (in->polled_ms > m->polled_ms || in->polled_ms < 0)
        m->polled_ms = in->polled_ms;
    end_hold(m, in);
    take_input(m, in, out);
    run(m, out);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t registration_deadline_ms(const struct zk_safe *m)
{
    bool waits = (m->phase == REGISTERING && m->reg == REG_NONE) ||
                 (m->phase <= LEAVING && m->reg == REG_UNSURE);
    return waits ? m->reg_retry_at_ms : INT64_MAX;
}

static int64_t round_deadline_ms(const struct zk_safe *m)
{
    if (m->phase != IN)
        return INT64_MAX;
    int64_t at = m->has_observer ? INT64_MAX : zk_viewer_deadline_ms(m->viewer);
    return m->must_decide && m->view ? earlier(at, m->decide_at_ms) : at;
}

int64_t zk_safe_deadline_ms(const struct zk_safe *m)
{
    if (m->phase == CLOSED)
        return m->poked ? m->now_ms : INT64_MAX;
    int64_t at = earlier(m->partition_deadline_ms, m->commit_at_ms);
    at = earlier(at, m->overdue_at_ms);
    at = earlier(at, poll_deadline_ms(m));
    at = earlier(at, finder_deadline_ms(&m->finder));
    at = earlier(at, safe_stored_deadline_ms(m));
    if (m->phase == LEAVING)
        at = earlier(at, m->close_at_ms);
    if (m->is_connected) {
        at = earlier(at, m->phase < CLOSING ? lease_deadline_ms(&m->lease) : INT64_MAX);
        at = earlier(at, registration_deadline_ms(m));
        at = earlier(at, round_deadline_ms(m));
        at = earlier(at, safe_audit_deadline_ms(m));
        at = earlier(at, m->resend_at_ms);
    }
    return m->poked || m->holds_claims ? earlier(at, m->now_ms) : at;
}

/* ---- questions ---- */

const struct group_claim *zk_safe_owned(const struct zk_safe *m, size_t *count)
{
    *count = m->owned_count;
    return m->owned;
}

bool zk_safe_is_closed(const struct zk_safe *m)
{
    return m->phase == CLOSED && m->is_leaving;
}

struct zk_safe_counts zk_safe_counts(const struct zk_safe *m)
{
    return m->counts;
}

bool zk_safe_may_own(const struct zk_safe *m, const char *topic, int32_t partition)
{
    const struct safe_partition *p = safe_find(m, bytes_of_text(topic), partition);
    return p && !p->is_lost && p->state != FREE && p->state != WAITING;
}

const char *zk_safe_state_name(const struct zk_safe *m)
{
    switch (m->phase) {
    case CONNECTING: return "connecting";
    case REGISTERING: return "registering";
    case LEAVING:
    case CLOSING: return m->is_leaving ? "leaving" : "evicted";
    case CLOSED: return m->is_leaving ? "closed" : "evicted";
    case IN: break;
    }
    if (!m->has_acted)
        return "joining";
    for (size_t i = 0; i < m->partition_count; i++) {
        const struct safe_partition *p = m->partitions[i];
        if (p->state != (p->is_wanted ? OWNED : FREE))
            return "moving";
    }
    return m->owned_count ? "owning" : "idle";
}
