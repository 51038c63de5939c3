/* Members that subscribe by a filter, and members whose offsets are in Kafka: one story a test. */
#include "tests/unit/group/story.h"

static struct world_member *join_filter(struct world *w, enum zk_pattern pattern,
                                        const char *expression, int streams)
{
    struct zk_compat_config c = world_config();
    struct zk_subscription one = sub(expression, streams);
    c.pattern = pattern;
    c.subscriptions = &one;
    c.subscription_count = 1;
    return world_join(w, &c);
}

/* "topic/partition-stream" of all that is owned. */
static const char *owned_text(const struct world_member *m)
{
    static char text[1000];
    size_t n, len = 0;
    const struct group_claim *claims = zk_compat_owned(m->machine, &n);
    text[0] = 0;
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s/%d-%d", i ? " " : "",
                                claims[i].topic, claims[i].partition, claims[i].thread);
    return text;
}

static void test_topics_come_go_and_come_back(void **state)
{
    (void)state;
    struct world *w = new_world(0);
    world_put_topic(w, "m-a", 2);
    world_put_topic(w, "other", 1);
    struct world_member *m = join_filter(w, ZK_PATTERN_WHITE_LIST, "m-.*", 2);
    settle(w);
    assert_string_equal(owned_text(m), "m-a/0-0 m-a/1-1");
    int before = m->rebalances;
    world_put_topic(w, "m-b", 3);
    settle(w);
    assert_string_equal(owned_text(m), "m-a/0-0 m-a/1-1 m-b/0-0 m-b/1-0 m-b/2-1");
    assert_int_equal(m->rebalances, before + 1);
    world_put_topic(w, "unrelated", 1); /* the list changes, not what is allowed */
    settle(w);
    assert_int_equal(m->rebalances, before + 1);
    world_remove(w, "/brokers/topics/m-b");
    settle(w);
    assert_string_equal(owned_text(m), "m-a/0-0 m-a/1-1");
    assert_null(fake_zk_text(world_zk(w), "/consumers/g/owners/m-b/0"));
    world_put_topic(w, "m-b", 1);
    settle(w);
    assert_string_equal(owned_text(m), "m-a/0-0 m-a/1-1 m-b/0-0");
    world_put_topic(w, "m-b", 2); /* its data are watched like any other's */
    settle(w);
    assert_string_equal(owned_text(m), "m-a/0-0 m-a/1-1 m-b/0-0 m-b/1-1");
    world_free(w);
}

/* The registration is never rewritten, and the expression is normalised. */
static void test_registration(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    join_filter(w, ZK_PATTERN_BLACK_LIST, " 'a,b' ", 3);
    settle(w);
    const char *text = fake_zk_text(world_zk(w), "/consumers/g/ids/g_m0");
    const char *want = "{\"version\":1,\"subscription\":{\"a|b\":3},\"pattern\":\"black_list\",";
    assert_memory_equal(text, want, strlen(want));
    world_put_topic(w, "c", 1);
    settle(w);
    assert_memory_equal(fake_zk_text(world_zk(w), "/consumers/g/ids/g_m0"), want, strlen(want));
    world_free(w);
}

/* Everything that was listened to is listened to in the new session too. */
static void test_expiry(void **state)
{
    (void)state;
    struct world *w = new_world(0);
    world_put_topic(w, "m-a", 1);
    struct world_member *m = join_filter(w, ZK_PATTERN_WHITE_LIST, "m-.*", 1);
    settle(w);
    world_expire(m);
    settle(w);
    assert_string_equal(owned_text(m), "m-a/0-0");
    world_put_topic(w, "m-b", 1);
    settle(w);
    assert_string_equal(owned_text(m), "m-a/0-0 m-b/0-0");
    world_put_topic(w, "m-a", 2);
    settle(w);
    assert_string_equal(owned_text(m), "m-a/0-0 m-a/1-0 m-b/0-0");
    world_free(w);
}

/* A connection that was away while topics came: the watch tells when it is back. */
static void test_topics_while_disconnected(void **state)
{
    (void)state;
    struct world *w = new_world(0);
    world_put_topic(w, "m-a", 1);
    struct world_member *m = join_filter(w, ZK_PATTERN_WHITE_LIST, "m-.*", 1);
    settle(w);
    world_cut(m, 0, 2000);
    world_run_ms(w, 500);
    world_put_topic(w, "m-b", 1);
    settle(w);
    assert_int_equal(m->expiries, 0);
    assert_string_equal(owned_text(m), "m-a/0-0 m-b/0-0");
    world_free(w);
}

/* /brokers/topics is made when it is not there (ZkUtils.makeSurePersistentPathExists). */
static void test_no_topics_at_all(void **state)
{
    (void)state;
    struct world *w = new_world(0);
    world_remove(w, "/brokers/topics");
    struct world_member *m = join_filter(w, ZK_PATTERN_WHITE_LIST, ".*", 1);
    settle(w);
    assert_int_equal(world_asked_like(m, "E create /brokers/topics"), 1);
    assert_string_equal(owned_text(m), "");
    world_put_topic(w, "t", 1);
    settle(w);
    assert_string_equal(owned_text(m), "t/0-0");
    world_free(w);
}

