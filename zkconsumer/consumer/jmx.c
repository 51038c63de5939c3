/* The numbers of Kafka 0.8.2's consumer under the names of its beans, for who has dashboards of
 * them. Source of names and meaning: kafka.metrics.KafkaMetricsGroup of 0.8.2 and its users
 * (ZookeeperConsumerConnector, AbstractFetcherManager, AbstractFetcherThread, ConsumerTopicStats,
 * FetchRequestAndResponseStats). Attributes are those of com.yammer.metrics.reporting.JmxReporter
 * that can be had without keeping samples: Value of gauges; Count and MeanRate of meters and
 * timers, OneMinuteRate of fetchers; Mean, Max (and Min) of times and sizes, in ms and bytes. */
#include "zkconsumer/consumer/consumer.h"
#include "zkconsumer/consumer/source.h"
#include <stdio.h>
#include <string.h>
#include <zkconsumer/version.h>

struct beans {
    zkc_consumer *c;
    struct json *j;
    int64_t now_ms;
    double rate_min; /* of the fetchers; negative: there is none yet */
};

#define CONNECTOR "kafka.consumer:type=ZookeeperConsumerConnector,name="
#define MANAGER   "kafka.consumer:type=ConsumerFetcherManager,name="
#define TOPICS    "kafka.consumer:type=ConsumerTopicMetrics,name="
#define REQUESTS  "kafka.consumer:type=FetchRequestAndResponseMetrics,name="
#define LAGS      "kafka.server:type=FetcherLagMetrics,name="
#define FETCHERS  "kafka.server:type=FetcherStats,name="

/* "<name>,clientId=<id><tags>": cut when it is too long for a name. */
static void begin(struct beans *b, const char *name, const char *tags)
{
    char bean[1024];
    snprintf(bean, sizeof bean, "%s,clientId=%s%s", name, b->c->view.client_id, tags);
    json_object_begin(b->j, bean);
}

static void gauge(struct beans *b, const char *name, const char *tags, int64_t value)
{
    begin(b, name, tags);
    json_int(b->j, "Value", value);
    json_object_end(b->j);
}

/* By the second, in thousandths. */
static int64_t mean_rate(uint64_t count, int64_t ms)
{
    return ms > 0 ? (int64_t)((double)count * 1000000.0 / (double)ms) : 0;
}

static void add_count(struct beans *b, uint64_t count, int64_t since_ms)
{
    json_int(b->j, "Count", (int64_t)count);
    json_thousandths(b->j, "MeanRate", mean_rate(count, b->now_ms - since_ms));
}

static void meter(struct beans *b, const char *name, const char *tags, uint64_t count)
{
    begin(b, name, tags);
    add_count(b, count, b->c->opened_ms);
    json_object_end(b->j);
}

/* ---- the connector ---- */

static void add_rebalances(struct beans *b)
{
    const struct histogram *h = tally_rebalances(b->c->tally);
    begin(b, CONNECTOR "RebalanceRateAndTime", "");
    add_count(b, h->count, b->c->opened_ms);
    json_thousandths(b->j, "Mean", h->count ? h->sum_us / (int64_t)h->count : 0);
    json_thousandths(b->j, "Max", h->max_us);
    json_object_end(b->j);
}

static void add_owned(struct beans *b)
{
    zkc_consumer *c = b->c;
    struct zkc_owned *list;
    size_t count;
    char tags[768];
    snprintf(tags, sizeof tags, ",groupId=%s", c->group ? c->group : "");
    gauge(b, CONNECTOR "OwnedPartitionsCount", tags, (int64_t)fetching_count(c->fetching));
    fetching_owned(c->fetching, &list, &count);
    for (size_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && strcmp(list[i + n].topic, list[i].topic) == 0;)
            n++;
        snprintf(tags, sizeof tags, ",groupId=%s,topic=%s", c->group ? c->group : "",
                 list[i].topic);
        gauge(b, CONNECTOR "OwnedPartitionsCount", tags, (int64_t)n);
    }
}

static void add_lags(struct beans *b)
{
    struct zkc_owned *list;
    size_t count;
    fetching_owned(b->c->fetching, &list, &count);
    for (size_t i = 0; i < count; i++) {
        char tags[512];
        int64_t position = list[i].offset, end = -1;
        if (fetching_log_end(b->c->fetching, list[i].topic, list[i].partition, &end))
            end = -1;
        snprintf(tags, sizeof tags, ",topic=%s,partition=%d", list[i].topic, list[i].partition);
        gauge(b, LAGS "ConsumerLag", tags, position >= 0 && end >= 0 ? end - position : -1);
    }
}

/* ---- streams ---- */

/* Topics of one subscription are neighbours, each with all its streams. */
struct topic_sum {
    struct beans *beans;
    const char *topic;
    uint64_t messages, bytes, all_messages, all_bytes;
};

