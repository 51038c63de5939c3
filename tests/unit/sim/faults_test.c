/* What each kind of fault does, in a small world: two members, one topic of four partitions, three
 * servers, three brokers. A kind without a story here fails the last test. */
#include "study/sim/world.h"
#include "tests/unit/test.h"
#include <stdio.h>

struct heard {
    char log[8000]; /* of what is listened to */
    const char *who;
    uint64_t commits, moved; /* transactions; deliveries of `who` */
    uint64_t last_event_ns;  /* notification to `who` */
    uint64_t late_ns;        /* the longest a notification was on its way to `who` */
    bool has_fault, has_heal;
    char store_at[16]; /* the broker that has stored an offset last, and how long it took */
    uint64_t store_ns;
    bool is_given_up; /* nobody waited for that */
};

static struct heard heard;
static unsigned told_kinds; /* bits of enum sim_fault_kind */

static void hear(const struct trace_event *e, void *user)
{
    struct heard *h = user;
    bool is_who = e->m && strcmp(e->m, h->who) == 0;
    size_t n = strlen(h->log);
    if (e->type == TRACE_FAULT)
        h->has_fault = true;
    if (e->type == TRACE_HEAL)
        h->has_heal = true;
    if (e->type == TRACE_STORE) {
        snprintf(h->store_at, sizeof h->store_at, "%s", e->src);
        h->store_ns = e->t_ns - e->store.sent_ns;
        h->is_given_up = !e->store.is_awaited;
    }
    if (e->type == TRACE_ZK_TXN)
        h->commits++;
    if (!is_who)
        return;
    if (e->type == TRACE_DELIVER)
        h->moved += (uint64_t)(e->deliver.last - e->deliver.first + 1);
    else if (e->type == TRACE_ZK_WATCH && e->t_ns - e->zk_watch.sent_ns > h->late_ns)
        h->late_ns = e->t_ns - e->zk_watch.sent_ns;
    else if (e->type == TRACE_ZK_STATE || e->type == TRACE_ZK_SESSION)
        snprintf(h->log + n, sizeof h->log - n, "%s ",
                 e->type == TRACE_ZK_STATE ? e->zk_state.state : e->zk_session.what);
    else if (e->type == TRACE_SUSPEND || e->type == TRACE_RESUME || e->type == TRACE_M_EXIT ||
             e->type == TRACE_M_START)
        snprintf(h->log + n, sizeof h->log - n, "%s ",
                 e->type == TRACE_SUSPEND  ? "suspend"
                 : e->type == TRACE_RESUME ? "resume"
                 : e->type == TRACE_M_EXIT ? "exit"
                                           : "start");
}

static bool is_in_kafka; /* members are in safe mode, their offsets in Kafka */
static bool is_safe;     /* in safe mode, their offsets in ZooKeeper */
static bool is_observed; /* likewise, and m1 and m2 see by o1, whose watch of the topic is o1.1's */

/* Settled at 20 s. What was heard before is forgotten. */
static struct sim *settled(const char *who)
{
    static const struct sim_topic topic = {"t", 4, 10000, 0};
    static struct trace_sink sink = {2, hear, &heard};
    struct sim_member_plan members[3] = {{.start_ns = SIM_S}, {.start_ns = SIM_S}, {0}};
    struct sim_config c;
    struct sim *sim;
    char why[200];
    sim_config_init(&c);
    for (int i = 0; i < 3; i++) {
        sim_member_config_init(&members[i].config);
        members[i].config.is_safe = is_in_kafka || is_safe || is_observed;
        members[i].process = is_observed;
        members[i].config.observer_packet_bytes = is_observed ? 296 : 0;
        members[i].config.observer_sessions_max = 1;
        members[i].config.safe.offsets_in = is_in_kafka ? COMMIT_TO_KAFKA : COMMIT_TO_ZOOKEEPER;
        members[i].config.auto_commit_interval_ms = members[i].config.is_safe ? 1000 : 60000;
    }
    members[2].start_ns = SIM_NEVER;
    c.topics = &topic;
    c.topic_count = 1;
    c.members = members;
    c.member_count = 3;
    c.shuffle_ties = is_observed;
    c.sinks = &sink;
    c.sink_count = 1;
    heard = (struct heard){.who = who};
    if (sim_new(&c, &sim, why, sizeof why))
        fail_msg("%s", why);
    assert_true(sim_run_until_true(sim, sim_is_stable, NULL, 20 * SIM_S));
    sim_run_until(sim, 20 * SIM_S);
    heard = (struct heard){.who = who};
    return sim;
}

