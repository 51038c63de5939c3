/* What a session does when. The happy path: names are looked up, the client gets the addresses, an
 * attempt connects, the server's answer makes it CONNECTED; from then on each event of the socket
 * or timer lets the client work (pump) and asks it what it waits for next (settle).
 *
 * When anything fails the client has no socket any more: settle() finds that out after every call
 * and goes DOWN, from where the timer starts the next attempt after a backoff. */
#include "zkconsumer/core/zk/auth.h"
#include "zkconsumer/io/boot_clock.h"
#include "zkconsumer/io/zk_session_internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PACKETS_PER_TURN 64 /* then others have theirs */

/* Backoff: each server once, soon; then growing, up to a tenth of the session timeout, so that a
 * session lives through a restart of its servers. */
#define FIRST_ROUND_MS  10
#define BACKOFF_BASE_MS 50
#define BACKOFF_MIN_MS  100 /* of the longest backoff */
#define BACKOFF_MAX_MS  5000

/* A server that says nothing is left alone after the session timeout divided among the servers (the
 * client would wait for 2/3 of it, and a second silent one would cost the session), but twice as
 * long after each round without success: a busy server may need it. */
#define ATTEMPT_MIN_MS 200
#define ATTEMPT_MAX_MS 10000

/* A connection that is cut sooner than this counts for the backoff, or a server that always cuts
 * would be asked without pause; more of them count for more if nothing was answered on them. So
 * many in a row are worth a notice. */
#define LASTING_MS        1000
#define SHORT_CONNECTIONS 5

#define RESOLVE_INTERVAL_MS 5000
#define RESOLVE_PATIENCE_MS 100 /* for other names, once one is known */

/* The client doubles it, in an int; and waits for 2/3 of what it asks for, while it shakes hands.
 */
#define SESSION_TIMEOUT_MAX_MS 1000000000
#define SESSION_TIMEOUT_MIN_MS 200

int64_t zk_session_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Leaves a timer that rings sooner as it is: one look too many costs less than moving it with every
 * operation, each of which puts off the client's next ping. */
static void arm_at_latest(struct zk_session *s, int64_t delay_ms)
{
    if (zk_session_now_ms() + delay_ms < s->timer_due_ms)
        zk_session_arm(s, delay_ms);
}

void zk_session_arm(struct zk_session *s, int64_t delay_ms)
{
    struct timeval delay = {.tv_sec = delay_ms / 1000, .tv_usec = delay_ms % 1000 * 1000};
    s->timer_due_ms = zk_session_now_ms() + delay_ms;
    event_add(&s->timer, &delay);
}

static void disarm(struct zk_session *s)
{
    s->timer_due_ms = INT64_MAX;
    event_del(&s->timer);
}

void zk_session_kick(struct zk_session *s)
{
    event_active(&s->kick, EV_TIMEOUT, 1);
}

void zk_session_log(struct zk_session *s, int level, const char *cause, const char *fmt, ...)
{
    char text[512];
    va_list args;

    if (!s->on_log)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    s->on_log(level, cause, text, s->user);
}

static void on_client_line(int level, const char *cause, const char *text, void *user)
{
    struct zk_session *s = user;
    if (s->on_log)
        s->on_log(level, cause, text, s->user);
}

/* ---- telling ---- */

static void tell(struct zk_session *s, const struct zk_session_event *event)
{
    if (s->is_closing)
        return;
    s->calling++;
    s->on_event(event, s->user);
    s->calling--;
}

static void tell_type(struct zk_session *s, enum zk_session_event_type type)
{
    tell(s, &(struct zk_session_event){.type = type, .session_id = s->id});
}

