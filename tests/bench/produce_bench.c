/* Fills topics, through librdkafka: messages of one size, each topic and partition in turn, of
 * words that compress about as well as log lines do. The same data for the same arguments. With
 * --topics their names are T-0, T-1 ...
 *
 *     produce_bench --brokers=A --topic=T --partitions=N --messages=N --bytes=N [--topics=N]
 *                   [--codec=none]
 *                   [--linger=MS] [--batch-messages=N] [--batch-bytes=N] */
#include "tests/bench/measure.h"
#include "zkconsumer/core/base/rng.h"
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
    "GET",       "/index.html", "status=200", "user",    "timeout",   "broker",
    "partition", "consumer",    "offset",     "commit",  "rebalance", "session",
    "watch",     "ephemeral",   "leader",     "replica", "error",     "warning",
    "connected", "closed",      "bytes",      "latency", "request",   "answer",
};

/* Words and numbers up to `len` bytes, as a line of a log has. */
static void fill(struct rng *rng, char *at, size_t len)
{
    size_t used = 0;
    while (used < len) {
        char word[32];
        uint64_t r = rng_next(rng);
        int n = r % 4 == 0 ? snprintf(word, sizeof word, "%u ", (unsigned)(r >> 40))
                           : snprintf(word, sizeof word, "%s ",
                                      words[(r >> 8) % (sizeof words / sizeof *words)]);
        size_t take = (size_t)n < len - used ? (size_t)n : len - used;
        memcpy(at + used, word, take);
        used += take;
    }
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
    (void)rk;
    (void)opaque;
    if (m->err)
        die("a message was not delivered: %s", rd_kafka_err2str(m->err));
}

static void set(rd_kafka_conf_t *conf, const char *key, const char *value)
{
    char why[256];
    if (rd_kafka_conf_set(conf, key, value, why, sizeof why) != RD_KAFKA_CONF_OK)
        die("%s=%s: %s", key, value, why);
}

int main(int argc, char **argv)
{
    char why[256];
    const char *topic = option(argc, argv, "topic", NULL);
    int64_t messages = option_int(argc, argv, "messages", NULL);
    int32_t partitions = (int32_t)option_int(argc, argv, "partitions", NULL);
    size_t bytes = (size_t)option_int(argc, argv, "bytes", NULL);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", option(argc, argv, "brokers", NULL));
    set(conf, "api.version.request", "false");
    set(conf, "broker.version.fallback", "0.8.2");
    set(conf, "compression.codec", option(argc, argv, "codec", "none"));
    set(conf, "linger.ms", option(argc, argv, "linger", "50"));
    set(conf, "batch.num.messages", option(argc, argv, "batch-messages", "1000"));
    set(conf, "batch.size", option(argc, argv, "batch-bytes", "1000000"));
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    if (!rk)
        die("%s", why);
    int64_t topic_count = option_int(argc, argv, "topics", "1");
    rd_kafka_topic_t **rkts = calloc((size_t)topic_count, sizeof *rkts);
    char *value = malloc(bytes + 1);
    if (!rkts || !value)
        die("out of memory");
    for (int64_t i = 0; i < topic_count; i++) {
        char name[256];
        rkts[i] = rd_kafka_topic_new(rk, topic_name(name, topic, i, topic_count), NULL);
        if (!rkts[i])
            die("out of memory");
    }
    struct rng rng;
    rng_init(&rng, 1);
    for (int64_t i = 0; i < messages; i++) {
        fill(&rng, value, bytes);
        rd_kafka_topic_t *rkt = rkts[i / partitions % topic_count];
        while (rd_kafka_produce(rkt, (int32_t)(i % partitions), RD_KAFKA_MSG_F_COPY, value, bytes,
                                NULL, 0, NULL)) {
            if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
                die("%s", rd_kafka_err2str(rd_kafka_last_error()));
            rd_kafka_poll(rk, 10);
        }
        rd_kafka_poll(rk, 0);
    }
    if (rd_kafka_flush(rk, 60000))
        die("the topic could not be filled within a minute");
    free(value);
    for (int64_t i = 0; i < topic_count; i++)
        rd_kafka_topic_destroy(rkts[i]);
    free(rkts);
    rd_kafka_destroy(rk);
    return 0;
}
