/* zkstudy import: a capture of what members said to ZooKeeper, as a trace. */
#include "study/check/line_reader.h"
#include "study/command_trace.h"
#include "study/commands.h"
#include "study/record/import.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/json.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBLEMS_SAID 20

enum {
    OUT,
    GROUP,
    MODE,
    VARIANT,
    STRATEGY,
    BACKOFF,
    RETRIES,
    WRITES,
    ORIGIN,
    SETTLED,
    COUNTS,
    TXN_LOG,
    OPTION_COUNT
};

static const struct cli_option options[OPTION_COUNT] = {
    [OUT] = {"out", 'o', "FILE", false,
             "the trace (.gz: compressed; -: standard output, the rule)"},
    [GROUP] = {"group", 'G', "GROUP", false, "which group, where there are several"},
    [MODE] = {"mode", 0, "MODE", false,
              "of the members: zookeeper:compat (the rule, as Kafka's) or zookeeper:safe"},
    [VARIANT] = {"variant", 0, "NAME", false,
                 "zookeeper.variant of the members: 0.8 (the rule, as Kafka's), 0.7 or documented"},
    [STRATEGY] = {"strategy", 0, "NAME", false,
                  "partition.assignment.strategy of the members (range)"},
    [BACKOFF] = {"rebalance-backoff-ms", 0, "MS", false, "as the members have it (not known)"},
    [RETRIES] = {"rebalance-max-retries", 0, "N", false, "as the members have it (4 to count by)"},
    [WRITES] = {"writes-only", 0, NULL, false,
                "only what was written (zk_txn), beside traces of the members' own"},
    [ORIGIN] = {"origin-ns", 0, "NS", false,
                "trace.origin.ns of the members' own traces (time begins with the capture)"},
    [SETTLED] = {"settled", 0, NULL, false,
                 "the group is at rest at the end: count partitions that nobody has"},
    [COUNTS] = {"counts", 0, NULL, false,
                "instead of a trace: operations of each member between marks, as lines of JSON"},
    [TXN_LOG] = {"txn-log", 0, "PATH", false,
                 "a server's transaction log, file or folder (dataDir/version-2): all writes, "
                 "answered or not, and the ends of sessions"},
};

struct importing {
    struct import *import;
    const char *path;
    uint64_t problems;
};

static void problem(struct importing *x, uint64_t line, const char *what)
{
    if (x->problems++ < PROBLEMS_SAID)
        report_error("%s:%" PRIu64 ": %s", x->path, line, what);
}

/* Lines that cannot be read are left out, and said. False: the file is no capture, or cannot be
 * read. */
static bool read_capture(struct importing *x, struct line_reader *in, struct capture_decoder *d)
{
    struct capture_line line;
    struct why why;
    uint64_t taken = 0;
    enum line_kind kind;
    while ((kind = line_reader_next(in)) == LINE_WHOLE || kind == LINE_LONG) {
        if (kind == LINE_LONG) {
            problem(x, in->number, "expected lines of at most 64 MiB");
            continue;
        }
        if (!capture_decode(d, buf_bytes(&in->line), &line, &why)) {
            problem(x, in->number, why.text);
            if (in->number == 1 && !taken) { /* what begins so is no capture at all */
                return false;
            }
            continue;
        }
        taken++;
        if (!import_take(x->import, &line, &why) && *why.text)
            problem(x, in->number, why.text);
    }
    if (kind == LINE_CUT)
        problem(x, in->number, "the file is cut short in the middle of this line");
    else if (kind == LINE_ERROR)
        problem(x, in->number, line_reader_error(in));
    else if (taken == 0)
        problem(x, in->number, "expected a capture, found an empty file");
    else if (import_has_header(x->import) && !import_has_end(x->import))
        problem(x, in->number, "the capture is cut short: it has no \"end\"");
    if (import_drops(x->import))
        problem(x, in->number, "lines are missing: the recorder could not write them");
    return taken > 0;
}

/* ---- the log of a server ---- */

static bool log_problem(const char *path, const char *what)
{
    report_error("%s: %s", path, what);
    return false;
}

