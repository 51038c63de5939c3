/* A small world for group machines: one fake ZooKeeper, one virtual clock, several members, each
 * with a session and a link that delays, loses and cuts. It is the shell of every member and keeps
 * to that contract (output.h, input.h); what a member does wrong towards its shell fails the
 * running test: two operations at once in a lane, partitions handed over between stop and
 * assignment, a deadline that stays in the past.
 *
 * The same seed gives the same run. Without delays everything happens in the order it was sent. */
#ifndef ZKC_TEST_WORLD_H
#define ZKC_TEST_WORLD_H

#include "tests/support/fake_zk.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/group/zk_compat.h"

#define WORLD_GROUP         "g"
#define WORLD_MEMBERS_MAX   16
#define WORLD_POSITIONS_MAX 256
#define WORLD_ERRORS        32

struct world;
struct world_member;

/* What becomes of a request that has reached the server. */
enum world_verdict {
    WORLD_RUN,
    WORLD_FAIL,         /* answered with the hook's *zk_rc, not run */
    WORLD_CUT_BEFORE,   /* the connection is cut before it is run ... */
    WORLD_CUT_AFTER,    /* ... or after, so that the answer is lost */
    WORLD_EXPIRE_AFTER, /* run, then the session ends and the connection is cut */
    WORLD_HOLD,         /* waits for world_release() */
};

struct world_request {
    struct world_member *member;
    enum group_lane lane;
    const struct zk_op *op;
    int number; /* counts all requests of this member, from 0 */
};

typedef enum world_verdict world_hook(struct world *w, const struct world_request *request,
                                      int *zk_rc, void *user);

struct world_options {
    uint64_t seed;
    int64_t delay_max_ms;             /* of a message, and of a shell's answers */
    int64_t reconnect_ms;             /* a cut connection is there again after this */
    int64_t session_timeout_ms;       /* 0: 6000 */
    void (*around_step)(bool begins); /* called before and after each step of a machine; NULL */
};

#define WORLD_PHRASES_MAX 16

/* What a test may look at. */
struct world_member {
    struct world *world;
    int number; /* of its consumer id: g_m<number> */
    char consumer_id[64];
    struct zk_compat *machine; /* NULL: closed or crashed */
    int64_t session;
    bool is_closed;                          /* has left, in order */
    bool is_settled, is_registered, gave_up; /* of the last GROUP_OUT_STATE */
    int requests;                            /* that reached the server */
    int expiries;                            /* ends of sessions that it has learned */
    int rebalances, attempts, attempts_failed, give_ups;
    int notices[WORLD_ERRORS]; /* with an error: by -100 - err */
    char last_failure[256];    /* why of the last attempt that failed */
    char last_error[512];      /* text of the last notice with an error */
    int commits_queued, commits_done, commits_failed;
    int positions_asked; /* by the timer */
    uint32_t last_job;
    enum zkc_err last_commit_err;
    enum group_stop_why last_stop;
    int leases_told;
    int64_t lease_session, lease_end_ms; /* of the last one */
    bool said[WORLD_PHRASES_MAX];        /* of world_listen(): this phrase was in a notice */
    int said_level[WORLD_PHRASES_MAX];
    size_t outputs_max;                                   /* the most of one step */
    struct group_position positions[WORLD_POSITIONS_MAX]; /* of what the shell fetches */
    size_t position_count;
    struct world_link *link;
};

/* Notes which of these phrases come in notices from now on; NULL ends the list, which is borrowed.
 */
void world_listen(struct world *w, const char *const *phrases);

struct world *world_new(const struct world_options *options);
void world_free(struct world *w);
struct fake_zk *world_zk(struct world *w);
int64_t world_now_ms(const struct world *w);
struct rng *world_rng(struct world *w);
void world_set_hook(struct world *w, world_hook *hook, void *user);

/* As somebody outside: see fake_zk.h. */
void world_put(struct world *w, const char *path, const char *text);
void world_remove(struct world *w, const char *path);

/* Topics and brokers, as their writers leave them. */
void world_put_topic(struct world *w, const char *topic, int partitions);
void world_put_broker(struct world *w, int id);
void world_remove_broker(struct world *w, int id);

/* A member's settings with this world's defaults: topic "t", one stream, 4 attempts 2 s apart, no
 * auto commit for 1,000,000 ms. Lent until the next call. */
struct zk_compat_config world_config(void);

/* What a member subscribes to; lent as long as the world. */
const struct zk_subscription *world_subscriptions(const struct world_member *m, size_t *count,
                                                  enum assign_strategy *strategy);

/* Starts a member; group and consumer id are set here. */
struct world_member *world_join(struct world *w, const struct zk_compat_config *config);
void world_leave(struct world_member *m);
void world_crash(struct world_member *m); /* its session ends a session timeout later */

/* Cuts the connection, seen by the member at once or, with `silence_ms`, that much later; it is
 * there again `down_ms` after that. The session ends when that takes longer than its timeout. */
void world_cut(struct world_member *m, int64_t silence_ms, int64_t down_ms);

/* The server ends the session now, and the connection with it. */
void world_expire(struct world_member *m);

/* The server ends any session now. */
void world_end_session(struct world *w, int64_t session);

/* The server answers what WORLD_HOLD has held back, in order. */
void world_release(struct world *w);

/* Hands `count` messages of each fetched partition to the application. */
void world_consume(struct world_member *m, int64_t count);

/* The application commits all that is owned, or one position. */
void world_commit(struct world_member *m);
void world_commit_one(struct world_member *m, const char *topic, int32_t partition, int64_t offset);

/* Anything else; answers that are due are fed too. */
void world_feed(struct world_member *m, struct group_input *in);

/* One message or deadline. False: nothing is left but deadlines more than 100 s away. */
bool world_step(struct world *w);
void world_run_ms(struct world *w, int64_t ms);

/* Until nothing is left to do; fails the test when it takes more than `steps_max` steps. */
void world_settle(struct world *w, int steps_max);

/* How many errors of this kind the member has told. */
int world_told(const struct world_member *m, enum zkc_err err);

/* Members in order of joining, those that are gone included; NULL at the end. */
struct world_member *world_member_at(struct world *w, size_t i);

/* ---- what was asked ---- */

/* The member's requests since it began, or since world_forget(), as
 * "<lane letter> <operation>[ w] <path>[ = data][ -> error]"; R rebalance, E events, C commit, F
 * finder, O offset manager, S probes. A multi is named by its first part, with the number of all.
 */
size_t world_asked_count(const struct world_member *m);
const char *world_asked(const struct world_member *m, size_t i);
void world_forget(struct world_member *m);

/* Fails the test unless these, and no others, were asked in this order; NULL ends the list. A '*'
 * at the end of one stands for anything. */
void world_expect(const struct world_member *m, const char *const *want);

/* How many requests begin with this text. */
int world_asked_like(const struct world_member *m, const char *beginning);

/* Fails the test unless every partition of every topic has the owner node that the strategy says,
 * of the live session of a member that believes to own it, and nobody believes to own more. */
void world_check_settled(struct world *w);

/* The same as a question: NULL, or what is wrong; lent until the next call. */
const char *world_unsettled(struct world *w);

#endif
