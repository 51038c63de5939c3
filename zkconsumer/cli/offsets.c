/* zkconsumer offsets get and set: a group's offsets, in znodes or in Kafka. */
#include "zkconsumer/cli/admin.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/offset_store.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { ZOOKEEPER, GROUP, TOPIC, CONFIG, PROPERTY, TIMEOUT, HELP, GET_OPTIONS };
enum { PARTITION = GET_OPTIONS, OFFSET, FORCE, SET_OPTIONS };

static const struct cli_option get_options[GET_OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [GROUP] = OPTION_GROUP,
    [TOPIC] = {"topic", 't', "TOPIC", false, "Only this topic."},
    [CONFIG] = OPTION_STORE_CONFIG,
    [PROPERTY] = OPTION_STORE_PROPERTY,
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

static const struct cli_option set_options[SET_OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [GROUP] = OPTION_GROUP,
    [TOPIC] = {"topic", 't', "TOPIC", false, "The topic."},
    [CONFIG] = OPTION_STORE_CONFIG,
    [PROPERTY] = OPTION_STORE_PROPERTY,
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
    [PARTITION] = {"partition", 'p', "N", false, "Only this partition. Default: all."},
    [OFFSET] = {"offset", 'o', "WHERE", false,
                "The next offset to read: a number, or beginning or end, which are asked of the "
                "leaders."},
    [FORCE] =
        {"force", 0, NULL, false,
         "Write although members are registered. Consumers of 0.8 do not look at it before their "
         "next rebalance, and overwrite it when their own position moves; our members in safe "
         "mode obey what is written in ZooKeeper."},
};

/* ---- get ---- */

static bool print_offset(const struct group_offset *o, void *user)
{
    struct output *out = user;
    if (o->trouble)
        report_warning("[%s,%d]: %s", o->topic, o->partition, o->trouble);
    else
        buf_appendf(&out->buf, "%s:%d:%" PRId64 "\n", o->topic, o->partition, o->offset);
    return output_added(out);
}

static enum zkc_err get_znodes(struct admin *a, const struct cli_args *args, struct output *out)
{
    const char *group = cli_args_text(args, GROUP, "");
    struct zk_result topics;
    enum zkc_err err = group_offsets_children(a, zk_path_offsets(group), &topics);
    if (!err && topics.zk_rc == ZK_NO_NODE)
        report_status("group %s has no offsets in ZooKeeper", group);
    for (size_t i = 0; !err && i < topics.children_count; i++) {
        const char *only = cli_args_text(args, TOPIC, topics.children[i]);
        if (strcmp(only, topics.children[i]) == 0)
            err = group_offsets_each(a, group, topics.children[i], print_offset, out);
    }
    return err;
}

/* Of both stores. */
static enum zkc_err get_kept(struct admin *a, struct offset_store *s, const struct cli_args *args,
                             struct output *out, enum zkc_err *kafka_err)
{
    const char *group = cli_args_text(args, GROUP, ""), *topic = cli_args_text(args, TOPIC, NULL);
    enum zkc_err err = offset_store_read(s, a, group, &topic, topic != NULL, kafka_err);
    if (err)
        return err;
    size_t stored = offset_store_each(s, topic, print_offset, out);
    if (stored)
        report_status("%zu offsets of group %s are Kafka's", stored, group);
    else if (out->buf.len == 0)
        report_status("group %s has no offsets in ZooKeeper%s", group,
                      s->is_asked ? ", nor in Kafka" : "");
    return ZKC_OK;
}

static enum cli_exit get(struct admin *a, struct offset_store *s, const struct cli_args *args)
{
    const char *group = cli_args_text(args, GROUP, "");
    struct zk_result found;
    struct output out;
    bool may_be_kafka = false;
    enum zkc_err kafka_err = ZKC_OK;
    enum zkc_err err = admin_do(a, ZK_OP_EXISTS, zk_path_group(group), BYTES_NULL, &found);
    if (!err && found.zk_rc == ZK_NO_NODE && s->storage != OFFSET_STORAGE_KAFKA) {
        report_error("there is no group %s in ZooKeeper", group);
        return CLI_PROBLEM;
    }
    if (!err)
        err = offset_store_may_be_kafka(s, a, &may_be_kafka);
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    if (!err)
        err = may_be_kafka ? get_kept(a, s, args, &out, &kafka_err) : get_znodes(a, args, &out);
    enum cli_exit code = err ? admin_fail(a, err) : output_finish(&out);
    output_deinit(&out);
    return code == CLI_DONE ? report_exit_of(kafka_err) : code;
}

/* ---- set ---- */

/* Tells of offsets that are outside of their logs: the group would fall back on auto.offset.reset.
 * A leader that does not answer is told, too; the write goes on. */
static void tell_outside(struct admin *a, struct partition_list *w, int64_t offset)
{
    int64_t asked[] = {LIST_OFFSETS_EARLIEST, LIST_OFFSETS_LATEST};
    struct brokers brokers;
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        bool is_end = asked[i] == LIST_OFFSETS_LATEST;
        if (brokers_read(a->zk, &a->arena, &brokers, &a->why) ||
            log_ends_read(&brokers, w->list, w->count, asked[i], zk_reader_left_ms(a->zk),
                          &a->arena))
            return;
        for (size_t p = 0; p < w->count; p++) {
            const struct log_end *end = &w->list[p];
            if (end->err && is_end)
                report_warning("whether [%s,%d] has offset %" PRId64 " is not known: %s",
                               end->topic, end->partition, offset, end->missing);
            else if (!end->err && (is_end ? offset > end->offset : offset < end->offset))
                report_warning("[%s,%d] %s at %" PRId64 ": whoever starts at %" PRId64
                               " falls back on auto.offset.reset",
                               end->topic, end->partition, is_end ? "ends" : "begins", end->offset,
                               offset);
        }
    }
}

