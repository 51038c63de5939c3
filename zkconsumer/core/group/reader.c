#include "zkconsumer/core/group/reader.h"
#include "zkconsumer/core/group/claims.h"
#include "zkconsumer/core/group/commit_drive.h"
#include "zkconsumer/core/zk/offset.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdlib.h>

enum reader_state { NEW, READING, HOLDING, LEAVING, CLOSED };

struct reader {
    enum reader_state state;
    char *group;
    char **topics; /* sorted, each once; behind the claims */
    size_t topic_count;
    struct group_claim *claims; /* sorted by topic and partition */
    bool *wants_stored;
    size_t count;
    size_t at; /* claim whose stored offset is being read */
    char *path;
    int64_t now_ms;
    int64_t resend_at_ms;
    bool connected;
    bool is_stopped;
    struct lane lanes[GROUP_LANE_COUNT];
    enum commit_store offsets_in;
    struct offset_committer committer;
    struct offset_manager offsets; /* of offsets in Kafka */
    struct leader_finder finder;
};

void reader_free(struct reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->topic_count; i++)
        free(r->topics[i]);
    free(r->topics);
    free(r->claims);
    free(r->wants_stored);
    free(r->path);
    free(r->group);
    committer_deinit(&r->committer);
    offset_manager_deinit(&r->offsets);
    finder_deinit(&r->finder);
    free(r);
}

static int by_name(const void *a, const void *b)
{
    const struct reader_partition *x = *(const struct reader_partition *const *)a;
    const struct reader_partition *y = *(const struct reader_partition *const *)b;
    return topic_partition_compare((struct topic_partition){x->topic, x->partition},
                                   (struct topic_partition){y->topic, y->partition});
}

/* Fills topics and claims from the partitions, sorted. False: out of memory. */
static bool copy_partitions(struct reader *r, const struct reader_config *config)
{
    size_t n = config->partition_count;
    const struct reader_partition **sorted = calloc(n + 1, sizeof *sorted);
    r->topics = calloc(n + 1, sizeof *r->topics);
    r->claims = calloc(n + 1, sizeof *r->claims);
    r->wants_stored = calloc(n + 1, sizeof *r->wants_stored);
    bool ok = sorted && r->topics && r->claims && r->wants_stored;
    for (size_t i = 0; ok && i < n; i++)
        sorted[i] = &config->partitions[i];
    if (ok)
        qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 0; ok && i < n; i++) {
        const struct reader_partition *p = sorted[i];
        if (r->topic_count == 0 || strcmp(r->topics[r->topic_count - 1], p->topic) != 0) {
            char *topic = strdup(p->topic);
            ok = topic != NULL;
            if (!ok)
                break;
            r->topics[r->topic_count++] = topic;
        }
        r->wants_stored[i] = p->wants_stored;
        r->claims[i] = (struct group_claim){.topic = r->topics[r->topic_count - 1],
                                            .topic_index = (uint32_t)r->topic_count - 1,
                                            .partition = p->partition,
                                            .offset = p->offset};
        r->count++;
    }
    free(sorted);
    return ok;
}

enum zkc_err reader_new(const struct reader_config *config, struct reader **out)
{
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return ZKC_ERR_NOMEM;
    r->resend_at_ms = INT64_MAX;
    r->group = config->group ? strdup(config->group) : NULL;
    struct offset_manager_config offsets = {.group = r->group,
                                            .backoff_ms = config->offsets_channel_backoff_ms,
                                            .timeout_ms = config->offsets_channel_timeout_ms,
                                            .seed = config->seed + 1};
    r->offsets_in = config->offsets_in;
    committer_init(&r->committer, r->group, config->offsets_in);
    offset_manager_init(&r->offsets, &offsets);
    finder_init(&r->finder, config->refresh_leader_backoff_ms, config->seed);
    if (!copy_partitions(r, config) || (config->group && !r->group)) {
        reader_free(r);
        return ZKC_ERR_NOMEM;
    }
    *out = r;
    return ZKC_OK;
}

/* ---- stored offsets ---- */

