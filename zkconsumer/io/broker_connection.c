/* A connection's states:
 *
 *                 ┌───────── nothing to send any more, or the connection broke ───────┐
 *                 v                                                                    │
 *     IDLE ── send ──> BACKOFF ──> RESOLVING ──> CONNECTING ──> CONNECTED ─────────────┤
 *        │                            ^   │            │                               │
 *        └── send, no backoff due ────┘   └────────────┴── failed ─────────────────────┘
 *
 * Requests are queued in any state: encoded one after another in `out`, remembered in `waiting`
 * until their answer comes. When a connection breaks, break_down() empties both and answers
 * everything; what is sent from those callbacks begins anew, with a connection of its own. An error
 * that is met inside of a call from outside is only noted (break_later()) and acted on from the
 * loop, so that no callback comes out of broker_connection_send().
 *
 * An answer is read straight into its frame. While none is being read, the socket is read into
 * `ahead`, which small answers fit in whole; while one is, `ahead` takes what follows it. So an
 * answer costs one system call for each part that the kernel has ready, and small ones share one.
 */
#include "zkconsumer/io/broker_connection.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/frame.h"
#include "zkconsumer/core/wire/request_header.h"
#include "zkconsumer/io/boot_clock.h"
#include "zkconsumer/io/resolver.h"
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define AHEAD_BYTES      4096
#define TIMER_MS_MAX     (24 * 3600 * 1000) /* longer waits are cut: libevent's sums could overflow */
#define READS_MAX        16 /* system calls in one callback: others want their turn */
#define ADDRESSES_MAX    8  /* of one name that are tried */
#define NAME_SIZE        300
#define TEXT_SIZE        (NAME_SIZE + 300)
#define CORRELATION_SIZE 4 /* the header of an answer */

#define REQUEST_HEADER_VERSION 1 /* of all requests that are not flexible */

enum state {
    STATE_IDLE,
    STATE_BACKOFF,
    STATE_RESOLVING,
    STATE_CONNECTING,
    STATE_CONNECTED,
    STATE_CLOSED,
};

struct waiting {
    int32_t correlation_id;
    int16_t api_key;
    int64_t deadline_ms;
    broker_response_fn *on_response;
    void *user;
};

struct waiting_ring {
    struct waiting *list;
    size_t cap; /* 0 or a power of two */
    size_t first;
    size_t count;
};

struct broker_connection {
    struct broker_connection_config config; /* host, client_id: NULL, they are below */
    char *host;
    char *client_id; /* NULL: null */
    char name[NAME_SIZE];

    enum state state;
    unsigned depth; /* of callbacks that may call back into the application: no free inside */

    struct resolver_request *lookup; /* RESOLVING */
    union resolver_address addresses[ADDRESSES_MAX];
    size_t addresses_count;
    size_t address;              /* CONNECTING: index of the one being tried */
    int64_t address_deadline_ms; /* CONNECTING: then the next one */
    enum zkc_err attempt_err;    /* why the last attempt failed */
    char attempt_text[200];

    int fd; /* CONNECTING, CONNECTED; else -1 */
    struct event readable;
    struct event writable;
    struct event timer;
    int64_t timer_ms; /* when it fires; INT64_MAX: not set. May be too early, never too late */

    struct rng rng;
    unsigned failures;     /* in a row: an answer ends them */
    int64_t not_before_ms; /* no new connection before this time */

    struct event later; /* break_later() */
    enum zkc_err later_err;
    char text[TEXT_SIZE]; /* of later_err */

    int32_t correlation_id; /* of the next request */
    struct buf out;         /* requests; written up to out_sent */
    size_t out_sent;
    int64_t write_until_ms;      /* on boot_clock_ms(); INT64_MAX: no limit */
    struct waiting_ring waiting; /* in the order sent */
    struct waiting_ring failing; /* being told that there will be no answer */

