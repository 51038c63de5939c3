#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/consumer/log.h"
#include <fcntl.h>
#include <unistd.h>

/* ---- a log on a clock of the test ---- */

static int64_t now_ms;

static int64_t clock_ms(void)
{
    return now_ms;
}

struct lines {
    struct log *log; /* of those who log in their callback */
    struct {
        int level;
        char facility[16];
        char text[1200];
    } list[16];
    unsigned count;
};

static void on_log(zkc_consumer *consumer, int level, const char *facility, const char *text,
                   void *user)
{
    struct lines *lines = user;
    assert_ptr_equal(consumer, (zkc_consumer *)lines);
    if (lines->count < ARRAY_LEN(lines->list)) {
        lines->list[lines->count].level = level;
        snprintf(lines->list[lines->count].facility, 16, "%s", facility);
        snprintf(lines->list[lines->count].text, 1200, "%s", text);
    }
    lines->count++;
}

static struct log *new_log(struct lines *lines, int level, unsigned debug)
{
    memset(lines, 0, sizeof *lines);
    now_ms = 1000000;
    struct log_options options = {.consumer = (zkc_consumer *)lines,
                                  .fn = on_log,
                                  .user = lines,
                                  .level = level,
                                  .debug = debug,
                                  .now_ms = clock_ms};
    struct log *log = log_new(&options);
    assert_non_null(log);
    return log;
}

static void expect(const struct lines *lines, unsigned i, const char *text)
{
    if (i >= lines->count || strcmp(lines->list[i].text, text))
        fail_msg("line %u of %u: got %s", i, lines->count, lines->list[i].text);
}

static void test_lines_come_through(void **state)
{
    (void)state;
    struct lines lines;
    struct log *log = new_log(&lines, 6, 0);
    log_line(log, LOG_LEVEL_ERROR, LOG_FACILITY_ZK, "%s expired", "session");
    log_line(log, LOG_LEVEL_INFO, LOG_FACILITY_CLAIM, "owned [%s,%d]", "t", 3);
    log_line(log, LOG_LEVEL_DEBUG, LOG_FACILITY_CLAIM, "hidden");
    assert_int_equal(lines.count, 2);
    assert_int_equal(lines.list[0].level, 3);
    assert_string_equal(lines.list[0].facility, "zk");
    expect(&lines, 0, "session expired");
    assert_int_equal(lines.list[1].level, 6);
    assert_string_equal(lines.list[1].facility, "claim");
    expect(&lines, 1, "owned [t,3]");
    log_free(log);
    assert_int_equal(lines.count, 2);
    log_free(NULL);
}

static void test_debug_shows_single_facilities(void **state)
{
    (void)state;
    struct lines lines;
    struct log *log = new_log(&lines, 3, 1U << LOG_FACILITY_FETCH);
    assert_true(log_shows(log, LOG_LEVEL_DEBUG, LOG_FACILITY_FETCH));
    assert_false(log_shows(log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK));
    assert_true(log_shows(log, LOG_LEVEL_ERROR, LOG_FACILITY_ZK));
    for (int i = 0; i < 3; i++)
        log_line(log, LOG_LEVEL_DEBUG, LOG_FACILITY_FETCH, "round");
    log_line(log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK, "hidden");
    assert_int_equal(lines.count, 3); /* whoever asks for these wants them all */
    log_free(log);
    assert_int_equal(lines.count, 3);
}

static void test_repeated_lines_are_held_back(void **state)
{
    (void)state;
    struct lines lines;
    struct log *log = new_log(&lines, 4, 0);
    for (int ms = 0; ms <= 2500; ms += 10) {
        now_ms = 1000000 + ms;
        log_line(log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK, "cannot connect");
    }
    assert_int_equal(lines.count, 3);
    expect(&lines, 0, "cannot connect");
    expect(&lines, 1, "cannot connect [and 99 more like it in the 1 s before]");
    expect(&lines, 2, "cannot connect [and 99 more like it in the 1 s before]");
    log_free(log); /* what is left is not kept secret */
    assert_int_equal(lines.count, 4);
    expect(&lines, 3, "cannot connect [and 50 more like it]");
}

static void test_quiet_causes_start_afresh(void **state)
{
    (void)state;
    struct lines lines;
    struct log *log = new_log(&lines, 4, 0);
    log_line(log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK, "x");
    now_ms += 1000;
    log_line(log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK, "x");
    assert_int_equal(lines.count, 2);
    expect(&lines, 1, "x");
    log_free(log);
}