static enum zkc_err write_offsets(struct admin *a, const struct offset_store *s, const char *group,
                                  const struct partition_list *w, bool forced)
{
    struct offset_write *list = arena_alloc_array(&a->arena, w->count, sizeof *list);
    if (!list)
        return a->arena.failed;
    for (size_t i = 0; i < w->count; i++)
        list[i] = (struct offset_write){w->list[i].topic, w->list[i].partition, w->list[i].offset};
    enum zkc_err err = offset_store_commit(s, a, group, list, w->count);
    for (size_t i = 0; !err && i < w->count; i++) {
        err = offset_store_write_znode(s, a, group, &list[i], forced);
        if (!err)
            report_status("[%s,%d] offset %" PRId64, list[i].topic, list[i].partition,
                          list[i].offset);
    }
    return err;
}

static enum cli_exit set(struct admin *a, struct offset_store *s, const struct cli_args *args,
                         int64_t partition)
{
    const char *group = cli_args_text(args, GROUP, ""), *where = cli_args_text(args, OFFSET, "");
    const char *topic = cli_args_text(args, TOPIC, "");
    enum cli_exit code;
    struct partition_list w;
    int64_t number = 0;
    bool is_number = cli_parse_number(where, 0, INT64_MAX, &number);
    bool at_end = strcmp(where, "end") == 0, forced = cli_args_has(args, FORCE);
    enum zkc_err err = forced ? ZKC_OK : group_offsets_refuse_live(a, group);
    if (!err)
        err = group_offsets_partitions(a, topic, partition, &w);
    if (!err && (code = offset_store_check(s, a, group, &topic, 1)) != CLI_DONE)
        return code;
    if (!err && is_number)
        tell_outside(a, &w, number);
    for (size_t i = 0; !err && is_number && i < w.count; i++)
        w.list[i].offset = number;
    if (!err && !is_number)
        err = group_offsets_ask(a, &w, at_end ? LIST_OFFSETS_LATEST : LIST_OFFSETS_EARLIEST);
    if (!err)
        err = write_offsets(a, s, group, &w, forced);
    return err ? admin_fail(a, err) : s->is_doubtful ? CLI_PROBLEM : CLI_DONE;
}