    struct frame *frame; /* being read; NULL: none */
    size_t frame_got;
    size_t ahead_len;
    uint8_t ahead[AHEAD_BYTES];

    struct broker_connection_stats stats;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t saturating_add(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* ---- requests that wait for their answers ---- */

static bool ring_reserve(struct waiting_ring *r)
{
    if (r->count < r->cap)
        return true;
    size_t cap = r->cap ? r->cap * 2 : 4;
    struct waiting *list = malloc(cap * sizeof *list);
    if (!list)
        return false;
    for (size_t i = 0; i < r->count; i++)
        list[i] = r->list[(r->first + i) & (r->cap - 1)];
    free(r->list);
    *r = (struct waiting_ring){.list = list, .cap = cap, .count = r->count};
    return true;
}

static void ring_push(struct waiting_ring *r, struct waiting w)
{
    assert(r->count < r->cap);
    r->list[(r->first + r->count++) & (r->cap - 1)] = w;
}

static const struct waiting *ring_peek(const struct waiting_ring *r)
{
    return &r->list[r->first];
}

static struct waiting ring_pop(struct waiting_ring *r)
{
    assert(r->count > 0);
    struct waiting w = r->list[r->first];
    r->first = (r->first + 1) & (r->cap - 1);
    r->count--;
    return w;
}

/* ---- entering and leaving ---- */

static void connection_free(struct broker_connection *c)
{
    buf_deinit(&c->out);
    free(c->waiting.list);
    free(c->failing.list);
    free(c->host);
    free(c->client_id);
    free(c);
}

/* Every callback of the loop stands between these two: what it calls may close the connection. */
static void enter(struct broker_connection *c)
{
    c->depth++;
}

static void leave(struct broker_connection *c)
{
    if (--c->depth == 0 && c->state == STATE_CLOSED)
        connection_free(c);
}

static const char *api_name(int16_t key)
{
    const struct api *api = api_find(key);
    return api ? api->name : "unknown";
}

/* Syslog's numbers, as in the public log callback. */
enum { LOG_WARNING = 4, LOG_DEBUG = 7 };

static void log_text(const struct broker_connection *c, int level, const char *text)
{
    if (c->config.on_log)
        c->config.on_log(level, text, c->config.user);
}

static void log_debug(const struct broker_connection *c, const char *what)
{
    char text[TEXT_SIZE];
    snprintf(text, sizeof text, "%s: %s", c->name, what);
    log_text(c, LOG_DEBUG, text);
}

static void answer_none(struct waiting w, enum zkc_err err, const char *text)
{
    w.on_response(err, NULL, BYTES_NULL, text, w.user);
}

/* ---- breaking down ---- */

/* Has it told from the loop that the connection failed; the first reason stands. */
static void break_later(struct broker_connection *c, enum zkc_err err, const char *fmt, ...)
    ZKC_PRINTF(3, 4);

static void break_later(struct broker_connection *c, enum zkc_err err, const char *fmt, ...)
{
    if (c->later_err)
        return;
    c->later_err = err;
    int n = snprintf(c->text, sizeof c->text, "%s: ", c->name);
    va_list args;
    va_start(args, fmt);
    vsnprintf(c->text + n, sizeof c->text - (size_t)n, fmt, args);
    va_end(args);
    event_active(&c->later, EV_TIMEOUT, 1);
}

static void close_socket(struct broker_connection *c)
{
    if (c->fd < 0)
        return;
    event_del(&c->readable);
    event_del(&c->writable);
    close(c->fd);
    c->fd = -1;
}

static void disconnect(struct broker_connection *c)
{
    resolver_cancel(c->lookup);
    c->lookup = NULL;
    close_socket(c);
    buf_clear(&c->out);
    c->out_sent = 0;
    frame_unref(c->frame);
    c->frame = NULL;
    c->ahead_len = 0;
}

/* Tells everybody who waits; what they send meanwhile waits for the next connection. A callback may
 * close this one, which empties both rings. */
static void fail_all(struct broker_connection *c, enum zkc_err err, const char *text)
{
    assert(c->failing.count == 0);
    struct waiting_ring empty = c->failing;
    c->failing = c->waiting;
    c->waiting = empty;
    while (c->failing.count > 0)
        answer_none(ring_pop(&c->failing), err, text);
}

static void on_later(evutil_socket_t fd, short what, void *user)
{
    (void)fd;
    (void)what;
    struct broker_connection *c = user;
    enum zkc_err err = c->later_err;
    char text[TEXT_SIZE];
    memcpy(text, c->text, sizeof text);
    enter(c);
    c->later_err = ZKC_OK;
    disconnect(c);
    c->state = STATE_IDLE;
    int64_t backoff_ms =
        rng_backoff_ms(&c->rng, c->failures++, c->config.backoff_ms, c->config.backoff_max_ms);
    c->not_before_ms = saturating_add(now_ms(), backoff_ms);
    log_text(c, c->waiting.count > 0 ? LOG_DEBUG : LOG_WARNING, text);
    fail_all(c, err, text);
    leave(c);
}

/* ---- time ---- */

static void timer_set(struct broker_connection *c, int64_t at_ms)
{
    if (at_ms >= c->timer_ms)
        return;
    int64_t now = now_ms();
    if (at_ms < now)
        at_ms = now;
    if (at_ms - now > TIMER_MS_MAX)
        at_ms = now + TIMER_MS_MAX;
    int64_t wait_ms = at_ms - now;
    struct timeval t = {.tv_sec = (time_t)(wait_ms / 1000),
                        .tv_usec = (suseconds_t)(wait_ms % 1000 * 1000)};
    if (event_add(&c->timer, &t))
        break_later(c, ZKC_ERR_NOMEM, "no memory for a timer");
    else
        c->timer_ms = at_ms;
}

/* For whatever is due first. It is not taken back when that is done before: a timer that fires for
 * nothing once in a while is cheaper than one that is set anew for every request. */
static void timer_set_next(struct broker_connection *c)
{
    if (c->waiting.count > 0)
        timer_set(c, ring_peek(&c->waiting)->deadline_ms);
    if (c->state == STATE_BACKOFF)
        timer_set(c, c->not_before_ms);
    if (c->state == STATE_CONNECTING)
        timer_set(c, c->address_deadline_ms);
}

/* ---- connecting ---- */

static void on_readable(evutil_socket_t fd, short what, void *user);
static void on_writable(evutil_socket_t fd, short what, void *user);

static bool connect_start(struct broker_connection *c)
{
    const union resolver_address *address = &c->addresses[c->address];
    c->attempt_err = ZKC_ERR_SYSTEM;
    c->fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return false;
    int on = 1; /* both as BlockingChannel.connect; an option refused is no reason to give up */
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(c->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    int bytes = c->config.receive_buffer_bytes;
    if (bytes > 0)
        setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    event_assign(&c->readable, c->config.base, c->fd, EV_READ | EV_PERSIST, on_readable, c);
    event_assign(&c->writable, c->config.base, c->fd, EV_WRITE, on_writable, c);
    if (event_add(&c->writable, NULL))
        return false;
    c->attempt_err = ZKC_ERR_UNREACHABLE;
    return connect(c->fd, &address->any, resolver_address_len(address)) == 0 ||
           errno == EINPROGRESS;
}

static const char *error_text(int error)
{
    if (error == EMFILE)
        return "too many open files in this process (raise the limit: ulimit -n)";
    if (error == ENFILE)
        return "too many open files on this machine (fs.file-max)";
    return strerror(error);
}

/* The current address cannot be had: notes why. */
static void connect_failed(struct broker_connection *c, enum zkc_err err, const char *reason)
{
    char address[RESOLVER_TEXT_MAX];
    close_socket(c);
    c->stats.connect_failures++;
    c->attempt_err = err;
    snprintf(c->attempt_text, sizeof c->attempt_text, "cannot connect to %s: %s",
             resolver_address_text(&c->addresses[c->address], address), reason);
    c->address++;
}

/* Starts with the current address or the first one behind it that can be started with. */
static void connect_any(struct broker_connection *c)
{
    c->state = STATE_CONNECTING;
    for (; c->address < c->addresses_count;) {
        if (connect_start(c)) {
            int64_t share_ms =
                c->config.request_timeout_ms / (int64_t)(c->addresses_count - c->address);
            c->address_deadline_ms = saturating_add(now_ms(), share_ms);
            timer_set_next(c);
            return;
        }
        connect_failed(c, c->attempt_err, error_text(errno));
    }
    break_later(c, c->attempt_err, "%s", c->attempt_text);
}

static void on_resolved(const struct resolver_result *result, void *user)
{
    struct broker_connection *c = user;
    c->lookup = NULL;
    if (result->error) {
        c->stats.connect_failures++;
        break_later(c, ZKC_ERR_UNREACHABLE, "cannot resolve the name: %s", result->error);
        return;
    }
    c->addresses_count = result->count < ADDRESSES_MAX ? result->count : ADDRESSES_MAX;
    memcpy(c->addresses, result->addresses, c->addresses_count * sizeof *c->addresses);
    c->address = 0;
    connect_any(c);
}

static void resolve(struct broker_connection *c)
{
    c->state = STATE_RESOLVING;
    c->lookup = resolver_lookup(c->config.resolver, c->host, c->config.port, on_resolved, c);
    if (!c->lookup)
        break_later(c, ZKC_ERR_NOMEM, "no memory to resolve the name");
}

static void begin(struct broker_connection *c)
{
    if (now_ms() >= c->not_before_ms)
        resolve(c);
    else
        c->state = STATE_BACKOFF;
}

static void connect_end(struct broker_connection *c)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len))
        error = errno;
    if (error) {
        connect_failed(c, ZKC_ERR_UNREACHABLE, strerror(error));
        connect_any(c);
        return;
    }
    if (event_add(&c->readable, NULL)) {
        break_later(c, ZKC_ERR_SYSTEM, "cannot watch the socket: %s", strerror(errno));
        return;
    }
    c->state = STATE_CONNECTED;
    c->stats.connects++;
    log_debug(c, "connected");
}

