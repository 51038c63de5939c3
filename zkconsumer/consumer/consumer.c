/* The life of a consumer and the calls of the application. Each call is handed to the loop's thread
 * and answered there. */
#include "zkconsumer/consumer/consumer.h"
#include "zkconsumer/consumer/lookup.h"
#include "zkconsumer/consumer/time_query.h"
#include "zkconsumer/core/base/why.h"
#include "zkconsumer/core/zk/consumer_id.h"
#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/core/zk/registration.h"
#include "zkconsumer/io/resolver.h"
#include "zkconsumer/io/zk_session.h"
#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* ---- opening ---- */

static void on_close_item(void *arg);
static void on_finish_item(void *arg);

static uint64_t entropy(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (uint64_t)loop_now_ns() ^ ((uint64_t)getpid() << 32);
    return seed;
}

static char *make_id(zkc_consumer *c)
{
    char host[HOST_NAME_MAX + 1] = "localhost";
    struct timespec now;
    if (!c->group)
        return strdup(c->view.client_id);
    if (c->view.consumer_id)
        return zk_consumer_id_fixed(c->group, c->view.consumer_id);
    gethostname(host, sizeof host);
    host[sizeof host - 1] = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    return zk_consumer_id_generate(
        c->group, host, (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, rng_next(&c->rng));
}

static void on_room(zkc_stream *stream, void *user)
{
    zkc_consumer *c = user;
    if (c->fetching) /* closed meanwhile */
        fetching_room(c->fetching, stream);
}

static void on_skip(struct claim *claim, int64_t position, int64_t fetch_offset, void *user)
{
    zkc_consumer *c = user;
    log_line(c->log, 4, LOG_FACILITY_FETCH,
             "[%s,%d] consumed offset %lld doesn't match fetch offset %lld; what lies between is "
             "not delivered",
             claim->topic, claim->partition, (long long)position, (long long)fetch_offset);
}

static void on_bad(struct claim *claim, int64_t offset, const char *text, void *user)
{
    zkc_consumer *c = user;
    log_line(c->log, 3, LOG_FACILITY_FETCH, "[%s,%d] offset %lld: %s", claim->topic,
             claim->partition, (long long)offset, text);
    consumer_error(c, ZKC_ERR_CORRUPT, "[%s,%d] offset %lld: %s", claim->topic, claim->partition,
                   (long long)offset, text);
}

static void on_fetch_error(enum zkc_err err, const char *text, void *user)
{
    consumer_error(user, err, "%s", text);
}

static void on_stats_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    stats_tell(arg);
}

static void on_trace_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    zkc_consumer *c = arg;
    fetching_trace_deliveries(c->fetching);
    tracing_flush(c->tracing);
}

static struct event *every(zkc_consumer *c, int ms, event_callback_fn fn)
{
    struct event *timer = event_new(loop_base(c->loop), -1, EV_PERSIST, fn, c);
    struct timeval tv = {ms / 1000, (ms % 1000) * 1000};
    if (timer)
        event_add(timer, &tv);
    return timer;
}

static void on_conf_notice(const char *text, void *user)
{
    zkc_consumer *c = user;
    log_line(c->log, 4, LOG_FACILITY_CONF, "%s", text);
}

static void on_close_timer(evutil_socket_t fd, short what, void *arg);

static void free_parts(zkc_consumer *c)
{
    consumer_end_waiters(c, ZKC_ERR_CLOSED);
    lookup_end_all(c);
    if (c->close_wait) /* its close_wait() may have run out of time before */
        loop_wait_end(c->close_wait, ZKC_ERR_CLOSED);
    member_free(c);
    fetching_free(c->fetching);
    stream_hub_free(c->hub);
    tally_free(c->tally);
    if (c->stats_timer)
        event_free(c->stats_timer);
    if (c->trace_timer)
        event_free(c->trace_timer);
    if (c->close_timer)
        event_free(c->close_timer);
    loop_cancel(c->loop, &c->tell);
    loop_cancel(c->loop, &c->close_item);
    loop_cancel(c->loop, &c->finish_item);
    consumer_forget_notices(c);
    struct commit_queue *queues[] = {&c->commits_new, &c->commits_running, &c->commits_done};
    for (int i = 0; i < 3; i++)
        for (struct commit *commit; (commit = commit_queue_take(queues[i]));) {
            if (commit->wait)
                loop_wait_end(commit->wait, ZKC_ERR_CLOSED);
            commit_free(commit);
        }
    tracing_close(c->tracing, c->state == CONSUMER_CLOSED && !c->close_err);
    log_free(c->log);
    free(c->id);
    free(c->group);
    zkc_conf_free(c->conf);
    free(c);
}

