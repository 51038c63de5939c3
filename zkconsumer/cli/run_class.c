#include "zkconsumer/cli/run_class.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/program.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include <stdio.h>

/* What is no class, or none of ours. */
static enum cli_exit refuse(const struct cli_args *args)
{
    struct cli_commands all = commands_all();
    size_t len;
    if (args->operand_count)
        report_error("there is no class %s here; there are:", args->operands[0]);
    else
        report_error("which class? There are:");
    for (size_t i = 0; i < all.count; i++) {
        const char *class = commands_class(all.list[i], &len);
        if (class)
            fprintf(stderr, "  %.*s\n      %s\n", (int)len, class, all.list[i]->summary);
    }
    return CLI_FAILED;
}

enum cli_exit run_class(const struct cli_program *p, int argc, char *const *argv)
{
    char words[256];
    const struct cli_command *command = argc ? commands_find_kafka(p->commands, argv[0]) : NULL;
    if (!command || command == &command_run_class)
        return program_run_command(p, KAFKA_RUN_CLASS, &command_run_class, NULL, argc, argv);
    snprintf(words, sizeof words, KAFKA_RUN_CLASS " %s", argv[0]);
    return program_run_command(p, words, command, argv[0], argc - 1, argv + 1);
}

static const struct cli_option options[] = {OPTION_HELP};
static const struct cli_pair examples[] = {
    {"kafka-run-class kafka.tools.GetOffsetShell --broker-list kafka1:9092 --topic orders --time "
     "-1",
     "Where the logs end."},
    {"kafka-run-class kafka.tools.ExportZkOffsets --help", "The options of a class."},
};
static const struct cli_pair exits[] = {
    {"1", "no class, or none of these; else what the tool ends with"},
};

const struct cli_command command_run_class = {
    .name = "",
    .kafka = KAFKA_RUN_CLASS,
    .summary = "Kafka's tools by the names of their classes",
    .synopsis = "CLASS [OPTION ...]",
    .description = "Starts a tool of Kafka's by the name of its class, with Kafka's options and "
                   "output. Each is a command of zkconsumer, or a link:\n"
                   "kafka.admin.ConsumerGroupCommand: kafka-consumer-groups\n"
                   "kafka.admin.TopicCommand: kafka-topics\n"
                   "kafka.tools.ConsoleConsumer: zkconsumer consume\n"
                   "kafka.tools.ConsumerOffsetChecker: zkconsumer offsets check\n"
                   "kafka.tools.ConsumerPerformance: zkconsumer perf consume\n"
                   "kafka.tools.ExportZkOffsets: zkconsumer offsets export\n"
                   "kafka.tools.GetOffsetShell: zkconsumer topics offsets\n"
                   "kafka.tools.ImportZkOffsets: zkconsumer offsets import\n"
                   "kafka.tools.MirrorMaker: zkconsumer mirror\n"
                   "kafka.tools.ProducerPerformance: zkconsumer perf produce\n"
                   "kafka.tools.SimpleConsumerShell: zkconsumer shell\n"
                   "kafka.tools.UpdateOffsetsInZK: zkconsumer offsets reset\n"
                   "kafka.tools.VerifyConsumerRebalance: zkconsumer groups verify",
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = refuse,
};
