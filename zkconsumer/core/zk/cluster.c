#include "zkconsumer/core/zk/cluster.h"
#include "zkconsumer/core/zk/json.h"
#include "zkconsumer/core/zk/offset.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static char *join(const char *parent, const char *name)
{
    size_t size = strlen(parent) + 1 + strlen(name) + 1;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s", parent, name);
    return path;
}

char *zk_path_topic_config(const char *topic)
{
    return join(ZK_PATH_TOPIC_CONFIGS, topic);
}

char *zk_path_delete_topic(const char *topic)
{
    return join(ZK_PATH_DELETE_TOPICS, topic);
}

/* ---- Writing ---- */

static void write_ids(struct buf *out, const int32_t *ids, size_t count)
{
    buf_append_byte(out, '[');
    for (size_t i = 0; i < count; i++)
        buf_appendf(out, "%s%" PRId32, i ? "," : "", ids[i]);
    buf_append_byte(out, ']');
}

void zk_broker_write(struct buf *out, const char *host, int32_t port, int32_t jmx_port,
                     int64_t timestamp_ms)
{
    buf_appendf(out, "{\"jmx_port\":%" PRId32 ",\"timestamp\":\"%" PRId64 "\",\"host\":", jmx_port,
                timestamp_ms);
    zk_json_append_string(out, host);
    buf_appendf(out, ",\"version\":1,\"port\":%" PRId32 "}", port);
}

void zk_topic_write(struct buf *out, const struct zk_replicas *partitions, size_t count)
{
    buf_append_text(out, "{\"version\":1,\"partitions\":{");
    for (size_t i = count; i-- > 0;) {
        buf_appendf(out, "\"%" PRId32 "\":", partitions[i].partition);
        write_ids(out, partitions[i].broker_ids, partitions[i].broker_count);
        if (i)
            buf_append_byte(out, ',');
    }
    buf_append_text(out, "}}");
}

static bool add_replicas(json_t *partitions, const struct zk_replicas *added)
{
    char name[12];
    snprintf(name, sizeof name, "%" PRId32, added->partition);
    json_t *ids = json_array();
    for (size_t i = 0; i < added->broker_count; i++)
        if (json_array_append_new(ids, json_integer(added->broker_ids[i]))) {
            json_decref(ids);
            return false;
        }
    return json_object_set_new(partitions, name, ids) == 0; /* takes ids, also when it fails */
}

enum zkc_err zk_topic_write_added(struct buf *out, struct bytes old,
                                  const struct zk_replicas *added, size_t count, struct why *why)
{
    why_clear(why);
    json_t *topic = old.data ? json_loadb((const char *)old.data, old.len, 0, NULL) : NULL;
    json_t *partitions = json_object_get(topic, "partitions");
    if (!json_is_object(partitions)) {
        why_set(why,
                "%s is no description of a topic: expected {\"version\":..,\"partitions\":{..}}",
                why_quote(old).text);
        json_decref(topic);
        return ZKC_ERR_CORRUPT;
    }
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = add_replicas(partitions, &added[i]);
    char *text = ok ? json_dumps(topic, JSON_COMPACT) : NULL;
    json_decref(topic);
    if (!text)
        return ZKC_ERR_NOMEM;
    buf_append_text(out, text);
    free(text);
    return out->failed;
}

void zk_partition_state_write(struct buf *out, const struct zk_partition_state *state)
{
    buf_appendf(out,
                "{\"controller_epoch\":%" PRId32 ",\"leader\":%" PRId32
                ",\"version\":1,\"leader_epoch\":%" PRId32 ",\"isr\":",
                state->controller_epoch, state->leader, state->leader_epoch);
    write_ids(out, state->isr, state->isr_count);
    buf_append_byte(out, '}');
}

void zk_controller_write(struct buf *out, int32_t broker_id, int64_t timestamp_ms)
{
    buf_appendf(out, "{\"version\":1,\"brokerid\":%" PRId32 ",\"timestamp\":\"%" PRId64 "\"}",
                broker_id, timestamp_ms);
}

void zk_topic_config_write(struct buf *out, const struct zk_setting *settings, size_t count)
{
    buf_append_text(out, "{\"version\":1,\"config\":{");
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_append_byte(out, ',');
        zk_json_append_string(out, settings[i].key);
        buf_append_byte(out, ':');
        zk_json_append_string(out, settings[i].value);
    }
    buf_append_text(out, "}}");
}

/* ---- Reading ---- */

enum zkc_err zk_controller_epoch_read(struct bytes data, int32_t *epoch, struct why *why)
{
    int64_t n;
    enum zkc_err err = zk_offset_read(data, &n, why);
    if (!err && n >= 0 && n <= INT32_MAX) {
        *epoch = (int32_t)n;
        return ZKC_OK;
    }
    why_set(why, "\"%s\": expected a number in 0 .. 2147483647", why_quote(data).text);
    return ZKC_ERR_CORRUPT;
}

enum zkc_err zk_controller_read(struct bytes data, int32_t *broker_id, struct why *why)
{
    json_t *json;
    if (zk_controller_epoch_read(data, broker_id, why) == ZKC_OK)
        return ZKC_OK;
    enum zkc_err err = zk_json_read_object(data, &json, NULL, why);
    if (err)
        return err;
    json_t *id = json_object_get(json, "brokerid");
    json_int_t n = json_integer_value(id);
    if (json_is_integer(id) && n >= 0 && n <= INT32_MAX) {
        *broker_id = (int32_t)n;
    } else {
        why_set(why, "\"brokerid\" is %s; expected a number in 0 .. 2147483647",
                id ? "none" : "missing");
        err = ZKC_ERR_CORRUPT;
    }
    json_decref(json);
    return err;
}

enum zkc_err zk_topic_config_read(struct bytes data, zk_setting_fn *fn, void *user, struct why *why)
{
    json_t *json;
    why_clear(why);
    if (!data.len)
        return ZKC_OK;
    enum zkc_err err = zk_json_read_object(data, &json, NULL, why);
    if (err)
        return err;
    json_t *config = json_object_get(json, "config");
    if (!json_is_object(config)) {
        why_set(why, "\"config\" is %s; expected an object of settings",
                config ? "none" : "missing");
        err = ZKC_ERR_CORRUPT;
    }
    for (void *at = json_object_iter(config); at && !err; at = json_object_iter_next(config, at)) {
        struct zk_setting setting = {json_object_iter_key(at),
                                     json_string_value(json_object_iter_value(at))};
        if (setting.value)
            err = fn(&setting, user);
    }
    json_decref(json);
    return err;
}

/* ---- Placing ---- */

size_t zk_replica_broker(size_t broker_count, size_t start, size_t shift, int32_t partition_first,
                         int32_t partition, size_t replica)
{
    assert(broker_count > 0 && replica < broker_count && partition >= partition_first);
    size_t p = (size_t)partition, n = broker_count;
    size_t first = (p + start) % n;
    if (replica == 0)
        return first;
    /* The shift grows each time the partitions have gone round all brokers; at partition 0 not. */
    size_t rounds = p / n - (partition_first > 0 ? (size_t)(partition_first - 1) / n : 0);
    return (first + 1 + (shift + rounds + replica - 1) % (n - 1)) % n;
}
