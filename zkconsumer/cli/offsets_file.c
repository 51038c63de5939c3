/* zkconsumer offsets export and import: all offsets of groups as lines of text, Kafka's format:
 *
 *     /consumers/billing/offsets/orders/0:4711 */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/file.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/offset_store.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/path.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { ZOOKEEPER, TIMEOUT, HELP, FILE_OPTION, CONFIG, PROPERTY, COMMON_OPTIONS };
enum { GROUP = COMMON_OPTIONS, EXPORT_OPTIONS };
enum { FORCE = COMMON_OPTIONS, IMPORT_OPTIONS };

static const struct cli_option export_options[EXPORT_OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
    [CONFIG] = OPTION_STORE_CONFIG,
    [PROPERTY] = OPTION_STORE_PROPERTY,
    [FILE_OPTION] = {"output-file", 'o', "FILE", false,
                     "Write to this file, over what is there. Default: to stdout."},
    [GROUP] = {"group group.id", 'G', "GROUP", true,
               "Only this group; may be given several times. Default: all groups."},
};

static const struct cli_option import_options[IMPORT_OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
    [CONFIG] = OPTION_STORE_CONFIG,
    [PROPERTY] = OPTION_STORE_PROPERTY,
    [FILE_OPTION] = {"input-file", 'i', "FILE", false, "Lines as `offsets export` writes them."},
    [FORCE] = {"force", 0, NULL, false,
               "Write also to groups that have members, as offsets reset --force does."},
};

#define INPUT_BYTES_MAX ((size_t)1 << 30)

/* ---- export ---- */

struct group_export {
    const char *group;
    struct buf *out;
};

static bool export_offset(const struct group_offset *o, void *user)
{
    const struct group_export *x = user;
    if (o->trouble)
        report_warning("%s [%s,%d]: %s; it is left out", x->group, o->topic, o->partition,
                       o->trouble);
    else
        buf_appendf(x->out, "/consumers/%s/offsets/%s/%d:%" PRId64 "\n", x->group, o->topic,
                    o->partition, o->offset);
    return true;
}

struct export
{
    struct admin *admin;
    struct offset_store store;
    bool may_be_kafka; /* Kafka is asked of each group */
    enum zkc_err kafka_err;
    bool is_missing;
};

/* Of both stores; *found stays if there is none. */
static enum zkc_err export_kept(struct export *e, const char *group, struct buf *out, bool *found)
{
    struct group_export x = {group, out};
    size_t begin = out->len;
    enum zkc_err kafka_err;
    enum zkc_err err = offset_store_read(&e->store, e->admin, group, NULL, 0, &kafka_err);
    if (err)
        return err;
    e->kafka_err = e->kafka_err ? e->kafka_err : kafka_err;
    size_t stored = offset_store_each(&e->store, NULL, export_offset, &x);
    if (stored)
        report_status("%zu offsets of group %s are Kafka's", stored, group);
    *found |= out->len > begin;
    return ZKC_OK;
}

static enum zkc_err export_znodes(struct admin *a, const char *group, struct buf *out, bool *found)
{
    struct zk_result topics;
    struct group_export x = {group, out};
    enum zkc_err err = group_offsets_children(a, zk_path_offsets(group), &topics);
    *found = !err && topics.zk_rc == ZK_OK;
    for (size_t i = 0; !err && i < topics.children_count; i++)
        err = group_offsets_each(a, group, topics.children[i], export_offset, &x);
    return err;
}

/* One that an ACL protects is named, and keeps nobody from the others. */
static enum zkc_err export_group(struct export *e, const char *group, struct buf *out, bool *found)
{
    struct admin *a = e->admin;
    *found = false;
    enum zkc_err err =
        e->may_be_kafka ? export_kept(e, group, out, found) : export_znodes(a, group, out, found);
    const char *refusal = zk_reader_take_refusal(a->zk);
    if (err || !refusal)
        return err;
    report_error("group %s is left out, or a part of it: %s", group, refusal);
    *found = e->is_missing = true;
    return ZKC_OK;
}

/* Kafka's own tool writes what is in znodes. */
static enum zkc_err tell_left(struct export *e, const struct cli_args *args)
{
    enum zkc_err err = ZKC_OK;
    const char *group;
    size_t left;
    for (size_t i = 0; !err && (group = cli_args_value(args, GROUP, i)); i++)
        err = offset_store_tell_left(&e->store, e->admin, group, NULL, 0, &left);
    return err;
}

