#include "broker/io/broker.h"
#include "broker/core/broker_machine.h"
#include "broker/io/clock.h"
#include "broker/io/config.h"
#include "broker/io/journal.h"
#include "broker/io/network.h"
#include "broker/io/serve.h"
#include "broker/io/store.h"
#include "broker/io/thread_loop.h"
#include "broker/io/view.h"
#include "zkconsumer/core/base/topic_partition.h"
#include "zkconsumer/io/resolver.h"
#include "zkconsumer/io/zk_session.h"
#include <event2/event.h>
#include <inttypes.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define CLOSE_MS        2000 /* how long the end of the session may take */
#define TIMER_MS_MAX    (3600 * 1000)
#define SIGNALS         3
#define RETRY_CHROOT_MS 500

struct broker {
    const struct config *config;
    struct journal *journal;
    int64_t begin_ms;
    struct thread_loop *loop;
    struct store *store;
    struct network *network;
    struct server *server;
    struct view_board views;
    struct resolver *resolver;
    struct zk_session *session;
    struct broker_machine *machine;
    struct event *timer;       /* the machine's deadline */
    struct event *start_timer; /* zookeeper.connection.timeout.ms; NULL when connected */
    struct event *chroot_timer;
    struct event *signals[SIGNALS];
    char host[256]; /* as registered */
    bool is_ready;
    bool is_stopping;
    bool has_chroot;
    struct zk_session_event connected; /* waits for the chroot */
    enum broker_exit exit;
};

static void step(struct broker *b, const struct broker_input *in);

static struct broker_input input(enum broker_input_type type)
{
    return (struct broker_input){
        .type = type, .now_ms = clock_now_ms(), .wall_ms = clock_wall_ms()};
}

/* ---- the end ---- */

static void on_session_closed(bool is_released, void *user)
{
    struct broker *b = user;
    b->session = NULL;
    if (!is_released)
        journal_always(b->journal, JOURNAL_WARN,
                       "ZooKeeper did not confirm the end of the session: the registration stays "
                       "until its timeout");
    thread_loop_leave(b->loop);
}

/* Serves nothing more and closes the session; the rest is done when the loop has ended. */
static void stop(struct broker *b, enum broker_exit code)
{
    if (b->is_stopping)
        return;
    b->is_stopping = true;
    b->exit = code;
    if (b->network)
        network_stop(b->network);
    if (b->session)
        zk_session_close(b->session, CLOSE_MS, on_session_closed, b);
    else
        thread_loop_leave(b->loop);
}

static void on_stop_signal(evutil_socket_t number, short what, void *arg)
{
    (void)what;
    struct broker *b = arg;
    if (b->is_stopping)
        _exit(128 + (int)number);
    journal_always(b->journal, JOURNAL_INFO, "stopping: %s", strsignal((int)number));
    struct broker_input in = input(BROKER_IN_STOP);
    step(b, &in);
    stop(b, BROKER_DONE);
}

static void on_hup(evutil_socket_t number, short what, void *arg)
{
    (void)number, (void)what;
    journal_reopen(((struct broker *)arg)->journal);
}

/* ---- outputs of the machine ---- */

struct sent_op {
    struct broker *broker;
    uint32_t slot, seq;
};

static void on_op_result(const struct zk_result *result, void *user)
{
    struct sent_op sent = *(struct sent_op *)user;
    free(user);
    struct broker_input in = input(BROKER_IN_RESULT);
    in.result.slot = sent.slot;
    in.result.seq = sent.seq;
    in.result.result = result;
    step(sent.broker, &in);
}

static void send_op(struct broker *b, const struct broker_output *out)
{
    struct sent_op *sent = malloc(sizeof *sent);
    if (!sent) {
        journal_always(b->journal, JOURNAL_ERROR, "out of memory");
        stop(b, BROKER_FAILED);
        return;
    }
    *sent = (struct sent_op){.broker = b, .slot = out->op.slot, .seq = out->op.seq};
    zk_session_send(b->session, &out->op.op, on_op_result, sent);
}

struct host_failure {
    struct loop_item item;
    struct broker *broker;
    int32_t partition;
    char topic[TOPIC_NAME_MAX + 1];
};

static void on_host_failure(void *arg)
{
    struct host_failure *f = arg;
    struct broker_input in = input(BROKER_IN_HOST_FAILED);
    in.host_failed.topic = f->topic;
    in.host_failed.partition = f->partition;
    if (!f->broker->is_stopping)
        step(f->broker, &in);
    free(f);
}

