/* Names of members and of their threads. A thread (a stream of one topic) is what owns a partition.
 * Source: Kafka 0.8.2 ZookeeperConsumerConnector, TopicCount. */
#ifndef ZKC_ZK_CONSUMER_ID_H
#define ZKC_ZK_CONSUMER_ID_H

#include "zkconsumer/core/base/bytes.h"

/* <group>_<host name>-<now_ms>-<8 hex digits>, of a process that was given no consumer.id. `now_ms`
 * is the wall clock, milliseconds since 1970; `random` stands for the high half of a random UUID,
 * of whose hex form without leading zeros the first 8 digits count. Owned text; NULL: out of
 * memory. */
char *zk_consumer_id_generate(const char *group, const char *host_name, int64_t now_ms,
                              uint64_t random);

/* <group>_<consumer.id>, of a process that was given one. Owned text; NULL: out of memory. */
char *zk_consumer_id_fixed(const char *group, const char *configured_id);

/* <consumer id>-<thread>, the data of an owner node; threads are numbered per topic, from 0. Owned
 * text; NULL: out of memory. */
char *zk_thread_id(const char *consumer_id, int32_t thread);

/* The consumer id in a thread id: what stands before the last '-'; null when there is none. Lent by
 * `thread_id`. */
struct bytes zk_thread_id_consumer(struct bytes thread_id);

#endif
