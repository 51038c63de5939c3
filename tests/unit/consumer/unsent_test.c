#include "tests/unit/test.h"
#include "zkconsumer/consumer/unsent.h"

static void test_in_order_and_each_once(void **state)
{
    (void)state;
    struct unsent u = {0};
    uint32_t seq;
    assert_false(unsent_take(&u, &seq));
    for (int round = 0; round < 2; round++) {
        uint32_t first = round ? UINT32_MAX - 1 : 7; /* numbers begin anew after the last */
        for (uint32_t i = 0; i < 4; i++)
            unsent_put(&u, first + i);
        assert_true(unsent_take(&u, &seq));
        assert_int_equal(seq, first);
        unsent_put(&u, first + 4); /* while others wait */
        for (uint32_t i = 1; i < 5; i++) {
            assert_true(unsent_take(&u, &seq));
            assert_int_equal(seq, first + i);
        }
        assert_false(unsent_take(&u, &seq));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_order_and_each_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
