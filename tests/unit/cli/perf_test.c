#include "tests/unit/test.h"
#include "zkconsumer/cli/perf.h"
#include <stdlib.h>
#include <time.h>

#define MOMENT 1424986400001 /* 2015-02-26 21:33:20.001 UTC */

static void test_date_formats(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *want; /* NULL: refused */
    } cases[] = {
        {PERF_DATE_FORMAT, "2015-02-26 21:33:20:001"},
        {"HH:mm:ss", "21:33:20"},
        {"dd.MM.yy", "26.02.15"},
        {"d.M.yyyy H:m:s,S", "26.2.2015 21:33:20,1"},
        {"yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "2015-02-26T21:33:20.001Z"},
        {"HH 'o''clock'", "21 o'clock"},
        {"HH''mm", "21'33"},
        {"", NULL},
        {"MMM d", NULL},
        {"EEE", NULL},
        {"HH:mm z", NULL},
        {"yyyyy", NULL},
        {"HH 'open", NULL},
        {"HH:mm:ss:SSS HH:mm:ss:SSS HH:mm:ss:SSS HH:mm:ss:SSS HH:mm:ss:", NULL},
    };
    setenv("TZ", "UTC0", 1);
    tzset();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char got[PERF_TIME_SIZE];
        if (perf_check_date_format(cases[i].pattern) != (cases[i].want != NULL))
            fail_msg("%s: %s", cases[i].pattern, cases[i].want ? "refused" : "taken");
        if (!cases[i].want)
            continue;
        perf_format_time(MOMENT, cases[i].pattern, got);
        assert_string_equal(got, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_date_formats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
