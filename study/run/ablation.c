#include "study/run/ablation.h"
#include "zkconsumer/core/base/array.h"

static const struct ablation compat_rows[] = {
    {NULL, NULL},
    {"zookeeper.variant", "0.7"},
    {"zookeeper.variant", "documented"},
    {"partition.assignment.strategy", "ceil"},
    {"partition.assignment.strategy", "rendezvous"},
    {"partition.assignment.strategy", "roundrobin"},
    {"zookeeper.watch.brokers", "true"},
    {"zookeeper.coalesce", "false"},
    {"zookeeper.watch.owners", "true"},
    {"zookeeper.claim", "multi"},
    {"zookeeper.release", "session"},
    {"zookeeper.commit", "session"},
    {"zookeeper.fence", "disconnect"},
    {"zookeeper.fence", "lease"},
    {"zookeeper.sync.before.read", "true"},
    {"zookeeper.give.up", "never"},
};

static const char *const compat_scenarios[] = {"S05",
                                               "S09",
                                               "S10",
                                               "S12",
                                               "S13",
                                               "S15",
                                               "S17",
                                               "S18",
                                               "S19",
                                               "S21",
                                               "S22",
                                               "S25",
                                               "foreign-owner-deleted",
                                               "late-commit",
                                               "orphan",
                                               "stale-offset"};

const struct ablations ablations_compat = {.base = "as 0.8.2",
                                           .against = "0.8.2",
                                           .row = compat_rows,
                                           .count = ARRAY_LEN(compat_rows),
                                           .scenarios = compat_scenarios,
                                           .scenario_count = ARRAY_LEN(compat_scenarios)};

/* zookeeper.observer is not simulated. */
static const struct ablation safe_rows[] = {
    {NULL, NULL},
    {"zookeeper.fence", "none"},
    {"zookeeper.fence", "disconnect"},
    {"zookeeper.lease.probe", "sync"},
    {"zookeeper.claim", "single"},
    {"zookeeper.release", "blind"},
    {"zookeeper.commit", "blind"},
    {"zookeeper.watch.owners", "false"},
    {"zookeeper.keep.unmoved", "false"},
    {"zookeeper.coalesce", "false"},
    {"zookeeper.sync.before.read", "true"},
    {"partition.assignment.strategy", "range"},
    {"partition.assignment.strategy", "rendezvous"},
    {"partition.assignment.strategy", "roundrobin"},
};

static const char *const safe_scenarios[] = {
    "S05", "S12", "S15", "S18", "S21", "blind-delete-commit", "blind-delete-release"};

const struct ablations ablations_safe = {.base = "with all rules",
                                         .against = "all rules",
                                         .row = safe_rows,
                                         .count = ARRAY_LEN(safe_rows),
                                         .scenarios = safe_scenarios,
                                         .scenario_count = ARRAY_LEN(safe_scenarios)};

const struct ablation_fault ablation_faults[] = {
    {"never stable", "runs whose group was not stable at the end", CHECK_COUNT, false},
    {"give-ups", "members that exhausted their attempts", CHECK_GIVE_UPS, false},
    {"orphans", "partitions without believer at the end", CHECK_C9, false},
    {"dual", "partition-seconds with two or more active members", CHECK_DUAL, true},
    {"no record", "partition-seconds active without being owner of record", CHECK_RECORD_MISMATCH,
     true},
    {"duplicates", "messages delivered again", CHECK_DUPLICATES, false},
    {"stale commits", "commits accepted from who is not owner of record", CHECK_STALE_COMMITS,
     false},
    {"regressions", "commits that lower the committed offset", CHECK_REGRESSIONS, false},
    {"foreign deletes", "owner znodes deleted by another session", CHECK_FOREIGN_DELETES, false},
    {"outage", "partition-seconds without believer", CHECK_GAP, true},
    {"paused", "partition-seconds with believers, none of them active", CHECK_PAUSED, true},
    {"conflicts", "claims that met another's node", CHECK_CLAIM_CONFLICTS, false},
    {"SF1", "releases of what was not stopped and drained", CHECK_SF1, false},
    {"SF2", "messages handed out after the lease's end", CHECK_SF2, false},
    {"SF3", "times that two members handed out a partition", CHECK_SF3, false},
    {"SF4", "owner znodes of another session deleted by a safe member", CHECK_SF4, false},
    {"SF5", "offsets turned back, or not begun at, by a safe member", CHECK_SF5, false},
    {"SF6", "own owner znodes that a safe member does not know of", CHECK_SF6, false},
    {"SF7", "partitions that are not delivered after all faults", CHECK_SF7, false},
    {"SF8", "stops and decisions without a membership that asks for them", CHECK_SF8, false},
};
const size_t ablation_fault_count = ARRAY_LEN(ablation_faults);

static void add(struct ablation_sums *s, const struct run_result *r)
{
    s->runs++;
    for (int i = 0; i < CHECK_COUNT; i++) {
        s->found[i] += r->checks[i].found;
        s->runs_with[i] += r->checks[i].found > 0;
    }
    s->never_stable += !r->is_stable;
    if (r->measures.causes && r->tts_ns != UINT64_MAX) {
        s->settled++;
        s->settled_ns += r->tts_ns;
    }
    s->attempts += r->measures.attempts;
    s->reads += r->measures.reads;
    s->writes += r->measures.writes;
}

enum zkc_err ablation_run(const struct scenario *scenario, const struct ablation *row,
                          uint64_t first, uint64_t last, struct ablation_sums *sums,
                          struct why *why)
{
    struct scenario *s;
    why_clear(why);
    enum zkc_err err = scenario_copy(scenario, &s);
    if (err)
        return err;
    if (row->key)
        err = scenario_set(s, row->key, row->value, why);
    for (uint64_t seed = first; !err && seed <= last; seed++) {
        struct run_result r;
        err = run_scenario(&(struct run_options){.scenario = s, .seed = seed}, &r, why);
        if (!err)
            add(sums, &r);
    }
    scenario_free(s);
    return err;
}

static uint64_t found(const struct ablation_sums *s, const struct ablation_fault *f)
{
    return f->check == CHECK_COUNT ? s->never_stable : s->found[f->check];
}

double ablation_value(const struct ablation_sums *sums, const struct ablation_fault *fault)
{
    double n = (double)found(sums, fault) / (double)(sums->runs ? sums->runs : 1);
    return fault->is_time ? n / 1e9 : n;
}

enum ablation_effect ablation_effect(const struct ablation_sums *before,
                                     const struct ablation_sums *after,
                                     const struct ablation_fault *fault)
{
    uint64_t was = found(before, fault), is = found(after, fault);
    uint64_t runs = fault->check == CHECK_COUNT ? is : after->runs_with[fault->check];
    if (was == 0 && is == 0)
        return ABLATION_NONE;
    if (is == 0)
        return ABLATION_REMOVES;
    if (is > 2 * was)
        return runs >= 2 ? ABLATION_WORSENS : was ? ABLATION_LEAVES : ABLATION_NONE;
    return 2 * is < was ? ABLATION_LESSENS : ABLATION_LEAVES;
}
