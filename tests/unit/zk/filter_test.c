#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "tests/unit/vectors.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/zk/filter.h"

#define TOPICS_MAX 64

/* A filter's verdicts as the vectors write them: '1' and '0', or "fails". */
static void verdicts(enum zk_pattern pattern, const char *raw, char *const *topics, size_t count,
                     char out[TOPICS_MAX + 1])
{
    struct zk_filter *f;
    struct why why;
    enum zkc_err err = zk_filter_new(pattern, raw, false, &f, &why);
    assert_int_equal(err != ZKC_OK, why.text[0] != '\0');
    if (err) {
        assert_int_equal(err, ZKC_ERR_CORRUPT);
        strcpy(out, "fails");
        return;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = zk_filter_allows(f, topics[i]) ? '1' : '0';
    out[count] = '\0';
    zk_filter_free(f);
}

static size_t split_topics(char *line, char *topics[TOPICS_MAX])
{
    size_t n = 0;
    for (char *topic = vectors_cut(line, '\t'); topic; topic = vectors_cut(topics[n++], ' ')) {
        assert_true(n < TOPICS_MAX);
        topics[n] = topic;
    }
    assert_string_equal(line, "topics");
    return n;
}

static void test_the_same_verdicts_as_java(void **state)
{
    (void)state;
    struct vectors v = vectors_read("zk/filters.txt");
    char *topics[TOPICS_MAX];
    size_t count = split_topics(v.lines[0], topics);
    for (size_t i = 1; i < v.count; i++) {
        char got[TOPICS_MAX + 1], inverse[TOPICS_MAX + 1];
        char *raw = v.lines[i];
        const char *want = vectors_cut(raw, '\t');
        vectors_unescape(raw);
        verdicts(ZK_PATTERN_WHITE_LIST, raw, topics, count, got);
        verdicts(ZK_PATTERN_BLACK_LIST, raw, topics, count, inverse);
        if (strcmp(got, want) != 0)
            fail_msg("%s: Java %s, we %s", raw, want, got);
        for (size_t k = 0; got[0] != 'f' && k < count; k++)
            assert_true(got[k] != inverse[k]);
        assert_int_equal(got[0] == 'f', inverse[0] == 'f');
    }
    vectors_free(&v);
}

/* What people write must be taken. */
static void test_common_expressions(void **state)
{
    (void)state;
    static const struct {
        const char *raw;
        const char *allowed, *denied; /* topics */
    } cases[] = {
        {"orders", "orders", "orders2"},
        {"orders,clicks", "clicks", "orders|clicks"},
        {" \"metrics\\..*\" ", "metrics.cpu", "metricsXcpu"},
        {"(?!test_).*", "orders", "test_orders"},
        {"test-(?!bad\\b)[\\w]+", "test-good", "test-bad"},
        {"[A-Za-z0-9_.-]+\\.v[0-9]{1}", "a-b.v2", "a-b.v10"},
        {"(prod|stage)-\\d++(?:-dlq)?", "prod-12-dlq", "dev-12"},
        {"(?i)ORDERS.*", "orders_eu", "order"},
        {"^a.*z$", "a-z", "a-z2"},
        {"(?<env>x|y)-\\k<env>", "x-x", "x-y"},
        {"\\Qa.b\\E.*", "a.b2", "axb"},
        {"[^_].*", "orders", "__secret"},
        {"\\p{Lu}\\w*", "Orders", "orders"},
        {"[\\w-.]+", "a-b.c_d", "a+b"},
        {"\\p{Alnum}+", "orders2", "orders_2"},
        {"\\p{Alpha}", "a", "1"},
        {"\\p{Lower}+", "orders", "Orders"},
        {"\\p{Upper}\\p{Lower}+", "Orders", "orders"},
        {"[a-z&&[^b]]+", "acd", "abc"},
        {"[\\w&&[^_]]+", "ab1", "a_1"},
        {"[\\p{L}&&[^\\p{Lu}]]+\\h?", "abc", "aBc"},
        /* beyond ASCII, where (?i) does not reach, but with u */
        {"\xc3\xa9[^\xc3\xa8]",
         "\xc3\xa9"
         "a",
         "\xc3\xa9\xc3\xa8"},
        {"(?i)\xc3\xa9", "\xc3\xa9", "\xc3\x89"},
        {"(?iu)\xc3\xa9", "\xc3\x89", "e"},
        {"[\\p{L}&&[^a-z]]", "\xc3\xa9", "e"},
        {"(?U)\\w", "\xc3\xa9", "-"},
        {"\\W", "\xc3\xa9", "e"},
        {"\\p{IsGreek}+", "\xce\xb1", "a"},
        {"a\\b\xc3\xa9|b", "b", "a\xc3\xa9"},
        {".", "\xc3\xa9", "\xc2\x85"},
        {"(?s).", "\n", ""},
        {"a$\\s", "a\n", "ab"},
        {"a\\R", "a\r\n", "ab"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct zk_filter *f;
        struct why why;
        enum zkc_err err = zk_filter_new(ZK_PATTERN_WHITE_LIST, cases[i].raw, true, &f, &why);
        if (err)
            fail_msg("%s: %s (%s)", cases[i].raw, zkc_err_name(err), why.text);
        if (!zk_filter_allows(f, cases[i].allowed) || zk_filter_allows(f, cases[i].denied))
            fail_msg("%s: %s %d, %s %d", cases[i].raw, cases[i].allowed,
                     zk_filter_allows(f, cases[i].allowed), cases[i].denied,
                     zk_filter_allows(f, cases[i].denied));
        zk_filter_free(f);
    }
}

static void test_internal_topics(void **state)
{
    (void)state;
    static const struct {
        enum zk_pattern pattern;
        const char *raw;
        bool exclude, allows;
    } cases[] = {
        {ZK_PATTERN_WHITE_LIST, ".*", true, false},
        {ZK_PATTERN_WHITE_LIST, ".*", false, true},
        {ZK_PATTERN_WHITE_LIST, "__consumer_offsets", true, false},
        {ZK_PATTERN_BLACK_LIST, "other", true, false},
        {ZK_PATTERN_BLACK_LIST, "other", false, true},
        {ZK_PATTERN_BLACK_LIST, "__.*", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct zk_filter *f;
        struct why why;
        assert_int_equal(zk_filter_new(cases[i].pattern, cases[i].raw, cases[i].exclude, &f, &why),
                         ZKC_OK);
        assert_int_equal(zk_filter_allows(f, "__consumer_offsets"), cases[i].allows);
        assert_int_equal(zk_filter_allows(f, "__consumer_offsets2"),
                         cases[i].pattern == ZK_PATTERN_BLACK_LIST
                             ? cases[i].raw[0] == 'o'
                             : strcmp(cases[i].raw, ".*") == 0);
        zk_filter_free(f);
    }
}

static void test_says_where(void **state)
{
    (void)state;
    static const struct {
        const char *raw;
        const char *why;
    } cases[] = {
        {"a[[b]c&&]", "regular expression \"a[[b]c&&]\": at character 9, \"]\": an intersection "
                      "with nothing"},
        {"x{1,2}",
         "regular expression \"x{1|2}\": at character 5, \"2}\": a repetition without its "
         "end"},
        {"a(b", "regular expression \"a(b\": at character 4, \"\": a group without its end"},
        {"a)b", "regular expression \"a)b\": at character 2, \")b\": a ')' without its group"},
        {"a\\N{HYPHEN}\\N{LATIN}",
         "regular expression \"a\\\\N{HYPHEN}\\\\N{LATIN}\": at character 21, \"\": the name of no "
         "character, in one word"},
        {"(?<=(a|b){2})c", "regular expression \"(?<=(a|b){2})c\": at character 14, \"c\": what is "
                           "looked for behind has no largest length"},
        {"\\p{InGreekish}",
         "regular expression \"\\\\p{InGreekish}\": at character 15, \"\": no block of "
         "Unicode has this name"},
        {"\xff", "regular expression \"\\xff\": at character 1, \"\": no UTF-8"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct zk_filter *f;
        struct why why;
        assert_int_equal(zk_filter_new(ZK_PATTERN_WHITE_LIST, cases[i].raw, true, &f, &why),
                         ZKC_ERR_CORRUPT);
        assert_string_equal(why.text, cases[i].why);
    }
}

static void test_limits(void **state)
{
    (void)state;
    char *raw = malloc(ZK_FILTER_BYTES_MAX + 2);
    struct zk_filter *f;
    struct why why;
    memset(raw, 'a', ZK_FILTER_BYTES_MAX + 1);
    raw[ZK_FILTER_BYTES_MAX + 1] = '\0';
    assert_int_equal(zk_filter_new(ZK_PATTERN_WHITE_LIST, raw, true, &f, &why), ZKC_ERR_TOO_LARGE);
    raw[200] = '\0';
    assert_int_equal(zk_filter_new(ZK_PATTERN_WHITE_LIST, raw, true, &f, &why), ZKC_OK);
    assert_true(zk_filter_allows(f, raw));
    zk_filter_free(f);
    /* Would take ages to find out that it does not match; the 'c' keeps PCRE2 from seeing at once.
     */
    memcpy(raw + 198, "cd", 2);
    assert_int_equal(zk_filter_new(ZK_PATTERN_WHITE_LIST, "((a|b|ab)*)*c", true, &f, &why), ZKC_OK);
    assert_false(zk_filter_allows(f, raw));
    zk_filter_free(f);
    free(raw);
}

/* What is nested deeper than the limit is refused, not recursed into. */
static void test_depth(void **state)
{
    (void)state;
    static const struct {
        const char *open, *middle, *close;
    } cases[] = {{"(", "a", ")"}, {"[", "a", "]"}, {"[^", "a", "]"}, {"[b&&[c]", "a", "]"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (int depth = 30; depth <= 5000; depth += 4970) {
            struct buf raw;
            struct zk_filter *f;
            struct why why;
            buf_init(&raw, ZK_FILTER_BYTES_MAX);
            for (int k = 0; k < depth; k++)
                buf_append_text(&raw, cases[i].open);
            buf_append_text(&raw, cases[i].middle);
            for (int k = 0; k < depth; k++)
                buf_append_text(&raw, cases[i].close);
            enum zkc_err err = zk_filter_new(ZK_PATTERN_WHITE_LIST, buf_text(&raw), true, &f, &why);
            assert_int_equal(err, depth == 30 ? ZKC_OK : ZKC_ERR_CORRUPT);
            if (!err)
                zk_filter_free(f);
            buf_deinit(&raw);
        }
    }
}

static enum zkc_err new_once(const void *raw)
{
    struct zk_filter *f;
    struct why why;
    enum zkc_err err = zk_filter_new(ZK_PATTERN_WHITE_LIST, raw, true, &f, &why);
    if (!err)
        zk_filter_free(f);
    return err;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    alloc_fail_each(new_once, "a.*,b");
    alloc_fail_each(new_once, "(?<x>[a-z&&[^b]]{2}+)\\k<x>\\p{Lu}?\\Q.\\E");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_verdicts_as_java),
        cmocka_unit_test(test_common_expressions),
        cmocka_unit_test(test_internal_topics),
        cmocka_unit_test(test_says_where),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
