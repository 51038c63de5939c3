/* Two steps, as in Java: natural lines are joined into logical ones with their escapes untouched
 * (LineReader), then each logical line is cut and unescaped (load0, loadConvert). */
#include "zkconsumer/core/base/properties.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/utf8.h"
#include <assert.h>

struct parser {
    struct bytes rest; /* of the text */
    size_t line;       /* number of the natural line that `rest` begins with */
    struct buf logical;
    size_t logical_line; /* where it began */
    struct buf entry;    /* the key, 0, the value, 0 */
    struct why *why;
};

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static enum zkc_err refuse(struct parser *p, const char *problem)
{
    why_set(p->why, "line %zu: %s", p->logical_line, problem);
    return ZKC_ERR_CONFIG;
}

static enum zkc_err check_buf(struct parser *p, const struct buf *b)
{
    if (b->failed != ZKC_ERR_TOO_LARGE)
        return b->failed;
    why_set(p->why, "line %zu: longer than %d bytes", p->logical_line, PROPERTIES_LINE_MAX);
    return ZKC_ERR_CONFIG;
}

static struct bytes skip(struct bytes b, size_t n)
{
    return bytes_of(b.data + n, b.len - n);
}

static struct bytes skip_blanks(struct bytes b)
{
    while (b.len && is_blank(b.data[0]))
        b = skip(b, 1);
    return b;
}

/* Takes one natural line, without its end: \n, \r or \r\n. */
static struct bytes take_natural_line(struct parser *p)
{
    size_t len = 0;
    while (len < p->rest.len && p->rest.data[len] != '\n' && p->rest.data[len] != '\r')
        len++;
    struct bytes line = bytes_of(p->rest.data, len);
    if (len < p->rest.len) {
        bool is_pair =
            p->rest.data[len] == '\r' && p->rest.len - len > 1 && p->rest.data[len + 1] == '\n';
        len += is_pair ? 2 : 1;
    }
    p->rest = skip(p->rest, len);
    p->line++;
    return line;
}

static bool goes_on(struct bytes line)
{
    size_t slashes = 0;
    while (slashes < line.len && line.data[line.len - 1 - slashes] == '\\')
        slashes++;
    return slashes % 2 == 1;
}

/* Puts the next line with something in it into `logical`; leaves that empty at the end. */
static enum zkc_err take_logical_line(struct parser *p)
{
    buf_clear(&p->logical);
    while (p->rest.len && !p->logical.len) {
        p->logical_line = p->line;
        struct bytes line = skip_blanks(take_natural_line(p));
        if (line.len && (line.data[0] == '#' || line.data[0] == '!'))
            continue;
        while (goes_on(line)) {
            buf_append(&p->logical, line.data, line.len - 1);
            line = p->rest.len ? skip_blanks(take_natural_line(p)) : BYTES_NULL;
        }
        buf_append(&p->logical, line.data, line.len);
        enum zkc_err err = check_buf(p, &p->logical);
        if (err)
            return err;
    }
    return ZKC_OK;
}

/* The unit of \uXXXX at the beginning of `text`, or -1. */
static int32_t unicode_escape(struct bytes text)
{
    int32_t unit = 0;
    if (text.len < 6 || text.data[0] != '\\' || text.data[1] != 'u')
        return -1;
    for (size_t i = 2; i < 6; i++) {
        uint8_t c = text.data[i], low = c | 0x20;
        if (c >= '0' && c <= '9')
            unit = unit * 16 + (c - '0');
        else if (low >= 'a' && low <= 'f')
            unit = unit * 16 + (low - 'a' + 10);
        else
            return -1;
    }
    return unit;
}

/* Appends the character that the \u escape at the beginning of *text stands for (a pair of them,
 * for one above the basic plane), and takes it off. */
static enum zkc_err take_unicode_escape(struct parser *p, struct bytes *text)
{
    int32_t code = unicode_escape(*text);
    size_t taken = 6;
    if (code >= 0xD800 && code <= 0xDBFF) {
        int32_t low = unicode_escape(skip(*text, 6));
        if (low < 0xDC00 || low > 0xDFFF)
            return refuse(p, "\\u escape of half a character (a surrogate without its other half)");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        taken = 12;
    }
    if (code < 0)
        return refuse(p, "\\u without four hexadecimal digits");
    if (code == 0)
        return refuse(p, "character 0");
    if (code >= 0xDC00 && code <= 0xDFFF)
        return refuse(p, "\\u escape of half a character (a surrogate without its other half)");
    uint8_t encoded[4];
    buf_append(&p->entry, encoded, utf8_encode((uint32_t)code, encoded));
    *text = skip(*text, taken);
    return ZKC_OK;
}

