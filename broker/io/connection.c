/* Input is read into the loop's scratch memory and served from there; only what is left over is
 * kept, in `in`. Output is a stream of bytes (`out`) with ranges of files in between (`parts`).
 *
 *     readable ──> serve(): next frame ──> handler ──> answered ──> send() ──> serve() ...
 *
 * serve() goes on until a request waits for its answer, output piles up, or no whole frame is left.
 * A connection that dies inside of its own callbacks is only marked, and freed when the outermost
 * of them ends (leave()). */
#include "broker/io/connection.h"
#include "broker/io/clock.h"
#include "broker/io/config.h"
#include "broker/io/file_ref.h"
#include "broker/io/journal.h"
#include "broker/io/network_internal.h"
#include "zkconsumer/core/wire/frame.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#define SEND_BYTES_MAX (1024 * 1024) /* in one callback: others want their turn */
#define READ_BYTES     (64 * 1024)
#define KEEP_BYTES     1024 /* of memory for output that an idle connection keeps */
#define OUT_BYTES_MAX  (INT32_MAX)

struct connection {
    TAILQ_ENTRY(connection) link; /* of its loop */
    struct network_loop *loop;
    int fd;
    struct event readable;
    struct event writable;
    bool is_reading; /* `readable` is added */
    bool is_dead;    /* to be freed by leave() */
    bool is_serving; /* serve() runs */
    bool is_busy;    /* a request is being served */
    unsigned depth;  /* of callbacks that use it */
    int64_t used_ms;
    struct pending *pending; /* of the request being served, if it waits */
    struct buf in;           /* what arrived and is not served yet */
    struct buf out;          /* answers; sent up to out_sent */
    size_t out_sent;
    struct connection_part *parts;
    size_t parts_count, parts_cap, parts_sent;
    size_t whole_len, whole_parts; /* of both, what belongs to answers that are complete */
    char peer[64];
};

static const struct network_options *options(const struct connection *c)
{
    return network_options(c->loop->network);
}

const char *connection_peer(const struct connection *c)
{
    return c->peer;
}
struct network_loop *connection_loop(const struct connection *c)
{
    return c->loop;
}
int64_t connection_used_ms(const struct connection *c)
{
    return c->used_ms;
}
struct buf *connection_out(struct connection *c)
{
    return &c->out;
}

static void serve(struct connection *c, struct bytes arrived);

static void used(struct connection *c)
{
    c->used_ms = clock_now_ms();
    TAILQ_REMOVE(&c->loop->connections, c, link);
    TAILQ_INSERT_TAIL(&c->loop->connections, c, link);
}

static void release_parts(struct connection *c)
{
    for (size_t i = c->parts_sent; i < c->parts_count; i++)
        file_ref_put(c->parts[i].file);
    free(c->parts);
    c->parts = NULL;
    c->parts_count = c->parts_cap = c->parts_sent = 0;
}

static void enter(struct connection *c)
{
    c->depth++;
}

static void leave(struct connection *c)
{
    if (--c->depth || !c->is_dead)
        return;
    network_connection_ended(c->loop->network, c->peer);
    buf_deinit(&c->in);
    buf_deinit(&c->out);
    free(c);
}

void connection_close(struct connection *c, const char *why)
{
    if (c->is_dead)
        return;
    enter(c);
    if (why)
        journal_line(options(c)->journal, JOURNAL_WARN, "connection %s is closed: %s", c->peer,
                     why);
    c->is_dead = true;
    TAILQ_REMOVE(&c->loop->connections, c, link);
    event_del(&c->readable);
    event_del(&c->writable);
    close(c->fd);
    release_parts(c);
    struct pending *pending = c->pending;
    c->pending = NULL;
    if (pending)
        pending->cancel(pending);
    leave(c);
}

static void set_reading(struct connection *c, bool is_wanted)
{
    if (c->is_reading == is_wanted)
        return;
    c->is_reading = is_wanted;
    if (is_wanted)
        event_add(&c->readable, NULL);
    else
        event_del(&c->readable);
}

/* ---- output ---- */

bool connection_out_file_take(struct connection *c, const struct connection_part *part)
{
    if (c->parts_count == c->parts_cap) {
        size_t cap = c->parts_cap ? c->parts_cap * 2 : 4;
        struct connection_part *parts = realloc(c->parts, cap * sizeof *parts);
        if (!parts) {
            file_ref_put(part->file);
            return false;
        }
        c->parts = parts;
        c->parts_cap = cap;
    }
    c->parts[c->parts_count++] = *part;
    return true;
}

