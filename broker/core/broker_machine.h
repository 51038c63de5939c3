/* A broker in ZooKeeper: it registers, takes part in the election of the controller, reads and
 * watches the cluster, tells the shell which partitions it hosts, and, when elected, does a
 * controller's work. Contents and rules are Kafka 0.8.2's (broker-zookeeper 1, 2); brokers do not
 * speak to each other: what 0.8.2's controller tells them by LeaderAndIsr, UpdateMetadata and
 * StopReplica, each reads from the znodes.
 *
 *   CONNECTED ─► common paths ─► election ─► registration ─► view read ─► READY
 *                                   ▲  lost controller: again   │ changes: watches
 *      EXPIRED: everything again, ◄─┴───────────────────────────┘
 *      what is hosted stays served meanwhile
 *
 * A partition is hosted where its leader is. Its replicas beyond the one that holds the data are
 * ignored: replication is Kafka's. Leader is the first live assigned replica when the partition is
 * new, from then on only whoever has the data: the member of the ISR, or the only replica assigned;
 * -1 while it is away.
 *
 * Failure modes: a lost connection: operations under way are sent again when there is one; serving
 * goes on. A lost session: operations and controller's office are dropped with it, nothing
 * is retried in another session; registration and election begin anew. Another broker with our id
 * and another address: BROKER_OUT_FATAL. Our own node of an earlier session: waited for. A write
 * refused for its version (a second controller, a tool): what was written is read again. Nodes that
 * cannot be read are told in notices and left out.
 *
 * Limits: BROKER_OPS_MAX operations under way; topics and partitions by memory. */
#ifndef ZKC_BROKER_MACHINE_H
#define ZKC_BROKER_MACHINE_H

#include "broker/core/cluster_view.h"
#include "zkconsumer/core/zk/log_config.h"
#include "zkconsumer/core/zk/op.h"

/* Everything is copied. */
struct broker_config {
    int32_t broker_id;
    const char *host; /* as registered: advertised.host.name, or host.name, or the machine's name */
    int32_t port;     /* as registered: the port really bound */
    int32_t jmx_port; /* -1 */
    int64_t session_timeout_ms;
    bool auto_create_topics;    /* auto.create.topics.enable */
    bool delete_topics;         /* delete.topic.enable */
    int32_t default_partitions; /* num.partitions */
    struct log_config log;      /* defaults of all logs */
    uint64_t seed;              /* of the placement of new topics */
};

#define BROKER_OPS_MAX 64

enum broker_input_type {
    BROKER_IN_CONNECTED,    /* ZooKeeper answers; the chroot is there */
    BROKER_IN_DISCONNECTED, /* the connection is lost; the session may live on */
    BROKER_IN_EXPIRED, /* the session has ended; operations were all answered or never will be */
    BROKER_IN_RESULT,  /* the answer to a BROKER_OUT_OP */
    BROKER_IN_WATCH,
    BROKER_IN_TIME,         /* the deadline has passed */
    BROKER_IN_CREATE_TOPIC, /* a Metadata request asked for a topic that is not there (requests.h)
                             */
    BROKER_IN_HOST_FAILED,  /* a log could not be opened: told again after a while */
    BROKER_IN_STOP, /* a clean stop: no more operations; the shell closes the session then, which
                     * takes back registration and office */
};

/* Borrowed for the step. */
struct broker_input {
    enum broker_input_type type;
    int64_t now_ms;  /* monotonic */
    int64_t wall_ms; /* since 1970 */
    union {
        struct {
            int64_t session_id;
            bool is_new;
        } connected;
        struct {
            uint32_t slot, seq;
            const struct zk_result *result;
        } result;
        struct zk_watch_event watch;
        struct bytes create_topic; /* its name, checked or not */
        struct {
            const char *topic;
            int32_t partition;
        } host_failed;
    };
};

enum broker_output_type {
    BROKER_OUT_OP,     /* send it; answer with the same slot and seq */
    BROKER_OUT_HOST,   /* open or create this partition's log, with this configuration, and serve it
                        */
    BROKER_OUT_CONFIG, /* the configuration of a hosted topic has changed */
    BROKER_OUT_UNHOST, /* stop serving; the log stays on disk: another broker leads, or the topic
                        * vanished and delete.topic.enable is off, or it did while we had no session
                        */
    BROKER_OUT_DELETE, /* stop serving and delete the log: the topic was deleted before our eyes,
                        * and delete.topic.enable is on. Comes before the HOST of a new topic of
                        * that name */
    BROKER_OUT_VIEW,   /* the view has changed: copy it for those who answer requests. Once for many
                        * changes at a time */
    BROKER_OUT_READY,  /* registered, and the view is complete: accept connections. Once */
    BROKER_OUT_CONTROLLER, /* we are the controller, or no longer */
    BROKER_OUT_NOTICE,     /* a line for the log */
    BROKER_OUT_FATAL,      /* the broker cannot go on: say why and end */
};

/* Pointers are lent until the next step. */
struct broker_output {
    enum broker_output_type type;
    union {
        struct {
            uint32_t slot, seq;
            struct zk_op op;
        } op;
        struct {
            const char *topic;
            int32_t partition;
            int32_t leader_epoch;
            struct log_config config;
        } host; /* of HOST, UNHOST, DELETE; CONFIG: partition -1, all of the topic's */
        struct {
            bool is_controller;
            int32_t epoch;
        } controller;
        struct {
            int level; /* syslog's: 3 error, 4 warning, 6 info, 7 debug */
            const char *text;
        } notice; /* of FATAL, too */
    };
};

struct broker_outputs {
    struct broker_output *list; /* owned by the machine; in order */
    size_t count;
};

struct broker_machine;

/* ZKC_ERR_NOMEM. Nothing happens before BROKER_IN_CONNECTED. */
ZKC_MUST_CHECK enum zkc_err broker_machine_new(const struct broker_config *config,
                                               struct broker_machine **out);
void broker_machine_free(struct broker_machine *m); /* NULL is allowed */

/* Feeds one input. Never blocks. *out is lent until the next step; the shell carries out all of it,
 * in order, before it feeds the next input. Without memory it tells BROKER_OUT_FATAL. */
void broker_machine_step(struct broker_machine *m, const struct broker_input *in,
                         struct broker_outputs *out);

/* When to feed BROKER_IN_TIME; INT64_MAX: never. Ask after every step. */
int64_t broker_machine_deadline_ms(const struct broker_machine *m);

/* Lent until the next step. */
const struct cluster_view *broker_machine_view(const struct broker_machine *m);

/* A word for logs: new, starting, electing, registering, reading, ready, stopped. Static. */
const char *broker_machine_state_name(const struct broker_machine *m);

#endif
