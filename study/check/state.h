/* What the checkers remember of a run. Each .c of them reads events into it and asserts its part.
 */
#ifndef STUDY_CHECK_STATE_H
#define STUDY_CHECK_STATE_H

#include "study/check/check.h"
#include "study/check/names.h"
#include "study/check/offsets.h"
#include "zkconsumer/core/base/buf.h"

#define MS 1000000ull

struct settings {
    uint32_t source; /* name of the source that said so */
    bool is_virtual;
    int level;
    int64_t backoff_ms;    /* -1: not known */
    uint32_t attempts_max; /* 0: not known, or no limit */
    bool is_paused;        /* by the backoff, between attempts */
    char strategy[16];
};

#define PENDING_MAX 16
/* A commit beyond what is known to have been delivered: deliveries are told in runs, later. */
struct pending {
    int64_t offset;
    uint64_t t_ns, gs;
};

/* A member and a partition. */
struct pair {
    uint32_t member, partition;
    bool believes, fetching;
    bool has_fetched; /* since the belief began */
    bool had_belief;
    uint64_t since_ns, fetch_since_ns;
    uint64_t since_gs;
    int64_t start;    /* of a member in safe mode: the lowest since it claimed; -1: not known */
    int64_t next;     /* the offset to be delivered next; -1: not known */
    int64_t reached;  /* by deliveries before the position was moved; -1: it was not */
    int64_t moved_to; /* the lowest since the belief began (safe: since it claimed); -1: none */
    struct pending pending[PENDING_MAX];
    size_t pending_count;
    bool in_registry; /* claimed, and not given back */
    uint32_t claim_rb, claim_i;
    bool is_counted_believer, is_counted_active, is_counted_awake;
    /* of members in safe mode */
    uint64_t session;    /* in which the belief began */
    uint64_t usurped_ns; /* another began to own it while this one did; 0: nobody */
    uint32_t usurper;
    bool is_wanted;      /* by the last decision */
    bool is_drained;     /* since the belief ended */
    uint64_t claim;      /* the one that ended last; 0: not known */
    bool has_begun;      /* a belief, since it claimed */
    bool has_been_given; /* something was handed out since the belief began */
    int64_t read_most;   /* the largest offset that it has read since it claimed; -1: none */
    int64_t read_stored; /* the same, of what Kafka keeps */
    int64_t finished;    /* of what was handed out, when it was drained; -1: not known */
    uint64_t drained_ns;
};

#define PAUSES_KEPT 16
#define LEASES_KEPT 64

struct member {
    bool is_live, is_suspended, is_connected;
    bool is_observer; /* no member: it reads for those of its process (simulated ones: o1, o2, ...)
                       */
    uint32_t incarnation;
    char *consumer_id; /* owned */
    uint32_t *pairs;   /* owned; into check.pairs */
    size_t pair_count, pair_cap;
    struct {
        uint64_t from_ns, to_ns;
    } pauses[PAUSES_KEPT]; /* the last ones */
    size_t pause_count;
    uint64_t connected_ns;
    /* the rebalance that it is in */
    uint32_t rb, i;
    bool in_rebalance, in_try, had_error, had_conflict, has_try_end;
    uint64_t try_end_ns;
    uint64_t view, view_in_force;
    bool has_view, has_view_in_force;
    int64_t zxid_seen;
    uint64_t session;
    char server[16];       /* of the ensemble, that it is connected to; "": not known */
    bool waits_for_itself; /* its registration found the node that this very session had made */
    /* of safe mode */
    bool is_safe, has_lapsed, is_observed;
    struct lease {
        uint64_t session, from_ns, to_ns;
    } leases[LEASES_KEPT]; /* times in which messages may be handed out, the last ones: a ring */
    size_t lease_count;
    uint64_t
        unfenced; /* of another mode: so often it handed out or committed what a safe one owns */
    uint64_t registered_at; /* place in check.memberships of its registration; 0: none */
};

