#include "tests/unit/broker/zk_model.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/zk/path.h"

struct zk_model *zk_model_new(void)
{
    struct zk_model *z = calloc(1, sizeof *z);
    assert_non_null(z);
    for (int i = 0; i < MODEL_CLIENTS_MAX; i++)
        buf_init(&z->writes[i], 1 << 24);
    return z;
}

static void free_node(struct model_node *n)
{
    free(n->path);
    free(n->data);
}

static void free_result(struct zk_result *r)
{
    free((uint8_t *)r->data.data);
    for (size_t i = 0; i < r->children_count; i++)
        free((char *)r->children[i]);
    free((char **)r->children);
}

void model_arrival_free(struct model_arrival *a)
{
    free(a->path);
    free_result(&a->result);
}

static void free_request(struct model_request *r)
{
    free((char *)r->op.path);
    free((uint8_t *)r->op.data.data);
}

static void clear_client(struct model_client *c)
{
    for (size_t i = 0; i < c->request_count; i++)
        free_request(&c->requests[i]);
    for (size_t i = 0; i < c->arrival_count; i++)
        model_arrival_free(&c->arrivals[i]);
    c->request_count = c->arrival_count = 0;
}

void zk_model_free(struct zk_model *z)
{
    for (size_t i = 0; i < z->node_count; i++)
        free_node(&z->nodes[i]);
    for (size_t i = 0; i < z->watch_count; i++)
        free(z->watches[i].path);
    for (int i = 0; i < MODEL_CLIENTS_MAX; i++) {
        clear_client(&z->clients[i]);
        free(z->clients[i].requests);
        free(z->clients[i].arrivals);
        buf_deinit(&z->writes[i]);
    }
    free(z->nodes);
    free(z->watches);
    free(z);
}

/* ---- The tree ---- */

static struct model_node *find(struct zk_model *z, const char *path)
{
    for (size_t i = 0; i < z->node_count; i++)
        if (strcmp(z->nodes[i].path, path) == 0)
            return &z->nodes[i];
    return NULL;
}

static bool is_child(const char *parent, const char *path)
{
    size_t len = strlen(parent);
    return strncmp(parent, path, len) == 0 && path[len] == '/' && !strchr(path + len + 1, '/');
}

static struct model_arrival *arrival(struct model_client *c)
{
    c->arrivals = realloc(c->arrivals, (c->arrival_count + 1) * sizeof *c->arrivals);
    assert_non_null(c->arrivals);
    struct model_arrival *a = &c->arrivals[c->arrival_count++];
    memset(a, 0, sizeof *a);
    return a;
}

static void fire(struct zk_model *z, const char *path, bool child, enum zk_event_type type)
{
    bool told[MODEL_CLIENTS_MAX] = {false};
    for (size_t i = 0; i < z->watch_count;) {
        struct model_watch *w = &z->watches[i];
        if (w->is_child != child || strcmp(w->path, path) != 0) {
            i++;
            continue;
        }
        if (!told[w->client]) {
            struct model_arrival *a = arrival(&z->clients[w->client]);
            a->is_event = true;
            a->event = type;
            a->path = strdup(path);
        }
        told[w->client] = true;
        free(w->path);
        z->watches[i] = z->watches[--z->watch_count];
    }
}

static void fire_parent(struct zk_model *z, const char *path)
{
    char *parent = strndup(path, zk_path_parent_length(path));
    fire(z, parent, true, ZK_EVENT_CHILDREN_CHANGED);
    free(parent);
}

static void watch(struct zk_model *z, int client, const char *path, bool child)
{
    if (client < 0)
        return;
    z->watches = realloc(z->watches, (z->watch_count + 1) * sizeof *z->watches);
    assert_non_null(z->watches);
    z->watches[z->watch_count++] =
        (struct model_watch){.client = client, .path = strdup(path), .is_child = child};
}

static uint8_t *copy(struct bytes data)
{
    if (bytes_is_null(data))
        return NULL;
    uint8_t *c = malloc(data.len + 1);
    assert_non_null(c);
    memcpy(c, data.data, data.len);
    c[data.len] = 0;
    return c;
}

