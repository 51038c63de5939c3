/* SIGINT and SIGTERM: the first asks for an orderly stop, one half a second later or
 * more ends the process at once with 128 + its number; what comes sooner belongs to the first.
 * SIGPIPE is ignored, so that a write to a closed pipe is an error like others. Process-wide; one
 * thread waits for the descriptor. */
#ifndef ZKC_CLI_STOP_H
#define ZKC_CLI_STOP_H

#include <stdbool.h>

/* Installs the handlers, once. False, and reported: no descriptors. */
bool stop_init(void);

bool stop_is_requested(void);

/* Becomes and stays readable with the first signal. Not to be read. */
int stop_fd(void);

#endif
