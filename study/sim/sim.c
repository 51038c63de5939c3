#include "study/sim/sim.h"
#include "study/sim/world.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_MAX 1000000ull /* mHz: a thousand messages a second of each partition */
#define TIME_MAX (4 * 3600 * SIM_S)

/* ---- defaults ---- */

void sim_config_init(struct sim_config *c)
{
    *c = (struct sim_config){
        .seed = 1,
        .group = "g",
        .scenario = "",
        .zk = {.servers = 3,
               .tick_ms = 2000,
               .sync_limit = 5,
               .read_ns = 40000,
               .write_ns = 80000,
               .fsync = {SIM_UNIFORM, 300000, 2000000, NULL, 0},
               .link = {SIM_UNIFORM, 100000, 300000, NULL, 0},
               .election = {SIM_UNIFORM, 100 * SIM_MS, 400 * SIM_MS, NULL, 0}},
        .brokers = {.count = 3, .service_ns = 50000},
        .client_link = {SIM_UNIFORM, 100000, 300000, NULL, 0},
    };
}

void sim_member_config_init(struct sim_member_config *c)
{
    *c = (struct sim_member_config){
        .variant = ZK_VARIANT_0_8,
        .strategy = ASSIGN_RANGE,
        .auto_commit = true,
        .auto_commit_interval_ms = 60000,
        .session_timeout_ms = 6000,
        .backoff_ms = 2000,
        .attempts_max = 4,
        .refresh_leader_backoff_ms = 200,
        .streams = 1,
        .fetch_wait_ms = 100,
        .fetch_min = 1,
        .fetch_max = 1000,
        .queue_max = 2000,
        .safe = zk_safe_config_default(),
    };
}

/* ---- texts and sessions ---- */

char *world_text(struct sim *w, const char *text)
{
    if (!text)
        return NULL;
    size_t len = strlen(text) + 1;
    char *copy = pool_take(&w->pool, len);
    memcpy(copy, text, len);
    return copy;
}

void world_tell_session(struct sim *w, uint64_t session, struct member *m)
{
    for (size_t i = 0; i < w->session_count; i++)
        if (w->sessions[i].session == session)
            return;
    if (w->session_count == w->session_cap) {
        w->session_cap = w->session_cap ? w->session_cap * 2 : 64;
        w->sessions = pool_resize(&w->pool, w->sessions, w->session_cap * sizeof *w->sessions);
    }
    w->sessions[w->session_count++] = (struct session_owner){session, m};
}

struct member *world_session_member(const struct sim *w, uint64_t session)
{
    for (size_t i = w->session_count; i-- > 0;)
        if (w->sessions[i].session == session)
            return w->sessions[i].member;
    return NULL;
}

/* ---- what the ensemble commits ---- */

uint32_t world_cause(struct sim *w, struct trace_source *source, const char *kind, const char *who,
                     const char *detail)
{
    struct trace_event e = tracer_event(&w->tracer, TRACE_CAUSE, NULL);
    e.cause.id = ++w->causes;
    e.cause.kind = kind;
    e.cause.who = who;
    e.cause.detail = detail;
    tracer_emit(&w->tracer, source, &e);
    faults_cause(w, w->causes);
    return w->causes;
}

static const char *member_name(const struct member *m)
{
    return m ? m->node.name : "";
}

/* What this part of a transaction changes for the group; NULL: nothing. */
static const char *cause_kind(const struct zk_txn *x, const struct zk_part *p,
                              enum trace_class class_of, const struct member *m)
{
    if (p->what == ZK_DO_CHECK)
        return NULL;
    switch (class_of) {
    case TRACE_CLASS_ID:
        if (p->what == ZK_DO_CREATE)
            return "join";
        if (p->what == ZK_DO_SET)
            return NULL; /* a member in safe mode writes its own anew */
        if (x->what != ZK_DO_CLOSE)
            return "leave"; /* deleted by hand */
        if (x->origin >= 0)
            return "leave";
        return m && m->life == MEMBER_DOWN ? "crash" : "expire";
    case TRACE_CLASS_BROKER: return "broker";
    case TRACE_CLASS_TOPIC: return p->what == ZK_DO_SET ? "partitions" : "topic";
    default: return NULL;
    }
}

static uint32_t changes_of(const struct zk_txn *x, uint32_t end)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < end; i++)
        n += x->parts[i].what != ZK_DO_CHECK;
    return n;
}

