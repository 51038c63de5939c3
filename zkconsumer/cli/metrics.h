/* A consumer's metrics in Prometheus' text format (0.0.4), made of the library's statistics
 * document (docs/statistics.md). Names of kafka_exporter where it has them; docs/metrics.md lists
 * all. */
#ifndef ZKC_CLI_METRICS_H
#define ZKC_CLI_METRICS_H

#include "zkconsumer/core/base/buf.h"
#include <stdbool.h>
#include <stdint.h>

/* What callbacks tell and the document does not have. */
struct metrics_counters {
    uint64_t assigned, revoked, lost; /* partitions, since the start */
    uint64_t errors;                  /* told by the library */
    uint64_t standstills;             /* ended: from having given back or lost the last partition
                                       * to getting some */
    int64_t standstill_ms;            /* all of them together */
    bool is_mirror;                   /* the three below are told */
    uint64_t copied;                  /* messages handed over for the target */
    uint64_t delivered, refused;      /* of them, by the target */
};

/* Where a partition log begins. */
struct metrics_oldest {
    const char *topic;
    int32_t partition;
    int64_t offset;
};

/* What the cluster tells (metrics_cluster.h). */
struct metrics_cluster {
    bool is_known;
    size_t broker_count;
    const struct metrics_oldest *oldest;
    size_t oldest_count;
};

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Appends the page. `json`: the latest document; NULL or not understood: only what is known without
 * it. Any thread. */
void metrics_append(const char *json, size_t len, const struct metrics_counters *counters,
                    const struct metrics_cluster *cluster, struct buf *out);

/* Appends `name="value"`, with a comma in front unless it is the first of a line. */
void metrics_append_label(struct buf *out, const char *name, const char *value, bool is_first);

#endif
