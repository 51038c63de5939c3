#include "broker/io/config.h"
#include "zkconsumer/cli/file.h"
#include "zkconsumer/cli/options.h"
#include "zkconsumer/cli/suggest.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/base/properties.h"
#include "zkconsumer/core/zk/auth.h"
#include "zkconsumer/core/zk/connect.h"
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FILE_BYTES_MAX (1 << 20)
#define INT_MAX32      INT64_C(2147483647)

enum key_type {
    KEY_INTEGER,
    KEY_BOOLEAN,
    KEY_TEXT,
    KEY_LIST,   /* of folders, by comma */
    KEY_POLICY, /* log.cleanup.policy */
    KEY_LEVEL,  /* log.level */
    KEY_OFF,    /* a boolean that can only be false here */
    KEY_IDLE,   /* accepted without effect */
};

struct key {
    struct config_doc doc;
    enum key_type type;
    size_t field;     /* offsetof in struct config */
    int64_t min, max; /* KEY_INTEGER */
    int64_t unit;     /* KEY_INTEGER: the field holds value times unit; 0: 1 */
    int rank;         /* of keys for the same field (log.retention.ms, .minutes, .hours) the highest
                       * that is given counts, in whatever order */
};

#define INTEGER(name_, default_, field_, min_, max_, text_)                                        \
    {                                                                                              \
        .doc = {.name = name_, .default_text = default_, .text = text_}, .type = KEY_INTEGER,      \
        .field = offsetof(struct config, field_), .min = min_, .max = max_                         \
    }
#define DURATION(name_, default_, field_, max_, unit_, rank_, text_)                               \
    {                                                                                              \
        .doc = {.name = name_, .default_text = default_, .text = text_}, .type = KEY_INTEGER,      \
        .field = offsetof(struct config, field_), .min = 1, .max = max_, .unit = unit_,            \
        .rank = rank_                                                                              \
    }
#define KEY(type_, name_, default_, field_, text_)                                                 \
    {                                                                                              \
        .doc = {.name = name_, .default_text = default_, .text = text_}, .type = type_,            \
        .field = offsetof(struct config, field_)                                                   \
    }
#define IDLE(name_, text_)                                                                         \
    {                                                                                              \
        .doc = {.name = name_, .text = text_, .is_idle = true}, .type = KEY_IDLE                   \
    }

#define HOUR_MS     INT64_C(3600000)
#define NO_REPLICAS "a partition has one replica here"
#define NO_CLEANER  "logs are not compacted here"
#define NO_STORE    "offsets are kept in ZooKeeper here"

