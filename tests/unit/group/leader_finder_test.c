#include "tests/unit/test.h"
#include "zkconsumer/core/group/leader_finder.h"

#define BACKOFF_MS 200

static const char *const topics[] = {"a", "b", "c"};

/* A finder with its lane, and what it has asked for. */
struct rig {
    struct leader_finder f;
    struct lane lanes[GROUP_LANE_COUNT];
    struct group_outputs out;
    int64_t now_ms;
    bool is_connected;
    int brokers;     /* ids 1 .. brokers; a multiple of `unreachable` has no address */
    int unreachable; /* 0: all have one */
    enum finder_brokers reads;
    struct zk_op op; /* under way */
    uint32_t seq, metadata_seq;
    int asked[64]; /* broker ids, in order */
    size_t asked_count;
    struct finder_wanted found[16];
    size_t found_count;
    char topics[64];      /* of the last question */
    char leaderless[300]; /* the last notice of what has no leader */
    int leaderless_count;
};

static void rig_init(struct rig *r, int brokers, uint64_t seed)
{
    *r = (struct rig){.brokers = brokers, .is_connected = true, .now_ms = 1000};
    finder_init(&r->f, BACKOFF_MS, seed);
}

static void take_outputs(struct rig *r)
{
    for (size_t i = 0; i < r->out.count; i++) {
        const struct group_output *o = &r->out.list[i];
        if (o->type == GROUP_OUT_OP) {
            assert_int_equal(o->op.lane, GROUP_LANE_FINDER);
            r->op = o->op.op;
            r->seq = o->op.seq;
        } else if (o->type == GROUP_OUT_METADATA) {
            r->asked[r->asked_count++ % ARRAY_LEN(r->asked)] = o->metadata.broker_id;
            r->metadata_seq = o->metadata.seq;
            r->topics[0] = 0;
            for (size_t k = 0; k < o->metadata.topic_count; k++)
                strcat(r->topics, o->metadata.topics[k]);
        } else if (o->type == GROUP_OUT_NOTICE && strstr(o->notice.text, "without a leader")) {
            snprintf(r->leaderless, sizeof r->leaderless, "%s", o->notice.text);
            r->leaderless_count++;
        } else if (o->type == GROUP_OUT_LEADERS) {
            for (size_t k = 0; k < o->leaders.count; k++)
                r->found[r->found_count++] = (struct finder_wanted){o->leaders.list[k].topic, 0,
                                                                    o->leaders.list[k].partition};
        }
    }
    group_outputs_clear(&r->out);
}

static void want(struct rig *r, uint32_t topic, int32_t partition)
{
    struct finder_wanted w = {topics[topic], topic, partition};
    assert_int_equal(finder_want(&r->f, &w, 1), ZKC_OK);
}

static void run(struct rig *r)
{
    finder_run(&r->f, r->now_ms, r->lanes, r->is_connected, r->reads, &r->out);
    take_outputs(r);
}

static void answer(struct rig *r, const struct zk_result *result)
{
    struct lane *lane = &r->lanes[GROUP_LANE_FINDER];
    if (lane_answered(lane, r->seq, result->zk_rc))
        finder_answer(&r->f, r->now_ms, result, r->lanes, r->is_connected, &r->out);
    take_outputs(r);
}

/* Answers the whole scan. */
static void scan(struct rig *r)
{
    char names[64][4], data[80];
    const char *children[64];
    for (int i = 0; i < r->brokers; i++) {
        snprintf(names[i], sizeof names[i], "%d", i + 1);
        children[i] = names[i];
    }
    assert_int_equal(r->op.type, ZK_OP_CHILDREN);
    answer(r, &(struct zk_result){.children = children, .children_count = (size_t)r->brokers});
    for (int i = 0; i < r->brokers && r->f.state == FINDER_SCANNING; i++) {
        int id = atoi(strrchr(r->op.path, '/') + 1);
        bool has_address = r->unreachable == 0 || id % r->unreachable != 0;
        snprintf(data, sizeof data, "{\"endpoints\":[\"%s://h%d:9\"],\"host\":null,\"port\":-1}",
                 has_address ? "PLAINTEXT" : "SSL", id);
        answer(r, &(struct zk_result){.data = bytes_of_text(data)});
    }
    assert_int_not_equal(r->f.state, FINDER_SCANNING);
}

