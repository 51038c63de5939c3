#include "tests/unit/test.h"
#include "zkconsumer/core/assign/range.h"

static const struct {
    const char *name;
    size_t partitions, threads, thread;
    struct assign_run want;
} cases[] = {
    {"one thread", 3, 1, 0, {0, 3}},
    {"even split", 6, 3, 1, {2, 2}},
    {"first thread gets extra", 7, 3, 0, {0, 3}},
    {"later threads shift", 7, 3, 1, {3, 2}},
    {"last thread", 7, 3, 2, {5, 2}},
    {"more threads than work", 2, 3, 2, {2, 0}},
    {"nothing to share", 0, 3, 1, {0, 0}},
};

static void test_range(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct assign_run got =
            assign_range(cases[i].partitions, cases[i].threads, cases[i].thread);
        if (got.first != cases[i].want.first || got.count != cases[i].want.count)
            fail_msg("%s: got first=%zu count=%zu", cases[i].name, got.first, got.count);
    }
}

/* All small inputs: the runs follow each other without a gap, cover everything, never grow from one
 * thread to the next, and differ by one at most. */
static void test_invariants(void **state)
{
    (void)state;
    for (size_t partitions = 0; partitions <= 40; partitions++)
        for (size_t threads = 1; threads <= 40; threads++) {
            size_t next = 0;
            size_t most = assign_range(partitions, threads, 0).count;
            size_t previous = most;
            for (size_t i = 0; i < threads; i++) {
                struct assign_run r = assign_range(partitions, threads, i);
                if (r.first != next || r.count > previous || r.count + 1 < most)
                    fail_msg("%zu partitions, %zu threads, thread %zu: first=%zu count=%zu",
                             partitions, threads, i, r.first, r.count);
                next += r.count;
                previous = r.count;
            }
            assert_int_equal(next, partitions);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_invariants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
