#include "study/sim/world.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sim_fault_kind_name(enum sim_fault_kind kind)
{
    static const char *const names[SIM_FAULT_KIND_COUNT] = {
        "join",      "leave",      "crash",       "suspend",    "expire",      "cut",
        "reset",     "delay",      "delay_watch", "lose_reply", "lag",         "stall",
        "slow_stop", "slow_app",   "partitions",  "topic",      "leader",      "unregister",
        "manager",   "slow_store", "topic_gone",  "seek",       "reset_offset"};
    return names[kind];
}

const char *sim_point_name(enum sim_point point)
{
    static const char *const names[SIM_POINT_COUNT] = {
        "any", "register", "claim",  "release", "commit", "offset_read", "members",
        "try", "stop",     "assign", "backoff", "store",  "stored"};
    return names[point];
}

enum sim_point point_of(enum zk_do what, const struct zk_path *path)
{
    enum trace_class c = path->info.class_of;
    if (what == ZK_DO_CREATE && c == TRACE_CLASS_ID)
        return SIM_POINT_REGISTER;
    if ((what == ZK_DO_CREATE || what == ZK_DO_MULTI) && c == TRACE_CLASS_OWNER)
        return SIM_POINT_CLAIM;
    if (what == ZK_DO_DELETE && c == TRACE_CLASS_OWNER)
        return SIM_POINT_RELEASE;
    if ((what == ZK_DO_SET || what == ZK_DO_CREATE) && c == TRACE_CLASS_OFFSET)
        return SIM_POINT_COMMIT;
    if (what == ZK_DO_GET && c == TRACE_CLASS_OFFSET)
        return SIM_POINT_OFFSET_READ;
    if (what == ZK_DO_CHILDREN && strcmp(path->leaf, "ids") == 0)
        return SIM_POINT_MEMBERS;
    return SIM_POINT_ANY;
}

/* ---- names ---- */

struct names {
    struct node **list;
    size_t count, cap;
};

static void add_node(struct sim *w, struct names *n, struct node *node)
{
    if (n->count == n->cap) {
        n->cap = n->cap ? n->cap * 2 : 4;
        n->list = pool_resize(&w->pool, n->list, n->cap * sizeof(struct node *));
    }
    n->list[n->count++] = node;
}

static bool is_named(const char *pattern, const struct node *node)
{
    size_t len = strlen(pattern);
    if (len > 0 && pattern[len - 1] == '*')
        return strncmp(pattern, node->name, len - 1) == 0;
    return strcmp(pattern, node->name) == 0;
}

static struct member *random_member(struct sim *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->config.member_count; i++)
        n += w->members[i].life == MEMBER_RUNS;
    size_t pick = (size_t)stream_below(&w->fault_stream, n);
    for (size_t i = 0; i < w->config.member_count; i++)
        if (w->members[i].life == MEMBER_RUNS && pick-- == 0)
            return &w->members[i];
    return NULL;
}

static struct names find_names(struct sim *w, const char *pattern)
{
    struct names n = {0};
    if (!pattern)
        return n;
    if (strcmp(pattern, "random") == 0) {
        struct member *m = random_member(w);
        if (m)
            add_node(w, &n, &m->node);
        return n;
    }
    if (strcmp(pattern, "zk:leader") == 0) {
        struct zk_server *leader = zk_ensemble_leader(&w->zk);
        if (leader)
            add_node(w, &n, &leader->node);
        return n;
    }
    for (size_t i = 0; i < w->config.member_count; i++)
        if (is_named(pattern, &w->members[i].node))
            add_node(w, &n, &w->members[i].node);
    for (unsigned i = 0; i < w->zk.count; i++)
        if (is_named(pattern, &w->zk.servers[i].node))
            add_node(w, &n, &w->zk.servers[i].node);
    for (unsigned i = 0; i < w->config.brokers.count; i++)
        if (is_named(pattern, &w->brokers[i].node))
            add_node(w, &n, &w->brokers[i].node);
    for (size_t i = 0; i < w->config.member_count; i++) {
        struct observer *o = &w->observers[i];
        if (is_named(pattern, &o->node))
            add_node(w, &n, &o->node);
        for (unsigned k = 0; k < o->further_count; k++)
            if (is_named(pattern, &o->further[k]))
                add_node(w, &n, &o->further[k]);
    }
    return n;
}

