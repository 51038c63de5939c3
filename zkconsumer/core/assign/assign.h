/* Who owns which partition in a group of the zookeeper protocol. Every member computes this for
 * itself from the same view and comes to the same result: it depends on the values only, not on the
 * order in which members, subscriptions, topics or partitions are given. */
#ifndef ZKC_ASSIGN_ASSIGN_H
#define ZKC_ASSIGN_ASSIGN_H

#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>

enum assign_strategy {
    ASSIGN_RANGE,      /* what Kafka's code does, per topic: range.h */
    ASSIGN_CEIL,       /* what Kafka's documentation says, per topic: ceil.h */
    ASSIGN_RENDEZVOUS, /* few move when a member comes or goes, per topic: rendezvous.h */
    ASSIGN_ROUNDROBIN, /* 0.8.2's dealing over all topics: roundrobin.h */
    ASSIGN_SPREAD,     /* the same, but uneven subscriptions are not refused: spread.h */
};

/* "range", "ceil", "rendezvous", "roundrobin", the last one of two. Static. */
const char *assign_strategy_name(enum assign_strategy strategy);

struct assign_subscription {
    const char *topic;
    int32_t streams; /* threads 0 .. streams-1; at least 1 */
};

/* A registered member. A filter is already expanded: one subscription for each existing topic that
 * it allows. A member without subscriptions gets nothing and disturbs nobody. */
struct assign_member {
    const char *consumer_id;
    const struct assign_subscription *subscriptions; /* each topic at most once */
    size_t subscription_count;
};

/* A topic that exists, or is subscribed to and has no partitions. Subscriptions to topics that are
 * not listed count as topics without partitions; topics that nobody subscribes to are nobody's. */
struct assign_topic {
    const char *name;
    const int32_t *partitions; /* each once, in any order; gaps allowed */
    size_t partition_count;
};

/* Everything is borrowed for the call. Consumer ids and topic names are unique in their lists. */
struct assign_group {
    const struct assign_member *members;
    size_t member_count;
    const struct assign_topic *topics;
    size_t topic_count;
};

/* One partition and its owner: thread `thread` of members[member], whose thread id is
 * zk_thread_id(consumer_id, thread). */
struct assign_entry {
    uint32_t topic; /* index in group.topics */
    int32_t partition;
    uint32_t member; /* index in group.members */
    int32_t thread;  /* also the number of the member's stream of this topic */
};

struct assignment {
    struct assign_entry *entries; /* by topic name (byte order), then by partition */
    size_t count;
    uint32_t *by_member;    /* positions in entries: those of member 0 in order, of member 1, ... */
    uint32_t *member_first; /* member_count + 1 bounds: m has by_member[first[m] .. first[m+1]-1] */
};

/* Thread ids of a whole group (a member counts with its largest stream count), and partitions of
 * all topics that it subscribes to. */
#define ASSIGN_THREADS_MAX    1000000
#define ASSIGN_PARTITIONS_MAX 1000000

/* Rendezvous weighs pairs of a partition and a thread: P * min(n, P) of them for a topic. A topic
 * with more (8192 of both) is assigned by range, with which time does not matter. */
#define ASSIGN_PAIRS_MAX (UINT64_C(1) << 26)

/* Assigns every partition of every subscribed topic. Takes O(n log n) in the thread ids of the
 * group and in the partitions, and about O(n) in the subscriptions and their streams; rendezvous
 * also what ASSIGN_PAIRS_MAX is about. On success the caller owns *out and ends it with
 * assignment_deinit(); otherwise *out is not touched and `why` says why.
 *
 * ZKC_ERR_INVALID    roundrobin, and the sets of thread ids differ between topics: `why` names the
 *                    topics and a member (in 0.8.2 an exception that fails the attempt)
 * ZKC_ERR_TOO_LARGE  more threads or partitions than the limits
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err assign_group(enum assign_strategy strategy,
                                         const struct assign_group *group, struct assignment *out,
                                         struct why *why);

void assignment_deinit(struct assignment *assignment);

/* How many partitions a member got, and the i-th of them, by topic name and then by partition. */
size_t assignment_member_count(const struct assignment *assignment, size_t member);
const struct assign_entry *assignment_member_entry(const struct assignment *assignment,
                                                   size_t member, size_t i);

#endif
