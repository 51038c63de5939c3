#include "study/scenario/scenario.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include <dirent.h>
#include <unistd.h>

static struct scenario *parse(const char *text)
{
    struct scenario *s;
    struct why why;
    if (scenario_parse("x", bytes_of_text(text), &s, &why))
        fail_msg("%s: %s", text, why.text);
    return s;
}

static struct world build(const struct scenario *s, uint64_t seed)
{
    struct world w;
    struct why why;
    if (scenario_build(s, seed, &w, &why))
        fail_msg("%s", why.text);
    return w;
}

/* The base set-up of the study. */
static void test_defaults(void **state)
{
    (void)state;
    struct scenario *s = parse("");
    struct world w = build(s, 7);
    assert_int_equal(w.config.seed, 7);
    assert_int_equal(w.config.member_count, 10);
    assert_int_equal(w.config.topic_count, 1);
    assert_string_equal(w.config.topics[0].name, "t");
    assert_int_equal(w.config.topics[0].partitions, 40);
    assert_int_equal(w.config.topics[0].rate_mhz, 20000);
    assert_int_equal(w.config.zk.servers, 3);
    assert_int_equal(w.config.brokers.count, 3);
    assert_int_equal(w.run_ns, 120 * SIM_S);
    const struct sim_member_config *m = &w.config.members[9].config;
    assert_int_equal(m->session_timeout_ms, 6000);
    assert_int_equal(m->backoff_ms, 2000);
    assert_int_equal(m->attempts_max, 4);
    assert_int_equal(m->auto_commit_interval_ms, 60000);
    assert_int_equal(m->strategy, ASSIGN_RANGE);
    assert_false(m->watch_brokers);
    assert_int_equal(w.config.fault_count, 0);
    world_deinit(&w);
    scenario_free(s);
}

static void test_settings(void **state)
{
    (void)state;
    struct scenario *s = parse("members = 3\nlate=2\nzookeeper.variant = documented\n"
                               "member.2.zookeeper.watch.brokers = false\n"
                               "member.4-*.partition.assignment.strategy = roundrobin\n"
                               "member.1.server = zk3\nmember.1.clock.ppm = -50\n"
                               "topic.a = 2\ntopic.b = 3 rate 5 initial 100\nlink = u(1ms, 2.5ms)\n"
                               "zk.fsync = lognormal(1ms,2ms)\nzk.tick = 1s\nstart.spread = 0\n");
    struct world w = build(s, 1);
    const struct sim_member_plan *m = w.config.members;
    assert_int_equal(w.config.member_count, 5);
    assert_true(m[0].config.watch_brokers); /* documented does */
    assert_false(m[1].config.watch_brokers);
    assert_int_equal(m[2].config.strategy, ASSIGN_RANGE);
    assert_int_equal(m[3].config.strategy, ASSIGN_ROUNDROBIN);
    assert_int_equal(m[4].config.strategy, ASSIGN_ROUNDROBIN);
    assert_string_equal(m[0].server, "zk3");
    assert_null(m[1].server);
    assert_int_equal(m[0].config.clock_ppm, -50);
    assert_int_equal(m[2].start_ns, 0);
    assert_true(m[3].start_ns == SIM_NEVER && m[4].start_ns == SIM_NEVER);
    assert_int_equal(w.config.topic_count, 2);
    assert_int_equal(w.config.topics[1].initial, 100);
    assert_int_equal(w.config.client_link.kind, SIM_UNIFORM);
    assert_int_equal(w.config.client_link.high_ns, 2500000);
    assert_int_equal(w.config.zk.fsync.kind, SIM_LOGNORMAL);
    assert_int_equal(w.config.zk.tick_ms, 1000);
    world_deinit(&w);
    scenario_free(s);
}

