/* zkconsumer offsets check: kafka-consumer-offset-checker. */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/group_print.h"
#include "zkconsumer/cli/group_read.h"
#include "zkconsumer/cli/group_stored.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { ZOOKEEPER, GROUP, TOPIC, BROKER_INFO, LAG_MAX, TIMEOUT, BACKOFF, HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [GROUP] = OPTION_GROUP,
    [TOPIC] = {"topic", 't', "TOPIC[,...]", false,
               "Topics, separated by commas. Default: those that the group has or had owners of."},
    [BROKER_INFO] = {"broker-info", 0, NULL, false, "Say below where the leaders are."},
    [LAG_MAX] = {"lag-max", 0, "N", false,
                 "A partition with a larger lag, or an unknown one, is a problem (exit status 2)."},
    [TIMEOUT] = {"timeout socket.timeout.ms", 0, "MS", false,
                 "Give up after so many milliseconds, all together. Default: 30000."},
    [BACKOFF] = {"retry.backoff.ms", 0, "MS", false, "Kafka's; without effect here."},
    [HELP] = OPTION_HELP,
};

#define ANSWERS_BYTES_MAX ((size_t)1 << 30)
#define ROW               "%-15s %-30s %-3s %-15s %-15s %-15s %s\n"

struct plan {
    const char *group;
    int64_t timeout_ms;
    int64_t lag_max;     /* -1: no limit */
    const char **topics; /* in the plan's arena; none: by owners */
    size_t topic_count;
    bool with_brokers;
};

static bool read_topics(const struct cli_args *args, struct arena *arena, struct plan *plan)
{
    char *text = arena_format(arena, "%s", cli_args_text(args, TOPIC, ""));
    plan->topics = text ? arena_alloc_array(arena, strlen(text) + 1, sizeof *plan->topics) : NULL;
    if (!plan->topics) {
        report_error("out of memory");
        return false;
    }
    for (char *rest = NULL, *t = strtok_r(text, ",", &rest); t; t = strtok_r(NULL, ",", &rest)) {
        if (!names_check_topic(t))
            return false;
        plan->topics[plan->topic_count++] = t;
    }
    return true;
}

static bool read_plan(const struct cli_args *args, struct arena *arena, struct plan *plan)
{
    static const char example[] = "zkconsumer offsets check -G billing " EXAMPLE_ZOOKEEPER;
    char text[256];
    *plan = (struct plan){
        .group = cli_args_text(args, GROUP, ""),
        .timeout_ms = OPTION_TIMEOUT_DEFAULT_MS,
        .lag_max = -1,
        .with_brokers = cli_args_has(args, BROKER_INFO),
    };
    if (!report_needs(args, GROUP, example) || !report_needs(args, ZOOKEEPER, example) ||
        !report_takes_no_operands(args))
        return false;
    if (!cli_args_number(args, TIMEOUT, 1, INT32_MAX, &plan->timeout_ms, text, sizeof text) ||
        !cli_args_number(args, LAG_MAX, 0, INT64_MAX, &plan->lag_max, text, sizeof text)) {
        report_error("%s", text);
        return false;
    }
    if (!names_check_group(plan->group))
        return false;
    return read_topics(args, arena, plan);
}

/* ---- printing ---- */

static bool is_wanted(const struct plan *plan, const struct group_topic *t)
{
    for (size_t i = 0; i < plan->topic_count; i++)
        if (strcmp(plan->topics[i], t->name) == 0)
            return t->exists;
    return plan->topic_count == 0 && t->has_owners;
}

/* A number, "unknown", or of the offset -1 where there is none. */
static const char *number(char room[24], bool is_known, int64_t value)
{
    if (!is_known)
        return "unknown";
    snprintf(room, 24, "%" PRId64, value);
    return room;
}

/* True if the row is a problem. */
static bool append_row(struct buf *out, const struct plan *plan, const struct group_topic *t,
                       const struct group_partition *p)
{
    char id[24], offset[24], end[24], lag[24];
    int64_t behind = 0;
    bool is_lag_known = group_lag(p, &behind);
    const char *odd = p->stored_missing ? p->stored_missing : p->offset_odd;
    buf_appendf(out, ROW, plan->group, t->name, number(id, true, p->partition),
                number(offset, !odd, p->offset), number(end, !p->end_missing, p->log_end),
                number(lag, is_lag_known, behind), p->owner ? p->owner : "none");
    if (odd)
        report_warning("offset of [%s,%d]: %s", t->name, p->partition, odd);
    if (group_stored_differs(p))
        report_warning("[%s,%d] has offset %" PRId64 " in Kafka and %" PRId64 " in ZooKeeper; "
                       "Kafka's is shown",
                       t->name, p->partition, p->offset, p->znode_offset);
    if (p->end_missing)
        report_warning("log end of [%s,%d] is not known: %s", t->name, p->partition,
                       p->end_missing);
    return odd || (plan->lag_max >= 0 && (!is_lag_known || behind > plan->lag_max));
}

static bool leads(const struct group_read *read, const struct plan *plan, int32_t broker)
{
    for (size_t i = 0; i < read->view.topic_count; i++) {
        const struct group_topic *t = &read->view.topics[i];
        for (size_t p = 0; is_wanted(plan, t) && p < t->partition_count; p++)
            if (t->partitions[p].leader == broker)
                return true;
    }
    return false;
}

