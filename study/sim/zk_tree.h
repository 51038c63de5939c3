/* What a ZooKeeper server holds: nodes and sessions, changed by transactions alone; and the
 * leader's rules that make transactions of requests (PrepRequestProcessor), here by the state that
 * the transactions before will leave. */
#ifndef STUDY_SIM_ZK_TREE_H
#define STUDY_SIM_ZK_TREE_H

#include "study/sim/java_set.h"
#include "study/sim/zk_paths.h"
#include "zkconsumer/core/zk/op.h"

/* More operations than the library needs today: the model's own names for all of them. */
enum zk_do {
    ZK_DO_CREATE,
    ZK_DO_DELETE,
    ZK_DO_EXISTS,
    ZK_DO_GET,
    ZK_DO_SET,
    ZK_DO_CHILDREN,
    ZK_DO_MULTI,
    ZK_DO_SYNC,
    ZK_DO_CHECK, /* a version; only in a multi */
    ZK_DO_OPEN,  /* a session */
    ZK_DO_CLOSE,
};

/* One write, asked for. */
struct zk_write {
    enum zk_do what;
    uint32_t path;
    struct value *data;
    int32_t version;
    bool ephemeral;
};

/* One change of one node. */
struct zk_part {
    enum zk_do what; /* CREATE, DELETE, SET; CHECK: none */
    uint32_t path;
    struct value *data; /* one reference */
    uint64_t owner;     /* CREATE; DELETE: whose it was */
    int32_t version;    /* SET: the new one */
};

struct zk_txn {
    uint32_t refs;
    int64_t zxid;
    enum zk_do what;
    uint64_t session;
    int zk_rc;           /* not ZK_OK: refused, nothing changes (an error transaction) */
    int32_t timeout_ms;  /* OPEN */
    int origin;          /* server that answers it; -1: none */
    uint64_t origin_tag; /* connection there */
    uint32_t xid;
    uint32_t count;
    int *rcs; /* MULTI that was refused: of each of its rc_count operations */
    uint32_t rc_count;
    struct zk_part parts[];
};

struct zk_stat_full {
    struct zk_stat stat;
    int32_t children, data_len;
};

/* Names of children in a server's order, shared until they change. */
struct zk_names {
    uint32_t refs;
    uint32_t count;
    const char *list[];
};

struct znode {
    struct value *data; /* NULL: null */
    int64_t czxid, mzxid, pzxid;
    int32_t version, cversion;
    uint64_t owner;
    struct java_set children;
    struct zk_names *names; /* NULL: not made since the last change */
};

struct zk_session_entry {
    struct zk_session_entry *next; /* in the table */
    uint64_t id;
    int32_t timeout_ms;
    bool is_closing;     /* the leader has proposed its end */
    int owner;           /* leader: server it was last attached to */
    uint64_t expires_ns; /* leader */
    struct java_set ephemerals;
};

#define ZK_SESSION_TABLE 4096

struct zk_tree {
    struct pool *pool;
    struct zk_paths *paths;
    struct znode **nodes; /* by path number */
    uint32_t cap;
    struct zk_session_entry *sessions[ZK_SESSION_TABLE];
    size_t session_count;
    int64_t zxid; /* last transaction applied */
};

/* The tree of a new server: "/", "/zookeeper", "/zookeeper/quota". */
void zk_tree_init(struct zk_tree *t, struct pool *pool, struct zk_paths *paths);
void zk_tree_deinit(struct zk_tree *t);
void zk_tree_copy(struct zk_tree *to, const struct zk_tree *from); /* `to` is not initialised */

static inline struct znode *zk_tree_node(const struct zk_tree *t, uint32_t path)
{
    return path < t->cap ? t->nodes[path] : NULL;
}
struct zk_session_entry *zk_tree_session(const struct zk_tree *t, uint64_t id);
void zk_tree_stat(const struct znode *n, struct zk_stat_full *out);
/* One reference for the caller. */
struct zk_names *zk_tree_names(struct zk_tree *t, struct znode *n);
void zk_names_unref(struct pool *p, struct zk_names *names);

/* Makes the transaction of some writes: of one, of a multi's, of the end or begin of a session
 * (what, no writes), and applies it to t, the leader's own tree of what is to come. One reference.
 */
struct zk_txn *zk_tree_prepare(struct zk_tree *t, enum zk_do what, uint64_t session,
                               const struct zk_write *writes, uint32_t count, int64_t zxid);
struct zk_txn *zk_txn_new(struct pool *p, uint32_t parts);
static inline struct zk_txn *zk_txn_ref(struct zk_txn *x)
{
    x->refs++;
    return x;
}
void zk_txn_unref(struct pool *p, struct zk_txn *x);

/* Carries it out. `changed` is told of each node as it changes, in the server's order; may be NULL.
 */
typedef void zk_changed_fn(void *user, const struct zk_part *part);
void zk_tree_apply(struct zk_tree *t, const struct zk_txn *x, zk_changed_fn *changed, void *user);

#endif
