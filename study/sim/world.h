/* What the files of the simulator share: the whole world. */
#ifndef STUDY_SIM_WORLD_H
#define STUDY_SIM_WORLD_H

#include "study/sim/tracer.h"
#include "study/sim/zk_client.h"
#include "zkconsumer/core/group/zk_compat.h"
#include "zkconsumer/core/group/zk_safe.h"
#include "zkconsumer/core/zk/watch_spread.h"

/* ---- messages: the truth about them ---- */

struct log_state {  /* of a partition */
    int32_t leader; /* broker; -1: none */
    uint64_t born_ns;
    uint64_t rate_mhz;
    int64_t initial;
    uint64_t hash;  /* trace_partition_hash() */
    int64_t told;   /* offsets below it stand in the trace (produce) */
    int64_t stored; /* the group's offset, as its offset manager keeps it; -1: none */
};

struct topic_state {
    char *name;         /* of the pool */
    int32_t partitions; /* 0: it is gone */
    int32_t logs_cap;   /* entries of `logs`: what is gone is still held by members */
    uint64_t rate_mhz;
    struct log_state *logs;
    bool is_gone;
    int32_t partitions_due; /* of one that is gone: it is to be made again with so many; 0: not */
};

/* ---- brokers ---- */

struct broker {
    struct node node;
    struct sim *world;
    int32_t id;
    uint64_t cpu_until_ns;
    uint32_t registration; /* counts starts, for the end of the one before */
    struct trace_source source;
    /* as the offset manager */
    uint64_t store_ns;        /* more to store offsets */
    uint64_t stored_until_ns; /* what it has been asked to store is stored */
    uint64_t loads_until_ns;  /* it reads what the one before has left */
    uint64_t learns_until_ns; /* it does not know all topics yet */
};

/* Partition of a fetch and of its answer. */
struct fetch_item {
    uint32_t topic; /* number in the world */
    int32_t partition;
    int64_t offset;  /* asked for; -1: where auto.offset.reset says */
    uint64_t claim;  /* the asker's */
    int64_t count;   /* answer: messages from `offset` on */
    bool is_refused; /* answer: not led here */
};

struct fetch_msg {
    enum msg_type type; /* FETCH, FETCHED */
    struct conn *conn;  /* at the broker, while it waits */
    uint64_t until_ns;
    uint64_t wait_ns;
    int64_t min, max;
    bool reset_largest;
    uint64_t seq;
    uint32_t count;
    struct fetch_item items[];
};

/* A question for the group's offset manager or to it, and its answer. */
struct offsets_item {
    uint32_t topic;
    int32_t partition;
    int64_t offset;
    int16_t kafka_error;
};

struct offsets_msg {
    enum msg_type type; /* OFFSETS, OFFSETS_ANSWER */
    enum group_offsets_request request;
    struct conn *conn; /* at the broker, while it waits */
    uint32_t seq;
    uint64_t session, sent_ns; /* of the asker, for the trace */
    bool is_answered;          /* it waits to be stored, and its answer was "not in time" */
    int16_t kafka_error;       /* of an answer to FIND */
    int32_t broker;            /* likewise: the offset manager */
    uint32_t count;
    struct offsets_item items[];
};

struct leader_item {
    uint32_t topic;
    int32_t partition, broker;
};

struct metadata_msg {
    enum msg_type type; /* METADATA: topics are asked for; LEADERS */
    uint32_t seq, count;
    struct leader_item items[];
};

/* ---- members ---- */

enum member_life { MEMBER_DOWN, MEMBER_RUNS, MEMBER_CLOSING };

/* A partition that is held. */
struct held {
    uint32_t topic;
    const char *name; /* the machine's: lent as long as it */
    int32_t partition;
    uint64_t claim;  /* a number of its own, for each place that it is read from */
    uint32_t moves;  /* as in group_position */
    int64_t session; /* that claimed it */
    int32_t broker;  /* that it is fetched from; -1: its leader is looked for */
    int64_t start;   /* offset it began with; -1: not known yet */
    int64_t fetched; /* next to ask for; -1: auto.offset.reset decides */
    int64_t taken;   /* next to hand out; -1: not known yet */
    bool is_begun;   /* fetch_start was told */
    uint64_t began_ns;
    /* of safe mode */
    uint64_t number; /* the machine's */
};

