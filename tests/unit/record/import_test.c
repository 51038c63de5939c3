/* The golden scenes as traces: what happened in each is found by the checkers of real and simulated
 * runs, and no MUST is violated; and captures that are broken. */
#include "study/check/check.h"
#include "study/check/decode.h"
#include "study/record/import.h"
#include "study/trace/event_json.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "tests/unit/vectors.h"
#include <inttypes.h>

/* Events go through their JSON, as they do between the commands. */
struct through {
    struct buf line;
    struct trace_decoder decoder;
    struct check *check;
    uint64_t counts[TRACE_TYPE_COUNT];
    struct buf told; /* what the test wants to see, a line each */
};

static void tell(struct through *t, const struct trace_event *e)
{
    switch (e->type) {
    case TRACE_RB_TRY_END:
        buf_appendf(&t->told, "%s try %u.%u %s\n", e->m, e->rb_try_end.rb, e->rb_try_end.i,
                    e->rb_try_end.ok ? "ok" : e->rb_try_end.why);
        break;
    case TRACE_RB_END:
        buf_appendf(&t->told, "%s rebalance %u %s\n", e->m, e->rb_end.rb,
                    e->rb_end.ok        ? "ok"
                    : e->rb_end.gave_up ? "gave up"
                                        : "ended");
        break;
    case TRACE_OWN_BEGIN:
        buf_appendf(&t->told, "%s owns %s/%d from %" PRId64 "\n", e->m, e->own.p.topic,
                    e->own.p.partition, e->own.offset);
        break;
    case TRACE_OWN_END:
        buf_appendf(&t->told, "%s ends %s/%d %s\n", e->m, e->own.p.topic, e->own.p.partition,
                    e->own.why);
        break;
    case TRACE_RELEASE:
        if (e->release.foreign > 0)
            buf_appendf(&t->told, "%s deletes another's %s/%d\n", e->m, e->release.p.topic,
                        e->release.p.partition);
        break;
    case TRACE_COMMIT:
        buf_appendf(&t->told, "%s commits %" PRId64 " of %s/%d %s\n", e->m, e->offset.offset,
                    e->offset.p.topic, e->offset.p.partition, e->offset.rc);
        break;
    case TRACE_M_EXIT:
        buf_appendf(&t->told, "%s %s\n", e->m, e->m_exit.is_clean ? "leaves" : "dies");
        break;
    default: break;
    }
}

static void pass(const struct trace_event *event, void *user)
{
    struct through *t = user;
    struct trace_event e;
    struct why why;
    t->counts[event->type]++;
    tell(t, event);
    buf_clear(&t->line);
    trace_event_json(event, &t->line);
    assert_int_equal(t->line.failed, ZKC_OK);
    struct bytes text = bytes_of(t->line.data, t->line.len - 1);
    if (trace_decode(&t->decoder, text, &e, &why) != TRACE_LINE_EVENT)
        fail_msg("%.*s: %s", (int)text.len, (const char *)text.data, why.text);
    check_take(&e, t->check);
}

static void through_init(struct through *t)
{
    *t = (struct through){0};
    buf_init(&t->line, TRACE_LINE_MAX);
    buf_init(&t->told, 1 << 20);
    trace_decoder_init(&t->decoder);
    t->check = check_new(NULL);
    assert_non_null(t->check);
}

static void through_deinit(struct through *t)
{
    buf_deinit(&t->line);
    buf_deinit(&t->told);
    trace_decoder_deinit(&t->decoder);
    check_free(t->check);
}

static const struct import_options plain = {.backoff_ms = 2000, .attempts_max = 4};

/* The lines of a capture, all of which must be taken; up to a mark, if one is named. */
static struct import *take_texts(const char *const *lines, size_t count,
                                 const struct import_options *o, const char *until)
{
    struct capture_decoder d;
    struct capture_line line;
    struct why why;
    struct import *x = import_new(o);
    assert_non_null(x);
    capture_decoder_init(&d);
    for (size_t i = 0; i < count; i++) {
        if (!capture_decode(&d, bytes_of_text(lines[i]), &line, &why) ||
            !import_take(x, &line, &why))
            fail_msg("line %zu: %s", i + 1, why.text);
        if (until && line.kind == CAPTURE_MARK && strcmp(line.text, until) == 0)
            break;
    }
    capture_decoder_deinit(&d);
    return x;
}

static struct import *take_lines(const struct vectors *v, const struct import_options *o,
                                 const char *until)
{
    return take_texts((const char *const *)v->lines, v->count, o, until);
}

static void run_capture(struct through *t, const char *file, const struct import_options *o,
                        const char *until)
{
    struct why why;
    struct vectors v = vectors_read(file);
    struct import *x = take_lines(&v, o, until);
    struct trace_sink sink = {TRACE_LEVEL_MAX, pass, t};
    through_init(t);
    enum zkc_err err = import_finish(x, &sink, &why);
    if (err)
        fail_msg("%s: %s", file, why.text);
    assert_int_equal(check_finish(t->check), ZKC_OK);
    import_free(x);
    vectors_free(&v);
}

