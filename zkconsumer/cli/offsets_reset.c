/* zkconsumer offsets reset: moves a group's offsets to a place that the leaders are asked for. */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/file.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/offset_store.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/base/properties.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    ZOOKEEPER,
    GROUP,
    TOPIC,
    PARTITION,
    EARLIEST,
    LATEST,
    TIME,
    SHIFT,
    DRY_RUN,
    FORCE,
    CONFIG,
    PROPERTY,
    TIMEOUT,
    HELP,
    OPTIONS
};

static const struct cli_option options[OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [GROUP] = OPTION_GROUP,
    [TOPIC] = {"topic", 't', "TOPIC", true,
               "Only this topic; may be given several times. Default: every topic of which the "
               "group has offsets."},
    [PARTITION] = {"partition", 'p', "N", false, "Only this partition of each topic."},
    [EARLIEST] = {"to-earliest", 0, NULL, false, "To the beginning of each log."},
    [LATEST] = {"to-latest", 0, NULL, false, "To the end of each log."},
    [TIME] = {"to-time to-datetime", 0, "TIME", false,
              "To before what was written at this time: milliseconds since 1970, or "
              "2015-02-26T21:33:20 (UTC). As exact as the log's segments: the beginning of the "
              "last segment that was finished before."},
    [SHIFT] = {"shift-by", 0, "N", false,
               "By so many messages, back with a negative N; at most to the ends of the log."},
    [DRY_RUN] = {"dry-run", 'n', NULL, false, "Print, and write nothing."},
    [FORCE] =
        {"force", 0, NULL, false,
         "Write although members are registered. Consumers of 0.8 do not look at it before "
         "their next rebalance, and overwrite it when their own position moves. Our members "
         "in safe mode obey: beside an owner the number is written with a leading zero, which "
         "asks them to move. What is written in Kafka they do not look at."},
    [CONFIG] = OPTION_STORE_CONFIG,
    [PROPERTY] = OPTION_STORE_PROPERTY,
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
};

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define TIME_NONE      INT64_MIN /* LIST_OFFSETS_* and times of ms are above */

struct plan {
    const char *group;
    const char *connect;
    int64_t partition; /* -1: all */
    int64_t time;      /* LIST_OFFSETS_* or ms; TIME_NONE: by shift */
    int64_t shift;
    bool is_kafkas;    /* by Kafka's words: UpdateOffsetsInZK earliest|latest FILE TOPIC */
    const char *topic; /* of that form */
    bool is_table;     /* called as kafka-consumer-groups, which prints columns */
    char *file_group, *file_connect; /* owned; from its file */
    struct offset_store store;
    bool is_kept; /* the store has been read: Kafka keeps offsets, or may */
};

struct move {
    const char *topic;
    int32_t partition;
    int64_t from, to; /* -1: none */
};

/* ---- what is wanted ---- */

static enum zkc_err take_property(const struct property *p, void *user)
{
    struct plan *plan = user;
    char **field = strcmp(p->key, "group.id") == 0            ? &plan->file_group
                   : strcmp(p->key, "zookeeper.connect") == 0 ? &plan->file_connect
                                                              : NULL;
    if (!field)
        return ZKC_OK; /* Kafka's tool does not look at offsets.storage */
    free(*field);
    *field = strdup(p->value);
    return *field ? ZKC_OK : ZKC_ERR_NOMEM;
}

static bool read_config(struct plan *plan, const char *path)
{
    struct buf text;
    struct why why;
    buf_init(&text, FILE_BYTES_MAX);
    bool ok = read_whole_file(path, &text, &why) &&
              properties_parse(buf_bytes(&text), take_property, plan, &why) == ZKC_OK;
    buf_deinit(&text);
    if (!ok)
        report_error("%s: %s", path, why.text);
    else if (!plan->file_group || !plan->file_connect)
        report_error("%s: group.id and zookeeper.connect are needed", path);
    return ok && plan->file_group && plan->file_connect;
}