/* *text begins with '\'. */
static enum zkc_err take_escape(struct parser *p, struct bytes *text)
{
    assert(text->len >= 2); /* take_logical_line() has taken off an unpaired '\\' at the end */
    uint8_t c = text->data[1];
    if (c == 'u')
        return take_unicode_escape(p, text);
    switch (c) {
    case 't': c = '\t'; break;
    case 'n': c = '\n'; break;
    case 'r': c = '\r'; break;
    case 'f': c = '\f'; break;
    }
    buf_append_byte(&p->entry, c);
    *text = skip(*text, 2);
    return ZKC_OK;
}

/* Appends the key, terminated, and takes it off. */
static enum zkc_err take_key(struct parser *p, struct bytes *text)
{
    while (text->len && !is_blank(text->data[0]) && text->data[0] != '=' && text->data[0] != ':') {
        if (text->data[0] == '\\') {
            enum zkc_err err = take_escape(p, text);
            if (err)
                return err;
            continue;
        }
        buf_append_byte(&p->entry, text->data[0]);
        *text = skip(*text, 1);
    }
    if (!p->entry.len && !p->entry.failed)
        return refuse(p, "no key before the separator; expected key=value");
    buf_append_byte(&p->entry, 0);
    return ZKC_OK;
}

static struct bytes skip_separator(struct bytes text)
{
    text = skip_blanks(text);
    if (text.len && (text.data[0] == '=' || text.data[0] == ':'))
        text = skip_blanks(skip(text, 1));
    return text;
}

/* Appends the value, terminated. */
static enum zkc_err take_value(struct parser *p, struct bytes text, bool *is_trimmed)
{
    size_t end = p->entry.len; /* of what stays: blanks at the end stay only if escaped */
    while (text.len) {
        bool stays = !is_blank(text.data[0]);
        if (text.data[0] == '\\') {
            enum zkc_err err = take_escape(p, &text);
            if (err)
                return err;
        } else {
            buf_append_byte(&p->entry, text.data[0]);
            text = skip(text, 1);
        }
        if (stays)
            end = p->entry.len;
    }
    *is_trimmed = end < p->entry.len;
    p->entry.len = end;
    buf_append_byte(&p->entry, 0);
    return ZKC_OK;
}

static enum zkc_err check_characters(struct parser *p)
{
    for (size_t i = 0; i < p->logical.len;) {
        struct utf8_char c = utf8_decode(p->logical.data + i, p->logical.len - i);
        if (!c.valid)
            return refuse(p, "bytes that are no UTF-8");
        if (!c.code)
            return refuse(p, "character 0");
        i += c.len;
    }
    return ZKC_OK;
}

static enum zkc_err give_entry(struct parser *p, property_fn *fn, void *user)
{
    struct property property = {.line = p->logical_line};
    struct bytes text = buf_bytes(&p->logical);
    buf_clear(&p->entry);
    enum zkc_err err = check_characters(p);
    if (!err)
        err = take_key(p, &text);
    size_t value_at = p->entry.len;
    if (!err)
        err = take_value(p, skip_separator(text), &property.is_trimmed);
    if (!err)
        err = check_buf(p, &p->entry);
    if (err)
        return err;
    property.key = (const char *)p->entry.data;
    property.value = (const char *)p->entry.data + value_at;
    return fn(&property, user);
}

enum zkc_err properties_parse(struct bytes text, property_fn *fn, void *user, struct why *why)
{
    struct parser p = {.rest = text, .line = 1, .why = why};
    enum zkc_err err = ZKC_OK;
    why_clear(why);
    if (text.len >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0)
        p.rest = skip(text, 3);
    buf_init(&p.logical, PROPERTIES_LINE_MAX);
    buf_init(&p.entry, PROPERTIES_LINE_MAX + 2);
    while (!err) {
        err = take_logical_line(&p);
        if (err || !p.logical.len)
            break;
        err = give_entry(&p, fn, user);
    }
    buf_deinit(&p.logical);
    buf_deinit(&p.entry);
    return err;
}
