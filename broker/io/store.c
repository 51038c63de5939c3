#include "broker/io/store.h"
#include "broker/core/checkpoint.h"
#include "broker/core/log_names.h"
#include "broker/io/clock.h"
#include "broker/io/config.h"
#include "broker/io/journal.h"
#include "zkconsumer/cli/file.h"
#include "zkconsumer/core/base/rng.h"
#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUCKETS              1024 /* of the table of partitions */
#define CHECKPOINT_BYTES_MAX (64 << 20)
#define PERIOD_MS_MIN        10
#define PERIOD_MS_MAX        (3600 * 1000)

struct slot {
    struct slot *next;
    struct partition *partition; /* a reference */
    size_t dir;
};

struct dir {
    const char *path; /* the configuration's */
    int lock_fd;
    size_t partitions;
    bool is_loaded; /* all of it: only then it can be vouched for */
};

/* A file that retention has renamed, to be removed later. */
struct removed {
    struct removed *next;
    int64_t due_ms;
    char path[];
};

struct timer {
    struct event *event;
    int64_t period_ms;
    void (*run)(struct store *s);
    struct store *store;
};

enum { TIMER_RETENTION, TIMER_CHECKPOINT, TIMER_FLUSH, TIMERS };

struct store {
    const struct config *config;
    struct journal *journal;
    struct log_config defaults;
    struct rng rng; /* of jitter; main thread's */
    struct partition_env env;
    struct thread_loop *flusher; /* calls fsync() */
    struct thread_loop *keeper;  /* retention and checkpoints */
    struct timer timers[TIMERS];
    struct event *removal;   /* keeper's */
    struct removed *removed; /* keeper's; the earliest first */
    struct dir *dirs;
    size_t dirs_count;
    pthread_rwlock_t lock; /* of the table, which the main thread alone changes */
    struct slot *table[BUCKETS];
    size_t count;
};

struct log_config store_log_config(const struct config *c)
{
    struct log_config l = log_config_default();
    l.segment_bytes = (int32_t)c->log_segment_bytes;
    l.segment_ms = c->log_roll_ms;
    l.segment_jitter_ms = c->log_roll_jitter_ms;
    l.index_bytes_max = (int32_t)c->log_index_size_max_bytes;
    l.index_interval_bytes = (int32_t)c->log_index_interval_bytes;
    l.message_bytes_max = (int32_t)c->message_max_bytes;
    l.retention_ms = c->log_retention_ms;
    l.retention_bytes = c->log_retention_bytes;
    l.file_delete_delay_ms = c->log_segment_delete_delay_ms;
    l.flush_messages = c->log_flush_interval_messages;
    l.flush_ms = c->log_flush_interval_ms;
    l.compact = c->log_cleanup_compact;
    return l;
}

/* ---- the table ---- */

