#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/zk/path.h"

/* ---- building ---- */

#define PATHS_MAX 14

static size_t build_all(char *paths[PATHS_MAX])
{
    size_t n = 0;
    paths[n++] = zk_path_group("g");
    paths[n++] = zk_path_ids("g");
    paths[n++] = zk_path_id("g", "g_web07-1424990000123-9f3c21ab");
    paths[n++] = zk_path_owners("g");
    paths[n++] = zk_path_owner_topic("g", "orders");
    paths[n++] = zk_path_owner("g", "orders", 3);
    paths[n++] = zk_path_offsets("g");
    paths[n++] = zk_path_offset_topic("g", "orders");
    paths[n++] = zk_path_offset("g", "orders", INT32_MAX);
    paths[n++] = zk_path_broker(12);
    paths[n++] = zk_path_topic("orders");
    paths[n++] = zk_path_partitions("orders");
    paths[n++] = zk_path_partition("orders", 0);
    paths[n++] = zk_path_partition_state("orders", 0);
    return n;
}

static void test_build(void **state)
{
    (void)state;
    static const char *const want[PATHS_MAX] = {
        "/consumers/g",
        "/consumers/g/ids",
        "/consumers/g/ids/g_web07-1424990000123-9f3c21ab",
        "/consumers/g/owners",
        "/consumers/g/owners/orders",
        "/consumers/g/owners/orders/3",
        "/consumers/g/offsets",
        "/consumers/g/offsets/orders",
        "/consumers/g/offsets/orders/2147483647",
        "/brokers/ids/12",
        "/brokers/topics/orders",
        "/brokers/topics/orders/partitions",
        "/brokers/topics/orders/partitions/0",
        "/brokers/topics/orders/partitions/0/state",
    };
    char *paths[PATHS_MAX];
    assert_int_equal(build_all(paths), PATHS_MAX);
    for (size_t i = 0; i < PATHS_MAX; i++) {
        assert_string_equal(paths[i], want[i]);
        free(paths[i]);
    }
}

static enum zkc_err build_once(const void *input)
{
    (void)input;
    char *paths[PATHS_MAX];
    size_t missing = 0;
    build_all(paths);
    for (size_t i = 0; i < PATHS_MAX; i++) {
        missing += !paths[i];
        free(paths[i]);
    }
    return missing ? ZKC_ERR_NOMEM : ZKC_OK;
}

static void test_build_out_of_memory(void **state)
{
    (void)state;
    alloc_fail_each(build_once, NULL);
}

/* ---- parents and leaves ---- */

static void test_parents(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *parent; /* "": the root */
        const char *leaf;
    } cases[] = {
        {"/consumers/g/ids/c", "/consumers/g/ids", "c"},
        {"/consumers/g", "/consumers", "g"},
        {"/consumers", "", "consumers"},
        {"/", "", ""},
        {"", "", ""},
        {"name", "", "name"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(zk_path_parent_length(cases[i].path), strlen(cases[i].parent));
        assert_string_equal(zk_path_leaf(cases[i].path), cases[i].leaf);
    }
}

/* ---- taking apart ---- */

