#include "study/sim/net.h"
#include "study/sim/zk_msg.h"
#include <assert.h>
#include <string.h>

enum packet_type { PACKET_DATA, PACKET_OPEN, PACKET_CLOSE, PACKET_EVENT };

struct packet {
    struct packet *next;
    enum packet_type type;
    struct conn *conn; /* not of EVENT */
    int side;          /* that receives */
    uint32_t life;     /* of the receiver; EVENT */
    void *message;     /* DATA; EVENT: argument */
    void (*fn)(void *self, void *arg);
    struct node *node; /* EVENT */
};

void net_init(struct net *n, struct kernel *k, struct pool *pool, const struct sim_config *config)
{
    memset(n, 0, sizeof *n);
    n->kernel = k;
    n->pool = pool;
    n->seed = config->seed;
    n->client_link = config->client_link;
    n->server_link = config->zk.link;
    n->client_stream = stream_of(config->seed, "net", "clients");
    n->server_stream = stream_of(config->seed, "net", "servers");
}

void node_init(struct node *node, struct net *net, const char *name, enum node_kind kind,
               const struct node_ops *ops, void *self)
{
    *node = (struct node){.net = net, .kind = kind, .ops = ops, .self = self};
    for (size_t i = 0; name[i] && i + 1 < sizeof node->name; i++)
        node->name[i] = name[i];
    node->inbox_end = &node->inbox;
}

/* ---- connections ---- */

static void conn_free_if_done(struct conn *c)
{
    if (c->packets == 0 && !c->is_open[0] && !c->is_open[1] && !c->is_listed_held)
        pool_give(c->node[0]->net->pool, c);
}

void conn_keep(struct conn *c)
{
    c->packets++;
}

void conn_let_go(struct conn *c)
{
    c->packets--;
    conn_free_if_done(c);
}

static void unlink_side(struct conn *c, int side)
{
    if (!c->link[side])
        return;
    struct conn *next = c->next[side];
    *c->link[side] = next;
    if (next)
        next->link[conn_side(next, c->node[side])] = c->link[side];
    c->link[side] = NULL;
}

static void link_side(struct conn *c, int side)
{
    struct node *node = c->node[side];
    c->next[side] = node->conns;
    if (node->conns)
        node->conns->link[conn_side(node->conns, node)] = &c->next[side];
    node->conns = c;
    c->link[side] = &node->conns;
}

static void shut_side(struct conn *c, int side)
{
    c->is_open[side] = false;
    unlink_side(c, side);
}

static struct link_fault *find_fault(struct net *n, const struct node *from, const struct node *to)
{
    for (size_t i = 0; i < n->fault_count; i++)
        if (n->faults[i].from == from && n->faults[i].to == to)
            return &n->faults[i];
    return NULL;
}

static bool is_cut(struct net *n, const struct node *from, const struct node *to)
{
    if (n->fault_count == 0)
        return false;
    const struct link_fault *f = find_fault(n, from, to);
    return f && f->is_cut;
}

bool net_is_cut(const struct net *n, const struct node *from, const struct node *to)
{
    return is_cut((struct net *)(uintptr_t)n, from, to);
}

static uint64_t latency(struct net *n, const struct node *from, const struct node *to)
{
    bool among_servers = from->kind == NODE_ZK && to->kind == NODE_ZK;
    uint64_t ns = among_servers ? stream_draw(&n->server_stream, &n->server_link)
                                : stream_draw(&n->client_stream, &n->client_link);
    if (n->fault_count > 0) {
        const struct link_fault *f = find_fault(n, from, to);
        ns += f ? f->delay_ns : 0;
    }
    return ns;
}

static void arrive(void *actor, void *arg);

static void put_packet(struct packet ***end, struct packet *p)
{
    p->next = NULL;
    **end = p;
    *end = &p->next;
}

static void send_packet(struct conn *c, int from_side, enum packet_type type, void *message)
{
    struct net *n = c->node[0]->net;
    struct node *from = c->node[from_side], *to = c->node[!from_side];
    struct packet *p = pool_take(n->pool, sizeof *p);
    p->type = type;
    p->conn = c;
    p->side = !from_side;
    p->message = message;
    c->packets++;
    uint64_t at = n->kernel->now_ns;
    if (from_side == 0 && at < c->ready_ns && type != PACKET_OPEN)
        at = c->ready_ns;
    at += latency(n, from, to);
    if (at <= c->last_ns[from_side])
        at = c->last_ns[from_side] + 1;
    c->last_ns[from_side] = at;
    kernel_at(n->kernel, at, arrive, p, NULL);
}

