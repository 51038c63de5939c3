/* Joining, conflicts, changes, errors: one story a test, of what 0.8.2 does, its faults included,
 * and that they are told. F numbers are those of the list of known faults. */
#include "tests/unit/group/story.h"

/* ---- joining ---- */

static void test_first_member(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct world_member *m = join(w);
    assert_state(m, "new");
    settle(w);
    static const char *const want[] = {
        "R create /consumers/g/ids/g_m0 = {\"version\":1,\"subscription\":{\"t\":1},"
        "\"pattern\":\"static\",\"timestamp\":\"1424990001000\"} -> NoNode",
        "R create /consumers/g/ids -> NoNode",
        "R create /consumers/g",
        "R create /consumers/g/ids",
        "R create /consumers/g/ids/g_m0 = *",
        "R exists w /consumers/g/ids",
        "R getChildren w /consumers/g/ids",
        "R exists w /brokers/topics/t",
        "R getChildren /brokers/ids",
        "R getData /brokers/ids/0",
        "R getData /consumers/g/ids/g_m0",
        "R getChildren /brokers/ids",
        "R getData /brokers/ids/0",
        "R getData /consumers/g/ids/g_m0",
        "R getData w /brokers/topics/t",
        "R getChildren w /consumers/g/ids",
        "R getData /consumers/g/ids/g_m0",
        "R getChildren w /consumers/g/ids",
        "R getData /consumers/g/offsets/t/0 -> NoNode",
        "R getData /consumers/g/offsets/t/1 -> NoNode",
        "R create /consumers/g/owners/t/0 = g_m0-0 -> NoNode",
        "R create /consumers/g/owners/t -> NoNode",
        "R create /consumers/g/owners",
        "R create /consumers/g/owners/t",
        "R create /consumers/g/owners/t/0 = g_m0-0",
        "R create /consumers/g/owners/t/1 = g_m0-0",
        "F getChildren /brokers/ids",
        "F getData /brokers/ids/0",
        NULL,
    };
    world_expect(m, want);
    world_check_settled(w);
    assert_state(m, "owning");
    assert_true(m->is_settled && m->is_registered && !m->gave_up);
    world_free(w);
}

/* Which watches stand once a member has joined. */
static const struct watch_case {
    const char *name;
    enum zk_variant variant;
    bool watch_brokers;
    const char *subscribes[8];
    int rebalances_per_broker;
} watching[] = {
    {"0.8",
     ZK_VARIANT_0_8,
     false,
     {"R exists w /consumers/g/ids", "R getChildren w /consumers/g/ids",
      "R exists w /brokers/topics/t", NULL},
     0},
    {"0.7",
     ZK_VARIANT_0_7,
     true,
     {"R exists w /consumers/g/ids", "R getChildren w /consumers/g/ids",
      "R exists w /brokers/topics/t", "R exists w /brokers/ids", "R getChildren w /brokers/ids",
      NULL},
     1},
    {"documented",
     ZK_VARIANT_DOCUMENTED,
     true,
     {"R exists w /consumers/g/ids", "R getChildren w /consumers/g/ids",
      "R exists w /brokers/topics/t", "R exists w /brokers/ids", "R getChildren w /brokers/ids",
      NULL},
     1},
    {"documented, brokers not watched",
     ZK_VARIANT_DOCUMENTED,
     false,
     {"R exists w /consumers/g/ids", "R getChildren w /consumers/g/ids",
      "R exists w /brokers/topics/t", NULL},
     0},
    {"0.8, brokers watched",
     ZK_VARIANT_0_8,
     true,
     {"R exists w /consumers/g/ids", "R getChildren w /consumers/g/ids",
      "R exists w /brokers/topics/t", "R exists w /brokers/ids", "R getChildren w /brokers/ids",
      NULL},
     1},
};

