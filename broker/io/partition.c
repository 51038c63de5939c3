#include "broker/io/partition.h"
#include "broker/io/partition_internal.h"
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCAN_BYTES 8192

/* ---- files ---- */

void partition_file_path(const struct partition *p, int64_t base_offset, const char *suffix,
                         char *out, size_t size)
{
    char name[LOG_FILE_NAME_SIZE];
    log_file_name(base_offset, suffix, name);
    snprintf(out, size, "%s/%s", p->path, name);
}

int partition_open(const struct partition *p, int64_t base_offset, const char *suffix, int flags)
{
    char path[PATH_MAX];
    partition_file_path(p, base_offset, suffix, path, sizeof path);
    return open(path, flags | O_CLOEXEC, 0644);
}

struct segment_file *segment_file_create(const struct partition *p, int64_t base_offset)
{
    struct segment_file *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    int flags = O_RDWR | O_CREAT | O_TRUNC;
    int fd = partition_open(p, base_offset, ".log", flags);
    f->index_fd = fd < 0 ? -1 : partition_open(p, base_offset, ".index", flags);
    if (f->index_fd < 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        free(f);
        errno = error;
        return NULL;
    }
    f->log = file_ref_new_take(fd);
    if (f->log)
        return f;
    segment_file_free(f);
    errno = ENOMEM;
    return NULL;
}

void segment_file_free(struct segment_file *f)
{
    if (!f)
        return;
    file_ref_put(f->log);
    if (f->index_fd >= 0)
        close(f->index_fd);
    if (f->index_map)
        munmap(f->index_map, f->index_map_len);
    free(f);
}

int write_all_at(int fd, const uint8_t *data, size_t len, off_t offset)
{
    while (len) {
        ssize_t n = pwrite(fd, data, len, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n ? errno : ENOSPC;
            return -1;
        }
        data += n;
        len -= (size_t)n;
        offset += n;
    }
    return 0;
}

/* ---- life ---- */

static void on_flush_item(void *arg);

struct partition *partition_new(const struct partition_env *env, const char *dir, const char *topic,
                                int32_t number, const struct log_config *config)
{
    struct partition *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    atomic_init(&p->refs, 1);
    p->env = *env;
    p->number = number;
    snprintf(p->topic, sizeof p->topic, "%s", topic);
    log_folder_name(topic, number, p->name);
    pthread_mutex_init(&p->writer, NULL);
    pthread_mutex_init(&p->view, NULL);
    partition_log_init(&p->log, config, clock_wall_ms());
    loop_item_init(&p->flush_item, on_flush_item, p);
    if (asprintf(&p->path, "%s/%s", dir, p->name) < 0) {
        p->path = NULL;
        partition_put(p);
        return NULL;
    }
    return p;
}

struct partition *partition_get(struct partition *p)
{
    atomic_fetch_add(&p->refs, 1);
    return p;
}

void partition_put(struct partition *p)
{
    if (!p || atomic_fetch_sub(&p->refs, 1) != 1)
        return;
    assert(!p->readers && !p->flushers);
    for (size_t i = 0; i < p->log.count; i++)
        segment_file_free(p->log.segments[i].file);
    partition_log_deinit(&p->log);
    pthread_mutex_destroy(&p->writer);
    pthread_mutex_destroy(&p->view);
    free(p->path);
    free(p);
}

const char *partition_topic(const struct partition *p)
{
    return p->topic;
}
int32_t partition_number(const struct partition *p)
{
    return p->number;
}

static bool sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

struct partition *partition_create(const struct partition_env *env, const char *dir,
                                   const char *topic, int32_t number,
                                   const struct log_config *config, struct why *why)
{
    why_set(why, "out of memory");
    struct partition *p = partition_new(env, dir, topic, number, config);
    if (!p)
        return NULL;
    if (mkdir(p->path, 0755) && errno != EEXIST) {
        why_set(why, "%s cannot be created: %s", p->path, strerror(errno));
        partition_put(p);
        return NULL;
    }
    struct segment_file *file = segment_file_create(p, 0);
    if (!file) {
        why_set(why, "no segment can be created in %s: %s", p->path, strerror(errno));
        partition_put(p);
        return NULL;
    }
    struct log_segment_loaded segment = {.modified_ms = clock_wall_ms(), .file = file};
    if (log_load_segment(&p->log, &segment, segment.modified_ms)) {
        segment_file_free(file);
        partition_put(p);
        return NULL;
    }
    log_loaded(&p->log, 0, 0);
    partition_show_all(p);
    if (!sync_folder(dir))
        journal_line(env->journal, JOURNAL_WARN, "%s could not be flushed: %s", dir,
                     strerror(errno));
    why_clear(why);
    return p;
}

