/* A view of bytes owned by somebody else: strings and blobs of messages, data of znodes.
 * `data` NULL means null (Kafka's length -1, ZooKeeper's null data), which is not the same as a
 * zero length. Views are not terminated by a zero byte. */
#ifndef ZKC_BASE_BYTES_H
#define ZKC_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    const uint8_t *data; /* NULL: null */
    size_t len;
};

#define BYTES_NULL ((struct bytes){NULL, 0})

static inline struct bytes bytes_of(const void *data, size_t len)
{
    return (struct bytes){data, len};
}

/* The view of a C string, without its terminator; of NULL, null. */
static inline struct bytes bytes_of_text(const char *text)
{
    return text ? bytes_of(text, strlen(text)) : BYTES_NULL;
}

static inline bool bytes_is_null(struct bytes b) { return b.data == NULL; }

/* Null equals only null. */
static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    if (!a.data || !b.data)
        return a.data == b.data;
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static inline bool bytes_equal_text(struct bytes a, const char *text)
{
    return bytes_equal(a, bytes_of_text(text));
}

/* Byte order; a proper prefix comes first; null before everything. */
static inline int bytes_compare(struct bytes a, struct bytes b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(a.data, b.data, n) : 0;
    if (c)
        return c;
    if (!a.data != !b.data)
        return a.data ? 1 : -1;
    return (a.len > b.len) - (a.len < b.len);
}

#endif
