/* Offsets in Kafka (offsets.storage=kafka) of a safe member: when it is asked, what is sent to it
 * and when not, and what becomes of a partition while it does not answer. */
#include "tests/unit/group/zk_safe_world.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/wire/kafka_error.h"

#define CLAIM_0  "multi create owners/t/0 = g_m-0; setData owners/t/0 = g_m-0 v0"
#define OWNER_0  SAFE_OWNERS "0"
#define OFFSET_0 SAFE_OFFSETS "0"

struct rig {
    struct safe_world *w;
    struct safe_member *m;
};

static struct zk_safe_config config_of(enum commit_store store)
{
    struct zk_safe_config config = safe_world_config();
    config.offsets_in = store;
    config.offsets_channel_backoff_ms = 200;
    config.offsets_channel_timeout_ms = 3000;
    config.offsets_commit_retries = 2;
    return config;
}

/* A member g_m of a group whose folders are there, with one partition. */
static void begin_with(struct rig *r, struct zk_safe_config config, int64_t stored)
{
    int64_t foreigner;
    r->w = safe_world_with_foreigner(1, &foreigner);
    r->w->log_end[0] = 100;
    safe_world_use_kafka(r->w);
    r->w->stored[0] = stored;
    r->m = safe_world_join(r->w, "g_m", &config);
    safe_connect(r->m);
}

static void begin(struct rig *r, enum commit_store store, int64_t stored)
{
    begin_with(r, config_of(store), stored);
}

static void end(struct rig *r)
{
    safe_world_free(r->w);
}

static void calm(struct rig *r, const char *const *want)
{
    safe_world_calm(r->w);
    safe_expect(r->m, want);
}

static void until_owned(struct rig *r)
{
    safe_world_calm(r->w);
    assert_true(safe_gate_is_open(r->m, 0));
    safe_forget_asked(r->m);
}

/* The application takes and finishes so many. */
static void consume(struct rig *r, int count)
{
    for (int i = 0; i < count; i++)
        assert_true(safe_take(r->m, 0));
    safe_finish(r->m, 0);
}

static void pass_ms(struct rig *r, int64_t ms)
{
    r->w->now_ms += ms;
    safe_time(r->m);
}

static void unwant(struct rig *r)
{
    safe_world_put(r->w, "/brokers/topics/t", "{\"version\":1,\"partitions\":{}}");
    while (safe_read(r->m) || safe_serve(r->m))
        ;
}

/* ---- claim, then read ---- */

static void test_claimed_fetched_owned(void **state)
{
    (void)state; /* story 13: read after the claim, in the same session */
    static const struct {
        int64_t stored, next;
    } cases[] = {{-1, 0}, {0, 0}, {7, 7}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r;
        begin(&r, COMMIT_TO_KAFKA, cases[i].stored);
        while (safe_asked_like(r.m, "multi create") == 0)
            assert_true(safe_read(r.m) || safe_serve(r.m));
        assert_int_equal(safe_asked_like(r.m, "kafka"), 0);
        safe_forget_asked(r.m);
        calm(&r, (const char *const[]){"exists w owners/t/0", "kafka find", "kafka fetch 0", NULL});
        assert_true(safe_gate_is_open(r.m, 0));
        assert_int_equal(r.m->held[0].next, cases[i].next);
        end(&r);
    }
}

