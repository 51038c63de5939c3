/* /etc/hosts as text: which addresses a name has there (hosts(5)). */
#ifndef ZKC_IO_HOSTS_FILE_H
#define ZKC_IO_HOSTS_FILE_H

#include "zkconsumer/io/resolver.h"

/* Numeric addresses, IPv6 with a scope too; never looks a name up. False: not numeric. */
bool hosts_file_numeric(const char *text, uint16_t port, union resolver_address *out);

/* Writes up to max addresses of `name` (in any case) in the order of the file, each with `port`,
 * and returns their number. Lines that are not understood are skipped. `text` is changed. */
size_t hosts_file_find(char *text, const char *name, uint16_t port, union resolver_address *out,
                       size_t max);

#endif
