#include "study/record/recorder.h"
#include "study/record/tap.h"
#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WAITING_BYTES_MAX                                                                          \
    (8 * 1024 * 1024) /* for a peer that does not read; then the other waits */
#define DRAIN_S 5     /* what was passed on may take so long to arrive */
#define BACKLOG 1024

struct hold {        /* the next request of this kind waits */
    char *op, *path; /* owned; path NULL: any */
    bool is_reached;
};

struct listener {
    struct recorder *r;
    char *label; /* owned */
    struct evconnlistener *listener;
    int port;
    bool is_refused, is_hole;
    struct hold *hold; /* owned; NULL: none */
};

struct link {
    struct recorder *r;
    struct listener *by;
    struct link *prev, *next;
    struct bufferevent *client, *server;
    struct tap tap;
    bool is_held;
    bool is_ending; /* only what was passed on already still goes out, to the client */
};

struct server {
    char *name; /* as given; owned */
    struct sockaddr_storage address;
    int address_len;
};

struct recorder {
    struct event_base *base;
    struct listener *listeners;
    size_t listener_count;
    struct server *servers;
    size_t server_count, server_next;
    struct link *links;
    uint32_t connections;
    FILE *out;
    struct buf line;
    uint64_t seq, drops;
    void (*say)(const char *text, void *user);
    void *user;
};

/* ---- the capture ---- */

static struct tap_moment now(struct recorder *r)
{
    struct timespec wall, monotonic;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    return (struct tap_moment){.seq = ++r->seq,
                               .wall_us = (int64_t)wall.tv_sec * 1000000 + wall.tv_nsec / 1000,
                               .ns = (uint64_t)monotonic.tv_sec * 1000000000u +
                                     (uint64_t)monotonic.tv_nsec};
}

/* Writes the line that was made. */
static void write_line(struct recorder *r)
{
    bool ok = !r->line.failed && fwrite(r->line.data, 1, r->line.len, r->out) == r->line.len &&
              fflush(r->out) == 0;
    if (!ok)
        r->drops++;
    clearerr(r->out);
    buf_clear(&r->line);
}

static void mark(struct recorder *r, const char *text)
{
    tap_mark(now(r), text, &r->line);
    write_line(r);
}

/* ---- links ---- */

static void link_free(struct link *l)
{
    if (l->prev)
        l->prev->next = l->next;
    else if (l->r->links == l)
        l->r->links = l->next;
    if (l->next)
        l->next->prev = l->prev;
    if (l->client)
        bufferevent_free(l->client);
    if (l->server)
        bufferevent_free(l->server);
    tap_deinit(&l->tap);
    free(l);
}

/* The connection is over: one line says so. What the client has not got yet still goes out, unless
 * it is the client that has gone, or something cuts it off. */
static void link_end(struct link *l, const char *why, bool drains)
{
    if (!l->is_ending) {
        tap_closed(&l->tap, now(l->r), why, &l->r->line);
        write_line(l->r);
    }
    l->is_ending = true;
    if (l->server)
        bufferevent_free(l->server);
    l->server = NULL;
    if (!drains || evbuffer_get_length(bufferevent_get_output(l->client)) == 0) {
        link_free(l);
        return;
    }
    struct timeval limit = {.tv_sec = DRAIN_S};
    bufferevent_disable(l->client, EV_READ);
    bufferevent_set_timeouts(l->client, NULL, &limit);
}

static bool matches(const struct hold *h, struct tap_request request)
{
    return !h->is_reached && strcmp(h->op, request.op) == 0 &&
           (!h->path || bytes_equal_text(request.path, h->path));
}