/* A rebalance in the event thread that is given up: the same topics do not trigger again, the next
 * change does (3.5). */
static void test_given_up_for_a_new_topic(void **state)
{
    (void)state;
    struct world *w = new_world(0);
    world_put_topic(w, "m-a", 1);
    struct world_member *m = join_filter(w, ZK_PATTERN_WHITE_LIST, "m-.*", 1);
    settle(w);
    world_put(w, "/consumers/g/owners/m-b/0", "g_ghost-0");
    world_put_topic(w, "m-b", 1);
    settle(w);
    assert_int_equal(m->give_ups, 1);
    assert_string_equal(owned_text(m), "");
    world_remove(w, "/consumers/g/owners/m-b/0");
    settle(w);
    assert_string_equal(owned_text(m), "");
    world_put_topic(w, "m-c", 1);
    settle(w);
    assert_string_equal(owned_text(m), "m-a/0-0 m-b/0-0 m-c/0-0");
    world_free(w);
}

static void test_bad_expression(void **state)
{
    (void)state;
    struct zk_compat_config c = world_config();
    struct zk_subscription one = sub("a(", 1);
    struct zk_compat *m = NULL;
    c.group = "g";
    c.consumer_id = "g_m";
    c.pattern = ZK_PATTERN_WHITE_LIST;
    c.subscriptions = &one;
    c.subscription_count = 1;
    assert_int_equal(zk_compat_new(&c, 0, &m), ZKC_ERR_CORRUPT);
    assert_null(m);
}

/* ---- offsets in Kafka ---- */

static struct world_member *join_kafka(struct world *w, enum commit_store store)
{
    struct zk_compat_config c = world_config();
    c.offsets_in = store;
    c.offsets_channel_backoff_ms = 1000;
    c.offsets_channel_timeout_ms = 10000;
    c.offsets_commit_retries = 5;
    return world_join(w, &c);
}

static void test_kafka_alone(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    world_put(w, "/consumers/g/offsets/t/0", "77"); /* nobody looks at it */
    struct world_member *m = join_kafka(w, COMMIT_TO_KAFKA);
    settle(w);
    world_consume(m, 5);
    struct world_member *other = join_kafka(w, COMMIT_TO_KAFKA);
    settle(w); /* committed before the release, fetched by the heir */
    assert_int_equal(other->positions[0].offset, 5);
    assert_int_equal(m->positions[0].offset, 5);
    assert_int_equal(world_asked_like(m, "R getData /consumers/g/offsets"), 0);
    assert_int_equal(world_asked_like(m, "C "), 0);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/0"), "77");
    world_check_settled(w);
    world_free(w);
}

/* The larger of both; what is not moved is not written to ZooKeeper (seen: offsets-migration). */
static void test_both_stores(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    struct world_member *m = join_kafka(w, COMMIT_TO_BOTH);
    settle(w);
    world_consume(m, 5);
    world_commit(m);
    settle(w);
    assert_int_equal(m->last_commit_err, ZKC_OK);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/0"), "5");
    world_put(w, "/consumers/g/offsets/t/0", "1");
    world_put_topic(w, "t", 2);
    settle(w);
    assert_int_equal(m->positions[0].offset, 5);
    world_commit(m);
    settle(w);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/0"), "1");
    world_put(w, "/consumers/g/offsets/t/0", "9");
    world_put_topic(w, "t", 3);
    settle(w);
    assert_int_equal(m->positions[0].offset, 9);
    world_free(w);
}

/* With both stores an unreadable offset in ZooKeeper is an exception that 0.8.2 catches: it fetches
 * again, for ever, and the attempt does not end (zookeeper-consumer 5.3). */
static void test_unreadable_offset_beside_kafka(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    world_put(w, "/consumers/g/offsets/t/0", "5\n");
    struct world_member *m = join_kafka(w, COMMIT_TO_BOTH);
    world_run_ms(w, 30000);
    assert_false(m->is_settled);
    assert_int_equal(m->attempts_failed, 0);
    assert_true(world_asked_like(m, "R getData /consumers/g/offsets/t/0") > 20);
    world_put(w, "/consumers/g/offsets/t/0", "5");
    world_run_ms(w, 2000);
    assert_true(m->is_settled);
    assert_int_equal(m->positions[0].offset, 5);
    world_free(w);
}

/* A member that leaves while offsets cannot be fetched is not held up for ever. */
static void test_leaving_while_fetching(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    world_put(w, "/consumers/g/offsets/t/0", "5\n");
    struct world_member *m = join_kafka(w, COMMIT_TO_BOTH);
    world_run_ms(w, 5000);
    world_leave(m);
    world_run_ms(w, 20000); /* the attempts that are left, as for any member that shuts down */
    assert_true(m->is_closed);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topics_come_go_and_come_back),
        cmocka_unit_test(test_registration),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_topics_while_disconnected),
        cmocka_unit_test(test_no_topics_at_all),
        cmocka_unit_test(test_given_up_for_a_new_topic),
        cmocka_unit_test(test_bad_expression),
        cmocka_unit_test(test_kafka_alone),
        cmocka_unit_test(test_both_stores),
        cmocka_unit_test(test_unreadable_offset_beside_kafka),
        cmocka_unit_test(test_leaving_while_fetching),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
