/* What the subcommands that simulate share: options --scenario, --seed, --mode, --set. */
#ifndef STUDY_COMMAND_COMMON_H
#define STUDY_COMMAND_COMMON_H

#include "study/scenario/scenario.h"
#include "zkconsumer/cli/options.h"

#define COMMON_SCENARIO                                                                            \
    {                                                                                              \
        "scenario", 0, "FILE", false,                                                              \
            "the scenario, or the name of one that is installed, like S01"                         \
    }
#define COMMON_SEED                                                                                \
    {                                                                                              \
        "seed", 0, "N[..M]", false, "the seed, or from which to which (1)"                         \
    }
#define COMMON_MODE                                                                                \
    {                                                                                              \
        "mode", 0, "MODE", false, "the protocol: zookeeper:compat (the only one so far)"           \
    }
#define COMMON_SET                                                                                 \
    {                                                                                              \
        "set", 0, "KEY=VALUE", true,                                                               \
            "changes a line of the scenario; n and P are members, partitions"                      \
    }

struct common_options { /* indices in the command's table */
    size_t scenario, seed, mode, set;
};

/* Reads the scenario with what was set. NULL: said why on stderr. */
struct scenario *common_scenario(const struct cli_args *args, const struct common_options *o);

/* The same of a scenario that is named otherwise than by the option. */
struct scenario *common_named_scenario(const struct cli_args *args, const struct common_options *o,
                                       const char *name);

/* Seeds first .. last. False: said why. */
bool common_seeds(const struct cli_args *args, size_t option, uint64_t *first, uint64_t *last);

/* "zkstudy COMMAND --scenario=... --seed=N" with the mode and what was set, quoted for a shell.
 * Owned; NULL: out of memory. */
char *common_command(const struct cli_args *args, const struct common_options *o,
                     const char *command, uint64_t seed);

/* True if there is nothing but options. */
bool common_no_operands(const struct cli_args *args);

#endif
