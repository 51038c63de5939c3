#include "tests/unit/test.h"
#include "zkconsumer/cli/json_text.h"

#define BYTES(text)                                                                                \
    {                                                                                              \
        (const uint8_t *)(text), sizeof(text) - 1                                                  \
    }

static const struct {
    const char *name;
    struct bytes value;
    const char *want;
} fields[] = {
    {"null", {NULL, 0}, "\"v\":null"},
    {"empty", BYTES(""), "\"v\":\"\""},
    {"text", BYTES("hello"), "\"v\":\"hello\""},
    {"quotes and backslash", BYTES("a\"b\\c"), "\"v\":\"a\\\"b\\\\c\""},
    {"control characters", BYTES("\n\r\t\1\x1f\x7f"), "\"v\":\"\\n\\r\\t\\u0001\\u001f\\u007f\""},
    {"zero byte", BYTES("a\0b"), "\"v\":\"a\\u0000b\""},
    {"slash stays", BYTES("a/b"), "\"v\":\"a/b\""},
    {"two, three, four bytes", BYTES("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
     "\"v\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
    {"not UTF-8", BYTES("\xff"), "\"v_base64\":\"/w==\""},
    {"not UTF-8, two", BYTES("\xff\xfe"), "\"v_base64\":\"//4=\""},
    {"not UTF-8, three",
     BYTES("a\xff"
           "b"),
     "\"v_base64\":\"Yf9i\""},
    {"not UTF-8, four",
     BYTES("a\xff"
           "bc"),
     "\"v_base64\":\"Yf9iYw==\""},
    {"cut short", BYTES("ab\xe2\x82"), "\"v_base64\":\"YWLigg==\""},
    {"overlong slash", BYTES("\xc0\xaf"), "\"v_base64\":\"wK8=\""},
    {"overlong of three", BYTES("\xe0\x80\x80"), "\"v_base64\":\"4ICA\""},
    {"surrogate", BYTES("\xed\xa0\x80"), "\"v_base64\":\"7aCA\""},
    {"above the last character", BYTES("\xf4\x90\x80\x80"), "\"v_base64\":\"9JCAgA==\""},
    {"continuation alone", BYTES("\x80"), "\"v_base64\":\"gA==\""},
};

static void test_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        struct buf out;
        buf_init(&out, 1000);
        json_append_field(&out, "v", fields[i].value);
        if (strcmp(buf_text(&out), fields[i].want) != 0)
            fail_msg("%s: got %s", fields[i].name, buf_text(&out));
        buf_deinit(&out);
    }
}

static void test_envelope_is_kcats(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1000);
    struct zkc_message m = {.topic = "orders", .partition = 3, .offset = 4711, .value = "x\n"};
    m.value_len = 2;
    json_append_envelope(&out, &m);
    assert_string_equal(buf_text(&out),
                        "{\"topic\":\"orders\",\"partition\":3,\"offset\":4711,"
                        "\"tstype\":\"unknown\",\"ts\":0,\"broker\":-1,\"key\":null,"
                        "\"payload\":\"x\\n\"}");
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_envelope_is_kcats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