/* Settings, names, log: what the rest is made with. */
static enum zkc_err prepare(zkc_consumer *c, const zkc_conf *conf, char *why, size_t why_size)
{
    struct why reason;
    c->conf = zkc_conf_dup(conf);
    if (!c->conf)
        return ZKC_ERR_NOMEM;
    enum zkc_err err = conf_read(c->conf, &c->view, NULL, NULL, why, why_size);
    if (err)
        return err;
    if (c->view.group_id) {
        err = zk_check_group(c->view.group_id, &reason);
        c->group = err ? NULL : strdup(c->view.group_id);
        if (err)
            snprintf(why, why_size, "group.id: %s", reason.text);
        if (err || !c->group)
            return err ? ZKC_ERR_CONFIG : ZKC_ERR_NOMEM;
    }
    c->id = make_id(c);
    struct log_options log = {.consumer = c,
                              .fn = c->view.on_log,
                              .user = c->view.user,
                              .level = c->view.log_level,
                              .debug = c->view.log_debug};
    c->log = log_new(&log);
    if (!c->id || !c->log)
        return ZKC_ERR_NOMEM;
    if (c->group && zk_check_consumer_id(c->id, &reason)) {
        snprintf(why, why_size, "consumer.id: %s", reason.text);
        return ZKC_ERR_CONFIG;
    }
    return conf_read(c->conf, &c->view, on_conf_notice, c, why, why_size);
}

static enum stream_done done_by(const struct conf_view *view)
{
    return view->is_acknowledged            ? STREAM_DONE_ACKNOWLEDGED
           : view->mode == CONF_MODE_COMPAT ? STREAM_DONE_TAKEN
                                            : STREAM_DONE_NEXT;
}

static enum zkc_err build(zkc_consumer *c, char *why, size_t why_size)
{
    enum zkc_err err = tracing_open(&c->view, c->id, c->log, &c->tracing, why, why_size);
    if (err)
        return err;
    struct stream_hub_options hub = {.loop = c->loop,
                                     .chunks_max = (size_t)c->view.queued_chunks_max,
                                     .consumer_timeout_ms = c->view.consumer_timeout_ms,
                                     .decompressed_bytes_max =
                                         (size_t)c->view.decompressed_bytes_max,
                                     .on_room = on_room,
                                     .on_skip = on_skip,
                                     .on_bad = on_bad,
                                     .done_by = done_by(&c->view),
                                     .on_drained = member_safe_on_drained,
                                     .on_polled = member_safe_on_polled,
                                     .user = c};
    c->hub = stream_hub_new(&hub);
    struct fetching_options fetching = {.base = loop_base(c->loop),
                                        .resolver = loop_resolver(c->loop),
                                        .conf = &c->view,
                                        .hub = c->hub,
                                        .log = c->log,
                                        .tracing = c->tracing,
                                        .seed = rng_next(&c->rng),
                                        .on_leader_lost = member_leader_lost,
                                        .on_error = on_fetch_error,
                                        .user = c};
    c->fetching = c->hub && fetching.resolver ? fetching_new(&fetching) : NULL;
    c->close_timer = evtimer_new(loop_base(c->loop), on_close_timer, c);
    bool ok = c->fetching && c->close_timer;
    c->opened_ms = loop_now_ms();
    if (ok && c->view.on_stats && c->view.statistics_interval_ms > 0)
        ok = (c->tally = tally_new()) &&
             (c->stats_timer = every(c, c->view.statistics_interval_ms, on_stats_timer)) != NULL;
    if (ok && c->tracing)
        ok = (c->trace_timer = every(c, 1000, on_trace_timer)) != NULL;
    return ok ? member_open(c) : ZKC_ERR_NOMEM;
}

