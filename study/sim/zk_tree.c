#include "study/sim/zk_tree.h"
#include <assert.h>
#include <string.h>

/* DataNode: new HashSet<String>(8); DataTree: new HashSet<String>() */
#define CHILDREN_FIRST   8
#define EPHEMERALS_FIRST 16

/* ---- nodes ---- */

static struct znode *add_node(struct zk_tree *t, uint32_t path, struct value *data, uint64_t owner)
{
    if (path >= t->cap) {
        uint32_t cap = t->cap ? t->cap : 1024;
        while (path >= cap)
            cap *= 2;
        t->nodes = pool_resize(t->pool, t->nodes, cap * sizeof(struct znode *));
        t->cap = cap;
    }
    struct znode *n = pool_take(t->pool, sizeof *n);
    n->data = value_ref(data);
    n->owner = owner;
    java_set_init(&n->children, CHILDREN_FIRST);
    t->nodes[path] = n;
    return n;
}

static void forget_names(struct zk_tree *t, struct znode *n)
{
    zk_names_unref(t->pool, n->names);
    n->names = NULL;
}

static void free_node(struct zk_tree *t, struct znode *n)
{
    value_unref(t->pool, n->data);
    forget_names(t, n);
    java_set_deinit(&n->children, t->pool);
    pool_give(t->pool, n);
}

void zk_names_unref(struct pool *p, struct zk_names *names)
{
    if (names && --names->refs == 0)
        pool_give(p, names);
}

struct zk_names *zk_tree_names(struct zk_tree *t, struct znode *n)
{
    if (!n->names) {
        n->names = pool_take(t->pool, sizeof *n->names + n->children.count * sizeof(char *));
        n->names->refs = 1;
        for (struct java_cursor c = java_set_first(&n->children); c.entry;
             java_set_next(&n->children, &c))
            n->names->list[n->names->count++] = zk_path_at(t->paths, c.entry->id)->leaf;
    }
    n->names->refs++;
    return n->names;
}

void zk_tree_stat(const struct znode *n, struct zk_stat_full *out)
{
    *out = (struct zk_stat_full){.stat = {.ephemeral_owner = (int64_t)n->owner,
                                          .czxid = n->czxid,
                                          .mzxid = n->mzxid,
                                          .pzxid = n->pzxid,
                                          .version = n->version,
                                          .cversion = n->cversion},
                                 .children = (int32_t)n->children.count,
                                 .data_len = n->data ? (int32_t)n->data->len : 0};
}

/* ---- sessions ---- */

struct zk_session_entry *zk_tree_session(const struct zk_tree *t, uint64_t id)
{
    struct zk_session_entry *s = t->sessions[id * 0x9e3779b97f4a7c15ull >> 52];
    while (s && s->id != id)
        s = s->next;
    return s;
}

static struct zk_session_entry *add_session(struct zk_tree *t, uint64_t id, int32_t timeout_ms)
{
    struct zk_session_entry **slot = &t->sessions[id * 0x9e3779b97f4a7c15ull >> 52];
    struct zk_session_entry *s = pool_take(t->pool, sizeof *s);
    s->id = id;
    s->timeout_ms = timeout_ms;
    s->next = *slot;
    java_set_init(&s->ephemerals, EPHEMERALS_FIRST);
    *slot = s;
    t->session_count++;
    return s;
}

static void remove_session(struct zk_tree *t, uint64_t id)
{
    struct zk_session_entry **slot = &t->sessions[id * 0x9e3779b97f4a7c15ull >> 52];
    while (*slot && (*slot)->id != id)
        slot = &(*slot)->next;
    struct zk_session_entry *s = *slot;
    if (!s)
        return;
    *slot = s->next;
    java_set_deinit(&s->ephemerals, t->pool);
    pool_give(t->pool, s);
    t->session_count--;
}

/* ---- changes ---- */

