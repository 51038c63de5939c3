#include "tests/unit/test.h"
#include "zkconsumer/core/group/offset_manager.h"
#include <stdlib.h>

#define BACKOFF_MS 1000
#define TIMEOUT_MS 10000

/* An offset manager, its lane, and a cluster of brokers h1:9 .. hN:9. */
struct rig {
    struct offset_manager m;
    struct lane lanes[GROUP_LANE_COUNT];
    struct group_outputs out;
    int64_t now_ms;
    int brokers;
    struct zk_op op;
    uint32_t op_seq, ask_seq;
    bool is_asked;
    enum group_offsets_request request;
    char host[16];
    int64_t timeout_ms, until_ms;
    struct group_offset list[4]; /* of the last question */
    size_t count;
    char story[200]; /* F find, R read (fetch), C commit, with the broker's number; x hang up */
    char notice[300];
    int warnings;
};

static void rig_init(struct rig *r, int brokers)
{
    struct offset_manager_config config = {
        .group = "g", .backoff_ms = BACKOFF_MS, .timeout_ms = TIMEOUT_MS, .seed = 1};
    *r = (struct rig){.brokers = brokers, .now_ms = 5000};
    offset_manager_init(&r->m, &config);
}

static void tell(struct rig *r, const char *fmt, char kind, const char *host)
{
    size_t len = strlen(r->story);
    assert_true(len + 3 < sizeof r->story);
    snprintf(r->story + len, sizeof r->story - len, fmt, kind, host);
}

static void take_ask(struct rig *r, const struct group_output *o)
{
    static const char kinds[] = {'F', 'R', 'C'};
    assert_string_equal(o->offsets_ask.group, "g");
    assert_int_equal(o->offsets_ask.port, 9);
    r->is_asked = true;
    r->ask_seq = o->offsets_ask.seq;
    r->request = o->offsets_ask.request;
    r->timeout_ms = o->offsets_ask.timeout_ms;
    r->until_ms = o->offsets_ask.until_ms;
    snprintf(r->host, sizeof r->host, "%s", o->offsets_ask.host);
    r->count = o->offsets_ask.count;
    assert_true(r->count <= ARRAY_LEN(r->list));
    for (size_t i = 0; i < r->count; i++)
        r->list[i] = o->offsets_ask.list[i];
    tell(r, "%c%s", kinds[r->request], r->host + 1);
}

static void take_outputs(struct rig *r)
{
    for (size_t i = 0; i < r->out.count; i++) {
        const struct group_output *o = &r->out.list[i];
        if (o->type == GROUP_OUT_OP) {
            assert_int_equal(o->op.lane, GROUP_LANE_OFFSETS);
            r->op = o->op.op;
            r->op_seq = o->op.seq;
        } else if (o->type == GROUP_OUT_OFFSETS_ASK) {
            take_ask(r, o);
        } else if (o->type == GROUP_OUT_OFFSETS_HANG_UP) {
            tell(r, "%c%s", 'x', "");
        } else if (o->type == GROUP_OUT_NOTICE) {
            snprintf(r->notice, sizeof r->notice, "%s", o->notice.text);
            r->warnings += o->notice.level <= 4;
        }
    }
    group_outputs_clear(&r->out);
}

static void answer_op(struct rig *r, const struct zk_result *result)
{
    if (lane_answered(&r->lanes[GROUP_LANE_OFFSETS], r->op_seq, result->zk_rc))
        offset_manager_scanned(&r->m, r->now_ms, result, r->lanes, true, &r->out);
    take_outputs(r);
}

/* Lets it go on, and answers what it reads from ZooKeeper. */
static void run(struct rig *r)
{
    offset_manager_run(&r->m, r->now_ms, r->lanes, true, false, &r->out);
    take_outputs(r);
    while (r->lanes[GROUP_LANE_OFFSETS].busy) {
        char names[8][4], data[80];
        const char *children[8];
        for (int i = 0; i < r->brokers; i++) {
            snprintf(names[i], sizeof names[i], "%d", i + 1);
            children[i] = names[i];
        }
        if (r->op.type == ZK_OP_CHILDREN) {
            answer_op(
                r, &(struct zk_result){.children = children, .children_count = (size_t)r->brokers});
            continue;
        }
        snprintf(data, sizeof data, "{\"host\":\"h%s\",\"port\":9,\"version\":1}",
                 strrchr(r->op.path, '/') + 1);
        answer_op(r, &(struct zk_result){.data = bytes_of_text(data)});
    }
}

