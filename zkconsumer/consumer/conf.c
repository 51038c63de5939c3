#include "zkconsumer/consumer/conf.h"
#include "zkconsumer/consumer/conf_key.h"
#include "zkconsumer/consumer/log.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/properties.h"
#include "zkconsumer/core/zk/auth.h"
#include "zkconsumer/core/zk/connect.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define VALUE_LEN_MAX  8192
#define FILE_BYTES_MAX ((size_t)1024 * 1024)

struct zkc_conf {
    char *values[CONF_KEYS];        /* owned, in canonical form; NULL: default */
    const char *written[CONF_KEYS]; /* the alias that a value was set by; NULL: its own name */
    void *user;
    zkc_log_fn *on_log;
    zkc_error_fn *on_error;
    zkc_rebalance_fn *on_rebalance;
    zkc_stats_fn *on_stats;
};

/* ---- life ---- */

zkc_conf *zkc_conf_new(void)
{
    return calloc(1, sizeof(zkc_conf));
}

void zkc_conf_free(zkc_conf *conf)
{
    if (!conf)
        return;
    for (size_t i = 0; i < CONF_KEYS; i++)
        free(conf->values[i]);
    free(conf);
}

zkc_conf *zkc_conf_dup(const zkc_conf *conf)
{
    zkc_conf *dup = zkc_conf_new();
    if (!dup)
        return NULL;
    *dup = *conf;
    bool is_whole = true;
    for (size_t i = 0; i < CONF_KEYS; i++) {
        dup->values[i] = conf->values[i] ? strdup(conf->values[i]) : NULL;
        is_whole = is_whole && (dup->values[i] || !conf->values[i]);
    }
    if (is_whole)
        return dup;
    zkc_conf_free(dup);
    return NULL;
}

void zkc_conf_set_user(zkc_conf *conf, void *user)
{
    conf->user = user;
}
void zkc_conf_set_on_log(zkc_conf *conf, zkc_log_fn *fn)
{
    conf->on_log = fn;
}
void zkc_conf_set_on_error(zkc_conf *conf, zkc_error_fn *fn)
{
    conf->on_error = fn;
}
void zkc_conf_set_on_rebalance(zkc_conf *conf, zkc_rebalance_fn *fn)
{
    conf->on_rebalance = fn;
}
void zkc_conf_set_on_stats(zkc_conf *conf, zkc_stats_fn *fn)
{
    conf->on_stats = fn;
}

/* ---- values ---- */

static enum conf_key_id id_of(const struct conf_key *key)
{
    return (enum conf_key_id)(key - conf_keys);
}

static const char *value_of(const zkc_conf *conf, enum conf_key_id id)
{
    if (conf->values[id])
        return conf->values[id];
    if (conf_keys[id].has_default_from)
        return value_of(conf, conf_keys[id].default_from);
    return conf_keys[id].default_text;
}

const char *zkc_conf_get(const zkc_conf *conf, const char *name)
{
    const struct conf_key *key = name ? conf_key_find(name) : NULL;
    return key ? value_of(conf, id_of(key)) : NULL;
}

void zkc_conf_dump(const zkc_conf *conf, zkc_conf_dump_fn *fn, void *user)
{
    for (size_t i = 0; i < CONF_KEYS; i++) {
        const char *value = value_of(conf, (enum conf_key_id)i);
        if (value && conf_keys[i].type == CONF_AUTH)
            value = "[hidden]"; /* as Kafka shows passwords */
        fn(conf_keys[i].doc.name, value ? value : "", !conf->values[i], user);
    }
}

void zkc_conf_describe(zkc_conf_describe_fn *fn, void *user)
{
    for (size_t i = 0; i < CONF_KEYS; i++)
        fn(&conf_keys[i].doc, user);
}

/* ---- setting: text in, canonical text out ---- */

static enum zkc_err not_allowed(const struct conf_key *key, struct bytes value, struct why *why,
                                const char *problem)
{
    why_set(why, "%s=%s: %s; expected %s", key->doc.name, why_quote(value).text, problem,
            key->doc.range);
    return ZKC_ERR_CONFIG;
}

