#include "study/sim/tracer.h"
#include <string.h>

void tracer_init(struct tracer *t, struct kernel *k, const struct trace_sink *sinks, size_t count)
{
    *t = (struct tracer){.kernel = k, .sinks = sinks, .sink_count = count, .level = -1};
    for (size_t i = 0; i < count; i++)
        if (sinks[i].level > t->level)
            t->level = sinks[i].level;
}

struct trace_event tracer_event(const struct tracer *t, enum trace_type type, const char *m)
{
    return (struct trace_event){.type = type, .t_ns = t->kernel->now_ns, .m = m};
}

/* ---- the hash ---- */

static void add(uint64_t *h, uint64_t value)
{
    *h = mix64(*h ^ value) + 0x9e3779b97f4a7c15ull;
}

static void add_text(uint64_t *h, const char *text)
{
    uint64_t x = 1469598103934665603ull;
    for (; text && *text; text++)
        x = (x ^ (uint8_t)*text) * 1099511628211ull;
    add(h, x);
}

static void add_partition(uint64_t *h, struct topic_partition p)
{
    add_text(h, p.topic);
    add(h, (uint64_t)(int64_t)p.partition);
}

static void add_body(uint64_t *h, const struct trace_event *e)
{
    switch (e->type) {
    case TRACE_CAUSE:
        add(h, e->cause.id);
        add_text(h, e->cause.kind);
        add_text(h, e->cause.who);
        break;
    case TRACE_FAULT:
    case TRACE_HEAL:
        add(h, e->fault.id);
        add_text(h, e->fault.kind);
        add_text(h, e->fault.target);
        break;
    case TRACE_ZK_SESSION:
        add_text(h, e->zk_session.what);
        add(h, e->zk_session.session);
        break;
    case TRACE_ZK_TXN:
        add(h, (uint64_t)e->zk_txn.zxid);
        add_text(h, e->zk_txn.what);
        add_text(h, e->zk_txn.path);
        add(h, e->zk_txn.session);
        break;
    case TRACE_ZK_ROLE:
        add_text(h, e->zk_role.server);
        add_text(h, e->zk_role.role);
        add(h, e->zk_role.epoch);
        break;
    case TRACE_ZK_STATE: add_text(h, e->zk_state.state); break;
    case TRACE_ZK_WATCH:
        add_text(h, e->zk_watch.path);
        add_text(h, e->zk_watch.type);
        break;
    case TRACE_ZK_OP:
        add(h, e->zk_op.op);
        add_text(h, e->zk_op.path);
        add(h, (uint64_t)(int64_t)e->zk_op.zk_rc);
        add(h, (uint64_t)e->zk_op.zxid);
        add(h, e->zk_op.latency_ns);
        break;
    case TRACE_VIEW: add(h, e->view.hash); break;
    case TRACE_DECIDE:
        for (size_t i = 0; i < e->decide.count; i++)
            add_partition(h, e->decide.want[i]);
        break;
    case TRACE_CLAIM:
        add_partition(h, e->claim.p);
        add_text(h, e->claim.rc);
        break;
    case TRACE_RELEASE:
        add_partition(h, e->release.p);
        add_text(h, e->release.rc);
        break;
    case TRACE_RB_TRY_END:
        add(h, e->rb_try_end.ok);
        for (int i = 0; i < TRACE_OP_COUNT; i++)
            add(h, e->rb_try_end.ops[i]);
        break;
    case TRACE_OWN_BEGIN:
    case TRACE_OWN_END:
        add_partition(h, e->own.p);
        add(h, (uint64_t)e->own.offset);
        break;
    case TRACE_OFFSET_READ:
    case TRACE_COMMIT:
        add_partition(h, e->offset.p);
        add(h, (uint64_t)e->offset.offset);
        break;
    case TRACE_DELIVER:
        add_partition(h, e->deliver.p);
        add(h, (uint64_t)e->deliver.first);
        add(h, (uint64_t)e->deliver.last);
        add(h, e->deliver.first_ns);
        add(h, e->deliver.last_ns);
        break;
    case TRACE_PROCESSED:
        add_partition(h, e->processed.p);
        add(h, (uint64_t)e->processed.offset);
        break;
    case TRACE_LEASE:
        add(h, e->lease.session);
        add(h, e->lease.until_ns);
        break;
    case TRACE_VOID:
        add_partition(h, e->voided.p);
        add(h, (uint64_t)e->voided.offset);
        break;
    case TRACE_STORE:
        add_partition(h, e->store.p);
        add(h, (uint64_t)e->store.offset);
        add(h, e->store.sent_ns);
        break;
    case TRACE_MOVED:
        add_partition(h, e->moved.p);
        add(h, (uint64_t)e->moved.offset);
        break;
    default: break;
    }
}

void tracer_emit(struct tracer *t, struct trace_source *source, struct trace_event *e)
{
    int level = trace_type_level(e->type);
    if (e->type == TRACE_ZK_TXN && e->zk_txn.class_of == TRACE_CLASS_OFFSET)
        level = 1;
    if (e->type == TRACE_ZK_TXN && strcmp(e->zk_txn.what, "error") == 0)
        level = 2;
    e->gs = t->gs++;
    e->seq = source->seq++;
    e->src = source->name;
    add(&t->hash, e->t_ns);
    add(&t->hash, (uint64_t)e->type);
    add_text(&t->hash, e->src);
    add_body(&t->hash, e);
    for (size_t i = 0; i < t->sink_count; i++)
        if (level <= t->sinks[i].level)
            t->sinks[i].emit(e, t->sinks[i].user);
}
