/* What a group machine asks of its shell and tells it. The shell carries out all outputs of a step,
 * in order, before it feeds the next input. Pointers in outputs are lent until the next step of the
 * machine they came from. */
#ifndef ZKC_GROUP_OUTPUT_H
#define ZKC_GROUP_OUTPUT_H

#include "zkconsumer/core/base/topic_partition.h"
#include "zkconsumer/core/zk/op.h"
#include <zkconsumer/error.h>

/* Operations of one lane follow each other: the next is sent when the one before is answered, as
 * one thread of the Java member would. Lanes are independent of each other. */
enum group_lane {
    GROUP_LANE_REBALANCE, /* whoever rebalances: the caller, the executor, the session handler */
    GROUP_LANE_EVENTS,    /* zkclient's event thread: re-arms watches; registers again */
    GROUP_LANE_COMMIT,    /* offset commits: timer, explicit, and those of a rebalance */
    GROUP_LANE_FINDER,    /* the leader finder's broker scans */
    GROUP_LANE_OFFSETS,   /* broker scans of the search for the offset manager */
    /* These two are no lanes in that sense: any number of operations may be under way, told apart
     * by `seq` alone. They are sent in order on one connection, and never a second time. */
    GROUP_LANE_SAFE, /* zk_safe; the probes of zk_compat's lease */
    GROUP_LANE_VIEW, /* zk_viewer, within zk_safe or as the observer of a process */
};
#define GROUP_LANE_COUNT 5 /* of the serial ones */

/* A partition of ours. */
struct group_claim {
    const char *topic; /* lent as long as the machine */
    int32_t partition;
    int32_t thread;       /* number of the stream of this topic */
    int64_t offset;       /* next to read as stored; -1: none, auto.offset.reset decides */
    uint32_t topic_index; /* in the machine's own subscription */
    uint64_t number;      /* zk_safe: counts from 1 in a machine's life, never reused; else 0 */
    int64_t session_id;   /* of its owner node; its lease is this claim's lease. 0: no owner node */
    const char *leader_host; /* zk_safe: of its leader, as found while the partition was another's;
                              * lent as long as the machine. NULL: GROUP_OUT_LEADERS will say */
    int32_t leader_id, leader_port;
};

struct group_position {
    const char *topic;
    int32_t partition;
    int64_t offset; /* next to hand out; -1: not known yet. zk_safe: next after what is finished */
    uint64_t claim; /* zk_safe: number of the claim this is of; 0: whatever is owned now */
    uint32_t moves; /* zk_safe, with a claim: how often the position was set to somewhere else (a
                     * seek, auto.offset.reset, a start offset of the application's) since the
                     * claim's gate was opened. At a new number the offset counts as it is, also
                     * below what was finished before: it is what the application asked for */
};

/* Where offsets are kept: offsets.storage, dual.commit.enabled. */
enum commit_store { COMMIT_TO_ZOOKEEPER, COMMIT_TO_KAFKA, COMMIT_TO_BOTH };

/* Requests to brokers for offsets.storage=kafka. */
enum group_offsets_request {
    GROUP_OFFSETS_FIND,   /* who is the group's offset manager? */
    GROUP_OFFSETS_FETCH,  /* what is stored of these partitions? */
    GROUP_OFFSETS_COMMIT, /* store these offsets */
};

/* One partition in such a request, or in its answer. */
struct group_offset {
    const char *topic;
    int32_t partition;
    int64_t offset;      /* next to read; -1: none */
    int16_t kafka_error; /* of an answer */
};

/* By topic name and partition; arguments as qsort() and bsearch() give them. */
int group_offset_compare(const void *a, const void *b);

/* That of this partition in a sorted list; NULL: none. */
const struct group_offset *group_offset_find(const struct group_offset *list, size_t count,
                                             const char *topic, int32_t partition);

/* A leader that was found. */
struct group_leader {
    const char *topic;
    int32_t partition;
    int32_t broker_id;
    const char *host;
    int32_t port;
};

enum group_stop_why {
    GROUP_STOP_REBALANCE, /* a rebalance: everything is given back, or may be claimed again */
    GROUP_STOP_LOST,      /* a rebalance after the session ended: it may be another's already */
    GROUP_STOP_FAILED,    /* clean-up after a failed attempt */
    GROUP_STOP_LEAVE,
};

