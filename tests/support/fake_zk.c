#include "tests/support/fake_zk.h"
#include <assert.h>
#include <stdlib.h>

struct node {
    char *path;
    char *data; /* terminated, the terminator not counted; NULL: null */
    size_t len;
    int64_t owner, czxid, mzxid;
    int64_t pzxid; /* last transaction that changed the children */
    int32_t version, cversion;
};

struct watch {
    int64_t session;
    bool is_child;
    char *path;
};

struct fired {
    int64_t session;
    enum zk_event_type type;
    char *path;
};

struct fake_zk {
    struct node *nodes; /* sorted by path; the root is not among them */
    size_t node_count, node_cap;
    int64_t *sessions; /* open ones */
    size_t session_count, session_cap;
    int64_t last_session;
    struct watch *watches;
    size_t watch_count, watch_cap;
    struct fired *fired;
    size_t fired_count, fired_cap;
    int64_t zxid;
    bool in_multi; /* whose parts have one transaction */
    struct zk_part_result parts[ZK_PARTS_MAX];
    struct zk_result result;
    char **children; /* of the last result */
    size_t children_cap;
    char *taken; /* path of the event taken last */
};

static void *grow(void *list, size_t *cap, size_t count, size_t size)
{
    if (count < *cap)
        return list;
    *cap = *cap ? *cap * 2 : 16;
    list = realloc(list, *cap * size);
    if (!list)
        abort();
    return list;
}

static char *copy(const char *text)
{
    char *c = strdup(text);
    if (!c)
        abort();
    return c;
}

/* ---- nodes ---- */

