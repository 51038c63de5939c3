/* zkconsumer consume: joins a group, or reads single partitions, and writes messages to stdout.
 *
 * The library's loop has a thread of its own, so that a slow reader of stdout does not keep the
 * ZooKeeper session from being served. The main thread takes messages and writes them; while there
 * are none it sleeps in poll() on the streams' descriptors, for a signal, and for stdout being
 * closed. Callbacks on the loop's thread only write status lines and set flags.
 *
 * The end is always the same: stop taking, write what was taken, close the consumer (which commits
 * what was taken and gives partitions back), and remove the group if it was made up. */
#include "zkconsumer/cli/clock.h"
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/conf_keys.h"
#include "zkconsumer/cli/consume_exec.h"
#include "zkconsumer/cli/consume_plan.h"
#include "zkconsumer/cli/ends.h"
#include "zkconsumer/cli/group_held.h"
#include "zkconsumer/cli/group_traces.h"
#include "zkconsumer/cli/held.h"
#include "zkconsumer/cli/json_text.h"
#include "zkconsumer/cli/metrics_server.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/starts.h"
#include "zkconsumer/cli/stop.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/filter.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
#include <zkconsumer/consumer.h>

#define JOIN_SLICE_MS 100 /* how late a signal is seen while the first rebalance goes on */
#define ENDS_INTERVAL_MS                                                                           \
    100 /* how often partitions are asked for their ends, while they matter                        \
         */
#define CLOSE_MIN_MS 10000
#define ASK_MS       10000 /* what is asked of ZooKeeper before and after */

struct consume {
    struct consume_plan plan;
    zkc_loop *loop;
    zkc_consumer *consumer;
    struct output out;
    struct consume_exec exec;
    struct held held;               /* what is in `out`, or waits for its command */
    struct metrics_server *metrics; /* NULL: none */
    struct format_source source;
    struct zkc_position *starts; /* of single partitions */
    struct pollfd *fds;          /* the stop signal, stdout, then every stream */
    size_t fd_count;

    atomic_bool is_reassigned; /* set by the loop's thread: the owned partitions are others now */
    struct ends ends;
    bool may_be_at_end;          /* something was finished since is_at_end() looked */
    struct ends_partition *last; /* where the last message came from; NULL: look it up */
    int64_t ends_checked_ms;
    int64_t fetch_told_ms; /* loop's thread: when trouble with brokers was last told; 0: never */
    unsigned fetch_held;   /* loop's thread: lines about it that were held back since */
    int64_t unassigned_since_ms; /* since when no partition is owned */
    int64_t message_ms;          /* when the last one came */
    int64_t messages;
    bool may_be_registered;
    enum cli_exit code; /* so far */
};

/* ---- on the loop's thread ---- */

#define LISTED_MAX 40 /* partitions that a status line names */

static void report_partitions(const struct consume *c, const char *what,
                              const struct zkc_owned *list, size_t count)
{
    struct buf text;
    buf_init(&text, 65536);
    for (size_t i = 0; i < count && i < LISTED_MAX; i++)
        buf_appendf(&text, "%s%s [%" PRId32 "]", i ? ", " : "", list[i].topic, list[i].partition);
    if (count > LISTED_MAX)
        buf_appendf(&text, " and %zu more", count - LISTED_MAX);
    const char *names = buf_text(&text);
    report_status("Group %s: %s: %s", c->source.group, what, count && names ? names : "nothing");
    buf_deinit(&text);
}

/* Who asked for the beginning should know that the group has been there before. */
static void report_stored_offsets(const struct zkc_owned *list, size_t count)
{
    size_t stored = 0;
    for (size_t i = 0; i < count; i++)
        stored += list[i].offset >= 0;
    if (stored)
        report_status(
            "--from-beginning has no effect on %zu of %zu partitions: the group has offsets "
            "there",
            stored, count);
}

static void on_rebalance(zkc_consumer *consumer, enum zkc_rebalance_kind kind,
                         struct zkc_owned *list, size_t count, void *user)
{
    struct consume *c = user;
    (void)consumer;
    metrics_source_count_partitions(metrics_server_source(c->metrics, 0), kind, count);
    switch (kind) {
    case ZKC_REBALANCE_ASSIGN:
        report_partitions(c, "assigned", list, count);
        if (c->plan.from_beginning && !c->plan.is_throwaway)
            report_stored_offsets(list, count);
        break;
    case ZKC_REBALANCE_REVOKE: report_partitions(c, "revoked", list, count); break;
    case ZKC_REBALANCE_LOST: report_partitions(c, "lost", list, count); break;
    }
    atomic_store(&c->is_reassigned, true);
}