static void act(struct sim *sim, const struct sim_fault *f)
{
    if (!sim_do(sim, f))
        fail_msg("%s does nothing", sim_fault_kind_name(f->kind));
    assert_true(heard.has_fault);
    told_kinds |= 1u << f->kind;
}

static void expect_stable(struct sim *sim)
{
    if (!sim_run_until_true(sim, sim_is_stable, NULL, sim_now(sim) + 60 * SIM_S))
        fail_msg("%s", sim_why(sim));
}

static size_t owned(struct sim *sim, const char *m)
{
    int32_t p[100];
    return sim_member_owned(sim, m, "t", p, 100);
}

static uint64_t moved_in(struct sim *sim, uint64_t ns)
{
    uint64_t before = heard.moved;
    sim_run_until(sim, sim_now(sim) + ns);
    return heard.moved - before;
}

static void test_join(void **state)
{
    (void)state;
    struct sim *sim = settled("m3");
    struct sim_fault f = {.kind = SIM_JOIN, .who = "m3"};
    assert_string_equal(sim_member_state(sim, "m3"), "down");
    act(sim, &f);
    assert_false(sim_do(sim, &f)); /* it runs already */
    expect_stable(sim);
    assert_int_equal(sim_registered(sim), 3);
    assert_int_equal(owned(sim, "m1") + owned(sim, "m2") + owned(sim, "m3"), 4);
    sim_free(sim);
}

static void test_leave(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    act(sim, &(struct sim_fault){.kind = SIM_LEAVE, .who = "m1"});
    expect_stable(sim);
    assert_string_equal(heard.log, "close exit ");
    assert_string_equal(sim_member_state(sim, "m1"), "down");
    assert_int_equal(sim_registered(sim), 1);
    assert_int_equal(owned(sim, "m2"), 4);
    sim_free(sim);
}

/* Its node stays until the session ends; for_ns later it is another process. */
static void test_crash_of_a_member(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    act(sim, &(struct sim_fault){.kind = SIM_CRASH, .who = "m1", .for_ns = 20 * SIM_S});
    sim_run_until(sim, 21 * SIM_S);
    assert_string_equal(heard.log, "exit ");
    assert_int_equal(sim_registered(sim), 2);
    sim_run_until(sim, 35 * SIM_S);
    assert_int_equal(sim_registered(sim), 1);
    assert_int_equal(owned(sim, "m2"), 4);
    sim_run_until(sim, 60 * SIM_S);
    assert_true(heard.has_heal);
    assert_non_null(strstr(heard.log, "exit expire start "));
    assert_int_equal(sim_registered(sim), 2);
    sim_free(sim);
}

static void test_crash_of_the_leader(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    struct zk_server *was = zk_ensemble_leader(&sim->zk);
    act(sim, &(struct sim_fault){.kind = SIM_CRASH, .who = "zk:leader", .for_ns = 10 * SIM_S});
    assert_int_equal(was->role, ZK_DOWN);
    sim_run_until(sim, 25 * SIM_S);
    assert_true(zk_ensemble_leader(&sim->zk) && zk_ensemble_leader(&sim->zk) != was);
    sim_run_until(sim, 35 * SIM_S);
    assert_int_equal(was->role, ZK_FOLLOWING);
    assert_int_equal(sim_registered(sim), 2); /* sessions have outlived it */
    sim_free(sim);
}

static void test_crash_of_a_broker(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    act(sim, &(struct sim_fault){.kind = SIM_CRASH, .who = "b*", .for_ns = 10 * SIM_S});
    sim_run_until(sim, 21 * SIM_S);
    assert_int_equal(moved_in(sim, 5 * SIM_S), 0);
    sim_run_until(sim, 40 * SIM_S);
    assert_true(moved_in(sim, 5 * SIM_S) > 50);
    sim_free(sim);
}

