#include "tests/unit/broker/memory_log.h"
#include "broker/core/log_names.h"
#include "tests/unit/test.h"
#include <dirent.h>

#define FILE_MAX (64u << 20)

struct segment_file *memory_folder_add(struct memory_folder *f, int64_t base_offset)
{
    struct segment_file *file = calloc(1, sizeof *file);
    f->files = realloc(f->files, (f->count + 1) * sizeof *f->files);
    assert_true(file && f->files);
    file->base_offset = base_offset;
    buf_init(&file->log, FILE_MAX);
    buf_init(&file->index, FILE_MAX);
    size_t at = f->count++;
    for (; at > 0 && f->files[at - 1]->base_offset > base_offset; at--)
        f->files[at] = f->files[at - 1];
    f->files[at] = file;
    return file;
}

static void free_file(struct segment_file *file)
{
    buf_deinit(&file->log);
    buf_deinit(&file->index);
    free(file);
}

static void remove_at(struct memory_folder *f, size_t at)
{
    free_file(f->files[at]);
    memmove(f->files + at, f->files + at + 1, (f->count - at - 1) * sizeof *f->files);
    f->count--;
}

void memory_folder_free(struct memory_folder *f)
{
    for (size_t i = 0; i < f->count; i++)
        free_file(f->files[i]);
    free(f->files);
    *f = (struct memory_folder){NULL, 0};
}

static struct segment_file *find(struct memory_folder *f, int64_t base_offset)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->files[i]->base_offset == base_offset)
            return f->files[i];
    return memory_folder_add(f, base_offset);
}

static void read_file(const char *path, struct buf *out)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: cannot be read", path);
    uint8_t piece[4096];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, file)) > 0)
        buf_append(out, piece, n);
    fclose(file);
}

struct memory_folder memory_folder_read(const char *path)
{
    struct memory_folder f = {NULL, 0};
    DIR *folder = opendir(path);
    if (!folder)
        fail_msg("%s: cannot be read", path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        int64_t base;
        char name[1024];
        enum log_file_kind kind = log_file_kind(entry->d_name, &base);
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (kind == LOG_FILE_SEGMENT)
            read_file(name, &find(&f, base)->log);
        else if (kind == LOG_FILE_INDEX)
            read_file(name, &find(&f, base)->index);
    }
    closedir(folder);
    assert_true(f.count > 0);
    return f;
}

static void feed(struct segment_check *c, struct bytes data, size_t chunk)
{
    bool more = true;
    for (size_t at = 0; at < data.len && more;) {
        size_t n = chunk && chunk < data.len - at ? chunk : data.len - at;
        more = segment_check_feed(c, bytes_of(data.data + at, n));
        at += n;
    }
}

/* Checks all of a segment, cuts it, rebuilds its index. True: it was cut. */
static bool recover(struct segment_file *file, const struct log_config *config, size_t chunk,
                    struct segment_index *index, int64_t *end_offset)
{
    struct segment_check c;
    segment_check_begin(&c, file->base_offset, file->log.len, config->index_interval_bytes,
                        config->index_bytes_max);
    feed(&c, buf_bytes(&file->log), chunk);
    assert_int_equal(segment_check_end(&c), ZKC_OK);
    bool is_cut = c.valid_bytes < file->log.len;
    assert_int_equal(is_cut, c.why.text[0] != 0);
    file->log.len = c.valid_bytes;
    *end_offset = c.next_offset;
    *index = segment_check_take_index(&c);
    buf_clear(&file->index);
    buf_append(&file->index, index->entries ? index->entries : (const uint8_t *)"",
               index->count * INDEX_ENTRY_BYTES);
    segment_check_deinit(&c);
    return is_cut;
}

/* Takes a segment as it is. False: its index does not fit. */
static bool trust(struct segment_file *file, size_t chunk, struct segment_index *index,
                  int64_t *end_offset)
{
    if (segment_index_lend(index, buf_bytes(&file->index), (uint32_t)file->log.len))
        return false;
    struct index_entry last = segment_index_last(index, file->base_offset);
    struct segment_check c;
    segment_check_begin_at(&c, file->base_offset, file->log.len, last);
    feed(&c,
         bytes_of(file->log.data ? file->log.data + last.position : (const uint8_t *)"",
                  file->log.len - last.position),
         chunk);
    assert_int_equal(segment_check_end(&c), ZKC_OK);
    assert_int_equal(c.valid_bytes, file->log.len);
    *end_offset = c.next_offset;
    segment_check_deinit(&c);
    return true;
}