static void on_error(zkc_consumer *consumer, enum zkc_err err, const char *text, void *user)
{
    metrics_source_count_error(metrics_server_source(((struct consume *)user)->metrics, 0));
    consume_error(consumer, err, text, user);
}

#define FETCH_QUIET_MS 10000

/* A broker that is down is told by its connection, by the fetcher and by the search for leaders,
 * every second: the first of these lines is enough for a while. */
static void on_log(zkc_consumer *consumer, int level, const char *facility, const char *text,
                   void *user)
{
    struct consume *c = user;
    bool is_told = report_level() == REPORT_VERBOSE || level > 4 || strcmp(facility, "fetch") != 0;
    if (is_told) {
        consume_log(consumer, level, facility, text, user);
    } else if (c->fetch_told_ms && clock_now_ms() - c->fetch_told_ms < FETCH_QUIET_MS) {
        c->fetch_held++;
    } else {
        if (c->fetch_held)
            report_warning("%s: %s (and %u more lines; --verbose shows them)", facility, text,
                           c->fetch_held);
        else
            report_warning("%s: %s", facility, text);
        c->fetch_told_ms = clock_now_ms();
        c->fetch_held = 0;
    }
}

static void on_stats(zkc_consumer *consumer, const char *json, size_t len, void *user)
{
    (void)consumer;
    metrics_source_take_statistics(metrics_server_source(((struct consume *)user)->metrics, 0),
                                   json, len);
}

/* ---- ends of partitions ---- */

static void own_one(const struct zkc_owned *owned, void *user)
{
    struct consume *c = user;
    if (!ends_update_add(&c->ends, (struct topic_partition){owned->topic, owned->partition}))
        c->code = CLI_FAILED;
}

static void update_owned(struct consume *c)
{
    bool had_none = c->ends.count == 0;
    c->last = NULL;
    ends_update_begin(&c->ends);
    if (zkc_consumer_owned(c->consumer, own_one, c) != ZKC_OK)
        return; /* closed: nothing is asked for any more */
    ends_update_commit(&c->ends);
    if (c->ends.count == 0 && !had_none)
        c->unassigned_since_ms = clock_now_ms();
}

static void observe(struct consume *c, struct ends_partition *p, int64_t position, int64_t end)
{
    if (!ends_observe(p, position, end))
        return;
    c->may_be_at_end = true;
    report_status("Reached end of topic %s [%" PRId32 "] at offset %" PRId64, p->topic,
                  p->partition, p->position);
}

/* Nothing but us commits with --exec, so where a partition starts is committed before its first
 * message is worked on: a group that has read nothing yet, or that dies with the first message,
 * goes on there, whatever comes meanwhile. An offset that is committed already is not written
 * again. */
static void commit_start(struct consume *c, struct ends_partition *p, int64_t position)
{
    if (!c->plan.exec || !c->plan.is_member || p->is_start_committed || position < 0)
        return;
    struct zkc_position start = {p->topic, p->partition, position};
    p->is_start_committed =
        zkc_consumer_commit(c->consumer, &start, 1, NULL, NULL) != ZKC_ERR_NOMEM;
}

/* A partition without messages says nothing by itself: it is asked. */
static void ask_for_ends(struct consume *c)
{
    c->ends_checked_ms = clock_now_ms();
    for (size_t i = 0; i < c->ends.count; i++) {
        struct ends_partition *p = &c->ends.list[i];
        int64_t position = -1, end = -1;
        if (p->is_reached ||
            zkc_consumer_position(c->consumer, p->topic, p->partition, &position) != ZKC_OK)
            continue;
        commit_start(c, p, position);
        if (zkc_consumer_log_end(c->consumer, p->topic, p->partition, &end) == ZKC_OK)
            observe(c, p, position, end);
    }
}

static void look_at_owned(struct consume *c)
{
    if (atomic_exchange(&c->is_reassigned, false))
        update_owned(c);
}

static void check_ends(struct consume *c)
{
    look_at_owned(c);
    if (!ends_all_finished(&c->ends) && clock_now_ms() - c->ends_checked_ms >= ENDS_INTERVAL_MS)
        ask_for_ends(c);
}

