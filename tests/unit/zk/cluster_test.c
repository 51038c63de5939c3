/* Contents of the cluster's znodes, as Kafka 0.8.2.2 wrote them. */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/zk/cluster.h"

static void assert_written(struct buf *out, const char *want)
{
    assert_string_equal(buf_text(out), want);
    buf_clear(out);
}

static void test_written(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 10000);
    zk_broker_write(&out, "127.0.0.1", 39301, -1, INT64_C(1795964960328));
    assert_written(&out, "{\"jmx_port\":-1,\"timestamp\":\"1795964960328\",\"host\":\"127.0.0.1\","
                         "\"version\":1,\"port\":39301}");
    zk_broker_write(&out, "a\"b", 1, 99, 0);
    assert_written(
        &out, "{\"jmx_port\":99,\"timestamp\":\"0\",\"host\":\"a\\\"b\",\"version\":1,\"port\":1}");

    int32_t r0[] = {0, 1}, r1[] = {1, 0};
    struct zk_replicas partitions[] = {{0, r0, 2}, {1, r1, 2}, {2, r0, 2}};
    zk_topic_write(&out, partitions, 2);
    assert_written(&out, "{\"version\":1,\"partitions\":{\"1\":[1,0],\"0\":[0,1]}}");
    zk_topic_write(&out, partitions, 3);
    assert_written(&out, "{\"version\":1,\"partitions\":{\"2\":[0,1],\"1\":[1,0],\"0\":[0,1]}}");
    zk_topic_write(&out, NULL, 0);
    assert_written(&out, "{\"version\":1,\"partitions\":{}}");

    struct zk_partition_state s = {
        .leader = 2, .leader_epoch = 0, .controller_epoch = 1, .isr = r1, .isr_count = 2};
    zk_partition_state_write(&out, &s);
    assert_written(
        &out,
        "{\"controller_epoch\":1,\"leader\":2,\"version\":1,\"leader_epoch\":0,\"isr\":[1,0]}");
    s = (struct zk_partition_state){.leader = -1, .leader_epoch = 2, .controller_epoch = 1};
    zk_partition_state_write(&out, &s);
    assert_written(
        &out, "{\"controller_epoch\":1,\"leader\":-1,\"version\":1,\"leader_epoch\":2,\"isr\":[]}");

    zk_controller_write(&out, 1, INT64_C(1795965515097));
    assert_written(&out, "{\"version\":1,\"brokerid\":1,\"timestamp\":\"1795965515097\"}");
    zk_topic_config_write(&out, NULL, 0);
    assert_written(&out, "{\"version\":1,\"config\":{}}");
    struct zk_setting settings[] = {{"cleanup.policy", "compact"}, {"segment.bytes", "104857600"}};
    zk_topic_config_write(&out, settings, 2);
    assert_written(&out, "{\"version\":1,\"config\":{\"cleanup.policy\":\"compact\",\"segment."
                         "bytes\":\"104857600\"}}");
    buf_deinit(&out);
}

static void test_controller_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        enum zkc_err want;
        int32_t id;
    } cases[] = {
        {"{\"version\":1,\"brokerid\":1,\"timestamp\":\"1795965515097\"}", ZKC_OK, 1},
        {"{\"version\":2,\"brokerid\":0,\"timestamp\":\"1\",\"kraftControllerEpoch\":-1}", ZKC_OK,
         0},
        {"7", ZKC_OK, 7},
        {"-7", ZKC_ERR_CORRUPT, 0},
        {"2147483648", ZKC_ERR_CORRUPT, 0},
        {"", ZKC_ERR_CORRUPT, 0},
        {NULL, ZKC_ERR_CORRUPT, 0},
        {"{\"brokerid\":\"1\"}", ZKC_ERR_CORRUPT, 0},
        {"{\"brokerid\":-1}", ZKC_ERR_CORRUPT, 0},
        {"{}", ZKC_ERR_CORRUPT, 0},
        {"[1]", ZKC_ERR_CORRUPT, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int32_t id = 0;
        struct why why;
        enum zkc_err got = zk_controller_read(bytes_of_text(cases[i].data), &id, &why);
        if (got != cases[i].want || id != cases[i].id || (why.text[0] != 0) != (got != ZKC_OK))
            fail_msg("%s: %s, %d, \"%s\"", cases[i].data, zkc_err_name(got), id, why.text);
    }
    int32_t epoch;
    struct why why;
    assert_int_equal(zk_controller_epoch_read(bytes_of_text("12"), &epoch, &why), ZKC_OK);
    assert_int_equal(epoch, 12);
    assert_int_equal(zk_controller_epoch_read(bytes_of_text("1 "), &epoch, &why), ZKC_ERR_CORRUPT);
}