static void say(struct recorder *r, const char *fmt, ...) ZKC_PRINTF(2, 3);
static void say(struct recorder *r, const char *fmt, ...)
{
    char text[WHY_SIZE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (r->say)
        r->say(text, r->user);
}

static bool is_held_now(struct link *l, struct bytes frame)
{
    struct hold *h = l->by->hold;
    struct tap_request request = tap_peek(&l->tap, frame);
    if (!h || !matches(h, request))
        return false;
    h->is_reached = l->is_held = true;
    char text[WHY_SIZE];
    snprintf(text, sizeof text, "held %s %s %s", l->by->label, h->op, h->path ? h->path : "");
    mark(l->r, text);
    say(l->r, "%s", text);
    return true;
}

enum passed { PASSED, MORE_IS_NEEDED, LINK_IS_GONE };

/* One whole frame, if it is there. */
static enum passed pass_frame(struct link *l, bool is_up)
{
    struct bufferevent *from = is_up ? l->client : l->server, *to = is_up ? l->server : l->client;
    struct evbuffer *in = bufferevent_get_input(from);
    uint32_t head;
    if (evbuffer_copyout(in, &head, sizeof head) < (ssize_t)sizeof head)
        return MORE_IS_NEEDED;
    size_t len = ntohl(head);
    if (len > TAP_FRAME_MAX) {
        link_end(l, is_up ? "client sent no frame" : "server sent no frame", is_up);
        return LINK_IS_GONE;
    }
    if (evbuffer_get_length(in) < len + 4)
        return MORE_IS_NEEDED;
    const uint8_t *all = evbuffer_pullup(in, (ev_ssize_t)(len + 4));
    struct bytes frame = bytes_of(all ? all + 4 : NULL, len);
    enum zkc_err err = all ? ZKC_OK : ZKC_ERR_NOMEM;
    if (is_up && !err && is_held_now(l, frame))
        return MORE_IS_NEEDED;
    if (!err && is_up)
        err = tap_request(&l->tap, now(l->r), frame, &l->r->line);
    else if (!err)
        tap_answer(&l->tap, now(l->r), frame, &l->r->line);
    if (err) {
        buf_clear(&l->r->line);
        link_end(l, "recorder", false);
        return LINK_IS_GONE;
    }
    write_line(l->r);
    if (evbuffer_remove_buffer(in, bufferevent_get_output(to), len + 4) != (int)(len + 4)) {
        link_end(l, "recorder", false);
        return LINK_IS_GONE;
    }
    return PASSED;
}

/* All whole frames that are there, as long as the other side takes them. */
static enum passed pass_frames(struct link *l, bool is_up)
{
    struct bufferevent *from = is_up ? l->client : l->server, *to = is_up ? l->server : l->client;
    enum passed passed = PASSED;
    while (passed == PASSED) {
        if (l->by->is_hole || (is_up && l->is_held))
            return MORE_IS_NEEDED;
        if (evbuffer_get_length(bufferevent_get_output(to)) > WAITING_BYTES_MAX) {
            bufferevent_disable(from, EV_READ);
            return MORE_IS_NEEDED;
        }
        passed = pass_frame(l, is_up);
    }
    return passed;
}

static void on_client_read(struct bufferevent *client, void *arg)
{
    (void)client;
    pass_frames(arg, true);
}

static void on_server_read(struct bufferevent *server, void *arg)
{
    (void)server;
    pass_frames(arg, false);
}

/* All that one side was sent is out: the other goes on. */
static void on_client_written(struct bufferevent *client, void *arg)
{
    struct link *l = arg;
    (void)client;
    if (l->is_ending) {
        link_free(l);
        return;
    }
    bufferevent_enable(l->server, EV_READ);
    pass_frames(l, false);
}

static void on_server_written(struct bufferevent *server, void *arg)
{
    struct link *l = arg;
    (void)server;
    bufferevent_enable(l->client, EV_READ);
    pass_frames(l, true);
}

static void on_client_event(struct bufferevent *client, short what, void *arg)
{
    struct link *l = arg;
    (void)client;
    if (l->is_ending)
        link_free(l);
    else if ((what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) && !l->by->is_hole)
        link_end(l, "client", false);
}

static void on_server_event(struct bufferevent *server, short what, void *arg)
{
    struct link *l = arg;
    (void)server;
    if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) || l->by->is_hole)
        return; /* nobody learns of it through a hole */
    if (pass_frames(l, false) != LINK_IS_GONE)
        link_end(l, "server", true);
}

