/* zkconsumer mirror: kafka-mirror-maker. Copies the topics of other clusters to one, at least once.
 *
 * Happy path, for each source on a thread of its own with producers of its own: a member of a group
 * takes messages and hands them to librdkafka; now and then it stops taking, waits until the target
 * has acknowledged everything, and only then commits what was taken. So an offset is never
 * committed before its message is there; a crash, a rebalance or a lost partition makes messages
 * come twice. (Kafka 0.8's tool commits by a timer and loses what is in its queues, KAFKA-1650.)
 *
 * A message that the target refuses, or that cannot be read, ends it: going on would lose it. What
 * ends one source ends all, in order (KAFKA-1719). The consumers share a loop. */
#include "zkconsumer/cli/clock.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/conf_keys.h"
#include "zkconsumer/cli/consume_plan.h"
#include "zkconsumer/cli/metrics_server.h"
#include "zkconsumer/cli/mirror_plan.h"
#include "zkconsumer/cli/producer.h"
#include "zkconsumer/cli/producer_brokers.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/stop.h"
#include "zkconsumer/core/base/array.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define ASK_MS        30000
#define COMMIT_MS     30000
#define STOP_FLUSH_MS 20000 /* how long a stop waits for the target */
#define CLOSE_MS      20000
#define TAKE_MS       100

/* What is to be committed of a partition. */
struct reached {
    char *topic; /* owned */
    int32_t partition;
    int64_t next; /* -1: nothing since the last commit */
};

/* One source. Its thread has all of it, but for what is marked. */
struct mirror {
    const struct mirror_plan *plan;
    const struct mirror_source *source;
    char *label;            /* in front of what is told; "": there is one source */
    atomic_bool *is_ending; /* shared: one of them has ended */
    pthread_t thread;
    struct metrics_source *metrics; /* NULL: they are not served */
    zkc_consumer *consumer;
    struct producer **producers; /* owned; plan->producers of them, NULL where they are not yet */
    struct reached *reached;     /* owned */
    size_t reached_count;
    struct reached *last;      /* the one found last; NULL: none */
    atomic_bool is_rebalanced; /* by the loop's thread: what was reached is to be read again */
    int64_t commit_ms;         /* when the next commit is due */
    int64_t copied;
    struct zkc_message in_hand; /* the one taken last */
    enum cli_exit code;
};

static enum cli_exit find_target(struct mirror_plan *plan)
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

/* ---- producers ---- */

static struct producer_counts count_all(const struct mirror *m)
{
    struct producer_counts all = {0};
    for (int64_t i = 0; i < m->plan->producers; i++) {
        struct producer_counts one = producer_counts(m->producers[i]);
        all.sent += one.sent;
        all.delivered += one.delivered;
        all.failed += one.failed;
    }
    return all;
}

static uint64_t count_failed(const struct mirror *m)
{
    return count_all(m).failed;
}

/* The target has refused a message, and that is to be the end. */
static bool is_refused(const struct mirror *m)
{
    return !m->plan->goes_on && count_failed(m) > 0;
}

/* True when nothing is under way any more. */
static bool flush_all(struct mirror *m, int wait_ms)
{
    bool is_done = true;
    for (int64_t i = 0; i < m->plan->producers; i++)
        is_done = producer_flush(m->producers[i], is_done ? wait_ms : 0) && is_done;
    return is_done;
}

static void poll_all(struct mirror *m)
{
    for (int64_t i = 0; i < m->plan->producers; i++)
        producer_poll(m->producers[i]);
}

static void tell_metrics(struct mirror *m)
{
    struct producer_counts all = count_all(m);
    metrics_source_set_mirrored(m->metrics, all.sent, all.delivered, all.failed);
}

/* What has to stay in its order goes through one producer: messages with the same key, and those of
 * one partition that have none. */
static struct producer *producer_of(const struct mirror *m, const struct zkc_message *message)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    const uint8_t *key = message->key;
    if (!key)
        return m->producers[message->partition % m->plan->producers];
    for (size_t i = 0; i < message->key_len; i++)
        hash = (hash ^ key[i]) * 16777619U;
    return m->producers[hash % (uint64_t)m->plan->producers];
}

/* ---- commits ---- */

static void take_worse(struct mirror *m, enum cli_exit code)
{
    if (m->code == CLI_DONE)
        m->code = code;
}

static bool is_to_end(const struct mirror *m)
{
    return stop_is_requested() || atomic_load(m->is_ending);
}

