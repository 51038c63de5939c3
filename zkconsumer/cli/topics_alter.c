/* zkconsumer topics alter: settings and partitions, as Kafka 0.8.2's TopicCommand changes them. */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/replica_list.h"
#include "zkconsumer/cli/topic_choice.h"
#include "zkconsumer/cli/topic_settings.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/filter.h"
#include "zkconsumer/core/zk/path.h"

enum { ZOOKEEPER, TOPIC, PARTITIONS, CONFIG, DELETE_CONFIG, IF_EXISTS, TIMEOUT, HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TOPIC] = OPTION_TOPICS,
    [PARTITIONS] = {"partitions", 'p', "N", false,
                    "How many partitions there shall be, all together."},
    [CONFIG] = {"config", 0, "KEY=VALUE", true,
                "Set this of the topic, such as retention.ms=3600000; may be given several times."},
    [DELETE_CONFIG] = {"delete-config deleteConfig", 0, "KEY", true,
                       "Take this setting away, so that the brokers' own holds; may be given "
                       "several times."},
    [IF_EXISTS] = OPTION_IF_EXISTS,
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

/* ---- partitions ---- */

static enum zkc_err check_total(struct admin *a, const char *topic, const struct zk_topic *t,
                                int64_t total)
{
    if (strcmp(topic, ZK_INTERNAL_TOPIC) == 0) {
        why_set(&a->why,
                "the number of partitions of %s cannot be changed: a group's offsets are "
                "found by it",
                topic);
        return ZKC_ERR_INVALID;
    }
    if (t->partition_count == 0) {
        why_set(&a->why, "topic %s has no partitions", topic);
        return ZKC_ERR_INVALID;
    }
    if ((size_t)total <= t->partition_count) {
        why_set(&a->why, "topic %s has %zu partitions; their number can only be increased", topic,
                t->partition_count);
        return ZKC_ERR_INVALID;
    }
    return ZKC_OK;
}

static enum zkc_err check_topics(struct admin *a, const struct topic_choice *topics, int64_t total)
{
    enum zkc_err err = ZKC_OK;
    for (size_t i = 0; !err && i < topics->count; i++) {
        struct zk_topic t;
        bool found;
        err = admin_read_topic(a, topics->names[i], &t, &found);
        if (!err)
            err = check_total(a, topics->names[i], &t, total);
        zk_topic_deinit(&t);
    }
    return err;
}

/* Writes the topic with the partitions from `old` on added. */
static enum zkc_err write_added(struct admin *a, const char *topic, const struct zk_topic *t,
                                size_t old)
{
    struct zk_result result;
    struct buf data;
    enum zkc_err err = admin_do(a, ZK_OP_GET, zk_path_topic(topic), BYTES_NULL, &result);
    if (err)
        return err;
    buf_init(&data, ZK_DATA_BYTES_MAX);
    err = zk_topic_write_added(&data, result.data, t->partitions + old, t->partition_count - old,
                               &a->why);
    if (!err)
        err = admin_write(a, zk_path_topic(topic), buf_bytes(&data));
    buf_deinit(&data);
    return err;
}

static enum zkc_err add_partitions(struct admin *a, const struct cli_args *args, const char *topic,
                                   int64_t total)
{
    struct zk_topic t;
    bool found;
    enum zkc_err err = admin_read_topic(a, topic, &t, &found);
    size_t old = t.partition_count;
    if (!err)
        err = check_total(a, topic, &t, total);
    if (!err)
        err = admin_place(a, &t, (int32_t)(total - (int64_t)old),
                          (int32_t)t.partitions[0].broker_count);
    if (!err)
        err = write_added(a, topic, &t, old);
    zk_topic_deinit(&t);
    if (err)
        return err;
    if (args->called_as) {
        report_result(args->called_as,
                      "WARNING: If partitions are increased for a topic that has a key, the "
                      "partition logic or ordering of the messages will be affected");
        report_result(args->called_as, "Adding partitions succeeded!");
        return ZKC_OK;
    }
    report_status("Adding partitions succeeded: topic \"%s\" has %lld now, had %zu.", topic,
                  (long long)total, old);
    report_status("If messages have keys, their order in partitions is affected.");
    return ZKC_OK;
}