/* A claim of safe mode whose gate has been closed, until the application is done with it. */
struct draining {
    const char *name;
    int32_t partition;
    uint64_t number;
    uint64_t at_ns;       /* done */
    int64_t finished;     /* then; -1: nothing */
    int64_t taken_before; /* finished until then */
    uint32_t moves;       /* as in group_position */
};

struct unsent {
    enum group_lane lane;
    uint32_t seq;
};

/* Messages that wait for the application, or are being worked on. */
struct chunk {
    uint64_t claim;
    int64_t first, count;
};

struct member_source {   /* of one broker */
    enum peer_kind kind; /* PEER_BROKER */
    struct conn *conn;
    uint64_t seq;         /* of the fetch under way; 0: none */
    unsigned failures;    /* in a row */
    uint64_t retry_at_ns; /* SIM_NEVER: no */
};

struct member_query { /* for leaders, one at a time */
    enum peer_kind kind;
    struct conn *conn;
    uint32_t seq;
    bool is_open;
    uint64_t until_ns;
};

/* What io/offset_channel is in production: one connection to the offset manager, or to who may know
 * it; one question at a time. */
struct member_channel {
    enum peer_kind kind; /* PEER_OFFSETS */
    struct conn *conn;
    int32_t broker; /* that it is to */
    int64_t timeout_ms;
    uint32_t seq;
    bool is_waiting;
    uint64_t until_ns;          /* the answer is waited for */
    struct offsets_msg *unsent; /* until there is a connection; NULL: nothing */
    int64_t write_until_ms;     /* member's clock: then not any more */
};

/* Paths that a watch was left on, for planted bugs. */
struct watched {
    uint32_t *paths, count, cap;
};

struct watches; /* watches.c */

/* Of a process with several members. */
struct observer {
    struct node node;
    struct node further[WATCH_SESSIONS_MAX]; /* of its further sessions: links of their own */
    unsigned further_count;
    struct sim *world;
    struct trace_source source;
    struct zk_client zk;
    struct watches *watches; /* further sessions; NULL: none */
    uint32_t *unsent;        /* operations that are lost, oldest first */
    size_t unsent_count, unsent_cap;
    struct zk_viewer *viewer;
    struct zk_view *view; /* the last one; NULL: none, or it is lost */
    bool is_lost;         /* members have been told, and read by themselves */
    uint64_t patience_ns; /* without a connection until it is */
    uint64_t lost_at_ns;  /* SIM_NEVER: it is connected, or lost already */
    struct watched watched;
    struct timer timer;
};

struct attempt_trace {
    bool is_open; /* an attempt is under way */
    uint32_t rb, i;
    bool has_claimed;
    uint64_t ops[TRACE_OP_COUNT], bytes_in, bytes_out;
    uint64_t read_ns, stop_ns, commit_ns, release_ns, claim_ns, stop_began_ns;
    int64_t zxid_first, zxid_last;
};

struct member {
    struct node node;
    struct sim *world;
    uint32_t number; /* m1 is 0 */
    struct sim_member_plan plan;
    char id[96]; /* consumer id as registered, without the group */
    char whole_id[224];
    struct trace_source source;
    enum member_life life;
    uint32_t lives; /* starts so far */
    bool is_clean;  /* it leaves, and has said so */
    struct zk_client zk;
    struct watches *watches;  /* further sessions; NULL: none */
    struct zk_compat *compat; /* the machine: one of the two */
    struct zk_safe *safe;
    struct timer timer;
    bool is_feeding;
    bool exit_due;            /* the session is closed */
    bool has_deleted_foreign; /* by its last delete that was committed */
    /* what is due once outputs are carried out */
    bool stop_due, positions_due, leave_due;
    uint64_t stop_at_ns; /* the handler has done; SIM_NEVER */
    enum group_stop_why stop_why;
    bool has_lease; /* one was told: nothing is handed out but before its end */
    int64_t lease_session, lease_end_ms; /* INT64_MAX: no end; INT64_MIN: over */
    bool open_due, closed_due;           /* safe: a new session; the session is closed */
    bool is_leaving, is_evicted;
    bool is_reset;         /* the next stop is for an offset that was reset */
    uint32_t sessions;     /* opened in this life */
    struct unsent *unsent; /* operations that could not be sent, oldest first */
    size_t unsent_count, unsent_cap;
    struct group_position *positions;
    size_t position_count, position_cap;
    /* fetching, and the application */
    struct held *held;
    size_t held_count, held_cap;
    uint64_t claims;               /* made so far */
    bool is_late_stop;             /* planted bug */
    struct member_source *sources; /* one for each broker */
    uint64_t fetches;
    struct draining *draining;
    size_t draining_count, draining_cap;
    uint64_t busy_claim; /* of the message that the application works on until free_ns */
    uint64_t taken_ns;   /* when it took that */
    struct member_query query;
    struct member_channel channel;
    struct observer *observer; /* of its process; NULL: none */
    struct zk_view *view;      /* from there; NULL: it is lost */
    bool is_view_due;          /* the machine has not been told of `view` */
    struct chunk *queue;       /* ring */
    size_t queue_first, queue_count, queue_cap;
    uint64_t free_ns; /* when the application takes the next message of queue[0] */
    uint64_t process_ns, stop_ns, watch_delay_ns; /* as they are now */
    /* counted */
    struct sim_member_counts counts;
    struct attempt_trace attempt;
    uint64_t points[SIM_POINT_COUNT]; /* how often each was passed in all lives */
    bool is_settled, is_rebalancing;
    uint64_t view_hash, good_view_hash; /* of the last attempt, of the last one that succeeded */
    size_t view_members, view_partitions, good_view_members, good_view_partitions;
    struct watched watched;
};

