/* Whatever is told (watches that were lost, operations of a session that is given up) is told from
 * an item of the loop, never from inside of a call or of a session's callback: machines are not fed
 * while they are carried out, and a session is not freed in its own callback. */
#include "zkconsumer/consumer/watch_sessions.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/base/told.h"
#include "zkconsumer/core/zk/connect.h"
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TOLD_PER_TURN 256 /* then others have theirs */

/* A further session. */
struct further {
    struct watch_sessions *all;
    unsigned number;
    uint32_t generation; /* counts session objects: answers to an older one are nobody's */
    uint32_t life;       /* for which `session` was opened (watch_spread_life) */
    int32_t timeout_ms;  /* as granted */
    struct zk_session *session;
};

struct watch_sessions {
    struct watch_sessions_config config;
    char *connect, *auth; /* owned */
    struct rng rng;
    struct watch_spread *spread;
    struct further further[1 + WATCH_SESSIONS_MAX]; /* from 1 on */
    struct event *timer;
    struct loop_item tell;
    bool is_closing;     /* operations get ZK_CLOSING */
    struct told refused; /* that no further session can be had */
};

/* ---- birth and death ---- */

static void run_tell(void *arg);
static void on_timer(evutil_socket_t fd, short what, void *arg);

static struct watch_spread *new_spread(const struct watch_sessions_config *c)
{
    struct zk_connect connect;
    struct why why;
    if (zk_connect_parse(c->connect, &connect, &why) != ZKC_OK)
        return NULL;
    struct watch_spread_config config = {.packet_bytes = (size_t)c->jute_maxbuffer,
                                         .chroot_bytes = strlen(connect.chroot),
                                         .sessions_max = (unsigned)c->sessions_max,
                                         .look_again_ms = WATCH_LOOK_AGAIN_MS};
    zk_connect_deinit(&connect);
    return watch_spread_new(&config);
}

struct watch_sessions *watch_sessions_new(const struct watch_sessions_config *config)
{
    struct watch_sessions *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->config = *config;
    w->config.connect = w->connect = strdup(config->connect);
    w->config.auth = w->auth = config->auth ? strdup(config->auth) : NULL;
    bool is_copied = w->connect && (w->auth || !config->auth);
    rng_init(&w->rng, config->seed);
    loop_item_init(&w->tell, run_tell, w);
    for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++)
        w->further[k] = (struct further){.all = w, .number = k};
    w->spread = is_copied ? new_spread(config) : NULL;
    w->timer = evtimer_new(loop_base(config->loop), on_timer, w);
    if (!w->spread || !w->timer) {
        watch_sessions_free(w);
        return NULL;
    }
    return w;
}

static void close_further(struct further *f)
{
    struct zk_session *session = f->session;
    f->session = NULL;
    f->generation++;
    zk_session_free(session); /* nothing in ZooKeeper is its own: the server's timeout will do */
}

void watch_sessions_free(struct watch_sessions *w)
{
    if (!w)
        return;
    w->is_closing = true;
    for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++)
        close_further(&w->further[k]);
    loop_cancel(w->config.loop, &w->tell);
    if (w->timer)
        event_free(w->timer);
    watch_spread_free(w->spread);
    free(w->connect);
    free(w->auth);
    free(w);
}

/* ---- what the spread asks for ---- */

static void on_event(const struct zk_session_event *event, void *user);
static void on_watch(const struct zk_watch_event *event, void *user);

static void on_log(int level, const char *cause, const char *text, void *user)
{
    const struct further *f = user;
    const struct watch_sessions *w = f->all;
    char line[600];
    snprintf(line, sizeof line, "watch session %u: %s", f->number, text);
    w->config.on_log(level, cause, line, w->config.user);
}

static void log_counts(struct watch_sessions *w, const char *what)
{
    struct watch_spread_counts n = watch_spread_counts(w->spread);
    char line[300];
    snprintf(line, sizeof line,
             "%s: %zu watches, of which the member's session carries %zu bytes of paths "
             "(zookeeper.jute.maxbuffer = %d), %zu are not watched for now",
             what, n.watches, n.bytes, w->config.jute_maxbuffer, n.unwatched);
    w->config.on_log(6, what, line, w->config.user);
}