static struct member *member_of(struct node *node)
{
    return node->kind == NODE_MEMBER ? node->self : NULL;
}

static struct broker *broker_of(struct node *node)
{
    return node->kind == NODE_BROKER ? node->self : NULL;
}

static struct zk_server *server_of(struct node *node)
{
    return node->kind == NODE_ZK ? node->self : NULL;
}

/* What happens to a process happens to all members that are in it. */
static void add_process(struct sim *w, struct names *n)
{
    for (size_t i = 0, count = n->count; i < count; i++) {
        const struct member *m = member_of(n->list[i]);
        for (size_t k = 0; m && m->plan.process && k < w->config.member_count; k++) {
            struct member *other = &w->members[k];
            if (other != m && other->plan.process == m->plan.process && other->life != MEMBER_DOWN)
                add_node(w, n, &other->node);
        }
    }
}

/* ---- telling ---- */

static void tell(struct fault_state *f, enum trace_type type)
{
    static const char *const dirs[] = {"both", "out", "in"};
    struct sim *w = f->world;
    char target[160] = "";
    size_t n = 0;
    for (size_t i = 0; i < f->target_count && n < sizeof target; i++)
        n += (size_t)snprintf(target + n, sizeof target - n, "%s%s", i ? "," : "",
                              f->targets[i]->name);
    if (f->fault.topic)
        snprintf(target, sizeof target, "%s", f->fault.topic);
    bool is_link = f->fault.kind == SIM_CUT || f->fault.kind == SIM_DELAY;
    struct trace_event e = tracer_event(&w->tracer, type, NULL);
    e.fault.id = f->id;
    e.fault.kind = sim_fault_kind_name(f->fault.kind);
    e.fault.target = target;
    e.fault.peer = f->fault.peer ? f->fault.peer : "";
    e.fault.dir = is_link ? dirs[f->fault.dir] : "";
    tracer_emit(&w->tracer, &w->src_control, &e);
}

/* ---- acting ---- */

static void set_link(struct fault_state *f, struct node *a, struct node *b, bool is_on)
{
    struct net *n = &f->world->net;
    if (a == b)
        return;
    if (f->fault.kind == SIM_CUT) {
        if (f->fault.dir != SIM_IN)
            net_cut(n, a, b, is_on);
        if (f->fault.dir != SIM_OUT)
            net_cut(n, b, a, is_on);
        return;
    }
    uint64_t delay = is_on ? f->fault.value_ns : 0;
    if (f->fault.dir != SIM_IN)
        net_delay(n, a, b, delay);
    if (f->fault.dir != SIM_OUT)
        net_delay(n, b, a, delay);
}

static void reset_link(struct node *a, const struct node *b)
{
    for (struct conn *c = a->conns, *next; c; c = next) {
        next = c->next[conn_side(c, a)];
        if (conn_peer(c, a) == b)
            conn_reset(c);
    }
}

static void act_on_links(struct fault_state *f, bool is_on)
{
    for (size_t i = 0; i < f->target_count; i++)
        for (size_t k = 0; k < f->peer_count; k++) {
            if (f->fault.kind == SIM_RESET)
                reset_link(f->targets[i], f->peers[k]);
            else
                set_link(f, f->targets[i], f->peers[k], is_on);
        }
}

static bool crash(struct node *node)
{
    if (!node->is_up)
        return false;
    switch (node->kind) {
    case NODE_MEMBER: member_crash(node->self); break;
    case NODE_ZK: zk_server_crash(node->self); break;
    case NODE_BROKER: broker_crash(node->self); break;
    case NODE_OBSERVER: return false; /* with its process only */
    }
    return true;
}

static void restart(struct node *node)
{
    switch (node->kind) {
    case NODE_MEMBER: member_start(node->self); break;
    case NODE_ZK: zk_server_restart(node->self); break;
    case NODE_BROKER: broker_restart(node->self); break;
    case NODE_OBSERVER: break;
    }
}

static bool suspend(struct node *node, bool is_on)
{
    struct member *m = member_of(node);
    if (!node->is_up || node->is_suspended == is_on || node->kind == NODE_OBSERVER)
        return false;
    if (m && is_on)
        member_suspend(m);
    else if (m)
        member_resume(m);
    else if (is_on)
        node_suspend(node);
    else
        node_resume(node);
    return true;
}

