/* The shell around a group machine: callback -> input -> step -> carry out outputs -> re-arm one
 * timer. No rule of the protocol is here. While outputs are carried out, the application may be
 * called, and may call back; what it wants is kept until the outputs are done (member_drain). */
#include "zkconsumer/consumer/consumer.h"
#include "zkconsumer/consumer/offset_channel.h"
#include "zkconsumer/consumer/watch_sessions.h"
#include "zkconsumer/core/group/reader.h"
#include "zkconsumer/core/group/zk_compat.h"
#include "zkconsumer/core/group/zk_safe.h"
#include "zkconsumer/core/zk/auth.h"
#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/io/zk_session.h"
#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <time.h>

#define REOPEN_MS 1000 /* after a session that there was no memory for */

/* ---- feeding ---- */

static void carry_out(zkc_consumer *c, const struct group_output *o);

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void step(zkc_consumer *c, const struct group_input *in, struct group_outputs *out)
{
    if (c->compat)
        zk_compat_step(c->compat, in, out);
    else if (c->safe)
        zk_safe_step(c->safe, in, out);
    else
        reader_step(c->reader, in, out);
}

static bool has_machine(const zkc_consumer *c)
{
    return c->compat || c->safe || c->reader;
}

/* Once its session is closed, or being closed, nothing is done any more. */
static bool is_over(const zkc_consumer *c)
{
    return c->state >= CONSUMER_SESSION;
}

static void feed(zkc_consumer *c, struct group_input *in)
{
    struct group_outputs out;
    if (!has_machine(c) || is_over(c))
        return;
    assert(!c->is_feeding);
    c->is_feeding = true;
    in->now_ms = loop_now_ms();
    in->wall_ms = wall_ms();
    in->polled_ms = c->safe ? member_safe_polled_ms(c, in->now_ms) : -1;
    step(c, in, &out);
    for (size_t i = 0; i < out.count; i++)
        tally_output(c->tally, &out.list[i], in->now_ms * 1000);
    for (size_t i = 0, n; i < out.count; i += n) {
        n = member_safe_carry_out(c, &out.list[i], out.count - i);
        if (n > 0)
            continue;
        n = 1;
        tracing_output(c->tracing, &out.list[i]);
        carry_out(c, &out.list[i]);
    }
    c->is_feeding = false;
}

static void arm(zkc_consumer *c)
{
    int64_t at = c->compat   ? zk_compat_deadline_ms(c->compat)
                 : c->safe   ? zk_safe_deadline_ms(c->safe)
                 : c->reader ? reader_deadline_ms(c->reader)
                             : INT64_MAX;
    if (c->safe_parts.is_session_wanted)
        at = loop_now_ms() + REOPEN_MS;
    if (at == INT64_MAX || is_over(c)) {
        event_del(c->timer);
        return;
    }
    int64_t now_ms = loop_now_ms();
    int64_t ms = at > now_ms ? at - now_ms : 0; /* "at once" may be long ago */
    struct timeval tv = {ms / 1000, (ms % 1000) * 1000};
    event_add(c->timer, &tv);
}

bool member_reserve_positions(zkc_consumer *c, size_t count)
{
    if (count <= c->stopped_cap)
        return true;
    count = count > c->stopped_cap * 2 ? count : c->stopped_cap * 2;
    struct group_position *list = realloc(c->stopped, count * sizeof *list);
    if (!list) {
        log_line(c->log, 3, LOG_FACILITY_OFFSET,
                 "out of memory: what was consumed since the last commit is not committed");
        return false;
    }
    c->stopped = list;
    c->stopped_cap = count;
    return true;
}

/* Copies what the gates say into c->stopped: what the application commits with a NULL list inside
 * of the revoke callback is what has been stopped. */
static void keep_positions(zkc_consumer *c, const struct zkc_owned *list, size_t count)
{
    c->stopped_count = 0;
    if (!member_reserve_positions(c, count))
        return;
    for (size_t i = 0; i < count; i++)
        c->stopped[c->stopped_count++] =
            (struct group_position){list[i].topic, list[i].partition, list[i].offset, 0, 0};
}

static void keep_current_positions(zkc_consumer *c)
{
    struct zkc_owned *list;
    size_t count;
    if (c->safe) {
        member_safe_keep_positions(c);
        return;
    }
    fetching_consumed(c->fetching, &list, &count);
    keep_positions(c, list, count);
}

static void feed_commit(zkc_consumer *c, struct commit *commit)
{
    struct group_input in = {.type = GROUP_IN_COMMIT,
                             .commit = {.list = commit->list, .count = commit->count}};
    if (!commit->list) {
        if (!c->has_stopped)
            keep_current_positions(c);
        in.commit.list = c->stopped;
        in.commit.count = c->stopped_count;
        in.commit.all_owned = true;
    }
    if (is_over(c) || !has_machine(c)) {
        consumer_commit_done(c, commit, ZKC_ERR_CLOSED);
        return;
    }
    commit_queue_put(&c->commits_running, commit); /* the last one: COMMIT_QUEUED names its job */
    feed(c, &in);
}

static void feed_positions(zkc_consumer *c, enum group_input_type type)
{
    struct group_input in = {.type = type, .positions = {c->stopped, c->stopped_count}};
    feed(c, &in);
}

