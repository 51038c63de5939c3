/* A safe member as a whole: registration, lease, views, eviction, leaving, and the switches that
 * take one rule away. */
#include "tests/unit/group/zk_safe_world.h"
#include "tests/unit/test.h"

#define ID_M SAFE_IDS "g_m"

struct rig {
    struct safe_world *w;
    struct safe_member *m;
    int64_t other; /* a foreign session */
};

static void begin_world(struct rig *r, int partitions)
{
    r->w = safe_world_with_foreigner(partitions, &r->other);
}

static void join(struct rig *r, struct zk_safe_config config)
{
    r->m = safe_world_join(r->w, "g_m", &config);
    safe_connect(r->m);
}

static void begin(struct rig *r, int partitions)
{
    begin_world(r, partitions);
    join(r, safe_world_config());
}

static void end(struct rig *r)
{
    safe_world_free(r->w);
}

static int owned(const struct safe_member *m)
{
    size_t n;
    zk_safe_owned(m->machine, &n);
    return (int)n;
}

/* Another member, of the other session. `strategy` NULL: a Java member. */
static void put_member(struct rig *r, const char *id, const char *strategy, int streams)
{
    char path[64], data[256];
    snprintf(path, sizeof path, SAFE_IDS "%s", id);
    snprintf(data, sizeof data,
             "{\"version\":1,\"subscription\":{\"t\":%d},\"pattern\":\"static\",\"timestamp\":"
             "\"1\"%s%s%s}",
             streams, strategy ? ",\"strategy\":\"" : "", strategy ? strategy : "",
             strategy ? "\"" : "");
    safe_world_put(r->w, path, data);
}

/* ---- registration, section 2 ---- */

static void test_lost_registration_is_looked_at(void **state)
{
    (void)state;
    for (int was_run = 0; was_run < 2; was_run++) {
        struct rig r;
        begin(&r, 1);
        if (was_run)
            assert_true(safe_serve(r.m));
        safe_cut(r.m);
        safe_forget_asked(r.m);
        safe_connect(r.m);
        safe_world_calm(r.w);
        assert_string_equal(r.m->asked[0], "multi check ids/g_m v-1"); /* the first write */
        assert_int_equal(safe_asked_like(r.m, "exists w ids/g_m"), 1);
        assert_int_equal(safe_asked_like(r.m, "create ids/g_m"), 1 - was_run);
        assert_int_equal(fake_zk_owner(r.w->zk, ID_M), r.m->session);
        assert_true(safe_gate_is_open(r.m, 0));
        end(&r);
    }
}

static void test_id_of_another_session_is_waited_for(void **state)
{
    (void)state; /* story 15: what it says does not matter */
    struct rig r;
    begin_world(&r, 1);
    fake_zk_put_ephemeral(r.w->zk, ID_M, "{}", r.other);
    join(&r, safe_world_config());
    safe_world_run_ms(r.w, 1000);
    assert_false(r.m->is_registered);
    assert_string_equal(zk_safe_state_name(r.m->machine), "registering");
    assert_non_null(strstr(r.m->last_notice, "registered by another session"));
    assert_int_equal(safe_asked_like(r.m, "owners"), 0);
    safe_world_remove(r.w, ID_M);
    safe_world_calm(r.w);
    assert_true(r.m->is_registered);
    assert_true(safe_gate_is_open(r.m, 0));
    end(&r);
}

static void test_deleted_registration_is_made_again_and_nothing_moves(void **state)
{
    (void)state; /* story 14 */
    struct rig r;
    begin(&r, 2);
    safe_world_calm(r.w);
    safe_world_remove(r.w, ID_M);
    safe_forget_asked(r.m);
    safe_world_calm(r.w);
    assert_int_equal(fake_zk_owner(r.w->zk, ID_M), r.m->session);
    assert_int_equal(owned(r.m), 2);
    assert_int_equal(r.m->held[0].number, 1);
    assert_int_equal(safe_asked_like(r.m, "owners"), 0);
    end(&r);
}

static void refuse_registrations(struct rig *r)
{
    safe_world_remove(r->w, "/consumers/g/ids");
    fake_zk_put_ephemeral(r->w->zk, "/consumers/g/ids", NULL, r->other);
}

static void allow_registrations(struct rig *r)
{
    safe_world_remove(r->w, "/consumers/g/ids");
    fake_zk_put(r->w->zk, "/consumers/g/ids", NULL);
}

/* The application hears of it once, however long it is tried; and again when it had gone well. */
static void test_refused_registration_is_told_once(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 1);
    refuse_registrations(&r);
    join(&r, safe_world_config());
    safe_world_run_ms(r.w, 30000);
    assert_true(safe_asked_like(r.m, "create ids/g_m") >= 29);
    assert_non_null(strstr(r.m->last_notice, "registering /consumers/g/ids/g_m is refused"));
    assert_int_equal(r.m->errors, 1);
    assert_true(r.m->notices >= 29); /* the log holds back what is repeated */
    allow_registrations(&r);
    safe_world_run_ms(r.w, 5000);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->errors, 1);
    refuse_registrations(&r);
    safe_world_run_ms(r.w, 30000);
    assert_false(r.m->is_registered);
    assert_int_equal(r.m->errors, 2);
    end(&r);
}

