/* zkconsumer groups watch: a group as it changes.
 *
 * Everything is read with watches, so that changes of members, owners and offsets come at once, and
 * again each interval, for the log ends and for offsets in Kafka, which nothing tells of. What was
 * read is compared with the reading before (group_diff.h): plain lines, or a screen (group_lanes.h)
 * on a terminal. */
#include "zkconsumer/cli/clock.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/group_lanes.h"
#include "zkconsumer/cli/group_read.h"
#include "zkconsumer/cli/group_stored.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/stop.h"
#include "zkconsumer/core/base/array.h"
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { GROUP, ZOOKEEPER, STRATEGY, INTERVAL, PLAIN, TIMEOUT, HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [GROUP] = {"group group.id", 'G', "GROUP", false, "The group."},
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [STRATEGY] = OPTION_STRATEGY,
    [INTERVAL] = {"interval", 'i', "MS", false,
                  "Look at the ends of the logs so often; on a terminal a column of a lane. "
                  "Default: 1000."},
    [PLAIN] = {"plain", 0, NULL, false, "Lines also on a terminal."},
    [TIMEOUT] = {"timeout", 0, "MS", false, "How long one reading may take. Default: 30000."},
    [HELP] = OPTION_HELP,
};

#define ANSWERS_BYTES_MAX ((size_t)1 << 30)
#define SCREEN_BYTES_MAX  ((size_t)64 << 20)
#define SETTLE_MS         100  /* between a change and the reading: changes come in bunches */
#define STORED_PAUSE_MS   5000 /* until offsets in Kafka that could not be had are asked for again \
                                */

struct plan {
    const char *group, *connect;
    enum assign_strategy strategy;
    bool is_strategy_given;
    int64_t interval_ms, timeout_ms;
    bool is_screen;
};

struct moment {
    struct arena arena;
    struct group_read read;
    struct group_problems problems;
    bool is_there;
};

struct watch {
    const struct plan *plan;
    struct zk_reader *r; /* NULL: not connected */
    struct moment moments[2];
    size_t latest; /* of the two */
    struct group_lanes lanes;
    struct output out;
    int64_t tick_ms;   /* when the next column begins */
    bool has_stored;   /* the group's offsets were Kafka's when they were last to be had */
    bool stored_fails; /* they are not to be had, which was told */
    int64_t stored_ms; /* when they are asked for again */
    bool has_shown;
    struct why why;
};

/* "2015-02-26T21:33:20.123Z" */
static void format_time(char room[32])
{
    struct timespec t;
    struct tm tm;
    char seconds[24];
    clock_gettime(CLOCK_REALTIME, &t);
    gmtime_r(&t.tv_sec, &tm);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(room, 32, "%s.%03dZ", seconds, (int)(t.tv_nsec / 1000000));
}

/* ---- showing ---- */

static void draw(struct watch *w, const struct group_moment *now, const char *time)
{
    struct winsize size = {.ws_col = 80, .ws_row = 24};
    ioctl(w->out.fd, TIOCGWINSZ, &size);
    buf_append_text(&w->out.buf, "\033[H\033[2J"); /* home, clear */
    group_lanes_append(&w->lanes, now, time, (int)w->plan->interval_ms,
                       size.ws_col ? size.ws_col : 80, size.ws_row > 1 ? size.ws_row - 1U : 24,
                       &w->out.buf);
}

static void show(struct watch *w)
{
    const struct moment *m = &w->moments[w->latest], *old = &w->moments[!w->latest];
    struct group_moment now = {&m->read.view, &m->problems};
    struct group_moment before = {&old->read.view, &old->problems};
    char time[32];
    struct buf lines;
    buf_init(&lines, SCREEN_BYTES_MAX);
    format_time(time);
    group_diff_append(old->is_there ? &before : NULL, &now, time, &lines);
    const char *text = buf_text(&lines);
    if (text && w->plan->is_screen) {
        group_lanes_note(&w->lanes, now.view);
        group_lanes_add_events(&w->lanes, text);
        draw(w, &now, time);
    } else if (text) {
        buf_append_text(&w->out.buf, text);
    }
    buf_deinit(&lines);
    output_flush(&w->out);
}

