/* A deterministic world for the ZooKeeper group: ZooKeeper servers, brokers, links and processes,
 * and in them the very machine that runs in production (core/group, unchanged). The same
 * configuration and seed give the same events, byte for byte, whatever the compiler, the
 * optimisation or the machine.
 *
 *     sim_new ── sim_run_until ... ── sim_heal ── sim_run_until(settled) ── sim_free
 *
 * Actors are named: members m1, m2, ...; ZooKeeper servers zk1, zk2, ...; brokers b0, b1, .... A
 * member is a process; started again it is a new process of the same name.
 *
 * Time is virtual, in nanoseconds from 0. Nothing here reads a clock, a file or the environment,
 * sleeps, or starts threads; different worlds may run in different threads. */
#ifndef STUDY_SIM_SIM_H
#define STUDY_SIM_SIM_H

#include "study/trace/event.h"
#include "zkconsumer/core/assign/assign.h"
#include "zkconsumer/core/group/attempt.h"
#include "zkconsumer/core/group/zk_safe.h"
#include <zkconsumer/error.h>

#define SIM_MS    1000000ull
#define SIM_S     1000000000ull
#define SIM_NEVER UINT64_MAX

/* A time that is drawn: low_ns always, or uniform in [low_ns, high_ns], or log-normal with median
 * low_ns and the 99th percentile high_ns, or by a table of quantiles that are evenly spaced from
 * the 0th to the 100th, with straight lines between. */
struct sim_dist {
    enum { SIM_CONSTANT, SIM_UNIFORM, SIM_LOGNORMAL, SIM_TABLE } kind;
    uint64_t low_ns, high_ns;
    const uint64_t *table; /* borrowed for the world's life */
    size_t table_count;    /* >= 2 */
};

/* ---- what a world is made of ---- */

struct sim_zk_config {
    unsigned servers;    /* 1, 3, 5, 7 */
    uint32_t tick_ms;    /* sessions end at multiples of it; timeouts are held in [2, 20] ticks */
    uint32_t sync_limit; /* ticks without the leader (or a quorum) until a server gives up */
    uint64_t read_ns;    /* service time at a server, of its one request queue */
    uint64_t write_ns;
    struct sim_dist fsync;    /* of a write, at each server */
    struct sim_dist link;     /* one way, between servers */
    struct sim_dist election; /* from when a quorum looks until it has a leader */
};

struct sim_broker_config {
    unsigned count;
    uint64_t service_ns;    /* of a request */
    bool without_listeners; /* their ids nodes do not exist: the zero-brokers scenes */
};

struct sim_topic {
    const char *name;
    int32_t partitions;
    uint64_t rate_mhz; /* messages per partition and 1000 s */
    int64_t initial;   /* messages in each partition at time 0 */
};

/* A member's settings, as the configuration keys have them. */
struct sim_member_config {
    enum zk_variant variant;
    enum assign_strategy strategy;
    bool watch_brokers;
    struct zk_switches switches;
    bool auto_commit;
    int64_t auto_commit_interval_ms;
    int64_t session_timeout_ms;
    int64_t backoff_ms;
    uint32_t attempts_max;
    int64_t refresh_leader_backoff_ms;
    bool reset_largest;
    int32_t streams;       /* of each topic */
    uint32_t skips_topics; /* bit i: it does not subscribe to topic i of the world */
    bool is_filter;        /* safe: it subscribes by a filter, to whatever topics there are */
    int64_t fetch_wait_ms; /* a broker waits so long for fetch_min messages */
    int64_t fetch_min;
    int64_t fetch_max;           /* messages of one partition in one answer */
    int64_t queue_max;           /* messages fetched and not handed out, of one partition: then it
                                  * is left out of fetches */
    uint64_t process_ns;         /* the application, of each message */
    uint64_t stop_ns;            /* its handler, when partitions are taken away */
    uint64_t step_ns;            /* the process, of each event: its CPU */
    int32_t clock_ppm;           /* its clock runs so much too fast */
    int32_t streams_again;       /* when it is started again; 0: the same */
    size_t watch_packet_bytes;   /* safe: zookeeper.jute.maxbuffer; more watches than fit are spread
                                  * over further sessions; 0: all fit */
    unsigned watch_sessions_max; /* of these */
    size_t observer_packet_bytes; /* the same two for the observer that it starts for its process */
    unsigned observer_sessions_max;
    uint64_t watch_turn_ns; /* until there is time to close further sessions that are given up, and
                             * to tell what they carried */
    bool is_safe;           /* zookeeper.mode=safe, by `safe` */
    struct zk_safe_config
        safe; /* its own switches; what has a field above, and names, from there */
};

