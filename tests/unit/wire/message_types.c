#include "tests/unit/wire/message_types.h"
#include "zkconsumer/core/wire/fetch.h"
#include "zkconsumer/core/wire/list_offsets.h"
#include "zkconsumer/core/wire/metadata.h"
#include "zkconsumer/core/wire/request_header.h"
#include "zkconsumer/core/wire/response_header.h"

static void request_header(struct wire_codec *c, void *m)
{
    request_header_fields(c, m);
}
static void response_header(struct wire_codec *c, void *m)
{
    response_header_fields(c, m);
}
static void fetch_request(struct wire_codec *c, void *m)
{
    fetch_request_fields(c, m);
}
static void fetch_response(struct wire_codec *c, void *m)
{
    fetch_response_fields(c, m);
}
static void list_offsets_request(struct wire_codec *c, void *m)
{
    list_offsets_request_fields(c, m);
}
static void list_offsets_response(struct wire_codec *c, void *m)
{
    list_offsets_response_fields(c, m);
}
static void metadata_request(struct wire_codec *c, void *m)
{
    metadata_request_fields(c, m);
}
static void metadata_response(struct wire_codec *c, void *m)
{
    metadata_response_fields(c, m);
}

const struct message_type message_types[MESSAGE_TYPES] = {
    {"request_header", -1, false, sizeof(struct request_header), request_header},
    {"response_header", -1, true, sizeof(struct response_header), response_header},
    {"fetch_request", API_FETCH, false, sizeof(struct fetch_request), fetch_request},
    {"fetch_response", API_FETCH, true, sizeof(struct fetch_response), fetch_response},
    {"list_offsets_request", API_LIST_OFFSETS, false, sizeof(struct list_offsets_request),
     list_offsets_request},
    {"list_offsets_response", API_LIST_OFFSETS, true, sizeof(struct list_offsets_response),
     list_offsets_response},
    {"metadata_request", API_METADATA, false, sizeof(struct metadata_request), metadata_request},
    {"metadata_response", API_METADATA, true, sizeof(struct metadata_response), metadata_response},
};

const struct message_type *message_type_of(int16_t api_key, bool is_response)
{
    for (size_t i = 0; i < MESSAGE_TYPES; i++)
        if (message_types[i].api_key == api_key && message_types[i].is_response == is_response)
            return &message_types[i];
    return NULL;
}

const struct message_type *header_type_of(bool is_response)
{
    return message_type_of(-1, is_response);
}
