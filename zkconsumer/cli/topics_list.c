/* zkconsumer topics list */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/topic_choice.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/cluster.h"
#include <unistd.h>

enum { ZOOKEEPER, TOPIC, TIMEOUT, HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TOPIC] = {"topic", 't', "TOPIC", true, "Only this topic; may be given several times."},
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

/* A topic that waits for its deletion is marked, as Kafka's tool does. */
static enum cli_exit list(struct admin *a, const struct cli_args *args)
{
    struct topic_choice topics;
    struct output out;
    enum zkc_err err = topic_choice_read(a, args, TOPIC, &topics);
    bool is_wrong = !err && topics.missing && !args->called_as; /* an expression's list is empty */
    if (is_wrong)
        topic_choice_tell_missing(&topics, args, TOPIC);
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    for (size_t i = 0; !err && i < topics.count; i++) {
        struct zk_result result;
        err = admin_do(a, ZK_OP_EXISTS, zk_path_delete_topic(topics.names[i]), BYTES_NULL, &result);
        buf_appendf(&out.buf, "%s%s\n", topics.names[i],
                    !err && result.zk_rc == ZK_OK ? " - marked for deletion" : "");
        if (!output_added(&out))
            break;
    }
    enum cli_exit code = err ? admin_fail(a, err) : output_finish(&out);
    output_deinit(&out);
    return code == CLI_DONE && is_wrong ? CLI_FAILED : code;
}

static enum cli_exit run(const struct cli_args *args)
{
    if (!report_needs(args, ZOOKEEPER, "zkconsumer topics list " EXAMPLE_ZOOKEEPER) ||
        !report_takes_no_operands(args) || !topic_choice_check(args, TOPIC))
        return CLI_FAILED;
    return admin_run(args, ZOOKEEPER, TIMEOUT, list);
}

static const struct cli_pair examples[] = {
    {"zkconsumer topics list " EXAMPLE_ZOOKEEPER, "The names of all topics."},
};

static const struct cli_pair exits[] = {
    {"0", "listed; no topic at all is no error"},
    {"1", "usage, a topic that was named is not there, or stdout could not be written"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "ZooKeeper did not answer in time"},
};

const struct cli_command command_topics_list = {
    .name = "topics list",
    .summary = "List the topics of a cluster",
    .synopsis = "[--topic=TOPIC ...] --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description =
        "Prints the topics under /brokers/topics, one a line, sorted. One that waits for "
        "its deletion is marked. Works on zkbroker and on Kafka 0.8 to 3.9.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