struct sim_member_plan {
    uint64_t start_ns;  /* SIM_NEVER: only when a fault starts it */
    const char *server; /* the only one that it connects to; NULL: any */
    unsigned process; /* safe: > 0, and up to the number of members: those with the same number are
                       * of one process, and those that subscribe as the first of them does share
                       * its observer; 0: a process of its own */
    const char *consumer_id; /* NULL: g_c1, g_c2, ...; started again under a new id (g_c1_2, ...) */
    struct sim_member_config config;
};

/* ---- faults as data ---- */

enum sim_fault_kind {
    SIM_JOIN,        /* who: a member that does not run: starts */
    SIM_LEAVE,       /* closes its consumer */
    SIM_CRASH,       /* member, server, broker: SIGKILL. for_ns: until it is started again */
    SIM_SUSPEND,     /* member, server, broker: SIGSTOP; for_ns, then SIGCONT: what came meanwhile
                      * is read then, late */
    SIM_EXPIRE,      /* the session of a member, of an observer, or a further one of it is closed by
                      * somebody else */
    SIM_CUT,         /* who, peer: nothing passes (dir); what was sent arrives after healing */
    SIM_RESET,       /* the connections between who and peer break */
    SIM_DELAY,       /* value_ns more on the way between who and peer (dir) */
    SIM_DELAY_WATCH, /* value_ns more for watch events to who; the answers behind them overtake */
    SIM_LOSE_REPLY,  /* the answer to the next operation of who that fits `point` is lost, with its
                      * connection: it has been carried out */
    SIM_LAG,         /* server: applies what is committed value_ns later */
    SIM_STALL,       /* server: its disk takes value_ns more for each write */
    SIM_SLOW_STOP,   /* member: its handler takes value_ns */
    SIM_SLOW_APP,    /* member: the application takes value_ns for each message */
    SIM_PARTITIONS,  /* topic: has `count` partitions from now on */
    SIM_TOPIC,       /* topic: is created, with `count` partitions and rate value_ns (mHz; of one
                      * that was deleted 0: as before) */
    SIM_LEADER,      /* topic, partition `count`: is led by the broker named by peer */
    SIM_UNREGISTER,  /* somebody deletes the member's ids node */
    SIM_MANAGER,     /* broker: is the group's offset manager from now on */
    SIM_SLOW_STORE,  /* broker: takes value_ns more to store offsets */
    SIM_TOPIC_GONE,  /* topic: is deleted, with its messages. TOPIC makes it again, from offset 0 */
    SIM_SEEK,        /* member, in safe mode: its application goes to offset value_ns (modulo what
                      * there is) of the partition that it holds as number `count` (modulo) */
    SIM_RESET_OFFSET, /* topic, partition `count`: a tool resets the group's offset to value_ns
                       * (modulo what there is) by force */
};
#define SIM_FAULT_KIND_COUNT (SIM_RESET_OFFSET + 1)
const char *sim_fault_kind_name(enum sim_fault_kind kind); /* "join", "lose_reply", ... */

