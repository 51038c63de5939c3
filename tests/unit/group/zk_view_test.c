/* The viewer by itself, as the observer of a process runs it: filters, topics that come and go,
 * lost answers, large groups, a lack of memory. */
#include "tests/support/fake_zk.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/group/zk_view.h"

#define IDS "/consumers/g/ids/"

struct rig {
    struct fake_zk *zk;
    struct zk_viewer *viewer;
    int64_t session, now_ms;
    struct group_outputs out;
    struct fake_zk_client client;
    int reads; /* operations since the last view */
    bool has_asked_exists;
    int notices; /* of all */
    int errors;  /* of these */
    char notice[512];
    struct zk_view *view; /* the last */
    int views;
};

static void step(struct rig *r, struct group_input *in);

static void take_view(struct rig *r)
{
    struct zk_view *v = zk_viewer_take(r->viewer);
    if (!v)
        return;
    zk_view_unref(r->view);
    r->view = v;
    r->views++;
}

/* Answers everything at once; a step's outputs are copied, as the answers clear them. */
static void carry_out(struct rig *r)
{
    size_t count = r->out.count;
    struct group_output *list = malloc((count + 1) * sizeof *list);
    memcpy(list, r->out.list, count * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        if (list[i].type == GROUP_OUT_NOTICE) {
            r->notices++;
            r->errors += list[i].notice.err != ZKC_OK;
            snprintf(r->notice, sizeof r->notice, "%s", list[i].notice.text);
        }
        if (list[i].type != GROUP_OUT_OP)
            continue;
        r->reads++;
        r->has_asked_exists |= list[i].op.op.type == ZK_OP_EXISTS;
        assert_int_equal(list[i].op.lane, GROUP_LANE_VIEW);
        const struct zk_result *result = fake_zk_run(r->zk, r->session, &list[i].op.op);
        struct group_input in = {.type = GROUP_IN_RESULT,
                                 .result = {GROUP_LANE_VIEW, list[i].op.seq, result}};
        step(r, &in);
    }
    free(list);
}

static void step(struct rig *r, struct group_input *in)
{
    alloc_fail_pause(false); /* only its own allocations fail */
    group_outputs_clear(&r->out);
    zk_viewer_feed(r->viewer, in, &r->out);
    zk_viewer_run(r->viewer, r->now_ms, &r->out);
    take_view(r);
    alloc_fail_pause(true);
    carry_out(r);
}

static void settle(struct rig *r)
{
    int64_t session;
    struct zk_watch_event event;
    struct group_input time = {.type = GROUP_IN_TIME};
    do {
        while (fake_zk_take_event(r->zk, &session, &event)) {
            struct group_input in = {.type = GROUP_IN_WATCH, .watch = event};
            step(r, &in);
        }
        step(r, &time);
    } while (zk_viewer_deadline_ms(r->viewer) <= r->now_ms);
}

static void begin(struct rig *r, enum zk_pattern pattern, const char *subscription)
{
    struct zk_subscription s = {(char *)(uintptr_t)subscription, 1};
    struct zk_viewer_config config = {.group = "g",
                                      .pattern = pattern,
                                      .subscriptions = &s,
                                      .subscription_count = 1,
                                      .exclude_internal_topics = true,
                                      .coalesce = true};
    struct why why;
    alloc_fail_pause(true);
    memset(r, 0, sizeof *r);
    r->zk = fake_zk_new();
    r->session = fake_zk_open(r->zk);
    assert_int_equal(zk_viewer_new(&config, &r->viewer, &why), ZKC_OK);
}

static void connect(struct rig *r, bool is_new)
{
    struct group_input in = {.type = GROUP_IN_CONNECTED,
                             .connected = {r->session, 6000, is_new, 0}};
    step(r, &in);
    settle(r);
}

static void end(struct rig *r)
{
    zk_view_unref(r->view);
    zk_viewer_free(r->viewer);
    fake_zk_free(r->zk);
    alloc_fail_pause(false);
}

static void put_topic(struct rig *r, const char *name, int partitions)
{
    char path[64], text[256] = "{\"version\":1,\"partitions\":{";
    snprintf(path, sizeof path, "/brokers/topics/%s", name);
    for (int p = 0; p < partitions; p++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\"%d\":[0]", p ? "," : "", p);
    snprintf(text + strlen(text), sizeof text - strlen(text), "}}");
    fake_zk_put(r->zk, path, text);
}

