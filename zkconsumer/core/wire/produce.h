/* Produce (api key 0), version 0. Source: Kafka's ProduceRequest and ProduceResponse (json
 * schemas), in 0.8.2 kafka.api.ProducerRequest and ProducerResponse. */
#ifndef ZKC_WIRE_PRODUCE_H
#define ZKC_WIRE_PRODUCE_H

#include "zkconsumer/core/wire/codec.h"

struct produce_request_partition {
    int32_t index;
    struct bytes records; /* a message set (message_set.h), with any offsets; may be null */
};

struct produce_request_topic {
    struct bytes name;
    struct produce_request_partition *partition_data;
    size_t partition_data_count;
};

struct produce_request {
    int16_t acks;       /* 0: no answer; 1: the leader has it; -1: all replicas in sync have it */
    int32_t timeout_ms; /* how long to wait for the acknowledgements of others */
    struct produce_request_topic *topic_data;
    size_t topic_data_count;
};

void produce_request_fields(struct wire_codec *c, struct produce_request *m);

struct produce_response_partition {
    int32_t index;
    int16_t error_code;  /* enum kafka_error */
    int64_t base_offset; /* of the first message; -1 on error */
};

struct produce_response_topic {
    struct bytes name;
    struct produce_response_partition *partition_responses;
    size_t partition_responses_count;
};

struct produce_response {
    struct produce_response_topic *responses;
    size_t responses_count;
};

void produce_response_fields(struct wire_codec *c, struct produce_response *m);

#endif
