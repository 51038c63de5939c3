/* zkconsumer shell: kafka-simple-consumer-shell. Reads one partition from a broker, without
 * ZooKeeper and without a group.
 *
 * Happy path: metadata from the first broker that answers, the leader (or the replica asked for),
 * the start by ListOffsets, then one Fetch after the other. When the leader has moved or is lost,
 * it is looked up again, a bounded number of times in a row. */
#include "zkconsumer/cli/broker_link.h"
#include "zkconsumer/cli/cluster_ask.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/printing.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/stop.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/fetch.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include "zkconsumer/core/wire/list_offsets.h"
#include "zkconsumer/core/wire/message_set.h"
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum {
    BROKERS,
    TOPIC,
    PARTITION,
    REPLICA,
    OFFSET,
    CLIENT,
    FETCH_SIZE,
    WAIT,
    MESSAGES_MAX,
    NO_WAIT,
    PRINT_OFFSETS,
    FORMAT,
    FORMATTER,
    PROPERTY,
    SKIP,
    QUIET,
    VERBOSE,
    HELP,
    OPTIONS
};

static const struct cli_option options[OPTIONS] = {
    [BROKERS] = OPTION_BROKERS,
    [TOPIC] = {"topic", 't', "TOPIC", false, "The topic."},
    [PARTITION] = {"partition", 'p', "N", false, "The partition."},
    [REPLICA] = {"replica", 0, "N", false,
                 "Read from this broker, which has a copy; -1: from the leader. Default: -1."},
    [OFFSET] = {"offset", 'o', "N", false,
                "Where to start; -2: at the beginning of the log, -1: at its end. Default: -2."},
    [CLIENT] = {"clientId client.id", 0, "ID", false,
                "What the broker knows us by. Default: SimpleConsumerShell."},
    [FETCH_SIZE] = {"fetchsize", 0, "BYTES", false, "Of one fetch. Default: 1048576."},
    [WAIT] = {"max-wait-ms", 0, "MS", false,
              "How long the broker may wait for messages to come. Default: 1000."},
    [MESSAGES_MAX] = {"max-messages", 'c', "N", false, "End after N messages."},
    [NO_WAIT] = {"no-wait-at-logend exit-at-end", 'e', NULL, false,
                 "End at the end of the log. Default: wait for more."},
    [PRINT_OFFSETS] = {"print-offsets", 0, NULL, false,
                       "Write \"next offset = N\" in front of each message."},
    [FORMAT] = {"format", 'f', "FORMAT", false, "As in zkconsumer consume."},
    [FORMATTER] = {"formatter", 0, "CLASS", false,
                   "kafka.tools.DefaultMessageFormatter, NoOpMessageFormatter or "
                   "ChecksumMessageFormatter."},
    [PROPERTY] = {"property", 'X', "KEY=VALUE", true,
                  "Of the formatter: print.key, key.separator, line.separator, topic."},
    [SKIP] = {"skip-message-on-error", 0, NULL, false,
              "Kafka's, of formatters that fail; without effect here, which is said: no message "
              "makes ours fail."},
    [QUIET] = OPTION_QUIET,
    [VERBOSE] = OPTION_VERBOSE,
    [HELP] = OPTION_HELP,
};

#define ANSWERS_BYTES_MAX   ((size_t)1 << 30)
#define REQUEST_TIMEOUT_MS  30000
#define LOOKUPS_MAX         60 /* in a row, without a fetch that brought something */
#define LOOKUP_PAUSE_MS     500
#define REPLICA_ID_DEBUGGER (-2) /* whoever reads from a follower: Request.DebuggingConsumerId */

struct plan {
    const char *brokers, *topic, *client_id;
    int64_t partition, replica, offset, fetch_bytes, wait_ms, messages_max;
    bool ends_at_end, prints_offsets, is_kafkas;
    struct format format;
};

struct shell {
    const struct plan *plan;
    struct broker_link *link;
    struct arena arena; /* of one request */
    struct output out;
    int64_t position; /* next to read; below 0: not known yet */
    int64_t messages;
    int lookups; /* in a row */
    struct why why;
};

