#include "zkconsumer/core/base/why.h"
#include "zkconsumer/core/base/utf8.h"
#include <stdarg.h>
#include <stdio.h>

void why_clear(struct why *w)
{
    w->text[0] = '\0';
}

void why_set(struct why *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (vsnprintf(w->text, sizeof w->text, fmt, args) < 0)
        w->text[0] = '\0';
    va_end(args);
}

/* A character of more than one byte is shown as it is. Anything else is a byte: returns the length
 * of what stands for it, at most 4. */
static size_t show_byte(uint8_t byte, char out[5])
{
    static const char hex[] = "0123456789abcdef";
    size_t n = 0;
    if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\') {
        out[n++] = (char)byte;
        return n;
    }
    out[n++] = '\\';
    switch (byte) {
    case '"':
    case '\\': out[n++] = (char)byte; break;
    case '\n': out[n++] = 'n'; break;
    case '\r': out[n++] = 'r'; break;
    case '\t': out[n++] = 't'; break;
    default:
        out[n++] = 'x';
        out[n++] = hex[byte >> 4];
        out[n++] = hex[byte & 15];
    }
    return n;
}

struct why_quote why_quote(struct bytes foreign)
{
    struct why_quote q;
    size_t room = sizeof q.text - sizeof "...";
    size_t at = 0;
    for (size_t i = 0; i < foreign.len;) {
        char shown[5];
        struct utf8_char c = utf8_decode(foreign.data + i, foreign.len - i);
        bool is_text = c.valid && c.code >= 0xa0; /* below are control characters */
        size_t n = is_text ? c.len : show_byte(foreign.data[i], shown);
        if (at + n > room) {
            memcpy(q.text + at, "...", 3);
            at += 3;
            break;
        }
        memcpy(q.text + at, is_text ? (const char *)foreign.data + i : shown, n);
        at += n;
        i += is_text ? c.len : 1;
    }
    q.text[at] = '\0';
    return q;
}

struct why_quote why_quote_first(struct bytes foreign)
{
    return why_quote(bytes_of(foreign.data, utf8_decode(foreign.data, foreign.len).len));
}
