/* The statistics document; docs/statistics.md describes it and a test keeps them in step. */
#include "zkconsumer/consumer/consumer.h"
#include "zkconsumer/consumer/tally.h"
#include "zkconsumer/io/zk_session.h"

#define STATS_BYTES_MAX (16 * 1024 * 1024)

static void add_stream(zkc_stream *stream, void *user)
{
    struct json *j = user;
    struct stream_counts n;
    stream_count(stream, &n);
    json_object_begin(j, NULL);
    json_text(j, "topic", zkc_stream_topic(stream));
    json_int(j, "index", zkc_stream_index(stream));
    json_int(j, "queued_chunks", (int64_t)n.chunks);
    json_int(j, "queued_bytes", (int64_t)n.chunk_bytes);
    json_int(j, "messages", (int64_t)n.messages);
    json_int(j, "bytes", (int64_t)n.bytes);
    json_int(j, "reports", (int64_t)n.reports);
    json_int(j, "late", (int64_t)n.late);
    json_object_end(j);
}

static void add_group(const zkc_consumer *c, struct json *j)
{
    json_object_begin(j, "member");
    json_text(j, "group", c->group);
    json_text(j, "id", c->id);
    json_text(j, "state", member_state_name(c));
    json_bool(j, "healthy", !member_trouble(c));
    json_text(j, "trouble", member_trouble(c));
    json_int(j, "rebalances", (int64_t)c->rebalances);
    json_int(j, "rebalances_failed", (int64_t)c->rebalances_failed);
    json_int(j, "rebalances_ms", tally_rebalances(c->tally)->sum_us / 1000);
    json_int(j, "owned_partitions", (int64_t)fetching_count(c->fetching));
    json_int(j, "max_lag", fetching_max_lag(c->fetching));
    json_int(j, "kafka_commits", (int64_t)c->kafka_commits);
    json_int(j, "zookeeper_commits", (int64_t)c->zookeeper_commits);
    json_object_end(j);
}

static void add_zookeeper(const zkc_consumer *c, struct json *j)
{
    json_object_begin(j, "zookeeper");
    json_bool(j, "connected", c->session && zk_session_is_connected(c->session));
    json_hex(j, "session", c->session ? (uint64_t)zk_session_id(c->session) : 0);
    json_int(j, "operations", (int64_t)c->operations);
    json_int(j, "expirations", (int64_t)c->expirations);
    json_object_end(j);
}

void stats_tell(zkc_consumer *c)
{
    struct buf out;
    struct json j;
    buf_init(&out, STATS_BYTES_MAX);
    json_init(&j, &out);
    json_object_begin(&j, NULL);
    json_int(&j, "monotonic_ms", loop_now_ns() / 1000000);
    add_group(c, &j);
    add_zookeeper(c, &j);
    member_safe_stats(c, &j);
    tally_json(c->tally, &j, loop_now_ms() * 1000);
    fetching_stats(c->fetching, c->tally, c->view.offsets_in_kafka ? TALLY_KAFKA : TALLY_ZOOKEEPER,
                   &j);
    json_list_begin(&j, "streams");
    stream_hub_each(c->hub, add_stream, &j);
    json_list_end(&j);
    jmx_stats(c, &j);
    json_object_end(&j);
    const char *text = buf_text(&out);
    if (text)
        c->view.on_stats(c, text, out.len, c->view.user);
    else
        log_line(c->log, 4, LOG_FACILITY_MEMBER, "no statistics: %s", zkc_err_text(out.failed));
    buf_deinit(&out);
}
