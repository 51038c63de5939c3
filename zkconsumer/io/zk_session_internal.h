/* The inside of a session, shared by its files:
 *
 *     zk_session.c        connecting, losing, renewing: what to do when, and what to tell
 *     zk_session_close.c  ending it without blocking
 *     zk_request.c        operations and their answers
 *     zk_chroot.c         making the chroot
 *     zk_client.c         the C client, tamed
 *     zk_servers.c        names to addresses
 *
 * Whatever the client calls back into runs inside one of its calls (client.depth > 0). There, only
 * facts are noted, callbacks made and the kick event set off; handles are opened and closed, and
 * the session freed, from its own events only. */
#ifndef ZKC_IO_ZK_SESSION_INTERNAL_H
#define ZKC_IO_ZK_SESSION_INTERNAL_H

#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/base/told.h"
#include "zkconsumer/io/zk_client.h"
#include "zkconsumer/io/zk_servers.h"
#include "zkconsumer/io/zk_session.h"
#include "zkconsumer/io/zk_watch_set.h"

/*   DOWN ─► CONNECTING ─► CONNECTED ─► LOST ─► DOWN
 *     ▲         │             │  │               REFUSED: from CONNECTED or LOST, final
 *     └─────────┴─────────────┘  └─► DRAINING ─► CONFIRMING: closing */
enum zk_link {
    ZK_LINK_DOWN,       /* no socket; the timer, or an address, starts the next attempt */
    ZK_LINK_CONNECTING, /* a socket, and no answer of a server yet */
    ZK_LINK_CONNECTED,
    ZK_LINK_LOST,       /* the loss was told; DOWN when the client's call returns */
    ZK_LINK_REFUSED,    /* credentials refused */
    ZK_LINK_DRAINING,   /* what is half sent must go before CLOSE can */
    ZK_LINK_CONFIRMING, /* CLOSE was sent: the answer and the end of the connection to come */
};

/* The answer to CLOSE: length, xid, zxid, error. */
#define ZK_CLOSE_ANSWER_BYTES 20

struct zk_request;

struct zk_session {
    struct zk_client client;
    enum zk_link link;
    bool is_expired;      /* a server said so; acted on when the client's call returns */
    bool is_refused;      /* the same for the credentials */
    bool has_session;     /* there is one that is not known to be over */
    bool is_closing;      /* zk_session_close() was called */
    unsigned calling;     /* callbacks under way: the session must not be freed */
    struct event timer;   /* the next attempt; the client's deadlines; the end of the attempt; of
                           * closing */
    struct event kick;    /* work left by a callback or a caller, for the loop's next turn */
    int64_t timer_due_ms; /* INT64_MAX: not armed */

    struct zk_servers servers;
    struct rng rng;
    char *chroot; /* owned; "" or "/a/b" */
    size_t chroot_len;
    char *auth;         /* owned; NULL */
    char *private_path; /* owned; NULL */
    int32_t timeout_ms; /* to ask for */
    size_t request_bytes_max;
    zk_session_event_fn *on_event;
    zk_session_watch_fn *on_watch;
    zk_session_log_fn *on_log;
    void *user;

    int64_t id; /* of the last CONNECTED */
    int64_t connected_at_ms;
    int64_t settled_at_ms; /* when the client was last asked what it waits for */
    bool has_answered;     /* the server, to an operation on this connection */

    unsigned failures;          /* attempts since the last connection */
    unsigned short_connections; /* in a row: cut soon after they were there */
    int64_t attempted_ms;       /* the attempt under way has begun; on boot_clock_ms() */
    int64_t attempt_until_ms;   /* when to give the attempt under way up */
    int64_t failing_since_ms;   /* of the first of these */
    int64_t noticed_at_ms;      /* last UNREACHABLE; INT64_MIN: none */
    struct told unreachable;    /* its reason */
    int64_t resolved_at_ms;     /* names were last asked for */
    char *failure;              /* owned; what became of the last attempt; NULL */

    struct zk_watch_set watches;                /* left in this session */
    size_t under_way;                           /* requests that the client has */
    struct zk_request *refused, **refused_tail; /* to be answered in the next turn */

    zk_session_closed_fn *on_closed;
    void *closed_user;
    int64_t close_deadline_ms;                   /* length of the wait */
    uint8_t close_answer[ZK_CLOSE_ANSWER_BYTES]; /* the last bytes read */
};

/* The client's watcher; `context` is the session. One for all, so that the client, which tells each
 * distinct watcher of the session's events, tells them once. */
void zk_session_on_client_event(zhandle_t *zh, int type, int state, const char *path,
                                void *context);

int64_t zk_session_now_ms(void);
void zk_session_arm(struct zk_session *s, int64_t delay_ms);
void zk_session_kick(struct zk_session *s);
void zk_session_log(struct zk_session *s, int level, const char *cause, const char *fmt, ...)
    ZKC_PRINTF(4, 5);

/* zk_request.c. `path` is the server's, chroot and all. */
void zk_request_send(struct zk_session *s, const char *path, const struct zk_op *op,
                     zk_result_fn *fn, void *user);
/* Answers in the loop's next turn. */
void zk_request_answer(struct zk_session *s, int zk_rc, zk_result_fn *fn, void *user);
/* Those that were there when it was called. */
void zk_request_answer_refused(struct zk_session *s);
/* The part of a server's path below the chroot; NULL: not below it. */
const char *zk_request_strip(const struct zk_session *s, const char *path);

/* zk_session_close.c. */
void zk_session_close_begin(struct zk_session *s);
void zk_session_close_io(struct zk_session *s);
void zk_session_finish(struct zk_session *s, bool is_confirmed);

#endif