/* ---- writing ---- */

static void flush(struct broker_connection *c)
{
    while (c->out_sent < c->out.len) {
        if (c->write_until_ms != INT64_MAX && boot_clock_ms() >= c->write_until_ms) {
            break_later(c, ZKC_ERR_TIMED_OUT, "the time for sending the request is over");
            return;
        }
        ssize_t n = send(c->fd, c->out.data + c->out_sent, c->out.len - c->out_sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            break_later(c, ZKC_ERR_UNREACHABLE, "connection lost while sending: %s",
                        strerror(errno));
            return;
        }
        if (n < 0) {
            if (event_add(&c->writable, NULL))
                break_later(c, ZKC_ERR_SYSTEM, "cannot watch the socket: %s", strerror(errno));
            return;
        }
        c->out_sent += (size_t)n;
        c->stats.bytes_sent += (uint64_t)n;
    }
    buf_clear(&c->out);
    c->out_sent = 0;
}

static void on_writable(evutil_socket_t fd, short what, void *user)
{
    (void)fd;
    (void)what;
    struct broker_connection *c = user;
    if (c->later_err)
        return;
    if (c->state == STATE_CONNECTING)
        connect_end(c);
    if (c->state == STATE_CONNECTED && !c->later_err)
        flush(c);
}

/* Appends a frame with header and body to `out`: all of it or nothing. */
static enum zkc_err encode(struct broker_connection *c, int16_t api_key, int16_t api_version,
                           struct bytes body)
{
    if (c->out_sent > 0) { /* what is written must not count */
        memmove(c->out.data, c->out.data + c->out_sent, c->out.len - c->out_sent);
        c->out.len -= c->out_sent;
        c->out_sent = 0;
    }
    size_t before = c->out.len;
    size_t mark = wire_frame_begin(&c->out);
    struct wire_codec codec;
    wire_codec_write(&codec, REQUEST_HEADER_VERSION, &c->out);
    struct request_header header = {api_key, api_version, c->correlation_id,
                                    bytes_of_text(c->client_id)};
    request_header_fields(&codec, &header);
    buf_append(&c->out, body.data, body.len);
    wire_frame_end(&c->out, mark);
    enum zkc_err err = codec.failed ? codec.failed : c->out.failed;
    if (err) {
        c->out.len = before;
        c->out.failed = ZKC_OK;
    }
    return err;
}

