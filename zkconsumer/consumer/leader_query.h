/* Asks a broker who leads partitions: one Metadata request on a connection of its own, which is
 * closed when it is answered (as 0.8.2's ClientUtils.fetchTopicMetadata does). Loop's thread. */
#ifndef ZKC_CONSUMER_LEADER_QUERY_H
#define ZKC_CONSUMER_LEADER_QUERY_H

#include "zkconsumer/consumer/dial.h"
#include "zkconsumer/core/group/output.h"

struct leader_query;

/* The answer, or why there is none (`failure`); never from inside of leader_query_ask(). The list
 * has those partitions whose leader and its address are known; it is borrowed. */
typedef void leader_query_fn(uint32_t seq, const char *failure, const struct group_leader *list,
                             size_t count, void *user);

/* `dial` is borrowed. NULL: out of memory. */
struct leader_query *leader_query_new(struct dial *dial);
void leader_query_free(struct leader_query *q); /* NULL is allowed */

/* One question at a time: an earlier one without an answer is forgotten. */
void leader_query_ask(struct leader_query *q, uint32_t seq, const char *host, int32_t port,
                      const char *const *topics, size_t topic_count, leader_query_fn *fn,
                      void *user);

#endif