static void test_suspend(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    act(sim, &(struct sim_fault){.kind = SIM_SUSPEND, .who = "m1", .for_ns = 3 * SIM_S});
    assert_string_equal(sim_member_state(sim, "m1"), "suspended");
    assert_int_equal(moved_in(sim, 2900 * SIM_MS), 0);
    assert_true(moved_in(sim, SIM_S) > 20); /* what has piled up */
    assert_string_equal(heard.log, "suspend resume ");
    sim_free(sim);
    /* longer than its session: it learns on resuming */
    sim = settled("m1");
    act(sim, &(struct sim_fault){.kind = SIM_SUSPEND, .who = "m1", .for_ns = 12 * SIM_S});
    sim_run_until(sim, 31 * SIM_S);
    assert_int_equal(sim_registered(sim), 1);
    sim_run_until(sim, 33 * SIM_S);
    assert_non_null(strstr(heard.log, "suspend expire resume disconnected"));
    sim_free(sim);
}

static void test_expire(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    act(sim, &(struct sim_fault){.kind = SIM_EXPIRE, .who = "m1"});
    sim_run_until(sim, 25 * SIM_S);
    assert_string_equal(heard.log, "expire disconnected expired open connected ");
    expect_stable(sim);
    sim_free(sim);
}

/* While it is cut from ZooKeeper it goes on delivering; its session ends behind its back. */
static void test_cut(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    act(sim,
        &(struct sim_fault){.kind = SIM_CUT, .who = "m1", .peer = "zk*", .for_ns = 20 * SIM_S});
    sim_run_until(sim, 30 * SIM_S);
    assert_string_equal(heard.log, "disconnected expire ");
    assert_int_equal(sim_registered(sim), 1);
    assert_int_equal(owned(sim, "m2"), 4);
    assert_true(moved_in(sim, 5 * SIM_S) > 50);
    expect_stable(sim);
    assert_true(heard.has_heal);
    assert_int_equal(sim_registered(sim), 2);
    sim_free(sim);
}

/* Out: ZooKeeper hears nothing of it. In: it hears nothing, and its first request still arrives. */
static void test_cut_one_way(void **state)
{
    (void)state;
    static const enum sim_dir dirs[] = {SIM_OUT, SIM_IN};
    for (int i = 0; i < 2; i++) {
        struct sim *sim = settled("m1");
        act(sim,
            &(struct sim_fault){.kind = SIM_CUT, .who = "m1", .dir = dirs[i], .for_ns = SIM_S});
        const struct node *m = &sim->members[0].node, *zk = &sim->zk.servers[0].node;
        assert_int_equal(net_is_cut(&sim->net, m, zk), dirs[i] == SIM_OUT);
        assert_int_equal(net_is_cut(&sim->net, zk, m), dirs[i] == SIM_IN);
        sim_run_until(sim, 22 * SIM_S);
        assert_false(net_is_cut(&sim->net, m, zk) || net_is_cut(&sim->net, zk, m));
        assert_string_equal(heard.log, ""); /* too short for anybody to notice */
        sim_free(sim);
    }
}

static void test_reset(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    act(sim, &(struct sim_fault){.kind = SIM_RESET, .who = "m1"});
    sim_run_until(sim, 25 * SIM_S);
    assert_string_equal(heard.log, "disconnected connected ");
    expect_stable(sim);
    sim_free(sim);
}

static uint64_t rtt_ns(struct sim *sim)
{
    struct member *m = &sim->members[0];
    return m->zk.heard_ns > m->zk.sent_ns ? m->zk.heard_ns - m->zk.sent_ns : 0;
}

static void test_delay(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    act(sim, &(struct sim_fault){
                 .kind = SIM_DELAY, .who = "m1", .value_ns = 100 * SIM_MS, .for_ns = 9 * SIM_S});
    sim_run_until(sim, 28 * SIM_S); /* a ping is out each two seconds */
    assert_true(rtt_ns(sim) > 200 * SIM_MS && rtt_ns(sim) < 202 * SIM_MS);
    sim_run_until(sim, 38 * SIM_S);
    assert_true(rtt_ns(sim) < 2 * SIM_MS);
    sim_free(sim);
}

