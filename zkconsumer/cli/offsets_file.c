/* zkconsumer offsets export and import: all offsets of groups as lines of text, Kafka's format:
 *
 *     /consumers/billing/offsets/orders/0:4711 */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/file.h"
#include "zkconsumer/cli/group_offsets.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/path.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { ZOOKEEPER, TIMEOUT, HELP, FILE_OPTION, COMMON_OPTIONS };
enum { GROUP = COMMON_OPTIONS, EXPORT_OPTIONS };
enum { FORCE = COMMON_OPTIONS, IMPORT_OPTIONS };

static const struct cli_option export_options[EXPORT_OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
    [FILE_OPTION] = {"output-file", 'o', "FILE", false,
                     "Write to this file, over what is there. Default: to stdout."},
    [GROUP] = {"group group.id", 'G', "GROUP", true,
               "Only this group; may be given several times. Default: all groups."},
};

static const struct cli_option import_options[IMPORT_OPTIONS] = {
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [TIMEOUT] = OPTION_TIMEOUT,
    [HELP] = OPTION_HELP,
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

/* One that an ACL protects is named, and keeps nobody from the others. */
static enum zkc_err export_group(struct admin *a, const char *group, struct buf *out, bool *found,
                                 bool *is_missing)
{
    struct zk_result topics;
    struct group_export x = {group, out};
    enum zkc_err err = group_offsets_children(a, zk_path_offsets(group), &topics);
    *found = !err && topics.zk_rc == ZK_OK;
    for (size_t i = 0; !err && i < topics.children_count; i++)
        err = group_offsets_each(a, group, topics.children[i], export_offset, &x);
    const char *refusal = zk_reader_take_refusal(a->zk);
    if (err || !refusal)
        return err;
    report_error("group %s is left out, or a part of it: %s", group, refusal);
    *found = *is_missing = true;
    return ZKC_OK;
}

static enum zkc_err export_all(struct admin *a, const struct cli_args *args, struct buf *out,
                               bool *is_missing)
{
    struct zk_result groups = {0};
    bool found;
    enum zkc_err err = ZKC_OK;
    const char *group;
    if (cli_args_has(args, GROUP))
        zk_reader_allow_refusals(a->zk);
    for (size_t i = 0; !err && (group = cli_args_value(args, GROUP, i)); i++) {
        err = export_group(a, group, out, &found, is_missing);
        if (!err && !found) {
            report_error("group %s has no offsets in ZooKeeper", group);
            *is_missing = true;
        }
    }
    if (!err && !cli_args_has(args, GROUP))
        err = group_offsets_children(a, strdup(ZK_PATH_CONSUMERS), &groups);
    zk_reader_allow_refusals(a->zk);
    for (size_t i = 0; !err && i < groups.children_count; i++)
        err = export_group(a, groups.children[i], out, &found, is_missing);
    return err;
}

static enum cli_exit export_to(struct admin *a, const struct cli_args *args, int fd)
{
    struct output out;
    bool is_missing = false;
    output_init(&out, fd, SIZE_MAX);
    enum zkc_err err = export_all(a, args, &out.buf, &is_missing);
    enum cli_exit code = err ? admin_fail(a, err) : output_finish(&out);
    output_deinit(&out);
    return code == CLI_DONE && is_missing ? CLI_PROBLEM : code;
}

static enum cli_exit run_export(const struct cli_args *args)
{
    static const char example[] = "zkconsumer offsets export " EXAMPLE_ZOOKEEPER " > offsets.txt";
    struct admin a;
    const char *path = cli_args_text(args, FILE_OPTION, NULL);
    if ((!args->called_as && !report_needs(args, ZOOKEEPER, example)) ||
        (args->called_as && !report_needs(args, FILE_OPTION, example)) ||
        !report_takes_no_operands(args) || !names_check_groups(args, GROUP))
        return CLI_FAILED;
    enum cli_exit code = admin_open(&a, args, ZOOKEEPER, TIMEOUT);
    if (code != CLI_DONE)
        return code;
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : STDOUT_FILENO;
    if (fd < 0)
        report_error("%s: %s", path, strerror(errno));
    code = fd < 0 ? CLI_FAILED : export_to(&a, args, fd);
    if (path && fd >= 0 && close(fd) != 0 && code == CLI_DONE) {
        report_error("%s: %s", path, strerror(errno));
        code = CLI_FAILED;
    }
    admin_close(&a);
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

static enum zkc_err import_lines(struct admin *a, const struct cli_args *args,
                                 const struct line *list, size_t count)
{
    bool forced = cli_args_has(args, FORCE);
    enum zkc_err err = forced ? ZKC_OK : refuse_live(a, list, count);
    for (size_t i = 0; !err && i < count; i++) {
        const char *group = copy(a, list[i].where.group), *topic = copy(a, list[i].where.topic);
        err = topic && group ? group_offsets_write(a, group, topic, list[i].where.partition,
                                                   list[i].offset, forced)
                             : a->arena.failed;
    }
    if (!err)
        report_status("%zu offsets written", count);
    return err;
}

static enum cli_exit run_import(const struct cli_args *args)
{
    static const char example[] = "zkconsumer offsets import -i offsets.txt " EXAMPLE_ZOOKEEPER;
    const char *path = cli_args_text(args, FILE_OPTION, "");
    struct admin a;
    struct buf text;
    struct why why;
    size_t count;
    if ((!args->called_as && !report_needs(args, ZOOKEEPER, example)) ||
        !report_needs(args, FILE_OPTION, example) || !report_takes_no_operands(args))
        return CLI_FAILED;
    buf_init(&text, INPUT_BYTES_MAX);
    enum cli_exit code = CLI_FAILED;
    if (!read_whole_file(path, &text, &why) || !buf_text(&text))
        report_error("%s: %s", path, why.text);
    else if ((code = admin_open(&a, args, ZOOKEEPER, TIMEOUT)) == CLI_DONE) {
        struct line *list = parse_lines(&a, path, (char *)text.data, &count);
        enum zkc_err err = list ? import_lines(&a, args, list, count) : ZKC_OK;
        code = !list ? CLI_FAILED : err ? admin_fail(&a, err) : CLI_DONE;
        admin_close(&a);
    }
    buf_deinit(&text);
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
    {"1", "usage, a line that is none (nothing is written), or a group has members"},
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
    .summary = "Write offsets from lines of text to ZooKeeper",
    .synopsis = "--input-file=FILE --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description = "Reads what offsets export (or Kafka's tool) has written. Every line is looked "
                   "at before anything is written; only offsets of groups are written, unlike "
                   "Kafka's tool, which writes to any node that a line names. Empty lines are "
                   "skipped. Refused while one of the groups has members, unless forced.",
    .options = import_options,
    .option_count = IMPORT_OPTIONS,
    .examples = import_examples,
    .example_count = ARRAY_LEN(import_examples),
    .exits = import_exits,
    .exit_count = ARRAY_LEN(import_exits),
    .run = run_import,
};
