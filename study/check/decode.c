#include "study/check/decode.h"
#include "zkconsumer/core/zk/op.h"
#include <errno.h>
#include <stdlib.h>

#define ARENA_MAX      ((size_t)256 * 1024 * 1024)
#define PARTITIONS_MAX 1000000

void trace_decoder_init(struct trace_decoder *d)
{
    arena_init(&d->arena, ARENA_MAX);
    d->line = NULL;
}

void trace_decoder_deinit(struct trace_decoder *d)
{
    json_decref(d->line);
    d->line = NULL;
    arena_deinit(&d->arena);
}

/* An object that is being read: the first thing that is wrong is kept in `why`, and whatever is
 * read after it is empty, so that a reader goes straight through and looks once at the end. */
struct fields {
    json_t *object;
    struct arena *arena;
    const char *event;
    struct why *why;
    bool failed;
};

static void fail(struct fields *f, const char *key, const char *expected)
{
    if (!f->failed)
        why_set(f->why, "%s: \"%s\": expected %s", f->event, key, expected);
    f->failed = true;
}

static const char *text_or(struct fields *f, const char *key, const char *otherwise)
{
    json_t *v = json_object_get(f->object, key);
    if (v && !json_is_string(v))
        fail(f, key, "a string");
    return json_is_string(v) ? json_string_value(v) : otherwise;
}

static const char *text(struct fields *f, const char *key)
{
    const char *value = text_or(f, key, NULL);
    if (!value)
        fail(f, key, "a string");
    return value ? value : "";
}

