/* zkconsumer topics offsets: kafka.tools.GetOffsetShell. */
#include "zkconsumer/cli/broker_link.h"
#include "zkconsumer/cli/cluster_ask.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/where.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include "zkconsumer/core/wire/list_offsets.h"
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { BROKERS, TOPIC, PARTITIONS, TIME, OFFSETS, TIMEOUT, HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [BROKERS] = OPTION_BROKERS,
    [TOPIC] = {"topic", 't', "TOPIC", false, "The topic."},
    [PARTITIONS] = {"partitions", 'p', "N[,N|N-M...]", false, "These partitions. Default: all."},
    [TIME] = {"time", 0, "MS", false,
              "Offsets of what was there before this time, ms since 1970; -1: the end of the log, "
              "-2: its beginning."},
    [OFFSETS] = {"offsets", 0, "N", false,
                 "At most so many for each partition: where its segments begin, the newest first. "
                 "Default: 1."},
    [TIMEOUT] = {"timeout max-wait-ms", 0, "MS", false,
                 "How long a broker may take to answer. Default: 30000."},
    [HELP] = OPTION_HELP,
};

#define ANSWERS_BYTES_MAX ((size_t)1 << 30)
#define CLIENT_ID         "GetOffsetShell" /* as Kafka's tool */

struct plan {
    const char *brokers, *topic;
    int32_t *partitions; /* owned; NULL: all */
    size_t partition_count;
    int64_t time, offsets, timeout_ms;
};

static bool read_plan(const struct cli_args *args, struct plan *plan)
{
    static const char example[] = "zkconsumer topics offsets -t orders --time=-1 " EXAMPLE_BROKERS;
    char text[256];
    *plan = (struct plan){
        .brokers = cli_args_text(args, BROKERS, ""),
        .topic = cli_args_text(args, TOPIC, ""),
        .offsets = 1,
        .timeout_ms = OPTION_TIMEOUT_DEFAULT_MS,
    };
    if (!report_needs(args, BROKERS, example) || !report_needs(args, TOPIC, example) ||
        !report_needs(args, TIME, example) || !report_takes_no_operands(args))
        return false;
    const char *partitions = cli_args_text(args, PARTITIONS, NULL);
    if (!cli_args_number(args, TIME, -2, INT64_MAX, &plan->time, text, sizeof text) ||
        !cli_args_number(args, OFFSETS, 1, INT32_MAX, &plan->offsets, text, sizeof text) ||
        !cli_args_number(args, TIMEOUT, 1, INT32_MAX, &plan->timeout_ms, text, sizeof text) ||
        (partitions && !where_parse_partitions(partitions, &plan->partitions,
                                               &plan->partition_count, text, sizeof text))) {
        report_error("%s", text);
        return false;
    }
    return names_check_topic(plan->topic);
}

static void request_fields(struct wire_codec *c, void *message)
{
    list_offsets_request_fields(c, message);
}

static void response_fields(struct wire_codec *c, void *message)
{
    list_offsets_response_fields(c, message);
}

static enum cli_exit print_answer(const struct plan *plan, int32_t partition,
                                  const struct list_offsets_response *answer, struct buf *out)
{
    if (answer->topics_count != 1 || answer->topics[0].partitions_count != 1) {
        report_error("partition %d: its leader's answer is about something else", partition);
        return CLI_FAILED;
    }
    const struct list_offsets_response_partition *p = &answer->topics[0].partitions[0];
    if (p->error_code) {
        report_error("partition %d: %s (%d)", partition, kafka_error_name(p->error_code),
                     p->error_code);
        return CLI_TIMED_OUT;
    }
    buf_appendf(out, "%s:%d:", plan->topic, partition);
    for (size_t i = 0; i < p->old_style_offsets_count; i++)
        buf_appendf(out, "%s%" PRId64, i ? "," : "", p->old_style_offsets[i]);
    buf_append_byte(out, '\n');
    return CLI_DONE;
}

