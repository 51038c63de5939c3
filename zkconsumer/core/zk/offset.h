/* A committed offset, the data of /consumers/<g>/offsets/<t>/<p>: bare decimal text of the next
 * offset to read. */
#ifndef ZKC_ZK_OFFSET_H
#define ZKC_ZK_OFFSET_H

#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>

/* As strict as Java's Long.parseLong: an optional sign and ASCII digits that fit 64 bits, nothing
 * else; no blank, no newline. (Java also takes the digits of other scripts, which nobody writes.)
 * Negative offsets parse: they mean "no offset" (-1) to the reader.
 *
 * ZKC_ERR_CORRUPT  the data is something else, empty or null */
ZKC_MUST_CHECK enum zkc_err zk_offset_read(struct bytes data, int64_t *out, struct why *why);

#define ZK_OFFSET_TEXT_SIZE 21 /* "-9223372036854775808" and its terminator */

/* Writes the text and returns its length. */
size_t zk_offset_format(int64_t offset, char text[ZK_OFFSET_TEXT_SIZE]);

#endif
