/* Decompression of any bytes, the codec in the first: it stays within the buffer's maximum, a
 * failure leaves the buffer as it was, and what comes out survives being compressed and
 * decompressed. */
#include "zkconsumer/core/wire/compression.h"
#include "tests/fuzz/fuzz.h"
#include <assert.h>

#define OUTPUT_MAX (1 << 18)

static void check_round_trip(int codec, struct bytes plain)
{
    struct buf packed, again;
    const char *reason;
    buf_init(&packed, 2 * OUTPUT_MAX);
    buf_init(&again, plain.len); /* just enough */
    enum zkc_err err = compression_encode(codec, plain, &packed, &reason);
    assert(err == ZKC_OK);
    err = compression_decode(codec, buf_bytes(&packed), &again, &reason);
    assert(err == ZKC_OK);
    assert(again.len == plain.len && (plain.len == 0 || bytes_equal(buf_bytes(&again), plain)));
    buf_deinit(&packed);
    buf_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    int codec = data[0] & COMPRESSION_CODEC_MASK;
    const char *reason = NULL;
    struct buf out;
    buf_init(&out, OUTPUT_MAX);
    buf_append(&out, "before", 6);
    enum zkc_err err = compression_decode(codec, bytes_of(data + 1, size - 1), &out, &reason);
    assert(!out.failed && out.len <= OUTPUT_MAX);
    assert(memcmp(out.data, "before", 6) == 0);
    if (err)
        assert(out.len == 6 && reason);
    else
        check_round_trip(codec, bytes_of(out.data + 6, out.len - 6));
    buf_deinit(&out);
    return 0;
}
