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
#include "zkconsumer/consumer/stream.h"
#include "zkconsumer/consumer/tracing.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/group/input.h"
#include <stdatomic.h>
#include <zkconsumer/consumer.h>

struct zk_session;
struct zk_compat;
struct reader;
struct event;

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
    struct stream_hub *hub;
    struct fetching *fetching;
    struct dial dial;               /* of the next */
    struct offset_channel *offsets; /* NULL: offsets are in ZooKeeper */

    /* the machine: one of the two, or none yet */
    struct zk_compat *compat;
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
    uint64_t rebalances, rebalances_failed, expirations;

    struct zk_session *session;
    uint64_t operations;
    uint64_t kafka_commits, zookeeper_commits; /* offsets sent to Kafka; znodes written */
    uint32_t unsent[GROUP_LANE_VIEW + 1]; /* seq of an operation that could not be sent; 0: none */
    struct gate_lease *fence; /* compat with zookeeper.fence: of the last session told */
    int64_t fence_session;
    int64_t connect_sent_ms;     /* of the last connection; see struct zk_session_event */
    int32_t granted_ms;          /* session timeout of the last connection */
    struct event *connect_timer; /* zookeeper.connection.timeout.ms */
    struct waiter *waiters;      /* of zkc_consumer_wait() */
    enum zkc_err wait_err;       /* what they get when neither settled nor connected */

    struct notice *notices; /* newest first, told from the loop */
    size_t notice_count;
    uint64_t notices_dropped;
    struct loop_item tell; /* notices and commits_done */

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

/* Ends everything at once; operations under way are forgotten. */
void member_free(zkc_consumer *c);

const char *member_state_name(const zkc_consumer *c);

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

/* ---- stats.c ---- */

void stats_tell(zkc_consumer *c);

/* ---- consumer.c ---- */

/* The session is closed: what remains is to say so. */
void consumer_finish(zkc_consumer *c, bool is_released);

#endif
