/* A rate that forgets: the average by the second, weighted over the last minute, as the
 * OneMinuteRate of Kafka 0.8's metrics (com.yammer.metrics.stats.EWMA: one tick each five seconds).
 * A zeroed one begins with its first call. */
#ifndef ZKC_BASE_METER_H
#define ZKC_BASE_METER_H

#include <stdbool.h>
#include <stdint.h>

struct meter {
    uint64_t uncounted; /* since the last tick */
    int64_t tick_ms;    /* when that was */
    double rate;        /* by the second, as of the last tick */
    bool has_begun, has_rate;
};

void meter_add(struct meter *m, uint64_t count, int64_t now_ms);

/* 0 until the first tick. */
double meter_rate(struct meter *m, int64_t now_ms);

#endif
