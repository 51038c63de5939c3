/* The observer of a process (zookeeper.observer=process): what consumer/observer.c is in
 * production. It has a node of its own, o1, o2, ..., so that its links can be cut alone; it lives
 * and stands still with its process. */
#include "study/sim/world.h"
#include "zkconsumer/core/group/zk_view.h"
#include <assert.h>
#include <stdio.h>

static void step(struct observer *o, struct group_input *in);

static int64_t now_ms(const struct observer *o)
{
    return (int64_t)(world_now(o->world) / SIM_MS);
}

/* ---- telling members ---- */

static bool is_observed(const struct observer *o, const struct member *m)
{
    return m->observer == o && m->life != MEMBER_DOWN;
}

static void look_for_view(void *self, void *arg)
{
    (void)arg;
    member_kick(self);
}

static void put(struct observer *o, struct member *m)
{
    zk_view_unref(m->view);
    m->view = o->view;
    if (m->view)
        zk_view_ref(m->view);
    m->is_view_due = true;
    node_later(&m->node, world_now(o->world), look_for_view, NULL);
}

static void tell_all(struct observer *o)
{
    for (size_t i = 0; i < o->world->config.member_count; i++)
        if (is_observed(o, &o->world->members[i]))
            put(o, &o->world->members[i]);
}

static void keep_view(struct observer *o, struct zk_view *view)
{
    zk_view_unref(o->view);
    o->view = view;
    o->is_lost = !view;
    tell_all(o);
}

/* ---- the trace ---- */

static void tell(struct observer *o, struct trace_event *e)
{
    tracer_emit(&o->world->tracer, &o->source, e);
}

static void tell_state(struct observer *o, const char *state, const char *server)
{
    struct trace_event e = tracer_event(&o->world->tracer, TRACE_ZK_STATE, o->node.name);
    e.zk_state.state = state;
    e.zk_state.server = server;
    tell(o, &e);
}

static void tell_open(struct observer *o, uint64_t session, const char *server)
{
    struct trace_event e = tracer_event(&o->world->tracer, TRACE_ZK_SESSION, o->node.name);
    e.zk_session.what = "open";
    e.zk_session.session = session;
    e.zk_session.server = server;
    tell(o, &e);
}

/* ---- the viewer ---- */

static void on_result(void *self, const struct zk_pending *op, int zk_rc, const struct zk_answer *a)
{
    struct observer *o = self;
    struct trace_event e = world_op_event(o->world, o->node.name, op, zk_rc, a);
    tell(o, &e);
    struct zk_result result = {.zk_rc = zk_rc};
    if (a)
        zk_answer_result(a, &result);
    struct group_input in = {.type = GROUP_IN_RESULT,
                             .result = {GROUP_LANE_VIEW, (uint32_t)op->token, &result}};
    step(o, &in);
}

/* The viewer asks only while it is connected. */
static void send_op(struct observer *o, const struct group_output *out)
{
    const struct zk_op *op = &out->op.op;
    struct sim *w = o->world;
    struct zk_write read = {.what = member_do_of(op->type),
                            .path = zk_paths_id(&o->world->zk.paths, zk_op_path(op))};
    o->zk.drops_watch = op->watch && w->config.bugs & SIM_BUG_OBSERVER_BLIND &&
                        world_forgets_watch(w, &o->watched, read.path);
    bool is_sent = zk_client_send(&o->zk, read.what, &read, op->watch, NULL, 0, out->op.seq,
                                  world_now(o->world));
    assert(is_sent);
    (void)is_sent;
}

static void run(struct observer *o)
{
    struct group_outputs *out = &o->world->outputs;
    for (size_t i = 0; i < out->count; i++)
        if (out->list[i].type == GROUP_OUT_OP)
            send_op(o, &out->list[i]);
        else if (out->list[i].type == GROUP_OUT_NOTICE && out->list[i].notice.err == ZKC_ERR_NOMEM)
            rescue_fail(&o->world->rescue);
}