static void hold(struct reader *r, struct group_outputs *out)
{
    r->state = HOLDING;
    struct finder_wanted *wanted = calloc(r->count + 1, sizeof *wanted);
    for (size_t i = 0; wanted && i < r->count; i++)
        wanted[i] = (struct finder_wanted){r->claims[i].topic, r->claims[i].topic_index,
                                           r->claims[i].partition};
    if (!wanted || finder_want(&r->finder, wanted, r->count))
        group_notice(out, 3, "fetch", ZKC_ERR_NOMEM, "no partition is fetched: out of memory");
    free(wanted);
    struct group_output *o = group_emit(out, GROUP_OUT_ASSIGN);
    o->assign.claims = r->claims;
    o->assign.count = r->count;
    o = group_emit(out, GROUP_OUT_STATE);
    o->state.settled = true;
}

static void read_next(struct reader *r, struct group_outputs *out)
{
    for (; r->at < r->count; r->at++) {
        struct group_claim *c = &r->claims[r->at];
        if (!r->wants_stored[r->at])
            continue;
        free(r->path);
        r->path = zk_path_offset(r->group, c->topic, c->partition);
        if (r->path) {
            struct zk_op op = {.type = ZK_OP_GET, .path = r->path};
            lane_send(r->lanes, GROUP_LANE_REBALANCE, &op, r->connected, out);
            return;
        }
        c->offset = -1;
        if (out->count < GROUP_OUTPUTS_MAX / 2)
            group_notice(out, 3, "offset", ZKC_ERR_NOMEM,
                         "the stored offset of [%s,%d] is not read: out of memory", c->topic,
                         c->partition);
    }
    hold(r, out);
}

/* The next commit writes only what differs from this. */
static void remember(struct reader *r, const struct group_claim *c, struct group_outputs *out)
{
    struct commit_item item = {.topic = c->topic,
                               .topic_index = c->topic_index,
                               .partition = c->partition,
                               .offset = c->offset};
    if (committer_known(&r->committer, &item))
        group_notice(out, 7, "offset", ZKC_OK, "the next commit writes again: out of memory");
}

static void take_stored(struct reader *r, const struct zk_result *answer, struct group_outputs *out)
{
    struct group_claim *c = &r->claims[r->at];
    struct why why;
    int64_t stored = -1;
    if (answer->zk_rc == ZK_OK) {
        enum zkc_err err = zk_offset_read(answer->data, &stored, &why);
        if (err)
            group_notice(out, 3, "offset", err, "offset %s: %s; starting by auto.offset.reset",
                         r->path, why.text);
        if (err || stored < 0)
            stored = -1; /* any negative number means none */
    } else if (answer->zk_rc != ZK_NO_NODE) {
        group_notice(out, 3, "offset", ZKC_ERR_ZOOKEEPER,
                     "getData %s: %s (%d); starting by auto.offset.reset", r->path,
                     zk_rc_name(answer->zk_rc), answer->zk_rc);
    }
    c->offset = r->offsets_in == COMMIT_TO_BOTH && c->offset > stored ? c->offset : stored;
    remember(r, c, out);
    struct group_output *o = group_emit(out, GROUP_OUT_OFFSET_READ);
    o->offset.topic = c->topic;
    o->offset.partition = c->partition;
    o->offset.offset = stored;
    o->offset.zk_rc = answer->zk_rc;
    r->at++;
    read_next(r, out);
}

/* Asks Kafka for what is wanted. False: there is nothing to ask, or no memory to do it. */
static bool fetch_stored(struct reader *r, struct group_outputs *out)
{
    struct group_offset *list = calloc(r->count + 1, sizeof *list);
    size_t count = 0;
    for (size_t i = 0; list && i < r->count; i++)
        if (r->wants_stored[i])
            list[count++] = (struct group_offset){
                .topic = r->claims[i].topic, .partition = r->claims[i].partition, .offset = -1};
    enum zkc_err err = list ? ZKC_OK : ZKC_ERR_NOMEM;
    if (!err && count > 0)
        err = offset_manager_begin(&r->offsets, OFFSET_JOB_FETCH, list, count, 1);
    free(list);
    if (err)
        group_notice(out, 3, "offset", err, "stored offsets are not read: out of memory");
    return !err && count > 0;
}