/* ---- faults ---- */

struct fault_state {
    struct sim_fault fault; /* texts are the pool's */
    uint32_t number;        /* place in the configuration; of those done by hand, a new one */
    uint32_t id;            /* in the trace, once it has acted; 0 */
    bool is_due;            /* its event is on its way, or has come */
    bool is_active;
    uint64_t jitter_ns;
    struct node **targets, **peers; /* while active: whom it acted on */
    size_t target_count, peer_count;
    uint32_t seen; /* AT_POINT: how often */
    struct sim *world;
    struct fault_state *next; /* of those done by hand */
};

struct lose_reply {
    struct lose_reply *next;
    struct member *member;
    enum sim_point point;
};

/* ---- the world ---- */

struct session_owner { /* whose sessions are whose, for the trace */
    uint64_t session;
    struct member *member;
};

struct sim {
    struct sim_config config;
    struct rescue rescue;
    struct kernel kernel;
    struct pool pool;
    struct net net;
    struct tracer tracer;
    struct zk_ensemble zk;
    char *group;
    struct topic_state *topics;
    size_t topic_count, topic_cap;
    struct broker *brokers;
    struct member *members;
    struct observer *observers; /* by process, from 1 */
    struct fault_state *faults, *by_hand;
    size_t fault_count;
    uint32_t fault_ids, causes;
    bool has_manager;      /* somebody has offsets in Kafka */
    int32_t manager;       /* broker that keeps them; -1: none for now */
    uint32_t manager_turn; /* counts them */
    struct stream manager_stream;
    struct lose_reply *losers;
    struct trace_source src_control, src_ledger, src_zk[ZK_SERVERS_MAX];
    struct session_owner *sessions;
    size_t session_count, session_cap;
    struct stream fault_stream;
    struct group_outputs outputs; /* of the machine that is stepped: steps do not nest */
    bool is_healed;
    uint64_t *views; /* hashes told in full: an open table of view_cap, 0 is free */
    size_t view_count, view_cap;
    struct topic_partition *partitions; /* behind lists of events */
    const char **texts;
    size_t partitions_cap, texts_cap;
    struct buf why;
    uint64_t base_allocations;
};

/* broker.c */
void brokers_init(struct sim *w);
void brokers_start(struct sim *w);
void broker_crash(struct broker *b);
void broker_restart(struct broker *b);
int64_t log_end(const struct log_state *l, uint64_t t_ns);
uint64_t log_time_of(const struct log_state *l, int64_t offset); /* when it was produced */
struct topic_state *world_topic(struct sim *w, const char *name);
uint32_t world_add_topic(struct sim *w, const char *name, int32_t partitions, uint64_t rate_mhz,
                         int64_t initial);
void world_grow_topic(struct sim *w, struct topic_state *t, int32_t partitions);
void world_drop_topic(struct sim *w, struct topic_state *t);
void world_make_again(struct sim *w, struct topic_state *t); /* with what is due */
char *world_topic_json(int32_t partitions, char *text, size_t size, size_t brokers);
void ledger_tell(struct sim *w, const struct topic_state *t, int32_t partition);

