/* How long a session is sure to live: the lease of zookeeper.fence=lease. Pure arithmetic on times
 * that its owner tells; the owner sends the probes and hands the end to the gates.
 *
 * ZooKeeper's leader ends a session S after it was last *touched*. A write that passes through does
 * not touch: the follower we are on notes that it heard from us, and reports it only in its answer
 * to the leader's next ping, every half tick. So a probe is two writes in a row, W1 and, as soon as
 * W1 is answered, W2; the next probe is sent S/3 (more than half a tick) after the answer to W1.
 * When W2 of probe k is answered, the leader has touched the session at or after the moment when W1
 * of probe k-1 was sent: the lease runs S, less a margin for clock rates, from there. Whatever else
 * one is tempted to count from (the receipt of an answer, the last probe, one write, a read) lets
 * the lease outlive the session; docs/safe-mode.md tells how.
 *
 * Times are milliseconds of one clock that counts system suspend. All writes of the probes go over
 * one connection in order; a lost connection begins the chain anew, while the lease runs on. */
#ifndef ZKC_GROUP_LEASE_H
#define ZKC_GROUP_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <zkconsumer/export.h>

/* What stops delivery when ZooKeeper may not know us any more. */
enum zk_fence {
    ZK_FENCE_NONE,       /* nothing: the lease never ends before the session is known to be over */
    ZK_FENCE_DISCONNECT, /* a lost connection; there again with it */
    ZK_FENCE_LEASE,
};

enum lease_probe {
    LEASE_PROBE_WRITE, /* a multi of checks: only a leader with a quorum answers */
    LEASE_PROBE_SYNC,  /* cheaper; a deposed leader answers too */
};

/* Bugs that tests and the simulator plant in zk_safe, to see that they are found. A set of bits;
 * 0 everywhere else. */
enum zk_safe_bug {
    ZK_SAFE_BUG_LEASE_FROM_RECEIPT = 1 << 0,     /* the lease counts from when answers are read */
    ZK_SAFE_BUG_LEASE_FROM_LAST_PROBE = 1 << 1,  /* from the last probe, not the last but one */
    ZK_SAFE_BUG_LEASE_ONE_WRITE = 1 << 2,        /* probes of one write */
    ZK_SAFE_BUG_LEASE_ON_READ = 1 << 3,          /* probes are reads, which any follower answers */
    ZK_SAFE_BUG_COMMIT_IN_NEW_SESSION = 1 << 4,  /* a lost commit is sent again whatever session */
    ZK_SAFE_BUG_CLAIM_BY_TEXT = 1 << 5,          /* an owner node is ours by what it contains */
    ZK_SAFE_BUG_REGISTRATION_BY_TEXT = 1 << 6,   /* an id node is ours by its name */
    ZK_SAFE_BUG_REGISTRATIONS_BY_NAME = 1 << 7,  /* registrations are cached by name alone */
    ZK_SAFE_BUG_VIEW_WITHOUT_SELF = 1 << 8,      /* a view that lacks us is acted on */
    ZK_SAFE_BUG_UNRESOLVED_FORGOTTEN = 1 << 9,   /* a claim of unknown outcome is forgotten */
    ZK_SAFE_BUG_RELEASE_BEFORE_DRAIN = 1 << 10,  /* the node goes before the gate is closed */
    ZK_SAFE_BUG_STORE_AFTER_LEASE = 1 << 11,     /* commits to Kafka do not ask for the lease */
    ZK_SAFE_BUG_RELEASE_BEFORE_STORED = 1 << 12, /* a release does not wait for Kafka */
    ZK_SAFE_BUG_ERROR_IS_NO_OFFSET = 1 << 13,    /* Kafka's refusal counts as "nothing stored" */
    ZK_SAFE_BUG_LEASE_WITHOUT_MARGIN = 1 << 14,  /* clocks are taken to run alike */
    ZK_SAFE_BUG_UNFENCED = 1 << 15, /* what is lost is looked up while it may be carried out yet */
};
#define ZK_SAFE_BUG_COUNT 16

/* The name of the bug of this number, as in --plant: "lease-from-receipt", ... Static. */
const char *zk_safe_bug_name(unsigned number);

struct lease {
    enum zk_fence fence;
    unsigned bugs;
    int64_t timeout_ms; /* S, as negotiated */
    int64_t end_ms;
    bool is_connected;
    bool is_over;
    enum { LEASE_IDLE, LEASE_FIRST, LEASE_BETWEEN, LEASE_SECOND } state; /* of the probe */
    int64_t probe_at_ms;
    int64_t anchor_ms;     /* connect request of a re-attachment, until its first answered write */
    int64_t first_sent_ms; /* W1 of this probe */
    int64_t last_sent_ms;  /* W1 of the probe before, on this connection */
    bool has_anchor, has_last;
};

void lease_init(struct lease *l, enum zk_fence fence, unsigned bugs);

/* A connection of a new session or of the same one. `connect_sent_ms`: when its connect request was
 * sent, or earlier. */
void lease_connected(struct lease *l, int64_t now_ms, int64_t timeout_ms, int64_t connect_sent_ms,
                     bool is_new);
void lease_disconnected(struct lease *l);

/* The session is known to have ended. */
void lease_over(struct lease *l);

/* True: send a write of the probe now (the first or the second, lease_is_first() tells), and call
 * lease_sent(). At most one is under way. */
bool lease_is_due(const struct lease *l, int64_t now_ms);
bool lease_is_first(const struct lease *l);
void lease_sent(struct lease *l, int64_t now_ms);

/* The write of the probe that is under way was answered; an error is an answer, but for those that
 * speak of the session or the connection (lease_is_answer()). */
void lease_answered(struct lease *l, int64_t now_ms);

/* Its answer is lost although the connection is there: the chain begins anew at `again_ms`. */
void lease_unanswered(struct lease *l, int64_t again_ms);

/* Whether an answer with this code of ZooKeeper's came from a server that knows our session. */
bool lease_is_answer(int zk_rc);

/* Hand out only before this. INT64_MAX: always; INT64_MIN: not at all. */
int64_t lease_end_ms(const struct lease *l);

/* When lease_is_due() will be true; INT64_MAX: after another input. */
int64_t lease_deadline_ms(const struct lease *l);

#endif
