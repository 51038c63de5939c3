/* zkconsumer perf consume: kafka-consumer-perf-test. A member of a group with a thread for each
 * stream, which does nothing with messages but count them. */
#include "zkconsumer/cli/clock.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/conf_keys.h"
#include "zkconsumer/cli/consume_plan.h"
#include "zkconsumer/cli/group_traces.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/perf.h"
#include "zkconsumer/cli/property_option.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/stop.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    ZOOKEEPER,
    TOPIC,
    GROUP,
    MESSAGES,
    THREADS,
    FETCHERS,
    FETCH_SIZE,
    SOCKET_BUFFER,
    FROM_LATEST,
    INTERVAL,
    DETAILED,
    HIDE_HEADER,
    SILENCE,
    PROPERTY,
    DATE_FORMAT,
    IGNORED,
    QUIET,
    VERBOSE,
    HELP,
    OPTIONS
};

static const struct cli_option options[OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TOPIC] = {"topic", 't', "TOPIC", false, "The topic."},
    [GROUP] = {"group", 'G', "GROUP", false,
               "The group. It is deleted first, unless it has members. Default: "
               "perf-consumer-<number>, which is deleted at the end, too."},
    [MESSAGES] = {"messages", 'c', "N", false, "For each thread. Default: all that come."},
    [THREADS] = {"threads", 0, "N", false, "Streams, with a thread each. Default: 10."},
    [FETCHERS] = {"num-fetch-threads", 0, "N", false,
                  "num.consumer.fetchers: connections to each broker. Default: 1."},
    [FETCH_SIZE] = {"fetch-size", 0, "BYTES", false, "fetch.message.max.bytes. Default: 1048576."},
    [SOCKET_BUFFER] = {"socket-buffer-size", 0, "BYTES", false,
                       "socket.receive.buffer.bytes. Default: 2097152."},
    [FROM_LATEST] = {"from-latest", 0, NULL, false, "Start at the end. Default: at the beginning."},
    [INTERVAL] = {"reporting-interval", 0, "N", false,
                  "With --show-detailed-stats: a line for so many messages of a thread. Default: "
                  "5000."},
    [DETAILED] = {"show-detailed-stats", 0, NULL, false, "A line now and then for each thread."},
    [HIDE_HEADER] = {"hide-header", 0, NULL, false, "The numbers only."},
    [SILENCE] = {"timeout-ms consumer.timeout.ms", 0, "MS", false,
                 "End when no message has come for so long. Default: 5000."},
    [PROPERTY] = {"property", 'X', "KEY=VALUE", true, "A setting of the consumer."},
    [DATE_FORMAT] = {"date-format", 0, "PATTERN", false,
                     "How times are written, as for Java's SimpleDateFormat, in numbers. "
                     "Default: " PERF_DATE_FORMAT "."},
    [IGNORED] = {"batch-size compression-codec message-size", 0, "VALUE", true,
                 "Kafka's; without effect here, which is said."},
    [QUIET] = OPTION_QUIET,
    [VERBOSE] = OPTION_VERBOSE,
    [HELP] = OPTION_HELP,
};

#define THREADS_MAX 1000
#define SLICE_MS    50 /* how late a thread sees that it is to end */
#define CLOSE_MS    20000
#define ASK_MS      10000

struct perf {
    zkc_conf *conf; /* owned */
    const char *topic;
    const char *date_format;
    char group[ZK_NAME_MAX + 1];
    bool is_throwaway, hides_header, shows_details;
    int64_t messages, threads, interval, silence_ms;
    int64_t fetch_bytes;
    int64_t start_ms;
    pthread_mutex_t output_lock; /* of `out` */
    struct output out;
    atomic_int_least64_t total, bytes, last_ms;
    atomic_bool is_over;
};

struct thread {
    struct perf *perf;
    zkc_stream *stream;
    int number;
    pthread_t id;
    bool is_started;
    int64_t messages, bytes;
    int64_t told_messages, told_bytes, told_ms; /* when the last detailed line was written */
};

/* ---- lines ---- */