static void test_delay_watch(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    act(sim,
        &(struct sim_fault){
            .kind = SIM_DELAY_WATCH, .who = "m1", .value_ns = 700 * SIM_MS, .for_ns = 5 * SIM_S});
    act(sim, &(struct sim_fault){.kind = SIM_JOIN, .who = "m3"});
    sim_run_until(sim, 24 * SIM_S);
    assert_true(heard.late_ns > 700 * SIM_MS && heard.late_ns < 702 * SIM_MS);
    sim_free(sim);
}

/* The operation was carried out, its answer and the connection are lost; once. */
static void test_lose_reply(void **state)
{
    (void)state;
    struct sim *sim = settled("m3");
    act(sim, &(struct sim_fault){.kind = SIM_LOSE_REPLY, .who = "m3", .point = SIM_POINT_REGISTER});
    act(sim, &(struct sim_fault){.kind = SIM_JOIN, .who = "m3"});
    sim_run_until_true(sim, sim_is_stable, NULL, 20 * SIM_S + SIM_MS);
    sim_run_until(sim, 24 * SIM_S);
    assert_non_null(strstr(heard.log, "start open connected disconnected connected "));
    assert_int_equal(sim_registered(sim), 3);
    assert_null(sim->losers); /* spent */
    assert_null(strstr(strstr(heard.log, "disconnected") + 1, "disconnected"));
    sim_free(sim);
}

/* A server that lags answers from what it has applied. */
static void test_lag(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    struct zk_server *s = &sim->zk.servers[0];
    act(sim,
        &(struct sim_fault){.kind = SIM_LAG, .who = "zk1", .value_ns = SIM_S, .for_ns = 5 * SIM_S});
    act(sim, &(struct sim_fault){.kind = SIM_JOIN, .who = "m3"});
    sim_run_until(sim, 20500 * SIM_MS);
    assert_true(s->tree.zxid < sim->zk.truth.zxid);
    assert_int_equal(sim->zk.servers[1].tree.zxid, sim->zk.truth.zxid);
    sim_run_until(sim, 30 * SIM_S);
    assert_int_equal(s->tree.zxid, sim->zk.truth.zxid);
    sim_free(sim);
}

/* Disks of all servers stall: each write takes so much longer. */
static void test_stall(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    act(sim, &(struct sim_fault){
                 .kind = SIM_STALL, .who = "zk*", .value_ns = 400 * SIM_MS, .for_ns = 5 * SIM_S});
    uint64_t before = heard.commits;
    act(sim, &(struct sim_fault){.kind = SIM_JOIN, .who = "m3"}); /* opens a session: one write */
    sim_run_until(sim, 20390 * SIM_MS);
    assert_int_equal(heard.commits, before);
    sim_run_until(sim, 20800 * SIM_MS);
    assert_true(heard.commits > before);
    sim_free(sim);
}

static void test_slow_stop(void **state)
{
    (void)state;
    for (int is_slow = 0; is_slow < 2; is_slow++) {
        struct sim *sim = settled("m2");
        if (is_slow)
            act(sim, &(struct sim_fault){.kind = SIM_SLOW_STOP,
                                         .who = "m2",
                                         .value_ns = 3 * SIM_S,
                                         .for_ns = 10 * SIM_S});
        act(sim, &(struct sim_fault){.kind = SIM_JOIN, .who = "m3"});
        sim_run_until(sim, 22500 * SIM_MS);
        /* its release waits for its handler */
        uint64_t owner = 0;
        bool is_there = sim_node(sim, "/consumers/g/owners/t/3", NULL, &owner);
        assert_int_equal(is_there && owner == sim->members[1].zk.session, is_slow);
        sim_free(sim);
    }
}

