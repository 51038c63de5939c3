#include "tests/support/fake_zk.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/group/offset_committer.h"

#define PARTITIONS 64
#define OFFSETS    "/consumers/g/offsets"

/* Topics t and u are held, PARTITIONS partitions each. */
struct rig {
    struct offset_committer c;
    struct fake_zk *zk;
    struct group_outputs out;
    struct group_claim held[2 * PARTITIONS];
    char asked[4000]; /* "set 5, create t -> NoNode, ...", paths without OFFSETS */
    int operations;
    int ended; /* jobs */
    uint32_t ended_ids[64];
    enum zkc_err ended_errs[64];
    char why[WHY_SIZE];
    int fail_at, fail_rc; /* operation that is answered so, not run */
    const char *vanish;   /* deleted before each create of a node */
    int booked, booked_rc;
    int64_t booked_previous;
};

static struct rig *rig_new(void)
{
    struct rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->zk = fake_zk_new();
    r->fail_at = -1;
    fake_zk_put(r->zk, "/consumers/g", NULL);
    committer_init(&r->c, "g", COMMIT_TO_ZOOKEEPER);
    for (int t = 0; t < 2; t++)
        for (int p = 0; p < PARTITIONS; p++)
            r->held[t * PARTITIONS + p] = (struct group_claim){
                .topic = t ? "u" : "t", .topic_index = (uint32_t)t, .partition = p};
    return r;
}

static void rig_free(struct rig *r)
{
    committer_deinit(&r->c);
    fake_zk_free(r->zk);
    free(r);
}

static enum zkc_err add(struct rig *r, const struct group_position *positions, size_t count,
                        bool is_joinable, uint32_t *id)
{
    struct commit_request request = {r->held, ARRAY_LEN(r->held), positions, count,
                                     true,    is_joinable};
    return committer_add(&r->c, &request, id);
}

static uint32_t add_one(struct rig *r, const char *topic, int32_t partition, int64_t offset)
{
    uint32_t id = 0;
    struct group_position p = {topic, partition, offset, 0, 0};
    assert_int_equal(add(r, &p, 1, true, &id), ZKC_OK);
    return id;
}

static struct zk_result answer(struct rig *r, const struct zk_op *op)
{
    if (r->vanish && op->type == ZK_OP_CREATE)
        fake_zk_remove(r->zk, r->vanish);
    struct zk_result result = {.zk_rc = r->fail_rc};
    if (r->operations++ != r->fail_at)
        result = *fake_zk_run(r->zk, 0, op);
    char text[200];
    const char *path = strstr(op->path, OFFSETS "/") ? op->path + strlen(OFFSETS "/") : op->path;
    snprintf(text, sizeof text, "%s %s%s%.*s%s%s, ", op->type == ZK_OP_SET ? "set" : "create", path,
             op->data.data ? "=" : "", (int)op->data.len,
             op->data.data ? (const char *)op->data.data : "", result.zk_rc ? " -> " : "",
             result.zk_rc ? zk_rc_name(result.zk_rc) : "");
    assert_true(op->version == ZK_ANY_VERSION || op->type != ZK_OP_SET);
    assert_false(op->ephemeral);
    if (strlen(r->asked) + strlen(text) < sizeof r->asked)
        strcat(r->asked, text);
    return result;
}

static void book(struct rig *r)
{
    for (size_t i = 0; i < r->out.count; i++) {
        assert_int_equal(r->out.list[i].type, GROUP_OUT_COMMIT);
        r->booked++;
        r->booked_rc = r->out.list[i].offset.zk_rc;
        r->booked_previous = r->out.list[i].offset.previous;
    }
    group_outputs_clear(&r->out);
}

/* Answers up to `count` operations. True: one more is under way, *op. */
static bool run(struct rig *r, int count, struct zk_op *op)
{
    struct zk_result result;
    const struct zk_result *given = NULL;
    for (;;) {
        uint32_t id;
        enum zkc_err err;
        struct why why;
        enum committer_step step = committer_next(&r->c, given, op, &id, &err, &why, &r->out);
        book(r);
        given = NULL;
        if (step == COMMITTER_IDLE)
            return false;
        if (step == COMMITTER_DONE) {
            r->ended_ids[r->ended] = id;
            r->ended_errs[r->ended++] = err;
            snprintf(r->why, sizeof r->why, "%s", why.text);
            continue;
        }
        if (count-- == 0)
            return true;
        result = answer(r, op);
        given = &result;
    }
}