/* Why the gate of a claim closes. */
enum group_gate {
    GROUP_GATE_REVOKED, /* given back in order: what the application finishes still counts */
    GROUP_GATE_LOST,    /* it may be another's already */
};

/* Why what the application holds of a stopped claim does not count any more. */
enum group_void {
    GROUP_VOID_LATE,  /* the time for handing over is up */
    GROUP_VOID_RESET, /* a forced reset by our tools has moved the offset */
    GROUP_VOID_LOST,  /* the partition is not ours any more */
};

enum group_output_type {
    /* ---- to do ---- */
    GROUP_OUT_OP,          /* send op; answer with the same lane and seq */
    GROUP_OUT_STOP,        /* close the gates, drop what is queued, stop fetching; then feed the
                            * positions reached */
    GROUP_OUT_POSITIONS,   /* feed the positions reached, for the commit that is due */
    GROUP_OUT_ASSIGN,      /* claimed: fetch from their offsets as soon as leaders are known */
    GROUP_OUT_METADATA,    /* ask this broker for the leaders of these topics */
    GROUP_OUT_LEADERS,     /* hand these partitions to the fetchers of their leaders */
    GROUP_OUT_OFFSETS_ASK, /* send this request to this broker, on the one connection for offsets,
                            * which is made anew for another broker or timeout */
    GROUP_OUT_OFFSETS_HANG_UP, /* close that connection */
    GROUP_OUT_COMMIT_QUEUED,   /* answers GROUP_IN_COMMIT: by this job, or refused */
    GROUP_OUT_COMMITTED,       /* the commit job has ended */
    GROUP_OUT_CLOSE_SESSION, /* the last of all: everything is done that can be done. zk_safe: feed
                              * GROUP_IN_SESSION_CLOSED when it is closed; an evicted member goes on
                              */
    GROUP_OUT_LEASE,         /* of a session: what was claimed in it is handed out before end_ms
                              * only. zk_compat tells it with a fence only */
    /* ---- to do, of zk_safe only ---- */
    GROUP_OUT_OPEN_SESSION, /* a new session, please, after one that was closed */
    GROUP_OUT_FETCH_START,  /* open the gate of this claim and fetch from its offset as soon as the
                             * leader is known */
    GROUP_OUT_FETCH_STOP,   /* close the gate of this claim at once, drop what is queued, stop
                             * fetching;  then feed GROUP_IN_DRAINED, once nothing of it is in the
                             * application's  hands (at once where nothing is) */
    GROUP_OUT_VOID, /* of a claim that was stopped: what is still out does not count any more,
                     * no GROUP_IN_DRAINED is needed */
    /* ---- to know ---- */
    GROUP_OUT_NOTICE,  /* a line for the log, or an error for the application */
    GROUP_OUT_STATE,   /* registered, settled: what zkc_consumer_wait() waits for */
    GROUP_OUT_TRIGGER, /* rb_trigger of the trace, and so on */
    GROUP_OUT_REBALANCE_BEGIN,
    GROUP_OUT_TRY_BEGIN,
    GROUP_OUT_VIEW,
    GROUP_OUT_DECIDE,
    GROUP_OUT_CLAIM,
    GROUP_OUT_RELEASE,
    GROUP_OUT_OFFSET_READ,
    GROUP_OUT_COMMIT,
    GROUP_OUT_OFFSETS_READ,   /* what Kafka had stored */
    GROUP_OUT_OFFSETS_STORED, /* what Kafka said to a commit */
    GROUP_OUT_TRY_END,
    GROUP_OUT_BACKOFF,
    GROUP_OUT_REBALANCE_END,
    /* ---- to know, of zk_safe only ---- */
    GROUP_OUT_WAITING, /* a partition that we should have is another's; told again when that
                        * changes; holder NULL: it is over */
    GROUP_OUT_EVICTED, /* the application has not polled for the limit: everything is given back and
                        * the session ends; the next poll joins again */
    GROUP_OUT_FOREIGN, /* somebody else has written the offset of a partition that we own */
    GROUP_OUT_DELETED, /* somebody else has deleted our owner node */
    GROUP_OUT_RETURNED, /* a member without a lease that had partitions of ours before is back, in
                         * another session: it has delivered them beside us, unless it was
                         * restarted */
    GROUP_OUT_GAVE_UP,  /* a member without a lease is registered, and partitions of its share are
                         * with nobody; told again when that changes */
};