static void test_slow_app(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    uint64_t before = moved_in(sim, 5 * SIM_S); /* 2 partitions, 10 a second each */
    act(sim, &(struct sim_fault){
                 .kind = SIM_SLOW_APP, .who = "m1", .value_ns = 500 * SIM_MS, .for_ns = 5 * SIM_S});
    uint64_t slow = moved_in(sim, 5 * SIM_S), after = moved_in(sim, 5 * SIM_S);
    assert_in_range(before, 90, 110);
    assert_in_range(slow, 9, 12);
    assert_in_range(after, 170, 210); /* it catches up */
    sim_free(sim);
}

static void test_partitions(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    struct sim_fault f = {.kind = SIM_PARTITIONS, .topic = "t", .count = 7};
    act(sim, &f);
    assert_false(sim_do(sim, &f)); /* it has them */
    expect_stable(sim);
    assert_int_equal(owned(sim, "m1") + owned(sim, "m2"), 7);
    sim_free(sim);
}

static void test_topic(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    struct sim_fault f = {.kind = SIM_TOPIC, .topic = "new", .count = 3, .value_ns = 1000};
    act(sim, &f);
    assert_false(sim_do(sim, &f));
    sim_run_until(sim, 21 * SIM_S);
    assert_true(sim_node(sim, "/brokers/topics/new", NULL, NULL));
    sim_free(sim);
}

static int64_t stored_offset(struct sim *sim)
{
    struct bytes data;
    char text[32] = "";
    assert_true(sim_node(sim, "/consumers/g/offsets/t/0", &data, NULL));
    assert_in_range(data.len, 1, sizeof text - 1);
    memcpy(text, data.data, data.len);
    return strtoll(text, NULL, 10);
}

/* A topic goes, and all let go of it; made again it begins at 0, and whoever finds that its offset
 * does not exist goes back. */
static void test_topic_gone(void **state)
{
    struct sim_fault f = {.kind = SIM_TOPIC_GONE, .topic = "t"};
    struct sim_fault again = {.kind = SIM_TOPIC, .topic = "t", .count = 2};
    (void)state;
    is_safe = true;
    struct sim *sim = settled("m1");
    is_safe = false;
    act(sim, &f);
    assert_false(sim_do(sim, &f)); /* it is gone */
    sim_run_until(sim, 22 * SIM_S);
    assert_false(sim_node(sim, "/brokers/topics/t", NULL, NULL));
    assert_int_equal(owned(sim, "m1") + owned(sim, "m2"), 0);
    expect_stable(sim);
    int64_t before = stored_offset(sim);
    assert_in_range(before, 150, 230); /* 10 a second */
    act(sim, &again);
    assert_false(sim_do(sim, &again));
    sim_run_until(sim, 32 * SIM_S);
    expect_stable(sim);
    assert_int_equal(owned(sim, "m1") + owned(sim, "m2"), 2);
    assert_in_range(stored_offset(sim), 70, 110);
    sim_free(sim);
}

static void test_seek(void **state)
{
    (void)state;
    is_safe = true;
    struct sim *sim = settled("m1");
    is_safe = false;
    assert_in_range(moved_in(sim, SIM_S), 15, 25);
    act(sim, &(struct sim_fault){.kind = SIM_SEEK, .who = "m1", .count = 0, .value_ns = 50});
    assert_in_range(moved_in(sim, SIM_S), 140, 190);
    sim_free(sim);
    sim = settled("m1"); /* compat: nobody can */
    assert_false(sim_do(sim, &(struct sim_fault){.kind = SIM_SEEK, .who = "m1"}));
    sim_free(sim);
}

/* The owner obeys. */
static void test_reset_offset(void **state)
{
    struct sim_fault f = {.kind = SIM_RESET_OFFSET, .topic = "t", .count = 0, .value_ns = 50};
    (void)state;
    is_safe = true;
    struct sim *sim = settled("m1");
    is_safe = false;
    const char *owner = sim->members[0].held[0].partition == 0 ? "m1" : "m2";
    heard.who = owner;
    act(sim, &f);
    assert_in_range(moved_in(sim, 4 * SIM_S), 200, 280); /* 140 are delivered again */
    f.count = 9;
    assert_false(sim_do(sim, &f)); /* there is none */
    sim_free(sim);
}

