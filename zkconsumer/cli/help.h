/* Help and manual pages, made of a command's description and table of options. */
#ifndef ZKC_CLI_HELP_H
#define ZKC_CLI_HELP_H

#include "zkconsumer/cli/commands.h"
#include "zkconsumer/core/base/buf.h"

#define HELP_BYTES_MAX ((size_t)1 << 20)

/* `words` are what the command is called by: "zkconsumer groups list", "kafka-console-consumer". */

/* --help: plain text, at most 80 columns wide where words allow it. */
void help_append_text(const char *words, const struct cli_command *command, struct buf *out);

/* The manual page of section 1, as source for man(1); its name is the words with dashes between
 * them. `see` are the pages that it refers to, separated by blanks. */
void help_append_man(const char *words, const struct cli_command *command, const char *see,
                     struct buf *out);

/* `zkconsumer --help` and its manual page, zkconsumer(1): what the commands are. */
void help_append_overview(const struct cli_program *program, struct buf *out);
void help_append_overview_man(const struct cli_program *program, struct buf *out);

#endif
