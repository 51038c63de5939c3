/* The ZooKeeper model: an ensemble of servers as processes of the world.
 *
 * Writes go client -> its server -> leader -> logs of a quorum -> commit, and are applied in one
 * order at each server in its own time; reads are answered from what the client's server has
 * applied. Refused writes are transactions too (they have a zxid), as in the real thing. Watches
 * stand once, at the server that the client is connected to, and fire before any later answer.
 *
 * Sessions are the leader's: a server that hears from a client notes it and reports it in its
 * answer to the leader's next ping (each half tick); at the leader a session ends at the first tick
 * after its timeout, by one transaction. A follower that hears nothing of its leader for syncLimit
 * ticks, and a leader without a quorum for as long, gives up: its clients are cut off and it looks
 * for a leader. A new leader gives every session its whole timeout again.
 *
 * Leaders follow each other by Zab's rules (zk_roles.c): a server that has promised itself to an
 * epoch acknowledges nothing of an earlier one, the best log of a quorum leads, and it serves once
 * a quorum has its whole history on disk. So whatever two of them commit is one order.
 *
 * Not modelled: snapshots and their cost, observers, ACLs and authentication, sequential nodes,
 * limits of packet and child list sizes and of connections per host, requests held back by
 * globalOutstandingLimit. The vote itself: the best log of a quorum that can talk to each other
 * leads after a drawn time. Sources: org.apache.zookeeper.server 3.4 to 3.8, as named at each rule.
 */
#ifndef STUDY_SIM_ZK_SERVER_H
#define STUDY_SIM_ZK_SERVER_H

#include "study/sim/net.h"
#include "study/sim/zk_log.h"
#include "study/sim/zk_msg.h"

#define ZK_SERVERS_MAX 9

struct zk_server;
struct zk_conn;

struct zk_watch {
    struct zk_watch *next, **link;           /* of the path */
    struct zk_watch *next_conn, **link_conn; /* of the connection */
    struct zk_conn *conn;
    uint32_t path;
    bool is_child;
};

/* A client's connection at its server. */
struct zk_conn {
    struct conn *conn;
    struct zk_server *server;
    uint32_t index; /* in server->conns */
    uint64_t tag;   /* what an answer is marked with: slot and a number of its own */
    uint64_t session;
    bool is_attached;   /* the session is established here */
    bool is_touched;    /* heard from since the last report */
    bool is_reading;    /* a read is in the server's queue */
    uint32_t in_flight; /* writes and syncs under way */
    struct zk_request *queue, **queue_end;
    struct zk_watch *watches;
};

enum zk_role { ZK_DOWN, ZK_LOOKING, ZK_FOLLOWING, ZK_LEADING };

/* How far a leader has come; it waits for a quorum (itself included) to go on. */
enum zk_lead_stage {
    ZK_LEAD_GATHERS,  /* for those who want to follow: then they are told the epoch */
    ZK_LEAD_PROPOSES, /* for their promise to follow no earlier one; nobody has a better log */
    ZK_LEAD_SYNCS,    /* for its history to be on their disks */
    ZK_LEAD_SERVES,
};

enum zk_follower_stage {
    ZK_GREETED,
    ZK_PROMISED,
    ZK_WELCOMED, /* was sent our history, and gets all that follows */
    ZK_SYNCED,   /* has it on disk */
};

struct zk_follower {
    struct conn *conn; /* NULL: none */
    enum zk_follower_stage stage;
    int64_t acked_zxid;
    int64_t welcome_zxid; /* WELCOMED: the end of our history then */
    uint64_t heard_ns;
};

struct zk_sync_waiter {
    struct zk_sync_waiter *next;
    int64_t after_zxid;
    int origin;
    uint64_t tag;
    uint32_t xid;
};

struct zk_server {
    struct node node;
    struct zk_ensemble *e;
    int index; /* 0 for zk1 */
    enum zk_role role;
    uint32_t turn;           /* counts changes of role: what was begun in an earlier one is void */
    uint32_t epoch;          /* that it leads in, or last followed in */
    uint32_t accepted_epoch; /* on disk: it follows in none that is earlier */
    uint32_t current_epoch;  /* on disk: whose history its log has */
    struct zk_tree tree;     /* applied */
    size_t applied;          /* how many of the ensemble's history */
    struct zk_log log;
    int64_t durable_zxid; /* on disk */
    uint64_t cpu_until_ns, disk_until_ns, disk_next_ns;
    uint64_t applied_until_ns; /* of commits that wait for the lag */
    uint64_t lag_ns, stall_ns;
    uint64_t phase_ns; /* of its ticks */
    struct stream disk_stream;
    /* clients */
    struct zk_conn **conns;
    uint32_t conn_count, conn_cap, serial;
    struct zk_conn **slots;
    uint32_t *free_slots, slot_cap, free_slot_count;
    struct zk_watch **data_watches, **child_watches; /* by path */
    uint32_t watch_cap;
    uint64_t watch_count;
    uint64_t sessions_made;
    /* following */
    int leader;
    struct conn *leader_conn;
    uint64_t heard_ns;
    bool is_joining;
    /* leading */
    enum zk_lead_stage stage;
    int64_t lead_zxid; /* since it serves, it answers from here at least: 0 of its epoch */
    struct zk_tree prep;
    uint32_t counter;
    struct zk_follower followers[ZK_SERVERS_MAX];
    uint64_t quorum_ns; /* when a quorum was last heard from */
    struct zk_sync_waiter *syncs, **syncs_end;
};

