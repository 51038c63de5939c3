#include "zkconsumer/core/base/utf8.h"
#include <assert.h>

static const struct utf8_char invalid = {UTF8_REPLACEMENT, 1, false};

struct utf8_char utf8_decode(const uint8_t *at, size_t len)
{
    assert(len > 0);
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first = at[0];
    if (first < 0x80)
        return (struct utf8_char){first, 1, true};
    size_t need = first >= 0xF8 ? 0 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 0;
    if (!need || need > len)
        return invalid;
    uint32_t code = first & (0x7Fu >> need);
    for (size_t i = 1; i < need; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return invalid;
        code = code << 6 | (at[i] & 0x3F);
    }
    if (code < smallest[need] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return invalid;
    return (struct utf8_char){code, need, true};
}

size_t utf8_encode(uint32_t code, uint8_t out[4])
{
    assert(code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF));
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = len; --i > 0; code >>= 6)
        out[i] = (uint8_t)(0x80 | (code & 0x3F));
    out[0] = (uint8_t)(0xF00u >> len | code);
    return len;
}
