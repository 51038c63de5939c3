#include "zkconsumer/cli/metrics_server.h"
#include "zkconsumer/cli/clock.h"
#include "zkconsumer/cli/metrics_cluster.h"
#include "zkconsumer/cli/metrics_merge.h"
#include "zkconsumer/cli/options.h"
#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAGE_BYTES_MAX    ((size_t)64 << 20)
#define REQUEST_SECONDS   10
#define HEADERS_BYTES_MAX 16384
#define BODY_BYTES_MAX    65536 /* of requests that are refused for their method */
#define ANSWERS_BYTES_MAX ((size_t)64 << 20)

/* What pages are made of is not changed but replaced, so that nobody formats under the lock, which
 * the consumer's callbacks take. `refs` are under it. */
struct document {
    unsigned refs;
    size_t len;
    char json[];
};

struct answers {
    unsigned refs;
    struct arena arena;
    struct metrics_cluster cluster; /* in it */
};

struct metrics_source {
    struct metrics_server *server;
    char *name, *connect, *auth; /* owned */

    /* Under the server's lock: */
    struct document *document; /* the latest; NULL: none yet */
    struct answers *answers;   /* of the cluster; NULL: not known */
    struct metrics_counters counters;
    int64_t stands_since_ms; /* -1: it does not */
};

struct metrics_server {
    struct event_base *base;
    struct evhttp *http;
    struct event *stop;
    int stop_fds[2];
    pthread_t thread;
    bool is_running;
    char url[128];
    pthread_t asker;                /* asks the clusters */
    bool is_asking;                 /* it runs */
    struct metrics_source *sources; /* owned */
    size_t source_count;

    pthread_mutex_t lock; /* of what follows, and of parts of the sources */
    pthread_cond_t look;  /* of the two below */
    bool is_looked_at;    /* since the clusters were last asked */
    bool is_stopping;
};

/* Under the lock, as the next; NULL is allowed. */
static void document_unref(struct document *d)
{
    if (d && --d->refs == 0)
        free(d);
}

static void answers_unref(struct answers *a)
{
    if (!a || --a->refs > 0)
        return;
    arena_deinit(&a->arena);
    free(a);
}

/* ---- on the asker's thread ---- */

static bool has_document(const struct metrics_server *s)
{
    size_t i = 0;
    while (i < s->source_count && !s->sources[i].document)
        i++;
    return i < s->source_count;
}

/* Waits until there is somebody to ask for. False: it is over. Under the lock. */
static bool wait_for_look(struct metrics_server *s, int64_t next_ms)
{
    while (!s->is_stopping) {
        int64_t left_ms = next_ms - clock_now_ms();
        struct timespec at;
        if (s->is_looked_at && left_ms <= 0 && has_document(s))
            return true;
        if (left_ms <= 0) {
            pthread_cond_wait(&s->look, &s->lock);
            continue;
        }
        clock_gettime(CLOCK_MONOTONIC, &at);
        int64_t ns = at.tv_nsec + left_ms % 1000 * 1000000;
        at.tv_sec += (time_t)(left_ms / 1000 + ns / 1000000000);
        at.tv_nsec = (long)(ns % 1000000000);
        pthread_cond_timedwait(&s->look, &s->lock, &at);
    }
    return false;
}

/* What could not be asked is not known any more. Under the lock, which is given up meanwhile. */
static void ask_once(struct metrics_source *s)
{
    struct document *d = s->document;
    if (!d)
        return;
    d->refs++;
    pthread_mutex_unlock(&s->server->lock);
    struct answers *answers = calloc(1, sizeof *answers);
    if (answers) {
        answers->refs = 1;
        arena_init(&answers->arena, ANSWERS_BYTES_MAX);
        metrics_cluster_ask(s->connect, s->auth, d->json, d->len, &answers->arena,
                            &answers->cluster);
    }
    pthread_mutex_lock(&s->server->lock);
    document_unref(d);
    answers_unref(s->answers);
    s->answers = answers;
}

