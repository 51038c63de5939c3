/* zkconsumer offsets get and set: a group's offsets in znodes. */
#include "zkconsumer/cli/admin.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/log_ends.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/offset.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { ZOOKEEPER, GROUP, TOPIC, TIMEOUT, HELP, GET_OPTIONS };
enum { PARTITION = GET_OPTIONS, OFFSET, FORCE, SET_OPTIONS };

#define OPTION_GROUP                                                                               \
    {                                                                                              \
        "group group.id", 'G', "GROUP", false, "The consumer group."                               \
    }

static const struct cli_option get_options[GET_OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [GROUP] = OPTION_GROUP,
    [TOPIC] = {"topic", 't', "TOPIC", false, "Only this topic."},
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

static const struct cli_option set_options[SET_OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [GROUP] = OPTION_GROUP,
    [TOPIC] = {"topic", 't', "TOPIC", false, "The topic."},
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
    [PARTITION] = {"partition", 'p', "N", false, "Only this partition. Default: all."},
    [OFFSET] = {"offset", 'o', "WHERE", false,
                "The next offset to read: a number, or beginning or end, which are asked of the "
                "leaders."},
    [FORCE] = {"force", 0, NULL, false,
               "Write although members are registered. They do not look at it before their next "
               "rebalance, and overwrite it when their own position moves."},
};

/* ---- get ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_number(const void *a, const void *b)
{
    long x = atol(*(const char *const *)a), y = atol(*(const char *const *)b);
    return x != y ? (x > y) - (x < y) : by_text(a, b);
}

static enum zkc_err children(struct admin *a, char *path, int (*order)(const void *, const void *),
                             struct zk_result *out)
{
    enum zkc_err err = admin_do(a, ZK_OP_CHILDREN, path, BYTES_NULL, out);
    if (!err && out->zk_rc == ZK_OK && out->children_count)
        qsort((void *)(uintptr_t)out->children, out->children_count, sizeof *out->children, order);
    return err;
}

static enum zkc_err get_topic(struct admin *a, const char *group, const char *topic,
                              struct output *out)
{
    struct zk_result partitions, offset;
    enum zkc_err err = children(a, zk_path_offset_topic(group, topic), by_number, &partitions);
    for (size_t i = 0; !err && i < partitions.children_count; i++) {
        int64_t number, value;
        struct why why;
        if (!cli_parse_number(partitions.children[i], 0, INT32_MAX, &number))
            continue;
        err = admin_do(a, ZK_OP_GET, zk_path_offset(group, topic, (int32_t)number), BYTES_NULL,
                       &offset);
        if (err || offset.zk_rc != ZK_OK)
            continue; /* gone meanwhile */
        if (zk_offset_read(offset.data, &value, &why))
            report_warning("[%s,%lld]: %s", topic, (long long)number, why.text);
        else
            buf_appendf(&out->buf, "%s:%lld:%" PRId64 "\n", topic, (long long)number, value);
        if (!output_added(out))
            break;
    }
    return err;
}

static enum cli_exit get(struct admin *a, const struct cli_args *args)
{
    const char *group = cli_args_text(args, GROUP, "");
    struct zk_result topics;
    struct output out;
    enum zkc_err err = children(a, zk_path_offsets(group), by_text, &topics);
    if (!err && topics.zk_rc == ZK_NO_NODE)
        report_status("group %s has no offsets in ZooKeeper", group);
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    for (size_t i = 0; !err && i < topics.children_count; i++) {
        const char *only = cli_args_text(args, TOPIC, topics.children[i]);
        if (strcmp(only, topics.children[i]) == 0)
            err = get_topic(a, group, topics.children[i], &out);
    }
    enum cli_exit code = err ? admin_fail(a, err) : output_finish(&out);
    output_deinit(&out);
    return code;
}

/* ---- set ---- */

struct wanted {
    struct log_end *list;
    size_t count;
};

