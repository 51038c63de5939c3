/* One partition, row by row of the table in docs/safe-mode.md: each test brings it into a state,
 * gives the input, and looks at what is sent, at the gate, and at what became of the node. */
#include "tests/unit/group/zk_safe_world.h"
#include "tests/unit/test.h"

#define CLAIM_0  "multi create owners/t/0 = g_m-0; setData owners/t/0 = g_m-0 v0"
#define OWNER_0  SAFE_OWNERS "0"
#define OFFSET_0 SAFE_OFFSETS "0"

struct rig {
    struct safe_world *w;
    struct safe_member *m;
    int64_t other; /* a foreign session */
};

/* A member g_m, registered, whose folders are there; with one partition. */
static void begin(struct rig *r, struct zk_safe_config config)
{
    r->w = safe_world_with_foreigner(1, &r->other);
    r->m = safe_world_join(r->w, "g_m", &config);
    safe_connect(r->m);
}

static void end(struct rig *r)
{
    safe_world_free(r->w);
}

/* Serves and reads until the last operation sent is like this; it is not served yet. */
static void until(struct rig *r, const char *op)
{
    for (int i = 0; i < 1000; i++) {
        if (r->m->asked_count && strstr(r->m->asked[r->m->asked_count - 1], op)) {
            while (safe_read(r->m))
                ;
            return;
        }
        if (!safe_read(r->m) && !safe_serve(r->m))
            break;
    }
    fail_msg("\"%s\" was never sent", op);
}

static void until_owned(struct rig *r)
{
    safe_world_calm(r->w);
    assert_true(safe_gate_is_open(r->m, 0));
    safe_forget_asked(r->m);
}

static void calm(struct rig *r, const char *const *want)
{
    safe_world_calm(r->w);
    safe_expect(r->m, want);
}

/* Somebody owns the partition from before. */
static void take(struct rig *r)
{
    fake_zk_put_ephemeral(r->w->zk, OWNER_0, "java-0", r->other);
}

/* The partition is not wanted any more: its topic has lost it. */
static void unwant(struct rig *r)
{
    safe_world_put(r->w, "/brokers/topics/t", "{\"version\":1,\"partitions\":{}}");
}

static void want(struct rig *r)
{
    safe_world_put(r->w, "/brokers/topics/t", "{\"version\":1,\"partitions\":{\"0\":[0]}}");
}

#define NOTHING ((const char *const[]){NULL})

static void feed_event(struct rig *r, enum zk_event_type type, const char *path)
{
    struct group_input in = {.type = GROUP_IN_WATCH, .watch = {.type = type, .path = path}};
    safe_feed(r->m, &in);
}

/* A watch of ours is lost with the session that carried it; nothing is known to have happened. */
static void lose_watch(struct rig *r, const char *path)
{
    feed_event(r, ZK_EVENT_WATCH_LOST, path);
}

/* ---- claiming ---- */

static void test_claimed_read_owned(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    fake_zk_put(r.w->zk, OFFSET_0, "7");
    until(&r, "multi create");
    safe_forget_asked(r.m);
    calm(&r, (const char *const[]){"getData offsets/t/0", "exists w owners/t/0", NULL});
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->held[0].next, 7); /* story 13: read after the claim */
    end(&r);
}

static void test_claim_of_a_taken_one_looks_and_waits(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until(&r, "multi create");
    take(&r);
    safe_forget_asked(r.m);
    calm(&r, (const char *const[]){"getData w owners/t/0", NULL});
    assert_string_equal(r.m->waiting_for, "java-0");
    assert_string_equal(zk_safe_state_name(r.m->machine), "moving");
    /* the event: claimed at once, no look before */
    safe_world_remove(r.w, OWNER_0);
    calm(&r, (const char *const[]){CLAIM_0, "getData offsets/t/0", "exists w owners/t/0", NULL});
    assert_string_equal(r.m->waiting_for, ""); /* it is over */
    end(&r);
}

/* Everything that is on its way gets there, and what was sent for it comes back: one round trip. */
static void round_trip(struct rig *r)
{
    while (safe_serve(r->m))
        ;
    while (safe_read(r->m))
        ;
}

/* A broker answers the question for leaders: it is that of partitions 0 .. count-1. */
static void tell_leaders(struct rig *r, int count, const char *host, int port)
{
    struct group_leader list[100];
    assert_true(count <= (int)ARRAY_LEN(list));
    for (int p = 0; p < count; p++)
        list[p] = (struct group_leader){"t", p, 1, host, port};
    struct group_input in = {
        .type = GROUP_IN_METADATA,
        .metadata = {.seq = r->m->metadata_seq, .list = list, .count = (size_t)count}};
    safe_feed(r->m, &in);
}

static void put_broker(struct rig *r, const char *host)
{
    char data[100];
    snprintf(data, sizeof data, "{\"host\":\"%s\",\"port\":9,\"version\":1}", host);
    safe_world_remove(r->w, "/brokers/ids/1");
    fake_zk_put(r->w->zk, "/brokers/ids/1", data);
}

/* What another releases flows three round trips after the event: the claim, the reads that open the
 * gate, both in one, and the fetch that is begun then, from the leader that was found while it was
 * waited for. However many go at once. */
