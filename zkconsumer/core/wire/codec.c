#include "zkconsumer/core/wire/codec.h"
#include "zkconsumer/core/base/utf8.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* Longer bytes fields are printed by their length only. */
#define PRINTED_BYTES_MAX 48

void wire_codec_read(struct wire_codec *c, int16_t version, struct bytes in, struct arena *arena)
{
    *c = (struct wire_codec){.direction = WIRE_READ, .version = version, .in = in, .arena = arena};
}

void wire_codec_write(struct wire_codec *c, int16_t version, struct buf *out)
{
    *c = (struct wire_codec){.direction = WIRE_WRITE, .version = version, .out = out};
}

void wire_codec_size(struct wire_codec *c, int16_t version)
{
    *c = (struct wire_codec){.direction = WIRE_SIZE, .version = version};
}

void wire_codec_print(struct wire_codec *c, int16_t version, struct buf *out)
{
    *c = (struct wire_codec){.direction = WIRE_PRINT, .version = version, .out = out};
}

/* Appends to the reason, as far as it fits. */
ZKC_PRINTF(3, 4) static size_t add_reason(struct wire_codec *c, size_t at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(c->reason + at, sizeof c->reason - at, fmt, args);
    va_end(args);
    size_t left = sizeof c->reason - at - 1;
    return at + (n < 0 ? 0 : (size_t)n < left ? (size_t)n : left);
}