static bool take_txns(struct import *import, const char *path, struct bytes file)
{
    struct txn_log *log = malloc(sizeof *log);
    struct txn txn;
    struct why why;
    enum txn_next next = TXN_BROKEN;
    if (!log)
        return log_problem(path, "out of memory");
    if (txn_log_open(log, file, &why))
        while ((next = txn_log_next(log, &txn, &why)) == TXN_NEXT && import_take_txn(import, &txn))
            ;
    free(log);
    return next != TXN_BROKEN || log_problem(path, why.text);
}

static bool read_txn_file(struct import *import, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) {
        log_problem(path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    size_t len = (size_t)st.st_size;
    void *data = len ? mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    bool ok = data == MAP_FAILED ? log_problem(path, strerror(errno))
                                 : take_txns(import, path, bytes_of(data, len));
    if (data && data != MAP_FAILED)
        munmap(data, len);
    close(fd);
    return ok;
}

/* All files log.ZXID of a folder, or the one that is named. */
static bool read_txn_log(struct import *import, const char *path)
{
    DIR *dir = opendir(path);
    size_t files = 0;
    bool ok = true;
    if (!dir && errno == ENOTDIR)
        return read_txn_file(import, path);
    if (!dir)
        return log_problem(path, strerror(errno));
    for (struct dirent *d; ok && (d = readdir(dir));) {
        char name[4096];
        if (strncmp(d->d_name, "log.", 4) != 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", path, d->d_name);
        ok = read_txn_file(import, name);
        files++;
    }
    closedir(dir);
    return ok && (files || log_problem(path, "expected files log.ZXID in it: a server's "
                                             "dataDir/version-2"));
}

/* ---- counts ---- */

struct counting {
    size_t interval;
    bool is_open;
};

static void end_interval(struct counting *c)
{
    if (c->is_open)
        printf("}}\n");
    c->is_open = false;
}

static void print_text(const char *text)
{
    struct buf quoted;
    buf_init(&quoted, 1 << 20);
    zk_json_append_string(&quoted, text);
    printf("%s", buf_text(&quoted) ? buf_text(&quoted) : "\"\"");
    buf_deinit(&quoted);
}

static void print_counts(const char *mark, size_t interval, const char *member,
                         const struct import_counts *counts, void *user)
{
    struct counting *c = user;
    bool is_first = !c->is_open || c->interval != interval;
    if (is_first) {
        end_interval(c);
        printf("{\"mark\":");
        print_text(mark);
        printf(",\"members\":{");
    }
    printf(is_first ? "" : ",");
    print_text(member);
    printf(":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", counts->reads, counts->writes,
           counts->watches, counts->events);
    *c = (struct counting){interval, true};
}

/* ---- the end ---- */

static void ignore(const struct trace_event *event, void *user)
{
    (void)event, (void)user;
}

static enum cli_exit write_out(struct importing *x, const char *out, bool counts)
{
    struct trace_writer w;
    struct trace_sink sink = {TRACE_LEVEL_MAX, counts ? ignore : trace_writer_emit, &w};
    struct why why;
    if (!counts && !trace_writer_open(&w, out))
        return CLI_FAILED;
    enum zkc_err err = import_finish(x->import, &sink, &why);
    bool ok = counts || trace_writer_close(&w, out);
    if (err && !counts && strcmp(out, "-") != 0)
        unlink(out); /* there is nothing in it */
    if (err)
        report_error("%s: %s", x->path, *why.text ? why.text : "it does not fit into memory");
    if (!err && import_unlogged(x->import)) {
        x->problems++;
        report_error("%s: %" PRIu64 " writes of it are not in the transaction log: expected all of "
                     "the log's files",
                     x->path, import_unlogged(x->import));
    }
    if (counts && (!err || err == ZKC_ERR_INVALID)) {
        struct counting c = {0};
        import_count(x->import, print_counts, &c);
        end_interval(&c);
        ok = fflush(stdout) == 0;
    }
    if (x->problems > PROBLEMS_SAID)
        report_error("and %" PRIu64 " more", x->problems - PROBLEMS_SAID);
    if (x->problems)
        report_error("%s: PARTIAL: %" PRIu64 " problems", x->path, x->problems);
    return ok && !err && !x->problems ? CLI_DONE : CLI_FAILED;
}

static bool read_options(const struct cli_args *args, struct import_options *o)
{
    int64_t retries = 0, origin = 0;
    char why[256];
    const char *mode = cli_args_text(args, MODE, "zookeeper:compat");
    bool is_safe = strcmp(mode, "zookeeper:safe") == 0;
    if (!is_safe && strcmp(mode, "zookeeper:compat") != 0) {
        report_error("--mode=%s: expected zookeeper:compat or zookeeper:safe", mode);
        return false;
    }
    const char *variant = cli_args_text(args, VARIANT, "0.8");
    if (strcmp(variant, "0.8") != 0 && strcmp(variant, "0.7") != 0 &&
        strcmp(variant, "documented") != 0) {
        report_error("--variant=%s: expected 0.8, 0.7 or documented", variant);
        return false;
    }
    *o = (struct import_options){.group = cli_args_text(args, GROUP, NULL),
                                 .strategy = cli_args_text(args, STRATEGY, NULL),
                                 .backoff_ms = -1,
                                 .is_safe = is_safe,
                                 .variant = variant,
                                 .writes_only = cli_args_has(args, WRITES),
                                 .is_settled = cli_args_has(args, SETTLED),
                                 .has_origin = cli_args_has(args, ORIGIN)};
    if (cli_args_number(args, BACKOFF, 0, INT32_MAX, &o->backoff_ms, why, sizeof why) &&
        cli_args_number(args, RETRIES, 1, INT32_MAX, &retries, why, sizeof why) &&
        cli_args_number(args, ORIGIN, 0, INT64_MAX, &origin, why, sizeof why)) {
        o->attempts_max = (uint32_t)retries;
        o->origin_ns = (uint64_t)origin;
        return true;
    }
    report_error("%s", why);
    return false;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct import_options o;
    struct line_reader in;
    struct capture_decoder decoder;
    struct why why;
    if (args->operand_count != 1) {
        report_error("expected one capture: zkstudy import CAPTURE");
        return CLI_FAILED;
    }
    if (!read_options(args, &o))
        return CLI_FAILED;
    struct importing x = {.import = import_new(&o), .path = args->operands[0]};
    enum zkc_err err =
        x.import ? line_reader_open(&in, x.path, CAPTURE_LINE_MAX, &why) : ZKC_ERR_NOMEM;
    enum cli_exit code = CLI_FAILED;
    if (err)
        report_error("%s", err == ZKC_ERR_NOMEM ? "out of memory" : why.text);
    capture_decoder_init(&decoder);
    const char *log = cli_args_text(args, TXN_LOG, NULL);
    if (!err && read_capture(&x, &in, &decoder) && (!log || read_txn_log(x.import, log)))
        code = write_out(&x, cli_args_text(args, OUT, "-"), cli_args_has(args, COUNTS));
    capture_decoder_deinit(&decoder);
    if (x.import)
        line_reader_close(&in);
    import_free(x.import);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkstudy import run.capture -o run.trace && zkstudy check run.trace",
     "the invariants over a run of any members, Kafka's own too"},
    {"zkstudy import --counts run.capture", "[reads, writes, watches, events] of each member"},
};

static const struct cli_pair exits[] = {
    {"0", "done"},
    {"1", "usage, no capture, or lines that could not be read (the result is partial)"},
};

const struct cli_command command_import = {
    .name = "import",
    .summary = "Turn a capture into a trace",
    .synopsis = "[--out=FILE] [--group=GROUP] [--writes-only] [--txn-log=PATH] [--counts] CAPTURE",
    .description =
        "Reads a capture (of zkstudy record, or a golden scene; plain or gzip) and writes the "
        "trace (rbtrace/1) of one group in it: operations, sessions and writes as they were, "
        "and attempts, claims, releases, offsets and views as they follow from the order in "
        "which Kafka 0.8's members ask. zkstudy check and zkstudy story read it. What a "
        "capture cannot show (deliveries, fetching) the checkers do not decide.",
    .options = options,
    .option_count = OPTION_COUNT,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
