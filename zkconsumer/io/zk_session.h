/* One ZooKeeper session on a libevent loop: Apache's single-threaded C client, driven so that it
 * never blocks, finds its way back, and tells the truth about what became of each operation.
 *
 *     zk_session_new ── CONNECTED ── SUSPENDED ── CONNECTED ── ... ── zk_session_close ── on_closed
 *                           │  ▲          │
 *                           │  └── new ── EXPIRED
 *                           └── AUTH_FAILED: final, only close is left
 *
 * A session object is used and calls back on its loop's thread only. Renewal after expiry happens
 * on the same object. Callbacks may call any function here but zk_session_free();
 * zk_session_close() takes effect after they return.
 *
 * Watches are left again by the client after a reconnect of the same session, all in one request:
 * beyond its jute.maxbuffer of paths (1 MiB) the server cuts the connection at it, each time
 * (ZOOKEEPER-706). Such a session is given up after some attempts: EXPIRED is told, while its nodes
 * stay until the server ends it. Whoever may have so many spreads them (core/zk/watch_spread.h).
 *
 * The chroot is put before and taken off all paths here, not in the C client: so the nodes of the
 * chroot itself can be made through the same session (zk_session_ensure_chroot) at the price of one
 * copy of the path per operation, which the client would make itself. */
#ifndef ZKC_IO_ZK_SESSION_H
#define ZKC_IO_ZK_SESSION_H

#include "zkconsumer/core/zk/op.h"

struct event_base;
struct resolver;
struct zk_session;

enum zk_session_event_type {
    /* A server has taken us on: the session goes on, or is new. Operations can be sent. Watches of
     * the same session stand again, and what was missed meanwhile fires. */
    ZK_SESSION_EVENT_CONNECTED,
    /* The link is gone; the session may live on without us. Told before the operations under way
     * fail. It can come as late as 2/3 of the timeout after the last sign of the server: an owner
     * that must be sure counts by its own clock. Expiry is only ever told by a server. */
    ZK_SESSION_EVENT_SUSPENDED,
    /* A server said that the session is over: its ephemeral nodes and watches are gone (or it was
     * given up, see above). Told after all operations of that session were answered; a new session
     * is started right after. */
    ZK_SESSION_EVENT_EXPIRED,
    /* The server refused the credentials. Final. */
    ZK_SESSION_EVENT_AUTH_FAILED,
    /* Nothing answers, told when all servers were tried once, and then every
     * ZK_SESSION_NOTICE_MS at most while it stays so. Attempts go on without end. */
    ZK_SESSION_EVENT_UNREACHABLE,
};

#define ZK_SESSION_NOTICE_MS 10000

struct zk_session_event {
    enum zk_session_event_type type;
    int64_t session_id; /* CONNECTED, SUSPENDED, EXPIRED */
    bool is_new;        /* CONNECTED: not the session of the last CONNECTED */
    int32_t timeout_ms; /* CONNECTED: as the server granted it; counts, not what was asked for */
    int64_t connect_sent_ms; /* CONNECTED: when the connect request was sent that the server has
                              * answered, or some time before; on boot_clock_ms() */
    const char *server;      /* CONNECTED: "127.0.0.1:2181"; borrowed */
    bool is_news;            /* UNREACHABLE: the first since there was a connection that lasted, or
                              * for another reason than the last */
    const char *text;        /* UNREACHABLE, AUTH_FAILED: which server, why, what to do; borrowed */
};

typedef void zk_session_event_fn(const struct zk_session_event *event, void *user);

/* A watch left by an operation has fired. Both are borrowed for the call. */
typedef void zk_session_watch_fn(const struct zk_watch_event *event, void *user);

/* Lines of the C client ("zookeeper client: ...") and our own. `level` is syslog's: 3 error, 4
 * warning, 6 info, 7 debug. `cause` is the same for lines that say the same about different servers
 * or times: during an outage they come with every attempt, and whoever writes them somewhere should
 * hold them back by it. Nothing is ever written anywhere else. The client has one level for the
 * process, "info" (zoo_set_debug_level), which is left alone.
 * Called from the midst of the client: unlike the other callbacks it must not call the session. */
typedef void zk_session_log_fn(int level, const char *cause, const char *text, void *user);

