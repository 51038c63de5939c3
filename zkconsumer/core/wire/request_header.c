#include "zkconsumer/core/wire/request_header.h"

void request_header_fields(struct wire_codec *c, struct request_header *m)
{
    wire_struct_begin(c);
    wire_i16(c, "api_key", &m->api_key);
    wire_i16(c, "api_version", &m->api_version);
    wire_i32(c, "correlation_id", &m->correlation_id);
    wire_nullable_string(c, "client_id", &m->client_id);
    wire_struct_end(c);
}
