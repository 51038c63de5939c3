/* The switches of zk_compat, one by one: what each does instead of what 0.8.2 does. */
#include "tests/unit/group/story.h"

static struct world_member *join_with(struct world *w, struct zk_switches switches)
{
    struct zk_compat_config c = world_config();
    c.switches = switches;
    return world_join(w, &c);
}

static struct zk_compat_config every(void)
{
    struct zk_compat_config c = world_config();
    c.switches = (struct zk_switches){.each_event = true,
                                      .watch_owners = true,
                                      .claim = ZK_CLAIM_MULTI,
                                      .release = ZK_GUARD_SESSION,
                                      .commit = ZK_GUARD_SESSION,
                                      .sync_before_read = true,
                                      .never_gives_up = true};
    return c;
}

static const char *text_at(struct world *w, const char *path)
{
    const char *text = fake_zk_text(world_zk(w), path);
    return text ? text : "(none)";
}

static void test_names(void **state)
{
    (void)state;
    struct zk_switches all = every().switches;
    struct zk_switch list[ZK_SWITCH_COUNT];
    all.fence = ZK_FENCE_LEASE;
    assert_int_equal(zk_switches_set(&(struct zk_switches){0}, list), 0);
    assert_int_equal(zk_switches_set(&all, list), ZK_SWITCH_COUNT);
    assert_string_equal(list[5].name, "zookeeper.fence");
    assert_string_equal(list[5].value, "lease");
}

/* ---- claim=multi ---- */

#define MULTI ((struct zk_switches){.claim = ZK_CLAIM_MULTI})

static void test_claim_in_one_transaction(void **state)
{
    (void)state;
    struct world *w = new_world(3);
    struct world_member *m = join_with(w, MULTI);
    settle(w);
    assert_int_equal(world_asked_like(m, "R create /consumers/g/owners/t/"), 0);
    assert_int_equal(world_asked_like(m, "R multi /consumers/g/owners/t/0 (3) -> NoNode"), 1);
    assert_int_equal(world_asked_like(m, "R create /consumers/g/owners/t"), 2); /* the folders */
    assert_int_equal(world_asked_like(m, "R multi /consumers/g/owners/t/0 (3)"), 2);
    world_check_settled(w);
    assert_int_equal(m->attempts, 1);
    world_free(w);
}

/* Nothing of a conflict's attempt is ever there: nothing is taken back. */
static void test_claim_all_or_none(void **state)
{
    (void)state;
    struct world *w = new_world(4);
    world_put(w, "/consumers/g/owners/t/3", "g_ghost-0");
    struct world_member *m = join_with(w, MULTI);
    while (m->give_ups == 0 && world_step(w))
        for (int p = 0; p < 3; p++) {
            char path[64];
            snprintf(path, sizeof path, "/consumers/g/owners/t/%d", p);
            assert_false(fake_zk_exists(world_zk(w), path));
        }
    assert_int_equal(m->give_ups, 1);
    assert_int_equal(m->attempts, 4);
    assert_int_equal(world_asked_like(m, "R delete"), 0);
    assert_int_equal(world_asked_like(m, "R getData /consumers/g/owners/t/3"), 4);
    assert_non_null(strstr(m->last_failure, "1 of 4 claims"));
    world_free(w);
}

/* The answer is lost, the transaction was done: each node is recognised by its text, as in 0.8.2.
 */
static void test_claim_whose_answer_is_lost(void **state)
{
    (void)state;
    struct once lost = {.type = ZK_OP_MULTI,
                        .path = "/consumers/g/owners/t/0",
                        .lane = -1,
                        .skip = 1, /* it meets a missing folder */
                        .verdict = WORLD_CUT_AFTER};
    struct world *w = new_world(3);
    world_set_hook(w, do_once, &lost);
    struct world_member *m = join_with(w, MULTI);
    settle(w);
    assert_int_equal(lost.done, 1);
    world_check_settled(w);
    assert_int_equal(m->attempts_failed, 0);
    assert_int_equal(world_asked_like(m, "R getData /consumers/g/owners/t/"), 3);
    world_free(w);
}