/* ---- options ---- */

static bool read_properties(const struct cli_args *args, struct printing *printing)
{
    char key[64];
    const char *text;
    for (size_t i = 0; (text = cli_args_value(args, PROPERTY, i)); i++) {
        size_t len = strcspn(text, "=");
        if (text[len] && len < sizeof key) {
            memcpy(key, text, len);
            key[len] = 0;
            if (printing_take(printing, key, text + len + 1))
                continue;
        }
        report_error("--property=%s: expected print.key=true, key.separator=..., "
                     "line.separator=... or topic=...",
                     text);
        return false;
    }
    return true;
}

static bool make_format(struct plan *plan, const struct cli_args *args)
{
    char why[512];
    struct printing printing = PRINTING_DEFAULT;
    const char *spec = cli_args_text(args, FORMAT, NULL);
    printing.formatter = cli_args_text(args, FORMATTER, NULL);
    if (!read_properties(args, &printing))
        return false;
    if (!spec)
        return printing_make(&printing, &plan->format);
    if (format_init(&plan->format, spec, why, sizeof why))
        return true;
    report_error("--format: %s", why);
    return false;
}

static bool read_plan(struct plan *plan, const struct cli_args *args)
{
    static const char example[] = "zkconsumer shell -t orders -p 0 " EXAMPLE_BROKERS;
    char text[256];
    *plan = (struct plan){
        .brokers = cli_args_text(args, BROKERS, ""),
        .topic = cli_args_text(args, TOPIC, ""),
        .client_id = cli_args_text(args, CLIENT, "SimpleConsumerShell"),
        .replica = -1,
        .offset = LIST_OFFSETS_EARLIEST,
        .fetch_bytes = 1048576,
        .wait_ms = 1000,
        .messages_max = -1,
        .ends_at_end = cli_args_has(args, NO_WAIT),
        .prints_offsets = cli_args_has(args, PRINT_OFFSETS),
        .is_kafkas = args->called_as != NULL,
    };
    if (cli_args_has(args, SKIP))
        report_warning(
            "--skip-message-on-error has no effect here: no message makes a formatter fail");
    if (!report_needs(args, BROKERS, example) || !report_needs(args, TOPIC, example) ||
        !report_needs(args, PARTITION, example) || !report_takes_no_operands(args))
        return false;
    if (!cli_args_number(args, PARTITION, 0, INT32_MAX, &plan->partition, text, sizeof text) ||
        !cli_args_number(args, REPLICA, -1, INT32_MAX, &plan->replica, text, sizeof text) ||
        !cli_args_number(args, OFFSET, -2, INT64_MAX, &plan->offset, text, sizeof text) ||
        !cli_args_number(args, FETCH_SIZE, 1, INT32_MAX, &plan->fetch_bytes, text, sizeof text) ||
        !cli_args_number(args, WAIT, 0, REQUEST_TIMEOUT_MS / 2, &plan->wait_ms, text,
                         sizeof text) ||
        !cli_args_number(args, MESSAGES_MAX, 1, INT64_MAX, &plan->messages_max, text,
                         sizeof text)) {
        report_error("%s", text);
        return false;
    }
    if (!names_check_topic(plan->topic))
        return false;
    return make_format(plan, args);
}

/* ---- whom to ask ---- */

static void forget_link(struct shell *s)
{
    broker_link_close(s->link);
    s->link = NULL;
}

static bool has_replica(const struct metadata_partition *p, int64_t id)
{
    for (size_t i = 0; i < p->replica_nodes_count; i++)
        if (p->replica_nodes[i] == id)
            return true;
    return false;
}

