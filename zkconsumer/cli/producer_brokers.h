/* Tells librdkafka where the brokers are and how old, from ZooKeeper or from a list. */
#ifndef ZKC_CLI_PRODUCER_BROKERS_H
#define ZKC_CLI_PRODUCER_BROKERS_H

#include "zkconsumer/cli/command.h"
#include <librdkafka/rdkafka.h>

/* By their registrations in ZooKeeper, which say their age, too; with `keeps_dialect` the user has
 * said it himself. A topic (NULL: none) that does not exist is told. What failed is reported. */
enum cli_exit producer_brokers_by_zookeeper(rd_kafka_conf_t *conf, const char *connect,
                                            const char *topic, bool keeps_dialect,
                                            int64_t timeout_ms);

/* "host:port,...". Brokers are asked what they speak; those that do not know the question (before
 * 0.10) are taken for 0.8.2. */
enum cli_exit producer_brokers_by_list(rd_kafka_conf_t *conf, const char *list, bool keeps_dialect);

/* One setting; reported when librdkafka refuses it. `where` is for the message. */
bool producer_conf_set(rd_kafka_conf_t *conf, const char *where, const char *key,
                       const char *value);

/* A setting that Java's producers have and that means nothing here (producer.type, serializers):
 * to be left out. */
bool producer_conf_is_javas(const char *key);

#endif
