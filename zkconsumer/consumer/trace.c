#include "zkconsumer/consumer/trace.h"
#include "zkconsumer/consumer/loop.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_BYTES ((size_t)64 * 1024)
#define LINE_BYTES  ((size_t)1024 * 1024)

struct trace {
    int fd;
    char *path;
    char *source;
    int level;
    int64_t origin_ns;
    int64_t opened_ns;
    int64_t (*now_ns)(void);
    void (*on_failed)(const char *text, void *user);
    void *user;

    struct buf buffer; /* whole lines, to be written */
    size_t buffered;   /* how many */
    struct buf line;   /* the event being built */
    struct json json;
    bool is_building;

    uint64_t seq;
    uint64_t events; /* written, or still in the buffer */
    uint64_t drops;
    off_t whole_bytes; /* of the file, up to the end of the last whole line */
    bool has_failed;
};

/* ---- opening ---- */

static enum zkc_err refuse(char *why, size_t why_size, const char *path, const char *what)
{
    if (why)
        snprintf(why, why_size, "trace.path=%s: %s", path, what);
    return ZKC_ERR_SYSTEM;
}

/* Only where a write cannot wait for somebody: the loop does it. */
static enum zkc_err open_file(struct trace *t, char *why, size_t why_size)
{
    t->fd = open(t->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_APPEND, 0666);
    struct stat st;
    if (t->fd < 0 || fstat(t->fd, &st) < 0)
        return refuse(why, why_size, t->path, strerror(errno));
    if (S_ISCHR(st.st_mode))
        return ZKC_OK;
    if (!S_ISREG(st.st_mode))
        return refuse(why, why_size, t->path, "is a pipe or socket; a trace needs a file");
    if (flock(t->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return refuse(why, why_size, t->path,
                      "another consumer is writing this trace; give each its own file");
    if (ftruncate(t->fd, 0) < 0)
        return refuse(why, why_size, t->path, strerror(errno));
    return ZKC_OK;
}

static void free_trace(struct trace *t)
{
    if (t->fd >= 0)
        close(t->fd);
    buf_deinit(&t->buffer);
    buf_deinit(&t->line);
    free(t->path);
    free(t->source);
    free(t);
}

enum zkc_err trace_open(const struct trace_options *options, struct trace **out, char *why,
                        size_t why_size)
{
    struct trace *t = calloc(1, sizeof *t);
    if (!t)
        return ZKC_ERR_NOMEM;
    t->fd = -1;
    t->path = strdup(options->path);
    t->source = strdup(options->source);
    t->level = options->level;
    t->origin_ns = options->origin_ns;
    t->now_ns = options->now_ns ? options->now_ns : loop_now_ns;
    t->opened_ns = t->now_ns();
    t->on_failed = options->on_failed;
    t->user = options->user;
    buf_init(&t->buffer, FLUSH_BYTES + LINE_BYTES);
    buf_init(&t->line, LINE_BYTES);
    enum zkc_err err = t->path && t->source ? open_file(t, why, why_size) : ZKC_ERR_NOMEM;
    if (err) {
        free_trace(t);
        return err;
    }
    *out = t;
    return ZKC_OK;
}

/* ---- writing ---- */

/* Gives up what is buffered. Later events are tried again: a disk may have room again. */
static void fail(struct trace *t, const char *what)
{
    t->drops += t->buffered;
    t->events -= t->buffered;
    t->buffered = 0;
    buf_clear(&t->buffer);
    if (ftruncate(t->fd, t->whole_bytes) < 0) {
        /* A device, which has no half line to tidy up. */
    }
    if (t->has_failed)
        return;
    t->has_failed = true;
    char text[512];
    snprintf(
        text, sizeof text,
        "trace.path=%s: %s; events are missing from here on (`drops` of the last line says how "
        "many)",
        t->path, what);
    if (t->on_failed)
        t->on_failed(text, t->user);
}

/* Takes what was written off the buffer. */
static void written(struct trace *t, size_t bytes, off_t *file_bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (t->buffer.data[i] != '\n')
            continue;
        t->buffered--;
        t->whole_bytes = *file_bytes + (off_t)i + 1;
    }
    *file_bytes += (off_t)bytes;
    memmove(t->buffer.data, t->buffer.data + bytes, t->buffer.len - bytes);
    t->buffer.len -= bytes;
}

void trace_flush(struct trace *t)
{
    if (!t)
        return;
    off_t file_bytes = t->whole_bytes;
    while (t->buffer.len) {
        ssize_t n = write(t->fd, t->buffer.data, t->buffer.len);
        if (n > 0) {
            written(t, (size_t)n, &file_bytes);
        } else if (n == 0 || errno != EINTR) {
            fail(t, n < 0 ? strerror(errno) : "nothing could be written");
            return;
        }
    }
}

/* ---- building ---- */

static struct json *begin(struct trace *t, const char *ev, int64_t at_ns)
{
    assert(!t->is_building);
    t->is_building = true;
    buf_clear(&t->line);
    json_init(&t->json, &t->line);
    json_object_begin(&t->json, NULL);
    json_text(&t->json, "ev", ev);
    json_int(&t->json, "t", at_ns - t->origin_ns);
    json_text(&t->json, "src", t->source);
    json_int(&t->json, "seq", (int64_t)t->seq);
    return &t->json;
}

struct json *trace_begin_at(struct trace *t, int level, const char *ev, int64_t at_ns)
{
    return t && level <= t->level ? begin(t, ev, at_ns) : NULL;
}

struct json *trace_begin(struct trace *t, int level, const char *ev)
{
    return t && level <= t->level ? begin(t, ev, t->now_ns()) : NULL;
}

struct json *trace_begin_header(struct trace *t)
{
    if (!t)
        return NULL;
    int64_t now_ns = t->now_ns();
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    int64_t wall_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec;
    struct json *j = begin(t, "run", now_ns);
    json_text(j, "schema", "rbtrace/1");
    json_text(j, "clock", "monotonic");
    json_int(j, "wall0", wall_ns - (now_ns - t->origin_ns));
    json_int(j, "level", t->level);
    return j;
}

void trace_end(struct trace *t)
{
    assert(t->is_building);
    t->is_building = false;
    json_object_end(&t->json);
    buf_append_byte(&t->line, '\n');
    if (t->line.failed) {
        t->drops++;
        return;
    }
    buf_append(&t->buffer, t->line.data, t->line.len);
    if (t->buffer.failed) {
        t->buffer.failed = ZKC_OK; /* what is in it is whole */
        t->drops++;
        return;
    }
    t->seq++;
    t->events++;
    t->buffered++;
    if (t->buffer.len >= FLUSH_BYTES)
        trace_flush(t);
}

int64_t trace_time(const struct trace *trace, int64_t at_ns)
{
    return at_ns - trace->origin_ns;
}

void trace_dropped(struct trace *t, uint64_t count)
{
    if (t)
        t->drops += count;
}

void trace_close(struct trace *t, const char *reason)
{
    if (!t)
        return;
    trace_flush(t); /* so that the numbers below are known */
    struct json *j = trace_begin(t, TRACE_STATES, "end");
    json_text(j, "reason", reason);
    json_int(j, "wall_s", (t->now_ns() - t->opened_ns) / 1000000000);
    json_int(j, "events", (int64_t)t->events);
    json_int(j, "drops", (int64_t)t->drops);
    trace_end(t);
    trace_flush(t);
    free_trace(t);
}