/* The position of the path, or where it belongs. */
static size_t position(const struct fake_zk *zk, const char *path)
{
    size_t lo = 0, hi = zk->node_count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (strcmp(zk->nodes[mid].path, path) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct node *find(const struct fake_zk *zk, const char *path)
{
    size_t at = position(zk, path);
    bool found = at < zk->node_count && strcmp(zk->nodes[at].path, path) == 0;
    return found ? &zk->nodes[at] : NULL;
}

/* The length of the parent's path; 0: the root. */
static size_t parent_len(const char *path)
{
    return (size_t)(strrchr(path, '/') - path);
}

static struct node *find_parent(const struct fake_zk *zk, const char *path)
{
    char *parent = copy(path);
    parent[parent_len(path)] = 0;
    struct node *n = find(zk, parent);
    free(parent);
    return n;
}

static bool is_child(const char *path, const char *parent)
{
    size_t len = strlen(parent);
    return parent_len(path) == len && memcmp(path, parent, len) == 0;
}

static bool has_children(const struct fake_zk *zk, const char *path)
{
    for (size_t i = 0; i < zk->node_count; i++)
        if (is_child(zk->nodes[i].path, path))
            return true;
    return false;
}

static void set_data(struct node *n, struct bytes data)
{
    free(n->data);
    n->data = NULL;
    n->len = data.len;
    if (!data.data)
        return;
    n->data = malloc(data.len + 1);
    if (!n->data)
        abort();
    memcpy(n->data, data.data, data.len);
    n->data[data.len] = 0;
}

static void insert(struct fake_zk *zk, const char *path, struct bytes data, int64_t owner)
{
    size_t at = position(zk, path);
    zk->nodes = grow(zk->nodes, &zk->node_cap, zk->node_count, sizeof *zk->nodes);
    memmove(&zk->nodes[at + 1], &zk->nodes[at], (zk->node_count - at) * sizeof *zk->nodes);
    zk->node_count++;
    zk->nodes[at] = (struct node){.path = copy(path),
                                  .owner = owner,
                                  .czxid = zk->zxid,
                                  .mzxid = zk->zxid,
                                  .pzxid = zk->zxid};
    set_data(&zk->nodes[at], data);
}

static void erase(struct fake_zk *zk, struct node *n)
{
    size_t at = (size_t)(n - zk->nodes);
    free(n->path);
    free(n->data);
    zk->node_count--;
    memmove(n, n + 1, (zk->node_count - at) * sizeof *n);
}

/* ---- watches ---- */

static void fire(struct fake_zk *zk, int64_t session, enum zk_event_type type, const char *path)
{
    zk->fired = grow(zk->fired, &zk->fired_cap, zk->fired_count, sizeof *zk->fired);
    zk->fired[zk->fired_count++] = (struct fired){session, type, copy(path)};
}

static void add_watch(struct fake_zk *zk, int64_t session, bool is_child_watch, const char *path)
{
    for (size_t i = 0; i < zk->watch_count; i++)
        if (zk->watches[i].session == session && zk->watches[i].is_child == is_child_watch &&
            strcmp(zk->watches[i].path, path) == 0)
            return;
    zk->watches = grow(zk->watches, &zk->watch_cap, zk->watch_count, sizeof *zk->watches);
    zk->watches[zk->watch_count++] = (struct watch){session, is_child_watch, copy(path)};
}

static void drop_watch(struct fake_zk *zk, size_t i)
{
    free(zk->watches[i].path);
    zk->watch_count--;
    memmove(&zk->watches[i], &zk->watches[i + 1], (zk->watch_count - i) * sizeof *zk->watches);
}

/* One event for each session, even where it has watches of both kinds. */
static bool is_fired(const struct fake_zk *zk, size_t from, int64_t session)
{
    for (size_t i = from; i < zk->fired_count; i++)
        if (zk->fired[i].session == session)
            return true;
    return false;
}

static void trigger(struct fake_zk *zk, enum zk_event_type type, const char *path)
{
    size_t from = zk->fired_count;
    for (size_t i = 0; i < zk->watch_count;) {
        const struct watch *w = &zk->watches[i];
        bool of_kind =
            type == ZK_EVENT_DELETED || w->is_child == (type == ZK_EVENT_CHILDREN_CHANGED);
        if (!of_kind || strcmp(w->path, path) != 0) {
            i++;
            continue;
        }
        if (!is_fired(zk, from, w->session))
            fire(zk, w->session, type, path);
        drop_watch(zk, i);
    }
}

static void trigger_parent(struct fake_zk *zk, const char *path)
{
    struct node *parent = find_parent(zk, path);
    if (!parent)
        return;
    parent->pzxid = zk->zxid;
    parent->cversion++;
    trigger(zk, ZK_EVENT_CHILDREN_CHANGED, parent->path);
}

static void delete_node(struct fake_zk *zk, struct node *n)
{
    char *path = copy(n->path);
    erase(zk, n);
    trigger(zk, ZK_EVENT_DELETED, path);
    trigger_parent(zk, path);
    free(path);
}

/* ---- sessions ---- */

struct fake_zk *fake_zk_new(void)
{
    struct fake_zk *zk = calloc(1, sizeof *zk);
    if (!zk)
        abort();
    return zk;
}

void fake_zk_free(struct fake_zk *zk)
{
    if (!zk)
        return;
    for (size_t i = 0; i < zk->node_count; i++) {
        free(zk->nodes[i].path);
        free(zk->nodes[i].data);
    }
    for (size_t i = 0; i < zk->watch_count; i++)
        free(zk->watches[i].path);
    for (size_t i = 0; i < zk->fired_count; i++)
        free(zk->fired[i].path);
    free(zk->nodes);
    free(zk->watches);
    free(zk->fired);
    free(zk->sessions);
    free(zk->children);
    free(zk->taken);
    free(zk);
}

int64_t fake_zk_open(struct fake_zk *zk)
{
    zk->zxid++; /* createSession is a transaction */
    zk->sessions = grow(zk->sessions, &zk->session_cap, zk->session_count, sizeof *zk->sessions);
    zk->sessions[zk->session_count++] = ++zk->last_session;
    return zk->last_session;
}

static size_t session_at(const struct fake_zk *zk, int64_t session)
{
    size_t i = 0;
    while (i < zk->session_count && zk->sessions[i] != session)
        i++;
    return i;
}

bool fake_zk_is_open(const struct fake_zk *zk, int64_t session)
{
    return session_at(zk, session) < zk->session_count;
}

void fake_zk_disconnect(struct fake_zk *zk, int64_t session)
{
    for (size_t i = zk->watch_count; i-- > 0;)
        if (zk->watches[i].session == session)
            drop_watch(zk, i);
    size_t kept = 0;
    for (size_t i = 0; i < zk->fired_count; i++) {
        if (zk->fired[i].session == session)
            free(zk->fired[i].path);
        else
            zk->fired[kept++] = zk->fired[i];
    }
    zk->fired_count = kept;
}

void fake_zk_end(struct fake_zk *zk, int64_t session)
{
    size_t at = session_at(zk, session);
    assert(at < zk->session_count);
    fake_zk_disconnect(zk, session);
    zk->sessions[at] = zk->sessions[--zk->session_count];
    zk->zxid++;
    for (size_t i = 0; i < zk->node_count;)
        if (zk->nodes[i].owner == session)
            delete_node(zk, &zk->nodes[i]);
        else
            i++;
}

/* ---- operations ---- */

static void begin_transaction(struct fake_zk *zk)
{
    if (!zk->in_multi)
        zk->zxid++;
}

static int run_create(struct fake_zk *zk, int64_t session, const struct zk_op *op)
{
    struct node *parent = find_parent(zk, op->path);
    if (!parent && parent_len(op->path) > 0)
        return ZK_NO_NODE;
    if (parent && parent->owner)
        return ZK_NO_CHILDREN_FOR_EPHEMERALS;
    if (find(zk, op->path))
        return ZK_NODE_EXISTS;
    begin_transaction(zk);
    insert(zk, op->path, op->data, op->ephemeral ? session : 0);
    trigger(zk, ZK_EVENT_CREATED, op->path);
    trigger_parent(zk, op->path);
    return ZK_OK;
}

static int run_delete(struct fake_zk *zk, const struct zk_op *op)
{
    struct node *n = find(zk, op->path);
    if (!n)
        return ZK_NO_NODE;
    if (op->version != ZK_ANY_VERSION && op->version != n->version)
        return ZK_BAD_VERSION;
    if (has_children(zk, op->path))
        return ZK_NOT_EMPTY;
    begin_transaction(zk);
    delete_node(zk, n);
    return ZK_OK;
}

static void fill_stat(struct fake_zk *zk, const struct node *n)
{
    zk->result.stat = (struct zk_stat){.ephemeral_owner = n->owner,
                                       .czxid = n->czxid,
                                       .mzxid = n->mzxid,
                                       .pzxid = n->pzxid,
                                       .version = n->version,
                                       .cversion = n->cversion};
}

static int run_set(struct fake_zk *zk, const struct zk_op *op)
{
    struct node *n = find(zk, op->path);
    if (!n)
        return ZK_NO_NODE;
    if (op->version != ZK_ANY_VERSION && op->version != n->version)
        return ZK_BAD_VERSION;
    begin_transaction(zk);
    n->mzxid = zk->zxid;
    n->version++;
    set_data(n, op->data);
    fill_stat(zk, n);
    trigger(zk, ZK_EVENT_DATA_CHANGED, op->path);
    return ZK_OK;
}

/* Names of children. The order of a real server is that of a hash table; here it turns with the
 * transactions, so that nobody gets used to one. */
static void fill_children(struct fake_zk *zk, const char *path)
{
    size_t count = 0;
    for (size_t i = 0; i < zk->node_count; i++) {
        if (!is_child(zk->nodes[i].path, path))
            continue;
        zk->children = grow(zk->children, &zk->children_cap, 2 * count + 1, sizeof *zk->children);
        zk->children[count++] = strrchr(zk->nodes[i].path, '/') + 1;
    }
    size_t turn = count ? (size_t)zk->zxid % count : 0;
    for (size_t i = 0; i < turn; i++)
        zk->children[count + i] = zk->children[i];
    zk->result.children = (const char *const *)(turn ? zk->children + turn : zk->children);
    zk->result.children_count = count;
}

static int run_read(struct fake_zk *zk, int64_t session, const struct zk_op *op)
{
    struct node *n = find(zk, op->path);
    if (op->watch && session && (n || op->type == ZK_OP_EXISTS))
        add_watch(zk, session, op->type == ZK_OP_CHILDREN, op->path);
    if (!n)
        return ZK_NO_NODE;
    fill_stat(zk, n);
    if (op->type == ZK_OP_GET)
        zk->result.data = n->data ? bytes_of(n->data, n->len) : BYTES_NULL;
    else if (op->type == ZK_OP_CHILDREN)
        fill_children(zk, op->path);
    return ZK_OK;
}

static int run_check(struct fake_zk *zk, const struct zk_op *op)
{
    const struct node *n = find(zk, op->path);
    if (!n)
        return ZK_NO_NODE;
    return op->version != ZK_ANY_VERSION && op->version != n->version ? ZK_BAD_VERSION : ZK_OK;
}

static int run_part(struct fake_zk *zk, int64_t session, const struct zk_op *op)
{
    switch (op->type) {
    case ZK_OP_CREATE: return run_create(zk, session, op);
    case ZK_OP_DELETE: return run_delete(zk, op);
    case ZK_OP_SET: return run_set(zk, op);
    case ZK_OP_CHECK: return run_check(zk, op);
    default: abort();
    }
}

/* Its nodes, and nobody who watches them. */
static struct fake_zk *copy_nodes(const struct fake_zk *zk)
{
    struct fake_zk *to = fake_zk_new();
    to->zxid = zk->zxid;
    for (size_t i = 0; i < zk->node_count; i++) {
        const struct node *n = &zk->nodes[i];
        insert(to, n->path, n->data ? bytes_of(n->data, n->len) : BYTES_NULL, n->owner);
        struct node *copied = find(to, n->path);
        copied->version = n->version;
    }
    return to;
}

/* Tried on a copy first: a refused one changes nothing and fires nothing. */
static int run_multi(struct fake_zk *zk, int64_t session, const struct zk_op *op)
{
    assert(op->part_count > 0 && op->part_count <= ZK_PARTS_MAX);
    struct fake_zk *trial = copy_nodes(zk);
    int zk_rc = ZK_OK;
    zk->result.parts = zk->parts;
    zk->result.part_count = op->part_count;
    for (size_t i = 0; i < op->part_count; i++) {
        int part_rc = ZK_RUNTIME_INCONSISTENCY;
        if (zk_rc == ZK_OK)
            part_rc = zk_rc = run_part(trial, session, &op->parts[i]);
        zk->parts[i] = (struct zk_part_result){.zk_rc = part_rc};
    }
    fake_zk_free(trial);
    if (zk_rc != ZK_OK)
        return zk_rc;
    zk->zxid++;
    zk->in_multi = true;
    for (size_t i = 0; i < op->part_count; i++) {
        zk->result.stat = (struct zk_stat){0};
        run_part(zk, session, &op->parts[i]);
        zk->parts[i].stat = zk->result.stat;
    }
    zk->in_multi = false;
    zk->result.stat = (struct zk_stat){0};
    return ZK_OK;
}

const struct zk_result *fake_zk_run(struct fake_zk *zk, int64_t session, const struct zk_op *op)
{
    assert(session == 0 || fake_zk_is_open(zk, session));
    const char *path = zk_op_path(op);
    assert(path[0] == '/' && path[1] && path[strlen(path) - 1] != '/');
    struct zk_result *r = &zk->result;
    *r = (struct zk_result){0};
    switch (op->type) {
    case ZK_OP_CREATE: r->zk_rc = run_create(zk, session, op); break;
    case ZK_OP_DELETE: r->zk_rc = run_delete(zk, op); break;
    case ZK_OP_SET: r->zk_rc = run_set(zk, op); break;
    case ZK_OP_EXISTS:
    case ZK_OP_GET:
    case ZK_OP_CHILDREN: r->zk_rc = run_read(zk, session, op); break;
    case ZK_OP_MULTI: r->zk_rc = run_multi(zk, session, op); break;
    case ZK_OP_SYNC: break;                               /* there is one server */
    case ZK_OP_CHECK: r->zk_rc = ZK_BAD_ARGUMENTS; break; /* only within a multi */
    }
    r->zxid = zk->zxid;
    return r;
}

bool fake_zk_take_event(struct fake_zk *zk, int64_t *session, struct zk_watch_event *event)
{
    if (zk->fired_count == 0)
        return false;
    struct fired first = zk->fired[0];
    zk->fired_count--;
    memmove(&zk->fired[0], &zk->fired[1], zk->fired_count * sizeof first);
    free(zk->taken);
    zk->taken = first.path;
    *session = first.session;
    *event = (struct zk_watch_event){first.type, first.path};
    return true;
}

/* ---- the client ---- */

enum client_watch_kind {
    WATCH_DATA,   /* of getData, and of exists where there was a node */
    WATCH_EXISTS, /* of exists where there was none */
    WATCH_CHILD,
};

struct fake_zk_client_watch {
    enum client_watch_kind kind;
    char *path;
};

void fake_zk_client_forget(struct fake_zk_client *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->list[i].path);
    c->count = 0;
}

void fake_zk_client_deinit(struct fake_zk_client *c)
{
    fake_zk_client_forget(c);
    free(c->list);
    *c = (struct fake_zk_client){0};
}

void fake_zk_client_answered(struct fake_zk_client *c, const struct zk_op *op,
                             const struct zk_result *result)
{
    bool is_there = result->zk_rc == ZK_OK;
    if (result->zxid > c->last_zxid)
        c->last_zxid = result->zxid;
    if (!op->watch || (!is_there && !(op->type == ZK_OP_EXISTS && result->zk_rc == ZK_NO_NODE)))
        return;
    enum client_watch_kind kind = op->type == ZK_OP_CHILDREN ? WATCH_CHILD
                                  : is_there                 ? WATCH_DATA
                                                             : WATCH_EXISTS;
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].kind == kind && strcmp(c->list[i].path, op->path) == 0)
            return;
    c->list = grow(c->list, &c->cap, c->count, sizeof *c->list);
    c->list[c->count++] = (struct fake_zk_client_watch){kind, copy(op->path)};
}

