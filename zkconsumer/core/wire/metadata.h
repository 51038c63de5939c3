/* Metadata (api key 3), version 0: which brokers there are and who leads which partition. Source:
 * Kafka's MetadataRequest and MetadataResponse (json schemas), in 0.8.2 TopicMetadataRequest and
 * TopicMetadataResponse. */
#ifndef ZKC_WIRE_METADATA_H
#define ZKC_WIRE_METADATA_H

#include "zkconsumer/core/wire/codec.h"

struct metadata_request_topic {
    struct bytes name;
};

struct metadata_request {
    struct metadata_request_topic *topics; /* none: all topics. Asking for a topic that is not there
                                            * makes a broker with auto.create.topics.enable create
                                            * it */
    size_t topics_count;
};

void metadata_request_fields(struct wire_codec *c, struct metadata_request *m);

struct metadata_broker {
    int32_t node_id;
    struct bytes host; /* null: the broker registered without one (0.9 and later with no plain-text
                        * listener); 0.8 passes the null on */
    int32_t port;
};

struct metadata_partition {
    int16_t error_code; /* enum kafka_error. REPLICA_NOT_AVAILABLE is no obstacle to fetching */
    int32_t partition_index;
    int32_t leader_id;      /* -1: none at the moment */
    int32_t *replica_nodes; /* the preferred leader first; 0.8 leaves out dead brokers */
    size_t replica_nodes_count;
    int32_t *isr_nodes;
    size_t isr_nodes_count;
};

struct metadata_topic {
    int16_t error_code; /* LEADER_NOT_AVAILABLE: just created, ask again */
    struct bytes name;
    struct metadata_partition *partitions; /* in any order */
    size_t partitions_count;
};

struct metadata_response {
    struct metadata_broker *brokers; /* empty for a while on a new cluster: keep the addresses that
                                      * are known until a list comes that is not */
    size_t brokers_count;
    struct metadata_topic *topics;
    size_t topics_count;
};

void metadata_response_fields(struct wire_codec *c, struct metadata_response *m);

#endif
