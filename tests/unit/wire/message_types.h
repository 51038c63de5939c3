/* The message descriptions as a table, for tests that go through all of them. */
#ifndef ZKC_TEST_MESSAGE_TYPES_H
#define ZKC_TEST_MESSAGE_TYPES_H

#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/codec.h"

struct message_type {
    const char *name;
    int16_t api_key; /* -1: a header */
    bool is_response;
    size_t size; /* of the struct */
    void (*fields)(struct wire_codec *c, void *m);
};

#define MESSAGE_TYPES 18
extern const struct message_type message_types[MESSAGE_TYPES];

/* The body of a request or answer. */
const struct message_type *message_type_of(int16_t api_key, bool is_response);
const struct message_type *header_type_of(bool is_response);

#endif
