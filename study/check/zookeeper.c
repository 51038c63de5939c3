/* What ZooKeeper promises (Z1, Z2, Z7 - Z11), and whose owner nodes are deleted (Z5). */
#include "study/check/state.h"
#include "zkconsumer/core/zk/op.h"
#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/core/zk/watch_spread.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUIET_NS                                                                                   \
    (10ull * 1000000000) /* a watch has fired so long after a change, without faults               \
                          */

/* ---- sessions ---- */

static void take_session(struct check *c, const struct trace_event *e)
{
    uint32_t index;
    struct member *m = e->m ? member_of(c, e->m, &index) : NULL;
    struct session *s = m ? session_of(c, e->zk_session.session) : NULL;
    if (!s || strcmp(e->zk_session.what, "open") != 0)
        return;
    m->session = e->zk_session.session;
    m->waits_for_itself = false;
    m->zxid_seen = 0; /* a new client, which has seen nothing */
    s->is_known = true;
    s->member = index;
    s->incarnation = m->incarnation + !m->is_live; /* before m_start: of the life that begins */
    free(s->consumer_id);
    s->consumer_id = m->consumer_id ? strdup(m->consumer_id) : NULL;
    c->failed = c->failed || (m->consumer_id && !s->consumer_id);
}

/* ---- writes ---- */

static struct node *node_of(struct check *c, const char *path)
{
    uint32_t before = c->node_names.count, i = names_add(&c->node_names, path, 0);
    if (i == before && !array_reserve(c, (void **)&c->nodes, sizeof *c->nodes, &c->node_names))
        return NULL;
    c->failed = c->failed || i == NAMES_NONE;
    return i == NAMES_NONE ? NULL : &c->nodes[i];
}

/* The list of children that a path is in has changed. */
static void note_change(struct check *c, const char *path, int64_t zxid, uint64_t t_ns)
{
    char parent[1024];
    size_t len = zk_path_parent_length(path);
    if (!len || len >= sizeof parent)
        return;
    memcpy(parent, path, len);
    parent[len] = 0;
    uint32_t before = c->change_names.count, i = names_add(&c->change_names, parent, 0);
    if (i == before &&
        !array_reserve(c, (void **)&c->changes, sizeof *c->changes, &c->change_names))
        return;
    c->failed = c->failed || i == NAMES_NONE;
    if (i != NAMES_NONE)
        c->changes[i] = (struct change){zxid, t_ns};
}

static struct partition *owner_partition(struct check *c, const char *path, uint32_t *index)
{
    struct trace_path parts = trace_path_read(path);
    char topic[TOPIC_NAME_MAX + 1];
    if (parts.class_of != TRACE_CLASS_OWNER || parts.topic_len >= sizeof topic)
        return NULL;
    memcpy(topic, parts.topic, parts.topic_len);
    topic[parts.topic_len] = 0;
    return partition_of(c, (struct topic_partition){topic, parts.partition}, index);
}

/* "<consumer id>-<thread>" */
static bool is_thread_of(const char *value, size_t len, const char *consumer_id)
{
    size_t n = strlen(consumer_id);
    return len > n + 1 && memcmp(value, consumer_id, n) == 0 && value[n] == '-';
}

static void create_owner(struct check *c, const struct trace_txn *x)
{
    uint32_t index;
    struct partition *p = owner_partition(c, x->path, &index);
    struct session *s = p ? session_of(c, x->session) : NULL;
    if (!s)
        return;
    checked(c, CHECK_Z1);
    if (p->has_owner)
        violated(c, CHECK_Z1, UINT64_MAX, "%s is created at zxid %" PRId64 ", and is there",
                 x->path, x->zxid);
    partition_settle(c, index);
    p->has_owner = true;
    p->owner_session = x->session;
    p->owner_since_ns = c->now_ns;
    p->owner_member = s->is_known ? s->member : NAMES_NONE;
    if (!s->is_known || !s->consumer_id || !x->value)
        return;
    checked(c, CHECK_Z2);
    if (!is_thread_of(x->value, x->value_len, s->consumer_id))
        violated(c, CHECK_Z2, UINT64_MAX, "%s names %.*s; the session that created it is %s's",
                 x->path, (int)(x->value_len < 200 ? x->value_len : 200), x->value, s->consumer_id);
}