static bool lose_reply(struct fault_state *f, struct member *m)
{
    struct lose_reply *l = pool_take(&f->world->pool, sizeof *l);
    *l = (struct lose_reply){.next = f->world->losers, .member = m, .point = f->fault.point};
    f->world->losers = l;
    return true;
}

bool faults_lose_answer(struct sim *w, const struct node *client, enum sim_point point)
{
    if (!w->losers || client->kind != NODE_MEMBER)
        return false;
    for (struct lose_reply **l = &w->losers; *l; l = &(*l)->next) {
        struct lose_reply *found = *l;
        if (found->member != client->self ||
            (found->point != SIM_POINT_ANY && found->point != point))
            continue;
        *l = found->next;
        pool_give(&w->pool, found);
        return true;
    }
    return false;
}

static bool unregister(struct sim *w, const struct member *m)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/ids/%s", ZK_PATH_CONSUMERS, w->group, m->whole_id);
    if (m->life == MEMBER_DOWN || !sim_node(w, path, NULL, NULL))
        return false;
    zk_ensemble_write(&w->zk, ZK_DO_DELETE, path, NULL);
    return true;
}

static bool act_on_member(struct fault_state *f, struct member *m, bool is_on)
{
    const struct sim_member_config *c = &m->plan.config;
    switch (f->fault.kind) {
    case SIM_JOIN:
        if (!is_on || m->life != MEMBER_DOWN)
            return false;
        member_start(m);
        return true;
    case SIM_LEAVE:
        if (!is_on || m->life != MEMBER_RUNS)
            return false;
        member_leave(m);
        return true;
    case SIM_EXPIRE:
        if (!is_on || !m->zk.session)
            return false;
        zk_ensemble_close_session(&f->world->zk, m->zk.session);
        return true;
    case SIM_UNREGISTER: return is_on && unregister(f->world, m);
    case SIM_LOSE_REPLY: return is_on && lose_reply(f, m);
    case SIM_SEEK: return is_on && app_seek(m, f->fault.count, f->fault.value_ns);
    case SIM_DELAY_WATCH: m->watch_delay_ns = is_on ? f->fault.value_ns : 0; return true;
    case SIM_SLOW_STOP: m->stop_ns = is_on ? f->fault.value_ns : c->stop_ns; return true;
    case SIM_SLOW_APP:
        if (m->life == MEMBER_RUNS && !m->node.is_suspended)
            app_settle(m);
        m->process_ns = is_on ? f->fault.value_ns : c->process_ns;
        member_arm(m);
        return true;
    default: return false;
    }
}

static bool act_on_server(struct fault_state *f, struct zk_server *s, bool is_on)
{
    uint64_t value = is_on ? f->fault.value_ns : 0;
    if (f->fault.kind == SIM_LAG)
        s->lag_ns = value;
    else if (f->fault.kind == SIM_STALL)
        s->stall_ns = value;
    else
        return false;
    return true;
}

static bool act_on_broker(struct fault_state *f, struct broker *b, bool is_on)
{
    if (f->fault.kind == SIM_MANAGER)
        return is_on && broker_manages(b);
    if (f->fault.kind != SIM_SLOW_STORE)
        return false;
    b->store_ns = is_on ? f->fault.value_ns : 0;
    return true;
}

static bool act_on(struct fault_state *f, struct node *node, bool is_on)
{
    if (f->fault.kind == SIM_CRASH) {
        if (is_on)
            return crash(node);
        restart(node);
        return true;
    }
    if (f->fault.kind == SIM_SUSPEND)
        return suspend(node, is_on);
    if (member_of(node))
        return act_on_member(f, member_of(node), is_on);
    if (node->kind == NODE_OBSERVER)
        return is_on && f->fault.kind == SIM_EXPIRE && observer_expire(node->self, node);
    if (broker_of(node))
        return act_on_broker(f, broker_of(node), is_on);
    return server_of(node) && act_on_server(f, server_of(node), is_on);
}

