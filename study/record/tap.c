#include "study/record/tap.h"
#include "study/record/jute.h"
#include "study/record/protocol.h"
#include "zkconsumer/core/base/json.h"
#include "zkconsumer/core/base/utf8.h"
#include <inttypes.h>
#include <stdlib.h>

/* What a hostile frame may nest: a multi has no multi in it. */
#define PARTS_MAX 65536

enum zkc_err tap_init(struct tap *t, const char *label, uint32_t connection)
{
    *t = (struct tap){.label = strdup(label), .connection = connection};
    return t->label ? ZKC_OK : ZKC_ERR_NOMEM;
}

void tap_deinit(struct tap *t)
{
    for (size_t i = 0; i < t->pending_count; i++)
        free(t->pending[(t->pending_at + i) % t->pending_cap].path);
    free(t->pending);
    free(t->label);
    *t = (struct tap){0};
}

/* ---- values ---- */

static bool is_text(struct bytes b)
{
    for (size_t i = 0; i < b.len;) {
        struct utf8_char c = utf8_decode(b.data + i, b.len - i);
        if (!c.valid || c.code == 0)
            return false;
        i += c.len;
    }
    return true;
}

static void add_hex(struct json *j, const char *key, struct bytes b)
{
    json_text(j, key, ""); /* the digits go between its quotes */
    j->out->len -= !j->out->failed;
    for (size_t i = 0; i < b.len; i++)
        buf_appendf(j->out, "%02x", b.data[i]);
    buf_append_byte(j->out, '"');
}

/* Text as text, other bytes as {"hex": "..."}, null as null. */
static void add_bytes(struct json *j, const char *key, struct bytes b)
{
    if (bytes_is_null(b)) {
        json_text(j, key, NULL);
    } else if (is_text(b)) {
        json_bytes(j, key, b);
    } else {
        json_object_begin(j, key);
        add_hex(j, "hex", b);
        json_object_end(j);
    }
}

/* Sessions by their number, which is in members' traces as well; "0": none. */
static void add_session(struct json *j, const char *key, int64_t session)
{
    json_textf(j, key, "%" PRIx64, (uint64_t)session);
}

static void line_begin(struct json *j, struct buf *out, const struct tap *t, struct tap_moment at,
                       const char *kind)
{
    json_init(j, out);
    json_object_begin(j, NULL);
    json_int(j, "seq", (int64_t)at.seq);
    buf_appendf(out, ",\"t\":%" PRId64 ".%06" PRId64, at.wall_us / 1000000, at.wall_us % 1000000);
    json_int(j, "ns", (int64_t)at.ns);
    json_text(j, "who", t ? t->label : "");
    json_int(j, "c", t ? t->connection : 0);
    json_text(j, "k", kind);
}

static void line_end(struct json *j)
{
    json_object_end(j);
    buf_append_byte(j->out, '\n');
}

/* ---- what is in frames ---- */

static void add_texts(struct json *j, const char *key, struct jute *r)
{
    int32_t count = jute_count(r, 4);
    json_list_begin(j, key);
    for (int32_t i = 0; i < count && !r->failed; i++)
        json_bytes(j, NULL, jute_bytes(r));
    json_list_end(j);
}

/* "scheme:id:permissions" each; left out where everybody may do everything, which is the rule. Ids
 * of other schemes may be secrets. */
static void add_acl(struct json *j, struct jute *r)
{
    struct jute ahead = *r;
    bool is_open = jute_count(&ahead, 12) == 1 && jute_i32(&ahead) == 31 &&
                   bytes_equal_text(jute_bytes(&ahead), "world") &&
                   bytes_equal_text(jute_bytes(&ahead), "anyone");
    if (is_open) {
        *r = ahead;
        return;
    }
    int32_t count = jute_count(r, 12);
    json_list_begin(j, "acl");
    for (int32_t i = 0; i < count && !r->failed; i++) {
        int32_t permissions = jute_i32(r);
        struct bytes scheme = jute_bytes(r), id = jute_bytes(r);
        bool is_public = bytes_equal_text(scheme, "world") || bytes_equal_text(scheme, "ip");
        json_textf(j, NULL, "%.*s:%.*s:%" PRId32, (int)(scheme.len < 64 ? scheme.len : 64),
                   scheme.data ? (const char *)scheme.data : "",
                   is_public && id.len < 64 ? (int)id.len : 1,
                   is_public && id.data ? (const char *)id.data : "*", permissions);
    }
    json_list_end(j);
}

