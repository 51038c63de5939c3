/* The inside of a consumer, shared by the few files that make it: consumer.c (its life and the
 * calls of the application), member.c (the group machine and its ZooKeeper session), notices.c
 * (what the application is told), stats.c. Everything belongs to the loop's thread but what is
 * marked. */
#ifndef ZKC_CONSUMER_CONSUMER_H
#define ZKC_CONSUMER_CONSUMER_H

#include "zkconsumer/consumer/conf.h"
#include "zkconsumer/consumer/fetching.h"
#include "zkconsumer/consumer/log.h"
#include "zkconsumer/consumer/loop.h"
#include "zkconsumer/consumer/strangers.h"
#include "zkconsumer/consumer/stream.h"
#include "zkconsumer/consumer/tally.h"
#include "zkconsumer/consumer/tracing.h"
#include "zkconsumer/consumer/unsent.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/base/told.h"
#include "zkconsumer/core/group/input.h"
#include "zkconsumer/core/zk/registration.h"
#include "zkconsumer/core/zk/watch_spread.h"
#include <stdatomic.h>
#include <zkconsumer/consumer.h>

struct zk_session;
struct zk_compat;
struct zk_safe;
struct observer;
struct reader;
struct event;
struct lookup;

enum consumer_state {
    CONSUMER_OPEN,    /* neither subscribed nor assigned */
    CONSUMER_JOINED,  /* has a machine */
    CONSUMER_CLOSING, /* the machine is leaving */
    CONSUMER_SESSION, /* the session is being closed */
    CONSUMER_CLOSED,
};

/* A commit of the application, from its call to its on_done. */
struct commit {
    struct commit *next;
    struct group_position *list; /* owned, with `topics`; NULL: all that is owned */
    size_t count;
    uint32_t job;
    enum zkc_err err;
    zkc_commit_fn *on_done;
    void *user;
    struct loop_wait *wait; /* of zkc_consumer_commit_wait(); NULL: nobody waits (any more) */
};

struct commit_queue {
    struct commit *first, *last;
};

void commit_queue_put(struct commit_queue *q, struct commit *c);
struct commit *commit_queue_take(struct commit_queue *q); /* the first; NULL: empty */
void commit_free(struct commit *c);

/* An error that on_error is to hear of. */
struct notice {
    struct notice *next;
    enum zkc_err err;
    char *text;
};

struct waiter {
    struct waiter *next;
    struct loop_wait *wait;
};

/* A partition that should be ours and is another's. */
struct waiting_for {
    char *topic, *holder;
    int32_t partition;
    int64_t since_ms; /* on loop_now_ms() */
};

/* What is told of the lease that messages flow under: once when it stops them, once when they go
 * on.
 */
struct lease_news {
    struct event *timer; /* at its end; NULL: there was none yet */
    int64_t session_id;
    int64_t end_ms;     /* as in GROUP_OUT_LEASE */
    bool is_stopped;    /* that was told */
    int64_t stopped_ms; /* when */
};

/* Of a member with zookeeper.mode=safe (member_safe.c). */
struct safe_parts {
    struct gate_lease *lease; /* of the session; NULL: none yet */
    int64_t lease_session;
    int64_t lease_end_ms;      /* INT64_MIN: over, INT64_MAX: without end */
    int64_t polled_ms;         /* when the application last asked for messages */
    bool awaits_poll;          /* it was evicted, and has not asked since */
    bool is_evicted;           /* everything is given back, until its session is closed */
    bool is_evicting;          /* the session of an evicted member is being closed */
    bool is_session_closed;    /* it has been: GROUP_IN_SESSION_CLOSED waits to be fed */
    bool is_session_wanted;    /* a new one could not be opened for lack of memory */
    bool was_polled;           /* GROUP_IN_POLLED waits to be fed */
    struct observer *observer; /* zookeeper.observer=process */
    struct watch_sessions *watch_sessions;
    struct group_claim *starting; /* claimed; the application is told in the loop's next turn */
    size_t starting_count, starting_cap;
    struct loop_item start;
    struct waiting_for *waiting;
    size_t waiting_count, waiting_cap;
    uint64_t evictions, foreign_writes, foreign_deletes, voided, leases;
    struct strangers strangers;
};

