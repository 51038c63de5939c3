#include "study/check/line_reader.h"
#include <errno.h>
#include <stdlib.h>

#define CHUNK 65536

enum zkc_err line_reader_open(struct line_reader *r, const char *path, size_t line_bytes_max,
                              struct why *why)
{
    *r = (struct line_reader){0};
    buf_init(&r->line, line_bytes_max);
    r->chunk = malloc(CHUNK);
    if (!r->chunk)
        return ZKC_ERR_NOMEM;
    errno = 0;
    r->in = gzopen(path, "rb");
    if (r->in)
        return ZKC_OK;
    why_set(why, "%s: %s", path, errno ? strerror(errno) : "out of memory");
    return errno ? ZKC_ERR_SYSTEM : ZKC_ERR_NOMEM;
}

void line_reader_close(struct line_reader *r)
{
    if (r->in)
        gzclose(r->in);
    free(r->chunk);
    buf_deinit(&r->line);
    *r = (struct line_reader){0};
}

static bool fill(struct line_reader *r)
{
    r->chunk_at = 0;
    r->chunk_len = gzread(r->in, r->chunk, CHUNK);
    return r->chunk_len > 0;
}

enum line_kind line_reader_next(struct line_reader *r)
{
    buf_clear(&r->line);
    r->number++;
    bool is_long = false;
    for (;;) {
        if (r->chunk_at == r->chunk_len && !fill(r)) {
            if (r->chunk_len < 0)
                return LINE_ERROR;
            int code;
            gzerror(r->in, &code);
            if (code == Z_BUF_ERROR) /* the compressed data stop in the middle */
                return LINE_CUT;
            return r->line.len ? LINE_CUT : LINE_END;
        }
        uint8_t *from = r->chunk + r->chunk_at;
        size_t left = (size_t)(r->chunk_len - r->chunk_at);
        uint8_t *end = memchr(from, '\n', left);
        size_t len = end ? (size_t)(end - from) : left;
        if (!is_long)
            buf_append(&r->line, from, len);
        is_long = is_long || r->line.failed;
        r->chunk_at += (int)len + (end != NULL);
        if (end)
            return is_long ? LINE_LONG : LINE_WHOLE;
    }
}

const char *line_reader_error(const struct line_reader *r)
{
    int code;
    return gzerror(r->in, &code);
}
