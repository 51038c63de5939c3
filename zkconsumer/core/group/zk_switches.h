/* The ablation switches of zk_compat: each takes one choice of Kafka 0.8.2 away, by itself, so that
 * a study can tell which fault comes from which choice. All zero is 0.8.2. docs/ablations.md has
 * what each removes, leaves and costs. */
#ifndef ZKC_GROUP_ZK_SWITCHES_H
#define ZKC_GROUP_ZK_SWITCHES_H

#include "zkconsumer/core/group/lease.h"
#include <stddef.h>

enum zk_claim {
    ZK_CLAIM_SINGLE, /* partition by partition; a conflict takes back what was claimed */
    ZK_CLAIM_MULTI,  /* one transaction of creates, CLAIM_PARTS_MAX at most; more: one after the
                      * other */
};

/* What a release or a commit goes by. */
enum zk_guard {
    ZK_GUARD_BLIND,
    ZK_GUARD_SESSION, /* only in the session that claimed, and never repeated in another. A release
                       * looks first, and deletes only what has this session as ephemeralOwner; a
                       * commit names the version that was last read or written */
};

struct zk_switches {
    /* zookeeper.coalesce=false: each event rebalances for itself, on the event thread, as before
     * KAFKA-265. Otherwise what happens during a rebalance is one further rebalance. */
    bool each_event;
    /* zookeeper.watch.owners: after a conflict the next attempt begins when the owner nodes that it
     * met are gone, or when anything happens that changes the view; not after the backoff. */
    bool watch_owners;
    enum zk_claim claim;   /* zookeeper.claim */
    enum zk_guard release; /* zookeeper.release */
    enum zk_guard commit;  /* zookeeper.commit */
    enum zk_fence fence;   /* zookeeper.fence */
    bool sync_before_read; /* zookeeper.sync.before.read: a sync before each run of reads of an
                            * attempt */
    bool never_gives_up;   /* zookeeper.give.up=never: attempts without limit, until the member
                            * leaves, or only another thread of its can help it */
};

/* A switch under the name of its configuration. */
struct zk_switch {
    const char *name, *value;
};
#define ZK_SWITCH_COUNT 8

/* Those that are not as in 0.8.2, in a fixed order; their number. Texts are static. */
size_t zk_switches_set(const struct zk_switches *s, struct zk_switch list[ZK_SWITCH_COUNT]);

/* Whether a setting that was made does anything in a mode, by the name of its configuration: the
 * library and the study refuse what would silently be without effect. Keys that are not of the
 * protocol act. */
bool zk_mode_acts_on(bool is_safe, const char *key, const char *value);

#endif
