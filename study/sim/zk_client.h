/* A client's session with the ensemble, as io/zk_session with Apache's C client has it: one server
 * after the other, a ping after a third of the timeout without a word sent, a server given up after
 * two thirds without a word heard, watches set again on the next connection of the same session,
 * what was under way answered with a connection loss.
 *
 * Times are the process's own clock, in nanoseconds. */
#ifndef STUDY_SIM_ZK_CLIENT_H
#define STUDY_SIM_ZK_CLIENT_H

#include "study/sim/zk_server.h"

/* One side of a process's connections: which kind it is stands first. */
enum peer_kind { PEER_ZOOKEEPER, PEER_BROKER, PEER_OFFSETS };

struct zk_pending {
    uint32_t xid;
    enum zk_do what;
    uint32_t path;
    bool watch;
    uint64_t token;   /* the caller's */
    uint64_t sent_ns; /* world's time */
};

struct zk_client_ops {
    void (*connected)(void *self, uint64_t session, int32_t timeout_ms, bool is_new,
                      const char *server);
    void (*suspended)(void *self);
    void (*expired)(void *self);
    void (*unreachable)(void *self); /* all servers were tried in vain; may be NULL */
    /* answer: NULL when there is none (zk_rc says why) */
    void (*result)(void *self, const struct zk_pending *op, int zk_rc,
                   const struct zk_answer *answer);
    void (*watch)(void *self, const struct zk_answer *event);
    void (*closed)(void *self);
};

enum zk_client_state { ZK_CLIENT_DOWN, ZK_CLIENT_CONNECTING, ZK_CLIENT_CONNECTED, ZK_CLIENT_ENDED };

struct zk_client {
    enum peer_kind kind; /* PEER_ZOOKEEPER */
    struct node *node;
    struct zk_ensemble *e;
    const struct zk_client_ops *ops;
    void *self;
    struct stream stream;
    enum zk_client_state state;
    struct conn *conn;
    uint64_t session;
    bool had_session; /* `session` was told */
    int32_t asked_ms, timeout_ms;
    int64_t zxid; /* last seen */
    unsigned order[ZK_SERVERS_MAX], server_count, next_server;
    int server; /* connected, or connecting, to */
    unsigned failures, short_connections;
    bool has_answered;
    uint64_t connect_sent_ns; /* of the last attempt */
    uint64_t connected_ns, attempt_until_ns, next_attempt_ns, heard_ns, sent_ns;
    uint32_t xid;
    struct zk_pending *pending;
    uint32_t pending_first, pending_count, pending_cap; /* a ring */
    struct zk_watch_name *watches;
    uint32_t watch_count, watch_cap;
    bool drops_watch; /* a planted bug: the next watch is not left */
    bool is_closing;
    uint64_t close_until_ns;
    uint64_t events; /* watch events that came over the wire */
};

/* `only`: number of the only server it may use; -1: any. */
void zk_client_init(struct zk_client *c, struct node *node, struct zk_ensemble *e,
                    const struct zk_client_ops *ops, void *self, int32_t timeout_ms, int only,
                    struct stream stream, uint64_t now_ns);
void zk_client_deinit(struct zk_client *c); /* the process has ended */

/* As a machine is told of it; lent as long as the answer. */
void zk_answer_result(const struct zk_answer *a, struct zk_result *result);

/* Sends an operation; while there is no connection nothing is sent and false is returned. Takes
 * over write->data, and the writes of a multi (an array of the pool). */
bool zk_client_send(struct zk_client *c, enum zk_do what, const struct zk_write *write, bool watch,
                    struct zk_write *multi, uint32_t count, uint64_t token, uint64_t now_ns);

/* Ends the session: ops->closed is called once, now or within close_ms. */
void zk_client_close(struct zk_client *c, uint64_t close_ms, uint64_t now_ns);

/* What came on its connection; ends the message. */
void zk_client_came(struct zk_client *c, struct zk_answer *a, uint64_t now_ns);
void zk_client_lost(struct zk_client *c, uint64_t now_ns); /* the connection was closed */

uint64_t zk_client_deadline_ns(const struct zk_client *c);
void zk_client_tick(struct zk_client *c, uint64_t now_ns);

#endif
