/* ZooKeeper for commands that ask and wait: one session on an event loop of its own, operations in
 * batches, everything together within one limit of time. For operations that may be sent twice
 * (reads, deletes): after a lost connection what was not answered is sent again. */
#ifndef ZKC_CLI_ZK_READER_H
#define ZKC_CLI_ZK_READER_H

#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/why.h"
#include "zkconsumer/core/zk/op.h"
#include <zkconsumer/error.h>

struct zk_reader;

/* Connects and waits until a server has taken us on. `connect` is zookeeper.connect; timeout_ms is
 * for this and everything that follows until the close. On success the caller ends *out with
 * zk_reader_close(). On failure `why` says what and where. A chroot that is not there is told: it is
 * as good as empty.
 *
 * ZKC_ERR_CONFIG       `connect` is not valid, or the credentials
 * ZKC_ERR_UNREACHABLE  no server took us on
 * ZKC_ERR_ZOOKEEPER    the server refused the credentials
 * ZKC_ERR_SYSTEM, ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err zk_reader_open(const char *connect, int64_t timeout_ms,
                                           struct zk_reader **out, struct why *why);

/* The environment's credentials for znodes that an ACL protects, in the form of zk_auth_split(). */
#define ZK_READER_AUTH_VARIABLE "ZKCONSUMER_ZOOKEEPER_AUTH"

/* The same with these credentials (NULL: none), not those of the environment. */
ZKC_MUST_CHECK enum zkc_err zk_reader_open_with(const char *connect, const char *auth,
                                                int64_t timeout_ms, struct zk_reader **out,
                                                struct why *why);

/* Carries out the operations, in order, and waits for the answers. results[i] is the answer to
 * ops[i]: what the server said, ZK_NO_NODE among it; data and children are in `arena`, data is
 * followed by a zero byte that does not count. After a failure the reader is good for nothing but
 * zk_reader_close().
 *
 * ZKC_ERR_TIMED_OUT    the time of zk_reader_open() is up
 * ZKC_ERR_UNREACHABLE  the connection was lost and no server takes us on again
 * ZKC_ERR_ZOOKEEPER    an ACL is in the way: nothing of the answers counts
 * ZKC_ERR_NOMEM, ZKC_ERR_TOO_LARGE (the arena's maximum) */
ZKC_MUST_CHECK enum zkc_err zk_reader_run(struct zk_reader *r, const struct zk_op *ops,
                                          size_t count, struct arena *arena,
                                          struct zk_result *results, struct why *why);

/* From now on an answer of NoAuth fails nothing, but is a result (ZK_NO_AUTH): for tools that go on
 * with what is open to them. */
void zk_reader_allow_refusals(struct zk_reader *r);

/* Says of the first such answer since the last call what was refused, and what to do; NULL: there
 * was none. Lent until the next operation. */
const char *zk_reader_take_refusal(struct zk_reader *r);

/* Deletes a node with all that is below it; none there is fine. What others add meanwhile makes it
 * start again, a few times.
 *
 * As zk_reader_run(); ZKC_ERR_ZOOKEEPER also when the server refuses */
ZKC_MUST_CHECK enum zkc_err zk_reader_delete_tree(struct zk_reader *r, const char *path,
                                                  struct why *why);

/* What is left of the time of zk_reader_open(), 0 at least. */
int64_t zk_reader_left_ms(const struct zk_reader *r);

/* From now on, everything may take timeout_ms again. False: no timer. */
bool zk_reader_extend(struct zk_reader *r, int64_t timeout_ms);

/* Serves the session until a watch that an operation left (op.watch) has fired, a connection was
 * made again (watches may have been missed), `fd` is readable (-1: none), or `ms` are over.
 * *changed: by one of the first two, now or since the last call. Errors as zk_reader_run(), but for
 * the time, which does not count here. */
ZKC_MUST_CHECK enum zkc_err zk_reader_wait(struct zk_reader *r, int64_t ms, int fd, bool *changed,
                                           struct why *why);

/* Ends the session, with a second's limit of its own. NULL is allowed. */
void zk_reader_close(struct zk_reader *r);

#endif
