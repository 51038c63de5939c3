/* GET /metrics of one consumer, or of several in one process, served by a thread of its own;
 * another asks the clusters, each ten seconds while somebody looks. */
#ifndef ZKC_CLI_METRICS_SERVER_H
#define ZKC_CLI_METRICS_SERVER_H

#include "zkconsumer/core/base/why.h"
#include <zkconsumer/conf.h>

struct metrics_server;
struct metrics_source; /* the numbers of one consumer */

#define METRICS_INTERVAL_MS 1000 /* how old the numbers may be */

/* A consumer; all is copied. */
struct metrics_from {
    const char *name;    /* the label source of its lines, where there are several */
    const char *connect; /* ZooKeeper, which is asked about the cluster */
    const char *auth;    /* NULL: none */
};

/* Listens at "HOST:PORT", ":PORT" (all addresses) or "[::1]:PORT"; port 0: any that is free.
 * False: `why`. */
bool metrics_server_open(const char *address, const struct metrics_from *from, size_t count,
                         struct metrics_server **out, struct why *why);

/* Where it listens, "http://127.0.0.1:9308/metrics"; lent by the server. */
const char *metrics_server_url(const struct metrics_server *s);

/* The i-th of its consumers; lent by the server. NULL gives NULL. */
struct metrics_source *metrics_server_source(struct metrics_server *s, size_t i);

/* To be called from the consumer's callbacks, the last by who copies. Any thread; NULL is allowed.
 */
void metrics_source_take_statistics(struct metrics_source *s, const char *json, size_t len);
void metrics_source_count_partitions(struct metrics_source *s, enum zkc_rebalance_kind kind,
                                     size_t count);
void metrics_source_count_error(struct metrics_source *s);
void metrics_source_set_mirrored(struct metrics_source *s, uint64_t copied, uint64_t delivered,
                                 uint64_t refused);

/* Ends the threads. NULL is allowed. */
void metrics_server_close(struct metrics_server *s);

#endif
