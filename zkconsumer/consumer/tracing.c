#include "zkconsumer/consumer/tracing.h"
#include "zkconsumer/consumer/loop.h"
#include "zkconsumer/consumer/trace.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zkconsumer/version.h>

#define VIEWS_MAX 256 /* hashes whose lists have been written; older ones are written again */

struct tracing {
    struct trace *trace;
    struct log *log;
    char *member;
    char *id; /* registered: what views name */
    enum conf_mode mode;
    uint32_t rebalance, attempt;
    bool in_rebalance;
    uint64_t ops[ZK_OP_TYPE_COUNT]; /* of the attempt, by enum zk_op_type */
    uint64_t bytes_in, bytes_out;
    int64_t zxid_first, zxid_last; /* read in the attempt; 0: not known */
    int64_t phase_ns[4]; /* read, commit, release, claim: time spent waiting for the server */
    uint64_t views[VIEWS_MAX];
    size_t view_count;
};

static void on_failed(const char *text, void *user)
{
    struct tracing *t = user;
    log_line(t->log, 3, LOG_FACILITY_CONF, "%s", text);
}

static const char *variant_name(enum conf_variant variant)
{
    static const char *const names[] = {"0.8", "0.7", "documented"};
    return names[variant];
}

/* In safe mode `auto` goes by who is in the group; so does rendezvous, but that has a name. */
static const char *strategy_name(const struct conf_view *conf)
{
    static const char *const names[] = {"ceil", "range", "rendezvous", "roundrobin"};
    bool is_auto = conf->mode == CONF_MODE_SAFE && conf->is_strategy_auto;
    return is_auto ? "auto" : names[conf->strategy];
}

/* Of compat: the choices of 0.8.2 that are taken away. */
static void add_switches(struct json *j, const struct conf_view *conf)
{
    struct zk_switches switches = conf_switches(conf);
    struct zk_switch list[ZK_SWITCH_COUNT];
    size_t count = conf->mode == CONF_MODE_COMPAT ? zk_switches_set(&switches, list) : 0;
    for (size_t i = 0; i < count; i++)
        json_text(j, list[i].name, list[i].value);
}

static void write_header(struct tracing *t, const struct conf_view *conf)
{
    struct utsname host = {0};
    struct json *j = trace_begin_header(t->trace);
    if (!j)
        return;
    uname(&host);
    json_text(j, "mode", conf_mode_name(conf->mode));
    json_text(j, "variant", variant_name(conf->variant));
    json_text(j, "strategy", strategy_name(conf));
    json_bool(j, "zookeeper.watch.brokers", conf->watch_brokers);
    add_switches(j, conf);
    json_text(j, "build", zkc_version_text());
    json_text(j, "group", conf->group_id);
    json_object_begin(j, "host");
    json_text(j, "kernel", host.release);
    json_int(j, "cores", sysconf(_SC_NPROCESSORS_ONLN));
    json_object_end(j);
    json_object_begin(j, "cfg");
    json_int(j, "zookeeper.session.timeout.ms", conf->zookeeper_session_timeout_ms);
    json_int(j, "rebalance.max.retries", conf->rebalance_retries_max);
    json_int(j, "rebalance.backoff.ms", conf->rebalance_backoff_ms);
    json_int(j, "refresh.leader.backoff.ms", conf->refresh_leader_backoff_ms);
    json_bool(j, "auto.commit.enable", conf->auto_commit);
    json_int(j, "auto.commit.interval.ms", conf->auto_commit_interval_ms);
    json_object_end(j);
    trace_end(t->trace);
}

enum zkc_err tracing_open(const struct conf_view *conf, const char *member, struct log *log,
                          struct tracing **out, char *why, size_t why_size)
{
    *out = NULL;
    if (!conf->trace_path)
        return ZKC_OK;
    struct tracing *t = calloc(1, sizeof *t);
    if (!t)
        return ZKC_ERR_NOMEM;
    t->log = log;
    t->mode = conf->mode;
    t->member = strdup(conf->trace_member ? conf->trace_member : member);
    t->id = strdup(member);
    struct trace_options options = {.path = conf->trace_path,
                                    .source = t->member,
                                    .level = conf->trace_level,
                                    .origin_ns = conf->trace_origin_ns,
                                    .on_failed = on_failed,
                                    .user = t};
    enum zkc_err err =
        t->member && t->id ? trace_open(&options, &t->trace, why, why_size) : ZKC_ERR_NOMEM;
    if (err) {
        free(t->member);
        free(t->id);
        free(t);
        return err;
    }
    write_header(t, conf);
    *out = t;
    return ZKC_OK;
}