static void run_all(struct rig *r)
{
    struct zk_op op;
    r->asked[0] = 0;
    r->ended = r->booked = r->operations = 0;
    assert_false(run(r, 10000, &op));
    assert_true(committer_is_idle(&r->c));
}

/* What is there at first; the operations of one commit of [t,3] at 7. */
static const struct first_case {
    const char *name;
    const char *exists; /* with data "0" */
    int64_t known;      /* -2: nothing is known */
    const char *asked;
} firsts[] = {
    {"folders are missing: 5", NULL, -2,
     "set t/3=7 -> NoNode, create t -> NoNode, create " OFFSETS ", create t, create t/3=7, "},
    {"topic's folder is missing", OFFSETS, -2, "set t/3=7 -> NoNode, create t, create t/3=7, "},
    {"folder is there: 3", OFFSETS "/t", -2,
     "set t/3=7 -> NoNode, create t -> NodeExists, create t/3=7, "},
    {"node is there: 1", OFFSETS "/t/3", -2, "set t/3=7, "},
    {"known to be absent", OFFSETS "/t", -1,
     "set t/3=7 -> NoNode, create t -> NodeExists, create t/3=7, "},
    {"known, another value", OFFSETS "/t/3", 6, "set t/3=7, "},
    {"known, the same value", OFFSETS "/t/3", 7, ""},
};

static void test_operations(void **state)
{
    (void)state;
    for (const struct first_case *c = firsts; c < firsts + ARRAY_LEN(firsts); c++) {
        struct rig *r = rig_new();
        if (c->exists)
            fake_zk_put(r->zk, c->exists, "0");
        struct commit_item known = {.topic = "t", .partition = 3, .offset = c->known};
        if (c->known > -2)
            assert_int_equal(committer_known(&r->c, &known), ZKC_OK);
        uint32_t id = add_one(r, "t", 3, 7);
        run_all(r);
        if (strcmp(r->asked, c->asked) != 0)
            fail_msg("%s: %s", c->name, r->asked);
        assert_int_equal(r->ended, 1);
        assert_int_equal(r->ended_ids[0], id);
        assert_int_equal(r->ended_errs[0], ZKC_OK);
        if (c->known != 7) {
            assert_string_equal(fake_zk_text(r->zk, OFFSETS "/t/3"), "7");
            assert_int_equal(r->booked_previous, c->known > -2 ? c->known : -1);
        }
        /* From now on it is one operation, or none. */
        add_one(r, "t", 3, 7);
        run_all(r);
        assert_string_equal(r->asked, "");
        add_one(r, "t", 3, 0); /* offset 0 is an offset, also backwards (F21) */
        run_all(r);
        assert_string_equal(r->asked, "set t/3=0, ");
        rig_free(r);
    }
}

/* The node is made by another between our set and our create. */
static void test_lost_race(void **state)
{
    (void)state;
    struct rig *r = rig_new();
    fake_zk_put(r->zk, OFFSETS "/t", NULL);
    add_one(r, "t", 3, 7);
    struct zk_op op;
    assert_true(run(r, 2, &op));
    assert_int_equal(op.type, ZK_OP_CREATE);
    fake_zk_put(r->zk, OFFSETS "/t/3", "100");
    struct zk_result result = answer(r, &op);
    uint32_t id;
    enum zkc_err err;
    struct why why;
    assert_int_equal(committer_next(&r->c, &result, &op, &id, &err, &why, &r->out), COMMITTER_SEND);
    assert_int_equal(op.type, ZK_OP_SET);

    /* ... and deleted again: that is an error, as it is in Java, and no endless race. */
    fake_zk_remove(r->zk, OFFSETS "/t/3");
    result = answer(r, &op);
    assert_int_equal(committer_next(&r->c, &result, &op, &id, &err, &why, &r->out), COMMITTER_DONE);
    assert_int_equal(err, ZKC_ERR_ZOOKEEPER);
    assert_string_equal(why.text, "writing " OFFSETS "/t/3: NoNode (-101)");
    rig_free(r);
}

/* Everything below /consumers is deleted again and again. */
static void test_vanishing_parents(void **state)
{
    (void)state;
    struct rig *r = rig_new();
    r->vanish = "/consumers";
    add_one(r, "t", 3, 7);
    struct zk_op op;
    assert_false(run(r, 1000, &op));
    assert_in_range(r->operations, 5, 200);
    assert_int_equal(r->ended_errs[0], ZKC_ERR_ZOOKEEPER);
    rig_free(r);
}

