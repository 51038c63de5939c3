/* One attempt of a rebalance by the old rules: read, stop, commit, release, read again, read
 * offsets, claim. What is done in which order is the variant's (ORDERS in attempt.c):
 *
 *   0.8         ZookeeperConsumerConnector.ZKRebalancerListener.rebalance of Kafka 0.8.2
 *   0.7         the same of Kafka 0.7.2, on 0.8's znodes: members are read before the release
 *   documented  the published algorithm (NetDB 2011, Kafka's design page): release, read, claim,
 *               offset
 *
 * The happy path ends with every assigned partition claimed. A claim that finds another's node is a
 * conflict: the rest is tried all the same, then what was claimed is given back and the attempt has
 * failed. Any other surprise (a member's node that vanished or cannot be read, an offset that is no
 * number) fails the attempt where it stands, as an exception does in Java.
 *
 * zk_switches.h changes single steps of it. */
#ifndef ZKC_GROUP_ATTEMPT_H
#define ZKC_GROUP_ATTEMPT_H

#include "zkconsumer/core/assign/assign.h"
#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/group/broker_scan.h"
#include "zkconsumer/core/group/creator.h"
#include "zkconsumer/core/group/offset_committer.h"
#include "zkconsumer/core/group/output.h"
#include "zkconsumer/core/group/topic_book.h"
#include "zkconsumer/core/group/zk_switches.h"
#include "zkconsumer/core/zk/filter.h"
#include "zkconsumer/core/zk/registration.h"
#include "zkconsumer/core/zk/topic.h"

enum zk_variant { ZK_VARIANT_0_8, ZK_VARIANT_0_7, ZK_VARIANT_DOCUMENTED };
#define ZK_VARIANT_COUNT 3

/* Members of a group that are dealt with; more fail the attempt. */
#define GROUP_MEMBERS_MAX 100000

/* Claims in one transaction. */
#define CLAIM_PARTS_MAX 100

/* What does not change in a member's life, but for the session; all borrowed. */
struct attempt_config {
    enum zk_variant variant;
    enum assign_strategy strategy;
    bool exclude_internal_topics;
    const char *group;
    const char *consumer_id;
    const char *ids_path;
    const char *id_path;
    const struct zk_subscription
        *subscriptions; /* sorted by topic; of a filter one: its expression */
    size_t subscription_count;
    const struct zk_filter *filter; /* NULL: fixed topics */
    bool offsets_in_kafka;          /* offsets are fetched through the offset manager */
    bool offsets_in_both;           /* ... and read from ZooKeeper as well: the larger one counts */
    struct topic_book *book;        /* has the fixed topics; those that a filter allows are added */
    struct zk_switches switches;
    int64_t session_id; /* that lives now; 0: none */
};

/* A topic of ours, in this attempt. */
struct attempt_topic {
    const char *name; /* the book's */
    uint32_t number;  /* in the book */
    int32_t streams;
    struct zk_topic data;
};

/* What the decision takes of a member's registration, and no more: a large group's members hold
 * this of each other all at the same time. In the attempt's arena. */
struct attempt_member {
    const char *consumer_id;
    struct assign_subscription *topics; /* what it consumes, filters expanded */
    size_t topic_count;
};

/* The view in the form of its output and of the assignment; lives as long as the attempt. */
struct attempt_view {
    struct group_view_member *members;
    struct group_view_topic *topics;
    int32_t *partitions;
    struct assign_member *assign_members;
    struct assign_topic *assign_topics;
};

