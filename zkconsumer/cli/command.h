/* What a subcommand is: its table of options, its help, and what runs. */
#ifndef ZKC_CLI_COMMAND_H
#define ZKC_CLI_COMMAND_H

#include "zkconsumer/cli/options.h"

/* Exit codes. When several fit, the first of PROBLEM, UNREACHABLE, TIMED_OUT. A process that a
 * second signal ends before it could leave in order has 128 + the signal's number (130, 143). */
enum cli_exit {
    CLI_DONE = 0,        /* done; for checks: healthy */
    CLI_FAILED = 1,      /* usage, bad configuration, or a failure that nothing below names */
    CLI_PROBLEM = 2,     /* a check ran and found a problem */
    CLI_UNREACHABLE = 3, /* ZooKeeper or a broker could not be reached */
    CLI_TIMED_OUT = 4    /* the time was up, or only a part could be done */
};

struct cli_pair {
    const char *term; /* an example's command line, an exit code */
    const char *text; /* what it does */
};

/* A setting: its name, its values where they can be listed ("true, false"; else ""), what it means.
 */
typedef void cli_key_fn(const char *key, const char *values, const char *text, void *user);
typedef void cli_keys_fn(cli_key_fn *fn, void *user);

struct cli_command {
    const char *name;  /* as typed after the program's, e.g. "groups list"; "": it is only known by
                        * the names of its links */
    const char *kafka; /* what Kafka calls it, separated by blanks: names of links to the program
                        * (kafka-...) and of classes (kafka.tools....); NULL: nothing */
    const char *summary;     /* one line, without a period */
    const char *synopsis;    /* what follows the name; several forms separated by '\n' */
    const char *description; /* paragraphs, separated by '\n' */
    const char *words; /* operands that it knows, separated by blanks; NULL: none to be named */
    const struct cli_option *options;
    size_t option_count;
    cli_keys_fn *keys_each; /* what its options of KEY=VALUE take; NULL: not to be listed */
    const struct cli_pair *examples;
    size_t example_count;
    const struct cli_pair *exits; /* what each exit code means here */
    size_t exit_count;
    enum cli_exit (*run)(const struct cli_args *args); /* reports its errors itself (report.h) */
};

#endif
