#include "tests/support/fake_zk.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/group/reader.h"

/* A reader with its shell, on an in-memory ZooKeeper; everything is answered at once, or held. */
struct rig {
    struct reader *r;
    struct fake_zk *zk;
    struct group_outputs out;
    int64_t now_ms;
    bool is_held; /* operations are not answered */
    struct zk_op op[GROUP_LANE_COUNT];
    uint32_t seq[GROUP_LANE_COUNT];
    bool is_open[GROUP_LANE_COUNT];
    int operations[GROUP_LANE_COUNT];
    int fail_rc; /* of offset reads; 0: none */
    struct group_claim claims[16];
    size_t claim_count;
    int assigned, stopped, closed, leaders, questions, errors, committed;
    uint32_t job, question;
    enum zkc_err commit_err;
    bool is_settled;
};

static void feed(struct rig *g, struct group_input *in);

static void carry_out(struct rig *g, const struct group_output *o)
{
    switch (o->type) {
    case GROUP_OUT_OP:
        assert_false(g->is_open[o->op.lane]);
        g->op[o->op.lane] = o->op.op;
        g->seq[o->op.lane] = o->op.seq;
        g->is_open[o->op.lane] = true;
        g->operations[o->op.lane]++;
        break;
    case GROUP_OUT_ASSIGN:
        g->assigned++;
        g->claim_count = o->assign.count;
        memcpy(g->claims, o->assign.claims, o->assign.count * sizeof *g->claims);
        break;
    case GROUP_OUT_STOP: g->stopped++; break;
    case GROUP_OUT_METADATA:
        g->questions++;
        g->question = o->metadata.seq;
        break;
    case GROUP_OUT_LEADERS: g->leaders += (int)o->leaders.count; break;
    case GROUP_OUT_COMMIT_QUEUED:
        g->job = o->committed.job;
        g->commit_err = o->committed.err;
        break;
    case GROUP_OUT_COMMITTED:
        g->committed++;
        g->commit_err = o->committed.err;
        break;
    case GROUP_OUT_CLOSE_SESSION: g->closed++; break;
    case GROUP_OUT_NOTICE: g->errors += o->notice.err != ZKC_OK; break;
    case GROUP_OUT_STATE: g->is_settled = o->state.settled; break;
    default: break;
    }
}

static void feed_alone(struct rig *g, struct group_input *in)
{
    in->now_ms = g->now_ms;
    reader_step(g->r, in, &g->out);
    for (size_t i = 0; i < g->out.count; i++)
        carry_out(g, &g->out.list[i]);
}

static void answer(struct rig *g, int lane)
{
    struct zk_result result = *fake_zk_run(g->zk, 0, &g->op[lane]);
    if (g->fail_rc && lane == GROUP_LANE_REBALANCE)
        result = (struct zk_result){.zk_rc = g->fail_rc};
    g->is_open[lane] = false;
    struct group_input in = {.type = GROUP_IN_RESULT,
                             .result = {(enum group_lane)lane, g->seq[lane], &result}};
    feed_alone(g, &in);
}

static void answer_all(struct rig *g)
{
    for (bool more = true; more && !g->is_held;) {
        more = false;
        for (int lane = 0; lane < GROUP_LANE_COUNT; lane++)
            if (g->is_open[lane]) {
                answer(g, lane);
                more = true;
            }
    }
}

static void feed(struct rig *g, struct group_input *in)
{
    feed_alone(g, in);
    answer_all(g);
}

static void feed_type(struct rig *g, enum group_input_type type)
{
    struct group_input in = {.type = type};
    feed(g, &in);
}

static const struct reader_partition partitions[] = {
    {"u", 0, -2, false}, {"t", 1, -1, true}, {"t", 0, 77, false}, {"u", 5, -1, true}};

