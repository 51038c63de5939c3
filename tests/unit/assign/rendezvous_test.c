#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/assign/rendezvous.h"
#include "zkconsumer/core/base/rng.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the numbers, worked out by another program ---- */

static const struct {
    const char *text;
    uint64_t want;
} texts[] = {
    {"", 0xf52a15e9a9b5e89bu},
    {"a", 0x02c0bdbf481420f8u},
    {"t", 0xb6fcea7f248b153au},
    {"g_host-1424-abcd-0", 0x3ac411036b2cd872u},
    {"th\xc3\xa9m\xc3\xa9", 0x765a48e4b0cb9acdu},
};

static const struct {
    const char *topic;
    int32_t partition;
    uint64_t want;
} places[] = {
    {"t", 0, 0xa6e640bebc236418u},
    {"t", 1, 0xa8fbbbb2a97be5c0u},
    {"orders", INT32_MAX, 0x19f3937485d413fdu},
};

static void test_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (assign_rendezvous_text(texts[i].text) != texts[i].want)
            fail_msg("%s: %016" PRIx64, texts[i].text, assign_rendezvous_text(texts[i].text));
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        uint64_t topic = assign_rendezvous_text(places[i].topic);
        uint64_t got = assign_rendezvous_place(topic, places[i].partition);
        if (got != places[i].want)
            fail_msg("%s %d: %016" PRIx64, places[i].topic, places[i].partition, got);
    }
    uint64_t t = assign_rendezvous_text("t"), orders = assign_rendezvous_text("orders");
    uint64_t h1 = assign_rendezvous_text("g_h1-0"), h2 = assign_rendezvous_text("g_h2-0");
    assert_true(assign_rendezvous_weight(h1, assign_rendezvous_place(t, 0)) == 0x62c2a2e33d78edf3u);
    assert_true(assign_rendezvous_weight(h1, t) == 0xbc82d926fd6dc451u);
    assert_true(assign_rendezvous_weight(h2, assign_rendezvous_place(orders, 7)) ==
                0x43e0668e16aa8542u);
}

/* ---- groups of chance ---- */

#define UNITS_MAX      320
#define PARTITIONS_MAX 1300

struct group {
    uint64_t topic;
    uint64_t units[UNITS_MAX];
    size_t unit_count;
    int32_t partitions[PARTITIONS_MAX];
    size_t partition_count;
    uint32_t owners[PARTITIONS_MAX];
};

static void draw_group(struct group *g, struct rng *rng, size_t unit_count, size_t partition_count)
{
    assert_true(unit_count <= UNITS_MAX && partition_count <= PARTITIONS_MAX);
    g->topic = rng_next(rng);
    g->unit_count = unit_count;
    g->partition_count = partition_count;
    for (size_t i = 0; i < unit_count; i++)
        g->units[i] = rng_next(rng);
    for (size_t i = 0; i < partition_count; i++)
        g->partitions[i] = (int32_t)i;
}

static void assign(struct group *g)
{
    memset(g->owners, 0xff, sizeof g->owners);
    assert_int_equal(assign_rendezvous(g->topic, g->partitions, g->partition_count, g->units,
                                       g->unit_count, g->owners),
                     ZKC_OK);
}

/* Whether (a, x) comes before (b, y), of units a, b and partitions x, y. */
static bool is_higher(const struct group *g, size_t a, size_t x, size_t b, size_t y)
{
    uint64_t first =
        assign_rendezvous_weight(g->units[a], assign_rendezvous_place(g->topic, g->partitions[x]));
    uint64_t second =
        assign_rendezvous_weight(g->units[b], assign_rendezvous_place(g->topic, g->partitions[y]));
    if (first != second)
        return first > second;
    return a != b ? a < b : x < y;
}

/* How many units come before this one when they ask for one partition more. */
static size_t rank_of(const struct group *g, size_t unit)
{
    uint64_t own = assign_rendezvous_weight(g->units[unit], g->topic);
    size_t before = 0;
    for (size_t i = 0; i < g->unit_count; i++) {
        uint64_t weight = assign_rendezvous_weight(g->units[i], g->topic);
        before += weight > own || (weight == own && i < unit);
    }
    return before;
}

static void check_shares(const struct group *g)
{
    size_t got[UNITS_MAX] = {0};
    for (size_t i = 0; i < g->partition_count; i++) {
        assert_true(g->owners[i] < g->unit_count);
        got[g->owners[i]]++;
    }
    for (size_t u = 0; u < g->unit_count; u++) {
        bool has_more = rank_of(g, u) < g->partition_count % g->unit_count;
        assert_int_equal(got[u], g->partition_count / g->unit_count + has_more);
    }
}

/* No partition and no unit prefer each other over what they have. All units have all that they may,
 * so a unit would have to give back its lowest. */
static void check_stable(const struct group *g)
{
    size_t lowest[UNITS_MAX];
    for (size_t u = 0; u < g->unit_count; u++)
        lowest[u] = SIZE_MAX;
    for (size_t i = 0; i < g->partition_count; i++) {
        size_t *low = &lowest[g->owners[i]];
        if (*low == SIZE_MAX || is_higher(g, g->owners[i], *low, g->owners[i], i))
            *low = i;
    }
    for (size_t i = 0; i < g->partition_count; i++)
        for (size_t u = 0; u < g->unit_count; u++)
            if (u != g->owners[i] && lowest[u] != SIZE_MAX && is_higher(g, u, i, g->owners[i], i) &&
                is_higher(g, u, i, u, lowest[u]))
                fail_msg("%zu units, %zu partitions: unit %zu and partition %zu would rather have "
                         "each other",
                         g->unit_count, g->partition_count, u, i);
}

