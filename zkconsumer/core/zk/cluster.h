/* The znodes in which brokers, controller and tools run a cluster: their paths, and their contents
 * as Kafka 0.8.2 writes them (kafka.utils.ZkUtils, kafka.admin.AdminUtils; its maps of up to four
 * entries keep their order, larger ones go by hash: copied here where the fields are fixed).
 * Readers of topics, states and brokers are in topic.h and broker.h. */
#ifndef ZKC_ZK_CLUSTER_H
#define ZKC_ZK_CLUSTER_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/why.h"
#include "zkconsumer/core/zk/topic.h"

#define ZK_PATH_CONTROLLER         "/controller"
#define ZK_PATH_CONTROLLER_EPOCH   "/controller_epoch"
#define ZK_PATH_DELETE_TOPICS      "/admin/delete_topics"
#define ZK_PATH_REASSIGN           "/admin/reassign_partitions"
#define ZK_PATH_PREFERRED_ELECTION "/admin/preferred_replica_election"
#define ZK_PATH_TOPIC_CONFIGS      "/config/topics"
#define ZK_PATH_CONFIG_CHANGES     "/config/changes"

/* Owned text, to free(); NULL: out of memory. */
char *zk_path_topic_config(const char *topic); /* /config/topics/<t> */
char *zk_path_delete_topic(const char *topic); /* /admin/delete_topics/<t> */

/* ---- Writing: appends the node's data; failure is kept by `out` ---- */

/* {"jmx_port":-1,"timestamp":"1795964960328","host":"127.0.0.1","version":1,"port":9092} */
void zk_broker_write(struct buf *out, const char *host, int32_t port, int32_t jmx_port,
                     int64_t timestamp_ms);

/* {"version":1,"partitions":{"1":[2,1],"0":[1,2]}}: the highest partition first, which is how 0.8.2
 * writes up to three (more go by hash there). */
void zk_topic_write(struct buf *out, const struct zk_replicas *partitions, size_t count);

/* The description of a topic with more partitions: `old` is what is there, by whatever release; all
 * that it says besides (topic_id, which 2.8 and later need, adding_replicas ...) stays.
 *
 * ZKC_ERR_CORRUPT  `old` is no JSON object with an object "partitions"
 * ZKC_ERR_TOO_LARGE, ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err zk_topic_write_added(struct buf *out, struct bytes old,
                                                 const struct zk_replicas *added, size_t count,
                                                 struct why *why);

/* {"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[2,1]} */
void zk_partition_state_write(struct buf *out, const struct zk_partition_state *state);

/* {"version":1,"brokerid":1,"timestamp":"1795965515097"} */
void zk_controller_write(struct buf *out, int32_t broker_id, int64_t timestamp_ms);

/* A setting of a topic; both are text. */
struct zk_setting {
    const char *key;
    const char *value;
};

/* {"version":1,"config":{"retention.ms":"86400000"}} */
void zk_topic_config_write(struct buf *out, const struct zk_setting *settings, size_t count);

/* ---- Reading ---- */

/* The broker id in /controller: of the JSON, or the bare number that 0.8.0's betas wrote
 * (KafkaController.parseControllerId). ZKC_ERR_CORRUPT, ZKC_ERR_TOO_LARGE, ZKC_ERR_NOMEM. */
ZKC_MUST_CHECK enum zkc_err zk_controller_read(struct bytes data, int32_t *broker_id,
                                               struct why *why);

/* The number in /controller_epoch. ZKC_ERR_CORRUPT. */
ZKC_MUST_CHECK enum zkc_err zk_controller_epoch_read(struct bytes data, int32_t *epoch,
                                                     struct why *why);

/* Lent for the call. Anything but ZKC_OK ends the reading, which returns it. */
typedef enum zkc_err zk_setting_fn(const struct zk_setting *setting, void *user);

/* Calls fn for each setting of /config/topics/<t>. Null or empty data: none. Values that are no
 * text are left out.
 *
 * ZKC_ERR_CORRUPT  no JSON object, or no object "config" in it
 * ZKC_ERR_TOO_LARGE, ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err zk_topic_config_read(struct bytes data, zk_setting_fn *fn, void *user,
                                                 struct why *why);

/* ---- Placing replicas (AdminUtils.assignReplicasToBrokers) ---- */

/* Replica `replica` of partition `partition` goes to brokers[...] of this index, brokers being
 * sorted by id. `start` and `shift` are drawn once for a topic, each below broker_count;
 * `partition_first` is the partition that was placed first with them (0 for a new topic, the old
 * count when partitions are added). replica < broker_count. */
size_t zk_replica_broker(size_t broker_count, size_t start, size_t shift, int32_t partition_first,
                         int32_t partition, size_t replica);

#endif