static int64_t number_or(struct fields *f, const char *key, int64_t otherwise)
{
    json_t *v = json_object_get(f->object, key);
    if (v && !json_is_integer(v))
        fail(f, key, "an integer");
    return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

static int64_t number(struct fields *f, const char *key)
{
    if (!json_object_get(f->object, key))
        fail(f, key, "an integer");
    return number_or(f, key, 0);
}

static uint64_t natural_or(struct fields *f, const char *key, uint64_t otherwise)
{
    if (!json_object_get(f->object, key))
        return otherwise;
    int64_t value = number_or(f, key, 0);
    if (value < 0)
        fail(f, key, "an integer that is not negative");
    return value < 0 ? 0 : (uint64_t)value;
}

static uint64_t natural(struct fields *f, const char *key)
{
    if (!json_object_get(f->object, key))
        fail(f, key, "an integer that is not negative");
    return natural_or(f, key, 0);
}

static uint32_t count(struct fields *f, const char *key)
{
    uint64_t value = natural(f, key);
    if (value > UINT32_MAX)
        fail(f, key, "a number below 2^32");
    return (uint32_t)value;
}

static bool boolean_or(struct fields *f, const char *key, bool otherwise)
{
    json_t *v = json_object_get(f->object, key);
    if (v && !json_is_boolean(v))
        fail(f, key, "true or false");
    return v ? json_is_true(v) : otherwise;
}

static bool boolean(struct fields *f, const char *key)
{
    if (!json_object_get(f->object, key))
        fail(f, key, "true or false");
    return boolean_or(f, key, false);
}

static uint64_t hex_or(struct fields *f, const char *key, uint64_t otherwise)
{
    const char *value = text_or(f, key, NULL);
    if (!value)
        return otherwise;
    char *end;
    errno = 0;
    uint64_t n = strtoull(value, &end, 16);
    if (!*value || *end || errno || *value == '-')
        fail(f, key, "a hexadecimal number");
    return n;
}

static uint64_t hex(struct fields *f, const char *key)
{
    if (!json_object_get(f->object, key))
        fail(f, key, "a hexadecimal number");
    return hex_or(f, key, 0);
}

static void *room(struct fields *f, size_t n, size_t size)
{
    void *p = arena_alloc_array(f->arena, n, size);
    if (!p)
        fail(f, "", "an event that fits into memory");
    return p;
}

/* "topic/3" or, where ranges are allowed, "topic/3-6". */
struct run {
    const char *topic;
    int32_t first, last;
};

static bool read_number(const char **at, int32_t *out)
{
    if (**at < '0' || **at > '9')
        return false;
    char *end;
    errno = 0;
    long long n = strtoll(*at, &end, 10);
    if (errno || n > INT32_MAX)
        return false;
    *at = end;
    *out = (int32_t)n;
    return true;
}

static bool read_run(struct fields *f, const char *value, struct run *out)
{
    const char *slash = value ? strrchr(value, '/') : NULL;
    if (!slash || slash == value || slash - value > TOPIC_NAME_MAX)
        return false;
    const char *at = slash + 1;
    if (!read_number(&at, &out->first))
        return false;
    out->last = out->first;
    if (*at == '-' && (at++, !read_number(&at, &out->last)))
        return false;
    if (*at || out->last < out->first)
        return false;
    size_t len = (size_t)(slash - value);
    char *topic = room(f, len + 1, 1);
    if (!topic)
        return false;
    memcpy(topic, value, len);
    out->topic = topic;
    return true;
}

static struct topic_partition partition(struct fields *f)
{
    struct run run = {.topic = ""};
    if (!read_run(f, text(f, "p"), &run) || run.first != run.last)
        fail(f, "p", "a partition like \"topic/3\"");
    return (struct topic_partition){run.topic, run.first};
}

/* A list of partitions or ranges of them. */
static const struct topic_partition *partitions(struct fields *f, const char *key,
                                                size_t *out_count)
{
    json_t *list = json_object_get(f->object, key);
    *out_count = 0;
    if (!json_is_array(list)) {
        fail(f, key, "a list of partitions like \"topic/3\" or \"topic/3-6\"");
        return NULL;
    }
    struct run *runs = room(f, json_array_size(list), sizeof *runs);
    size_t total = 0;
    for (size_t i = 0; runs && i < json_array_size(list); i++) {
        if (!read_run(f, json_string_value(json_array_get(list, i)), &runs[i]))
            fail(f, key, "partitions like \"topic/3\" or \"topic/3-6\"");
        if (f->failed)
            return NULL;
        total += (size_t)(runs[i].last - runs[i].first) + 1;
        if (total > PARTITIONS_MAX)
            fail(f, key, "at most a million partitions");
    }
    struct topic_partition *ps = f->failed ? NULL : room(f, total, sizeof *ps);
    if (!ps)
        return NULL;
    for (size_t i = 0; i < json_array_size(list); i++)
        for (int64_t n = runs[i].first; n <= runs[i].last; n++)
            ps[(*out_count)++] = (struct topic_partition){runs[i].topic, (int32_t)n};
    return ps;
}

static const char *const *texts(struct fields *f, const char *key, size_t *out_count)
{
    json_t *list = json_object_get(f->object, key);
    *out_count = 0;
    if (!json_is_array(list)) {
        fail(f, key, "a list of strings");
        return NULL;
    }
    const char **out = room(f, json_array_size(list), sizeof *out);
    for (size_t i = 0; out && i < json_array_size(list); i++) {
        out[i] = json_string_value(json_array_get(list, i));
        if (!out[i]) {
            fail(f, key, "a list of strings");
            return NULL;
        }
    }
    *out_count = out ? json_array_size(list) : 0;
    return out;
}

/* The object behind a key, or one without members. */
static struct fields inner(struct fields *f, const char *key)
{
    struct fields in = *f;
    in.object = json_object_get(f->object, key);
    if (in.object && !json_is_object(in.object))
        fail(f, key, "an object");
    in.failed = f->failed;
    return in;
}

static void ops(struct fields *f, uint64_t *counts)
{
    struct fields in = inner(f, "ops");
    for (int i = 0; i < TRACE_OP_COUNT; i++)
        counts[i] = natural_or(&in, trace_op_name((enum trace_op)i), 0);
    f->failed = in.failed;
}

/* The run's settings under a configuration name: texts, or true and false (of members' traces). */
static void switches(struct fields *f, struct trace_event *e)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)f->object, name, value)
    {
        if (strncmp(name, "zookeeper.", 10) != 0 || e->run.switch_count == TRACE_SWITCHES_MAX)
            continue;
        const char *text_of = json_is_true(value)    ? "true"
                              : json_is_false(value) ? "false"
                                                     : json_string_value(value);
        if (!text_of)
            fail(f, name, "a text, true or false");
        else
            e->run.switches[e->run.switch_count++] = (struct trace_switch){name, text_of};
    }
}