struct attempt {
    const struct attempt_config *config;
    uint32_t rebalance; /* for the outputs */
    uint32_t number;
    bool watch_brokers; /* a listener is on /brokers/ids */
    bool watch_topics;  /* one is on /brokers/topics */
    size_t phase;       /* index in the variant's order */
    size_t i;           /* item of the phase */
    char *path;         /* of the operation under way */
    char *thread_id;    /* of the claim under way */
    char **names;       /* children of ids, in the server's order; in the arena */
    size_t name_count;
    struct broker_scan brokers;
    struct attempt_member *members; /* of the view */
    size_t member_count;
    bool expanding; /* the topics for a filter are being listed: the last member's, or our own */
    struct attempt_topic *topics; /* ours, sorted by name; NULL: not known yet */
    size_t topic_count;
    struct arena arena;               /* behind names and members */
    struct zk_registration filtering; /* of the member for whose filter they are listed */
    struct attempt_view view;
    const struct group_claim *release; /* what to give back, by topic; borrowed */
    size_t release_count;
    size_t released;            /* those at the front whose topics have been given back whole */
    struct group_claim *claims; /* decided */
    size_t claim_count;
    enum claim_state {
        CLAIM_OPEN,
        CLAIM_WON,       /* created in this attempt */
        CLAIM_CONTESTED, /* a watch is on another's node (zookeeper.watch.owners) */
    } *
        states;        /* of claims[k] */
    int32_t *versions; /* of the offset of claims[k] as read; OFFSET_NO_NODE; OFFSET_NOT_READ */
    size_t conflicts;
    bool is_conflict; /* it fails for conflicts alone */
    bool is_shutdown; /* it fails because the member is shutting down */
    struct {
        bool came; /* attempt_fetched() was called */
        bool given_up;
    } fetched;
    enum { CLAIM_CREATING, CLAIM_READING, CLAIM_UNDOING, CLAIM_MULTI, CLAIM_PARENT } claiming;
    enum { DELETE_ANY, DELETE_LOOKING, DELETE_OURS } deleting; /* of release and undo */
    struct creator creator;
    struct arena multi;  /* behind the parts of the transaction under way */
    struct zk_op *parts; /* in it */
    size_t *part_claims; /* in it: numbers of their claims */
    size_t part_count;
    size_t parents_made;
    struct why why; /* why it failed */
};

enum attempt_step {
    ATTEMPT_SEND,        /* send op */
    ATTEMPT_STOP,        /* stop fetchers, feed positions, then attempt_next(NULL) */
    ATTEMPT_COMMIT,      /* commit the positions of what is owned, then attempt_next(NULL) */
    ATTEMPT_FETCH,       /* fetch the offsets of a->claims from Kafka, then attempt_fetched() */
    ATTEMPT_FETCH_AGAIN, /* the same after a pause: what ZooKeeper has stored could not be read */
    ATTEMPT_RELEASED,    /* forget the owned set, then attempt_next(NULL) */
    ATTEMPT_DONE,        /* all claimed: a->claims */
    ATTEMPT_NO_BROKERS,  /* nothing is registered: leave everything as it is, watch /brokers/ids */
    ATTEMPT_FAILED,      /* a->why */
    ATTEMPT_NEXT_PHASE,  /* never returned */
};

/* Which attempt it is, and what is listened to: reads of that leave a watch, as zkclient's do. */
struct attempt_start {
    uint32_t rebalance; /* for the outputs */
    uint32_t number;
    bool watch_brokers, watch_topics;
};

/* Starts an attempt. `owned` is what is owned now and must stay until ATTEMPT_RELEASED. The first
 * step is attempt_next(a, NULL, ...). The struct must be zero before the first use. */
void attempt_begin(struct attempt *a, const struct attempt_config *config,
                   const struct attempt_start *start, const struct group_claim *owned,
                   size_t owned_count);

/* `leaving`: the member is shutting down: the attempt fails once it has read the offsets. */
enum attempt_step attempt_next(struct attempt *a, const struct zk_result *answer, bool leaving,
                               struct zk_op *op, struct group_outputs *out);

/* What Kafka has stored of a->claims, sorted by topic and partition; NULL: it was given up, because
 * the member is shutting down. Then attempt_next(a, NULL, ...). */
void attempt_fetched(struct attempt *a, const struct group_offset *list, size_t count);

/* The session that owned what was to be given back has ended: those nodes are gone, and may be
 * others' by now. 0.8.2 clears the live set that the release goes through (ZKSessionExpireListener
 * calls resetState() before it registers again), so nothing more is deleted but the rest of a topic
 * that has been begun. May be called at any time, also without an attempt. */
void attempt_session_ended(struct attempt *a);

/* An owner node has changed or gone: it is not waited for any more. True: it was. */
bool attempt_owner_event(struct attempt *a, const char *path);

/* True when the attempt has failed for owner nodes alone, and one that is watched stands. */
bool attempt_is_contested(const struct attempt *a);

/* Gives back the memory. The struct may be used for another attempt. */
void attempt_deinit(struct attempt *a);

#endif
