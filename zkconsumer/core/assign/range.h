/* The range rule, as Kafka's code has it. Source: 0.8.2 RangeAssignor (before it,
 * ZookeeperConsumerConnector.rebalance of every release); Kafka's later RangeAssignor without racks
 * is the same. */
#ifndef ZKC_ASSIGN_RANGE_H
#define ZKC_ASSIGN_RANGE_H

#include <stddef.h>

/* A run of positions in a sorted list. */
struct assign_run {
    size_t first; /* meaningless when count is 0 */
    size_t count;
};

/* One topic: the sorted partitions are cut into one run per thread, in sorted order of thread ids;
 * the first (partition_count % thread_count) threads get one more. thread < thread_count. */
struct assign_run assign_range(size_t partition_count, size_t thread_count, size_t thread);

#endif
