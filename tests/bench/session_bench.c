/* Operations on a ZooKeeper server, each session keeping a number of them outstanding, and what
 * they took of this process:
 *
 *     session_bench --who=W --server=A --sessions=N --outstanding=N --operations=N --kind=K
 *
 * `who` is `session`, our io/zk_session, or `client`: Apache's single-threaded client as its manual
 * has it, on the same loop and without anything that makes it safe: after each event of its socket
 * zookeeper_process(), then zookeeper_interest(), whose answer is what is waited for next. Only
 * that it is told not to resolve its servers in each call is not the manual's. `kind` is get,
 * exists, children, set or create; the nodes are /bench/N (100 bytes) and its 10 children, and must
 * be there; create makes nodes below /made. */
#include "tests/bench/measure.h"
#include "zkconsumer/io/resolver.h"
#include "zkconsumer/io/zk_session.h"
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#define NODES      100
#define DATA_BYTES 100
#define TIMEOUT_MS 30000

struct bench {
    struct event_base *base;
    enum zk_op_type kind;
    int64_t sessions, outstanding, operations;
    int64_t up, sent, done;
    struct usage begin;
    char data[DATA_BYTES];
};

struct peer {
    struct bench *bench;
    struct zk_session *session; /* ours */
    zhandle_t *zh;              /* the bare client */
    struct event *io;
    int fd, want;
};

static void send_next(struct peer *p);

static void start(struct bench *b, struct peer *peers)
{
    b->begin = usage_now();
    for (int64_t i = 0; i < b->sessions; i++)
        for (int64_t k = 0; k < b->outstanding; k++)
            send_next(&peers[i]);
}

static void answered(struct peer *p, int zk_rc)
{
    struct bench *b = p->bench;
    if (zk_rc)
        die("operation refused: %d", zk_rc);
    b->done++;
    if (b->done == b->operations)
        event_base_loopbreak(b->base);
    send_next(p);
}

static void name_node(struct bench *b, char *path, size_t size)
{
    if (b->kind == ZK_OP_CREATE)
        snprintf(path, size, "/made/%" PRId64, b->sent);
    else
        snprintf(path, size, "/bench/%" PRId64, b->sent % NODES);
    b->sent++;
}

/* ---- ours ---- */

static void on_result(const struct zk_result *result, void *user)
{
    answered(user, result->zk_rc);
}

static void send_ours(struct peer *p)
{
    struct bench *b = p->bench;
    char path[64];
    struct zk_op op = {.type = b->kind, .path = path, .version = ZK_ANY_VERSION};
    name_node(b, path, sizeof path);
    if (b->kind == ZK_OP_SET || b->kind == ZK_OP_CREATE)
        op.data = bytes_of(b->data, sizeof b->data);
    zk_session_send(p->session, &op, on_result, p);
}

static void on_event(const struct zk_session_event *event, void *user)
{
    struct peer *p = user;
    if (event->type != ZK_SESSION_EVENT_CONNECTED)
        die("session event %d", event->type);
    p->bench->up++;
    if (p->bench->up == p->bench->sessions)
        event_base_loopbreak(p->bench->base);
}

static void on_watch(const struct zk_watch_event *event, void *user)
{
    (void)event;
    (void)user;
}

static void open_ours(struct peer *p, struct resolver *resolver, const char *server, uint64_t seed)
{
    struct zk_session_config config = {.base = p->bench->base,
                                       .resolver = resolver,
                                       .connect = server,
                                       .session_timeout_ms = TIMEOUT_MS,
                                       .seed = seed,
                                       .on_event = on_event,
                                       .on_watch = on_watch,
                                       .user = p};
    if (!(p->session = zk_session_new(&config)))
        die("no session");
}

/* ---- the bare client ---- */

static void on_io(evutil_socket_t fd, short what, void *arg);

static void on_void(int zk_rc, const void *data)
{
    answered((struct peer *)data, zk_rc);
}
static void on_stat(int zk_rc, const struct Stat *stat, const void *data)
{
    (void)stat;
    answered((struct peer *)data, zk_rc);
}
static void on_data(int zk_rc, const char *value, int len, const struct Stat *stat,
                    const void *data)
{
    (void)value;
    (void)len;
    (void)stat;
    answered((struct peer *)data, zk_rc);
}
static void on_children(int zk_rc, const struct String_vector *names, const struct Stat *stat,
                        const void *data)
{
    (void)names;
    (void)stat;
    answered((struct peer *)data, zk_rc);
}
static void on_created(int zk_rc, const char *path, const void *data)
{
    (void)path;
    on_void(zk_rc, data);
}

static int call_client(struct peer *p, const char *path)
{
    struct bench *b = p->bench;
    switch (b->kind) {
    case ZK_OP_CREATE:
        return zoo_acreate(p->zh, path, b->data, sizeof b->data, &ZOO_OPEN_ACL_UNSAFE,
                           ZOO_PERSISTENT, on_created, p);
    case ZK_OP_EXISTS: return zoo_aexists(p->zh, path, 0, on_stat, p);
    case ZK_OP_GET: return zoo_aget(p->zh, path, 0, on_data, p);
    case ZK_OP_SET: return zoo_aset(p->zh, path, b->data, sizeof b->data, -1, on_stat, p);
    case ZK_OP_CHILDREN: return zoo_aget_children2(p->zh, path, 0, on_children, p);
    default: break;
    }
    return ZK_BAD_ARGUMENTS;
}

