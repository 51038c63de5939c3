#include "zkconsumer/core/wire/message_set.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/crc32.h"
#include <inttypes.h>
#include <stdio.h>

/* Where the fields of an entry are. */
enum {
    AT_OFFSET = 0,
    AT_SIZE = 8,
    AT_CRC = 12,
    AT_MAGIC = 16, /* the CRC covers everything from here on */
    AT_ATTRIBUTES = 17,
    AT_KEY = 18,
};

#define ENTRY_BYTES_MIN (MESSAGE_OVERHEAD + MESSAGE_SIZE_MIN)

/* Bytes of the entry at `at`, its overhead included; 0: no complete entry begins there. */
static inline size_t entry_bytes(const uint8_t *at, const uint8_t *end)
{
    size_t left = (size_t)(end - at);
    if (left < ENTRY_BYTES_MIN)
        return 0;
    int32_t size = read_i32(at + AT_SIZE);
    if (size < MESSAGE_SIZE_MIN || (size_t)size > left - MESSAGE_OVERHEAD)
        return 0;
    return MESSAGE_OVERHEAD + (size_t)size;
}

static const uint8_t *end_of(struct bytes set)
{
    return set.len ? set.data + set.len : set.data; /* a null set: no arithmetic on NULL */
}

/* What stands where no complete entry begins. */
enum tail {
    TAIL_NOTHING,
    TAIL_PADDING, /* an entry with a negative offset, never complete: what Kafka 2.x and later fill
                   * up with after converting (LazyDownConversionRecordsSend) */
    TAIL_INCOMPLETE,
    TAIL_BAD_SIZE,
};

static enum tail tail_of(const uint8_t *at, const uint8_t *end)
{
    size_t left = (size_t)(end - at);
    if (left == 0)
        return TAIL_NOTHING;
    if (left >= AT_SIZE && read_i64(at + AT_OFFSET) < 0)
        return TAIL_PADDING;
    if (left >= MESSAGE_OVERHEAD && read_i32(at + AT_SIZE) < MESSAGE_SIZE_MIN)
        return TAIL_BAD_SIZE;
    return TAIL_INCOMPLETE;
}

/* Bytes that the incomplete entry would need; 0: not yet to be seen. */
static size_t size_needed(const uint8_t *at, const uint8_t *end)
{
    if (end - at < MESSAGE_OVERHEAD)
        return 0;
    return MESSAGE_OVERHEAD + (size_t)read_u32(at + AT_SIZE);
}

struct message_set_extent message_set_extent(struct bytes set)
{
    struct message_set_extent x = {.state = MESSAGE_SET_OK, .next_offset = -1};
    const uint8_t *at = set.data, *end = end_of(set);
    for (size_t n; (n = entry_bytes(at, end)) > 0; at += n) {
        int64_t offset = read_i64(at + AT_OFFSET);
        if (offset < 0 || offset == INT64_MAX) {
            x.state = MESSAGE_SET_CORRUPT;
            return x;
        }
        x.next_offset = offset + 1;
        x.valid_bytes += n;
        x.entries++;
    }
    enum tail tail = tail_of(at, end);
    if (tail == TAIL_BAD_SIZE) {
        x.state = MESSAGE_SET_CORRUPT;
    } else if (x.entries == 0 && tail == TAIL_INCOMPLETE) {
        x.state = MESSAGE_SET_TOO_LARGE;
        x.size_needed = size_needed(at, end);
    } else if (x.entries == 0) {
        x.state = MESSAGE_SET_EMPTY;
    }
    return x;
}

/* ---- Iteration ---- */

void message_iter_init(struct message_iter *it, struct bytes set,
                       const struct message_iter_limits *limits)
{
    memset(it, 0, sizeof *it);
    it->levels[0].at = it->begin = set.data;
    it->levels[0].end = end_of(set);
    it->limits = *limits;
    it->end = MESSAGE_ITER_MESSAGE;
}

void message_iter_deinit(struct message_iter *it)
{
    for (size_t i = 1; i <= MESSAGE_DEPTH_MAX; i++)
        buf_deinit(&it->levels[i].data);
}

/* Notes what is wrong with the entry at `at` of the current level. */
ZKC_PRINTF(4, 5)
static enum message_iter_result fault(struct message_iter *it, enum zkc_err err, const uint8_t *at,
                                      const char *fmt, ...)
{
    const struct message_level *l = &it->levels[it->depth];
    struct message_fault *f = &it->fault;
    f->err = err;
    f->offset = l->end - at >= AT_SIZE ? read_i64(at + AT_OFFSET) : -1;
    f->position = (size_t)((it->depth ? it->wrapper : at) - it->begin);
    f->size_needed = 0;
    va_list args;
    va_start(args, fmt);
    vsnprintf(f->reason, sizeof f->reason, fmt, args);
    va_end(args);
    return MESSAGE_ITER_CORRUPT;
}

