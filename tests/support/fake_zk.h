/* An in-memory ZooKeeper for tests: nodes, ephemerals that end with their session, one-time
 * watches, setWatches. No clock and no chance: what happens when, and what gets lost, is the
 * caller's. It answers as one server does to which all clients are connected; a test compares it
 * with a real server. Runs out of memory by abort(). */
#ifndef ZKC_TESTS_FAKE_ZK_H
#define ZKC_TESTS_FAKE_ZK_H

#include "zkconsumer/core/zk/op.h"

struct fake_zk;

struct fake_zk *fake_zk_new(void);
void fake_zk_free(struct fake_zk *zk); /* NULL is allowed */

/* A new session: its id, never 0. */
int64_t fake_zk_open(struct fake_zk *zk);
bool fake_zk_is_open(const struct fake_zk *zk, int64_t session);

/* Closed or expired: its ephemerals go, in one transaction, and its watches. */
void fake_zk_end(struct fake_zk *zk, int64_t session);

/* Runs an operation of an open session, or, with session 0, of somebody outside (no ephemerals, no
 * watches). The result is lent until the next call. Events that it fires are queued. */
const struct zk_result *fake_zk_run(struct fake_zk *zk, int64_t session, const struct zk_op *op);

/* Takes the oldest event that a watch has fired. False: none. The path is lent until the next call.
 */
bool fake_zk_take_event(struct fake_zk *zk, int64_t *session, struct zk_watch_event *event);

/* The session's connection is gone: the server forgets its watches; the client has its own list. */
void fake_zk_disconnect(struct fake_zk *zk, int64_t session);

enum fake_zk_watch {
    FAKE_ZK_WATCH_DATA,   /* of getData, and of exists where there was a node */
    FAKE_ZK_WATCH_EXISTS, /* of exists where there was none */
    FAKE_ZK_WATCH_CHILD,
};

/* One entry of setWatches: the client's watch, put again after a reconnect; fires at once when it
 * missed something since `last_zxid`, the last transaction the client has seen.
 * Source: DataTree.setWatches of ZooKeeper 3.4. */
void fake_zk_set_watch(struct fake_zk *zk, int64_t session, enum fake_zk_watch watch,
                       const char *path, int64_t last_zxid);

/* The last transaction. */
int64_t fake_zk_zxid(const struct fake_zk *zk);

/* ---- for tests: as somebody outside ---- */

/* Creates the node, and the parents it lacks, or sets its data. `text` NULL: null data. */
void fake_zk_put(struct fake_zk *zk, const char *path, const char *text);

/* An ephemeral node of this session; its parents are made. It must not exist. */
void fake_zk_put_ephemeral(struct fake_zk *zk, const char *path, const char *text, int64_t session);

/* Deletes the node with all that is below. It need not exist. */
void fake_zk_remove(struct fake_zk *zk, const char *path);

/* NULL: no such node, or no data. Terminated; lent until the node changes. */
const char *fake_zk_text(const struct fake_zk *zk, const char *path);
bool fake_zk_exists(const struct fake_zk *zk, const char *path);

/* Session of an ephemeral; 0: persistent, or no such node. */
int64_t fake_zk_owner(const struct fake_zk *zk, const char *path);

/* Calls `visit` for each node with this beginning of its path, in byte order. `visit` must not
 * change anything. */
void fake_zk_each(const struct fake_zk *zk, const char *prefix,
                  void (*visit)(const char *path, const char *text, int64_t owner, void *user),
                  void *user);

#endif
