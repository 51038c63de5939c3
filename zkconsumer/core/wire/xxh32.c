#include "zkconsumer/core/wire/xxh32.h"

#define PRIME1 2654435761u
#define PRIME2 2246822519u
#define PRIME3 3266489917u
#define PRIME4 668265263u
#define PRIME5 374761393u

static uint32_t rotate(uint32_t v, int bits)
{
    return v << bits | v >> (32 - bits);
}

static uint32_t read_lane(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t round_of(uint32_t acc, const uint8_t *lane)
{
    return rotate(acc + read_lane(lane) * PRIME2, 13) * PRIME1;
}

uint32_t wire_xxh32(const uint8_t *data, size_t len)
{
    const uint8_t *p = data, *end = data + len;
    uint32_t h = PRIME5;
    if (len >= 16) {
        uint32_t acc[4] = {PRIME1 + PRIME2, PRIME2, 0, 0 - PRIME1};
        for (; end - p >= 16; p += 16)
            for (int i = 0; i < 4; i++)
                acc[i] = round_of(acc[i], p + 4 * i);
        h = rotate(acc[0], 1) + rotate(acc[1], 7) + rotate(acc[2], 12) + rotate(acc[3], 18);
    }
    h += (uint32_t)len;
    for (; end - p >= 4; p += 4)
        h = rotate(h + read_lane(p) * PRIME3, 17) * PRIME4;
    for (; p < end; p++)
        h = rotate(h + *p * PRIME5, 11) * PRIME1;
    h = (h ^ h >> 15) * PRIME2;
    h = (h ^ h >> 13) * PRIME3;
    return h ^ h >> 16;
}
