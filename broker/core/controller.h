/* What a controller decides about a partition's state node, as a pure function of what it knows.
 * Source: kafka.controller.PartitionLeaderSelector, PartitionStateMachine (0.8.2), for partitions
 * whose data lies with one broker. */
#ifndef ZKC_BROKER_CONTROLLER_H
#define ZKC_BROKER_CONTROLLER_H

#include "broker/core/cluster_view.h"

struct controller_decision {
    bool writes; /* false: the node is as it should be, or nothing can be decided */
    int32_t leader;
    int32_t leader_epoch;
    int32_t isr[1];
    size_t isr_count;
    bool keeps_isr; /* isr as it is in the node */
};

/* New partition (no node): the first live assigned replica leads, alone in the ISR; none alive:
 * wait. Leader alive: as it is. Leader gone: the first live one in the ISR leads, alone in it; with
 * an empty ISR, the first live replica assigned (0.8.2 elects so, "unclean"; nobody else has the
 * data when one is assigned). None: leader -1; the ISR is emptied when one replica is assigned, as
 * 0.8.2 writes it, and kept otherwise, so that whoever has the data is known. leader_epoch rises by
 * one with each write but the first. */
struct controller_decision controller_decide(const struct cluster_view *v,
                                             const struct view_partition *p);

#endif
