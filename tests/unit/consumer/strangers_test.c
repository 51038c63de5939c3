#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/consumer/strangers.h"

static void expect(const struct strangers *s, const char *want)
{
    struct buf out;
    struct json j;
    buf_init(&out, 1 << 16);
    json_init(&j, &out);
    json_object_begin(&j, NULL);
    strangers_json(s, &j, 5000);
    json_object_end(&j);
    assert_string_equal(buf_text(&out), want);
    buf_deinit(&out);
}

static void test_named_and_not(void **state)
{
    (void)state;
    struct strangers s;
    strangers_init(&s);
    expect(&s, "{\"strangers\":[]}");
    strangers_find(&s, "g_j")->offset_writes++;
    strangers_find(&s, "g_j")->doubled += 7;
    strangers_find(&s, "g_j")->doubtful += 3;
    expect(&s, "{\"strangers\":[{\"member\":\"g_j\",\"offset_writes\":1,\"owner_deletes\":0,"
               "\"returns\":0,\"doubled\":7,\"doubtful\":3,\"share\":0,\"free\":0,\"gave_up_for_"
               "ms\":-1}]}");
    strangers_deinit(&s);
    strangers_find(&s, NULL)->owner_deletes++;
    struct stranger *k = strangers_find(&s, "g_k");
    k->share = 4;
    k->free = 2;
    k->gave_up_since_ms = 2000;
    expect(
        &s,
        "{\"strangers\":[{\"member\":null,\"offset_writes\":0,\"owner_deletes\":1,"
        "\"returns\":0,\"doubled\":0,\"doubtful\":0,\"share\":0,\"free\":0,\"gave_up_for_ms\":-1},"
        "{\"member\":\"g_k\",\"offset_writes\":0,\"owner_deletes\":0,"
        "\"returns\":0,\"doubled\":0,\"doubtful\":0,\"share\":4,\"free\":2,\"gave_up_for_ms\":3000}"
        "]}");
    strangers_deinit(&s);
}

static void test_bounded(void **state)
{
    (void)state;
    struct strangers s;
    strangers_init(&s);
    for (int i = 0; i < 2 * STRANGERS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "g_%d", i);
        strangers_find(&s, name)->offset_writes++;
    }
    assert_int_equal(s.count, STRANGERS_MAX);
    assert_int_equal(strangers_find(&s, "g_0")->offset_writes, 1);
    assert_int_equal(strangers_find(&s, "g_100")->offset_writes, STRANGERS_MAX + 1);
    strangers_deinit(&s);
}

static void test_without_memory(void **state)
{
    (void)state;
    struct strangers s;
    strangers_init(&s);
    alloc_fail_at(0);
    assert_null(strangers_find(&s, "g_j")->member);
    assert_true(alloc_fail_stop());
    strangers_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_named_and_not),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("strangers", tests, NULL, NULL);
}