void partition_configure(struct partition *p, const struct log_config *config)
{
    pthread_mutex_lock(&p->writer);
    pthread_mutex_lock(&p->view);
    p->log.config = *config;
    pthread_mutex_unlock(&p->view);
    pthread_mutex_unlock(&p->writer);
}

static enum partition_state state_of(struct partition *p)
{
    pthread_mutex_lock(&p->view);
    enum partition_state state = p->state;
    pthread_mutex_unlock(&p->view);
    return state;
}

void partition_fault(struct partition *p, struct why *why)
{
    pthread_mutex_lock(&p->view);
    *why = p->fault;
    pthread_mutex_unlock(&p->view);
}

void partition_fail(struct partition *p, enum partition_state state, const char *what, int error)
{
    pthread_mutex_lock(&p->view);
    if (p->state < state) {
        p->state = state;
        why_set(&p->fault, "%s: %s", what, strerror(error));
    }
    pthread_mutex_unlock(&p->view);
    journal_always(p->env.journal, JOURNAL_ERROR,
                   "partition %s takes no more messages until the broker is started again: %s: %s",
                   p->name, what, strerror(error));
}

/* ---- waiting readers ---- */

static void wake_readers(struct partition *p, uint64_t bytes) /* under view */
{
    for (struct read_waiter *w = p->readers; w; w = w->next) {
        atomic_fetch_add(&w->bytes, bytes);
        thread_loop_post(w->loop, w->item);
    }
}

static void disturb_readers(struct partition *p) /* under view */
{
    for (struct read_waiter *w = p->readers; w; w = w->next) {
        atomic_store(&w->is_gone, true);
        thread_loop_post(w->loop, w->item);
    }
}

void partition_disturb(struct partition *p)
{
    pthread_mutex_lock(&p->view);
    disturb_readers(p);
    pthread_mutex_unlock(&p->view);
}

void partition_watch(struct partition *p, struct read_waiter *w)
{
    pthread_mutex_lock(&p->view);
    w->next = p->readers;
    w->previous = &p->readers;
    if (w->next)
        w->next->previous = &w->next;
    p->readers = w;
    pthread_mutex_unlock(&p->view);
}

void partition_unwatch(struct partition *p, struct read_waiter *w)
{
    pthread_mutex_lock(&p->view);
    *w->previous = w->next;
    if (w->next)
        w->next->previous = w->previous;
    pthread_mutex_unlock(&p->view);
}

/* ---- writing ---- */

/* With log.flush.interval.messages=1 readers wait for the flush, too. */
static bool shows_flushed_only(const struct partition *p)
{
    return p->log.config.flush_messages <= 1;
}

void partition_show_all(struct partition *p)
{
    const struct log_segment *active = &p->log.segments[p->log.count - 1];
    p->visible.offset = p->log.end_offset;
    p->visible.base_offset = active->base_offset;
    p->visible.position = active->size;
}

static bool is_worth_another_try(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EMFILE ||
           error == ENFILE || error == ENOMEM;
}

/* The failed append has left no trace, or the partition is taken off. */
static void append_failed(struct partition *p, const struct log_append *a, int fd, const char *what,
                          int error)
{
    bool is_undone = fd < 0 || ftruncate(fd, a->position) == 0;
    if (!is_undone || !is_worth_another_try(error)) {
        partition_fail(p, PARTITION_READ_ONLY, what, error);
        return;
    }
    journal_cause(p->env.journal, JOURNAL_ERROR, p->name, "partition %s: %s: %s", p->name, what,
                  strerror(error));
}

static void remove_segment_files(const struct partition *p, int64_t base_offset)
{
    char path[PATH_MAX];
    partition_file_path(p, base_offset, ".log", path, sizeof path);
    unlink(path);
    partition_file_path(p, base_offset, ".index", path, sizeof path);
    unlink(path);
}