/* Nobody wants its session, or another in its stead. */
static bool is_outlived(const struct further *f)
{
    const struct watch_spread *s = f->all->spread;
    return f->session && (watch_spread_state(s, f->number) == WATCH_SESSION_NONE ||
                          watch_spread_life(s, f->number) != f->life);
}

static void open_further(struct watch_sessions *w, struct further *f)
{
    struct zk_session_config config = {
        .base = loop_base(w->config.loop),
        .resolver = loop_resolver(w->config.loop),
        .connect = w->config.connect,
        .auth = w->config.auth,
        .session_timeout_ms = w->config.session_timeout_ms,
        .packet_bytes = (size_t)w->config.jute_maxbuffer,
        .seed = rng_next(&w->rng),
        .on_event = on_event,
        .on_watch = on_watch,
        .on_log = on_log,
        .user = f,
    };
    f->timeout_ms = w->config.session_timeout_ms;
    f->life = watch_spread_life(w->spread, f->number);
    f->session = config.resolver ? zk_session_new(&config) : NULL;
    if (f->session)
        log_counts(w, "a further session for watches is opened");
    else
        watch_spread_over(w->spread, f->number, true, loop_now_ms()); /* out of memory */
}

static void arm(struct watch_sessions *w)
{
    int64_t at_ms = watch_spread_deadline_ms(w->spread), now_ms = loop_now_ms();
    int64_t ms = at_ms > now_ms ? at_ms - now_ms : 0;
    struct timeval tv = {ms / 1000, (ms % 1000) * 1000};
    if (at_ms == INT64_MAX)
        event_del(w->timer);
    else
        event_add(w->timer, &tv);
}

static void tell_refused(struct watch_sessions *w, const char *why)
{
    struct watch_spread_counts n = watch_spread_counts(w->spread);
    char text[900];
    why = why ? why : "unknown";
    snprintf(text, sizeof text,
             "a further session for watches cannot be had: %s. %zu paths are not watched, but read "
             "again every %d s, until it can (their watches do not fit into one packet of the "
             "server, zookeeper.jute.maxbuffer = %d)",
             why, n.unwatched, WATCH_LOOK_AGAIN_MS / 1000, w->config.jute_maxbuffer);
    w->config.on_notice(told_is_news(&w->refused, told_hash(why)), text, w->config.user);
}

/* After every call that changes what is wanted. */
static void settle(struct watch_sessions *w)
{
    bool must_tell = watch_spread_has_lost(w->spread);
    for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++) {
        struct further *f = &w->further[k];
        if (watch_spread_state(w->spread, k) == WATCH_SESSION_OPENING && !f->session)
            open_further(w, f);
        must_tell |= is_outlived(f);
    }
    if (watch_spread_take_overdue(w->spread))
        tell_refused(w, "nothing has answered for so long");
    if (must_tell)
        loop_post(w->config.loop, &w->tell);
    arm(w);
}

static void run_tell(void *arg)
{
    struct watch_sessions *w = arg;
    struct zk_watch_event event;
    for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++)
        if (is_outlived(&w->further[k])) {
            log_counts(w, "a further session for watches is closed");
            close_further(&w->further[k]);
        }
    for (unsigned i = 0; i < TOLD_PER_TURN && watch_spread_take_lost(w->spread, &event); i++)
        w->config.on_watch(&event, w->config.user);
    settle(w);
}

static void run(struct watch_sessions *w)
{
    watch_spread_run(w->spread, loop_now_ms());
    settle(w);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    run(arg);
}

/* ---- the further sessions ---- */

/* Of operations that are sent for what they do to others. */
static void on_noticed(const struct zk_result *result, void *user)
{
    (void)result;
    (void)user;
}

/* Says something: an answer shows that the server has taken the watches that the client has left
 * again in front of it. A session that is silent by nature looks like one that is cut for them. */
static void say_something(struct further *f)
{
    const struct zk_op op = {.type = ZK_OP_EXISTS, .path = "/"};
    zk_session_send(f->session, &op, on_noticed, NULL);
}