static void tell_part(struct sim *w, const struct zk_txn *x, uint32_t i, struct member *m,
                      struct trace_source *source)
{
    static const char *const words[] = {
        [ZK_DO_CREATE] = "create", [ZK_DO_DELETE] = "delete", [ZK_DO_SET] = "set"};
    const struct zk_part *p = &x->parts[i];
    const struct zk_path *path = zk_path_at(&w->zk.paths, p->path);
    if (p->what == ZK_DO_CHECK)
        return;
    const struct znode *node = zk_tree_node(&w->zk.truth, p->path);
    struct trace_event e = tracer_event(&w->tracer, TRACE_ZK_TXN, m ? m->node.name : NULL);
    e.zk_txn.zxid = x->zxid;
    e.zk_txn.what = x->what == ZK_DO_CLOSE ? "close" : words[p->what];
    e.zk_txn.class_of = path->info.class_of;
    e.zk_txn.path = path->text;
    e.zk_txn.session = x->session;
    e.zk_txn.m = m ? m->node.name : NULL;
    if (p->data) {
        e.zk_txn.value = (const char *)p->data->data;
        e.zk_txn.value_len = p->data->len;
    }
    e.zk_txn.ephemeral_owner = p->what == ZK_DO_CREATE ? p->owner : node ? node->owner : 0;
    e.zk_txn.part = changes_of(x, i);
    e.zk_txn.parts = changes_of(x, x->count);
    tracer_emit(&w->tracer, source, &e);
    if (p->what == ZK_DO_DELETE && x->what != ZK_DO_CLOSE && m)
        m->has_deleted_foreign = p->owner && p->owner != x->session;
}

static void tell_session_txn(struct sim *w, const struct zk_txn *x, struct member *m,
                             struct trace_source *source)
{
    struct trace_event e = tracer_event(&w->tracer, TRACE_ZK_TXN, m ? m->node.name : NULL);
    e.zk_txn.zxid = x->zxid;
    e.zk_txn.what = x->what == ZK_DO_OPEN ? "open" : "close";
    e.zk_txn.path = "";
    e.zk_txn.session = x->session;
    e.zk_txn.m = m ? m->node.name : NULL;
    e.zk_txn.parts = 1;
    tracer_emit(&w->tracer, source, &e);
}

/* A refused write, or one of checks alone, has its place in the order, and changes nothing. */
static void tell_refused(struct sim *w, const struct zk_txn *x, struct trace_source *source)
{
    struct trace_event e = tracer_event(&w->tracer, TRACE_ZK_TXN, NULL);
    e.zk_txn.zxid = x->zxid;
    e.zk_txn.what = "error";
    e.zk_txn.path = "";
    e.zk_txn.parts = 1;
    tracer_emit(&w->tracer, source, &e);
}

/* The controller makes a topic's partitions when it finds the topic in ZooKeeper. */
static void make_again(struct sim *w, const char *topic)
{
    struct topic_state *t = world_topic(w, topic);
    if (t && t->partitions_due)
        world_make_again(w, t);
}

static void on_commit(void *user, const struct zk_txn *x, const struct zk_server *leader)
{
    struct sim *w = user;
    struct trace_source *source = &w->src_zk[leader->index];
    if (x->zk_rc != ZK_OK || (x->count > 0 && changes_of(x, x->count) == 0)) {
        tell_refused(w, x, source);
        return;
    }
    struct member *m = x->session ? world_session_member(w, x->session) : NULL;
    if (x->what == ZK_DO_CLOSE && x->origin < 0) {
        struct trace_event e = world_session_event(w, m ? m->node.name : NULL, "expire", x->session,
                                                   leader->node.name);
        tracer_emit(&w->tracer, source, &e);
    }
    if (x->what == ZK_DO_OPEN || (x->what == ZK_DO_CLOSE && x->count == 0))
        tell_session_txn(w, x, m, source);
    for (uint32_t i = 0; i < x->count; i++)
        tell_part(w, x, i, m, source);
    for (uint32_t i = 0; i < x->count; i++) {
        const struct zk_path *path = zk_path_at(&w->zk.paths, x->parts[i].path);
        const char *kind = cause_kind(x, &x->parts[i], path->info.class_of, m);
        bool is_preset = w->kernel.now_ns == 0;
        if (path->info.class_of == TRACE_CLASS_TOPIC && x->parts[i].what == ZK_DO_CREATE)
            make_again(w, path->leaf);
        if (kind && !is_preset)
            world_cause(w, source, kind, m ? member_name(m) : "", path->leaf);
    }
}

