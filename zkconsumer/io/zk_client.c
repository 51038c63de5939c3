#include "zkconsumer/io/zk_client.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The client whose library call is under way on this thread: the library's log callback names
 * neither handle nor context. */
static _Thread_local struct zk_client *current;

/* Exactly in these states the handle has a socket (zookeeper.c, state and fd->sock). Read-only
 * sessions are never asked for. */
static bool handle_has_socket(const struct zk_client *c)
{
    int state = zoo_state(c->zh);
    return state == ZOO_CONNECTING_STATE || state == ZOO_ASSOCIATING_STATE ||
           state == ZOO_CONNECTED_STATE;
}

/* ---- log ---- */

static int level_of(const char *word)
{
    switch (word[0]) {
    case 'E': return 3;
    case 'W': return 4;
    case 'I': return 6;
    }
    return 7;
}

/* "2024-01-31 12:00:00,000:4711:ZOO_ERROR@function@line: text", see log_message() in zk_log.c. What
 * became of a socket is told nowhere but here: "Socket 127.0.0.1:2181 zk retcode=-4,
 * errno=111(...)", see handle_socket_error_msg(). */
static void on_client_line(const char *line)
{
    struct zk_client *c = current;
    const char *mark = strstr(line, ":ZOO_");
    const char *cause_end = mark ? strstr(mark, ": ") : NULL;
    const char *failure = strstr(line, "errno=");
    char cause[64], text[512];
    int level = 4;

    if (!c)
        return;
    snprintf(cause, sizeof cause, "zookeeper client");
    if (cause_end) {
        const char *word = mark + strlen(":ZOO_");
        const char *at = strchr(word, '@');
        level = level_of(word);
        if (at && at < cause_end)
            snprintf(cause, sizeof cause, "%.*s", (int)(cause_end - at - 1), at + 1);
        line = cause_end + 2;
    }
    if (level == 3 && failure && sscanf(line, "Socket %63s", c->server) == 1)
        c->failure = atoi(failure + strlen("errno="));
    snprintf(text, sizeof text, "zookeeper client: %s", line);
    text[strcspn(text, "\n")] = '\0';
    c->on_line(level, cause, text, c->user);
}

/* ---- the socket ---- */

static void on_io(evutil_socket_t fd, short events, void *arg)
{
    struct zk_client *c = arg;
    (void)fd;
    c->on_io(events, c->user);
}

static void drop_socket(struct zk_client *c)
{
    zk_client_listen(c, 0);
    close(c->fd);
    c->fd = -1;
    c->is_corked = false;
}

/* After every call: the client may have closed its socket in it. */
static void notice_socket(struct zk_client *c)
{
    if (c->fd == -1 || handle_has_socket(c))
        return;
    drop_socket(c);
    c->is_stale = zoo_state(c->zh) == ZOO_NOTCONNECTED_STATE;
}

struct zk_client *zk_client_enter(struct zk_client *c)
{
    struct zk_client *outer = current;
    current = c;
    c->depth++;
    return outer;
}

void zk_client_leave(struct zk_client *c, struct zk_client *outer)
{
    c->depth--;
    current = outer;
    notice_socket(c);
}

void zk_client_listen(struct zk_client *c, short events)
{
    if (events == c->events)
        return;
    if (c->events)
        event_del(&c->io);
    c->events = events;
    if (events) {
        event_assign(&c->io, c->base, c->fd, (short)(events | EV_PERSIST), on_io, c);
        event_add(&c->io, NULL);
    }
}

/* Lets the client find out that its socket is dead, which empties its queues. It looks for the end
 * of a connect in WRITE only, and for the end of a connection in READ. */
static void kill_socket(struct zk_client *c, int fd)
{
    shutdown(fd, SHUT_RDWR);
    for (int i = 0; i < 3 && handle_has_socket(c); i++)
        zookeeper_process(c->zh, i == 0 ? ZOOKEEPER_WRITE : ZOOKEEPER_READ);
}

/* The client's next connection, as its own number; -1: failed. Its own delay between two rounds of
 * the list is skipped, ours is over. */
static int open_connection(struct zk_client *c)
{
    int fd = -1, want, zk_rc;
    struct timeval timeout;

    zk_rc = zookeeper_interest(c->zh, &fd, &want, &timeout);
    if (zk_rc == ZOK && !handle_has_socket(c))
        zk_rc = zookeeper_interest(c->zh, &fd, &want, &timeout);
    return zk_rc == ZOK && handle_has_socket(c) ? fd : -1;
}

void zk_client_reset(struct zk_client *c)
{
    struct zk_client *outer = zk_client_enter(c);
    int fd = open_connection(c);

    if (fd != -1)
        kill_socket(c, fd);
    c->is_stale = zoo_state(c->zh) == ZOO_NOTCONNECTED_STATE;
    zk_client_leave(c, outer);
}