static const struct {
    const char *line;
    struct sim_fault want;
    size_t count;
} faults[] = {
    {"at 30s join m11", {.kind = SIM_JOIN, .who = "m11", .when = {.base_ns = 30 * SIM_S}}, 1},
    {"at u(1s,3s) expire random",
     {.kind = SIM_EXPIRE, .who = "random", .when = {.base_ns = SIM_S, .jitter_ns = 2 * SIM_S}},
     1},
    {"at 1s+u(0,200ms) suspend m2-m4 for 1.5s",
     {.kind = SIM_SUSPEND,
      .who = "m2",
      .for_ns = 1500 * SIM_MS,
      .when = {.base_ns = SIM_S, .jitter_ns = 200 * SIM_MS}},
     3},
    {"at 1s join late", {.kind = SIM_JOIN, .who = "m11", .when = {.base_ns = SIM_S}}, 2},
    {"after cause 3 100ms cut m1 zk* out for 20s",
     {.kind = SIM_CUT,
      .who = "m1",
      .peer = "zk*",
      .dir = SIM_OUT,
      .for_ns = 20 * SIM_S,
      .when = {.kind = SIM_AFTER_CAUSE, .cause = 3, .base_ns = 100 * SIM_MS}},
     1},
    {"when m2:release:4 crash m2",
     {.kind = SIM_CRASH,
      .who = "m2",
      .for_ns = SIM_NEVER,
      .when = {.kind = SIM_AT_POINT, .who = "m2", .point = SIM_POINT_RELEASE, .nth = 4}},
     1},
    {"when any:claim 5ms reset m1 zk1",
     {.kind = SIM_RESET,
      .who = "m1",
      .peer = "zk1",
      .for_ns = SIM_NEVER,
      .when = {.kind = SIM_AT_POINT,
               .who = "any",
               .point = SIM_POINT_CLAIM,
               .nth = 1,
               .base_ns = 5 * SIM_MS}},
     1},
    {"at 1s lose_reply m1 commit",
     {.kind = SIM_LOSE_REPLY, .who = "m1", .point = SIM_POINT_COMMIT, .when = {.base_ns = SIM_S}},
     1},
    {"at 1s delay m1 zk2 in by 3ms for 4s",
     {.kind = SIM_DELAY,
      .who = "m1",
      .peer = "zk2",
      .dir = SIM_IN,
      .value_ns = 3 * SIM_MS,
      .for_ns = 4 * SIM_S,
      .when = {.base_ns = SIM_S}},
     1},
    {"at 1s partitions t to 80",
     {.kind = SIM_PARTITIONS, .topic = "t", .count = 80, .when = {.base_ns = SIM_S}},
     1},
    {"at 1s topic u to 4 rate 7",
     {.kind = SIM_TOPIC, .topic = "u", .count = 4, .value_ns = 7000, .when = {.base_ns = SIM_S}},
     1},
    {"at 1s leader t/39 to b2",
     {.kind = SIM_LEADER, .topic = "t", .count = 39, .peer = "b2", .when = {.base_ns = SIM_S}},
     1},
    {"at 1s crash zk:leader for 2s",
     {.kind = SIM_CRASH, .who = "zk:leader", .for_ns = 2 * SIM_S, .when = {.base_ns = SIM_S}},
     1},
};

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        char text[256];
        snprintf(text, sizeof text, "late = 2\nfault.1 = %s\n", faults[i].line);
        struct scenario *s = parse(text);
        struct world w = build(s, 1);
        const struct sim_fault *f = w.config.faults, *x = &faults[i].want;
        bool lasts = x->for_ns != 0;
        if (w.config.fault_count != faults[i].count || f->kind != x->kind ||
            !same_text(f->who, x->who) || !same_text(f->peer, x->peer) || f->dir != x->dir ||
            (lasts && f->for_ns != x->for_ns) || f->value_ns != x->value_ns ||
            !same_text(f->topic, x->topic) || f->count != x->count || f->point != x->point ||
            f->when.kind != x->when.kind || f->when.base_ns != x->when.base_ns ||
            f->when.jitter_ns != x->when.jitter_ns || f->when.cause != x->when.cause ||
            !same_text(f->when.who, x->when.who) || f->when.point != x->when.point ||
            f->when.nth != x->when.nth)
            fail_msg("%s: read as something else", faults[i].line);
        world_deinit(&w);
        scenario_free(s);
    }
}