static void run_scene(struct through *t, const char *name, const struct import_options *o,
                      const char *until)
{
    char file[64];
    snprintf(file, sizeof file, "zookeeper/%s.jsonl", name);
    run_capture(t, file, o, until);
}

/* ---- all scenes ---- */

struct expected {
    enum check_id id;
    uint64_t found;
};

static const struct scene_case {
    const char *name;
    uint64_t started, left, died; /* members */
    uint64_t rebalances, attempts;
    struct expected found[8]; /* of counts; all others are 0, or not decided */
    const char *strategy;
} scenes[] = {
    {"first-member", 1, 1, 0, 1, 1, {{CHECK_VIEWS, 1}}, NULL},
    {"join-leave", 3, 3, 0, 9, 10, {{CHECK_VIEWS, 1}, {CHECK_CLAIM_CONFLICTS, 2}}, NULL},
    {"crash", 2, 1, 1, 4, 4, {{CHECK_VIEWS, 1}, {CHECK_DUPLICATES, 4}}, NULL},
    {"two-at-once", 2, 2, 0, 3, 6, {{CHECK_VIEWS, 1}, {CHECK_GIVE_UPS, 1}}, NULL},
    {"partitions-added", 2, 0, 0, 5, 5, {{CHECK_VIEWS, 1}}, NULL},
    {"more-members-than-partitions",
     3,
     3,
     0,
     9,
     10,
     {{CHECK_VIEWS, 1}, {CHECK_CLAIM_CONFLICTS, 1}},
     NULL},
    {"no-auto-commit", 2, 2, 0, 4, 4, {{CHECK_VIEWS, 1}, {CHECK_DUPLICATES, 8}}, NULL},
    {"conflict-giveup",
     2,
     0,
     0,
     3,
     6,
     {{CHECK_VIEWS, 1}, {CHECK_CLAIM_CONFLICTS, 4}, {CHECK_GIVE_UPS, 1}},
     NULL},
    {"conflict-resolved", 1, 1, 0, 1, 4, {{CHECK_VIEWS, 1}, {CHECK_CLAIM_CONFLICTS, 3}}, NULL},
    {"conflict-node-gone", 2, 0, 0, 3, 4, {{CHECK_VIEWS, 1}, {CHECK_CLAIM_CONFLICTS, 1}}, NULL},
    {"slow-owner", 2, 2, 0, 4, 6, {{CHECK_VIEWS, 1}, {CHECK_CLAIM_CONFLICTS, 2}}, NULL},
    {"connection-loss", 2, 0, 0, 3, 5, {{CHECK_VIEWS, 1}, {CHECK_CLAIM_CONFLICTS, 2}}, NULL},
    /* the script that stood in the way deletes its own registration, as no member does */
    {"id-exists", 1, 1, 0, 1, 1, {{CHECK_VIEWS, 1}, {CHECK_Z9, 1}}, NULL},
    {"restart-same-id", 3, 2, 1, 7, 7, {{CHECK_VIEWS, 1}}, NULL},
    {"expiry-alone", 1, 1, 0, 4, 4, {{CHECK_VIEWS, 1}, {CHECK_DUPLICATES, 10}}, NULL},
    {"broker-added-removed", 1, 1, 0, 1, 1, {{CHECK_VIEWS, 1}}, NULL},
    {"topic-missing-then-created", 1, 1, 0, 3, 3, {{CHECK_VIEWS, 1}}, NULL},
    {"mixed-0.8.1.1", 3, 3, 0, 9, 10, {{CHECK_VIEWS, 1}, {CHECK_CLAIM_CONFLICTS, 1}}, NULL},
    {"five-at-once", 6, 6, 0, 11, 12, {{CHECK_VIEWS, 1}, {CHECK_CLAIM_CONFLICTS, 2}}, NULL},
    {"bad-offset", 1, 1, 0, 1, 4, {{CHECK_GIVE_UPS, 1}}, NULL},
    {"commit-timer", 2, 2, 0, 2, 2, {{CHECK_VIEWS, 1}}, NULL},
    {"static-and-filter", 3, 3, 0, 9, 9, {{CHECK_VIEWS, 1}}, NULL},
    {"roundrobin", 3, 3, 0, 9, 19, {{CHECK_VIEWS, 2}, {CHECK_CLAIM_CONFLICTS, 3}}, "roundrobin"},
    {"streams-topics", 4, 4, 0, 16, 17, {{CHECK_VIEWS, 4}, {CHECK_CLAIM_CONFLICTS, 1}}, NULL},
    {"zero-brokers", 2, 2, 0, 5, 5, {{CHECK_VIEWS, 1}}, NULL},
    {"orphan",
     2,
     2,
     0,
     4,
     7,
     {{CHECK_VIEWS, 1}, {CHECK_CLAIM_CONFLICTS, 4}, {CHECK_GIVE_UPS, 1}},
     NULL},
    {"foreign-owner-deleted",
     2,
     0,
     0,
     3,
     3,
     {{CHECK_VIEWS, 1}, {CHECK_FOREIGN_DELETES, 2}, {CHECK_STALE_COMMITS, 1}},
     NULL},
    {"stale-offset", 2, 2, 0, 4, 4, {{CHECK_VIEWS, 1}, {CHECK_DUPLICATES, 3}}, NULL},
    {"late-commit",
     2,
     2,
     0,
     9,
     10,
     {{CHECK_VIEWS, 2},
      {CHECK_CLAIM_CONFLICTS, 1},
      {CHECK_STALE_COMMITS, 1},
      {CHECK_REGRESSIONS, 1},
      {CHECK_REGRESSION_DEPTH, 2},
      {CHECK_DUPLICATES, 6}},
     NULL},
    {"expiry",
     2,
     2,
     0,
     9,
     10,
     {{CHECK_VIEWS, 2}, {CHECK_CLAIM_CONFLICTS, 2}, {CHECK_DUPLICATES, 8}},
     NULL},
};

