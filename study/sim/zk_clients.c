/* A server's side towards its clients: connections, the order of their requests, reads, watches. */
#include "study/sim/zk_server.h"
#include <assert.h>
#include <string.h>

/* ---- connections ---- */

static void more_slots(struct zk_server *s)
{
    uint32_t had = s->slot_cap, cap = had ? had * 2 : 64;
    s->slots = pool_resize(s->e->pool, s->slots, cap * sizeof(struct zk_conn *));
    s->free_slots = pool_resize(s->e->pool, s->free_slots, cap * sizeof *s->free_slots);
    for (uint32_t slot = cap; slot-- > had;)
        s->free_slots[s->free_slot_count++] = slot;
    s->slot_cap = cap;
}

struct zk_conn *zk_clients_add(struct zk_server *s, struct conn *conn)
{
    struct zk_conn *c = pool_take(s->e->pool, sizeof *c);
    c->conn = conn;
    c->server = s;
    c->queue_end = &c->queue;
    if (s->free_slot_count == 0)
        more_slots(s);
    uint32_t slot = s->free_slots[--s->free_slot_count];
    s->slots[slot] = c;
    c->tag = (uint64_t)++s->serial << 32 | slot;
    if (s->conn_count == s->conn_cap) {
        s->conn_cap = s->conn_cap ? s->conn_cap * 2 : 64;
        s->conns = pool_resize(s->e->pool, s->conns, s->conn_cap * sizeof(struct zk_conn *));
    }
    c->index = s->conn_count;
    s->conns[s->conn_count++] = c;
    return c;
}

/* Who an answer goes to; NULL: gone meanwhile. */
static struct zk_conn *find_tagged(struct zk_server *s, uint64_t tag)
{
    uint32_t slot = (uint32_t)tag;
    struct zk_conn *c = slot < s->slot_cap ? s->slots[slot] : NULL;
    return c && c->tag == tag ? c : NULL;
}

static void forget_watch(struct zk_server *s, struct zk_watch *w)
{
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    *w->link_conn = w->next_conn;
    if (w->next_conn)
        w->next_conn->link_conn = w->link_conn;
    pool_give(s->e->pool, w);
    s->watch_count--;
}

static void free_conn(struct zk_server *s, struct zk_conn *c)
{
    while (c->watches)
        forget_watch(s, c->watches);
    while (c->queue) {
        struct zk_request *r = c->queue;
        c->queue = r->next;
        msg_free(s->e->pool, r);
    }
    uint32_t slot = (uint32_t)c->tag;
    s->slots[slot] = NULL;
    s->free_slots[s->free_slot_count++] = slot;
    s->conns[c->index] = s->conns[--s->conn_count];
    s->conns[c->index]->index = c->index;
    pool_give(s->e->pool, c);
}

static void cut_off(struct zk_server *s, struct zk_conn *c)
{
    conn_close(c->conn, &s->node);
    free_conn(s, c);
}

void zk_clients_closed(struct zk_server *s, struct zk_conn *c)
{
    free_conn(s, c);
}

void zk_clients_drop(struct zk_server *s)
{
    while (s->conn_count > 0)
        cut_off(s, s->conns[s->conn_count - 1]);
}

/* ---- answers ---- */

static struct zk_answer *new_answer(struct zk_server *s, enum msg_type type, uint32_t xid)
{
    struct zk_answer *a = pool_take(s->e->pool, sizeof *a);
    a->type = type;
    a->xid = xid;
    a->zxid = zk_server_zxid(s);
    a->sent_ns = s->e->kernel->now_ns;
    return a;
}

static void send_answer(struct zk_server *s, struct zk_conn *c, struct zk_answer *a)
{
    conn_send(c->conn, &s->node, a);
}

