/* A member of a group by the old rules (zookeeper.mode=compat): what Kafka 0.8.2's high-level
 * consumer does in ZooKeeper, operation by operation, its faults included.
 *
 * Happy path: connected -> register -> subscribe (watches) -> rebalance -> own. Then each event
 * (members, partitions) sets a flag; whoever is free takes the flag and rebalances; what happens
 * meanwhile sets it again, so that changes are seen late but never lost. An ended session: what is
 * owned is forgotten, the member registers again, rebalances, and rebalances once more for each of
 * the events that a new session brings. Leaving: stop, commit, close the session; that alone gives
 * back registration and ownership.
 *
 * Failure modes, by design of 0.8.2 and kept: an attempt that fails is repeated
 * rebalance.max.retries times, then given up: the member stays registered and owns nothing until
 * the next event. Deletes and commits are unconditional. Messages flow on while ZooKeeper is away
 * and after the session has ended, until the rebalance that follows. A member that leaves while a
 * rebalance is under way waits until that has been given up.
 *
 * A filter lists the topics before it registers, and from its first rebalance on watches their
 * list: topics that come and go under it are subscribed to and rebalanced for (zk_compat_topics.c).
 *
 * With offsets in Kafka the group's offset manager is found before anything else, and everything
 * waits for it (offset_manager.h). A commit that Kafka refuses stops no rebalance: the partition
 * moves on with the older offset.
 *
 * zk_switches.h takes single ones of these choices away.
 *
 * Sources: ZookeeperConsumerConnector, ZKRebalancerListener, ZKSessionExpireListener of Kafka
 * 0.8.2.2; zkclient 0.3; the recorded scenes under tests/vectors/zookeeper decide. */
#ifndef ZKC_GROUP_ZK_COMPAT_H
#define ZKC_GROUP_ZK_COMPAT_H

#include "zkconsumer/core/group/attempt.h"
#include "zkconsumer/core/group/input.h"
#include "zkconsumer/core/group/leader_finder.h"
#include "zkconsumer/core/group/offset_committer.h"
#include "zkconsumer/core/group/offset_manager.h"
#include "zkconsumer/core/group/registrar.h"

/* Everything is copied. */
struct zk_compat_config {
    const char *group;
    const char *consumer_id;                     /* whole, as registered */
    const struct zk_subscription *subscriptions; /* fixed topics; or one: a filter's expression */
    size_t subscription_count;
    enum zk_pattern pattern; /* ZK_PATTERN_STATIC: fixed topics */
    enum zk_variant variant;
    enum assign_strategy strategy;
    bool watch_brokers; /* from the start; 0.8 does so only once it has seen none */
    bool exclude_internal_topics;
    bool auto_commit; /* by the timer, in rebalances and when leaving */
    int64_t auto_commit_interval_ms;
    int64_t session_timeout_ms; /* as configured: the pause when the own id is taken */
    int64_t rebalance_backoff_ms;
    uint32_t rebalance_attempts_max; /* rebalance.max.retries counts the first attempt */
    int64_t refresh_leader_backoff_ms;
    enum commit_store offsets_in; /* offsets.storage and dual.commit.enabled */
    int64_t offsets_channel_backoff_ms;
    int64_t offsets_channel_timeout_ms;
    uint32_t offsets_commit_retries; /* of the commit at the end, and only of that */
    struct zk_switches switches;     /* all zero: as 0.8.2 */
    uint64_t seed;
};

struct zk_compat;

/* `now_ms` starts the commit timer. ZKC_ERR_NOMEM; ZKC_ERR_CORRUPT, ZKC_ERR_TOO_LARGE: the filter
 * (zk_filter_new). */
ZKC_MUST_CHECK enum zkc_err zk_compat_new(const struct zk_compat_config *config, int64_t now_ms,
                                          struct zk_compat **out);
void zk_compat_free(struct zk_compat *m); /* NULL is allowed */

/* Feeds one input. Never blocks, never fails. */
void zk_compat_step(struct zk_compat *m, const struct group_input *in, struct group_outputs *out);

/* When to feed GROUP_IN_TIME; INT64_MAX: never. Ask after every step. */
int64_t zk_compat_deadline_ms(const struct zk_compat *m);

/* What is owned, by topic name and partition; lent until the next step. */
const struct group_claim *zk_compat_owned(const struct zk_compat *m, size_t *count);

/* A word for statistics: new, registering, rebalancing, backoff, owning, idle, gave-up, leaving,
 * closed. Static. */
const char *zk_compat_state_name(const struct zk_compat *m);

#endif
