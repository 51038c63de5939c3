/* zkconsumer topics list */
#include "zkconsumer/cli/admin.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/cluster.h"
#include <unistd.h>

enum { ZOOKEEPER, TIMEOUT, HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

/* A topic that waits for its deletion is marked, as Kafka's tool does. */
static enum cli_exit list(struct admin *a)
{
    const char *const *names;
    size_t count;
    struct output out;
    enum zkc_err err = admin_topics(a, &names, &count);
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    for (size_t i = 0; !err && i < count; i++) {
        struct zk_result result;
        err = admin_do(a, ZK_OP_EXISTS, zk_path_delete_topic(names[i]), BYTES_NULL, &result);
        buf_appendf(&out.buf, "%s%s\n", names[i],
                    !err && result.zk_rc == ZK_OK ? " - marked for deletion" : "");
        if (!output_added(&out))
            break;
    }
    enum cli_exit code = err ? admin_fail(a, err) : output_finish(&out);
    output_deinit(&out);
    return code;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct admin a;
    if (!report_needs(args, ZOOKEEPER, "zkconsumer topics list " EXAMPLE_ZOOKEEPER) ||
        !report_takes_no_operands(args))
        return CLI_FAILED;
    enum cli_exit code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
    if (code != CLI_DONE)
        return code;
    code = list(&a);
    admin_close(&a);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer topics list " EXAMPLE_ZOOKEEPER, "The names of all topics."},
};

static const struct cli_pair exits[] = {
    {"0", "listed; no topic at all is no error"},
    {"1", "usage, or stdout could not be written"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "ZooKeeper did not answer in time"},
};

const struct cli_command command_topics_list = {
    .name = "topics list",
    .summary = "List the topics of a cluster",
    .synopsis = "--zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
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
