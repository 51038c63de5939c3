#include "zkconsumer/core/base/buf.h"
#include "tests/unit/test.h"

static void test_appends_grow_up_to_the_maximum(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 100);
    for (int i = 0; i < 10; i++)
        buf_append(&b, "0123456789", 10);
    assert_int_equal(b.failed, ZKC_OK);
    assert_int_equal(b.len, 100);
    buf_append_byte(&b, 'x');
    assert_int_equal(b.failed, ZKC_ERR_TOO_LARGE);
    assert_int_equal(b.len, 100);
    buf_clear(&b);
    buf_appendf(&b, "%d-%s", 7, "seven");
    assert_string_equal(buf_text(&b), "7-seven");
    assert_int_equal(b.len, 7);
    buf_deinit(&b);
}

static void test_a_failed_buffer_takes_nothing_more(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 4);
    buf_append(&b, "12345", 5);
    buf_append(&b, "1", 1);
    assert_int_equal(b.failed, ZKC_ERR_TOO_LARGE);
    assert_int_equal(b.len, 0);
    assert_null(buf_text(&b));
    buf_deinit(&b);
}

static void test_bytes_compare(void **state)
{
    (void)state;
    assert_true(bytes_compare(bytes_of_text("a"), bytes_of_text("ab")) < 0);
    assert_true(bytes_compare(bytes_of_text("g-10"), bytes_of_text("g-2")) < 0);
    assert_true(bytes_compare(BYTES_NULL, bytes_of_text("")) < 0);
    assert_int_equal(bytes_compare(bytes_of_text("x"), bytes_of_text("x")), 0);
    assert_false(bytes_equal(BYTES_NULL, bytes_of_text("")));
    assert_true(bytes_equal(BYTES_NULL, BYTES_NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appends_grow_up_to_the_maximum),
        cmocka_unit_test(test_a_failed_buffer_takes_nothing_more),
        cmocka_unit_test(test_bytes_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
