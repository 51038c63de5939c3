/* The inside of zk_safe: only for its own files.
 *
 *   zk_safe.c            birth, one step, what the step leaves to do, leaving
 *   zk_safe_member.c     session, registration, lease probes, views
 *   zk_safe_partition.c  one partition: the table of states
 *   zk_safe_batch.c      what goes in transactions of many partitions: claims and releases
 *   zk_safe_offsets.c    offsets in znodes: reading, committing, what a reread finds
 *   zk_safe_stored.c     offsets in Kafka: the same, without versions
 *   zk_safe_strangers.c  members without a lease: what they do is told by name
 *
 * A partition is *poked* when something about it has changed; the end of each step lets all that
 * were poked act. Operations are told apart by seq; what they point to lives in the arena of the
 * step. */
#ifndef ZKC_GROUP_ZK_SAFE_PARTS_H
#define ZKC_GROUP_ZK_SAFE_PARTS_H

#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/told.h"
#include "zkconsumer/core/group/creator.h"
#include "zkconsumer/core/group/leader_finder.h"
#include "zkconsumer/core/group/offset_manager.h"
#include "zkconsumer/core/group/zk_safe.h"

#define SAFE_BATCH_MAX      100   /* partitions in one transaction */
#define SAFE_PROBE_OFFSETS  32    /* offsets whose versions a probe checks */
#define SAFE_REFUSED_MS     1000  /* an operation that was refused is tried again after this */
#define SAFE_REFUSED_LOG_MS 10000 /* and the log hears of such so often, in all */
#define SAFE_ODD_OFFSET_MS  5000  /* a stored offset that is no number is read again after this */
#define SAFE_STORE_MS       1000  /* that a hand-over's commit to Kafka gets at least */
#define SAFE_OUTPUTS_SPARE  16    /* one more partition acts only while there is room for so many */
#define SAFE_CLAIM_VERSION  1     /* of an owner node that was created and set; Java's is 0 */
#define SAFE_AUDIT_MS                                                                              \
    12000 /* after a decision: when members of 0.8 have made their attempts, 4 in 8 s */
#define SAFE_AUDIT_AGAIN_MS 30000 /* while somebody is short */
#define SAFE_RETURNS_MAX    8     /* members that come back in one view that are told of */
#define SAFE_SHORTS_MAX     16    /* members that have given up that are told of */
#define SAFE_JOBS_MAX       8     /* commits of the application; later ones join the last */

/* Where the member is; see safe_move(). */
enum safe_phase { CONNECTING, REGISTERING, IN, LEAVING, CLOSING, CLOSED };

enum safe_registering {
    REG_NONE, /* to be created */
    REG_CREATING,
    REG_UNSURE, /* to be looked at */
    REG_LOOKING,
    REG_WAITING, /* another session's node: its event is awaited */
    REG_OURS,
};

/* Of a partition: docs/safe-mode.md, "One partition". */
enum safe_state { FREE, CLAIMING, LOOKING, WAITING, UNSURE, HELD, OWNED, STOPPED, RELEASING };
#define SAFE_STATE_COUNT (RELEASING + 1)

enum safe_op {
    OP_NONE,
    OP_CLAIM,
    OP_LOOK,    /* getData of the owner node, with a watch: who has it */
    OP_RESOLVE, /* sync, then the same */
    OP_READ,    /* the offset, then exists of the owner node, with a watch */
    OP_REREAD,  /* sync, the offset, exists */
    OP_WATCH,   /* exists, with a watch, in the stead of one that was lost; beside any other */
    OP_COMMIT,
    OP_RELEASE,
    /* of the member */
    OP_REGISTER,
    OP_LOOK_ID, /* sync, exists with a watch */
    OP_FENCE,   /* rewrites the registration: see safe_is_fenced() */
    OP_PROBE,
    OP_PARENT, /* a parent of owner or offset nodes */
    OP_HINT,   /* children of owners/<topic>: what is taken */
    OP_AUDIT,  /* the same: what is with nobody */
};

enum safe_parent { PARENT_THERE, PARENT_WANTED, PARENT_MAKING }; /* until shown otherwise: there */

