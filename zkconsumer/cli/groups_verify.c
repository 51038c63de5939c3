/* zkconsumer groups verify: the check that kafka.tools.VerifyConsumerRebalance was meant to be. */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/group_check.h"
#include "zkconsumer/cli/group_read.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include <unistd.h>

enum { GROUP, ZOOKEEPER, STRATEGY, TIMEOUT, HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [GROUP] = {"group group.id", 'G', "GROUP", false, "The group."},
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [STRATEGY] = OPTION_STRATEGY,
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

#define ANSWERS_BYTES_MAX ((size_t)1 << 30)

/* `is_whole`: everything was checked, of one moment. */
static enum cli_exit print(const struct group_problems *problems, bool is_whole)
{
    struct output out;
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    buf_append_text(&out.buf, problems->count ? "Rebalance operation failed !\n"
                              : is_whole      ? "Rebalance operation successful !\n"
                                              : "Rebalance operation could not be verified !\n");
    enum cli_exit code = output_finish(&out);
    output_deinit(&out);
    for (size_t i = 0; i < problems->count; i++)
        report_warning("%s: %s", group_problem_name(problems->list[i].kind),
                       problems->list[i].text);
    if (code != CLI_DONE)
        return code;
    return problems->count ? CLI_PROBLEM : is_whole ? CLI_DONE : CLI_TIMED_OUT;
}

static enum cli_exit verify(struct zk_reader *r, const char *group,
                            const enum assign_strategy *given, struct arena *arena)
{
    struct group_read read;
    struct group_problems problems;
    struct why why;
    struct group_read_options what = {.without_ends = true};
    enum zkc_err err = group_read(r, group, &what, arena, &read, &why);
    if (!err && (err = group_check(&read.view, group_check_rule(&read.view, given), arena,
                                   &problems)) != ZKC_OK)
        why_set(&why, "group %s: %s", group, zkc_err_text(err));
    if (err) {
        report_error("%s", why.text);
        return report_exit_of(err);
    }
    if (problems.unchecked)
        report_warning("who should own what was not checked: %s", problems.unchecked);
    if (read.is_changing)
        report_warning("the group changed while it was read: what was found may be over");
    return print(&problems, !problems.unchecked && !read.is_changing);
}

static enum cli_exit run(const struct cli_args *args)
{
    static const char example[] = "zkconsumer groups verify -G billing " EXAMPLE_ZOOKEEPER;
    const char *group = cli_args_text(args, GROUP, "");
    const char *connect = cli_args_text(args, ZOOKEEPER, "localhost:2181");
    int64_t timeout_ms = OPTION_TIMEOUT_DEFAULT_MS;
    enum assign_strategy strategy;
    char text[256];
    struct why why;
    struct zk_reader *r;
    if (!report_needs(args, GROUP, example) ||
        (!args->called_as && !report_needs(args, ZOOKEEPER, example)) ||
        !report_takes_no_operands(args) ||
        !group_check_parse_strategy(cli_args_text(args, STRATEGY, "range"), &strategy))
        return CLI_FAILED;
    if (!cli_args_number(args, TIMEOUT, 1, INT32_MAX, &timeout_ms, text, sizeof text)) {
        report_error("%s", text);
        return CLI_FAILED;
    }
    if (!names_check_group(group))
        return CLI_FAILED;
    enum zkc_err err = zk_reader_open(connect, timeout_ms, &r, &why);
    if (err) {
        report_error("%s", why.text);
        return report_exit_of(err);
    }
    struct arena arena;
    arena_init(&arena, ANSWERS_BYTES_MAX);
    enum cli_exit code = verify(r, group, cli_args_has(args, STRATEGY) ? &strategy : NULL, &arena);
    arena_deinit(&arena);
    zk_reader_close(r);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer groups verify -G billing " EXAMPLE_ZOOKEEPER " || echo trouble",
     "Has the rebalance come to its end?"},
    {"kafka-run-class kafka.tools.VerifyConsumerRebalance --group billing "
     "--zookeeper.connect zk1:2181/kafka",
     "As Kafka's tool."},
};
static const struct cli_pair exits[] = {
    {"0", "every partition is owned by the member that should own it"},
    {"1", "usage, or stdout could not be written"},
    {"2", "trouble was found, named on stderr; also: no such group, nobody registered"},
    {"3", "ZooKeeper could not be reached"},
    {"4",
     "not everything could be read in time, or not checked: the group did not keep still, or a "
     "member has a filter that is not understood here"},
};

const struct cli_command command_groups_verify = {
    .name = "groups verify",
    .kafka = "kafka.tools.VerifyConsumerRebalance",
    .summary = "Check that a group's rebalance has come to its end",
    .synopsis = "--group=GROUP --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description =
        "Prints \"Rebalance operation successful !\" or \"Rebalance operation failed !\", or, "
        "where "
        "nothing bad was seen but not everything could be checked, \"Rebalance operation could not "
        "be verified !\"; and on stderr a line for each trouble, by its kind: gave_up (a member "
        "without a lease, whose share is with nobody), unowned (a partition that nobody owns), "
        "unregistered (its owner is no member), session (the owner node belongs to another "
        "session than the member), wrong_owner (not the one whom the rule chooses, or no thread of "
        "the member), member (a "
        "registration that cannot be read, or on which Java members fail); and no_group, "
        "no_members, rule (the rule cannot be applied), offset (an offset that is no number).\n"
        "Kafka's tool of this name reports failure for every healthy group: it compares numbers "
        "with text. This is what it was meant to be. Brokers are not asked.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
