#include "zkconsumer/core/base/meter.h"

#define TICK_MS   5000
#define TICKS_MAX 1000                /* after which nothing is left of any rate */
#define ALPHA     0.07995558537067670 /* 1 - exp(-5 s / 60 s) */

static void tick(struct meter *m)
{
    double now = (double)m->uncounted / (TICK_MS / 1000.0);
    m->uncounted = 0;
    m->tick_ms += TICK_MS;
    m->rate = m->has_rate ? m->rate + ALPHA * (now - m->rate) : now;
    m->has_rate = true;
}

static void advance(struct meter *m, int64_t now_ms)
{
    if (!m->has_begun)
        m->tick_ms = now_ms;
    m->has_begun = true;
    for (int i = 0; i < TICKS_MAX && now_ms - m->tick_ms >= TICK_MS; i++)
        tick(m);
    if (now_ms - m->tick_ms >= TICK_MS)
        m->tick_ms = now_ms;
}

void meter_add(struct meter *m, uint64_t count, int64_t now_ms)
{
    advance(m, now_ms);
    m->uncounted += count;
}

double meter_rate(struct meter *m, int64_t now_ms)
{
    advance(m, now_ms);
    return m->rate;
}
