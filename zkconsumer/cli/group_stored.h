/* Offsets that a group keeps in the brokers (offsets.storage=kafka), put into what was read of it:
 * as Kafka 0.8.2's ConsumerOffsetChecker, what the coordinator has counts, else what ZooKeeper has.
 * Topics that were deleted are asked for as well: their offsets may be there. */
#ifndef ZKC_CLI_GROUP_STORED_H
#define ZKC_CLI_GROUP_STORED_H

#include "zkconsumer/cli/group_read.h"

/* Sets offset, is_stored, znode_offset and stored_missing of the partitions; an offset node that
 * does not count may hold anything. Everything is in `arena`. On an error, which `why` explains,
 * they are left as they were: what kafka_offsets_read() says. */
ZKC_MUST_CHECK enum zkc_err group_stored_read(struct zk_reader *r, struct group_read *read,
                                              struct arena *arena, struct why *why);

/* The same for a tool that reads once: an error is told. */
ZKC_MUST_CHECK enum zkc_err group_stored_read_or_tell(struct zk_reader *r, struct group_read *read,
                                                      struct arena *arena);

/* True: an offset of it is Kafka's. */
bool group_stored_has(const struct group_view *view);

/* True: both stores have an offset of the partition, and they are not the same. */
bool group_stored_differs(const struct group_partition *p);

#endif