/* A point of the protocol: a member is about to send this operation, or was told this. */
enum sim_point {
    SIM_POINT_ANY,
    SIM_POINT_REGISTER,    /* create of an ids node */
    SIM_POINT_CLAIM,       /* create of an owner node */
    SIM_POINT_RELEASE,     /* delete of an owner node */
    SIM_POINT_COMMIT,      /* setData or create of an offset */
    SIM_POINT_OFFSET_READ, /* getData of an offset */
    SIM_POINT_MEMBERS,     /* getChildren of ids */
    SIM_POINT_TRY,         /* an attempt begins */
    SIM_POINT_STOP,        /* fetchers are stopped */
    SIM_POINT_ASSIGN,      /* fetchers are started */
    SIM_POINT_BACKOFF,     /* a pause begins */
    SIM_POINT_STORE,       /* a commit to the offset manager */
    SIM_POINT_STORED,      /* a question to it: what it keeps */
};
#define SIM_POINT_COUNT (SIM_POINT_STORED + 1)
const char *sim_point_name(enum sim_point point); /* "any", "register", "offset_read", ... */

struct sim_when {
    enum { SIM_AT, SIM_AFTER_CAUSE, SIM_AT_POINT } kind;
    uint64_t base_ns;     /* AT: since 0; AFTER_CAUSE, AT_POINT: since then */
    uint64_t jitter_ns;   /* and u(0, jitter_ns) */
    uint32_t cause;       /* AFTER_CAUSE: its number in the trace, from 1 */
    const char *who;      /* AT_POINT: member; "any" */
    enum sim_point point; /* AT_POINT */
    uint32_t nth;         /* AT_POINT: from 1 */
};

enum sim_dir { SIM_BOTH, SIM_OUT, SIM_IN }; /* OUT: from who to peer */

/* Names: "m3", "zk1", "b0", "o1" (the observer of process 1), "o1.2" (its second further session);
 * "m*", "zk*", "b*", "o1*" all that begin so; "zk:leader"; "random" a running member.
 */
struct sim_fault {
    struct sim_when when;
    enum sim_fault_kind kind;
    const char *who;
    const char *peer; /* CUT, RESET, DELAY: default "zk*"; LEADER */
    enum sim_dir dir;
    uint64_t for_ns; /* SIM_NEVER: until sim_heal() */
    uint64_t value_ns;
    const char *topic;
    int32_t count;
    enum sim_point point; /* LOSE_REPLY */
};

/* Bugs that a test may plant, to see that the checkers find them. Bits. */
enum sim_bug {
    SIM_BUG_STOP_LATE = 1 << 0,        /* fetching goes on for a while after a stop was answered */
    SIM_BUG_DELETE_FOREIGN = 1 << 1,   /* a release deletes a partition more than are owned */
    SIM_BUG_WATCH_ONCE = 1 << 2,       /* watches left a second time on a path are forgotten */
    SIM_BUG_EXPIRY_IN_PARTS = 1 << 3,  /* a session's nodes go one transaction after the other */
    SIM_BUG_KEEP_CLAIM = 1 << 4,       /* undoing a failed attempt is answered, and not done */
    SIM_BUG_COMMIT_AHEAD = 1 << 5,     /* positions are those fetched, not those delivered */
    SIM_BUG_OBSERVER_BLIND = 1 << 6,   /* as WATCH_ONCE, of observers */
    SIM_BUG_WATCHES_DEAF = 1 << 7,     /* what a further session is told is not told on */
    SIM_BUG_WATCHES_OUTLIVED = 1 << 8, /* what one says that was given up counts for the next */
};

struct sim_config {
    uint64_t seed;
    bool shuffle_ties; /* events of equal time in a seeded order instead of the order of their birth
                        */
    const char *group; /* default "g" */
    const char *scenario; /* name in the trace; default "" */
    struct sim_zk_config zk;
    struct sim_broker_config brokers;
    struct sim_dist client_link; /* one way, member to ZooKeeper and to brokers */
    const struct sim_topic *topics;
    size_t topic_count;
    const struct sim_member_plan *members;
    size_t member_count;
    const struct sim_fault *faults;
    size_t fault_count;
    unsigned bugs;                  /* enum sim_bug */
    const struct trace_sink *sinks; /* each gets every event up to its level */
    size_t sink_count;
};

