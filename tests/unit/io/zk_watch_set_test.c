#include "tests/unit/test.h"
#include "zkconsumer/io/zk_watch_set.h"
#include <stdlib.h>

static void test_each_watch_counts_once(void **state)
{
    (void)state;
    struct zk_watch_set w = {0};
    zk_watch_set_remove(&w, ZK_WATCH_NODE, "/a");
    zk_watch_set_add(&w, ZK_WATCH_NODE, "/a");
    zk_watch_set_add(&w, ZK_WATCH_NODE, "/a");
    assert_int_equal(w.bytes, 6);
    zk_watch_set_add(&w, ZK_WATCH_CHILDREN, "/a");
    assert_int_equal(w.bytes, 12);
    zk_watch_set_remove(&w, ZK_WATCH_NODE, "/b");
    zk_watch_set_remove(&w, ZK_WATCH_NODE, "/a");
    assert_int_equal(w.bytes, 6);
    zk_watch_set_remove(&w, ZK_WATCH_NODE, "/a");
    assert_int_equal(w.count, 1);
    zk_watch_set_deinit(&w);
    assert_int_equal(w.bytes, 0);
}

/* Against a plain list, with many that come and go. */
static void test_many(void **state)
{
    (void)state;
    enum { PATHS = 700 };
    bool is_in[PATHS] = {0};
    struct zk_watch_set w = {0};
    uint32_t random = 1;
    for (int round = 0; round < 60000; round++) {
        random = random * 1664525u + 1013904223u;
        int n = (int)(random >> 8) % PATHS;
        char path[32];
        snprintf(path, sizeof path, "/brokers/topics/t%d", n);
        if (random >> 31) {
            zk_watch_set_add(&w, ZK_WATCH_NODE, path);
            is_in[n] = true;
        } else {
            zk_watch_set_remove(&w, ZK_WATCH_NODE, path);
            is_in[n] = false;
        }
        if (round % 1000)
            continue;
        size_t count = 0, bytes = 0;
        for (int i = 0; i < PATHS; i++) {
            snprintf(path, sizeof path, "/brokers/topics/t%d", i);
            count += is_in[i];
            bytes += is_in[i] ? strlen(path) + 4 : 0;
        }
        assert_int_equal(w.count, count);
        assert_int_equal(w.bytes, bytes);
    }
    zk_watch_set_deinit(&w);
}

static void test_what_a_server_refuses(void **state)
{
    (void)state;
    static const struct {
        size_t bytes;
        unsigned cuts;
        size_t packet_bytes;
        bool want;
    } cases[] = {
        {131072, 2, 1048575, false},  {131072, 3, 1048575, true},
        {131071, 3, 1048575, false}, /* an eighth: other troubles are as likely */
        {131071, 11, 1048575, false}, {131071, 12, 1048575, true},
        {60000, 100, 1048575, true}, /* a server with jute.maxbuffer = 65536 or less */
        {1025, 12, 1048575, true},    {1024, 1000, 1048575, false},
        {0, 1000, 1048575, false},    {5000, 3, 8192, true},
        {1000, 3, 8192, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct zk_watch_set w = {.bytes = cases[i].bytes};
        if (zk_watch_set_is_refused(&w, cases[i].cuts, cases[i].packet_bytes) != cases[i].want)
            fail_msg("case %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_watch_counts_once),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_what_a_server_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
