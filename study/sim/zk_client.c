#include "study/sim/zk_client.h"
#include <assert.h>
#include <string.h>

/* As zkconsumer/io/zk_session.c has them. */
#define FIRST_ROUND_MS  10
#define BACKOFF_BASE_MS 50
#define BACKOFF_MIN_MS  100
#define BACKOFF_MAX_MS  5000
#define ATTEMPT_MIN_MS  200
#define ATTEMPT_MAX_MS  10000
#define LASTING_NS      (1000 * SIM_MS)

/* ---- watches that stand ---- */

static void forget_watch(struct zk_client *c, uint32_t path, enum zk_watch_kind kind, bool *found)
{
    for (uint32_t i = 0; i < c->watch_count; i++)
        if (c->watches[i].path == path && c->watches[i].kind == kind) {
            memmove(&c->watches[i], &c->watches[i + 1],
                    (--c->watch_count - i) * sizeof *c->watches);
            *found = true;
            return;
        }
}

static void keep_watch(struct zk_client *c, uint32_t path, enum zk_watch_kind kind)
{
    for (uint32_t i = 0; i < c->watch_count; i++)
        if (c->watches[i].path == path && c->watches[i].kind == kind)
            return;
    if (c->watch_count == c->watch_cap) {
        c->watch_cap = c->watch_cap ? c->watch_cap * 2 : 8;
        c->watches = pool_resize(c->e->pool, c->watches, c->watch_cap * sizeof *c->watches);
    }
    c->watches[c->watch_count++] = (struct zk_watch_name){path, kind};
}

static void answered_watch(struct zk_client *c, const struct zk_pending *p, int zk_rc)
{
    if (!p->watch)
        return;
    if (p->what == ZK_DO_EXISTS && (zk_rc == ZK_OK || zk_rc == ZK_NO_NODE))
        keep_watch(c, p->path, zk_rc == ZK_OK ? ZK_WATCH_DATA : ZK_WATCH_EXISTS);
    else if (zk_rc == ZK_OK)
        keep_watch(c, p->path, p->what == ZK_DO_CHILDREN ? ZK_WATCH_CHILD : ZK_WATCH_DATA);
}

/* True if somebody waits for it. */
static bool take_watch(struct zk_client *c, const struct zk_answer *a)
{
    bool found = false;
    if (a->event != ZK_EVENT_CHILDREN_CHANGED) {
        forget_watch(c, a->path, ZK_WATCH_DATA, &found);
        forget_watch(c, a->path, ZK_WATCH_EXISTS, &found);
    }
    if (a->event == ZK_EVENT_CHILDREN_CHANGED || a->event == ZK_EVENT_DELETED)
        forget_watch(c, a->path, ZK_WATCH_CHILD, &found);
    return found;
}

/* ---- sending ---- */

static void put_pending(struct zk_client *c, const struct zk_pending *p)
{
    if (c->pending_count == c->pending_cap) {
        uint32_t cap = c->pending_cap ? c->pending_cap * 2 : 8;
        struct zk_pending *list = pool_take(c->e->pool, cap * sizeof *list);
        for (uint32_t i = 0; i < c->pending_count; i++)
            list[i] = c->pending[(c->pending_first + i) % c->pending_cap];
        pool_give(c->e->pool, c->pending);
        c->pending = list;
        c->pending_cap = cap;
        c->pending_first = 0;
    }
    c->pending[(c->pending_first + c->pending_count++) % c->pending_cap] = *p;
}

static struct zk_pending take_pending(struct zk_client *c)
{
    struct zk_pending p = c->pending[c->pending_first];
    c->pending_first = (c->pending_first + 1) % c->pending_cap;
    c->pending_count--;
    return p;
}

static struct zk_request *new_request(struct zk_client *c, enum msg_type type)
{
    struct zk_request *r = pool_take(c->e->pool, sizeof *r);
    r->type = type;
    return r;
}

