#include "study/record/capture.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/op.h"
#include <errno.h>
#include <stdlib.h>

#define ARENA_MAX ((size_t)256 * 1024 * 1024)

void capture_decoder_init(struct capture_decoder *d)
{
    arena_init(&d->arena, ARENA_MAX);
    d->json = NULL;
}

void capture_decoder_deinit(struct capture_decoder *d)
{
    json_decref(d->json);
    d->json = NULL;
    arena_deinit(&d->arena);
}

/* The first thing that is wrong is kept; what is read after it is empty. */
struct reader {
    const json_t *o;
    struct arena *arena;
    struct why *why;
    bool failed;
};

static void fail(struct reader *r, const char *key, const char *expected)
{
    if (!r->failed)
        why_set(r->why, "\"%s\": expected %s", key, expected);
    r->failed = true;
}

static const json_t *value(const struct reader *r, const char *key)
{
    return json_object_get(r->o, key);
}

static const char *text_or(struct reader *r, const char *key, const char *otherwise)
{
    const json_t *v = value(r, key);
    if (!v || json_is_null(v))
        return otherwise;
    if (!json_is_string(v))
        fail(r, key, "a string");
    return json_is_string(v) ? json_string_value(v) : otherwise;
}

static const char *text(struct reader *r, const char *key)
{
    const char *v = text_or(r, key, NULL);
    if (!v)
        fail(r, key, "a string");
    return v ? v : "";
}