struct opening {
    const zkc_conf *conf;
    zkc_loop *loop;
    zkc_consumer *consumer;
    enum zkc_err err;
    char *why;
    size_t why_size;
};

static void do_open(void *arg)
{
    struct opening *o = arg;
    zkc_consumer *c = calloc(1, sizeof *c);
    o->err = ZKC_ERR_NOMEM;
    if (!c)
        return;
    c->loop = o->loop;
    rng_init(&c->rng, entropy());
    atomic_init(&c->close_called, false);
    loop_item_init(&c->tell, consumer_tell, c);
    loop_item_init(&c->safe_parts.start, member_safe_run_start, c);
    loop_item_init(&c->close_item, on_close_item, c);
    loop_item_init(&c->finish_item, on_finish_item, c);
    o->err = prepare(c, o->conf, o->why, o->why_size);
    if (!o->err)
        o->err = build(c, o->why, o->why_size);
    if (o->err == ZKC_ERR_NOMEM)
        snprintf(o->why, o->why_size, "out of memory or descriptors");
    if (o->err)
        free_parts(c);
    else
        o->consumer = c;
}

enum zkc_err zkc_consumer_open(const zkc_conf *conf, zkc_loop *loop, zkc_consumer **out, char *why,
                               size_t why_size)
{
    char scratch[8];
    if (!conf || !loop || !out)
        return ZKC_ERR_INVALID;
    struct opening o = {.conf = conf,
                        .loop = loop,
                        .why = why ? why : scratch,
                        .why_size = why ? why_size : sizeof scratch};
    if (o.why_size)
        o.why[0] = 0;
    enum zkc_err err = loop_call(loop, do_open, &o);
    if (err || o.err)
        return err ? err : o.err;
    *out = o.consumer;
    return ZKC_OK;
}

/* ---- calls ---- */

struct call {
    zkc_consumer *consumer;
    enum zkc_err err;
    const struct zkc_subscription *subscriptions;
    const struct zkc_filter *filter;
    const struct zkc_position *positions;
    size_t count;
    const char *topic;
    int32_t partition;
    int64_t offset;
    int64_t *out;
    zkc_owned_fn *owned_fn;
    zkc_commit_fn *commit_fn;
    void *user;
    struct loop_wait *wait;
};

static enum zkc_err on_loop(struct call *call, loop_fn *fn)
{
    if (!call->consumer)
        return ZKC_ERR_INVALID;
    enum zkc_err err = loop_call(call->consumer->loop, fn, call);
    return err ? err : call->err;
}

static bool is_closing(const zkc_consumer *c)
{
    return c->state >= CONSUMER_CLOSING;
}

static enum zkc_err check_subscriptions(const struct call *call)
{
    struct why why;
    for (size_t i = 0; i < call->count; i++) {
        if (!call->subscriptions[i].topic || call->subscriptions[i].streams < 1 ||
            call->subscriptions[i].streams > ZK_STREAMS_MAX ||
            zk_check_topic(call->subscriptions[i].topic, &why))
            return ZKC_ERR_INVALID;
        for (size_t k = 0; k < i; k++)
            if (strcmp(call->subscriptions[i].topic, call->subscriptions[k].topic) == 0)
                return ZKC_ERR_INVALID;
    }
    return ZKC_OK;
}

static void do_subscribe(void *arg)
{
    struct call *call = arg;
    zkc_consumer *c = call->consumer;
    if (is_closing(c))
        call->err = ZKC_ERR_CLOSED;
    else if (!c->group)
        call->err = ZKC_ERR_CONFIG;
    else if (c->state != CONSUMER_OPEN)
        call->err = ZKC_ERR_INVALID;
    else
        call->err = check_subscriptions(call);
    if (!call->err)
        call->err = member_subscribe(c, call->subscriptions, call->count);
}