static void header(struct fields *f, struct trace_event *e)
{
    if (strcmp(text(f, "schema"), "rbtrace/1") != 0)
        fail(f, "schema", "rbtrace/1");
    e->run.mode = text_or(f, "mode", "");
    e->run.variant = text_or(f, "variant", "");
    e->run.strategy = text_or(f, "strategy", "");
    switches(f, e);
    e->run.scenario = text_or(f, "scenario", "");
    e->run.seed = (uint64_t)number_or(f, "seed", 0);
    e->run.is_virtual = strcmp(text_or(f, "clock", "monotonic"), "virtual") == 0;
    e->run.is_capture = strcmp(text_or(f, "source", ""), "capture") == 0;
    e->run.is_logged = strcmp(text_or(f, "source", ""), "log") == 0;
    e->run.is_of_writes = e->run.is_logged || strcmp(text_or(f, "source", ""), "writes") == 0;
    e->run.level = (int)number_or(f, "level", 1);
    e->run.member_count = (uint32_t)natural_or(f, "n", 0);
    struct fields cfg = inner(f, "cfg");
    e->run.session_timeout_ms = number_or(&cfg, "zookeeper.session.timeout.ms", -1);
    e->run.backoff_ms = number_or(&cfg, "rebalance.backoff.ms", -1);
    e->run.attempts_max = (uint32_t)natural_or(&cfg, "rebalance.max.retries", 0);
    e->run.commit_interval_ms = number_or(&cfg, "auto.commit.interval.ms", -1);
    f->failed = cfg.failed;
    struct fields in = inner(f, "topics");
    struct trace_topic *topics = room(f, json_object_size(in.object), sizeof *topics);
    const char *name;
    json_t *value;
    json_object_foreach(in.object, name, value)
    {
        if (!topics)
            break;
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) > INT32_MAX)
            fail(f, "topics", "numbers of partitions");
        topics[e->run.topic_count++] =
            (struct trace_topic){name, (int32_t)json_integer_value(value)};
    }
    e->run.topics = topics;
}

static void txn(struct fields *f, struct trace_event *e)
{
    struct trace_txn *x = &e->zk_txn;
    x->zxid = number(f, "zxid");
    x->what = text(f, "what");
    x->path = text(f, "path");
    x->class_of = trace_path_read(x->path).class_of;
    x->session = hex_or(f, "sid", 0);
    x->m = e->m;
    x->value = text_or(f, "val", NULL);
    x->value_len = x->value ? json_string_length(json_object_get(f->object, "val")) : 0;
    x->ephemeral_owner = hex_or(f, "eph", 0);
    x->part = (uint32_t)natural_or(f, "part", 0);
    x->parts = (uint32_t)natural_or(f, "n", 1);
}

static int zk_rc_of(const char *name)
{
    for (int rc = 0; rc >= -120; rc--)
        if (strcmp(zk_rc_name(rc), name) == 0)
            return rc;
    return ZK_SYSTEM_ERROR;
}

static void operation(struct fields *f, struct trace_event *e)
{
    const char *op = text(f, "op");
    int i = 0;
    while (i < TRACE_OP_COUNT && strcmp(op, trace_op_name((enum trace_op)i)) != 0)
        i++;
    if (i == TRACE_OP_COUNT)
        fail(f, "op", "the name of an operation");
    e->zk_op.op = (enum trace_op)i;
    e->zk_op.path = text(f, "path");
    e->zk_op.has_watch = boolean_or(f, "watch", false);
    e->zk_op.zk_rc = zk_rc_of(text(f, "rc"));
    e->zk_op.zxid = number_or(f, "zxid", 0);
    e->zk_op.latency_ns = natural_or(f, "lat", 0);
}

static void view(struct fields *f, struct trace_event *e)
{
    e->view.rb = count(f, "rb");
    e->view.i = count(f, "i");
    e->view.hash = hex(f, "h");
    e->view.member_count = natural(f, "nm");
    e->view.partition_count = natural(f, "np");
    e->view.zxid_first = number_or(f, "zx0", 0);
    e->view.zxid_last = number_or(f, "zx1", 0);
    size_t n;
    if (json_object_get(f->object, "mlist")) {
        e->view.members = texts(f, "mlist", &n);
        if (n != e->view.member_count)
            fail(f, "mlist", "as many members as \"nm\" says");
    }
    if (json_object_get(f->object, "plist")) {
        e->view.partitions = partitions(f, "plist", &n);
        if (n != e->view.partition_count)
            fail(f, "plist", "as many partitions as \"np\" says");
    }
}

