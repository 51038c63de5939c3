#include "zkconsumer/cli/zk_reader.h"
#include "zkconsumer/cli/clock.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/zk/auth.h"
#include "zkconsumer/core/zk/connect.h"
#include "zkconsumer/io/resolver.h"
#include "zkconsumer/io/zk_session.h"
#include <assert.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

/* Nothing of ours is ephemeral: the timeout only says how soon a dead server is noticed. */
#define SESSION_TIMEOUT_MS 10000
#define CLOSE_MS           1000
/* Operations on their way at a time; a server answers these before it takes more from others. */
#define IN_FLIGHT_MAX    256
#define DELETE_TRIES_MAX 5
#define TREE_NODES_MAX   1000000

enum op_state { OP_WAITING, OP_SENT, OP_ANSWERED };

struct running {
    struct zk_reader *reader;
    enum op_state state;
};

struct zk_reader {
    struct event_base *base;
    struct event *deadline; /* ends the turn in which the time runs out */
    struct resolver *resolver;
    struct zk_session *session;
    char *connect; /* for messages */
    bool has_auth;
    bool allows_refusals, has_refusal;
    struct why refusal; /* the first one, if there is one */
    int64_t timeout_ms, deadline_ms;
    bool was_connected;
    bool is_changed; /* a watch has fired, or may have been missed */
    bool is_closed;
    enum zkc_err failed; /* final */
    struct why why;      /* of it */

    /* The batch. */
    struct running *running; /* owned; outlives answers that come after a failure */
    size_t count, next, in_flight, answered;
    const struct zk_op *ops;
    struct zk_result *results;
    struct arena *arena;
};

int64_t zk_reader_left_ms(const struct zk_reader *r)
{
    int64_t left = r->deadline_ms - clock_now_ms();
    return left > 0 ? left : 0;
}

static void fail(struct zk_reader *r, enum zkc_err err, const char *text)
{
    if (r->failed)
        return;
    r->failed = err;
    why_set(&r->why, "%s", text);
}

static void fail_late(struct zk_reader *r)
{
    char text[WHY_SIZE];
    snprintf(text, sizeof text, "ZooKeeper at %s did not %s within %" PRId64 " ms", r->connect,
             r->was_connected ? "answer everything" : "take us on", r->timeout_ms);
    fail(r, r->was_connected ? ZKC_ERR_TIMED_OUT : ZKC_ERR_UNREACHABLE, text);
}

static void on_event(const struct zk_session_event *event, void *user)
{
    struct zk_reader *r = user;
    switch (event->type) {
    case ZK_SESSION_EVENT_CONNECTED: r->was_connected = r->is_changed = true; break;
    case ZK_SESSION_EVENT_UNREACHABLE: fail(r, ZKC_ERR_UNREACHABLE, event->text); break;
    case ZK_SESSION_EVENT_AUTH_FAILED: fail(r, ZKC_ERR_ZOOKEEPER, event->text); break;
    case ZK_SESSION_EVENT_SUSPENDED:
    case ZK_SESSION_EVENT_EXPIRED: break; /* what was under way comes back and is sent again */
    }
}

static void on_watch(const struct zk_watch_event *event, void *user)
{
    (void)event; /* who watches reads everything again */
    ((struct zk_reader *)user)->is_changed = true;
}

/* One turn of the loop; gives up at the deadline. */
static void turn(struct zk_reader *r)
{
    event_base_loop(r->base, EVLOOP_ONCE);
    if (zk_reader_left_ms(r) == 0)
        fail_late(r);
}

static void on_deadline(evutil_socket_t fd, short what, void *user)
{
    (void)fd;
    (void)what;
    (void)user; /* turn() looks at the clock */
}

static bool start_clock(struct zk_reader *r, int64_t timeout_ms)
{
    struct timeval limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
    r->timeout_ms = timeout_ms;
    r->deadline_ms = clock_now_ms() + timeout_ms;
    r->deadline = evtimer_new(r->base, on_deadline, r);
    return r->deadline && evtimer_add(r->deadline, &limit) == 0;
}

bool zk_reader_extend(struct zk_reader *r, int64_t timeout_ms)
{
    event_free(r->deadline);
    return start_clock(r, timeout_ms);
}

