/* Accepting, and the loops that serve connections.
 *
 * Without a free descriptor (EMFILE, ENFILE) or memory, accepting pauses until a connection ends or
 * a second has passed: the listening socket stays readable, and asking again at once would spin. */
#include "broker/io/network.h"
#include "broker/io/clock.h"
#include "broker/io/config.h"
#include "broker/io/journal.h"
#include "broker/io/network_internal.h"
#include "zkconsumer/io/resolver.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BACKLOG      1024
#define ACCEPTS_MAX  64 /* in one callback */
#define PAUSE_MS     1000
#define IP_BUCKETS   1024
#define TIMER_MS_MAX (3600 * 1000)

struct arrival {
    struct arrival *next;
    int fd;
    char peer[64];
};

/* How many connections an address has. */
struct ip_count {
    struct ip_count *next;
    int64_t count;
    char ip[48];
};

struct network {
    struct network_options options;
    int fd;
    uint16_t port;
    struct event *acceptable;
    struct event *pause;
    bool is_accepting; /* accepting loop's */
    struct loop_item resume_item;
    atomic_bool is_paused;
    struct network_loop *loops;
    size_t loops_count;
    size_t next;          /* the loop that gets the next connection */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t stopped;
    size_t stopped_count;
    struct ip_count *ips[IP_BUCKETS];
};

const struct network_options *network_options(const struct network *n)
{
    return &n->options;
}
struct thread_loop *network_loop_thread(struct network_loop *l)
{
    return l->thread;
}
void **network_loop_slot(struct network_loop *l)
{
    return &l->slot;
}
size_t network_loop_count(const struct network *n)
{
    return n->loops_count;
}
struct network_loop *network_loop_at(struct network *n, size_t index)
{
    return &n->loops[index];
}
uint16_t network_port(const struct network *n)
{
    return n->port;
}

/* ---- connections of an address ---- */

/* "127.0.0.1:80" and "[::1]:80" without their port. */
static void ip_of_peer(const char *peer, char out[48])
{
    const char *colon = strrchr(peer, ':');
    snprintf(out, 48, "%.*s", (int)(colon - peer), peer);
}

static struct ip_count **ip_slot(struct network *n, const char *ip)
{
    uint32_t hash = 2166136261U;
    for (const char *c = ip; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619U;
    struct ip_count **at = &n->ips[hash % IP_BUCKETS];
    while (*at && strcmp((*at)->ip, ip) != 0)
        at = &(*at)->next;
    return at;
}

static int64_t ip_limit(const struct config *config, const char *ip)
{
    size_t len = strlen(ip);
    for (const char *at = config->max_connections_per_ip_overrides; *at;) {
        size_t entry_len = strcspn(at, ",");
        if (entry_len > len + 1 && memcmp(at, ip, len) == 0 && at[len] == ':')
            return strtoll(at + len + 1, NULL, 10);
        at += entry_len + (at[entry_len] == ',');
    }
    return config->max_connections_per_ip;
}

static bool ip_enter(struct network *n, const char *peer)
{
    char ip[48];
    ip_of_peer(peer, ip);
    int64_t limit = ip_limit(n->options.config, ip);
    pthread_mutex_lock(&n->lock);
    struct ip_count **at = ip_slot(n, ip);
    if (!*at) {
        *at = calloc(1, sizeof **at);
        if (*at)
            memcpy((*at)->ip, ip, sizeof ip);
    }
    bool ok = *at && (*at)->count < limit;
    if (ok)
        (*at)->count++;
    pthread_mutex_unlock(&n->lock);
    if (!ok)
        journal_cause(n->options.journal, JOURNAL_WARN, ip,
                      "a connection from %s is closed: it has max.connections.per.ip=%" PRId64
                      " already",
                      ip, limit);
    return ok;
}

void network_connection_ended(struct network *n, const char *peer)
{
    char ip[48];
    ip_of_peer(peer, ip);
    pthread_mutex_lock(&n->lock);
    struct ip_count **at = ip_slot(n, ip);
    assert(*at && (*at)->count > 0);
    if (--(*at)->count == 0) {
        struct ip_count *gone = *at;
        *at = gone->next;
        free(gone);
    }
    pthread_mutex_unlock(&n->lock);
    if (atomic_load(&n->is_paused))
        thread_loop_post(n->options.accept_loop, &n->resume_item);
}

/* ---- the loops ---- */

static void on_arrivals(void *arg)
{
    struct network_loop *l = arg;
    pthread_mutex_lock(&l->lock);
    struct arrival *list = l->arrivals;
    l->arrivals = NULL;
    pthread_mutex_unlock(&l->lock);
    while (list) {
        struct arrival *a = list;
        list = a->next;
        if (!connection_new_take(l, a->fd, a->peer))
            network_connection_ended(l->network, a->peer);
        free(a);
    }
}

static void arm_idle_timer(struct network_loop *l)
{
    struct connection *oldest = TAILQ_FIRST(&l->connections);
    int64_t wait_ms = l->network->options.config->connections_max_idle_ms;
    if (oldest)
        wait_ms -= clock_now_ms() - connection_used_ms(oldest);
    wait_ms = wait_ms < 10 ? 10 : wait_ms > TIMER_MS_MAX ? TIMER_MS_MAX : wait_ms;
    struct timeval tv = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
    event_add(l->idle_timer, &tv);
}

static void on_idle_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct network_loop *l = arg;
    connection_close_idle(l, l->network->options.config->connections_max_idle_ms);
    arm_idle_timer(l);
}

