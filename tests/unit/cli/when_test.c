#include "tests/unit/test.h"
#include "zkconsumer/cli/when.h"

#define REFUSED (-1)

struct when_case {
    const char *text;
    int64_t ms; /* REFUSED */
};

static void test_times(void **state)
{
    (void)state;
    static const struct when_case cases[] = {
        {"0", 0},
        {"1424986400000", 1424986400000},
        {"2015-02-26T21:33:20", 1424986400000},
        {"2015-02-26T21:33:20Z", 1424986400000},
        {"2015-02-26T21:33:20.500", 1424986400500},
        {"2015-02-26T21:33:20.5", 1424986400500},
        {"2015-02-26T21:33:20.123456789Z", 1424986400123},
        {"2015-02-26T22:33:20.500+01", 1424986400500},
        {"2015-02-26T22:33:20.500+0100", 1424986400500},
        {"2015-02-26T23:03:20.500+01:30", 1424986400500},
        {"2015-02-26T20:33:20-01:00", 1424986400000},
        {"1970-01-01T00:00:00", 0},
        {"1970-01-01T00:00:00+01:00", REFUSED}, /* before 1970 */
        {"-1", REFUSED},
        {"", REFUSED},
        {"2015-02-26", REFUSED},
        {"2015-02-26T21:33", REFUSED},
        {"2015-02-26 21:33:20", REFUSED},
        {"2015-02-26T21:33:20.", REFUSED},
        {"2015-02-26T21:33:20.1234567890", REFUSED},
        {"2015-02-26T21:33:20 ", REFUSED},
        {"2015-02-26T21:33:20z", REFUSED},
        {"2015-02-26T21:33:20+", REFUSED},
        {"2015-02-26T21:33:20+1", REFUSED},
        {"2015-02-26T21:33:20+01:", REFUSED},
        {"2015-02-26T21:33:20+01:6", REFUSED},
        {"2015-02-26T21:33:20+01:60", REFUSED},
        {"2015-02-26T21:33:20+24", REFUSED},
        {"2015-02-26T21:33:20+01:00x", REFUSED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t ms = REFUSED;
        if (!when_parse_time(cases[i].text, &ms))
            ms = REFUSED;
        if (ms != cases[i].ms)
            fail_msg("%s: %lld", cases[i].text, (long long)ms);
    }
}

static void test_durations(void **state)
{
    (void)state;
    static const struct when_case cases[] = {
        {"PT0S", 0},
        {"PT1S", 1000},
        {"PT20.345S", 20345},
        {"PT20,3S", 20300},
        {"PT20.S", 20000},
        {"PT0.0009S", 0},
        {"PT15M", 900000},
        {"PT10H", 36000000},
        {"P2D", 172800000},
        {"P2DT3H4M", 183840000},
        {"pt1h30m", 5400000},
        {"+PT1M", 60000},
        {"PT+1M", 60000},
        {"-PT-6H3M", 21420000},
        {"P-1DT25H", 3600000},
        {"PT1H-0.5S", 3599500},
        {"", REFUSED},
        {"P", REFUSED},
        {"PT", REFUSED},
        {"P1DT", REFUSED},
        {"1D", REFUSED},
        {"P1", REFUSED},
        {"P1H", REFUSED},
        {"PT1D", REFUSED},
        {"PT1M1H", REFUSED},
        {"PT1.5M", REFUSED},
        {"PT.5S", REFUSED},
        {"PT1.0123456789S", REFUSED},
        {"PT1S ", REFUSED},
        {"P1W", REFUSED},
        {"PT--1S", REFUSED},
        {"P9223372036854775807D", REFUSED},
        {"P99999999999999999999D", REFUSED},
        {"P106751991167DT0S", 106751991167LL * 86400000},
        {"P106751991167DT100H", REFUSED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t ms = REFUSED;
        if (!when_parse_duration(cases[i].text, &ms))
            ms = REFUSED;
        if (ms != cases[i].ms)
            fail_msg("%s: %lld", cases[i].text, (long long)ms);
    }
    int64_t ms = 0;
    assert_true(when_parse_duration("-PT1.5S", &ms));
    assert_int_equal(ms, -1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_durations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
