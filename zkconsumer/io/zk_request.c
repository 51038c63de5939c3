/* Operations and their answers: struct zk_op to the C client's calls, its completions to struct
 * zk_result. Each request is answered once: by the client, or, when the client did not take it, by
 * the loop's next turn. */
#include "zkconsumer/io/zk_session_internal.h"

#include "zkconsumer/core/base/arena.h"
#include <assert.h>
#include <limits.h>
#include <stdlib.h>

/* What a multi needs until it is answered: the client keeps pointers into it. */
struct multi {
    size_t count;
    zoo_op_result_t *results;
    struct Stat *stats;
    struct zk_part_result *parts;
};

struct zk_request {
    struct zk_session *s;
    zk_result_fn *fn;
    void *user;
    struct zk_request *next; /* among the refused */
    int zk_rc;               /* of the refused */
    struct multi *multi;     /* owned; NULL: not one */
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
    struct multi *multi = request->multi;

    free(request);
    s->calling++;
    if (s->is_closing)
        fn(&(struct zk_result){.zk_rc = ZK_CLOSING}, user);
    else
        fn(result, user);
    s->calling--;
    free(multi);
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

#define UNANSWERED INT_MAX /* no server has said what became of this part */

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

static struct zk_stat stat_of(const struct Stat *stat)
{
    return (struct zk_stat){.ephemeral_owner = stat->ephemeralOwner,
                            .czxid = stat->czxid,
                            .mzxid = stat->mzxid,
                            .pzxid = stat->pzxid,
                            .version = stat->version,
                            .cversion = stat->cversion};
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
        result->stat = stat_of(stat);
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

static void on_synced(int zk_rc, const char *path, const void *data)
{
    (void)path;
    complete(data, &(struct zk_result){.zk_rc = zk_rc}, NULL);
}

static void on_multi(int zk_rc, const void *data)
{
    const struct zk_request *request = (const struct zk_request *)data;
    const struct multi *multi = request->multi;
    struct zk_result result = {.zk_rc = zk_rc};

    for (size_t i = 0; i < multi->count; i++)
        multi->parts[i] = (struct zk_part_result){.zk_rc = multi->results[i].err,
                                                  .stat = stat_of(&multi->stats[i])};
    /* The client makes up errors of parts as well, and servers may refuse without naming a part. */
    if (is_from_server(zk_rc) && multi->results[0].err != UNANSWERED) {
        result.parts = multi->parts;
        result.part_count = multi->count;
    }
    complete(data, &result, NULL);
}

/* ---- multi ---- */

/* A path that the client would refuse leaks what it has made of the multi so far, so it is refused
 * before. Source: isValidPath() of zookeeper.c. */
static bool is_valid_path(const char *path)
{
    if (path[0] != '/')
        return false;
    if (path[1] == '\0')
        return true;
    while (*path) {
        size_t len = strcspn(++path, "/");
        if (len == 0 || (len <= 2 && strncmp(path, "..", len) == 0))
            return false;
        for (size_t i = 0; i < len; i++)
            if ((unsigned char)path[i] < ' ' || path[i] == 0x7f)
                return false;
        path += len;
    }
    return true;
}

static bool is_part(const struct zk_op *op)
{
    return (op->type == ZK_OP_CREATE || op->type == ZK_OP_DELETE || op->type == ZK_OP_SET ||
            op->type == ZK_OP_CHECK) &&
           is_valid_path(op->path);
}

/* A type, a flag, an error; a path and data with their lengths; an ACL; flags or a version. */
#define PART_BYTES 64

static bool is_fitting_multi(const struct zk_session *s, const struct zk_op *op)
{
    size_t bytes = 0;

    if (op->part_count == 0 || op->part_count > ZK_PARTS_MAX)
        return false;
    for (size_t i = 0; i < op->part_count; i++) {
        if (!is_part(&op->parts[i]))
            return false;
        bytes += PART_BYTES + s->chroot_len + strlen(op->parts[i].path) + op->parts[i].data.len;
    }
    return bytes <= s->request_bytes_max;
}

static struct multi *multi_new(size_t count)
{
    struct multi *multi;
    size_t each = sizeof *multi->results + sizeof *multi->stats + sizeof *multi->parts;