static void on_role(void *user, const struct zk_server *s)
{
    struct sim *w = user;
    struct trace_event e = tracer_event(&w->tracer, TRACE_ZK_ROLE, NULL);
    e.zk_role.server = s->node.name;
    e.zk_role.role = zk_role_name(s->role);
    e.zk_role.epoch = s->epoch;
    tracer_emit(&w->tracer, &w->src_zk[s->index], &e);
}

static bool loses_answer(void *user, const struct node *client, enum zk_do what, uint32_t path)
{
    struct sim *w = user;
    return faults_lose_answer(w, client, point_of(what, zk_path_at(&w->zk.paths, path)));
}

/* ---- checking the configuration ---- */

static enum zkc_err refuse(char *why, size_t why_size, const char *text)
{
    snprintf(why, why_size, "%s", text);
    return ZKC_ERR_CONFIG;
}

static enum zkc_err no_memory(char *why, size_t why_size)
{
    snprintf(why, why_size, "out of memory");
    return ZKC_ERR_NOMEM;
}

static bool is_dist(const struct sim_dist *d)
{
    if (d->kind == SIM_TABLE)
        return d->table && d->table_count >= 2;
    return d->low_ns < TIME_MAX && (d->kind == SIM_CONSTANT || d->high_ns >= d->low_ns) &&
           d->high_ns < TIME_MAX;
}

static const char *check_member(const struct sim_config *c, const struct sim_member_plan *m)
{
    char name[16];
    bool is_server = !m->server;
    for (unsigned i = 0; i < c->zk.servers && !is_server; i++) {
        snprintf(name, sizeof name, "zk%u", i + 1);
        is_server = strcmp(name, m->server) == 0;
    }
    if (!is_server)
        return "members: server names no ZooKeeper server (zk1, zk2, ...)";
    if (m->config.attempts_max == 0 || m->config.backoff_ms < 0 || m->config.streams <= 0)
        return "members: attempts_max and streams are at least 1, backoff_ms at least 0";
    if (m->config.session_timeout_ms < 200 || m->config.session_timeout_ms > 3600000)
        return "members: session_timeout_ms is 200 to 3600000";
    if (m->config.auto_commit && m->config.auto_commit_interval_ms <= 0)
        return "members: auto_commit_interval_ms is at least 1";
    if (m->config.fetch_min <= 0 || m->config.fetch_max <= 0 || m->config.queue_max <= 0 ||
        m->config.fetch_wait_ms <= 0)
        return "members: fetch_min, fetch_max, fetch_wait_ms and queue_max are at least 1";
    if (m->process > c->member_count || (m->process && !m->config.is_safe))
        return "members: process is a number up to that of the members, of those in safe mode";
    if (m->config.watch_sessions_max > WATCH_SESSIONS_MAX ||
        m->config.observer_sessions_max > WATCH_SESSIONS_MAX)
        return "members: watch_sessions_max and observer_sessions_max are at most 16";
    if (m->config.refresh_leader_backoff_ms <= 0)
        return "members: refresh_leader_backoff_ms is at least 1";
    if (m->config.clock_ppm < -100000 || m->config.clock_ppm > 100000)
        return "members: clock_ppm is -100000 to 100000";
    return NULL;
}

static const char *check_config(const struct sim_config *c)
{
    struct why ignored;
    if (c->zk.servers % 2 == 0 || c->zk.servers > ZK_SERVERS_MAX)
        return "zk.servers is 1, 3, 5, 7 or 9";
    if (c->zk.tick_ms < 10 || c->zk.tick_ms > 600000 || c->zk.tick_ms % 2)
        return "zk.tick_ms is even, 10 to 600000";
    if (c->zk.sync_limit == 0 || c->zk.sync_limit > 1000)
        return "zk.sync_limit is 1 to 1000";
    if (!is_dist(&c->zk.fsync) || !is_dist(&c->zk.link) || !is_dist(&c->zk.election) ||
        !is_dist(&c->client_link))
        return "a distribution: low_ns <= high_ns, or a table of at least 2 quantiles";
    if (c->brokers.count > 1000)
        return "brokers.count is at most 1000";
    if (zk_check_group(c->group, &ignored))
        return "group: not a legal group id";
    for (size_t i = 0; i < c->topic_count; i++) {
        if (zk_check_topic(c->topics[i].name, &ignored))
            return "topics: not a legal name";
        if (c->topics[i].partitions <= 0 || c->topics[i].partitions > 100000)
            return "topics: partitions are 1 to 100000";
        if (c->topics[i].rate_mhz > RATE_MAX || c->topics[i].initial < 0)
            return "topics: rate_mhz is at most 1000000, initial at least 0";
    }
    for (size_t i = 0; i < c->member_count; i++) {
        const char *wrong = check_member(c, &c->members[i]);
        if (wrong)
            return wrong;
    }
    return NULL;
}

