/* Settings, by text, under Kafka 0.8.2's names and with its defaults (docs/configuration.md lists
 * them all), and the callbacks of a consumer. A conf belongs to one thread at a time; consumers
 * copy it. */
#ifndef ZKCONSUMER_CONF_H
#define ZKCONSUMER_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <zkconsumer/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zkc_conf zkc_conf;
typedef struct zkc_consumer zkc_consumer;

/* NULL: out of memory. */
ZKC_API zkc_conf *zkc_conf_new(void);
ZKC_API zkc_conf *zkc_conf_dup(const zkc_conf *conf);
ZKC_API void zkc_conf_free(zkc_conf *conf);

/* Sets one key, by its name or one of its aliases; blanks around the value do not count. An empty
 * value takes a text back to its default. On an error nothing changes and `why` (may be NULL) says what was wrong, what is
 * expected and what to do.
 *
 * ZKC_ERR_CONFIG   unknown key (with the nearest known one), value not of the key's type or range,
 *                  or a value that this version of the library does not act on
 * ZKC_ERR_NOMEM */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_conf_set(zkc_conf *conf, const char *key, const char *value,
                                                 char *why, size_t why_size);

/* The value as text, default included; lent until the key is set again or the conf freed. NULL:
 * unknown key, or a key without a value. */
ZKC_API const char *zkc_conf_get(const zkc_conf *conf, const char *key);

/* Reads a Java properties file (docs/configuration.md). Unknown keys are reported through on_log as
 * warnings (with a NULL consumer) and skipped, as Kafka does; with strict.config=true, in the file or
 * before, they are errors. On an error nothing changes; `why` names file and line.
 *
 * ZKC_ERR_CONFIG, ZKC_ERR_SYSTEM (cannot be read), ZKC_ERR_NOMEM */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_conf_load(zkc_conf *conf, const char *path, char *why,
                                                  size_t why_size);

/* Calls fn for every key, sorted by name, secrets masked. `is_default`: never set. */
typedef void zkc_conf_dump_fn(const char *key, const char *value, bool is_default, void *user);
ZKC_API void zkc_conf_dump(const zkc_conf *conf, zkc_conf_dump_fn *fn, void *user);

/* What a key means, for manuals. All static. */
struct zkc_conf_key {
    const char *name;
    const char *type;          /* "integer", "boolean", "word", "text" */
    const char *default_value; /* "" none; "= other.key": that key's value */
    const char *range;         /* such as "0 .. 2147483647" or "smallest, largest, error" */
    const char *aliases;       /* other names it is known by, "a, b"; "" none */
    const char *text;          /* a sentence or two */
};

/* Calls fn for every key, sorted by name. */
typedef void zkc_conf_describe_fn(const struct zkc_conf_key *key, void *user);
ZKC_API void zkc_conf_describe(zkc_conf_describe_fn *fn, void *user);

/* ---- callbacks: all on the loop's thread, all with the pointer of zkc_conf_set_user ---- */

ZKC_API void zkc_conf_set_user(zkc_conf *conf, void *user);

/* Syslog levels: 3 error, 4 warning, 5 a change of state (ZooKeeper lost and back, delivery stopped
 * and resumed), 6 info, 7 debug. `facility` is a short word: zk, member, claim,
 * fetch, offset, conf. Without a log callback warnings and errors go to stderr. Repeated lines are
 * held back to one a second for each cause, with a count; those of level 7 are not. */
typedef void zkc_log_fn(zkc_consumer *consumer, int level, const char *facility, const char *text,
                        void *user);
ZKC_API void zkc_conf_set_on_log(zkc_conf *conf, zkc_log_fn *fn);

/* Something that the application should know of and that no call of its own returned: ZooKeeper
 * unreachable, session expired, rebalance given up, offset out of range, message too large ...
 * `text` names what, where, and what to do. What is tried again is told when it fails first, and
 * when it fails for another reason or after it has gone well, not with each attempt (those are in
 * the log). */
typedef void zkc_error_fn(zkc_consumer *consumer, enum zkc_err err, const char *text, void *user);
ZKC_API void zkc_conf_set_on_error(zkc_conf *conf, zkc_error_fn *fn);

enum zkc_rebalance_kind {
    ZKC_REBALANCE_ASSIGN, /* claimed; fetching starts when the callback returns */
    ZKC_REBALANCE_REVOKE, /* fetching has stopped; committed and released after the callback, in
                           * safe when what was taken is finished */
    ZKC_REBALANCE_LOST    /* no longer ours, and perhaps another's already: do not commit */
};

struct zkc_owned {
    const char *topic; /* lent for the callback */
    int32_t partition;
    int32_t stream; /* which stream of the topic gets its messages */
    int64_t offset; /* ASSIGN: where fetching starts, -1: by auto.offset.reset; may be changed.
                     * REVOKE, LOST: the position reached; in compat with
                     * acknowledgement.mode=explicit what is acknowledged */
};

/* Partitions come and go: with zookeeper.mode=compat all at once, in every rebalance; with safe only
 * those that come or go now, the others flow on. In ASSIGN the callback may change list[i].offset. It may call any function
 * of the consumer but those that wait (zkc_consumer_close is allowed: it takes effect after the
 * callback has returned). */
typedef void zkc_rebalance_fn(zkc_consumer *consumer, enum zkc_rebalance_kind kind,
                              struct zkc_owned *list, size_t count, void *user);
ZKC_API void zkc_conf_set_on_rebalance(zkc_conf *conf, zkc_rebalance_fn *fn);

/* A JSON document (docs/statistics.md) each statistics.interval.ms. */
typedef void zkc_stats_fn(zkc_consumer *consumer, const char *json, size_t len, void *user);
ZKC_API void zkc_conf_set_on_stats(zkc_conf *conf, zkc_stats_fn *fn);

#ifdef __cplusplus
}
#endif
#endif