static void test_namesake_in_our_place(void **state)
{
    (void)state; /* the list is the same, the registration is not ours: by session */
    struct rig r;
    begin(&r, 1);
    safe_world_calm(r.w);
    fake_zk_remove(r.w->zk, ID_M);
    fake_zk_put_ephemeral(r.w->zk, ID_M, "{}", r.other);
    safe_world_put(r.w, "/unrelated", "x");
    safe_world_calm(r.w);
    assert_string_equal(zk_safe_state_name(r.m->machine), "registering");
    assert_true(safe_gate_is_open(r.m, 0)); /* it keeps what it owns */
    safe_world_remove(r.w, ID_M);
    safe_world_calm(r.w);
    assert_string_equal(zk_safe_state_name(r.m->machine), "owning");
    end(&r);
}

/* ---- lease, section 3 ---- */

static void test_probes_keep_the_gate_open(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, 1);
    safe_world_run_ms(r.w, 20 * SAFE_SESSION_MS);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_true(r.m->lease_end_ms > r.w->now_ms + SAFE_SESSION_MS / 4);
    end(&r);
}

static void test_stalled_link_ends_delivery_before_the_session(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, 1);
    safe_world_run_ms(r.w, 2 * SAFE_SESSION_MS);
    r.w->log_end[0] = 100;
    safe_stall(r.m);
    int64_t touched = r.w->touched_ms[r.m->session];
    while (safe_take(r.m, 0)) {
        r.w->now_ms += 100;
        safe_time(r.m);
    }
    assert_true(r.w->now_ms < touched + SAFE_SESSION_MS);
    assert_true(r.w->now_ms > touched + SAFE_SESSION_MS / 4);
    end(&r);
}

static void test_wakes_from_suspend_with_a_closed_gate(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, 1);
    safe_world_calm(r.w);
    r.w->now_ms += 100 * SAFE_SESSION_MS;
    r.w->log_end[0] = 1;
    assert_false(safe_take(r.m, 0));
    end(&r);
}

/* Every switch of the lease, in one story: the connection is lost for half a session. */
static const struct fence_case {
    const char *name;
    enum zk_fence fence;
    enum lease_probe probe;
    bool open_while_disconnected;
    const char *asked;
} fences[] = {
    {"lease by writes", ZK_FENCE_LEASE, LEASE_PROBE_WRITE, true, "multi check ids/g_m"},
    {"lease by syncs", ZK_FENCE_LEASE, LEASE_PROBE_SYNC, true, "sync ids/g_m"},
    {"disconnect", ZK_FENCE_DISCONNECT, LEASE_PROBE_WRITE, false, NULL},
    {"none", ZK_FENCE_NONE, LEASE_PROBE_WRITE, true, NULL},
};

static void test_fences(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fences); i++) {
        const struct fence_case *c = &fences[i];
        struct rig r;
        begin_world(&r, 1);
        struct zk_safe_config config = safe_world_config();
        config.fence = c->fence;
        config.lease_probe = c->probe;
        join(&r, config);
        safe_world_run_ms(r.w, SAFE_SESSION_MS);
        bool probes = safe_asked_like(r.m, "multi check") + safe_asked_like(r.m, "sync ids") > 0;
        if (probes != (c->asked != NULL) || (c->asked && !safe_asked_like(r.m, c->asked)))
            fail_msg("%s: wrong probes", c->name);
        safe_cut(r.m);
        if (safe_gate_is_open(r.m, 0) != c->open_while_disconnected)
            fail_msg("%s: the gate while disconnected", c->name);
        r.w->now_ms += SAFE_SESSION_MS / 2;
        safe_connect(r.m);
        safe_world_calm(r.w);
        if (!safe_gate_is_open(r.m, 0) || r.m->held[0].number != 1)
            fail_msg("%s: the gate after it", c->name);
        end(&r);
    }
}

/* ---- views, section 4 ---- */

static void test_only_those_that_came_are_read(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, 4);
    safe_world_calm(r.w);
    put_member(&r, "g_a", "ceil,range", 1);
    safe_world_calm(r.w);
    assert_int_equal(owned(r.m), 2);
    safe_forget_asked(r.m);
    put_member(&r, "g_b", "ceil,range", 1);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "getData ids/"), 1);
    assert_int_equal(safe_asked_like(r.m, "getData ids/g_b"), 1);
    safe_forget_asked(r.m);
    safe_world_remove(r.w, SAFE_IDS "g_b");
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "getData ids/"), 0);
    end(&r);
}

static void test_who_left_and_came_back_is_read_again(void **state)
{
    (void)state; /* with three times the streams, and so with more of the partitions */
    struct rig r;
    begin(&r, 4);
    put_member(&r, "g_a", "ceil,range", 1);
    safe_world_calm(r.w);
    assert_int_equal(owned(r.m), 2);
    fake_zk_remove(r.w->zk, SAFE_IDS "g_a");
    put_member(&r, "g_a", "ceil,range", 3);
    safe_world_calm(r.w);
    assert_int_equal(owned(r.m), 1);
    end(&r);
}

