/* The settings as the consumer reads them: checked, typed, defaults resolved.
 *
 * The table in conf.c is the only place where a key is described. A key that it lists acts; a key
 * or a value that belongs to what this version does not have is refused with a reason, so that
 * nobody believes in a setting that does nothing. */
#ifndef ZKC_CONSUMER_CONF_H
#define ZKC_CONSUMER_CONF_H

#include "zkconsumer/core/group/zk_switches.h"
#include <stddef.h>
#include <zkconsumer/conf.h>

enum conf_mode { CONF_MODE_COMPAT, CONF_MODE_SAFE };
enum conf_variant { CONF_VARIANT_08, CONF_VARIANT_07, CONF_VARIANT_DOCUMENTED };
enum conf_strategy {
    CONF_STRATEGY_CEIL,
    CONF_STRATEGY_RANGE,
    CONF_STRATEGY_RENDEZVOUS,
    CONF_STRATEGY_ROUNDROBIN,
};
enum conf_fence { CONF_FENCE_NONE, CONF_FENCE_DISCONNECT, CONF_FENCE_LEASE };
enum conf_offset_reset { CONF_RESET_SMALLEST, CONF_RESET_LARGEST, CONF_RESET_ERROR };

/* Texts are lent by the conf that the view was read from; NULL: no value. */
struct conf_view {
    const char *group_id;
    const char *consumer_id; /* the uuid part of the registered id; NULL: generated */
    const char *client_id;   /* never NULL: group_id, or "zkconsumer" */

    const char *zookeeper_connect;
    const char *zookeeper_auth; /* NULL: none */
    bool acl_creator;           /* zookeeper.acl=creator */
    int zookeeper_session_timeout_ms;
    int zookeeper_connection_timeout_ms;
    int jute_maxbuffer; /* bytes */

    enum conf_mode mode;
    enum conf_variant variant;
    enum conf_strategy strategy; /* `auto` resolved by the variant; not in safe */
    bool is_strategy_auto;
    bool watch_brokers;        /* `auto` resolved by the variant */
    int rebalance_retries_max; /* attempts, the first one included */
    int rebalance_backoff_ms;
    int refresh_leader_backoff_ms;

    /* of both modes; `auto` resolved */
    bool claim_multi, release_session, commit_session, watch_owners;
    bool coalesce, sync_before_read, give_up_never;

    /* of safe; `auto` resolved */
    bool is_acknowledged; /* acknowledgement.mode=explicit */
    bool keep_unmoved;
    bool observer_process;
    bool probe_sync; /* zookeeper.lease.probe=sync */
    int watch_sessions_max;
    enum conf_fence fence; /* of both */
    int hand_over_ms;
    int poll_interval_ms_max; /* 0: no limit */

    int socket_timeout_ms;
    int socket_receive_buffer_bytes;
    int fetch_message_bytes_max;
    int fetch_bytes_min;
    int fetch_wait_ms_max;
    int fetchers_per_broker; /* num.consumer.fetchers */
    int queued_chunks_max;   /* of each stream */
    int decompressed_bytes_max;
    enum conf_offset_reset offset_reset;
    int consumer_timeout_ms; /* what zkc_stream_next(-1) waits; -1: for ever */

    bool exclude_internal_topics; /* for the filters of all members */

    bool auto_commit;
    int auto_commit_interval_ms;
    bool offsets_in_kafka;
    bool offsets_in_both; /* dual.commit.enabled, with offsets in Kafka */
    int offsets_channel_backoff_ms;
    int offsets_channel_timeout_ms;
    int offsets_commit_retries_max;

    int statistics_interval_ms; /* 0: none */
    int log_level;              /* syslog number */
    unsigned log_debug;         /* bit of each enum log_facility (log.h) to show at level 7 */
    const char *trace_path;     /* NULL: no trace */
    int trace_level;
    const char *trace_member; /* NULL: the consumer id */
    int64_t trace_origin_ns;

    /* Callbacks, all optional, and their pointer. */
    void *user;
    zkc_log_fn *on_log;
    zkc_error_fn *on_error;
    zkc_rebalance_fn *on_rebalance;
    zkc_stats_fn *on_stats;
};

/* "zookeeper:compat" or "zookeeper:safe". Static. */
/* The switches of zk_compat. */
struct zk_switches conf_switches(const struct conf_view *v);

const char *conf_mode_name(enum conf_mode mode);

/* Fills *out and checks what concerns more than one key. `notice` (may be NULL) is called with each
 * text that the user should see once at level 4: an old or newer name of a key that was used,
 * settings that are dangerous together.
 *
 * ZKC_ERR_CONFIG  zookeeper.connect is missing; a setting that only the other zookeeper.mode acts
 * on; socket.timeout.ms < fetch.wait.max.ms (Kafka 0.9 refuses it, 0.8 meant to) */
typedef void conf_notice_fn(const char *text, void *user);
ZKC_MUST_CHECK enum zkc_err conf_read(const zkc_conf *conf, struct conf_view *out,
                                      conf_notice_fn *notice, void *user, char *why,
                                      size_t why_size);

/* The arithmetic trap of the old rebalance: the ephemeral znodes of a crashed member stay for the
 * whole session timeout, so attempts that are over earlier make every survivor give up. Writes a
 * warning with both numbers into `text` and returns true if that can happen. conf_read() says it
 * for the timeout asked for; ask again with the negotiated one. */
bool conf_retries_too_short(const struct conf_view *view, int session_timeout_ms, char *text,
                            size_t text_size);

#endif