static void try_end(struct fields *f, struct trace_event *e)
{
    e->rb_try_end.rb = count(f, "rb");
    e->rb_try_end.i = count(f, "i");
    e->rb_try_end.ok = boolean(f, "ok");
    e->rb_try_end.why = text_or(f, "why", "");
    ops(f, e->rb_try_end.ops);
    struct fields bytes = inner(f, "bytes");
    e->rb_try_end.bytes_in = natural_or(&bytes, "in", 0);
    e->rb_try_end.bytes_out = natural_or(&bytes, "out", 0);
    f->failed = bytes.failed;
    struct fields ns = inner(f, "ns");
    e->rb_try_end.read_ns = natural_or(&ns, "read", 0);
    e->rb_try_end.stop_ns = natural_or(&ns, "stop", 0);
    e->rb_try_end.commit_ns = natural_or(&ns, "commit", 0);
    e->rb_try_end.release_ns = natural_or(&ns, "release", 0);
    e->rb_try_end.claim_ns = natural_or(&ns, "claim", 0);
    f->failed = ns.failed;
}

static void offset(struct fields *f, struct trace_event *e)
{
    e->offset.p = partition(f);
    e->offset.offset = number(f, "o");
    e->offset.previous = number_or(f, "prev", -1);
    e->offset.rc = e->type == TRACE_COMMIT ? text(f, "rc") : "ok";
    e->offset.zxid = number_or(f, e->type == TRACE_COMMIT ? "applied" : "zxid", 0);
}

static void fetch(struct fields *f, struct trace_event *e)
{
    if (strcmp(json_is_string(json_object_get(f->object, "ps")) ? text(f, "ps") : "", "*") == 0)
        return; /* all that it has: no list */
    e->fetch.ps = partitions(f, "ps", &e->fetch.count);
}

static void messages(struct fields *f, struct trace_event *e)
{
    struct topic_partition p = partition(f);
    int64_t first = number(f, "o0"), last = number(f, "o1");
    uint64_t first_ns = natural(f, "t0"), last_ns = natural(f, "t1"), hash = hex_or(f, "h", 0);
    if (first < 0 || last < first || last == INT64_MAX)
        fail(f, "o1", "an offset that is not below \"o0\"");
    if (last_ns < first_ns)
        fail(f, "t1", "a time that is not before \"t0\"");
    if (e->type == TRACE_PRODUCE) {
        e->produce.p = p, e->produce.first = first, e->produce.last = last;
        e->produce.first_ns = first_ns, e->produce.last_ns = last_ns, e->produce.hash = hash;
    } else {
        e->deliver.p = p, e->deliver.first = first, e->deliver.last = last;
        e->deliver.first_ns = first_ns, e->deliver.last_ns = last_ns, e->deliver.hash = hash;
    }
}

static void violation(struct fields *f, struct trace_event *e)
{
    e->viol.invariant = text(f, "inv");
    e->viol.severity = text(f, "sev");
    e->viol.detail = text_or(f, "detail", "");
    json_t *list = json_object_get(f->object, "refs");
    uint64_t *refs = room(f, json_array_size(list), sizeof *refs);
    for (size_t i = 0; refs && i < json_array_size(list); i++)
        refs[i] = (uint64_t)json_integer_value(json_array_get(list, i));
    e->viol.refs = refs;
    e->viol.ref_count = refs ? json_array_size(list) : 0;
}

