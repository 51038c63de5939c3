/* Sessions that end, connections that go, floods of events: one story a test
 * (zk_compat_join_test.c). */
#include "tests/unit/group/story.h"

/* ---- the session ends ---- */

/* Seen in the recordings: three rebalances, the first from the session's handler; nothing is
 * committed; what is owned is forgotten. */
static void test_expiry(void **state)
{
    (void)state;
    struct world *w = new_world(3);
    struct world_member *m = join(w);
    settle(w);
    world_consume(m, 5);
    world_forget(m);
    int before = m->rebalances;
    world_expire(m);
    while (m->is_registered)
        assert_true(world_step(w));
    settle(w);
    world_check_settled(w);
    assert_true(m->is_registered);
    assert_int_equal(m->rebalances, before + 3);
    assert_string_equal(
        world_asked(m, 0),
        "E create /consumers/g/ids/g_m0 = {\"version\":1,\"subscription\":{\"t\":1},"
        "\"pattern\":\"static\",\"timestamp\":\"1424990001000\"}");
    /* Progress is lost: what the next rebalances commit is where it began anew. */
    assert_int_equal(m->positions[0].offset, 0);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/0"), "0");
    world_free(w);
}

static void test_stop_says_lost(void **state)
{
    (void)state;
    struct world *w = new_world(3);
    struct world_member *m = join(w);
    settle(w);
    world_put_topic(w, "t", 4);
    settle(w);
    assert_int_equal(m->last_stop, GROUP_STOP_REBALANCE);
    world_expire(m);
    m->last_stop = GROUP_STOP_LEAVE;
    while (m->last_stop == GROUP_STOP_LEAVE)
        assert_true(world_step(w));
    assert_int_equal(m->last_stop, GROUP_STOP_LOST); /* may be another's already */
    settle(w);
    assert_int_equal(m->last_stop, GROUP_STOP_REBALANCE);
    world_free(w);
}

/* The session ends within an attempt that has not begun to release: the owner nodes went with it,
 * and whoever claims them since keeps them (resetState() clears the set that the release goes
 * through). */
static void test_expiry_within_an_attempt(void **state)
{
    (void)state;
    struct world *w = new_world(3);
    struct world_member *m = join(w);
    settle(w);
    assert_int_equal(owned(m), 3);
    world_put_topic(w, "t", 4);
    world_forget(m);
    while (world_asked_like(m, "R ") == 0)
        assert_true(world_step(w));
    world_expire(m);
    settle(w);
    world_check_settled(w);
    bool has_claimed = false;
    for (size_t i = 0; !has_claimed && i < world_asked_count(m); i++) {
        assert_null(strstr(world_asked(m, i), "R delete /consumers/g/owners"));
        has_claimed = strstr(world_asked(m, i), "R create /consumers/g/owners") != NULL;
    }
    assert_true(has_claimed);
    world_free(w);
}

/* Its id is taken when it comes back: a session timeout, then again, for ever; its heirs go on. */
static void test_expiry_with_conflict(void **state)
{
    (void)state;
    struct world *w = new_world(4);
    struct world_member *m = join(w);
    struct world_member *other = join(w);
    settle(w);
    world_expire(m);
    world_put(w, "/consumers/g/ids/g_m0",
              "{\"version\":1,\"subscription\":{\"t\":1},\"pattern\":\"static\",\"timestamp\":"
              "\"1\"}");
    world_run_ms(w, 20000);
    assert_int_equal(world_asked_like(m, "E create /consumers/g/ids/g_m0"), 4); /* 0, 6, 12, 18 s */
    assert_int_equal(world_asked_like(m, "E getData /consumers/g/ids/g_m0"), 8);
    assert_false(m->is_registered);
    world_remove(w, "/consumers/g/ids/g_m0");
    settle(w);
    world_check_settled(w);
    assert_int_equal(owned(m), 2);
    assert_int_equal(owned(other), 2);
    world_free(w);
}

/* Twice in a row, at once and while the first is dealt with. */
static void test_two_expiries(void **state)
{
    (void)state;
    for (int steps = 0; steps < 60; steps++) {
        struct world *w = new_world(3);
        struct world_member *m = join(w);
        struct world_member *other = join(w);
        settle(w);
        world_expire(m);
        for (int i = 0; i < steps && world_step(w); i++)
            ;
        world_expire(m);
        settle(w);
        world_check_settled(w);
        assert_int_equal(owned(m), 2);
        assert_int_equal(owned(other), 1);
        world_free(w);
    }
}