static void test_the_larger_of_both_counts(void **state)
{
    (void)state;
    static const struct {
        const char *znode;
        int64_t stored, next;
        const char *mended; /* of the other store: who goes on with it alone shall find it there */
    } cases[] = {{"5", 7, 7, "setData offsets/t/0 = 7 v0"}, {"7", 7, 7, NULL},
                 {NULL, 7, 7, "create offsets/t/0 = 7"},    {"9", 7, 9, "kafka commit 0=9"},
                 {"9", -1, 9, "kafka commit 0=9"},          {NULL, -1, 0, "kafka commit 0=0"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r;
        begin(&r, COMMIT_TO_BOTH, cases[i].stored);
        if (cases[i].znode)
            fake_zk_put(r.w->zk, OFFSET_0, cases[i].znode);
        safe_world_calm(r.w);
        assert_int_equal(r.m->held[0].next, cases[i].next);
        pass_ms(&r, 5000);
        safe_world_calm(r.w);
        if (cases[i].mended)
            assert_int_equal(safe_asked_like(r.m, cases[i].mended), 1);
        else
            assert_int_equal(safe_asked_like(r.m, "commit") + safe_asked_like(r.m, "setData off"),
                             0);
        assert_int_equal(r.w->stored[0], cases[i].next);
        end(&r);
    }
}

/* An error is no offset: delivering from anywhere might lose messages. */
static void test_an_error_is_not_taken_for_no_offset(void **state)
{
    (void)state;
    static const int16_t errors[] = {
        KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION, KAFKA_ERR_UNKNOWN_SERVER_ERROR,
        KAFKA_ERR_COORDINATOR_LOAD_IN_PROGRESS, KAFKA_ERR_NOT_COORDINATOR};
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        struct rig r;
        begin(&r, COMMIT_TO_KAFKA, 7);
        r.w->kafka_error = errors[i];
        safe_world_calm(r.w);
        assert_false(safe_gate_is_open(r.m, 0));
        bool is_told = strstr(r.m->last_notice, "the offset that Kafka keeps cannot be fetched");
        assert_int_equal(is_told, i < 2); /* the others are the offset manager's own affair */
        r.w->kafka_error = 0;
        safe_world_run_ms(r.w, 1500);
        assert_true(safe_gate_is_open(r.m, 0));
        assert_int_equal(r.m->held[0].start, 7);
        end(&r);
    }
}

/* Held, its offset is not known yet. */
static void hold(struct rig *r)
{
    begin(r, COMMIT_TO_KAFKA, 7);
    r->w->is_kafka_silent = true;
    safe_world_calm(r->w);
    assert_int_equal(safe_owner(r->w, 0), r->m->session);
    assert_false(safe_gate_is_open(r->m, 0));
    safe_forget_asked(r->m);
}

/* What was waited for, and is held now, is nobody else's any more, though Kafka keeps it waiting.
 */
static void test_held_is_not_held_by_others(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_KAFKA, 7);
    r.w->is_kafka_silent = true;
    safe_world_put(r.w, "/consumers/g/owners/t/0", "java-0");
    safe_world_calm(r.w);
    assert_string_equal(r.m->waiting_for, "java-0");
    safe_world_remove(r.w, "/consumers/g/owners/t/0");
    safe_world_calm(r.w);
    assert_int_equal(safe_owner(r.w, 0), r.m->session);
    assert_string_equal(r.m->waiting_for, "");
    safe_world_run_ms(r.w, 4 * SAFE_SESSION_MS);
    assert_false(safe_gate_is_open(r.m, 0));
    assert_int_equal(zk_safe_counts(r.m->machine).overdue, 0);
    end(&r);
}

/* A watch that was lost while Kafka kept it waiting might have fired: a look before the gate opens,
 * not after. */
static void test_held_and_unwatched_is_looked_at(void **state)
{
    (void)state;
    struct rig r;
    hold(&r);
    int64_t other = fake_zk_open(r.w->zk);
    r.w->touched_ms[other] = INT64_MAX / 2;
    struct group_input lost = {
        .type = GROUP_IN_WATCH,
        .watch = {.type = ZK_EVENT_WATCH_LOST, .path = "/consumers/g/owners/t/0"}};
    safe_feed(r.m, &lost);
    fake_zk_remove(r.w->zk, "/consumers/g/owners/t/0");
    fake_zk_put_ephemeral(r.w->zk, "/consumers/g/owners/t/0", "java-0", other);
    r.w->is_kafka_silent = false;
    while (safe_serve_kafka(r.m))
        assert_false(safe_gate_is_open(r.m, 0));
    safe_world_calm(r.w);
    assert_false(safe_gate_is_open(r.m, 0));
    assert_string_equal(r.m->waiting_for, "java-0");
    end(&r);
}

