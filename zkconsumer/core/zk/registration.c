#include "zkconsumer/core/zk/registration.h"
#include "zkconsumer/core/zk/json.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *zk_pattern_name(enum zk_pattern pattern)
{
    switch (pattern) {
    case ZK_PATTERN_STATIC: return "static";
    case ZK_PATTERN_WHITE_LIST: return "white_list";
    case ZK_PATTERN_BLACK_LIST: return "black_list";
    }
    return "?";
}

void zk_registration_write(struct buf *out, const struct zk_registration *registration)
{
    buf_append_text(out, "{\"version\":1,\"subscription\":{");
    for (size_t i = 0; i < registration->subscription_count; i++) {
        const struct zk_subscription *s = &registration->subscriptions[i];
        if (i)
            buf_append_byte(out, ',');
        zk_json_append_string(out, s->topic);
        buf_appendf(out, ":%" PRId32, s->streams);
    }
    buf_append_text(out, "},\"pattern\":");
    zk_json_append_string(out, zk_pattern_name(registration->pattern));
    if (registration->timestamp) {
        buf_append_text(out, ",\"timestamp\":");
        zk_json_append_string(out, registration->timestamp);
    }
    if (registration->strategy) {
        buf_append_text(out, ",\"strategy\":");
        zk_json_append_string(out, registration->strategy);
    }
    buf_append_byte(out, '}');
}

static enum zkc_err read_streams(const char *topic, json_t *streams, int32_t *out, struct why *why)
{
    json_int_t n = json_is_integer(streams) ? json_integer_value(streams) : 0;
    if (n < 1 || n > ZK_STREAMS_MAX) {
        why_set(why, "stream count of \"%s\": expected an integer in 1 .. %d",
                why_quote(bytes_of_text(topic)).text, ZK_STREAMS_MAX);
        return ZKC_ERR_CORRUPT;
    }
    *out = (int32_t)n;
    return ZKC_OK;
}

/* Takes the first `count` entries; jansson keeps the order of the text, as a small Scala map does.
 */
static enum zkc_err read_subscriptions(json_t *subscription, size_t count,
                                       struct zk_registration *out, struct why *why)
{
    if (!count)
        return ZKC_OK;
    out->subscriptions = calloc(count, sizeof *out->subscriptions);
    if (!out->subscriptions)
        return ZKC_ERR_NOMEM;
    void *at = json_object_iter(subscription);
    for (size_t i = 0; i < count; i++, at = json_object_iter_next(subscription, at)) {
        struct zk_subscription *s = &out->subscriptions[i];
        const char *topic = json_object_iter_key(at);
        enum zkc_err err = read_streams(topic, json_object_iter_value(at), &s->streams, why);
        if (err)
            return err;
        s->topic = strdup(topic);
        if (!s->topic)
            return ZKC_ERR_NOMEM;
        out->subscription_count = i + 1;
    }
    return ZKC_OK;
}

static enum zkc_err read_pattern(json_t *json, size_t subscription_count, enum zk_pattern *out,
                                 struct why *why)
{
    json_t *pattern = json_object_get(json, "pattern");
    if (!json_is_string(pattern) && !json_is_null(pattern)) {
        why_set(why, "\"pattern\" is %s; expected \"static\", \"white_list\" or \"black_list\"",
                pattern ? "no string" : "missing");
        return ZKC_ERR_CORRUPT;
    }
    const char *name = json_is_string(pattern) ? json_string_value(pattern) : "";
    *out = ZK_PATTERN_STATIC;
    if (subscription_count && strcmp(name, "white_list") == 0)
        *out = ZK_PATTERN_WHITE_LIST;
    if (subscription_count && strcmp(name, "black_list") == 0)
        *out = ZK_PATTERN_BLACK_LIST;
    return ZKC_OK;
}

/* *out stays NULL when the field is absent or neither text nor an integer. */
static enum zkc_err read_text(json_t *json, const char *field, char **out)
{
    json_t *value = json_object_get(json, field);
    char number[24];
    const char *text = json_string_value(value);
    if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        text = number;
    }
    if (!text)
        return ZKC_OK;
    *out = strdup(text);
    return *out ? ZKC_OK : ZKC_ERR_NOMEM;
}

static enum zkc_err read_fields(json_t *json, struct zk_registration *out, struct why *why)
{
    json_t *subscription = json_object_get(json, "subscription");
    if (!json_is_object(subscription)) {
        why_set(why, "\"subscription\" is %s; expected an object of topics and stream counts",
                subscription ? "no object" : "missing");
        return ZKC_ERR_CORRUPT;
    }
    size_t count = json_object_size(subscription);
    enum zkc_err err = read_pattern(json, count, &out->pattern, why);
    if (!err && out->pattern != ZK_PATTERN_STATIC)
        count = 1;
    if (!err)
        err = read_subscriptions(subscription, count, out, why);
    if (!err)
        err = read_text(json, "timestamp", &out->timestamp);
    if (!err)
        err = read_text(json, "strategy", &out->strategy);
    return err;
}

enum zkc_err zk_registration_read(struct bytes data, struct zk_registration *out, struct why *java,
                                  struct why *why)
{
    json_t *json;
    enum zkc_err err = zk_json_read_object(data, &json, java, why);
    if (err)
        return err;
    struct zk_registration read = {.pattern = ZK_PATTERN_STATIC};
    err = read_fields(json, &read, why);
    json_decref(json);
    if (err)
        zk_registration_deinit(&read);
    else
        *out = read;
    return err;
}

void zk_registration_deinit(struct zk_registration *registration)
{
    for (size_t i = 0; i < registration->subscription_count; i++)
        free(registration->subscriptions[i].topic);
    free(registration->subscriptions);
    free(registration->timestamp);
    free(registration->strategy);
    *registration = (struct zk_registration){.pattern = ZK_PATTERN_STATIC};
}
