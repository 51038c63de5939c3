#include "study/sim/kernel.h"
#include "zkconsumer/core/base/rng.h"
#include <assert.h>
#include <stdlib.h>

/* ---- chance ---- */

#define GOLDEN 0x9e3779b97f4a7c15ull

uint64_t mix64(uint64_t x)
{
    return rng_mix(x);
}

static uint64_t hash_text(const char *text)
{
    uint64_t h = 1469598103934665603ull;
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 1099511628211ull;
    return h;
}

struct stream stream_of(uint64_t seed, const char *actor, const char *purpose)
{
    uint64_t key = mix64(seed + GOLDEN) ^ mix64(hash_text(actor) + 1) ^ mix64(hash_text(purpose));
    return (struct stream){.key = mix64(key)};
}

uint64_t stream_next(struct stream *s)
{
    return mix64(s->key + ++s->counter * GOLDEN);
}

/* High half of a 64 x 64 product. */
static uint64_t scale(uint64_t x, uint64_t n)
{
    uint64_t xl = (uint32_t)x, xh = x >> 32, nl = (uint32_t)n, nh = n >> 32;
    uint64_t mid = xh * nl + ((xl * nl) >> 32);
    uint64_t mid2 = xl * nh + (uint32_t)mid;
    return xh * nh + (mid >> 32) + (mid2 >> 32);
}

uint64_t stream_below(struct stream *s, uint64_t n)
{
    return scale(stream_next(s), n);
}

/* Between neighbours of a table of `count` quantiles, at the fraction u / 2^64. */
static uint64_t interpolate(const uint64_t *table, size_t count, uint64_t u)
{
    uint64_t parts = (uint64_t)count - 1;
    uint64_t i = scale(u, parts);
    uint64_t rest = u * parts; /* fraction within the part */
    uint64_t low = table[i], high = table[i + 1];
    return high >= low ? low + scale(rest, high - low) : low - scale(rest, low - high);
}

/* log2(x) for x >= 1 in 32.32 fixed point: x is given in 32.32. */
static int64_t log2_fixed(uint64_t x)
{
    int64_t whole = 0, part = 0;
    while (x >= 2ull << 32) {
        x >>= 1;
        whole++;
    }
    for (int bit = 31; bit >= 0; bit--) {
        x = scale(x, x) << 32 | (x * x) >> 32;
        if (x >= 2ull << 32) {
            x >>= 1;
            part |= 1ll << bit;
        }
    }
    return (whole << 32) + part;
}

/* 2^x in 32.32 for x in 32.32, |x| < 31. */
static uint64_t exp2_fixed(int64_t x)
{
    /* 2^(2^-1), 2^(2^-2), ... in 1.63 */
    static const uint64_t roots[] = {
        0xb504f333f9de6484ull, 0x9837f0518db8a96full, 0x8b95c1e3ea8bd6e7ull, 0x85aac367cc487b15ull,
        0x82cd8698ac2ba1d7ull, 0x8164d1f3bc030773ull, 0x80b1ed4fd999ab6cull, 0x8058d7d2d5e5f6b1ull,
        0x802c6436d0e04f51ull, 0x8016302f17467628ull, 0x800b179c82028fd1ull, 0x80058baf7fee3b5dull};
    int64_t whole = x >> 32; /* rounds down */
    uint64_t rest = (uint64_t)(x & 0xffffffff), value = 1ull << 63;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (rest & (0x80000000ull >> i))
            value = scale(value, roots[i]) << 1;
    int64_t shift = 31 - whole;
    return shift >= 64 ? 0 : value >> shift;
}

/* The standard normal distribution at u / 2^64, in thousandths: straight lines between the
 * quantiles of 32nds of each half, and of 32nds of the outermost 32nd (its end stands for 1 -
 * 1/8192). */
static int64_t normal_milli(uint64_t u)
{
    static const int16_t half[] = {0,    39,   78,   118,  157,  197,  237,  278,  319,  360, 402,
                                   445,  489,  533,  579,  626,  674,  725,  776,  831,  887, 947,
                                   1010, 1078, 1150, 1230, 1318, 1418, 1534, 1676, 1863, 2154};
    static const int16_t tail[] = {2154, 2166, 2179, 2193, 2207, 2221, 2235, 2251, 2266,
                                   2282, 2299, 2317, 2335, 2354, 2374, 2395, 2418, 2441,
                                   2466, 2492, 2521, 2551, 2584, 2620, 2660, 2705, 2756,
                                   2815, 2886, 2975, 3097, 3297, 3668};
    bool is_upper = u >> 63;
    uint64_t v = (is_upper ? u : ~u) << 1; /* distance from the middle */
    uint64_t i = v >> 59;
    const int16_t *at = &half[i];
    if (i == 31) {
        v <<= 5;
        at = &tail[v >> 59];
    }
    int64_t z = at[0] + (int64_t)scale(v << 5, (uint64_t)(at[1] - at[0]));
    return is_upper ? z : -z;
}