static uint64_t exits(const struct through *t, const char *how)
{
    uint64_t n = 0;
    const char *at = buf_text((struct buf *)&t->told);
    while (at && (at = strstr(at, how))) {
        n++;
        at++;
    }
    return n;
}

static void expect_number(const char *scene, const char *what, uint64_t got, uint64_t wanted)
{
    if (got != wanted)
        fail_msg("%s: %" PRIu64 " %s, expected %" PRIu64, scene, got, what, wanted);
}

static void expect_found(const struct scene_case *c, const struct through *t)
{
    for (int id = 0; id < CHECK_COUNT; id++) {
        struct check_result r = check_result(t->check, (enum check_id)id);
        uint64_t wanted = 0;
        for (size_t i = 0; i < ARRAY_LEN(c->found); i++)
            if (c->found[i].found && c->found[i].id == (enum check_id)id)
                wanted = c->found[i].found;
        if (id >= CHECK_DUAL && id <= CHECK_RECORD_MISMATCH)
            continue; /* times */
        if (r.found != wanted || (wanted && r.unknown))
            fail_msg("%s: %s is %" PRIu64 ", expected %" PRIu64 ": %s%s", c->name, r.id, r.found,
                     wanted, r.first ? r.first : "", r.unknown ? r.unknown : "");
    }
}

static void test_scenes(void **state)
{
    (void)state;
    for (const struct scene_case *c = scenes; c < scenes + ARRAY_LEN(scenes); c++) {
        struct import_options o = plain;
        struct through t;
        o.strategy = c->strategy;
        run_scene(&t, c->name, &o, NULL);
        expect_found(c, &t);
        assert_int_equal(t.counts[TRACE_M_START], c->started);
        expect_number(c->name, "left", exits(&t, " leaves\n"), c->left);
        expect_number(c->name, "died", exits(&t, " dies\n"), c->died);
        expect_number(c->name, "rebalances", t.counts[TRACE_RB_BEGIN], c->rebalances);
        expect_number(c->name, "attempts", t.counts[TRACE_RB_TRY_END], c->attempts);
        through_deinit(&t);
    }
}

/* ---- what an attempt costs ---- */

struct attempts { /* of one member at a time: what the attempt that is under way has */
    struct trace_event view[16], decide[16];
    char names[16][16];
    uint64_t conflicts[16], count;
    const char *scene;
};

static size_t member_index(struct attempts *a, const char *m)
{
    size_t i = 0;
    while (a->names[i][0] && strcmp(a->names[i], m) != 0)
        i++;
    assert_true(i < ARRAY_LEN(a->names));
    snprintf(a->names[i], sizeof a->names[i], "%s", m);
    return i;
}

/* Reads of an attempt of a member with one topic, with 2 brokers, without the leader finder's:
 * 2 (B + 1) + n + T + A + K + 4 (zookeeper-consumer.md 3.3). */
static void add_up(const struct trace_event *e, void *user)
{
    struct attempts *a = user;
    if (!e->m)
        return;
    size_t i = member_index(a, e->m);
    switch (e->type) {
    case TRACE_RB_TRY: a->conflicts[i] = a->view[i].type = a->decide[i].type = 0; break;
    case TRACE_VIEW: a->view[i] = *e; break;
    case TRACE_DECIDE: a->decide[i] = *e; break;
    case TRACE_CLAIM: a->conflicts[i] += strcmp(e->claim.rc, "exists") == 0; break;
    case TRACE_RB_TRY_END: {
        const uint64_t *ops = e->rb_try_end.ops;
        uint64_t reads = ops[TRACE_OP_GET] + ops[TRACE_OP_CHILDREN] + ops[TRACE_OP_EXISTS];
        uint64_t wanted = 2 * 3 + a->view[i].view.member_count + 1 + a->decide[i].decide.count +
                          a->conflicts[i] + 4;
        assert_int_equal(a->view[i].type, TRACE_VIEW);
        if (reads != wanted)
            fail_msg("%s: %s, attempt %u of rebalance %u reads %" PRIu64
                     " times, expected %" PRIu64,
                     a->scene, e->m, e->rb_try_end.i, e->rb_try_end.rb, reads, wanted);
        a->count++;
        break;
    }
    default: break;
    }
}

