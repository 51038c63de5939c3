/* The commands, each defined in the file of its name. */
#ifndef ZKC_CLI_COMMAND_TABLE_H
#define ZKC_CLI_COMMAND_TABLE_H

#include "zkconsumer/cli/commands.h"

extern const struct cli_command command_completion;
extern const struct cli_command command_consume;
extern const struct cli_command command_groups_delete;
extern const struct cli_command command_groups_describe;
extern const struct cli_command command_groups_list;
extern const struct cli_command command_groups_verify;
extern const struct cli_command command_groups_watch;
extern const struct cli_command command_kafka_groups;
extern const struct cli_command command_kafka_topics;
extern const struct cli_command command_mirror;
extern const struct cli_command command_offsets_check;
extern const struct cli_command command_offsets_export;
extern const struct cli_command command_offsets_get;
extern const struct cli_command command_offsets_import;
extern const struct cli_command command_offsets_reset;
extern const struct cli_command command_offsets_set;
extern const struct cli_command command_perf_consume;
extern const struct cli_command command_perf_produce;
extern const struct cli_command command_produce;
extern const struct cli_command command_run_class;
extern const struct cli_command command_shell;
extern const struct cli_command command_topics_alter;
extern const struct cli_command command_topics_create;
extern const struct cli_command command_topics_delete;
extern const struct cli_command command_topics_describe;
extern const struct cli_command command_topics_list;
extern const struct cli_command command_topics_offsets;

#endif
