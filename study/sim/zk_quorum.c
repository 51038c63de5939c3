/* Servers among themselves, while roles stand: the leader's transactions, logs, commits, sessions;
 * what a follower does with them. */
#include "study/sim/zk_quorum.h"
#include <assert.h>
#include <string.h>

struct zk_peer_msg *zk_peer_msg_new(struct zk_server *s, enum msg_type type)
{
    struct zk_peer_msg *m = pool_take(s->e->pool, sizeof *m);
    m->type = type;
    return m;
}

static void to_leader(struct zk_server *s, void *m)
{
    if (s->leader_conn)
        conn_send(s->leader_conn, &s->node, m);
    else
        msg_free(s->e->pool, m);
}

void zk_send_leader(struct zk_server *s, struct zk_peer_msg *m)
{
    to_leader(s, m);
}

int64_t zk_server_last_zxid(const struct zk_server *s)
{
    return s->log.count ? zk_log_last(&s->log)->zxid : s->tree.zxid;
}

/* ---- the disk: one flush at a time, which takes all that came before it began ---- */

static uint64_t flush_ns(struct zk_server *s)
{
    return stream_draw(&s->disk_stream, &s->e->config.fsync) + s->stall_ns;
}

static uint64_t written_at(struct zk_server *s)
{
    uint64_t now = zk_now(s);
    if (s->disk_next_ns && now >= s->disk_until_ns) {
        s->disk_until_ns = s->disk_next_ns;
        s->disk_next_ns = 0;
    }
    if (now >= s->disk_until_ns) {
        s->disk_until_ns = now + flush_ns(s);
        return s->disk_until_ns;
    }
    if (!s->disk_next_ns)
        s->disk_next_ns = s->disk_until_ns + flush_ns(s);
    return s->disk_next_ns;
}

struct disk_job {
    int64_t zxid;
    uint32_t turn; /* of the server, when it was written: a log may have been cut since */
};

static void written(void *self, void *arg)
{
    struct zk_server *s = self;
    struct disk_job *job = arg;
    int64_t zxid = job->zxid;
    bool is_stale = job->turn != s->turn;
    pool_give(s->e->pool, job);
    if (is_stale)
        return;
    if (zxid > s->durable_zxid)
        s->durable_zxid = zxid;
    s->current_epoch = s->epoch; /* the leader's history was the first thing to be written */
    if (s->role == ZK_LEADING) {
        zk_commit_ready(s);
    } else if (s->role == ZK_FOLLOWING) {
        struct zk_peer_msg *m = zk_peer_msg_new(s, MSG_ZK_ACK);
        m->zxid = zxid;
        zk_send_leader(s, m);
    }
}

void zk_flush_log(struct zk_server *s)
{
    struct disk_job *job = pool_take(s->e->pool, sizeof *job);
    job->zxid = zk_server_last_zxid(s);
    job->turn = s->turn;
    node_later(&s->node, written_at(s), written, job);
}

/* Takes over the reference. */
static void write_log(struct zk_server *s, struct zk_txn *x)
{
    zk_log_put(&s->log, s->e->pool, x);
    zk_flush_log(s);
}

/* ---- the truth ---- */

struct zk_txn *zk_history_at(const struct zk_ensemble *e, size_t number)
{
    return e->history[number - e->history_first];
}

static size_t history_end(const struct zk_ensemble *e)
{
    return e->history_first + e->history_count;
}

/* What everybody has applied is not needed any more. */
static void shorten_history(struct zk_ensemble *e)
{
    size_t least = history_end(e);
    for (unsigned i = 0; i < e->count; i++)
        if (e->servers[i].applied < least)
            least = e->servers[i].applied;
    size_t n = least - e->history_first;
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        zk_txn_unref(e->pool, e->history[i]);
    memmove(e->history, e->history + n, (e->history_count - n) * sizeof(struct zk_txn *));
    e->history_count -= n;
    e->history_first = least;
}

