/* zookeeper.fence, and operations that belong to one session. */
#include "zkconsumer/core/group/zk_compat_parts.h"
#include <assert.h>

static bool has_lease(const struct zk_compat *m)
{
    return m->config.switches.fence != ZK_FENCE_NONE;
}

void compat_fence_connected(struct zk_compat *m, const struct group_input *in)
{
    if (has_lease(m))
        lease_connected(&m->lease, m->now_ms, in->connected.timeout_ms,
                        in->connected.connect_sent_ms, in->connected.is_new || m->lease.is_over);
}

void compat_fence_disconnected(struct zk_compat *m)
{
    lease_disconnected(&m->lease);
}

void compat_fence_answer(struct zk_compat *m, const struct group_input *in)
{
    if (in->result.seq != m->probe_seq)
        return; /* of a chain that was broken off */
    if (lease_is_answer(in->result.result->zk_rc))
        lease_answered(&m->lease, m->now_ms);
    else
        lease_unanswered(&m->lease, m->now_ms + GROUP_RESEND_MS);
}

/* Any write that a leader answers will do; the own id node is the one that says most to whoever
 * reads along. */
static void probe(struct zk_compat *m, struct group_outputs *out)
{
    m->probe = (struct zk_op){.type = ZK_OP_CHECK, .path = m->id_path, .version = ZK_ANY_VERSION};
    struct group_output *o = group_emit(out, GROUP_OUT_OP);
    o->op.lane = GROUP_LANE_SAFE;
    o->op.seq = ++m->probe_seq;
    o->op.op = (struct zk_op){.type = ZK_OP_MULTI, .parts = &m->probe, .part_count = 1};
    lease_sent(&m->lease, m->now_ms);
}

void compat_fence_run(struct zk_compat *m, struct group_outputs *out)
{
    if (!has_lease(m) || m->state == CLOSED)
        return;
    if (m->connected && lease_is_due(&m->lease, m->now_ms))
        probe(m, out);
    int64_t end_ms = lease_end_ms(&m->lease);
    if (end_ms == m->lease_told_ms && m->lease_session == m->session_id)
        return;
    m->lease_told_ms = end_ms;
    m->lease_session = m->session_id;
    struct group_output *o = group_emit(out, GROUP_OUT_LEASE);
    o->lease.session_id = m->session_id;
    o->lease.end_ms = end_ms;
}

int64_t compat_fence_deadline_ms(const struct zk_compat *m)
{
    return has_lease(m) && m->connected ? lease_deadline_ms(&m->lease) : INT64_MAX;
}
