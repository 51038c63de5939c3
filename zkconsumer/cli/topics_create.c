/* zkconsumer topics create: what Kafka 0.8.2's TopicCommand writes. */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/replica_list.h"
#include "zkconsumer/cli/topic_settings.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>

enum {
    ZOOKEEPER,
    TOPIC,
    PARTITIONS,
    REPLICATION,
    ASSIGNMENT,
    CONFIG,
    IF_NOT_EXISTS,
    TIMEOUT,
    HELP,
    OPTIONS
};

static const struct cli_option options[OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TOPIC] = {"topic", 't', "TOPIC", false, "The topic's name."},
    [PARTITIONS] = {"partitions", 'p', "N", false, "How many partitions. Default: 1."},
    [REPLICATION] = {"replication-factor", 'r', "N", false,
                     "How many brokers hold each partition. Default: 1."},
    [ASSIGNMENT] =
        {"replica-assignment", 0, "ID[:ID...][,...]", false,
         "Instead of these two: the brokers of partition 0, those of partition 1, and so "
         "on; the first of each is the preferred leader. 1:2,2:3 is two partitions on "
         "two brokers each."},
    [CONFIG] =
        {"config", 0, "KEY=VALUE", true,
         "A setting of the topic, such as retention.ms=3600000; may be given several times."},
    [IF_NOT_EXISTS] = {"if-not-exists", 0, NULL, false,
                       "A topic that is there already is no error."},
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

struct plan {
    const char *topic;
    int64_t partitions, replication;
    struct zk_topic assignment; /* owned; no partitions: they are placed */
    struct topic_settings settings;
};

/* ---- what is wanted ---- */

static bool read_counts(struct plan *plan, const struct cli_args *args)
{
    char text[256];
    plan->partitions = plan->replication = 1;
    if (cli_args_number(args, PARTITIONS, 1, REPLICA_LIST_PARTITIONS_MAX, &plan->partitions, text,
                        sizeof text) &&
        cli_args_number(args, REPLICATION, 1, REPLICA_LIST_REPLICAS_MAX, &plan->replication, text,
                        sizeof text))
        return true;
    report_error("%s", text);
    return false;
}

static bool read_assignment(struct plan *plan, const struct cli_args *args)
{
    struct why why;
    if (!cli_args_has(args, ASSIGNMENT))
        return true;
    if (cli_args_has(args, PARTITIONS) || cli_args_has(args, REPLICATION)) {
        report_error("--replica-assignment says how many partitions and replicas there are: "
                     "neither --partitions nor --replication-factor beside it");
        return false;
    }
    if (replica_list_parse(cli_args_text(args, ASSIGNMENT, ""), &plan->assignment, &why) == ZKC_OK)
        return true;
    report_error("--replica-assignment: %s", why.text);
    return false;
}

/* True: the caller ends *plan with plan_deinit(). */
static bool plan_init(struct plan *plan, const struct cli_args *args)
{
    static const char example[] = "zkconsumer topics create -t orders -p 4 " EXAMPLE_ZOOKEEPER;
    *plan = (struct plan){.topic = cli_args_text(args, TOPIC, "")};
    if (!report_needs(args, TOPIC, example) || !report_needs(args, ZOOKEEPER, example) ||
        !report_takes_no_operands(args) || !names_check_topic(plan->topic) ||
        !read_counts(plan, args) ||
        !topic_settings_init(&plan->settings, args, CONFIG, TOPIC_SETTINGS_NONE))
        return false;
    if (read_assignment(plan, args))
        return true;
    topic_settings_deinit(&plan->settings);
    return false;
}

static void plan_deinit(struct plan *plan)
{
    zk_topic_deinit(&plan->assignment);
    topic_settings_deinit(&plan->settings);
}

/* ---- writing ---- */

/* The settings before the topic: a controller that sees the topic finds them (AdminUtils
 * .createOrUpdateTopicPartitionAssignmentPathInZK). */