/* ZKC_ERR_INVALID: there is no such thing; ZKC_ERR_BROKER: not at the moment. */
static enum zkc_err find_broker(struct shell *s, const struct cluster *cluster,
                                const struct broker **out)
{
    const struct plan *plan = s->plan;
    int number = (int)plan->partition;
    const struct metadata_topic *topic = cluster_topic(cluster, plan->topic);
    const struct metadata_partition *p = cluster_partition(topic, number);
    if (!p) {
        why_set(&s->why, "partition %d does not exist for topic %s", number, plan->topic);
        return ZKC_ERR_INVALID;
    }
    if (plan->replica >= 0 && !has_replica(p, plan->replica)) {
        why_set(&s->why, "replica %d does not exist for partition (%s, %d)", (int)plan->replica,
                plan->topic, number);
        return ZKC_ERR_INVALID;
    }
    *out =
        brokers_find(&cluster->brokers, plan->replica >= 0 ? (int32_t)plan->replica : p->leader_id);
    if (*out && (*out)->host)
        return ZKC_OK;
    why_set(&s->why,
            plan->replica >= 0 ? "replica %d of partition (%s, %d) is not there"
                               : "there is no leader %d for partition (%s, %d)",
            plan->replica >= 0 ? (int)plan->replica : p->leader_id, plan->topic, number);
    return ZKC_ERR_BROKER;
}

static enum zkc_err connect_to_leader(struct shell *s)
{
    struct cluster cluster;
    const struct broker *broker = NULL;
    arena_clear(&s->arena);
    enum zkc_err err = cluster_ask(s->plan->brokers, s->plan->client_id, REQUEST_TIMEOUT_MS,
                                   &s->arena, &cluster, &s->why);
    if (!err)
        err = find_broker(s, &cluster, &broker);
    if (err)
        return err;
    s->link = broker_link_open(broker->host, broker->port, s->plan->client_id, REQUEST_TIMEOUT_MS);
    if (s->link)
        return ZKC_OK;
    why_set(&s->why, "no event loop to be had");
    return ZKC_ERR_SYSTEM;
}

/* ---- requests ---- */

static int32_t replica_id(const struct plan *plan)
{
    return plan->replica >= 0 ? REPLICA_ID_DEBUGGER : -1;
}

static enum zkc_err broker_error(struct shell *s, int16_t code)
{
    why_set(&s->why, "partition (%s, %d) at offset %" PRId64 ": %s (%d)", s->plan->topic,
            (int)s->plan->partition, s->position, kafka_error_name(code), code);
    switch (code) {
    case KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION:
    case KAFKA_ERR_LEADER_NOT_AVAILABLE:
    case KAFKA_ERR_NOT_LEADER_OR_FOLLOWER: return ZKC_ERR_BROKER; /* it has moved */
    case KAFKA_ERR_OFFSET_OUT_OF_RANGE: return ZKC_ERR_OFFSET_RANGE;
    default: return ZKC_ERR_INVALID;
    }
}

static void list_request(struct wire_codec *c, void *m)
{
    list_offsets_request_fields(c, m);
}
static void list_response(struct wire_codec *c, void *m)
{
    list_offsets_response_fields(c, m);
}
static void fetch_request(struct wire_codec *c, void *m)
{
    fetch_request_fields(c, m);
}
static void fetch_response(struct wire_codec *c, void *m)
{
    fetch_response_fields(c, m);
}

static enum zkc_err odd_answer(struct shell *s)
{
    why_set(&s->why, "the answer is about something else than was asked for");
    return ZKC_ERR_PROTOCOL;
}

static enum zkc_err find_start(struct shell *s)
{
    const struct plan *plan = s->plan;
    struct list_offsets_request_partition p = {(int32_t)plan->partition, plan->offset, 1};
    struct list_offsets_request_topic t = {bytes_of_text(plan->topic), &p, 1};
    struct list_offsets_request request = {replica_id(plan), &t, 1};
    struct list_offsets_response answer = {0};
    s->position = plan->offset;
    if (plan->offset >= 0)
        return ZKC_OK;
    arena_clear(&s->arena);
    enum zkc_err err = broker_link_ask(s->link, API_LIST_OFFSETS, 0, list_request, &request,
                                       list_response, &answer, &s->arena, &s->why);
    if (err)
        return err;
    if (answer.topics_count != 1 || answer.topics[0].partitions_count != 1)
        return odd_answer(s);
    const struct list_offsets_response_partition *found = &answer.topics[0].partitions[0];
    if (found->error_code)
        return broker_error(s, found->error_code);
    if (found->old_style_offsets_count == 0)
        return odd_answer(s);
    s->position = found->old_style_offsets[0];
    return ZKC_OK;
}