/* A topic that the member has had to do with. Lives as long as the member. */
struct safe_topic {
    char *name;
    uint32_t index;
    int64_t retry_at_ms;
    enum { HINT_NONE, HINT_WANTED, HINT_ASKED } hint;
    enum safe_parent owners, offsets;
    struct creator creator; /* of whichever parent is being made */
    struct told refused_parent;
};

enum safe_found { FOUND_NONE, FOUND_OURS, FOUND_OTHERS };

/* What Kafka keeps of a partition (offsets.storage=kafka): at most one request at a time, beside
 * whatever goes to ZooKeeper. Forgotten with the claim. */
struct safe_stored {
    enum {
        STORED_IDLE,
        STORED_WANTED, /* it goes with the next request of its kind */
        STORED_ASKED,
        STORED_ANSWERED, /* a fetch: found, kafka_error */
    } state;
    bool is_fetch;       /* the request; otherwise a commit */
    bool was_known;      /* it was fetched before: is_known is false for a commit's sake */
    bool is_known;       /* what is stored; otherwise it is fetched before anything is committed */
    bool is_rewind;      /* target is committed whatever is stored */
    bool is_told;        /* that it cannot be fetched */
    int16_t kafka_error; /* of the fetch */
    int64_t found;       /* by the fetch; -1: none */
    int64_t offset;      /* stored, as known; -1: none */
    int64_t target;      /* to be stored; -1: nothing */
    int64_t sent;        /* by the last commit, whose outcome is not known; -1: none */
    unsigned failures;   /* of commits, in a row */
    int64_t retry_at_ms; /* nothing is asked before */
    int64_t deadline_ms; /* then a release does not wait for the commit any longer */
};

struct safe_partition {
    struct safe_topic *topic;
    int32_t partition;
    int32_t thread; /* of the claim */
    int32_t thread_wanted;
    enum safe_state state;
    bool is_wanted;    /* by the last view */
    bool was_wanted;   /* by the one before */
    bool must_move;    /* released and claimed again: another thread, or keep.unmoved is off */
    bool must_release; /* a release of this claim is lost, and was not carried out yet */
    bool is_taken;     /* known to be another's: looked at before it is claimed */
    bool is_called;    /* its owner node's event has come: claimed at once */

    enum safe_op op;       /* under way; at most one */
    unsigned answers_left; /* of its parts */
    bool op_lost;
    int refused;           /* ZooKeeper's code of a part that was refused; ZK_OK */
    enum safe_found found; /* what the parts found */
    int64_t found_offset;  /* -1: none */
    int32_t found_version; /* -1: no node */
    bool found_forced;     /* with a leading zero: a forced reset */
    bool found_odd;        /* no number */
    int64_t retry_at_ms;   /* nothing is sent before */

    enum safe_op unsure_of; /* what made it UNSURE: OP_CLAIM, OP_RELEASE, or OP_NONE: an event */
    bool may_come_true;     /* a claim of this session is lost; see safe_look_again() */
    bool must_resolve;      /* so it is looked for when the look under way has an end */
    uint64_t claim;         /* number of the last; 0: none yet */
    bool is_open;           /* its gate */
    bool lacks_leader;      /* the leader finder could not take it up */
    bool is_lost;           /* the session has ended: to be told and forgotten */
    bool is_drained;        /* nothing of the claim is in the application's hands */
    bool is_void;           /* what is does not count */
    bool is_asked;          /* the deadline has passed, positions were asked for a last time */
    int64_t deadline_ms;    /* of the hand-over */
    int64_t finished;       /* -1: nothing */
    int64_t to_commit;      /* finished as far as it is to be committed; -1: nothing */
    bool is_rewind;         /* to_commit is written whatever was committed */
    uint32_t moves;         /* of this claim, as last told (group_position.moves) */
    bool is_moved;          /* finished was set by one, and was not to be committed since */
    int64_t committed;      /* -1: no node */
    int32_t version;        /* of the offset node; -1: no node */
    bool unsure_offset;     /* reread before anything is written */
    int64_t sent_offset;    /* of the commit last sent, alone or in a release; -1: none */
    int64_t late_commit;    /* of the planted bug; -1: none */
    bool is_read;           /* HELD: the owner node is ours; what Kafka keeps is waited for */
    struct safe_stored stored;
    bool is_told_odd;
    struct told refused_op;              /* an operation that is tried again */
    struct zk_view_registration *former; /* a reference; who had it before us, without a lease;
                                          * NULL: nobody that is known */
    int64_t began;                       /* where the claim did; -1: not known */
    int64_t doubled_to; /* what begins here nobody but we has consumed, as known: where the claim
                         * began, or what `former` has committed since; -1: not known */
    int64_t waiting_since_ms; /* INT64_MAX: not waiting */
    bool is_told_waiting;
    char *holder; /* owned; who had it when we looked last; NULL: not waiting, or no memory */
    const char *leader_host; /* in m->hosts: found while it was another's; NULL: not known */
    int32_t leader_id, leader_port;

