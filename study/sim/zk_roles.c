/* Who leads and who follows: roles, what leader and followers agree on before they begin, the
 * clocks by which they give each other up, crash and restart.
 *
 * A leader's beginning, as in Zab (Leader.lead, Learner.registerWithLeader, syncWithLeader):
 *
 *     follower              leader
 *     HELLO ──────────────►            a quorum wants to follow:
 *           ◄────────────── EPOCH      the epoch. Who accepts it follows no earlier one any more
 *     PROMISE ────────────►            with (epoch, zxid) of its log: if that is better than the
 *                                      leader's, the leader gives up. A quorum has promised:
 *           ◄────────────── WELCOME    the leader's history; what else a follower has, it cuts off
 *     ACK ────────────────►            on its disk. A quorum has it: all of it is committed,
 *           ◄────────────── UP_TO_DATE both serve
 *
 * Late followers go through the same steps without anybody waiting for them. HELLO stands for
 * FOLLOWERINFO, EPOCH for LEADERINFO, PROMISE for ACKEPOCH; WELCOME for DIFF, TRUNC or SNAP with
 * NEWLEADER behind. */
#include "study/sim/zk_quorum.h"
#include <assert.h>

static uint64_t patience_ns(const struct zk_server *s)
{
    return zk_tick_ns(s) * s->e->config.sync_limit;
}

bool zk_server_serves(const struct zk_server *s)
{
    return (s->role == ZK_FOLLOWING && !s->is_joining) ||
           (s->role == ZK_LEADING && s->stage == ZK_LEAD_SERVES);
}

