/* The ensemble as a whole: who is asked to lead, what stood in the tree before, and writes that
 * come from nobody's session. */
#include "study/sim/zk_server.h"
#include <stdio.h>
#include <string.h>

#define POLL_NS  (20 * SIM_MS)
#define ADMIN_NS (50 * SIM_MS)

/* ---- what a server's process does ---- */

static void opened(void *self, struct conn *c)
{
    struct zk_server *s = self;
    if (conn_peer(c, &s->node)->kind != NODE_ZK)
        c->user[conn_side(c, &s->node)] = zk_clients_add(s, c);
}

static void came(void *self, struct conn *c, void *message)
{
    struct zk_server *s = self;
    struct msg *m = message;
    if (conn_peer(c, &s->node)->kind != NODE_ZK)
        zk_clients_came(s, conn_user(c, &s->node), message);
    else if (m->type == MSG_ZK_FORWARD)
        zk_quorum_forwarded(s, message);
    else
        zk_quorum_came(s, c, message);
}

static void closed(void *self, struct conn *c)
{
    struct zk_server *s = self;
    if (conn_peer(c, &s->node)->kind != NODE_ZK)
        zk_clients_closed(s, conn_user(c, &s->node));
    else
        zk_quorum_closed(s, c);
}

const struct node_ops zk_server_ops = {opened, came, closed};

/* ---- elections ---- */

static bool can_talk(const struct zk_server *a, const struct zk_server *b)
{
    const struct net *n = a->e->net;
    return node_runs(&a->node) && node_runs(&b->node) && !net_is_cut(n, &a->node, &b->node) &&
           !net_is_cut(n, &b->node, &a->node);
}

static bool is_looking(const struct zk_server *s)
{
    return s->role == ZK_LOOKING && node_runs(&s->node);
}

static struct zk_server *leader_for(struct zk_server *s)
{
    struct zk_server *best = NULL;
    for (unsigned i = 0; i < s->e->count; i++) {
        struct zk_server *l = &s->e->servers[i];
        if (l->role == ZK_LEADING && l->epoch >= s->accepted_epoch && can_talk(s, l) &&
            (!best || l->epoch > best->epoch))
            best = l;
    }
    return best;
}

/* FastLeaderElection.totalOrderPredicate: the later epoch, then the longer log, then the number. */
static bool is_better(const struct zk_server *a, const struct zk_server *b)
{
    if (a->current_epoch != b->current_epoch)
        return a->current_epoch > b->current_epoch;
    if (zk_server_last_zxid(a) != zk_server_last_zxid(b))
        return zk_server_last_zxid(a) > zk_server_last_zxid(b);
    return a->index > b->index;
}

/* The best of those that `s` can talk to; NULL without a quorum. */
static struct zk_server *winner_for(struct zk_server *s)
{
    struct zk_server *best = NULL;
    unsigned n = 0;
    for (unsigned i = 0; i < s->e->count; i++) {
        struct zk_server *o = &s->e->servers[i];
        if (!is_looking(o) || (o != s && !can_talk(s, o)))
            continue;
        n++;
        if (!best || is_better(o, best))
            best = o;
    }
    return n >= s->e->quorum ? best : NULL;
}

/* Later than whatever anybody has promised or tries to lead in. (In the real thing the leader finds
 * it in what its followers have promised.) */
static uint32_t next_epoch(const struct zk_ensemble *e)
{
    uint32_t highest = 0;
    for (unsigned i = 0; i < e->count; i++) {
        const struct zk_server *s = &e->servers[i];
        highest = s->epoch > highest ? s->epoch : highest;
        highest = s->accepted_epoch > highest ? s->accepted_epoch : highest;
    }
    return highest + 1;
}

static void hold_election(struct zk_ensemble *e)
{
    struct zk_server *winner = NULL;
    for (unsigned i = 0; i < e->count && !winner; i++)
        if (is_looking(&e->servers[i]))
            winner = winner_for(&e->servers[i]);
    if (!winner) {
        e->elect_at_ns = SIM_NEVER;
        return;
    }
    if (e->elect_at_ns == SIM_NEVER)
        e->elect_at_ns = e->kernel->now_ns + stream_draw(&e->election_stream, &e->config.election);
    if (e->elect_at_ns > e->kernel->now_ns)
        return;
    e->elect_at_ns = SIM_NEVER;
    if (winner_for(winner) == winner)
        zk_quorum_lead(winner, next_epoch(e));
}