enum zkc_err zkc_consumer_subscribe(zkc_consumer *consumer, const struct zkc_subscription *list,
                                    size_t count)
{
    struct call call = {.consumer = consumer, .subscriptions = list, .count = count};
    return on_loop(&call, do_subscribe);
}

static enum zkc_err check_positions(const struct call *call)
{
    struct why why;
    for (size_t i = 0; i < call->count; i++) {
        const struct zkc_position *p = &call->positions[i];
        if (!p->topic || zk_check_topic(p->topic, &why) || p->partition < 0)
            return ZKC_ERR_INVALID;
        if (p->offset > GATE_POSITION_MAX ||
            (p->offset < 0 && p->offset != ZKC_OFFSET_BEGINNING && p->offset != ZKC_OFFSET_END &&
             p->offset != ZKC_OFFSET_STORED))
            return ZKC_ERR_INVALID;
        if (p->offset == ZKC_OFFSET_STORED && !call->consumer->group)
            return ZKC_ERR_CONFIG;
        for (size_t k = 0; k < i; k++)
            if (p->partition == call->positions[k].partition &&
                strcmp(p->topic, call->positions[k].topic) == 0)
                return ZKC_ERR_INVALID;
    }
    return ZKC_OK;
}

static void do_assign(void *arg)
{
    struct call *call = arg;
    zkc_consumer *c = call->consumer;
    if (is_closing(c))
        call->err = ZKC_ERR_CLOSED;
    else if (c->state != CONSUMER_OPEN || call->count == 0)
        call->err = ZKC_ERR_INVALID;
    else
        call->err = check_positions(call);
    if (!call->err)
        call->err = member_assign(c, call->positions, call->count);
}

enum zkc_err zkc_consumer_assign(zkc_consumer *consumer, const struct zkc_position *list,
                                 size_t count)
{
    struct call call = {.consumer = consumer, .positions = list, .count = count};
    return on_loop(&call, do_assign);
}

static void do_subscribe_filter(void *arg)
{
    struct call *call = arg;
    zkc_consumer *c = call->consumer;
    const struct zkc_filter *f = call->filter;
    bool is_kind = f->kind == ZKC_FILTER_WHITELIST || f->kind == ZKC_FILTER_BLACKLIST;
    if (is_closing(c))
        call->err = ZKC_ERR_CLOSED;
    else if (!c->group)
        call->err = ZKC_ERR_CONFIG;
    else if (c->state != CONSUMER_OPEN || !is_kind || !f->topics || f->streams < 1 ||
             f->streams > ZK_STREAMS_MAX)
        call->err = ZKC_ERR_INVALID;
    if (!call->err)
        call->err = member_subscribe_filter(c, f);
}

enum zkc_err zkc_consumer_subscribe_filter(zkc_consumer *consumer, const struct zkc_filter *filter)
{
    struct call call = {.consumer = consumer, .filter = filter};
    return filter ? on_loop(&call, do_subscribe_filter) : ZKC_ERR_INVALID;
}

/* ---- waiting for the first rebalance ---- */

static void do_wait(void *arg)
{
    struct call *call = arg;
    zkc_consumer *c = call->consumer;
    struct waiter *w = calloc(1, sizeof *w);
    if (!w) {
        call->err = ZKC_ERR_NOMEM;
        return;
    }
    w->wait = call->wait;
    w->next = c->waiters;
    c->waiters = w;
    consumer_check_waiters(c);
}

static void do_forget_wait(void *arg)
{
    struct call *call = arg;
    for (struct waiter **at = &call->consumer->waiters; *at; at = &(*at)->next)
        if ((*at)->wait == call->wait) {
            struct waiter *w = *at;
            *at = w->next;
            free(w);
            return;
        }
}