static const struct {
    const char *path;
    enum zk_path_kind kind;
    const char *group, *topic, *name;
    int32_t partition;
} parsed[] = {
    {"/consumers/g", ZK_PATH_GROUP, "g", NULL, NULL, -1},
    {"/consumers/g/ids", ZK_PATH_IDS, "g", NULL, NULL, -1},
    {"/consumers/g/ids/g_c-0", ZK_PATH_ID, "g", NULL, "g_c-0", -1},
    {"/consumers/g/owners/t/0", ZK_PATH_OWNER, "g", "t", NULL, 0},
    {"/consumers/g/offsets/t/2147483647", ZK_PATH_OFFSET, "g", "t", NULL, 2147483647},
    {"/consumers/ids/owners/offsets/10", ZK_PATH_OWNER, "ids", "offsets", NULL, 10},
    {"/brokers/ids", ZK_PATH_BROKERS, NULL, NULL, NULL, -1},
    {"/brokers/ids/12", ZK_PATH_BROKER, NULL, NULL, "12", -1},
    {"/brokers/topics", ZK_PATH_TOPICS, NULL, NULL, NULL, -1},
    {"/brokers/topics/orders", ZK_PATH_TOPIC, NULL, "orders", NULL, -1},
    {"/brokers/topics/t/partitions/7/state", ZK_PATH_PARTITION_STATE, NULL, "t", NULL, 7},
    {"", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/brokers", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"consumers/g", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers//ids", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/g/ids/", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/g/ids/c/d", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/g/owners", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/g/owners/t", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/g/owners/t/", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/g/owners/t/1/x", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/g/owners/t/0-3", ZK_PATH_OTHER, NULL, NULL, NULL, -1}, /* 0.7 */
    {"/consumers/g/owners/t/01", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/g/owners/t/-1", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/g/owners/t/+1", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/g/owners/t/1x", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/g/owners/t/2147483648", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/g/owners/t/99999999999", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/consumers/g/other/t/1", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/brokers/seqid", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/brokers/ids/1/2", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/brokers/topics/t/partitions", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/brokers/topics/t/partitions/x/state", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/brokers/topics/t/partitions/7/other", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/brokers/topics/t/other/7/state", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/config/topics/t", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
    {"/a/b/c/d/e/f/g/h", ZK_PATH_OTHER, NULL, NULL, NULL, -1},
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(parsed); i++) {
        struct zk_path_parts p = zk_path_parse(parsed[i].path);
        if (p.kind != parsed[i].kind || !bytes_equal_text(p.group, parsed[i].group) ||
            !bytes_equal_text(p.topic, parsed[i].topic) ||
            !bytes_equal_text(p.name, parsed[i].name) || p.partition != parsed[i].partition)
            fail_msg("%s: kind %d partition %d", parsed[i].path, p.kind, p.partition);
    }
}

/* ---- names ---- */

static char *name_of(size_t len)
{
    char *name = malloc(len + 1);
    memset(name, 'x', len);
    name[len] = '\0';
    return name;
}

typedef enum zkc_err check_fn(const char *name, struct why *why);

static void check_length(check_fn *check, size_t max)
{
    struct why why;
    char *longest = name_of(max), *longer = name_of(max + 1);
    assert_int_equal(check(longest, &why), ZKC_OK);
    assert_string_equal(why.text, "");
    assert_int_equal(check(longer, &why), ZKC_ERR_INVALID);
    assert_non_null(strstr(why.text, "expected at most"));
    free(longest);
    free(longer);
}

static void test_lengths(void **state)
{
    (void)state;
    check_length(zk_check_group, 255);
    check_length(zk_check_topic, 255);
    check_length(zk_check_consumer_id, 1023);
}

static const struct {
    check_fn *check;
    const char *name;
    const char *why; /* beginning; NULL: allowed */
} names[] = {
    {zk_check_group, "billing-2.x_A", NULL},
    {zk_check_group, "...", NULL},
    {zk_check_group, "", "group id is empty; expected a name of 1 to 255 bytes"},
    {zk_check_group, ".", "group id is \".\", which ZooKeeper does not take"},
    {zk_check_group, "..", "group id is \"..\""},
    {zk_check_group, "a/b",
     "group id \"a/b\": character \"/\" at position 2; expected only letters"},
    {zk_check_group, "a b", "group id \"a b\": character \" \" at position 2"},
    {zk_check_group, "a\n", "group id \"a\\n\": character \"\\n\" at position 2"},
    {zk_check_group, "\xC3\xA9", "group id \"\xC3\xA9\": character \"\xC3\xA9\" at position 1"},
    {zk_check_client_id, "", NULL},
    {zk_check_client_id, "..", NULL},
    {zk_check_client_id, "web-07.example_X", NULL},
    {zk_check_client_id, "a:b", "client id \"a:b\": character \":\" at position 2"},
    {zk_check_topic, "page_views.2-x", NULL},
    {zk_check_topic, "__consumer_offsets", NULL},
    {zk_check_topic, "", "topic is empty"},
    {zk_check_topic, ".", "topic is \".\""},
    {zk_check_topic, "..", "topic is \"..\""},
    {zk_check_topic, "a,b", "topic \"a,b\": character \",\" at position 2"},
    {zk_check_consumer_id, "g_web07-1424990000123-9f3c21ab", NULL},
    {zk_check_consumer_id, "g_any thing:goes;\xC3\xA9\xE2\x82\xAC", NULL},
    {zk_check_consumer_id, "\xEF\xA4\x80\xEF\xBF\xAF", NULL}, /* U+F900 U+FFEF */
    {zk_check_consumer_id, "", "consumer id is empty"},
    {zk_check_consumer_id, "..", "consumer id is \"..\""},
    {zk_check_consumer_id, "g/c", "consumer id \"g/c\": \"/\" at byte 2, which ZooKeeper does not"},
    {zk_check_consumer_id, "g\x1f", "consumer id \"g\\x1f\": \"\\x1f\" at byte 2"},
    {zk_check_consumer_id, "g\x7f", "consumer id \"g\\x7f\": \"\\x7f\" at byte 2"},
    {zk_check_consumer_id, "g\xC2\x9F", "consumer id"},         /* U+009F */
    {zk_check_consumer_id, "g\xEE\x80\x80", "consumer id"},     /* U+E000, private use */
    {zk_check_consumer_id, "g\xEF\xA3\xBF", "consumer id"},     /* U+F8FF */
    {zk_check_consumer_id, "g\xEF\xBF\xB0", "consumer id"},     /* U+FFF0 */
    {zk_check_consumer_id, "g\xF0\x9F\x98\x80", "consumer id"}, /* two surrogates in Java */
    {zk_check_consumer_id, "g\xFF", "consumer id"},             /* no UTF-8 */
    {zk_check_consumer_id, "g\xC3", "consumer id"},             /* cut short */
};

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct why why;
        enum zkc_err err = names[i].check(names[i].name, &why);
        const char *want = names[i].why ? names[i].why : "";
        if (err != (names[i].why ? ZKC_ERR_INVALID : ZKC_OK) ||
            strncmp(why.text, want, strlen(want)) != 0 || (!names[i].why && why.text[0]))
            fail_msg("%s: %s (%s)", names[i].name, zkc_err_name(err), why.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build),   cmocka_unit_test(test_build_out_of_memory),
        cmocka_unit_test(test_parents), cmocka_unit_test(test_parse),
        cmocka_unit_test(test_lengths), cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