static void test_watches(void **state)
{
    (void)state;
    for (const struct watch_case *c = watching; c < watching + ARRAY_LEN(watching); c++) {
        struct world *w = new_world(2);
        struct zk_compat_config config = world_config();
        config.variant = c->variant;
        config.watch_brokers = c->watch_brokers;
        struct world_member *m = world_join(w, &config);
        settle(w);
        for (size_t i = 0; c->subscribes[i]; i++)
            if (strcmp(world_asked(m, 5 + i), c->subscribes[i]) != 0)
                fail_msg("%s: %s", c->name, world_asked(m, 5 + i));
        /* Each broker that comes or goes, each member, each change of partitions. */
        int want = 1;
        assert_int_equal(m->rebalances, want);
        world_put_broker(w, 1);
        settle(w);
        assert_int_equal(m->rebalances, want += c->rebalances_per_broker);
        world_remove_broker(w, 1);
        settle(w);
        assert_int_equal(m->rebalances, want += c->rebalances_per_broker);
        world_put_topic(w, "t", 3);
        settle(w);
        assert_int_equal(m->rebalances, want += 1);
        struct world_member *other = world_join(w, &config);
        settle(w);
        assert_int_equal(m->rebalances, want += 1);
        world_check_settled(w);
        world_leave(other);
        settle(w);
        assert_int_equal(m->rebalances, want += 1);
        world_check_settled(w);
        world_free(w);
    }
}

/* F27: more members than partitions: those without are idle, and say so. */
static void test_idle_members(void **state)
{
    (void)state;
    for (int v = 0; v < ZK_VARIANT_COUNT; v++) {
        struct world *w = new_world(1);
        struct zk_compat_config c = world_config();
        c.variant = (enum zk_variant)v;
        struct world_member *m[3];
        for (int i = 0; i < 3; i++) {
            m[i] = world_join(w, &c);
            settle(w);
        }
        world_check_settled(w);
        assert_state(m[0], "owning");
        assert_state(m[1], "idle");
        assert_state(m[2], "idle");
        assert_true(m[2]->is_settled);
        world_forget(m[1]);
        world_crash(m[0]);
        settle(w);
        world_check_settled(w);
        assert_state(m[1], "owning");
        world_free(w);
    }
}

/* What outputs point to lives for one step; the machine asks for that step, so that idle members do
 * not hold on to the view of the whole group. */
static void test_view_is_given_back(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    join(w);
    settle(w);
    struct world_member *m = join(w);
    while (!m->is_settled)
        assert_true(world_step(w));
    assert_state(m, "idle");
    assert_int_equal(zk_compat_deadline_ms(m->machine), world_now_ms(w));
    world_run_ms(w, 0);
    assert_int_equal(zk_compat_deadline_ms(m->machine), 1000 + 1000000); /* the commit timer */
    world_free(w);
}

/* ---- F4: created, and the answer lost ---- */

static void test_lost_answers(void **state)
{
    (void)state;
    struct once lost[] = {
        {.type = ZK_OP_CREATE, .path = "/consumers/g/ids/g_m0", .skip = 1},
        {.type = ZK_OP_CREATE, .path = "/consumers/g/owners/t/1"},
        {.type = ZK_OP_CREATE, .path = "/consumers/g/owners/t/0", .skip = 1},
        {.type = ZK_OP_CREATE, .path = "/consumers/g/owners"},
        {.type = ZK_OP_CREATE, .path = "/consumers/g/ids"},
    };
    for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
        struct world *w = new_world(2);
        lost[i].lane = -1;
        lost[i].verdict = WORLD_CUT_AFTER;
        world_set_hook(w, do_once, &lost[i]);
        struct world_member *m = join(w);
        settle(w);
        assert_int_equal(lost[i].done, 1);
        world_check_settled(w);
        assert_int_equal(m->attempts, 1);
        assert_int_equal(m->attempts_failed, 0);
        world_free(w);
    }
}

