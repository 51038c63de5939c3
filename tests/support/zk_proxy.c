#include "tests/support/zk_proxy.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECEIVE_BUFFER_BYTES 16384 /* small, so that a stuck reader is felt soon */

struct link {
    struct zk_proxy *p;
    struct link *prev, *next;
    struct bufferevent *client, *server; /* server NULL: there is none */
    struct event *delay;
    bool is_greeted; /* the answer to the handshake has passed */
};

struct zk_proxy {
    struct event_base *base;
    struct evconnlistener *listener;
    int port, upstream_port;
    enum zk_proxy_mode mode;
    int delay_ms;
    unsigned answers_to_drop; /* 1: the next; 0: none */
    struct link *links;
    size_t open, accepted;
};

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* bufferevent_free() would close it in the next turn; the peer is to feel it now. */
static void close_now(struct bufferevent *bev, bool is_reset)
{
    struct linger now = {.l_onoff = 1};
    int fd = bufferevent_getfd(bev);

    if (is_reset)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    bufferevent_disable(bev, EV_READ | EV_WRITE);
    bufferevent_setfd(bev, -1);
    close(fd);
    bufferevent_free(bev);
}

static void link_free(struct link *l, bool is_reset)
{

    if (l->prev)
        l->prev->next = l->next;
    else
        l->p->links = l->next;
    if (l->next)
        l->next->prev = l->prev;
    l->p->open--;
    close_now(l->client, is_reset);
    if (l->server)
        close_now(l->server, false);
    event_free(l->delay);
    free(l);
}

/* ---- passing on ---- */

enum { XID_AUTH = -4, XID_PING = -2, XID_WATCH = -1, XID_SET_WATCHES = -8 };

static bool is_answer(int32_t xid)
{
    return xid != XID_AUTH && xid != XID_PING && xid != XID_WATCH && xid != XID_SET_WATCHES;
}

/* What was passed on already is to arrive before an end. */
static void write_out(struct link *l)
{
    evbuffer_unfreeze(bufferevent_get_output(l->client), 1);
    evbuffer_write(bufferevent_get_output(l->client), bufferevent_getfd(l->client));
}

enum passed { PASSED, NOTHING_TO_PASS, LINK_IS_GONE };

/* One whole frame of the server. */
static enum passed pass_frame(struct link *l)
{
    struct evbuffer *in = bufferevent_get_input(l->server);
    uint32_t head[2];
    size_t len;

    if (evbuffer_copyout(in, head, sizeof head) < (ssize_t)sizeof head)
        return NOTHING_TO_PASS;
    len = 4 + (size_t)ntohl(head[0]);
    if (evbuffer_get_length(in) < len)
        return NOTHING_TO_PASS;
    if (l->is_greeted && is_answer((int32_t)ntohl(head[1])) && l->p->answers_to_drop > 0 &&
        --l->p->answers_to_drop == 0) {
        write_out(l);
        link_free(l, true);
        return LINK_IS_GONE;
    }
    l->is_greeted = true;
    evbuffer_remove_buffer(in, bufferevent_get_output(l->client), len);
    return PASSED;
}

static enum passed pass_frames(struct link *l)
{
    enum passed passed;
    while ((passed = pass_frame(l)) == PASSED)
        ;
    return passed;
}

static void on_delay(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    pass_frames(arg);
}

static void on_server_read(struct bufferevent *server, void *arg)
{
    struct link *l = arg;
    struct timeval delay = {.tv_sec = l->p->delay_ms / 1000,
                            .tv_usec = l->p->delay_ms % 1000 * 1000};

    if (l->p->mode != ZK_PROXY_PASS)
        evbuffer_drain(bufferevent_get_input(server),
                       evbuffer_get_length(bufferevent_get_input(server)));
    else if (l->p->delay_ms == 0)
        pass_frames(l);
    else if (!event_pending(l->delay, EV_TIMEOUT, NULL))
        event_add(l->delay, &delay);
}