/* Every event of a member carries its name. */
static struct json *begin(struct tracing *t, int level, const char *ev)
{
    struct json *j = t ? trace_begin(t->trace, level, ev) : NULL;
    if (j)
        json_text(j, "m", t->member);
    return j;
}

void tracing_close(struct tracing *t, bool is_clean)
{
    if (!t)
        return;
    struct json *j = begin(t, TRACE_STATES, "m_exit");
    if (j) {
        json_bool(j, "clean", is_clean);
        json_int(j, "code", 0);
        trace_end(t->trace);
    }
    trace_close(t->trace, "done");
    free(t->member);
    free(t->id);
    free(t);
}

void tracing_flush(struct tracing *t)
{
    if (t)
        trace_flush(t->trace);
}

void tracing_start(struct tracing *t, const char *const *topics, size_t count, int32_t streams)
{
    struct json *j = begin(t, TRACE_STATES, "m_start");
    if (!j)
        return;
    json_text(j, "id", t->id);
    json_text(j, "mode", conf_mode_name(t->mode));
    json_list_begin(j, "topics");
    for (size_t i = 0; i < count; i++)
        json_text(j, NULL, topics[i]);
    json_list_end(j);
    if (streams)
        json_int(j, "streams", streams);
    trace_end(t->trace);
}

/* ---- outputs of the machine ---- */

static void add_partition(struct json *j, const char *topic, int32_t partition)
{
    json_textf(j, "p", "%s/%d", topic, partition);
}

static void add_attempt(struct tracing *t, struct json *j)
{
    json_int(j, "rb", t->rebalance);
    json_int(j, "i", t->attempt);
}

/* Claims as ranges: "t/3-6". */
static void add_ranges(struct json *j, const char *key, const struct group_claim *claims,
                       size_t count)
{
    json_list_begin(j, key);
    for (size_t i = 0, n; i < count; i += n) {
        n = 1;
        while (i + n < count && strcmp(claims[i + n].topic, claims[i].topic) == 0 &&
               claims[i + n].partition == claims[i].partition + (int32_t)n)
            n++;
        if (n == 1)
            json_textf(j, NULL, "%s/%d", claims[i].topic, claims[i].partition);
        else
            json_textf(j, NULL, "%s/%d-%d", claims[i].topic, claims[i].partition,
                       claims[i + n - 1].partition);
    }
    json_list_end(j);
}

static bool is_new_view(struct tracing *t, uint64_t hash)
{
    for (size_t i = 0; i < t->view_count && i < VIEWS_MAX; i++)
        if (t->views[i] == hash)
            return false;
    t->views[t->view_count++ % VIEWS_MAX] = hash;
    return true;
}

static void view(struct tracing *t, const struct group_output *o)
{
    struct json *j = begin(t, TRACE_STATES, "view");
    if (!j)
        return;
    size_t partitions = 0;
    for (size_t i = 0; i < o->view.topic_count; i++)
        partitions += o->view.topics[i].count;
    add_attempt(t, j);
    json_hex(j, "h", o->view.hash);
    json_int(j, "nm", (int64_t)o->view.member_count);
    json_int(j, "np", (int64_t)partitions);
    json_int(j, "zx0", t->zxid_first);
    json_int(j, "zx1", t->zxid_last);
    if (is_new_view(t, o->view.hash)) {
        json_list_begin(j, "mlist");
        for (size_t i = 0; i < o->view.member_count; i++)
            json_text(j, NULL, o->view.members[i].consumer_id);
        json_list_end(j);
        json_list_begin(j, "plist");
        for (size_t i = 0; i < o->view.topic_count; i++)
            for (size_t k = 0; k < o->view.topics[i].count; k++)
                json_textf(j, NULL, "%s/%d", o->view.topics[i].topic,
                           o->view.topics[i].partitions[k]);
        json_list_end(j);
    }
    trace_end(t->trace);
}

static const char *rc_word(int zk_rc)
{
    return zk_rc == ZK_OK ? "ok" : zk_rc == ZK_NODE_EXISTS ? "exists" : "error";
}

static void claim_event(struct tracing *t, const struct group_output *o)
{
    struct json *j = begin(t, TRACE_ATTEMPTS, "claim");
    if (!j)
        return;
    add_attempt(t, j);
    add_partition(j, o->claim.topic, o->claim.partition);
    json_text(j, "rc", rc_word(o->claim.zk_rc));
    if (o->claim.holder)
        json_text(j, "holder", o->claim.holder);
    trace_end(t->trace);
}