/* kafka.tools.UpdateOffsetsInZK: earliest|latest FILE TOPIC */
static bool read_kafkas(struct plan *plan, const struct cli_args *args)
{
    const char *where = args->operand_count ? args->operands[0] : "";
    plan->is_kafkas = true;
    if (args->operand_count != 3 ||
        (strcmp(where, "earliest") != 0 && strcmp(where, "latest") != 0)) {
        report_error("USAGE: kafka.tools.UpdateOffsetsInZK [earliest | latest] "
                     "consumer.properties topic");
        return false;
    }
    plan->time = strcmp(where, "latest") == 0 ? LIST_OFFSETS_LATEST : LIST_OFFSETS_EARLIEST;
    plan->topic = args->operands[2];
    if (!read_config(plan, args->operands[1]))
        return false;
    plan->group = plan->file_group;
    plan->connect = plan->file_connect;
    return true;
}

static bool parse_time(const char *text, int64_t *out)
{
    struct tm tm = {0};
    if (cli_parse_number(text, 0, INT64_MAX, out))
        return true;
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (end && (*end == 0 || strcmp(end, "Z") == 0)) {
        *out = (int64_t)timegm(&tm) * 1000;
        return *out >= 0;
    }
    report_error("--to-time=%s: expected milliseconds since 1970 or 2015-02-26T21:33:20", text);
    return false;
}

static bool read_where(struct plan *plan, const struct cli_args *args)
{
    char text[256];
    int given = cli_args_has(args, EARLIEST) + cli_args_has(args, LATEST) +
                cli_args_has(args, TIME) + cli_args_has(args, SHIFT);
    if (given != 1) {
        report_error("exactly one of --to-earliest, --to-latest, --to-time, --shift-by is needed");
        return false;
    }
    plan->time = cli_args_has(args, EARLIEST) ? LIST_OFFSETS_EARLIEST
                 : cli_args_has(args, LATEST) ? LIST_OFFSETS_LATEST
                                              : TIME_NONE;
    if (cli_args_has(args, TIME))
        return parse_time(cli_args_text(args, TIME, ""), &plan->time);
    if (cli_args_number(args, SHIFT, -INT64_MAX, INT64_MAX, &plan->shift, text, sizeof text))
        return true;
    report_error("%s", text);
    return false;
}

static bool read_ours(struct plan *plan, const struct cli_args *args)
{
    static const char example[] =
        "zkconsumer offsets reset -G billing --to-earliest " EXAMPLE_ZOOKEEPER;
    char text[256];
    if (!report_needs(args, GROUP, example) || !report_needs(args, ZOOKEEPER, example) ||
        !report_takes_no_operands(args) || !read_where(plan, args))
        return false;
    if (!cli_args_number(args, PARTITION, 0, INT32_MAX, &plan->partition, text, sizeof text)) {
        report_error("%s", text);
        return false;
    }
    plan->group = cli_args_text(args, GROUP, "");
    plan->connect = cli_args_text(args, ZOOKEEPER, "");
    plan->is_table = args->called_as != NULL;
    return names_check_topics(args, TOPIC);
}

static bool read_plan(struct plan *plan, const struct cli_args *args)
{
    bool is_class = args->called_as && strstr(args->called_as, "UpdateOffsetsInZK");
    return (is_class ? read_kafkas : read_ours)(plan, args) && names_check_group(plan->group);
}

/* ---- the moves of one topic ---- */

static int by_partition(const void *a, const void *b)
{
    int32_t x = ((const struct move *)a)->partition, y = ((const struct move *)b)->partition;
    return (x > y) - (x < y);
}

static enum zkc_err no_offset(struct admin *a, const struct move *m)
{
    why_set(&a->why, "[%s,%d] has no offset that could be shifted; nothing was written", m->topic,
            m->partition);
    return ZKC_ERR_INVALID;
}

static int64_t bounded(int64_t from, int64_t shift, int64_t first, int64_t end)
{
    int64_t to;
    if (__builtin_add_overflow(from, shift, &to))
        to = shift < 0 ? first : end;
    return to < first ? first : to > end ? end : to;
}