static void test_held_and_not_wanted_does_not_wait_for_kafka(void **state)
{
    (void)state;
    struct rig r;
    hold(&r);
    unwant(&r);
    assert_int_equal(safe_asked_like(r.m, "multi delete owners/t/0 v1"), 1);
    assert_int_equal(safe_owner(r.w, 0), 0);
    end(&r);
}

static void test_held_and_deleted_is_lost_while_kafka_is_silent(void **state)
{
    (void)state;
    struct rig r;
    hold(&r);
    safe_world_remove(r.w, OWNER_0);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, CLAIM_0), 1); /* looked at, gone, claimed again */
    r.w->is_kafka_silent = false;
    safe_world_calm(r.w);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->held[0].next, 7);
    end(&r);
}

static void test_what_was_fetched_for_another_session_is_not_used(void **state)
{
    (void)state;
    struct rig r;
    hold(&r);
    safe_cut(r.m);
    pass_ms(&r, SAFE_SESSION_MS);
    safe_world_end_sessions(r.w);
    safe_connect(r.m);  /* a new session */
    r.w->stored[0] = 9; /* by who had it meanwhile */
    r.w->is_kafka_silent = false;
    safe_world_calm(r.w);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->held[0].next, 9);
    end(&r);
}

/* ---- commits ---- */

static void test_commits_go_to_kafka_alone(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_KAFKA, 0);
    until_owned(&r);
    consume(&r, 2);
    assert_true(safe_take(r.m, 0)); /* out, not finished */
    safe_commit_one(r.m, 0, 1);
    assert_int_equal(r.m->commits_done, 0);
    calm(&r, (const char *const[]){"kafka commit 0=1", NULL});
    assert_int_equal(r.m->commits_done, 1);
    assert_int_equal(r.m->last_commit_err, ZKC_OK);
    pass_ms(&r, 5000); /* the timer */
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "kafka commit 0=2"), 1);
    safe_forget_asked(r.m);
    safe_commit_one(r.m, 0, 1); /* back, as the application asks */
    calm(&r, (const char *const[]){"kafka commit 0=1", NULL});
    safe_commit_one(r.m, 0, 1); /* is there */
    calm(&r, (const char *const[]){NULL});
    assert_int_equal(r.m->commits_done, 3);
    assert_null(fake_zk_text(r.w->zk, OFFSET_0));
    end(&r);
}

static void test_what_comes_while_one_is_under_way_goes_next(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_KAFKA, 0);
    until_owned(&r);
    r.w->is_kafka_silent = true;
    safe_commit_one(r.m, 0, 5);
    safe_commit_one(r.m, 0, 8);
    safe_commit_one(r.m, 0, 3); /* back behind what is under way */
    safe_expect(r.m, (const char *const[]){"kafka commit 0=5", NULL});
    r.w->is_kafka_silent = false;
    calm(&r, (const char *const[]){"kafka commit 0=3", NULL});
    assert_int_equal(r.w->stored[0], 3);
    assert_int_equal(r.m->commits_done, 3);
    end(&r);
}

/* Kafka first; what it takes is then written into znodes, on the version that is known. */
static void test_both_are_written(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_BOTH, 0);
    fake_zk_put(r.w->zk, OFFSET_0, "0");
    until_owned(&r);
    safe_commit_one(r.m, 0, 4);
    calm(&r, (const char *const[]){"kafka commit 0=4", "setData offsets/t/0 = 4 v0", NULL});
    assert_int_equal(r.m->commits_done, 1);
    r.w->kafka_error = KAFKA_ERR_OFFSET_METADATA_TOO_LARGE;
    safe_commit_one(r.m, 0, 6);
    safe_world_calm(r.w);
    assert_string_equal(fake_zk_text(r.w->zk, OFFSET_0), "4"); /* refused there: not here either */
    r.w->kafka_error = 0;
    pass_ms(&r, 300);
    safe_world_calm(r.w);
    assert_string_equal(fake_zk_text(r.w->zk, OFFSET_0), "6");
    safe_commit_one(r.m, 0, 2);
    safe_world_calm(r.w);
    assert_string_equal(fake_zk_text(r.w->zk, OFFSET_0), "2");
    assert_int_equal(r.w->stored[0], 2);
    end(&r);
}