static void fail_question(struct rig *r)
{
    finder_metadata(&r->f, r->now_ms, r->metadata_seq, true, "refused", NULL, 0, &r->out);
    take_outputs(r);
}

/* Tells the leaders of partitions below `below` of topic a, and of one that nobody wants. */
static void tell_leaders(struct rig *r, uint32_t seq, int below)
{
    struct group_leader list[8];
    char a[] = "a"; /* of the answer, not ours */
    size_t n = 0;
    list[n++] = (struct group_leader){"nobody's", 0, 1, "h1", 9};
    list[n++] = (struct group_leader){a, 77, 1, "h1", 9};
    for (int p = 0; p < 4; p++)
        list[n++] = p < below ? (struct group_leader){a, p, 1, "h1", 9}
                              : (struct group_leader){a, p, -1, NULL, 0};
    finder_metadata(&r->f, r->now_ms, seq, false, "", list, n, &r->out);
    take_outputs(r);
}

static void test_asks_each_broker_once(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 7, 1);
    want(&r, 0, 0);
    run(&r);
    scan(&r);
    for (int i = 0; i < 7; i++)
        fail_question(&r);
    assert_int_equal(r.asked_count, 7);
    bool seen[8] = {false};
    for (size_t i = 0; i < 7; i++) {
        assert_false(seen[r.asked[i]]);
        seen[r.asked[i]] = true;
    }
    /* All have failed: a pause, then another round. */
    assert_int_equal(finder_deadline_ms(&r.f), r.now_ms + BACKOFF_MS);
    r.now_ms += BACKOFF_MS - 1;
    run(&r);
    assert_int_equal(r.f.state, FINDER_PAUSED);
    r.now_ms++;
    run(&r);
    assert_int_equal(r.f.state, FINDER_SCANNING);
    assert_int_equal(finder_deadline_ms(&r.f), INT64_MAX);
    finder_deinit(&r.f);
}

/* The order is chance's, and the seed's. */
static void test_order_comes_from_the_seed(void **state)
{
    (void)state;
    int first[9] = {0}, orders[2][8];
    for (uint64_t seed = 0; seed < 200; seed++) {
        for (int run_number = 0; run_number < 2; run_number++) {
            struct rig r;
            rig_init(&r, 8, seed);
            want(&r, 0, 0);
            run(&r);
            scan(&r);
            for (int i = 0; i < 8; i++)
                fail_question(&r);
            memcpy(orders[run_number], r.asked, sizeof orders[0]);
            finder_deinit(&r.f);
        }
        assert_memory_equal(orders[0], orders[1], sizeof orders[0]);
        first[orders[0][0]]++;
    }
    for (int id = 1; id <= 8; id++)
        assert_in_range(first[id], 8, 50); /* 25 each on average */
}

static void test_partial_leaders(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1, 1);
    for (int p = 3; p >= 0; p--)
        want(&r, 0, p);
    want(&r, 2, 9);
    want(&r, 0, 2); /* is wanted already */
    run(&r);
    scan(&r);
    assert_string_equal(r.topics, "ac");
    tell_leaders(&r, r.metadata_seq, 2);
    assert_int_equal(r.found_count, 2);
    assert_ptr_equal(r.found[0].topic, topics[0]); /* ours, not the answer's */
    assert_int_equal(r.found[1].partition, 1);
    assert_int_equal(r.f.wanted_count, 3);
    assert_int_equal(finder_deadline_ms(&r.f), r.now_ms + BACKOFF_MS);

    /* The others are looked for again, and only they. */
    r.now_ms += BACKOFF_MS;
    run(&r);
    scan(&r);
    r.found_count = 0;
    tell_leaders(&r, r.metadata_seq, 4);
    assert_int_equal(r.found_count, 2);
    assert_int_equal(r.found[0].partition, 2);
    assert_int_equal(r.f.wanted_count, 1);
    finder_deinit(&r.f);
}