/* At the end of the set itself. */
static enum message_iter_result end_set(struct message_iter *it)
{
    struct message_level *l = &it->levels[0];
    switch (tail_of(l->at, l->end)) {
    case TAIL_NOTHING:
    case TAIL_PADDING: return it->end = MESSAGE_ITER_END;
    case TAIL_BAD_SIZE:
        it->end = MESSAGE_ITER_END;
        return fault(it, ZKC_ERR_CORRUPT, l->at,
                     "an entry of size %" PRId32 ", at least %d expected",
                     read_i32(l->at + AT_SIZE), MESSAGE_SIZE_MIN);
    case TAIL_INCOMPLETE: break;
    }
    if (l->at != it->begin)
        return it->end = MESSAGE_ITER_PARTIAL;
    size_t needed = size_needed(l->at, l->end);
    fault(it, ZKC_ERR_TOO_LARGE, l->at, "a message of %zu bytes does not fit into the %zu fetched",
          needed, (size_t)(l->end - l->at));
    it->fault.size_needed = needed;
    return it->end = MESSAGE_ITER_TOO_LARGE;
}

/* Back to the level above, at the end of a wrapper's set; MESSAGE_ITER_MESSAGE: all is well. Such a
 * set was never cut by a fetch: an incomplete entry in it is a fault. */
static enum message_iter_result leave_wrapper(struct message_iter *it)
{
    struct message_level *l = &it->levels[it->depth];
    enum message_iter_result result = MESSAGE_ITER_MESSAGE;
    if (l->at != l->end)
        result = fault(it, ZKC_ERR_CORRUPT, l->at,
                       "the set inside of a compressed message ends with an incomplete entry");
    it->depth--;
    if (it->depth > 0)
        buf_deinit(&l->data); /* rare; the first level keeps its memory for the next wrapper */
    return result;
}

/* What decompression may still produce, one level further down. */
static size_t decompressed_bytes_left(const struct message_iter *it)
{
    size_t used = 0;
    for (size_t i = 1; i <= it->depth; i++)
        used += it->levels[i].data.len;
    return it->limits.decompressed_bytes_max - used;
}

static enum message_iter_result enter_wrapper(struct message_iter *it, const uint8_t *entry,
                                              int codec, struct bytes value)
{
    if (it->depth == MESSAGE_DEPTH_MAX)
        return fault(it, ZKC_ERR_CORRUPT, entry, "compressed messages nested deeper than %d",
                     MESSAGE_DEPTH_MAX);
    if (bytes_is_null(value))
        return fault(it, ZKC_ERR_CORRUPT, entry, "a compressed message without a value");
    const char *name = compression_codec_name(codec);
    if (!name)
        return fault(it, ZKC_ERR_CORRUPT, entry, "an unknown compression codec, %d", codec);
    struct message_level *inner = &it->levels[it->depth + 1];
    buf_clear(&inner->data);
    inner->data.max = decompressed_bytes_left(it);
    const char *reason;
    enum zkc_err err = compression_decode(codec, value, &inner->data, &reason);
    if (err && it->depth > 0)
        buf_deinit(&inner->data);
    if (err == ZKC_ERR_NOMEM)
        return MESSAGE_ITER_NOMEM;
    if (err == ZKC_ERR_TOO_LARGE)
        return fault(it, err, entry, "decompressed it is larger than the %zu bytes allowed",
                     it->limits.decompressed_bytes_max);
    if (err)
        return fault(it, err, entry, "%s: %s", name, reason);
    if (it->depth == 0)
        it->wrapper = entry;
    it->depth++;
    inner->at = inner->data.data;
    inner->end = end_of(buf_bytes(&inner->data));
    return MESSAGE_ITER_MESSAGE;
}

