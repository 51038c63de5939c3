#include "broker/core/segment_scan.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/crc32.h"
#include "zkconsumer/core/wire/message_set.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Where the fields of an entry are. */
enum { AT_OFFSET = 0, AT_SIZE = 8, AT_CRC = 12, AT_MAGIC = 16, AT_ATTRIBUTES = 17 };

enum scan_result segment_scan(struct bytes read, int64_t target, uint32_t *position)
{
    size_t at = 0;
    while (at < read.len && read.len - at >= MESSAGE_OVERHEAD) {
        int32_t size = read_i32(read.data + at + AT_SIZE);
        if (size < MESSAGE_SIZE_MIN || (uint32_t)size > INT32_MAX - *position - MESSAGE_OVERHEAD)
            return SCAN_CORRUPT;
        if (read_i64(read.data + at + AT_OFFSET) >= target)
            return SCAN_FOUND;
        uint32_t bytes = MESSAGE_OVERHEAD + (uint32_t)size;
        *position += bytes;
        at += bytes;
    }
    return SCAN_MORE;
}

/* ---- Checking ---- */

void segment_check_begin_at(struct segment_check *c, int64_t base_offset, uint64_t file_bytes,
                            struct index_entry from)
{
    *c = (struct segment_check){
        .base_offset = base_offset,
        .next_offset = from.offset,
        .valid_bytes = from.position,
        /* What lies beyond has no position that an index could name. */
        .file_bytes = file_bytes < INT32_MAX ? file_bytes : INT32_MAX,
    };
}

void segment_check_begin(struct segment_check *c, int64_t base_offset, uint64_t file_bytes,
                         int32_t index_interval_bytes, int32_t index_bytes_max)
{
    segment_check_begin_at(c, base_offset, file_bytes,
                           (struct index_entry){.offset = base_offset, .position = 0});
    c->index_interval_bytes = index_interval_bytes;
    c->index_entries_max = (size_t)index_bytes_max / INDEX_ENTRY_BYTES;
}

ZKC_PRINTF(2, 3) static void end_here(struct segment_check *c, const char *fmt, ...)
{
    char what[160];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    why_set(&c->why, "byte %" PRIu32 ", where offset %" PRId64 " or later was expected: %s",
            c->valid_bytes, c->next_offset, what);
    c->ended = true;
}

/* Notes where the entry begins, when an index entry is due. The first offset in a compressed set
 * is at least the next one, which serves as well: nothing lies between. */
static void index_it(struct segment_check *c)
{
    if (c->index.count >= c->index_entries_max ||
        !index_entry_is_due(c->valid_bytes, c->last_index_position, c->index_interval_bytes))
        return;
    bool is_compressed = c->head[AT_ATTRIBUTES] & COMPRESSION_CODEC_MASK;
    struct index_entry entry = {
        .offset = is_compressed ? c->next_offset : read_i64(c->head + AT_OFFSET),
        .position = c->valid_bytes,
    };
    c->failed = segment_index_add(&c->index, c->base_offset, entry);
    c->ended = c->failed != ZKC_OK;
    c->last_index_position = c->valid_bytes;
}

/* The head is complete. */
static void begin_entry(struct segment_check *c)
{
    int64_t offset = read_i64(c->head + AT_OFFSET);
    int32_t size = read_i32(c->head + AT_SIZE);
    uint64_t left = c->file_bytes - c->valid_bytes;
    if (size < MESSAGE_SIZE_MIN)
        end_here(c, "a message of size %" PRId32 ", at least %d expected", size, MESSAGE_SIZE_MIN);
    else if ((uint64_t)size + MESSAGE_OVERHEAD > left)
        end_here(c, "a message of %" PRId64 " bytes, but only %" PRIu64 " are left",
                 (int64_t)size + MESSAGE_OVERHEAD, left);
    else if (offset < c->next_offset)
        end_here(c, "offset %" PRId64, offset);
    else if (offset - c->base_offset > INT32_MAX)
        end_here(c, "offset %" PRId64 " is too far from the segment's beginning", offset);
    else if (c->head[AT_MAGIC] != 0)
        end_here(c, "format %d, which this broker does not keep", c->head[AT_MAGIC]);
    if (c->ended)
        return;
    c->entry_bytes = MESSAGE_OVERHEAD + (uint32_t)size;
    c->body_left = c->entry_bytes - (uint32_t)sizeof c->head;
    c->crc = wire_crc32(c->head + AT_MAGIC, sizeof c->head - AT_MAGIC);
}

/* The body is complete. */
static void end_entry(struct segment_check *c)
{
    uint32_t stored = read_u32(c->head + AT_CRC);
    if (c->crc != stored) {
        end_here(c, "the CRC is %08" PRIx32 ", but the message says %08" PRIx32, c->crc, stored);
        return;
    }
    index_it(c);
    if (c->ended)
        return;
    c->valid_bytes += c->entry_bytes;
    c->next_offset = read_i64(c->head + AT_OFFSET) + 1;
    c->head_len = 0;
}

/* Takes what it needs next; returns how much. */
static size_t take(struct segment_check *c, const uint8_t *data, size_t len)
{
    if (c->head_len < sizeof c->head) {
        size_t n = sizeof c->head - c->head_len;
        n = n < len ? n : len;
        memcpy(c->head + c->head_len, data, n);
        c->head_len += n;
        if (c->head_len == sizeof c->head)
            begin_entry(c);
        return n;
    }
    size_t n = c->body_left < len ? c->body_left : len;
    c->crc = wire_crc32_more(c->crc, data, n);
    c->body_left -= (uint32_t)n;
    if (c->body_left == 0)
        end_entry(c);
    return n;
}

bool segment_check_feed(struct segment_check *c, struct bytes piece)
{
    for (size_t at = 0; at < piece.len && !c->ended;)
        at += take(c, piece.data + at, piece.len - at);
    return !c->ended;
}

enum zkc_err segment_check_end(struct segment_check *c)
{
    if (!c->ended && c->head_len)
        end_here(c, "the message is cut short");
    return c->failed;
}

struct segment_index segment_check_take_index(struct segment_check *c)
{
    struct segment_index index = c->index;
    c->index = (struct segment_index){.entries = NULL};
    return index;
}

void segment_check_deinit(struct segment_check *c)
{
    segment_index_deinit(&c->index);
}
