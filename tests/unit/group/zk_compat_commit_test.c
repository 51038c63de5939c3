/* Commits, leaders, leaving: one story a test (zk_compat_join_test.c). */
#include "tests/unit/group/story.h"

/* ---- commits ---- */

/* F13: stop, commit, release; what the application asked for before is done before too. */
static void test_commit_before_release(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct world_member *m = join(w);
    settle(w);
    world_consume(m, 7);
    struct once hold = {
        .type = ZK_OP_SET, .path = "/consumers/g/offsets", .lane = -1, .verdict = WORLD_HOLD};
    world_set_hook(w, do_once, &hold);
    world_commit_one(m, "t", 1, 3); /* of the application; its answer is held back */
    world_forget(m);
    world_put_topic(w, "t", 3);
    settle(w);
    assert_int_equal(world_asked_like(m, "R delete"), 0);
    world_release(w);
    settle(w);
    size_t last_commit = 0, first_release = 0;
    for (size_t i = 0; i < world_asked_count(m); i++) {
        const char *asked = world_asked(m, i);
        if (asked[0] == 'C')
            last_commit = i;
        if (strncmp(asked, "R delete", 8) == 0 && !first_release)
            first_release = i;
    }
    assert_true(last_commit > 0 && last_commit < first_release);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/1"), "7");
    assert_int_equal(m->positions[1].offset, 7); /* and the next owner starts there */
    world_check_settled(w);
    world_free(w);
}

/* F21: a stored 0 is an offset. */
static void test_offset_zero(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    world_put(w, "/consumers/g/offsets/t/0", "0");
    struct world_member *m = join(w);
    size_t n = 0;
    while (n == 0) {
        assert_true(world_step(w));
        zk_compat_owned(m->machine, &n);
    }
    const struct group_claim *claims = zk_compat_owned(m->machine, &n);
    assert_int_equal(claims[0].offset, 0);
    assert_int_equal(claims[1].offset, -1);
    settle(w);
    /* Nothing to write at 0 where 0 is stored; where nothing is, 0 is written. */
    world_forget(m);
    world_commit(m);
    settle(w);
    assert_int_equal(world_asked_like(m, "C setData /consumers/g/offsets/t/0"), 0);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/1"), "0");
    world_free(w);
}

static void nothing_is_stored(const char *path, const char *text, int64_t owner, void *user)
{
    (void)text;
    (void)owner;
    (void)user;
    fail_msg("%s is stored", path);
}

/* F22: with auto commit off nothing is written, whatever happens. */
static void test_auto_commit_off(void **state)
{
    (void)state;
    struct world *w = new_world(4);
    struct zk_compat_config c = world_config();
    c.auto_commit = false;
    c.auto_commit_interval_ms = 100;
    struct world_member *m = world_join(w, &c);
    settle(w);
    world_consume(m, 5);
    world_run_ms(w, 1000); /* the timer's */
    struct world_member *other = world_join(w, &c);
    settle(w); /* a rebalance's */
    world_consume(m, 5);
    world_consume(other, 5);
    world_expire(m);
    settle(w);
    world_consume(other, 5);
    world_leave(other); /* closing */
    settle(w);
    world_put(w, "/consumers/g/owners/t/3", "g_ghost-0");
    world_put_topic(w, "t", 5);
    settle(w); /* a failed attempt's */
    fake_zk_each(world_zk(w), "/consumers/g/offsets", nothing_is_stored, NULL);
    /* The application may. */
    world_remove(w, "/consumers/g/owners/t/3");
    world_put_topic(w, "t", 4);
    settle(w);
    world_consume(m, 2);
    world_commit(m);
    settle(w);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/0"), "2");
    world_free(w);
}