/* ---- reading ---- */

static void answered(struct broker_connection *c)
{
    struct frame *frame = c->frame;
    c->frame = NULL;
    int32_t correlation_id = read_i32(frame->data);
    int32_t want = ring_peek(&c->waiting)->correlation_id;
    if (correlation_id != want) {
        break_later(c, ZKC_ERR_PROTOCOL,
                    "protocol violation: answer with correlation id %" PRId32 ", expected %" PRId32,
                    correlation_id, want);
    } else {
        c->failures = 0;
        c->stats.responses++;
        struct waiting w = ring_pop(&c->waiting);
        struct bytes body = bytes_of(frame->data + CORRELATION_SIZE, frame->len - CORRELATION_SIZE);
        w.on_response(ZKC_OK, frame, body, NULL, w.user);
    }
    frame_unref(frame);
}

/* An answer begins; its size has come. False: it is not to be read. */
static bool begin_frame(struct broker_connection *c, int32_t size)
{
    if (c->waiting.count == 0) {
        break_later(c, ZKC_ERR_PROTOCOL,
                    "protocol violation: an answer of %" PRId32 " bytes that nobody asked for",
                    size);
        return false;
    }
    if (size < CORRELATION_SIZE) {
        break_later(c, ZKC_ERR_PROTOCOL,
                    "protocol violation: answer of %" PRId32 " bytes, at least %d expected", size,
                    CORRELATION_SIZE);
        return false;
    }
    if ((size_t)size > c->config.response_bytes_max) {
        break_later(c, ZKC_ERR_TOO_LARGE,
                    "%s answer of %" PRId32 " bytes, larger than the limit of %zu",
                    api_name(ring_peek(&c->waiting)->api_key), size, c->config.response_bytes_max);
        return false;
    }
    c->frame = frame_new((size_t)size);
    c->frame_got = 0;
    if (!c->frame)
        break_later(c, ZKC_ERR_NOMEM, "no memory for an answer of %" PRId32 " bytes", size);
    return c->frame != NULL;
}