struct partition {
    uint32_t believers, active, awake;
    uint64_t seen_ns, settled_ns;
    uint64_t gap_ns, paused_ns, frozen_ns, dual_ns, available_ns, latent_ns, mismatch_ns;
    /* the owner of record */
    bool has_owner;
    uint64_t owner_session, owner_since_ns;
    uint32_t owner_member; /* NAMES_NONE: not known */
    struct offsets delivered, skipped;
    int64_t floor;       /* offsets below do not concern this run; -1: not known */
    int64_t floor_asked; /* the floor once it is committed that the owner has gone back: where
                          * to; -1: it has not */
    uint32_t mover;      /* then the pair that has; NAMES_NONE: a tool has asked for it */
    bool is_disturbed; /* a member of another mode has deleted an owner node that is not its own */
    bool is_gone, is_reborn;  /* its topic was deleted; was made again, with other messages */
    bool is_of_before;        /* and whoever has it began before that, so that what is committed may
                               * be of the former messages */
    int64_t committed;        /* -1: none seen */
    int64_t committed_before; /* the one before it */
    int64_t begin_least;      /* nobody who begins by the rules is below it: what is committed, but
                               * for what a tool asks for by force; -1: none */
    int64_t forced;           /* what a tool has asked for last, by force; -1: nothing */
    uint64_t committed_gs;
    bool is_committed_by_txn;
    int64_t stored;         /* what Kafka keeps; -1: none seen */
    int64_t stored_least;   /* nobody who begins or commits by the rules is below it; -1: none */
    int64_t stored_in_time; /* the last one that was awaited, whatever came late since; -1: none */
    uint64_t stored_gs;
    bool was_turned_back; /* a commit to Kafka was carried out late, once */
    int64_t produced;     /* highest offset; -1: none seen */
    struct {
        int64_t first, last;
        uint64_t first_ns, last_ns, hash;
    } * produce; /* by offset; of the first produce_gone everything was delivered */
    size_t produce_count, produce_cap, produce_gone;
};

struct node { /* an ephemeral znode */
    bool exists;
    uint64_t session;
};

struct session {
    uint32_t member, incarnation;
    bool is_known; /* whose it is */
    bool is_closed;
    int64_t closed_zxid;
    uint64_t closed_ns;
    char *consumer_id; /* owned */
};

struct watch {
    uint32_t member;
    bool is_armed;
    int64_t zxid;
    uint64_t session;
    uint32_t reads;   /* without one, since it was left */
    uint64_t read_ns; /* the last of them */
};

struct change { /* of a list of children */
    int64_t zxid;
    uint64_t t_ns;
};

struct source {
    uint64_t seq, t_ns;
    bool has_any;
};

struct subscription { /* of a consumer id */
    const char **topics;
    size_t count;
    int32_t streams;     /* 0: not known */
    bool is_safe;        /* in safe mode */
    uint64_t changed_ns; /* when it last subscribed otherwise than before; 0: never */
    char strategy[16];
};

#define COMMITS_KEPT     256
#define SERVERS_KEPT     16
#define VIEWS_KEPT       64
#define MEMBERSHIPS_KEPT 1024
struct kept_view {
    uint64_t hash;
    bool is_used;
    char **members;
    size_t member_count;
    struct topic_partition *partitions; /* topics owned by `topics` */
    size_t partition_count;
    char **topics;
    size_t topic_count;
};

struct tally {
    uint64_t checked, found, first_ns;
    char *first;
};

struct check {
    struct check_options options;
    bool failed; /* out of memory */
    struct tally tallies[CHECK_COUNT];
    uint64_t now_ns, gs;
    bool has_any, has_gs;

    struct names source_names, member_names, partition_names, pair_names, node_names, session_names,
        watch_names, change_names, id_names, view_names;
    struct source *sources;
    struct member *members;
    struct partition *partitions;
    struct pair *pairs;
    struct node *nodes;
    struct session *sessions;
    struct watch *watches;
    struct change *changes;
    struct subscription *subscriptions;
    uint32_t *views_in_force; /* how many members hold it, by view_names */
    uint32_t distinct_views;

    struct settings *settings;
    size_t settings_count;
    bool is_compat, is_virtual;
    bool has_loose_writes; /* when they were committed is known to lie within bounds */
    bool has_all_writes;   /* whoever made them: a simulated world, or ZooKeeper's log */
    bool is_capture;       /* what members do is derived from what they asked ZooKeeper for */
    int level;