static const struct {
    const char *text, *says;
} refused[] = {
    {"membrs = 3\n", "x:1: unknown key \"membrs\"; expected one like members"},
    {"\nmembers = 3\nmembers = 4\n", "x:3: members: expected once, and stands in line 2"},
    {"members = many\n", "x:1: members: expected a number, found \"many\""},
    {"members = 100001\n", "x:1: members: expected 0 to 100000"},
    {"members = 0\n", "x:1: members: expected at least one member"},
    {"run = 5\n", "x:1: run: expected a duration like"},
    {"run = 0s\n", "x:1: run: expected"},
    {"run = 1s\nwarmup = 2s\n", "x:2: warmup: expected a warm-up (warmup, 25s by default) within"},
    {"\nrun = 5s\n", "x:2: run: expected a warm-up (warmup, 25s by default) within the run"},
    {"run = 99999999999h\n", "x:1: run: expected a duration like"},
    {"run = -5s\n", "x:1: run: expected a duration like"},
    {"run = 5 s\n", "x:1: run: expected a duration like"},
    {"members = 99999999999999999999\n", "x:1: members: expected a number"},
    {"members = +3\n", "x:1: members: expected a number"},
    {"members =\n", "x:1: members: expected a number, found \"\""},
    {"brokers = 0\n", "x:1: brokers: expected at least one broker"},
    {"group = a/b\n", "x:1: group: expected a group id of letters"},
    {"group =\n", "x:1: group: expected 1 to"},
    {"ids = odd\n", "x:1: ids: expected one of numbered random"},
    {"swarm = 1001\n", "x:1: swarm: expected 0 to 1000"},
    {"link = 61s\n", "x:1: link: expected at most 60s"},
    {"zk.fsync = lognormal(1ms)\n", "x:1: zk.fsync: expected a time like"},
    {"rebalance.max.retries = 0\n", "x:1: rebalance.max.retries: expected 1 to"},
    {"hello\n", "x:1: unknown key \"hello\""},
    {"name = \xff\n", "x:1: bytes that are no UTF-8"},
    {"run = 30s\nstart = 31s\n", "x:2: start: expected starts"},
    {"zk.servers = 4\n", "x:1: zk.servers: expected an odd number"},
    {"zk.link = u(2ms,1ms)\n", "x:1: zk.link: expected a time like"},
    {"zookeeper.session.timeout.ms = 3999\n",
     "x:1: zookeeper.session.timeout.ms: expected sessions"},
    {"\nzk.tick = 200ms\n",
     "x:2: zk.tick: expected sessions (zookeeper.session.timeout.ms, 6000 by"},
    {"members = 3\nmember.3.zookeeper.session.timeout.ms = 100\n",
     "x:2: member.3.zookeeper.session.timeout.ms: expected sessions"},
    {"zookeeper.variant = 0.9\n", "expected one of 0.8 0.7 documented"},
    {"auto.commit.enable = yes\n", "expected true or false"},
    {"member.11.streams = 2\n", "x:1: member.11.streams: expected members of the 10"},
    {"member.1.members = 2\n", "unknown key \"member.1.members\""},
    {"member.1.server = zk4\n", "x:1: member.1.server: expected a server of the scenario"},
    {"server = b1\n", "x:1: server: expected a server of the scenario, like zk1, found \"b1\""},
    {"member.3-2.streams = 1\n", "x:1: member.3-2.streams: expected members of the 10"},
    {"member.0.streams = 1\n", "x:1: member.0.streams: expected members of the 10"},
    {"member.x.streams = 1\n", "x:1: unknown key"},
    {"start.spread = 200s\n", "x:1: start.spread: expected starts"},
    {"topic.a/b = 4\n", "x:1: topic.a/b: expected a topic's name behind topic."},
    {"topic. = 4\n", "x:1: unknown key"},
    {"topic.t = 100001\n", "x:1: topic.t: expected PARTITIONS"},
    {"topic.t = 4 rate -1\n", "x:1: topic.t: expected PARTITIONS"},
    {"topic.t = 0\n", "x:1: topic.t: expected PARTITIONS"},
    {"topic.t = 4 rates 5\n", "x:1: topic.t: expected PARTITIONS"},
    {"fault.x = at 1s join m1\n", "unknown key"},
    {"fault.1 = join m1\n", "x:1: fault.1: expected at TIME"},
    {"fault.1 = at soon join m1\n", "expected a time like"},
    {"fault.1 = at 119s+u(0,2s) join m1\n",
     "expected a time within the run, which ends at 120000 ms"},
    {"fault.1 = when m1:claim 121s crash m1\n", "x:1: fault.1: expected a time within the run"},
    {"fault.1 = after cause 1 121s crash m1\n", "x:1: fault.1: expected a time within the run"},
    {"fault.1 = after 5s crash m1\n", "x:1: fault.1: expected after cause N TIME"},
    {"fault.1 = at u(5s,1s) crash m1\n", "x:1: fault.1: expected a time like"},
    {"fault.1 = at 99999999999999s crash m1\n", "x:1: fault.1: expected a time like"},
    {"fault. = at 5s crash m1\n", "x:1: unknown key"},
    {"fault.1 =\n", "x:1: fault.1: expected at TIME"},
    {"fault.1 = at 5s\n", "x:1: fault.1: expected what happens"},
    {"fault.1 = at 5s crash\n", "x:1: fault.1: expected crash WHO [for D], with a member"},
    {"fault.1 = at 5s crash m3-m2\n", "x:1: fault.1: expected crash WHO [for D], with a member"},
    {"fault.1 = at 5s crash zk:follower\n", "x:1: fault.1: expected crash WHO [for D], with a"},
    {"fault.1 = at 5s lag zk1-zk2 by 1s\n", "with a ZooKeeper server"},
    {"fault.1 = at 5s suspend m1 for\n", "x:1: fault.1: expected suspend WHO [for D]"},
    {"fault.1 = at 5s delay m1 zk1 by 0s\n", "x:1: fault.1: expected delay WHO PEER"},
    {"fault.1 = at 5s cut m1 zk* sideways for 5s\n", "and nothing behind it"},
    {"fault.1 = at 5s cut m1 m2\n", "where there is a connection: of a member with a server"},
    {"fault.1 = at 5s cut m1-m3 m*\n", "where there is a connection"},
    {"fault.1 = at 5s reset b0 b1\n", "where there is a connection"},
    {"fault.1 = at 5s delay zk1 b1 by 1s\n", "where there is a connection"},
    {"fault.1 = at 5s lose_reply m1\n", "x:1: fault.1: expected a point of the protocol"},
    {"fault.1 = when m1 crash m1\n", "x:1: fault.1: expected when MEMBER:POINT with a point"},
    {"fault.1 = at 1s partitions t to 100001\n", "more partitions than before"},
    {"fault.1 = at 1s topic u to 0\n", "topic NAME to N"},
    {"fault.1 = at 1s topic u to 4 rate x\n", "rate with a number of messages/s"},
    {"fault.1 = at 1s leader t/x to b0\n", "a partition of the scenario"},
    {"fault.1 = at 1s leader t/0 b0\n", "a broker of the scenario"},
    {"fault.1 = at 1s jump m1\n", "expected what happens: join"},
    {"fault.1 = at 1s join m11\n", "join WHO, with a member of the scenario"},
    {"fault.1 = at 1s join m0\n", "join WHO, with a member"},
    {"fault.1 = at 1s join late\n", "join WHO, with a member"},
    {"fault.1 = at 1s expire zk1\n", "expire WHO, with a member"},
    {"fault.1 = at 1s crash m9-m11\n", "crash WHO [for D], with a member"},
    {"fault.1 = at 1s lag m1 by 1s\n", "with a ZooKeeper server"},
    {"fault.1 = at 1s crash b3\n", "with a member, server or broker"},
    {"fault.1 = at 1s cut m1\n", "cut WHO PEER"},
    {"fault.1 = at 1s cut m1 zk4\n", "as peer"},
    {"fault.1 = at 1s slow_stop m1\n", "slow_stop WHO by D"},
    {"fault.1 = at 1s suspend m1 for 0s\n", "suspend WHO [for D]"},
    {"fault.1 = at 1s suspend m1 for 2s please\n", "nothing behind it"},
    {"fault.1 = at 1s lose_reply m1 dance\n", "a point of the protocol"},
    {"fault.1 = when m1:dance expire m1\n", "a point"},
    {"fault.1 = when m11:claim expire m1\n", "a member of the scenario or any"},
    {"fault.1 = when m1:claim:0 expire m1\n", "a number from 1 on"},
    {"fault.1 = after cause 0 1s expire m1\n", "a number from 1 on"},
    {"fault.1 = at 1s partitions t to 40\n", "more partitions than before"},
    {"fault.1 = at 1s partitions u to 50\n", "of a topic of the scenario"},
    {"fault.1 = at 1s topic t to 50\n", "of a topic that is not there yet"},
    {"fault.1 = at 1s leader t/40 to b0\n", "a partition of the scenario"},
    {"fault.1 = at 1s leader t/4 to b3\n", "a broker of the scenario"},
    {"name\x01 = x\n", "unknown key"},
    {"= x\n", "x:1: "},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct scenario *s;
        struct why why;
        if (scenario_parse("x", bytes_of_text(refused[i].text), &s, &why) != ZKC_ERR_CONFIG)
            fail_msg("%s is taken", refused[i].text);
        if (!strstr(why.text, refused[i].says))
            fail_msg("%s: %s", refused[i].text, why.text);
        char *end = NULL; /* file and line, of each */
        if (strncmp(why.text, "x:", 2) != 0 || strtoul(why.text + 2, &end, 10) == 0 || *end != ':')
            fail_msg("%s: no file and line: %s", refused[i].text, why.text);
    }
}