static void tell_connected(struct zk_session *s)
{
    struct zk_session_event event = {.type = ZK_SESSION_EVENT_CONNECTED,
                                     .session_id = zoo_client_id(s->client.zh)->client_id,
                                     .timeout_ms = zoo_recv_timeout(s->client.zh),
                                     .connect_sent_ms = s->attempted_ms,
                                     .server = s->client.server};

    event.is_new = !s->has_session || event.session_id != s->id;
    s->id = event.session_id;
    s->has_session = true;
    if (event.is_new && event.timeout_ms != s->timeout_ms)
        zk_session_log(s, 4, "session timeout",
                       "asked for a session timeout of %" PRId32 " ms, the server grants %" PRId32
                       " ms (its minSessionTimeout and maxSessionTimeout)",
                       s->timeout_ms, event.timeout_ms);
    tell(s, &event);
}

/* What is wrong, for people: which server, why, since when. */
static void notice_unreachable(struct zk_session *s)
{
    int64_t now = zk_session_now_ms();
    bool is_first = s->noticed_at_ms == INT64_MIN;
    struct buf text;

    if (!is_first && now - s->noticed_at_ms < ZK_SESSION_NOTICE_MS)
        return;
    s->noticed_at_ms = now;
    buf_init(&text, 4096);
    buf_append_text(&text, "cannot reach ZooKeeper at ");
    zk_servers_format(&s->servers, &text);
    if (zk_servers_address_count(&s->servers) == 0) {
        buf_append_text(&text, ": ");
        zk_servers_format_errors(&s->servers, &text);
    } else if (s->failure) {
        buf_appendf(&text, ": %s", s->failure);
    }
    const char *reason = buf_text(&text);
    bool is_news = told_is_news(&s->unreachable, told_hash(reason ? reason : ""));
    if (!is_first)
        buf_appendf(&text, "; for %" PRId64 " s now", (now - s->failing_since_ms) / 1000);
    tell(s, &(struct zk_session_event){.type = ZK_SESSION_EVENT_UNREACHABLE,
                                       .is_news = is_news,
                                       .text = buf_text(&text) ? buf_text(&text)
                                                               : "cannot reach ZooKeeper"});
    buf_deinit(&text);
}

/* ---- what the client calls ---- */

static void on_client_state(struct zk_session *s, int state)
{
    if (state == ZOO_CONNECTED_STATE) {
        s->link = ZK_LINK_CONNECTED;
        s->failures = 0;
        s->has_answered = false;
        s->connected_at_ms = zk_session_now_ms();
        tell_connected(s);
    } else if (state == ZOO_EXPIRED_SESSION_STATE) {
        s->is_expired = true;
    } else if (state == ZOO_AUTH_FAILED_STATE) {
        s->link = ZK_LINK_LOST;
        s->is_refused = true;
    } else if (s->link == ZK_LINK_CONNECTED) {
        s->link = ZK_LINK_LOST;
        tell_type(s, ZK_SESSION_EVENT_SUSPENDED);
    }
}

static void fired(struct zk_session *s, int type, const char *path)
{
    if (type == ZK_EVENT_DELETED || type == ZK_EVENT_CHILDREN_CHANGED)
        zk_watch_set_remove(&s->watches, ZK_WATCH_CHILDREN, path);
    if (type != ZK_EVENT_CHILDREN_CHANGED)
        zk_watch_set_remove(&s->watches, ZK_WATCH_NODE, path);
}

void zk_session_on_client_event(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    struct zk_session *s = context;
    struct zk_watch_event event = {.type = (enum zk_event_type)type};

    (void)zh;
    if (s->is_closing)
        return;
    if (type == ZOO_SESSION_EVENT) {
        on_client_state(s, state);
        return;
    }
    fired(s, type, path);
    event.path = zk_request_strip(s, path);
    if (type < ZK_EVENT_CREATED || type > ZK_EVENT_CHILDREN_CHANGED || !event.path)
        return;
    s->calling++;
    s->on_watch(&event, s->user);
    s->calling--;
}

/* ---- up and down ---- */

static int64_t session_timeout_ms(const struct zk_session *s)
{
    return s->client.zh ? zoo_recv_timeout(s->client.zh) : s->timeout_ms;
}

