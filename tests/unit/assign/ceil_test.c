#include "tests/unit/test.h"
#include "zkconsumer/core/assign/ceil.h"

static const struct {
    const char *name;
    size_t partitions, threads, thread, want_count;
    size_t want_first; /* looked at when something is wanted */
} cases[] = {
    {"one thread", 3, 1, 0, 3, 0},
    {"even split", 6, 3, 1, 2, 2},
    {"rounded up", 7, 3, 0, 3, 0},
    {"second of them", 7, 3, 1, 3, 3},
    {"the last gets what is left", 7, 3, 2, 1, 6},
    {"where range would give one", 5, 4, 3, 0, 0},
    {"the last with something", 5, 4, 2, 1, 4},
    {"more threads than work", 2, 3, 2, 0, 0},
    {"nothing to share", 0, 3, 1, 0, 0},
    {"far behind the end", 10, 1000, 999, 0, 0},
};

static void test_ceil(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct assign_run got = assign_ceil(cases[i].partitions, cases[i].threads, cases[i].thread);
        if (got.count != cases[i].want_count || (got.count && got.first != cases[i].want_first))
            fail_msg("%s: got first=%zu count=%zu", cases[i].name, got.first, got.count);
    }
}

/* All small inputs: full shares of N, then one that is not full, then nothing; no gap, no overlap,
 * everything covered; N is the smallest share that can do it. */
static void test_invariants(void **state)
{
    (void)state;
    for (size_t partitions = 0; partitions <= 40; partitions++)
        for (size_t threads = 1; threads <= 40; threads++) {
            size_t next = 0;
            size_t share = assign_ceil(partitions, threads, 0).count;
            assert_true(share * threads >= partitions);
            assert_true(!share || (share - 1) * threads < partitions);
            for (size_t i = 0; i < threads; i++) {
                struct assign_run r = assign_ceil(partitions, threads, i);
                size_t left = partitions - next;
                if (r.count != (share < left ? share : left) || (r.count && r.first != next))
                    fail_msg("%zu partitions, %zu threads, thread %zu: first=%zu count=%zu",
                             partitions, threads, i, r.first, r.count);
                next += r.count;
            }
            assert_int_equal(next, partitions);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ceil),
        cmocka_unit_test(test_invariants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
