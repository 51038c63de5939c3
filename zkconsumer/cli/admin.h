/* What the commands that administer topics and offsets share: a session for the command's time, and
 * writes that make missing parents. */
#ifndef ZKC_CLI_ADMIN_H
#define ZKC_CLI_ADMIN_H

#include "zkconsumer/cli/brokers.h"
#include "zkconsumer/cli/options.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/zk/topic.h"
#include <zkconsumer/conf.h>

struct admin {
    struct zk_reader *zk;
    struct arena arena;
    struct why why; /* of the last failure */
};

/* Opens a session by the options (under a name of Kafka's: at localhost:2181 if it is not given, as
 * its tools do); reports what failed and gives the exit code, CLI_DONE otherwise.
 * On CLI_DONE the caller ends it with admin_close(). */
enum cli_exit admin_open(struct admin *a, const struct cli_args *args, size_t zookeeper,
                         size_t timeout);
/* Opens a session likewise, does the command's work in it, and closes it. The command's exit code.
 */
typedef enum cli_exit admin_work_fn(struct admin *a, const struct cli_args *args);
enum cli_exit admin_run(const struct cli_args *args, size_t zookeeper, size_t timeout,
                        admin_work_fn *work);
/* The same as admin_open(), with the servers given. */
enum cli_exit admin_open_at(struct admin *a, const char *connect, const struct cli_args *args,
                            size_t timeout);
/* The same where a consumer's settings say; nothing is reported. Errors as zk_reader_open(). */
ZKC_MUST_CHECK enum zkc_err admin_open_conf(struct admin *a, const zkc_conf *conf,
                                            int64_t timeout_ms);
void admin_close(struct admin *a);

/* Reports a->why and gives the exit code. */
enum cli_exit admin_fail(const struct admin *a, enum zkc_err err);

/* One operation. The path is taken over and freed; NULL: out of memory. The error is about asking:
 * what the server said is in result->zk_rc. */
ZKC_MUST_CHECK enum zkc_err admin_do(struct admin *a, enum zk_op_type type, char *path,
                                     struct bytes data, struct zk_result *result);

/* Sets the data of a node, or creates it, with its parents (creator.h), as Kafka's
 * ZkUtils.updatePersistentPath does. ZKC_ERR_ZOOKEEPER: refused. */
ZKC_MUST_CHECK enum zkc_err admin_write(struct admin *a, char *path, struct bytes data);

/* Sets the data of a node of this version. *done: false when it has another, or is not there.
 * ZKC_ERR_ZOOKEEPER: refused. */
ZKC_MUST_CHECK enum zkc_err admin_set(struct admin *a, char *path, struct bytes data,
                                      int32_t version, bool *done);

/* Creates a node with its parents. *exists: it was there. */
ZKC_MUST_CHECK enum zkc_err admin_create(struct admin *a, char *path, struct bytes data,
                                         bool *exists);

/* Reads a topic; *found is false when there is none. The caller ends *out with zk_topic_deinit().
 */
ZKC_MUST_CHECK enum zkc_err admin_read_topic(struct admin *a, const char *topic,
                                             struct zk_topic *out, bool *found);

/* Places `count` more partitions of a topic behind those in `topic`, `replication` replicas each,
 * on the registered brokers. ZKC_ERR_INVALID: not that many brokers. */
ZKC_MUST_CHECK enum zkc_err admin_place(struct admin *a, struct zk_topic *topic, int32_t count,
                                        int32_t replication);

/* The names of all topics, sorted, in a->arena. */
ZKC_MUST_CHECK enum zkc_err admin_topics(struct admin *a, const char *const **names, size_t *count);

#endif
