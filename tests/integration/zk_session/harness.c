#include "tests/integration/zk_session/harness.h"

#include <dirent.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <time.h>

#define PATIENCE_MS 20000

struct world world;

/* ---- what the C client must not do ---- */

/* Seen by shared libraries too, in place of libc's. */
#define INTERPOSED __attribute__((visibility("default")))

INTERPOSED int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                           struct addrinfo **out)
{
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    world.getaddrinfos++;
    return real(node, service, hints, out);
}

INTERPOSED void srandom(unsigned seed)
{
    (void)seed;
    world.reseeds++;
}

INTERPOSED void srand48(long seed)
{
    (void)seed;
    world.reseeds++;
}

INTERPOSED int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    static int (*real)(struct pollfd *, nfds_t, int);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "poll");
    int n = real(fds, count, timeout_ms);
    if (n == 0 && timeout_ms > 20 * TICK_MS) /* libevent's own waits end with the tick */
        world.blocked_polls++;
    return n;
}

static void on_loop_line(int severity, const char *text)
{
    if (severity >= EVENT_LOG_WARN) {
        fprintf(stderr, "libevent: %s\n", text);
        world.loop_warnings++;
    }
}

/* ---- the loop ---- */

static int64_t patience_end_ms;

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void patience_start(void)
{
    patience_end_ms = now_ms() + PATIENCE_MS;
}

bool turn(void)
{
    event_base_loop(world.base, EVLOOP_ONCE);
    return now_ms() < patience_end_ms;
}

void turn_ticks(size_t n)
{
    size_t until = world.ticks + n;
    UNTIL(world.ticks >= until);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    world.ticks++;
    if (world.on_tick)
        world.on_tick();
}

unsigned open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* ---- recording ---- */

static void on_closed(bool is_released, void *user)
{
    struct app *a = user;
    a->s = NULL;
    a->closed++;
    a->is_released = is_released;
}

void app_close(struct app *a, int64_t deadline_ms)
{
    a->is_closing = true;
    zk_session_close(a->s, deadline_ms, on_closed, a);
}

static void called(struct app *a, enum close_in where)
{
    a->calls_after_closed += a->closed > 0;
    if (a->close_in == where && !a->is_closing)
        app_close(a, a->close_deadline_ms);
}

static void on_connected(struct app *a, const struct zk_session_event *event)
{
    a->connected++;
    a->new_sessions += event->is_new;
    if (!event->is_new)
        assert_int_equal(event->session_id, a->session_id);
    a->session_id = event->session_id;
    a->timeout_ms = event->timeout_ms;
    snprintf(a->server, sizeof a->server, "%s", event->server);
    called(a, CLOSE_IN_CONNECTED);
}

static void on_event(const struct zk_session_event *event, void *user)
{
    struct app *a = user;

    switch (event->type) {
    case ZK_SESSION_EVENT_CONNECTED: on_connected(a, event); break;
    case ZK_SESSION_EVENT_SUSPENDED:
        a->suspended++;
        if (a->on_suspended)
            a->on_suspended(a);
        called(a, CLOSE_IN_SUSPENDED);
        break;
    case ZK_SESSION_EVENT_EXPIRED:
        a->expired++;
        a->answered_at_expiry = a->answered;
        assert_int_equal(event->session_id, a->session_id);
        called(a, CLOSE_IN_EXPIRED);
        break;
    case ZK_SESSION_EVENT_AUTH_FAILED:
        a->auth_failed++;
        called(a, CLOSE_IN_AUTH_FAILED);
        break;
    case ZK_SESSION_EVENT_UNREACHABLE:
        a->unreachable++;
        snprintf(a->notice, sizeof a->notice, "%s", event->text);
        called(a, CLOSE_IN_UNREACHABLE);
        break;
    }
}