/* Frames pass as they come: answers to requests that were sent in a row must not wait, each for the
 * one before to be acknowledged. */
static void send_at_once(struct bufferevent *link)
{
    int on = 1;
    setsockopt(bufferevent_getfd(link), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static bool connect_server(struct link *l, const struct server *s)
{
    l->server = bufferevent_socket_new(l->r->base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (!l->server)
        return false;
    bufferevent_setcb(l->server, on_server_read, on_server_written, on_server_event, l);
    bufferevent_setwatermark(l->server, EV_READ, 0, TAP_FRAME_MAX + 4);
    bufferevent_enable(l->server, EV_READ | EV_WRITE);
    if (bufferevent_socket_connect(l->server, (const struct sockaddr *)&s->address, s->address_len))
        return false;
    send_at_once(l->server);
    return true;
}

static void on_accept(struct evconnlistener *evl, evutil_socket_t fd, struct sockaddr *address,
                      int len, void *arg)
{
    struct listener *by = arg;
    struct recorder *r = by->r;
    struct link *l = calloc(1, sizeof *l);
    (void)evl, (void)address, (void)len;
    struct bufferevent *client =
        l ? bufferevent_socket_new(r->base, fd, BEV_OPT_CLOSE_ON_FREE) : NULL;
    if (!client || tap_init(&l->tap, by->label, ++r->connections)) {
        if (client)
            bufferevent_free(client);
        else
            close(fd);
        free(l);
        return;
    }
    l->r = r;
    l->by = by;
    l->client = client;
    l->next = r->links;
    if (r->links)
        r->links->prev = l;
    r->links = l;
    bufferevent_setcb(client, on_client_read, on_client_written, on_client_event, l);
    bufferevent_setwatermark(client, EV_READ, 0, TAP_FRAME_MAX + 4);
    send_at_once(client);
    const struct server *s = &r->servers[r->server_next++ % r->server_count];
    tap_opened(&l->tap, now(r), s->name, &r->line);
    write_line(r);
    if (by->is_refused)
        link_end(l, "refused", false);
    else if (!connect_server(l, s))
        link_end(l, "server", false);
    else
        bufferevent_enable(client, EV_READ | EV_WRITE);
}

/* ---- commands ---- */

static void end_links(struct recorder *r, const struct listener *by, const char *why)
{
    for (struct link *l = r->links, *next; l; l = next) {
        next = l->next;
        if (l->by == by && !l->is_ending)
            link_end(l, why, false);
    }
}

static void hold_free(struct hold *h)
{
    if (!h)
        return;
    free(h->op);
    free(h->path);
    free(h);
}

/* What waits goes on, and what came behind it. */
static void go(struct recorder *r, struct listener *by)
{
    hold_free(by->hold);
    by->hold = NULL;
    for (struct link *l = r->links, *next; l; l = next) {
        next = l->next;
        if (l->by != by || !l->is_held)
            continue;
        l->is_held = false;
        pass_frames(l, true);
    }
}

/* The next word of a line, which is cut up; "" : none. */
static char *word(char **at)
{
    *at += strspn(*at, " ");
    char *begin = *at;
    *at += strcspn(*at, " ");
    if (**at)
        *(*at)++ = 0;
    return begin;
}

static struct hold *hold_new(const char *op, const char *path)
{
    struct hold *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->op = strdup(op);
    h->path = *path ? strdup(path) : NULL;
    if (h->op && (h->path || !*path))
        return h;
    hold_free(h);
    return NULL;
}

static struct listener *find(struct recorder *r, const char *label)
{
    for (size_t i = 0; i < r->listener_count; i++)
        if (strcmp(r->listeners[i].label, label) == 0)
            return &r->listeners[i];
    return NULL;
}

static void about(struct recorder *r, const char *name, struct listener *by, char *rest,
                  struct why *answer)
{
    if (strcmp(name, "cut") == 0) {
        end_links(r, by, "cut");
    } else if (strcmp(name, "refuse") == 0) {
        by->is_refused = true;
        end_links(r, by, "refused");
    } else if (strcmp(name, "hole") == 0) {
        by->is_hole = true;
    } else if (strcmp(name, "heal") == 0) {
        bool was_hole = by->is_hole;
        by->is_refused = by->is_hole = false;
        if (was_hole)
            end_links(r, by, "heal");
    } else if (strcmp(name, "go") == 0) {
        go(r, by);
    } else {
        char *op = word(&rest), *path = word(&rest);
        struct hold *h = *op && !by->hold ? hold_new(op, path) : NULL;
        if (h)
            by->hold = h;
        else
            why_set(answer, "error %s",
                    !*op       ? "hold: expected LABEL OP [PATH]"
                    : by->hold ? "hold: one is under way; go first"
                               : "out of memory");
    }
}

void recorder_command(struct recorder *r, const char *line, struct why *answer)
{
    static const char *const known[] = {"cut", "refuse", "hole", "heal", "hold", "go"};
    char text[WHY_SIZE], *at = text;
    snprintf(text, sizeof text, "%s", line);
    why_set(answer, "ok");
    const char *name = word(&at);
    if (strcmp(name, "mark") == 0) {
        mark(r, at);
        return;
    }
    bool is_known = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        is_known = is_known || strcmp(name, known[i]) == 0;
    const char *label = word(&at);
    struct listener *by = find(r, label);
    if (!is_known) {
        why_set(answer,
                "error unknown command \"%s\": expected mark, cut, refuse, hole, heal, hold "
                "or go",
                why_quote(bytes_of_text(name)).text);
        return;
    }
    if (!by) {
        why_set(answer, "error %s: nobody listens as \"%s\"", name,
                why_quote(bytes_of_text(label)).text);
        return;
    }
    about(r, name, by, at, answer);
    if (strncmp(answer->text, "ok", 2) == 0 && strcmp(name, "hold") != 0)
        mark(r, line);
}

/* ---- beginning and end ---- */

static enum zkc_err resolve(const char *text, struct server *out, struct why *why)
{
    struct evutil_addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found;
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || !colon[1]) {
        why_set(why, "%s: expected HOST:PORT", why_quote(bytes_of_text(text)).text);
        return ZKC_ERR_CONFIG;
    }
    char *host = strndup(text, (size_t)(colon - text));
    if (!host)
        return ZKC_ERR_NOMEM;
    size_t len = strlen(host);
    bool is_bracketed = len > 2 && host[0] == '[' && host[len - 1] == ']';
    if (is_bracketed)
        host[len - 1] = 0;
    int code = evutil_getaddrinfo(host + is_bracketed, colon + 1, &hints, &found);
    free(host);
    if (code) {
        why_set(why, "%s: %s", why_quote(bytes_of_text(text)).text, evutil_gai_strerror(code));
        return ZKC_ERR_CONFIG;
    }
    memcpy(&out->address, found->ai_addr, found->ai_addrlen);
    out->address_len = (int)found->ai_addrlen;
    evutil_freeaddrinfo(found);
    out->name = strdup(text);
    return out->name ? ZKC_OK : ZKC_ERR_NOMEM;
}

static enum zkc_err resolve_servers(struct recorder *r, const char *list, struct why *why)
{
    char *copy = strdup(list);
    enum zkc_err err = copy ? ZKC_OK : ZKC_ERR_NOMEM;
    for (char *at = copy, *next; at && !err; at = next) {
        next = strchr(at, ',');
        if (next)
            *next++ = 0;
        struct server *grown = realloc(r->servers, (r->server_count + 1) * sizeof *grown);
        if (!grown) {
            err = ZKC_ERR_NOMEM;
            break;
        }
        r->servers = grown;
        grown[r->server_count] = (struct server){0};
        err = resolve(at, &grown[r->server_count], why);
        r->server_count += !err;
    }
    free(copy);
    return err;
}

static int port_of(struct evconnlistener *listener)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;
    getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &len);
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                               : ((struct sockaddr_in *)&address)->sin_port);
}