static void answer(struct rig *r, struct group_offsets_answer *a)
{
    assert_true(r->is_asked);
    r->is_asked = false;
    a->seq = r->ask_seq;
    offset_manager_answered(&r->m, r->now_ms, a, &r->out);
    take_outputs(r);
}

static void answer_find(struct rig *r, int broker)
{
    char host[8];
    snprintf(host, sizeof host, "h%d", broker);
    assert_int_equal(r->request, GROUP_OFFSETS_FIND);
    answer(r, &(struct group_offsets_answer){.host = host, .port = 9});
}

static void answer_error(struct rig *r, int16_t kafka_error)
{
    answer(r, &(struct group_offsets_answer){.kafka_error = kafka_error, .host = "", .port = -1});
}

static void fail_question(struct rig *r)
{
    answer(r, &(struct group_offsets_answer){.failed = true, .text = "refused"});
}

/* Both partitions of t with these errors; offset 7 where there is none. */
static void answer_offsets(struct rig *r, int16_t first, int16_t second)
{
    struct group_offset list[] = {{"t", 1, second ? -1 : 7, second},
                                  {"t", 0, first ? -1 : 7, first}};
    answer(r, &(struct group_offsets_answer){.list = list, .count = 2});
}

static void begin(struct rig *r, enum offset_job_kind kind, unsigned tries)
{
    static const struct group_offset list[] = {{"t", 1, 5, 0}, {"t", 0, -1, 0}};
    assert_int_equal(
        offset_manager_begin(&r->m, kind, list, kind == OFFSET_JOB_FIND ? 0 : 2, tries), ZKC_OK);
    run(r);
}

static void advance(struct rig *r, int64_t ms)
{
    assert_int_equal(offset_manager_deadline_ms(&r->m), r->now_ms + ms);
    r->now_ms += ms - 1;
    run(r);
    assert_false(r->is_asked);
    r->now_ms++;
    run(r);
}

static struct offset_outcome expect_ended(struct rig *r, enum offset_job_kind kind,
                                          enum zkc_err err)
{
    struct offset_outcome o;
    assert_true(offset_manager_take(&r->m, kind, &o, &r->out));
    assert_int_equal(o.err, err);
    assert_false(offset_manager_take(&r->m, kind, &o, &r->out));
    return o;
}

static void expect_running(struct rig *r, enum offset_job_kind kind)
{
    struct offset_outcome o;
    assert_false(offset_manager_take(&r->m, kind, &o, &r->out));
}

/* ---- finding it ---- */

static void test_the_broker_asked_is_the_one(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    begin(&r, OFFSET_JOB_FIND, 1);
    assert_int_equal(r.timeout_ms, OFFSET_MANAGER_QUERY_TIMEOUT_MS);
    answer_find(&r, 1);
    expect_ended(&r, OFFSET_JOB_FIND, ZKC_OK);
    begin(&r, OFFSET_JOB_FETCH, 1); /* over the same connection, with its timeout (5.3, step 3) */
    assert_int_equal(r.timeout_ms, OFFSET_MANAGER_QUERY_TIMEOUT_MS);
    assert_string_equal(r.story, "F1R1");
    offset_manager_deinit(&r.m);
}

static void test_it_is_another_broker(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    begin(&r, OFFSET_JOB_FETCH, 1);
    answer_find(&r, 2);
    assert_string_equal(r.story, "F1R2");
    assert_int_equal(r.timeout_ms, TIMEOUT_MS);
    answer_offsets(&r, 0, 0);
    struct offset_outcome o = expect_ended(&r, OFFSET_JOB_FETCH, ZKC_OK);
    assert_int_equal(o.count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(o.list[i].partition, i);
        assert_int_equal(o.list[i].offset, 7);
    }
    offset_manager_deinit(&r.m);
}

/* Code 15: the same broker again after the backoff; without one: no broker is known. */
static void test_there_is_none_yet(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    begin(&r, OFFSET_JOB_FIND, 1);
    for (int i = 0; i < 3; i++) {
        answer_error(&r, 15);
        advance(&r, BACKOFF_MS);
    }
    answer_find(&r, 1);
    assert_string_equal(r.story, "F1F1F1F1");
    expect_ended(&r, OFFSET_JOB_FIND, ZKC_OK);
    offset_manager_deinit(&r.m);
}

static void test_no_broker_is_registered(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 0);
    begin(&r, OFFSET_JOB_FIND, 1);
    assert_string_equal(r.story, "");
    r.brokers = 1;
    advance(&r, OFFSET_MANAGER_SEARCH_PAUSE_MS);
    assert_string_equal(r.story, "F1");
    offset_manager_deinit(&r.m);
}

