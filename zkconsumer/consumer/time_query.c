#include "zkconsumer/consumer/time_query.h"
#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/api_versions.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include "zkconsumer/core/wire/list_offsets.h"
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES_MAX 1048576
#define PROBE_TIMEOUT_MS 2000 /* of ApiVersions, which 0.9 does not answer */

struct time_query {
    struct dial *dial;
    struct time_query_ask ask; /* its texts are owned */
    time_query_fn *fn;
    void *user;
    struct broker_connection *connection;
    int16_t version;
    struct event *failed;
};

void time_query_free(struct time_query *q)
{
    if (!q)
        return;
    q->fn = NULL;
    broker_connection_close(q->connection);
    if (q->failed)
        event_free(q->failed);
    free((char *)(uintptr_t)q->ask.host);
    free((char *)(uintptr_t)q->ask.topic);
    free(q);
}

static void end(struct time_query *q, const struct time_query_answer *answer)
{
    time_query_fn *fn = q->fn;
    q->fn = NULL;
    if (fn)
        fn(answer, q->user);
    time_query_free(q);
}

static void end_failed(struct time_query *q, enum zkc_err err, const char *text)
{
    struct time_query_answer answer = {.err = err, .text = text};
    end(q, &answer);
}

static void on_failed(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    end_failed(arg, ZKC_ERR_NOMEM, "out of memory or descriptors");
}

/* ---- the offsets ---- */

static void take_offsets(struct time_query *q, struct bytes body, struct arena *arena)
{
    struct wire_codec c;
    struct list_offsets_response m = {0};
    wire_codec_read(&c, q->version, body, arena);
    list_offsets_response_fields(&c, &m);
    if (wire_codec_end(&c) || m.topics_count != 1 || m.topics[0].partitions_count != 1) {
        end_failed(q, ZKC_ERR_PROTOCOL, c.reason[0] ? c.reason : "an answer about something else");
        return;
    }
    const struct list_offsets_response_partition *p = &m.topics[0].partitions[0];
    struct time_query_answer answer = {.kafka_error = p->error_code,
                                       .is_exact = q->version > 0,
                                       .offsets = p->old_style_offsets,
                                       .count = p->old_style_offsets_count};
    if (q->version > 0) {
        answer.offsets = &p->offset;
        answer.count = p->offset >= 0;
    }
    if (p->error_code) {
        answer.err = ZKC_ERR_BROKER;
        answer.text = kafka_error_name(p->error_code);
    }
    end(q, &answer);
}

static void on_offsets(enum zkc_err err, struct frame *frame, struct bytes body, const char *text,
                       void *user)
{
    (void)frame;
    struct time_query *q = user;
    struct arena arena;
    if (!q->fn || err == ZKC_ERR_CLOSED)
        return;
    if (err) {
        end_failed(q, err, text);
        return;
    }
    arena_init(&arena, ANSWER_BYTES_MAX);
    take_offsets(q, body, &arena);
    arena_deinit(&arena);
}

static enum zkc_err send_question(struct time_query *q)
{
    struct list_offsets_request_partition p = {.partition_index = q->ask.partition,
                                               .timestamp = q->ask.time_ms,
                                               .max_num_offsets = q->ask.count_max};
    struct list_offsets_request_topic topic = {
        .name = bytes_of_text(q->ask.topic), .partitions = &p, .partitions_count = 1};
    struct list_offsets_request m = {.replica_id = -1, .topics = &topic, .topics_count = 1};
    struct buf body;
    struct wire_codec c;
    buf_init(&body, ANSWER_BYTES_MAX);
    wire_codec_write(&c, q->version, &body);
    list_offsets_request_fields(&c, &m);
    enum zkc_err err = wire_codec_end(&c);
    broker_connection_close(q->connection);
    q->connection = NULL;
    if (!err)
        q->connection = dial_broker(q->dial, q->ask.host, q->ask.port, ANSWER_BYTES_MAX);
    if (!err && !q->connection)
        err = ZKC_ERR_NOMEM;
    if (!err)
        err = broker_connection_send(q->connection, API_LIST_OFFSETS, q->version, buf_bytes(&body),
                                     on_offsets, q);
    buf_deinit(&body);
    return err;
}

/* ---- what the broker speaks ---- */

static bool offers_version_1(struct bytes body)
{
    struct arena arena;
    struct wire_codec c;
    struct api_versions_response m = {0};
    bool offers = false;
    arena_init(&arena, ANSWER_BYTES_MAX);
    wire_codec_read(&c, 0, body, &arena);
    api_versions_response_fields(&c, &m);
    if (wire_codec_end(&c) == ZKC_OK)
        for (size_t i = 0; i < m.api_keys_count; i++)
            if (m.api_keys[i].api_key == API_LIST_OFFSETS)
                offers = m.api_keys[i].min_version <= 1 && m.api_keys[i].max_version >= 1;
    arena_deinit(&arena);
    return offers;
}

static void on_versions(enum zkc_err err, struct frame *frame, struct bytes body, const char *text,
                        void *user)
{
    (void)frame;
    (void)text;
    struct time_query *q = user;
    if (!q->fn || err == ZKC_ERR_CLOSED)
        return;
    q->version = !err && offers_version_1(body);
    if (send_question(q))
        event_active(q->failed, EV_TIMEOUT, 1);
}

static enum zkc_err probe(struct time_query *q)
{
    q->connection =
        dial_broker_within(q->dial, q->ask.host, q->ask.port, ANSWER_BYTES_MAX, PROBE_TIMEOUT_MS);
    return q->connection ? broker_connection_send(q->connection, API_API_VERSIONS, 0,
                                                  bytes_of("", 0), on_versions, q)
                         : ZKC_ERR_NOMEM;
}

struct time_query *time_query_start(struct dial *dial, const struct time_query_ask *ask,
                                    time_query_fn *fn, void *user)
{
    struct time_query *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    *q = (struct time_query){.dial = dial, .ask = *ask, .fn = fn, .user = user};
    q->ask.host = strdup(ask->host);
    q->ask.topic = strdup(ask->topic);
    q->failed = event_new(dial->base, -1, 0, on_failed, q);
    enum zkc_err err = q->ask.host && q->ask.topic && q->failed ? ZKC_OK : ZKC_ERR_NOMEM;
    if (!err)
        err = ask->wants_exact ? probe(q) : send_question(q);
    if (!err)
        return q;
    time_query_free(q);
    return NULL;
}
