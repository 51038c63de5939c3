#include "zkconsumer/core/base/rng.h"
#include <assert.h>

void rng_init(struct rng *r, uint64_t seed)
{
    r->state = seed;
}

uint64_t rng_next(struct rng *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    return rng_mix(r->state);
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    assert(n > 0);
    uint64_t limit = UINT64_MAX - UINT64_MAX % n; /* reject the uneven rest */
    uint64_t x;
    do
        x = rng_next(r);
    while (x >= limit);
    return x % n;
}

int64_t rng_backoff_ms(struct rng *r, unsigned failures, int64_t base_ms, int64_t max_ms)
{
    assert(base_ms > 0 && max_ms > 0);
    int64_t d = base_ms < max_ms ? base_ms : max_ms;
    while (failures-- > 0 && d < max_ms)
        d = d > max_ms / 2 ? max_ms : d * 2;
    return d - d / 2 + (int64_t)rng_below(r, (uint64_t)(d / 2) + 1);
}
