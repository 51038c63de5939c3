#include "broker/core/partition_log.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/message_set.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* A sum that stays at the largest number. */
static int64_t add_ms(int64_t a, int64_t b)
{
    return b > INT64_MAX - a ? INT64_MAX : a + b;
}

void partition_log_init(struct partition_log *log, const struct log_config *config, int64_t now_ms)
{
    *log = (struct partition_log){.config = *config, .flushed_ms = now_ms};
}

void partition_log_deinit(struct partition_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        segment_index_deinit(&log->segments[i].index);
    free(log->segments);
    *log = (struct partition_log){.count = 0};
}

static struct log_segment *active(const struct partition_log *log)
{
    assert(log->count > 0);
    return &log->segments[log->count - 1];
}

/* ---- Loading ---- */

bool log_segment_needs_check(int64_t next_base_offset, int64_t recovery_point, bool is_last)
{
    return is_last || next_base_offset > recovery_point;
}

#define SEGMENTS_MIN 4

/* Room for one segment more: 0, or how many to allocate. */
static size_t segments_room(const struct partition_log *log)
{
    if (log->count < log->cap)
        return 0;
    return log->cap ? 2 * log->cap : SEGMENTS_MIN;
}

static void install_segments(struct partition_log *log, struct log_segment *grown, size_t cap)
{
    if (log->count)
        memcpy(grown, log->segments, log->count * sizeof *grown);
    free(log->segments);
    log->segments = grown;
    log->cap = cap;
}

static enum zkc_err make_room(struct partition_log *log)
{
    size_t cap = segments_room(log);
    if (!cap)
        return ZKC_OK;
    struct log_segment *grown = malloc(cap * sizeof *grown);
    if (!grown)
        return ZKC_ERR_NOMEM;
    install_segments(log, grown, cap);
    return ZKC_OK;
}

enum zkc_err log_load_segment(struct partition_log *log, const struct log_segment_loaded *segment,
                              int64_t now_ms)
{
    struct segment_index index = segment->index;
    enum zkc_err err = ZKC_OK;
    if (log->count && segment->base_offset <= active(log)->base_offset)
        err = ZKC_ERR_INVALID;
    if (!err)
        err = make_room(log);
    if (err) {
        segment_index_deinit(&index);
        return err;
    }
    log->segments[log->count++] = (struct log_segment){
        .base_offset = segment->base_offset,
        .size = segment->size,
        .created_ms = now_ms,
        .modified_ms = segment->modified_ms,
        .index = index,
        .file = segment->file,
    };
    log->bytes += segment->size;
    log->end_offset = segment->base_offset;
    return ZKC_OK;
}

void log_loaded(struct partition_log *log, int64_t end_offset, int64_t recovery_point)
{
    assert(end_offset >= active(log)->base_offset);
    log->end_offset = end_offset;
    log->recovery_point = recovery_point < end_offset ? recovery_point : end_offset;
}

/* ---- Appending ---- */

void log_append_init(struct log_append *a, size_t decompressed_bytes_max)
{
    *a = (struct log_append){.decompressed_bytes_max = decompressed_bytes_max};
    buf_init(&a->rewritten, INT32_MAX);
}

void log_append_deinit(struct log_append *a)
{
    buf_deinit(&a->rewritten);
    free(a->index_bytes);
    free(a->segments);
    free(a->index_grown);
    log_append_init(a, a->decompressed_bytes_max);
}

static size_t index_entries_max(const struct partition_log *log)
{
    return (size_t)log->config.index_bytes_max / INDEX_ENTRY_BYTES;
}

/* Log.maybeRoll; and before a message's offset is too far from the base for the index. */
static bool must_roll(const struct partition_log *log, size_t len, int64_t last_offset,
                      int64_t now_ms)
{
    const struct log_segment *s = active(log);
    const struct log_config *config = &log->config;
    if (s->size == 0)
        return false;
    return s->size > (uint32_t)config->segment_bytes - len ||
           now_ms - s->created_ms > config->segment_ms - config->segment_jitter_ms ||
           s->index.count >= index_entries_max(log) || last_offset - s->base_offset > INT32_MAX;
}