/* False: the answer is lost, and the connection with it. */
static bool may_answer(struct zk_server *s, struct zk_conn *c, enum zk_do what, uint32_t path)
{
    struct zk_ensemble *e = s->e;
    if (!e->loses_answer || !e->loses_answer(e->user, conn_peer(c->conn, &s->node), what, path))
        return true;
    cut_off(s, c);
    return false;
}

/* ---- watches ---- */

static void make_room(struct zk_server *s, uint32_t path)
{
    if (path < s->watch_cap)
        return;
    uint32_t cap = s->watch_cap ? s->watch_cap : 1024;
    while (path >= cap)
        cap *= 2;
    s->data_watches = pool_resize(s->e->pool, s->data_watches, cap * sizeof(struct zk_watch *));
    s->child_watches = pool_resize(s->e->pool, s->child_watches, cap * sizeof(struct zk_watch *));
    for (uint32_t i = 0; i < s->watch_cap; i++) { /* they know where they hang */
        if (s->data_watches[i])
            s->data_watches[i]->link = &s->data_watches[i];
        if (s->child_watches[i])
            s->child_watches[i]->link = &s->child_watches[i];
    }
    s->watch_cap = cap;
}

/* WatchManager.addWatch: a set, one of each client. */
static void add_watch(struct zk_server *s, struct zk_conn *c, uint32_t path, bool is_child)
{
    make_room(s, path);
    for (struct zk_watch *w = c->watches; w; w = w->next_conn)
        if (w->path == path && w->is_child == is_child)
            return;
    struct zk_watch **head = is_child ? &s->child_watches[path] : &s->data_watches[path];
    struct zk_watch *w = pool_take(s->e->pool, sizeof *w);
    w->conn = c;
    w->path = path;
    w->is_child = is_child;
    w->next = *head;
    w->link = head;
    if (w->next)
        w->next->link = &w->next;
    *head = w;
    w->next_conn = c->watches;
    w->link_conn = &c->watches;
    if (w->next_conn)
        w->next_conn->link_conn = &w->next_conn;
    c->watches = w;
    s->watch_count++;
}

static void send_event(struct zk_server *s, struct zk_conn *c, enum zk_event_type type,
                       uint32_t path)
{
    struct zk_answer *a = new_answer(s, MSG_ZK_EVENT, 0);
    a->event = type;
    a->path = path;
    send_answer(s, c, a);
}

static bool has_watch(const struct zk_watch *list, const struct zk_conn *c)
{
    for (; list; list = list->next)
        if (list->conn == c)
            return true;
    return false;
}

/* All watches of one list, but for clients that `told` has told already. */
static void fire(struct zk_server *s, struct zk_watch **list, enum zk_event_type type,
                 uint32_t path, const struct zk_watch *told)
{
    while (*list) {
        struct zk_conn *c = (*list)->conn;
        forget_watch(s, *list);
        if (!has_watch(told, c))
            send_event(s, c, type, path);
    }
}

/* A node goes: who watched its data is told, then who watched its children and nothing else
 * (DataTree.deleteNode: `processed`). */
static void fire_deleted(struct zk_server *s, uint32_t path)
{
    struct zk_watch **data = &s->data_watches[path], **child = &s->child_watches[path];
    for (struct zk_watch *w = *child, *next; w; w = next) {
        next = w->next;
        if (has_watch(*data, w->conn))
            forget_watch(s, w);
    }
    fire(s, data, ZK_EVENT_DELETED, path, NULL);
    fire(s, child, ZK_EVENT_DELETED, path, NULL);
}

void zk_clients_changed(void *server, const struct zk_part *part)
{
    struct zk_server *s = server;
    uint32_t parent = zk_path_at(&s->e->paths, part->path)->parent;
    if (s->conn_count == 0)
        return;
    make_room(s, part->path > parent ? part->path : parent);
    switch (part->what) {
    case ZK_DO_CREATE:
        fire(s, &s->data_watches[part->path], ZK_EVENT_CREATED, part->path, NULL);
        fire(s, &s->child_watches[parent], ZK_EVENT_CHILDREN_CHANGED, parent, NULL);
        break;
    case ZK_DO_DELETE:
        fire_deleted(s, part->path);
        fire(s, &s->child_watches[parent], ZK_EVENT_CHILDREN_CHANGED, parent, NULL);
        break;
    case ZK_DO_SET:
        fire(s, &s->data_watches[part->path], ZK_EVENT_DATA_CHANGED, part->path, NULL);
        break;
    default: break;
    }
}