/* A broker that cannot be asked: another one, chosen anew from what is registered then. */
static void test_a_dead_broker_is_asked(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 3);
    begin(&r, OFFSET_JOB_FIND, 1);
    bool seen[4] = {0};
    for (int i = 0; i < 30; i++) {
        seen[r.host[1] - '0'] = true;
        r.story[0] = 0;
        fail_question(&r);
        assert_string_equal(r.story, "x");
        advance(&r, OFFSET_MANAGER_SEARCH_PAUSE_MS);
    }
    assert_true(seen[1] && seen[2] && seen[3]);
    expect_running(&r, OFFSET_JOB_FIND);
    offset_manager_deinit(&r.m);
}

/* ---- fetching ---- */

static void test_fetch_is_repeated_without_limit(void **state)
{
    (void)state;
    static const struct {
        int16_t first, second; /* errors; -100: no answer */
        const char *story;     /* from the answer to the next question */
    } cases[] = {
        {14, 0, "R1"},                      /* offsets are being loaded: the same one again */
        {0, 14, "R1"},    {16, 0, "xF1R1"}, /* it has moved: looked for again */
        {0, 16, "xF1R1"}, {14, 16, "xF1R1"}, {-100, 0, "xF1R1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r;
        rig_init(&r, 1);
        begin(&r, OFFSET_JOB_FETCH, 1);
        answer_find(&r, 1);
        for (int k = 0; k < 20; k++) {
            r.story[0] = 0;
            if (cases[i].first == -100)
                fail_question(&r);
            else
                answer_offsets(&r, cases[i].first, cases[i].second);
            expect_running(&r, OFFSET_JOB_FETCH);
            advance(&r, BACKOFF_MS);
            if (r.request == GROUP_OFFSETS_FIND)
                answer_find(&r, 1);
            assert_string_equal(r.story, cases[i].story);
        }
        answer_offsets(&r, 0, 0);
        expect_ended(&r, OFFSET_JOB_FETCH, ZKC_OK);
        offset_manager_deinit(&r.m);
    }
}

/* 0.8.2's fault: any other error is ignored, and -1 that comes with it resets the position. */
static void test_other_errors_count_as_nothing_stored(void **state)
{
    (void)state;
    static const int16_t codes[] = {3, 12, 15, -1, 29};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct rig r;
        rig_init(&r, 1);
        begin(&r, OFFSET_JOB_FETCH, 1);
        answer_find(&r, 1);
        answer_offsets(&r, codes[i], 0);
        struct offset_outcome o = expect_ended(&r, OFFSET_JOB_FETCH, ZKC_OK);
        assert_int_equal(o.list[0].offset, -1);
        assert_int_equal(o.list[1].offset, 7);
        assert_int_equal(r.warnings, 1);
        assert_non_null(strstr(r.notice, "[t,0]"));
        offset_manager_deinit(&r.m);
    }
}

/* An answer that lacks a partition, or names one twice, is none; one of a partition that was not
 * asked for is passed over (KAFKA-1851). */
static void test_odd_answers(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    begin(&r, OFFSET_JOB_FETCH, 1);
    answer_find(&r, 1);
    struct group_offset twice[] = {{"t", 0, 1, 0}, {"t", 0, 2, 0}};
    answer(&r, &(struct group_offsets_answer){.list = twice, .count = 2});
    expect_running(&r, OFFSET_JOB_FETCH);
    advance(&r, BACKOFF_MS);
    answer_find(&r, 1);
    struct group_offset extra[] = {{"t", 0, 1, 0}, {"u", 0, 9, 0}, {"t", 1, 2, 0}, {"t", 2, 9, 3}};
    answer(&r, &(struct group_offsets_answer){.list = extra, .count = 4});
    struct offset_outcome o = expect_ended(&r, OFFSET_JOB_FETCH, ZKC_OK);
    assert_int_equal(o.list[0].offset, 1);
    assert_int_equal(o.list[1].offset, 2);
    assert_int_equal(r.warnings, 1); /* of the first answer */
    offset_manager_deinit(&r.m);
}

/* ---- committing ---- */

