/* A group as ZooKeeper and the brokers show it at one moment: values, for the check and for
 * printing. Everything in it lives in the arena of whoever reads it (group_read.h). */
#ifndef ZKC_CLI_GROUP_VIEW_H
#define ZKC_CLI_GROUP_VIEW_H

#include "zkconsumer/core/assign/assign.h"
#include "zkconsumer/core/zk/registration.h"

#define GROUP_UNKNOWN (-1) /* an offset that is not there or could not be read */

/* A node under /consumers/<g>/ids. */
struct group_member {
    const char *consumer_id;
    int64_t session; /* that holds the node; 0: nobody's, the node is persistent */
    const char *odd; /* NULL: understood. Else why not; it is left out of the assignment */
    /* The assignment strategies that it declares to know, "ceil,range"; NULL: it declares none, as
     * members in compat and Kafka's do. Members in safe mode always do. */
    const char *strategy;
    const char *breaks; /* NULL; else why Java members fail on it, every rebalance of theirs */
    enum zk_pattern pattern;
    const struct assign_subscription *subscriptions; /* of a filter: its expression as the topic */
    size_t subscription_count;
    /* What it consumes: the subscriptions, or, of a filter, the topics that it allows now. */
    const struct assign_subscription *topics;
    size_t topic_count;
    const char *filter_odd; /* NULL; else why its filter cannot be evaluated here */
};

struct group_partition {
    int32_t partition;
    bool exists;            /* in /brokers/topics/<t> */
    int64_t offset;         /* committed */
    const char *offset_odd; /* NULL; else why the data of the offset node is no offset */
    bool is_stored;         /* it is what Kafka keeps (group_stored.h), and this is the node's: */
    int64_t znode_offset;
    const char
        *stored_missing; /* NULL; else why what Kafka keeps is not known; offset is neither */
    int32_t leader;      /* broker id; -1: none, or not known */
    int64_t log_end;
    const char *end_missing; /* NULL; else why log_end is not known */
    const char *owner;       /* data of the owner node, a thread id; NULL: there is no node */
    int64_t owner_session;   /* that holds it; 0: the node is persistent */
    int32_t owner_version;   /* of its data: 1 of a claim in safe mode, 0 of any other */
};

/* A topic that a member subscribes to, or of which the group has offsets or owners. */
struct group_topic {
    const char *name;
    bool exists;                        /* in /brokers/topics */
    struct group_partition *partitions; /* ascending */
    size_t partition_count;
    bool has_owners; /* there is a folder for its owners, maybe empty */
};

struct group_view {
    const char *group;
    bool exists;                  /* /consumers/<g> is there */
    struct group_member *members; /* by consumer id, in byte order */
    size_t member_count;
    struct group_topic *topics; /* by name, in byte order */
    size_t topic_count;
};

#endif
