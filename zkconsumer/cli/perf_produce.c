/* zkconsumer perf produce: kafka-producer-perf-test. */
#include "zkconsumer/cli/clock.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/conf_keys.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/perf.h"
#include "zkconsumer/cli/producer.h"
#include "zkconsumer/cli/producer_brokers.h"
#include "zkconsumer/cli/property_option.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/stop.h"
#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    BROKERS,
    ZOOKEEPER,
    TOPICS,
    MESSAGES,
    SIZE,
    VARY,
    INITIAL_ID,
    COMPRESSION,
    BATCH,
    ACKS,
    SYNC,
    GAP,
    HIDE_HEADER,
    DETAILED,
    PROPERTY,
    DATE_FORMAT,
    IGNORED,
    IGNORED_FLAGS,
    TIMEOUT,
    QUIET,
    VERBOSE,
    HELP,
    OPTIONS
};

static const struct cli_option options[OPTIONS] = {
    [BROKERS] = OPTION_BROKERS,
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TOPICS] = {"topics topic", 't', "TOPIC[,...]", false, "The topics, in turn."},
    [MESSAGES] = {"messages", 'c', "N", false, "How many messages to send, all together."},
    [SIZE] = {"message-size", 0, "BYTES", false, "Of each value. Default: 100."},
    [VARY] = {"vary-message-size", 0, NULL, false, "Sizes from 1 to --message-size."},
    [INITIAL_ID] = {"initial-message-id", 0, "N", false,
                    "Values such as Message:0000000042:xxx, numbered from N."},
    [COMPRESSION] = {"compression-codec", 'z', "CODEC", false,
                     "0 none, 1 gzip, 2 snappy, 3 lz4, or these words. Default: 0."},
    [BATCH] = {"batch-size", 0, "N", false, "Messages in one request, at most. Default: 200."},
    [ACKS] = {"request-num-acks", 0, "N", false,
              "-1 all replicas in sync, 1 the leader, 0 none. Default: -1."},
    [SYNC] = {"sync", 0, NULL, false, "Wait for each message's acknowledgement."},
    [GAP] = {"message-send-gap-ms", 0, "MS", false, "Pause between two messages. Default: 0."},
    [HIDE_HEADER] = {"hide-header", 0, NULL, false, "The numbers only."},
    [DETAILED] = {"show-detailed-stats", 0, NULL, false, "Kafka's; it changes nothing there, too."},
    [PROPERTY] = {"property", 'X', "KEY=VALUE", true, "A setting of librdkafka."},
    [DATE_FORMAT] = {"date-format", 0, "PATTERN", false,
                     "How times are written, as for Java's SimpleDateFormat, in numbers. "
                     "Default: " PERF_DATE_FORMAT "."},
    [IGNORED] = {"threads reporting-interval producer-num-retries "
                 "producer-retry-backoff-ms request-timeout-ms metrics-dir",
                 0, "VALUE", true, "Kafka's; without effect here, which is said."},
    [IGNORED_FLAGS] = {"new-producer csv-reporter-enabled", 0, NULL, true,
                       "Kafka's; without effect here, which is said."},
    [TIMEOUT] = {"timeout", 0, "MS", false,
                 "How long ZooKeeper, and each message, may take. Default: 30000."},
    [QUIET] = OPTION_QUIET,
    [VERBOSE] = OPTION_VERBOSE,
    [HELP] = OPTION_HELP,
};

#define SIZE_MAX_BYTES  (1 << 30)
#define WORDS_BYTES_MAX ((size_t)1 << 20)

struct plan {
    struct arena words;
    const char **topics;
    const char *date_format;
    size_t topic_count;
    int64_t messages, size, first_id, batch, gap_ms, timeout_ms;
    int64_t codec;
    bool varies, is_numbered, is_sync, hides_header;
    rd_kafka_conf_t *conf; /* owned until a producer has it */
};

struct totals {
    uint64_t messages, bytes;
    int64_t start_ms, end_ms;
};

/* ---- what is wanted ---- */

static const char *const codecs[] = {"none", "gzip", "snappy", "lz4"};

static bool read_codec(struct plan *plan, const char *text)
{
    if (cli_parse_number(text, 0, ARRAY_LEN(codecs) - 1, &plan->codec))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(codecs); i++) {
        if (strcmp(text, codecs[i]) == 0) {
            plan->codec = (int64_t)i;
            return true;
        }
    }
    report_error("--compression-codec=%s: expected 0 .. 3, none, gzip, snappy or lz4", text);
    return false;
}

