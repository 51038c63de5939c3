/* The test of the test: bugs planted into the simulated member or ensemble are found by the
 * checkers, and the runs that find them are made small (rebalance-study.md 7.7). */
#include "study/run/repro.h"
#include "study/run/shrink.h"
#include "tests/unit/test.h"

#define SEEDS_MAX 1000

static const char scenario_text[] =
    "members = 6\nlate = 2\ntopic.t = 12 rate 20\nwarmup = 0s\n"
    "auto.commit.interval.ms = 3000\nrun = 60s\nheal = 30s\ndrain = 15s\n"
    "ties = shuffle\nids = random\nmember.2-*.app.stop = 75ms\n"
    "fault.1 = at 10s+u(0,5s) join m7\n"
    "fault.2 = at 15s+u(0,10s) crash random for 4s\n"
    "fault.3 = at 20s+u(0,10s) lose_reply m1 claim\n"
    "fault.4 = at 20s+u(0,20s) expire random\n"
    "fault.5 = at 20s+u(0,20s) suspend random for 3s\n"
    "fault.6 = at 30s+u(0,10s) join m8\n"
    "fault.7 = at 35s+u(0,10s) leave random\n";

static const struct planted {
    const char *name;
    enum sim_bug bug;
    enum check_id any_of[3]; /* which may be the first to be violated; C1: no more */
} bugs[] = {
    {"fetching goes on after a stop", SIM_BUG_STOP_LATE, {CHECK_Z4, CHECK_C3, CHECK_C5}},
    {"a partition that is not owned is deleted", SIM_BUG_DELETE_FOREIGN, {CHECK_Z5}},
    {"a watch is not left again", SIM_BUG_WATCH_ONCE, {CHECK_Z7}},
    {"a session's nodes go one by one", SIM_BUG_EXPIRY_IN_PARTS, {CHECK_Z9, CHECK_Z5}},
    {"claims of a failed attempt are kept", SIM_BUG_KEEP_CLAIM, {CHECK_Z3}},
    {"positions are those fetched", SIM_BUG_COMMIT_AHEAD, {CHECK_C5, CHECK_C10}},
};

static struct scenario *parse(void)
{
    struct scenario *s;
    struct why why;
    if (scenario_parse("planted", bytes_of_text(scenario_text), &s, &why))
        fail_msg("%s", why.text);
    return s;
}

static struct run_result run_one(const struct scenario *s, uint64_t seed, unsigned planted)
{
    struct run_result r;
    struct why why;
    if (run_scenario(
            &(struct run_options){
                .scenario = s, .seed = seed, .bugs = planted, .stops_at_violation = true},
            &r, &why))
        fail_msg("seed %" PRIu64 ": %s", seed, why.text);
    return r;
}

/* Without a bug nothing is violated. */
static void test_none(void **state)
{
    (void)state;
    struct scenario *s = parse();
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct run_result r = run_one(s, seed, 0);
        if (r.violated != CHECK_COUNT)
            fail_msg("seed %" PRIu64 ": %s: %s", seed, check_name(r.violated), r.detail);
    }
    scenario_free(s);
}

static bool is_expected(const struct planted *p, enum check_id id)
{
    for (int k = 0; k < 3; k++)
        if (p->any_of[k] == id && id != CHECK_C1)
            return true;
    return false;
}

/* The first seed from `seed` on that finds it. */
static uint64_t find(const struct planted *p, uint64_t seed, enum check_id *violated)
{
    struct scenario *s = parse();
    struct run_result r = run_one(s, seed, p->bug);
    while (r.violated == CHECK_COUNT && ++seed <= SEEDS_MAX)
        r = run_one(s, seed, p->bug);
    scenario_free(s);
    if (r.violated == CHECK_COUNT)
        fail_msg("%s: not found in %d seeds", p->name, SEEDS_MAX);
    if (!is_expected(p, r.violated))
        fail_msg("%s: found as %s: %s", p->name, check_name(r.violated), r.detail);
    *violated = r.violated;
    return seed;
}

static void expect_small(const struct planted *p, uint64_t seed, enum check_id violated)
{
    struct scenario *s = parse();
    struct shrink_result small;
    struct world w;
    struct why why;
    assert_int_equal(
        shrink(&s, &(struct shrink_options){.seed = seed, .bugs = p->bug}, &small, &why), ZKC_OK);
    assert_int_equal(small.violated, violated);
    assert_int_equal(scenario_build(s, small.seed, &w, &why), ZKC_OK);
    print_message("%s: %s, seed %" PRIu64 ", %u runs: %zu members, %d partitions, %zu faults\n",
                  p->name, check_name(violated), seed, small.runs, w.config.member_count,
                  w.config.topics[0].partitions, w.config.fault_count);
    assert_true(w.config.member_count <= 4);
    assert_true(w.config.topics[0].partitions <= 4);
    assert_true(w.config.fault_count <= 3);
    world_deinit(&w);
    /* What is left fails by itself. */
    assert_int_equal(run_one(s, small.seed, p->bug).violated, violated);
    scenario_free(s);
}

/* The last but one takes another way to be small: from two seeds. */
static void test_found_and_shrunk(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bugs); i++) {
        uint64_t seed = 0;
        for (int n = 0; n < (bugs[i].bug == SIM_BUG_KEEP_CLAIM ? 2 : 1); n++) {
            enum check_id violated;
            seed = find(&bugs[i], seed + 1, &violated);
            expect_small(&bugs[i], seed, violated);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_found_and_shrunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
