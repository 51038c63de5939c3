#include "tests/unit/alloc_fail.h"
#include "tests/unit/assign/group_text.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/assign/assign.h"
#include "zkconsumer/core/base/rng.h"

static enum zkc_err assign(enum assign_strategy strategy, const struct assign_group *group,
                           struct assignment *out)
{
    struct why why;
    enum zkc_err err = assign_group(strategy, group, out, &why);
    assert_int_equal(err == ZKC_ERR_INVALID || err == ZKC_ERR_TOO_LARGE, why.text[0] != '\0');
    return err;
}

/* ---- recorded results ---- */

static size_t replay(const char *file)
{
    struct vectors v = vectors_read(file);
    struct group_text *text = malloc(sizeof *text);
    size_t cases = 0;
    for (size_t at = 0; group_text_read(&v, &at, text); cases++) {
        struct assignment a;
        enum zkc_err err = assign(text->strategy, &text->group, &a);
        if (err != (text->is_refused ? ZKC_ERR_INVALID : ZKC_OK))
            fail_msg("%s (case %zu): %s", text->name, cases, zkc_err_name(err));
        if (err)
            continue;
        group_text_check(text, &a);
        assignment_deinit(&a);
        if (text->strategy != ASSIGN_ROUNDROBIN)
            continue;
        assert_int_equal(assign(ASSIGN_SPREAD, &text->group, &a), ZKC_OK); /* the same */
        group_text_check(text, &a);
        assignment_deinit(&a);
    }
    free(text);
    vectors_free(&v);
    return cases;
}

static void test_range_and_ceil(void **state)
{
    (void)state;
    assert_int_equal(replay("assign/range.txt"), 32);
}

static void test_roundrobin(void **state)
{
    (void)state;
    assert_int_equal(replay("assign/roundrobin.txt"), 9);
}

static void test_rendezvous(void **state)
{
    (void)state;
    assert_int_equal(replay("assign/rendezvous.txt"), 10);
}

static void test_as_java(void **state)
{
    (void)state;
    assert_int_equal(replay("assign/java-0.8.2.2.txt"), 148);
}

/* ---- small groups, all of them ---- */

#define SMALL_MEMBERS 3
#define SMALL_TOPICS  2

/* Group number `number` of all groups of up to 3 members, with 0 to 2 streams of each of 2 topics
 * with up to 4 partitions. */
struct small_group {
    struct assign_group group;
    struct assign_member members[SMALL_MEMBERS];
    struct assign_subscription subscriptions[SMALL_MEMBERS][SMALL_TOPICS];
    struct assign_topic topics[SMALL_TOPICS];
};

static const char *const small_topics[SMALL_TOPICS] = {"t", "u"};
static const char *const small_members[SMALL_MEMBERS] = {"g_h1", "g_h1-1", "g_h10"};
static const int32_t small_partitions[] = {7, 0, 3, 1}; /* a gap, and not in order */

static unsigned digit(unsigned *number, unsigned base)
{
    unsigned d = *number % base;
    *number /= base;
    return d;
}

/* False behind the last one. */
static bool small_group(unsigned number, struct small_group *s)
{
    *s = (struct small_group){.group = {.members = s->members, .topics = s->topics}};
    s->group.topic_count = SMALL_TOPICS;
    for (size_t t = 0; t < SMALL_TOPICS; t++)
        s->topics[t] = (struct assign_topic){small_topics[t], small_partitions, digit(&number, 5)};
    s->group.member_count = digit(&number, SMALL_MEMBERS + 1);
    for (size_t m = 0; m < s->group.member_count; m++) {
        size_t n = 0;
        for (size_t t = 0; t < SMALL_TOPICS; t++) {
            int32_t streams = (int32_t)digit(&number, 3);
            if (streams)
                s->subscriptions[m][n++] = (struct assign_subscription){small_topics[t], streams};
        }
        s->members[m] = (struct assign_member){small_members[m], s->subscriptions[m], n};
    }
    return number == 0;
}

/* All numbers of a mixed radix: the members' digits count only as far as there are members, so
 * small_group() sees some groups as "behind the last": those with a digit too many. */
#define SMALL_GROUPS (5 * 5 * 4 * 9 * 9 * 9)