static void test_contested_flows_within_three_round_trips(void **state)
{
    (void)state;
    static const int counts[] = {1, 5, 100};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        struct rig r;
        r.w = safe_world_with_foreigner(counts[i], &r.other);
        struct zk_safe_config config = safe_world_config();
        char path[64];
        for (int p = 0; p < counts[i]; p++) {
            snprintf(path, sizeof path, SAFE_OWNERS "%d", p);
            fake_zk_put_ephemeral(r.w->zk, path, "java-0", r.other);
        }
        put_broker(&r, "h1");
        r.m = safe_world_join(r.w, "g_m", &config);
        safe_connect(r.m);
        safe_world_calm(r.w);
        tell_leaders(&r, counts[i], "h1", 9);
        uint32_t asked = r.m->metadata_seq;
        for (int p = 0; p < counts[i]; p++) {
            assert_false(safe_gate_is_open(r.m, p));
            snprintf(path, sizeof path, SAFE_OWNERS "%d", p);
            safe_world_remove(r.w, path);
        }
        while (safe_read(r.m)) /* the events */
            ;
        for (int trips = 0; trips < 2; trips++)
            round_trip(&r);
        for (int p = 0; p < counts[i]; p++)
            if (!safe_gate_is_open(r.m, p) || r.m->held[p].leader_port != 9)
                fail_msg("%d partitions: %d is not fetched after two round trips", counts[i], p);
        safe_world_run_ms(r.w, 1000);
        assert_int_equal(r.m->metadata_seq, asked); /* nobody has to be asked any more */
        end(&r);
    }
}

/* The leader of what is waited for is not kept for longer than it can be trusted, and not looked
 * for any longer than it is wanted. */
static void test_a_leader_found_ahead_of_time(void **state)
{
    (void)state;
    struct rig r;
    r.w = safe_world_with_foreigner(1, &r.other);
    struct zk_safe_config config = safe_world_config();
    take(&r);
    put_broker(&r, "h1");
    r.m = safe_world_join(r.w, "g_m", &config);
    safe_connect(r.m);
    safe_world_calm(r.w);
    assert_int_equal(r.m->metadata_seq, 1);
    tell_leaders(&r, 1, "h1", 9);
    put_broker(&r, "h2"); /* it is somewhere else now */
    safe_world_run_ms(r.w, 1000);
    uint32_t asked = r.m->metadata_seq;
    assert_true(asked > 1);
    tell_leaders(&r, 1, "h2", 10);
    safe_world_remove(r.w, OWNER_0);
    safe_world_calm(r.w);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->held[0].leader_port, 10);
    unwant(&r);
    safe_world_run_ms(r.w, 1000);
    take(&r);
    want(&r); /* the next time it is looked for anew */
    safe_world_run_ms(r.w, 1000);
    assert_int_equal(r.m->metadata_seq, asked + 1);
    unwant(&r);
    safe_world_run_ms(r.w, 1000);
    tell_leaders(&r, 1, "h3", 11); /* too late, for nobody */
    safe_world_remove(r.w, OWNER_0);
    want(&r);
    safe_world_run_ms(r.w, 1000);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->held[0].leader_port, 0);
    assert_int_equal(r.m->metadata_seq, asked + 2);
    end(&r);
}

/* The share is settled on all the same; after a session and a hand-over's time it is an error,
 * once, until it is over. */
static void test_a_taken_one_is_told_of_when_it_stays_so(void **state)
{
    (void)state;
    struct rig r;
    struct zk_safe_config config = safe_world_config();
    begin(&r, config);
    take(&r);
    safe_world_calm(r.w);
    assert_true(r.m->is_settled);
    int64_t patience_ms = SAFE_SESSION_MS + config.handover_ms;
    safe_world_run_ms(r.w, patience_ms - 100);
    assert_int_equal(r.m->errors, 0);
    assert_int_equal(zk_safe_counts(r.m->machine).overdue, 0);
    safe_world_run_ms(r.w, 100);
    assert_int_equal(r.m->errors, 1);
    assert_int_equal(r.m->last_error, ZKC_ERR_NOT_OWNED);
    assert_non_null(strstr(r.m->last_notice, "1 of 1 partitions"));
    assert_non_null(strstr(r.m->last_notice, "[t,0] by java-0 for 10000 ms"));
    assert_int_equal(zk_safe_counts(r.m->machine).overdue, 1);
    safe_world_run_ms(r.w, 10 * patience_ms);
    assert_int_equal(r.m->errors, 1);
    safe_world_remove(r.w, OWNER_0);
    safe_world_calm(r.w);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_non_null(strstr(r.m->last_notice, "held by others any more"));
    assert_int_equal(zk_safe_counts(r.m->machine).overdue, 0);
    end(&r);
}

/* A partition that cannot be claimed is told of, and tried again; the member is settled without it.
 */
static void test_a_refused_claim_is_told_of_and_tried_again(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    safe_world_remove(r.w, "/consumers/g/owners/t");
    fake_zk_put_ephemeral(r.w->zk, "/consumers/g/owners/t", NULL, r.other);
    safe_world_calm(r.w);
    assert_true(r.m->is_settled);
    assert_false(safe_gate_is_open(r.m, 0));
    assert_non_null(strstr(r.m->last_notice, "the claim of [t,0] is refused"));
    assert_int_equal(r.m->last_error, ZKC_ERR_ZOOKEEPER);
    safe_forget_asked(r.m);
    safe_world_run_ms(r.w, 60000);
    assert_true(safe_asked_like(r.m, "multi create") >= 59);
    assert_int_equal(r.m->errors, 1);  /* the application knows */
    assert_int_equal(r.m->notices, 7); /* and who reads the log is reminded */
    safe_world_remove(r.w, "/consumers/g/owners/t");
    fake_zk_put(r.w->zk, "/consumers/g/owners/t", NULL);
    safe_world_run_ms(r.w, 60000);
    assert_true(safe_gate_is_open(r.m, 0));
    unwant(&r);
    safe_world_run_ms(r.w, 1000);
    want(&r); /* it is refused again: that is news */
    safe_world_remove(r.w, "/consumers/g/owners/t");
    fake_zk_put_ephemeral(r.w->zk, "/consumers/g/owners/t", NULL, r.other);
    safe_world_run_ms(r.w, 20000);
    assert_false(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->errors, 2);
    end(&r);
}

static void test_looked_at_and_gone_is_claimed_again(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until(&r, "multi create");
    take(&r);
    until(&r, "getData w owners");
    safe_world_remove(r.w, OWNER_0);
    safe_forget_asked(r.m);
    calm(&r, (const char *const[]){CLAIM_0, "getData offsets/t/0", "exists w owners/t/0", NULL});
    end(&r);
}