static uint64_t log_normal(uint64_t u, uint64_t median, uint64_t p99)
{
    if (median == 0 || p99 <= median)
        return median;
    uint64_t ratio = p99 / median >= 1ull << 31
                         ? 1ull << 63
                         : (p99 / median << 32) + (((p99 % median) << 24) / median << 8);
    int64_t power = log2_fixed(ratio) / 2326 * normal_milli(u);
    if (power > 30ll << 32)
        power = 30ll << 32;
    uint64_t factor = exp2_fixed(power); /* 32.32 */
    return (median * (factor >> 32)) + scale(median, factor << 32);
}

uint64_t stream_draw(struct stream *s, const struct sim_dist *dist)
{
    switch (dist->kind) {
    case SIM_UNIFORM: return dist->low_ns + stream_below(s, dist->high_ns - dist->low_ns + 1);
    case SIM_LOGNORMAL: return log_normal(stream_next(s), dist->low_ns, dist->high_ns);
    case SIM_TABLE: return interpolate(dist->table, dist->table_count, stream_next(s));
    case SIM_CONSTANT: break;
    }
    return dist->low_ns;
}

/* ---- events ---- */

#define HEAP_FIRST 4096

static void grow(struct kernel *k)
{
    size_t cap = k->cap ? k->cap * 2 : HEAP_FIRST;
    struct kernel_event *heap = realloc(k->heap, cap * sizeof *heap);
    if (!heap)
        rescue_fail(k->rescue);
    k->heap = heap;
    k->cap = cap;
    k->allocations++;
}

void kernel_init(struct kernel *k, uint64_t seed, bool shuffle_ties)
{
    *k = (struct kernel){.tie_key = shuffle_ties ? mix64(seed ^ GOLDEN) | 1 : 0};
}

void kernel_deinit(struct kernel *k)
{
    free(k->heap);
    k->heap = NULL;
}

static bool is_before(const struct kernel_event *a, const struct kernel_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void kernel_at(struct kernel *k, uint64_t at_ns, kernel_fn *fn, void *actor, void *arg)
{
    assert(at_ns >= k->now_ns);
    if (at_ns == SIM_NEVER)
        return;
    if (k->count == k->cap)
        grow(k);
    uint64_t born = k->born++;
    struct kernel_event e = {.at_ns = at_ns,
                             .order = k->tie_key ? mix64(born ^ k->tie_key) : born,
                             .fn = fn,
                             .actor = actor,
                             .arg = arg};
    size_t i = k->count++;
    while (i > 0) {
        size_t up = (i - 1) / 4;
        if (!is_before(&e, &k->heap[up]))
            break;
        k->heap[i] = k->heap[up];
        i = up;
    }
    k->heap[i] = e;
}

uint64_t kernel_next_ns(const struct kernel *k)
{
    return k->count ? k->heap[0].at_ns : SIM_NEVER;
}

static void sift_down(struct kernel *k, const struct kernel_event *e)
{
    size_t i = 0;
    for (;;) {
        size_t child = 4 * i + 1;
        if (child >= k->count)
            break;
        size_t end = child + 4 < k->count ? child + 4 : k->count, best = child;
        for (size_t c = child + 1; c < end; c++)
            if (is_before(&k->heap[c], &k->heap[best]))
                best = c;
        if (!is_before(&k->heap[best], e))
            break;
        k->heap[i] = k->heap[best];
        i = best;
    }
    k->heap[i] = *e;
}

void kernel_run_one(struct kernel *k)
{
    struct kernel_event e = k->heap[0];
    if (--k->count > 0) {
        struct kernel_event last = k->heap[k->count];
        sift_down(k, &last);
    }
    k->now_ns = e.at_ns;
    k->ran++;
    e.fn(e.actor, e.arg);
}

/* ---- timers ---- */

void timer_init(struct timer *t, struct kernel *k, kernel_fn *fn, void *actor)
{
    *t = (struct timer){
        .kernel = k, .fn = fn, .actor = actor, .due_ns = SIM_NEVER, .queued_ns = SIM_NEVER};
}

static void timer_came(void *actor, void *arg)
{
    struct timer *t = actor;
    (void)arg;
    if (t->kernel->now_ns != t->queued_ns)
        return; /* an event of an earlier, later-lying deadline: another one is on its way */
    t->queued_ns = SIM_NEVER;
    uint64_t due = t->due_ns;
    if (due == SIM_NEVER)
        return;
    if (due > t->kernel->now_ns) {
        timer_arm(t, due);
        return;
    }
    t->due_ns = SIM_NEVER;
    t->fn(t->actor, NULL);
}

void timer_arm(struct timer *t, uint64_t due_ns)
{
    if (due_ns != SIM_NEVER && due_ns < t->kernel->now_ns)
        due_ns = t->kernel->now_ns;
    t->due_ns = due_ns;
    if (due_ns >= t->queued_ns)
        return; /* the event on its way comes early enough */
    t->queued_ns = due_ns;
    kernel_at(t->kernel, due_ns, timer_came, t, NULL);
}