static size_t frame_take(struct broker_connection *c, const uint8_t *data, size_t len)
{
    size_t left = c->frame->len - c->frame_got;
    size_t n = len < left ? len : left;
    memcpy(c->frame->data + c->frame_got, data, n);
    c->frame_got += n;
    return n;
}

static bool is_readable(const struct broker_connection *c)
{
    return c->state == STATE_CONNECTED && !c->later_err;
}

/* Goes through `ahead`; what is left of it is the beginning of a size. */
static void parse_ahead(struct broker_connection *c)
{
    size_t at = 0;
    while (is_readable(c) && c->ahead_len - at >= WIRE_FRAME_SIZE_BYTES) {
        if (!begin_frame(c, read_i32(c->ahead + at)))
            return;
        at += WIRE_FRAME_SIZE_BYTES;
        at += frame_take(c, c->ahead + at, c->ahead_len - at);
        if (c->frame_got < c->frame->len)
            break;
        answered(c);
    }
    if (c->state != STATE_CONNECTED)
        return;
    c->ahead_len -= at;
    memmove(c->ahead, c->ahead + at, c->ahead_len);
}

static void received(struct broker_connection *c, size_t n)
{
    c->stats.bytes_received += n;
    if (c->frame) {
        size_t left = c->frame->len - c->frame_got;
        if (n < left) {
            c->frame_got += n;
            return;
        }
        c->ahead_len = n - left;
        answered(c);
    } else {
        c->ahead_len += n;
    }
    parse_ahead(c);
}

