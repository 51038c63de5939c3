/* The configuration of a broker: Kafka's keys with the defaults of 0.8.2
 * (kafka.server.KafkaConfig), read from a properties file and from overrides of the command line,
 * which win.
 *
 * A key either acts, or is one that a Kafka broker acts on and this one has nothing to do for
 * (replication, thread pools): that is accepted with an INFO line, so that nobody's file has to be
 * changed. Other keys are unknown: a warning with the nearest known name, as Kafka warns; an error
 * with strict.config=true. */
#ifndef BROKER_IO_CONFIG_H
#define BROKER_IO_CONFIG_H

#include "zkconsumer/core/base/why.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_NEVER INT64_MAX /* "infinite" in Kafka's tables */

struct config {
    int64_t broker_id;
    int64_t port;            /* 0: any free one, which is then registered */
    char *host_name;         /* NULL: all addresses */
    char *advertised_host;   /* NULL: host_name, or else this machine's name */
    int64_t advertised_port; /* 0: the port that is listened on */
    char **log_dirs;         /* at least one */
    size_t log_dirs_count;
    char *zookeeper_connect;
    char *zookeeper_auth; /* a secret; NULL: none */
    int64_t zookeeper_session_timeout_ms;
    int64_t zookeeper_connection_timeout_ms;

    int64_t num_network_threads;
    int64_t socket_send_buffer_bytes;
    int64_t socket_receive_buffer_bytes;
    int64_t socket_request_max_bytes;
    int64_t max_connections_per_ip;
    char *max_connections_per_ip_overrides; /* "host:limit,host:limit" with numeric hosts; "" */
    int64_t connections_max_idle_ms;

    int64_t num_partitions;
    int64_t default_replication_factor;
    bool auto_create_topics_enable;
    bool delete_topic_enable;
    int64_t min_insync_replicas;
    int64_t message_max_bytes;
    int64_t offset_metadata_max_bytes;

    int64_t log_segment_bytes;
    int64_t log_roll_ms;
    int64_t log_roll_jitter_ms;
    int64_t log_retention_ms;    /* -1: for ever */
    int64_t log_retention_bytes; /* of a partition; -1: no limit */
    int64_t log_retention_check_interval_ms;
    bool log_cleanup_compact; /* log.cleanup.policy: kept for ever, as with Kafka's cleaner off */
    int64_t log_segment_delete_delay_ms;
    int64_t log_index_size_max_bytes;
    int64_t log_index_interval_bytes;
    int64_t log_flush_interval_messages;
    int64_t log_flush_interval_ms;           /* CONFIG_NEVER: by messages only */
    int64_t log_flush_scheduler_interval_ms; /* how often log_flush_interval_ms is looked at */
    int64_t log_flush_offset_checkpoint_interval_ms;

    bool strict_config;
    int64_t log_level; /* syslog's: 3 error, 4 warning, 6 info, 7 debug */
    char *log_file;    /* NULL: stderr */
};

/* What reading had to say beside errors; `text` is borrowed. level as log_level above. */
typedef void config_note_fn(int level, const char *text, void *user);

/* Reads `path` (NULL: none) and then the `overrides`, each "key=value". On success the caller ends
 * *config with config_deinit(); else `why` says what is wrong, with file and line. Notes are given
 * in both cases. */
bool config_read(struct config *config, const char *path, const char *const *overrides,
                 size_t overrides_count, config_note_fn *note, void *user, struct why *why);
void config_deinit(struct config *config);

/* One key for help and documentation: name, default, what it does. NULL past the last. `is_idle`:
 * accepted without effect. */
struct config_doc {
    const char *name;
    const char *default_text;
    const char *text;
    bool is_idle;
};
const struct config_doc *config_doc(size_t index);

/* What may be given for it, in words: "integer: 0 .. 65535". */
void config_type(size_t index, char *out, size_t size);

#endif
