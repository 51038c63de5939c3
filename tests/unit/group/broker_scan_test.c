#include "tests/unit/test.h"
#include "zkconsumer/core/group/broker_scan.h"

#define GOOD     "{\"host\":\"h\",\"port\":9092,\"version\":1}"
#define ENDPOINT "{\"endpoints\":[\"PLAINTEXT://e:9093\"],\"host\":null,\"port\":-1,\"version\":4}"
#define TLS_ONLY "{\"endpoints\":[\"SSL://e:9093\"],\"host\":null,\"port\":-1,\"version\":4}"

struct node {
    const char *name;
    int zk_rc;
    const char *data;
};

/* The nodes in the server's order; `asks` is the order in which they are read. `want` names the
 * brokers found, as id=host:port, with - for no address; NULL: the scan fails. */
static const struct scan_case {
    const char *name;
    enum scan_mode mode;
    struct node nodes[4];
    const char *asks;
    const char *want;
    enum zkc_err err;
    const char *why; /* part of it */
} cases[] = {
    {"none", SCAN_USABLE, {{0}}, "", "", ZKC_OK, NULL},
    {"none, strict", SCAN_STRICT, {{0}}, "", "", ZKC_OK, NULL},
    {"in string order",
     SCAN_STRICT,
     {{"9", ZK_OK, GOOD}, {"2", ZK_OK, GOOD}, {"10", ZK_OK, GOOD}},
     "10 2 9 ",
     "10=h:9092 2=h:9092 9=h:9092 ",
     ZKC_OK,
     NULL},
    {"one vanishes, usable",
     SCAN_USABLE,
     {{"1", ZK_NO_NODE, NULL}, {"2", ZK_OK, GOOD}},
     "1 2 ",
     "2=h:9092 ",
     ZKC_OK,
     NULL},
    {"one vanishes, present",
     SCAN_PRESENT,
     {{"1", ZK_NO_NODE, NULL}, {"2", ZK_OK, GOOD}},
     "1 2 ",
     "2=h:9092 ",
     ZKC_OK,
     NULL},
    {"refused, present",
     SCAN_PRESENT,
     {{"1", ZK_NO_AUTH, NULL}},
     "1 ",
     NULL,
     ZKC_ERR_ZOOKEEPER,
     "NoAuth"},
    {"broken data, present",
     SCAN_PRESENT,
     {{"1", ZK_OK, "{"}},
     "1 ",
     NULL,
     ZKC_ERR_CORRUPT,
     "/brokers/ids/1: "},
    {"no number, present",
     SCAN_PRESENT,
     {{"x1", ZK_OK, GOOD}},
     "x1 ",
     NULL,
     ZKC_ERR_CORRUPT,
     "must be a number"},
    {"one vanishes, strict",
     SCAN_STRICT,
     {{"1", ZK_NO_NODE, NULL}, {"2", ZK_OK, GOOD}},
     "1 ",
     NULL,
     ZKC_ERR_ZOOKEEPER,
     "getData /brokers/ids/1: NoNode"},
    {"refused, strict",
     SCAN_STRICT,
     {{"1", ZK_NO_AUTH, NULL}},
     "1 ",
     NULL,
     ZKC_ERR_ZOOKEEPER,
     "NoAuth"},
    {"refused, usable",
     SCAN_USABLE,
     {{"1", ZK_NO_AUTH, NULL}, {"2", ZK_OK, GOOD}},
     "1 2 ",
     "2=h:9092 ",
     ZKC_OK,
     NULL},
    {"no number, strict",
     SCAN_STRICT,
     {{"x1", ZK_OK, GOOD}, {"2", ZK_OK, GOOD}},
     "2 x1 ",
     NULL,
     ZKC_ERR_CORRUPT,
     "/brokers/ids/x1: the name of a broker's node must be a number"},
    {"no numbers, usable",
     SCAN_USABLE,
     {{"1x", ZK_OK, GOOD}, {"-3", ZK_OK, GOOD}, {"2147483648", ZK_OK, GOOD}, {"7", ZK_OK, GOOD}},
     "-3 1x 2147483648 7 ",
     "7=h:9092 ",
     ZKC_OK,
     NULL},
    {"largest number",
     SCAN_STRICT,
     {{"2147483647", ZK_OK, GOOD}},
     "2147483647 ",
     "2147483647=h:9092 ",
     ZKC_OK,
     NULL},
    {"host:null, reached by its endpoint",
     SCAN_STRICT,
     {{"1", ZK_OK, ENDPOINT}},
     "1 ",
     "1=e:9093 ",
     ZKC_OK,
     NULL},
    {"no plain text endpoint: counts, without an address",
     SCAN_STRICT,
     {{"1", ZK_OK, TLS_ONLY}, {"2", ZK_OK, GOOD}},
     "1 2 ",
     "1=- 2=h:9092 ",
     ZKC_OK,
     NULL},
    {"broken data, strict",
     SCAN_STRICT,
     {{"1", ZK_OK, "{"}},
     "1 ",
     NULL,
     ZKC_ERR_CORRUPT,
     "/brokers/ids/1: "},
    {"broken data, usable",
     SCAN_USABLE,
     {{"1", ZK_OK, "{"}, {"2", ZK_OK, GOOD}},
     "1 2 ",
     "2=h:9092 ",
     ZKC_OK,
     NULL},
    {"null data, usable", SCAN_USABLE, {{"1", ZK_OK, NULL}}, "1 ", "", ZKC_OK, NULL},
};

