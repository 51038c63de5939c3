/* zkconsumer groups delete: removes what dead groups have left in ZooKeeper.
 *
 * A member may register while it is done. So /ids is deleted first, alone: the server refuses when
 * somebody is in it. Then everything else but /ids, and the group's node, again alone: when
 * somebody has come meanwhile, it and its registration stay.
 *
 * Of one topic, owners/TOPIC is deleted first, alone: the server refuses while a partition is
 * owned. */
#include "zkconsumer/cli/admin.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/offset_store.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/path.h"
#include <stdlib.h>

enum { ZOOKEEPER, GROUP, TOPIC, CONSOLE, DRY_RUN, TIMEOUT, HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [GROUP] = {"group group.id", 'G', "GROUP", true, "The group; may be given several times."},
    [TOPIC] = {"topic", 't', "TOPIC", false,
               "Only what the group has of this topic; one that has nothing else goes as a whole. "
               "Without --group: of every group that has no members."},
    [CONSOLE] = {"console-groups", 0, NULL, false,
                 "All groups without members that console consumers made up and left behind "
                 "(console-consumer-NUMBER, perf-consumer-NUMBER)."},
    [DRY_RUN] = {"dry-run", 'n', NULL, false, "Say what would be deleted, and delete nothing."},
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

enum outcome { DELETED, NOT_THERE, LIVE, NOTHING_OF_IT };

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

/* ---- one topic ---- */

static bool is_in(const struct zk_result *children, const char *name)
{
    size_t i = 0;
    if (children->zk_rc != ZK_OK)
        return false;
    while (i < children->children_count && strcmp(children->children[i], name) != 0)
        i++;
    return i < children->children_count;
}

static bool has_other(const struct zk_result *children, const char *name)
{
    return children->zk_rc == ZK_OK && children->children_count > (size_t)is_in(children, name);
}

/* What is known of a group and a topic. */
struct share {
    bool is_group;
    bool is_live;
    bool has_topic;
    bool has_others;
};

static enum zkc_err read_share(struct admin *a, const char *group, const char *topic,
                               struct share *out)
{
    struct zk_result node, ids, owners, offsets;
    enum zkc_err err = admin_do(a, ZK_OP_EXISTS, zk_path_group(group), BYTES_NULL, &node);
    if (!err)
        err = admin_do(a, ZK_OP_CHILDREN, zk_path_ids(group), BYTES_NULL, &ids);
    if (!err)
        err = admin_do(a, ZK_OP_CHILDREN, zk_path_owners(group), BYTES_NULL, &owners);
    if (!err)
        err = admin_do(a, ZK_OP_CHILDREN, zk_path_offsets(group), BYTES_NULL, &offsets);
    if (err)
        return err;
    *out = (struct share){
        .is_group = node.zk_rc == ZK_OK,
        .is_live = ids.zk_rc == ZK_OK && ids.children_count > 0,
        .has_topic = is_in(&owners, topic) || is_in(&offsets, topic),
        .has_others = has_other(&owners, topic) || has_other(&offsets, topic),
    };
    return ZKC_OK;
}

static enum zkc_err delete_share(struct admin *a, const char *group, const char *topic,
                                 enum outcome *outcome)
{
    int zk_rc = ZK_OK;
    const char *owners = arena_format(&a->arena, "/consumers/%s/owners/%s", group, topic);
    const char *offsets = arena_format(&a->arena, "/consumers/%s/offsets/%s", group, topic);
    enum zkc_err err = a->arena.failed;
    *outcome = LIVE;
    if (!err)
        err = delete_node(a, strdup(owners), &zk_rc);
    if (err || zk_rc == ZK_NOT_EMPTY)
        return err;
    *outcome = DELETED;
    return zk_reader_delete_tree(a->zk, offsets, &a->why);
}

/* As AdminUtils.deleteConsumerGroupInfoForTopicInZK, but that what has only offsets counts as well.
 */
static enum zkc_err delete_topic(struct admin *a, const char *group, const char *topic, bool is_dry,
                                 enum outcome *outcome)
{
    struct share share;
    enum zkc_err err = read_share(a, group, topic, &share);
    if (err)
        return err;
    *outcome = !share.is_group    ? NOT_THERE
               : share.is_live    ? LIVE
               : !share.has_topic ? NOTHING_OF_IT
                                  : DELETED;
    if (*outcome != DELETED || is_dry)
        return ZKC_OK;
    if (!share.has_others)
        return delete_group(a, group, false, outcome);
    return delete_share(a, group, topic, outcome);
}

/* ---- what is told ---- */

/* As kafka.admin.ConsumerGroupCommand says it. */
static void tell_in_kafkas_words(const char *called_as, const char *group, const char *topic,
                                 enum outcome outcome)
{
    const char *lead = topic ? " topic " : "", *name = topic ? topic : "";
    if (outcome == DELETED)
        report_result(called_as,
                      "Deleted %sconsumer group information for group %s%s%s in zookeeper.",
                      topic ? "" : "all ", group, lead, name);
    else if (outcome == NOTHING_OF_IT)
        report_error("group %s has nothing of topic %s", group, name);
    else
        report_result(called_as, "Delete for group %s%s%s failed because %s.", group, lead, name,
                      outcome == LIVE ? "its consumers are still active" : "group does not exist");
}

static void tell(const char *group, const char *topic, bool is_dry, enum outcome outcome)
{
    switch (outcome) {
    case DELETED:
        if (topic)
            report_status("what group %s has of topic %s %s deleted", group, topic,
                          is_dry ? "would be" : "is");
        else
            report_status("group %s %s deleted", group, is_dry ? "would be" : "is");
        break;
    case NOT_THERE: report_error("there is no group %s in ZooKeeper", group); break;
    case LIVE: report_error("group %s has members: it is not deleted", group); break;
    case NOTHING_OF_IT: report_error("group %s has nothing of topic %s", group, topic); break;
    }
}

static enum zkc_err delete_and_tell(struct admin *a, const struct cli_args *args, const char *group,
                                    enum cli_exit *code)
{
    enum outcome outcome;
    bool is_dry = cli_args_has(args, DRY_RUN);
    const char *topic = cli_args_text(args, TOPIC, NULL);
    enum zkc_err err = topic ? delete_topic(a, group, topic, is_dry, &outcome)
                             : delete_group(a, group, is_dry, &outcome);
    if (err)
        return err;
    *code = outcome == DELETED ? *code : CLI_PROBLEM;
    if (args->called_as && !is_dry)
        tell_in_kafkas_words(args->called_as, group, topic, outcome);
    else
        tell(group, topic, is_dry, outcome);
    return ZKC_OK;
}

/* ---- groups that are not named ---- */

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

/* What Kafka keeps (`topic` NULL: of all topics) stays, and is told. */
static enum zkc_err tell_kept(struct admin *a, const char *group, const char *topic,
                              enum cli_exit *code)
{
    size_t left;
    enum zkc_err err = offset_store_tell_kept(a, group, topic, &left);
    if (!err && left)
        *code = CLI_PROBLEM;
    return err;
}

/* The groups of ZooKeeper that `is_wanted` (NULL: all) and that have no members. */
static enum zkc_err delete_dead(struct admin *a, const struct cli_args *args,
                                bool (*is_wanted)(const char *), enum cli_exit *code)
{
    struct zk_result groups;
    struct share share;
    const char *topic = cli_args_text(args, TOPIC, NULL);
    enum cli_exit ignored; /* one that came to life meanwhile is no error here */
    enum zkc_err err = admin_do(a, ZK_OP_CHILDREN, strdup(ZK_PATH_CONSUMERS), BYTES_NULL, &groups);
    for (size_t i = 0; !err && groups.zk_rc == ZK_OK && i < groups.children_count; i++) {
        const char *group = groups.children[i];
        if (is_wanted && !is_wanted(group))
            continue;
        err = read_share(a, group, topic ? topic : "", &share);
        if (err || share.is_live || (topic && !share.has_topic))
            continue;
        err = tell_kept(a, group, topic, code);
        if (!err)
            err = delete_and_tell(a, args, group, &ignored);
    }
    return err;
}

/* AdminUtils.deleteAllConsumerGroupInfoForTopicInZK. */
static enum zkc_err delete_of_all(struct admin *a, const struct cli_args *args, enum cli_exit *code)
{
    struct cli_args own = *args;
    own.called_as = NULL; /* Kafka's tool does not name the groups */
    enum zkc_err err = delete_dead(a, &own, NULL, code);
    if (!err && args->called_as && !cli_args_has(args, DRY_RUN))
        report_result(args->called_as,
                      "Deleted consumer group information for all inactive consumer groups for "
                      "topic %s in zookeeper.",
                      cli_args_text(args, TOPIC, ""));
    return err;
}

static enum zkc_err delete_named(struct admin *a, const struct cli_args *args, enum cli_exit *code)
{
    const char *group;
    enum zkc_err err = ZKC_OK;
    for (size_t i = 0; !err && (group = cli_args_value(args, GROUP, i)); i++) {
        err = tell_kept(a, group, cli_args_text(args, TOPIC, NULL), code);
        if (!err)
            err = delete_and_tell(a, args, group, code);
    }
    return err;
}

static bool check(const struct cli_args *args)
{
    static const char example[] = "zkconsumer groups delete -G billing " EXAMPLE_ZOOKEEPER;
    bool has_topic = cli_args_has(args, TOPIC), is_console = cli_args_has(args, CONSOLE);
    if (has_topic && is_console) {
        report_error("--console-groups is about whole groups: without --topic");
        return false;
    }
    if (!has_topic && !is_console && !report_needs(args, GROUP, example))
        return false;
    return report_needs(args, ZOOKEEPER, example) && report_takes_no_operands(args) &&
           names_check_groups(args, GROUP) && names_check_topics(args, TOPIC);
}

static enum cli_exit run(const struct cli_args *args)
{
    struct admin a;
    if (!check(args))
        return CLI_FAILED;
    enum cli_exit code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
    if (code != CLI_DONE)
        return code;
    enum zkc_err err = delete_named(&a, args, &code);
    if (!err && cli_args_has(args, CONSOLE))
        err = delete_dead(&a, args, is_made_up, &code);
    if (!err && cli_args_has(args, TOPIC) && !cli_args_has(args, GROUP))
        err = delete_of_all(&a, args, &code);
    if (err)
        code = admin_fail(&a, err);
    admin_close(&a);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer groups delete -G billing " EXAMPLE_ZOOKEEPER, "One group, with its offsets."},
    {"zkconsumer groups delete -G billing -t orders " EXAMPLE_ZOOKEEPER,
     "Its offsets of one topic; the group must have no members."},
    {"zkconsumer groups delete --console-groups --dry-run " EXAMPLE_ZOOKEEPER,
     "What killed console consumers have left."},
};
static const struct cli_pair exits[] = {
    {"0", "deleted"},
    {"1", "usage"},
    {"2", "a group has members, is not there, or has nothing of the topic; the others are deleted. "
          "Or Kafka keeps offsets of one, which stay there"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "the time was up"},
};

const struct cli_command command_groups_delete = {
    .name = "groups delete",
    .summary = "Delete groups that have no members",
    .synopsis = "--group=GROUP ... [--topic=TOPIC] --zookeeper=HOST:PORT[,...][/CHROOT] "
                "[OPTION ...]\n"
                "--topic=TOPIC --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]\n"
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
