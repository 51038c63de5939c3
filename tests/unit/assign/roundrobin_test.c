#include "tests/unit/assign/group_text.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/assign/roundrobin.h"

/* The order of dealing, and the hashes, of Q1 to Q7. */
static void test_the_order_of_dealing(void **state)
{
    (void)state;
    struct vectors v = vectors_read("assign/roundrobin.txt");
    struct group_text *text = malloc(sizeof *text);
    size_t cases = 0;
    for (size_t at = 0; group_text_read(&v, &at, text);) {
        if (!text->deals_count)
            continue;
        struct assign_deal deals[GROUP_TEXT_LINES_MAX];
        size_t n = 0;
        for (size_t t = text->group.topic_count; t-- > 0;) /* backwards: no order is given */
            for (size_t i = text->topics[t].partition_count; i-- > 0;)
                deals[n++] = (struct assign_deal){.topic = text->topics[t].name,
                                                  .topic_index = (uint32_t)t,
                                                  .partition = text->topics[t].partitions[i]};
        assert_int_equal(n, text->deals_count);
        assign_roundrobin_order(deals, n);
        for (size_t i = 0; i < n; i++) {
            char got[128];
            snprintf(got, sizeof got, "%s:%d %d", deals[i].topic, deals[i].partition,
                     deals[i].hash);
            assert_string_equal(got, text->deals[i]);
            assert_ptr_equal(deals[i].topic, text->topics[deals[i].topic_index].name);
        }
        cases++;
    }
    assert_int_equal(cases, 7);
    free(text);
    vectors_free(&v);
}

/* "Aa" and "BB" have the same hash. */
static void test_ties_go_by_name(void **state)
{
    (void)state;
    struct assign_deal deals[] = {{.topic = "BB", .partition = 1},
                                  {.topic = "BB", .partition = 0},
                                  {.topic = "Aa", .partition = 1},
                                  {.topic = "Aa", .partition = 0}};
    static const char *const want[] = {"Aa", "BB", "Aa", "BB"};
    assign_roundrobin_order(deals, ARRAY_LEN(deals));
    assert_int_equal(deals[0].hash, -1626752098);
    assert_int_equal(deals[1].hash, -1626752098);
    for (size_t i = 0; i < ARRAY_LEN(deals); i++) {
        assert_string_equal(deals[i].topic, want[i]);
        assert_int_equal(deals[i].partition, i / 2);
    }
}

static void test_nothing_to_deal(void **state)
{
    (void)state;
    assign_roundrobin_order(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_order_of_dealing),
        cmocka_unit_test(test_ties_go_by_name),
        cmocka_unit_test(test_nothing_to_deal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
