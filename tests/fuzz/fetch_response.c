#include "tests/fuzz/wire_message.h"
#include "zkconsumer/core/wire/fetch.h"
#include <assert.h>

static void fields(struct wire_codec *c, void *message)
{
    fetch_response_fields(c, message);
}

/* The hand-written parser takes what the description takes, and finds the same in it. */
static void check_reader(struct bytes body, bool good)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct wire_codec c;
    struct fetch_response m = {0};
    wire_codec_read(&c, 0, body, &arena);
    fetch_response_fields(&c, &m);

    struct fetch_response_reader r;
    struct fetch_response_view view;
    fetch_response_reader_init(&r, body);
    size_t topic = 0, partition = 0;
    enum fetch_response_result result;
    while ((result = fetch_response_next(&r, &view)) == FETCH_RESPONSE_PARTITION) {
        if (!good)
            continue;
        while (partition == m.responses[topic].partitions_count) {
            topic++;
            partition = 0;
        }
        const struct fetch_response_partition *want = &m.responses[topic].partitions[partition++];
        assert(bytes_equal(view.topic, m.responses[topic].topic));
        assert(view.partition == want->partition_index);
        assert(view.error_code == want->error_code);
        assert(view.high_watermark == want->high_watermark);
        assert(bytes_equal(view.records, want->records));
    }
    /* Too many partitions for the arena are no fault of the bytes. */
    if (c.failed != ZKC_ERR_TOO_LARGE)
        assert(result == (good ? FETCH_RESPONSE_END : FETCH_RESPONSE_MALFORMED));
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fetch_response message = {0};
    check_reader(bytes_of(data, size), wire_message_fuzz(data, size, fields, &message));
    return 0;
}