static const struct key keys[] = {
    INTEGER("broker.id", NULL, broker_id, 0, INT_MAX32, "Id of this broker, each its own."),
    INTEGER("port", "9092", port, 0, 65535,
            "Port to listen on; 0: any free one, which is then registered."),
    KEY(KEY_TEXT, "host.name", NULL, host_name,
        "Address or name to listen on, and to register; all addresses if not set."),
    KEY(KEY_TEXT, "advertised.host.name", NULL, advertised_host,
        "What clients are told instead of host.name."),
    INTEGER("advertised.port", NULL, advertised_port, 1, 65535,
            "What clients are told instead of port."),
    KEY(KEY_LIST, "log.dirs", NULL, log_dirs,
        "Folders for partitions, separated by commas; a new partition goes where the fewest are."),
    KEY(KEY_LIST, "log.dir", "/tmp/kafka-logs", log_dirs, "The same, when log.dirs is not set."),
    KEY(KEY_TEXT, "zookeeper.connect", NULL, zookeeper_connect,
        "ZooKeeper's servers, host:port by comma, with an optional /path behind the last."),
    KEY(KEY_TEXT, "zookeeper.auth", NULL, zookeeper_auth,
        "Credentials for znodes that an ACL protects, " ZK_AUTH_FORM " (not Kafka's)."),
    INTEGER("zookeeper.session.timeout.ms", "6000", zookeeper_session_timeout_ms, 1, INT_MAX32,
            "How long after a crash the broker counts as alive."),
    INTEGER("zookeeper.connection.timeout.ms", "6000", zookeeper_connection_timeout_ms, 1,
            INT_MAX32, "How long the start waits for ZooKeeper."),
    INTEGER("num.network.threads", "3", num_network_threads, 1, 256,
            "Threads that serve connections."),
    INTEGER("socket.send.buffer.bytes", "102400", socket_send_buffer_bytes, 1, INT_MAX32,
            "SO_SNDBUF of connections."),
    INTEGER("socket.receive.buffer.bytes", "102400", socket_receive_buffer_bytes, 1, INT_MAX32,
            "SO_RCVBUF of connections."),
    INTEGER("socket.request.max.bytes", "104857600", socket_request_max_bytes, 1, INT_MAX32,
            "A connection that announces a larger request is closed."),
    INTEGER("max.connections.per.ip", "2147483647", max_connections_per_ip, 1, INT_MAX32,
            "Connections of one address; more are closed."),
    KEY(KEY_TEXT, "max.connections.per.ip.overrides", "", max_connections_per_ip_overrides,
        "Other limits for single addresses: address:limit, separated by commas."),
    INTEGER("connections.max.idle.ms", "600000", connections_max_idle_ms, 1, INT64_MAX,
            "Connections that are silent for longer are closed."),
    INTEGER("num.partitions", "1", num_partitions, 1, 100000,
            "Partitions of a topic that is created by asking for it."),
    INTEGER("default.replication.factor", "1", default_replication_factor, 1, 1,
            "Replicas of such a topic; " NO_REPLICAS "."),
    KEY(KEY_BOOLEAN, "auto.create.topics.enable", "true", auto_create_topics_enable,
        "Create a topic when a client asks for it."),
    KEY(KEY_BOOLEAN, "delete.topic.enable", "false", delete_topic_enable,
        "Delete topics on request; otherwise requests are dropped."),
    INTEGER("min.insync.replicas", "1", min_insync_replicas, 1, INT_MAX32,
            "Above 1 no message with acks=-1 is taken (error 19), as " NO_REPLICAS "."),
    INTEGER("message.max.bytes", "1000012", message_max_bytes, 0, INT_MAX32,
            "Largest message, with its header; larger ones are refused (error 10)."),
    INTEGER("offset.metadata.max.bytes", "4096", offset_metadata_max_bytes, 0, INT_MAX32,
            "Largest metadata of a committed offset (error 12)."),
    INTEGER("log.segment.bytes", "1073741824", log_segment_bytes, 14, INT_MAX32,
            "Size of a segment file."),
    DURATION("log.roll.ms", NULL, log_roll_ms, INT64_MAX, 1, 2,
             "Age at which a segment is closed; wins over log.roll.hours."),
    DURATION("log.roll.hours", "168", log_roll_ms, INT_MAX32, HOUR_MS, 1, "The same in hours."),
    {.doc = {"log.roll.jitter.ms", NULL,
             "A random part of this is taken off; wins over log.roll.jitter.hours.", false},
     .type = KEY_INTEGER,
     .field = offsetof(struct config, log_roll_jitter_ms),
     .max = INT64_MAX,
     .rank = 2},
    {.doc = {"log.roll.jitter.hours", "0", "The same in hours.", false},
     .type = KEY_INTEGER,
     .field = offsetof(struct config, log_roll_jitter_ms),
     .max = INT_MAX32,
     .unit = HOUR_MS,
     .rank = 1},
    {.doc = {"log.retention.ms", NULL,
             "Age at which a closed segment is deleted; -1: never; wins over minutes and hours.",
             false},
     .type = KEY_INTEGER,
     .field = offsetof(struct config, log_retention_ms),
     .min = -1,
     .max = INT64_MAX,
     .rank = 3},
    {.doc = {"log.retention.minutes", NULL, "The same in minutes; wins over hours.", false},
     .type = KEY_INTEGER,
     .field = offsetof(struct config, log_retention_ms),
     .min = -1,
     .max = INT_MAX32,
     .unit = 60000,
     .rank = 2},
    {.doc = {"log.retention.hours", "168", "The same in hours.", false},
     .type = KEY_INTEGER,
     .field = offsetof(struct config, log_retention_ms),
     .min = -1,
     .max = INT_MAX32,
     .unit = HOUR_MS,
     .rank = 1},
    INTEGER("log.retention.bytes", "-1", log_retention_bytes, -1, INT64_MAX,
            "Size above which a partition's oldest segments are deleted; -1: none."),
    INTEGER("log.retention.check.interval.ms", "300000", log_retention_check_interval_ms, 1,
            INT64_MAX, "How often both are looked at."),
    KEY(KEY_POLICY, "log.cleanup.policy", "delete", log_cleanup_compact,
        "delete, or compact: then nothing is deleted. " NO_CLEANER "."),
    INTEGER("log.segment.delete.delay.ms", "60000", log_segment_delete_delay_ms, 0, INT64_MAX,
            "How long deleted segments stay as .deleted files."),
    INTEGER("log.index.size.max.bytes", "10485760", log_index_size_max_bytes, 8, INT_MAX32,
            "Largest index of a segment; a full one closes the segment."),
    INTEGER("log.index.interval.bytes", "4096", log_index_interval_bytes, 0, INT_MAX32,
            "Bytes of log between index entries."),
    INTEGER("log.flush.interval.messages", "9223372036854775807", log_flush_interval_messages, 1,
            INT64_MAX,
            "Messages of a partition after which it is flushed to disk. With 1 no message is "
            "acknowledged before it is there."),
    INTEGER("log.flush.interval.ms", NULL, log_flush_interval_ms, 1, INT64_MAX,
            "Longest time between a message and its flush."),
    INTEGER("log.flush.scheduler.interval.ms", "9223372036854775807",
            log_flush_scheduler_interval_ms, 1, INT64_MAX,
            "How often log.flush.interval.ms is looked at; not set: as often as it says."),
    INTEGER("log.flush.offset.checkpoint.interval.ms", "60000",
            log_flush_offset_checkpoint_interval_ms, 1, INT64_MAX,
            "How often is written down what needs no check after a crash."),
    KEY(KEY_OFF, "log.cleaner.enable", "false", strict_config, NO_CLEANER),
    KEY(KEY_BOOLEAN, "strict.config", "false", strict_config,
        "Unknown keys are errors (not Kafka's)."),
    KEY(KEY_LEVEL, "log.level", "INFO", log_level,
        "ERROR, WARN, INFO or DEBUG: lines to write (not Kafka's)."),
    KEY(KEY_TEXT, "log.file", NULL, log_file,
        "Where lines go instead of stderr; opened again at SIGHUP (not Kafka's)."),

    IDLE("num.io.threads", "the network threads do the work themselves"),
    IDLE("background.threads", "there is nothing for them to do"),
    IDLE("queued.max.requests", "requests do not queue between threads"),
    IDLE("num.replica.fetchers", NO_REPLICAS),
    IDLE("replica.lag.time.max.ms", NO_REPLICAS),
    IDLE("replica.lag.max.messages", NO_REPLICAS),
    IDLE("replica.socket.timeout.ms", NO_REPLICAS),
    IDLE("replica.socket.receive.buffer.bytes", NO_REPLICAS),
    IDLE("replica.fetch.max.bytes", NO_REPLICAS),
    IDLE("replica.fetch.wait.max.ms", NO_REPLICAS),
    IDLE("replica.fetch.min.bytes", NO_REPLICAS),
    IDLE("replica.high.watermark.checkpoint.interval.ms", NO_REPLICAS),
    IDLE("fetch.purgatory.purge.interval.requests",
         "waiting requests are not kept after their end"),
    IDLE("producer.purgatory.purge.interval.requests",
         "waiting requests are not kept after their end"),
    IDLE("controller.socket.timeout.ms", "brokers do not call each other here"),
    IDLE("controller.message.queue.size", "brokers do not call each other here"),
    IDLE("auto.leader.rebalance.enable", NO_REPLICAS),
    IDLE("leader.imbalance.per.broker.percentage", NO_REPLICAS),
    IDLE("leader.imbalance.check.interval.seconds", NO_REPLICAS),
    IDLE("unclean.leader.election.enable", NO_REPLICAS),
    IDLE("controlled.shutdown.enable", "there is no other replica to hand over to"),
    IDLE("controlled.shutdown.max.retries", "there is no other replica to hand over to"),
    IDLE("controlled.shutdown.retry.backoff.ms", "there is no other replica to hand over to"),
    IDLE("zookeeper.sync.time.ms", NO_REPLICAS),
    IDLE("num.recovery.threads.per.data.dir", "partitions are checked one after the other"),
    IDLE("log.cleaner.threads", NO_CLEANER),
    IDLE("log.cleaner.io.max.bytes.per.second", NO_CLEANER),
    IDLE("log.cleaner.dedupe.buffer.size", NO_CLEANER),
    IDLE("log.cleaner.io.buffer.size", NO_CLEANER),
    IDLE("log.cleaner.io.buffer.load.factor", NO_CLEANER),
    IDLE("log.cleaner.backoff.ms", NO_CLEANER),
    IDLE("log.cleaner.min.cleanable.ratio", NO_CLEANER),
    IDLE("log.cleaner.delete.retention.ms", NO_CLEANER),
    IDLE("offsets.load.buffer.size", NO_STORE),
    IDLE("offsets.topic.replication.factor", NO_STORE),
    IDLE("offsets.topic.num.partitions", NO_STORE),
    IDLE("offsets.topic.segment.bytes", NO_STORE),
    IDLE("offsets.topic.compression.codec", NO_STORE),
    IDLE("offsets.retention.minutes", NO_STORE),
    IDLE("offsets.retention.check.interval.ms", NO_STORE),
    IDLE("offsets.commit.timeout.ms", NO_STORE),
    IDLE("offsets.commit.required.acks", NO_STORE),
    IDLE("kafka.metrics.polling.interval.secs", "there are no metrics reporters"),
    IDLE("kafka.metrics.reporters", "there are no metrics reporters"),
    IDLE("kafka.csv.metrics.reporter.enabled", "there are no metrics reporters"),
    IDLE("kafka.csv.metrics.dir", "there are no metrics reporters"),
};