/* Leaves the active segment: its index needs its descriptor no more. */
static void leave_segment(struct log_segment *s)
{
    if (s->file->index_fd >= 0)
        close(s->file->index_fd);
    s->file->index_fd = -1;
}

/* Writes what was planned; under writer. */
static bool write_append(struct partition *p, struct log_append *a)
{
    struct segment_file *file = p->log.segments[p->log.count - 1].file;
    struct segment_file *created = NULL;
    if (a->roll) {
        created = file = segment_file_create(p, a->base_offset);
        if (!file) {
            append_failed(p, a, -1, "no new segment can be created", errno);
            return false;
        }
        p->is_folder_synced = false;
    }
    if (write_all_at(file->log->fd, a->data.data, a->data.len, a->position)) {
        append_failed(p, a, created ? -1 : file->log->fd, "a write failed", errno);
        segment_file_free(created);
        if (created)
            remove_segment_files(p, a->base_offset);
        return false;
    }
    pthread_mutex_lock(&p->view);
    if (created)
        leave_segment(&p->log.segments[p->log.count - 1]);
    log_append_commit(&p->log, a, created);
    if (!shows_flushed_only(p)) {
        partition_show_all(p);
        wake_readers(p, a->data.len);
    }
    pthread_mutex_unlock(&p->view);
    if (a->index_len &&
        write_all_at(file->index_fd, a->index_bytes, a->index_len, (off_t)a->index_position))
        journal_line(p->env.journal, JOURNAL_WARN, "partition %s: the index is not written: %s",
                     p->name, strerror(errno));
    return true;
}

static enum kafka_error append(struct partition *p, uint8_t *set, size_t len, struct log_append *a,
                               struct append_result *out)
{
    if (p->state == PARTITION_DELETED)
        return KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION;
    if (p->state != PARTITION_ONLINE) {
        journal_cause(p->env.journal, JOURNAL_ERROR, p->name, "partition %s takes no messages: %s",
                      p->name, p->fault.text);
        return KAFKA_ERR_UNKNOWN_SERVER_ERROR;
    }
    enum kafka_error error = log_append_plan(&p->log, set, len, clock_wall_ms(), a);
    if (error) {
        journal_cause(p->env.journal, JOURNAL_WARN, p->name,
                      "partition %s: a message set is refused (error %d): %s", p->name, (int)error,
                      a->reason);
        return error;
    }
    if (!a->data.len)
        return KAFKA_ERR_NONE;
    bool is_rolled = a->roll;
    bool is_due = a->flush_due;
    int64_t first_offset = a->first_offset;
    if (!write_append(p, a))
        return KAFKA_ERR_UNKNOWN_SERVER_ERROR;
    out->first_offset = first_offset;
    out->end_offset = p->log.end_offset;
    out->must_wait = is_due;
    if (is_rolled && !is_due)
        partition_flush_soon(p);
    return KAFKA_ERR_NONE;
}

void partition_append(struct partition *p, uint8_t *set, size_t len, struct log_append *a,
                      struct append_result *out)
{
    *out = (struct append_result){.first_offset = -1};
    pthread_mutex_lock(&p->writer);
    out->error = append(p, set, len, a, out);
    pthread_mutex_unlock(&p->writer);
}

/* ---- reading ---- */

/* Where to begin, and a reference to its file. `range` is cut to what is visible. */
static enum log_locate_result locate(struct partition *p, int64_t offset, bool is_next,
                                     struct log_range *range, struct partition_read *out)
{
    pthread_mutex_lock(&p->view);
    enum log_locate_result found = LOG_AT_END;
    if (p->state == PARTITION_DELETED || p->state == PARTITION_UNREADABLE) {
        out->error = p->state == PARTITION_DELETED ? KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION
                                                   : KAFKA_ERR_UNKNOWN_SERVER_ERROR;
        pthread_mutex_unlock(&p->view);
        return LOG_AT_END;
    }
    if (!is_next)
        found = log_locate(&p->log, offset, range);
    else if (log_locate_next(&p->log, range->base_offset, range))
        found = LOG_FOUND;
    out->high_watermark = p->visible.offset;
    if (found == LOG_FOUND &&
        (offset >= p->visible.offset || range->base_offset > p->visible.base_offset))
        found = LOG_AT_END;
    if (found == LOG_FOUND) {
        out->is_old_segment = range->base_offset < p->visible.base_offset;
        if (!out->is_old_segment && range->end > p->visible.position)
            range->end = p->visible.position;
        out->file = file_ref_get(range->file->log);
    }
    pthread_mutex_unlock(&p->view);
    return found;
}

