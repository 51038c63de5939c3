#include "study/check/names.h"
#include "study/check/offsets.h"
#include "tests/unit/test.h"

/* Against a plain array: many small runs, in an order that touches, joins and repeats. */
static void test_as_an_array(void **state)
{
    (void)state;
    bool is_in[200] = {false};
    struct offsets s = {0};
    uint64_t x = 7;
    for (int step = 0; step < 2000; step++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        int64_t first = (int64_t)(x >> 33) % 190, last = first + (int64_t)(x >> 50) % 4;
        uint64_t twice, want = 0;
        for (int64_t i = first; i <= last; i++)
            want += is_in[i];
        assert_true(offsets_add(&s, first, last, &twice));
        assert_int_equal(twice, want);
        for (int64_t i = first; i <= last; i++)
            is_in[i] = true;
        int64_t missing = first;
        while (missing < 200 && is_in[missing])
            missing++;
        assert_int_equal(offsets_missing(&s, first), missing);
        uint64_t all = 0;
        for (int i = 0; i < 200; i++)
            all += is_in[i];
        assert_int_equal(offsets_count(&s, 0, 199), all);
        for (size_t i = 1; i < s.count; i++)
            assert_true(s.runs[i].first > s.runs[i - 1].last + 1);
        if (step % 100 == 99) {
            memset(is_in, 0, sizeof is_in);
            offsets_deinit(&s);
        }
    }
    offsets_deinit(&s);
}

static void test_nothing(void **state)
{
    (void)state;
    struct offsets s = {0};
    assert_int_equal(offsets_count(&s, 0, 100), 0);
    assert_int_equal(offsets_count(&s, 5, 4), 0);
    assert_int_equal(offsets_missing(&s, 17), 17);
}

static void test_names(void **state)
{
    (void)state;
    struct names n;
    names_init(&n, 1000);
    char text[16];
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "t%u", i / 10);
        assert_int_equal(names_add(&n, text, i % 10), i);
        assert_int_equal(names_add(&n, text, i % 10), i);
    }
    assert_int_equal(names_add(&n, "one more", 0), NAMES_NONE);
    names_drop(&n);
    assert_int_equal(names_find(&n, "t99", 9), NAMES_NONE);
    assert_int_equal(names_find(&n, "t99", 8), 998);
    assert_int_equal(names_find(&n, "t99", 10), NAMES_NONE);
    names_deinit(&n);
    assert_int_equal(names_find(&n, "t1", 1), NAMES_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_an_array),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