static void put_member(struct rig *r, const char *id, const char *pattern, const char *what)
{
    char path[64], text[256];
    snprintf(path, sizeof path, IDS "%s", id);
    snprintf(text, sizeof text,
             "{\"version\":1,\"subscription\":{\"%s\":1},\"pattern\":\"%s\",\"timestamp\":\"1\"}",
             what, pattern);
    fake_zk_put(r->zk, path, text);
}

static size_t share(struct rig *r, const char *id)
{
    const struct assignment *all;
    struct why why;
    size_t at = zk_view_find(r->view, id);
    assert_true(at != SIZE_MAX);
    assert_int_equal(zk_view_assign(r->view, ASSIGN_RANGE, &all, &why), ZKC_OK);
    return assignment_member_count(all, at);
}

static void test_filter_sees_topics_come_and_go(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, ZK_PATTERN_WHITE_LIST, "t.*");
    put_topic(&r, "t1", 2);
    put_topic(&r, "u", 2);
    put_member(&r, "g_a", "white_list", "t.*");
    put_member(&r, "g_b", "white_list", "t.*");
    put_member(&r, "g_c", "static", "u");
    connect(&r, true);
    assert_int_equal(r.view->topic_count, 1);
    assert_int_equal(share(&r, "g_a"), 1);
    assert_int_equal(share(&r, "g_c"), 0);
    r.reads = 0;
    put_topic(&r, "t2", 4);
    settle(&r);
    assert_int_equal(r.reads, 2); /* the list, and what is new of it */
    assert_int_equal(share(&r, "g_a"), 3);
    fake_zk_remove(r.zk, "/brokers/topics/t1");
    settle(&r);
    assert_false(r.has_asked_exists); /* nothing waits for it: the list tells when it is back */
    assert_int_equal(share(&r, "g_a"), 2);
    put_topic(&r, "t1", 3);
    settle(&r);
    assert_int_equal(share(&r, "g_a"), 4);
    end(&r);
}

static void test_topic_that_does_not_exist_yet(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, ZK_PATTERN_STATIC, "t");
    put_member(&r, "g_a", "static", "t");
    connect(&r, true);
    assert_int_equal(r.view->topic_count, 0);
    assert_int_equal(share(&r, "g_a"), 0);
    put_topic(&r, "t", 3);
    settle(&r);
    assert_int_equal(share(&r, "g_a"), 3);
    put_topic(&r, "t", 5);
    settle(&r);
    assert_int_equal(share(&r, "g_a"), 5);
    fake_zk_put(r.zk, "/brokers/topics/t", "{\"partitions\":{\"x\":[0]}}");
    settle(&r);
    assert_int_equal(share(&r, "g_a"), 5); /* broken: it stays as it was */
    assert_non_null(strstr(r.notice, "topic t"));
    end(&r);
}

static void test_group_that_does_not_exist_yet(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, ZK_PATTERN_STATIC, "t");
    connect(&r, true);
    assert_int_equal(r.view->member_count, 0);
    fake_zk_put(r.zk, "/consumers/g/ids", NULL);
    settle(&r);
    put_member(&r, "g_a", "static", "t");
    settle(&r);
    assert_int_equal(r.view->member_count, 1);
    end(&r);
}

static void test_odd_registrations_break_nobody(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, ZK_PATTERN_STATIC, "t");
    put_topic(&r, "t", 2);
    put_member(&r, "g_a", "static", "t");
    put_member(&r, "g_b", "white_list", "t(");
    fake_zk_put(r.zk, IDS "g_c", "{");
    fake_zk_put(r.zk, IDS "g_d", NULL);
    fake_zk_put(r.zk, IDS "g_e", "{\"subscription\":{\"t\":99999999},\"pattern\":\"static\"}");
    connect(&r, true);
    assert_int_equal(r.view->member_count, 5);
    assert_int_equal(share(&r, "g_a"), 2);
    assert_int_equal(r.notices, 4); /* each by its id, once */
    assert_int_equal(r.errors, 1); /* of what Java members may read: loudly */
    for (size_t i = 1; i < 5; i++) {
        assert_false(r.view->registrations[i]->content->is_readable);
        assert_int_equal(r.view->registrations[i]->content->is_share_unknown, i == 1);
    }
    end(&r);
}