static enum zkc_err check_integer(const struct conf_key *key, struct bytes value, struct buf *out,
                                  struct why *why)
{
    const char *text = (const char *)value.data; /* terminated, see canonical() */
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (!value.len || *end || end == text)
        return not_allowed(key, value, why, "is not a whole number");
    if (errno == ERANGE || number < key->min || number > key->max)
        return not_allowed(key, value, why, "is out of range");
    buf_appendf(out, "%lld", number);
    return ZKC_OK;
}

static enum zkc_err check_word(const struct conf_key *key, struct bytes value, struct buf *out,
                               struct why *why)
{
    const char *text = (const char *)value.data;
    bool any_case = key == &conf_keys[KEY_OFFSETS_STORAGE]; /* Kafka lower-cases this one */
    for (const struct conf_word *w = key->words; w->word; w++) {
        if (any_case ? strcasecmp(w->word, text) : strcmp(w->word, text))
            continue;
        if (w->is_later) {
            why_set(why, "%s=%s is not available in this version; use %s", key->doc.name, text,
                    key->doc.default_value);
            return ZKC_ERR_CONFIG;
        }
        buf_append_text(out, w->means ? w->means : w->word);
        return ZKC_OK;
    }
    const char *nearest = conf_word_nearest(key, text);
    if (!nearest)
        return not_allowed(key, value, why, "is not one of its values");
    why_set(why, "%s=%s: is not one of its values; did you mean %s? Expected %s", key->doc.name,
            why_quote(value).text, nearest, key->doc.range);
    return ZKC_ERR_CONFIG;
}

