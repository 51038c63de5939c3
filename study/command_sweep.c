/* zkstudy sweep: a scenario over the values of one key, measured beside predicted, as CSV. */
#include "study/command_common.h"
#include "study/commands.h"
#include "study/run/run.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCENARIO, SEED, MODE, SET, OVER, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [SCENARIO] = COMMON_SCENARIO,
    [SEED] = COMMON_SEED,
    [MODE] = COMMON_MODE,
    [SET] = COMMON_SET,
    [OVER] = {"over", 0, "KEY=A,B,...", true,
              "the values of a key, like n=1,2,5,10; of several keys all combinations"},
};

static const struct common_options common = {SCENARIO, SEED, MODE, SET, COMMON_NONE};

#define KEYS_MAX 4

struct sweep {
    char *keys[KEYS_MAX]; /* owned; "key\0" */
    const char *values[KEYS_MAX];
    size_t key_count;
    uint64_t first, last;
    bool is_violated;
};

/* A row is a run: every measured number stands beside what theory says. */
static void print_head(const struct sweep *w)
{
    for (size_t i = 0; i < w->key_count; i++)
        printf("%s,", w->keys[i]);
    printf("seed,violated,causes,tts_s,stable,rebalances,rebalances_predicted,attempts,failed,"
           "conflicts,reads,reads_predicted,writes,writes_predicted,notifications,"
           "notifications_predicted,give_ups,orphans,dual_ps,gap_ps,unavailable_ps,duplicates,"
           "views_success,foreign_deletes,stale_commits\n");
}

static void print_predicted(const struct predicted *p, double value)
{
    if (p->is_known)
        printf("%.0f,", value);
    else
        printf(",");
}

static uint64_t found(const struct run_result *r, enum check_id id)
{
    return r->checks[id].found;
}

static void print_row(const struct world *world, uint64_t seed, const struct run_result *r)
{
    const struct measures *m = &r->measures;
    uint64_t partitions = 0;
    bool is_join = false;
    for (size_t i = 0; i < world->config.topic_count; i++)
        partitions += (uint64_t)world->config.topics[i].partitions;
    for (size_t i = 0; i < world->config.fault_count; i++)
        is_join = is_join || world->config.faults[i].kind == SIM_JOIN;
    struct predicted p = predict(m, r->registered, partitions, world->config.topic_count,
                                 world->config.brokers.count, is_join);
    printf("%" PRIu64 ",%s,%" PRIu64 ",", seed,
           r->violated == CHECK_COUNT ? "" : check_name(r->violated), m->causes);
    if (m->causes && r->tts_ns != UINT64_MAX)
        printf("%.3f", (double)r->tts_ns / 1e9);
    printf(",%d,%" PRIu64 ",", r->is_stable, m->rebalances);
    print_predicted(&p, p.rebalances);
    printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", m->attempts, m->failed, m->conflicts,
           m->reads);
    print_predicted(&p, p.reads);
    printf("%" PRIu64 ",", m->writes);
    print_predicted(&p, p.writes);
    printf("%" PRIu64 ",", m->notifications);
    print_predicted(&p, p.notifications);
    printf("%" PRIu64 ",", found(r, CHECK_GIVE_UPS));
    if (!r->checks[CHECK_C9].unknown)
        printf("%" PRIu64, found(r, CHECK_C9));
    printf(",%.3f,%.3f,%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
           (double)found(r, CHECK_DUAL) / 1e9, (double)found(r, CHECK_GAP) / 1e9,
           (double)(found(r, CHECK_GAP) + found(r, CHECK_PAUSED) + found(r, CHECK_FROZEN)) / 1e9,
           found(r, CHECK_DUPLICATES), found(r, CHECK_VIEWS), found(r, CHECK_FOREIGN_DELETES),
           found(r, CHECK_STALE_COMMITS));
}