    bool is_unwatched; /* the watch on our owner node was lost: to be left again */
    bool is_watching;  /* that is under way */
    int64_t watch_at_ms;

    bool is_poked;
    struct safe_partition *next_poked;
};

/* A transaction under way. */
struct safe_batch {
    enum safe_op op;
    size_t count;
    struct safe_partition *partitions[SAFE_BATCH_MAX];
    uint16_t first[SAFE_BATCH_MAX]; /* part of the transaction at which the partition begins */
    int32_t id_version;             /* that its last part checks; -1: it has no such part */
};

/* An operation under way. */
struct safe_sent {
    uint32_t seq;
    enum safe_op op; /* OP_NONE: answered */
    struct safe_partition *partition;
    struct safe_batch *batch; /* owned */
    struct safe_topic *topic;
    enum { STEP_LAST, STEP_SYNC, STEP_OWNER, STEP_OFFSET } step; /* which part this is */
};

/* A member without a lease that has less than its share. */
struct safe_short {
    struct zk_view_registration *who; /* a reference */
    int64_t since_ms;
    size_t free; /* as last told */
    bool is_seen;
};

/* A commit of the application. */
struct safe_job {
    uint32_t id;
    struct safe_partition **partitions; /* that are not settled yet */
    size_t count, cap;
    enum zkc_err err;
    struct why why;
};

struct zk_safe {
    struct zk_safe_config config; /* its pointers are those below, or NULL */
    char *group, *consumer_id, *ids_path, *id_path;
    struct zk_subscription *subscriptions; /* sorted by topic */

    enum safe_phase phase;
    enum safe_registering reg;
    int64_t now_ms, wall_ms, polled_ms;
    bool is_connected;
    int64_t session_id, timeout_ms;
    struct lease lease;
    int64_t lease_told_ms;
    bool is_told_registered, is_told_settled;
    bool is_settled;
    bool is_leaving; /* for good; otherwise LEAVING and CLOSED mean: evicted */
    int64_t close_at_ms;
    int64_t evicted_at_ms;
    struct buf registration;
    struct creator creator; /* of the registration */
    enum safe_found id_found;
    bool id_lost;
    int64_t reg_retry_at_ms;
    int32_t id_version;     /* REG_OURS: of the own id node */
    int32_t id_version_min; /* that releases may check: none that is lost has it */
    bool is_fencing;
    int64_t fence_retry_at_ms;
    struct told refused_registration;

    struct arena arena; /* of the step */
    uint32_t seq;
    struct safe_sent *sent; /* ascending by seq, from sent_first on */
    size_t sent_first, sent_count, sent_cap;
    size_t open_count; /* of them not answered */

    struct zk_viewer *viewer;
    bool has_observer; /* views come from the process's */
    bool is_lacking;   /* the last view lacked us */
    struct zk_view *view;
    struct told undecided; /* a view that no share comes of */
    bool must_decide;
    int64_t decide_at_ms;
    int64_t acted_pzxid;
    int64_t registered_zxid; /* a view of before is not acted on */
    bool has_acted;          /* in this session */
    enum assign_strategy strategy;
    uint64_t disagreement;       /* hash of the members that disagree, as last told */
    uint64_t without_rendezvous; /* hash of the first that does not know it, as last told */
    bool is_round_open, is_trying;
    uint32_t round, attempt; /* the attempt that is tried, or the next */