/* By whom: its own registry says whether it may (Z5). */
static void delete_owner(struct check *c, const struct trace_txn *x)
{
    uint32_t index;
    struct partition *p = owner_partition(c, x->path, &index);
    if (!p)
        return;
    partition_settle(c, index);
    uint64_t owner = x->ephemeral_owner ? x->ephemeral_owner : p->owner_session;
    p->has_owner = false;
    p->owner_member = NAMES_NONE;
    if (strcmp(x->what, "delete") != 0)
        return;
    checked(c, CHECK_FOREIGN_DELETES);
    if (owner && owner != x->session)
        counted(c, CHECK_FOREIGN_DELETES, 1);
    const struct session *s = session_of(c, x->session);
    if (!s || !s->is_known || c->members[s->member].incarnation != s->incarnation ||
        !c->members[s->member].is_live)
        return; /* nobody's whose registry is known */
    const struct pair *pair = pair_find(c, s->member, index);
    checked(c, CHECK_Z5);
    if (!pair || (!pair->in_registry && !pair->believes))
        violated(c, CHECK_Z5, UINT64_MAX, "%s deletes %s, which is not in its registry",
                 c->member_names.list[s->member].text, x->path);
}

/* All that a session had is gone with its end (Z9). */
static void close_session(struct check *c, const struct trace_txn *x)
{
    struct session *s = session_of(c, x->session);
    if (!s)
        return;
    checked(c, CHECK_Z9);
    if (s->is_closed && s->closed_zxid != x->zxid)
        violated(c, CHECK_Z9, UINT64_MAX,
                 "session %" PRIx64 " ends at zxid %" PRId64 ", and again at %" PRId64, x->session,
                 s->closed_zxid, x->zxid);
    if (!s->is_closed)
        s->closed_ns = c->now_ns;
    s->is_closed = true;
    s->closed_zxid = x->zxid;
    if (x->part + 1 < x->parts)
        return;
    for (uint32_t i = 0; i < c->node_names.count; i++)
        if (c->nodes[i].exists && c->nodes[i].session == x->session) {
            violated(c, CHECK_Z9, UINT64_MAX,
                     "session %" PRIx64 " ends at zxid %" PRId64 ", and %s stays", x->session,
                     x->zxid, c->node_names.list[i].text);
            c->nodes[i].exists = false;
        }
}

static struct commit *commit_at(struct check *c, size_t age)
{
    return age < COMMITS_KEPT && age < c->commit_count
               ? &c->commits[(c->commit_count - 1 - age) % COMMITS_KEPT]
               : NULL;
}

/* One order, and each transaction whole before the next one. */
static void check_zxid(struct check *c, const struct trace_txn *x)
{
    struct commit *last = commit_at(c, 0);
    bool is_new = x->part == 0;
    checked(c, CHECK_Z11);
    if (is_new ? x->zxid <= c->zxid : x->zxid != c->zxid)
        violated(c, CHECK_Z11, UINT64_MAX, "zxid %" PRId64 " is committed after %" PRId64, x->zxid,
                 c->zxid);
    else if (last && (is_new ? last->told < last->parts : x->part != last->told))
        violated(c, CHECK_Z11, UINT64_MAX,
                 "part %u of zxid %" PRId64 " comes after %u of %u parts of %" PRId64, x->part,
                 x->zxid, last->told, last->parts, last->zxid);
    c->zxid = x->zxid;
    if (is_new || !last) {
        c->commit_count++;
        last = commit_at(c, 0);
        *last = (struct commit){.t_ns = c->now_ns,
                                .zxid = x->zxid,
                                .session = x->session,
                                .is_error = strcmp(x->what, "error") == 0};
    }
    last->told = x->part + 1;
    last->parts = x->parts;
}

/* Z9: no member deletes its registration, and the ensemble deletes nothing but with a session: what
 * is ephemeral goes in the transaction that ends the session. */
