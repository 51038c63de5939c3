/* Frames between a client and a ZooKeeper server: whatever they hold, each becomes one line of
 * JSON, which the import reads (or calls broken). The input: a byte that says whose frame, its
 * length in two, and so on. */
#include "study/record/tap.h"
#include "study/record/capture.h"
#include "tests/fuzz/fuzz.h"
#include <assert.h>

static void check_line(struct buf *out, struct capture_decoder *d)
{
    struct capture_line line;
    struct why why;
    assert(!out->failed && out->len > 1 && out->data[out->len - 1] == '\n');
    assert(memchr(out->data, '\n', out->len - 1) == NULL);
    json_t *json = json_loadb((const char *)out->data, out->len, JSON_ALLOW_NUL, NULL);
    assert(json_is_object(json));
    json_decref(json);
    (void)capture_decode(d, bytes_of(out->data, out->len - 1), &line, &why);
    buf_clear(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tap_moment at = {1, 1, 1};
    struct capture_decoder d;
    struct tap tap;
    struct buf out;
    buf_init(&out, TAP_LINE_MAX);
    capture_decoder_init(&d);
    enum zkc_err err = tap_init(&tap, "m", 1);
    while (!err && size >= 3) {
        size_t len = (size_t)data[1] << 8 | data[2];
        bool is_up = data[0] % 2;
        data += 3;
        size -= 3;
        if (len > size)
            len = size;
        struct bytes frame = bytes_of(data, len);
        if (is_up) {
            tap_peek(&tap, frame);
            err = tap_request(&tap, at, frame, &out);
        } else {
            tap_answer(&tap, at, frame, &out);
        }
        check_line(&out, &d);
        data += len;
        size -= len;
    }
    assert(!err || err == ZKC_ERR_TOO_LARGE);
    tap_deinit(&tap);
    capture_decoder_deinit(&d);
    buf_deinit(&out);
    return 0;
}
