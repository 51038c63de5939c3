#include "zkconsumer/core/zk/log_config.h"
#include "zkconsumer/core/base/array.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define HOUR_MS           INT64_C(3600000)
#define ENTRY_HEAD_BYTES  12 /* offset and size, in front of every message */
#define MESSAGE_BYTES_MIN 14 /* crc, magic, attributes, two lengths */
#define INDEX_ENTRY_BYTES 8

struct log_config log_config_default(void)
{
    return (struct log_config){
        .segment_bytes = 1024 * 1024 * 1024,
        .segment_ms = 168 * HOUR_MS,
        .index_bytes_max = 10 * 1024 * 1024,
        .index_interval_bytes = 4096,
        .message_bytes_max = 1000000 + ENTRY_HEAD_BYTES,
        .retention_ms = 168 * HOUR_MS,
        .retention_bytes = -1,
        .file_delete_delay_ms = 60000,
        .flush_messages = INT64_MAX,
        .flush_ms = INT64_MAX,
    };
}

/* Where a number goes, and its range. */
struct setting {
    const char *key;
    int64_t min, max;
    size_t at;
    bool is_64;
};

#define SETTING_32(name, least, field)                                                             \
    {                                                                                              \
        .key = (name), .min = (least), .max = INT32_MAX, .at = offsetof(struct log_config, field)  \
    }
#define SETTING_64(name, least, field)                                                             \
    {                                                                                              \
        .key = (name), .min = (least), .max = INT64_MAX, .at = offsetof(struct log_config, field), \
        .is_64 = true                                                                              \
    }

static const struct setting settings[] = {
    SETTING_32("segment.bytes", MESSAGE_BYTES_MIN, segment_bytes),
    SETTING_64("segment.ms", 0, segment_ms),
    SETTING_64("segment.jitter.ms", 0, segment_jitter_ms),
    SETTING_32("segment.index.bytes", INDEX_ENTRY_BYTES, index_bytes_max),
    SETTING_32("index.interval.bytes", 0, index_interval_bytes),
    SETTING_32("max.message.bytes", 0, message_bytes_max),
    SETTING_64("retention.ms", -1, retention_ms),
    SETTING_64("retention.bytes", -1, retention_bytes),
    SETTING_64("file.delete.delay.ms", 0, file_delete_delay_ms),
    SETTING_64("flush.messages", 1, flush_messages),
    SETTING_64("flush.ms", 0, flush_ms),
};

/* Settings of topics up to Kafka 3.9 that change nothing here, but a value that Kafka cannot read
 * keeps its brokers from opening any log. */
static const struct {
    const char *key;
    enum { AS_TEXT, AS_NUMBER, AS_RATIO, AS_BOOL } kind;
} ignored[] = {
    {"delete.retention.ms", AS_NUMBER},
    {"min.cleanable.dirty.ratio", AS_RATIO},
    {"min.insync.replicas", AS_NUMBER},
    {"unclean.leader.election.enable", AS_BOOL},
    {"compression.type", AS_TEXT},
    {"preallocate", AS_BOOL},
    {"message.format.version", AS_TEXT},
    {"message.timestamp.type", AS_TEXT},
    {"message.timestamp.difference.max.ms", AS_NUMBER},
    {"message.timestamp.before.max.ms", AS_NUMBER},
    {"message.timestamp.after.max.ms", AS_NUMBER},
    {"message.downconversion.enable", AS_BOOL},
    {"min.compaction.lag.ms", AS_NUMBER},
    {"max.compaction.lag.ms", AS_NUMBER},
    {"remote.storage.enable", AS_BOOL},
    {"local.retention.ms", AS_NUMBER},
    {"local.retention.bytes", AS_NUMBER},
    {"leader.replication.throttled.replicas", AS_TEXT},
    {"follower.replication.throttled.replicas", AS_TEXT},
};

static bool read_number(const char *value, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(value, &end, 10);
    return (*value == '-' || (*value >= '0' && *value <= '9')) && !*end && !errno;
}

static bool is_ratio(const char *value)
{
    char *end;
    double ratio = strtod(value, &end);
    return end != value && !*end && ratio >= 0 && ratio <= 1;
}

static enum zkc_err check_ignored(size_t i, const char *value, struct why *why)
{
    int64_t n;
    const char *expected = NULL;
    if (ignored[i].kind == AS_NUMBER && !read_number(value, &n))
        expected = "a number";
    else if (ignored[i].kind == AS_RATIO && !is_ratio(value))
        expected = "a number in 0 .. 1";
    else if (ignored[i].kind == AS_BOOL && strcmp(value, "true") != 0 &&
             strcmp(value, "false") != 0)
        expected = "true or false";
    if (!expected)
        return ZKC_OK;
    why_set(why, "%s=%s: expected %s", ignored[i].key, why_quote(bytes_of_text(value)).text,
            expected);
    return ZKC_ERR_CONFIG;
}

static enum zkc_err set_number(struct log_config *c, const struct setting *s, const char *value,
                               struct why *why)
{
    int64_t n;
    if (!read_number(value, &n) || n < s->min || n > s->max) {
        why_set(why, "%s=%s: expected a number in %" PRId64 " .. %" PRId64, s->key,
                why_quote(bytes_of_text(value)).text, s->min, s->max);
        return ZKC_ERR_CONFIG;
    }
    if (s->is_64)
        memcpy((char *)c + s->at, &n, sizeof n);
    else
        memcpy((char *)c + s->at, &(int32_t){(int32_t)n}, sizeof(int32_t));
    return ZKC_OK;
}

static enum zkc_err set_cleanup_policy(struct log_config *c, const char *value, struct why *why)
{
    static const char *const policies[] = {"compact", "delete", "compact,delete", "delete,compact"};
    size_t i = 0;
    while (i < ARRAY_LEN(policies) && strcmp(value, policies[i]) != 0)
        i++;
    if (i == ARRAY_LEN(policies)) {
        why_set(why, "cleanup.policy=%s: expected delete, compact or both",
                why_quote(bytes_of_text(value)).text);
        return ZKC_ERR_CONFIG;
    }
    c->compact = i == 0;
    return ZKC_OK;
}

enum zkc_err log_config_set(struct log_config *c, const char *key, const char *value,
                            struct why *why)
{
    why_clear(why);
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        if (strcmp(key, settings[i].key) == 0)
            return set_number(c, &settings[i], value, why);
    if (strcmp(key, "cleanup.policy") == 0)
        return set_cleanup_policy(c, value, why);
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        if (strcmp(key, ignored[i].key) == 0)
            return check_ignored(i, value, why);
    why_set(why, "\"%s\" is no setting of topics", why_quote(bytes_of_text(key)).text);
    return ZKC_ERR_CONFIG;
}