static void test_view_that_never_was_is_not_acted_on(void **state)
{
    (void)state; /* g_a goes, after g_b has come, while the list with g_a alone is read */
    struct rig r;
    begin(&r, 4);
    safe_world_calm(r.w);
    int before = r.m->rounds;
    put_member(&r, "g_a", "ceil,range", 1);
    while (!r.m->in_try)
        assert_true(safe_read(r.m));
    assert_true(safe_serve(r.m));
    put_member(&r, "g_b", "ceil,range", 1);
    safe_world_remove(r.w, SAFE_IDS "g_a");
    safe_world_calm(r.w);
    assert_int_equal(r.m->rounds - before, 1);
    assert_int_equal(owned(r.m), 2);
    assert_int_equal(r.m->held[3].number, 4); /* never stopped */
    end(&r);
}

static void test_odd_registration_is_told_and_mended(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, 2);
    safe_world_put(r.w, SAFE_IDS "g_a", "");
    safe_world_calm(r.w);
    assert_int_equal(owned(r.m), 2); /* a member without streams */
    assert_non_null(strstr(r.m->last_notice, "ids/g_a"));
    put_member(&r, "g_a", "ceil,range", 1); /* in place: its data is watched */
    safe_world_calm(r.w);
    assert_int_equal(owned(r.m), 1);
    end(&r);
}

static void test_lost_view_is_read_again(void **state)
{
    (void)state; /* story 8 */
    struct rig r;
    begin(&r, 1);
    while (!safe_asked_like(r.m, "getChildren w ids"))
        assert_true(safe_serve(r.m) || safe_read(r.m));
    safe_cut(r.m);
    safe_forget_asked(r.m);
    safe_connect(r.m);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "getChildren w ids"), 1);
    assert_true(safe_gate_is_open(r.m, 0));
    end(&r);
}

static void test_what_does_not_move_flows_on(void **state)
{
    (void)state;
    for (int keeps = 0; keeps < 2; keeps++) {
        struct rig r;
        begin_world(&r, 4);
        struct zk_safe_config config = safe_world_config();
        config.keep_unmoved = keeps;
        join(&r, config);
        safe_world_calm(r.w);
        safe_forget_asked(r.m);
        put_member(&r, "g_z", "ceil,range", 1);
        safe_world_calm(r.w);
        assert_int_equal(owned(r.m), 2);
        assert_int_equal(r.m->held[0].number == 1, keeps);
        assert_int_equal(safe_asked_like(r.m, "delete owners/t/0"), 1 - keeps);
        assert_int_equal(safe_asked_like(r.m, "delete owners/t/3"), 1);
        end(&r);
    }
}

static void test_another_thread_of_ours_claims_anew(void **state)
{
    (void)state; /* alone: 0,1 -> thread 0, 2,3 -> thread 1; beside one with two: 0 -> 0, 1 -> 1 */
    struct rig r;
    static const struct zk_subscription two = {(char *)(uintptr_t) "t", 2};
    begin_world(&r, 4);
    struct zk_safe_config config = safe_world_config();
    config.subscriptions = &two;
    join(&r, config);
    safe_world_calm(r.w);
    assert_string_equal(fake_zk_text(r.w->zk, SAFE_OWNERS "1"), "g_m-0");
    put_member(&r, "g_z", "ceil,range", 2);
    safe_world_calm(r.w);
    assert_string_equal(fake_zk_text(r.w->zk, SAFE_OWNERS "0"), "g_m-0");
    assert_string_equal(fake_zk_text(r.w->zk, SAFE_OWNERS "1"), "g_m-1");
    assert_int_equal(r.m->held[0].number, 1);
    end(&r);
}

/* Seven partitions and g_d, g_f, g_m tell the rules apart: ceil 3, 3, 1; range 3, 2, 2; rendezvous
 * 2, 2, 3, as the topic likes the last one most. */
static const struct strategy_case {
    const char *name;
    enum zk_safe_strategy strategy;
    const char *others; /* what two others declare */
    int owned;          /* by the last of three */
    const char *notice; /* NULL: none of strategies */
} strategies[] = {
    {"all know ceil", ZK_SAFE_AUTO, "ceil,range", 1, NULL},
    {"one Java member", ZK_SAFE_AUTO, NULL, 2, "assigned by range"},
    {"one that only knows range", ZK_SAFE_AUTO, "range", 2, "assigned by range"},
    {"auto beside rendezvous", ZK_SAFE_AUTO, "rendezvous,ceil,range", 1, NULL},
    {"all know rendezvous", ZK_SAFE_RENDEZVOUS, "rendezvous,ceil,range", 3, NULL},
    {"explicit ceil beside Java", ZK_SAFE_CEIL, NULL, 1, "do not assign by ceil"},
    {"explicit range beside auto", ZK_SAFE_RANGE, "ceil,range", 2, NULL},
    {"explicit range beside ceil", ZK_SAFE_RANGE, "ceil", 2, "do not assign by range"},
    {"explicit range beside rendezvous", ZK_SAFE_RANGE, "rendezvous,ceil,range", 2, NULL},
    {"rendezvous beside round robin", ZK_SAFE_RENDEZVOUS, "roundrobin", 2,
     "2 members do not assign by range as we do, the first is g_d"},
};

