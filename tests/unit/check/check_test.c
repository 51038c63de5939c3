#include "study/check/decode.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/check/traces.h"
#include "tests/unit/test.h"
#include "tests/unit/vectors.h"
#include "zkconsumer/core/zk/op.h"

/* What a golden trace comes to: every result is what its .expect says, and 0 (or, of counts that
 * cannot be decided, unknown) otherwise. */
static void expect_results(const char *name, const struct check *c)
{
    char file[64];
    uint64_t want[CHECK_COUNT] = {0};
    bool want_unknown[CHECK_COUNT] = {false};
    snprintf(file, sizeof file, "traces/%s.expect", name);
    struct vectors v = vectors_read(file);
    for (size_t i = 0; i < v.count; i++) {
        char *value = vectors_cut(v.lines[i], ' ');
        enum check_id id = check_by_name(v.lines[i]);
        if (id == CHECK_COUNT || !value)
            fail_msg("%s: %s", file, v.lines[i]);
        want_unknown[id] = *value == '?';
        want[id] = strtoull(value, NULL, 10);
    }
    for (int i = 0; i < CHECK_COUNT; i++) {
        struct check_result r = check_result(c, (enum check_id)i);
        if (r.found != want[i])
            fail_msg("%s: %s is %" PRIu64 ", expected %" PRIu64 ": %s", name, r.id, r.found,
                     want[i], r.first ? r.first : "");
        if (want_unknown[i] && !r.unknown)
            fail_msg("%s: %s is decided", name, r.id);
    }
    vectors_free(&v);
}

static void test_golden(void **state)
{
    static const char *const names[] = {"gt1", "gt2", "gt3", "gt4", "gt6", "gt7"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char file[32];
        snprintf(file, sizeof file, "%s.jsonl", names[i]);
        char *text = trace_text(file);
        struct check *c = trace_check(text);
        expect_results(names[i], c);
        check_free(c);
        free(text);
    }
}

/* In an undisturbed run every MUST is looked at, but for what did not happen in it. */
static void test_all_are_checked(void **state)
{
    (void)state;
    char *text = trace_text("gt1.jsonl");
    struct check *c = trace_check(text);
    for (int i = 0; i < CHECK_MUST_COUNT; i++) {
        struct check_result r = check_result(c, (enum check_id)i);
        bool binds_safe = i >= CHECK_SF1 && i <= CHECK_SF8;
        if (i == CHECK_Z10 || binds_safe) /* nobody sent a sync; the run is compat's */
            assert_non_null(r.unknown);
        else if (r.unknown || !r.checked || r.found)
            fail_msg("%s: checked %" PRIu64 ", found %" PRIu64 ", %s", r.id, r.checked, r.found,
                     r.unknown ? r.unknown : "");
    }
    check_free(c);
    free(text);
}

/* One change to a golden trace, and the MUSTs that it breaks. (C8 asserts the checker's own books:
 * no trace breaks it.) */