static void test_many_claims_are_several_transactions(void **state)
{
    (void)state;
    struct world *w = new_world(2 * CLAIM_PARTS_MAX + 1);
    world_put(w, "/consumers/g/owners/t", NULL);
    struct world_member *m = join_with(w, MULTI);
    settle(w);
    assert_int_equal(world_asked_like(m, "R multi"), 3);
    assert_int_equal(world_asked_like(m, "R multi /consumers/g/owners/t/0 (100)"), 1);
    assert_int_equal(world_asked_like(m, "R multi /consumers/g/owners/t/200 (1)"), 1);
    world_check_settled(w);
    world_free(w);
}

/* A conflict in the second transaction takes back the first. */
static void test_undo_of_an_earlier_transaction(void **state)
{
    (void)state;
    struct world *w = new_world(CLAIM_PARTS_MAX + 1);
    world_put(w, "/consumers/g/owners/t/100", "g_ghost-0");
    struct world_member *m = join_with(w, MULTI);
    while (m->give_ups == 0 && world_step(w))
        continue;
    assert_int_equal(world_asked_like(m, "R delete"), 4 * CLAIM_PARTS_MAX);
    assert_false(fake_zk_exists(world_zk(w), "/consumers/g/owners/t/0"));
    assert_true(fake_zk_exists(world_zk(w), "/consumers/g/owners/t/100"));
    world_free(w);
}

static void test_claim_refused(void **state)
{
    (void)state;
    struct once refused = {.type = ZK_OP_MULTI,
                           .path = "/consumers/g/owners",
                           .lane = -1,
                           .verdict = WORLD_FAIL,
                           .zk_rc = ZK_NO_AUTH,
                           .always = true};
    struct world *w = new_world(2);
    world_set_hook(w, do_once, &refused);
    struct world_member *m = join_with(w, MULTI);
    settle(w);
    assert_int_equal(m->give_ups, 1);
    assert_non_null(strstr(m->last_failure, "NoAuth"));
    world_free(w);
}

/* ---- release=session ---- */

#define RELEASE ((struct zk_switches){.release = ZK_GUARD_SESSION})

static void test_release_looks_first(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    struct world_member *m = join_with(w, RELEASE);
    settle(w);
    world_forget(m);
    join_with(w, RELEASE);
    settle(w);
    assert_int_equal(world_asked_like(m, "R exists /consumers/g/owners/t/"), 2);
    assert_int_equal(world_asked_like(m, "R delete /consumers/g/owners/t/"), 2);
    world_check_settled(w);
    world_free(w);
}

/* Somebody has deleted our node and claimed the partition: blind, we delete his. */
static void test_release_of_what_is_anothers_by_now(void **state)
{
    (void)state;
    for (int guarded = 0; guarded < 2; guarded++) {
        struct world *w = new_world(2);
        struct world_member *m =
            join_with(w, guarded ? RELEASE : (struct zk_switches){.release = ZK_GUARD_BLIND});
        settle(w);
        int64_t foreign = fake_zk_open(world_zk(w));
        world_remove(w, "/consumers/g/owners/t/1");
        fake_zk_put_ephemeral(world_zk(w), "/consumers/g/owners/t/1", "g_x-0", foreign);
        world_put_topic(w, "t", 3);
        while (m->rebalances < 2)
            assert_true(world_step(w));
        world_run_ms(w, 500);
        bool is_there = fake_zk_owner(world_zk(w), "/consumers/g/owners/t/1") == foreign;
        assert_int_equal(is_there, guarded);
        world_free(w);
    }
}

/* The session ends between the look and the delete: the next one does not send it. */
static void test_release_is_not_repeated_in_another_session(void **state)
{
    (void)state;
    static const enum zk_op_type types[] = {ZK_OP_EXISTS, ZK_OP_DELETE};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct once ends = {.type = types[i],
                            .path = "/consumers/g/owners/t/0",
                            .lane = GROUP_LANE_REBALANCE,
                            .verdict = WORLD_EXPIRE_AFTER};
        struct world *w = new_world(2);
        world_set_hook(w, do_once, &ends);
        struct world_member *m = join_with(w, RELEASE);
        settle(w);
        world_put_topic(w, "t", 3);
        while (!ends.done)
            assert_true(world_step(w));
        world_put(w, "/consumers/g/owners/t/0", "g_x-0");
        while (m->expiries == 0)
            assert_true(world_step(w));
        world_run_ms(w, 1000);
        assert_string_equal(text_at(w, "/consumers/g/owners/t/0"), "g_x-0");
        assert_true(m->attempts_failed > 0);
        world_free(w);
    }
}