struct conn *net_connect(struct node *from, struct node *to, void *user)
{
    struct net *n = from->net;
    struct conn *c = pool_take(n->pool, sizeof *c);
    c->node[0] = from;
    c->node[1] = to;
    c->user[0] = user;
    c->life[0] = from->life;
    c->held_end[0] = &c->held[0];
    c->held_end[1] = &c->held[1];
    c->is_open[0] = c->is_open[1] = true;
    link_side(c, 0);
    link_side(c, 1);
    c->life[1] = to->life;
    send_packet(c, 0, PACKET_OPEN, NULL); /* SYN */
    c->ready_ns = c->last_ns[0] + latency(n, to, from);
    return c;
}

void conn_send(struct conn *c, struct node *from, void *message)
{
    int side = conn_side(c, from);
    if (c->is_open[side])
        send_packet(c, side, PACKET_DATA, message);
    else
        msg_free(from->net->pool, message);
}

static void drop_packet(struct net *n, struct packet *p);

/* A client that gives up before its SYN has come through: nobody sends it again, and nothing of the
 * connection ever arrives. */
static bool was_never_there(const struct conn *c, int closing_side)
{
    return closing_side == 0 && c->held[0] && c->held[0]->type == PACKET_OPEN;
}

static void forget_held(struct conn *c)
{
    struct packet *p = c->held[0];
    c->held[0] = NULL;
    c->held_end[0] = &c->held[0];
    for (struct packet *next; p; p = next) {
        next = p->next;
        drop_packet(c->node[0]->net, p);
    }
    shut_side(c, 1);
    conn_free_if_done(c);
}

void conn_close(struct conn *c, struct node *from)
{
    int side = conn_side(c, from);
    if (!c->is_open[side])
        return;
    shut_side(c, side);
    if (was_never_there(c, side))
        forget_held(c);
    else if (c->is_open[!side])
        send_packet(c, side, PACKET_CLOSE, NULL);
    else
        conn_free_if_done(c);
}

void conn_reset(struct conn *c)
{
    for (int side = 0; side < 2; side++)
        if (c->is_open[side])
            send_packet(c, !side, PACKET_CLOSE, NULL);
}

/* ---- arrival ---- */

static void packet_free(struct net *n, struct packet *p)
{
    struct conn *c = p->conn;
    pool_give(n->pool, p);
    if (!c)
        return;
    c->packets--;
    conn_free_if_done(c);
}

static void drop_packet(struct net *n, struct packet *p)
{
    if (p->type == PACKET_EVENT)
        pool_give(n->pool, p->message);
    else
        msg_free(n->pool, p->message);
    packet_free(n, p);
}

/* The process takes it now. */
static void handle(struct node *node, struct packet *p)
{
    struct net *n = node->net;
    struct conn *c = p->conn;
    if (p->type == PACKET_EVENT) {
        if (p->life == node->life)
            p->fn(node->self, p->message);
        else
            pool_give(n->pool, p->message);
        packet_free(n, p);
        return;
    }
    if (!c->is_open[p->side] || c->life[p->side] != node->life) {
        drop_packet(n, p);
        return;
    }
    if (node->step_ns)
        node->busy_until_ns = n->kernel->now_ns + node->step_ns;
    switch (p->type) {
    case PACKET_OPEN: node->ops->opened(node->self, c); break;
    case PACKET_DATA: node->ops->came(node->self, c, p->message); break;
    case PACKET_CLOSE:
        shut_side(c, p->side);
        node->ops->closed(node->self, c);
        break;
    case PACKET_EVENT: break;
    }
    packet_free(n, p);
}

static void drain(void *actor, void *arg);

static void drain_at(struct node *node, uint64_t at_ns)
{
    node->is_draining = true;
    kernel_at(node->net->kernel, at_ns, drain, node, NULL);
}

static void drain(void *actor, void *arg)
{
    struct node *node = actor;
    (void)arg;
    node->is_draining = false;
    if (!node_runs(node))
        return;
    if (node->busy_until_ns > node->net->kernel->now_ns) {
        drain_at(node, node->busy_until_ns);
        return;
    }
    struct packet *p = node->inbox;
    if (!p)
        return;
    node->inbox = p->next;
    if (!node->inbox)
        node->inbox_end = &node->inbox;
    handle(node, p);
    if (node->inbox && !node->is_draining && node_runs(node))
        drain_at(node, node->busy_until_ns > node->net->kernel->now_ns ? node->busy_until_ns
                                                                       : node->net->kernel->now_ns);
}

static void deliver(struct node *node, struct packet *p)
{
    struct kernel *k = node->net->kernel;
    if (!node->is_suspended && !node->inbox && node->busy_until_ns <= k->now_ns) {
        handle(node, p);
        return;
    }
    put_packet(&node->inbox_end, p);
    if (!node->is_suspended && !node->is_draining)
        drain_at(node, node->busy_until_ns > k->now_ns ? node->busy_until_ns : k->now_ns);
}