static void add_stat(struct json *j, struct jute *r)
{
    json_object_begin(j, "stat");
    json_int(j, "czxid", jute_i64(r));
    json_int(j, "mzxid", jute_i64(r));
    json_int(j, "ctime", jute_i64(r));
    json_int(j, "mtime", jute_i64(r));
    json_int(j, "version", jute_i32(r));
    json_int(j, "cversion", jute_i32(r));
    json_int(j, "aversion", jute_i32(r));
    int64_t owner = jute_i64(r);
    if (owner)
        add_session(j, "ephemeralOwner", owner);
    else
        json_int(j, "ephemeralOwner", 0);
    json_int(j, "dataLength", jute_i32(r));
    json_int(j, "numChildren", jute_i32(r));
    json_int(j, "pzxid", jute_i64(r));
    json_object_end(j);
}

static const char *flags_name(int32_t flags)
{
    static const char *const names[] = {"", "E", "S", "ES"};
    return flags >= 0 && flags < 4 ? names[flags] : "?";
}

static void add_simple_request(struct json *j, int32_t op, struct jute *r)
{
    json_bytes(j, "path", jute_bytes(r));
    switch (op) {
    case ZK_PROTOCOL_CREATE:
    case ZK_PROTOCOL_CREATE2:
        add_bytes(j, "data", jute_bytes(r));
        add_acl(j, r);
        json_text(j, "flags", flags_name(jute_i32(r)));
        break;
    case ZK_PROTOCOL_DELETE:
    case ZK_PROTOCOL_CHECK: json_int(j, "version", jute_i32(r)); break;
    case ZK_PROTOCOL_EXISTS:
    case ZK_PROTOCOL_GET:
    case ZK_PROTOCOL_CHILDREN:
    case ZK_PROTOCOL_CHILDREN2: json_bool(j, "watch", jute_bool(r)); break;
    case ZK_PROTOCOL_SET:
        add_bytes(j, "data", jute_bytes(r));
        json_int(j, "version", jute_i32(r));
        break;
    default: break;
    }
}

/* False: there are no more parts. `done` says so in the protocol, in a part of its own. */
static bool next_part(struct jute *r, int32_t *op, int32_t *err, int *parts)
{
    *op = jute_i32(r);
    bool is_done = jute_bool(r);
    *err = jute_i32(r);
    r->failed = r->failed || ++*parts > PARTS_MAX;
    return !is_done && !r->failed;
}

static void add_multi_request(struct json *j, struct jute *r)
{
    int32_t op, err;
    json_list_begin(j, "ops");
    for (int parts = 0; next_part(r, &op, &err, &parts);) {
        json_object_begin(j, NULL);
        json_text(j, "op", zk_protocol_op_name(op));
        add_simple_request(j, op, r);
        json_object_end(j);
    }
    json_list_end(j);
}

static void add_request(struct json *j, int32_t op, struct jute *r)
{
    switch (op) {
    case ZK_PROTOCOL_CLOSE:
    case ZK_PROTOCOL_PING:
    case ZK_PROTOCOL_SASL: break;
    case ZK_PROTOCOL_AUTH:
        json_int(j, "type", jute_i32(r));
        json_bytes(j, "scheme", jute_bytes(r)); /* and nothing of the secret */
        break;
    case ZK_PROTOCOL_SET_WATCHES:
        json_int(j, "relzxid", jute_i64(r));
        json_object_begin(j, "paths");
        add_texts(j, "data", r);
        add_texts(j, "exist", r);
        add_texts(j, "child", r);
        json_object_end(j);
        break;
    case ZK_PROTOCOL_MULTI: add_multi_request(j, r); break;
    default:
        if (zk_protocol_has_path(op))
            add_simple_request(j, op, r);
        break;
    }
}

