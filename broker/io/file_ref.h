/* An open file that several threads use: it is closed when the last of them is done, though it may
 * be renamed or removed before. */
#ifndef BROKER_IO_FILE_REF_H
#define BROKER_IO_FILE_REF_H

#include <stdatomic.h>

struct file_ref {
    atomic_uint refs;
    int fd;
};

/* Takes over fd. NULL: out of memory; fd is closed. */
struct file_ref *file_ref_new_take(int fd);
struct file_ref *file_ref_get(struct file_ref *f);
void file_ref_put(struct file_ref *f); /* NULL is allowed */

#endif
