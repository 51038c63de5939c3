#include "zkconsumer/cli/file.h"
#include <errno.h>
#include <stdio.h>

#define READ_BYTES 65536

bool read_whole_file(const char *path, struct buf *out, struct why *why)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        why_set(why, "%s", strerror(errno));
        return false;
    }
    for (;;) {
        uint8_t *room = buf_reserve(out, READ_BYTES);
        size_t n = room ? fread(room, 1, READ_BYTES, file) : 0;
        if (n == 0)
            break;
        out->len += n;
    }
    bool ok = !out->failed && !ferror(file);
    if (!ok)
        why_set(why, "%s", out->failed ? zkc_err_text(out->failed) : strerror(errno));
    fclose(file);
    return ok;
}