static void add_simple_answer(struct json *j, int32_t op, struct jute *r)
{
    switch (op) {
    case ZK_PROTOCOL_CREATE:
    case ZK_PROTOCOL_CREATE2: json_bytes(j, "created", jute_bytes(r)); break;
    case ZK_PROTOCOL_EXISTS:
    case ZK_PROTOCOL_SET: add_stat(j, r); break;
    case ZK_PROTOCOL_GET:
        add_bytes(j, "data", jute_bytes(r));
        add_stat(j, r);
        break;
    case ZK_PROTOCOL_CHILDREN: add_texts(j, "children", r); break;
    case ZK_PROTOCOL_CHILDREN2:
        add_texts(j, "children", r);
        add_stat(j, r);
        break;
    default: break;
    }
}

static void add_multi_answer(struct json *j, struct jute *r)
{
    int32_t op, err;
    json_list_begin(j, "results");
    for (int parts = 0; next_part(r, &op, &err, &parts);) {
        json_object_begin(j, NULL);
        json_text(j, "op", zk_protocol_op_name(op));
        if (op == ZK_PROTOCOL_ERROR)
            json_text(j, "err", zk_protocol_error_name(jute_i32(r)));
        else
            add_simple_answer(j, op, r);
        if (op == ZK_PROTOCOL_CREATE2)
            add_stat(j, r);
        json_object_end(j);
    }
    json_list_end(j);
}

/* What a frame holds goes behind the line so far; of one that cannot be read its bytes do. */
static void line_finish(struct json *j, struct json whole, size_t mark, const struct jute *r,
                        struct bytes frame)
{
    if (r->failed && !j->out->failed) {
        j->out->len = mark;
        *j = whole;
        add_hex(j, "raw", frame);
    }
    line_end(j);
}

/* ---- lines ---- */

void tap_opened(const struct tap *t, struct tap_moment at, const char *server, struct buf *out)
{
    struct json j;
    line_begin(&j, out, t, at, "open");
    json_text(&j, "server", server);
    line_end(&j);
}

void tap_closed(const struct tap *t, struct tap_moment at, const char *why, struct buf *out)
{
    struct json j;
    line_begin(&j, out, t, at, "close");
    json_text(&j, "why", why);
    if (t->session)
        add_session(&j, "s", t->session);
    line_end(&j);
}

void tap_begin(struct tap_moment at, const char *servers, struct buf *out)
{
    struct json j;
    line_begin(&j, out, NULL, at, "capture");
    json_text(&j, "schema", "zkcapture/1");
    json_text(&j, "servers", servers);
    line_end(&j);
}

void tap_end(struct tap_moment at, uint64_t drops, struct buf *out)
{
    struct json j;
    line_begin(&j, out, NULL, at, "end");
    json_int(&j, "drops", (int64_t)drops);
    line_end(&j);
}

void tap_mark(struct tap_moment at, const char *text, struct buf *out)
{
    struct json j;
    line_begin(&j, out, NULL, at, "mark");
    json_text(&j, "text", text);
    line_end(&j);
}

struct tap_request tap_peek(const struct tap *t, struct bytes frame)
{
    struct jute r = jute_of(frame);
    if (!t->has_request)
        return (struct tap_request){"connect", BYTES_NULL};
    jute_i32(&r);
    int32_t op = jute_i32(&r);
    struct bytes path = zk_protocol_has_path(op) ? jute_bytes(&r) : BYTES_NULL;
    return (struct tap_request){r.failed ? "?" : zk_protocol_op_name(op),
                                r.failed ? BYTES_NULL : path};
}

static bool pending_reserve(struct tap *t)
{
    if (t->pending_count < t->pending_cap)
        return true;
    size_t cap = t->pending_cap ? t->pending_cap * 2 : 16;
    struct tap_pending *grown = malloc(cap * sizeof *grown);
    if (!grown)
        return false;
    for (size_t i = 0; i < t->pending_count; i++)
        grown[i] = t->pending[(t->pending_at + i) % t->pending_cap];
    free(t->pending);
    t->pending = grown;
    t->pending_at = 0;
    t->pending_cap = cap;
    return true;
}

static enum zkc_err pending_add(struct tap *t, int32_t xid, int32_t op, struct bytes path)
{
    if (t->pending_count == TAP_PENDING_MAX)
        return ZKC_ERR_TOO_LARGE;
    char *copy = path.data ? strndup((const char *)path.data, path.len) : NULL;
    if ((path.data && !copy) || !pending_reserve(t)) {
        free(copy);
        return ZKC_ERR_NOMEM;
    }
    t->pending[(t->pending_at + t->pending_count++) % t->pending_cap] =
        (struct tap_pending){xid, op, copy};
    return ZKC_OK;
}