static enum zkc_err export_all(struct export *e, const struct cli_args *args, struct buf *out)
{
    struct admin *a = e->admin;
    struct zk_result groups = {0};
    bool found;
    const char *group;
    enum zkc_err err = args->called_as ? tell_left(e, args)
                                       : offset_store_may_be_kafka(&e->store, a, &e->may_be_kafka);
    if (cli_args_has(args, GROUP))
        zk_reader_allow_refusals(a->zk);
    for (size_t i = 0; !err && (group = cli_args_value(args, GROUP, i)); i++) {
        err = export_group(e, group, out, &found);
        if (!err && !found) {
            report_error("group %s has no offsets in ZooKeeper%s", group,
                         e->may_be_kafka && !e->kafka_err ? ", nor in Kafka" : "");
            e->is_missing = true;
        }
    }
    if (!err && !cli_args_has(args, GROUP))
        err = group_offsets_children(a, strdup(ZK_PATH_CONSUMERS), &groups);
    zk_reader_allow_refusals(a->zk);
    for (size_t i = 0; !err && i < groups.children_count; i++)
        err = export_group(e, groups.children[i], out, &found);
    return err;
}

static enum cli_exit export_to(struct export *e, const struct cli_args *args, int fd)
{
    struct output out;
    output_init(&out, fd, SIZE_MAX);
    enum zkc_err err = export_all(e, args, &out.buf);
    enum cli_exit code = err ? admin_fail(e->admin, err) : output_finish(&out);
    output_deinit(&out);
    return code != CLI_DONE ? code : e->is_missing ? CLI_PROBLEM : report_exit_of(e->kafka_err);
}

static enum cli_exit run_export(const struct cli_args *args)
{
    static const char example[] = "zkconsumer offsets export " EXAMPLE_ZOOKEEPER " > offsets.txt";
    struct admin a;
    struct export e = {.admin = &a};
    const char *path = cli_args_text(args, FILE_OPTION, NULL);
    if ((!args->called_as && !report_needs(args, ZOOKEEPER, example)) ||
        (args->called_as && !report_needs(args, FILE_OPTION, example)) ||
        !report_takes_no_operands(args) || !names_check_groups(args, GROUP) ||
        !offset_store_init(&e.store, args, CONFIG, PROPERTY))
        return CLI_FAILED;
    enum cli_exit code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
    if (code != CLI_DONE) {
        offset_store_deinit(&e.store);
        return code;
    }
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : STDOUT_FILENO;
    if (fd < 0)
        report_error("%s: %s", path, strerror(errno));
    code = fd < 0 ? CLI_FAILED : export_to(&e, args, fd);
    if (path && fd >= 0 && close(fd) != 0 && code == CLI_DONE) {
        report_error("%s: %s", path, strerror(errno));
        code = CLI_FAILED;
    }
    admin_close(&a);
    offset_store_deinit(&e.store);
    return code;
}

/* ---- import ---- */

struct line {
    struct zk_path_parts where; /* views into the file's text */
    int64_t offset;
};

/* "/consumers/<g>/offsets/<t>/<p>:<offset>", cut at the colon: names have none. */
static bool parse_line(char *text, struct line *out)
{
    char *colon = strrchr(text, ':');
    if (!colon || !cli_parse_number(colon + 1, -1, INT64_MAX, &out->offset))
        return false;
    *colon = 0;
    out->where = zk_path_parse(text);
    return out->where.kind == ZK_PATH_OFFSET;
}

/* As Kafka's ImportZkOffsets does, up to the first empty line; what stands behind it is told. */
static void warn_of_rest(const char *path, size_t number, const char *rest)
{
    size_t lines = 0;
    for (const char *at = rest; at && *at; at = strchr(at, '\n'), at += at != NULL)
        lines += *at != '\n' && *at != '\r';
    if (lines)
        report_warning(
            "%s, line %zu is empty and ends what is read, as in Kafka: %zu lines behind it "
            "are left out",
            path, number, lines);
}