/* Kafka's detailed lines have the thread as a field that its header does not name. */
static void tell_details(struct thread *t, int64_t now)
{
    struct perf *p = t->perf;
    char time[PERF_TIME_SIZE];
    double seconds = perf_seconds(t->told_ms, now);
    perf_format_time(now, p->date_format, time);
    pthread_mutex_lock(&p->output_lock);
    buf_appendf(&p->out.buf, "%s, %d, %" PRId64 ", %.4f, %.4f, %" PRId64 ", %.4f\n", time,
                t->number, p->fetch_bytes, (double)t->bytes / PERF_MB,
                (double)(t->bytes - t->told_bytes) / PERF_MB / seconds, t->messages,
                (double)(t->messages - t->told_messages) / seconds);
    output_flush(&p->out);
    pthread_mutex_unlock(&p->output_lock);
    t->told_messages = t->messages;
    t->told_bytes = t->bytes;
    t->told_ms = now;
}

static void append_header(struct perf *p)
{
    if (p->hides_header)
        return;
    buf_append_text(&p->out.buf, p->shows_details
                                     ? "time, fetch.size, data.consumed.in.MB, MB.sec, "
                                       "data.consumed.in.nMsg, nMsg.sec\n"
                                     : "start.time, end.time, fetch.size, data.consumed.in.MB, "
                                       "MB.sec, data.consumed.in.nMsg, nMsg.sec\n");
    output_flush(&p->out);
}

/* Until the last message: Kafka's tool always takes five seconds off, whether it waited or not. */
static void append_totals(struct perf *p)
{
    char start[PERF_TIME_SIZE], end[PERF_TIME_SIZE];
    int64_t end_ms = p->last_ms ? p->last_ms : clock_wall_ms();
    double seconds = perf_seconds(p->start_ms, end_ms), mb = (double)p->bytes / PERF_MB;
    if (p->shows_details)
        return;
    perf_format_time(p->start_ms, p->date_format, start);
    perf_format_time(end_ms, p->date_format, end);
    buf_appendf(&p->out.buf, "%s, %s, %" PRId64 ", %.4f, %.4f, %" PRId64 ", %.4f\n", start, end,
                p->fetch_bytes, mb, mb / seconds, (int64_t)p->total, (double)p->total / seconds);
}

/* ---- threads ---- */

static void take(struct thread *t, const struct zkc_message *m)
{
    struct perf *p = t->perf;
    if (m->err) {
        report_warning("[%s,%" PRId32 "] at offset %" PRId64 ": %.*s", m->topic, m->partition,
                       m->offset, (int)m->value_len, m->value ? (const char *)m->value : "");
        return;
    }
    t->messages++;
    t->bytes += (int64_t)m->value_len;
    atomic_fetch_add(&p->total, 1);
    atomic_fetch_add(&p->bytes, (int64_t)m->value_len);
    if (t->messages % 64 == 0) /* the clock costs more than a message */
        atomic_store(&p->last_ms, clock_wall_ms());
    if (p->shows_details && t->messages % p->interval == 0)
        tell_details(t, clock_wall_ms());
}

static void *take_all(void *user)
{
    struct thread *t = user;
    struct perf *p = t->perf;
    struct zkc_message m, in_hand = {0};
    bool is_fresh = false; /* something came since the clock was looked at */
    while (!atomic_load(&p->is_over) && t->messages < p->messages) {
        enum zkc_err err = zkc_stream_next(t->stream, is_fresh ? 0 : SLICE_MS, &m);
        in_hand.claim = NULL;
        if (err == ZKC_OK) {
            take(t, &m);
            in_hand = m;
            is_fresh = true;
        } else if (err != ZKC_ERR_TIMED_OUT) {
            break;
        } else if (is_fresh) {
            atomic_store(&p->last_ms, clock_wall_ms());
            is_fresh = false;
        }
    }
    if (in_hand.claim) /* nobody asks for the next one: closing would wait for it */
        (void)zkc_message_acknowledge(&in_hand);
    if (is_fresh)
        atomic_store(&p->last_ms, clock_wall_ms());
    if (p->shows_details && t->messages > t->told_messages)
        tell_details(t, clock_wall_ms());
    return NULL;
}

/* Signals are the main thread's. */
static bool start_threads(struct perf *p, zkc_consumer *consumer, struct thread *list)
{
    for (int i = 0; i < p->threads; i++) {
        list[i] = (struct thread){.perf = p,
                                  .number = i,
                                  .told_ms = p->start_ms,
                                  .stream = zkc_consumer_stream(consumer, p->topic, i)};
        list[i].is_started =
            list[i].stream && pthread_create(&list[i].id, NULL, take_all, &list[i]) == 0;
        if (!list[i].is_started) {
            report_error("no thread to be had (ulimit -u)");
            return false;
        }
    }
    return true;
}

