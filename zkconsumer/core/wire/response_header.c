#include "zkconsumer/core/wire/response_header.h"

void response_header_fields(struct wire_codec *c, struct response_header *m)
{
    wire_struct_begin(c);
    wire_i32(c, "correlation_id", &m->correlation_id);
    wire_struct_end(c);
}
