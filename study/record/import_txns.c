/* A server's transaction log beside a capture: what nobody was answered, and when things were. The
 * leader's clock and the recorder's are brought together by the writes that both have. */
#include "study/record/import_state.h"
#include <stdlib.h>

#define MS_NS       INT64_C(1000000)
#define TIME_MS_MAX (CAPTURE_TIME_S_MAX * 1000) /* what is later, or before 1970, is no time */

static uint32_t path_of(struct import *x, struct bytes path)
{
    const char *text = import_text(x, path.data ? (const char *)path.data : "", path.len);
    return text ? import_path(x, text) : NAMES_NONE;
}

static const char *path_text(const struct import *x, uint32_t path)
{
    return path == NAMES_NONE ? NULL : x->path_names.list[path].text;
}

static enum capture_op op_of(enum txn_kind kind)
{
    switch (kind) {
    case TXN_CREATE: return CAPTURE_CREATE;
    case TXN_DELETE: return CAPTURE_DELETE;
    case TXN_SET: return CAPTURE_SET;
    case TXN_CLOSE_SESSION: return CAPTURE_CLOSE_SESSION;
    case TXN_MULTI: return CAPTURE_MULTI;
    default: return CAPTURE_CHECK;
    }
}

static void keep_one(struct import *x, struct item *i, const struct txn_part *part)
{
    i->path = path_of(x, part->path);
    i->data = import_data(x, path_text(x, i->path), part->data);
    i->is_ephemeral = part->is_ephemeral;
}

static void keep_parts(struct import *x, struct item *i, const struct txn *txn)
{
    struct capture_part *parts = import_alloc(x, txn->part_count, sizeof *parts);
    for (size_t k = 0; parts && k < txn->part_count; k++)
        parts[k] = (struct capture_part){.op = op_of(txn->parts[k].kind),
                                         .path = path_text(x, path_of(x, txn->parts[k].path)),
                                         .data = import_data(x, NULL, txn->parts[k].data),
                                         .is_ephemeral = txn->parts[k].is_ephemeral};
    i->parts = parts;
    i->part_count = parts ? txn->part_count : 0;
}

static int64_t sane_ms(int64_t ms)
{
    return ms < 0 ? 0 : ms > TIME_MS_MAX ? TIME_MS_MAX : ms;
}

bool import_take_txn(struct import *x, const struct txn *txn)
{
    if (x->failed || txn->kind == TXN_OTHER || txn->kind == TXN_CREATE_SESSION)
        return !x->failed;
    if (!import_reserve(x, (void **)&x->logged, x->logged_count, &x->logged_cap, sizeof *x->logged))
        return false;
    struct logged *l = &x->logged[x->logged_count++];
    *l =
        (struct logged){.time_ms = sane_ms(txn->time_ms),
                        .item = {.kind = ITEM_OP,
                                 .op = op_of(txn->kind),
                                 .link = IMPORT_NONE,
                                 .member = IMPORT_NONE,
                                 .path = IMPORT_NONE,
                                 .order = IMPORT_FIRST,
                                 .session = txn->session,
                                 .zxid = txn->zxid,
                                 .xid = txn->cxid,
                                 .zk_rc = txn->kind == TXN_ERROR ? ZK_RUNTIME_INCONSISTENCY : ZK_OK,
                                 .foreign = -1}};
    if (txn->kind == TXN_MULTI)
        keep_parts(x, &l->item, txn);
    else if (txn->part_count)
        keep_one(x, &l->item, &txn->parts[0]);
    return !x->failed;
}

/* ---- what was recorded ---- */

static int by_zxid(const void *a, const void *b)
{
    const struct logged *x = a, *y = b;
    return x->item.zxid < y->item.zxid ? -1 : x->item.zxid > y->item.zxid;
}

/* In the log's order, each once. */
static void sort(struct import *x)
{
    size_t kept = 0;
    qsort(x->logged, x->logged_count, sizeof *x->logged, by_zxid);
    for (size_t k = 0; k < x->logged_count; k++)
        if (kept == 0 || x->logged[kept - 1].item.zxid != x->logged[k].item.zxid)
            x->logged[kept++] = x->logged[k];
    x->logged_count = kept;
}

static const struct logged *find_logged(const struct import *x, int64_t zxid)
{
    struct logged key = {.item = {.zxid = zxid}};
    return bsearch(&key, x->logged, x->logged_count, sizeof key, by_zxid);
}

