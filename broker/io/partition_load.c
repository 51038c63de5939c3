/* Loading a partition's folder: which files count, what has to be checked, what a crash left.
 * The rules are in broker/core (log_names.h, partition_log.h, segment_scan.h); Kafka's
 * kafka.log.Log.loadSegments and recoverLog do the same. */
#include "broker/io/partition_internal.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK_BYTES (256 * 1024)
#define PROGRESS_MS 2000

struct found {
    int64_t *bases; /* of .log files, ascending */
    size_t count, cap;
    bool is_out_of_memory;
};

struct loading {
    struct partition *p;
    int64_t recovery_point;
    bool is_clean;
    int64_t next_offset; /* behind the segment that was loaded last */
    bool is_cut;         /* the rest does not count */
    int64_t said_ms;     /* when progress was last told */
};

static bool add_base(struct found *f, int64_t base)
{
    if (f->count == f->cap) {
        size_t cap = f->cap ? f->cap * 2 : 16;
        int64_t *bases = realloc(f->bases, cap * sizeof *bases);
        if (!bases)
            return false;
        f->bases = bases;
        f->cap = cap;
    }
    f->bases[f->count++] = base;
    return true;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A finished compaction of Kafka's: its .log takes the place of the old one. */
static void finish_swap(const struct partition *p, const char *name, int64_t base)
{
    char from[PATH_MAX + 300], to[PATH_MAX];
    snprintf(from, sizeof from, "%s/%s", p->path, name);
    partition_file_path(p, base, ".index", to, sizeof to);
    unlink(to);
    partition_file_path(p, base, ".log", to, sizeof to);
    if (rename(from, to))
        journal_always(p->env.journal, JOURNAL_ERROR, "%s cannot be renamed: %s", from,
                       strerror(errno));
}

typedef bool entry_fn(struct partition *p, int dir_fd, const char *name, struct found *f);

static bool tidy_entry(struct partition *p, int dir_fd, const char *name, struct found *f)
{
    (void)f;
    int64_t base;
    switch (log_file_kind(name, &base)) {
    case LOG_FILE_DELETED:
    case LOG_FILE_CLEANED:
    case LOG_FILE_SWAP_INDEX: unlinkat(dir_fd, name, 0); break;
    case LOG_FILE_SWAP: finish_swap(p, name, base); break;
    case LOG_FILE_SEGMENT:
    case LOG_FILE_INDEX:
    case LOG_FILE_OTHER: break;
    }
    return true;
}

static bool find_entry(struct partition *p, int dir_fd, const char *name, struct found *f)
{
    int64_t base;
    char path[PATH_MAX];
    switch (log_file_kind(name, &base)) {
    case LOG_FILE_SEGMENT:
        if (add_base(f, base))
            return true;
        errno = ENOMEM;
        return false;
    case LOG_FILE_INDEX:
        partition_file_path(p, base, ".log", path, sizeof path);
        if (access(path, F_OK) && errno == ENOENT)
            unlinkat(dir_fd, name, 0);
        return true;
    default: return true;
    }
}

static bool each_entry(struct partition *p, entry_fn *fn, struct found *f)
{
    DIR *dir = opendir(p->path);
    if (!dir)
        return false;
    bool ok = true;
    struct dirent *entry;
    for (errno = 0; ok && (entry = readdir(dir));)
        ok = fn(p, dirfd(dir), entry->d_name, f);
    int error = errno;
    closedir(dir);
    errno = error;
    return ok;
}

static bool find_segments(struct partition *p, struct found *f)
{
    if (!each_entry(p, tidy_entry, f) || !each_entry(p, find_entry, f))
        return false;
    if (f->count)
        qsort(f->bases, f->count, sizeof *f->bases, compare);
    return true;
}

/* ---- one segment ---- */

static void say_progress(struct loading *l, int64_t base, uint64_t done, uint64_t size)
{
    int64_t now_ms = clock_now_ms();
    if (now_ms - l->said_ms < PROGRESS_MS)
        return;
    l->said_ms = now_ms;
    journal_always(l->p->env.journal, JOURNAL_INFO,
                   "checking partition %s: segment %020" PRId64 ", %" PRIu64 " of %" PRIu64 " MiB",
                   l->p->name, base, done >> 20, size >> 20);
}

/* Feeds the file from `at` on. False: it cannot be read (errno). */
static bool feed(struct loading *l, struct segment_check *c, int fd, uint64_t at, uint64_t size)
{
    uint8_t *bytes = malloc(CHECK_BYTES);
    if (!bytes)
        return false;
    bool ok = true;
    while (ok && at < size) {
        ssize_t n = pread(fd, bytes, CHECK_BYTES, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        ok = n >= 0;
        if (n <= 0)
            break;
        at += (uint64_t)n;
        if (!segment_check_feed(c, bytes_of(bytes, (size_t)n)))
            break;
        say_progress(l, c->base_offset, at, size);
    }
    free(bytes);
    return ok;
}

/* Maps the .index and lends it. False: there is none, or it is not to be trusted. */
static bool lend_index(const struct partition *p, struct log_segment_loaded *s)
{
    int fd = partition_open(p, s->base_offset, ".index", O_RDONLY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    void *map = NULL;
    if (st.st_size > 0)
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return false;
    s->file->index_map = map;
    s->file->index_map_len = (size_t)st.st_size;
    struct bytes bytes = bytes_of(map, (size_t)st.st_size);
    if (segment_index_lend(&s->index, bytes, s->size) == ZKC_OK)
        return true;
    if (map)
        munmap(map, s->file->index_map_len);
    s->file->index_map = NULL;
    return false;
}

/* Writes a rebuilt index. It is a hint: failing is no error. */
static void write_index(const struct partition *p, int64_t base, const struct segment_index *x)
{
    int fd = partition_open(p, base, ".index", O_WRONLY | O_CREAT | O_TRUNC);
    if (fd < 0 || write_all_at(fd, x->entries, x->count * INDEX_ENTRY_BYTES, 0))
        journal_line(p->env.journal, JOURNAL_WARN, "partition %s: the index is not written: %s",
                     p->name, strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void say_cut(const struct loading *l, const struct segment_check *c, uint64_t size)
{
    journal_always(l->p->env.journal, JOURNAL_WARN,
                   "partition %s: segment %020" PRId64 " is cut from %" PRIu64 " to %" PRIu32
                   " bytes, the next offset is %" PRId64 ": %s",
                   l->p->name, c->base_offset, size, c->valid_bytes, c->next_offset, c->why.text);
}

/* Reads the segment from its beginning: rebuilds its index, and cuts what does not count. */
static bool check_whole(struct loading *l, struct log_segment_loaded *s, uint64_t size)
{
    struct partition *p = l->p;
    struct segment_check c;
    segment_check_begin(&c, s->base_offset, size, p->log.config.index_interval_bytes,
                        p->log.config.index_bytes_max);
    bool ok = feed(l, &c, s->file->log->fd, 0, size);
    if (ok && segment_check_end(&c)) {
        errno = ENOMEM;
        ok = false;
    }
    if (ok && c.valid_bytes < size) {
        say_cut(l, &c, size);
        ok = ftruncate(s->file->log->fd, c.valid_bytes) == 0;
        l->is_cut = true;
    }
    if (ok) {
        s->size = c.valid_bytes;
        l->next_offset = c.next_offset;
        s->index = segment_check_take_index(&c);
        write_index(p, s->base_offset, &s->index);
    }
    segment_check_deinit(&c);
    return ok;
}

/* The last segment after a clean stop: only its end offset has to be found. False with errno 0: it
 * is not as clean as was said. */
static bool find_end(struct loading *l, struct log_segment_loaded *s)
{
    struct segment_check c;
    struct index_entry from = segment_index_last(&s->index, s->base_offset);
    segment_check_begin_at(&c, s->base_offset, s->size, from);
    bool ok = feed(l, &c, s->file->log->fd, from.position, s->size);
    if (ok && segment_check_end(&c)) {
        errno = ENOMEM;
        ok = false;
    }
    if (ok && c.valid_bytes != s->size) {
        errno = 0;
        ok = false;
    }
    l->next_offset = c.next_offset;
    segment_check_deinit(&c);
    return ok;
}

static bool load_contents(struct loading *l, struct log_segment_loaded *s, uint64_t size,
                          int64_t next_base, bool is_last)
{
    bool must_check =
        !l->is_clean && log_segment_needs_check(next_base, l->recovery_point, is_last);
    if (!must_check && lend_index(l->p, s)) {
        if (!is_last)
            return true;
        if (find_end(l, s))
            return true;
        if (errno)
            return false;
    }
    segment_index_deinit(&s->index);
    s->index = (struct segment_index){0};
    return check_whole(l, s, size);
}

static bool open_segment(struct loading *l, struct log_segment_loaded *s, uint64_t *size)
{
    s->file = calloc(1, sizeof *s->file);
    if (!s->file)
        return false;
    s->file->index_fd = -1;
    int fd = partition_open(l->p, s->base_offset, ".log", O_RDWR);
    if (fd < 0)
        return false;
    s->file->log = file_ref_new_take(fd);
    struct stat st;
    if (!s->file->log || fstat(fd, &st))
        return false;
    if (!S_ISREG(st.st_mode) || st.st_size > INT32_MAX) {
        errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
        return false;
    }
    *size = (uint64_t)st.st_size;
    s->size = (uint32_t)st.st_size;
    s->modified_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    return true;
}

static bool load_segment(struct loading *l, int64_t base, int64_t next_base, bool is_last)
{
    struct log_segment_loaded s = {.base_offset = base};
    uint64_t size;
    l->next_offset = base;
    if (!open_segment(l, &s, &size) || !load_contents(l, &s, size, next_base, is_last)) {
        int error = errno;
        segment_index_deinit(&s.index);
        segment_file_free(s.file);
        errno = error;
        return false;
    }
    if (log_load_segment(&l->p->log, &s, clock_wall_ms()) == ZKC_OK)
        return true;
    segment_file_free(s.file);
    errno = ENOMEM;
    return false;
}

/* ---- the folder ---- */

static void drop_segment(const struct partition *p, int64_t base)
{
    journal_always(p->env.journal, JOURNAL_WARN,
                   "partition %s: segment %020" PRId64 " lies behind a cut and is deleted", p->name,
                   base);
    char path[PATH_MAX];
    partition_file_path(p, base, ".log", path, sizeof path);
    unlink(path);
    partition_file_path(p, base, ".index", path, sizeof path);
    unlink(path);
}

/* The active segment goes on being written: its index is opened, and cut to what counts. */
static bool open_active(struct partition *p)
{
    struct log_segment *s = &p->log.segments[p->log.count - 1];
    s->file->index_fd = partition_open(p, s->base_offset, ".index", O_RDWR | O_CREAT);
    return s->file->index_fd >= 0 &&
           ftruncate(s->file->index_fd, (off_t)(s->index.count * INDEX_ENTRY_BYTES)) == 0;
}

static bool load_segments(struct loading *l, const struct found *f)
{
    for (size_t i = 0; i < f->count; i++) {
        bool is_last = i + 1 == f->count;
        if (l->is_cut)
            drop_segment(l->p, f->bases[i]);
        else if (!load_segment(l, f->bases[i], is_last ? INT64_MAX : f->bases[i + 1], is_last))
            return false;
    }
    return true;
}

static bool load(struct loading *l)
{
    struct partition *p = l->p;
    struct found f = {0};
    bool ok = find_segments(p, &f) && load_segments(l, &f);
    free(f.bases);
    if (!ok)
        return false;
    if (!p->log.count) {
        struct log_segment_loaded s = {.modified_ms = clock_wall_ms()};
        s.file = segment_file_create(p, 0);
        if (!s.file)
            return false;
        if (log_load_segment(&p->log, &s, s.modified_ms)) {
            segment_file_free(s.file);
            errno = ENOMEM;
            return false;
        }
        l->next_offset = 0;
    } else if (!open_active(p)) {
        return false;
    }
    log_loaded(&p->log, l->next_offset,
               l->is_clean || l->recovery_point > l->next_offset ? l->next_offset
                                                                 : l->recovery_point);
    partition_show_all(p);
    return true;
}

struct partition *partition_load(const struct partition_env *env, const char *dir,
                                 const char *topic, int32_t number, const struct log_config *config,
                                 int64_t recovery_point, bool is_clean)
{
    struct partition *p = partition_new(env, dir, topic, number, config);
    if (!p)
        return NULL;
    struct loading l = {
        .p = p, .recovery_point = recovery_point, .is_clean = is_clean, .said_ms = clock_now_ms()};
    if (load(&l))
        return p;
    int error = errno;
    p->state = PARTITION_UNREADABLE;
    why_set(&p->fault, "its log cannot be read: %s", strerror(error));
    journal_always(env->journal, JOURNAL_ERROR,
                   "partition %s is not served until the broker is started again: %s", p->name,
                   p->fault.text);
    return p;
}