static void test_cost(void **state)
{
    static const struct {
        const char *scene;
        uint64_t attempts;
    } cases[] = {{"join-leave", 10},
                 {"five-at-once", 12},
                 {"two-at-once", 6},
                 {"crash", 4},
                 {"orphan", 7},
                 {"stale-offset", 4},
                 {"slow-owner", 6},
                 {"conflict-giveup", 6},
                 {"conflict-resolved", 4},
                 {"conflict-node-gone", 4},
                 {"no-auto-commit", 4},
                 {"partitions-added", 5},
                 {"restart-same-id", 7},
                 {"foreign-owner-deleted", 3},
                 {"more-members-than-partitions", 10}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char file[64];
        struct why why;
        struct attempts a = {.scene = cases[i].scene};
        struct trace_sink sink = {TRACE_LEVEL_MAX, add_up, &a};
        snprintf(file, sizeof file, "zookeeper/%s.jsonl", cases[i].scene);
        struct vectors v = vectors_read(file);
        struct import *x = take_lines(&v, &plain, NULL);
        assert_int_equal(import_finish(x, &sink, &why), ZKC_OK);
        if (a.count != cases[i].attempts)
            fail_msg("%s: %" PRIu64 " attempts", cases[i].scene, a.count);
        import_free(x);
        vectors_free(&v);
    }
}

/* ---- stories ---- */

static const struct story_case {
    const char *scene, *until, *story;
} stories[] = {
    {"orphan", "m2 shutdown",
     "m1 try 1.0 ok\nm1 owns t/1 from -1\nm1 owns t/0 from -1\nm1 rebalance 1 ok\n"
     "m2 try 1.0 exists\nm2 try 1.1 exists\nm2 try 1.2 exists\nm2 try 1.3 exists\n"
     "m2 rebalance 1 gave up\n"
     "m1 commits 3 of t/0 ok\nm1 commits 3 of t/1 ok\nm1 ends t/0 release\nm1 ends t/1 release\n"
     "m1 try 2.0 ok\nm1 owns t/0 from 3\nm1 rebalance 2 ok\n"},
    {"stale-offset", "shutdown",
     "m1 try 1.0 ok\nm1 owns t/1 from -1\nm1 owns t/0 from -1\nm1 rebalance 1 ok\n"
     "m1 commits 3 of t/0 ok\nm1 commits 3 of t/1 ok\nm1 ends t/0 release\nm1 ends t/1 release\n"
     "m1 try 2.0 ok\nm1 owns t/0 from 3\nm1 rebalance 2 ok\n"
     "m2 try 1.0 ok\nm2 owns t/1 from -1\nm2 rebalance 1 ok\n"},
    {"foreign-owner-deleted", NULL,
     "m1 try 1.0 ok\nm1 owns t/1 from -1\nm1 owns t/0 from -1\nm1 rebalance 1 ok\n"
     "m1 commits 3 of t/0 ok\nm1 commits 3 of t/1 ok\nm1 ends t/0 release\nm1 ends t/1 release\n"
     "m1 deletes another's t/0\n"
     "m2 try 1.0 ok\nm2 owns t/1 from 3\nm2 rebalance 1 ok\n"
     "m1 try 2.0 ok\nm1 owns t/0 from 3\nm1 rebalance 2 ok\n"},
};

static void test_stories(void **state)
{
    (void)state;
    for (const struct story_case *c = stories; c < stories + ARRAY_LEN(stories); c++) {
        struct through t;
        run_scene(&t, c->scene, &plain, c->until);
        const char *told = buf_text(&t.told);
        if (strcmp(told, c->story) != 0)
            fail_msg("%s:\n%s\nexpected:\n%s", c->scene, told, c->story);
        through_deinit(&t);
    }
}

/* Raw lines have each operation twice, with times and zxids: nothing is left undecided that a
 * capture can show. */
static void test_raw(void **state)
{
    static const enum check_id decided[] = {CHECK_C1, CHECK_C2, CHECK_C7, CHECK_Z1,
                                            CHECK_Z2, CHECK_Z3, CHECK_Z5, CHECK_Z6,
                                            CHECK_Z7, CHECK_Z8, CHECK_Z9, CHECK_Z11};
    struct through t;
    (void)state;
    run_capture(&t, "record/zkrecord.jsonl", &plain, NULL);
    assert_string_equal(
        buf_text(&t.told),
        "m1 try 1.0 ok\nm1 owns t/1 from -1\nm1 owns t/0 from -1\nm1 rebalance 1 ok\n"
        "m1 commits 0 of t/0 ok\nm1 commits 0 of t/1 ok\nm1 ends t/0 release\nm1 ends t/1 release\n"
        "m2 try 1.0 ok\nm2 owns t/1 from 0\nm2 rebalance 1 ok\n"
        "m1 try 2.0 ok\nm1 owns t/0 from 0\nm1 rebalance 2 ok\n"
        "m2 ends t/1 exit\nm2 leaves\n"
        "m1 ends t/0 release\nm1 try 3.0 ok\nm1 owns t/1 from 0\nm1 owns t/0 from 0\n"
        "m1 rebalance 3 ok\nm1 ends t/0 exit\nm1 ends t/1 exit\nm1 leaves\n");
    for (size_t i = 0; i < ARRAY_LEN(decided); i++) {
        struct check_result r = check_result(t.check, decided[i]);
        if (r.unknown || !r.checked || r.found)
            fail_msg("%s: %" PRIu64 " of %" PRIu64 ": %s%s", r.id, r.found, r.checked,
                     r.first ? r.first : "", r.unknown ? r.unknown : "");
    }
    through_deinit(&t);
}