static void test_strategies(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(strategies); i++) {
        const struct strategy_case *c = &strategies[i];
        struct rig r;
        begin_world(&r, 7);
        put_member(&r, "g_d", c->strategy == ZK_SAFE_AUTO ? "ceil,range" : c->others, 1);
        put_member(&r, "g_f", c->others, 1);
        struct zk_safe_config config = safe_world_config();
        config.strategy = c->strategy;
        join(&r, config);
        safe_world_calm(r.w);
        bool told = strstr(r.m->last_notice, "assign") != NULL;
        if (owned(r.m) != c->owned || told != (c->notice != NULL) ||
            (c->notice && !strstr(r.m->last_notice, c->notice)))
            fail_msg("%s: owns %d, \"%s\"", c->name, owned(r.m), r.m->last_notice);
        end(&r);
    }
}

#define KNOWS_IT "rendezvous,ceil,range"

static const struct switch_step {
    const char *others[2];   /* what g_d and g_f declare */
    const char *without;     /* who is said to lack the rule; "": that nobody does; NULL: nothing */
    enum assign_strategy by; /* what partitions are assigned by */
    int owned;               /* by the last of three */
} switch_steps[] = {
    {{"ceil,range", "ceil,range"}, "g_d", ASSIGN_CEIL, 1},
    {{KNOWS_IT, "ceil,range"}, "g_f", ASSIGN_CEIL, 1},
    {{KNOWS_IT, KNOWS_IT}, "", ASSIGN_RENDEZVOUS, 3},
    {{KNOWS_IT, NULL}, "g_f", ASSIGN_RANGE, 2},
    {{KNOWS_IT, "range"}, NULL, ASSIGN_RANGE, 2}, /* for the sake of the same one */
    {{KNOWS_IT, "ceil,range"}, "g_f", ASSIGN_CEIL, 1},
    {{"ceil,range", "ceil,range"}, "g_d", ASSIGN_CEIL, 1},
};

/* Leaves, and comes back as another. */
static void switch_member(struct rig *r, const char *id, const char *strategy)
{
    char path[64];
    snprintf(path, sizeof path, SAFE_IDS "%s", id);
    fake_zk_remove(r->w->zk, path);
    put_member(r, id, strategy, 1);
}

/* Members are switched one by one: each time it is told who lacks the rule, until nobody does. */
static void test_a_group_is_switched_to_rendezvous(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 7);
    for (size_t i = 0; i < ARRAY_LEN(switch_steps); i++) {
        const struct switch_step *s = &switch_steps[i];
        const char *was = i ? switch_steps[i - 1].others[0] : NULL;
        char want[200] = "";
        if (s->without && *s->without)
            snprintf(want, sizeof want,
                     "%s does not declare that it knows rendezvous: partitions are assigned by %s",
                     s->without, assign_strategy_name(s->by));
        else if (s->without)
            snprintf(want, sizeof want,
                     "all members know rendezvous: partitions are assigned by it");
        if (s->others[0] != was)
            switch_member(&r, "g_d", s->others[0]);
        switch_member(&r, "g_f", s->others[1]);
        if (i == 0) {
            struct zk_safe_config config = safe_world_config();
            config.strategy = ZK_SAFE_RENDEZVOUS;
            join(&r, config);
        }
        safe_world_calm(r.w);
        if (owned(r.m) != s->owned || strcmp(r.m->last_notice, want) != 0)
            fail_msg("step %zu: owns %d, \"%s\"", i, owned(r.m), r.m->last_notice);
        r.m->last_notice[0] = 0;
    }
    end(&r);
}

static void test_rounds_are_told(void **state)
{
    (void)state; /* in_round and its like are checked by the world, in every test */
    struct rig r;
    begin(&r, 4);
    safe_world_calm(r.w);
    assert_int_equal(r.m->rounds, 1);
    assert_int_equal(r.m->decided, 4);
    put_member(&r, "g_a", "ceil,range", 1);
    safe_world_calm(r.w);
    assert_int_equal(r.m->rounds, 2);
    assert_int_equal(r.m->decided, 2);
    assert_int_equal(r.m->tries, 2);
    safe_world_remove(r.w, ID_M); /* a try that fails, then one that goes well */
    safe_world_calm(r.w);
    assert_int_equal(r.m->rounds_failed, 0);
    assert_true(r.m->tries > r.m->rounds);
    put_member(&r, "g_b", "ceil,range", 1);
    while (!r.m->in_try)
        assert_true(safe_read(r.m));
    safe_leave(r.m);
    assert_int_equal(r.m->rounds_failed, 1);
    end(&r);
}

/* A broker answers: the leader of partition 0. */
static void tell_leader(struct rig *r)
{
    struct group_leader leader = {"t", 0, 1, "h1", 9};
    struct group_input in = {.type = GROUP_IN_METADATA,
                             .metadata = {.seq = r->m->metadata_seq, .list = &leader, .count = 1}};
    safe_feed(r->m, &in);
}

/* Lost to somebody who deletes it, and claimed again. */
static void lose_and_claim(struct rig *r)
{
    safe_world_remove(r->w, SAFE_OWNERS "0");
    safe_world_run_ms(r->w, 300);
    assert_int_equal(owned(r->m), 1);
}