static const struct broken_case {
    const char *name, *trace, *from, *to, *broken;
} broken[] = {
    {"C1 a gap in seq", "gt1", "\"src\":\"m2\",\"seq\":16,", "\"src\":\"m2\",\"seq\":17,", "C1"},
    {"C1 back in time", "gt1", "\"t\":6500000000,\"src\":\"m2\"", "\"t\":5000000000,\"src\":\"m2\"",
     "C1"},
    {"C1 the total order", "gt1", "\"gs\":80", "\"gs\":79", "C1"},
    {"C2 ends twice", "gt1", "\"seq\":28,\"gs\":44,\"m\":\"m1\",\"p\":\"t/1\"",
     "\"seq\":28,\"gs\":44,\"m\":\"m1\",\"p\":\"t/0\"", "C2"},
    {"C2 begins twice", "gt1", "\"seq\":38,\"gs\":59,\"m\":\"m1\",\"p\":\"t/0\"",
     "\"seq\":38,\"gs\":59,\"m\":\"m2\",\"p\":\"t/1\"", "C2 C3 C5 Z3"},
    {"C3 of another's partition", "gt1", "\"m\":\"m2\",\"p\":\"t/1\",\"o0\":40",
     "\"m\":\"m2\",\"p\":\"t/0\",\"o0\":40", "C3 C5 C10"},
    {"C3 suspended", "gt1", "\"ev\":\"offset_read\",\"t\":3000000000,\"src\":\"m1\",\"seq\":37",
     "\"ev\":\"suspend\",\"t\":3000000000,\"src\":\"m1\",\"seq\":37", "C3"},
    {"C3 before it is owned", "gt1", "\"o0\":50,\"o1\":99,\"t0\":3100000000",
     "\"o0\":50,\"o1\":99,\"t0\":2900000000", "C3"},
    {"C3 not yet", "gt1", "\"o0\":50,\"o1\":99,\"t0\":3100000000,\"t1\":5900000000",
     "\"o0\":50,\"o1\":99,\"t0\":3100000000,\"t1\":6900000000", "C3"},
    {"C3 without fetching", "gt1", "\"seq\":12,\"gs\":70,\"m\":\"m2\",\"ps\":[\"t/1\"]",
     "\"seq\":12,\"gs\":70,\"m\":\"m2\",\"ps\":[]", "C3"},
    {"C4 a hole", "gt1", "\"o0\":50,\"o1\":99,", "\"o0\":51,\"o1\":99,", "C4 C10"},
    {"C4 again", "gt1", "\"o0\":40,\"o1\":99,", "\"o0\":39,\"o1\":99,", "C4"},
    {"C5 too far", "gt1", "\"gs\":48,\"m\":\"m1\",\"p\":\"t/1\",\"o\":40",
     "\"gs\":48,\"m\":\"m1\",\"p\":\"t/1\",\"o\":41", "C5"},
    {"C5 before the start", "gt1", "\"gs\":78,\"m\":\"m2\",\"p\":\"t/1\",\"o\":100",
     "\"gs\":78,\"m\":\"m2\",\"p\":\"t/1\",\"o\":39", "C5"},
    {"C5 never owned", "gt1", "\"gs\":78,\"m\":\"m2\",\"p\":\"t/1\",\"o\":100",
     "\"gs\":78,\"m\":\"m2\",\"p\":\"t/0\",\"o\":100", "C5"},
    {"C5 too early", "gt1",
     "\"ev\":\"rb_try_end\",\"t\":3000000000,\"src\":\"m2\",\"seq\":13,\"gs\":71,\"m\":\"m2\","
     "\"rb\":1",
     "\"ev\":\"commit\",\"t\":3000000000,\"src\":\"m2\",\"seq\":13,\"gs\":71,\"m\":\"m2\",\"p\":"
     "\"t/1\",\"o\":100,\"rc\":\"ok\",\"rb\":1",
     "C5"},
    {"C6 never produced", "gt1", "\"gs\":3,\"p\":\"t/1\",\"o0\":0,\"o1\":99",
     "\"gs\":3,\"p\":\"t/1\",\"o0\":0,\"o1\":98", "C6"},
    {"C6 before it is produced", "gt1",
     "\"gs\":3,\"p\":\"t/1\",\"o0\":0,\"o1\":99,\"t0\":0,\"t1\":0",
     "\"gs\":3,\"p\":\"t/1\",\"o0\":0,\"o1\":99,\"t0\":4000000000,\"t1\":4000000000", "C6"},
    {"C6 other content", "gt1", "\"o0\":40,\"o1\":99,\"t0\"",
     "\"o0\":40,\"o1\":99,\"h\":\"1\",\"t0\"", "C6"},
    {"C7 the other's", "gt1", "\"gs\":65,\"m\":\"m2\",\"rb\":1,\"i\":0,\"want\":[\"t/1\"]",
     "\"gs\":65,\"m\":\"m2\",\"rb\":1,\"i\":0,\"want\":[\"t/0\"]", "C7"},
    {"C7 another rule", "gt4", "\"strategy\":\"range\"", "\"strategy\":\"roundrobin\"", "C7"},
    {"C7 by streams", "gt4", "\"seq\":0,\"gs\":2,\"m\":\"m1\",\"id\":\"g_c1\"",
     "\"seq\":0,\"gs\":2,\"m\":\"m1\",\"streams\":2,\"id\":\"g_c1\"", "C7"},
    {"C7 a filter is not followed", "gt1", "\"id\":\"g_c2\",\"topics\":[\"t\"]",
     "\"id\":\"g_c2\",\"topics\":[\"t.*\"]", ""},
    {"C10 one more committed", "gt1", "\"sid\":\"22\",\"val\":\"100\"",
     "\"sid\":\"22\",\"val\":\"101\"", "C10"},
    {"Z1 there already", "gt1", "\"zxid\":8,\"what\":\"delete\"", "\"zxid\":8,\"what\":\"set\"",
     "Z1"},
    {"Z2 another's name", "gt1", "\"sid\":\"22\",\"val\":\"g_c2-0\"",
     "\"sid\":\"22\",\"val\":\"g_c1-0\"", "Z2"},
    {"Z3 without a claim", "gt1",
     "\"gs\":67,\"m\":\"m2\",\"rb\":1,\"i\":0,\"p\":\"t/1\",\"rc\":\"ok\"",
     "\"gs\":67,\"m\":\"m2\",\"rb\":1,\"i\":0,\"p\":\"t/1\",\"rc\":\"exists\"", "Z3"},
    {"Z3 a claim of the attempt before", "gt1",
     "\"gs\":67,\"m\":\"m2\",\"rb\":1,\"i\":0,\"p\":\"t/1\"",
     "\"gs\":67,\"m\":\"m2\",\"rb\":0,\"i\":0,\"p\":\"t/1\"", "Z3"},
    {"Z3 leaves a node", "gt4", "\"zxid\":21,\"what\":\"delete\"", "\"zxid\":21,\"what\":\"set\"",
     "Z3"},
    {"Z4 still fetches", "gt1", "\"seq\":27,\"gs\":43,\"m\":\"m1\",\"ps\":[\"t/1\"]",
     "\"seq\":27,\"gs\":43,\"m\":\"m1\",\"ps\":[\"t/0\"]", "Z4"},
    {"Z5 given back", "gt1", "\"gs\":50,\"m\":\"m1\",\"rb\":2,\"i\":0,\"p\":\"t/0\"",
     "\"gs\":50,\"m\":\"m1\",\"rb\":2,\"i\":0,\"p\":\"t/1\"", "Z5"},
    {"Z5 by the node", "gt1",
     "\"zxid\":8,\"what\":\"delete\",\"cls\":\"owner\",\"path\":\"/consumers/g/owners/t/"
     "1\",\"sid\":\"11\"",
     "\"zxid\":8,\"what\":\"delete\",\"cls\":\"owner\",\"path\":\"/consumers/g/owners/t/"
     "1\",\"sid\":\"22\"",
     "Z5"},
    {"Z6 too many attempts", "gt4", "\"rebalance.max.retries\":4", "\"rebalance.max.retries\":3",
     "Z6"},
    {"Z6 too soon", "gt4", "\"rebalance.backoff.ms\":2000", "\"rebalance.backoff.ms\":2500", "Z6"},
    {"Z6 binds compat", "gt4",
     "\"mode\":\"zookeeper:compat\",\"variant\":\"0.8\",\"strategy\":\"range\",\"scenario\":"
     "\"GT4\",\"seed\":1,\"clock\":\"virtual\",\"level\":2,\"n\":2,\"topics\":{\"t\":6},\"P\":6,"
     "\"cfg\":{\"zookeeper.session.timeout.ms\":6000,\"rebalance.backoff.ms\":2000",
     "\"mode\":\"zookeeper:safe\",\"strategy\":\"range\",\"level\":2,\"clock\":\"virtual\",\"cfg\":"
     "{\"rebalance.backoff.ms\":2500",
     ""},
    {"Z7 no such watch", "gt1", "\"type\":\"NodeChildrenChanged\"", "\"type\":\"NodeDataChanged\"",
     "Z7"},
    {"Z7 after the read", "gt1",
     "\"ev\":\"zk_watch\",\"t\":3000000000,\"src\":\"m1\",\"seq\":21,\"gs\":34,\"m\":\"m1\","
     "\"path\":\"/consumers/g/ids\",\"type\":\"NodeChildrenChanged\"",
     "\"ev\":\"rb_trigger\",\"t\":3000000000,\"src\":\"m1\",\"seq\":21,\"gs\":34,\"m\":\"m1\","
     "\"why\":\"watch\"",
     "Z7"},
    {"Z7 never", "gt4", "\"zxid\":2,\"lat\"", "\"zxid\":1,\"lat\"", "Z7"},
    {"Z8 older", "gt4", "\"zxid\":13,\"lat\"", "\"zxid\":7,\"lat\"", "Z8"},
    {"Z9 written after the end", "gt6",
     "\"zxid\":18,\"what\":\"set\",\"cls\":\"offset\",\"path\":\"/consumers/g/offsets/t/"
     "0\",\"sid\":\"12\"",
     "\"zxid\":18,\"what\":\"set\",\"cls\":\"offset\",\"path\":\"/consumers/g/offsets/t/"
     "0\",\"sid\":\"11\"",
     "Z9"},
    {"Z9 in parts", "gt3", "\"what\":\"close\",\"cls\":\"id\"",
     "\"what\":\"delete\",\"cls\":\"id\"", "Z9"},
    {"Z9 a node stays", "gt6", "\"zxid\":11,\"what\":\"close\",\"cls\":\"id\"",
     "\"zxid\":11,\"what\":\"set\",\"cls\":\"id\"", "Z9"},
    {"Z10 synced", "gt1",
     "\"ev\":\"offset_read\",\"t\":3000000000,\"src\":\"m2\",\"seq\":10,\"gs\":68,\"m\":\"m2\","
     "\"p\":\"t/1\",\"o\":40,\"zxid\":10",
     "\"ev\":\"zk_op\",\"t\":3000000000,\"src\":\"m2\",\"seq\":10,\"gs\":68,\"m\":\"m2\",\"op\":"
     "\"sync\",\"path\":\"/\",\"rc\":\"Ok\",\"zxid\":10",
     ""},
    {"Z10 not synced", "gt1",
     "\"ev\":\"offset_read\",\"t\":3000000000,\"src\":\"m2\",\"seq\":10,\"gs\":68,\"m\":\"m2\","
     "\"p\":\"t/1\",\"o\":40,\"zxid\":10",
     "\"ev\":\"zk_op\",\"t\":3000000000,\"src\":\"m2\",\"seq\":10,\"gs\":68,\"m\":\"m2\",\"op\":"
     "\"sync\",\"path\":\"/\",\"rc\":\"Ok\",\"zxid\":9",
     "Z10"},
    {"Z11 the same zxid", "gt1", "\"zxid\":12,\"what\":\"set\"", "\"zxid\":11,\"what\":\"set\"",
     "Z11"},
    {"Z7 not left again", "gt4", "\"watch\":true,\"rc\":\"Ok\",\"zxid\":17",
     "\"watch\":false,\"rc\":\"Ok\",\"zxid\":17", ""},
    {"Z7 never left", "gt4", "\"watch\":true,\"rc\":\"Ok\",\"zxid\":2,",
     "\"watch\":false,\"rc\":\"Ok\",\"zxid\":2,", "Z7"},
};

