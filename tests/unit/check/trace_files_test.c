#include "study/check/decode.h"
#include "study/check/files.h"
#include "tests/unit/test.h"
#include <unistd.h>
#include <zlib.h>

#define RUN "{\"ev\":\"run\",\"t\":0,\"src\":\"%s\",\"seq\":0,\"schema\":\"rbtrace/1\"}\n"
#define VIRTUAL                                                                                    \
    "{\"ev\":\"run\",\"t\":0,\"src\":\"ctl\",\"seq\":0,\"schema\":\"rbtrace/"                      \
    "1\",\"clock\":\"virtual\"}\n"
#define START(t, m)                                                                                \
    "{\"ev\":\"m_start\",\"t\":" t ",\"src\":\"" m "\",\"seq\":1,\"m\":\"" m "\",\"id\":\"" m      \
    "\",\"topics\":[]}\n"
#define BEGIN(t, m, seq)                                                                           \
    "{\"ev\":\"rb_begin\",\"t\":" t ",\"src\":\"" m "\",\"seq\":" seq ",\"m\":\"" m "\",\"rb\":1}" \
    "\n"
#define END(t, m, seq)                                                                             \
    "{\"ev\":\"end\",\"t\":" t ",\"src\":\"" m "\",\"seq\":" seq ",\"reason\":\"done\"}\n"

static void run_of(const char *m, char *text)
{
    sprintf(text, RUN, m);
}

static char *write_file(const char *text, bool is_gzip, size_t cut)
{
    char *path = strdup("/tmp/zkstudy-trace-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    if (is_gzip) {
        gzFile out = gzdopen(fd, "wb");
        assert_int_equal(gzwrite(out, text, (unsigned)strlen(text)), (int)strlen(text));
        gzclose(out);
    } else {
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        close(fd);
    }
    if (cut)
        assert_int_equal(truncate(path, (off_t)cut), 0);
    return path;
}

/* All events as "type@t:src " */
static void read_all(struct trace_files *f, char *out, size_t size)
{
    const struct trace_event *e;
    *out = 0;
    for (uint64_t gs = 0; (e = trace_files_next(f)); gs++) {
        assert_int_equal(e->gs, gs);
        snprintf(out + strlen(out), size - strlen(out), "%s@%" PRIu64 ":%s%s ",
                 trace_type_name(e->type), e->t_ns, e->src,
                 e->type == TRACE_M_EXIT && e->m_exit.code == TRACE_EXIT_UNKNOWN ? "?" : "");
    }
}

static void test_merged(void **state)
{
    (void)state;
    char one[1024], two[1024], seen[1024];
    run_of("a", one);
    run_of("b", two);
    strcat(one, START("1", "a") BEGIN("5", "a", "2") END("9", "a", "3"));
    strcat(two, START("1", "b") BEGIN("3", "b", "2") END("5", "b", "3"));
    char *paths[] = {write_file(one, false, 0), write_file(two, true, 0)};
    struct trace_files *f;
    struct why why;
    assert_int_equal(trace_files_open((const char *const *)paths, 2, &f, &why), ZKC_OK);
    read_all(f, seen, sizeof seen);
    assert_string_equal(seen, "run@0:a run@0:b m_start@1:a m_start@1:b rb_begin@3:b rb_begin@5:a "
                              "end@5:b end@9:a ");
    assert_int_equal(trace_files_problem_count(f), 0);
    assert_int_equal(trace_files_killed_count(f), 0);
    trace_files_close(f);
    for (int i = 0; i < 2; i++) {
        unlink(paths[i]);
        free(paths[i]);
    }
}

