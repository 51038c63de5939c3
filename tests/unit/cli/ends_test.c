#include "tests/unit/test.h"
#include "zkconsumer/cli/ends.h"

static struct topic_partition tp(const char *topic, int32_t partition)
{
    return (struct topic_partition){topic, partition};
}

static void own(struct ends *e, size_t count, const struct topic_partition *list)
{
    ends_update_begin(e);
    for (size_t i = 0; i < count; i++)
        assert_true(ends_update_add(e, list[i]));
    ends_update_commit(e);
}

static void test_ends_when_all_assigned_are_read(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e);
    own(&e, 3, (struct topic_partition[]){tp("b", 0), tp("a", 10), tp("a", 9)});
    assert_false(ends_all_finished(&e));
    assert_true(ends_observe(ends_find(&e, tp("a", 9)), 0, 0)); /* empty */
    assert_false(ends_observe(ends_find(&e, tp("a", 10)), 4, 5));
    assert_false(ends_observe(ends_find(&e, tp("b", 0)), -1, 7)); /* position not known yet */
    assert_false(ends_all_finished(&e));
    assert_true(ends_observe(ends_find(&e, tp("b", 0)), 7, 7));
    assert_true(ends_observe(ends_find(&e, tp("a", 10)), 5, 9)); /* the end as first seen */
    assert_true(ends_all_finished(&e));
    assert_null(ends_find(&e, tp("b", 1)));
    ends_deinit(&e);
}

static void test_an_end_is_reached_once(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e);
    own(&e, 1, (struct topic_partition[]){tp("t", 0)});
    struct ends_partition *p = ends_find(&e, tp("t", 0));
    assert_false(ends_observe(p, 3, -1)); /* end not known */
    assert_false(ends_all_finished(&e));
    assert_true(ends_observe(p, 3, 3));
    assert_false(ends_observe(p, 4, 10));
    assert_true(p->is_reached);
    ends_deinit(&e);
}

static void test_what_is_lost_is_forgotten(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e);
    own(&e, 2, (struct topic_partition[]){tp("t", 0), tp("t", 1)});
    ends_observe(ends_find(&e, tp("t", 0)), 5, 5);
    ends_observe(ends_find(&e, tp("t", 1)), 1, 5);
    own(&e, 1, (struct topic_partition[]){tp("t", 0)});
    assert_true(ends_all_finished(&e)); /* the other one is somebody else's */
    own(&e, 2, (struct topic_partition[]){tp("t", 1), tp("t", 0)});
    assert_false(ends_all_finished(&e));
    assert_int_equal(ends_find(&e, tp("t", 1))->end, -1); /* it starts anew */
    assert_true(ends_find(&e, tp("t", 0))->is_reached);   /* this one never left */
    own(&e, 0, NULL);
    assert_true(ends_all_finished(&e));
    ends_deinit(&e);
}

static void test_what_cannot_go_on_does_not_hold_up_the_others(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e);
    own(&e, 2, (struct topic_partition[]){tp("t", 0), tp("t", 1)});
    ends_observe(ends_find(&e, tp("t", 0)), 5, 5);
    ends_find(&e, tp("t", 0))->is_standing = true; /* after it was read to its end: fine */
    ends_find(&e, tp("t", 1))->is_standing = true;
    assert_true(ends_all_finished(&e));
    assert_int_equal(ends_standing_count(&e), 1);
    ends_deinit(&e);
}

static void test_many(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e);
    ends_update_begin(&e);
    for (int32_t i = 999; i >= 0; i--)
        assert_true(ends_update_add(&e, tp(i % 2 ? "odd" : "even", i)));
    ends_update_commit(&e);
    assert_int_equal(e.count, 1000);
    for (int32_t i = 0; i < 1000; i++)
        assert_int_equal(ends_find(&e, tp(i % 2 ? "odd" : "even", i))->partition, i);
    ends_deinit(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_when_all_assigned_are_read),
        cmocka_unit_test(test_an_end_is_reached_once),
        cmocka_unit_test(test_what_is_lost_is_forgotten),
        cmocka_unit_test(test_what_cannot_go_on_does_not_hold_up_the_others),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