    multi = calloc(1, sizeof *multi + count * each);
    if (!multi)
        abort(); /* zk_session_send() */
    multi->count = count;
    multi->parts = (struct zk_part_result *)(multi + 1);
    multi->stats = (struct Stat *)(multi->parts + count);
    multi->results = (zoo_op_result_t *)(multi->stats + count);
    for (size_t i = 0; i < count; i++)
        multi->results[i].err = UNANSWERED;
    return multi;
}

/* Who may do what with a node that is made; `path` is the server's. */
static const struct ACL_vector *acl_of(const struct zk_session *s, const char *path)
{
    size_t len = s->private_path ? strlen(s->private_path) : 0;
    const char *below = zk_request_strip(s, path);
    bool is_private = len && below && strncmp(below, s->private_path, len) == 0 &&
                      (below[len] == '/' || below[len] == '\0');
    return is_private ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
}

static void part_init(const struct zk_session *s, zoo_op_t *to, const struct zk_op *op,
                      const char *path, struct Stat *stat)
{
    const char *data = (const char *)op->data.data;
    int len = bytes_is_null(op->data) ? -1 : (int)op->data.len;

    switch (op->type) {
    case ZK_OP_CREATE:
        zoo_create_op_init(to, path, data, len, acl_of(s, path),
                           op->ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT, NULL, 0);
        break;
    case ZK_OP_DELETE: zoo_delete_op_init(to, path, op->version); break;
    case ZK_OP_SET: zoo_set_op_init(to, path, data, len, op->version, stat); break;
    default: zoo_check_op_init(to, path, op->version); break;
    }
}

static int call_multi(struct zk_session *s, const struct zk_op *op, struct zk_request *request)
{
    zoo_op_t parts[ZK_PARTS_MAX];
    struct arena paths;
    int zk_rc;

    request->multi = multi_new(op->part_count);
    arena_init(&paths, s->request_bytes_max);
    for (size_t i = 0; i < op->part_count; i++) {
        const char *path = op->parts[i].path;
        if (s->chroot_len)
            path = arena_format(&paths, "%s%s", s->chroot, path[1] ? path : "");
        if (!path)
            abort(); /* zk_session_send() */
        part_init(s, &parts[i], &op->parts[i], path, &request->multi->stats[i]);
    }
    zk_rc = zoo_amulti(s->client.zh, (int)op->part_count, parts, request->multi->results, on_multi,
                       request);
    arena_deinit(&paths);
    return zk_rc;
}

/* ---- sending ---- */

static int call_client(struct zk_session *s, const char *path, const struct zk_op *op,
                       struct zk_request *request)
{
    zhandle_t *zh = s->client.zh;
    watcher_fn watcher = op->watch ? zk_session_on_client_event : NULL;
    const char *data = (const char *)op->data.data;
    int len = bytes_is_null(op->data) ? -1 : (int)op->data.len;

    if (watcher)
        zk_watch_set_add(&s->watches,
                         op->type == ZK_OP_CHILDREN ? ZK_WATCH_CHILDREN : ZK_WATCH_NODE, path);
    switch (op->type) {
    case ZK_OP_CREATE:
        return zoo_acreate(zh, path, data, len, acl_of(s, path),
                           op->ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT, on_created, request);
    case ZK_OP_DELETE: return zoo_adelete(zh, path, op->version, on_deleted, request);
    case ZK_OP_EXISTS: return zoo_awexists(zh, path, watcher, s, on_stat, request);
    case ZK_OP_GET: return zoo_awget(zh, path, watcher, s, on_data, request);
    case ZK_OP_SET: return zoo_aset(zh, path, data, len, op->version, on_stat, request);
    case ZK_OP_CHILDREN: return zoo_awget_children2(zh, path, watcher, s, on_children, request);
    case ZK_OP_MULTI: return call_multi(s, op, request);
    case ZK_OP_SYNC: return zoo_async(zh, path, on_synced, request);
    case ZK_OP_CHECK: break; /* only within a multi */
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
    if (strlen(path) + op->data.len > s->request_bytes_max)
        return ZK_BAD_ARGUMENTS;
    if (op->type == ZK_OP_MULTI && !is_fitting_multi(s, op))
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
    const char *asked = op->type == ZK_OP_MULTI ? "/" : op->path; /* its parts have their own */
    bool is_root = asked[0] == '/' && asked[1] == '\0';
    const char *below = is_root && s->chroot_len ? "" : asked;
    size_t len = s->chroot_len + strlen(below) + 1;
    char small[512], *path = small;

    if (s->chroot_len == 0) {
        zk_request_send(s, asked, op, fn, user);
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