struct group_view_member {
    const char *consumer_id;
};

struct group_view_topic {
    const char *topic;
    const int32_t *partitions; /* ascending */
    size_t count;
};

struct group_output {
    enum group_output_type type;
    union {
        struct {
            enum group_lane lane;
            uint32_t seq;
            struct zk_op op;
        } op;
        enum group_stop_why stop;
        struct {
            const struct group_claim *claims; /* by topic name and partition */
            size_t count;
        } assign, decide;
        struct {
            uint32_t seq; /* answer with the same */
            int32_t broker_id;
            const char *host;
            int32_t port;
            const char *const *topics;
            size_t topic_count;
        } metadata;
        struct {
            const struct group_leader *list;
            size_t count;
        } leaders;
        struct {
            uint32_t seq; /* answer with the same */
            enum group_offsets_request request;
            const char *group;
            const char *host;
            int32_t port;
            int64_t timeout_ms;
            int64_t until_ms; /* not to be sent from then on (as the lease's end_ms): the answer is
                               * then that there is none. INT64_MAX: whenever */
            const struct group_offset *list; /* sorted by topic and partition; none for FIND */
            size_t count;
        } offsets_ask;
        struct {
            const struct group_offset *list; /* sorted by topic and partition */
            size_t count;
        } offsets;
        struct {
            uint32_t job;
            enum zkc_err err;
            const char *text; /* "" when there is nothing to say */
        } committed;
        struct {
            int level;            /* syslog's: 3 error, 4 warning, 6 info, 7 debug */
            const char *facility; /* member, claim, offset, zk */
            enum zkc_err err;     /* ZKC_OK: only for the log */
            const char *text;
        } notice;
        struct {
            bool registered; /* the ids node exists in this session */
            bool settled;    /* the first rebalance has ended, well or not */
            bool gave_up;    /* the last rebalance was given up */
        } state;
        const char *trigger; /* start, watch, expired */
        struct {
            uint32_t rebalance; /* counts from 1 */
        } rebalance_begin;
        struct {
            uint32_t rebalance;
            uint32_t attempt; /* counts from 0 */
        } try_begin;
        struct {
            uint32_t rebalance;
            uint32_t attempt;
            uint64_t hash;                           /* of the sorted members and partitions */
            const struct group_view_member *members; /* sorted by consumer id */
            size_t member_count;
            const struct group_view_topic *topics; /* sorted by name */
            size_t topic_count;
        } view;
        struct {
            const char *topic;
            int32_t partition;
            int zk_rc;          /* of the create: ZK_OK, ZK_NODE_EXISTS (conflict) or an error */
            const char *holder; /* who holds it, when not we; NULL: gone, or not known */
        } claim;
        struct {
            const char *topic;
            int32_t partition;
            int zk_rc;
        } release;
        struct {
            const char *topic;
            int32_t partition;
            int64_t offset;
            int64_t previous; /* of commit: what was stored by us or read before */
            int zk_rc;
        } offset;
        struct {
            uint32_t rebalance;
            uint32_t attempt;
            bool ok;
            const char *why; /* "" when ok */
        } try_end;
        int64_t backoff_ms; /* 0: until contested nodes are gone */
        struct {
            uint32_t rebalance;
            uint32_t attempts;
            bool ok;
            bool gave_up;
        } rebalance_end;
        struct group_claim fetch_start; /* offset -1: none is stored, auto.offset.reset decides */
        struct {
            const char *topic;
            int32_t partition;
            uint64_t claim; /* number */
            enum group_gate gate;
            bool is_restreamed; /* it is still ours by the last view, for another of our streams */
        } fetch_stop;
        struct {
            const char *topic;
            int32_t partition;
            uint64_t claim; /* number */
            enum group_void reason;
            int64_t reset; /* GROUP_VOID_RESET: where it goes on */
        } voided;
        struct {
            int64_t session_id;
            int64_t end_ms; /* INT64_MAX: no end; INT64_MIN: over */
        } lease;
        struct {
            const char *topic;
            int32_t partition;
            const char *holder; /* content of the owner node: a thread id; NULL: it is over */
            int64_t since_ms;
        } waiting;
        struct {
            int64_t limit_ms;
            int64_t polled_ms; /* last poll */
        } evicted;
        struct {
            const char *topic;
            int32_t partition;
            int64_t found;    /* -1: none: the node was deleted */
            int64_t expected; /* what we wrote or read last; -1: none */
            const char *by;   /* the member without a lease that had the partition before us, so
                               * that it was it, most likely; NULL: not known */
            int64_t doubled;  /* messages that it has consumed of those that we deliver */
            bool is_obeyed;   /* it was a forced reset by our tools: we go on from there */
            bool is_in_kafka; /* that is where it was written */
        } foreign;
        struct {
            const char *topic;
            int32_t partition;
            const char *by; /* who has it now, or the member without a lease that had it before
                             * us; NULL: not known */
        } deleted;
        struct {
            const char *consumer_id;
            const struct group_position *list; /* partitions, and where our claims began; -1: not
                                                * known */
            size_t count;
        } returned;
        struct {
            const char *consumer_id;
            size_t free, share; /* partitions with nobody, of how many; free 0: it is over */
            int64_t since_ms;   /* when it was seen first */
        } gave_up;
    };
};