static bool read_topics(struct plan *plan, const char *given)
{
    struct why why;
    char *text = arena_format(&plan->words, "%s", given);
    plan->topics =
        text ? arena_alloc_array(&plan->words, strlen(text) + 1, sizeof *plan->topics) : NULL;
    if (!plan->topics)
        return false;
    for (char *rest = NULL, *t = strtok_r(text, ",", &rest); t; t = strtok_r(NULL, ",", &rest)) {
        if (zk_check_topic(t, &why)) {
            report_error("--topics: %s", why.text);
            return false;
        }
        plan->topics[plan->topic_count++] = t;
    }
    if (plan->topic_count == 0)
        report_error("--topics: none is named");
    return plan->topic_count > 0;
}

static bool set_number(struct plan *plan, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    return producer_conf_set(plan->conf, "default", key, text);
}

static bool set_property(const char *key, const char *value, void *conf)
{
    return producer_conf_set(conf, "--property", key, value);
}

static bool make_conf(struct plan *plan, const struct cli_args *args)
{
    plan->conf = rd_kafka_conf_new();
    if (!set_number(plan, "batch.num.messages", plan->batch) ||
        !set_number(plan, "message.timeout.ms", plan->timeout_ms) ||
        !producer_conf_set(plan->conf, "default", "linger.ms", plan->is_sync ? "0" : "5") ||
        !producer_conf_set(plan->conf, "--request-num-acks", "request.required.acks",
                           cli_args_text(args, ACKS, "-1")) ||
        !producer_conf_set(plan->conf, "--compression-codec", "compression.codec",
                           codecs[plan->codec]))
        return false;
    return property_option_each(args, PROPERTY, set_property, plan->conf);
}

static bool read_plan(struct plan *plan, const struct cli_args *args)
{
    static const char example[] =
        "zkconsumer perf produce -t orders --messages=100000 " EXAMPLE_BROKERS;
    char text[256];
    *plan = (struct plan){
        .size = 100,
        .batch = 200,
        .timeout_ms = OPTION_TIMEOUT_DEFAULT_MS,
        .varies = cli_args_has(args, VARY),
        .is_numbered = cli_args_has(args, INITIAL_ID),
        .is_sync = cli_args_has(args, SYNC),
        .hides_header = cli_args_has(args, HIDE_HEADER),
        .date_format = cli_args_text(args, DATE_FORMAT, PERF_DATE_FORMAT),
    };
    arena_init(&plan->words, WORDS_BYTES_MAX);
    if (cli_args_has(args, IGNORED) || cli_args_has(args, IGNORED_FLAGS))
        report_warning(
            "of Kafka's options --threads, --reporting-interval, --producer-num-retries, "
            "--producer-retry-backoff-ms, --request-timeout-ms, --metrics-dir, "
            "--new-producer and --csv-reporter-enabled have no effect here");
    if (!perf_check_date_format(plan->date_format) || !report_needs(args, TOPICS, example) ||
        !report_needs(args, MESSAGES, example) ||
        (!cli_args_has(args, ZOOKEEPER) && !report_needs(args, BROKERS, example)) ||
        !report_takes_no_operands(args))
        return false;
    if (!cli_args_number(args, MESSAGES, 1, INT64_MAX, &plan->messages, text, sizeof text) ||
        !cli_args_number(args, SIZE, 1, SIZE_MAX_BYTES, &plan->size, text, sizeof text) ||
        !cli_args_number(args, INITIAL_ID, 0, INT32_MAX, &plan->first_id, text, sizeof text) ||
        !cli_args_number(args, BATCH, 1, 1000000, &plan->batch, text, sizeof text) ||
        !cli_args_number(args, GAP, 0, INT32_MAX, &plan->gap_ms, text, sizeof text) ||
        !cli_args_number(args, TIMEOUT, 1, INT32_MAX, &plan->timeout_ms, text, sizeof text)) {
        report_error("%s", text);
        return false;
    }
    return read_codec(plan, cli_args_text(args, COMPRESSION, "0")) &&
           read_topics(plan, cli_args_text(args, TOPICS, "")) && make_conf(plan, args);
}

static enum cli_exit find_brokers(struct plan *plan, const struct cli_args *args)
{
    const char *list = cli_args_text(args, BROKERS, NULL);
    if (list)
        return producer_brokers_by_list(plan->conf, list, false);
    return producer_brokers_by_zookeeper(plan->conf, cli_args_text(args, ZOOKEEPER, ""), NULL,
                                         false, plan->timeout_ms);
}

/* ---- sending ---- */

static size_t fill(const struct plan *plan, uint64_t number, char *room)
{
    size_t len = (size_t)plan->size;
    if (plan->varies)
        len = 1 + (size_t)((number * 2654435761u) % (uint64_t)plan->size); /* scattered, the same in
                                                                            * every run */
    if (plan->is_numbered) {
        char head[64];
        int n = snprintf(head, sizeof head, "Message:%010" PRIu64 ":",
                         (uint64_t)plan->first_id + number);
        memcpy(room, head, (size_t)n < len ? (size_t)n : len);
    }
    return len;
}

