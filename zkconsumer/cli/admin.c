#include "zkconsumer/cli/admin.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/core/group/creator.h"
#include "zkconsumer/core/zk/cluster.h"
#include "zkconsumer/core/zk/path.h"
#include <stdlib.h>
#include <sys/random.h>

#define ANSWERS_BYTES_MAX ((size_t)1 << 30)

enum cli_exit admin_open(struct admin *a, const struct cli_args *args, size_t zookeeper,
                         size_t timeout)
{
    const char *connect = args->called_as ? "localhost:2181" : "";
    return admin_open_at(a, cli_args_text(args, zookeeper, connect), args, timeout);
}

enum cli_exit admin_open_at(struct admin *a, const char *connect, const struct cli_args *args,
                            size_t timeout)
{
    char text[256];
    int64_t timeout_ms = OPTION_TIMEOUT_DEFAULT_MS;
    if (!cli_args_number(args, timeout, 1, INT32_MAX, &timeout_ms, text, sizeof text)) {
        report_error("%s", text);
        return CLI_FAILED;
    }
    enum zkc_err err = zk_reader_open(connect, timeout_ms, &a->zk, &a->why);
    if (err)
        return admin_fail(a, err);
    arena_init(&a->arena, ANSWERS_BYTES_MAX);
    return CLI_DONE;
}

enum zkc_err admin_open_conf(struct admin *a, const zkc_conf *conf, int64_t timeout_ms)
{
    why_clear(&a->why);
    enum zkc_err err =
        zk_reader_open_with(zkc_conf_get(conf, "zookeeper.connect"),
                            zkc_conf_get(conf, "zookeeper.auth"), timeout_ms, &a->zk, &a->why);
    if (!err)
        arena_init(&a->arena, ANSWERS_BYTES_MAX);
    return err;
}

void admin_close(struct admin *a)
{
    arena_deinit(&a->arena);
    zk_reader_close(a->zk);
}

enum cli_exit admin_run(const struct cli_args *args, size_t zookeeper, size_t timeout,
                        admin_work_fn *work)
{
    struct admin a;
    enum cli_exit code = admin_open(&a, args, zookeeper, timeout);
    if (code != CLI_DONE)
        return code;
    code = work(&a, args);
    admin_close(&a);
    return code;
}

enum cli_exit admin_fail(const struct admin *a, enum zkc_err err)
{
    report_error("%s", a->why.text[0] ? a->why.text : zkc_err_text(err));
    return report_exit_of(err);
}

static enum zkc_err no_memory(struct admin *a)
{
    why_set(&a->why, "out of memory");
    return ZKC_ERR_NOMEM;
}

static enum zkc_err run_op(struct admin *a, const struct zk_op *op, struct zk_result *result)
{
    return zk_reader_run(a->zk, op, 1, &a->arena, result, &a->why);
}

enum zkc_err admin_do(struct admin *a, enum zk_op_type type, char *path, struct bytes data,
                      struct zk_result *result)
{
    struct zk_op op = {.type = type, .path = path, .data = data, .version = ZK_ANY_VERSION};
    enum zkc_err err = path ? run_op(a, &op, result) : no_memory(a);
    free(path);
    return err;
}

static enum zkc_err refused(struct admin *a, const char *what, const char *path, int zk_rc)
{
    why_set(&a->why, "%s %s: %s (%d)", what, path, zk_rc_name(zk_rc), zk_rc);
    return ZKC_ERR_ZOOKEEPER;
}

enum zkc_err admin_create(struct admin *a, char *path, struct bytes data, bool *exists)
{
    struct creator creator = {0};
    struct zk_op op;
    struct zk_result result;
    int zk_rc = ZK_OK;
    enum zkc_err err = path ? creator_begin(&creator, path, data, false, &op) : ZKC_ERR_NOMEM;
    if (err)
        err = no_memory(a);
    while (!err) {
        err = run_op(a, &op, &result);
        if (err || !creator_next(&creator, result.zk_rc, &op, &zk_rc))
            break;
    }
    *exists = zk_rc == ZK_NODE_EXISTS;
    if (!err && zk_rc != ZK_OK && !*exists)
        err = refused(a, "create", path, zk_rc);
    creator_deinit(&creator);
    free(path);
    return err;
}

