/* Reads topics once, from their beginning, and prints what that took:
 *
 *     consume_bench --who=W --brokers=A --zookeeper=A --topic=T --partitions=N --messages=N
 *                   [--topics=N] [--fetch-bytes=N] [--receive-buffer=N] [--crc=false]
 *
 * `who` is `zkconsumer` (partitions assigned), `safe` or `compat` (a group of its own in that mode;
 * of several topics a filter), or librdkafka through one of its calls: `message` (one message a
 * call, as an application takes them), `batch` (1000 a call), `callback` (the cheapest). All read
 * all partitions at once through one stream or queue, with the same fetch sizes. One process reads
 * once, so that all CPU time of it, on any thread, counts. */
#include "tests/bench/measure.h"
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zkconsumer/consumer.h>

#define FETCH_WAIT  "100"
#define BATCH       1000
#define PATIENCE_MS 20000

struct job {
    const char *brokers, *zookeeper, *topic, *crc;
    const char *fetch_bytes;    /* of each partition in a request */
    const char *receive_buffer; /* bytes; "": the library's default */
    int32_t partitions;
    int64_t topics; /* 1: `topic`; more: topic-0, topic-1 ... */
    int64_t messages;
    int64_t seen, bytes; /* so far */
    unsigned touched;    /* the application reads what it gets, if only a byte of it */
    struct usage used;   /* from before the first call of the library to the last message */
};

static inline void count(struct job *job, const void *value, size_t len)
{
    job->seen++;
    job->bytes += (int64_t)len;
    job->touched += len ? *(const unsigned char *)value : 0;
}

/* ---- ours ---- */

static void set(zkc_conf *conf, const char *key, const char *value)
{
    char why[512];
    if (zkc_conf_set(conf, key, value, why, sizeof why))
        die("%s", why);
}

/* All partitions of the topic, from the beginning. */
static zkc_stream *assign(zkc_consumer *consumer, const struct job *job)
{
    if (job->topics > 1)
        die("several topics are read by a group");
    struct zkc_position *list = calloc((size_t)job->partitions, sizeof *list);
    for (int32_t i = 0; i < job->partitions; i++)
        list[i] = (struct zkc_position){job->topic, i, ZKC_OFFSET_BEGINNING};
    if (zkc_consumer_assign(consumer, list, (size_t)job->partitions))
        die("cannot assign");
    free(list);
    return zkc_consumer_stream(consumer, job->topic, 0);
}

static zkc_stream *subscribe(zkc_consumer *consumer, const struct job *job)
{
    char regex[256];
    struct zkc_subscription subscription = {job->topic, 1};
    struct zkc_filter filter = {.kind = ZKC_FILTER_WHITELIST, .topics = regex, .streams = 1};
    snprintf(regex, sizeof regex, "%s-.*", job->topic);
    enum zkc_err err = job->topics > 1 ? zkc_consumer_subscribe_filter(consumer, &filter)
                                       : zkc_consumer_subscribe(consumer, &subscription, 1);
    if (err || zkc_consumer_wait(consumer, PATIENCE_MS))
        die("cannot join");
    return zkc_consumer_stream(consumer, job->topics > 1 ? NULL : job->topic, 0);
}

/* `mode`: of a group; NULL: assigned. */
static void read_with_zkconsumer(struct job *job, const char *mode)
{
    struct usage begin = usage_now();
    char why[512];
    zkc_loop *loop;
    zkc_consumer *consumer;
    zkc_conf *conf = zkc_conf_new();
    set(conf, "zookeeper.connect", job->zookeeper);
    set(conf, "fetch.message.max.bytes", job->fetch_bytes);
    set(conf, "fetch.wait.max.ms", FETCH_WAIT);
    if (*job->receive_buffer)
        set(conf, "socket.receive.buffer.bytes", job->receive_buffer);
    if (mode) {
        char group[64];
        snprintf(group, sizeof group, "bench-%ld", (long)getpid());
        set(conf, "group.id", group);
        set(conf, "zookeeper.mode", mode);
        set(conf, "auto.offset.reset", "smallest");
    }
    if (zkc_loop_open(NULL, &loop))
        die("no loop");
    if (zkc_consumer_open(conf, loop, &consumer, why, sizeof why))
        die("%s", why);
    zkc_stream *stream = mode ? subscribe(consumer, job) : assign(consumer, job);
    struct zkc_message m = {0};
    while (job->seen < job->messages) {
        enum zkc_err err = zkc_stream_next(stream, PATIENCE_MS, &m);
        if (err || m.err)
            die("after %" PRId64 " messages: %s", job->seen, zkc_err_text(err ? err : m.err));
        count(job, m.value, m.value_len);
    }
    job->used = usage_since(begin);
    (void)zkc_message_acknowledge(&m); /* or closing waits for it; nothing to do in compat */
    zkc_conf_free(conf);
    (void)zkc_consumer_close_wait(consumer, 5000);
    zkc_consumer_free(consumer);
    zkc_loop_close(loop);
}

