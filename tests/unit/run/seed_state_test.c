#include "study/run/seed_state.h"
#include "tests/unit/run/scenarios.h"
#include "tests/unit/test.h"
#include <sys/wait.h>
#include <unistd.h>

static char path[] = "/tmp/seed_state_test.XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static enum zkc_err take(const struct seed_result *r, void *user)
{
    return totals_add(user, r);
}

static enum zkc_err open_state(const struct scenario *s, uint64_t last, struct totals *t,
                               struct seed_state **out, struct why *why)
{
    return seed_state_open(&(struct seed_state_options){path, s, 1, last, take, t}, out, why);
}

static void write_text(const char *mode, const char *text)
{
    FILE *f = fopen(path, mode);
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Results that differ in every field that counts. */
static struct seed_result result_of(uint64_t seed)
{
    struct seed_result r = {.seed = seed};
    if (seed == 4) {
        r.died = 6;
        return r;
    }
    r.run = (struct run_result){.violated = seed == 2 ? CHECK_Z5 : CHECK_COUNT,
                                .violated_ns = seed == 2 ? 1500000000 : 0,
                                .tts_ns = seed == 3 ? UINT64_MAX : seed * 1000000000,
                                .is_stable = seed != 3,
                                .members = 5,
                                .registered = 4,
                                .hash = 0xf000000000000000u + seed,
                                .counts.events = seed * 1000};
    snprintf(r.run.detail, sizeof r.run.detail, seed == 2 ? "m1 \"deletes\"\n" : "");
    r.run.measures = (struct measures){.causes = 1,
                                       .rebalances = seed + 1,
                                       .attempts = seed + 2,
                                       .failed = seed,
                                       .conflicts = seed + 3,
                                       .reads = seed * 10,
                                       .writes = seed * 20,
                                       .notifications = seed + 4,
                                       .commits = seed + 5};
    for (int i = 0; i < CHECK_COUNT; i++)
        r.run.checks[i].checked = seed + (uint64_t)i;
    r.run.checks[CHECK_Z5].found = seed == 2;
    r.run.checks[CHECK_DUAL].found = seed * 1000000;
    r.run.checks[CHECK_Z10].unknown = "nobody sent a sync";
    r.run.checks[CHECK_Z10].checked = 0;
    return r;
}

static char *report(struct totals *t)
{
    struct buf out;
    buf_init(&out, 100000);
    totals_report(t, &out);
    char *text = strdup(buf_text(&out));
    buf_deinit(&out);
    totals_deinit(t);
    return text;
}

/* What was written is read as it was; a later run with more seeds has the earlier ones, one with
 * fewer its own; a line that was cut short is run again. */
static void test_goes_on(void **state)
{
    (void)state;
    struct scenario *s = parse_scenario("members = 3\n");
    struct seed_state *x;
    struct totals written = {0}, read = {0}, few = {0};
    struct why why;
    write_text("w", "");
    assert_int_equal(open_state(s, 5, &read, &x, &why), ZKC_OK);
    for (uint64_t seed = 5; seed >= 1; seed--) {
        struct seed_result r = result_of(seed);
        assert_false(seed_state_has(x, seed));
        assert_int_equal(seed_state_add(x, &r, seed == 2 ? "zkstudy story" : NULL, &why), ZKC_OK);
        assert_true(seed_state_has(x, seed));
        assert_int_equal(totals_add(&written, &r), ZKC_OK);
    }
    assert_false(seed_state_has(x, 6));
    seed_state_close(x);
    assert_int_equal(read.runs, 0);
    write_text("a", "{\"seed\":6,\"hash\":\"00");

    assert_int_equal(open_state(s, 100, &read, &x, &why), ZKC_OK);
    assert_true(seed_state_has(x, 1) && seed_state_has(x, 5) && !seed_state_has(x, 6));
    struct seed_result sixth = result_of(6);
    assert_int_equal(seed_state_add(x, &sixth, NULL, &why), ZKC_OK);
    char *a = report(&written), *b = report(&read);
    assert_string_equal(a, b);
    assert_non_null(strstr(a, "failed: 2 4\n"));
    assert_non_null(strstr(a, "not decided: nobody sent a sync"));
    assert_non_null(strstr(a, "1 violated a MUST, 1 DIED, 1 were not stable"));
    free(a);
    free(b);
    seed_state_close(x);

    assert_int_equal(open_state(s, 3, &few, &x, &why), ZKC_OK);
    assert_int_equal(few.runs, 3);
    seed_state_close(x);
    totals_deinit(&few);
    assert_int_equal(open_state(s, 100, &read, &x, &why), ZKC_OK);
    assert_int_equal(read.runs, 6);
    seed_state_close(x);
    totals_deinit(&read);
    scenario_free(s);
}

static void expect_refused(const struct scenario *s, const char *says)
{
    struct seed_state *x;
    struct totals t = {0};
    struct why why;
    assert_int_equal(open_state(s, 10, &t, &x, &why), ZKC_ERR_CONFIG);
    if (!strstr(why.text, says))
        fail_msg("%s, not %s", why.text, says);
    totals_deinit(&t);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "hello\n",
        "{}\n",
        "{\"seed\":-1}\n",
        "{\"seed\":1}\n",
        "{\"seed\":1,\"died\":0}\n",
        "{\"seed\":1,\"hash\":\"00\",\"stable\":true,\"checks\":{}}\n",
    };
    struct scenario *s = parse_scenario("members = 3\n"), *other = parse_scenario("members = 4\n");
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct seed_state *x;
        struct totals t = {0};
        struct why why;
        write_text("w", "");
        assert_int_equal(open_state(s, 10, &t, &x, &why), ZKC_OK);
        seed_state_close(x);
        write_text("a", lines[i]);
        expect_refused(s, ":2: expected what a seed came to");
    }
    expect_refused(other, ":1: expected the state of this scenario");
    write_text("w", "members = 3\n"); /* not ours: it stays as it was */
    expect_refused(s, ":1: expected the state of this scenario");
    FILE *f = fopen(path, "r");
    char text[100] = "";
    assert_non_null(fgets(text, sizeof text, f));
    assert_string_equal(text, "members = 3\n");
    fclose(f);
    scenario_free(s);
    scenario_free(other);
}

/* What an odd file without an end of line holds is not thrown away either. */
static void test_no_line(void **state)
{
    (void)state;
    struct scenario *s = parse_scenario("");
    write_text("w", "precious");
    expect_refused(s, ":1: expected the state of this scenario");
    FILE *f = fopen(path, "r");
    char text[100] = "";
    assert_non_null(fgets(text, sizeof text, f));
    assert_string_equal(text, "precious");
    fclose(f);
    scenario_free(s);
}

/* Only one process has it open. */
static void test_locked(void **state)
{
    (void)state;
    struct scenario *s = parse_scenario("");
    struct seed_state *x, *second;
    struct totals t = {0};
    struct why why;
    int status;
    write_text("w", "");
    assert_int_equal(open_state(s, 10, &t, &x, &why), ZKC_OK);
    pid_t pid = fork();
    if (pid == 0)
        _exit(open_state(s, 10, &t, &second, &why) == ZKC_ERR_SYSTEM &&
                      strstr(why.text, "another process has it open")
                  ? 0
                  : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    seed_state_close(x);
    scenario_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_on),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_line),
        cmocka_unit_test(test_locked),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