/* DataTree.setWatches: what was missed fires at once. */
static void set_watch(struct zk_server *s, struct zk_conn *c, const struct zk_watch_name *w,
                      int64_t seen_zxid)
{
    const struct znode *n = zk_tree_node(&s->tree, w->path);
    switch (w->kind) {
    case ZK_WATCH_DATA:
        if (!n)
            send_event(s, c, ZK_EVENT_DELETED, w->path);
        else if (n->mzxid > seen_zxid)
            send_event(s, c, ZK_EVENT_DATA_CHANGED, w->path);
        else
            add_watch(s, c, w->path, false);
        return;
    case ZK_WATCH_EXISTS:
        if (n)
            send_event(s, c, ZK_EVENT_CREATED, w->path);
        else
            add_watch(s, c, w->path, false);
        return;
    case ZK_WATCH_CHILD:
        if (!n)
            send_event(s, c, ZK_EVENT_DELETED, w->path);
        else if (n->pzxid > seen_zxid)
            send_event(s, c, ZK_EVENT_CHILDREN_CHANGED, w->path);
        else
            add_watch(s, c, w->path, true);
        return;
    }
}

/* ---- reads ---- */

/* FinalRequestProcessor: exists leaves its watch whatever it finds, the others only on a node. */
static void read_node(struct zk_server *s, struct zk_conn *c, const struct zk_request *r,
                      struct zk_answer *a)
{
    struct znode *n = zk_tree_node(&s->tree, r->write.path);
    if (r->watch && (n || r->what == ZK_DO_EXISTS))
        add_watch(s, c, r->write.path, r->what == ZK_DO_CHILDREN);
    if (!n) {
        a->zk_rc = ZK_NO_NODE;
        return;
    }
    zk_tree_stat(n, &a->stat);
    if (r->what == ZK_DO_GET)
        a->data = value_ref(n->data);
    else if (r->what == ZK_DO_CHILDREN)
        a->names = zk_tree_names(&s->tree, n);
}

static void pump(struct zk_server *s, struct zk_conn *c);

struct read_job {
    uint64_t tag;
};

static void read_now(void *self, void *arg)
{
    struct zk_server *s = self;
    struct read_job *job = arg;
    struct zk_conn *c = find_tagged(s, job->tag);
    pool_give(s->e->pool, job);
    if (!c)
        return;
    struct zk_request *r = c->queue;
    c->queue = r->next;
    if (!c->queue)
        c->queue_end = &c->queue;
    c->is_reading = false;
    if (r->type == MSG_ZK_SET_WATCHES) {
        for (uint32_t i = 0; i < r->count; i++)
            set_watch(s, c, &r->watches[i], r->zxid);
    } else {
        struct zk_answer *a = new_answer(s, MSG_ZK_ANSWER, r->xid);
        read_node(s, c, r, a);
        if (!may_answer(s, c, r->what, r->write.path)) {
            msg_free(s->e->pool, a);
            msg_free(s->e->pool, r);
            return;
        }
        send_answer(s, c, a);
    }
    msg_free(s->e->pool, r);
    pump(s, c);
}

/* ---- the order of requests ---- */

static bool is_read(const struct zk_request *r)
{
    return r->type == MSG_ZK_SET_WATCHES || r->what == ZK_DO_EXISTS || r->what == ZK_DO_GET ||
           r->what == ZK_DO_CHILDREN;
}

/* First in, first out: reads wait for the writes before them, writes do not wait for each other
 * (CommitProcessor). */