int64_t zk_server_zxid(const struct zk_server *s)
{
    return s->tree.zxid > s->lead_zxid ? s->tree.zxid : s->lead_zxid;
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

static void drop_follower(struct zk_server *s, struct zk_follower *f)
{
    if (f->conn)
        conn_close(f->conn, &s->node);
    *f = (struct zk_follower){0};
}

/* ---- changing roles ---- */

/* Ends what it was, with all that was under way for it. */
static void end_role(struct zk_server *s)
{
    s->turn++;
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
    if (s->prep.nodes)
        zk_tree_deinit(&s->prep);
    s->applied_until_ns = 0;
    s->lead_zxid = 0;
}

void zk_quorum_look(struct zk_server *s)
{
    end_role(s);
    zk_clients_drop(s);
    s->durable_zxid = zk_server_last_zxid(s); /* SyncRequestProcessor.shutdown: a last flush */
    take_role(s, ZK_LOOKING);
    zk_elect_poll(s->e);
}

/* The leader's own view of what is to come: applied, and what is in the log. New clocks for all. */
static void make_prep(struct zk_server *s)
{
    zk_tree_copy(&s->prep, &s->tree);
    for (size_t i = 0; i < s->log.count; i++)
        zk_tree_apply(&s->prep, zk_log_at(&s->log, i), NULL, NULL);
    for (size_t i = 0; i < ZK_SESSION_TABLE; i++)
        for (struct zk_session_entry *entry = s->prep.sessions[i]; entry; entry = entry->next) {
            entry->owner = -1;
            entry->expires_ns = zk_tick_after(s, zk_now(s) + (uint64_t)entry->timeout_ms * SIM_MS);
        }
}

void zk_quorum_lead(struct zk_server *s, uint32_t epoch)
{
    end_role(s);
    s->epoch = epoch;
    s->counter = 0;
    s->quorum_ns = zk_now(s);
    s->stage = ZK_LEAD_GATHERS;
    make_prep(s);
    take_role(s, ZK_LEADING);
    zk_lead_on(s);
}

static void watchdog(void *self, void *arg);

void zk_quorum_join(struct zk_server *s, struct zk_server *leader)
{
    end_role(s);
    s->leader = leader->index;
    s->is_joining = true;
    s->heard_ns = zk_now(s);
    s->leader_conn = net_connect(&s->node, &leader->node, NULL);
    take_role(s, ZK_FOLLOWING);
    zk_send_leader(s, zk_peer_msg_new(s, MSG_ZK_HELLO));
    uint64_t *watched_from = pool_take(s->e->pool, sizeof *watched_from);
    *watched_from = s->heard_ns;
    node_later(&s->node, s->heard_ns + patience_ns(s), watchdog, watched_from);
}

/* ---- the leader begins ---- */

static void tell_epoch(struct zk_server *s, struct zk_follower *f)
{
    struct zk_peer_msg *m = zk_peer_msg_new(s, MSG_ZK_EPOCH);
    m->epoch = s->epoch;
    conn_send(f->conn, &s->node, m);
}

static void welcome(struct zk_server *s, struct zk_follower *f)
{
    struct zk_peer_msg *m = zk_peer_msg_new(s, MSG_ZK_WELCOME);
    m->epoch = s->epoch;
    m->history = s->applied;
    m->zxid = zk_server_last_zxid(s);
    m->txns = pool_take(s->e->pool, (s->log.count + 1) * sizeof(struct zk_txn *));
    for (; m->count < s->log.count; m->count++)
        m->txns[m->count] = zk_txn_ref(zk_log_at(&s->log, m->count));
    f->stage = ZK_WELCOMED;
    f->welcome_zxid = m->zxid;
    conn_send(f->conn, &s->node, m);
}

static void tell_up_to_date(struct zk_server *s, struct zk_follower *f)
{
    struct zk_peer_msg *m = zk_peer_msg_new(s, MSG_ZK_UP_TO_DATE);
    m->zxid = s->tree.zxid;
    conn_send(f->conn, &s->node, m);
}

/* Those at this stage or beyond, the leader itself included. */
static unsigned at_least(const struct zk_server *s, enum zk_follower_stage stage)
{
    unsigned n = 1;
    for (unsigned i = 0; i < s->e->count; i++)
        n += s->followers[i].conn && s->followers[i].stage >= stage;
    return n;
}

static void each_follower(struct zk_server *s, enum zk_follower_stage stage,
                          void (*act)(struct zk_server *s, struct zk_follower *f))
{
    for (unsigned i = 0; i < s->e->count; i++)
        if (s->followers[i].conn && s->followers[i].stage == stage)
            act(s, &s->followers[i]);
}

/* A quorum has our history: it is what was agreed on, whoever proposed it. */
static void serve(struct zk_server *s)
{
    s->stage = ZK_LEAD_SERVES;
    s->lead_zxid = (int64_t)s->epoch << 32;
    zk_commit_ready(s);
    take_role(s, ZK_LEADING);
    each_follower(s, ZK_SYNCED, tell_up_to_date);
}

void zk_lead_on(struct zk_server *s)
{
    if (s->stage == ZK_LEAD_GATHERS && at_least(s, ZK_GREETED) >= s->e->quorum) {
        s->stage = ZK_LEAD_PROPOSES;
        s->accepted_epoch = s->epoch;
        each_follower(s, ZK_GREETED, tell_epoch);
    }
    if (s->stage == ZK_LEAD_PROPOSES && at_least(s, ZK_PROMISED) >= s->e->quorum) {
        s->stage = ZK_LEAD_SYNCS;
        s->current_epoch = s->epoch;
        each_follower(s, ZK_PROMISED, welcome);
    }
    for (unsigned i = 0; i < s->e->count; i++) {
        struct zk_follower *f = &s->followers[i];
        if (!f->conn || f->stage != ZK_WELCOMED || f->acked_zxid < f->welcome_zxid)
            continue;
        f->stage = ZK_SYNCED;
        if (s->stage == ZK_LEAD_SERVES)
            tell_up_to_date(s, f);
    }
    if (s->stage == ZK_LEAD_SYNCS && at_least(s, ZK_SYNCED) >= s->e->quorum)
        serve(s);
}

void zk_hello_came(struct zk_server *s, struct conn *conn)
{
    int index = ((struct zk_server *)conn_peer(conn, &s->node)->self)->index;
    struct zk_follower *f = &s->followers[index];
    drop_follower(s, f);
    *f = (struct zk_follower){.conn = conn, .stage = ZK_GREETED, .heard_ns = zk_now(s)};
    if (s->stage >= ZK_LEAD_PROPOSES)
        tell_epoch(s, f);
    zk_lead_on(s);
}

/* StateSummary.isMoreRecentThan */
static bool is_ahead(const struct zk_server *s, const struct zk_peer_msg *m)
{
    return m->epoch != s->current_epoch ? m->epoch > s->current_epoch
                                        : m->zxid > zk_server_last_zxid(s);
}

void zk_promise_came(struct zk_server *s, struct zk_follower *f, const struct zk_peer_msg *m)
{
    if (s->stage == ZK_LEAD_PROPOSES && is_ahead(s, m)) { /* Leader.waitForEpochAck */
        zk_quorum_look(s);
        return;
    }
    f->stage = ZK_PROMISED;
    if (s->stage >= ZK_LEAD_SYNCS)
        welcome(s, f);
    zk_lead_on(s);
}

/* ---- the follower begins ---- */

void zk_epoch_came(struct zk_server *s, const struct zk_peer_msg *m)
{
    if (m->epoch < s->accepted_epoch) {
        zk_quorum_look(s);
        return;
    }
    s->accepted_epoch = m->epoch;
    struct zk_peer_msg *answer = zk_peer_msg_new(s, MSG_ZK_PROMISE);
    answer->epoch = s->current_epoch;
    answer->zxid = zk_server_last_zxid(s);
    zk_send_leader(s, answer);
}

/* Up to where the leader's history, from what we have applied on, is what our log says. */
static int64_t common_zxid(const struct zk_server *s, const struct zk_peer_msg *m)
{
    int64_t common = s->tree.zxid;
    size_t number = s->applied, k = 0;
    while (k < m->count && m->txns[k]->zxid <= common)
        k++;
    for (size_t i = 0; i < s->log.count; i++) {
        int64_t theirs = number < m->history ? zk_history_at(s->e, number++)->zxid
                         : k < m->count      ? m->txns[k++]->zxid
                                             : INT64_MAX;
        if (zk_log_at(&s->log, i)->zxid != theirs)
            break;
        common = theirs;
    }
    return common;
}

/* Ours is what the leader's history says, and nothing else. What both have stays where it is; it is
 * never taken away first, to be written again: it may be what a quorum has agreed on. */
void zk_welcome_came(struct zk_server *s, const struct zk_peer_msg *m)
{
    int64_t common = common_zxid(s, m);
    zk_log_cut(&s->log, s->e->pool, common);
    if (s->durable_zxid > common)
        s->durable_zxid = common;
    while (s->applied < m->history)
        zk_apply_next(s);
    for (size_t i = 0; i < m->count; i++)
        if (m->txns[i]->zxid > zk_server_last_zxid(s))
            zk_log_put(&s->log, s->e->pool, zk_txn_ref(m->txns[i]));
    assert(zk_server_last_zxid(s) ==
           m->zxid); /* nothing that is committed is unknown to a leader */
    s->epoch = m->epoch;
    zk_flush_log(s);
}

void zk_up_to_date_came(struct zk_server *s, const struct zk_peer_msg *m)
{
    s->is_joining = false;
    zk_commit_until(s, m->zxid);
    take_role(s, ZK_FOLLOWING);
}

/* ---- giving each other up ---- */

/* Leader.lead: each half tick a ping; each tick, does a quorum still answer? */
static void lead_half_tick(struct zk_server *s, bool is_tick)
{
    uint64_t now = zk_now(s);
    unsigned heard = 1;
    bool is_serving = s->stage == ZK_LEAD_SERVES;
    for (unsigned i = 0; i < s->e->count; i++) {
        struct zk_follower *f = &s->followers[i];
        if (!f->conn)
            continue;
        if (now - f->heard_ns > patience_ns(s))
            drop_follower(s, f);
        else
            heard += f->stage >= ZK_WELCOMED;
    }
    zk_tell_followers(s, MSG_ZK_LEADER_PING, NULL, 0);
    if (!is_tick)
        return;
    if (heard >= s->e->quorum)
        s->quorum_ns = now;
    if (heard < s->e->quorum && (is_serving || now - s->quorum_ns > patience_ns(s))) {
        zk_quorum_look(s);
        return;
    }
    if (is_serving)
        zk_expire_sessions(s);
}

struct tick_job {
    uint64_t number; /* of half ticks since the phase */
};

static void half_tick(void *self, void *arg)
{
    struct zk_server *s = self;
    struct tick_job *job = arg;
    uint64_t half = zk_tick_ns(s) / 2;
    bool is_tick = job->number % 2 == 0;
    job->number++;
    uint64_t at = s->phase_ns + job->number * half;
    if (at <= zk_now(s)) { /* was suspended: those that were missed are not made up for */
        job->number = (zk_now(s) - s->phase_ns) / half + 1;
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
        node_later(&s->node, at > zk_now(s) ? at : zk_now(s), watchdog, watched_from);
        return;
    }
    pool_give(s->e->pool, watched_from);
    zk_quorum_look(s);
}

void zk_quorum_start_ticking(struct zk_server *s)
{
    struct tick_job *job = pool_take(s->e->pool, sizeof *job);
    uint64_t half = zk_tick_ns(s) / 2;
    job->number = zk_now(s) <= s->phase_ns ? 0 : (zk_now(s) - s->phase_ns) / half + 1;
    node_later(&s->node, s->phase_ns + job->number * half, half_tick, job);
}

/* ---- crash and restart ---- */

void zk_server_crash(struct zk_server *s)
{
    if (s->role == ZK_DOWN)
        return;
    end_role(s);
    zk_clients_drop(s);
    node_crash(&s->node);
    zk_log_cut(&s->log, s->e->pool, s->durable_zxid); /* what was not on disk is lost */
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

bool zk_ensemble_relieve(struct zk_ensemble *e)
{
    struct zk_server *leader = zk_ensemble_leader(e);
    bool is_kept_out = false;
    for (size_t i = 0; leader && i < e->count; i++)
        is_kept_out = is_kept_out || (e->servers[i].role != ZK_DOWN &&
                                      e->servers[i].accepted_epoch > leader->epoch);
    if (!is_kept_out)
        return false;
    zk_server_crash(leader);
    zk_server_restart(leader);
    return true;
}
