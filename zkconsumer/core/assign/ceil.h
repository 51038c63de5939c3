/* The rule that Kafka's documentation publishes, with its N = size(PT)/size(CG) rounded up, so that
 * no partition is left over. It is not what Kafka's code does (range.h): the two must not be mixed
 * in one group, whose members would claim each other's partitions for ever. Source: Kafka 0.8
 * documentation, "Consumer rebalancing algorithm"; its rounding is not said there. */
#ifndef ZKC_ASSIGN_CEIL_H
#define ZKC_ASSIGN_CEIL_H

#include "zkconsumer/core/assign/range.h"

/* One topic: N = ceil(partition_count / thread_count); the thread at position i of the sorted
 * thread ids takes the positions i*N .. (i+1)*N - 1 of the sorted partitions, as far as they exist:
 * the last threads may get less, or nothing. thread < thread_count. */
struct assign_run assign_ceil(size_t partition_count, size_t thread_count, size_t thread);

#endif