/* Where the group is. */
static enum zkc_err find_from(struct admin *a, const struct plan *plan, struct move *m)
{
    if (!plan->is_kept)
        return group_offsets_read(a, plan->group, m->topic, m->partition, &m->from);
    m->from = offset_store_find(&plan->store, m->topic, m->partition);
    return ZKC_OK;
}

/* By shift: between the ends of the log. By time: what is older than everything goes to the
 * beginning. log_ends_read() keeps the order of a list that it has ordered once. */
static enum zkc_err find_places(struct admin *a, const struct plan *plan, struct partition_list *w,
                                struct move *moves)
{
    enum zkc_err err = ZKC_OK;
    int64_t *first = arena_alloc_array(&a->arena, w->count, sizeof *first);
    if (plan->time != TIME_NONE)
        err = group_offsets_ask(a, w, plan->time);
    else
        err = group_offsets_ask(a, w, LIST_OFFSETS_LATEST);
    for (size_t i = 0; !err && i < w->count; i++)
        moves[i] = (struct move){w->list[i].topic, w->list[i].partition, -1, w->list[i].offset};
    for (size_t i = 0; !err && i < w->count; i++)
        err = find_from(a, plan, &moves[i]);
    if (err || !first || (plan->time < 0 && plan->time != TIME_NONE))
        return err ? err : a->arena.failed;
    err = group_offsets_ask(a, w, LIST_OFFSETS_EARLIEST);
    for (size_t i = 0; !err && i < w->count; i++) {
        if (plan->time != TIME_NONE)
            moves[i].to = moves[i].to < 0 ? w->list[i].offset : moves[i].to;
        else if (moves[i].from < 0)
            err = no_offset(a, &moves[i]);
        else
            moves[i].to = bounded(moves[i].from, plan->shift, w->list[i].offset, moves[i].to);
    }
    return err;
}

static enum zkc_err find_moves(struct admin *a, const struct plan *plan, const char *topic,
                               struct move **moves, size_t *count)
{
    struct partition_list w;
    enum zkc_err err = group_offsets_partitions(a, topic, plan->partition, &w);
    if (err)
        return err;
    *count = w.count;
    *moves = arena_alloc_array(&a->arena, w.count, sizeof **moves);
    if (!*moves)
        return a->arena.failed;
    err = find_places(a, plan, &w, *moves);
    if (!err)
        qsort(*moves, w.count, sizeof **moves, by_partition);
    return err;
}

/* ---- all topics ---- */

struct topic_moves {
    struct move *list;
    size_t count;
};

/* Kafka's part of all of them, before any line says that it is written. */
static enum zkc_err commit(struct admin *a, const struct plan *plan, const struct topic_moves *all,
                           size_t topic_count)
{
    size_t count = 0, n = 0;
    for (size_t t = 0; t < topic_count; t++)
        count += all[t].count;
    struct offset_write *list = arena_alloc_array(&a->arena, count + 1, sizeof *list);
    if (!list)
        return a->arena.failed;
    for (size_t t = 0; t < topic_count; t++)
        for (size_t i = 0; i < all[t].count; i++)
            list[n++] = (struct offset_write){all[t].list[i].topic, all[t].list[i].partition,
                                              all[t].list[i].to};
    return offset_store_commit(&plan->store, a, plan->group, list, n);
}

static enum zkc_err write_move(struct admin *a, const struct plan *plan,
                               const struct cli_args *args, const struct move *m)
{
    struct offset_write w = {m->topic, m->partition, m->to};
    if (cli_args_has(args, DRY_RUN))
        return ZKC_OK;
    return offset_store_write_znode(&plan->store, a, plan->group, &w, cli_args_has(args, FORCE));
}