/* Everything is acknowledged, or a stop has waited long enough. */
static bool flush(struct mirror *m)
{
    int64_t give_up_ms = INT64_MAX;
    while (!flush_all(m, TAKE_MS)) {
        if (is_refused(m))
            return false;
        if (is_to_end(m) && give_up_ms == INT64_MAX)
            give_up_ms = clock_now_ms() + STOP_FLUSH_MS;
        if (clock_now_ms() >= give_up_ms) {
            report_error("%sthe target acknowledges nothing: what was taken last is not committed",
                         m->label);
            take_worse(m, CLI_TIMED_OUT);
            return false;
        }
    }
    return !is_refused(m);
}

static void commit_one(struct mirror *m, struct reached *r)
{
    struct zkc_position position = {r->topic, r->partition, r->next};
    enum zkc_err err = zkc_consumer_commit_wait(m->consumer, &position, 1, COMMIT_MS);
    r->next = -1;
    if (err == ZKC_ERR_NOT_OWNED)
        report_status("%s[%s,%" PRId32 "] is not ours any more: its last messages will be copied "
                      "again",
                      m->label, r->topic, r->partition);
    else if (err)
        report_warning("%s[%s,%" PRId32 "] could not be committed: %s", m->label, r->topic,
                       r->partition, zkc_err_text(err));
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
        if (is_refused(m)) {
            report_error("%sthe target has refused a message: nothing from it on is committed",
                         m->label);
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
        report_error("%s[%s,%" PRId32 "] at offset %" PRId64 ": %.*s; it is not passed over",
                     m->label, message->topic, message->partition, message->offset,
                     (int)message->value_len, message->value ? (const char *)message->value : "");
        take_worse(m, CLI_FAILED);
        return false;
    }
    struct producer *producer = producer_of(m, message);
    while (!producer_try_send(producer, message->topic, key, value, (uint64_t)m->copied + 1)) {
        if (is_to_end(m))
            return false; /* not handed over: not committed */
        producer_flush(producer, 10);
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
        report_error("%s%s", m->label, zkc_err_text(err));
        take_worse(m, report_exit_of(err));
        return false;
    }
    if (!err && !copy(m, &message))
        return false;
    if (err || m->copied % 256 == 0) {
        poll_all(m);
        tell_metrics(m);
    }
    return clock_now_ms() < m->commit_ms || checkpoint(m);
}

static void on_rebalance(zkc_consumer *consumer, enum zkc_rebalance_kind kind,
                         struct zkc_owned *list, size_t count, void *user)
{
    struct mirror *m = user;
    (void)consumer;
    (void)list;
    metrics_source_count_partitions(m->metrics, kind, count);
    report_status("%s%s: %zu partitions", m->label,
                  kind == ZKC_REBALANCE_ASSIGN   ? "assigned"
                  : kind == ZKC_REBALANCE_REVOKE ? "revoked"
                                                 : "lost",
                  count);
    if (kind != ZKC_REBALANCE_ASSIGN)
        atomic_store(&m->is_rebalanced, true);
}

static void on_error(zkc_consumer *consumer, enum zkc_err err, const char *text, void *user)
{
    const struct mirror *m = user;
    char labelled[1024];
    metrics_source_count_error(m->metrics);
    snprintf(labelled, sizeof labelled, "%s%s", m->label, text);
    consume_error(consumer, err, labelled, user);
}

static void on_stats(zkc_consumer *consumer, const char *json, size_t len, void *user)
{
    (void)consumer;
    metrics_source_take_statistics(((const struct mirror *)user)->metrics, json, len);
}

static void on_log(zkc_consumer *consumer, int level, const char *facility, const char *text,
                   void *user)
{
    char labelled[1024];
    snprintf(labelled, sizeof labelled, "%s%s", ((const struct mirror *)user)->label, text);
    consume_log(consumer, level, facility, labelled, user);
}

static enum cli_exit fail(const struct mirror *m, enum zkc_err err, const char *why)
{
    report_error("%s%s", m->label, why);
    return report_exit_of(err);
}

/* Until the first rebalance is over. */
static enum cli_exit join(struct mirror *m)
{
    enum zkc_err err = zkc_consumer_subscribe_filter(m->consumer, &m->plan->filter);
    while (!err && !is_to_end(m)) {
        err = zkc_consumer_wait(m->consumer, TAKE_MS);
        if (err != ZKC_ERR_TIMED_OUT)
            break;
        err = ZKC_OK;
    }
    return err ? fail(m, err, zkc_err_text(err)) : CLI_DONE;
}