/* ---- messages ---- */

static void write_message(struct shell *s, const struct message_view *m, int64_t high_watermark)
{
    struct zkc_message message = {
        .topic = s->plan->topic,
        .partition = (int32_t)s->plan->partition,
        .offset = m->offset,
        .key = m->key.data,
        .key_len = m->key.len,
        .value = m->value.data,
        .value_len = m->value.len,
        .high_watermark = high_watermark,
    };
    struct format_source source = {
        .message = &message, .group = "", .member = "", .null_text = "null"};
    if (s->plan->prints_offsets)
        buf_appendf(&s->out.buf, "next offset = %" PRId64 "\n", m->offset + 1);
    format_append(&s->plan->format, &source, &s->out.buf);
    output_added(&s->out);
    s->messages++;
}

static enum zkc_err too_large(struct shell *s, size_t needed)
{
    why_set(&s->why,
            "the message at offset %" PRId64 " is larger than --fetchsize=%" PRId64
            "; it has about %zu bytes",
            s->position, s->plan->fetch_bytes, needed);
    return ZKC_ERR_TOO_LARGE;
}

static enum zkc_err write_set(struct shell *s, const struct fetch_response_partition *p)
{
    struct message_iter it;
    struct message_view m;
    struct message_iter_limits limits = {.decompressed_bytes_max = ANSWERS_BYTES_MAX};
    enum zkc_err err = ZKC_OK;
    bool is_over = false;
    message_iter_init(&it, p->records, &limits);
    while (!is_over && !err && s->messages != s->plan->messages_max &&
           s->out.state == OUTPUT_OPEN) {
        switch (message_iter_next(&it, &m)) {
        case MESSAGE_ITER_MESSAGE:
            if (m.offset < s->position)
                break; /* of a compressed set that begins before */
            write_message(s, &m, p->high_watermark);
            s->position = m.offset + 1;
            break;
        case MESSAGE_ITER_END:
        case MESSAGE_ITER_PARTIAL: is_over = true; break;
        case MESSAGE_ITER_TOO_LARGE: err = too_large(s, it.fault.size_needed); break;
        case MESSAGE_ITER_CORRUPT:
            why_set(&s->why, "at offset %" PRId64 ": %s", it.fault.offset, it.fault.reason);
            err = ZKC_ERR_CORRUPT;
            break;
        case MESSAGE_ITER_NOMEM: err = ZKC_ERR_NOMEM; break;
        }
    }
    message_iter_deinit(&it);
    return err;
}

/* *at_end: there is nothing behind the position now. */
static enum zkc_err fetch(struct shell *s, bool *at_end)
{
    const struct plan *plan = s->plan;
    struct fetch_request_partition p = {(int32_t)plan->partition, s->position,
                                        (int32_t)plan->fetch_bytes};
    struct fetch_request_topic t = {bytes_of_text(plan->topic), &p, 1};
    struct fetch_request request = {replica_id(plan), (int32_t)plan->wait_ms,
                                    plan->ends_at_end ? 0 : 1, &t, 1};
    struct fetch_response answer = {0};
    arena_clear(&s->arena);
    enum zkc_err err = broker_link_ask(s->link, API_FETCH, 0, fetch_request, &request,
                                       fetch_response, &answer, &s->arena, &s->why);
    if (err)
        return err;
    if (answer.responses_count != 1 || answer.responses[0].partitions_count != 1)
        return odd_answer(s);
    const struct fetch_response_partition *found = &answer.responses[0].partitions[0];
    if (found->error_code)
        return broker_error(s, found->error_code);
    err = write_set(s, found);
    *at_end = s->position >= found->high_watermark;
    return err;
}

/* ---- the loop ---- */

