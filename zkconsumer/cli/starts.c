#include "zkconsumer/cli/starts.h"
#include "zkconsumer/cli/log_ends.h"
#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/core/zk/topic.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct asking {
    struct zk_reader *r;
    struct arena arena;
    const char *topic;
    const int32_t *partitions;
    size_t count;
    struct why *why;
};

#define ANSWERS_BYTES_MAX ((size_t)256 << 20)

static enum zkc_err open_reader(struct asking *a, const zkc_conf *conf, int64_t timeout_ms)
{
    arena_init(&a->arena, ANSWERS_BYTES_MAX);
    return zk_reader_open_with(zkc_conf_get(conf, "zookeeper.connect"),
                               zkc_conf_get(conf, "zookeeper.auth"), timeout_ms, &a->r, a->why);
}

static enum zkc_err done(struct asking *a, enum zkc_err err)
{
    if (err == ZKC_ERR_NOMEM || err == ZKC_ERR_TOO_LARGE || err == ZKC_ERR_SYSTEM)
        why_set(a->why, "topic %s: %s", a->topic, zkc_err_text(err));
    arena_deinit(&a->arena);
    zk_reader_close(a->r);
    return err;
}

static bool has_partition(const struct zk_topic *topic, int32_t partition)
{
    for (size_t i = 0; i < topic->partition_count; i++)
        if (topic->partitions[i].partition == partition)
            return true;
    return false;
}

static enum zkc_err check(struct asking *a)
{
    char path[sizeof ZK_PATH_BROKER_TOPICS + ZK_NAME_MAX + 2];
    snprintf(path, sizeof path, ZK_PATH_BROKER_TOPICS "/%s", a->topic);
    struct zk_op op = {.type = ZK_OP_GET, .path = path};
    struct zk_result result;
    struct zk_topic topic;
    enum zkc_err err = zk_reader_run(a->r, &op, 1, &a->arena, &result, a->why);
    if (err)
        return err;
    if (result.zk_rc != ZK_OK) {
        why_set(a->why, "there is no topic %s", a->topic);
        return ZKC_ERR_INVALID;
    }
    err = zk_topic_read(result.data, &topic, a->why);
    if (err)
        return err;
    for (size_t i = 0; !err && i < a->count; i++) {
        if (!has_partition(&topic, a->partitions[i])) {
            why_set(a->why, "topic %s has no partition %" PRId32 "; it has %zu, from 0", a->topic,
                    a->partitions[i], topic.partition_count);
            err = ZKC_ERR_INVALID;
        }
    }
    zk_topic_deinit(&topic);
    return err;
}

enum zkc_err starts_check(const zkc_conf *conf, const char *topic, const int32_t *partitions,
                          size_t count, int64_t timeout_ms, struct why *why)
{
    struct asking a = {.topic = topic, .partitions = partitions, .count = count, .why = why};
    enum zkc_err err = open_reader(&a, conf, timeout_ms);
    return done(&a, err ? err : check(&a));
}

enum zkc_err starts_find_topic(const zkc_conf *conf, const char *topic, int64_t timeout_ms,
                               bool *is_there, struct why *why)
{
    char path[sizeof ZK_PATH_BROKER_TOPICS + ZK_NAME_MAX + 2];
    struct asking a = {.topic = topic, .why = why};
    struct zk_op op = {.type = ZK_OP_EXISTS, .path = path};
    struct zk_result result;
    snprintf(path, sizeof path, ZK_PATH_BROKER_TOPICS "/%s", topic);
    enum zkc_err err = open_reader(&a, conf, timeout_ms);
    if (!err)
        err = zk_reader_run(a.r, &op, 1, &a.arena, &result, why);
    if (!err)
        *is_there = result.zk_rc == ZK_OK;
    return done(&a, err);
}

/* ---- before the end ---- */

static enum zkc_err read_leaders(struct asking *a, struct log_end *list)
{
    struct zk_op *ops = arena_alloc_array(&a->arena, a->count, sizeof *ops);
    struct zk_result *results = arena_alloc_array(&a->arena, a->count, sizeof *results);
    for (size_t i = 0; results && i < a->count; i++) {
        size_t size = sizeof ZK_PATH_BROKER_TOPICS + strlen(a->topic) + 40;
        char *path = arena_alloc(&a->arena, size);
        if (path)
            snprintf(path, size, ZK_PATH_BROKER_TOPICS "/%s/partitions/%" PRId32 "/state", a->topic,
                     a->partitions[i]);
        ops[i] = (struct zk_op){.type = ZK_OP_GET, .path = path};
    }
    if (a->arena.failed)
        return a->arena.failed;
    enum zkc_err err = zk_reader_run(a->r, ops, a->count, &a->arena, results, a->why);
    for (size_t i = 0; !err && i < a->count; i++) {
        struct zk_partition_state state;
        struct why odd;
        list[i] = (struct log_end){.topic = a->topic, .partition = a->partitions[i], .leader = -1};
        if (results[i].zk_rc != ZK_OK ||
            zk_partition_state_read(results[i].data, &state, &odd) != ZKC_OK)
            continue; /* it has no leader yet */
        list[i].leader = state.leader;
        zk_partition_state_deinit(&state);
    }
    return err;
}

static int64_t offset_of(const struct log_end *list, size_t count, int32_t partition)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].partition == partition)
            return list[i].offset;
    return -1;
}

static enum zkc_err ask(struct asking *a, const struct brokers *brokers, struct log_end *list,
                        int64_t time)
{
    enum zkc_err err =
        log_ends_read(brokers, list, a->count, time, zk_reader_left_ms(a->r), &a->arena);
    for (size_t i = 0; !err && i < a->count; i++) {
        if (list[i].err) {
            why_set(a->why, "the offsets of [%s,%" PRId32 "] are not known: %s", a->topic,
                    list[i].partition, list[i].missing);
            err = list[i].err;
        }
    }
    return err;
}

static enum zkc_err find(struct asking *a, int64_t n, int64_t *offsets)
{
    struct brokers brokers;
    struct log_end *list = arena_alloc_array(&a->arena, a->count, sizeof *list);
    enum zkc_err err = list ? check(a) : ZKC_ERR_NOMEM;
    if (!err)
        err = brokers_read(a->r, &a->arena, &brokers, a->why);
    if (!err)
        err = read_leaders(a, list);
    if (!err)
        err = ask(a, &brokers, list, LIST_OFFSETS_LATEST);
    for (size_t i = 0; !err && i < a->count; i++)
        offsets[i] = offset_of(list, a->count, a->partitions[i]) - n;
    if (!err)
        err = ask(a, &brokers, list, LIST_OFFSETS_EARLIEST);
    for (size_t i = 0; !err && i < a->count; i++) {
        int64_t oldest = offset_of(list, a->count, a->partitions[i]);
        if (offsets[i] < oldest)
            offsets[i] = oldest;
    }
    return err;
}

enum zkc_err starts_before_end(const zkc_conf *conf, const char *topic, const int32_t *partitions,
                               size_t count, int64_t n, int64_t timeout_ms, int64_t *offsets,
                               struct why *why)
{
    struct asking a = {.topic = topic, .partitions = partitions, .count = count, .why = why};
    enum zkc_err err = open_reader(&a, conf, timeout_ms);
    return done(&a, err ? err : find(&a, n, offsets));
}
