/* A member's process: what consumer/member.c is around the same machine in production. Callback ->
 * input -> step -> outputs carried out -> timer; no rule of the protocol is here. */
#include "study/sim/world.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WALL_MS      1424990000000ll /* at time 0 */
#define LATE_STOP_NS (300 * SIM_MS)  /* of the planted bug */
#define NO_TOKEN     UINT64_MAX

/* ---- its clock ---- */

static uint64_t to_local(const struct member *m, uint64_t t_ns)
{
    int64_t ppm = m->plan.config.clock_ppm;
    return ppm ? t_ns + (uint64_t)((int64_t)t_ns / 1000000 * ppm) : t_ns;
}

uint64_t member_local_ns(const struct member *m)
{
    return to_local(m, world_now(m->world));
}

/* The first time of the world at which the member's clock shows it, or more. The clock gains ppm
 * nanoseconds at the end of each millisecond: within millisecond k it shows k * pace and so many
 * nanoseconds more as have passed of it. */
static uint64_t to_world(const struct member *m, uint64_t local_ns)
{
    int64_t ppm = m->plan.config.clock_ppm;
    if (!ppm || local_ns >= INT64_MAX)
        return local_ns;
    uint64_t pace = (uint64_t)(1000000 + ppm), k, last = 999999;
    if (ppm > 0)
        k = local_ns / pace;
    else
        k = local_ns > last ? (local_ns - last + pace - 1) / pace : 0;
    uint64_t begin = k * pace, into = local_ns > begin ? local_ns - begin : 0;
    return k * 1000000 + (into > last ? 1000000 : into);
}

uint64_t member_lease_end_ns(const struct member *m)
{
    if (!m->has_lease || m->lease_end_ms == INT64_MAX)
        return SIM_NEVER;
    return m->lease_end_ms <= 0 ? 0 : to_world(m, (uint64_t)m->lease_end_ms * SIM_MS);
}

void member_arm(struct member *m)
{
    uint64_t at = SIM_NEVER, other;
    if (m->life == MEMBER_DOWN)
        return;
    at = to_world(m, zk_client_deadline_ns(&m->zk));
    other = to_world(m, watches_deadline_ns(m->watches));
    at = other < at ? other : at;
    if (m->life == MEMBER_RUNS) {
        int64_t ms = machine_deadline_ms(m);
        if (ms != INT64_MAX) {
            other = to_world(m, ms > 0 ? (uint64_t)ms * SIM_MS : 0);
            at = other < at ? other : at;
        }
        other = app_deadline_ns(m);
        at = other < at ? other : at;
        other = channel_deadline_ns(m);
        at = other < at ? other : at;
        at = m->stop_at_ns < at ? m->stop_at_ns : at;
    }
    timer_arm(&m->timer, at);
}

/* ---- the trace of what the machine says ---- */

static struct trace_event event_of(const struct member *m, enum trace_type type)
{
    return tracer_event(&m->world->tracer, type, m->node.name);
}

static void tell(struct member *m, struct trace_event *e)
{
    tracer_emit(&m->world->tracer, &m->source, e);
}

static struct topic_partition *partitions_room(struct sim *w, size_t count)
{
    if (count > w->partitions_cap) {
        w->partitions_cap = count * 2;
        w->partitions =
            pool_resize(&w->pool, w->partitions, w->partitions_cap * sizeof *w->partitions);
    }
    return w->partitions;
}

static const char **texts_room(struct sim *w, size_t count)
{
    if (count > w->texts_cap) {
        w->texts_cap = count * 2;
        w->texts = pool_resize(&w->pool, w->texts, w->texts_cap * sizeof(char *));
    }
    return w->texts;
}

/* True the first time. */
static bool is_new_view(struct sim *w, uint64_t hash)
{
    hash |= hash == 0;
    if (w->view_count * 2 >= w->view_cap) {
        size_t cap = w->view_cap ? w->view_cap * 2 : 256;
        uint64_t *views = pool_take(&w->pool, cap * sizeof *views);
        for (size_t i = 0; i < w->view_cap; i++)
            if (w->views[i]) {
                size_t k = w->views[i] & (cap - 1);
                while (views[k])
                    k = (k + 1) & (cap - 1);
                views[k] = w->views[i];
            }
        pool_give(&w->pool, w->views);
        w->views = views;
        w->view_cap = cap;
    }
    size_t k = hash & (w->view_cap - 1);
    while (w->views[k] && w->views[k] != hash)
        k = (k + 1) & (w->view_cap - 1);
    if (w->views[k] == hash)
        return false;
    w->views[k] = hash;
    w->view_count++;
    return true;
}

static void tell_view(struct member *m, const struct group_output *o)
{
    struct sim *w = m->world;
    struct trace_event e = event_of(m, TRACE_VIEW);
    e.view.rb = o->view.rebalance;
    e.view.i = o->view.attempt;
    e.view.hash = o->view.hash;
    e.view.zxid_first = m->attempt.zxid_first;
    e.view.zxid_last = m->attempt.zxid_last;
    e.view.member_count = o->view.member_count;
    for (size_t i = 0; i < o->view.topic_count; i++)
        e.view.partition_count += o->view.topics[i].count;
    m->view_hash = o->view.hash;
    m->view_members = o->view.member_count;
    m->view_partitions = e.view.partition_count;
    if (is_new_view(w, o->view.hash)) {
        const char **members = texts_room(w, o->view.member_count + 1);
        struct topic_partition *ps = partitions_room(w, e.view.partition_count + 1);
        size_t n = 0;
        for (size_t i = 0; i < o->view.member_count; i++)
            members[i] = o->view.members[i].consumer_id;
        for (size_t i = 0; i < o->view.topic_count; i++)
            for (size_t k = 0; k < o->view.topics[i].count; k++)
                ps[n++] = (struct topic_partition){o->view.topics[i].topic,
                                                   o->view.topics[i].partitions[k]};
        e.view.members = members;
        e.view.partitions = ps;
    }
    tell(m, &e);
}

