/* The round-robin rule of 0.8.2, which deals all partitions of all topics in turn. Source: 0.8.2
 * RoundRobinAssignor (KAFKA-687), TopicAndPartition.toString.
 *
 * It asks that every topic of the group has the same set of thread ids: that all members subscribe
 * to the same topics, each with one stream count for all of them. assign.h checks it. */
#ifndef ZKC_ASSIGN_ROUNDROBIN_H
#define ZKC_ASSIGN_ROUNDROBIN_H

#include <stddef.h>
#include <stdint.h>

struct assign_deal {
    const char *topic;
    uint32_t topic_index; /* the caller's */
    int32_t partition;
    int32_t hash; /* set by assign_roundrobin_order() */
};

/* Puts the partitions into the order of dealing: by the signed Java hash of "[topic,partition]".
 * Ties go by name, then by number: in Kafka they keep the order of a hash map, which differs
 * between members. The partition at position j goes to the (j % thread_count)-th of the sorted
 * thread ids. */
void assign_roundrobin_order(struct assign_deal *deals, size_t count);

#endif