/* True when --exit-at-end has nothing more to wait for. */
static bool is_at_end(struct consume *c)
{
    c->may_be_at_end = false;
    if (!c->plan.exits_at_end || atomic_load(&c->is_reassigned))
        return false;
    if (c->ends.count > 0)
        return ends_all_finished(&c->ends);
    if (clock_now_ms() - c->unassigned_since_ms < c->plan.grace_ms)
        return false;
    report_status("no partition was assigned for %" PRId64 " ms", c->plan.grace_ms);
    return true;
}

/* ---- messages ---- */

static struct ends_partition *find_ends(struct consume *c, const struct zkc_message *m)
{
    if (c->last && c->last->partition == m->partition && strcmp(c->last->topic, m->topic) == 0)
        return c->last;
    c->last = ends_find(&c->ends, (struct topic_partition){m->topic, m->partition});
    return c->last;
}

static void take_report(struct consume *c, const struct zkc_message *m)
{
    struct ends_partition *p = find_ends(c, m);
    if (p)
        p->is_standing = c->may_be_at_end = true;
    report_warning("[%s,%" PRId32 "] at offset %" PRId64 ": %.*s (%s)", m->topic, m->partition,
                   m->offset, (int)m->value_len, m->value ? (const char *)m->value : "",
                   zkc_err_name(m->err));
}

/* A message counts as done when its command has succeeded, or when it has left the buffer. */
static void settle(struct consume *c)
{
    if (!c->plan.exec)
        held_done(&c->held, c->out.written);
    else if (!c->exec.has_failed)
        held_done(&c->held, (uint64_t)(c->messages - c->exec.count));
}

static bool hold(struct consume *c, const struct zkc_message *m, uint64_t end)
{
    if (held_add(&c->held, m, end))
        return true;
    report_error("out of memory");
    c->code = CLI_FAILED;
    return false;
}

static bool run_for(struct consume *c, const struct zkc_message *m)
{
    look_at_owned(c);
    struct ends_partition *p = find_ends(c, m);
    if (p)
        commit_start(c, p, m->offset);
    return hold(c, m, (uint64_t)c->messages) && consume_exec_add(&c->exec, &c->source);
}

static bool print(struct consume *c, const struct zkc_message *m)
{
    if (c->plan.is_json) {
        json_append_envelope(&c->out.buf, m);
        buf_append_byte(&c->out.buf, '\n');
    } else {
        format_append(&c->plan.format, &c->source, &c->out.buf);
    }
    uint64_t end = c->out.buf.failed ? UINT64_MAX : c->out.written + c->out.buf.len;
    return hold(c, m, end) && output_added(&c->out);
}

/* False: it is time to end. */
static bool take_message(struct consume *c, const struct zkc_message *m)
{
    c->messages++;
    c->source.message = m;
    bool goes_on = c->plan.exec ? run_for(c, m) : print(c, m);
    settle(c);
    struct ends_partition *p = find_ends(c, m);
    if (p) {
        p->is_standing = false;
        observe(c, p, m->offset + 1, m->high_watermark);
    }
    return goes_on;
}

/* How long to sleep for nothing but the clock; -1: for ever. */
static int sleep_ms(const struct consume *c)
{
    int64_t until = INT64_MAX;
    if (!ends_all_finished(&c->ends))
        until = c->ends_checked_ms + ENDS_INTERVAL_MS;
    else if (c->plan.exits_at_end && c->ends.count == 0)
        until = c->unassigned_since_ms + c->plan.grace_ms;
    if (c->plan.silence_ms >= 0 && c->message_ms + c->plan.silence_ms < until)
        until = c->message_ms + c->plan.silence_ms;
    if (atomic_load(&c->is_reassigned))
        return 0;
    if (until == INT64_MAX)
        return c->plan.exits_at_end ? ENDS_INTERVAL_MS : -1;
    int64_t left = until - clock_now_ms();
    return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

/* Nothing is there at the moment. False: it is time to end. */
static bool idle(struct consume *c)
{
    if (c->plan.exec && !consume_exec_flush(&c->exec))
        return false;
    output_flush(&c->out);
    settle(c);
    check_ends(c);
    if (is_at_end(c))
        return false;
    if (c->plan.silence_ms >= 0 && clock_now_ms() - c->message_ms >= c->plan.silence_ms) {
        report_status("no message for %" PRId64 " ms (consumer.timeout.ms)", c->plan.silence_ms);
        return false;
    }
    if (poll(c->fds, (nfds_t)c->fd_count, sleep_ms(c)) < 0)
        return errno == EINTR;
    return !(c->fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)); /* stdout's reader is gone */
}