static void test_commit(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned tries;
        int16_t answers[8]; /* of [t,0]; -100: none comes */
        enum zkc_err err;
        const char *story; /* after F1 */
    } cases[] = {
        {"taken", 1, {0}, ZKC_OK, "C1"},
        {"refused, one try", 1, {3}, ZKC_ERR_BROKER, "C1"},
        {"not the one, one try", 1, {16}, ZKC_ERR_BROKER, "C1x"},
        {"none there, one try", 1, {15}, ZKC_ERR_BROKER, "C1x"},
        {"no answer, one try", 1, {-100}, ZKC_ERR_UNREACHABLE, "C1x"},
        {"too large is not tried again", 6, {12}, ZKC_ERR_BROKER, "C1"},
        {"tried again", 6, {14, 3, 0}, ZKC_OK, "C1C1C1"},
        {"looked for again", 6, {16, 15, 0}, ZKC_OK, "C1xF1C1xF1C1"},
        {"no answer, then one", 6, {-100, 0}, ZKC_OK, "C1xF1C1"},
        {"given up", 3, {3, 3, 3}, ZKC_ERR_BROKER, "C1C1C1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r;
        struct offset_outcome o;
        rig_init(&r, 1);
        begin(&r, OFFSET_JOB_COMMIT, cases[i].tries);
        answer_find(&r, 1);
        for (int k = 0; !offset_manager_take(&r.m, OFFSET_JOB_COMMIT, &o, &r.out); k++) {
            assert_true(k < 8);
            if (k > 0)
                advance(&r, BACKOFF_MS);
            if (r.request == GROUP_OFFSETS_FIND)
                answer_find(&r, 1);
            assert_int_equal(r.list[0].offset, -1); /* unknown positions go along */
            assert_int_equal(r.list[1].offset, 5);
            if (cases[i].answers[k] == -100)
                fail_question(&r);
            else
                answer_offsets(&r, cases[i].answers[k], 0);
        }
        if (o.err != cases[i].err || strcmp(r.story + 2, cases[i].story) != 0)
            fail_msg("%s: %s, %s", cases[i].name, zkc_err_name(o.err), r.story);
        assert_int_equal(o.list[1].offset, 5);
        assert_true(o.err == ZKC_OK || o.text[0]);
        offset_manager_deinit(&r.m);
    }
}

/* A fetch that waits to be repeated leaves the connection to a commit, and can be given up. */
static void test_jobs_take_turns(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    begin(&r, OFFSET_JOB_FETCH, 1);
    answer_find(&r, 1);
    begin(&r, OFFSET_JOB_COMMIT, 1);
    assert_string_equal(r.story, "F1R1");
    assert_false(offset_manager_cancel(&r.m, OFFSET_JOB_FETCH)); /* it is being tried */
    answer_offsets(&r, 14, 0);
    run(&r);
    assert_string_equal(r.story, "F1R1C1");
    answer_offsets(&r, 0, 0);
    expect_ended(&r, OFFSET_JOB_COMMIT, ZKC_OK);
    assert_true(offset_manager_cancel(&r.m, OFFSET_JOB_FETCH));
    assert_false(offset_manager_cancel(&r.m, OFFSET_JOB_FETCH));
    assert_true(offset_manager_deadline_ms(&r.m) == INT64_MAX);
    offset_manager_deinit(&r.m);
}

static void test_late_answers_are_ignored(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    begin(&r, OFFSET_JOB_FETCH, 1);
    uint32_t old = r.ask_seq;
    answer_find(&r, 1);
    struct group_offsets_answer late = {.seq = old, .host = "h2", .port = 9};
    offset_manager_answered(&r.m, r.now_ms, &late, &r.out);
    take_outputs(&r);
    assert_string_equal(r.story, "F1R1");
    answer_offsets(&r, 0, 0);
    struct group_offsets_answer twice = {.seq = r.ask_seq, .failed = true, .text = "late"};
    offset_manager_answered(&r.m, r.now_ms, &twice, &r.out);
    take_outputs(&r);
    expect_ended(&r, OFFSET_JOB_FETCH, ZKC_OK);
    offset_manager_deinit(&r.m);
}

/* ---- owners that have a word in it ---- */

/* Partition 0 may be sent until 6000, 1 until 7000. */
static int64_t until_ms(const struct group_offset *offset, const void *owner)
{
    const int64_t *late = owner;
    return *late + 1000 * offset->partition;
}

