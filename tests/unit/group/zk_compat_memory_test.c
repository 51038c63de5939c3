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

static void put_stranger(struct world *w, const char *path)
{
    world_put(w, path,
              "{\"version\":1,\"subscription\":{\"x.*\":1},\"pattern\":\"white_list\","
              "\"timestamp\":\"1\"}");
}

/* A member's life in chapters. Which allocations fail: */
struct life {
    struct world *world;
    struct world_member *member, *other;
    const struct zk_compat_config *config;
    size_t n, count; /* count in a row from the n-th on, */
    bool each;       /* of each chapter; false: of the whole life, with no help on the way */
    size_t failed;   /* chapters in which one has failed */
};

static void begin(struct life *life)
{
    struct world *w = life->world;
    world_put_topic(w, "t", 2);
    put_stranger(w, "/consumers/g/ids/g_filter");
    life->member = world_join(w, life->config);
    world_settle(w, STEPS_MAX);
}

static void commit(struct life *life)
{
    consume_all(life->world);
    world_commit(life->member);
    world_settle(life->world, STEPS_MAX);
}

static void conflict(struct life *life)
{
    struct world *w = life->world;
    consume_all(w);
    world_put(w, "/consumers/g/owners/t/2", "g_ghost-0");
    world_put_topic(w, "t", 3);
    world_run_ms(w, 300);
    world_remove(w, "/consumers/g/owners/t/2");
    world_settle(w, STEPS_MAX);
}

static void expire(struct life *life)
{
    world_expire(life->member);
    world_settle(life->world, STEPS_MAX);
}

static void another(struct life *life)
{
    struct group_input in = {.type = GROUP_IN_LEADER_LOST, .leader_lost = {"t", 0}};
    world_feed(life->member, &in);
    life->other = world_join(life->world, life->config);
    world_settle(life->world, STEPS_MAX);
}

static void leave(struct life *life)
{
    consume_all(life->world);
    world_leave(life->other);
    world_settle(life->world, STEPS_MAX);
    assert_true(life->other->is_closed);
}

static void check(struct life *life)
{
    const char *why = world_unsettled(life->world);
    if (why)
        fail_msg("variant %d, pattern %d, allocations %zu to %zu of %s: %s", life->config->variant,
                 life->config->pattern, life->n, life->n + life->count - 1,
                 life->each ? "each chapter" : "all", why);
}

/* Nothing fails any more. Who gave up needs an event; so does who could not watch a topic that is
 * new to its filter, and another than a change of that: it has told so. */
static void heal(struct life *life)
{
    life->failed += alloc_fail_stop();
    if (world_unsettled(life->world)) {
        put_stranger(life->world, "/consumers/g/ids/g_passing");
        world_settle(life->world, STEPS_MAX);
        world_remove(life->world, "/consumers/g/ids/g_passing");
        world_settle(life->world, STEPS_MAX);
    }
    check(life);
}

static void live(struct life *life)
{
    void (*const chapters[])(struct life *) = {begin, commit, conflict, expire, another, leave};
    if (!life->each)
        alloc_fail_run(life->n, life->count);
    for (size_t i = 0; i < ARRAY_LEN(chapters); i++) {
        if (life->each)
            alloc_fail_run(life->n, life->count);
        chapters[i](life);
        if (life->each)
            heal(life);
    }
    if (!life->each)
        heal(life);
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

/* In how many chapters an allocation has failed. */
static size_t run(struct life life)
{
    alloc_fail_pause(true);
    life.world = world_new(&(struct world_options){.seed = 1, .around_step = around_step});
    live(&life);
    world_free(life.world);
    alloc_fail_pause(false);
    return life.failed;
}

/* GROUP_MEMORY_STRIDE=n: only each n-th allocation. */
static size_t stride(void)
{
    const char *text = getenv("GROUP_MEMORY_STRIDE");
    return text ? strtoul(text, NULL, 10) : 1;
}

/* Each allocation of each chapter fails once, all chapters in one life: it heals before the next.
 */
static void check_each(const struct zk_compat_config *config, size_t step)
{
    size_t failed = 0, more = 1;
    for (size_t n = 0; more > 0; n += step * stride())
        failed += more = run((struct life){.config = config, .n = n, .count = 1, .each = true});
    assert_true(failed * step * stride() > 400);
}

static void test_each_allocation(void **state)
{
    (void)state;
    for (int v = 0; v < ZK_VARIANT_COUNT; v++) {
        struct zk_compat_config config = config_of((enum zk_variant)v);
        check_each(&config, v == ZK_VARIANT_0_8 ? 1 : 7);
    }
}

static void test_each_allocation_of_a_filter(void **state)
{
    (void)state;
    struct zk_compat_config config = filter_config();
    check_each(&config, 1);
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
    check_each(&config, 1);
}

/* Rows that overlap by half, or more: nothing helps before the life is over. */
static void test_many_in_a_row(void **state)
{
    (void)state;
    struct zk_compat_config configs[] = {config_of(ZK_VARIANT_0_8), filter_config()};
    static const size_t counts[] = {2, 5, 20, 100};
    for (size_t k = 0; k < ARRAY_LEN(counts); k++)
        for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
            struct life life = {.config = &configs[i], .count = counts[k]};
            size_t step = (i ? 13 : 7) * stride();
            step = step > counts[k] / 2 ? step : counts[k] / 2;
            while (run(life))
                life.n += step;
            assert_true(life.n > 600);
        }
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
