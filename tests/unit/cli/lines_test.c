#include "tests/unit/test.h"
#include "zkconsumer/cli/lines.h"

static const struct {
    const char *name;
    const char *input;
    const char *separator;
    const char *want; /* each record in brackets */
} cases[] = {
    {"lines", "a\nbc\n", "\n", "[a][bc]"},
    {"no line end at the end", "a\nbc", "\n", "[a][bc]"},
    {"empty lines count", "\n\na\n\n", "\n", "[][][a][]"},
    {"no input", "", "\n", ""},
    {"carriage returns stay", "a\r\nb\r\n", "\n", "[a\r][b\r]"},
    {"longer separator", "a--b---c--", "--", "[a][b][-c]"},
    {"half a separator at the end", "a--b-", "--", "[a][b-]"},
    {"separator that overlaps itself", "aaab", "aa", "[][ab]"},
    {"only a separator", "--", "--", "[]"},
};

static void take(struct lines *l, bool all, struct buf *got)
{
    struct bytes record;
    while (lines_next(l, &record) || (all && lines_rest(l, &record)))
        buf_appendf(got, "[%.*s]", (int)record.len, record.data);
}

/* However the input is cut into pieces, the records are the same. */
static void test_records(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t len = strlen(cases[i].input);
        for (size_t piece = 1; piece <= len + 1; piece++) {
            struct lines l;
            struct buf got;
            buf_init(&got, 1000);
            lines_init(&l, bytes_of_text(cases[i].separator), 100);
            for (size_t at = 0; at < len; at += piece) {
                size_t n = len - at < piece ? len - at : piece;
                memcpy(lines_reserve(&l, n), cases[i].input + at, n);
                lines_add(&l, n);
                take(&l, false, &got);
            }
            take(&l, true, &got);
            buf_append_byte(&got, 0);
            if (strcmp((char *)got.data, cases[i].want) != 0)
                fail_msg("%s, pieces of %zu: %s", cases[i].name, piece, got.data);
            lines_deinit(&l);
            buf_deinit(&got);
        }
    }
}

static void test_a_record_has_a_maximum(void **state)
{
    (void)state;
    struct lines l;
    struct bytes record;
    lines_init(&l, bytes_of_text("\n"), 10);
    memcpy(lines_reserve(&l, 10), "12345\n7890", 10);
    lines_add(&l, 10);
    assert_true(lines_next(&l, &record));
    assert_false(lines_next(&l, &record));
    assert_non_null(lines_reserve(&l, 6)); /* the first record's room is free again */
    lines_add(&l, 0);
    assert_null(lines_reserve(&l, 7));
    assert_int_equal(l.buf.failed, ZKC_ERR_TOO_LARGE);
    lines_deinit(&l);
}

static const struct {
    const char *record, *separator;
    const char *key; /* NULL: none */
    const char *value;
} keys[] = {
    {"k:v", ":", "k", "v"},   {"k:v:w", ":", "k", "v:w"}, {":v", ":", "", "v"},
    {"k:", ":", "k", ""},     {"kv", ":", NULL, NULL},    {"", ":", NULL, NULL},
    {"k=>v", "=>", "k", "v"}, {":", ":", "", ""},
};

static void test_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct bytes key, value;
        bool ok = lines_split_key(bytes_of_text(keys[i].record), bytes_of_text(keys[i].separator),
                                  &key, &value);
        if (ok != (keys[i].key != NULL) || (ok && (!bytes_equal_text(key, keys[i].key) ||
                                                   !bytes_equal_text(value, keys[i].value))))
            fail_msg("\"%s\" by \"%s\"", keys[i].record, keys[i].separator);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_a_record_has_a_maximum),
        cmocka_unit_test(test_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