/* How often all servers were tried in vain. */
static unsigned failed_rounds(const struct zk_session *s)
{
    size_t count = zk_servers_address_count(&s->servers);
    return s->failures / (count ? (unsigned)count : 1);
}

static int64_t backoff_ms(struct zk_session *s)
{
    int64_t longest = session_timeout_ms(s) / 10;
    unsigned rounds = failed_rounds(s) + s->short_connections;

    if (rounds == 0)
        return rng_backoff_ms(&s->rng, 0, FIRST_ROUND_MS, FIRST_ROUND_MS);
    if (longest < BACKOFF_MIN_MS)
        longest = BACKOFF_MIN_MS;
    if (longest > BACKOFF_MAX_MS)
        longest = BACKOFF_MAX_MS;
    return rng_backoff_ms(&s->rng, rounds - 1, BACKOFF_BASE_MS, longest);
}

static int64_t attempt_ms(const struct zk_session *s)
{
    int64_t share = session_timeout_ms(s) / ((int64_t)zk_servers_address_count(&s->servers) + 1);
    unsigned doublings = failed_rounds(s) < 6 ? failed_rounds(s) : 6;

    if (share < ATTEMPT_MIN_MS)
        share = ATTEMPT_MIN_MS;
    share <<= doublings;
    return share < ATTEMPT_MAX_MS ? share : ATTEMPT_MAX_MS;
}

static void set_failure(struct zk_session *s, const char *fmt, ...) ZKC_PRINTF(2, 3);
static void set_failure(struct zk_session *s, const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    free(s->failure);
    s->failure = strdup(text);
}

static void arm_next_attempt(struct zk_session *s)
{
    s->link = ZK_LINK_DOWN;
    disarm(s);
    zk_session_arm(s, backoff_ms(s));
}

static void attempt_failed(struct zk_session *s)
{
    int64_t now = zk_session_now_ms();

    if (s->failures++ == 0 && s->short_connections == 0)
        s->failing_since_ms = now;
    arm_next_attempt(s);
    if (s->failures < zk_servers_address_count(&s->servers))
        return;
    if (now - s->resolved_at_ms >= RESOLVE_INTERVAL_MS) {
        s->resolved_at_ms = now;
        zk_servers_resolve(&s->servers);
    }
    notice_unreachable(s);
}

static void renew(struct zk_session *s);

static void give_up_session(struct zk_session *s)
{
    zk_session_log(
        s, 3, "watches",
        "%s cuts each connection at the %zu watches that are set again, %zu bytes in one "
        "packet (its jute.maxbuffer, of which zookeeper.jute.maxbuffer should tell): the session "
        "0x%" PRIx64 " is given up, and a new one begun. Its nodes stay until the server ends it",
        s->client.server, s->watches.count, s->watches.bytes, (uint64_t)s->id);
    renew(s);
}

static void connection_ended(struct zk_session *s)
{
    int64_t now = zk_session_now_ms();

    if (now - s->connected_at_ms >= LASTING_MS) {
        s->short_connections = 0;
        s->noticed_at_ms = INT64_MIN;
        told_over(&s->unreachable);
        arm_next_attempt(s);
        return;
    }
    if (s->short_connections == 0)
        s->failing_since_ms = now;
    s->short_connections = s->has_answered ? 1 : s->short_connections + 1;
    if (zk_watch_set_is_refused(&s->watches, s->short_connections, s->request_bytes_max)) {
        give_up_session(s);
        return;
    }
    set_failure(s, "%s cuts the connection soon after it has taken us on", s->client.server);
    arm_next_attempt(s);
    if (s->short_connections >= SHORT_CONNECTIONS)
        notice_unreachable(s);
}

