/* Servers among themselves: the leader's transactions, logs, commits, sessions; what a follower
 * does with them; and what each does when it hears nothing of the others. */
#include "study/sim/zk_server.h"
#include <assert.h>
#include <string.h>

static uint64_t now_of(const struct zk_server *s)
{
    return s->e->kernel->now_ns;
}

static uint64_t tick_ns(const struct zk_server *s)
{
    return s->e->config.tick_ms * SIM_MS;
}

static uint64_t patience_ns(const struct zk_server *s)
{
    return tick_ns(s) * s->e->config.sync_limit;
}

bool zk_server_serves(const struct zk_server *s)
{
    return (s->role == ZK_FOLLOWING && !s->is_joining) || (s->role == ZK_LEADING && s->is_serving);
}

const char *zk_role_name(enum zk_role role)
{
    static const char *const names[] = {"down", "looking", "following", "leading"};
    return names[role];
}

static void take_role(struct zk_server *s, enum zk_role role)
{
    s->role = role;
    if (s->e->on_role)
        s->e->on_role(s->e->user, s);
}

/* ---- the log ---- */

static void log_put(struct zk_server *s, struct zk_txn *x)
{
    struct zk_log *l = &s->log;
    if (l->first + l->count == l->cap) {
        if (l->first > l->cap / 2) {
            memmove(l->list, l->list + l->first, l->count * sizeof(struct zk_txn *));
            l->first = 0;
        } else {
            l->cap = l->cap ? l->cap * 2 : 64;
            l->list = pool_resize(s->e->pool, l->list, l->cap * sizeof(struct zk_txn *));
        }
    }
    l->list[l->first + l->count++] = x;
}

static struct zk_txn *log_head(const struct zk_server *s)
{
    return s->log.count ? s->log.list[s->log.first] : NULL;
}

static void log_pop(struct zk_server *s)
{
    zk_txn_unref(s->e->pool, s->log.list[s->log.first]);
    s->log.first++;
    s->log.count--;
}

/* Forgets what is younger than zxid. */
static void log_cut(struct zk_server *s, int64_t zxid)
{
    while (s->log.count > 0) {
        struct zk_txn *last = s->log.list[s->log.first + s->log.count - 1];
        if (last->zxid <= zxid)
            return;
        zk_txn_unref(s->e->pool, last);
        s->log.count--;
    }
}

int64_t zk_server_last_zxid(const struct zk_server *s)
{
    return s->log.count ? s->log.list[s->log.first + s->log.count - 1]->zxid : s->tree.zxid;
}

/* ---- the disk: one flush at a time, which takes all that came before it began ---- */

static uint64_t flush_ns(struct zk_server *s)
{
    return stream_draw(&s->disk_stream, &s->e->config.fsync) + s->stall_ns;
}

static uint64_t written_at(struct zk_server *s)
{
    uint64_t now = now_of(s);
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
    uint32_t epoch; /* in which it was written: a log that was cut meanwhile says nothing */
};

static void commit_ready(struct zk_server *s);

static struct zk_peer_msg *new_msg(struct zk_server *s, enum msg_type type)
{
    struct zk_peer_msg *m = pool_take(s->e->pool, sizeof *m);
    m->type = type;
    return m;
}

static void send_leader(struct zk_server *s, void *m)
{
    if (s->leader_conn)
        conn_send(s->leader_conn, &s->node, m);
    else
        msg_free(s->e->pool, m);
}

static void written(void *self, void *arg)
{
    struct zk_server *s = self;
    struct disk_job *job = arg;
    int64_t zxid = job->zxid;
    bool is_stale = job->epoch != s->epoch;
    pool_give(s->e->pool, job);
    if (is_stale)
        return;
    if (zxid > s->durable_zxid)
        s->durable_zxid = zxid;
    if (s->role == ZK_LEADING) {
        commit_ready(s);
    } else if (s->role == ZK_FOLLOWING) {
        struct zk_peer_msg *m = new_msg(s, MSG_ZK_ACK);
        m->zxid = zxid;
        send_leader(s, m);
    }
}