/* ---- reading ---- */

/* ZooKeeper's offsets do not stand for Kafka's while those are not to be had. */
static void leave_unknown(const struct group_view *view)
{
    for (size_t t = 0; t < view->topic_count; t++)
        for (size_t p = 0; p < view->topics[t].partition_count; p++)
            view->topics[t].partitions[p].offset = GROUP_UNKNOWN;
}

static void read_stored(struct watch *w, struct moment *m)
{
    struct why why;
    bool may_ask = !w->stored_fails || clock_now_ms() >= w->stored_ms;
    if (may_ask && group_stored_read(w->r, &m->read, &m->arena, &why) == ZKC_OK) {
        if (w->stored_fails)
            report_status("offsets in Kafka are known again");
        w->stored_fails = false;
        w->has_stored = group_stored_has(&m->read.view);
        return;
    }
    if (may_ask && !w->stored_fails)
        report_warning("offsets in Kafka are not known: %s", why.text);
    if (may_ask)
        w->stored_ms = clock_now_ms() + STORED_PAUSE_MS;
    w->stored_fails = true;
    if (w->has_stored)
        leave_unknown(&m->read.view);
}

static enum zkc_err read_group(struct watch *w)
{
    struct group_read_options what = {.watch = true};
    struct moment *m = &w->moments[!w->latest];
    if (!zk_reader_extend(w->r, w->plan->timeout_ms)) {
        why_set(&w->why, "no timer to be had");
        return ZKC_ERR_SYSTEM;
    }
    m->is_there = false;
    enum zkc_err err = group_read(w->r, w->plan->group, &what, &m->arena, &m->read, &w->why);
    if (!err && m->read.view.exists)
        read_stored(w, m);
    if (!err)
        err = group_check(
            &m->read.view,
            group_check_rule(&m->read.view, w->plan->is_strategy_given ? &w->plan->strategy : NULL),
            &m->arena, &m->problems);
    if (err)
        return err;
    m->is_there = true;
    w->latest = !w->latest;
    return ZKC_OK;
}

/* Until something has changed, or it is time for another look. */
static enum zkc_err wait_for_change(struct watch *w)
{
    bool is_changed = false;
    int64_t left = w->tick_ms - clock_now_ms();
    enum zkc_err err = zk_reader_wait(w->r, left > 0 ? left : 0, stop_fd(), &is_changed, &w->why);
    if (!err && is_changed && !stop_is_requested()) {
        struct pollfd stop = {.fd = stop_fd(), .events = POLLIN};
        poll(&stop, 1, SETTLE_MS);
    }
    return err;
}

static void end_column(struct watch *w)
{
    if (clock_now_ms() < w->tick_ms)
        return;
    w->tick_ms = clock_now_ms() + w->plan->interval_ms;
    group_lanes_tick(&w->lanes);
}

/* One session with ZooKeeper, as long as it lasts. */
static enum zkc_err watch_session(struct watch *w)
{
    enum zkc_err err = zk_reader_open(w->plan->connect, w->plan->timeout_ms, &w->r, &w->why);
    while (!err && !stop_is_requested() && w->out.state == OUTPUT_OPEN) {
        err = read_group(w);
        if (err)
            break;
        show(w);
        w->has_shown = true;
        end_column(w);
        err = wait_for_change(w);
    }
    if (w->r)
        zk_reader_close(w->r);
    w->r = NULL;
    return err;
}

static bool may_come_back(enum zkc_err err)
{
    return err == ZKC_ERR_UNREACHABLE || err == ZKC_ERR_TIMED_OUT;
}

