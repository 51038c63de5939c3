/* JSON of znodes: written as Kafka 0.8.2's library writes it, and read as leniently as the Scala
 * parser of its members (scala.util.parsing.json) reads it, by way of jansson. */
#ifndef ZKC_ZK_JSON_H
#define ZKC_ZK_JSON_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/why.h"
#include <jansson.h>
#include <zkconsumer/error.h>

/* Appends `text`, UTF-8, as a JSON string with its quotes: " \ / and control characters (by letter
 * where there is one, otherwise 00-1F and 7F-9F as \u and four hex digits) are escaped, everything
 * else stays. Source: Kafka 0.8.2 Utils.JSONEscapeString (KAFKA-1180). */
void zk_json_append_string(struct buf *out, const char *text);

/* Reads one JSON document that must be an object. Beyond JSON it takes what Scala's lexer takes:
 * unknown escapes in strings stay two characters (\w), raw control characters in strings are kept,
 * control characters between tokens are blanks, "- 1" is a number. What C strings or UTF-8 cannot
 * hold becomes U+FFFD: invalid bytes (as in Java), the character 0, half of a surrogate pair; no
 * znode's name has any of them.
 * The caller owns *out (json_decref).
 *
 * `java` (may be NULL) is told the first thing that only we can read: a number that is no 32-bit
 * integer (Java members parse every number as one and fail otherwise), a line feed in a string.
 *
 * ZKC_ERR_CORRUPT    no data, or no such document
 * ZKC_ERR_TOO_LARGE  more than ZK_DATA_BYTES_MAX
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err zk_json_read_object(struct bytes data, json_t **out, struct why *java,
                                                struct why *why);

#endif
