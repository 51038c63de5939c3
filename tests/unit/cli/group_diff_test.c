#include "tests/unit/test.h"
#include "zkconsumer/cli/group_lanes.h"

static struct group_partition partition(int32_t number, const char *owner, int64_t offset)
{
    return (struct group_partition){.partition = number,
                                    .exists = true,
                                    .owner = owner,
                                    .owner_session = owner ? 7 : 0,
                                    .offset = offset,
                                    .log_end = 10};
}

struct fixture {
    struct group_member members[2];
    struct group_partition partitions[2];
    struct group_topic topic;
    struct group_view view;
    struct group_problem problem;
    struct group_problems problems;
    struct group_moment moment;
};

static void make(struct fixture *f, const char *first, const char *second, const char *owner,
                 int64_t offset, const char *problem)
{
    *f = (struct fixture){0};
    f->members[0].consumer_id = first;
    f->members[1].consumer_id = second;
    f->partitions[0] = partition(0, owner, offset);
    f->partitions[1] = partition(1, "g_b-0", 10);
    f->topic = (struct group_topic){
        .name = "t", .exists = true, .partitions = f->partitions, .partition_count = 2};
    f->view = (struct group_view){.group = "g",
                                  .exists = true,
                                  .members = f->members,
                                  .member_count = !first   ? 0
                                                  : second ? 2
                                                           : 1,
                                  .topics = &f->topic,
                                  .topic_count = 1};
    f->problem.text = problem;
    f->problems = (struct group_problems){.list = &f->problem, .count = problem != NULL};
    f->moment = (struct group_moment){&f->view, &f->problems};
}

static void expect_diff(const struct fixture *before, const struct fixture *now, const char *want)
{
    struct buf out;
    buf_init(&out, 100000);
    group_diff_append(before ? &before->moment : NULL, &now->moment, "T", &out);
    assert_string_equal(buf_text(&out), want);
    buf_deinit(&out);
}

static void test_lines(void **state)
{
    (void)state;
    struct fixture a, b;
    make(&a, "g_a", "g_b", "g_a-0", 3, NULL);
    expect_diff(NULL, &a,
                "T member joined: g_a\nT member joined: g_b\nT [t,0] owner: none -> g_a-0\n"
                "T [t,0] offset 3, log end 10, lag 7\nT [t,1] owner: none -> g_b-0\n"
                "T [t,1] offset 10, log end 10, lag 0\n");
    expect_diff(&a, &a, "");
    make(&b, "g_b", "g_c", NULL, -1, "[t,0] has no owner");
    expect_diff(&a, &b,
                "T member left: g_a\nT member joined: g_c\nT [t,0] owner: g_a-0 -> none\n"
                "T [t,0] offset unknown, log end 10, lag unknown\nT problem: [t,0] has no owner\n");
    expect_diff(&b, &a,
                "T member joined: g_a\nT member left: g_c\nT [t,0] owner: none -> g_a-0\n"
                "T [t,0] offset 3, log end 10, lag 7\nT solved: [t,0] has no owner\n");
    b = a;
    b.members[1].session = 9;
    b.partitions[0].owner_session = 8;
    b.moment = (struct group_moment){&b.view, &b.problems};
    b.view.members = b.members;
    b.topic.partitions = b.partitions;
    b.view.topics = &b.topic;
    a.moment.view = &a.view;
    a.view.members = a.members;
    a.topic.partitions = a.partitions;
    a.view.topics = &a.topic;
    expect_diff(&a, &b,
                "T member came back in another session: g_b\n"
                "T [t,0] owner: g_a-0, in another session\n");
}

static void test_lanes(void **state)
{
    (void)state;
    struct group_lanes lanes;
    struct fixture f;
    group_lanes_init(&lanes);
    static const char *const owners[] = {"g_a-0", "g_a-0", NULL, "g_b-0"};
    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        make(&f, "g_a", "g_b", owners[i], 3, NULL);
        group_lanes_note(&lanes, &f.view);
        group_lanes_tick(&lanes);
    }
    make(&f, "g_a", "g_b", NULL, 3, NULL); /* a gap shorter than a column is seen in it */
    group_lanes_note(&lanes, &f.view);
    make(&f, "g_a", "g_b", "g_a-0", 3, "all is wrong");
    group_lanes_note(&lanes, &f.view);
    group_lanes_tick(&lanes);
    for (int i = 0; i < LANE_EVENTS_MAX + 5; i++)
        group_lanes_add_events(&lanes, "old\nnew\n");
    assert_int_equal(lanes.event_count, LANE_EVENTS_MAX);
    assert_memory_equal(lanes.list[0].columns, "aa.b.", 5);
    assert_memory_equal(lanes.list[1].columns, "bbbbb", 5);

    struct buf out;
    buf_init(&out, 100000);
    group_lanes_append(&lanes, &f.moment, "NOW", 1000, 100, 12, &out);
    const char *text = buf_text(&out);
    for (size_t rows = 0; *text; rows++) {
        size_t len = strcspn(text, "\r");
        assert_true(len <= 100 && rows < 12);
        text += len + 2;
    }
    static const char *const parts[] = {
        "group g: 2 members, 2 partitions, lag 7, 1 problems   NOW\r\n",
        "  aa.b.\r\n",
        "problem: all is wrong\r\n",
        "a = g_a-0\r\n",
        "b = g_b-0\r\n",
        "new\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!strstr(buf_text(&out), parts[i]))
            fail_msg("%s is missing in:\n%s", parts[i], buf_text(&out));
    buf_clear(&out);
    group_lanes_append(&lanes, &f.moment, "NOW", 1000, 10, 1, &out);
    assert_string_equal(buf_text(&out), "group g: 2\r\n");
    buf_deinit(&out);

    for (int i = 0; i < LANE_COLUMNS_MAX + 3; i++)
        group_lanes_tick(&lanes); /* nothing seen: blank, and what is old goes */
    assert_int_equal(lanes.list[0].length, LANE_COLUMNS_MAX);
    assert_int_equal(lanes.list[0].columns[0], ' ');
    group_lanes_deinit(&lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_lanes),
    };
    return cmocka_run_group_tests_name("group_diff", tests, NULL, NULL);
}