static int32_t streams_of(const struct assign_group *group, size_t member, const char *topic)
{
    for (size_t i = 0; i < group->members[member].subscription_count; i++)
        if (strcmp(group->members[member].subscriptions[i].topic, topic) == 0)
            return group->members[member].subscriptions[i].streams;
    return 0;
}

static size_t threads_of(const struct assign_group *group, const char *topic)
{
    size_t n = 0;
    for (size_t m = 0; m < group->member_count; m++)
        n += (size_t)streams_of(group, m, topic);
    return n;
}

/* Each partition of a topic with threads once, by topic and number, at a thread that exists. */
static void check_complete(const struct assign_group *group, const struct assignment *a)
{
    size_t want = 0;
    for (size_t t = 0; t < group->topic_count; t++)
        if (threads_of(group, group->topics[t].name))
            want += group->topics[t].partition_count;
    assert_int_equal(a->count, want);
    for (size_t i = 0; i < a->count; i++) {
        const struct assign_entry *e = &a->entries[i];
        const char *topic = group->topics[e->topic].name;
        bool exists = false;
        for (size_t p = 0; p < group->topics[e->topic].partition_count; p++)
            exists = exists || group->topics[e->topic].partitions[p] == e->partition;
        assert_true(exists);
        assert_true(e->thread >= 0 && e->thread < streams_of(group, e->member, topic));
        if (i == 0)
            continue;
        int c = strcmp(group->topics[e[-1].topic].name, topic);
        assert_true(c < 0 || (c == 0 && e[-1].partition < e->partition));
    }
}

/* How many entries a thread has; topic NULL: of all topics. */
static size_t load(const struct assign_group *group, const struct assignment *a, size_t member,
                   int32_t thread, const char *topic)
{
    size_t n = 0;
    for (size_t i = 0; i < assignment_member_count(a, member); i++) {
        const struct assign_entry *e = assignment_member_entry(a, member, i);
        bool counts = !topic || strcmp(group->topics[e->topic].name, topic) == 0;
        n += counts && e->thread == thread;
    }
    return n;
}

/* No two threads with the topic (any, for NULL) differ by more than one. */
static void check_even(const struct assign_group *group, const struct assignment *a,
                       const char *topic)
{
    size_t least = SIZE_MAX, most = 0;
    for (size_t m = 0; m < group->member_count; m++) {
        int32_t streams = streams_of(group, m, topic ? topic : small_topics[0]);
        for (int32_t thread = 0; thread < streams; thread++) {
            size_t n = load(group, a, m, thread, topic);
            least = n < least ? n : least;
            most = n > most ? n : most;
        }
    }
    assert_true(least == SIZE_MAX || most - least <= 1);
}

/* Whether roundrobin is allowed: every subscribed topic has the same threads. */
static bool is_uniform(const struct assign_group *group)
{
    bool has_both = true, has_first = false, has_second = false;
    for (size_t m = 0; m < group->member_count; m++) {
        int32_t first = streams_of(group, m, small_topics[0]);
        int32_t second = streams_of(group, m, small_topics[1]);
        has_first = has_first || first;
        has_second = has_second || second;
        has_both = has_both && first == second;
    }
    return has_both || !has_first || !has_second;
}

static bool has_same_threads(const struct assign_group *group, const char *a, const char *b)
{
    for (size_t m = 0; m < group->member_count; m++)
        if (streams_of(group, m, a) != streams_of(group, m, b))
            return false;
    return true;
}

/* Of all topics with the same threads as this one, no two threads of it differ by more than one. */
static void check_spread(const struct assign_group *group, const struct assignment *a,
                         const char *topic)
{
    size_t least = SIZE_MAX, most = 0;
    for (size_t m = 0; m < group->member_count; m++)
        for (int32_t thread = 0; thread < streams_of(group, m, topic); thread++) {
            size_t n = 0;
            for (size_t t = 0; t < group->topic_count; t++)
                if (has_same_threads(group, topic, group->topics[t].name))
                    n += load(group, a, m, thread, group->topics[t].name);
            least = n < least ? n : least;
            most = n > most ? n : most;
        }
    assert_true(least == SIZE_MAX || most - least <= 1);
}

