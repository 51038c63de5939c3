#include "tests/unit/test.h"
#include "zkconsumer/core/base/arena.h"

static void test_gives_aligned_zeroed_memory(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    uint8_t *before = NULL;
    for (size_t size = 0; size < 300; size++) {
        uint8_t *p = arena_alloc(&a, size);
        assert_non_null(p);
        assert_ptr_not_equal(p, size > 1 ? before : NULL);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, size);
        before = p;
    }
    arena_deinit(&a);
    assert_int_equal(a.allocated, 0);
}

static void test_never_takes_more_than_its_maximum(void **state)
{
    (void)state;
    for (size_t max = 0; max < 6000; max += 37) {
        struct arena a;
        arena_init(&a, max);
        while (arena_alloc(&a, 100))
            assert_true(a.allocated <= max);
        assert_int_equal(a.failed, ZKC_ERR_TOO_LARGE);
        assert_true(a.allocated <= max);
        assert_null(arena_alloc(&a, 1));
        arena_deinit(&a);
    }
}

static void test_sizes_that_overflow_are_too_large(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, SIZE_MAX);
    assert_null(arena_alloc_array(&a, SIZE_MAX / 2, 3));
    assert_int_equal(a.failed, ZKC_ERR_TOO_LARGE);
    arena_clear(&a);
    assert_null(arena_alloc(&a, SIZE_MAX - 3));
    assert_int_equal(a.failed, ZKC_ERR_TOO_LARGE);
    arena_deinit(&a);
}

static void test_clear_keeps_one_block_and_zeroes_again(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 1000; i++) {
            char *p = arena_alloc_array(&a, 10, 10);
            assert_non_null(p);
            assert_int_equal(p[99], 0);
            memset(p, 1, 100);
        }
        arena_clear(&a);
        assert_true(a.allocated > 0);
        assert_true(a.allocated <= 1 << 19);
    }
    arena_deinit(&a);
}

static void test_formats_text(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    assert_string_equal(arena_format(&a, "/%s/%d", "owners", 7), "/owners/7");
    assert_string_equal(arena_format(&a, "%s", ""), "");
    assert_string_equal(arena_text(&a, bytes_of("owners", 3)), "own");
    assert_string_equal(arena_text(&a, BYTES_NULL), "");
    arena_deinit(&a);
    arena_init(&a, 0);
    assert_null(arena_format(&a, "%d", 1));
    assert_int_equal(a.failed, ZKC_ERR_TOO_LARGE);
    arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gives_aligned_zeroed_memory),
        cmocka_unit_test(test_never_takes_more_than_its_maximum),
        cmocka_unit_test(test_sizes_that_overflow_are_too_large),
        cmocka_unit_test(test_clear_keeps_one_block_and_zeroes_again),
        cmocka_unit_test(test_formats_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
