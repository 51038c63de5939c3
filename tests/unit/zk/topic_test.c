#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "tests/unit/zk/plain.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/core/zk/topic.h"

static void describe(const struct zk_topic *t, struct buf *out)
{
    for (size_t i = 0; i < t->partition_count; i++) {
        buf_appendf(out, "%d(", t->partitions[i].partition);
        for (size_t j = 0; j < t->partitions[i].broker_count; j++)
            buf_appendf(out, "%s%d", j ? "," : "", t->partitions[i].broker_ids[j]);
        buf_append_text(out, ")");
    }
}

/* Kafka 0.8.2.2's ZkUtils.getPartitionsForTopics gives the same partitions, but throws at those
 * marked: there the whole attempt of a Java member fails, and here it is said in the log. */
static const struct {
    const char *name;
    const char *data;
    const char *want;
    const char *why; /* beginning; "": nothing to say */
} readable[] = {
    {"plain", "{\"version\":1,\"partitions\":{\"0\":[1,2],\"1\":[2,3],\"2\":[3,1]}}",
     "0(1,2)1(2,3)2(3,1)", ""},
    {"unordered (seen)", "{\"version\":1,\"partitions\":{\"2\":[0],\"1\":[1],\"3\":[1],\"0\":[0]}}",
     "0(0)1(1)2(0)3(1)", ""},
    {"by number, not by text", "{\"partitions\":{\"10\":[1],\"9\":[1],\"100\":[1]}}",
     "9(1)10(1)100(1)", ""},
    {"gaps", "{\"partitions\":{\"5\":[1],\"0\":[1],\"2147483647\":[1]}}", "0(1)5(1)2147483647(1)",
     ""},
    {"version 3",
     "{\"version\":3,\"topic_id\":\"Ay0vvYvdTGu7bQ2Nq7p1Bw\",\"partitions\":{\"0\":[1,2]},"
     "\"adding_replicas\":{},\"removing_replicas\":{}}",
     "0(1,2)", ""},
    {"one partition written in several ways", "{\"partitions\":{\"0\":[1],\"00\":[1],\"+0\":[1]}}",
     "0(1)", ""},
    {"replicas do not matter", "{\"partitions\":{\"0\":null,\"1\":[1,\"x\"],\"2\":[],\"3\":[1]}}",
     "0()1()2()3(1)", ""},
    {"replica out of range (Java throws)", "{\"partitions\":{\"0\":[2147483648]}}", "0()", ""},
    {"no partitions", "{\"version\":1,\"partitions\":{}}", "", ""},
    {"partitions missing", "{\"version\":1}", "", "\"partitions\" is missing"},
    {"partitions null (Java throws)", "{\"partitions\":null}", "", "\"partitions\" is no object"},
    {"partitions a list (Java throws)", "{\"partitions\":[0]}", "", "\"partitions\" is no object"},
    {"no data", "", "", "no data"},
    {"no JSON", "{\"partitions\":{\"0\":[1]}", "", "no JSON that can be read"},
    {"a list (Java throws)", "[]", "", "a JSON array"},
};

static void test_reads_as_java(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(readable); i++) {
        struct zk_topic t;
        struct why why;
        struct buf b;
        enum zkc_err err = zk_topic_read(bytes_of_text(readable[i].data), &t, &why);
        if (err)
            fail_msg("%s: %s (%s)", readable[i].name, zkc_err_name(err), why.text);
        buf_init(&b, 1000);
        describe(&t, &b);
        const char *want = readable[i].why;
        if (strcmp(buf_text(&b), readable[i].want) != 0 ||
            strncmp(why.text, want, strlen(want)) != 0 || (!want[0] && why.text[0]))
            fail_msg("%s: %s (%s)", readable[i].name, buf_text(&b), why.text);
        buf_deinit(&b);
        zk_topic_deinit(&t);
    }
    struct zk_topic t;
    struct why why;
    assert_int_equal(zk_topic_read(BYTES_NULL, &t, &why), ZKC_OK);
    assert_int_equal(t.partition_count, 0);
    assert_string_equal(why.text, "no data; expected a JSON object");
    zk_topic_deinit(&t);
}

static void test_refuses_what_is_no_number(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "x", "", " 1", "1 ", "-1", "+", "1.0", "2147483648", "99999999999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        char data[100], want[100];
        struct zk_topic t;
        struct why why;
        snprintf(data, sizeof data, "{\"partitions\":{\"0\":[1],\"%s\":[1]}}", keys[i]);
        snprintf(want, sizeof want, "partition \"%s\": expected a number in 0 .. 2147483647",
                 keys[i]);
        assert_int_equal(zk_topic_read(bytes_of_text(data), &t, &why), ZKC_ERR_CORRUPT);
        assert_string_equal(why.text, want);
    }
}

static void test_large_data(void **state)
{
    (void)state;
    char *data = calloc(1, ZK_DATA_BYTES_MAX + 1);
    struct zk_topic t;
    struct zk_partition_state s;
    struct why why;
    struct bytes all = bytes_of(data, ZK_DATA_BYTES_MAX + 1);
    assert_int_equal(zk_topic_read(all, &t, &why), ZKC_ERR_TOO_LARGE);
    assert_int_equal(zk_partition_state_read(all, &s, &why), ZKC_ERR_TOO_LARGE);
    free(data);
}