/* Defaults: seed 1; 3 servers of tick 2000 ms, syncLimit 5; read 40 us, write 80 us, fsync 300 us
 * to 2 ms, links 100 to 300 us, election 100 to 400 ms; 3 brokers; no topics, no members. */
void sim_config_init(struct sim_config *config);
/* Kafka 0.8.2's: range, 6 s session, 2 s backoff, 4 attempts, commit each 60 s. */
void sim_member_config_init(struct sim_member_config *config);

/* ---- running ---- */

struct sim;

/* Everything is copied but what is said to be borrowed. On failure `why` (of why_size bytes) says
 * which field is wrong and what was expected.
 *
 * ZKC_ERR_CONFIG  sizes that contradict each other, a fault that names nobody, an impossible time
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err sim_new(const struct sim_config *config, struct sim **out, char *why,
                                    size_t why_size);
/* Ends the run: emits `end` with its reason ("done"; "nomem" when memory had run out) and frees.
 * NULL is allowed. */
void sim_free(struct sim *sim);

/* ZKC_ERR_NOMEM: memory has run out in the midst of an event, and the run has ended there for good:
 * time passes, nothing happens any more, and what was told and counted until then is a part of a
 * run. ZKC_OK: not so. Ask after running. */
enum zkc_err sim_failed(const struct sim *sim);

uint64_t sim_now(const struct sim *sim);

/* Runs all events up to and including t_ns; the time is t_ns then. */
void sim_run_until(struct sim *sim, uint64_t t_ns);

/* Runs until pred is true after an event, at most until t_ns. True if it was. */
bool sim_run_until_true(struct sim *sim, bool (*pred)(const struct sim *sim, void *user),
                        void *user, uint64_t t_ns);

/* Ends all faults that last: cuts, delays, suspensions, slowness; crashed servers and brokers
 * start again; faults that are still to come do not. Crashed members stay away. A leader that keeps
 * a server out for good, whose epoch is later, is restarted, as an operator would. */
void sim_heal(struct sim *sim);

/* Every partition of every topic has exactly one running, unsuspended member that is fetching it,
 * whose session created its owner node; no member is rebalancing or has to. With no member running:
 * no owner node is left. `user` is not used (a predicate for sim_run_until_true). */
bool sim_is_stable(const struct sim *sim, void *user);
/* Why not, for people: the first thing that is missing. Static or lent until the next call. */
const char *sim_why(struct sim *sim);

/* Applies one fault now (its `when` is not looked at). False: it names nobody that it could act on.
 */
bool sim_do(struct sim *sim, const struct sim_fault *fault);

/* ---- looking ---- */

/* Of all events so far, in order, level 2: equal for equal runs. */
uint64_t sim_hash(const struct sim *sim);

struct sim_counts {
    uint64_t events; /* of the kernel */
    uint64_t trace_events;
    uint64_t allocations; /* of the kernel and the pools, since sim_new() */
};
struct sim_counts sim_counts(const struct sim *sim);

/* Operations of a member since it was started, as counts.jsonl counts them. */
struct sim_member_counts {
    uint64_t reads, writes, watches, events;
    uint64_t rebalances, attempts, gave_up;
    uint64_t ops[TRACE_OP_COUNT];
};
/* False: no such member. */
bool sim_member_counts(const struct sim *sim, const char *member, struct sim_member_counts *out);

/* zk_compat_state_name(), or "down", "suspended"; NULL: no such member. */
const char *sim_member_state(const struct sim *sim, const char *member);

/* Partitions of this topic that the member holds, ascending; at most max are written. */
size_t sim_member_owned(const struct sim *sim, const char *member, const char *topic,
                        int32_t *partitions, size_t max);

/* Data of a node in the ensemble's latest committed state. False: there is none. */
bool sim_node(const struct sim *sim, const char *path, struct bytes *data, uint64_t *owner);

/* Group members registered, by the latest committed state. */
size_t sim_registered(const struct sim *sim);

#endif
