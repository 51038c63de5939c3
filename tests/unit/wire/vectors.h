/* Reading of tests/vectors/wire. Failures end the test. */
#ifndef ZKC_TEST_WIRE_VECTORS_H
#define ZKC_TEST_WIRE_VECTORS_H

#include "zkconsumer/core/base/bytes.h"
#include <jansson.h>

/* A JSON file below tests/vectors/wire; json_decref() it. */
json_t *vectors_json(const char *name);

/* Bytes of a file there; free() the data. */
struct bytes vectors_file(const char *name);

/* Bytes of a hex string; free() the data, which is never NULL. */
struct bytes bytes_of_hex(const char *hex);

/* The text of a member of an object that must be there. */
const char *member_text(const json_t *object, const char *key);

/* Whether `got` is what is noted as null, {"text": …} or {"hex": …}. */
bool bytes_equal_json(struct bytes got, const json_t *want);

#endif