static void *run_source(void *arg)
{
    struct mirror *m = arg;
    m->code = join(m);
    m->commit_ms = clock_now_ms() + m->plan->commit_interval_ms;
    while (m->code == CLI_DONE && !is_to_end(m) && take(m))
        ;
    if (m->code == CLI_DONE)
        checkpoint(m);
    atomic_store(m->is_ending, true); /* the others do not go on alone */
    if (m->in_hand.claim)             /* commits nothing by itself: closing need not wait for it */
        (void)zkc_message_acknowledge(&m->in_hand);
    if (zkc_consumer_close_wait(m->consumer, CLOSE_MS) != ZKC_OK)
        take_worse(m, CLI_TIMED_OUT);
    report_status("%s%" PRId64 " messages copied", m->label, m->copied);
    if (m->plan->goes_on && count_failed(m) > 0) {
        report_error("%s%" PRIu64 " of them were not delivered: the target refused them", m->label,
                     count_failed(m));
        take_worse(m, CLI_PROBLEM);
    }
    return NULL;
}

/* ---- all of them ---- */

struct mirrors {
    struct mirror *list; /* owned; one for each source */
    size_t count;
    zkc_loop *loop;
    struct metrics_server *metrics; /* NULL: none */
    atomic_bool is_ending;
};

static bool open_producers(struct mirror *m)
{
    struct why why;
    m->producers = calloc((size_t)m->plan->producers, sizeof(struct producer *));
    why_set(&why, "out of memory");
    for (int64_t i = 0; m->producers && i < m->plan->producers; i++) {
        rd_kafka_conf_t *conf = rd_kafka_conf_dup(m->plan->target);
        m->producers[i] = producer_open_take(conf, NULL, RD_KAFKA_PARTITION_UA, "message", &why);
        if (!m->producers[i])
            break;
    }
    if (m->producers && m->producers[m->plan->producers - 1])
        return true;
    report_error("%s", why.text);
    return false;
}

/* "zk1:2181/kafka, group mirror: " */
static char *make_label(const struct mirror_source *source)
{
    char label[1024];
    snprintf(label, sizeof label, "%.700s, group %.255s: ", source->zookeeper, source->group);
    return strdup(label);
}

static enum cli_exit open_source(struct mirrors *all, struct mirror *m)
{
    char text[512];
    m->label = m->plan->source_count > 1 ? make_label(m->source) : strdup("");
    if (!m->label)
        return fail(&(struct mirror){.label = ""}, ZKC_ERR_NOMEM, "out of memory");
    if (!open_producers(m))
        return CLI_FAILED;
    zkc_conf *conf = m->source->conf;
    zkc_conf_set_user(conf, m);
    zkc_conf_set_on_rebalance(conf, on_rebalance);
    zkc_conf_set_on_error(conf, on_error);
    zkc_conf_set_on_log(conf, on_log);
    if (m->metrics)
        zkc_conf_set_on_stats(conf, on_stats);
    enum zkc_err err = zkc_consumer_open(conf, all->loop, &m->consumer, text, sizeof text);
    return err ? fail(m, err, text) : CLI_DONE;
}

static void close_source(struct mirror *m)
{
    zkc_consumer_free(m->consumer);
    for (int64_t i = 0; m->producers && i < m->plan->producers; i++)
        producer_close(m->producers[i]);
    free(m->producers);
    for (size_t i = 0; i < m->reached_count; i++)
        free(m->reached[i].topic);
    free(m->reached);
    free(m->label);
}

/* The worst end of any. */
static enum cli_exit run_all(struct mirrors *all)
{
    enum cli_exit code = CLI_DONE;
    size_t started = 0;
    while (started < all->count &&
           pthread_create(&all->list[started].thread, NULL, run_source, &all->list[started]) == 0)
        started++;
    if (started < all->count) {
        report_error("no thread to be had (ulimit -u)");
        atomic_store(&all->is_ending, true);
        code = CLI_FAILED;
    }
    for (size_t i = 0; i < started; i++) {
        pthread_join(all->list[i].thread, NULL);
        code = code == CLI_DONE ? all->list[i].code : code;
    }
    return code;
}