static bool next_failed(struct consume *c, enum zkc_err err)
{
    if (err == ZKC_ERR_END)
        return false;
    report_error("%s", zkc_err_text(err));
    c->code = report_exit_of(err);
    return false;
}

static bool has_all_messages(const struct consume *c)
{
    return c->messages == c->plan.messages_max;
}

/* One turn. False: it is time to end. */
static bool take(struct consume *c)
{
    struct zkc_message m;
    enum zkc_err err = zkc_consumer_next(c->consumer, 0, &m);
    if (err == ZKC_ERR_TIMED_OUT)
        return idle(c);
    if (err)
        return next_failed(c, err);
    bool goes_on = true;
    if (m.err)
        take_report(c, &m);
    else
        goes_on = take_message(c, &m);
    if (c->messages % 256 == 0) /* an endless stream never idles */
        check_ends(c);
    if (c->plan.silence_ms >= 0)
        c->message_ms = clock_now_ms();
    return goes_on && !has_all_messages(c) && !(c->may_be_at_end && is_at_end(c));
}

/* ---- start ---- */

static enum cli_exit fail(enum zkc_err err, const char *why)
{
    report_error("%s", why);
    return report_exit_of(err);
}

/* Where each of the single partitions starts. */
static enum zkc_err find_starts(const struct consume_plan *plan, struct zkc_position *list,
                                struct why *why)
{
    size_t count = plan->partition_count;
    const char *topic = plan->topics[0].name;
    int64_t *offsets = calloc(count, sizeof *offsets);
    enum zkc_err err = ZKC_ERR_NOMEM;
    why_set(why, "out of memory");
    if (offsets && plan->start.kind == WHERE_FROM_END)
        err = starts_before_end(plan->conf, topic, plan->partitions, count, plan->start.n, ASK_MS,
                                offsets, why);
    else if (offsets)
        err = starts_check(plan->conf, topic, plan->partitions, count, ASK_MS, why);
    for (size_t i = 0; !err && i < count; i++) {
        int64_t offset = offsets[i];
        switch (plan->start.kind) {
        case WHERE_BEGINNING: offset = ZKC_OFFSET_BEGINNING; break;
        case WHERE_END: offset = ZKC_OFFSET_END; break;
        case WHERE_STORED: offset = ZKC_OFFSET_STORED; break;
        case WHERE_OFFSET: offset = plan->start.n; break;
        case WHERE_FROM_END: break;
        }
        list[i] = (struct zkc_position){topic, plan->partitions[i], offset};
    }
    free(offsets);
    return err;
}

/* Kafka's --delete-consumer-offsets, and its refusal to begin a group again that has been there. */
static enum cli_exit look_at_group(struct consume *c)
{
    bool looks = c->plan.deletes_group || (c->plan.is_kafkas && c->plan.from_beginning);
    struct group_traces traces;
    struct why why;
    if (!looks || c->plan.is_throwaway || !c->plan.is_member)
        return CLI_DONE;
    enum group_traces_use use =
        c->plan.deletes_group ? GROUP_TRACES_DELETE_AND_TELL : GROUP_TRACES_KEEP;
    enum zkc_err err = group_traces_look(c->plan.conf, c->source.group, use, ASK_MS, &traces, &why);
    if (err)
        return fail(err, why.text);
    if (c->plan.deletes_group && traces.member_count > 0) {
        report_error("group %s has %zu members: it is not deleted", c->source.group,
                     traces.member_count);
        return CLI_FAILED;
    }
    if (!c->plan.deletes_group && traces.has_offsets) {
        report_error("Found previous offset information for this group %s. Please use "
                     "--delete-consumer-offsets to delete previous offsets metadata",
                     c->source.group);
        return CLI_FAILED;
    }
    return CLI_DONE;
}

