/* zkstudy sim: a scenario for one seed or many, under the checkers. */
#include "study/command_common.h"
#include "study/command_trace.h"
#include "study/commands.h"
#include "study/run/run.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCENARIO, SEED, MODE, SET, TRACE, LEVEL, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [SCENARIO] = COMMON_SCENARIO,
    [SEED] = COMMON_SEED,
    [MODE] = COMMON_MODE,
    [SET] = COMMON_SET,
    [TRACE] = {"trace", 0, "FILE", false, "writes the trace of one seed there (.gz: compressed)"},
    [LEVEL] = {"level", 0, "0|1|2", false, "of the trace: states, attempts, operations (1)"},
};

static const struct common_options common = {SCENARIO, SEED, MODE, SET};

/* ---- the table ---- */

/* Over all seeds. */
struct totals {
    uint64_t runs, failed_runs, unstable, give_up_runs;
    uint64_t found[CHECK_COUNT], checked[CHECK_COUNT], runs_with[CHECK_COUNT];
    uint64_t unknown[CHECK_COUNT];
    const char *why_unknown[CHECK_COUNT];
    uint64_t *tts; /* of runs that settled; owned */
    size_t tts_count;
    uint64_t never_settled;
    struct measures sum;
    uint64_t events;
};

static void add(struct totals *t, const struct run_result *r)
{
    t->runs++;
    t->failed_runs += r->violated != CHECK_COUNT;
    t->unstable += !r->is_stable;
    t->events += r->counts.events;
    for (int i = 0; i < CHECK_COUNT; i++) {
        t->found[i] += r->checks[i].found;
        t->checked[i] += r->checks[i].checked;
        t->runs_with[i] += r->checks[i].found > 0;
        t->unknown[i] += r->checks[i].unknown != NULL;
        if (r->checks[i].unknown)
            t->why_unknown[i] = r->checks[i].unknown;
    }
    if (r->measures.causes && r->tts_ns != UINT64_MAX)
        t->tts[t->tts_count++] = r->tts_ns;
    else if (r->measures.causes)
        t->never_settled++;
    t->sum.causes += r->measures.causes;
    t->sum.rebalances += r->measures.rebalances;
    t->sum.attempts += r->measures.attempts;
    t->sum.failed += r->measures.failed;
    t->sum.reads += r->measures.reads;
    t->sum.writes += r->measures.writes;
    t->sum.notifications += r->measures.notifications;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Nearest rank; what never settled is beyond all others. */
static void print_quantile(const struct totals *t, unsigned percent)
{
    uint64_t all = t->tts_count + t->never_settled, rank = (all * percent + 99) / 100;
    if (rank && rank <= t->tts_count)
        printf("  p%u %.2f s", percent, (double)t->tts[rank - 1] / 1e9);
    else if (rank)
        printf("  p%u never", percent);
}

static void print_check(const struct totals *t, int id)
{
    const char *name = check_name((enum check_id)id);
    if (t->unknown[id] == t->runs) {
        printf("  %-18s not decided: %s\n", name, t->why_unknown[id]);
        return;
    }
    if (id < CHECK_MUST_COUNT) {
        printf("  %-18s %-12s %" PRIu64 " checked, %" PRIu64 " violations in %" PRIu64 " runs\n",
               name,
               t->found[id]     ? "VIOLATED"
               : t->checked[id] ? "ok"
                                : "nothing",
               t->checked[id], t->found[id], t->runs_with[id]);
        return;
    }
    bool is_time = id >= CHECK_DUAL && id <= CHECK_RECORD_MISMATCH;
    printf("  %-18s %12.3f per run, in %" PRIu64 " runs\n", name,
           (double)t->found[id] / (is_time ? 1e9 : 1) / (double)t->runs, t->runs_with[id]);
}

static void print_totals(struct totals *t)
{
    double causes = t->sum.causes ? (double)t->sum.causes : 1;
    qsort(t->tts, t->tts_count, sizeof *t->tts, by_size);
    printf("MUST\n");
    for (int i = 0; i < CHECK_COUNT; i++) {
        if (i == CHECK_MUST_COUNT)
            printf("COUNT\n");
        print_check(t, i);
    }
    printf("after the warm-up, for each of %" PRIu64
           " changes: %.1f rebalances, %.1f attempts, %.1f "
           "reads, %.1f writes, %.1f notifications\n",
           t->sum.causes, (double)t->sum.rebalances / causes, (double)t->sum.attempts / causes,
           (double)t->sum.reads / causes, (double)t->sum.writes / causes,
           (double)t->sum.notifications / causes);
    printf("until stable after the last change:");
    print_quantile(t, 50);
    print_quantile(t, 90);
    print_quantile(t, 99);
    printf("  (%" PRIu64 " never)\n", t->never_settled);
    printf("%" PRIu64 " runs, %" PRIu64 " events; %" PRIu64 " violated a MUST, %" PRIu64
           " were not stable at the end\n",
           t->runs, t->events, t->failed_runs, t->unstable);
}

static void say_violation(uint64_t seed, const struct run_result *r)
{
    fprintf(stderr, "seed %" PRIu64 ": %s at %.6f s: %s\n", seed, check_name(r->violated),
            (double)r->violated_ns / 1e9, r->detail);
}

static bool run_seeds(const struct scenario *s, uint64_t first, uint64_t last,
                      const struct trace_sink *sink, struct totals *t)
{
    bool is_terminal = isatty(STDERR_FILENO);
    for (uint64_t seed = first; seed <= last; seed++) {
        struct run_result r;
        struct why why;
        struct run_options o = {
            .scenario = s, .seed = seed, .sinks = sink, .sink_count = sink != NULL};
        enum zkc_err err = run_scenario(&o, &r, &why);
        if (err) {
            report_error("seed %" PRIu64 ": %s", seed,
                         err == ZKC_ERR_NOMEM ? "out of memory" : why.text);
            return false;
        }
        add(t, &r);
        if (r.violated != CHECK_COUNT)
            say_violation(seed, &r);
        if (is_terminal && last > first)
            fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " seeds", seed - first + 1,
                    last - first + 1);
    }
    if (is_terminal && last > first)
        fprintf(stderr, "\r\033[K");
    return true;
}