/* KAFKA-1387, by design of 0.8.2: the session ends again before the registration got through, which
 * then lands in the third session; the handler of the second end finds that node, takes it for an
 * old one, and waits for it for ever. That is told. Only closing helps. */
static enum world_verdict end_session_at_registration(struct world *w,
                                                      const struct world_request *r, int *zk_rc,
                                                      void *user)
{
    (void)zk_rc;
    int *done = user;
    if (*done || r->op->type != ZK_OP_CREATE || !strstr(r->op->path, "/ids/"))
        return WORLD_RUN;
    *done = 1;
    world_end_session(w, r->member->session);
    return WORLD_CUT_BEFORE;
}

static void test_waits_for_its_own_node(void **state)
{
    (void)state;
    struct world *w = world_new(&(struct world_options){.seed = 1, .reconnect_ms = 10});
    world_put_topic(w, "t", 3);
    struct world_member *m = join(w);
    settle(w);
    int done = 0;
    world_set_hook(w, end_session_at_registration, &done);
    world_expire(m);
    world_run_ms(w, 20000);
    assert_int_equal(done, 1);
    assert_int_equal(fake_zk_owner(world_zk(w), "/consumers/g/ids/g_m0"), m->session);
    assert_int_equal(world_told(m, ZKC_ERR_ZOOKEEPER), 1); /* of each session, not each attempt */
    assert_non_null(strstr(m->last_error, "it is of this very session"));
    world_expire(m);
    world_run_ms(w, 20000);
    assert_int_equal(fake_zk_owner(world_zk(w), "/consumers/g/ids/g_m0"), m->session);
    assert_int_equal(world_told(m, ZKC_ERR_ZOOKEEPER), 2);
    int before = m->rebalances;
    world_put_topic(w, "t", 5);
    world_run_ms(w, 20000);
    assert_int_equal(m->rebalances, before); /* it sees nothing any more */
    world_leave(m);
    world_run_ms(w, 100);
    assert_true(m->is_closed);
    world_free(w);
}

/* A commit of a rebalance that waits behind another when the session ends: there is nothing left to
 * commit, and that is no failure. The one before it lands in the new session. */
static void test_waiting_commit_of_a_rebalance(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct world_member *m = join(w);
    settle(w);
    world_commit(m); /* 0 is stored */
    settle(w);
    world_consume(m, 5);
    struct once hold = {
        .type = ZK_OP_SET, .path = "/consumers/g/offsets", .lane = -1, .verdict = WORLD_HOLD};
    world_set_hook(w, do_once, &hold);
    world_commit_one(m, "t", 0, 3);
    m->last_stop = GROUP_STOP_LEAVE;
    world_put_topic(w, "t", 3);
    world_run_ms(w, 10);
    assert_int_equal(m->last_stop, GROUP_STOP_REBALANCE);
    world_expire(m);
    settle(w);
    assert_int_equal(m->commits_failed, 0);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/0"), "3");
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/1"), "0");
    world_check_settled(w);
    world_free(w);
}

/* Where a member has nothing under way but a pause: between attempts, given up, idle. */
static void test_faults_during_a_pause(void **state)
{
    (void)state;
    static const int64_t pauses_ms[] = {1000, 3100, 9000};
    for (size_t i = 0; i < 2 * ARRAY_LEN(pauses_ms); i++) {
        struct world *w = new_world(4);
        world_put(w, "/consumers/g/owners/t/3", "g_ghost-0");
        struct world_member *m = join(w);
        world_run_ms(w, pauses_ms[i / 2]);
        assert_state(m, i / 2 == 2 ? "gave-up" : "backoff");
        int attempts = m->attempts;
        if (i % 2)
            world_expire(m);
        else
            world_cut(m, 100, 100);
        world_run_ms(w, 500);
        if (i % 2 == 0)
            assert_int_equal(m->attempts, attempts); /* nothing but a reconnect */
        world_remove(w, "/consumers/g/owners/t/3");
        world_put_topic(w, "t", 5);
        settle(w);
        world_check_settled(w);
        assert_false(m->gave_up);
        world_free(w);
    }
}

