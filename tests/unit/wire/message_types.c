#include "tests/unit/wire/message_types.h"
#include "zkconsumer/core/wire/api_versions.h"
#include "zkconsumer/core/wire/fetch.h"
#include "zkconsumer/core/wire/find_coordinator.h"
#include "zkconsumer/core/wire/list_offsets.h"
#include "zkconsumer/core/wire/metadata.h"
#include "zkconsumer/core/wire/offset_commit.h"
#include "zkconsumer/core/wire/offset_fetch.h"
#include "zkconsumer/core/wire/produce.h"
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
static void produce_request(struct wire_codec *c, void *m)
{
    produce_request_fields(c, m);
}
static void produce_response(struct wire_codec *c, void *m)
{
    produce_response_fields(c, m);
}
static void offset_commit_request(struct wire_codec *c, void *m)
{
    offset_commit_request_fields(c, m);
}
static void offset_commit_response(struct wire_codec *c, void *m)
{
    offset_commit_response_fields(c, m);
}
static void offset_fetch_request(struct wire_codec *c, void *m)
{
    offset_fetch_request_fields(c, m);
}
static void offset_fetch_response(struct wire_codec *c, void *m)
{
    offset_fetch_response_fields(c, m);
}
static void find_coordinator_request(struct wire_codec *c, void *m)
{
    find_coordinator_request_fields(c, m);
}
static void find_coordinator_response(struct wire_codec *c, void *m)
{
    find_coordinator_response_fields(c, m);
}
/* It has no body. */
static void api_versions_request(struct wire_codec *c, void *m)
{
    (void)m;
    wire_struct_begin(c);
    wire_struct_end(c);
}
static void api_versions_response(struct wire_codec *c, void *m)
{
    api_versions_response_fields(c, m);
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
    {"produce_request", API_PRODUCE, false, sizeof(struct produce_request), produce_request},
    {"produce_response", API_PRODUCE, true, sizeof(struct produce_response), produce_response},
    {"offset_commit_request", API_OFFSET_COMMIT, false, sizeof(struct offset_commit_request),
     offset_commit_request},
    {"offset_commit_response", API_OFFSET_COMMIT, true, sizeof(struct offset_commit_response),
     offset_commit_response},
    {"offset_fetch_request", API_OFFSET_FETCH, false, sizeof(struct offset_fetch_request),
     offset_fetch_request},
    {"offset_fetch_response", API_OFFSET_FETCH, true, sizeof(struct offset_fetch_response),
     offset_fetch_response},
    {"find_coordinator_request", API_FIND_COORDINATOR, false,
     sizeof(struct find_coordinator_request), find_coordinator_request},
    {"find_coordinator_response", API_FIND_COORDINATOR, true,
     sizeof(struct find_coordinator_response), find_coordinator_response},
    {"api_versions_request", API_API_VERSIONS, false, 1, api_versions_request},
    {"api_versions_response", API_API_VERSIONS, true, sizeof(struct api_versions_response),
     api_versions_response},
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
