/* zkconsumer mirror: kafka-mirror-maker. Copies the topics of one cluster to another, at least
 * once.
 *
 * Happy path: a member of a group takes messages and hands them to librdkafka; now and then it
 * stops taking, waits until the target has acknowledged everything, and only then commits what was
 * taken. So an offset is never committed before its message is there; a crash, a rebalance or a
 * lost partition makes messages come twice. (Kafka 0.8's tool commits by a timer and loses what is
 * in its queues, KAFKA-1650.)
 *
 * A message that the target refuses, or that cannot be read, ends it: going on would lose it. */
#include "zkconsumer/cli/clock.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/consume_plan.h"
#include "zkconsumer/cli/file.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/producer.h"
#include "zkconsumer/cli/producer_brokers.h"
#include "zkconsumer/cli/property_option.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/stop.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/base/properties.h"
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CONSUMER_CONFIG,
    PRODUCER_CONFIG,
    ZOOKEEPER,
    GROUP,
    TO_BROKERS,
    TO_ZOOKEEPER,
    WHITELIST,
    BLACKLIST,
    STREAMS,
    QUEUE,
    COMMIT_INTERVAL,
    IGNORED,
    IGNORED_FLAGS,
    PROPERTY,
    QUIET,
    VERBOSE,
    HELP,
    OPTIONS
};

static const struct cli_option options[OPTIONS] = {
    [CONSUMER_CONFIG] = {"consumer.config consumer-config", 'F', "FILE", false,
                         "A properties file for the source: zookeeper.connect, group.id ... One; "
                         "start another mirror for another source."},
    [PRODUCER_CONFIG] = {"producer.config producer-config", 0, "FILE", false,
                         "A properties file for the target: metadata.broker.list or "
                         "bootstrap.servers (or zookeeper.connect), and librdkafka's settings. "
                         "What only Java's producers have is left out, and told."},
    [ZOOKEEPER] = {"zookeeper zkconnect zookeeper.connect", 0, "HOST:PORT[,...][/CHROOT]", false,
                   "The source's ZooKeeper servers; overrides the file."},
    [GROUP] = {"group group.id", 'G', "GROUP", false, "The group; overrides the file."},
    [TO_BROKERS] = {"to-broker-list", 0, "HOST:PORT[,...]", false, "The target's brokers."},
    [TO_ZOOKEEPER] = {"to-zookeeper", 0, "HOST:PORT[,...][/CHROOT]", false,
                      "The target's ZooKeeper servers, which know its brokers and their age."},
    [WHITELIST] = {"whitelist", 0, "REGEX", false,
                   "The topics, a Java regular expression for whole names."},
    [BLACKLIST] = {"blacklist", 0, "REGEX", false, "All topics but those."},
    [STREAMS] = {"num.streams", 0, "N", false,
                 "How many shares of the group this process takes. Default: 1."},
    [QUEUE] = {"queue.size", 0, "N", false,
               "At most so many messages on their way to the target. Default: 10000."},
    [COMMIT_INTERVAL] = {"offset.commit.interval.ms", 0, "MS", false,
                         "Wait for acknowledgements and commit so often. Default: 5000."},
    [IGNORED] = {"num.producers", 0, "N", false, "Kafka's; one is enough here."},
    [IGNORED_FLAGS] = {"new.producer", 0, NULL, false, "Kafka's; without effect here."},
    [PROPERTY] = {"property", 'X', "KEY=VALUE", true, "A setting of the consumer."},
    [QUIET] = OPTION_QUIET,
    [VERBOSE] = OPTION_VERBOSE,
    [HELP] = OPTION_HELP,
};

#define FILE_BYTES_MAX ((size_t)16 << 20)
#define ASK_MS         30000
#define COMMIT_MS      30000
#define STOP_FLUSH_MS  20000 /* how long a stop waits for the target */
#define CLOSE_MS       20000
#define TAKE_MS        100

struct plan {
    zkc_conf *source;        /* owned */
    rd_kafka_conf_t *target; /* owned until a producer has it */
    struct zkc_filter filter;
    char *to_brokers, *to_zookeeper; /* owned */
    bool keeps_dialect;
    int64_t queue, commit_interval_ms;
};

/* What is to be committed of a partition. */
struct reached {
    char *topic; /* owned */
    int32_t partition;
    int64_t next; /* -1: nothing since the last commit */
};

