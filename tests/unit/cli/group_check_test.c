#include "tests/unit/test.h"
#include "zkconsumer/cli/group_check.h"
#include "zkconsumer/cli/group_print.h"

/* Groups in short: two members A and B (sessions 1 and 2) that subscribe to topic t with one stream
 * each, unless a case says otherwise; four partitions, which range gives as A A B B. */

static const struct assign_subscription one_stream[] = {{"t", 1}};

static const struct assign_subscription a_filter[] = {{"t.*", 1}};

#define ONE_STREAM                                                                                 \
    .subscriptions = one_stream, .subscription_count = 1, .topics = one_stream, .topic_count = 1

#define MEMBER_A                                                                                   \
    {                                                                                              \
        .consumer_id = "g_a", .session = 1, ONE_STREAM                                             \
    }
#define MEMBER_B                                                                                   \
    {                                                                                              \
        .consumer_id = "g_b", .session = 2, ONE_STREAM                                             \
    }

#define OWNED(number, thread, session)                                                             \
    {                                                                                              \
        .partition = number, .exists = true, .offset = 10, .log_end = 12, .leader = 0,             \
        .owner = thread, .owner_session = session                                                  \
    }

struct group_case {
    const char *name;
    struct group_member members[3];
    size_t member_count;
    struct group_partition partitions[5];
    size_t partition_count;
    enum assign_strategy strategy;
    const char *want; /* kinds and texts, a line each */
};

