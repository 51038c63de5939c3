/* FindCoordinator (api key 10), version 0, which is 0.8.2's ConsumerMetadata: which broker keeps a
 * group's offsets. Source: Kafka's FindCoordinatorRequest and FindCoordinatorResponse (json
 * schemas), in 0.8.2 kafka.api.ConsumerMetadataRequest and ConsumerMetadataResponse. */
#ifndef ZKC_WIRE_FIND_COORDINATOR_H
#define ZKC_WIRE_FIND_COORDINATOR_H

#include "zkconsumer/core/wire/codec.h"

struct find_coordinator_request {
    struct bytes key; /* the group */
};

void find_coordinator_request_fields(struct wire_codec *c, struct find_coordinator_request *m);

struct find_coordinator_response {
    int16_t error_code; /* enum kafka_error; 15 while the offsets topic has no leader */
    int32_t node_id;    /* -1 with an error */
    struct bytes host;  /* "" with an error */
    int32_t port;       /* -1 with an error */
};

void find_coordinator_response_fields(struct wire_codec *c, struct find_coordinator_response *m);

#endif