/* A source is named GROUP@ZOOKEEPER. */
static bool open_metrics(const struct mirror_plan *plan, struct metrics_server **out)
{
    struct metrics_from *from = calloc(plan->source_count, sizeof *from);
    char(*names)[1024] = calloc(plan->source_count, sizeof *names);
    struct why why;
    why_set(&why, "out of memory");
    for (size_t i = 0; from && names && i < plan->source_count; i++) {
        const struct mirror_source *source = &plan->sources[i];
        snprintf(names[i], sizeof names[i], "%.255s@%.700s", source->group, source->zookeeper);
        from[i] = (struct metrics_from){names[i], source->zookeeper,
                                        zkc_conf_get(source->conf, "zookeeper.auth")};
    }
    bool ok =
        from && names && metrics_server_open(plan->metrics, from, plan->source_count, out, &why);
    if (ok)
        report_status("Metrics at %s", metrics_server_url(*out));
    else
        report_error("--metrics: %s", why.text);
    free(names);
    free(from);
    return ok;
}

static enum cli_exit mirror(const struct mirror_plan *plan)
{
    struct mirrors all = {.list = calloc(plan->source_count, sizeof *all.list),
                          .count = plan->source_count};
    enum cli_exit code = CLI_DONE;
    enum zkc_err err = all.list ? zkc_loop_open(NULL, &all.loop) : ZKC_ERR_NOMEM;
    if (err) {
        report_error("%s", zkc_err_text(err));
        code = report_exit_of(err);
    }
    if (code == CLI_DONE && plan->metrics && !open_metrics(plan, &all.metrics))
        code = CLI_FAILED;
    for (size_t i = 0; i < all.count && code == CLI_DONE; i++) {
        all.list[i].plan = plan;
        all.list[i].metrics = metrics_server_source(all.metrics, i);
        all.list[i].source = &plan->sources[i];
        all.list[i].is_ending = &all.is_ending;
        code = open_source(&all, &all.list[i]);
    }
    if (code == CLI_DONE)
        code = run_all(&all);
    for (size_t i = 0; all.list && i < all.count && all.list[i].plan; i++)
        close_source(&all.list[i]);
    zkc_loop_close(all.loop);
    metrics_server_close(all.metrics);
    free(all.list);
    return code;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct mirror_plan plan;
    enum cli_exit code = CLI_FAILED;
    mirror_plan_set_level(args);
    if (mirror_plan_init(&plan, args) && stop_init() && (code = find_target(&plan)) == CLI_DONE)
        code = mirror(&plan);
    mirror_plan_deinit(&plan);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer mirror -G mirror --whitelist='.*' --zookeeper=zk1:2181/kafka "
     "--to-broker-list=far1:9092",
     "Every topic, to another cluster."},
    {"kafka-mirror-maker --consumer.config east.properties --consumer.config west.properties "
     "--producer.config to.properties --whitelist 'orders|clicks'",
     "As Kafka's tool, from two clusters."},
};
static const struct cli_pair exits[] = {
    {"0", "ended by Ctrl-C, with everything acknowledged and committed"},
    {"1", "usage, a message that cannot be read, or that the target refuses"},
    {"2", "with --abort.on.send.failure=false: the target refused messages"},
    {"3", "ZooKeeper or the target could not be reached at the start"},
    {"4", "ended without the target's acknowledgement, or without ZooKeeper's answer"},
};

const struct cli_command command_mirror = {
    .name = "mirror",
    .kafka = "kafka-mirror-maker kafka.tools.MirrorMaker",
    .summary = "Copy topics of other clusters to one, at least once",
    .synopsis = "--whitelist|--blacklist=REGEX --consumer.config=FILE ... "
                "--producer.config=FILE [OPTION ...]\n"
                "--whitelist|--blacklist=REGEX --group=GROUP "
                "--zookeeper=HOST:PORT[,...][/CHROOT] --to-broker-list=HOST:PORT[,...] "
                "[OPTION ...]",
    .description =
        "Keys, values and topics stay what they are; the partition is chosen anew, by the key. "
        "Offsets are committed only after the target has acknowledged their messages: nothing is "
        "lost, and after a crash or a rebalance the messages since the last commit are copied "
        "again. A target that is away is waited for. A message that cannot be read, or that the "
        "target refuses (it is too large, for example), ends the program with nothing from there "
        "on committed, unless --abort.on.send.failure=false.\n"
        "Each --consumer.config is a source: a cluster and a group. They are copied side by side, "
        "each with producers and commits of its own; what ends one ends all of them, in order. "
        "Topics of one name in several sources become one topic.",
    .options = mirror_options,
    .option_count = MIRROR_OPTIONS,
    .keys_each = conf_keys_of_consumer,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