static bool may_look_again(struct shell *s, enum zkc_err err)
{
    if (err != ZKC_ERR_BROKER && err != ZKC_ERR_UNREACHABLE && err != ZKC_ERR_TIMED_OUT)
        return false;
    forget_link(s);
    if (s->position < 0 || s->lookups >= LOOKUPS_MAX)
        return false; /* it never worked, or not for too long */
    s->lookups++;
    report_status("%s; looking for the leader again", s->why.text);
    poll(&(struct pollfd){.fd = stop_fd(), .events = POLLIN}, 1, LOOKUP_PAUSE_MS);
    return true;
}

static bool is_done(const struct shell *s, bool at_end)
{
    return stop_is_requested() || s->out.state != OUTPUT_OPEN ||
           s->messages == s->plan->messages_max || (at_end && s->plan->ends_at_end);
}

static enum zkc_err read_all(struct shell *s, bool *at_end)
{
    enum zkc_err err = ZKC_OK;
    while (!is_done(s, *at_end)) {
        err = s->link ? ZKC_OK : connect_to_leader(s);
        if (!err && s->position < 0)
            err = find_start(s);
        if (!err) {
            err = fetch(s, at_end);
            output_flush(&s->out);
        }
        if (!err)
            s->lookups = 0;
        else if (!may_look_again(s, err))
            break;
    }
    return stop_is_requested() ? ZKC_OK : err;
}

static void tell_end(struct shell *s)
{
    const char *text = "Terminating. Reached the end of partition (%s, %d) at offset %" PRId64;
    char line[400];
    snprintf(line, sizeof line, text, s->plan->topic, (int)s->plan->partition, s->position);
    if (s->plan->is_kafkas)
        buf_appendf(&s->out.buf, "%s\n", line); /* where Kafka's tool says it */
    else
        report_status("%s", line);
}

static enum cli_exit read_partition(const struct plan *plan)
{
    struct shell s = {.plan = plan, .position = -1};
    bool at_end = false;
    arena_init(&s.arena, ANSWERS_BYTES_MAX);
    output_init(&s.out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    enum zkc_err err = read_all(&s, &at_end);
    if (!err && at_end && plan->ends_at_end && s.messages != plan->messages_max)
        tell_end(&s);
    enum cli_exit code = output_finish(&s.out);
    if (err) {
        report_error("%s", s.why.text[0] ? s.why.text : zkc_err_text(err));
        code = err == ZKC_ERR_OFFSET_RANGE ? CLI_PROBLEM
               : err == ZKC_ERR_BROKER     ? CLI_TIMED_OUT
                                           : report_exit_of(err);
    }
    forget_link(&s);
    output_deinit(&s.out);
    arena_deinit(&s.arena);
    return code;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct plan plan;
    enum cli_exit code = CLI_FAILED;
    report_set_level_by(args, QUIET, VERBOSE);
    if (read_plan(&plan, args) && stop_init())
        code = read_partition(&plan);
    format_deinit(&plan.format);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer shell -t orders -p 0 -e " EXAMPLE_BROKERS, "All that is in the partition."},
    {"kafka-simple-consumer-shell --broker-list kafka1:9092 --topic orders --partition 0 --offset "
     "4711 --max-messages 1 --print-offsets",
     "One message, as Kafka's tool."},
};
static const struct cli_pair exits[] = {
    {"0", "ended as told, by Ctrl-C, or the reader of stdout has gone"},
    {"1", "usage, no such topic, partition or replica, or a message that cannot be read"},
    {"2", "the offset is not in the log"},
    {"3", "no broker could be reached"},
    {"4", "the partition had no leader for too long"},
};

const struct cli_command command_shell = {
    .name = "shell",
    .kafka = "kafka-simple-consumer-shell kafka.tools.SimpleConsumerShell",
    .summary = "Read one partition straight from its broker",
    .synopsis = "--broker-list=HOST:PORT[,...] --topic=TOPIC --partition=N [OPTION ...]",
    .description =
        "Neither ZooKeeper nor a group has to do with it: for looking into a partition. Errors "
        "that a broker answers with are told, unlike by Kafka's tool, which takes them for an "
        "empty "
        "log. To read partitions of a cluster that is known by its ZooKeeper: zkconsumer consume "
        "--partition.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