static void write_topic(struct sim *w, const struct topic_state *t, int32_t partitions,
                        enum zk_do what)
{
    char path[300];
    size_t size = 64 + (size_t)partitions * 24;
    char *text = pool_take(&w->pool, size);
    snprintf(path, sizeof path, "/brokers/topics/%s", t->name);
    zk_ensemble_write(&w->zk, what, path,
                      world_topic_json(partitions, text, size, w->config.brokers.count));
    pool_give(&w->pool, text);
}

static bool make_topic(struct sim *w, struct topic_state *t, const struct sim_fault *f)
{
    if (t && (!t->is_gone || t->partitions_due))
        return false;
    if (!t)
        t = &w->topics[world_add_topic(w, f->topic, f->count, f->value_ns, 0)];
    if (t->is_gone) { /* its messages begin when ZooKeeper has it: world_make_again() */
        t->partitions_due = f->count;
        t->rate_mhz = f->value_ns ? f->value_ns : t->rate_mhz;
    }
    write_topic(w, t, f->count, ZK_DO_CREATE);
    return true;
}

/* As `zkconsumer offsets reset --force` does: with a leading zero, which a live owner obeys. */
static bool reset_offset(struct sim *w, const struct topic_state *t, const struct sim_fault *f)
{
    char path[512], text[32];
    if (f->count >= t->partitions)
        return false;
    int64_t end = log_end(&t->logs[f->count], world_now(w));
    snprintf(path, sizeof path, "%s/%s/offsets/%s/%d", ZK_PATH_CONSUMERS, w->group, t->name,
             (int)f->count);
    snprintf(text, sizeof text, "0%" PRIu64, f->value_ns % (uint64_t)(end + 1));
    if (!sim_node(w, path, NULL, NULL))
        return false;
    zk_ensemble_write(&w->zk, ZK_DO_SET, path, text);
    return true;
}

static bool act_on_topic(struct fault_state *f)
{
    struct sim *w = f->world;
    struct topic_state *t = world_topic(w, f->fault.topic);
    if (f->fault.kind == SIM_TOPIC)
        return make_topic(w, t, &f->fault);
    if (!t || t->is_gone)
        return false;
    if (f->fault.kind == SIM_TOPIC_GONE) {
        world_drop_topic(w, t);
        write_topic(w, t, 0, ZK_DO_DELETE);
        return true;
    }
    if (f->fault.kind == SIM_RESET_OFFSET)
        return reset_offset(w, t, &f->fault);
    if (f->fault.kind == SIM_PARTITIONS) {
        if (f->fault.count <= t->partitions)
            return false;
        world_grow_topic(w, t, f->fault.count);
        write_topic(w, t, t->partitions, ZK_DO_SET);
        return true;
    }
    if (f->fault.count >= t->partitions || f->peer_count == 0 || f->peers[0]->kind != NODE_BROKER)
        return false;
    t->logs[f->fault.count].leader = ((struct broker *)f->peers[0]->self)->id;
    return true;
}

static bool is_about_topic(enum sim_fault_kind kind)
{
    switch (kind) {
    case SIM_PARTITIONS:
    case SIM_TOPIC:
    case SIM_TOPIC_GONE:
    case SIM_RESET_OFFSET:
    case SIM_LEADER: return true;
    default: return false;
    }
}

static bool is_about_links(enum sim_fault_kind kind)
{
    return kind == SIM_CUT || kind == SIM_RESET || kind == SIM_DELAY;
}

/* Those that go on until something ends them. */
static bool lasts(enum sim_fault_kind kind)
{
    switch (kind) {
    case SIM_CRASH:
    case SIM_SUSPEND:
    case SIM_CUT:
    case SIM_DELAY:
    case SIM_DELAY_WATCH:
    case SIM_LAG:
    case SIM_STALL:
    case SIM_SLOW_STOP:
    case SIM_SLOW_APP:
    case SIM_SLOW_STORE: return true;
    default: return false;
    }
}

static void end(struct fault_state *f, bool is_healing)
{
    if (!f->is_active)
        return;
    f->is_active = false;
    if (is_about_links(f->fault.kind))
        act_on_links(f, false);
    for (size_t i = 0; i < f->target_count && !is_about_links(f->fault.kind); i++)
        if (!is_healing || f->fault.kind != SIM_CRASH || !member_of(f->targets[i]))
            act_on(f, f->targets[i], false);
    tell(f, TRACE_HEAL);
}

static void time_is_over(void *actor, void *arg)
{
    (void)arg;
    end(actor, false);
}