static void append_brokers(struct buf *out, const struct plan *plan, const struct group_read *read)
{
    buf_append_text(out, "BROKER INFO\n");
    for (size_t k = 0; k < read->brokers.count; k++) {
        const struct broker *b = &read->brokers.list[k];
        if (b->host && leads(read, plan, b->id))
            buf_appendf(out, "%d -> %s:%d\n", b->id, b->host, b->port);
    }
}

static bool append_rows(struct buf *out, const struct plan *plan, const struct group_read *read)
{
    bool is_problem = false;
    buf_appendf(out, ROW, "Group", "Topic", "Pid", "Offset", "logSize", "Lag", "Owner");
    for (size_t i = 0; i < read->view.topic_count; i++) {
        const struct group_topic *t = &read->view.topics[i];
        for (size_t p = 0; is_wanted(plan, t) && p < t->partition_count; p++)
            if (t->partitions[p].exists)
                is_problem |= append_row(out, plan, t, &t->partitions[p]);
    }
    if (plan->with_brokers)
        append_brokers(out, plan, read);
    return is_problem;
}

/* ---- running ---- */

static bool tell_missing(const struct plan *plan, const struct group_view *view)
{
    bool is_missing = !view->exists;
    if (!view->exists)
        report_error("there is no group %s in ZooKeeper", plan->group);
    for (size_t i = 0; view->exists && i < view->topic_count; i++) {
        const struct group_topic *t = &view->topics[i];
        for (size_t n = 0; n < plan->topic_count; n++) {
            if (t->exists || strcmp(plan->topics[n], t->name) != 0)
                continue;
            report_error("there is no topic %s", t->name);
            is_missing = true;
        }
    }
    return is_missing;
}

static enum cli_exit check(struct zk_reader *r, const struct plan *plan, struct arena *arena)
{
    struct group_read read;
    struct why why;
    struct group_read_options what = {.topics = plan->topics, .topic_count = plan->topic_count};
    enum zkc_err err = group_read(r, plan->group, &what, arena, &read, &why);
    if (err) {
        report_error("%s", why.text);
        return report_exit_of(err);
    }
    bool is_problem = tell_missing(plan, &read.view);
    if (!read.view.exists)
        return CLI_PROBLEM;
    enum zkc_err kafka_err = group_stored_read_or_tell(r, &read, arena);
    struct output out;
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    is_problem |= append_rows(&out.buf, plan, &read);
    enum cli_exit code = output_finish(&out);
    output_deinit(&out);
    if (code != CLI_DONE || is_problem)
        return code != CLI_DONE ? code : CLI_PROBLEM;
    return report_exit_of_missing(read.ends_err, kafka_err);
}

static enum cli_exit run(const struct cli_args *args)
{
    struct plan plan;
    struct arena words, arena;
    struct zk_reader *r;
    struct why why;
    enum cli_exit code = CLI_FAILED;
    arena_init(&words, ANSWERS_BYTES_MAX);
    arena_init(&arena, ANSWERS_BYTES_MAX);
    if (read_plan(args, &words, &plan)) {
        enum zkc_err err =
            zk_reader_open(cli_args_text(args, ZOOKEEPER, ""), plan.timeout_ms, &r, &why);
        if (err) {
            report_error("%s", why.text);
            code = report_exit_of(err);
        } else {
            code = check(r, &plan, &arena);
            zk_reader_close(r);
        }
    }
    arena_deinit(&arena);
    arena_deinit(&words);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer offsets check -G billing " EXAMPLE_ZOOKEEPER, "Where the group is."},
    {"kafka-consumer-offset-checker --group billing --topic orders,clicks --broker-info "
     "--zookeeper zk1:2181/kafka",
     "As Kafka's tool."},
    {"zkconsumer offsets check -G billing --lag-max=1000 " EXAMPLE_ZOOKEEPER " >/dev/null",
     "A check of the lag, by the exit status."},
};
static const struct cli_pair exits[] = {
    {"0", "printed"},
    {"1", "usage, or stdout could not be written"},
    {"2", "no such group or topic, an offset that is no number, or a lag above --lag-max"},
    {"3", "ZooKeeper, or a broker that leads a partition, could not be reached"},
    {"4", "not everything could be read in time, or a partition has no leader"},
};

const struct cli_command command_offsets_check = {
    .name = "offsets check",
    .kafka = "kafka-consumer-offset-checker kafka.tools.ConsumerOffsetChecker",
    .summary = "Show offsets, log ends, lag and owners as Kafka's offset checker",
    .synopsis = "--group=GROUP [--topic=TOPIC,...] --zookeeper=HOST:PORT[,...][/CHROOT] "
                "[OPTION ...]",
    .description =
        "Prints Kafka's table: Group, Topic, Pid, Offset, logSize, Lag, Owner, a row for each "
        "partition. An offset of -1 is none; what is not known is \"unknown\", no owner is "
        "\"none\". Offsets are those that the group's coordinator has, else those in ZooKeeper; "
        "where "
        "the two differ it is told. Unlike Kafka's tool it ends with a status that "
        "says whether all went well; groups describe checks the group as well.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
