/* Operations and their answers: struct zk_op to the C client's calls, its completions to struct
 * zk_result. Each request is answered once: by the client, or, when the client did not take it, by
 * the loop's next turn. */
#include "zkconsumer/io/zk_session_internal.h"

#include <assert.h>
#include <stdlib.h>

struct zk_request {
    struct zk_session *s;
    zk_result_fn *fn;
    void *user;
    struct zk_request *next; /* among the refused */
    int zk_rc;               /* of the refused */
};

static struct zk_request *request_new(struct zk_session *s, zk_result_fn *fn, void *user)
{
    struct zk_request *request = malloc(sizeof *request);

    if (!request)
        abort(); /* zk_session_send() */
    *request = (struct zk_request){.s = s, .fn = fn, .user = user};
    return request;
}

static void answer(struct zk_request *request, const struct zk_result *result)
{
    struct zk_session *s = request->s;
    zk_result_fn *fn = request->fn;
    void *user = request->user;

    free(request);
    s->calling++;
    if (s->is_closing)
        fn(&(struct zk_result){.zk_rc = ZK_CLOSING}, user);
    else
        fn(result, user);
    s->calling--;
}

/* ---- refused ---- */

static void answer_later(struct zk_request *request, int zk_rc)
{
    struct zk_session *s = request->s;

    request->zk_rc = zk_rc;
    request->next = NULL;
    *s->refused_tail = request;
    s->refused_tail = &request->next;
    zk_session_kick(s);
}

void zk_request_answer_refused(struct zk_session *s)
{
    struct zk_request *list = s->refused, *next;

    s->refused = NULL;
    s->refused_tail = &s->refused;
    for (; list; list = next) {
        next = list->next;
        answer(list, &(struct zk_result){.zk_rc = list->zk_rc});
    }
}

void zk_request_answer(struct zk_session *s, int zk_rc, zk_result_fn *fn, void *user)
{
    answer_later(request_new(s, fn, user), zk_rc);
}

/* ---- completions ---- */

/* Answers of a server, as against those that the client makes up. */
static bool is_from_server(int zk_rc)
{
    return zk_rc == ZK_OK || (zk_rc < ZK_API_ERROR && zk_rc != ZK_SESSION_EXPIRED &&
                              zk_rc != ZK_AUTH_FAILED && zk_rc != ZK_CLOSING);
}

static int64_t latest(const struct Stat *stat)
{
    int64_t zxid = stat->czxid > stat->mzxid ? stat->czxid : stat->mzxid;
    return stat->pzxid > zxid ? stat->pzxid : zxid;
}

static void complete(const void *data, struct zk_result *result, const struct Stat *stat)
{
    struct zk_request *request = (struct zk_request *)data;
    struct zk_session *s = request->s;

    s->under_way--;
    s->has_answered = s->has_answered || is_from_server(result->zk_rc);
    if (is_from_server(result->zk_rc))
        result->zxid = zk_client_zxid(&s->client, stat ? latest(stat) : 0);
    if (stat)
        result->stat = (struct zk_stat){.ephemeral_owner = stat->ephemeralOwner,
                                        .czxid = stat->czxid,
                                        .mzxid = stat->mzxid,
                                        .pzxid = stat->pzxid,
                                        .version = stat->version,
                                        .cversion = stat->cversion};
    answer(request, result);
}

static void on_created(int zk_rc, const char *path, const void *data)
{
    (void)path;
    complete(data, &(struct zk_result){.zk_rc = zk_rc}, NULL);
}

static void on_deleted(int zk_rc, const void *data)
{
    complete(data, &(struct zk_result){.zk_rc = zk_rc}, NULL);
}

static void on_stat(int zk_rc, const struct Stat *stat, const void *data)
{
    complete(data, &(struct zk_result){.zk_rc = zk_rc}, stat);
}

static void on_data(int zk_rc, const char *value, int len, const struct Stat *stat,
                    const void *data)
{
    struct zk_result result = {.zk_rc = zk_rc};
    if (zk_rc == ZK_OK && len >= 0)
        result.data = bytes_of(value ? value : "", (size_t)len);
    complete(data, &result, stat);
}

