/* Messages on the links of the ZooKeeper model. Each begins with its type; values in them hold a
 * reference of their own. */
#ifndef STUDY_SIM_ZK_MSG_H
#define STUDY_SIM_ZK_MSG_H

#include "study/sim/zk_tree.h"

enum msg_type {
    /* client to server */
    MSG_ZK_CONNECT,
    MSG_ZK_PING,
    MSG_ZK_REQUEST,
    MSG_ZK_SET_WATCHES,
    /* server to client */
    MSG_ZK_CONNECTED,
    MSG_ZK_PONG,
    MSG_ZK_ANSWER,
    MSG_ZK_EVENT,
    /* follower to leader */
    MSG_ZK_HELLO,
    MSG_ZK_FORWARD,
    MSG_ZK_ACK,
    MSG_ZK_TOUCHED, /* answers a leader's ping */
    MSG_ZK_REVALIDATE,
    MSG_ZK_PROMISE,
    /* leader to follower */
    MSG_ZK_EPOCH,
    MSG_ZK_WELCOME,
    MSG_ZK_UP_TO_DATE,
    MSG_ZK_PROPOSE,
    MSG_ZK_COMMIT,
    MSG_ZK_LEADER_PING,
    MSG_ZK_REVALIDATED,
    MSG_ZK_SYNCED,
    /* member and broker */
    MSG_FETCH,
    MSG_FETCHED,
    MSG_METADATA,
    MSG_LEADERS,
    MSG_OFFSETS,
    MSG_OFFSETS_ANSWER,
};

struct msg {
    enum msg_type type;
};

enum zk_watch_kind { ZK_WATCH_DATA, ZK_WATCH_EXISTS, ZK_WATCH_CHILD };

struct zk_watch_name {
    uint32_t path;
    enum zk_watch_kind kind;
};

/* CONNECT, PING, REQUEST, SET_WATCHES; and FORWARD, with where the answer goes. */
struct zk_request {
    enum msg_type type;
    enum zk_do what;
    uint32_t xid;
    bool watch;
    uint64_t session;   /* CONNECT: wanted back, 0: a new one */
    int32_t timeout_ms; /* CONNECT */
    int64_t zxid;       /* CONNECT, SET_WATCHES: last one seen */
    uint64_t origin_tag;
    int origin;
    uint32_t turn;    /* of the leader that has it in its queue */
    uint64_t part_of; /* the session whose end is done in parts (a planted bug); 0 */
    struct zk_request *next;
    union {
        struct zk_write *writes;       /* REQUEST: `count` of a multi; else one */
        struct zk_watch_name *watches; /* SET_WATCHES */
    };
    uint32_t count;
    struct zk_write write; /* REQUEST but MULTI: path of all of them */
};

/* CONNECTED, PONG, ANSWER, EVENT */
struct zk_answer {
    enum msg_type type;
    uint32_t xid;
    int zk_rc;
    int64_t zxid;       /* EVENT: of the change, not told to real clients */
    uint64_t session;   /* CONNECTED */
    int32_t timeout_ms; /* CONNECTED; 0: the session is over */
    struct value *data;
    struct zk_names *names;
    struct zk_stat_full stat;
    struct zk_part_result *parts; /* of a multi */
    uint32_t part_count;
    enum zk_event_type event;
    uint32_t path; /* EVENT */
    uint64_t sent_ns;
};

/* Among servers. */
struct zk_peer_msg {
    enum msg_type type;
    int64_t zxid; /* PROMISE, WELCOME: last one logged; ACK; COMMIT; UP_TO_DATE: last committed */
    struct zk_txn *txn;
    uint32_t epoch;       /* EPOCH; PROMISE: that its log is of; WELCOME */
    size_t history;       /* WELCOME: transactions committed */
    struct zk_txn **txns; /* WELCOME: `count`, logged behind those */
    uint64_t session;     /* REVALIDATE, REVALIDATED */
    uint64_t tag;         /* connection there; REVALIDATE, REVALIDATED, SYNCED */
    uint32_t xid;
    bool is_valid;
    uint64_t *sessions; /* TOUCHED: `count` */
    size_t count;
};

/* Gives back a message and what it holds; NULL is allowed. */
void msg_free(struct pool *p, void *message);

#endif
