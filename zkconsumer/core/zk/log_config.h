/* The settings of a partition log (kafka.log.LogConfig, 0.8.2): the broker's defaults, and what
 * /config/topics/<t> overrides of them. */
#ifndef ZKC_LOG_CONFIG_H
#define ZKC_LOG_CONFIG_H

#include "zkconsumer/core/base/why.h"
#include <stdbool.h>
#include <zkconsumer/error.h>

struct log_config {
    int32_t segment_bytes;     /* log.segment.bytes, segment.bytes; at least 14 */
    int64_t segment_ms;        /* log.roll.ms, segment.ms: age at which a segment is left */
    int64_t segment_jitter_ms; /* taken off segment_ms; the shell draws it once for each log below
                                * log.roll.jitter.ms */
    int32_t index_bytes_max;   /* log.index.size.max.bytes, segment.index.bytes; at least 8 */
    int32_t index_interval_bytes; /* log.index.interval.bytes, index.interval.bytes */
    int32_t message_bytes_max;    /* message.max.bytes, max.message.bytes: of an entry, its 12 bytes
                                   * of offset and size included */
    int64_t retention_ms;         /* log.retention.ms, retention.ms; -1: for ever */
    int64_t
        retention_bytes; /* log.retention.bytes, retention.bytes: of a partition; -1: no limit */
    int64_t file_delete_delay_ms; /* log.segment.delete.delay.ms, file.delete.delay.ms */
    int64_t flush_messages;       /* log.flush.interval.messages, flush.messages */
    int64_t flush_ms;             /* log.flush.interval.ms, flush.ms; INT64_MAX: never */
    bool compact; /* cleanup.policy=compact: retention deletes nothing; this broker does not compact
                   * either */
};

/* Kafka's defaults. */
struct log_config log_config_default(void);

/* Sets one entry of a topic's configuration, by its name there (segment.bytes, ...). Settings of
 * Kafka that have no meaning here (min.insync.replicas, ...) change nothing; that they can be read is
 * checked.
 *
 * ZKC_ERR_CONFIG  not a setting of topics, or its value is out of range; `c` is as before */
ZKC_MUST_CHECK enum zkc_err log_config_set(struct log_config *c, const char *key, const char *value,
                                           struct why *why);

#endif
