/* What stands in front of every answer: header version 0, that of all non-flexible answers. */
#ifndef ZKC_WIRE_RESPONSE_HEADER_H
#define ZKC_WIRE_RESPONSE_HEADER_H

#include "zkconsumer/core/wire/codec.h"

struct response_header {
    int32_t correlation_id; /* of the request. Answers come in the order of the requests; another id
                             * than the oldest unanswered one means that the stream is lost */
};

void response_header_fields(struct wire_codec *c, struct response_header *m);

#endif
