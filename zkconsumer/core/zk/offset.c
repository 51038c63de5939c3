#include "zkconsumer/core/zk/offset.h"
#include <inttypes.h>
#include <stdio.h>

/* The number, without its sign, as long as it does not exceed `limit`. */
static bool read_magnitude(struct bytes digits, uint64_t limit, uint64_t *out)
{
    uint64_t n = 0;
    if (!digits.len)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9')
            return false;
        unsigned digit = digits.data[i] - '0';
        if (n > (limit - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = n;
    return true;
}

enum zkc_err zk_offset_read(struct bytes data, int64_t *out, struct why *why)
{
    why_clear(why);
    bool negative = data.len > 0 && data.data[0] == '-';
    bool has_sign = negative || (data.len > 0 && data.data[0] == '+');
    struct bytes digits = has_sign ? bytes_of(data.data + 1, data.len - 1) : data;
    uint64_t magnitude = 0;
    if (!read_magnitude(digits, negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX, &magnitude)) {
        why_set(why, "offset \"%s\"%s: expected a signed 64-bit decimal number and nothing else",
                why_quote(data).text, data.len ? "" : " (no data)");
        return ZKC_ERR_CORRUPT;
    }
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return ZKC_OK;
}

size_t zk_offset_format(int64_t offset, char text[ZK_OFFSET_TEXT_SIZE])
{
    return (size_t)snprintf(text, ZK_OFFSET_TEXT_SIZE, "%" PRId64, offset);
}