/* NULL, with the number of the line reported, if one of them is odd: then nothing is written. */
static struct line *parse_lines(struct admin *a, const char *path, char *text, size_t *count)
{
    size_t max = 1, number = 0;
    for (const char *c = text; *c; c++)
        max += *c == '\n';
    struct line *list = arena_alloc_array(&a->arena, max, sizeof *list);
    *count = 0;
    if (!list)
        report_error("%s: %s", path, zkc_err_text(a->arena.failed));
    for (char *at = text; list && at && *at;) {
        char *line = at;
        at = strchr(at, '\n');
        if (at)
            *at++ = 0;
        number++;
        size_t len = strlen(line);
        if (len && line[len - 1] == '\r')
            line[--len] = 0;
        if (!len) {
            warn_of_rest(path, number, at);
            break;
        }
        if (!parse_line(line, &list[(*count)++])) {
            report_error("%s, line %zu: expected /consumers/GROUP/offsets/TOPIC/PARTITION:OFFSET; "
                         "nothing was written",
                         path, number);
            return NULL;
        }
    }
    return list;
}

static const char *copy(struct admin *a, struct bytes name)
{
    return arena_format(&a->arena, "%.*s", (int)name.len, (const char *)name.data);
}

/* Groups come in runs. */
static enum zkc_err refuse_live(struct admin *a, const struct line *list, size_t count)
{
    enum zkc_err err = ZKC_OK;
    for (size_t i = 0; !err && i < count; i++) {
        if (i && bytes_compare(list[i - 1].where.group, list[i].where.group) == 0)
            continue;
        const char *group = copy(a, list[i].where.group);
        err = group ? group_offsets_refuse_live(a, group) : a->arena.failed;
    }
    return err;
}

/* One run of lines of a group. */
struct run {
    const char *group;
    struct offset_write *list;
    const char **topics; /* of each */
    size_t count;
};

static struct run *find_runs(struct admin *a, const struct line *list, size_t count,
                             size_t *run_count)
{
    struct run *runs = arena_alloc_array(&a->arena, count + 1, sizeof *runs);
    struct offset_write *writes = arena_alloc_array(&a->arena, count + 1, sizeof *writes);
    const char **topics = arena_alloc_array(&a->arena, count + 1, sizeof *topics);
    *run_count = 0;
    for (size_t i = 0; runs && writes && topics && i < count; i++) {
        if (i == 0 || bytes_compare(list[i - 1].where.group, list[i].where.group) != 0)
            runs[(*run_count)++] =
                (struct run){copy(a, list[i].where.group), &writes[i], &topics[i], 0};
        topics[i] = copy(a, list[i].where.topic);
        writes[i] = (struct offset_write){topics[i], list[i].where.partition, list[i].offset};
        runs[*run_count - 1].count++;
    }
    return a->arena.failed ? NULL : runs;
}

static enum cli_exit check_runs(struct admin *a, struct offset_store *s,
                                const struct cli_args *args, const struct run *runs, size_t count)
{
    enum cli_exit code = CLI_DONE;
    size_t left;
    for (size_t i = 0; code == CLI_DONE && i < count; i++) {
        const struct run *r = &runs[i];
        enum zkc_err err = ZKC_OK;
        if (!args->called_as)
            code = offset_store_check(s, a, r->group, r->topics, r->count);
        else
            err = offset_store_tell_left(s, a, r->group, r->topics, r->count, &left);
        if (err)
            code = admin_fail(a, err);
    }
    return code;
}

static enum cli_exit import_lines(struct admin *a, struct offset_store *s,
                                  const struct cli_args *args, const struct line *list,
                                  size_t count)
{
    bool forced = cli_args_has(args, FORCE);
    size_t run_count;
    struct run *runs = find_runs(a, list, count, &run_count);
    enum zkc_err err = !runs ? a->arena.failed : forced ? ZKC_OK : refuse_live(a, list, count);
    if (err)
        return admin_fail(a, err);
    enum cli_exit code = check_runs(a, s, args, runs, run_count);
    if (code != CLI_DONE)
        return code;
    for (size_t i = 0; !err && i < run_count; i++) {
        const struct run *r = &runs[i];
        err = offset_store_commit(s, a, r->group, r->list, r->count);
        for (size_t n = 0; !err && n < r->count; n++)
            err = offset_store_write_znode(s, a, r->group, &r->list[n], forced);
    }
    if (err)
        return admin_fail(a, err);
    report_status("%zu offsets written", count);
    return s->is_doubtful ? CLI_PROBLEM : CLI_DONE;
}

