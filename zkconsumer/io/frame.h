/* One answer of a broker as it came from the socket: counted by references, so that chunks can keep
 * views into it, on any thread, without copying. */
#ifndef ZKC_IO_FRAME_H
#define ZKC_IO_FRAME_H

#include "zkconsumer/core/base/bytes.h"
#include <stdatomic.h>

struct frame {
    atomic_uint refs;
    size_t len;
    uint8_t data[]; /* len bytes; not changed once others hold a reference */
};

/* A frame with one reference, contents not set. NULL: out of memory. */
struct frame *frame_new(size_t len);

/* Any thread. The last frame_unref() frees; NULL is allowed there. */
struct frame *frame_ref(struct frame *f);
void frame_unref(struct frame *f);

#endif
