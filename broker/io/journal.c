#include "broker/io/journal.h"
#include "broker/io/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES  1200
#define CAUSES_MAX  64
#define INTERVAL_MS 1000

struct cause {
    uint64_t hash; /* 0: free */
    int64_t shown_ms;
    unsigned held; /* lines since then */
    int level;
    char text[200]; /* the newest of them, cut */
};

struct journal {
    pthread_mutex_t lock; /* of what follows */
    int fd;
    char *path; /* NULL: stderr */
    int level;
    bool is_stamped;
    struct cause causes[CAUSES_MAX];
};

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

struct journal *journal_new(const char *path, int level)
{
    struct journal *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    pthread_mutex_init(&j->lock, NULL);
    j->level = level;
    j->fd = STDERR_FILENO;
    j->is_stamped = path || !getenv("JOURNAL_STREAM");
    if (!path)
        return j;
    j->path = strdup(path);
    j->fd = j->path ? open_file(path) : -1;
    if (j->fd < 0) {
        int error = errno;
        free(j->path);
        free(j);
        errno = error;
        return NULL;
    }
    return j;
}

static const char *level_name(int level)
{
    return level <= JOURNAL_ERROR  ? "ERROR"
           : level <= JOURNAL_WARN ? "WARN"
           : level <= JOURNAL_INFO ? "INFO"
                                   : "DEBUG";
}

/* One write() a line, so that lines of several processes on one file stay whole. */
static void emit(struct journal *j, int level, const char *text)
{
    char line[LINE_BYTES + 100];
    int len = 0;
    if (j->is_stamped) {
        struct timespec now;
        struct tm tm;
        clock_gettime(CLOCK_REALTIME, &now);
        localtime_r(&now.tv_sec, &tm);
        len = (int)strftime(line, 40, "[%Y-%m-%d %H:%M:%S", &tm);
        len += snprintf(line + len, 10, ",%03d] ", (int)(now.tv_nsec / 1000000));
    }
    len += snprintf(line + len, sizeof line - (size_t)len, "%s %s\n", level_name(level), text);
    ssize_t written = write(j->fd, line, (size_t)len);
    (void)written; /* there is nobody else to tell */
}

static void emit_held(struct journal *j, const struct cause *c)
{
    char text[LINE_BYTES];
    snprintf(text, sizeof text, "%s [and %u more like it]", c->text, c->held);
    emit(j, c->level, text);
}

void journal_free(struct journal *j)
{
    if (!j)
        return;
    for (size_t i = 0; i < CAUSES_MAX; i++)
        if (j->causes[i].held)
            emit_held(j, &j->causes[i]);
    if (j->path)
        close(j->fd);
    free(j->path);
    pthread_mutex_destroy(&j->lock);
    free(j);
}

void journal_reopen(struct journal *j)
{
    if (!j->path)
        return;
    int fd = open_file(j->path);
    if (fd < 0) {
        journal_always(j, JOURNAL_WARN, "%s cannot be opened again: %s", j->path, strerror(errno));
        return;
    }
    pthread_mutex_lock(&j->lock);
    int old = j->fd;
    j->fd = fd;
    pthread_mutex_unlock(&j->lock);
    close(old);
}

bool journal_shows(const struct journal *j, int level)
{
    return level <= j->level;
}

/* FNV-1a, never 0. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash ? hash : 1;
}

/* The slot of a cause; of a new one, the free slot or the one that was silent longest. */
static struct cause *slot_of(struct journal *j, uint64_t hash)
{
    struct cause *oldest = &j->causes[0];
    for (size_t i = 0; i < CAUSES_MAX; i++) {
        struct cause *c = &j->causes[i];
        if (c->hash == hash)
            return c;
        if (oldest->hash && (!c->hash || c->shown_ms < oldest->shown_ms))
            oldest = c;
    }
    return oldest;
}

static void show(struct journal *j, int level, const char *cause, const char *text)
{
    int64_t now_ms = clock_now_ms();
    uint64_t hash = hash_of(cause);
    struct cause *slot = slot_of(j, hash);
    bool is_known = slot->hash == hash;
    if (is_known && now_ms - slot->shown_ms < INTERVAL_MS) {
        slot->held++;
        slot->level = level;
        snprintf(slot->text, sizeof slot->text, "%.*s", (int)sizeof slot->text - 1, text);
        return;
    }
    if (!is_known && slot->held)
        emit_held(j, slot);
    if (is_known && slot->held) {
        char line[LINE_BYTES];
        snprintf(line, sizeof line, "%s [and %u more like it before]", text, slot->held);
        emit(j, level, line);
    } else {
        emit(j, level, text);
    }
    *slot = (struct cause){.hash = hash, .shown_ms = now_ms};
}

void journal_line(struct journal *j, int level, const char *fmt, ...)
{
    if (!journal_shows(j, level))
        return;
    char text[LINE_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    pthread_mutex_lock(&j->lock);
    show(j, level, fmt, text);
    pthread_mutex_unlock(&j->lock);
}

void journal_cause(struct journal *j, int level, const char *cause, const char *fmt, ...)
{
    if (!journal_shows(j, level))
        return;
    char text[LINE_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    pthread_mutex_lock(&j->lock);
    show(j, level, cause, text);
    pthread_mutex_unlock(&j->lock);
}

void journal_always(struct journal *j, int level, const char *fmt, ...)
{
    if (!journal_shows(j, level))
        return;
    char text[LINE_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    pthread_mutex_lock(&j->lock);
    emit(j, level, text);
    pthread_mutex_unlock(&j->lock);
}