/* A forced reset in the znode wins over the larger offset of Kafka, in either moment. */
static void test_a_forced_reset_is_obeyed_in_both(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_BOTH, 50);
    fake_zk_put(r.w->zk, OFFSET_0, "030");
    until_owned(&r);
    assert_int_equal(r.m->held[0].next, 30);
    assert_int_equal(r.w->stored[0], 30);
    assert_string_equal(fake_zk_text(r.w->zk, OFFSET_0), "30");
    safe_world_put(r.w, OFFSET_0, "010");
    consume(&r, 1);
    safe_world_run_ms(r.w, 20);
    safe_commit_one(r.m, 0, 31);
    safe_world_calm(r.w);
    assert_int_equal(r.m->obeyed, 1);
    assert_int_equal(r.m->held[0].start, 10);
    assert_int_equal(r.w->stored[0], 10);
    assert_string_equal(fake_zk_text(r.w->zk, OFFSET_0), "10");
    end(&r);
}

/* An answer that is lost: what is stored is fetched, and only what is not is sent again. */
static void test_lost_commit_is_fetched(void **state)
{
    (void)state;
    for (int was_run = 0; was_run < 2; was_run++) {
        struct rig r;
        begin(&r, COMMIT_TO_KAFKA, 0);
        until_owned(&r);
        safe_commit_one(r.m, 0, 3);
        assert_true(safe_lose_kafka(r.m, was_run));
        assert_int_equal(r.m->commits_done, 0);
        safe_forget_asked(r.m);
        pass_ms(&r, 200);
        safe_world_calm(r.w);
        assert_int_equal(safe_asked_like(r.m, "kafka fetch 0"), 1);
        assert_int_equal(safe_asked_like(r.m, "kafka commit 0=3"), 1 - was_run);
        assert_int_equal(r.w->stored[0], 3);
        assert_int_equal(r.m->foreigns, 0);
        assert_int_equal(r.m->commits_done, 1);
        assert_int_equal(r.m->last_commit_err, ZKC_OK);
        assert_true(safe_gate_is_open(r.m, 0)); /* it flowed all the time */
        end(&r);
    }
}

/* What somebody else has stored meanwhile is told, and never turned back. */
static void test_foreign_store_is_told(void **state)
{
    (void)state;
    static const struct {
        int64_t foreign, after;
    } cases[] = {{2, 3}, {90, 90}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r;
        begin(&r, COMMIT_TO_KAFKA, 0);
        until_owned(&r);
        safe_commit_one(r.m, 0, 3);
        safe_lose_kafka(r.m, true);
        r.w->stored[0] = cases[i].foreign;
        pass_ms(&r, 200);
        safe_world_calm(r.w);
        assert_int_equal(r.m->foreigns, 1);
        assert_int_equal(r.w->stored[0], cases[i].after);
        end(&r);
    }
}

static void test_refused_commit_fails_after_its_retries_and_stays_due(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_KAFKA, 0);
    until_owned(&r);
    r.w->kafka_error = KAFKA_ERR_OFFSET_METADATA_TOO_LARGE;
    safe_commit_one(r.m, 0, 3);
    safe_world_calm(r.w);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(r.m->commits_done, 0);
        pass_ms(&r, 199);
        assert_int_equal(safe_asked_like(r.m, "kafka commit"), 1 + i);
        pass_ms(&r, 1);
        safe_world_calm(r.w);
        assert_int_equal(safe_asked_like(r.m, "kafka commit"), 2 + i);
    }
    assert_int_equal(r.m->commits_done, 1);
    assert_int_equal(r.m->last_commit_err, ZKC_ERR_BROKER);
    r.w->kafka_error = 0;
    pass_ms(&r, 200);
    safe_world_calm(r.w);
    assert_int_equal(r.w->stored[0], 3);
    end(&r);
}