void fake_zk_client_fired(struct fake_zk_client *c, const struct zk_watch_event *event)
{
    bool is_child = event->type == ZK_EVENT_CHILDREN_CHANGED;
    for (size_t i = c->count; i-- > 0;) {
        bool of_kind =
            event->type == ZK_EVENT_DELETED || (c->list[i].kind == WATCH_CHILD) == is_child;
        if (!of_kind || strcmp(c->list[i].path, event->path) != 0)
            continue;
        free(c->list[i].path);
        c->list[i] = c->list[--c->count];
    }
}

static void return_watch(const struct fake_zk_client *c, struct fake_zk *zk, int64_t session,
                         const struct fake_zk_client_watch *w)
{
    const struct node *n = find(zk, w->path);
    if (w->kind == WATCH_EXISTS && n)
        fire(zk, session, ZK_EVENT_CREATED, w->path);
    else if (w->kind != WATCH_EXISTS && !n)
        fire(zk, session, ZK_EVENT_DELETED, w->path);
    else if (w->kind == WATCH_DATA && n->mzxid > c->last_zxid)
        fire(zk, session, ZK_EVENT_DATA_CHANGED, w->path);
    else if (w->kind == WATCH_CHILD && n->pzxid > c->last_zxid)
        fire(zk, session, ZK_EVENT_CHILDREN_CHANGED, w->path);
    else
        add_watch(zk, session, w->kind == WATCH_CHILD, w->path);
}

