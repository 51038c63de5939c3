#include "zkconsumer/cli/json_text.h"
#include "zkconsumer/core/base/utf8.h"
#include <inttypes.h>

bool json_is_utf8(struct bytes b)
{
    for (size_t i = 0; i < b.len;) {
        if (b.data[i] < 0x80) {
            i++; /* most text is nothing else */
            continue;
        }
        struct utf8_char c = utf8_decode(b.data + i, b.len - i);
        if (!c.valid)
            return false;
        i += c.len;
    }
    return true;
}

static void append_escape(struct buf *out, uint8_t c)
{
    switch (c) {
    case '"': buf_append(out, "\\\"", 2); break;
    case '\\': buf_append(out, "\\\\", 2); break;
    case '\n': buf_append(out, "\\n", 2); break;
    case '\r': buf_append(out, "\\r", 2); break;
    case '\t': buf_append(out, "\\t", 2); break;
    default: buf_appendf(out, "\\u%04x", c); break;
    }
}

void json_append_string(struct buf *out, struct bytes b)
{
    buf_append_byte(out, '"');
    size_t plain = 0; /* start of the run that needs no escape */
    for (size_t i = 0; i < b.len; i++) {
        uint8_t c = b.data[i];
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
            continue;
        buf_append(out, b.data + plain, i - plain);
        append_escape(out, c);
        plain = i + 1;
    }
    buf_append(out, b.data + plain, b.len - plain);
    buf_append_byte(out, '"');
}

static void append_base64(struct buf *out, struct bytes b)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < b.len; i += 3) {
        size_t n = b.len - i < 3 ? b.len - i : 3;
        uint32_t group = (uint32_t)b.data[i] << 16;
        if (n > 1)
            group |= (uint32_t)b.data[i + 1] << 8;
        if (n > 2)
            group |= b.data[i + 2];
        char four[4] = {digits[group >> 18], digits[group >> 12 & 63],
                        n > 1 ? digits[group >> 6 & 63] : '=', n > 2 ? digits[group & 63] : '='};
        buf_append(out, four, sizeof four);
    }
}

void json_append_field(struct buf *out, const char *name, struct bytes value)
{
    if (bytes_is_null(value)) {
        buf_appendf(out, "\"%s\":null", name);
    } else if (json_is_utf8(value)) {
        buf_appendf(out, "\"%s\":", name);
        json_append_string(out, value);
    } else {
        buf_appendf(out, "\"%s_base64\":\"", name);
        append_base64(out, value);
        buf_append_byte(out, '"');
    }
}

void json_append_envelope(struct buf *out, const struct zkc_message *m)
{
    buf_append_byte(out, '{');
    json_append_field(out, "topic", bytes_of_text(m->topic));
    buf_appendf(out,
                ",\"partition\":%" PRId32 ",\"offset\":%" PRId64
                ",\"tstype\":\"unknown\",\"ts\":0,\"broker\":-1,",
                m->partition, m->offset);
    json_append_field(out, "key", bytes_of(m->key, m->key_len));
    buf_append_byte(out, ',');
    json_append_field(out, "payload", bytes_of(m->value, m->value_len));
    buf_append_byte(out, '}');
}