static void test_silence_is_told_and_its_end(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_KAFKA, 0);
    until_owned(&r);
    r.w->is_kafka_silent = true;
    safe_commit_one(r.m, 0, 3);
    pass_ms(&r, 2999);
    assert_int_equal(r.m->commits_done, 0);
    pass_ms(&r, 1);
    assert_non_null(strstr(r.m->last_notice, "has not answered for 3000 ms"));
    assert_int_equal(r.m->commits_done, 1);
    assert_int_equal(r.m->last_commit_err, ZKC_ERR_UNREACHABLE);
    int notices = r.m->notices;
    pass_ms(&r, 1500); /* nothing new */
    assert_int_equal(r.m->notices, notices);
    r.w->is_kafka_silent = false;
    safe_world_calm(r.w);
    assert_int_equal(r.w->stored[0], 3);
    assert_non_null(strstr(r.m->last_notice, "answers again"));
    end(&r);
}

/* ---- the lease ---- */

static void test_no_commit_after_the_lease(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_KAFKA, 0);
    until_owned(&r);
    safe_cut(r.m);
    r.w->now_ms += 2000;
    safe_commit_one(r.m, 0, 1); /* no ZooKeeper, but a lease */
    assert_int_equal(safe_asked_like(r.m, "kafka commit 0=1"), 1);
    assert_true(safe_serve_kafka(r.m));
    assert_int_equal(r.w->stored[0], 1);
    r.w->now_ms = r.m->lease_end_ms;
    safe_commit_one(r.m, 0, 2);
    pass_ms(&r, 50);
    assert_int_equal(safe_asked_like(r.m, "kafka commit 0=2"), 0);
    safe_connect(r.m); /* the session lives: the lease goes on, and so does the commit */
    safe_world_run_ms(r.w, 200);
    assert_int_equal(safe_asked_like(r.m, "kafka commit 0=2"), 1);
    assert_int_equal(r.m->held[0].number, 1);
    end(&r);
}

/* The lease ends while the offset manager is still looked for, or is not yet connected to. */
static void test_lease_that_ends_before_the_request_is_sent(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_KAFKA, 0);
    until_owned(&r);
    safe_commit_one(r.m, 0, 1);
    safe_lose_kafka(r.m, false); /* it has to be looked for again */
    pass_ms(&r, 200);
    assert_true(safe_read(r.m) || safe_serve(r.m));
    while (safe_read(r.m) || safe_serve(r.m))
        ;
    assert_int_equal(r.m->question.request, GROUP_OFFSETS_FIND);
    safe_serve_kafka(r.m); /* found */
    safe_serve_kafka(r.m); /* fetched: it was not carried out */
    assert_int_equal(r.m->question.request, GROUP_OFFSETS_COMMIT);
    assert_int_equal(r.m->question.until_ms, r.m->lease_end_ms);
    safe_lose_kafka(r.m, false);
    r.w->is_kafka_silent = true;
    safe_cut(r.m);
    r.w->now_ms = r.m->lease_end_ms;
    r.w->is_kafka_silent = false;
    safe_forget_asked(r.m);
    safe_time(r.m);
    while (safe_serve_kafka(r.m))
        ;
    assert_int_equal(safe_asked_like(r.m, "kafka commit"), 0);
    assert_int_equal(r.w->stored[0], 0);
    end(&r);
}

