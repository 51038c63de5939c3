/* Long polls: stories, and random runs against a plain list of who waits for what. */
#include "broker/core/fetch_waiters.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/base/rng.h"

static void test_due_at_once(void **state)
{
    (void)state;
    static const struct {
        int32_t max_wait_ms, min_bytes;
        size_t partitions;
        uint64_t readable;
        bool any_error, want;
    } cases[] = {
        {500, 1, 1, 0, false, false},    {500, 1, 1, 1, false, true},
        {500, 100, 2, 99, false, false}, {500, 100, 2, 100, false, true},
        {0, 1, 1, 0, false, true},       {-1, 1, 1, 0, false, true},
        {500, 0, 1, 0, false, true},     {500, -5, 1, 0, false, true},
        {500, 1, 0, 0, false, true},     {500, 1, 1, 0, true, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (fetch_is_due(cases[i].max_wait_ms, cases[i].min_bytes, cases[i].partitions,
                         cases[i].readable, cases[i].any_error) != cases[i].want)
            fail_msg("case %zu", i);
}

static struct fetch_waiter *wait(struct fetch_waiters *w, int64_t deadline_ms, int32_t min_bytes,
                                 const struct fetch_interest *interests, size_t count)
{
    struct fetch_waiter *waiter = malloc(fetch_waiter_size(count));
    assert_non_null(waiter);
    assert_int_equal(fetch_wait(w, waiter, deadline_ms, min_bytes, interests, count), ZKC_OK);
    return waiter;
}

static void test_bytes_arrive(void **state)
{
    (void)state;
    struct fetch_waiters w;
    struct fetch_watch_list a = {NULL}, b = {NULL};
    fetch_waiters_init(&w);
    const struct fetch_interest both[] = {{&a, 10, 100}, {&b, 0, 50}};
    struct fetch_waiter *one = wait(&w, 900, 100, both, 2);
    assert_int_equal(fetch_deadline_ms(&w), 900);
    fetch_appended(&w, &b, 49);
    assert_null(fetch_next_due(&w, 0));
    fetch_appended(&w, &b, 1000); /* no more than 50 count */
    assert_null(fetch_next_due(&w, 899));
    fetch_appended(&w, &a, 39);
    assert_null(fetch_next_due(&w, 899));
    fetch_appended(&w, &a, 1);
    assert_int_equal(fetch_deadline_ms(&w), INT64_MIN);
    assert_ptr_equal(fetch_next_due(&w, 0), one);
    assert_null(fetch_next_due(&w, INT64_MAX));
    assert_null(a.first);
    assert_null(b.first);
    assert_int_equal(fetch_deadline_ms(&w), INT64_MAX);
    free(one);
    fetch_waiters_deinit(&w);
}

static void test_time_passes(void **state)
{
    (void)state;
    struct fetch_waiters w;
    struct fetch_watch_list a = {NULL};
    fetch_waiters_init(&w);
    const struct fetch_interest interest = {&a, 0, 100};
    struct fetch_waiter *late = wait(&w, 300, 1, &interest, 1);
    struct fetch_waiter *early = wait(&w, 100, 1, &interest, 1);
    assert_int_equal(fetch_deadline_ms(&w), 100);
    assert_null(fetch_next_due(&w, 99));
    assert_ptr_equal(fetch_next_due(&w, 100), early);
    assert_null(fetch_next_due(&w, 100));
    assert_ptr_equal(fetch_next_due(&w, 1000), late);
    free(early);
    free(late);
    fetch_waiters_deinit(&w);
}

/* One partition asked twice by the same fetch: its watches lie in one list. */
static void test_asked_twice(void **state)
{
    (void)state;
    struct fetch_waiters w;
    struct fetch_watch_list a = {NULL};
    fetch_waiters_init(&w);
    const struct fetch_interest twice[] = {{&a, 0, 100}, {&a, 0, 100}};
    const struct fetch_interest once = {&a, 0, 100};
    struct fetch_waiter *other = wait(&w, 500, 11, &once, 1);
    struct fetch_waiter *one = wait(&w, 500, 20, twice, 2);
    fetch_appended(&w, &a, 10);
    assert_ptr_equal(fetch_next_due(&w, 0), one);
    assert_null(fetch_next_due(&w, 0));
    fetch_cancel(&w, other);
    assert_null(a.first);
    free(one);
    free(other);
    fetch_waiters_deinit(&w);
}

static void test_partition_changes(void **state)
{
    (void)state;
    struct fetch_waiters w;
    struct fetch_watch_list a = {NULL}, b = {NULL};
    fetch_waiters_init(&w);
    const struct fetch_interest on_a = {&a, 0, 9}, on_b = {&b, 0, 9};
    struct fetch_waiter *one = wait(&w, 500, 1, &on_a, 1);
    struct fetch_waiter *two = wait(&w, 500, 1, &on_b, 1);
    struct fetch_waiter *three = wait(&w, 500, 1, &on_a, 1);
    fetch_partition_changed(&w, &a);
    fetch_cancel(&w, three); /* its connection went before it was answered */
    assert_ptr_equal(fetch_next_due(&w, 0), one);
    assert_null(fetch_next_due(&w, 0));
    fetch_cancel(&w, two);
    assert_int_equal(fetch_deadline_ms(&w), INT64_MAX);
    free(one);
    free(two);
    free(three);
    fetch_waiters_deinit(&w);
}

/* What was there already counts: it is due without having waited. */
static void test_enough_is_there(void **state)
{
    (void)state;
    struct fetch_waiters w;
    struct fetch_watch_list a = {NULL};
    fetch_waiters_init(&w);
    const struct fetch_interest interest = {&a, 200, 100};
    struct fetch_waiter *one = wait(&w, 500, 100, &interest, 1);
    assert_ptr_equal(fetch_next_due(&w, 0), one);
    assert_null(a.first);
    free(one);
    fetch_waiters_deinit(&w);
}

static enum zkc_err wait_once(const void *input)
{
    (void)input;
    struct fetch_waiters w;
    struct fetch_watch_list a = {NULL};
    union {
        struct fetch_waiter waiter;
        uint8_t bytes[256];
    } memory;
    assert_true(fetch_waiter_size(1) <= sizeof memory);
    fetch_waiters_init(&w);
    const struct fetch_interest interest = {&a, 0, 100};
    enum zkc_err err = fetch_wait(&w, &memory.waiter, 10, 1, &interest, 1);
    if (!err)
        fetch_cancel(&w, &memory.waiter);
    assert_null(a.first);
    fetch_waiters_deinit(&w);
    return err;
}

static void test_without_memory(void **state)
{
    (void)state;
    alloc_fail_each(wait_once, NULL);
}

/* ---- Random ---- */

#define PARTITIONS 6
#define WAITERS    40

struct plain {
    struct fetch_waiter *waiter; /* NULL: none */
    int64_t deadline_ms, min_bytes;
    size_t count;
    int partition[3];
    uint32_t bytes[3], bytes_max[3];
    bool changed;
};

static bool is_due(const struct plain *p, int64_t now_ms)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->count; i++)
        sum += p->bytes[i] < p->bytes_max[i] ? p->bytes[i] : p->bytes_max[i];
    return p->changed || sum >= (uint64_t)p->min_bytes || p->deadline_ms <= now_ms;
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct rng rng;
        struct fetch_waiters w;
        struct fetch_watch_list lists[PARTITIONS] = {{NULL}};
        struct plain plain[WAITERS];
        memset(plain, 0, sizeof plain);
        int64_t now_ms = 0;
        rng_init(&rng, seed);
        fetch_waiters_init(&w);
        for (int step = 0; step < 600; step++) {
            struct plain *p = &plain[rng_below(&rng, WAITERS)];
            int k = (int)rng_below(&rng, PARTITIONS);
            switch (rng_below(&rng, 6)) {
            case 0:
            case 1:
                if (p->waiter)
                    break;
                *p = (struct plain){.deadline_ms = now_ms + 1 + (int64_t)rng_below(&rng, 200),
                                    .min_bytes = 1 + (int64_t)rng_below(&rng, 100),
                                    .count = 1 + rng_below(&rng, 3)};
                struct fetch_interest interests[3];
                for (size_t i = 0; i < p->count; i++) {
                    p->partition[i] = (int)rng_below(&rng, PARTITIONS);
                    p->bytes_max[i] = (uint32_t)rng_below(&rng, 80);
                    interests[i] =
                        (struct fetch_interest){&lists[p->partition[i]], 0, p->bytes_max[i]};
                }
                p->waiter = wait(&w, p->deadline_ms, (int32_t)p->min_bytes, interests, p->count);
                break;
            case 2: {
                uint32_t n = (uint32_t)rng_below(&rng, 60);
                fetch_appended(&w, &lists[k], n);
                for (int i = 0; i < WAITERS; i++)
                    for (size_t j = 0; plain[i].waiter && j < plain[i].count; j++)
                        if (plain[i].partition[j] == k)
                            plain[i].bytes[j] += n;
                break;
            }
            case 3:
                if (rng_below(&rng, 4))
                    break;
                fetch_partition_changed(&w, &lists[k]);
                for (int i = 0; i < WAITERS; i++)
                    for (size_t j = 0; j < plain[i].count; j++)
                        plain[i].changed |= plain[i].partition[j] == k;
                break;
            case 4:
                if (p->waiter) {
                    fetch_cancel(&w, p->waiter);
                    free(p->waiter);
                    p->waiter = NULL;
                }
                break;
            case 5: now_ms += (int64_t)rng_below(&rng, 40); break;
            }
            if (rng_below(&rng, 2))
                continue;
            struct fetch_waiter *got;
            while ((got = fetch_next_due(&w, now_ms))) {
                struct plain *found = NULL;
                for (int i = 0; i < WAITERS; i++)
                    if (plain[i].waiter == got)
                        found = &plain[i];
                assert_non_null(found);
                assert_true(is_due(found, now_ms));
                free(found->waiter);
                found->waiter = NULL;
            }
            int64_t first = INT64_MAX;
            for (int i = 0; i < WAITERS; i++) {
                if (!plain[i].waiter)
                    continue;
                if (is_due(&plain[i], now_ms))
                    fail_msg("seed %" PRIu64 ": one is due and was not given", seed);
                first = plain[i].deadline_ms < first ? plain[i].deadline_ms : first;
            }
            assert_int_equal(fetch_deadline_ms(&w), first);
        }
        for (int i = 0; i < WAITERS; i++)
            if (plain[i].waiter) {
                fetch_cancel(&w, plain[i].waiter);
                free(plain[i].waiter);
            }
        for (int i = 0; i < PARTITIONS; i++)
            assert_null(lists[i].first);
        fetch_waiters_deinit(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_due_at_once),       cmocka_unit_test(test_bytes_arrive),
        cmocka_unit_test(test_time_passes),       cmocka_unit_test(test_asked_twice),
        cmocka_unit_test(test_partition_changes), cmocka_unit_test(test_enough_is_there),
        cmocka_unit_test(test_without_memory),    cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
