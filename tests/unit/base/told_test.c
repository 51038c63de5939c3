#include "tests/unit/test.h"
#include "zkconsumer/core/base/told.h"

#define QUIET_MS 1000

static void test_once_for_each_cause(void **state)
{
    (void)state;
    struct told t = {0};
    assert_true(told_is_news(&t, 7));
    assert_false(told_is_news(&t, 7));
    assert_true(told_is_news(&t, 8));
    assert_true(told_is_news(&t, 7)); /* it has changed, and changed back */
    told_over(&t);
    assert_true(told_is_news(&t, 7));
    assert_int_equal(told_hash("refused"), told_hash("refused"));
    assert_int_not_equal(told_hash("refused"), told_hash("refuser"));
    assert_int_not_equal(told_hash(""), 0);
}

static void test_many(void **state)
{
    (void)state;
    struct told_causes t = {0};
    for (int64_t at = 5000; at < 9000; at += QUIET_MS - 1) { /* each goes on, in turn */
        assert_int_equal(told_causes_is_news(&t, 7, at, QUIET_MS), at == 5000);
        assert_int_equal(told_causes_is_news(&t, 8, at, QUIET_MS), at == 5000);
    }
    told_causes_over(&t, 7);
    told_causes_over(&t, 9); /* of which nothing is known */
    assert_true(told_causes_is_news(&t, 7, 8500, QUIET_MS));
    assert_false(told_causes_is_news(&t, 8, 8500, QUIET_MS));
    assert_true(told_causes_is_news(&t, 8, 8500 + QUIET_MS, QUIET_MS)); /* quiet: it was over */
}

static void test_bounded(void **state)
{
    (void)state;
    struct told_causes t = {0};
    for (int round = 0; round < 3; round++)
        for (uint64_t cause = 1; cause <= 400; cause++) {
            bool is_news = told_causes_is_news(&t, cause, 5000 + round * 10, QUIET_MS);
            assert_int_equal(is_news, round == 0 && cause <= TOLD_CAUSES_MAX);
        }
    told_causes_over(&t, 3);
    assert_true(told_causes_is_news(&t, 400, 5100, QUIET_MS)); /* there is room */
    assert_false(told_causes_is_news(&t, 3, 5100, QUIET_MS));
    assert_true(told_causes_is_news(&t, 3, 7000, QUIET_MS)); /* in the place of one that is over */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once_for_each_cause),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