static void pump(struct zk_server *s, struct zk_conn *c)
{
    while (c->queue && !c->is_reading) {
        struct zk_request *r = c->queue;
        if (is_read(r)) {
            if (c->in_flight > 0)
                return;
            c->is_reading = true;
            uint64_t now = s->e->kernel->now_ns;
            s->cpu_until_ns =
                (s->cpu_until_ns > now ? s->cpu_until_ns : now) + s->e->config.read_ns;
            struct read_job *job = pool_take(s->e->pool, sizeof *job);
            job->tag = c->tag;
            node_later(&s->node, s->cpu_until_ns, read_now, job);
            return;
        }
        c->queue = r->next;
        if (!c->queue)
            c->queue_end = &c->queue;
        r->next = NULL;
        r->session = c->session;
        r->origin = s->index;
        r->origin_tag = c->tag;
        c->in_flight++;
        if (r->what == ZK_DO_SYNC) {
            zk_quorum_sync(s, c->tag, r->xid);
            msg_free(s->e->pool, r);
        } else {
            zk_quorum_submit(s, r);
        }
    }
}

/* ---- sessions ---- */

static void send_connected(struct zk_server *s, struct zk_conn *c, int32_t timeout_ms)
{
    struct zk_answer *a = new_answer(s, MSG_ZK_CONNECTED, 0);
    a->session = timeout_ms ? c->session : 0;
    a->timeout_ms = timeout_ms;
    send_answer(s, c, a);
    if (timeout_ms == 0) {
        cut_off(s, c);
        return;
    }
    c->is_attached = true;
    pump(s, c);
}

/* A session comes back: what its connection before still brings to this server is not read any
 * more (ServerCnxnFactory.closeSession; elsewhere it is refused, SESSIONMOVED). */
static void cut_off_former(struct zk_server *s, const struct zk_conn *c)
{
    for (uint32_t i = s->conn_count; i-- > 0;)
        if (s->conns[i] != c && s->conns[i]->session == c->session)
            cut_off(s, s->conns[i]);
}

/* ZooKeeperServer.processConnectRequest: not with a client that has seen more than we have. */
static void connect(struct zk_server *s, struct zk_conn *c, struct zk_request *r)
{
    int32_t tick = (int32_t)s->e->config.tick_ms;
    int32_t timeout = r->timeout_ms < 2 * tick    ? 2 * tick
                      : r->timeout_ms > 20 * tick ? 20 * tick
                                                  : r->timeout_ms;
    if (r->zxid > zk_server_zxid(s)) {
        cut_off(s, c);
        msg_free(s->e->pool, r);
        return;
    }
    if (r->session) {
        c->session = r->session;
        cut_off_former(s, c);
        zk_quorum_revalidate(s, r->session, c->tag);
        msg_free(s->e->pool, r);
        return;
    }
    c->session = (uint64_t)(s->index + 1) << 56 | (uint64_t)s->epoch << 24 | ++s->sessions_made;
    r->what = ZK_DO_OPEN;
    r->session = c->session;
    r->timeout_ms = timeout;
    r->origin = s->index;
    r->origin_tag = c->tag;
    zk_quorum_submit(s, r);
}

void zk_clients_revalidated(struct zk_server *s, const struct zk_peer_msg *m)
{
    struct zk_conn *c = find_tagged(s, m->tag);
    if (!c)
        return;
    const struct zk_session_entry *entry = zk_tree_session(&s->tree, c->session);
    send_connected(s, c, m->is_valid && entry ? entry->timeout_ms : 0);
}

void zk_clients_synced(struct zk_server *s, uint64_t tag, uint32_t xid)
{
    struct zk_conn *c = find_tagged(s, tag);
    if (!c)
        return;
    c->in_flight--;
    if (!may_answer(s, c, ZK_DO_SYNC, ZK_PATH_ROOT))
        return;
    send_answer(s, c, new_answer(s, MSG_ZK_ANSWER, xid));
    pump(s, c);
}