/* ---- librdkafka ---- */

static void set_rdkafka(rd_kafka_conf_t *conf, const char *key, const char *value)
{
    char why[256];
    if (rd_kafka_conf_set(conf, key, value, why, sizeof why) != RD_KAFKA_CONF_OK)
        die("%s=%s: %s", key, value, why);
}

static void on_message(rd_kafka_message_t *m, void *opaque)
{
    struct job *job = opaque;
    if (m->err && m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
        die("after %" PRId64 " messages: %s", job->seen, rd_kafka_message_errstr(m));
    if (!m->err)
        count(job, m->payload, m->len);
}

static void take_message(rd_kafka_queue_t *queue, struct job *job)
{
    rd_kafka_message_t *m = rd_kafka_consume_queue(queue, PATIENCE_MS);
    if (!m)
        die("nothing came after %" PRId64 " messages", job->seen);
    on_message(m, job);
    rd_kafka_message_destroy(m);
}

static void take_batch(rd_kafka_queue_t *queue, struct job *job)
{
    rd_kafka_message_t *list[BATCH];
    ssize_t n = rd_kafka_consume_batch_queue(queue, 100, list, BATCH);
    for (ssize_t i = 0; i < n; i++) {
        on_message(list[i], job);
        rd_kafka_message_destroy(list[i]);
    }
}

static void take_callback(rd_kafka_queue_t *queue, struct job *job)
{
    if (rd_kafka_consume_callback_queue(queue, PATIENCE_MS, on_message, job) < 1)
        die("nothing came after %" PRId64 " messages", job->seen);
}

static void read_with_rdkafka(struct job *job, void (*take)(rd_kafka_queue_t *, struct job *))
{
    struct usage begin = usage_now();
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set_rdkafka(conf, "bootstrap.servers", job->brokers);
    set_rdkafka(conf, "api.version.request", "false");
    set_rdkafka(conf, "broker.version.fallback", "0.8.2");
    set_rdkafka(conf, "fetch.message.max.bytes", job->fetch_bytes);
    set_rdkafka(conf, "fetch.wait.max.ms", FETCH_WAIT);
    set_rdkafka(conf, "check.crcs", job->crc);
    if (*job->receive_buffer)
        set_rdkafka(conf, "socket.receive.buffer.bytes", job->receive_buffer);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof why);
    if (!rk)
        die("%s", why);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_topic_t **rkts = calloc((size_t)job->topics, sizeof *rkts);
    for (int64_t t = 0; t < job->topics; t++) {
        char name[256];
        rkts[t] = rd_kafka_topic_new(rk, topic_name(name, job->topic, t, job->topics), NULL);
        for (int32_t i = 0; i < job->partitions; i++)
            if (rd_kafka_consume_start_queue(rkts[t], i, RD_KAFKA_OFFSET_BEGINNING, queue))
                die("%s", rd_kafka_err2str(rd_kafka_last_error()));
    }
    while (job->seen < job->messages)
        take(queue, job);
    job->used = usage_since(begin);
    for (int64_t t = 0; t < job->topics; t++) {
        for (int32_t i = 0; i < job->partitions; i++)
            rd_kafka_consume_stop(rkts[t], i);
        rd_kafka_topic_destroy(rkts[t]);
    }
    free(rkts);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
}

/* ---- */

int main(int argc, char **argv)
{
    struct job job = {
        .brokers = option(argc, argv, "brokers", ""),
        .zookeeper = option(argc, argv, "zookeeper", ""),
        .topic = option(argc, argv, "topic", NULL),
        .crc = option(argc, argv, "crc", "true"),
        .fetch_bytes = option(argc, argv, "fetch-bytes", "1048576"),
        .receive_buffer = option(argc, argv, "receive-buffer", ""),
        .partitions = (int32_t)option_int(argc, argv, "partitions", NULL),
        .topics = option_int(argc, argv, "topics", "1"),
        .messages = option_int(argc, argv, "messages", NULL),
    };
    const char *who = option(argc, argv, "who", NULL);
    if (strcmp(who, "zkconsumer") == 0)
        read_with_zkconsumer(&job, NULL);
    else if (strcmp(who, "safe") == 0 || strcmp(who, "compat") == 0)
        read_with_zkconsumer(&job, who);
    else if (strcmp(who, "message") == 0)
        read_with_rdkafka(&job, take_message);
    else if (strcmp(who, "batch") == 0)
        read_with_rdkafka(&job, take_batch);
    else if (strcmp(who, "callback") == 0)
        read_with_rdkafka(&job, take_callback);
    else
        die("--who=%s: nobody", who);
    printf("messages=%" PRId64 " bytes=%" PRId64 " user_ns=%" PRId64 " system_ns=%" PRId64
           " wall_ns=%" PRId64 " touched=%u\n",
           job.seen, job.bytes, job.used.user_ns, job.used.system_ns, job.used.wall_ns,
           job.touched);
    return 0;
}
