/* CRC-32 of format 0 and 1 messages (polynomial 0xEDB88320 reflected, as zlib's crc32()). */
#ifndef ZKC_WIRE_CRC32_H
#define ZKC_WIRE_CRC32_H

#include <stddef.h>
#include <stdint.h>

uint32_t wire_crc32(const uint8_t *data, size_t len);

/* Of what `crc` is the CRC of (0: nothing), followed by data. */
uint32_t wire_crc32_more(uint32_t crc, const uint8_t *data, size_t len);

#endif
