#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/zk/broker.h"
#include "zkconsumer/core/zk/path.h"

static const struct {
    const char *name;
    const char *data;
    const char *host;
    int32_t port, version;
} readable[] = {
    {"0.8.2.2 (seen)",
     "{\"jmx_port\":-1,\"timestamp\":\"1795964960328\",\"host\":\"127.0.0.1\",\"version\":1,"
     "\"port\":39301}",
     "127.0.0.1", 39301, 1},
    {"0.9",
     "{\"jmx_port\":-1,\"timestamp\":\"1\",\"endpoints\":[\"PLAINTEXT://h:9092\"],\"host\":\"h\","
     "\"version\":2,\"port\":9092}",
     "h", 9092, 2},
    {"2.3.1 (seen)",
     "{\"listener_security_protocol_map\":{\"PLAINTEXT\":\"PLAINTEXT\"},\"endpoints\":["
     "\"PLAINTEXT://127.0.0.1:39411\"],\"jmx_port\":-1,\"host\":\"127.0.0.1\",\"timestamp\":"
     "\"1795965555559\",\"port\":39411,\"version\":4}",
     "127.0.0.1", 39411, 4},
    {"version 5",
     "{\"features\":{},\"listener_security_protocol_map\":{\"PLAINTEXT\":\"PLAINTEXT\"},"
     "\"endpoints\":[\"PLAINTEXT://h:9092\"],\"jmx_port\":-1,\"port\":9092,\"host\":\"h\","
     "\"version\":5,\"timestamp\":\"1600000000000\"}",
     "h", 9092, 5},
    {"no host, an endpoint by its protocol",
     "{\"host\":null,\"port\":-1,\"version\":2,\"endpoints\":[\"SSL://s:9093\","
     "\"PLAINTEXT://p:9092\"]}",
     "p", 9092, 2},
    {"no host, an endpoint by the map",
     "{\"host\":null,\"port\":-1,\"version\":4,\"endpoints\":[\"CLIENT://host1:9092\","
     "\"REPLICATION://host2:9093\"],\"listener_security_protocol_map\":{\"CLIENT\":\"SSL\","
     "\"REPLICATION\":\"PLAINTEXT\"},\"rack\":\"dc1\"}",
     "host2", 9093, 4},
    {"the map counts, not the name",
     "{\"version\":4,\"endpoints\":[\"PLAINTEXT://a:1\",\"B://b:2\"],"
     "\"listener_security_protocol_map\":{\"PLAINTEXT\":\"SASL_SSL\",\"B\":\"PLAINTEXT\"}}",
     "b", 2, 4},
    {"the first of several",
     "{\"version\":2,\"endpoints\":[\"PLAINTEXT://a:1\",\"PLAINTEXT://b:2\"]}", "a", 1, 2},
    {"IPv6", "{\"version\":2,\"endpoints\":[\"PLAINTEXT://[::1]:9092\"]}", "::1", 9092, 2},
    {"IPv6 without brackets", "{\"version\":2,\"endpoints\":[\"PLAINTEXT://fe80::1:9092\"]}",
     "fe80::1", 9092, 2},
    {"endpoints that cannot be read are passed over",
     "{\"endpoints\":[5,null,\"\",\"PLAINTEXT\",\"PLAINTEXT://\",\"PLAINTEXT://h\","
     "\"PLAINTEXT://h:\",\"PLAINTEXT://h:0\",\"PLAINTEXT://h:65536\",\"PLAINTEXT://h:x\","
     "\"PLAINTEXT://:9092\",\"PLAINTEXT://[]:9092\",\"PLAINTEXT://ok:1\"]}",
     "ok", 1, 0},
    {"host without a port", "{\"host\":\"h\",\"endpoints\":[\"PLAINTEXT://e:2\"]}", "e", 2, 0},
    {"port as text", "{\"host\":\"h\",\"port\":\"9\",\"endpoints\":[\"PLAINTEXT://e:2\"]}", "e", 2,
     0},
    {"empty host", "{\"host\":\"\",\"port\":9,\"endpoints\":[\"PLAINTEXT://e:2\"]}", "e", 2, 0},
    {"port out of range", "{\"host\":\"h\",\"port\":65536,\"endpoints\":[\"PLAINTEXT://e:2\"]}",
     "e", 2, 0},
    {"odd version", "{\"host\":\"h\",\"port\":9,\"version\":-3}", "h", 9, 0},
};