static void attempt_event(struct fields *f, struct trace_event *e)
{
    uint32_t rb = count(f, "rb"), i = count(f, "i");
    switch (e->type) {
    case TRACE_RB_TRY: e->rb_try.rb = rb, e->rb_try.i = i; break;
    case TRACE_DECIDE:
        e->decide.rb = rb, e->decide.i = i;
        e->decide.want = partitions(f, "want", &e->decide.count);
        break;
    case TRACE_CLAIM:
        e->claim.rb = rb, e->claim.i = i;
        e->claim.p = partition(f);
        e->claim.rc = text(f, "rc");
        e->claim.holder = text_or(f, "holder", NULL);
        break;
    case TRACE_RELEASE:
        e->release.rb = rb, e->release.i = i;
        e->release.p = partition(f);
        e->release.rc = text(f, "rc");
        e->release.foreign =
            json_object_get(f->object, "foreign") ? boolean_or(f, "foreign", false) : -1;
        break;
    default:
        e->rb_backoff.rb = rb, e->rb_backoff.i = i;
        e->rb_backoff.ns = natural(f, "ns");
        break;
    }
}

static void body(struct fields *f, struct trace_event *e)
{
    switch (e->type) {
    case TRACE_RUN: header(f, e); break;
    case TRACE_END:
        e->end.reason = text(f, "reason");
        e->end.events = natural_or(f, "events", 0);
        e->end.drops = natural_or(f, "drops", 0);
        break;
    case TRACE_PHASE: e->phase.name = text(f, "name"); break;
    case TRACE_CAUSE:
        e->cause.id = count(f, "id");
        e->cause.kind = text(f, "kind");
        e->cause.who = text_or(f, "who", "");
        e->cause.detail = text_or(f, "detail", "");
        break;
    case TRACE_FAULT:
    case TRACE_HEAL:
        e->fault.id = count(f, "id");
        e->fault.kind = text_or(f, "kind", "");
        e->fault.target = text_or(f, "target", "");
        e->fault.peer = text_or(f, "peer", "");
        e->fault.dir = text_or(f, "dir", "");
        break;
    case TRACE_M_START:
        e->m_start.id = text(f, "id");
        e->m_start.topics = texts(f, "topics", &e->m_start.topic_count);
        e->m_start.strategy = text_or(f, "strategy", "");
        e->m_start.mode = text_or(f, "mode", "");
        e->m_start.is_observed = boolean_or(f, "observed", false);
        e->m_start.streams = (int32_t)(natural_or(f, "streams", 0) & INT32_MAX);
        break;
    case TRACE_M_EXIT:
        e->m_exit.is_clean = boolean(f, "clean");
        e->m_exit.code = (int)number_or(f, "code", 0);
        break;
    case TRACE_SUSPEND:
    case TRACE_RESUME: break;
    case TRACE_PRODUCE:
    case TRACE_DELIVER: messages(f, e); break;
    case TRACE_ZK_SESSION:
        e->zk_session.what = text(f, "what");
        e->zk_session.session = hex(f, "sid");
        e->zk_session.server = text_or(f, "server", "");
        break;
    case TRACE_ZK_TXN: txn(f, e); break;
    case TRACE_ZK_ROLE:
        e->zk_role.server = text(f, "server");
        e->zk_role.role = text(f, "role");
        e->zk_role.epoch = (uint32_t)natural_or(f, "epoch", 0);
        break;
    case TRACE_ZK_STATE:
        e->zk_state.state = text(f, "state");
        e->zk_state.server = text_or(f, "server", "");
        break;
    case TRACE_ZK_WATCH:
        e->zk_watch.path = text(f, "path");
        e->zk_watch.type = text(f, "type");
        e->zk_watch.zxid_seen = number_or(f, "zxid_seen", 0);
        e->zk_watch.sent_ns = natural_or(f, "sent", 0);
        break;
    case TRACE_ZK_OP: operation(f, e); break;
    case TRACE_RB_TRIGGER:
        e->rb_trigger.why = text(f, "why");
        e->rb_trigger.cause = (uint32_t)natural_or(f, "cause", 0);
        break;
    case TRACE_RB_BEGIN: e->rb_begin.rb = count(f, "rb"); break;
    case TRACE_VIEW: view(f, e); break;
    case TRACE_RB_TRY:
    case TRACE_DECIDE:
    case TRACE_CLAIM:
    case TRACE_RELEASE:
    case TRACE_RB_BACKOFF: attempt_event(f, e); break;
    case TRACE_RB_TRY_END: try_end(f, e); break;
    case TRACE_RB_END:
        e->rb_end.rb = count(f, "rb");
        e->rb_end.ok = boolean(f, "ok");
        e->rb_end.tries = (uint32_t)natural_or(f, "tries", 0);
        e->rb_end.gave_up = boolean_or(f, "gave_up", false);
        e->rb_end.told_app = boolean_or(f, "told_app", false);
        break;
    case TRACE_OWN_BEGIN:
    case TRACE_OWN_END:
        e->own.p = partition(f);
        e->own.offset = e->type == TRACE_OWN_BEGIN ? number_or(f, "o", -1) : -1;
        e->own.why = text_or(f, "why", "");
        e->own.claim = natural_or(f, "claim", 0);
        break;
    case TRACE_FETCH_START:
    case TRACE_FETCH_STOP: fetch(f, e); break;
    case TRACE_OFFSET_READ:
    case TRACE_COMMIT: offset(f, e); break;
    case TRACE_PROCESSED:
        e->processed.p = partition(f);
        e->processed.offset = number(f, "o");
        e->processed.claim = natural_or(f, "claim", 0);
        break;
    case TRACE_LEASE:
        e->lease.session = hex(f, "sid");
        e->lease.until_ns = natural_or(f, "until", 0);
        break;
    case TRACE_VOID:
        e->voided.p = partition(f);
        e->voided.offset = number(f, "o");
        e->voided.claim = natural_or(f, "claim", 0);
        break;
    case TRACE_STORE:
        e->store.p = partition(f);
        e->store.offset = number(f, "o");
        e->store.previous = number_or(f, "prev", -1);
        e->store.session = hex(f, "sid");
        e->store.sent_ns = natural_or(f, "sent", 0);
        e->store.is_awaited = boolean(f, "awaited");
        break;
    case TRACE_MOVED:
        e->moved.p = partition(f);
        e->moved.offset = number(f, "o");
        break;
    case TRACE_SAMPLE:
        e->sample.role = text_or(f, "role", "");
        e->sample.watches = natural_or(f, "watches", 0);
        e->sample.queue = natural_or(f, "q", 0);
        ops(f, e->sample.ops);
        break;
    case TRACE_VIOL: violation(f, e); break;
    }
}

