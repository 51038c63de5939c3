#include "study/trace/event_json.h"
#include "zkconsumer/core/zk/op.h"
#include <inttypes.h>

/* ---- values ---- */

/* JSON text; what is no UTF-8 (a foreign value in a znode) stands as \u00XX by byte. */
static void quoted(struct buf *b, const char *text, size_t len)
{
    buf_append_byte(b, '"');
    for (size_t i = 0; i < len; i++) {
        uint8_t c = (uint8_t)text[i];
        if (c == '"' || c == '\\') {
            buf_append_byte(b, '\\');
            buf_append_byte(b, c);
        } else if (c < 0x20 || c >= 0x7f) {
            buf_appendf(b, "\\u%04x", c);
        } else {
            buf_append_byte(b, c);
        }
    }
    buf_append_byte(b, '"');
}

static void key(struct buf *b, const char *name)
{
    buf_appendf(b, ",\"%s\":", name);
}

static void text(struct buf *b, const char *name, const char *value)
{
    key(b, name);
    quoted(b, value, strlen(value));
}

static void text_if(struct buf *b, const char *name, const char *value)
{
    if (value && *value)
        text(b, name, value);
}

static void number(struct buf *b, const char *name, int64_t value)
{
    buf_appendf(b, ",\"%s\":%" PRId64, name, value);
}

static void natural(struct buf *b, const char *name, uint64_t value)
{
    buf_appendf(b, ",\"%s\":%" PRIu64, name, value);
}

static void number_if(struct buf *b, const char *name, int64_t value, int64_t unknown)
{
    if (value != unknown)
        number(b, name, value);
}

static void hex(struct buf *b, const char *name, uint64_t value)
{
    buf_appendf(b, ",\"%s\":\"%" PRIx64 "\"", name, value);
}

static void boolean(struct buf *b, const char *name, bool value)
{
    buf_appendf(b, ",\"%s\":%s", name, value ? "true" : "false");
}

static void texts(struct buf *b, const char *name, const char *const *list, size_t count)
{
    key(b, name);
    buf_append_byte(b, '[');
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_append_byte(b, ',');
        quoted(b, list[i], strlen(list[i]));
    }
    buf_append_byte(b, ']');
}

static void partition(struct buf *b, struct topic_partition p)
{
    buf_appendf(b, ",\"p\":\"%s/%d\"", p.topic, p.partition);
}

static void partitions(struct buf *b, const char *name, const struct topic_partition *ps,
                       size_t count)
{
    key(b, name);
    buf_append_byte(b, '[');
    for (size_t i = 0; i < count; i++)
        buf_appendf(b, "%s\"%s/%d\"", i ? "," : "", ps[i].topic, ps[i].partition);
    buf_append_byte(b, ']');
}

static void ranges(struct buf *b, const char *name, const struct topic_partition *ps, size_t count)
{
    key(b, name);
    buf_append_byte(b, '[');
    for (size_t i = 0, n; i < count; i += n) {
        n = topic_partition_run(ps + i, count - i);
        buf_appendf(b, "%s\"%s/%d", i ? "," : "", ps[i].topic, ps[i].partition);
        if (n > 1)
            buf_appendf(b, "-%d", ps[i + n - 1].partition);
        buf_append_byte(b, '"');
    }
    buf_append_byte(b, ']');
}

static void ops(struct buf *b, const uint64_t *counts)
{
    bool is_first = true;
    key(b, "ops");
    buf_append_byte(b, '{');
    for (int i = 0; i < TRACE_OP_COUNT; i++) {
        if (!counts[i])
            continue;
        buf_appendf(b, "%s\"%s\":%" PRIu64, is_first ? "" : ",", trace_op_name((enum trace_op)i),
                    counts[i]);
        is_first = false;
    }
    buf_append_byte(b, '}');
}

static void attempt(struct buf *b, uint32_t rb, uint32_t i)
{
    natural(b, "rb", rb);
    natural(b, "i", i);
}

/* ---- events ---- */