/* broker_offsets.c: the group's offset manager */
void manager_init(struct sim *w);
bool broker_manages(struct broker *b);  /* from now on; false: it is down, or nobody needs one */
void manager_crashed(struct broker *b); /* if it was the one, another will be */
void manager_restarted(struct sim *w);  /* a broker is back */
void broker_take_offsets(struct broker *b, struct conn *c, struct offsets_msg *asked);

/* member_channel.c: the way to offsets that Kafka keeps */
void channel_ask(struct member *m, const struct group_output *ask);
void channel_hang_up(struct member *m);
void channel_forget(struct member *m); /* the process is gone, or begins */
void channel_came(struct member *m, struct conn *c, void *message);
void channel_closed(struct member *m, struct conn *c);
uint64_t channel_deadline_ns(const struct member *m);
void channel_tick(struct member *m);

/* observer.c */
void observers_init(struct sim *w);
void observers_free(struct sim *w);
void observer_join(struct member *m);  /* when it starts; nothing if its process has none */
void observer_leave(struct member *m); /* the last one ends it */
void observer_suspend(struct observer *o);
void observer_resume(struct observer *o);
bool observer_expire(struct observer *o, const struct node *node); /* the session from this node */

/* member.c */
enum zk_do member_do_of(enum zk_op_type type);
/* A planted bug: whether a watch on this path is forgotten, since it is not the first one. */
bool world_forgets_watch(struct sim *w, struct watched *watched, uint32_t path);
/* The event of an answered operation, of a watch: who has it. */
struct trace_event world_op_event(struct sim *w, const char *who, const struct zk_pending *op,
                                  int zk_rc, const struct zk_answer *a);
struct trace_event world_watch_event(struct sim *w, const char *who, int64_t zxid_seen,
                                     const struct zk_answer *a);
/* Those of a session, of its connection. */
struct trace_event world_session_event(struct sim *w, const char *who, const char *what,
                                       uint64_t session, const char *server);
struct trace_event world_state_event(struct sim *w, const char *who, const char *state,
                                     const char *server);
void member_init(struct sim *w, struct member *m, const struct sim_member_plan *plan,
                 uint32_t number);
void member_start(struct member *m);
void member_leave(struct member *m);
void member_crash(struct member *m);
void member_suspend(struct member *m);
void member_resume(struct member *m);
void member_kick(struct member *m); /* its settings have changed */
void member_free(struct member *m);
void member_tell_leader_lost(struct member *m, const char *topic, int32_t partition);
uint64_t member_local_ns(const struct member *m);
/* When its lease is over; SIM_NEVER without one. */
uint64_t member_lease_end_ns(const struct member *m);
void member_arm(struct member *m);
void member_feed_offsets(struct member *m, const struct group_offsets_answer *answer);
void member_feed_leaders(struct member *m, uint32_t seq, const char *failure,
                         const struct metadata_msg *answer);

/* watches.c: the further sessions of who has more watches than a packet takes. Whoever has none is
 * NULL. */
struct watches_owner {
    struct sim *world;
    void *self;
    const char *name;                                  /* its sessions are NAME.1, NAME.2, ... */
    uint64_t (*now_ns)(const void *self);              /* its clock */
    struct node *(*node)(void *self, unsigned number); /* that this session connects from */
    /* A further session was answered, told; an operation of one that is given up is lost. */
    void (*answered)(void *self, uint64_t token, int zk_rc, const struct zk_answer *a);
    void (*fired)(void *self, const struct zk_watch_event *event);
    void (*lost)(void *self, uint64_t token);
};
struct watches_config {
    size_t packet_bytes; /* 0: all watches fit */
    unsigned sessions_max;
    uint64_t turn_ns; /* until there is time to close what is given up, and to tell what is lost */
    const char *chance; /* the actor of its stream; lent */
    int32_t session_timeout_ms;
};
/* A process begins, ends. What it points to stays for the next life. */
void watches_start(struct watches **w, const struct watches_owner *owner,
                   const struct watches_config *config);
void watches_end(struct watches *w);
/* The session that this operation goes to; *watch: whether it leaves a watch there. */
struct zk_client *watches_place(struct watches *w, struct zk_client *own, const struct zk_op *op,
                                uint64_t token, bool *watch);