static void test_session_that_ended_reads_all_again(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, ZK_PATTERN_STATIC, "t");
    put_topic(&r, "t", 2);
    put_member(&r, "g_a", "static", "t");
    connect(&r, true);
    r.reads = 0;
    struct group_input gone = {.type = GROUP_IN_DISCONNECTED};
    step(&r, &gone);
    connect(&r, false);
    assert_int_equal(r.reads, 0); /* the same session: the client has put its watches again */
    step(&r, &gone);
    struct group_input expired = {.type = GROUP_IN_EXPIRED};
    step(&r, &expired);
    fake_zk_end(r.zk, r.session);
    r.session = fake_zk_open(r.zk);
    connect(&r, true);
    assert_int_equal(r.reads, 3);
    end(&r);
}

static void test_large_group(void **state)
{
    (void)state; /* bounded reads at a time; one more member costs two */
    enum { MEMBERS = 3000 };
    struct rig r;
    begin(&r, ZK_PATTERN_STATIC, "t");
    put_topic(&r, "t", 8);
    for (int i = 0; i < MEMBERS; i++) {
        char id[32];
        snprintf(id, sizeof id, "g_%05d", i);
        put_member(&r, id, "static", "t");
    }
    connect(&r, true);
    assert_int_equal(r.view->member_count, MEMBERS);
    r.reads = 0;
    put_member(&r, "g_99999", "static", "t");
    settle(&r);
    assert_int_equal(r.reads, 2);
    assert_int_equal(r.view->member_count, MEMBERS + 1);
    assert_ptr_equal(r.view->registrations[0]->content, r.view->registrations[MEMBERS]->content);
    end(&r);
}

/* ---- a lack of memory ---- */

/* Topics and members come and go, one of them odd, and a session ends while allocations from the
 * n-th on fail; with memory and time the view is of what there is. True: one has failed. */
static bool sees_all_in_the_end(size_t n, size_t count)
{
    struct rig r;
    begin(&r, ZK_PATTERN_WHITE_LIST, "t.*");
    put_topic(&r, "t1", 2);
    put_member(&r, "g_a", "white_list", "t.*");
    fake_zk_put(r.zk, IDS "g_odd", "nonsense");
    alloc_fail_run(n, count);
    alloc_fail_pause(true);
    connect(&r, true);
    put_topic(&r, "t2", 4);
    put_member(&r, "g_b", "white_list", "t.*");
    settle(&r);
    r.now_ms += 1000;
    fake_zk_remove(r.zk, "/brokers/topics/t1");
    fake_zk_remove(r.zk, IDS "g_odd");
    settle(&r);
    struct group_input expired = {.type = GROUP_IN_EXPIRED};
    step(&r, &expired);
    r.session = fake_zk_open(r.zk);
    connect(&r, true);
    bool has_failed = alloc_fail_stop();
    alloc_fail_pause(true);
    for (int i = 0; zk_viewer_deadline_ms(r.viewer) != INT64_MAX; i++) {
        assert_true(i < 100);
        r.now_ms = zk_viewer_deadline_ms(r.viewer);
        settle(&r);
    }
    if (!r.view || r.view->topic_count != 1 || share(&r, "g_a") != 2 || share(&r, "g_b") != 2)
        fail_msg("allocations %zu to %zu: the last view is not of what there is", n, n + count - 1);
    end(&r);
    return has_failed;
}

static void test_each_allocation(void **state)
{
    static const size_t counts[] = {1, 2, 5, 20, 100};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        size_t n = 0;
        while (sees_all_in_the_end(n, counts[i]))
            n++;
        assert_true(n > 50);
    }
}

static enum zkc_err make(const void *config)
{
    struct zk_viewer *viewer;
    struct why why;
    enum zkc_err err = zk_viewer_new(config, &viewer, &why);
    if (!err)
        zk_viewer_free(viewer);
    return err;
}

static void test_new(void **state)
{
    static const struct zk_subscription list[] = {{(char *)(uintptr_t) "t.*", 1},
                                                  {(char *)(uintptr_t) "u", 2}};
    struct zk_viewer_config config = {.group = "g", .subscriptions = list, .subscription_count = 2};
    (void)state;
    alloc_fail_each(make, &config);
    config.pattern = ZK_PATTERN_WHITE_LIST;
    config.subscription_count = 1;
    alloc_fail_each(make, &config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_sees_topics_come_and_go),
        cmocka_unit_test(test_topic_that_does_not_exist_yet),
        cmocka_unit_test(test_group_that_does_not_exist_yet),
        cmocka_unit_test(test_odd_registrations_break_nobody),
        cmocka_unit_test(test_session_that_ended_reads_all_again),
        cmocka_unit_test(test_large_group),
        cmocka_unit_test(test_each_allocation),
        cmocka_unit_test(test_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
