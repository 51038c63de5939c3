/* How long things took, counted by fixed bounds, as Prometheus has it: half a millisecond to a
 * minute. Values; a zeroed one is empty. */
#ifndef ZKC_BASE_HISTOGRAM_H
#define ZKC_BASE_HISTOGRAM_H

#include "zkconsumer/core/base/json.h"

#define HISTOGRAM_BOUNDS 16

/* Ascending, in microseconds; each counts what took as long or less. */
extern const int64_t histogram_bounds_us[HISTOGRAM_BOUNDS];

struct histogram {
    uint64_t buckets[HISTOGRAM_BOUNDS + 1]; /* not cumulative; the last: what took longer */
    uint64_t count;
    int64_t sum_us, max_us;
};

/* A time below 0 counts as 0. */
void histogram_add(struct histogram *h, int64_t us);

/* {"count", "sum_us", "max_us", "buckets": [...]} */
void histogram_json(const struct histogram *h, struct json *j, const char *key);

#endif