static bool is_name_char(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

static bool is_id_char(uint8_t c)
{
    return c > ' ' && c != 0x7f && c != '/';
}

static bool is_text_char(uint8_t c)
{
    return c >= ' ' && c != 0x7f;
}

static enum zkc_err check_text(const struct conf_key *key, struct bytes value, struct buf *out,
                               struct why *why)
{
    for (size_t i = 0; i < value.len; i++) {
        uint8_t c = value.data[i];
        bool is_good = key->type == CONF_NAME ? is_name_char(c)
                       : key->type == CONF_ID ? is_id_char(c)
                                              : is_text_char(c);
        if (!is_good)
            return not_allowed(key, value, why, "has a character that is not allowed");
    }
    /* They become names of znodes, where ZooKeeper takes these for relative paths. */
    bool is_dots = bytes_equal_text(value, ".") || bytes_equal_text(value, "..");
    if (is_dots && key->type != CONF_TEXT)
        return not_allowed(key, value, why, "cannot be the name of a znode");
    buf_append(out, value.data, value.len);
    return ZKC_OK;
}

static bool facility_bits(const char *word, size_t len, unsigned *bits)
{
    unsigned all = (1U << LOG_FACILITIES) - 1;
    struct bytes name = bytes_of(word, len);
    if (bytes_equal_text(name, "all")) {
        *bits |= all;
        return true;
    }
    for (unsigned i = 0; i < LOG_FACILITIES; i++) {
        if (!bytes_equal_text(name, log_facility_name((enum log_facility)i)))
            continue;
        *bits |= 1U << i;
        return true;
    }
    return false;
}

/* False: a word of the list is no facility. */
static bool facilities(const char *list, unsigned *bits)
{
    *bits = 0;
    while (*list) {
        list += strspn(list, " ,");
        size_t len = strcspn(list, " ,");
        if (len && !facility_bits(list, len, bits))
            return false;
        list += len;
    }
    return true;
}

static enum zkc_err check_facilities(const struct conf_key *key, struct bytes value,
                                     struct buf *out, struct why *why)
{
    unsigned bits;
    if (!facilities((const char *)value.data, &bits))
        return not_allowed(key, value, why, "names something else");
    buf_append(out, value.data, value.len);
    return ZKC_OK;
}

static enum zkc_err check_connect(const struct conf_key *key, struct bytes value, struct buf *out,
                                  struct why *why)
{
    struct zk_connect connect;
    (void)key; /* `why` names it by itself */
    enum zkc_err err = zk_connect_parse((const char *)value.data, &connect, why);
    if (err)
        return err;
    zk_connect_deinit(&connect);
    buf_append(out, value.data, value.len);
    return ZKC_OK;
}

static enum zkc_err check_auth(const struct conf_key *key, struct bytes value, struct buf *out,
                               struct why *why)
{
    char scheme[ZK_AUTH_SCHEME_SIZE];
    struct bytes credentials;
    if (!zk_auth_split((const char *)value.data, scheme, &credentials)) {
        why_set(why, "%s: expected %s", key->doc.name, key->doc.range); /* a secret: not shown */
        return ZKC_ERR_CONFIG;
    }
    buf_append(out, value.data, value.len);
    return ZKC_OK;
}

static enum zkc_err canonical(const struct conf_key *key, struct bytes value, struct buf *out,
                              struct why *why)
{
    switch (key->type) {
    case CONF_INTEGER: return check_integer(key, value, out, why);
    case CONF_WORD: return check_word(key, value, out, why);
    case CONF_FACILITIES: return check_facilities(key, value, out, why);
    case CONF_CONNECT: return check_connect(key, value, out, why);
    case CONF_AUTH: return check_auth(key, value, out, why);
    case CONF_TEXT:
    case CONF_NAME:
    case CONF_ID: break;
    }
    return check_text(key, value, out, why);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A terminated copy without the blanks around it. */
static bool copy_trimmed(struct buf *out, const char *text)
{
    while (is_blank(*text))
        text++;
    size_t len = strlen(text);
    while (len && is_blank(text[len - 1]))
        len--;
    buf_append(out, text, len);
    return buf_text(out) != NULL;
}

static enum zkc_err set_key(zkc_conf *conf, const struct conf_key *key, const char *written,
                            const char *value, struct why *why)
{
    enum conf_key_id id = id_of(key);
    struct buf trimmed, stored;
    buf_init(&trimmed, VALUE_LEN_MAX);
    buf_init(&stored, VALUE_LEN_MAX);
    enum zkc_err err = ZKC_OK;
    bool is_reset = false;
    if (copy_trimmed(&trimmed, value)) {
        is_reset = !trimmed.len && key->type != CONF_INTEGER && key->type != CONF_WORD;
        if (!is_reset)
            err = canonical(key, buf_bytes(&trimmed), &stored, why);
    }
    if (!err && !is_reset)
        buf_text(&stored);
    if (!err)
        err = trimmed.failed ? trimmed.failed : stored.failed;
    if (err == ZKC_ERR_TOO_LARGE) {
        why_set(why, "%s: a value of %zu bytes is too long", key->doc.name, strlen(value));
        err = ZKC_ERR_CONFIG;
    }
    if (!err) {
        free(conf->values[id]);
        conf->values[id] = (char *)stored.data;
        stored.data = NULL;
        conf->written[id] = is_reset ? NULL : written;
    }
    buf_deinit(&trimmed);
    buf_deinit(&stored);
    return err;
}

/* What people bring along from clients that can do it. */
static bool is_about_security(const char *name)
{
    return strcmp(name, "security.protocol") == 0 || strncmp(name, "ssl.", 4) == 0 ||
           strncmp(name, "sasl.", 5) == 0;
}

static void say_unknown(const char *name, struct why *why)
{
    struct why_quote shown = why_quote(bytes_of_text(name));
    const char *nearest = conf_key_nearest(name);
    if (is_about_security(name))
        why_set(why,
                "unknown key %s: there is no TLS and no SASL here; brokers are spoken to in plain "
                "text, without logging in (their PLAINTEXT listeners)",
                shown.text);
    else if (nearest)
        why_set(why, "unknown key %s; did you mean %s?", shown.text, nearest);
    else
        why_set(why, "unknown key %s; docs/configuration.md lists all", shown.text);
}

static enum zkc_err set_by_name(zkc_conf *conf, const char *name, const char *value,
                                struct why *why)
{
    const struct conf_key *key = conf_key_find(name);
    if (key)
        return set_key(conf, key, conf_key_alias(key, name), value, why);
    const struct conf_refused *refused = conf_refused_find(name);
    if (refused && refused->default_value && strcmp(value, refused->default_value) == 0)
        return ZKC_OK;
    if (refused)
        why_set(why, "%s: %s; remove it", name, refused->reason);
    else
        say_unknown(name, why);
    return ZKC_ERR_CONFIG;
}

static enum zkc_err give_why(enum zkc_err err, const struct why *why, char *out, size_t size)
{
    if (err && out && size)
        snprintf(out, size, "%s", err == ZKC_ERR_NOMEM ? zkc_err_text(err) : why->text);
    return err;
}

enum zkc_err zkc_conf_set(zkc_conf *conf, const char *name, const char *value, char *why_text,
                          size_t why_size)
{
    struct why why;
    why_clear(&why);
    enum zkc_err err = ZKC_ERR_CONFIG;
    if (!name || !value)
        why_set(&why, "a key and a value are needed, not NULL");
    else
        err = set_by_name(conf, name, value, &why);
    return give_why(err, &why, why_text, why_size);
}

/* ---- files ---- */

struct load {
    zkc_conf *conf;
    const char *path;
    struct why *why;
};

static bool is_strict(const zkc_conf *conf)
{
    return !strcmp(value_of(conf, KEY_STRICT_CONFIG), "true");
}

static void warn(const struct load *load, size_t line, const char *text)
{
    const zkc_conf *conf = load->conf;
    if (atoi(value_of(conf, KEY_LOG_LEVEL)) < LOG_LEVEL_WARNING)
        return;
    const char *facility = log_facility_name(LOG_FACILITY_CONF);
    char shown[WHY_SIZE + 256];
    snprintf(shown, sizeof shown, "%s:%zu: %s", load->path, line, text);
    if (conf->on_log)
        conf->on_log(NULL, LOG_LEVEL_WARNING, facility, shown, conf->user);
    else
        fprintf(stderr, "zkconsumer: %s: %s\n", facility, shown);
}

static enum zkc_err at_line(const struct load *load, size_t line, enum zkc_err err,
                            const struct why *what)
{
    if (err == ZKC_ERR_CONFIG)
        why_set(load->why, "%s:%zu: %s", load->path, line, what->text);
    return err;
}

/* First pass: whether the file asks to be read strictly, wherever it says so. */
static enum zkc_err load_strictness(const struct property *p, void *user)
{
    const struct load *load = user;
    if (strcmp(p->key, conf_keys[KEY_STRICT_CONFIG].doc.name))
        return ZKC_OK;
    struct why what;
    return at_line(load, p->line, set_by_name(load->conf, p->key, p->value, &what), &what);
}

static enum zkc_err load_property(const struct property *p, void *user)
{
    const struct load *load = user;
    const struct conf_refused *refused = conf_refused_find(p->key);
    bool is_known = conf_key_find(p->key) != NULL;
    bool is_skipped = !is_known && (!refused || refused->is_harmless) && !is_strict(load->conf);
    struct why what;
    enum zkc_err err = set_by_name(load->conf, p->key, p->value, &what);
    if (err == ZKC_ERR_CONFIG && is_skipped) {
        char text[WHY_SIZE + 16];
        snprintf(text, sizeof text, "ignored: %s", what.text);
        warn(load, p->line, text);
        return ZKC_OK;
    }
    if (!err && p->is_trimmed)
        warn(load, p->line, "blanks at the end of the value are taken off (Java keeps them)");
    return at_line(load, p->line, err, &what);
}

static enum zkc_err cannot_read(const char *path, struct why *why, const char *problem)
{
    why_set(why, "%s: %s", path, problem);
    return ZKC_ERR_SYSTEM;
}

static enum zkc_err read_file(const char *path, struct buf *out, struct why *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cannot_read(path, why, strerror(errno));
    ssize_t n = 0;
    do {
        uint8_t *at = buf_reserve(out, 4096);
        n = at ? read(fd, at, 4096) : 0;
        if (n > 0)
            out->len += (size_t)n;
    } while (n > 0 || (n < 0 && errno == EINTR));
    int read_errno = errno;
    close(fd);
    if (n < 0)
        return cannot_read(path, why, strerror(read_errno));
    if (out->failed == ZKC_ERR_TOO_LARGE)
        return cannot_read(path, why, "too large for a file of settings");
    if (out->len && memchr(out->data, 0, out->len))
        return cannot_read(path, why, "it is no properties file (binary)");
    return out->failed;
}

static enum zkc_err load_text(const struct load *load, struct bytes text)
{
    struct why where;
    why_clear(&where);
    enum zkc_err err = properties_parse(text, load_strictness, (void *)load, &where);
    if (!err)
        err = properties_parse(text, load_property, (void *)load, &where);
    if (err && where.text[0]) /* "line N: ..." */
        why_set(load->why, "%s: %s", load->path, where.text);
    return err;
}

enum zkc_err zkc_conf_load(zkc_conf *conf, const char *path, char *why_text, size_t why_size)
{
    struct why why;
    why_clear(&why);
    struct load load = {.conf = zkc_conf_dup(conf), .path = path, .why = &why};
    struct buf text;
    buf_init(&text, FILE_BYTES_MAX);
    enum zkc_err err = load.conf ? read_file(path, &text, &why) : ZKC_ERR_NOMEM;
    if (!err)
        err = load_text(&load, buf_bytes(&text));
    if (!err) { /* all of it, or nothing */
        struct zkc_conf before = *conf;
        *conf = *load.conf;
        *load.conf = before;
    }
    buf_deinit(&text);
    zkc_conf_free(load.conf);
    return give_why(err, &why, why_text, why_size);
}

/* ---- the typed view ---- */

static int64_t integer_of(const zkc_conf *conf, enum conf_key_id id)
{
    return strtoll(value_of(conf, id), NULL, 10);
}

/* What it acts as. */
static int64_t used(enum conf_key_id id, int64_t value)
{
    const struct conf_key *key = &conf_keys[id];
    if (!key->used_max)
        return value;
    return value < key->used_min ? key->used_min : value > key->used_max ? key->used_max : value;
}

static int int_of(const zkc_conf *conf, enum conf_key_id id)
{
    return (int)used(id, integer_of(conf, id));
}

static bool is_word(const zkc_conf *conf, enum conf_key_id id, const char *word)
{
    return !strcmp(value_of(conf, id), word);
}

/* The number of the value among the words of the key: that of the enum that mirrors them. */
static unsigned word_of(const zkc_conf *conf, enum conf_key_id id)
{
    unsigned i = 0;
    while (!is_word(conf, id, conf_keys[id].words[i].word))
        i++;
    return i;
}

static enum conf_strategy strategy_of(const zkc_conf *conf, enum conf_variant variant)
{
    if (!is_word(conf, KEY_PARTITION_ASSIGNMENT_STRATEGY, "auto"))
        return (enum conf_strategy)(word_of(conf, KEY_PARTITION_ASSIGNMENT_STRATEGY) - 1);
    return variant == CONF_VARIANT_DOCUMENTED ? CONF_STRATEGY_CEIL : CONF_STRATEGY_RANGE;
}

static bool watch_brokers_of(const zkc_conf *conf, enum conf_variant variant)
{
    if (!is_word(conf, KEY_ZOOKEEPER_WATCH_BROKERS, "auto"))
        return is_word(conf, KEY_ZOOKEEPER_WATCH_BROKERS, "true");
    return variant != CONF_VARIANT_08;
}

static enum conf_mode mode_of(const zkc_conf *conf)
{
    return (enum conf_mode)word_of(conf, KEY_ZOOKEEPER_MODE);
}

/* A switch whose words are auto and then those of the two modes: what it is in this mode. */
static unsigned by_mode(const zkc_conf *conf, enum conf_key_id id)
{
    unsigned word = word_of(conf, id);
    return word ? word - 1 : mode_of(conf);
}

static bool watch_owners_of(const zkc_conf *conf)
{
    const char *value = value_of(conf, KEY_ZOOKEEPER_WATCH_OWNERS);
    return strcmp(value, "auto") ? !strcmp(value, "true") : mode_of(conf) == CONF_MODE_SAFE;
}

static enum conf_fence fence_of(const zkc_conf *conf)
{
    unsigned word = word_of(conf, KEY_ZOOKEEPER_FENCE);
    if (word)
        return (enum conf_fence)(word - 1);
    return mode_of(conf) == CONF_MODE_SAFE ? CONF_FENCE_LEASE : CONF_FENCE_NONE;
}

static unsigned debug_of(const zkc_conf *conf)
{
    unsigned bits = 0;
    const char *list = value_of(conf, KEY_DEBUG);
    bool is_good = !list || facilities(list, &bits);
    assert(is_good); /* it was checked when it was set */
    return bits;
}

/* A broker of 0.9.0 answers no fetch whose client id is null: its quota metrics fail on it. */
static const char *client_id_of(const zkc_conf *conf)
{
    const char *id = value_of(conf, KEY_CLIENT_ID);
    return id ? id : "zkconsumer";
}

static bool is_dual(const zkc_conf *conf)
{
    return is_word(conf, KEY_OFFSETS_STORAGE, "kafka") &&
           !is_word(conf, KEY_DUAL_COMMIT_ENABLED, "false");
}

static void fill(const zkc_conf *conf, struct conf_view *v)
{
    enum conf_variant variant = (enum conf_variant)word_of(conf, KEY_ZOOKEEPER_VARIANT);
    *v = (struct conf_view){
        .group_id = value_of(conf, KEY_GROUP_ID),
        .consumer_id = value_of(conf, KEY_CONSUMER_ID),
        .client_id = client_id_of(conf),
        .zookeeper_connect = value_of(conf, KEY_ZOOKEEPER_CONNECT),
        .zookeeper_auth = value_of(conf, KEY_ZOOKEEPER_AUTH),
        .acl_creator = is_word(conf, KEY_ZOOKEEPER_ACL, "creator"),
        .zookeeper_session_timeout_ms = int_of(conf, KEY_ZOOKEEPER_SESSION_TIMEOUT_MS),
        .zookeeper_connection_timeout_ms = int_of(conf, KEY_ZOOKEEPER_CONNECTION_TIMEOUT_MS),
        .jute_maxbuffer = int_of(conf, KEY_ZOOKEEPER_JUTE_MAXBUFFER),
        .watch_sessions_max = int_of(conf, KEY_ZOOKEEPER_WATCH_SESSIONS_MAX),
        .mode = mode_of(conf),
        .variant = variant,
        .strategy = strategy_of(conf, variant),
        .is_strategy_auto = is_word(conf, KEY_PARTITION_ASSIGNMENT_STRATEGY, "auto"),
        .watch_brokers = watch_brokers_of(conf, variant),
        .rebalance_retries_max = int_of(conf, KEY_REBALANCE_MAX_RETRIES),
        .rebalance_backoff_ms = int_of(conf, KEY_REBALANCE_BACKOFF_MS),
        .refresh_leader_backoff_ms = int_of(conf, KEY_REFRESH_LEADER_BACKOFF_MS),
        .is_acknowledged = is_word(conf, KEY_ACKNOWLEDGEMENT_MODE, "explicit"),
        .claim_multi = by_mode(conf, KEY_ZOOKEEPER_CLAIM),
        .release_session = by_mode(conf, KEY_ZOOKEEPER_RELEASE),
        .commit_session = by_mode(conf, KEY_ZOOKEEPER_COMMIT),
        .watch_owners = watch_owners_of(conf),
        .give_up_never = by_mode(conf, KEY_ZOOKEEPER_GIVE_UP),
        .coalesce = is_word(conf, KEY_ZOOKEEPER_COALESCE, "true"),
        .sync_before_read = is_word(conf, KEY_ZOOKEEPER_SYNC_BEFORE_READ, "true"),
        .keep_unmoved = is_word(conf, KEY_ZOOKEEPER_KEEP_UNMOVED, "true"),
        .observer_process = is_word(conf, KEY_ZOOKEEPER_OBSERVER, "process"),
        .probe_sync = is_word(conf, KEY_ZOOKEEPER_LEASE_PROBE, "sync"),
        .fence = fence_of(conf),
        .hand_over_ms = int_of(conf, KEY_ZOOKEEPER_HAND_OVER_MS),
        .poll_interval_ms_max = int_of(conf, KEY_MAX_POLL_INTERVAL_MS),
        .socket_timeout_ms = int_of(conf, KEY_SOCKET_TIMEOUT_MS),
        .socket_receive_buffer_bytes = int_of(conf, KEY_SOCKET_RECEIVE_BUFFER_BYTES),
        .fetch_message_bytes_max = int_of(conf, KEY_FETCH_MESSAGE_MAX_BYTES),
        .fetch_bytes_min = int_of(conf, KEY_FETCH_MIN_BYTES),
        .fetch_wait_ms_max = int_of(conf, KEY_FETCH_WAIT_MAX_MS),
        .fetchers_per_broker = int_of(conf, KEY_NUM_CONSUMER_FETCHERS),
        .queued_chunks_max = int_of(conf, KEY_QUEUED_MAX_MESSAGE_CHUNKS),
        .decompressed_bytes_max = int_of(conf, KEY_DECOMPRESSED_MAX_BYTES),
        .offset_reset = (enum conf_offset_reset)word_of(conf, KEY_AUTO_OFFSET_RESET),
        .consumer_timeout_ms = int_of(conf, KEY_CONSUMER_TIMEOUT_MS),
        .auto_commit = is_word(conf, KEY_AUTO_COMMIT_ENABLE, "true"),
        .exclude_internal_topics = is_word(conf, KEY_EXCLUDE_INTERNAL_TOPICS, "true"),
        .auto_commit_interval_ms = int_of(conf, KEY_AUTO_COMMIT_INTERVAL_MS),
        .offsets_in_kafka = is_word(conf, KEY_OFFSETS_STORAGE, "kafka"),
        .offsets_in_both = is_dual(conf),
        .offsets_channel_backoff_ms = int_of(conf, KEY_OFFSETS_CHANNEL_BACKOFF_MS),
        .offsets_channel_timeout_ms = int_of(conf, KEY_OFFSETS_CHANNEL_SOCKET_TIMEOUT_MS),
        .offsets_commit_retries_max = int_of(conf, KEY_OFFSETS_COMMIT_MAX_RETRIES),
        .statistics_interval_ms = int_of(conf, KEY_STATISTICS_INTERVAL_MS),
        .log_level = int_of(conf, KEY_LOG_LEVEL),
        .log_debug = debug_of(conf),
        .trace_path = value_of(conf, KEY_TRACE_PATH),
        .trace_level = int_of(conf, KEY_TRACE_LEVEL),
        .trace_member = value_of(conf, KEY_TRACE_MEMBER),
        .trace_origin_ns = integer_of(conf, KEY_TRACE_ORIGIN_NS),
        .user = conf->user,
        .on_log = conf->on_log,
        .on_error = conf->on_error,
        .on_rebalance = conf->on_rebalance,
        .on_stats = conf->on_stats,
    };
}

bool conf_retries_too_short(const struct conf_view *v, int session_timeout_ms, char *text,
                            size_t text_size)
{
    int64_t total_ms = (int64_t)v->rebalance_retries_max * v->rebalance_backoff_ms;
    if (total_ms > session_timeout_ms)
        return false;
    snprintf(
        text, text_size,
        "rebalance.max.retries * rebalance.backoff.ms = %d * %d = %" PRId64
        " ms is not longer than the ZooKeeper session timeout of %d ms: when a member crashes, "
        "the others may give up before its claims end; raise one of the two",
        v->rebalance_retries_max, v->rebalance_backoff_ms, total_ms, session_timeout_ms);
    return true;
}

static void notice_aliases(const zkc_conf *conf, conf_notice_fn *notice, void *user)
{
    for (size_t i = 0; i < CONF_KEYS; i++) {
        if (!conf->written[i])
            continue;
        char text[160];
        int len = (int)strcspn(conf->written[i], ",");
        snprintf(text, sizeof text, "%.*s is taken as %s, its name in Kafka 0.8", len,
                 conf->written[i], conf_keys[i].doc.name);
        notice(text, user);
    }
}

static void notice_used(const zkc_conf *conf, conf_notice_fn *notice, void *user)
{
    for (size_t i = 0; i < CONF_KEYS; i++) {
        if (!conf_keys[i].used_max)
            continue;
        int64_t value = integer_of(conf, (enum conf_key_id)i);
        int64_t acts = used((enum conf_key_id)i, value);
        char text[160];
        snprintf(text, sizeof text, "%s=%" PRId64 " acts as %" PRId64, conf_keys[i].doc.name, value,
                 acts);
        if (acts != value)
            notice(text, user);
    }
}

struct zk_switches conf_switches(const struct conf_view *v)
{
    static const enum zk_fence fences[] = {[CONF_FENCE_NONE] = ZK_FENCE_NONE,
                                           [CONF_FENCE_DISCONNECT] = ZK_FENCE_DISCONNECT,
                                           [CONF_FENCE_LEASE] = ZK_FENCE_LEASE};
    return (struct zk_switches){
        .each_event = !v->coalesce,
        .watch_owners = v->watch_owners,
        .claim = v->claim_multi ? ZK_CLAIM_MULTI : ZK_CLAIM_SINGLE,
        .release = v->release_session ? ZK_GUARD_SESSION : ZK_GUARD_BLIND,
        .commit = v->commit_session ? ZK_GUARD_SESSION : ZK_GUARD_BLIND,
        .fence = fences[v->fence],
        .sync_before_read = v->sync_before_read,
        .never_gives_up = v->give_up_never,
    };
}

const char *conf_mode_name(enum conf_mode mode)
{
    return mode == CONF_MODE_SAFE ? "zookeeper:safe" : "zookeeper:compat";
}

static enum zkc_err check_mode(const zkc_conf *conf, struct why *why)
{
    bool is_safe = mode_of(conf) == CONF_MODE_SAFE;
    for (size_t i = 0; i < CONF_KEYS; i++) {
        const char *name = conf_keys[i].doc.name, *value = conf->values[i];
        if (!value || zk_mode_acts_on(is_safe, name, value))
            continue;
        why_set(why, "%s=%s acts with zookeeper.mode=%s only", name, value,
                is_safe ? "compat" : "safe");
        return ZKC_ERR_CONFIG;
    }
    return ZKC_OK;
}

enum zkc_err conf_read(const zkc_conf *conf, struct conf_view *out, conf_notice_fn *notice,
                       void *user, char *why_text, size_t why_size)
{
    struct conf_view v;
    fill(conf, &v);
    struct why why;
    if (!v.zookeeper_connect) {
        why_set(&why, "zookeeper.connect is not set; expected %s",
                conf_keys[KEY_ZOOKEEPER_CONNECT].doc.range);
        return give_why(ZKC_ERR_CONFIG, &why, why_text, why_size);
    }
    if (check_mode(conf, &why))
        return give_why(ZKC_ERR_CONFIG, &why, why_text, why_size);
    if (v.acl_creator && !v.zookeeper_auth) {
        why_set(&why, "zookeeper.acl=creator needs zookeeper.auth: who else is the creator?");
        return give_why(ZKC_ERR_CONFIG, &why, why_text, why_size);
    }
    if (v.socket_timeout_ms < v.fetch_wait_ms_max) {
        why_set(
            &why,
            "socket.timeout.ms=%d is less than fetch.wait.max.ms=%d: a broker that holds a fetch "
            "would be taken for dead; raise the first or lower the second",
            v.socket_timeout_ms, v.fetch_wait_ms_max);
        return give_why(ZKC_ERR_CONFIG, &why, why_text, why_size);
    }
    *out = v;
    if (!notice)
        return ZKC_OK;
    notice_aliases(conf, notice, user);
    notice_used(conf, notice, user);
    if (!v.offsets_in_kafka && is_word(conf, KEY_DUAL_COMMIT_ENABLED, "true"))
        notice(
            "dual.commit.enabled=true acts with offsets.storage=kafka only: offsets are committed "
            "to ZooKeeper alone",
            user);
    char text[320];
    if (v.mode == CONF_MODE_COMPAT && conf->values[KEY_MAX_POLL_INTERVAL_MS])
        notice("max.poll.interval.ms acts with zookeeper.mode=safe only", user);
    if (v.mode == CONF_MODE_COMPAT &&
        conf_retries_too_short(&v, v.zookeeper_session_timeout_ms, text, sizeof text))
        notice(text, user);
    return ZKC_OK;
}