static void on_event(const struct zk_session_event *event, void *user)
{
    struct further *f = user;
    struct watch_sessions *w = f->all;
    int64_t now_ms = loop_now_ms();
    if (is_outlived(f))
        return; /* it is being closed */
    bool was_up = watch_spread_state(w->spread, f->number) != WATCH_SESSION_OPENING;
    switch (event->type) {
    case ZK_SESSION_EVENT_CONNECTED:
        f->timeout_ms = event->timeout_ms;
        say_something(f);
        told_over(&w->refused);
        watch_spread_connected(w->spread, f->number, now_ms);
        break;
    case ZK_SESSION_EVENT_SUSPENDED:
        watch_spread_away(w->spread, f->number, now_ms, f->timeout_ms / 3);
        break;
    case ZK_SESSION_EVENT_EXPIRED: watch_spread_over(w->spread, f->number, false, now_ms); break;
    case ZK_SESSION_EVENT_AUTH_FAILED:
    case ZK_SESSION_EVENT_UNREACHABLE:
        if (was_up) /* it may come back; its deadline runs */
            break;
        watch_spread_over(w->spread, f->number, true, now_ms);
        tell_refused(w, event->text);
        break;
    }
    settle(w);
}

static void on_watch(const struct zk_watch_event *event, void *user)
{
    struct further *f = user;
    struct watch_sessions *w = f->all;
    if (!is_outlived(f) && watch_spread_fired(w->spread, f->number, event))
        w->config.on_watch(event, w->config.user);
    run(w);
}

/* ---- operations ---- */

static void on_result(const struct zk_result *result, void *user)
{
    static const struct zk_result lost = {.zk_rc = ZK_CONNECTION_LOSS};
    const struct watch_ask *a = user;
    const struct zk_op op = {.type = a->type, .path = a->path, .watch = true};
    struct watch_sessions *w = a->all;
    bool counts = true;
    bool is_own = a->place.session == 0;
    if (is_own || a->generation == w->further[a->place.session].generation)
        counts = watch_spread_answered(w->spread, &a->place, &op, result->zk_rc, result->zxid);
    if (watch_spread_has_lost(w->spread) && !w->is_closing)
        loop_post(w->config.loop, &w->tell);
    bool is_given_up = !is_own && result->zk_rc == ZK_CLOSING && !w->is_closing;
    /* A session that has ended is not the member's. */
    bool is_over =
        !is_own && (result->zk_rc == ZK_SESSION_EXPIRED || result->zk_rc == ZK_AUTH_FAILED);
    a->fn(is_given_up || is_over || !counts ? &lost : result, a->user);
}

void watch_sessions_send(struct watch_sessions *w, struct zk_session *own, const struct zk_op *op,
                         struct watch_ask *ask, zk_result_fn *fn, void *user)
{
    if (!op->watch) {
        zk_session_send(own, op, fn, user);
        return;
    }
    ask->all = w;
    ask->fn = fn;
    ask->user = user;
    ask->place = watch_spread_place(w->spread, op, loop_now_ms());
    ask->type = op->type;
    struct zk_op sent = *op;
    sent.watch = ask->place.watch;
    struct further *f = &w->further[ask->place.session];
    struct zk_session *session = ask->place.session ? f->session : own;
    ask->generation = f->generation;
    if (ask->place.sync_first) {
        struct zk_op sync = {.type = ZK_OP_SYNC, .path = "/"};
        zk_session_send(session, &sync, on_noticed, NULL);
    }
    zk_session_send(session, &sent, on_result, ask);
    settle(w);
}

void watch_sessions_seen(struct watch_sessions *w, const struct zk_result *result)
{
    watch_spread_seen(w->spread, 0, result->zxid);
}

void watch_sessions_fired(struct watch_sessions *w, const struct zk_watch_event *event)
{
    if (event->type == ZK_EVENT_WATCH_LOST)
        return;
    watch_spread_fired(w->spread, 0, event);
    run(w);
}

void watch_sessions_own_is_over(struct watch_sessions *w)
{
    watch_spread_over(w->spread, 0, false, loop_now_ms());
    arm(w);
}

void watch_sessions_rest(struct watch_sessions *w)
{
    watch_spread_rest(w->spread);
    settle(w);
}

struct watch_spread_counts watch_sessions_counts(const struct watch_sessions *w)
{
    return watch_spread_counts(w->spread);
}
