#include "zkconsumer/core/zk/java_hash.h"
#include "zkconsumer/core/base/utf8.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t hash_more(uint32_t h, const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len;) {
        struct utf8_char c = utf8_decode((const uint8_t *)text + i, len - i);
        i += c.len;
        if (c.code < 0x10000) {
            h = 31 * h + c.code;
        } else {
            h = 31 * h + (0xD7C0 + (c.code >> 10));
            h = 31 * h + (0xDC00 | (c.code & 0x3FF));
        }
    }
    return h;
}

static int32_t as_signed(uint32_t h)
{
    return h <= INT32_MAX ? (int32_t)h : -(int32_t)(UINT32_MAX - h) - 1;
}

int32_t java_hash(const char *text)
{
    return as_signed(hash_more(0, text));
}

int32_t java_hash_partition(const char *topic, int32_t partition)
{
    char rest[16];
    snprintf(rest, sizeof rest, ",%" PRId32 "]", partition);
    return as_signed(hash_more(hash_more(hash_more(0, "["), topic), rest));
}

/* A character's first UTF-16 unit, by which the order goes unless both begin with the same one. */
static uint32_t first_unit(uint32_t code)
{
    return code < 0x10000 ? code : 0xD7C0 + (code >> 10);
}

int java_compare(const char *a, const char *b)
{
    const uint8_t *x = (const uint8_t *)a, *y = (const uint8_t *)b;
    while (*x == *y && *x && *x < 0x80)
        x++, y++;
    size_t x_len = strlen((const char *)x), y_len = strlen((const char *)y);
    while (x_len && y_len) {
        struct utf8_char c = utf8_decode(x, x_len), d = utf8_decode(y, y_len);
        if (c.code != d.code) {
            uint32_t cu = first_unit(c.code), du = first_unit(d.code);
            if (cu == du)
                return c.code < d.code ? -1 : 1;
            return cu < du ? -1 : 1;
        }
        x += c.len, x_len -= c.len;
        y += d.len, y_len -= d.len;
    }
    return (x_len > 0) - (y_len > 0);
}