/* At rest before m2 is shut down, t/1 is with nobody. */
static void test_orphan(void **state)
{
    struct import_options o = plain;
    struct through t;
    (void)state;
    o.is_settled = true;
    run_scene(&t, "orphan", &o, "m2 shutdown");
    struct check_result r = check_result(t.check, CHECK_C9);
    assert_null(r.unknown);
    assert_int_equal(r.found, 1);
    through_deinit(&t);
}

/* What a scene does not show is not decided: it is neither passed nor failed. */
static void test_not_decided(void **state)
{
    static const enum check_id ids[] = {CHECK_C3, CHECK_C4, CHECK_C5, CHECK_C6,        CHECK_C10,
                                        CHECK_Z4, CHECK_Z7, CHECK_Z8, CHECK_DUPLICATES};
    struct through t;
    (void)state;
    run_scene(&t, "first-member", &plain, NULL); /* an empty topic: nothing is delivered */
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        if (!check_result(t.check, ids[i]).unknown)
            fail_msg("%s is decided", check_name(ids[i]));
    through_deinit(&t);
}

/* Members in safe mode make no attempts: what they asked for is told, and nothing derived from it.
 */
static void test_safe(void **state)
{
    struct import_options o = plain;
    struct through t;
    (void)state;
    o.is_safe = true;
    run_capture(&t, "record/zkrecord.jsonl", &o, NULL);
    for (int i = TRACE_RB_TRIGGER; i <= TRACE_COMMIT; i++)
        if (t.counts[i])
            fail_msg("%s is there", trace_type_name((enum trace_type)i));
    assert_string_equal(buf_text(&t.told), "m2 leaves\nm1 leaves\n");
    assert_true(t.counts[TRACE_ZK_OP] > 50 && t.counts[TRACE_ZK_TXN] > 20);
    assert_int_equal(check_violations(t.check), 0);
    through_deinit(&t);
}

static void test_writes_only(void **state)
{
    struct import_options o = plain;
    struct through t;
    (void)state;
    o.writes_only = true;
    run_scene(&t, "foreign-owner-deleted", &o, NULL);
    for (int i = 0; i < TRACE_TYPE_COUNT; i++)
        if (t.counts[i] && i != TRACE_RUN && i != TRACE_END && i != TRACE_ZK_TXN &&
            i != TRACE_CAUSE)
            fail_msg("%s is there", trace_type_name((enum trace_type)i));
    assert_int_equal(t.counts[TRACE_ZK_TXN], 18);
    assert_int_equal(check_result(t.check, CHECK_FOREIGN_DELETES).found, 2);
    through_deinit(&t);
}

/* ---- captures that are wrong ---- */

static const struct wrong_case {
    const char *name, *lines[6], *take_why, *finish_why;
} wrong[] = {
    {"nobody registers",
     {"{\"ms\":0,\"mark\":\"x\"}"},
     NULL,
     "no member of a group registers in it"},
    {"an answer to nothing",
     {"{\"k\":\"rsp\",\"t\":1,\"who\":\"a\",\"c\":1,\"op\":\"exists\",\"zxid\":1}"},
     "an answer to no request that is in the capture",
     "no member of a group"},
    {"an answer to another request",
     {"{\"k\":\"req\",\"t\":1,\"who\":\"a\",\"c\":1,\"op\":\"getData\",\"path\":\"/a\"}",
      "{\"k\":\"rsp\",\"t\":1,\"who\":\"a\",\"c\":1,\"op\":\"exists\",\"zxid\":1}"},
     "an answer to another request",
     "no member of a group"},
    {"back in time",
     {"{\"k\":\"open\",\"t\":5,\"who\":\"a\",\"c\":1}",
      "{\"k\":\"open\",\"t\":4,\"who\":\"a\",\"c\":2}"},
     "a time before that of the line before",
     "no member of a group"},
    {"two groups",
     {"{\"ms\":0,\"m\":\"a\",\"op\":\"create\",\"path\":\"/consumers/g/ids/a\",\"data\":null}",
      "{\"ms\":0,\"m\":\"a\",\"op\":\"create\",\"path\":\"/consumers/h/ids/a\",\"data\":null}"},
     NULL,
     "it has members of several groups, /consumers/g and /consumers/h: choose one"},
};

static void nothing(const struct trace_event *event, void *user)
{
    (void)event, (void)user;
    fail_msg("an event of a capture that cannot be told");
}