static void poll(void *actor, void *arg)
{
    struct zk_ensemble *e = actor;
    bool is_anybody = false;
    (void)arg;
    e->is_polling = false;
    for (unsigned i = 0; i < e->count; i++) {
        struct zk_server *s = &e->servers[i], *leader;
        if (is_looking(s) && (leader = leader_for(s)))
            zk_quorum_join(s, leader);
    }
    hold_election(e);
    for (unsigned i = 0; i < e->count; i++)
        is_anybody |= e->servers[i].role == ZK_LOOKING;
    if (is_anybody)
        zk_elect_poll(e);
}

void zk_elect_poll(struct zk_ensemble *e)
{
    if (e->is_polling)
        return;
    e->is_polling = true;
    uint64_t at = e->kernel->now_ns + POLL_NS;
    if (e->elect_at_ns > e->kernel->now_ns && e->elect_at_ns < at)
        at = e->elect_at_ns;
    kernel_at(e->kernel, at, poll, e, NULL);
}

struct zk_server *zk_ensemble_leader(struct zk_ensemble *e)
{
    for (unsigned i = 0; i < e->count; i++)
        if (e->servers[i].role == ZK_LEADING && zk_server_serves(&e->servers[i]) &&
            node_runs(&e->servers[i].node))
            return &e->servers[i];
    return NULL;
}

/* ---- writes by nobody ---- */

static void admin_send(struct zk_ensemble *e, struct zk_admin_write *w, struct zk_server *leader)
{
    struct zk_request *r = pool_take(e->pool, sizeof *r);
    r->type = MSG_ZK_FORWARD;
    r->what = w->what;
    r->session = w->session;
    r->origin = -1;
    r->xid = w->id;
    r->write = w->write;
    r->write.data = w->write.data ? value_ref(w->write.data) : NULL;
    w->sent_to = leader->index;
    w->sent_in = leader->turn;
    zk_quorum_submit(leader, r);
}

/* What was given to a leader that leads no more is given to the next, in the same order. */
static void admin_turn(void *actor, void *arg)
{
    struct zk_ensemble *e = actor;
    struct zk_server *leader = zk_ensemble_leader(e);
    (void)arg;
    e->is_admin_polling = false;
    for (struct zk_admin_write *w = leader ? e->admin : NULL; w; w = w->next)
        if (w->sent_to != leader->index || w->sent_in != leader->turn)
            admin_send(e, w, leader);
    if (!e->admin)
        return;
    e->is_admin_polling = true;
    kernel_at(e->kernel, e->kernel->now_ns + ADMIN_NS, admin_turn, e, NULL);
}

void zk_admin_committed(struct zk_ensemble *e, const struct zk_txn *x)
{
    if (x->origin >= 0 || x->xid == 0)
        return;
    for (struct zk_admin_write **at = &e->admin; *at; at = &(*at)->next) {
        struct zk_admin_write *w = *at;
        if (w->id != x->xid)
            continue;
        *at = w->next;
        if (!*at)
            e->admin_end = at;
        value_unref(e->pool, w->write.data);
        pool_give(e->pool, w);
        return;
    }
}

static void add_admin(struct zk_ensemble *e, struct zk_admin_write write)
{
    struct zk_admin_write *w = pool_take(e->pool, sizeof *w);
    *w = write;
    w->id = ++e->admin_writes;
    w->sent_to = -1;
    *e->admin_end = w;
    e->admin_end = &w->next;
    if (e->is_admin_polling)
        return;
    e->is_admin_polling = true;
    kernel_at(e->kernel, e->kernel->now_ns, admin_turn, e, NULL);
}

