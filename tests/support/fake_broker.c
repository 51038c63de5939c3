#include "tests/support/fake_broker.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/wire/frame.h"
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define REQUEST_BYTES_MAX (16 << 20)

struct fake_connection {
    struct fake_broker *broker;
    struct bufferevent *stream; /* NULL: free for the next one */
    struct evbuffer *pieces;    /* not yet sent */
    size_t piece;
    bool is_closing; /* when all is sent */
};

struct fake_broker {
    struct event_base *base;
    struct evconnlistener *listener;
    fake_request_fn *on_request;
    void *user;
    size_t accepted;
    struct fake_connection *last;
    bool is_reading;
    struct fake_connection connections[FAKE_CONNECTIONS_MAX];
};

static void forget(struct fake_connection *c)
{
    evutil_socket_t fd = bufferevent_getfd(c->stream);
    bufferevent_free(c->stream);
    evutil_closesocket(fd); /* at once; left to libevent it would be in the loop's next turn */
    evbuffer_free(c->pieces);
    if (c->broker->last == c)
        c->broker->last = NULL;
    *c = (struct fake_connection){.broker = c->broker};
}

static bool take_request(struct fake_connection *c)
{
    struct evbuffer *in = bufferevent_get_input(c->stream);
    size_t len = evbuffer_get_length(in);
    int32_t size;
    struct bytes contents;
    struct bytes arrived = bytes_of(evbuffer_pullup(in, -1), len);
    if (len == 0 || c->is_closing ||
        wire_frame_next(arrived, REQUEST_BYTES_MAX, &size, &contents) != WIRE_FRAME_COMPLETE)
        return false;
    struct wire_codec codec;
    struct request_header header;
    wire_codec_read(&codec, 1, contents, NULL);
    request_header_fields(&codec, &header);
    assert_int_equal(codec.failed, ZKC_OK);
    struct bytes body = bytes_of(contents.data + codec.position, wire_codec_left(&codec));
    c->broker->on_request(c, &header, body, c->broker->user);
    if (!c->stream)
        return false;
    evbuffer_drain(in, WIRE_FRAME_SIZE_BYTES + (size_t)size);
    return true;
}

static void on_read(struct bufferevent *stream, void *user)
{
    (void)stream;
    while (take_request(user))
        ;
}

static void on_written(struct bufferevent *stream, void *user)
{
    struct fake_connection *c = user;
    if (evbuffer_get_length(c->pieces) > 0)
        evbuffer_remove_buffer(c->pieces, bufferevent_get_output(stream), c->piece);
    else if (c->is_closing)
        forget(c);
}

static void on_end(struct bufferevent *stream, short what, void *user)
{
    (void)stream;
    (void)what;
    forget(user);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                      int address_len, void *user)
{
    (void)listener;
    (void)address;
    (void)address_len;
    struct fake_broker *b = user;
    struct fake_connection *c = b->connections;
    while (c->stream)
        assert_true(++c < b->connections + FAKE_CONNECTIONS_MAX);
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c->broker = b;
    c->stream = bufferevent_socket_new(b->base, fd, 0);
    c->pieces = evbuffer_new();
    assert_non_null(c->stream);
    assert_non_null(c->pieces);
    bufferevent_setcb(c->stream, on_read, on_written, on_end, c);
    bufferevent_enable(c->stream, b->is_reading ? EV_READ | EV_WRITE : EV_WRITE);
    b->accepted++;
    b->last = c;
}

struct fake_broker *fake_broker_new(struct event_base *base, fake_request_fn *on_request,
                                    void *user)
{
    struct fake_broker *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->base = base;
    b->on_request = on_request;
    b->user = user;
    b->is_reading = true;
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    b->listener = evconnlistener_new_bind(base, on_accept, b, LEV_OPT_CLOSE_ON_FREE, 64,
                                          (struct sockaddr *)&address, sizeof address);
    assert_non_null(b->listener);
    return b;
}

void fake_broker_free(struct fake_broker *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < FAKE_CONNECTIONS_MAX; i++)
        if (b->connections[i].stream)
            fake_reset(&b->connections[i]);
    evconnlistener_free(b->listener);
    free(b);
}

uint16_t fake_broker_port(const struct fake_broker *b)
{
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    assert_int_equal(
        getsockname(evconnlistener_get_fd(b->listener), (struct sockaddr *)&address, &len), 0);
    return ntohs(address.sin_port);
}

size_t fake_broker_accepted(const struct fake_broker *b)
{
    return b->accepted;
}

struct fake_connection *fake_broker_last(struct fake_broker *b)
{
    return b->last;
}

void fake_broker_set_reading(struct fake_broker *b, bool is_reading)
{
    b->is_reading = is_reading;
    for (size_t i = 0; i < FAKE_CONNECTIONS_MAX; i++) {
        struct fake_connection *c = &b->connections[i];
        if (c->stream && is_reading)
            bufferevent_enable(c->stream, EV_READ);
        else if (c->stream)
            bufferevent_disable(c->stream, EV_READ);
    }
}

void fake_answer(struct fake_connection *c, int32_t correlation_id, struct bytes body)
{
    uint32_t head[2] = {htonl((uint32_t)body.len + 4), htonl((uint32_t)correlation_id)};
    fake_send(c, bytes_of(head, sizeof head));
    fake_send(c, body);
}

void fake_send(struct fake_connection *c, struct bytes bytes)
{
    assert_int_equal(bufferevent_write(c->stream, bytes.data, bytes.len), 0);
}

void fake_send_in_pieces(struct fake_connection *c, struct bytes bytes, size_t piece)
{
    bool is_idle = evbuffer_get_length(c->pieces) == 0;
    c->piece = piece;
    assert_int_equal(evbuffer_add(c->pieces, bytes.data, bytes.len), 0);
    if (is_idle)
        evbuffer_remove_buffer(c->pieces, bufferevent_get_output(c->stream), piece);
}

void fake_close(struct fake_connection *c)
{
    if (evbuffer_get_length(bufferevent_get_output(c->stream)) > 0 ||
        evbuffer_get_length(c->pieces) > 0)
        c->is_closing = true;
    else
        forget(c);
}

void fake_reset(struct fake_connection *c)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(bufferevent_getfd(c->stream), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    forget(c);
}
