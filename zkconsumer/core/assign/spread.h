/* Round robin in safe mode, for members that do not subscribe alike, which 0.8.2's refuses
 * (roundrobin.h): the topics that have the same threads are dealt together, in the order of 0.8.2,
 * in turn to these threads. Where all topics have the same threads this is 0.8.2's dealing.
 *
 * So of topics with the same threads no thread has two partitions more than another, and who
 * subscribes to something else changes nothing about them. It takes no more than a member of 0.8
 * knows, the partitions of its own topics: dealing everything in one ring that skips threads, as
 * Kafka 0.9's coordinator came to do (KAFKA-2196), would need those of all. The price is that each
 * set of threads begins anew with the first. */
#ifndef ZKC_ASSIGN_SPREAD_H
#define ZKC_ASSIGN_SPREAD_H

#include <stddef.h>
#include <stdint.h>
#include <zkconsumer/error.h>

struct assign_spread;

/* Room for `sets_max` sets of threads.
 *
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err assign_spread_new(size_t sets_max, struct assign_spread **out);
void assign_spread_free(struct assign_spread *s); /* NULL is allowed */

/* The set of these threads, which are sorted and at least one; equal sets are one.
 *
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err assign_spread_add(struct assign_spread *s, const uint32_t *threads,
                                              size_t count, uint32_t *set);

/* The thread that gets the next partition of a topic with this set. */
uint32_t assign_spread_deal(struct assign_spread *s, uint32_t set);

#endif
