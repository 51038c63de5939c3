/* --property=KEY=VALUE, which may be given several times. */
#ifndef ZKC_CLI_PROPERTY_OPTION_H
#define ZKC_CLI_PROPERTY_OPTION_H

#include "zkconsumer/cli/options.h"

#define PROPERTY_KEY_SIZE 256 /* with the 0 at its end */

/* Takes one of them; `value` is argv's and may be empty, `key` is lent for the call. False, and
 * reported: it is refused. */
typedef bool property_option_fn(const char *key, const char *value, void *user);

/* Calls `take` for each value of the option, in the order of the command line. False at the first
 * that it refuses, or that is no KEY=VALUE (no '=', or nothing or too much before it), which is
 * reported. */
bool property_option_each(const struct cli_args *args, size_t option, property_option_fn *take,
                          void *user);

#endif