static const struct group_case cases[] = {
    {.name = "healthy",
     .members = {MEMBER_A, MEMBER_B},
     .member_count = 2,
     .partitions = {OWNED(0, "g_a-0", 1), OWNED(1, "g_a-0", 1), OWNED(2, "g_b-0", 2),
                    OWNED(3, "g_b-0", 2)},
     .partition_count = 4,
     .want = ""},
    {.name = "more members than partitions",
     .members = {MEMBER_A, MEMBER_B},
     .member_count = 2,
     .partitions = {OWNED(0, "g_a-0", 1)},
     .partition_count = 1,
     .want = ""},
    {.name = "a missing owner",
     .members = {MEMBER_A, MEMBER_B},
     .member_count = 2,
     .partitions = {OWNED(0, "g_a-0", 1), OWNED(1, NULL, 0), OWNED(2, "g_b-0", 2),
                    OWNED(3, "g_b-0", 2)},
     .partition_count = 4,
     .want =
         "gave_up: member g_a has 1 of its share of 2, and 1 of it is with nobody: it has given "
         "up, or is about to try again\n"
         "unowned: [t,1] has no owner\n"},
    {.name = "a member in safe mode does not give up",
     .members = {{.consumer_id = "g_a", .session = 1, .strategy = "ceil,range", ONE_STREAM}},
     .member_count = 1,
     .partitions = {OWNED(0, "g_a-0", 1), OWNED(1, NULL, 0)},
     .partition_count = 2,
     .want = "unowned: [t,1] has no owner\n"},
    {.name = "a share that another holds is waited for",
     .members = {MEMBER_A, MEMBER_B},
     .member_count = 2,
     .partitions = {OWNED(0, "g_a-0", 1), OWNED(1, "g_a-0", 1)},
     .partition_count = 2,
     .want = "wrong_owner: [t,1] is owned by g_a-0, but range gives it to g_b-0\n"},
    {.name = "a share that is with nobody",
     .members = {MEMBER_A, MEMBER_B},
     .member_count = 2,
     .partitions = {OWNED(0, "g_a-0", 1), OWNED(1, "g_a-0", 1), OWNED(2, NULL, 0),
                    OWNED(3, NULL, 0)},
     .partition_count = 4,
     .want = "gave_up: member g_b has 0 of its share of 2, and 2 of it are with nobody: it has "
             "given up, or is about to try again\n"
             "unowned: [t,2] has no owner\n"
             "unowned: [t,3] has no owner\n"},
    {.name = "the owner has left",
     .members = {MEMBER_A},
     .member_count = 1,
     .partitions = {OWNED(0, "g_a-0", 1), OWNED(1, "g_b-0", 2)},
     .partition_count = 2,
     .want = "unregistered: [t,1] is owned by g_b-0, which is not registered\n"},
    {.name = "text that is no thread id",
     .members = {MEMBER_A},
     .member_count = 1,
     .partitions = {OWNED(0, "nonsense", 1), OWNED(1, "", 1)},
     .partition_count = 2,
     .want = "unregistered: [t,0] is owned by nonsense, which is not registered\n"
             "unregistered: [t,1] is owned by , which is not registered\n"},
    {.name = "a name is a part of another",
     .members = {MEMBER_A},
     .member_count = 1,
     .partitions = {OWNED(0, "g_a-1-0", 1)},
     .partition_count = 1,
     .want = "unregistered: [t,0] is owned by g_a-1-0, which is not registered\n"},
    {.name = "held by the member's session of before",
     .members = {MEMBER_A},
     .member_count = 1,
     .partitions = {OWNED(0, "g_a-0", 0xabc)},
     .partition_count = 1,
     .want = "session: [t,0] names g_a-0, but session 0xabc holds it and 0x1 holds the member\n"},
    {.name = "a persistent owner node",
     .members = {MEMBER_A},
     .member_count = 1,
     .partitions = {OWNED(0, "g_a-0", 0)},
     .partition_count = 1,
     .want = "session: [t,0] names g_a-0, but session 0x0 holds it and 0x1 holds the member\n"},
    {.name = "wrong share",
     .members = {MEMBER_A, MEMBER_B},
     .member_count = 2,
     .partitions = {OWNED(0, "g_a-0", 1), OWNED(1, "g_b-0", 2)},
     .partition_count = 2,
     .want = ""},
    {.name = "wrong share, swapped",
     .members = {MEMBER_A, MEMBER_B},
     .member_count = 2,
     .partitions = {OWNED(0, "g_b-0", 2), OWNED(1, "g_a-0", 1)},
     .partition_count = 2,
     .want = "wrong_owner: [t,0] is owned by g_b-0, but range gives it to g_a-0\n"
             "wrong_owner: [t,1] is owned by g_a-0, but range gives it to g_b-0\n"},
    {.name = "a thread that the member has not",
     .members = {MEMBER_A},
     .member_count = 1,
     .partitions = {OWNED(0, "g_a-1", 1)},
     .partition_count = 1,
     .want = "wrong_owner: [t,0] is owned by g_a-1, but range gives it to g_a-0\n"},
    {.name = "range by the code, not by the documentation",
     .members = {MEMBER_A, MEMBER_B, {.consumer_id = "g_c", .session = 3, ONE_STREAM}},
     .member_count = 3,
     .partitions = {OWNED(0, "g_a-0", 1), OWNED(1, "g_a-0", 1), OWNED(2, "g_b-0", 2),
                    OWNED(3, "g_c-0", 3)},
     .partition_count = 4,
     .want = ""},
    {.name = "the same by the documentation",
     .members = {MEMBER_A, MEMBER_B, {.consumer_id = "g_c", .session = 3, ONE_STREAM}},
     .member_count = 3,
     .partitions = {OWNED(0, "g_a-0", 1), OWNED(1, "g_a-0", 1), OWNED(2, "g_b-0", 2),
                    OWNED(3, "g_c-0", 3)},
     .partition_count = 4,
     .strategy = ASSIGN_CEIL,
     .want = "wrong_owner: [t,3] is owned by g_c-0, but ceil gives it to g_b-0\n"},
    {.name = "owned, but of a topic without that partition",
     .members = {MEMBER_A},
     .member_count = 1,
     .partitions = {OWNED(0, "g_a-0", 1),
                    {.partition = 7,
                     .offset = -1,
                     .log_end = -1,
                     .leader = -1,
                     .owner = "g_a-0",
                     .owner_session = 1}},
     .partition_count = 2,
     .want = "wrong_owner: [t,7] is owned by g_a-0, but nobody that subscribes to it should\n"},
    {.name = "an offset of a partition that is gone is nobody's",
     .members = {MEMBER_A},
     .member_count = 1,
     .partitions = {OWNED(0, "g_a-0", 1),
                    {.partition = 7, .offset = 3, .log_end = -1, .leader = -1}},
     .partition_count = 2,
     .want = ""},
    {.name = "empty group",
     .partitions = {OWNED(0, NULL, 0)},
     .partition_count = 1,
     .want = "no_members: nobody is registered in group g\n"},
    {.name = "empty group whose owners are left over",
     .partitions = {OWNED(0, "g_a-0", 1)},
     .partition_count = 1,
     .want = "no_members: nobody is registered in group g\n"
             "unregistered: [t,0] is owned by g_a-0, which is not registered\n"},
    {.name = "an odd member takes no part",
     .members = {MEMBER_A, {.consumer_id = "g_odd", .session = 9, .odd = "no JSON object"}},
     .member_count = 2,
     .partitions = {OWNED(0, "g_a-0", 1), OWNED(1, "g_a-0", 1)},
     .partition_count = 2,
     .want = "member: member g_odd cannot be read: no JSON object\n"},
    {.name = "nothing but an odd member",
     .members = {{.consumer_id = "g_odd", .session = 9, .odd = "no data"}},
     .member_count = 1,
     .partitions = {OWNED(0, "g_odd-0", 9)},
     .partition_count = 1,
     .want = "member: member g_odd cannot be read: no data\n"
             "wrong_owner: [t,0] is owned by g_odd-0, but nobody that subscribes to it should\n"},
    {.name = "a member that Java cannot read takes part",
     .members =
         {{.consumer_id = "g_a", .session = 1, .breaks = "timestamp is a number", ONE_STREAM}},
     .member_count = 1,
     .partitions = {OWNED(0, "g_a-0", 1)},
     .partition_count = 1,
     .want = "member: member g_a makes Java members fail: timestamp is a number\n"},
    {.name = "a persistent member",
     .members = {{.consumer_id = "g_a", ONE_STREAM}},
     .member_count = 1,
     .partitions = {OWNED(0, "g_a-0", 0)},
     .partition_count = 1,
     .want = "member: member g_a is a persistent node: no session holds it, and it will not go by "
             "itself\n"},
    {.name = "a filter counts for what it allows",
     .members = {MEMBER_A,
                 {.consumer_id = "g_f",
                  .session = 4,
                  .pattern = ZK_PATTERN_WHITE_LIST,
                  .subscriptions = a_filter,
                  .subscription_count = 1,
                  .topics = one_stream,
                  .topic_count = 1}},
     .member_count = 2,
     .partitions = {OWNED(0, "g_a-0", 1), OWNED(1, "g_a-0", 1), OWNED(2, "g_f-0", 4),
                    OWNED(3, "g_a-0", 1)},
     .partition_count = 4,
     .want = "wrong_owner: [t,3] is owned by g_a-0, but range gives it to g_f-0\n"},
    {.name = "with a filter that is not understood, shares are not compared, the rest is",
     .members = {MEMBER_A,
                 {.consumer_id = "g_f",
                  .session = 4,
                  .pattern = ZK_PATTERN_WHITE_LIST,
                  .subscriptions = a_filter,
                  .subscription_count = 1,
                  .filter_odd = "no regular expression"}},
     .member_count = 2,
     .partitions = {OWNED(0, "g_f-0", 4), OWNED(1, "g_x-0", 5), OWNED(2, NULL, 0)},
     .partition_count = 3,
     .want = "unregistered: [t,1] is owned by g_x-0, which is not registered\n"
             "unowned: [t,2] has no owner\n"
             "unchecked: the share of g_f is not known: no regular expression\n"},
    {.name = "what a filter allows and nobody owns",
     .members = {{.consumer_id = "g_f",
                  .session = 4,
                  .pattern = ZK_PATTERN_WHITE_LIST,
                  .subscriptions = a_filter,
                  .subscription_count = 1,
                  .topics = one_stream,
                  .topic_count = 1}},
     .member_count = 1,
     .partitions = {OWNED(0, "g_f-0", 4), OWNED(1, NULL, 0)},
     .partition_count = 2,
     .want =
         "gave_up: member g_f has 1 of its share of 2, and 1 of it is with nobody: it has given "
         "up, or is about to try again\n"
         "unowned: [t,1] has no owner\n"},
    {.name = "nor is whose thread it is",
     .members = {MEMBER_A,
                 {.consumer_id = "g_f",
                  .session = 4,
                  .pattern = ZK_PATTERN_WHITE_LIST,
                  .subscriptions = a_filter,
                  .subscription_count = 1,
                  .filter_odd = "no regular expression"}},
     .member_count = 2,
     .partitions = {OWNED(0, "g_f-7", 4), OWNED(1, "g_a-1", 1), OWNED(2, "g_a-0", 1)},
     .partition_count = 3,
     .want = "wrong_owner: [t,0] is owned by g_f-7, but g_f has 1 streams of it: nobody is that "
             "thread\n"
             "wrong_owner: [t,1] is owned by g_a-1, but g_a has 1 streams of it: nobody is that "
             "thread\n"
             "unchecked: the share of g_f is not known: no regular expression\n"},
    {.name = "an offset that is none",
     .members = {MEMBER_A},
     .member_count = 1,
     .partitions = {{.partition = 0,
                     .exists = true,
                     .offset = -1,
                     .offset_odd = "\"12\\n\"",
                     .log_end = 5,
                     .owner = "g_a-0",
                     .owner_session = 1}},
     .partition_count = 1,
     .want = "offset: [t,0] has a committed offset that is none: \"12\\n\"\n"},
};