static void test_all_small_groups(void **state)
{
    (void)state;
    size_t groups = 0, refused = 0;
    for (unsigned number = 0; number < SMALL_GROUPS; number++) {
        struct small_group s;
        struct assignment a;
        if (!small_group(number, &s))
            continue;
        groups++;
        for (int strategy = ASSIGN_RANGE; strategy <= ASSIGN_SPREAD; strategy++) {
            enum zkc_err err = assign(strategy, &s.group, &a);
            bool is_refused = strategy == ASSIGN_ROUNDROBIN && !is_uniform(&s.group);
            assert_int_equal(err, is_refused ? ZKC_ERR_INVALID : ZKC_OK);
            refused += is_refused;
            if (err)
                continue;
            check_complete(&s.group, &a);
            bool is_even = strategy == ASSIGN_RANGE || strategy == ASSIGN_RENDEZVOUS;
            for (size_t t = 0; is_even && t < SMALL_TOPICS; t++)
                check_even(&s.group, &a, small_topics[t]);
            if (strategy == ASSIGN_ROUNDROBIN && threads_of(&s.group, small_topics[0]))
                check_even(&s.group, &a, NULL);
            for (size_t t = 0; strategy == ASSIGN_SPREAD && t < SMALL_TOPICS; t++)
                check_spread(&s.group, &a, small_topics[t]);
            assignment_deinit(&a);
        }
    }
    assert_int_equal(groups, 5 * 5 * (1 + 9 + 81 + 729));
    assert_true(refused > groups / 4 && refused < groups);
}

/* ---- what the order of the input must not change ---- */

struct owner_text {
    char text[4096];
};

static struct owner_text describe(const struct assign_group *group, const struct assignment *a)
{
    struct owner_text d;
    size_t len = 0;
    d.text[0] = '\0';
    for (size_t i = 0; i < a->count; i++) {
        const struct assign_entry *e = &a->entries[i];
        len += (size_t)snprintf(d.text + len, sizeof d.text - len, "%s/%d %s-%d\n",
                                group->topics[e->topic].name, e->partition,
                                group->members[e->member].consumer_id, e->thread);
        assert_true(len < sizeof d.text);
    }
    return d;
}

static void shuffle(void *list, size_t count, size_t size, struct rng *rng)
{
    char swap[64];
    char *at = list;
    assert_true(size <= sizeof swap);
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)rng_below(rng, i);
        memcpy(swap, at + (i - 1) * size, size);
        memmove(at + (i - 1) * size, at + j * size, size);
        memcpy(at + j * size, swap, size);
    }
}

static void test_the_order_of_the_input_does_not_matter(void **state)
{
    (void)state;
    int32_t partitions[3][6] = {{0, 1, 2, 3, 4, 5}, {10, 2, 1, 0, 20, 3}, {0, 1, 0, 0, 0, 0}};
    struct assign_topic topics[] = {
        {"Aa", partitions[0], 6}, {"BB", partitions[1], 6}, {"c", partitions[2], 2}};
    struct assign_subscription subscriptions[3][3];
    struct assign_member members[3];
    for (size_t m = 0; m < 3; m++) {
        for (size_t t = 0; t < 3; t++)
            subscriptions[m][t] = (struct assign_subscription){topics[t].name, (int32_t)m + 1};
        members[m] = (struct assign_member){small_members[m], subscriptions[m], 3};
    }
    struct assign_group group = {members, 3, topics, 3};
    struct rng rng;
    rng_init(&rng, 1);
    for (int strategy = ASSIGN_RANGE; strategy <= ASSIGN_SPREAD; strategy++) {
        struct assignment a;
        assert_int_equal(assign(strategy, &group, &a), ZKC_OK);
        struct owner_text first = describe(&group, &a);
        assert_int_equal(a.count, 14);
        assignment_deinit(&a);
        for (int i = 0; i < 50; i++) {
            shuffle(members, 3, sizeof *members, &rng);
            shuffle(topics, 3, sizeof *topics, &rng);
            for (size_t m = 0; m < 3; m++)
                shuffle(subscriptions[m], 3, sizeof *subscriptions[m], &rng);
            for (size_t t = 0; t < 3; t++)
                shuffle((void *)topics[t].partitions, topics[t].partition_count, sizeof(int32_t),
                        &rng);
            assert_int_equal(assign(strategy, &group, &a), ZKC_OK);
            assert_string_equal(describe(&group, &a).text, first.text);
            assignment_deinit(&a);
        }
    }
}

/* ---- single points ---- */

