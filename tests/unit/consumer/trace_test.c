#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/consumer/trace.h"
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t now_ns;

static int64_t clock_ns(void)
{
    return now_ns;
}

struct failures {
    unsigned count;
    char text[600];
};

static void on_failed(const char *text, void *user)
{
    struct failures *f = user;
    f->count++;
    snprintf(f->text, sizeof f->text, "%s", text);
}

static struct trace_options options_of(const char *path, struct failures *failures)
{
    *failures = (struct failures){0};
    now_ns = 5000000000;
    return (struct trace_options){.path = path,
                                  .source = "m1",
                                  .level = 1,
                                  .origin_ns = 1000000000,
                                  .now_ns = clock_ns,
                                  .on_failed = on_failed,
                                  .user = failures};
}

static struct trace *open_trace(const char *path, struct failures *failures)
{
    struct trace_options options = options_of(path, failures);
    struct trace *t;
    char why[400] = "";
    if (trace_open(&options, &t, why, sizeof why))
        fail_msg("%s", why);
    return t;
}

static void new_path(char path[64])
{
    snprintf(path, 64, "/tmp/zkc-trace-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "old\n", 4), 4); /* is to go */
    close(fd);
}

/* Each line as an object, in a list. A line that is not whole and valid fails the test. */
static json_t *read_lines(const char *path)
{
    json_t *list = json_array();
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    while ((len = getline(&line, &size, file)) > 0) {
        json_error_t error;
        json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &error);
        if (!object || line[len - 1] != '\n')
            fail_msg("line %zu: %s: %s", json_array_size(list), error.text, line);
        json_array_append_new(list, object);
    }
    free(line);
    fclose(file);
    return list;
}

static const char *text_of(json_t *lines, size_t i, const char *key)
{
    return json_string_value(json_object_get(json_array_get(lines, i), key));
}

static int64_t int_of(json_t *lines, size_t i, const char *key)
{
    json_t *value = json_object_get(json_array_get(lines, i), key);
    if (!json_is_integer(value))
        fail_msg("line %zu: no integer %s", i, key);
    return json_integer_value(value);
}

static void write_claim(struct trace *t, int64_t number)
{
    struct json *j = trace_begin(t, TRACE_ATTEMPTS, "claim");
    assert_non_null(j);
    json_text(j, "p", "t/1");
    json_int(j, "rb", number);
    trace_end(t);
}

static void test_a_whole_trace(void **state)
{
    (void)state;
    char path[64];
    new_path(path);
    struct failures failures;
    struct trace *t = open_trace(path, &failures);
    struct json *j = trace_begin_header(t);
    json_text(j, "mode", "zookeeper:compat");
    trace_end(t);
    now_ns += 7;
    write_claim(t, 1);
    assert_null(trace_begin(t, TRACE_OPERATIONS, "zk_op")); /* not at this level */
    j = trace_begin_at(t, TRACE_STATES, "own_begin", 4000000000);
    json_text(j, "p", "t\"/\xff");
    trace_end(t);
    now_ns += 3000000000;
    trace_close(t, "done");
    assert_int_equal(failures.count, 0);

    json_t *lines = read_lines(path);
    assert_int_equal(json_array_size(lines), 4);
    static const char *const evs[] = {"run", "claim", "own_begin", "end"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(text_of(lines, i, "ev"), evs[i]);
        assert_string_equal(text_of(lines, i, "src"), "m1");
        assert_int_equal(int_of(lines, i, "seq"), i);
    }
    assert_string_equal(text_of(lines, 0, "schema"), "rbtrace/1");
    assert_string_equal(text_of(lines, 0, "clock"), "monotonic");
    assert_string_equal(text_of(lines, 0, "mode"), "zookeeper:compat");
    assert_int_equal(int_of(lines, 0, "level"), 1);
    assert_int_equal(int_of(lines, 0, "t"), 4000000000);
    assert_true(int_of(lines, 0, "wall0") > INT64_C(1400000000) * 1000000000);
    assert_int_equal(int_of(lines, 1, "t"), 4000000007);
    assert_int_equal(int_of(lines, 1, "rb"), 1);
    assert_int_equal(int_of(lines, 2, "t"), 3000000000);
    assert_string_equal(text_of(lines, 2, "p"), "t\"/\xef\xbf\xbd");
    assert_string_equal(text_of(lines, 3, "reason"), "done");
    assert_int_equal(int_of(lines, 3, "wall_s"), 3);
    assert_int_equal(int_of(lines, 3, "events"), 3);
    assert_int_equal(int_of(lines, 3, "drops"), 0);
    json_decref(lines);
    unlink(path);
}