/* ---- birth ---- */

static_assert(ZK_SWITCH_COUNT <= TRACE_SWITCHES_MAX, "switches in a trace");

static void tell_switches(const struct zk_switches *switches, struct trace_event *e)
{
    struct zk_switch list[ZK_SWITCH_COUNT];
    e->run.switch_count = zk_switches_set(switches, list);
    for (size_t i = 0; i < e->run.switch_count; i++)
        e->run.switches[i] = (struct trace_switch){list[i].name, list[i].value};
}

static void tell_run(struct sim *w)
{
    static const char *const variants[] = {"0.8", "0.7", "documented"};
    const struct sim_config *c = &w->config;
    struct trace_topic *topics = pool_take(&w->pool, (w->topic_count + 1) * sizeof *topics);
    struct sim_member_config defaults;
    sim_member_config_init(&defaults);
    const struct sim_member_config *m = c->member_count ? &c->members[0].config : &defaults;
    struct trace_event e = tracer_event(&w->tracer, TRACE_RUN, NULL);
    for (size_t i = 0; i < w->topic_count; i++)
        topics[i] = (struct trace_topic){w->topics[i].name, w->topics[i].partitions};
    e.run.mode = m->is_safe ? "zookeeper:safe" : "zookeeper:compat";
    e.run.variant = variants[m->variant];
    e.run.strategy = assign_strategy_name(m->strategy);
    tell_switches(&m->switches, &e);
    e.run.scenario = c->scenario;
    e.run.seed = c->seed;
    e.run.is_virtual = true;
    e.run.level = w->tracer.level;
    e.run.member_count = (uint32_t)c->member_count;
    e.run.topics = topics;
    e.run.topic_count = w->topic_count;
    e.run.session_timeout_ms = m->session_timeout_ms;
    e.run.backoff_ms = m->backoff_ms;
    e.run.commit_interval_ms = m->auto_commit ? m->auto_commit_interval_ms : -1;
    e.run.attempts_max = m->attempts_max;
    tracer_emit(&w->tracer, &w->src_control, &e);
    pool_give(&w->pool, topics);
}

static void make_topics(struct sim *w)
{
    for (size_t i = 0; i < w->config.topic_count; i++) {
        const struct sim_topic *t = &w->config.topics[i];
        world_add_topic(w, t->name, t->partitions, t->rate_mhz, t->initial);
    }
}

static void preset_topics(struct sim *w)
{
    zk_ensemble_preset(&w->zk, ZK_PATH_BROKER_IDS, NULL);
    zk_ensemble_preset(&w->zk, ZK_PATH_BROKER_TOPICS, NULL);
    zk_ensemble_preset(&w->zk, ZK_PATH_CONSUMERS, NULL);
    for (size_t i = 0; i < w->topic_count; i++) {
        char path[300];
        size_t size = 64 + (size_t)w->topics[i].partitions * 24;
        char *text = pool_take(&w->pool, size);
        snprintf(path, sizeof path, "%s/%s", ZK_PATH_BROKER_TOPICS, w->topics[i].name);
        zk_ensemble_preset(
            &w->zk, path,
            world_topic_json(w->topics[i].partitions, text, size, w->config.brokers.count));
        pool_give(&w->pool, text);
    }
}

static void start_member(void *actor, void *arg)
{
    (void)arg;
    member_start(actor);
}

static void make_members(struct sim *w)
{
    w->members = pool_take(&w->pool, (w->config.member_count + 1) * sizeof *w->members);
    for (size_t i = 0; i < w->config.member_count; i++) {
        struct sim_member_plan plan = w->config.members[i];
        plan.server = world_text(w, plan.server);
        plan.consumer_id = world_text(w, plan.consumer_id);
        member_init(w, &w->members[i], &plan, (uint32_t)i);
        w->has_manager |= plan.config.is_safe && plan.config.safe.offsets_in != COMMIT_TO_ZOOKEEPER;
    }
}

