#include "broker/core/log_config.h"
#include "broker/core/segment_index.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/wire/message_set.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define HOUR_MS INT64_C(3600000)

struct log_config log_config_default(void)
{
    return (struct log_config){
        .segment_bytes = 1024 * 1024 * 1024,
        .segment_ms = 168 * HOUR_MS,
        .index_bytes_max = 10 * 1024 * 1024,
        .index_interval_bytes = 4096,
        .message_bytes_max = 1000000 + MESSAGE_OVERHEAD,
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
    SETTING_32("segment.bytes", MESSAGE_SIZE_MIN, segment_bytes),
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

/* Settings of topics up to Kafka 3.9 that change nothing here. */
static const char *const ignored[] = {
    "delete.retention.ms",
    "min.cleanable.dirty.ratio",
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "compression.type",
    "preallocate",
    "message.format.version",
    "message.timestamp.type",
    "message.timestamp.difference.max.ms",
    "message.downconversion.enable",
    "min.compaction.lag.ms",
    "max.compaction.lag.ms",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
};

static enum zkc_err set_number(struct log_config *c, const struct setting *s, const char *value,
                               struct why *why)
{
    char *end;
    errno = 0;
    int64_t n = strtoll(value, &end, 10);
    bool is_number = (*value == '-' || (*value >= '0' && *value <= '9')) && !*end && !errno;
    if (!is_number || n < s->min || n > s->max) {
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
    bool compact = strcmp(value, "compact") == 0;
    if (!compact && strcmp(value, "delete") != 0) {
        why_set(why, "cleanup.policy=%s: expected delete or compact",
                why_quote(bytes_of_text(value)).text);
        return ZKC_ERR_CONFIG;
    }
    c->compact = compact;
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
        if (strcmp(key, ignored[i]) == 0)
            return ZKC_OK;
    why_set(why, "\"%s\" is no setting of topics", why_quote(bytes_of_text(key)).text);
    return ZKC_ERR_CONFIG;
}
