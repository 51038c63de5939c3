/* The observer of a process (zookeeper.observer=process): what consumer/observer.c is in
 * production. It has a node of its own, o1, o2, ..., and one for each further session, o1.1, ...,
 * so that their links can be cut alone; it lives and stands still with its process. */
#include "study/sim/world.h"
#include "zkconsumer/core/group/zk_view.h"
#include <stdio.h>
#include <string.h>

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
    struct trace_event e = world_state_event(o->world, o->node.name, state, server);
    tell(o, &e);
}

static void tell_open(struct observer *o, uint64_t session, const char *server)
{
    struct trace_event e = world_session_event(o->world, o->node.name, "open", session, server);
    tell(o, &e);
}

/* ---- the viewer ---- */

/* Of any session. */
static void feed_answer(void *self, uint64_t token, int zk_rc, const struct zk_answer *a)
{
    struct observer *o = self;
    struct zk_result result = watches_answered(o->watches, token, zk_rc, a);
    struct group_input in = {.type = GROUP_IN_RESULT,
                             .result = {GROUP_LANE_VIEW, (uint32_t)token, &result}};
    step(o, &in);
}

static void on_result(void *self, const struct zk_pending *op, int zk_rc, const struct zk_answer *a)
{
    struct observer *o = self;
    struct trace_event e = world_op_event(o->world, o->node.name, op, zk_rc, a);
    tell(o, &e);
    feed_answer(o, op->token, zk_rc, a);
}

/* Fed in kick(): the viewer is not fed while its outputs are carried out. */
static void lose_op(void *self, uint64_t token)
{
    struct observer *o = self;
    if (o->unsent_count == o->unsent_cap) {
        o->unsent_cap = o->unsent_cap ? o->unsent_cap * 2 : 8;
        o->unsent = pool_resize(&o->world->pool, o->unsent, o->unsent_cap * sizeof *o->unsent);
    }
    o->unsent[o->unsent_count++] = (uint32_t)token;
}

