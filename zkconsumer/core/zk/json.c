/* jansson refuses what Scala's parser takes, so the text is first made strict JSON: one pass over
 * the bytes that knows strings from what stands between them. What the pass does not understand it
 * leaves alone, and jansson refuses it. Compared with the real parser: tests/vectors/zk. */
#include "zkconsumer/core/zk/json.h"
#include "zkconsumer/core/base/utf8.h"
#include "zkconsumer/core/zk/path.h"

static char escape_letter(uint32_t code)
{
    switch (code) {
    case '"': return '"';
    case '\\': return '\\';
    case '/': return '/';
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    }
    return '\0';
}

void zk_json_append_string(struct buf *out, const char *text)
{
    size_t len = strlen(text);
    buf_append_byte(out, '"');
    for (size_t i = 0; i < len;) {
        struct utf8_char c = utf8_decode((const uint8_t *)text + i, len - i);
        if (escape_letter(c.code)) {
            buf_append_byte(out, '\\');
            buf_append_byte(out, (uint8_t)escape_letter(c.code));
        } else if (c.code <= 0x1F || (c.code >= 0x7F && c.code <= 0x9F)) {
            buf_appendf(out, "\\u%04x", (unsigned)c.code);
        } else {
            buf_append(out, text + i, c.len);
        }
        i += c.len;
    }
    buf_append_byte(out, '"');
}