static void release_event(struct tracing *t, const struct group_output *o)
{
    struct json *j = begin(t, TRACE_ATTEMPTS, "release");
    if (!j)
        return;
    add_attempt(t, j);
    add_partition(j, o->release.topic, o->release.partition);
    json_text(j, "rc", o->release.zk_rc == ZK_OK ? "ok" : zk_rc_name(o->release.zk_rc));
    trace_end(t->trace);
}

static void offset_event(struct tracing *t, const struct group_output *o)
{
    bool is_commit = o->type == GROUP_OUT_COMMIT;
    struct json *j = begin(t, TRACE_ATTEMPTS, is_commit ? "commit" : "offset_read");
    if (!j)
        return;
    add_partition(j, o->offset.topic, o->offset.partition);
    json_int(j, "o", o->offset.offset);
    if (is_commit) {
        json_text(j, "rc", o->offset.zk_rc == ZK_OK ? "ok" : zk_rc_name(o->offset.zk_rc));
        json_int(j, "prev", o->offset.previous);
    }
    trace_end(t->trace);
}

/* What Kafka had stored, or what became of a commit to it: one event a partition. */
static void kafka_offsets(struct tracing *t, const struct group_output *o)
{
    bool is_commit = o->type == GROUP_OUT_OFFSETS_STORED;
    for (size_t i = 0; i < o->offsets.count; i++) {
        const struct group_offset *at = &o->offsets.list[i];
        struct json *j = begin(t, TRACE_ATTEMPTS, is_commit ? "commit" : "offset_read");
        if (!j)
            return;
        add_partition(j, at->topic, at->partition);
        json_int(j, "o", at->offset);
        if (is_commit) {
            json_text(j, "rc", at->kafka_error ? kafka_error_name(at->kafka_error) : "ok");
            json_int(j, "prev", -1);
        }
        json_text(j, "store", "kafka");
        trace_end(t->trace);
    }
}

static void try_begin(struct tracing *t, const struct group_output *o)
{
    t->rebalance = o->try_begin.rebalance;
    t->attempt = o->try_begin.attempt;
    t->in_rebalance = true;
    memset(t->ops, 0, sizeof t->ops);
    memset(t->phase_ns, 0, sizeof t->phase_ns);
    t->bytes_in = t->bytes_out = 0;
    t->zxid_first = t->zxid_last = 0;
    struct json *j = begin(t, TRACE_STATES, "rb_try");
    if (!j)
        return;
    add_attempt(t, j);
    trace_end(t->trace);
}

static void try_end(struct tracing *t, const struct group_output *o)
{
    static const char *const phases[] = {"read", "commit", "release", "claim"};
    t->in_rebalance = false;
    struct json *j = begin(t, TRACE_ATTEMPTS, "rb_try_end");
    if (!j)
        return;
    add_attempt(t, j);
    json_bool(j, "ok", o->try_end.ok);
    json_text(j, "why", o->try_end.why);
    json_object_begin(j, "ops");
    for (int i = 0; i < ZK_OP_TYPE_COUNT; i++)
        if (t->ops[i])
            json_int(j, zk_op_name((enum zk_op_type)i), (int64_t)t->ops[i]);
    json_object_end(j);
    json_object_begin(j, "bytes");
    json_int(j, "in", (int64_t)t->bytes_in);
    json_int(j, "out", (int64_t)t->bytes_out);
    json_object_end(j);
    json_object_begin(j, "ns");
    for (int i = 0; i < 4; i++)
        json_int(j, phases[i], t->phase_ns[i]);
    json_object_end(j);
    trace_end(t->trace);
}

static void rebalance_end(struct tracing *t, const struct group_output *o)
{
    struct json *j = begin(t, TRACE_STATES, "rb_end");
    if (!j)
        return;
    json_int(j, "rb", o->rebalance_end.rebalance);
    json_bool(j, "ok", o->rebalance_end.ok);
    json_int(j, "tries", o->rebalance_end.attempts);
    json_bool(j, "gave_up", o->rebalance_end.gave_up);
    json_bool(j, "told_app", o->rebalance_end.gave_up);
    trace_end(t->trace);
}