static void tell_decide(struct member *m, const struct group_output *o)
{
    struct trace_event e = event_of(m, TRACE_DECIDE);
    struct topic_partition *ps = partitions_room(m->world, o->decide.count + 1);
    for (size_t i = 0; i < o->decide.count; i++)
        ps[i] = (struct topic_partition){o->decide.claims[i].topic, o->decide.claims[i].partition};
    e.decide.rb = m->attempt.rb;
    e.decide.i = m->attempt.i;
    e.decide.want = ps;
    e.decide.count = o->decide.count;
    tell(m, &e);
}

static const char *rc_text(int zk_rc)
{
    return zk_rc == ZK_OK ? "ok" : zk_rc_name(zk_rc);
}

static void tell_claim(struct member *m, const struct group_output *o)
{
    struct trace_event e = event_of(m, TRACE_CLAIM);
    m->attempt.has_claimed = true;
    e.claim.rb = m->attempt.rb;
    e.claim.i = m->attempt.i;
    e.claim.p = (struct topic_partition){o->claim.topic, o->claim.partition};
    e.claim.rc = o->claim.zk_rc == ZK_OK            ? "ok"
                 : o->claim.zk_rc == ZK_NODE_EXISTS ? "exists"
                                                    : "error";
    e.claim.holder = o->claim.holder;
    tell(m, &e);
}

static void tell_release(struct member *m, const struct group_output *o)
{
    struct trace_event e = event_of(m, TRACE_RELEASE);
    e.release.rb = m->attempt.rb;
    e.release.i = m->attempt.i;
    e.release.p = (struct topic_partition){o->release.topic, o->release.partition};
    e.release.rc = rc_text(o->release.zk_rc);
    e.release.foreign = o->release.zk_rc == ZK_OK && m->has_deleted_foreign;
    tell(m, &e);
}

static void tell_offset(struct member *m, const struct group_output *o)
{
    bool is_commit = o->type == GROUP_OUT_COMMIT;
    struct trace_event e = event_of(m, is_commit ? TRACE_COMMIT : TRACE_OFFSET_READ);
    e.offset.p = (struct topic_partition){o->offset.topic, o->offset.partition};
    e.offset.offset = o->offset.offset;
    e.offset.previous = is_commit ? o->offset.previous : -1;
    e.offset.rc = rc_text(o->offset.zk_rc);
    e.offset.zxid = m->zk.zxid;
    tell(m, &e);
}

/* What Kafka keeps, or what became of a commit to it. */
static void tell_stored(struct member *m, const struct group_output *o)
{
    bool is_commit = o->type == GROUP_OUT_OFFSETS_STORED;
    for (size_t i = 0; i < o->offsets.count; i++) {
        const struct group_offset *at = &o->offsets.list[i];
        struct trace_event e = event_of(m, is_commit ? TRACE_COMMIT : TRACE_OFFSET_READ);
        e.offset.p = (struct topic_partition){at->topic, at->partition};
        e.offset.offset = at->offset;
        e.offset.previous = -1;
        e.offset.rc = at->kafka_error ? kafka_error_name(at->kafka_error) : "ok";
        tell(m, &e);
    }
}

static void tell_try_end(struct member *m, const struct group_output *o)
{
    struct attempt_trace *a = &m->attempt;
    struct trace_event e = event_of(m, TRACE_RB_TRY_END);
    a->is_open = false;
    if (o->try_end.ok) {
        m->good_view_hash = m->view_hash;
        m->good_view_members = m->view_members;
        m->good_view_partitions = m->view_partitions;
    }
    e.rb_try_end.rb = o->try_end.rebalance;
    e.rb_try_end.i = o->try_end.attempt;
    e.rb_try_end.ok = o->try_end.ok;
    e.rb_try_end.why = o->try_end.why;
    memcpy(e.rb_try_end.ops, a->ops, sizeof a->ops);
    e.rb_try_end.bytes_in = a->bytes_in;
    e.rb_try_end.bytes_out = a->bytes_out;
    e.rb_try_end.read_ns = a->read_ns;
    e.rb_try_end.stop_ns = a->stop_ns;
    e.rb_try_end.commit_ns = a->commit_ns;
    e.rb_try_end.release_ns = a->release_ns;
    e.rb_try_end.claim_ns = a->claim_ns;
    tell(m, &e);
}

static void tell_rebalance_end(struct member *m, const struct group_output *o)
{
    struct trace_event e = event_of(m, TRACE_RB_END);
    m->is_rebalancing = false;
    m->counts.gave_up += o->rebalance_end.gave_up;
    e.rb_end.rb = o->rebalance_end.rebalance;
    e.rb_end.tries = o->rebalance_end.attempts;
    e.rb_end.ok = o->rebalance_end.ok;
    e.rb_end.gave_up = e.rb_end.told_app = o->rebalance_end.gave_up;
    tell(m, &e);
}