static void test_lost_answer_is_recognised(void **state)
{
    (void)state;
    struct once lost = {.type = ZK_OP_CREATE,
                        .path = "/consumers/g/owners/t/1",
                        .lane = -1,
                        .verdict = WORLD_CUT_AFTER};
    struct world *w = new_world(2);
    world_set_hook(w, do_once, &lost);
    struct world_member *m = join(w);
    settle(w);
    size_t n = world_asked_count(m);
    assert_string_equal(world_asked(m, n - 5),
                        "R create /consumers/g/owners/t/1 = g_m0-0 -> answer lost");
    assert_string_equal(world_asked(m, n - 4),
                        "R create /consumers/g/owners/t/1 = g_m0-0 -> NodeExists");
    assert_string_equal(world_asked(m, n - 3), "R getData /consumers/g/owners/t/1");
    world_free(w);
}

/* ---- F1, F2: conflicts ---- */

/* A node of nobody on [t,3] of four: what else was won is given back in each attempt. */
static void test_half_won_claims_are_given_back(void **state)
{
    (void)state;
    struct world *w = new_world(4);
    world_put(w, "/consumers/g/owners/t/3", "g_ghost-0");
    struct world_member *m = join(w);
    int checked = 0;
    while (m->give_ups == 0 && world_step(w)) {
        if (strcmp(zk_compat_state_name(m->machine), "backoff") != 0)
            continue;
        checked++;
        for (int p = 0; p < 3; p++) {
            char path[64];
            snprintf(path, sizeof path, "/consumers/g/owners/t/%d", p);
            assert_false(fake_zk_exists(world_zk(w), path));
        }
    }
    assert_in_range(checked, 4, 100);
    assert_int_equal(m->attempts, 4);
    assert_int_equal(m->attempts_failed, 4);
    assert_string_equal(m->last_failure, "1 of 4 claims met an owner node of another member");
    /* F2: it gives up, says so, and stays registered. */
    assert_int_equal(world_told(m, ZKC_ERR_REBALANCE), 1);
    assert_non_null(strstr(m->last_error, "g_m0 can't rebalance after 4 retries: 1 of 4 claims"));
    assert_true(m->is_settled && m->gave_up && m->is_registered);
    assert_state(m, "gave-up");
    assert_int_equal(owned(m), 0);
    assert_int_equal(world_now_ms(w), 1000 + 4 * 2000);
    settle(w);
    assert_int_equal(m->attempts, 4); /* nothing brings it back by itself */
    world_remove(w, "/consumers/g/owners/t/3");
    settle(w);
    assert_int_equal(m->attempts, 4);
    /* The next event does. */
    world_put_topic(w, "t", 5);
    settle(w);
    world_check_settled(w);
    assert_false(m->gave_up);
    assert_state(m, "owning");
    world_free(w);
}

/* The way is free between two attempts. */
static void test_conflict_resolved(void **state)
{
    (void)state;
    struct world *w = new_world(4);
    world_put(w, "/consumers/g/owners/t/3", "g_ghost-0");
    struct world_member *m = join(w);
    world_run_ms(w, 2500);
    assert_state(m, "backoff");
    world_remove(w, "/consumers/g/owners/t/3");
    settle(w);
    assert_int_equal(m->attempts, 3);
    assert_int_equal(m->give_ups, 0);
    world_check_settled(w);
    world_free(w);
}

/* ---- F7: changes during a rebalance ---- */

static void test_changes_during_a_rebalance(void **state)
{
    (void)state;
    struct world *w = new_world(6);
    struct world_member *m = join(w);
    struct world_member *second = join(w);
    settle(w);
    world_check_settled(w);
    /* Held open by another's node on what it will get when the second goes. */
    int before = m->rebalances;
    world_leave(second);
    while (!second->is_closed)
        assert_true(world_step(w));
    world_put(w, "/consumers/g/owners/t/5", "g_ghost-0");
    while (strcmp(zk_compat_state_name(m->machine), "backoff") != 0)
        assert_true(world_step(w));
    assert_int_equal(m->rebalances, before + 1);
    struct world_member *third = join(w);
    struct world_member *fourth = join(w);
    world_run_ms(w, 500);
    world_crash(fourth); /* at once: leaving in order would wait for its own attempts */
    world_end_session(w, fourth->session);
    world_run_ms(w, 100);

    assert_int_equal(m->rebalances, before + 1);
    world_remove(w, "/consumers/g/owners/t/5");
    settle(w);
    assert_int_equal(m->rebalances, before + 2); /* not four, not one */
    world_check_settled(w);
    assert_int_equal(owned(m), 3);
    assert_int_equal(owned(third), 3);
    world_free(w);
}

