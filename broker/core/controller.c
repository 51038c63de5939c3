#include "broker/core/controller.h"

static bool in_isr(const struct view_partition *p, int32_t broker)
{
    for (size_t i = 0; i < p->isr_count; i++)
        if (p->isr[i] == broker)
            return true;
    return false;
}

/* The first live replica in assignment order, of those in the ISR if `only_isr`; -1: none. */
static int32_t first_live(const struct cluster_view *v, const struct view_partition *p,
                          bool only_isr)
{
    for (size_t i = 0; i < p->replica_count; i++)
        if ((!only_isr || in_isr(p, p->replicas[i])) && cluster_view_lives(v, p->replicas[i]))
            return p->replicas[i];
    return -1;
}

static struct controller_decision lead(int32_t leader, int32_t leader_epoch)
{
    return (struct controller_decision){.writes = true,
                                        .leader = leader,
                                        .leader_epoch = leader_epoch,
                                        .isr = {leader},
                                        .isr_count = 1};
}

struct controller_decision controller_decide(const struct cluster_view *v,
                                             const struct view_partition *p)
{
    const struct controller_decision nothing = {.writes = false};
    if (p->node == VIEW_NODE_ABSENT) {
        int32_t leader = first_live(v, p, false);
        return leader < 0 ? nothing : lead(leader, 0);
    }
    if (p->node != VIEW_NODE_READ || cluster_view_lives(v, p->leader))
        return nothing;
    int32_t leader = first_live(v, p, p->isr_count > 0);
    if (leader >= 0)
        return lead(leader, p->leader_epoch + 1);
    if (p->leader < 0)
        return nothing;
    return (struct controller_decision){.writes = true,
                                        .leader = -1,
                                        .leader_epoch = p->leader_epoch + 1,
                                        .keeps_isr = p->replica_count > 1};
}