/* An operation that could not be sent: the machine sends it again in a while. */
static bool feed_unsent(zkc_consumer *c)
{
    static const struct zk_result loss = {.zk_rc = ZK_CONNECTION_LOSS};
    for (int lane = 0; lane <= GROUP_LANE_VIEW; lane++) {
        uint32_t seq;
        if (!unsent_take(&c->unsent[lane], &seq))
            continue;
        struct group_input in = {.type = GROUP_IN_RESULT,
                                 .result = {(enum group_lane)lane, seq, &loss}};
        feed(c, &in);
        return true;
    }
    return false;
}

/* What zk_safe asked for, and has to have before anything else. */
static bool feed_safe(zkc_consumer *c)
{
    struct group_input in;
    if (!c->safe)
        return false;
    if (c->positions_due) {
        c->positions_due = false;
        keep_current_positions(c);
        feed_positions(c, GROUP_IN_POSITIONS);
        return true;
    }
    if (!member_safe_take_input(c, &in))
        return false;
    feed(c, &in);
    return true;
}

void member_drain(zkc_consumer *c)
{
    while (!c->is_feeding) {
        if (feed_safe(c) || feed_unsent(c))
            continue;
        struct commit *commit = commit_queue_take(&c->commits_new);
        if (commit) {
            feed_commit(c, commit);
        } else if (c->has_stopped) {
            c->has_stopped = false;
            feed_positions(c, GROUP_IN_STOPPED);
        } else if (c->positions_due) {
            c->positions_due = false;
            keep_current_positions(c);
            feed_positions(c, GROUP_IN_POSITIONS);
        } else if (c->leave_wanted && !c->leave_fed) {
            c->leave_fed = true;
            struct group_input in = {.type = GROUP_IN_LEAVE};
            feed(c, &in);
            if (c->safe) /* its gates are closed: who asks for more gets the end */
                stream_hub_end(c->hub);
            if (!has_machine(c))
                member_close_session(c);
        } else {
            arm(c);
            return;
        }
    }
}

void member_feed(zkc_consumer *c, struct group_input *in)
{
    feed(c, in);
    member_drain(c);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    zkc_consumer *c = arg;
    struct group_input in = {.type = GROUP_IN_TIME};
    if (c->safe_parts.is_session_wanted && !member_reopen(c))
        c->safe_parts.is_session_wanted = false;
    member_feed(c, &in);
}

/* ---- operations ---- */

struct sent {
    zkc_consumer *consumer;
    enum group_lane lane;
    uint32_t seq;
    unsigned session_number;
    int64_t sent_ns;
    struct zk_op op; /* its path is `path`; without its data and the operations of a multi */
    size_t bytes;
    bool is_second; /* sent again after the chroot was made */
    struct watch_ask ask;
    char path[];
};

static void on_chroot(const struct zk_result *result, void *user);

static struct watch_sessions *watch_sessions_of(const zkc_consumer *c)
{
    return c->safe_parts.watch_sessions; /* NULL: the mode has none */
}

/* The first node below a chroot that does not exist: a member makes the chroot it needs. */
static bool needs_chroot(const struct sent *s, const struct zk_result *result)
{
    return result->zk_rc == ZK_NO_NODE && s->op.type == ZK_OP_CREATE && !s->op.ephemeral &&
           !s->is_second && strrchr(s->path, '/') == s->path;
}

/* Machines try again what is refused, each in its own time, with a pause of a session timeout at
 * most: what has not been seen for so long is over. */
#define REFUSED_QUIET_MS 120000

static uint64_t cause_of(const struct sent *s)
{
    return told_hash(s->path) ^ ((uint64_t)s->op.type << 1);
}

static bool may_tell(zkc_consumer *c, const struct sent *s)
{
    return told_causes_is_news(&c->refused_ops, cause_of(s), loop_now_ms(), REFUSED_QUIET_MS);
}

/* The session has not sent it (zk_session_send), for the server would cut the connection at it. */
static void tell_too_large(zkc_consumer *c, const struct sent *s)
{
    bool is_too_large = s->bytes + ZK_REQUEST_BYTES_SPARE > (size_t)c->view.jute_maxbuffer;
    if (!is_too_large || !may_tell(c, s))
        return;
    consumer_error(c, ZKC_ERR_TOO_LARGE,
                   "%s %s has %zu bytes, more than a packet of the ZooKeeper servers may have: "
                   "zookeeper.jute.maxbuffer = %d. Make it smaller, or raise the property "
                   "jute.maxbuffer of all servers and then zookeeper.jute.maxbuffer here",
                   zk_op_name(s->op.type), s->path, s->bytes, c->view.jute_maxbuffer);
}

static void tell_no_auth(zkc_consumer *c, const struct sent *s)
{
    if (may_tell(c, s))
        consumer_error(
            c, ZKC_ERR_ZOOKEEPER,
            "ZooKeeper refuses %s %s at %s (NoAuth): %s; the ACL of that znode%s says who may "
            "(zkCli: getAcl)",
            zk_op_name(s->op.type), s->path, c->view.zookeeper_connect,
            c->view.zookeeper_auth
                ? "the credentials of zookeeper.auth are not those that it is open to: "
                  "correct them"
                : "it is protected: set zookeeper.auth, to " ZK_AUTH_FORM,
            s->op.type == ZK_OP_CREATE || s->op.type == ZK_OP_MULTI ? " or of its parent" : "");
    c->has_told_no_auth = true;
    consumer_check_waiters(c);
}

