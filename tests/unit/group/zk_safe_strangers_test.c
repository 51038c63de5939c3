/* Members without a lease beside one that has one: what they do is put down to them. */
#include "tests/unit/group/zk_safe_world.h"
#include "tests/unit/test.h"

#define OWNER(p)  SAFE_OWNERS #p
#define OFFSET(p) SAFE_OFFSETS #p
#define JAVAS                                                                                      \
    "{\"version\":1,\"subscription\":{\"t\":1},\"pattern\":\"static\",\"timestamp\":\"1\"}"
#define SAFE_MEMBERS                                                                               \
    "{\"version\":1,\"subscription\":{\"t\":1},\"pattern\":\"static\",\"timestamp\":\"1\","        \
    "\"strategy\":\"ceil,range\"}"
#define AUDIT_MS       12000
#define AUDIT_AGAIN_MS 30000

/* Member g_m of group g and one more, g_j, of another session: two partitions, of which g_j is to
 * have 0 and g_m 1. */
struct rig {
    struct safe_world *w;
    struct safe_member *m;
    int64_t other;
};

static void begin(struct rig *r, const char *registration)
{
    struct zk_safe_config config = safe_world_config();
    r->w = safe_world_with_foreigner(2, &r->other);
    fake_zk_put(r->w->zk, OFFSET(0), "5");
    fake_zk_put(r->w->zk, OFFSET(1), "5");
    fake_zk_put_ephemeral(r->w->zk, SAFE_IDS "g_j", registration, r->other);
    r->m = safe_world_join(r->w, "g_m", &config);
}

static void end(struct rig *r)
{
    safe_world_free(r->w);
}

static void owns(struct rig *r, const char *path)
{
    fake_zk_put_ephemeral(r->w->zk, path, "g_j-0", r->other);
}

static void connect(struct rig *r)
{
    safe_connect(r->m);
    safe_world_calm(r->w);
}

static void end_other(struct rig *r)
{
    r->w->touched_ms[r->other] = -10 * SAFE_SESSION_MS;
    safe_world_end_sessions(r->w);
    safe_world_calm(r->w);
}

/* Somebody writes, and the probes notice. */
static void write_offset(struct rig *r, const char *path, const char *text)
{
    safe_world_put(r->w, path, text);
    safe_world_run_ms(r->w, SAFE_SESSION_MS);
}

/* It delivers on without a session, from 5 to 9, and commits when it is back; and so on. */
static void test_commit_of_who_had_it_by_the_assignment(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, JAVAS);
    owns(&r, OWNER(0));
    connect(&r);
    assert_false(safe_gate_is_open(r.m, 0));
    end_other(&r);
    assert_true(safe_gate_is_open(r.m, 0));
    write_offset(&r, OFFSET(0), "9");
    assert_int_equal(r.m->foreigns, 1);
    assert_string_equal(r.m->blamed, "g_j");
    assert_int_equal(r.m->doubled, 4);
    write_offset(&r, OFFSET(0), "12");
    assert_int_equal(r.m->doubled, 7);
    write_offset(&r, OFFSET(0), "7"); /* what is known already */
    assert_int_equal(r.m->foreigns, 3);
    assert_int_equal(r.m->doubled, 7);
    write_offset(&r, OFFSET(0), "0900"); /* a reset by a tool is nobody's delivery */
    assert_int_equal(r.m->obeyed, 1);
    assert_string_equal(r.m->blamed, "");
    assert_int_equal(r.m->doubled, 7);
    end(&r);
}

static void test_commit_of_who_held_it_when_we_looked(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, JAVAS);
    owns(&r, OWNER(0));
    owns(&r, OWNER(1));
    connect(&r);
    assert_string_equal(r.m->waiting_for, "g_j-0");
    safe_world_remove(r.w, OWNER(1));
    safe_world_calm(r.w);
    assert_true(safe_gate_is_open(r.m, 1));
    write_offset(&r, OFFSET(1), "6");
    assert_string_equal(r.m->blamed, "g_j");
    assert_int_equal(r.m->doubled, 1);
    end(&r);
}

/* A member with a lease does not do that; and of a partition that nobody had nobody is known. */
static void test_nobody_is_blamed_without_reason(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, SAFE_MEMBERS);
    owns(&r, OWNER(0));
    connect(&r);
    end_other(&r);
    write_offset(&r, OFFSET(0), "9");
    write_offset(&r, OFFSET(1), "9");
    assert_int_equal(r.m->foreigns, 2);
    assert_string_equal(r.m->blamed, "");
    assert_int_equal(r.m->doubled, 0);
    end(&r);
}

static void test_deleted_owner_nodes(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, JAVAS);
    owns(&r, OWNER(0));
    connect(&r);
    safe_world_remove(r.w, OWNER(1));
    safe_world_calm(r.w);
    assert_int_equal(r.m->deletes, 1);
    assert_string_equal(r.m->blamed, ""); /* it may be anybody */
    assert_true(safe_gate_is_open(r.m, 1));
    safe_world_remove(r.w, OWNER(1));
    owns(&r, OWNER(1)); /* and has it */
    safe_world_calm(r.w);
    assert_int_equal(r.m->deletes, 2);
    assert_string_equal(r.m->blamed, "g_j");
    safe_world_remove(r.w, OWNER(1));
    safe_world_calm(r.w);
    safe_world_remove(r.w, OWNER(1)); /* from who had it before us */
    safe_world_calm(r.w);
    assert_int_equal(r.m->deletes, 3);
    assert_string_equal(r.m->blamed, "g_j");
    end(&r);
}

