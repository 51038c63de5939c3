/* Offsets that a group keeps in the brokers (offsets.storage=kafka), asked of its coordinator. */
#ifndef ZKC_CLI_KAFKA_OFFSETS_H
#define ZKC_CLI_KAFKA_OFFSETS_H

#include "zkconsumer/cli/brokers.h"

/* The topic in which brokers keep them: where it is not there, none are kept. */
#define KAFKA_OFFSETS_TOPIC_PATH "/brokers/topics/__consumer_offsets"

struct kafka_offset {
    const char *topic;
    int32_t partition;
    int64_t offset;      /* the answer; -1: none */
    const char *missing; /* NULL, or why it is not known; in the arena */
};

/* Fills offset and missing of the list, which is sorted by topic and partition. *is_asked false: no
 * broker keeps offsets, there is no topic for them; asking would make 0.8.2's brokers create it.
 * Everything is in `arena`.
 *
 * ZKC_ERR_UNREACHABLE, ZKC_ERR_TIMED_OUT, ZKC_ERR_BROKER (no coordinator), and as zk_reader_run()
 */
ZKC_MUST_CHECK enum zkc_err kafka_offsets_read(struct zk_reader *r, const struct brokers *brokers,
                                               const char *group, struct kafka_offset *list,
                                               size_t count, struct arena *arena, bool *is_asked,
                                               struct why *why);

/* Commits the offsets of the list, sorted by topic and partition, each once, in one request
 * (OffsetCommit 1: its brokers are 0.8.2 and later), as a consumer without a generation does: the
 * coordinator refuses it beside members of its own protocol, and knows nothing of those in
 * ZooKeeper. While it is loading, or is moving, it is asked again.
 *
 * ZKC_ERR_BROKER        refused; some may have been written
 * Others as kafka_offsets_read() */
ZKC_MUST_CHECK enum zkc_err kafka_offsets_write(struct zk_reader *r, const struct brokers *brokers,
                                                const char *group, const struct kafka_offset *list,
                                                size_t count, struct arena *arena, struct why *why);

#endif