static void test_brokers_are_read_when_they_have_changed(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 1);
    fake_zk_put(r.w->zk, "/brokers/ids/1", "{\"host\":\"h1\",\"port\":9,\"version\":1}");
    join(&r, safe_world_config());
    safe_world_calm(r.w);
    assert_int_equal(r.m->broker_lists, 1);
    assert_int_equal(r.m->metadata_seq, 1);
    tell_leader(&r);
    lose_and_claim(&r);
    assert_int_equal(r.m->metadata_seq, 2);
    assert_int_equal(r.m->broker_lists, 1);
    tell_leader(&r);
    safe_world_put(r.w, "/brokers/ids/2", "{\"host\":\"h2\",\"port\":9,\"version\":1}");
    safe_world_run_ms(r.w, 300);
    assert_int_equal(r.m->broker_lists, 1); /* nobody looks for a leader */
    lose_and_claim(&r);
    assert_int_equal(r.m->metadata_seq, 3);
    assert_int_equal(r.m->broker_lists, 2);
    tell_leader(&r);
    safe_cut(r.m); /* the watch goes with the session */
    r.w->now_ms += SAFE_SESSION_MS;
    safe_world_end_sessions(r.w);
    safe_connect(r.m);
    safe_world_run_ms(r.w, 300);
    assert_int_equal(owned(r.m), 1);
    assert_int_equal(r.m->metadata_seq, 4);
    assert_int_equal(r.m->broker_lists, 3);
    end(&r);
}

static void test_events_during_a_round_join_one_more(void **state)
{
    (void)state;
    for (int coalesces = 0; coalesces < 2; coalesces++) {
        struct rig r;
        begin_world(&r, 4);
        struct zk_safe_config config = safe_world_config();
        config.coalesce = coalesces;
        join(&r, config);
        safe_world_calm(r.w);
        int before = r.m->rounds;
        put_member(&r, "g_a", "ceil,range", 1);
        while (!r.m->in_try)
            assert_true(safe_read(r.m));
        assert_true(safe_serve(r.m)); /* the list: from here on it is watched again */
        safe_world_put(r.w, "/brokers/topics/t", "{\"partitions\":{\"0\":[0],\"1\":[0]}}");
        put_member(&r, "g_b", "ceil,range", 1);
        safe_world_calm(r.w);
        assert_int_equal(r.m->rounds - before, coalesces ? 2 : 3);
        assert_int_equal(owned(r.m), 0); /* of two partitions the last of three has none */
        end(&r);
    }
}

static void test_without_auto_commit_only_the_application_commits(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 1);
    fake_zk_put(r.w->zk, SAFE_OFFSETS "0", "0");
    struct zk_safe_config config = safe_world_config();
    config.auto_commit = false;
    join(&r, config);
    safe_world_calm(r.w);
    r.w->log_end[0] = 5;
    assert_true(safe_take(r.m, 0) && safe_take(r.m, 0) && safe_take(r.m, 0));
    safe_finish(r.m, 0);
    safe_commit_one(r.m, 0, 2);
    safe_world_run_ms(r.w, 20000);
    safe_leave(r.m);
    safe_world_calm(r.w);
    assert_null(r.m->machine);
    assert_string_equal(fake_zk_text(r.w->zk, SAFE_OFFSETS "0"), "2");
    end(&r);
}

/* ---- eviction and leaving, section 7 ---- */

static void test_evicted_and_back(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 1);
    struct zk_safe_config config = safe_world_config();
    config.poll_limit_ms = 3000;
    join(&r, config);
    safe_world_calm(r.w);
    r.w->log_end[0] = 5;
    assert_true(safe_take(r.m, 0));
    safe_finish(r.m, 0);
    assert_true(safe_take(r.m, 0)); /* and the application hangs */
    r.m->is_polling = false;
    int64_t end_ms = r.m->polled_ms + config.poll_limit_ms; /* a deadline of its own */
    while (r.m->evictions == 0) {
        assert_true(r.w->now_ms < end_ms);
        assert_true(zk_safe_deadline_ms(r.m->machine) <= end_ms);
        safe_world_run_ms(r.w, 50); /* its grain */
    }
    assert_true(r.w->now_ms >= end_ms);
    safe_world_run_ms(r.w, 1000);
    assert_string_equal(zk_safe_state_name(r.m->machine), "evicted");
    assert_false(fake_zk_exists(r.w->zk, ID_M));
    assert_int_equal(safe_owner(r.w, 0), 0);
    assert_string_equal(fake_zk_text(r.w->zk, SAFE_OFFSETS "0"), "1");
    r.m->is_polling = true;
    safe_poll(r.m);
    safe_connect(r.m);
    safe_world_calm(r.w);
    assert_true(safe_gate_is_open(r.m, 0));
    assert_int_equal(r.m->held[0].next, 1);
    end(&r);
}

static void test_leaving_hands_over_then_closes(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, 1);
    safe_world_calm(r.w);
    r.w->log_end[0] = 5;
    assert_true(safe_take(r.m, 0));
    safe_leave(r.m);
    safe_world_calm(r.w);
    assert_non_null(r.m->machine); /* the application is at it still */
    assert_false(r.m->held[0].is_open);
    safe_finish(r.m, 0);
    safe_world_calm(r.w);
    assert_null(r.m->machine);
    assert_string_equal(fake_zk_text(r.w->zk, SAFE_OFFSETS "0"), "1");
    end(&r);
}

static void test_leaving_without_a_connection_ends_in_time(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, 1);
    safe_world_calm(r.w);
    safe_cut(r.m);
    safe_leave(r.m);
    assert_non_null(r.m->machine);
    r.w->now_ms += 20000; /* close_timeout_ms */
    safe_time(r.m);
    assert_null(r.m->machine);
    end(&r);
}

