#include "tests/unit/test.h"
#include "zkconsumer/core/base/histogram.h"

static void test_buckets(void **state)
{
    static const struct {
        int64_t us;
        size_t bucket;
    } cases[] = {
        {-1, 0},        {0, 0},
        {500, 0},       {501, 1},
        {1000, 1},      {1001, 2},
        {60000000, 15}, {60000001, HISTOGRAM_BOUNDS},
        {9999999, 13},  {INT32_MAX, HISTOGRAM_BOUNDS},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct histogram h = {0};
        histogram_add(&h, cases[i].us);
        if (h.buckets[cases[i].bucket] != 1 || h.count != 1)
            fail_msg("%" PRId64 " us is not in bucket %zu", cases[i].us, cases[i].bucket);
    }
}

static void test_json(void **state)
{
    (void)state;
    struct histogram h = {0};
    struct buf out;
    struct json j;
    buf_init(&out, 4096);
    json_init(&j, &out);
    histogram_add(&h, 700);
    histogram_add(&h, 800);
    histogram_add(&h, 70000000);
    histogram_json(&h, &j, NULL);
    assert_string_equal(buf_text(&out), "{\"count\":3,\"sum_us\":70001500,\"max_us\":70000000,"
                                        "\"buckets\":[0,2,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}");
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