/* Somebody has it, and the look that follows is lost; looked again, on a new connection. */
static void until_looked_again(struct rig *r)
{
    until(r, "multi create");
    take(r);
    until(r, "getData w owners");
    safe_cut(r->m);
    safe_forget_asked(r->m);
    safe_connect(r->m);
    safe_world_calm(r->w);
}

static void test_lost_look_is_repeated(void **state)
{
    (void)state; /* story 8, of an owner node */
    struct rig r;
    begin(&r, safe_world_config());
    until_looked_again(&r);
    assert_int_equal(safe_asked_like(r.m, "getData w owners/t/0"), 1);
    safe_world_remove(r.w, OWNER_0);
    safe_world_calm(r.w);
    assert_true(safe_gate_is_open(r.m, 0));
    end(&r);
}

static void test_waiting_ends_when_it_is_not_wanted(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    take(&r);
    safe_world_calm(r.w);
    assert_int_equal(r.m->waits, 1);
    unwant(&r);
    safe_world_calm(r.w);
    assert_string_equal(zk_safe_state_name(r.m->machine), "idle");
    safe_forget_asked(r.m);
    safe_world_remove(r.w, OWNER_0);
    calm(&r, NOTHING);
    end(&r);
}

/* A claim whose answer is lost: carried out, not carried out, overtaken by another's. */
static void test_lost_claim_is_resolved(void **state)
{
    (void)state;
    for (int story = 0; story < 3; story++) {
        struct rig r;
        begin(&r, safe_world_config());
        until(&r, "multi create");
        if (story == 0)
            assert_true(safe_serve(r.m)); /* carried out; the answer is lost */
        else if (story == 2)
            take(&r);
        r.w->rng.state = 0;
        struct safe_message *none = r.m->zombies;
        assert_null(none);
        safe_cut(r.m);
        assert_true(zk_safe_may_own(r.m->machine, "t", 0));
        safe_connect(r.m); /* what was under way is refused from here on */
        safe_forget_asked(r.m);
        safe_world_calm(r.w);
        if (story == 2) {
            assert_string_equal(r.m->waiting_for, "java-0");
        } else {
            assert_true(safe_gate_is_open(r.m, 0));
            assert_int_equal(safe_asked_like(r.m, "multi create"), story == 0 ? 0 : 1);
        }
        end(&r);
    }
}

static void test_resolve_begins_with_a_sync(void **state)
{
    (void)state; /* story 7 */
    struct rig r;
    begin(&r, safe_world_config());
    until(&r, "multi create");
    safe_cut(r.m);
    safe_forget_asked(r.m);
    safe_connect(r.m);
    assert_int_equal(safe_asked_like(r.m, "sync owners/t/0"), 1);
    assert_int_equal(safe_asked_like(r.m, "getData w owners/t/0"), 1);
    end(&r);
}

/* Held and not wanted any more: nothing is known to be committed, so the release writes nothing. */
static void until_released_without_offset(struct rig *r)
{
    until(r, "multi create");
    unwant(r);
    safe_forget_asked(r->m);
    until(r, "multi delete owners/t/0 v1; check ids/g_m");
}

/* What is lost is held by a server that we have left, and carried out when we have long since
 * looked, and somebody else has the partition. */
static void test_what_is_lost_comes_true_late(void **state)
{
    (void)state;
    for (int has_offset = 0; has_offset < 2; has_offset++) {
        struct rig r;
        begin(&r, safe_world_config());
        r.w->keeps_zombies = true;
        if (has_offset) {
            until_owned(&r);
            unwant(&r);
            until(&r, "delete owners/t/0");
        } else {
            until_released_without_offset(&r);
        }
        safe_cut(r.m);
        assert_non_null(r.m->zombies);
        want(&r); /* it is released all the same before it is claimed again */
        safe_connect(r.m);
        safe_forget_asked(r.m);
        safe_world_calm(r.w);
        assert_int_equal(safe_asked_like(r.m, "delete owners/t/0"), 1);
        unwant(&r);
        safe_world_calm(r.w);
        assert_int_equal(safe_owner(r.w, 0), 0);
        fake_zk_put_ephemeral(r.w->zk, OWNER_0, "h-0", r.other);
        safe_world_put(r.w, OWNER_0, "h-0"); /* version 1, as a claim of ours has it */
        while (safe_serve_zombie(r.m))
            ;
        assert_int_equal(safe_owner(r.w, 0), r.other);
        end(&r);
    }
}

/* While the next release waits for our registration, an event of the owner node comes: it is
 * released all the same, though it is wanted again. */
static void test_a_lost_release_is_not_forgotten_with_an_event(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until_owned(&r);
    unwant(&r);
    until(&r, "delete owners/t/0");
    safe_cut(r.m);
    want(&r);
    safe_connect(r.m);
    safe_forget_asked(r.m);
    until(&r, "exists w owners/t/0");
    feed_event(&r, ZK_EVENT_DATA_CHANGED, SAFE_IDS "g_m");
    for (int part = 0; part < 4; part++) { /* of the view, and of the read */
        assert_true(safe_serve(r.m));
        assert_true(safe_read(r.m));
    }
    feed_event(&r, ZK_EVENT_DATA_CHANGED, OWNER_0);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "sync owners/t/0"), 1);
    assert_int_equal(safe_asked_like(r.m, "delete owners/t/0"), 1);
    assert_true(safe_gate_is_open(r.m, 0)); /* claimed again */
    end(&r);
}

/* A claim is carried out when it was looked for, not found, and not wanted any more. */
static void test_a_lost_claim_comes_true_late(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    r.w->keeps_zombies = true;
    until(&r, "multi create");
    safe_cut(r.m);
    assert_non_null(r.m->zombies);
    unwant(&r);
    safe_connect(r.m);
    safe_world_calm(r.w);
    assert_int_equal(safe_owner(r.w, 0), 0);
    while (safe_serve_zombie(r.m))
        ;
    assert_int_equal(safe_owner(r.w, 0), r.m->session);
    safe_connect(r.m); /* the leader has ended the connection */
    safe_world_calm(r.w);
    assert_int_equal(safe_owner(r.w, 0), 0);
    end(&r);
}

