#include "tests/unit/test.h"
#include "tests/unit/vectors.h"
#include "zkconsumer/core/zk/java_hash.h"

static void test_hash(void **state)
{
    (void)state;
    struct vectors v = vectors_read("zk/hashes.txt");
    for (size_t i = 0; i < v.count; i++) {
        char *text = v.lines[i];
        char *want = vectors_cut(text, '\t');
        char got[16];
        vectors_unescape(text);
        snprintf(got, sizeof got, "%d", java_hash(text));
        if (strcmp(got, want) != 0)
            fail_msg("%s: Java %s, we %s", text, want, got);
    }
    assert_true(v.count >= 10);
    vectors_free(&v);
    assert_int_equal(java_hash(""), 0);
}

static void test_hash_of_a_partition(void **state)
{
    (void)state;
    assert_int_equal(java_hash_partition("t", 0), 87540032);
    assert_int_equal(java_hash_partition("t", 10), -1581226645);
    assert_int_equal(java_hash_partition("orders", 0), -1093576615);
    assert_int_equal(java_hash_partition("clicks", 0), 1627908499);
    assert_int_equal(java_hash_partition("Aa", 0), java_hash_partition("BB", 0));
    assert_int_equal(java_hash_partition("x", 2147483647), java_hash("[x,2147483647]"));
}

/* In the order that Java's String.compareTo gives; each text against each. Where the order of bytes
 * is another it is said. */
static void test_compare(void **state)
{
    (void)state;
    static const char *const sorted[] = {
        "",
        "g",
        "g_-1-0",
        "g_.1-0",
        "g_01-0",
        "g_C1-0",
        "g__1-0",
        "g_c1-0",
        "g_h1-0",
        "g_h1-10",
        "g_h1-2",
        "g_h1-2-0",
        "g_h1-2-1",
        "g_h1-3",
        "g_host10",
        "g_host9",
        "g_hostA",
        "h\xC2\x80", /* U+0080 */
        "h\xC3\xA9", /* U+00E9 */
        "h\xC3\xA9x",
        "h\xED\x9F\xBF",     /* U+D7FF */
        "h\xF0\x90\x80\x80", /* U+10000, two units from D800: before U+E000, by bytes behind it */
        "h\xF0\x90\x80\x81",
        "h\xF0\x90\x80\x81x",
        "h\xF4\x8F\xBF\xBF", /* U+10FFFF */
        "h\xEE\x80\x80",     /* U+E000 */
        "h\xEF\xBF\xBD",     /* U+FFFD */
    };
    for (size_t i = 0; i < ARRAY_LEN(sorted); i++)
        for (size_t j = 0; j < ARRAY_LEN(sorted); j++) {
            int c = java_compare(sorted[i], sorted[j]);
            int sign = (c > 0) - (c < 0), want = (i > j) - (i < j);
            if (sign != want)
                fail_msg("%s and %s: %d", sorted[i], sorted[j], c);
        }
}

/* Bytes that are no UTF-8 count as U+FFFD each, wherever the text ends. */
static void test_invalid_bytes(void **state)
{
    (void)state;
    assert_int_equal(java_compare("a\xFF", "a\xEF\xBF\xBD"), 0);
    assert_int_equal(java_compare("a\xC3", "a\xFF"), 0);
    assert_true(java_compare("a\xC3", "a\xFF\xFF") < 0);
    assert_int_equal(java_hash("\xFF"), 0xFFFD);
    assert_int_equal(java_hash("\xE2\x82"), 31 * 0xFFFD + 0xFFFD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_hash_of_a_partition),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_invalid_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