/* A partition's new leader is asked; nothing is lost on the way. */
static void test_leader(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    for (int32_t p = 0; p < 4; p++)
        act(sim, &(struct sim_fault){.kind = SIM_LEADER, .topic = "t", .count = p, .peer = "b0"});
    sim_run_until(sim, 22 * SIM_S);
    assert_in_range(moved_in(sim, 5 * SIM_S), 90, 130);
    for (size_t i = 0; i < sim->members[0].held_count; i++)
        assert_int_equal(sim->members[0].held[i].broker, 0);
    sim_free(sim);
}

/* A member of 0.8.2 does not learn that its registration is gone: it owns on, and the others do not
 * count it. */
static void test_unregister(void **state)
{
    (void)state;
    struct sim *sim = settled("m1");
    size_t before = sim_registered(sim);
    act(sim, &(struct sim_fault){.kind = SIM_UNREGISTER, .who = "m1"});
    sim_run_until(sim, sim_now(sim) + SIM_S);
    assert_int_equal(sim_registered(sim), before - 1);
    assert_false(sim_do(sim, &(struct sim_fault){.kind = SIM_UNREGISTER, .who = "m1"}));
    sim_free(sim);
}

/* Whoever keeps the offsets, and wherever they were stored before: they are there. */
static void test_manager(void **state)
{
    (void)state;
    is_in_kafka = true;
    struct sim *sim = settled("m1");
    is_in_kafka = false;
    for (int i = 0; i < 3; i++) {
        char name[] = {'b', (char)('0' + i), 0};
        struct sim_fault f = {.kind = SIM_MANAGER, .who = name};
        if (sim->manager != i)
            act(sim, &f);
        assert_false(sim_do(sim, &f)); /* it is */
        sim_run_until(sim, sim_now(sim) + 10 * SIM_S);
        assert_string_equal(heard.store_at, name);
    }
    assert_in_range(sim->topics[0].logs[0].stored, 400, 500);
    assert_true(sim_do(sim, &(struct sim_fault){.kind = SIM_CRASH, .who = "b2"}));
    sim_run_until(sim, sim_now(sim) + 10 * SIM_S);
    assert_string_not_equal(heard.store_at, "b2");
    sim_heal(sim);
    expect_stable(sim);
    sim_free(sim);
}

/* It waits for the disk; from 5 s on it says that it was not in time, and stores it then. */
static void test_slow_store(void **state)
{
    static const uint64_t times_ns[] = {2 * SIM_S, 7 * SIM_S};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(times_ns); i++) {
        is_in_kafka = true;
        struct sim *sim = settled("m1");
        is_in_kafka = false;
        char name[] = {'b', (char)('0' + sim->manager), 0};
        act(sim, &(struct sim_fault){.kind = SIM_SLOW_STORE,
                                     .who = name,
                                     .value_ns = times_ns[i],
                                     .for_ns = 20 * SIM_S});
        sim_run_until(sim, 35 * SIM_S);
        assert_in_range(heard.store_ns, times_ns[i], times_ns[i] + SIM_S);
        assert_int_equal(heard.is_given_up, i);
        sim_run_until(sim, 55 * SIM_S);
        assert_true(heard.has_heal);
        assert_in_range(heard.store_ns, 0, SIM_S);
        expect_stable(sim);
        sim_free(sim);
    }
}

static void grow(struct sim *sim, int32_t partitions)
{
    act(sim, &(struct sim_fault){.kind = SIM_PARTITIONS, .topic = "t", .count = partitions});
}

static size_t owned_by_both(struct sim *sim)
{
    return owned(sim, "m1") + owned(sim, "m2");
}

/* A further session of an observer ends, is cut off, cannot be had for a while: each time the topic
 * is looked at again, and its watch is left where there is room. */