/* Keeps the first failure, with the path of field `name` (NULL: the element just begun). */
ZKC_PRINTF(4, 5)
static void fail(struct wire_codec *c, enum zkc_err err, const char *name, const char *fmt, ...)
{
    if (c->failed)
        return;
    c->failed = err;
    size_t at = 0;
    for (size_t i = 0; i < c->depth; i++)
        if (c->scopes[i].name)
            at = add_reason(c, at, "%s%s[%zu]", at ? "." : "", c->scopes[i].name,
                            c->scopes[i].elements - 1);
    if (name)
        at = add_reason(c, at, "%s%s", at ? "." : "", name);
    at = add_reason(c, at, "%sat byte %zu: ", at ? " " : "",
                    c->direction == WIRE_PRINT ? c->out->len : c->position);
    char what[WIRE_REASON_SIZE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    add_reason(c, at, "%s", what);
}

enum zkc_err wire_codec_end(struct wire_codec *c)
{
    if (c->direction == WIRE_READ && !c->failed && wire_codec_left(c))
        fail(c, ZKC_ERR_PROTOCOL, NULL, "%zu bytes are left over behind the last field",
             wire_codec_left(c));
    return c->failed;
}

/* Takes over a failure of the buffer that is written to. */
static void check_out(struct wire_codec *c, const char *name)
{
    if (c->out->failed == ZKC_ERR_NOMEM)
        fail(c, ZKC_ERR_NOMEM, name, "out of memory");
    else if (c->out->failed)
        fail(c, c->out->failed, name, "the output is larger than its maximum of %zu bytes",
             c->out->max);
}

static const uint8_t *take(struct wire_codec *c, const char *name, size_t len)
{
    if (c->failed)
        return NULL;
    if (len > wire_codec_left(c)) {
        fail(c, ZKC_ERR_PROTOCOL, name, "%zu bytes expected, but only %zu are left", len,
             wire_codec_left(c));
        return NULL;
    }
    c->position += len;
    return c->in.data + (c->position - len);
}

static void put(struct wire_codec *c, const char *name, const void *data, size_t len)
{
    if (c->failed)
        return;
    buf_append(c->out, data, len);
    check_out(c, name);
    c->position += len;
}

/* ---- Printing: straight on; wire_struct_end() looks whether the output has failed ---- */

/* A JSON string; bytes that are not UTF-8 are shown as if they were Latin-1. */
static void print_text(struct wire_codec *c, struct bytes v)
{
    buf_append_byte(c->out, '"');
    for (size_t i = 0; i < v.len;) {
        const uint8_t *at = v.data + i;
        struct utf8_char character = utf8_decode(at, v.len - i);
        if (!character.valid || *at < 0x20)
            buf_appendf(c->out, "\\u%04x", *at);
        else if (*at == '"' || *at == '\\')
            buf_appendf(c->out, "\\%c", *at);
        else
            buf_append(c->out, at, character.len);
        i += character.len;
    }
    buf_append_byte(c->out, '"');
}

static void print_bytes(struct wire_codec *c, struct bytes v)
{
    if (v.len > PRINTED_BYTES_MAX) {
        buf_appendf(c->out, "{\"length\": %zu}", v.len);
        return;
    }
    buf_append_text(c->out, "{\"hex\": \"");
    for (size_t i = 0; i < v.len; i++)
        buf_appendf(c->out, "%02x", v.data[i]);
    buf_append_text(c->out, "\"}");
}

/* ---- Structure ---- */

/* Counts a field or element into the struct or array it is in, and prints what stands before it. */
static void begin_value(struct wire_codec *c, const char *name)
{
    size_t before = 0;
    if (c->depth)
        before = c->scopes[c->depth - 1].elements++;
    if (c->direction != WIRE_PRINT)
        return;
    if (before)
        buf_append_text(c->out, ", ");
    if (name)
        buf_appendf(c->out, "\"%s\": ", name);
}

static void open_scope(struct wire_codec *c, const char *name)
{
    assert(c->depth < WIRE_DEPTH_MAX);
    c->scopes[c->depth++] = (struct wire_scope){.name = name};
}

static void print_bracket(struct wire_codec *c, char bracket)
{
    if (c->direction == WIRE_PRINT)
        buf_append(c->out, &bracket, 1);
}

void wire_struct_begin(struct wire_codec *c)
{
    begin_value(c, NULL);
    print_bracket(c, '{');
    open_scope(c, NULL);
}

void wire_struct_end(struct wire_codec *c)
{
    assert(c->depth > 0);
    c->depth--;
    print_bracket(c, '}');
    if (c->direction == WIRE_PRINT)
        check_out(c, NULL);
}

static int64_t integer(struct wire_codec *c, const char *name, size_t size, int64_t v);

/* Reads the elements' number and makes room for them. */
static void *read_array(struct wire_codec *c, const char *name, size_t *count, size_t element_size,
                        size_t element_bytes_min)
{
    *count = 0;
    int64_t n = integer(c, name, 4, 0);
    if (n < 0)
        fail(c, ZKC_ERR_PROTOCOL, name, "an array of %" PRId64 " elements, expected 0 or more", n);
    else if ((uint64_t)n > wire_codec_left(c) / element_bytes_min)
        fail(c, ZKC_ERR_PROTOCOL, name,
             "an array of %" PRId64 " elements of at least %zu bytes, but only %zu bytes are left",
             n, element_bytes_min, wire_codec_left(c));
    if (c->failed || n == 0)
        return NULL;
    void *elements = arena_alloc_array(c->arena, (size_t)n, element_size);
    if (!elements) {
        fail(c, c->arena->failed, name,
             c->arena->failed == ZKC_ERR_NOMEM
                 ? "out of memory for an array of %" PRId64 " elements"
                 : "an array of %" PRId64 " elements is over the memory allowed for a message",
             n);
        return NULL;
    }
    *count = (size_t)n;
    return elements;
}

void *wire_array_begin(struct wire_codec *c, const char *name, void *elements, size_t *count,
                       size_t element_size, size_t element_bytes_min)
{
    assert(element_bytes_min > 0);
    begin_value(c, name);
    switch (c->direction) {
    case WIRE_READ: elements = read_array(c, name, count, element_size, element_bytes_min); break;
    case WIRE_WRITE:
    case WIRE_SIZE:
        if (*count > INT32_MAX)
            fail(c, ZKC_ERR_TOO_LARGE, name, "an array of %zu elements", *count);
        integer(c, name, 4, (int64_t)*count);
        break;
    case WIRE_PRINT: print_bracket(c, '['); break;
    }
    open_scope(c, name);
    return elements;
}

void wire_array_end(struct wire_codec *c)
{
    assert(c->depth > 0);
    c->depth--;
    print_bracket(c, ']');
}

/* ---- Fields ---- */

/* A signed big-endian number of `size` bytes. When reading gives what was read, else v. Only
 * reading stores it: a message that is written may be shared by threads. */
static int64_t integer(struct wire_codec *c, const char *name, size_t size, int64_t v)
{
    uint8_t wire[8];
    switch (c->direction) {
    case WIRE_READ: {
        const uint8_t *p = take(c, name, size);
        if (!p)
            return 0;
        uint64_t u = p[0] & 0x80 ? UINT64_MAX : 0;
        for (size_t i = 0; i < size; i++)
            u = u << 8 | p[i];
        return (int64_t)u;
    }
    case WIRE_WRITE:
        for (size_t i = 0; i < size; i++)
            wire[i] = (uint8_t)((uint64_t)v >> 8 * (size - 1 - i));
        put(c, name, wire, size);
        break;
    case WIRE_SIZE: c->position += size; break;
    case WIRE_PRINT: buf_appendf(c->out, "%" PRId64, v); break;
    }
    return v;
}

static int64_t integer_field(struct wire_codec *c, const char *name, size_t size, int64_t v)
{
    begin_value(c, name);
    return integer(c, name, size, v);
}

void wire_bool(struct wire_codec *c, const char *name, bool *v)
{
    begin_value(c, name);
    if (c->direction == WIRE_READ)
        *v = integer(c, name, 1, 0) != 0;
    else if (c->direction == WIRE_PRINT)
        buf_append_text(c->out, *v ? "true" : "false");
    else
        integer(c, name, 1, *v);
}

void wire_i8(struct wire_codec *c, const char *name, int8_t *v)
{
    int64_t n = integer_field(c, name, 1, *v);
    if (c->direction == WIRE_READ)
        *v = (int8_t)n;
}

void wire_i16(struct wire_codec *c, const char *name, int16_t *v)
{
    int64_t n = integer_field(c, name, 2, *v);
    if (c->direction == WIRE_READ)
        *v = (int16_t)n;
}

void wire_i32(struct wire_codec *c, const char *name, int32_t *v)
{
    int64_t n = integer_field(c, name, 4, *v);
    if (c->direction == WIRE_READ)
        *v = (int32_t)n;
}

void wire_i64(struct wire_codec *c, const char *name, int64_t *v)
{
    int64_t n = integer_field(c, name, 8, *v);
    if (c->direction == WIRE_READ)
        *v = n;
}

void wire_u32(struct wire_codec *c, const char *name, uint32_t *v)
{
    int64_t n = integer_field(c, name, 4, *v);
    if (c->direction == WIRE_READ)
        *v = (uint32_t)n;
}

/* Strings and bytes: they differ in the size of their length and in how they are printed. */
struct blob_type {
    const char *what;
    size_t length_size;
    int64_t length_max;
    bool nullable;
};

static const struct blob_type string_type = {"a string", 2, INT16_MAX, false};
static const struct blob_type nullable_string_type = {"a string", 2, INT16_MAX, true};
static const struct blob_type bytes_type = {"a bytes field", 4, INT32_MAX, false};
static const struct blob_type nullable_bytes_type = {"a bytes field", 4, INT32_MAX, true};

static void read_blob(struct wire_codec *c, const char *name, struct bytes *v,
                      const struct blob_type *type)
{
    *v = BYTES_NULL;
    int64_t len = integer(c, name, type->length_size, 0);
    if (c->failed || (len == -1 && type->nullable))
        return;
    if (len < 0) {
        fail(c, ZKC_ERR_PROTOCOL, name, "%s of length %" PRId64 ", expected %d or more", type->what,
             len, type->nullable ? -1 : 0);
        return;
    }
    if ((uint64_t)len > wire_codec_left(c)) {
        fail(c, ZKC_ERR_PROTOCOL, name, "%s of %" PRId64 " bytes, but only %zu are left",
             type->what, len, wire_codec_left(c));
        return;
    }
    *v = bytes_of(take(c, name, (size_t)len), (size_t)len);
}

static void write_blob(struct wire_codec *c, const char *name, struct bytes v,
                       const struct blob_type *type)
{
    if (bytes_is_null(v) && !type->nullable)
        fail(c, ZKC_ERR_INVALID, name, "null, where %s must be", type->what);
    else if (v.len > (uint64_t)type->length_max)
        fail(c, ZKC_ERR_TOO_LARGE, name, "%s of %zu bytes, at most %" PRId64 " are possible",
             type->what, v.len, type->length_max);
    integer(c, name, type->length_size, bytes_is_null(v) ? -1 : (int64_t)v.len);
    if (c->direction == WIRE_SIZE)
        c->position += v.len;
    else
        put(c, name, v.data, v.len);
}

static void blob(struct wire_codec *c, const char *name, struct bytes *v,
                 const struct blob_type *type)
{
    begin_value(c, name);
    switch (c->direction) {
    case WIRE_READ: read_blob(c, name, v, type); break;
    case WIRE_WRITE:
    case WIRE_SIZE: write_blob(c, name, *v, type); break;
    case WIRE_PRINT:
        if (bytes_is_null(*v))
            buf_append_text(c->out, "null");
        else if (type->length_size == 2)
            print_text(c, *v);
        else
            print_bytes(c, *v);
        break;
    }
}

void wire_string(struct wire_codec *c, const char *name, struct bytes *v)
{
    blob(c, name, v, &string_type);
}

void wire_nullable_string(struct wire_codec *c, const char *name, struct bytes *v)
{
    blob(c, name, v, &nullable_string_type);
}

void wire_bytes(struct wire_codec *c, const char *name, struct bytes *v)
{
    blob(c, name, v, &bytes_type);
}

void wire_nullable_bytes(struct wire_codec *c, const char *name, struct bytes *v)
{
    blob(c, name, v, &nullable_bytes_type);
}