static struct slot **slot_of(struct store *s, const char *topic, int32_t number)
{
    uint32_t hash = 2166136261U ^ (uint32_t)number;
    for (const char *c = topic; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619U;
    struct slot **at = &s->table[hash % BUCKETS];
    while (*at && (partition_number((*at)->partition) != number ||
                   strcmp(partition_topic((*at)->partition), topic) != 0))
        at = &(*at)->next;
    return at;
}

/* Takes the reference over. */
static bool insert(struct store *s, struct partition *p, size_t dir)
{
    struct slot *slot = malloc(sizeof *slot);
    if (!slot) {
        partition_put(p);
        return false;
    }
    *slot = (struct slot){.partition = p, .dir = dir};
    *slot_of(s, partition_topic(p), partition_number(p)) = slot;
    s->dirs[dir].partitions++;
    s->count++;
    return true;
}

/* References to all partitions, of one folder or (dir SIZE_MAX) of all. NULL: none, or no memory.
 */
static struct partition **snapshot(struct store *s, size_t dir, size_t *count)
{
    pthread_rwlock_rdlock(&s->lock);
    struct partition **list = malloc((s->count + 1) * sizeof(struct partition *));
    *count = 0;
    for (size_t i = 0; list && i < BUCKETS; i++)
        for (struct slot *at = s->table[i]; at; at = at->next)
            if (dir == SIZE_MAX || at->dir == dir)
                list[(*count)++] = partition_get(at->partition);
    pthread_rwlock_unlock(&s->lock);
    return list;
}

static void release(struct partition **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        partition_put(list[i]);
    free(list);
}

struct partition *store_find(struct store *s, const char *topic, int32_t number)
{
    pthread_rwlock_rdlock(&s->lock);
    struct slot *slot = *slot_of(s, topic, number);
    struct partition *p = slot ? partition_get(slot->partition) : NULL;
    pthread_rwlock_unlock(&s->lock);
    return p;
}

size_t store_partition_count(struct store *s)
{
    pthread_rwlock_rdlock(&s->lock);
    size_t count = s->count;
    pthread_rwlock_unlock(&s->lock);
    return count;
}

static size_t emptiest_dir(const struct store *s)
{
    size_t best = 0;
    for (size_t i = 1; i < s->dirs_count; i++)
        if (s->dirs[i].partitions < s->dirs[best].partitions)
            best = i;
    return best;
}

/* Each log draws its own jitter, so that those of one age do not all roll together. */
static struct log_config with_jitter(struct store *s, const struct log_config *config)
{
    struct log_config c = *config;
    if (c.segment_jitter_ms > 0)
        c.segment_jitter_ms = (int64_t)rng_below(&s->rng, (uint64_t)c.segment_jitter_ms);
    return c;
}

struct partition *store_host(struct store *s, const char *topic, int32_t number,
                             const struct log_config *config, struct why *why)
{
    why_clear(why);
    struct log_config c = with_jitter(s, config);
    struct partition *p = store_find(s, topic, number);
    if (p) {
        partition_configure(p, &c);
        return p;
    }
    size_t dir = emptiest_dir(s);
    p = partition_create(&s->env, s->dirs[dir].path, topic, number, &c, why);
    if (!p)
        return NULL;
    pthread_rwlock_wrlock(&s->lock);
    bool ok = insert(s, partition_get(p), dir);
    pthread_rwlock_unlock(&s->lock);
    if (ok)
        return p;
    partition_put(p);
    why_set(why, "out of memory");
    return NULL;
}

void store_configure(struct store *s, const char *topic, const struct log_config *config)
{
    size_t count;
    struct partition **list = snapshot(s, SIZE_MAX, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(partition_topic(list[i]), topic) != 0)
            continue;
        struct log_config c = with_jitter(s, config);
        partition_configure(list[i], &c);
    }
    release(list, count);
}

void store_delete(struct store *s, const char *topic, int32_t number)
{
    pthread_rwlock_wrlock(&s->lock);
    struct slot **at = slot_of(s, topic, number);
    struct slot *slot = *at;
    if (slot) {
        *at = slot->next;
        s->dirs[slot->dir].partitions--;
        s->count--;
    }
    pthread_rwlock_unlock(&s->lock);
    if (!slot)
        return;
    partition_delete(slot->partition);
    partition_put(slot->partition);
    free(slot);
}

/* ---- checkpoints ---- */

static bool write_durably(const char *path, struct bytes data, struct why *why)
{
    char tmp[PATH_MAX];
    snprintf(tmp, sizeof tmp, "%s.tmp", path);
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool ok = fd >= 0;
    for (size_t done = 0; ok && done < data.len;) {
        ssize_t n = write(fd, data.data + done, data.len - done);
        ok = n > 0 || (n < 0 && errno == EINTR);
        done += n > 0 ? (size_t)n : 0;
    }
    ok = ok && fsync(fd) == 0;
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (ok && rename(tmp, path)) {
        error = errno;
        ok = false;
    }
    if (!ok) {
        why_set(why, "%s cannot be written: %s", path, strerror(error));
        unlink(tmp);
    }
    return ok;
}

static void dir_file(const struct dir *d, const char *name, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s/%s", d->path, name);
}

static bool write_checkpoint(struct store *s, size_t dir, const char *name,
                             int64_t (*offset_of)(struct partition *p))
{
    size_t count;
    struct partition **list = snapshot(s, dir, &count);
    struct buf text;
    buf_init(&text, CHECKPOINT_BYTES_MAX);
    checkpoint_write_begin(&text, count);
    for (size_t i = 0; i < count; i++)
        checkpoint_write_entry(
            &text, (struct topic_partition){partition_topic(list[i]), partition_number(list[i])},
            offset_of(list[i]));
    release(list, count);
    char path[PATH_MAX];
    dir_file(&s->dirs[dir], name, path);
    struct why why;
    why_set(&why, "%s cannot be written: out of memory", path);
    bool ok = list && !text.failed && write_durably(path, buf_bytes(&text), &why);
    if (!ok)
        journal_line(s->journal, JOURNAL_ERROR, "%s", why.text);
    buf_deinit(&text);
    return ok;
}

