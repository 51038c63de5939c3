/* The table of all keys: the one place where a key is described. */
#ifndef ZKC_CONSUMER_CONF_KEY_H
#define ZKC_CONSUMER_CONF_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zkconsumer/conf.h>

/* In the order of their names. */
enum conf_key_id {
    KEY_ACKNOWLEDGEMENT_MODE,
    KEY_AUTO_COMMIT_ENABLE,
    KEY_AUTO_COMMIT_INTERVAL_MS,
    KEY_AUTO_OFFSET_RESET,
    KEY_CLIENT_ID,
    KEY_CONSUMER_ID,
    KEY_CONSUMER_TIMEOUT_MS,
    KEY_DEBUG,
    KEY_DECOMPRESSED_MAX_BYTES,
    KEY_DUAL_COMMIT_ENABLED,
    KEY_EXCLUDE_INTERNAL_TOPICS,
    KEY_FETCH_MESSAGE_MAX_BYTES,
    KEY_FETCH_MIN_BYTES,
    KEY_FETCH_WAIT_MAX_MS,
    KEY_GROUP_ID,
    KEY_GROUP_PROTOCOL,
    KEY_LOG_LEVEL,
    KEY_MAX_POLL_INTERVAL_MS,
    KEY_NUM_CONSUMER_FETCHERS,
    KEY_OFFSETS_CHANNEL_BACKOFF_MS,
    KEY_OFFSETS_CHANNEL_SOCKET_TIMEOUT_MS,
    KEY_OFFSETS_COMMIT_MAX_RETRIES,
    KEY_OFFSETS_STORAGE,
    KEY_PARTITION_ASSIGNMENT_STRATEGY,
    KEY_QUEUED_MAX_MESSAGE_CHUNKS,
    KEY_REBALANCE_BACKOFF_MS,
    KEY_REBALANCE_MAX_RETRIES,
    KEY_REFRESH_LEADER_BACKOFF_MS,
    KEY_SOCKET_RECEIVE_BUFFER_BYTES,
    KEY_SOCKET_TIMEOUT_MS,
    KEY_STATISTICS_INTERVAL_MS,
    KEY_STRICT_CONFIG,
    KEY_TRACE_LEVEL,
    KEY_TRACE_MEMBER,
    KEY_TRACE_ORIGIN_NS,
    KEY_TRACE_PATH,
    KEY_ZOOKEEPER_ACL,
    KEY_ZOOKEEPER_AUTH,
    KEY_ZOOKEEPER_CLAIM,
    KEY_ZOOKEEPER_COALESCE,
    KEY_ZOOKEEPER_COMMIT,
    KEY_ZOOKEEPER_CONNECT,
    KEY_ZOOKEEPER_CONNECTION_TIMEOUT_MS,
    KEY_ZOOKEEPER_FENCE,
    KEY_ZOOKEEPER_GIVE_UP,
    KEY_ZOOKEEPER_HAND_OVER_MS,
    KEY_ZOOKEEPER_JUTE_MAXBUFFER,
    KEY_ZOOKEEPER_KEEP_UNMOVED,
    KEY_ZOOKEEPER_LEASE_PROBE,
    KEY_ZOOKEEPER_MODE,
    KEY_ZOOKEEPER_OBSERVER,
    KEY_ZOOKEEPER_RELEASE,
    KEY_ZOOKEEPER_SESSION_TIMEOUT_MS,
    KEY_ZOOKEEPER_SYNC_BEFORE_READ,
    KEY_ZOOKEEPER_SYNC_TIME_MS,
    KEY_ZOOKEEPER_VARIANT,
    KEY_ZOOKEEPER_WATCH_BROKERS,
    KEY_ZOOKEEPER_WATCH_OWNERS,
    KEY_ZOOKEEPER_WATCH_SESSIONS_MAX,
    CONF_KEYS
};

enum conf_type {
    CONF_INTEGER,
    CONF_WORD, /* one of `words`; booleans are words too */
    CONF_TEXT,
    CONF_CONNECT,   /* text that zk_connect_parse() takes */
    CONF_AUTH,      /* text that zk_auth_split() takes; a secret */
    CONF_NAME,      /* text of Kafka's characters for groups and clients: [a-zA-Z0-9._-] */
    CONF_ID,        /* text that can be a part of a znode's name */
    CONF_FACILITIES /* a comma list of log facilities, or all */
};

struct conf_word {
    const char *word;
    const char *means; /* NULL: itself; else the word that it is another name of */
    bool is_later;     /* known, but this version does not act on it: refused */
};

struct conf_key {
    struct zkc_conf_key doc;
    enum conf_type type;
    const char *default_text;      /* NULL: none */
    enum conf_key_id default_from; /* when default_text is NULL and has_default_from */
    bool has_default_from;
    int64_t min, max;              /* CONF_INTEGER */
    int64_t used_min, used_max;    /* it acts as if it were in these; both 0: as it is */
    const struct conf_word *words; /* CONF_WORD; ended by a NULL word */
};

extern const struct conf_key conf_keys[CONF_KEYS];

/* The key of that name or alias; NULL: unknown. */
const struct conf_key *conf_key_find(const char *name);

/* The alias of the key that `name` is, static, ended by a comma or the end; NULL: it is none. */
const char *conf_key_alias(const struct conf_key *key, const char *name);

/* Keys that others know and this version does not act on. */
struct conf_refused {
    const char *name;
    const char *reason;
    bool is_harmless; /* leaving it out changes nothing here: skipped in files, with a warning */
    const char *default_value; /* says what is so anyway: taken, and nothing comes of it */
};
const struct conf_refused *conf_refused_find(const char *name);

/* The known name nearest to a mistyped one; NULL: none is near. */
const char *conf_key_nearest(const char *name);
const char *conf_word_nearest(const struct conf_key *key, const char *word);

#endif
