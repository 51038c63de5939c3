#include "zkconsumer/core/base/buf.h"
#include <stdio.h>
#include <stdlib.h>

void buf_init(struct buf *b, size_t max) { *b = (struct buf){.max = max}; }

void buf_deinit(struct buf *b)
{
    free(b->data);
    *b = (struct buf){.max = b->max};
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = ZKC_OK;
}

uint8_t *buf_reserve(struct buf *b, size_t len)
{
    if (b->failed)
        return NULL;
    if (len > b->max - b->len) {
        b->failed = ZKC_ERR_TOO_LARGE;
        return NULL;
    }
    if (len > b->cap - b->len || !b->data) {
        size_t want = b->len + len;
        size_t cap = b->cap ? b->cap : 64;
        while (cap < want)
            cap = cap > b->max / 2 ? b->max : cap * 2;
        uint8_t *data = realloc(b->data, cap);
        if (!data) {
            b->failed = ZKC_ERR_NOMEM;
            return NULL;
        }
        b->data = data;
        b->cap = cap;
    }
    return b->data + b->len;
}

void buf_append(struct buf *b, const void *data, size_t len)
{
    uint8_t *at = buf_reserve(b, len);
    if (at && len) {
        memcpy(at, data, len);
        b->len += len;
    }
}

void buf_append_text(struct buf *b, const char *text) { buf_append(b, text, strlen(text)); }

void buf_append_byte(struct buf *b, uint8_t byte) { buf_append(b, &byte, 1); }

void buf_vappendf(struct buf *b, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    uint8_t *at = n < 0 ? NULL : buf_reserve(b, (size_t)n + 1);
    if (at) {
        vsnprintf((char *)at, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void buf_appendf(struct buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    buf_vappendf(b, fmt, args);
    va_end(args);
}

const char *buf_text(struct buf *b)
{
    uint8_t *at = buf_reserve(b, 1);
    if (!at)
        return NULL;
    *at = 0;
    return (const char *)b->data;
}