static void test_different_lines_are_not_held_back(void **state)
{
    (void)state;
    struct lines lines;
    struct log *log = new_log(&lines, 6, 0);
    for (int i = 0; i < 10; i++)
        log_line(log, LOG_LEVEL_INFO, LOG_FACILITY_CLAIM, "owned [t,%d]", i);
    log_line(log, LOG_LEVEL_INFO, LOG_FACILITY_FETCH, "owned [t,1]"); /* another facility */
    assert_int_equal(lines.count, 11);
    log_free(log);
    assert_int_equal(lines.count, 11);
}

static void test_lines_of_one_cause_may_vary(void **state)
{
    (void)state;
    struct lines lines;
    struct log *log = new_log(&lines, 4, 0);
    for (int i = 0; i < 5; i++) {
        log_cause(log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK, "connect a", "attempt %d at a failed",
                  i);
        log_cause(log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK, "connect b", "attempt %d at b failed",
                  i);
    }
    assert_int_equal(lines.count, 2);
    now_ms += 1000;
    log_cause(log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK, "connect a", "attempt %d at a failed", 5);
    expect(&lines, 2, "attempt 5 at a failed [and 4 more like it in the 1 s before]");
    log_free(log);
    assert_int_equal(lines.count, 4);
    expect(&lines, 3, "attempt 4 at b failed [and 4 more like it]");
}

static void test_many_causes_are_bounded_and_none_is_forgotten(void **state)
{
    (void)state;
    struct lines lines;
    struct log *log = new_log(&lines, 4, 0);
    for (int i = 0; i < 500; i++) {
        now_ms++;
        log_line(log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK, "line %d", i);
        log_line(log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK, "line %d", i);
    }
    log_free(log);
    assert_int_equal(lines.count, 1000); /* each once, and each held back one once */
}

static void log_again(zkc_consumer *consumer, int level, const char *facility, const char *text,
                      void *user)
{
    struct lines *lines = user;
    on_log(consumer, level, facility, text, user);
    if (lines->count < 5)
        log_line(lines->log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK, "x");
}

static void test_callback_may_log(void **state)
{
    (void)state;
    struct lines lines;
    struct log_options options = {.fn = log_again, .user = &lines, .level = 4, .now_ms = clock_ms};
    options.consumer = (zkc_consumer *)&lines;
    memset(&lines, 0, sizeof lines);
    lines.log = log_new(&options);
    assert_non_null(lines.log);
    log_line(lines.log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK, "x");
    assert_int_equal(lines.count, 1); /* held back as any other */
    log_free(lines.log);
    assert_int_equal(lines.count, 2);
}

static void test_long_lines_are_cut(void **state)
{
    (void)state;
    struct lines lines;
    struct log *log = new_log(&lines, 4, 0);
    char text[3000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_line(log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK, "%s", text);
    log_line(log, LOG_LEVEL_WARNING, LOG_FACILITY_ZK, "%s", text);
    assert_int_equal(strlen(lines.list[0].text), 1023);
    log_free(log);
    assert_int_equal(lines.count, 2);
}

/* Without a callback: stderr, and never stdout. */
static void test_default_sink_is_stderr(void **state)
{
    (void)state;
    fflush(stdout);
    int saved_out = dup(1), saved_err = dup(2), out[2], err[2];
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(err), 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    struct log_options options = {.level = 4};
    struct log *log = log_new(&options);
    log_line(log, LOG_LEVEL_WARNING, LOG_FACILITY_MEMBER, "given up");
    log_line(log, LOG_LEVEL_INFO, LOG_FACILITY_MEMBER, "hidden");
    log_free(log);
    fflush(stdout);
    dup2(saved_out, 1);
    dup2(saved_err, 2);
    char text[200] = "";
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    assert_true(read(out[0], text, sizeof text) < 0);
    ssize_t n = read(err[0], text, sizeof text - 1);
    assert_true(n > 0);
    text[n] = '\0';
    assert_string_equal(text, "zkconsumer: member: given up\n");
    for (int i = 0; i < 2; i++) {
        close(out[i]);
        close(err[i]);
    }
    close(saved_out);
    close(saved_err);
}

static void test_without_memory(void **state)
{
    (void)state;
    struct log_options options = {.level = 4};
    alloc_fail_at(0);
    assert_null(log_new(&options));
    assert_true(alloc_fail_stop());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_come_through),
        cmocka_unit_test(test_debug_shows_single_facilities),
        cmocka_unit_test(test_repeated_lines_are_held_back),
        cmocka_unit_test(test_quiet_causes_start_afresh),
        cmocka_unit_test(test_different_lines_are_not_held_back),
        cmocka_unit_test(test_lines_of_one_cause_may_vary),
        cmocka_unit_test(test_many_causes_are_bounded_and_none_is_forgotten),
        cmocka_unit_test(test_callback_may_log),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_default_sink_is_stderr),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