static bool write_checkpoints(struct store *s, size_t dir)
{
    bool ok = write_checkpoint(s, dir, LOG_RECOVERY_POINT_FILE, partition_recovery_point);
    return write_checkpoint(s, dir, LOG_HIGH_WATERMARK_FILE, partition_end_offset) && ok;
}

static void checkpoint_all(struct store *s)
{
    for (size_t i = 0; i < s->dirs_count; i++)
        write_checkpoints(s, i);
}

/* ---- periodic work, on the keeper's thread ---- */

static void arm_removal(struct store *s)
{
    if (!s->removed)
        return;
    int64_t wait_ms = s->removed->due_ms - clock_now_ms();
    wait_ms = wait_ms < 0 ? 0 : wait_ms > PERIOD_MS_MAX ? PERIOD_MS_MAX : wait_ms;
    event_add(s->removal,
              &(struct timeval){.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000});
}

static void on_removal(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct store *s = arg;
    while (s->removed && s->removed->due_ms <= clock_now_ms()) {
        struct removed *r = s->removed;
        s->removed = r->next;
        if (unlink(r->path) && errno != ENOENT)
            journal_line(s->journal, JOURNAL_WARN, "%s cannot be removed: %s", r->path,
                         strerror(errno));
        free(r);
    }
    arm_removal(s);
}

static void remove_later(const char *path, int64_t delay_ms, void *user)
{
    struct store *s = user;
    size_t size = strlen(path) + 1;
    struct removed *r = delay_ms > 0 ? malloc(sizeof *r + size) : NULL;
    if (!r) {
        unlink(path);
        return;
    }
    int64_t now_ms = clock_now_ms();
    r->due_ms = delay_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + delay_ms;
    memcpy(r->path, path, size);
    struct removed **at = &s->removed;
    while (*at && (*at)->due_ms <= r->due_ms)
        at = &(*at)->next;
    r->next = *at;
    *at = r;
    arm_removal(s);
}

static void retain_all(struct store *s)
{
    size_t count;
    struct partition **list = snapshot(s, SIZE_MAX, &count);
    for (size_t i = 0; i < count; i++)
        partition_retain(list[i], remove_later, s);
    release(list, count);
}

static void flush_due(struct store *s)
{
    size_t count;
    struct partition **list = snapshot(s, SIZE_MAX, &count);
    int64_t now_ms = clock_wall_ms();
    for (size_t i = 0; i < count; i++)
        if (partition_flush_deadline_ms(list[i]) <= now_ms)
            partition_flush_soon(list[i]);
    release(list, count);
}

static void arm(struct timer *t)
{
    int64_t ms = t->period_ms;
    ms = ms < PERIOD_MS_MIN ? PERIOD_MS_MIN : ms > PERIOD_MS_MAX ? PERIOD_MS_MAX : ms;
    event_add(t->event, &(struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000});
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct timer *t = arg;
    t->run(t->store);
    arm(t);
}

static bool timer_init(struct store *s, int which, int64_t period_ms, void (*run)(struct store *))
{
    struct timer *t = &s->timers[which];
    *t = (struct timer){.period_ms = period_ms, .run = run, .store = s};
    t->event = evtimer_new(thread_loop_base(s->keeper), on_timer, t);
    if (t->event)
        arm(t);
    return t->event != NULL;
}

bool store_start(struct store *s, struct why *why)
{
    const struct config *c = s->config;
    /* A topic may have a flush.ms of its own: it is looked at twice a second then. */
    int64_t flush_ms = c->log_flush_interval_ms < 500 ? c->log_flush_interval_ms : 500;
    if (c->log_flush_scheduler_interval_ms != INT64_MAX)
        flush_ms = c->log_flush_scheduler_interval_ms;
    s->removal = evtimer_new(thread_loop_base(s->keeper), on_removal, s);
    bool ok = s->removal &&
              timer_init(s, TIMER_RETENTION, c->log_retention_check_interval_ms, retain_all) &&
              timer_init(s, TIMER_CHECKPOINT, c->log_flush_offset_checkpoint_interval_ms,
                         checkpoint_all) &&
              timer_init(s, TIMER_FLUSH, flush_ms, flush_due) &&
              thread_loop_start(s->flusher, "flusher") && thread_loop_start(s->keeper, "keeper");
    if (!ok)
        why_set(why, "a thread cannot be started: %s", strerror(errno));
    return ok;
}

