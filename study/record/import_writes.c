/* The writes of the ensemble: those that passed, in the order of their zxids, and the ends of
 * sessions that nobody asked for, from signs of them where no log has them. Each gets a time
 * between its request and its answer, so that order and times agree. */
#include "study/record/import_state.h"
#include <stdlib.h>

void import_write_add(struct import *x, struct writes *w, struct write one)
{
    if (import_reserve(x, (void **)&w->list, w->count, &w->cap, sizeof *w->list))
        w->list[w->count++] = one;
}

static bool is_write(const struct item *i)
{
    return i->kind == ITEM_OP && i->is_answered && i->zxid > 0 &&
           (i->op == CAPTURE_CREATE || i->op == CAPTURE_DELETE || i->op == CAPTURE_SET ||
            i->op == CAPTURE_MULTI || i->op == CAPTURE_CLOSE_SESSION);
}

static int by_zxid(const void *a, const void *b)
{
    const struct write *x = a, *y = b;
    if (x->zxid != y->zxid)
        return x->zxid < y->zxid ? -1 : 1;
    return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

void import_writes_sort(struct writes *w)
{
    if (w->count)
        qsort(w->list, w->count, sizeof *w->list, by_zxid);
}

/* ---- nodes ---- */

struct nodes {
    uint64_t *owners;  /* by path: the session of an ephemeral that is there; 0: none */
    uint64_t *by_stat; /* as some read said: for nodes that are older than the capture */
};

static bool nodes_init(struct import *x, struct nodes *n)
{
    n->owners = import_alloc(x, x->path_names.count, sizeof *n->owners);
    n->by_stat = import_alloc(x, x->path_names.count, sizeof *n->by_stat);
    return n->owners && n->by_stat;
}

static void nodes_clear(struct import *x, struct nodes *n)
{
    memset(n->owners, 0, x->path_names.count * sizeof *n->owners);
}

/* A part of a multi as an item of its own. False: it is no write, or not of a path that is known.
 */
static bool part_of(struct import *x, const struct item *i, size_t part, struct item *out)
{
    *out = *i;
    if (i->op != CAPTURE_MULTI)
        return part == 0;
    out->op = i->parts[part].op;
    out->path =
        i->parts[part].path ? names_find(&x->path_names, i->parts[part].path, 0) : IMPORT_NONE;
    out->data = i->parts[part].data;
    out->is_ephemeral = i->parts[part].is_ephemeral;
    return out->op != CAPTURE_CHECK && out->path != IMPORT_NONE;
}

static size_t part_count(const struct item *i)
{
    return i->op == CAPTURE_MULTI ? i->part_count : 1;
}

static bool is_of_checks(const struct item *i)
{
    for (size_t p = 0; i->op == CAPTURE_MULTI && p < i->part_count; p++)
        if (i->parts[p].op != CAPTURE_CHECK)
            return false;
    return i->op == CAPTURE_MULTI;
}

static uint64_t owner_of(const struct nodes *n, uint32_t path)
{
    return n->owners[path] ? n->owners[path] : n->by_stat[path];
}

static void apply(struct nodes *n, const struct item *i)
{
    if (i->path == IMPORT_NONE)
        return;
    if (i->op == CAPTURE_CREATE || i->op == CAPTURE_DELETE)
        n->owners[i->path] = n->by_stat[i->path] = 0;
    if (i->op == CAPTURE_CREATE && i->is_ephemeral)
        n->owners[i->path] = i->session;
}

/* ---- ends of sessions ---- */

static void sign(struct session *s, uint64_t t_ns, int64_t zxid_max)
{
    if (s->is_closed || (s->has_end && s->sign_ns <= t_ns))
        return;
    s->has_end = true;
    s->sign_ns = s->end_ns = t_ns;
    s->zxid_max = zxid_max;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A list of members without one that had registered before, and did not leave by itself. */
static void signs_in_list(struct import *x, const struct item *list)
{
    const char **sorted = calloc(list->child_count + 1, sizeof *sorted);
    if (!sorted) {
        import_failed(x, ZKC_ERR_NOMEM);
        return;
    }
    memcpy(sorted, list->children, list->child_count * sizeof *sorted);
    qsort(sorted, list->child_count, sizeof *sorted, by_text);
    for (uint32_t k = 0; k < x->session_names.count; k++) {
        struct session *s = &x->sessions[k];
        if (s->is_closed || s->registered == IMPORT_NONE)
            continue;
        const struct item *registered = &x->items[s->registered];
        const char *id = x->infos[registered->path].leaf;
        bool is_later = list->zxid && registered->zxid ? list->zxid > registered->zxid
                                                       : list->t_ns > registered->done_ns;
        if (is_later && !bsearch(&id, sorted, list->child_count, sizeof *sorted, by_text))
            sign(s, list->done_ns, list->zxid);
    }
    free(sorted);
}

static void find_signs(struct import *x, const struct writes *w, struct nodes *n)
{
    for (size_t k = 0; k < x->item_count; k++) {
        const struct item *i = &x->items[k];
        if (i->kind == ITEM_EXPIRED && i->session) {
            struct session *s = import_session(x, i->session);
            if (s)
                sign(s, i->t_ns, 0);
        } else if (i->kind == ITEM_OP && i->op == CAPTURE_CHILDREN && i->children && !i->zk_rc &&
                   x->infos[i->path].kind == ZK_PATH_IDS && x->infos[i->path].is_group) {
            signs_in_list(x, i);
        }
    }
    for (size_t k = 0; k < w->count; k++) /* a node is made where another's still was */
        for (size_t p = 0; !w->list[k].item->zk_rc && p < part_count(w->list[k].item); p++) {
            struct item part;
            if (!part_of(x, w->list[k].item, p, &part) || part.path == IMPORT_NONE)
                continue;
            uint64_t owner = part.op == CAPTURE_CREATE ? n->owners[part.path] : 0;
            struct session *s = owner ? import_session(x, owner) : NULL;
            if (s)
                sign(s, part.done_ns, w->list[k].zxid - 1);
            apply(n, &part);
        }
    nodes_clear(x, n);
}

/* The last word about the members' list before the sign was about it, most likely. */
static void set_time(const struct import *x, struct session *s)
{
    for (size_t k = 0; k < x->item_count && x->items[k].t_ns <= s->sign_ns; k++) {
        const struct item *i = &x->items[k];
        if (i->kind == ITEM_WATCH && i->path != IMPORT_NONE && i->t_ns >= s->alive_ns &&
            x->infos[i->path].kind == ZK_PATH_IDS && x->infos[i->path].is_group)
            s->end_ns = i->t_ns;
    }
}

/* The zxid that the end of a session had: the highest that is nobody else's, below what was written
 * after the first sign of it. 0: there is none. */
static int64_t find_zxid(const struct writes *w, const struct writes *ends, const struct session *s)
{
    int64_t max = s->zxid_max;
    if (!max) {
        for (size_t k = 0; k < w->count && !max; k++)
            if (w->list[k].from_ns >= s->sign_ns)
                max = w->list[k].zxid - 1;
        if (!max)
            max = w->count ? w->list[w->count - 1].zxid + 1 : 1;
    }
    size_t at = w->count;
    for (bool is_taken = true; is_taken && max > 0;) {
        while (at > 0 && w->list[at - 1].zxid > max)
            at--;
        is_taken = at > 0 && w->list[at - 1].zxid == max;
        for (size_t k = 0; k < ends->count; k++)
            is_taken = is_taken || ends->list[k].zxid == max;
        max -= is_taken;
    }
    return max;
}

static void add_ends(struct import *x, struct writes *w, struct nodes *n)
{
    struct writes ends = {0};
    find_signs(x, w, n);
    for (uint32_t k = 0; k < x->session_names.count && !x->failed; k++) {
        struct session *s = &x->sessions[k];
        if (!s->has_end)
            continue;
        set_time(x, s);
        int64_t zxid = find_zxid(w, &ends, s);
        if (zxid > 0)
            import_write_add(x, &ends,
                             (struct write){zxid, NULL, s, s->end_ns, s->sign_ns, IMPORT_FIRST});
    }
    for (size_t k = 0; k < ends.count; k++)
        import_write_add(x, w, ends.list[k]);
    free(ends.list);
    import_writes_sort(w);
}

/* ---- events ---- */

/* A later one is not before an earlier one, and each is between its request and its answer. */
static void set_times(struct writes *w)
{
    for (size_t k = 1; k < w->count; k++) {
        if (w->list[k].from_ns < w->list[k - 1].from_ns)
            w->list[k].from_ns = w->list[k - 1].from_ns;
        if (w->list[k].order < w->list[k - 1].order)
            w->list[k].order = w->list[k - 1].order;
        if (w->list[k].item) /* what is told of it comes after it */
            w->list[k].item->order = w->list[k].order;
    }
    for (size_t k = w->count; k-- > 0;) {
        if (k + 1 < w->count && w->list[k].to_ns > w->list[k + 1].to_ns)
            w->list[k].to_ns = w->list[k + 1].to_ns;
        if (w->list[k].from_ns > w->list[k].to_ns)
            w->list[k].from_ns = w->list[k].to_ns;
    }
}

static const char *member_of(const struct import *x, uint64_t session)
{
    uint32_t i = session ? names_find(&x->session_names, "", session) : NAMES_NONE;
    return i == NAMES_NONE || x->sessions[i].member == IMPORT_NONE
               ? NULL
               : import_member_name(x, x->sessions[i].member);
}

static struct trace_txn *emit(struct import *x, const struct write *w, const char *what,
                              const char *path, uint64_t session)
{
    const char *m = member_of(x, session);
    struct trace_event *e = import_emit(x, TRACE_ZK_TXN, w->from_ns, w->order, "zk", m);
    if (!e)
        return NULL;
    e->zk_txn.zxid = w->zxid;
    e->zk_txn.what = what;
    e->zk_txn.path = path;
    e->zk_txn.class_of = trace_path_read(path).class_of;
    e->zk_txn.session = session;
    e->zk_txn.m = m;
    e->zk_txn.parts = 1;
    return &e->zk_txn;
}

static void emit_close(struct import *x, const struct write *w, struct nodes *n, uint64_t session)
{
    uint32_t parts = 0, part = 0;
    if (!session)
        return; /* it began before the capture did */
    for (uint32_t p = 0; p < x->path_names.count; p++) {
        if (n->owners[p] == session && x->infos[p].is_other)
            n->owners[p] = n->by_stat[p] = 0;
        parts += n->owners[p] == session;
    }
    for (uint32_t p = 0; p < x->path_names.count && !x->failed; p++) {
        if (n->owners[p] != session)
            continue;
        struct trace_txn *t = emit(x, w, "close", x->infos[p].path, session);
        if (!t)
            return;
        t->ephemeral_owner = session;
        t->part = part++;
        t->parts = parts;
        n->owners[p] = n->by_stat[p] = 0;
    }
    if (!parts)
        emit(x, w, "close", "", session);
}

/* Of the group that is told of, or of nobody's. */
static bool is_told(const struct import *x, const struct item *part)
{
    bool is_change =
        part->op == CAPTURE_CREATE || part->op == CAPTURE_DELETE || part->op == CAPTURE_SET;
    return is_change && part->path != IMPORT_NONE && !x->infos[part->path].is_other;
}

static void emit_part(struct import *x, const struct write *w, struct nodes *n,
                      const struct item *part, uint32_t number, uint32_t count)
{
    static const char *const names[] = {
        [CAPTURE_CREATE] = "create", [CAPTURE_DELETE] = "delete", [CAPTURE_SET] = "set"};
    struct trace_txn *t = emit(x, w, names[part->op], x->infos[part->path].path, part->session);
    if (!t)
        return;
    t->part = number;
    t->parts = count;
    if (part->op == CAPTURE_CREATE)
        t->ephemeral_owner = part->is_ephemeral ? part->session : 0;
    else
        t->ephemeral_owner = owner_of(n, part->path);
    if (part->op != CAPTURE_DELETE && part->data.data) {
        t->value = (const char *)part->data.data;
        t->value_len = part->data.len;
    }
    apply(n, part);
}

static void emit_write(struct import *x, const struct write *w, struct nodes *n)
{
    if (!w->item) {
        emit_close(x, w, n, w->session->number);
        return;
    }
    if (w->item->zk_rc) {
        if (!x->is_scene) /* level 2 */
            emit(x, w, "error", "", 0);
        return;
    }
    if (w->item->op == CAPTURE_CLOSE_SESSION) {
        emit_close(x, w, n, w->item->session);
        return;
    }
    struct item *i = w->item, part;
    if (i->op == CAPTURE_DELETE && i->path != IMPORT_NONE && owner_of(n, i->path))
        i->foreign = owner_of(n, i->path) != i->session;
    uint32_t count = 0, number = 0;
    if (is_of_checks(i) && !x->is_scene)
        emit(x, w, "error", "", 0); /* as a simulated world tells it: it changes nothing */
    for (size_t p = 0; p < part_count(i); p++)
        count += part_of(x, i, p, &part) && is_told(x, &part);
    for (size_t p = 0; p < part_count(i); p++)
        if (part_of(x, i, p, &part) && is_told(x, &part))
            emit_part(x, w, n, &part, number++, count);
}

void import_writes(struct import *x)
{
    struct writes w = {0};
    struct nodes n;
    if (!nodes_init(x, &n))
        return;
    for (size_t k = 0; k < x->item_count && !x->failed; k++) {
        struct item *i = &x->items[k];
        if (i->has_stat && i->owner && i->path != IMPORT_NONE && !n.by_stat[i->path])
            n.by_stat[i->path] = i->owner;
        struct session *s = is_write(i) && i->op == CAPTURE_CLOSE_SESSION && !i->zk_rc
                                ? import_session(x, i->session)
                                : NULL;
        if (s)
            s->is_closed = true;
        if (is_write(i))
            import_write_add(x, &w,
                             (struct write){i->zxid, i, NULL, i->t_ns, i->done_ns, i->order});
    }
    import_writes_sort(&w);
    if (x->logged_count)
        import_txns(x, &w);
    else
        add_ends(x, &w, &n);
    set_times(&w);
    for (size_t k = 0; k < w.count && !x->failed; k++)
        emit_write(x, &w.list[k], &n);
    free(w.list);
}
