/* xxHash, 32 bits, seed 0: the checksum of LZ4 frame headers. liblz4 has it inside, but does not
 * offer it. Source: the xxHash specification (xxhash_spec.md), XXH32. */
#ifndef ZKC_WIRE_XXH32_H
#define ZKC_WIRE_XXH32_H

#include <stddef.h>
#include <stdint.h>

uint32_t wire_xxh32(const uint8_t *data, size_t len);

#endif