    struct safe_topic **topics; /* sorted by name */
    size_t topic_count, topic_cap;
    bool are_topics_due;                /* one of them wants a parent or a hint */
    struct safe_partition **partitions; /* sorted by topic and number */
    size_t partition_count, partition_cap;
    struct safe_partition *poked, **poked_end;
    struct safe_partition *claiming[SAFE_BATCH_MAX], *releasing[SAFE_BATCH_MAX];
    size_t claiming_count, releasing_count;
    size_t releases_open;          /* transactions that release, under way */
    bool holds_claims;             /* until what has just been stopped had a chance to be drained */
    int64_t partition_deadline_ms; /* the earliest of all, or earlier */
    int64_t overdue_at_ms;         /* when the next of those that wait will have waited too long */
    size_t overdue_told;
    size_t probe_at;           /* partition from which the next probe takes offsets */
    struct group_claim *owned; /* sorted; room for all partitions */
    size_t owned_count;
    uint64_t claims_made;
    int64_t commit_at_ms;
    bool wants_positions;
    struct safe_job jobs[SAFE_JOBS_MAX];
    size_t job_count;
    uint32_t last_job;

    struct zk_view *acted; /* a reference; that was acted on last; NULL: none yet */
    enum assign_strategy acted_strategy;
    int64_t audit_at_ms; /* of the next audit; INT64_MAX: none, or one is under way */
    size_t audit_topic;  /* that is being looked at */
    uint32_t audit_seq;
    size_t *audit_free; /* owned; by member of `acted`; NULL: none is under way */
    struct safe_short shorts[SAFE_SHORTS_MAX];
    size_t short_count;

    struct lane lanes[GROUP_LANE_COUNT]; /* of the leader finder */
    int64_t resend_at_ms;
    struct leader_finder finder;
    char **hosts; /* owned, each once: of leaders found ahead of time */
    size_t host_count, host_cap;
    struct offset_manager manager; /* of offsets in Kafka */
    bool are_stored_wanted;        /* a partition waits for a request */
    int64_t silent_at_ms; /* then it has not answered for too long; INT64_MAX: none waits */
    bool is_told_silent;
    struct told store_failed;
    int64_t refused_logged_ms; /* when the log last heard of refusals that go on */
    struct zk_safe_counts counts;
};

/* ---- zk_safe.c ---- */

void safe_move(struct zk_safe *m, enum safe_phase to);

/* What was planted for this test. */
static inline bool safe_has_bug(const struct zk_safe *m, enum zk_safe_bug bug)
{
    return (m->config.bugs & bug) != 0;
}

/* There is room for `count` outputs. */
bool safe_has_room(const struct group_outputs *out, size_t count);

/* Room for one more entry among those sent. False: out of memory. To be asked before safe_send().
 */
bool safe_can_send(struct zk_safe *m, size_t count);

/* Sends the operation, whose pointers must last until the next step. `what` without its seq. */
uint32_t safe_send(struct zk_safe *m, struct safe_sent what, const struct zk_op *op,
                   struct group_outputs *out);

/* Nothing that is under way will be answered, or matters any more. */
void safe_forget_sent(struct zk_safe *m);

/* ---- zk_safe_member.c ---- */

void safe_connected(struct zk_safe *m, const struct group_input *in, struct group_outputs *out);
void safe_disconnected(struct zk_safe *m, struct group_outputs *out);

/* The session is over: everything of it is dropped. */
void safe_session_over(struct zk_safe *m, const char *why, struct group_outputs *out);

/* The own id node has changed. */
void safe_id_event(struct zk_safe *m);
void safe_registered_answer(struct zk_safe *m, const struct safe_sent *sent,
                            const struct zk_result *answer, struct group_outputs *out);
void safe_probe_answer(struct zk_safe *m, const struct safe_sent *sent,
                       const struct zk_result *answer, struct group_outputs *out);

