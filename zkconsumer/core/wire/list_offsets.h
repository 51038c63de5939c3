/* ListOffsets (api key 2), version 0: where a partition log begins and ends. Source: Kafka's
 * ListOffsetsRequest and ListOffsetsResponse (json schemas), in 0.8.2 kafka.api.OffsetRequest and
 * OffsetResponse. */
#ifndef ZKC_WIRE_LIST_OFFSETS_H
#define ZKC_WIRE_LIST_OFFSETS_H

#include "zkconsumer/core/wire/codec.h"

/* Timestamps with a meaning of their own. */
#define LIST_OFFSETS_LATEST   (-1) /* the high watermark */
#define LIST_OFFSETS_EARLIEST (-2) /* where the log begins */

struct list_offsets_request_partition {
    int32_t partition_index;
    int64_t timestamp; /* ms, compared with the ages of segments; or one of the above */
    int32_t max_num_offsets;
};

struct list_offsets_request_topic {
    struct bytes name;
    struct list_offsets_request_partition *partitions;
    size_t partitions_count;
};

struct list_offsets_request {
    int32_t replica_id; /* -1: a consumer */
    struct list_offsets_request_topic *topics;
    size_t topics_count;
};

void list_offsets_request_fields(struct wire_codec *c, struct list_offsets_request *m);

struct list_offsets_response_partition {
    int32_t partition_index;
    int16_t error_code;         /* enum kafka_error */
    int64_t *old_style_offsets; /* descending; may be empty without an error */
    size_t old_style_offsets_count;
};

struct list_offsets_response_topic {
    struct bytes name;
    struct list_offsets_response_partition *partitions;
    size_t partitions_count;
};

struct list_offsets_response {
    struct list_offsets_response_topic *topics;
    size_t topics_count;
};

void list_offsets_response_fields(struct wire_codec *c, struct list_offsets_response *m);

#endif