/* Finds the message's position within the range. */
static enum scan_result scan(const struct log_range *range, int fd, int64_t offset,
                             uint32_t *position)
{
    uint8_t bytes[SCAN_BYTES];
    while (*position < range->end) {
        size_t want = range->end - *position;
        ssize_t n = pread(fd, bytes, want < sizeof bytes ? want : sizeof bytes, *position);
        if (n <= 0)
            return SCAN_CORRUPT;
        uint32_t before = *position;
        enum scan_result result = segment_scan(bytes_of(bytes, (size_t)n), offset, position);
        if (result != SCAN_MORE)
            return result;
        if (*position == before)
            return SCAN_CORRUPT;
    }
    return SCAN_MORE;
}

void partition_read(struct partition *p, int64_t offset, int32_t max_bytes,
                    struct partition_read *out)
{
    *out = (struct partition_read){.high_watermark = -1};
    struct log_range range;
    enum log_locate_result found = locate(p, offset, false, &range, out);
    if (out->error)
        return;
    if (found == LOG_OUT_OF_RANGE)
        out->error = KAFKA_ERR_OFFSET_OUT_OF_RANGE;
    else if (max_bytes < 0)
        out->error = KAFKA_ERR_UNKNOWN_SERVER_ERROR;
    while (found == LOG_FOUND && !out->error) {
        uint32_t position = range.position;
        enum scan_result result =
            range.is_exact ? SCAN_FOUND : scan(&range, out->file->fd, offset, &position);
        if (result == SCAN_FOUND) {
            uint32_t len = position < range.end ? range.end - position : 0;
            out->position = position;
            out->len = len < (uint32_t)max_bytes ? len : (uint32_t)max_bytes;
            break;
        }
        file_ref_put(out->file);
        out->file = NULL;
        if (result == SCAN_CORRUPT) {
            journal_cause(p->env.journal, JOURNAL_ERROR, p->name,
                          "partition %s: segment %020" PRId64 " is damaged at byte %" PRIu32,
                          p->name, range.base_offset, position);
            out->error = KAFKA_ERR_UNKNOWN_SERVER_ERROR;
            break;
        }
        found = locate(p, offset, true, &range, out);
    }
    if (out->file && (out->error || !out->len)) {
        file_ref_put(out->file);
        out->file = NULL;
    }
    if (out->error)
        out->high_watermark = -1;
}

enum kafka_error partition_offsets(struct partition *p, int64_t timestamp, int32_t max_count,
                                   int64_t **offsets, size_t *count)
{
    *offsets = NULL;
    *count = 0;
    pthread_mutex_lock(&p->view);
    enum kafka_error error = KAFKA_ERR_UNKNOWN_SERVER_ERROR;
    size_t room = log_offsets_max(&p->log);
    int64_t *list = p->state <= PARTITION_READ_ONLY ? malloc(room * sizeof *list) : NULL;
    if (list) {
        *count = log_offsets_before(&p->log, timestamp, max_count, clock_wall_ms(), list, room);
        error = *count == SIZE_MAX ? KAFKA_ERR_UNKNOWN_SERVER_ERROR : KAFKA_ERR_NONE;
    }
    for (size_t i = 0; !error && i < *count; i++) /* the end is what readers see of it */
        if (list[i] > p->visible.offset)
            list[i] = p->visible.offset;
    if (p->state == PARTITION_DELETED)
        error = KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION;
    pthread_mutex_unlock(&p->view);
    if (error) {
        free(list);
        *count = 0;
        return error;
    }
    *offsets = list;
    return KAFKA_ERR_NONE;
}

int64_t partition_end_offset(struct partition *p)
{
    pthread_mutex_lock(&p->view);
    int64_t offset = p->visible.offset;
    pthread_mutex_unlock(&p->view);
    return offset;
}

