#include "tests/unit/test.h"
#include "zkconsumer/core/base/meter.h"

static int thousandths(struct meter *m, int64_t now_ms)
{
    return (int)(meter_rate(m, now_ms) * 1000 + 0.5);
}

/* The numbers are those of com.yammer.metrics 2.2's EWMA.oneMinuteEWMA(). */
static void test_rate(void **state)
{
    (void)state;
    struct meter m = {0};
    meter_add(&m, 3, 1000);
    assert_int_equal(thousandths(&m, 5999), 0); /* not a tick yet */
    assert_int_equal(thousandths(&m, 6000), 600);
    assert_int_equal(thousandths(&m, 6000 + 60000), 221); /* a minute of silence: e^-1 of it */
    meter_add(&m, 50, 66000);
    assert_int_equal(thousandths(&m, 71000), 1003); /* 0.2207 + 0.07996 * (10 - 0.2207) */
}

static void test_a_long_silence(void **state)
{
    (void)state;
    struct meter m = {0};
    meter_add(&m, 1000000, 0);
    assert_int_equal(thousandths(&m, (int64_t)7 * 24 * 3600 * 1000), 0);
    meter_add(&m, 5, (int64_t)7 * 24 * 3600 * 1000);
    assert_int_equal(thousandths(&m, (int64_t)7 * 24 * 3600 * 1000 + 5000), 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_a_long_silence),
    };
    return cmocka_run_group_tests_name("meter", tests, NULL, NULL);
}