struct mirror {
    const struct plan *plan;
    zkc_consumer *consumer;
    struct producer *producer;
    struct reached *reached; /* owned */
    size_t reached_count;
    struct reached *last;      /* the one found last; NULL: none */
    atomic_bool is_rebalanced; /* by the loop's thread: what was reached is to be read again */
    int64_t commit_ms;         /* when the next commit is due */
    int64_t copied;
    struct zkc_message in_hand; /* the one taken last */
    enum cli_exit code;
};

/* ---- settings ---- */

struct target_file {
    struct plan *plan;
    const char *path;
};

static bool keep(char **field, const char *value)
{
    free(*field);
    *field = strdup(value);
    return *field != NULL;
}

static enum zkc_err take_target(const struct property *p, void *user)
{
    struct target_file *file = user;
    struct plan *plan = file->plan;
    char where[300];
    snprintf(where, sizeof where, "%s, line %zu", file->path, p->line);
    if (strcmp(p->key, "metadata.broker.list") == 0 || strcmp(p->key, "bootstrap.servers") == 0)
        return keep(&plan->to_brokers, p->value) ? ZKC_OK : ZKC_ERR_NOMEM;
    if (strcmp(p->key, "zookeeper.connect") == 0)
        return keep(&plan->to_zookeeper, p->value) ? ZKC_OK : ZKC_ERR_NOMEM;
    if (strcmp(p->key, "broker.version.fallback") == 0 ||
        strcmp(p->key, "api.version.request") == 0)
        plan->keeps_dialect = true;
    if (producer_conf_is_javas(p->key)) {
        report_status("%s: %s is a setting of Java's producers; it is left out", where, p->key);
        return ZKC_OK;
    }
    return producer_conf_set(plan->target, where, p->key, p->value) ? ZKC_OK : ZKC_ERR_CONFIG;
}

static bool read_target(struct plan *plan, const struct cli_args *args)
{
    const char *path = cli_args_text(args, PRODUCER_CONFIG, NULL);
    char queue[24];
    struct buf text;
    struct why why;
    snprintf(queue, sizeof queue, "%" PRId64, plan->queue);
    plan->target = rd_kafka_conf_new();
    /* For ever: who gives up a message loses it. One request at a time keeps the order. */
    if (!producer_conf_set(plan->target, "default", "message.timeout.ms", "0") ||
        !producer_conf_set(plan->target, "default", "message.send.max.retries", "2147483647") ||
        !producer_conf_set(plan->target, "default", "max.in.flight.requests.per.connection", "1") ||
        !producer_conf_set(plan->target, "--queue.size", "queue.buffering.max.messages", queue))
        return false;
    buf_init(&text, FILE_BYTES_MAX);
    bool ok = true;
    if (path) {
        struct target_file file = {plan, path};
        why_clear(&why);
        ok = read_whole_file(path, &text, &why) &&
             properties_parse(buf_bytes(&text), take_target, &file, &why) == ZKC_OK;
        if (!ok && why.text[0])
            report_error("%s: %s", path, why.text);
    }
    buf_deinit(&text);
    const char *brokers = cli_args_text(args, TO_BROKERS, NULL);
    const char *zookeeper = cli_args_text(args, TO_ZOOKEEPER, NULL);
    if ((brokers && !keep(&plan->to_brokers, brokers)) ||
        (zookeeper && !keep(&plan->to_zookeeper, zookeeper)))
        return false;
    if (!ok || plan->to_brokers || plan->to_zookeeper)
        return ok;
    report_error("whereto? --producer.config with metadata.broker.list, --to-broker-list or "
                 "--to-zookeeper");
    return false;
}

static bool set_property(const char *key, const char *value, void *conf)
{
    return consume_conf_set(conf, "--property", key, value);
}

static bool read_source(struct plan *plan, const struct cli_args *args)
{
    const char *path = cli_args_text(args, CONSUMER_CONFIG, NULL);
    char why[512];
    plan->source = consume_conf_new();
    if (!plan->source)
        return false;
    if (path && zkc_conf_load(plan->source, path, why, sizeof why) != ZKC_OK) {
        report_error("%s", why);
        return false;
    }
    if (!names_check_groups(args, GROUP) || !names_check_filter(&plan->filter) ||
        !consume_conf_set(plan->source, "--zookeeper", "zookeeper.connect",
                          cli_args_text(args, ZOOKEEPER, NULL)) ||
        !consume_conf_set(plan->source, "--group", "group.id", cli_args_text(args, GROUP, NULL)) ||
        !property_option_each(args, PROPERTY, set_property, plan->source) ||
        !consume_conf_set(plan->source, "mirror", "auto.commit.enable", "false"))
        return false;
    if (zkc_conf_get(plan->source, "zookeeper.connect") && zkc_conf_get(plan->source, "group.id"))
        return true;
    report_error("from where? --consumer.config with zookeeper.connect and group.id, or "
                 "--zookeeper and --group");
    return false;
}