static void on_loop_stop(void *arg)
{
    struct network_loop *l = arg;
    on_arrivals(l);
    connection_close_idle(l, -1);
    event_del(l->idle_timer);
    pthread_mutex_lock(&l->network->lock);
    l->network->stopped_count++;
    pthread_cond_signal(&l->network->stopped);
    pthread_mutex_unlock(&l->network->lock);
}

static bool loop_init(struct network_loop *l, struct network *n)
{
    l->network = n;
    TAILQ_INIT(&l->connections);
    pthread_mutex_init(&l->lock, NULL);
    loop_item_init(&l->arrivals_item, on_arrivals, l);
    loop_item_init(&l->stop_item, on_loop_stop, l);
    l->scratch = malloc(SCRATCH_BYTES);
    l->thread = thread_loop_new();
    if (!l->scratch || !l->thread)
        return false;
    l->idle_timer = evtimer_new(thread_loop_base(l->thread), on_idle_timer, l);
    return l->idle_timer != NULL;
}

static void loop_deinit(struct network_loop *l)
{
    if (l->idle_timer)
        event_free(l->idle_timer);
    thread_loop_free(l->thread);
    free(l->scratch);
    pthread_mutex_destroy(&l->lock);
}

/* ---- accepting ---- */

static void resume(void *arg)
{
    struct network *n = arg;
    if (!n->is_accepting || !atomic_exchange(&n->is_paused, false))
        return;
    event_del(n->pause);
    event_add(n->acceptable, NULL);
}

static void on_pause_end(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    resume(arg);
}

static void pause_accepting(struct network *n, int error)
{
    journal_cause(n->options.journal, JOURNAL_ERROR, "accept",
                  "no connection can be accepted for the moment: %s%s", strerror(error),
                  error == EMFILE ? " (raise the limit of open files, ulimit -n)" : "");
    event_del(n->acceptable);
    atomic_store(&n->is_paused, true);
    event_add(n->pause, &(struct timeval){.tv_sec = PAUSE_MS / 1000});
}

static void set_buffers(const struct config *config, int fd)
{
    int one = 1;
    int send_bytes = (int)config->socket_send_buffer_bytes;
    int receive_bytes = (int)config->socket_receive_buffer_bytes;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
}

static void hand_over(struct network *n, int fd, const union resolver_address *address)
{
    struct arrival *a = calloc(1, sizeof *a);
    if (!a) {
        close(fd);
        return;
    }
    a->fd = fd;
    char text[RESOLVER_TEXT_MAX];
    resolver_address_text(address, text);
    /* An IPv4 client of a socket for both families. */
    bool is_mapped = strncmp(text, "[::ffff:", 8) == 0 && strchr(text, '.');
    if (is_mapped) {
        char *bracket = strchr(text, ']');
        snprintf(a->peer, sizeof a->peer, "%.*s%s", (int)(bracket - text - 8), text + 8,
                 bracket + 1);
    } else {
        snprintf(a->peer, sizeof a->peer, "%s", text);
    }
    if (!ip_enter(n, a->peer)) {
        close(fd);
        free(a);
        return;
    }
    struct network_loop *l = &n->loops[n->next++ % n->loops_count];
    pthread_mutex_lock(&l->lock);
    a->next = l->arrivals;
    l->arrivals = a;
    pthread_mutex_unlock(&l->lock);
    thread_loop_post(l->thread, &l->arrivals_item);
}

static bool is_about_one(int error)
{
    return error == ECONNABORTED || error == EINTR || error == EPROTO || error == EPERM;
}

static void on_acceptable(evutil_socket_t listener, short what, void *arg)
{
    (void)what;
    struct network *n = arg;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        union resolver_address address;
        socklen_t len = sizeof address;
        int fd = accept4(listener, &address.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && errno == EAGAIN)
            return;
        if (fd < 0 && is_about_one(errno))
            continue;
        if (fd < 0) {
            pause_accepting(n, errno);
            return;
        }
        set_buffers(n->options.config, fd);
        hand_over(n, fd, &address);
    }
}