static void test_commit_timer(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct zk_compat_config c = world_config();
    c.auto_commit_interval_ms = 1000;
    struct world_member *m = world_join(w, &c);
    world_run_ms(w, 500);
    world_forget(m);
    world_consume(m, 5);
    world_run_ms(w, 499);
    assert_int_equal(world_asked_like(m, "C "), 0);
    world_run_ms(w, 2);
    assert_int_equal(world_asked_like(m, "C "), 8); /* 5 + 3: first commits of two partitions */
    world_run_ms(w, 10000);
    assert_int_equal(world_asked_like(m, "C "), 8); /* F23: nothing changed */
    world_consume(m, 5);
    world_run_ms(w, 1000);
    assert_int_equal(world_asked_like(m, "C "), 10);
    /* While one hangs, no other of the timer begins. */
    struct once hold = {
        .type = ZK_OP_SET, .path = "/consumers/g/offsets", .lane = -1, .verdict = WORLD_HOLD};
    world_set_hook(w, do_once, &hold);
    int ticks = m->positions_asked;
    for (int i = 0; i < 5; i++) {
        world_consume(m, 1);
        world_run_ms(w, 1000);
    }
    assert_int_equal(m->positions_asked, ticks + 1);
    assert_int_equal(world_asked_like(m, "C "), 10);
    world_release(w);
    world_run_ms(w, 1500);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/0"), "15");
    world_free(w);
}

/* A timer's commit that is refused is told; the next tick tries again. */
static void test_commit_refused(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    struct zk_compat_config c = world_config();
    c.auto_commit_interval_ms = 1000;
    struct world_member *m = world_join(w, &c);
    world_run_ms(w, 100);
    world_consume(m, 5);
    struct once once = {.type = ZK_OP_SET,
                        .path = "/consumers/g/offsets",
                        .lane = -1,
                        .verdict = WORLD_FAIL,
                        .zk_rc = ZK_NO_AUTH};
    world_set_hook(w, do_once, &once);
    world_run_ms(w, 1000);
    assert_string_equal(m->last_error, "exception during commitOffsets: writing "
                                       "/consumers/g/offsets/t/0: NoAuth (-102)");
    assert_int_equal(world_told(m, ZKC_ERR_ZOOKEEPER), 1);
    world_run_ms(w, 1000);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/0"), "5");
    world_free(w);
}

/* The commit before the release is refused: an attempt that failed, before anything was released.
 */
static void test_commit_of_a_rebalance_refused(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct world_member *m = join(w);
    settle(w);
    world_consume(m, 5);
    struct once once = {.type = ZK_OP_SET,
                        .path = "/consumers/g/offsets",
                        .lane = -1,
                        .verdict = WORLD_FAIL,
                        .zk_rc = ZK_NO_AUTH};
    world_set_hook(w, do_once, &once);
    world_forget(m);
    world_put_topic(w, "t", 3);
    settle(w);
    assert_int_equal(m->attempts_failed, 1);
    assert_string_equal(m->last_failure, "committing before the release: writing "
                                         "/consumers/g/offsets/t/0: NoAuth (-102)");
    world_check_settled(w);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/0"), "5");

    /* Twice: the second is that of the clean-up, outside of the loop's guard: the loop ends. */
    once = (struct once){.type = ZK_OP_SET,
                         .path = "/consumers/g/offsets",
                         .lane = -1,
                         .verdict = WORLD_FAIL,
                         .zk_rc = ZK_NO_AUTH,
                         .always = true};
    world_consume(m, 5);
    int attempts = m->attempts;
    world_put_topic(w, "t", 4);
    settle(w);
    assert_int_equal(m->attempts, attempts + 1);
    assert_int_equal(m->give_ups, 1);
    assert_int_equal(world_told(m, ZKC_ERR_REBALANCE), 1);
    once.verdict = WORLD_RUN;
    world_put_topic(w, "t", 5);
    settle(w);
    world_check_settled(w);
    world_free(w);
}

