/* Running a program of several commands: finds the one that is asked for, reads its options, runs
 * it; prints help, and writes the manual pages. */
#ifndef ZKC_CLI_PROGRAM_H
#define ZKC_CLI_PROGRAM_H

#include "zkconsumer/cli/commands.h"

/* The words behind the program's own name. Beside the commands there are help [COMMAND],
 * help --man [COMMAND], help --man-pages FOLDER, --help and --version. Reports its errors itself.
 */
enum cli_exit program_run(const struct cli_program *p, int argc, char *const *argv);

/* The words behind the command's name. `words` are what it is called by (help.h); `called_as` as in
 * struct cli_args. */
enum cli_exit program_run_command(const struct cli_program *p, const char *words,
                                  const struct cli_command *command, const char *called_as,
                                  int argc, char *const *argv);

#endif
