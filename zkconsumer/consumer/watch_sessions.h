/* The further sessions of a member, or of an observer, that carry the watches which its own has no
 * room for (core/zk/watch_spread.h, which decides; here sessions are opened and closed). They only
 * read, and have nothing of their own in ZooKeeper. Loop's thread. */
#ifndef ZKC_CONSUMER_WATCH_SESSIONS_H
#define ZKC_CONSUMER_WATCH_SESSIONS_H

#include "zkconsumer/consumer/loop.h"
#include "zkconsumer/core/zk/watch_spread.h"
#include "zkconsumer/io/zk_session.h"

struct watch_sessions;

/* What the application should know: further sessions cannot be had. Told once for each cause until
 * they can, with `is_news`, and again, for the log, with each attempt. `text` is borrowed. */
typedef void watch_sessions_notice_fn(bool is_news, const char *text, void *user);

struct watch_sessions_config {
    zkc_loop *loop;      /* outlives it */
    const char *connect; /* zookeeper.connect; copied */
    const char *auth;    /* zookeeper.auth; NULL: none; copied */
    int session_timeout_ms;
    int jute_maxbuffer; /* zookeeper.jute.maxbuffer */
    int sessions_max;   /* zookeeper.watch.sessions.max */
    uint64_t seed;
    zk_session_watch_fn *on_watch;       /* of the further sessions, and those that are lost */
    watch_sessions_notice_fn *on_notice; /* these two may be called from inside of the functions
                                          * here */
    zk_session_log_fn *on_log;
    void *user; /* for the three */
};

/* NULL: out of memory, or zookeeper.connect is not valid. No session is opened before it is needed.
 */
struct watch_sessions *watch_sessions_new(const struct watch_sessions_config *config);

/* Answers what is under way with ZK_CLOSING from inside. The own session, whose answers come by
 * here, is to be ended before. Not to be called in one of the callbacks. NULL is allowed. */
void watch_sessions_free(struct watch_sessions *w);

/* What is remembered of an operation under way. It is in the memory of whoever sends it, who has
 * something of his own to remember anyway: so there is nothing here that there could be no memory
 * for. */
struct watch_ask {
    const char *path; /* the operation's; set before it is sent. Both last until fn is called */
    struct watch_sessions *all;
    zk_result_fn *fn;
    void *user;
    struct watch_place place;
    enum zk_op_type type;
    uint32_t generation;
};

/* As zk_session_send() on `own`, or on a further session. What such a session loses, or answers too
 * late to count, gets ZK_CONNECTION_LOSS. */
void watch_sessions_send(struct watch_sessions *w, struct zk_session *own, const struct zk_op *op,
                         struct watch_ask *ask, zk_result_fn *fn, void *user);

/* The own session has answered something; a watch of it has fired (to be told before it is acted
 * on); it is over. */
void watch_sessions_seen(struct watch_sessions *w, const struct zk_result *result);
void watch_sessions_fired(struct watch_sessions *w, const struct zk_watch_event *event);
void watch_sessions_own_is_over(struct watch_sessions *w);

/* Nothing is wanted any more, until the next operation: further sessions are closed, and nothing is
 * told of what they carried. What is under way on them gets ZK_CONNECTION_LOSS, in the loop's
 * next turn. */
void watch_sessions_rest(struct watch_sessions *w);

struct watch_spread_counts watch_sessions_counts(const struct watch_sessions *w);

#endif
