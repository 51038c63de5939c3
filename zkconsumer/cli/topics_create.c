/* zkconsumer topics create, add-partitions and delete: what Kafka 0.8.2's TopicCommand writes. */
#include "zkconsumer/cli/admin.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/cluster.h"
#include "zkconsumer/core/zk/log_config.h"
#include "zkconsumer/core/zk/path.h"
#include <stdlib.h>

enum { ZOOKEEPER, TOPIC, TIMEOUT, HELP, IF, PARTITIONS, REPLICATION, CONFIG, CREATE_OPTIONS };
enum { ADD_OPTIONS = REPLICATION, DELETE_OPTIONS = PARTITIONS };

#define PARTITIONS_MAX 100000
#define OPTION_IF_EXISTS                                                                           \
    {                                                                                              \
        "if-exists", 0, NULL, false, "No such topic is no error."                                  \
    }
#define OPTION_TOPIC                                                                               \
    {                                                                                              \
        "topic", 't', "TOPIC", false, "The topic's name."                                          \
    }

static const struct cli_option create_options[CREATE_OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TOPIC] = OPTION_TOPIC,
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
    [IF] = {"if-not-exists", 0, NULL, false, "A topic that is there already is no error."},
    [PARTITIONS] = {"partitions", 'p', "N", false, "How many partitions. Default: 1."},
    [REPLICATION] = {"replication-factor", 'r', "N", false,
                     "How many brokers hold each partition. Default: 1."},
    [CONFIG] =
        {"config", 0, "KEY=VALUE", true,
         "A setting of the topic, such as retention.ms=3600000; may be given several times."},
};

static const struct cli_option add_options[ADD_OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TOPIC] = OPTION_TOPIC,
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
    [IF] = OPTION_IF_EXISTS,
    [PARTITIONS] = {"partitions", 'p', "N", false,
                    "How many partitions there shall be, all together."},
};