/* Setting, leaving out, writing and reading again. */
static void test_changes(void **state)
{
    (void)state;
    struct scenario *s = parse("late = 1\ntopic.x = 6 rate 7\nfault.1 = at 1s join late\n"
                               "fault.2 = at 2s crash m1\n");
    struct why why;
    assert_int_equal(scenario_set(s, "n", "3", &why), ZKC_OK);
    assert_int_equal(scenario_set(s, "P", "12", &why), ZKC_OK);
    assert_int_equal(scenario_set(s, "nn", "3", &why), ZKC_ERR_CONFIG);
    assert_string_equal(scenario_value(s, "members"), "3");
    assert_string_equal(scenario_value(s, "topic.x"), "12 rate 7");
    assert_string_equal(scenario_value(s, "brokers"), "3");
    assert_int_equal(scenario_fault_count(s), 2);
    scenario_remove_fault(s, 0);
    struct buf out;
    buf_init(&out, 4096);
    scenario_write(s, &out);
    assert_string_equal(buf_text(&out), "late = 1\ntopic.x = 12 rate 7\nfault.2 = at 2s crash m1\n"
                                        "members = 3\n");
    struct scenario *again = parse(buf_text(&out));
    struct world w = build(again, 1);
    assert_int_equal(w.config.member_count, 4);
    assert_int_equal(w.config.fault_count, 1);
    world_deinit(&w);
    buf_deinit(&out);
    scenario_free(again);
    /* What cannot be is said when it is built, without a line. */
    struct scenario *odd;
    assert_int_equal(scenario_copy(s, &odd), ZKC_OK);
    assert_int_equal(scenario_set(odd, "zk.servers", "2", &why), ZKC_OK);
    assert_int_equal(scenario_build(odd, 1, &w, &why), ZKC_ERR_CONFIG);
    assert_string_equal(why.text, "zk.servers: expected an odd number, so that a majority decides, "
                                  "found \"2\"");
    scenario_free(odd);
    scenario_free(s);
}

