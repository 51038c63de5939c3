/* kafka-topics: Kafka's tool for topics. */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/dispatch.h"
#include "zkconsumer/core/base/array.h"

enum {
    LIST,
    DESCRIBE,
    CREATE,
    ALTER,
    DELETE,
    ZOOKEEPER,
    TOPIC,
    PARTITIONS,
    REPLICATION,
    ASSIGNMENT,
    CONFIG,
    DELETE_CONFIG,
    UNDER_REPLICATED,
    UNAVAILABLE,
    OVERRIDES,
    IF_EXISTS,
    IF_NOT_EXISTS,
    TIMEOUT,
    HELP,
    OPTIONS
};

static const struct cli_option options[OPTIONS] = {
    [LIST] = {"list", 0, NULL, false, "The names of all topics: zkconsumer topics list."},
    [DESCRIBE] = {"describe", 0, NULL, false,
                  "Partitions, leaders, replicas and ISR: zkconsumer topics describe."},
    [CREATE] = {"create", 0, NULL, false, "Create a topic: zkconsumer topics create."},
    [ALTER] = {"alter", 0, NULL, false,
               "Change topics' settings, or give them more partitions: zkconsumer topics alter."},
    [DELETE] = {"delete", 0, NULL, false, "Mark topics for deletion: zkconsumer topics delete."},
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TOPIC] = {"topic", 0, "TOPIC", false,
               "With --create: the topic's name. Else all topics that match this regular "
               "expression, as Java has them, from beginning to end; ',' is '|', so that a,b is "
               "two topics, and '.' is any character. Default of --list and --describe: all."},
    [PARTITIONS] = {"partitions", 0, "N", false,
                    "How many partitions there shall be, all together. Default of --create: 1."},
    [REPLICATION] = {"replication-factor", 0, "N", false,
                     "With --create: how many brokers hold each partition. Default: 1."},
    [ASSIGNMENT] = {"replica-assignment", 0, "ID[:ID...][,...]", false,
                    "With --create, instead of these two: the brokers of partition 0, those of "
                    "partition 1, and so on."},
    [CONFIG] = {"config", 0, "KEY=VALUE", true,
                "With --create and --alter: a setting of the topic; may be given several times."},
    [DELETE_CONFIG] = {"delete-config deleteConfig", 0, "KEY", true,
                       "With --alter: a setting that the topic shall not have any more; may be "
                       "given several times."},
    [UNDER_REPLICATED] = {"under-replicated-partitions", 0, NULL, false,
                          "With --describe: only partitions with fewer in the ISR than replicas."},
    [UNAVAILABLE] = {"unavailable-partitions", 0, NULL, false,
                     "With --describe: only partitions without a leader that is there."},
    [OVERRIDES] = {"topics-with-overrides", 0, NULL, false,
                   "With --describe: only topics that have settings, without their partitions."},
    [IF_EXISTS] = {"if-exists", 0, NULL, false, "With --alter and --delete: no topic is no error."},
    [IF_NOT_EXISTS] = {"if-not-exists", 0, NULL, false,
                       "With --create: one that is there already is no error."},
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

static enum cli_exit run(const struct cli_args *args)
{
    static const struct dispatch_action actions[] = {
        {.flag = LIST, .command = &command_topics_list},
        {.flag = DESCRIBE, .command = &command_topics_describe},
        {.flag = CREATE, .command = &command_topics_create},
        {.flag = ALTER, .command = &command_topics_alter},
        {.flag = DELETE, .command = &command_topics_delete},
    };
    return dispatch(args, actions, ARRAY_LEN(actions));
}

static const struct cli_pair examples[] = {
    {"kafka-topics --zookeeper zk1:2181/kafka --create --topic orders --partitions 8 "
     "--replication-factor 2",
     "Eight partitions, each on two brokers."},
    {"kafka-topics --zookeeper zk1:2181/kafka --describe --under-replicated-partitions",
     "Partitions with replicas that are behind."},
    {"kafka-topics --zookeeper zk1:2181/kafka --alter --topic 'log-.*' --config "
     "retention.ms=3600000",
     "An hour, for all topics whose names begin so."},
};
static const struct cli_pair exits[] = {
    {"0", "done"},
    {"1", "usage, refused, no such topic, or stdout could not be written"},
    {"2", "with --describe: a partition has no leader"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "ZooKeeper did not answer in time"},
};

const struct cli_command command_kafka_topics = {
    .name = "",
    .kafka = "kafka-topics kafka.admin.TopicCommand",
    .summary = "List, describe, create, alter and delete topics, as Kafka's tool",
    .synopsis = "--list [--topic=TOPIC] --zookeeper=HOST:PORT[,...][/CHROOT]\n"
                "--describe [--topic=TOPIC] --zookeeper=HOST:PORT[,...][/CHROOT]\n"
                "--create --topic=TOPIC --partitions=N --replication-factor=N "
                "--zookeeper=HOST:PORT[,...][/CHROOT]\n"
                "--create --topic=TOPIC --replica-assignment=ID[:ID...][,...] "
                "--zookeeper=HOST:PORT[,...][/CHROOT]\n"
                "--alter --topic=TOPIC [--config=KEY=VALUE ...] [--delete-config=KEY ...] "
                "[--partitions=N] --zookeeper=HOST:PORT[,...][/CHROOT]\n"
                "--delete --topic=TOPIC --zookeeper=HOST:PORT[,...][/CHROOT]",
    .description =
        "Kafka's tool, with its output. What cannot be done is told on stderr and by the exit "
        "status, which Kafka's tool does not do.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
