/* What a consumer counts for its statistics: operations and how long they took, rebalances and
 * their phases, claims, commits, fences, and what it knows of its partitions: what is committed,
 * and for how long a partition of its share was not delivered. Fed with what goes on anyway: the
 * outputs of the group machine, answers, watches. Of partitions it keeps those that the group has,
 * and those that are wanted or held here: what is gone is forgotten with the next decision; and
 * never more than TALLY_PARTITIONS_MAX: of more nothing is known. Only there when somebody wants
 * statistics: each call does nothing with NULL. Loop's thread. */
#ifndef ZKC_CONSUMER_TALLY_H
#define ZKC_CONSUMER_TALLY_H

#include "zkconsumer/core/base/histogram.h"
#include "zkconsumer/core/group/output.h"

#define TALLY_PARTITIONS_MAX 1000000

struct tally;

/* NULL: out of memory. */
struct tally *tally_new(void);
void tally_free(struct tally *t);

/* An output of the machine. What there is no memory for is not known. */
void tally_output(struct tally *t, const struct group_output *o, int64_t now_us);

/* An operation was answered. */
void tally_op(struct tally *t, enum zk_op_type type, int zk_rc, int64_t took_us);
void tally_watch(struct tally *t, enum zk_event_type type);

/* The session has ended, or is being closed. */
void tally_session_over(struct tally *t, int64_t now_us);

enum tally_store { TALLY_ZOOKEEPER, TALLY_KAFKA };

/* The offset stored there as far as the consumer knows: read before it was claimed, or committed
 * since; -1: none, or not known. */
int64_t tally_committed(const struct tally *t, const char *topic, int32_t partition,
                        enum tally_store store);

/* All rebalances. */
const struct histogram *tally_rebalances(const struct tally *t);

/* Adds to the document: "group", "requests", "rebalancing", "claims", "commits", "fenced",
 * "watch_events", "unowned" and "bucket_bounds_us" (docs/statistics.md). */
void tally_json(struct tally *t, struct json *j, int64_t now_us);

#endif