static char *copy_text(struct arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_alloc(arena, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* A failure is the arena's. */
static void copy_result(struct arena *arena, const struct zk_result *from, struct zk_result *to)
{
    *to = *from;
    if (from->data.data) {
        uint8_t *data = arena_alloc(arena, from->data.len + 1);
        if (data)
            memcpy(data, from->data.data, from->data.len);
        to->data.data = data;
    }
    const char **children = arena_alloc_array(arena, from->children_count, sizeof *children);
    for (size_t i = 0; children && i < from->children_count; i++)
        children[i] = copy_text(arena, from->children[i]);
    to->children = children;
}

/* That a node cannot be read says nothing of what is in it: no command goes on with that. */
/* True: it is a result. */
static bool take_no_auth(struct zk_reader *r, const struct zk_op *op)
{
    struct why why;
    why_set(
        &why, "%s %s at %s: NoAuth: %s", zk_op_name(op->type), zk_op_path(op), r->connect,
        r->has_auth
            ? "it is not open to the credentials that were given"
            : "it is protected; give the credentials in the environment, " ZK_READER_AUTH_VARIABLE
              "=digest:user:password");
    if (!r->allows_refusals)
        fail(r, ZKC_ERR_ZOOKEEPER, why.text);
    else if (!r->has_refusal)
        r->refusal = why;
    r->has_refusal = r->allows_refusals;
    return r->allows_refusals;
}

void zk_reader_allow_refusals(struct zk_reader *r)
{
    r->allows_refusals = true;
}

const char *zk_reader_take_refusal(struct zk_reader *r)
{
    bool has_one = r->has_refusal;
    r->has_refusal = false;
    return has_one ? r->refusal.text : NULL;
}

static void on_result(const struct zk_result *result, void *user)
{
    struct running *running = user;
    struct zk_reader *r = running->reader;
    size_t i = (size_t)(running - r->running);
    assert(running->state == OP_SENT);
    r->in_flight--;
    if (r->failed)
        return;
    if (zk_rc_is_retriable(result->zk_rc)) {
        running->state = OP_WAITING;
        if (i < r->next)
            r->next = i;
        return; /* sent again by the next turn that finds a connection */
    }
    running->state = OP_ANSWERED;
    r->answered++;
    if (result->zk_rc == ZK_NO_AUTH && !take_no_auth(r, &r->ops[i]))
        return;
    copy_result(r->arena, result, &r->results[i]);
    if (r->arena->failed)
        fail(r, r->arena->failed, "the answers are too large");
}

static void pump(struct zk_reader *r)
{
    while (r->next < r->count && r->in_flight < IN_FLIGHT_MAX &&
           zk_session_is_connected(r->session)) {
        struct running *running = &r->running[r->next++];
        if (running->state != OP_WAITING)
            continue;
        running->state = OP_SENT;
        r->in_flight++;
        zk_session_send(r->session, &r->ops[running - r->running], on_result, running);
    }
}

enum zkc_err zk_reader_run(struct zk_reader *r, const struct zk_op *ops, size_t count,
                           struct arena *arena, struct zk_result *results, struct why *why)
{
    assert(r->in_flight == 0 && !r->failed);
    free(r->running);
    r->running = calloc(count + 1, sizeof *r->running);
    if (!r->running)
        fail(r, ZKC_ERR_NOMEM, "out of memory");
    for (size_t i = 0; r->running && i < count; i++)
        r->running[i].reader = r;
    r->count = count;
    r->next = r->answered = 0;
    r->ops = ops;
    r->results = results;
    r->arena = arena;
    while (!r->failed && r->answered < count) {
        pump(r);
        turn(r);
    }
    *why = r->why;
    return r->failed;
}

static void on_ready(evutil_socket_t fd, short what, void *user)
{
    (void)fd;
    (void)what;
    *(bool *)user = true;
}

enum zkc_err zk_reader_wait(struct zk_reader *r, int64_t ms, int fd, bool *changed, struct why *why)
{
    bool is_over = false;
    struct timeval limit = {ms / 1000, ms % 1000 * 1000};
    struct event *timer = evtimer_new(r->base, on_ready, &is_over);
    struct event *ready = fd < 0 ? NULL : event_new(r->base, fd, EV_READ, on_ready, &is_over);
    if (!timer || evtimer_add(timer, &limit) != 0 ||
        (fd >= 0 && (!ready || event_add(ready, NULL) != 0)))
        fail(r, ZKC_ERR_SYSTEM, "no timer to be had");
    while (!r->failed && !is_over && !r->is_changed)
        event_base_loop(r->base, EVLOOP_ONCE);
    if (timer)
        event_free(timer);
    if (ready)
        event_free(ready);
    *changed = r->is_changed;
    r->is_changed = false;
    *why = r->why;
    return r->failed;
}

static void on_closed(bool is_released, void *user)
{
    (void)is_released;
    ((struct zk_reader *)user)->is_closed = true;
}

void zk_reader_close(struct zk_reader *r)
{
    if (!r)
        return;
    if (r->session) {
        zk_session_close(r->session, CLOSE_MS, on_closed, r);
        while (!r->is_closed && event_base_loop(r->base, EVLOOP_ONCE) == 0)
            ;
    }
    if (r->deadline)
        event_free(r->deadline);
    if (r->base) {
        resolver_free(r->resolver);
        event_base_loop(r->base, EVLOOP_NONBLOCK); /* libevent's resolver cleans up in it */
        event_base_free(r->base);
    }
    free(r->running);
    free(r->connect);
    free(r);
}

static enum zkc_err connect_and_wait(struct zk_reader *r, const char *auth)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (uint64_t)clock_now_ms();
    struct zk_session_config config = {
        .base = r->base,
        .resolver = r->resolver,
        .connect = r->connect,
        .auth = auth,
        .session_timeout_ms = SESSION_TIMEOUT_MS,
        .seed = seed,
        .on_event = on_event,
        .on_watch = on_watch,
        .user = r,
    };
    r->session = zk_session_new(&config);
    if (!r->session)
        fail(r, ZKC_ERR_NOMEM, "out of memory");
    while (!r->failed && !r->was_connected)
        turn(r);
    return r->failed;
}

static enum zkc_err check(const char *connect, const char *auth, struct why *why)
{
    struct zk_connect parsed;
    char scheme[ZK_AUTH_SCHEME_SIZE];
    struct bytes credentials;
    enum zkc_err err = zk_connect_parse(connect, &parsed, why);
    if (err)
        return err;
    zk_connect_deinit(&parsed);
    if (!auth || zk_auth_split(auth, scheme, &credentials))
        return ZKC_OK;
    why_set(why, ZK_READER_AUTH_VARIABLE ": expected " ZK_AUTH_FORM);
    return ZKC_ERR_CONFIG;
}

enum zkc_err zk_reader_open_with(const char *connect, const char *auth, int64_t timeout_ms,
                                 struct zk_reader **out, struct why *why)
{
    enum zkc_err err = check(connect, auth, why);
    if (err)
        return err;
    struct zk_reader *r = calloc(1, sizeof *r);
    if (!r) {
        why_set(why, "out of memory");
        return ZKC_ERR_NOMEM;
    }
    r->connect = strdup(connect);
    r->has_auth = auth != NULL;
    r->base = event_base_new();
    r->resolver = r->base ? resolver_new(r->base) : NULL;
    if (r->connect && r->resolver && start_clock(r, timeout_ms))
        connect_and_wait(r, auth);
    else
        fail(r, ZKC_ERR_SYSTEM, "no event loop to be had");
    err = r->failed;
    *why = r->why;
    if (err)
        zk_reader_close(r);
    else
        *out = r;
    return err;
}

/* A chroot that is mistyped looks like a cluster where nothing is. */
static void tell_missing_chroot(struct zk_reader *r)
{
    const char *chroot = strchr(r->connect, '/');
    struct zk_op op = {.type = ZK_OP_EXISTS, .path = "/"};
    struct zk_result result;
    struct arena arena;
    struct why why;
    if (!chroot)
        return;
    arena_init(&arena, 4096);
    if (zk_reader_run(r, &op, 1, &arena, &result, &why) == ZKC_OK && result.zk_rc == ZK_NO_NODE)
        report_warning(
            "there is no %s in ZooKeeper: is the chroot right? Nothing is found below it", chroot);
    arena_deinit(&arena);
}

enum zkc_err zk_reader_open(const char *connect, int64_t timeout_ms, struct zk_reader **out,
                            struct why *why)
{
    enum zkc_err err =
        zk_reader_open_with(connect, getenv(ZK_READER_AUTH_VARIABLE), timeout_ms, out, why);
    if (err)
        return err;
    tell_missing_chroot(*out);
    *why = (*out)->why;
    err = (*out)->failed;
    if (err)
        zk_reader_close(*out);
    return err;
}

/* ---- deleting ---- */

struct tree {
    const char **paths; /* parents before children */
    size_t count, cap;
};

static bool tree_add(struct tree *t, const char *path)
{
    if (t->count == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 64;
        const char **paths =
            t->count < TREE_NODES_MAX ? realloc(t->paths, cap * sizeof *paths) : NULL;
        if (!paths)
            return false;
        t->paths = paths;
        t->cap = cap;
    }
    t->paths[t->count++] = path;
    return true;
}

static bool add_children(struct tree *t, const char *path, const struct zk_result *result,
                         struct arena *arena)
{
    for (size_t i = 0; result->zk_rc == ZK_OK && i < result->children_count; i++) {
        size_t size = strlen(path) + 1 + strlen(result->children[i]) + 1;
        char *child = arena_alloc(arena, size);
        if (!child)
            return false;
        snprintf(child, size, "%s/%s", path, result->children[i]);
        if (!tree_add(t, child))
            return false;
    }
    return true;
}

/* Fills in one operation for each path of `t` from `first` on. */
static enum zkc_err run_on(struct zk_reader *r, enum zk_op_type type, const struct tree *t,
                           size_t first, bool backwards, struct arena *arena,
                           struct zk_result **results, struct why *why)
{
    size_t count = t->count - first;
    struct zk_op *ops = arena_alloc_array(arena, count, sizeof *ops);
    *results = arena_alloc_array(arena, count, sizeof **results);
    if (!ops || !*results)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        ops[i] = (struct zk_op){.type = type,
                                .path = t->paths[backwards ? t->count - 1 - i : first + i],
                                .version = ZK_ANY_VERSION};
    return zk_reader_run(r, ops, count, arena, *results, why);
}

static enum zkc_err list_tree(struct zk_reader *r, struct tree *t, struct arena *arena,
                              struct why *why)
{
    for (size_t first = 0; first < t->count;) { /* a level at a time */
        struct zk_result *results;
        size_t level_end = t->count;
        enum zkc_err err = run_on(r, ZK_OP_CHILDREN, t, first, false, arena, &results, why);
        for (size_t i = first; !err && i < level_end; i++)
            if (!add_children(t, t->paths[i], &results[i - first], arena))
                err = ZKC_ERR_NOMEM;
        if (err)
            return err;
        first = level_end;
    }
    return ZKC_OK;
}

/* ZKC_OK with *is_gone false: something new is below it. */
static enum zkc_err delete_once(struct zk_reader *r, const char *path, struct arena *arena,
                                bool *is_gone, struct why *why)
{
    struct tree t = {0};
    struct zk_result *results;
    enum zkc_err err = tree_add(&t, path) ? list_tree(r, &t, arena, why) : ZKC_ERR_NOMEM;
    if (!err)
        err = run_on(r, ZK_OP_DELETE, &t, 0, true, arena, &results, why);
    *is_gone = true;
    for (size_t i = 0; !err && i < t.count; i++) {
        int zk_rc = results[i].zk_rc;
        if (zk_rc == ZK_NOT_EMPTY) {
            *is_gone = false;
        } else if (zk_rc != ZK_OK && zk_rc != ZK_NO_NODE) {
            why_set(why, "delete %s: %s (%d)", t.paths[t.count - 1 - i], zk_rc_name(zk_rc), zk_rc);
            err = ZKC_ERR_ZOOKEEPER;
        }
    }
    free(t.paths);
    return err;
}

enum zkc_err zk_reader_delete_tree(struct zk_reader *r, const char *path, struct why *why)
{
    struct arena arena;
    arena_init(&arena, (size_t)1 << 30);
    bool is_gone = false;
    enum zkc_err err = ZKC_OK;
    for (int tries = 0; !err && !is_gone; tries++) {
        if (tries == DELETE_TRIES_MAX) {
            why_set(why, "delete %s: others keep adding nodes below it", path);
            err = ZKC_ERR_ZOOKEEPER;
            break;
        }
        arena_clear(&arena);
        err = delete_once(r, path, &arena, &is_gone, why);
        if (err == ZKC_ERR_NOMEM)
            why_set(why, "out of memory");
    }
    arena_deinit(&arena);
    return err;
}
