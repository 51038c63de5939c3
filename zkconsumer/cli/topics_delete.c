/* zkconsumer topics delete: what Kafka 0.8.2's TopicCommand writes. */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/topic_choice.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/cluster.h"

enum { ZOOKEEPER, TOPIC, IF_EXISTS, TIMEOUT, HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER, [TOPIC] = OPTION_TOPICS, [IF_EXISTS] = OPTION_IF_EXISTS,
    [TIMEOUT] = OPTION_TIMEOUT,     [HELP] = OPTION_HELP,
};

static enum zkc_err mark(struct admin *a, const struct cli_args *args, const char *topic)
{
    bool exists;
    enum zkc_err err = admin_create(a, zk_path_delete_topic(topic), bytes_of("", 0), &exists);
    if (err)
        return err;
    report_result(args->called_as, "Topic %s is %smarked for deletion.", topic,
                  exists ? "already " : "");
    if (args->called_as && !exists)
        report_result(args->called_as, "Note: This will have no impact if delete.topic.enable is "
                                       "not set to true.");
    return ZKC_OK;
}

static enum cli_exit run_with(struct admin *a, const struct cli_args *args)
{
    struct topic_choice topics;
    enum zkc_err err = topic_choice_read(a, args, TOPIC, &topics);
    bool is_wrong = !err && topics.missing && !cli_args_has(args, IF_EXISTS);
    if (is_wrong && args->called_as)
        report_result(args->called_as, "Topic %s does not exist", cli_args_text(args, TOPIC, ""));
    else if (is_wrong)
        topic_choice_tell_missing(&topics, args, TOPIC);
    for (size_t i = 0; !err && i < topics.count; i++)
        err = mark(a, args, topics.names[i]);
    if (err)
        return admin_fail(a, err);
    if (!args->called_as && topics.count)
        report_status(
            "This has no effect where brokers have delete.topic.enable=false (the default "
            "before Kafka 1.0).");
    return is_wrong ? CLI_FAILED : CLI_DONE;
}

static enum cli_exit run(const struct cli_args *args)
{
    static const char example[] = "zkconsumer topics delete -t orders " EXAMPLE_ZOOKEEPER;
    if (!report_needs(args, TOPIC, example) || !report_needs(args, ZOOKEEPER, example) ||
        !report_takes_no_operands(args) || !topic_choice_check(args, TOPIC))
        return CLI_FAILED;
    return admin_run(args, ZOOKEEPER, TIMEOUT, run_with);
}

static const struct cli_pair examples[] = {
    {"zkconsumer topics delete -t orders " EXAMPLE_ZOOKEEPER, "Asks the controller to delete it."},
};

static const struct cli_pair exits[] = {
    {"0", "written to ZooKeeper; the controller acts on it"},
    {"1", "usage, or there is no such topic"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "ZooKeeper did not answer in time"},
};

const struct cli_command command_topics_delete = {
    .name = "topics delete",
    .summary = "Mark topics for deletion",
    .synopsis = "--topic=TOPIC ... --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description = "Writes /admin/delete_topics/TOPIC; the controller deletes the topic when its "
                   "brokers allow it (delete.topic.enable).",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