static enum zkc_err collect(const struct zk_setting *s, void *user)
{
    buf_appendf(user, "%s=%s;", s->key, s->value);
    return strcmp(s->key, "stop") == 0 ? ZKC_ERR_INVALID : ZKC_OK;
}

static void test_configuration_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        enum zkc_err want;
        const char *settings;
    } cases[] = {
        {"{\"version\":1,\"config\":{}}", ZKC_OK, ""},
        {"{\"version\":1,\"config\":{\"retention.ms\":\"86400000\"}}", ZKC_OK,
         "retention.ms=86400000;"},
        {"{\"version\":1,\"config\":{\"a\":\"1\",\"number\":2,\"b\":\"\"}}", ZKC_OK, "a=1;b=;"},
        {"{\"version\":1,\"config\":{\"stop\":\"1\",\"b\":\"2\"}}", ZKC_ERR_INVALID, "stop=1;"},
        {"", ZKC_OK, ""},
        {NULL, ZKC_OK, ""},
        {"{\"version\":1}", ZKC_ERR_CORRUPT, ""},
        {"{\"config\":[]}", ZKC_ERR_CORRUPT, ""},
        {"{", ZKC_ERR_CORRUPT, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf out;
        struct why why;
        buf_init(&out, 1000);
        enum zkc_err got = zk_topic_config_read(bytes_of_text(cases[i].data), collect, &out, &why);
        if (got != cases[i].want || strcmp(buf_text(&out), cases[i].settings) != 0)
            fail_msg("%s: %s, \"%s\"", cases[i].data, zkc_err_name(got), buf_text(&out));
        buf_deinit(&out);
    }
}

/* AdminUtilsTest.testReplicaAssignment of Kafka 0.8.2: start and shift 0, 5 brokers, 3 replicas. */
static void test_placement_of_kafka(void **state)
{
    (void)state;
    static const size_t want[10][3] = {{0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 0}, {4, 0, 1},
                                       {0, 2, 3}, {1, 3, 4}, {2, 4, 0}, {3, 0, 1}, {4, 1, 2}};
    for (int32_t p = 0; p < 10; p++)
        for (size_t r = 0; r < 3; r++)
            assert_int_equal(zk_replica_broker(5, 0, 0, 0, p, r), want[p][r]);
}

/* The loop of AdminUtils, against the formula, for all small numbers. */
static void test_placement(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 5; n++)
        for (size_t start = 0; start < n; start++)
            for (size_t shift = 0; shift < n; shift++)
                for (int32_t first = 0; first < 12; first++) {
                    size_t next_shift = shift;
                    for (int32_t p = first; p < first + 15; p++) {
                        if (p > 0 && (size_t)p % n == 0)
                            next_shift++;
                        size_t leader = ((size_t)p + start) % n;
                        assert_int_equal(zk_replica_broker(n, start, shift, first, p, 0), leader);
                        for (size_t r = 1; r < n; r++)
                            assert_int_equal(zk_replica_broker(n, start, shift, first, p, r),
                                             (leader + 1 + (next_shift + r - 1) % (n - 1)) % n);
                    }
                }
}

static void test_paths(void **state)
{
    (void)state;
    char *config = zk_path_topic_config("t"), *delete = zk_path_delete_topic("t");
    assert_string_equal(config, "/config/topics/t");
    assert_string_equal(delete, "/admin/delete_topics/t");
    free(config);
    free(delete);
}

static enum zkc_err make_paths(const void *input)
{
    char *config = zk_path_topic_config(input),
         *delete = config ? zk_path_delete_topic(input) : NULL;
    bool ok = config && delete;
    free(config);
    free(delete);
    return ok ? ZKC_OK : ZKC_ERR_NOMEM;
}

static void test_without_memory(void **state)
{
    (void)state;
    alloc_fail_each(make_paths, "t");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_controller_is_read),
        cmocka_unit_test(test_configuration_is_read),
        cmocka_unit_test(test_placement_of_kafka),
        cmocka_unit_test(test_placement),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
