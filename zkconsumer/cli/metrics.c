#include "zkconsumer/cli/metrics.h"
#include "zkconsumer/core/base/array.h"
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <zkconsumer/version.h>

/* ---- the text format ---- */

static void begin(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_appendf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Backslash, quote and line end are escaped in a label's value. */
static void append_label(struct buf *out, const char *name, const char *value, bool is_first)
{
    buf_appendf(out, "%s%s=\"", is_first ? "" : ",", name);
    for (const char *c = value; *c; c++) {
        if (*c == '\n')
            buf_append_text(out, "\\n");
        else if (*c == '\\' || *c == '"')
            buf_appendf(out, "\\%c", *c);
        else
            buf_append_byte(out, (uint8_t)*c);
    }
    buf_append_byte(out, '"');
}

static void plain(struct buf *out, const char *name, const char *type, const char *help,
                  int64_t value)
{
    begin(out, name, type, help);
    buf_appendf(out, "%s %" PRId64 "\n", name, value);
}

static int64_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

/* ---- partitions ---- */

/* A family with one line for each partition held; a value below 0 is not known and left out. */
struct partition_family {
    const char *name, *help;
    const char *field; /* of partitions[] */
    bool by_group;     /* has the label consumergroup */
};

static const struct partition_family partition_families[] = {
    {"kafka_topic_partition_current_offset", "End of the partition log, as its leader last told.",
     "log_end", false},
    {"kafka_topic_partition_leader", "Broker that the partition is fetched from.", "leader", false},
    {"kafka_consumergroup_current_offset", "Next offset that the consumer hands out.", "position",
     true},
    {"kafka_consumergroup_lag", "Log end minus the next offset.", "lag", true},
};

static void partition_line(struct buf *out, const struct partition_family *f, const char *group,
                           const json_t *partition)
{
    int64_t value = number(partition, f->field);
    char id[24];
    if (value < 0 && strcmp(f->field, "lag") != 0)
        return;
    if (strcmp(f->field, "lag") == 0 &&
        (number(partition, "position") < 0 || number(partition, "log_end") < 0))
        return;
    buf_appendf(out, "%s{", f->name);
    if (f->by_group)
        append_label(out, "consumergroup", group, true);
    append_label(out, "topic", text(partition, "topic"), !f->by_group);
    snprintf(id, sizeof id, "%" PRId64, number(partition, "partition"));
    append_label(out, "partition", id, false);
    buf_appendf(out, "} %" PRId64 "\n", value);
}

/* Partitions go by topic, so that each topic is a run. */
static void append_by_topic(struct buf *out, const char *name, const char *type, const char *help,
                            const char *field, const char *group, const json_t *list)
{
    size_t count = json_array_size(list);
    begin(out, name, type, help);
    for (size_t i = 0; i < count;) {
        const char *topic = text(json_array_get(list, i), "topic");
        int64_t sum = 0;
        for (; i < count && strcmp(text(json_array_get(list, i), "topic"), topic) == 0; i++) {
            int64_t value = field ? number(json_array_get(list, i), field) : 1;
            sum += value > 0 ? value : 0;
        }
        buf_appendf(out, "%s{", name);
        append_label(out, "consumergroup", group, true);
        append_label(out, "topic", topic, false);
        buf_appendf(out, "} %" PRId64 "\n", sum);
    }
}

static void append_partitions(struct buf *out, const json_t *document, const char *group)
{
    const json_t *list = json_object_get(document, "partitions");
    for (size_t f = 0; f < ARRAY_LEN(partition_families); f++) {
        begin(out, partition_families[f].name, "gauge", partition_families[f].help);
        for (size_t i = 0; i < json_array_size(list); i++)
            partition_line(out, &partition_families[f], group, json_array_get(list, i));
    }
    append_by_topic(out, "kafka_consumergroup_lag_sum", "gauge",
                    "Lag of this consumer's partitions of a topic.", "lag", group, list);
    append_by_topic(out, "zkconsumer_owned_partitions", "gauge",
                    "Partitions that this consumer holds.", NULL, group, list);
}

/* ---- the rest ---- */

static void append_states(struct buf *out, const json_t *member)
{
    static const char *const states[] = {
        "new",     "connecting", "registering", "joining", "rebalancing", "backoff", "moving",
        "reading", "owning",     "idle",        "gave-up", "evicted",     "leaving", "closed"};
    begin(out, "zkconsumer_state", "gauge", "1 for the state that the member is in.");
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        buf_appendf(out, "zkconsumer_state{state=\"%s\"} %d\n", states[i],
                    strcmp(text(member, "state"), states[i]) == 0);
}

static void append_health(struct buf *out, const json_t *member)
{
    begin(out, "zkconsumer_healthy", "gauge", "0: it cannot do its part, as member.trouble says.");
    buf_appendf(out, "zkconsumer_healthy %d\n", json_is_true(json_object_get(member, "healthy")));
}

static void append_member(struct buf *out, const json_t *member)
{
    int64_t all = number(member, "rebalances"), failed = number(member, "rebalances_failed");
    append_states(out, member);
    append_health(out, member);
    begin(out, "zkconsumer_rebalances_total", "counter", "Rebalances that have ended.");
    buf_appendf(out,
                "zkconsumer_rebalances_total{result=\"done\"} %" PRId64
                "\nzkconsumer_rebalances_total{result=\"gave_up\"} %" PRId64 "\n",
                all - failed, failed);
}

/* What zookeeper.mode=safe tells; nothing of it in compat. */
struct safe_family {
    const char *field; /* of the object "safe" */
    const char *name, *type, *help;
};

static const struct safe_family safe_families[] = {
    {"leases", "zkconsumer_leases_total", "counter", "How often the lease was set."},
    {"probes", "zkconsumer_lease_probes_total", "counter", "Writes that keep the lease."},
    {"wanted", "zkconsumer_wanted_partitions", "gauge", "What the assignment gives to it."},
    {"overdue", "zkconsumer_overdue_partitions", "gauge",
     "Partitions that others have held for longer than a session and a hand-over last."},
    {"unsure", "zkconsumer_unsure_partitions", "gauge",
     "Partitions of an operation whose outcome is being looked up."},
    {"rounds", "zkconsumer_rounds_total", "counter", "Views of the group acted on."},
    {"claims", "zkconsumer_claims_total", "counter", "Partitions claimed."},
    {"conflicts", "zkconsumer_claim_conflicts_total", "counter",
     "Claims that found another's owner node."},
    {"releases", "zkconsumer_releases_total", "counter", "Partitions handed over."},
    {"commits", "zkconsumer_commits_total", "counter", "Offsets committed."},
    {"foreign_writes", "zkconsumer_foreign_writes_total", "counter",
     "Offsets of ours that somebody else wrote."},
    {"voided", "zkconsumer_voided_total", "counter", "Partitions whose hand-over took too long."},
    {"evictions", "zkconsumer_evictions_total", "counter",
     "How often the application stopped asking for messages."},
};

/* -1 ms stands for a lease without end. */
static void append_lease(struct buf *out, const json_t *safe)
{
    int64_t left_ms = number(safe, "lease_left_ms");
    begin(out, "zkconsumer_lease_left_seconds", "gauge",
          "How long messages are handed out if the lease is not renewed.");
    if (left_ms < 0)
        buf_append_text(out, "zkconsumer_lease_left_seconds +Inf\n");
    else
        buf_appendf(out, "zkconsumer_lease_left_seconds %" PRId64 ".%03d\n", left_ms / 1000,
                    (int)(left_ms % 1000));
}

static void append_safe(struct buf *out, const json_t *document)
{
    const json_t *safe = json_object_get(document, "safe");
    if (!json_is_object(safe))
        return;
    append_lease(out, safe);
    for (size_t i = 0; i < ARRAY_LEN(safe_families); i++)
        plain(out, safe_families[i].name, safe_families[i].type, safe_families[i].help,
              number(safe, safe_families[i].field));
    plain(out, "zkconsumer_waiting_partitions", "gauge", "Partitions of ours that another holds.",
          (int64_t)json_array_size(json_object_get(safe, "waiting")));
}

static void append_zookeeper(struct buf *out, const json_t *zookeeper)
{
    plain(out, "zkconsumer_zk_connected", "gauge", "1 while a ZooKeeper server serves the session.",
          json_is_true(json_object_get(zookeeper, "connected")));
    plain(out, "zkconsumer_zk_ops_total", "counter", "Operations sent to ZooKeeper.",
          number(zookeeper, "operations"));
    plain(out, "zkconsumer_zk_session_expirations_total", "counter", "Sessions that have ended.",
          number(zookeeper, "expirations"));
}

static int64_t sum_of(const json_t *list, const char *field)
{
    int64_t sum = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        sum += number(json_array_get(list, i), field);
    return sum;
}

static void append_traffic(struct buf *out, const json_t *document)
{
    const json_t *streams = json_object_get(document, "streams");
    const json_t *brokers = json_object_get(document, "brokers");
    plain(out, "zkconsumer_messages_delivered_total", "counter", "Messages handed out.",
          sum_of(streams, "messages"));
    plain(out, "zkconsumer_delivered_bytes_total", "counter", "Keys and values handed out.",
          sum_of(streams, "bytes"));
    plain(out, "zkconsumer_reports_total", "counter", "Reports of messages that cannot be read.",
          sum_of(streams, "reports"));
    plain(out, "zkconsumer_late_messages_total", "counter",
          "Messages whose lease ended while they were handed out.", sum_of(streams, "late"));
    plain(out, "zkconsumer_queued_chunks", "gauge", "Fetched and not yet handed out.",
          sum_of(streams, "queued_chunks"));
    plain(out, "zkconsumer_fetch_requests_total", "counter", "Requests to brokers.",
          sum_of(brokers, "requests"));
    plain(out, "zkconsumer_fetched_bytes_total", "counter", "Bytes received from brokers.",
          sum_of(brokers, "bytes_received"));
    plain(out, "zkconsumer_broker_connect_failures_total", "counter",
          "Connections to brokers that failed.", sum_of(brokers, "connect_failures"));
}

static void append_counters(struct buf *out, const struct metrics_counters *c)
{
    begin(out, "zkconsumer_info", "gauge", "Always 1; labels say who this is.");
    buf_appendf(out, "zkconsumer_info{version=\"%s\"} 1\n", ZKC_VERSION_TEXT);
    begin(out, "zkconsumer_partition_changes_total", "counter",
          "Partitions that came and went, by what happened.");
    buf_appendf(out,
                "zkconsumer_partition_changes_total{kind=\"assigned\"} %" PRIu64
                "\nzkconsumer_partition_changes_total{kind=\"revoked\"} %" PRIu64
                "\nzkconsumer_partition_changes_total{kind=\"lost\"} %" PRIu64 "\n",
                c->assigned, c->revoked, c->lost);
    begin(out, "zkconsumer_rebalance_duration_seconds", "summary",
          "From having given back or lost the last partition to getting some.");
    buf_appendf(out,
                "zkconsumer_rebalance_duration_seconds_sum %" PRId64 ".%03d\n"
                "zkconsumer_rebalance_duration_seconds_count %" PRIu64 "\n",
                c->standstill_ms / 1000, (int)(c->standstill_ms % 1000), c->standstills);
    plain(out, "zkconsumer_errors_total", "counter", "Errors that the library told.",
          (int64_t)c->errors);
}

void metrics_append(const char *json, size_t len, const struct metrics_counters *counters,
                    struct buf *out)
{
    append_counters(out, counters);
    json_t *document = json ? json_loadb(json, len, 0, NULL) : NULL;
    if (!document)
        return;
    const json_t *member = json_object_get(document, "member");
    append_member(out, member);
    append_zookeeper(out, json_object_get(document, "zookeeper"));
    append_safe(out, document);
    append_partitions(out, document, text(member, "group"));
    append_traffic(out, document);
    json_decref(document);
}