static enum zkc_err write_topic(struct admin *a, const struct plan *plan, const struct zk_topic *t,
                                bool *exists)
{
    struct buf data, config;
    buf_init(&data, ZK_DATA_BYTES_MAX);
    buf_init(&config, ZK_DATA_BYTES_MAX);
    zk_topic_write(&data, t->partitions, t->partition_count);
    zk_topic_config_write(&config, plan->settings.set, plan->settings.set_count);
    enum zkc_err err = data.failed ? data.failed : config.failed;
    if (err)
        why_set(&a->why, "topic %s: its description is larger than a znode takes", plan->topic);
    if (!err)
        err = admin_write(a, zk_path_topic_config(plan->topic), buf_bytes(&config));
    if (!err)
        err = admin_create(a, zk_path_topic(plan->topic), buf_bytes(&data), exists);
    buf_deinit(&data);
    buf_deinit(&config);
    return err;
}

/* Kafka 0.8.2 takes brokers that are not there, too: they may come. */
static enum zkc_err tell_absent(struct admin *a, const struct zk_topic *t)
{
    struct brokers brokers;
    enum zkc_err err = brokers_read(a->zk, &a->arena, &brokers, &a->why);
    for (size_t i = 0; !err && i < t->partition_count; i++)
        for (size_t k = 0; k < t->partitions[i].broker_count; k++)
            if (!brokers_find(&brokers, t->partitions[i].broker_ids[k])) {
                report_warning("broker %" PRId32 ", of partition %" PRId32
                               ", is not registered now",
                               t->partitions[i].broker_ids[k], t->partitions[i].partition);
                return ZKC_OK;
            }
    return err;
}

static enum zkc_err create(struct admin *a, const struct plan *plan, bool *exists)
{
    struct zk_topic t;
    enum zkc_err err = admin_read_topic(a, plan->topic, &t, exists);
    bool is_given = plan->assignment.partition_count > 0;
    if (!err && !*exists)
        err = is_given ? tell_absent(a, &plan->assignment)
                       : admin_place(a, &t, (int32_t)plan->partitions, (int32_t)plan->replication);
    if (!err && !*exists)
        err = write_topic(a, plan, is_given ? &plan->assignment : &t, exists);
    zk_topic_deinit(&t);
    return err;
}

static enum cli_exit create_and_tell(struct admin *a, const struct plan *plan,
                                     const struct cli_args *args)
{
    bool exists;
    enum zkc_err err = create(a, plan, &exists);
    if (err)
        return admin_fail(a, err);
    if (exists && cli_args_has(args, IF_NOT_EXISTS))
        return CLI_DONE;
    if (exists) {
        report_error("topic %s exists already", plan->topic);
        return CLI_FAILED;
    }
    report_result(args->called_as, "Created topic \"%s\".", plan->topic);
    return CLI_DONE;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct admin a;
    struct plan plan;
    if (!plan_init(&plan, args))
        return CLI_FAILED;
    enum cli_exit code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
    if (code == CLI_DONE) {
        code = create_and_tell(&a, &plan, args);
        admin_close(&a);
    }
    plan_deinit(&plan);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer topics create -t orders -p 8 -r 2 " EXAMPLE_ZOOKEEPER,
     "Eight partitions, each on two brokers."},
    {"zkconsumer topics create -t orders --replica-assignment=1:2,2:1 " EXAMPLE_ZOOKEEPER,
     "Two partitions on brokers 1 and 2, each led by another."},
};

static const struct cli_pair exits[] = {
    {"0", "written to ZooKeeper; the controller acts on it"},
    {"1", "usage, or refused: the topic exists, or there are too few brokers"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "ZooKeeper did not answer in time"},
};

const struct cli_command command_topics_create = {
    .name = "topics create",
    .summary = "Create a topic",
    .synopsis = "--topic=TOPIC [--partitions=N] [--replication-factor=N] "
                "--zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]\n"
                "--topic=TOPIC --replica-assignment=ID[:ID...][,...] "
                "--zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description = "Places the partitions on the brokers that are registered now, as Kafka's tools "
                   "do, or where --replica-assignment says, and writes the topic to ZooKeeper; the "
                   "cluster's controller does the rest. Works on zkbroker and on Kafka 0.8 to 3.9.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