static void test_empty_groups(void **state)
{
    (void)state;
    static const int32_t partitions[] = {0, 1};
    const struct assign_topic topic = {"t", partitions, 2};
    const struct assign_member idle = {"g_c1", NULL, 0};
    const struct assign_group groups[] = {
        {NULL, 0, NULL, 0}, {NULL, 0, &topic, 1}, {&idle, 1, NULL, 0}, {&idle, 1, &topic, 1}};
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        for (int strategy = ASSIGN_RANGE; strategy <= ASSIGN_SPREAD; strategy++) {
            struct assignment a;
            assert_int_equal(assign(strategy, &groups[i], &a), ZKC_OK);
            assert_int_equal(a.count, 0);
            for (size_t m = 0; m < groups[i].member_count; m++)
                assert_int_equal(assignment_member_count(&a, m), 0);
            assignment_deinit(&a);
        }
}

/* Where 0.8.2's round robin does not refuse, safe mode's is the same: over all small groups, and
 * what Java 0.8.2.2 was recorded to do. */
static void test_spread_is_roundrobin_where_that_is_allowed(void **state)
{
    (void)state;
    size_t compared = 0;
    for (unsigned number = 0; number < SMALL_GROUPS; number++) {
        struct small_group s;
        struct assignment a, b;
        if (!small_group(number, &s) || assign(ASSIGN_ROUNDROBIN, &s.group, &a))
            continue;
        assert_int_equal(assign(ASSIGN_SPREAD, &s.group, &b), ZKC_OK);
        struct owner_text want = describe(&s.group, &a), got = describe(&s.group, &b);
        assert_string_equal(got.text, want.text);
        assignment_deinit(&a);
        assignment_deinit(&b);
        compared++;
    }
    assert_true(compared > 1000);
}

/* Uneven subscriptions: each set of threads is dealt for itself, in the order of the hashes, and a
 * member sees the same of its topics when it does not know the others'. */
static void test_spread_of_uneven_subscriptions(void **state)
{
    (void)state;
    static const int32_t four[] = {0, 1, 2, 3};
    static const struct assign_topic topics[] = {{"t", four, 4}, {"u", four, 4}, {"v", four, 2}};
    static const struct assign_subscription tu[] = {{"t", 1}, {"u", 1}},
                                            tuv[] = {{"t", 1}, {"u", 1}, {"v", 2}};
    const struct assign_member members[] = {{"g_1", tu, 2}, {"g_2", tuv, 3}, {"g_3", tu, 1}};
    const struct assign_group whole = {members, 3, topics, 3}, own = {members, 3, topics, 1};
    struct assignment a, b;
    struct why why;
    assert_int_equal(assign_group(ASSIGN_ROUNDROBIN, &whole, &a, &why), ZKC_ERR_INVALID);
    assert_int_equal(assign(ASSIGN_SPREAD, &whole, &a), ZKC_OK);
    /* t: 1 2 3, u: 1 2, v: both threads of 2 */
    assert_string_equal(describe(&whole, &a).text, "t/0 g_1-0\nt/1 g_2-0\nt/2 g_3-0\nt/3 g_1-0\n"
                                                   "u/0 g_1-0\nu/1 g_2-0\nu/2 g_1-0\nu/3 g_2-0\n"
                                                   "v/0 g_2-0\nv/1 g_2-1\n");
    assert_int_equal(assign(ASSIGN_SPREAD, &own, &b), ZKC_OK);
    assert_string_equal(describe(&own, &b).text, "t/0 g_1-0\nt/1 g_2-0\nt/2 g_3-0\nt/3 g_1-0\n");
    assignment_deinit(&a);
    assignment_deinit(&b);
}

static const struct {
    const char *name;
    struct assign_subscription first[2], second[2];
    const char *why; /* NULL: allowed */
} roundrobin_cases[] = {
    {"same", {{"t", 1}, {"u", 1}}, {{"u", 3}, {"t", 3}}, NULL},
    {"two counts in one member",
     {{"t", 1}, {"u", 2}},
     {{"t", 1}, {"u", 2}},
     "roundrobin: \"g_1\" has 1 streams of \"t\" and 2 of \"u\"; expected one count for all topics "
     "of a member"},
    {"a topic less",
     {{"t", 1}, {"u", 1}},
     {{"t", 1}},
     "roundrobin: only one of \"g_1\" and \"g_2\" subscribes to \"u\"; expected the same topics in "
     "all members"},
    {"a topic more",
     {{"t", 1}},
     {{"t", 1}, {"s", 1}},
     "roundrobin: only one of \"g_1\" and \"g_2\" subscribes to \"s\"; expected the same topics in "
     "all members"},
    {"topics that do not exist count",
     {{"t", 1}, {"none", 1}},
     {{"t", 1}},
     "roundrobin: only one of \"g_1\" and \"g_2\" subscribes to \"none\"; expected the same topics "
     "in all members"},
};

