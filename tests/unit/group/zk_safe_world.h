/* A small world for zk_safe: one in-memory ZooKeeper, one virtual clock, a few members with a
 * session, a link and an application each. It is the shell of every member and keeps to that
 * contract, and it checks the promises of safe mode at every step (docs/safe-mode.md, SF1 and SF3
 * to SF6): a test that breaks one fails.
 *
 * Nothing happens by itself: requests wait until the server serves them, answers and events until
 * the member reads them. safe_world_calm() lets everything happen that can at this moment,
 * safe_world_run_ms() lets time pass as well. */
#ifndef ZKC_TEST_ZK_SAFE_WORLD_H
#define ZKC_TEST_ZK_SAFE_WORLD_H

#include "tests/support/fake_zk.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/group/zk_safe.h"

#define SAFE_MEMBERS_MAX    16
#define SAFE_PARTITIONS_MAX 512
#define SAFE_SESSION_MS     6000
#define SAFE_OWNERS         "/consumers/g/owners/t/"
#define SAFE_OFFSETS        "/consumers/g/offsets/t/"
#define SAFE_IDS            "/consumers/g/ids/"

struct safe_message;
struct safe_world;

/* A claim as the shell knows it. */
struct safe_held {
    bool is_open;    /* its gate */
    bool is_stopped; /* DRAINED is due when nothing is out */
    uint64_t number; /* 0: none */
    int64_t session;
    int64_t next;     /* to hand out */
    int64_t finished; /* next after the last finished; what is between is out */
    uint32_t moves;   /* safe_seek() */
    int64_t start;
    int leader_port; /* of the broker, if it was known from the start */
};

/* A question to the group's offset manager. */
struct safe_question {
    bool is_asked;
    uint32_t seq;
    enum group_offsets_request request;
    int64_t until_ms;
    struct group_offset *list;
    size_t count;
};

struct safe_member {
    struct safe_world *world;
    char id[32];
    struct zk_safe *machine; /* NULL: crashed or gone */
    int64_t session;         /* 0: none */
    int64_t lease_session, lease_end_ms;
    bool is_connected; /* as the member knows */
    bool is_stalled;   /* nothing gets through, and nobody has noticed */
    bool is_being_cut;
    bool is_opening; /* a new session is asked for */
    bool is_closing; /* CLOSE_SESSION was asked for */
    bool wants_positions;
    bool is_polling; /* the application asks for messages all the time */
    int64_t polled_ms;
    struct fake_zk_client client;
    struct safe_message *requests, **requests_end; /* on their way to the server */
    struct safe_message *zombies;                  /* of the connection before */
    struct safe_message *replies, **replies_end;   /* on their way to the member */
    struct safe_question question;
    int hang_ups;
    struct safe_held held[SAFE_PARTITIONS_MAX]; /* of topic t */
    int evictions, foreigns, obeyed, voids, waits, commits_done;
    enum group_void voided; /* the last of them */
    int64_t voided_reset;
    int deletes;     /* of owner nodes of ours */
    char blamed[64]; /* for the last foreign write or delete; "": nobody */
    int64_t doubled; /* all messages that others have consumed, too */
    int returns;
    char returned[64];    /* who did, last */
    int64_t returned_sum; /* of where our claims began that it had before */
    int gave_ups;         /* how often that was told */
    char gave_up[64];     /* who did, as told last */
    size_t free, share;   /* of it */
    enum zkc_err last_commit_err;
    bool is_settled, is_registered;
    char waiting_for[64]; /* holder of the last WAITING */
    char *asked[4096];    /* operations in words, since safe_world_forget_asked() */
    int asked_count;      /* without those of the leader finder */
    int broker_lists;
    uint32_t metadata_seq; /* of the last question for leaders */
    size_t outputs_max;
    bool in_round, in_try; /* as told for the trace */
    int rounds, rounds_failed, tries, decided;
    int notices, errors; /* errors: of them, for the application */
    enum zkc_err last_error;
    char last_notice[512];
};