static bool all_serve(const struct sim *w)
{
    for (unsigned i = 0; i < w->zk.count; i++)
        if (!zk_server_serves(&w->zk.servers[i]))
            return false;
    return true;
}

/* Servers are up and have found each other before anything else begins. */
static void start(struct sim *w)
{
    brokers_start(w);
    zk_ensemble_start(&w->zk);
    while (!all_serve(w))
        kernel_run_one(&w->kernel);
    for (size_t i = 0; i < w->config.member_count; i++) {
        uint64_t at = w->members[i].plan.start_ns;
        kernel_at(&w->kernel, at > world_now(w) ? at : world_now(w), start_member, &w->members[i],
                  NULL);
    }
    faults_start(w);
}

static void free_world(struct sim *w)
{
    for (size_t i = 0; w->members && i < w->config.member_count; i++)
        member_free(&w->members[i]);
    observers_free(w);
    kernel_deinit(&w->kernel);
    pool_deinit(&w->pool);
    buf_deinit(&w->why);
    free(w);
}

struct birth {
    struct sim *world;
    enum zkc_err err;
    char *why;
    size_t why_size;
};

static void build(void *user)
{
    struct birth *b = user;
    struct sim *w = b->world;
    const struct sim_config *config = &w->config;
    w->group = world_text(w, config->group);
    w->config.scenario = world_text(w, config->scenario);
    net_init(&w->net, &w->kernel, &w->pool, config);
    make_topics(w);
    zk_ensemble_init(&w->zk, &w->net, config);
    for (unsigned i = 0; i < w->zk.count; i++)
        w->src_zk[i].name = w->zk.servers[i].node.name;
    w->zk.on_commit = on_commit;
    w->zk.on_role = on_role;
    w->zk.loses_answer = loses_answer;
    w->zk.user = w;
    brokers_init(w);
    manager_init(w);
    observers_init(w);
    make_members(w);
    b->err = faults_init(w, b->why, b->why_size);
    if (b->err)
        return;
    tell_run(w);
    preset_topics(w);
    start(w);
}

enum zkc_err sim_new(const struct sim_config *config, struct sim **out, char *why, size_t why_size)
{
    const char *wrong = check_config(config);
    if (wrong)
        return refuse(why, why_size, wrong);
    struct sim *w = calloc(1, sizeof *w);
    if (!w)
        return no_memory(why, why_size);
    w->config = *config;
    buf_init(&w->why, 4096);
    kernel_init(&w->kernel, config->seed, config->shuffle_ties);
    w->kernel.rescue = w->pool.rescue = &w->rescue;
    tracer_init(&w->tracer, &w->kernel, config->sinks, config->sink_count);
    w->src_control.name = "ctl";
    w->src_ledger.name = "led";
    struct birth birth = {.world = w, .why = why, .why_size = why_size};
    if (!rescue_run(&w->rescue, build, &birth))
        birth.err = no_memory(why, why_size);
    if (birth.err) {
        free_world(w);
        return birth.err;
    }
    w->config.topics = NULL; /* were the caller's */
    w->config.members = NULL;
    w->config.faults = NULL;
    w->base_allocations = w->kernel.allocations + w->pool.allocations;
    *out = w;
    return ZKC_OK;
}

void sim_free(struct sim *w)
{
    if (!w)
        return;
    struct trace_event e = tracer_event(&w->tracer, TRACE_END, NULL);
    e.end.reason = w->rescue.has_failed ? "nomem" : "done";
    e.end.events = w->tracer.gs;
    tracer_emit(&w->tracer, &w->src_control, &e);
    free_world(w);
}

/* ---- running ---- */

uint64_t sim_now(const struct sim *w)
{
    return w->kernel.now_ns;
}

enum zkc_err sim_failed(const struct sim *w)
{
    return w->rescue.has_failed ? ZKC_ERR_NOMEM : ZKC_OK;
}

struct span {
    struct sim *world;
    uint64_t until_ns;
};

static void run_span(void *user)
{
    const struct span *span = user;
    struct kernel *k = &span->world->kernel;
    while (kernel_next_ns(k) <= span->until_ns)
        kernel_run_one(k);
}

static void run_one(void *user)
{
    struct sim *w = user;
    kernel_run_one(&w->kernel);
}