static int64_t number_or(struct reader *r, const char *key, int64_t otherwise)
{
    const json_t *v = value(r, key);
    if (!v)
        return otherwise;
    if (!json_is_integer(v))
        fail(r, key, "an integer");
    return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

static int64_t number(struct reader *r, const char *key)
{
    if (!value(r, key))
        fail(r, key, "an integer");
    return number_or(r, key, 0);
}

static bool flag(struct reader *r, const char *key) /* true, or 1 */
{
    const json_t *v = value(r, key);
    if (!v || json_is_boolean(v))
        return json_is_true(v);
    return number(r, key) != 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Text, or {"hex": "..."}, or null. */
static struct bytes data_of(struct reader *r, const char *key)
{
    const json_t *v = value(r, key), *hex = json_object_get(v, "hex");
    if (!v || json_is_null(v))
        return BYTES_NULL;
    if (json_is_string(v))
        return bytes_of(json_string_value(v), json_string_length(v));
    size_t len = json_string_length(hex);
    uint8_t *out = json_is_string(hex) && len % 2 == 0 ? arena_alloc(r->arena, len / 2 + 1) : NULL;
    for (size_t i = 0; out && i < len / 2; i++) {
        int high = hex_digit(json_string_value(hex)[2 * i]);
        int low = hex_digit(json_string_value(hex)[2 * i + 1]);
        if (high < 0 || low < 0)
            out = NULL;
        else
            out[i] = (uint8_t)(high * 16 + low);
    }
    if (!out)
        fail(r, key, "a string, null, or {\"hex\": digits}");
    return out ? bytes_of(out, len / 2) : BYTES_NULL;
}

/* Sessions are "S1", "S2" ... in the golden forms, and hexadecimal numbers in ours. */
static bool read_session(const char *s, uint64_t *out)
{
    bool is_label = *s == 'S';
    char *end;
    errno = 0;
    *out = strtoull(s + is_label, &end, is_label ? 10 : 16);
    return s[is_label] && s[is_label] != '-' && s[is_label] != '+' && !*end && !errno;
}

static uint64_t session_or_0(struct reader *r, const char *key)
{
    const json_t *v = value(r, key);
    uint64_t session = 0;
    if (!v || (json_is_integer(v) && json_integer_value(v) == 0))
        return 0;
    if (!json_is_string(v) || !read_session(json_string_value(v), &session))
        fail(r, key, "a session, like \"S1\" or a hexadecimal number");
    return session;
}

static const char *const *texts(struct reader *r, const char *key, size_t *count)
{
    const json_t *list = value(r, key);
    *count = 0;
    if (!list)
        return NULL;
    size_t n = json_array_size(list);
    const char **out = json_is_array(list) ? arena_alloc_array(r->arena, n, sizeof *out) : NULL;
    for (size_t i = 0; out && i < n; i++)
        if (!(out[i] = json_string_value(json_array_get(list, i))))
            out = NULL;
    if (!out)
        fail(r, key, "a list of strings");
    *count = out ? n : 0;
    return out;
}

static int rc_of(struct reader *r, const char *key)
{
    const json_t *v = value(r, key);
    if (json_is_integer(v)) /* one that the golden recorder had no name for */
        return json_integer_value(v) < 0 && json_integer_value(v) > -1000
                   ? (int)json_integer_value(v)
                   : ZK_SYSTEM_ERROR;
    const char *name = text_or(r, key, NULL);
    if (!name || strcmp(name, "0") == 0)
        return ZK_OK;
    for (int rc = -1; rc >= -120; rc--)
        if (strcmp(zk_rc_name(rc), name) == 0)
            return rc;
    return ZK_SYSTEM_ERROR;
}

/* ---- operations ---- */

static bool op_of(const char *name, enum capture_op *out)
{
    static const struct {
        const char *name;
        enum capture_op op;
    } ops[] = {
        {"create", CAPTURE_CREATE},
        {"create2", CAPTURE_CREATE},
        {"delete", CAPTURE_DELETE},
        {"exists", CAPTURE_EXISTS},
        {"getData", CAPTURE_GET},
        {"setData", CAPTURE_SET},
        {"getChildren", CAPTURE_CHILDREN},
        {"getChildren2", CAPTURE_CHILDREN},
        {"multi", CAPTURE_MULTI},
        {"sync", CAPTURE_SYNC},
        {"closeSession", CAPTURE_CLOSE_SESSION},
        {"check", CAPTURE_CHECK},
        {"createContainer", CAPTURE_CREATE},
        {"createTTL", CAPTURE_CREATE},
    };
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (strcmp(ops[i].name, name) == 0) {
            *out = ops[i].op;
            return true;
        }
    return false;
}

static bool has_path(enum capture_op op)
{
    return op != CAPTURE_MULTI && op != CAPTURE_CLOSE_SESSION;
}

static const char *path_of(struct reader *r)
{
    const char *path = text(r, "path");
    if (*path != '/')
        fail(r, "path", "a path that begins with /");
    return path;
}

static bool is_ephemeral(struct reader *r)
{
    return strchr(text_or(r, "flags", ""), 'E') != NULL;
}

/* The parts of a multi, or what they came to. */
static void parts(struct reader *r, const char *key, bool is_answer, struct capture_line *out)
{
    const json_t *list = value(r, key);
    size_t n = json_array_size(list);
    struct capture_part *all = arena_alloc_array(r->arena, n, sizeof *all);
    if (!json_is_array(list) || !all) {
        fail(r, key, "a list of operations");
        return;
    }
    for (size_t i = 0; i < n && !r->failed; i++) {
        struct reader in = {json_array_get(list, i), r->arena, r->why, false};
        const char *name = text(&in, "op");
        if (!op_of(name, &all[i].op) && strcmp(name, "error") != 0)
            fail(&in, "op", "the name of an operation");
        all[i].zk_rc = rc_of(&in, "err");
        if (!is_answer) {
            all[i].path = path_of(&in);
            all[i].data = data_of(&in, "data");
            all[i].is_ephemeral = is_ephemeral(&in);
        }
        r->failed = in.failed;
    }
    out->parts = all;
    out->part_count = n;
}

static void request(struct reader *r, struct capture_line *out)
{
    if (value(r, "raw") || !op_of(text(r, "op"), &out->op)) {
        out->kind = CAPTURE_OTHER; /* of the client library, or none that was understood */
        return;
    }
    out->kind = CAPTURE_REQUEST;
    out->has_watch = flag(r, "watch") || flag(r, "w");
    if (has_path(out->op))
        out->path = path_of(r);
    if (out->op == CAPTURE_CREATE || out->op == CAPTURE_SET)
        out->data = data_of(r, "data");
    out->is_ephemeral = is_ephemeral(r);
    if (out->op == CAPTURE_MULTI)
        parts(r, "ops", false, out);
}

static void stat_of(struct reader *r, struct capture_line *out)
{
    const json_t *stat = value(r, "stat");
    if (!stat)
        return;
    struct reader in = {stat, r->arena, r->why, false};
    out->has_stat = true;
    out->owner = session_or_0(&in, "ephemeralOwner");
    r->failed = r->failed || in.failed;
}

static void answer(struct reader *r, struct capture_line *out)
{
    if (!op_of(text(r, "op"), &out->op))
        return; /* CAPTURE_OTHER */
    out->kind = CAPTURE_ANSWER;
    out->zxid = number(r, "zxid");
    out->zk_rc = rc_of(r, "err");
    stat_of(r, out);
    if (out->op == CAPTURE_GET)
        out->data = data_of(r, "data");
    if (out->op == CAPTURE_CHILDREN)
        out->children = texts(r, "children", &out->child_count);
    if (out->op == CAPTURE_MULTI && value(r, "results"))
        parts(r, "results", true, out);
}

#define TEXT_OF_NS_MAX "4102444800000000000"

/* Seconds since 1970, or (ours) nanoseconds of the monotonic clock. */
static void line_time(struct reader *r, struct capture_line *out)
{
    int64_t ns = number_or(r, "ns", 0);
    double seconds = json_number_value(value(r, "t"));
    out->has_ns = value(r, "ns") != NULL;
    if (out->has_ns) {
        out->t_ns = (uint64_t)ns;
        if (ns < 0 || ns > CAPTURE_TIME_S_MAX * 1000000000)
            fail(r, "ns", "nanoseconds, at most " TEXT_OF_NS_MAX);
    } else if (json_is_number(value(r, "t")) && seconds >= 0 && seconds < CAPTURE_TIME_S_MAX) {
        out->t_ns = (uint64_t)(seconds * 1e6 + 0.5) * 1000;
    } else {
        fail(r, "t", "seconds since 1970, before 2100");
    }
}

static void recorded(struct reader *r, struct capture_line *out)
{
    const char *kind = text(r, "k");
    line_time(r, out);
    out->who = text_or(r, "who", "");
    int64_t link = number_or(r, "c", 0);
    if (link < 0 || link > UINT32_MAX)
        fail(r, "c", "the number of a connection");
    out->link = (uint32_t)link;
    out->xid = (int32_t)number_or(r, "xid", 0);
    if (strcmp(kind, "capture") == 0) {
        out->kind = CAPTURE_BEGIN;
        if (strcmp(text(r, "schema"), "zkcapture/1") != 0)
            fail(r, "schema", "zkcapture/1");
    } else if (strcmp(kind, "end") == 0) {
        out->kind = CAPTURE_END;
        out->drops = (uint64_t)number_or(r, "drops", 0);
    } else if (strcmp(kind, "open") == 0) {
        out->kind = CAPTURE_OPEN;
    } else if (strcmp(kind, "close") == 0) {
        out->kind = CAPTURE_CLOSE;
        out->text = text(r, "why");
    } else if (strcmp(kind, "conn") == 0 && !value(r, "raw")) {
        out->kind = CAPTURE_CONNECT;
        out->session = session_or_0(r, "s");
        out->timeout_ms = number(r, "timeout");
    } else if (strcmp(kind, "connok") == 0 && !value(r, "raw")) {
        out->kind = CAPTURE_CONNECTED;
        out->timeout_ms = number(r, "timeout");
        out->is_expired = out->timeout_ms <= 0;
        out->session = session_or_0(r, "s");
    } else if (strcmp(kind, "event") == 0 && !value(r, "raw")) {
        out->kind = CAPTURE_EVENT;
        out->type = text(r, "type");
        out->path = text_or(r, "path", "");
    } else if (strcmp(kind, "mark") == 0) {
        out->kind = CAPTURE_MARK;
        out->text = text(r, "text");
    } else if (strcmp(kind, "req") == 0) {
        request(r, out);
    } else if (strcmp(kind, "rsp") == 0 && !value(r, "raw")) {
        answer(r, out);
    }
}

/* ---- scenes ---- */

static void scene_connect(struct reader *r, struct capture_line *out)
{
    out->kind = CAPTURE_CONNECT;
    out->session = session_or_0(r, "session");
    out->timeout_ms = number(r, "timeout");
    const char *got = text_or(r, "got", NULL);
    out->is_answered = got != NULL;
    out->is_expired = got && strcmp(got, "expired") == 0;
    if (got && !out->is_expired)
        out->session_given = session_or_0(r, "got");
}

static void delivered(struct reader *r, struct capture_line *out)
{
    const char *p = text(r, "delivered"), *slash = strrchr(p, '/');
    char *end = NULL;
    long partition = slash ? strtol(slash + 1, &end, 10) : -1;
    size_t len = slash ? (size_t)(slash - p) : 0;
    char *topic = arena_alloc(r->arena, len + 1);
    out->kind = CAPTURE_DELIVERED;
    out->first = number(r, "from");
    out->last = number(r, "to");
    if (!topic || !len || len > TOPIC_NAME_MAX || !end || *end || end == slash + 1 ||
        partition < 0 || partition > INT32_MAX) {
        fail(r, "delivered", "a partition like \"topic/3\"");
        return;
    }
    if (out->first < 0 || out->last < out->first || out->last == INT64_MAX)
        fail(r, "to", "an offset that is not below \"from\"");
    memcpy(topic, p, len);
    out->p = (struct topic_partition){topic, (int32_t)partition};
}

static void scene_operation(struct reader *r, struct capture_line *out)
{
    request(r, out);
    if (out->kind != CAPTURE_REQUEST)
        return;
    out->is_answered = !flag(r, "unanswered");
    out->zk_rc = rc_of(r, "err");
    out->zxid = number_or(r, "z", 0);
    out->has_stat = value(r, "v") != NULL;
    out->owner = session_or_0(r, "owner");
    if (out->op == CAPTURE_GET && out->zk_rc == ZK_OK)
        out->data = data_of(r, "got");
    if (out->op == CAPTURE_CHILDREN)
        out->children = texts(r, "got", &out->child_count);
}

static void scene(struct reader *r, struct capture_line *out)
{
    int64_t ms = number(r, "ms");
    out->is_whole = true;
    if (ms < 0 || ms > CAPTURE_TIME_S_MAX * 1000)
        fail(r, "ms", "milliseconds since the scene's start");
    out->t_ns = (uint64_t)ms * 1000000;
    out->who = text_or(r, "m", "");
    if (value(r, "mark")) {
        out->kind = CAPTURE_MARK;
        out->text = text(r, "mark");
    } else if (value(r, "delivered")) {
        delivered(r, out);
    } else if (value(r, "event")) {
        out->kind = CAPTURE_EVENT;
        out->type = text(r, "event");
        out->path = text_or(r, "path", "");
    } else if (value(r, "op")) {
        const char *op = text(r, "op");
        if (strcmp(op, "connect") == 0) {
            scene_connect(r, out);
        } else if (strcmp(op, "disconnect") == 0) {
            out->kind = CAPTURE_CLOSE;
            out->text = text_or(r, "by", "");
        } else {
            scene_operation(r, out);
        }
    } else if (!value(r, "app")) {
        fail(r, "op", "an operation, or \"event\", \"mark\", \"delivered\" or \"app\"");
    }
}

bool capture_decode(struct capture_decoder *d, struct bytes line, struct capture_line *out,
                    struct why *why)
{
    json_error_t error;
    json_decref(d->json);
    arena_clear(&d->arena);
    why_clear(why);
    *out = (struct capture_line){.who = ""};
    d->json = json_loadb((const char *)line.data, line.len, JSON_ALLOW_NUL, &error);
    if (!json_is_object(d->json)) {
        why_set(why, "expected one JSON object: %s",
                d->json ? "it is another value" : why_quote(bytes_of_text(error.text)).text);
        return false;
    }
    struct reader r = {d->json, &d->arena, why, false};
    if (value(&r, "k"))
        recorded(&r, out);
    else if (value(&r, "ms"))
        scene(&r, out);
    else
        fail(&r, "k", "a line of a capture, with \"k\" (recorded) or \"ms\" (a scene)");
    if (!r.failed && arena_alloc(&d->arena, 1) == NULL)
        fail(&r, "k", "a line that fits into memory");
    return !r.failed;
}
