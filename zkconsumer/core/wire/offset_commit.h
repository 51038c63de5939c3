/* OffsetCommit (api key 8), version 0: offsets that the broker keeps in ZooKeeper. Source: Kafka's
 * OffsetCommitRequest and OffsetCommitResponse (json schemas), the same in 0.8.2's kafka.api. */
#ifndef ZKC_WIRE_OFFSET_COMMIT_H
#define ZKC_WIRE_OFFSET_COMMIT_H

#include "zkconsumer/core/wire/codec.h"

struct offset_commit_request_partition {
    int32_t partition_index;
    int64_t committed_offset;        /* the next to read */
    struct bytes committed_metadata; /* null counts as empty; ZooKeeper does not keep it */
};

struct offset_commit_request_topic {
    struct bytes name;
    struct offset_commit_request_partition *partitions;
    size_t partitions_count;
};

struct offset_commit_request {
    struct bytes group_id;
    struct offset_commit_request_topic *topics;
    size_t topics_count;
};

void offset_commit_request_fields(struct wire_codec *c, struct offset_commit_request *m);

struct offset_commit_response_partition {
    int32_t partition_index;
    int16_t error_code; /* enum kafka_error */
};

struct offset_commit_response_topic {
    struct bytes name;
    struct offset_commit_response_partition *partitions;
    size_t partitions_count;
};

struct offset_commit_response {
    struct offset_commit_response_topic *topics;
    size_t topics_count;
};

void offset_commit_response_fields(struct wire_codec *c, struct offset_commit_response *m);

#endif