static void on_result(const struct zk_result *result, void *user)
{
    struct sent *s = user;
    zkc_consumer *c = s->consumer;
    tally_op(c->tally, s->op.type, result->zk_rc, (loop_now_ns() - s->sent_ns) / 1000);
    if (is_over(c) || s->session_number != c->session_number) {
        free(s);
        return;
    }
    if (watch_sessions_of(c))
        watch_sessions_seen(watch_sessions_of(c), result);
    if (needs_chroot(s, result)) {
        s->is_second = true;
        zk_session_ensure_chroot(c->session, on_chroot, s);
        return;
    }
    if (result->zk_rc == ZK_NO_AUTH)
        tell_no_auth(c, s);
    else if (result->zk_rc == ZK_BAD_ARGUMENTS)
        tell_too_large(c, s);
    else if (result->zk_rc == ZK_OK)
        told_causes_over(&c->refused_ops, cause_of(s));
    tracing_op(c->tracing, s->lane, &s->op, result, s->bytes, s->sent_ns);
    struct group_input in = {.type = GROUP_IN_RESULT, .result = {s->lane, s->seq, result}};
    free(s);
    member_feed(c, &in);
}

/* A member needs it, as brokers do (KafkaServer.initZkClient); but it may have been mistyped. */
static void on_chroot(const struct zk_result *result, void *user)
{
    struct sent *s = user;
    zkc_consumer *c = s->consumer;
    if (is_over(c) || s->session_number != c->session_number) {
        free(s);
        return;
    }
    if (result->zk_rc != ZK_OK) {
        on_result(result, s);
        return;
    }
    log_line(
        c->log, 4, LOG_FACILITY_MEMBER,
        "made the chroot %s of zookeeper.connect, which was not there; if it is mistyped, stop "
        "this member and delete it (zkCli: deleteall)",
        strchr(c->view.zookeeper_connect, '/'));
    zk_session_send(c->session, &s->op, on_result, s);
}

static void send_op(zkc_consumer *c, const struct group_output *o)
{
    const char *path = zk_op_path(&o->op.op);
    size_t len = strlen(path) + 1;
    struct unsent *unsent = &c->unsent[o->op.lane];
    struct sent *s = unsent->count ? NULL : malloc(sizeof *s + len);
    if (!s) { /* as if the connection had been lost: the machine sends it again */
        log_line(c->log, 3, LOG_FACILITY_ZK, "out of memory: an operation waits");
        unsent_put(unsent, o->op.seq);
        return;
    }
    *s = (struct sent){.consumer = c,
                       .lane = o->op.lane,
                       .seq = o->op.seq,
                       .session_number = c->session_number,
                       .sent_ns = c->tracing || c->tally ? loop_now_ns() : 0,
                       .op = o->op.op,
                       .bytes = zk_op_bytes(&o->op.op)};
    memcpy(s->path, path, len);
    s->op.path = s->ask.path = s->path;
    s->op.data = BYTES_NULL;
    s->op.parts = NULL;
    s->op.part_count = 0;
    c->operations++;
    if (watch_sessions_of(c))
        watch_sessions_send(watch_sessions_of(c), c->session, &o->op.op, &s->ask, on_result, s);
    else
        zk_session_send(c->session, &o->op.op, on_result, s);
}

/* ---- the application's part of a rebalance ---- */

void member_tell_rebalance(zkc_consumer *c, enum zkc_rebalance_kind kind, struct zkc_owned *list,
                           size_t count)
{
    if (c->view.on_rebalance && (count > 0 || kind == ZKC_REBALANCE_ASSIGN))
        c->view.on_rebalance(c, kind, list, count, c->view.user);
}

static void stop(zkc_consumer *c, enum group_stop_why why)
{
    struct zkc_owned *list;
    size_t count;
    bool lost = why == GROUP_STOP_LOST;
    fetching_stop(c->fetching, lost ? GATE_LOST : GATE_REVOKED,
                  lost                      ? "lost"
                  : why == GROUP_STOP_LEAVE ? "exit"
                                            : "release",
                  &list, &count);
    keep_positions(c, list, count);
    c->has_stopped = true;
    if (why == GROUP_STOP_LEAVE)
        stream_hub_end(c->hub);
    if (c->compat)
        member_tell_rebalance(c, lost ? ZKC_REBALANCE_LOST : ZKC_REBALANCE_REVOKE, list, count);
}

/* Each session has a lease of its own: a later one does not open the gates of an earlier. Without
 * memory for it the last one stays in its place, and is over. */
static void take_lease(zkc_consumer *c, const struct group_output *o)
{
    if (!c->fence || c->fence_session != o->lease.session_id) {
        struct gate_lease *lease = gate_lease_new();
        if (c->fence)
            gate_lease_end(c->fence);
        if (lease) {
            gate_lease_unref(c->fence);
            c->fence = lease;
        } else {
            log_line(c->log, 3, LOG_FACILITY_ZK,
                     "nothing is delivered in this session: out of memory");
        }
        c->fence_session = o->lease.session_id;
    }
    if (c->fence) /* the past: over, perhaps only for now */
        gate_lease_move(c->fence, o->lease.end_ms < 0 ? 0 : o->lease.end_ms);
    member_lease_moved(c, o->lease.session_id, o->lease.end_ms);
    stream_hub_look_again(c->hub);
}

/* The lease that claims are under. NULL, and *ok: none is wanted. Only claims under a lease count
 * what is acknowledged: without a fence it is one that never ends. */
