#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/consumer/tally.h"
#include <jansson.h>
#include <stdarg.h>

#define MS 1000

static void feed(struct tally *t, struct group_output o, int64_t at_ms)
{
    tally_output(t, &o, at_ms * MS);
}

static json_t *document(struct tally *t, int64_t at_ms)
{
    struct buf out;
    struct json j;
    buf_init(&out, 1 << 20);
    json_init(&j, &out);
    json_object_begin(&j, NULL);
    tally_json(t, &j, at_ms * MS);
    json_object_end(&j);
    json_t *d = json_loads(buf_text(&out), 0, NULL);
    assert_non_null(d);
    buf_deinit(&out);
    return d;
}

/* The number at a path of keys ("0" of a list is its first), or fails. */
static int64_t at(const json_t *d, const char *path)
{
    char copy[128], *rest = copy;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *key; d && (key = strsep(&rest, "."));)
        d = json_is_array(d) ? json_array_get(d, (size_t)atoi(key)) : json_object_get(d, key);
    if (!d)
        fail_msg("there is no %s", path);
    return json_is_boolean(d) ? json_is_true(d) : json_integer_value(d);
}

static void expect(struct tally *t, int64_t at_ms, const char *path, int64_t want)
{
    json_t *d = document(t, at_ms);
    int64_t got = at(d, path);
    json_decref(d);
    if (got != want)
        fail_msg("%s at %d ms is %" PRId64 ", not %" PRId64, path, (int)at_ms, got, want);
}

static struct group_output output(enum group_output_type type)
{
    return (struct group_output){.type = type};
}

static struct group_output offset(enum group_output_type type, const char *topic, int64_t offset,
                                  int zk_rc)
{
    struct group_output o = {.type = type};
    o.offset.topic = topic;
    o.offset.offset = offset;
    o.offset.zk_rc = zk_rc;
    return o;
}

static const struct group_claim both[] = {{.topic = "t", .partition = 0},
                                          {.topic = "u", .partition = 0}};

static struct group_output claims(enum group_output_type type, size_t first, size_t count)
{
    struct group_output o = {.type = type};
    o.assign.claims = both + first;
    o.assign.count = count;
    return o;
}

static struct group_output ended(bool ok, bool gave_up)
{
    struct group_output o = {.type = GROUP_OUT_REBALANCE_END};
    o.rebalance_end.ok = ok;
    o.rebalance_end.gave_up = gave_up;
    return o;
}