void fake_zk_client_return(const struct fake_zk_client *c, struct fake_zk *zk, int64_t session)
{
    static const enum client_watch_kind order[] = {WATCH_DATA, WATCH_EXISTS, WATCH_CHILD};
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++)
        for (size_t i = 0; i < c->count; i++)
            if (c->list[i].kind == order[k])
                return_watch(c, zk, session, &c->list[i]);
}

int64_t fake_zk_zxid(const struct fake_zk *zk)
{
    return zk->zxid;
}

/* ---- from outside ---- */

static void put_parents(struct fake_zk *zk, const char *path)
{
    char *parent = copy(path);
    for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (!find(zk, parent))
            fake_zk_run(zk, 0, &(struct zk_op){.type = ZK_OP_CREATE, .path = parent});
        *slash = '/';
    }
    free(parent);
}

void fake_zk_put(struct fake_zk *zk, const char *path, const char *text)
{
    put_parents(zk, path);
    struct zk_op op = {.type = find(zk, path) ? ZK_OP_SET : ZK_OP_CREATE,
                       .path = path,
                       .data = bytes_of_text(text),
                       .version = ZK_ANY_VERSION};
    fake_zk_run(zk, 0, &op);
}

void fake_zk_put_ephemeral(struct fake_zk *zk, const char *path, const char *text, int64_t session)
{
    put_parents(zk, path);
    struct zk_op op = {
        .type = ZK_OP_CREATE, .path = path, .data = bytes_of_text(text), .ephemeral = true};
    const struct zk_result *r = fake_zk_run(zk, session, &op);
    assert(r->zk_rc == ZK_OK);
}