static struct gate_lease *lease_of(const zkc_consumer *c, const struct group_output *o, bool *ok)
{
    bool is_wanted = c->compat && c->view.fence != CONF_FENCE_NONE;
    if (c->compat && !is_wanted && c->view.is_acknowledged) {
        struct gate_lease *endless = gate_lease_new();
        if (endless)
            gate_lease_move(endless, INT64_MAX);
        *ok = endless != NULL;
        return endless;
    }
    bool is_fenced = is_wanted && c->fence;
    for (size_t i = 0; is_fenced && i < o->assign.count; i++)
        is_fenced = o->assign.claims[i].session_id == c->fence_session;
    if (is_fenced)
        return gate_lease_ref(c->fence);
    struct gate_lease *over = is_wanted ? gate_lease_new() : NULL; /* never moved */
    *ok = over || !is_wanted;
    return over;
}

static void assign(zkc_consumer *c, const struct group_output *o)
{
    bool has_lease = true;
    struct gate_lease *lease = lease_of(c, o, &has_lease);
    struct zkc_owned *list = calloc(o->assign.count + 1, sizeof *list);
    enum zkc_err err = list && has_lease ? ZKC_OK : ZKC_ERR_NOMEM;
    for (size_t i = 0; !err && i < o->assign.count; i++) {
        const struct group_claim *claim = &o->assign.claims[i];
        list[i] = (struct zkc_owned){claim->topic, claim->partition, claim->thread, claim->offset};
    }
    if (!err && c->compat)
        member_tell_rebalance(c, ZKC_REBALANCE_ASSIGN, list, o->assign.count);
    if (!err)
        err = fetching_hold(c->fetching, list, o->assign.count, lease);
    gate_lease_unref(lease);
    if (err) {
        log_line(c->log, 3, LOG_FACILITY_FETCH, "nothing is fetched until the next rebalance: %s",
                 zkc_err_text(err));
        consumer_error(c, err, "nothing is fetched until the next rebalance: out of memory");
    }
    free(list);
}

static void on_metadata(uint32_t seq, const char *failure, const struct group_leader *list,
                        size_t count, void *user)
{
    struct group_input in = {
        .type = GROUP_IN_METADATA,
        .metadata = {
            .seq = seq, .failed = failure != NULL, .text = failure, .list = list, .count = count}};
    member_feed(user, &in);
}

void member_leader_lost(const char *topic, int32_t partition, void *consumer)
{
    struct group_input in = {.type = GROUP_IN_LEADER_LOST, .leader_lost = {topic, partition}};
    member_feed(consumer, &in);
}

static void on_offsets(const struct group_offsets_answer *answer, void *user)
{
    struct group_input in = {.type = GROUP_IN_OFFSETS, .offsets = *answer};
    member_feed(user, &in);
}

/* ---- outputs ---- */

static enum log_facility facility_of(const char *name)
{
    for (int i = 0; i < LOG_FACILITIES; i++)
        if (strcmp(log_facility_name((enum log_facility)i), name) == 0)
            return (enum log_facility)i;
    return LOG_FACILITY_MEMBER;
}

static void take_notice(zkc_consumer *c, const struct group_output *o)
{
    log_line(c->log, o->notice.level, facility_of(o->notice.facility), "%s", o->notice.text);
    if (o->notice.err)
        consumer_error(c, o->notice.err, "%s", o->notice.text);
}

static void commit_queued(zkc_consumer *c, const struct group_output *o)
{
    struct commit *last = c->commits_running.last;
    last->job = o->committed.job;
    if (!o->committed.err)
        return;
    struct commit_queue rest = {0};
    struct commit *commit;
    while ((commit = commit_queue_take(&c->commits_running)) != last)
        commit_queue_put(&rest, commit);
    c->commits_running = rest;
    consumer_commit_done(c, last, o->committed.err);
}

static void committed(zkc_consumer *c, const struct group_output *o)
{
    struct commit_queue rest = {0};
    struct commit *commit;
    while ((commit = commit_queue_take(&c->commits_running))) {
        if (commit->job == o->committed.job)
            consumer_commit_done(c, commit, o->committed.err);
        else
            commit_queue_put(&rest, commit);
    }
    c->commits_running = rest;
}

/* What streams that have nothing to hand out end with. */
static void set_failure(zkc_consumer *c, enum zkc_err err)
{
    stream_hub_set_failure(c->hub, c->is_refused ? ZKC_ERR_ZOOKEEPER : err);
}

static void take_state(zkc_consumer *c, const struct group_output *o)
{
    /* Who has had streams keeps them: a later rebalance that is given up is told by on_error only,
     * as 0.8's executor thread logs it, and the next change may bring messages again. */
    bool never_joined = c->rebalances == c->rebalances_failed;
    c->is_settled = o->state.settled;
    c->was_registered = c->was_registered || o->state.registered;
    c->gave_up = o->state.gave_up;
    set_failure(c, c->gave_up && never_joined ? ZKC_ERR_REBALANCE : ZKC_OK);
    consumer_check_waiters(c);
}

static void rebalance_ended(zkc_consumer *c, const struct group_output *o)
{
    c->rebalances++;
    c->rebalances_failed += !o->rebalance_end.ok;
    if (o->rebalance_end.ok && c->gave_up) {
        c->gave_up = false;
        set_failure(c, ZKC_OK);
    }
}

