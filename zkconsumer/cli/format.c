#include "zkconsumer/cli/format.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/message_set.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct format_item {
    char token; /* the letter after '%'; 0: literal */
    struct bytes literal;
};

#define TOKENS "tpoksKSRThgmC"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* One escape; `text` is behind the backslash. Returns how many characters it took, 0: a bad one. */
static size_t unescape_one(const char *text, uint8_t *byte)
{
    switch (*text) {
    case 'n': *byte = '\n'; return 1;
    case 'r': *byte = '\r'; return 1;
    case 't': *byte = '\t'; return 1;
    case '0': *byte = 0; return 1;
    case '\\': *byte = '\\'; return 1;
    case 'x': {
        int high = hex_digit(text[1]);
        if (high < 0)
            return 0;
        int low = hex_digit(text[2]);
        *byte = (uint8_t)(low < 0 ? high : high << 4 | low);
        return low < 0 ? 2 : 3;
    }
    default: return 0;
    }
}

size_t format_unescape(const char *text, uint8_t *out, size_t *at)
{
    size_t len = 0;
    for (size_t i = 0; text[i];) {
        if (text[i] != '\\') {
            out[len++] = (uint8_t)text[i++];
            continue;
        }
        size_t taken = unescape_one(text + i + 1, &out[len]);
        if (!taken) {
            *at = i;
            return SIZE_MAX;
        }
        len++;
        i += 1 + taken;
    }
    return len;
}

static bool allocate(struct format *f, size_t items_max, size_t literals_max)
{
    *f = (struct format){
        .items = calloc(items_max, sizeof *f->items),
        .literals = malloc(literals_max),
    };
    if (f->items && f->literals)
        return true;
    format_deinit(f);
    return false;
}

/* Appends to the literal that is being built at the end of the items. */
static void add_literal(struct format *f, size_t *literals_len, uint8_t byte)
{
    struct format_item *last = f->count ? &f->items[f->count - 1] : NULL;
    if (!last || last->token) {
        last = &f->items[f->count++];
        *last = (struct format_item){0, bytes_of(f->literals + *literals_len, 0)};
    }
    f->literals[(*literals_len)++] = byte;
    last->literal.len++;
}

bool format_init(struct format *f, const char *spec, char *why, size_t why_size)
{
    size_t len = strlen(spec), literals_len = 0;
    if (!allocate(f, len + 1, len + 1)) {
        snprintf(why, why_size, "out of memory");
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = (uint8_t)spec[i];
        size_t taken = 0;
        if (spec[i] == '%' && spec[i + 1] && strchr(TOKENS, spec[i + 1])) {
            f->items[f->count++].token = spec[++i];
            continue;
        }
        if (spec[i] == '%' ? spec[i + 1] != '%'
                           : spec[i] == '\\' && !(taken = unescape_one(spec + i + 1, &byte))) {
            snprintf(why, why_size,
                     "unknown %s %.2s at position %zu of the format; known are %%t %%p %%o %%k %%s "
                     "%%K %%S %%R %%T %%h %%g %%m %%C %%%% and \\n \\r \\t \\0 \\\\ \\xNN",
                     spec[i] == '%' ? "token" : "escape", spec + i, i + 1);
            format_deinit(f);
            return false;
        }
        i += spec[i] == '%' ? 1 : taken;
        add_literal(f, &literals_len, byte);
    }
    return true;
}

bool format_init_lines(struct format *f, struct bytes key_separator, struct bytes line_separator,
                       bool with_key)
{
    size_t literals_len = 0;
    if (!allocate(f, 4, key_separator.len + line_separator.len + 1))
        return false;
    if (with_key) {
        f->items[f->count++].token = 'k';
        for (size_t i = 0; i < key_separator.len; i++)
            add_literal(f, &literals_len, key_separator.data[i]);
    }
    f->items[f->count++].token = 's';
    for (size_t i = 0; i < line_separator.len; i++)
        add_literal(f, &literals_len, line_separator.data[i]);
    return true;
}

void format_deinit(struct format *f)
{
    free(f->items);
    free(f->literals);
    *f = (struct format){0};
}

static void append_payload(struct buf *out, const void *data, size_t len, const char *null_text)
{
    if (data)
        buf_append(out, data, len);
    else
        buf_append_text(out, null_text);
}

static int64_t length_or_null(const void *data, size_t len)
{
    return data ? (int64_t)len : -1;
}

static void append_length_be32(struct buf *out, const void *data, size_t len)
{
    uint32_t n = (uint32_t)length_or_null(data, len);
    uint8_t bytes[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
    buf_append(out, bytes, sizeof bytes);
}

/* The CRC that the message has, or would have, outside of a compressed set. */
static void append_checksum(struct buf *out, const struct zkc_message *m)
{
    struct buf entry;
    buf_init(&entry, (size_t)1 << 31);
    message_set_append(&entry, m->offset, m->key ? bytes_of(m->key, m->key_len) : BYTES_NULL,
                       m->value ? bytes_of(m->value, m->value_len) : BYTES_NULL);
    if (entry.failed)
        out->failed = entry.failed;
    else
        buf_appendf(out, "%" PRIu32, read_u32(entry.data + MESSAGE_OVERHEAD));
    buf_deinit(&entry);
}

static void append_token(char token, const struct format_source *source, struct buf *out)
{
    const struct zkc_message *m = source->message;
    switch (token) {
    case 's': append_payload(out, m->value, m->value_len, source->null_text); break;
    case 'k': append_payload(out, m->key, m->key_len, source->null_text); break;
    case 'S': buf_appendf(out, "%" PRId64, length_or_null(m->value, m->value_len)); break;
    case 'K': buf_appendf(out, "%" PRId64, length_or_null(m->key, m->key_len)); break;
    case 'R': append_length_be32(out, m->value, m->value_len); break;
    case 't': buf_append_text(out, m->topic); break;
    case 'p': buf_appendf(out, "%" PRId32, m->partition); break;
    case 'o': buf_appendf(out, "%" PRId64, m->offset); break;
    case 'T': buf_append_text(out, "-1"); break;
    case 'h': break;
    case 'g': buf_append_text(out, source->group); break;
    case 'm': buf_append_text(out, source->member); break;
    case 'C': append_checksum(out, m); break;
    }
}

void format_append(const struct format *f, const struct format_source *source, struct buf *out)
{
    for (size_t k = 0; k < f->count; k++) {
        const struct format_item *i = &f->items[k];
        if (i->token)
            append_token(i->token, source, out);
        else
            buf_append(out, i->literal.data, i->literal.len);
    }
}
