/* A source of messages: one fetcher (core/fetch) of one leader broker with its connection and its
 * timer. Requests that the fetcher wants go out over the connection, answers come back decoded;
 * everything else it says goes to the owner. Loop's thread. */
#ifndef ZKC_CONSUMER_SOURCE_H
#define ZKC_CONSUMER_SOURCE_H

#include "zkconsumer/consumer/dial.h"
#include "zkconsumer/consumer/log.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/json.h"
#include "zkconsumer/core/base/meter.h"
#include "zkconsumer/core/fetch/fetch_wire.h"
#include "zkconsumer/core/fetch/fetcher.h"

struct source;

/* Of fetch requests that were answered. */
struct fetch_numbers {
    uint64_t requests, bytes;     /* of the answers */
    int64_t took_us, took_us_max; /* from sending to the answer; together, and the longest */
    int64_t bytes_min, bytes_max; /* of one answer */
    int64_t since_ms;             /* counted since */
    struct meter request_rate, byte_rate;
};

/* What the sources of a consumer share. */
struct source_shared {
    struct dial *dial;
    struct log *log;
    int64_t answer_bytes_max;
    /* An output that is no request. Chunks are views into source_frame(). Must not feed this
     * source. */
    void (*on_output)(struct source *s, const struct fetcher_output *o, void *user);
    /* All outputs of a step were told. */
    void (*on_step)(struct source *s, void *user);
    /* The answer to a request has been dealt with. */
    void (*on_answered)(void *user);
    void *user;
    struct fetch_numbers numbers; /* of all sources that there ever were */
    struct buf request;           /* scratch of one request, and of one answer */
    struct fetch_wire_decoder decoder;
};

/* Fields above the scratch are set by the caller before. */
void source_shared_init(struct source_shared *shared);
void source_shared_deinit(struct source_shared *shared);

/* `index` tells several sources of one broker apart. NULL: out of memory. */
struct source *source_new(struct source_shared *shared, int32_t broker_id, const char *host,
                          int32_t port, unsigned index);
void source_free(struct source *s);

bool source_is(const struct source *s, int32_t broker_id, const char *host, int32_t port,
               unsigned index);

/* Feeds the fetcher and carries out what it says. */
void source_feed(struct source *s, const struct fetcher_input *in);

/* The answer behind the chunks that are being told. */
struct frame *source_frame(const struct source *s);
struct fetcher *source_fetcher(const struct source *s);
int32_t source_broker_id(const struct source *s);
const char *source_address(const struct source *s); /* "host:port" */
const char *source_host(const struct source *s);
int32_t source_port(const struct source *s);

void source_stats(const struct source *s, struct json *j); /* one object */

/* Adds what it has counted; of rates, what they are now. */
void source_add_numbers(struct source *s, int64_t now_ms, struct fetch_numbers *sum);

#endif