/* The partitions to be set, with the leaders that their state nodes name. */
static enum zkc_err find_partitions(struct admin *a, const char *topic, int64_t only,
                                    struct wanted *out)
{
    struct zk_topic t;
    bool found;
    enum zkc_err err = admin_read_topic(a, topic, &t, &found);
    out->count = 0;
    out->list = err ? NULL : arena_alloc_array(&a->arena, t.partition_count, sizeof *out->list);
    for (size_t i = 0; out->list && !err && i < t.partition_count; i++) {
        int32_t partition = t.partitions[i].partition;
        struct zk_partition_state state;
        struct zk_result result;
        struct why why;
        if (only >= 0 && partition != only)
            continue;
        struct log_end *end = &out->list[out->count++];
        *end = (struct log_end){.topic = topic, .partition = partition, .leader = -1};
        err =
            admin_do(a, ZK_OP_GET, zk_path_partition_state(topic, partition), BYTES_NULL, &result);
        if (err || result.zk_rc != ZK_OK || zk_partition_state_read(result.data, &state, &why))
            continue;
        end->leader = state.leader;
        zk_partition_state_deinit(&state);
    }
    if (!err)
        zk_topic_deinit(&t);
    if (!err && out->count == 0) {
        why_set(&a->why, only >= 0 ? "topic %s has no partition %lld" : "there is no topic %s",
                topic, (long long)only);
        err = ZKC_ERR_INVALID;
    }
    return err;
}

static enum zkc_err ask_leaders(struct admin *a, struct wanted *w, bool at_end)
{
    struct brokers brokers;
    enum zkc_err err = brokers_read(a->zk, &a->arena, &brokers, &a->why);
    if (!err)
        err = log_ends_read(&brokers, w->list, w->count,
                            at_end ? LIST_OFFSETS_LATEST : LIST_OFFSETS_EARLIEST,
                            zk_reader_left_ms(a->zk), &a->arena);
    for (size_t i = 0; !err && i < w->count; i++)
        if (w->list[i].err) {
            why_set(&a->why, "[%s,%d]: %s; nothing was written", w->list[i].topic,
                    w->list[i].partition, w->list[i].missing);
            err = w->list[i].err;
        }
    return err;
}

static enum zkc_err refuse_live(struct admin *a, const char *group)
{
    struct zk_result ids;
    enum zkc_err err = children(a, zk_path_ids(group), by_text, &ids);
    if (err || ids.children_count == 0)
        return err;
    why_set(&a->why,
            "group %s has %zu members, the first is %s. Stop them first, or use --force: they "
            "would not see the new offsets before their next rebalance",
            group, ids.children_count, ids.children[0]);
    return ZKC_ERR_INVALID;
}

static enum zkc_err write_offsets(struct admin *a, const char *group, const struct wanted *w)
{
    enum zkc_err err = ZKC_OK;
    for (size_t i = 0; !err && i < w->count; i++) {
        char text[ZK_OFFSET_TEXT_SIZE];
        size_t len = zk_offset_format(w->list[i].offset, text);
        err = admin_write(a, zk_path_offset(group, w->list[i].topic, w->list[i].partition),
                          bytes_of(text, len));
        if (!err)
            report_status("[%s,%d] offset %s", w->list[i].topic, w->list[i].partition, text);
    }
    return err;
}

static enum cli_exit set(struct admin *a, const struct cli_args *args, int64_t partition)
{
    const char *group = cli_args_text(args, GROUP, ""), *where = cli_args_text(args, OFFSET, "");
    struct wanted w;
    int64_t number = 0;
    bool is_number = cli_parse_number(where, 0, INT64_MAX, &number);
    bool at_end = strcmp(where, "end") == 0;
    enum zkc_err err = cli_args_has(args, FORCE) ? ZKC_OK : refuse_live(a, group);
    if (!err)
        err = find_partitions(a, cli_args_text(args, TOPIC, ""), partition, &w);
    for (size_t i = 0; !err && is_number && i < w.count; i++)
        w.list[i].offset = number;
    if (!err && !is_number)
        err = ask_leaders(a, &w, at_end);
    if (!err)
        err = write_offsets(a, group, &w);
    return err ? admin_fail(a, err) : CLI_DONE;
}

/* ---- running ---- */

static bool check_names(const struct cli_args *args)
{
    struct why why;
    if (zk_check_group(cli_args_text(args, GROUP, ""), &why)) {
        report_error("--group: %s", why.text);
        return false;
    }
    if (cli_args_has(args, TOPIC) && zk_check_topic(cli_args_text(args, TOPIC, ""), &why)) {
        report_error("--topic: %s", why.text);
        return false;
    }
    return true;
}