/* ---- F18: nodes that vanish ---- */

static void test_vanishing_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *path, *why;
        int attempts;
    } nodes[] = {
        {"/consumers/g/ids/g_zz", "getData /consumers/g/ids/g_zz: NoNode", 2},
        {"/brokers/ids/1", "getData /brokers/ids/1: NoNode", 2},
        {"/brokers/topics/t", "", 1}, /* counts as a topic without partitions */
    };
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        struct world *w = new_world(4);
        world_put_broker(w, 1);
        struct world_member *m = join(w);
        settle(w);
        world_put(w, "/consumers/g/ids/g_zz",
                  "{\"version\":1,\"subscription\":{\"u\":1},\"pattern\":\"static\"}");
        settle(w);
        struct once vanish = {.type = ZK_OP_GET,
                              .path = nodes[i].path,
                              .lane = GROUP_LANE_REBALANCE,
                              .remove = nodes[i].path};
        world_set_hook(w, do_once, &vanish);
        m->attempts = 0;
        world_put_topic(w, "t", 5);
        settle(w);
        assert_int_equal(vanish.done, 1);
        assert_int_equal(m->give_ups, 0);
        if (m->attempts < nodes[i].attempts || !strstr(m->last_failure, nodes[i].why))
            fail_msg("%s: %d attempts, %s", nodes[i].path, m->attempts, m->last_failure);
        if (i != 2)
            world_check_settled(w);
        else
            assert_int_equal(owned(m), 0);
        world_free(w);
    }
}

/* The own id node: in 0.8 nothing makes it again within the session; attempts fail, it gives up,
 * and that is told. A new session registers again. */
static void test_own_node_is_gone(void **state)
{
    (void)state;
    struct world *w = new_world(4);
    struct world_member *m = join(w);
    settle(w);
    world_remove(w, "/consumers/g/ids/g_m0");
    settle(w);
    assert_int_equal(world_told(m, ZKC_ERR_REBALANCE), 1);
    assert_string_equal(m->last_failure, "getData /consumers/g/ids/g_m0: NoNode (-101)");
    /* Failed before the release: it believes to own and fetches nothing. */
    assert_int_equal(owned(m), 4);
    assert_true(fake_zk_exists(world_zk(w), "/consumers/g/owners/t/0"));
    world_expire(m);
    settle(w);
    world_check_settled(w);
    world_free(w);
}

/* A topic that is deleted does not rebalance; made again, it does. */
static void test_topic_deleted(void **state)
{
    (void)state;
    struct world *w = new_world(3);
    struct world_member *m = join(w);
    settle(w);
    world_forget(m);
    int before = m->rebalances;
    world_remove(w, "/brokers/topics/t");
    settle(w);
    static const char *const want[] = {"E exists w /brokers/topics/t -> NoNode",
                                       "E getData w /brokers/topics/t -> NoNode", NULL};
    world_expect(m, want);
    assert_int_equal(m->rebalances, before);
    assert_int_equal(owned(m), 3);
    world_put_topic(w, "t", 2);
    settle(w);
    assert_int_equal(m->rebalances, before + 1);
    world_check_settled(w);
    world_free(w);
}

static void test_topic_appears(void **state)
{
    (void)state;
    struct world *w = new_world(0);
    struct world_member *m = join(w);
    settle(w);
    assert_state(m, "idle");
    world_put_topic(w, "t", 2);
    settle(w);
    world_check_settled(w);
    assert_int_equal(m->rebalances, 2);
    world_free(w);
}