/* A write of an administrator, who tries again until it is committed. */
struct zk_admin_write {
    struct zk_admin_write *next;
    uint32_t id;      /* from 1: xid of its transaction */
    int sent_to;      /* leader that has it; -1: none */
    uint32_t sent_in; /* turn of it */
    enum zk_do what;
    uint64_t session; /* CLOSE: whose */
    struct zk_write write;
};

struct zk_ensemble {
    struct kernel *kernel;
    struct pool *pool;
    struct net *net;
    struct zk_paths paths;
    struct sim_zk_config config;
    unsigned bugs;
    unsigned count, quorum;
    struct zk_server *servers;
    /* the truth: what is committed, in order */
    struct zk_txn **history;
    size_t history_first, history_count, history_cap; /* history[0] is number history_first */
    struct zk_tree truth;                             /* all of it applied */
    struct stream election_stream;
    uint64_t elect_at_ns; /* SIM_NEVER: no election */
    bool is_polling;
    struct zk_admin_write *admin, **admin_end; /* not committed, oldest first */
    uint32_t admin_writes;                     /* so far */
    bool is_admin_polling;
    /* told of each transaction at its commit, by the leader; before any server applies it */
    void (*on_commit)(void *user, const struct zk_txn *x, const struct zk_server *leader);
    void (*on_role)(void *user, const struct zk_server *server);
    /* True: the answer to this request is to be lost, with its connection. */
    bool (*loses_answer)(void *user, const struct node *client, enum zk_do what, uint32_t path);
    void *user;
};

void zk_ensemble_init(struct zk_ensemble *e, struct net *net, const struct sim_config *config);
void zk_ensemble_deinit(struct zk_ensemble *e);
/* Before the start: a persistent node that is there. Parents are made. */
void zk_ensemble_preset(struct zk_ensemble *e, const char *path, const char *data);
/* All servers run, the last one leads. */
void zk_ensemble_start(struct zk_ensemble *e);

/* A write by nobody's session, or the end of one, as soon as there is a leader. `data` is copied.
 */
/* A transaction has been committed: it may be an administrator's. */
void zk_admin_committed(struct zk_ensemble *e, const struct zk_txn *x);
void zk_ensemble_write(struct zk_ensemble *e, enum zk_do what, const char *path, const char *data);
void zk_ensemble_close_session(struct zk_ensemble *e, uint64_t session);

void zk_server_crash(struct zk_server *s);
void zk_server_restart(struct zk_server *s);
const char *zk_role_name(enum zk_role role);
/* The serving leader, or NULL. */
struct zk_server *zk_ensemble_leader(struct zk_ensemble *e);
/* What only an operator mends, as in ZooKeeper: a server that was about to lead in a later epoch,
 * and was cut off before it could, follows no leader of an earlier one ("Leaders epoch .. is less
 * than accepted epoch"), and stays out until there is an election. So the leader is restarted.
 * False: nobody is kept out. */
bool zk_ensemble_relieve(struct zk_ensemble *e);

/* ---- among the files of the model ---- */

/* zk_clients.c */
extern const struct node_ops zk_server_ops;
void zk_clients_drop(struct zk_server *s); /* all connections of clients are cut */
void zk_clients_changed(void *server, const struct zk_part *part); /* fires watches */
void zk_clients_applied(struct zk_server *s, const struct zk_txn *x);
void zk_clients_revalidated(struct zk_server *s, const struct zk_peer_msg *m);
void zk_clients_synced(struct zk_server *s, uint64_t tag, uint32_t xid);
void zk_clients_came(struct zk_server *s, struct zk_conn *c, void *message);
void zk_clients_closed(struct zk_server *s, struct zk_conn *c);
struct zk_conn *zk_clients_add(struct zk_server *s, struct conn *conn);

/* zk_quorum.c, zk_roles.c */
bool zk_server_serves(const struct zk_server *s);
/* Takes a write from a client of this server to the leader. Takes over the request. */
void zk_quorum_submit(struct zk_server *s, struct zk_request *r);
void zk_quorum_sync(struct zk_server *s, uint64_t tag, uint32_t xid);
void zk_quorum_revalidate(struct zk_server *s, uint64_t session, uint64_t tag);
void zk_quorum_touch(struct zk_server *s, struct zk_conn *c);
void zk_quorum_came(struct zk_server *s, struct conn *conn, struct zk_peer_msg *m);
void zk_quorum_forwarded(struct zk_server *s, struct zk_request *r);
void zk_quorum_closed(struct zk_server *s, struct conn *conn);
void zk_quorum_lead(struct zk_server *s, uint32_t epoch);
void zk_quorum_join(struct zk_server *s, struct zk_server *leader);
void zk_quorum_look(struct zk_server *s); /* gives up whatever it was */
void zk_quorum_start_ticking(struct zk_server *s);
int64_t zk_server_last_zxid(const struct zk_server *s); /* of its log */
/* Of its answers. A leader has seen its epoch from the first, a follower with its first
 * transaction: so a client that was at the leader may find followers behind it
 * (Leader.startZkServer sets the last processed zxid of the leader's tree alone). */
int64_t zk_server_zxid(const struct zk_server *s);

/* zk_ensemble.c */
void zk_elect_poll(struct zk_ensemble *e); /* there is somebody who looks */

#endif
