#include "broker/io/journal.h"
#include "broker/io/clock.h"
#include "zkconsumer/core/base/repeats.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 1200

struct journal {
    pthread_mutex_t lock; /* of what follows */
    int fd;
    char *path; /* NULL: stderr */
    int level;
    bool is_stamped;
    struct repeats repeats;
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
    char line[LINE_BYTES + 200];
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

static void emit_held(struct journal *j, const struct repeats_held *held)
{
    char text[LINE_BYTES];
    snprintf(text, sizeof text, "%s [and %u more like it]", held->text, held->count);
    emit(j, held->level, text);
}

void journal_free(struct journal *j)
{
    if (!j)
        return;
    struct repeats_held held;
    size_t at = 0;
    while (repeats_take_held(&j->repeats, &at, &held))
        emit_held(j, &held);
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

/* Under the lock. */
static void show(struct journal *j, int level, const char *cause, const char *text)
{
    struct repeats_line added = {
        .level = level, .cause = cause, .text = text, .now_ms = clock_now_ms()};
    struct repeats_answer answer;
    repeats_add(&j->repeats, &added, &answer);
    if (answer.pushed_out.count)
        emit_held(j, &answer.pushed_out);
    if (!answer.shows)
        return;
    if (!answer.before) {
        emit(j, level, text);
        return;
    }
    char line[LINE_BYTES + 64];
    snprintf(line, sizeof line, "%s [and %u more like it in the %" PRId64 " s before]", text,
             answer.before, answer.before_ms / 1000);
    emit(j, level, line);
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
