/* OffsetFetch (api key 9). Version 0: offsets that the broker keeps in ZooKeeper; version 1: in
 * __consumer_offsets, at the group's coordinator only. Both look alike. Source: Kafka's
 * OffsetFetchRequest and OffsetFetchResponse (json schemas), the same in 0.8.2's kafka.api. */
#ifndef ZKC_WIRE_OFFSET_FETCH_H
#define ZKC_WIRE_OFFSET_FETCH_H

#include "zkconsumer/core/wire/codec.h"

struct offset_fetch_request_topic {
    struct bytes name;
    int32_t *partition_indexes;
    size_t partition_indexes_count;
};

struct offset_fetch_request {
    struct bytes group_id;
    struct offset_fetch_request_topic *topics;
    size_t topics_count;
};

void offset_fetch_request_fields(struct wire_codec *c, struct offset_fetch_request *m);

struct offset_fetch_response_partition {
    int32_t partition_index;
    int64_t committed_offset; /* -1: none */
    struct bytes metadata;    /* "" in version 0 */
    int16_t error_code;       /* enum kafka_error; 3 in version 0 also when nothing is stored */
};

struct offset_fetch_response_topic {
    struct bytes name;
    struct offset_fetch_response_partition *partitions;
    size_t partitions_count;
};

struct offset_fetch_response {
    struct offset_fetch_response_topic *topics;
    size_t topics_count;
};

void offset_fetch_response_fields(struct wire_codec *c, struct offset_fetch_response *m);

#endif
