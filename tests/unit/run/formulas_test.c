/* The formulas of rebalance-study.md 2 against the simulator: both are printed, and must agree. */
#include "study/run/predict.h"
#include "tests/unit/run/scenarios.h"
#include "tests/unit/test.h"
#include <math.h>

static void set(struct scenario *s, const char *key, const char *value)
{
    struct why why;
    if (scenario_set(s, key, value, &why))
        fail_msg("%s", why.text);
}

static struct run_result run_one(const struct scenario *s, uint64_t seed, struct predicted *p)
{
    struct run_result r;
    struct world w;
    struct why why;
    if (run_scenario(&(struct run_options){.scenario = s, .seed = seed}, &r, &why) ||
        scenario_build(s, seed, &w, &why))
        fail_msg("seed %" PRIu64 ": %s", seed, why.text);
    if (r.violated != CHECK_COUNT)
        fail_msg("seed %" PRIu64 ": %s: %s", seed, check_name(r.violated), r.detail);
    *p = predict(&w, &r);
    world_deinit(&w);
    return r;
}

static double seconds(const struct run_result *r, enum check_id id)
{
    return (double)(r->checks[id].found - r->found_before[id]) / 1e9;
}

/* Says both; `within` is the difference that is allowed, as a part of what is predicted. */
static void expect(const char *what, double measured, double predicted, double within)
{
    print_message("%-52s measured %9.3f  predicted %9.3f\n", what, measured, predicted);
    if (!(fabs(measured - predicted) <= within * fabs(predicted))) /* NAN as well */
        fail_msg("%s: measured %f, predicted %f", what, measured, predicted);
}

/* F5 to F8: what a change costs is exactly what zookeeper-consumer.md 3.3 adds up. */
static void test_operations(void **state)
{
    (void)state;
    static const struct {
        const char *n, *partitions, *fault;
    } cases[] = {
        {"1", "4", "at 30s join late"},  {"2", "6", "at 30s join late"},
        {"3", "8", "at 30s join late"},  {"5", "6", "at 30s join late"},
        {"9", "20", "at 30s join late"}, {"3", "6", "at 30s leave m2"},
        {"8", "16", "at 30s leave m2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scenario *s = parse_scenario("late=1\nrun=50s\ndrain=0s\nwarmup=25s\ntopic.t=1\n");
        struct predicted p;
        char what[100];
        set(s, "n", cases[i].n);
        set(s, "P", cases[i].partitions);
        set(s, "fault.1", cases[i].fault);
        struct run_result r = run_one(s, 1, &p);
        snprintf(what, sizeof what, "n=%s P=%s %s (%" PRIu64 " lost attempts): reads", cases[i].n,
                 cases[i].partitions, cases[i].fault, r.measures.failed);
        expect(what, (double)r.measures.reads, round(p.reads), 0);
        expect("  writes", (double)r.measures.writes, round(p.writes), 0);
        expect("  watches", (double)r.measures.watches, p.watches, 0);
        expect("  notifications (F8)", (double)r.measures.notifications, p.notifications, 0);
        expect("  rebalances of members", (double)r.measures.rebalances, p.rebalances, 0);
        assert_true(r.is_stable);
        scenario_free(s);
    }
}

/* F12: a lost round costs the backoff and another attempt. */
static void test_staircase(void **state)
{
    (void)state;
    bool has_step[2] = {false};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct scenario *s = read_scenario("S01");
        struct predicted p;
        set(s, "n", seed % 2 ? "4" : "20");
        set(s, "P", "20");
        set(s, "run", "50s");
        struct run_result r = run_one(s, seed, &p);
        assert_true(r.measures.rounds_lost < 2);
        has_step[r.measures.rounds_lost] = true;
        expect(r.measures.rounds_lost ? "F12 S01, a round lost: seconds until stable"
                                      : "F12 S01, none lost: seconds until stable",
               (double)r.tts_ns / 1e9, p.tts_s, r.measures.rounds_lost ? 0.05 : 0.5);
        scenario_free(s);
    }
    assert_true(has_step[0] && has_step[1]);
}

/* F6: reads grow with the square of the group, for one change; F24: and with its cube for as many
 * starts as there are members. */