static void test_wrong(void **state)
{
    (void)state;
    for (const struct wrong_case *c = wrong; c < wrong + ARRAY_LEN(wrong); c++) {
        struct capture_decoder d;
        struct capture_line line;
        struct why why, first = {""};
        struct trace_sink sink = {TRACE_LEVEL_MAX, nothing, NULL};
        struct import *x = import_new(&plain);
        capture_decoder_init(&d);
        for (size_t i = 0; i < ARRAY_LEN(c->lines) && c->lines[i]; i++) {
            if (!capture_decode(&d, bytes_of_text(c->lines[i]), &line, &why))
                fail_msg("%s: %s", c->name, why.text);
            if (!import_take(x, &line, &why))
                first = why;
        }
        if (strncmp(first.text, c->take_why ? c->take_why : "",
                    c->take_why ? strlen(c->take_why) : 1) != 0)
            fail_msg("%s: \"%s\"", c->name, first.text);
        assert_int_equal(import_finish(x, &sink, &why), ZKC_ERR_INVALID);
        if (strncmp(why.text, c->finish_why, strlen(c->finish_why)) != 0)
            fail_msg("%s: %s", c->name, why.text);
        import_free(x);
        capture_decoder_deinit(&d);
    }
}

static void note_refused(const struct trace_event *event, void *user)
{
    if (event->type == TRACE_ZK_TXN && strcmp(event->zk_txn.what, "error") == 0)
        *(int64_t *)user = event->zk_txn.zxid;
}

/* ---- with a server's log ---- */

#define AT(ms) "\"ns\":" #ms "000000,\"who\":\"a\",\"c\":1,"
#define CREATE(path)                                                                               \
    "\"op\":\"create\",\"path\":\"/consumers/g/" path "\",\"data\":null,\"flags\":\"E\"}"

/* a registers, is answered, claims t/0, and the link is cut before the answer. */
static const char *const half_told[] = {
    "{\"k\":\"open\"," AT(1) "\"seq\":1}",
    "{\"k\":\"conn\"," AT(1) "\"zxid\":0,\"timeout\":6000,\"s\":\"0\"}",
    "{\"k\":\"connok\"," AT(2) "\"timeout\":6000,\"s\":\"S1\"}",
    "{\"k\":\"req\"," AT(10) "\"xid\":1," CREATE("ids/a"),
    "{\"k\":\"rsp\"," AT(
        14) "\"xid\":1,\"op\":\"create\",\"path\":\"/consumers/g/ids/a\",\"zxid\":7}",
    "{\"k\":\"req\"," AT(20) "\"xid\":2," CREATE("owners/t/0"),
    "{\"k\":\"close\"," AT(21) "\"why\":\"cut\"}",
    "{\"k\":\"open\",\"ns\":90000000,\"who\":\"a\",\"c\":2}",
};

static struct txn txn_of(int64_t zxid, int64_t time_ms, enum txn_kind kind, int32_t cxid,
                         struct txn_part *part, const char *path)
{
    *part = (struct txn_part){.kind = kind,
                              .path = bytes_of_text(path),
                              .data = bytes_of_text("a-0"),
                              .is_ephemeral = true};
    return (struct txn){.session = 1,
                        .cxid = cxid,
                        .zxid = zxid,
                        .time_ms = time_ms,
                        .kind = kind,
                        .parts = part,
                        .part_count = *path ? 1 : 0};
}

static void ignore(const struct trace_event *event, void *user)
{
    (void)event, (void)user;
}

static void tell_txn(const struct trace_event *e, void *user)
{
    if (e->type == TRACE_RUN && e->run.is_logged)
        buf_append_text(user, "all\n");
    if (e->type == TRACE_ZK_TXN)
        buf_appendf(user, "%" PRId64 " %d ms: %s %s %s %u/%u%s\n", e->zk_txn.zxid,
                    (int)(e->t_ns / 1000000), e->m ? e->m : "-", e->zk_txn.what, e->zk_txn.path,
                    e->zk_txn.part + 1, e->zk_txn.parts,
                    e->zk_txn.ephemeral_owner ? " ephemeral" : "");
}

/* What is told of half_told's writes with these of the log; how many recorded ones that lacks. */
static uint64_t tell_with_log(const struct txn *log, size_t count, struct buf *text)
{
    struct import_options o = plain;
    struct why why;
    struct trace_sink sink = {TRACE_LEVEL_MAX, tell_txn, text};
    o.is_safe = o.writes_only = o.has_origin = true;
    struct import *x = take_texts(half_told, ARRAY_LEN(half_told), &o, NULL);
    buf_init(text, 1 << 16);
    for (size_t i = 0; i < count; i++)
        assert_true(import_take_txn(x, &log[i]));
    assert_int_equal(import_finish(x, &sink, &why), ZKC_OK);
    uint64_t unlogged = import_unlogged(x);
    import_free(x);
    return unlogged;
}

/* What nobody was answered is there, at the leader's time (whose clock is 5 s ahead), and so is the
 * end of the session, at its place; another's group is not. */