/* ---- running ---- */

static enum cli_exit run_get(const struct cli_args *args)
{
    static const char example[] = "zkconsumer offsets get -G billing " EXAMPLE_ZOOKEEPER;
    struct admin a;
    struct offset_store store;
    if (!report_needs(args, GROUP, example) || !report_needs(args, ZOOKEEPER, example) ||
        !report_takes_no_operands(args) || !group_offsets_check_names(args, GROUP, TOPIC) ||
        !offset_store_init(&store, args, CONFIG, PROPERTY))
        return CLI_FAILED;
    enum cli_exit code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
    if (code == CLI_DONE) {
        code = get(&a, &store, args);
        admin_close(&a);
    }
    offset_store_deinit(&store);
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
    struct offset_store store;
    char text[256];
    int64_t partition = -1;
    if (!report_needs(args, GROUP, example) || !report_needs(args, TOPIC, example) ||
        !report_needs(args, OFFSET, example) || !report_needs(args, ZOOKEEPER, example) ||
        !report_takes_no_operands(args) || !group_offsets_check_names(args, GROUP, TOPIC) ||
        !check_where(cli_args_text(args, OFFSET, "")))
        return CLI_FAILED;
    if (!cli_args_number(args, PARTITION, 0, INT32_MAX, &partition, text, sizeof text)) {
        report_error("%s", text);
        return CLI_FAILED;
    }
    if (!offset_store_init(&store, args, CONFIG, PROPERTY))
        return CLI_FAILED;
    enum cli_exit code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
    if (code == CLI_DONE) {
        code = set(&a, &store, args, partition);
        admin_close(&a);
    }
    offset_store_deinit(&store);
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
    {"zkconsumer offsets set -G billing -t orders -o end -F consumer.properties " EXAMPLE_ZOOKEEPER,
     "Where its members keep their offsets: in Kafka, if the file says so."},
};

static const struct cli_pair get_exits[] = {
    {"0", "printed; a group without offsets is no error"},
    {"1", "usage, or stdout could not be written"},
    {"2", "there is no such group in ZooKeeper"},
    {"3", "ZooKeeper could not be reached, or no broker that would know of offsets in Kafka"},
    {"4", "not everything was answered in time"},
};
static const struct cli_pair set_exits[] = {
    {"0", "written"},
    {"1", "usage, no such topic or partition, the group has members, or Kafka refused"},
    {"2", "Kafka keeps offsets of the group, and where to write was not said; nothing is written"},
    {"3", "ZooKeeper, a leader or the group's coordinator could not be reached"},
    {"4", "the time was up"},
};

const struct cli_command command_offsets_get = {
    .name = "offsets get",
    .summary = "Show a group's committed offsets",
    .synopsis = "--group=GROUP [--topic=TOPIC] --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description = "Prints topic:partition:offset, the offset being the next to read, a line for "
                   "each offset that the group has: Kafka's where it keeps one "
                   "(offsets.storage=kafka), else ZooKeeper's; where the two differ it is told. "
                   "With offsets.storage=zookeeper Kafka is not asked.",
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
                   "does not answer, nothing is written. A number outside of the partition's log "
                   "is written, and told. Offsets are written to ZooKeeper; with "
                   "offsets.storage=kafka to the group's coordinator, and to ZooKeeper by "
                   "dual.commit.enabled. Where neither is said and Kafka keeps offsets of the "
                   "topic for the group, nothing is written.",
    .options = set_options,
    .option_count = SET_OPTIONS,
    .examples = set_examples,
    .example_count = ARRAY_LEN(set_examples),
    .exits = set_exits,
    .exit_count = ARRAY_LEN(set_exits),
    .run = run_set,
};