static void test_reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(readable); i++) {
        struct zk_broker b;
        struct why why;
        enum zkc_err err = zk_broker_read(bytes_of_text(readable[i].data), &b, &why);
        if (err)
            fail_msg("%s: %s (%s)", readable[i].name, zkc_err_name(err), why.text);
        if (strcmp(b.host, readable[i].host) != 0 || b.port != readable[i].port ||
            b.version != readable[i].version || why.text[0])
            fail_msg("%s: %s %d version %d", readable[i].name, b.host, b.port, b.version);
        zk_broker_deinit(&b);
    }
}

static const struct {
    const char *data;
    enum zkc_err err;
    const char *why; /* beginning */
} refused[] = {
    {"", ZKC_ERR_CORRUPT, "no data"},
    {"x", ZKC_ERR_CORRUPT, "no JSON"},
    {"[]", ZKC_ERR_CORRUPT, "a JSON array"},
    {"{}", ZKC_ERR_CORRUPT, "no usable \"host\" and \"port\", and no \"endpoints\""},
    {"{\"host\":null,\"port\":-1,\"endpoints\":[]}", ZKC_ERR_CORRUPT, "no usable"},
    {"{\"host\":null,\"port\":-1,\"endpoints\":\"x\"}", ZKC_ERR_CORRUPT, "no usable"},
    {"{\"host\":null,\"port\":-1,\"endpoints\":[\"SSL://h:9093\",\"SASL_PLAINTEXT://h:9094\"]}",
     ZKC_ERR_UNREACHABLE,
     "no endpoint without encryption or authentication (PLAINTEXT), only "
     "[\"SSL://h:9093\",\"SASL_PLAINTEXT://h:9094\"]: this client speaks neither TLS nor SASL"},
    {"{\"endpoints\":[\"PLAINTEXT://h:1\"],\"listener_security_protocol_map\":{\"PLAINTEXT\":"
     "\"SSL\"}}",
     ZKC_ERR_UNREACHABLE, "no endpoint without encryption"},
};

static void test_says_why_it_is_not_reachable(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct zk_broker b;
        struct why why;
        enum zkc_err err = zk_broker_read(bytes_of_text(refused[i].data), &b, &why);
        if (err != refused[i].err || strncmp(why.text, refused[i].why, strlen(refused[i].why)) != 0)
            fail_msg("%s: %s (%s)", refused[i].data, zkc_err_name(err), why.text);
    }
}

static void test_null_and_large_data(void **state)
{
    (void)state;
    struct zk_broker b;
    struct why why;
    char *data = calloc(1, ZK_DATA_BYTES_MAX + 1);
    assert_int_equal(zk_broker_read(BYTES_NULL, &b, &why), ZKC_ERR_CORRUPT);
    assert_int_equal(zk_broker_read(bytes_of(data, ZK_DATA_BYTES_MAX + 1), &b, &why),
                     ZKC_ERR_TOO_LARGE);
    free(data);
}

/* A host name that no resolver would take is none; the endpoint is. */
static void test_long_host(void **state)
{
    (void)state;
    char data[600], host[257];
    for (int len = 255; len <= 256; len++) {
        struct zk_broker b;
        struct why why;
        memset(host, 'h', (size_t)len);
        host[len] = '\0';
        snprintf(data, sizeof data,
                 "{\"host\":\"%s\",\"port\":1,\"endpoints\":[\"PLAINTEXT://e:2\"]}", host);
        assert_int_equal(zk_broker_read(bytes_of_text(data), &b, &why), ZKC_OK);
        assert_int_equal(b.port, len == 255 ? 1 : 2);
        zk_broker_deinit(&b);
        snprintf(data, sizeof data, "{\"endpoints\":[\"PLAINTEXT://%s:1\",\"PLAINTEXT://e:2\"]}",
                 host);
        assert_int_equal(zk_broker_read(bytes_of_text(data), &b, &why), ZKC_OK);
        assert_int_equal(b.port, len == 255 ? 1 : 2);
        zk_broker_deinit(&b);
    }
}

static enum zkc_err read_once(const void *data)
{
    struct zk_broker b;
    struct why why;
    enum zkc_err err = zk_broker_read(bytes_of_text(data), &b, &why);
    if (!err)
        zk_broker_deinit(&b);
    return err;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    alloc_fail_each(read_once, readable[0].data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_says_why_it_is_not_reachable),
        cmocka_unit_test(test_null_and_large_data),
        cmocka_unit_test(test_long_host),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