static void add_history(struct zk_server *leader, struct zk_txn *x)
{
    struct zk_ensemble *e = leader->e;
    if (e->history_count == e->history_cap) {
        shorten_history(e);
        if (e->history_count > e->history_cap / 2) {
            e->history_cap *= 2;
            e->history = pool_resize(e->pool, e->history, e->history_cap * sizeof(struct zk_txn *));
        }
    }
    e->history[e->history_count++] = zk_txn_ref(x);
    zk_admin_committed(e, x);
    if (e->on_commit)
        e->on_commit(e->user, x, leader);
    zk_tree_apply(&e->truth, x, NULL, NULL);
}

void zk_apply_next(struct zk_server *s)
{
    struct zk_txn *x = zk_txn_ref(zk_history_at(s->e, s->applied));
    if (zk_log_head(&s->log)) {
        assert(zk_log_head(&s->log)->zxid == x->zxid); /* Z11: one order */
        zk_log_pop(&s->log, s->e->pool);
    }
    s->applied++;
    zk_tree_apply(&s->tree, x, zk_clients_changed, s);
    zk_clients_applied(s, x);
    zk_txn_unref(s->e->pool, x);
}

/* ---- the leader ---- */

static unsigned acks_of(const struct zk_server *s, int64_t zxid)
{
    unsigned n = s->durable_zxid >= zxid;
    for (unsigned i = 0; i < s->e->count; i++)
        n += s->followers[i].conn && s->followers[i].acked_zxid >= zxid;
    return n;
}

void zk_tell_followers(struct zk_server *s, enum msg_type type, struct zk_txn *x, int64_t zxid)
{
    for (unsigned i = 0; i < s->e->count; i++) {
        struct zk_follower *f = &s->followers[i];
        if (!f->conn || f->stage < ZK_WELCOMED)
            continue;
        struct zk_peer_msg *m = zk_peer_msg_new(s, type);
        m->zxid = zxid;
        m->txn = x ? zk_txn_ref(x) : NULL;
        conn_send(f->conn, &s->node, m);
    }
}

static void answer_sync(struct zk_server *s, const struct zk_sync_waiter *w)
{
    if (w->origin == s->index) {
        zk_clients_synced(s, w->tag, w->xid);
        return;
    }
    struct zk_follower *f = &s->followers[w->origin];
    if (!f->conn)
        return;
    struct zk_peer_msg *m = zk_peer_msg_new(s, MSG_ZK_SYNCED);
    m->tag = w->tag;
    m->xid = w->xid;
    conn_send(f->conn, &s->node, m);
}

static void answer_syncs(struct zk_server *s)
{
    while (s->syncs && s->syncs->after_zxid <= s->tree.zxid) {
        struct zk_sync_waiter *w = s->syncs;
        s->syncs = w->next;
        if (!s->syncs)
            s->syncs_end = &s->syncs;
        answer_sync(s, w);
        pool_give(s->e->pool, w);
    }
}

/* What a quorum has on disk is committed, in order. Another leader may have done so already: an
 * earlier one, as we find when we begin to lead; or a later one, while we stood still with the word
 * of a quorum in our inbox. The epochs see to it that it was the same. */
void zk_commit_ready(struct zk_server *s)
{
    while (s->role == ZK_LEADING && s->stage == ZK_LEAD_SERVES && zk_log_head(&s->log)) {
        struct zk_txn *x = zk_log_head(&s->log);
        if (acks_of(s, x->zxid) < s->e->quorum)
            return;
        if (s->applied == history_end(s->e))
            add_history(s, x);
        int64_t zxid = x->zxid;
        zk_apply_next(s);
        zk_tell_followers(s, MSG_ZK_COMMIT, NULL, zxid);
        answer_syncs(s);
    }
}

/* ---- sessions, at the leader ---- */

uint64_t zk_tick_after(const struct zk_server *s, uint64_t t_ns)
{
    uint64_t tick = zk_tick_ns(s);
    return ((t_ns + tick - s->phase_ns) / tick + 1) * tick + s->phase_ns - tick;
}