/* What a seed draws is the same each time, and the same when it is written down. */
static void test_seeds(void **state)
{
    (void)state;
    struct scenario *s = parse("members=4\nlate=2\nids=random\nswarm=8\n");
    struct why why;
    size_t kinds_seen = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct scenario *drawn;
        assert_int_equal(scenario_copy(s, &drawn), ZKC_OK);
        if (scenario_expand(drawn, seed, &why))
            fail_msg("seed %" PRIu64 ": %s", seed, why.text);
        struct world a = build(s, seed), b = build(drawn, seed);
        assert_int_equal(a.config.fault_count, b.config.fault_count);
        assert_int_equal(scenario_fault_count(drawn), a.config.fault_count);
        for (size_t i = 0; i < a.config.fault_count; i++) {
            const struct sim_fault *f = &a.config.faults[i], *g = &b.config.faults[i];
            assert_true(f->kind == g->kind && f->when.base_ns == g->when.base_ns &&
                        same_text(f->who, g->who) && f->for_ns == g->for_ns);
            kinds_seen |= (size_t)1 << f->kind;
        }
        for (size_t i = 0; i < a.config.member_count; i++) {
            assert_true(
                same_text(a.config.members[i].consumer_id, b.config.members[i].consumer_id));
            assert_int_equal(a.config.members[i].start_ns, b.config.members[i].start_ns);
        }
        world_deinit(&a);
        world_deinit(&b);
        scenario_free(drawn);
    }
    assert_true(__builtin_popcountll(kinds_seen) >= 14);
    scenario_free(s);
}