/* Starts something on the loop and waits for its end. */
static enum zkc_err start_and_wait(struct call *call, loop_fn *start, loop_fn *forget,
                                   int timeout_ms)
{
    if (!call->consumer || zkc_loop_is_current(call->consumer->loop))
        return ZKC_ERR_INVALID;
    if (loop_is_foreign(call->consumer->loop))
        return ZKC_ERR_WRONG_PROCESS;
    call->wait = loop_wait_new();
    if (!call->wait)
        return ZKC_ERR_NOMEM;
    enum zkc_err outcome, err = on_loop(call, start);
    if (!err && !loop_wait(call->wait, timeout_ms, &outcome)) {
        err = loop_call(call->consumer->loop, forget, call);
        if (!err && !loop_wait(call->wait, 0, &outcome)) /* it may have ended in between */
            outcome = ZKC_ERR_TIMED_OUT;
    }
    loop_wait_free(call->wait);
    return err ? err : outcome;
}

enum zkc_err zkc_consumer_wait(zkc_consumer *consumer, int timeout_ms)
{
    struct call call = {.consumer = consumer};
    return start_and_wait(&call, do_wait, do_forget_wait, timeout_ms);
}

/* ---- messages ---- */

zkc_stream *zkc_consumer_stream(zkc_consumer *consumer, const char *topic, int32_t index)
{
    if (!consumer || loop_is_foreign(consumer->loop))
        return NULL;
    return stream_find(consumer->hub, topic, index);
}

enum zkc_err zkc_consumer_next(zkc_consumer *consumer, int timeout_ms, struct zkc_message *out)
{
    if (!consumer || !out)
        return ZKC_ERR_INVALID;
    return stream_hub_next(consumer->hub, timeout_ms, out);
}

/* ---- committing ---- */

static struct commit *copy_commit(const struct call *call)
{
    struct commit *commit = calloc(1, sizeof *commit);
    if (!commit)
        return NULL;
    commit->on_done = call->commit_fn;
    commit->user = call->user;
    commit->wait = call->wait;
    if (!call->positions)
        return commit;
    commit->list = calloc(call->count + 1, sizeof *commit->list);
    for (size_t i = 0; commit->list && i < call->count; i++) {
        char *topic = strdup(call->positions[i].topic);
        if (!topic) {
            commit_free(commit);
            return NULL;
        }
        commit->list[commit->count++] = (struct group_position){topic, call->positions[i].partition,
                                                                call->positions[i].offset, 0, 0};
    }
    if (!commit->list) {
        commit_free(commit);
        return NULL;
    }
    return commit;
}

static void do_commit(void *arg)
{
    struct call *call = arg;
    zkc_consumer *c = call->consumer;
    for (size_t i = 0; call->positions && i < call->count; i++)
        if (!call->positions[i].topic || call->positions[i].offset < 0) {
            call->err = ZKC_ERR_INVALID;
            return;
        }
    /* In safe, partitions are given back one by one: what is called from inside of that counts. */
    bool is_giving_back = c->has_stopped || (c->safe && c->is_feeding);
    if (is_closing(c) && !(is_giving_back && c->state == CONSUMER_CLOSING))
        call->err = ZKC_ERR_CLOSED;
    else if (c->state == CONSUMER_OPEN || !c->group)
        call->err = ZKC_ERR_INVALID;
    if (call->err)
        return;
    struct commit *commit = copy_commit(call);
    if (!commit) {
        call->err = ZKC_ERR_NOMEM;
        return;
    }
    commit_queue_put(&c->commits_new, commit);
    member_drain(c);
}

enum zkc_err zkc_consumer_commit(zkc_consumer *consumer, const struct zkc_position *list,
                                 size_t count, zkc_commit_fn *on_done, void *user)
{
    struct call call = {.consumer = consumer,
                        .positions = list,
                        .count = count,
                        .commit_fn = on_done,
                        .user = user};
    return on_loop(&call, do_commit);
}

/* Nobody waits for this commit any more; it goes on. */
static void do_forget_commit(void *arg)
{
    struct call *call = arg;
    zkc_consumer *c = call->consumer;
    struct commit *lists[] = {c->commits_new.first, c->commits_running.first,
                              c->commits_done.first};
    for (int i = 0; i < 3; i++)
        for (struct commit *commit = lists[i]; commit; commit = commit->next)
            if (commit->wait == call->wait)
                commit->wait = NULL;
}