static void tell_output(struct member *m, const struct group_output *o)
{
    struct trace_event e;
    switch (o->type) {
    case GROUP_OUT_TRIGGER:
        e = event_of(m, TRACE_RB_TRIGGER);
        e.rb_trigger.why = o->trigger;
        tell(m, &e);
        break;
    case GROUP_OUT_REBALANCE_BEGIN:
        m->is_rebalancing = true;
        m->counts.rebalances++;
        e = event_of(m, TRACE_RB_BEGIN);
        e.rb_begin.rb = o->rebalance_begin.rebalance;
        tell(m, &e);
        break;
    case GROUP_OUT_TRY_BEGIN:
        m->counts.attempts++;
        m->attempt = (struct attempt_trace){
            .is_open = true, .rb = o->try_begin.rebalance, .i = o->try_begin.attempt};
        e = event_of(m, TRACE_RB_TRY);
        e.rb_try.rb = o->try_begin.rebalance;
        e.rb_try.i = o->try_begin.attempt;
        tell(m, &e);
        break;
    case GROUP_OUT_VIEW: tell_view(m, o); break;
    case GROUP_OUT_DECIDE: tell_decide(m, o); break;
    case GROUP_OUT_CLAIM: tell_claim(m, o); break;
    case GROUP_OUT_RELEASE: tell_release(m, o); break;
    case GROUP_OUT_OFFSET_READ:
    case GROUP_OUT_COMMIT: tell_offset(m, o); break;
    case GROUP_OUT_OFFSETS_READ:
    case GROUP_OUT_OFFSETS_STORED: tell_stored(m, o); break;
    case GROUP_OUT_TRY_END: tell_try_end(m, o); break;
    case GROUP_OUT_BACKOFF:
        e = event_of(m, TRACE_RB_BACKOFF);
        e.rb_backoff.rb = m->attempt.rb;
        e.rb_backoff.i = m->attempt.i;
        e.rb_backoff.ns = (uint64_t)o->backoff_ms * SIM_MS;
        tell(m, &e);
        break;
    case GROUP_OUT_REBALANCE_END: tell_rebalance_end(m, o); break;
    default: break; /* to do, not to know */
    }
}

/* ---- operations ---- */

static enum trace_op trace_op_of(enum zk_do what)
{
    switch (what) {
    case ZK_DO_MULTI: return TRACE_OP_MULTI;
    case ZK_DO_SYNC: return TRACE_OP_SYNC;
    default: return (enum trace_op)what; /* the first six have the same order */
    }
}

enum zk_do member_do_of(enum zk_op_type type)
{
    static const enum zk_do dos[] = {
        [ZK_OP_CREATE] = ZK_DO_CREATE, [ZK_OP_DELETE] = ZK_DO_DELETE,
        [ZK_OP_EXISTS] = ZK_DO_EXISTS, [ZK_OP_GET] = ZK_DO_GET,
        [ZK_OP_SET] = ZK_DO_SET,       [ZK_OP_CHILDREN] = ZK_DO_CHILDREN,
        [ZK_OP_MULTI] = ZK_DO_MULTI,   [ZK_OP_SYNC] = ZK_DO_SYNC,
        [ZK_OP_CHECK] = ZK_DO_CHECK};
    return dos[type];
}

static void count_op(struct member *m, enum zk_do what, bool watch)
{
    bool is_read =
        what == ZK_DO_EXISTS || what == ZK_DO_GET || what == ZK_DO_CHILDREN || what == ZK_DO_SYNC;
    m->counts.reads += is_read;
    m->counts.writes += !is_read;
    m->counts.watches += watch;
    m->counts.ops[trace_op_of(what)]++;
}

static uint64_t token_of(enum group_lane lane, uint32_t seq)
{
    return (uint64_t)lane << 32 | seq;
}

bool world_forgets_watch(struct sim *w, struct watched *watched, uint32_t path)
{
    for (uint32_t i = 0; i < watched->count; i++)
        if (watched->paths[i] == path)
            return true;
    if (watched->count == watched->cap) {
        watched->cap = watched->cap ? watched->cap * 2 : 16;
        watched->paths =
            pool_resize(&w->pool, watched->paths, watched->cap * sizeof *watched->paths);
    }
    watched->paths[watched->count++] = path;
    return false;
}

/* A planted bug: one partition more than is owned. */
static void delete_the_next(struct member *m, const struct zk_path *path)
{
    char text[512], topic[TOPIC_NAME_MAX + 1];
    snprintf(topic, sizeof topic, "%.*s", (int)path->info.topic_len, path->info.topic);
    snprintf(text, sizeof text, "/consumers/%s/owners/%s/%d", m->world->group, topic,
             path->info.partition + 1);
    struct zk_write w = {.what = ZK_DO_DELETE,
                         .path = zk_paths_id(&m->world->zk.paths, text),
                         .version = ZK_ANY_VERSION};
    zk_client_send(&m->zk, ZK_DO_DELETE, &w, false, NULL, 0, NO_TOKEN, member_local_ns(m));
}

static void feed(struct member *m, struct group_input *in);

struct undo_answer {
    uint64_t token;
};

/* A planted bug: an undone claim is answered, and stays. */
static void answer_undone(void *self, void *arg)
{
    struct member *m = self;
    struct undo_answer *u = arg;
    struct zk_result result = {.zk_rc = ZK_OK};
    struct group_input in = {
        .type = GROUP_IN_RESULT,
        .result = {(enum group_lane)(u->token >> 32), (uint32_t)u->token, &result}};
    pool_give(&m->world->pool, u);
    if (m->life != MEMBER_RUNS)
        return;
    feed(m, &in);
    member_kick(m);
}

static bool keeps_claim(struct member *m, enum zk_do what, const struct zk_path *path,
                        uint64_t token)
{
    struct sim *w = m->world;
    if (!(w->config.bugs & SIM_BUG_KEEP_CLAIM) || what != ZK_DO_DELETE ||
        path->info.class_of != TRACE_CLASS_OWNER || !m->attempt.has_claimed)
        return false;
    struct undo_answer *u = pool_take(&w->pool, sizeof *u);
    u->token = token;
    node_later(&m->node, world_now(w) + SIM_MS, answer_undone, u);
    return true;
}

static struct zk_write write_of(struct sim *w, const struct zk_op *op)
{
    return (struct zk_write){
        .what = member_do_of(op->type),
        .path = zk_paths_id(&w->zk.paths, zk_op_path(op)),
        .data = op->data.data ? value_new(&w->pool, op->data.data, op->data.len) : NULL,
        .version = op->version,
        .ephemeral = op->ephemeral};
}

