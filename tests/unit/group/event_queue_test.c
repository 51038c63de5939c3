#include "tests/unit/test.h"
#include "zkconsumer/core/group/event_queue.h"

#define TOPICS 5

static void test_order(void **state)
{
    (void)state;
    static const struct event want[] = {
        {EVENT_SESSION, 0}, {EVENT_IDS, 0}, {EVENT_TOPIC, 3}, {EVENT_BROKERS, 0}, {EVENT_IDS, 0}};
    struct event_queue q;
    assert_true(event_queue_init(&q, TOPICS));
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        event_queue_push(&q, want[i].kind, want[i].topic_index);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        struct event got = event_queue_pop(&q);
        assert_int_equal(got.kind, want[i].kind);
        assert_int_equal(got.topic_index, want[i].topic_index);
    }
    assert_int_equal(q.count, 0);
    event_queue_deinit(&q);
}

/* However many come, one that may be under way and one that has not begun are kept. */
static void test_is_bounded(void **state)
{
    (void)state;
    struct event_queue q;
    assert_true(event_queue_init(&q, TOPICS));
    for (int round = 0; round < 1000; round++) {
        event_queue_push(&q, EVENT_SESSION, 0);
        event_queue_push(&q, EVENT_IDS, 0);
        event_queue_push(&q, EVENT_BROKERS, 0);
        for (uint32_t t = 0; t < TOPICS; t++)
            event_queue_push(&q, EVENT_TOPIC, t);
        assert_int_equal(q.count, round == 0 ? 3 + TOPICS : 2 * (3 + TOPICS));
    }
    /* Once the first of a kind is gone, there is room for one that comes after it. */
    assert_int_equal(event_queue_pop(&q).kind, EVENT_SESSION);
    event_queue_push(&q, EVENT_SESSION, 0);
    assert_int_equal(q.list[q.count - 1].kind, EVENT_SESSION);
    event_queue_deinit(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
