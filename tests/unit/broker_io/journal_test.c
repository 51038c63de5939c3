#include "broker/io/journal.h"
#include "tests/unit/test.h"
#include <unistd.h>

static char folder[] = "/tmp/zkc-journal-XXXXXX";
static char path[64], moved[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/log", folder);
    snprintf(moved, sizeof moved, "%s/log.1", folder);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(path);
    unlink(moved);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* The lines of a file without their times, each ended by '|'. */
static const char *lines(const char *name)
{
    static char out[4096];
    char line[2048];
    size_t len = 0;
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    out[0] = 0;
    while (fgets(line, sizeof line, file)) {
        assert_true(line[0] == '[' && line[24] == ']' && line[20] == ',');
        len += (size_t)snprintf(out + len, sizeof out - len, "%.*s|", (int)strlen(line) - 27,
                                line + 26);
    }
    fclose(file);
    return out;
}

static void test_lines(void **state)
{
    (void)state;
    struct journal *j = journal_new(path, JOURNAL_INFO);
    assert_non_null(j);
    journal_line(j, JOURNAL_ERROR, "an error %d", 1);
    journal_line(j, JOURNAL_DEBUG, "not shown");
    journal_always(j, JOURNAL_INFO, "one");
    journal_always(j, JOURNAL_WARN, "two");
    assert_true(journal_shows(j, JOURNAL_INFO));
    assert_false(journal_shows(j, JOURNAL_DEBUG));
    journal_free(j);
    assert_string_equal(lines(path), "ERROR an error 1|INFO one|WARN two|");
}

static void test_repetition_is_held_back(void **state)
{
    (void)state;
    struct journal *j = journal_new(path, JOURNAL_INFO);
    for (int i = 0; i < 100; i++)
        journal_line(j, JOURNAL_WARN, "number %d", i);
    journal_cause(j, JOURNAL_WARN, "a", "first");
    journal_cause(j, JOURNAL_WARN, "b", "first");
    journal_cause(j, JOURNAL_WARN, "a", "second");
    journal_always(j, JOURNAL_INFO, "x");
    journal_always(j, JOURNAL_INFO, "x");
    journal_free(j); /* says what it held back, in any order of causes */
    const char *text = lines(path);
    assert_memory_equal(text, "WARN number 0|WARN first|WARN first|INFO x|INFO x|", 50);
    assert_non_null(strstr(text, "WARN number 99 [and 99 more like it]|"));
    assert_non_null(strstr(text, "WARN second [and 1 more like it]|"));
}

static void test_reopen(void **state)
{
    (void)state;
    struct journal *j = journal_new(path, JOURNAL_INFO);
    journal_always(j, JOURNAL_INFO, "before");
    assert_int_equal(rename(path, moved), 0);
    journal_always(j, JOURNAL_INFO, "still there");
    journal_reopen(j);
    journal_always(j, JOURNAL_INFO, "after");
    journal_free(j);
    assert_string_equal(lines(moved), "INFO before|INFO still there|");
    assert_string_equal(lines(path), "INFO after|");
}

static void test_a_file_that_cannot_be_opened(void **state)
{
    (void)state;
    assert_null(journal_new("/nowhere/log", JOURNAL_INFO));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_lines, remove_files),
        cmocka_unit_test_teardown(test_repetition_is_held_back, remove_files),
        cmocka_unit_test_teardown(test_reopen, remove_files),
        cmocka_unit_test(test_a_file_that_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
