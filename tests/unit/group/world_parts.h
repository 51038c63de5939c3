/* The inside of the world: only for its own files.
 *
 *   world.c        the world as seen from outside, its clock, its members
 *   world_link.c   messages between members and server, connections, sessions
 *   world_shell.c  what a shell does with a machine's outputs
 *   world_check.c  what was asked; whether a group has settled */
#ifndef ZKC_TEST_WORLD_PARTS_H
#define ZKC_TEST_WORLD_PARTS_H

#include "tests/unit/group/world.h"
#include "tests/unit/test.h"

#define OPEN_OPS_MAX 16

enum message_kind {
    MESSAGE_REQUEST, /* member to server */
    MESSAGE_ANSWER,  /* server to member */
    MESSAGE_WATCH,
    MESSAGE_CUT,     /* the member notices that its connection is gone */
    MESSAGE_CONNECT, /* the member's link is there again */
    MESSAGE_EXPIRE,  /* the server ends a session that was not heard of */
    MESSAGE_DUE,     /* the shell's answer to an output */
};

struct message {
    int64_t at_ms;
    uint64_t order;
    enum message_kind kind;
    struct world_member *member;
    uint32_t connection; /* messages of an older one are lost */
    enum group_lane lane;
    uint32_t seq;
    struct zk_op op; /* with all that it points to */
    struct zk_result result;
    struct zk_watch_event event;
    enum group_input_type due;
    int64_t session;
};

struct open_op {
    enum group_lane lane;
    uint32_t seq;
    bool is_abandoned; /* the machine does not wait for it any more */
};

/* The part of a member that tests do not look at. */
struct world_link {
    struct zk_subscription *subscriptions;
    size_t subscription_count;
    enum assign_strategy strategy;
    bool is_connected; /* as the member knows it */
    bool is_up;        /* as it is */
    uint32_t connection;
    int64_t last_request_ms, last_answer_ms, last_due_ms;
    int64_t lost_touch_ms; /* when the server last lost the connection */
    struct fake_zk_client client;
    struct open_op open[OPEN_OPS_MAX];
    size_t open_count;
    bool is_fetching; /* between assignment and stop */
    bool has_leader[WORLD_POSITIONS_MAX];
    char *topics[WORLD_POSITIONS_MAX]; /* behind the positions */
    size_t topic_count;
    int64_t time_fed_at_ms;
    int time_fed;
    char **asked;
    size_t asked_count, asked_cap;
    enum group_offsets_request offsets_request; /* the last question for offsets in Kafka */
    struct group_offset offsets[WORLD_POSITIONS_MAX];
    size_t offsets_count;
};

struct world {
    struct world_options options;
    struct fake_zk *zk;
    struct rng rng;
    int64_t now_ms;
    uint64_t order;
    struct message **heap;
    size_t heap_count, heap_cap;
    struct message *held[64];
    size_t held_count;
    world_hook *hook;
    void *hook_user;
    struct world_member members[WORLD_MEMBERS_MAX];
    size_t member_count;
    struct group_offset kafka[WORLD_POSITIONS_MAX]; /* what Kafka has stored; names are owned */
    size_t kafka_count;
    const char *const *phrases; /* NULL: nobody listens */
    struct group_outputs out;
    unsigned long seen; /* what outputs point to is read, so that sanitizers see it */
};

/* ---- world.c ---- */

/* What fired goes on its way before any later answer. */
void world_send_events(struct world *w);
void world_free_machine(struct world_member *m);

/* ---- world_link.c ---- */

struct message *world_message(struct world_member *m, enum message_kind kind, int64_t at_ms);
void world_message_free(struct message *msg);
void world_post(struct world *w, struct message *msg);

/* Takes the earliest; there must be one. */
struct message *world_take(struct world *w);

/* True: the message has been kept. */
bool world_deliver(struct world *w, struct message *msg);

/* A moment from now, after all others of this kind. */
int64_t world_later(struct world *w, int64_t *last_ms);
struct zk_op world_copy_op(const struct zk_op *op);
struct bytes world_copy_bytes(struct bytes b);

/* Nothing gets through any more; the server will end the session if that lasts. */
void world_go_down(struct world_member *m);

/* ---- world_shell.c ---- */

/* Answers the member's last question for offsets in Kafka: one broker, which manages them. */
void world_answer_offsets(struct world_member *m, uint32_t seq);

/* ---- world_check.c ---- */

void world_log(struct world_member *m, enum group_lane lane, const struct zk_op *op,
               const char *outcome);

#endif
