/* zkconsumer offsets reset: moves a group's offsets to a place that the leaders are asked for. */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/reset_plan.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

struct move {
    const char *topic;
    int32_t partition;
    int64_t from, to; /* -1: none */
};

struct reset {
    struct admin *admin;
    const struct cli_args *args;
    struct reset_plan *plan;
    bool is_kept; /* the store has been read: Kafka keeps offsets, or may */
};

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

/* Kafka's tool tells it as well (ConsumerGroupCommand.checkOffsetsRange). */
static int64_t bounded(const struct move *m, int64_t to, int64_t first, int64_t end)
{
    int64_t within = to < first ? first : to > end ? end : to;
    if (within != to)
        report_warning("[%s,%d]: %" PRId64 " is %s, %" PRId64 ", which is taken", m->topic,
                       m->partition, to,
                       to < first ? "before the beginning of the log" : "behind its end", within);
    return within;
}

/* Where the group is. */
static enum zkc_err find_from(struct reset *r, struct move *m)
{
    if (!r->is_kept)
        return group_offsets_read(r->admin, r->plan->group, m->topic, m->partition, &m->from);
    m->from = offset_store_find(&r->plan->store, m->topic, m->partition);
    return ZKC_OK;
}

/* What is asked for, as far as the log does not matter. ZKC_ERR_INVALID: nothing to shift. */
static enum zkc_err find_wish(struct reset *r, struct move *m, int64_t *to)
{
    const struct reset_plan *plan = r->plan;
    if (plan->place == RESET_TO_PICKS)
        *to = picks_find(&plan->picks, m->topic, m->partition)->offset;
    else if (plan->place == RESET_TO_OFFSET)
        *to = plan->n;
    else if (m->from < 0)
        return no_offset(r->admin, m);
    else if (__builtin_add_overflow(m->from, plan->n, to))
        *to = plan->n < 0 ? 0 : INT64_MAX;
    return ZKC_OK;
}

/* By time: what is older than everything goes to the beginning. Others: between the ends of the
 * log; log_ends_read() keeps the order of a list that it has ordered once. */
static enum zkc_err find_places(struct reset *r, struct partition_list *w, struct move *moves)
{
    const struct reset_plan *plan = r->plan;
    bool by_time = plan->place == RESET_TO_TIME;
    enum zkc_err err = group_offsets_ask(r->admin, w, by_time ? plan->n : LIST_OFFSETS_LATEST);
    for (size_t i = 0; !err && i < w->count; i++)
        moves[i] = (struct move){w->list[i].topic, w->list[i].partition, -1, w->list[i].offset};
    for (size_t i = 0; !err && i < w->count; i++)
        err = find_from(r, &moves[i]);
    if (!err && plan->place == RESET_TO_CURRENT)
        for (size_t i = 0; i < w->count; i++)
            moves[i].to = moves[i].from < 0 ? moves[i].to : moves[i].from;
    if (err || plan->place == RESET_TO_CURRENT || (by_time && plan->n < 0))
        return err;
    err = group_offsets_ask(r->admin, w, LIST_OFFSETS_EARLIEST);
    for (size_t i = 0; !err && i < w->count; i++) {
        struct move *m = &moves[i];
        int64_t first = w->list[i].offset, wish = 0;
        if (by_time) {
            m->to = m->to < 0 ? first : m->to;
            continue;
        }
        err = find_wish(r, m, &wish);
        if (!err)
            m->to = bounded(m, wish, first, m->to);
    }
    return err;
}

/* Keeps those that were picked, of a topic of which some were. */
static enum zkc_err keep_picked(struct reset *r, const char *topic, struct partition_list *w)
{
    size_t count, kept = 0;
    const struct pick *picked = picks_of(&r->plan->picks, topic, &count);
    for (size_t i = 0; picked && i < w->count; i++)
        if (picks_find(&r->plan->picks, topic, w->list[i].partition))
            w->list[kept++] = w->list[i];
    if (!picked || kept == count) {
        w->count = picked ? kept : w->count;
        return ZKC_OK;
    }
    size_t i = 0; /* both are in order */
    while (i < kept && w->list[i].partition == picked[i].partition)
        i++;
    why_set(&r->admin->why, "topic %s has no partition %" PRId32, topic, picked[i].partition);
    return ZKC_ERR_INVALID;
}

