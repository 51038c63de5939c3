/* GET /metrics of one consumer, served by a thread of its own; another asks the cluster, each ten
 * seconds while somebody looks. */
#ifndef ZKC_CLI_METRICS_SERVER_H
#define ZKC_CLI_METRICS_SERVER_H

#include "zkconsumer/core/base/why.h"
#include <zkconsumer/conf.h>

struct metrics_server;

#define METRICS_INTERVAL_MS 1000 /* how old the numbers may be */

/* Listens at "HOST:PORT", ":PORT" (all addresses) or "[::1]:PORT"; port 0: any that is free.
 * `connect` and `auth` (NULL: none), copied: of ZooKeeper, which is asked about the cluster. False:
 * `why`. */
bool metrics_server_open(const char *address, const char *connect, const char *auth,
                         struct metrics_server **out, struct why *why);

/* Where it listens, "http://127.0.0.1:9308/metrics"; lent by the server. */
const char *metrics_server_url(const struct metrics_server *s);

/* To be called from the consumer's callbacks. Any thread; NULL is allowed. */
void metrics_server_take_statistics(struct metrics_server *s, const char *json, size_t len);
void metrics_server_count_partitions(struct metrics_server *s, enum zkc_rebalance_kind kind,
                                     size_t count);
void metrics_server_count_error(struct metrics_server *s);

/* Ends the thread. NULL is allowed. */
void metrics_server_close(struct metrics_server *s);

#endif