/* ---- listening ---- */

static int listen_on(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* IPv6 first when no host is given: that socket takes both families. */
static int listen_on_any(const struct addrinfo *list, bool is_wildcard)
{
    int fd = -1;
    for (const struct addrinfo *a = list; is_wildcard && a && fd < 0; a = a->ai_next)
        if (a->ai_family == AF_INET6)
            fd = listen_on(a);
    for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
        fd = listen_on(a);
    return fd;
}

static bool network_listen(struct network *n, struct why *why)
{
    const struct config *config = n->options.config;
    char port[16];
    snprintf(port, sizeof port, "%" PRId64, config->port);
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    int error = getaddrinfo(config->host_name, port, &hints, &list);
    if (error) {
        why_set(why, "host.name=%s: %s", config->host_name ? config->host_name : "",
                gai_strerror(error));
        return false;
    }
    n->fd = listen_on_any(list, !config->host_name);
    freeaddrinfo(list);
    union resolver_address address;
    socklen_t len = sizeof address;
    if (n->fd < 0 || getsockname(n->fd, &address.any, &len)) {
        why_set(why, "cannot listen on %s:%s: %s",
                config->host_name ? config->host_name : "all addresses", port, strerror(errno));
        return false;
    }
    n->port = ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
    return true;
}

struct network *network_new(const struct network_options *options, struct why *why)
{
    struct network *n = calloc(1, sizeof *n);
    why_set(why, "out of memory");
    if (!n)
        return NULL;
    n->options = *options;
    n->fd = -1;
    pthread_mutex_init(&n->lock, NULL);
    pthread_cond_init(&n->stopped, NULL);
    loop_item_init(&n->resume_item, resume, n);
    if (!network_listen(n, why)) {
        network_free(n);
        return NULL;
    }
    why_set(why, "out of memory or descriptors");
    struct event_base *base = thread_loop_base(options->accept_loop);
    n->acceptable = event_new(base, n->fd, EV_READ | EV_PERSIST, on_acceptable, n);
    n->pause = evtimer_new(base, on_pause_end, n);
    size_t count = (size_t)options->config->num_network_threads;
    n->loops = calloc(count, sizeof *n->loops);
    bool ok = n->acceptable && n->pause && n->loops;
    while (ok && n->loops_count < count)
        ok = loop_init(&n->loops[n->loops_count++], n);
    if (!ok) {
        network_free(n);
        return NULL;
    }
    why_clear(why);
    return n;
}

bool network_start(struct network *n, struct why *why)
{
    for (size_t i = 0; i < n->loops_count; i++) {
        char name[16];
        snprintf(name, sizeof name, "network-%zu", i);
        arm_idle_timer(&n->loops[i]);
        if (!thread_loop_start(n->loops[i].thread, name)) {
            why_set(why, "no thread can be started: %s", strerror(errno));
            return false;
        }
    }
    n->is_accepting = true;
    event_add(n->acceptable, NULL);
    return true;
}

void network_stop(struct network *n)
{
    if (!n->is_accepting)
        return;
    n->is_accepting = false;
    event_del(n->acceptable);
    event_del(n->pause);
    close(n->fd);
    n->fd = -1;
    for (size_t i = 0; i < n->loops_count; i++)
        thread_loop_post(n->loops[i].thread, &n->loops[i].stop_item);
    pthread_mutex_lock(&n->lock);
    while (n->stopped_count < n->loops_count)
        pthread_cond_wait(&n->stopped, &n->lock);
    pthread_mutex_unlock(&n->lock);
    for (size_t i = 0; i < n->loops_count; i++) {
        thread_loop_leave(n->loops[i].thread);
        thread_loop_join(n->loops[i].thread);
    }
    thread_loop_cancel(n->options.accept_loop, &n->resume_item);
}

void network_free(struct network *n)
{
    if (!n)
        return;
    network_stop(n);
    for (size_t i = 0; i < n->loops_count; i++) {
        if (n->loops[i].thread) /* of a start that failed halfway */
            thread_loop_leave(n->loops[i].thread);
        if (n->loops[i].thread)
            thread_loop_join(n->loops[i].thread);
    }
    for (size_t i = 0; i < n->loops_count; i++)
        loop_deinit(&n->loops[i]);
    free(n->loops);
    if (n->acceptable)
        event_free(n->acceptable);
    if (n->pause)
        event_free(n->pause);
    if (n->fd >= 0)
        close(n->fd);
    pthread_mutex_destroy(&n->lock);
    pthread_cond_destroy(&n->stopped);
    free(n);
}
