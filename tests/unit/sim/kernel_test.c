#include "study/sim/java_set.h"
#include "study/sim/kernel.h"
#include "tests/unit/test.h"

/* ---- events ---- */

struct log {
    struct kernel kernel;
    int order[100];
    size_t count;
};

static void note(void *actor, void *arg)
{
    struct log *l = actor;
    l->order[l->count++] = (int)(intptr_t)arg;
}

static void fill(struct log *l, uint64_t seed, bool shuffle)
{
    *l = (struct log){0};
    kernel_init(&l->kernel, seed, shuffle);
    for (int i = 0; i < 50; i++)
        kernel_at(&l->kernel, 100 + (uint64_t)(i % 2), note, l, (void *)(intptr_t)i);
    while (kernel_next_ns(&l->kernel) != SIM_NEVER)
        kernel_run_one(&l->kernel);
    kernel_deinit(&l->kernel);
    assert_int_equal(l->count, 50);
}

static void test_ties_come_in_order_of_birth(void **state)
{
    struct log l;
    (void)state;
    fill(&l, 1, false);
    for (int i = 0; i < 50; i++)
        assert_int_equal(l.order[i], i < 25 ? 2 * i : 2 * (i - 25) + 1);
}

static void test_ties_are_shuffled_by_the_seed(void **state)
{
    struct log a, b, c;
    (void)state;
    fill(&a, 1, true);
    fill(&b, 1, true);
    fill(&c, 2, true);
    assert_memory_equal(a.order, b.order, sizeof a.order);
    assert_memory_not_equal(a.order, c.order, sizeof a.order);
    for (int i = 0; i < 50; i++) /* times still count */
        assert_int_equal(a.order[i] % 2, i >= 25);
}

static void test_events_of_any_times_come_in_order(void **state)
{
    struct kernel k;
    struct stream s = stream_of(7, "test", "times");
    struct log l = {0};
    uint64_t last = 0;
    (void)state;
    kernel_init(&k, 1, false);
    for (int i = 0; i < 20000; i++)
        kernel_at(&k, stream_below(&s, 1000), note, &l, NULL);
    while (kernel_next_ns(&k) != SIM_NEVER) {
        assert_true(kernel_next_ns(&k) >= last);
        last = kernel_next_ns(&k);
        l.count = 0;
        kernel_run_one(&k);
    }
    assert_int_equal(k.ran, 20000);
    kernel_deinit(&k);
}

static void test_a_timer_rings_once_at_its_last_deadline(void **state)
{
    struct log l = {0};
    struct timer t;
    (void)state;
    kernel_init(&l.kernel, 1, false);
    timer_init(&t, &l.kernel, note, &l);
    timer_arm(&t, 100);
    timer_arm(&t, 50);  /* earlier */
    timer_arm(&t, 200); /* later */
    while (kernel_next_ns(&l.kernel) <= 199)
        kernel_run_one(&l.kernel);
    assert_int_equal(l.count, 0);
    while (kernel_next_ns(&l.kernel) != SIM_NEVER)
        kernel_run_one(&l.kernel);
    assert_int_equal(l.count, 1);
    assert_int_equal(l.kernel.now_ns, 200);
    timer_arm(&t, 300);
    timer_arm(&t, SIM_NEVER); /* disarmed */
    while (kernel_next_ns(&l.kernel) != SIM_NEVER)
        kernel_run_one(&l.kernel);
    assert_int_equal(l.count, 1);
    kernel_deinit(&l.kernel);
}

/* ---- chance ---- */

static void test_streams_do_not_touch_each_other(void **state)
{
    struct stream a = stream_of(1, "m1", "link"), b = stream_of(1, "m2", "link"),
                  again = stream_of(1, "m1", "link");
    (void)state;
    for (int i = 0; i < 10; i++) {
        uint64_t x = stream_next(&a);
        stream_next(&b);
        stream_next(&b);
        assert_true(x == stream_next(&again));
        assert_true(x != stream_next(&b));
    }
}

static const uint64_t TABLE[] = {10, 20, 100};

static const struct {
    struct sim_dist dist;
    uint64_t min, max, median_low, median_high;
} DISTS[] = {
    {{SIM_CONSTANT, 5, 0, NULL, 0}, 5, 5, 5, 5},
    {{SIM_UNIFORM, 100, 200, NULL, 0}, 100, 200, 145, 155},
    {{SIM_TABLE, 0, 0, TABLE, 3}, 10, 100, 19, 22},
    {{SIM_LOGNORMAL, 1000000, 10000000, NULL, 0}, 10000, 40000000, 950000, 1050000},
    {{SIM_LOGNORMAL, 1000, 1000, NULL, 0}, 1000, 1000, 1000, 1000},
};

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void test_distributions(void **state)
{
    static uint64_t drawn[10000];
    (void)state;
    for (size_t i = 0; i < sizeof DISTS / sizeof *DISTS; i++) {
        struct stream s = stream_of(3, "test", "dist");
        for (size_t k = 0; k < 10000; k++)
            drawn[k] = stream_draw(&s, &DISTS[i].dist);
        qsort(drawn, 10000, sizeof *drawn, by_size);
        assert_in_range(drawn[0], DISTS[i].min, DISTS[i].max);
        assert_in_range(drawn[9999], DISTS[i].min, DISTS[i].max);
        assert_in_range(drawn[5000], DISTS[i].median_low, DISTS[i].median_high);
        if (DISTS[i].dist.kind == SIM_LOGNORMAL && DISTS[i].max > DISTS[i].min)
            assert_in_range(drawn[9900], 8500000, 11500000);
    }
}

/* ---- the order of Java's sets: as java.util.HashSet<String>(8) of Java 17 gives them ---- */

static const struct {
    const char *add[12], *remove[4];
    const char *want;
} SETS[] = {
    {{"g_c2", "g_c1", "g_c3"}, {0}, "g_c3 g_c1 g_c2"},
    {{"0", "1", "10", "11", "2", "3", "7"}, {0}, "0 11 1 2 3 7 10"},
    {{"t", "u", "orders"}, {"u"}, "orders t"},
};

static void test_java_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof SETS / sizeof *SETS; i++) {
        struct pool pool = {0};
        struct java_set set;
        char got[200] = "";
        java_set_init(&set, 8);
        for (uint32_t k = 0; k < 12 && SETS[i].add[k]; k++)
            java_set_add(&set, &pool, java_text_hash(SETS[i].add[k], strlen(SETS[i].add[k])), k);
        for (uint32_t k = 0; k < 4 && SETS[i].remove[k]; k++)
            for (uint32_t id = 0; SETS[i].add[id]; id++)
                if (strcmp(SETS[i].add[id], SETS[i].remove[k]) == 0)
                    assert_true(java_set_remove(
                        &set, &pool, java_text_hash(SETS[i].remove[k], strlen(SETS[i].remove[k])),
                        id));
        for (struct java_cursor c = java_set_first(&set); c.entry; java_set_next(&set, &c)) {
            strcat(got, got[0] ? " " : "");
            strcat(got, SETS[i].add[c.entry->id]);
        }
        assert_string_equal(got, SETS[i].want);
        java_set_deinit(&set, &pool);
        pool_deinit(&pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ties_come_in_order_of_birth),
        cmocka_unit_test(test_ties_are_shuffled_by_the_seed),
        cmocka_unit_test(test_events_of_any_times_come_in_order),
        cmocka_unit_test(test_a_timer_rings_once_at_its_last_deadline),
        cmocka_unit_test(test_streams_do_not_touch_each_other),
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_java_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