static void check_goes_with_session(struct check *c, const struct trace_txn *x)
{
    bool is_registration = x->class_of == TRACE_CLASS_ID;
    bool is_own = x->session && x->ephemeral_owner == x->session;
    bool is_nobodys = c->is_virtual && !x->session;
    if (strcmp(x->what, "delete") != 0 || (!is_registration && x->class_of != TRACE_CLASS_OWNER))
        return;
    checked(c, CHECK_Z9);
    if (is_registration && is_nobodys && c->unregistered) {
        c->unregistered--;
        return;
    }
    if ((is_registration && is_own) || is_nobodys)
        violated(c, CHECK_Z9, UINT64_MAX,
                 "%s goes at zxid %" PRId64 ", and its session has not ended", x->path, x->zxid);
}

static void take_txn(struct check *c, const struct trace_event *e)
{
    const struct trace_txn *x = &e->zk_txn;
    bool creates = strcmp(x->what, "create") == 0, closes = strcmp(x->what, "close") == 0;
    bool deletes = closes || strcmp(x->what, "delete") == 0;
    struct session *s = x->session ? session_of(c, x->session) : NULL;
    c->has_txns = true;
    check_zxid(c, x);
    if (s && !closes && strcmp(x->what, "open") != 0) {
        checked(c, CHECK_Z9);
        if (s->is_closed)
            violated(c, CHECK_Z9, UINT64_MAX,
                     "%s %s at zxid %" PRId64 " by session %" PRIx64 ", which ended at %" PRId64,
                     x->what, x->path, x->zxid, x->session, s->closed_zxid);
    }
    if (x->class_of == TRACE_CLASS_ID && creates)
        snprintf(c->ids_path, sizeof c->ids_path, "%.*s", (int)zk_path_parent_length(x->path),
                 x->path);
    if (*x->path && (creates || deletes)) {
        struct node *n = node_of(c, x->path);
        if (n)
            *n = (struct node){creates && x->ephemeral_owner, x->ephemeral_owner};
        note_change(c, x->path, x->zxid, e->t_ns);
    }
    check_goes_with_session(c, x);
    if (creates)
        create_owner(c, x);
    else if (deletes && *x->path)
        delete_owner(c, x);
    if (closes)
        close_session(c, x);
}

/* ---- operations and watches ---- */

enum watch_kind { WATCH_DATA, WATCH_CHILDREN };

static struct watch *watch_of(struct check *c, const char *path, uint32_t member,
                              enum watch_kind kind)
{
    uint64_t number = (uint64_t)member * 2 + kind;
    uint32_t before = c->watch_names.count, i = names_add(&c->watch_names, path, number);
    if (i == before && !array_reserve(c, (void **)&c->watches, sizeof *c->watches, &c->watch_names))
        return NULL;
    c->failed = c->failed || i == NAMES_NONE;
    if (i == NAMES_NONE)
        return NULL;
    c->watches[i].member = member;
    return &c->watches[i];
}

static const struct change *change_of(const struct check *c, const char *path)
{
    uint32_t i = names_find(&c->change_names, path, 0);
    return i == NAMES_NONE ? NULL : &c->changes[i];
}

/* Z7: the server sends the notification before the answer that shows the change. */
static void check_before_answer(struct check *c, const struct trace_event *e, uint32_t member)
{
    const struct trace_event *op = e;
    if (op->zk_op.op != TRACE_OP_CHILDREN || !op->zk_op.zxid)
        return;
    struct watch *w = watch_of(c, op->zk_op.path, member, WATCH_CHILDREN);
    const struct change *change = change_of(c, op->zk_op.path);
    if (!w || !w->is_armed || w->session != c->members[member].session || !change)
        return;
    checked(c, CHECK_Z7);
    if (w->zxid < change->zxid && change->zxid <= op->zk_op.zxid && !c->watches_overtaken)
        violated(c, CHECK_Z7, UINT64_MAX,
                 "%s reads %s at zxid %" PRId64 ", with the change of %" PRId64
                 ", and its watch of %" PRId64 " has not fired",
                 e->m, op->zk_op.path, op->zk_op.zxid, change->zxid, w->zxid);
}

