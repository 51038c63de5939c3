/* zkstudy story: one run, told to people. */
#include "study/check/files.h"
#include "study/command_common.h"
#include "study/commands.h"
#include "study/run/run.h"
#include "study/sim/story.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include <inttypes.h>
#include <stdio.h>

enum { SCENARIO, REPRO, SEED, MODE, SET, LONG, LINES, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [SCENARIO] = COMMON_SCENARIO,
    [REPRO] = COMMON_REPRO,
    [SEED] = COMMON_SEED,
    [MODE] = COMMON_MODE,
    [SET] = COMMON_SET,
    [LONG] = {"long", 'l', NULL, false, "and views, claims, releases, commits, deliveries"},
    [LINES] = {"lines", 'n', "N", false, "at most so many lines (all)"},
};

static const struct common_options common = {SCENARIO, SEED, MODE, SET, REPRO};

static enum cli_exit tell(const struct scenario *s, uint64_t seed, enum story_detail detail,
                          size_t lines_max)
{
    struct story story;
    struct run_result r;
    struct why why;
    story_init(&story, detail, lines_max);
    struct trace_sink sink = {TRACE_LEVEL_MAX, story_take, &story};
    struct run_options o = {.scenario = s, .seed = seed, .sinks = &sink, .sink_count = 1};
    enum zkc_err err = run_scenario(&o, &r, &why);
    if (err) {
        report_error("%s", err == ZKC_ERR_NOMEM ? "out of memory" : why.text);
        story_deinit(&story);
        return CLI_FAILED;
    }
    const char *text = story_text(&story);
    bool ok = text && fputs(text, stdout) >= 0;
    if (story.left_out)
        printf("... and %zu lines\n", story.left_out);
    if (r.violated != CHECK_COUNT)
        printf("%s at %.6f s: %s\n", check_name(r.violated), (double)r.violated_ns / 1e9, r.detail);
    story_deinit(&story);
    if (!ok || fflush(stdout) != 0)
        return CLI_FAILED;
    return r.violated != CHECK_COUNT ? CLI_PROBLEM : CLI_DONE;
}

/* The same of a run that was traced. */
static enum cli_exit tell_traces(const struct cli_args *args, enum story_detail detail,
                                 size_t lines_max)
{
    struct trace_files *files;
    const struct trace_event *e;
    struct story story;
    struct why why;
    if (cli_args_has(args, SCENARIO) || cli_args_has(args, REPRO)) {
        report_error("\"%s\": expected a scenario or traces, not both", args->operands[0]);
        return CLI_FAILED;
    }
    enum zkc_err err = trace_files_open(args->operands, args->operand_count, &files, &why);
    if (err) {
        report_error("%s", err == ZKC_ERR_NOMEM ? "out of memory" : why.text);
        return CLI_FAILED;
    }
    story_init(&story, detail, lines_max);
    while ((e = trace_files_next(files)))
        story_take(e, &story);
    bool ok = fputs(story_text(&story), stdout) >= 0;
    if (story.left_out)
        printf("... and %zu lines\n", story.left_out);
    size_t problems = trace_files_problem_count(files);
    for (size_t i = 0; i < problems && i < TRACE_PROBLEMS_KEPT; i++)
        report_error("%s", trace_files_problem(files, i));
    if (problems)
        report_error("PARTIAL: %zu problems in the traces", problems);
    story_deinit(&story);
    trace_files_close(files);
    return ok && fflush(stdout) == 0 && !problems ? CLI_DONE : CLI_FAILED;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct common_run r;
    int64_t lines = 0;
    char why[256];
    enum story_detail detail = cli_args_has(args, LONG) ? STORY_LONG : STORY_SHORT;
    if (!cli_args_number(args, LINES, 1, INT32_MAX, &lines, why, sizeof why)) {
        report_error("%s", why);
        return CLI_FAILED;
    }
    if (args->operand_count)
        return tell_traces(args, detail, (size_t)lines);
    if (!common_run(args, &common, &r))
        return CLI_FAILED;
    enum cli_exit code = CLI_FAILED;
    if (r.first != r.last)
        report_error("--seed: expected one, for one story");
    else
        code = tell(r.scenario, r.first, detail, (size_t)lines);
    common_run_deinit(&r);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkstudy story --scenario=S18 --seed=4 --long", "what happens in seed 4"},
    {"zkstudy import run.capture -o run.trace && zkstudy story run.trace",
     "what happened among real members"},
};

static const struct cli_pair exits[] = {
    {"0", "told"},
    {"1", "usage, a scenario that cannot be, or traces that could not be read whole"},
    {"2", "told, and a MUST is violated in it"},
};

const struct cli_command command_story = {
    .name = "story",
    .summary = "Tell what happens in one run",
    .synopsis = "--scenario=FILE|--repro=FILE [--seed=N] [--long] [--set KEY=VALUE ...]\n"
                "[--long] TRACE ...",
    .description =
        "Runs the scenario for the seed, or reads the traces of one run, and prints, a line "
        "each, what happened: causes, faults, sessions, rebalances, and who owned what.",
    .options = options,
    .option_count = OPTION_COUNT,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
