/* kafka-consumer-groups: Kafka's tool for groups, for those in ZooKeeper. */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/dispatch.h"
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
    SHIFT,
    EXECUTE,
    DRY_RUN,
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
    [TOPIC] = {"topic", 0, "TOPIC", true,
               "With --reset-offsets: only this topic; may be given several times."},
    [ALL_TOPICS] = {"all-topics", 0, NULL, false,
                    "With --reset-offsets: every topic of which the group has offsets, which is "
                    "the rule."},
    [EARLIEST] = {"to-earliest", 0, NULL, false, "To the beginning of each log."},
    [LATEST] = {"to-latest", 0, NULL, false, "To the end of each log."},
    [TIME] = {"to-datetime", 0, "TIME", false,
              "To before what was written at this time: 2015-02-26T21:33:20 (UTC), or milliseconds "
              "since 1970."},
    [SHIFT] = {"shift-by", 0, "N", false, "By so many messages, back with a negative N."},
    [EXECUTE] = {"execute", 0, NULL, false,
                 "With --reset-offsets: write them. Default: print what would be written."},
    [DRY_RUN] = {"dry-run", 0, NULL, false,
                 "With --reset-offsets, the rule; with --delete: say what would be deleted."},
    [FORCE] = {"force", 0, NULL, false,
               "With --reset-offsets: although members are registered. Not Kafka's."},
    [PROPERTY] = {"property", 'X', "KEY=VALUE", true,
                  "With --reset-offsets: offsets.storage and dual.commit.enabled, as the members "
                  "have them. Not Kafka's."},
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

static enum cli_exit run(const struct cli_args *args)
{
    static const struct dispatch_action actions[] = {
        {.flag = LIST, .command = &command_groups_list},
        {.flag = DESCRIBE, .command = &command_groups_describe},
        {.flag = DELETE, .command = &command_groups_delete},
        {.flag = RESET,
         .command = &command_offsets_reset,
         .own = {ALL_TOPICS, EXECUTE, DRY_RUN},
         .own_count = 3,
         .unless = "execute",
         .word = "--dry-run"},
    };
    return dispatch(args, actions, ARRAY_LEN(actions));
}

static const struct cli_pair examples[] = {
    {"kafka-consumer-groups --zookeeper zk1:2181/kafka --describe --group billing",
     "Who owns what, and how far behind."},
    {"kafka-consumer-groups --zookeeper zk1:2181/kafka --reset-offsets --group billing --topic "
     "orders --to-earliest --execute",
     "One topic again from the beginning; the group must have no members."},
};
static const struct cli_pair exits[] = {
    {"0", "done; with --describe: and every partition is owned by the member that should own it"},
    {"1", "usage, refused, or stdout could not be written"},
    {"2", "a problem was found, which stderr names; no such group; not deleted; Kafka keeps "
          "offsets"},
    {"3", "ZooKeeper or a broker could not be reached"},
    {"4", "the time was up, or not everything could be read"},
};

const struct cli_command command_kafka_groups = {
    .name = "",
    .kafka = "kafka-consumer-groups kafka.admin.ConsumerGroupCommand",
    .summary = "List, describe, delete and move groups, as Kafka's tool",
    .synopsis = "--list --zookeeper=HOST:PORT[,...][/CHROOT]\n"
                "--describe --group=GROUP --zookeeper=HOST:PORT[,...][/CHROOT]\n"
                "--delete --group=GROUP ... --zookeeper=HOST:PORT[,...][/CHROOT]\n"
                "--reset-offsets --group=GROUP --to-earliest|--to-latest|--to-datetime=TIME|"
                "--shift-by=N [--execute] --zookeeper=HOST:PORT[,...][/CHROOT]",
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
