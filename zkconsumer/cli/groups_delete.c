/* zkconsumer groups delete: removes what dead groups have left in ZooKeeper.
 *
 * A member may register while it is done. So /ids is deleted first, alone: the server refuses when
 * somebody is in it. Then everything else but /ids, and the group's node, again alone: when
 * somebody has come meanwhile, it and its registration stay. */
#include "zkconsumer/cli/admin.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/offset_store.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/path.h"
#include <stdlib.h>

enum { ZOOKEEPER, GROUP, CONSOLE, DRY_RUN, TIMEOUT, HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [GROUP] = {"group group.id", 'G', "GROUP", true, "The group; may be given several times."},
    [CONSOLE] = {"console-groups", 0, NULL, false,
                 "All groups without members that console consumers made up and left behind "
                 "(console-consumer-NUMBER, perf-consumer-NUMBER)."},
    [DRY_RUN] = {"dry-run", 'n', NULL, false, "Say what would be deleted, and delete nothing."},
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

enum outcome { DELETED, NOT_THERE, LIVE };

/* One node without children. */
static enum zkc_err delete_node(struct admin *a, char *path, int *zk_rc)
{
    struct zk_result result = {.zk_rc = ZK_OK};
    enum zkc_err err = admin_do(a, ZK_OP_DELETE, path, BYTES_NULL, &result);
    *zk_rc = result.zk_rc;
    if (!err && *zk_rc != ZK_OK && *zk_rc != ZK_NO_NODE && *zk_rc != ZK_NOT_EMPTY) {
        why_set(&a->why, "delete: %s (%d)", zk_rc_name(*zk_rc), *zk_rc);
        err = ZKC_ERR_ZOOKEEPER;
    }
    return err;
}

static enum zkc_err delete_folders(struct admin *a, const char *group)
{
    struct zk_result folders;
    enum zkc_err err = admin_do(a, ZK_OP_CHILDREN, zk_path_group(group), BYTES_NULL, &folders);
    for (size_t i = 0; !err && folders.zk_rc == ZK_OK && i < folders.children_count; i++) {
        if (strcmp(folders.children[i], "ids") == 0)
            continue;
        const char *path = arena_format(&a->arena, "/consumers/%s/%s", group, folders.children[i]);
        err = path ? zk_reader_delete_tree(a->zk, path, &a->why) : a->arena.failed;
    }
    return err;
}

static enum zkc_err delete_group(struct admin *a, const char *group, bool is_dry,
                                 enum outcome *outcome)
{
    struct zk_result found;
    int zk_rc = ZK_OK;
    enum zkc_err err = admin_do(a, ZK_OP_EXISTS, zk_path_group(group), BYTES_NULL, &found);
    *outcome = NOT_THERE;
    if (err || found.zk_rc != ZK_OK)
        return err;
    *outcome = LIVE;
    if (is_dry) {
        err = admin_do(a, ZK_OP_CHILDREN, zk_path_ids(group), BYTES_NULL, &found);
        if (!err && (found.zk_rc != ZK_OK || found.children_count == 0))
            *outcome = DELETED;
        return err;
    }
    err = delete_node(a, zk_path_ids(group), &zk_rc);
    if (err || zk_rc == ZK_NOT_EMPTY)
        return err;
    err = delete_folders(a, group);
    if (!err)
        err = delete_node(a, zk_path_group(group), &zk_rc);
    if (!err && zk_rc != ZK_NOT_EMPTY)
        *outcome = DELETED;
    return err;
}

/* As kafka.admin.ConsumerGroupCommand says it. */
static void tell_in_kafkas_words(const char *called_as, const char *group, enum outcome outcome)
{
    if (outcome == DELETED)
        report_result(called_as,
                      "Deleted all consumer group information for group %s in zookeeper.", group);
    else
        report_result(called_as, "Delete for group %s failed because %s.", group,
                      outcome == LIVE ? "its consumers are still active" : "group does not exist");
}

static enum zkc_err delete_and_tell(struct admin *a, const struct cli_args *args, const char *group,
                                    enum cli_exit *code)
{
    enum outcome outcome;
    bool is_dry = cli_args_has(args, DRY_RUN);
    enum zkc_err err = delete_group(a, group, is_dry, &outcome);
    if (err)
        return err;
    if (args->called_as && !is_dry) {
        tell_in_kafkas_words(args->called_as, group, outcome);
        *code = outcome == DELETED ? *code : CLI_PROBLEM;
        return ZKC_OK;
    }
    switch (outcome) {
    case DELETED: report_status("group %s %s deleted", group, is_dry ? "would be" : "is"); break;
    case NOT_THERE:
        report_error("there is no group %s in ZooKeeper", group);
        *code = CLI_PROBLEM;
        break;
    case LIVE:
        report_error("group %s has members: it is not deleted", group);
        *code = CLI_PROBLEM;
        break;
    }
    return ZKC_OK;
}

/* The names that Kafka's tools make up for groups of their own. */
static bool is_made_up(const char *group)
{
    static const char *const leads[] = {"console-consumer-", "perf-consumer-"};
    int64_t number;
    for (size_t i = 0; i < ARRAY_LEN(leads); i++)
        if (strncmp(group, leads[i], strlen(leads[i])) == 0)
            return cli_parse_number(group + strlen(leads[i]), 0, INT64_MAX, &number);
    return false;
}

/* What Kafka keeps stays, and is told. */
static enum zkc_err tell_kept(struct admin *a, const char *group, enum cli_exit *code)
{
    size_t left;
    enum zkc_err err = offset_store_tell_kept(a, group, &left);
    if (!err && left)
        *code = CLI_PROBLEM;
    return err;
}

static enum zkc_err delete_made_up(struct admin *a, const struct cli_args *args,
                                   enum cli_exit *code)
{
    struct zk_result groups, ids;
    enum cli_exit ignored; /* one that came to life meanwhile is no error here */
    enum zkc_err err = admin_do(a, ZK_OP_CHILDREN, strdup(ZK_PATH_CONSUMERS), BYTES_NULL, &groups);
    for (size_t i = 0; !err && groups.zk_rc == ZK_OK && i < groups.children_count; i++) {
        const char *group = groups.children[i];
        if (!is_made_up(group))
            continue;
        err = admin_do(a, ZK_OP_CHILDREN, zk_path_ids(group), BYTES_NULL, &ids);
        if (err || (ids.zk_rc == ZK_OK && ids.children_count > 0))
            continue;
        err = tell_kept(a, group, code);
        if (!err)
            err = delete_and_tell(a, args, group, &ignored);
    }
    return err;
}

static enum cli_exit run(const struct cli_args *args)
{
    static const char example[] = "zkconsumer groups delete -G billing " EXAMPLE_ZOOKEEPER;
    struct admin a;
    const char *group;
    if ((!cli_args_has(args, CONSOLE) && !report_needs(args, GROUP, example)) ||
        !report_needs(args, ZOOKEEPER, example) || !report_takes_no_operands(args) ||
        !names_check_groups(args, GROUP))
        return CLI_FAILED;
    enum cli_exit code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
    if (code != CLI_DONE)
        return code;
    enum zkc_err err = ZKC_OK;
    for (size_t i = 0; !err && (group = cli_args_value(args, GROUP, i)); i++) {
        err = tell_kept(&a, group, &code);
        if (!err)
            err = delete_and_tell(&a, args, group, &code);
    }
    if (!err && cli_args_has(args, CONSOLE))
        err = delete_made_up(&a, args, &code);
    if (err)
        code = admin_fail(&a, err);
    admin_close(&a);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer groups delete -G billing " EXAMPLE_ZOOKEEPER, "One group, with its offsets."},
    {"zkconsumer groups delete --console-groups --dry-run " EXAMPLE_ZOOKEEPER,
     "What killed console consumers have left."},
};
static const struct cli_pair exits[] = {
    {"0", "deleted"},
    {"1", "usage"},
    {"2", "a group has members, or is not there; the others are deleted. Or Kafka keeps offsets of "
          "one, which stay there"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "the time was up"},
};

const struct cli_command command_groups_delete = {
    .name = "groups delete",
    .summary = "Delete groups that have no members",
    .synopsis = "--group=GROUP ... --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]\n"
                "--console-groups --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description =
        "Removes /consumers/GROUP with all that is below it: offsets and what is left "
        "of owners. A group that has members is refused, also when the first of them "
        "registers in the middle of it. Offsets that Kafka keeps (offsets.storage=kafka) "
        "cannot be deleted: they stay until they expire, which is told.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