/* Who has begun to watch goes on when ZooKeeper was away; who could not begin is told. */
static enum cli_exit watch_all(struct watch *w)
{
    enum zkc_err err = ZKC_OK;
    while (!stop_is_requested() && w->out.state == OUTPUT_OPEN) {
        err = watch_session(w);
        if (!err || !w->has_shown || !may_come_back(err))
            break;
        report_warning("%s; trying again", w->why.text);
        struct pollfd stop = {.fd = stop_fd(), .events = POLLIN};
        poll(&stop, 1, (int)w->plan->interval_ms);
    }
    if (!err || stop_is_requested())
        return output_finish(&w->out);
    report_error("%s", w->why.text[0] ? w->why.text : zkc_err_text(err));
    return report_exit_of(err);
}

/* ---- running ---- */

static bool read_plan(struct plan *plan, const struct cli_args *args)
{
    static const char example[] = "zkconsumer groups watch -G billing " EXAMPLE_ZOOKEEPER;
    char text[256];
    *plan = (struct plan){
        .group = cli_args_text(args, GROUP, ""),
        .connect = cli_args_text(args, ZOOKEEPER, ""),
        .is_strategy_given = cli_args_has(args, STRATEGY),
        .interval_ms = 1000,
        .timeout_ms = OPTION_TIMEOUT_DEFAULT_MS,
        .is_screen = isatty(STDOUT_FILENO) && !cli_args_has(args, PLAIN),
    };
    if (!report_needs(args, GROUP, example) || !report_needs(args, ZOOKEEPER, example) ||
        !report_takes_no_operands(args) ||
        !group_check_parse_strategy(cli_args_text(args, STRATEGY, "range"), &plan->strategy))
        return false;
    if (!cli_args_number(args, INTERVAL, 100, 3600000, &plan->interval_ms, text, sizeof text) ||
        !cli_args_number(args, TIMEOUT, 1, INT32_MAX, &plan->timeout_ms, text, sizeof text)) {
        report_error("%s", text);
        return false;
    }
    return names_check_group(plan->group);
}

static enum cli_exit run(const struct cli_args *args)
{
    struct plan plan;
    struct watch w = {.plan = &plan};
    if (!read_plan(&plan, args) || !stop_init())
        return CLI_FAILED;
    w.tick_ms = clock_now_ms() + plan.interval_ms;
    for (size_t i = 0; i < 2; i++)
        arena_init(&w.moments[i].arena, ANSWERS_BYTES_MAX);
    group_lanes_init(&w.lanes);
    output_init(&w.out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    enum cli_exit code = watch_all(&w);
    output_deinit(&w.out);
    group_lanes_deinit(&w.lanes);
    for (size_t i = 0; i < 2; i++)
        arena_deinit(&w.moments[i].arena);
    return code;
}

static const struct cli_pair examples[] = {
    {"zkconsumer groups watch -G billing " EXAMPLE_ZOOKEEPER,
     "A screen with a lane for each partition; Ctrl-C ends it."},
    {"zkconsumer groups watch -G billing " EXAMPLE_ZOOKEEPER " | grep owner",
     "Every change of hands, as a line."},
};
static const struct cli_pair exits[] = {
    {"0", "ended by Ctrl-C, or the reader of stdout has gone"},
    {"1", "usage, or stdout could not be written"},
    {"3", "ZooKeeper could not be reached at the start"},
    {"4", "it did not answer in time at the start"},
};

const struct cli_command command_groups_watch = {
    .name = "groups watch",
    .summary = "Show a group as it changes: owners, offsets, lag, problems",
    .synopsis = "--group=GROUP --zookeeper=HOST:PORT[,...][/CHROOT] [OPTION ...]",
    .description =
        "On a terminal, a screen: for each partition its owner, offset, lag, and a lane of time in "
        "which a letter stands for an owner and a dot for none; below, who the letters are, what "
        "is wrong (as in groups describe), and what has happened.\n"
        "Elsewhere a line for each event: time, then member joined or left, owner (from -> to), "
        "offset with log end and lag, problem, solved. The first lines are the state at the "
        "start.\n"
        "Offsets are Kafka's where the group keeps them there (offsets.storage=kafka), as in "
        "groups "
        "describe; those are asked for each interval.\n"
        "ZooKeeper's watches tell of changes; what changes twice within a reading is seen once. "
        "Nothing is written. A ZooKeeper that goes away is waited for.",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