/* A release whose outcome is unknown may be carried out at any time while the session
 * lives, also when we are attached elsewhere: a server that cannot reach the leader may hold it,
 * with a later attach right behind it that we have given up, and the leader takes notice of that
 * one first. (LearnerHandler.run: REVALIDATE is done at once, a request waits in the queue of
 * PrepRequestProcessor, which then finds the session where it was sent from.) It is void when the
 * next release has been carried out, which names the same version of the offset and changes it.
 * Where there is no offset node, a release checks the version of our id node, and before the
 * outcome is looked up we write that node anew: from then on what is lost can only be refused.
 *
 * Whether that is so: nothing that is lost can be carried out any more, as far as it can be had.
 * While somebody else has our id it cannot, nor on leaving when our id node is not there. */
bool safe_is_fenced(const struct zk_safe *m);

/* The check of a release; false: they go without, our id node is not there. */
bool safe_fence_part(const struct zk_safe *m, struct zk_op *op);

/* This transaction is lost, or the id node had another version. */
void safe_want_fence(struct zk_safe *m, const struct safe_batch *batch);
void safe_fence_answer(struct zk_safe *m, const struct zk_result *answer,
                       struct group_outputs *out);
void safe_run_fence(struct zk_safe *m, struct group_outputs *out);

/* Sends what registration and lease need. */
void safe_run_registration(struct zk_safe *m, struct group_outputs *out);
void safe_run_probes(struct zk_safe *m, struct group_outputs *out);
void safe_tell_lease(struct zk_safe *m, struct group_outputs *out);

/* Reads and decides. */
void safe_run_rounds(struct zk_safe *m, struct group_outputs *out);
void safe_observer_view(struct zk_safe *m, const struct zk_view *view, struct group_outputs *out);
void safe_end_round(struct zk_safe *m, const char *why, struct group_outputs *out);

/* ---- zk_safe_partition.c ---- */

struct safe_partition *safe_find(const struct zk_safe *m, struct bytes topic, int32_t partition);

/* The topic, made if need be. NULL: out of memory. */
struct safe_topic *safe_topic_of(struct zk_safe *m, const char *name);

/* The partition, made if need be. NULL: out of memory. */
struct safe_partition *safe_partition_of(struct zk_safe *m, const char *topic, int32_t partition);

/* Frees those that nobody wants and nothing is known of. */
void safe_collect(struct zk_safe *m);
void safe_free_partitions(struct zk_safe *m);

void safe_poke(struct zk_safe *m, struct safe_partition *p);
void safe_poke_all(struct zk_safe *m);
void safe_poke_topic(struct zk_safe *m, const struct safe_topic *topic);

/* At `at_ms` the partition will be poked. */
void safe_wake(struct zk_safe *m, int64_t at_ms);

/* Nothing of the partition is sent before `ms` from now. */
void safe_pause(struct zk_safe *m, struct safe_partition *p, int64_t ms);

bool safe_wants(const struct zk_safe *m, const struct safe_partition *p);

/* Lets all that were poked act, as long as there is room. */
void safe_run_partitions(struct zk_safe *m, struct group_outputs *out);

/* The session is over: they are dropped as they act. */
void safe_lose_all(struct zk_safe *m);

void safe_set_state(struct zk_safe *m, struct safe_partition *p, enum safe_state to);

/* FREE: position, version and gate are forgotten; what the application had asked to be committed
 * and was not is told. */
void safe_forget(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out);
void safe_open(struct zk_safe *m, struct safe_partition *p, int64_t position,
               struct group_outputs *out);
void safe_close(struct zk_safe *m, struct safe_partition *p, enum group_gate gate,
                struct group_outputs *out);
void safe_void(struct zk_safe *m, struct safe_partition *p, enum group_void reason,
               struct group_outputs *out);

void safe_want_leader(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out);

/* Outputs from `first` on: leaders of what is not open yet are kept for when it is. */
void safe_keep_leaders(struct zk_safe *m, size_t first, struct group_outputs *out);

/* What was kept may not be right any more: it is looked for again. */
void safe_forget_leaders(struct zk_safe *m);

/* The session is attached anew: a claim that was lost may have been carried out since it was looked
 * for. When that happens, the leader takes the session to be at the server that had held it, and
 * ends the connection that we have elsewhere with our next write: so we come here once more. Also
 * where another's node was seen, or is looked for: that may be how it was before, and once it is
 * not wanted any more, nobody would look. */