static void carry_out(zkc_consumer *c, const struct group_output *o)
{
    switch (o->type) {
    case GROUP_OUT_OP: send_op(c, o); break;
    case GROUP_OUT_STOP: stop(c, o->stop); break;
    case GROUP_OUT_POSITIONS: c->positions_due = true; break;
    case GROUP_OUT_ASSIGN: assign(c, o); break;
    case GROUP_OUT_METADATA:
        fetching_ask(c->fetching, o->metadata.seq, o->metadata.host, o->metadata.port,
                     o->metadata.topics, o->metadata.topic_count, on_metadata, c);
        break;
    case GROUP_OUT_LEADERS:
        member_safe_start(c); /* what is to be fetched must be held */
        fetching_leaders(c->fetching, o->leaders.list, o->leaders.count);
        break;
    case GROUP_OUT_OFFSETS_ASK: offset_channel_ask(c->offsets, o); break;
    case GROUP_OUT_OFFSETS_HANG_UP: offset_channel_hang_up(c->offsets); break;
    case GROUP_OUT_OFFSETS_STORED: c->kafka_commits += o->offsets.count; break;
    case GROUP_OUT_COMMIT: c->zookeeper_commits += o->offset.zk_rc == ZK_OK; break;
    case GROUP_OUT_COMMIT_QUEUED: commit_queued(c, o); break;
    case GROUP_OUT_COMMITTED: committed(c, o); break;
    case GROUP_OUT_CLOSE_SESSION: member_close_session(c); break;
    case GROUP_OUT_NOTICE: take_notice(c, o); break;
    case GROUP_OUT_STATE: take_state(c, o); break;
    case GROUP_OUT_REBALANCE_END: rebalance_ended(c, o); break;
    case GROUP_OUT_REBALANCE_BEGIN:
    case GROUP_OUT_TRIGGER:
    case GROUP_OUT_TRY_BEGIN:
    case GROUP_OUT_VIEW:
    case GROUP_OUT_DECIDE:
    case GROUP_OUT_CLAIM:
    case GROUP_OUT_RELEASE:
    case GROUP_OUT_OFFSET_READ:
    case GROUP_OUT_OFFSETS_READ:
    case GROUP_OUT_TRY_END:
    case GROUP_OUT_BACKOFF: break; /* the trace and the tally have them */
    case GROUP_OUT_LEASE: take_lease(c, o); break;
    case GROUP_OUT_OPEN_SESSION:
    case GROUP_OUT_FETCH_START:
    case GROUP_OUT_FETCH_STOP:
    case GROUP_OUT_VOID:
    case GROUP_OUT_WAITING:
    case GROUP_OUT_EVICTED:
    case GROUP_OUT_DELETED:
    case GROUP_OUT_RETURNED:
    case GROUP_OUT_GAVE_UP:
    case GROUP_OUT_FOREIGN: break; /* member_safe_carry_out() */
    }
}

/* ---- the session ---- */

static void say_timeout(zkc_consumer *c, int32_t granted_ms)
{
    char text[512];
    if (granted_ms == c->view.zookeeper_session_timeout_ms)
        return;
    log_line(c->log, 4, LOG_FACILITY_ZK,
             "the server granted a session timeout of %d ms; %d were asked for "
             "(zookeeper.session.timeout.ms; the server's minSessionTimeout and maxSessionTimeout)",
             granted_ms, c->view.zookeeper_session_timeout_ms);
    if (c->view.mode == CONF_MODE_COMPAT &&
        conf_retries_too_short(&c->view, granted_ms, text, sizeof text))
        log_line(c->log, 4, LOG_FACILITY_CONF, "%s", text);
}

static void connected(zkc_consumer *c, const struct zk_session_event *event)
{
    log_line(c->log, 6, LOG_FACILITY_ZK, "connected to %s, session 0x%llx%s, timeout %d ms",
             event->server, (unsigned long long)event->session_id, event->is_new ? " (new)" : "",
             event->timeout_ms);
    if (c->suspended_ms)
        log_line(c->log, 5, LOG_FACILITY_ZK, "ZooKeeper is back after %lld ms, %s",
                 (long long)(loop_now_ms() - c->suspended_ms),
                 event->is_new ? "with a new session" : "and the session goes on");
    c->suspended_ms = 0;
    tracing_session(c->tracing, event->is_new ? "open" : "connected", event->session_id,
                    event->server);
    if (!c->was_connected)
        say_timeout(c, event->timeout_ms);
    c->was_connected = true;
    c->granted_ms = event->timeout_ms;
    c->connect_sent_ms = event->connect_sent_ms;
    event_del(c->connect_timer);
    consumer_check_waiters(c);
    if (event->is_new)
        member_safe_connected(c, event->session_id);
    struct group_input in = {.type = GROUP_IN_CONNECTED,
                             .connected = {.session_id = event->session_id,
                                           .timeout_ms = event->timeout_ms,
                                           .is_new = event->is_new,
                                           .connect_sent_ms = event->connect_sent_ms}};
    member_feed(c, &in);
}