    /* what the trace has */
    bool has_txns, has_offset_txns, has_ops, has_produce, has_claims, has_phases, has_view_lists,
        has_deliveries;
    bool has_end, is_over;
    bool watches_overtaken; /* a fault let answers overtake notifications */
    uint64_t fault_ns;      /* the last fault or heal */
    uint64_t unregistered;  /* ids nodes that somebody was told to delete, and has not yet */
    char phase[16];
    char *foreign; /* a consumer id without trace */
    uint64_t unknown_exits;
    uint64_t unknown_ids; /* decisions that could not be followed */
    char ids_path[600];   /* the list of members */
    int64_t zxid;         /* the newest committed */
    struct commit {
        uint64_t t_ns;
        int64_t zxid;
        uint64_t session;
        bool is_error;        /* nothing was changed */
        uint32_t told, parts; /* events of it so far; of how many */
    } commits[COMMITS_KEPT];  /* the newest ones, a ring */
    size_t commit_count;
    struct server_epoch {
        char name[16];
        uint32_t epoch;
    } servers[SERVERS_KEPT]; /* in which they lead or follow */
    size_t server_count;
    uint32_t newest_epoch; /* of the leaders told of */
    struct kept_view views[VIEWS_KEPT];
    size_t view_count;
    uint64_t orphans;
    bool orphans_known;
    /* safe mode */
    bool has_safe, has_other; /* members of it, and of another */
    bool has_leases, has_drains, has_stores;
    uint64_t lapse_ns;                      /* the next end of a lease; 0: none runs */
    uint64_t memberships[MEMBERSHIPS_KEPT]; /* sums of the hashes of all registered: a ring */
    uint64_t membership_count;              /* places so far: the newest is the last */
    uint64_t registered;                    /* the sum now */
    const char *orphans_unknown;
};

/* ---- state.c ---- */

/* Each adds what is not there. NULL: out of memory (check.failed is set). Pointers hold until the
 * next call of the same function. */
struct member *member_of(struct check *c, const char *m, uint32_t *index);
struct partition *partition_of(struct check *c, struct topic_partition p, uint32_t *index);
struct pair *pair_of(struct check *c, const char *m, struct topic_partition p);
struct pair *pair_find(struct check *c, uint32_t member, uint32_t partition);
struct session *session_of(struct check *c, uint64_t session);
const struct settings *settings_of(const struct check *c, const char *m);

/* Room for what belongs to the name that was added last, zeroed. False: out of memory; the name is
 * taken back. */
bool array_reserve(struct check *c, void **list, size_t size, struct names *names);

/* Counts that an invariant was looked at. */
void checked(struct check *c, enum check_id id);
/* Counts n of what a COUNT is for. */
void counted(struct check *c, enum check_id id, uint64_t n);
/* A violation; `ref` is the gs of another event that shows it, UINT64_MAX: none. */
void violated(struct check *c, enum check_id id, uint64_t ref, const char *fmt, ...)
    ZKC_PRINTF(4, 5);

/* ---- the checkers ---- */

void check_deliveries(struct check *c, const struct trace_event *e); /* C2 - C6, and C10's books */
void check_deliveries_finish(struct check *c);                       /* C9, C10 */
void check_topics(struct check *c,
                  const struct trace_event *e); /* which are there; before others */
void check_attempts(struct check *c, const struct trace_event *e);  /* Z3 - Z6, C7, views */
void check_zookeeper(struct check *c, const struct trace_event *e); /* Z1, Z2, Z5, Z7 - Z11 */
void check_zookeeper_finish(struct check *c);
void check_safe(struct check *c, const struct trace_event *e); /* SF1 - SF8; after the others */
void check_safe_leases(struct check *c, uint64_t t_ns);        /* before the time goes on to t_ns */
void check_safe_finish(struct check *c);
const char *check_safe_unknown(const struct check *c, enum check_id id);

/* The members of the view that this member has read last; NULL: not known. */
const char *const *view_members(struct check *c, const struct member *m, size_t *count);

/* True when nothing was done to the world for so long that everything should have settled. */
bool check_is_quiet(const struct check *c, uint64_t since_ns);

/* Brings the times of a partition up to now (1.2); call before what they depend on changes. */
void partition_settle(struct check *c, uint32_t partition);
void pair_recount(struct check *c, struct pair *p);
void attempts_deinit(struct check *c);

#endif
