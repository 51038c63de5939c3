/* zkconsumer groups describe */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/group_check.h"
#include "zkconsumer/cli/group_print.h"
#include "zkconsumer/cli/group_stored.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include <unistd.h>

enum { GROUP, ZOOKEEPER, STRATEGY, JSON, TIMEOUT, HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [GROUP] = {"group group.id", 'G', "GROUP", false, "The group."},
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [STRATEGY] = OPTION_STRATEGY,
    [JSON] = {"json", 'J', NULL, false,
              "One JSON object instead of columns; what is not known is null."},
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

#define ANSWERS_BYTES_MAX ((size_t)4 << 30)

struct plan {
    const char *group;
    enum assign_strategy strategy;
    bool is_strategy_given;
    int64_t timeout_ms;
    bool is_json;
    bool is_kafkas; /* called by Kafka's name: its columns, problems on stderr */
};

static bool read_plan(const struct cli_args *args, struct plan *plan)
{
    char text[256];
    *plan = (struct plan){
        .group = cli_args_text(args, GROUP, ""),
        .timeout_ms = OPTION_TIMEOUT_DEFAULT_MS,
        .is_json = cli_args_has(args, JSON),
        .is_kafkas = args->called_as != NULL,
        .is_strategy_given = cli_args_has(args, STRATEGY),
    };
    if (!cli_args_number(args, TIMEOUT, 1, INT32_MAX, &plan->timeout_ms, text, sizeof text)) {
        report_error("%s", text);
        return false;
    }
    const char *example = "zkconsumer groups describe --group=billing " EXAMPLE_ZOOKEEPER;
    if (!report_needs(args, GROUP, example) || !report_needs(args, ZOOKEEPER, example) ||
        !report_takes_no_operands(args) ||
        !group_check_parse_strategy(cli_args_text(args, STRATEGY, "range"), &plan->strategy))
        return false;
    return names_check_group(plan->group);
}

/* Each reason once: a broker that is down has many partitions. */
static void report_missing(const struct group_view *view)
{
    const char *said = NULL, *said_offset = NULL;
    for (size_t i = 0; i < view->topic_count; i++) {
        const struct group_topic *t = &view->topics[i];
        for (size_t n = 0; n < t->partition_count; n++) {
            const char *missing = t->partitions[n].end_missing;
            if (missing && (!said || strcmp(said, missing) != 0))
                report_warning("log end of [%s,%d] is not known: %s", t->name,
                               (int)t->partitions[n].partition, missing);
            said = missing ? missing : said;
            missing = t->partitions[n].stored_missing;
            if (missing && (!said_offset || strcmp(said_offset, missing) != 0))
                report_warning("the offset of [%s,%d] in Kafka is not known: %s", t->name,
                               (int)t->partitions[n].partition, missing);
            said_offset = missing ? missing : said_offset;
        }
    }
}

/* In one line: a group that was moved from one store to the other has many. */
static void report_differences(const struct group_view *view)
{
    const struct group_topic *topic = NULL;
    const struct group_partition *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < view->topic_count; i++)
        for (size_t n = 0; n < view->topics[i].partition_count; n++) {
            const struct group_partition *p = &view->topics[i].partitions[n];
            if (!group_stored_differs(p) || count++ > 0)
                continue;
            topic = &view->topics[i];
            first = p;
        }
    if (first)
        report_warning("%zu partitions have one offset in Kafka, which is shown, and another in "
                       "ZooKeeper; the first is [%s,%d]: %lld and %lld",
                       count, topic->name, (int)first->partition, (long long)first->offset,
                       (long long)first->znode_offset);
}

static enum cli_exit print(const struct group_read *read, const struct group_problems *problems,
                           const struct plan *plan)
{
    struct output out;
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    if (plan->is_kafkas)
        group_print_kafkas(&read->view, &out.buf);
    else
        (plan->is_json ? group_print_json : group_print_table)(&read->view, problems, &out.buf);
    enum cli_exit code = output_finish(&out);
    output_deinit(&out);
    return code;
}

