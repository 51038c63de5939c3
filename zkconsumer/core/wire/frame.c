#include "zkconsumer/core/wire/frame.h"
#include "zkconsumer/core/wire/big_endian.h"

enum wire_frame_result wire_frame_next(struct bytes arrived, int32_t size_max, int32_t *size,
                                       struct bytes *contents)
{
    *size = 0;
    if (arrived.len < WIRE_FRAME_SIZE_BYTES)
        return WIRE_FRAME_PARTIAL;
    *size = read_i32(arrived.data);
    if (*size <= 0 || *size > size_max)
        return WIRE_FRAME_INVALID;
    if (arrived.len - WIRE_FRAME_SIZE_BYTES < (size_t)*size)
        return WIRE_FRAME_PARTIAL;
    *contents = bytes_of(arrived.data + WIRE_FRAME_SIZE_BYTES, (size_t)*size);
    return WIRE_FRAME_COMPLETE;
}

size_t wire_frame_begin(struct buf *out)
{
    size_t mark = out->len;
    buf_append(out, "\0\0\0", WIRE_FRAME_SIZE_BYTES);
    return mark;
}

void wire_frame_end(struct buf *out, size_t mark)
{
    if (out->failed)
        return;
    size_t size = out->len - mark - WIRE_FRAME_SIZE_BYTES;
    if (size > INT32_MAX) {
        out->failed = ZKC_ERR_TOO_LARGE;
        return;
    }
    write_i32(out->data + mark, (int32_t)size);
}
