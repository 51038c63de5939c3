#include "tests/fuzz/wire_message.h"
#include <assert.h>

#define ARENA_MAX (1 << 20)

static void check_writes(struct bytes in, wire_message_fields_fn *fields, void *message)
{
    struct wire_codec size;
    wire_codec_size(&size, 0);
    fields(&size, message);
    assert(wire_codec_end(&size) == ZKC_OK);
    assert(size.position == in.len);

    struct buf out;
    buf_init(&out, in.len);
    struct wire_codec c;
    wire_codec_write(&c, 0, &out);
    fields(&c, message);
    assert(wire_codec_end(&c) == ZKC_OK);
    assert(bytes_equal(buf_bytes(&out), in));
    buf_deinit(&out);
}

static void check_prints(size_t size, wire_message_fields_fn *fields, void *message)
{
    struct buf out;
    buf_init(&out, 1000 + 64 * size);
    struct wire_codec c;
    wire_codec_print(&c, 0, &out);
    fields(&c, message);
    assert(wire_codec_end(&c) == ZKC_OK);
    assert(out.len > 0);
    buf_deinit(&out);
}

bool wire_message_fuzz(const uint8_t *data, size_t size, wire_message_fields_fn *fields,
                       void *message)
{
    struct arena arena;
    arena_init(&arena, ARENA_MAX);
    struct wire_codec c;
    wire_codec_read(&c, 0, bytes_of(data, size), &arena);
    fields(&c, message);
    assert(arena.allocated <= ARENA_MAX);
    assert(c.position <= size);
    bool good = wire_codec_end(&c) == ZKC_OK;
    assert(good == (c.reason[0] == 0));
    if (good) {
        check_writes(bytes_of(data, size), fields, message);
        check_prints(size, fields, message);
    }
    arena_deinit(&arena);
    return good;
}
