/* zkconsumer groups list */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/json_text.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/zk_reader.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/path.h"
#include <stdlib.h>
#include <unistd.h>

enum { ZOOKEEPER, JSON, TIMEOUT, HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [JSON] =
        {"json", 'J', NULL, false,
         "One object for each group: {\"group\":..,\"members\":..}, members being the number of "
         "registered consumers."},
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

#define ANSWERS_BYTES_MAX ((size_t)1 << 30)

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* members[i]: how many nodes are under the ids of groups->children[i]. */
static enum zkc_err count_members(struct zk_reader *r, const struct zk_result *groups,
                                  struct arena *arena, struct zk_result **members, struct why *why)
{
    struct zk_op *ops = arena_alloc_array(arena, groups->children_count, sizeof *ops);
    *members = arena_alloc_array(arena, groups->children_count, sizeof **members);
    for (size_t i = 0; *members && i < groups->children_count; i++) {
        char *path = zk_path_ids(groups->children[i]);
        size_t size = path ? strlen(path) + 1 : 0;
        char *copy = path ? arena_alloc(arena, size) : NULL;
        if (copy)
            memcpy(copy, path, size);
        free(path);
        if (!copy) {
            why_set(why, "out of memory");
            return ZKC_ERR_NOMEM;
        }
        ops[i] = (struct zk_op){.type = ZK_OP_CHILDREN, .path = copy};
    }
    zk_reader_allow_refusals(r);
    return zk_reader_run(r, ops, groups->children_count, arena, *members, why);
}

/* Says of the groups that an ACL protects that their members are not known. */
static bool tell_refused(struct zk_reader *r, const struct zk_result *groups,
                         const struct zk_result *members)
{
    const char *refusal = zk_reader_take_refusal(r);
    for (size_t i = 0; refusal && i < groups->children_count; i++)
        if (members[i].zk_rc == ZK_NO_AUTH)
            report_error("the members of group %s are not known: NoAuth", groups->children[i]);
    if (refusal)
        report_error("%s", refusal);
    return refusal != NULL;
}

static enum cli_exit print(const struct zk_result *groups, const struct zk_result *members)
{
    struct output out;
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    for (size_t i = 0; i < groups->children_count; i++) {
        if (members) {
            buf_append_byte(&out.buf, '{');
            json_append_field(&out.buf, "group", bytes_of_text(groups->children[i]));
            if (members[i].zk_rc == ZK_NO_AUTH)
                buf_append_text(&out.buf, ",\"members\":null}\n");
            else
                buf_appendf(&out.buf, ",\"members\":%zu}\n", members[i].children_count);
        } else {
            buf_appendf(&out.buf, "%s\n", groups->children[i]);
        }
        if (!output_added(&out))
            break;
    }
    enum cli_exit code = output_finish(&out);
    output_deinit(&out);
    return code;
}

static enum cli_exit list(struct zk_reader *r, const struct cli_args *args, struct arena *arena)
{
    struct why why;
    struct zk_op op = {.type = ZK_OP_CHILDREN, .path = ZK_PATH_CONSUMERS};
    struct zk_result groups, *members = NULL;
    enum zkc_err err = zk_reader_run(r, &op, 1, arena, &groups, &why);
    if (!err && groups.zk_rc == ZK_NO_NODE)
        report_status(
            "there is no /consumers at %s: no group ever was there (is the chroot right?)",
            cli_args_text(args, ZOOKEEPER, ""));
    if (!err && groups.children_count)
        qsort((void *)groups.children, groups.children_count, sizeof *groups.children, by_text);
    if (!err && cli_args_has(args, JSON))
        err = count_members(r, &groups, arena, &members, &why);
    if (err) {
        report_error("%s", why.text);
        return report_exit_of(err);
    }
    bool is_refused = members && tell_refused(r, &groups, members);
    enum cli_exit code = print(&groups, members);
    return code == CLI_DONE && is_refused ? CLI_PROBLEM : code;
}

static enum cli_exit run(const struct cli_args *args)
{
    char text[256];
    int64_t timeout_ms = OPTION_TIMEOUT_DEFAULT_MS;
    if (!cli_args_number(args, TIMEOUT, 1, INT32_MAX, &timeout_ms, text, sizeof text)) {
        report_error("%s", text);
        return CLI_FAILED;
    }
    if (!report_needs(args, ZOOKEEPER, "zkconsumer groups list " EXAMPLE_ZOOKEEPER) ||
        !report_takes_no_operands(args))
        return CLI_FAILED;
    struct zk_reader *r;
    struct why why;
    enum zkc_err err = zk_reader_open(cli_args_text(args, ZOOKEEPER, ""), timeout_ms, &r, &why);
    if (err) {
        report_error("%s", why.text);
        return report_exit_of(err);
    }
    struct arena arena;
    arena_init(&arena, ANSWERS_BYTES_MAX);
    enum cli_exit code = list(r, args, &arena);
    arena_deinit(&arena);
    zk_reader_close(r);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer groups list " EXAMPLE_ZOOKEEPER, "The names of all groups."},
};

static const struct cli_pair exits[] = {
    {"0", "listed; no group at all is no error"},
    {"1", "usage, or stdout could not be written"},
    {"2", "with --json: a group is protected by an ACL; its members are null"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "ZooKeeper did not answer in time"},
};

const struct cli_command command_groups_list = {
    .name = "groups list",
    .summary = "List the consumer groups that ZooKeeper knows",
    .synopsis = "--zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description =
        "Prints the groups under /consumers, one a line, sorted. A group is listed from its first "
        "registration or commit on, also while it has no members; nobody removes it by itself.\n"
        "Groups that keep their members in Kafka's brokers (since 0.9) are not among them.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
