#include "zkconsumer/core/wire/find_coordinator.h"

void find_coordinator_request_fields(struct wire_codec *c, struct find_coordinator_request *m)
{
    wire_struct_begin(c);
    wire_string(c, "key", &m->key);
    wire_struct_end(c);
}

void find_coordinator_response_fields(struct wire_codec *c, struct find_coordinator_response *m)
{
    wire_struct_begin(c);
    wire_i16(c, "error_code", &m->error_code);
    wire_i32(c, "node_id", &m->node_id);
    wire_string(c, "host", &m->host);
    wire_i32(c, "port", &m->port);
    wire_struct_end(c);
}
