/* The life of one member: its processes, sessions, operations, commits. Its attempts are in
 * import_attempt.c. */
#include "study/record/import_life.h"
#include "zkconsumer/core/zk/offset.h"
#include "zkconsumer/core/zk/registration.h"
#include <stdlib.h>

/* ---- lists ---- */

void *life_add(struct life *l, struct list *list, size_t size)
{
    if (list->count == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 8;
        void *grown = import_alloc(l->x, cap, size);
        if (!grown)
            return NULL;
        if (list->count)
            memcpy(grown, list->at, list->count * size);
        list->at = grown;
        list->cap = cap;
    }
    return (char *)list->at + list->count++ * size;
}

static bool is_same(struct topic_partition a, struct topic_partition b)
{
    return topic_partition_compare(a, b) == 0;
}

struct claim *life_claim(struct life *l, struct list *list, struct topic_partition p)
{
    struct claim *all = list->at;
    for (size_t i = 0; i < list->count; i++)
        if (is_same(all[i].p, p))
            return &all[i];
    struct claim *c = life_add(l, list, sizeof *c);
    if (c)
        *c = (struct claim){.p = p, .offset = -1};
    return c;
}

const struct path_info *life_path(const struct life *l, const struct item *i)
{
    static const struct path_info none = {.path = "", .kind = ZK_PATH_OTHER, .leaf = ""};
    return i->path == IMPORT_NONE ? &none : &l->x->infos[i->path];
}

struct topic_partition life_partition(const struct life *l, const struct path_info *p)
{
    return (struct topic_partition){l->x->topic_names.list[p->topic].text, p->partition};
}

bool life_is_self(const struct life *l, const struct path_info *p)
{
    return p->kind == ZK_PATH_ID && p->is_group && l->id && strcmp(p->leaf, l->id) == 0;
}

struct trace_event *life_emit(struct life *l, enum trace_type type, uint64_t t_ns)
{
    return import_emit(l->x, type, t_ns, l->order, l->name, l->name);
}

/* ---- what an operation is ---- */

enum trace_op life_op(enum capture_op op)
{
    return (enum trace_op)op; /* the same order */
}

void life_note_zxid(int64_t *first, int64_t *last, int64_t zxid)
{
    if (!zxid)
        return;
    if (!*first)
        *first = zxid;
    *last = zxid;
}

static void emit_op(struct life *l, const struct item *i)
{
    if (i->op > CAPTURE_SYNC)
        return;
    struct trace_event *e = life_emit(l, TRACE_ZK_OP, i->done_ns);
    if (!e)
        return;
    e->zk_op.op = life_op(i->op);
    e->zk_op.path = life_path(l, i)->path;
    e->zk_op.has_watch = i->has_watch;
    e->zk_op.zk_rc = i->zk_rc;
    e->zk_op.zxid = i->zxid;
    e->zk_op.latency_ns = i->done_ns - i->t_ns;
}

int64_t life_offset_in(struct bytes data)
{
    int64_t offset;
    struct why why;
    return data.data && zk_offset_read(data, &offset, &why) == ZKC_OK ? offset : -1;
}

/* ---- commits ---- */

static bool commit_pending(struct life *l, const struct path_info *p, bool take)
{
    const struct path_info **all = l->commits.at;
    for (size_t k = 0; k < l->commits.count; k++)
        if (all[k] == p) {
            if (take)
                all[k] = all[--l->commits.count];
            return true;
        }
    return false;
}

static void emit_commit(struct life *l, const struct item *i, const struct path_info *p)
{
    struct topic_partition tp = life_partition(l, p);
    struct claim *known = life_claim(l, &l->offsets, tp);
    struct trace_event *e = known ? life_emit(l, TRACE_COMMIT, i->done_ns) : NULL;
    if (!e)
        return;
    e->offset.p = tp;
    e->offset.offset = life_offset_in(i->data);
    e->offset.previous = known->offset;
    e->offset.rc = i->zk_rc ? zk_rc_name(i->zk_rc) : "ok";
    e->offset.zxid = i->zk_rc ? 0 : i->zxid;
    if (!i->zk_rc)
        known->offset = e->offset.offset;
}

/* Set; where there is no node, its parents and itself are made (and set again, if that was too
 * late). */
static void write_offset(struct life *l, const struct item *i, const struct path_info *p)
{
    struct attempt *a = &l->attempt;
    life_before_commit(l, i);
    if (a->is_on && !a->claims.count) {
        life_join_scan(l);
        life_count_op(l, i, &a->commit_ns);
    }
    bool is_set = i->op == CAPTURE_SET;
    if (is_set && i->zk_rc == ZK_NO_NODE) {
        const struct path_info **at =
            commit_pending(l, p, false) ? NULL : life_add(l, &l->commits, sizeof *at);
        if (at)
            *at = p;
    } else if (is_set || commit_pending(l, p, false)) {
        if (!is_set && (i->zk_rc == ZK_NODE_EXISTS || i->zk_rc == ZK_NO_NODE))
            return;
        commit_pending(l, p, true);
        emit_commit(l, i, p);
    }
}

