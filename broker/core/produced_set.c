#include "broker/core/produced_set.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/crc32.h"
#include "zkconsumer/core/wire/message_set.h"
#include <inttypes.h>
#include <stdio.h>

/* Where the fields of an entry are. */
enum { AT_OFFSET = 0, AT_SIZE = 8, AT_CRC = 12, AT_MAGIC = 16, AT_ATTRIBUTES = 17, AT_KEY = 18 };

ZKC_PRINTF(3, 4)
static enum kafka_error refuse(struct produced_set *out, enum kafka_error error, const char *fmt,
                               ...)
{
    out->data = BYTES_NULL;
    out->entries = 0;
    out->first_offset = out->last_offset = -1;
    va_list args;
    va_start(args, fmt);
    vsnprintf(out->reason, sizeof out->reason, fmt, args);
    va_end(args);
    return error;
}

static enum kafka_error out_of_memory(struct produced_set *out)
{
    return refuse(out, KAFKA_ERR_UNKNOWN_SERVER_ERROR, "out of memory");
}

static enum kafka_error too_large(struct produced_set *out, size_t bytes, int32_t max)
{
    return refuse(out, KAFKA_ERR_MESSAGE_TOO_LARGE,
                  "a message of %zu bytes, at most %" PRId32 " are allowed", bytes, max);
}

/* Key and value fit the entry: whoever reads it relies on that, for the CRC is right. */
static bool fields_fit(const uint8_t *entry, size_t bytes)
{
    size_t left = bytes - MESSAGE_OVERHEAD - MESSAGE_SIZE_MIN;
    int32_t key_len = read_i32(entry + AT_KEY);
    size_t key_bytes = key_len > 0 ? (size_t)key_len : 0;
    if (key_len < -1 || key_bytes > left)
        return false;
    int32_t value_len = read_i32(entry + AT_KEY + 4 + key_bytes);
    return value_len >= -1 && (value_len <= 0 || (size_t)value_len <= left - key_bytes);
}

static enum kafka_error check_entry(const uint8_t *entry, size_t bytes,
                                    const struct produced_limits *limits, struct produced_set *out)
{
    if (bytes > (size_t)limits->message_bytes_max)
        return too_large(out, bytes, limits->message_bytes_max);
    uint32_t crc = wire_crc32(entry + AT_MAGIC, bytes - AT_MAGIC);
    if (crc != read_u32(entry + AT_CRC))
        return refuse(out, KAFKA_ERR_CORRUPT_MESSAGE,
                      "the CRC is %08" PRIx32 ", but the message says %08" PRIx32, crc,
                      read_u32(entry + AT_CRC));
    if (entry[AT_MAGIC] != 0)
        return refuse(out, KAFKA_ERR_CORRUPT_MESSAGE, "a message of format %d, expected 0",
                      entry[AT_MAGIC]);
    if (!fields_fit(entry, bytes))
        return refuse(out, KAFKA_ERR_CORRUPT_MESSAGE, "key and value do not fit their message");
    return KAFKA_ERR_NONE;
}

/* Checks every whole entry, gives it the next offset as if none were compressed, and describes the
 * set; *codec is the last one seen. */
static enum kafka_error check_entries(uint8_t *set, size_t len, int64_t next_offset,
                                      const struct produced_limits *limits,
                                      struct produced_set *out, int *codec)
{
    size_t at = 0;
    while (len - at >= MESSAGE_OVERHEAD) {
        uint8_t *entry = set + at;
        int32_t size = read_i32(entry + AT_SIZE);
        if (size < MESSAGE_SIZE_MIN)
            return refuse(out, KAFKA_ERR_CORRUPT_MESSAGE,
                          "a message of size %" PRId32 ", at least %d expected", size,
                          MESSAGE_SIZE_MIN);
        if ((size_t)size > len - at - MESSAGE_OVERHEAD)
            break; /* incomplete: dropped, as Log.trimInvalidBytes does */
        size_t bytes = MESSAGE_OVERHEAD + (size_t)size;
        enum kafka_error error = check_entry(entry, bytes, limits, out);
        if (error)
            return error;
        int entry_codec = entry[AT_ATTRIBUTES] & COMPRESSION_CODEC_MASK;
        if (entry_codec)
            *codec = entry_codec;
        write_i64(entry + AT_OFFSET, next_offset + (int64_t)out->entries);
        out->entries++;
        at += bytes;
    }
    out->data = bytes_of(set, at);
    out->first_offset = out->entries ? next_offset : -1;
    out->last_offset = out->entries ? next_offset + (int64_t)out->entries - 1 : -1;
    return KAFKA_ERR_NONE;
}

