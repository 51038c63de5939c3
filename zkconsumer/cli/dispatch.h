/* Tools of Kafka's that are told by a flag what to do (kafka-topics --create): each action is a
 * command of ours, which gets the other options. */
#ifndef ZKC_CLI_DISPATCH_H
#define ZKC_CLI_DISPATCH_H

#include "zkconsumer/cli/command.h"

#define DISPATCH_OWN_MAX 4

struct dispatch_action {
    size_t flag;                       /* the option that asks for it */
    const struct cli_command *command; /* what runs */
    size_t own[DISPATCH_OWN_MAX];      /* options of the tool that this action does not pass on */
    size_t own_count;
    const char *unless; /* one of them, by its first name: without it the command gets `word` */
    const char *word;   /* NULL: nothing */
};

/* Runs the one action that is asked for, with the options that were given. Reports when it is none
 * or several, and options that do nothing with it. */
enum cli_exit dispatch(const struct cli_args *args, const struct dispatch_action *actions,
                       size_t count);

#endif