/* ---- one operation ---- */

/* The event thread's: `exists`, and what it reads next of the same path. */
static bool is_reread(struct life *l, const struct item *i)
{
    if (i->path == IMPORT_NONE)
        return false;
    uint8_t *state = &l->rereads[i->path];
    if (i->op == CAPTURE_EXISTS) {
        if (*state == REREAD_EVENT)
            *state = REREAD_EXISTS;
        return true;
    }
    bool is_read = i->op == CAPTURE_GET || i->op == CAPTURE_CHILDREN;
    if (*state != REREAD_EXISTS || !is_read)
        return false;
    *state = REREAD_NONE;
    return true;
}

static void take_op(struct life *l, const struct item *i)
{
    const struct path_info *p = life_path(l, i);
    struct attempt *a = &l->attempt;
    emit_op(l, i);
    if (!l->id)
        return;
    if (i->op == CAPTURE_CLOSE_SESSION) {
        life_end_attempt(l, false);
        life_end_owned(l, i->t_ns, "exit");
        l->is_leaving = i->is_answered && !i->zk_rc;
        return;
    }
    if (l->x->options.is_safe || is_reread(l, i) || life_scan_op(l, i, p))
        return;
    switch (i->op) {
    case CAPTURE_GET:
    case CAPTURE_CHILDREN: life_read(l, i, p); break;
    case CAPTURE_CREATE:
        if (p->kind == ZK_PATH_OWNER && p->is_group)
            life_create_owner(l, i, p);
        else if (p->kind == ZK_PATH_OFFSET && p->is_group)
            write_offset(l, i, p);
        else if (p->kind == ZK_PATH_ID)
            l->scan.is_on = false; /* what follows is about this; registrations are the session's */
        else if (!a->is_on)
            break;
        else if (a->claims.count)
            life_count_op(l, i, &a->claim_ns); /* parents */
        else
            life_count_op(l, i, &a->commit_ns);
        break;
    case CAPTURE_SET:
        if (p->kind == ZK_PATH_OFFSET && p->is_group)
            write_offset(l, i, p);
        break;
    case CAPTURE_DELETE:
        if (p->kind == ZK_PATH_OWNER && p->is_group)
            life_delete_owner(l, i, p);
        break;
    default: break;
    }
}

/* ---- sessions ---- */

static const struct item *registration(const struct life *l, uint64_t session)
{
    uint32_t i = names_find(&l->x->session_names, "", session);
    uint32_t item = i == NAMES_NONE ? IMPORT_NONE : l->x->sessions[i].registered;
    return item == IMPORT_NONE ? NULL : &l->x->items[item];
}

static void emit_start(struct life *l, const struct item *i, const struct item *registered)
{
    struct zk_registration r;
    struct why java, why;
    struct trace_event *e = life_emit(l, TRACE_M_START, i->t_ns);
    if (!e)
        return;
    e->m_start.id = l->id;
    e->m_start.strategy = "";
    static const char *const nothing[1] = {NULL};
    e->m_start.topics = nothing;
    enum zkc_err err = zk_registration_read(registered->data, &r, &java, &why);
    import_failed(l->x, err);
    if (err)
        return;
    size_t n = r.subscription_count;
    const char **topics = import_alloc(l->x, n, sizeof *topics);
    for (size_t k = 0; topics && k < n; k++)
        topics[k] = import_text(l->x, r.subscriptions[k].topic, strlen(r.subscriptions[k].topic));
    e->m_start.topics = topics ? topics : nothing;
    e->m_start.topic_count = topics ? n : 0;
    for (size_t k = 0; k < n; k++) { /* 0, not known, unless it is the same for all */
        bool is_same_number = k == 0 || r.subscriptions[k].streams == r.subscriptions[0].streams;
        e->m_start.streams =
            is_same_number && (k == 0 || e->m_start.streams) ? r.subscriptions[0].streams : 0;
    }
    if (r.pattern != ZK_PATTERN_STATIC)
        e->m_start.streams = 0;
    zk_registration_deinit(&r);
}

static void emit_exit(struct life *l, uint64_t t_ns, uint64_t order, bool is_clean)
{
    uint64_t before = l->order;
    l->order = order;
    life_leave_attempt(l, t_ns);
    if (l->in_rebalance)
        life_end_rebalance(l, t_ns, false, false);
    struct trace_event *e = life_emit(l, TRACE_M_EXIT, t_ns);
    if (e)
        e->m_exit.is_clean = is_clean;
    l->id = NULL;
    l->owned = l->offsets = l->commits = (struct list){0};
    l->is_leaving = l->was_expired = l->has_session = false;
    l->trigger = NULL;
    l->order = before;
}