/* All messages of the set, wrappers opened, as one set with absolute offsets. */
static enum kafka_error open_set(struct produced_set *out, int64_t next_offset,
                                 const struct produced_limits *limits, struct buf *inner,
                                 size_t *count)
{
    const struct message_iter_limits iter_limits = {limits->decompressed_bytes_max};
    struct message_iter it;
    struct message_view message;
    message_iter_init(&it, out->data, &iter_limits);
    enum message_iter_result result;
    *count = 0;
    while ((result = message_iter_next(&it, &message)) == MESSAGE_ITER_MESSAGE)
        message_set_append(inner, next_offset + (int64_t)(*count)++, message.key, message.value);
    enum kafka_error error = KAFKA_ERR_NONE;
    if (result == MESSAGE_ITER_NOMEM || inner->failed == ZKC_ERR_NOMEM)
        error = out_of_memory(out);
    else if (inner->failed)
        error = refuse(out, KAFKA_ERR_MESSAGE_TOO_LARGE, "opened it is larger than %zu bytes",
                       limits->decompressed_bytes_max);
    else if (result == MESSAGE_ITER_CORRUPT)
        error = refuse(out,
                       it.fault.err == ZKC_ERR_TOO_LARGE ? KAFKA_ERR_MESSAGE_TOO_LARGE
                                                         : KAFKA_ERR_CORRUPT_MESSAGE,
                       "%s", it.fault.reason);
    message_iter_deinit(&it);
    return error;
}

/* ByteBufferMessageSet.create with a codec: one wrapper around everything. */
static enum kafka_error wrap(struct produced_set *out, int64_t next_offset, int codec,
                             const struct produced_limits *limits, struct buf *inner,
                             struct buf *rewritten)
{
    size_t count;
    enum kafka_error error = open_set(out, next_offset, limits, inner, &count);
    if (error)
        return error;
    out->first_offset = count ? next_offset : -1;
    out->last_offset = count ? next_offset + (int64_t)count - 1 : -1;
    out->entries = count ? 1 : 0;
    out->is_compressed = true;
    if (!count) {
        out->data = bytes_of(out->data.data, 0);
        return KAFKA_ERR_NONE;
    }
    enum zkc_err err = message_set_append_wrapper(rewritten, out->last_offset,
                                                  (enum compression_codec)codec, buf_bytes(inner));
    if (err == ZKC_ERR_NOMEM)
        return out_of_memory(out);
    if (err || rewritten->len > (size_t)limits->message_bytes_max)
        return too_large(out, rewritten->len, limits->message_bytes_max);
    out->data = buf_bytes(rewritten);
    return KAFKA_ERR_NONE;
}

static enum kafka_error rewrite(struct produced_set *out, int64_t next_offset, int codec,
                                const struct produced_limits *limits, struct buf *rewritten)
{
    if (!compression_codec_name(codec))
        return refuse(out, KAFKA_ERR_CORRUPT_MESSAGE, "an unknown compression codec, %d", codec);
    struct buf inner;
    buf_init(&inner, limits->decompressed_bytes_max);
    buf_clear(rewritten);
    enum kafka_error error = wrap(out, next_offset, codec, limits, &inner, rewritten);
    buf_deinit(&inner);
    return error;
}

enum kafka_error produced_set_accept(uint8_t *set, size_t len, int64_t next_offset,
                                     const struct produced_limits *limits, struct buf *rewritten,
                                     struct produced_set *out)
{
    int codec = COMPRESSION_NONE;
    *out = (struct produced_set){.first_offset = -1, .last_offset = -1};
    if (!set)
        return refuse(out, KAFKA_ERR_CORRUPT_MESSAGE, "null, expected a message set");
    enum kafka_error error = check_entries(set, len, next_offset, limits, out, &codec);
    if (!error && codec)
        error = rewrite(out, next_offset, codec, limits, rewritten);
    if (!error && out->data.len > (size_t)limits->set_bytes_max)
        error = refuse(out, KAFKA_ERR_RECORD_LIST_TOO_LARGE,
                       "a set of %zu bytes, a segment has %" PRId32, out->data.len,
                       limits->set_bytes_max);
    return error;
}
