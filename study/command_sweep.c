/* zkstudy sweep: a scenario over the values of one key, measured beside predicted, as CSV. */
#include "study/command_common.h"
#include "study/commands.h"
#include "study/run/predict.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include <inttypes.h>
#include <math.h>
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

/* ---- a row: a run, every measured number and beside it what theory says ---- */

struct row {
    const struct run_result *r;
    struct predicted p;
};

static void measured(uint64_t n)
{
    printf(",%" PRIu64, n);
}

static void measured_s(double seconds)
{
    printf(",%.3f", seconds);
}

static void predicted(double value, int digits)
{
    if (isnan(value))
        printf(",");
    else
        printf(",%.*f", digits, value);
}

/* After the warm-up. */
static uint64_t found(const struct row *x, enum check_id id)
{
    return x->r->checks[id].found - x->r->found_before[id];
}

static double found_ps(const struct row *x, enum check_id id)
{
    return (double)found(x, id) / 1e9;
}

static void print_head(const struct sweep *w)
{
    for (size_t i = 0; i < w->key_count; i++)
        printf("%s,", w->keys[i]);
    printf("seed,violated,causes,stable,tts_s,tts_s_predicted,rebalances,rebalances_predicted,"
           "attempts,failed,conflicts,attempt_s,reads,reads_predicted,writes,writes_predicted,"
           "watches,watches_predicted,notifications,notifications_predicted,give_ups,"
           "give_up_p_predicted,give_up_after_s_predicted,orphans,dual_ps,dual_ps_predicted,gap_ps,"
           "gap_ps_predicted,unavailable_ps,duplicates,views_success,foreign_deletes,"
           "stale_commits\n");
}

static void print_settling(const struct row *x)
{
    const struct measures *m = &x->r->measures;
    if (m->causes && x->r->tts_ns != UINT64_MAX)
        measured_s((double)x->r->tts_ns / 1e9);
    else
        printf(",");
    predicted(x->p.tts_s, 3);
    measured(m->rebalances);
    predicted(x->p.rebalances, 0);
    measured(m->attempts);
    measured(m->failed);
    measured(m->conflicts);
    measured_s(m->attempts ? (double)m->attempt_ns / 1e9 / (double)m->attempts : 0);
}

static void print_operations(const struct row *x)
{
    const struct measures *m = &x->r->measures;
    measured(m->reads);
    predicted(x->p.reads, 0);
    measured(m->writes);
    predicted(x->p.writes, 0);
    measured(m->watches);
    predicted(x->p.watches, 0);
    measured(m->notifications);
    predicted(x->p.notifications, 0);
}

static void print_harm(const struct row *x)
{
    measured(found(x, CHECK_GIVE_UPS));
    predicted(x->p.give_up_p, 3);
    predicted(x->p.give_up_after_s, 3);
    if (x->r->checks[CHECK_C9].unknown)
        printf(",");
    else
        measured(found(x, CHECK_C9));
    measured_s(found_ps(x, CHECK_DUAL));
    predicted(x->p.dual_ps, 3);
    measured_s(found_ps(x, CHECK_GAP));
    predicted(x->p.gap_ps, 3);
    measured_s(found_ps(x, CHECK_GAP) + found_ps(x, CHECK_PAUSED) + found_ps(x, CHECK_FROZEN));
    measured(found(x, CHECK_DUPLICATES));
    measured(found(x, CHECK_VIEWS));
    measured(found(x, CHECK_FOREIGN_DELETES));
    measured(found(x, CHECK_STALE_COMMITS));
}

static void print_row(const struct world *world, uint64_t seed, const struct run_result *r)
{
    struct row x = {r, predict(world, r)};
    printf("%" PRIu64 ",%s", seed, r->violated == CHECK_COUNT ? "" : check_name(r->violated));
    measured(r->measures.causes);
    measured(r->is_stable);
    print_settling(&x);
    print_operations(&x);
    print_harm(&x);
    printf("\n");
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
    .summary = "Run a scenario over values of its keys, as CSV",
    .synopsis = "--scenario=FILE --over KEY=A,B,... [--seed=N[..M]] [--set KEY=VALUE ...]",
    .description =
        "Runs the scenario for each value and each seed and writes a row of CSV for each: what "
        "was measured, and beside it (..._predicted) what the formulas say, where they speak "
        "of such a scenario: a member comes or goes, many start, one is killed, cut, or slow. "
        "Failed attempts and their conflicts are taken as they were; what they cost is "
        "predicted. Of chance the formulas say the mean, or how likely it is (give_up_p).",
    .options = options,
    .option_count = OPTION_COUNT,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
