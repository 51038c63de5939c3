/* What `zkconsumer consume` is told to do: its options, made into values. */
#ifndef ZKC_CLI_CONSUME_PLAN_H
#define ZKC_CLI_CONSUME_PLAN_H

#include "zkconsumer/cli/format.h"
#include "zkconsumer/cli/options.h"
#include "zkconsumer/cli/where.h"
#include <zkconsumer/consumer.h>

#define CONSUME_OPTIONS 36
extern const struct cli_option consume_options[CONSUME_OPTIONS];

#define CONSUME_EXAMPLE                                                                            \
    "zkconsumer consume --group=billing --topic=orders --zookeeper=zk1:2181/kafka"

struct consume_plan {
    zkc_conf *conf;             /* owned */
    bool is_member;             /* of a group; else single partitions are read */
    bool is_throwaway;          /* the group's name is made up: it is removed at the end */
    char throwaway[32];         /* its name */
    bool is_kafkas;             /* called by Kafka's name: its habits */
    struct zkc_filter filter;   /* topics == NULL: none, but the topics below */
    bool deletes_group;         /* before it starts */
    struct where_topic *topics; /* owned; each once */
    size_t topic_count;
    int32_t *partitions; /* owned; unless is_member: of topics[0] */
    size_t partition_count;
    struct where_start start;
    bool from_beginning;
    int64_t messages_max; /* -1: no limit */
    bool exits_at_end;
    int64_t grace_ms;   /* how long exits_at_end waits for a first partition */
    int64_t silence_ms; /* consumer.timeout.ms: end after so long without a message; -1: never */
    bool is_json;
    struct format format; /* unless is_json */
    const char *null_text;
    bool is_unbuffered;
    const char *exec;      /* a command for messages instead of stdout; NULL: none */
    bool commits_before;   /* its messages are committed before it runs, else after */
    int64_t exec_messages; /* in one run, at most */
    int64_t exec_tries;    /* before a failure is one */
    int64_t exec_timeout_ms;
    const char *metrics; /* where to serve them; NULL: nowhere */
};

/* `on_log` and the like are to be set in plan->conf by the caller afterwards; warnings about the
 * configuration file go through report.h. False: reported what was wrong. End it with
 * consume_plan_deinit(), whatever came of it. `random` makes up a group's name. */
bool consume_plan_init(struct consume_plan *plan, const struct cli_args *args, uint32_t random);
void consume_plan_deinit(struct consume_plan *plan);

/* What the library says, as report lines: errors, and of its log warnings and errors always, the
 * rest with --verbose. The same text comes once in ten seconds (with --verbose, of errors only). On
 * one loop's thread. */
void consume_error(zkc_consumer *consumer, enum zkc_err err, const char *text, void *user);
void consume_log(zkc_consumer *consumer, int level, const char *facility, const char *text,
                 void *user);

/* A conf that tells what the commands do, with the credentials of the environment
 * (ZK_READER_AUTH_VARIABLE). NULL, and reported: out of memory, or they have no such form. */
zkc_conf *consume_conf_new(void);

/* One setting, reported when the library refuses it; `value` NULL: there is nothing to set. `where`
 * is for the message. */
bool consume_conf_set(zkc_conf *conf, const char *where, const char *key, const char *value);

/* auto.commit.enable=false, for who commits by itself; that it was true, explicitly, is told. */
bool consume_conf_commit_by_hand(zkc_conf *conf, const char *who);

/* NULL: single partitions, read without a group. Lent by the plan. */
const char *consume_plan_group(const struct consume_plan *plan);

#endif