static void test_leaving_before_there_is_a_session(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 1);
    struct zk_safe_config config = safe_world_config();
    r.m = safe_world_join(r.w, "g_m", &config);
    safe_leave(r.m);
    assert_null(r.m->machine);
    end(&r);
}

/* ---- the observer of the process ---- */

static struct zk_view *view_of(struct rig *r, const char *const *ids, size_t count, int64_t pzxid)
{
    struct zk_view_registration *list[8];
    struct zk_view_content *content = NULL;
    static const int32_t partitions[] = {0, 1, 2, 3};
    const struct group_view_topic topic = {"t", partitions, 4};
    struct why why;
    for (size_t i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof path, SAFE_IDS "%s", ids[i]);
        const char *text = fake_zk_text(r->w->zk, path);
        assert_int_equal(zk_view_registration_read(ids[i], fake_zk_owner(r->w->zk, path),
                                                   bytes_of_text(text), true, &content, &list[i],
                                                   &why),
                         ZKC_OK);
    }
    struct zk_view *v = zk_view_new(list, count, &topic, 1, pzxid);
    assert_non_null(v);
    for (size_t i = 0; i < count; i++)
        zk_view_registration_unref(list[i]);
    zk_view_content_unref(content);
    return v;
}

static void show(struct rig *r, const char *const *ids, size_t count, int64_t pzxid)
{
    struct zk_view *v = view_of(r, ids, count, pzxid);
    struct group_input in = {.type = GROUP_IN_VIEW, .view = {v}};
    safe_feed(r->m, &in);
    zk_view_unref(v);
    safe_world_calm(r->w);
}

static void test_views_of_an_observer(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 4);
    put_member(&r, "g_a", "ceil,range", 1);
    put_member(&r, "g_z", "ceil,range", 1);
    struct zk_safe_config config = safe_world_config();
    config.observer_process = true;
    join(&r, config);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "getChildren w"), 0); /* it reads nothing itself */
    show(&r, (const char *const[]){"g_m", "g_z"}, 2, 50);
    assert_int_equal(owned(r.m), 2);
    show(&r, (const char *const[]){"g_m"}, 1, 49); /* older: dropped */
    assert_int_equal(owned(r.m), 2);
    safe_forget_asked(r.m);
    show(&r, (const char *const[]){"g_a", "g_z"}, 2, 51); /* lacks us: looked at, not acted on */
    assert_int_equal(owned(r.m), 2);
    assert_int_equal(safe_asked_like(r.m, "exists w ids/g_m"), 1);
    show(&r, (const char *const[]){"g_m"}, 1, 52);
    assert_int_equal(owned(r.m), 4);
    struct group_input lost = {.type = GROUP_IN_VIEW};
    safe_feed(r.m, &lost);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "getChildren w ids"),
                     1); /* its own watches from now on */
    put_member(&r, "g_b", "ceil,range", 1);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "getChildren w ids"), 2);
    end(&r);
}

/* The names that it has read are those of the time before we came back under our id, the
 * registration behind one of them is the new one: that group never was. */
static void test_an_observer_that_mixes_times(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 4);
    put_member(&r, "g_a", "ceil,range", 1);
    put_member(&r, "g_z", "ceil,range", 1);
    struct zk_safe_config config = safe_world_config();
    config.observer_process = true;
    join(&r, config);
    safe_world_calm(r.w);
    show(&r, (const char *const[]){"g_m", "g_z"}, 2, 1);
    assert_int_equal(owned(r.m), 0);
    show(&r, (const char *const[]){"g_m", "g_z"}, 2, 50);
    assert_int_equal(owned(r.m), 2);
    end(&r);
}

/* What changed while the observer was there again has been told to the member alone, by a watch of
 * its own from before: it is read again when the observer is lost once more. */
static void test_an_observer_that_is_lost_twice(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 4);
    struct zk_safe_config config = safe_world_config();
    config.observer_process = true;
    join(&r, config);
    safe_world_calm(r.w);
    struct group_input lost = {.type = GROUP_IN_VIEW};
    safe_feed(r.m, &lost);
    safe_world_calm(r.w);
    assert_int_equal(owned(r.m), 4);
    show(&r, (const char *const[]){"g_m"}, 1, INT64_MAX / 2);
    safe_world_put(r.w, "/brokers/topics/t",
                   "{\"version\":1,\"partitions\":{\"0\":[0],\"1\":[0]}}");
    safe_world_calm(r.w);
    assert_int_equal(owned(r.m), 4); /* by the observer's view, which knows nothing of it */
    safe_forget_asked(r.m);
    safe_feed(r.m, &lost);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "getData w /brokers/topics/t"), 1);
    end(&r);
}

/* The observer may see our registration before we are told of it; it shows that group once. */
static void test_an_observer_that_is_first(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 4);
    put_member(&r, "g_z", "ceil,range", 1);
    struct zk_safe_config config = safe_world_config();
    config.observer_process = true;
    join(&r, config);
    while (!fake_zk_text(r.w->zk, SAFE_IDS "g_m")) /* it stands, and the answer is on its way */
        if (!safe_serve(r.m))
            assert_true(safe_read(r.m));
    show(&r, (const char *const[]){"g_m", "g_z"}, 2, 50);
    assert_int_equal(owned(r.m), 2);
    end(&r);
}

