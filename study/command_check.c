/* zkstudy check: the invariants over traces of real or simulated runs. */
#include "study/check/check.h"
#include "study/check/files.h"
#include "study/check/report.h"
#include "study/commands.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/json.h"
#include <inttypes.h>
#include <stdio.h>

#define OUTPUT_MAX ((size_t)64 * 1024 * 1024)

enum { OPTION_JSON, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_JSON] = {"json", 0, NULL, false, "one JSON object instead of the table"},
};

static bool is_partial(const struct trace_files *f)
{
    return trace_files_problem_count(f) > 0;
}

static void say_text(const struct check *c, const struct trace_files *f, uint64_t events,
                     struct buf *out)
{
    check_report_text(c, out);
    buf_appendf(out, "%" PRIu64 " events", events);
    if (trace_files_killed_count(f))
        buf_appendf(out, "; %zu traces without end, of members that were killed",
                    trace_files_killed_count(f));
    if (is_partial(f))
        buf_appendf(out, "; PARTIAL: %zu problems in the traces", trace_files_problem_count(f));
    buf_append_byte(out, '\n');
}

static void say_json(const struct check *c, const struct trace_files *f, uint64_t events,
                     struct buf *out)
{
    buf_appendf(out, "{\"events\":%" PRIu64 ",\"killed\":%zu,\"partial\":%s,\"problems\":[", events,
                trace_files_killed_count(f), is_partial(f) ? "true" : "false");
    for (size_t i = 0; i < trace_files_problem_count(f) && i < TRACE_PROBLEMS_KEPT; i++) {
        if (i)
            buf_append_byte(out, ',');
        zk_json_append_string(out, trace_files_problem(f, i));
    }
    buf_append_text(out, "],\"results\":");
    check_report_json(c, out);
    buf_append_text(out, "}\n");
}

static enum cli_exit say(const struct check *c, const struct trace_files *f, uint64_t events,
                         bool is_json)
{
    struct buf out;
    buf_init(&out, OUTPUT_MAX);
    (is_json ? say_json : say_text)(c, f, events, &out);
    const char *text = buf_text(&out);
    bool done = text && fputs(text, stdout) >= 0 && fflush(stdout) == 0;
    buf_deinit(&out);
    if (!done) {
        report_error("the result could not be written");
        return CLI_FAILED;
    }
    for (size_t i = 0; i < trace_files_problem_count(f) && i < TRACE_PROBLEMS_KEPT; i++)
        report_error("%s", trace_files_problem(f, i));
    if (trace_files_problem_count(f) > TRACE_PROBLEMS_KEPT)
        report_error("and %zu more", trace_files_problem_count(f) - TRACE_PROBLEMS_KEPT);
    if (check_violations(c))
        return CLI_PROBLEM;
    return is_partial(f) ? CLI_FAILED : CLI_DONE;
}

static enum cli_exit check_files(struct trace_files *f, struct check *c, bool is_json)
{
    const struct trace_event *e;
    uint64_t events = 0;
    for (; (e = trace_files_next(f)); events++)
        check_take(e, c);
    if (check_finish(c)) {
        report_error("out of memory after %" PRIu64 " events", events);
        return CLI_FAILED;
    }
    return say(c, f, events, is_json);
}

static enum cli_exit run(const struct cli_args *args)
{
    struct trace_files *files;
    struct why why;
    if (args->operand_count == 0) {
        report_error("no trace was named: zkstudy check TRACE ...");
        return CLI_FAILED;
    }
    enum zkc_err err = trace_files_open(args->operands, args->operand_count, &files, &why);
    if (err) {
        report_error("%s", err == ZKC_ERR_NOMEM ? "out of memory" : why.text);
        return CLI_FAILED;
    }
    struct check *c = check_new(NULL);
    enum cli_exit code = CLI_FAILED;
    if (c)
        code = check_files(files, c, cli_args_has(args, OPTION_JSON));
    else
        report_error("out of memory");
    check_free(c);
    trace_files_close(files);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkstudy check m1.trace m2.trace.gz", "two consumers of one run, written with trace.path"},
};

static const struct cli_pair exits[] = {
    {"0", "every MUST that could be decided holds"},
    {"1", "usage, no trace, or lines that could not be read (the result is partial)"},
    {"2", "a MUST is violated"},
};

const struct cli_command command_check = {
    .name = "check",
    .summary = "Check the invariants of a run in its traces",
    .synopsis = "[--json] TRACE ...",
    .description =
        "Reads the traces (rbtrace/1, plain or gzip) of one run, which may be several files, "
        "and says of each invariant whether it holds, and how much there is of what is only "
        "counted. What a trace does not tell is not passed: it is called not decided, with the "
        "reason. Operations (Z7, Z8) are in traces of trace.level=2.",
    .options = options,
    .option_count = OPTION_COUNT,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