void safe_look_again(struct zk_safe *m);

/* The operation is lost: sent again, or looked at, when there is a connection. */
void safe_op_lost(struct zk_safe *m, struct safe_partition *p);

/* It was refused for a reason that is no state of ours. */
void safe_op_refused(struct zk_safe *m, struct safe_partition *p, const char *what, int zk_rc,
                     struct group_outputs *out);
void safe_partition_answer(struct zk_safe *m, const struct safe_sent *sent,
                           const struct zk_result *answer, struct group_outputs *out);
void safe_watched(struct zk_safe *m, const struct safe_sent *sent, const struct zk_result *answer,
                  struct group_outputs *out);
void safe_owner_event(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out);

/* Nobody would tell of the owner node any more. */
void safe_owner_unwatched(struct zk_safe *m, struct safe_partition *p);
void safe_drained(struct zk_safe *m, const struct group_input *in);

void safe_tell_claim(const struct safe_partition *p, int zk_rc, struct group_outputs *out);

/* Paths in the arena of the step; NULL: out of memory. */
char *safe_owner_path(struct zk_safe *m, const struct safe_partition *p);
char *safe_thread_id(struct zk_safe *m, int32_t thread);

/* ---- zk_safe_strangers.c ---- */

/* It has no lease, as far as its registration says. */
bool safe_is_unfenced(const struct zk_view_registration *r);

/* The partition is wanted from now on: who had it by the view acted on before. */
void safe_remember_former(struct zk_safe *m, struct safe_partition *p);

/* Somebody else's owner node was seen. */
void safe_remember_holder(struct zk_safe *m, struct safe_partition *p, struct bytes holder);
void safe_forget_former(struct safe_partition *p);
const char *safe_former_name(const struct safe_partition *p); /* NULL: not known */

/* How many messages more `former` has consumed beside us, that has committed `found`. */
int64_t safe_count_doubled(struct safe_partition *p, int64_t found);

/* Our owner node is gone, and the session lives. `holder`: content of the one that is there now;
 * null: none. */
void safe_tell_deleted(struct zk_safe *m, const struct safe_partition *p, struct bytes holder,
                       struct group_outputs *out);

/* The view is going to be acted on: who is back? */
void safe_tell_returns(struct zk_safe *m, const struct zk_view *v, struct group_outputs *out);

/* The view was acted on. */
void safe_acted(struct zk_safe *m, struct zk_view *v, struct group_outputs *out);
void safe_run_audit(struct zk_safe *m, struct group_outputs *out);
void safe_audit_answer(struct zk_safe *m, const struct safe_sent *sent,
                       const struct zk_result *answer, struct group_outputs *out);
void safe_end_audit(struct zk_safe *m);
int64_t safe_audit_deadline_ms(const struct zk_safe *m); /* while connected */
void safe_forget_strangers(struct zk_safe *m);

/* ---- zk_safe_batch.c ---- */

/* Puts the partition into the next transaction; it is under way from then on. */
void safe_add_claim(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out);
void safe_add_release(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out);

/* Claims that a round calls for wait while releases are under way, in which others release too. */
bool safe_holds_claims(const struct zk_safe *m);

/* Sends what has come together. */
void safe_flush(struct zk_safe *m, struct group_outputs *out);
void safe_batch_answer(struct zk_safe *m, const struct safe_sent *sent,
                       const struct zk_result *answer, struct group_outputs *out);

/* The partition whose owner node has this name; -1: it is no partition's. */
int32_t safe_partition_number(const char *name);

/* Parents and hints of topics: asked for, sent, answered. */
void safe_want_parent(struct zk_safe *m, enum safe_parent *which); /* of a topic */
void safe_want_hint(struct zk_safe *m, struct safe_topic *t);
void safe_forget_topics(struct zk_safe *m);
void safe_run_topics(struct zk_safe *m, struct group_outputs *out);
void safe_topic_answer(struct zk_safe *m, const struct safe_sent *sent,
                       const struct zk_result *answer, struct group_outputs *out);
void safe_tell_released(struct zk_safe *m, const struct safe_partition *p, int zk_rc,
                        struct group_outputs *out);

/* ---- zk_safe_offsets.c ---- */

