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
    if (is_read(e->zk_op.op)) {
        m->reads++;
        return;
    }
    m->writes++;
    m->commits += strstr(e->zk_op.path, "/offsets") != NULL; /* parents that are missing, too */
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
    case TRACE_RB_TRY_END: m->failed += !e->rb_try_end.ok; break;
    case TRACE_CLAIM: m->conflicts += strcmp(e->claim.rc, "exists") == 0; break;
    case TRACE_ZK_OP: take_op(m, e); break;
    case TRACE_ZK_WATCH: m->notifications++; break;
    default: break;
    }
}

struct predicted predict(const struct measures *m, uint64_t n, uint64_t partitions, uint64_t topics,
                         uint64_t brokers, bool is_join)
{
    double members = (double)n, p = (double)partitions, t = (double)topics, b = (double)brokers;
    double told = is_join ? members - 1 : members, busy = partitions < n ? p : members;
    double share = n ? p / members : 0, failed = (double)m->failed;
    struct predicted x = {.is_known = m->causes == 1 && n > 0};
    x.notifications = told;
    x.rebalances = members;
    /* A successful attempt of each, then what told them, and failed attempts. */
    x.reads = members * (2 * (b + 1) + members + t + 4) + busy * (b + 1) + p;
    x.reads += 2 * told + (is_join ? t + 2 : 0);
    x.reads += failed * (2 * (b + 1) + members + t + share + 4) + (double)m->conflicts;
    /* Releases of what was owned, claims, the registration; commits as measured. */
    x.writes = (is_join ? p : p * members / (members + 1)) + p + (is_join ? 1 : 0);
    x.writes += 2 * failed * share - (double)m->conflicts + (double)m->commits;
    return x;
}