/* ---- all of it ---- */

static enum zkc_err alter(struct admin *a, const struct cli_args *args,
                          const struct topic_settings *settings, const struct topic_choice *topics,
                          int64_t total)
{
    enum zkc_err err = total ? check_topics(a, topics, total) : ZKC_OK;
    for (size_t i = 0; !err && i < topics->count; i++) {
        const char *topic = topics->names[i];
        if (settings->set_count + settings->removed_count) {
            err = topic_settings_change(settings, a, topic);
            if (!err)
                report_result(args->called_as, "Updated config for topic \"%s\".", topic);
        }
        if (!err && total)
            err = add_partitions(a, args, topic, total);
    }
    return err;
}

static enum cli_exit run_with(struct admin *a, const struct cli_args *args,
                              const struct topic_settings *settings, int64_t total)
{
    struct topic_choice topics;
    enum zkc_err err = topic_choice_read(a, args, TOPIC, &topics);
    if (err)
        return admin_fail(a, err);
    bool is_wrong = topics.missing && !cli_args_has(args, IF_EXISTS);
    if (is_wrong)
        topic_choice_tell_missing(&topics, args, TOPIC);
    err = alter(a, args, settings, &topics, total);
    return err ? admin_fail(a, err) : is_wrong ? CLI_FAILED : CLI_DONE;
}

static bool read_total(const struct cli_args *args, int64_t *total)
{
    char text[256];
    if (!cli_args_number(args, PARTITIONS, 1, REPLICA_LIST_PARTITIONS_MAX, total, text,
                         sizeof text)) {
        report_error("%s", text);
        return false;
    }
    if (*total || cli_args_has(args, CONFIG) || cli_args_has(args, DELETE_CONFIG))
        return true;
    report_error("what shall be altered? --config, --delete-config or --partitions");
    return false;
}

static enum cli_exit run(const struct cli_args *args)
{
    static const char example[] =
        "zkconsumer topics alter -t orders --config=retention.ms=3600000 " EXAMPLE_ZOOKEEPER;
    struct admin a;
    struct topic_settings settings;
    int64_t total = 0;
    if (!report_needs(args, TOPIC, example) || !report_needs(args, ZOOKEEPER, example) ||
        !report_takes_no_operands(args) || !topic_choice_check(args, TOPIC) ||
        !read_total(args, &total) || !topic_settings_init(&settings, args, CONFIG, DELETE_CONFIG))
        return CLI_FAILED;
    enum cli_exit code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
    if (code == CLI_DONE) {
        code = run_with(&a, args, &settings, total);
        admin_close(&a);
    }
    topic_settings_deinit(&settings);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer topics alter -t orders --config=retention.ms=3600000 " EXAMPLE_ZOOKEEPER,
     "Keep its messages for an hour; the brokers are told."},
    {"zkconsumer topics alter -t orders --delete-config=retention.ms " EXAMPLE_ZOOKEEPER,
     "As long as the brokers keep all others again."},
    {"zkconsumer topics alter -t orders -p 16 " EXAMPLE_ZOOKEEPER,
     "From now on sixteen partitions; groups that read it rebalance."},
};

static const struct cli_pair exits[] = {
    {"0", "written to ZooKeeper; the brokers act on it"},
    {"1", "usage, or refused: no such topic, no such setting, too few brokers, fewer partitions"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "ZooKeeper did not answer in time"},
};

const struct cli_command command_topics_alter = {
    .name = "topics alter",
    .summary = "Change settings of topics, or give them more partitions",
    .synopsis = "--topic=TOPIC ... [--config=KEY=VALUE ...] [--delete-config=KEY ...] "
                "[--partitions=TOTAL] --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description =
        "Settings are written to /config/topics/TOPIC, where what the topic has besides stays, and "
        "the brokers are told by a node under /config/changes. New partitions get as many replicas "
        "as the first one has; messages stay where they are, so keys may go to other partitions "
        "than before.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