static void test_no_trace_is_no_work(void **state)
{
    (void)state;
    assert_null(trace_begin(NULL, TRACE_STATES, "x"));
    assert_null(trace_begin_at(NULL, TRACE_STATES, "x", 0));
    assert_null(trace_begin_header(NULL));
    trace_dropped(NULL, 1);
    trace_flush(NULL);
    trace_close(NULL, "done");
}

static void test_events_are_in_the_file_after_a_flush(void **state)
{
    (void)state;
    char path[64];
    new_path(path);
    struct failures failures;
    struct trace *t = open_trace(path, &failures);
    write_claim(t, 1);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 0); /* the old contents are gone */
    trace_flush(t);
    trace_flush(t);
    json_t *lines = read_lines(path);
    assert_int_equal(json_array_size(lines), 1);
    json_decref(lines);
    trace_close(t, "done");
    unlink(path);
}

static void test_many_events_are_written_as_they_come(void **state)
{
    (void)state;
    char path[64];
    new_path(path);
    struct failures failures;
    struct trace *t = open_trace(path, &failures);
    for (int i = 0; i < 5000; i++)
        write_claim(t, i);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 100000);
    trace_close(t, "done");
    json_t *lines = read_lines(path);
    assert_int_equal(json_array_size(lines), 5001);
    assert_int_equal(int_of(lines, 4999, "rb"), 4999);
    assert_int_equal(int_of(lines, 5000, "events"), 5000);
    json_decref(lines);
    unlink(path);
}

static void test_full_disk_is_reported_once(void **state)
{
    (void)state;
    struct failures failures;
    struct trace *t = open_trace("/dev/full", &failures);
    write_claim(t, 1);
    assert_int_equal(failures.count, 0);
    trace_flush(t);
    assert_int_equal(failures.count, 1);
    assert_non_null(strstr(failures.text, "/dev/full: No space left on device"));
    for (int i = 0; i < 3000; i++)
        write_claim(t, i);
    trace_flush(t);
    trace_close(t, "done");
    assert_int_equal(failures.count, 1);
}

/* A disk that is full in the middle of a line, and later has room again. */
static void test_half_lines_are_taken_back(void **state)
{
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    char path[64];
    new_path(path);
    struct failures failures;
    struct trace *t = open_trace(path, &failures);
    write_claim(t, 1);
    trace_flush(t);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);

    struct rlimit before, full;
    getrlimit(RLIMIT_FSIZE, &before);
    full = before;
    full.rlim_cur = (rlim_t)st.st_size * 2 + 10;
    setrlimit(RLIMIT_FSIZE, &full);
    write_claim(t, 2); /* fits */
    write_claim(t, 3); /* a part of it does */
    write_claim(t, 4);
    trace_flush(t);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(failures.count, 1);
    json_t *lines = read_lines(path); /* each is whole */
    assert_int_equal(json_array_size(lines), 2);
    json_decref(lines);

    write_claim(t, 5);
    trace_dropped(t, 10);
    trace_close(t, "done");
    assert_int_equal(failures.count, 1);
    lines = read_lines(path);
    assert_int_equal(json_array_size(lines), 4);
    assert_int_equal(int_of(lines, 1, "rb"), 2);
    assert_int_equal(int_of(lines, 2, "rb"), 5);
    assert_int_equal(int_of(lines, 2, "seq"), 4); /* the gap shows what is missing */
    assert_int_equal(int_of(lines, 3, "events"), 3);
    assert_int_equal(int_of(lines, 3, "drops"), 12);
    json_decref(lines);
    unlink(path);
}

static void test_event_that_is_too_large_is_dropped_whole(void **state)
{
    (void)state;
    char path[64];
    new_path(path);
    struct failures failures;
    struct trace *t = open_trace(path, &failures);
    struct json *j = trace_begin(t, TRACE_STATES, "view");
    json_list_begin(j, "plist");
    for (int i = 0; i < 200000; i++)
        json_textf(j, NULL, "topic/%d", i);
    json_list_end(j);
    trace_end(t);
    write_claim(t, 1);
    trace_close(t, "done");
    json_t *lines = read_lines(path);
    assert_int_equal(json_array_size(lines), 2);
    assert_int_equal(int_of(lines, 0, "seq"), 0);
    assert_int_equal(int_of(lines, 1, "drops"), 1);
    json_decref(lines);
    unlink(path);
}

