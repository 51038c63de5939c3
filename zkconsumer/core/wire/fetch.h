/* Fetch (api key 1), version 0. Source: Kafka's FetchRequest and FetchResponse (json schemas), in
 * 0.8.2 kafka.api.FetchRequest and FetchResponse.
 *
 * The answer is the consumer's hot path: a fetcher does not build a struct fetch_response but goes
 * through it with fetch_response_next(). The description serves tests, traces and the broker. */
#ifndef ZKC_WIRE_FETCH_H
#define ZKC_WIRE_FETCH_H

#include "zkconsumer/core/wire/codec.h"

struct fetch_request_partition {
    int32_t partition;
    int64_t fetch_offset;
    int32_t partition_max_bytes; /* a hard cut: the last message may arrive incomplete */
};

struct fetch_request_topic {
    struct bytes topic;
    struct fetch_request_partition *partitions;
    size_t partitions_count;
};

struct fetch_request {
    int32_t replica_id;  /* -1: a consumer */
    int32_t max_wait_ms; /* the broker answers then at the latest; longer than a request's timeout
                          * makes every idle fetch a failure */
    int32_t min_bytes;   /* and not before that many bytes are there */
    struct fetch_request_topic *topics;
    size_t topics_count;
};

void fetch_request_fields(struct wire_codec *c, struct fetch_request *m);

struct fetch_response_partition {
    int32_t partition_index;
    int16_t error_code;     /* enum kafka_error */
    int64_t high_watermark; /* -1 on error */
    struct bytes records;   /* a message set (message_set.h); null or empty: none */
};

struct fetch_response_topic {
    struct bytes topic;
    struct fetch_response_partition *partitions;
    size_t partitions_count;
};

struct fetch_response {
    struct fetch_response_topic *responses;
    size_t responses_count;
};

void fetch_response_fields(struct wire_codec *c, struct fetch_response *m);

/* Goes through the body of an answer (what follows the response header) partition by partition,
 * without allocating. Equal to the description above; a test holds them together. */
struct fetch_response_reader {
    struct bytes body;
    size_t position;          /* of the next byte to read */
    uint32_t topics_left;     /* after the one being read */
    uint32_t partitions_left; /* of the topic being read */
    struct bytes topic;       /* the topic being read */
    bool malformed;
    char reason[WIRE_REASON_SIZE]; /* after FETCH_RESPONSE_MALFORMED: what and where, for people */
};

/* One partition's part of the answer. The views point into the body. */
struct fetch_response_view {
    struct bytes topic;
    int32_t partition;
    int16_t error_code;
    int64_t high_watermark;
    struct bytes records;
};

enum fetch_response_result {
    FETCH_RESPONSE_PARTITION,
    FETCH_RESPONSE_END,
    /* The rest cannot be read, ever: reader->reason says why. What was handed out before is well
     * formed and stays valid; the connection is not to be trusted any further. */
    FETCH_RESPONSE_MALFORMED,
};

/* `body` is borrowed until the last view is used. */
void fetch_response_reader_init(struct fetch_response_reader *r, struct bytes body);
enum fetch_response_result fetch_response_next(struct fetch_response_reader *r,
                                               struct fetch_response_view *out);

#endif