static void reach(struct sim *w, uint64_t t_ns)
{
    if (w->kernel.now_ns < t_ns)
        w->kernel.now_ns = t_ns;
}

void sim_run_until(struct sim *w, uint64_t t_ns)
{
    rescue_run(&w->rescue, run_span, &(struct span){w, t_ns});
    reach(w, t_ns);
}

bool sim_run_until_true(struct sim *w, bool (*pred)(const struct sim *sim, void *user), void *user,
                        uint64_t t_ns)
{
    bool is_true = pred(w, user);
    while (!is_true && kernel_next_ns(&w->kernel) <= t_ns && rescue_run(&w->rescue, run_one, w))
        is_true = pred(w, user);
    if (is_true && !w->rescue.has_failed)
        return true;
    reach(w, t_ns);
    return false;
}

static void heal(void *user)
{
    struct sim *w = user;
    struct trace_event e = tracer_event(&w->tracer, TRACE_PHASE, NULL);
    e.phase.name = "heal";
    tracer_emit(&w->tracer, &w->src_control, &e);
    faults_heal(w);
}

void sim_heal(struct sim *w)
{
    rescue_run(&w->rescue, heal, w);
}

struct doing {
    struct sim *world;
    const struct sim_fault *fault;
    bool has_acted;
};

static void act(void *user)
{
    struct doing *d = user;
    d->has_acted = faults_do(d->world, d->fault);
}

bool sim_do(struct sim *w, const struct sim_fault *fault)
{
    struct doing d = {w, fault, false};
    return rescue_run(&w->rescue, act, &d) && d.has_acted;
}

/* ---- looking ---- */

uint64_t sim_hash(const struct sim *w)
{
    return w->tracer.hash;
}

struct sim_counts sim_counts(const struct sim *w)
{
    return (struct sim_counts){.events = w->kernel.ran,
                               .trace_events = w->tracer.gs,
                               .allocations = w->kernel.allocations + w->pool.allocations -
                                              w->base_allocations};
}

static struct member *find_member(const struct sim *w, const char *name)
{
    for (size_t i = 0; i < w->config.member_count; i++)
        if (strcmp(w->members[i].node.name, name) == 0)
            return &w->members[i];
    return NULL;
}

bool sim_member_counts(const struct sim *w, const char *member, struct sim_member_counts *out)
{
    const struct member *m = find_member(w, member);
    if (!m)
        return false;
    *out = m->counts;
    out->events = m->zk.events;
    return true;
}

const char *sim_member_state(const struct sim *w, const char *member)
{
    const struct member *m = find_member(w, member);
    if (!m)
        return NULL;
    if (m->life == MEMBER_DOWN)
        return "down";
    if (m->node.is_suspended)
        return "suspended";
    return machine_state_name(m);
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

size_t sim_member_owned(const struct sim *w, const char *member, const char *topic,
                        int32_t *partitions, size_t max)
{
    const struct member *m = find_member(w, member);
    size_t n = 0;
    for (size_t i = 0; m && m->life != MEMBER_DOWN && i < m->held_count && n < max; i++)
        if (strcmp(m->held[i].name, topic) == 0)
            partitions[n++] = m->held[i].partition;
    qsort(partitions, n, sizeof *partitions, by_number);
    return n;
}

struct lookup {
    struct sim *world;
    const char *path;
    const struct znode *node;
};

static void look_up(void *user)
{
    struct lookup *l = user;
    l->node = zk_tree_node(&l->world->zk.truth, zk_paths_id(&l->world->zk.paths, l->path));
}

static const struct znode *node_at(const struct sim *w, const char *path)
{
    struct lookup l = {(struct sim *)(uintptr_t)w, path, NULL};
    rescue_run(&l.world->rescue, look_up, &l); /* a path that is new is kept */
    return l.node;
}

bool sim_node(const struct sim *w, const char *path, struct bytes *data, uint64_t *owner)
{
    const struct znode *n = node_at(w, path);
    if (!n)
        return false;
    if (data)
        *data = n->data ? bytes_of(n->data->data, n->data->len) : BYTES_NULL;
    if (owner)
        *owner = n->owner;
    return true;
}

static size_t children_of(const struct sim *w, const char *what)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s/%s", ZK_PATH_CONSUMERS, w->group, what);
    const struct znode *n = node_at(w, path);
    return n ? n->children.count : 0;
}

size_t sim_registered(const struct sim *w)
{
    return children_of(w, "ids");
}

/* ---- stable? ---- */