static void on_client_read(struct bufferevent *client, void *arg)
{
    struct link *l = arg;
    struct evbuffer *in = bufferevent_get_input(client);

    if (l->p->mode == ZK_PROXY_SLAM)
        link_free(l, false);
    else if (l->p->mode == ZK_PROXY_PASS && l->server)
        evbuffer_add_buffer(bufferevent_get_output(l->server), in);
    else
        evbuffer_drain(in, evbuffer_get_length(in));
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    struct link *l = arg;

    if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
        return;
    if (bev == l->server) { /* what it said last is passed on before the end */
        if (pass_frames(l) == LINK_IS_GONE)
            return;
        write_out(l);
    }
    link_free(l, false);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                      int len, void *arg)
{
    struct zk_proxy *p = arg;
    struct link *l = calloc(1, sizeof *l);
    struct sockaddr_in upstream = loopback(p->upstream_port);

    (void)listener;
    (void)address;
    (void)len;
    if (!l)
        abort();
    p->accepted++;
    p->open++;
    l->p = p;
    l->next = p->links;
    if (p->links)
        p->links->prev = l;
    p->links = l;
    l->delay = event_new(p->base, -1, 0, on_delay, l);
    l->client = bufferevent_socket_new(p->base, fd, BEV_OPT_CLOSE_ON_FREE);
    bufferevent_setcb(l->client, on_client_read, NULL, on_event, l);
    if (p->mode != ZK_PROXY_STUCK)
        bufferevent_enable(l->client, EV_READ);
    if (p->upstream_port == 0)
        return;
    l->server = bufferevent_socket_new(p->base, -1, BEV_OPT_CLOSE_ON_FREE);
    bufferevent_setcb(l->server, on_server_read, NULL, on_event, l);
    bufferevent_enable(l->server, EV_READ);
    if (bufferevent_socket_connect(l->server, (struct sockaddr *)&upstream, sizeof upstream) != 0)
        link_free(l, true);
}

/* ---- commands ---- */

static void listen_again(struct zk_proxy *p)
{
    struct sockaddr_in address = loopback(p->port);
    socklen_t len = sizeof address;
    int bytes = RECEIVE_BUFFER_BYTES;

    p->listener = evconnlistener_new_bind(
        p->base, on_accept, p, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
        128, (struct sockaddr *)&address, sizeof address);
    if (!p->listener)
        abort();
    setsockopt(evconnlistener_get_fd(p->listener), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    getsockname(evconnlistener_get_fd(p->listener), (struct sockaddr *)&address, &len);
    p->port = ntohs(address.sin_port);
}

struct zk_proxy *zk_proxy_new(struct event_base *base, int upstream_port)
{
    struct zk_proxy *p = calloc(1, sizeof *p);

    if (!p)
        abort();
    p->base = base;
    p->upstream_port = upstream_port;
    listen_again(p);
    return p;
}

int zk_proxy_port(const struct zk_proxy *p)
{
    return p->port;
}

void zk_proxy_set_mode(struct zk_proxy *p, enum zk_proxy_mode mode)
{
    if (mode == ZK_PROXY_REFUSE && p->listener) {
        evconnlistener_free(p->listener);
        p->listener = NULL;
    } else if (mode != ZK_PROXY_REFUSE && !p->listener) {
        listen_again(p);
    }
    p->mode = mode;
    for (struct link *l = p->links; l; l = l->next) {
        if (mode == ZK_PROXY_STUCK)
            bufferevent_disable(l->client, EV_READ);
        else
            bufferevent_enable(l->client, EV_READ);
    }
}

void zk_proxy_cut(struct zk_proxy *p)
{
    while (p->links)
        link_free(p->links, false);
}

void zk_proxy_reset(struct zk_proxy *p)
{
    while (p->links)
        link_free(p->links, true);
}

void zk_proxy_set_delay_ms(struct zk_proxy *p, int delay_ms)
{
    p->delay_ms = delay_ms;
}
void zk_proxy_drop_answer(struct zk_proxy *p, unsigned n)
{
    p->answers_to_drop = n;
}
size_t zk_proxy_connections(const struct zk_proxy *p)
{
    return p->open;
}
size_t zk_proxy_accepted(const struct zk_proxy *p)
{
    return p->accepted;
}

void zk_proxy_free(struct zk_proxy *p)
{
    if (!p)
        return;
    zk_proxy_cut(p);
    if (p->listener)
        evconnlistener_free(p->listener);
    free(p);
}