struct safe_world {
    struct fake_zk *zk;
    struct rng rng;
    int64_t now_ms;
    int partitions; /* of topic t */
    int64_t log_end[SAFE_PARTITIONS_MAX];
    int64_t touched_ms[256]; /* by session */
    struct safe_member *members[SAFE_MEMBERS_MAX];
    int member_count;
    bool has_kafka;                      /* offsets are there, too: safe_world_use_kafka() */
    bool is_kafka_silent;                /* the offset manager does not answer */
    int16_t kafka_error;                 /* that it answers a fetch or a commit with */
    int64_t stored[SAFE_PARTITIONS_MAX]; /* in Kafka; -1: nothing */
    bool keeps_zombies; /* requests of a lost connection may be carried out after the next attach */
    bool has_foreigners;    /* somebody else writes: then less is promised */
    bool is_broken_by_plan; /* a bug is planted: what is found is kept, not failed on */
    char broken[256];       /* the first broken promise */
    void (*around_step)(bool begins);
    struct group_outputs outputs;
};

struct safe_world *safe_world_new(uint64_t seed, int partitions);
void safe_world_free(struct safe_world *w);

/* A world with the group's folders, and with the session of somebody who is no member: it lasts. */
struct safe_world *safe_world_with_foreigner(int partitions, int64_t *session);

/* There is a broker, which is the offset manager. */
void safe_world_use_kafka(struct safe_world *w);

/* The defaults of safe mode for group g, topic t, one stream, commits every 5 s. */
struct zk_safe_config safe_world_config(void);

/* Starts a member with this id; its connection is there after safe_connect(). */
struct safe_member *safe_world_join(struct safe_world *w, const char *id,
                                    const struct zk_safe_config *config);

/* ---- single steps ---- */

/* The server serves the member's oldest request. False: none, or none can get through. */
bool safe_serve(struct safe_member *m);

/* The member reads its oldest answer or event. */
bool safe_read(struct safe_member *m);

/* The offset manager answers; false: it was not asked, or is silent. A request whose time was over
 * before it was written was not sent. */
bool safe_serve_kafka(struct safe_member *m);

/* The connection to the offset manager breaks: what was asked has no answer, carried out or not.
 * False: nothing was asked. */
bool safe_lose_kafka(struct safe_member *m, bool is_run);

/* What the server still runs of a lost connection; false: none. */
bool safe_serve_zombie(struct safe_member *m);

/* A connection: of the same session, or, when that has ended, of a new one. */
void safe_connect(struct safe_member *m);

/* The member learns that its connection is gone; what was under way is lost, but may still be run.
 */
void safe_cut(struct safe_member *m);

/* Nothing gets through any more, and nobody notices. */
void safe_stall(struct safe_member *m);

/* The operation in this lane gets no answer, as one that is under way when a session is closed.
 * False: there is none on its way to the server. */
bool safe_swallow(struct safe_member *m, enum group_lane lane);

/* The server ends the session. */
void safe_expire(struct safe_member *m);

void safe_crash(struct safe_member *m);
void safe_feed(struct safe_member *m, struct group_input *in);
void safe_leave(struct safe_member *m);
void safe_time(struct safe_member *m);

/* The application takes the next message of p if the gate lets it; false: it does not, or there is
 * none. And finishes what it has taken. */
bool safe_take(struct safe_member *m, int p);
void safe_finish(struct safe_member *m, int p);
/* A seek, or a reset of an offset that is out of range: commits may go back so far. */
void safe_seek(struct safe_member *m, int p, int64_t offset);
void safe_commit_one(struct safe_member *m, int p, int64_t offset);

/* The application polls, should the member be evicted. */
void safe_poll(struct safe_member *m);

bool safe_gate_is_open(const struct safe_member *m, int p);

/* As somebody outside. */
void safe_world_remove(struct safe_world *w, const char *path);
void safe_world_put(struct safe_world *w, const char *path, const char *text);

/* ---- many steps ---- */

/* Sessions end whose time is over. */
void safe_world_end_sessions(struct safe_world *w);
void safe_world_calm(struct safe_world *w);

/* Time passes; members are connected again at once, applications poll and finish what they have. */
void safe_world_run_ms(struct safe_world *w, int64_t ms);

/* NULL, or why the group is not settled: every partition delivered and committed. */
const char *safe_world_unsettled(struct safe_world *w);

/* ---- what was asked ---- */

void safe_forget_asked(struct safe_member *m);
int safe_asked_like(const struct safe_member *m, const char *part);
void safe_expect(struct safe_member *m, const char *const *want);
int64_t safe_owner(struct safe_world *w, int p); /* session of the owner node; 0: none */

#endif