static void test_partition_state(void **state)
{
    (void)state;
    struct zk_partition_state s;
    struct why why;
    const char *data = "{\"controller_epoch\":4,\"leader\":2,\"version\":1,\"leader_epoch\":7,"
                       "\"isr\":[2,3],\"leader_recovery_state\":1}";
    assert_int_equal(zk_partition_state_read(bytes_of_text(data), &s, &why), ZKC_OK);
    assert_int_equal(s.controller_epoch, 4);
    assert_int_equal(s.leader, 2);
    assert_int_equal(s.leader_epoch, 7);
    assert_int_equal(s.isr_count, 2);
    assert_int_equal(s.isr[0], 2);
    assert_int_equal(s.isr[1], 3);
    zk_partition_state_deinit(&s);
    data = "{\"leader\":-1,\"leader_epoch\":1,\"isr\":[]}";
    assert_int_equal(zk_partition_state_read(bytes_of_text(data), &s, &why), ZKC_OK);
    assert_int_equal(s.leader, -1);
    assert_int_equal(s.controller_epoch, -1);
    assert_int_equal(s.isr_count, 0);
    zk_partition_state_deinit(&s);
}

static void test_partition_state_refused(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        const char *why; /* beginning */
    } cases[] = {
        {"", "no data"},
        {"{", "no JSON"},
        {"{\"leader_epoch\":1,\"isr\":[]}", "\"leader\" is missing; expected a 32-bit integer"},
        {"{\"leader\":\"1\",\"leader_epoch\":1,\"isr\":[]}", "\"leader\" is none"},
        {"{\"leader\":2147483648,\"leader_epoch\":1,\"isr\":[]}", "\"leader\" is none"},
        {"{\"leader\":1,\"isr\":[]}", "\"leader_epoch\" is missing"},
        {"{\"leader\":1,\"leader_epoch\":1,\"controller_epoch\":1.5,\"isr\":[]}",
         "\"controller_epoch\" is none"},
        {"{\"leader\":1,\"leader_epoch\":1}", "\"isr\" is missing or wrong"},
        {"{\"leader\":1,\"leader_epoch\":1,\"isr\":{}}", "\"isr\" is missing or wrong"},
        {"{\"leader\":1,\"leader_epoch\":1,\"isr\":[1,\"2\"]}", "\"isr\" is missing or wrong"},
        {"{\"leader\":1,\"leader_epoch\":1,\"isr\":[-2147483649]}", "\"isr\" is missing or wrong"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct zk_partition_state s;
        struct why why;
        enum zkc_err err = zk_partition_state_read(bytes_of_text(cases[i].data), &s, &why);
        if (err != ZKC_ERR_CORRUPT || strncmp(why.text, cases[i].why, strlen(cases[i].why)) != 0)
            fail_msg("%s: %s (%s)", cases[i].data, zkc_err_name(err), why.text);
    }
}

/* What was read, or why it was not; the text of jansson's message apart, which has a position. */
static void outcome(struct bytes data, struct buf *out)
{
    struct zk_topic t;
    struct why why;
    enum zkc_err err = zk_topic_read(data, &t, &why);
    buf_appendf(out, "%s %d ", zkc_err_name(err), why.text[0] != '\0');
    if (err)
        return;
    describe(&t, out);
    zk_topic_deinit(&t);
}

static void test_plain_is_read_as_others(void **state)
{
    (void)state;
    expect_same_when_changed("{\"version\":1,\"partitions\":{\"0\":[1,2],\"12\":[3],\"1\":[]}}",
                             outcome);
    static const char *const odd[] = {
        "{\"version\":1,\"partitions\":{\"0\":[1],\"0\":[2]}}",
        "{\"version\":1,\"partitions\":{\"1\":[1],\"0\":[2],\"1\":[3]}}",
        "{\"version\":1,\"partitions\":{\"999999999\":[999999999],\"1000000000\":[2147483647]}}",
        "{\"version\":1,\"partitions\":{\"0\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}}",
        "{\"version\":1,\"partitions\":{\"0\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}}"};
    for (size_t i = 0; i < ARRAY_LEN(odd); i++)
        expect_same_behind_a_blank(odd[i], strlen(odd[i]), outcome);
}

static enum zkc_err read_topic_once(const void *data)
{
    struct zk_topic t;
    struct why why;
    enum zkc_err err = zk_topic_read(bytes_of_text(data), &t, &why);
    if (!err)
        zk_topic_deinit(&t);
    return err;
}

static enum zkc_err read_state_once(const void *data)
{
    struct zk_partition_state s;
    struct why why;
    enum zkc_err err = zk_partition_state_read(bytes_of_text(data), &s, &why);
    if (!err)
        zk_partition_state_deinit(&s);
    return err;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    alloc_fail_each(read_topic_once, readable[0].data);
    alloc_fail_each(read_topic_once, "{ \"partitions\":{\"0\":[1,2],\"1\":[2]}}");
    alloc_fail_each(read_state_once, "{\"leader\":1,\"leader_epoch\":1,\"isr\":[1]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_as_java),
        cmocka_unit_test(test_refuses_what_is_no_number),
        cmocka_unit_test(test_large_data),
        cmocka_unit_test(test_partition_state),
        cmocka_unit_test(test_partition_state_refused),
        cmocka_unit_test(test_plain_is_read_as_others),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
