/* The same machine, two worlds: what a member asks of ZooKeeper for a join or a leave is, to the
 * last operation, what Kafka 0.8.2.2's Java members asked for
 * (tests/vectors/zookeeper/counts.jsonl). */
#include "study/sim/sim.h"
#include "tests/unit/test.h"
#include <jansson.h>
#include <stdio.h>

#define MEMBERS 10

struct world {
    struct sim *sim;
    struct sim_member_plan members[MEMBERS];
    uint64_t now;
};

/* Two brokers, nothing to commit. Servers answer evenly, and who joins is far away: it claims when
 * the others have released, as in the recorded scenes, which have no conflict. */
static void set_up(struct world *w, unsigned servers)
{
    static const struct sim_topic topics[] = {{"t", 12, 0, 0}, {"u", 4, 0, 0}};
    struct sim_config c;
    char why[200];
    sim_config_init(&c);
    c.zk.servers = servers;
    c.zk.fsync = (struct sim_dist){SIM_CONSTANT, 1000, 0, NULL, 0};
    c.zk.link = c.client_link = (struct sim_dist){SIM_CONSTANT, 50000, 0, NULL, 0};
    c.brokers.count = 2;
    c.topics = topics;
    c.topic_count = 2;
    for (size_t i = 0; i < MEMBERS; i++) {
        w->members[i] = (struct sim_member_plan){.start_ns = SIM_NEVER};
        sim_member_config_init(&w->members[i].config);
        w->members[i].config.auto_commit = false;
    }
    c.members = w->members;
    c.member_count = MEMBERS;
    w->now = 0;
    if (sim_new(&c, &w->sim, why, sizeof why))
        fail_msg("%s", why);
}

static const char *name_of(size_t member)
{
    static char name[16];
    snprintf(name, sizeof name, "m%zu", member);
    return name;
}

static void settle(struct world *w)
{
    uint64_t until = sim_now(w->sim) + 5 * SIM_S;
    if (!sim_run_until_true(w->sim, sim_is_stable, NULL, until))
        fail_msg("%s", sim_why(w->sim));
    sim_run_until(w->sim, until); /* no more happens */
}

static void take_counts(struct world *w, struct sim_member_counts *counts)
{
    for (size_t i = 1; i <= MEMBERS; i++)
        assert_true(sim_member_counts(w->sim, name_of(i), &counts[i]));
}

static void do_it(struct world *w, enum sim_fault_kind kind, size_t member)
{
    struct sim_fault delay = {
        .kind = SIM_DELAY, .who = name_of(member), .for_ns = SIM_S, .value_ns = 5 * SIM_MS};
    struct sim_fault fault = {.kind = kind, .who = name_of(member)};
    if (kind == SIM_JOIN)
        assert_true(sim_do(w->sim, &delay));
    assert_true(sim_do(w->sim, &fault));
    settle(w);
}

static uint64_t number(const json_t *line, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(line, key));
}

static void compare(const json_t *line, const char *member, const struct sim_member_counts *before,
                    const struct sim_member_counts *after, uint64_t sums[4])
{
    const json_t *want = json_object_get(json_object_get(line, "members"), member);
    uint64_t got[4] = {after->reads - before->reads, after->writes - before->writes,
                       after->watches - before->watches, after->events - before->events};
    for (size_t k = 0; k < 4; k++) {
        uint64_t wanted = want ? (uint64_t)json_integer_value(json_array_get(want, k)) : 0;
        sums[k] += got[k];
        if (got[k] != wanted)
            fail_msg("%s of %llu members, %s: %s: got %llu, Kafka's %llu",
                     json_string_value(json_object_get(line, "what")),
                     (unsigned long long)number(line, "n"), member,
                     (const char *[]){"reads", "writes", "watches", "events"}[k],
                     (unsigned long long)got[k], (unsigned long long)wanted);
    }
}

static void replay(unsigned servers)
{
    struct sim_member_counts before[MEMBERS + 1] = {0}, after[MEMBERS + 1] = {0};
    struct world w;
    char text[4096];
    size_t lines = 0;
    set_up(&w, servers);
    do_it(&w, SIM_JOIN, 1); /* the group is not new: its folders are there */
    do_it(&w, SIM_LEAVE, 1);
    FILE *f = fopen(TEST_VECTORS "/zookeeper/counts.jsonl", "r");
    assert_non_null(f);
    while (fgets(text, sizeof text, f)) {
        json_t *line = json_loads(text, 0, NULL);
        size_t n = (size_t)number(line, "n");
        bool is_join = strcmp(json_string_value(json_object_get(line, "what")), "join") == 0;
        uint64_t sums[4] = {0};
        take_counts(&w, before);
        do_it(&w, is_join ? SIM_JOIN : SIM_LEAVE, n);
        take_counts(&w, after);
        if (is_join)
            before[n] = (struct sim_member_counts){0};
        for (size_t i = 1; i <= MEMBERS; i++)
            compare(line, name_of(i), &before[i], &after[i], sums);
        assert_int_equal(sums[0], number(line, "reads"));
        assert_int_equal(sums[1], number(line, "writes"));
        assert_int_equal(sums[2], number(line, "watches"));
        assert_int_equal(sums[3], number(line, "events"));
        json_decref(line);
        lines++;
    }
    fclose(f);
    assert_int_equal(lines, 20);
    sim_free(w.sim);
}

static void test_one_server(void **state)
{
    (void)state;
    replay(1);
}

static void test_three_servers(void **state)
{
    (void)state;
    replay(3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_server),
        cmocka_unit_test(test_three_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
