/* Which session carries which watch.
 *
 * After a reconnect the C client leaves all watches of a session again in one packet, and a server
 * cuts the connection at a packet that is larger than its jute.maxbuffer, each time anew
 * (ZOOKEEPER-706; Java's client splits it since, the C client does not, up to its master of 2026).
 * So a session gets no more watches than a packet takes, and further read-only sessions of the
 * process carry the rest, opened when they are needed, at most `sessions_max`, and given up when
 * they are not any more. Where none can be had, the read goes out without a watch, and is said to
 * be lost after a while: what would have been told is looked at again and again.
 *
 * A watch that another session carries is a hint and nothing else: when that session ends, is away
 * for too long or is given up, each path that it carried is told as lost (ZK_EVENT_WATCH_LOST), and
 * whoever wanted the watch reads again. No change is missed, for that read is a new look.
 *
 * Two sessions may be on two servers, one of them behind. A read that goes to another session than
 * the last counts only if its server had applied all that any session had shown before the read was
 * sent (`floor`), which is what one session is promised by ZooKeeper; otherwise it is lost and is
 * sent again. The server is made to catch up by a sync in front of it.
 *
 * Session 0 is the member's own: it carries what must be told by it, and others' up to half of a
 * packet. Pure; the shell opens and closes sessions as watch_spread_state() and watch_spread_life()
 * say. */
#ifndef ZKC_ZK_WATCH_SPREAD_H
#define ZKC_ZK_WATCH_SPREAD_H

#include "zkconsumer/core/zk/op.h"
#include <zkconsumer/error.h>

#define WATCH_SESSIONS_MAX   16 /* further ones */
#define WATCH_LOOK_AGAIN_MS  10000
#define WATCH_JUTE_MAXBUFFER 1048575 /* the servers' default; a little less than 1 MiB */

struct watch_spread_config {
    size_t packet_bytes;   /* the servers' jute.maxbuffer */
    size_t chroot_bytes;   /* before each path in a packet */
    unsigned sessions_max; /* further ones, up to WATCH_SESSIONS_MAX */
    int64_t look_again_ms; /* what goes without a watch is looked at again; a session that could not
                            * be had is tried again; one that is not needed is kept so long */
};

enum watch_session_state {
    WATCH_SESSION_NONE,    /* not needed: the shell closes it, if it has one */
    WATCH_SESSION_OPENING, /* the shell opens it, if it has none */
    WATCH_SESSION_UP,
    WATCH_SESSION_AWAY, /* its connection is lost; it may come back with all its watches */
};

/* Where a read goes. */
struct watch_place {
    unsigned session; /* 0: the member's own */
    bool watch;       /* whether it leaves its watch */
    bool sync_first;  /* a sync in front of it, on the same session */
    int64_t floor;    /* its answer counts from this transaction on; 0: whatever it is */
};

struct watch_spread;

struct watch_spread *watch_spread_new(
    const struct watch_spread_config *config);  /* NULL: no memory */
void watch_spread_free(struct watch_spread *s); /* NULL is allowed */

/* ---- reads ---- */

/* Where this operation is to be sent; it counts as under way from then on. Those that leave no
 * watch all go to session 0. */
struct watch_place watch_spread_place(struct watch_spread *s, const struct zk_op *op,
                                      int64_t now_ms);

/* What became of it; `op` has the same type and path. False: the answer is older than its place
 * allows, or the session that it was to leave a watch on has been given up meanwhile. It does not
 * count: ZK_CONNECTION_LOSS is to be told in its stead. */
ZKC_MUST_CHECK bool watch_spread_answered(struct watch_spread *s, const struct watch_place *place,
                                          const struct zk_op *op, int zk_rc, int64_t zxid);

/* Any other answer of session 0, or of a sync: so much has been seen. 0: not known. While there are
 * no further sessions the last one counts, not the largest. */
void watch_spread_seen(struct watch_spread *s, unsigned session, int64_t zxid);

/* A watch has fired on that session. False: it carries none there (any more), the event is
 * nobody's. Of session 0 always true. */
bool watch_spread_fired(struct watch_spread *s, unsigned session,
                        const struct zk_watch_event *event);

/* ---- sessions ---- */

enum watch_session_state watch_spread_state(const struct watch_spread *s, unsigned session);

/* How often this one was wanted. What the shell has opened for an earlier life is to be closed, and
 * nothing that it says counts: it may be wanted again before it was closed. */
uint32_t watch_spread_life(const struct watch_spread *s, unsigned session);

void watch_spread_connected(struct watch_spread *s, unsigned session, int64_t now_ms);

/* The connection is lost: it is waited for so long. */
void watch_spread_away(struct watch_spread *s, unsigned session, int64_t now_ms,
                       int64_t patience_ms);

/* The session has ended, or, `refused`: cannot be had, and is not tried again for a while. Of
 * session 0: what it carried is forgotten, not told; whoever read by it knows. */
void watch_spread_over(struct watch_spread *s, unsigned session, bool refused, int64_t now_ms);

/* What is due by now. To be called after watches have fired, too: there may be a session less to
 * need. */
void watch_spread_run(struct watch_spread *s, int64_t now_ms);
int64_t watch_spread_deadline_ms(const struct watch_spread *s); /* INT64_MAX: none */

/* Whether one has been given up since it was last asked about, for it was not there in
 * look_again_ms: what cannot be had is told, and this nobody else tells. To be called after each of
 * the above. */
bool watch_spread_take_overdue(struct watch_spread *s);

/* The next watch that was lost: true, and *event is to be told; its path is lent until the next
 * call. To be called after each of the above until it is false. */
bool watch_spread_take_lost(struct watch_spread *s, struct zk_watch_event *event);

/* Whether there is one. */
bool watch_spread_has_lost(const struct watch_spread *s);

/* Nobody wants a watch any more, until the next read: all is forgotten, and nothing is told. */
void watch_spread_rest(struct watch_spread *s);

/* ---- questions ---- */

struct watch_spread_counts {
    unsigned sessions; /* further ones that are wanted */
    size_t watches;    /* under all sessions */
    size_t bytes;      /* that session 0's take in a packet */
    size_t unwatched;  /* looked at again and again */
    bool is_short;     /* ... and it is not only that a session is being opened for the first time:
                        * the last could not be had, or there may be no more of them */
};
struct watch_spread_counts watch_spread_counts(const struct watch_spread *s);

#endif