static struct zk_write *parts_of(struct sim *w, const struct zk_op *op)
{
    struct zk_write *parts = pool_take(&w->pool, op->part_count * sizeof *parts);
    for (size_t i = 0; i < op->part_count; i++)
        parts[i] = write_of(w, &op->parts[i]);
    return parts;
}

static void keep_unsent(struct member *m, enum group_lane lane, uint32_t seq)
{
    if (m->unsent_count == m->unsent_cap) {
        m->unsent_cap = m->unsent_cap ? m->unsent_cap * 2 : 8;
        m->unsent = pool_resize(&m->world->pool, m->unsent, m->unsent_cap * sizeof *m->unsent);
    }
    m->unsent[m->unsent_count++] = (struct unsent){lane, seq};
}

static void send_op(struct member *m, const struct group_output *o)
{
    struct sim *w = m->world;
    const struct zk_op *op = &o->op.op;
    enum zk_do what = member_do_of(op->type);
    uint32_t id = zk_paths_id(&w->zk.paths, zk_op_path(op));
    const struct zk_path *path = zk_path_at(&w->zk.paths, id);
    uint64_t token = token_of(o->op.lane, o->op.seq);
    faults_point(w, m, point_of(what, path));
    if (keeps_claim(m, what, path, token))
        return;
    struct zk_write write = write_of(w, op);
    struct zk_write *parts = op->part_count ? parts_of(w, op) : NULL;
    bool watch = op->watch;
    struct zk_client *zk = watches_place(m->watches, &m->zk, op, token, &watch);
    zk->drops_watch =
        op->watch && w->config.bugs & SIM_BUG_WATCH_ONCE && world_forgets_watch(w, &m->watched, id);
    if (!zk_client_send(zk, what, &write, watch, parts, (uint32_t)op->part_count, token,
                        member_local_ns(m))) {
        keep_unsent(m, o->op.lane, o->op.seq);
        return;
    }
    count_op(m, what, watch);
    m->attempt.bytes_out += zk_op_bytes(op);
    if ((w->config.bugs & SIM_BUG_DELETE_FOREIGN) && what == ZK_DO_DELETE &&
        path->info.class_of == TRACE_CLASS_OWNER)
        delete_the_next(m, path);
}

static void count_in_attempt(struct member *m, const struct zk_pending *op, enum group_lane lane,
                             const struct zk_answer *a)
{
    struct attempt_trace *t = &m->attempt;
    uint64_t ns = world_now(m->world) - op->sent_ns;
    if (!t->is_open || (lane != GROUP_LANE_REBALANCE && lane != GROUP_LANE_COMMIT))
        return;
    t->ops[trace_op_of(op->what)]++;
    if (lane == GROUP_LANE_COMMIT)
        t->commit_ns += ns;
    else if (op->what == ZK_DO_DELETE)
        t->release_ns += ns;
    else if (op->what == ZK_DO_CREATE || op->what == ZK_DO_MULTI)
        t->claim_ns += ns;
    else
        t->read_ns += ns;
    if (!a)
        return;
    t->bytes_in += a->data ? a->data->len : 0;
    if (lane == GROUP_LANE_REBALANCE) {
        t->zxid_first = t->zxid_first ? t->zxid_first : a->zxid;
        t->zxid_last = a->zxid;
    }
}

struct trace_event world_op_event(struct sim *w, const char *who, const struct zk_pending *op,
                                  int zk_rc, const struct zk_answer *a)
{
    struct trace_event e = tracer_event(&w->tracer, TRACE_ZK_OP, who);
    e.zk_op.op = trace_op_of(op->what);
    e.zk_op.path = zk_path_at(&w->zk.paths, op->path)->text;
    e.zk_op.has_watch = op->watch;
    e.zk_op.zk_rc = zk_rc;
    e.zk_op.zxid = a ? a->zxid : 0;
    e.zk_op.latency_ns = world_now(w) - op->sent_ns;
    return e;
}

struct trace_event world_watch_event(struct sim *w, const char *who, int64_t zxid_seen,
                                     const struct zk_answer *a)
{
    struct trace_event e = tracer_event(&w->tracer, TRACE_ZK_WATCH, who);
    e.zk_watch.path = zk_path_at(&w->zk.paths, a->path)->text;
    e.zk_watch.type = zk_event_name(a->event);
    e.zk_watch.zxid_seen = zxid_seen;
    e.zk_watch.sent_ns = a->sent_ns;
    return e;
}

struct trace_event world_session_event(struct sim *w, const char *who, const char *what,
                                       uint64_t session, const char *server)
{
    struct trace_event e = tracer_event(&w->tracer, TRACE_ZK_SESSION, who);
    e.zk_session.what = what;
    e.zk_session.session = session;
    e.zk_session.server = server;
    return e;
}

struct trace_event world_state_event(struct sim *w, const char *who, const char *state,
                                     const char *server)
{
    struct trace_event e = tracer_event(&w->tracer, TRACE_ZK_STATE, who);
    e.zk_state.state = state;
    e.zk_state.server = server;
    return e;
}

static void tell_op(struct member *m, const struct zk_pending *op, int zk_rc,
                    const struct zk_answer *a)
{
    struct trace_event e = world_op_event(m->world, m->node.name, op, zk_rc, a);
    tell(m, &e);
}

static void feed_answer(void *self, uint64_t token, int zk_rc, const struct zk_answer *a)
{
    struct member *m = self;
    struct zk_result result = watches_answered(m->watches, token, zk_rc, a);
    struct group_input in = {.type = GROUP_IN_RESULT,
                             .result = {(enum group_lane)(token >> 32), (uint32_t)token, &result}};
    feed(m, &in);
    member_kick(m);
}