static bool all_have_enough(const struct perf *p)
{
    return p->messages != INT64_MAX && p->total >= p->messages * p->threads;
}

static void wait_for_end(struct perf *p)
{
    struct timespec pause = {0, SLICE_MS * 1000000};
    while (!stop_is_requested() && !all_have_enough(p)) {
        int64_t last = p->last_ms ? p->last_ms : p->start_ms;
        if (clock_wall_ms() - last >= p->silence_ms)
            return;
        nanosleep(&pause, NULL);
    }
}

/* ---- settings ---- */

static bool set_property(const char *key, const char *value, void *conf)
{
    return consume_conf_set(conf, "--property", key, value);
}

static bool read_group(struct perf *p, const struct cli_args *args)
{
    uint32_t random = 0;
    const char *group = cli_args_text(args, GROUP, NULL);
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = (uint32_t)clock_wall_ms();
    p->is_throwaway = group == NULL;
    snprintf(p->group, sizeof p->group, "%s", group ? group : "");
    if (p->is_throwaway)
        snprintf(p->group, sizeof p->group, "perf-consumer-%" PRIu32, random % 100000);
    return names_check_group(p->group);
}

static bool read_numbers(struct perf *p, const struct cli_args *args)
{
    char text[256];
    if (cli_args_number(args, MESSAGES, 1, INT64_MAX, &p->messages, text, sizeof text) &&
        cli_args_number(args, THREADS, 1, THREADS_MAX, &p->threads, text, sizeof text) &&
        cli_args_number(args, INTERVAL, 1, INT64_MAX, &p->interval, text, sizeof text) &&
        cli_args_number(args, FETCH_SIZE, 1, INT32_MAX, &p->fetch_bytes, text, sizeof text) &&
        cli_args_number(args, SILENCE, 1, INT32_MAX, &p->silence_ms, text, sizeof text))
        return true;
    report_error("%s", text);
    return false;
}

static bool read_plan(struct perf *p, const struct cli_args *args)
{
    static const char example[] = "zkconsumer perf consume -t orders " EXAMPLE_ZOOKEEPER;
    if (!report_needs(args, ZOOKEEPER, example) || !report_needs(args, TOPIC, example) ||
        !report_takes_no_operands(args) || !read_numbers(p, args) || !read_group(p, args))
        return false;
    p->topic = cli_args_text(args, TOPIC, "");
    if (!names_check_topic(p->topic))
        return false;
    p->date_format = cli_args_text(args, DATE_FORMAT, PERF_DATE_FORMAT);
    if (!perf_check_date_format(p->date_format))
        return false;
    if (cli_args_has(args, IGNORED))
        report_warning("--batch-size, --compression-codec and --message-size have no effect here");
    p->hides_header = cli_args_has(args, HIDE_HEADER);
    p->shows_details = cli_args_has(args, DETAILED);
    p->conf = consume_conf_new();
    if (!p->conf)
        return false;
    return consume_conf_set(p->conf, "--zookeeper", "zookeeper.connect",
                            cli_args_text(args, ZOOKEEPER, "")) &&
           consume_conf_set(p->conf, "--group", "group.id", p->group) &&
           consume_conf_set(p->conf, "--from-latest", "auto.offset.reset",
                            cli_args_has(args, FROM_LATEST) ? "largest" : "smallest") &&
           consume_conf_set(p->conf, "--fetch-size", "fetch.message.max.bytes",
                            cli_args_text(args, FETCH_SIZE, "1048576")) &&
           consume_conf_set(p->conf, "--socket-buffer-size", "socket.receive.buffer.bytes",
                            cli_args_text(args, SOCKET_BUFFER, "2097152")) &&
           consume_conf_set(p->conf, "--num-fetch-threads", "num.consumer.fetchers",
                            cli_args_text(args, FETCHERS, "1")) &&
           property_option_each(args, PROPERTY, set_property, p->conf);
}

/* ---- running ---- */

static enum cli_exit fail(enum zkc_err err, const char *why)
{
    report_error("%s", why);
    return report_exit_of(err);
}