static void arm(struct observer *o)
{
    int64_t ms = zk_viewer_deadline_ms(o->viewer);
    uint64_t at = zk_client_deadline_ns(&o->zk);
    if (ms != INT64_MAX && (uint64_t)(ms > 0 ? ms : 0) * SIM_MS < at)
        at = (uint64_t)(ms > 0 ? ms : 0) * SIM_MS;
    timer_arm(&o->timer, o->lost_at_ns < at ? o->lost_at_ns : at);
}

static void step(struct observer *o, struct group_input *in)
{
    struct group_outputs *out = &o->world->outputs;
    struct zk_view *view;
    in->now_ms = now_ms(o);
    group_outputs_clear(out);
    zk_viewer_feed(o->viewer, in, out);
    zk_viewer_run(o->viewer, in->now_ms, out);
    run(o);
    while ((view = zk_viewer_take(o->viewer))) {
        keep_view(o, view);
        group_outputs_clear(out);
        zk_viewer_run(o->viewer, in->now_ms, out);
        run(o);
    }
    arm(o);
}

/* ---- the session ---- */

static void lost(struct observer *o)
{
    o->lost_at_ns = SIM_NEVER;
    keep_view(o, NULL);
}

static void on_connected(void *self, uint64_t session, int32_t timeout_ms, bool is_new,
                         const char *server)
{
    struct observer *o = self;
    if (is_new)
        tell_open(o, session, server);
    tell_state(o, "connected", server);
    o->lost_at_ns = SIM_NEVER;
    o->patience_ns = (uint64_t)timeout_ms * SIM_MS / 3;
    struct group_input in = {
        .type = GROUP_IN_CONNECTED,
        .connected = {.session_id = (int64_t)session,
                      .timeout_ms = timeout_ms,
                      .is_new = is_new,
                      .connect_sent_ms = (int64_t)(o->zk.connect_sent_ns / SIM_MS)}};
    step(o, &in);
}

static void on_suspended(void *self)
{
    struct observer *o = self;
    struct group_input in = {.type = GROUP_IN_DISCONNECTED};
    tell_state(o, "disconnected", "");
    o->lost_at_ns = world_now(o->world) + o->patience_ns;
    step(o, &in);
}

static void on_expired(void *self)
{
    struct group_input in = {.type = GROUP_IN_EXPIRED};
    tell_state(self, "expired", "");
    lost(self);
    step(self, &in);
}

static void on_watch(void *self, const struct zk_answer *a)
{
    struct observer *o = self;
    struct trace_event e = world_watch_event(o->world, o->node.name, o->zk.zxid, a);
    tell(o, &e);
    struct group_input in = {.type = GROUP_IN_WATCH,
                             .watch = {.type = a->event, .path = e.zk_watch.path}};
    step(o, &in);
}

static void on_closed(void *self)
{
    (void)self; /* nobody closes it: it ends with its process */
}

static const struct zk_client_ops ZK_OPS = {on_connected, on_suspended, on_expired,
                                            on_result,    on_watch,     on_closed};

/* ---- the process ---- */

static void opened(void *self, struct conn *c)
{
    (void)self;
    (void)c;
}

static void came(void *self, struct conn *c, void *message)
{
    struct observer *o = self;
    if (o->zk.conn == c)
        zk_client_came(&o->zk, message, world_now(o->world));
    else
        msg_free(&o->world->pool, message);
    arm(o);
}

static void closed(void *self, struct conn *c)
{
    struct observer *o = self;
    if (o->zk.conn == c)
        zk_client_lost(&o->zk, world_now(o->world));
    arm(o);
}

static const struct node_ops NODE_OPS = {opened, came, closed};

static void tick(void *actor, void *arg)
{
    struct observer *o = actor;
    (void)arg;
    if (!node_runs(&o->node))
        return;
    zk_client_tick(&o->zk, world_now(o->world));
    if (o->lost_at_ns <= world_now(o->world))
        lost(o);
    if (zk_viewer_deadline_ms(o->viewer) <= now_ms(o)) {
        struct group_input in = {.type = GROUP_IN_TIME};
        step(o, &in);
    }
    arm(o);
}