enum zkc_err zkc_consumer_commit_wait(zkc_consumer *consumer, const struct zkc_position *list,
                                      size_t count, int timeout_ms)
{
    struct call call = {.consumer = consumer, .positions = list, .count = count};
    return start_and_wait(&call, do_commit, do_forget_commit, timeout_ms);
}

/* ---- single partitions ---- */

/* All but the constructor are alike: on the loop, while not closing. */
#define PARTITION_CALL(name, expression)                                                           \
    static void do_##name(void *arg)                                                               \
    {                                                                                              \
        struct call *call = arg;                                                                   \
        struct fetching *f = call->consumer->fetching;                                             \
        call->err = is_closing(call->consumer) ? ZKC_ERR_CLOSED                                    \
                    : !call->topic             ? ZKC_ERR_INVALID                                   \
                                               : (expression);                                                 \
    }

PARTITION_CALL(position, fetching_position(f, call->topic, call->partition, call->out))
PARTITION_CALL(log_end, fetching_log_end(f, call->topic, call->partition, call->out))
PARTITION_CALL(seek, fetching_seek(f, call->topic, call->partition, call->offset))
PARTITION_CALL(pause, fetching_pause(f, call->topic, call->partition))
PARTITION_CALL(resume, fetching_resume(f, call->topic, call->partition))

enum zkc_err zkc_consumer_position(zkc_consumer *consumer, const char *topic, int32_t partition,
                                   int64_t *out)
{
    struct call call = {.consumer = consumer, .topic = topic, .partition = partition, .out = out};
    return out ? on_loop(&call, do_position) : ZKC_ERR_INVALID;
}

enum zkc_err zkc_consumer_log_end(zkc_consumer *consumer, const char *topic, int32_t partition,
                                  int64_t *out)
{
    struct call call = {.consumer = consumer, .topic = topic, .partition = partition, .out = out};
    return out ? on_loop(&call, do_log_end) : ZKC_ERR_INVALID;
}

enum zkc_err zkc_consumer_seek(zkc_consumer *consumer, const char *topic, int32_t partition,
                               int64_t offset)
{
    struct call call = {
        .consumer = consumer, .topic = topic, .partition = partition, .offset = offset};
    return on_loop(&call, do_seek);
}

enum zkc_err zkc_consumer_pause(zkc_consumer *consumer, const char *topic, int32_t partition)
{
    struct call call = {.consumer = consumer, .topic = topic, .partition = partition};
    return on_loop(&call, do_pause);
}

enum zkc_err zkc_consumer_resume(zkc_consumer *consumer, const char *topic, int32_t partition)
{
    struct call call = {.consumer = consumer, .topic = topic, .partition = partition};
    return on_loop(&call, do_resume);
}

/* ---- offsets by time ---- */

struct lookup_arg {
    struct call call; /* first: start_and_wait() takes it for that */
    struct lookup_call lookup;
};

static void do_lookup(void *arg)
{
    struct lookup_arg *a = arg;
    zkc_consumer *c = a->call.consumer;
    a->lookup.wait = a->call.wait;
    a->call.err = is_closing(c) ? ZKC_ERR_CLOSED : lookup_start(c, &a->lookup);
}

static void do_forget_lookup(void *arg)
{
    struct lookup_arg *a = arg;
    lookup_forget(a->call.consumer, a->call.wait);
}

static enum zkc_err look_up(zkc_consumer *consumer, const struct lookup_call *lookup,
                            int timeout_ms)
{
    struct lookup_arg a = {.call = {.consumer = consumer}, .lookup = *lookup};
    if (!lookup->topic || lookup->time_ms < ZKC_OFFSET_BEGINNING)
        return ZKC_ERR_INVALID;
    return start_and_wait(&a.call, do_lookup, do_forget_lookup, timeout_ms);
}