static enum zkc_err find_moves(struct reset *r, const char *topic, struct move **moves,
                               size_t *count)
{
    struct partition_list w;
    enum zkc_err err = group_offsets_partitions(r->admin, topic, r->plan->partition, &w);
    if (!err)
        err = keep_picked(r, topic, &w);
    if (err)
        return err;
    *count = w.count;
    *moves = arena_alloc_array(&r->admin->arena, w.count, sizeof **moves);
    if (!*moves)
        return r->admin->arena.failed;
    err = find_places(r, &w, *moves);
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
static enum zkc_err commit(struct reset *r, const struct topic_moves *all, size_t topic_count)
{
    size_t count = 0, n = 0;
    for (size_t t = 0; t < topic_count; t++)
        count += all[t].count;
    struct offset_write *list = arena_alloc_array(&r->admin->arena, count + 1, sizeof *list);
    if (!list)
        return r->admin->arena.failed;
    for (size_t t = 0; t < topic_count; t++)
        for (size_t i = 0; i < all[t].count; i++)
            list[n++] = (struct offset_write){all[t].list[i].topic, all[t].list[i].partition,
                                              all[t].list[i].to};
    return offset_store_commit(&r->plan->store, r->admin, r->plan->group, list, n);
}

static enum zkc_err write_move(struct reset *r, const struct move *m)
{
    struct offset_write w = {m->topic, m->partition, m->to};
    if (cli_args_has(r->args, RESET_DRY_RUN))
        return ZKC_OK;
    return offset_store_write_znode(&r->plan->store, r->admin, r->plan->group, &w,
                                    cli_args_has(r->args, RESET_FORCE));
}

static void append_move(const struct reset *r, const struct move *m, struct buf *out)
{
    switch (r->plan->format) {
    case RESET_LINES: buf_appendf(out, "%s:%d:%" PRId64 "\n", m->topic, m->partition, m->to); break;
    case RESET_CSV: buf_appendf(out, "%s,%d,%" PRId64 "\n", m->topic, m->partition, m->to); break;
    case RESET_TABLE:
        buf_appendf(out, "%-30s %-30s %-10d %-15" PRId64 "\n", r->plan->group, m->topic,
                    m->partition, m->to);
        break;
    case RESET_UPDATE_TOOLS:
        buf_appendf(out, "updating partition %d with new offset: %" PRId64 "\n", m->partition,
                    m->to);
        break;
    }
}

static enum zkc_err write_moves(struct reset *r, const struct topic_moves *t, struct output *out)
{
    enum zkc_err err = ZKC_OK;
    for (size_t i = 0; !err && i < t->count; i++) {
        const struct move *m = &t->list[i];
        err = write_move(r, m);
        if (err)
            break;
        append_move(r, m, &out->buf);
        report_status("[%s,%d] from %" PRId64 " to %" PRId64, m->topic, m->partition, m->from,
                      m->to);
    }
    if (r->plan->format == RESET_UPDATE_TOOLS && !err)
        buf_appendf(&out->buf, "updated the offset for %zu partitions\n", t->count);
    output_flush(out);
    return err;
}

/* Everything is found before anything is written. */
static enum zkc_err reset(struct reset *r, const char *const *topics, size_t topic_count,
                          struct output *out)
{
    struct topic_moves *all = arena_alloc_array(&r->admin->arena, topic_count, sizeof *all);
    enum zkc_err err = all ? ZKC_OK : r->admin->arena.failed;
    for (size_t i = 0; !err && i < topic_count; i++)
        err = find_moves(r, topics[i], &all[i].list, &all[i].count);
    if (!err && !cli_args_has(r->args, RESET_DRY_RUN))
        err = commit(r, all, topic_count);
    if (!err && r->plan->format == RESET_TABLE) /* ConsumerGroupCommand.printOffsetsToReset */
        buf_appendf(&out->buf, "\n%-30s %-30s %-10s %-15s\n", "GROUP", "TOPIC", "PARTITION",
                    "NEW-OFFSET");
    for (size_t i = 0; !err && i < topic_count; i++)
        err = write_moves(r, &all[i], out);
    return err;
}

static bool is_in(const char *const *list, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && strcmp(list[i], name) != 0)
        i++;
    return i < count;
}