static bool read_plan(struct plan *plan, const struct cli_args *args)
{
    char text[256];
    int64_t streams = 1;
    const char *white = cli_args_text(args, WHITELIST, NULL);
    const char *black = cli_args_text(args, BLACKLIST, NULL);
    *plan = (struct plan){.queue = 10000, .commit_interval_ms = 5000};
    if (!report_takes_no_operands(args))
        return false;
    if ((white == NULL) == (black == NULL)) {
        report_error("Exactly one of whitelist or blacklist is required.");
        return false;
    }
    if (!cli_args_number(args, STREAMS, 1, WHERE_STREAMS_MAX, &streams, text, sizeof text) ||
        !cli_args_number(args, QUEUE, 1, 10000000, &plan->queue, text, sizeof text) ||
        !cli_args_number(args, COMMIT_INTERVAL, 1, INT32_MAX, &plan->commit_interval_ms, text,
                         sizeof text)) {
        report_error("%s", text);
        return false;
    }
    plan->filter = (struct zkc_filter){white ? ZKC_FILTER_WHITELIST : ZKC_FILTER_BLACKLIST,
                                       white ? white : black, (int32_t)streams};
    return read_source(plan, args) && read_target(plan, args);
}

static void plan_deinit(struct plan *plan)
{
    zkc_conf_free(plan->source);
    if (plan->target)
        rd_kafka_conf_destroy(plan->target);
    free(plan->to_brokers);
    free(plan->to_zookeeper);
}

static enum cli_exit find_target(struct plan *plan)
{
    if (plan->to_brokers)
        return producer_brokers_by_list(plan->target, plan->to_brokers, plan->keeps_dialect);
    return producer_brokers_by_zookeeper(plan->target, plan->to_zookeeper, NULL,
                                         plan->keeps_dialect, ASK_MS);
}

/* ---- what was reached ---- */

static struct reached *find_reached(struct mirror *m, const char *topic, int32_t partition)
{
    if (m->last && m->last->partition == partition && strcmp(m->last->topic, topic) == 0)
        return m->last;
    for (size_t i = 0; i < m->reached_count; i++)
        if (m->reached[i].partition == partition && strcmp(m->reached[i].topic, topic) == 0)
            return m->last = &m->reached[i];
    return NULL;
}

static bool note(struct mirror *m, const char *topic, int32_t partition, int64_t next)
{
    struct reached *r = find_reached(m, topic, partition);
    if (!r) {
        struct reached *grown = realloc(m->reached, (m->reached_count + 1) * sizeof *grown);
        char *copy = grown ? strdup(topic) : NULL;
        if (grown)
            m->reached = grown;
        m->last = NULL;
        if (!copy)
            return false;
        r = &m->reached[m->reached_count++];
        *r = (struct reached){.topic = copy, .partition = partition};
    }
    r->next = next;
    return true;
}

/* After a rebalance partitions begin where they were committed: what was reached before is no
 * reason to commit beyond what another member may have done since. */
static void forget_reached(struct mirror *m)
{
    for (size_t i = 0; i < m->reached_count; i++)
        m->reached[i].next = -1;
}

/* ---- commits ---- */

static void take_worse(struct mirror *m, enum cli_exit code)
{
    if (m->code == CLI_DONE)
        m->code = code;
}

/* Everything is acknowledged, or a stop has waited long enough. */
static bool flush(struct mirror *m)
{
    int64_t give_up_ms = INT64_MAX;
    while (!producer_flush(m->producer, TAKE_MS)) {
        if (producer_counts(m->producer).failed > 0)
            return false;
        if (stop_is_requested() && give_up_ms == INT64_MAX)
            give_up_ms = clock_now_ms() + STOP_FLUSH_MS;
        if (clock_now_ms() >= give_up_ms) {
            report_error("the target acknowledges nothing: what was taken last is not committed");
            take_worse(m, CLI_TIMED_OUT);
            return false;
        }
    }
    return producer_counts(m->producer).failed == 0;
}

