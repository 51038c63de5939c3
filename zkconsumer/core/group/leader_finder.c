#include "zkconsumer/core/group/leader_finder.h"
#include <assert.h>
#include <stdlib.h>

void finder_init(struct leader_finder *f, int64_t backoff_ms, uint64_t seed)
{
    *f = (struct leader_finder){.backoff_ms = backoff_ms};
    rng_init(&f->rng, seed);
}

void finder_deinit(struct leader_finder *f)
{
    broker_scan_deinit(&f->scan);
    free(f->wanted);
    free(f->topics);
    free(f->leaders);
    *f = (struct leader_finder){0};
}

static int compare(const struct finder_wanted *a, uint32_t topic_index, int32_t partition)
{
    if (a->topic_index != topic_index)
        return a->topic_index < topic_index ? -1 : 1;
    return (a->partition > partition) - (a->partition < partition);
}

/* The position of the partition in `wanted`, or where it belongs. */
static size_t position(const struct leader_finder *f, uint32_t topic_index, int32_t partition)
{
    size_t lo = 0, hi = f->wanted_count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare(&f->wanted[mid], topic_index, partition) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

enum zkc_err finder_want(struct leader_finder *f, const struct finder_wanted *list, size_t count)
{
    if (f->wanted_count + count > f->wanted_cap) {
        size_t cap = (f->wanted_count + count) * 2;
        struct finder_wanted *wanted = realloc(f->wanted, cap * sizeof *wanted);
        if (!wanted)
            return ZKC_ERR_NOMEM;
        f->wanted = wanted;
        f->wanted_cap = cap;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = position(f, list[i].topic_index, list[i].partition);
        if (at < f->wanted_count &&
            compare(&f->wanted[at], list[i].topic_index, list[i].partition) == 0)
            continue;
        memmove(&f->wanted[at + 1], &f->wanted[at], (f->wanted_count - at) * sizeof *f->wanted);
        f->wanted[at] = list[i];
        f->wanted_count++;
    }
    return ZKC_OK;
}

void finder_unwant(struct leader_finder *f, uint32_t topic_index, int32_t partition)
{
    size_t at = position(f, topic_index, partition);
    if (at == f->wanted_count || compare(&f->wanted[at], topic_index, partition) != 0)
        return;
    f->wanted_count--;
    memmove(&f->wanted[at], &f->wanted[at + 1], (f->wanted_count - at) * sizeof *f->wanted);
}

void finder_clear(struct leader_finder *f, struct lane *lanes)
{
    if (f->state == FINDER_SCANNING)
        lane_abandon(&lanes[GROUP_LANE_FINDER]);
    f->wanted_count = 0;
    f->state = FINDER_IDLE;
}

static void pause_round(struct leader_finder *f, int64_t now_ms)
{
    f->state = FINDER_PAUSED;
    f->resume_at_ms = now_ms + f->backoff_ms;
}

static void shuffle(struct leader_finder *f)
{
    for (size_t i = f->scan.broker_count; i > 1; i--) {
        size_t j = (size_t)rng_below(&f->rng, i);
        struct scanned_broker b = f->scan.brokers[i - 1];
        f->scan.brokers[i - 1] = f->scan.brokers[j];
        f->scan.brokers[j] = b;
    }
}

/* The topics of all wanted partitions, each once. False: out of memory. */
static bool fill_topics(struct leader_finder *f, size_t *count)
{
    if (f->topics_cap < f->wanted_count) {
        const char **topics = realloc(f->topics, f->wanted_count * sizeof *topics);
        if (!topics)
            return false;
        f->topics = topics;
        f->topics_cap = f->wanted_count;
    }
    *count = 0;
    for (size_t i = 0; i < f->wanted_count; i++)
        if (i == 0 || f->wanted[i].topic_index != f->wanted[i - 1].topic_index)
            f->topics[(*count)++] = f->wanted[i].topic;
    return true;
}

/* Goes on to the next broker that has an address; NULL: none. */
static const struct scanned_broker *next_reachable(struct leader_finder *f,
                                                   struct group_outputs *out)
{
    while (f->asked < f->scan.broker_count) {
        const struct scanned_broker *b = &f->scan.brokers[f->asked++];
        if (b->broker.host)
            return b;
        group_notice(out, 4, "fetch", ZKC_OK, "broker %d cannot be asked for leaders: %s", b->id,
                     b->why.text);
        if (out->count > GROUP_OUTPUTS_MAX / 2)
            break; /* a cluster full of them: the rest in another round */
    }
    return NULL;
}

static void tell_failed(struct leader_finder *f, enum zkc_err err, const char *why,
                        struct group_outputs *out)
{
    bool is_news = told_is_news(&f->failed, told_hash(why));
    group_notice(out, 4, "fetch", is_news ? err : ZKC_OK, "looking for leaders: %s", why);
}

/* Asks the next broker. */
static void ask_next(struct leader_finder *f, int64_t now_ms, struct group_outputs *out)
{
    size_t topic_count;
    if (f->wanted_count == 0) { /* a question for no topics would be one for all */
        f->state = FINDER_IDLE;
        return;
    }
    const struct scanned_broker *b = next_reachable(f, out);
    if (!b) {
        f->has_brokers = false;
        group_notice(out, 4, "fetch", ZKC_OK,
                     "no broker answered for the leaders of %zu partitions (%zu brokers are "
                     "registered); asking again in %lld ms",
                     f->wanted_count, f->scan.broker_count, (long long)f->backoff_ms);
        pause_round(f, now_ms);
        return;
    }
    if (!fill_topics(f, &topic_count)) {
        tell_failed(f, ZKC_ERR_NOMEM, "out of memory", out);
        pause_round(f, now_ms);
        return;
    }
    told_over(&f->failed);
    f->state = FINDER_ASKING;
    struct group_output *o = group_emit(out, GROUP_OUT_METADATA);
    o->metadata.seq = ++f->metadata_seq;
    o->metadata.broker_id = b->id;
    o->metadata.host = b->broker.host;
    o->metadata.port = b->broker.port;
    o->metadata.topics = f->topics;
    o->metadata.topic_count = topic_count;
}

static void ask_first(struct leader_finder *f, int64_t now_ms, struct group_outputs *out)
{
    f->asked = 0;
    shuffle(f);
    ask_next(f, now_ms, out);
}

void finder_forget_brokers(struct leader_finder *f)
{
    f->has_brokers = false;
    f->is_outdated = true;
}

void finder_run(struct leader_finder *f, int64_t now_ms, struct lane *lanes, bool connected,
                enum finder_brokers brokers, struct group_outputs *out)
{
    if (f->state == FINDER_PAUSED && now_ms >= f->resume_at_ms)
        f->state = FINDER_IDLE;
    if (f->state != FINDER_IDLE || f->wanted_count == 0)
        return;
    if (f->has_brokers) {
        ask_first(f, now_ms, out);
        return;
    }
    struct zk_op op;
    f->state = FINDER_SCANNING;
    f->keeps = brokers == FINDER_KEEPS;
    f->is_outdated = false;
    broker_scan_begin(&f->scan, SCAN_USABLE, brokers != FINDER_READS, &op);
    lane_send(lanes, GROUP_LANE_FINDER, &op, connected, out);
}

void finder_answer(struct leader_finder *f, int64_t now_ms, const struct zk_result *answer,
                   struct lane *lanes, bool connected, struct group_outputs *out)
{
    struct zk_op op;
    enum zkc_err err;
    struct why why;
    assert(f->state == FINDER_SCANNING);
    switch (broker_scan_next(&f->scan, answer, &op, &err, &why)) {
    case SCAN_SEND: lane_send(lanes, GROUP_LANE_FINDER, &op, connected, out); break;
    case SCAN_DONE: /* a list that is not there leaves no watch */
        f->has_brokers = f->keeps && !f->is_outdated && f->scan.names;
        ask_first(f, now_ms, out);
        break;
    case SCAN_FAILED:
        tell_failed(f, err, why.text, out);
        pause_round(f, now_ms);
        break;
    }
}

static bool is_wanted(const struct leader_finder *f, const struct group_leader *leader, size_t *at)
{
    for (size_t i = 0; i < f->wanted_count; i++) {
        if (strcmp(f->wanted[i].topic, leader->topic) != 0)
            continue;
        *at = position(f, f->wanted[i].topic_index, leader->partition);
        return *at < f->wanted_count &&
               compare(&f->wanted[*at], f->wanted[i].topic_index, leader->partition) == 0;
    }
    return false;
}

/* One notice each time that their number changes, not one a round. */
static void tell_leaderless(struct leader_finder *f, struct group_outputs *out)
{
    if (f->wanted_count && f->wanted_count != f->told)
        group_notice(
            out, 4, "fetch", ZKC_OK,
            "partitions without a leader: %zu, the first is [%s,%d]; they stand still, and "
            "leaders are looked for every %lld ms (refresh.leader.backoff.ms)",
            f->wanted_count, f->wanted[0].topic, f->wanted[0].partition, (long long)f->backoff_ms);
    f->told = f->wanted_count;
}

void finder_metadata(struct leader_finder *f, int64_t now_ms, uint32_t seq, bool failed,
                     const char *text, const struct group_leader *list, size_t count,
                     struct group_outputs *out)
{
    if (f->state != FINDER_ASKING || seq != f->metadata_seq)
        return;
    if (failed) {
        group_notice(out, 4, "fetch", ZKC_OK, "asking for leaders: %s", text);
        ask_next(f, now_ms, out);
        return;
    }
    pause_round(f, now_ms);
    if (f->leaders_cap < count) {
        struct group_leader *leaders = realloc(f->leaders, count * sizeof *leaders);
        if (!leaders)
            return; /* the next round tries again */
        f->leaders = leaders;
        f->leaders_cap = count;
    }
    size_t found = 0, at;
    for (size_t i = 0; i < count; i++) {
        if (list[i].broker_id < 0 || !list[i].host || !is_wanted(f, &list[i], &at))
            continue;
        f->leaders[found] = list[i];
        f->leaders[found++].topic = f->wanted[at].topic; /* ours lives as long as the machine */
        f->wanted_count--;
        memmove(&f->wanted[at], &f->wanted[at + 1], (f->wanted_count - at) * sizeof *f->wanted);
    }
    if (found) {
        struct group_output *o = group_emit(out, GROUP_OUT_LEADERS);
        o->leaders.list = f->leaders;
        o->leaders.count = found;
    }
    tell_leaderless(f, out);
}

int64_t finder_deadline_ms(const struct leader_finder *f)
{
    return f->state == FINDER_PAUSED && f->wanted_count > 0 ? f->resume_at_ms : INT64_MAX;
}
