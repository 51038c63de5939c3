/* zkconsumer produce: lines of stdin to a topic, by librdkafka.
 *
 * Happy path: brokers are found in ZooKeeper, librdkafka is told what the oldest of them speaks,
 * lines are handed over as they come in, and at the end of the input every line's acknowledgement
 * is waited for. A line is delivered, or counted as failed and named: nothing is lost silently.
 *
 * One thread. It sleeps in poll() for input, for librdkafka's reports (through a pipe that
 * librdkafka writes to) and for a signal. */
#include "zkconsumer/cli/clock.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/conf_keys.h"
#include "zkconsumer/cli/file.h"
#include "zkconsumer/cli/format.h"
#include "zkconsumer/cli/lines.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/producer.h"
#include "zkconsumer/cli/producer_brokers.h"
#include "zkconsumer/cli/property_option.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/stop.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/base/properties.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    TOPIC,
    ZOOKEEPER,
    BROKERS,
    ACKS,
    BATCH,
    SYNC,
    PARTITION,
    KEY_SEPARATOR,
    LINE_SEPARATOR,
    NULLS,
    COMPRESSION,
    CONFIG,
    PROPERTY,
    TIMEOUT,
    QUIET,
    VERBOSE,
    HELP,
    OPTIONS
};

static const struct cli_option options[OPTIONS] = {
    [TOPIC] = {"topic", 't', "TOPIC", false, "The topic to write to."},
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [BROKERS] = {"broker-list bootstrap-server", 'b', "HOST:PORT[,...]", false,
                 "The brokers, instead of --zookeeper. Those that do not say what they speak are "
                 "taken for 0.8.2."},
    [ACKS] = {"request-required-acks acks", 0, "N", false,
              "How many replicas must have a message: -1 all in sync, 1 the leader, 0 nobody says. "
              "Default: -1."},
    [BATCH] = {"batch-size", 0, "N", false, "At most so many messages in one request."},
    [SYNC] = {"sync", 0, NULL, false, "One message at a time (--batch-size=1)."},
    [PARTITION] = {"partition", 'p', "N", false,
                   "Write to this partition. Default: by the hash of the key (librdkafka's "
                   "`partitioner`), at random without a key."},
    [KEY_SEPARATOR] =
        {"key-separator", 'K', "TEXT", false,
         "A line is a key, this separator, and a value; \\t, \\xNN and the like may be "
         "used. A line without it ends the program. Default: lines are values "
         "without keys."},
    [LINE_SEPARATOR] = {"line-separator delimiter", 'D', "TEXT", false,
                        "What separates messages in the input. Default: \\n."},
    [NULLS] = {"null", 'Z', NULL, false,
               "An empty value is sent as null (a tombstone). Default: as an empty value."},
    [COMPRESSION] = {"compression compression-codec", 'z', "CODEC", false,
                     "none, gzip, snappy or lz4. Default: none."},
    [CONFIG] = {"config producer.config producer-config", 'F', "FILE", false,
                "A properties file with librdkafka's settings, and zookeeper.connect."},
    [PROPERTY] =
        {"property producer-property", 'X', "KEY=VALUE", true,
         "A setting of librdkafka; overrides the file. Known from Kafka's console producer "
         "are parse.key and key.separator."},
    [TIMEOUT] = {"timeout", 0, "MS", false,
                 "How long ZooKeeper may take, and how long to keep trying to deliver a line "
                 "(librdkafka's message.timeout.ms). Default: 30000."},
    [QUIET] = OPTION_QUIET,
    [VERBOSE] = OPTION_VERBOSE,
    [HELP] = OPTION_HELP,
};

#define EXAMPLE "zkconsumer produce --topic=orders " EXAMPLE_ZOOKEEPER

#define READ_BYTES       (64 * 1024)
#define RECORD_BYTES_MAX ((size_t)1 << 30)
#define FILE_BYTES_MAX   ((size_t)16 << 20)
#define PROGRESS_MS      5000

/* A setting of the file or of --property, in order. */
struct setting {
    char *key, *value; /* owned */
    char where[300];   /* for messages */
};

struct separator {
    uint8_t room[256];
    struct bytes text; /* null: none */
};

struct plan {
    const char *topic;
    int64_t partition; /* -1: by key */
    int64_t timeout_ms;
    struct separator key, line;
    bool sends_nulls;
    struct setting *settings; /* owned */
    size_t setting_count;
    const char *connect;     /* zookeeper.connect; NULL with a list */
    const char *broker_list; /* NULL: by ZooKeeper */
    rd_kafka_conf_t *conf;   /* owned until a producer has it */
};