static void commit_one(struct mirror *m, struct reached *r)
{
    struct zkc_position position = {r->topic, r->partition, r->next};
    enum zkc_err err = zkc_consumer_commit_wait(m->consumer, &position, 1, COMMIT_MS);
    r->next = -1;
    if (err == ZKC_ERR_NOT_OWNED)
        report_status("[%s,%" PRId32 "] is not ours any more: its last messages will be copied "
                      "again",
                      r->topic, r->partition);
    else if (err)
        report_warning("[%s,%" PRId32 "] could not be committed: %s", r->topic, r->partition,
                       zkc_err_text(err));
}

/* Where a partition starts of which nothing has come yet: committed as well, or a group that is
 * away when its first message comes would not get it (auto.offset.reset=largest). */
static void note_start(const struct zkc_owned *owned, void *user)
{
    struct mirror *m = user;
    int64_t position = -1;
    if (!find_reached(m, owned->topic, owned->partition) &&
        zkc_consumer_position(m->consumer, owned->topic, owned->partition, &position) == ZKC_OK &&
        position >= 0)
        (void)note(m, owned->topic, owned->partition, position); /* without memory: next time */
}

/* False: it is time to end. */
static bool checkpoint(struct mirror *m)
{
    if (!flush(m)) {
        if (producer_counts(m->producer).failed > 0) {
            report_error("the target has refused a message: nothing from it on is committed");
            take_worse(m, CLI_FAILED);
        }
        return false;
    }
    if (atomic_exchange(&m->is_rebalanced, false))
        forget_reached(m);
    enum zkc_err err = zkc_consumer_owned(m->consumer, note_start, m);
    for (size_t i = 0; !err && i < m->reached_count; i++)
        if (m->reached[i].next >= 0)
            commit_one(m, &m->reached[i]);
    m->commit_ms = clock_now_ms() + m->plan->commit_interval_ms;
    return true;
}

/* ---- copying ---- */

static bool copy(struct mirror *m, const struct zkc_message *message)
{
    struct bytes key = message->key ? bytes_of(message->key, message->key_len) : BYTES_NULL;
    struct bytes value = message->value ? bytes_of(message->value, message->value_len) : BYTES_NULL;
    if (message->err) {
        report_error("[%s,%" PRId32 "] at offset %" PRId64 ": %.*s; it is not passed over",
                     message->topic, message->partition, message->offset, (int)message->value_len,
                     message->value ? (const char *)message->value : "");
        take_worse(m, CLI_FAILED);
        return false;
    }
    while (!producer_try_send(m->producer, message->topic, key, value, (uint64_t)m->copied + 1)) {
        if (stop_is_requested())
            return false; /* not handed over: not committed */
        producer_flush(m->producer, 10);
    }
    m->copied++;
    if (note(m, message->topic, message->partition, message->offset + 1))
        return true;
    report_error("out of memory");
    take_worse(m, CLI_FAILED);
    return false;
}

static bool take(struct mirror *m)
{
    struct zkc_message message;
    if (atomic_exchange(&m->is_rebalanced, false))
        forget_reached(m);
    enum zkc_err err = zkc_consumer_next(m->consumer, TAKE_MS, &message);
    m->in_hand = err ? (struct zkc_message){0} : message;
    if (err && err != ZKC_ERR_TIMED_OUT) {
        report_error("%s", zkc_err_text(err));
        take_worse(m, report_exit_of(err));
        return false;
    }
    if (!err && !copy(m, &message))
        return false;
    if (err || m->copied % 256 == 0)
        producer_poll(m->producer);
    return clock_now_ms() < m->commit_ms || checkpoint(m);
}

static void on_rebalance(zkc_consumer *consumer, enum zkc_rebalance_kind kind,
                         struct zkc_owned *list, size_t count, void *user)
{
    struct mirror *m = user;
    (void)consumer;
    (void)list;
    report_status("%s: %zu partitions",
                  kind == ZKC_REBALANCE_ASSIGN   ? "assigned"
                  : kind == ZKC_REBALANCE_REVOKE ? "revoked"
                                                 : "lost",
                  count);
    if (kind != ZKC_REBALANCE_ASSIGN)
        atomic_store(&m->is_rebalanced, true);
}

