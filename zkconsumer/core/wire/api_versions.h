/* ApiVersions (api key 18), version 0: which requests a broker answers. The request has no body.
 * Source: Kafka's ApiVersionsResponse (json schema), KIP-35. */
#ifndef ZKC_WIRE_API_VERSIONS_H
#define ZKC_WIRE_API_VERSIONS_H

#include "zkconsumer/core/wire/codec.h"

struct api_versions_key {
    int16_t api_key;
    int16_t min_version; /* both inclusive */
    int16_t max_version;
};

struct api_versions_response {
    int16_t error_code; /* enum kafka_error; 35: the version of the request is not known here */
    struct api_versions_key *api_keys;
    size_t api_keys_count;
};

void api_versions_response_fields(struct wire_codec *c, struct api_versions_response *m);

#endif