static int do_create(struct zk_model *z, int64_t session, const struct zk_op *op)
{
    size_t parent_len = zk_path_parent_length(op->path);
    if (find(z, op->path))
        return ZK_NODE_EXISTS;
    char *parent = strndup(op->path, parent_len);
    struct model_node *above = find(z, parent);
    free(parent);
    if (parent_len && !above)
        return ZK_NO_NODE;
    if (above && above->stat.ephemeral_owner)
        return ZK_NO_CHILDREN_FOR_EPHEMERALS;
    z->nodes = realloc(z->nodes, (z->node_count + 1) * sizeof *z->nodes);
    assert_non_null(z->nodes);
    z->zxid++;
    z->nodes[z->node_count++] = (struct model_node){
        .path = strdup(op->path),
        .data = copy(op->data),
        .len = op->data.len,
        .stat = {.ephemeral_owner = op->ephemeral ? session : 0,
                 .czxid = z->zxid,
                 .mzxid = z->zxid},
    };
    fire(z, op->path, false, ZK_EVENT_CREATED);
    fire_parent(z, op->path);
    return ZK_OK;
}

static int do_delete(struct zk_model *z, const struct zk_op *op)
{
    struct model_node *n = find(z, op->path);
    if (!n)
        return ZK_NO_NODE;
    if (op->version != ZK_ANY_VERSION && op->version != n->stat.version)
        return ZK_BAD_VERSION;
    for (size_t i = 0; i < z->node_count; i++)
        if (is_child(op->path, z->nodes[i].path))
            return ZK_NOT_EMPTY;
    char *path = strdup(op->path);
    z->zxid++;
    free_node(n);
    *n = z->nodes[--z->node_count];
    fire(z, path, false, ZK_EVENT_DELETED);
    fire(z, path, true, ZK_EVENT_DELETED);
    fire_parent(z, path);
    free(path);
    return ZK_OK;
}

static int do_set(struct zk_model *z, const struct zk_op *op, struct zk_stat *stat)
{
    struct model_node *n = find(z, op->path);
    if (!n)
        return ZK_NO_NODE;
    if (op->version != ZK_ANY_VERSION && op->version != n->stat.version)
        return ZK_BAD_VERSION;
    free(n->data);
    n->data = copy(op->data);
    n->len = op->data.len;
    n->stat.version++;
    n->stat.mzxid = ++z->zxid;
    *stat = n->stat;
    fire(z, op->path, false, ZK_EVENT_DATA_CHANGED);
    return ZK_OK;
}

static void list_children(struct zk_model *z, const char *path, struct zk_result *r)
{
    char **names = calloc(z->node_count + 1, sizeof *names);
    assert_non_null(names);
    for (size_t i = 0; i < z->node_count; i++)
        if (is_child(path, z->nodes[i].path))
            names[r->children_count++] = strdup(zk_path_leaf(z->nodes[i].path));
    r->children = (const char *const *)names;
}

static struct zk_result apply(struct zk_model *z, int client, int64_t session,
                              const struct zk_op *op)
{
    struct zk_result r = {.zk_rc = ZK_OK};
    struct model_node *n = find(z, op->path);
    switch (op->type) {
    case ZK_OP_CREATE: r.zk_rc = do_create(z, session, op); break;
    case ZK_OP_DELETE: r.zk_rc = do_delete(z, op); break;
    case ZK_OP_SET: r.zk_rc = do_set(z, op, &r.stat); break;
    case ZK_OP_EXISTS:
    case ZK_OP_GET:
    case ZK_OP_CHILDREN:
        r.zk_rc = n ? ZK_OK : ZK_NO_NODE;
        if (n)
            r.stat = n->stat;
        if (op->watch && (n || op->type == ZK_OP_EXISTS))
            watch(z, client, op->path, op->type == ZK_OP_CHILDREN);
        if (n && op->type == ZK_OP_GET)
            r.data = (struct bytes){copy((struct bytes){n->data, n->len}), n->len};
        if (n && op->type == ZK_OP_CHILDREN)
            list_children(z, op->path, &r);
        break;
    case ZK_OP_SYNC:
    case ZK_OP_CHECK:
    case ZK_OP_MULTI: fail_msg("the broker sends no %s", zk_op_name(op->type));
    }
    return r;
}

static void record(struct zk_model *z, int client, const struct zk_op *op, int zk_rc)
{
    struct buf *out = &z->writes[client];
    if (op->type != ZK_OP_CREATE && op->type != ZK_OP_SET && op->type != ZK_OP_DELETE)
        return;
    buf_appendf(out, "%s %s", zk_op_name(op->type), op->path);
    if (op->type != ZK_OP_DELETE)
        buf_appendf(out, " %.*s", bytes_is_null(op->data) ? 4 : (int)op->data.len,
                    bytes_is_null(op->data) ? "null" : (const char *)op->data.data);
    if (op->type == ZK_OP_CREATE && op->ephemeral)
        buf_append_text(out, " E");
    if (op->type == ZK_OP_SET && op->version != ZK_ANY_VERSION)
        buf_appendf(out, " version=%d", op->version);
    if (zk_rc)
        buf_appendf(out, " %s", zk_rc_name(zk_rc));
    buf_append_byte(out, '\n');
}