static void test_a_commit_is_sent_while_its_owner_lets_it(void **state)
{
    (void)state;
    static const struct {
        int64_t now_ms, until_ms;
        size_t count;
        int32_t first;
    } cases[] = {{5999, 6000, 2, 0}, {6000, 7000, 1, 1}, {6999, 7000, 1, 1}, {7000, 0, 0, 0}};
    static const int64_t late = 6000;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r;
        rig_init(&r, 1);
        r.m.until_ms = until_ms;
        r.m.owner = &late;
        begin(&r, OFFSET_JOB_COMMIT, 2);
        r.now_ms = cases[i].now_ms; /* the search took that long */
        answer_find(&r, 1);
        struct offset_outcome o;
        if (cases[i].count == 0) {
            o = expect_ended(&r, OFFSET_JOB_COMMIT, ZKC_OK);
            assert_int_equal(o.count, 0);
            assert_string_equal(r.story, "F1"); /* nobody was asked */
        } else {
            assert_int_equal(r.count, cases[i].count);
            assert_int_equal(r.list[0].partition, cases[i].first);
            assert_int_equal(r.until_ms, cases[i].until_ms);
            /* asked again for each try */
            answer_offsets(&r, 3, 3);
            r.now_ms = 8000;
            run(&r);
            o = expect_ended(&r, OFFSET_JOB_COMMIT, ZKC_OK);
            assert_int_equal(o.count, 0);
            assert_string_equal(r.story, "F1C1");
        }
        offset_manager_deinit(&r.m);
    }
}

/* Given up in each moment; the next job of the kind begins as if there had been none. */
static void test_a_job_is_dropped(void **state)
{
    (void)state;
    static const struct {
        int answers; /* before */
        bool is_asked;
        const char *story;
    } cases[] = {{0, false, "F1R1"}, {1, true, "F1R1xF1R1"}, {2, false, "F1R1R1"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r;
        rig_init(&r, 1);
        assert_true(offset_manager_is_free(&r.m, OFFSET_JOB_FETCH));
        begin(&r, OFFSET_JOB_FETCH, 1);
        if (cases[i].answers > 0)
            answer_find(&r, 1);
        if (cases[i].answers > 1)
            answer_offsets(&r, 14, 14); /* it waits for its next try */
        assert_false(offset_manager_is_free(&r.m, OFFSET_JOB_FETCH));
        assert_int_equal(offset_manager_is_asked(&r.m, OFFSET_JOB_FETCH), cases[i].is_asked);
        offset_manager_drop(&r.m, OFFSET_JOB_FETCH, &r.out);
        take_outputs(&r);
        assert_true(offset_manager_is_free(&r.m, OFFSET_JOB_FETCH));
        expect_running(&r, OFFSET_JOB_FETCH); /* no outcome */
        begin(&r, OFFSET_JOB_FETCH, 1);
        if (r.is_asked && r.request == GROUP_OFFSETS_FIND)
            answer_find(&r, 1);
        run(&r);
        answer_offsets(&r, 0, 0);
        expect_ended(&r, OFFSET_JOB_FETCH, ZKC_OK);
        assert_string_equal(r.story, cases[i].story);
        offset_manager_deinit(&r.m);
    }
}

/* A search that nobody needs any more comes to an end. */
static void test_a_search_ends_with_its_job(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    begin(&r, OFFSET_JOB_COMMIT, 1);
    fail_question(&r);
    offset_manager_drop(&r.m, OFFSET_JOB_COMMIT, &r.out);
    r.now_ms += OFFSET_MANAGER_SEARCH_PAUSE_MS;
    run(&r);
    assert_false(r.is_asked);
    assert_int_equal(offset_manager_deadline_ms(&r.m), INT64_MAX);
    offset_manager_deinit(&r.m);
}

static void test_errors_are_left_to_the_owner(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    r.m.keeps_errors = true;
    begin(&r, OFFSET_JOB_FETCH, 1);
    answer_find(&r, 1);
    answer_offsets(&r, 3, 0);
    struct offset_outcome o = expect_ended(&r, OFFSET_JOB_FETCH, ZKC_OK);
    assert_int_equal(o.list[0].kafka_error, 3);
    assert_int_equal(o.list[1].offset, 7);
    assert_int_equal(r.warnings, 0); /* it is not said to be nothing stored */
    offset_manager_deinit(&r.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_broker_asked_is_the_one),
        cmocka_unit_test(test_it_is_another_broker),
        cmocka_unit_test(test_there_is_none_yet),
        cmocka_unit_test(test_no_broker_is_registered),
        cmocka_unit_test(test_a_dead_broker_is_asked),
        cmocka_unit_test(test_fetch_is_repeated_without_limit),
        cmocka_unit_test(test_other_errors_count_as_nothing_stored),
        cmocka_unit_test(test_odd_answers),
        cmocka_unit_test(test_commit),
        cmocka_unit_test(test_jobs_take_turns),
        cmocka_unit_test(test_late_answers_are_ignored),
        cmocka_unit_test(test_a_commit_is_sent_while_its_owner_lets_it),
        cmocka_unit_test(test_a_job_is_dropped),
        cmocka_unit_test(test_a_search_ends_with_its_job),
        cmocka_unit_test(test_errors_are_left_to_the_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
