/* What a broker knows of the cluster, as it stands in ZooKeeper: which brokers live, which topics
 * and partitions there are, who leads what. Kafka's brokers are told by their controller
 * (UpdateMetadata); here each one reads for itself.
 *
 * The machine of broker_machine.h keeps one and changes it; on the loops that answer requests the
 * shell uses copies, which do not change. */
#ifndef ZKC_BROKER_CLUSTER_VIEW_H
#define ZKC_BROKER_CLUSTER_VIEW_H

#include "zkconsumer/core/zk/log_config.h"
#include "zkconsumer/core/base/bytes.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include <zkconsumer/error.h>

struct view_broker {
    int32_t id;
    char *host; /* owned */
    int32_t port;
};

/* What is known of a state node. */
enum view_node {
    VIEW_NODE_UNREAD,
    VIEW_NODE_ABSENT,
    VIEW_NODE_BROKEN, /* its data cannot be read: left alone */
    VIEW_NODE_READ,
};

struct view_partition {
    int32_t partition;
    int32_t *replicas; /* owned; as assigned, the preferred leader first */
    size_t replica_count;
    enum view_node node; /* VIEW_NODE_READ: the following are what it says */
    int32_t leader;      /* may be dead; -1: none */
    int32_t leader_epoch;
    int32_t version; /* data version of the node, for conditional writes */
    int32_t *isr;    /* owned */
    size_t isr_count;
    bool is_queued;  /* the machine's own: a read is due */
    bool is_writing; /* the machine's own: a write is due, or under way */
};

struct view_topic {
    char *name;    /* owned */
    int64_t czxid; /* of its node: another one is another topic of the same name */
    struct view_partition *partitions; /* owned; ascending, gaps allowed */
    size_t partition_count;
    /* the machine's own */
    struct log_config config;
    bool has_config; /* it was read */
    bool is_queued;  /* a read is due */
    bool is_config_queued;
    bool is_deleting; /* /admin/delete_topics names it; only a controller knows */
    uint32_t session; /* in which it was read last */
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
