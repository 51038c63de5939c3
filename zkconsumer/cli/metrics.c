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
void metrics_append_label(struct buf *out, const char *name, const char *value, bool is_first)
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

/* A family with one line for each partition held; a value that is not known is left out. */
struct partition_family {
    const char *name, *help;
    const char *field; /* of partitions[] */
    const char *minus; /* NULL; else another one, which is subtracted */
    bool by_group;     /* has the label consumergroup */
};

static const struct partition_family partition_families[] = {
    {"kafka_topic_partition_current_offset", "End of the partition log, as its leader last told.",
     "log_end", NULL, false},
    {"kafka_topic_partition_leader", "Broker that the partition is fetched from.", "leader", NULL,
     false},
    {"kafka_consumergroup_current_offset", "Committed offset.", "committed", NULL, true},
    {"kafka_consumergroup_lag", "Log end minus the committed offset.", "log_end", "committed",
     true},
    {"kafka_consumergroupzookeeper_lag_zookeeper",
     "Log end minus the offset that is committed in ZooKeeper.", "log_end", "committed_zookeeper",
     true},
    {"zkconsumer_position", "Next offset that is handed out.", "position", NULL, true},
    {"zkconsumer_position_lag", "Log end minus the next offset that is handed out.", "log_end",
     "position", true},
};

/* False: not known, and left out. */
static bool known_value(const json_t *partition, const char *field, const char *minus,
                        int64_t *value)
{
    const json_t *from = json_object_get(partition, field);
    const json_t *take = minus ? json_object_get(partition, minus) : NULL;
    if (!json_is_integer(from) || json_integer_value(from) < 0)
        return false;
    if (minus && (!json_is_integer(take) || json_integer_value(take) < 0))
        return false;
    *value = json_integer_value(from) - (minus ? json_integer_value(take) : 0);
    return true;
}

static void partition_line(struct buf *out, const struct partition_family *f, const char *group,
                           const json_t *partition)
{
    int64_t value;
    char id[24];
    if (!known_value(partition, f->field, f->minus, &value))
        return;
    buf_appendf(out, "%s{", f->name);
    if (f->by_group)
        metrics_append_label(out, "consumergroup", group, true);
    metrics_append_label(out, "topic", text(partition, "topic"), !f->by_group);
    snprintf(id, sizeof id, "%" PRId64, number(partition, "partition"));
    metrics_append_label(out, "partition", id, false);
    buf_appendf(out, "} %" PRId64 "\n", value);
}

/* A family with a line for each topic: the sum of field - minus where they are known, negative ones
 * as 0; without a field the number of partitions. */
struct topic_family {
    const char *name, *help, *field, *minus;
};

static const struct topic_family topic_families[] = {
    {"kafka_consumergroup_current_offset_sum",
     "Committed offsets of this consumer's partitions of a topic.", "committed", NULL},
    {"kafka_consumergroup_lag_sum", "Lag of this consumer's partitions of a topic.", "log_end",
     "committed"},
    {"zkconsumer_owned_partitions", "Partitions that this consumer holds.", NULL, NULL},
};

