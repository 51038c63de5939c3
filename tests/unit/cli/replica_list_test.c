#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/cli/replica_list.h"
#include <stdio.h>
#include <stdlib.h>

/* As it was written, without blanks. */
static const char *written(const struct zk_topic *t, char *out, size_t size)
{
    size_t len = 0;
    out[0] = 0;
    for (size_t i = 0; i < t->partition_count; i++) {
        assert_int_equal(t->partitions[i].partition, i);
        for (size_t k = 0; k < t->partitions[i].broker_count; k++)
            len += (size_t)snprintf(out + len, size - len, "%s%d",
                                    k   ? ":"
                                    : i ? ","
                                        : "",
                                    t->partitions[i].broker_ids[k]);
    }
    return out;
}

static void test_lists(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *out; /* what is read; else what is wrong */
        enum zkc_err err;
    } cases[] = {
        {"0", "0", ZKC_OK},
        {"1:2,2:1", "1:2,2:1", ZKC_OK},
        {" 1 : 2 , 2 : 3 ", "1:2,2:3", ZKC_OK},
        {"7,7,2147483647", "7,7,2147483647", ZKC_OK},
        {"", "partition 0: \"\" is no broker's number", ZKC_ERR_CONFIG},
        {"1,", "partition 1: \"\" is no broker's number", ZKC_ERR_CONFIG},
        {",1", "partition 0: \"\" is no broker's number", ZKC_ERR_CONFIG},
        {"1:", "partition 0: \"\" is no broker's number", ZKC_ERR_CONFIG},
        {"1:a", "partition 0: \"a\" is no broker's number", ZKC_ERR_CONFIG},
        {"-1", "partition 0: \"-1\" is no broker's number", ZKC_ERR_CONFIG},
        {"1 2", "partition 0: \"1 2\" is no broker's number", ZKC_ERR_CONFIG},
        {"2147483648", "partition 0: \"2147483648\" is no broker's number", ZKC_ERR_CONFIG},
        {"1:2,3:3", "partition 1 has broker 3 twice", ZKC_ERR_CONFIG},
        {"1:2,3", "partition 1 has 1 replicas, partition 0 has 2", ZKC_ERR_CONFIG},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct zk_topic t;
        struct why why;
        char text[128];
        enum zkc_err err = replica_list_parse(cases[i].text, &t, &why);
        assert_int_equal(err, cases[i].err);
        assert_string_equal(err ? why.text : written(&t, text, sizeof text), cases[i].out);
        if (!err)
            zk_topic_deinit(&t);
    }
}

static void test_limits(void **state)
{
    (void)state;
    size_t size = 2 * (size_t)(REPLICA_LIST_PARTITIONS_MAX + 1);
    char *text = malloc(size);
    struct zk_topic t;
    struct why why;
    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = i % 2 ? ',' : '1';
    text[size - 1] = 0;
    assert_int_equal(replica_list_parse(text, &t, &why), ZKC_ERR_CONFIG);
    text[size - 3] = 0;
    assert_int_equal(replica_list_parse(text, &t, &why), ZKC_OK);
    assert_int_equal(t.partition_count, REPLICA_LIST_PARTITIONS_MAX);
    zk_topic_deinit(&t);
    for (size_t i = 0; i < size; i++)
        text[i] = i % 2 ? ':' : '1';
    text[2 * REPLICA_LIST_REPLICAS_MAX + 1] = 0;
    assert_int_equal(replica_list_parse(text, &t, &why), ZKC_ERR_CONFIG);
    assert_string_equal(why.text, "partition 0 has 1001 replicas");
    free(text);
}

static enum zkc_err parse(const void *input)
{
    struct zk_topic t;
    struct why why;
    enum zkc_err err = replica_list_parse(input, &t, &why);
    if (!err)
        zk_topic_deinit(&t);
    return err;
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    alloc_fail_each(parse, "1:2,2:3,3:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