/* ---- settings ---- */

static bool set_separator(struct separator *s, const char *where, const char *text)
{
    size_t at;
    size_t len = strlen(text) <= sizeof s->room ? format_unescape(text, s->room, &at) : 0;
    if (len == SIZE_MAX)
        report_error("%s: unknown escape in \"%s\" at position %zu", where, text, at + 1);
    else if (len == 0)
        report_error("%s: a separator has 1 to %zu characters", where, sizeof s->room);
    s->text = bytes_of(s->room, len);
    return len > 0 && len != SIZE_MAX;
}

static bool keep_setting(struct plan *plan, const char *key, const char *value, const char *where)
{
    struct setting *list = realloc(plan->settings, (plan->setting_count + 1) * sizeof *list);
    if (!list) {
        report_error("out of memory");
        return false;
    }
    plan->settings = list;
    struct setting *s = &list[plan->setting_count];
    *s = (struct setting){.key = strdup(key), .value = strdup(value)};
    snprintf(s->where, sizeof s->where, "%s", where);
    plan->setting_count++;
    return s->key && s->value;
}

static const char *find_setting(const struct plan *plan, const char *key)
{
    const char *value = NULL;
    for (size_t i = 0; i < plan->setting_count; i++)
        if (strcmp(plan->settings[i].key, key) == 0)
            value = plan->settings[i].value; /* the last one counts */
    return value;
}

struct file {
    struct plan *plan;
    const char *path;
};

static enum zkc_err on_property(const struct property *property, void *user)
{
    struct file *file = user;
    char where[300];
    snprintf(where, sizeof where, "%s, line %zu", file->path, property->line);
    return keep_setting(file->plan, property->key, property->value, where) ? ZKC_OK : ZKC_ERR_NOMEM;
}

static bool read_file(struct plan *plan, const char *path)
{
    struct buf text;
    struct why why;
    buf_init(&text, FILE_BYTES_MAX);
    bool ok = read_whole_file(path, &text, &why);
    if (ok) {
        struct file file = {plan, path};
        ok = properties_parse(buf_bytes(&text), on_property, &file, &why) == ZKC_OK;
    }
    buf_deinit(&text);
    if (!ok && why.text[0])
        report_error("%s: %s", path, why.text);
    return ok;
}

static bool keep_property(const char *key, const char *value, void *plan)
{
    return keep_setting(plan, key, value, "--property");
}

static bool read_settings(struct plan *plan, const struct cli_args *args)
{
    const char *path = cli_args_text(args, CONFIG, NULL);
    if (path && !read_file(plan, path))
        return false;
    return property_option_each(args, PROPERTY, keep_property, plan);
}

