/* The events of a trace, format rbtrace/1, in memory: what the simulator emits, what a reader of
 * JSON lines makes of a real run's file, and what checkers and metrics consume. JSON is one
 * encoding of them (event_json.h).
 *
 * Who emits hands each event to a sink; all that it points to is lent for that call. A member is
 * named by `m`, which is `src` too where the member itself speaks. Fields that a source does not
 * know hold the value named at the field; everything else is always there.
 *
 * Source: reference/rebalance-study.md 4, as docs/trace.md has it. */
#ifndef STUDY_TRACE_EVENT_H
#define STUDY_TRACE_EVENT_H

#include "zkconsumer/core/base/topic_partition.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_type {
    TRACE_RUN, /* the header; the first event */
    TRACE_END, /* the last one */
    TRACE_PHASE,
    TRACE_CAUSE,
    TRACE_FAULT,
    TRACE_HEAL,
    TRACE_M_START,
    TRACE_M_EXIT,
    TRACE_SUSPEND,
    TRACE_RESUME,
    TRACE_PRODUCE,
    TRACE_ZK_SESSION,
    TRACE_ZK_TXN,
    TRACE_ZK_ROLE,
    TRACE_ZK_STATE,
    TRACE_ZK_WATCH,
    TRACE_ZK_OP,
    TRACE_RB_TRIGGER,
    TRACE_RB_BEGIN,
    TRACE_RB_TRY,
    TRACE_VIEW,
    TRACE_DECIDE,
    TRACE_CLAIM,
    TRACE_RELEASE,
    TRACE_RB_TRY_END,
    TRACE_RB_BACKOFF,
    TRACE_RB_END,
    TRACE_OWN_BEGIN,
    TRACE_OWN_END,
    TRACE_FETCH_START,
    TRACE_FETCH_STOP,
    TRACE_OFFSET_READ,
    TRACE_COMMIT,
    TRACE_DELIVER,
    TRACE_PROCESSED,
    TRACE_LEASE,
    TRACE_VOID,
    TRACE_STORE,
    TRACE_MOVED,
    TRACE_SAMPLE,
    TRACE_VIOL,
};
#define TRACE_TYPE_COUNT (TRACE_VIOL + 1)

/* "run", "rb_try_end", ...: the value of `ev`. Static. */
const char *trace_type_name(enum trace_type type);

/* 0: states and truth; 1: and what each attempt did; 2: and each operation. */
#define TRACE_LEVEL_MAX 2
int trace_type_level(enum trace_type type);

/* Operations in the order of `ops`; the first six are those of enum zk_op_type. */
enum trace_op {
    TRACE_OP_CREATE,
    TRACE_OP_DELETE,
    TRACE_OP_EXISTS,
    TRACE_OP_GET,
    TRACE_OP_SET,
    TRACE_OP_CHILDREN,
    TRACE_OP_MULTI,
    TRACE_OP_SYNC,
};
#define TRACE_OP_COUNT (TRACE_OP_SYNC + 1)
const char *trace_op_name(enum trace_op op); /* "create", ..., "getChildren", "multi", "sync" */

/* What a path is for. */
enum trace_class {
    TRACE_CLASS_OTHER,
    TRACE_CLASS_ID,
    TRACE_CLASS_OWNER,
    TRACE_CLASS_OFFSET,
    TRACE_CLASS_BROKER,
    TRACE_CLASS_TOPIC,
};
const char *trace_class_name(enum trace_class c); /* "" for other, "id", "owner", ... */

/* The class of a path by its shape alone, and for owners and offsets the partition in it: a view
 * into `path` whose topic is topic_len long. */
struct trace_path {
    enum trace_class class_of;
    const char *topic; /* owner, offset, topic */
    size_t topic_len;
    int32_t partition; /* owner, offset */
};
struct trace_path trace_path_read(const char *path);

#define TRACE_SWITCHES_MAX 16

/* A write that the ensemble has committed, or one part of it. A session's end and a multi are
 * several events with the same zxid, one for each node, `part` counting from 0 to parts - 1. */
