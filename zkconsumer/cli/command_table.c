#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/core/base/array.h"

static const struct cli_command *const commands[] = {
    &command_consume,
    &command_produce,
    &command_mirror,
    &command_shell,
    &command_groups_list,
    &command_groups_describe,
    &command_groups_verify,
    &command_groups_watch,
    &command_groups_delete,
    &command_offsets_get,
    &command_offsets_set,
    &command_offsets_reset,
    &command_offsets_check,
    &command_offsets_export,
    &command_offsets_import,
    &command_topics_list,
    &command_topics_describe,
    &command_topics_create,
    &command_topics_alter,
    &command_topics_delete,
    &command_topics_offsets,
    &command_perf_consume,
    &command_perf_produce,
    &command_completion,
    &command_kafka_groups,
    &command_kafka_topics,
    &command_run_class,
};

struct cli_commands commands_all(void)
{
    return (struct cli_commands){commands, ARRAY_LEN(commands)};
}
