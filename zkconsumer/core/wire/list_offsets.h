/* ListOffsets (api key 2): where a partition log begins and ends, and where in it a time is.
 * Version 0 answers with starts of segments; version 1, of brokers that keep timestamps (0.10.1),
 * with the first message that is not older. Source: Kafka's ListOffsetsRequest and
 * ListOffsetsResponse (json schemas), in 0.8.2 kafka.api.OffsetRequest and OffsetResponse. */
#ifndef ZKC_WIRE_LIST_OFFSETS_H
#define ZKC_WIRE_LIST_OFFSETS_H

#include "zkconsumer/core/wire/codec.h"

/* Timestamps with a meaning of their own. */
#define LIST_OFFSETS_LATEST   (-1) /* the high watermark */
#define LIST_OFFSETS_EARLIEST (-2) /* where the log begins */

struct list_offsets_request_partition {
    int32_t partition_index;
    int64_t timestamp;       /* ms, compared with the ages of segments; or one of the above */
    int32_t max_num_offsets; /* version 0 */
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
    int64_t *old_style_offsets; /* version 0: descending; may be empty without an error */
    size_t old_style_offsets_count;
    int64_t timestamp; /* version 1: of that message; -1: none, or not known */
    int64_t offset;    /* version 1: -1: no message is as young */
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
