#include "zkconsumer/core/zk/topic.h"
#include "zkconsumer/core/zk/json.h"
#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/core/zk/plain.h"
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

/* ---- topics as they nearly always are: {"version":1,"partitions":{"1":[2,3],"0":[1]}} ---- */

#define PLAIN_REPLICAS_MAX 16

/* After the opening bracket; takes the closing one. */
static bool plain_ids(struct zk_plain *p, int32_t *ids, size_t *count)
{
    for (*count = 0; *count < PLAIN_REPLICAS_MAX; ++*count) {
        if (zk_plain_skip(p, "]"))
            return true;
        if ((*count && !zk_plain_skip(p, ",")) || !zk_plain_number(p, &ids[*count]))
            return false;
    }
    return zk_plain_skip(p, "]");
}

static bool plain_partition(struct zk_plain *p, struct zk_replicas *out, enum zkc_err *err)
{
    int32_t ids[PLAIN_REPLICAS_MAX];
    if (!zk_plain_skip(p, "\"") || !zk_plain_number(p, &out->partition) ||
        !zk_plain_skip(p, "\":[") || !plain_ids(p, ids, &out->broker_count))
        return false;
    size_t size = out->broker_count * sizeof *ids;
    out->broker_ids = size ? malloc(size) : NULL;
    if (size && !out->broker_ids)
        *err = ZKC_ERR_NOMEM;
    else if (size)
        memcpy(out->broker_ids, ids, size);
    return !*err;
}

/* After the opening brace; takes the closing one. */
static bool plain_partitions(struct zk_plain *p, struct zk_topic *out, enum zkc_err *err)
{
    size_t most = 0;
    for (const uint8_t *at = p->at; at < p->end; at++)
        most += *at == '[';
    out->partitions = most ? calloc(most, sizeof *out->partitions) : NULL;
    if (most && !out->partitions)
        *err = ZKC_ERR_NOMEM;
    for (size_t i = 0; !*err && !zk_plain_skip(p, "}"); out->partition_count = ++i)
        if (i == most || (i && !zk_plain_skip(p, ",")) ||
            !plain_partition(p, &out->partitions[i], err))
            return false;
    return !*err;
}

static bool is_strictly_ascending(const struct zk_topic *t)
{
    for (size_t i = 1; i < t->partition_count; i++)
        if (t->partitions[i - 1].partition >= t->partitions[i].partition)
            return false;
    return true;
}

/* False: it is not plain; or *err. */
static bool read_plain(struct bytes data, struct zk_topic *out, enum zkc_err *err)
{
    struct zk_plain p = zk_plain_of(data);
    struct zk_topic t = {NULL, 0};
    bool ok = zk_plain_skip(&p, "{\"version\":1,\"partitions\":{") &&
              plain_partitions(&p, &t, err) && zk_plain_skip(&p, "}") && zk_plain_is_end(&p);
    if (ok && !is_strictly_ascending(&t)) {
        qsort(t.partitions, t.partition_count, sizeof *t.partitions, by_partition);
        ok = is_strictly_ascending(&t); /* of doubles the JSON library takes the last */
    }
    if (ok)
        *out = t;
    else
        zk_topic_deinit(&t);
    return ok;
}

/* ---- all others ---- */

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

static enum zkc_err read_json(struct bytes data, struct zk_topic *out, struct why *why)
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

enum zkc_err zk_topic_read(struct bytes data, struct zk_topic *out, struct why *why)
{
    enum zkc_err err = ZKC_OK;
    why_clear(why);
    if (data.len <= ZK_DATA_BYTES_MAX && (read_plain(data, out, &err) || err))
        return err;
    return read_json(data, out, why);
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