/* Those of which the group has offsets: in znodes, and in Kafka. */
static enum zkc_err own_topics(struct reset *r, const char *const **topics, size_t *count)
{
    struct admin *a = r->admin;
    struct zk_result found;
    const char *group = r->plan->group;
    const struct group_view *view = &r->plan->store.read.view;
    enum zkc_err err = group_offsets_children(a, zk_path_offsets(group), &found);
    if (err)
        return err;
    size_t max = found.children_count + (r->is_kept ? view->topic_count : 0);
    const char **list = arena_alloc_array(&a->arena, max + 1, sizeof *list);
    if (!list)
        return a->arena.failed;
    for (size_t i = 0; i < found.children_count; i++)
        list[(*count)++] = found.children[i];
    for (size_t t = 0; r->is_kept && t < view->topic_count; t++)
        if (offset_store_has(&view->topics[t]) && !is_in(list, *count, view->topics[t].name))
            list[(*count)++] = view->topics[t].name;
    *topics = list;
    if (*count > 0)
        return ZKC_OK;
    why_set(&a->why, "group %s has no offsets in ZooKeeper%s; --topic names a topic to begin with",
            group, r->is_kept ? ", nor in Kafka" : "");
    return ZKC_ERR_INVALID;
}

/* Kafka's tool writes znodes, whatever its file says: what it leaves is told. */
static enum cli_exit look_at_store(struct reset *r)
{
    size_t left;
    struct reset_plan *plan = r->plan;
    if (plan->format == RESET_UPDATE_TOOLS) {
        enum zkc_err err = offset_store_tell_left(&plan->store, r->admin, plan->group, plan->topics,
                                                  plan->topic_count, &left);
        if (!err && left)
            report_warning("zkconsumer offsets reset with --property=offsets.storage=kafka writes "
                           "them, too");
        return err ? admin_fail(r->admin, err) : CLI_DONE;
    }
    enum cli_exit code =
        offset_store_check(&plan->store, r->admin, plan->group, plan->topics, plan->topic_count);
    r->is_kept = plan->store.storage == OFFSET_STORAGE_KAFKA;
    return code;
}

static enum cli_exit run_with(struct reset *r)
{
    struct reset_plan *plan = r->plan;
    const char *const *topics = plan->topics;
    size_t count = plan->topic_count;
    struct output out;
    enum zkc_err err = cli_args_has(r->args, RESET_FORCE)
                           ? ZKC_OK
                           : group_offsets_refuse_live(r->admin, plan->group);
    if (err)
        return admin_fail(r->admin, err);
    enum cli_exit code = look_at_store(r);
    if (code != CLI_DONE)
        return code;
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    if (count == 0)
        err = own_topics(r, &topics, &count);
    if (!err)
        err = reset(r, topics, count, &out);
    code = err ? admin_fail(r->admin, err) : output_finish(&out);
    output_deinit(&out);
    return code == CLI_DONE && plan->store.is_doubtful ? CLI_PROBLEM : code;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct reset_plan plan;
    struct admin a;
    if (!reset_plan_init(&plan, args))
        return CLI_FAILED;
    enum cli_exit code = admin_open_at(&a, plan.connect, args, RESET_TIMEOUT);
    if (code == CLI_DONE) {
        struct reset r = {.admin = &a, .args = args, .plan = &plan};
        code = run_with(&r);
        admin_close(&a);
    }
    reset_plan_deinit(&plan);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer offsets reset -G billing --to-earliest " EXAMPLE_ZOOKEEPER,
     "Everything again, in all topics of the group."},
    {"zkconsumer offsets reset -G billing -t orders --shift-by=-100 --dry-run " EXAMPLE_ZOOKEEPER,
     "What a step back by 100 messages would be."},
    {"zkconsumer offsets reset -G billing -t orders:0-3 --by-duration=PT6H " EXAMPLE_ZOOKEEPER,
     "The last six hours of four partitions again."},
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
    .synopsis = "--group=GROUP --to-earliest|--to-latest|--to-time=TIME|--by-duration=PnDTnHnMnS|"
                "--to-offset=N|--shift-by=N|--to-current|--from-file=FILE "
                "--zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]\n"
                "earliest|latest FILE TOPIC (as kafka.tools.UpdateOffsetsInZK)",
    .description =
        "Asks the leaders first, and writes when all of them have answered. Prints "
        "topic:partition:offset, a line for each offset written (--export: with commas). Refused "
        "while the group has "
        "members, unless forced. Offsets are written to ZooKeeper; with offsets.storage=kafka to "
        "the group's coordinator, and to ZooKeeper by dual.commit.enabled. Where neither is said "
        "and Kafka keeps offsets of these topics for the group, nothing is written. As Kafka's "
        "tool it writes to ZooKeeper, whatever its file says, and tells what Kafka keeps.",
    .options = reset_options,
    .option_count = RESET_OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
