#ifndef ZKC_CLI_FILE_H
#define ZKC_CLI_FILE_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/why.h"

/* Appends a file's contents. False: it cannot be read, or is larger than the buffer's maximum;
 * `why` says why. */
bool read_whole_file(const char *path, struct buf *out, struct why *why);

#endif