static struct rig *rig_new(const char *group)
{
    struct rig *g = calloc(1, sizeof *g);
    assert_non_null(g);
    g->now_ms = 1000;
    g->zk = fake_zk_new();
    fake_zk_put(g->zk, "/brokers/ids/0", "{\"host\":\"h\",\"port\":9092,\"version\":1}");
    fake_zk_put(g->zk, "/consumers/g/offsets/t/1", "41");
    struct reader_config config = {.group = group,
                                   .partitions = partitions,
                                   .partition_count = group ? 4 : 1,
                                   .refresh_leader_backoff_ms = 200,
                                   .seed = 1};
    assert_int_equal(reader_new(&config, &g->r), ZKC_OK);
    return g;
}

static void rig_free(struct rig *g)
{
    reader_free(g->r);
    fake_zk_free(g->zk);
    free(g);
}

static enum zkc_err commit(struct rig *g, const char *topic, int32_t partition, int64_t offset)
{
    struct group_position p = {topic, partition, offset, 0, 0};
    struct group_input in = {.type = GROUP_IN_COMMIT, .commit = {.list = &p, .count = 1}};
    g->commit_err = 1;
    feed(g, &in);
    return g->commit_err;
}

static void test_begins(void **state)
{
    (void)state;
    struct rig *g = rig_new("g");
    size_t n;
    reader_held(g->r, &n);
    assert_int_equal(n, 0);
    assert_string_equal(reader_state_name(g->r), "new");
    feed_type(g, GROUP_IN_CONNECTED);
    static const struct group_claim want[] = {{.topic = "t", .partition = 0, .offset = 77},
                                              {.topic = "t", .partition = 1, .offset = 41},
                                              {.topic = "u", .partition = 0, .offset = -2},
                                              {.topic = "u", .partition = 5, .offset = -1}};
    assert_int_equal(g->claim_count, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_string_equal(g->claims[i].topic, want[i].topic);
        assert_int_equal(g->claims[i].partition, want[i].partition);
        assert_int_equal(g->claims[i].offset, want[i].offset);
    }
    assert_true(g->is_settled);
    assert_int_equal(g->operations[GROUP_LANE_REBALANCE], 2); /* only what is to be read */
    assert_int_equal(g->questions, 1);
    reader_held(g->r, &n);
    assert_int_equal(n, 4);
    assert_string_equal(reader_state_name(g->r), "owning");
    assert_false(fake_zk_exists(g->zk, "/consumers/g/ids"));
    rig_free(g);
}

/* What is stored, and where a reader starts then. */
static void test_stored(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int zk_rc;
        int64_t want;
        bool is_error;
    } stored[] = {
        {"0", 0, 0, false},   {"-1", 0, -1, false}, {"-3", 0, -1, false},
        {"12 ", 0, -1, true}, {"", 0, -1, true},    {"5", ZK_NO_AUTH, -1, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(stored); i++) {
        struct rig *g = rig_new("g");
        fake_zk_put(g->zk, "/consumers/g/offsets/t/1", stored[i].text);
        fake_zk_put(g->zk, "/consumers/g/offsets/u/5", "1");
        g->fail_rc = stored[i].zk_rc;
        feed_type(g, GROUP_IN_CONNECTED);
        if (g->claims[1].offset != stored[i].want || (g->errors > 0) != stored[i].is_error)
            fail_msg("\"%s\": %" PRId64 ", %d errors", stored[i].text, g->claims[1].offset,
                     g->errors);
        rig_free(g);
    }
}

static void test_commits(void **state)
{
    (void)state;
    struct rig *g = rig_new("g");
    assert_int_equal(commit(g, "t", 1, 50),
                     ZKC_OK); /* before the start: it waits for a connection */
    assert_int_equal(g->committed, 0);
    feed_type(g, GROUP_IN_CONNECTED);
    assert_int_equal(g->committed, 1);
    assert_string_equal(fake_zk_text(g->zk, "/consumers/g/offsets/t/1"), "50");
    assert_int_equal(commit(g, "t", 0, 0), ZKC_OK);
    assert_string_equal(fake_zk_text(g->zk, "/consumers/g/offsets/t/0"), "0");
    assert_int_equal(commit(g, "t", 2, 1), ZKC_ERR_NOT_OWNED);
    int before = g->operations[GROUP_LANE_COMMIT];
    assert_int_equal(commit(g, "t", 0, 0), ZKC_OK);
    assert_int_equal(g->operations[GROUP_LANE_COMMIT], before);
    rig_free(g);

    g = rig_new(NULL);
    feed_type(g, GROUP_IN_CONNECTED);
    assert_int_equal(commit(g, "u", 0, 1), ZKC_ERR_INVALID);
    rig_free(g);
}