static void emit_session(struct life *l, const struct item *i, const char *what)
{
    struct trace_event *e = life_emit(l, TRACE_ZK_SESSION, i->t_ns);
    if (!e)
        return;
    e->zk_session.what = what;
    e->zk_session.session = i->session;
    e->zk_session.server = "";
}

static void emit_state(struct life *l, const struct item *i, const char *state)
{
    struct trace_event *e = life_emit(l, TRACE_ZK_STATE, i->t_ns);
    if (!e)
        return;
    e->zk_state.state = state;
    e->zk_state.server = "";
}

static void triggered(struct life *l, uint64_t t_ns, const char *why)
{
    if (l->trigger)
        return;
    l->trigger = why;
    l->trigger_ns = t_ns;
    l->trigger_order = l->order;
}

/* A process that registers in the session; the same one again, or another after it died. */
static void start(struct life *l, const struct item *i)
{
    const struct item *registered = registration(l, i->session);
    if (l->id && !l->was_expired && l->has_session)
        emit_exit(l, l->is_connected ? i->t_ns : l->gone_ns,
                  l->is_connected ? l->order : l->gone_order, false);
    if (!registered)
        return;
    bool is_new = !l->id;
    l->id = life_path(l, registered)->leaf;
    if (is_new)
        emit_start(l, i, registered);
    triggered(l, registered->done_ns, is_new ? "start" : "expired");
    memset(l->rereads, is_new ? REREAD_NONE : REREAD_EVENT, l->x->path_names.count);
    l->was_expired = false;
}

static void take_session(struct life *l, const struct item *i)
{
    start(l, i);
    l->has_session = l->is_connected = true;
    l->session = i->session;
    emit_session(l, i, "open");
    emit_state(l, i, "connected");
}

static void take_expired(struct life *l, const struct item *i)
{
    if (!l->id || i->session != l->session)
        return;
    l->was_expired = true;
    life_leave_attempt(l, i->t_ns);
    emit_session(l, i, "expire");
    emit_state(l, i, "expired");
    life_end_owned(l, i->t_ns, "lost");
}

static void take_gone(struct life *l, const struct item *i)
{
    if (i->session != l->session || !l->is_connected)
        return;
    l->is_connected = false;
    l->gone_ns = i->t_ns;
    l->gone_order = l->order;
    l->is_gone_by_client = i->is_client_end;
    if (l->is_leaving) {
        emit_session(l, i, "close");
        emit_exit(l, i->t_ns, l->order, true);
    } else {
        emit_state(l, i, "disconnected");
    }
}

static void take_watch(struct life *l, const struct item *i)
{
    const struct path_info *p = life_path(l, i);
    struct trace_event *e = life_emit(l, TRACE_ZK_WATCH, i->t_ns);
    if (!e)
        return;
    e->zk_watch.path = p->path;
    e->zk_watch.type = i->text;
    if (i->path != IMPORT_NONE)
        l->rereads[i->path] = REREAD_EVENT;
    if ((p->kind == ZK_PATH_IDS && p->is_group) || p->kind == ZK_PATH_TOPIC ||
        p->kind == ZK_PATH_TOPICS || p->kind == ZK_PATH_BROKERS)
        triggered(l, i->t_ns, "watch");
}

static void take_delivered(struct life *l, const struct item *i)
{
    struct trace_event *e = l->id ? life_emit(l, TRACE_DELIVER, i->t_ns) : NULL;
    if (!e)
        return;
    e->deliver.p = i->p;
    e->deliver.first = i->first;
    e->deliver.last = i->last;
    e->deliver.first_ns = e->deliver.last_ns = e->t_ns;
}

/* The process has gone, if its end of the connection did and nobody came back. */
static void at_end(struct life *l)
{
    life_leave_attempt(l, l->x->last_ns);
    if (l->id && !l->is_connected && !l->was_expired && l->is_gone_by_client)
        emit_exit(l, l->gone_ns, l->gone_order, false);
}

void import_member(struct import *x, uint32_t member)
{
    struct life l = {.x = x, .name = import_member_name(x, member)};
    l.rereads = import_alloc(x, x->path_names.count, 1);
    for (size_t k = 0; l.rereads && k < x->item_count && !x->failed; k++) {
        const struct item *i = &x->items[k];
        if (i->member != member)
            continue;
        l.order = i->order > l.order ? i->order : l.order;
        switch (i->kind) {
        case ITEM_OP: take_op(&l, i); break;
        case ITEM_WATCH: take_watch(&l, i); break;
        case ITEM_SESSION: take_session(&l, i); break;
        case ITEM_BACK:
            l.is_connected = true;
            emit_state(&l, i, "connected");
            break;
        case ITEM_EXPIRED: take_expired(&l, i); break;
        case ITEM_GONE: take_gone(&l, i); break;
        case ITEM_DELIVERED: take_delivered(&l, i); break;
        default: break;
        }
    }
    if (!x->failed)
        at_end(&l);
}
