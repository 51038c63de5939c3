/* The view of a group: who is registered, which topics exist, as read from ZooKeeper, and who
 * should have which partition by it.
 *
 * A viewer reads views for zk_safe: either each member has its own (zookeeper.observer=own), or one
 * observer of the process, with a session of its own, runs one and feeds its views to all members
 * of the group in the process (GROUP_IN_VIEW), which share them and the assignment computed from
 * them.
 *
 * Registrations are cached by name. `cversion` of the ids node counts creations and deletions: when
 * it grew by exactly the names that came and went, only those that came are read; otherwise
 * somebody left and came back under its name, and all are read. One that is empty or cannot be read
 * is read with a watch, counts as a member without streams and is reported by id: it breaks nobody.
 * What others subscribe to beyond our own topics does not matter to us and is not read. */
#ifndef ZKC_GROUP_ZK_VIEW_H
#define ZKC_GROUP_ZK_VIEW_H

#include "zkconsumer/core/assign/assign.h"
#include "zkconsumer/core/group/input.h"
#include "zkconsumer/core/zk/filter.h"
#include "zkconsumer/core/zk/registration.h"

/* Members and topics of a group that are dealt with; a view of more is not acted on. */
#define ZK_VIEW_MEMBERS_MAX 100000
#define ZK_VIEW_TOPICS_MAX  100000

/* What a registration says. Members of a group mostly say the same, and share it. Immutable. */
struct zk_view_content {
    uint32_t references;
    bool is_readable;
    bool is_share_unknown; /* it has a filter without translation: others may give it partitions */
    struct zk_registration registration;       /* without subscriptions when not readable */
    struct zk_filter *filter;                  /* of a filter's registration */
    struct assign_subscription *subscriptions; /* of a static one, as the assignment takes them */
};

/* A registration as it was read. Shared by views, immutable. */
struct zk_view_registration {
    uint32_t references;
    int64_t session_id; /* that has registered it: ephemeralOwner */
    struct zk_view_content *content;
    char consumer_id[];
};

/* Reads the data of /consumers/<g>/ids/<consumer_id>. What is odd about it is in `why`, ""
 * otherwise; the content's `is_readable` tells whether it counts nevertheless. *last is the content
 * read before, NULL at first, which is shared where the new one is the same, and else replaced by
 * it; to be given back by zk_view_content_unref(). On success *out has one reference.
 *
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err zk_view_registration_read(
    const char *consumer_id, int64_t session_id, struct bytes data, bool exclude_internal_topics,
    struct zk_view_content **last, struct zk_view_registration **out, struct why *why);
void zk_view_registration_unref(struct zk_view_registration *r); /* NULL is allowed */
void zk_view_content_unref(struct zk_view_content *c);           /* NULL is allowed */

/* Immutable once it is there, but for the assignments that are computed on first need. */
struct zk_view {
    uint32_t references;
    int64_t pzxid; /* of ids: a view with a lower one is older */
    uint64_t hash; /* of members and partitions, as GROUP_OUT_VIEW tells it */
    struct zk_view_registration **registrations; /* sorted by consumer id */
    struct group_view_member *members;           /* the same, for the output */
    size_t member_count;
    struct group_view_topic *topics; /* those that were asked for and exist, sorted */
    size_t topic_count;
    struct assign_member *assign_members; /* filters expanded */
    struct zk_view_rest *rest;            /* memory behind all this, and the assignments */
};

/* A view of these: registrations sorted by consumer id, of which the view takes references of its
 * own, and topics sorted by name, which are copied. NULL: out of memory. One reference. */
struct zk_view *zk_view_new(struct zk_view_registration *const *registrations, size_t member_count,
                            const struct group_view_topic *topics, size_t topic_count,
                            int64_t pzxid);

void zk_view_ref(struct zk_view *v);
void zk_view_unref(struct zk_view *v); /* NULL is allowed */

/* The position of the member; SIZE_MAX: it is not there. */
size_t zk_view_find(const struct zk_view *v, const char *consumer_id);

/* The assignment of all topics of the view by this strategy. Lent as long as the view. Errors as
 * assign_group(). */
ZKC_MUST_CHECK enum zkc_err zk_view_assign(struct zk_view *v, enum assign_strategy strategy,
                                           const struct assignment **out, struct why *why);

/* Everything is copied. */
struct zk_viewer_config {
    const char *group;
    enum zk_pattern pattern;                     /* of the topics that matter */
    const struct zk_subscription *subscriptions; /* static: any number; a filter: one */
    size_t subscription_count;
    bool exclude_internal_topics;
    bool sync_before_read; /* zookeeper.sync.before.read */
    bool coalesce; /* events during a round join one further round; otherwise each is one more */
    unsigned bugs; /* enum zk_safe_bug */
};

struct zk_viewer;

/* ZKC_ERR_NOMEM, or as zk_filter_new(). */
ZKC_MUST_CHECK enum zkc_err zk_viewer_new(const struct zk_viewer_config *config,
                                          struct zk_viewer **out, struct why *why);
void zk_viewer_free(struct zk_viewer *v); /* NULL is allowed */

/* An observer feeds CONNECTED, DISCONNECTED, EXPIRED, RESULT (of GROUP_LANE_VIEW), WATCH and TIME,
 * after group_outputs_clear(), and calls zk_viewer_run() after each. */
void zk_viewer_feed(struct zk_viewer *v, const struct group_input *in, struct group_outputs *out);

/* Reads the list again although no watch has fired; a round under way, or not yet taken, does not
 * count. */
void zk_viewer_refresh(struct zk_viewer *v);

/* Begins a round when there is a reason and a connection, and sends what there is room for. */
void zk_viewer_run(struct zk_viewer *v, int64_t now_ms, struct group_outputs *out);

/* A round is under way. */
bool zk_viewer_is_busy(const struct zk_viewer *v);

/* The round that has ended since the last call: its view, to be given back by zk_view_unref();
 * NULL: none. */
struct zk_view *zk_viewer_take(struct zk_viewer *v);

/* When to feed GROUP_IN_TIME (an observer: then run); INT64_MAX: after another input. */
int64_t zk_viewer_deadline_ms(const struct zk_viewer *v);

#endif
