/* The requests of Kafka's protocol that a broker of ours answers, and in which versions. Clients of
 * ours also speak OffsetCommit and OffsetFetch 1, and FindCoordinator 0. */
#ifndef ZKC_WIRE_API_H
#define ZKC_WIRE_API_H

#include <stddef.h>
#include <stdint.h>

/* Kafka's api keys (org.apache.kafka.common.protocol.ApiKeys). */
enum api_key {
    API_PRODUCE = 0,
    API_FETCH = 1,
    API_LIST_OFFSETS = 2,
    API_METADATA = 3,
    API_OFFSET_COMMIT = 8,
    API_OFFSET_FETCH = 9,
    API_FIND_COORDINATOR = 10, /* ConsumerMetadata in 0.8.2 */
    API_API_VERSIONS = 18,
};

struct api {
    int16_t key;         /* enum api_key */
    int16_t version_min; /* both inclusive; between them every version can be read and written */
    int16_t version_max;
    const char *name; /* as Kafka spells it */
};

/* NULL: not spoken here. Static. */
const struct api *api_find(int16_t key);

/* All of them, by key. Static. */
const struct api *api_all(size_t *count);

#endif