/* ---- commit=session ---- */

#define COMMIT ((struct zk_switches){.commit = ZK_GUARD_SESSION})
#define OFFSET "/consumers/g/offsets/t/0"

struct versions {
    int32_t seen[16];
    size_t count;
};

static enum world_verdict note_versions(struct world *w, const struct world_request *r, int *zk_rc,
                                        void *user)
{
    struct versions *v = user;
    (void)w;
    (void)zk_rc;
    if (r->op->type == ZK_OP_SET && v->count < ARRAY_LEN(v->seen))
        v->seen[v->count++] = r->op->version;
    return WORLD_RUN;
}

static void commit_more(struct world *w, struct world_member *m)
{
    world_consume(m, 5);
    world_commit(m);
    settle(w);
}

static void test_commit_names_the_version(void **state)
{
    (void)state;
    struct versions v = {.count = 0};
    struct world *w = new_world(1);
    world_set_hook(w, note_versions, &v);
    struct world_member *m = join_with(w, COMMIT);
    settle(w);
    for (int i = 0; i < 3; i++)
        commit_more(w, m);
    assert_string_equal(text_at(w, OFFSET), "15");
    assert_int_equal(v.count, 2); /* the first one creates */
    assert_int_equal(v.seen[0], 0);
    assert_int_equal(v.seen[1], 1);
    assert_int_equal(m->commits_failed, 0);
    world_free(w);
}

static void test_commit_over_a_foreign_write(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    struct world_member *m = join_with(w, COMMIT);
    settle(w);
    commit_more(w, m);
    world_put(w, OFFSET, "3");
    commit_more(w, m); /* refused, and told */
    assert_string_equal(text_at(w, OFFSET), "3");
    assert_int_equal(m->last_commit_err, ZKC_ERR_NOT_OWNED);
    world_commit(m); /* without progress nothing is written */
    settle(w);
    assert_string_equal(text_at(w, OFFSET), "3");
    commit_more(w, m);
    assert_string_equal(text_at(w, OFFSET), "15");
    world_remove(w, OFFSET);
    commit_more(w, m); /* created again at once: it is nobody's */
    assert_string_equal(text_at(w, OFFSET), "20");
    world_free(w);
}

/* Its own write, whose answer was lost, is no foreign one. */
static void test_commit_whose_answer_is_lost(void **state)
{
    (void)state;
    static const enum zk_op_type types[] = {ZK_OP_CREATE, ZK_OP_SET};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct once lost = {
            .type = types[i], .path = OFFSET, .lane = -1, .verdict = WORLD_CUT_AFTER};
        struct world *w = new_world(1);
        world_set_hook(w, do_once, &lost);
        struct world_member *m = join_with(w, COMMIT);
        settle(w);
        commit_more(w, m);
        commit_more(w, m);
        commit_more(w, m);
        assert_int_equal(lost.done, 1);
        assert_string_equal(text_at(w, OFFSET), "15");
        assert_int_equal(m->commits_failed, 0);
        world_free(w);
    }
}