static void *ask_on(void *user)
{
    struct metrics_server *s = user;
    int64_t next_ms = 0;
    pthread_mutex_lock(&s->lock);
    while (wait_for_look(s, next_ms)) {
        s->is_looked_at = false;
        for (size_t i = 0; i < s->source_count && !s->is_stopping; i++)
            ask_once(&s->sources[i]);
        next_ms = clock_now_ms() + METRICS_CLUSTER_INTERVAL_MS;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static void look(struct metrics_server *s)
{
    s->is_looked_at = true;
    pthread_cond_signal(&s->look);
}

/* ---- on the server's thread ---- */

static void make_page(struct metrics_source *s, struct buf *page)
{
    static const struct metrics_cluster unknown;
    struct metrics_server *server = s->server;
    pthread_mutex_lock(&server->lock);
    struct document *d = s->document;
    struct answers *answers = s->answers;
    struct metrics_counters counters = s->counters;
    if (d)
        d->refs++;
    if (answers)
        answers->refs++;
    look(server);
    pthread_mutex_unlock(&server->lock);
    metrics_append(d ? d->json : NULL, d ? d->len : 0, &counters,
                   answers ? &answers->cluster : &unknown, page);
    pthread_mutex_lock(&server->lock);
    document_unref(d);
    answers_unref(answers);
    pthread_mutex_unlock(&server->lock);
}

/* One page of all sources. */
static void make_merged(struct metrics_server *s, struct buf *page)
{
    struct buf *texts = calloc(s->source_count, sizeof *texts);
    struct metrics_page *pages = calloc(s->source_count, sizeof *pages);
    bool ok = texts && pages;
    for (size_t i = 0; ok && i < s->source_count; i++) {
        buf_init(&texts[i], PAGE_BYTES_MAX);
        make_page(&s->sources[i], &texts[i]);
        pages[i] = (struct metrics_page){buf_bytes(&texts[i]), s->sources[i].name};
        page->failed = page->failed ? page->failed : texts[i].failed;
    }
    if (ok)
        metrics_merge(pages, s->source_count, page);
    else
        page->failed = ZKC_ERR_NOMEM;
    for (size_t i = 0; texts && i < s->source_count; i++)
        buf_deinit(&texts[i]);
    free(texts);
    free(pages);
}

/* RFC 9110, 15.5.6. True: that was it. */
static bool refuse_method(struct evhttp_request *request)
{
    enum evhttp_cmd_type method = evhttp_request_get_command(request);
    if (method == EVHTTP_REQ_GET || method == EVHTTP_REQ_HEAD)
        return false;
    evhttp_add_header(evhttp_request_get_output_headers(request), "Allow", "GET, HEAD");
    evhttp_send_reply(request, HTTP_BADMETHOD, "Method Not Allowed", NULL);
    return true;
}

static void on_metrics(struct evhttp_request *request, void *user)
{
    struct metrics_server *s = user;
    struct buf page;
    if (refuse_method(request))
        return;
    buf_init(&page, PAGE_BYTES_MAX);
    if (s->source_count == 1)
        make_page(&s->sources[0], &page);
    else
        make_merged(s, &page);
    struct evbuffer *body = evbuffer_new();
    if (!body || page.failed || evbuffer_add(body, page.data, page.len) != 0) {
        evhttp_send_error(request, HTTP_INTERNAL, NULL);
    } else {
        evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                          METRICS_CONTENT_TYPE);
        evhttp_send_reply(request, HTTP_OK, "OK", body);
    }
    if (body)
        evbuffer_free(body);
    buf_deinit(&page);
}

static void on_other(struct evhttp_request *request, void *user)
{
    (void)user;
    evhttp_send_error(request, HTTP_NOTFOUND, "/metrics is here");
}

static void on_stop(evutil_socket_t fd, short what, void *user)
{
    (void)fd;
    (void)what;
    event_base_loopbreak(user);
}

static void *serve(void *user)
{
    event_base_dispatch(((struct metrics_server *)user)->base);
    return NULL;
}

/* ---- opening ---- */

/* "HOST:PORT" cut in two; an empty host stands for all addresses. */
static bool split(const char *address, char *host, size_t host_size, uint16_t *port)
{
    const char *colon = strrchr(address, ':');
    int64_t number;
    if (!colon || (size_t)(colon - address) >= host_size ||
        !cli_parse_number(colon + 1, 0, 65535, &number))
        return false;
    size_t len = (size_t)(colon - address);
    if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    }
    memcpy(host, address, len);
    host[len] = 0;
    *port = (uint16_t)number;
    return true;
}