/* ---- what was applied ---- */

/* A part that sets data tells what the node is like; of one that a later part deletes, only what
 * the transaction itself knows. */
static struct zk_stat part_stat(const struct zk_server *s, const struct zk_txn *x,
                                const struct zk_part *part)
{
    const struct znode *n = zk_tree_node(&s->tree, part->path);
    struct zk_stat_full full = {0};
    if (part->what != ZK_DO_SET)
        return full.stat;
    if (n)
        zk_tree_stat(n, &full);
    full.stat.version = part->version;
    full.stat.mzxid = x->zxid;
    return full.stat;
}

static void answer_parts(struct zk_server *s, struct zk_answer *a, const struct zk_txn *x)
{
    a->part_count = x->rcs ? x->rc_count : x->count;
    a->parts = pool_take(s->e->pool, a->part_count * sizeof *a->parts);
    for (uint32_t i = 0; i < a->part_count; i++) {
        if (x->rcs)
            a->parts[i].zk_rc = x->rcs[i];
        else
            a->parts[i].stat = part_stat(s, x, &x->parts[i]);
    }
}

static void answer_write(struct zk_server *s, struct zk_conn *c, const struct zk_txn *x)
{
    c->in_flight--;
    if (x->zk_rc == ZK_SESSION_MOVED) {
        /* Not an answer but the end of the connection (FinalRequestProcessor, ZOOKEEPER-710): the
         * leader may believe in an attach that the client has given up, for ever. */
        cut_off(s, c);
        return;
    }
    if (!may_answer(s, c, x->what, x->count ? x->parts[0].path : ZK_PATH_ROOT))
        return;
    struct zk_answer *a = new_answer(s, MSG_ZK_ANSWER, x->xid);
    a->zxid = x->zxid;
    a->zk_rc = x->zk_rc;
    if (x->zk_rc == ZK_OK && x->what == ZK_DO_SET)
        zk_tree_stat(zk_tree_node(&s->tree, x->parts[0].path), &a->stat);
    if (x->what == ZK_DO_MULTI)
        answer_parts(s, a, x);
    send_answer(s, c, a);
    pump(s, c);
}

static void session_ended(struct zk_server *s, const struct zk_txn *x)
{
    for (uint32_t i = s->conn_count; i-- > 0;) {
        struct zk_conn *c = s->conns[i];
        if (c->session != x->session)
            continue;
        if (x->origin == s->index && x->origin_tag == c->tag) {
            struct zk_answer *a = new_answer(s, MSG_ZK_ANSWER, x->xid);
            send_answer(s, c, a);
        }
        cut_off(s, c);
    }
}

void zk_clients_applied(struct zk_server *s, const struct zk_txn *x)
{
    if (x->what == ZK_DO_CLOSE) {
        session_ended(s, x);
        return;
    }
    struct zk_conn *c = x->origin == s->index ? find_tagged(s, x->origin_tag) : NULL;
    if (!c)
        return;
    if (x->what == ZK_DO_OPEN)
        send_connected(s, c, x->timeout_ms);
    else
        answer_write(s, c, x);
}

/* ---- what comes ---- */

void zk_clients_came(struct zk_server *s, struct zk_conn *c, void *message)
{
    struct zk_request *r = message;
    if (!zk_server_serves(s)) {
        msg_free(s->e->pool, r);
        cut_off(s, c);
        return;
    }
    zk_quorum_touch(s, c);
    switch (r->type) {
    case MSG_ZK_CONNECT: connect(s, c, r); return;
    case MSG_ZK_PING:
        send_answer(s, c, new_answer(s, MSG_ZK_PONG, 0));
        msg_free(s->e->pool, r);
        return;
    default: break;
    }
    r->next = NULL;
    *c->queue_end = r;
    c->queue_end = &r->next;
    if (c->is_attached)
        pump(s, c);
}
