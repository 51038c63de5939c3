/* What stands in front of every request: header version 1, that of all non-flexible requests. */
#ifndef ZKC_WIRE_REQUEST_HEADER_H
#define ZKC_WIRE_REQUEST_HEADER_H

#include "zkconsumer/core/wire/codec.h"

struct request_header {
    int16_t api_key; /* enum api_key (api.h) */
    int16_t api_version;
    int32_t correlation_id; /* chosen by the client; the answer carries it back */
    struct bytes client_id; /* may be null */
};

void request_header_fields(struct wire_codec *c, struct request_header *m);

#endif
