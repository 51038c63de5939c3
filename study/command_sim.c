/* zkstudy sim: a scenario for one seed or many, under the checkers. */
#include "study/command_common.h"
#include "study/command_trace.h"
#include "study/commands.h"
#include "study/run/run.h"
#include "study/run/seed_jobs.h"
#include "study/run/seed_state.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/stop.h"
#include "zkconsumer/core/base/array.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SCENARIO, REPRO, SEED, MODE, SET, JOBS, STATE, TRACE, LEVEL, OPTION_COUNT };

#define SEEDS_MAX 10000000

static const struct cli_option options[OPTION_COUNT] = {
    [SCENARIO] = COMMON_SCENARIO,
    [REPRO] = COMMON_REPRO,
    [SEED] = COMMON_SEED,
    [MODE] = COMMON_MODE,
    [SET] = COMMON_SET,
    [JOBS] = {"jobs", 'j', "N", false, "so many processes run seeds at the same time (1)"},
    [STATE] = {"state", 0, "FILE", false,
               "keeps there what each seed came to; the same command goes on from it"},
    [TRACE] = {"trace", 0, "FILE", false, "writes the trace of one seed there (.gz: compressed)"},
    [LEVEL] = {"level", 0, "0|1|2", false, "of the trace: states, attempts, operations (1)"},
};

static const struct common_options common = {SCENARIO, SEED, MODE, SET, REPRO};

/* ---- runs ---- */

#define REPORT_BYTES_MAX ((size_t)1024 * 1024)

struct running {
    const struct cli_args *args;
    const struct scenario *scenario;
    const struct trace_sink *sink; /* of one seed; NULL: none */
    uint64_t first, last;
    const struct repro *repro; /* it is this run; NULL: it is not */
    struct totals totals;
    struct seed_state *state; /* NULL: none */
    bool is_terminal;
    time_t began, said; /* progress */
    uint64_t taken;     /* from the state */
};

/* How far it is: always on a terminal, now and then elsewhere. */
static void say_progress(struct running *x)
{
    time_t now = time(NULL);
    uint64_t all = x->last - x->first + 1, ran = x->totals.runs - x->taken;
    if (all == 1 || now - x->said < (x->is_terminal ? 1 : 10))
        return;
    x->said = now;
    double each = ran ? (double)(now - x->began) / (double)ran : 0;
    fprintf(stderr,
            "%s%% %" PRIu64 " of %" PRIu64 " seeds, %" PRIu64 " failed, about %.0f s to go%s",
            x->is_terminal ? "\r" : "", x->totals.runs, all, x->totals.failed_runs,
            each * (double)(all - x->totals.runs), x->is_terminal ? "\033[K" : "\n");
}

static void clear_progress(const struct running *x)
{
    if (x->is_terminal && x->last > x->first)
        fprintf(stderr, "\r\033[K");
}

static void say_failure(struct running *x, const struct seed_result *r, const char *replay)
{
    struct buf text;
    buf_init(&text, REPORT_BYTES_MAX);
    seed_failure(r, &text);
    clear_progress(x);
    fprintf(stderr, "seed %" PRIu64 ": %s\n    %s\n", r->seed, buf_text(&text), replay);
    buf_deinit(&text);
}

static enum zkc_err take_stored(const struct seed_result *r, void *user)
{
    struct running *x = user;
    x->taken++;
    return totals_add(&x->totals, r);
}

static enum zkc_err take_result(const struct seed_result *r, struct why *why, void *user)
{
    struct running *x = user;
    char *replay = NULL;
    if (seed_failed(r)) {
        replay = common_command(x->args, &common, r->died ? "sim" : "story", r->seed);
        if (!replay)
            return ZKC_ERR_NOMEM;
        say_failure(x, r, replay);
    }
    enum zkc_err err = x->state ? seed_state_add(x->state, r, replay, why) : ZKC_OK;
    free(replay);
    if (!err)
        err = totals_add(&x->totals, r);
    say_progress(x);
    return err;
}

static enum zkc_err run_seed(uint64_t seed, struct run_result *out, struct why *why, void *user)
{
    struct running *x = user;
    struct run_options o = {.scenario = x->scenario,
                            .seed = seed,
                            .sinks = x->sink,
                            .sink_count = x->sink != NULL,
                            .stops_at_violation = x->repro != NULL};
    return run_scenario(&o, out, why);
}

static bool is_done(uint64_t seed, void *user)
{
    struct running *x = user;
    return x->state && seed_state_has(x->state, seed);
}

static void compare(const struct repro *was, const struct run_result *is)
{
    if (is->violated == was->violated && is->hash == was->hash)
        report_status("the same run as the one that was written down, event for event");
    else if (is->violated == was->violated)
        report_status("violates the same MUST, in another run than the one that was written down");
    else
        report_status("%s was violated, and is not now", check_name(was->violated));
}

/* One seed runs here, for debuggers and its trace. */
static enum zkc_err run_here(struct running *x, struct why *why)
{
    struct seed_result r = {.seed = x->first};
    if (is_done(x->first, x))
        return ZKC_OK;
    enum zkc_err err = run_seed(x->first, &r.run, why, x);
    if (!err && x->repro)
        compare(x->repro, &r.run);
    return err ? err : take_result(&r, why, x);
}