/* The application's commits: refused as a whole where one is not owned; each is answered. */
static void test_application_commits(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct world_member *m = join(w);
    world_commit_one(m, "t", 0, 5);
    assert_int_equal(m->last_commit_err, ZKC_ERR_NOT_OWNED); /* nothing is owned yet */
    world_commit(m);                                         /* all that is owned: nothing */
    assert_int_equal(m->last_commit_err, ZKC_OK);
    settle(w);
    assert_int_equal(m->commits_queued, 1);
    assert_int_equal(m->commits_done, 1);
    world_commit_one(m, "t", 2, 5);
    assert_int_equal(m->last_commit_err, ZKC_ERR_NOT_OWNED);
    world_commit_one(m, "t", 1, 5);
    settle(w);
    assert_int_equal(m->last_commit_err, ZKC_OK);
    assert_int_equal(m->commits_done, 2);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/1"), "5");
    /* Waiting when the session ends: not ours any more. */
    struct once hold = {
        .type = ZK_OP_SET, .path = "/consumers/g/offsets", .lane = -1, .verdict = WORLD_CUT_BEFORE};
    world_set_hook(w, do_once, &hold);
    world_commit_one(m, "t", 1, 6);
    uint32_t first = m->last_job;
    world_commit_one(m, "t", 0, 6);
    assert_int_not_equal(m->last_job, first);
    while (!hold.done)
        assert_true(world_step(w));
    world_end_session(w, m->session);
    settle(w);
    assert_int_equal(m->commits_failed, 1);
    /* The one that had begun landed in the new session (seen: the late commit). */
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/1"), "6");
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/0"), "0");
    world_check_settled(w);
    world_free(w);
}

/* ---- leaders ---- */

static void lose_leader(struct world_member *m, const char *topic, int32_t partition)
{
    struct group_input in = {.type = GROUP_IN_LEADER_LOST, .leader_lost = {topic, partition}};
    world_feed(m, &in);
}

static void test_leader_lost(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct world_member *m = join(w);
    settle(w);
    world_forget(m);
    static const char *const scan[] = {"F getChildren /brokers/ids", "F getData /brokers/ids/0",
                                       NULL};
    static const char *const none[] = {NULL};
    lose_leader(m, "t", 7); /* is not owned */
    lose_leader(m, "u", 0);
    settle(w);
    world_expect(m, none);
    lose_leader(m, "t", 1);
    lose_leader(m, "t", 1);
    settle(w);
    world_expect(m, scan);
    /* Between stop and assignment there is no fetcher that could lose one: what comes late is
     * nobody's. */
    world_put_topic(w, "t", 3);
    m->last_stop = GROUP_STOP_LEAVE;
    while (m->last_stop != GROUP_STOP_REBALANCE)
        assert_true(world_step(w));
    world_forget(m);
    lose_leader(m, "t", 1);
    settle(w);
    assert_int_equal(world_asked_like(m, "F getChildren"), 1); /* for the new assignment */
    world_forget(m);
    world_leave(m);
    if (m->machine)
        lose_leader(m, "t", 1);
    settle(w);
    assert_int_equal(world_asked_like(m, "F "), 0);
    world_free(w);
}

/* ---- leaving ---- */

static void test_leave_before_connection(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct world_member *m = join(w);
    world_leave(m);
    settle(w);
    assert_true(m->is_closed);
    world_expect(m, (const char *const[]){NULL});
    world_free(w);
}

/* A registration that waits for another's node does not hold up anybody. */
static void test_leave_while_id_is_taken(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    world_put(w, "/consumers/g/ids/g_m0", "another");
    struct world_member *m = join(w);
    world_run_ms(w, 100);
    assert_state(m, "registering");
    world_leave(m);
    world_run_ms(w, 1);
    assert_true(m->is_closed);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/ids/g_m0"), "another");
    world_free(w);
}

/* It leaves while it waits to register again, and a commit hangs: it registers no more. */
static enum world_verdict hang_commit(struct world *w, const struct world_request *r, int *zk_rc,
                                      void *user)
{
    (void)zk_rc;
    int *sets = user;
    if (r->op->type != ZK_OP_SET)
        return WORLD_RUN;
    if ((*sets)++ > 0)
        return WORLD_HOLD;
    world_end_session(w, r->member->session);
    world_put(w, "/consumers/g/ids/g_m0", "another");
    return WORLD_CUT_BEFORE;
}

static void test_leave_while_id_is_taken_again(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    struct world_member *m = join(w);
    settle(w);
    int sets = 0;
    world_set_hook(w, hang_commit, &sets);
    world_commit_one(m, "t", 0, 5);
    world_run_ms(w, 7000);
    assert_int_equal(sets, 2);
    assert_int_equal(world_asked_like(m, "E create /consumers/g/ids/g_m0"), 2);
    world_leave(m);
    world_forget(m);
    world_run_ms(w, 20000);
    assert_false(m->is_closed);
    world_expect(m, (const char *const[]){NULL});
    world_release(w);
    settle(w);
    assert_true(m->is_closed);
    world_free(w);
}

