#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/base/properties.h"

/* Entries as one text: "line:key=value;" each, with '~' after a value whose end was trimmed. */
struct seen {
    char text[512];
    size_t count;
    size_t stop_after; /* 0: never */
};

static enum zkc_err see(const struct property *p, void *user)
{
    struct seen *seen = user;
    size_t len = strlen(seen->text);
    snprintf(seen->text + len, sizeof seen->text - len, "%zu:%s=%s%s;", p->line, p->key, p->value,
             p->is_trimmed ? "~" : "");
    return ++seen->count == seen->stop_after ? ZKC_ERR_CLOSED : ZKC_OK;
}

/* java.util.Properties of Java 17 was given the same texts and gives the same entries, but for
 * those whose name tells what Java does. */
static const struct {
    const char *name;
    const char *text;
    const char *want;
} cases[] = {
    {"nothing", "", ""},
    {"only blanks", " \t \n\n  \r\n", ""},
    {"plain", "a=b\n", "1:a=b;"},
    {"no newline at the end", "a=b", "1:a=b;"},
    {"colon", "a:b\n", "1:a=b;"},
    {"colon with blanks", "key : value\n", "1:key=value;"},
    {"blank", "a b\n", "1:a=b;"},
    {"tab and form feed", "a\t\fb", "1:a=b;"},
    {"blanks around", "  a  =  b\n", "1:a=b;"},
    {"one separator only", "a == b\n", "1:a== b;"},
    {"separator in the value", "a=b=c:d\n", "1:a=b=c:d;"},
    {"no value", "a=\nb\nc:\n", "1:a=;2:b=;3:c=;"},
    {"comments", "# x\n ! y=1\na=b # no comment\n", "3:a=b # no comment;"},
    {"a comment does not go on", "# x \\\na=b\n", "2:a=b;"},
    {"CRLF", "a=b\r\nc=d\r\n", "1:a=b;2:c=d;"},
    {"CR alone", "a=b\rc=d\r", "1:a=b;2:c=d;"},
    {"continuation", "a=b,\\\n   c,\\\r\n\td\ne=f\n", "1:a=b,c,d;4:e=f;"},
    {"blanks before a continuation stay", "a=b \\\nc\n", "1:a=b c;"},
    {"continued key", "ke\\\n  y=v\n", "1:key=v;"},
    {"a continuation is no comment", "a=b\\\n#c\n", "1:a=b#c;"},
    {"continuation ends at an empty line", "a=b\\\n\nc=d\n", "1:a=b;3:c=d;"},
    {"continuation at the end of the file", "a=b\\", "1:a=b;"},
    {"nothing continued", "\\\n\na=b\n", "3:a=b;"},
    {"two backslashes end the line", "a=b\\\\\nc=d\n", "1:a=b\\;2:c=d;"},
    {"three go on", "a=b\\\\\\\nc=d\n", "1:a=b\\c=d;"},
    {"escapes", "a=\\t\\n\\r\\f\\\\\\:\\=\\#\\q\\ \n", "1:a=\t\n\r\f\\:=#q ;"},
    {"escaped separators in the key", "a\\ b\\:c\\=d=e\n", "1:a b:c=d=e;"},
    {"unicode", "a=\\u0041\\u00e9\\u20AC\n", "1:a=A\xC3\xA9\xE2\x82\xAC;"},
    {"unicode pair", "a=\\uD83D\\uDE00\n", "1:a=\xF0\x9F\x98\x80;"},
    {"blanks by unicode count as written", "a=b\\u0020\n", "1:a=b ;"},
    {"UTF-8 (Java: Latin-1)", "k\xC3\xA9y=\xE2\x82\xAC\n", "1:k\xC3\xA9y=\xE2\x82\xAC;"},
    {"byte order mark (Java: part of the key)",
     "\xEF\xBB\xBF"
     "a=b\n",
     "1:a=b;"},
    {"blanks at the end are trimmed (Java: kept)", "a=b \t\nc=d\n", "1:a=b~;2:c=d;"},
    {"trimmed before CRLF", "a=b \r\n", "1:a=b~;"},
    {"an escaped blank at the end stays", "a=b\\ \nc=\\ d\\  \n", "1:a=b ;2:c= d ~;"},
    {"only blanks after the separator", "a=  \n", "1:a=;"},
    {"twice", "a=1\na=2\n", "1:a=1;2:a=2;"},
};

static void test_reads_as_java(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct seen seen = {.count = 0};
        struct why why;
        enum zkc_err err = properties_parse(bytes_of_text(cases[i].text), see, &seen, &why);
        if (err || strcmp(seen.text, cases[i].want) != 0 || why.text[0])
            fail_msg("%s: %s, \"%s\" (%s)", cases[i].name, zkc_err_name(err), seen.text, why.text);
    }
}

