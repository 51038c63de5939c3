#include "zkconsumer/core/wire/crc32.h"

#ifdef ZKC_HAVE_ISAL
/* Ten times as fast as zlib's for messages of 100 bytes and more (tests/bench/wire_bench). */
#include <isa-l/crc.h>

uint32_t wire_crc32(const uint8_t *data, size_t len)
{
    return crc32_gzip_refl(0, data, len);
}

uint32_t wire_crc32_more(uint32_t crc, const uint8_t *data, size_t len)
{
    return crc32_gzip_refl(crc, data, len);
}
#else
#include <zlib.h>

uint32_t wire_crc32(const uint8_t *data, size_t len)
{
    return (uint32_t)crc32_z(0, data, len);
}

uint32_t wire_crc32_more(uint32_t crc, const uint8_t *data, size_t len)
{
    return (uint32_t)crc32_z(crc, data, len);
}
#endif