static void on_result(void *self, const struct zk_pending *op, int zk_rc, const struct zk_answer *a)
{
    struct member *m = self;
    tell_op(m, op, zk_rc, a);
    if (op->token == NO_TOKEN || m->life != MEMBER_RUNS)
        return;
    count_in_attempt(m, op, (enum group_lane)(op->token >> 32), a);
    feed_answer(m, op->token, zk_rc, a);
}

static void feed_watch(void *self, const struct zk_watch_event *event)
{
    struct member *m = self;
    struct group_input in = {.type = GROUP_IN_WATCH, .watch = *event};
    feed(m, &in);
    member_kick(m);
}

/* ---- further sessions for watches ---- */

static void lose_op(void *self, uint64_t token)
{
    keep_unsent(self, (enum group_lane)(token >> 32), (uint32_t)token);
}

static uint64_t clock_ns(const void *self)
{
    return member_local_ns(self);
}

static struct node *node_of(void *self, unsigned number)
{
    struct member *m = self;
    (void)number; /* all from the process's own */
    return &m->node;
}

static void start_watches(struct member *m)
{
    const struct sim_member_config *c = &m->plan.config;
    const struct watches_owner owner = {.world = m->world,
                                        .self = m,
                                        .name = m->node.name,
                                        .now_ns = clock_ns,
                                        .node = node_of,
                                        .answered = feed_answer,
                                        .fired = feed_watch,
                                        .lost = lose_op};
    const struct watches_config config = {.packet_bytes = c->is_safe ? c->watch_packet_bytes : 0,
                                          .sessions_max = c->watch_sessions_max,
                                          .turn_ns = c->watch_turn_ns,
                                          .chance = m->whole_id,
                                          .session_timeout_ms = (int32_t)c->session_timeout_ms};
    watches_start(&m->watches, &owner, &config);
}

/* ---- outputs ---- */

static void late_stop(void *self, void *arg)
{
    struct member *m = self;
    (void)arg;
    if (m->is_late_stop)
        app_stop(m, "release");
    m->is_late_stop = false;
    member_arm(m);
}

static void stop(struct member *m, enum group_stop_why why)
{
    struct sim *w = m->world;
    faults_point(w, m, SIM_POINT_STOP);
    m->attempt.stop_began_ns = world_now(w);
    if ((w->config.bugs & SIM_BUG_STOP_LATE) && why == GROUP_STOP_REBALANCE && m->held_count) {
        app_settle(m);
        app_keep_positions(m);
        m->is_late_stop = true;
        node_later(&m->node, world_now(w) + LATE_STOP_NS, late_stop, NULL);
    } else {
        m->is_late_stop = false;
        app_stop(m, why == GROUP_STOP_LOST ? "lost" : why == GROUP_STOP_LEAVE ? "exit" : "release");
    }
    if (m->stop_ns == 0)
        m->stop_due = true;
    else
        m->stop_at_ns = world_now(w) + m->stop_ns;
}

static void assign(struct member *m, const struct group_output *o)
{
    faults_point(m->world, m, SIM_POINT_ASSIGN);
    if (m->is_late_stop)
        late_stop(m, NULL);
    app_hold(m, o->assign.claims, o->assign.count);
}

static void tell_session(struct member *m, const char *what)
{
    const char *server = m->zk.server >= 0 ? m->zk.e->servers[m->zk.server].node.name : "";
    struct trace_event e = world_session_event(m->world, m->node.name, what, m->zk.session, server);
    tell(m, &e);
}

static void stop_one(struct member *m, const struct group_output *o)
{
    const char *why = o->fetch_stop.gate == GROUP_GATE_LOST ? "lost"
                      : m->is_reset                         ? "revoke"
                      : o->fetch_stop.is_restreamed         ? "restream"
                      : m->is_leaving || m->is_evicted      ? "exit"
                                                            : "release";
    faults_point(m->world, m, SIM_POINT_STOP);
    m->is_reset = false;
    app_close(m, o->fetch_stop.claim, why);
}

static void close_session(struct member *m)
{
    if (!m->safe)
        m->life = MEMBER_CLOSING;
    m->is_clean = true;
    watches_rest(m->watches);
    if (m->zk.session)
        tell_session(m, "close");
    zk_client_close(&m->zk, MEMBER_CLOSE_MS, member_local_ns(m));
}

static void take_lease(struct member *m, const struct group_output *o)
{
    app_settle(m); /* what was handed out so far was by the lease as it was */
    m->has_lease = true;
    m->lease_session = o->lease.session_id;
    m->lease_end_ms = o->lease.end_ms;
    app_tell_lease(m);
}

static void carry_out(struct member *m, const struct group_output *o)
{
    switch (o->type) {
    case GROUP_OUT_OP: send_op(m, o); break;
    case GROUP_OUT_STOP: stop(m, o->stop); break;
    case GROUP_OUT_POSITIONS: m->positions_due = true; break;
    case GROUP_OUT_ASSIGN: assign(m, o); break;
    case GROUP_OUT_LEASE: take_lease(m, o); break;
    case GROUP_OUT_METADATA:
        app_ask(m, o->metadata.seq, o->metadata.broker_id, o->metadata.topics,
                o->metadata.topic_count);
        break;
    case GROUP_OUT_OFFSETS_ASK: channel_ask(m, o); break;
    case GROUP_OUT_OFFSETS_HANG_UP: channel_hang_up(m); break;
    case GROUP_OUT_LEADERS: app_leaders(m, o->leaders.list, o->leaders.count); break;
    case GROUP_OUT_CLOSE_SESSION: close_session(m); break;
    case GROUP_OUT_OPEN_SESSION: m->open_due = true; break;
    case GROUP_OUT_FETCH_START:
        faults_point(m->world, m, SIM_POINT_ASSIGN);
        app_open(m, &o->fetch_start);
        if (o->fetch_start.leader_host) {
            const struct group_claim *c = &o->fetch_start;
            const struct group_leader leader = {c->topic, c->partition, c->leader_id,
                                                c->leader_host, c->leader_port};
            app_leaders(m, &leader, 1);
        }
        break;
    case GROUP_OUT_FETCH_STOP: stop_one(m, o); break;
    case GROUP_OUT_VOID: app_void(m, o->voided.claim); break;
    case GROUP_OUT_FOREIGN: m->is_reset = o->foreign.is_obeyed; break;
    case GROUP_OUT_EVICTED: m->is_evicted = true; break;
    case GROUP_OUT_STATE: m->is_settled = o->state.settled; break;
    case GROUP_OUT_TRY_BEGIN: faults_point(m->world, m, SIM_POINT_TRY); break;
    case GROUP_OUT_BACKOFF: faults_point(m->world, m, SIM_POINT_BACKOFF); break;
    case GROUP_OUT_NOTICE:
        if (o->notice.err == ZKC_ERR_NOMEM) /* it goes on without; a world does not */
            rescue_fail(&m->world->rescue);
        break;
    default: break; /* to know */
    }
}

