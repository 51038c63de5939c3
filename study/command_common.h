/* What the subcommands that simulate share: options --scenario, --repro, --seed, --mode, --set. */
#ifndef STUDY_COMMAND_COMMON_H
#define STUDY_COMMAND_COMMON_H

#include "study/run/repro.h"
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
        "mode", 0, "MODE", false,                                                                  \
            "the protocol: zookeeper:compat (the scenario's, as a rule) or zookeeper:safe"         \
    }
#define COMMON_SET                                                                                 \
    {                                                                                              \
        "set", 0, "KEY=VALUE", true,                                                               \
            "changes a line of the scenario; n and P are members, partitions"                      \
    }

#define COMMON_REPRO                                                                               \
    {                                                                                              \
        "repro", 0, "FILE", false,                                                                 \
            "scenario and seed of a run that failed, as zkstudy shrink writes it"                  \
    }

#define COMMON_NONE SIZE_MAX

struct common_options { /* indices in the command's table */
    size_t scenario, seed, mode, set;
    size_t repro; /* COMMON_NONE: the command does not have it */
};

/* What is to be run. */
struct common_run {
    struct scenario *scenario; /* owned, with what was set */
    uint64_t first, last;      /* seeds */
    bool is_repro;
    struct repro repro; /* of which the scenario was taken; else empty */
};

/* Reads the command line, which has nothing but options, and the scenario. False: said why. On
 * success the caller ends *out with common_run_deinit(). */
bool common_run(const struct cli_args *args, const struct common_options *o,
                struct common_run *out);
void common_run_deinit(struct common_run *r);

/* The pieces of it, for a command with several scenarios. */

/* Reads the scenario of this name, with what was set. NULL: said why. */
struct scenario *common_named_scenario(const struct cli_args *args, const struct common_options *o,
                                       const char *name);

/* Seeds first .. last. False: said why. */
bool common_seeds(const struct cli_args *args, size_t option, uint64_t *first, uint64_t *last);

/* True if there is nothing but options. */
bool common_no_operands(const struct cli_args *args);

/* "zkstudy COMMAND --scenario=... --seed=N" with the mode and what was set, quoted for a shell.
 * Owned; NULL: out of memory. */
char *common_command(const struct cli_args *args, const struct common_options *o,
                     const char *command, uint64_t seed);

#endif