static const struct open_case {
    const char *name, *path, *why;
} open_cases[] = {
    {"no folder", "/nonexistent/trace", "No such file or directory"},
    {"a folder", "/tmp", "Is a directory"},
};

static void test_files_that_cannot_be_written(void **state)
{
    (void)state;
    struct failures failures;
    for (const struct open_case *c = open_cases; c < open_cases + ARRAY_LEN(open_cases); c++) {
        struct trace_options options = options_of(c->path, &failures);
        struct trace *t;
        char why[400] = "";
        if (trace_open(&options, &t, why, sizeof why) != ZKC_ERR_SYSTEM || !strstr(why, c->why))
            fail_msg("%s: %s", c->name, why);
    }
}

static void test_pipes_are_refused(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/zkc-fifo-%d", (int)getpid());
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    struct failures failures;
    struct trace_options options = options_of(path, &failures);
    struct trace *t;
    char why[400] = "";
    assert_int_equal(trace_open(&options, &t, why, sizeof why), ZKC_ERR_SYSTEM);
    assert_non_null(strstr(why, "pipe"));
    close(reader);
    unlink(path);
}

static void test_one_file_for_one_trace(void **state)
{
    (void)state;
    char path[64];
    new_path(path);
    struct failures failures;
    struct trace *first = open_trace(path, &failures);
    write_claim(first, 1);
    trace_flush(first);
    struct trace_options options = options_of(path, &failures);
    struct trace *second;
    char why[400] = "";
    assert_int_equal(trace_open(&options, &second, why, sizeof why), ZKC_ERR_SYSTEM);
    assert_non_null(strstr(why, "another consumer"));
    trace_close(first, "done");
    json_t *lines = read_lines(path); /* the second has not spoilt the first's */
    assert_int_equal(json_array_size(lines), 2);
    json_decref(lines);
    second = open_trace(path, &failures); /* free again */
    trace_close(second, "done");
    unlink(path);
}

static void test_without_memory(void **state)
{
    (void)state;
    char path[64];
    new_path(path);
    struct failures failures;
    struct trace_options options = options_of(path, &failures);
    enum zkc_err err = ZKC_ERR_NOMEM;
    for (size_t n = 0; err; n++) {
        struct trace *t = NULL;
        alloc_fail_at(n);
        err = trace_open(&options, &t, NULL, 0);
        bool is_failed = alloc_fail_stop();
        if (err != (is_failed ? ZKC_ERR_NOMEM : ZKC_OK))
            fail_msg("allocation %zu: %s", n, zkc_err_name(err));
        trace_close(t, "done");
    }
    unlink(path);
}

static void test_events_without_memory_are_counted(void **state)
{
    (void)state;
    char path[64];
    new_path(path);
    struct failures failures;
    struct trace *t = open_trace(path, &failures);
    alloc_fail_at(0);
    write_claim(t, 1); /* no memory to build it */
    assert_true(alloc_fail_stop());
    alloc_fail_at(1);
    write_claim(t, 2); /* none to keep it */
    assert_true(alloc_fail_stop());
    write_claim(t, 3);
    trace_close(t, "done");
    json_t *lines = read_lines(path);
    assert_int_equal(json_array_size(lines), 2);
    assert_int_equal(int_of(lines, 0, "rb"), 3);
    assert_int_equal(int_of(lines, 1, "drops"), 2);
    json_decref(lines);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_trace),
        cmocka_unit_test(test_no_trace_is_no_work),
        cmocka_unit_test(test_events_are_in_the_file_after_a_flush),
        cmocka_unit_test(test_many_events_are_written_as_they_come),
        cmocka_unit_test(test_full_disk_is_reported_once),
        cmocka_unit_test(test_half_lines_are_taken_back),
        cmocka_unit_test(test_event_that_is_too_large_is_dropped_whole),
        cmocka_unit_test(test_files_that_cannot_be_written),
        cmocka_unit_test(test_pipes_are_refused),
        cmocka_unit_test(test_one_file_for_one_trace),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_events_without_memory_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
