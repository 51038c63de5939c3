/* JSON as text, one object per line: the envelope of consumed messages (kcat's -J) and the pieces
 * that `groups describe --json` is made of. */
#ifndef ZKC_CLI_JSON_TEXT_H
#define ZKC_CLI_JSON_TEXT_H

#include "zkconsumer/core/base/buf.h"
#include <zkconsumer/stream.h>

/* True if the bytes are UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, up to U+10FFFF.
 */
bool json_is_utf8(struct bytes b);

/* Appends a JSON string with its quotes; `b` must be UTF-8. Control characters are escaped. */
void json_append_string(struct buf *out, struct bytes b);

/* Appends `"name":value` with value null for null bytes, a string for UTF-8, and otherwise
 * `"name_base64":"..."` (RFC 4648, padded): nothing is lost, and no reader mistakes one for the
 * other. */
void json_append_field(struct buf *out, const char *name, struct bytes value);

/* Appends {"topic":..,"partition":..,"offset":..,"tstype":"unknown","ts":0,"broker":-1,"key":..,
 * "payload":..}: kcat's envelope. Messages of Kafka 0.8 have no timestamp; which broker they came
 * from is not told. No line end. */
void json_append_envelope(struct buf *out, const struct zkc_message *m);

#endif
