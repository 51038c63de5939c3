#include "tests/unit/test.h"
#include "zkconsumer/core/base/repeats.h"

static struct repeats_answer add(struct repeats *r, int64_t now_ms, unsigned tag, const char *cause,
                                 const char *text)
{
    struct repeats_line line = {
        .level = 4, .tag = tag, .cause = cause, .text = text, .now_ms = now_ms};
    struct repeats_answer answer;
    repeats_add(r, &line, &answer);
    return answer;
}

static void test_one_a_second(void **state)
{
    (void)state;
    static const struct {
        int64_t now_ms;
        bool shows;
        unsigned before;
        int64_t before_ms;
    } steps[] = {
        {5000, true, 0, 0},  {5001, false, 0, 0},   {5999, false, 0, 0},    {6000, true, 2, 1000},
        {6001, false, 0, 0}, {9001, true, 1, 3001}, {12000, true, 0, 2999},
    };
    struct repeats r = {0};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct repeats_answer a = add(&r, steps[i].now_ms, 0, "c", "text");
        if (a.shows != steps[i].shows || a.before != steps[i].before ||
            a.before_ms != steps[i].before_ms || a.pushed_out.count)
            fail_msg("step %zu: shows %d, %u before in %" PRId64 " ms", i, a.shows, a.before,
                     a.before_ms);
    }
    struct repeats_held held;
    size_t at = 0;
    assert_false(repeats_take_held(&r, &at, &held));
}

static void test_causes_and_tags_are_apart(void **state)
{
    (void)state;
    struct repeats r = {0};
    assert_true(add(&r, 1, 0, "a", "x").shows);
    assert_true(add(&r, 1, 0, "b", "x").shows);
    assert_true(add(&r, 1, 1, "a", "x").shows);
    assert_false(add(&r, 2, 0, "a", "first").shows);
    assert_false(add(&r, 2, 0, "a", "newest").shows);
    assert_false(add(&r, 2, 1, "a", "other").shows);
    struct repeats_held held;
    size_t at = 0;
    unsigned count = 0;
    while (repeats_take_held(&r, &at, &held)) {
        count++;
        assert_string_equal(held.text, held.tag ? "other" : "newest");
        assert_int_equal(held.count, held.tag ? 1 : 2);
        assert_int_equal(held.level, 4);
    }
    assert_int_equal(count, 2);
}

static void test_the_oldest_is_pushed_out(void **state)
{
    (void)state;
    struct repeats r = {0};
    char cause[16];
    for (int i = 0; i < REPEATS_CAUSES_MAX; i++) {
        snprintf(cause, sizeof cause, "cause %d", i);
        assert_true(add(&r, 100 + i, 0, cause, cause).shows);
    }
    assert_false(add(&r, 200, 0, "cause 0", "held").shows);
    struct repeats_answer a = add(&r, 300, 0, "new", "new");
    assert_true(a.shows);
    assert_int_equal(a.pushed_out.count, 1);
    assert_string_equal(a.pushed_out.text, "held");
    a = add(&r, 301, 0, "newer", "newer"); /* cause 1 had nothing to say */
    assert_true(a.shows);
    assert_int_equal(a.pushed_out.count, 0);
    assert_false(add(&r, 302, 0, "new", "new").shows);
    assert_true(add(&r, 303, 0, "cause 0", "again").shows); /* forgotten */
}

static void test_long_texts_are_cut(void **state)
{
    (void)state;
    struct repeats r = {0};
    char text[3 * REPEATS_TEXT_SIZE];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    add(&r, 1, 0, text, text);
    add(&r, 1, 0, text, text);
    struct repeats_held held;
    size_t at = 0;
    assert_true(repeats_take_held(&r, &at, &held));
    assert_int_equal(strlen(held.text), REPEATS_TEXT_SIZE - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_a_second),
        cmocka_unit_test(test_causes_and_tags_are_apart),
        cmocka_unit_test(test_the_oldest_is_pushed_out),
        cmocka_unit_test(test_long_texts_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