static void tell_topic(struct topic_sum *sum)
{
    char tags[512];
    if (!sum->topic)
        return;
    snprintf(tags, sizeof tags, ",topic=%s", sum->topic);
    meter(sum->beans, TOPICS "MessagesPerSec", tags, sum->messages);
    meter(sum->beans, TOPICS "BytesPerSec", tags, sum->bytes);
    sum->messages = sum->bytes = 0;
}

static void add_stream(zkc_stream *stream, void *user)
{
    struct topic_sum *sum = user;
    struct stream_counts n;
    char tags[512];
    stream_count(stream, &n);
    if (!sum->topic || strcmp(sum->topic, zkc_stream_topic(stream)) != 0)
        tell_topic(sum);
    sum->topic = zkc_stream_topic(stream);
    sum->messages += n.messages;
    sum->bytes += n.fetched_bytes;
    sum->all_messages += n.messages;
    sum->all_bytes += n.fetched_bytes;
    snprintf(tags, sizeof tags, ",topic=%s,threadId=%d", sum->topic, zkc_stream_index(stream));
    gauge(sum->beans, CONNECTOR "FetchQueueSize", tags, (int64_t)n.chunks);
}

static void add_streams(struct beans *b)
{
    struct topic_sum sum = {.beans = b};
    stream_hub_each(b->c->hub, add_stream, &sum);
    tell_topic(&sum);
    meter(b, TOPICS "MessagesPerSec", "", sum.all_messages);
    meter(b, TOPICS "BytesPerSec", "", sum.all_bytes);
}

/* ---- fetchers ---- */

static void add_requests(struct beans *b, const char *tags, const struct fetch_numbers *n)
{
    int64_t count = (int64_t)n->requests;
    begin(b, REQUESTS "FetchRequestRateAndTimeMs", tags);
    add_count(b, n->requests, n->since_ms);
    json_thousandths(b->j, "Mean", count ? n->took_us / count : 0);
    json_thousandths(b->j, "Max", n->took_us_max);
    json_object_end(b->j);
    begin(b, REQUESTS "FetchResponseSize", tags);
    json_int(b->j, "Count", count);
    json_int(b->j, "Mean", count ? (int64_t)n->bytes / count : 0);
    json_int(b->j, "Min", n->bytes_min);
    json_int(b->j, "Max", n->bytes_max);
    json_object_end(b->j);
}

static void add_fetcher(struct beans *b, const char *name, const char *tags, uint64_t count,
                        int64_t since_ms, double rate)
{
    begin(b, name, tags);
    add_count(b, count, since_ms);
    json_thousandths(b->j, "OneMinuteRate", (int64_t)(rate * 1000));
    json_object_end(b->j);
}

static void add_broker(const char *host, int32_t port, const struct fetch_numbers *n, void *user)
{
    struct beans *b = user;
    char tags[512];
    double rate = n->request_rate.rate;
    snprintf(tags, sizeof tags, ",brokerHost=%s,brokerPort=%d", host, port);
    add_fetcher(b, FETCHERS "RequestsPerSec", tags, n->requests, n->since_ms, rate);
    add_fetcher(b, FETCHERS "BytesPerSec", tags, n->bytes, n->since_ms, n->byte_rate.rate);
    add_requests(b, tags, n);
    b->rate_min = b->rate_min < 0 || rate < b->rate_min ? rate : b->rate_min;
}

static void add_fetchers(struct beans *b)
{
    int64_t lag = fetching_max_lag(b->c->fetching);
    fetching_each_broker(b->c->fetching, add_broker, b);
    add_requests(b, "", fetching_numbers(b->c->fetching));
    gauge(b, MANAGER "MaxLag", "", lag < 0 ? 0 : lag);
    begin(b, MANAGER "MinFetchRate", "");
    json_thousandths(b->j, "Value", b->rate_min < 0 ? 0 : (int64_t)(b->rate_min * 1000));
    json_object_end(b->j);
}

void jmx_stats(zkc_consumer *c, struct json *j)
{
    struct beans b = {.c = c, .j = j, .now_ms = loop_now_ms(), .rate_min = -1};
    json_object_begin(j, "jmx");
    add_owned(&b);
    add_rebalances(&b);
    meter(&b, CONNECTOR "KafkaCommitsPerSec", "", c->kafka_commits);
    meter(&b, CONNECTOR "ZooKeeperCommitsPerSec", "", c->zookeeper_commits);
    add_streams(&b);
    add_lags(&b);
    add_fetchers(&b);
    json_object_begin(j, "kafka.common:type=AppInfo,name=Version");
    json_text(j, "Value", "zkconsumer " ZKC_VERSION_TEXT);
    json_object_end(j);
    json_object_end(j);
}
