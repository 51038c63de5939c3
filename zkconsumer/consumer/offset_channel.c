#include "zkconsumer/consumer/offset_channel.h"
#include "zkconsumer/core/group/offset_wire.h"
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#define ANSWER_BYTES_MAX  (64 * 1024 * 1024)
#define ARENA_BYTES_MAX   (64 * 1024 * 1024)
#define REQUEST_BYTES_MAX DIAL_REQUEST_BYTES_MAX

struct offset_channel {
    struct dial *dial;
    offset_channel_fn *fn;
    void *user;
    struct broker_connection *connection; /* NULL: none */
    char *host;                           /* that it is to */
    int32_t port;
    int64_t timeout_ms;
    enum group_offsets_request request; /* under way */
    uint32_t seq;
    bool is_waiting;
    struct event *failed; /* sending failed: told from the loop */
};

static void answer_failed(struct offset_channel *c, const char *text)
{
    struct group_offsets_answer answer = {.seq = c->seq, .failed = true, .text = text};
    c->is_waiting = false;
    c->fn(&answer, c->user);
}

static void answered(enum zkc_err err, struct frame *frame, struct bytes body, const char *text,
                     void *user)
{
    (void)frame;
    struct offset_channel *c = user;
    if (!c->is_waiting || err == ZKC_ERR_CLOSED)
        return;
    if (err) {
        answer_failed(c, text);
        return;
    }
    struct arena arena;
    struct group_offsets_answer answer;
    struct why why;
    arena_init(&arena, ARENA_BYTES_MAX);
    c->is_waiting = false;
    err = offset_wire_decode(c->request, body, &arena, &answer, &why);
    answer.seq = c->seq;
    if (err) {
        answer_failed(c, why.text);
    } else {
        c->fn(&answer, c->user);
    }
    arena_deinit(&arena);
}

static void on_failed(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct offset_channel *c = arg;
    if (c->is_waiting)
        answer_failed(c, "the question could not be sent: out of memory or descriptors");
}

/* The connection to this broker, with this timeout. False: out of memory. */
static bool connect_to(struct offset_channel *c, const struct group_output *ask)
{
    if (c->connection && strcmp(c->host, ask->offsets_ask.host) == 0 &&
        c->port == ask->offsets_ask.port && c->timeout_ms == ask->offsets_ask.timeout_ms)
        return true;
    offset_channel_hang_up(c);
    c->host = strdup(ask->offsets_ask.host);
    c->port = ask->offsets_ask.port;
    c->timeout_ms = ask->offsets_ask.timeout_ms;
    if (c->host && c->port > 0 && c->port < 65536)
        c->connection =
            dial_broker_within(c->dial, c->host, c->port, ANSWER_BYTES_MAX, c->timeout_ms);
    return c->connection != NULL;
}

static bool send_question(struct offset_channel *c, const struct group_output *ask)
{
    struct arena arena;
    struct buf body;
    arena_init(&arena, ARENA_BYTES_MAX);
    buf_init(&body, REQUEST_BYTES_MAX);
    broker_connection_write_until(c->connection, ask->offsets_ask.until_ms);
    enum zkc_err err = offset_wire_encode(ask, &arena, &body);
    if (!err)
        err =
            broker_connection_send(c->connection, offset_wire_api(c->request),
                                   offset_wire_version(c->request), buf_bytes(&body), answered, c);
    buf_deinit(&body);
    arena_deinit(&arena);
    return !err;
}

void offset_channel_ask(struct offset_channel *c, const struct group_output *ask)
{
    if (c->is_waiting)
        offset_channel_hang_up(c);
    c->request = ask->offsets_ask.request;
    c->seq = ask->offsets_ask.seq;
    bool is_sent = connect_to(c, ask) && send_question(c, ask);
    c->is_waiting = true;
    if (!is_sent)
        event_active(c->failed, EV_TIMEOUT, 1);
}

void offset_channel_hang_up(struct offset_channel *c)
{
    struct broker_connection *connection = c->connection;
    c->connection = NULL;
    c->is_waiting = false;
    broker_connection_close(connection);
    free(c->host);
    c->host = NULL;
}

struct offset_channel *offset_channel_new(struct dial *dial, offset_channel_fn *fn, void *user)
{
    struct offset_channel *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    *c = (struct offset_channel){.dial = dial, .fn = fn, .user = user};
    c->failed = event_new(dial->base, -1, 0, on_failed, c);
    if (!c->failed) {
        free(c);
        return NULL;
    }
    return c;
}

void offset_channel_free(struct offset_channel *c)
{
    if (!c)
        return;
    offset_channel_hang_up(c);
    event_free(c->failed);
    free(c);
}