enum zkc_err admin_write(struct admin *a, char *path, struct bytes data)
{
    struct zk_result result;
    bool exists = true;
    enum zkc_err err = ZKC_OK;
    for (int tries = 0; exists && !err; tries++) {
        struct zk_op op = {
            .type = ZK_OP_SET, .path = path, .data = data, .version = ZK_ANY_VERSION};
        err = path ? run_op(a, &op, &result) : no_memory(a);
        if (err || result.zk_rc == ZK_OK)
            break;
        if (result.zk_rc != ZK_NO_NODE || tries > 2) {
            err = refused(a, "setData", path, result.zk_rc);
            break;
        }
        err = admin_create(a, strdup(path), data, &exists); /* else it came meanwhile: set it */
    }
    free(path);
    return err;
}

enum zkc_err admin_set(struct admin *a, char *path, struct bytes data, int32_t version, bool *done)
{
    struct zk_op op = {.type = ZK_OP_SET, .path = path, .data = data, .version = version};
    struct zk_result result;
    enum zkc_err err = path ? run_op(a, &op, &result) : no_memory(a);
    *done = !err && result.zk_rc == ZK_OK;
    if (!err && !*done && result.zk_rc != ZK_BAD_VERSION && result.zk_rc != ZK_NO_NODE)
        err = refused(a, "setData", path, result.zk_rc);
    free(path);
    return err;
}

enum zkc_err admin_read_topic(struct admin *a, const char *topic, struct zk_topic *out, bool *found)
{
    struct zk_result result;
    enum zkc_err err = admin_do(a, ZK_OP_GET, zk_path_topic(topic), BYTES_NULL, &result);
    *found = !err && result.zk_rc == ZK_OK;
    *out = (struct zk_topic){0};
    if (err || result.zk_rc == ZK_NO_NODE)
        return err;
    if (result.zk_rc != ZK_OK)
        return refused(a, "getData", topic, result.zk_rc);
    struct why why;
    err = zk_topic_read(result.data, out, &why);
    if (err)
        why_set(&a->why, "topic %s: %s", topic, why.text);
    return err;
}

static size_t draw(size_t below)
{
    uint32_t n = 0;
    if (getrandom(&n, sizeof n, 0) != sizeof n)
        n = 0; /* any start will do */
    return n % below;
}

enum zkc_err admin_place(struct admin *a, struct zk_topic *topic, int32_t count,
                         int32_t replication)
{
    struct brokers brokers;
    enum zkc_err err = brokers_read(a->zk, &a->arena, &brokers, &a->why);
    if (err)
        return err;
    if (brokers.count < (size_t)replication) {
        why_set(&a->why, "replication factor: %d larger than available brokers: %zu", replication,
                brokers.count);
        return ZKC_ERR_INVALID;
    }
    size_t old = topic->partition_count, start = draw(brokers.count), shift = draw(brokers.count);
    struct zk_replicas *grown =
        realloc(topic->partitions, (old + (size_t)count) * sizeof *topic->partitions);
    if (!grown)
        return no_memory(a);
    topic->partitions = grown;
    for (int32_t i = 0; i < count; i++) {
        struct zk_replicas *p = &grown[topic->partition_count];
        *p = (struct zk_replicas){.partition = (int32_t)old + i,
                                  .broker_ids = calloc((size_t)replication, sizeof(int32_t))};
        if (!p->broker_ids)
            return no_memory(a);
        for (; p->broker_count < (size_t)replication; p->broker_count++)
            p->broker_ids[p->broker_count] =
                brokers
                    .list[zk_replica_broker(brokers.count, start, shift, (int32_t)old, p->partition,
                                            p->broker_count)]
                    .id;
        topic->partition_count++;
    }
    return ZKC_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum zkc_err admin_topics(struct admin *a, const char *const **names, size_t *count)
{
    struct zk_result result;
    enum zkc_err err =
        admin_do(a, ZK_OP_CHILDREN, strdup(ZK_PATH_BROKER_TOPICS), BYTES_NULL, &result);
    if (err)
        return err;
    if (result.zk_rc == ZK_NO_NODE)
        report_status("there is no " ZK_PATH_BROKER_TOPICS ": no broker ever was there (is the "
                      "chroot right?)");
    *names = result.children;
    *count = result.zk_rc == ZK_OK ? result.children_count : 0;
    if (*count)
        qsort((void *)(uintptr_t)*names, *count, sizeof **names, by_text);
    return ZKC_OK;
}