static void host(struct broker *b, const struct broker_output *out)
{
    struct why why;
    struct partition *p =
        store_host(b->store, out->host.topic, out->host.partition, &out->host.config, &why);
    if (p) {
        partition_put(p);
        return;
    }
    journal_cause(b->journal, JOURNAL_ERROR, out->host.topic,
                  "partition %s-%" PRId32 " cannot be served: %s", out->host.topic,
                  out->host.partition, why.text);
    struct host_failure *f = calloc(1, sizeof *f);
    if (!f)
        return;
    loop_item_init(&f->item, on_host_failure, f);
    f->broker = b;
    f->partition = out->host.partition;
    snprintf(f->topic, sizeof f->topic, "%s", out->host.topic);
    thread_loop_post(b->loop, &f->item);
}

static void unhost(struct broker *b, const struct broker_output *out)
{
    struct partition *p = store_find(b->store, out->host.topic, out->host.partition);
    if (p)
        partition_disturb(p);
    partition_put(p);
}

static void ready(struct broker *b)
{
    struct why why;
    if (!network_start(b->network, &why)) {
        journal_always(b->journal, JOURNAL_ERROR, "%s", why.text);
        stop(b, BROKER_FAILED);
        return;
    }
    b->is_ready = true;
    journal_always(b->journal, JOURNAL_INFO,
                   "started: broker %" PRId64 " on port %u, registered as %s:%" PRId64
                   ", %zu partitions, after %" PRId64 " ms",
                   b->config->broker_id, network_port(b->network), b->host,
                   b->config->advertised_port ? b->config->advertised_port
                                              : network_port(b->network),
                   store_partition_count(b->store), clock_now_ms() - b->begin_ms);
}

static void carry_out(struct broker *b, const struct broker_output *out)
{
    switch (out->type) {
    case BROKER_OUT_OP: send_op(b, out); break;
    case BROKER_OUT_HOST: host(b, out); break;
    case BROKER_OUT_CONFIG: store_configure(b->store, out->host.topic, &out->host.config); break;
    case BROKER_OUT_UNHOST: unhost(b, out); break;
    case BROKER_OUT_DELETE: store_delete(b->store, out->host.topic, out->host.partition); break;
    case BROKER_OUT_VIEW:
        if (view_board_publish(&b->views, broker_machine_view(b->machine)))
            journal_always(b->journal, JOURNAL_ERROR, "no memory for the view of the cluster");
        server_view_changed(b->server);
        break;
    case BROKER_OUT_READY: ready(b); break;
    case BROKER_OUT_CONTROLLER: break; /* a notice comes with it */
    case BROKER_OUT_NOTICE:
        journal_cause(b->journal, out->notice.level, out->notice.text, "%s", out->notice.text);
        break;
    case BROKER_OUT_FATAL:
        journal_always(b->journal, JOURNAL_ERROR, "%s", out->notice.text);
        stop(b, BROKER_FAILED);
        break;
    }
}

static void arm_timer(struct broker *b)
{
    int64_t deadline_ms = broker_machine_deadline_ms(b->machine);
    if (deadline_ms == INT64_MAX) {
        event_del(b->timer);
        return;
    }
    int64_t ms = deadline_ms - clock_now_ms();
    ms = ms < 0 ? 0 : ms > TIMER_MS_MAX ? TIMER_MS_MAX : ms;
    event_add(b->timer, &(struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000});
}

static void step(struct broker *b, const struct broker_input *in)
{
    if (b->is_stopping)
        return;
    struct broker_outputs outs;
    broker_machine_step(b->machine, in, &outs);
    for (size_t i = 0; i < outs.count && !b->is_stopping; i++)
        carry_out(b, &outs.list[i]);
    if (!b->is_stopping)
        arm_timer(b);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct broker_input in = input(BROKER_IN_TIME);
    step(arg, &in);
}

/* ---- ZooKeeper ---- */

static void ensure_chroot(struct broker *b);

static void on_chroot_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct broker *b = arg;
    if (zk_session_is_connected(b->session) && !b->is_stopping)
        ensure_chroot(b);
}

static void tell_connected(struct broker *b)
{
    struct broker_input in = input(BROKER_IN_CONNECTED);
    in.connected.session_id = b->connected.session_id;
    in.connected.is_new = b->connected.is_new;
    step(b, &in);
}

static void on_chroot(const struct zk_result *result, void *user)
{
    struct broker *b = user;
    if (b->is_stopping)
        return;
    if (result->zk_rc == ZK_OK) {
        b->has_chroot = true;
        tell_connected(b);
        return;
    }
    if (!zk_rc_is_retriable(result->zk_rc))
        journal_cause(b->journal, JOURNAL_ERROR, "chroot",
                      "the path of zookeeper.connect cannot be made: %s (%d)%s",
                      zk_rc_name(result->zk_rc), result->zk_rc,
                      result->zk_rc == ZK_NO_AUTH ? "; is zookeeper.auth set, and right?" : "");
    event_add(b->chroot_timer, &(struct timeval){.tv_usec = RETRY_CHROOT_MS * 1000});
}