static void test_roundrobin_says_who_disagrees(void **state)
{
    (void)state;
    static const int32_t partitions[] = {0, 1};
    static const struct assign_topic topics[] = {{"t", partitions, 2}, {"u", partitions, 2}};
    for (size_t i = 0; i < ARRAY_LEN(roundrobin_cases); i++) {
        const struct assign_subscription *first = roundrobin_cases[i].first;
        const struct assign_subscription *second = roundrobin_cases[i].second;
        struct assign_member members[] = {{"g_0", NULL, 0},
                                          {"g_1", first, 1 + (first[1].topic != NULL)},
                                          {"g_2", second, 1 + (second[1].topic != NULL)}};
        struct assign_group group = {members, 3, topics, 2};
        struct assignment a;
        struct why why;
        const char *want = roundrobin_cases[i].why;
        enum zkc_err err = assign_group(ASSIGN_ROUNDROBIN, &group, &a, &why);
        if (err != (want ? ZKC_ERR_INVALID : ZKC_OK) || strcmp(why.text, want ? want : "") != 0)
            fail_msg("%s: %s \"%s\"", roundrobin_cases[i].name, zkc_err_name(err), why.text);
        if (!err)
            assignment_deinit(&a);
    }
}

static void test_limits(void **state)
{
    (void)state;
    int32_t *partitions = malloc((ASSIGN_PARTITIONS_MAX + 1) * sizeof *partitions);
    for (int32_t i = 0; i <= ASSIGN_PARTITIONS_MAX; i++)
        partitions[i] = i;
    struct assign_subscription subscription = {"t", 1};
    struct assign_member members[] = {{"g_1", &subscription, 1}};
    struct assign_topic topic = {"t", partitions, ASSIGN_PARTITIONS_MAX};
    struct assign_group group = {members, 1, &topic, 1};
    struct assignment a;
    struct why why;
    assert_int_equal(assign(ASSIGN_RANGE, &group, &a), ZKC_OK);
    assert_int_equal(a.count, ASSIGN_PARTITIONS_MAX);
    assignment_deinit(&a);
    topic.partition_count++;
    assert_int_equal(assign_group(ASSIGN_RANGE, &group, &a, &why), ZKC_ERR_TOO_LARGE);
    assert_string_equal(why.text, "more than 1000000 partitions in the topics of the group");
    topic.partition_count = 1;
    subscription.streams = ASSIGN_THREADS_MAX + 1;
    assert_int_equal(assign_group(ASSIGN_RANGE, &group, &a, &why), ZKC_ERR_TOO_LARGE);
    assert_string_equal(why.text, "more than 1000000 streams in the group, with those of \"g_1\"");
    free(partitions);
}

/* Where weighing all pairs would take too long a topic is assigned by range; others are not. */
static void test_too_much_to_weigh(void **state)
{
    (void)state;
    enum { PARTITIONS = 1000000, STREAMS = 68, FEW = 50 };
    assert_true((uint64_t)PARTITIONS * STREAMS > ASSIGN_PAIRS_MAX);
    int32_t *partitions = malloc(PARTITIONS * sizeof *partitions);
    for (int32_t i = 0; i < PARTITIONS; i++)
        partitions[i] = i;
    const struct assign_subscription subscriptions[] = {{"t", STREAMS}, {"u", STREAMS}};
    const struct assign_member members[] = {{"g_1", subscriptions, 2}};
    struct assign_topic topics[] = {{"t", partitions, PARTITIONS - FEW}, {"u", partitions, FEW}};
    const struct assign_group group = {members, 1, topics, 2};
    struct assignment weighed, ranged;
    assert_int_equal(assign(ASSIGN_RENDEZVOUS, &group, &weighed), ZKC_OK);
    assert_int_equal(assign(ASSIGN_RANGE, &group, &ranged), ZKC_OK);
    assert_int_equal(weighed.count, PARTITIONS);
    size_t large = (PARTITIONS - FEW) * sizeof *weighed.entries;
    assert_memory_equal(weighed.entries, ranged.entries, large);
    assert_memory_not_equal(weighed.entries + PARTITIONS - FEW, ranged.entries + PARTITIONS - FEW,
                            FEW * sizeof *weighed.entries);
    assignment_deinit(&weighed);
    assignment_deinit(&ranged);
    free(partitions);
}