static enum zkc_err listen_on(struct recorder *r, const char *text, struct why *why)
{
    const char *equals = strchr(text, '=');
    struct listener *l = &r->listeners[r->listener_count];
    struct server where = {0};
    *l = (struct listener){.r = r};
    enum zkc_err err = resolve(equals ? equals + 1 : text, &where, why);
    if (err)
        return err;
    free(where.name);
    l->label = strndup(text, equals ? (size_t)(equals - text) : 0);
    if (!l->label)
        return ZKC_ERR_NOMEM;
    if (find(r, l->label) || strchr(l->label, ' ')) {
        why_set(why, "%s: expected another label for each listener, without blanks",
                why_quote(bytes_of_text(text)).text);
        free(l->label);
        return ZKC_ERR_CONFIG;
    }
    errno = 0;
    l->listener = evconnlistener_new_bind(
        r->base, on_accept, l, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
        BACKLOG, (struct sockaddr *)&where.address, where.address_len);
    if (!l->listener) {
        why_set(why, "%s: %s", why_quote(bytes_of_text(text)).text,
                errno ? strerror(errno) : "cannot listen");
        free(l->label);
        return ZKC_ERR_SYSTEM;
    }
    l->port = port_of(l->listener);
    r->listener_count++;
    return ZKC_OK;
}