static bool add_index_entry(struct log_append *a, struct index_entry entry)
{
    if (a->index_len + INDEX_ENTRY_BYTES > a->index_cap) {
        size_t cap = a->index_cap ? 2 * a->index_cap : 64 * INDEX_ENTRY_BYTES;
        uint8_t *grown = realloc(a->index_bytes, cap);
        if (!grown)
            return false;
        a->index_bytes = grown;
        a->index_cap = cap;
    }
    index_entry_write(a->index_bytes + a->index_len, a->base_offset, entry);
    a->index_len += INDEX_ENTRY_BYTES;
    return true;
}

/* Entries for the messages that lie far enough behind the last entry. Most appends are too short
 * to have one, and are not gone through. */
static bool plan_index(const struct partition_log *log, struct log_append *a, bool is_compressed)
{
    const struct segment_index *index = a->roll ? NULL : &active(log)->index;
    size_t room = index_entries_max(log) - (index ? index->count : 0);
    uint32_t last = index ? segment_index_last(index, a->base_offset).position : 0;
    int32_t interval = log->config.index_interval_bytes;
    a->index_position = (index ? index->count : 0) * (uint64_t)INDEX_ENTRY_BYTES;
    uint32_t end = a->position + (uint32_t)a->data.len;
    if (!index_entry_is_due(end, last, interval))
        return true;
    int64_t offset = a->first_offset;
    for (size_t at = 0; at < a->data.len && a->index_len / INDEX_ENTRY_BYTES < room;) {
        uint32_t position = a->position + (uint32_t)at;
        if (index_entry_is_due(position, last, interval)) {
            if (!add_index_entry(a, (struct index_entry){offset, position}))
                return false;
            last = position;
        }
        if (is_compressed)
            break; /* one entry is all */
        at += MESSAGE_OVERHEAD + read_u32(a->data.data + at + 8);
        offset++;
    }
    return true;
}

/* Allocates what the commit will need. */
static bool plan_memory(const struct partition_log *log, struct log_append *a)
{
    static const struct segment_index none = {.entries = NULL};
    free(a->segments);
    free(a->index_grown);
    a->segments = NULL;
    a->index_grown = NULL;
    if (a->roll && (a->segments_cap = segments_room(log))) {
        a->segments = malloc(a->segments_cap * sizeof *a->segments);
        if (!a->segments)
            return false;
    }
    size_t entries = a->index_len / INDEX_ENTRY_BYTES;
    if (!entries)
        return true;
    a->index_grown_cap = segment_index_room(a->roll ? &none : &active(log)->index, entries);
    if (a->index_grown_cap) {
        a->index_grown = malloc(a->index_grown_cap * INDEX_ENTRY_BYTES);
        if (!a->index_grown)
            return false;
    }
    return true;
}

static void plan_nothing(struct log_append *a)
{
    a->data = BYTES_NULL;
    a->first_offset = a->last_offset = -1;
    a->roll = false;
    a->index_len = 0;
    a->flush_due = false;
}

enum kafka_error log_append_plan(const struct partition_log *log, uint8_t *set, size_t len,
                                 int64_t now_ms, struct log_append *a)
{
    const struct produced_limits limits = {
        .message_bytes_max = log->config.message_bytes_max,
        .set_bytes_max = log->config.segment_bytes,
        .decompressed_bytes_max = a->decompressed_bytes_max,
    };
    struct produced_set accepted;
    plan_nothing(a);
    enum kafka_error error =
        produced_set_accept(set, len, log->end_offset, &limits, &a->rewritten, &accepted);
    memcpy(a->reason, accepted.reason, sizeof a->reason);
    if (error || accepted.entries == 0)
        return error;
    a->now_ms = now_ms;
    a->data = accepted.data;
    a->first_offset = accepted.first_offset;
    a->last_offset = accepted.last_offset;
    a->roll = must_roll(log, a->data.len, a->last_offset, now_ms);
    a->base_offset = a->roll ? log->end_offset : active(log)->base_offset;
    a->position = a->roll ? 0 : active(log)->size;
    a->flush_due = a->last_offset + 1 - log->recovery_point >= log->config.flush_messages;
    if (!plan_index(log, a, accepted.is_compressed) || !plan_memory(log, a)) {
        plan_nothing(a);
        snprintf(a->reason, sizeof a->reason, "out of memory");
        return KAFKA_ERR_UNKNOWN_SERVER_ERROR;
    }
    return KAFKA_ERR_NONE;
}