static enum cli_exit run_all(const struct cli_args *args, const struct scenario *s, uint64_t first,
                             uint64_t last)
{
    const char *path = cli_args_text(args, TRACE, NULL);
    struct totals t = {.tts = calloc((size_t)(last - first + 1), sizeof(uint64_t))};
    struct trace_writer w = {0};
    int64_t level = 1;
    char why[256];
    if (!t.tts) {
        report_error("out of memory");
        return CLI_FAILED;
    }
    if (!cli_args_number(args, LEVEL, 0, 2, &level, why, sizeof why)) {
        report_error("%s", why);
        free(t.tts);
        return CLI_FAILED;
    }
    if (path && last > first) {
        report_error("--trace: expected one seed, found %" PRIu64, last - first + 1);
        free(t.tts);
        return CLI_FAILED;
    }
    bool ok = !path || trace_writer_open(&w, path);
    struct trace_sink sink = {(int)level, trace_writer_emit, &w};
    ok = ok && run_seeds(s, first, last, path ? &sink : NULL, &t);
    if (path && w.out)
        ok = trace_writer_close(&w, path) && ok;
    if (ok)
        print_totals(&t);
    free(t.tts);
    if (!ok || fflush(stdout) != 0)
        return CLI_FAILED;
    return t.failed_runs ? CLI_PROBLEM : CLI_DONE;
}

static enum cli_exit run(const struct cli_args *args)
{
    uint64_t first, last;
    if (!common_no_operands(args) || !common_seeds(args, SEED, &first, &last))
        return CLI_FAILED;
    if (last - first >= 10000000) {
        report_error("--seed: expected at most ten million seeds at once");
        return CLI_FAILED;
    }
    struct scenario *s = common_scenario(args, &common);
    if (!s)
        return CLI_FAILED;
    enum cli_exit code = run_all(args, s, first, last);
    scenario_free(s);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkstudy sim --scenario=S01 --seed=1..1000", "a member joins, a thousand times"},
    {"zkstudy sim --scenario=S18 --set zookeeper.variant=0.7", "by the older procedure"},
    {"zkstudy sim --scenario=S04 --seed=7 --trace=run.jsonl --level=2", "and its trace"},
};

static const struct cli_pair exits[] = {
    {"0", "no MUST is violated"},
    {"1", "usage, or a scenario that cannot be"},
    {"2", "a MUST is violated in some seed"},
};

const struct cli_command command_sim = {
    .name = "sim",
    .summary = "run a scenario in a simulated world",
    .synopsis = "--scenario=FILE [--seed=N[..M]] [--set KEY=VALUE ...]",
    .description = "Runs the scenario for each seed: warm-up, what happens, healing, and a while\n"
                   "after it. The invariants are checked on the way. Violations go to stderr, a\n"
                   "table over all seeds to stdout. The same seed gives the same run.",
    .options = options,
    .option_count = OPTION_COUNT,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