static void name_url(struct metrics_server *s, int fd, const char *host)
{
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    uint16_t port = 0;
    if (getsockname(fd, (struct sockaddr *)&at, &size) == 0)
        port = ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                              : ((struct sockaddr_in *)&at)->sin_port);
    const char *shown = host[0] ? host : "localhost";
    snprintf(s->url, sizeof s->url,
             strchr(shown, ':') ? "http://[%s]:%d/metrics" : "http://%s:%d/metrics", shown, port);
}

static bool listen_at(struct metrics_server *s, const char *address, struct why *why)
{
    char host[64];
    uint16_t port;
    if (!split(address, host, sizeof host, &port)) {
        why_set(why, "\"%s\": expected HOST:PORT", address);
        return false;
    }
    struct evhttp_bound_socket *bound =
        evhttp_bind_socket_with_handle(s->http, host[0] ? host : "0.0.0.0", port);
    if (!bound) {
        why_set(why, "%s: %s", address, strerror(errno));
        return false;
    }
    int fd = evhttp_bound_socket_get_fd(bound);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    name_url(s, fd, host);
    evhttp_set_allowed_methods(s->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
                                            EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |
                                            EVHTTP_REQ_OPTIONS | EVHTTP_REQ_TRACE |
                                            EVHTTP_REQ_CONNECT | EVHTTP_REQ_PATCH);
    evhttp_set_timeout(s->http, REQUEST_SECONDS);
    evhttp_set_max_headers_size(s->http, HEADERS_BYTES_MAX);
    evhttp_set_max_body_size(s->http, BODY_BYTES_MAX);
    evhttp_set_cb(s->http, "/metrics", on_metrics, s);
    evhttp_set_gencb(s->http, on_other, s);
    return true;
}

/* Signals are the main thread's: these take none. */
static bool start_threads(struct metrics_server *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    s->is_asking = pthread_create(&s->asker, NULL, ask_on, s) == 0;
    s->is_running = s->is_asking && pthread_create(&s->thread, NULL, serve, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return s->is_running;
}

static bool init_condition(struct metrics_server *s)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool ok = pthread_cond_init(&s->look, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return ok;
}

static bool copy_source(struct metrics_source *s, const struct metrics_from *from)
{
    s->stands_since_ms = -1;
    s->name = strdup(from->name);
    s->connect = strdup(from->connect);
    s->auth = from->auth ? strdup(from->auth) : NULL;
    return s->name && s->connect && !s->auth == !from->auth;
}

static bool copy_sources(struct metrics_server *s, const struct metrics_from *from, size_t count)
{
    bool ok = (s->sources = calloc(count, sizeof *s->sources)) != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        s->source_count++;
        s->sources[i].server = s;
        ok = copy_source(&s->sources[i], &from[i]);
    }
    return ok;
}

bool metrics_server_open(const char *address, const struct metrics_from *from, size_t count,
                         struct metrics_server **out, struct why *why)
{
    struct metrics_server *s = calloc(1, sizeof *s);
    why_set(why, "no memory or no descriptors");
    if (!s || !init_condition(s)) {
        free(s);
        return false;
    }
    s->is_looked_at = true; /* the first page has it already */
    s->stop_fds[0] = s->stop_fds[1] = -1;
    s->base = event_base_new();
    s->http = s->base ? evhttp_new(s->base) : NULL;
    if (s->http && pipe2(s->stop_fds, O_CLOEXEC | O_NONBLOCK) == 0)
        s->stop = event_new(s->base, s->stop_fds[0], EV_READ, on_stop, s->base);
    if (s->stop && copy_sources(s, from, count) && event_add(s->stop, NULL) == 0 &&
        listen_at(s, address, why) && start_threads(s)) {
        *out = s;
        return true;
    }
    metrics_server_close(s);
    return false;
}