static void ensure_chroot(struct broker *b)
{
    zk_session_ensure_chroot(b->session, on_chroot, b);
}

static void on_connected(struct broker *b, const struct zk_session_event *event)
{
    journal_always(b->journal, JOURNAL_INFO,
                   "connected to ZooKeeper at %s, session 0x%" PRIx64 ", timeout %" PRId32 " ms",
                   event->server, (uint64_t)event->session_id, event->timeout_ms);
    if (b->start_timer)
        event_free(b->start_timer);
    b->start_timer = NULL;
    b->connected = *event;
    b->connected.server = b->connected.text = NULL;
    if (b->has_chroot)
        tell_connected(b);
    else
        ensure_chroot(b);
}

static void on_session_event(const struct zk_session_event *event, void *user)
{
    struct broker *b = user;
    struct broker_input in;
    if (b->is_stopping)
        return;
    switch (event->type) {
    case ZK_SESSION_EVENT_CONNECTED: on_connected(b, event); break;
    case ZK_SESSION_EVENT_SUSPENDED:
        journal_line(b->journal, JOURNAL_WARN, "the connection to ZooKeeper is lost");
        in = input(BROKER_IN_DISCONNECTED);
        step(b, &in);
        break;
    case ZK_SESSION_EVENT_EXPIRED:
        journal_line(b->journal, JOURNAL_WARN,
                     "the session in ZooKeeper has ended, a new one is "
                     "begun");
        in = input(BROKER_IN_EXPIRED);
        step(b, &in);
        break;
    case ZK_SESSION_EVENT_AUTH_FAILED:
        journal_always(b->journal, JOURNAL_ERROR, "%s", event->text);
        stop(b, BROKER_FAILED);
        break;
    case ZK_SESSION_EVENT_UNREACHABLE:
        journal_line(b->journal, JOURNAL_WARN, "ZooKeeper: %s", event->text);
        break;
    }
}

static void on_watch(const struct zk_watch_event *event, void *user)
{
    struct broker_input in = input(BROKER_IN_WATCH);
    in.watch = *event;
    step(user, &in);
}

static void on_zk_log(int level, const char *cause, const char *text, void *user)
{
    journal_cause(((struct broker *)user)->journal, level == 6 ? JOURNAL_DEBUG : level, cause, "%s",
                  text);
}

static void on_start_timeout(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct broker *b = arg;
    journal_always(b->journal, JOURNAL_ERROR,
                   "ZooKeeper (zookeeper.connect=%s) is not reached within "
                   "zookeeper.connection.timeout.ms=%" PRId64,
                   b->config->zookeeper_connect, b->config->zookeeper_connection_timeout_ms);
    stop(b, BROKER_UNREACHABLE);
}

/* ---- for requests ---- */

static void create_topic(struct bytes name, void *user)
{
    struct broker_input in = input(BROKER_IN_CREATE_TOPIC);
    in.create_topic = name;
    step(user, &in);
}

static void zk_send(const struct zk_op *op, server_result_fn *fn, void *fn_user, void *user)
{
    struct broker *b = user;
    if (b->session) {
        zk_session_send(b->session, op, fn, fn_user);
        return;
    }
    struct zk_result closing = {.zk_rc = ZK_CLOSING};
    fn(&closing, fn_user);
}

/* ---- opening ---- */