/* Its owner node is deleted while the offset manager is looked for: it may be another's now. */
static void test_lost_partition_is_taken_out_of_the_request(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_KAFKA, 0);
    until_owned(&r);
    r.w->is_kafka_silent = true;
    safe_commit_one(r.m, 0, 1);
    r.w->is_kafka_silent = false;
    r.w->kafka_error = KAFKA_ERR_NOT_COORDINATOR;
    assert_true(safe_serve_kafka(r.m)); /* it is another: refused, to be looked for */
    r.w->kafka_error = 0;
    pass_ms(&r, 200);
    while (!r.m->question.is_asked)
        assert_true(safe_serve(r.m) || safe_read(r.m));
    assert_int_equal(r.m->question.request, GROUP_OFFSETS_FIND);
    safe_forget_asked(r.m);
    safe_world_remove(r.w, OWNER_0);
    while (safe_read(r.m))
        ;
    safe_serve_kafka(r.m);
    assert_int_equal(safe_asked_like(r.m, "kafka commit"), 0);
    assert_int_equal(r.w->stored[0], 0);
    end(&r);
}

static void test_expired_in_the_middle(void **state)
{
    (void)state; /* story 5: no commit in the new session, no late answer taken for ours */
    struct rig r;
    struct zk_safe_config config = config_of(COMMIT_TO_KAFKA);
    config.offsets_channel_timeout_ms = 30000;
    begin_with(&r, config, 0);
    until_owned(&r);
    consume(&r, 3);
    r.w->is_kafka_silent = true;
    safe_commit_one(r.m, 0, 3);
    safe_cut(r.m);
    pass_ms(&r, SAFE_SESSION_MS);
    safe_world_end_sessions(r.w);
    int hang_ups = r.m->hang_ups;
    safe_forget_asked(r.m);
    safe_connect(r.m);
    assert_int_equal(r.m->hang_ups, hang_ups + 1);
    assert_int_equal(r.m->last_commit_err, ZKC_ERR_NOT_OWNED);
    struct group_offset done = {"t", 0, 3, 0};
    struct group_input late = {.type = GROUP_IN_OFFSETS,
                               .offsets = {.seq = r.m->question.seq, .list = &done, .count = 1}};
    safe_feed(r.m, &late);
    r.w->is_kafka_silent = false;
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "kafka commit"), 0);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->held[0].next, 0); /* again: at least once */
    end(&r);
}

/* ---- hand-over ---- */

static void test_committed_before_the_release(void **state)
{
    (void)state;
    for (int both = 0; both < 2; both++) {
        struct rig r;
        begin(&r, both ? COMMIT_TO_BOTH : COMMIT_TO_KAFKA, 0);
        fake_zk_put(r.w->zk, OFFSET_0, "0");
        until_owned(&r);
        assert_true(safe_take(r.m, 0));
        r.w->is_kafka_silent = true;
        unwant(&r);
        safe_forget_asked(r.m);
        safe_finish(r.m, 0); /* drained */
        safe_world_calm(r.w);
        safe_expect(r.m, (const char *const[]){"kafka commit 0=1", NULL});
        r.w->is_kafka_silent = false;
        calm(&r, both
                     ? (const char *const[]){"multi setData offsets/t/0 = 1 v0; "
                                             "delete owners/t/0 v1",
                                             NULL}
                     : (const char *const[]){"multi delete owners/t/0 v1; check ids/g_m v0", NULL});
        assert_int_equal(safe_owner(r.w, 0), 0);
        end(&r);
    }
}

/* The group does not stand still for an offset manager that is away. */
static void test_silent_manager_does_not_block_the_hand_over(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_KAFKA, 0);
    until_owned(&r);
    consume(&r, 5);
    r.w->is_kafka_silent = true;
    unwant(&r);
    pass_ms(&r, ZK_SAFE_HANDOVER_MS - 1);
    safe_world_calm(r.w);
    assert_int_equal(safe_owner(r.w, 0), r.m->session);
    int hang_ups = r.m->hang_ups;
    pass_ms(&r, 1);
    assert_int_equal(r.m->hang_ups, hang_ups + 1); /* what was not written yet never is */
    assert_non_null(strstr(r.m->last_notice, "Kafka has not confirmed the offset 5"));
    assert_non_null(strstr(r.m->last_notice, "from offset 0"));
    safe_world_calm(r.w);
    assert_int_equal(safe_owner(r.w, 0), 0);
    r.w->is_kafka_silent = false;
    safe_forget_asked(r.m);
    safe_world_run_ms(r.w, 500);
    assert_int_equal(safe_asked_like(r.m, "kafka commit"), 0); /* it is not ours any more */
    end(&r);
}