static void test_further_session(void **state)
{
    (void)state;
    is_observed = true;
    struct sim *sim = settled("o1.1");
    is_observed = false;
    act(sim, &(struct sim_fault){.kind = SIM_EXPIRE, .who = "o1.1"});
    sim_run_until(sim, 21 * SIM_S);
    assert_string_equal(heard.log, "disconnected expired disconnected open connected ");
    heard.log[0] = 0;
    grow(sim, 6);
    sim_run_until(sim, 22 * SIM_S);
    assert_true(heard.late_ns > 0); /* it has told of it */
    assert_int_equal(owned_by_both(sim), 6);
    act(sim, &(struct sim_fault){.kind = SIM_CUT, .who = "o1.1", .for_ns = 20 * SIM_S});
    grow(sim, 8);
    sim_run_until(sim, 30 * SIM_S);
    assert_string_equal(heard.log, "disconnected disconnected ");
    assert_int_equal(owned_by_both(sim), 8);
    grow(sim, 10);
    sim_run_until(sim, 41 * SIM_S); /* looked at after 10 s at the latest */
    assert_int_equal(owned_by_both(sim), 10);
    sim_run_until(sim, 60 * SIM_S);
    const char *end = "disconnected open connected ";
    size_t len = strlen(heard.log), end_len = strlen(end);
    assert_true(len > end_len);
    assert_string_equal(heard.log + len - end_len, end);
    expect_stable(sim);
    sim_free(sim);
}

/* The whole process stands still, for longer than a client bears silence: what came to it meanwhile
 * is read before its timers ring. */
static void test_suspend_with_a_further_session(void **state)
{
    (void)state;
    is_observed = true;
    struct sim *sim = settled("o1.1");
    is_observed = false;
    act(sim, &(struct sim_fault){.kind = SIM_SUSPEND, .who = "m2", .for_ns = 4100 * SIM_MS});
    assert_string_equal(sim_member_state(sim, "m1"), "suspended");
    grow(sim, 6);
    sim_run_until(sim, 24 * SIM_S);
    assert_int_equal(heard.late_ns, 0);
    sim_run_until(sim, 25 * SIM_S);
    assert_true(heard.late_ns > 4 * SIM_S);
    assert_string_equal(heard.log, "");
    assert_int_equal(owned_by_both(sim), 6);
    sim_free(sim);
}

/* Clocks that run too fast: the same wait ends earlier. */
static void test_clock_rate(void **state)
{
    static const struct sim_topic topic = {"t", 4, 10000, 0};
    struct sim_member_plan member = {.start_ns = 10 * SIM_S};
    struct sim_config c;
    struct sim *sim;
    char why[200];
    (void)state;
    sim_config_init(&c);
    sim_member_config_init(&member.config);
    member.config.clock_ppm = 100000;
    c.topics = &topic;
    c.topic_count = 1;
    c.members = &member;
    c.member_count = 1;
    assert_int_equal(sim_new(&c, &sim, why, sizeof why), ZKC_OK);
    sim_run_until(sim, 10 * SIM_S);
    uint64_t at = member_local_ns(&sim->members[0]);
    sim_run_until(sim, 20 * SIM_S);
    assert_int_equal(member_local_ns(&sim->members[0]) - at, 11 * SIM_S);
    sim_free(sim);
}

static void test_every_kind_has_its_test(void **state)
{
    (void)state;
    for (int kind = 0; kind < SIM_FAULT_KIND_COUNT; kind++)
        if (!(told_kinds & 1u << kind))
            fail_msg("nothing shows what %s does", sim_fault_kind_name((enum sim_fault_kind)kind));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_crash_of_a_member),
        cmocka_unit_test(test_crash_of_the_leader),
        cmocka_unit_test(test_crash_of_a_broker),
        cmocka_unit_test(test_suspend),
        cmocka_unit_test(test_expire),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_cut_one_way),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_delay_watch),
        cmocka_unit_test(test_lose_reply),
        cmocka_unit_test(test_lag),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_slow_stop),
        cmocka_unit_test(test_slow_app),
        cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_topic),
        cmocka_unit_test(test_topic_gone),
        cmocka_unit_test(test_seek),
        cmocka_unit_test(test_reset_offset),
        cmocka_unit_test(test_leader),
        cmocka_unit_test(test_clock_rate),
        cmocka_unit_test(test_unregister),
        cmocka_unit_test(test_manager),
        cmocka_unit_test(test_slow_store),
        cmocka_unit_test(test_further_session),
        cmocka_unit_test(test_suspend_with_a_further_session),
        cmocka_unit_test(test_every_kind_has_its_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