static void hold(struct net *n, struct packet *p)
{
    struct conn *c = p->conn;
    put_packet(&c->held_end[!p->side], p);
    if (c->is_listed_held)
        return;
    c->is_listed_held = true;
    c->next_held = n->held;
    n->held = c;
}

/* Nobody is there: the system of that machine says so. */
static void refuse(struct net *n, struct packet *p)
{
    struct conn *c = p->conn;
    if (p->type != PACKET_CLOSE && c->is_open[!p->side] && c->is_open[p->side]) {
        shut_side(c, p->side);
        send_packet(c, p->side, PACKET_CLOSE, NULL);
    } else {
        shut_side(c, p->side);
    }
    drop_packet(n, p);
}

static void arrive(void *actor, void *arg)
{
    struct packet *p = actor;
    struct conn *c = p->conn;
    struct node *to = c->node[p->side], *from = c->node[!p->side];
    struct net *n = to->net;
    (void)arg;
    if (c->held[!p->side] || is_cut(n, from, to)) {
        hold(n, p);
        return;
    }
    if (!to->is_up || (c->is_open[p->side] && c->life[p->side] != to->life))
        refuse(n, p);
    else
        deliver(to, p);
}

/* ---- processes ---- */

static void drop_inbox(struct node *node)
{
    while (node->inbox) {
        struct packet *p = node->inbox;
        node->inbox = p->next;
        drop_packet(node->net, p);
    }
    node->inbox_end = &node->inbox;
}

void node_start(struct node *node)
{
    node->is_up = true;
    node->is_suspended = false;
    node->life++;
    node->busy_until_ns = 0;
}

void node_crash(struct node *node)
{
    node->is_up = false;
    node->is_suspended = false;
    node->life++;
    drop_inbox(node);
    while (node->conns)
        conn_close(node->conns, node);
}

void node_suspend(struct node *node)
{
    node->is_suspended = true;
    node->suspended_at_ns = node->net->kernel->now_ns;
}

void node_resume(struct node *node)
{
    node->is_suspended = false;
    if (node->inbox && !node->is_draining)
        drain_at(node, node->net->kernel->now_ns);
}

static void event_came(void *actor, void *arg)
{
    struct packet *p = actor;
    struct node *node = p->node;
    (void)arg;
    if (!node->is_up || p->life != node->life)
        drop_packet(node->net, p);
    else
        deliver(node, p);
}

void node_later(struct node *node, uint64_t at_ns, void (*fn)(void *self, void *arg), void *arg)
{
    struct packet *p = pool_take(node->net->pool, sizeof *p);
    p->type = PACKET_EVENT;
    p->life = node->life;
    p->message = arg;
    p->fn = fn;
    p->node = node;
    kernel_at(node->net->kernel, at_ns, event_came, p, NULL);
}

/* ---- faults ---- */

static struct link_fault *need_fault(struct net *n, struct node *from, struct node *to)
{
    struct link_fault *f = find_fault(n, from, to);
    if (f)
        return f;
    assert(n->fault_count < LINK_FAULTS_MAX);
    f = &n->faults[n->fault_count++];
    *f = (struct link_fault){.from = from, .to = to};
    return f;
}

static void forget_if_none(struct net *n, struct link_fault *f)
{
    if (!f->is_cut && f->delay_ns == 0)
        *f = n->faults[--n->fault_count];
}

/* What was held goes on, as one burst in its order. */
static void release_side(struct net *n, struct conn *c, int from_side)
{
    struct packet *p = c->held[from_side];
    c->held[from_side] = NULL;
    c->held_end[from_side] = &c->held[from_side];
    uint64_t at = n->kernel->now_ns;
    for (struct packet *next; p; p = next) {
        next = p->next;
        kernel_at(n->kernel, ++at, arrive, p, NULL);
    }
    if (c->last_ns[from_side] < at)
        c->last_ns[from_side] = at;
}

static void release_held(struct net *n)
{
    struct conn **link = &n->held;
    while (*link) {
        struct conn *c = *link;
        for (int side = 0; side < 2; side++)
            if (c->held[side] && !is_cut(n, c->node[side], c->node[!side]))
                release_side(n, c, side);
        if (c->held[0] || c->held[1]) {
            link = &c->next_held;
            continue;
        }
        *link = c->next_held;
        c->is_listed_held = false;
        conn_free_if_done(c);
    }
}

void net_cut(struct net *n, struct node *from, struct node *to, bool cut)
{
    struct link_fault *f = need_fault(n, from, to);
    f->is_cut = cut;
    forget_if_none(n, f);
    if (!cut)
        release_held(n);
}

void net_delay(struct net *n, struct node *from, struct node *to, uint64_t delay_ns)
{
    struct link_fault *f = need_fault(n, from, to);
    f->delay_ns = delay_ns;
    forget_if_none(n, f);
}

void net_heal(struct net *n)
{
    n->fault_count = 0;
    release_held(n);
}