void fake_zk_remove(struct fake_zk *zk, const char *path)
{
    size_t len = strlen(path);
    for (size_t i = zk->node_count; i-- > 0;) {
        const char *p = zk->nodes[i].path;
        if (strncmp(p, path, len) == 0 && (p[len] == 0 || p[len] == '/')) {
            zk->zxid++;
            delete_node(zk, &zk->nodes[i]);
        }
    }
}

const char *fake_zk_text(const struct fake_zk *zk, const char *path)
{
    const struct node *n = find(zk, path);
    return n ? n->data : NULL;
}

bool fake_zk_exists(const struct fake_zk *zk, const char *path)
{
    return find(zk, path) != NULL;
}

int64_t fake_zk_owner(const struct fake_zk *zk, const char *path)
{
    const struct node *n = find(zk, path);
    return n ? n->owner : 0;
}

void fake_zk_each(const struct fake_zk *zk, const char *prefix,
                  void (*visit)(const char *path, const char *text, int64_t owner, void *user),
                  void *user)
{
    size_t len = strlen(prefix);
    for (size_t i = position(zk, prefix); i < zk->node_count; i++) {
        const struct node *n = &zk->nodes[i];
        if (strncmp(n->path, prefix, len) != 0)
            return;
        visit(n->path, n->data, n->owner, user);
    }
}
