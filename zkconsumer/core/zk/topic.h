/* What ZooKeeper knows of a topic: /brokers/topics/<t>, its partitions and their replicas, and
 * /brokers/topics/<t>/partitions/<p>/state, who leads. */
#ifndef ZKC_ZK_TOPIC_H
#define ZKC_ZK_TOPIC_H

#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>

struct zk_replicas {
    int32_t partition;
    int32_t *broker_ids; /* the first is the preferred leader */
    size_t broker_count; /* 0 also when the list was no list of integers */
};

struct zk_topic {
    struct zk_replicas *partitions; /* ascending, each once, gaps allowed */
    size_t partition_count;
};

/* {"version":1,"partitions":{"0":[1,2],"1":[2,1]}}. As in Kafka (ZkUtils
 * .getPartitionAssignmentForTopics) null data (no node), data that is no JSON and JSON without a
 * map of partitions all mean zero partitions: ZKC_OK, and `why` has the reason, for the log.
 *
 * On ZKC_OK the caller owns *out and ends it with zk_topic_deinit(); otherwise *out is not touched.
 *
 * ZKC_ERR_CORRUPT    a partition's key is no number 0 .. 2^31-1 (Java members throw)
 * ZKC_ERR_TOO_LARGE, ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err zk_topic_read(struct bytes data, struct zk_topic *out, struct why *why);

void zk_topic_deinit(struct zk_topic *topic);

struct zk_partition_state {
    int32_t leader; /* broker id; -1: none */
    int32_t leader_epoch;
    int32_t controller_epoch; /* -1: not said */
    int32_t *isr;             /* broker ids */
    size_t isr_count;
};

/* {"controller_epoch":4,"leader":2,"version":1,"leader_epoch":7,"isr":[2,3]}; unknown fields are
 * ignored. Ownership as above.
 *
 * ZKC_ERR_CORRUPT    no data, no JSON object, or no integer `leader`, `leader_epoch`, or `isr`
 *                    that is no list of integers
 * ZKC_ERR_TOO_LARGE, ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err zk_partition_state_read(struct bytes data,
                                                    struct zk_partition_state *out,
                                                    struct why *why);

void zk_partition_state_deinit(struct zk_partition_state *state);

#endif