/* Ours, and those of Kafka's console producer; the rest is librdkafka's. */
static bool is_for_us(const char *key)
{
    static const char *const keys[] = {"zookeeper.connect", "parse.key", "key.separator"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static bool set_conf(struct plan *plan, const char *where, const char *key, const char *value)
{
    if (strcmp(key, "bootstrap.servers") == 0 || strcmp(key, "metadata.broker.list") == 0) {
        report_error("%s: %s: the brokers are found through ZooKeeper (--zookeeper), or named by "
                     "--broker-list",
                     where, key);
        return false;
    }
    return producer_conf_set(plan->conf, where, key, value);
}

/* What we want unless the user wants something else. One request at a time to each broker keeps
 * lines in order when one of them has to be sent again. */
static bool set_defaults(struct plan *plan)
{
    char timeout[32];
    snprintf(timeout, sizeof timeout, "%" PRId64, plan->timeout_ms);
    return set_conf(plan, "default", "client.id", "zkconsumer") &&
           set_conf(plan, "default", "max.in.flight.requests.per.connection", "1") &&
           set_conf(plan, "default", "queue.buffering.max.kbytes", "131072") &&
           set_conf(plan, "default", "message.timeout.ms", timeout);
}

static bool make_conf(struct plan *plan, const struct cli_args *args)
{
    const char *compression = cli_args_text(args, COMPRESSION, NULL);
    plan->conf = rd_kafka_conf_new();
    if (!set_defaults(plan))
        return false;
    for (size_t k = 0; k < plan->setting_count; k++) {
        const struct setting *s = &plan->settings[k];
        if (!is_for_us(s->key) && !set_conf(plan, s->where, s->key, s->value))
            return false;
    }
    const char *acks = cli_args_text(args, ACKS, NULL);
    const char *batch = cli_args_text(args, BATCH, cli_args_has(args, SYNC) ? "1" : NULL);
    return (!compression || set_conf(plan, "--compression", "compression.codec", compression)) &&
           (!acks || set_conf(plan, "--request-required-acks", "request.required.acks", acks)) &&
           (!batch || set_conf(plan, "--batch-size", "batch.num.messages", batch));
}

static bool read_separators(struct plan *plan, const struct cli_args *args)
{
    const char *key = cli_args_text(args, KEY_SEPARATOR, NULL);
    const char *parse_key = find_setting(plan, "parse.key");
    if (!key && parse_key && strcmp(parse_key, "true") == 0) {
        key = find_setting(plan, "key.separator");
        key = key ? key : "\t"; /* Kafka's default */
    }
    return (!key || set_separator(&plan->key, "--key-separator", key)) &&
           set_separator(&plan->line, "--line-separator",
                         cli_args_text(args, LINE_SEPARATOR, "\\n"));
}

static bool read_plan(struct plan *plan, const struct cli_args *args)
{
    char text[256];
    *plan = (struct plan){
        .topic = cli_args_text(args, TOPIC, ""),
        .partition = RD_KAFKA_PARTITION_UA,
        .timeout_ms = OPTION_TIMEOUT_DEFAULT_MS,
        .sends_nulls = cli_args_has(args, NULLS),
    };
    if (!report_needs(args, TOPIC, EXAMPLE) || !report_takes_no_operands(args))
        return false;
    if (!cli_args_number(args, PARTITION, 0, INT32_MAX, &plan->partition, text, sizeof text) ||
        !cli_args_number(args, TIMEOUT, 1, INT32_MAX, &plan->timeout_ms, text, sizeof text)) {
        report_error("%s", text);
        return false;
    }
    if (!names_check_topic(plan->topic))
        return false;
    if (!read_settings(plan, args) || !read_separators(plan, args) || !make_conf(plan, args))
        return false;
    plan->broker_list = cli_args_text(args, BROKERS, NULL);
    plan->connect = cli_args_text(args, ZOOKEEPER, find_setting(plan, "zookeeper.connect"));
    return plan->broker_list || plan->connect || report_needs(args, ZOOKEEPER, EXAMPLE);
}

static void plan_deinit(struct plan *plan)
{
    for (size_t i = 0; i < plan->setting_count; i++) {
        free(plan->settings[i].key);
        free(plan->settings[i].value);
    }
    free(plan->settings);
    if (plan->conf)
        rd_kafka_conf_destroy(plan->conf);
}

/* ---- brokers ---- */

static enum cli_exit find_brokers(struct plan *plan)
{
    bool keeps_dialect =
        find_setting(plan, "api.version.request") || find_setting(plan, "broker.version.fallback");
    if (plan->broker_list)
        return producer_brokers_by_list(plan->conf, plan->broker_list, keeps_dialect);
    return producer_brokers_by_zookeeper(plan->conf, plan->connect, plan->topic, keeps_dialect,
                                         plan->timeout_ms);
}

/* ---- lines ---- */

struct session {
    const struct plan *plan;
    struct producer *producer;
    struct lines lines;
    uint64_t line;       /* number of the last one read */
    bool has_failed;     /* the input is not what was said: nothing more is read */
    int64_t progress_ms; /* when to say next how far it is */
};

static void report_counts(struct session *s)
{
    struct producer_counts c = producer_counts(s->producer);
    report_status("%" PRIu64 " lines read, %" PRIu64 " delivered, %" PRIu64 " not delivered",
                  s->line, c.delivered, c.failed);
}

static void report_progress(struct session *s)
{
    int64_t now = clock_now_ms();
    if (now < s->progress_ms)
        return;
    s->progress_ms = now + PROGRESS_MS;
    report_counts(s);
}

static bool send_line(struct session *s, struct bytes record)
{
    struct bytes key = BYTES_NULL, value = record;
    s->line++;
    if (s->plan->key.text.data && !lines_split_key(record, s->plan->key.text, &key, &value)) {
        report_error("line %" PRIu64 " has no key separator; it and what follows is not sent",
                     s->line);
        s->line--;
        return false;
    }
    if (value.len == 0 && s->plan->sends_nulls)
        value = BYTES_NULL;
    producer_send(s->producer, key, value, s->line);
    return true;
}

/* False: the input has ended, or is not to be read any further. */
static bool read_some(struct session *s)
{
    struct bytes record;
    uint8_t *room = lines_reserve(&s->lines, READ_BYTES);
    ssize_t n = room ? read(STDIN_FILENO, room, READ_BYTES) : -1;
    if (n < 0 && room && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n < 0) {
        report_error("stdin, after line %" PRIu64 ": %s", s->line,
                     room ? strerror(errno) : "a line is too long, or memory is out");
        s->has_failed = true;
        return false;
    }
    lines_add(&s->lines, (size_t)n);
    while (!s->has_failed &&
           (lines_next(&s->lines, &record) || (n == 0 && lines_rest(&s->lines, &record))))
        s->has_failed = !send_line(s, record);
    return n > 0 && !s->has_failed;
}

static void read_all(struct session *s)
{
    struct pollfd fds[] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = producer_fd(s->producer), .events = POLLIN},
        {.fd = stop_fd(), .events = POLLIN},
    };
    for (;;) {
        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            return;
        if (stop_is_requested()) {
            report_status("stopping: lines that were read are still delivered");
            return;
        }
        if (fds[1].revents)
            producer_poll(s->producer);
        if (fds[0].revents && !read_some(s))
            return;
        report_progress(s);
    }
}