/* Takes over the reference. */
static void write_log(struct zk_server *s, struct zk_txn *x)
{
    struct disk_job *job = pool_take(s->e->pool, sizeof *job);
    job->zxid = x->zxid;
    job->epoch = s->epoch;
    log_put(s, x);
    node_later(&s->node, written_at(s), written, job);
}

/* ---- the truth ---- */

static struct zk_txn *history_at(const struct zk_ensemble *e, size_t number)
{
    return e->history[number - e->history_first];
}

/* What everybody has applied is not needed any more. */
static void shorten_history(struct zk_ensemble *e)
{
    size_t least = e->history_first + e->history_count;
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
    if (e->on_commit)
        e->on_commit(e->user, x, leader);
    zk_tree_apply(&e->truth, x, NULL, NULL);
}

/* Carries out the next transaction of the history, which heads our log or comes from the leader. */
static void apply_next(struct zk_server *s)
{
    struct zk_txn *x = zk_txn_ref(history_at(s->e, s->applied));
    if (log_head(s)) {
        assert(log_head(s) == x || log_head(s)->zxid == x->zxid); /* Z11: one order */
        log_pop(s);
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

static void tell_followers(struct zk_server *s, enum msg_type type, struct zk_txn *x, int64_t zxid)
{
    for (unsigned i = 0; i < s->e->count; i++) {
        struct zk_follower *f = &s->followers[i];
        if (!f->conn || !f->is_synced)
            continue;
        struct zk_peer_msg *m = new_msg(s, type);
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
    struct zk_peer_msg *m = new_msg(s, MSG_ZK_SYNCED);
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

static unsigned joined(const struct zk_server *s)
{
    unsigned n = 1;
    for (unsigned i = 0; i < s->e->count; i++)
        n += s->followers[i].is_synced;
    return n;
}

/* Another leader has committed it: an earlier one, as we find when we begin to lead; or a later
 * one, while we stood still with the word of a quorum in our inbox. */
static bool is_in_history(const struct zk_server *s, const struct zk_txn *x)
{
    const struct zk_ensemble *e = s->e;
    return s->applied < e->history_first + e->history_count &&
           history_at(e, s->applied)->zxid == x->zxid;
}

/* What a quorum has on disk is committed, in order. */
static void commit_ready(struct zk_server *s)
{
    while (s->role == ZK_LEADING && log_head(s)) {
        struct zk_txn *x = log_head(s);
        bool is_known = is_in_history(s, x), is_inherited = x->zxid < (int64_t)s->epoch << 32;
        if (!(is_known && is_inherited) &&
            (acks_of(s, x->zxid) < s->e->quorum || joined(s) < s->e->quorum))
            break;
        if (!is_known)
            add_history(s, x);
        int64_t zxid = x->zxid;
        apply_next(s);
        tell_followers(s, MSG_ZK_COMMIT, NULL, zxid);
        answer_syncs(s);
    }
    if (s->role == ZK_LEADING && !s->is_serving && joined(s) >= s->e->quorum && !log_head(s)) {
        s->is_serving = true;
        take_role(s, ZK_LEADING);
    }
}

/* ---- sessions, at the leader ---- */

/* SessionTrackerImpl.roundToInterval: the first tick after. */
static uint64_t tick_after(const struct zk_server *s, uint64_t t_ns)
{
    uint64_t tick = tick_ns(s);
    return ((t_ns + tick - s->phase_ns) / tick + 1) * tick + s->phase_ns - tick;
}

static void touch(struct zk_server *s, uint64_t session)
{
    struct zk_session_entry *entry = zk_tree_session(&s->prep, session);
    if (!entry || entry->is_closing)
        return;
    uint64_t at = tick_after(s, now_of(s) + (uint64_t)entry->timeout_ms * SIM_MS);
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
    struct zk_peer_msg *m = new_msg(s, MSG_ZK_REVALIDATE);
    m->session = session;
    m->tag = tag;
    if (s->role != ZK_LEADING) {
        send_leader(s, m);
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
    if (s->role != ZK_LEADING) {
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
    tell_followers(s, MSG_ZK_PROPOSE, x, x->zxid);
    write_log(s, x);
}

/* Through the leader's one queue. */
static void lead_request(struct zk_server *s, struct zk_request *r)
{
    uint64_t now = now_of(s), cost = r->what == ZK_DO_SYNC ? 0 : s->e->config.write_ns;
    s->cpu_until_ns = (s->cpu_until_ns > now ? s->cpu_until_ns : now) + cost;
    node_later(&s->node, s->cpu_until_ns, propose, r);
}

void zk_quorum_submit(struct zk_server *s, struct zk_request *r)
{
    r->type = MSG_ZK_FORWARD;
    if (s->role == ZK_LEADING)
        lead_request(s, r);
    else
        send_leader(s, r);
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
    uint64_t at = now_of(s);
    for (struct java_cursor c = java_first(&entry->ephemerals); c.entry;
         java_next(&entry->ephemerals, &c)) {
        struct zk_request *r = internal_request(s, ZK_DO_DELETE, 0);
        r->write =
            (struct zk_write){.what = ZK_DO_DELETE, .path = c.entry->id, .version = ZK_ANY_VERSION};
        r->part_of = entry->id;
        node_later(&s->node, at, propose, r);
        at += 50 * SIM_MS;
    }
    node_later(&s->node, at, propose, internal_request(s, ZK_DO_CLOSE, entry->id));
}

static void expire_sessions(struct zk_server *s)
{
    uint64_t now = now_of(s);
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

static void drop_follower(struct zk_server *s, struct zk_follower *f)
{
    if (f->conn)
        conn_close(f->conn, &s->node);
    *f = (struct zk_follower){0};
}

/* Leader.lead: each half tick a ping; each tick, does a quorum still answer? */
static void lead_half_tick(struct zk_server *s, bool is_tick)
{
    uint64_t now = now_of(s);
    unsigned heard = 1;
    for (unsigned i = 0; i < s->e->count; i++) {
        struct zk_follower *f = &s->followers[i];
        if (!f->conn)
            continue;
        if (now - f->heard_ns > patience_ns(s))
            drop_follower(s, f);
        else
            heard += f->is_synced;
    }
    tell_followers(s, MSG_ZK_LEADER_PING, NULL, 0);
    if (!is_tick)
        return;
    if (heard >= s->e->quorum)
        s->quorum_ns = now;
    if (heard < s->e->quorum && (s->is_serving || now - s->quorum_ns > patience_ns(s))) {
        zk_quorum_look(s);
        return;
    }
    if (s->is_serving)
        expire_sessions(s);
}

struct tick_job {
    uint64_t number; /* of half ticks since the phase */
};

static void half_tick(void *self, void *arg)
{
    struct zk_server *s = self;
    struct tick_job *job = arg;
    uint64_t half = tick_ns(s) / 2;
    bool is_tick = job->number % 2 == 0;
    job->number++;
    uint64_t at = s->phase_ns + job->number * half;
    if (at <= now_of(s)) { /* was suspended: those that were missed are not made up for */
        job->number = (now_of(s) - s->phase_ns) / half + 1;
        at = s->phase_ns + job->number * half;
    }
    node_later(&s->node, at, half_tick, job);
    if (s->role == ZK_LEADING)
        lead_half_tick(s, is_tick);
}

/* A follower gives up exactly syncLimit ticks after the last word (its socket's timeout). */
static void watchdog(void *self, void *arg)
{
    struct zk_server *s = self;
    uint64_t *watched_from = arg;
    if (s->role != ZK_FOLLOWING || !s->leader_conn) {
        pool_give(s->e->pool, watched_from);
        return;
    }
    if (*watched_from != s->heard_ns) {
        *watched_from = s->heard_ns;
        uint64_t at = s->heard_ns + patience_ns(s);
        node_later(&s->node, at > now_of(s) ? at : now_of(s), watchdog, watched_from);
        return;
    }
    pool_give(s->e->pool, watched_from);
    zk_quorum_look(s);
}

void zk_quorum_start_ticking(struct zk_server *s)
{
    struct tick_job *job = pool_take(s->e->pool, sizeof *job);
    uint64_t half = tick_ns(s) / 2;
    job->number = now_of(s) <= s->phase_ns ? 0 : (now_of(s) - s->phase_ns) / half + 1;
    node_later(&s->node, s->phase_ns + job->number * half, half_tick, job);
}

/* ---- changing roles ---- */

static void drop_peers(struct zk_server *s)
{
    if (s->leader_conn)
        conn_close(s->leader_conn, &s->node);
    s->leader_conn = NULL;
    s->is_joining = false;
    for (unsigned i = 0; i < s->e->count; i++)
        drop_follower(s, &s->followers[i]);
    while (s->syncs) {
        struct zk_sync_waiter *w = s->syncs;
        s->syncs = w->next;
        pool_give(s->e->pool, w);
    }
    s->syncs_end = &s->syncs;
    s->is_serving = false;
    if (s->prep.nodes)
        zk_tree_deinit(&s->prep);
    s->applied_until_ns = 0;
}

void zk_quorum_look(struct zk_server *s)
{
    drop_peers(s);
    zk_clients_drop(s);
    take_role(s, ZK_LOOKING);
    zk_elect_poll(s->e);
}

/* The leader's own view of what is to come: applied, and what is in the log. New clocks for all. */
static void make_prep(struct zk_server *s)
{
    zk_tree_copy(&s->prep, &s->tree);
    for (size_t i = 0; i < s->log.count; i++)
        zk_tree_apply(&s->prep, s->log.list[s->log.first + i], NULL, NULL);
    for (size_t i = 0; i < ZK_SESSION_TABLE; i++)
        for (struct zk_session_entry *entry = s->prep.sessions[i]; entry; entry = entry->next) {
            entry->owner = -1;
            entry->expires_ns = tick_after(s, now_of(s) + (uint64_t)entry->timeout_ms * SIM_MS);
        }
}

void zk_quorum_lead(struct zk_server *s, uint32_t epoch)
{
    drop_peers(s);
    s->epoch = epoch;
    s->counter = 0;
    s->quorum_ns = now_of(s);
    s->durable_zxid = zk_server_last_zxid(s);
    make_prep(s);
    take_role(s, ZK_LEADING);
    commit_ready(s);
}

void zk_quorum_join(struct zk_server *s, struct zk_server *leader)
{
    drop_peers(s);
    s->leader = leader->index;
    s->is_joining = true;
    s->heard_ns = now_of(s);
    s->leader_conn = net_connect(&s->node, &leader->node, NULL);
    take_role(s, ZK_FOLLOWING);
    struct zk_peer_msg *m = new_msg(s, MSG_ZK_HELLO);
    m->zxid = zk_server_last_zxid(s);
    send_leader(s, m);
    uint64_t *watched_from = pool_take(s->e->pool, sizeof *watched_from);
    *watched_from = s->heard_ns;
    node_later(&s->node, s->heard_ns + patience_ns(s), watchdog, watched_from);
}

/* LearnerHandler: what is committed, then what is proposed, then everything that follows. */
static void welcome(struct zk_server *s, struct conn *conn)
{
    int index = ((struct zk_server *)conn_peer(conn, &s->node)->self)->index;
    struct zk_follower *f = &s->followers[index];
    drop_follower(s, f);
    *f = (struct zk_follower){.conn = conn, .is_synced = true, .heard_ns = now_of(s)};
    f->acked_zxid = s->tree.zxid;
    struct zk_peer_msg *m = new_msg(s, MSG_ZK_WELCOME);
    m->epoch = s->epoch;
    m->history = s->applied;
    conn_send(conn, &s->node, m);
    for (size_t i = 0; i < s->log.count; i++) {
        struct zk_txn *x = s->log.list[s->log.first + i];
        m = new_msg(s, MSG_ZK_PROPOSE);
        m->txn = zk_txn_ref(x);
        m->zxid = x->zxid;
        conn_send(conn, &s->node, m);
    }
    commit_ready(s);
}

/* Ours is what the leader's history says, and nothing else. */
static void welcomed(struct zk_server *s, const struct zk_peer_msg *m)
{
    log_cut(s, INT64_MIN);
    while (s->applied < m->history)
        apply_next(s);
    s->epoch = m->epoch;
    s->is_joining = false;
    s->durable_zxid = s->tree.zxid;
    take_role(s, ZK_FOLLOWING);
}

/* ---- the follower ---- */

static void proposed(struct zk_server *s, struct zk_peer_msg *m)
{
    if (m->txn->zxid <= s->tree.zxid) { /* known from an earlier leader */
        struct zk_peer_msg *ack = new_msg(s, MSG_ZK_ACK);
        ack->zxid = m->txn->zxid;
        send_leader(s, ack);
        return;
    }
    write_log(s, zk_txn_ref(m->txn));
}

struct apply_job {
    enum msg_type type; /* COMMIT or SYNCED */
    int64_t zxid;
    uint64_t tag;
    uint32_t xid;
    uint32_t epoch;
};

static void carry_out(struct zk_server *s, const struct apply_job *job)
{
    if (s->role != ZK_FOLLOWING || s->is_joining || s->epoch != job->epoch)
        return;
    if (job->type == MSG_ZK_SYNCED) {
        zk_clients_synced(s, job->tag, job->xid);
    } else {
        size_t end = s->e->history_first + s->e->history_count;
        while (s->tree.zxid < job->zxid && s->applied < end)
            apply_next(s);
    }
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
    struct apply_job job = {m->type, m->zxid, m->tag, m->xid, s->epoch};
    uint64_t now = now_of(s), at = now + s->lag_ns;
    if (at <= s->applied_until_ns)
        at = s->applied_until_ns + 1;
    if (at == now || (s->lag_ns == 0 && s->applied_until_ns <= now)) {
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
    struct zk_peer_msg *m = new_msg(s, MSG_ZK_TOUCHED);
    m->sessions = pool_take(s->e->pool, (s->conn_count + 1) * sizeof *m->sessions);
    for (uint32_t i = 0; i < s->conn_count; i++) {
        struct zk_conn *c = s->conns[i];
        if (c->is_touched && c->is_attached)
            m->sessions[m->count++] = c->session;
        c->is_touched = false;
    }
    send_leader(s, m);
}

/* ---- what comes ---- */

static void leader_came(struct zk_server *s, struct conn *conn, struct zk_peer_msg *m)
{
    int index = ((struct zk_server *)conn_peer(conn, &s->node)->self)->index;
    struct zk_follower *f = &s->followers[index];
    if (m->type == MSG_ZK_HELLO) {
        welcome(s, conn);
        return;
    }
    if (f->conn != conn)
        return;
    f->heard_ns = now_of(s);
    switch (m->type) {
    case MSG_ZK_ACK:
        if (m->zxid > f->acked_zxid)
            f->acked_zxid = m->zxid;
        commit_ready(s);
        break;
    case MSG_ZK_TOUCHED:
        for (size_t i = 0; i < m->count; i++)
            touch(s, m->sessions[i]);
        break;
    case MSG_ZK_REVALIDATE: {
        struct zk_peer_msg *answer = new_msg(s, MSG_ZK_REVALIDATED);
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
    s->heard_ns = now_of(s);
    switch (m->type) {
    case MSG_ZK_WELCOME: welcomed(s, m); break;
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

/* ---- crash and restart ---- */

void zk_server_crash(struct zk_server *s)
{
    if (s->role == ZK_DOWN)
        return;
    drop_peers(s);
    zk_clients_drop(s);
    node_crash(&s->node);
    log_cut(s, s->durable_zxid); /* what was not on disk is lost */
    take_role(s, ZK_DOWN);
}

void zk_server_restart(struct zk_server *s)
{
    if (s->role != ZK_DOWN)
        return;
    node_start(&s->node);
    s->cpu_until_ns = s->disk_until_ns = s->disk_next_ns = 0;
    take_role(s, ZK_LOOKING);
    zk_quorum_start_ticking(s);
    zk_elect_poll(s->e);
}