/* The scene late-commit: what waits for a connection is not written in the next session. */
static void test_commit_of_an_ended_session(void **state)
{
    (void)state;
    for (int guarded = 0; guarded < 2; guarded++) {
        struct once held = {.type = ZK_OP_SET,
                            .path = OFFSET,
                            .lane = -1,
                            .skip = !guarded, /* that finds that there is no node */
                            .verdict = WORLD_HOLD};
        struct world *w = new_world(1);
        world_set_hook(w, do_once, &held);
        struct world_member *m =
            join_with(w, guarded ? COMMIT : (struct zk_switches){.commit = ZK_GUARD_BLIND});
        settle(w);
        commit_more(w, m);
        world_consume(m, 5);
        world_commit(m);
        while (!held.done)
            assert_true(world_step(w));
        world_expire(m);
        world_put(w, OFFSET, "77"); /* the heir has gone on */
        while (m->expiries == 0)
            assert_true(world_step(w));
        world_run_ms(w, 100);
        assert_string_equal(text_at(w, OFFSET), guarded ? "77" : "10");
        assert_int_equal(m->commits_failed, guarded);
        world_free(w);
    }
}

/* ---- watch.owners ---- */

#define WATCH ((struct zk_switches){.watch_owners = true})

static void test_waits_for_the_owner_to_go(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    int64_t ghost = fake_zk_open(world_zk(w));
    fake_zk_put_ephemeral(world_zk(w), "/consumers/g/owners/t/0", "g_x-0", ghost);
    fake_zk_put_ephemeral(world_zk(w), "/consumers/g/owners/t/1", "g_x-0", ghost);
    struct world_member *m = join_with(w, WATCH);
    world_run_ms(w, 60000);
    assert_int_equal(m->attempts, 1);
    assert_int_equal(m->give_ups, 0);
    assert_state(m, "backoff");
    world_remove(w, "/consumers/g/owners/t/1"); /* one of two: it waits on */
    world_run_ms(w, 10000);
    assert_int_equal(m->attempts, 1);
    int64_t since = world_now_ms(w);
    world_end_session(w, ghost);
    settle(w);
    assert_int_equal(m->attempts, 2);
    world_check_settled(w);
    assert_true(world_now_ms(w) - since < 100);
    world_free(w);
}

/* The holder goes between the create and the look: there is nothing to wait for. */
static void test_owner_is_gone_already(void **state)
{
    (void)state;
    struct once vanish = {.type = ZK_OP_GET,
                          .path = "/consumers/g/owners/t/1",
                          .lane = -1,
                          .verdict = WORLD_RUN,
                          .remove = "/consumers/g/owners/t/1"};
    struct world *w = new_world(2);
    world_put(w, "/consumers/g/owners/t/1", "g_x-0");
    world_set_hook(w, do_once, &vanish);
    struct world_member *m = join_with(w, WATCH);
    settle(w);
    assert_int_equal(m->attempts, 2);
    world_check_settled(w);
    world_free(w);
}

/* A change of the view, the end of the session and leaving end the wait as well. */
static void test_news_end_the_wait(void **state)
{
    (void)state;
    for (int what = 0; what < 3; what++) {
        struct world *w = new_world(2);
        int64_t ghost = fake_zk_open(world_zk(w));
        fake_zk_put_ephemeral(world_zk(w), "/consumers/g/owners/t/0", "g_x-0", ghost);
        struct world_member *m = join_with(w, WATCH);
        world_run_ms(w, 30000);
        assert_int_equal(m->attempts, 1);
        if (what == 0) {
            struct world_member *other = join_with(w, WATCH);
            world_run_ms(w, 5000);
            assert_int_equal(m->attempts > 1, 1);
            assert_int_equal(owned(m) + owned(other), 1); /* t/1; the ghost has the other */
        } else if (what == 1) {
            world_expire(m);
            world_run_ms(w, 5000);
            assert_int_equal(m->expiries, 1);
            assert_true(m->is_registered && m->attempts > 1);
        } else {
            world_leave(m);
            world_run_ms(w, 30000);
            assert_true(m->is_closed);
        }
        world_free(w);
    }
}

/* ---- give.up=never ---- */

static void test_never_gives_up(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    world_put(w, "/consumers/g/owners/t/0", "g_x-0");
    struct world_member *m = join_with(w, (struct zk_switches){.never_gives_up = true});
    world_run_ms(w, 60000);
    assert_int_equal(m->give_ups, 0);
    assert_in_range(m->attempts, 29, 31);
    world_remove(w, "/consumers/g/owners/t/0");
    settle(w);
    world_check_settled(w);
    world_put(w, "/consumers/g/owners/t/2", "g_x-0");
    world_put_topic(w, "t", 3);
    world_run_ms(w, 60000);
    assert_int_equal(m->give_ups, 0);
    world_leave(m); /* a member that leaves waits no longer than 0.8.2's */
    world_run_ms(w, 10000);
    assert_true(m->is_closed);
    world_free(w);
}