struct zk_session_config {
    struct event_base *base;    /* outlives the session */
    struct resolver *resolver;  /* outlives the session; shared */
    const char *connect;        /* zookeeper.connect, accepted by zk_connect_parse(); copied */
    int64_t session_timeout_ms; /* to ask for, at least 200; the server has its limits */
    size_t packet_bytes;        /* the servers' jute.maxbuffer; 0: their default */
    uint64_t seed;              /* of backoff and server order */
    const char *auth; /* credentials, accepted by zk_auth_split(): "digest:user:password"; NULL:
                       * none. Copied. Shown with every connection */
    const char *private_path; /* nodes made at or below it are for those credentials alone
                               * (CREATOR_ALL_ACL); all others, without it (NULL) all, are open
                               * to everybody. Copied */
    zk_session_event_fn *on_event;
    zk_session_watch_fn *on_watch;
    zk_session_log_fn *on_log; /* NULL: lines are dropped */
    void *user;                /* for the three */
};

/* Starts connecting; no callback comes from inside. NULL: out of memory, or `connect` or `auth` is
 * not valid (check them where they are set). */
struct zk_session *zk_session_new(const struct zk_session_config *config);

/* The answer to one operation; see struct zk_result. */
typedef void zk_result_fn(const struct zk_result *result, void *user);

/* Sends an operation; `op` is copied. fn is called exactly once, never from inside this function,
 * with what the server said (results and watch events come in the order in which the server sent
 * them on the connection), or with
 *
 *   ZK_CONNECTION_LOSS        it was sent and the connection broke: outcome unknown. Or it was
 *                             not sent, as there is none: nothing is queued across connections,
 *                             send it again after CONNECTED
 *   ZK_OPERATION_TIMEOUT      as connection loss: the server was silent for 2/3 of the timeout
 *   ZK_RUNTIME_INCONSISTENCY  as connection loss: the server's answers were out of step
 *   ZK_SESSION_EXPIRED        under way when a server declared the session over
 *   ZK_AUTH_FAILED            after AUTH_FAILED
 *   ZK_CLOSING                under way at, or sent after, zk_session_close()
 *   ZK_BAD_ARGUMENTS          not sent: path not valid, or larger than a packet may be
 *
 * What was not sent is answered in the loop's next turn, after the failures of earlier operations.
 * Without memory for the few bytes that remember fn it aborts, as the C client does for its own. */
void zk_session_send(struct zk_session *s, const struct zk_op *op, zk_result_fn *fn, void *user);

/* A server cuts the connection at a request that is larger than its jute.maxbuffer, and again at
 * each retry: so much of it is for paths and data. */
#define ZK_REQUEST_BYTES_SPARE 575
#define ZK_REQUEST_BYTES_MAX   1048000 /* with the servers' default, 1048575 */

/* Makes the nodes of the chroot that are missing, persistent and without data, open to everybody.
 * ZK_OK also when all are there, or no chroot is set. fn as with zk_session_send(). For programs
 * that need the chroot to write; those that only read never call it (their operations say
 * ZK_NO_NODE). Source: kafka.server.KafkaServer.initZkClient does so. */
void zk_session_ensure_chroot(struct zk_session *s, zk_result_fn *fn, void *user);

bool zk_session_is_connected(const struct zk_session *s);
int64_t zk_session_id(const struct zk_session *s); /* of the last CONNECTED; 0: none yet */

/* is_released: no ephemeral node of the session can be left: the server confirmed its end, or there
 * never was a session. False: they stay until the server's timeout. `s` is no more. */
typedef void zk_session_closed_fn(bool is_released, void *user);

/* Ends the session: no event, watch or server's answer is delivered any more, every operation under
 * way gets ZK_CLOSING, and on_closed is the last call. Never blocks; takes at most deadline_ms, and
 * no time when there is no connection. To be called once. */
void zk_session_close(struct zk_session *s, int64_t deadline_ms, zk_session_closed_fn *on_closed,
                      void *user);

/* For a loop that will not turn again: drops the connection here and now and leaves the session to
 * the server's timeout. Operations under way get ZK_CLOSING from inside this call, and a close
 * under way its on_closed. Not to be called inside a callback of the session. NULL is allowed. */
void zk_session_free(struct zk_session *s);

#endif