static void send_request(struct zk_client *c, struct zk_request *r, uint64_t now_ns)
{
    c->sent_ns = now_ns;
    conn_send(c->conn, c->node, r);
}

void zk_answer_result(const struct zk_answer *a, struct zk_result *result)
{
    result->zxid = a->zxid;
    result->stat = a->stat.stat;
    result->data = a->data ? bytes_of(a->data->data, a->data->len) : BYTES_NULL;
    result->children = a->names ? a->names->list : NULL;
    result->children_count = a->names ? a->names->count : 0;
    result->parts = a->parts;
    result->part_count = a->part_count;
}

bool zk_client_send(struct zk_client *c, enum zk_do what, const struct zk_write *write, bool watch,
                    struct zk_write *multi, uint32_t count, uint64_t token, uint64_t now_ns)
{
    if (c->state != ZK_CLIENT_CONNECTED) {
        value_unref(c->e->pool, write->data);
        for (uint32_t i = 0; i < count; i++)
            value_unref(c->e->pool, multi[i].data);
        pool_give(c->e->pool, multi);
        return false;
    }
    struct zk_request *r = new_request(c, MSG_ZK_REQUEST);
    r->what = what;
    r->xid = ++c->xid;
    r->watch = watch && !c->drops_watch;
    c->drops_watch = false;
    r->write = *write;
    r->write.what = what;
    if (what == ZK_DO_MULTI) {
        r->writes = multi;
        r->count = count;
    }
    put_pending(c, &(struct zk_pending){.xid = r->xid,
                                        .what = what,
                                        .path = write->path,
                                        .watch = watch,
                                        .token = token,
                                        .sent_ns = c->e->kernel->now_ns});
    send_request(c, r, now_ns);
    return true;
}

static void send_watches(struct zk_client *c, uint64_t now_ns)
{
    if (c->watch_count == 0)
        return;
    struct zk_request *r = new_request(c, MSG_ZK_SET_WATCHES);
    r->zxid = c->zxid;
    r->count = c->watch_count;
    r->watches = pool_take(c->e->pool, c->watch_count * sizeof *r->watches);
    memcpy(r->watches, c->watches, c->watch_count * sizeof *r->watches);
    send_request(c, r, now_ns);
}

/* ---- attempts ---- */

static unsigned rounds(const struct zk_client *c)
{
    return c->failures / c->server_count + c->short_connections;
}

static uint64_t backoff_ns(struct zk_client *c)
{
    uint64_t d = FIRST_ROUND_MS, longest = (uint64_t)c->timeout_ms / 10;
    if (longest < BACKOFF_MIN_MS)
        longest = BACKOFF_MIN_MS;
    if (longest > BACKOFF_MAX_MS)
        longest = BACKOFF_MAX_MS;
    if (rounds(c) > 0) {
        unsigned n = rounds(c) - 1 < 10 ? rounds(c) - 1 : 10;
        d = (uint64_t)BACKOFF_BASE_MS << n;
        d = d < longest ? d : longest;
    }
    return d * SIM_MS / 2 + stream_below(&c->stream, d * SIM_MS / 2 + 1);
}

static uint64_t attempt_ns(const struct zk_client *c)
{
    uint64_t share = (uint64_t)c->timeout_ms / (c->server_count + 1);
    if (share < ATTEMPT_MIN_MS)
        share = ATTEMPT_MIN_MS;
    share <<= rounds(c) < 6 ? rounds(c) : 6;
    return (share < ATTEMPT_MAX_MS ? share : ATTEMPT_MAX_MS) * SIM_MS;
}

static void go_down(struct zk_client *c, uint64_t now_ns)
{
    if (c->conn)
        conn_close(c->conn, c->node);
    c->conn = NULL;
    c->state = ZK_CLIENT_DOWN;
    c->next_attempt_ns = now_ns + backoff_ns(c);
}

