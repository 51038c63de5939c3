/* The observer of a loop (zookeeper.observer=process): one more session that reads a group for all
 * of its members here, so that a change of the group is told to one watcher and read once, not by
 * each. Members of one group, connect string and subscription share one; it lives as long as one of
 * them. A member whose observer cannot see the group reads for itself until it can again. Loop's
 * thread. */
#ifndef ZKC_CONSUMER_OBSERVER_H
#define ZKC_CONSUMER_OBSERVER_H

#include "zkconsumer/core/group/input.h"
#include "zkconsumer/core/zk/registration.h"
#include "zkconsumer/core/zk/watch_spread.h"
#include <zkconsumer/conf.h>

struct observer;

/* Takes part in the observer for this subscription, which is made if there is none. The first view
 * follows. ZKC_ERR_NOMEM, or as zk_viewer_new(). */
ZKC_MUST_CHECK enum zkc_err observer_join(zkc_consumer *c, const struct zk_subscription *list,
                                          size_t count, enum zk_pattern pattern,
                                          struct observer **out);

/* The last one ends it. NULL is allowed. */
void observer_leave(struct observer *o, zkc_consumer *c);

/* What the member has not been fed yet: true, and *in is it; lent until the next call. The member
 * is drained when there is something. NULL: false. */
bool observer_take_view(struct observer *o, const zkc_consumer *c, struct group_input *in);

/* The watches that it has left. NULL: none. */
struct watch_spread_counts observer_watches(const struct observer *o);

#endif