static bool say(struct sim *w, const char *fmt, ...) ZKC_PRINTF(2, 3);
static bool say(struct sim *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    buf_clear(&w->why);
    buf_vappendf(&w->why, fmt, args);
    va_end(args);
    return false;
}

static bool is_partition_stable(struct sim *w, const struct topic_state *t, int32_t p)
{
    char path[700];
    uint64_t owner = 0;
    const struct member *holder = NULL;
    for (size_t i = 0; i < w->config.member_count; i++) {
        const struct member *m = &w->members[i];
        for (size_t k = 0; m->life == MEMBER_RUNS && k < m->held_count; k++) {
            if (m->held[k].partition != p || strcmp(m->held[k].name, t->name) != 0)
                continue;
            if (holder)
                return say(w, "%s/%d is held by %s and %s", t->name, p, holder->node.name,
                           m->node.name);
            holder = m;
            if (!m->held[k].is_begun)
                return say(w, "%s has no leader for %s/%d", m->node.name, t->name, p);
        }
    }
    if (!holder)
        return say(w, "%s/%d is held by nobody", t->name, p);
    snprintf(path, sizeof path, "%s/%s/owners/%s/%d", ZK_PATH_CONSUMERS, w->group, t->name, p);
    if (!sim_node(w, path, NULL, &owner))
        return say(w, "%s/%d is held by %s without an owner node", t->name, p, holder->node.name);
    if (owner != holder->zk.session)
        return say(w, "%s/%d is held by %s, its owner node is another session's", t->name, p,
                   holder->node.name);
    return true;
}

static bool is_member_stable(struct sim *w, const struct member *m, const struct member *first)
{
    const char *name = m->node.name;
    if (m->life == MEMBER_CLOSING)
        return say(w, "%s is leaving", name);
    if (m->node.is_suspended)
        return say(w, "%s is suspended", name);
    if (m->zk.state != ZK_CLIENT_CONNECTED)
        return say(w, "%s is not connected", name);
    const char *state = m->safe ? machine_state_name(m) : "owning";
    bool is_at_rest = strcmp(state, "owning") == 0 || strcmp(state, "idle") == 0;
    if (!m->is_settled || m->is_rebalancing || !is_at_rest)
        return say(w, "%s is rebalancing (%s)", name, state);
    bool is_alike = m->plan.config.skips_topics == first->plan.config.skips_topics;
    if (is_alike && m->good_view_hash != first->good_view_hash)
        return say(w, "%s and %s have different views", first->node.name, name);
    size_t partitions = 0;
    for (size_t i = 0; i < w->topic_count; i++)
        partitions += machine_subscribes(m, i) ? (size_t)w->topics[i].partitions : 0;
    if (m->good_view_partitions != partitions)
        return say(w, "%s has seen %zu partitions of %zu", name, m->good_view_partitions,
                   partitions);
    if (m->good_view_members != sim_registered(w))
        return say(w, "%s has seen %zu members of %zu", name, m->good_view_members,
                   sim_registered(w));
    return true;
}

static bool is_subscribed(const struct sim *w, size_t topic)
{
    for (size_t i = 0; i < w->config.member_count; i++)
        if (w->members[i].life == MEMBER_RUNS && machine_subscribes(&w->members[i], topic))
            return true;
    return false;
}

static bool is_stable(struct sim *w)
{
    const struct member *first = NULL;
    size_t running = 0;
    if (w->rescue.has_failed)
        return say(w, "memory ran out");
    for (size_t i = 0; i < w->config.member_count; i++) {
        const struct member *m = &w->members[i];
        if (m->life == MEMBER_DOWN)
            continue;
        first = first ? first : m;
        running++;
        if (!is_member_stable(w, m, first))
            return false;
    }
    if (sim_registered(w) != running)
        return say(w, "%zu members are registered, %zu run", sim_registered(w), running);
    for (size_t i = 0; i < w->topic_count; i++)
        for (int32_t p = 0; is_subscribed(w, i) && p < w->topics[i].partitions; p++)
            if (!is_partition_stable(w, &w->topics[i], p))
                return false;
    return true;
}

bool sim_is_stable(const struct sim *w, void *user)
{
    (void)user;
    return is_stable((struct sim *)(uintptr_t)w);
}

const char *sim_why(struct sim *w)
{
    if (is_stable(w))
        return "nothing is missing";
    const char *text = buf_text(&w->why);
    return text ? text : "";
}