static void pause_ms(int64_t ms)
{
    poll(&(struct pollfd){.fd = stop_fd(), .events = POLLIN}, 1, (int)ms);
}

static void send_all(const struct plan *plan, struct producer *p, char *room, struct totals *t)
{
    for (uint64_t i = 0; i < (uint64_t)plan->messages && !stop_is_requested(); i++) {
        size_t len = fill(plan, i, room);
        const char *topic = plan->topics[i % plan->topic_count];
        while (!producer_try_send(p, topic, BYTES_NULL, bytes_of(room, len), i + 1) &&
               !stop_is_requested())
            producer_flush(p, 10);
        t->bytes += len;
        t->messages++;
        if (plan->is_sync)
            while (!producer_flush(p, 1000) && !stop_is_requested())
                ;
        if (plan->gap_ms)
            pause_ms(plan->gap_ms);
        if (i % 100 == 0)
            producer_poll(p);
    }
}

static void append_line(const struct plan *plan, const struct totals *t, struct buf *out)
{
    char start[PERF_TIME_SIZE], end[PERF_TIME_SIZE];
    double seconds = perf_seconds(t->start_ms, t->end_ms), mb = (double)t->bytes / PERF_MB;
    perf_format_time(t->start_ms, plan->date_format, start);
    perf_format_time(t->end_ms, plan->date_format, end);
    if (!plan->hides_header)
        buf_append_text(out, "start.time, end.time, compression, message.size, batch.size, "
                             "total.data.sent.in.MB, MB.sec, total.data.sent.in.nMsg, nMsg.sec\n");
    buf_appendf(out,
                "%s, %s, %" PRId64 ", %" PRId64 ", %" PRId64 ", %.2f, %.4f, %" PRIu64 ", %.4f\n",
                start, end, plan->codec, plan->size, plan->batch, mb, mb / seconds, t->messages,
                (double)t->messages / seconds);
}

static enum cli_exit measure(struct plan *plan)
{
    struct why why;
    struct totals t = {0};
    char *room = malloc((size_t)plan->size);
    struct producer *p =
        producer_open_take(plan->conf, NULL, RD_KAFKA_PARTITION_UA, "message", &why);
    plan->conf = NULL;
    if (!p || !room) {
        report_error("%s", p ? "out of memory" : why.text);
        producer_close(p);
        free(room);
        return CLI_FAILED;
    }
    memset(room, 'x', (size_t)plan->size);
    t.start_ms = clock_wall_ms();
    send_all(plan, p, room, &t);
    while (!producer_flush(p, 1000))
        ;
    t.end_ms = clock_wall_ms();
    struct producer_counts counts = producer_counts(p);
    producer_close(p);
    free(room);
    struct output out;
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    append_line(plan, &t, &out.buf);
    enum cli_exit code = output_finish(&out);
    output_deinit(&out);
    if (counts.failed == 0)
        return code;
    report_error("%" PRIu64 " of %" PRIu64 " messages were not delivered", counts.failed,
                 counts.sent);
    return counts.delivered ? CLI_TIMED_OUT : counts.is_unreachable ? CLI_UNREACHABLE : CLI_FAILED;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct plan plan;
    enum cli_exit code = CLI_FAILED;
    report_set_level_by(args, QUIET, VERBOSE);
    if (read_plan(&plan, args) && stop_init() && (code = find_brokers(&plan, args)) == CLI_DONE)
        code = measure(&plan);
    if (plan.conf)
        rd_kafka_conf_destroy(plan.conf);
    arena_deinit(&plan.words);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer perf produce -t orders --messages=1000000 " EXAMPLE_ZOOKEEPER, "A million."},
    {"kafka-producer-perf-test --broker-list kafka1:9092 --topics orders --messages 1000000 "
     "--message-size 200 --compression-codec 2 --hide-header",
     "As Kafka's tool."},
};
static const struct cli_pair exits[] = {
    {"0", "everything was acknowledged"},
    {"1", "usage, or nothing was taken"},
    {"3", "ZooKeeper or the brokers could not be reached"},
    {"4", "some messages were not delivered"},
};

const struct cli_command command_perf_produce = {
    .name = "perf produce",
    .kafka = "kafka-producer-perf-test kafka.tools.ProducerPerformance",
    .summary = "Measure how fast messages can be written",
    .synopsis = "--topics=TOPIC,... --messages=N --broker-list=HOST:PORT[,...] [OPTION ...]\n"
                "--topics=TOPIC,... --messages=N --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description = "Sends messages by librdkafka, waits for all acknowledgements, and prints "
                   "Kafka's line of numbers; MB are 1048576 bytes of values.",
    .options = options,
    .option_count = OPTIONS,
    .keys_each = conf_keys_of_producer,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