static void test_all_sizes_are_fair_and_stable(void **state)
{
    (void)state;
    static struct group g;
    struct rng rng;
    rng_init(&rng, 1);
    for (size_t units = 1; units <= 24; units++)
        for (size_t partitions = 0; partitions <= 60; partitions++) {
            draw_group(&g, &rng, units, partitions);
            assign(&g);
            check_shares(&g);
            check_stable(&g);
        }
    draw_group(&g, &rng, UNITS_MAX, PARTITIONS_MAX);
    assign(&g);
    check_shares(&g);
    check_stable(&g);
}

/* Units with the same hash: by order of ids, then of partitions. */
static void test_ties(void **state)
{
    (void)state;
    static struct group g;
    struct rng rng;
    rng_init(&rng, 2);
    for (size_t partitions = 1; partitions <= 12; partitions++) {
        draw_group(&g, &rng, 5, partitions);
        g.units[2] = g.units[4] = g.units[1];
        assign(&g);
        check_shares(&g);
        check_stable(&g);
    }
    draw_group(&g, &rng, 3, 5);
    g.units[1] = g.units[2] = g.units[0];
    g.partitions[1] = g.partitions[0]; /* never so; two places of the same hash */
    assign(&g);
    check_shares(&g);
    assert_true(g.owners[0] <= g.owners[1]);
}

/* ---- what moves ---- */

static const struct {
    size_t units, partitions, seeds;
    double mean_max; /* moves of a join */
    size_t most;     /* of any of the joins */
} joins[] = {
    {1, 40, 50, 20.0, 20},    {2, 12, 300, 5.5, 10},     {10, 40, 1000, 7.6, 14},
    {10, 400, 100, 55.0, 70}, {100, 400, 200, 17.0, 30}, {300, 1200, 30, 23.0, 40},
    {100, 20, 300, 0.7, 10}, /* most have none: a newcomer seldom gets one */
};

/* How many of them change their owner when unit `at` is there, too. */
static size_t moves(const struct group *without, const struct group *with, size_t at)
{
    size_t n = 0;
    for (size_t i = 0; i < with->partition_count; i++) {
        size_t before = without->owners[i] + (without->owners[i] >= at);
        n += before != with->owners[i];
    }
    return n;
}

/* A leave is the join, the other way round: the same partitions go back. */
static void test_few_move_when_one_comes_or_goes(void **state)
{
    (void)state;
    static struct group with, without;
    for (size_t c = 0; c < ARRAY_LEN(joins); c++) {
        size_t sum = 0, most = 0, least = 0;
        struct rng rng;
        rng_init(&rng, 3);
        for (size_t i = 0; i < joins[c].seeds; i++) {
            draw_group(&with, &rng, joins[c].units + 1, joins[c].partitions);
            size_t at = (size_t)rng_below(&rng, with.unit_count);
            without = with;
            without.unit_count--;
            memmove(without.units + at, with.units + at + 1,
                    (without.unit_count - at) * sizeof *without.units);
            assign(&with);
            assign(&without);
            size_t n = moves(&without, &with, at);
            for (size_t k = 0; k < with.partition_count; k++)
                least += with.owners[k] == at; /* what the newcomer gets, any rule must move */
            most = n > most ? n : most;
            sum += n;
        }
        double mean = (double)sum / (double)joins[c].seeds;
        if (sum < least || mean > joins[c].mean_max || most > joins[c].most)
            fail_msg("%zu units, %zu partitions: %.2f move, %zu at most; at least %.2f must",
                     joins[c].units, joins[c].partitions, mean, most,
                     (double)least / (double)joins[c].seeds);
    }
}

/* Who gets the partition that is left over, and who gets the only one, is another in each topic. */
static void test_topics_differ(void **state)
{
    (void)state;
    enum { UNITS = 10, TOPICS = 2000 };
    uint64_t units[UNITS];
    for (size_t u = 0; u < UNITS; u++) {
        char id[32];
        snprintf(id, sizeof id, "g_host-%zu-0", u);
        units[u] = assign_rendezvous_text(id);
    }
    for (size_t partition_count = 1; partition_count <= 11; partition_count += 10) {
        static const int32_t partitions[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
        size_t got[UNITS] = {0};
        for (int t = 0; t < TOPICS; t++) {
            char name[32];
            uint32_t owners[ARRAY_LEN(partitions)];
            snprintf(name, sizeof name, "topic-%d", t);
            assert_int_equal(assign_rendezvous(assign_rendezvous_text(name), partitions,
                                               partition_count, units, UNITS, owners),
                             ZKC_OK);
            for (size_t i = 0; i < partition_count; i++)
                got[owners[i]]++;
        }
        size_t even = TOPICS * (partition_count / UNITS) + TOPICS / UNITS;
        for (size_t u = 0; u < UNITS; u++)
            assert_in_range(got[u], even - 60, even + 60); /* more than four deviations */
    }
}

static enum zkc_err assign_some(const void *input)
{
    static const int32_t partitions[] = {0, 1, 2, 3, 4};
    static const uint64_t units[] = {1, 2, 3};
    uint32_t owners[5];
    const uint64_t *topic = input;
    return assign_rendezvous(*topic, partitions, 5, units, 3, owners);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    uint64_t topic = 7;
    alloc_fail_each(assign_some, &topic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_all_sizes_are_fair_and_stable),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_few_move_when_one_comes_or_goes),
        cmocka_unit_test(test_topics_differ),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
