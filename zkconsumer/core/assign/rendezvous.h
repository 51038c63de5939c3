/* The rendezvous rule, which Kafka does not have: of all rules without a memory, one by which few
 * partitions move when a member comes or goes. Range and ceil shift the shares of everybody behind
 * a newcomer, half of all partitions on average; here about as many move as the newcomer gets, and
 * a few more that make room.
 *
 * One topic, whose threads are called units: each unit may have floor(P / n) partitions, and one
 * more have the P % n units of the highest weight with the topic. A partition prefers the unit of
 * the highest weight with it (Thaler, Ravishankar, "A name-based mapping scheme for rendezvous",
 * 1996), a unit the partition of the highest weight, up to what it may have. The assignment is the
 * stable matching of the two (Gale, Shapley, 1962): no partition and no unit prefer each other over
 * what they have. Since both go by the same weights it is the only one, and can be had by giving
 * away the pairs from the highest weight down, so that it depends on the sets alone: not on an
 * order, and not on what was before.
 *
 * All numbers are unsigned and of 64 bits, and wrap around:
 *
 *     mix(x)             rng_mix(): the finaliser of splitmix64
 *     text(s)            mix(FNV-1a of the bytes of s)
 *     unit               text(thread id), "group_host-1424-abcd-0"
 *     topic              text(its name)
 *     place              mix(topic + (partition + 1) * 0x9e3779b97f4a7c15)
 *     weight(unit, x)    mix(unit XOR x), of x a topic or a place
 *
 * Equal weights go by the order of thread ids, then of partitions. Members of one group must agree
 * on every bit of this: it cannot change under this name. */
#ifndef ZKC_ASSIGN_RENDEZVOUS_H
#define ZKC_ASSIGN_RENDEZVOUS_H

#include <stddef.h>
#include <stdint.h>
#include <zkconsumer/error.h>

uint64_t assign_rendezvous_text(const char *text);
uint64_t assign_rendezvous_place(uint64_t topic, int32_t partition);
uint64_t assign_rendezvous_weight(uint64_t unit, uint64_t place);

/* One topic: sets owners[i] to the position in `units` of the unit that gets partitions[i]. `units`
 * are the hashes of its thread ids, in the order of these; at least one. Partitions are in order.
 *
 * Each partition looks at each unit that may have any, once, and again when the one that it liked
 * most has no room any more: about 1.2 P * min(n, P) weights in all, a nanosecond each. Memory is
 * O(P + n).
 *
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err assign_rendezvous(uint64_t topic, const int32_t *partitions,
                                              size_t partition_count, const uint64_t *units,
                                              size_t unit_count, uint32_t *owners);

#endif