/* A lost claim, and another's node. */
static void until_another_is_waited_for(struct rig *r)
{
    begin(r, safe_world_config());
    r->w->keeps_zombies = true;
    until(r, "multi create");
    safe_cut(r->m);
    take(r);
    safe_connect(r->m);
    safe_world_calm(r->w);
    assert_string_equal(r->m->waiting_for, "java-0");
}

/* The claim is carried out when the other's node has gone; and when the event of that comes it is
 * not wanted any more. */
static void test_a_lost_claim_comes_true_where_another_was(void **state)
{
    (void)state;
    struct rig r;
    until_another_is_waited_for(&r);
    safe_world_remove(r.w, OWNER_0);
    while (safe_serve_zombie(r.m))
        ;
    assert_int_equal(safe_owner(r.w, 0), r.m->session);
    safe_forget_asked(r.m);
    safe_connect(r.m);
    assert_int_equal(safe_asked_like(r.m, "sync owners/t/0"), 1);
    unwant(&r);
    safe_world_calm(r.w);
    assert_int_equal(safe_owner(r.w, 0), 0);
    end(&r);
}

/* A look that begins without a sync is not enough for it. */
static void test_a_lost_claim_is_looked_for_after_a_look(void **state)
{
    (void)state;
    struct rig r;
    until_another_is_waited_for(&r);
    safe_world_remove(r.w, OWNER_0);
    until_looked_again(&r);
    assert_int_equal(safe_asked_like(r.m, "getData w owners/t/0"), 2);
    assert_int_equal(safe_asked_like(r.m, "sync owners/t/0"), 1);
    assert_string_equal(r.m->waiting_for, "java-0");
    end(&r);
}

/* Our id node is made again, with the version that the lost release checks. */
static void test_a_fence_of_a_node_made_again(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until_released_without_offset(&r);
    safe_cut(r.m);
    safe_connect(r.m);
    assert_int_equal(safe_asked_like(r.m, "sync owners"), 0); /* it may still come true */
    until(&r, "multi setData ids/g_m v-1");
    safe_world_remove(r.w, SAFE_IDS "g_m");
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "multi setData ids/g_m v-1"), 2);
    assert_int_equal(safe_asked_like(r.m, "multi delete owners/t/0 v1; check ids/g_m v1"), 1);
    assert_int_equal(safe_owner(r.w, 0), 0);
    end(&r);
}

/* Somebody else has written our registration: nothing is wrong with the partition. */
static void test_a_check_of_the_fence_that_fails(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until(&r, "multi create");
    safe_world_put(r.w, SAFE_IDS "g_m", "{}");
    unwant(&r);
    safe_forget_asked(r.m);
    calm(&r, (const char *const[]){
                 "getData w /brokers/topics/t", "getData offsets/t/0", "exists w owners/t/0",
                 "multi delete owners/t/0 v1; check ids/g_m v0", "multi setData ids/g_m v-1",
                 "multi delete owners/t/0 v1; check ids/g_m v2", NULL});
    end(&r);
}

/* Something has happened to our id node when we leave: it is looked at before anything is released,
 * or a release without an offset would go without its check, and could be carried out late. */
static void test_who_leaves_knows_its_registration(void **state)
{
    (void)state;
    for (int is_there = 0; is_there < 2; is_there++) {
        struct rig r;
        begin(&r, safe_world_config());
        until(&r, "multi create");
        safe_forget_asked(r.m);
        safe_leave(r.m);
        if (!is_there)
            safe_world_remove(r.w, SAFE_IDS "g_m");
        feed_event(&r, ZK_EVENT_DATA_CHANGED, SAFE_IDS "g_m");
        until(&r, "multi delete owners/t/0");
        assert_int_equal(safe_asked_like(r.m, "sync ids/g_m"), 1);
        assert_int_equal(safe_asked_like(r.m, "multi delete owners/t/0 v1; check ids/g_m v0"),
                         is_there);
        safe_world_calm(r.w);
        assert_int_equal(safe_owner(r.w, 0), 0);
        end(&r);
    }
}

static void test_unresolved_claim_is_not_forgotten_when_unwanted(void **state)
{
    (void)state; /* story 6 */
    struct rig r;
    begin(&r, safe_world_config());
    until(&r, "multi create");
    assert_true(safe_serve(r.m));
    safe_cut(r.m);
    unwant(&r);
    safe_connect(r.m);
    safe_world_calm(r.w);
    assert_int_equal(safe_owner(r.w, 0), 0); /* found, and given back */
    assert_false(r.m->held[0].is_open);
    end(&r);
}

static void test_lost_read_is_repeated(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until(&r, "exists w owners/t/0");
    safe_cut(r.m);
    safe_forget_asked(r.m);
    safe_connect(r.m);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "multi create"), 0);
    assert_int_equal(safe_asked_like(r.m, "getData offsets/t/0"), 1);
    assert_true(safe_gate_is_open(r.m, 0));
    end(&r);
}

static void test_read_that_finds_it_gone(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until(&r, "exists w owners/t/0");
    safe_world_remove(r.w, OWNER_0); /* blindly, by somebody */
    safe_forget_asked(r.m);
    calm(&r, (const char *const[]){CLAIM_0, "getData offsets/t/0", "exists w owners/t/0", NULL});
    end(&r);
}

static void test_odd_offset_is_told_and_not_delivered(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    fake_zk_put(r.w->zk, OFFSET_0, "7 ");
    safe_world_calm(r.w);
    assert_false(safe_gate_is_open(r.m, 0));
    assert_non_null(strstr(r.m->last_notice, "bare decimal number"));
    assert_true(r.m->is_settled); /* it does not hold back what else there may be */
    safe_world_put(r.w, OFFSET_0, "7");
    safe_world_run_ms(r.w, 6000);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->held[0].next, 7);
    end(&r);
}