struct zkc_consumer {
    zkc_loop *loop;
    zkc_conf *conf; /* owned; behind the view */
    struct conf_view view;
    char *id; /* registered, or of a reader: the client id */
    char *group;
    enum consumer_state state;
    struct rng rng;
    struct log *log;
    struct tracing *tracing;
    struct tally *tally; /* NULL: nobody wants statistics */
    int64_t opened_ms;   /* on loop_now_ms() */
    struct stream_hub *hub;
    struct fetching *fetching;
    struct dial dial;               /* of the next */
    struct offset_channel *offsets; /* NULL: offsets are in ZooKeeper */

    /* the machine: one of the three, or none yet */
    struct zk_compat *compat;
    struct zk_safe *safe;
    struct reader *reader;
    struct event *timer;
    bool is_feeding; /* outputs are being carried out: inputs wait in what follows */
    bool has_stopped;
    struct group_position *stopped; /* what GROUP_IN_STOPPED will say */
    size_t stopped_count, stopped_cap;
    bool positions_due;
    struct commit_queue commits_new, commits_running, commits_done;
    bool leave_wanted, leave_fed;
    bool is_settled, gave_up, was_connected;
    int64_t suspended_ms; /* since when there is no connection, which was told; 0: there is one */
    struct lease_news lease_news;
    bool is_refused;     /* the credentials, for good: nothing comes of this session any more */
    bool was_registered; /* ever; if not, an ACL that is in the way is what waits end with */
    uint64_t rebalances, rebalances_failed, expirations;

    bool was_released;          /* the session that was closed last has left nothing behind */
    struct zk_session *session; /* NULL: closed, of an evicted member too */
    unsigned session_number;    /* counts session objects: answers to an older one are nobody's */
    uint64_t operations;
    uint64_t kafka_commits, zookeeper_commits; /* offsets sent to Kafka; znodes written */
    struct unsent unsent[GROUP_LANE_VIEW + 1];
    struct gate_lease *fence; /* compat with zookeeper.fence: of the last session told */
    int64_t fence_session;
    struct safe_parts safe_parts;
    struct told_causes
        refused_ops;             /* by an ACL, or for their size: what the application knows of */
    bool has_told_no_auth;       /* an ACL was in the way, ever */
    int64_t connect_sent_ms;     /* of the last connection; see struct zk_session_event */
    int32_t granted_ms;          /* session timeout of the last connection */
    struct event *connect_timer; /* zookeeper.connection.timeout.ms */
    struct waiter *waiters;      /* of zkc_consumer_wait() */
    enum zkc_err wait_err;       /* what they get when neither settled nor connected */

    struct notice *notices; /* newest first, told from the loop */
    size_t notice_count;
    uint64_t notices_dropped;
    struct loop_item tell; /* notices and commits_done */

    struct lookup *lookups; /* offsets by time that somebody waits for */

    struct event *stats_timer, *trace_timer;

    /* closing */
    atomic_bool close_called; /* any thread */
    int close_timeout_ms;
    int64_t close_at_ms; /* when it must have ended */
    bool was_cut;        /* the deadline came before offsets were committed */
    struct event *close_timer;
    zkc_closed_fn *on_closed;
    void *on_closed_user;
    struct loop_wait *close_wait;
    struct loop_item close_item, finish_item;
    enum zkc_err close_err;
};

/* ---- member.c ---- */

/* Opens the session. ZKC_ERR_NOMEM. */
ZKC_MUST_CHECK enum zkc_err member_open(zkc_consumer *c);

/* Where offsets are kept, as configured. */
enum commit_store member_store(const zkc_consumer *c);

/* Opens one more, after the one before was closed. ZKC_ERR_NOMEM. */
ZKC_MUST_CHECK enum zkc_err member_reopen(zkc_consumer *c);

/* Feeds, and then what waits. */
void member_feed(zkc_consumer *c, struct group_input *in);

/* Tells the application of partitions that come or go. */
void member_tell_rebalance(zkc_consumer *c, enum zkc_rebalance_kind kind, struct zkc_owned *list,
                           size_t count);

/* Room in c->stopped. False: out of memory, which is logged. */
bool member_reserve_positions(zkc_consumer *c, size_t count);

ZKC_MUST_CHECK enum zkc_err member_subscribe(zkc_consumer *c, const struct zkc_subscription *list,
                                             size_t count);

/* ZKC_ERR_INVALID: the expression, which is logged. */
ZKC_MUST_CHECK enum zkc_err member_subscribe_filter(zkc_consumer *c,
                                                    const struct zkc_filter *filter);
ZKC_MUST_CHECK enum zkc_err member_assign(zkc_consumer *c, const struct zkc_position *list,
                                          size_t count);