/* ---- opening ---- */

static bool make_folders(const char *path)
{
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (char *slash = part + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        if (mkdir(part, 0755) && errno != EEXIST)
            return false;
    }
    return mkdir(part, 0755) == 0 || errno == EEXIST;
}

/* Kafka's own lock (java.nio's, so POSIX'): of two brokers, ours or Kafka's, the second is told. */
static bool lock_dir(struct dir *d, struct why *why)
{
    char path[PATH_MAX];
    dir_file(d, LOG_LOCK_FILE, path);
    d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (d->lock_fd < 0) {
        why_set(why, "log.dirs: %s cannot be written: %s", path, strerror(errno));
        return false;
    }
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(d->lock_fd, F_OFD_SETLK, &lock) == 0)
        return true;
    if (errno == EAGAIN || errno == EACCES)
        why_set(why, "log.dirs: %s is in use by another broker (%s is locked)", d->path, path);
    else
        why_set(why, "log.dirs: %s cannot be locked: %s", path, strerror(errno));
    return false;
}

static void read_checkpoint(struct store *s, const struct dir *d, struct checkpoint *out)
{
    *out = (struct checkpoint){0};
    char path[PATH_MAX];
    dir_file(d, LOG_RECOVERY_POINT_FILE, path);
    if (access(path, F_OK))
        return;
    struct buf text;
    buf_init(&text, CHECKPOINT_BYTES_MAX);
    struct why why;
    if (!read_whole_file(path, &text, &why) || checkpoint_read(buf_bytes(&text), out, &why))
        journal_always(s->journal, JOURNAL_WARN, "%s is ignored, all logs are checked: %s", path,
                       why.text);
    buf_deinit(&text);
}

struct dir_loading {
    size_t dir;
    bool is_clean;
    struct checkpoint recovery;
};

static bool load_folder(struct store *s, const struct dir_loading *l, const char *name,
                        struct why *why)
{
    char topic[TOPIC_NAME_MAX + 1];
    int32_t number;
    char path[PATH_MAX];
    const struct dir *d = &s->dirs[l->dir];
    dir_file(d, name, path);
    struct stat st;
    if (!log_folder_parse(name, topic, &number) || stat(path, &st) || !S_ISDIR(st.st_mode))
        return true;
    if (*slot_of(s, topic, number)) {
        why_set(why, "log.dirs: partition %s is in two of the folders", name);
        return false;
    }
    struct log_config c = with_jitter(s, &s->defaults);
    int64_t recovery_point = checkpoint_find(
        &l->recovery, (struct topic_partition){.topic = topic, .partition = number}, 0);
    struct partition *p =
        partition_load(&s->env, d->path, topic, number, &c, recovery_point, l->is_clean);
    if (p && insert(s, p, l->dir))
        return true;
    why_set(why, "out of memory");
    return false;
}

static bool load_dir(struct store *s, size_t index, struct why *why)
{
    struct dir *d = &s->dirs[index];
    char clean[PATH_MAX];
    dir_file(d, LOG_CLEAN_SHUTDOWN_FILE, clean);
    struct dir_loading l = {.dir = index, .is_clean = access(clean, F_OK) == 0};
    read_checkpoint(s, d, &l.recovery);
    DIR *dir = opendir(d->path);
    bool ok = dir != NULL;
    if (!ok)
        why_set(why, "log.dirs: %s cannot be read: %s", d->path, strerror(errno));
    int64_t begin_ms = clock_now_ms();
    size_t before = s->count;
    struct dirent *entry;
    while (ok && (entry = readdir(dir)))
        ok = load_folder(s, &l, entry->d_name, why);
    if (dir)
        closedir(dir);
    checkpoint_deinit(&l.recovery);
    if (ok && unlink(clean) && errno != ENOENT) {
        why_set(why, "log.dirs: %s cannot be removed: %s", clean, strerror(errno));
        ok = false;
    }
    if (ok && s->count > before)
        journal_always(s->journal, JOURNAL_INFO, "%s: %zu partitions loaded in %lld ms%s", d->path,
                       s->count - before, (long long)(clock_now_ms() - begin_ms),
                       l.is_clean ? "" : ", checked after an unclean stop");
    return ok;
}