/* ---- owned ---- */

static void test_commits_by_version(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until_owned(&r);
    r.w->log_end[0] = 9;
    assert_true(safe_take(r.m, 0) && safe_take(r.m, 0));
    safe_finish(r.m, 0);
    assert_true(safe_take(r.m, 0)); /* out, not finished */
    safe_commit_one(r.m, 0, 1);
    calm(&r, (const char *const[]){"create offsets/t/0 = 1", NULL});
    r.w->now_ms += 5000; /* the timer */
    safe_time(r.m);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "setData offsets/t/0 = 2 v0"), 1);
    assert_int_equal(r.m->commits_done, 1);
    safe_forget_asked(r.m);
    safe_commit_one(r.m, 0, 0); /* back, as the application asks */
    calm(&r, (const char *const[]){"setData offsets/t/0 = 0 v1", NULL});
    assert_int_equal(r.m->last_commit_err, ZKC_OK);
    end(&r);
}

/* What was committed before is above what is wanted now: it would be skipped by the next owner. */
static void test_a_moved_position_is_committed_below(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until_owned(&r);
    r.w->log_end[0] = 9;
    for (int i = 0; i < 5; i++)
        assert_true(safe_take(r.m, 0));
    safe_finish(r.m, 0);
    r.w->now_ms += 5000;
    safe_time(r.m);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "create offsets/t/0 = 5"), 1);
    safe_seek(r.m, 0, 2);
    r.w->now_ms += 5000;
    safe_time(r.m);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "setData offsets/t/0 = 2 v0"), 1);
    assert_true(safe_take(r.m, 0)); /* from there on it rises again, and once only goes back */
    safe_finish(r.m, 0);
    r.w->now_ms += 5000;
    safe_time(r.m);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "setData offsets/t/0 = 3 v1"), 1);
    safe_seek(r.m, 0, 1); /* and what is given back is given back as moved */
    safe_forget_asked(r.m);
    unwant(&r);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "multi setData offsets/t/0 = 1 v2"), 1);
    end(&r);
}

/* What was gone back to and is to be committed is committed by the release that follows the lost
 * one, and gone on from. Without commits it ends with the claim, as with any release. */
static void test_a_moved_position_outlives_a_lost_release(void **state)
{
    (void)state;
    for (int is_timed = 0; is_timed < 2; is_timed++) {
        struct rig r;
        struct zk_safe_config config = safe_world_config();
        config.auto_commit = is_timed;
        begin(&r, config);
        fake_zk_put(r.w->zk, OFFSET_0, "5");
        until_owned(&r);
        safe_seek(r.m, 0, 2);
        unwant(&r);
        until(&r, "delete owners/t/0 v1");
        safe_cut(r.m);
        want(&r);
        safe_connect(r.m);
        safe_world_calm(r.w);
        assert_true(safe_gate_is_open(r.m, 0));
        assert_int_equal(r.m->held[0].next, is_timed ? 2 : 5);
        assert_string_equal(fake_zk_text(r.w->zk, OFFSET_0), is_timed ? "2" : "5");
        end(&r);
    }
}

/* Without the timer a commit of all that is owned takes it back, once; one of before does not. */
static void test_a_moved_position_is_committed_when_asked(void **state)
{
    (void)state;
    struct rig r;
    struct zk_safe_config config = safe_world_config();
    config.auto_commit = false;
    begin(&r, config);
    until_owned(&r);
    r.w->log_end[0] = 9;
    for (int i = 0; i < 5; i++)
        assert_true(safe_take(r.m, 0));
    safe_finish(r.m, 0);
    struct group_position at = {"t", 0, 5, r.m->held[0].number, 0};
    struct group_input in = {.type = GROUP_IN_COMMIT, .commit = {&at, 1, true}};
    safe_feed(r.m, &in);
    calm(&r, (const char *const[]){"create offsets/t/0 = 5", NULL});
    safe_seek(r.m, 0, 2);
    at = (struct group_position){"t", 0, 2, r.m->held[0].number, 1};
    safe_feed(r.m, &in);
    calm(&r, (const char *const[]){"setData offsets/t/0 = 2 v0", NULL});
    safe_feed(r.m, &in);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "offsets/t/0 = "), 0);
    end(&r);
}

static void test_commit_of_what_is_not_owned_is_refused(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    take(&r);
    safe_world_calm(r.w);
    safe_commit_one(r.m, 0, 1);
    assert_int_equal(r.m->last_commit_err, ZKC_ERR_NOT_OWNED);
    end(&r);
}

static void test_no_commit_after_the_lease(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until_owned(&r);
    r.w->now_ms += SAFE_SESSION_MS; /* it was suspended */
    safe_commit_one(r.m, 0, 1);
    assert_int_equal(safe_asked_like(r.m, "create offsets"), 0);
    assert_false(safe_gate_is_open(r.m, 0));
    end(&r);
}

static void test_deleted_owner_node_is_lost(void **state)
{
    (void)state; /* story 12: stop, delete nothing, look, claim again */
    struct rig r;
    begin(&r, safe_world_config());
    until_owned(&r);
    safe_world_remove(r.w, OWNER_0);
    while (safe_read(r.m))
        ;
    assert_false(r.m->held[0].is_open);
    calm(&r, (const char *const[]){"sync owners/t/0", "getData w owners/t/0", CLAIM_0,
                                   "getData offsets/t/0", "exists w owners/t/0", NULL});
    assert_int_equal(r.m->held[0].number, 2);
    end(&r);
}

static void test_changed_owner_node_is_looked_at_and_goes_on(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until_owned(&r);
    r.w->log_end[0] = 5;
    assert_true(safe_take(r.m, 0) && safe_take(r.m, 0));
    safe_finish(r.m, 0);
    safe_world_put(r.w, OWNER_0, "nonsense");
    safe_world_calm(r.w);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->held[0].next, 2); /* not from the stored offset */
    end(&r);
}