static void one_field(struct tracing *t, int level, const char *ev, const char *key, int64_t value,
                      const char *text)
{
    struct json *j = begin(t, level, ev);
    if (!j)
        return;
    if (strcmp(ev, "rb_backoff") == 0)
        add_attempt(t, j);
    if (text)
        json_text(j, key, text);
    else
        json_int(j, key, value);
    trace_end(t->trace);
}

void tracing_output(struct tracing *t, const struct group_output *o)
{
    if (!t)
        return;
    struct json *j;
    switch (o->type) {
    case GROUP_OUT_TRIGGER: one_field(t, TRACE_ATTEMPTS, "rb_trigger", "why", 0, o->trigger); break;
    case GROUP_OUT_REBALANCE_BEGIN:
        one_field(t, TRACE_STATES, "rb_begin", "rb", o->rebalance_begin.rebalance, NULL);
        break;
    case GROUP_OUT_TRY_BEGIN: try_begin(t, o); break;
    case GROUP_OUT_VIEW: view(t, o); break;
    case GROUP_OUT_DECIDE:
        if (!(j = begin(t, TRACE_STATES, "decide")))
            break;
        add_attempt(t, j);
        add_ranges(j, "want", o->decide.claims, o->decide.count);
        trace_end(t->trace);
        break;
    case GROUP_OUT_CLAIM: claim_event(t, o); break;
    case GROUP_OUT_RELEASE: release_event(t, o); break;
    case GROUP_OUT_OFFSET_READ:
    case GROUP_OUT_COMMIT: offset_event(t, o); break;
    case GROUP_OUT_OFFSETS_READ:
    case GROUP_OUT_OFFSETS_STORED: kafka_offsets(t, o); break;
    case GROUP_OUT_TRY_END: try_end(t, o); break;
    case GROUP_OUT_BACKOFF:
        one_field(t, TRACE_ATTEMPTS, "rb_backoff", "ns", o->backoff_ms * 1000000, NULL);
        break;
    case GROUP_OUT_REBALANCE_END: rebalance_end(t, o); break;
    default: break; /* to do, not to know */
    }
}

/* ---- the session ---- */

static size_t result_bytes(const struct zk_result *r)
{
    size_t n = r->data.len;
    for (size_t i = 0; i < r->children_count; i++)
        n += strlen(r->children[i]) + 4;
    return n;
}

/* Which of read, commit, release, claim an operation of an attempt belongs to. */
static int phase_of(enum group_lane lane, const struct zk_op *op)
{
    if (lane == GROUP_LANE_COMMIT)
        return 1;
    if (op->type == ZK_OP_DELETE)
        return 2;
    return op->type == ZK_OP_CREATE || op->type == ZK_OP_MULTI ? 3 : 0;
}

void tracing_op(struct tracing *t, enum group_lane lane, const struct zk_op *op,
                const struct zk_result *result, size_t bytes_out, int64_t sent_ns)
{
    if (!t)
        return;
    int64_t ns = loop_now_ns() - sent_ns;
    if (t->in_rebalance && (lane == GROUP_LANE_REBALANCE || lane == GROUP_LANE_COMMIT)) {
        t->ops[op->type]++;
        t->bytes_in += result_bytes(result);
        t->bytes_out += bytes_out;
        t->phase_ns[phase_of(lane, op)] += ns;
    }
    if (t->in_rebalance && lane == GROUP_LANE_REBALANCE && result->zxid) {
        if (!t->zxid_first)
            t->zxid_first = result->zxid;
        t->zxid_last = result->zxid;
    }
    struct json *j = begin(t, TRACE_OPERATIONS, "zk_op");
    if (!j)
        return;
    json_text(j, "op", zk_op_name(op->type));
    json_text(j, "path", op->path);
    json_bool(j, "watch", op->watch);
    json_text(j, "rc", zk_rc_name(result->zk_rc));
    json_int(j, "zxid", result->zxid);
    json_int(j, "lat", ns);
    trace_end(t->trace);
}

void tracing_watch(struct tracing *t, const struct zk_watch_event *event)
{
    struct json *j = begin(t, TRACE_ATTEMPTS, "zk_watch");
    if (!j)
        return;
    json_text(j, "path", event->path);
    json_text(j, "type", zk_event_name(event->type));
    trace_end(t->trace);
}

