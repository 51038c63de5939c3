/* A growable byte buffer that is born with its maximum (curl's dynbuf). A failed append leaves the
 * contents as they were and marks the buffer failed; further appends do nothing, so that a writer
 * may go straight through and look once at the end. */
#ifndef ZKC_BASE_BUF_H
#define ZKC_BASE_BUF_H

#include "zkconsumer/core/base/bytes.h"
#include <stdarg.h>
#include <zkconsumer/error.h>

struct buf {
    uint8_t *data; /* owned; NULL while nothing was appended */
    size_t len;
    size_t cap;
    size_t max;          /* len never exceeds it */
    enum zkc_err failed; /* ZKC_OK, ZKC_ERR_NOMEM or ZKC_ERR_TOO_LARGE */
};

void buf_init(struct buf *b, size_t max);
void buf_deinit(struct buf *b); /* b may be used again after buf_init() only */
void buf_clear(struct buf *b);  /* empties it, forgets a failure, keeps the memory */

void buf_append(struct buf *b, const void *data, size_t len);
void buf_append_text(struct buf *b, const char *text);
void buf_append_byte(struct buf *b, uint8_t byte);
void buf_appendf(struct buf *b, const char *fmt, ...) ZKC_PRINTF(2, 3);
void buf_vappendf(struct buf *b, const char *fmt, va_list args);

/* Makes room for len more bytes and returns where to write them; the caller then adds what it
 * wrote to b->len. NULL when the buffer failed. */
uint8_t *buf_reserve(struct buf *b, size_t len);

/* The contents as a C string: adds a terminator that does not count in len. Lent until the next
 * change. NULL when the buffer failed. */
const char *buf_text(struct buf *b);

static inline struct bytes buf_bytes(const struct buf *b) { return bytes_of(b->data, b->len); }

#endif