enum zkc_err recorder_new(struct event_base *base, const struct recorder_options *options,
                          struct recorder **out, struct why *why)
{
    why_clear(why);
    struct recorder *r = calloc(1, sizeof *r);
    if (!r)
        return ZKC_ERR_NOMEM;
    r->base = base;
    r->say = options->say;
    r->user = options->user;
    buf_init(&r->line, TAP_LINE_MAX);
    r->listeners = calloc(options->listen_count + 1, sizeof *r->listeners);
    enum zkc_err err = r->listeners ? resolve_servers(r, options->servers, why) : ZKC_ERR_NOMEM;
    for (size_t i = 0; i < options->listen_count && !err; i++)
        err = listen_on(r, options->listens[i], why);
    if (!err && !(r->out = fopen(options->path, "we"))) {
        why_set(why, "%s: %s", options->path, strerror(errno));
        err = ZKC_ERR_SYSTEM;
    }
    if (err) {
        recorder_free(r);
        return err;
    }
    tap_begin(now(r), options->servers, &r->line);
    write_line(r);
    *out = r;
    return ZKC_OK;
}

void recorder_free(struct recorder *r)
{
    if (!r)
        return;
    for (struct link *l = r->links, *next; l; l = next) {
        next = l->next;
        if (l->is_ending)
            link_free(l);
        else
            link_end(l, "recorder", false);
    }
    if (r->out) {
        tap_end(now(r), r->drops, &r->line);
        write_line(r);
        fclose(r->out);
    }
    for (size_t i = 0; i < r->listener_count; i++) {
        hold_free(r->listeners[i].hold);
        free(r->listeners[i].label);
        evconnlistener_free(r->listeners[i].listener);
    }
    for (size_t i = 0; i < r->server_count; i++)
        free(r->servers[i].name);
    free(r->listeners);
    free(r->servers);
    buf_deinit(&r->line);
    free(r);
}

size_t recorder_listener_count(const struct recorder *r)
{
    return r->listener_count;
}

const char *recorder_label(const struct recorder *r, size_t i)
{
    return r->listeners[i].label;
}

int recorder_port(const struct recorder *r, size_t i)
{
    return r->listeners[i].port;
}

uint64_t recorder_drops(const struct recorder *r)
{
    return r->drops;
}
