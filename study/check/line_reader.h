/* Lines of a file, plain or gzip; memory is bounded by one of them. */
#ifndef STUDY_CHECK_LINE_READER_H
#define STUDY_CHECK_LINE_READER_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>
#include <zlib.h>

struct line_reader {
    gzFile in;
    uint8_t *chunk; /* owned */
    int chunk_len, chunk_at;
    struct buf line; /* without its end */
    uint64_t number; /* of the line, from 1 */
};

/* `why` names the file. ZKC_ERR_SYSTEM: it cannot be opened; ZKC_ERR_NOMEM. May be closed whatever
 * this came to. */
ZKC_MUST_CHECK enum zkc_err line_reader_open(struct line_reader *r, const char *path,
                                             size_t line_bytes_max, struct why *why);
void line_reader_close(struct line_reader *r);

enum line_kind {
    LINE_WHOLE,
    LINE_LONG, /* longer than the maximum; the next one follows */
    LINE_CUT,  /* the file ends, or its compressed data do, in the middle of one */
    LINE_END,
    LINE_ERROR, /* line_reader_error() */
};
enum line_kind line_reader_next(struct line_reader *r);
const char *line_reader_error(const struct line_reader *r);

#endif
