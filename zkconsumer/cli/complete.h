/* What may follow on a command line: the one source of completion for bash, zsh and fish, made of
 * the same tables as --help. */
#ifndef ZKC_CLI_COMPLETE_H
#define ZKC_CLI_COMPLETE_H

#include "zkconsumer/cli/commands.h"
#include "zkconsumer/core/base/buf.h"

/* Stands for the names of files, which the shell knows better. */
#define COMPLETE_FILES ":files"

/* words[0] is the program, the last word is the one that is being typed (maybe ""). Appends a line
 * for each word that it may become: the word, a tab, what it means. Options that take a value end
 * in
 * '='; words after it are whole, too (--commit=after). Unknown commands have no lines. */
void complete_append(struct cli_commands all, const char *const *words, size_t count,
                     struct buf *out);

#endif