/* The group's own nodes: before, so that it begins anew, and after, if it was made up. */
static enum cli_exit delete_group(struct perf *p)
{
    struct group_traces traces;
    struct why why;
    enum group_traces_use use =
        p->is_throwaway ? GROUP_TRACES_DELETE : GROUP_TRACES_DELETE_AND_TELL;
    enum zkc_err err = group_traces_look(p->conf, p->group, use, ASK_MS, &traces, &why);
    if (err)
        return fail(err, why.text);
    if (traces.member_count == 0)
        return CLI_DONE;
    report_error("group %s has %zu members: it is not deleted", p->group, traces.member_count);
    return CLI_FAILED;
}

static enum cli_exit measure_with(struct perf *p, zkc_consumer *consumer)
{
    struct zkc_subscription topic = {p->topic, (int32_t)p->threads};
    struct thread *threads = calloc((size_t)p->threads, sizeof *threads);
    enum zkc_err err = threads ? zkc_consumer_subscribe(consumer, &topic, 1) : ZKC_ERR_NOMEM;
    while (!err && !stop_is_requested()) {
        err = zkc_consumer_wait(consumer, 100);
        if (err != ZKC_ERR_TIMED_OUT)
            break;
        err = ZKC_OK;
    }
    enum cli_exit code = err ? fail(err, zkc_err_text(err)) : CLI_DONE;
    p->start_ms = clock_wall_ms();
    if (!err && !start_threads(p, consumer, threads))
        code = CLI_FAILED;
    if (code == CLI_DONE)
        wait_for_end(p);
    atomic_store(&p->is_over, true);
    for (int i = 0; threads && i < p->threads; i++)
        if (threads[i].is_started)
            pthread_join(threads[i].id, NULL);
    free(threads);
    if (zkc_consumer_close_wait(consumer, CLOSE_MS) != ZKC_OK && code == CLI_DONE)
        code = CLI_TIMED_OUT;
    return code;
}

static enum cli_exit measure(struct perf *p)
{
    zkc_loop *loop;
    zkc_consumer *consumer;
    char why[512];
    enum cli_exit code = delete_group(p);
    if (code != CLI_DONE)
        return code;
    enum zkc_err err = zkc_loop_open(NULL, &loop);
    if (err)
        return fail(err, zkc_err_text(err));
    err = zkc_consumer_open(p->conf, loop, &consumer, why, sizeof why);
    if (err) {
        code = fail(err, why);
    } else {
        append_header(p);
        code = measure_with(p, consumer);
        append_totals(p);
        zkc_consumer_free(consumer);
    }
    zkc_loop_close(loop);
    if (p->is_throwaway && code == CLI_DONE)
        code = delete_group(p);
    return code;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct perf p = {.messages = INT64_MAX,
                     .threads = 10,
                     .interval = 5000,
                     .fetch_bytes = 1048576,
                     .silence_ms = 5000};
    enum cli_exit code = CLI_FAILED;
    report_set_level_by(args, QUIET, VERBOSE);
    pthread_mutex_init(&p.output_lock, NULL);
    output_init(&p.out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    if (read_plan(&p, args) && stop_init())
        code = measure(&p);
    enum cli_exit written = output_finish(&p.out);
    zkc_conf_free(p.conf);
    output_deinit(&p.out);
    pthread_mutex_destroy(&p.output_lock);
    return code == CLI_DONE ? written : code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer perf consume -t orders --threads=1 " EXAMPLE_ZOOKEEPER, "All that is there."},
    {"kafka-consumer-perf-test --zookeeper zk1:2181/kafka --topic orders --messages 1000000 "
     "--threads 1 --hide-header",
     "As Kafka's tool."},
};
static const struct cli_pair exits[] = {
    {"0", "measured, however much came"},
    {"1", "usage, the group has members, or the first rebalance was given up"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "left without ZooKeeper's answer"},
};

const struct cli_command command_perf_consume = {
    .name = "perf consume",
    .kafka = "kafka-consumer-perf-test kafka.tools.ConsumerPerformance",
    .summary = "Measure how fast messages can be read",
    .synopsis = "--topic=TOPIC --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description =
        "Joins a group, counts messages and the bytes of their values until none comes any more, "
        "and prints Kafka's line of numbers. The time is from the end of the first rebalance to "
        "the last message; Kafka's tool takes five seconds off whatever happened, which can make "
        "its rates negative.",
    .options = options,
    .option_count = OPTIONS,
    .keys_each = conf_keys_of_consumer,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