static void test_log(void **state)
{
    static const char told[] = "all\n"
                               "7 11 ms: a create /consumers/g/ids/a 1/1 ephemeral\n"
                               "8 24 ms: a create /consumers/g/owners/t/0 1/1 ephemeral\n"
                               "10 59 ms: - error  1/1\n"
                               "11 79 ms: a close /consumers/g/ids/a 1/2 ephemeral\n"
                               "11 79 ms: a close /consumers/g/owners/t/0 2/2 ephemeral\n";
    struct txn_part parts[6];
    const struct txn log[] = {
        txn_of(11, 5078, TXN_CLOSE_SESSION, 0, &parts[0], ""),
        txn_of(6, 5000, TXN_CREATE_SESSION, 0, &parts[1], ""),
        txn_of(7, 5010, TXN_CREATE, 1, &parts[2], "/consumers/g/ids/a"),
        txn_of(8, 5023, TXN_CREATE, 2, &parts[3], "/consumers/g/owners/t/0"),
        txn_of(9, 5040, TXN_CREATE, 1, &parts[4], "/consumers/h/ids/b"),
        txn_of(10, 5058, TXN_ERROR, 1, &parts[5], ""),
        txn_of(8, 5023, TXN_CREATE, 2, &parts[3],
               "/consumers/g/owners/t/0"), /* of another server */
    };
    struct buf text;
    (void)state;
    for (size_t count = 0; count <= ARRAY_LEN(log); count++) {
        /* the registration was recorded, and is in the log from the third on */
        assert_int_equal(tell_with_log(log, count, &text), count == 1 || count == 2);
        if (count == ARRAY_LEN(log))
            assert_string_equal(buf_text(&text), told);
        assert_int_equal(strncmp(buf_text(&text), "all", 3) == 0, count >= 3);
        buf_deinit(&text);
    }
}

/* The log's clock has milliseconds: by it a write of somebody else may be before the request of one
 * that came before it. What was recorded stays between its request and its answer. */
static void test_log_with_a_coarse_clock(void **state)
{
    static const char told[] = "all\n"
                               "7 11 ms: a create /consumers/g/ids/a 1/1 ephemeral\n"
                               "8 11 ms: - create /consumers/g/ids/b 1/1 ephemeral\n";
    struct txn_part parts[2];
    struct txn log[] = {txn_of(7, 5010, TXN_CREATE, 1, &parts[0], "/consumers/g/ids/a"),
                        txn_of(8, 5006, TXN_CREATE, 1, &parts[1], "/consumers/g/ids/b")};
    struct buf text;
    (void)state;
    log[1].session = 2; /* is not in the capture */
    tell_with_log(log, ARRAY_LEN(log), &text);
    assert_string_equal(buf_text(&text), told);
    buf_deinit(&text);
}

/* As late as a capture's times may be, beside a log's that are as early: the furthest apart. */
static void test_log_beside_the_latest_capture(void **state)
{
    static const char *const latest[] = {
#define LATEST(n) "\"c\":1,\"who\":\"a\",\"ns\":41024447999999999" #n ","
        "{\"k\":\"open\"," LATEST(10) "\"seq\":1}",
        "{\"k\":\"conn\"," LATEST(11) "\"zxid\":0,\"timeout\":6000,\"s\":\"0\"}",
        "{\"k\":\"connok\"," LATEST(12) "\"timeout\":6000,\"s\":\"S1\"}",
        "{\"k\":\"req\"," LATEST(20) "\"xid\":1," CREATE("ids/a"),
        "{\"k\":\"rsp\"," LATEST(
            30) "\"xid\":1,\"op\":\"create\",\"path\":\"/consumers/g/ids/a\",\"zxid\":7}",
#undef LATEST
    };
    static const int64_t times[] = {INT64_MIN, 0, INT64_C(4102444800000), INT64_MAX};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        struct txn_part parts[2];
        const struct txn log[] = {
            txn_of(7, times[i], TXN_CREATE, 1, &parts[0], "/consumers/g/ids/a"),
            txn_of(8, INT64_MAX, TXN_CREATE, 2, &parts[1], "/consumers/g/owners/t/0")};
        struct import_options o = plain;
        struct why why;
        struct trace_sink sink = {TRACE_LEVEL_MAX, ignore, NULL};
        o.is_safe = o.writes_only = true;
        struct import *x = take_texts(latest, ARRAY_LEN(latest), &o, NULL);
        for (size_t n = 0; n < ARRAY_LEN(log); n++)
            assert_true(import_take_txn(x, &log[n]));
        assert_int_equal(import_finish(x, &sink, &why), ZKC_OK);
        import_free(x);
    }
}

/* A log's times are numbers like any others: none of them breaks the arithmetic. */
static void test_log_of_odd_times(void **state)
{
    static const int64_t times[] = {INT64_MIN, -1, 0, INT64_MAX / 1000000, INT64_MAX};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        for (size_t k = 0; k < ARRAY_LEN(times); k++) {
            struct txn_part parts[2];
            const struct txn log[] = {
                txn_of(7, times[i], TXN_CREATE, 1, &parts[0], "/consumers/g/ids/a"),
                txn_of(8, times[k], TXN_CREATE, 2, &parts[1], "/consumers/g/owners/t/0")};
            struct import_options o = plain;
            struct why why;
            struct trace_sink sink = {TRACE_LEVEL_MAX, ignore, NULL};
            o.is_safe = o.writes_only = true;
            struct import *x = take_texts(half_told, ARRAY_LEN(half_told), &o, NULL);
            for (size_t n = 0; n < ARRAY_LEN(log); n++)
                assert_true(import_take_txn(x, &log[n]));
            assert_int_equal(import_finish(x, &sink, &why), ZKC_OK);
            import_free(x);
        }
    }
}