static void feed(struct member *m, struct group_input *in)
{
    struct group_outputs *out = &m->world->outputs;
    if (m->life != MEMBER_RUNS)
        return;
    assert(!m->is_feeding);
    m->is_feeding = true;
    in->now_ms = (int64_t)(member_local_ns(m) / SIM_MS);
    in->wall_ms = WALL_MS + in->now_ms;
    in->polled_ms = app_is_busy(m) ? (int64_t)(to_local(m, m->taken_ns) / SIM_MS) : in->now_ms;
    machine_step(m, in, out);
    for (size_t i = 0; i < out->count; i++) {
        tell_output(m, &out->list[i]);
        carry_out(m, &out->list[i]);
    }
    m->is_feeding = false;
}

/* ---- what is due ---- */

static bool feed_unsent(struct member *m)
{
    static const struct zk_result loss = {.zk_rc = ZK_CONNECTION_LOSS};
    if (m->unsent_count == 0)
        return false;
    struct unsent first = m->unsent[0];
    memmove(m->unsent, m->unsent + 1, --m->unsent_count * sizeof first);
    watches_answered(m->watches, token_of(first.lane, first.seq), ZK_CONNECTION_LOSS, NULL);
    struct group_input in = {.type = GROUP_IN_RESULT, .result = {first.lane, first.seq, &loss}};
    feed(m, &in);
    return true;
}

static void feed_positions(struct member *m, enum group_input_type type)
{
    struct group_input in = {.type = type, .positions = {m->positions, m->position_count}};
    feed(m, &in);
}

static void leave_world(struct member *m)
{
    struct trace_event e = event_of(m, TRACE_M_EXIT);
    e.m_exit.is_clean = m->is_clean;
    e.m_exit.code = m->is_clean ? 0 : 137;
    app_forget(m);
    channel_forget(m);
    watches_end(m->watches);
    m->life = MEMBER_DOWN;
    timer_arm(&m->timer, SIM_NEVER);
    node_crash(&m->node);
    zk_client_deinit(&m->zk);
    observer_leave(m);
    machine_free(m);
    tell(m, &e);
}

static int server_of(const struct member *m)
{
    const struct sim *w = m->world;
    for (unsigned i = 0; m->plan.server && i < w->zk.count; i++)
        if (strcmp(w->zk.servers[i].node.name, m->plan.server) == 0)
            return (int)i;
    return -1;
}

static const struct zk_client_ops ZK_OPS;

static void open_session(struct member *m)
{
    struct sim *w = m->world;
    struct stream chance = stream_of(w->config.seed, m->whole_id, "session");
    for (uint32_t i = 0; i < m->sessions; i++)
        stream_next(&chance);
    if (m->sessions++)
        zk_client_deinit(&m->zk);
    zk_client_init(&m->zk, &m->node, &w->zk, &ZK_OPS, m, (int32_t)m->plan.config.session_timeout_ms,
                   server_of(m), chance, member_local_ns(m));
}

/* What safe mode is told: a stopped claim is drained, the session is closed, the application of an
 * evicted member asks for messages again. */
static bool feed_due_safe(struct member *m)
{
    struct draining d;
    struct zk_watch_event lost;
    if (watches_take_lost(m->watches, &lost)) {
        struct group_input in = {.type = GROUP_IN_WATCH, .watch = lost};
        feed(m, &in);
    } else if (m->closed_due) {
        m->closed_due = false;
        m->draining_count = 0;
        struct group_input in = {.type = GROUP_IN_SESSION_CLOSED};
        feed(m, &in);
        m->exit_due = !m->open_due && strcmp(machine_state_name(m), "closed") == 0;
    } else if (m->open_due) {
        m->open_due = false;
        m->is_clean = false;
        open_session(m);
    } else if (app_take_drained(m, &d)) {
        struct trace_event e = event_of(m, TRACE_PROCESSED);
        e.processed.p = (struct topic_partition){d.name, d.partition};
        e.processed.offset = d.finished;
        e.processed.claim = d.number;
        tell(m, &e);
        struct group_input in = {.type = GROUP_IN_DRAINED,
                                 .drained = {d.name, d.partition, d.number, d.finished, d.moves}};
        feed(m, &in);
    } else if (m->is_view_due) {
        m->is_view_due = false;
        struct group_input in = {.type = GROUP_IN_VIEW, .view = {.view = m->view}};
        feed(m, &in);
    } else if (m->is_evicted && !app_is_busy(m)) {
        m->is_evicted = false;
        struct group_input in = {.type = GROUP_IN_POLLED};
        feed(m, &in);
    } else {
        return false;
    }
    return true;
}