static void test_files(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "S01", "S02", "S03", "S04", "S05", "S09", "S10", "S12", "S13", "S14", "S15", "S17", "S18",
        "S19", "S20", "S21", "S22", "S25", "S26", "S27", "S28", "S29", "S31", "S32", "S33"};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        static const char *const variants[] = {"0.8", "0.7", "documented"};
        char path[512];
        struct scenario *s;
        struct why why;
        snprintf(path, sizeof path, "%s/%s.scenario", STUDY_SCENARIOS, wanted[i]);
        if (scenario_read(path, &s, &why))
            fail_msg("%s", why.text);
        assert_string_equal(scenario_value(s, "name"), wanted[i]);
        for (size_t v = 0; v < ARRAY_LEN(variants); v++) {
            assert_int_equal(scenario_set(s, "zookeeper.variant", variants[v], &why), ZKC_OK);
            struct world w = build(s, 1);
            assert_int_equal(w.config.members[0].config.variant, v);
            world_deinit(&w);
        }
        scenario_free(s);
    }
    DIR *all = opendir(STUDY_SCENARIOS); /* and no other is broken */
    assert_non_null(all);
    for (struct dirent *d; (d = readdir(all));) {
        char path[800];
        struct scenario *s;
        struct why why;
        snprintf(path, sizeof path, "%s/%s", STUDY_SCENARIOS, d->d_name);
        if (*d->d_name == '.')
            continue;
        if (scenario_read(path, &s, &why))
            fail_msg("%s", why.text);
        scenario_free(s);
    }
    closedir(all);
}

static void test_no_file(void **state)
{
    (void)state;
    struct scenario *s;
    struct why why;
    assert_int_equal(scenario_read("/no/such/file", &s, &why), ZKC_ERR_SYSTEM);
    assert_non_null(strstr(why.text, "/no/such/file: "));
    char path[] = "/tmp/scenario_test.XXXXXX"; /* too large */
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, SCENARIO_BYTES_MAX + 1), 0);
    close(fd);
    assert_int_equal(scenario_read(path, &s, &why), ZKC_ERR_CONFIG);
    assert_non_null(strstr(why.text, ": expected a scenario of at most 1 MiB"));
    unlink(path);
}

static enum zkc_err parse_and_build(const void *text)
{
    struct scenario *s;
    struct world w;
    struct why why;
    enum zkc_err err = scenario_parse("x", bytes_of_text(text), &s, &why);
    if (err)
        return err;
    err = scenario_build(s, 1, &w, &why);
    if (!err)
        world_deinit(&w);
    scenario_free(s);
    return err;
}

static void test_no_memory(void **state)
{
    (void)state;
    alloc_fail_each(parse_and_build, "members=2\nlate=2\nids=random\nswarm=3\ntopic.a=2 rate 5\n"
                                     "member.1.server=zk1\nfault.1=at 1s join late\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),  cmocka_unit_test(test_settings),
        cmocka_unit_test(test_faults),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_changes),   cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_files),     cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
