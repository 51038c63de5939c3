/* Options of the command line. One table per command is the single source of parsing, --help and
 * the manual page (help.h). Options are addressed by their index in the table, so that a command
 * names them by an enum. */
#ifndef ZKC_CLI_OPTIONS_H
#define ZKC_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zkconsumer/export.h>

struct cli_option {
    const char *names;    /* long names without dashes, separated by blanks. The first is ours; the
                           * others are spellings that Kafka's tools have for the same thing */
    char letter;          /* short name, kcat's where kcat has one; 0: none */
    const char *argument; /* what its value is called in help, e.g. "FILE"; NULL: takes no value */
    bool is_repeatable;   /* given twice, another option is refused */
    const char *text;     /* what it does, with unit and default */
};

struct cli_given {
    size_t option;     /* index in the table */
    const char *value; /* NULL for options without value */
};

struct cli_args {
    const struct cli_option *options;
    size_t option_count;
    struct cli_given *given; /* owned; in the order of the command line */
    size_t given_count;
    const char **operands; /* owned; the texts are argv's */
    size_t operand_count;
    const char *called_as; /* the name of Kafka's under which the command was called, and whose
                            * habits it should have; NULL: by its own */
};

/* Reads argv[0] .. argv[argc-1] (without program and command name). Accepted are `--name=value`,
 * `--name value`, `-x value`, `-xvalue`, letters without value in one cluster (`-qe`), `--` before
 * operands. A value that is an argument of its own must not begin with `--` (a forgotten value
 * would swallow the next option); `--name=--x` can say it. On success the caller ends *args with
 * cli_args_deinit(); the texts in it are argv's. On failure `why` says what was wrong, for an
 * unknown option with the nearest known one. */
bool cli_args_init(struct cli_args *args, const struct cli_option *options, size_t option_count,
                   int argc, char *const *argv, char *why, size_t why_size);
void cli_args_deinit(struct cli_args *args);

bool cli_args_has(const struct cli_args *args, size_t option);

/* The value of an option; `otherwise` if it was not given. */
const char *cli_args_text(const struct cli_args *args, size_t option, const char *otherwise);

/* The i-th value of a repeatable option; NULL past the last. */
const char *cli_args_value(const struct cli_args *args, size_t option, size_t i);

/* A decimal number within min .. max; *out is left alone if the option was not given. False, with
 * option, value and range in `why`, if it is not one. */
bool cli_args_number(const struct cli_args *args, size_t option, int64_t min, int64_t max,
                     int64_t *out, char *why, size_t why_size);

/* A decimal number with an optional sign and nothing else, as options and offsets are written. */
bool cli_parse_number(const char *text, int64_t min, int64_t max, int64_t *out);

/* True if `names`, separated by blanks, has this one. */
bool cli_names_contain(const char *names, const char *name, size_t len);

/* The first of `names` (separated by blanks) as "--name"; lent until the next call with the same
 * buffer. */
const char *cli_option_name(const struct cli_option *option, char *buffer, size_t size);

#endif