static void begin_reading(struct reader *r, struct group_outputs *out)
{
    r->state = READING;
    if (r->offsets_in == COMMIT_TO_ZOOKEEPER) {
        read_next(r, out);
        return;
    }
    for (size_t i = 0; i < r->count; i++)
        if (r->wants_stored[i])
            r->claims[i].offset = -1;
    if (!fetch_stored(r, out))
        hold(r, out);
}

static void take_fetched(struct reader *r, struct group_outputs *out)
{
    struct offset_outcome outcome;
    if (!offset_manager_take(&r->offsets, OFFSET_JOB_FETCH, &outcome, out) || r->state != READING)
        return;
    size_t at = 0; /* both lists are sorted alike */
    for (size_t i = 0; i < r->count; i++) {
        if (!r->wants_stored[i])
            continue;
        int64_t stored = outcome.list[at++].offset;
        r->claims[i].offset = stored < 0 ? -1 : stored;
        remember(r, &r->claims[i], out);
    }
    if (r->offsets_in == COMMIT_TO_BOTH)
        read_next(r, out);
    else
        hold(r, out);
}

/* ---- commits and leaders ---- */

static enum zkc_err add_commit(struct reader *r, const struct group_input *in, uint32_t *job)
{
    if (!r->group)
        return ZKC_ERR_INVALID;
    struct commit_request request = {.held = r->claims,
                                     .held_count = r->count,
                                     .positions = in->commit.list,
                                     .count = in->commit.count,
                                     .is_strict = true,
                                     .is_joinable = true};
    return committer_add(&r->committer, &request, job);
}

static void take_commit(struct reader *r, const struct group_input *in, struct group_outputs *out)
{
    uint32_t job = 0;
    enum zkc_err err = add_commit(r, in, &job);
    struct group_output *o = group_emit(out, GROUP_OUT_COMMIT_QUEUED);
    o->committed.job = job;
    o->committed.err = err;
    o->committed.text = "";
}

static struct commit_drive drive(struct reader *r)
{
    return (struct commit_drive){&r->committer, &r->offsets, r->lanes, r->connected, 1};
}

static void drive_committer(struct reader *r, const struct zk_result *answer,
                            struct group_outputs *out)
{
    struct commit_drive d = drive(r);
    struct commit_ended ended;
    for (; commit_drive(&d, answer, &ended, out); answer = NULL)
        commit_tell_ended(&ended, out);
}

static void take_committed(struct reader *r, struct group_outputs *out)
{
    struct commit_drive d = drive(r);
    struct commit_ended ended;
    if (commit_drive_stored(&d, &ended, out))
        commit_tell_ended(&ended, out);
}

static void leader_lost(struct reader *r, const struct group_input *in, struct group_outputs *out)
{
    const struct group_claim *c =
        claims_find(r->claims, r->count, in->leader_lost.topic, in->leader_lost.partition);
    if (!c || r->state != HOLDING)
        return;
    struct finder_wanted wanted = {c->topic, c->topic_index, c->partition};
    if (finder_want(&r->finder, &wanted, 1))
        group_notice(out, 3, "fetch", ZKC_ERR_NOMEM,
                     "[%s,%d] is not fetched any more: out of memory", c->topic, c->partition);
}

/* ---- one turn ---- */

static void connected(struct reader *r, struct group_outputs *out)
{
    r->connected = true;
    r->resend_at_ms = INT64_MAX;
    lanes_resend(r->lanes, out);
    if (r->state == NEW)
        begin_reading(r, out);
}