static void run(struct buf *b, const struct trace_event *e)
{
    text(b, "schema", "rbtrace/1");
    text(b, "mode", e->run.mode);
    text(b, "variant", e->run.variant);
    text(b, "strategy", e->run.strategy);
    for (size_t i = 0; i < e->run.switch_count; i++)
        text(b, e->run.switches[i].name, e->run.switches[i].value);
    text_if(b, "scenario", e->run.scenario);
    natural(b, "seed", e->run.seed);
    text(b, "clock", e->run.is_virtual ? "virtual" : "monotonic");
    if (e->run.is_capture || e->run.is_of_writes)
        text(b, "source", e->run.is_capture ? "capture" : e->run.is_logged ? "log" : "writes");
    number(b, "level", e->run.level);
    natural(b, "n", e->run.member_count);
    int64_t count = 0;
    key(b, "topics");
    buf_append_byte(b, '{');
    for (size_t i = 0; i < e->run.topic_count; i++) {
        count += e->run.topics[i].partitions;
        buf_appendf(b, "%s\"%s\":%d", i ? "," : "", e->run.topics[i].name,
                    e->run.topics[i].partitions);
    }
    buf_append_byte(b, '}');
    number(b, "P", count);
    key(b, "cfg");
    buf_appendf(b, "{\"zookeeper.session.timeout.ms\":%" PRId64, e->run.session_timeout_ms);
    number(b, "rebalance.backoff.ms", e->run.backoff_ms);
    natural(b, "rebalance.max.retries", e->run.attempts_max);
    number(b, "auto.commit.interval.ms", e->run.commit_interval_ms);
    buf_append_byte(b, '}');
}

static void zk_txn(struct buf *b, const struct trace_txn *x)
{
    number(b, "zxid", x->zxid);
    text(b, "what", x->what);
    text_if(b, "cls", trace_class_name(x->class_of));
    text(b, "path", x->path);
    hex(b, "sid", x->session);
    if (x->value) {
        key(b, "val");
        quoted(b, x->value, x->value_len);
    }
    if (x->ephemeral_owner)
        hex(b, "eph", x->ephemeral_owner);
    natural(b, "part", x->part);
    natural(b, "n", x->parts);
}

static void view(struct buf *b, const struct trace_event *e)
{
    attempt(b, e->view.rb, e->view.i);
    hex(b, "h", e->view.hash);
    natural(b, "nm", e->view.member_count);
    natural(b, "np", e->view.partition_count);
    number_if(b, "zx0", e->view.zxid_first, 0);
    number_if(b, "zx1", e->view.zxid_last, 0);
    if (e->view.members)
        texts(b, "mlist", e->view.members, e->view.member_count);
    if (e->view.partitions)
        partitions(b, "plist", e->view.partitions, e->view.partition_count);
}

static void try_end(struct buf *b, const struct trace_event *e)
{
    attempt(b, e->rb_try_end.rb, e->rb_try_end.i);
    boolean(b, "ok", e->rb_try_end.ok);
    text(b, "why", e->rb_try_end.why);
    ops(b, e->rb_try_end.ops);
    buf_appendf(b, ",\"bytes\":{\"in\":%" PRIu64 ",\"out\":%" PRIu64 "}", e->rb_try_end.bytes_in,
                e->rb_try_end.bytes_out);
    buf_appendf(b,
                ",\"ns\":{\"read\":%" PRIu64 ",\"stop\":%" PRIu64 ",\"commit\":%" PRIu64
                ",\"release\":%" PRIu64 ",\"claim\":%" PRIu64 "}",
                e->rb_try_end.read_ns, e->rb_try_end.stop_ns, e->rb_try_end.commit_ns,
                e->rb_try_end.release_ns, e->rb_try_end.claim_ns);
}

static void viol(struct buf *b, const struct trace_event *e)
{
    text(b, "inv", e->viol.invariant);
    text(b, "sev", e->viol.severity);
    text(b, "detail", e->viol.detail);
    key(b, "refs");
    buf_append_byte(b, '[');
    for (size_t i = 0; i < e->viol.ref_count; i++)
        buf_appendf(b, "%s%" PRIu64, i ? "," : "", e->viol.refs[i]);
    buf_append_byte(b, ']');
}