static void touch(struct zk_server *s, uint64_t session)
{
    struct zk_session_entry *entry = zk_tree_session(&s->prep, session);
    if (!entry || entry->is_closing)
        return;
    uint64_t at = zk_tick_after(s, zk_now(s) + (uint64_t)entry->timeout_ms * SIM_MS);
    if (at > entry->expires_ns)
        entry->expires_ns = at;
}

void zk_quorum_touch(struct zk_server *s, struct zk_conn *c)
{
    c->is_touched = true;
    if (s->role == ZK_LEADING)
        touch(s, c->session);
}

static bool revalidate(struct zk_server *s, uint64_t session, int server)
{
    struct zk_session_entry *entry = zk_tree_session(&s->prep, session);
    if (!entry || entry->is_closing)
        return false;
    entry->owner = server;
    touch(s, session);
    return true;
}

void zk_quorum_revalidate(struct zk_server *s, uint64_t session, uint64_t tag)
{
    struct zk_peer_msg *m = zk_peer_msg_new(s, MSG_ZK_REVALIDATE);
    m->session = session;
    m->tag = tag;
    if (s->role != ZK_LEADING) {
        zk_send_leader(s, m);
        return;
    }
    m->is_valid = revalidate(s, session, s->index);
    zk_clients_revalidated(s, m);
    msg_free(s->e->pool, m);
}

/* ---- writes, at the leader ---- */

static struct zk_request *internal_request(struct zk_server *s, enum zk_do what, uint64_t session)
{
    struct zk_request *r = pool_take(s->e->pool, sizeof *r);
    r->type = MSG_ZK_FORWARD;
    r->what = what;
    r->session = session;
    r->origin = -1;
    r->turn = s->turn;
    return r;
}

static bool is_moved(const struct zk_server *s, const struct zk_request *r)
{
    const struct zk_session_entry *entry =
        r->session ? zk_tree_session(&s->prep, r->session) : NULL;
    return entry && r->origin >= 0 && r->what != ZK_DO_CLOSE && entry->owner != r->origin;
}

static struct zk_txn *make_txn(struct zk_server *s, struct zk_request *r)
{
    int64_t zxid = ((int64_t)s->epoch << 32) + ++s->counter;
    struct zk_txn *x;
    if (is_moved(s, r)) {
        x = zk_txn_new(s->e->pool, 0);
        x->zxid = s->prep.zxid = zxid;
        x->what = r->what;
        x->session = r->session;
        x->zk_rc = ZK_SESSION_MOVED;
    } else {
        bool is_multi = r->what == ZK_DO_MULTI;
        uint32_t count = is_multi ? r->count : r->what <= ZK_DO_SET ? 1 : 0;
        x = zk_tree_prepare(&s->prep, r->what, r->session, is_multi ? r->writes : &r->write, count,
                            zxid);
    }
    if (r->part_of) {
        x->what = ZK_DO_CLOSE;
        x->session = r->part_of;
    }
    x->origin = r->origin;
    x->origin_tag = r->origin_tag;
    x->xid = r->xid;
    return x;
}

static void open_session(struct zk_server *s, struct zk_txn *x, const struct zk_request *r)
{
    x->timeout_ms = r->timeout_ms;
    zk_tree_apply(&s->prep, x, NULL, NULL);
    struct zk_session_entry *entry = zk_tree_session(&s->prep, x->session);
    entry->owner = r->origin;
    touch(s, x->session);
}

static void propose(void *self, void *arg)
{
    struct zk_server *s = self;
    struct zk_request *r = arg;
    if (s->role != ZK_LEADING || r->turn != s->turn) {
        msg_free(s->e->pool, r);
        return;
    }
    if (r->what == ZK_DO_SYNC) {
        struct zk_sync_waiter *w = pool_take(s->e->pool, sizeof *w);
        *w = (struct zk_sync_waiter){.after_zxid = zk_server_last_zxid(s),
                                     .origin = r->origin,
                                     .tag = r->origin_tag,
                                     .xid = r->xid};
        *s->syncs_end = w;
        s->syncs_end = &w->next;
        answer_syncs(s);
        msg_free(s->e->pool, r);
        return;
    }
    struct zk_txn *x = make_txn(s, r);
    if (r->what == ZK_DO_OPEN)
        open_session(s, x, r);
    msg_free(s->e->pool, r);
    zk_tell_followers(s, MSG_ZK_PROPOSE, x, x->zxid);
    write_log(s, x);
}