static enum zkc_err write_moves(struct admin *a, const struct plan *plan,
                                const struct cli_args *args, const struct topic_moves *t,
                                struct output *out)
{
    enum zkc_err err = ZKC_OK;
    for (size_t i = 0; !err && i < t->count; i++) {
        const struct move *m = &t->list[i];
        err = write_move(a, plan, args, m);
        if (err)
            break;
        if (plan->is_kafkas)
            buf_appendf(&out->buf, "updating partition %d with new offset: %" PRId64 "\n",
                        m->partition, m->to);
        else if (plan->is_table)
            buf_appendf(&out->buf, "%-30s %-30s %-10d %-15" PRId64 "\n", plan->group, m->topic,
                        m->partition, m->to);
        else
            buf_appendf(&out->buf, "%s:%d:%" PRId64 "\n", m->topic, m->partition, m->to);
        report_status("[%s,%d] from %" PRId64 " to %" PRId64, m->topic, m->partition, m->from,
                      m->to);
    }
    if (plan->is_kafkas && !err)
        buf_appendf(&out->buf, "updated the offset for %zu partitions\n", t->count);
    output_flush(out);
    return err;
}

/* Everything is found before anything is written. */
static enum zkc_err reset(struct admin *a, const struct plan *plan, const struct cli_args *args,
                          const char *const *topics, size_t topic_count, struct output *out)
{
    struct topic_moves *all = arena_alloc_array(&a->arena, topic_count, sizeof *all);
    enum zkc_err err = all ? ZKC_OK : a->arena.failed;
    for (size_t i = 0; !err && i < topic_count; i++)
        err = find_moves(a, plan, topics[i], &all[i].list, &all[i].count);
    if (!err && !cli_args_has(args, DRY_RUN))
        err = commit(a, plan, all, topic_count);
    if (!err && plan->is_table) /* ConsumerGroupCommand.printOffsetsToReset */
        buf_appendf(&out->buf, "\n%-30s %-30s %-10s %-15s\n", "GROUP", "TOPIC", "PARTITION",
                    "NEW-OFFSET");
    for (size_t i = 0; !err && i < topic_count; i++)
        err = write_moves(a, plan, args, &all[i], out);
    return err;
}

static enum zkc_err given_topics(struct admin *a, const struct plan *plan,
                                 const struct cli_args *args, const char *const **topics,
                                 size_t *count)
{
    const char **list = arena_alloc_array(&a->arena, args->given_count + 1, sizeof *list);
    if (!list)
        return a->arena.failed;
    if (plan->topic)
        list[(*count)++] = plan->topic;
    for (const char *t; !plan->topic && (t = cli_args_value(args, TOPIC, *count));)
        list[(*count)++] = t;
    *topics = list;
    return ZKC_OK;
}

static bool is_in(const char *const *list, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && strcmp(list[i], name) != 0)
        i++;
    return i < count;
}

/* Those of which the group has offsets: in znodes, and in Kafka. */
static enum zkc_err own_topics(struct admin *a, const struct plan *plan, const char *const **topics,
                               size_t *count)
{
    struct zk_result found;
    const struct group_view *view = &plan->store.read.view;
    enum zkc_err err = group_offsets_children(a, zk_path_offsets(plan->group), &found);
    if (err)
        return err;
    size_t max = found.children_count + (plan->is_kept ? view->topic_count : 0);
    const char **list = arena_alloc_array(&a->arena, max + 1, sizeof *list);
    if (!list)
        return a->arena.failed;
    for (size_t i = 0; i < found.children_count; i++)
        list[(*count)++] = found.children[i];
    for (size_t t = 0; plan->is_kept && t < view->topic_count; t++)
        if (offset_store_has(&view->topics[t]) && !is_in(list, *count, view->topics[t].name))
            list[(*count)++] = view->topics[t].name;
    *topics = list;
    if (*count > 0)
        return ZKC_OK;
    why_set(&a->why, "group %s has no offsets in ZooKeeper%s; --topic names a topic to begin with",
            plan->group, plan->is_kept ? ", nor in Kafka" : "");
    return ZKC_ERR_INVALID;
}

