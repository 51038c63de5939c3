#include "tests/unit/test.h"
#include "zkconsumer/core/base/why.h"

static void test_long_text_is_cut(void **state)
{
    (void)state;
    struct why w;
    char text[WHY_SIZE + 10];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    why_set(&w, "%s", text);
    assert_int_equal(strlen(w.text), WHY_SIZE - 1);
    why_clear(&w);
    assert_string_equal(w.text, "");
}

static void test_quotes_foreign_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        const char *want;
    } cases[] = {
        {"plain text", 10, "plain text"},
        {"", 0, ""},
        {"a\"b\\c", 5, "a\\\"b\\\\c"},
        {"\n\r\t\0\x1b\x7f", 6, "\\n\\r\\t\\x00\\x1b\\x7f"},
        {"\xC3\xA9", 2, "\xC3\xA9"},
        {"a\xff\xfe", 3, "a\\xff\\xfe"},
        {"\xC3", 1, "\\xc3"},
        {"\xC2\x85", 2, "\\xc2\\x85"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(why_quote(bytes_of(cases[i].bytes, cases[i].len)).text, cases[i].want);
    assert_string_equal(why_quote(BYTES_NULL).text, "");
}

static void test_quotes_one_character(void **state)
{
    (void)state;
    assert_string_equal(why_quote_first(bytes_of_text("ab")).text, "a");
    assert_string_equal(why_quote_first(bytes_of_text("\xC3\xA9x")).text, "\xC3\xA9");
    assert_string_equal(why_quote_first(bytes_of_text("\xC3x")).text, "\\xc3");
    assert_string_equal(why_quote_first(bytes_of_text("\nx")).text, "\\n");
}

/* The longest that fits whole, and the first that is cut; also where a byte takes four. */
static void test_long_quotes_are_cut(void **state)
{
    (void)state;
    char bytes[100];
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(strlen(why_quote(bytes_of(bytes, 80)).text), 80);
    struct why_quote cut = why_quote(bytes_of(bytes, 81));
    assert_int_equal(strlen(cut.text), 83);
    assert_string_equal(cut.text + 80, "...");
    memset(bytes, 1, sizeof bytes);
    assert_int_equal(strlen(why_quote(bytes_of(bytes, 20)).text), 80);
    cut = why_quote(bytes_of(bytes, 21));
    assert_string_equal(cut.text + 76, "\\x01...");
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes + 79, "\xC3\xA9", 2);
    cut = why_quote(bytes_of(bytes, 81));
    assert_string_equal(cut.text + 78, "x..."); /* not in the middle of a character */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_text_is_cut),
        cmocka_unit_test(test_quotes_foreign_bytes),
        cmocka_unit_test(test_quotes_one_character),
        cmocka_unit_test(test_long_quotes_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
