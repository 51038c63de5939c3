/* Any frame a client may send, to the answers that need no log. */
#include "broker/core/requests.h"
#include "tests/fuzz/fuzz.h"
#include <assert.h>
#include <stdlib.h>

#define ARENA_MAX (1 << 20)

static void answer(struct request *r, struct arena *arena, struct buf *out)
{
    const struct cluster_view empty = {.controller_id = -1};
    const struct metadata_rules rules = {.auto_create = true};
    struct wire_codec c;
    wire_codec_write(&c, 0, out);
    switch (r->header.api_key) {
    case API_PRODUCE: {
        struct produce_response response;
        if (produce_answer_make(&r->produce, arena, &response) == ZKC_OK &&
            produce_answer_decide(&r->produce, &response) == PRODUCE_ANSWER)
            produce_response_fields(&c, &response);
        break;
    }
    case API_LIST_OFFSETS: {
        struct list_offsets_response response;
        if (list_offsets_answer_make(&r->list_offsets, arena, &response) == ZKC_OK)
            list_offsets_response_fields(&c, &response);
        break;
    }
    case API_METADATA: {
        struct metadata_response response;
        size_t n;
        struct bytes *create = calloc(r->metadata.topics_count + 1, sizeof *create);
        assert(create);
        if (metadata_answer(&empty, &rules, &r->metadata, arena, &response, create, &n) == ZKC_OK) {
            assert(n <= r->metadata.topics_count);
            metadata_response_fields(&c, &response);
        }
        free(create);
        break;
    }
    case API_API_VERSIONS: {
        struct api_versions_response response;
        if (api_versions_answer(r->api_versions_error, arena, &response) == ZKC_OK)
            api_versions_response_fields(&c, &response);
        break;
    }
    }
    assert(c.failed == ZKC_OK || c.failed == ZKC_ERR_TOO_LARGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct request r;
    struct why why;
    struct buf out;
    arena_init(&arena, ARENA_MAX);
    buf_init(&out, 1 << 20);
    enum zkc_err err = request_read(bytes_of(data, size), &arena, &r, &why);
    assert((err == ZKC_OK) == (why.text[0] == 0));
    if (err == ZKC_OK) {
        size_t mark = answer_begin(&out, r.header.correlation_id);
        answer(&r, &arena, &out);
        answer_end(&out, mark);
    }
    buf_deinit(&out);
    arena_deinit(&arena);
    return 0;
}
