#include "tests/unit/test.h"
#include "zkconsumer/core/base/utf8.h"

static void test_every_character_there_and_back(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        uint8_t text[4];
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        size_t len = utf8_encode(code, text);
        struct utf8_char c = utf8_decode(text, len);
        if (!c.valid || c.code != code || c.len != len)
            fail_msg("U+%04X: %zu bytes, read as U+%04X", code, len, c.code);
        assert_false(len > 1 && utf8_decode(text, len - 1).valid);
    }
}

/* RFC 3629, 3 and 10: overlong forms, surrogates, beyond the end, stray and missing bytes. */
static void test_refuses(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "\x80",
        "\xBF",
        "\xC0\x80",
        "\xC1\xBF",
        "\xC3",
        "\xC3x",
        "\xE0\x9F\xBF",
        "\xE2\x82",
        "\xE2\x82x",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xEF\xBF",
        "\xF0\x8F\xBF\xBF",
        "\xF0\x9F\x98",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xF8\x88\x80\x80\x80",
        "\xFE",
        "\xFF",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct utf8_char c = utf8_decode((const uint8_t *)cases[i], strlen(cases[i]));
        if (c.valid || c.code != UTF8_REPLACEMENT || c.len != 1)
            fail_msg("case %zu: U+%04X of %zu bytes", i, c.code, c.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_character_there_and_back),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