/* ---- flushing ---- */

static void answer_flushers(struct partition *p, int64_t until, bool has_failed) /* under view */
{
    struct flush_waiter **at = &p->flushers;
    while (*at) {
        struct flush_waiter *w = *at;
        if (!has_failed && w->until > until) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->error = has_failed ? KAFKA_ERR_UNKNOWN_SERVER_ERROR : KAFKA_ERR_NONE;
        thread_loop_post(w->loop, &w->item); /* from here on it is not ours */
    }
}

/* The files that have bytes which are not on disk; *end is what the log's end was then. Under
 * writer. NULL with *count 0: nothing to do, or no memory (*end -1). */
static struct file_ref **unflushed_files(struct partition *p, size_t *count, int64_t *end,
                                         uint32_t *position, int64_t *base)
{
    struct partition_log *log = &p->log;
    *count = 0;
    *end = log->end_offset;
    *base = log->segments[log->count - 1].base_offset;
    *position = log->segments[log->count - 1].size;
    if (log->recovery_point >= log->end_offset)
        return NULL;
    struct file_ref **files = malloc(log->count * sizeof(struct file_ref *));
    if (!files) {
        *end = -1;
        return NULL;
    }
    int64_t from = log_unflushed_from(log);
    for (size_t i = 0; i < log->count; i++)
        if (log->segments[i].base_offset >= from)
            files[(*count)++] = file_ref_get(log->segments[i].file->log);
    return files;
}

bool partition_flush(struct partition *p)
{
    size_t count;
    int64_t end, base;
    uint32_t position;
    pthread_mutex_lock(&p->writer);
    enum partition_state state = state_of(p);
    if (state != PARTITION_ONLINE) {
        pthread_mutex_lock(&p->view);
        answer_flushers(p, 0, true);
        pthread_mutex_unlock(&p->view);
        pthread_mutex_unlock(&p->writer);
        return state == PARTITION_DELETED;
    }
    struct file_ref **files = unflushed_files(p, &count, &end, &position, &base);
    bool is_folder_due = !p->is_folder_synced;
    p->is_folder_synced = true;
    pthread_mutex_unlock(&p->writer);

    int error = end < 0 ? ENOMEM : 0;
    for (size_t i = 0; i < count; i++) {
        if (!error && fdatasync(files[i]->fd))
            error = errno;
        file_ref_put(files[i]);
    }
    free(files);
    if (!error && is_folder_due && !sync_folder(p->path))
        error = errno;

    if (error)
        partition_fail(p, PARTITION_READ_ONLY, "a flush failed", error);
    pthread_mutex_lock(&p->writer);
    pthread_mutex_lock(&p->view);
    if (!error && p->state != PARTITION_DELETED) {
        if (end > p->log.recovery_point)
            log_flushed(&p->log, end, clock_wall_ms());
        if (shows_flushed_only(p) && end > p->visible.offset) {
            bool is_same = base == p->visible.base_offset;
            wake_readers(p, is_same ? position - p->visible.position : UINT32_MAX);
            p->visible.offset = end;
            p->visible.base_offset = base;
            p->visible.position = position;
        }
    }
    answer_flushers(p, end, error != 0);
    pthread_mutex_unlock(&p->view);
    pthread_mutex_unlock(&p->writer);
    return !error;
}

static void on_flush_item(void *arg)
{
    struct partition *p = arg;
    atomic_store(&p->flush_is_asked, false); /* who asks from here on gets another one */
    partition_flush(p);
    partition_put(p);
}

void partition_flush_soon(struct partition *p)
{
    if (atomic_exchange(&p->flush_is_asked, true))
        return;
    partition_get(p);
    thread_loop_post(p->env.flusher, &p->flush_item);
}

void partition_drop_flush(struct partition *p)
{
    pthread_mutex_lock(&p->view);
    p->flushers = NULL;
    pthread_mutex_unlock(&p->view);
    if (!atomic_exchange(&p->flush_is_asked, false))
        return;
    thread_loop_cancel(p->env.flusher, &p->flush_item);
    partition_put(p);
}