static void expired(zkc_consumer *c, const struct zk_session_event *event)
{
    c->expirations++;
    member_lease_over(c);
    tally_session_over(c->tally, loop_now_ms() * 1000);
    member_safe_session_over(c);
    if (watch_sessions_of(c))
        watch_sessions_own_is_over(watch_sessions_of(c));
    tracing_session(c->tracing, "expired", event->session_id, NULL);
    consumer_error(c, ZKC_ERR_ZOOKEEPER,
                   "the ZooKeeper session 0x%llx has expired: registration and ownership are gone; "
                   "registering again. %s",
                   (unsigned long long)event->session_id,
                   c->safe || c->view.fence != CONF_FENCE_NONE
                       ? "What was not committed will be delivered again"
                       : "What is delivered until the rebalance may be delivered by others "
                         "too");
    struct group_input in = {.type = GROUP_IN_EXPIRED};
    feed(c, &in);
    if (c->safe) /* whatever of it is out does not count any more */
        fetching_void(c->fetching, 0, NULL);
    member_drain(c);
}

/* Servers take a session on before they look at its credentials: it was CONNECTED before. */
static void refused(zkc_consumer *c, const struct zk_session_event *event)
{
    log_cause(c->log, 3, LOG_FACILITY_ZK, "refused", "%s", event->text);
    consumer_error(c, ZKC_ERR_ZOOKEEPER, "%s", event->text);
    c->is_refused = true;
    event_del(c->connect_timer);
    set_failure(c, ZKC_OK);
    consumer_check_waiters(c);
}

static void on_event(const struct zk_session_event *event, void *user)
{
    zkc_consumer *c = user;
    if (is_over(c))
        return;
    struct group_input in = {.type = GROUP_IN_DISCONNECTED};
    switch (event->type) {
    case ZK_SESSION_EVENT_CONNECTED: connected(c, event); break;
    case ZK_SESSION_EVENT_SUSPENDED:
        c->suspended_ms = c->suspended_ms ? c->suspended_ms : loop_now_ms();
        log_line(c->log, 5, LOG_FACILITY_ZK,
                 "connection to ZooKeeper lost; messages %s, claims and commits wait",
                 c->view.fence == CONF_FENCE_LEASE  ? "flow until the lease ends"
                 : c->view.fence == CONF_FENCE_NONE ? "flow on"
                                                    : "wait");
        tracing_session(c->tracing, "disconnected", event->session_id, NULL);
        member_feed(c, &in);
        break;
    case ZK_SESSION_EVENT_EXPIRED: expired(c, event); break;
    case ZK_SESSION_EVENT_AUTH_FAILED: refused(c, event); break;
    case ZK_SESSION_EVENT_UNREACHABLE:
        log_cause(c->log, 3, LOG_FACILITY_ZK, "unreachable", "%s", event->text);
        if (event->is_news)
            consumer_error(c, ZKC_ERR_UNREACHABLE, "%s", event->text);
        break;
    }
}

void member_watch(const struct zk_watch_event *event, void *consumer)
{
    zkc_consumer *c = consumer;
    if (is_over(c))
        return;
    tracing_watch(c->tracing, event);
    tally_watch(c->tally, event->type);
    struct group_input in = {.type = GROUP_IN_WATCH, .watch = *event};
    member_feed(c, &in);
}

static void on_watch(const struct zk_watch_event *event, void *user)
{
    zkc_consumer *c = user;
    if (watch_sessions_of(c))
        watch_sessions_fired(watch_sessions_of(c), event);
    member_watch(event, c);
}

void member_session_log(int level, const char *cause, const char *text, void *user)
{
    zkc_consumer *c = user;
    log_cause(c->log, level, LOG_FACILITY_ZK, cause, "%s", text);
}

static void on_connect_timeout(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    zkc_consumer *c = arg;
    c->wait_err = ZKC_ERR_UNREACHABLE;
    consumer_error(c, ZKC_ERR_UNREACHABLE,
                   "no connection to ZooKeeper at %s within zookeeper.connection.timeout.ms = %d; "
                   "attempts go on",
                   c->view.zookeeper_connect, c->view.zookeeper_connection_timeout_ms);
    consumer_check_waiters(c);
}

enum zkc_err member_reopen(zkc_consumer *c)
{
    char *private_path = c->view.acl_creator && c->group ? zk_path_group(c->group) : NULL;
    struct zk_session_config config = {
        .base = loop_base(c->loop),
        .resolver = loop_resolver(c->loop),
        .connect = c->view.zookeeper_connect,
        .auth = c->view.zookeeper_auth,
        .private_path = private_path,
        .session_timeout_ms = c->view.zookeeper_session_timeout_ms,
        .packet_bytes = (size_t)c->view.jute_maxbuffer,
        .seed = rng_next(&c->rng),
        .on_event = on_event,
        .on_watch = on_watch,
        .on_log = member_session_log,
        .user = c,
    };
    bool is_out_of_memory = c->view.acl_creator && c->group && !private_path;
    c->session_number++;
    c->session = config.resolver && !is_out_of_memory ? zk_session_new(&config) : NULL;
    free(private_path);
    return c->session ? ZKC_OK : ZKC_ERR_NOMEM;
}

enum zkc_err member_open(zkc_consumer *c)
{
    struct event_base *base = loop_base(c->loop);
    c->dial = (struct dial){.base = base, .resolver = loop_resolver(c->loop), .conf = &c->view};
    rng_init(&c->dial.rng, rng_next(&c->rng));
    if (c->view.offsets_in_kafka && !(c->offsets = offset_channel_new(&c->dial, on_offsets, c)))
        return ZKC_ERR_NOMEM;
    c->timer = evtimer_new(base, on_timer, c);
    c->connect_timer = evtimer_new(base, on_connect_timeout, c);
    if (!c->timer || !c->connect_timer || member_reopen(c))
        return ZKC_ERR_NOMEM;
    int ms = c->view.zookeeper_connection_timeout_ms;
    struct timeval tv = {ms / 1000, (ms % 1000) * 1000};
    event_add(c->connect_timer, &tv);
    return ZKC_OK;
}