void tracing_session(struct tracing *t, const char *state, int64_t session_id, const char *server)
{
    bool is_open = strcmp(state, "open") == 0, is_expired = strcmp(state, "expired") == 0;
    bool is_close = strcmp(state, "close") == 0;
    struct json *j = NULL;
    if (is_open || is_expired || is_close)
        j = begin(t, TRACE_STATES, "zk_session");
    if (j) {
        json_text(j, "what", is_open ? "open" : is_close ? "close" : "expire");
        json_hex(j, "sid", (uint64_t)session_id);
        trace_end(t->trace);
    }
    j = is_close ? NULL : begin(t, TRACE_STATES, "zk_state");
    if (!j)
        return;
    json_text(j, "state", is_open ? "connected" : state);
    if (server)
        json_text(j, "server", server);
    trace_end(t->trace);
}

/* ---- partitions ---- */

void tracing_own_begin(struct tracing *t, const char *topic, int32_t partition, int64_t offset)
{
    struct json *j = begin(t, TRACE_STATES, "own_begin");
    if (!j)
        return;
    add_partition(j, topic, partition);
    json_int(j, "o", offset);
    trace_end(t->trace);
}

static void add_claim(struct json *j, uint64_t claim)
{
    if (claim)
        json_int(j, "claim", (int64_t)claim);
}

void tracing_own_end(struct tracing *t, const char *topic, int32_t partition, const char *why,
                     uint64_t claim)
{
    struct json *j = begin(t, TRACE_STATES, "own_end");
    if (!j)
        return;
    add_partition(j, topic, partition);
    json_text(j, "why", why);
    add_claim(j, claim);
    trace_end(t->trace);
}

void tracing_fetch(struct tracing *t, bool starts, const char *topic, int32_t partition)
{
    struct json *j = begin(t, TRACE_STATES, starts ? "fetch_start" : "fetch_stop");
    if (!j)
        return;
    json_list_begin(j, "ps");
    json_textf(j, NULL, "%s/%d", topic, partition);
    json_list_end(j);
    trace_end(t->trace);
}

/* The lease's clock counts system suspend, the trace's does not: what is left of it is the same. */
static int64_t lease_end_ns(int64_t end_ms)
{
    int64_t left_ms = end_ms == INT64_MIN || end_ms == INT64_MAX ? 0 : end_ms - loop_now_ms();
    return loop_now_ns() + left_ms * 1000000;
}

void tracing_lease(struct tracing *t, int64_t session_id, int64_t end_ms)
{
    int64_t until_ns =
        t ? lease_end_ns(end_ms) : 0; /* before the event: one that is over is over */
    struct json *j = begin(t, TRACE_ATTEMPTS, "lease");
    if (!j)
        return;
    json_hex(j, "sid", (uint64_t)session_id);
    json_int(j, "until", end_ms == INT64_MAX ? INT64_MAX : trace_time(t->trace, until_ns));
    trace_end(t->trace);
}

static void tell_place(struct tracing *t, int level, const char *ev, const char *topic,
                       int32_t partition, int64_t offset, uint64_t claim)
{
    struct json *j = begin(t, level, ev);
    if (!j)
        return;
    add_partition(j, topic, partition);
    json_int(j, "o", offset);
    add_claim(j, claim);
    trace_end(t->trace);
}

void tracing_processed(struct tracing *t, const char *topic, int32_t partition, int64_t finished,
                       uint64_t claim)
{
    tell_place(t, TRACE_ATTEMPTS, "processed", topic, partition, finished, claim);
}

void tracing_void(struct tracing *t, const char *topic, int32_t partition, int64_t finished,
                  uint64_t claim)
{
    tell_place(t, TRACE_ATTEMPTS, "void", topic, partition, finished, claim);
}

void tracing_moved(struct tracing *t, const char *topic, int32_t partition, int64_t offset)
{
    tell_place(t, TRACE_STATES, "moved", topic, partition, offset, 0);
}

static void on_delivered(const struct claim *claim, const struct delivered *run, void *user)
{
    struct tracing *t = user;
    struct json *j = begin(t, TRACE_STATES, "deliver");
    if (!j)
        return;
    add_partition(j, claim->topic, claim->partition);
    json_int(j, "o0", run->first);
    json_int(j, "o1", run->last);
    json_int(j, "t0", trace_time(t->trace, run->first_ns));
    json_int(j, "t1", trace_time(t->trace, run->last_ns));
    trace_end(t->trace);
}

void tracing_deliveries(struct tracing *t, struct claim *claim)
{
    if (t)
        trace_dropped(t->trace, claim_collect(claim, on_delivered, t));
}

bool tracing_wants_deliveries(const struct tracing *t)
{
    return t != NULL;
}