#undef AT
#undef CREATE

/* A multi of checks alone has its place in the order and changes nothing: told as in a simulated
 * world, or Z10 would look for it in vain. */
static void test_checks_alone(void **state)
{
#define AT "\"t\":1,\"who\":\"a\",\"c\":1,"
    static const char *const lines[] = {
        "{\"k\":\"open\"," AT "\"seq\":1}",
        "{\"k\":\"conn\"," AT "\"zxid\":0,\"timeout\":6000,\"s\":\"0\"}",
        "{\"k\":\"connok\"," AT "\"timeout\":6000,\"s\":\"S1\"}",
        "{\"k\":\"req\"," AT "\"xid\":1,\"op\":\"create\",\"path\":\"/consumers/g/ids/a\","
        "\"data\":null,\"flags\":\"E\"}",
        "{\"k\":\"rsp\"," AT "\"xid\":1,\"op\":\"create\",\"path\":\"/consumers/g/ids/a\","
        "\"zxid\":7}",
        "{\"k\":\"req\"," AT "\"xid\":2,\"op\":\"multi\",\"ops\":[{\"op\":\"check\","
        "\"path\":\"/consumers/g/ids/a\",\"version\":-1}]}",
        "{\"k\":\"rsp\"," AT "\"xid\":2,\"op\":\"multi\",\"zxid\":8,"
        "\"results\":[{\"op\":\"check\"}]}",
    };
#undef AT
    struct import_options o = plain;
    struct why why;
    int64_t refused = 0;
    struct trace_sink sink = {TRACE_LEVEL_MAX, note_refused, &refused};
    (void)state;
    o.is_safe = o.writes_only = true;
    struct import *x = take_texts(lines, ARRAY_LEN(lines), &o, NULL);
    assert_int_equal(import_finish(x, &sink, &why), ZKC_OK);
    assert_int_equal(refused, 8);
    import_free(x);
}

/* Cut anywhere, a scene still gives a trace, whose order holds. */
static void test_cut_short(void **state)
{
    struct vectors v = vectors_read("zookeeper/late-commit.jsonl");
    size_t count = v.count;
    (void)state;
    for (v.count = 1; v.count < count; v.count++) {
        struct import *x = take_lines(&v, &plain, NULL);
        struct through t;
        struct why why;
        struct trace_sink sink = {TRACE_LEVEL_MAX, pass, &t};
        through_init(&t);
        enum zkc_err err = import_finish(x, &sink, &why);
        assert_true(err == ZKC_OK || err == ZKC_ERR_INVALID);
        assert_int_equal(check_finish(t.check), ZKC_OK);
        if (check_violations(t.check))
            for (int id = 0; id < CHECK_MUST_COUNT; id++)
                if (check_result(t.check, (enum check_id)id).found)
                    fail_msg("cut after line %zu: %s: %s", v.count, check_name((enum check_id)id),
                             check_result(t.check, (enum check_id)id).first);
        through_deinit(&t);
        import_free(x);
    }
    v.count = count;
    vectors_free(&v);
}

static enum zkc_err import_scene(const void *input)
{
    const struct vectors *v = input;
    struct trace_sink sink = {TRACE_LEVEL_MAX, ignore, NULL};
    struct capture_decoder d;
    struct capture_line line;
    struct why why;
    struct import *x = import_new(&plain);
    if (!x)
        return ZKC_ERR_NOMEM;
    capture_decoder_init(&d);
    bool is_decoded = true;
    for (size_t i = 0; i < v->count && is_decoded; i++) {
        is_decoded = capture_decode(&d, bytes_of_text(v->lines[i]), &line, &why);
        if (is_decoded)
            (void)import_take(x, &line, &why);
    }
    enum zkc_err err = import_finish(x, &sink, &why);
    capture_decoder_deinit(&d);
    import_free(x);
    return is_decoded ? err : ZKC_ERR_NOMEM;
}

static void test_no_memory(void **state)
{
    struct vectors v = vectors_read("zookeeper/stale-offset.jsonl");
    (void)state;
    alloc_fail_each(import_scene, &v);
    vectors_free(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenes),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_stories),
        cmocka_unit_test(test_raw),
        cmocka_unit_test(test_orphan),
        cmocka_unit_test(test_not_decided),
        cmocka_unit_test(test_writes_only),
        cmocka_unit_test(test_safe),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_log_with_a_coarse_clock),
        cmocka_unit_test(test_log_of_odd_times),
        cmocka_unit_test(test_log_beside_the_latest_capture),
        cmocka_unit_test(test_checks_alone),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