/* Everything waits for a connection; the end of a session costs nothing. */
static void test_connection_lost(void **state)
{
    (void)state;
    static const struct zk_result loss = {.zk_rc = ZK_CONNECTION_LOSS};
    struct rig *g = rig_new("g");
    g->is_held = true;
    feed_type(g, GROUP_IN_CONNECTED);
    assert_true(g->is_open[GROUP_LANE_REBALANCE]);
    feed_type(g, GROUP_IN_DISCONNECTED);
    g->is_open[GROUP_LANE_REBALANCE] = false;
    struct group_input in = {.type = GROUP_IN_RESULT,
                             .result = {GROUP_LANE_REBALANCE, g->seq[GROUP_LANE_REBALANCE], &loss}};
    feed(g, &in);
    feed_type(g, GROUP_IN_EXPIRED);
    assert_false(g->is_open[GROUP_LANE_REBALANCE]);
    assert_int_equal(reader_deadline_ms(g->r), INT64_MAX);
    g->is_held = false;
    feed_type(g, GROUP_IN_CONNECTED);
    assert_int_equal(g->assigned, 1);
    assert_int_equal(g->claims[1].offset, 41);
    feed_type(g, GROUP_IN_EXPIRED);
    feed_type(g, GROUP_IN_CONNECTED);
    assert_int_equal(g->assigned, 1);
    assert_int_equal(g->stopped, 0);

    /* An answer that may pass while connected is asked for again after a moment. */
    g->is_held = true;
    commit(g, "t", 0, 5);
    g->is_open[GROUP_LANE_COMMIT] = false;
    in.result.lane = GROUP_LANE_COMMIT;
    in.result.seq = g->seq[GROUP_LANE_COMMIT];
    feed(g, &in);
    assert_int_equal(reader_deadline_ms(g->r), g->now_ms + GROUP_RESEND_MS);
    g->now_ms += GROUP_RESEND_MS;
    g->is_held = false;
    feed_type(g, GROUP_IN_TIME);
    assert_string_equal(fake_zk_text(g->zk, "/consumers/g/offsets/t/0"), "5");
    rig_free(g);
}

static void lose_leader(struct rig *g, const char *topic, int32_t partition)
{
    struct group_input in = {.type = GROUP_IN_LEADER_LOST, .leader_lost = {topic, partition}};
    feed(g, &in);
}

static void test_leaders(void **state)
{
    (void)state;
    struct rig *g = rig_new("g");
    lose_leader(g, "t", 0); /* nothing is read yet */
    assert_int_equal(g->operations[GROUP_LANE_FINDER], 0);
    feed_type(g, GROUP_IN_CONNECTED);
    const struct group_leader leaders[] = {
        {"t", 0, 0, "h", 1}, {"t", 1, 0, "h", 1}, {"u", 0, 0, "h", 1}, {"u", 5, 0, "h", 1}};
    struct group_input in = {
        .type = GROUP_IN_METADATA,
        .metadata = {.seq = g->question, .list = leaders, .count = ARRAY_LEN(leaders)}};
    feed(g, &in);
    assert_int_equal(g->leaders, 4);
    lose_leader(g, "t", 7);
    assert_int_equal(reader_deadline_ms(g->r), INT64_MAX);
    lose_leader(g, "u", 5);
    assert_int_equal(reader_deadline_ms(g->r), g->now_ms + 200);
    g->now_ms += 200;
    feed_type(g, GROUP_IN_TIME);
    assert_int_equal(g->questions, 2);
    rig_free(g);
}