static void run(const struct group_view *view, enum assign_strategy strategy, struct buf *got)
{
    struct arena arena;
    struct group_problems problems;
    arena_init(&arena, 1 << 20);
    assert_int_equal(group_check(view, strategy, &arena, &problems), ZKC_OK);
    for (size_t i = 0; i < problems.count; i++)
        buf_appendf(got, "%s: %s\n", group_problem_name(problems.list[i].kind),
                    problems.list[i].text);
    if (problems.unchecked)
        buf_appendf(got, "unchecked: %s\n", problems.unchecked);
    arena_deinit(&arena);
}

static void test_groups(void **state)
{
    (void)state;
    for (const struct group_case *c = cases; c < cases + ARRAY_LEN(cases); c++) {
        struct group_member members[3];
        struct group_partition partitions[5];
        memcpy(members, c->members, sizeof members);
        memcpy(partitions, c->partitions, sizeof partitions);
        struct group_topic topic = {"t", true, partitions, c->partition_count, true};
        struct group_view view = {"g", true, members, c->member_count, &topic, 1};
        struct buf got;
        buf_init(&got, 10000);
        run(&view, c->strategy, &got);
        const char *text = buf_text(&got);
        if (strcmp(text, c->want) != 0)
            fail_msg("%s: got\n%s", c->name, text);
        buf_deinit(&got);
    }
}