static bool open_dirs(struct store *s, struct why *why)
{
    s->dirs = calloc(s->config->log_dirs_count, sizeof *s->dirs);
    if (!s->dirs) {
        why_set(why, "out of memory");
        return false;
    }
    for (size_t i = 0; i < s->config->log_dirs_count; i++) {
        struct dir *d = &s->dirs[i];
        *d = (struct dir){.path = s->config->log_dirs[i], .lock_fd = -1};
        s->dirs_count++;
        if (!make_folders(d->path)) {
            why_set(why, "log.dirs: %s cannot be created: %s", d->path, strerror(errno));
            return false;
        }
        if (!lock_dir(d, why) || !load_dir(s, i, why))
            return false;
        d->is_loaded = true;
    }
    return true;
}

struct store *store_open(const struct config *config, struct journal *journal, struct why *why)
{
    struct store *s = calloc(1, sizeof *s);
    why_set(why, "out of memory");
    if (!s)
        return NULL;
    s->config = config;
    s->journal = journal;
    s->defaults = store_log_config(config);
    rng_init(&s->rng, (uint64_t)clock_wall_ms() ^ (uint64_t)getpid() << 32);
    pthread_rwlock_init(&s->lock, NULL);
    s->flusher = thread_loop_new();
    s->keeper = thread_loop_new();
    s->env = (struct partition_env){.journal = journal, .flusher = s->flusher};
    if (!s->flusher || !s->keeper || !open_dirs(s, why)) {
        store_close(s, true);
        return NULL;
    }
    why_clear(why);
    return s;
}

/* ---- closing ---- */

/* The mark comes last: it says that all the rest is on disk. */
static void finish_dir(struct store *s, size_t dir)
{
    size_t count;
    struct partition **list = snapshot(s, dir, &count);
    bool ok = list != NULL;
    for (size_t i = 0; i < count; i++)
        ok = partition_finish(list[i]) && ok;
    release(list, count);
    ok = write_checkpoints(s, dir) && ok;
    char path[PATH_MAX];
    dir_file(&s->dirs[dir], LOG_CLEAN_SHUTDOWN_FILE, path);
    struct why why;
    if (ok && !write_durably(path, bytes_of("", 0), &why))
        journal_line(s->journal, JOURNAL_ERROR, "%s", why.text);
}

static void stop_thread(struct thread_loop *l)
{
    if (!l)
        return;
    thread_loop_leave(l);
    thread_loop_join(l);
}

void store_stop(struct store *s)
{
    if (!s)
        return;
    stop_thread(s->keeper);
    stop_thread(s->flusher);
    size_t count;
    struct partition **list = snapshot(s, SIZE_MAX, &count);
    for (size_t i = 0; i < count; i++)
        partition_drop_flush(list[i]);
    release(list, count);
}

void store_close(struct store *s, bool is_orderly)
{
    if (!s)
        return;
    store_stop(s);
    for (size_t i = 0; is_orderly && i < s->dirs_count; i++)
        if (s->dirs[i].is_loaded)
            finish_dir(s, i);
    for (size_t i = 0; i < TIMERS; i++)
        if (s->timers[i].event)
            event_free(s->timers[i].event);
    if (s->removal)
        event_free(s->removal);
    while (s->removed) {
        struct removed *r = s->removed;
        s->removed = r->next;
        free(r);
    }
    for (size_t i = 0; i < BUCKETS; i++)
        while (s->table[i]) {
            struct slot *slot = s->table[i];
            s->table[i] = slot->next;
            partition_put(slot->partition);
            free(slot);
        }
    thread_loop_free(s->keeper);
    thread_loop_free(s->flusher);
    for (size_t i = 0; i < s->dirs_count; i++)
        if (s->dirs[i].lock_fd >= 0)
            close(s->dirs[i].lock_fd);
    free(s->dirs);
    pthread_rwlock_destroy(&s->lock);
    free(s);
}
