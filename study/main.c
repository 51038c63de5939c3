/* zkstudy: its commands. */
#include "study/commands.h"
#include "zkconsumer/cli/program.h"
#include "zkconsumer/core/base/array.h"

static const struct cli_command *const commands[] = {
    &command_sim,   &command_sweep,  &command_story,  &command_shrink,
    &command_check, &command_record, &command_import, &command_ablate,
};

static const struct cli_pair exits[] = {
    {"0", "done; for checks: no MUST is violated"},
    {"1", "usage, or what was to be read cannot be"},
    {"2", "a MUST is violated"},
};

int main(int argc, char **argv)
{
    static const struct cli_program program = {
        .name = "zkstudy",
        .summary = "how groups of consumers rebalance, in traces and in simulated worlds",
        .text = "Studies how groups of consumers rebalance, in traces of real members and in "
                "simulated worlds, in which the same machines run.",
        .commands = {commands, ARRAY_LEN(commands)},
        .exits = exits,
        .exit_count = ARRAY_LEN(exits),
    };
    return program_run(&program, argc - (argc > 0), argv + (argc > 0));
}