static void expect_broken(const struct broken_case *b, const struct check *c)
{
    char found[64] = "";
    for (int i = 0; i < CHECK_MUST_COUNT; i++) {
        struct check_result r = check_result(c, (enum check_id)i);
        if (r.found && !r.unknown) {
            assert_non_null(r.first);
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", *found ? " " : "",
                     r.id);
        }
    }
    if (strcmp(found, b->broken) != 0)
        fail_msg("%s: found %s, expected %s", b->name, *found ? found : "nothing", b->broken);
}

static void test_broken(void **state)
{
    (void)state;
    for (const struct broken_case *b = broken; b < broken + ARRAY_LEN(broken); b++) {
        char file[32];
        snprintf(file, sizeof file, "%s.jsonl", b->trace);
        char *text = trace_change(trace_text(file), b->from, b->to);
        struct check *c = trace_check(text);
        expect_broken(b, c);
        check_free(c);
        free(text);
    }
}

struct heard {
    size_t count;
    char invariant[8];
    size_t refs;
};

static void hear(const struct trace_event *e, void *user)
{
    struct heard *h = user;
    assert_int_equal(e->type, TRACE_VIOL);
    assert_string_equal(e->viol.severity, "must");
    h->count++;
    snprintf(h->invariant, sizeof h->invariant, "%s", e->viol.invariant);
    h->refs = e->viol.ref_count;
}

/* A violation is told at once, as an event with the events that show it. */
static void test_is_told(void **state)
{
    (void)state;
    struct heard heard = {0};
    struct check *c = check_new(&(struct check_options){hear, &heard});
    struct trace_event start = {.type = TRACE_M_START,
                                .src = "m1",
                                .m = "m1",
                                .m_start = {"g_1", NULL, 0, "", 1, NULL, false}};
    struct trace_event own = {.type = TRACE_OWN_BEGIN,
                              .src = "m1",
                              .m = "m1",
                              .seq = 1,
                              .gs = 1,
                              .own = {{"t", 0}, 0, "", 0}};
    struct trace_event run = {.type = TRACE_DELIVER,
                              .src = "m1",
                              .m = "m1",
                              .seq = 2,
                              .gs = 2,
                              .deliver = {.p = {"t", 0}, .first = 3, .last = 4}};
    check_take(&start, c);
    check_take(&own, c);
    uint64_t before = heard.count;
    check_take(&run, c); /* C3: it does not fetch; C4: expected 0 */
    assert_int_equal(heard.count, before + 2);
    assert_string_equal(heard.invariant, "C4");
    assert_int_equal(heard.refs, 2);
    assert_int_equal(check_violations(c), heard.count);
    check_free(c);
}

/* A member at rest without a watch violates Z7, unless it waits for a node of its own session
 * (KAFKA-1387, which compat has from 0.8.2): that is counted. */
