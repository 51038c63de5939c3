/* The subcommands of zkstudy. */
#ifndef STUDY_COMMANDS_H
#define STUDY_COMMANDS_H

#include "zkconsumer/cli/command.h"

extern const struct cli_command command_sim;
extern const struct cli_command command_sweep;
extern const struct cli_command command_story;
extern const struct cli_command command_shrink;
extern const struct cli_command command_check;
extern const struct cli_command command_record;
extern const struct cli_command command_import;
extern const struct cli_command command_ablate;

#endif