static bool feed_due(struct member *m)
{
    if (m->life != MEMBER_RUNS)
        return false;
    if (m->positions_due && m->safe) {
        m->positions_due = false;
        app_settle(m);
        app_keep_positions(m);
        feed_positions(m, GROUP_IN_POSITIONS);
        return true;
    }
    if (feed_unsent(m))
        return true;
    if (m->safe && feed_due_safe(m))
        return true;
    if (m->stop_due) {
        m->stop_due = false;
        m->attempt.stop_ns += world_now(m->world) - m->attempt.stop_began_ns;
        feed_positions(m, GROUP_IN_STOPPED);
    } else if (m->positions_due) {
        m->positions_due = false;
        app_settle(m);
        app_keep_positions(m);
        feed_positions(m, GROUP_IN_POSITIONS);
    } else if (m->leave_due) {
        m->leave_due = false;
        m->is_leaving = true;
        struct group_input in = {.type = GROUP_IN_LEAVE};
        feed(m, &in);
    } else {
        return false;
    }
    return true;
}

void member_kick(struct member *m)
{
    if (m->is_feeding)
        return;
    while (feed_due(m))
        continue;
    if (m->exit_due) {
        m->exit_due = false;
        leave_world(m);
        return;
    }
    member_arm(m);
}

void member_tell_leader_lost(struct member *m, const char *topic, int32_t partition)
{
    struct group_input in = {.type = GROUP_IN_LEADER_LOST, .leader_lost = {topic, partition}};
    feed(m, &in);
    member_kick(m);
}

void member_feed_offsets(struct member *m, const struct group_offsets_answer *answer)
{
    struct group_input in = {.type = GROUP_IN_OFFSETS, .offsets = *answer};
    feed(m, &in);
    member_kick(m);
}

void member_feed_leaders(struct member *m, uint32_t seq, const char *failure,
                         const struct metadata_msg *answer)
{
    struct sim *w = m->world;
    size_t n = answer ? answer->count : 0;
    struct group_leader *leaders = pool_take(&w->pool, (n + 1) * sizeof *leaders);
    for (size_t i = 0; i < n; i++)
        leaders[i] = (struct group_leader){.topic = w->topics[answer->items[i].topic].name,
                                           .partition = answer->items[i].partition,
                                           .broker_id = answer->items[i].broker,
                                           .host = w->brokers[answer->items[i].broker].node.name,
                                           .port = 9092};
    struct group_input in = {
        .type = GROUP_IN_METADATA,
        .metadata = {
            .seq = seq, .failed = failure != NULL, .text = failure, .list = leaders, .count = n}};
    feed(m, &in);
    pool_give(&w->pool, leaders);
    member_kick(m);
}

/* ---- the session ---- */

static void tell_state(struct member *m, const char *state, const char *server)
{
    struct trace_event e = world_state_event(m->world, m->node.name, state, server);
    tell(m, &e);
}

static void on_connected(void *self, uint64_t session, int32_t timeout_ms, bool is_new,
                         const char *server)
{
    struct member *m = self;
    world_tell_session(m->world, session, m);
    if (is_new)
        tell_session(m, "open");
    tell_state(m, "connected", server);
    struct group_input in = {
        .type = GROUP_IN_CONNECTED,
        .connected = {.session_id = (int64_t)session,
                      .timeout_ms = timeout_ms,
                      .is_new = is_new,
                      .connect_sent_ms = (int64_t)(m->zk.connect_sent_ns / SIM_MS)}};
    feed(m, &in);
    member_kick(m);
}

static void on_suspended(void *self)
{
    struct member *m = self;
    struct group_input in = {.type = GROUP_IN_DISCONNECTED};
    tell_state(m, "disconnected", "");
    feed(m, &in);
    member_kick(m);
}

static void on_expired(void *self)
{
    struct member *m = self;
    struct group_input in = {.type = GROUP_IN_EXPIRED};
    tell_state(m, "expired", "");
    m->draining_count = 0;
    watches_own_is_over(m->watches);
    feed(m, &in);
    member_kick(m);
}

static void on_watch(void *self, const struct zk_answer *a)
{
    struct member *m = self;
    struct trace_event e = world_watch_event(m->world, m->node.name, m->zk.zxid, a);
    tell(m, &e);
    struct zk_watch_event event = {.type = a->event, .path = e.zk_watch.path};
    watches_fired(m->watches, &event);
    feed_watch(m, &event);
}

static void on_closed(void *self)
{
    struct member *m = self;
    if (m->safe)
        m->closed_due = true;
    else
        m->exit_due = true;
}

static const struct zk_client_ops ZK_OPS = {
    .connected = on_connected,
    .suspended = on_suspended,
    .expired = on_expired,
    .result = on_result,
    .watch = on_watch,
    .closed = on_closed,
};

/* ---- the process ---- */

struct late_event {
    struct zk_answer *answer;
    struct conn *conn;
};

static void came_late(void *self, void *arg)
{
    struct member *m = self;
    struct late_event *l = arg;
    if (m->zk.conn == l->conn)
        zk_client_came(&m->zk, l->answer, member_local_ns(m));
    else
        msg_free(&m->world->pool, l->answer);
    pool_give(&m->world->pool, l);
    member_kick(m);
}

static void opened(void *self, struct conn *c)
{
    (void)self;
    (void)c;
}

static void came(void *self, struct conn *c, void *message)
{
    struct member *m = self;
    struct zk_answer *a = message;
    enum peer_kind *kind = conn_user(c, &m->node);
    if (*kind == PEER_OFFSETS) {
        channel_came(m, c, message);
    } else if (*kind == PEER_BROKER) {
        app_came(m, c, message);
    } else if (m->zk.conn != c) {
        if (!watches_came(m->watches, c, a))
            msg_free(&m->world->pool, a);
    } else if (a->type == MSG_ZK_EVENT && m->watch_delay_ns) {
        struct late_event *l = pool_take(&m->world->pool, sizeof *l);
        *l = (struct late_event){a, c};
        node_later(&m->node, world_now(m->world) + m->watch_delay_ns, came_late, l);
    } else {
        zk_client_came(&m->zk, a, member_local_ns(m));
    }
    member_kick(m);
}

