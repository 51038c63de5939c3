/* Seeded generator (splitmix64): the only source of chance in a core, so that a seed reproduces a
 * run. Not for secrets. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number
 * generators", 2014. */
#ifndef ZKC_BASE_RNG_H
#define ZKC_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

/* The generator's finaliser: a permutation of all 64-bit numbers that mixes well. */
static inline uint64_t rng_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void rng_init(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);

/* Uniform in 0 .. n-1; n > 0. */
uint64_t rng_below(struct rng *r, uint64_t n);

/* Exponential backoff with full jitter in its upper half: uniform in [d/2, d] with
 * d = min(base_ms * 2^failures, max_ms). failures counts from 0. */
int64_t rng_backoff_ms(struct rng *r, unsigned failures, int64_t base_ms, int64_t max_ms);

#endif