static enum cli_exit judge(const struct session *s)
{
    struct producer_counts c = producer_counts(s->producer);
    if (c.failed == 0)
        return s->has_failed ? CLI_FAILED : CLI_DONE;
    if (c.delivered > 0)
        return CLI_TIMED_OUT;
    return c.is_unreachable ? CLI_UNREACHABLE : CLI_FAILED;
}

static enum cli_exit send_all(struct plan *plan)
{
    struct why why;
    struct session s = {.plan = plan, .progress_ms = clock_now_ms() + PROGRESS_MS};
    s.producer =
        producer_open_take(plan->conf, plan->topic, (int32_t)plan->partition, "line", &why);
    plan->conf = NULL;
    if (!s.producer) {
        report_error("%s", why.text);
        return CLI_FAILED;
    }
    lines_init(&s.lines, plan->line.text, RECORD_BYTES_MAX);
    read_all(&s);
    while (!producer_flush(s.producer, 1000))
        report_progress(&s);
    report_counts(&s);
    enum cli_exit code = judge(&s);
    lines_deinit(&s.lines);
    producer_close(s.producer);
    return code;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct plan plan = {0};
    enum cli_exit code = CLI_FAILED;
    report_set_level_by(args, QUIET, VERBOSE);
    if (stop_init() && read_plan(&plan, args) && (code = find_brokers(&plan)) == CLI_DONE)
        code = send_all(&plan);
    plan_deinit(&plan);
    return code;
}

static const struct cli_pair examples[] = {
    {"echo hello | " EXAMPLE, "One message."},
    {EXAMPLE " --key-separator=: --null < prices.txt",
     "Lines such as \"apple:12\"; \"apple:\" deletes the key in a compacted topic."},
    {EXAMPLE " -z gzip -X batch.num.messages=1000 < big.log",
     "Compressed, with a setting of librdkafka."},
};

static const struct cli_pair exits[] = {
    {"0", "every line that was read was acknowledged; also after Ctrl-C"},
    {"1", "usage, configuration, a line without key, or no line could be delivered"},
    {"3", "ZooKeeper or the brokers could not be reached, nothing was delivered"},
    {"4", "some lines were delivered, others were not"},
};

const struct cli_command command_produce = {
    .name = "produce",
    .kafka = "kafka-console-producer",
    .summary = "Write lines of stdin to a topic",
    .synopsis = "--topic=TOPIC --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description =
        "Each line becomes a message, without its line end; an empty line becomes an empty "
        "message. "
        "Messages of one partition keep the order of the lines.\n"
        "The brokers, and how old they are, are found in ZooKeeper: brokers before 0.10 are spoken "
        "to "
        "in their own dialect without being asked for it. The work is librdkafka's, and --property "
        "takes its settings.\n"
        "At the end of the input (or at Ctrl-C, which ends the reading) all acknowledgements are "
        "waited for. Lines that could not be delivered are counted, and the first of them named, "
        "on "
        "stderr; a second Ctrl-C gives up at once.",
    .options = options,
    .option_count = OPTIONS,
    .keys_each = conf_keys_of_producer,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
