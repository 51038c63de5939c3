#include "zkconsumer/core/base/json.h"
#include "zkconsumer/core/base/utf8.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static void escape(struct buf *out, struct bytes text)
{
    const uint8_t *plain = text.data, *at = text.data, *end = text.data + text.len;
    buf_append_byte(out, '"');
    while (at < end) {
        struct utf8_char c = utf8_decode(at, (size_t)(end - at));
        if (c.valid && c.code >= 0x20 && c.code != '"' && c.code != '\\') {
            at += c.len;
            continue;
        }
        buf_append(out, plain, (size_t)(at - plain));
        if (c.code == '"' || c.code == '\\')
            buf_appendf(out, "\\%c", (int)c.code);
        else
            buf_appendf(out, "\\u%04x", (unsigned)c.code);
        at += c.len;
        plain = at;
    }
    buf_append(out, plain, (size_t)(at - plain));
    buf_append_byte(out, '"');
}

static void member(struct json *j, const char *key)
{
    if (j->needs_comma)
        buf_append_byte(j->out, ',');
    if (key) {
        escape(j->out, bytes_of_text(key));
        buf_append_byte(j->out, ':');
    }
    j->needs_comma = true;
}

static void begin(struct json *j, const char *key, char bracket)
{
    member(j, key);
    buf_append_byte(j->out, (uint8_t)bracket);
    j->needs_comma = false;
}

static void end(struct json *j, char bracket)
{
    buf_append_byte(j->out, (uint8_t)bracket);
    j->needs_comma = true;
}

void json_object_begin(struct json *j, const char *key)
{
    begin(j, key, '{');
}
void json_object_end(struct json *j)
{
    end(j, '}');
}
void json_list_begin(struct json *j, const char *key)
{
    begin(j, key, '[');
}
void json_list_end(struct json *j)
{
    end(j, ']');
}

void json_int(struct json *j, const char *key, int64_t value)
{
    member(j, key);
    buf_appendf(j->out, "%" PRId64, value);
}

/* By hand: a locale may have another decimal point. */
void json_thousandths(struct json *j, const char *key, int64_t value)
{
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    member(j, key);
    buf_appendf(j->out, "%s%" PRIu64 ".%03d", value < 0 ? "-" : "", size / 1000,
                (int)(size % 1000));
}

void json_bool(struct json *j, const char *key, bool value)
{
    member(j, key);
    buf_append_text(j->out, value ? "true" : "false");
}

void json_bytes(struct json *j, const char *key, struct bytes text)
{
    member(j, key);
    if (bytes_is_null(text))
        buf_append_text(j->out, "null");
    else
        escape(j->out, text);
}

void json_text(struct json *j, const char *key, const char *text)
{
    json_bytes(j, key, bytes_of_text(text));
}

void json_hex(struct json *j, const char *key, uint64_t value)
{
    member(j, key);
    buf_appendf(j->out, "\"%016" PRIx64 "\"", value);
}

void json_textf(struct json *j, const char *key, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    json_bytes(j, key, bytes_of(text, len));
}