/* ---- coalesce=false ---- */

static void test_each_event_rebalances(void **state)
{
    (void)state;
    for (int each = 0; each < 2; each++) {
        struct zk_subscription subscriptions[] = {sub("t", 1), sub("u", 1), sub("v", 1)};
        struct zk_compat_config c = world_config();
        c.subscriptions = subscriptions;
        c.subscription_count = ARRAY_LEN(subscriptions);
        c.switches.each_event = each;
        struct world *w = new_world(2);
        world_put_topic(w, "u", 2);
        world_put_topic(w, "v", 2);
        struct world_member *m = world_join(w, &c);
        settle(w);
        assert_int_equal(m->rebalances, 1);
        world_put_topic(w, "t", 3);
        world_put_topic(w, "u", 3);
        world_put_topic(w, "v", 3);
        settle(w);
        assert_int_equal(m->rebalances, each ? 4 : 3); /* two of three fall together */
        world_check_settled(w);
        world_expire(m);
        settle(w);
        world_check_settled(w);
        world_free(w);
    }
}

/* ---- sync.before.read ---- */

static void test_sync_before_reads(void **state)
{
    (void)state;
    static const struct {
        enum zk_variant variant;
        const char *before[3]; /* the operations that follow a sync */
    } cases[] = {
        {ZK_VARIANT_0_8, {"R getChildren /brokers/ids", "R getData /consumers/g/ids/g_m0"}},
        {ZK_VARIANT_0_7, {"R getChildren /brokers/ids", "R getData /consumers/g/offsets/t/0*"}},
        {ZK_VARIANT_DOCUMENTED,
         {"R getChildren /brokers/ids", "R getData /consumers/g/offsets/t/0*"}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct zk_compat_config c = world_config();
        c.variant = cases[i].variant;
        c.switches.sync_before_read = true;
        struct world *w = new_world(1);
        struct world_member *m = world_join(w, &c);
        settle(w);
        size_t seen = 0;
        for (size_t k = 0; k + 1 < world_asked_count(m); k++) {
            if (strcmp(world_asked(m, k), "R sync /consumers/g/ids") != 0)
                continue;
            const char *want = cases[i].before[seen++];
            assert_non_null(want);
            assert_int_equal(strncmp(world_asked(m, k + 1), want, strcspn(want, "*")), 0);
        }
        assert_int_equal(seen, 2);
        world_check_settled(w);
        world_free(w);
    }
}

/* ---- fence ---- */

static void test_no_fence(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    struct world_member *m = join(w);
    settle(w);
    world_cut(m, 0, 1000);
    settle(w);
    assert_int_equal(m->leases_told, 0);
    world_free(w);
}

static void test_fence_by_the_connection(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    struct world_member *m = join_with(w, (struct zk_switches){.fence = ZK_FENCE_DISCONNECT});
    settle(w);
    assert_int_equal(m->lease_session, m->session);
    assert_int_equal(m->lease_end_ms, INT64_MAX);
    world_cut(m, 0, 1000);
    world_run_ms(w, 10);
    assert_int_equal(m->lease_end_ms, INT64_MIN);
    world_run_ms(w, 2000);
    assert_int_equal(m->lease_end_ms, INT64_MAX);
    int64_t old = m->session;
    world_expire(m);
    settle(w);
    assert_int_not_equal(m->session, old);
    assert_int_equal(m->lease_session, m->session);
    assert_int_equal(m->lease_end_ms, INT64_MAX);
    assert_int_equal(world_asked_like(m, "S "), 0);
    world_check_settled(w);
    world_free(w);
}

static void test_fence_by_a_lease(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    struct world_member *m = join_with(w, (struct zk_switches){.fence = ZK_FENCE_LEASE});
    for (int i = 0; i < 60; i++) {
        world_run_ms(w, 1000);
        assert_int_equal(m->lease_session, m->session);
        assert_true(m->lease_end_ms > world_now_ms(w));
        assert_true(m->lease_end_ms < world_now_ms(w) + 6000);
    }
    int probes = world_asked_like(m, "S multi /consumers/g/ids/g_m0 (1)");
    assert_in_range(probes, 56, 62); /* two each third of the session's time */
    int64_t end = m->lease_end_ms;
    world_cut(m, 0, 1000000);
    world_run_ms(w, 5000);
    assert_int_equal(m->lease_end_ms, end);
    world_free(w);
}

/* The end of the session is the end of its lease; claims of the next one have their own. */
static void test_lease_of_each_session(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    struct world_member *m = join_with(w, (struct zk_switches){.fence = ZK_FENCE_LEASE});
    world_run_ms(w, 1000);
    int64_t old = m->session;
    world_expire(m);
    while (m->expiries == 0)
        assert_true(world_step(w));
    assert_int_equal(m->lease_session, old);
    assert_int_equal(m->lease_end_ms, INT64_MIN);
    world_run_ms(w, 3000);
    size_t n;
    const struct group_claim *claims = zk_compat_owned(m->machine, &n);
    assert_int_equal(n, 1);
    assert_int_equal(claims[0].session_id, m->session);
    assert_int_equal(m->lease_session, m->session);
    assert_true(m->lease_end_ms > world_now_ms(w));
    world_free(w);
}

/* ---- all of them, with each variant and strategy ---- */

static void test_all_at_once(void **state)
{
    (void)state;
    static const enum assign_strategy strategies[] = {ASSIGN_RANGE, ASSIGN_CEIL, ASSIGN_RENDEZVOUS,
                                                      ASSIGN_ROUNDROBIN};
    for (int v = 0; v < ZK_VARIANT_COUNT; v++)
        for (size_t s = 0; s < ARRAY_LEN(strategies); s++) {
            struct zk_compat_config c = every();
            c.variant = (enum zk_variant)v;
            c.strategy = strategies[s];
            c.watch_brokers = v != ZK_VARIANT_0_8;
            struct world *w = new_world(7);
            struct world_member *first = world_join(w, &c);
            settle(w);
            world_consume(first, 3);
            struct world_member *second = world_join(w, &c);
            world_join(w, &c);
            settle(w);
            world_check_settled(w);
            assert_string_equal(text_at(w, OFFSET), "3");
            world_expire(second);
            settle(w);
            world_check_settled(w);
            world_crash(first);
            settle(w);
            world_check_settled(w);
            world_leave(second);
            settle(w);
            world_check_settled(w);
            world_free(w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_claim_in_one_transaction),
        cmocka_unit_test(test_claim_all_or_none),
        cmocka_unit_test(test_claim_whose_answer_is_lost),
        cmocka_unit_test(test_many_claims_are_several_transactions),
        cmocka_unit_test(test_undo_of_an_earlier_transaction),
        cmocka_unit_test(test_claim_refused),
        cmocka_unit_test(test_release_looks_first),
        cmocka_unit_test(test_release_of_what_is_anothers_by_now),
        cmocka_unit_test(test_release_is_not_repeated_in_another_session),
        cmocka_unit_test(test_commit_names_the_version),
        cmocka_unit_test(test_commit_over_a_foreign_write),
        cmocka_unit_test(test_commit_whose_answer_is_lost),
        cmocka_unit_test(test_commit_of_an_ended_session),
        cmocka_unit_test(test_waits_for_the_owner_to_go),
        cmocka_unit_test(test_owner_is_gone_already),
        cmocka_unit_test(test_news_end_the_wait),
        cmocka_unit_test(test_never_gives_up),
        cmocka_unit_test(test_each_event_rebalances),
        cmocka_unit_test(test_sync_before_reads),
        cmocka_unit_test(test_no_fence),
        cmocka_unit_test(test_fence_by_the_connection),
        cmocka_unit_test(test_fence_by_a_lease),
        cmocka_unit_test(test_lease_of_each_session),
        cmocka_unit_test(test_all_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