static void on_watch(const struct zk_watch_event *event, void *user)
{
    struct app *a = user;
    a->watches++;
    a->watch_type = event->type;
    snprintf(a->watch_path, sizeof a->watch_path, "%s", event->path);
    called(a, CLOSE_IN_WATCH);
}

static void on_log(int level, const char *cause, const char *text, void *user)
{
    struct app *a = user;
    assert_true(*cause && *text && !strchr(text, '\n'));
    a->errors += level == 3;
    a->warnings += level == 4;
    if (level == 4 && strncmp(text, "zookeeper client:", 17) != 0)
        snprintf(a->log, sizeof a->log, "%s", text);
}

struct sent {
    struct app *a;
    unsigned number;
};

static bool is_inside_send;

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void record_children(struct app *a, const struct zk_result *result)
{
    const char *names[16];
    size_t count = result->children_count < 16 ? result->children_count : 16;

    for (size_t i = 0; i < count; i++)
        names[i] = result->children[i];
    qsort(names, count, sizeof *names, compare_names);
    a->children[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        strncat(a->children, names[i], 32);
        strcat(a->children, " ");
    }
}

static void record_parts(struct app *a, const struct zk_result *result)
{
    a->part_count = result->part_count;
    a->culprit = zk_result_culprit(result);
    a->parts[0] = '\0';
    for (size_t i = 0; i < result->part_count; i++) {
        const struct zk_part_result *part = &result->parts[i];
        char *end = a->parts + strlen(a->parts);
        size_t room = sizeof a->parts - (size_t)(end - a->parts);
        if (part->stat.version)
            snprintf(end, room, "%s %d ", zk_rc_name(part->zk_rc), part->stat.version);
        else
            snprintf(end, room, "%s ", zk_rc_name(part->zk_rc));
    }
}

static void on_result(const struct zk_result *result, void *user)
{
    struct sent *sent = user;
    struct app *a = sent->a;
    bool is_server = result->zk_rc == ZK_OK || result->zk_rc <= ZK_NO_NODE;

    a->refused_inside += is_inside_send;
    a->answered++;
    a->last_rc = result->zk_rc;
    a->ok += result->zk_rc == ZK_OK;
    a->closing += result->zk_rc == ZK_CLOSING;
    if (result->zk_rc == ZK_CONNECTION_LOSS || result->zk_rc == ZK_OPERATION_TIMEOUT) {
        if (a->lost++ == 0)
            a->suspended_at_loss = a->suspended;
    } else if (!is_server) {
        a->other++;
    }
    if (is_server && result->zk_rc != ZK_CLOSING) {
        a->out_of_order += sent->number < a->last_number;
        a->last_number = sent->number;
    }
    a->stat = result->stat;
    a->zxid = result->zxid;
    record_parts(a, result);
    if (result->zk_rc == ZK_OK) {
        if (bytes_is_null(result->data))
            strcpy(a->data, "(null)");
        else
            snprintf(a->data, sizeof a->data, "%.*s", (int)result->data.len,
                     (const char *)result->data.data);
        record_children(a, result);
    }
    free(sent);
    if (a->on_answer)
        a->on_answer(a, a->last_rc);
    called(a, CLOSE_IN_RESULT);
}

static struct sent *sent_new(struct app *a)
{
    struct sent *sent = malloc(sizeof *sent);
    *sent = (struct sent){.a = a, .number = a->sent++};
    return sent;
}

/* ---- sessions ---- */

struct app *app_open(const struct app_options *options)
{
    struct app *a = calloc(1, sizeof *a);
    struct zk_session_config config = {
        .base = world.base,
        .resolver = options->resolver ? options->resolver : world.resolver,
        .connect = options->connect ? options->connect : at(world.server.port, ""),
        .session_timeout_ms = options->timeout_ms ? options->timeout_ms : 4000,
        .seed = options->seed,
        .auth = options->auth,
        .private_path = options->private_path,
        .on_event = on_event,
        .on_watch = on_watch,
        .on_log = on_log,
        .user = a,
    };
    a->close_deadline_ms = 5000;
    a->s = zk_session_new(&config);
    assert_non_null(a->s);
    return a;
}