static enum zkc_err run_seeds(struct running *x, unsigned jobs, struct why *why)
{
    if (x->first == x->last)
        return run_here(x, why);
    if (!stop_init()) {
        why_set(why, "no descriptors");
        return ZKC_ERR_SYSTEM;
    }
    struct seed_jobs o = {.first = x->first,
                          .last = x->last,
                          .jobs = jobs,
                          .run = run_seed,
                          .is_done = is_done,
                          .on_result = take_result,
                          .user = x,
                          .stop_fd = stop_fd()};
    return seed_jobs_run(&o, why);
}

static bool print_totals(struct totals *t)
{
    struct buf out;
    buf_init(&out, REPORT_BYTES_MAX);
    totals_report(t, &out);
    const char *text = buf_text(&out);
    bool ok = text && fputs(text, stdout) >= 0 && fflush(stdout) == 0;
    buf_deinit(&out);
    return ok;
}

static enum cli_exit say_end(struct running *x, enum zkc_err err, const struct why *why)
{
    clear_progress(x);
    if (err == ZKC_ERR_CLOSED) {
        report_error("stopped after %" PRIu64 " of %" PRIu64 " seeds%s", x->totals.runs,
                     x->last - x->first + 1,
                     x->state ? "; the same command goes on from there" : "");
        return CLI_FAILED;
    }
    if (err) {
        report_error("%s", err == ZKC_ERR_NOMEM ? "out of memory" : why->text);
        return CLI_FAILED;
    }
    if (!print_totals(&x->totals))
        return CLI_FAILED;
    return x->totals.failed_runs ? CLI_PROBLEM : CLI_DONE;
}

static enum cli_exit run_all(struct running *x, unsigned jobs)
{
    const char *path = cli_args_text(x->args, STATE, NULL);
    struct why why;
    enum zkc_err err = ZKC_OK;
    why_clear(&why);
    x->is_terminal = isatty(STDERR_FILENO);
    if (path)
        err = seed_state_open(&(struct seed_state_options){.path = path,
                                                           .scenario = x->scenario,
                                                           .first = x->first,
                                                           .last = x->last,
                                                           .on_result = take_stored,
                                                           .user = x},
                              &x->state, &why);
    if (x->taken)
        report_status("%" PRIu64 " of %" PRIu64 " seeds are in %s already", x->taken,
                      x->last - x->first + 1, path);
    x->began = x->said = time(NULL);
    if (!err)
        err = run_seeds(x, jobs, &why);
    enum cli_exit code = say_end(x, err, &why);
    totals_deinit(&x->totals);
    seed_state_close(x->state);
    return code;
}

static enum cli_exit run_traced(struct running *x, const char *path, int level)
{
    struct trace_writer w = {0};
    struct trace_sink sink = {level, trace_writer_emit, &w};
    if (!trace_writer_open(&w, path))
        return CLI_FAILED;
    x->sink = &sink;
    enum cli_exit code = run_all(x, 1);
    return trace_writer_close(&w, path) ? code : CLI_FAILED;
}

static bool read_numbers(const struct cli_args *args, int64_t *jobs, int64_t *level)
{
    char why[256];
    if (cli_args_number(args, JOBS, 1, SEED_JOBS_MAX, jobs, why, sizeof why) &&
        cli_args_number(args, LEVEL, 0, 2, level, why, sizeof why))
        return true;
    report_error("%s", why);
    return false;
}

static bool is_possible(const struct running *x, const char *path)
{
    if (x->last - x->first >= SEEDS_MAX)
        report_error("--seed: expected at most ten million seeds at once");
    else if (path && (x->last > x->first || cli_args_has(x->args, STATE)))
        report_error("--trace: expected one seed, and no --state");
    else
        return true;
    return false;
}

static enum cli_exit run(const struct cli_args *args)
{
    const char *path = cli_args_text(args, TRACE, NULL);
    int64_t jobs = 1, level = 1;
    struct common_run r;
    if (!read_numbers(args, &jobs, &level) || !common_run(args, &common, &r))
        return CLI_FAILED;
    struct running x = {.args = args, .scenario = r.scenario, .first = r.first, .last = r.last};
    if (r.is_repro && r.first == r.last && r.first == r.repro.seed)
        x.repro = &r.repro;
    enum cli_exit code = CLI_FAILED;
    if (is_possible(&x, path))
        code = path ? run_traced(&x, path, (int)level) : run_all(&x, (unsigned)jobs);
    common_run_deinit(&r);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkstudy sim --scenario=S01 --seed=1..1000", "a member joins, a thousand times"},
    {"zkstudy sim --scenario=S33 --seed=1..100000 --jobs=8 --state=s33.seeds",
     "all cores; when it was stopped, once more to go on"},
    {"zkstudy sim --scenario=S18 --set zookeeper.variant=0.7", "by the older procedure"},
    {"zkstudy sim --scenario=S04 --seed=7 --trace=run.jsonl --level=2", "and its trace"},
};

static const struct cli_pair exits[] = {
    {"0", "no MUST is violated"},
    {"1", "usage, or a scenario that cannot be"},
    {"2", "a MUST is violated in some seed, or its process died"},
};

const struct cli_command command_sim = {
    .name = "sim",
    .summary = "Run a scenario in a simulated world",
    .synopsis = "--scenario=FILE|--repro=FILE [--seed=N[..M]] [--set KEY=VALUE ...]",
    .description =
        "Runs the scenario for each seed: warm-up, what happens, healing, and a while after "
        "it. The invariants are checked on the way. A seed that fails goes to stderr with the "
        "command that shows it, a table over all seeds to stdout. The same seed gives the same "
        "run.",
    .options = options,
    .option_count = OPTION_COUNT,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