/* The first frame: org.apache.zookeeper.proto.ConnectRequest. */
static void connect_request(struct tap *t, struct tap_moment at, struct bytes frame,
                            struct buf *out)
{
    struct jute r = jute_of(frame);
    struct json j;
    line_begin(&j, out, t, at, "conn");
    struct json whole = j;
    size_t mark = out->len;
    jute_i32(&r); /* the protocol's version, 0 */
    json_int(&j, "zxid", jute_i64(&r));
    json_int(&j, "timeout", jute_i32(&r));
    add_session(&j, "s", jute_i64(&r));
    line_finish(&j, whole, mark, &r, frame);
}

enum zkc_err tap_request(struct tap *t, struct tap_moment at, struct bytes frame, struct buf *out)
{
    if (!t->has_request) {
        t->has_request = true;
        connect_request(t, at, frame, out);
        return ZKC_OK;
    }
    struct jute r = jute_of(frame);
    struct json j;
    struct bytes path = tap_peek(t, frame).path;
    line_begin(&j, out, t, at, "req");
    int32_t xid = jute_i32(&r), op = jute_i32(&r);
    json_int(&j, "xid", xid);
    json_text(&j, "op", zk_protocol_op_name(op));
    struct json whole = j;
    size_t mark = out->len;
    add_request(&j, op, &r);
    line_finish(&j, whole, mark, &r, frame);
    return zk_protocol_is_special(xid) ? ZKC_OK : pending_add(t, xid, op, path);
}

static void connect_answer(struct tap *t, struct tap_moment at, struct bytes frame, struct buf *out)
{
    struct jute r = jute_of(frame);
    struct json j;
    line_begin(&j, out, t, at, "connok");
    struct json whole = j;
    size_t mark = out->len;
    jute_i32(&r);
    json_int(&j, "timeout", jute_i32(&r)); /* 0: the session has ended */
    t->session = jute_i64(&r);
    add_session(&j, "s", t->session);
    line_finish(&j, whole, mark, &r, frame);
}

static void add_event(struct json *j, struct jute *r)
{
    json_text(j, "type", zk_protocol_event_name(jute_i32(r)));
    json_text(j, "state", zk_protocol_state_name(jute_i32(r)));
    json_bytes(j, "path", jute_bytes(r));
}

/* The request that this answers, taken from those that wait; op 0: none. */
static struct tap_pending answered(struct tap *t, int32_t xid)
{
    struct tap_pending none = {xid, zk_protocol_special_op(xid), NULL};
    if (none.op || !t->pending_count || t->pending[t->pending_at].xid != xid)
        return none;
    struct tap_pending first = t->pending[t->pending_at];
    t->pending_at = (t->pending_at + 1) % t->pending_cap;
    t->pending_count--;
    return first;
}

void tap_answer(struct tap *t, struct tap_moment at, struct bytes frame, struct buf *out)
{
    if (!t->has_answer) {
        t->has_answer = true;
        connect_answer(t, at, frame, out);
        return;
    }
    struct jute r = jute_of(frame);
    int32_t xid = jute_i32(&r);
    int64_t zxid = jute_i64(&r);
    int32_t err = jute_i32(&r);
    struct json j;
    if (xid == ZK_PROTOCOL_XID_EVENT && !r.failed) {
        line_begin(&j, out, t, at, "event");
        struct json whole = j;
        size_t mark = out->len;
        add_event(&j, &r);
        line_finish(&j, whole, mark, &r, frame);
        return;
    }
    struct tap_pending request = r.failed ? (struct tap_pending){0} : answered(t, xid);
    line_begin(&j, out, t, at, "rsp");
    json_int(&j, "xid", xid);
    json_text(&j, "op", zk_protocol_op_name(request.op));
    if (request.path)
        json_text(&j, "path", request.path);
    json_int(&j, "zxid", zxid);
    if (err)
        json_text(&j, "err", zk_protocol_error_name(err));
    struct json whole = j;
    size_t mark = out->len;
    if (request.op == ZK_PROTOCOL_MULTI && jute_left(&r))
        add_multi_answer(&j, &r);
    else if (!err)
        add_simple_answer(&j, request.op, &r);
    line_finish(&j, whole, mark, &r, frame);
    free(request.path);
}