struct trace_txn {
    int64_t zxid;
    const char *what; /* create, delete, set; close (of a session: a node deleted with it, or path
                       * "" when it had none); open (of a session, no path); error (level 2): a
                       * write that was refused, or only checked: its zxid changes nothing: no path,
                       * session 0 */
    enum trace_class class_of;
    const char *path;
    uint64_t session;  /* who did it; of close: whose session ended */
    const char *m;     /* the member behind the session; NULL: nobody's, not known */
    const char *value; /* create, set; NULL: null. With its length: no terminator assumed */
    size_t value_len;
    uint64_t ephemeral_owner; /* of the node (before it went); 0: persistent, not known */
    uint32_t part, parts;
};

struct trace_event {
    enum trace_type type;
    uint64_t t_ns; /* since the run's start */
    uint64_t gs;   /* place in the total order, from 0; in real runs: as read */
    uint64_t seq;  /* per src, from 0 without gaps */
    const char *src;
    const char *m; /* the member it is about; NULL: none */
    union {
        struct {
            const char *mode, *variant, *strategy, *scenario;
            uint64_t seed;
            bool is_virtual;   /* the clock */
            bool is_capture;   /* derived from what passed between members and ZooKeeper: what a
                                * member does inside is not seen */
            bool is_of_writes; /* the ensemble's writes alone, each at a time between its request
                                * and its answer */
            bool is_logged;    /* ... from ZooKeeper's own log: all of them */
            int level;
            uint32_t member_count; /* at the start */
            const struct trace_topic {
                const char *name;
                int32_t partitions;
            } * topics;
            size_t topic_count;
            int64_t session_timeout_ms, backoff_ms, commit_interval_ms; /* -1: not known */
            uint32_t attempts_max;                                      /* 0: not known */
            struct trace_switch {
                const char *name, *value;   /* as configured */
            } switches[TRACE_SWITCHES_MAX]; /* that are not as in 0.8.2 */
            size_t switch_count;
        } run;
        struct {
            const char *reason; /* done, timeout, violation */
            uint64_t events, drops;
        } end;
        struct {
            const char *name; /* warmup, measure, heal, drain */
        } phase;
        struct {
            uint32_t id;        /* counts from 1 */
            const char *kind;   /* join, leave, crash, expire, partitions, topic, broker */
            const char *who;    /* "" : nobody in particular */
            const char *detail; /* "" */
        } cause;
        struct {
            uint32_t id;
            const char *kind, *target, *peer, *dir; /* "" where there is none */
        } fault;                                    /* of heal: the same id */
        struct {
            const char *id; /* consumer id */
            const char *const *topics;
            size_t topic_count;
            const char *strategy;
            int32_t streams;  /* of each topic; 0: not known */
            const char *mode; /* "zookeeper:safe", ...; "" or NULL: the run's */
            bool is_observed; /* it may see the group by the observer of its process */
        } m_start;
        struct {
            bool is_clean;
            int code;
        } m_exit;
        struct {
            struct topic_partition p;
            int64_t first, last;        /* offsets */
            uint64_t first_ns, last_ns; /* evenly spaced between */
            uint64_t hash;              /* xor over the messages */
        } produce;
        struct {
            const char *what; /* open, close, expire, move */
            uint64_t session;
            const char *server; /* "" : not known */
        } zk_session;
        struct trace_txn zk_txn;
        struct {
            const char *server, *role; /* leading, following, looking, down */
            uint32_t epoch;
        } zk_role;
        struct {
            const char *state;  /* connected, disconnected, expired */
            const char *server; /* "" : none */
        } zk_state;
        struct {
            const char *path, *type; /* NodeCreated, ... */
            int64_t zxid_seen;       /* of the client when it came; 0: not known */
            uint64_t sent_ns;        /* the server's; 0: not known */
        } zk_watch;
        struct {
            enum trace_op op;
            const char *path;
            bool has_watch;
            int zk_rc;
            int64_t zxid; /* last one the answering server had applied; 0: not known */
            uint64_t latency_ns;
        } zk_op;
        struct {
            const char *why; /* watch, start, expired, leave */
            uint32_t cause;  /* 0: not known */
        } rb_trigger;
        struct {
            uint32_t rb;
        } rb_begin;
        struct {
            uint32_t rb, i; /* i counts from 0 */
        } rb_try;
        struct {
            uint32_t rb, i;
            uint64_t hash;
            int64_t zxid_first, zxid_last; /* 0: not known */
            size_t member_count, partition_count;
            const char *const *members; /* sorted consumer ids; NULL: seen before under this hash */
            const struct topic_partition *partitions; /* sorted; NULL likewise */
        } view;
        struct {
            uint32_t rb, i;
            const struct topic_partition *want; /* by topic and number */
            size_t count;
        } decide;
        struct {
            uint32_t rb, i;
            struct topic_partition p;
            const char *rc;     /* ok, exists, error */
            const char *holder; /* NULL: nobody else, or not known */
        } claim;
        struct {
            uint32_t rb, i;
            struct topic_partition p;
            const char *rc; /* ok, or the error's name */
            int foreign;    /* 1: the node was another session's, 0: our own, -1: not known */
        } release;
        struct {
            uint32_t rb, i;
            bool ok;
            const char *why; /* "" when ok */
            uint64_t ops[TRACE_OP_COUNT];
            uint64_t bytes_in, bytes_out;
            uint64_t read_ns, stop_ns, commit_ns, release_ns, claim_ns;
        } rb_try_end;
        struct {
            uint32_t rb, i;
            uint64_t ns;
        } rb_backoff;
        struct {
            uint32_t rb, tries;
            bool ok, gave_up, told_app;
        } rb_end;
        struct {
            struct topic_partition p;
            int64_t offset;  /* begin: where it starts; -1: auto.offset.reset decides */
            const char *why; /* end: release, lost, exit; begin: "" */
            uint64_t claim;  /* end, safe: a number of the claim's own; 0: not known */
        } own;
        struct {
            const struct topic_partition *ps;
            size_t count;
        } fetch;
        struct {
            struct topic_partition p;
            int64_t offset;   /* -1: none stored */
            int64_t previous; /* commit: stored or read before by this member; -1: none */
            const char *rc;   /* commit: ok, or the error's name */
            int64_t zxid;     /* read: seen at; commit: applied at; 0: in Kafka, or not known */
        } offset;             /* of offset_read and commit */
        struct {
            struct topic_partition p;
            int64_t first, last;        /* offsets */
            uint64_t first_ns, last_ns; /* of the first and last hand-over */
            uint64_t hash;              /* xor over the messages; 0: not known */
        } deliver;
        struct {
            struct topic_partition p;
            int64_t offset;
            uint64_t claim; /* as in `own` */
        } processed;        /* the application is done with what it was given, below offset */
        struct {
            uint64_t session;
            uint64_t until_ns; /* nothing is handed out from then on; on the run's clock */
        } lease;               /* safe: as it is from now on */
        struct {
            struct topic_partition p;
            int64_t offset; /* what was handed out from here on no longer counts */
            uint64_t claim; /* as in `own` */
        } voided;           /* safe: the hand-over's time is up */
        struct {
            struct topic_partition p;
            int64_t offset, previous; /* previous: kept until now; -1: none */
            uint64_t session;         /* of `m` in ZooKeeper, when it sent it */
            uint64_t sent_ns;
            bool is_awaited; /* m waits for the answer; it may have given it up */
        } store;             /* an offset that the group's offset manager keeps from now on */
        struct {
            struct topic_partition p;
            int64_t offset;
        } moved; /* safe: hand-outs go on from here, as the application or auto.offset.reset said */
        struct {
            const char *role;
            uint64_t watches, queue;
            uint64_t ops[TRACE_OP_COUNT]; /* cumulative */
        } sample;
        struct {
            const char *invariant, *severity, *detail; /* severity: must, count */
            const uint64_t *refs;                      /* gs of the events that show it */
            size_t ref_count;
        } viol;
    };
};

/* The content of message `offset` of partition number `partition` of a topic with this hash, and
 * the xor of those of first .. last, in O(1). */
uint64_t trace_message_hash(uint64_t partition_hash, int64_t offset);
uint64_t trace_messages_hash(uint64_t partition_hash, int64_t first, int64_t last);
uint64_t trace_partition_hash(const char *topic, int32_t partition);

/* Where events go. */
struct trace_sink {
    int level; /* events above it are not wanted; the source may leave them out */
    void (*emit)(const struct trace_event *event, void *user);
    void *user;
};

#endif