static void arm(struct check *c, const struct trace_event *e, uint32_t member)
{
    bool is_children = e->zk_op.op == TRACE_OP_CHILDREN;
    bool is_left =
        e->zk_op.zk_rc == ZK_OK || (e->zk_op.op == TRACE_OP_EXISTS && e->zk_op.zk_rc == ZK_NO_NODE);
    if (!is_left || (!e->zk_op.has_watch && !is_children))
        return;
    struct watch *w = watch_of(c, e->zk_op.path, member, is_children ? WATCH_CHILDREN : WATCH_DATA);
    if (!w)
        return;
    if (!e->zk_op.has_watch) {
        w->reads++;
        w->read_ns = e->t_ns;
        return;
    }
    w->reads = 0;
    w->is_armed = true;
    w->zxid = e->zk_op.zxid;
    w->session = c->members[member].session;
}

/* The newest transaction that was committed by then; 0: not known. */
static int64_t zxid_at(struct check *c, uint64_t t_ns)
{
    const struct commit *x;
    for (size_t age = 0; (x = commit_at(c, age)); age++)
        if (x->t_ns <= t_ns)
            return x->zxid;
    return 0;
}

static struct server_epoch *server_of(struct check *c, const char *name)
{
    for (size_t i = 0; i < c->server_count; i++)
        if (strcmp(c->servers[i].name, name) == 0)
            return &c->servers[i];
    return NULL;
}

static void take_role(struct check *c, const struct trace_event *e)
{
    struct server_epoch *s = server_of(c, e->zk_role.server);
    if (!s && c->server_count < SERVERS_KEPT) {
        s = &c->servers[c->server_count++];
        snprintf(s->name, sizeof s->name, "%s", e->zk_role.server);
    }
    if (s)
        s->epoch = e->zk_role.epoch;
    if (strcmp(e->zk_role.role, "leading") == 0 && e->zk_role.epoch > c->newest_epoch)
        c->newest_epoch = e->zk_role.epoch;
}

/* The member's server leads in an epoch that is over, or follows in one: it does not know yet. */
static bool is_behind_its_time(struct check *c, const struct member *m)
{
    const struct server_epoch *s = server_of(c, m->server);
    return s && s->epoch < c->newest_epoch;
}

/* Z10. A leader that has been deposed and does not know answers a sync from what it has: ZooKeeper
 * promises no more (its sync asks no quorum). That is counted. */
static void check_sync(struct check *c, const struct trace_event *e, const struct member *m)
{
    if (c->has_loose_writes)
        return;
    int64_t before = zxid_at(c, e->t_ns - e->zk_op.latency_ns);
    bool is_stale = e->zk_op.zxid < before;
    checked(c, CHECK_STALE_SYNCS);
    if (is_stale && is_behind_its_time(c, m)) {
        counted(c, CHECK_STALE_SYNCS, 1);
        return;
    }
    checked(c, CHECK_Z10);
    if (is_stale)
        violated(c, CHECK_Z10, UINT64_MAX,
                 "%s: a sync is answered from zxid %" PRId64 "; %" PRId64
                 " was committed before it was sent",
                 e->m, e->zk_op.zxid, before);
}

/* Done: all of it, by its own session, or checks alone, which change nothing. Refused: nothing. */
static bool is_answered_by(const struct commit *x, const struct trace_event *e,
                           const struct member *m)
{
    if (x->zxid != e->zk_op.zxid)
        return false;
    if (e->zk_op.zk_rc != ZK_OK || x->is_error)
        return x->is_error;
    return x->session == m->session && x->told == x->parts;
}

/* Z10: a multi is one transaction, at the zxid of its answer. */
static void check_multi(struct check *c, const struct trace_event *e, const struct member *m)
{
    const struct commit *x;
    size_t age = 0;
    while ((x = commit_at(c, age)) && x->zxid > e->zk_op.zxid)
        age++;
    if (!x)
        return; /* too long ago, or the trace has none */
    checked(c, CHECK_Z10);
    if (!is_answered_by(x, e, m))
        violated(c, CHECK_Z10, UINT64_MAX,
                 "%s: a multi is %s at zxid %" PRId64 "; zxid %" PRId64
                 " has %u of %u parts of session %" PRIx64,
                 e->m, e->zk_op.zk_rc == ZK_OK ? "done" : "refused", e->zk_op.zxid, x->zxid,
                 x->is_error ? 0 : x->told, x->parts, x->session);
}