static bool run_seeds(struct sweep *w, const struct scenario *s, const char *row_head)
{
    for (uint64_t seed = w->first; seed <= w->last; seed++) {
        struct run_result r;
        struct why why;
        struct world world;
        enum zkc_err err = scenario_build(s, seed, &world, &why);
        if (!err) {
            err = run_scenario(&(struct run_options){.scenario = s, .seed = seed}, &r, &why);
            if (!err) {
                fputs(row_head, stdout);
                print_row(&world, seed, &r);
                w->is_violated = w->is_violated || r.violated != CHECK_COUNT;
            }
            world_deinit(&world);
        }
        if (err) {
            report_error("%sseed %" PRIu64 ": %s", row_head, seed,
                         err == ZKC_ERR_NOMEM ? "out of memory" : why.text);
            return false;
        }
        if (fflush(stdout) != 0)
            return false;
    }
    return true;
}

/* All values of key i, within what was set for those before it. */
static bool sweep_key(struct sweep *w, const struct scenario *s, size_t i, const char *row_head)
{
    if (i == w->key_count)
        return run_seeds(w, s, row_head);
    bool ok = true;
    for (const char *at = w->values[i]; ok && *at;) {
        size_t len = strcspn(at, ",");
        char value[128], head[1024];
        struct scenario *set;
        struct why why;
        snprintf(value, sizeof value, "%.*s", (int)len, at);
        snprintf(head, sizeof head, "%s%s,", row_head, value);
        if (scenario_copy(s, &set)) {
            report_error("out of memory");
            return false;
        }
        ok = scenario_set(set, w->keys[i], value, &why) == ZKC_OK;
        if (!ok)
            report_error("--over %s: %s", w->keys[i], why.text);
        fprintf(stderr, "%s=%s\n", w->keys[i], value);
        ok = ok && sweep_key(w, set, i + 1, head);
        scenario_free(set);
        at += len + (at[len] == ',');
    }
    return ok;
}

static bool read_keys(struct sweep *w, const struct cli_args *args)
{
    const char *text;
    for (; (text = cli_args_value(args, OVER, w->key_count)); w->key_count++) {
        const char *equals = strchr(text, '=');
        if (w->key_count == KEYS_MAX || !equals || equals == text || !equals[1]) {
            report_error("--over %s: expected KEY=A,B,... for at most %d keys", text, KEYS_MAX);
            return false;
        }
        w->keys[w->key_count] = strndup(text, (size_t)(equals - text));
        w->values[w->key_count] = equals + 1;
        if (!w->keys[w->key_count])
            return false;
    }
    if (w->key_count == 0)
        report_error("nothing to sweep over: --over n=1,2,5,10");
    return w->key_count > 0;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct sweep w = {0};
    struct common_run r = {0};
    bool ok = read_keys(&w, args) && common_run(args, &common, &r);
    if (ok) {
        w.first = r.first;
        w.last = r.last;
        print_head(&w);
        ok = sweep_key(&w, r.scenario, 0, "");
    }
    common_run_deinit(&r);
    for (size_t i = 0; i < KEYS_MAX; i++)
        free(w.keys[i]);
    if (!ok)
        return CLI_FAILED;
    return w.is_violated ? CLI_PROBLEM : CLI_DONE;
}

static const struct cli_pair examples[] = {
    {"zkstudy sweep --scenario=S01 --over n=1,2,5,10,20 --set P=40 --seed=1..20",
     "what a join costs, by the size of the group"},
};

static const struct cli_pair exits[] = {
    {"0", "no MUST is violated"},
    {"1", "usage, or a scenario that cannot be"},
    {"2", "a MUST is violated in some run"},
};

const struct cli_command command_sweep = {
    .name = "sweep",
    .summary = "run a scenario over values of its keys, as CSV",
    .synopsis = "--scenario=FILE --over KEY=A,B,... [--seed=N[..M]] [--set KEY=VALUE ...]",
    .description =
        "Runs the scenario for each value and each seed and writes a row of CSV for each: what "
        "was\n"
        "measured, and beside it what the formulas predict where one change happened (a member\n"
        "comes or goes). Failed attempts and their conflicts are taken as they were; what they "
        "and\n"
        "the others cost is predicted.",
    .options = options,
    .option_count = OPTION_COUNT,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
