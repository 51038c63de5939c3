/* The inside of broker_machine.h, shared by its parts.
 *
 * All that the machine does in ZooKeeper are tasks: one operation after the other, each with a
 * meaning (kind, topic, partition). Tasks wait in a queue and then run side by side, each in a
 * slot. Watches and answers queue tasks that read; what was read is acted upon when no read is left
 * (machine_settle): the view is then of one piece. */
#ifndef ZKC_BROKER_MACHINE_PARTS_H
#define ZKC_BROKER_MACHINE_PARTS_H

#include "broker/core/broker_machine.h"
#include "broker/core/tree_deleter.h"
#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/group/creator.h"

enum task_kind {
    /* broker_session.c */
    TASK_PATHS,
    TASK_ELECT,
    TASK_REGISTER,
    /* broker_reads.c */
    TASK_BROKERS,
    TASK_BROKER, /* number: its id */
    TASK_TOPICS,
    TASK_TOPIC,  /* name */
    TASK_STATE,  /* name, number: the partition */
    TASK_CONFIG, /* name */
    TASK_DELETES,
    /* broker_writes.c */
    TASK_TOOL_REQUEST, /* number: enum tool_request */
    TASK_WRITE_STATE,  /* name, number */
    TASK_CREATE_TOPIC, /* name */
    TASK_DELETE_TOPIC, /* name */
};
#define TASK_KINDS (TASK_DELETE_TOPIC + 1)

enum tool_request { TOOL_PREFERRED, TOOL_REASSIGN };

struct task_key {
    enum task_kind kind;
    char *name; /* owned; NULL: none */
    int32_t number;
};

struct task {
    enum { TASK_FREE, TASK_SENT, TASK_PARKED, TASK_WAITING } state;
    uint32_t seq; /* of the operation last sent */
    struct task_key key;
    int stage;       /* of its kind's own */
    struct zk_op op; /* points into the following */
    char *path;      /* owned */
    struct buf data;
    struct creator creator;
    struct tree_deleter deleter;
    int32_t number; /* kind's own */
};

enum task_step {
    TASK_SEND, /* t->op */
    TASK_WAIT, /* for something else than an answer */
    TASK_DONE,
};

/* A partition that the shell was told to serve. */
struct hosted {
    char *topic; /* owned */
    int32_t partition;
    bool is_deleted; /* its topic was deleted: the log goes, whatever comes after */
    bool has_failed; /* the shell could not: told again at the next retry */
};

struct broker_machine {
    struct broker_config config; /* host: owned */
    struct rng rng;
    enum { MACHINE_NEW, MACHINE_RUNNING, MACHINE_STOPPED } state;
    bool is_connected;
    int64_t session_id;
    uint32_t session; /* counts sessions */
    int64_t now_ms, wall_ms;
    bool out_of_memory;

    bool is_registered, is_ready; /* is_ready: told once */
    bool is_controller;
    bool elects_again; /* /controller changed while an election was under way */
    int32_t controller_epoch;

    struct cluster_view view;
    bool brokers_read, topics_read; /* in this session */
    bool is_dirty;                  /* something was read that was not acted upon */
    bool is_view_due;               /* a view to publish, once what it promises is hosted */
    int64_t dirty_ms;               /* since when */
    bool was_settled;               /* in this session */
    char **deletes;                 /* topics named in /admin/delete_topics; a controller's */
    size_t deletes_count;
    struct hosted *hosted; /* by topic and partition */
    size_t hosted_count;

    struct task tasks[BROKER_OPS_MAX];
    struct task_key *queue; /* ring */
    size_t queue_first, queue_count, queue_cap;
    size_t reads; /* tasks that read, queued and running */

    int64_t register_at_ms, resend_at_ms, host_retry_ms; /* deadlines; INT64_MAX: none */

    struct broker_output *out;
    size_t out_count, out_cap;
    struct broker_output fatal;
    struct arena texts; /* behind this step's outputs */
};

/* ---- broker_machine.c ---- */

/* Queues a task; name is copied, NULL allowed. */
void machine_queue(struct broker_machine *m, enum task_kind kind, const char *name, int32_t number);
/* Looks at /controller, once more if that is under way. */
void machine_elect(struct broker_machine *m);
/* Queues the read of a partition's state, a topic or its configuration, once. */
void machine_queue_state(struct broker_machine *m, struct view_topic *t, struct view_partition *p);
void machine_queue_topic(struct broker_machine *m, struct view_topic *t);
void machine_queue_config(struct broker_machine *m, struct view_topic *t);

/* Whether one is queued or running; name NULL: any. */
bool machine_has_task(const struct broker_machine *m, enum task_kind kind, const char *name);

struct broker_output *machine_emit(struct broker_machine *m, enum broker_output_type type);
void machine_notice(struct broker_machine *m, int level, const char *fmt, ...) ZKC_PRINTF(3, 4);
void machine_fatal(struct broker_machine *m, const char *fmt, ...) ZKC_PRINTF(2, 3);
void machine_dirty(struct broker_machine *m);
void machine_nomem(struct broker_machine *m);

/* Text that lives as long as this step's outputs. */
const char *machine_text(struct broker_machine *m, const char *text);

/* Takes the path (NULL: out of memory) into the task and makes it its operation. */
enum task_step task_op(struct broker_machine *m, struct task *t, enum zk_op_type type, char *path,
                       bool watch);
/* t->data as the data of an operation on t->path, taken as above; version for set. */
enum task_step task_set(struct broker_machine *m, struct task *t, char *path, int32_t version);
/* Creates the node with t->data, or null for a parent, and the parents it lacks. */
enum task_step task_create(struct broker_machine *m, struct task *t, char *path, bool ephemeral,
                           bool has_data);

/* ---- broker_settle.c ---- */

/* Acts upon what was read: hosts, writes states as a controller, tells the view. */
void machine_settle(struct broker_machine *m);
/* The topic is no more, or another one: the logs of what is hosted go, if that is allowed. */
void machine_forget_hosted(struct broker_machine *m, const struct view_topic *t);
void machine_host_failed(struct broker_machine *m, const char *topic, int32_t partition);
void machine_free_hosted(struct hosted *h);

/* ---- tasks ---- */

typedef enum task_step task_begin_fn(struct broker_machine *m, struct task *t);
typedef enum task_step task_answer_fn(struct broker_machine *m, struct task *t,
                                      const struct zk_result *r);

struct task_type {
    task_begin_fn *begin;
    task_answer_fn *answer;
};

task_begin_fn paths_begin, elect_begin, register_begin;
task_answer_fn paths_answer, elect_answer, register_answer;
void machine_resign(struct broker_machine *m);

task_begin_fn brokers_begin, broker_begin, topics_begin, topic_begin, state_begin, config_begin,
    deletes_begin;
task_answer_fn brokers_answer, broker_answer, topics_answer, topic_answer, state_answer,
    config_answer, deletes_answer;
void machine_free_deletes(struct broker_machine *m);
void machine_drop_delete(struct broker_machine *m, const char *topic); /* it was done */
/* A state was read or written. */
void machine_state_known(struct broker_machine *m, struct view_topic *t, struct view_partition *p);

task_begin_fn tool_request_begin, write_state_begin, create_topic_begin, delete_topic_begin;
task_answer_fn tool_request_answer, write_state_answer, create_topic_answer, delete_topic_answer;

struct view_topic *machine_topic(struct broker_machine *m, const char *name);
struct view_partition *machine_partition(struct broker_machine *m, const char *topic,
                                         int32_t partition, struct view_topic **t);

#endif