/* Only those stay among the targets that it could act on. */
static bool act(struct fault_state *f)
{
    size_t n = 0;
    if (is_about_topic(f->fault.kind))
        return act_on_topic(f);
    if (is_about_links(f->fault.kind)) {
        act_on_links(f, true);
        return f->target_count > 0 && f->peer_count > 0;
    }
    for (size_t i = 0; i < f->target_count; i++)
        if (act_on(f, f->targets[i], true))
            f->targets[n++] = f->targets[i];
    f->target_count = n;
    return n > 0;
}

bool faults_act(struct fault_state *f)
{
    struct sim *w = f->world;
    const char *peer = f->fault.peer ? f->fault.peer : is_about_links(f->fault.kind) ? "zk*" : NULL;
    struct names who = find_names(w, f->fault.who), peers = find_names(w, peer);
    if (f->fault.kind == SIM_CRASH || f->fault.kind == SIM_SUSPEND)
        add_process(w, &who);
    f->targets = who.list;
    f->target_count = who.count;
    f->peers = peers.list;
    f->peer_count = peers.count;
    f->id = w->fault_ids + 1;
    f->is_active = lasts(f->fault.kind);
    if (!act(f)) {
        f->is_active = false;
        return false;
    }
    w->fault_ids++;
    tell(f, TRACE_FAULT);
    if (f->is_active && f->fault.for_ns && f->fault.for_ns != SIM_NEVER)
        kernel_at(&w->kernel, world_now(w) + f->fault.for_ns, time_is_over, f, NULL);
    return true;
}

/* ---- when ---- */

static void time_has_come(void *actor, void *arg)
{
    struct fault_state *f = actor;
    (void)arg;
    if (!f->world->is_healed)
        faults_act(f);
}

static void schedule(struct fault_state *f, uint64_t from_ns)
{
    f->is_due = true;
    kernel_at(&f->world->kernel, from_ns + f->fault.when.base_ns + f->jitter_ns, time_has_come, f,
              NULL);
}

void faults_start(struct sim *w)
{
    for (size_t i = 0; i < w->fault_count; i++)
        if (w->faults[i].fault.when.kind == SIM_AT) {
            struct fault_state *f = &w->faults[i];
            uint64_t at = f->fault.when.base_ns + f->jitter_ns;
            f->is_due = true;
            kernel_at(&w->kernel, at > world_now(w) ? at : world_now(w), time_has_come, f, NULL);
        }
}

void faults_cause(struct sim *w, uint32_t cause)
{
    for (size_t i = 0; i < w->fault_count; i++) {
        struct fault_state *f = &w->faults[i];
        if (f->fault.when.kind == SIM_AFTER_CAUSE && !f->is_due && f->fault.when.cause == cause)
            schedule(f, world_now(w));
    }
}

void faults_point(struct sim *w, struct member *m, enum sim_point point)
{
    if (point == SIM_POINT_ANY)
        return;
    m->points[point]++;
    for (size_t i = 0; i < w->fault_count; i++) {
        struct fault_state *f = &w->faults[i];
        const struct sim_when *when = &f->fault.when;
        if (when->kind != SIM_AT_POINT || f->is_due || when->point != point ||
            (strcmp(when->who, "any") != 0 && strcmp(when->who, m->node.name) != 0))
            continue;
        if (++f->seen == when->nth)
            schedule(f, world_now(w));
    }
}

#define OPERATOR_NS (10 * SIM_S) /* until an operator looks whether all servers are back */

static void relieve(void *actor, void *arg)
{
    struct sim *w = actor;
    (void)arg;
    if (zk_ensemble_relieve(&w->zk))
        kernel_at(&w->kernel, world_now(w) + OPERATOR_NS, relieve, w, NULL);
}

void faults_heal(struct sim *w)
{
    w->is_healed = true;
    w->losers = NULL;
    for (size_t i = 0; i < w->fault_count; i++)
        end(&w->faults[i], true);
    for (struct fault_state *f = w->by_hand; f; f = f->next)
        end(f, true);
    net_heal(&w->net);
    kernel_at(&w->kernel, world_now(w) + OPERATOR_NS, relieve, w, NULL);
}

/* ---- reading the list ---- */