static void test_no_group(void **state)
{
    (void)state;
    struct group_view view = {.group = "g"};
    struct buf got;
    buf_init(&got, 1000);
    run(&view, ASSIGN_RANGE, &got);
    assert_string_equal(buf_text(&got), "no_group: there is no group g\n");
    buf_deinit(&got);
}

static void test_roundrobin_needs_equal_subscriptions(void **state)
{
    (void)state;
    static const struct assign_subscription two_streams[] = {{"t", 1}, {"u", 2}};
    struct group_member member = MEMBER_A;
    member.subscriptions = member.topics = two_streams;
    member.subscription_count = member.topic_count = 2;
    struct group_partition t0 = OWNED(0, "g_a-0", 1), u0 = OWNED(0, "g_a-1", 1);
    struct group_topic topics[] = {{"t", true, &t0, 1, true}, {"u", true, &u0, 1, true}};
    struct group_view view = {"g", true, &member, 1, topics, 2};
    struct buf got;
    buf_init(&got, 1000);
    run(&view, ASSIGN_ROUNDROBIN, &got);
    assert_memory_equal(got.data, "rule: roundrobin cannot be applied: ", 36);
    buf_deinit(&got);
}

static void test_the_rule_that_members_declare(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        bool second_is_odd;
        enum assign_strategy want;
    } rules[] = {
        {"ceil,range", "ceil,range", false, ASSIGN_CEIL},
        {"range,ceil", "ceil", false, ASSIGN_CEIL},
        {"ceil,range", NULL, false, ASSIGN_RANGE}, /* a member of Kafka 0.8 */
        {"ceil,range", NULL, true, ASSIGN_CEIL},   /* which takes no part */
        {"ceil", "ceiling,range", false, ASSIGN_RANGE},
        {"range", "ceil", false, ASSIGN_RANGE},
        {"rendezvous,ceil,range", "rendezvous,ceil,range", false, ASSIGN_RENDEZVOUS},
        {"rendezvous,ceil,range", "ceil,range", false, ASSIGN_CEIL},
        {"rendezvous,ceil,range", NULL, false, ASSIGN_RANGE},
        {"rendezvous,ceil,range", NULL, true, ASSIGN_RENDEZVOUS},
        {NULL, NULL, false, ASSIGN_RANGE},
    };
    const enum assign_strategy given = ASSIGN_ROUNDROBIN;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct group_member members[] = {{.consumer_id = "a", .strategy = rules[i].first},
                                         {.consumer_id = "b",
                                          .strategy = rules[i].second,
                                          .odd = rules[i].second_is_odd ? "odd" : NULL}};
        struct group_view view = {.group = "g", .members = members, .member_count = 2};
        if (group_check_rule(&view, NULL) != rules[i].want)
            fail_msg("case %zu", i);
        assert_int_equal(group_check_rule(&view, &given), ASSIGN_ROUNDROBIN);
    }
    struct group_view nobody = {.group = "g"};
    assert_int_equal(group_check_rule(&nobody, NULL), ASSIGN_RANGE);
}