enum zkc_err zkc_consumer_offsets_before(zkc_consumer *consumer, const char *topic,
                                         int32_t partition, int64_t time_ms, int64_t *offsets,
                                         size_t *count, int timeout_ms)
{
    if (!offsets || !count || *count == 0 || *count > TIME_QUERY_OFFSETS_MAX)
        return ZKC_ERR_INVALID;
    struct lookup_call lookup = {.topic = topic,
                                 .partition = partition,
                                 .time_ms = time_ms,
                                 .offsets = offsets,
                                 .count_max = *count,
                                 .count = count};
    return look_up(consumer, &lookup, timeout_ms);
}

enum zkc_err zkc_consumer_offset_at(zkc_consumer *consumer, const char *topic, int32_t partition,
                                    int64_t time_ms, int64_t *offset, bool *is_exact,
                                    int timeout_ms)
{
    size_t count = 0;
    if (!offset)
        return ZKC_ERR_INVALID;
    struct lookup_call lookup = {.topic = topic,
                                 .partition = partition,
                                 .time_ms = time_ms,
                                 .wants_exact = true,
                                 .offsets = offset,
                                 .count_max = 1,
                                 .count = &count,
                                 .is_exact = is_exact};
    enum zkc_err err = look_up(consumer, &lookup, timeout_ms);
    if (!err && count == 0)
        *offset = -1;
    return err;
}

static void do_owned(void *arg)
{
    struct call *call = arg;
    struct zkc_owned *list;
    size_t count;
    if (is_closing(call->consumer)) {
        call->err = ZKC_ERR_CLOSED;
        return;
    }
    fetching_owned(call->consumer->fetching, &list, &count);
    for (size_t i = 0; i < count; i++)
        call->owned_fn(&list[i], call->user);
}

enum zkc_err zkc_consumer_owned(zkc_consumer *consumer, zkc_owned_fn *fn, void *user)
{
    struct call call = {.consumer = consumer, .owned_fn = fn, .user = user};
    return fn ? on_loop(&call, do_owned) : ZKC_ERR_INVALID;
}

const char *zkc_consumer_id(const zkc_consumer *consumer)
{
    return consumer->id;
}

/* ---- closing ---- */

static void arm_close_timer(zkc_consumer *c, int64_t at_ms)
{
    int64_t ms = at_ms - loop_now_ms();
    if (ms < 0)
        ms = 0;
    struct timeval tv = {ms / 1000, (ms % 1000) * 1000};
    event_add(c->close_timer, &tv);
}

/* The last tenth of the time, half a second at most, is for the end of the session. */
static void on_close_item(void *arg)
{
    zkc_consumer *c = arg;
    int64_t timeout_ms = c->close_timeout_ms < 0 ? INT32_MAX : c->close_timeout_ms;
    int64_t rest_ms = timeout_ms / 10 < 500 ? timeout_ms / 10 : 500;
    c->close_at_ms = loop_now_ms() + timeout_ms;
    c->state = CONSUMER_CLOSING;
    consumer_check_waiters(c);
    lookup_end_all(c);
    arm_close_timer(c, c->close_at_ms - rest_ms);
    c->leave_wanted = true;
    member_drain(c);
}

/* The machine has not come to its end: the session is closed without it. */
static void on_close_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    zkc_consumer *c = arg;
    if (c->state != CONSUMER_CLOSING)
        return;
    c->was_cut = true;
    log_line(c->log, 4, LOG_FACILITY_MEMBER,
             "closing: the time is up; the last offsets may not be committed");
    struct zkc_owned *list;
    size_t count;
    fetching_stop(c->fetching, GATE_REVOKED, "exit", &list, &count);
    stream_hub_end(c->hub);
    member_close_session(c);
}

void consumer_finish(zkc_consumer *c, bool is_released)
{
    c->close_err = !is_released ? ZKC_ERR_NOT_RELEASED : c->was_cut ? ZKC_ERR_TIMED_OUT : ZKC_OK;
    event_del(c->close_timer);
    for (struct commit *commit; (commit = commit_queue_take(&c->commits_running));)
        consumer_commit_done(c, commit, ZKC_ERR_CLOSED);
    for (struct commit *commit; (commit = commit_queue_take(&c->commits_new));)
        consumer_commit_done(c, commit, ZKC_ERR_CLOSED);
    loop_post(c->loop, &c->finish_item);
}