static void test_waits_for_its_own_node(void **state)
{
    static const char path[] = "/consumers/g/ids/g_1";
    static const struct {
        const char *name;
        uint64_t creator; /* session of the node that is there; the member's is 0x33 */
        int zk_rc;        /* of its registration */
        bool has_second_session;
        uint64_t first_s, read_s; /* the list of members, without a watch; 0: never */
        uint64_t violated, waits;
    } cases[] = {
        {"its own", 0x33, ZK_NODE_EXISTS, false, 0, 0, 0, 1},
        {"another's", 0x22, ZK_NODE_EXISTS, false, 0, 0, 1, 0},
        {"it has registered", 0x33, ZK_OK, false, 0, 0, 1, 0},
        {"of an ended session", 0x33, ZK_NODE_EXISTS, true, 0, 0, 1, 0},
        {"it reads again", 0x33, ZK_OK, false, 35, 45, 0, 0}, /* at 60 s */
        {"it has not for long", 0x33, ZK_OK, false, 29, 39, 1, 0},
        {"it has read", 0x33, ZK_OK, false, 0, 45, 1, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct trace_event events[] = {
            {.type = TRACE_M_START, .m_start = {"g_1", NULL, 0, "", 1, "", false}},
            {.type = TRACE_ZK_SESSION, .zk_session = {"open", 0x33, ""}},
            {.type = TRACE_ZK_STATE, .zk_state = {"connected", "zk1"}},
            {.type = TRACE_VIEW, .view = {.hash = 1}},
            {.type = TRACE_ZK_TXN,
             .zk_txn = {.zxid = 1,
                        .what = "create",
                        .class_of = TRACE_CLASS_ID,
                        .path = path,
                        .session = cases[i].creator,
                        .ephemeral_owner = cases[i].creator,
                        .parts = 1}},
            {.type = TRACE_ZK_OP,
             .zk_op = {.op = TRACE_OP_CREATE, .path = path, .zk_rc = cases[i].zk_rc, .zxid = 1}},
            {.type = cases[i].has_second_session ? TRACE_ZK_SESSION : TRACE_ZK_STATE,
             .zk_session = {"open", 0x44, ""}},
            {.type = TRACE_ZK_OP,
             .t_ns = cases[i].first_s * 1000000000,
             .zk_op = {.op = cases[i].first_s ? TRACE_OP_CHILDREN : TRACE_OP_EXISTS,
                       .path = "/consumers/g/ids",
                       .zk_rc = ZK_OK,
                       .zxid = 1}},
            {.type = TRACE_ZK_OP,
             .t_ns = cases[i].read_s * 1000000000,
             .zk_op = {.op = cases[i].read_s ? TRACE_OP_CHILDREN : TRACE_OP_EXISTS,
                       .path = "/consumers/g/ids",
                       .zk_rc = ZK_OK,
                       .zxid = 1}},
            {.type = TRACE_END, .t_ns = 60000000000, .end = {.reason = "done"}},
        };
        struct check *c = check_new(NULL);
        for (size_t k = 0; k < ARRAY_LEN(events); k++) {
            struct trace_event e = events[k];
            if (e.type == TRACE_ZK_STATE && k == 6)
                e.zk_state = events[2].zk_state;
            e.src = "m1";
            e.m = e.type == TRACE_END ? NULL : "m1";
            e.gs = e.seq = k;
            check_take(&e, c);
        }
        assert_int_equal(check_finish(c), ZKC_OK);
        uint64_t z7 = check_result(c, CHECK_Z7).found, n = check_result(c, CHECK_OWN_NODE).found;
        if (z7 != cases[i].violated || n != cases[i].waits)
            fail_msg("%s: Z7 %" PRIu64 ", %" PRIu64 " wait", cases[i].name, z7, n);
        check_free(c);
    }
}

/* The books of a topic that is made again begin anew; what its owner goes back over counts from the
 * commit that follows; what a tool has asked to leave out is lost to nobody. */
static void test_made_again(void **state)
{
    static const char path[] = "/consumers/g/offsets/t/0", topic[] = "/brokers/topics/t";
    static const struct {
        const char *name;
        int64_t moved_to, first, last; /* of the topic made again; -1: it is not moved */
        const char *commits[2];        /* NULL: none */
        uint64_t lost;
    } cases[] = {
        {"all of it is delivered", 0, 0, 9, {"10"}, 0},
        {"its beginning is not", 0, 4, 9, {"10"}, 4},
        {"it is not committed that it went back", 0, 4, 9, {NULL}, 0},
        {"what was on its way when it went back", 0, 0, 9, {"25", "30"}, 0},
        {"and then the new beginning", 0, 4, 9, {"25", "10"}, 4},
        {"it goes on where it was", -1, 20, 29, {"30"}, 0},
        {"more is committed than delivered", -1, 20, 29, {"35"}, 5},
        {"a tool leaves something out", 0, 0, 9, {"10", "025"}, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trace_event events[16];
        size_t n = 0;
        struct trace_event own = {.type = TRACE_OWN_BEGIN, .own = {{"t", 0}, 0, "", 0}};
        struct trace_event run = {.type = TRACE_DELIVER,
                                  .deliver = {.p = {"t", 0}, .first = 0, .last = 19}};
        struct trace_event txn = {.type = TRACE_ZK_TXN,
                                  .zk_txn = {.class_of = TRACE_CLASS_OFFSET, .parts = 1}};
        events[n++] = (struct trace_event){.type = TRACE_M_START,
                                           .m_start = {"g_1", NULL, 0, "", 1, "", false}};
        events[n++] = own;
        events[n++] = run;
        txn.zk_txn.what = "create";
        txn.zk_txn.path = path;
        txn.zk_txn.value = "20";
        events[n++] = txn;
        txn.zk_txn.class_of = TRACE_CLASS_TOPIC;
        txn.zk_txn.path = topic;
        txn.zk_txn.value = "{\"partitions\":{\"0\":[1]}}";
        txn.zk_txn.what = "delete";
        events[n++] = txn;
        txn.zk_txn.what = "create";
        events[n++] = txn;
        if (cases[i].moved_to >= 0)
            events[n++] =
                (struct trace_event){.type = TRACE_MOVED, .moved = {{"t", 0}, cases[i].moved_to}};
        run.deliver.first = cases[i].first;
        run.deliver.last = cases[i].last;
        events[n++] = run;
        txn.zk_txn.class_of = TRACE_CLASS_OFFSET;
        txn.zk_txn.path = path;
        txn.zk_txn.what = "set";
        if (cases[i].moved_to < 0) { /* who owns it next */
            events[n - 1] =
                (struct trace_event){.type = TRACE_OWN_END, .own = {{"t", 0}, 20, "", 0}};
            own.own.offset = 20;
            events[n++] = own;
            events[n++] = run;
        }
        for (size_t k = 0; k < 2 && cases[i].commits[k]; k++) {
            txn.zk_txn.value = cases[i].commits[k];
            events[n++] = txn;
        }
        events[n++] = (struct trace_event){.type = TRACE_END, .end = {.reason = "done"}};
        struct check *c = check_new(NULL);
        for (size_t k = 0; k < n; k++) {
            struct trace_event e = events[k];
            e.src = "m1";
            e.m = e.type == TRACE_END ? NULL : "m1";
            e.gs = e.seq = k;
            if (e.type == TRACE_ZK_TXN) {
                e.zk_txn.zxid = (int64_t)k + 1;
                e.zk_txn.value_len = strlen(e.zk_txn.value);
            }
            check_take(&e, c);
        }
        assert_int_equal(check_finish(c), ZKC_OK);
        struct check_result r = check_result(c, CHECK_C10);
        if ((r.found > 0) != (cases[i].lost > 0) ||
            (r.found && (uint64_t)strtoull(strchr(r.first, ':') + 2, NULL, 10) != cases[i].lost))
            fail_msg("%s: %s, expected %" PRIu64 " lost", cases[i].name,
                     r.found ? r.first : "nothing", cases[i].lost);
        check_free(c);
    }
}

/* The check of a trace of m1; a run and its end are nobody's. */
static struct check *told_by_m1(const struct trace_event *events, size_t count)
{
    struct check *c = check_new(NULL);
    for (size_t k = 0; k < count; k++) {
        struct trace_event e = events[k];
        e.src = "m1";
        e.m = e.type == TRACE_RUN || e.type == TRACE_END ? NULL : "m1";
        e.gs = e.seq = k;
        check_take(&e, c);
    }
    assert_int_equal(check_finish(c), ZKC_OK);
    return c;
}

/* A safe member that has lost sight of its owner node, and finds it to be its own, may delete it.
 */
static void test_found_to_be_its_own(void **state)
{
    (void)state;
    static const struct topic_partition p = {"t", 0};
    for (int is_safe = 0; is_safe <= 1; is_safe++) {
        const char *mode = is_safe ? "zookeeper:safe" : "zookeeper:compat";
        const struct trace_event events[] = {
            {.type = TRACE_RUN, .run = {.mode = mode}},
            {.type = TRACE_M_START, .m_start = {"g_1", NULL, 0, "", 1, mode, false}},
            {.type = TRACE_CLAIM, .claim = {.p = p, .rc = "ok"}},
            {.type = TRACE_OWN_BEGIN, .own = {p, 0, "", 0}},
            {.type = TRACE_OWN_END, .own = {p, 0, "lost", 0}},
            {.type = TRACE_OWN_BEGIN, .own = {p, 0, "", 0}},
            {.type = TRACE_OWN_END, .own = {p, 0, "release", 0}},
            {.type = TRACE_RELEASE, .release = {.p = p, .rc = "ok"}},
            {.type = TRACE_RELEASE, .release = {.p = p, .rc = "ok"}},
        };
        for (size_t count = ARRAY_LEN(events) - 1; count <= ARRAY_LEN(events); count++) {
            struct check *c = told_by_m1(events, count);
            assert_int_equal(check_result(c, CHECK_Z5).found,
                             !is_safe + (count == ARRAY_LEN(events)));
            check_free(c);
        }
    }
}

/* Who is moved before auto.offset.reset has told it where it is leaves out what lies between. */
static void test_moved_from_nowhere(void **state)
{
    (void)state;
    static const struct {
        int64_t moved_to, first;
        uint64_t lost;
    } cases[] = {{50, 50, 0}, {50, 55, 5}, {20, 20, 0}, {10, 10, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        static const struct topic_partition p = {"t", 0};
        const struct trace_event events[] = {
            {.type = TRACE_M_START, .m_start = {"g_1", NULL, 0, "", 1, "", false}},
            {.type = TRACE_OWN_BEGIN, .own = {p, -1, "", 0}},
            {.type = TRACE_DELIVER, .deliver = {.p = p, .first = 0, .last = 19}},
            {.type = TRACE_OWN_END, .own = {p, 20, "lost", 0}},
            {.type = TRACE_OWN_BEGIN, .own = {p, -1, "", 0}},
            {.type = TRACE_MOVED, .moved = {p, cases[i].moved_to}},
            {.type = TRACE_DELIVER, .deliver = {.p = p, .first = cases[i].first, .last = 59}},
            {.type = TRACE_ZK_TXN,
             .zk_txn = {.zxid = 1,
                        .what = "create",
                        .class_of = TRACE_CLASS_OFFSET,
                        .path = "/consumers/g/offsets/t/0",
                        .value = "60",
                        .value_len = 2,
                        .parts = 1}},
            {.type = TRACE_END, .end = {.reason = "done"}},
        };
        struct check *c = told_by_m1(events, ARRAY_LEN(events));
        struct check_result r = check_result(c, CHECK_C10);
        if ((r.found > 0) != (cases[i].lost > 0))
            fail_msg("moved to %" PRId64 ", from %" PRId64 " on: %s", cases[i].moved_to,
                     cases[i].first, r.found ? r.first : "nothing");
        check_free(c);
    }
}

/* A consumer connects when it is opened, and starts when it is told what to read: the session and
 * its lease may come first, and are of the life that begins. */
static void test_a_session_before_the_start(void **state)
{
    static const char *const members[] = {"g_1"};
    static const struct topic_partition p = {"t", 0};
    static const struct trace_event run = {.type = TRACE_RUN, .run = {.mode = "zookeeper:safe"}},
                                    start = {.type = TRACE_M_START,
                                             .m_start = {"g_1", NULL, 0, "", 1, "zookeeper:safe",
                                                         false}},
                                    session = {.type = TRACE_ZK_SESSION,
                                               .zk_session = {"open", 0x33, ""}},
                                    lease = {.type = TRACE_LEASE, .lease = {0x33, 100}};
    const struct trace_event rest[] = {
        {.type = TRACE_ZK_TXN,
         .zk_txn = {.zxid = 1,
                    .what = "create",
                    .class_of = TRACE_CLASS_ID,
                    .path = "/consumers/g/ids/g_1",
                    .session = 0x33,
                    .ephemeral_owner = 0x33,
                    .parts = 1}},
        {.type = TRACE_VIEW, .view = {0, 0, 1, 0, 0, 1, 1, members, &p}},
        {.type = TRACE_DECIDE, .decide = {0, 0, &p, 1}},
        {.type = TRACE_OWN_BEGIN, .own = {p, 0, "", 0}},
        {.type = TRACE_DELIVER,
         .deliver = {.p = p, .first = 0, .last = 0, .first_ns = 70, .last_ns = 70}},
        /* told at 110: the lease was over */
        {.type = TRACE_DELIVER,
         .deliver = {.p = p, .first = 1, .last = 1, .first_ns = 105, .last_ns = 105}},
    };
    (void)state;
    for (int is_first = 0; is_first < 2; is_first++) {
        const struct trace_event *begin[] = {&run, is_first ? &session : &start,
                                             is_first ? &lease : &session,
                                             is_first ? &start : &lease};
        struct check *c = check_new(NULL);
        for (size_t k = 0; k < 4 + ARRAY_LEN(rest); k++) {
            struct trace_event e = k < 4 ? *begin[k] : rest[k - 4];
            e.src = "m1";
            e.m = k ? "m1" : NULL;
            e.gs = e.seq = k;
            e.t_ns = k == 3 + ARRAY_LEN(rest) ? 110 : k * 10;
            check_take(&e, c);
        }
        assert_int_equal(check_finish(c), ZKC_OK);
        struct check_result sf8 = check_result(c, CHECK_SF8), sf2 = check_result(c, CHECK_SF2);
        if (!sf8.checked || sf8.found || sf2.checked != 2 || sf2.found != 1)
            fail_msg("%d: SF8 %" PRIu64 " of %" PRIu64 " (%s), SF2 %" PRIu64 " of %" PRIu64,
                     is_first, sf8.found, sf8.checked, sf8.first ? sf8.first : "", sf2.found,
                     sf2.checked);
        check_free(c);
    }
}

/* A commit is not before the start: of the first of those that one claim had; a new claim has its
 * own. */
static void test_starts_of_one_claim(void **state)
{
    static const struct topic_partition p = {"t", 0};
    static const struct {
        const char *mode;
        bool claims_again;
        int64_t again_from, committed;
        uint64_t found;
    } cases[] = {
        {"zookeeper:safe", false, 9, 5, 0}, /* answered late */
        {"zookeeper:safe", false, 9, 3, 1},   {"zookeeper:safe", true, 9, 5, 1},
        {"zookeeper:safe", true, 9, 9, 0},    {"zookeeper:safe", false, 2, 2, 0},
        {"zookeeper:compat", false, 9, 5, 1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trace_event events[] = {
            {.type = TRACE_RUN, .run = {.mode = cases[i].mode}},
            {.type = TRACE_M_START, .m_start = {"g_1", NULL, 0, "", 1, cases[i].mode, false}},
            {.type = TRACE_CLAIM, .claim = {.p = p, .rc = "ok"}},
            {.type = TRACE_OWN_BEGIN, .own = {p, 4, "", 0}},
            {.type = TRACE_OWN_END, .own = {p, 9, "release", 0}},
            {.type = TRACE_CLAIM, .claim = {.p = p, .rc = cases[i].claims_again ? "ok" : "exists"}},
            {.type = TRACE_OWN_BEGIN, .own = {p, cases[i].again_from, "", 0}},
            {.type = TRACE_COMMIT, .offset = {.p = p, .offset = cases[i].committed, .rc = "ok"}},
        };
        struct check *c = check_new(NULL);
        for (size_t k = 0; k < ARRAY_LEN(events); k++) {
            events[k].src = "m1";
            events[k].m = k ? "m1" : NULL;
            events[k].gs = events[k].seq = k;
            check_take(&events[k], c);
        }
        assert_int_equal(check_finish(c), ZKC_OK);
        struct check_result c5 = check_result(c, CHECK_C5);
        if (!c5.checked || c5.found != cases[i].found)
            fail_msg("%zu: C5 %" PRIu64 " (%s)", i, c5.found, c5.first ? c5.first : "");
        check_free(c);
    }
}

/* Beside members of another mode, and beside those of whom nothing is known but what they wrote
 * (session 0x99), SF3 to SF5 hold among safe ones, where ZooKeeper's log tells all writes, until
 * one of the others deletes a node that is not its own. m1 owns the partition in session 0x11. */
static void test_safe_beside_others(void **state)
{
#define OWNER(what_, session_)                                                                     \
    .zk_txn = {                                                                                    \
        .what = (what_),                                                                           \
        .class_of = TRACE_CLASS_OWNER,                                                             \
        .path = "/consumers/g/owners/t/0",                                                         \
        .session = (session_),                                                                     \
        .ephemeral_owner = 0x11,                                                                   \
        .parts = 1                                                                                 \
    }
#define COMMIT(session_)                                                                           \
    .zk_txn = {.what = "set",                                                                      \
               .class_of = TRACE_CLASS_OFFSET,                                                     \
               .path = "/consumers/g/offsets/t/0",                                                 \
               .session = (session_),                                                              \
               .value = "7",                                                                       \
               .value_len = 1,                                                                     \
               .parts = 1}
    static const struct topic_partition p = {"t", 0};
    const struct trace_event deleted = {.type = TRACE_ZK_TXN, OWNER("delete", 0x22)},
                             deleted_by_other = {.type = TRACE_ZK_TXN, OWNER("delete", 0x99)},
                             commit = {.type = TRACE_ZK_TXN, COMMIT(0x22)},
                             commit_by_other = {.type = TRACE_ZK_TXN, COMMIT(0x99)},
                             own = {.type = TRACE_OWN_BEGIN, .m = "m2", .own = {p, 0, "", 0}};
    const struct {
        const char *name;
        bool is_logged, is_compat; /* the other one, m3, writes a trace */
        struct trace_event what[2];
        const char *broken;
    } cases[] = {
        {"deletes another's", true, true, {deleted}, "SF4"},
        {"beside who writes none", true, false, {deleted}, "SF4"},
        {"not all writes are known", false, true, {deleted, own}, ""},
        {"two of them", true, true, {own}, "SF3"},
        {"commits another's", true, true, {commit}, "SF5"},
        {"another mode's commit", true, false, {commit_by_other}, ""},
        {"an unknown one's delete", true, false, {deleted_by_other, own}, ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *other = cases[i].is_compat ? "zookeeper:compat" : "zookeeper:safe";
        const struct trace_event events[] = {
            {.type = TRACE_RUN,
             .run = {.mode = "zookeeper:safe",
                     .is_of_writes = true,
                     .is_logged = cases[i].is_logged}},
            {.type = TRACE_M_START,
             .m = "m1",
             .m_start = {"g_1", NULL, 0, "", 1, "zookeeper:safe", false}},
            {.type = TRACE_M_START,
             .m = "m2",
             .m_start = {"g_2", NULL, 0, "", 1, "zookeeper:safe", false}},
            {.type = TRACE_M_START, .m = "m3", .m_start = {"g_3", NULL, 0, "", 1, other, false}},
            {.type = TRACE_ZK_SESSION, .m = "m1", .zk_session = {"open", 0x11, ""}},
            {.type = TRACE_ZK_SESSION, .m = "m2", .zk_session = {"open", 0x22, ""}},
            {.type = TRACE_LEASE, .m = "m1", .lease = {0x11, 100000000000ull}},
            {.type = TRACE_LEASE, .m = "m2", .lease = {0x22, 100000000000ull}},
            {.type = TRACE_VIEW,
             .m = "m1",
             .view = {.hash = 1,
                      .members = (const char *[]){"g_1", "g_2", "g_3", "g_4"},
                      .member_count = cases[i].is_compat ? 3 : 4}},
            {.type = TRACE_ZK_TXN, OWNER("create", 0x11)},
            {.type = TRACE_OWN_BEGIN, .m = "m1", .own = {p, 0, "", 0}},
            {.type = TRACE_FETCH_START, .m = "m1", .fetch = {&p, 1}},
            cases[i].what[0],
            cases[i].what[1],
        };
        char found[64] = "";
        struct check *c = check_new(NULL);
        for (size_t k = 0; k < ARRAY_LEN(events); k++) {
            struct trace_event e = events[k];
            e.src = "all";
            e.gs = e.seq = e.t_ns = k;
            if (e.type == TRACE_ZK_TXN)
                e.zk_txn.zxid = (int64_t)k;
            if (e.type != TRACE_RUN || k == 0) /* else there is no second one */
                check_take(&e, c);
        }
        assert_int_equal(check_finish(c), ZKC_OK);
        for (int id = CHECK_SF3; id <= CHECK_SF5; id++)
            if (check_result(c, (enum check_id)id).found)
                snprintf(found + strlen(found), sizeof found - strlen(found), "%s",
                         check_result(c, (enum check_id)id).id);
        assert_int_equal(!check_result(c, CHECK_SF4).unknown,
                         check_result(c, CHECK_SF4).checked > 0);
        if (strcmp(found, cases[i].broken) != 0)
            fail_msg("%s: found %s, expected %s", cases[i].name, *found ? found : "nothing",
                     cases[i].broken);
        check_free(c);
    }
#undef OWNER
#undef COMMIT
}

/* Offsets in Kafka: from the lease's first moment to its end, never back, and before the release;
 * but what is carried out late binds nobody. The session is 0x33; its lease runs to 100 s. */
static void test_stores(void **state)
{
#define STORE(o, sent, awaited)                                                                    \
    {                                                                                              \
        {"t", 0}, (o), -1, 0x33, (sent)*1000000000ull, (awaited)                                   \
    }
    static const struct topic_partition p = {"t", 0};
    const struct trace_event begin[] = {
        {.type = TRACE_RUN, .run = {.mode = "zookeeper:safe"}},
        {.type = TRACE_M_START, .m_start = {"g_1", NULL, 0, "", 1, "zookeeper:safe", false}},
        {.type = TRACE_ZK_SESSION, .zk_session = {"open", 0x33, ""}},
        {.type = TRACE_LEASE, .lease = {0x33, 100000000000ull}},
        {.type = TRACE_ZK_TXN,
         .zk_txn = {.zxid = 1,
                    .what = "create",
                    .class_of = TRACE_CLASS_OWNER,
                    .path = "/consumers/g/owners/t/0",
                    .session = 0x33,
                    .ephemeral_owner = 0x33,
                    .parts = 1}},
        {.type = TRACE_OWN_BEGIN, .own = {p, 0, "", 0}},
        {.type = TRACE_DELIVER,
         .deliver = {.p = p, .last = 9, .first_ns = 6000000000, .last_ns = 6000000000}},
    };
    const struct trace_event own_end = {.type = TRACE_OWN_END, .own = {p, 10, "release", 2}},
                             drained = {.type = TRACE_PROCESSED, .processed = {p, 10, 2}},
                             release = {.type = TRACE_ZK_TXN,
                                        .zk_txn = {.zxid = 2,
                                                   .what = "delete",
                                                   .class_of = TRACE_CLASS_OWNER,
                                                   .path = "/consumers/g/owners/t/0",
                                                   .session = 0x33,
                                                   .ephemeral_owner = 0x33,
                                                   .parts = 1}};
    const struct {
        const char *name;
        struct trace_event events[6];
        uint64_t t_s[6], found;
    } cases[] = {
        {"as it should be",
         {{.type = TRACE_STORE, .store = STORE(5, 10, true)},
          {.type = TRACE_STORE, .store = STORE(10, 20, true)},
          own_end,
          drained,
          release},
         {11, 21, 22, 23, 23},
         0},
        {"after the lease", {{.type = TRACE_STORE, .store = STORE(5, 101, true)}}, {102}, 1},
        {"back",
         {{.type = TRACE_STORE, .store = STORE(5, 10, true)},
          {.type = TRACE_STORE, .store = STORE(4, 20, true)}},
         {11, 21},
         1},
        {"back, of what was given up",
         {{.type = TRACE_STORE, .store = STORE(5, 10, true)},
          {.type = TRACE_STORE, .store = STORE(4, 9, false)},
          {.type = TRACE_STORE, .store = STORE(4, 20, true)}},
         {11, 12, 21},
         0},
        {"released before",
         {{.type = TRACE_STORE, .store = STORE(5, 10, true)}, own_end, drained, release},
         {11, 22, 23, 23},
         1},
        {"released when Kafka keeps more, and what was given up turns it back",
         {{.type = TRACE_OFFSET_READ, .offset = {.p = {"t", 0}, .offset = 12, .rc = "ok"}},
          {.type = TRACE_STORE, .store = STORE(5, 10, false)},
          own_end,
          drained,
          release},
         {11, 12, 22, 23, 23},
         0},
        {"released when ZooKeeper keeps more",
         {{.type = TRACE_OFFSET_READ,
           .offset = {.p = {"t", 0}, .offset = 12, .rc = "ok", .zxid = 1}},
          {.type = TRACE_STORE, .store = STORE(5, 10, false)},
          own_end,
          drained,
          release},
         {11, 12, 22, 23, 23},
         1},
        {"released without, after its time",
         {{.type = TRACE_STORE, .store = STORE(5, 10, true)}, own_end, drained, release},
         {11, 22, 23, 24},
         0},
        {"the same, and the application is done with a claim of before",
         {{.type = TRACE_STORE, .store = STORE(5, 10, true)},
          own_end,
          drained,
          {.type = TRACE_PROCESSED, .processed = {p, 7, 1}},
          release},
         {11, 21, 22, 23, 23},
         0},
        {"stored, and the application is done with a claim of before, which had more",
         {{.type = TRACE_STORE, .store = STORE(10, 20, true)},
          own_end,
          drained,
          {.type = TRACE_PROCESSED, .processed = {p, 15, 1}},
          release},
         {21, 22, 22, 23, 23},
         0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct check *c = check_new(NULL);
        for (size_t k = 0; k < ARRAY_LEN(begin) + 6; k++) {
            bool is_begin = k < ARRAY_LEN(begin);
            size_t n = k - ARRAY_LEN(begin);
            if (!is_begin && !cases[i].t_s[n])
                break;
            struct trace_event e = is_begin ? begin[k] : cases[i].events[n];
            e.src = "m1";
            e.m = k ? "m1" : NULL;
            e.gs = e.seq = k;
            e.t_ns = (is_begin ? k : cases[i].t_s[n]) * 1000000000ull;
            check_take(&e, c);
        }
        assert_int_equal(check_finish(c), ZKC_OK);
        struct check_result sf5 = check_result(c, CHECK_SF5);
        if (sf5.found != cases[i].found || !sf5.checked)
            fail_msg("%s: SF5 %" PRIu64 " of %" PRIu64 " (%s)", cases[i].name, sf5.found,
                     sf5.checked, sf5.first ? sf5.first : "");
        check_free(c);
    }
#undef STORE
}

#define TXN(z, s, what_, part_, parts_)                                                            \
    {                                                                                              \
        .type = TRACE_ZK_TXN, .zk_txn = {                                                          \
            .zxid = (z),                                                                           \
            .what = (what_),                                                                       \
            .path = strcmp(what_, "error") ? "/x" : "",                                            \
            .session = (s),                                                                        \
            .part = (part_),                                                                       \
            .parts = (parts_)                                                                      \
        }                                                                                          \
    }
#define OP(op_, z, rc)                                                                             \
    {                                                                                              \
        .type = TRACE_ZK_OP, .zk_op = {(op_), "/", false, (rc), (z), 5 }                           \
    }
#define ROLE(name, epoch_)                                                                         \
    {                                                                                              \
        .type = TRACE_ZK_ROLE, .zk_role = {(name), "leading", (epoch_) }                           \
    }

/* Z10 and Z11 of multi and sync. The member's session is 0x33, at zk1; an event each ten ns. */
static void test_multi_and_sync(void **state)
{
    const struct {
        const char *name;
        struct trace_event events[6];
        uint64_t z10, z11, stale, checked; /* violations, counts; how often Z10 was looked at */
    } cases[] = {
        {"done",
         {TXN(1, 0x33, "create", 0, 2), TXN(1, 0x33, "set", 1, 2), OP(TRACE_OP_MULTI, 1, 0)},
         0,
         0,
         0,
         1},
        {"half of it", {TXN(1, 0x33, "create", 0, 2), OP(TRACE_OP_MULTI, 1, 0)}, 1, 0, 0, 1},
        {"in two transactions",
         {TXN(1, 0x33, "create", 0, 2), TXN(2, 0x33, "set", 0, 1), OP(TRACE_OP_MULTI, 2, 0)},
         0,
         1,
         0,
         1},
        {"a part is missing",
         {TXN(1, 0x33, "create", 0, 3), TXN(1, 0x33, "set", 2, 3)},
         0,
         1,
         0,
         0},
        {"another's", {TXN(1, 0x22, "create", 0, 1), OP(TRACE_OP_MULTI, 1, 0)}, 1, 0, 0, 1},
        {"checks alone", {TXN(1, 0, "error", 0, 1), OP(TRACE_OP_MULTI, 1, 0)}, 0, 0, 0, 1},
        {"refused", {TXN(1, 0, "error", 0, 1), OP(TRACE_OP_MULTI, 1, ZK_BAD_VERSION)}, 0, 0, 0, 1},
        {"refused, and done",
         {TXN(1, 0x33, "create", 0, 1), OP(TRACE_OP_MULTI, 1, ZK_NODE_EXISTS)},
         1,
         0,
         0,
         1},
        {"nothing at that zxid",
         {TXN(1, 0x33, "create", 0, 1), TXN(3, 0x33, "set", 0, 1), OP(TRACE_OP_MULTI, 2, 0)},
         1,
         0,
         0,
         1},
        {"synced", {TXN(1, 0x22, "create", 0, 1), OP(TRACE_OP_SYNC, 1, 0)}, 0, 0, 0, 1},
        {"not synced", {TXN(2, 0x22, "create", 0, 1), OP(TRACE_OP_SYNC, 1, 0)}, 1, 0, 0, 1},
        {"by a deposed leader",
         {ROLE("zk1", 1), ROLE("zk2", 2), TXN(2, 0x22, "create", 0, 1), OP(TRACE_OP_SYNC, 1, 0)},
         0,
         0,
         1,
         0},
        {"by the leader of now",
         {ROLE("zk2", 1), ROLE("zk1", 2), TXN(2, 0x22, "create", 0, 1), OP(TRACE_OP_SYNC, 1, 0)},
         1,
         0,
         0,
         1},
    };
    static const struct trace_event before[] = {
        {.type = TRACE_M_START, .m_start = {"g_1", NULL, 0, "", 1, "", false}},
        {.type = TRACE_ZK_SESSION, .zk_session = {"open", 0x33, ""}},
        {.type = TRACE_ZK_STATE, .zk_state = {"connected", "zk1"}},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct check *c = check_new(NULL);
        for (size_t k = 0; k < 9; k++) {
            struct trace_event e = k < 3 ? before[k] : cases[i].events[k - 3];
            if (k >= 3 && e.type == 0 && !e.zk_txn.what)
                break;
            e.src = e.m = "m1";
            e.gs = e.seq = k;
            e.t_ns = k * 10;
            check_take(&e, c);
        }
        assert_int_equal(check_finish(c), ZKC_OK);
        struct check_result z10 = check_result(c, CHECK_Z10), z11 = check_result(c, CHECK_Z11),
                            stale = check_result(c, CHECK_STALE_SYNCS);
        if (z10.found != cases[i].z10 || z11.found != cases[i].z11 ||
            stale.found != cases[i].stale || z10.checked != cases[i].checked)
            fail_msg("%s: Z10 %" PRIu64 " of %" PRIu64 " (%s), Z11 %" PRIu64
                     " (%s), stale %" PRIu64,
                     cases[i].name, z10.found, z10.checked, z10.first ? z10.first : "", z11.found,
                     z11.first ? z11.first : "", stale.found);
        check_free(c);
    }
}

/* The checkers alone: lines are decoded without failures. */
static enum zkc_err check_lines(const void *text)
{
    struct trace_decoder d;
    struct check *c = check_new(NULL);
    if (!c)
        return ZKC_ERR_NOMEM;
    alloc_fail_pause(true);
    trace_decoder_init(&d);
    for (const char *at = text, *end; *at; at = end + 1) {
        struct trace_event e;
        struct why why;
        end = strchr(at, '\n');
        assert_int_equal(trace_decode(&d, bytes_of(at, (size_t)(end - at)), &e, &why),
                         TRACE_LINE_EVENT);
        alloc_fail_pause(false);
        check_take(&e, c);
        alloc_fail_pause(true);
    }
    trace_decoder_deinit(&d);
    alloc_fail_pause(false);
    enum zkc_err err = check_finish(c);
    check_free(c);
    return err;
}

static void test_no_memory(void **state)
{
    (void)state;
    char *text = trace_text("gt3.jsonl");
    alloc_fail_each(check_lines, text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_all_are_checked),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_is_told),
        cmocka_unit_test(test_waits_for_its_own_node),
        cmocka_unit_test(test_made_again),
        cmocka_unit_test(test_found_to_be_its_own),
        cmocka_unit_test(test_moved_from_nowhere),
        cmocka_unit_test(test_a_session_before_the_start),
        cmocka_unit_test(test_starts_of_one_claim),
        cmocka_unit_test(test_safe_beside_others),
        cmocka_unit_test(test_stores),
        cmocka_unit_test(test_multi_and_sync),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
