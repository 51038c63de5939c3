#include "study/record/jute.h"
#include "zkconsumer/core/wire/big_endian.h"

struct jute jute_of(struct bytes frame)
{
    static const uint8_t nothing[1];
    const uint8_t *at = frame.data ? frame.data : nothing;
    return (struct jute){.at = at, .end = at + frame.len};
}

size_t jute_left(const struct jute *j)
{
    return (size_t)(j->end - j->at);
}

static const uint8_t *take(struct jute *j, size_t n) /* NULL once failed */
{
    j->failed = j->failed || n > jute_left(j);
    if (j->failed)
        return NULL;
    j->at += n;
    return j->at - n;
}

int32_t jute_i32(struct jute *j)
{
    const uint8_t *p = take(j, 4);
    return p ? read_i32(p) : 0;
}

int64_t jute_i64(struct jute *j)
{
    const uint8_t *p = take(j, 8);
    return p ? read_i64(p) : 0;
}

bool jute_bool(struct jute *j)
{
    const uint8_t *p = take(j, 1);
    return p && *p;
}

struct bytes jute_bytes(struct jute *j)
{
    int32_t len = jute_i32(j);
    const uint8_t *p = len < 0 ? NULL : take(j, (size_t)len);
    return p ? bytes_of(p, (size_t)len) : BYTES_NULL;
}

int32_t jute_count(struct jute *j, size_t least)
{
    int32_t count = jute_i32(j);
    if (count < 0)
        return 0;
    j->failed = j->failed || (size_t)count > jute_left(j) / least;
    return j->failed ? 0 : count;
}