static const struct {
    const char *name;
    const char *text;
    size_t len; /* 0: up to the terminator */
    const char *seen;
    const char *why;
} refused[] = {
    {"no key", "a=b\n =c\n", 0, "1:a=b;", "line 2: no key"},
    {"no key but a colon", ":c\n", 0, "", "line 1: no key"},
    {"short unicode", "a=\\u12\n", 0, "", "line 1: \\u without four"},
    {"unicode with a wrong digit", "\n\na=\\u12g4\n", 0, "", "line 3: \\u without four"},
    {"short unicode in the key", "a\\u12=b\n", 0, "", "line 1: \\u without four"},
    {"high surrogate alone", "a=\\uD83D\n", 0, "", "line 1: \\u escape of half"},
    {"high surrogate before a letter", "a=\\uD83D\\u0041\n", 0, "", "line 1: \\u escape of half"},
    {"low surrogate", "a=\\uDE00\n", 0, "", "line 1: \\u escape of half"},
    {"zero by unicode", "a=\\u0000\n", 0, "", "line 1: character 0"},
    {"zero byte", "a=b\nc=\0d\n", 9, "1:a=b;", "line 2: character 0"},
    {"Latin-1", "a=\xE9\n", 0, "", "line 1: bytes that are no UTF-8"},
    {"the line is where the key stands", "x=\\\n\\\n\\u\n", 0, "", "line 1: \\u without four"},
};

static void test_refuses_with_the_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct seen seen = {.count = 0};
        struct why why;
        size_t len = refused[i].len ? refused[i].len : strlen(refused[i].text);
        enum zkc_err err = properties_parse(bytes_of(refused[i].text, len), see, &seen, &why);
        if (err != ZKC_ERR_CONFIG || strcmp(seen.text, refused[i].seen) != 0 ||
            strncmp(why.text, refused[i].why, strlen(refused[i].why)) != 0)
            fail_msg("%s: %s, \"%s\" (%s)", refused[i].name, zkc_err_name(err), seen.text,
                     why.text);
    }
}

static void test_a_line_has_a_limit(void **state)
{
    (void)state;
    char *text = malloc(PROPERTIES_LINE_MAX + 2);
    for (size_t extra = 0; extra < 2; extra++) {
        size_t len = PROPERTIES_LINE_MAX + extra;
        struct seen seen = {.count = 0};
        struct why why;
        memset(text, 'v', len);
        memcpy(text, "k=", 2);
        enum zkc_err err = properties_parse(bytes_of(text, len), see, &seen, &why);
        assert_int_equal(err, extra ? ZKC_ERR_CONFIG : ZKC_OK);
        assert_int_equal(seen.count, extra ? 0 : 1);
        assert_string_equal(why.text, extra ? "line 1: longer than 65536 bytes" : "");
    }
    free(text);
}

/* Continuations must not get around the limit. */
static void test_continued_lines_have_it_too(void **state)
{
    (void)state;
    size_t lines = PROPERTIES_LINE_MAX / 8 + 1, at = 0;
    char *text = malloc(lines * 10 + 1);
    for (size_t i = 0; i < lines; i++, at += 10)
        memcpy(text + at, "12345678\\\n", 10);
    struct seen seen = {.count = 0};
    struct why why;
    assert_int_equal(properties_parse(bytes_of(text, at), see, &seen, &why), ZKC_ERR_CONFIG);
    assert_string_equal(why.text, "line 1: longer than 65536 bytes");
    assert_int_equal(seen.count, 0);
    free(text);
}

static void test_the_callback_ends_the_parse(void **state)
{
    (void)state;
    struct seen seen = {.stop_after = 2};
    struct why why;
    enum zkc_err err = properties_parse(bytes_of_text("a=1\nb=2\nc=3\n"), see, &seen, &why);
    assert_int_equal(err, ZKC_ERR_CLOSED);
    assert_string_equal(seen.text, "1:a=1;2:b=2;");
    assert_string_equal(why.text, "");
}

/* Every prefix of a text with everything in it is either read or refused with its line. */
static void test_cut_anywhere(void **state)
{
    (void)state;
    static const char text[] =
        "# c\r\n a\\ b : v\\u0041\\uD83D\\uDE00 \\\r\n  more\\\\\n\xC3\xA9=\xE2\x82\xAC";
    for (size_t len = 0; len < sizeof text; len++) {
        char *copy = malloc(len + !len); /* of its exact size: a sanitizer sees reads behind it */
        memcpy(copy, text, len);
        struct seen seen = {.count = 0};
        struct why why;
        enum zkc_err err = properties_parse(bytes_of(copy, len), see, &seen, &why);
        assert_true(err == ZKC_OK || err == ZKC_ERR_CONFIG);
        assert_int_equal(err != ZKC_OK, strncmp(why.text, "line ", 5) == 0);
        free(copy);
    }
}

static enum zkc_err parse(const void *text)
{
    struct seen seen = {.count = 0};
    struct why why;
    return properties_parse(bytes_of_text(text), see, &seen, &why);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    char text[400] = "# c\na=b\n";
    memset(text + 8, 'k', 380); /* the buffers grow twice */
    alloc_fail_each(parse, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_as_java),
        cmocka_unit_test(test_refuses_with_the_line),
        cmocka_unit_test(test_a_line_has_a_limit),
        cmocka_unit_test(test_continued_lines_have_it_too),
        cmocka_unit_test(test_the_callback_ends_the_parse),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