static void late_tick(void *self, void *arg)
{
    tick(self, arg);
}

void observer_suspend(struct observer *o)
{
    if (node_runs(&o->node))
        node_suspend(&o->node);
}

void observer_resume(struct observer *o)
{
    if (!o->node.is_up || !o->node.is_suspended)
        return;
    node_resume(&o->node);
    node_later(&o->node, world_now(o->world), late_tick, NULL);
}

/* ---- birth and death ---- */

static void start(struct observer *o, const struct member *m)
{
    struct sim *w = o->world;
    struct zk_subscription *list = pool_take(&w->pool, (w->topic_count + 1) * sizeof *list);
    size_t count = 0;
    bool is_filter = m->plan.config.is_filter;
    if (is_filter)
        list[count++] = (struct zk_subscription){MACHINE_FILTER, 1};
    for (size_t i = 0; i < w->topic_count && !is_filter; i++)
        if (machine_subscribes(m, i))
            list[count++] = (struct zk_subscription){w->topics[i].name, 1};
    struct zk_viewer_config config = {.group = w->group,
                                      .pattern =
                                          is_filter ? ZK_PATTERN_WHITE_LIST : ZK_PATTERN_STATIC,
                                      .subscriptions = list,
                                      .subscription_count = count,
                                      .exclude_internal_topics = true,
                                      .sync_before_read = m->plan.config.safe.sync_before_read,
                                      .coalesce = m->plan.config.safe.coalesce};
    struct why why;
    if (zk_viewer_new(&config, &o->viewer, &why))
        rescue_fail(&w->rescue);
    pool_give(&w->pool, list);
    node_start(&o->node);
    o->watched.count = 0;
    struct stream chance = stream_of(w->config.seed, o->node.name, "session");
    for (uint32_t i = 0; i < o->node.life; i++)
        stream_next(&chance);
    o->is_lost = false;
    o->patience_ns = (uint64_t)m->plan.config.session_timeout_ms * SIM_MS / 3;
    o->lost_at_ns = world_now(w) + o->patience_ns;
    zk_client_init(&o->zk, &o->node, &w->zk, &ZK_OPS, o, (int32_t)m->plan.config.session_timeout_ms,
                   -1, chance, world_now(w));
    arm(o);
}

static void drop(struct observer *o)
{
    zk_viewer_free(o->viewer);
    zk_view_unref(o->view);
    o->viewer = NULL;
    o->view = NULL;
}

void observer_join(struct member *m)
{
    struct sim *w = m->world;
    if (!machine_is_observed(m))
        return;
    struct observer *o = &w->observers[m->plan.process - 1];
    m->observer = o;
    m->is_view_due = false;
    if (!o->node.is_up)
        start(o, m);
    else if (o->view || o->is_lost)
        put(o, m);
}

void observer_leave(struct member *m)
{
    struct observer *o = m->observer;
    m->observer = NULL;
    zk_view_unref(m->view);
    m->view = NULL;
    m->is_view_due = false;
    if (!o)
        return;
    for (size_t i = 0; i < m->world->config.member_count; i++)
        if (m->world->members[i].observer == o)
            return;
    timer_arm(&o->timer, SIM_NEVER);
    tell_state(o, "disconnected", "");
    node_crash(&o->node);
    zk_client_deinit(&o->zk);
    drop(o);
}

void observers_init(struct sim *w)
{
    size_t n = w->config.member_count;
    w->observers = pool_take(&w->pool, (n + 1) * sizeof *w->observers);
    for (size_t i = 0; i < n; i++) {
        struct observer *o = &w->observers[i];
        char name[NODE_NAME_SIZE];
        snprintf(name, sizeof name, "o%zu", i + 1);
        o->world = w;
        o->source.name = o->node.name;
        node_init(&o->node, &w->net, name, NODE_OBSERVER, &NODE_OPS, o);
        timer_init(&o->timer, &w->kernel, tick, o);
    }
}

void observers_free(struct sim *w)
{
    for (size_t i = 0; w->observers && i < w->config.member_count; i++)
        drop(&w->observers[i]);
}