static void create(struct zk_tree *t, const struct zk_part *p, int64_t zxid)
{
    const struct zk_path *path = zk_path_at(t->paths, p->path);
    struct znode *parent = zk_tree_node(t, path->parent);
    struct znode *n = add_node(t, p->path, p->data, p->owner);
    n->czxid = n->mzxid = n->pzxid = zxid;
    java_set_add(&parent->children, t->pool, path->leaf_hash, p->path);
    forget_names(t, parent);
    parent->cversion++;
    parent->pzxid = zxid;
    struct zk_session_entry *s = p->owner ? zk_tree_session(t, p->owner) : NULL;
    if (s)
        java_set_add(&s->ephemerals, t->pool, path->hash, p->path);
}

static void delete (struct zk_tree *t, uint32_t id, int64_t zxid)
{
    const struct zk_path *path = zk_path_at(t->paths, id);
    struct znode *parent = zk_tree_node(t, path->parent), *n = zk_tree_node(t, id);
    struct zk_session_entry *s = n->owner ? zk_tree_session(t, n->owner) : NULL;
    if (s)
        java_set_remove(&s->ephemerals, t->pool, path->hash, id);
    java_set_remove(&parent->children, t->pool, path->leaf_hash, id);
    forget_names(t, parent);
    parent->cversion++;
    parent->pzxid = zxid;
    t->nodes[id] = NULL;
    free_node(t, n);
}

static void set(struct zk_tree *t, const struct zk_part *p, int64_t zxid)
{
    struct znode *n = zk_tree_node(t, p->path);
    value_ref(p->data);
    value_unref(t->pool, n->data);
    n->data = p->data;
    n->version = p->version;
    n->mzxid = zxid;
}

static void apply_part(struct zk_tree *t, const struct zk_part *p, int64_t zxid)
{
    switch (p->what) {
    case ZK_DO_CREATE: create(t, p, zxid); break;
    case ZK_DO_DELETE: delete (t, p->path, zxid); break;
    case ZK_DO_SET: set(t, p, zxid); break;
    default: break;
    }
}

void zk_tree_apply(struct zk_tree *t, const struct zk_txn *x, zk_changed_fn *changed, void *user)
{
    assert(x->zxid > t->zxid);
    t->zxid = x->zxid;
    if (x->zk_rc != ZK_OK)
        return;
    if (x->what == ZK_DO_OPEN)
        add_session(t, x->session, x->timeout_ms);
    for (uint32_t i = 0; i < x->count; i++) {
        apply_part(t, &x->parts[i], x->zxid);
        if (changed)
            changed(user, &x->parts[i]);
    }
    if (x->what == ZK_DO_CLOSE)
        remove_session(t, x->session);
}

/* ---- birth and death ---- */

void zk_tree_init(struct zk_tree *t, struct pool *pool, struct zk_paths *paths)
{
    memset(t, 0, sizeof *t);
    t->pool = pool;
    t->paths = paths;
    add_node(t, ZK_PATH_ROOT, NULL, 0);
    struct zk_part p = {.what = ZK_DO_CREATE, .path = zk_paths_id(paths, "/zookeeper")};
    create(t, &p, 0);
    p.path = zk_paths_id(paths, "/zookeeper/quota");
    create(t, &p, 0);
    zk_tree_node(t, ZK_PATH_ROOT)->cversion = 0;
}

void zk_tree_deinit(struct zk_tree *t)
{
    for (uint32_t i = 0; i < t->cap; i++)
        if (t->nodes[i])
            free_node(t, t->nodes[i]);
    pool_give(t->pool, t->nodes);
    for (size_t i = 0; i < ZK_SESSION_TABLE; i++)
        while (t->sessions[i])
            remove_session(t, t->sessions[i]->id);
    memset(t, 0, sizeof *t);
}

static void copy_set(struct zk_tree *t, struct java_set *to, const struct java_set *from,
                     bool by_leaf)
{
    for (struct java_cursor c = java_set_first(from); c.entry; java_set_next(from, &c)) {
        const struct zk_path *p = zk_path_at(t->paths, c.entry->id);
        java_set_add(to, t->pool, by_leaf ? p->leaf_hash : p->hash, c.entry->id);
    }
}