/* Feeds what waits, if nothing is being fed, and re-arms the timer. Call after each change of what
 * waits: commits_new, leave_wanted. */
void member_drain(zkc_consumer *c);

void member_leader_lost(const char *topic, int32_t partition, void *consumer);

/* Begins to close the session: told by the machine, or because the time is up. */
void member_close_session(zkc_consumer *c);

/* Begins to close the session of an evicted member; member_safe_session_closed() follows. */
void member_close_evicted(zkc_consumer *c);

/* Ends everything at once; operations under way are forgotten. */
void member_free(zkc_consumer *c);

const char *member_state_name(const zkc_consumer *c);
/* Why it cannot do its part, as member.trouble of the statistics; NULL: it can. Static. */
const char *member_trouble(const zkc_consumer *c);

/* ---- member_safe.c: the outputs that only zk_safe has ---- */

/* Makes the machine for these topics, or a filter. ZKC_ERR_NOMEM, or as zk_filter_new(). */
ZKC_MUST_CHECK enum zkc_err member_safe_new(zkc_consumer *c,
                                            const struct zk_subscription *subscriptions,
                                            size_t count, enum zk_pattern pattern);
void member_safe_free(zkc_consumer *c);

/* The lease of this session was moved, as GROUP_OUT_LEASE says; the session, with its lease, is
 * over (notices.c). */
void member_lease_moved(zkc_consumer *c, int64_t session_id, int64_t end_ms);
void member_lease_over(zkc_consumer *c);

/* A new session: its lease is not that of any before. */
void member_safe_connected(zkc_consumer *c, int64_t session_id);
/* The session has ended: no gate of it opens again. */
void member_safe_session_over(zkc_consumer *c);

/* That of an evicted member is closed. */
void member_safe_session_closed(zkc_consumer *c);

/* Carries out list[0] and those after it that belong together; returns how many. 0: list[0] is not
 * of zk_safe only. */
size_t member_safe_carry_out(zkc_consumer *c, const struct group_output *list, size_t count);

/* Starts what was claimed and is not started yet. */
void member_safe_start(zkc_consumer *c);
void member_safe_run_start(void *consumer); /* of safe_parts.start */

/* What the sessions of a member tell: a zk_session_watch_fn and a zk_session_log_fn. */
struct zk_watch_event;
void member_watch(const struct zk_watch_event *event, void *consumer);
void member_session_log(int level, const char *cause, const char *text, void *consumer);

/* What waits to be fed: true, and *in is filled. */
bool member_safe_take_input(zkc_consumer *c, struct group_input *in);

/* When the application last asked for messages. */
int64_t member_safe_polled_ms(zkc_consumer *c, int64_t now_ms);

/* Copies what the application has finished into c->stopped. */
void member_safe_keep_positions(zkc_consumer *c);

/* Told by the streams. */
void member_safe_on_drained(zkc_stream *stream, void *consumer);
void member_safe_on_polled(void *consumer);

/* The watches of the member and of its observer, in all; bytes are of the member's own session. */
struct watch_spread_counts member_safe_watches(const zkc_consumer *c);

/* Adds "safe" to the statistics. */
struct json;
void member_safe_stats(zkc_consumer *c, struct json *j);

/* ---- notices.c ---- */

/* Logs nothing; lets on_error hear of it from the loop. Bounded: what does not fit is counted. */
void consumer_error(zkc_consumer *c, enum zkc_err err, const char *fmt, ...) ZKC_PRINTF(3, 4);

/* A commit has ended: on_done is called from the loop. */
void consumer_commit_done(zkc_consumer *c, struct commit *commit, enum zkc_err err);

/* Calls what waits to be told, now. */
void consumer_tell(void *consumer);
void consumer_forget_notices(zkc_consumer *c);

/* Ends the waits of zkc_consumer_wait() if they have an outcome. */
void consumer_check_waiters(zkc_consumer *c);
void consumer_end_waiters(zkc_consumer *c, enum zkc_err err);

/* ---- jmx.c ---- */

/* Adds "jmx" to the statistics: the beans of Kafka 0.8.2's consumer, by their names. */
void jmx_stats(zkc_consumer *c, struct json *j);

/* ---- stats.c ---- */

void stats_tell(zkc_consumer *c);

/* ---- consumer.c ---- */

/* The session is closed: what remains is to say so. */
void consumer_finish(zkc_consumer *c, bool is_released);

#endif
