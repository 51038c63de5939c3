/* Frames: an int32 size, then as many bytes. A request's frame holds a request header and a body,
 * an answer's a response header and a body. */
#ifndef ZKC_WIRE_FRAME_H
#define ZKC_WIRE_FRAME_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/bytes.h"

#define WIRE_FRAME_SIZE_BYTES 4

enum wire_frame_result {
    WIRE_FRAME_COMPLETE,
    WIRE_FRAME_PARTIAL, /* more has to arrive */
    WIRE_FRAME_INVALID, /* the size is not above 0, or above the maximum: close the connection, as
                         * Kafka's brokers do, before anything of that size is allocated */
};

/* Looks for a frame at the beginning of what has arrived. *size is what it announces, 0 while that
 * has not arrived. With WIRE_FRAME_COMPLETE, *contents is the view of what follows the size; the
 * next frame begins behind it. */
enum wire_frame_result wire_frame_next(struct bytes arrived, int32_t size_max, int32_t *size,
                                       struct bytes *contents);

/* Writing: begin() leaves room for the size and returns a mark for end(), which fills it in once
 * the contents are appended. Failures are kept by `out`. */
size_t wire_frame_begin(struct buf *out);
void wire_frame_end(struct buf *out, size_t mark);

#endif