static enum cli_exit fail(enum zkc_err err, const char *why)
{
    report_error("%s", why);
    return report_exit_of(err);
}

/* Until the first rebalance is over. */
static enum cli_exit join(struct mirror *m)
{
    enum zkc_err err = zkc_consumer_subscribe_filter(m->consumer, &m->plan->filter);
    while (!err && !stop_is_requested()) {
        err = zkc_consumer_wait(m->consumer, TAKE_MS);
        if (err != ZKC_ERR_TIMED_OUT)
            break;
        err = ZKC_OK;
    }
    return err ? fail(err, zkc_err_text(err)) : CLI_DONE;
}

static void run_mirror(struct mirror *m)
{
    m->code = join(m);
    m->commit_ms = clock_now_ms() + m->plan->commit_interval_ms;
    while (m->code == CLI_DONE && !stop_is_requested() && take(m))
        ;
    if (m->code == CLI_DONE)
        checkpoint(m);
    if (m->in_hand.claim) /* commits nothing by itself: closing need not wait for it */
        (void)zkc_message_acknowledge(&m->in_hand);
    if (zkc_consumer_close_wait(m->consumer, CLOSE_MS) != ZKC_OK)
        take_worse(m, CLI_TIMED_OUT);
    report_status("%" PRId64 " messages copied", m->copied);
}

static enum cli_exit mirror(struct plan *plan)
{
    struct mirror m = {.plan = plan, .code = CLI_FAILED};
    zkc_loop *loop = NULL;
    struct why why;
    char text[512];
    m.producer = producer_open_take(plan->target, NULL, RD_KAFKA_PARTITION_UA, "message", &why);
    plan->target = NULL;
    if (!m.producer) {
        report_error("%s", why.text);
        return CLI_FAILED;
    }
    zkc_conf_set_user(plan->source, &m);
    zkc_conf_set_on_rebalance(plan->source, on_rebalance);
    enum zkc_err err = zkc_loop_open(NULL, &loop);
    if (err)
        m.code = fail(err, zkc_err_text(err));
    else if ((err = zkc_consumer_open(plan->source, loop, &m.consumer, text, sizeof text)))
        m.code = fail(err, text);
    else
        run_mirror(&m);
    zkc_consumer_free(m.consumer);
    zkc_loop_close(loop);
    producer_close(m.producer);
    for (size_t i = 0; i < m.reached_count; i++)
        free(m.reached[i].topic);
    free(m.reached);
    return m.code;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct plan plan;
    enum cli_exit code = CLI_FAILED;
    report_set_level_by(args, QUIET, VERBOSE);
    if (read_plan(&plan, args) && stop_init() && (code = find_target(&plan)) == CLI_DONE)
        code = mirror(&plan);
    plan_deinit(&plan);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer mirror -G mirror --whitelist='.*' --zookeeper=zk1:2181/kafka "
     "--to-broker-list=far1:9092",
     "Every topic, to another cluster."},
    {"kafka-mirror-maker --consumer.config from.properties --producer.config to.properties "
     "--whitelist 'orders|clicks'",
     "As Kafka's tool."},
};
static const struct cli_pair exits[] = {
    {"0", "ended by Ctrl-C, with everything acknowledged and committed"},
    {"1", "usage, a message that cannot be read, or that the target refuses"},
    {"3", "ZooKeeper or the target could not be reached at the start"},
    {"4", "ended without the target's acknowledgement, or without ZooKeeper's answer"},
};

const struct cli_command command_mirror = {
    .name = "mirror",
    .kafka = "kafka-mirror-maker kafka.tools.MirrorMaker",
    .summary = "Copy topics to another cluster, at least once",
    .synopsis = "--whitelist|--blacklist=REGEX --consumer.config=FILE --producer.config=FILE "
                "[OPTION ...]\n"
                "--whitelist|--blacklist=REGEX --group=GROUP "
                "--zookeeper=HOST:PORT[,...][/CHROOT] --to-broker-list=HOST:PORT[,...] "
                "[OPTION ...]",
    .description =
        "Keys, values and topics stay what they are; the partition is chosen anew, by the key. "
        "Offsets are committed only after the target has acknowledged their messages: nothing is "
        "lost, and after a crash or a rebalance the messages since the last commit are copied "
        "again. A target that is away is waited for. A message that cannot be read, or that the "
        "target refuses (it is too large, for example), ends the program with nothing from there "
        "on committed.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
