#include "zkconsumer/core/base/rng.h"
#include "tests/unit/test.h"

static void test_the_seed_decides(void **state)
{
    (void)state;
    struct rng a, b, c;
    rng_init(&a, 1234567);
    rng_init(&b, 1234567);
    rng_init(&c, 7654321);
    assert_true(rng_next(&a) == 6457827717110365317u); /* published splitmix64 vector */
    rng_next(&b);
    assert_true(rng_next(&a) == rng_next(&b));
    assert_true(rng_next(&a) != rng_next(&c));
}

static void test_backoff_stays_in_its_bounds(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, 1);
    for (unsigned failures = 0; failures < 80; failures++) {
        int64_t d = failures < 6 ? 50 << failures : 2000;
        if (d > 2000)
            d = 2000;
        for (int i = 0; i < 50; i++) {
            int64_t ms = rng_backoff_ms(&r, failures, 50, 2000);
            assert_true(ms >= d / 2 && ms <= d);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_seed_decides),
        cmocka_unit_test(test_backoff_stays_in_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
