/* The inside of zk_compat: only for its own files.
 *
 *   zk_compat.c             birth, one turn, leaving
 *   zk_compat_rebalance.c   the lock and the loop of attempts
 *   zk_compat_membership.c  registration, watches, events
 *   zk_compat_topics.c      what is listened to; the topics of a filter
 *   zk_compat_commits.c     commits of the timer, the application and the rebalance
 *   zk_compat_fence.c       the lease of zookeeper.fence
 *
 * Each part asks of the others only what stands here. */
#ifndef ZKC_GROUP_ZK_COMPAT_PARTS_H
#define ZKC_GROUP_ZK_COMPAT_PARTS_H

#include "zkconsumer/core/base/told.h"
#include "zkconsumer/core/group/event_queue.h"
#include "zkconsumer/core/group/zk_compat.h"

/* What the member as a whole is doing. */
enum member_state { NEW, SEARCHING, LISTING, REGISTERING, SUBSCRIBING, RUNNING, LEAVING, CLOSED };

/* Who holds the rebalance lock: in Java the thread that does the work. */
enum holder { NOBODY, CALLER, EXECUTOR, EVENT_THREAD };

/* Where the rebalance of the holder is. */
enum rebalance_state {
    RB_IDLE,
    RB_READING,    /* the attempt waits for an answer */
    RB_FETCHING,   /* it waits for offsets from Kafka */
    RB_STOPPING,   /* it waits for the fetchers */
    RB_COMMITTING, /* it waits for its commit */
    RB_WATCHING,   /* no broker: a watch is put on their list */
    RB_CLEANING,   /* the attempt has failed: fetchers are stopped once more */
    RB_CLEANED,    /* ... and what they reached is committed */
    RB_BACKOFF,
};

/* What the event thread is doing. */
enum event_state {
    EV_IDLE,
    EV_REGISTERING,
    EV_REGISTER_WAIT,
    EV_WANTS_LOCK,
    EV_REBALANCING,
    EV_EXISTS,
    EV_READING,
    EV_TOPICS, /* see topics_step */
};

/* Where the event thread is with the list of all topics. */
enum topics_step {
    TOPICS_MAKE,      /* does /brokers/topics exist? */
    TOPICS_CREATE,    /* no */
    TOPICS_EXISTS,    /* zkclient's watch: exists, then the list */
    TOPICS_LIST,      /* ... */
    TOPICS_LOOK,      /* the handler lists once more: has what the filter allows changed? */
    TOPICS_SUBSCRIBE, /* it has: everything is listened to again */
};

struct zk_compat {
    struct attempt_config config;
    struct zk_compat_config settings; /* its strings are those of `config`, or NULL */
    char *group, *consumer_id, *ids_path, *id_path;
    struct zk_subscription *subscriptions;
    struct topic_book book;
    struct zk_filter *filter; /* NULL: fixed topics */

    enum member_state state;
    int64_t now_ms, wall_ms; /* of the input being fed */
    bool connected;
    int64_t session_id; /* of the last connection */
    bool is_registered; /* the id node is this session's */
    bool is_settled;    /* the first rebalance has ended */
    bool gave_up;
    bool leave_wanted;
    bool is_stopped; /* while leaving: the fetchers are down, what they reached is queued */
    bool lost;       /* the session ended since the last stop */

    struct lane lanes[GROUP_LANE_COUNT];
    int64_t resend_at_ms;

    /* fence */
    struct lease lease;
    struct zk_op probe; /* the part of the probe under way */
    uint32_t probe_seq;
    int64_t lease_told_ms; /* end in the last GROUP_OUT_LEASE, of lease_session */
    int64_t lease_session;

    /* membership */
    struct registrar registrar;
    struct told unregistered; /* why the registration fails, and is tried again */
    struct buf registration;
    size_t subscribing_at; /* step of what is being listened to: compat_subscribe_send() */
    int64_t register_at_ms;
    bool brokers_watched;
    struct event_queue events;
    enum event_state ev;
    bool event_flag; /* ZKRebalancerListener.isWatcherTriggered */

    /* topics of a filter */
    bool topics_watched; /* zkclient listens to /brokers/topics: reads of it leave a watch */
    enum topics_step topics_step;
    struct creator topics_creator;
    uint32_t *allowed; /* numbers of the topics that were last seen to be allowed, sorted */
    size_t allowed_count;

    /* rebalance */
    enum holder holder;
    enum rebalance_state rb;
    uint32_t rebalance; /* counts from 1 */
    uint32_t attempt_number;
    bool executor_wants;
    bool watching_exists; /* of RB_WATCHING: exists is under way, then the list */
    int64_t backoff_until_ms;
    bool has_news; /* since the attempt began: an event that may have changed what it saw */
    struct attempt attempt;
    struct attempt ended; /* outputs of the last step may point into it */
    bool has_ended;       /* it is to be given back in the next step */
    struct group_claim *owned;
    size_t owned_count;
    bool is_fetching; /* between assignment and stop */

    /* commits */
    int64_t commit_at_ms;
    uint32_t timer_commit; /* job of the timer that has not ended; it has one thread */
    uint32_t rb_commit;    /* job awaited in RB_COMMITTING, RB_CLEANED and LEAVING */
    struct offset_committer committer;
    struct told uncommitted;       /* why the last commit failed */
    struct offset_manager offsets; /* of offsets in Kafka */

