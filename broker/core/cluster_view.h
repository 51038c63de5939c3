/* What a broker knows of the cluster, as it stands in ZooKeeper: which brokers live, which topics
 * and partitions there are, who leads what. Kafka's brokers are told by their controller
 * (UpdateMetadata); here each one reads for itself.
 *
 * The machine of broker_machine.h keeps one and changes it; on the loops that answer requests the
 * shell uses copies, which do not change. */
#ifndef ZKC_BROKER_CLUSTER_VIEW_H
#define ZKC_BROKER_CLUSTER_VIEW_H

#include "zkconsumer/core/base/bytes.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include <zkconsumer/error.h>

struct view_broker {
    int32_t id;
    char *host; /* owned */
    int32_t port;
};

struct view_partition {
    int32_t partition;
    int32_t *replicas; /* owned; as assigned, the preferred leader first */
    size_t replica_count;
    bool has_state; /* the state node was read; without it there is no leader yet */
    int32_t leader; /* as in the state node: may be dead; -1: none */
    int32_t leader_epoch;
    int32_t state_controller_epoch;
    int32_t state_version; /* data version of the node, for conditional writes */
    int32_t *isr;          /* owned */
    size_t isr_count;
};

struct view_topic {
    char *name;    /* owned */
    int64_t czxid; /* of its node: another one is another topic of the same name */
    struct view_partition *partitions; /* owned; ascending, gaps allowed */
    size_t partition_count;
};

struct cluster_view {
    struct view_broker *brokers; /* by id */
    size_t broker_count;
    struct view_topic *topics; /* by name */
    size_t topic_count;
    int32_t controller_id; /* -1: not known */
};

void cluster_view_deinit(struct cluster_view *v);

/* ZKC_ERR_NOMEM; *out then is empty. */
ZKC_MUST_CHECK enum zkc_err cluster_view_copy(const struct cluster_view *v,
                                              struct cluster_view *out);

/* Not there: NULL, and *at is where it belongs. */
struct view_topic *cluster_view_find_topic(const struct cluster_view *v, struct bytes name,
                                           size_t *at);
void view_topic_deinit(struct view_topic *t);

const struct view_topic *cluster_view_topic(const struct cluster_view *v, struct bytes name);
const struct view_partition *view_topic_partition(const struct view_topic *t, int32_t partition);
bool cluster_view_lives(const struct cluster_view *v, int32_t broker_id);

/* The live leader; -1: none. */
int32_t view_partition_leader(const struct cluster_view *v, const struct view_partition *p);

/* What a request for this partition is answered at broker `me`, before its log is asked: none, 3
 * (not there), 5 (no leader lives), 6 (another one leads). */
enum kafka_error cluster_view_check(const struct cluster_view *v, int32_t me, struct bytes topic,
                                    int32_t partition);

#endif