struct zk_result zk_model_do(struct zk_model *z, const struct zk_op *op)
{
    return apply(z, -1, 0, op);
}

int zk_model_create(struct zk_model *z, const char *path, const char *data)
{
    return zk_model_do(
               z, &(struct zk_op){.type = ZK_OP_CREATE, .path = path, .data = bytes_of_text(data)})
        .zk_rc;
}

int zk_model_set(struct zk_model *z, const char *path, const char *data)
{
    return zk_model_do(z, &(struct zk_op){.type = ZK_OP_SET,
                                          .path = path,
                                          .data = bytes_of_text(data),
                                          .version = ZK_ANY_VERSION})
        .zk_rc;
}

int zk_model_delete(struct zk_model *z, const char *path)
{
    return zk_model_do(
               z, &(struct zk_op){.type = ZK_OP_DELETE, .path = path, .version = ZK_ANY_VERSION})
        .zk_rc;
}

const char *zk_model_text(struct zk_model *z, const char *path)
{
    struct model_node *n = find(z, path);
    return n ? (const char *)n->data : NULL;
}

bool zk_model_has(struct zk_model *z, const char *path)
{
    return find(z, path) != NULL;
}

/* ---- Clients ---- */

int64_t zk_model_session(struct zk_model *z, int client)
{
    assert_int_equal(z->clients[client].session, 0);
    return z->clients[client].session = ++z->last_session;
}

void zk_model_send(struct zk_model *z, int client, uint32_t slot, uint32_t seq,
                   const struct zk_op *op)
{
    struct model_client *c = &z->clients[client];
    c->requests = realloc(c->requests, (c->request_count + 1) * sizeof *c->requests);
    assert_non_null(c->requests);
    struct model_request *r = &c->requests[c->request_count++];
    *r = (struct model_request){.slot = slot, .seq = seq, .op = *op};
    r->op.path = strdup(op->path);
    r->op.data = (struct bytes){copy(op->data), op->data.len};
}

static struct model_request take_request(struct model_client *c)
{
    struct model_request r = c->requests[0];
    memmove(c->requests, c->requests + 1, --c->request_count * sizeof *c->requests);
    return r;
}

bool zk_model_serve(struct zk_model *z, int client)
{
    struct model_client *c = &z->clients[client];
    if (!c->request_count)
        return false;
    struct model_request r = take_request(c);
    struct zk_result result = apply(z, client, c->session, &r.op);
    record(z, client, &r.op, result.zk_rc);
    struct model_arrival *a = arrival(c);
    a->slot = r.slot;
    a->seq = r.seq;
    a->result = result;
    free_request(&r);
    return true;
}

bool zk_model_arrive(struct zk_model *z, int client, struct model_arrival *out)
{
    struct model_client *c = &z->clients[client];
    if (!c->arrival_count)
        return false;
    *out = c->arrivals[0];
    memmove(c->arrivals, c->arrivals + 1, --c->arrival_count * sizeof *c->arrivals);
    return true;
}

void zk_model_cut(struct zk_model *z, int client, size_t served)
{
    struct model_client *c = &z->clients[client];
    while (served-- > 0 && zk_model_serve(z, client))
        continue;
    size_t kept = 0;
    /* Answers that did not arrive are lost, as are requests that were not taken. */
    for (size_t i = 0; i < c->arrival_count; i++) {
        struct model_arrival *a = &c->arrivals[i];
        if (!a->is_event) {
            free_result(&a->result);
            a->result = (struct zk_result){.zk_rc = ZK_CONNECTION_LOSS};
        }
        c->arrivals[kept++] = *a;
    }
    while (c->request_count) {
        struct model_request r = take_request(c);
        struct model_arrival *a = arrival(c);
        a->slot = r.slot;
        a->seq = r.seq;
        a->result = (struct zk_result){.zk_rc = ZK_CONNECTION_LOSS};
        free_request(&r);
    }
}

void zk_model_expire(struct zk_model *z, int client)
{
    struct model_client *c = &z->clients[client];
    int64_t session = c->session;
    for (size_t i = 0; i < z->watch_count;) {
        if (z->watches[i].client != client) {
            i++;
            continue;
        }
        free(z->watches[i].path);
        z->watches[i] = z->watches[--z->watch_count];
    }
    clear_client(c);
    c->session = 0;
    for (size_t i = 0; session && i < z->node_count;) {
        if (z->nodes[i].stat.ephemeral_owner != session) {
            i++;
            continue;
        }
        char *path = strdup(z->nodes[i].path);
        zk_model_delete(z, path);
        free(path);
        i = 0;
    }
}