/* Kafka's tool writes znodes, whatever its file says: what it leaves is told. */
static enum cli_exit look_at_store(struct admin *a, struct plan *plan, const char *const *topics,
                                   size_t count)
{
    size_t left;
    if (plan->is_kafkas) {
        enum zkc_err err =
            offset_store_tell_left(&plan->store, a, plan->group, topics, count, &left);
        if (!err && left)
            report_warning("zkconsumer offsets reset with --property=offsets.storage=kafka writes "
                           "them, too");
        return err ? admin_fail(a, err) : CLI_DONE;
    }
    enum cli_exit code = offset_store_check(&plan->store, a, plan->group, topics, count);
    plan->is_kept = plan->store.storage == OFFSET_STORAGE_KAFKA;
    return code;
}

static enum cli_exit run_with(struct admin *a, struct plan *plan, const struct cli_args *args)
{
    const char *const *topics = NULL;
    size_t count = 0;
    struct output out;
    bool is_given = plan->topic || cli_args_has(args, TOPIC);
    enum zkc_err err =
        cli_args_has(args, FORCE) ? ZKC_OK : group_offsets_refuse_live(a, plan->group);
    if (!err && is_given)
        err = given_topics(a, plan, args, &topics, &count);
    if (err)
        return admin_fail(a, err);
    enum cli_exit code = look_at_store(a, plan, topics, count);
    if (code != CLI_DONE)
        return code;
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    if (!is_given)
        err = own_topics(a, plan, &topics, &count);
    if (!err)
        err = reset(a, plan, args, topics, count, &out);
    code = err ? admin_fail(a, err) : output_finish(&out);
    output_deinit(&out);
    return code == CLI_DONE && plan->store.is_doubtful ? CLI_PROBLEM : code;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct plan plan = {.partition = -1};
    struct admin a;
    enum cli_exit code = CLI_FAILED;
    if (!offset_store_init(&plan.store, args, CONFIG, PROPERTY))
        return CLI_FAILED;
    if (read_plan(&plan, args) &&
        (code = admin_open_at(&a, plan.connect, args, TIMEOUT)) == CLI_DONE) {
        code = run_with(&a, &plan, args);
        admin_close(&a);
    }
    offset_store_deinit(&plan.store);
    free(plan.file_group);
    free(plan.file_connect);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer offsets reset -G billing --to-earliest " EXAMPLE_ZOOKEEPER,
     "Everything again, in all topics of the group."},
    {"zkconsumer offsets reset -G billing -t orders --shift-by=-100 --dry-run " EXAMPLE_ZOOKEEPER,
     "What a step back by 100 messages would be."},
    {"zkconsumer offsets reset -G billing --to-latest -X offsets.storage=kafka " EXAMPLE_ZOOKEEPER,
     "Of a group that keeps its offsets in Kafka."},
    {"kafka-run-class kafka.tools.UpdateOffsetsInZK latest consumer.properties orders",
     "As Kafka's tool; group.id and zookeeper.connect are in the file."},
};
static const struct cli_pair exits[] = {
    {"0", "written (or, with --dry-run, printed)"},
    {"1", "usage, no such topic or partition, nothing to shift, the group has members, or Kafka "
          "refused"},
    {"2", "Kafka keeps offsets of the group, and where to write was not said; nothing is written"},
    {"3", "ZooKeeper, a leader or the group's coordinator could not be reached"},
    {"4", "the time was up"},
};

const struct cli_command command_offsets_reset = {
    .name = "offsets reset",
    .kafka = "kafka.tools.UpdateOffsetsInZK",
    .summary = "Move a group's offsets to a place or a time",
    .synopsis = "--group=GROUP --to-earliest|--to-latest|--to-time=TIME|--shift-by=N "
                "--zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]\n"
                "earliest|latest FILE TOPIC (as kafka.tools.UpdateOffsetsInZK)",
    .description =
        "Asks the leaders first, and writes when all of them have answered. Prints "
        "topic:partition:offset, a line for each offset written. Refused while the group has "
        "members, unless forced. Offsets are written to ZooKeeper; with offsets.storage=kafka to "
        "the group's coordinator, and to ZooKeeper by dual.commit.enabled. Where neither is said "
        "and Kafka keeps offsets of these topics for the group, nothing is written. As Kafka's "
        "tool it writes to ZooKeeper, whatever its file says, and tells what Kafka keeps.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