static const struct node *node_of(const struct scan_case *c, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    for (size_t i = 0; i < ARRAY_LEN(c->nodes) && c->nodes[i].name; i++)
        if (strcmp(c->nodes[i].name, name) == 0)
            return &c->nodes[i];
    fail_msg("%s: %s is read", c->name, path);
    return NULL;
}

static void print_found(const struct broker_scan *s, char *text, size_t size)
{
    size_t n = 0;
    text[0] = 0;
    for (size_t i = 0; i < s->broker_count; i++) {
        const struct scanned_broker *b = &s->brokers[i];
        if (b->broker.host)
            n += (size_t)snprintf(text + n, size - n, "%d=%s:%d ", b->id, b->broker.host,
                                  b->broker.port);
        else
            n += (size_t)snprintf(text + n, size - n, "%d=- ", b->id);
        assert_int_equal(b->why.text[0] != 0, b->broker.host == NULL);
    }
}

static void run(const struct scan_case *c)
{
    struct broker_scan s = {0};
    struct zk_op op;
    struct why why;
    enum zkc_err err;
    char asked[200] = "", found[200];
    const char *names[ARRAY_LEN(c->nodes)];
    size_t count = 0;
    while (count < ARRAY_LEN(c->nodes) && c->nodes[count].name) {
        names[count] = c->nodes[count].name;
        count++;
    }
    broker_scan_begin(&s, c->mode, true, &op);
    assert_true(op.type == ZK_OP_CHILDREN && op.watch && strcmp(op.path, "/brokers/ids") == 0);
    struct zk_result result = {.children = names, .children_count = count};
    enum scan_step step = broker_scan_next(&s, &result, &op, &err, &why);
    while (step == SCAN_SEND) {
        assert_true(op.type == ZK_OP_GET && !op.watch);
        const struct node *n = node_of(c, op.path);
        strcat(strcat(asked, n->name), " ");
        result = (struct zk_result){.zk_rc = n->zk_rc, .data = bytes_of_text(n->data)};
        step = broker_scan_next(&s, &result, &op, &err, &why);
    }
    print_found(&s, found, sizeof found);
    if (strcmp(asked, c->asks) != 0)
        fail_msg("%s: asked for %s", c->name, asked);
    if ((step == SCAN_DONE) != (c->want != NULL) || err != c->err)
        fail_msg("%s: step %d, %s", c->name, step, zkc_err_name(err));
    if (c->want && strcmp(found, c->want) != 0)
        fail_msg("%s: found %s", c->name, found);
    if (c->why && !strstr(why.text, c->why))
        fail_msg("%s: %s", c->name, why.text);
    broker_scan_deinit(&s);
}