static enum cli_exit open_metrics(struct consume *c)
{
    struct why why;
    if (!c->plan.metrics)
        return CLI_DONE;
    struct metrics_from from = {.name = "",
                                .connect = zkc_conf_get(c->plan.conf, "zookeeper.connect"),
                                .auth = zkc_conf_get(c->plan.conf, "zookeeper.auth")};
    if (!metrics_server_open(c->plan.metrics, &from, 1, &c->metrics, &why)) {
        report_error("--metrics: %s", why.text);
        return CLI_FAILED;
    }
    report_status("Metrics at %s", metrics_server_url(c->metrics));
    return CLI_DONE;
}

static enum cli_exit prepare(struct consume *c)
{
    struct why why;
    enum cli_exit code = look_at_group(c);
    if (code == CLI_DONE)
        code = open_metrics(c);
    if (code != CLI_DONE || c->plan.is_member)
        return code;
    c->starts = calloc(c->plan.partition_count, sizeof *c->starts);
    if (!c->starts)
        return fail(ZKC_ERR_NOMEM, "out of memory");
    enum zkc_err err = find_starts(&c->plan, c->starts, &why);
    return err ? fail(err, why.text) : CLI_DONE;
}

static enum cli_exit read_partitions(struct consume *c)
{
    enum zkc_err err = zkc_consumer_assign(c->consumer, c->starts, c->plan.partition_count);
    return err ? fail(err, zkc_err_text(err)) : CLI_DONE;
}

static enum cli_exit join_group(struct consume *c)
{
    if (c->plan.filter.topics) {
        enum zkc_err err = zkc_consumer_subscribe_filter(c->consumer, &c->plan.filter);
        return err ? fail(err, zkc_err_text(err)) : CLI_DONE;
    }
    struct zkc_subscription *list = calloc(c->plan.topic_count, sizeof *list);
    for (size_t i = 0; list && i < c->plan.topic_count; i++)
        list[i] = (struct zkc_subscription){c->plan.topics[i].name, c->plan.topics[i].streams};
    enum zkc_err err =
        list ? zkc_consumer_subscribe(c->consumer, list, c->plan.topic_count) : ZKC_ERR_NOMEM;
    free(list);
    return err ? fail(err, zkc_err_text(err)) : CLI_DONE;
}