static void messages(struct buf *b, struct topic_partition p, int64_t first, int64_t last,
                     uint64_t first_ns, uint64_t last_ns, uint64_t hash)
{
    partition(b, p);
    number(b, "o0", first);
    number(b, "o1", last);
    natural(b, "t0", first_ns);
    natural(b, "t1", last_ns);
    if (hash)
        hex(b, "h", hash);
}

static void body(struct buf *b, const struct trace_event *e)
{
    switch (e->type) {
    case TRACE_RUN: run(b, e); break;
    case TRACE_END:
        text(b, "reason", e->end.reason);
        natural(b, "events", e->end.events);
        natural(b, "drops", e->end.drops);
        break;
    case TRACE_PHASE: text(b, "name", e->phase.name); break;
    case TRACE_CAUSE:
        natural(b, "id", e->cause.id);
        text(b, "kind", e->cause.kind);
        text_if(b, "who", e->cause.who);
        text_if(b, "detail", e->cause.detail);
        break;
    case TRACE_FAULT:
    case TRACE_HEAL:
        natural(b, "id", e->fault.id);
        text(b, "kind", e->fault.kind);
        text_if(b, "target", e->fault.target);
        text_if(b, "peer", e->fault.peer);
        text_if(b, "dir", e->fault.dir);
        break;
    case TRACE_M_START:
        text(b, "id", e->m_start.id);
        texts(b, "topics", e->m_start.topics, e->m_start.topic_count);
        text_if(b, "strategy", e->m_start.strategy);
        text_if(b, "mode", e->m_start.mode);
        number_if(b, "streams", e->m_start.streams, 0);
        if (e->m_start.is_observed)
            boolean(b, "observed", true);
        break;
    case TRACE_M_EXIT:
        boolean(b, "clean", e->m_exit.is_clean);
        number(b, "code", e->m_exit.code);
        break;
    case TRACE_SUSPEND:
    case TRACE_RESUME: break;
    case TRACE_PRODUCE:
        messages(b, e->produce.p, e->produce.first, e->produce.last, e->produce.first_ns,
                 e->produce.last_ns, e->produce.hash);
        break;
    case TRACE_ZK_SESSION:
        text(b, "what", e->zk_session.what);
        hex(b, "sid", e->zk_session.session);
        text_if(b, "server", e->zk_session.server);
        break;
    case TRACE_ZK_TXN: zk_txn(b, &e->zk_txn); break;
    case TRACE_ZK_ROLE:
        text(b, "server", e->zk_role.server);
        text(b, "role", e->zk_role.role);
        natural(b, "epoch", e->zk_role.epoch);
        break;
    case TRACE_ZK_STATE:
        text(b, "state", e->zk_state.state);
        text_if(b, "server", e->zk_state.server);
        break;
    case TRACE_ZK_WATCH:
        text(b, "path", e->zk_watch.path);
        text(b, "type", e->zk_watch.type);
        number_if(b, "zxid_seen", e->zk_watch.zxid_seen, 0);
        number_if(b, "sent", (int64_t)e->zk_watch.sent_ns, 0);
        break;
    case TRACE_ZK_OP:
        text(b, "op", trace_op_name(e->zk_op.op));
        text(b, "path", e->zk_op.path);
        boolean(b, "watch", e->zk_op.has_watch);
        text(b, "rc", zk_rc_name(e->zk_op.zk_rc));
        number(b, "zxid", e->zk_op.zxid);
        natural(b, "lat", e->zk_op.latency_ns);
        break;
    case TRACE_RB_TRIGGER:
        text(b, "why", e->rb_trigger.why);
        number_if(b, "cause", e->rb_trigger.cause, 0);
        break;
    case TRACE_RB_BEGIN: natural(b, "rb", e->rb_begin.rb); break;
    case TRACE_RB_TRY: attempt(b, e->rb_try.rb, e->rb_try.i); break;
    case TRACE_VIEW: view(b, e); break;
    case TRACE_DECIDE:
        attempt(b, e->decide.rb, e->decide.i);
        ranges(b, "want", e->decide.want, e->decide.count);
        break;
    case TRACE_CLAIM:
        attempt(b, e->claim.rb, e->claim.i);
        partition(b, e->claim.p);
        text(b, "rc", e->claim.rc);
        text_if(b, "holder", e->claim.holder);
        break;
    case TRACE_RELEASE:
        attempt(b, e->release.rb, e->release.i);
        partition(b, e->release.p);
        text(b, "rc", e->release.rc);
        if (e->release.foreign >= 0)
            boolean(b, "foreign", e->release.foreign);
        break;
    case TRACE_RB_TRY_END: try_end(b, e); break;
    case TRACE_RB_BACKOFF:
        attempt(b, e->rb_backoff.rb, e->rb_backoff.i);
        natural(b, "ns", e->rb_backoff.ns);
        break;
    case TRACE_RB_END:
        natural(b, "rb", e->rb_end.rb);
        boolean(b, "ok", e->rb_end.ok);
        natural(b, "tries", e->rb_end.tries);
        boolean(b, "gave_up", e->rb_end.gave_up);
        boolean(b, "told_app", e->rb_end.told_app);
        break;
    case TRACE_OWN_BEGIN:
        partition(b, e->own.p);
        number(b, "o", e->own.offset);
        break;
    case TRACE_OWN_END:
        partition(b, e->own.p);
        text(b, "why", e->own.why);
        number_if(b, "claim", (int64_t)e->own.claim, 0);
        break;
    case TRACE_FETCH_START:
    case TRACE_FETCH_STOP: partitions(b, "ps", e->fetch.ps, e->fetch.count); break;
    case TRACE_OFFSET_READ:
        partition(b, e->offset.p);
        number(b, "o", e->offset.offset);
        number_if(b, "zxid", e->offset.zxid, 0);
        break;
    case TRACE_COMMIT:
        partition(b, e->offset.p);
        number(b, "o", e->offset.offset);
        text(b, "rc", e->offset.rc);
        number(b, "prev", e->offset.previous);
        number_if(b, "applied", e->offset.zxid, 0);
        break;
    case TRACE_DELIVER:
        messages(b, e->deliver.p, e->deliver.first, e->deliver.last, e->deliver.first_ns,
                 e->deliver.last_ns, e->deliver.hash);
        break;
    case TRACE_PROCESSED:
        partition(b, e->processed.p);
        number(b, "o", e->processed.offset);
        number_if(b, "claim", (int64_t)e->processed.claim, 0);
        break;
    case TRACE_LEASE:
        hex(b, "sid", e->lease.session);
        natural(b, "until", e->lease.until_ns);
        break;
    case TRACE_VOID:
        partition(b, e->voided.p);
        number(b, "o", e->voided.offset);
        number_if(b, "claim", (int64_t)e->voided.claim, 0);
        break;
    case TRACE_STORE:
        partition(b, e->store.p);
        number(b, "o", e->store.offset);
        number_if(b, "prev", e->store.previous, -1);
        hex(b, "sid", e->store.session);
        natural(b, "sent", e->store.sent_ns);
        boolean(b, "awaited", e->store.is_awaited);
        break;
    case TRACE_MOVED:
        partition(b, e->moved.p);
        number(b, "o", e->moved.offset);
        break;
    case TRACE_SAMPLE:
        text(b, "role", e->sample.role);
        natural(b, "watches", e->sample.watches);
        natural(b, "q", e->sample.queue);
        ops(b, e->sample.ops);
        break;
    case TRACE_VIOL: viol(b, e); break;
    }
}

void trace_event_json(const struct trace_event *e, struct buf *out)
{
    buf_appendf(out, "{\"ev\":\"%s\",\"t\":%" PRIu64 ",\"src\":", trace_type_name(e->type),
                e->t_ns);
    quoted(out, e->src, strlen(e->src));
    natural(out, "seq", e->seq);
    natural(out, "gs", e->gs);
    text_if(out, "m", e->m);
    body(out, e);
    buf_append_text(out, "}\n");
}
