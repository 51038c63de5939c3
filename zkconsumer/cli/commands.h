/* All commands of the program, and how they are found by what was typed. */
#ifndef ZKC_CLI_COMMANDS_H
#define ZKC_CLI_COMMANDS_H

#include "zkconsumer/cli/command.h"

struct cli_commands {
    const struct cli_command *const *list;
    size_t count;
};

/* A program of several commands. */
struct cli_program {
    const char *name;    /* as typed */
    const char *summary; /* of its manual page: one line, without a period */
    const char *text;    /* what its help says first: paragraphs, separated by '\n' */
    struct cli_commands commands;
    const struct cli_pair *exits; /* what an exit code means, whatever the command */
    size_t exit_count;
};

/* zkconsumer's, in the order of the help. */
struct cli_commands commands_all(void);

/* The command that the words begin with, and how many words name it. NULL: none. */
const struct cli_command *commands_find(struct cli_commands all, int argc, char *const *argv,
                                        int *words);

/* The command that has this name in Kafka, a link's (kafka-console-consumer, with or without .sh)
 * or a class's (kafka.tools.ConsoleConsumer). NULL: none. */
const struct cli_command *commands_find_kafka(struct cli_commands all, const char *name);

/* The first class among a command's names in Kafka, and its length; NULL: there is none. */
const char *commands_class(const struct cli_command *command, size_t *len);

/* True if the word begins the name of a command that has more words. */
bool commands_begin_with(struct cli_commands all, const char *word);

/* The link that starts any class by its name, as Kafka's kafka-run-class.sh does. */
#define KAFKA_RUN_CLASS "kafka-run-class"

#endif