bool zk_client_connect(struct zk_client *c)
{
    struct zk_client *outer;
    int fd;

    assert(c->fd == -1);
    c->failure = 0;
    c->server[0] = '\0';
    if (c->is_stale)
        zk_client_reset(c);
    if (c->is_stale)
        return false;
    outer = zk_client_enter(c);
    fd = open_connection(c);
    if (fd != -1) {
        snprintf(c->server, sizeof c->server, "%s", zoo_get_current_server(c->zh));
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        c->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (c->fd == -1) {
            int failure = errno;
            kill_socket(c, fd);
            c->failure = failure;
        }
    }
    zk_client_leave(c, outer);
    return c->fd != -1;
}

void zk_client_break(struct zk_client *c)
{
    struct zk_client *outer = zk_client_enter(c);
    kill_socket(c, c->fd);
    zk_client_leave(c, outer);
}

bool zk_client_wait(struct zk_client *c, int64_t *timeout_ms)
{
    struct zk_client *outer;
    int fd, want = 0, zk_rc;
    struct timeval timeout = {0};

    if (c->fd == -1)
        return false;
    outer = zk_client_enter(c);
    zk_rc = zookeeper_interest(c->zh, &fd, &want, &timeout);
    if (zk_rc != ZOK && handle_has_socket(c)) {
        /* A ping could not be sent: reading finds out why. Nothing is wanted then, for ever. */
        zookeeper_process(c->zh, ZOOKEEPER_READ);
        want = ZOOKEEPER_READ;
        timeout.tv_usec = 20 * 1000;
    }
    zk_client_leave(c, outer);
    if (c->fd == -1)
        return false;
    zk_client_listen(c, (short)((want & ZOOKEEPER_READ ? EV_READ : 0) |
                                (want & ZOOKEEPER_WRITE ? EV_WRITE : 0)));
    *timeout_ms = (int64_t)timeout.tv_sec * 1000 + timeout.tv_usec / 1000 + 1;
    return true;
}

bool zk_client_process(struct zk_client *c, short events)
{
    struct zk_client *outer;
    int zk_rc;

    /* Before it has seen the end of a connect, a read would make a buffer that it then forgets. */
    if (c->fd == -1 || (!(events & EV_WRITE) && zoo_state(c->zh) == ZOO_CONNECTING_STATE))
        return false;
    outer = zk_client_enter(c);
    zk_rc = zookeeper_process(c->zh, (events & EV_READ ? ZOOKEEPER_READ : 0) |
                                         (events & EV_WRITE ? ZOOKEEPER_WRITE : 0));
    zk_client_leave(c, outer);
    return zk_rc == ZOK && c->fd != -1;
}

static void set_cork(struct zk_client *c, int value)
{
    setsockopt(c->fd, IPPROTO_TCP, TCP_CORK, &value, sizeof value);
    c->is_corked = value;
}

void zk_client_cork(struct zk_client *c)
{
    if (c->fd != -1 && !c->is_corked)
        set_cork(c, 1);
}

void zk_client_flush(struct zk_client *c)
{
    if (c->is_corked)
        set_cork(c, 0);
}

/* ---- the handle ---- */

void zk_client_init(struct zk_client *c, struct event_base *base, zk_client_io_fn *on_io_fn,
                    zk_client_line_fn *on_line, void *user)
{
    *c = (struct zk_client){.base = base,
                            .fd = -1,
                            .has_zxid = true,
                            .on_io = on_io_fn,
                            .on_line = on_line,
                            .user = user};
}

static void keep_order(void)
{
    zoo_deterministic_conn_order(1);
}

bool zk_client_open(struct zk_client *c, const char *servers, int timeout_ms, watcher_fn watcher,
                    void *context)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct zk_client *outer = current;

    assert(!c->zh);
    pthread_once(&once, keep_order); /* else it shuffles, and reseeds random() for that */
    current = c;
    c->zh = zookeeper_init2(servers, watcher, timeout_ms, NULL, context, ZOO_NO_LOG_CLIENTENV,
                            on_client_line);
    current = outer;
    if (!c->zh)
        return false;
    zoo_set_servers_resolution_delay(c->zh, -1);
    c->is_stale = false;
    return true;
}

void zk_client_close(struct zk_client *c)
{
    struct zk_client *outer = current;
    zhandle_t *zh = c->zh;

    assert(c->depth == 0);
    if (!zh)
        return;
    if (c->fd != -1) {
        shutdown(c->fd, SHUT_RDWR); /* its own CLOSE then fails at once, and it does not wait */
        drop_socket(c);
    }
    current = c;
    c->depth++;
    zookeeper_close(zh);
    c->depth--;
    current = outer;
    c->zh = NULL;
}

void zk_client_set_servers(struct zk_client *c, const char *servers)
{
    struct zk_client *outer = zk_client_enter(c);
    assert(c->fd == -1);
    zoo_set_servers(c->zh, servers);
    zk_client_leave(c, outer);
}

int64_t zk_client_zxid(struct zk_client *c, int64_t at_least)
{
    int64_t zxid;

    if (!c->has_zxid)
        return 0;
    memcpy(&zxid, (const char *)zoo_client_id(c->zh) + sizeof(clientid_t), sizeof zxid);
    if (zxid < at_least || zxid < 0) {
        c->has_zxid = false;
        return 0;
    }
    return zxid;
}