/* Reads once. *is_dry: the kernel has no more at the moment. */
static ssize_t receive(struct broker_connection *c, bool *is_dry)
{
    struct iovec parts[2];
    int count = 0;
    size_t asked = 0;
    if (c->frame) {
        asked = c->frame->len - c->frame_got;
        parts[count++] = (struct iovec){c->frame->data + c->frame_got, asked};
    }
    size_t ahead = sizeof c->ahead - c->ahead_len;
    parts[count++] = (struct iovec){c->ahead + c->ahead_len, ahead};
    ssize_t n = readv(c->fd, parts, count);
    *is_dry = n >= 0 && (size_t)n < asked + ahead;
    return n;
}

static void lost(struct broker_connection *c, const char *reason)
{
    if (c->frame) {
        break_later(c, ZKC_ERR_UNREACHABLE, "%s after %zu of %zu bytes of an answer", reason,
                    c->frame_got, c->frame->len);
        return;
    }
    if (c->waiting.count > 0) {
        break_later(c, ZKC_ERR_UNREACHABLE, "%s with %zu request(s) unanswered", reason,
                    c->waiting.count);
        return;
    }
    disconnect(c); /* brokers close connections that are idle: connections.max.idle.ms */
    c->state = STATE_IDLE;
    log_debug(c, "closed by the broker while idle");
}

static void on_readable(evutil_socket_t fd, short what, void *user)
{
    (void)fd;
    (void)what;
    struct broker_connection *c = user;
    enter(c);
    bool is_dry = false;
    for (int i = 0; i < READS_MAX && !is_dry && is_readable(c); i++) {
        ssize_t n = receive(c, &is_dry);
        if (n > 0)
            received(c, (size_t)n);
        else if (n == 0)
            lost(c, "the broker closed the connection");
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            lost(c, strerror(errno));
    }
    leave(c);
}

/* ---- what is due ---- */

static const char *doing(const struct broker_connection *c)
{
    switch (c->state) {
    case STATE_BACKOFF: return "waiting to connect again";
    case STATE_RESOLVING: return "resolving the name";
    case STATE_CONNECTING: return "connecting";
    default: return "connected";
    }
}

static void on_timer(evutil_socket_t fd, short what, void *user)
{
    (void)fd;
    (void)what;
    struct broker_connection *c = user;
    c->timer_ms = INT64_MAX;
    if (c->later_err)
        return;
    int64_t now = now_ms();
    if (c->waiting.count > 0 && ring_peek(&c->waiting)->deadline_ms <= now) {
        break_later(c, ZKC_ERR_TIMED_OUT, "no answer to %s within %" PRId64 " ms (%s)",
                    api_name(ring_peek(&c->waiting)->api_key), c->config.request_timeout_ms,
                    doing(c));
        return;
    }
    if (c->state == STATE_BACKOFF && c->not_before_ms <= now) {
        resolve(c);
    } else if (c->state == STATE_CONNECTING && c->address_deadline_ms <= now) {
        connect_failed(c, ZKC_ERR_TIMED_OUT, strerror(ETIMEDOUT));
        connect_any(c);
    }
    timer_set_next(c);
}

/* ---- the interface ---- */

static void set_name(struct broker_connection *c)
{
    const char *format = strchr(c->host, ':') ? "[%s]:%u" : "%s:%u";
    snprintf(c->name, sizeof c->name, format, c->host, (unsigned)c->config.port);
}

