#include "study/run/shrink.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 500

struct shrinking {
    struct scenario *best;     /* owned; the smallest that fails so far */
    struct scenario *original; /* owned; with its faults written out */
    const struct shrink_options *options;
    struct shrink_result *result;
    uint64_t seed; /* of the best */
    unsigned runs_max;
    enum zkc_err err; /* no memory */
};

static uint64_t number_of(const struct scenario *s, const char *key)
{
    return strtoull(scenario_value(s, key), NULL, 10);
}

static bool is_over(const struct shrinking *x)
{
    return x->err || x->result->runs >= x->runs_max;
}

static struct scenario *copy_from(struct shrinking *x, const struct scenario *from)
{
    struct scenario *s = NULL;
    if (!x->err)
        x->err = scenario_copy(from, &s);
    return s;
}

static struct scenario *copy_of(struct shrinking *x)
{
    return copy_from(x, x->best);
}

/* Takes over `candidate`. True: it fails in the same way, and is the best now. What cannot be built
 * (a fault that names a member who is gone) does not fail. */
static bool try_seed(struct shrinking *x, struct scenario *candidate, uint64_t seed)
{
    struct run_result r;
    struct why why;
    if (!candidate || is_over(x)) {
        scenario_free(candidate);
        return false;
    }
    x->result->runs++;
    enum zkc_err err = run_scenario(&(struct run_options){.scenario = candidate,
                                                          .seed = seed,
                                                          .bugs = x->options->bugs,
                                                          .stops_at_violation = true},
                                    &r, &why);
    bool fails = !err && r.violated == x->result->violated;
    if (err == ZKC_ERR_NOMEM)
        x->err = err;
    if (fails) {
        scenario_free(x->best);
        x->best = candidate;
        x->seed = seed;
        x->result->last = r;
    } else {
        scenario_free(candidate);
    }
    if (x->options->on_progress)
        x->options->on_progress(x->result->runs, scenario_fault_count(x->best),
                                number_of(x->best, "members") + number_of(x->best, "late"),
                                x->options->user);
    return fails;
}

static bool try_take(struct shrinking *x, struct scenario *candidate)
{
    return try_seed(x, candidate, x->seed);
}

/* ---- faults ---- */

/* Without faults first .. first + count - 1. */
static bool try_without(struct shrinking *x, size_t first, size_t count)
{
    struct scenario *s = copy_of(x);
    for (size_t i = 0; s && i < count; i++)
        scenario_remove_fault(s, first);
    return try_take(x, s);
}

static void drop_faults(struct shrinking *x)
{
    for (size_t chunk = scenario_fault_count(x->best); chunk > 0 && !is_over(x); chunk /= 2)
        for (size_t at = 0; at < scenario_fault_count(x->best) && !is_over(x);) {
            size_t left = scenario_fault_count(x->best) - at;
            if (!try_without(x, at, chunk < left ? chunk : left))
                at += chunk;
        }
}

/* ---- sizes ---- */

static struct scenario *copy_with(struct shrinking *x, const char *key, uint64_t value,
                                  const char *unit)
{
    char text[32];
    struct why why;
    struct scenario *s = copy_of(x);
    snprintf(text, sizeof text, "%" PRIu64 "%s", value, unit);
    if (s && scenario_set(s, key, text, &why)) {
        scenario_free(s);
        return NULL;
    }
    return s;
}

static bool try_set(struct shrinking *x, const char *key, uint64_t value, const char *unit)
{
    return try_take(x, copy_with(x, key, value, unit));
}

/* Another size moves everything: what fails by chance may need another seed. */
static bool try_size(struct shrinking *x, const char *key, uint64_t value, uint64_t seeds)
{
    bool fails = try_set(x, key, value, "");
    for (uint64_t seed = 1; !fails && seed <= seeds && !is_over(x); seed++)
        fails = seed != x->seed && try_seed(x, copy_with(x, key, value, ""), seed);
    return fails;
}

#define SMALL      4 /* what is wanted at most: worth many seeds */
#define SEEDS_MANY 100
#define SEEDS_FEW  10

/* A small value from `low` on that still fails. */
static void shrink_number(struct shrinking *x, const char *key, uint64_t value, uint64_t low)
{
    while (value > SMALL && !try_size(x, key, SMALL, SEEDS_MANY)) {
        uint64_t half = SMALL + (value - SMALL) / 2;
        if (is_over(x) || half == value || !try_size(x, key, half, SEEDS_FEW))
            return;
        value = half;
    }
    for (uint64_t small = low; small < value && small < SMALL; small++)
        if (try_size(x, key, small, SEEDS_FEW))
            return;
}

/* Partitions of the first topic. */
static uint64_t partitions_of(const struct scenario *s)
{
    struct world w;
    struct why why;
    if (scenario_build(s, 1, &w, &why))
        return 1;
    uint64_t n = (uint64_t)w.config.topics[0].partitions;
    world_deinit(&w);
    return n;
}