void zk_tree_copy(struct zk_tree *to, const struct zk_tree *from)
{
    memset(to, 0, sizeof *to);
    to->pool = from->pool;
    to->paths = from->paths;
    to->zxid = from->zxid;
    for (uint32_t i = 0; i < from->cap; i++) {
        const struct znode *n = from->nodes[i];
        if (!n)
            continue;
        struct znode *copy = add_node(to, i, n->data, n->owner);
        copy->czxid = n->czxid;
        copy->mzxid = n->mzxid;
        copy->pzxid = n->pzxid;
        copy->version = n->version;
        copy->cversion = n->cversion;
        copy_set(to, &copy->children, &n->children, true);
    }
    for (size_t i = 0; i < ZK_SESSION_TABLE; i++)
        for (const struct zk_session_entry *s = from->sessions[i]; s; s = s->next)
            copy_set(to, &add_session(to, s->id, s->timeout_ms)->ephemerals, &s->ephemerals, false);
}

/* ---- transactions ---- */

struct zk_txn *zk_txn_new(struct pool *p, uint32_t parts)
{
    struct zk_txn *x = pool_take(p, sizeof *x + parts * sizeof x->parts[0]);
    x->refs = 1;
    x->origin = -1;
    return x;
}

void zk_txn_unref(struct pool *p, struct zk_txn *x)
{
    if (!x || --x->refs > 0)
        return;
    for (uint32_t i = 0; i < x->count; i++)
        value_unref(p, x->parts[i].data);
    pool_give(p, x->rcs);
    pool_give(p, x);
}

/* ---- the leader's rules ---- */

static bool is_special(const struct zk_path *p)
{
    return p->id == ZK_PATH_ROOT || strcmp(p->text, "/zookeeper") == 0 ||
           strcmp(p->text, "/zookeeper/quota") == 0;
}

/* PrepRequestProcessor.pRequest2Txn: in its order of checks. */
static int check_write(const struct zk_tree *t, const struct zk_write *w)
{
    const struct zk_path *path = zk_path_at(t->paths, w->path);
    const struct znode *n = zk_tree_node(t, w->path), *parent = zk_tree_node(t, path->parent);
    if (w->what == ZK_DO_DELETE && is_special(path))
        return ZK_BAD_ARGUMENTS;
    switch (w->what) {
    case ZK_DO_CREATE:
        if (!parent)
            return ZK_NO_NODE;
        if (!path->is_valid) /* only here, and only now */
            return ZK_BAD_ARGUMENTS;
        if (n)
            return ZK_NODE_EXISTS;
        return parent->owner ? ZK_NO_CHILDREN_FOR_EPHEMERALS : ZK_OK;
    case ZK_DO_DELETE:
    case ZK_DO_SET:
    case ZK_DO_CHECK:
        if (!n)
            return ZK_NO_NODE;
        if (w->version != ZK_ANY_VERSION && w->version != n->version)
            return ZK_BAD_VERSION;
        return w->what == ZK_DO_DELETE && n->children.count ? ZK_NOT_EMPTY : ZK_OK;
    default: return ZK_BAD_ARGUMENTS;
    }
}

static struct zk_part part_of(const struct zk_tree *t, const struct zk_write *w, uint64_t session)
{
    const struct znode *n = zk_tree_node(t, w->path);
    struct zk_part p = {.what = w->what, .path = w->path, .data = value_ref(w->data)};
    if (w->what == ZK_DO_CREATE)
        p.owner = w->ephemeral ? session : 0;
    else if (w->what == ZK_DO_DELETE)
        p.owner = n->owner;
    else if (w->what == ZK_DO_SET)
        p.version = n->version + 1;
    return p;
}

/* What a part has changed, so that a refused multi can be taken back. */
struct undo {
    struct zk_part part;
    int32_t version;
};

