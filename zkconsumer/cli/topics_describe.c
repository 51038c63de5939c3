/* zkconsumer topics describe */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/topic_choice.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/cluster.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <unistd.h>

enum { ZOOKEEPER, TOPIC, UNDER_REPLICATED, UNAVAILABLE, OVERRIDES, TIMEOUT, HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TOPIC] = {"topic", 't', "TOPIC", true, "Only this topic; may be given several times."},
    [UNDER_REPLICATED] = {"under-replicated-partitions", 0, NULL, false,
                          "Only partitions with fewer in the ISR than replicas."},
    [UNAVAILABLE] = {"unavailable-partitions", 0, NULL, false,
                     "Only partitions without a leader that is registered."},
    [OVERRIDES] = {"topics-with-overrides", 0, NULL, false,
                   "Only topics that have settings, without their partitions."},
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

struct description {
    struct admin *admin;
    const struct cli_args *args;
    struct brokers brokers; /* registered; read for UNAVAILABLE only */
    bool has_problem;       /* a partition has no leader */
    struct buf *out;
};

static enum zkc_err append_setting(const struct zk_setting *setting, void *user)
{
    struct buf *out = user;
    if (out->len && out->data[out->len - 1] != ':')
        buf_append_byte(out, ',');
    buf_appendf(out, "%s=%s", setting->key, setting->value);
    return ZKC_OK;
}

static void append_ids(struct buf *out, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_appendf(out, "%s%" PRId32, i ? "," : "", ids[i]);
}

static bool is_wanted(const struct description *d, const struct zk_replicas *p,
                      const struct zk_partition_state *state)
{
    if (cli_args_has(d->args, UNDER_REPLICATED))
        return state->isr_count < p->broker_count;
    return !cli_args_has(d->args, UNAVAILABLE) || state->leader < 0 ||
           !brokers_find(&d->brokers, state->leader);
}

/* In Kafka's format, which scripts read. */
static enum zkc_err append_partition(struct description *d, const char *topic,
                                     const struct zk_replicas *p)
{
    struct zk_result result;
    struct zk_partition_state state = {.leader = -1};
    struct why why;
    struct buf *out = d->out;
    enum zkc_err err = admin_do(d->admin, ZK_OP_GET, zk_path_partition_state(topic, p->partition),
                                BYTES_NULL, &result);
    if (err)
        return err;
    bool known = result.zk_rc == ZK_OK && !zk_partition_state_read(result.data, &state, &why);
    if (is_wanted(d, p, &state)) {
        buf_appendf(out, "\tTopic: %s\tPartition: %" PRId32 "\tLeader: ", topic, p->partition);
        if (known && state.leader >= 0)
            buf_appendf(out, "%" PRId32, state.leader);
        else
            buf_append_text(out, "none");
        buf_append_text(out, "\tReplicas: ");
        append_ids(out, p->broker_ids, p->broker_count);
        buf_append_text(out, "\tIsr: ");
        append_ids(out, state.isr, state.isr_count);
        buf_append_byte(out, '\n');
    }
    d->has_problem |= !known || state.leader < 0;
    if (known)
        zk_partition_state_deinit(&state);
    return ZKC_OK;
}

static enum zkc_err append_head(struct description *d, const char *topic, const struct zk_topic *t)
{
    struct zk_result result;
    struct why why;
    size_t begin = d->out->len;
    buf_appendf(d->out, "Topic:%s\tPartitionCount:%zu\tReplicationFactor:%zu\tConfigs:", topic,
                t->partition_count, t->partition_count ? t->partitions[0].broker_count : 0);
    enum zkc_err err =
        admin_do(d->admin, ZK_OP_GET, zk_path_topic_config(topic), BYTES_NULL, &result);
    if (!err && result.zk_rc == ZK_OK &&
        zk_topic_config_read(result.data, append_setting, d->out, &why))
        report_warning("settings of topic %s: %s", topic, why.text);
    bool has_settings = d->out->len && d->out->data[d->out->len - 1] != ':';
    if (cli_args_has(d->args, OVERRIDES) && !has_settings)
        d->out->len = begin;
    else
        buf_append_byte(d->out, '\n');
    return err;
}

static enum zkc_err append_topic(struct description *d, const char *topic)
{
    struct zk_topic t;
    bool found;
    bool has_head = !cli_args_has(d->args, UNDER_REPLICATED) && !cli_args_has(d->args, UNAVAILABLE);
    enum zkc_err err = admin_read_topic(d->admin, topic, &t, &found);
    if (err || !found) /* gone meanwhile */
        return err;
    if (has_head)
        err = append_head(d, topic, &t);
    for (size_t i = 0; !err && !cli_args_has(d->args, OVERRIDES) && i < t.partition_count; i++)
        err = append_partition(d, topic, &t.partitions[i]);
    zk_topic_deinit(&t);
    return err;
}

static enum cli_exit describe(struct admin *a, const struct cli_args *args)
{
    struct topic_choice topics;
    struct output out;
    struct description d = {.admin = a, .args = args, .out = &out.buf};
    enum zkc_err err = topic_choice_read(a, args, TOPIC, &topics);
    bool is_wrong = !err && topics.missing;
    if (is_wrong)
        topic_choice_tell_missing(&topics, args, TOPIC);
    if (!err && cli_args_has(args, UNAVAILABLE))
        err = brokers_read(a->zk, &a->arena, &d.brokers, &a->why);
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    for (size_t i = 0; !err && i < topics.count; i++) {
        err = append_topic(&d, topics.names[i]);
        if (!output_added(&out))
            break;
    }
    enum cli_exit code = err ? admin_fail(a, err) : output_finish(&out);
    output_deinit(&out);
    return code != CLI_DONE ? code : is_wrong ? CLI_FAILED : d.has_problem ? CLI_PROBLEM : CLI_DONE;
}

static enum cli_exit run(const struct cli_args *args)
{
    if (!report_needs(args, ZOOKEEPER, "zkconsumer topics describe " EXAMPLE_ZOOKEEPER) ||
        !report_takes_no_operands(args) || !topic_choice_check(args, TOPIC))
        return CLI_FAILED;
    if (cli_args_has(args, UNDER_REPLICATED) + cli_args_has(args, UNAVAILABLE) +
            cli_args_has(args, OVERRIDES) >
        1) {
        report_error("--under-replicated-partitions, --unavailable-partitions and "
                     "--topics-with-overrides each say what to show: one of them");
        return CLI_FAILED;
    }
    return admin_run(args, ZOOKEEPER, TIMEOUT, describe);
}

static const struct cli_pair examples[] = {
    {"zkconsumer topics describe -t orders " EXAMPLE_ZOOKEEPER,
     "Partitions of a topic, with leaders, replicas and ISR."},
};

static const struct cli_pair exits[] = {
    {"0", "every partition has a leader"},
    {"1", "usage, no such topic, or stdout could not be written"},
    {"2", "a partition has no leader"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "ZooKeeper did not answer in time"},
};

const struct cli_command command_topics_describe = {
    .name = "topics describe",
    .summary = "Show partitions, leaders, replicas and ISR of topics",
    .synopsis = "[--topic=TOPIC ...] --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description = "Prints topics in the format of Kafka's kafka-topics.sh --describe, a line for "
                   "each topic and an indented one for each partition. A leader that is not there "
                   "is \"none\".",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