/* KAFKA-1387: refused by its own node, which 0.8.2 takes for one of an ended session, and waits for
 * its end. It reads nothing in the meantime, so it has no watch either. */
static void note_registration(struct check *c, const struct trace_event *e, struct member *m)
{
    if (e->zk_op.op != TRACE_OP_CREATE || trace_path_read(e->zk_op.path).class_of != TRACE_CLASS_ID)
        return;
    uint32_t i = names_find(&c->node_names, e->zk_op.path, 0);
    m->waits_for_itself = e->zk_op.zk_rc == ZK_NODE_EXISTS && i != NAMES_NONE &&
                          c->nodes[i].exists && c->nodes[i].session == m->session;
}

static void take_op(struct check *c, const struct trace_event *e)
{
    uint32_t member;
    struct member *m = member_of(c, e->m, &member);
    if (!m)
        return;
    c->has_ops = true;
    int rc = e->zk_op.zk_rc;
    bool is_answered = rc == ZK_OK || rc == ZK_NO_NODE || rc == ZK_NODE_EXISTS ||
                       rc == ZK_BAD_VERSION || rc == ZK_NOT_EMPTY;
    if (!is_answered || !e->zk_op.zxid)
        return;
    checked(c, CHECK_Z8);
    if (e->zk_op.zxid < m->zxid_seen)
        violated(c, CHECK_Z8, UINT64_MAX,
                 "%s: %s %s is answered from zxid %" PRId64 "; it has seen %" PRId64, e->m,
                 trace_op_name(e->zk_op.op), e->zk_op.path, e->zk_op.zxid, m->zxid_seen);
    else
        m->zxid_seen = e->zk_op.zxid;
    if (e->zk_op.op == TRACE_OP_SYNC && rc == ZK_OK)
        check_sync(c, e, m);
    if (e->zk_op.op == TRACE_OP_MULTI)
        check_multi(c, e, m);
    note_registration(c, e, m);
    check_before_answer(c, e, member);
    arm(c, e, member);
}

/* Takes a watch off, if there is one. */
static bool disarm(struct check *c, const char *path, uint32_t member, enum watch_kind kind)
{
    struct watch *w = watch_of(c, path, member, kind);
    if (!w || !w->is_armed)
        return false;
    w->is_armed = false;
    return true;
}

static void take_watch(struct check *c, const struct trace_event *e)
{
    uint32_t member;
    if (!member_of(c, e->m, &member) || !c->has_ops)
        return;
    const char *type = e->zk_watch.type, *path = e->zk_watch.path;
    bool was_armed;
    if (strcmp(type, zk_event_name(ZK_EVENT_CHILDREN_CHANGED)) == 0) {
        was_armed = disarm(c, path, member, WATCH_CHILDREN);
    } else {
        was_armed = disarm(c, path, member, WATCH_DATA);
        if (strcmp(type, zk_event_name(ZK_EVENT_DELETED)) == 0)
            was_armed = disarm(c, path, member, WATCH_CHILDREN) || was_armed;
    }
    checked(c, CHECK_Z7);
    if (!was_armed && !c->watches_overtaken)
        violated(c, CHECK_Z7, UINT64_MAX, "%s is told %s of %s, on which it has no watch", e->m,
                 type, path);
}

static void take_state(struct check *c, const struct trace_event *e)
{
    struct member *m = member_of(c, e->m, NULL);
    if (!m)
        return;
    m->is_observer = c->is_virtual && e->m[0] == 'o' && !strchr(e->m, '.'); /* o1, not o1.1 */
    m->is_connected = strcmp(e->zk_state.state, "connected") == 0;
    m->connected_ns = e->t_ns;
    snprintf(m->server, sizeof m->server, "%s", m->is_connected ? e->zk_state.server : "");
}

static void forget_watches(struct check *c, const struct trace_event *e)
{
    uint32_t member;
    if (!member_of(c, e->m, &member))
        return;
    for (uint32_t i = 0; i < c->watch_names.count; i++)
        if (c->watches[i].member == member)
            c->watches[i].is_armed = false;
}