/* Answers the first operation of the last step like this. */
static void answer_first(struct rig *r, int zk_rc)
{
    const struct zk_result result = {.zk_rc = zk_rc};
    struct group_input in = {.type = GROUP_IN_RESULT,
                             .result = {GROUP_LANE_SAFE, r->w->outputs.list[0].op.seq, &result}};
    safe_feed(r->m, &in);
}

/* Delivery goes on, and the watch is left again. */
static void test_lost_watch_of_ours_is_left_again(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until_owned(&r);
    lose_watch(&r, OWNER_0);
    assert_true(safe_gate_is_open(r.m, 0));
    calm(&r, (const char *const[]){"exists w owners/t/0", NULL});
    assert_int_equal(r.m->held[0].number, 1);
    lose_watch(&r, OWNER_0);
    lose_watch(&r, OWNER_0); /* it may be that of the read under way */
    calm(&r, (const char *const[]){"exists w owners/t/0", "exists w owners/t/0", NULL});
    assert_int_equal(r.m->held[0].number, 1);
    end(&r);
}

/* It is not there any more: as when its event had come. */
static void test_lost_watch_of_ours_that_would_have_fired(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until_owned(&r);
    lose_watch(&r, OWNER_0);
    answer_first(&r, ZK_NO_NODE);
    assert_false(safe_gate_is_open(r.m, 0));
    safe_world_calm(r.w); /* resolved: a sync, a look; it is ours after all */
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->held[0].number, 2);
    end(&r);
}

/* Without an answer it is sent again; nothing waits for it, not even a commit. */
static void test_watch_that_cannot_be_left_again(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until_owned(&r);
    lose_watch(&r, OWNER_0);
    safe_forget_asked(r.m);
    answer_first(&r, ZK_CONNECTION_LOSS);
    safe_expect(r.m, NOTHING);
    r.w->now_ms += GROUP_RESEND_MS;
    safe_time(r.m);
    safe_expect(r.m, (const char *const[]){"exists w owners/t/0", NULL});
    safe_commit_one(r.m, 0, 3);
    safe_expect(r.m, (const char *const[]){"create offsets/t/0 = 3", NULL});
    safe_world_calm(r.w);
    assert_int_equal(r.m->commits_done, 1);
    end(&r);
}

static void test_lost_watch_of_anothers_is_looked_at(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until(&r, "multi create");
    take(&r);
    safe_world_calm(r.w);
    safe_forget_asked(r.m);
    lose_watch(&r, OWNER_0);
    calm(&r, (const char *const[]){"getData w owners/t/0", NULL}); /* no claim in vain */
    assert_string_equal(r.m->waiting_for, "java-0");
    safe_world_remove(r.w, OWNER_0);
    until_owned(&r);
    end(&r);
}

/* While it is read, given back or resolved nothing is done about it before that has an end. */
static void test_lost_watch_in_between(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until(&r, "exists w owners");
    lose_watch(&r, OWNER_0); /* held: the read under way may have been with the session lost */
    safe_forget_asked(r.m);
    calm(&r, (const char *const[]){"exists w owners/t/0", NULL});
    assert_true(safe_gate_is_open(r.m, 0));
    unwant(&r);
    until(&r, "multi");
    lose_watch(&r, OWNER_0);
    safe_forget_asked(r.m);
    calm(&r, NOTHING);
    lose_watch(&r, OWNER_0); /* of nobody's */
    lose_watch(&r, "/consumers/g/owners/other/7");
    calm(&r, NOTHING);
    assert_false(fake_zk_exists(r.w->zk, OWNER_0));
    end(&r);
}

/* A topic is read again, a registration is looked at. */
static void test_lost_watches_of_the_view(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until_owned(&r);
    lose_watch(&r, "/brokers/topics/t");
    calm(&r, (const char *const[]){"getData w /brokers/topics/t", NULL});
    lose_watch(&r, "/consumers/g/ids");
    calm(&r, (const char *const[]){"getChildren w ids", NULL});
    assert_int_equal(r.m->held[0].number, 1);
    end(&r);
}

/* ---- given back ---- */

static void test_stopped_drained_released(void **state)
{
    (void)state; /* SF1, story 10 */
    struct rig r;
    begin(&r, safe_world_config());
    fake_zk_put(r.w->zk, OFFSET_0, "0");
    until_owned(&r);
    r.w->log_end[0] = 5;
    assert_true(safe_take(r.m, 0));
    unwant(&r);
    safe_world_calm(r.w);
    assert_false(r.m->held[0].is_open); /* at once */
    assert_int_equal(safe_asked_like(r.m, "multi"), 0);
    safe_forget_asked(r.m);
    safe_finish(r.m, 0);
    calm(&r, (const char *const[]){"multi setData offsets/t/0 = 1 v0; delete owners/t/0 v1", NULL});
    assert_int_equal(safe_owner(r.w, 0), 0);
    end(&r);
}

static void test_release_without_progress_writes_the_offset_anew(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    fake_zk_put(r.w->zk, OFFSET_0, "4");
    until_owned(&r);
    unwant(&r);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "multi setData offsets/t/0 = 4 v0; delete owners/t/0 v1"),
                     1);
    end(&r);
}

static void test_handover_deadline_voids_what_is_out(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    fake_zk_put(r.w->zk, OFFSET_0, "0");
    until_owned(&r);
    r.w->log_end[0] = 5;
    assert_true(safe_take(r.m, 0));
    safe_finish(r.m, 0);
    assert_true(safe_take(r.m, 0)); /* never finished in time */
    unwant(&r);
    safe_world_calm(r.w);
    r.w->now_ms += ZK_SAFE_HANDOVER_MS - 1;
    safe_time(r.m);
    assert_int_equal(r.m->voids, 0);
    r.w->now_ms += 1;
    safe_time(r.m);
    safe_world_calm(r.w);
    assert_int_equal(r.m->voids, 1);
    assert_int_equal(r.m->voided, GROUP_VOID_LATE);
    assert_string_equal(fake_zk_text(r.w->zk, OFFSET_0), "1");
    assert_int_equal(safe_owner(r.w, 0), 0);
    struct group_input late = {.type = GROUP_IN_DRAINED, .drained = {"t", 0, 1, 2, 0}};
    safe_forget_asked(r.m);
    safe_feed(r.m, &late); /* ignored */
    calm(&r, NOTHING);
    end(&r);
}

