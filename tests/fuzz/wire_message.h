/* What is fuzzed of every message: whatever is read without an error can be sized, written and
 * printed; written it gives the same bytes. */
#ifndef ZKC_FUZZ_WIRE_MESSAGE_H
#define ZKC_FUZZ_WIRE_MESSAGE_H

#include "tests/fuzz/fuzz.h"
#include "zkconsumer/core/wire/codec.h"

typedef void wire_message_fields_fn(struct wire_codec *c, void *message);

/* `message` is zeroed memory for one. Returns whether `data` is one, to its last byte. */
bool wire_message_fuzz(const uint8_t *data, size_t size, wire_message_fields_fn *fields,
                       void *message);

#endif
