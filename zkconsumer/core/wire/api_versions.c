#include "zkconsumer/core/wire/api_versions.h"

static void key_fields(struct wire_codec *c, struct api_versions_key *k)
{
    wire_struct_begin(c);
    wire_i16(c, "api_key", &k->api_key);
    wire_i16(c, "min_version", &k->min_version);
    wire_i16(c, "max_version", &k->max_version);
    wire_struct_end(c);
}

void api_versions_response_fields(struct wire_codec *c, struct api_versions_response *m)
{
    wire_struct_begin(c);
    wire_i16(c, "error_code", &m->error_code);
    m->api_keys =
        wire_array_begin(c, "api_keys", m->api_keys, &m->api_keys_count, sizeof *m->api_keys, 6);
    for (size_t i = 0; i < m->api_keys_count; i++)
        key_fields(c, &m->api_keys[i]);
    wire_array_end(c);
    wire_struct_end(c);
}
