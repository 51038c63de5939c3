/* Finds the leaders of partitions, as 0.8.2's leader-finder thread does (ConsumerFetcherManager
 * .LeaderFinderThread): while any partition needs a leader, read the brokers from ZooKeeper, ask
 * them for metadata in random order until one answers (each once), hand over what has a leader,
 * pause refresh.leader.backoff.ms. Error codes of the metadata answer do not matter, only leaders
 * do. */
#ifndef ZKC_GROUP_LEADER_FINDER_H
#define ZKC_GROUP_LEADER_FINDER_H

#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/base/told.h"
#include "zkconsumer/core/group/broker_scan.h"
#include "zkconsumer/core/group/output.h"

/* How often a round reads the brokers. */
enum finder_brokers {
    FINDER_READS,         /* each time, as 0.8 does */
    FINDER_READS_WATCHED, /* so, and with a watch: zkclient does so where something listens to it */
    FINDER_KEEPS, /* once, under a watch, until finder_forget_brokers() or none of them answers */
};

struct finder_wanted {
    const char *topic; /* lent as long as the machine */
    uint32_t topic_index;
    int32_t partition;
};

struct leader_finder {
    enum { FINDER_IDLE, FINDER_SCANNING, FINDER_ASKING, FINDER_PAUSED } state;
    struct finder_wanted *wanted; /* sorted by topic index and partition, each once */
    size_t wanted_count, wanted_cap;
    struct broker_scan scan;
    bool keeps;          /* FINDER_KEEPS */
    bool has_brokers;    /* those of `scan` are still right */
    bool is_outdated;    /* those of the scan under way will not be */
    size_t asked;        /* brokers asked in this round, from the front of scan.brokers */
    const char **topics; /* of the question under way, topics_cap entries */
    size_t topics_cap;
    struct group_leader *leaders; /* of the last GROUP_OUT_LEADERS */
    size_t leaders_cap;
    struct told failed; /* a round that did not get as far as to ask */
    size_t told;        /* how many partitions the last notice said to be without a leader */
    uint32_t metadata_seq;
    int64_t resume_at_ms;
    int64_t backoff_ms;
    struct rng rng;
};

void finder_init(struct leader_finder *f, int64_t backoff_ms, uint64_t seed);
void finder_deinit(struct leader_finder *f);

/* These partitions need a leader. Ones that are wanted already are not added twice.
 * ZKC_ERR_NOMEM: nothing was added. */
ZKC_MUST_CHECK enum zkc_err finder_want(struct leader_finder *f, const struct finder_wanted *list,
                                        size_t count);

/* This partition's leader is not wanted any more. */
void finder_unwant(struct leader_finder *f, uint32_t topic_index, int32_t partition);

/* Nothing is wanted any more; a round under way is forgotten. */
void finder_clear(struct leader_finder *f, struct lane *lanes);

/* The watch on /brokers/ids has fired, or its session is over: what is kept is not right any more.
 * (A broker that comes back at another address makes its node anew, which fires it, too.) */
void finder_forget_brokers(struct leader_finder *f);

/* Starts a round when one is due. Call at the end of each step, always with the same `brokers`. */
void finder_run(struct leader_finder *f, int64_t now_ms, struct lane *lanes, bool connected,
                enum finder_brokers brokers, struct group_outputs *out);

/* The answer to the operation in GROUP_LANE_FINDER. */
void finder_answer(struct leader_finder *f, int64_t now_ms, const struct zk_result *answer,
                   struct lane *lanes, bool connected, struct group_outputs *out);

/* The answer to GROUP_OUT_METADATA `seq`: those of the list that have a leader, host and port;
 * broker_id -1 has none. `failed` tells that there was no answer, `text` why. `list` must stay
 * until the outputs have been carried out. */
void finder_metadata(struct leader_finder *f, int64_t now_ms, uint32_t seq, bool failed,
                     const char *text, const struct group_leader *list, size_t count,
                     struct group_outputs *out);

/* When to call finder_run() next; INT64_MAX: after another input. */
int64_t finder_deadline_ms(const struct leader_finder *f);

#endif