static void test_square_of_reads(void **state)
{
    (void)state;
    double join[2], start[2];
    for (int i = 0; i < 2; i++) {
        struct predicted p;
        struct scenario *s = read_scenario("S01");
        set(s, "n", i ? "79" : "39");
        set(s, "P", i ? "160" : "80");
        set(s, "run", "40s");
        set(s, "topic.t", i ? "160" : "80");
        struct run_result r = run_one(s, 1, &p);
        expect("F6 S01 at n = 40, 80: reads", (double)r.measures.reads, p.reads, 0.01);
        join[i] = (double)r.measures.reads;
        scenario_free(s);
        s = read_scenario("S22");
        set(s, "n", i ? "24" : "12");
        set(s, "topic.t", i ? "48" : "24");
        set(s, "start.spread", "80s");
        set(s, "run", "90s");
        r = run_one(s, 1, &p);
        expect("F24 S22 at n = 12, 24 within 80 s: rebalances", (double)r.measures.rebalances,
               p.rebalances, 0.1);
        expect("F8 notifications", (double)r.measures.notifications, p.notifications, 0.1);
        expect("F6 reads", (double)r.measures.reads, p.reads, 0.1);
        start[i] = (double)r.measures.reads;
        scenario_free(s);
    }
    double square = log2(join[1] / join[0]), cube = log2(start[1] / start[0]);
    print_message("reads grow as n^%.2f for a join, n^%.2f for n starts\n", square, cube);
    assert_true(square > 1.6 && square < 2.05);
    assert_true(cube > 1.7 && cube < 3.05);
}

/* F1: a killed member's partitions are with nobody until its session has ended. */
static void test_detection(void **state)
{
    (void)state;
    static const char *const servers[] = {"1", "3"};
    const int seeds = 60;
    for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
        double measured = 0, predicted = 0;
        for (int seed = 1; seed <= seeds; seed++) {
            struct scenario *s =
                parse_scenario("members=2\ntopic.t=2\nids=random\nrun=45s\nwarmup=10s\nheal=5s\n"
                               "drain=0s\nfault.1=at 30s+u(0,6s) crash random\n");
            struct predicted p;
            set(s, "zk.servers", servers[i]);
            struct run_result r = run_one(s, (uint64_t)seed, &p);
            measured += seconds(&r, CHECK_GAP) / seeds;
            predicted += p.gap_ps / seeds;
            scenario_free(s);
        }
        /* The mean of 60 spreads by 0.11 s. */
        expect(i ? "F1 a kill, 3 servers: partition-seconds without owner"
                 : "F1 a kill, 1 server: partition-seconds without owner",
               measured, predicted, 3 * 0.11 / 6);
    }
}

/* F15: while a member is cut from ZooKeeper and not from the brokers, each of its partitions is
 * delivered twice for as long: slope 1. */
static void test_dual_delivery(void **state)
{
    (void)state;
    static const double lasts[] = {15, 30, 60};
    double dual[3];
    for (size_t i = 0; i < ARRAY_LEN(lasts); i++) {
        struct scenario *s = read_scenario("S18");
        struct predicted p;
        char fault[100], what[100];
        snprintf(fault, sizeof fault, "at 30s cut m1 zk* both for %.0fs", lasts[i]);
        snprintf(what, sizeof what, "F15 S18, a cut of %.0f s: dual partition-seconds", lasts[i]);
        set(s, "members", "4");
        set(s, "P", "8");
        set(s, "fault.1", fault);
        struct run_result r = run_one(s, 3, &p);
        dual[i] = seconds(&r, CHECK_DUAL);
        expect(what, dual[i], p.dual_ps, 2 * 3 / p.dual_ps); /* L is 4 to 8 s, mean 6 */
        assert_true(r.checks[CHECK_STALE_COMMITS].found > 0);
        assert_true(r.checks[CHECK_DUPLICATES].found > 0);
        scenario_free(s);
    }
    expect("F15 slope for each of 2 partitions", (dual[1] - dual[0]) / 15 / 2, 1, 0.02);
    expect("F15 slope for each of 2 partitions", (dual[2] - dual[1]) / 30 / 2, 1, 0.02);
}

static bool gives_up(double stop_s, struct predicted *p)
{
    struct scenario *s =
        parse_scenario("members=1\nlate=1\ntopic.t=4\nrun=60s\nwarmup=15s\nheal=1s\n"
                       "drain=0s\nmember.2.app.stop=0s\nfault.2=at 30s join late\n");
    char fault[100];
    snprintf(fault, sizeof fault, "at 20s slow_stop m1 by %.0fms", stop_s * 1000);
    set(s, "fault.1", fault);
    struct run_result r = run_one(s, 1, p);
    bool has_given_up = r.checks[CHECK_GIVE_UPS].found > 0;
    assert_int_equal(r.checks[CHECK_C9].found > 0, has_given_up); /* its partitions stay orphans */
    scenario_free(s);
    return has_given_up;
}

/* F13, S21: a release that comes later than 6.0 to 6.3 s after the first attempt of a claimant
 * makes it give up, and its partitions stay without owner. */
static void test_give_up_threshold(void **state)
{
    (void)state;
    struct predicted p;
    double low = 5, high = 8;
    assert_false(gives_up(low, &p));
    assert_true(gives_up(high, &p));
    while (high - low > 0.02) {
        double middle = (low + high) / 2;
        *(gives_up(middle, &p) ? &high : &low) = middle;
    }
    assert_true(gives_up(high, &p));
    expect("F13 S21: seconds of stopping that make it give up", high, p.give_up_after_s, 0.05);
    assert_true(low > 6.0 && high < 6.3);
}

