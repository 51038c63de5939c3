#include "broker/io/file_ref.h"
#include <stdlib.h>
#include <unistd.h>

struct file_ref *file_ref_new_take(int fd)
{
    struct file_ref *f = malloc(sizeof *f);
    if (!f) {
        close(fd);
        return NULL;
    }
    atomic_init(&f->refs, 1);
    f->fd = fd;
    return f;
}

struct file_ref *file_ref_get(struct file_ref *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

void file_ref_put(struct file_ref *f)
{
    if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
        return;
    close(f->fd);
    free(f);
}