const struct config_doc *config_doc(size_t index)
{
    return index < ARRAY_LEN(keys) ? &keys[index].doc : NULL;
}

void config_type(size_t index, char *out, size_t size)
{
    const struct key *key = &keys[index];
    switch (key->type) {
    case KEY_INTEGER:
        snprintf(out, size, "integer: %" PRId64 " .. %" PRId64, key->min, key->max);
        break;
    case KEY_BOOLEAN: snprintf(out, size, "boolean: true, false"); break;
    case KEY_TEXT: snprintf(out, size, "text"); break;
    case KEY_LIST: snprintf(out, size, "folders"); break;
    case KEY_POLICY: snprintf(out, size, "word: delete, compact"); break;
    case KEY_LEVEL: snprintf(out, size, "word: ERROR, WARN, INFO, DEBUG"); break;
    case KEY_OFF: snprintf(out, size, "boolean: false only"); break;
    case KEY_IDLE: snprintf(out, size, "anything"); break;
    }
}

struct reader {
    struct config *config;
    int rank[ARRAY_LEN(keys)]; /* at the first key of a field: of what it was set by; 0: nothing */
    const char *source;        /* "server.properties" or "--override" */
    bool is_override;
    config_note_fn *note;
    void *user;
    struct why *unknown; /* the first unknown key */
    struct why *why;
};

