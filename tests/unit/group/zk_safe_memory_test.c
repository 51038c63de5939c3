/* Allocations that fail inside of safe members, one at a time and many in a row: no promise breaks,
 * nothing leaks, nothing is forgotten, and the group settles by itself. */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/group/zk_safe_world.h"
#include "tests/unit/test.h"

static void around_step(bool begins)
{
    alloc_fail_pause(!begins);
}

/* Joins, a hand-over, commits of all kinds, a lost connection, an end of a session, an odd
 * registration, a foreign write, leaving. */
static void live(struct safe_world *w, const struct zk_safe_config *config)
{
    struct safe_member *a = safe_world_join(w, "g_a", config);
    safe_world_run_ms(w, 300);
    safe_world_put(w, SAFE_IDS "g_odd", "nonsense");
    struct safe_member *b = safe_world_join(w, "g_b", config);
    safe_world_run_ms(w, 1000);
    for (int p = 0; p < w->partitions; p++)
        w->log_end[p] += 3;
    safe_world_run_ms(w, 1000);
    safe_world_remove(w, SAFE_IDS "g_odd");
    safe_cut(a);
    safe_world_run_ms(w, 500);
    for (int p = 0; p < w->partitions; p++)
        if (safe_gate_is_open(a, p))
            safe_commit_one(a, p, a->held[p].finished);
    safe_stall(b);
    w->now_ms += SAFE_SESSION_MS;
    safe_world_end_sessions(w);
    safe_cut(b);
    safe_world_run_ms(w, 1000);
    safe_world_put(w, SAFE_OFFSETS "0", "00");
    safe_world_run_ms(w, 6000);
    safe_leave(b);
    safe_world_run_ms(w, 2000);
}

static struct zk_safe_config config_of_test(enum zk_pattern pattern)
{
    static const struct zk_subscription filter = {(char *)(uintptr_t) "t.*", 1};
    struct zk_safe_config config = safe_world_config();
    config.pattern = pattern;
    if (pattern != ZK_PATTERN_STATIC)
        config.subscriptions = &filter;
    config.auto_commit_interval_ms = 700;
    config.handover_ms = 300;
    return config;
}

/* True: an allocation has failed. */
static bool run(enum zk_pattern pattern, enum commit_store store, size_t n, size_t count)
{
    struct zk_safe_config config = config_of_test(pattern);
    alloc_fail_pause(true);
    struct safe_world *w = safe_world_new(1, 3);
    config.offsets_in = store;
    if (store != COMMIT_TO_ZOOKEEPER)
        safe_world_use_kafka(w);
    w->around_step = around_step;
    w->has_foreigners = true;
    alloc_fail_run(n, count);
    live(w, &config);
    bool has_failed = alloc_fail_stop();
    safe_world_run_ms(w, 8000);
    const char *why = safe_world_unsettled(w);
    if (why)
        fail_msg("allocations %zu to %zu: %s", n, n + count - 1, why);
    safe_world_free(w);
    alloc_fail_pause(false);
    return has_failed;
}

/* GROUP_MEMORY_STRIDE=n: only each n-th allocation. */
static size_t stride(void)
{
    const char *text = getenv("GROUP_MEMORY_STRIDE");
    return text ? strtoul(text, NULL, 10) : 1;
}

static void test_each_allocation(void **state)
{
    (void)state;
    static const struct {
        enum zk_pattern pattern;
        enum commit_store store;
        size_t step; /* Kafka's share is a part of the whole */
    } cases[] = {{ZK_PATTERN_STATIC, COMMIT_TO_ZOOKEEPER, 1},
                 {ZK_PATTERN_WHITE_LIST, COMMIT_TO_ZOOKEEPER, 1},
                 {ZK_PATTERN_STATIC, COMMIT_TO_KAFKA, 2},
                 {ZK_PATTERN_STATIC, COMMIT_TO_BOTH, 2}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = 0;
        while (run(cases[i].pattern, cases[i].store, n, 1))
            n += cases[i].step * stride();
        assert_true(n > 300);
    }
}

static void test_many_in_a_row(void **state)
{
    (void)state;
    static const size_t counts[] = {2, 5, 20, 100};
    for (size_t k = 0; k < ARRAY_LEN(counts); k++)
        for (size_t n = 0; run(ZK_PATTERN_STATIC, (enum commit_store)(k % 3), n, counts[k]);
             n += 7 * stride())
            ;
}

static enum zkc_err make(const void *config)
{
    struct zk_safe *m;
    struct why why;
    enum zkc_err err = zk_safe_new(config, 0, &m, &why);
    if (!err)
        zk_safe_free(m);
    return err;
}

static void test_new(void **state)
{
    (void)state;
    struct zk_safe_config config = config_of_test(ZK_PATTERN_STATIC);
    config.consumer_id = "g_me";
    alloc_fail_each(make, &config);
    static const struct zk_subscription filter = {(char *)(uintptr_t) "t.*", 1};
    config.pattern = ZK_PATTERN_WHITE_LIST;
    config.subscriptions = &filter;
    assert_int_equal(make(&config), ZKC_OK);
    static const struct zk_subscription broken = {(char *)(uintptr_t) "t(", 1};
    config.subscriptions = &broken;
    assert_int_equal(make(&config), ZKC_ERR_CORRUPT);
    zk_safe_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation),
        cmocka_unit_test(test_many_in_a_row),
        cmocka_unit_test(test_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