static void test_leaves(void **state)
{
    (void)state;
    struct rig *g = rig_new("g");
    feed_type(g, GROUP_IN_CONNECTED);
    commit(g, "t", 0, 1);
    g->is_held = true;
    commit(g, "t", 0, 2);
    feed_type(g, GROUP_IN_LEAVE);
    feed_type(g, GROUP_IN_LEAVE);
    assert_int_equal(g->stopped, 1);
    int scans = g->operations[GROUP_LANE_FINDER];
    lose_leader(g, "t", 0); /* nobody fetches any more */
    assert_int_equal(g->operations[GROUP_LANE_FINDER], scans);
    feed_type(g, GROUP_IN_STOPPED);
    assert_int_equal(g->closed, 0); /* the commit is under way */
    assert_string_equal(reader_state_name(g->r), "leaving");
    g->is_held = false;
    answer_all(g);
    assert_int_equal(g->closed, 1);
    assert_string_equal(fake_zk_text(g->zk, "/consumers/g/offsets/t/0"), "2");
    feed_type(g, GROUP_IN_TIME);
    feed_type(g, GROUP_IN_CONNECTED);
    assert_int_equal(g->closed, 1);
    assert_string_equal(reader_state_name(g->r), "closed");
    size_t n;
    reader_held(g->r, &n);
    assert_int_equal(n, 0);
    rig_free(g);

    g = rig_new("g"); /* before anything */
    feed_type(g, GROUP_IN_LEAVE);
    feed_type(g, GROUP_IN_STOPPED);
    assert_int_equal(g->closed, 1);
    rig_free(g);
}

/* ---- memory ---- */

static enum zkc_err make(const void *config)
{
    struct reader *r;
    enum zkc_err err = reader_new(config, &r);
    if (!err)
        reader_free(r);
    return err;
}

static void test_new(void **state)
{
    (void)state;
    struct reader_config config = {.group = "g", .partitions = partitions, .partition_count = 4};
    alloc_fail_each(make, &config);
    config.group = NULL;
    config.partition_count = 1;
    alloc_fail_each(make, &config);
    reader_free(NULL);
}

/* All memory gone while the stored offsets of many partitions are read: it says so and starts. */
static void test_memory(void **state)
{
    (void)state;
    static struct reader_partition many[200];
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = (struct reader_partition){"t", (int32_t)i, -1, true};
    for (size_t n = 0; n < 60; n++) {
        struct reader_config config = {.group = "g",
                                       .partitions = many,
                                       .partition_count = ARRAY_LEN(many),
                                       .refresh_leader_backoff_ms = 200};
        struct reader *r;
        struct group_outputs *out = malloc(sizeof *out);
        assert_int_equal(reader_new(&config, &r), ZKC_OK);
        alloc_fail_run(n, 100000);
        struct group_input in = {.type = GROUP_IN_CONNECTED, .now_ms = 1};
        const struct zk_result none = {.zk_rc = ZK_NO_NODE};
        reader_step(r, &in, out);
        bool is_started = false;
        for (uint32_t seq = 1; seq <= ARRAY_LEN(many) && !is_started; seq++) {
            for (size_t i = 0; i < out->count; i++)
                is_started |= out->list[i].type == GROUP_OUT_ASSIGN;
            in = (struct group_input){
                .type = GROUP_IN_RESULT, .now_ms = 1, .result = {GROUP_LANE_REBALANCE, seq, &none}};
            if (!is_started)
                reader_step(r, &in, out);
        }
        alloc_fail_stop();
        assert_true(is_started);
        reader_free(r);
        free(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begins),  cmocka_unit_test(test_stored),
        cmocka_unit_test(test_commits), cmocka_unit_test(test_connection_lost),
        cmocka_unit_test(test_leaders), cmocka_unit_test(test_leaves),
        cmocka_unit_test(test_new),     cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
