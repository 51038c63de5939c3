/* What the program says beside its data: on stderr, a line each. Lines about the state begin with
 * "% ", as kcat's do. Any thread. */
#ifndef ZKC_CLI_REPORT_H
#define ZKC_CLI_REPORT_H

#include "zkconsumer/cli/command.h"
#include <zkconsumer/error.h>

enum report_level {
    REPORT_QUIET = -1, /* errors and warnings only */
    REPORT_NORMAL = 0, /* and what happens: assignments, ends, totals */
    REPORT_VERBOSE = 1 /* and the library's own log */
};

/* Once, before any other thread is started. */
void report_set_level(enum report_level level);
enum report_level report_level(void);

/* By --quiet and --verbose; the latter wins. */
void report_set_level_by(const struct cli_args *args, size_t quiet, size_t verbose);

/* "% text" */
void report_status(const char *fmt, ...) ZKC_PRINTF(1, 2);

/* "% text", whatever the level. */
void report_warning(const char *fmt, ...) ZKC_PRINTF(1, 2);

/* "% ERROR: text", whatever the level. */
void report_error(const char *fmt, ...) ZKC_PRINTF(1, 2);

/* What a command has done: "% text", or, under a name of Kafka's (`called_as` of its arguments),
 * the text on stdout, where Kafka's tools say it. */
void report_result(const char *called_as, const char *fmt, ...) ZKC_PRINTF(2, 3);

/* The exit code for an error of the library. */
enum cli_exit report_exit_of(enum zkc_err err);

/* The exit code where part of what was to be read is missing, for these reasons: CLI_DONE without
 * any, else CLI_UNREACHABLE by the first that there is, or CLI_TIMED_OUT. */
enum cli_exit report_exit_of_missing(enum zkc_err err, enum zkc_err other);

/* True if the option was given; else says that it is needed and shows the example. */
bool report_needs(const struct cli_args *args, size_t option, const char *example);

/* True if there are only options on the command line. */
bool report_takes_no_operands(const struct cli_args *args);

#endif
