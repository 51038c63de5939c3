#include "zkconsumer/core/zk/topic.h"
#include "zkconsumer/core/zk/json.h"
#include <stdlib.h>

/* A list of 32-bit integers; *out is NULL when it is empty. */
static enum zkc_err read_ids(json_t *list, int32_t **out, size_t *count)
{
    size_t n = json_array_size(list);
    if (!json_is_array(list))
        return ZKC_ERR_CORRUPT;
    int32_t *ids = n ? malloc(n * sizeof *ids) : NULL;
    if (n && !ids)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        json_t *id = json_array_get(list, i);
        json_int_t value = json_integer_value(id);
        if (!json_is_integer(id) || value < INT32_MIN || value > INT32_MAX) {
            free(ids);
            return ZKC_ERR_CORRUPT;
        }
        ids[i] = (int32_t)value;
    }
    *out = ids;
    *count = n;
    return ZKC_OK;
}

/* Java's Integer.parseInt, without negative numbers. */
static bool read_partition(const char *key, int32_t *out)
{
    int64_t n = 0;
    if (*key == '+')
        key++;
    if (!*key)
        return false;
    for (; *key; key++) {
        if (*key < '0' || *key > '9')
            return false;
        n = n * 10 + (*key - '0');
        if (n > INT32_MAX)
            return false;
    }
    *out = (int32_t)n;
    return true;
}

static int by_partition(const void *a, const void *b)
{
    const struct zk_replicas *x = a, *y = b;
    return (x->partition > y->partition) - (x->partition < y->partition);
}

/* "0" and "00" are one partition to Java, whose map keeps the later one; which is later hardly
 * matters, but each must be there once. */
static void drop_doubles(struct zk_topic *topic)
{
    size_t kept = 0;
    for (size_t i = 0; i < topic->partition_count; i++) {
        if (kept && topic->partitions[kept - 1].partition == topic->partitions[i].partition)
            free(topic->partitions[i].broker_ids);
        else
            topic->partitions[kept++] = topic->partitions[i];
    }
    topic->partition_count = kept;
}

static enum zkc_err read_partitions(json_t *partitions, struct zk_topic *out, struct why *why)
{
    size_t n = json_object_size(partitions);
    if (!n)
        return ZKC_OK;
    out->partitions = calloc(n, sizeof *out->partitions);
    if (!out->partitions)
        return ZKC_ERR_NOMEM;
    for (void *at = json_object_iter(partitions); at; at = json_object_iter_next(partitions, at)) {
        struct zk_replicas *p = &out->partitions[out->partition_count];
        const char *key = json_object_iter_key(at);
        if (!read_partition(key, &p->partition)) {
            why_set(why, "partition \"%s\": expected a number in 0 .. 2147483647",
                    why_quote(bytes_of_text(key)).text);
            return ZKC_ERR_CORRUPT;
        }
        if (read_ids(json_object_iter_value(at), &p->broker_ids, &p->broker_count) == ZKC_ERR_NOMEM)
            return ZKC_ERR_NOMEM;
        out->partition_count++;
    }
    qsort(out->partitions, out->partition_count, sizeof *out->partitions, by_partition);
    drop_doubles(out);
    return ZKC_OK;
}

enum zkc_err zk_topic_read(struct bytes data, struct zk_topic *out, struct why *why)
{
    json_t *json = NULL;
    struct zk_topic read = {NULL, 0};
    enum zkc_err err = zk_json_read_object(data, &json, NULL, why);
    if (err && err != ZKC_ERR_CORRUPT)
        return err;
    json_t *partitions = json_object_get(json, "partitions");
    if (err) {
        err = ZKC_OK; /* zero partitions; `why` is set */
    } else if (!json_is_object(partitions)) {
        why_set(why, "\"partitions\" is %s; expected an object of partitions and replicas",
                partitions ? "no object" : "missing");
    } else {
        err = read_partitions(partitions, &read, why);
    }
    json_decref(json);
    if (err)
        zk_topic_deinit(&read);
    else
        *out = read;
    return err;
}

void zk_topic_deinit(struct zk_topic *topic)
{
    for (size_t i = 0; i < topic->partition_count; i++)
        free(topic->partitions[i].broker_ids);
    free(topic->partitions);
    *topic = (struct zk_topic){NULL, 0};
}

static enum zkc_err read_int32(json_t *json, const char *field, int32_t *out, struct why *why)
{
    json_t *value = json_object_get(json, field);
    json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < INT32_MIN || n > INT32_MAX) {
        why_set(why, "\"%s\" is %s; expected a 32-bit integer", field, value ? "none" : "missing");
        return ZKC_ERR_CORRUPT;
    }
    *out = (int32_t)n;
    return ZKC_OK;
}

enum zkc_err zk_partition_state_read(struct bytes data, struct zk_partition_state *out,
                                     struct why *why)
{
    json_t *json;
    struct zk_partition_state read = {.controller_epoch = -1};
    enum zkc_err err = zk_json_read_object(data, &json, NULL, why);
    if (err)
        return err;
    err = read_int32(json, "leader", &read.leader, why);
    if (!err)
        err = read_int32(json, "leader_epoch", &read.leader_epoch, why);
    if (!err && json_object_get(json, "controller_epoch"))
        err = read_int32(json, "controller_epoch", &read.controller_epoch, why);
    if (!err) {
        err = read_ids(json_object_get(json, "isr"), &read.isr, &read.isr_count);
        if (err == ZKC_ERR_CORRUPT)
            why_set(why, "\"isr\" is missing or wrong; expected a list of 32-bit integers");
    }
    json_decref(json);
    if (!err)
        *out = read;
    return err;
}

void zk_partition_state_deinit(struct zk_partition_state *state)
{
    free(state->isr);
    *state = (struct zk_partition_state){.isr = NULL};
}
