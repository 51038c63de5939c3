#include "study/run/measure.h"
#include "zkconsumer/core/zk/op.h"
#include <string.h>

static bool is_read(enum trace_op op)
{
    return op == TRACE_OP_EXISTS || op == TRACE_OP_GET || op == TRACE_OP_CHILDREN ||
           op == TRACE_OP_SYNC;
}

static void take_op(struct measures *m, const struct trace_event *e)
{
    m->watches += e->zk_op.has_watch;
    if (is_read(e->zk_op.op)) {
        m->reads++;
        return;
    }
    m->writes++;
    m->commits += strstr(e->zk_op.path, "/offsets") != NULL; /* parents that are missing, too */
}

static void take_try_end(struct measures *m, const struct trace_event *e)
{
    uint64_t ns = e->rb_try_end.read_ns + e->rb_try_end.stop_ns + e->rb_try_end.commit_ns +
                  e->rb_try_end.release_ns + e->rb_try_end.claim_ns;
    m->attempt_ns += ns;
    if (e->rb_try_end.ok)
        return;
    m->failed++;
    m->failed_ns += ns;
    if (e->rb_try_end.i + 1 > m->rounds_lost)
        m->rounds_lost = e->rb_try_end.i + 1;
}

void measure_take(const struct trace_event *e, void *measure)
{
    struct measure *x = measure;
    struct measures *m = &x->sum;
    if (e->t_ns < x->from_ns)
        return;
    switch (e->type) {
    case TRACE_CAUSE:
        m->causes++;
        m->first_cause_ns = m->first_cause_ns ? m->first_cause_ns : e->t_ns;
        m->last_cause_ns = e->t_ns;
        break;
    case TRACE_RB_BEGIN: m->rebalances++; break;
    case TRACE_RB_TRY: m->attempts++; break;
    case TRACE_RB_TRY_END: take_try_end(m, e); break;
    case TRACE_CLAIM: m->conflicts += strcmp(e->claim.rc, "exists") == 0; break;
    case TRACE_ZK_OP: take_op(m, e); break;
    case TRACE_ZK_WATCH: m->notifications++; break;
    default: break;
    }
}