/* Through the leader's one queue; each takes some time, or ties could be shuffled. */
static void lead_request(struct zk_server *s, struct zk_request *r)
{
    uint64_t now = zk_now(s), cost = r->what == ZK_DO_SYNC ? 1 : s->e->config.write_ns + 1;
    r->turn = s->turn;
    s->cpu_until_ns = (s->cpu_until_ns > now ? s->cpu_until_ns : now) + cost;
    node_later(&s->node, s->cpu_until_ns, propose, r);
}

void zk_quorum_submit(struct zk_server *s, struct zk_request *r)
{
    r->type = MSG_ZK_FORWARD;
    if (s->role == ZK_LEADING)
        lead_request(s, r);
    else
        to_leader(s, r);
}

void zk_quorum_sync(struct zk_server *s, uint64_t tag, uint32_t xid)
{
    struct zk_request *r = internal_request(s, ZK_DO_SYNC, 0);
    r->origin = s->index;
    r->origin_tag = tag;
    r->xid = xid;
    zk_quorum_submit(s, r);
}

void zk_quorum_forwarded(struct zk_server *s, struct zk_request *r)
{
    if (s->role == ZK_LEADING)
        lead_request(s, r);
    else
        msg_free(s->e->pool, r);
}

/* ---- the leader's clock ---- */

/* A planted bug: a session's nodes go one after the other. */
static void expire_in_parts(struct zk_server *s, const struct zk_session_entry *entry)
{
    uint64_t at = zk_now(s);
    for (struct java_cursor c = java_set_first(&entry->ephemerals); c.entry;
         java_set_next(&entry->ephemerals, &c)) {
        struct zk_request *r = internal_request(s, ZK_DO_DELETE, 0);
        r->write =
            (struct zk_write){.what = ZK_DO_DELETE, .path = c.entry->id, .version = ZK_ANY_VERSION};
        r->part_of = entry->id;
        node_later(&s->node, at, propose, r);
        at += 50 * SIM_MS;
    }
    node_later(&s->node, at, propose, internal_request(s, ZK_DO_CLOSE, entry->id));
}

void zk_expire_sessions(struct zk_server *s)
{
    uint64_t now = zk_now(s);
    for (size_t i = 0; i < ZK_SESSION_TABLE; i++)
        for (struct zk_session_entry *entry = s->prep.sessions[i]; entry; entry = entry->next) {
            if (entry->is_closing || entry->expires_ns > now)
                continue;
            entry->is_closing = true;
            if (s->e->bugs & SIM_BUG_EXPIRY_IN_PARTS)
                expire_in_parts(s, entry);
            else
                lead_request(s, internal_request(s, ZK_DO_CLOSE, entry->id));
        }
}

/* ---- the follower ---- */

static void proposed(struct zk_server *s, struct zk_peer_msg *m)
{
    assert(m->txn->zxid > zk_server_last_zxid(s));
    write_log(s, zk_txn_ref(m->txn));
}

void zk_commit_until(struct zk_server *s, int64_t zxid)
{
    while (s->tree.zxid < zxid && s->applied < history_end(s->e))
        zk_apply_next(s);
}

struct apply_job {
    enum msg_type type; /* COMMIT or SYNCED */
    int64_t zxid;
    uint64_t tag;
    uint32_t xid;
    uint32_t turn;
};

static void carry_out(struct zk_server *s, const struct apply_job *job)
{
    if (!zk_server_serves(s) || s->turn != job->turn)
        return;
    if (job->type == MSG_ZK_SYNCED)
        zk_clients_synced(s, job->tag, job->xid);
    else
        zk_commit_until(s, job->zxid);
}

static void apply_later(void *self, void *arg)
{
    struct zk_server *s = self;
    carry_out(s, arg);
    pool_give(s->e->pool, arg);
}