/* F28: no broker is registered: nothing is touched, and the first that appears starts it all. */
static void test_no_brokers(void **state)
{
    (void)state;
    struct world *w = new_world(3);
    world_remove_broker(w, 0);
    struct world_member *m = join(w);
    settle(w);
    size_t n = world_asked_count(m);
    assert_string_equal(world_asked(m, n - 2), "R exists w /brokers/ids");
    assert_string_equal(world_asked(m, n - 1), "R getChildren w /brokers/ids");
    assert_true(m->is_settled && !m->gave_up);
    assert_state(m, "idle");
    world_put_broker(w, 0);
    settle(w);
    world_check_settled(w);
    assert_int_equal(m->rebalances, 2);
    /* From now on every change of the brokers rebalances. */
    world_put_broker(w, 1);
    settle(w);
    assert_int_equal(m->rebalances, 3);
    /* All of them go while it owns: it goes on owning. */
    world_remove_broker(w, 0);
    world_remove_broker(w, 1);
    settle(w);
    world_check_settled(w);
    assert_int_equal(owned(m), 3);
    world_free(w);
}

/* ---- errors ---- */

/* An error that is none of a lost connection but may pass: sent again after a moment. */
static void test_resend(void **state)
{
    (void)state;
    static const int codes[] = {ZK_OPERATION_TIMEOUT, ZK_CONNECTION_LOSS, ZK_SESSION_MOVED};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct world *w = new_world(2);
        struct once once = {.type = ZK_OP_CHILDREN,
                            .path = "/consumers/g/ids",
                            .lane = -1,
                            .skip = 1,
                            .verdict = WORLD_FAIL,
                            .zk_rc = codes[i]};
        world_set_hook(w, do_once, &once);
        struct world_member *m = join(w);
        settle(w);
        world_check_settled(w);
        assert_int_equal(m->attempts, 1);
        assert_int_equal(world_now_ms(w), 1000 + GROUP_RESEND_MS);
        world_free(w);
    }
}

/* Registration refused: told, and tried again. */
static void test_registration_refused(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct once once = {.type = ZK_OP_CREATE,
                        .path = "/consumers/g",
                        .lane = -1,
                        .verdict = WORLD_FAIL,
                        .zk_rc = ZK_NO_AUTH};
    world_set_hook(w, do_once, &once);
    struct world_member *m = join(w);
    world_run_ms(w, 100);
    assert_int_equal(world_told(m, ZKC_ERR_ZOOKEEPER), 1);
    assert_string_equal(m->last_error, "registering /consumers/g/ids/g_m0: NoAuth (-102); trying "
                                       "again in 6000 ms");
    assert_state(m, "registering");
    settle(w);
    world_check_settled(w);
    world_free(w);
}

static enum world_verdict refuse(struct world *w, const struct world_request *request, int *zk_rc,
                                 void *user)
{
    (void)w;
    if (request->op->type != ZK_OP_CREATE || !strstr(request->op->path, "/ids/"))
        return WORLD_RUN;
    *zk_rc = *(const int *)user;
    return *zk_rc == ZK_OK ? WORLD_RUN : WORLD_FAIL;
}

/* For as long as it is tried, and refused, the application hears of it once; of another reason, and
 * when it is refused again after it has gone well, once more. */
static void test_registration_refused_for_long(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    int zk_rc = ZK_NO_AUTH;
    world_set_hook(w, refuse, &zk_rc);
    struct world_member *m = join(w);
    world_run_ms(w, 60000);
    assert_int_equal(world_told(m, ZKC_ERR_ZOOKEEPER), 1);
    zk_rc = ZK_NO_CHILDREN_FOR_EPHEMERALS;
    world_run_ms(w, 60000);
    assert_int_equal(world_told(m, ZKC_ERR_ZOOKEEPER), 2);
    zk_rc = ZK_OK;
    world_run_ms(w, 20000);
    world_check_settled(w);
    zk_rc = ZK_NO_CHILDREN_FOR_EPHEMERALS;
    world_expire(m);
    world_run_ms(w, 60000);
    assert_int_equal(world_told(m, ZKC_ERR_ZOOKEEPER), 3);
    world_free(w);
}

