/* OffsetCommit (api key 8). Version 0: offsets that the broker keeps in ZooKeeper; version 1: in
 * __consumer_offsets, at the group's coordinator only. Source: Kafka's OffsetCommitRequest and
 * OffsetCommitResponse (json schemas), the same in 0.8.2's kafka.api. */
#ifndef ZKC_WIRE_OFFSET_COMMIT_H
#define ZKC_WIRE_OFFSET_COMMIT_H

#include "zkconsumer/core/wire/codec.h"

struct offset_commit_request_partition {
    int32_t partition_index;
    int64_t committed_offset;        /* the next to read */
    int64_t commit_timestamp;        /* version 1: ms since 1970; -1: when it is received */
    struct bytes committed_metadata; /* null counts as empty; ZooKeeper does not keep it */
};

struct offset_commit_request_topic {
    struct bytes name;
    struct offset_commit_request_partition *partitions;
    size_t partitions_count;
};

struct offset_commit_request {
    struct bytes group_id;
    int32_t generation_id;  /* version 1: -1 outside of the coordinator's protocols */
    struct bytes member_id; /* version 1: "" likewise */
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