/* Partitions go by topic, so that each topic is a run. */
static void append_by_topic(struct buf *out, const struct topic_family *f, const char *group,
                            const json_t *list)
{
    size_t count = json_array_size(list);
    begin(out, f->name, "gauge", f->help);
    for (size_t i = 0; i < count;) {
        const char *topic = text(json_array_get(list, i), "topic");
        int64_t sum = 0;
        bool is_known = !f->field;
        for (; i < count && strcmp(text(json_array_get(list, i), "topic"), topic) == 0; i++) {
            int64_t value = f->field ? 0 : 1;
            if (f->field && known_value(json_array_get(list, i), f->field, f->minus, &value))
                is_known = true;
            sum += value > 0 ? value : 0;
        }
        if (!is_known) /* of no partition */
            continue;
        buf_appendf(out, "%s{", f->name);
        metrics_append_label(out, "consumergroup", group, true);
        metrics_append_label(out, "topic", topic, false);
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
    for (size_t f = 0; f < ARRAY_LEN(topic_families); f++)
        append_by_topic(out, &topic_families[f], group, list);
}

/* ---- the group and the cluster ---- */

static void append_group(struct buf *out, const json_t *view, const char *group)
{
    const json_t *topics = json_object_get(view, "topics");
    begin(out, "kafka_consumergroup_members", "gauge",
          "Members that are registered, as this one last saw.");
    if (json_is_integer(json_object_get(view, "members")) && number(view, "members") >= 0) {
        buf_append_text(out, "kafka_consumergroup_members{");
        metrics_append_label(out, "consumergroup", group, true);
        buf_appendf(out, "} %" PRId64 "\n", number(view, "members"));
    }
    begin(out, "kafka_topic_partitions", "gauge", "Partitions of a topic.");
    for (size_t i = 0; i < json_array_size(topics); i++) {
        buf_append_text(out, "kafka_topic_partitions{");
        metrics_append_label(out, "topic", text(json_array_get(topics, i), "topic"), true);
        buf_appendf(out, "} %" PRId64 "\n", number(json_array_get(topics, i), "partitions"));
    }
}

static void append_cluster(struct buf *out, const struct metrics_cluster *cluster)
{
    begin(out, "kafka_brokers", "gauge", "Brokers that are registered in ZooKeeper.");
    if (cluster->is_known)
        buf_appendf(out, "kafka_brokers %zu\n", cluster->broker_count);
    begin(out, "kafka_topic_partition_oldest_offset", "gauge", "Where the partition log begins.");
    for (size_t i = 0; i < cluster->oldest_count; i++) {
        buf_append_text(out, "kafka_topic_partition_oldest_offset{");
        metrics_append_label(out, "topic", cluster->oldest[i].topic, true);
        buf_appendf(out, ",partition=\"%" PRId32 "\"} %" PRId64 "\n", cluster->oldest[i].partition,
                    cluster->oldest[i].offset);
    }
}

/* ---- histograms and counters with labels ---- */

static void append_seconds(struct buf *out, int64_t us)
{
    buf_appendf(out, "%" PRId64 ".%06d", us / 1000000, (int)(us % 1000000));
}

/* "0.0005", "60": as short as Prometheus writes it. */
static void name_bound(int64_t us, char *le, size_t size)
{
    size_t len = (size_t)snprintf(le, size, "%" PRId64 ".%06d", us / 1000000, (int)(us % 1000000));
    while (len > 1 && le[len - 1] == '0')
        le[--len] = 0;
    if (le[len - 1] == '.')
        le[len - 1] = 0;
}

/* One histogram of a family, of bounds_us. `labels`: what stands before le, with its comma. */
static void append_histogram(struct buf *out, const char *name, const char *labels,
                             const json_t *histogram, const json_t *bounds)
{
    const json_t *buckets = json_object_get(histogram, "buckets");
    size_t count = json_array_size(bounds), len = strlen(labels);
    int64_t sum = 0;
    if (!json_is_object(histogram))
        return;
    for (size_t i = 0; i <= count; i++) {
        char le[32] = "+Inf";
        sum += json_integer_value(json_array_get(buckets, i));
        if (i < count)
            name_bound(json_integer_value(json_array_get(bounds, i)), le, sizeof le);
        buf_appendf(out, "%s_bucket{%sle=\"%s\"} %" PRId64 "\n", name, labels, le, sum);
    }
    const char *open = len ? "{" : "", *close = len ? "}" : "";
    int only = len ? (int)len - 1 : 0; /* without the comma */
    buf_appendf(out, "%s_sum%s%.*s%s ", name, open, only, labels, close);
    append_seconds(out, number(histogram, "sum_us"));
    buf_appendf(out, "\n%s_count%s%.*s%s %" PRId64 "\n", name, open, only, labels, close,
                number(histogram, "count"));
}

/* A line for each member of an object of counts. `labels` as above. */
static void append_counts(struct buf *out, const char *name, const char *labels, const char *label,
                          const json_t *counts)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)counts, key, value)
        buf_appendf(out, "%s{%s%s=\"%s\"} %" PRId64 "\n", name, labels, label, key,
                    (int64_t)json_integer_value(value));
}