/* What is finished late in the hand-over still gets its second. */
static void test_a_commit_gets_a_second_at_least(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_KAFKA, 0);
    until_owned(&r);
    assert_true(safe_take(r.m, 0));
    r.w->is_kafka_silent = true;
    unwant(&r);
    pass_ms(&r, ZK_SAFE_HANDOVER_MS - 10);
    safe_finish(r.m, 0);
    safe_world_calm(r.w);
    pass_ms(&r, 999);
    safe_world_calm(r.w);
    assert_int_equal(safe_owner(r.w, 0), r.m->session);
    r.w->is_kafka_silent = false;
    safe_world_calm(r.w);
    assert_int_equal(r.w->stored[0], 1);
    assert_int_equal(safe_owner(r.w, 0), 0);
    end(&r);
}

/* A partition that was to be given back without its commit, and is owned again since its release
 * was lost: the next commit has its time again. */
static void test_each_hand_over_has_its_time(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_KAFKA, 0);
    until_owned(&r);
    consume(&r, 5);
    r.w->is_kafka_silent = true;
    unwant(&r);
    pass_ms(&r, ZK_SAFE_HANDOVER_MS);
    assert_non_null(strstr(r.m->last_notice, "Kafka has not confirmed the offset 5"));
    safe_cut(r.m); /* the release has not been carried out */
    safe_world_put(r.w, "/brokers/topics/t", "{\"version\":1,\"partitions\":{\"0\":[0]}}");
    r.w->is_kafka_silent = false;
    safe_connect(r.m);
    safe_world_run_ms(r.w, 500);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(safe_owner(r.w, 0), r.m->session);
    r.w->log_end[0] += 3;
    consume(&r, 3);
    r.w->is_kafka_silent = true;
    unwant(&r);
    safe_world_calm(r.w);
    assert_int_equal(safe_owner(r.w, 0), r.m->session);
    r.w->is_kafka_silent = false;
    safe_world_calm(r.w);
    assert_int_equal(r.w->stored[0], r.m->held[0].finished);
    assert_int_equal(safe_owner(r.w, 0), 0);
    end(&r);
}

static void test_leaving_commits_and_ends_in_time(void **state)
{
    (void)state;
    for (int silent = 0; silent < 2; silent++) {
        struct rig r;
        begin(&r, COMMIT_TO_KAFKA, 0);
        until_owned(&r);
        consume(&r, 5);
        r.w->is_kafka_silent = silent;
        safe_leave(r.m);
        safe_world_calm(r.w);
        assert_int_equal(r.m->machine == NULL, !silent);
        if (silent)
            pass_ms(&r, ZK_SAFE_HANDOVER_MS);
        safe_world_calm(r.w);
        assert_null(r.m->machine);
        assert_int_equal(r.w->stored[0], silent ? 0 : 5);
        end(&r);
    }
}

static void test_evicted_member_commits_first(void **state)
{
    (void)state;
    struct rig r;
    struct zk_safe_config config = config_of(COMMIT_TO_KAFKA);
    config.poll_limit_ms = 2000;
    begin_with(&r, config, 0);
    until_owned(&r);
    consume(&r, 5);
    r.m->is_polling = false;
    r.w->is_kafka_silent = true;
    pass_ms(&r, 2000);
    assert_int_equal(r.m->evictions, 1);
    safe_world_calm(r.w);
    pass_ms(&r, 999);
    safe_world_calm(r.w);
    assert_int_equal(safe_owner(r.w, 0), r.m->session);
    pass_ms(&r, 1);
    safe_world_calm(r.w);
    assert_string_equal(zk_safe_state_name(r.m->machine), "evicted");
    assert_int_equal(safe_owner(r.w, 0), 0);
    end(&r);
}

