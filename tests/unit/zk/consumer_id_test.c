#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/zk/consumer_id.h"

static void test_generate(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        int64_t now_ms;
        uint64_t random;
        const char *want;
    } cases[] = {
        {"web07", 1424990000123, 0x9f3c21ab0123456f, "billing_web07-1424990000123-9f3c21ab"},
        {"web07", 1424990000123, 0x00000000000001ab, "billing_web07-1424990000123-1ab"},
        {"h", 0, 0x0f3c21ab01234567, "billing_h-0-f3c21ab0"}, /* no leading zeros */
        {"h", INT64_MIN, UINT64_MAX, "billing_h--9223372036854775808-ffffffff"},
        {"", 1, 0, "billing_-1-0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *id =
            zk_consumer_id_generate("billing", cases[i].host, cases[i].now_ms, cases[i].random);
        assert_string_equal(id, cases[i].want);
        free(id);
    }
}

static void test_fixed_and_thread(void **state)
{
    (void)state;
    char *id = zk_consumer_id_fixed("g", "c1");
    assert_string_equal(id, "g_c1");
    char *thread = zk_thread_id(id, 10);
    assert_string_equal(thread, "g_c1-10");
    free(thread);
    thread = zk_thread_id(id, INT32_MAX);
    assert_string_equal(thread, "g_c1-2147483647");
    free(thread);
    free(id);
}

static void test_back_to_the_consumer(void **state)
{
    (void)state;
    static const struct {
        const char *thread_id;
        const char *want; /* NULL: none */
    } cases[] = {
        {"g_web07-1424990000123-9f3c21ab-0", "g_web07-1424990000123-9f3c21ab"},
        {"g_c1-10", "g_c1"},
        {"g_c1-", "g_c1"},
        {"-0", ""},
        {"g_c1", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_true(bytes_equal_text(zk_thread_id_consumer(bytes_of_text(cases[i].thread_id)),
                                     cases[i].want));
    assert_true(bytes_is_null(zk_thread_id_consumer(BYTES_NULL)));
}

static enum zkc_err make_all(const void *input)
{
    (void)input;
    char *ids[] = {zk_consumer_id_generate("g", "h", 1, 2), zk_consumer_id_fixed("g", "c"),
                   zk_thread_id("g_c", 0)};
    size_t missing = 0;
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        missing += !ids[i];
        free(ids[i]);
    }
    return missing ? ZKC_ERR_NOMEM : ZKC_OK;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    alloc_fail_each(make_all, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generate),
        cmocka_unit_test(test_fixed_and_thread),
        cmocka_unit_test(test_back_to_the_consumer),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