static const struct key *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (strcmp(keys[i].doc.name, name) == 0)
            return &keys[i];
    return NULL;
}

/* The first key of the same field. */
static size_t first_of(const struct key *key)
{
    size_t i = 0;
    while (keys[i].type == KEY_IDLE || keys[i].field != key->field)
        i++;
    return i;
}

static bool set_text(char **field, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return false;
    free(*field);
    *field = copy;
    return true;
}

static void free_list(char **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

static enum zkc_err set_dirs(struct config *config, const char *value, struct why *why)
{
    char **list = NULL;
    size_t count = 0;
    for (const char *at = value; *at;) {
        size_t len = strcspn(at, ",");
        const char *begin = at;
        at += len + (at[len] == ',');
        while (len && (*begin == ' ' || *begin == '\t'))
            begin++, len--;
        while (len && (begin[len - 1] == ' ' || begin[len - 1] == '\t'))
            len--;
        if (!len)
            continue;
        char **longer = realloc(list, (count + 1) * sizeof *list);
        if (longer)
            list = longer;
        char *dir = longer ? strndup(begin, len) : NULL;
        if (!dir) {
            free_list(list, count);
            why_set(why, "out of memory");
            return ZKC_ERR_NOMEM;
        }
        list[count++] = dir;
    }
    if (!count) {
        free(list);
        why_set(why, "no folder is named");
        return ZKC_ERR_CONFIG;
    }
    free_list(config->log_dirs, config->log_dirs_count);
    config->log_dirs = list;
    config->log_dirs_count = count;
    return ZKC_OK;
}

static bool parse_level(const char *text, int64_t *out)
{
    static const struct {
        const char *name;
        int64_t level;
    } levels[] = {{"ERROR", 3}, {"WARN", 4}, {"INFO", 6}, {"DEBUG", 7}};
    for (size_t i = 0; i < ARRAY_LEN(levels); i++)
        if (strcasecmp(levels[i].name, text) == 0) {
            *out = levels[i].level;
            return true;
        }
    return false;
}

static bool parse_boolean(const char *text, bool *out)
{
    *out = strcmp(text, "true") == 0;
    return *out || strcmp(text, "false") == 0;
}

static enum zkc_err set_value(const struct key *key, const char *value, struct config *config,
                              struct why *why)
{
    void *field = (char *)config + key->field;
    int64_t number;
    bool is_true;
    switch (key->type) {
    case KEY_INTEGER:
        if (!cli_parse_number(value, key->min, key->max, &number)) {
            why_set(why, "not a number of %" PRId64 " .. %" PRId64, key->min, key->max);
            return ZKC_ERR_CONFIG;
        }
        if (key->unit > 1 && number > 0)
            number = number > INT64_MAX / key->unit ? INT64_MAX : number * key->unit;
        *(int64_t *)field = number;
        return ZKC_OK;
    case KEY_BOOLEAN:
        if (parse_boolean(value, field))
            return ZKC_OK;
        why_set(why, "neither true nor false");
        return ZKC_ERR_CONFIG;
    case KEY_OFF:
        if (!parse_boolean(value, &is_true) || is_true) {
            why_set(why, "%s, only false can be set", key->doc.text);
            return ZKC_ERR_CONFIG;
        }
        return ZKC_OK;
    case KEY_TEXT:
        if (set_text(field, value))
            return ZKC_OK;
        why_set(why, "out of memory");
        return ZKC_ERR_NOMEM;
    case KEY_LIST: return set_dirs(config, value, why);
    case KEY_POLICY:
        is_true = strcmp(value, "compact") == 0;
        if (!is_true && strcmp(value, "delete") != 0) {
            why_set(why, "neither delete nor compact");
            return ZKC_ERR_CONFIG;
        }
        *(bool *)field = is_true;
        return ZKC_OK;
    case KEY_LEVEL:
        if (parse_level(value, field))
            return ZKC_OK;
        why_set(why, "none of ERROR, WARN, INFO, DEBUG");
        return ZKC_ERR_CONFIG;
    case KEY_IDLE: break;
    }
    return ZKC_OK;
}

static void place(const struct reader *r, size_t line, char *out, size_t size)
{
    if (r->is_override)
        snprintf(out, size, "%s", r->source);
    else
        snprintf(out, size, "%s:%zu", r->source, line);
}

static void note(const struct reader *r, int level, const char *text)
{
    r->note(level, text, r->user);
}

static void unknown_key(struct reader *r, const char *where, const struct property *p)
{
    struct suggestion near;
    suggestion_init(&near, p->key, strlen(p->key));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        suggestion_offer(&near, keys[i].doc.name, strlen(keys[i].doc.name));
    struct why text;
    if (suggestion_is_near(&near))
        why_set(&text, "%s: unknown key %s; did you mean %.*s?", where,
                why_quote(bytes_of_text(p->key)).text, (int)near.nearest_len, near.nearest);
    else
        why_set(&text, "%s: unknown key %s", where, why_quote(bytes_of_text(p->key)).text);
    if (!r->unknown->text[0])
        *r->unknown = text;
    note(r, 4, text.text);
}

static enum zkc_err take(const struct property *p, void *user)
{
    struct reader *r = user;
    char where[200];
    place(r, p->line, where, sizeof where);
    struct why text;
    const struct key *key = find(p->key);
    if (!key) {
        unknown_key(r, where, p);
        return ZKC_OK;
    }
    if (p->is_trimmed) {
        why_set(&text, "%s: blanks at the end of %s were taken off", where, p->key);
        note(r, 4, text.text);
    }
    if (key->type == KEY_IDLE) {
        why_set(&text, "%s: %s has no effect: %s", where, p->key, key->doc.text);
        note(r, 6, text.text);
        return ZKC_OK;
    }
    /* log.dirs wins over log.dir, whichever comes later. */
    int rank = strcmp(p->key, "log.dirs") == 0 ? 2 : key->rank ? key->rank : 1;
    int *set_by = &r->rank[first_of(key)];
    if (*set_by > rank)
        return ZKC_OK;
    enum zkc_err err = set_value(key, p->value, r->config, &text);
    if (err) {
        why_set(r->why, "%s: %s=%s: %s", where, p->key, why_quote(bytes_of_text(p->value)).text,
                text.text);
        return err;
    }
    if (key->type != KEY_OFF)
        *set_by = rank;
    return ZKC_OK;
}

/* All defaults; only memory can fail. */
static bool set_defaults(struct config *config)
{
    *config = (struct config){.broker_id = -1, .log_flush_interval_ms = CONFIG_NEVER};
    struct why why;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (keys[i].doc.default_text && keys[i].type != KEY_OFF &&
            set_value(&keys[i], keys[i].doc.default_text, config, &why))
            return false;
    return true;
}

static bool read_file(struct reader *r, const char *path)
{
    struct buf text;
    buf_init(&text, FILE_BYTES_MAX);
    struct why why;
    bool ok = read_whole_file(path, &text, &why);
    if (!ok) {
        why_set(r->why, "%s: %s", path, why.text);
    } else {
        const char *slash = strrchr(path, '/');
        r->source = slash ? slash + 1 : path;
        why_clear(r->why);
        ok = properties_parse(buf_bytes(&text), take, r, &why) == ZKC_OK;
        if (!ok && why.text[0])
            why_set(r->why, "%s: %s", path, why.text);
    }
    buf_deinit(&text);
    return ok;
}

static bool read_override(struct reader *r, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) {
        why_set(r->why, "--override %s: expected key=value", why_quote(bytes_of_text(text)).text);
        return false;
    }
    char *key = strndup(text, (size_t)(equals - text));
    if (!key) {
        why_set(r->why, "out of memory");
        return false;
    }
    struct property p = {.key = key, .value = equals + 1};
    enum zkc_err err = take(&p, r);
    free(key);
    return err == ZKC_OK;
}