/* Away for longer than the session: nothing is sent meanwhile, and all is there again. */
static void test_long_absence(void **state)
{
    (void)state;
    struct world *w = new_world(4);
    struct world_member *m = join(w);
    struct world_member *other = join(w);
    settle(w);
    world_cut(m, 4000, 20000);
    world_run_ms(w, 10000);
    assert_int_equal(owned(other), 4); /* the heir */
    assert_int_equal(owned(m), 2);     /* the zombie: 0.8 does not know (F6) */
    settle(w);
    world_check_settled(w);
    assert_int_equal(owned(m), 2);
    world_free(w);
}

/* F26, by design of 0.8.2: a rebalance that was under way when the session ended deletes what its
 * heir has put there. Nobody notices until the next change. */
static void test_foreign_node_is_deleted(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    struct world_member *m = join(w);
    settle(w);
    struct once hold = {.type = ZK_OP_DELETE,
                        .path = "/consumers/g/owners/t/0",
                        .lane = GROUP_LANE_REBALANCE,
                        .verdict = WORLD_CUT_BEFORE};
    world_set_hook(w, do_once, &hold);
    world_put_topic(w, "t", 1);
    while (!hold.done)
        assert_true(world_step(w));
    int64_t heir = fake_zk_open(world_zk(w));
    world_end_session(w, m->session);
    fake_zk_put_ephemeral(world_zk(w), "/consumers/g/owners/t/0", "g_heir-0", heir);
    world_forget(m);
    while (world_asked_like(m, "R delete") == 0)
        assert_true(world_step(w));
    assert_int_equal(world_asked_like(m, "R delete /consumers/g/owners/t/0"), 1);
    assert_false(fake_zk_exists(world_zk(w), "/consumers/g/owners/t/0"));
    settle(w);
    world_free(w);
}

/* By design of 0.8.2 a claim is told by its text: a node that a former session of this id has left
 * is taken for the own one, and goes with that session. What it stood for is delivered without. */
static void test_own_ghost(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    int64_t ghost = fake_zk_open(world_zk(w));
    fake_zk_put_ephemeral(world_zk(w), "/consumers/g/owners/t/0", "g_m0-0", ghost);
    struct world_member *m = join(w);
    settle(w);
    assert_int_equal(m->attempts, 1);
    assert_int_equal(owned(m), 2);
    assert_int_equal(fake_zk_owner(world_zk(w), "/consumers/g/owners/t/0"), ghost);
    world_end_session(w, ghost);
    world_run_ms(w, 60000);
    assert_int_equal(owned(m), 2);
    assert_false(fake_zk_exists(world_zk(w), "/consumers/g/owners/t/0"));
    world_put_topic(w, "t", 3); /* until something happens */
    settle(w);
    world_check_settled(w);
    world_free(w);
}

/* By design of 0.8.2 the end of a session is dealt with on ZooKeeper's event thread, its rebalance
 * included: while that goes on no other event is heard, another end of the session neither. */
static void test_a_long_rebalance_delays_all_events(void **state)
{
    (void)state;
    static const char create[] = "E create /consumers/g/ids/g_m0";
    struct world *w = new_world(2);
    struct world_member *m = join(w);
    settle(w);
    int64_t ghost = fake_zk_open(world_zk(w));
    world_expire(m);
    fake_zk_put_ephemeral(world_zk(w), "/consumers/g/owners/t/1", "g_x-0", ghost);
    world_run_ms(w, 1000);
    assert_int_equal(world_asked_like(m, create), 1);
    int attempts = m->attempts;
    world_expire(m);
    world_put_topic(w, "t", 3);
    world_run_ms(w, 3000);
    assert_true(m->attempts > attempts); /* the same rebalance */
    assert_int_equal(world_asked_like(m, create), 1);
    world_end_session(w, ghost);
    settle(w);
    assert_int_equal(world_asked_like(m, create), 2);
    world_check_settled(w);
    world_free(w);
}

/* ---- bounds ---- */

/* Many topics, each with more streams than partitions, everything at once: a step tells no more
 * than it can hold. */
