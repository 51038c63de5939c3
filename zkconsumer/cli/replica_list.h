/* Where the partitions of a topic are to be, as written on the command line. */
#ifndef ZKC_CLI_REPLICA_LIST_H
#define ZKC_CLI_REPLICA_LIST_H

#include "zkconsumer/core/zk/topic.h"

#define REPLICA_LIST_PARTITIONS_MAX 100000
#define REPLICA_LIST_REPLICAS_MAX   1000

/* "1:2,2:3": partition 0 on brokers 1 and 2, 1 being the preferred leader; partition 1 on 2 and 3.
 * Blanks around numbers do not count. Source: TopicCommand.parseReplicaAssignment.
 *
 * On success the caller ends *out with zk_topic_deinit().
 *
 * ZKC_ERR_CONFIG  not such a list, a broker twice for one partition, partitions with more or fewer
 *                 replicas than the first, too many of either; `why` says where
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err replica_list_parse(const char *text, struct zk_topic *out,
                                               struct why *why);

#endif