struct broker_connection *broker_connection_new(const struct broker_connection_config *config)
{
    assert(config->request_timeout_ms > 0 && config->backoff_ms > 0 && config->backoff_max_ms > 0);
    struct broker_connection *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->config = *config;
    c->config.host = NULL;
    c->config.client_id = NULL;
    c->fd = -1;
    c->timer_ms = INT64_MAX;
    c->not_before_ms = INT64_MIN;
    c->write_until_ms = INT64_MAX;
    size_t send_bytes_max = config->send_bytes_max;
    buf_init(&c->out, send_bytes_max < INT32_MAX ? send_bytes_max : INT32_MAX);
    rng_init(&c->rng, config->seed);
    c->host = strdup(config->host);
    if (config->client_id)
        c->client_id = strdup(config->client_id);
    if (!c->host || (config->client_id && !c->client_id)) {
        connection_free(c);
        return NULL;
    }
    if (c->client_id && strlen(c->client_id) > INT16_MAX)
        c->client_id[INT16_MAX] = 0;
    set_name(c);
    event_assign(&c->timer, config->base, -1, 0, on_timer, c);
    event_assign(&c->later, config->base, -1, 0, on_later, c);
    return c;
}

enum zkc_err broker_connection_send(struct broker_connection *c, int16_t api_key,
                                    int16_t api_version, struct bytes body,
                                    broker_response_fn *on_response, void *user)
{
    if (c->state == STATE_CLOSED)
        return ZKC_ERR_CLOSED;
    if (c->waiting.count >= c->config.requests_max)
        return ZKC_ERR_TOO_LARGE;
    if (!ring_reserve(&c->waiting))
        return ZKC_ERR_NOMEM;
    enum zkc_err err = encode(c, api_key, api_version, body);
    if (err)
        return err;
    ring_push(&c->waiting,
              (struct waiting){
                  .correlation_id = c->correlation_id,
                  .api_key = api_key,
                  .deadline_ms = saturating_add(now_ms(), c->config.request_timeout_ms),
                  .on_response = on_response,
                  .user = user,
              });
    c->correlation_id = (int32_t)((uint32_t)c->correlation_id + 1);
    c->stats.requests++;
    if (c->state == STATE_IDLE)
        begin(c);
    else if (c->state == STATE_CONNECTED && !c->later_err)
        flush(c);
    timer_set_next(c);
    return ZKC_OK;
}

void broker_connection_write_until(struct broker_connection *c, int64_t boot_ms)
{
    c->write_until_ms = boot_ms;
}

void broker_connection_reset(struct broker_connection *c, const char *reason)
{
    if (c->state == STATE_CLOSED || (c->state == STATE_IDLE && c->waiting.count == 0))
        return;
    break_later(c, ZKC_ERR_PROTOCOL, "%s", reason);
}

void broker_connection_close(struct broker_connection *c)
{
    if (!c || c->state == STATE_CLOSED)
        return;
    char text[NAME_SIZE + 16];
    snprintf(text, sizeof text, "%s: closed", c->name);
    disconnect(c);
    event_del(&c->timer);
    event_del(&c->later);
    c->state = STATE_CLOSED;
    enter(c);
    while (c->failing.count > 0)
        answer_none(ring_pop(&c->failing), ZKC_ERR_CLOSED, text);
    while (c->waiting.count > 0)
        answer_none(ring_pop(&c->waiting), ZKC_ERR_CLOSED, text);
    leave(c);
}

void broker_connection_stats(const struct broker_connection *c, struct broker_connection_stats *out)
{
    *out = c->stats;
    out->in_flight = c->waiting.count;
    out->is_connected = c->state == STATE_CONNECTED;
}

const char *broker_connection_name(const struct broker_connection *c)
{
    return c->name;
}
