/* A scanner for znodes' JSON as it nearly always is: byte for byte in the form that Kafka writes,
 * strings without escapes. A group of n reads n registrations n times at each change, and building
 * a JSON document of each was most of a member's work. What differs from the form in any byte is
 * left to the JSON library (json.h), which must say the same of what is plain. */
#ifndef ZKC_ZK_PLAIN_H
#define ZKC_ZK_PLAIN_H

#include "zkconsumer/core/base/bytes.h"

struct zk_plain {
    const uint8_t *at, *end;
};

static inline struct zk_plain zk_plain_of(struct bytes data)
{
    return (struct zk_plain){data.data, data.len ? data.data + data.len : data.data};
}

/* Takes `text` if it comes next. */
static inline bool zk_plain_skip(struct zk_plain *p, const char *text)
{
    size_t len = strlen(text);
    if ((size_t)(p->end - p->at) < len || memcmp(p->at, text, len) != 0)
        return false;
    p->at += len;
    return true;
}

static inline bool zk_plain_is_end(const struct zk_plain *p)
{
    return p->at == p->end;
}

/* After the opening quote, printable ASCII; takes the closing one. */
static inline bool zk_plain_string(struct zk_plain *p, struct bytes *out)
{
    const uint8_t *from = p->at;
    while (p->at < p->end && *p->at >= 0x20 && *p->at < 0x7F && *p->at != '"' && *p->at != '\\')
        p->at++;
    *out = bytes_of(from, (size_t)(p->at - from));
    return zk_plain_skip(p, "\"");
}

/* 0 .. 999999999 without leading zeros or sign. What follows is the caller's to look at. */
static inline bool zk_plain_number(struct zk_plain *p, int32_t *out)
{
    const uint8_t *from = p->at;
    int32_t n = 0;
    while (p->at < p->end && p->at - from < 9 && *p->at >= '0' && *p->at <= '9')
        n = n * 10 + (*p->at++ - '0');
    *out = n;
    return p->at > from && (*from != '0' || p->at == from + 1);
}

#endif