static void test_wanted_again_while_stopped_is_released_first(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    fake_zk_put(r.w->zk, OFFSET_0, "0");
    until_owned(&r);
    r.w->log_end[0] = 5;
    assert_true(safe_take(r.m, 0));
    unwant(&r);
    safe_world_calm(r.w);
    want(&r);
    safe_world_calm(r.w);
    assert_false(r.m->held[0].is_open);
    safe_forget_asked(r.m);
    safe_finish(r.m, 0);
    calm(&r, (const char *const[]){"multi setData offsets/t/0 = 1 v0; delete owners/t/0 v1",
                                   CLAIM_0, "getData offsets/t/0", "exists w owners/t/0", NULL});
    end(&r);
}

/* A release whose answer is lost: carried out or not, it ends with the node gone, once. */
static void test_lost_release_is_resolved(void **state)
{
    (void)state;
    for (int was_run = 0; was_run < 2; was_run++) {
        struct rig r;
        begin(&r, safe_world_config());
        fake_zk_put(r.w->zk, OFFSET_0, "0");
        until_owned(&r);
        r.w->log_end[0] = 1;
        assert_true(safe_take(r.m, 0));
        safe_finish(r.m, 0);
        struct group_input in = {.type = GROUP_IN_LEAVE};
        safe_feed(r.m, &in);
        until(&r, "delete owners");
        if (was_run)
            assert_true(safe_serve(r.m));
        safe_cut(r.m);
        safe_forget_asked(r.m);
        safe_connect(r.m);
        safe_world_calm(r.w);
        assert_string_equal(fake_zk_text(r.w->zk, OFFSET_0), "1");
        assert_int_equal(safe_owner(r.w, 0), 0);
        assert_null(r.m->machine);
        end(&r);
    }
}

static void test_java_node_in_our_place_is_not_deleted(void **state)
{
    (void)state; /* SF4: a Java claim has version 0, our release names 1 */
    struct rig r;
    begin(&r, safe_world_config());
    until_owned(&r);
    unwant(&r);
    until(&r, "delete owners/t/0 v1");
    safe_world_remove(r.w, OWNER_0);
    take(&r);
    safe_world_calm(r.w);
    assert_int_equal(safe_owner(r.w, 0), r.other);
    end(&r);
}

/* ---- foreign offsets, section 7 ---- */

static const struct reread_case {
    const char *name;
    const char *foreign; /* written once; NULL: deleted */
    const char *stored;  /* in the end */
    int foreigns, obeyed;
    int64_t next; /* to be handed out */
} rereads[] = {
    {"a foreign write is told and overwritten by progress", "3", "2", 1, 0, 2},
    {"text that is no number is told and overwritten", "x", "2", 1, 0, 2},
    {"a leading zero is a forced reset", "0100", "100", 1, 1, 100},
    {"back to the beginning", "00", "0", 1, 1, 0},
    {"a deleted node is told and made again", NULL, "2", 1, 0, 2},
};

static void test_rereads(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rereads); i++) {
        const struct reread_case *c = &rereads[i];
        struct rig r;
        begin(&r, safe_world_config());
        fake_zk_put(r.w->zk, OFFSET_0, "0");
        until_owned(&r);
        r.w->log_end[0] = 2;
        assert_true(safe_take(r.m, 0) && safe_take(r.m, 0));
        safe_finish(r.m, 0);
        r.w->log_end[0] = 200;
        if (c->foreign)
            safe_world_put(r.w, OFFSET_0, c->foreign);
        else
            safe_world_remove(r.w, OFFSET_0);
        r.w->now_ms += 5000;
        safe_time(r.m);
        safe_world_calm(r.w);
        if (r.m->foreigns != c->foreigns || r.m->obeyed != c->obeyed ||
            r.m->held[0].next != c->next)
            fail_msg("%s: foreign %d, obeyed %d, next %" PRId64, c->name, r.m->foreigns,
                     r.m->obeyed, r.m->held[0].next);
        assert_string_equal(fake_zk_text(r.w->zk, OFFSET_0), c->stored);
        assert_true(safe_gate_is_open(r.m, 0));
        assert_int_equal(r.m->voids, c->obeyed); /* of what is in hand */
        if (c->obeyed && (r.m->voided != GROUP_VOID_RESET || r.m->voided_reset != c->next))
            fail_msg("%s: void %d, %" PRId64, c->name, r.m->voided, r.m->voided_reset);
        end(&r);
    }
}

static void test_foreign_write_is_noticed_without_commits(void **state)
{
    (void)state; /* by the checks of a probe */
    struct rig r;
    begin(&r, safe_world_config());
    fake_zk_put(r.w->zk, OFFSET_0, "5");
    until_owned(&r);
    safe_world_put(r.w, OFFSET_0, "02");
    safe_world_run_ms(r.w, SAFE_SESSION_MS / 2);
    assert_int_equal(r.m->obeyed, 1);
    assert_int_equal(r.m->held[0].next, 2);
    assert_string_equal(fake_zk_text(r.w->zk, OFFSET_0), "2");
    end(&r);
}