static int by_request(const void *a, const void *b)
{
    const struct item *x = *(const struct item *const *)a, *y = *(const struct item *const *)b;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    return x->xid < y->xid ? -1 : x->xid > y->xid;
}

struct requests {
    const struct item **list; /* that nobody was answered, by session and number */
    size_t count;
};

static bool requests_init(struct import *x, struct requests *r)
{
    *r = (struct requests){.list = malloc((x->item_count + 1) * sizeof *r->list)};
    if (!r->list) {
        import_failed(x, ZKC_ERR_NOMEM);
        return false;
    }
    for (size_t k = 0; k < x->item_count; k++)
        if (x->items[k].kind == ITEM_OP && !x->items[k].is_answered)
            r->list[r->count++] = &x->items[k];
    qsort(r->list, r->count, sizeof *r->list, by_request);
    return true;
}

static const struct item *find_request(const struct requests *r, const struct item *logged)
{
    const struct item **found = bsearch(&logged, r->list, r->count, sizeof *r->list, by_request);
    return found ? *found : NULL;
}

/* ---- the leader's clock ---- */

struct clock {
    int64_t low, high; /* bounds of what is to be added to its milliseconds, in ns */
};

/* Between its request and its answer a write was proposed. */
static struct clock read_clock(const struct import *x, const struct writes *w)
{
    struct clock c = {INT64_MIN, INT64_MAX};
    for (size_t k = 0; k < w->count; k++) {
        const struct logged *l = find_logged(x, w->list[k].zxid);
        if (!l)
            continue;
        int64_t low = (int64_t)w->list[k].from_ns - (l->time_ms + 1) * MS_NS;
        int64_t high = (int64_t)w->list[k].to_ns - l->time_ms * MS_NS;
        c.low = low > c.low ? low : c.low;
        c.high = high < c.high ? high : c.high;
    }
    return c;
}

/* Within bounds, whatever the clocks say (one may have been set in between). */
static uint64_t time_of(struct clock c, const struct logged *l, uint64_t from_ns, uint64_t to_ns)
{
    if (c.low == INT64_MIN)
        return from_ns; /* nothing was recorded */
    int64_t add_ns = c.low + (c.high - c.low) / 2;
    int64_t t = l->time_ms * MS_NS + add_ns;
    return t < (int64_t)from_ns ? from_ns : t > (int64_t)to_ns ? to_ns : (uint64_t)t;
}

/* ---- together ---- */

static void add(struct import *x, struct writes *w, struct clock c, struct logged *l,
                const struct item *request)
{
    uint64_t from = request ? request->t_ns : 0;
    uint64_t t = time_of(c, l, from > x->first_ns ? from : x->first_ns, x->last_ns);
    struct item *i = &l->item;
    i->t_ns = i->done_ns = t;
    /* Its time is an estimate, and must not push what was recorded out of its bounds. */
    import_write_add(x, w,
                     (struct write){i->zxid, i, NULL, t, x->last_ns, request ? request->order : 0});
    if (i->op != CAPTURE_CLOSE_SESSION || i->zk_rc ||
        names_find(&x->session_names, "", i->session) == NAMES_NONE)
        return;
    struct session *s = import_session(x, i->session);
    if (!s || s->is_closed)
        return;
    s->has_end = true; /* nobody asked for it, or was answered */
    s->end_ns = s->sign_ns = t;
    s->zxid_max = i->zxid;
}

void import_txns(struct import *x, struct writes *w)
{
    struct requests requests;
    sort(x);
    if (!requests_init(x, &requests))
        return;
    struct clock c = read_clock(x, w);
    size_t recorded = w->count, at = 0;
    for (size_t k = 0; k < recorded; k++) {
        const struct logged *l = find_logged(x, w->list[k].zxid);
        x->unlogged += !l && !w->list[k].item->zk_rc;
        if (l)
            w->list[k].from_ns = time_of(c, l, w->list[k].from_ns, w->list[k].to_ns);
    }
    for (size_t k = 0; k < x->logged_count && !x->failed; k++) {
        struct logged *l = &x->logged[k];
        while (at < recorded && w->list[at].zxid < l->item.zxid)
            at++;
        if (at == recorded || w->list[at].zxid != l->item.zxid)
            add(x, w, c, l, find_request(&requests, &l->item));
    }
    import_writes_sort(w);
    free(requests.list);
}