/* Told when their number changes, not in each round. */
static void test_leaderless_partitions_are_told(void **state)
{
    (void)state;
    struct rig r;
    static const struct {
        int below;      /* partitions with a leader */
        int told;       /* notices so far */
        const char *in; /* of the last */
    } rounds[] = {{1, 1, "leader: 3, the first is [a,1]"}, {1, 1, ""}, {1, 1, ""},
                  {3, 2, "leader: 1, the first is [a,3]"}, {3, 2, ""}, {4, 2, ""}};
    rig_init(&r, 1, 1);
    for (int p = 0; p < 4; p++)
        want(&r, 0, p);
    for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
        run(&r);
        scan(&r);
        tell_leaders(&r, r.metadata_seq, rounds[i].below);
        assert_int_equal(r.leaderless_count, rounds[i].told);
        assert_non_null(strstr(r.leaderless, rounds[i].in));
        r.now_ms += BACKOFF_MS;
    }
    want(&r, 0, 3); /* lost again: news */
    run(&r);
    scan(&r);
    tell_leaders(&r, r.metadata_seq, 3);
    assert_int_equal(r.leaderless_count, 3);
    finder_deinit(&r.f);
}

static void test_lost_while_paused(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1, 1);
    want(&r, 0, 0);
    run(&r);
    scan(&r);
    tell_leaders(&r, r.metadata_seq, 1);
    assert_int_equal(finder_deadline_ms(&r.f), INT64_MAX); /* nothing is wanted */
    r.now_ms += 50;
    want(&r, 0, 0);
    run(&r);
    assert_int_equal(finder_deadline_ms(&r.f), r.now_ms - 50 + BACKOFF_MS);
    assert_int_equal(r.asked_count, 1);
    r.now_ms += BACKOFF_MS;
    run(&r);
    scan(&r);
    assert_int_equal(r.asked_count, 2);
    finder_deinit(&r.f);
}

/* What is lost while a question is under way is asked for in the next round. */
static void test_lost_while_asking(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1, 1);
    want(&r, 0, 0);
    run(&r);
    scan(&r);
    want(&r, 1, 5);
    tell_leaders(&r, r.metadata_seq, 1);
    assert_int_equal(r.found_count, 1);
    r.now_ms += BACKOFF_MS;
    run(&r);
    scan(&r);
    assert_string_equal(r.topics, "b");
    finder_deinit(&r.f);
}

/* Cleared in each state: nothing goes on, what was asked before is nobody's, and it can begin anew.
 */
static void test_clear(void **state)
{
    (void)state;
    for (int at = 0; at < 5; at++) {
        struct rig r;
        rig_init(&r, 1, 1);
        if (at > 0)
            want(&r, 0, 0);
        if (at > 1) {
            r.is_connected = at != 2; /* parked for lack of a connection */
            run(&r);
        }
        if (at > 3)
            scan(&r);
        uint32_t question = r.metadata_seq, operation = r.seq;
        finder_clear(&r.f, r.lanes);
        assert_int_equal(finder_deadline_ms(&r.f), INT64_MAX);
        assert_false(r.lanes[GROUP_LANE_FINDER].busy);
        r.is_connected = true;
        run(&r);
        lanes_resend(r.lanes, &r.out);
        assert_int_equal(r.out.count, 0);

        tell_leaders(&r, question, 4); /* late answers */
        answer(&r, &(struct zk_result){.zk_rc = ZK_OK});
        assert_int_equal(r.found_count, 0);
        assert_int_equal(r.f.state, FINDER_IDLE);

        want(&r, 0, 1);
        run(&r);
        assert_int_not_equal(r.seq, operation == 0 ? 0 : operation);
        scan(&r);
        tell_leaders(&r, question, 4); /* still nobody's */
        assert_int_equal(r.found_count, 0);
        tell_leaders(&r, r.metadata_seq, 4);
        assert_int_equal(r.found_count, 1);
        finder_deinit(&r.f);
    }
}

static void test_late_answers(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 3, 1);
    want(&r, 0, 0);
    run(&r);
    scan(&r);
    uint32_t first = r.metadata_seq;
    fail_question(&r);
    assert_int_equal(r.asked_count, 2);
    tell_leaders(&r, first, 4); /* of the broker that was given up */
    assert_int_equal(r.found_count, 0);
    tell_leaders(&r, r.metadata_seq, 4);
    assert_int_equal(r.found_count, 1);
    tell_leaders(&r, r.metadata_seq, 4); /* once more */
    assert_int_equal(r.found_count, 1);
    finder_deinit(&r.f);
}