/* The size that this project is about: it must be a matter of milliseconds, or this test is felt.
 */
static void test_ten_thousand_members(void **state)
{
    (void)state;
    enum { MEMBERS = 10000, PARTITIONS = 1000, TOPICS = 10 };
    static char names[MEMBERS][24];
    static int32_t partitions[PARTITIONS];
    static const char *const topic_names[TOPICS] = {"0", "1", "2", "3", "4",
                                                    "5", "6", "7", "8", "9"};
    struct assign_topic topics[TOPICS];
    struct assign_subscription subscriptions[TOPICS];
    struct assign_member *members = malloc(MEMBERS * sizeof *members);
    struct rng rng;
    rng_init(&rng, 7);
    for (int32_t i = 0; i < PARTITIONS; i++)
        partitions[i] = i;
    for (size_t t = 0; t < TOPICS; t++) {
        topics[t] = (struct assign_topic){topic_names[t], partitions, PARTITIONS};
        subscriptions[t] = (struct assign_subscription){topic_names[t], 1};
    }
    for (size_t m = 0; m < MEMBERS; m++) {
        snprintf(names[m], sizeof names[m], "g_%016" PRIx64, rng_next(&rng));
        members[m] = (struct assign_member){names[m], subscriptions, TOPICS};
    }
    struct assign_group group = {members, MEMBERS, topics, TOPICS};
    for (int strategy = ASSIGN_RANGE; strategy <= ASSIGN_SPREAD; strategy++) {
        struct assignment a;
        size_t idle = 0;
        assert_int_equal(assign(strategy, &group, &a), ZKC_OK);
        assert_int_equal(a.count, PARTITIONS * TOPICS);
        for (size_t m = 0; m < MEMBERS; m++)
            idle += assignment_member_count(&a, m) == 0;
        /* Per topic the same thousand work; by weight another thousand in each, which leaves
         * 0.9^10 of all; dealt over all topics everybody has one. */
        if (strategy == ASSIGN_RENDEZVOUS)
            assert_in_range(idle, MEMBERS * 34 / 100, MEMBERS * 36 / 100);
        else
            assert_int_equal(idle, strategy >= ASSIGN_ROUNDROBIN ? 0 : MEMBERS - PARTITIONS);
        assignment_deinit(&a);
    }
    free(members);
}

struct assign_input {
    enum assign_strategy strategy;
    struct assign_group group;
};

static enum zkc_err assign_input(const void *input)
{
    const struct assign_input *in = input;
    struct assignment a;
    enum zkc_err err = assign(in->strategy, &in->group, &a);
    if (!err)
        assignment_deinit(&a);
    return err;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static const int32_t partitions[] = {0, 1, 2};
    static const struct assign_topic topics[] = {{"u", partitions, 3}, {"t", partitions, 2}};
    static const struct assign_subscription both[] = {{"t", 2}, {"u", 2}};
    static const struct assign_member members[] = {{"g_2", both, 2}, {"g_1", both, 2}};
    for (int strategy = ASSIGN_RANGE; strategy <= ASSIGN_SPREAD; strategy++) {
        struct assign_input input = {strategy, {members, 2, topics, 2}};
        alloc_fail_each(assign_input, &input);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_range_and_ceil),
        cmocka_unit_test(test_roundrobin),
        cmocka_unit_test(test_rendezvous),
        cmocka_unit_test(test_as_java),
        cmocka_unit_test(test_all_small_groups),
        cmocka_unit_test(test_the_order_of_the_input_does_not_matter),
        cmocka_unit_test(test_empty_groups),
        cmocka_unit_test(test_spread_is_roundrobin_where_that_is_allowed),
        cmocka_unit_test(test_spread_of_uneven_subscriptions),
        cmocka_unit_test(test_roundrobin_says_who_disagrees),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_too_much_to_weigh),
        cmocka_unit_test(test_ten_thousand_members),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