static void send_client(struct peer *p)
{
    char path[64];
    name_node(p->bench, path, sizeof path);
    int zk_rc = call_client(p, path);
    if (zk_rc)
        die("the client refuses: %d", zk_rc);
}

static void listen_client(struct peer *p)
{
    struct timeval timeout;
    int fd, want;
    int zk_rc = zookeeper_interest(p->zh, &fd, &want, &timeout);
    if (zk_rc)
        die("zookeeper_interest: %d", zk_rc);
    short events = EV_PERSIST;
    events |= want & ZOOKEEPER_READ ? EV_READ : 0;
    events |= want & ZOOKEEPER_WRITE ? EV_WRITE : 0;
    if (!p->io || fd != p->fd || want != p->want) {
        if (p->io)
            event_free(p->io);
        p->io = event_new(p->bench->base, fd, events, on_io, p);
        p->fd = fd;
        p->want = want;
        event_add(p->io, &timeout);
    }
}

static void on_io(evutil_socket_t fd, short what, void *arg)
{
    struct peer *p = arg;
    int events = what & EV_READ ? ZOOKEEPER_READ : 0;
    (void)fd;
    events |= what & EV_WRITE ? ZOOKEEPER_WRITE : 0;
    if (events)
        zookeeper_process(p->zh, events);
    listen_client(p);
}

static void on_client_event(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    struct peer *p = context;
    (void)zh;
    (void)path;
    if (type != ZOO_SESSION_EVENT || state != ZOO_CONNECTED_STATE)
        die("client event %d %d", type, state);
    p->bench->up++;
    if (p->bench->up == p->bench->sessions)
        event_base_loopbreak(p->bench->base);
}

static void open_client(struct peer *p, const char *server)
{
    p->zh =
        zookeeper_init2(server, on_client_event, TIMEOUT_MS, NULL, p, ZOO_NO_LOG_CLIENTENV, NULL);
    if (!p->zh)
        die("zookeeper_init2");
    zoo_set_servers_resolution_delay(p->zh, -1);
    listen_client(p);
}

/* ---- */

static void send_next(struct peer *p)
{
    if (p->bench->sent == p->bench->operations)
        return;
    if (p->session)
        send_ours(p);
    else
        send_client(p);
}

static enum zk_op_type kind_of(const char *name)
{
    static const char *const names[] = {
        [ZK_OP_CREATE] = "create", [ZK_OP_DELETE] = "", [ZK_OP_EXISTS] = "exists",
        [ZK_OP_GET] = "get",       [ZK_OP_SET] = "set", [ZK_OP_CHILDREN] = "children"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return (enum zk_op_type)i;
    die("--kind=%s: no such operation", name);
}

int main(int argc, char **argv)
{
    const char *server = option(argc, argv, "server", NULL);
    const char *who = option(argc, argv, "who", NULL);
    struct bench bench = {.base = event_base_new(),
                          .kind = kind_of(option(argc, argv, "kind", "get")),
                          .sessions = option_int(argc, argv, "sessions", NULL),
                          .outstanding = option_int(argc, argv, "outstanding", NULL),
                          .operations = option_int(argc, argv, "operations", NULL)};
    bool is_ours = strcmp(who, "session") == 0;
    if (!is_ours && strcmp(who, "client") != 0)
        die("--who=%s: nobody", who);
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    memset(bench.data, 'x', sizeof bench.data);
    struct resolver *resolver = resolver_new(bench.base);
    struct peer *peers = calloc((size_t)bench.sessions, sizeof *peers);
    if (!resolver || !peers)
        die("out of memory");
    for (int64_t i = 0; i < bench.sessions; i++) {
        peers[i].bench = &bench;
        if (is_ours)
            open_ours(&peers[i], resolver, server, (uint64_t)i);
        else
            open_client(&peers[i], server);
    }
    event_base_dispatch(bench.base); /* until all are up */
    start(&bench, peers);
    event_base_dispatch(bench.base); /* until all is done */
    struct usage used = usage_since(bench.begin);
    printf("operations=%" PRId64 " user_ns=%" PRId64 " system_ns=%" PRId64 " wall_ns=%" PRId64 "\n",
           bench.done, used.user_ns, used.system_ns, used.wall_ns);
    for (int64_t i = 0; i < bench.sessions; i++) {
        if (is_ours) {
            zk_session_free(peers[i].session);
        } else {
            event_free(peers[i].io);
            zookeeper_close(peers[i].zh);
        }
    }
    free(peers);
    resolver_free(resolver);
    event_base_loop(bench.base, EVLOOP_NONBLOCK);
    event_base_free(bench.base);
    return 0;
}