/* A seek or a reset goes back in both stores. */
/* A search that a session takes with it is made again in the next: the offset manager's here, the
 * leader's below. */
static void evicted_in_a_search(enum group_lane lane)
{
    struct rig r;
    struct zk_safe_config config = config_of(COMMIT_TO_KAFKA);
    config.poll_limit_ms = 2000;
    begin_with(&r, config, 0);
    while (!safe_swallow(r.m, lane))
        assert_true(safe_read(r.m) || safe_serve(r.m) || safe_serve_kafka(r.m));
    r.m->is_polling = false;
    pass_ms(&r, 2000);
    safe_world_calm(r.w);
    assert_string_equal(zk_safe_state_name(r.m->machine), "evicted");
    r.m->is_polling = true;
    safe_poll(r.m);
    safe_connect(r.m);
    int lists = r.m->broker_lists;
    safe_world_calm(r.w);
    assert_true(safe_gate_is_open(r.m, 0));
    if (lane == GROUP_LANE_FINDER)
        assert_true(r.m->broker_lists > lists);
    end(&r);
}

static void test_evicted_in_a_search(void **state)
{
    (void)state;
    evicted_in_a_search(GROUP_LANE_OFFSETS);
    evicted_in_a_search(GROUP_LANE_FINDER);
}

static void test_a_moved_position_is_stored_below(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, COMMIT_TO_BOTH, -1);
    until_owned(&r);
    consume(&r, 5);
    pass_ms(&r, 5000);
    safe_world_calm(r.w);
    assert_int_equal(r.w->stored[0], 5);
    safe_forget_asked(r.m);
    safe_seek(r.m, 0, 2);
    pass_ms(&r, 5000);
    safe_world_calm(r.w);
    assert_int_equal(r.w->stored[0], 2);
    assert_int_equal(safe_asked_like(r.m, "setData offsets/t/0 = 2 v0"), 1);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claimed_fetched_owned),
        cmocka_unit_test(test_the_larger_of_both_counts),
        cmocka_unit_test(test_an_error_is_not_taken_for_no_offset),
        cmocka_unit_test(test_held_is_not_held_by_others),
        cmocka_unit_test(test_held_and_unwatched_is_looked_at),
        cmocka_unit_test(test_held_and_not_wanted_does_not_wait_for_kafka),
        cmocka_unit_test(test_held_and_deleted_is_lost_while_kafka_is_silent),
        cmocka_unit_test(test_what_was_fetched_for_another_session_is_not_used),
        cmocka_unit_test(test_commits_go_to_kafka_alone),
        cmocka_unit_test(test_what_comes_while_one_is_under_way_goes_next),
        cmocka_unit_test(test_both_are_written),
        cmocka_unit_test(test_a_forced_reset_is_obeyed_in_both),
        cmocka_unit_test(test_lost_commit_is_fetched),
        cmocka_unit_test(test_foreign_store_is_told),
        cmocka_unit_test(test_refused_commit_fails_after_its_retries_and_stays_due),
        cmocka_unit_test(test_silence_is_told_and_its_end),
        cmocka_unit_test(test_no_commit_after_the_lease),
        cmocka_unit_test(test_lease_that_ends_before_the_request_is_sent),
        cmocka_unit_test(test_lost_partition_is_taken_out_of_the_request),
        cmocka_unit_test(test_expired_in_the_middle),
        cmocka_unit_test(test_committed_before_the_release),
        cmocka_unit_test(test_silent_manager_does_not_block_the_hand_over),
        cmocka_unit_test(test_a_commit_gets_a_second_at_least),
        cmocka_unit_test(test_each_hand_over_has_its_time),
        cmocka_unit_test(test_leaving_commits_and_ends_in_time),
        cmocka_unit_test(test_evicted_member_commits_first),
        cmocka_unit_test(test_evicted_in_a_search),
        cmocka_unit_test(test_a_moved_position_is_stored_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
