#include "study/sim/story.h"
#include <inttypes.h>
#include <stdarg.h>

#define STORY_BYTES_MAX (64 * 1024 * 1024)

void story_init(struct story *s, enum story_detail detail, size_t lines_max)
{
    *s = (struct story){.detail = detail, .lines_max = lines_max};
    buf_init(&s->text, STORY_BYTES_MAX);
}

void story_deinit(struct story *s)
{
    buf_deinit(&s->text);
}

const char *story_text(struct story *s)
{
    const char *text = buf_text(&s->text);
    return text ? text : "";
}

static void line(struct story *s, const struct trace_event *e, const char *fmt, ...)
    ZKC_PRINTF(3, 4);
static void line(struct story *s, const struct trace_event *e, const char *fmt, ...)
{
    va_list args;
    if (s->lines_max && s->lines >= s->lines_max) {
        s->left_out++;
        return;
    }
    s->lines++;
    uint64_t us = (e->t_ns + 500) / 1000;
    buf_appendf(&s->text, "[%6" PRIu64 ".%03" PRIu64 "] %-4s ", us / 1000000, us / 1000 % 1000,
                e->m ? e->m : e->src);
    va_start(args, fmt);
    buf_vappendf(&s->text, fmt, args);
    va_end(args);
    buf_append_byte(&s->text, '\n');
}

static void decide(struct story *s, const struct trace_event *e)
{
    struct buf b;
    buf_init(&b, 4096);
    for (size_t i = 0, n; i < e->decide.count; i += n) {
        const struct topic_partition *p = &e->decide.want[i];
        n = topic_partition_run(p, e->decide.count - i);
        buf_appendf(&b, " %s/%d", p->topic, p->partition);
        if (n > 1)
            buf_appendf(&b, "-%d", p[n - 1].partition);
    }
    line(s, e, "wants%s", e->decide.count ? buf_text(&b) ? buf_text(&b) : " ..." : " nothing");
    buf_deinit(&b);
}

static void txn(struct story *s, const struct trace_event *e)
{
    const struct trace_txn *x = &e->zk_txn;
    if (s->detail == STORY_SHORT || x->class_of == TRACE_CLASS_OFFSET || !x->path[0])
        return;
    line(s, e, "%s %s (zxid %" PRIx64 ")", x->what, x->path, (uint64_t)x->zxid);
}

static void fault(struct story *s, const struct trace_event *e)
{
    bool is_link = e->fault.dir[0];
    line(s, e, "%s %s %s%s%s%s%s", e->type == TRACE_FAULT ? "fault:" : "healed:", e->fault.kind,
         e->fault.target, is_link ? " - " : "", is_link ? e->fault.peer : "", is_link ? " " : "",
         e->fault.dir);
}

static void detail(struct story *s, const struct trace_event *e)
{
    switch (e->type) {
    case TRACE_VIEW:
        line(s, e, "sees %zu members, %zu partitions", e->view.member_count,
             e->view.partition_count);
        break;
    case TRACE_DECIDE: decide(s, e); break;
    case TRACE_RELEASE:
        line(s, e, "releases %s/%d: %s%s", e->release.p.topic, e->release.p.partition,
             e->release.rc, e->release.foreign > 0 ? ", another's" : "");
        break;
    case TRACE_OFFSET_READ:
        line(s, e, "reads offset %" PRId64 " of %s/%d", e->offset.offset, e->offset.p.topic,
             e->offset.p.partition);
        break;
    case TRACE_STORE:
        line(s, e, "has %" PRId64 " of %s/%d stored in Kafka, sent at %.6f s%s", e->store.offset,
             e->store.p.topic, e->store.p.partition, (double)e->store.sent_ns / 1e9,
             e->store.is_awaited ? "" : ", given up since");
        break;
    case TRACE_DELIVER:
        line(s, e, "takes %s/%d %" PRId64 "..%" PRId64, e->deliver.p.topic, e->deliver.p.partition,
             e->deliver.first, e->deliver.last);
        break;
    case TRACE_ZK_WATCH: line(s, e, "%s %s", e->zk_watch.type, e->zk_watch.path); break;
    case TRACE_ZK_TXN: txn(s, e); break;
    default: break;
    }
}

void story_take(const struct trace_event *e, void *story)
{
    struct story *s = story;
    switch (e->type) {
    case TRACE_CAUSE:
        line(s, e, "cause %u: %s %s%s%s", e->cause.id, e->cause.kind, e->cause.who,
             e->cause.who[0] ? " " : "", e->cause.detail);
        break;
    case TRACE_FAULT:
    case TRACE_HEAL: fault(s, e); break;
    case TRACE_M_START: line(s, e, "starts as %s", e->m_start.id); break;
    case TRACE_M_EXIT: line(s, e, e->m_exit.is_clean ? "has left" : "is dead"); break;
    case TRACE_SUSPEND: line(s, e, "stands still"); break;
    case TRACE_RESUME: line(s, e, "goes on"); break;
    case TRACE_ZK_SESSION:
        line(s, e, "session %" PRIx64 " %s", e->zk_session.session, e->zk_session.what);
        break;
    case TRACE_ZK_STATE:
        line(s, e, "%s%s%s", e->zk_state.state, e->zk_state.server[0] ? " to " : "",
             e->zk_state.server);
        break;
    case TRACE_ZK_ROLE: line(s, e, "is %s, epoch %u", e->zk_role.role, e->zk_role.epoch); break;
    case TRACE_RB_BEGIN: line(s, e, "rebalance %u", e->rb_begin.rb); break;
    case TRACE_RB_TRY_END:
        if (!e->rb_try_end.ok)
            line(s, e, "attempt %u fails: %s", e->rb_try_end.i, e->rb_try_end.why);
        break;
    case TRACE_RB_END:
        line(s, e, "rebalance %u %s after %u", e->rb_end.rb,
             e->rb_end.ok        ? "done"
             : e->rb_end.gave_up ? "given up"
                                 : "ended",
             e->rb_end.tries);
        break;
    case TRACE_CLAIM:
        if (strcmp(e->claim.rc, "ok") != 0)
            line(s, e, "cannot claim %s/%d: %s%s", e->claim.p.topic, e->claim.p.partition,
                 e->claim.holder ? "held by " : e->claim.rc,
                 e->claim.holder ? e->claim.holder : "");
        else if (s->detail == STORY_LONG)
            line(s, e, "claims %s/%d", e->claim.p.topic, e->claim.p.partition);
        break;
    case TRACE_COMMIT:
        if (s->detail == STORY_LONG || strcmp(e->offset.rc, "ok") != 0 ||
            e->offset.offset < e->offset.previous)
            line(s, e, "commits %" PRId64 " of %s/%d: %s", e->offset.offset, e->offset.p.topic,
                 e->offset.p.partition, e->offset.rc);
        break;
    case TRACE_OWN_BEGIN:
        line(s, e, "owns %s/%d from %" PRId64, e->own.p.topic, e->own.p.partition, e->own.offset);
        break;
    case TRACE_OWN_END:
        line(s, e, "gives up %s/%d (%s)", e->own.p.topic, e->own.p.partition, e->own.why);
        break;
    case TRACE_VIOL: line(s, e, "VIOLATION of %s: %s", e->viol.invariant, e->viol.detail); break;
    default:
        if (s->detail == STORY_LONG)
            detail(s, e);
        break;
    }
}
