#include "tests/unit/test.h"
#include "zkconsumer/cli/format.h"

static const struct zkc_message full = {
    .topic = "orders",
    .partition = 3,
    .offset = 4711,
    .key = "k1",
    .key_len = 2,
    .value = "hello",
    .value_len = 5,
};
static const struct zkc_message nulls = {.topic = "orders", .partition = 0, .offset = 0};
static const struct zkc_message empties = {.topic = "orders", .key = "", .value = ""};

#define BYTES(text) text, sizeof text - 1

static const struct {
    const char *name;
    const char *spec;
    const struct zkc_message *message;
    const char *want;
    size_t want_len;
} cases[] = {
    {"what everybody types", "%t %p %o %k %s\\n", &full, BYTES("orders 3 4711 k1 hello\n")},
    {"lengths", "%K,%S", &full, BYTES("2,5")},
    {"lengths of null", "%K,%S", &nulls, BYTES("-1,-1")},
    {"lengths of empty", "%K,%S", &empties, BYTES("0,0")},
    {"null is empty", "[%k][%s]", &nulls, BYTES("[][]")},
    {"binary length", "%R%s", &full, BYTES("\0\0\0\5hello")},
    {"binary length of null", "%R", &nulls, BYTES("\xff\xff\xff\xff")},
    {"binary length of empty", "%R", &empties, BYTES("\0\0\0\0")},
    {"0.8 has no timestamps and headers", "%T[%h]", &full, BYTES("-1[]")},
    {"group and member", "%g %m", &full, BYTES("billing billing_web07-1-ab")},
    {"percent", "100%%", &full, BYTES("100%")},
    {"percent before a token", "%%%t%%t", &full, BYTES("%orders%t")},
    {"escapes", "a\\tb\\r\\n\\\\", &full, BYTES("a\tb\r\n\\")},
    {"hex of two digits", "\\x41\\x0a", &full, BYTES("A\n")},
    {"hex of one digit", "\\x1!", &full, BYTES("\1!")},
    {"hex takes two digits at most", "\\x411", &full, BYTES("A1")},
    {"zero byte", "%o\\0", &full, BYTES("4711\0")},
    {"empty format", "", &full, BYTES("")},
    {"text only", "x\\n", &full, BYTES("x\n")},
    {"bytes above 127 stay", "\xc3\xa9%p", &full,
     BYTES("\xc3\xa9"
           "3")},
};

static void render(const struct format *f, const struct zkc_message *m, const char *null_text,
                   struct buf *out)
{
    struct format_source source = {m, "billing", "billing_web07-1-ab", null_text};
    format_append(f, &source, out);
}

static void test_formats(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct format f;
        struct buf out;
        char why[256];
        buf_init(&out, 1000);
        if (!format_init(&f, cases[i].spec, why, sizeof why))
            fail_msg("%s: %s", cases[i].name, why);
        render(&f, cases[i].message, "", &out);
        if (!bytes_equal(bytes_of(out.data ? out.data : (uint8_t *)"", out.len),
                         bytes_of(cases[i].want, cases[i].want_len)))
            fail_msg("%s: got \"%.*s\"", cases[i].name, (int)out.len, out.data);
        format_deinit(&f);
        buf_deinit(&out);
    }
}

static const struct {
    const char *spec;
    const char *want; /* how the error begins */
} refused[] = {
    {"%q", "unknown token %q at position 1 of the format"},
    {"%t %p %x", "unknown token %x at position 7 of the format"},
    {"%t %", "unknown token % at position 4 of the format"},
    {"%%%", "unknown token % at position 3 of the format"},
    {"\\q", "unknown escape \\q at position 1 of the format"},
    {"ab\\", "unknown escape \\ at position 3 of the format"},
    {"\\xg", "unknown escape \\x at position 1 of the format"},
};

static void test_what_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct format f;
        char why[256] = "nothing was refused";
        bool ok = format_init(&f, refused[i].spec, why, sizeof why);
        if (ok || strncmp(why, refused[i].want, strlen(refused[i].want)) != 0)
            fail_msg("%s: %s", refused[i].spec, why);
    }
}

static void test_lines(void **state)
{
    (void)state;
    struct format f;
    struct buf out;
    buf_init(&out, 1000);
    struct bytes tab = bytes_of_text("\t"), line = bytes_of_text("\n"), none = bytes_of_text("");
    assert_true(format_init_lines(&f, tab, line, true));
    render(&f, &full, "", &out);
    render(&f, &nulls, "", &out);
    render(&f, &nulls, "NULL", &out);
    format_deinit(&f);
    assert_true(format_init_lines(&f, tab, line, false));
    render(&f, &full, "", &out);
    format_deinit(&f);
    assert_true(format_init_lines(&f, none, none, true));
    render(&f, &full, "", &out);
    format_deinit(&f);
    assert_string_equal(buf_text(&out), "k1\thello\n\t\nNULL\tNULL\nhello\nk1hello");
    buf_deinit(&out);
}

static void test_unescape(void **state)
{
    (void)state;
    uint8_t out[16];
    size_t at = 99;
    assert_int_equal(format_unescape("a\\tb\\x00", out, &at), 4);
    assert_memory_equal(out, "a\tb\0", 4);
    assert_true(format_unescape("ab\\z", out, &at) == SIZE_MAX);
    assert_int_equal(at, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_unescape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