static enum cli_exit describe(struct zk_reader *r, const struct plan *plan, struct arena *arena)
{
    struct group_read read;
    struct group_problems problems;
    struct why why;
    enum zkc_err err =
        group_read(r, plan->group, &(struct group_read_options){0}, arena, &read, &why);
    enum zkc_err stored_err =
        err || !read.view.exists ? ZKC_OK : group_stored_read_or_tell(r, &read, arena);
    const enum assign_strategy *given = plan->is_strategy_given ? &plan->strategy : NULL;
    if (!err && (err = group_check(&read.view, group_check_rule(&read.view, given), arena,
                                   &problems)) != ZKC_OK)
        why_set(&why, "group %s: %s", plan->group, zkc_err_text(err));
    if (err) {
        report_error("%s", why.text);
        return report_exit_of(err);
    }
    enum cli_exit code = print(&read, &problems, plan);
    for (size_t i = 0; plan->is_kafkas && i < problems.count; i++)
        report_warning("problem: %s", problems.list[i].text);
    report_missing(&read.view);
    report_differences(&read.view);
    if (read.is_changing)
        report_warning("the group changed while it was read: what is shown may be of different "
                       "moments");
    if (problems.unchecked)
        report_warning("who should own what was not checked: %s", problems.unchecked);
    if (code != CLI_DONE)
        return code;
    if (problems.count)
        return CLI_PROBLEM;
    if (problems.unchecked && read.ends_err == ZKC_OK && stored_err == ZKC_OK)
        return CLI_TIMED_OUT;
    return report_exit_of_missing(read.ends_err, stored_err);
}

static enum cli_exit run(const struct cli_args *args)
{
    struct plan plan;
    if (!read_plan(args, &plan))
        return CLI_FAILED;
    struct zk_reader *r;
    struct why why;
    enum zkc_err err =
        zk_reader_open(cli_args_text(args, ZOOKEEPER, ""), plan.timeout_ms, &r, &why);
    if (err) {
        report_error("%s", why.text);
        return report_exit_of(err);
    }
    struct arena arena;
    arena_init(&arena, ANSWERS_BYTES_MAX);
    enum cli_exit code = describe(r, &plan, &arena);
    arena_deinit(&arena);
    zk_reader_close(r);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer groups describe --group=billing " EXAMPLE_ZOOKEEPER,
     "Who owns what, how far behind, and what is wrong."},
    {"zkconsumer groups describe --group=billing " EXAMPLE_ZOOKEEPER
     " --json | jq '[.partitions[].lag] | add'",
     "The lag of the whole group."},
    {"zkconsumer groups describe --group=billing " EXAMPLE_ZOOKEEPER " >/dev/null || echo trouble",
     "A check for cron: every problem makes the exit status 2."},
};

static const struct cli_pair exits[] = {
    {"0", "every partition is owned by the member that should own it"},
    {"1", "usage, or stdout could not be written"},
    {"2", "a problem was found, listed on stdout; also: no such group, nobody registered"},
    {"3", "ZooKeeper, or a broker that leads a partition or keeps offsets, could not be reached"},
    {"4", "not everything could be read in time, a partition has no leader, or not "
          "everything could be checked: a member has a filter that is not understood here"},
};

const struct cli_command command_groups_describe = {
    .name = "groups describe",
    .summary = "Show and check a group: members, owners, offsets, lag",
    .synopsis = "--group=GROUP --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description =
        "Prints a row for each partition of the topics that the group's members subscribe to, or "
        "of "
        "which it has offsets or owners in ZooKeeper: the committed offset (the next to read), "
        "which is what the group's coordinator has (offsets.storage=kafka), else what ZooKeeper "
        "has; the "
        "end of the partition log as its leader tells it now, the lag, and the owner, a thread id "
        "(<consumer id>-<number of the stream>). What is not known is \"unknown\", never 0. Below "
        "come "
        "the members, with the session that holds their registration, how many partitions they own "
        "and should own, and how many of these were claimed without a lease (an owner node of "
        "version 0).\n"
        "Then the group is checked, and each problem gets a line: a member without a lease "
        "(Kafka's own, or compat) that has less than its share while the rest of it is with "
        "nobody, because it has given up; a partition without owner; an "
        "owner "
        "that is not registered; an owner node that is held by another session than the member's "
        "registration, which is what remains of an expired session; an owner that is not the one "
        "whom "
        "the assignment rule chooses; a registration that cannot be read or that makes Java "
        "members "
        "fail in every rebalance; an offset that is no number; nobody registered at all.\n"
        "Everything is read, nothing is written or created. A rebalance that is under way shows as "
        "problems that are gone a few seconds later. Members that subscribe by a filter "
        "(whitelist, "
        "blacklist) count for the topics that it allows now.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
