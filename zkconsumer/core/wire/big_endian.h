/* Numbers as they stand on the wire, for hand-written parsers; the codec has its own checks. */
#ifndef ZKC_WIRE_BIG_ENDIAN_H
#define ZKC_WIRE_BIG_ENDIAN_H

#include <stdint.h>

static inline int16_t read_i16(const uint8_t *p)
{
    return (int16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t read_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline int32_t read_i32(const uint8_t *p)
{
    return (int32_t)read_u32(p);
}

static inline int64_t read_i64(const uint8_t *p)
{
    return (int64_t)((uint64_t)read_u32(p) << 32 | read_u32(p + 4));
}

static inline void write_i32(uint8_t *p, int32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)((uint32_t)v >> (24 - 8 * i));
}

static inline void write_i64(uint8_t *p, int64_t v)
{
    write_i32(p, (int32_t)((uint64_t)v >> 32));
    write_i32(p + 4, (int32_t)((uint64_t)v & 0xffffffff));
}

#endif