static void test_printed(void **state)
{
    (void)state;
    struct group_partition partitions[] = {
        OWNED(0, "g_a-0", 1),
        {.partition = 10, .exists = true, .offset = -1, .log_end = 1234567890, .leader = -1},
    };
    struct group_member members[] = {
        MEMBER_A, {.consumer_id = "g_odd", .session = 0xff, .odd = "no \"JSON\""}};
    members[0].strategy = "ceil,range";
    partitions[0].owner_version = 1;
    struct group_topic topic = {"t", true, partitions, 2, true};
    struct group_view view = {"g", true, members, 2, &topic, 1};
    struct arena arena;
    struct group_problems problems;
    struct buf out;
    arena_init(&arena, 1 << 20);
    buf_init(&out, 10000);
    assert_int_equal(group_check(&view, ASSIGN_RANGE, &arena, &problems), ZKC_OK);
    group_print_table(&view, &problems, &out);
    assert_string_equal(buf_text(&out),
                        "GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG      OWNER\n"
                        "g      t      0          10              12              2        g_a-0\n"
                        "g      t      10         unknown         1234567890      unknown  none\n"
                        "\n"
                        "MEMBER  SESSION  MODE     STRATEGY    OWNED  SHARE  UNFENCED  "
                        "SUBSCRIPTION\n"
                        "g_a     0x1      safe     ceil,range  1      2      0         t:1\n"
                        "g_odd   0xff     unknown  unknown     0      0      0         "
                        "cannot be read\n"
                        "\n"
                        "problem: member g_odd cannot be read: no \"JSON\"\n"
                        "problem: [t,10] has no owner\n");
    buf_clear(&out);
    group_print_kafkas(&view, &out);
    assert_string_equal(
        buf_text(&out),
        "GROUP                          TOPIC                          PARTITION  CURRENT-OFFSET  "
        "LOG-END-OFFSET  LAG             OWNER\n"
        "g                              t                              0          10              "
        "12              2               g_a-0\n"
        "g                              t                              10         unknown         "
        "1234567890      unknown         none\n");
    buf_clear(&out);
    group_print_json(&view, &problems, &out);
    assert_string_equal(
        buf_text(&out),
        "{\"group\":\"g\",\"exists\":true,\"members\":["
        "{\"id\":\"g_a\",\"session\":\"0x1\",\"mode\":\"safe\",\"strategy\":\"ceil,range\","
        "\"pattern\":\"static\",\"subscription\":{\"t\":1},"
        "\"owned\":1,\"unfenced\":0,\"share\":2,\"error\":null},"
        "{\"id\":\"g_odd\",\"session\":\"0xff\",\"mode\":null,\"strategy\":null,\"pattern\":null,"
        "\"subscription\":{},\"owned\":0,\"unfenced\":0,\"share\":0,"
        "\"error\":\"no \\\"JSON\\\"\"}],\"partitions\":["
        "{\"topic\":\"t\",\"partition\":0,\"offset\":10,"
        "\"offset_store\":\"zookeeper\",\"log_end\":12,\"lag\":2,\"leader\":0,"
        "\"owner\":\"g_a-0\",\"session\":\"0x1\",\"claim_version\":1},"
        "{\"topic\":\"t\",\"partition\":10,\"offset\":null,\"offset_store\":null,"
        "\"log_end\":1234567890,\"lag\":null,"
        "\"leader\":null,\"owner\":null,\"session\":null,\"claim_version\":null}],\"problems\":["
        "{\"kind\":\"member\",\"topic\":null,\"partition\":null,\"member\":\"g_odd\","
        "\"text\":\"member g_odd cannot be read: no \\\"JSON\\\"\"},"
        "{\"kind\":\"unowned\",\"topic\":\"t\",\"partition\":10,\"member\":null,"
        "\"text\":\"[t,10] has no owner\"}],\"unchecked\":null}\n");
    buf_deinit(&out);
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_no_group),
        cmocka_unit_test(test_roundrobin_needs_equal_subscriptions),
        cmocka_unit_test(test_the_rule_that_members_declare),
        cmocka_unit_test(test_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