void partition_wait_flush(struct partition *p, int64_t until, struct flush_waiter *w)
{
    w->until = until;
    pthread_mutex_lock(&p->view);
    w->next = p->flushers;
    p->flushers = w;
    pthread_mutex_unlock(&p->view);
    partition_flush_soon(p);
}

int64_t partition_recovery_point(struct partition *p)
{
    pthread_mutex_lock(&p->view);
    int64_t offset = p->log.recovery_point;
    pthread_mutex_unlock(&p->view);
    return offset;
}

int64_t partition_flush_deadline_ms(struct partition *p)
{
    pthread_mutex_lock(&p->view);
    bool is_online = p->state == PARTITION_ONLINE;
    int64_t deadline_ms = is_online ? log_flush_deadline_ms(&p->log) : INT64_MAX;
    pthread_mutex_unlock(&p->view);
    return deadline_ms;
}

/* ---- retention and the end ---- */

static void remove_file(struct partition *p, int64_t base_offset, const char *suffix,
                        partition_removed_fn *removed, void *user)
{
    char path[PATH_MAX], renamed[PATH_MAX + 16];
    partition_file_path(p, base_offset, suffix, path, sizeof path);
    snprintf(renamed, sizeof renamed, "%s.deleted", path);
    if (rename(path, renamed) == 0)
        removed(renamed, p->log.config.file_delete_delay_ms, user);
    else if (errno != ENOENT)
        journal_line(p->env.journal, JOURNAL_WARN, "%s cannot be renamed: %s", path,
                     strerror(errno));
}

/* All segments go: a new one first, for what comes. */
static bool roll_empty(struct partition *p)
{
    struct segment_file *file = segment_file_create(p, p->log.end_offset);
    if (!file) {
        journal_line(p->env.journal, JOURNAL_ERROR, "partition %s: no new segment: %s", p->name,
                     strerror(errno));
        return false;
    }
    p->is_folder_synced = false;
    pthread_mutex_lock(&p->view);
    bool ok = log_roll(&p->log, file, clock_wall_ms()) == ZKC_OK;
    if (ok)
        leave_segment(&p->log.segments[p->log.count - 2]);
    if (ok && p->visible.offset == p->log.end_offset)
        partition_show_all(p);
    pthread_mutex_unlock(&p->view);
    if (!ok) {
        segment_file_free(file);
        remove_segment_files(p, p->log.end_offset);
    }
    return ok;
}

void partition_retain(struct partition *p, partition_removed_fn *removed, void *user)
{
    pthread_mutex_lock(&p->writer);
    size_t count = state_of(p) == PARTITION_ONLINE ? log_expired(&p->log, clock_wall_ms()) : 0;
    if (count && count == p->log.count && !roll_empty(p))
        count = 0;
    for (; count; count--) {
        pthread_mutex_lock(&p->view);
        struct log_segment gone = log_drop_oldest(&p->log);
        pthread_mutex_unlock(&p->view);
        journal_always(p->env.journal, JOURNAL_INFO,
                       "partition %s: segment %020" PRId64 " (%" PRIu32 " bytes) is deleted",
                       p->name, gone.base_offset, gone.size);
        remove_file(p, gone.base_offset, ".log", removed, user);
        remove_file(p, gone.base_offset, ".index", removed, user);
        segment_index_deinit(&gone.index);
        segment_file_free(gone.file);
    }
    pthread_mutex_unlock(&p->writer);
}

bool partition_finish(struct partition *p)
{
    return partition_flush(p);
}

static void remove_folder(const struct partition *p)
{
    DIR *dir = opendir(p->path);
    if (!dir)
        return;
    struct dirent *entry;
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    if (rmdir(p->path))
        journal_always(p->env.journal, JOURNAL_ERROR, "%s cannot be removed: %s", p->path,
                       strerror(errno));
}

void partition_delete(struct partition *p)
{
    pthread_mutex_lock(&p->writer);
    pthread_mutex_lock(&p->view);
    bool is_first = p->state != PARTITION_DELETED;
    p->state = PARTITION_DELETED;
    why_set(&p->fault, "its topic was deleted");
    disturb_readers(p);
    answer_flushers(p, 0, true);
    pthread_mutex_unlock(&p->view);
    if (is_first)
        remove_folder(p);
    pthread_mutex_unlock(&p->writer);
}