static void begin_segment(struct partition_log *log, struct segment_file *file, int64_t now_ms)
{
    log->segments[log->count++] = (struct log_segment){
        .base_offset = log->end_offset,
        .created_ms = now_ms,
        .modified_ms = now_ms,
        .file = file,
    };
    log->recent_count = 0;
}

static void remember(struct partition_log *log, int64_t offset, uint32_t position)
{
    size_t at = (log->recent_first + log->recent_count) % LOG_RECENT_MAX;
    log->recent[at] = (struct log_recent){offset, position};
    if (log->recent_count < LOG_RECENT_MAX)
        log->recent_count++;
    else
        log->recent_first = (log->recent_first + 1) % LOG_RECENT_MAX;
}

void log_append_commit(struct partition_log *log, struct log_append *a, struct segment_file *file)
{
    assert(a->data.len > 0 && a->first_offset == log->end_offset);
    if (a->roll) {
        if (a->segments)
            install_segments(log, a->segments, a->segments_cap);
        a->segments = NULL;
        begin_segment(log, file, a->now_ms);
    }
    struct log_segment *s = active(log);
    assert(s->base_offset == a->base_offset && s->size == a->position);
    if (a->index_grown) {
        segment_index_install(&s->index, a->index_grown, a->index_grown_cap);
        a->index_grown = NULL;
    }
    segment_index_append(&s->index, a->index_bytes, a->index_len / INDEX_ENTRY_BYTES);
    remember(log, a->first_offset, a->position);
    s->size += (uint32_t)a->data.len;
    s->modified_ms = a->now_ms;
    log->bytes += a->data.len;
    log->end_offset = a->last_offset + 1;
}

/* ---- Reading ---- */

