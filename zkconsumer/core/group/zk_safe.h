/* A member of a group by the rules of zookeeper.mode=safe: the znodes of Kafka 0.8, without its
 * faults. The principle: everything belongs to the session that did it. Claims, commits and
 * releases are sent on the claiming session only, so that the server itself refuses what comes
 * late; a lease (lease.h) stops delivery before the session can have ended; what is unknown is
 * looked up, never assumed. docs/safe-mode.md has the machine state by state, its promises and
 * their proof.
 *
 * Happy path: connected -> register -> read the view (zk_view.h) -> claim what is ours by it, many
 * in one transaction -> read offsets -> deliver. A change of the view moves only what it must: what
 * is not ours any more is stopped, drained, committed and released in one transaction; what is
 * another's still is watched and claimed the moment it goes; the rest flows on.
 *
 * With offsets in Kafka they are fetched after the claim, and committed before the release, while
 * the lease runs.
 *
 * Failure modes: while disconnected nothing is sent to ZooKeeper, and gates obey the lease; an
 * operation whose connection was lost is neither repeated nor forgotten, its outcome is read after
 * a sync; a session that has ended takes all claims with it, and a new one begins from nothing.
 * Nobody gives up: a member that cannot get its share says who has it (GROUP_OUT_WAITING) and goes
 * on.
 *
 * Its shell carries out outputs in order, answers every GROUP_OUT_OP exactly once, by a lost
 * connection too (ZK_CONNECTION_LOSS; before or after GROUP_IN_DISCONNECTED), but for those of a
 * session that GROUP_IN_EXPIRED or GROUP_IN_SESSION_CLOSED has ended, which may be left open.
 * A GROUP_OUT_OFFSETS_ASK is answered once, but for one that a HANG_UP or the next has overtaken.
 * GROUP_OUT_POSITIONS is answered by GROUP_IN_POSITIONS before anything else is fed. A claim's gate
 * is open from FETCH_START to FETCH_STOP and while now < the end_ms of the last LEASE of its
 * session. DRAINED comes once for each FETCH_STOP that no VOID and no end of the session has
 * overtaken. */
#ifndef ZKC_GROUP_ZK_SAFE_H
#define ZKC_GROUP_ZK_SAFE_H

#include "zkconsumer/core/group/input.h"
#include "zkconsumer/core/group/lease.h"
#include "zkconsumer/core/group/zk_view.h"

enum zk_safe_strategy {
    ZK_SAFE_AUTO, /* ceil while every registration declares that it knows it, else range */
    ZK_SAFE_CEIL,
    ZK_SAFE_RANGE,
    ZK_SAFE_RENDEZVOUS, /* while every registration declares that it knows it, else as AUTO */
    ZK_SAFE_ROUNDROBIN,
};

#define ZK_SAFE_HANDOVER_MS 4000 /* below what makes a Java member give up: 4 tries in 6 s */

/* Everything is copied. Switches are named as in the configuration. */
struct zk_safe_config {
    const char *group;
    const char *consumer_id; /* whole, as registered */
    enum zk_pattern pattern;
    const struct zk_subscription *subscriptions; /* static: any number; a filter: one */
    size_t subscription_count;
    bool exclude_internal_topics;
    enum zk_safe_strategy strategy;
    bool
        auto_commit; /* by the timer and in releases; otherwise only what the application commits */
    int64_t auto_commit_interval_ms;
    enum commit_store offsets_in; /* offsets.storage and dual.commit.enabled */
    int64_t offsets_channel_backoff_ms;
    int64_t offsets_channel_timeout_ms; /* silence of the offset manager that is told, too */
    uint32_t offsets_commit_retries; /* then a commit of the application has failed; the offset is
                                      * tried on */
    int64_t handover_ms;             /* from the stop of a partition until what is out is void */
    int64_t poll_limit_ms;           /* without a poll for so long: evicted; 0: no limit */
    int64_t close_timeout_ms; /* from GROUP_IN_LEAVE until the session is closed all the same */
    int64_t refresh_leader_backoff_ms;
    uint64_t seed;
    /* switches of the study; zk_safe_config_default() has the values of safe mode */
    enum zk_fence fence;          /* zookeeper.fence */
    enum lease_probe lease_probe; /* zookeeper.lease.probe */
    bool claim_multi;             /* zookeeper.claim=multi */
    bool release_session;         /* zookeeper.release=session: only our own node, of our claim */
    bool commit_session;          /* zookeeper.commit=session: only over the version known */
    bool watch_owners;            /* zookeeper.watch.owners: own and contested owner nodes */
    bool keep_unmoved;            /* zookeeper.keep.unmoved */
    bool coalesce;                /* zookeeper.coalesce */
    bool sync_before_read;        /* zookeeper.sync.before.read */
    bool observer_process;        /* zookeeper.observer=process: views come by GROUP_IN_VIEW */
    unsigned bugs;                /* enum zk_safe_bug; tests and simulator only */
};

/* The defaults of safe mode, without names and subscriptions. */
struct zk_safe_config zk_safe_config_default(void);

struct zk_safe;

/* The shell opens the first session by itself. `now_ms` starts the commit timer.
 *
 * ZKC_ERR_NOMEM, or what zk_filter_new() says of the filter; `why` says why. */
ZKC_MUST_CHECK enum zkc_err zk_safe_new(const struct zk_safe_config *config, int64_t now_ms,
                                        struct zk_safe **out, struct why *why);
void zk_safe_free(struct zk_safe *m); /* NULL is allowed */

/* Feeds one input. Never blocks, never fails. What does not fit into the outputs of one step is
 * done in the next, which zk_safe_deadline_ms() then asks for at once; closing gates comes first.
 */
void zk_safe_step(struct zk_safe *m, const struct group_input *in, struct group_outputs *out);

/* When to feed GROUP_IN_TIME; INT64_MAX: never. Ask after every step. */
int64_t zk_safe_deadline_ms(const struct zk_safe *m);

/* What is owned, its gate open, by topic name and partition; lent until the next step. */
const struct group_claim *zk_safe_owned(const struct zk_safe *m, size_t *count);

/* It has left for good (GROUP_IN_LEAVE) and its session is closed: it may be freed. */
bool zk_safe_is_closed(const struct zk_safe *m);

/* connecting, registering, joining, moving (something is claimed, given back or waited for),
 * owning, idle, leaving, evicted, closed. Static. */
const char *zk_safe_state_name(const struct zk_safe *m);

/* For statistics and for checkers of the simulator. */
struct zk_safe_counts {
    size_t wanted, owned, waiting, unsure; /* partitions, now */
    size_t placed;  /* of the wanted: owned, known to be another's, or told to be in trouble */
    size_t overdue; /* of those that wait: longer than a hand-over and the end of a session take */
    uint64_t rounds; /* that were acted on */
    uint64_t claims, conflicts, releases, commits, probes, foreign_writes, voided, evictions;
    uint64_t foreign_deletes, gave_up, returns; /* of owner nodes of ours; members that did */
};
struct zk_safe_counts zk_safe_counts(const struct zk_safe *m);

/* Whether the partition's owner node may be ours as far as the member knows: claimed, or of unknown
 * outcome. A node of our session where this is false has been forgotten. */
bool zk_safe_may_own(const struct zk_safe *m, const char *topic, int32_t partition);

#endif