void zk_ensemble_write(struct zk_ensemble *e, enum zk_do what, const char *path, const char *data)
{
    struct zk_write w = {.what = what,
                         .path = zk_paths_id(&e->paths, path),
                         .data = data ? value_new(e->pool, data, strlen(data)) : NULL,
                         .version = ZK_ANY_VERSION};
    add_admin(e, (struct zk_admin_write){.what = what, .write = w});
}

void zk_ensemble_close_session(struct zk_ensemble *e, uint64_t session)
{
    add_admin(e, (struct zk_admin_write){.what = ZK_DO_CLOSE, .session = session});
}

/* ---- birth and death ---- */

void zk_ensemble_init(struct zk_ensemble *e, struct net *net, const struct sim_config *config)
{
    memset(e, 0, sizeof *e);
    e->kernel = net->kernel;
    e->pool = net->pool;
    e->net = net;
    e->config = config->zk;
    e->bugs = config->bugs;
    e->count = config->zk.servers;
    e->quorum = e->count / 2 + 1;
    e->elect_at_ns = SIM_NEVER;
    e->admin_end = &e->admin;
    e->election_stream = stream_of(config->seed, "zk", "elections");
    e->history_cap = 1024;
    e->history = pool_take(e->pool, e->history_cap * sizeof(struct zk_txn *));
    zk_paths_init(&e->paths, e->pool);
    zk_tree_init(&e->truth, e->pool, &e->paths);
    e->servers = pool_take(e->pool, e->count * sizeof *e->servers);
    for (unsigned i = 0; i < e->count; i++) {
        struct zk_server *s = &e->servers[i];
        char name[NODE_NAME_SIZE];
        snprintf(name, sizeof name, "zk%u", i + 1);
        s->e = e;
        s->index = (int)i;
        s->syncs_end = &s->syncs;
        node_init(&s->node, net, name, NODE_ZK, &zk_server_ops, s);
        s->disk_stream = stream_of(config->seed, name, "disk");
        struct stream phase = stream_of(config->seed, name, "tick");
        s->phase_ns = stream_below(&phase, config->zk.tick_ms * SIM_MS);
        zk_tree_init(&s->tree, e->pool, &e->paths);
    }
}

void zk_ensemble_deinit(struct zk_ensemble *e)
{
    e->count = 0; /* all memory is the pool's */
}

static void preset_one(struct zk_ensemble *e, uint32_t path, const char *data)
{
    struct zk_txn *x = zk_txn_new(e->pool, 1);
    x->zxid = e->truth.zxid + 1;
    x->what = ZK_DO_CREATE;
    x->count = 1;
    x->parts[0] = (struct zk_part){.what = ZK_DO_CREATE,
                                   .path = path,
                                   .data = data ? value_new(e->pool, data, strlen(data)) : NULL};
    if (e->on_commit)
        e->on_commit(e->user, x, &e->servers[e->count - 1]);
    zk_tree_apply(&e->truth, x, NULL, NULL);
    for (unsigned i = 0; i < e->count; i++)
        zk_tree_apply(&e->servers[i].tree, x, NULL, NULL);
    zk_txn_unref(e->pool, x);
}

static void preset_parents(struct zk_ensemble *e, uint32_t path)
{
    uint32_t parent = zk_path_at(&e->paths, path)->parent;
    if (zk_tree_node(&e->truth, parent))
        return;
    preset_parents(e, parent);
    preset_one(e, parent, NULL);
}

void zk_ensemble_preset(struct zk_ensemble *e, const char *path, const char *data)
{
    uint32_t id = zk_paths_id(&e->paths, path);
    if (zk_tree_node(&e->truth, id))
        return;
    preset_parents(e, id);
    preset_one(e, id, data);
}

void zk_ensemble_start(struct zk_ensemble *e)
{
    struct zk_server *leader = &e->servers[e->count - 1];
    for (unsigned i = 0; i < e->count; i++) {
        struct zk_server *s = &e->servers[i];
        node_start(&s->node);
        s->durable_zxid = s->tree.zxid;
        s->role = ZK_LOOKING;
        zk_quorum_start_ticking(s);
    }
    zk_quorum_lead(leader, 1);
    for (unsigned i = 0; i + 1 < e->count; i++)
        zk_quorum_join(&e->servers[i], leader);
}