/* The original with SMALL members and partitions. */
static struct scenario *small_copy(struct shrinking *x)
{
    static const char *const sizes[][2] = {{"late", "1"}, {"members", "3"}, {"P", "4"}};
    struct scenario *s = copy_from(x, x->original);
    struct why why;
    for (size_t i = 0; s && i < sizeof sizes / sizeof *sizes; i++)
        if (scenario_set(s, sizes[i][0], sizes[i][1], &why)) {
            scenario_free(s);
            return NULL;
        }
    return s;
}

static bool can_be_built(const struct scenario *s)
{
    struct world w;
    struct why why;
    if (!s || scenario_build(s, 1, &w, &why))
        return false;
    world_deinit(&w);
    return true;
}

/* Without the faults that name nobody in it. */
static struct scenario *small_world(struct shrinking *x)
{
    struct scenario *s = small_copy(x);
    for (size_t at = s ? scenario_fault_count(s) : 0; at-- > 0;) {
        struct scenario *alone = small_copy(x);
        for (size_t i = alone ? scenario_fault_count(alone) : 0; i-- > 0;)
            if (i != at)
                scenario_remove_fault(alone, i);
        if (!can_be_built(alone))
            scenario_remove_fault(s, at);
        scenario_free(alone);
    }
    return s;
}

/* What was left of the faults may need a large world, where more of them would do in a small one:
 * the small world first then, a seed that fails in it, and its faults again. */
static void begin_small(struct shrinking *x)
{
    struct scenario *small = small_world(x);
    bool fails = false;
    for (uint64_t seed = 1; small && !fails && seed <= SEEDS_MANY && !is_over(x); seed++)
        fails = try_seed(x, copy_from(x, small), seed);
    scenario_free(small);
    if (fails)
        drop_faults(x);
}

static void shrink_partitions(struct shrinking *x)
{
    uint64_t partitions = partitions_of(x->best);
    if (partitions > SMALL && !try_size(x, "P", SMALL, SEEDS_FEW))
        begin_small(x);
    shrink_number(x, "P", partitions_of(x->best), 1);
}

static void shrink_sizes(struct shrinking *x)
{
    shrink_number(x, "late", number_of(x->best, "late"), 0);
    shrink_number(x, "members", number_of(x->best, "members"), 0);
    shrink_partitions(x);
    shrink_number(x, "brokers", number_of(x->best, "brokers"), 1);
    if (number_of(x->best, "zk.servers") > 1)
        try_set(x, "zk.servers", 1, "");
}

/* ---- times ---- */

static void shrink_times(struct shrinking *x)
{
    uint64_t end_ms = x->result->last.violated_ns / SIM_MS;
    try_set(x, "warmup", 0, "s");
    try_set(x, "run", end_ms / 1000 * 1000 + 1000, "ms");
    try_set(x, "heal", 0, "s");
    try_set(x, "drain", 0, "s");
    try_set(x, "start.spread", 0, "s");
}

/* Times without chance. */
static void shrink_chances(struct shrinking *x)
{
    static const char *const keys[] = {"link", "zk.link", "zk.fsync", "zk.election"};
    struct why why;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !is_over(x); i++) {
        struct scenario *s = copy_of(x);
        if (s && scenario_set(s, keys[i], i == 3 ? "200ms" : "300us", &why) == ZKC_OK)
            try_take(x, s);
        else
            scenario_free(s);
    }
    struct scenario *s = copy_of(x);
    if (s && scenario_set(s, "ties", "fifo", &why) == ZKC_OK)
        try_take(x, s);
    else
        scenario_free(s);
}

static enum zkc_err first_run(struct shrinking *x, struct why *why)
{
    struct run_options o = {.scenario = x->best,
                            .seed = x->options->seed,
                            .bugs = x->options->bugs,
                            .stops_at_violation = true};
    x->result->runs = 1;
    enum zkc_err err = run_scenario(&o, &x->result->last, why);
    if (!err)
        x->result->violated = x->result->last.violated;
    return err;
}

enum zkc_err shrink(struct scenario **scenario, const struct shrink_options *options,
                    struct shrink_result *out, struct why *why)
{
    *out = (struct shrink_result){.violated = CHECK_COUNT};
    struct shrinking x = {.options = options,
                          .seed = options->seed,
                          .result = out,
                          .runs_max = options->runs_max ? options->runs_max : RUNS_MAX};
    enum zkc_err err = scenario_copy(*scenario, &x.best);
    if (!err)
        err = scenario_expand(x.best, options->seed, why);
    if (!err)
        err = scenario_copy(x.best, &x.original);
    if (!err)
        err = first_run(&x, why);
    if (!err && out->violated != CHECK_COUNT) {
        drop_faults(&x);
        shrink_sizes(&x);
        drop_faults(&x);
        shrink_times(&x);
        shrink_chances(&x);
        err = x.err;
        out->seed = x.seed;
    }
    scenario_free(x.original);
    if (err || out->violated == CHECK_COUNT) {
        scenario_free(x.best);
        return err;
    }
    scenario_free(*scenario);
    *scenario = x.best;
    return ZKC_OK;
}
