/* What a page of metrics says of the cluster, which a consumer does not know by itself: how many
 * brokers are registered, and where the logs of its partitions begin. Asked of ZooKeeper and of the
 * leaders. */
#ifndef ZKC_CLI_METRICS_CLUSTER_H
#define ZKC_CLI_METRICS_CLUSTER_H

#include "zkconsumer/cli/metrics.h"
#include "zkconsumer/core/base/arena.h"

#define METRICS_CLUSTER_INTERVAL_MS 10000 /* how old it may be when somebody looks at the page */
#define METRICS_CLUSTER_ASK_MS      2000

/* Asks about the partitions of the statistics document, in a session of its own that is closed
 * again. Texts are in `arena`, which is empty before. False: nothing is known. Any thread. */
bool metrics_cluster_ask(const char *connect, const char *auth, const char *json, size_t len,
                         struct arena *arena, struct metrics_cluster *out);

#endif