static const struct {
    const char *name, *text;
    size_t cut;
    bool is_gzip;
    const char *events, *problem;
    size_t killed;
} cases[] = {
    {"killed", "R" START("1", "a") BEGIN("4", "a", "2"), 0, false,
     "run@0:a m_start@1:a rb_begin@4:a m_exit@4:a? ", NULL, 1},
    {"a broken line", "R" START("1", "a") "{\"ev\":\"rb_begin\"}\n" END("9", "a", "3"), 0, false,
     "run@0:a m_start@1:a end@9:a ", ":3: rb_begin: \"t\"", 0},
    {"a foreign line",
     "R"
     "hello\n" END("9", "a", "1"),
     0, false, "run@0:a end@9:a ", ":2: expected one JSON object", 0},
    {"an empty line",
     "R"
     "\n" END("9", "a", "1"),
     0, false, "run@0:a end@9:a ", ":2: expected an", 0},
    {"cut in a line", "R" START("1", "a") "{\"ev\":\"rb_b", 0, false,
     "run@0:a m_start@1:a m_exit@1:a? ", NULL, 1},
    {"a type to come",
     "R"
     "{\"ev\":\"co_req\",\"t\":1,\"src\":\"a\",\"seq\":1}\n" END("9", "a", "2"),
     0, false, "run@0:a end@9:a ", NULL, 0},
    {"a simulated run without end", VIRTUAL BEGIN("4", "a", "0"), 0, false,
     "run@0:ctl rb_begin@4:a ", ":3: the trace is cut short", 0},
    {"a simulated run cut in a line", VIRTUAL BEGIN("4", "a", "0") "{\"ev", 0, false,
     "run@0:ctl rb_begin@4:a ", ":3: the file is cut short", 0},
    {"gzip cut", VIRTUAL BEGIN("4", "a", "0") BEGIN("5", "a", "1"), 60, true, "", "cut short", 0},
};

static void test_broken(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[2048] = "", seen[1024];
        if (*cases[i].text == 'R')
            run_of("a", text);
        strcat(text, cases[i].text + (*cases[i].text == 'R'));
        char *path = write_file(text, cases[i].is_gzip, cases[i].cut);
        const char *paths[] = {path};
        struct trace_files *f;
        struct why why;
        enum zkc_err err = trace_files_open(paths, 1, &f, &why);
        if (!*cases[i].events) { /* not even a header */
            assert_int_equal(err, ZKC_ERR_CORRUPT);
            if (!strstr(why.text, cases[i].problem))
                fail_msg("%s: %s", cases[i].name, why.text);
        } else {
            assert_int_equal(err, ZKC_OK);
            read_all(f, seen, sizeof seen);
            if (strcmp(seen, cases[i].events) != 0)
                fail_msg("%s: %s", cases[i].name, seen);
            assert_int_equal(trace_files_killed_count(f), cases[i].killed);
            if (trace_files_problem_count(f) != (cases[i].problem != NULL))
                fail_msg("%s: %zu problems", cases[i].name, trace_files_problem_count(f));
            if (cases[i].problem && !strstr(trace_files_problem(f, 0), cases[i].problem))
                fail_msg("%s: %s", cases[i].name, trace_files_problem(f, 0));
            trace_files_close(f);
        }
        unlink(path);
        free(path);
    }
}

static void test_no_trace(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } none[] = {
        {"", ":1: expected the header"},
        {"hello\n", ":1: expected one JSON object"},
        {BEGIN("1", "a", "0"), ":1: expected the header"},
        {"{\"ev\":\"run\",\"t\":0,\"src\":\"a\",\"seq\":0,\"schema\":\"x\"}\n", "rbtrace/1"}};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        char *path = write_file(none[i].text, false, 0);
        const char *paths[] = {path};
        struct trace_files *f;
        struct why why;
        assert_int_equal(trace_files_open(paths, 1, &f, &why), ZKC_ERR_CORRUPT);
        if (!strstr(why.text, none[i].says))
            fail_msg("%s: %s", none[i].text, why.text);
        unlink(path);
        assert_int_equal(trace_files_open(paths, 1, &f, &why), ZKC_ERR_SYSTEM);
        assert_non_null(strstr(why.text, path));
        free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