/* ---- switches ---- */

static void test_without_watches_of_owners_it_is_tried(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 1);
    fake_zk_put_ephemeral(r.w->zk, SAFE_OWNERS "0", "java-0", r.other);
    struct zk_safe_config config = safe_world_config();
    config.watch_owners = false;
    join(&r, config);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, " w owners"), 0);
    safe_world_remove(r.w, SAFE_OWNERS "0");
    safe_world_calm(r.w);
    assert_false(r.m->held[0].is_open); /* nobody has told it */
    safe_world_run_ms(r.w, 1500);
    assert_true(safe_gate_is_open(r.m, 0));
    end(&r);
}

static void test_blind_release_and_commit(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 1);
    fake_zk_put(r.w->zk, SAFE_OFFSETS "0", "0");
    struct zk_safe_config config = safe_world_config();
    config.release_session = config.commit_session = false;
    join(&r, config);
    safe_world_calm(r.w);
    safe_commit_one(r.m, 0, 1);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "setData offsets/t/0 = 1 v-1"), 1);
    safe_forget_asked(r.m);
    safe_leave(r.m);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "multi delete owners/t/0 v-1"), 1);
    end(&r);
}

static void test_claims_one_by_one(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 3);
    struct zk_safe_config config = safe_world_config();
    config.claim_multi = false;
    join(&r, config);
    safe_world_calm(r.w);
    assert_int_equal(safe_asked_like(r.m, "multi create owners"), 3);
    assert_int_equal(owned(r.m), 3);
    end(&r);
}

/* ---- sizes ---- */

static void test_many_partitions_in_bounded_steps(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, SAFE_PARTITIONS_MAX);
    safe_world_calm(r.w);
    assert_int_equal(owned(r.m), SAFE_PARTITIONS_MAX);
    assert_int_equal(safe_asked_like(r.m, "multi create owners"), (SAFE_PARTITIONS_MAX + 99) / 100);
    for (int p = 0; p < SAFE_PARTITIONS_MAX; p++)
        r.w->log_end[p] = 1;
    safe_world_run_ms(r.w, 6000);
    safe_cut(r.m);
    r.w->now_ms += SAFE_SESSION_MS;
    safe_world_end_sessions(r.w);
    safe_connect(r.m); /* all of them are lost, and claimed again */
    safe_world_calm(r.w);
    assert_int_equal(owned(r.m), SAFE_PARTITIONS_MAX);
    safe_forget_asked(r.m);
    safe_leave(r.m);
    safe_world_calm(r.w);
    assert_null(r.m->machine);
    assert_true(r.m->outputs_max <= GROUP_OUTPUTS_MAX);
    end(&r);
}

static void test_conflicts_cost_one_look_at_what_is_taken(void **state)
{
    (void)state;
    struct rig r;
    begin_world(&r, 100);
    for (int p = 0; p < 60; p++) {
        char path[64];
        snprintf(path, sizeof path, SAFE_OWNERS "%d", p);
        fake_zk_put_ephemeral(r.w->zk, path, "java-0", r.other);
    }
    join(&r, safe_world_config());
    safe_world_calm(r.w);
    assert_int_equal(owned(r.m), 40);
    assert_int_equal(r.m->waits, 60);
    assert_int_equal(safe_asked_like(r.m, "multi create owners"), 1);
    assert_int_equal(safe_asked_like(r.m, "getChildren owners/t"), 1);
    end(&r);
}

static void test_one_conflict_of_many(void **state)
{
    (void)
        state; /* taken after the look: the named one is dropped, the rest is sent again at once */
    struct rig r;
    begin(&r, 5);
    while (!safe_asked_like(r.m, "multi create owners"))
        assert_true(safe_serve(r.m) || safe_read(r.m));
    fake_zk_put_ephemeral(r.w->zk, SAFE_OWNERS "2", "java-0", r.other);
    safe_world_calm(r.w);
    assert_int_equal(owned(r.m), 4);
    assert_int_equal(safe_asked_like(r.m, "multi create owners"), 2);
    assert_string_equal(r.m->waiting_for, "java-0");
    end(&r);
}

/* g_m owns 0 to 3 and g_z 4 to 7 when g_a comes: then 3 to 5 are g_m's. Until what g_m gives is
 * stopped. */
static void begin_shift(struct rig *r, bool is_busy)
{
    begin_world(r, 8);
    put_member(r, "g_z", "ceil,range", 1);
    for (int p = 4; p < 8; p++) {
        char path[64];
        snprintf(path, sizeof path, SAFE_OWNERS "%d", p);
        fake_zk_put_ephemeral(r->w->zk, path, "g_z-0", r->other);
    }
    join(r, safe_world_config());
    safe_world_calm(r->w);
    assert_int_equal(owned(r->m), 4);
    for (int p = 0; p < 3 && is_busy; p++) {
        r->w->log_end[p] = 1;
        assert_true(safe_take(r->m, p));
    }
    safe_forget_asked(r->m);
    put_member(r, "g_a", "ceil,range", 1);
    while (r->m->held[2].is_open)
        assert_true(safe_serve(r->m) || safe_read(r->m));
}