/* This machine's name as others know it (java.net.InetAddress.getLocalHost). */
static void own_name(char *out, size_t size)
{
    char name[256] = "localhost";
    gethostname(name, sizeof name - 1);
    const struct addrinfo hints = {.ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    bool is_known = getaddrinfo(name, NULL, &hints, &list) == 0 && list->ai_canonname;
    snprintf(out, size, "%s", is_known ? list->ai_canonname : name);
    if (list)
        freeaddrinfo(list);
}

static bool open_signals(struct broker *b)
{
    struct event_base *base = thread_loop_base(b->loop);
    b->signals[0] = evsignal_new(base, SIGTERM, on_stop_signal, b);
    b->signals[1] = evsignal_new(base, SIGINT, on_stop_signal, b);
    b->signals[2] = evsignal_new(base, SIGHUP, on_hup, b);
    for (int i = 0; i < SIGNALS; i++)
        if (!b->signals[i] || event_add(b->signals[i], NULL))
            return false;
    return true;
}

static bool open_network(struct broker *b, struct why *why)
{
    struct server_options server = {
        .config = b->config,
        .journal = b->journal,
        .store = b->store,
        .views = &b->views,
        .main = {.loop = b->loop, .create_topic = create_topic, .zk_send = zk_send, .user = b}};
    b->server = server_new(&server);
    struct network_options network = {.config = b->config,
                                      .journal = b->journal,
                                      .accept_loop = b->loop,
                                      .on_request = server_on_request,
                                      .user = b->server};
    b->network = network_new(&network, why);
    if (!b->network)
        return false;
    why_set(why, "out of memory");
    return b->server && server_attach(b->server, b->network);
}

static bool open_machine(struct broker *b)
{
    const struct config *c = b->config;
    if (c->advertised_host || c->host_name)
        snprintf(b->host, sizeof b->host, "%s",
                 c->advertised_host ? c->advertised_host : c->host_name);
    else
        own_name(b->host, sizeof b->host);
    struct broker_config machine = {
        .broker_id = (int32_t)c->broker_id,
        .host = b->host,
        .port = c->advertised_port ? (int32_t)c->advertised_port : network_port(b->network),
        .jmx_port = -1,
        .session_timeout_ms = c->zookeeper_session_timeout_ms,
        .auto_create_topics = c->auto_create_topics_enable,
        .delete_topics = c->delete_topic_enable,
        .default_partitions = (int32_t)c->num_partitions,
        .log = store_log_config(c),
        .seed = (uint64_t)clock_wall_ms() ^ (uint64_t)getpid() << 32,
    };
    return broker_machine_new(&machine, &b->machine) == ZKC_OK;
}

static bool open_session(struct broker *b)
{
    struct event_base *base = thread_loop_base(b->loop);
    b->resolver = resolver_new(base);
    struct zk_session_config session = {
        .base = base,
        .resolver = b->resolver,
        .connect = b->config->zookeeper_connect,
        .auth = b->config->zookeeper_auth,
        .session_timeout_ms = b->config->zookeeper_session_timeout_ms,
        .seed = (uint64_t)clock_wall_ms() ^ (uint64_t)getpid() << 32,
        .on_event = on_session_event,
        .on_watch = on_watch,
        .on_log = on_zk_log,
        .user = b,
    };
    b->session = b->resolver ? zk_session_new(&session) : NULL;
    b->timer = evtimer_new(base, on_timer, b);
    b->chroot_timer = evtimer_new(base, on_chroot_timer, b);
    b->start_timer = evtimer_new(base, on_start_timeout, b);
    if (!b->session || !b->timer || !b->chroot_timer || !b->start_timer)
        return false;
    int64_t ms = b->config->zookeeper_connection_timeout_ms;
    event_add(b->start_timer, &(struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000});
    return true;
}

static bool open_all(struct broker *b, struct why *why)
{
    why_set(why, "out of memory");
    b->loop = thread_loop_new();
    if (!b->loop || !open_signals(b))
        return false;
    b->store = store_open(b->config, b->journal, why);
    if (!b->store || !open_network(b, why) || !store_start(b->store, why))
        return false;
    why_set(why, "out of memory");
    return open_machine(b) && open_session(b);
}

static void free_event(struct event *event)
{
    if (event)
        event_free(event);
}

/* The order matters: whoever may still be called back outlives who calls. */
static void close_all(struct broker *b)
{
    if (b->network)
        network_stop(b->network);
    zk_session_free(b->session);
    resolver_free(b->resolver);
    store_stop(b->store);
    server_free(b->server);
    store_close(b->store, true);
    network_free(b->network);
    broker_machine_free(b->machine);
    free_event(b->timer);
    free_event(b->chroot_timer);
    free_event(b->start_timer);
    for (int i = 0; i < SIGNALS; i++)
        free_event(b->signals[i]);
    if (b->loop)
        event_base_loop(thread_loop_base(b->loop), EVLOOP_NONBLOCK); /* the resolver's last */
    thread_loop_free(b->loop);
    view_board_deinit(&b->views);
}

enum broker_exit broker_run(const struct config *config, struct journal *journal)
{
    struct broker b = {
        .config = config, .journal = journal, .begin_ms = clock_now_ms(), .exit = BROKER_FAILED};
    struct why why;
    view_board_init(&b.views);
    bool is_open = open_all(&b, &why);
    if (is_open)
        thread_loop_run(b.loop);
    else
        journal_always(journal, JOURNAL_ERROR, "cannot start: %s", why.text);
    close_all(&b);
    if (is_open && b.exit == BROKER_DONE)
        journal_always(journal, JOURNAL_INFO, "stopped");
    return b.exit;
}
