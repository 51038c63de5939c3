/* kafka-consumer-groups: Kafka's tool for groups, for those in ZooKeeper. */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/dispatch.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"

enum {
    LIST,
    DESCRIBE,
    DELETE,
    RESET,
    ZOOKEEPER,
    GROUP,
    TOPIC,
    ALL_TOPICS,
    EARLIEST,
    LATEST,
    TIME,
    DURATION,
    OFFSET,
    SHIFT,
    CURRENT,
    FROM_FILE,
    EXPORT,
    EXECUTE,
    DRY_RUN,
    COMMAND_CONFIG,
    FORCE,
    PROPERTY,
    TIMEOUT,
    HELP,
    OPTIONS
};

static const struct cli_option options[OPTIONS] = {
    [LIST] = {"list", 0, NULL, false, "The names of all groups: zkconsumer groups list."},
    [DESCRIBE] = {"describe", 0, NULL, false,
                  "Owners, offsets and lag of a group: zkconsumer groups describe."},
    [DELETE] = {"delete", 0, NULL, false,
                "Delete groups that have no members: zkconsumer groups delete."},
    [RESET] = {"reset-offsets", 0, NULL, false,
               "Move a group's offsets: zkconsumer offsets reset."},
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [GROUP] = {"group", 0, "GROUP", true,
               "The group. With --delete it may be given several times."},
    [TOPIC] = {"topic", 0, "TOPIC[:PARTITIONS]", true,
               "With --reset-offsets: only this topic, of it only these partitions (0,2,5); may be "
               "given several times. With --delete: only what the group has of this topic; without "
               "--group, of every group that has no members."},
    [ALL_TOPICS] = {"all-topics", 0, NULL, false,
                    "With --reset-offsets: every topic of which the group has offsets, which is "
                    "the rule."},
    [EARLIEST] = {"to-earliest", 0, NULL, false, "To the beginning of each log."},
    [LATEST] = {"to-latest", 0, NULL, false, "To the end of each log."},
    [TIME] = {"to-datetime", 0, "TIME", false,
              "To before what was written at this time: 2015-02-26T21:33:20, with .500 and a zone "
              "such as +01:00 or without (UTC), or milliseconds since 1970."},
    [DURATION] = {"by-duration", 0, "PnDTnHnMnS", false,
                  "The same of the time so long ago: P1DT12H is a day and a half."},
    [OFFSET] = {"to-offset", 0, "N", false, "To this offset; at most to the ends of the log."},
    [SHIFT] = {"shift-by", 0, "N", false,
               "By so many messages, back with a negative N; at most to the ends of the log."},
    [CURRENT] = {"to-current", 0, NULL, false,
                 "To where the group is; where it is nowhere yet, to the end of the log."},
    [FROM_FILE] = {"from-file", 0, "FILE", false,
                   "To the offsets in this file, lines of topic,partition,offset."},
    [EXPORT] = {"export", 0, NULL, false,
                "With --reset-offsets: print lines as --from-file takes them."},
    [EXECUTE] = {"execute", 0, NULL, false,
                 "With --reset-offsets: write them. Default: print what would be written."},
    [DRY_RUN] = {"dry-run", 0, NULL, false,
                 "With --reset-offsets, the rule; with --delete: say what would be deleted."},
    [COMMAND_CONFIG] = {"command-config", 0, "FILE", false,
                        "Not read: what Kafka's tool takes from it is for groups in Kafka's "
                        "brokers, or waits for one of them, as --timeout does here. That is told."},
    [FORCE] = {"force", 0, NULL, false,
               "With --reset-offsets: although members are registered. Not Kafka's."},
    [PROPERTY] = {"property", 'X', "KEY=VALUE", true,
                  "With --reset-offsets: offsets.storage and dual.commit.enabled, as the members "
                  "have them. Not Kafka's."},
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

/* What the commands behind it do not see. */
static bool check(const struct cli_args *args)
{
    const char *wrong = NULL;
    if (cli_args_has(args, EXECUTE) && cli_args_has(args, DRY_RUN))
        wrong = "--execute and --dry-run: one of them";
    else if (cli_args_has(args, ALL_TOPICS) &&
             (cli_args_has(args, TOPIC) || cli_args_has(args, FROM_FILE)))
        wrong = "--all-topics stands alone: without --topic and --from-file";
    if (wrong)
        report_error("%s", wrong);
    else if (cli_args_has(args, COMMAND_CONFIG))
        report_warning("--command-config=%s is not read: there is nothing in it for groups in "
                       "ZooKeeper",
                       cli_args_text(args, COMMAND_CONFIG, ""));
    return !wrong;
}

static enum cli_exit run(const struct cli_args *args)
{
    static const struct dispatch_action actions[] = {
        {.flag = LIST, .command = &command_groups_list, .own = {COMMAND_CONFIG}, .own_count = 1},
        {.flag = DESCRIBE,
         .command = &command_groups_describe,
         .own = {COMMAND_CONFIG},
         .own_count = 1},
        {.flag = DELETE,
         .command = &command_groups_delete,
         .own = {COMMAND_CONFIG},
         .own_count = 1},
        {.flag = RESET,
         .command = &command_offsets_reset,
         .own = {COMMAND_CONFIG, ALL_TOPICS, EXECUTE, DRY_RUN},
         .own_count = 4,
         .unless = "execute",
         .word = "--dry-run"},
    };
    return check(args) ? dispatch(args, actions, ARRAY_LEN(actions)) : CLI_FAILED;
}

static const struct cli_pair examples[] = {
    {"kafka-consumer-groups --zookeeper zk1:2181/kafka --describe --group billing",
     "Who owns what, and how far behind."},
    {"kafka-consumer-groups --zookeeper zk1:2181/kafka --reset-offsets --group billing --topic "
     "orders --to-earliest --execute",
     "One topic again from the beginning; the group must have no members."},
    {"kafka-consumer-groups --zookeeper zk1:2181/kafka --delete --group billing --topic orders",
     "Forget where the group is in one topic."},
};
static const struct cli_pair exits[] = {
    {"0", "done; with --describe: and every partition is owned by the member that should own it"},
    {"1", "usage, refused, or stdout could not be written"},
    {"2", "a problem was found, which stderr names; no such group; not deleted, or nothing of the "
          "topic; Kafka keeps offsets"},
    {"3", "ZooKeeper or a broker could not be reached"},
    {"4", "the time was up, or not everything could be read"},
};

const struct cli_command command_kafka_groups = {
    .name = "",
    .kafka = "kafka-consumer-groups kafka.admin.ConsumerGroupCommand",
    .summary = "List, describe, delete and move groups, as Kafka's tool",
    .synopsis = "--list --zookeeper=HOST:PORT[,...][/CHROOT]\n"
                "--describe --group=GROUP --zookeeper=HOST:PORT[,...][/CHROOT]\n"
                "--delete --group=GROUP ... [--topic=TOPIC] --zookeeper=HOST:PORT[,...][/CHROOT]\n"
                "--delete --topic=TOPIC --zookeeper=HOST:PORT[,...][/CHROOT]\n"
                "--reset-offsets --group=GROUP --to-earliest|--to-latest|--to-datetime=TIME|"
                "--by-duration=PnDTnHnMnS|--to-offset=N|--shift-by=N|--to-current|--from-file=FILE "
                "[--export] [--execute] --zookeeper=HOST:PORT[,...][/CHROOT]",
    .description =
        "Kafka's tool for groups that are coordinated through ZooKeeper. --describe prints the "
        "columns of Kafka 0.10 (GROUP, TOPIC, PARTITION, CURRENT-OFFSET, LOG-END-OFFSET, LAG, "
        "OWNER), --reset-offsets those of Kafka 2 (GROUP, TOPIC, PARTITION, NEW-OFFSET); what is "
        "wrong with the group goes to stderr and into the exit status. Groups that keep their "
        "members in Kafka's brokers (--bootstrap-server) are not known here.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
