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
 * control characters between tokens are blanks, invalid UTF-8 becomes U+FFFD. The caller owns *out
 * (json_decref).
 *
 * `java` (may be NULL) is told of the first number that Java members cannot read: they parse every
 * number as a 32-bit int and fail otherwise.
 *
 * ZKC_ERR_CORRUPT    no data, or no such document; a zero character in a string also is refused
 * ZKC_ERR_TOO_LARGE  more than ZK_DATA_BYTES_MAX
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err zk_json_read_object(struct bytes data, json_t **out, struct why *java,
                                                struct why *why);

#endif