/* Brokers without an address are passed over, however many they are. */
static void test_unreachable_brokers(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 40, 3);
    r.unreachable = 1;
    want(&r, 0, 0);
    run(&r);
    scan(&r);
    assert_int_equal(r.asked_count, 0);
    assert_int_equal(r.f.state, FINDER_PAUSED);

    finder_clear(&r.f, r.lanes);
    r.unreachable = 2; /* half of them */
    r.brokers = 20;
    want(&r, 0, 0);
    run(&r);
    scan(&r);
    while (r.f.state == FINDER_ASKING)
        fail_question(&r);
    assert_int_equal(r.asked_count, 10);
    for (size_t i = 0; i < r.asked_count; i++)
        assert_int_equal(r.asked[i] % 2, 1);
    finder_deinit(&r.f);
}

/* No broker, or a list that cannot be read: a pause, and again. */
static void test_scan_without_result(void **state)
{
    (void)state;
    static const int codes[] = {ZK_OK, ZK_NO_NODE, ZK_NO_AUTH};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct rig r;
        rig_init(&r, 0, 1);
        want(&r, 0, 0);
        run(&r);
        answer(&r, &(struct zk_result){.zk_rc = codes[i]});
        assert_int_equal(r.f.state, FINDER_PAUSED);
        assert_int_equal(finder_deadline_ms(&r.f), r.now_ms + BACKOFF_MS);
        assert_int_equal(r.asked_count, 0);
        finder_deinit(&r.f);
    }
}

/* Kept under a watch: the next round asks at once. Whatever may have changed them since makes it
 * read them again. */
static void test_brokers_are_kept(void **state)
{
    (void)state;
    enum { NOTHING, EVENT, EVENT_IN_SCAN, NONE_ANSWERS, NO_LIST, READS, READS_WATCHED };
    for (int what = NOTHING; what <= READS_WATCHED; what++) {
        struct rig r;
        rig_init(&r, 2, 1);
        r.reads = what == READS ? FINDER_READS
                                : (what == READS_WATCHED ? FINDER_READS_WATCHED : FINDER_KEEPS);
        want(&r, 0, 0);
        run(&r);
        assert_int_equal(r.op.watch, what != READS);
        if (what == EVENT_IN_SCAN)
            finder_forget_brokers(&r.f);
        if (what == NO_LIST)
            answer(&r, &(struct zk_result){.zk_rc = ZK_NO_NODE}); /* which leaves no watch */
        else
            scan(&r);
        for (int i = 0; i < 2 && what == NONE_ANSWERS; i++)
            fail_question(&r);
        tell_leaders(&r, r.metadata_seq, 1);
        if (what == EVENT)
            finder_forget_brokers(&r.f);
        r.now_ms += BACKOFF_MS;
        r.asked_count = 0;
        want(&r, 0, 1);
        run(&r);
        assert_int_equal(r.f.state, what == NOTHING ? FINDER_ASKING : FINDER_SCANNING);
        assert_int_equal(r.asked_count, what == NOTHING);
        if (what == NOTHING) { /* all of them are there to be asked */
            fail_question(&r);
            assert_int_equal(r.asked_count, 2);
            assert_int_equal(r.asked[0] + r.asked[1], 3);
        }
        finder_deinit(&r.f);
    }
}

/* A lost connection: the read is sent again, by the lane. */
static void test_connection_lost(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1, 1);
    want(&r, 0, 0);
    run(&r);
    uint32_t first = r.seq;
    answer(&r, &(struct zk_result){.zk_rc = ZK_CONNECTION_LOSS});
    assert_int_equal(r.f.state, FINDER_SCANNING);
    lanes_resend(r.lanes, &r.out);
    take_outputs(&r);
    assert_int_not_equal(r.seq, first);
    scan(&r);
    assert_int_equal(r.asked_count, 1);
    finder_deinit(&r.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asks_each_broker_once),
        cmocka_unit_test(test_order_comes_from_the_seed),
        cmocka_unit_test(test_partial_leaders),
        cmocka_unit_test(test_leaderless_partitions_are_told),
        cmocka_unit_test(test_lost_while_paused),
        cmocka_unit_test(test_lost_while_asking),
        cmocka_unit_test(test_clear),
        cmocka_unit_test(test_late_answers),
        cmocka_unit_test(test_unreachable_brokers),
        cmocka_unit_test(test_scan_without_result),
        cmocka_unit_test(test_brokers_are_kept),
        cmocka_unit_test(test_connection_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