/* Events that are nothing without the member that they are about. */
static bool needs_member(enum trace_type type)
{
    switch (type) {
    case TRACE_RUN:
    case TRACE_END:
    case TRACE_PHASE:
    case TRACE_CAUSE:
    case TRACE_FAULT:
    case TRACE_HEAL:
    case TRACE_PRODUCE:
    case TRACE_ZK_SESSION:
    case TRACE_ZK_TXN:
    case TRACE_ZK_ROLE:
    case TRACE_SAMPLE:
    case TRACE_VIOL: return false;
    default: return true;
    }
}

static int type_of(const char *name)
{
    int i = 0;
    while (i < TRACE_TYPE_COUNT && strcmp(name, trace_type_name((enum trace_type)i)) != 0)
        i++;
    return i;
}

enum trace_line trace_decode(struct trace_decoder *d, struct bytes line, struct trace_event *out,
                             struct why *why)
{
    json_decref(d->line);
    arena_clear(&d->arena);
    why_clear(why);
    *out = (struct trace_event){.src = ""};
    json_error_t error;
    d->line = json_loadb((const char *)line.data, line.len, 0, &error);
    if (!json_is_object(d->line)) {
        why_set(why, "expected one JSON object: %s",
                d->line ? "it is another value" : why_quote(bytes_of_text(error.text)).text);
        return TRACE_LINE_BROKEN;
    }
    struct fields f = {.object = d->line, .arena = &d->arena, .event = "event", .why = why};
    const char *name = text(&f, "ev");
    int type = type_of(name);
    f.event = type < TRACE_TYPE_COUNT ? name : "event";
    out->t_ns = natural(&f, "t");
    out->src = text(&f, "src");
    out->seq = natural(&f, "seq");
    out->gs = natural_or(&f, "gs", UINT64_MAX);
    out->m = text_or(&f, "m", NULL);
    if (f.failed)
        return TRACE_LINE_BROKEN;
    if (type == TRACE_TYPE_COUNT)
        return TRACE_LINE_UNKNOWN;
    out->type = (enum trace_type)type;
    if (!out->m && needs_member(out->type))
        fail(&f, "m", "the name of a member");
    body(&f, out);
    return f.failed ? TRACE_LINE_BROKEN : TRACE_LINE_EVENT;
}
