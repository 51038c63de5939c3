#include "zkconsumer/core/base/why.h"
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

/* One byte as it is shown; returns the length, at most 4. */
static size_t show_byte(uint8_t byte, char out[5])
{
    static const char hex[] = "0123456789abcdef";
    size_t n = 0;
    if (byte >= 0x20 && byte != 0x7f && byte != '"' && byte != '\\') {
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
    for (size_t i = 0; i < foreign.len; i++) {
        char shown[5];
        size_t n = show_byte(foreign.data[i], shown);
        if (at + n > room) {
            memcpy(q.text + at, "...", 3);
            at += 3;
            break;
        }
        memcpy(q.text + at, shown, n);
        at += n;
    }
    q.text[at] = '\0';
    return q;
}