static void test_who_gave_up(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, JAVAS);
    connect(&r);
    safe_forget_asked(r.m);
    safe_world_run_ms(r.w, AUDIT_MS - 1000);
    assert_int_equal(r.m->gave_ups, 0); /* it may be trying */
    assert_int_equal(safe_asked_like(r.m, "getChildren owners/t"), 0);
    safe_world_run_ms(r.w, 2000);
    assert_int_equal(safe_asked_like(r.m, "getChildren owners/t"), 1);
    assert_int_equal(r.m->gave_ups, 1);
    assert_string_equal(r.m->gave_up, "g_j");
    assert_int_equal(r.m->free, 1);
    assert_int_equal(r.m->share, 1);
    assert_int_equal(zk_safe_counts(r.m->machine).gave_up, 1);
    safe_world_run_ms(r.w, AUDIT_AGAIN_MS + 1000);
    assert_int_equal(r.m->gave_ups, 1); /* nothing new */
    owns(&r, OWNER(0));
    safe_world_run_ms(r.w, AUDIT_AGAIN_MS + 1000);
    assert_int_equal(r.m->gave_ups, 2);
    assert_int_equal(r.m->free, 0);
    safe_forget_asked(r.m);
    safe_world_run_ms(r.w, 3 * AUDIT_AGAIN_MS);
    assert_int_equal(safe_asked_like(r.m, "getChildren owners/t"), 0); /* all is well */
    end(&r);
}

static void test_who_gave_up_and_left(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, JAVAS);
    connect(&r);
    safe_world_run_ms(r.w, AUDIT_MS + 1000);
    assert_int_equal(r.m->free, 1);
    end_other(&r);
    assert_int_equal(r.m->gave_ups, 2);
    assert_int_equal(r.m->free, 0);
    end(&r);
}

static void test_who_has_its_share(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, JAVAS);
    owns(&r, OWNER(0));
    connect(&r);
    safe_forget_asked(r.m);
    safe_world_run_ms(r.w, 3 * AUDIT_AGAIN_MS);
    assert_int_equal(safe_asked_like(r.m, "getChildren owners/t"), 1); /* one look */
    assert_int_equal(r.m->gave_ups, 0);
    end(&r);
}

/* The look is lost with the connection. */
static void test_a_lost_look_is_repeated(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, JAVAS);
    connect(&r);
    safe_forget_asked(r.m);
    for (int i = 0; i < 2 * AUDIT_MS / 100 && !safe_asked_like(r.m, "getChildren owners/t"); i++) {
        r.w->now_ms += 100;
        safe_time(r.m);
        if (!safe_asked_like(r.m, "getChildren owners/t"))
            safe_world_calm(r.w);
    }
    assert_int_equal(safe_asked_like(r.m, "getChildren owners/t"), 1);
    safe_cut(r.m);
    safe_connect(r.m);
    safe_world_run_ms(r.w, AUDIT_MS + 2000);
    assert_int_equal(r.m->gave_ups, 1);
    end(&r);
}

/* It comes back under its name: told once, and what it commits then is its as well. */
static void test_who_comes_back(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, JAVAS);
    owns(&r, OWNER(0));
    connect(&r);
    end_other(&r);
    assert_true(safe_gate_is_open(r.m, 0));
    r.w->log_end[0] = 8;
    assert_true(safe_take(r.m, 0)); /* in hand: the release has to wait */
    safe_world_put(r.w, SAFE_IDS "g_j", JAVAS);
    safe_world_calm(r.w);
    assert_int_equal(r.m->returns, 1);
    assert_string_equal(r.m->returned, "g_j");
    assert_int_equal(r.m->returned_sum, 5);
    assert_false(safe_gate_is_open(r.m, 0));
    safe_world_put(r.w, OFFSET(0), "8"); /* the late commit */
    safe_finish(r.m, 0);
    safe_world_calm(r.w);
    assert_string_equal(r.m->blamed, "g_j");
    assert_int_equal(r.m->doubled, 3);
    assert_int_equal(safe_owner(r.w, 0), 0);
    safe_world_run_ms(r.w, 1000);
    assert_int_equal(r.m->returns, 1);
    end(&r);
}

/* One member looks, and only where there is somebody who may give up. */
static void test_who_looks(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, SAFE_MEMBERS);
    owns(&r, OWNER(0));
    connect(&r);
    safe_forget_asked(r.m);
    safe_world_run_ms(r.w, 2 * AUDIT_MS);
    assert_int_equal(safe_asked_like(r.m, "getChildren owners/t"), 0); /* nobody */
    uint64_t rounds = zk_safe_counts(r.m->machine).rounds;
    fake_zk_put_ephemeral(r.w->zk, SAFE_IDS "g_z", JAVAS, r.other);
    safe_world_run_ms(r.w, 2 * AUDIT_MS);
    assert_int_equal(safe_asked_like(r.m, "getChildren owners/t"), 0); /* g_j is the first */
    assert_int_equal(zk_safe_counts(r.m->machine).rounds, rounds + 1);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commit_of_who_had_it_by_the_assignment),
        cmocka_unit_test(test_commit_of_who_held_it_when_we_looked),
        cmocka_unit_test(test_nobody_is_blamed_without_reason),
        cmocka_unit_test(test_deleted_owner_nodes),
        cmocka_unit_test(test_who_gave_up),
        cmocka_unit_test(test_who_gave_up_and_left),
        cmocka_unit_test(test_who_has_its_share),
        cmocka_unit_test(test_a_lost_look_is_repeated),
        cmocka_unit_test(test_who_comes_back),
        cmocka_unit_test(test_who_looks),
    };
    return cmocka_run_group_tests_name("zk_safe_strangers", tests, NULL, NULL);
}