static bool has_output(const struct connection *c)
{
    return c->out_sent < c->out.len || c->parts_sent < c->parts_count;
}

static void forget_output(struct connection *c)
{
    release_parts(c);
    c->out_sent = 0;
    c->whole_len = c->whole_parts = 0;
    size_t max = c->out.max;
    if (c->out.cap <= KEEP_BYTES) {
        buf_clear(&c->out);
        return;
    }
    buf_deinit(&c->out);
    buf_init(&c->out, max);
}

/* Sends the next piece: bytes up to the next part of a file, or of that. -1: errno. */
static ssize_t send_piece(struct connection *c)
{
    struct connection_part *part = c->parts_sent < c->parts_count ? &c->parts[c->parts_sent] : NULL;
    size_t until = part ? part->at : c->out.len;
    if (c->out_sent < until) {
        int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (part ? MSG_MORE : 0);
        ssize_t n = send(c->fd, c->out.data + c->out_sent, until - c->out_sent, flags);
        if (n > 0)
            c->out_sent += (size_t)n;
        return n;
    }
    off_t offset = (off_t)part->offset;
    ssize_t n = sendfile(c->fd, part->file->fd, &offset, part->len);
    if (n == 0) { /* what was promised is no longer there */
        errno = EIO;
        return -1;
    }
    if (n > 0) {
        part->offset += n;
        part->len -= (size_t)n;
        if (!part->len)
            file_ref_put(c->parts[c->parts_sent++].file);
    }
    return n;
}

/* Sends what the socket takes. False: the connection is gone. */
static bool send_output(struct connection *c)
{
    size_t sent = 0;
    while (has_output(c) && sent < SEND_BYTES_MAX) {
        ssize_t n = send_piece(c);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            connection_close(c, errno == EIO ? "a file could not be sent" : NULL);
            return false;
        }
        sent += (size_t)n;
    }
    if (sent)
        used(c);
    if (has_output(c)) {
        event_add(&c->writable, NULL);
        return true;
    }
    forget_output(c);
    return true;
}

static bool output_is_full(const struct connection *c)
{
    return c->out.len - c->out_sent > CONNECTION_OUT_BYTES || c->parts_count - c->parts_sent > 16;
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct connection *c = arg;
    enter(c);
    if (send_output(c))
        serve(c, BYTES_NULL);
    leave(c);
}

/* ---- the end of a request ---- */

static void finished(struct connection *c)
{
    assert(c->is_busy);
    c->is_busy = false;
    c->pending = NULL;
    c->whole_len = c->out.len;
    c->whole_parts = c->parts_count;
    if (c->is_serving)
        return; /* serve() goes on by itself */
    enter(c);
    if (send_output(c))
        serve(c, BYTES_NULL);
    leave(c);
}

void connection_answered(struct connection *c)
{
    if (c->out.failed) { /* what was written is not whole */
        connection_refuse(c, "no memory for its answer");
        return;
    }
    finished(c);
}

void connection_unanswered(struct connection *c)
{
    finished(c);
}

/* Closes it, but sends the answers to earlier requests first, as far as the socket takes them. What
 * was written of another one is dropped. */
static void close_behind_answers(struct connection *c, const char *why)
{
    enter(c);
    while (c->parts_count > c->whole_parts)
        file_ref_put(c->parts[--c->parts_count].file);
    c->out.len = c->whole_len;
    if (has_output(c))
        send_output(c);
    connection_close(c, why);
    leave(c);
}

void connection_refuse(struct connection *c, const char *why)
{
    c->is_busy = false;
    c->pending = NULL;
    close_behind_answers(c, why);
}

void connection_wait(struct connection *c, struct pending *p)
{
    assert(c->is_busy && !c->pending);
    c->pending = p;
}

/* ---- input ---- */

/* Serves frames at the beginning of `arrived` until one waits; returns the bytes that were used. */
static size_t serve_frames(struct connection *c, struct bytes arrived)
{
    size_t used_bytes = 0;
    int32_t size_max = (int32_t)options(c)->config->socket_request_max_bytes;
    while (!c->is_dead && !c->is_busy && !output_is_full(c)) {
        struct bytes left = bytes_of(arrived.data + used_bytes, arrived.len - used_bytes);
        int32_t size;
        struct bytes frame;
        enum wire_frame_result result = wire_frame_next(left, size_max, &size, &frame);
        if (result == WIRE_FRAME_PARTIAL)
            break;
        if (result == WIRE_FRAME_INVALID) {
            char why[100];
            snprintf(why, sizeof why,
                     "a request of %" PRId32 " bytes; socket.request.max.bytes is %" PRId32, size,
                     size_max);
            close_behind_answers(c, why);
            break;
        }
        used_bytes += WIRE_FRAME_SIZE_BYTES + (size_t)size;
        c->is_busy = true;
        options(c)->on_request(c, frame, options(c)->user);
        if (!c->is_dead && !c->is_busy && output_is_full(c))
            send_output(c);
    }
    return used_bytes;
}