static void take_back(struct zk_tree *t, const struct undo *u)
{
    int64_t zxid = t->zxid;
    if (u->part.what == ZK_DO_CREATE) {
        delete (t, u->part.path, zxid);
    } else if (u->part.what == ZK_DO_DELETE) {
        create(t, &u->part, zxid);
        zk_tree_node(t, u->part.path)->version = u->version;
    } else if (u->part.what == ZK_DO_SET) {
        struct zk_part back = u->part;
        back.version = u->version;
        set(t, &back, zxid);
    }
    value_unref(t->pool, u->part.data);
}

static struct undo undo_of(const struct zk_tree *t, const struct zk_part *p)
{
    const struct znode *n = zk_tree_node(t, p->path);
    struct undo u = {.part = *p, .version = n ? n->version : 0};
    u.part.data = value_ref(n ? n->data : NULL);
    return u;
}

/* All or none. Part after part by the state that those before have left; a refused one: the ones
 * before it count as fine, those behind as not tried (OpResult of MultiTransactionRecord). */
static void prepare_writes(struct zk_tree *t, struct zk_txn *x, const struct zk_write *writes,
                           uint32_t count)
{
    struct undo *undo = pool_take(t->pool, (count + 1) * sizeof *undo);
    uint32_t done = 0;
    for (; done < count; done++) {
        x->zk_rc = check_write(t, &writes[done]);
        if (x->zk_rc != ZK_OK)
            break;
        x->parts[done] = part_of(t, &writes[done], x->session);
        x->count++;
        undo[done] = undo_of(t, &x->parts[done]);
        apply_part(t, &x->parts[done], x->zxid);
    }
    if (x->zk_rc != ZK_OK && x->what == ZK_DO_MULTI) {
        x->rcs = pool_take(t->pool, count * sizeof *x->rcs);
        x->rc_count = count;
        for (uint32_t i = 0; i < count; i++)
            x->rcs[i] = i < done ? ZK_OK : i == done ? x->zk_rc : ZK_RUNTIME_INCONSISTENCY;
    }
    if (x->zk_rc != ZK_OK) {
        for (uint32_t i = done; i-- > 0;)
            take_back(t, &undo[i]);
        while (x->count > 0)
            value_unref(t->pool, x->parts[--x->count].data);
    } else {
        for (uint32_t i = 0; i < done; i++)
            value_unref(t->pool, undo[i].part.data);
    }
    pool_give(t->pool, undo);
}

static struct zk_txn *prepare_close(struct zk_tree *t, uint64_t session, int64_t zxid)
{
    struct zk_session_entry *s = zk_tree_session(t, session);
    struct zk_txn *x = zk_txn_new(t->pool, s ? s->ephemerals.count : 0);
    x->zxid = zxid;
    x->what = ZK_DO_CLOSE;
    x->session = session;
    if (!s) {
        x->zk_rc = ZK_SESSION_EXPIRED;
        return x;
    }
    for (struct java_cursor c = java_set_first(&s->ephemerals); c.entry;
         java_set_next(&s->ephemerals, &c))
        x->parts[x->count++] =
            (struct zk_part){.what = ZK_DO_DELETE, .path = c.entry->id, .owner = session};
    return x;
}

struct zk_txn *zk_tree_prepare(struct zk_tree *t, enum zk_do what, uint64_t session,
                               const struct zk_write *writes, uint32_t count, int64_t zxid)
{
    struct zk_txn *x;
    if (what == ZK_DO_CLOSE) {
        x = prepare_close(t, session, zxid);
        zk_tree_apply(t, x, NULL, NULL);
        return x;
    }
    x = zk_txn_new(t->pool, count);
    x->zxid = zxid;
    x->what = what;
    x->session = session;
    if (what == ZK_DO_OPEN)
        return x; /* the caller sets the timeout and applies it */
    const struct zk_session_entry *s = session ? zk_tree_session(t, session) : NULL;
    if (session && (!s || s->is_closing))
        x->zk_rc = ZK_SESSION_EXPIRED;
    else
        prepare_writes(t, x, writes, count);
    t->zxid = zxid;
    return x;
}