static void send_op(struct observer *o, const struct group_output *out)
{
    const struct zk_op *op = &out->op.op;
    struct sim *w = o->world;
    struct zk_write read = {.what = member_do_of(op->type),
                            .path = zk_paths_id(&w->zk.paths, zk_op_path(op))};
    bool watch = op->watch;
    struct zk_client *zk = watches_place(o->watches, &o->zk, op, out->op.seq, &watch);
    zk->drops_watch = op->watch && w->config.bugs & SIM_BUG_OBSERVER_BLIND &&
                      world_forgets_watch(w, &o->watched, read.path);
    if (!zk_client_send(zk, read.what, &read, watch, NULL, 0, out->op.seq, world_now(w)))
        lose_op(o, out->op.seq);
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
    if (watches_deadline_ns(o->watches) < at)
        at = watches_deadline_ns(o->watches);
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

/* By any session. */
static void feed_watch(void *self, const struct zk_watch_event *event)
{
    struct group_input in = {.type = GROUP_IN_WATCH, .watch = *event};
    step(self, &in);
}

static bool feed_due(struct observer *o)
{
    struct zk_watch_event event;
    if (o->unsent_count > 0) {
        uint32_t first = o->unsent[0];
        memmove(o->unsent, o->unsent + 1, --o->unsent_count * sizeof first);
        feed_answer(o, first, ZK_CONNECTION_LOSS, NULL);
        return true;
    }
    if (!watches_take_lost(o->watches, &event))
        return o->unsent_count > 0;
    feed_watch(o, &event);
    return true;
}

/* After whatever came. */
static void kick(struct observer *o)
{
    while (feed_due(o))
        continue;
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
    struct observer *o = self;
    struct group_input in = {.type = GROUP_IN_EXPIRED};
    tell_state(o, "expired", "");
    watches_own_is_over(o->watches);
    lost(o);
    step(o, &in);
}

static void on_watch(void *self, const struct zk_answer *a)
{
    struct observer *o = self;
    struct trace_event e = world_watch_event(o->world, o->node.name, o->zk.zxid, a);
    tell(o, &e);
    const struct zk_watch_event event = {.type = a->event, .path = e.zk_watch.path};
    watches_fired(o->watches, &event);
    feed_watch(o, &event);
}

static void on_closed(void *self)
{
    (void)self; /* nobody closes it: it ends with its process */
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
    else if (!watches_came(o->watches, c, message))
        msg_free(&o->world->pool, message);
    kick(o);
}

static void closed(void *self, struct conn *c)
{
    struct observer *o = self;
    if (o->zk.conn == c)
        zk_client_lost(&o->zk, world_now(o->world));
    else
        watches_closed(o->watches, c);
    kick(o);
}

static const struct node_ops NODE_OPS = {opened, came, closed};

static void tick(void *actor, void *arg)
{
    struct observer *o = actor;
    (void)arg;
    if (!node_runs(&o->node))
        return;
    zk_client_tick(&o->zk, world_now(o->world));
    watches_tick(o->watches);
    if (o->lost_at_ns <= world_now(o->world))
        lost(o);
    if (zk_viewer_deadline_ms(o->viewer) <= now_ms(o)) {
        struct group_input in = {.type = GROUP_IN_TIME};
        step(o, &in);
    }
    kick(o);
}

static bool has_mail(const struct observer *o)
{
    for (unsigned i = 0; i < o->further_count; i++)
        if (o->further[i].inbox)
            return true;
    return o->node.inbox != NULL;
}

/* What came meanwhile is read first. */
static void late_tick(void *self, void *arg)
{
    struct observer *o = self;
    if (has_mail(o))
        node_later(&o->node, world_now(o->world), late_tick, NULL);
    else
        tick(o, arg);
}

void observer_suspend(struct observer *o)
{
    if (!node_runs(&o->node))
        return;
    node_suspend(&o->node);
    for (unsigned i = 0; i < o->further_count; i++)
        node_suspend(&o->further[i]);
}

void observer_resume(struct observer *o)
{
    if (!o->node.is_up || !o->node.is_suspended)
        return;
    node_resume(&o->node);
    for (unsigned i = 0; i < o->further_count; i++)
        node_resume(&o->further[i]);
    node_later(&o->node, world_now(o->world), late_tick, NULL);
}

bool observer_expire(struct observer *o, const struct node *node)
{
    bool is_own = node == &o->node;
    unsigned number = is_own ? 0 : 1 + (unsigned)(node - o->further);
    uint64_t session = is_own ? o->zk.session : watches_session(o->watches, number);
    if (!node->is_up || !session)
        return false;
    zk_ensemble_close_session(&o->world->zk, session);
    return true;
}

/* ---- birth and death ---- */

static uint64_t clock_ns(const void *self)
{
    const struct observer *o = self;
    return world_now(o->world);
}

static struct node *node_of(void *self, unsigned number)
{
    struct observer *o = self;
    return &o->further[number - 1];
}

static void start_watches(struct observer *o, const struct sim_member_config *c)
{
    const struct watches_owner owner = {.world = o->world,
                                        .self = o,
                                        .name = o->node.name,
                                        .now_ns = clock_ns,
                                        .node = node_of,
                                        .answered = feed_answer,
                                        .fired = feed_watch,
                                        .lost = lose_op};
    const struct watches_config config = {.packet_bytes = c->observer_packet_bytes,
                                          .sessions_max = c->observer_sessions_max,
                                          .turn_ns = c->watch_turn_ns,
                                          .chance = o->node.name,
                                          .session_timeout_ms = (int32_t)c->session_timeout_ms};
    o->unsent_count = 0;
    watches_start(&o->watches, &owner, &config);
    for (unsigned i = 0; i < o->further_count; i++)
        node_start(&o->further[i]);
}

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
    start_watches(o, &m->plan.config);
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
    watches_end(o->watches);
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
    for (unsigned i = 0; i < o->further_count; i++)
        node_crash(&o->further[i]);
    zk_client_deinit(&o->zk);
    drop(o);
}

static void init_further(struct observer *o)
{
    const struct sim_config *c = &o->world->config;
    for (size_t i = 0; i < c->member_count; i++)
        if (c->members[i].config.observer_sessions_max > o->further_count)
            o->further_count = c->members[i].config.observer_sessions_max;
    for (unsigned i = 0; i < o->further_count; i++) {
        char name[NODE_NAME_SIZE];
        snprintf(name, sizeof name, "%.8s.%u", o->node.name, i + 1);
        node_init(&o->further[i], &o->world->net, name, NODE_OBSERVER, &NODE_OPS, o);
    }
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
        init_further(o);
        timer_init(&o->timer, &w->kernel, tick, o);
    }
}

void observers_free(struct sim *w)
{
    for (size_t i = 0; w->observers && i < w->config.member_count; i++)
        drop(&w->observers[i]);
}
