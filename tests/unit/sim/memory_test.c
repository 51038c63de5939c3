/* Memory that runs out inside a world: the run ends, says so, and leaves nothing behind. */
#include "study/sim/sim.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include <stdio.h>

struct heard {
    char reason[16]; /* of `end` */
    uint64_t events;
};

static void hear(const struct trace_event *e, void *user)
{
    struct heard *h = user;
    h->events++;
    if (e->type == TRACE_END)
        snprintf(h->reason, sizeof h->reason, "%s", e->end.reason);
}

static const struct sim_topic TOPIC = {"t", 4, 2000, 0};

static void configure(struct sim_config *c, struct sim_member_plan *members, size_t count,
                      struct trace_sink *sink, struct heard *heard)
{
    sim_config_init(c);
    for (size_t i = 0; i < count; i++) {
        members[i] = (struct sim_member_plan){.start_ns = SIM_S};
        sim_member_config_init(&members[i].config);
    }
    *sink = (struct trace_sink){2, hear, heard};
    c->topics = &TOPIC;
    c->topic_count = 1;
    c->members = members;
    c->member_count = count;
    c->sinks = sink;
    c->sink_count = 1;
}

/* A life of a world with every entry into it. What it came to. */
static enum zkc_err live(size_t member_count, struct heard *heard, bool *is_stable)
{
    static const struct sim_fault grow = {.kind = SIM_PARTITIONS, .topic = "t", .count = 200};
    static const struct sim_fault crash = {.kind = SIM_CRASH, .who = "zk:leader"};
    struct sim_member_plan members[2];
    struct sim_config c;
    struct trace_sink sink;
    struct sim *sim;
    char why[200] = "";
    configure(&c, members, member_count, &sink, heard);
    enum zkc_err err = sim_new(&c, &sim, why, sizeof why);
    if (err) {
        assert_string_equal(why, "out of memory");
        return err;
    }
    sim_run_until(sim, 10 * SIM_S);
    sim_do(sim, &grow);
    sim_do(sim, &crash);
    sim_run_until(sim, 20 * SIM_S);
    sim_heal(sim);
    *is_stable = sim_run_until_true(sim, sim_is_stable, NULL, 60 * SIM_S);
    sim_node(sim, "/never/heard/of", NULL, NULL);
    err = sim_failed(sim);
    if (err) { /* for good */
        uint64_t events = heard->events;
        assert_false(sim_is_stable(sim, NULL));
        assert_string_equal(sim_why(sim), "memory ran out");
        sim_run_until(sim, 70 * SIM_S);
        assert_true(sim_now(sim) == 70 * SIM_S);
        assert_false(sim_do(sim, &grow));
        sim_heal(sim);
        assert_int_equal(heard->events, events);
    }
    sim_free(sim);
    assert_string_equal(heard->reason, err ? "nomem" : "done");
    return err;
}

/* A world without members: each allocation is the world's own. */
static void test_each_allocation(void **state)
{
    (void)state;
    ALLOC_FAIL_EACH(n, failed, {
        struct heard heard = {0};
        bool is_stable = false;
        failed = live(0, &heard, &is_stable) == ZKC_ERR_NOMEM;
    });
}

/* With members some are the machines': they say so, or try again, and then all ends well. */
static void test_members(void **state)
{
    size_t failures = 0, borne = 0;
    (void)state;
    for (size_t n = 0, step = 1; step; n += step) {
        struct heard heard = {0};
        bool is_stable = false;
        alloc_fail_at(n);
        enum zkc_err err = live(2, &heard, &is_stable);
        if (!alloc_fail_stop())
            step = 0;
        else
            step = n < 40 ? 1 : n / 8;
        failures += err == ZKC_ERR_NOMEM;
        borne += step && !err;
        if (!err && !is_stable)
            fail_msg("allocation %zu: neither said nor borne", n);
    }
    assert_true(failures > 10);
    assert_true(borne > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation),
        cmocka_unit_test(test_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