static enum cli_exit run_get(const struct cli_args *args)
{
    static const char example[] = "zkconsumer offsets get -G billing " EXAMPLE_ZOOKEEPER;
    struct admin a;
    if (!report_needs(args, GROUP, example) || !report_needs(args, ZOOKEEPER, example) ||
        !report_takes_no_operands(args) || !check_names(args))
        return CLI_FAILED;
    enum cli_exit code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
    if (code != CLI_DONE)
        return code;
    code = get(&a, args);
    admin_close(&a);
    return code;
}

static bool check_where(const char *where)
{
    int64_t number;
    if (strcmp(where, "beginning") == 0 || strcmp(where, "end") == 0 ||
        cli_parse_number(where, 0, INT64_MAX, &number))
        return true;
    report_error("--offset=%s: expected a number from 0, beginning or end", where);
    return false;
}

static enum cli_exit run_set(const struct cli_args *args)
{
    static const char example[] =
        "zkconsumer offsets set -G billing -t orders -o beginning " EXAMPLE_ZOOKEEPER;
    struct admin a;
    char text[256];
    int64_t partition = -1;
    if (!report_needs(args, GROUP, example) || !report_needs(args, TOPIC, example) ||
        !report_needs(args, OFFSET, example) || !report_needs(args, ZOOKEEPER, example) ||
        !report_takes_no_operands(args) || !check_names(args) ||
        !check_where(cli_args_text(args, OFFSET, "")))
        return CLI_FAILED;
    if (!cli_args_number(args, PARTITION, 0, INT32_MAX, &partition, text, sizeof text)) {
        report_error("%s", text);
        return CLI_FAILED;
    }
    enum cli_exit code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
    if (code != CLI_DONE)
        return code;
    code = set(&a, args, partition);
    admin_close(&a);
    return code;
}

static const struct cli_pair get_examples[] = {
    {"zkconsumer offsets get -G billing " EXAMPLE_ZOOKEEPER, "Lines such as orders:3:4711."},
};
static const struct cli_pair set_examples[] = {
    {"zkconsumer offsets set -G billing -t orders -o beginning " EXAMPLE_ZOOKEEPER,
     "The group reads the whole topic again."},
    {"zkconsumer offsets set -G billing -t orders -p 3 -o 4711 " EXAMPLE_ZOOKEEPER,
     "One partition, one offset."},
};

static const struct cli_pair get_exits[] = {
    {"0", "printed; no offset at all is no error"},
    {"1", "usage, or stdout could not be written"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "ZooKeeper did not answer in time"},
};
static const struct cli_pair set_exits[] = {
    {"0", "written"},
    {"1", "usage, no such topic or partition, or the group has members"},
    {"3", "ZooKeeper or a leader could not be reached"},
    {"4", "the time was up"},
};

const struct cli_command command_offsets_get = {
    .name = "offsets get",
    .summary = "Show a group's committed offsets",
    .synopsis = "--group=GROUP [--topic=TOPIC] --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description = "Prints topic:partition:offset, the offset being the next to read, a line for "
                   "each offset that the group has in ZooKeeper.",
    .options = get_options,
    .option_count = GET_OPTIONS,
    .examples = get_examples,
    .example_count = ARRAY_LEN(get_examples),
    .exits = get_exits,
    .exit_count = ARRAY_LEN(get_exits),
    .run = run_get,
};

const struct cli_command command_offsets_set = {
    .name = "offsets set",
    .summary = "Set a group's offsets",
    .synopsis = "--group=GROUP --topic=TOPIC [--partition=N] --offset=WHERE "
                "--zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description = "Writes the offsets of one partition or of all partitions of a topic. Refused "
                   "while the group has members. Where beginning or end are asked for and a leader "
                   "does not answer, nothing is written.",
    .options = set_options,
    .option_count = SET_OPTIONS,
    .examples = set_examples,
    .example_count = ARRAY_LEN(set_examples),
    .exits = set_exits,
    .exit_count = ARRAY_LEN(set_exits),
    .run = run_set,
};
