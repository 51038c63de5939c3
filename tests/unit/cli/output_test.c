#include "tests/unit/test.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/stop.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int fds[2];

static int set_up(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    return pipe(fds);
}

static int tear_down(void **state)
{
    (void)state;
    close(fds[0]);
    close(fds[1]);
    return 0;
}

static void test_gathers_until_there_is_enough(void **state)
{
    (void)state;
    struct output o;
    output_init(&o, fds[1], 10);
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    char got[32];
    buf_append_text(&o.buf, "123456789");
    assert_true(output_added(&o));
    assert_int_equal(read(fds[0], got, sizeof got), -1);
    buf_append_text(&o.buf, "0");
    assert_true(output_added(&o));
    assert_int_equal(read(fds[0], got, sizeof got), 10);
    assert_memory_equal(got, "1234567890", 10);
    assert_int_equal(o.buf.len, 0);
    buf_append_text(&o.buf, "rest");
    assert_true(output_flush(&o));
    assert_int_equal(read(fds[0], got, sizeof got), 4);
    assert_int_equal(o.written, 14);
    output_deinit(&o);
}

static void test_unbuffered_writes_at_once(void **state)
{
    (void)state;
    struct output o;
    output_init(&o, fds[1], 0);
    buf_append_text(&o.buf, "x");
    assert_true(output_added(&o));
    assert_int_equal(o.buf.len, 0);
    output_deinit(&o);
}

static void test_a_closed_pipe_is_no_failure(void **state)
{
    (void)state;
    struct output o;
    output_init(&o, fds[1], 0);
    close(fds[0]);
    buf_append_text(&o.buf, "x");
    assert_false(output_added(&o));
    assert_int_equal(o.state, OUTPUT_CLOSED);
    assert_false(output_added(&o)); /* and stays so */
    output_deinit(&o);
}

static void test_a_full_disk_is_a_failure(void **state)
{
    (void)state;
    struct output o;
    int full = open("/dev/full", O_WRONLY);
    output_init(&o, full, 0);
    buf_append_text(&o.buf, "x");
    assert_false(output_added(&o));
    assert_int_equal(o.state, OUTPUT_FAILED);
    assert_int_equal(o.error, ENOSPC);
    assert_int_equal(o.written, 0);
    output_deinit(&o);
    close(full);
}

static void test_a_slow_reader_gets_everything_when_stopping(void **state)
{
    (void)state;
    struct output o;
    output_init(&o, fds[1], SIZE_MAX);
    enum { SIZE = 300 * 1000 };
    for (int i = 0; i < SIZE / 10; i++)
        buf_append_text(&o.buf, "0123456789");
    assert_true(stop_init());
    raise(SIGTERM);
    assert_true(stop_is_requested());
    pid_t reader = fork();
    if (reader == 0) {
        size_t got = 0;
        char chunk[1000];
        close(fds[1]);
        for (ssize_t n; (n = read(fds[0], chunk, sizeof chunk)) > 0;)
            got += (size_t)n;
        _exit(got == SIZE ? 0 : 1);
    }
    assert_true(output_flush(&o));
    close(fds[1]);
    int status = -1;
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    output_deinit(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_gathers_until_there_is_enough, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unbuffered_writes_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_closed_pipe_is_no_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_full_disk_is_a_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_slow_reader_gets_everything_when_stopping, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
