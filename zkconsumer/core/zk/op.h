/* ZooKeeper operations as data: what a machine asks its shell to send, and what comes back. No
 * client library here: the shell (io/zk_session), a replayed capture and the simulator's model all
 * answer the same operations. */
#ifndef ZKC_ZK_OP_H
#define ZKC_ZK_OP_H

#include "zkconsumer/core/base/bytes.h"

/* ZooKeeper's own numbers (org.apache.zookeeper.KeeperException.Code). Kept in `int zk_rc`
 * variables, never mixed with enum zkc_err or Kafka's codes. */
enum {
    ZK_OK = 0,
    ZK_SYSTEM_ERROR = -1,
    ZK_RUNTIME_INCONSISTENCY = -2,
    ZK_CONNECTION_LOSS = -4,
    ZK_MARSHALLING_ERROR = -5,
    ZK_OPERATION_TIMEOUT = -7,
    ZK_BAD_ARGUMENTS = -8,
    ZK_INVALID_STATE = -9,
    ZK_API_ERROR = -100,
    ZK_NO_NODE = -101,
    ZK_NO_AUTH = -102,
    ZK_BAD_VERSION = -103,
    ZK_NO_CHILDREN_FOR_EPHEMERALS = -108,
    ZK_NODE_EXISTS = -110,
    ZK_NOT_EMPTY = -111,
    ZK_SESSION_EXPIRED = -112,
    ZK_INVALID_ACL = -114,
    ZK_AUTH_FAILED = -115,
    ZK_CLOSING = -116,
    ZK_SESSION_MOVED = -118,
};

/* "NoNode", "ConnectionLoss", ... as Java's KeeperException.Code and the golden captures spell
 * them; "Error" for a number that is not above. Static. */
const char *zk_rc_name(int zk_rc);

/* True where the outcome of a write is unknown and the operation may be sent again once a
 * connection is there: connection loss, operation timeout, inconsistency, a moved session, and the
 * end of the session (zkclient 0.3 retries all of these by itself, ZkClient.retryUntilConnected).
 */
bool zk_rc_is_retriable(int zk_rc);

enum zk_op_type {
    ZK_OP_CREATE,
    ZK_OP_DELETE,
    ZK_OP_EXISTS,
    ZK_OP_GET,
    ZK_OP_SET,
    ZK_OP_CHILDREN,
    ZK_OP_SYNC,  /* the server catches up with the leader before it answers what follows */
    ZK_OP_CHECK, /* of the version of a node's data; only as a part of a multi */
    ZK_OP_MULTI, /* all parts or none, as one transaction */
};
#define ZK_OP_TYPE_COUNT (ZK_OP_MULTI + 1)

/* "create", "delete", "exists", "getData", "setData", "getChildren", "sync", "check", "multi".
 * Static. */
const char *zk_op_name(enum zk_op_type type);

#define ZK_ANY_VERSION (-1)

/* Parts of a multi. */
#define ZK_PARTS_MAX 256

struct zk_op {
    enum zk_op_type type;
    const char *path;          /* relative to the chroot, begins with '/'; multi: NULL */
    struct bytes data;         /* create, set; null is sent as null (length -1) */
    int32_t version;           /* delete, set, check; ZK_ANY_VERSION: unconditional */
    bool ephemeral;            /* create */
    bool watch;                /* exists, get, children: leave a one-time watch */
    bool may_move;             /* with a watch: another session of the process may read and watch in
                                * its stead (watch_spread.h) */
    const struct zk_op *parts; /* multi: creates, deletes, sets and checks, 1 .. ZK_PARTS_MAX */
    size_t part_count;
    int64_t session_id; /* 0: any; else it must not be sent in another session (core/group's lanes
                         * see to that) */
};

/* What it is about, for traces and faults: its path; of a multi, that of its first part. */
const char *zk_op_path(const struct zk_op *op);

/* Bytes of paths and data that it sends. */
size_t zk_op_bytes(const struct zk_op *op);

struct zk_stat {
    int64_t ephemeral_owner; /* session id; 0: persistent */
    int64_t czxid;           /* transaction that created the node */
    int64_t mzxid;           /* transaction that last changed its data */
    int64_t pzxid;           /* transaction that last created or deleted a child */
    int32_t version;         /* of its data */
    int32_t cversion;        /* counts its children's creations and deletions */
};

/* What a part of a multi came to. */
struct zk_part_result {
    int zk_rc;           /* of a multi that was refused: the part that failed has its own code,
                          * ZK_RUNTIME_INCONSISTENCY stands at the parts after it, ZK_OK at those before it,
                          * which were undone */
    struct zk_stat stat; /* set; valid when the whole multi is ZK_OK */
};

/* What an operation came to. All pointers are borrowed for the call that brings it. */
struct zk_result {
    int zk_rc;
    struct bytes data;           /* get */
    const char *const *children; /* children, in the server's order */
    size_t children_count;
    const struct zk_part_result *parts; /* multi that the server answered; else NULL */
    size_t part_count;
    struct zk_stat stat; /* exists, get, children, set; valid when zk_rc is ZK_OK */
    int64_t zxid;        /* last transaction the answering server had applied; 0: unknown */
};

/* The part that a multi was refused for; part_count when it was not, or nobody knows. */
size_t zk_result_culprit(const struct zk_result *result);

/* Types of watch events, ZooKeeper's numbers (Watcher.Event.EventType). */
enum zk_event_type {
    ZK_EVENT_CREATED = 1,
    ZK_EVENT_DELETED = 2,
    ZK_EVENT_DATA_CHANGED = 3,
    ZK_EVENT_CHILDREN_CHANGED = 4,
    /* Ours: nothing is known to have happened, but nobody would tell any more. */
    ZK_EVENT_WATCH_LOST = 100,
};

/* "NodeCreated", "NodeDeleted", "NodeDataChanged", "NodeChildrenChanged", "WatchLost". Static. */
const char *zk_event_name(enum zk_event_type type);

struct zk_watch_event {
    enum zk_event_type type;
    const char *path; /* relative to the chroot; borrowed */
};

#endif
