/* A writer of JSON text into a buffer, for traces and statistics: integers stay integers, text is
 * escaped and made valid UTF-8 (bytes that are not become U+FFFD). Commas are its business. Errors
 * are the buffer's (core/base/buf.h): look once at the end. */
#ifndef ZKC_BASE_JSON_H
#define ZKC_BASE_JSON_H

#include "zkconsumer/core/base/buf.h"

struct json {
    struct buf *out;
    bool needs_comma;
};

static inline void json_init(struct json *j, struct buf *out)
{
    *j = (struct json){.out = out};
}

/* `key` is NULL inside of a list, and for the outermost value. */
void json_object_begin(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_list_begin(struct json *j, const char *key);
void json_list_end(struct json *j);
void json_int(struct json *j, const char *key, int64_t value);
void json_thousandths(struct json *j, const char *key, int64_t value); /* 1500: 1.500 */
void json_bool(struct json *j, const char *key, bool value);
void json_text(struct json *j, const char *key, const char *text); /* NULL: null */
void json_bytes(struct json *j, const char *key, struct bytes text);
void json_hex(struct json *j, const char *key, uint64_t value); /* "00ff…", 16 digits */
void json_textf(struct json *j, const char *key, const char *fmt, ...) ZKC_PRINTF(3, 4);

#endif