static void attempt(struct zk_client *c, uint64_t now_ns)
{
    c->server = (int)c->order[c->next_server];
    c->next_server = (c->next_server + 1) % c->server_count;
    c->state = ZK_CLIENT_CONNECTING;
    c->attempt_until_ns = now_ns + attempt_ns(c);
    c->connect_sent_ns = now_ns;
    c->conn = net_connect(c->node, &c->e->servers[c->server].node, c);
    struct zk_request *r = new_request(c, MSG_ZK_CONNECT);
    r->session = c->session;
    r->zxid = c->zxid;
    r->timeout_ms = c->asked_ms;
    send_request(c, r, now_ns);
}

/* ---- the end of a connection ---- */

static void fail_pending(struct zk_client *c, int zk_rc)
{
    for (uint32_t n = c->pending_count; n > 0 && c->pending_count > 0; n--) {
        struct zk_pending p = take_pending(c);
        c->ops->result(c->self, &p, zk_rc, NULL);
    }
}

static void ended(struct zk_client *c)
{
    c->state = ZK_CLIENT_ENDED;
    if (c->conn)
        conn_close(c->conn, c->node);
    c->conn = NULL;
    c->ops->closed(c->self);
}

static void connection_ended(struct zk_client *c, int zk_rc, uint64_t now_ns)
{
    bool was_connected = c->state == ZK_CLIENT_CONNECTED;
    if (c->is_closing) {
        ended(c);
        return;
    }
    if (!was_connected)
        c->failures++;
    else if (now_ns - c->connected_ns >= LASTING_NS)
        c->short_connections = 0;
    else
        c->short_connections = c->has_answered ? 1 : c->short_connections + 1;
    go_down(c, now_ns);
    if (!was_connected) {
        if (c->ops->unreachable && c->failures >= c->server_count)
            c->ops->unreachable(c->self);
        return;
    }
    c->ops->suspended(c->self);
    fail_pending(c, zk_rc);
}

void zk_client_lost(struct zk_client *c, uint64_t now_ns)
{
    c->conn = NULL;
    if (c->state != ZK_CLIENT_ENDED)
        connection_ended(c, ZK_CONNECTION_LOSS, now_ns);
}

/* ---- what comes ---- */

static void connected(struct zk_client *c, const struct zk_answer *a, uint64_t now_ns)
{
    if (a->timeout_ms == 0) { /* the session is over */
        c->session = 0;
        c->had_session = false;
        c->zxid = 0;
        c->watch_count = 0;
        c->failures = 0;
        c->short_connections = c->short_connections ? 1 : 0;
        c->timeout_ms = c->asked_ms;
        go_down(c, now_ns);
        c->ops->expired(c->self);
        return;
    }
    bool is_new = !c->had_session;
    c->session = a->session;
    c->had_session = true;
    c->timeout_ms = a->timeout_ms;
    c->state = ZK_CLIENT_CONNECTED;
    c->failures = 0;
    c->has_answered = false;
    c->connected_ns = now_ns;
    if (!is_new)
        send_watches(c, now_ns);
    c->ops->connected(c->self, c->session, c->timeout_ms, is_new,
                      c->e->servers[c->server].node.name);
}

static void answered(struct zk_client *c, const struct zk_answer *a)
{
    assert(c->pending_count > 0);
    struct zk_pending p = take_pending(c);
    assert(p.xid == a->xid);
    c->has_answered = true;
    if (c->is_closing) {
        if (p.what == ZK_DO_CLOSE)
            ended(c);
        return;
    }
    answered_watch(c, &p, a->zk_rc);
    c->ops->result(c->self, &p, a->zk_rc, a);
}

void zk_client_came(struct zk_client *c, struct zk_answer *a, uint64_t now_ns)
{
    c->heard_ns = now_ns;
    if ((a->type == MSG_ZK_ANSWER || a->type == MSG_ZK_PONG) && a->zxid > c->zxid)
        c->zxid = a->zxid;
    switch (a->type) {
    case MSG_ZK_CONNECTED: connected(c, a, now_ns); break;
    case MSG_ZK_ANSWER: answered(c, a); break;
    case MSG_ZK_EVENT:
        c->events++;
        if (take_watch(c, a) && !c->is_closing)
            c->ops->watch(c->self, a);
        break;
    default: break;
    }
    msg_free(c->e->pool, a);
}