/* F14, S05: a lone member that is killed and at once started again fails half the time, an eighth
 * after one second, never after two. In an ensemble somewhat more: a follower reports late. */
static void test_kill_and_restart(void **state)
{
    (void)state;
    static const struct {
        const char *servers, *after;
        double low, high; /* of what is predicted */
    } cases[] = {
        {"1", "1ms", 0.4, 0.5},
        {"1", "1s", 0.05, 0.125},
        {"1", "2s", 0, 0},
        {"3", "1ms", 0.5, 0.65},
    };
    const int seeds = 150;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double measured = 0, predicted = 0;
        char fault[100];
        snprintf(fault, sizeof fault, "at 8s+u(0,6s) crash m1 for %s", cases[i].after);
        for (int seed = 1; seed <= seeds; seed++) {
            struct scenario *s = parse_scenario("members=1\ntopic.t=4\nstart.spread=0s\nrun=28s\n"
                                                "warmup=5s\nheal=0s\ndrain=0s\napp.stop=0s\n");
            struct predicted p;
            set(s, "fault.1", fault);
            set(s, "zk.servers", cases[i].servers);
            struct run_result r = run_one(s, (uint64_t)seed, &p);
            measured += (r.checks[CHECK_GIVE_UPS].found > 0) / (double)seeds;
            predicted += p.give_up_p / seeds;
            scenario_free(s);
        }
        print_message("F14 S05, again after %-3s, servers: %s, share that fails  measured %9.3f  "
                      "predicted %9.3f\n",
                      cases[i].after, cases[i].servers, measured, predicted);
        assert_true(predicted >= cases[i].low && predicted <= cases[i].high);
        double sigma = sqrt(predicted * (1 - predicted) / seeds);
        if (fabs(measured - predicted) > 3 * sigma + 1e-9)
            fail_msg("%s: measured %f, predicted %f", fault, measured, predicted);
    }
}

/* The formulas by themselves, as the study's page gives their values. */
static void test_values(void **state)
{
    (void)state;
    const struct session_times c_client = {6, 2, 2, 1}, java = {6, 2, 1, 1},
                               ensemble = {6, 2, 2, 3};
    expect("F1 by default", predict_detection_s(&c_client), 6, 1e-9);
    expect("F1 in an ensemble of 3", predict_detection_s(&ensemble), 6 + 1 / 3.0, 1e-9);
    expect("F14 by default, no attempt takes time", predict_give_up_p(&c_client, 6), 0.5, 1e-3);
    expect("F14 after 1 s", predict_give_up_p(&c_client, 7), 0.125, 1e-2);
    expect("F14 after 2 s", predict_give_up_p(&c_client, 8), 0, 0);
    expect("F14 of the Java client", predict_give_up_p(&java, 6), 0.75, 1e-3);
    expect("F14 of the Java client after 1 s", predict_give_up_p(&java, 7), 0.25, 1e-2);
    expect("F14 in an ensemble, what never is", predict_give_up_p(&ensemble, 9), 0, 0);
    expect("F14 in an ensemble, what always is", predict_give_up_p(&ensemble, 3.9), 1, 1e-9);
    expect("F13 by default", predict_give_up_after_s(4, 2, 0.05, 0.05), 6.2, 1e-9);
}

/* Where the formulas say nothing, nothing is said. */
static void test_not_predicted(void **state)
{
    (void)state;
    static const char *const others[] = {
        "fault.1=at 12s partitions t to 8\n",
        "fault.1=at 12s crash b1\n",
        "fault.1=at 12s crash m1\nfault.2=at 13s crash m2\n",
        "zookeeper.variant=0.7\nfault.1=at 12s leave m1\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        char text[200];
        struct predicted p;
        snprintf(text, sizeof text, "members=3\ntopic.t=4\nrun=15s\nwarmup=10s\ndrain=0s\n%s",
                 others[i]);
        struct scenario *s = parse_scenario(text);
        run_one(s, 1, &p);
        assert_true(isnan(p.reads) && isnan(p.writes) && isnan(p.watches) && isnan(p.tts_s));
        assert_true(isnan(p.dual_ps) && isnan(p.gap_ps) && isnan(p.give_up_p));
        scenario_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),           cmocka_unit_test(test_not_predicted),
        cmocka_unit_test(test_operations),       cmocka_unit_test(test_staircase),
        cmocka_unit_test(test_square_of_reads),  cmocka_unit_test(test_detection),
        cmocka_unit_test(test_dual_delivery),    cmocka_unit_test(test_give_up_threshold),
        cmocka_unit_test(test_kill_and_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