static void go_down(struct zk_session *s)
{
    enum zk_link was = s->link;

    s->link = ZK_LINK_DOWN;
    if (was == ZK_LINK_CONNECTED) /* the client closed its socket in a send, and told nobody */
        tell_type(s, ZK_SESSION_EVENT_SUSPENDED);
    if (s->client.is_stale)
        zk_client_reset(&s->client);
    if (s->is_closing)
        return;
    if (was == ZK_LINK_CONNECTING)
        attempt_failed(s);
    else
        connection_ended(s);
}

static void renew(struct zk_session *s)
{
    zk_client_close(&s->client);
    zk_watch_set_deinit(&s->watches);
    s->is_expired = false;
    s->has_session = false;
    s->failures = 0;
    s->short_connections = s->short_connections ? 1 : 0;
    arm_next_attempt(s);
    tell_type(s, ZK_SESSION_EVENT_EXPIRED);
}

static void refuse(struct zk_session *s)
{
    char scheme[ZK_AUTH_SCHEME_SIZE] = "", text[256];
    struct bytes auth;
    bool is_named = s->auth && zk_auth_split(s->auth, scheme, &auth);

    disarm(s);
    s->is_refused = false;
    s->link = ZK_LINK_REFUSED;
    snprintf(text, sizeof text,
             "ZooKeeper at %s refuses the credentials: %s%s is no scheme that it takes them of; "
             "correct them (" ZK_AUTH_FORM "), then start again",
             s->client.server, scheme, is_named ? "" : "theirs");
    tell(s, &(struct zk_session_event){
                .type = ZK_SESSION_EVENT_AUTH_FAILED, .session_id = s->id, .text = text});
}

/* The failure of the attempt under way, if it is one, while it can still be told what it was. */
static void explain_failure(struct zk_session *s, bool was_connected)
{
    const char *server = s->client.server;
    int failure = s->client.failure;

    if (s->link != ZK_LINK_CONNECTING || zk_client_has_socket(&s->client) || s->is_expired)
        return;
    if (was_connected || failure == ECONNRESET || failure == EPIPE)
        set_failure(s,
                    "%s takes the connection and cuts it at once: its limit of connections per "
                    "client address is reached (limit on the server: maxClientCnxns), or it is not "
                    "serving (starting, or without a quorum)",
                    server);
    else
        set_failure(s, "%s: %s", server, failure ? strerror(failure) : "connection failed");
}

static bool is_answering(const struct zk_session *s)
{
    return s->client.zh && zoo_state(s->client.zh) == ZOO_ASSOCIATING_STATE;
}

static void pump(struct zk_session *s, short events)
{
    bool was_answering, goes_on = true;

    for (int i = 0; i < PACKETS_PER_TURN && goes_on && !s->is_closing; i++) {
        was_answering = is_answering(s);
        goes_on = zk_client_process(&s->client, events);
        explain_failure(s, was_answering);
        events = EV_READ;
    }
}

/* After everything that lets the client work: what came of it, and what does it wait for? There it
 * judges the server's silence, so what came while the loop was busy elsewhere is read before. */
static void settle(struct zk_session *s)
{
    int64_t wait_ms, now = zk_session_now_ms();
    bool is_up;

    if (now - s->settled_at_ms >= session_timeout_ms(s) / 4)
        pump(s, EV_READ);
    s->settled_at_ms = now;
    is_up = zk_client_wait(&s->client, &wait_ms);
    if (s->is_closing)
        return; /* the kick event goes on with that */
    if (s->is_expired) {
        renew(s);
    } else if (s->is_refused) {
        refuse(s);
    } else if (!is_up) {
        go_down(s);
    } else {
        if (s->link == ZK_LINK_CONNECTING) {
            int64_t left_ms = s->attempt_until_ms - now;
            if (left_ms < wait_ms)
                wait_ms = left_ms > 0 ? left_ms : 0;
        }
        arm_at_latest(s, wait_ms);
    }
}

/* ---- attempts ---- */