/* The number of segments whose base is at or below the offset. */
static size_t segments_to(const struct partition_log *log, int64_t offset)
{
    size_t low = 0, high = log->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->segments[middle].base_offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last append that begins at or below the offset; the log's beginning if none is known. */
static struct index_entry recent_at(const struct partition_log *log, int64_t offset)
{
    size_t low = 0, high = log->recent_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->recent[(log->recent_first + middle) % LOG_RECENT_MAX].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return (struct index_entry){.offset = -1};
    const struct log_recent *r = &log->recent[(log->recent_first + low - 1) % LOG_RECENT_MAX];
    return (struct index_entry){.offset = r->offset, .position = r->position};
}

static void range_of(const struct partition_log *log, const struct log_segment *s,
                     struct log_range *range)
{
    *range = (struct log_range){
        .base_offset = s->base_offset,
        .file = s->file,
        .end = s->size,
        .end_offset = log->end_offset,
    };
}

enum log_locate_result log_locate(const struct partition_log *log, int64_t offset,
                                  struct log_range *range)
{
    size_t n = segments_to(log, offset);
    const struct log_segment *s = &log->segments[n ? n - 1 : 0];
    range_of(log, s, range);
    if (offset == log->end_offset)
        return LOG_AT_END;
    if (n == 0 || offset > log->end_offset)
        return LOG_OUT_OF_RANGE;
    struct index_entry from = segment_index_lookup(&s->index, s->base_offset, offset);
    if (s == active(log)) {
        struct index_entry recent = recent_at(log, offset);
        if (recent.offset > from.offset)
            from = recent;
    }
    range->position = from.position;
    range->is_exact = from.offset == offset;
    return LOG_FOUND;
}

bool log_locate_next(const struct partition_log *log, int64_t base_offset, struct log_range *range)
{
    size_t n = segments_to(log, base_offset);
    if (n == log->count)
        return false;
    range_of(log, &log->segments[n], range);
    range->is_exact = true;
    return true;
}

int64_t log_start_offset(const struct partition_log *log)
{
    assert(log->count > 0);
    return log->segments[0].base_offset;
}

#define TIMESTAMP_LATEST   (-1)
#define TIMESTAMP_EARLIEST (-2)

size_t log_offsets_before(const struct partition_log *log, int64_t timestamp,
                          int32_t max_num_offsets, int64_t now_ms, int64_t *offsets, size_t room)
{
    if (max_num_offsets < 0)
        return SIZE_MAX;
    bool has_end = active(log)->size > 0;
    size_t candidates = log->count + (has_end ? 1 : 0);
    size_t count = candidates; /* of the oldest ones, which are old enough */
    if (timestamp == TIMESTAMP_EARLIEST) {
        count = 1;
    } else if (timestamp != TIMESTAMP_LATEST) {
        while (count > 0) {
            bool is_end = count - 1 == log->count;
            if ((is_end ? now_ms : log->segments[count - 1].modified_ms) <= timestamp)
                break;
            count--;
        }
    }
    size_t wanted = count < (size_t)max_num_offsets ? count : (size_t)max_num_offsets;
    wanted = wanted < room ? wanted : room;
    for (size_t i = 0; i < wanted; i++) {
        size_t at = count - 1 - i;
        offsets[i] = at == log->count ? log->end_offset : log->segments[at].base_offset;
    }
    return wanted;
}

/* ---- Flushing ---- */

int64_t log_flush_deadline_ms(const struct partition_log *log)
{
    if (log->config.flush_ms == INT64_MAX || log->recovery_point >= log->end_offset)
        return INT64_MAX;
    return add_ms(log->flushed_ms, log->config.flush_ms);
}

int64_t log_unflushed_from(const struct partition_log *log)
{
    size_t n = segments_to(log, log->recovery_point);
    return log->segments[n ? n - 1 : 0].base_offset;
}

void log_flushed(struct partition_log *log, int64_t offset, int64_t now_ms)
{
    assert(offset <= log->end_offset);
    if (offset > log->recovery_point)
        log->recovery_point = offset;
    log->flushed_ms = now_ms;
}

/* ---- Retention ---- */

size_t log_expired(const struct partition_log *log, int64_t now_ms)
{
    const struct log_config *config = &log->config;
    if (config->compact)
        return 0;
    size_t deletable = log->count - (active(log)->size == 0 ? 1 : 0);
    size_t n = 0;
    uint64_t bytes = log->bytes;
    while (config->retention_ms >= 0 && n < deletable &&
           now_ms - log->segments[n].modified_ms > config->retention_ms)
        bytes -= log->segments[n++].size;
    while (config->retention_bytes >= 0 && n < deletable &&
           bytes >= (uint64_t)config->retention_bytes + log->segments[n].size)
        bytes -= log->segments[n++].size;
    return n;
}

enum zkc_err log_roll(struct partition_log *log, struct segment_file *file, int64_t now_ms)
{
    if (log->count && active(log)->base_offset == log->end_offset)
        return ZKC_ERR_INVALID;
    enum zkc_err err = make_room(log);
    if (err)
        return err;
    begin_segment(log, file, now_ms);
    return ZKC_OK;
}

struct log_segment log_drop_oldest(struct partition_log *log)
{
    assert(log->count > 1);
    struct log_segment dropped = log->segments[0];
    memmove(log->segments, log->segments + 1, (log->count - 1) * sizeof *log->segments);
    log->count--;
    log->bytes -= dropped.size;
    if (log->recovery_point < log->segments[0].base_offset)
        log->recovery_point = log->segments[0].base_offset;
    return dropped;
}