struct app *app_connect_to(const char *connect)
{
    struct app *a = app_open(&(struct app_options){.connect = connect});
    UNTIL(a->connected == 1);
    return a;
}

struct app *app_connect(void)
{
    return app_connect_to(NULL);
}

void app_send_op(struct app *a, const struct zk_op *op)
{
    struct sent *sent = sent_new(a);
    is_inside_send = true;
    zk_session_send(a->s, op, on_result, sent);
    is_inside_send = false;
}

void app_send(struct app *a, enum zk_op_type type, const char *path)
{
    app_send_op(a, &(struct zk_op){.type = type, .path = path, .version = ZK_ANY_VERSION});
}

int app_do_op(struct app *a, const struct zk_op *op)
{
    app_send_op(a, op);
    UNTIL(a->answered == a->sent);
    return a->last_rc;
}

int app_do(struct app *a, enum zk_op_type type, const char *path)
{
    return app_do_op(a, &(struct zk_op){.type = type, .path = path, .version = ZK_ANY_VERSION});
}

int app_create(struct app *a, const char *path, const char *data, bool is_ephemeral)
{
    return app_do_op(a, &(struct zk_op){.type = ZK_OP_CREATE,
                                        .path = path,
                                        .data = bytes_of_text(data),
                                        .ephemeral = is_ephemeral});
}

int app_watch(struct app *a, enum zk_op_type type, const char *path)
{
    return app_do_op(a, &(struct zk_op){.type = type, .path = path, .watch = true});
}

int app_ensure_chroot(struct app *a)
{
    zk_session_ensure_chroot(a->s, on_result, sent_new(a));
    UNTIL(a->answered == a->sent);
    return a->last_rc;
}

void app_end(struct app *a)
{
    if (a->s)
        app_close(a, 5000);
    UNTIL(a->closed > 0);
    assert_int_equal(a->closed, 1);
    assert_int_equal(a->sent, a->answered);
    assert_int_equal(a->calls_after_closed, 0);
    assert_int_equal(a->refused_inside, 0);
    assert_int_equal(a->out_of_order, 0);
    free(a);
}

const char *at(int port, const char *chroot)
{
    static char texts[8][64];
    static unsigned next;
    char *text = texts[next++ % 8];
    snprintf(text, sizeof texts[0], "127.0.0.1:%d%s", port, chroot);
    return text;
}

const char *two(int port1, int port2)
{
    static char text[64];
    snprintf(text, sizeof text, "127.0.0.1:%d,127.0.0.1:%d", port1, port2);
    return text;
}

/* ---- groups ---- */

int run_group(const char *name, const struct CMUnitTest *tests, size_t count,
              const struct zk_server_options *options, const char *const *avoid)
{
    static const struct timeval tick = {.tv_usec = TICK_MS * 1000};
    struct zk_server_options all = *options;
    struct event_config *config = event_config_new();
    struct event *timer;
    int failed;

    zk_server_require();
    event_set_log_callback(on_loop_line);
    for (; avoid && *avoid; avoid++)
        event_config_avoid_method(config, *avoid);
    world.base = event_base_new_with_config(config);
    event_config_free(config);
    world.resolver = resolver_new(world.base);
    timer = event_new(world.base, -1, EV_PERSIST, on_tick, NULL);
    event_add(timer, &tick);
    if (!all.session_timeout_min_ms)
        all.session_timeout_min_ms = SESSION_TIMEOUT_MS;
    zk_server_init(&world.server, &all);
    zk_server_start(&world.server);

    failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);

    zk_server_deinit(&world.server);
    event_free(timer);
    resolver_free(world.resolver);
    event_base_loop(world.base, EVLOOP_NONBLOCK);
    event_base_free(world.base);
    return failed;
}