static void test_claims_of_a_round_wait_for_our_releases(void **state)
{
    (void)state; /* in that time the others release, too: no claim fails, nothing is looked at */
    struct rig r;
    begin_shift(&r, false);
    assert_int_equal(safe_asked_like(r.m, "delete owners/t/"), 3);
    safe_time(r.m);
    assert_int_equal(safe_asked_like(r.m, "getChildren owners/t"), 0);
    safe_world_remove(r.w, SAFE_OWNERS "4");
    safe_world_remove(r.w, SAFE_OWNERS "5");
    safe_world_calm(r.w);
    assert_int_equal(owned(r.m), 3);
    assert_int_equal(safe_asked_like(r.m, "getChildren owners/t"), 1);
    assert_int_equal(safe_asked_like(r.m, "multi create owners"), 1);
    assert_int_equal(safe_asked_like(r.m, "getData w owners/t"), 0);
    end(&r);
}

static void test_claims_do_not_wait_for_the_application(void **state)
{
    (void)state;
    struct rig r;
    begin_shift(&r, true);
    assert_int_equal(safe_asked_like(r.m, "delete owners/t/"), 0);
    safe_time(r.m);
    assert_int_equal(safe_asked_like(r.m, "getChildren owners/t"), 1);
    safe_world_calm(r.w);
    assert_int_equal(r.m->waits, 2);
    assert_int_equal(safe_asked_like(r.m, "multi create owners"), 0); /* both are taken */
    safe_finish(r.m, 0);
    assert_int_equal(safe_asked_like(r.m, "delete owners/t/0"), 1);
    safe_world_remove(r.w, SAFE_OWNERS "4"); /* its event does not wait for that release either */
    while (safe_read(r.m))
        ;
    assert_int_equal(safe_asked_like(r.m, "create owners/t/4"), 1);
    safe_finish(r.m, 1);
    safe_finish(r.m, 2);
    safe_world_remove(r.w, SAFE_OWNERS "5");
    safe_world_calm(r.w);
    assert_int_equal(owned(r.m), 3);
    end(&r);
}

/* A release whose answer is lost holds nothing back, nor does one of a session that has ended. */
static void test_lost_releases_hold_nothing_back(void **state)
{
    (void)state;
    for (int ends = 0; ends < 2; ends++) {
        struct rig r;
        begin_shift(&r, false);
        safe_world_remove(r.w, SAFE_OWNERS "4");
        safe_world_remove(r.w, SAFE_OWNERS "5");
        safe_cut(r.m);
        if (ends) {
            r.w->now_ms += SAFE_SESSION_MS;
            safe_world_end_sessions(r.w);
        }
        safe_connect(r.m);
        safe_world_calm(r.w);
        assert_int_equal(owned(r.m), 3);
        end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_registration_is_looked_at),
        cmocka_unit_test(test_id_of_another_session_is_waited_for),
        cmocka_unit_test(test_deleted_registration_is_made_again_and_nothing_moves),
        cmocka_unit_test(test_refused_registration_is_told_once),
        cmocka_unit_test(test_namesake_in_our_place),
        cmocka_unit_test(test_probes_keep_the_gate_open),
        cmocka_unit_test(test_stalled_link_ends_delivery_before_the_session),
        cmocka_unit_test(test_wakes_from_suspend_with_a_closed_gate),
        cmocka_unit_test(test_fences),
        cmocka_unit_test(test_only_those_that_came_are_read),
        cmocka_unit_test(test_who_left_and_came_back_is_read_again),
        cmocka_unit_test(test_view_that_never_was_is_not_acted_on),
        cmocka_unit_test(test_odd_registration_is_told_and_mended),
        cmocka_unit_test(test_lost_view_is_read_again),
        cmocka_unit_test(test_what_does_not_move_flows_on),
        cmocka_unit_test(test_another_thread_of_ours_claims_anew),
        cmocka_unit_test(test_strategies),
        cmocka_unit_test(test_a_group_is_switched_to_rendezvous),
        cmocka_unit_test(test_rounds_are_told),
        cmocka_unit_test(test_brokers_are_read_when_they_have_changed),
        cmocka_unit_test(test_events_during_a_round_join_one_more),
        cmocka_unit_test(test_without_auto_commit_only_the_application_commits),
        cmocka_unit_test(test_evicted_and_back),
        cmocka_unit_test(test_leaving_hands_over_then_closes),
        cmocka_unit_test(test_leaving_without_a_connection_ends_in_time),
        cmocka_unit_test(test_leaving_before_there_is_a_session),
        cmocka_unit_test(test_views_of_an_observer),
        cmocka_unit_test(test_an_observer_that_mixes_times),
        cmocka_unit_test(test_an_observer_that_is_lost_twice),
        cmocka_unit_test(test_an_observer_that_is_first),
        cmocka_unit_test(test_without_watches_of_owners_it_is_tried),
        cmocka_unit_test(test_blind_release_and_commit),
        cmocka_unit_test(test_claims_one_by_one),
        cmocka_unit_test(test_many_partitions_in_bounded_steps),
        cmocka_unit_test(test_conflicts_cost_one_look_at_what_is_taken),
        cmocka_unit_test(test_one_conflict_of_many),
        cmocka_unit_test(test_claims_of_a_round_wait_for_our_releases),
        cmocka_unit_test(test_claims_do_not_wait_for_the_application),
        cmocka_unit_test(test_lost_releases_hold_nothing_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