static enum cli_exit run_import(const struct cli_args *args)
{
    static const char example[] = "zkconsumer offsets import -i offsets.txt " EXAMPLE_ZOOKEEPER;
    const char *path = cli_args_text(args, FILE_OPTION, "");
    struct admin a;
    struct buf text;
    struct why why;
    struct offset_store store;
    size_t count;
    if ((!args->called_as && !report_needs(args, ZOOKEEPER, example)) ||
        !report_needs(args, FILE_OPTION, example) || !report_takes_no_operands(args) ||
        !offset_store_init(&store, args, CONFIG, PROPERTY))
        return CLI_FAILED;
    buf_init(&text, INPUT_BYTES_MAX);
    enum cli_exit code = CLI_FAILED;
    if (!read_whole_file(path, &text, &why) || !buf_text(&text))
        report_error("%s: %s", path, why.text);
    else if ((code = admin_open(&a, args, ZOOKEEPER, TIMEOUT)) == CLI_DONE) {
        struct line *list = parse_lines(&a, path, (char *)text.data, &count);
        code = list ? import_lines(&a, &store, args, list, count) : CLI_FAILED;
        admin_close(&a);
    }
    buf_deinit(&text);
    offset_store_deinit(&store);
    return code;
}

static const struct cli_pair export_examples[] = {
    {"zkconsumer offsets export -G billing " EXAMPLE_ZOOKEEPER " > billing.txt",
     "A copy of the group's offsets."},
};
static const struct cli_pair import_examples[] = {
    {"zkconsumer offsets import -i billing.txt " EXAMPLE_ZOOKEEPER, "Back to that copy."},
};
static const struct cli_pair export_exits[] = {
    {"0", "written"},
    {"1", "usage, or the file cannot be written"},
    {"2", "a group that was asked for has no offsets, or an ACL protects one; the others are "
          "written"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "the time was up"},
};
static const struct cli_pair import_exits[] = {
    {"0", "all written"},
    {"1", "usage, a line that is none (nothing is written), a group has members, or Kafka refused"},
    {"2", "Kafka keeps offsets of a group, and where to write was not said: nothing is written; or "
          "that is not known"},
    {"3", "ZooKeeper could not be reached"},
    {"4", "the time was up; lines before may have been written"},
};

const struct cli_command command_offsets_export = {
    .name = "offsets export",
    .kafka = "kafka.tools.ExportZkOffsets",
    .summary = "Write the offsets of groups as lines of text",
    .synopsis = "[--group=GROUP ...] --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description = "A line for each offset, /consumers/GROUP/offsets/TOPIC/PARTITION:OFFSET, as "
                   "Kafka's tool writes them, by group, topic and partition. An offset that is no "
                   "number is told and left out, and so is a group that an ACL protects.",
    .options = export_options,
    .option_count = EXPORT_OPTIONS,
    .examples = export_examples,
    .example_count = ARRAY_LEN(export_examples),
    .exits = export_exits,
    .exit_count = ARRAY_LEN(export_exits),
    .run = run_export,
};

const struct cli_command command_offsets_import = {
    .name = "offsets import",
    .kafka = "kafka.tools.ImportZkOffsets",
    .summary = "Write the offsets of groups from lines of text",
    .synopsis = "--input-file=FILE --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description = "Reads what offsets export (or Kafka's tool) has written. Every line is looked "
                   "at before anything is written; only offsets of groups are written, unlike "
                   "Kafka's tool, which writes to any node that a line names. Empty lines are "
                   "skipped. Refused while one of the groups has members, unless forced. With "
                   "offsets.storage=kafka they go to the groups' coordinators, and to ZooKeeper by "
                   "dual.commit.enabled. Kafka's tool writes to ZooKeeper only, and so it does "
                   "under that name, and tells what stays.",
    .options = import_options,
    .option_count = IMPORT_OPTIONS,
    .examples = import_examples,
    .example_count = ARRAY_LEN(import_examples),
    .exits = import_exits,
    .exit_count = ARRAY_LEN(import_exits),
    .run = run_import,
};