static void test_error_ends_the_job(void **state)
{
    (void)state;
    struct rig *r = rig_new();
    for (int p = 0; p < 4; p++) {
        char path[64];
        snprintf(path, sizeof path, OFFSETS "/t/%d", p);
        fake_zk_put(r->zk, path, "0");
    }
    static const struct group_position positions[] = {
        {"t", 3, 13, 0, 0}, {"t", 0, 10, 0, 0}, {"t", 2, 12, 0, 0}, {"t", 1, 11, 0, 0}};
    uint32_t id;
    r->fail_at = 2;
    r->fail_rc = ZK_NO_AUTH;
    assert_int_equal(add(r, positions, 4, true, &id), ZKC_OK);
    run_all(r);
    assert_string_equal(r->asked, "set t/0=10, set t/1=11, set t/2=12 -> NoAuth, ");
    assert_int_equal(r->ended_errs[0], ZKC_ERR_ZOOKEEPER);
    assert_string_equal(r->why, "writing " OFFSETS "/t/2: NoAuth (-102)");
    assert_int_equal(r->booked, 3);
    assert_int_equal(r->booked_rc, ZK_NO_AUTH);

    /* What was written before stays written, and is not written again. */
    r->fail_at = -1;
    assert_int_equal(add(r, positions, 4, true, &id), ZKC_OK);
    run_all(r);
    assert_string_equal(r->asked, "set t/2=12, set t/3=13, ");
    rig_free(r);
}

/* While one runs, all that come are one: later offsets win, also smaller ones. */
static void test_waiting_jobs_merge(void **state)
{
    (void)state;
    struct rig *r = rig_new();
    fake_zk_put(r->zk, OFFSETS "/t/3", "0");
    fake_zk_put(r->zk, OFFSETS "/t/4", "0");
    fake_zk_put(r->zk, OFFSETS "/u/0", "0");
    uint32_t running = add_one(r, "t", 3, 1);
    struct zk_op op;
    assert_true(run(r, 0, &op));
    uint32_t waiting = add_one(r, "u", 0, 2);
    assert_int_not_equal(running, waiting);
    for (int64_t offset = 3; offset < 1000; offset++)
        assert_int_equal(add_one(r, "t", 3, offset), waiting);
    assert_int_equal(add_one(r, "t", 4, 9), waiting);
    assert_int_equal(add_one(r, "t", 3, 5), waiting);
    assert_int_equal(r->c.job_count, 2);

    struct zk_result result = answer(r, &op);
    uint32_t id;
    enum zkc_err err;
    struct why why;
    assert_int_equal(committer_next(&r->c, &result, &op, &id, &err, &why, &r->out), COMMITTER_DONE);
    assert_int_equal(id, running);
    book(r);
    run_all(r);
    assert_string_equal(r->asked, "set t/3=5, set t/4=9, set u/0=2, ");
    assert_int_equal(r->ended, 1);
    assert_int_equal(r->ended_ids[0], waiting);
    rig_free(r);
}

/* A job of a rebalance stands for itself: nothing joins it, and it joins nothing. */
static void test_jobs_of_rebalances(void **state)
{
    (void)state;
    struct rig *r = rig_new();
    fake_zk_put(r->zk, OFFSETS "/t/3", "0");
    static const struct group_position position = {"t", 3, 50, 0, 0};
    struct zk_op op;
    uint32_t ids[4];
    ids[0] = add_one(r, "t", 3, 1);
    assert_true(run(r, 0, &op));
    ids[1] = add_one(r, "t", 3, 2);
    assert_int_equal(add(r, &position, 1, false, &ids[2]), ZKC_OK);
    ids[3] = add_one(r, "t", 3, 60);
    assert_int_equal(add_one(r, "t", 3, 70), ids[3]);
    assert_int_equal(r->c.job_count, COMMIT_JOBS_MAX);

    struct zk_result result = answer(r, &op);
    uint32_t id;
    enum zkc_err err;
    struct why why;
    assert_int_equal(committer_next(&r->c, &result, &op, &id, &err, &why, &r->out), COMMITTER_DONE);
    book(r);
    run_all(r);
    assert_string_equal(r->asked, "set t/3=2, set t/3=50, set t/3=70, ");
    for (int i = 0; i < 3; i++)
        assert_int_equal(r->ended_ids[i], ids[i + 1]);
    rig_free(r);
}