/* Something is to be written. */
bool safe_commit_is_due(const struct safe_partition *p);

/* The application is done up to `offset`, which is to be committed. */
/* The application is done with everything below; `moves` as in group_position. */
void safe_finished(struct zk_safe *m, struct safe_partition *p, int64_t offset, uint32_t moves);

enum safe_foreign { FOREIGN_KEPT, FOREIGN_OBEYED, FOREIGN_IN_KAFKA };

/* A foreign write was found where `expected` was known. */
void safe_tell_foreign(struct zk_safe *m, struct safe_partition *p, int64_t found, int64_t expected,
                       enum safe_foreign kind, struct group_outputs *out);

/* The read of the stored offset, as part of `op`. False: out of memory, nothing sent. */
bool safe_offset_op(struct zk_safe *m, const struct safe_partition *p, struct zk_op *op);
void safe_offset_found(struct safe_partition *p, const struct zk_result *answer, struct why *why);

/* Sends the commit that is due. */
void safe_send_commit(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out);
void safe_commit_answer(struct zk_safe *m, struct safe_partition *p, const struct zk_result *answer,
                        struct group_outputs *out);

/* The part of a release that commits, or checks that nobody else has. Returns how many operations:
 * 0 or 1; SIZE_MAX: out of memory. */
size_t safe_release_part(struct zk_safe *m, struct safe_partition *p, struct zk_op *op);

/* It was carried out; `stat` of a set. */
void safe_committed(struct zk_safe *m, struct safe_partition *p, const struct zk_stat *stat,
                    struct group_outputs *out);

/* It was refused, by this code: true when the offset must be read again (unsure_offset is set). */
bool safe_commit_refused(struct zk_safe *m, struct safe_partition *p, int zk_rc,
                         struct group_outputs *out);

/* The operation for the offset's version in a probe. False: there is none, or no memory. */
bool safe_probe_part(struct zk_safe *m, const struct safe_partition *p, struct zk_op *op);

/* What the first read and what a reread found. */
void safe_offset_read(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out);
void safe_offset_reread(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out);

/* ---- zk_safe_stored.c ---- */

void safe_stored_init(struct zk_safe *m);
void safe_stored_forget(struct safe_partition *p);

/* Offsets are in Kafka (too); in znodes (too). */
static inline bool safe_has_stored(const struct zk_safe *m)
{
    return m->config.offsets_in != COMMIT_TO_ZOOKEEPER;
}

static inline bool safe_has_znodes(const struct zk_safe *m)
{
    return m->config.offsets_in != COMMIT_TO_KAFKA;
}

/* Something is to be committed to Kafka, or its outcome is not known. */
bool safe_store_is_due(const struct safe_partition *p);

/* `offset` is to be committed: when it is later than what is due already, or as the application has
 * asked, be it back. And back, whatever is stored. */
void safe_store(struct safe_partition *p, int64_t offset, bool as_asked);
void safe_store_rewind(struct safe_partition *p, int64_t offset);

/* Takes what was fetched and asks for what the partition needs, as it acts. */
void safe_act_stored(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out);

/* Whether a release may go: nothing is to be committed any more, or there is no time for it left,
 * which is told. */
bool safe_store_is_over(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out);

/* The session is over: nothing of it is sent, what was sent is not waited for. */
void safe_stored_lost(struct zk_safe *m, struct group_outputs *out);

/* Takes how requests have ended, before partitions act, and lets them go on, after that. */
void safe_take_stored(struct zk_safe *m, struct group_outputs *out);
void safe_run_stored(struct zk_safe *m, struct group_outputs *out);
int64_t safe_stored_deadline_ms(const struct zk_safe *m);

/* ---- zk_safe_offsets.c, commits of the timer and of the application ---- */

void safe_positions(struct zk_safe *m, const struct group_input *in);
void safe_commit(struct zk_safe *m, const struct group_input *in, struct group_outputs *out);
void safe_job_failed(struct zk_safe *m, const struct safe_partition *p, enum zkc_err err,
                     const char *text);
void safe_run_jobs(struct zk_safe *m, struct group_outputs *out);
void safe_free_jobs(struct zk_safe *m);

#endif