static void test_operations(void **state)
{
    (void)state;
    static const struct {
        int zk_rc;
        const char *answer;
    } cases[] = {
        {ZK_OK, "ok"},
        {ZK_NO_NODE, "no_node"},
        {ZK_NODE_EXISTS, "node_exists"},
        {ZK_BAD_VERSION, "bad_version"},
        {ZK_NO_AUTH, "no_auth"},
        {ZK_CONNECTION_LOSS, "lost"},
        {ZK_SESSION_EXPIRED, "session"},
        {ZK_MARSHALLING_ERROR, "other"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct tally *t = tally_new();
        char path[64];
        tally_op(t, ZK_OP_CREATE, cases[i].zk_rc, 700);
        snprintf(path, sizeof path, "requests.0.answers.%s", cases[i].answer);
        expect(t, 0, path, 1);
        expect(t, 0, "requests.0.time.sum_us", 700);
        expect(t, 0, "requests.0.time.buckets.1", 1);
        tally_free(t);
    }
}

/* A rebalance of 10 s whose every second belongs somewhere. */
static void test_phases(void **state)
{
    (void)state;
    struct tally *t = tally_new();
    struct group_output stop = {.type = GROUP_OUT_STOP}, trigger = {.type = GROUP_OUT_TRIGGER};
    trigger.trigger = "watch";
    feed(t, trigger, 0);
    feed(t, output(GROUP_OUT_REBALANCE_BEGIN), 1000);
    feed(t, output(GROUP_OUT_TRY_BEGIN), 1000);
    feed(t, stop, 2000);                                             /* read 1 */
    feed(t, offset(GROUP_OUT_COMMIT, "t", 7, ZK_OK), 3000);          /* commit 1 */
    feed(t, output(GROUP_OUT_RELEASE), 5000);                        /* release 2 */
    feed(t, offset(GROUP_OUT_COMMIT, "t", 8, ZK_BAD_VERSION), 5500); /* the timer's */
    feed(t, claims(GROUP_OUT_DECIDE, 0, 2), 6000);                   /* read 1 */
    feed(t, output(GROUP_OUT_TRY_END), 7000);                        /* claim 1 */
    feed(t, output(GROUP_OUT_TRY_BEGIN), 9000);                      /* backoff 2 */
    feed(t, ended(true, false), 11000);                              /* claim 2 */
    static const struct {
        const char *path;
        int64_t want;
    } cases[] = {
        {"rebalancing.attempts", 2},
        {"rebalancing.ended.watch.done", 1},
        {"rebalancing.ended.watch.gave_up", 0},
        {"rebalancing.duration.sum_us", 10000 * MS},
        {"rebalancing.duration.count", 1},
        {"rebalancing.phases.commit.sum_us", 1000 * MS},
        {"rebalancing.phases.release.sum_us", 2000 * MS},
        {"rebalancing.phases.read.sum_us", 2000 * MS},
        {"rebalancing.phases.claim.sum_us", 3000 * MS},
        {"rebalancing.phases.backoff.sum_us", 2000 * MS},
        {"commits.zookeeper.ok", 1},
        {"commits.zookeeper.foreign", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect(t, 11000, cases[i].path, cases[i].want);
    feed(t, output(GROUP_OUT_REBALANCE_BEGIN), 12000);
    feed(t, ended(false, true), 12500);
    expect(t, 0, "rebalancing.ended.other.gave_up", 1);
    assert_int_equal(tally_rebalances(t)->count, 2);
    tally_free(t);
}

static void test_claims(void **state)
{
    (void)state;
    struct tally *t = tally_new();
    static const int codes[] = {ZK_OK, ZK_OK, ZK_NODE_EXISTS, ZK_NO_AUTH};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct group_output o = {.type = GROUP_OUT_CLAIM};
        o.claim.zk_rc = codes[i];
        feed(t, o, 0);
    }
    expect(t, 0, "claims.ok", 2);
    expect(t, 0, "claims.conflict", 1);
    expect(t, 0, "claims.failed", 1);
    tally_free(t);
}

static void test_unowned(void **state)
{
    (void)state;
    struct tally *t = tally_new();
    struct group_output stop = {.type = GROUP_OUT_FETCH_STOP};
    stop.fetch_stop.topic = "t";
    feed(t, claims(GROUP_OUT_DECIDE, 0, 2), 1000);
    expect(t, 1500, "unowned.0.ms", 500);
    feed(t, claims(GROUP_OUT_ASSIGN, 0, 2), 2000);
    expect(t, 9000, "unowned.1.ms", 1000);
    expect(t, 9000, "unowned.1.now", 0);
    feed(t, stop, 10000); /* ours still */
    expect(t, 10250, "unowned.0.ms", 1250);
    expect(t, 10250, "unowned.0.now", 1);
    feed(t, claims(GROUP_OUT_DECIDE, 1, 1), 10500); /* not any more */
    expect(t, 99000, "unowned.0.ms", 1500);
    feed(t, output(GROUP_OUT_CLOSE_SESSION), 99000); /* nothing is wanted */
    expect(t, 100000, "unowned.1.ms", 1000);
    tally_free(t);
}

static void test_committed(void **state)
{
    (void)state;
    struct tally *t = tally_new();
    struct group_offset list[] = {{"t", 0, 5, 0}, {"u", 0, 6, 16}};
    struct group_output kafka = {.type = GROUP_OUT_OFFSETS_STORED};
    kafka.offsets.list = list;
    kafka.offsets.count = 2;
    assert_int_equal(tally_committed(t, "t", 0, TALLY_ZOOKEEPER), -1);
    feed(t, offset(GROUP_OUT_OFFSET_READ, "t", 40, ZK_OK), 0);
    assert_int_equal(tally_committed(t, "t", 0, TALLY_ZOOKEEPER), 40);
    feed(t, offset(GROUP_OUT_COMMIT, "t", 41, ZK_OK), 0);
    feed(t, offset(GROUP_OUT_COMMIT, "t", 42, ZK_BAD_VERSION), 0);
    assert_int_equal(tally_committed(t, "t", 0, TALLY_ZOOKEEPER), 41);
    struct group_output foreign = {.type = GROUP_OUT_FOREIGN};
    foreign.foreign.topic = "t";
    foreign.foreign.found = 3;
    feed(t, foreign, 0);
    assert_int_equal(tally_committed(t, "t", 0, TALLY_ZOOKEEPER), 3);
    feed(t, offset(GROUP_OUT_OFFSET_READ, "t", 9, ZK_NO_NODE), 0);
    assert_int_equal(tally_committed(t, "t", 0, TALLY_ZOOKEEPER), -1);
    feed(t, kafka, 0);
    assert_int_equal(tally_committed(t, "t", 0, TALLY_KAFKA), 5);
    assert_int_equal(tally_committed(t, "u", 0, TALLY_KAFKA), -1);
    expect(t, 0, "commits.kafka.ok", 1);
    expect(t, 0, "commits.kafka.failed", 1);
    assert_int_equal(tally_committed(NULL, "t", 0, TALLY_KAFKA), -1);
    tally_free(t);
}

static struct group_output lease(int64_t end_ms)
{
    struct group_output o = {.type = GROUP_OUT_LEASE};
    o.lease.end_ms = end_ms;
    return o;
}

static void test_fences(void **state)
{
    (void)state;
    struct tally *t = tally_new();
    feed(t, lease(500), 100);
    expect(t, 600, "fenced.lease", 0); /* nothing is held that it could stop */
    feed(t, lease(1000), 700);
    feed(t, claims(GROUP_OUT_ASSIGN, 0, 1), 700);
    expect(t, 999, "fenced.lease", 0);
    expect(t, 1000, "fenced.lease", 1); /* nobody has said so */
    expect(t, 1100, "fenced.lease", 1); /* once */
    feed(t, lease(3000), 2000);
    feed(t, lease(INT64_MIN), 2500);
    expect(t, 2500, "fenced.disconnect", 1);
    feed(t, lease(6000), 2600);
    tally_session_over(t, 5000 * MS);
    feed(t, lease(INT64_MIN), 5000); /* as it must: no fence of its own */
    expect(t, 5000, "fenced.session", 1);
    expect(t, 5000, "fenced.disconnect", 1);
    feed(t, lease(INT64_MAX), 6000);
    expect(t, INT32_MAX, "fenced.lease", 1);
    feed(t, output(GROUP_OUT_EVICTED), 7000);
    expect(t, 7000, "fenced.evicted", 1);
    tally_free(t);
}

static const int32_t numbers[] = {0, 1, 2, 3, 4};

static struct group_output view(const struct group_view_topic *topics, size_t count, uint64_t hash)
{
    struct group_output o = {.type = GROUP_OUT_VIEW};
    o.view.topics = topics;
    o.view.topic_count = count;
    o.view.hash = hash;
    return o;
}

static size_t known_count(struct tally *t, const char *const *topics, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += tally_committed(t, topics[i], 0, TALLY_ZOOKEEPER) >= 0;
    return n;
}

static void test_what_is_gone_is_forgotten(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "t", "u", "v"};
    static const struct group_view_topic topics[] = {{"a", numbers, 1}, {"v", numbers, 1}};
    struct tally *t = tally_new();
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        feed(t, offset(GROUP_OUT_COMMIT, names[i], 1, ZK_OK), 0);
    feed(t, claims(GROUP_OUT_DECIDE, 0, 2), 0);
    assert_int_equal(known_count(t, names, 4), 4); /* nobody knows what the group has */
    feed(t, claims(GROUP_OUT_ASSIGN, 0, 1), 0);
    feed(t, view(topics, 2, 1), 0);
    assert_int_equal(known_count(t, names, 4), 4);
    feed(t, claims(GROUP_OUT_DECIDE, 1, 1), 0);
    assert_int_equal(known_count(t, names, 4), 4); /* t is held, u is wanted */
    feed(t, output(GROUP_OUT_STOP), 0);
    feed(t, claims(GROUP_OUT_DECIDE, 0, 0), 0);
    assert_int_equal(known_count(t, names, 4), 2);
    assert_int_equal(known_count(t, names, 1), 1);
    feed(t, view(NULL, 0, 2), 0);
    feed(t, claims(GROUP_OUT_DECIDE, 0, 0), 0);
    assert_int_equal(known_count(t, names, 4), 0);
    feed(t, offset(GROUP_OUT_COMMIT, "t", 7, ZK_OK), 0); /* it is back */
    assert_int_equal(tally_committed(t, "t", 0, TALLY_ZOOKEEPER), 7);

    static const struct group_view_topic less = {"t", numbers + 1, 2}; /* 1 and 2 */
    struct group_output c = offset(GROUP_OUT_COMMIT, "t", 8, ZK_OK);
    for (c.offset.partition = 0; c.offset.partition < 5; c.offset.partition++)
        feed(t, c, 0);
    feed(t, view(&less, 1, 3), 0);
    feed(t, claims(GROUP_OUT_DECIDE, 0, 0), 0);
    for (int32_t p = 0; p < 5; p++)
        assert_int_equal(tally_committed(t, "t", p, TALLY_ZOOKEEPER), p <= 2 ? 8 : -1);
    tally_free(t);
}

/* Topics that come and go under a filter. */
static void test_a_thousand_topics_that_went(void **state)
{
    (void)state;
    struct tally *t = tally_new();
    for (int i = 0; i < 1000; i++) {
        char name[16], before[16];
        snprintf(name, sizeof name, "t%d", i);
        snprintf(before, sizeof before, "t%d", i - 1);
        const struct group_view_topic topic = {name, numbers, 1};
        const struct group_claim claim = {.topic = name};
        struct group_output o = claims(GROUP_OUT_DECIDE, 0, 1);
        o.decide.claims = &claim;
        feed(t, output(GROUP_OUT_STOP), i);
        feed(t, view(&topic, 1, (uint64_t)i), i);
        feed(t, o, i);
        o.type = GROUP_OUT_ASSIGN;
        feed(t, o, i + 1);
        feed(t, offset(GROUP_OUT_COMMIT, name, 1, ZK_OK), i + 1);
        assert_int_equal(tally_committed(t, name, 0, TALLY_ZOOKEEPER), 1);
        assert_int_equal(tally_committed(t, before, 0, TALLY_ZOOKEEPER), -1);
    }
    json_t *d = document(t, 2000);
    assert_int_equal(json_array_size(json_object_get(d, "unowned")), 1);
    json_decref(d);
    tally_free(t);
}

static void test_view_and_events(void **state)
{
    (void)state;
    struct tally *t = tally_new();
    struct group_view_topic topics[] = {{.topic = "t", .partitions = numbers, .count = 4},
                                        {.topic = "u", .partitions = numbers, .count = 1}};
    struct group_output o = view(topics, 2, 1);
    o.view.member_count = 3;
    expect(t, 0, "group.members", -1);
    feed(t, o, 0);
    expect(t, 0, "group.members", 3);
    expect(t, 0, "group.topics.0.partitions", 4);
    topics[0].count = 5;
    o.view.hash = 2;
    feed(t, o, 0);
    expect(t, 0, "group.topics.0.partitions", 5);
    tally_watch(t, ZK_EVENT_DELETED);
    tally_watch(t, (enum zk_event_type)99);
    expect(t, 0, "watch_events.deleted", 1);
    expect(t, 0, "watch_events.created", 0);
    tally_free(t);
}

static void fill(struct tally *t)
{
    feed(t, claims(GROUP_OUT_DECIDE, 0, 2), 0);
    feed(t, claims(GROUP_OUT_ASSIGN, 0, 2), 1);
    feed(t, offset(GROUP_OUT_COMMIT, "v", 1, ZK_OK), 1);
    struct group_view_topic topic = {.topic = "t", .partitions = numbers, .count = 4};
    feed(t, view(&topic, 1, 0), 2);
    feed(t, claims(GROUP_OUT_DECIDE, 0, 1), 2);
    feed(t, output(GROUP_OUT_CLOSE_SESSION), 3);
}

/* Without memory something is not known; nothing else happens. */
static void test_without_memory(void **state)
{
    (void)state;
    bool has_failed = true;
    for (size_t n = 0; has_failed; n++) {
        struct tally *t = tally_new();
        assert_non_null(t);
        alloc_fail_at(n);
        fill(t);
        has_failed = alloc_fail_stop();
        tally_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_unowned),
        cmocka_unit_test(test_committed),
        cmocka_unit_test(test_fences),
        cmocka_unit_test(test_what_is_gone_is_forgotten),
        cmocka_unit_test(test_a_thousand_topics_that_went),
        cmocka_unit_test(test_view_and_events),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