static void on_children(int zk_rc, const struct String_vector *names, const struct Stat *stat,
                        const void *data)
{
    struct zk_result result = {.zk_rc = zk_rc};
    if (names) {
        result.children = (const char *const *)names->data;
        result.children_count = (size_t)names->count;
    }
    complete(data, &result, stat);
}

/* ---- sending ---- */

static int call_client(struct zk_session *s, const char *path, const struct zk_op *op,
                       const struct zk_request *request)
{
    zhandle_t *zh = s->client.zh;
    watcher_fn watcher = op->watch ? zk_session_on_client_event : NULL;
    const char *data = (const char *)op->data.data;
    int len = bytes_is_null(op->data) ? -1 : (int)op->data.len;

    switch (op->type) {
    case ZK_OP_CREATE:
        return zoo_acreate(zh, path, data, len, &ZOO_OPEN_ACL_UNSAFE,
                           op->ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT, on_created, request);
    case ZK_OP_DELETE: return zoo_adelete(zh, path, op->version, on_deleted, request);
    case ZK_OP_EXISTS: return zoo_awexists(zh, path, watcher, s, on_stat, request);
    case ZK_OP_GET: return zoo_awget(zh, path, watcher, s, on_data, request);
    case ZK_OP_SET: return zoo_aset(zh, path, data, len, op->version, on_stat, request);
    case ZK_OP_CHILDREN: return zoo_awget_children2(zh, path, watcher, s, on_children, request);
    case ZK_OP_SYNC:
    case ZK_OP_CHECK:
    case ZK_OP_MULTI: break;
    }
    return ZK_BAD_ARGUMENTS;
}

static int refusal(const struct zk_session *s, const char *path, const struct zk_op *op)
{
    if (s->is_closing)
        return ZK_CLOSING;
    if (s->link == ZK_LINK_REFUSED)
        return ZK_AUTH_FAILED;
    if (s->link != ZK_LINK_CONNECTED || !zk_client_has_socket(&s->client))
        return ZK_CONNECTION_LOSS;
    if (strlen(path) + op->data.len > ZK_REQUEST_BYTES_MAX)
        return ZK_BAD_ARGUMENTS;
    return ZK_OK;
}

void zk_request_send(struct zk_session *s, const char *path, const struct zk_op *op,
                     zk_result_fn *fn, void *user)
{
    struct zk_request *request = request_new(s, fn, user);
    struct zk_client *outer;
    int zk_rc = refusal(s, path, op);

    if (zk_rc == ZK_OK) {
        outer = zk_client_enter(&s->client);
        zk_client_cork(&s->client);
        s->under_way++;
        zk_rc = call_client(s, path, op, request);
        if (zk_rc != ZK_OK)
            s->under_way--;
        zk_client_leave(&s->client, outer);
        zk_session_kick(
            s); /* to flush; and the client may want to write, or have lost its socket */
    }
    if (zk_rc != ZK_OK)
        answer_later(request, zk_rc);
}

/* ---- chroot ---- */

const char *zk_request_strip(const struct zk_session *s, const char *path)
{
    if (strncmp(path, s->chroot, s->chroot_len) != 0)
        return NULL;
    path += s->chroot_len;
    if (*path == '\0')
        return "/";
    return *path == '/' ? path : NULL;
}

void zk_session_send(struct zk_session *s, const struct zk_op *op, zk_result_fn *fn, void *user)
{
    bool is_root = op->path[0] == '/' && op->path[1] == '\0';
    const char *below = is_root && s->chroot_len ? "" : op->path;
    size_t len = s->chroot_len + strlen(below) + 1;
    char small[512], *path = small;

    if (s->chroot_len == 0) {
        zk_request_send(s, op->path, op, fn, user);
        return;
    }
    if (len > sizeof small && !(path = malloc(len)))
        abort();
    memcpy(path, s->chroot, s->chroot_len);
    strcpy(path + s->chroot_len, below);
    zk_request_send(s, path, op, fn, user);
    if (path != small)
        free(path);
}