static bool list_descriptor(struct consume *c, const char *topic, int32_t index)
{
    zkc_stream *stream = zkc_consumer_stream(c->consumer, topic, index);
    int fd = stream ? zkc_stream_fd(stream) : -1;
    if (fd >= 0)
        c->fds[c->fd_count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    return fd >= 0;
}

static bool list_descriptors(struct consume *c)
{
    size_t max = 2 + (size_t)c->plan.filter.streams;
    for (size_t t = 0; t < c->plan.topic_count; t++)
        max += (size_t)c->plan.topics[t].streams;
    c->fds = calloc(max, sizeof *c->fds);
    if (!c->fds)
        return false;
    c->fds[c->fd_count++] = (struct pollfd){.fd = stop_fd(), .events = POLLIN};
    c->fds[c->fd_count++] = (struct pollfd){.fd = c->out.fd}; /* only whether it is closed */
    for (int32_t i = 0; c->plan.filter.topics && i < c->plan.filter.streams; i++)
        if (!list_descriptor(c, NULL, i))
            return false;
    for (size_t t = 0; t < c->plan.topic_count; t++)
        for (int32_t i = 0; i < (c->plan.is_member ? c->plan.topics[t].streams : 1); i++)
            if (!list_descriptor(c, c->plan.topics[t].name, i))
                return false;
    return true;
}

/* Until the first rebalance has ended, or ZooKeeper is connected. */
static enum cli_exit wait_for_start(struct consume *c)
{
    enum zkc_err err = ZKC_ERR_TIMED_OUT;
    while (err == ZKC_ERR_TIMED_OUT && !stop_is_requested())
        err = zkc_consumer_wait(c->consumer, JOIN_SLICE_MS);
    if (stop_is_requested())
        return CLI_DONE;
    if (err == ZKC_ERR_UNREACHABLE)
        report_error("no ZooKeeper server at %s took us on within "
                     "zookeeper.connection.timeout.ms=%s",
                     zkc_conf_get(c->plan.conf, "zookeeper.connect"),
                     zkc_conf_get(c->plan.conf, "zookeeper.connection.timeout.ms"));
    else if (err == ZKC_ERR_REBALANCE)
        report_error(
            "the first rebalance was given up after %s attempts; zkconsumer groups describe "
            "--group=%s shows who holds what",
            zkc_conf_get(c->plan.conf, "rebalance.max.retries"), c->source.group);
    else if (err)
        report_error("%s", zkc_err_text(err));
    return report_exit_of(err);
}

static enum cli_exit start(struct consume *c)
{
    enum cli_exit code = c->plan.is_member ? join_group(c) : read_partitions(c);
    if (code)
        return code;
    if (!list_descriptors(c))
        return fail(ZKC_ERR_SYSTEM, "no descriptors to wait on");
    if (c->plan.is_member) {
        c->source.member = zkc_consumer_id(c->consumer);
        report_status("Joining group %s as %s", c->source.group, c->source.member);
    }
    code = wait_for_start(c);
    c->may_be_registered = code != CLI_UNREACHABLE;
    atomic_store(&c->is_reassigned, true);
    c->unassigned_since_ms = c->message_ms = clock_now_ms();
    return code;
}

/* ---- end ---- */

/* A group that was made up for this process goes with it, unless others have joined it. */
static void remove_group(struct consume *c, bool is_released)
{
    struct why why;
    struct group_traces traces;
    if (!is_released) {
        report_warning("the group %s is left in ZooKeeper", c->plan.throwaway);
        return;
    }
    enum zkc_err err = group_traces_look(c->plan.conf, c->plan.throwaway, GROUP_TRACES_DELETE,
                                         ASK_MS, &traces, &why);
    if (err)
        report_warning("the group %s is left in ZooKeeper: %s", c->plan.throwaway, why.text);
    else if (traces.member_count > 0)
        report_warning("others have joined the group %s: it is left to them", c->plan.throwaway);
}

static void take_worse(struct consume *c, enum cli_exit code)
{
    if (c->code == CLI_DONE)
        c->code = code;
}

static int64_t setting(const struct consume *c, const char *key)
{
    int64_t value = 0;
    const char *text = zkc_conf_get(c->plan.conf, key);
    return text && cli_parse_number(text, 0, INT32_MAX, &value) ? value : 0;
}

/* A member that is told to end in the middle of a rebalance makes all its attempts first, as in
 * 0.8.2 (ZKRebalancerListener.syncedRebalance holds the lock that shutdown() wants). */
static int close_ms(const struct consume *c)
{
    int64_t attempts_ms = setting(c, "rebalance.max.retries") * setting(c, "rebalance.backoff.ms");
    int64_t ms = attempts_ms + CLOSE_MIN_MS / 2;
    return ms < CLOSE_MIN_MS ? CLOSE_MIN_MS : ms > INT32_MAX ? INT32_MAX : (int)ms;
}

static bool has_ends(const struct ends *ends, const char *topic)
{
    for (size_t i = 0; i < ends->count; i++)
        if (strcmp(ends->list[i].topic, topic) == 0)
            return true;
    return false;
}

/* With --exit-at-end: a topic that is not there was mistyped, or the chroot was. */
static void look_for_topics(struct consume *c)
{
    const char *connect = zkc_conf_get(c->plan.conf, "zookeeper.connect");
    for (size_t i = 0; i < c->plan.topic_count; i++) {
        const char *topic = c->plan.topics[i].name;
        bool is_there = true;
        struct why why;
        if (has_ends(&c->ends, topic) ||
            starts_find_topic(c->plan.conf, topic, ASK_MS, &is_there, &why) || is_there)
            continue;
        report_error("there is no topic %s at %s; are its name and the chroot right?", topic,
                     connect);
        take_worse(c, CLI_PROBLEM);
    }
}

/* Whether it is a topic that we were to read. */
static bool is_ours(const struct consume *c, const char *topic)
{
    for (size_t i = 0; i < c->plan.topic_count; i++)
        if (strcmp(c->plan.topics[i].name, topic) == 0)
            return true;
    struct zk_filter *filter = NULL;
    struct why why;
    enum zk_pattern pattern =
        c->plan.filter.kind == ZKC_FILTER_BLACKLIST ? ZK_PATTERN_BLACK_LIST : ZK_PATTERN_WHITE_LIST;
    bool is_allowed =
        c->plan.filter.topics &&
        zk_filter_new(pattern, c->plan.filter.topics, true, &filter, &why) == ZKC_OK &&
        zk_filter_allows(filter, topic);
    zk_filter_free(filter);
    return is_allowed;
}

static void report_held(const char *topic, int32_t partition, const char *holder, void *user)
{
    struct consume *c = user;
    if (!is_ours(c, topic))
        return;
    report_error("[%s,%" PRId32 "] was not read: it is held by %s, which is no member of the group",
                 topic, partition, holder);
    take_worse(c, CLI_PROBLEM);
}

/* With --exit-at-end: what another member has is read by that one, but not what a stranger has. */
static void look_for_strangers(struct consume *c)
{
    struct why why;
    if (c->plan.is_throwaway)
        return;
    enum zkc_err err = group_held_each(c->plan.conf, c->source.group, ASK_MS, report_held, c, &why);
    if (err) {
        report_warning("whether all partitions were read is not known: %s", why.text);
        take_worse(c, CLI_TIMED_OUT);
    }
}

static void finish(struct consume *c)
{
    if (stop_is_requested())
        report_status("Leaving in order; a second signal ends it at once");
    if (c->plan.exec && !c->exec.has_failed)
        consume_exec_flush(&c->exec);
    take_worse(c, c->exec.code);
    take_worse(c, output_finish(&c->out));
    settle(c);
    held_return(&c->held, c->plan.is_member ? c->consumer : NULL);
    enum zkc_err err = zkc_consumer_close_wait(c->consumer, close_ms(c));
    if (err) {
        report_warning("left without being able to say so: %s", zkc_err_text(err));
        take_worse(c, CLI_TIMED_OUT);
    }
    if (c->plan.is_throwaway && c->may_be_registered)
        remove_group(c, err == ZKC_OK);
    if (c->plan.exits_at_end && ends_standing_count(&c->ends) > 0) {
        report_warning("%zu partitions could not be read to their end",
                       ends_standing_count(&c->ends));
        take_worse(c, CLI_TIMED_OUT);
    }
    if (c->plan.exits_at_end && c->plan.is_member && c->code == CLI_DONE && !stop_is_requested()) {
        look_for_topics(c);
        if (c->code == CLI_DONE && !has_all_messages(c) && c->out.state == OUTPUT_OPEN)
            look_for_strangers(c);
    }
    if (c->plan.is_kafkas)
        fprintf(stderr, "Consumed %" PRId64 " messages\n", c->held.done_count);
    else
        report_status("Consumed %" PRId64 " message%s", c->held.done_count,
                      c->held.done_count == 1 ? "" : "s");
}

static enum cli_exit consume(struct consume *c)
{
    char why[512];
    zkc_conf_set_user(c->plan.conf, c);
    zkc_conf_set_on_log(c->plan.conf, on_log);
    zkc_conf_set_on_error(c->plan.conf, on_error);
    zkc_conf_set_on_rebalance(c->plan.conf, on_rebalance);
    if (c->metrics)
        zkc_conf_set_on_stats(c->plan.conf, on_stats);
    enum zkc_err err = zkc_loop_open(NULL, &c->loop);
    if (err)
        return fail(err, err == ZKC_ERR_SYSTEM
                             ? "no descriptors or no thread to be had (ulimit -n, -u)"
                             : zkc_err_text(err));
    err = zkc_consumer_open(c->plan.conf, c->loop, &c->consumer, why, sizeof why);
    if (err)
        return fail(err, why);
    consume_exec_init(&c->exec, &c->plan, c->consumer);
    c->code = start(c);
    if (c->code == CLI_DONE)
        while (!stop_is_requested() && take(c))
            ;
    finish(c);
    return c->code;
}

static enum cli_exit run(const struct cli_args *args)
{
    struct consume c = {.code = CLI_DONE};
    uint32_t random = 0;
    enum cli_exit code = CLI_FAILED;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = (uint32_t)clock_now_ms();
    if (!consume_plan_init(&c.plan, args, random)) {
        consume_plan_deinit(&c.plan);
        return CLI_FAILED;
    }
    const char *group = consume_plan_group(&c.plan);
    c.source = (struct format_source){
        .group = group ? group : "", .member = "", .null_text = c.plan.null_text};
    output_init(&c.out, STDOUT_FILENO, c.plan.is_unbuffered ? 0 : OUTPUT_FLUSH_BYTES);
    ends_init(&c.ends);
    held_init(&c.held);
    if (stop_init() && (code = prepare(&c)) == CLI_DONE)
        code = consume(&c);
    held_deinit(&c.held);
    zkc_consumer_free(c.consumer);
    zkc_loop_close(c.loop);
    metrics_server_close(c.metrics);
    consume_exec_deinit(&c.exec);
    ends_deinit(&c.ends);
    output_deinit(&c.out);
    free(c.fds);
    free(c.starts);
    consume_plan_deinit(&c.plan);
    return code;
}

static const struct cli_pair examples[] = {
    {CONSUME_EXAMPLE, "Joins the group billing; Ctrl-C leaves it in order."},
    {"zkconsumer consume -t orders " EXAMPLE_ZOOKEEPER " --from-beginning -e -f '%p %o %k %s\\n'",
     "Everything that is in the topic now, with partition, offset and key."},
    {"zkconsumer consume -t orders -p 3 -o -10 -e -J " EXAMPLE_ZOOKEEPER,
     "The last ten messages of partition 3, as JSON."},
    {"zkconsumer consume -G mail -t orders --exec ./send-mail --commit=after " EXAMPLE_ZOOKEEPER,
     "A program for each message; one that fails ends it, and gets the message again next time."},
    {"zkconsumer consume -G billing -t orders:2 -t clicks -F consumer.properties "
     "-X auto.commit.interval.ms=1000",
     "Two topics, one of them with two streams, settings from a file and one of its own."},
};

static const struct cli_pair exits[] = {
    {"0", "ended as told: by Ctrl-C, --max-messages, --exit-at-end, --timeout-ms, or the reader of "
          "stdout has gone"},
    {"1", "usage, configuration, the first rebalance was given up, or stdout cannot be written"},
    {"2", "a command of --exec failed; with --exit-at-end, there is no such topic, or somebody who "
          "is no "
          "member holds a partition"},
    {"3", "ZooKeeper could not be reached within zookeeper.connection.timeout.ms"},
    {"4", "left without ZooKeeper's answer, or with --exit-at-end a partition stood still"},
    {"130, 143", "a second SIGINT or SIGTERM came before it had left in order"},
};

const struct cli_command command_consume = {
    .name = "consume",
    .kafka = "kafka-console-consumer kafka.tools.ConsoleConsumer",
    .summary = "Read messages as a member of a group, or from single partitions",
    .synopsis = "--group=GROUP --topic=TOPIC[:STREAMS] ... --zookeeper=HOST:PORT[,...][/CHROOT] "
                "[OPTION ...]\n"
                "--group=GROUP --whitelist|--blacklist=REGEX --zookeeper=HOST:PORT[,...][/CHROOT] "
                "[OPTION ...]\n"
                "--topic=TOPIC --partition=N [--offset=WHERE] --zookeeper=HOST:PORT[,...][/CHROOT] "
                "[OPTION ...]",
    .description =
        "As a member of a group it shares the partitions of the group's topics with the other "
        "members, Java ones of Kafka 0.8 among them, on the same znodes; offsets are committed to "
        "ZooKeeper, and when members come and go, partitions move. How it behaves is "
        "zookeeper.mode's: safe (the default) keeps to a lease and moves only what has to move; "
        "compat does what Kafka 0.8's high-level consumer does. A topic that does not exist yet is "
        "waited for.\n"
        "Ctrl-C (SIGINT, SIGTERM) ends it in order: what was taken is written to stdout and "
        "committed, and the partitions are given back. A second one ends it at once.\n"
        "A message counts as consumed when it has been written to stdout: a crash loses nothing "
        "that was taken, and what could not be written is not committed; but what is still in a "
        "pipe when its reader dies has been written. In compat, where nobody waits for anybody, "
        "what is not written yet when the group rebalances is read twice; Kafka 0.8 counts a "
        "message when it is taken, which -X acknowledgement.mode=taken does here, too. Without "
        "--group the process has a group of "
        "its own, which is removed from ZooKeeper at the end; named groups are kept.\n"
        "On stderr it tells about assignments, ends of partitions and errors. Something wrong with "
        "one partition (a message larger than fetch.message.max.bytes, for example) is told, and "
        "the "
        "others go on.\n"
        "With --exec a command is run for messages, and its exit status decides whether they count "
        "as processed; the library keeps the group's session meanwhile.\n"
        "Under Kafka's name (kafka-console-consumer) it has Kafka's habits: --topic is a "
        "whitelist, "
        "reading starts at the end unless --from-beginning says otherwise, which is refused for a "
        "group that has offsets, and only errors and the number of messages are told.",
    .options = consume_options,
    .option_count = CONSUME_OPTIONS,
    .keys_each = conf_keys_of_consumer,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
