#include "tests/unit/test.h"
#include "tests/unit/vectors.h"
#include "zkconsumer/core/zk/offset.h"

static void test_reads_as_java(void **state)
{
    (void)state;
    struct vectors v = vectors_read("zk/offsets.txt");
    size_t read = 0;
    for (size_t i = 0; i < v.count; i++) {
        char *data = v.lines[i];
        char *want = vectors_cut(data, '\t');
        size_t len = vectors_unescape(data);
        int64_t offset = 4711;
        struct why why;
        char got[ZK_OFFSET_TEXT_SIZE] = "fails";
        enum zkc_err err = zk_offset_read(bytes_of(data, len), &offset, &why);
        if (!err)
            zk_offset_format(offset, got);
        if (strcmp(got, want) != 0 || (err && (err != ZKC_ERR_CORRUPT || offset != 4711)))
            fail_msg("%s: Java %s, we %s", data, want, got);
        assert_int_equal(err != ZKC_OK, why.text[0] != '\0');
        read += !err;
    }
    assert_true(read >= 8 && v.count - read >= 15);
    vectors_free(&v);
}

static void test_says_what_is_wrong(void **state)
{
    (void)state;
    int64_t offset;
    struct why why;
    assert_int_equal(zk_offset_read(bytes_of_text("12\n"), &offset, &why), ZKC_ERR_CORRUPT);
    assert_string_equal(
        why.text, "offset \"12\\n\": expected a signed 64-bit decimal number and nothing else");
    assert_int_equal(zk_offset_read(BYTES_NULL, &offset, &why), ZKC_ERR_CORRUPT);
    assert_string_equal(why.text, "offset \"\" (no data): expected a signed 64-bit decimal number "
                                  "and nothing else");
}

static void test_format(void **state)
{
    (void)state;
    char text[ZK_OFFSET_TEXT_SIZE];
    assert_int_equal(zk_offset_format(0, text), 1);
    assert_string_equal(text, "0");
    assert_int_equal(zk_offset_format(INT64_MIN, text), 20);
    assert_string_equal(text, "-9223372036854775808");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_as_java),
        cmocka_unit_test(test_says_what_is_wrong),
        cmocka_unit_test(test_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
