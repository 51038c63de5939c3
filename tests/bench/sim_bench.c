/* How fast the simulated world is: events per second of the kernel alone and of whole worlds, one
 * join (S01) at several sizes, what a trace costs; beside each the aim (rebalance-study.md 7.8).
 * Usage: sim_bench [members of the large group] */
#include "study/sim/kernel.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KERNEL_EVENTS 5000000

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void again(void *actor, void *arg)
{
    struct kernel *k = actor;
    kernel_at(k, k->now_ns + 1000 + k->ran * 7919 % 5000, again, actor, arg);
}

static void bench_kernel(void)
{
    struct kernel k;
    kernel_init(&k, 1, false);
    for (uint64_t i = 0; i < 1000; i++)
        kernel_at(&k, i, again, &k, NULL);
    double from = now_s();
    for (int i = 0; i < KERNEL_EVENTS; i++)
        kernel_run_one(&k);
    printf("kernel alone, 1000 events waiting: %.1f M events/s\n",
           KERNEL_EVENTS / (now_s() - from) / 1e6);
    kernel_deinit(&k);
}

static void ignore(const struct trace_event *event, void *user)
{
    *(uint64_t *)user += event->seq;
}

struct s01 {
    const char *name;
    size_t members;
    int32_t partitions;
    uint64_t rate_mhz;
    int64_t fetch_wait_ms, fetch_min;
    int level; /* of the trace; -1: none */
    uint64_t join_ns, end_ns;
    bool join_only; /* the time from the join on */
};

static double run_s01(const struct s01 *s, uint64_t seed, bool is_quiet)
{
    struct sim_topic topic = {"t", s->partitions, s->rate_mhz, 0};
    struct sim_member_plan *members = calloc(s->members + 1, sizeof *members);
    struct sim_config c;
    struct sim *sim;
    char why[200];
    uint64_t sum = 0;
    struct trace_sink sink = {s->level, ignore, &sum};
    sim_config_init(&c);
    for (size_t i = 0; members && i <= s->members; i++) {
        sim_member_config_init(&members[i].config);
        members[i].config.auto_commit_interval_ms = 5000;
        members[i].config.session_timeout_ms = 10000;
        members[i].config.fetch_wait_ms = s->fetch_wait_ms;
        members[i].config.fetch_min = s->fetch_min;
        members[i].start_ns = i < s->members ? SIM_S + i * SIM_MS : s->join_ns;
    }
    c.seed = seed;
    c.topics = &topic;
    c.topic_count = 1;
    c.members = members;
    c.member_count = s->members + 1;
    c.sinks = &sink;
    c.sink_count = s->level >= 0;
    double from = now_s();
    if (!members || sim_new(&c, &sim, why, sizeof why)) {
        fprintf(stderr, "sim_bench: %s\n", members ? why : "out of memory");
        exit(1);
    }
    uint64_t before = 0;
    if (s->join_only) {
        sim_run_until(sim, s->join_ns - 1);
        before = sim_counts(sim).events;
        from = now_s();
    }
    sim_run_until(sim, s->end_ns);
    double took = now_s() - from;
    struct sim_counts counts = sim_counts(sim);
    if (!is_quiet)
        printf("%s: %.1f ms, %" PRIu64 " events, %.2f M events/s, %" PRIu64
               " allocations in the loop, %s\n",
               s->name, took * 1e3, counts.events - before,
               (double)(counts.events - before) / took / 1e6, counts.allocations,
               sim_is_stable(sim, NULL) ? "stable" : sim_why(sim));
    sim_free(sim);
    free(members);
    return took;
}

int main(int argc, char **argv)
{
    size_t large = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 1000;
    struct s01 each = {"S01, 10 members, 120 s, 800 messages/s fetched one by one",
                       10,
                       40,
                       20000,
                       100,
                       1,
                       -1,
                       30 * SIM_S,
                       120 * SIM_S,
                       false};
    struct s01 runs = {"S01, 10 members, 120 s, 800 messages/s in runs of 500 ms",
                       10,
                       40,
                       20000,
                       500,
                       1000000,
                       -1,
                       30 * SIM_S,
                       120 * SIM_S,
                       false};
    struct s01 join = {"one member joins the large group, every read simulated",
                       large,
                       (int32_t)large,
                       0,
                       5000,
                       1,
                       -1,
                       120 * SIM_S,
                       140 * SIM_S,
                       true};
    double without = 0, with = 0, seeds = 0;
    bench_kernel();
    run_s01(&each, 1, false);
    printf("  (aim: 3 M events/s)\n");
    run_s01(&runs, 1, false);
    printf("  (aim: 20 ms)\n");
    for (uint64_t seed = 1; seed <= 100; seed++) {
        runs.level = -1;
        without += run_s01(&runs, seed, true);
        runs.level = 1;
        with += run_s01(&runs, seed, true);
    }
    seeds = without * 10;
    printf("1000 seeds of it: %.1f s, from 100 (aim: 20 s)\n", seeds);
    printf("a trace of level 1 to a sink that counts: %+.1f %% (aim: at most +15 %%)\n",
           (with / without - 1) * 100);
    run_s01(&join, 1, false);
    printf("  of %zu members (aim for 1000: 2000 ms)\n", large);
    return 0;
}
