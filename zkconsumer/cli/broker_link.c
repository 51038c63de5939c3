#include "zkconsumer/cli/broker_link.h"
#include "zkconsumer/cli/stop.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/io/broker_connection.h"
#include "zkconsumer/io/resolver.h"
#include <event2/event.h>
#include <stdlib.h>

#define ANSWER_BYTES_MAX ((size_t)1 << 30)

struct broker_link {
    struct event_base *base;
    struct resolver *resolver;
    struct event *stop; /* NULL: nobody looks for signals */
    struct broker_connection *connection;

    /* The request under way, and its answer. */
    bool is_answered;
    bool is_stopped;
    enum zkc_err err;
    struct why why;
    struct frame *frame; /* held until the next request */
    struct bytes body;
};

static void on_stop(evutil_socket_t fd, short what, void *user)
{
    (void)fd;
    (void)what;
    ((struct broker_link *)user)->is_stopped = true;
}

struct broker_link *broker_link_open(const char *host, uint16_t port, const char *client_id,
                                     int64_t timeout_ms)
{
    struct broker_link *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->base = event_base_new();
    l->resolver = l->base ? resolver_new(l->base) : NULL;
    if (l->resolver && stop_fd() >= 0) {
        l->stop = event_new(l->base, stop_fd(), EV_READ, on_stop, l);
        if (l->stop)
            event_add(l->stop, NULL);
    }
    struct broker_connection_config config = {
        .base = l->base,
        .resolver = l->resolver,
        .host = host,
        .port = port,
        .client_id = client_id,
        .request_timeout_ms = timeout_ms > 0 ? timeout_ms : 1,
        .backoff_ms = 100,
        .backoff_max_ms = 1000,
        .response_bytes_max = ANSWER_BYTES_MAX,
        .send_bytes_max = ANSWER_BYTES_MAX,
        .requests_max = 1,
        .seed = 1, /* of the pause before another connection: nothing else goes by it */
    };
    l->connection = l->resolver ? broker_connection_new(&config) : NULL;
    if (l->connection)
        return l;
    broker_link_close(l);
    return NULL;
}

void broker_link_close(struct broker_link *l)
{
    if (!l)
        return;
    broker_connection_close(l->connection);
    if (l->frame)
        frame_unref(l->frame);
    if (l->stop)
        event_free(l->stop);
    if (l->base) {
        resolver_free(l->resolver);
        event_base_loop(l->base, EVLOOP_NONBLOCK); /* libevent's resolver cleans up in it */
        event_base_free(l->base);
    }
    free(l);
}

static void on_response(enum zkc_err err, struct frame *frame, struct bytes body, const char *text,
                        void *user)
{
    struct broker_link *l = user;
    l->is_answered = true;
    l->err = err;
    if (err) {
        why_set(&l->why, "%s", text);
        return;
    }
    frame_ref(frame);
    l->frame = frame;
    l->body = body;
}

static enum zkc_err send_and_wait(struct broker_link *l, int16_t api_key, int16_t api_version,
                                  struct bytes body)
{
    l->is_answered = false;
    why_clear(&l->why);
    if (l->frame)
        frame_unref(l->frame);
    l->frame = NULL;
    enum zkc_err err =
        broker_connection_send(l->connection, api_key, api_version, body, on_response, l);
    if (err) {
        why_set(&l->why, "%s", zkc_err_text(err));
        return err;
    }
    while (!l->is_answered && !l->is_stopped && event_base_loop(l->base, EVLOOP_ONCE) == 0)
        ;
    if (l->is_answered)
        return l->err;
    why_set(&l->why, "stopped");
    return ZKC_ERR_CLOSED;
}

enum zkc_err broker_link_ask(struct broker_link *l, int16_t api_key, int16_t api_version,
                             broker_link_fields *request_fields, void *request,
                             broker_link_fields *response_fields, void *response,
                             struct arena *arena, struct why *why)
{
    struct buf body;
    struct wire_codec c;
    buf_init(&body, ANSWER_BYTES_MAX);
    wire_codec_write(&c, api_version, &body);
    request_fields(&c, request);
    enum zkc_err err = wire_codec_end(&c);
    if (err) {
        why_set(why, "%s", c.reason[0] ? c.reason : zkc_err_text(err));
    } else {
        err = send_and_wait(l, api_key, api_version, buf_bytes(&body));
        *why = l->why;
    }
    buf_deinit(&body);
    if (err)
        return err;
    wire_codec_read(&c, api_version, l->body, arena);
    response_fields(&c, response);
    err = wire_codec_end(&c);
    if (err)
        why_set(why, "%s: %s", broker_connection_name(l->connection), c.reason);
    return err;
}