void check_zookeeper(struct check *c, const struct trace_event *e)
{
    switch (e->type) {
    case TRACE_M_START: forget_watches(c, e); break;
    case TRACE_ZK_SESSION: take_session(c, e); break;
    case TRACE_ZK_TXN: take_txn(c, e); break;
    case TRACE_ZK_OP: take_op(c, e); break;
    case TRACE_ZK_WATCH: take_watch(c, e); break;
    case TRACE_ZK_STATE: take_state(c, e); break;
    case TRACE_ZK_ROLE: take_role(c, e); break;
    default: break;
    }
}

/* The path of the list that the group's members are in; NULL: nobody has registered. */
static const char *members_path(const struct check *c)
{
    return c->ids_path[0] ? c->ids_path : NULL;
}

bool check_is_quiet(const struct check *c, uint64_t t_ns)
{
    return c->now_ns >= QUIET_NS && t_ns <= c->now_ns - QUIET_NS;
}

/* It has been connected for long enough to have read what it should. */
static bool is_there(const struct check *c, const struct member *m)
{
    return (m->is_live || m->is_observer) && !m->is_suspended && m->is_connected &&
           check_is_quiet(c, m->connected_ns);
}

static bool is_any_observer_there(const struct check *c)
{
    for (uint32_t i = 0; i < c->member_names.count; i++)
        if (c->members[i].is_observer && is_there(c, &c->members[i]))
            return true;
    return false;
}

/* What no packet has room for is not watched, but read again and again. */
static bool is_read_again(const struct check *c, const struct watch *w)
{
    const uint64_t limit_ns = WATCH_LOOK_AGAIN_MS * MS + QUIET_NS;
    return w->reads > 1 && c->now_ns <= w->read_ns + limit_ns;
}

/* Z7: a member at rest watches the members of its group: whoever forgets to leave its watch again
 * learns of nothing any more. Of a process that has an observer that one does. */
static void check_at_rest(struct check *c)
{
    const char *path = members_path(c);
    bool has_observer = !c->is_virtual || is_any_observer_there(c); /* real ones tell nothing */
    for (uint32_t i = 0; path && c->has_ops && i < c->member_names.count; i++) {
        const struct member *m = &c->members[i];
        if (!is_there(c, m) || m->in_rebalance || (!m->has_view && !m->is_observer))
            continue;
        const struct watch *w = watch_of(c, path, i, WATCH_CHILDREN);
        checked(c, CHECK_OWN_NODE);
        if (m->waits_for_itself) {
            counted(c, CHECK_OWN_NODE, 1);
            continue;
        }
        if (m->is_observed && has_observer) /* the observer's watch will do */
            continue;
        checked(c, CHECK_Z7);
        bool is_watched = w && w->is_armed && w->session == m->session;
        if (w && !is_watched && !is_read_again(c, w))
            violated(c, CHECK_Z7, UINT64_MAX, "%s is at rest, and has no watch on %s",
                     c->member_names.list[i].text, path);
    }
}

/* Z7: a watch that was left has fired if what it watches has changed, and time enough has passed.
 */
void check_zookeeper_finish(struct check *c)
{
    if (!c->has_txns || c->watches_overtaken || !check_is_quiet(c, c->fault_ns))
        return;
    check_at_rest(c);
    for (uint32_t i = 0; i < c->watch_names.count; i++) {
        const struct watch *w = &c->watches[i];
        const struct member *m = &c->members[w->member];
        const struct change *change = change_of(c, c->watch_names.list[i].text);
        if (!w->is_armed || c->watch_names.list[i].number % 2 != WATCH_CHILDREN || !change ||
            w->session != m->session || !is_there(c, m) || !check_is_quiet(c, change->t_ns))
            continue;
        checked(c, CHECK_Z7);
        if (w->zxid < change->zxid)
            violated(c, CHECK_Z7, UINT64_MAX,
                     "%s watches %s since zxid %" PRId64
                     ", and was never told of the change of %" PRId64,
                     c->member_names.list[w->member].text, c->watch_names.list[i].text, w->zxid,
                     change->zxid);
    }
}