/* Nothing of this consumer is on the stack: it may be freed by the last callback. */
static void on_finish_item(void *arg)
{
    zkc_consumer *c = arg;
    if (c->stats_timer)
        event_del(c->stats_timer);
    if (c->trace_timer)
        event_del(c->trace_timer);
    consumer_tell(c);
    fetching_free(c->fetching);
    c->fetching = NULL;
    tracing_close(c->tracing, !c->close_err);
    c->tracing = NULL;
    c->state = CONSUMER_CLOSED;
    zkc_closed_fn *fn = c->on_closed;
    void *user = c->on_closed_user;
    enum zkc_err err = c->close_err;
    if (c->close_wait)
        loop_wait_end(c->close_wait, err);
    c->close_wait = NULL;
    if (fn)
        fn(c, err, user);
}

static enum zkc_err begin_close(zkc_consumer *c, int timeout_ms, zkc_closed_fn *on_closed,
                                void *user, struct loop_wait *wait)
{
    if (!c)
        return ZKC_ERR_INVALID;
    if (loop_is_foreign(c->loop))
        return ZKC_ERR_WRONG_PROCESS;
    if (atomic_exchange(&c->close_called, true))
        return ZKC_ERR_CLOSED;
    c->close_timeout_ms = timeout_ms;
    c->on_closed = on_closed;
    c->on_closed_user = user;
    c->close_wait = wait;
    loop_post(c->loop, &c->close_item); /* posted, not called: a callback that hangs on the loop
                                         * must not hold up a close that has a deadline */
    return ZKC_OK;
}

enum zkc_err zkc_consumer_close(zkc_consumer *consumer, int timeout_ms, zkc_closed_fn *on_closed,
                                void *user)
{
    return begin_close(consumer, timeout_ms, on_closed, user, NULL);
}

/* Turns an application's own loop until the consumer is closed. */
static enum zkc_err close_turning(zkc_consumer *c, int timeout_ms)
{
    if (loop_is_own(c->loop))
        return ZKC_ERR_INVALID;
    enum zkc_err err = begin_close(c, timeout_ms, NULL, NULL, NULL);
    while (!err && c->state != CONSUMER_CLOSED)
        if (event_base_loop(loop_base(c->loop), EVLOOP_ONCE) < 0)
            err = ZKC_ERR_INVALID; /* called inside of a callback: the loop is turning already */
    return err ? err : c->close_err;
}

enum zkc_err zkc_consumer_close_wait(zkc_consumer *consumer, int timeout_ms)
{
    if (!consumer)
        return ZKC_ERR_INVALID;
    if (zkc_loop_is_current(consumer->loop))
        return close_turning(consumer, timeout_ms);
    if (loop_is_foreign(consumer->loop))
        return ZKC_ERR_WRONG_PROCESS;
    struct loop_wait *wait = loop_wait_new();
    if (!wait)
        return ZKC_ERR_NOMEM;
    enum zkc_err outcome, err = begin_close(consumer, timeout_ms, NULL, NULL, wait);
    if (err) {
        loop_wait_free(wait);
        return err;
    }
    /* The loop keeps the deadline; a second more is for a loop that is held up. */
    if (!loop_wait(wait, timeout_ms < 0 ? -1 : timeout_ms + 1000, &outcome)) {
        loop_wait_abandon(wait);
        return ZKC_ERR_TIMED_OUT;
    }
    loop_wait_free(wait);
    return outcome;
}

static void do_free(void *arg)
{
    free_parts(((struct call *)arg)->consumer);
}

void zkc_consumer_free(zkc_consumer *consumer)
{
    struct call call = {.consumer = consumer};
    if (consumer && loop_call(consumer->loop, do_free, &call) == ZKC_ERR_WRONG_PROCESS)
        return; /* everything is the parent's */
}