#define GROUP_OUTPUTS_MAX      512
#define GROUP_OUTPUT_TEXT_SIZE 16384

/* The outputs of one step. Large: keep one per loop, not one per member. */
struct group_outputs {
    struct group_output list[GROUP_OUTPUTS_MAX];
    size_t count;
    char text[GROUP_OUTPUT_TEXT_SIZE]; /* behind the texts of this step */
    size_t text_len;
};

void group_outputs_clear(struct group_outputs *out);

/* Adds an output of this type and returns it, to be filled in. */
struct group_output *group_emit(struct group_outputs *out, enum group_output_type type);

/* A text that lives as long as the outputs of this step; cut when there is no room. */
const char *group_text(struct group_outputs *out, const char *fmt, ...) ZKC_PRINTF(2, 3);

/* Emits a GROUP_OUT_NOTICE. */
void group_notice(struct group_outputs *out, int level, const char *facility, enum zkc_err err,
                  const char *fmt, ...) ZKC_PRINTF(5, 6);

/* Of the members and partitions of a view, both sorted: equal views have equal hashes. */
uint64_t group_view_hash(const struct group_view_member *members, size_t member_count,
                         const struct group_view_topic *topics, size_t topic_count);

/* ---- lanes ---- */

/* The operation under way in a lane. A write or read whose connection was lost is kept and sent
 * again when there is one, without limit, as zkclient does (ZkClient.retryUntilConnected): so a
 * write may land in a later session than the one it was meant for. What the operation points to
 * stays with its program until the program is stepped again. */
struct lane {
    struct zk_op op;
    uint32_t seq; /* of the operation last sent */
    bool busy;
    bool parked; /* waits for a connection */
};

/* Sends op in lane `which`, or parks it while not connected. The lane must not be busy. */
void lane_send(struct lane *lanes, enum group_lane which, const struct zk_op *op, bool connected,
               struct group_outputs *out);

/* True when this answer is for the lane's operation and ends it: the program may be stepped. False
 * for answers to operations given up, and for those that will be sent again. */
bool lane_answered(struct lane *lane, uint32_t seq, int zk_rc);

/* Sends again what is parked. Call when a connection is there. */
void lanes_resend(struct lane *lanes, struct group_outputs *out);

/* What was sent in a session that is over may never be answered: it is for the next connection. */
void lanes_park(struct lane *lanes);

/* An operation that failed without a word of a lost connection is sent again after this pause. */
#define GROUP_RESEND_MS 100

/* Gives up the lane's operation; an answer to it will be ignored. */
void lane_abandon(struct lane *lane);

#endif
