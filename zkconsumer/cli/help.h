/* Help and manual pages, made of a command's description and table of options. */
#ifndef ZKC_CLI_HELP_H
#define ZKC_CLI_HELP_H

#include "zkconsumer/cli/command.h"
#include "zkconsumer/core/base/buf.h"

/* `zkconsumer COMMAND --help`: plain text, at most 80 columns wide where words allow it. */
void help_append_text(const struct cli_command *command, struct buf *out);

/* The manual page of section 1, as source for man(1): zkconsumer-COMMAND, with blanks in the name
 * of the command as dashes. */
void help_append_man(const struct cli_command *command, struct buf *out);

/* `zkconsumer --help` and its manual page, zkconsumer(1): what the commands are. */
void help_append_overview(const struct cli_command *const *commands, size_t count, struct buf *out);
void help_append_overview_man(const struct cli_command *const *commands, size_t count,
                              struct buf *out);

#endif