static const struct cli_option delete_options[DELETE_OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER, [TOPIC] = OPTION_TOPIC,  [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,           [IF] = OPTION_IF_EXISTS,
};

static bool read_count(const struct cli_args *args, size_t option, int64_t max, int64_t *out)
{
    char text[256];
    if (cli_args_number(args, option, 1, max, out, text, sizeof text))
        return true;
    report_error("%s", text);
    return false;
}

/* ---- create ---- */

/* A broker that cannot read a topic's setting opens no log at its next start: what Kafka's own tool
 * refuses (LogConfig.validate) is not written. */
static bool check_setting(const struct zk_setting *setting)
{
    struct log_config unused = log_config_default();
    struct why why;
    enum zkc_err err = log_config_set(&unused, setting->key, setting->value, &why);
    if (err)
        report_error("--config: %s", why.text);
    return !err;
}

static bool append_config(const struct cli_args *args, struct buf *out)
{
    struct zk_setting settings[64];
    char *copies[64];
    size_t count = 0;
    bool ok = true;
    for (const char *text; ok && (text = cli_args_value(args, CONFIG, count));) {
        const char *equals = strchr(text, '=');
        ok = equals && equals != text && count < ARRAY_LEN(settings);
        if (!ok) {
            report_error("--config=%s: expected KEY=VALUE, %zu of them at the most", text,
                         ARRAY_LEN(settings));
            break;
        }
        copies[count] = strndup(text, (size_t)(equals - text));
        settings[count] = (struct zk_setting){copies[count], equals + 1};
        ok = copies[count] && check_setting(&settings[count]);
        count++;
    }
    if (ok)
        zk_topic_config_write(out, settings, count);
    for (size_t i = 0; i < count; i++)
        free(copies[i]);
    return ok && !out->failed;
}

/* The settings before the topic: a controller that sees the topic finds them (AdminUtils
 * .createOrUpdateTopicPartitionAssignmentPathInZK). */
static enum zkc_err write_topic(struct admin *a, const char *topic, const struct zk_topic *t,
                                struct bytes config, bool *exists)
{
    struct buf data;
    buf_init(&data, ZK_DATA_BYTES_MAX);
    zk_topic_write(&data, t->partitions, t->partition_count);
    enum zkc_err err = data.failed;
    if (err)
        why_set(&a->why, "topic %s: its description is larger than a znode takes", topic);
    if (!err)
        err = admin_write(a, zk_path_topic_config(topic), config);
    if (!err)
        err = admin_create(a, zk_path_topic(topic), buf_bytes(&data), exists);
    buf_deinit(&data);
    return err;
}

static enum cli_exit create(struct admin *a, const struct cli_args *args, int64_t partitions,
                            int64_t replication, struct bytes config)
{
    const char *topic = cli_args_text(args, TOPIC, "");
    struct zk_topic t;
    bool exists;
    enum zkc_err err = admin_read_topic(a, topic, &t, &exists);
    if (!err && !exists)
        err = admin_place(a, &t, (int32_t)partitions, (int32_t)replication);
    if (!err && !exists)
        err = write_topic(a, topic, &t, config, &exists);
    zk_topic_deinit(&t);
    if (err)
        return admin_fail(a, err);
    if (exists && cli_args_has(args, IF))
        return CLI_DONE;
    if (exists) {
        report_error("topic %s exists already", topic);
        return CLI_FAILED;
    }
    report_result(args->called_as, "Created topic \"%s\".", topic);
    return CLI_DONE;
}

static bool check_topic(const struct cli_args *args, const char *example)
{
    if (!report_needs(args, TOPIC, example) || !report_needs(args, ZOOKEEPER, example) ||
        !report_takes_no_operands(args))
        return false;
    return names_check_topic(cli_args_text(args, TOPIC, ""));
}

static enum cli_exit run_create(const struct cli_args *args)
{
    struct admin a;
    struct buf config;
    int64_t partitions = 1, replication = 1;
    buf_init(&config, ZK_DATA_BYTES_MAX);
    enum cli_exit code = CLI_FAILED;
    if (check_topic(args, "zkconsumer topics create -t orders -p 4 " EXAMPLE_ZOOKEEPER) &&
        read_count(args, PARTITIONS, PARTITIONS_MAX, &partitions) &&
        read_count(args, REPLICATION, 1000, &replication) && append_config(args, &config)) {
        code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
        if (code == CLI_DONE) {
            code = create(&a, args, partitions, replication, buf_bytes(&config));
            admin_close(&a);
        }
    }
    buf_deinit(&config);
    return code;
}

/* ---- add-partitions ---- */

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

static enum zkc_err check_total(struct admin *a, const char *topic, const struct zk_topic *t,
                                int64_t total)
{
    if (t->partition_count == 0) {
        why_set(&a->why, "there is no topic %s", topic);
        return ZKC_ERR_INVALID;
    }
    if ((size_t)total <= t->partition_count) {
        why_set(&a->why, "topic %s has %zu partitions; their number can only be increased", topic,
                t->partition_count);
        return ZKC_ERR_INVALID;
    }
    return ZKC_OK;
}

static enum cli_exit add_partitions(struct admin *a, const struct cli_args *args, int64_t total)
{
    const char *topic = cli_args_text(args, TOPIC, "");
    struct zk_topic t;
    bool found;
    enum zkc_err err = admin_read_topic(a, topic, &t, &found);
    size_t old = t.partition_count;
    if (!err && !found && cli_args_has(args, IF)) {
        zk_topic_deinit(&t);
        return CLI_DONE;
    }
    if (!err)
        err = check_total(a, topic, &t, total);
    if (!err)
        err = admin_place(a, &t, (int32_t)(total - (int64_t)old),
                          (int32_t)t.partitions[0].broker_count);
    if (!err)
        err = write_added(a, topic, &t, old);
    zk_topic_deinit(&t);
    if (err)
        return admin_fail(a, err);
    if (args->called_as) {
        report_result(args->called_as,
                      "WARNING: If partitions are increased for a topic that has a key, the "
                      "partition logic or ordering of the messages will be affected");
        report_result(args->called_as, "Adding partitions succeeded!");
        return CLI_DONE;
    }
    report_status("Adding partitions succeeded: topic \"%s\" has %lld now, had %zu.", topic,
                  (long long)total, old);
    report_status("If messages have keys, their order in partitions is affected.");
    return CLI_DONE;
}

static enum cli_exit run_add(const struct cli_args *args)
{
    static const char example[] =
        "zkconsumer topics add-partitions -t orders -p 8 " EXAMPLE_ZOOKEEPER;
    struct admin a;
    int64_t total = 0;
    if (!check_topic(args, example) || !report_needs(args, PARTITIONS, example) ||
        !read_count(args, PARTITIONS, PARTITIONS_MAX, &total))
        return CLI_FAILED;
    enum cli_exit code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
    if (code != CLI_DONE)
        return code;
    code = add_partitions(&a, args, total);
    admin_close(&a);
    return code;
}

/* ---- delete ---- */

static enum cli_exit mark_deleted(struct admin *a, const struct cli_args *args)
{
    const char *topic = cli_args_text(args, TOPIC, "");
    struct zk_topic t;
    bool found, exists = false;
    enum zkc_err err = admin_read_topic(a, topic, &t, &found);
    zk_topic_deinit(&t);
    if (!err && !found && cli_args_has(args, IF))
        return CLI_DONE;
    if (!err && !found) {
        report_error("there is no topic %s", topic);
        return CLI_FAILED;
    }
    if (!err)
        err = admin_create(a, zk_path_delete_topic(topic), bytes_of("", 0), &exists);
    if (err)
        return admin_fail(a, err);
    report_result(args->called_as, "Topic %s is %smarked for deletion.", topic,
                  exists ? "already " : "");
    if (args->called_as && !exists)
        report_result(args->called_as, "Note: This will have no impact if delete.topic.enable is "
                                       "not set to true.");
    else if (!args->called_as)
        report_status(
            "This has no effect where brokers have delete.topic.enable=false (the default "
            "before Kafka 1.0).");
    return CLI_DONE;
}

static enum cli_exit run_delete(const struct cli_args *args)
{
    struct admin a;
    if (!check_topic(args, "zkconsumer topics delete -t orders " EXAMPLE_ZOOKEEPER))
        return CLI_FAILED;
    enum cli_exit code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
    if (code != CLI_DONE)
        return code;
    code = mark_deleted(&a, args);
    admin_close(&a);
    return code;
}

/* ---- help ---- */

static const struct cli_pair create_examples[] = {
    {"zkconsumer topics create -t orders -p 8 -r 2 " EXAMPLE_ZOOKEEPER,
     "Eight partitions, each on two brokers."},
};
static const struct cli_pair add_examples[] = {
    {"zkconsumer topics add-partitions -t orders -p 16 " EXAMPLE_ZOOKEEPER,
     "From now on sixteen; groups that read it rebalance."},
};
static const struct cli_pair delete_examples[] = {
    {"zkconsumer topics delete -t orders " EXAMPLE_ZOOKEEPER, "Asks the controller to delete it."},
};

static const struct cli_pair exits[] = {
    {"0", "written to ZooKeeper; the controller acts on it"},
    {"1", "usage, or refused: the topic exists (or does not), too few brokers, fewer partitions"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "ZooKeeper did not answer in time"},
};

const struct cli_command command_topics_create = {
    .name = "topics create",
    .summary = "Create a topic",
    .synopsis = "--topic=TOPIC [--partitions=N] [--replication-factor=N] "
                "--zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description = "Places the partitions on the brokers that are registered now, as Kafka's tools "
                   "do, and writes the topic to ZooKeeper; the cluster's controller does the rest. "
                   "Works on zkbroker and on Kafka 0.8 to 3.9.",
    .options = create_options,
    .option_count = CREATE_OPTIONS,
    .examples = create_examples,
    .example_count = ARRAY_LEN(create_examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run_create,
};

const struct cli_command command_topics_add_partitions = {
    .name = "topics add-partitions",
    .summary = "Give a topic more partitions",
    .synopsis =
        "--topic=TOPIC --partitions=TOTAL --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description = "The new partitions get as many replicas as the first one has. Messages stay "
                   "where they are, so keys may go to other partitions than before.",
    .options = add_options,
    .option_count = ADD_OPTIONS,
    .examples = add_examples,
    .example_count = ARRAY_LEN(add_examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run_add,
};

const struct cli_command command_topics_delete = {
    .name = "topics delete",
    .summary = "Mark a topic for deletion",
    .synopsis = "--topic=TOPIC --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description = "Writes /admin/delete_topics/TOPIC; the controller deletes the topic when its "
                   "brokers allow it (delete.topic.enable).",
    .options = delete_options,
    .option_count = DELETE_OPTIONS,
    .examples = delete_examples,
    .example_count = ARRAY_LEN(delete_examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run_delete,
};