static void closed(void *self, struct conn *c)
{
    struct member *m = self;
    enum peer_kind *kind = conn_user(c, &m->node);
    if (*kind == PEER_OFFSETS)
        channel_closed(m, c);
    else if (*kind == PEER_BROKER)
        app_closed(m, c);
    else if (m->zk.conn == c)
        zk_client_lost(&m->zk, member_local_ns(m));
    else
        watches_closed(m->watches, c);
    member_kick(m);
}

static const struct node_ops MEMBER_OPS = {opened, came, closed};

static void tick(void *actor, void *arg)
{
    struct member *m = actor;
    (void)arg;
    if (m->life == MEMBER_DOWN || m->node.is_suspended)
        return;
    zk_client_tick(&m->zk, member_local_ns(m));
    if (m->life == MEMBER_RUNS)
        watches_tick(m->watches);
    if (m->life == MEMBER_RUNS)
        app_tick(m);
    if (m->life == MEMBER_RUNS)
        channel_tick(m);
    if (m->life == MEMBER_RUNS && m->stop_at_ns <= world_now(m->world)) {
        m->stop_at_ns = SIM_NEVER;
        m->stop_due = true;
    }
    if (m->life == MEMBER_RUNS &&
        machine_deadline_ms(m) <= (int64_t)(member_local_ns(m) / SIM_MS)) {
        struct group_input in = {.type = GROUP_IN_TIME};
        feed(m, &in);
    }
    member_kick(m);
}

/* ---- life ---- */

void member_init(struct sim *w, struct member *m, const struct sim_member_plan *plan,
                 uint32_t number)
{
    char name[NODE_NAME_SIZE];
    snprintf(name, sizeof name, "m%u", number + 1);
    m->world = w;
    m->number = number;
    m->plan = *plan;
    node_init(&m->node, &w->net, name, NODE_MEMBER, &MEMBER_OPS, m);
    m->node.step_ns = plan->config.step_ns;
    m->source.name = m->node.name;
    m->stop_at_ns = SIM_NEVER;
    timer_init(&m->timer, &w->kernel, tick, m);
}

static void name_member(struct member *m)
{
    if (m->plan.consumer_id)
        snprintf(m->id, sizeof m->id, "%s", m->plan.consumer_id);
    else if (m->lives == 1)
        snprintf(m->id, sizeof m->id, "c%u", m->number + 1);
    else
        snprintf(m->id, sizeof m->id, "c%u_%u", m->number + 1, m->lives);
    snprintf(m->whole_id, sizeof m->whole_id, "%s_%s", m->world->group, m->id);
}

void member_start(struct member *m)
{
    struct sim *w = m->world;
    if (m->life != MEMBER_DOWN)
        return;
    node_start(&m->node);
    m->lives++;
    m->life = MEMBER_RUNS;
    m->is_clean = m->stop_due = m->positions_due = m->leave_due = m->exit_due = false;
    m->is_settled = m->is_rebalancing = m->is_late_stop = false;
    m->open_due = m->closed_due = m->is_leaving = m->is_evicted = m->is_reset = false;
    m->stop_at_ns = SIM_NEVER;
    m->counts = (struct sim_member_counts){0};
    m->attempt = (struct attempt_trace){0};
    m->watched.count = 0;
    m->good_view_hash = m->good_view_members = m->good_view_partitions = 0;
    m->unsent_count = 0;
    m->has_lease = false;
    m->process_ns = m->plan.config.process_ns;
    m->stop_ns = m->plan.config.stop_ns;
    m->watch_delay_ns = 0;
    name_member(m);
    app_init(m);
    channel_forget(m);
    start_watches(m);
    machine_new(m);
    const char **topics = texts_room(w, w->topic_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < w->topic_count; i++)
        if (machine_subscribes(m, i))
            topics[count++] = w->topics[i].name;
    struct trace_event e = event_of(m, TRACE_M_START);
    e.m_start.id = m->whole_id;
    e.m_start.topics = topics;
    e.m_start.topic_count = count;
    e.m_start.strategy = machine_strategy_name(m);
    e.m_start.streams = machine_streams(m);
    e.m_start.mode = m->plan.config.is_safe ? "zookeeper:safe" : "zookeeper:compat";
    e.m_start.is_observed = machine_is_observed(m);
    tell(m, &e);
    m->sessions = 0;
    open_session(m);
    observer_join(m);
    member_arm(m);
}

void member_leave(struct member *m)
{
    if (m->life != MEMBER_RUNS)
        return;
    m->leave_due = true;
    if (!m->node.is_suspended)
        member_kick(m);
}

void member_crash(struct member *m)
{
    if (m->life == MEMBER_DOWN)
        return;
    m->is_clean = false;
    if (!m->node.is_suspended)
        app_settle(m);
    leave_world(m);
}

void member_suspend(struct member *m)
{
    if (m->life == MEMBER_DOWN || m->node.is_suspended)
        return;
    app_suspend(m);
    node_suspend(&m->node);
    if (m->observer)
        observer_suspend(m->observer);
    struct trace_event e = event_of(m, TRACE_SUSPEND);
    tell(m, &e);
}

/* What came meanwhile is read first, then the timers ring. */
static void late_tick(void *self, void *arg)
{
    tick(self, arg);
}

void member_resume(struct member *m)
{
    if (m->life == MEMBER_DOWN || !m->node.is_suspended)
        return;
    struct trace_event e = event_of(m, TRACE_RESUME);
    tell(m, &e);
    app_resume(m);
    node_resume(&m->node);
    if (m->observer)
        observer_resume(m->observer);
    node_later(&m->node, world_now(m->world), late_tick, NULL);
}

void member_free(struct member *m)
{
    zk_view_unref(m->view);
    watches_end(m->watches);
    machine_free(m);
}