static bool open_client(struct zk_session *s)
{
    char *list = zk_servers_list(&s->servers, &s->rng);
    bool is_open =
        list && zk_client_open(&s->client, list, s->timeout_ms, zk_session_on_client_event, s);
    free(list);
    char scheme[ZK_AUTH_SCHEME_SIZE];
    struct bytes auth;
    if (is_open && s->auth && zk_auth_split(s->auth, scheme, &auth))
        zoo_add_auth(s->client.zh, scheme, (const char *)auth.data, (int)auth.len, NULL,
                     NULL); /* sent with every connection from now on */
    return is_open;
}

static void renew_servers(struct zk_session *s)
{
    char *list = zk_servers_list(&s->servers, &s->rng);
    if (list)
        zk_client_set_servers(&s->client, list);
    free(list);
}

static void attempt(struct zk_session *s)
{
    if (!zk_client_is_open(&s->client)) {
        if (!open_client(s)) {
            attempt_failed(s);
            return;
        }
    } else if (s->servers.is_changed) {
        renew_servers(s);
    }
    s->link = ZK_LINK_CONNECTING;
    s->attempt_until_ms = zk_session_now_ms() + attempt_ms(s);
    s->attempted_ms = boot_clock_ms();
    zk_client_connect(&s->client);
    explain_failure(s, false);
    settle(s);
}

static void give_up(struct zk_session *s)
{
    bool was_answering = is_answering(s);

    zk_client_break(&s->client);
    set_failure(s, "%s: %s within %" PRId64 " ms", s->client.server,
                was_answering ? "took the connection, but no answer" : "no answer", attempt_ms(s));
}

/* ---- events ---- */

static void on_io(short events, void *user)
{
    struct zk_session *s = user;

    if (s->link == ZK_LINK_DRAINING || s->link == ZK_LINK_CONFIRMING) {
        zk_session_close_io(s);
        return;
    }
    pump(s, events);
    settle(s);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct zk_session *s = arg;

    (void)fd;
    (void)what;
    s->timer_due_ms = INT64_MAX;
    switch (s->link) {
    case ZK_LINK_DOWN: attempt(s); break;
    case ZK_LINK_DRAINING:
    case ZK_LINK_CONFIRMING: zk_session_finish(s, false); break;
    case ZK_LINK_CONNECTING:
        if (zk_session_now_ms() >= s->attempt_until_ms)
            give_up(s);
        settle(s);
        break;
    case ZK_LINK_CONNECTED: settle(s); break;
    case ZK_LINK_LOST:
    case ZK_LINK_REFUSED: break;
    }
}

static void on_kick(evutil_socket_t fd, short what, void *arg)
{
    struct zk_session *s = arg;

    (void)fd;
    (void)what;
    zk_client_flush(&s->client);
    if (!s->is_closing && (s->link == ZK_LINK_CONNECTING || s->link == ZK_LINK_CONNECTED))
        settle(s);
    zk_request_answer_refused(s);
    if (s->is_closing && s->link != ZK_LINK_DRAINING && s->link != ZK_LINK_CONFIRMING)
        zk_session_close_begin(s);
}

/* An address is known, or there is none to be had. */
static void on_servers(void *user)
{
    struct zk_session *s = user;
    bool is_resolving = zk_servers_is_resolving(&s->servers);

    for (size_t i = 0; !is_resolving && i < s->servers.count; i++)
        if (s->servers.servers[i].error)
            zk_session_log(s, 4, s->servers.servers[i].host.name, "zookeeper.connect: %s: %s",
                           s->servers.servers[i].host.name, s->servers.servers[i].error);
    if (s->is_closing || s->link != ZK_LINK_DOWN || zk_client_is_open(&s->client))
        return;
    if (!is_resolving)
        zk_session_arm(s, 0);
    else if (zk_servers_address_count(&s->servers) > 0)
        arm_at_latest(s, RESOLVE_PATIENCE_MS);
}

/* ---- life ---- */