const char *metrics_server_url(const struct metrics_server *s)
{
    return s->url;
}

struct metrics_source *metrics_server_source(struct metrics_server *s, size_t i)
{
    return s ? &s->sources[i] : NULL;
}

void metrics_server_close(struct metrics_server *s)
{
    if (!s)
        return;
    if (s->is_running) {
        ssize_t written = write(s->stop_fds[1], "", 1);
        (void)written; /* the pipe is empty: it has room */
        pthread_join(s->thread, NULL);
    }
    if (s->is_asking) {
        pthread_mutex_lock(&s->lock);
        s->is_stopping = true;
        pthread_cond_signal(&s->look);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->asker, NULL);
    }
    if (s->stop)
        event_free(s->stop);
    if (s->http)
        evhttp_free(s->http);
    if (s->base)
        event_base_free(s->base);
    for (int i = 0; i < 2; i++)
        if (s->stop_fds[i] >= 0)
            close(s->stop_fds[i]);
    pthread_cond_destroy(&s->look);
    pthread_mutex_destroy(&s->lock);
    for (size_t i = 0; i < s->source_count; i++) {
        answers_unref(s->sources[i].answers);
        document_unref(s->sources[i].document);
        free(s->sources[i].name);
        free(s->sources[i].connect);
        free(s->sources[i].auth);
    }
    free(s->sources);
    free(s);
}

/* ---- from the consumer ---- */

void metrics_source_take_statistics(struct metrics_source *s, const char *json, size_t len)
{
    struct document *d = s ? malloc(sizeof *d + len) : NULL;
    if (!d)
        return; /* the numbers stay as they were */
    d->refs = 1;
    d->len = len;
    memcpy(d->json, json, len);
    pthread_mutex_lock(&s->server->lock);
    document_unref(s->document);
    s->document = d;
    if (s->server->is_looked_at)
        pthread_cond_signal(&s->server->look);
    pthread_mutex_unlock(&s->server->lock);
}

/* Only without any partition: what a safe member keeps flows on. */
static void stand(struct metrics_source *s)
{
    const struct metrics_counters *c = &s->counters;
    if (s->stands_since_ms < 0 && c->assigned <= c->revoked + c->lost)
        s->stands_since_ms = clock_now_ms();
}

static void go_on(struct metrics_source *s)
{
    if (s->stands_since_ms < 0)
        return;
    s->counters.standstills++;
    s->counters.standstill_ms += clock_now_ms() - s->stands_since_ms;
    s->stands_since_ms = -1;
}

void metrics_source_count_partitions(struct metrics_source *s, enum zkc_rebalance_kind kind,
                                     size_t count)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->server->lock);
    switch (kind) {
    case ZKC_REBALANCE_ASSIGN:
        s->counters.assigned += count;
        go_on(s);
        break;
    case ZKC_REBALANCE_REVOKE:
        s->counters.revoked += count;
        stand(s);
        break;
    case ZKC_REBALANCE_LOST:
        s->counters.lost += count;
        stand(s);
        break;
    }
    pthread_mutex_unlock(&s->server->lock);
}

void metrics_source_count_error(struct metrics_source *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->server->lock);
    s->counters.errors++;
    pthread_mutex_unlock(&s->server->lock);
}

void metrics_source_set_mirrored(struct metrics_source *s, uint64_t copied, uint64_t delivered,
                                 uint64_t refused)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->server->lock);
    s->counters.is_mirror = true;
    s->counters.copied = copied;
    s->counters.delivered = delivered;
    s->counters.refused = refused;
    pthread_mutex_unlock(&s->server->lock);
}
