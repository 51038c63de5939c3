/* Processes and the connections between them.
 *
 * A connection is TCP's: what is sent arrives, in order, or the connection breaks. Each direction
 * draws its own latency for each packet and never lets one overtake another. A cut holds packets
 * where they are; they go on when it heals, unless the connection was given up meanwhile. A process
 * that is suspended finds on resuming what came meanwhile. A process that has died is told of to
 * those connected to it, when the word can pass.
 *
 * A process has one CPU: while it is busy with one event (node->step_ns), later ones wait. */
#ifndef STUDY_SIM_NET_H
#define STUDY_SIM_NET_H

#include "study/sim/kernel.h"
#include "study/sim/pool.h"

struct conn;
struct packet;

enum node_kind { NODE_MEMBER, NODE_ZK, NODE_BROKER, NODE_OBSERVER };
#define NODE_NAME_SIZE 16

/* What a process does with what comes. `at` is its side of the connection. */
struct node_ops {
    void (*opened)(void *self, struct conn *c);              /* somebody has connected */
    void (*came)(void *self, struct conn *c, void *message); /* owned by the callee (pool) */
    void (*closed)(void *self, struct conn *c); /* by the other side; c is no more after this */
};

struct node {
    struct net *net;
    char name[NODE_NAME_SIZE];
    enum node_kind kind;
    const struct node_ops *ops;
    void *self;
    bool is_up, is_suspended;
    uint32_t life;    /* counts starts; what was meant for an earlier life is dropped */
    uint64_t step_ns; /* CPU that each event takes */
    uint64_t busy_until_ns;
    struct packet *inbox, **inbox_end; /* waits: suspended, or busy */
    bool is_draining;                  /* an event that goes on with the inbox is on its way */
    struct conn *conns;                /* its side of each */
    uint64_t suspended_at_ns;
};

/* One side is the client's (side 0), who connected. */
struct conn {
    struct node *node[2];
    void *user[2];   /* each side's own */
    bool is_open[2]; /* false: this side has closed it, or was told */
    uint32_t life[2];
    uint64_t last_ns[2];                   /* arrival of the last packet sent by this side */
    uint64_t ready_ns;                     /* when the client may send: the handshake is over */
    struct packet *held[2], **held_end[2]; /* sent by this side, before a cut */
    uint32_t packets;                      /* on their way */
    struct conn *next[2], **link[2];       /* in node->conns */
    struct conn *next_held;
    bool is_listed_held;
};

static inline int conn_side(const struct conn *c, const struct node *n)
{
    return c->node[0] == n ? 0 : 1;
}
static inline struct node *conn_peer(const struct conn *c, const struct node *n)
{
    return c->node[c->node[0] == n];
}
static inline void *conn_user(const struct conn *c, const struct node *n)
{
    return c->user[conn_side(c, n)];
}

/* What is wrong between two processes, from a to b. */
struct link_fault {
    struct node *from, *to;
    bool is_cut;
    uint64_t delay_ns;
};

#define LINK_FAULTS_MAX 4096

struct net {
    struct kernel *kernel;
    struct pool *pool;
    uint64_t seed;
    bool is_ending; /* the world is being freed: nobody is told anything */
    struct sim_dist client_link, server_link;
    struct stream client_stream, server_stream;
    struct link_fault faults[LINK_FAULTS_MAX];
    size_t fault_count;
    struct conn *held; /* connections with held packets */
};

void net_init(struct net *n, struct kernel *k, struct pool *pool, const struct sim_config *config);

void node_init(struct node *node, struct net *net, const char *name, enum node_kind kind,
               const struct node_ops *ops, void *self);
void node_start(struct node *node);
void node_crash(struct node *node); /* connections break, the inbox is lost */
void node_suspend(struct node *node);
void node_resume(struct node *node); /* what waits is handled from the next instant on */
static inline bool node_runs(const struct node *node)
{
    return node->is_up && !node->is_suspended;
}
/* Hands fn(self, arg) to the process as an event of its own at at_ns, after what came before: not
 * while it is suspended, and not in a later life. arg is the caller's to free, and NULL or of the
 * pool: it is given back if the event is dropped. */
void node_later(struct node *node, uint64_t at_ns, void (*fn)(void *self, void *arg), void *arg);

/* Connects. Data can be sent at once; it takes one more round trip. If `to` is down the connection
 * is closed when the word is back. */
struct conn *net_connect(struct node *from, struct node *to, void *user);
/* Sends a message of the pool; it belongs to the receiver. Dropped if the side is closed. */
void conn_send(struct conn *c, struct node *from, void *message);
/* Ends it for this side; the other is told after what was sent before. */
void conn_close(struct conn *c, struct node *from);
/* Between the two the memory of a connection stays, even when both sides have closed it. */
void conn_keep(struct conn *c);
void conn_let_go(struct conn *c);
/* Breaks it: both sides are told, at once for those who can be reached. */
void conn_reset(struct conn *c);

/* Faults of the way from a to b. */
void net_cut(struct net *n, struct node *from, struct node *to, bool is_cut);
void net_delay(struct net *n, struct node *from, struct node *to, uint64_t delay_ns);
bool net_is_cut(const struct net *n, const struct node *from, const struct node *to);
void net_heal(struct net *n); /* all of them */

#endif
