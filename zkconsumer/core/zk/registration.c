#include "zkconsumer/core/zk/registration.h"
#include "zkconsumer/core/zk/json.h"
#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/core/zk/plain.h"
#include <assert.h>
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

/* ---- memory ---- */

/* Strings are cut off the front of what is left of a registration's block. */
struct pieces {
    char *at, *end;
};

/* Room for `count` subscriptions and for `texts` bytes of texts with their zeros. */
static bool block_make(struct zk_registration *r, size_t count, size_t texts, struct pieces *out)
{
    size_t size = count * sizeof *r->subscriptions + texts;
    r->memory = malloc(size);
    if (!r->memory)
        return false;
    r->subscriptions = count ? r->memory : NULL;
    *out = (struct pieces){(char *)r->memory + count * sizeof *r->subscriptions,
                           (char *)r->memory + size};
    return true;
}

static char *piece(struct pieces *p, const void *text, size_t len)
{
    assert(len < (size_t)(p->end - p->at));
    char *copy = p->at;
    memcpy(copy, text, len);
    copy[len] = '\0';
    p->at += len + 1;
    return copy;
}

void zk_registration_deinit(struct zk_registration *registration)
{
    free(registration->memory);
    *registration = (struct zk_registration){.pattern = ZK_PATTERN_STATIC};
}

/* ---- registrations as they nearly always are ---- */

/*   {"version":1,"subscription":{"t":1,"u":2},"pattern":"static","timestamp":"1424990000456"}
 *
 * with or without timestamp and strategy. */
#define PLAIN_SUBSCRIPTIONS_MAX 16

struct plain_subscription {
    struct bytes topic;
    int32_t streams;
};

static bool plain_is_new(const struct plain_subscription *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal(list[i].topic, list[count].topic))
            return false;
    return true;
}

static bool plain_streams(struct zk_plain *p, int32_t *out)
{
    return zk_plain_number(p, out) && *out >= 1 && *out <= ZK_STREAMS_MAX;
}

/* After the opening brace; takes the closing one. */
static bool plain_subscriptions(struct zk_plain *p, struct plain_subscription *list, size_t *count)
{
    for (*count = 0; *count < PLAIN_SUBSCRIPTIONS_MAX; ++*count) {
        struct plain_subscription *s = &list[*count];
        if (zk_plain_skip(p, "}"))
            return true;
        if ((*count && !zk_plain_skip(p, ",")) || !zk_plain_skip(p, "\"") ||
            !zk_plain_string(p, &s->topic) || !zk_plain_skip(p, ":") ||
            !plain_streams(p, &s->streams) || !plain_is_new(list, *count))
            return false;
    }
    return zk_plain_skip(p, "}");
}

static bool plain_optional(struct zk_plain *p, const char *head, struct bytes *out)
{
    *out = BYTES_NULL;
    return !zk_plain_skip(p, head) || zk_plain_string(p, out);
}

/* False: it is not plain. ZKC_ERR_NOMEM in *err. */
static bool read_plain(struct bytes data, struct zk_registration *out, enum zkc_err *err)
{
    struct plain_subscription list[PLAIN_SUBSCRIPTIONS_MAX];
    struct zk_plain p = zk_plain_of(data);
    struct bytes timestamp, strategy;
    struct pieces pieces;
    size_t count;
    if (!zk_plain_skip(&p, "{\"version\":1,\"subscription\":{") ||
        !plain_subscriptions(&p, list, &count) || !zk_plain_skip(&p, ",\"pattern\":\"static\"") ||
        !plain_optional(&p, ",\"timestamp\":\"", &timestamp) ||
        !plain_optional(&p, ",\"strategy\":\"", &strategy) || !zk_plain_skip(&p, "}") ||
        !zk_plain_is_end(&p))
        return false;
    struct zk_registration r = {.pattern = ZK_PATTERN_STATIC, .subscription_count = count};
    *err = block_make(&r, count, data.len, &pieces) ? ZKC_OK : ZKC_ERR_NOMEM;
    if (*err)
        return true;
    for (size_t i = 0; i < count; i++)
        r.subscriptions[i] = (struct zk_subscription){
            piece(&pieces, list[i].topic.data, list[i].topic.len), list[i].streams};
    if (timestamp.data)
        r.timestamp = piece(&pieces, timestamp.data, timestamp.len);
    if (strategy.data)
        r.strategy = piece(&pieces, strategy.data, strategy.len);
    *out = r;
    return true;
}

/* ---- all others ---- */

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

/* Takes the first entries; jansson keeps the order of the text, as a small Scala map does. */
static enum zkc_err read_subscriptions(json_t *subscription, struct pieces *pieces,
                                       struct zk_registration *out, struct why *why)
{
    void *at = json_object_iter(subscription);
    for (size_t i = 0; i < out->subscription_count; i++) {
        struct zk_subscription *s = &out->subscriptions[i];
        const char *topic = json_object_iter_key(at);
        enum zkc_err err = read_streams(topic, json_object_iter_value(at), &s->streams, why);
        if (err)
            return err;
        s->topic = piece(pieces, topic, strlen(topic));
        at = json_object_iter_next(subscription, at);
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

/* NULL when the field is absent or neither text nor an integer. */
static char *read_text(json_t *json, const char *field, struct pieces *pieces)
{
    json_t *value = json_object_get(json, field);
    char number[24];
    const char *text = json_string_value(value);
    if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        text = number;
    }
    return text ? piece(pieces, text, strlen(text)) : NULL;
}

static enum zkc_err read_fields(json_t *json, size_t bytes, struct zk_registration *out,
                                struct why *why)
{
    json_t *subscription = json_object_get(json, "subscription");
    if (!json_is_object(subscription)) {
        why_set(why, "\"subscription\" is %s; expected an object of topics and stream counts",
                subscription ? "no object" : "missing");
        return ZKC_ERR_CORRUPT;
    }
    size_t count = json_object_size(subscription);
    struct pieces pieces;
    enum zkc_err err = read_pattern(json, count, &out->pattern, why);
    if (!err && out->pattern != ZK_PATTERN_STATIC)
        count = 1;
    /* A text that JSON spells in n bytes has at most 3n (a bad byte becomes U+FFFD), and a zero for
     * the quotes. */
    if (!err && !block_make(out, count, 3 * bytes, &pieces))
        err = ZKC_ERR_NOMEM;
    out->subscription_count = count;
    if (!err)
        err = read_subscriptions(subscription, &pieces, out, why);
    if (err)
        return err;
    out->timestamp = read_text(json, "timestamp", &pieces);
    out->strategy = read_text(json, "strategy", &pieces);
    return ZKC_OK;
}

static enum zkc_err read_json(struct bytes data, struct zk_registration *out, struct why *java,
                              struct why *why)
{
    json_t *json;
    enum zkc_err err = zk_json_read_object(data, &json, java, why);
    if (err)
        return err;
    struct zk_registration read = {.pattern = ZK_PATTERN_STATIC};
    err = read_fields(json, data.len, &read, why);
    json_decref(json);
    if (err)
        zk_registration_deinit(&read);
    else
        *out = read;
    return err;
}

enum zkc_err zk_registration_read(struct bytes data, struct zk_registration *out, struct why *java,
                                  struct why *why)
{
    enum zkc_err err;
    why_clear(java);
    why_clear(why);
    if (data.len <= ZK_DATA_BYTES_MAX && read_plain(data, out, &err))
        return err;
    return read_json(data, out, java, why);
}