static void on_session_closed(bool is_released, void *user)
{
    zkc_consumer *c = user;
    c->session = NULL;
    c->was_released = is_released;
    if (is_over(c))
        consumer_finish(c, is_released);
    else
        member_safe_session_closed(c);
}

/* Of an evicted member: the consumer goes on without a session. */
void member_close_evicted(zkc_consumer *c)
{
    c->session_number++;
    if (watch_sessions_of(c))
        watch_sessions_rest(watch_sessions_of(c));
    tracing_session(c->tracing, "close", zk_session_id(c->session), NULL);
    zk_session_close(c->session, c->view.zookeeper_session_timeout_ms, on_session_closed, c);
}

void member_close_session(zkc_consumer *c)
{
    if (is_over(c))
        return;
    c->state = CONSUMER_SESSION;
    member_safe_session_over(c);
    if (watch_sessions_of(c))
        watch_sessions_rest(watch_sessions_of(c));
    if (!c->session) { /* an evicted member's, closed already */
        consumer_finish(c, c->was_released);
        return;
    }
    if (c->safe_parts.is_evicting) /* it is being closed */
        return;
    tracing_session(c->tracing, "close", zk_session_id(c->session), NULL);
    int64_t left_ms = c->close_at_ms - loop_now_ms();
    zk_session_close(c->session, left_ms > 1 ? left_ms : 1, on_session_closed, c);
}

void member_free(zkc_consumer *c)
{
    if (c->state < CONSUMER_SESSION)
        c->state = CONSUMER_SESSION; /* operations under way are answered now: to nobody */
    zk_session_free(c->session);
    c->session = NULL;
    member_lease_over(c);
    offset_channel_free(c->offsets);
    c->offsets = NULL;
    if (c->timer)
        event_free(c->timer);
    if (c->connect_timer)
        event_free(c->connect_timer);
    c->timer = c->connect_timer = NULL;
    zk_compat_free(c->compat);
    gate_lease_unref(c->fence);
    c->fence = NULL;
    member_safe_free(c);
    reader_free(c->reader);
    c->compat = NULL;
    c->reader = NULL;
    free(c->stopped);
    c->stopped = NULL;
}

/* ---- joining ---- */

/* The machine begins when there is a connection: tell it that there is one. */
static void begin(zkc_consumer *c)
{
    c->state = CONSUMER_JOINED;
    if (zk_session_is_connected(c->session)) {
        struct group_input in = {.type = GROUP_IN_CONNECTED,
                                 .connected = {.session_id = zk_session_id(c->session),
                                               .timeout_ms = c->granted_ms,
                                               .is_new = true,
                                               .connect_sent_ms = c->connect_sent_ms}};
        feed(c, &in);
    }
    member_drain(c);
}

/* 0: they differ. */
static int32_t streams_of_each(const struct zkc_subscription *list, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (list[i].streams != list[0].streams)
            return 0;
    return count ? list[0].streams : 0;
}

enum commit_store member_store(const zkc_consumer *c)
{
    return !c->view.offsets_in_kafka ? COMMIT_TO_ZOOKEEPER
           : c->view.offsets_in_both ? COMMIT_TO_BOTH
                                     : COMMIT_TO_KAFKA;
}

/* `list`: fixed topics, or one: a filter's expression. */
static enum zkc_err new_machine(zkc_consumer *c, const struct zk_subscription *list, size_t count,
                                enum zk_pattern pattern)
{
    static const enum zk_variant variants[] = {[CONF_VARIANT_08] = ZK_VARIANT_0_8,
                                               [CONF_VARIANT_07] = ZK_VARIANT_0_7,
                                               [CONF_VARIANT_DOCUMENTED] = ZK_VARIANT_DOCUMENTED};
    static const enum assign_strategy strategies[] = {
        [CONF_STRATEGY_CEIL] = ASSIGN_CEIL,
        [CONF_STRATEGY_RANGE] = ASSIGN_RANGE,
        [CONF_STRATEGY_RENDEZVOUS] = ASSIGN_RENDEZVOUS,
        [CONF_STRATEGY_ROUNDROBIN] = ASSIGN_ROUNDROBIN};
    if (c->view.mode == CONF_MODE_SAFE)
        return member_safe_new(c, list, count, pattern);
    struct zk_compat_config config = {
        .offsets_in = member_store(c),
        .offsets_channel_backoff_ms = c->view.offsets_channel_backoff_ms,
        .offsets_channel_timeout_ms = c->view.offsets_channel_timeout_ms,
        .offsets_commit_retries = (uint32_t)c->view.offsets_commit_retries_max,
        .group = c->group,
        .consumer_id = c->id,
        .subscriptions = list,
        .subscription_count = count,
        .pattern = pattern,
        .variant = variants[c->view.variant],
        .strategy = strategies[c->view.strategy],
        .watch_brokers = c->view.watch_brokers,
        .switches = conf_switches(&c->view),
        .exclude_internal_topics = c->view.exclude_internal_topics,
        .auto_commit = c->view.auto_commit,
        .auto_commit_interval_ms = c->view.auto_commit_interval_ms,
        .session_timeout_ms = c->view.zookeeper_session_timeout_ms,
        .rebalance_backoff_ms = c->view.rebalance_backoff_ms,
        .rebalance_attempts_max = (uint32_t)c->view.rebalance_retries_max,
        .refresh_leader_backoff_ms = c->view.refresh_leader_backoff_ms,
        .seed = rng_next(&c->rng),
    };
    return zk_compat_new(&config, loop_now_ms(), &c->compat);
}