/* An answer of any session, NULL: none came; what is to be told to the machine. */
struct zk_result watches_answered(struct watches *w, uint64_t token, int zk_rc,
                                  const struct zk_answer *a);
void watches_fired(struct watches *w, const struct zk_watch_event *event); /* by the own session */
void watches_own_is_over(struct watches *w);
void watches_rest(struct watches *w); /* nothing is wanted any more, until the next read */
/* Opens and closes what is due. True: a watch is lost, *event is to be told. To be called after
 * each of the others until it is false. */
bool watches_take_lost(struct watches *w, struct zk_watch_event *event);
bool watches_came(struct watches *w, const struct conn *c,
                  struct zk_answer *a); /* false: not its */
void watches_closed(struct watches *w, const struct conn *c);
uint64_t watches_deadline_ns(const struct watches *w); /* its clock */
void watches_tick(struct watches *w);
uint64_t watches_session(const struct watches *w, unsigned number); /* 0: there is none */

/* member_machine.c */
#define MACHINE_FILTER  ".*" /* of members that subscribe by one */
#define MEMBER_CLOSE_MS 6000 /* zkc_consumer_close() has so long for its session */
void machine_new(struct member *m);
void machine_free(struct member *m);
void machine_step(struct member *m, const struct group_input *in, struct group_outputs *out);
int64_t machine_deadline_ms(const struct member *m);
const char *machine_state_name(const struct member *m);
const char *machine_strategy_name(const struct member *m);     /* "auto", "range", ... */
int32_t machine_streams(const struct member *m);               /* of each topic, in this life */
bool machine_subscribes(const struct member *m, size_t topic); /* to this topic of the world */
/* By its process: it subscribes as the first of its members does. */
bool machine_is_observed(const struct member *m);

/* member_app.c: fetching and the application */
void app_init(struct member *m);
void app_hold(struct member *m, const struct group_claim *claims, size_t count);
/* The lease of what is held has moved. */
void app_tell_lease(struct member *m);
void app_stop(struct member *m, const char *why); /* positions are kept in m->positions */
void app_keep_positions(struct member *m);
/* safe mode: a claim's gate opens, closes; what is still out of it does not count any more */
void app_open(struct member *m, const struct group_claim *claim);
void app_close(struct member *m, uint64_t number, const char *why);
void app_void(struct member *m, uint64_t number);
/* The application goes somewhere else in one of the partitions that are held. False: it holds none
 * that it could. */
bool app_seek(struct member *m, int32_t nth, uint64_t offset);
/* The first that is drained by now: taken off the list. False: none. */
bool app_take_drained(struct member *m, struct draining *out);
bool app_is_busy(const struct member *m);
void app_forget(struct member *m); /* the process is gone */
void app_settle(struct member *m); /* tells what was handed out until now */
void app_suspend(struct member *m);
void app_resume(struct member *m);
void app_leaders(struct member *m, const struct group_leader *list, size_t count);
void app_ask(struct member *m, uint32_t seq, int32_t broker, const char *const *topics,
             size_t topic_count);
void app_came(struct member *m, struct conn *c, void *message);
void app_closed(struct member *m, struct conn *c);
uint64_t app_deadline_ns(const struct member *m);
void app_tick(struct member *m);
void app_fetch(struct member *m); /* asks for what can be asked for */

/* faults.c */
enum zkc_err faults_init(struct sim *w, char *why, size_t why_size);
void faults_start(struct sim *w);
void faults_point(struct sim *w, struct member *m, enum sim_point point); /* before it happens */
void faults_cause(struct sim *w, uint32_t cause);
void faults_heal(struct sim *w);
bool faults_do(struct sim *w, const struct sim_fault *fault); /* sim_do() */
bool faults_act(struct fault_state *f);
bool faults_lose_answer(struct sim *w, const struct node *client, enum sim_point point);
char *world_text(struct sim *w, const char *text); /* a copy; NULL: NULL */
enum sim_point point_of(enum zk_do what, const struct zk_path *path);

/* sim.c */
void world_tell_session(struct sim *w, uint64_t session, struct member *m);
struct member *world_session_member(const struct sim *w, uint64_t session);
uint32_t world_cause(struct sim *w, struct trace_source *source, const char *kind, const char *who,
                     const char *detail);
static inline uint64_t world_now(const struct sim *w)
{
    return w->kernel.now_ns;
}

#endif
