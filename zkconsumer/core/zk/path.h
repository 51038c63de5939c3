/* Paths of the znodes that a consumer group uses, relative to the chroot, and the rules for names
 * in them. Source: Kafka 0.8.2 ZkUtils, ZKGroupDirs, ZKGroupTopicDirs. */
#ifndef ZKC_ZK_PATH_H
#define ZKC_ZK_PATH_H

#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>

#define ZK_PATH_CONSUMERS     "/consumers"
#define ZK_PATH_BROKER_IDS    "/brokers/ids"
#define ZK_PATH_BROKER_TOPICS "/brokers/topics"

/* What a znode may hold: ZooKeeper's own default limit (jute.maxbuffer). All readers of this folder
 * refuse more. */
#define ZK_DATA_BYTES_MAX (1024 * 1024)

/* Each returns owned text, to free(); NULL: out of memory. Names are taken as they are: check
 * foreign ones first. */
char *zk_path_group(const char *group);                          /* /consumers/<g> */
char *zk_path_ids(const char *group);                            /* /consumers/<g>/ids */
char *zk_path_id(const char *group, const char *consumer_id);    /* /consumers/<g>/ids/<c> */
char *zk_path_owners(const char *group);                         /* /consumers/<g>/owners */
char *zk_path_owner_topic(const char *group, const char *topic); /* .../owners/<t> */
char *zk_path_owner(const char *group, const char *topic, int32_t partition); /* .../<t>/<p> */
char *zk_path_offsets(const char *group);                         /* /consumers/<g>/offsets */
char *zk_path_offset_topic(const char *group, const char *topic); /* .../offsets/<t> */
char *zk_path_offset(const char *group, const char *topic, int32_t partition); /* .../<t>/<p> */
char *zk_path_broker(int32_t broker_id);                             /* /brokers/ids/<b> */
char *zk_path_topic(const char *topic);                              /* /brokers/topics/<t> */
char *zk_path_partitions(const char *topic);                         /* .../<t>/partitions */
char *zk_path_partition(const char *topic, int32_t partition);       /* .../<t>/partitions/<p> */
char *zk_path_partition_state(const char *topic, int32_t partition); /* .../<p>/state */

/* The length of the parent's path at the beginning of `path`; 0 when its parent is the root (or it
 * is the root), which always exists. */
size_t zk_path_parent_length(const char *path);

/* The last element: what follows the last '/'. Lent by `path`. */
const char *zk_path_leaf(const char *path);

enum zk_path_kind {
    ZK_PATH_OTHER,
    ZK_PATH_GROUP,           /* group */
    ZK_PATH_IDS,             /* group */
    ZK_PATH_ID,              /* group, name: the consumer id */
    ZK_PATH_OWNER,           /* group, topic, partition */
    ZK_PATH_OFFSET,          /* group, topic, partition */
    ZK_PATH_BROKERS,         /* /brokers/ids */
    ZK_PATH_BROKER,          /* name: the broker's id */
    ZK_PATH_TOPICS,          /* /brokers/topics */
    ZK_PATH_TOPIC,           /* topic */
    ZK_PATH_PARTITION_STATE, /* topic, partition */
};

/* A path taken apart; the fields that its kind does not have are null and -1. The views are lent by
 * the path. */
struct zk_path_parts {
    enum zk_path_kind kind;
    struct bytes group;
    struct bytes topic;
    struct bytes name;
    int32_t partition;
};

/* Never fails: what is none of the kinds (a partition that is no canonical decimal number
 * 0 .. 2^31-1 included, such as 0.7's <broker>-<n>) is ZK_PATH_OTHER. */
struct zk_path_parts zk_path_parse(const char *path);

/* Names that may be used, ZKC_ERR_INVALID with the reason otherwise.
 * Group and client id: [a-zA-Z0-9._-]* (Kafka's Config.validateChars); a group moreover not empty,
 * "." or "..", which ZooKeeper does not take as a znode's name, and at most ZK_NAME_MAX long. */
#define ZK_NAME_MAX 255

ZKC_MUST_CHECK enum zkc_err zk_check_group(const char *group, struct why *why);
ZKC_MUST_CHECK enum zkc_err zk_check_client_id(const char *client_id, struct why *why);

/* Kafka's Topic.validate: 1 to 255 of [a-zA-Z0-9._-], not "." or "..". */
ZKC_MUST_CHECK enum zkc_err zk_check_topic(const char *topic, struct why *why);

/* How many bytes of `name`, from its beginning, ZooKeeper takes in the name of a znode
 * (PathUtils.validatePath): valid UTF-8 without '/', control, surrogate and private-use characters
 * and the last 16 of the basic plane; what lies above that plane is two surrogates to Java, and so
 * not taken. name.len when all of it is legal. */
size_t zk_znode_name_span(struct bytes name);

/* Legal as a znode's name, because Java members take any: all of the above, not empty, "." or "..",
 * and at most ZK_CONSUMER_ID_MAX bytes. */
#define ZK_CONSUMER_ID_MAX 1023

ZKC_MUST_CHECK enum zkc_err zk_check_consumer_id(const char *consumer_id, struct why *why);

#endif