/* Checks the entry and takes it apart. */
static inline enum message_iter_result parse_entry(struct message_iter *it, const uint8_t *entry,
                                                   size_t bytes, struct message_view *out)
{
    uint8_t magic = entry[AT_MAGIC];
    if (magic == 1 || magic == 2)
        return fault(it, ZKC_ERR_CORRUPT, entry,
                     "a message of format %d, where only format 0 was asked for", magic);
    uint32_t crc = wire_crc32(entry + AT_MAGIC, bytes - AT_MAGIC);
    if (crc != read_u32(entry + AT_CRC))
        return fault(it, ZKC_ERR_CORRUPT, entry,
                     "the CRC is %08" PRIx32 ", but the message says %08" PRIx32, crc,
                     read_u32(entry + AT_CRC));
    if (magic != 0)
        return fault(it, ZKC_ERR_CORRUPT, entry, "a message of an unknown format, %d", magic);

    int32_t key_len = read_i32(entry + AT_KEY);
    size_t left = bytes - ENTRY_BYTES_MIN; /* for key and value */
    size_t key_bytes = key_len > 0 ? (size_t)key_len : 0;
    if (key_len < -1 || key_bytes > left)
        return fault(it, ZKC_ERR_CORRUPT, entry, "a key of length %" PRId32 " in %zu bytes",
                     key_len, left);
    const uint8_t *value_at = entry + AT_KEY + 4 + key_bytes;
    left -= key_bytes;
    int32_t value_len = read_i32(value_at);
    if (value_len < -1 || (value_len > 0 && (size_t)value_len > left))
        return fault(it, ZKC_ERR_CORRUPT, entry, "a value of length %" PRId32 " in %zu bytes",
                     value_len, left);
    out->offset = read_i64(entry + AT_OFFSET);
    out->key = key_len < 0 ? BYTES_NULL : bytes_of(entry + AT_KEY + 4, key_bytes);
    out->value = value_len < 0 ? BYTES_NULL : bytes_of(value_at + 4, (size_t)value_len);
    out->attributes = entry[AT_ATTRIBUTES];
    return MESSAGE_ITER_MESSAGE;
}

enum message_iter_result message_iter_next(struct message_iter *it, struct message_view *out)
{
    if (it->end != MESSAGE_ITER_MESSAGE)
        return it->end;
    for (;;) {
        struct message_level *l = &it->levels[it->depth];
        enum message_iter_result result;
        size_t bytes = entry_bytes(l->at, l->end);
        if (bytes == 0) {
            if (it->depth == 0)
                return end_set(it);
            result = leave_wrapper(it);
            if (result != MESSAGE_ITER_MESSAGE)
                return result;
            continue;
        }
        struct message_view view;
        result = parse_entry(it, l->at, bytes, &view);
        int codec = result == MESSAGE_ITER_MESSAGE ? view.attributes & COMPRESSION_CODEC_MASK : 0;
        if (codec)
            result = enter_wrapper(it, l->at, codec, view.value);
        if (result == MESSAGE_ITER_NOMEM)
            return result; /* l->at stays: the next call tries again */
        l->at += bytes;
        if (result != MESSAGE_ITER_MESSAGE)
            return result;
        if (codec == 0) {
            *out = view;
            return MESSAGE_ITER_MESSAGE;
        }
    }
}

/* ---- Writing ---- */

static void append_field(uint8_t **at, struct bytes field)
{
    write_i32(*at, bytes_is_null(field) ? -1 : (int32_t)field.len);
    *at += 4;
    if (field.len)
        memcpy(*at, field.data, field.len);
    *at += field.len;
}

static void append_entry(struct buf *out, int64_t offset, uint8_t attributes, struct bytes key,
                         struct bytes value)
{
    const size_t contents_max = INT32_MAX - MESSAGE_SIZE_MIN;
    if (key.len > contents_max || value.len > contents_max - key.len) {
        out->failed = out->failed ? out->failed : ZKC_ERR_TOO_LARGE;
        return;
    }
    size_t bytes = ENTRY_BYTES_MIN + key.len + value.len;
    uint8_t *entry = buf_reserve(out, bytes);
    if (!entry)
        return;
    write_i64(entry + AT_OFFSET, offset);
    write_i32(entry + AT_SIZE, (int32_t)(bytes - MESSAGE_OVERHEAD));
    entry[AT_MAGIC] = 0;
    entry[AT_ATTRIBUTES] = attributes;
    uint8_t *at = entry + AT_KEY;
    append_field(&at, key);
    append_field(&at, value);
    write_i32(entry + AT_CRC, (int32_t)wire_crc32(entry + AT_MAGIC, bytes - AT_MAGIC));
    out->len += bytes;
}

void message_set_append(struct buf *out, int64_t offset, struct bytes key, struct bytes value)
{
    append_entry(out, offset, COMPRESSION_NONE, key, value);
}

enum zkc_err message_set_append_wrapper(struct buf *out, int64_t offset,
                                        enum compression_codec codec, struct bytes inner)
{
    if (codec == COMPRESSION_NONE || !compression_codec_name((int)codec))
        return ZKC_ERR_INVALID;
    if (out->failed)
        return out->failed;
    struct buf value;
    buf_init(&value, INT32_MAX);
    const char *reason;
    enum zkc_err err = compression_encode((int)codec, inner, &value, &reason);
    if (!err) {
        append_entry(out, offset, (uint8_t)codec, BYTES_NULL, buf_bytes(&value));
        err = out->failed;
        out->failed = ZKC_OK;
    }
    buf_deinit(&value);
    return err;
}
