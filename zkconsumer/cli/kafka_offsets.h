/* Offsets that a group keeps in the brokers (offsets.storage=kafka), asked of its coordinator. */
#ifndef ZKC_CLI_KAFKA_OFFSETS_H
#define ZKC_CLI_KAFKA_OFFSETS_H

#include "zkconsumer/cli/brokers.h"

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

#endif