struct strict {
    struct bytes in;
    size_t at;
    struct buf out;
    struct why *java; /* told once; may be NULL */
};

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(uint8_t c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Scala's whitespaceChar: all control characters but 1A, which it takes for the end of the text. */
static bool is_blank(uint8_t c)
{
    return c <= ' ' && c != 0x1A;
}

#define TELL_JAVA(s, ...)                                                                          \
    do {                                                                                           \
        if ((s)->java && !(s)->java->text[0])                                                      \
            why_set((s)->java, __VA_ARGS__);                                                       \
    } while (0)

/* Java members read every number by Integer.parseInt. */
static bool fits_java_int(struct bytes number)
{
    int64_t n = 0;
    bool negative = number.data[0] == '-';
    for (size_t i = negative; i < number.len; i++) {
        if (!is_digit(number.data[i]))
            return false;
        n = n * 10 + (number.data[i] - '0');
        if (n > (int64_t)INT32_MAX + negative)
            return false;
    }
    return true;
}

static void strict_number(struct strict *s)
{
    size_t first = s->out.len;
    if (s->in.data[s->at] == '-') {
        buf_append_byte(&s->out, '-');
        do
            s->at++; /* Scala takes "- 1" */
        while (s->at < s->in.len && is_blank(s->in.data[s->at]));
    }
    size_t from = s->at;
    while (s->at < s->in.len &&
           (is_digit(s->in.data[s->at]) || memchr(".eE+-", s->in.data[s->at], 5)))
        s->at++;
    buf_append(&s->out, s->in.data + from, s->at - from);
    if (s->out.failed)
        return;
    struct bytes number = bytes_of(s->out.data + first, s->out.len - first);
    if (!fits_java_int(number))
        TELL_JAVA(s, "number %s is no 32-bit integer, which is all that Java members read",
                  why_quote(number).text);
}

/* The unit that \uXXXX at `at` names, or -1. */
static int32_t unicode_escape(const struct strict *s, size_t at)
{
    if (s->in.len - at < 6 || s->in.data[at] != '\\' || s->in.data[at + 1] != 'u')
        return -1;
    int32_t unit = 0;
    for (size_t i = at + 2; i < at + 6; i++) {
        uint8_t c = s->in.data[i];
        if (!is_hex(c))
            return -1;
        unit = unit * 16 + (is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return unit;
}

static void strict_escape(struct strict *s)
{
    const uint8_t *at = s->in.data + s->at;
    int32_t unit = unicode_escape(s, s->at);
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        int32_t low = unicode_escape(s, s->at + 6);
        bool pair = low >= 0xDC00 && low <= 0xDFFF;
        buf_append(&s->out, pair ? (const char *)at : "\\ufffd", pair ? 12 : 6);
        s->at += pair ? 12 : 6;
    } else if (unit == 0 || (unit >= 0xDC00 && unit <= 0xDFFF)) {
        buf_append_text(&s->out, "\\ufffd");
        s->at += 6;
    } else if (unit >= 0) {
        buf_append(&s->out, at, 6);
        s->at += 6;
    } else if (s->in.len - s->at >= 2 && memchr("\"\\/bfnrt", at[1], 8)) {
        buf_append(&s->out, at, 2);
        s->at += 2;
    } else { /* no escape of JSON: both characters stand for themselves */
        buf_append_text(&s->out, "\\\\");
        s->at++;
    }
}

/* From after the opening quote to after the closing one. */
static void strict_string(struct strict *s)
{
    while (s->at < s->in.len) {
        uint8_t c = s->in.data[s->at];
        if (c == '\\') {
            strict_escape(s);
            continue;
        }
        struct utf8_char u = utf8_decode(s->in.data + s->at, s->in.len - s->at);
        if (c == 0 || !u.valid) {
            buf_append_text(&s->out, "\xEF\xBF\xBD");
        } else if (c < 0x20) {
            if (c == '\n' || c == 0x1A)
                TELL_JAVA(s,
                          "control character 0x%02x in a string, which ends the text for Java "
                          "members",
                          c);
            buf_appendf(&s->out, "\\u%04x", c);
        } else {
            buf_append(&s->out, s->in.data + s->at, u.len);
        }
        s->at += u.len;
        if (c == '"')
            return;
    }
}

static void make_strict(struct strict *s)
{
    while (s->at < s->in.len) {
        uint8_t c = s->in.data[s->at];
        if (c == '-' || is_digit(c)) {
            strict_number(s);
            continue;
        }
        s->at++;
        buf_append_byte(&s->out, is_blank(c) ? ' ' : c);
        if (c == '"')
            strict_string(s);
    }
}

static enum zkc_err explain(const json_error_t *error, struct bytes data, struct why *why)
{
    /* jansson leaves the text empty where an allocation failed deep inside. */
    if (!error->text[0] || json_error_code(error) == json_error_out_of_memory)
        return ZKC_ERR_NOMEM;
    why_set(why, "no JSON that can be read: %s, near byte %d of \"%s\"",
            why_quote(bytes_of_text(error->text)).text, error->position, why_quote(data).text);
    return ZKC_ERR_CORRUPT;
}

enum zkc_err zk_json_read_object(struct bytes data, json_t **out, struct why *java, struct why *why)
{
    why_clear(why);
    if (java)
        why_clear(java);
    if (!data.len) {
        why_set(why, "no data; expected a JSON object");
        return ZKC_ERR_CORRUPT;
    }
    if (data.len > ZK_DATA_BYTES_MAX) {
        why_set(why, "%zu bytes of data; expected at most %d", data.len, ZK_DATA_BYTES_MAX);
        return ZKC_ERR_TOO_LARGE;
    }
    struct strict s = {.in = data, .java = java};
    buf_init(&s.out, 6 * data.len); /* "\u001f" for one byte is the most */
    make_strict(&s);
    enum zkc_err err = s.out.failed;
    json_error_t error = {.position = 0};
    json_t *json = err ? NULL : json_loadb((const char *)s.out.data, s.out.len, 0, &error);
    if (!err && !json) {
        err = explain(&error, data, why);
    } else if (!err && !json_is_object(json)) {
        why_set(why, "a JSON array; expected an object");
        err = ZKC_ERR_CORRUPT;
        json_decref(json);
    }
    buf_deinit(&s.out);
    if (!err)
        *out = json;
    return err;
}