static void take_result(struct reader *r, const struct group_input *in, struct group_outputs *out)
{
    struct lane *lane = &r->lanes[in->result.lane];
    const struct zk_result *answer = in->result.result;
    if (!lane_answered(lane, in->result.seq, answer->zk_rc)) {
        if (lane->busy && lane->parked && r->connected && r->resend_at_ms == INT64_MAX)
            r->resend_at_ms = r->now_ms + GROUP_RESEND_MS;
        return;
    }
    switch (in->result.lane) {
    case GROUP_LANE_REBALANCE: take_stored(r, answer, out); break;
    case GROUP_LANE_COMMIT: drive_committer(r, answer, out); break;
    case GROUP_LANE_FINDER:
        finder_answer(&r->finder, r->now_ms, answer, r->lanes, r->connected, out);
        break;
    case GROUP_LANE_OFFSETS:
        offset_manager_scanned(&r->offsets, r->now_ms, answer, r->lanes, r->connected, out);
        break;
    case GROUP_LANE_EVENTS:
    case GROUP_LANE_SAFE:
    case GROUP_LANE_VIEW: assert(!"a reader watches nothing");
    }
}

static void time_passed(struct reader *r, struct group_outputs *out)
{
    if (r->now_ms < r->resend_at_ms)
        return;
    r->resend_at_ms = INT64_MAX;
    if (r->connected)
        lanes_resend(r->lanes, out);
}

static void leave(struct reader *r, struct group_outputs *out)
{
    if (r->state == LEAVING)
        return;
    r->state = LEAVING;
    lane_abandon(&r->lanes[GROUP_LANE_REBALANCE]);
    finder_clear(&r->finder, r->lanes);
    group_emit(out, GROUP_OUT_STOP)->stop = GROUP_STOP_LEAVE;
}

void reader_step(struct reader *r, const struct group_input *in, struct group_outputs *out)
{
    group_outputs_clear(out);
    r->now_ms = in->now_ms;
    if (r->state == CLOSED)
        return;
    switch (in->type) {
    case GROUP_IN_CONNECTED: connected(r, out); break;
    case GROUP_IN_DISCONNECTED:
    case GROUP_IN_EXPIRED: r->connected = false; break;
    case GROUP_IN_RESULT: take_result(r, in, out); break;
    case GROUP_IN_STOPPED: r->is_stopped = true; break;
    case GROUP_IN_COMMIT: take_commit(r, in, out); break;
    case GROUP_IN_METADATA:
        finder_metadata(&r->finder, r->now_ms, in->metadata.seq, in->metadata.failed,
                        in->metadata.text, in->metadata.list, in->metadata.count, out);
        break;
    case GROUP_IN_OFFSETS:
        offset_manager_answered(&r->offsets, r->now_ms, &in->offsets, out);
        break;
    case GROUP_IN_LEADER_LOST: leader_lost(r, in, out); break;
    case GROUP_IN_TIME: time_passed(r, out); break;
    case GROUP_IN_LEAVE: leave(r, out); break;
    case GROUP_IN_WATCH:
    case GROUP_IN_POSITIONS:
    case GROUP_IN_DRAINED:
    case GROUP_IN_SESSION_CLOSED:
    case GROUP_IN_POLLED:
    case GROUP_IN_VIEW: break;
    }
    take_fetched(r, out);
    take_committed(r, out);
    drive_committer(r, NULL, out);
    offset_manager_run(&r->offsets, r->now_ms, r->lanes, r->connected, FINDER_READS, out);
    finder_run(&r->finder, r->now_ms, r->lanes, r->connected, false, out);
    if (r->state == LEAVING && r->is_stopped && committer_is_idle(&r->committer)) {
        r->state = CLOSED;
        group_emit(out, GROUP_OUT_CLOSE_SESSION);
    }
}

int64_t reader_deadline_ms(const struct reader *r)
{
    int64_t at = r->resend_at_ms, finder = finder_deadline_ms(&r->finder);
    int64_t offsets = offset_manager_deadline_ms(&r->offsets);
    if (r->state == CLOSED)
        return INT64_MAX;
    if (finder < at)
        at = finder;
    return offsets < at ? offsets : at;
}

const struct group_claim *reader_held(const struct reader *r, size_t *count)
{
    *count = r->state == HOLDING ? r->count : 0;
    return r->claims;
}

const char *reader_state_name(const struct reader *r)
{
    switch (r->state) {
    case NEW: return "new";
    case READING: return "reading";
    case HOLDING: return "owning";
    case LEAVING: return "leaving";
    case CLOSED: return "closed";
    }
    return "?";
}