/* In order: commit, then close; no delete: the session's end gives all back. */
static void test_leave(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct world_member *m = join(w);
    settle(w);
    world_consume(m, 5);
    world_commit(m);
    settle(w);
    world_consume(m, 1);
    world_forget(m);
    world_leave(m);
    if (m->machine)
        world_leave(m); /* once more changes nothing */
    settle(w);
    static const char *const want[] = {"C setData /consumers/g/offsets/t/0 = 6",
                                       "C setData /consumers/g/offsets/t/1 = 6", NULL};
    world_expect(m, want);
    assert_true(m->is_closed);
    assert_false(fake_zk_exists(world_zk(w), "/consumers/g/ids/g_m0"));
    assert_false(fake_zk_exists(world_zk(w), "/consumers/g/owners/t/0"));
    world_free(w);
}

/* Seen: 8 s, four attempts that release everything, read all, and fail at the claims. */
static void test_leave_during_an_attempt(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct world_member *m = join(w);
    struct world_member *other = join(w);
    settle(w);
    world_leave(other);
    m->last_stop = GROUP_STOP_LEAVE;
    while (m->last_stop != GROUP_STOP_REBALANCE)
        assert_true(world_step(w));
    int64_t began = world_now_ms(w);
    m->attempts_failed = 0;
    world_leave(m);
    assert_false(m->is_closed);
    while (!m->is_closed)
        assert_true(world_step(w));
    assert_int_equal(m->attempts_failed, 4);
    assert_string_equal(m->last_failure, "the member is shutting down");
    assert_int_equal(world_now_ms(w) - began, 8000);
    world_free(w);
}

static void test_leave_during_backoff(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    world_put(w, "/consumers/g/owners/t/1", "g_ghost-0");
    struct world_member *m = join(w);
    world_run_ms(w, 1000);
    assert_state(m, "backoff");
    world_leave(m);
    assert_false(m->is_closed);
    settle(w);
    assert_true(m->is_closed);
    assert_int_equal(world_now_ms(w), 1000 + 8000);
    world_free(w);
}

/* Without a connection it waits: the shell has the deadline. With one it goes on. */
static void test_leave_while_disconnected(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct zk_compat_config c = world_config();
    c.auto_commit_interval_ms = 500;
    struct world_member *m = world_join(w, &c);
    world_run_ms(w, 700);
    assert_int_equal(m->positions_asked, 1);
    world_consume(m, 5);
    world_cut(m, 0, 3000);
    world_leave(m);
    world_run_ms(w, 2999);
    assert_false(m->is_closed);
    assert_int_equal(m->positions_asked, 1); /* the timer has stopped */
    settle(w);
    assert_true(m->is_closed);
    assert_string_equal(fake_zk_text(world_zk(w), "/consumers/g/offsets/t/0"), "5");
    world_free(w);
}

/* The session ends while it leaves: it registers no more. */
static void test_expiry_while_leaving(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct world_member *m = join(w);
    settle(w);
    world_consume(m, 5);
    world_cut(m, 0, 30000);
    world_leave(m);
    settle(w);
    assert_true(m->is_closed);
    assert_false(fake_zk_exists(world_zk(w), "/consumers/g/ids/g_m0"));
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commit_before_release),
        cmocka_unit_test(test_offset_zero),
        cmocka_unit_test(test_auto_commit_off),
        cmocka_unit_test(test_commit_timer),
        cmocka_unit_test(test_commit_refused),
        cmocka_unit_test(test_commit_of_a_rebalance_refused),
        cmocka_unit_test(test_application_commits),
        cmocka_unit_test(test_leader_lost),
        cmocka_unit_test(test_leave_before_connection),
        cmocka_unit_test(test_leave_while_id_is_taken),
        cmocka_unit_test(test_leave_while_id_is_taken_again),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_leave_during_an_attempt),
        cmocka_unit_test(test_leave_during_backoff),
        cmocka_unit_test(test_leave_while_disconnected),
        cmocka_unit_test(test_expiry_while_leaving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