static void test_brokers(void **state)
{
    (void)state;
    for (const struct scan_case *c = cases; c < cases + ARRAY_LEN(cases); c++)
        run(c);
}

/* The list itself cannot be read. A missing one is an empty one, also for a strict scan. */
static void test_list(void **state)
{
    (void)state;
    static const struct {
        int zk_rc;
        enum scan_step want;
        enum zkc_err err;
    } lists[] = {{ZK_NO_NODE, SCAN_DONE, ZKC_OK}, {ZK_NO_AUTH, SCAN_FAILED, ZKC_ERR_ZOOKEEPER}};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (int mode = SCAN_STRICT; mode <= SCAN_USABLE; mode++) {
            struct broker_scan s = {0};
            struct zk_op op;
            struct why why;
            enum zkc_err err;
            broker_scan_begin(&s, (enum scan_mode)mode, false, &op);
            assert_false(op.watch);
            struct zk_result result = {.zk_rc = lists[i].zk_rc};
            assert_int_equal(broker_scan_next(&s, &result, &op, &err, &why), lists[i].want);
            assert_int_equal(err, lists[i].err);
            assert_int_equal(s.broker_count, 0);
            broker_scan_deinit(&s);
        }
}

static enum scan_step scan_names(const char *const *names, size_t count, enum scan_mode mode,
                                 struct why *why)
{
    struct broker_scan s = {0};
    struct zk_op op;
    enum zkc_err err;
    broker_scan_begin(&s, mode, false, &op);
    struct zk_result result = {.children = names, .children_count = count};
    enum scan_step step = broker_scan_next(&s, &result, &op, &err, why);
    broker_scan_deinit(&s);
    return step;
}

static void test_limits(void **state)
{
    (void)state;
    static const char *many[BROKER_SCAN_MAX + 1];
    struct why why;
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = "1";
    assert_int_equal(scan_names(many, BROKER_SCAN_MAX, SCAN_STRICT, &why), SCAN_SEND);
    assert_int_equal(scan_names(many, BROKER_SCAN_MAX + 1, SCAN_STRICT, &why), SCAN_FAILED);
    assert_non_null(strstr(why.text, "10001 nodes"));

    char name[100];
    memset(name, '1', sizeof name);
    name[sizeof name - 1] = 0;
    const char *names[] = {name, "2"};
    assert_int_equal(scan_names(names, 1, SCAN_STRICT, &why), SCAN_FAILED);
    assert_non_null(strstr(why.text, "a name of more than"));
    assert_int_equal(scan_names(names, 2, SCAN_USABLE, &why),
                     SCAN_SEND); /* skipped like any other */
}

/* A scan may be begun again at any point. */
static void test_begin_again(void **state)
{
    (void)state;
    static const char *const names[] = {"1", "2"};
    struct broker_scan s = {0};
    struct zk_op op;
    struct why why;
    enum zkc_err err;
    for (int answers = 0; answers <= 3; answers++) {
        broker_scan_begin(&s, SCAN_STRICT, false, &op);
        for (int i = 0; i < answers; i++) {
            struct zk_result result = {.data = bytes_of_text(GOOD)};
            if (i == 0)
                result = (struct zk_result){.children = names, .children_count = 2};
            assert_int_equal(broker_scan_next(&s, &result, &op, &err, &why),
                             i == 2 ? SCAN_DONE : SCAN_SEND);
        }
    }
    assert_int_equal(s.broker_count, 2);
    broker_scan_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brokers),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_begin_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