    struct leader_finder finder;
};

/* ---- zk_compat.c ---- */

void compat_move(struct zk_compat *m, enum member_state to);
void compat_say_state(struct zk_compat *m, struct group_outputs *out);
void compat_trigger(const char *why, struct group_outputs *out);
void compat_send(struct zk_compat *m, enum group_lane lane, const struct zk_op *op,
                 struct group_outputs *out);

/* Sends a read that leaves a watch. */
void compat_send_watching(struct zk_compat *m, enum group_lane lane, enum zk_op_type type,
                          const char *path, struct group_outputs *out);

/* Closes the gates and forgets what was looked for. */
void compat_stop_fetchers(struct zk_compat *m, enum group_stop_why why, struct group_outputs *out);

/* ---- zk_compat_rebalance.c ---- */

/* Takes the lock, which must be free. */
void compat_rebalance_begin(struct zk_compat *m, enum holder holder, struct group_outputs *out);
void compat_rebalance_answer(struct zk_compat *m, const struct zk_result *answer,
                             struct group_outputs *out);

/* The offset manager has ended a fetch, or the member leaves while one is repeated. */
void compat_rebalance_fetched(struct zk_compat *m, struct group_outputs *out);

/* The fetchers are down and what they reached has been queued for the commit. */
void compat_rebalance_stopped(struct zk_compat *m);

/* The commit of the rebalance has failed. */
void compat_rebalance_commit_failed(struct zk_compat *m, const char *text,
                                    struct group_outputs *out);

/* No commit runs or waits. */
void compat_rebalance_commits_done(struct zk_compat *m, struct group_outputs *out);
void compat_rebalance_time(struct zk_compat *m, struct group_outputs *out);

/* Something may have changed what the attempt has seen: one that waits for contested nodes need
 * not wait. */
void compat_rebalance_news(struct zk_compat *m);

/* An event of an owner node. */
void compat_rebalance_owner_event(struct zk_compat *m, const char *path);

/* Gives back the memory of the attempt that ended in the last step. */
void compat_rebalance_forget(struct zk_compat *m);

/* ---- zk_compat_membership.c ---- */

void compat_register(struct zk_compat *m, struct group_outputs *out);
void compat_register_answer(struct zk_compat *m, const struct zk_result *answer,
                            struct group_outputs *out);
void compat_register_time(struct zk_compat *m, struct group_outputs *out);

void compat_watch(struct zk_compat *m, const struct zk_watch_event *event);
void compat_expired(struct zk_compat *m, struct group_outputs *out);

/* Begins the first event, when the event thread is idle. False: nothing to begin. */
bool compat_event_begin(struct zk_compat *m, struct group_outputs *out);
void compat_event_answer(struct zk_compat *m, const struct zk_result *answer,
                         struct group_outputs *out);

/* ---- zk_compat_topics.c ---- */

/* Lists the topics of a filter, then registers; with fixed topics registers at once. */
void compat_list_begin(struct zk_compat *m, struct group_outputs *out);
void compat_list_answer(struct zk_compat *m, const struct zk_result *answer,
                        struct group_outputs *out);

/* Begins to listen, and then rebalances for the first time. */
void compat_subscribe_begin(struct zk_compat *m, struct group_outputs *out);
void compat_subscribe_answer(struct zk_compat *m, const struct zk_result *answer,
                             struct group_outputs *out);

/* Of the event thread: EVENT_WATCH_TOPICS, EVENT_TOPICS, EVENT_TOPICS_SESSION. */
void compat_topics_begin(struct zk_compat *m, enum event_kind kind, struct group_outputs *out);
void compat_topics_answer(struct zk_compat *m, const struct zk_result *answer,
                          struct group_outputs *out);

/* ---- zk_compat_fence.c ---- */

void compat_fence_connected(struct zk_compat *m, const struct group_input *in);
void compat_fence_disconnected(struct zk_compat *m);

/* The answer to a probe. */
void compat_fence_answer(struct zk_compat *m, const struct group_input *in);

/* Sends a probe that is due, and tells the end of the lease when it has moved. */
void compat_fence_run(struct zk_compat *m, struct group_outputs *out);
int64_t compat_fence_deadline_ms(const struct zk_compat *m);

/* ---- zk_compat_commits.c ---- */

/* The application commits. */
void compat_commit(struct zk_compat *m, const struct group_input *in, struct group_outputs *out);

/* The positions that the timer asked for. */
void compat_commit_timer(struct zk_compat *m, const struct group_input *in,
                         struct group_outputs *out);

/* The positions at a stop: committed where auto.commit.enable says so. */
void compat_commit_stopped(struct zk_compat *m, const struct group_input *in,
                           struct group_outputs *out);
void compat_commit_time(struct zk_compat *m, struct group_outputs *out);

/* Kafka has ended a commit. */
void compat_commit_stored(struct zk_compat *m, struct group_outputs *out);

/* Lets the committer go on: with an answer, or with NULL. */
void compat_commit_drive(struct zk_compat *m, const struct zk_result *answer,
                         struct group_outputs *out);

#endif