static bool copy_config(struct zk_session *s, const struct zk_session_config *config)
{
    int64_t timeout_ms = config->session_timeout_ms;

    if (timeout_ms < SESSION_TIMEOUT_MIN_MS)
        timeout_ms = SESSION_TIMEOUT_MIN_MS;
    if (timeout_ms > SESSION_TIMEOUT_MAX_MS)
        timeout_ms = SESSION_TIMEOUT_MAX_MS;
    s->timeout_ms = (int32_t)timeout_ms;
    s->request_bytes_max = config->packet_bytes > 2 * ZK_REQUEST_BYTES_SPARE
                               ? config->packet_bytes - ZK_REQUEST_BYTES_SPARE
                               : ZK_REQUEST_BYTES_MAX;
    s->on_event = config->on_event;
    s->on_watch = config->on_watch;
    s->on_log = config->on_log;
    s->user = config->user;
    rng_init(&s->rng, config->seed);
    char scheme[ZK_AUTH_SCHEME_SIZE];
    struct bytes auth;
    if (config->auth && !zk_auth_split(config->auth, scheme, &auth))
        return false;
    s->auth = config->auth ? strdup(config->auth) : NULL;
    s->private_path = config->private_path ? strdup(config->private_path) : NULL;
    return (s->auth || !config->auth) && (s->private_path || !config->private_path);
}

static void session_free(struct zk_session *s)
{
    zk_servers_deinit(&s->servers);
    free(s->chroot);
    free(s->auth);
    free(s->private_path);
    zk_watch_set_deinit(&s->watches);
    free(s->failure);
    free(s);
}

struct zk_session *zk_session_new(const struct zk_session_config *config)
{
    struct zk_session *s = calloc(1, sizeof *s);
    struct zk_connect connect;
    struct why why;

    if (!s)
        return NULL;
    if (zk_connect_parse(config->connect, &connect, &why) != ZKC_OK) {
        free(s);
        return NULL;
    }
    s->chroot = connect.chroot;
    s->chroot_len = strlen(s->chroot);
    connect.chroot = NULL;
    bool has_servers = zk_servers_init_take(&s->servers, config->resolver, &connect, on_servers, s);
    zk_connect_deinit(&connect);
    if (!has_servers || !copy_config(s, config)) {
        session_free(s);
        return NULL;
    }
    zk_client_init(&s->client, config->base, on_io, on_client_line, s);
    event_assign(&s->timer, config->base, -1, 0, on_timer, s);
    event_assign(&s->kick, config->base, -1, 0, on_kick, s);
    s->timer_due_ms = INT64_MAX;
    s->noticed_at_ms = INT64_MIN;
    s->refused_tail = &s->refused;
    s->resolved_at_ms = zk_session_now_ms();
    zk_servers_resolve(&s->servers);
    if (!zk_servers_is_resolving(&s->servers))
        zk_session_arm(s, 0); /* no memory for it: the first attempt fails, and tries again */
    return s;
}

void zk_session_finish(struct zk_session *s, bool is_confirmed)
{
    zk_session_closed_fn *on_closed = s->on_closed;
    void *user = s->closed_user;
    bool is_released = is_confirmed || !s->has_session;

    disarm(s);
    zk_client_close(&s->client);
    assert(s->under_way == 0);
    while (s->refused)
        zk_request_answer_refused(s);
    event_del(&s->kick);
    session_free(s);
    if (on_closed)
        on_closed(is_released, user);
}

void zk_session_free(struct zk_session *s)
{
    if (!s)
        return;
    assert(s->calling == 0 && s->client.depth == 0);
    s->is_closing = true;
    zk_session_finish(s, false);
}

bool zk_session_is_connected(const struct zk_session *s)
{
    return s->link == ZK_LINK_CONNECTED && zk_client_has_socket(&s->client);
}

int64_t zk_session_id(const struct zk_session *s)
{
    return s->id;
}
