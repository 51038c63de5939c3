/* Seeds of chaos, then healing: no MUST is violated; each planted bug is found. SIM_SEED=n runs one
 * seed, SIM_SEEDS=n so many (default 40). */
#include "study/check/check.h"
#include "study/sim/story.h"
#include "study/sim/swarm.h"
#include "tests/unit/test.h"
#include <stdio.h>
#include <stdlib.h>

#define MEMBERS 4

/* Seeds that found something once. 68: an end of the session while a rebalance had stopped the
 * fetchers already was told of what was claimed afterwards. 3265: a leader that had stood still
 * committed what its successor had committed too. 11156: a session that had moved by an attach
 * which its client had given up was refused for ever. */
static const uint64_t ONCE_FAILED[] = {41, 68, 3265, 11156};

struct run {
    uint64_t seed, hash, violations;
    unsigned bugs;
    bool is_stable;
    char first[200]; /* violation */
    bool has_found[CHECK_COUNT];
};

static void on_violation(const struct trace_event *v, void *user)
{
    struct run *r = user;
    if (!r->first[0])
        snprintf(r->first, sizeof r->first, "%s at %.6f s: %s", v->viol.invariant,
                 (double)v->t_ns / 1e9, v->viol.detail);
}

static void run(struct run *r)
{
    static const struct sim_topic topics[] = {{"t", 6, 20000, 0}, {"u", 3, 5000, 100}};
    struct swarm_options options = {
        .seed = r->seed, .from_ns = 10 * SIM_S, .to_ns = 60 * SIM_S, .faults_max = 12};
    struct check_options check_options = {on_violation, r};
    struct check *check = check_new(&check_options);
    struct trace_sink sink = {2, check_take, check};
    struct sim_member_plan members[MEMBERS] = {0};
    struct sim_config c;
    struct swarm swarm;
    struct sim *sim;
    char why[200];
    sim_config_init(&c);
    c.seed = r->seed;
    c.bugs = r->bugs;
    c.shuffle_ties = true;
    c.topics = topics;
    c.topic_count = 2;
    for (size_t i = 0; i < MEMBERS; i++) {
        sim_member_config_init(&members[i].config);
        members[i].config.auto_commit_interval_ms = 5000;
        members[i].start_ns = (1 + 2 * i) * SIM_S;
    }
    c.members = members;
    c.member_count = MEMBERS;
    swarm_draw(&options, &c, &swarm);
    c.faults = swarm.faults;
    c.fault_count = swarm.count;
    c.sinks = &sink;
    c.sink_count = 1;
    if (sim_new(&c, &sim, why, sizeof why))
        fail_msg("SIM_SEED=%llu: %s", (unsigned long long)r->seed, why);
    sim_run_until(sim, 60 * SIM_S);
    sim_heal(sim);
    r->is_stable = sim_run_until_true(sim, sim_is_stable, NULL, 120 * SIM_S);
    r->hash = sim_hash(sim);
    sim_free(sim);
    assert_int_equal(check_finish(check), ZKC_OK);
    r->violations = check_violations(check);
    for (int i = 0; i < CHECK_COUNT; i++)
        r->has_found[i] = check_result(check, (enum check_id)i).found > 0;
    check_free(check);
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void expect_clean(uint64_t seed)
{
    struct run r = {.seed = seed};
    run(&r);
    if (r.violations)
        fail_msg("SIM_SEED=%llu: %s", (unsigned long long)seed, r.first);
}

static void test_no_must_is_violated(void **state)
{
    uint64_t one = number_from("SIM_SEED", 0), count = number_from("SIM_SEEDS", 40);
    (void)state;
    if (one) {
        expect_clean(one);
        return;
    }
    for (size_t i = 0; i < sizeof ONCE_FAILED / sizeof *ONCE_FAILED; i++)
        expect_clean(ONCE_FAILED[i]);
    for (uint64_t seed = 1000; seed < 1000 + count; seed++)
        expect_clean(seed);
}

static void test_a_seed_repeats(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct run a = {.seed = seed}, b = {.seed = seed}, other = {.seed = seed + 100};
        run(&a);
        run(&b);
        run(&other);
        assert_true(a.hash == b.hash);
        assert_true(a.hash != other.hash);
    }
}

/* The test of the test. */
static void test_planted_bugs_are_found(void **state)
{
    static const struct {
        enum sim_bug bug;
        enum check_id found_by;
        const char *name;
    } bugs[] = {
        {SIM_BUG_STOP_LATE, CHECK_Z4, "release before the fetcher has stopped"},
        {SIM_BUG_DELETE_FOREIGN, CHECK_Z5, "delete without looking at the registry"},
        {SIM_BUG_WATCH_ONCE, CHECK_Z7, "watch that is not left again"},
        {SIM_BUG_EXPIRY_IN_PARTS, CHECK_Z9, "session that ends in parts"},
        {SIM_BUG_KEEP_CLAIM, CHECK_Z3, "claim kept after a failed attempt"},
        {SIM_BUG_COMMIT_AHEAD, CHECK_C5, "commit of what was only fetched"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        bool is_found = false;
        for (uint64_t seed = 1; seed <= 1000 && !is_found; seed++) {
            struct run r = {.seed = seed, .bugs = bugs[i].bug};
            run(&r);
            is_found = r.has_found[bugs[i].found_by];
        }
        if (!is_found)
            fail_msg("not found in 1000 seeds: %s", bugs[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_must_is_violated),
        cmocka_unit_test(test_a_seed_repeats),
        cmocka_unit_test(test_planted_bugs_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
