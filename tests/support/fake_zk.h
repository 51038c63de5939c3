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

/* The client's side of watches: what it puts again after a reconnect of the same session. Zeroed
 * before the first use. */
struct fake_zk_client {
    struct fake_zk_client_watch *list;
    size_t count, cap;
    int64_t last_zxid; /* the last transaction that the client has seen */
};

void fake_zk_client_deinit(struct fake_zk_client *c);

/* An answer has arrived; an event has. */
void fake_zk_client_answered(struct fake_zk_client *c, const struct zk_op *op,
                             const struct zk_result *result);
void fake_zk_client_fired(struct fake_zk_client *c, const struct zk_watch_event *event);

/* The session is over, and its watches. */
void fake_zk_client_forget(struct fake_zk_client *c);

/* setWatches: puts them again in this session; those that missed something fire at once.
 * Source: DataTree.setWatches of ZooKeeper 3.4. */
void fake_zk_client_return(const struct fake_zk_client *c, struct fake_zk *zk, int64_t session);

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