static void test_outputs_are_bounded(void **state)
{
    (void)state;
    static char names[60][240];
    struct zk_subscription subs[60];
    struct world *w = world_new(&(struct world_options){.seed = 1});
    for (size_t i = 0; i < ARRAY_LEN(subs); i++) {
        memset(names[i], 'x', sizeof names[i] - 1);
        snprintf(names[i], sizeof names[i], "%02zu", i);
        names[i][2] = 'x';
        subs[i] = sub(names[i], 50);
        if (i % 2)
            world_put_topic(w, names[i], 3);
    }
    struct zk_compat_config c = world_config();
    c.subscriptions = subs;
    c.subscription_count = ARRAY_LEN(subs);
    c.variant = ZK_VARIANT_DOCUMENTED;
    struct world_member *m = world_join(w, &c);
    struct world_member *idle = world_join(w, &c); /* 50 threads of the first have all */
    settle(w);
    world_check_settled(w);
    assert_int_equal(owned(idle), 0);
    assert_int_equal(owned(m), 90);
    for (size_t i = 0; i < ARRAY_LEN(subs); i++)
        world_put_topic(w, names[i], 2);
    settle(w);
    world_check_settled(w);
    world_consume(m, 1);
    world_expire(m);
    world_expire(idle);
    settle(w);
    world_check_settled(w);
    assert_in_range(m->outputs_max, 12, GROUP_OUTPUTS_MAX / 2);
    assert_in_range(idle->outputs_max, 15, GROUP_OUTPUTS_MAX / 2);
    world_free(w);
}

/* A storm of events: each kind is kept twice at most, and all collapse into few rebalances. */
static void test_event_storm(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct world_member *m = join(w);
    settle(w);
    int before = m->rebalances;
    for (int i = 0; i < 10000; i++) {
        struct group_input in = {.type = GROUP_IN_WATCH,
                                 .watch = {ZK_EVENT_CHILDREN_CHANGED, "/consumers/g/ids"}};
        if (i % 2)
            in.watch = (struct zk_watch_event){ZK_EVENT_DATA_CHANGED, "/brokers/topics/t"};
        world_feed(m, &in);
    }
    settle(w);
    assert_in_range(m->rebalances - before, 1, 3);
    world_check_settled(w);
    world_free(w);
}

/* Answers that nobody waits for, inputs at the wrong time. */
static void test_late_inputs(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct world_member *m = join(w);
    settle(w);
    world_forget(m);
    const struct zk_result ok = {.zk_rc = ZK_OK};
    for (int lane = 0; lane < GROUP_LANE_COUNT; lane++)
        for (uint32_t seq = 0; seq < 60; seq++) {
            struct group_input in = {.type = GROUP_IN_RESULT,
                                     .result = {(enum group_lane)lane, seq, &ok}};
            world_feed(m, &in);
        }
    struct group_input in = {.type = GROUP_IN_METADATA, .metadata = {.seq = 1, .failed = true}};
    world_feed(m, &in);
    in = (struct group_input){.type = GROUP_IN_WATCH,
                              .watch = {ZK_EVENT_CHILDREN_CHANGED, "/brokers/ids"}};
    world_feed(m, &in); /* not listened to */
    in.watch.path = "/consumers/other/ids";
    world_feed(m, &in);
    in = (struct group_input){.type = GROUP_IN_TIME};
    world_feed(m, &in); /* early */
    settle(w);
    world_expect(m, (const char *const[]){NULL});
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_expiry_within_an_attempt),
        cmocka_unit_test(test_stop_says_lost),
        cmocka_unit_test(test_expiry_with_conflict),
        cmocka_unit_test(test_two_expiries),
        cmocka_unit_test(test_waits_for_its_own_node),
        cmocka_unit_test(test_waiting_commit_of_a_rebalance),
        cmocka_unit_test(test_faults_during_a_pause),
        cmocka_unit_test(test_long_absence),
        cmocka_unit_test(test_foreign_node_is_deleted),
        cmocka_unit_test(test_own_ghost),
        cmocka_unit_test(test_a_long_rebalance_delays_all_events),
        cmocka_unit_test(test_outputs_are_bounded),
        cmocka_unit_test(test_event_storm),
        cmocka_unit_test(test_late_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