/* In order, and late if the server lags. */
static void in_order(struct zk_server *s, const struct zk_peer_msg *m)
{
    struct apply_job job = {m->type, m->zxid, m->tag, m->xid, s->turn};
    uint64_t now = zk_now(s), at = now + s->lag_ns;
    if (at <= s->applied_until_ns)
        at = s->applied_until_ns + 1;
    if (at == now || (s->lag_ns == 0 && s->applied_until_ns < now)) {
        carry_out(s, &job);
        return;
    }
    s->applied_until_ns = at;
    struct apply_job *copy = pool_take(s->e->pool, sizeof *copy);
    *copy = job;
    node_later(&s->node, at, apply_later, copy);
}

static void report_touched(struct zk_server *s)
{
    struct zk_peer_msg *m = zk_peer_msg_new(s, MSG_ZK_TOUCHED);
    m->sessions = pool_take(s->e->pool, (s->conn_count + 1) * sizeof *m->sessions);
    for (uint32_t i = 0; i < s->conn_count; i++) {
        struct zk_conn *c = s->conns[i];
        if (c->is_touched && c->is_attached)
            m->sessions[m->count++] = c->session;
        c->is_touched = false;
    }
    zk_send_leader(s, m);
}

/* ---- what comes ---- */

static void leader_came(struct zk_server *s, struct conn *conn, struct zk_peer_msg *m)
{
    int index = ((struct zk_server *)conn_peer(conn, &s->node)->self)->index;
    struct zk_follower *f = &s->followers[index];
    if (m->type == MSG_ZK_HELLO) {
        zk_hello_came(s, conn);
        return;
    }
    if (f->conn != conn)
        return;
    f->heard_ns = zk_now(s);
    switch (m->type) {
    case MSG_ZK_ACK:
        if (m->zxid > f->acked_zxid)
            f->acked_zxid = m->zxid;
        zk_lead_on(s);
        zk_commit_ready(s);
        break;
    case MSG_ZK_PROMISE: zk_promise_came(s, f, m); break;
    case MSG_ZK_TOUCHED:
        for (size_t i = 0; i < m->count; i++)
            touch(s, m->sessions[i]);
        break;
    case MSG_ZK_REVALIDATE: {
        struct zk_peer_msg *answer = zk_peer_msg_new(s, MSG_ZK_REVALIDATED);
        answer->session = m->session;
        answer->tag = m->tag;
        answer->is_valid = revalidate(s, m->session, index);
        conn_send(conn, &s->node, answer);
        break;
    }
    default: break;
    }
}

static void follower_came(struct zk_server *s, struct zk_peer_msg *m)
{
    s->heard_ns = zk_now(s);
    switch (m->type) {
    case MSG_ZK_EPOCH: zk_epoch_came(s, m); break;
    case MSG_ZK_WELCOME: zk_welcome_came(s, m); break;
    case MSG_ZK_UP_TO_DATE: zk_up_to_date_came(s, m); break;
    case MSG_ZK_PROPOSE: proposed(s, m); break;
    case MSG_ZK_COMMIT:
    case MSG_ZK_SYNCED: in_order(s, m); break;
    case MSG_ZK_LEADER_PING: report_touched(s); break;
    case MSG_ZK_REVALIDATED: zk_clients_revalidated(s, m); break;
    default: break;
    }
}

void zk_quorum_came(struct zk_server *s, struct conn *conn, struct zk_peer_msg *m)
{
    if (s->role == ZK_LEADING && conn != s->leader_conn)
        leader_came(s, conn, m);
    else if (s->role == ZK_FOLLOWING && conn == s->leader_conn)
        follower_came(s, m);
    else
        conn_close(conn, &s->node); /* not what it takes us for */
    msg_free(s->e->pool, m);
}

void zk_quorum_closed(struct zk_server *s, struct conn *conn)
{
    if (conn == s->leader_conn) {
        s->leader_conn = NULL;
        zk_quorum_look(s);
        return;
    }
    for (unsigned i = 0; i < s->e->count; i++)
        if (s->followers[i].conn == conn)
            s->followers[i] = (struct zk_follower){0};
}