/* A delete of the release is refused: topics that were given back whole are not deleted again (in
 * Java they have left the registry by then), those of the broken topic are. */
static void test_release_refused(void **state)
{
    (void)state;
    const struct zk_subscription subs[] = {sub("a", 1), sub("b", 1), sub("c", 1)};
    struct world *w = world_new(&(struct world_options){.seed = 1});
    world_put_topic(w, "a", 2);
    world_put_topic(w, "b", 2);
    world_put_topic(w, "c", 2);
    struct zk_compat_config c = world_config();
    c.subscriptions = subs;
    c.subscription_count = 3;
    struct world_member *m = world_join(w, &c);
    settle(w);
    struct once once = {.type = ZK_OP_DELETE,
                        .path = "/consumers/g/owners/b/1",
                        .lane = -1,
                        .verdict = WORLD_FAIL,
                        .zk_rc = ZK_NO_AUTH};
    world_set_hook(w, do_once, &once);
    world_forget(m);
    world_put_topic(w, "a", 3);
    settle(w);
    world_check_settled(w);
    assert_int_equal(m->attempts_failed, 1);
    assert_int_equal(world_asked_like(m, "R delete /consumers/g/owners/a/0"), 1);
    assert_int_equal(world_asked_like(m, "R delete /consumers/g/owners/b/0"), 2);
    assert_int_equal(world_asked_like(m, "R delete /consumers/g/owners/c/0"), 1);
    world_free(w);
}

/* F1, where 0.8.2 has it by design: an error in the midst of the claims gives nothing back. The
 * next attempt finds them as its own; but when a change of the group comes between, nobody gives
 * them back until the session ends, and who should own them gives up. All of it is told. */
static void test_claims_left_by_an_error(void **state)
{
    (void)state;
    struct world *w = new_world(4);
    struct once once = {.type = ZK_OP_CREATE,
                        .path = "/consumers/g/owners/t/3",
                        .lane = -1,
                        .verdict = WORLD_FAIL,
                        .zk_rc = ZK_NO_AUTH};
    world_set_hook(w, do_once, &once);
    struct world_member *m = join(w);
    world_run_ms(w, 1000);
    assert_string_equal(m->last_failure, "create /consumers/g/owners/t/3: NoAuth (-102)");
    assert_state(m, "backoff");
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/owners/t/2"), "g_m0-0");
    struct world_member *other = join(w);
    settle(w);
    assert_int_equal(owned(m), 2);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/owners/t/2"), "g_m0-0");
    assert_int_equal(owned(other), 0);
    assert_int_equal(world_told(other, ZKC_ERR_REBALANCE), 1);
    world_leave(m); /* the end of its session frees them */
    settle(w);
    world_check_settled(w);
    assert_int_equal(owned(other), 4);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_member),
        cmocka_unit_test(test_watches),
        cmocka_unit_test(test_idle_members),
        cmocka_unit_test(test_view_is_given_back),
        cmocka_unit_test(test_lost_answers),
        cmocka_unit_test(test_lost_answer_is_recognised),
        cmocka_unit_test(test_half_won_claims_are_given_back),
        cmocka_unit_test(test_conflict_resolved),
        cmocka_unit_test(test_changes_during_a_rebalance),
        cmocka_unit_test(test_vanishing_nodes),
        cmocka_unit_test(test_own_node_is_gone),
        cmocka_unit_test(test_topic_deleted),
        cmocka_unit_test(test_topic_appears),
        cmocka_unit_test(test_no_brokers),
        cmocka_unit_test(test_resend),
        cmocka_unit_test(test_registration_refused),
        cmocka_unit_test(test_registration_refused_for_long),
        cmocka_unit_test(test_release_refused),
        cmocka_unit_test(test_claims_left_by_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