static void append_requests(struct buf *out, const json_t *document)
{
    const json_t *list = json_object_get(document, "requests");
    char labels[64];
    begin(out, "zkconsumer_zk_ops_total", "counter",
          "Operations that ZooKeeper, or the loss of the connection, has answered.");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        snprintf(labels, sizeof labels, "op=\"%s\",", text(one, "op"));
        append_counts(out, "zkconsumer_zk_ops_total", labels, "result",
                      json_object_get(one, "answers"));
    }
    begin(out, "zkconsumer_zk_op_seconds", "histogram", "From sending to the answer.");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        snprintf(labels, sizeof labels, "op=\"%s\",", text(one, "op"));
        append_histogram(out, "zkconsumer_zk_op_seconds", labels, json_object_get(one, "time"),
                         json_object_get(document, "bucket_bounds_us"));
    }
    begin(out, "zkconsumer_zk_watch_events_total", "counter", "Watches that fired.");
    append_counts(out, "zkconsumer_zk_watch_events_total", "", "kind",
                  json_object_get(document, "watch_events"));
}

static void append_rebalancing(struct buf *out, const json_t *document)
{
    const json_t *r = json_object_get(document, "rebalancing");
    const json_t *bounds = json_object_get(document, "bucket_bounds_us");
    char labels[64];
    const char *key;
    json_t *value;
    begin(out, "zkconsumer_rebalances_total", "counter", "Rebalances that have ended.");
    json_object_foreach(json_object_get(r, "ended"), key, value)
    {
        snprintf(labels, sizeof labels, "cause=\"%s\",", key);
        append_counts(out, "zkconsumer_rebalances_total", labels, "result", value);
    }
    plain(out, "zkconsumer_rebalance_attempts_total", "counter", "Attempts of rebalances.",
          number(r, "attempts"));
    begin(out, "zkconsumer_rebalance_duration_seconds", "histogram",
          "How long a rebalance took, pauses included.");
    append_histogram(out, "zkconsumer_rebalance_duration_seconds", "",
                     json_object_get(r, "duration"), bounds);
    begin(out, "zkconsumer_rebalance_phase_seconds", "histogram",
          "What a rebalance was spent with.");
    json_object_foreach(json_object_get(r, "phases"), key, value)
    {
        snprintf(labels, sizeof labels, "phase=\"%s\",", key);
        append_histogram(out, "zkconsumer_rebalance_phase_seconds", labels, value, bounds);
    }
}

static void append_outcomes(struct buf *out, const json_t *document)
{
    char labels[64];
    const char *store;
    json_t *counts;
    begin(out, "zkconsumer_claim_total", "counter", "Answers to claims of partitions.");
    append_counts(out, "zkconsumer_claim_total", "", "result", json_object_get(document, "claims"));
    begin(out, "zkconsumer_commit_total", "counter", "Answers to commits of offsets.");
    json_object_foreach(json_object_get(document, "commits"), store, counts)
    {
        snprintf(labels, sizeof labels, "store=\"%s\",", store);
        append_counts(out, "zkconsumer_commit_total", labels, "result", counts);
    }
    begin(out, "zkconsumer_fenced_total", "counter",
          "How often the delivery of what is held was stopped.");
    append_counts(out, "zkconsumer_fenced_total", "", "reason",
                  json_object_get(document, "fenced"));
}

static void append_unowned(struct buf *out, const json_t *document)
{
    const json_t *list = json_object_get(document, "unowned");
    begin(out, "zkconsumer_partition_unowned_seconds_total", "counter",
          "Time in which a partition of this consumer's share was not delivered by it.");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *p = json_array_get(list, i);
        int64_t ms = number(p, "ms");
        buf_append_text(out, "zkconsumer_partition_unowned_seconds_total{");
        metrics_append_label(out, "topic", text(p, "topic"), true);
        buf_appendf(out, ",partition=\"%" PRId64 "\"} %" PRId64 ".%03d\n", number(p, "partition"),
                    ms / 1000, (int)(ms % 1000));
    }
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
    {"foreign_deletes", "zkconsumer_foreign_deletes_total", "counter",
     "Owner nodes of ours that somebody else deleted."},
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

/* Of members without a lease, all together: member ids are no labels. */
static const struct safe_family stranger_families[] = {
    {"doubled", "zkconsumer_stranger_doubled_messages_total", "counter",
     "Messages that members without a lease have consumed beside us, as their commits say."},
    {"doubtful", "zkconsumer_stranger_doubtful_messages_total", "counter",
     "Messages handed out until a member without a lease returned that had the partition before."},
    {"returns", "zkconsumer_stranger_returns_total", "counter", "How often one did."},
    {"free", "zkconsumer_stranger_free_partitions", "gauge",
     "Partitions of the shares of members that have given up."},
};