static bool can_exist(struct sim *w, const char *name)
{
    if (strcmp(name, "random") == 0 || strcmp(name, "zk:leader") == 0)
        return true;
    struct names n = find_names(w, name);
    bool is_any = n.count > 0;
    pool_give(&w->pool, n.list);
    return is_any;
}

static enum zkc_err refuse(char *why, size_t why_size, size_t i, const char *what, const char *name)
{
    snprintf(why, why_size, "fault %zu: %s%s%s", i + 1, what, name ? ": " : "", name ? name : "");
    return ZKC_ERR_CONFIG;
}

static enum zkc_err check(struct sim *w, const struct sim_fault *f, size_t i, char *why,
                          size_t why_size)
{
    bool is_topic = is_about_topic(f->kind);
    if (!is_topic && !f->who)
        return refuse(why, why_size, i, "who is missing", sim_fault_kind_name(f->kind));
    if (!is_topic && !can_exist(w, f->who))
        return refuse(why, why_size, i, "who names nobody", f->who);
    if (f->peer && !can_exist(w, f->peer))
        return refuse(why, why_size, i, "peer names nobody", f->peer);
    if (is_topic && !f->topic)
        return refuse(why, why_size, i, "topic is missing", sim_fault_kind_name(f->kind));
    if ((f->kind == SIM_PARTITIONS || f->kind == SIM_TOPIC) && f->count <= 0)
        return refuse(why, why_size, i, "count has to be at least 1", NULL);
    if (f->kind == SIM_LEADER && (!f->peer || f->count < 0))
        return refuse(why, why_size, i, "a leader needs a broker (peer) and a partition (count)",
                      NULL);
    if ((f->kind == SIM_SEEK || f->kind == SIM_RESET_OFFSET) && f->count < 0)
        return refuse(why, why_size, i, "count has to be at least 0", NULL);
    if (f->when.kind == SIM_AT_POINT &&
        (!f->when.who || (strcmp(f->when.who, "any") != 0 && !can_exist(w, f->when.who))))
        return refuse(why, why_size, i, "the point names nobody", f->when.who);
    if (f->when.kind == SIM_AT_POINT && (f->when.nth == 0 || f->when.point == SIM_POINT_ANY))
        return refuse(why, why_size, i, "a point needs a name and a number from 1", NULL);
    if (f->when.kind == SIM_AFTER_CAUSE && f->when.cause == 0)
        return refuse(why, why_size, i, "causes are numbered from 1", NULL);
    if (f->when.base_ns > SIM_NEVER / 4 || f->when.jitter_ns > SIM_NEVER / 4)
        return refuse(why, why_size, i, "impossible time", NULL);
    return ZKC_OK;
}

static void take_fault(struct sim *w, struct fault_state *f, const struct sim_fault *fault)
{
    f->fault = *fault;
    f->world = w;
    f->fault.who = world_text(w, fault->who);
    f->fault.peer = world_text(w, fault->peer);
    f->fault.topic = world_text(w, fault->topic);
    f->fault.when.who = world_text(w, fault->when.who);
}

enum zkc_err faults_init(struct sim *w, char *why, size_t why_size)
{
    w->fault_stream = stream_of(w->config.seed, "faults", "who");
    w->fault_count = w->config.fault_count;
    w->faults = pool_take(&w->pool, (w->fault_count + 1) * sizeof *w->faults);
    for (size_t i = 0; i < w->fault_count; i++) {
        enum zkc_err err = check(w, &w->config.faults[i], i, why, why_size);
        char name[32];
        if (err)
            return err;
        snprintf(name, sizeof name, "fault%zu", i);
        struct stream when = stream_of(w->config.seed, name, "when");
        take_fault(w, &w->faults[i], &w->config.faults[i]);
        w->faults[i].number = (uint32_t)i;
        w->faults[i].jitter_ns = stream_below(&when, w->faults[i].fault.when.jitter_ns + 1);
    }
    return ZKC_OK;
}

bool faults_do(struct sim *w, const struct sim_fault *fault)
{
    struct fault_state *f = pool_take(&w->pool, sizeof *f);
    char why[200];
    if (check(w, fault, 0, why, sizeof why))
        return false;
    take_fault(w, f, fault);
    f->next = w->by_hand;
    w->by_hand = f;
    return faults_act(f);
}
