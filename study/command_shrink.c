/* zkstudy shrink: makes a failing run small. */
#include "study/command_common.h"
#include "study/commands.h"
#include "study/run/shrink.h"
#include "study/sim/story.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STORY_LINES 20

enum { SCENARIO, REPRO, SEED, MODE, SET, OUT, RUNS, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [SCENARIO] = COMMON_SCENARIO,
    [REPRO] = COMMON_REPRO,
    [SEED] = COMMON_SEED,
    [MODE] = COMMON_MODE,
    [SET] = COMMON_SET,
    [OUT] = {"out", 'o', "FILE", false, "where what is left goes (repro.json)"},
    [RUNS] = {"runs", 0, "N", false, "at most so many runs (500)"},
};

static const struct common_options common = {SCENARIO, SEED, MODE, SET, REPRO};

static void on_progress(unsigned runs, size_t faults, uint64_t members, void *user)
{
    (void)user;
    if (runs % 20 == 0)
        report_status("%u runs: %zu faults, %" PRIu64 " members", runs, faults, members);
}

static bool write_repro(const struct scenario *s, const char *path, const struct shrink_result *r)
{
    struct buf text;
    buf_init(&text, REPRO_BYTES_MAX);
    repro_write(s, r->seed, &r->last, &text);
    FILE *out = text.failed ? NULL : fopen(path, "wb");
    bool ok = out && fwrite(text.data, 1, text.len, out) == text.len;
    if (out)
        ok = fclose(out) == 0 && ok;
    if (!ok)
        report_error("%s: %s", path, text.failed ? "out of memory" : strerror(errno));
    buf_deinit(&text);
    return ok;
}

/* The last lines before the failure say most. */
static void tell(const struct scenario *s, uint64_t seed)
{
    struct story story;
    struct run_result r;
    struct why why;
    story_init(&story, STORY_LONG, 0);
    struct trace_sink sink = {TRACE_LEVEL_MAX, story_take, &story};
    struct run_options o = {
        .scenario = s, .seed = seed, .sinks = &sink, .sink_count = 1, .stops_at_violation = true};
    if (run_scenario(&o, &r, &why) == ZKC_OK) {
        const char *text = story_text(&story), *from = text ? text : "";
        size_t skip = story.lines > STORY_LINES ? story.lines - STORY_LINES : 0;
        for (size_t i = 0; i < skip && strchr(from, '\n'); i++)
            from = strchr(from, '\n') + 1;
        fputs(from, stdout);
        printf("%s at %.6f s: %s\n", check_name(r.violated), (double)r.violated_ns / 1e9, r.detail);
    }
    story_deinit(&story);
}

static enum cli_exit shrink_it(struct scenario **s, uint64_t seed, const char *path, unsigned runs)
{
    struct shrink_result r;
    struct why why;
    enum zkc_err err =
        shrink(s, &(struct shrink_options){seed, 0, runs, on_progress, NULL}, &r, &why);
    if (err) {
        report_error("%s", err == ZKC_ERR_NOMEM ? "out of memory" : why.text);
        return CLI_FAILED;
    }
    if (r.violated == CHECK_COUNT) {
        report_error("seed %" PRIu64 " violates no MUST: there is nothing to shrink", seed);
        return CLI_FAILED;
    }
    if (!write_repro(*s, path, &r))
        return CLI_FAILED;
    report_status("%u runs; %s has %zu faults and %" PRIu64 " members", r.runs, path,
                  scenario_fault_count(*s), r.last.members);
    tell(*s, r.seed);
    return fflush(stdout) == 0 ? CLI_PROBLEM : CLI_FAILED;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct common_run r;
    int64_t runs = 500;
    char why[256];
    if (!cli_args_number(args, RUNS, 1, 100000, &runs, why, sizeof why)) {
        report_error("%s", why);
        return CLI_FAILED;
    }
    if (!common_run(args, &common, &r))
        return CLI_FAILED;
    enum cli_exit code = CLI_FAILED;
    if (r.first != r.last)
        report_error("--seed: expected the one that fails");
    else
        code =
            shrink_it(&r.scenario, r.first, cli_args_text(args, OUT, "repro.json"), (unsigned)runs);
    common_run_deinit(&r);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkstudy shrink --scenario=S33 --seed=4711", "of a seed in which a MUST is violated"},
};

static const struct cli_pair exits[] = {
    {"1", "usage, a scenario that cannot be, or one that does not fail"},
    {"2",
     "repro.json has been written, and violates the same MUST: zkstudy story --repro=repro.json"},
};

const struct cli_command command_shrink = {
    .name = "shrink",
    .summary = "Make a run that violates a MUST small",
    .synopsis = "--scenario=FILE --seed=N [--out=FILE] [--set KEY=VALUE ...]",
    .description =
        "Drops faults, members, partitions and time as long as the same invariant is violated, "
        "writes what is left (repro.json, which sim, story and shrink take), and tells the "
        "last lines of its story.",
    .options = options,
    .option_count = OPTION_COUNT,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
