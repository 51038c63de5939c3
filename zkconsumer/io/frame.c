#include "zkconsumer/io/frame.h"
#include <assert.h>
#include <stdlib.h>

struct frame *frame_new(size_t len)
{
    struct frame *f = len <= SIZE_MAX - sizeof *f ? malloc(sizeof *f + len) : NULL;
    if (!f)
        return NULL;
    atomic_init(&f->refs, 1);
    f->len = len;
    return f;
}

struct frame *frame_ref(struct frame *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

void frame_unref(struct frame *f)
{
    if (!f)
        return;
    /* Whoever frees must see all that others have done with it. */
    unsigned refs = atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel);
    assert(refs > 0);
    if (refs == 1)
        free(f);
}