static bool check_overrides_per_ip(const char *text, struct why *why)
{
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, ",");
        char entry[128];
        snprintf(entry, sizeof entry, "%.*s", (int)len, at);
        char *colon = strrchr(entry, ':');
        int64_t limit;
        if (len >= sizeof entry || !colon || colon == entry ||
            !cli_parse_number(colon + 1, 0, INT_MAX32, &limit)) {
            why_set(why, "max.connections.per.ip.overrides=%s: expected address:limit,...",
                    why_quote(bytes_of_text(text)).text);
            return false;
        }
        at += len + (at[len] == ',');
    }
    return true;
}

/* What only all values together show. */
static bool check(struct config *c, struct why *why)
{
    if (c->broker_id < 0) {
        why_set(why, "broker.id is not set; give each broker a number of its own");
        return false;
    }
    if (!c->zookeeper_connect || !c->zookeeper_connect[0]) {
        why_set(why, "zookeeper.connect is not set; expected host:port, or host:port/path");
        return false;
    }
    struct zk_connect parsed;
    struct why reason;
    if (zk_connect_parse(c->zookeeper_connect, &parsed, &reason)) {
        why_set(why, "zookeeper.connect: %s", reason.text);
        return false;
    }
    zk_connect_deinit(&parsed);
    char scheme[ZK_AUTH_SCHEME_SIZE];
    struct bytes credentials;
    if (c->zookeeper_auth && !zk_auth_split(c->zookeeper_auth, scheme, &credentials)) {
        why_set(why, "zookeeper.auth: expected " ZK_AUTH_FORM);
        return false;
    }
    return check_overrides_per_ip(c->max_connections_per_ip_overrides, why);
}

bool config_read(struct config *config, const char *path, const char *const *overrides,
                 size_t overrides_count, config_note_fn *note_fn, void *user, struct why *why)
{
    why_clear(why);
    if (!set_defaults(config)) {
        config_deinit(config);
        why_set(why, "out of memory");
        return false;
    }
    struct why unknown;
    why_clear(&unknown);
    struct reader r = {
        .config = config, .note = note_fn, .user = user, .unknown = &unknown, .why = why};
    bool ok = !path || read_file(&r, path);
    r.source = "--override";
    r.is_override = true;
    memset(r.rank, 0, sizeof r.rank);
    for (size_t i = 0; ok && i < overrides_count; i++)
        ok = read_override(&r, overrides[i]);
    ok = ok && check(config, why);
    if (ok && config->strict_config && unknown.text[0]) {
        *why = unknown;
        ok = false;
    }
    if (!ok)
        config_deinit(config);
    return ok;
}

void config_deinit(struct config *c)
{
    free(c->host_name);
    free(c->advertised_host);
    free_list(c->log_dirs, c->log_dirs_count);
    free(c->zookeeper_connect);
    free(c->zookeeper_auth);
    free(c->max_connections_per_ip_overrides);
    free(c->log_file);
    *c = (struct config){0};
}