void memory_log_load(struct partition_log *log, struct memory_folder *f,
                     const struct log_config *config, int64_t recovery_point, size_t chunk,
                     int64_t now_ms)
{
    int64_t end_offset = 0;
    partition_log_init(log, config, now_ms);
    if (f->count == 0)
        memory_folder_add(f, 0);
    for (size_t i = 0; i < f->count; i++) {
        struct segment_file *file = f->files[i];
        bool is_last = i + 1 == f->count;
        int64_t next = is_last ? INT64_MAX : f->files[i + 1]->base_offset;
        struct segment_index index = {.entries = NULL};
        bool is_trusted =
            recovery_point == INT64_MAX || !log_segment_needs_check(next, recovery_point, is_last);
        if ((!is_trusted || !trust(file, chunk, &index, &end_offset)) &&
            recover(file, config, chunk, &index, &end_offset))
            while (f->count > i + 1)
                remove_at(f, f->count - 1);
        struct log_segment_loaded loaded = {
            .base_offset = file->base_offset,
            .size = (uint32_t)file->log.len,
            .modified_ms = now_ms,
            .index = index,
            .file = file,
        };
        assert_int_equal(log_load_segment(log, &loaded, now_ms), ZKC_OK);
    }
    log_loaded(log, end_offset, recovery_point);
}

static void write_at(struct buf *file, uint64_t position, const void *data, size_t len)
{
    assert_true(position <= file->len);
    file->len = position;
    buf_append(file, data, len);
    assert_int_equal(file->failed, ZKC_OK);
}

enum kafka_error memory_log_append(struct partition_log *log, struct memory_folder *f,
                                   struct log_append *a, uint8_t *set, size_t len, int64_t now_ms)
{
    enum kafka_error error = log_append_plan(log, set, len, now_ms, a);
    if (error || !a->data.len)
        return error;
    struct segment_file *file = log->segments[log->count - 1].file;
    if (a->roll)
        file = memory_folder_add(f, a->base_offset);
    assert_int_equal(file->base_offset, a->base_offset);
    assert_int_equal(file->log.len, a->position);
    write_at(&file->log, a->position, a->data.data, a->data.len);
    log_append_commit(log, a, file);
    write_at(&file->index, a->index_position, a->index_len ? a->index_bytes : (uint8_t *)"",
             a->index_len);
    if (a->flush_due)
        log_flushed(log, log->end_offset, now_ms);
    return error;
}

enum log_locate_result memory_log_read(const struct partition_log *log, int64_t offset,
                                       size_t max_bytes, struct bytes *out)
{
    struct log_range range;
    enum log_locate_result result = log_locate(log, offset, &range);
    *out = bytes_of("", 0);
    if (result != LOG_FOUND)
        return result;
    while (!range.is_exact) {
        uint32_t at = range.position;
        if (at >= range.end) {
            if (!log_locate_next(log, range.base_offset, &range))
                return LOG_AT_END;
            continue;
        }
        uint32_t n = range.end - at < 64 ? range.end - at : 64;
        enum scan_result scanned =
            segment_scan(bytes_of(range.file->log.data + at, n), offset, &range.position);
        assert_int_not_equal(scanned, SCAN_CORRUPT);
        if (scanned == SCAN_FOUND)
            break;
    }
    if (range.position >= range.end) /* an empty segment */
        return LOG_AT_END;
    size_t len = range.end - range.position;
    *out = bytes_of(range.file->log.data + range.position, len < max_bytes ? len : max_bytes);
    return LOG_FOUND;
}

size_t memory_log_expire(struct partition_log *log, struct memory_folder *f, int64_t now_ms)
{
    size_t n = log_expired(log, now_ms);
    if (n == log->count)
        assert_int_equal(log_roll(log, memory_folder_add(f, log->end_offset), now_ms), ZKC_OK);
    for (size_t i = 0; i < n; i++) {
        struct log_segment dropped = log_drop_oldest(log);
        assert_ptr_equal(dropped.file, f->files[0]);
        segment_index_deinit(&dropped.index);
        remove_at(f, 0);
    }
    return n;
}