/* Keeps what was not used. `arrived` is the loop's scratch memory, or the contents of c->in. */
static void keep_rest(struct connection *c, struct bytes arrived, size_t used_bytes, bool is_in)
{
    size_t left = arrived.len - used_bytes;
    if (!is_in) {
        buf_append(&c->in, arrived.data + used_bytes, left);
        return;
    }
    if (left == 0) {
        size_t max = c->in.max;
        buf_deinit(&c->in);
        buf_init(&c->in, max);
    } else if (used_bytes) {
        memmove(c->in.data, c->in.data + used_bytes, left);
        c->in.len = left;
    }
}

/* Serves what has arrived: `arrived` in the scratch memory, or, if that is null, c->in. */
static void serve(struct connection *c, struct bytes arrived)
{
    if (c->is_serving || c->is_dead)
        return;
    enter(c);
    c->is_serving = true;
    bool is_in = bytes_is_null(arrived);
    if (is_in)
        arrived = buf_bytes(&c->in);
    size_t used_bytes = serve_frames(c, arrived);
    if (!c->is_dead)
        keep_rest(c, arrived, used_bytes, is_in);
    c->is_serving = false;
    if (!c->is_dead && c->in.failed)
        connection_close(c, "no memory for a request");
    if (!c->is_dead && (has_output(c) ? send_output(c) : true))
        set_reading(c, !((c->is_busy || output_is_full(c)) && c->in.len > CONNECTION_AHEAD_BYTES));
    leave(c);
}

static void read_failed(struct connection *c, ssize_t n)
{
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    connection_close(c, NULL);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    struct connection *c = arg;
    enter(c);
    if (c->in.len == 0) {
        ssize_t n = read(fd, c->loop->scratch, SCRATCH_BYTES);
        if (n > 0) {
            used(c);
            serve(c, bytes_of(c->loop->scratch, (size_t)n));
        } else {
            read_failed(c, n);
        }
        leave(c);
        return;
    }
    uint8_t *room = buf_reserve(&c->in, READ_BYTES);
    ssize_t n = room ? read(fd, room, READ_BYTES) : 0;
    if (n > 0) {
        c->in.len += (size_t)n;
        used(c);
        serve(c, BYTES_NULL);
    } else if (!room) {
        connection_close(c, "no memory for a request");
    } else {
        read_failed(c, n);
    }
    leave(c);
}

bool connection_new_take(struct network_loop *loop, int fd, const char *peer)
{
    struct connection *c = calloc(1, sizeof *c);
    if (!c) {
        close(fd);
        return false;
    }
    c->loop = loop;
    c->fd = fd;
    snprintf(c->peer, sizeof c->peer, "%s", peer);
    size_t in_max = (size_t)network_options(loop->network)->config->socket_request_max_bytes;
    buf_init(&c->in, in_max + WIRE_FRAME_SIZE_BYTES + SCRATCH_BYTES + READ_BYTES);
    buf_init(&c->out, OUT_BYTES_MAX);
    struct event_base *base = thread_loop_base(loop->thread);
    event_assign(&c->readable, base, fd, EV_READ | EV_PERSIST, on_readable, c);
    event_assign(&c->writable, base, fd, EV_WRITE, on_writable, c);
    c->used_ms = clock_now_ms();
    TAILQ_INSERT_TAIL(&loop->connections, c, link);
    set_reading(c, true);
    return true;
}

void connection_close_idle(struct network_loop *loop, int64_t idle_ms)
{
    int64_t before_ms = clock_now_ms() - idle_ms;
    struct connection *c, *next;
    for (c = TAILQ_FIRST(&loop->connections); c; c = next) {
        next = TAILQ_NEXT(c, link);
        if (idle_ms >= 0 && c->used_ms >= before_ms)
            return; /* the rest is younger */
        if (idle_ms >= 0 && c->is_busy)
            used(c);
        else
            connection_close(c, NULL);
    }
}
