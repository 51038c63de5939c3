#include "tests/unit/test.h"
#include "zkconsumer/core/base/json.h"

#define MAX 65536

static const struct text_case {
    const char *name, *text;
    size_t len;
    const char *want;
} text_cases[] = {
    {"plain", "abc", 3, "\"abc\""},
    {"empty", "", 0, "\"\""},
    {"null", NULL, 0, "null"},
    {"quote and backslash", "a\"b\\c", 5, "\"a\\\"b\\\\c\""},
    {"control", "a\n\x01\x7f", 4, "\"a\\u000a\\u0001\x7f\""},
    {"a zero byte", "a\0b", 3, "\"a\\u0000b\""},
    {"UTF-8 stays", "\xc3\xa9\xf0\x9f\x98\x80", 6, "\"\xc3\xa9\xf0\x9f\x98\x80\""},
    {"not UTF-8", "a\xff\xfe", 3, "\"a\\ufffd\\ufffd\""},
    {"cut short", "a\xc3", 2, "\"a\\ufffd\""},
};

static void test_text(void **state)
{
    (void)state;
    for (const struct text_case *c = text_cases; c < text_cases + ARRAY_LEN(text_cases); c++) {
        struct buf out;
        struct json j;
        buf_init(&out, MAX);
        json_init(&j, &out);
        json_bytes(&j, NULL, bytes_of(c->text, c->len));
        if (strcmp(buf_text(&out), c->want))
            fail_msg("%s: got %s", c->name, buf_text(&out));
        buf_deinit(&out);
    }
}

static void test_document(void **state)
{
    (void)state;
    struct buf out;
    struct json j;
    buf_init(&out, MAX);
    json_init(&j, &out);
    json_object_begin(&j, NULL);
    json_int(&j, "low", INT64_MIN);
    json_int(&j, "high", INT64_MAX);
    json_bool(&j, "yes", true);
    json_bool(&j, "no", false);
    json_text(&j, "none", NULL);
    json_hex(&j, "hex", 0xabc);
    json_textf(&j, "p", "%s/%d", "t", 3);
    json_list_begin(&j, "list");
    json_int(&j, NULL, 1);
    json_text(&j, NULL, "x");
    json_object_begin(&j, NULL);
    json_object_end(&j);
    json_list_begin(&j, NULL);
    json_list_end(&j);
    json_list_end(&j);
    json_object_begin(&j, "a\"key");
    json_int(&j, "n", 0);
    json_object_end(&j);
    json_object_end(&j);
    assert_string_equal(buf_text(&out),
                        "{\"low\":-9223372036854775808,\"high\":9223372036854775807,\"yes\":true,"
                        "\"no\":false,\"none\":null,\"hex\":\"0000000000000abc\",\"p\":\"t/3\","
                        "\"list\":[1,\"x\",{},[]],\"a\\\"key\":{\"n\":0}}");
    buf_deinit(&out);
}

static void test_long_formatted_text_is_cut(void **state)
{
    (void)state;
    struct buf out;
    struct json j;
    buf_init(&out, MAX);
    json_init(&j, &out);
    json_textf(&j, NULL, "%01000d", 7);
    assert_int_equal(out.len, 511 + 2);
    buf_deinit(&out);
}

static void test_failure_is_the_buffers(void **state)
{
    (void)state;
    struct buf out;
    struct json j;
    buf_init(&out, 8);
    json_init(&j, &out);
    json_text(&j, NULL, "much too long for it");
    assert_int_equal(out.failed, ZKC_ERR_TOO_LARGE);
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_long_formatted_text_is_cut),
        cmocka_unit_test(test_failure_is_the_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
