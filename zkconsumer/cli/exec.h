/* A shell command for messages (consume --exec): what it gets on its standard input, how long it
 * may take, and how it ended. */
#ifndef ZKC_CLI_EXEC_H
#define ZKC_CLI_EXEC_H

#include "zkconsumer/core/base/bytes.h"
#include "zkconsumer/core/base/why.h"
#include <stdbool.h>

struct exec_job {
    const char *command;      /* for sh -c */
    struct bytes input;       /* its standard input; it need not read it */
    char *const *environment; /* beside ours, "NAME=VALUE", NULL at the end */
    int64_t
        timeout_ms; /* then it is ended: SIGTERM, two seconds later SIGKILL, with its children */
};

/* Runs it to its end. It has a process group of its own, so that Ctrl-C at a terminal does not end
 * it, stdout and stderr are ours. True: it ended with status 0. Else `why` says how it ended. */
bool exec_run(const struct exec_job *job, struct why *why);

#endif