static enum cli_exit ask_partition(const struct plan *plan, const struct broker *leader,
                                   int32_t partition, struct arena *arena, struct buf *out)
{
    struct list_offsets_request_partition p = {partition, plan->time, (int32_t)plan->offsets};
    struct list_offsets_request_topic t = {bytes_of_text(plan->topic), &p, 1};
    struct list_offsets_request request = {-1, &t, 1};
    struct list_offsets_response answer = {0};
    struct why why;
    struct broker_link *link =
        broker_link_open(leader->host, leader->port, CLIENT_ID, plan->timeout_ms);
    why_set(&why, "no event loop to be had");
    enum zkc_err err = link ? broker_link_ask(link, API_LIST_OFFSETS, 0, request_fields, &request,
                                              response_fields, &answer, arena, &why)
                            : ZKC_ERR_SYSTEM;
    enum cli_exit code = report_exit_of(err);
    if (err)
        report_error("partition %d: %s", partition, why.text);
    else
        code = print_answer(plan, partition, &answer, out);
    broker_link_close(link);
    return code;
}

/* A partition that cannot be asked is told; the others go on (as in Kafka's tool). */
static enum cli_exit show(const struct plan *plan, const struct cluster *cluster, int32_t number,
                          struct arena *arena, struct buf *out)
{
    const struct metadata_partition *p =
        cluster_partition(cluster_topic(cluster, plan->topic), number);
    if (!p) {
        report_error("partition %d does not exist", number);
        return CLI_PROBLEM;
    }
    const struct broker *leader = brokers_find(&cluster->brokers, p->leader_id);
    if (leader && leader->host)
        return ask_partition(plan, leader, number, arena, out);
    report_error("partition %d does not have a leader: its offsets are not known", number);
    return CLI_TIMED_OUT;
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The worst of two, in the order of command.h. */
static enum cli_exit worse(enum cli_exit a, enum cli_exit b)
{
    return a == CLI_DONE ? b : b == CLI_DONE ? a : a < b ? a : b;
}

static enum cli_exit show_all(const struct plan *plan, const struct cluster *cluster,
                              struct arena *arena)
{
    const struct metadata_topic *topic = cluster_topic(cluster, plan->topic);
    if (!topic) {
        report_error("there is no topic %s", plan->topic);
        return CLI_PROBLEM;
    }
    size_t count = plan->partitions ? plan->partition_count : topic->partitions_count;
    int32_t *list = arena_alloc_array(arena, count, sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        list[i] = plan->partitions ? plan->partitions[i] : topic->partitions[i].partition_index;
    if (!list) {
        report_error("out of memory");
        return CLI_FAILED;
    }
    qsort(list, count, sizeof *list, by_number);
    struct output out;
    enum cli_exit code = CLI_DONE;
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    for (size_t i = 0; i < count; i++)
        code = worse(code, show(plan, cluster, list[i], arena, &out.buf));
    code = worse(code, output_finish(&out));
    output_deinit(&out);
    return code;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct plan plan;
    struct cluster cluster;
    struct arena arena;
    struct why why;
    enum cli_exit code = CLI_FAILED;
    arena_init(&arena, ANSWERS_BYTES_MAX);
    if (read_plan(args, &plan)) {
        enum zkc_err err =
            cluster_ask(plan.brokers, CLIENT_ID, plan.timeout_ms, &arena, &cluster, &why);
        code = report_exit_of(err);
        if (err)
            report_error("--broker-list: %s", why.text);
        else
            code = show_all(&plan, &cluster, &arena);
    }
    free(plan.partitions);
    arena_deinit(&arena);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer topics offsets -t orders --time=-1 " EXAMPLE_BROKERS,
     "The end of each partition's log."},
    {"kafka-run-class kafka.tools.GetOffsetShell --topic orders --time -2 --broker-list "
     "kafka1:9092",
     "As Kafka's tool: where the logs begin."},
};
static const struct cli_pair exits[] = {
    {"0", "printed"},
    {"1", "usage, or stdout could not be written"},
    {"2", "no such topic or partition; the others are printed"},
    {"3", "a broker could not be reached"},
    {"4", "a partition has no leader, or the time was up"},
};

const struct cli_command command_topics_offsets = {
    .name = "topics offsets",
    .kafka = "kafka-get-offsets kafka.tools.GetOffsetShell",
    .summary = "Show where partition logs begin and end, or were at a time",
    .synopsis = "--broker-list=HOST:PORT[,...] --topic=TOPIC --time=MS [OPTION ...]",
    .description = "Prints topic:partition:offset[,offset...], a line for each partition, by "
                   "number. A time is as exact as the log's segments. ZooKeeper is not asked.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