/* Of the object "watches" in there. */
static const struct safe_family watch_families[] = {
    {"left", "zkconsumer_zk_watches", "gauge",
     "Watches left in ZooKeeper, with those of the process's observer."},
    {"sessions", "zkconsumer_zk_watch_sessions", "gauge",
     "Further sessions, which carry those that the member's own has no room for."},
    {"own_bytes", "zkconsumer_zk_watch_bytes", "gauge",
     "What the paths of those on the member's own session take in a packet."},
    {"unwatched", "zkconsumer_zk_unwatched_paths", "gauge",
     "Paths that no session has room for; they are read again every 10 s."},
};

static int64_t sum_of(const json_t *list, const char *field)
{
    int64_t sum = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        sum += number(json_array_get(list, i), field);
    return sum;
}

static void append_families(struct buf *out, const struct safe_family *list, size_t count,
                            const json_t *object)
{
    for (size_t i = 0; i < count; i++)
        plain(out, list[i].name, list[i].type, list[i].help, number(object, list[i].field));
}

static void append_safe(struct buf *out, const json_t *document)
{
    const json_t *safe = json_object_get(document, "safe");
    if (!json_is_object(safe))
        return;
    append_lease(out, safe);
    append_families(out, safe_families, ARRAY_LEN(safe_families), safe);
    const json_t *watches = json_object_get(safe, "watches");
    if (json_is_object(watches))
        append_families(out, watch_families, ARRAY_LEN(watch_families), watches);
    plain(out, "zkconsumer_waiting_partitions", "gauge", "Partitions of ours that another holds.",
          (int64_t)json_array_size(json_object_get(safe, "waiting")));
    const json_t *strangers = json_object_get(safe, "strangers");
    for (size_t i = 0; i < ARRAY_LEN(stranger_families); i++)
        plain(out, stranger_families[i].name, stranger_families[i].type, stranger_families[i].help,
              sum_of(strangers, stranger_families[i].field));
}

static void append_zookeeper(struct buf *out, const json_t *zookeeper)
{
    plain(out, "zkconsumer_zk_connected", "gauge", "1 while a ZooKeeper server serves the session.",
          json_is_true(json_object_get(zookeeper, "connected")));
    plain(out, "zkconsumer_zk_session_expirations_total", "counter", "Sessions that have ended.",
          number(zookeeper, "expirations"));
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
          "Messages handed out although their lease had ended.", sum_of(streams, "late"));
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
    begin(out, "zkconsumer_standstill_seconds", "summary",
          "From having given back or lost the last partition to getting some.");
    buf_appendf(out,
                "zkconsumer_standstill_seconds_sum %" PRId64 ".%03d\n"
                "zkconsumer_standstill_seconds_count %" PRIu64 "\n",
                c->standstill_ms / 1000, (int)(c->standstill_ms % 1000), c->standstills);
    plain(out, "zkconsumer_errors_total", "counter", "Errors that the library told.",
          (int64_t)c->errors);
}

static void append_mirror(struct buf *out, const struct metrics_counters *c)
{
    if (!c->is_mirror)
        return;
    plain(out, "zkconsumer_mirror_copied_total", "counter",
          "Messages handed over for the target cluster.", (int64_t)c->copied);
    plain(out, "zkconsumer_mirror_delivered_total", "counter",
          "Messages that the target has acknowledged.", (int64_t)c->delivered);
    plain(out, "zkconsumer_mirror_refused_total", "counter",
          "Messages that the target has refused.", (int64_t)c->refused);
}

void metrics_append(const char *json, size_t len, const struct metrics_counters *counters,
                    const struct metrics_cluster *cluster, struct buf *out)
{
    append_counters(out, counters);
    append_mirror(out, counters);
    append_cluster(out, cluster);
    json_t *document = json ? json_loadb(json, len, 0, NULL) : NULL;
    if (!document)
        return;
    const json_t *member = json_object_get(document, "member");
    append_states(out, member);
    append_health(out, member);
    append_rebalancing(out, document);
    append_outcomes(out, document);
    append_requests(out, document);
    append_zookeeper(out, json_object_get(document, "zookeeper"));
    append_safe(out, document);
    append_group(out, json_object_get(document, "group"), text(member, "group"));
    append_partitions(out, document, text(member, "group"));
    append_unowned(out, document);
    append_traffic(out, document);
    json_decref(document);
}