enum zkc_err member_subscribe(zkc_consumer *c, const struct zkc_subscription *list, size_t count)
{
    struct zk_subscription *subscriptions = calloc(count + 1, sizeof *subscriptions);
    const char **topics = calloc(count + 1, sizeof *topics);
    bool ok = subscriptions && topics;
    for (size_t i = 0; ok && i < count; i++) {
        topics[i] = list[i].topic;
        subscriptions[i] =
            (struct zk_subscription){(char *)(uintptr_t)list[i].topic, list[i].streams};
        for (int32_t k = 0; ok && k < list[i].streams; k++)
            ok = stream_new(c->hub, list[i].topic, k) != NULL;
    }
    enum zkc_err err = ok ? new_machine(c, subscriptions, count, ZK_PATTERN_STATIC) : ZKC_ERR_NOMEM;
    if (!err) {
        tracing_start(c->tracing, topics, count, streams_of_each(list, count));
        begin(c);
    }
    free(subscriptions);
    free(topics);
    return err;
}

/* Whether Java would read the expression as it is read here; says why not. */
static enum zkc_err check_filter(zkc_consumer *c, enum zk_pattern pattern, const char *topics)
{
    struct zk_filter *filter;
    struct why why;
    enum zkc_err err =
        zk_filter_new(pattern, topics, c->view.exclude_internal_topics, &filter, &why);
    if (!err)
        zk_filter_free(filter);
    else if (err != ZKC_ERR_NOMEM)
        log_line(c->log, 3, LOG_FACILITY_MEMBER, "%s", why.text);
    return err && err != ZKC_ERR_NOMEM ? ZKC_ERR_INVALID : err;
}

enum zkc_err member_subscribe_filter(zkc_consumer *c, const struct zkc_filter *filter)
{
    enum zk_pattern pattern =
        filter->kind == ZKC_FILTER_WHITELIST ? ZK_PATTERN_WHITE_LIST : ZK_PATTERN_BLACK_LIST;
    struct zk_subscription subscription = {(char *)(uintptr_t)filter->topics, filter->streams};
    enum zkc_err err = check_filter(c, pattern, filter->topics);
    if (err)
        return err;
    stream_hub_share(c->hub);
    for (int32_t k = 0; !err && k < filter->streams; k++)
        err = stream_new(c->hub, filter->topics, k) ? ZKC_OK : ZKC_ERR_NOMEM;
    if (!err)
        err = new_machine(c, &subscription, 1, pattern);
    if (err)
        return err;
    tracing_start(c->tracing, &filter->topics, 1, filter->streams);
    begin(c);
    return ZKC_OK;
}

enum zkc_err member_assign(zkc_consumer *c, const struct zkc_position *list, size_t count)
{
    struct reader_partition *partitions = calloc(count + 1, sizeof *partitions);
    const char **topics = calloc(count + 1, sizeof *topics);
    bool ok = partitions && topics;
    size_t topic_count = 0;
    for (size_t i = 0; ok && i < count; i++) {
        partitions[i] = (struct reader_partition){
            .topic = list[i].topic,
            .partition = list[i].partition,
            .offset = list[i].offset == ZKC_OFFSET_END ? FETCHING_END : list[i].offset,
            .wants_stored = list[i].offset == ZKC_OFFSET_STORED};
        if (stream_find(c->hub, list[i].topic, 0))
            continue;
        topics[topic_count++] = list[i].topic;
        ok = stream_new(c->hub, list[i].topic, 0) != NULL;
    }
    struct reader_config config = {
        .group = c->group,
        .partitions = partitions,
        .partition_count = count,
        .refresh_leader_backoff_ms = c->view.refresh_leader_backoff_ms,
        .offsets_in = member_store(c),
        .offsets_channel_backoff_ms = c->view.offsets_channel_backoff_ms,
        .offsets_channel_timeout_ms = c->view.offsets_channel_timeout_ms,
        .seed = rng_next(&c->rng),
    };
    enum zkc_err err = ok ? reader_new(&config, &c->reader) : ZKC_ERR_NOMEM;
    if (!err) {
        tracing_start(c->tracing, topics, topic_count, 0);
        begin(c);
    }
    free(partitions);
    free(topics);
    return err;
}

const char *member_trouble(const zkc_consumer *c)
{
    if (!c->session || !zk_session_is_connected(c->session))
        return "disconnected";
    if (c->gave_up)
        return "gave-up";
    if (c->safe && zk_safe_counts(c->safe).overdue)
        return "held-by-others";
    if (c->safe_parts.awaits_poll)
        return "evicted";
    return member_safe_watches(c).is_short ? "unwatched" : NULL;
}

const char *member_state_name(const zkc_consumer *c)
{
    if (c->compat)
        return zk_compat_state_name(c->compat);
    if (c->safe)
        return zk_safe_state_name(c->safe);
    return c->reader ? reader_state_name(c->reader) : "new";
}