/* A commit whose answer is lost. */
static void test_lost_commit_is_reread(void **state)
{
    (void)state;
    for (int was_run = 0; was_run < 2; was_run++) {
        struct rig r;
        begin(&r, safe_world_config());
        fake_zk_put(r.w->zk, OFFSET_0, "0");
        until_owned(&r);
        safe_commit_one(r.m, 0, 1);
        if (was_run)
            assert_true(safe_serve(r.m));
        safe_cut(r.m);
        safe_forget_asked(r.m);
        safe_connect(r.m);
        safe_world_calm(r.w);
        assert_int_equal(safe_asked_like(r.m, "sync"), 1);
        assert_int_equal(safe_asked_like(r.m, "setData offsets/t/0 = 1 v0"), 1 - was_run);
        assert_string_equal(fake_zk_text(r.w->zk, OFFSET_0), "1");
        assert_int_equal(r.m->foreigns, 0);
        assert_int_equal(r.m->commits_done, 1);
        assert_true(safe_gate_is_open(r.m, 0)); /* it flowed all the time */
        assert_int_equal(r.m->held[0].number, 1);
        end(&r);
    }
}

/* ---- the session ---- */

static void test_reconnected_in_time_nothing_moves(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until_owned(&r);
    safe_cut(r.m);
    assert_true(safe_gate_is_open(r.m, 0)); /* the lease runs on */
    r.w->now_ms += 3000;
    safe_connect(r.m);
    safe_world_calm(r.w);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->held[0].number, 1);
    assert_int_equal(safe_asked_like(r.m, "owners"), 0);
    end(&r);
}

static void test_nothing_is_sent_while_disconnected(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, safe_world_config());
    until_owned(&r);
    safe_cut(r.m);
    safe_forget_asked(r.m);
    safe_commit_one(r.m, 0, 1);
    unwant(&r);
    r.w->now_ms += 5000;
    safe_time(r.m);
    assert_int_equal(r.m->asked_count, 0);
    end(&r);
}

static void test_expired_everything_is_dropped_and_begun_anew(void **state)
{
    (void)state; /* story 5: no commit in the new session */
    struct rig r;
    begin(&r, safe_world_config());
    fake_zk_put(r.w->zk, OFFSET_0, "0");
    until_owned(&r);
    r.w->log_end[0] = 5;
    assert_true(safe_take(r.m, 0));
    safe_finish(r.m, 0);
    safe_commit_one(r.m, 0, 1);
    safe_cut(r.m);
    r.w->now_ms += SAFE_SESSION_MS;
    safe_world_end_sessions(r.w);
    safe_forget_asked(r.m);
    safe_connect(r.m);
    assert_false(r.m->held[0].is_open);
    assert_int_equal(r.m->last_commit_err, ZKC_ERR_NOT_OWNED);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "offsets/t/0 = "), 0);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->held[0].next, 0); /* again: at least once */
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claimed_read_owned),
        cmocka_unit_test(test_claim_of_a_taken_one_looks_and_waits),
        cmocka_unit_test(test_contested_flows_within_three_round_trips),
        cmocka_unit_test(test_a_leader_found_ahead_of_time),
        cmocka_unit_test(test_a_taken_one_is_told_of_when_it_stays_so),
        cmocka_unit_test(test_a_refused_claim_is_told_of_and_tried_again),
        cmocka_unit_test(test_looked_at_and_gone_is_claimed_again),
        cmocka_unit_test(test_lost_look_is_repeated),
        cmocka_unit_test(test_waiting_ends_when_it_is_not_wanted),
        cmocka_unit_test(test_lost_claim_is_resolved),
        cmocka_unit_test(test_resolve_begins_with_a_sync),
        cmocka_unit_test(test_what_is_lost_comes_true_late),
        cmocka_unit_test(test_a_lost_release_is_not_forgotten_with_an_event),
        cmocka_unit_test(test_a_lost_claim_comes_true_late),
        cmocka_unit_test(test_a_lost_claim_comes_true_where_another_was),
        cmocka_unit_test(test_a_lost_claim_is_looked_for_after_a_look),
        cmocka_unit_test(test_a_fence_of_a_node_made_again),
        cmocka_unit_test(test_a_check_of_the_fence_that_fails),
        cmocka_unit_test(test_who_leaves_knows_its_registration),
        cmocka_unit_test(test_unresolved_claim_is_not_forgotten_when_unwanted),
        cmocka_unit_test(test_lost_read_is_repeated),
        cmocka_unit_test(test_read_that_finds_it_gone),
        cmocka_unit_test(test_odd_offset_is_told_and_not_delivered),
        cmocka_unit_test(test_commits_by_version),
        cmocka_unit_test(test_a_moved_position_is_committed_below),
        cmocka_unit_test(test_a_moved_position_is_committed_when_asked),
        cmocka_unit_test(test_a_moved_position_outlives_a_lost_release),
        cmocka_unit_test(test_commit_of_what_is_not_owned_is_refused),
        cmocka_unit_test(test_no_commit_after_the_lease),
        cmocka_unit_test(test_deleted_owner_node_is_lost),
        cmocka_unit_test(test_changed_owner_node_is_looked_at_and_goes_on),
        cmocka_unit_test(test_lost_watch_of_ours_is_left_again),
        cmocka_unit_test(test_lost_watch_of_ours_that_would_have_fired),
        cmocka_unit_test(test_watch_that_cannot_be_left_again),
        cmocka_unit_test(test_lost_watch_of_anothers_is_looked_at),
        cmocka_unit_test(test_lost_watch_in_between),
        cmocka_unit_test(test_lost_watches_of_the_view),
        cmocka_unit_test(test_stopped_drained_released),
        cmocka_unit_test(test_release_without_progress_writes_the_offset_anew),
        cmocka_unit_test(test_handover_deadline_voids_what_is_out),
        cmocka_unit_test(test_wanted_again_while_stopped_is_released_first),
        cmocka_unit_test(test_lost_release_is_resolved),
        cmocka_unit_test(test_java_node_in_our_place_is_not_deleted),
        cmocka_unit_test(test_rereads),
        cmocka_unit_test(test_foreign_write_is_noticed_without_commits),
        cmocka_unit_test(test_lost_commit_is_reread),
        cmocka_unit_test(test_reconnected_in_time_nothing_moves),
        cmocka_unit_test(test_nothing_is_sent_while_disconnected),
        cmocka_unit_test(test_expired_everything_is_dropped_and_begun_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
