/* Allocations that fail inside of the machines, one at a time and many in a row: nothing breaks,
 * nothing leaks, and with the next event the group is as it should be. */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/group/world.h"
#include "tests/unit/test.h"

#define STEPS_MAX 20000

static void around_step(bool begins)
{
    alloc_fail_pause(!begins);
}

static void consume_all(struct world *w)
{
    struct world_member *m;
    for (size_t i = 0; (m = world_member_at(w, i)); i++)
        world_consume(m, 3);
}

static void put_filter_member(struct world *w)
{
    world_put(w, "/consumers/g/ids/g_filter",
              "{\"version\":1,\"subscription\":{\"x.*\":1},\"pattern\":\"white_list\","
              "\"timestamp\":\"1\"}");
}

/* Joins, a conflict, commits of all kinds, an expiry, a broker lost, leaving. */
static void live(struct world *w, const struct zk_compat_config *config)
{
    world_put_topic(w, "t", 2);
    put_filter_member(w);
    struct world_member *m = world_join(w, config);
    world_settle(w, STEPS_MAX);
    consume_all(w);
    world_commit(m);
    world_settle(w, STEPS_MAX);
    consume_all(w);
    world_put(w, "/consumers/g/owners/t/2", "g_ghost-0");
    world_put_topic(w, "t", 3);
    world_run_ms(w, 300);
    world_remove(w, "/consumers/g/owners/t/2");
    world_settle(w, STEPS_MAX);
    world_expire(m);
    world_settle(w, STEPS_MAX);
    struct group_input in = {.type = GROUP_IN_LEADER_LOST, .leader_lost = {"t", 0}};
    world_feed(m, &in);
    struct world_member *other = world_join(w, config);
    world_settle(w, STEPS_MAX);
    consume_all(w);
    world_leave(other);
    world_settle(w, STEPS_MAX);
    assert_true(other->is_closed);
}

static struct zk_compat_config config_of(enum zk_variant variant)
{
    struct zk_compat_config c = world_config();
    c.variant = variant;
    c.rebalance_backoff_ms = 200;
    c.session_timeout_ms = 1000;
    return c;
}

/* The same with a filter, which allows what the fixed subscription names, and with offsets in both
 * stores. */
static struct zk_compat_config filter_config(void)
{
    struct zk_compat_config c = config_of(ZK_VARIANT_0_8);
    c.pattern = ZK_PATTERN_WHITE_LIST;
    c.offsets_in = COMMIT_TO_BOTH;
    c.offsets_channel_backoff_ms = 100;
    c.offsets_commit_retries = 5;
    return c;
}

/* True: an allocation has failed. */
static bool run(const struct zk_compat_config *given, size_t n, size_t count)
{
    struct zk_compat_config config = *given;
    alloc_fail_pause(true);
    struct world *w = world_new(&(struct world_options){.seed = 1, .around_step = around_step});
    alloc_fail_run(n, count);
    live(w, &config);
    bool has_failed = alloc_fail_stop();
    world_put_topic(w, "t", 4); /* an event, for who gave up */
    world_settle(w, STEPS_MAX);
    const char *why = world_unsettled(w);

    if (why)
        fail_msg("variant %d, pattern %d, allocations %zu to %zu: %s", config.variant,
                 config.pattern, n, n + count - 1, why);
    world_free(w);
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
    for (int v = 0; v < ZK_VARIANT_COUNT; v++) {
        struct zk_compat_config config = config_of((enum zk_variant)v);
        size_t n = 0;
        while (run(&config, n, 1))
            n += (v == ZK_VARIANT_0_8 ? 1 : 7) * stride();
        assert_true(n > 300);
    }
}

static void test_each_allocation_of_a_filter(void **state)
{
    (void)state;
    struct zk_compat_config config = filter_config();
    size_t n = 0;
    while (run(&config, n, 1))
        n += 2 * stride();
    assert_true(n > 300);
}

static void test_each_allocation_with_switches(void **state)
{
    (void)state;
    struct zk_compat_config config = config_of(ZK_VARIANT_0_8);
    config.switches = (struct zk_switches){.watch_owners = true,
                                           .claim = ZK_CLAIM_MULTI,
                                           .release = ZK_GUARD_SESSION,
                                           .commit = ZK_GUARD_SESSION,
                                           .sync_before_read = true};
    size_t n = 0;
    while (run(&config, n, 1))
        n += stride();
    assert_true(n > 300);
}

static void test_many_in_a_row(void **state)
{
    (void)state;
    struct zk_compat_config configs[] = {config_of(ZK_VARIANT_0_8), filter_config()};
    static const size_t counts[] = {2, 5, 20, 100};
    for (size_t k = 0; k < ARRAY_LEN(counts); k++)
        for (size_t i = 0; i < ARRAY_LEN(configs); i++)
            for (size_t n = 0; run(&configs[i], n, counts[k]); n += (i ? 13 : 7) * stride())
                ;
}

static enum zkc_err make(const void *config)
{
    struct zk_compat *m;
    enum zkc_err err = zk_compat_new(config, 0, &m);
    if (!err)
        zk_compat_free(m);
    return err;
}

static void test_new(void **state)
{
    (void)state;
    static const struct zk_subscription subscriptions[] = {{(char *)(uintptr_t) "t", 1},
                                                           {(char *)(uintptr_t) "u", 2}};
    struct zk_compat_config config = config_of(ZK_VARIANT_0_8);
    config.group = "g";
    config.consumer_id = "g_me";
    config.subscriptions = subscriptions;
    config.subscription_count = 2;
    alloc_fail_each(make, &config);
    config.pattern = ZK_PATTERN_BLACK_LIST;
    config.subscription_count = 1;
    alloc_fail_each(make, &config);
    zk_compat_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation),
        cmocka_unit_test(test_each_allocation_of_a_filter),
        cmocka_unit_test(test_each_allocation_with_switches),
        cmocka_unit_test(test_many_in_a_row),
        cmocka_unit_test(test_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
