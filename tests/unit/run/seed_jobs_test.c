#include "study/run/seed_jobs.h"
#include "tests/unit/test.h"
#include <signal.h>
#include <unistd.h>

/* Runs that are numbers: seed n has n events. */
struct numbers {
    pid_t parent;
    uint64_t aborts, exits, fails, kills; /* seeds; 0: none */
    uint64_t done_below;                  /* seeds of an earlier run */
    uint64_t ends_after;                  /* results */
    struct totals totals;
    uint64_t seen; /* a bit for each seed */
    size_t died;
    int died_how;
};

static enum zkc_err run(uint64_t seed, struct run_result *out, struct why *why, void *user)
{
    struct numbers *w = user;
    assert_true(getpid() != w->parent);
    if (seed == w->aborts)
        abort();
    if (seed == w->exits)
        _exit(3);
    if (seed == w->kills)
        raise(SIGKILL);
    if (seed == w->fails) {
        why_set(why, "there is no such world");
        return ZKC_ERR_CONFIG;
    }
    *out = (struct run_result){.violated = seed == 20 ? CHECK_Z3 : CHECK_COUNT, .is_stable = true};
    out->counts.events = seed;
    return ZKC_OK;
}

static bool is_done(uint64_t seed, void *user)
{
    return seed < ((struct numbers *)user)->done_below;
}

static enum zkc_err on_result(const struct seed_result *r, struct why *why, void *user)
{
    struct numbers *w = user;
    assert_int_equal(getpid(), w->parent);
    assert_false(w->seen >> r->seed & 1);
    w->seen |= (uint64_t)1 << r->seed;
    w->died += r->died != 0;
    w->died_how = r->died ? r->died : w->died_how;
    if (!r->died)
        assert_int_equal(r->run.counts.events, r->seed);
    if (w->ends_after && w->totals.runs + 1 > w->ends_after) {
        why_set(why, "the disk is full");
        return ZKC_ERR_SYSTEM;
    }
    return totals_add(&w->totals, r);
}

static enum zkc_err run_all(struct numbers *w, unsigned jobs, int stop_fd, struct why *why)
{
    w->parent = getpid();
    struct seed_jobs o = {.first = 1,
                          .last = 40,
                          .jobs = jobs,
                          .run = run,
                          .is_done = is_done,
                          .on_result = on_result,
                          .user = w,
                          .stop_fd = stop_fd};
    return seed_jobs_run(&o, why);
}

#define ALL_SEEDS (((uint64_t)1 << 41) - 2)

static void test_each_seed_once(void **state)
{
    (void)state;
    static const unsigned jobs[] = {1, 3, 64};
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        struct numbers w = {0};
        struct why why;
        assert_int_equal(run_all(&w, jobs[i], -1, &why), ZKC_OK);
        assert_true(w.seen == ALL_SEEDS);
        assert_int_equal(w.totals.runs, 40);
        assert_int_equal(w.totals.failed_runs, 1);
        assert_int_equal(w.totals.failed[0], 20);
        assert_int_equal(w.totals.events, 40 * 41 / 2);
        totals_deinit(&w.totals);
    }
}

static void test_done_are_left_out(void **state)
{
    (void)state;
    struct numbers w = {.done_below = 31};
    struct why why;
    assert_int_equal(run_all(&w, 2, -1, &why), ZKC_OK);
    assert_int_equal(w.totals.runs, 10);
    totals_deinit(&w.totals);
    w = (struct numbers){.done_below = 100};
    assert_int_equal(run_all(&w, 2, -1, &why), ZKC_OK);
    assert_int_equal(w.totals.runs, 0);
}

/* A run that dies is a result; the others go on. */
static void test_a_run_dies(void **state)
{
    (void)state;
    static const struct {
        struct numbers numbers;
        int how;
    } cases[] = {{{.aborts = 7}, SIGABRT}, {{.exits = 40}, 256 + 3}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct numbers w = cases[i].numbers;
        struct why why;
        assert_int_equal(run_all(&w, 2, -1, &why), ZKC_OK);
        assert_true(w.seen == ALL_SEEDS);
        assert_int_equal(w.died, 1);
        assert_int_equal(w.died_how, cases[i].how);
        assert_int_equal(w.totals.died_runs, 1);
        assert_int_equal(w.totals.failed_runs, 2);
        totals_deinit(&w.totals);
    }
}

static void test_all_ends(void **state)
{
    (void)state;
    static const struct {
        struct numbers numbers;
        enum zkc_err err;
        const char *why;
    } cases[] = {
        {{.fails = 5}, ZKC_ERR_CONFIG, "seed 5: there is no such world"},
        {{.kills = 5}, ZKC_ERR_SYSTEM, "seed 5: somebody ended its process by signal 9"},
        {{.ends_after = 5}, ZKC_ERR_SYSTEM, "the disk is full"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct numbers w = cases[i].numbers;
        struct why why;
        assert_int_equal(run_all(&w, 3, -1, &why), cases[i].err);
        assert_string_equal(why.text, cases[i].why);
        assert_true(w.totals.runs < 40);
        totals_deinit(&w.totals);
    }
}

static void test_stop(void **state)
{
    (void)state;
    struct numbers w = {0};
    struct why why;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(run_all(&w, 2, fds[0], &why), ZKC_ERR_CLOSED);
    assert_int_equal(w.totals.runs, 0);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_seed_once), cmocka_unit_test(test_done_are_left_out),
        cmocka_unit_test(test_a_run_dies),     cmocka_unit_test(test_all_ends),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