/* ---- time ---- */

static uint64_t silence_ns(const struct zk_client *c)
{
    return (uint64_t)c->timeout_ms * SIM_MS * 2 / 3;
}

static uint64_t idle_ns(const struct zk_client *c)
{
    return (uint64_t)c->timeout_ms * SIM_MS / 3;
}

uint64_t zk_client_deadline_ns(const struct zk_client *c)
{
    if (c->is_closing)
        return c->state == ZK_CLIENT_ENDED ? SIM_NEVER : c->close_until_ns;
    switch (c->state) {
    case ZK_CLIENT_DOWN: return c->next_attempt_ns;
    case ZK_CLIENT_CONNECTING: return c->attempt_until_ns;
    case ZK_CLIENT_CONNECTED: {
        uint64_t at = c->heard_ns + silence_ns(c);
        if (c->pending_count == 0 && c->sent_ns + idle_ns(c) < at)
            at = c->sent_ns + idle_ns(c);
        return at;
    }
    case ZK_CLIENT_ENDED: break;
    }
    return SIM_NEVER;
}

void zk_client_tick(struct zk_client *c, uint64_t now_ns)
{
    if (now_ns < zk_client_deadline_ns(c))
        return;
    if (c->is_closing) {
        ended(c);
        return;
    }
    switch (c->state) {
    case ZK_CLIENT_DOWN: attempt(c, now_ns); break;
    case ZK_CLIENT_CONNECTING: connection_ended(c, ZK_CONNECTION_LOSS, now_ns); break;
    case ZK_CLIENT_CONNECTED:
        if (now_ns >= c->heard_ns + silence_ns(c))
            connection_ended(c, ZK_OPERATION_TIMEOUT, now_ns);
        else
            send_request(c, new_request(c, MSG_ZK_PING), now_ns);
        break;
    case ZK_CLIENT_ENDED: break;
    }
}

/* ---- life ---- */

void zk_client_init(struct zk_client *c, struct node *node, struct zk_ensemble *e,
                    const struct zk_client_ops *ops, void *self, int32_t timeout_ms, int only,
                    struct stream stream, uint64_t now_ns)
{
    *c = (struct zk_client){.kind = PEER_ZOOKEEPER,
                            .node = node,
                            .e = e,
                            .ops = ops,
                            .self = self,
                            .stream = stream,
                            .asked_ms = timeout_ms,
                            .timeout_ms = timeout_ms,
                            .server_count = only >= 0 ? 1 : e->count,
                            .next_attempt_ns = now_ns};
    for (unsigned i = 0; i < c->server_count; i++)
        c->order[i] = only >= 0 ? (unsigned)only : i;
    for (unsigned i = c->server_count; i > 1; i--) {
        unsigned k = (unsigned)stream_below(&c->stream, i), other = c->order[i - 1];
        c->order[i - 1] = c->order[k];
        c->order[k] = other;
    }
}

void zk_client_deinit(struct zk_client *c)
{
    pool_give(c->e->pool, c->pending);
    pool_give(c->e->pool, c->watches);
    c->pending = NULL;
    c->watches = NULL;
    c->pending_count = c->pending_cap = c->watch_count = c->watch_cap = 0;
    c->state = ZK_CLIENT_ENDED;
    c->conn = NULL;
}

void zk_client_close(struct zk_client *c, uint64_t close_ms, uint64_t now_ns)
{
    c->is_closing = true;
    c->close_until_ns = now_ns + close_ms * SIM_MS;
    if (c->state != ZK_CLIENT_CONNECTED) {
        ended(c);
        return;
    }
    struct zk_write none = {.what = ZK_DO_CLOSE};
    zk_client_send(c, ZK_DO_CLOSE, &none, false, NULL, 0, 0, now_ns);
    c->is_closing = true;
}
