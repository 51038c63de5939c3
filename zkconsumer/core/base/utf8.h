/* UTF-8, one character at a time. */
#ifndef ZKC_BASE_UTF8_H
#define ZKC_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT 0xFFFD /* what a decoder puts for a byte that it cannot read */

struct utf8_char {
    uint32_t code; /* UTF8_REPLACEMENT when not valid */
    size_t len;    /* bytes taken, at least 1; 1 when not valid */
    bool valid;
};

/* The character that begins at `at`, of which `len` > 0 bytes are there. Overlong forms, surrogates
 * and what lies above U+10FFFF are not valid (RFC 3629). */
struct utf8_char utf8_decode(const uint8_t *at, size_t len);

/* Writes the character and returns its length; code <= 0x10FFFF and no surrogate. */
size_t utf8_encode(uint32_t code, uint8_t out[4]);

#endif