static void test_dropped(void **state)
{
    (void)state;
    struct rig *r = rig_new();
    fake_zk_put(r->zk, OFFSETS "/t/3", "0");
    static const struct group_position position = {"t", 3, 50, 0, 0};
    struct zk_op op;
    uint32_t running = add_one(r, "t", 3, 1), waiting = add_one(r, "t", 4, 9), rebalance;
    assert_int_equal(running, waiting); /* nothing ran yet */
    assert_true(run(r, 0, &op));
    waiting = add_one(r, "t", 3, 2);
    assert_int_equal(add(r, &position, 1, false, &rebalance), ZKC_OK);
    committer_drop_waiting(&r->c);
    add_one(r, "t", 5, 7); /* comes after: is written */

    struct zk_result result = answer(r, &op);
    uint32_t id;
    enum zkc_err err;
    struct why why;
    assert_int_equal(committer_next(&r->c, &result, &op, &id, &err, &why, &r->out), COMMITTER_SEND);
    assert_string_equal(op.path, OFFSETS "/t/4"); /* the one that ran goes on */
    result = answer(r, &op);
    assert_int_equal(committer_next(&r->c, &result, &op, &id, &err, &why, &r->out), COMMITTER_SEND);
    result = (struct zk_result){.zk_rc = ZK_NO_AUTH};
    assert_int_equal(committer_next(&r->c, &result, &op, &id, &err, &why, &r->out), COMMITTER_DONE);
    assert_int_equal(id, running);
    book(r);

    run_all(r);
    assert_int_equal(r->ended, 3);
    assert_int_equal(r->ended_ids[0], waiting);
    assert_int_equal(r->ended_errs[0], ZKC_ERR_NOT_OWNED); /* the application is told */
    assert_int_equal(r->ended_ids[1], rebalance);
    assert_int_equal(r->ended_errs[1], ZKC_OK); /* a rebalance finds nothing to do */
    assert_int_equal(r->ended_errs[2], ZKC_OK);
    assert_null(strstr(r->asked, "t/3"));
    assert_string_equal(fake_zk_text(r->zk, OFFSETS "/t/5"), "7");
    rig_free(r);
}

static void test_not_held(void **state)
{
    (void)state;
    struct rig *r = rig_new();
    static const struct group_position positions[] = {
        {"t", 3, 1, 0, 0}, {"t", PARTITIONS, 1, 0, 0}, {"v", 0, 1, 0, 0}};
    uint32_t id = 99;
    for (size_t first = 0; first < 2; first++)
        assert_int_equal(add(r, positions + first, 2, true, &id), ZKC_ERR_NOT_OWNED);
    assert_int_equal(id, 99);
    assert_true(committer_is_idle(&r->c));

    struct commit_request lenient = {r->held, ARRAY_LEN(r->held), positions, 3, false, true};
    assert_int_equal(committer_add(&r->c, &lenient, &id), ZKC_OK);
    run_all(r);
    assert_string_equal(fake_zk_text(r->zk, OFFSETS "/t/3"), "1");
    assert_null(strstr(r->asked, "v"));
    rig_free(r);
}

/* Positions that are not known yet are left out; a job may be empty. */
static void test_nothing_to_write(void **state)
{
    (void)state;
    struct rig *r = rig_new();
    add_one(r, "t", 3, -1);
    run_all(r);
    assert_int_equal(r->operations, 0);
    assert_int_equal(r->ended, 1);
    uint32_t id;
    assert_int_equal(add(r, NULL, 0, true, &id), ZKC_OK);
    run_all(r);
    assert_int_equal(r->ended, 1);
    assert_int_equal(r->ended_errs[0], ZKC_OK);
    rig_free(r);
}

/* F23: 64 idle partitions committed 600 times. */
static void test_no_storm(void **state)
{
    (void)state;
    struct rig *r = rig_new();
    struct group_position positions[PARTITIONS];
    uint32_t id;
    for (int p = 0; p < PARTITIONS; p++)
        positions[p] = (struct group_position){"t", p, 1000 + p, 0, 0};
    assert_int_equal(add(r, positions, PARTITIONS, true, &id), ZKC_OK);
    run_all(r);
    assert_int_equal(r->operations, 5 + 3 * (PARTITIONS - 1));
    for (int i = 0; i < 600; i++) {
        assert_int_equal(add(r, positions, PARTITIONS, true, &id), ZKC_OK);
        run_all(r);
        assert_int_equal(r->operations, 0);
        assert_int_equal(r->ended, 1);
    }
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_lost_race),
        cmocka_unit_test(test_vanishing_parents),
        cmocka_unit_test(test_error_ends_the_job),
        cmocka_unit_test(test_waiting_jobs_merge),
        cmocka_unit_test(test_jobs_of_rebalances),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_not_held),
        cmocka_unit_test(test_nothing_to_write),
        cmocka_unit_test(test_no_storm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
