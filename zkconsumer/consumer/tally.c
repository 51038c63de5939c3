#include "zkconsumer/consumer/tally.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/base/topic_partition.h"
#include <stdlib.h>
#include <string.h>

/* What an operation came to. */
enum answer {
    ANSWER_OK,
    ANSWER_NO_NODE,
    ANSWER_NODE_EXISTS,
    ANSWER_BAD_VERSION,
    ANSWER_NO_AUTH,
    ANSWER_LOST, /* the connection was: whether it was carried out is not known */
    ANSWER_SESSION,
    ANSWER_OTHER,
    ANSWERS,
};
static const char *const answer_names[ANSWERS] = {
    "ok", "no_node", "node_exists", "bad_version", "no_auth", "lost", "session", "other"};

/* What a rebalance is spent with. The time since the mark before belongs to what ends it. */
enum phase {
    PHASE_COMMIT,  /* everything is stopped: until the last commit is answered */
    PHASE_RELEASE, /* until the last owner node is deleted */
    PHASE_READ,    /* members, topics, offsets, until it is decided who has what */
    PHASE_CLAIM,   /* the rest: claims, and what is waited for */
    PHASE_BACKOFF, /* between two attempts */
    PHASES,
};
static const char *const phase_names[PHASES] = {"commit", "release", "read", "claim", "backoff"};

enum cause { CAUSE_START, CAUSE_WATCH, CAUSE_EXPIRED, CAUSE_OTHER, CAUSES };
static const char *const cause_names[CAUSES] = {"start", "watch", "expired", "other"};

enum ending { ENDING_DONE, ENDING_GAVE_UP, ENDING_FAILED, ENDINGS };
static const char *const ending_names[ENDINGS] = {"done", "gave_up", "failed"};

enum outcome { OUTCOME_OK, OUTCOME_CONFLICT, OUTCOME_FAILED, OUTCOMES };
static const char *const claim_names[OUTCOMES] = {"ok", "conflict", "failed"};
static const char *const commit_names[OUTCOMES] = {"ok", "foreign", "failed"};
static const char *const store_names[] = {"zookeeper", "kafka"};

/* What stopped the delivery of what is held. */
enum fence { FENCE_LEASE, FENCE_DISCONNECT, FENCE_SESSION, FENCE_EVICTED, FENCES };
static const char *const fence_names[FENCES] = {"lease", "disconnect", "session", "evicted"};

#define EVENTS (ZK_EVENT_CHILDREN_CHANGED + 1)
static const char *const event_names[EVENTS] = {NULL, "created", "deleted", "changed", "children"};

struct known {
    char *topic;
    int32_t partition;
    bool is_wanted; /* by the last decision */
    bool is_held;
    int64_t since_us;   /* while it is wanted and not held */
    int64_t unowned_us; /* all such times that have ended */
    int64_t committed[2];
};

struct known_topic {
    char *name;
    size_t partitions;
    int32_t last; /* the highest number; -1: none */
};

struct tally {
    uint64_t answers[ZK_OP_TYPE_COUNT][ANSWERS];
    struct histogram times[ZK_OP_TYPE_COUNT];
    uint64_t events[EVENTS];
    uint64_t claims[OUTCOMES], commits[2][OUTCOMES], fences[FENCES];

    uint64_t rebalances[CAUSES][ENDINGS], attempts;
    struct histogram durations, phases[PHASES];
    bool is_rebalancing, is_stopped;
    enum cause cause; /* of the next rebalance, or the one under way */
    int64_t began_us, mark_us, spent_us[PHASES];

    bool has_lease, is_fenced;
    int64_t lease_end_ms;

    struct known *known; /* sorted */
    size_t known_count, known_cap, held_count;

    bool has_view;
    uint64_t view_hash;
    size_t member_count;
    struct known_topic *topics; /* sorted */
    size_t topic_count;
    bool has_all_topics; /* there was memory for them */
};

/* ---- birth and death ---- */

struct tally *tally_new(void)
{
    struct tally *t = calloc(1, sizeof *t);
    if (t)
        t->cause = CAUSE_START;
    return t;
}

static void forget_topics(struct tally *t)
{
    for (size_t i = 0; i < t->topic_count; i++)
        free(t->topics[i].name);
    free(t->topics);
    t->topics = NULL;
    t->topic_count = 0;
}

void tally_free(struct tally *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->known_count; i++)
        free(t->known[i].topic);
    free(t->known);
    forget_topics(t);
    free(t);
}

/* ---- partitions ---- */

static struct topic_partition name_at(const void *list, size_t i)
{
    const struct known *k = (const struct known *)list + i;
    return (struct topic_partition){k->topic, k->partition};
}

static size_t place_of(const struct tally *t, const char *topic, int32_t partition)
{
    return topic_partition_place(t->known, t->known_count, name_at,
                                 (struct topic_partition){topic, partition});
}

static struct known *find(const struct tally *t, const char *topic, int32_t partition)
{
    size_t at = place_of(t, topic, partition);
    struct known *k = at < t->known_count ? &t->known[at] : NULL;
    return k && k->partition == partition && strcmp(k->topic, topic) == 0 ? k : NULL;
}

/* NULL: out of memory, or too many. */
static struct known *find_or_add(struct tally *t, const char *topic, int32_t partition)
{
    struct known *k = find(t, topic, partition);
    if (k)
        return k;
    if (t->known_count == TALLY_PARTITIONS_MAX)
        return NULL;
    if (t->known_count == t->known_cap) {
        size_t cap = t->known_cap ? t->known_cap * 2 : 16;
        struct known *list = realloc(t->known, cap * sizeof *list);
        if (!list)
            return NULL;
        t->known = list;
        t->known_cap = cap;
    }
    char *name = strdup(topic);
    if (!name)
        return NULL;
    size_t at = place_of(t, topic, partition);
    memmove(&t->known[at + 1], &t->known[at], (t->known_count - at) * sizeof *t->known);
    t->known_count++;
    t->known[at] = (struct known){.topic = name, .partition = partition, .committed = {-1, -1}};
    return &t->known[at];
}

static void set(struct known *k, bool is_wanted, bool is_held, int64_t now_us)
{
    bool was = k->is_wanted && !k->is_held, is = is_wanted && !is_held;
    if (was && !is)
        k->unowned_us += now_us - k->since_us;
    if (!was && is)
        k->since_us = now_us;
    k->is_wanted = is_wanted;
    k->is_held = is_held;
}

static void hold(struct tally *t, const struct group_claim *claim, int64_t now_us)
{
    struct known *k = find_or_add(t, claim->topic, claim->partition);
    if (!k || k->is_held)
        return;
    set(k, k->is_wanted, true, now_us);
    t->held_count++;
}

static void let_go(struct tally *t, struct known *k, int64_t now_us)
{
    if (!k || !k->is_held)
        return;
    set(k, k->is_wanted, false, now_us);
    t->held_count--;
}

static void let_go_all(struct tally *t, bool is_leaving, int64_t now_us)
{
    for (size_t i = 0; i < t->known_count; i++) {
        let_go(t, &t->known[i], now_us);
        if (is_leaving)
            set(&t->known[i], false, false, now_us);
    }
}

/* Forgets what is neither ours in any way nor the group's. */
static void forget_gone(struct tally *t)
{
    size_t kept = 0, at = 0; /* both lists are sorted */
    if (!t->has_all_topics)
        return;
    for (size_t i = 0; i < t->known_count; i++) {
        struct known *k = &t->known[i];
        int order = -1;
        while (at < t->topic_count && (order = strcmp(t->topics[at].name, k->topic)) < 0)
            at++;
        bool is_there = at < t->topic_count && order == 0 && k->partition <= t->topics[at].last;
        if (is_there || k->is_wanted || k->is_held)
            t->known[kept++] = *k;
        else
            free(k->topic);
    }
    t->known_count = kept;
}

static void decide(struct tally *t, const struct group_output *o, int64_t now_us)
{
    size_t at = 0; /* both lists are sorted */
    for (size_t i = 0; i < o->decide.count; i++)
        find_or_add(t, o->decide.claims[i].topic, o->decide.claims[i].partition);
    for (size_t i = 0; i < t->known_count; i++) {
        struct known *k = &t->known[i];
        struct topic_partition has = {k->topic, k->partition};
        int order = -1;
        while (at < o->decide.count &&
               (order = topic_partition_compare(
                    (struct topic_partition){o->decide.claims[at].topic,
                                             o->decide.claims[at].partition},
                    has)) < 0)
            at++;
        set(k, at < o->decide.count && order == 0, k->is_held, now_us);
    }
    forget_gone(t);
}

static void stored(struct tally *t, enum tally_store store, const char *topic, int32_t partition,
                   int64_t offset)
{
    struct known *k = find_or_add(t, topic, partition);
    if (k)
        k->committed[store] = offset;
}

int64_t tally_committed(const struct tally *t, const char *topic, int32_t partition,
                        enum tally_store store)
{
    const struct known *k = t ? find(t, topic, partition) : NULL;
    return k ? k->committed[store] : -1;
}

/* ---- the view ---- */

static void take_view(struct tally *t, const struct group_output *o)
{
    t->member_count = o->view.member_count;
    if (t->has_view && t->view_hash == o->view.hash)
        return;
    forget_topics(t);
    t->topics = calloc(o->view.topic_count + 1, sizeof *t->topics);
    for (size_t i = 0; t->topics && i < o->view.topic_count; i++) {
        const struct group_view_topic *topic = &o->view.topics[i];
        char *name = strdup(topic->topic);
        if (name)
            t->topics[t->topic_count++] = (struct known_topic){
                name, topic->count, topic->count ? topic->partitions[topic->count - 1] : -1};
    }
    t->has_all_topics = t->topics && t->topic_count == o->view.topic_count;
    t->has_view = true;
    t->view_hash = o->view.hash;
}

/* ---- rebalances ---- */

static void mark(struct tally *t, enum phase phase, int64_t now_us)
{
    if (t->is_rebalancing)
        t->spent_us[phase] += now_us - t->mark_us;
    t->mark_us = now_us;
}

static enum cause cause_of(const char *trigger)
{
    for (size_t i = 0; i < CAUSE_OTHER; i++)
        if (strcmp(trigger, cause_names[i]) == 0)
            return (enum cause)i;
    return CAUSE_OTHER;
}

static void begin(struct tally *t, int64_t now_us)
{
    t->is_rebalancing = true;
    t->began_us = t->mark_us = now_us;
    memset(t->spent_us, 0, sizeof t->spent_us);
}

static void end(struct tally *t, const struct group_output *o, int64_t now_us)
{
    enum ending ending = o->rebalance_end.ok        ? ENDING_DONE
                         : o->rebalance_end.gave_up ? ENDING_GAVE_UP
                                                    : ENDING_FAILED;
    mark(t, PHASE_CLAIM, now_us);
    t->rebalances[t->cause][ending]++;
    if (t->is_rebalancing) {
        histogram_add(&t->durations, now_us - t->began_us);
        for (size_t i = 0; i < PHASES; i++)
            if (t->spent_us[i] > 0)
                histogram_add(&t->phases[i], t->spent_us[i]);
    }
    t->is_rebalancing = t->is_stopped = false;
    t->cause = CAUSE_OTHER;
}

/* ---- fences ---- */

static void fence(struct tally *t, enum fence why)
{
    if (t->held_count > 0 && !t->is_fenced)
        t->fences[why]++;
    t->is_fenced = true;
}

/* A lease that has run out unseen. */
static void check_lease(struct tally *t, int64_t now_us)
{
    if (t->has_lease && t->lease_end_ms != INT64_MAX && t->lease_end_ms <= now_us / 1000)
        fence(t, FENCE_LEASE);
}

static void take_lease(struct tally *t, const struct group_output *o, int64_t now_us)
{
    check_lease(t, now_us);
    if (o->lease.end_ms == INT64_MIN) {
        if (t->has_lease)
            fence(t, FENCE_DISCONNECT);
        return;
    }
    t->has_lease = true;
    t->lease_end_ms = o->lease.end_ms;
    t->is_fenced = o->lease.end_ms <= now_us / 1000;
}

void tally_session_over(struct tally *t, int64_t now_us)
{
    if (!t)
        return;
    check_lease(t, now_us);
    if (t->has_lease)
        fence(t, FENCE_SESSION);
    t->has_lease = false;
}

/* ---- what is fed ---- */

static enum outcome outcome_of(int zk_rc, int conflict)
{
    return zk_rc == ZK_OK ? OUTCOME_OK : zk_rc == conflict ? OUTCOME_CONFLICT : OUTCOME_FAILED;
}

static void committed(struct tally *t, const struct group_output *o, int64_t now_us)
{
    t->commits[TALLY_ZOOKEEPER][outcome_of(o->offset.zk_rc, ZK_BAD_VERSION)]++;
    if (t->is_stopped)
        mark(t, PHASE_COMMIT, now_us);
    if (o->offset.zk_rc == ZK_OK)
        stored(t, TALLY_ZOOKEEPER, o->offset.topic, o->offset.partition, o->offset.offset);
}

static void take_kafka(struct tally *t, const struct group_output *o, bool is_commit,
                       int64_t now_us)
{
    for (size_t i = 0; i < o->offsets.count; i++) {
        const struct group_offset *offset = &o->offsets.list[i];
        if (is_commit)
            t->commits[TALLY_KAFKA][offset->kafka_error ? OUTCOME_FAILED : OUTCOME_OK]++;
        if (!offset->kafka_error)
            stored(t, TALLY_KAFKA, offset->topic, offset->partition, offset->offset);
    }
    if (is_commit && t->is_stopped)
        mark(t, PHASE_COMMIT, now_us);
    else if (!is_commit)
        mark(t, PHASE_READ, now_us);
}

static void take_stop(struct tally *t, enum group_stop_why why, int64_t now_us)
{
    mark(t, PHASE_READ, now_us);
    t->is_stopped = true;
    let_go_all(t, why == GROUP_STOP_LEAVE, now_us);
}

void tally_output(struct tally *t, const struct group_output *o, int64_t now_us)
{
    if (!t)
        return;
    switch (o->type) {
    case GROUP_OUT_TRIGGER:
        if (!t->is_rebalancing)
            t->cause = cause_of(o->trigger);
        break;
    case GROUP_OUT_REBALANCE_BEGIN: begin(t, now_us); break;
    case GROUP_OUT_TRY_BEGIN:
        t->attempts++;
        mark(t, PHASE_BACKOFF, now_us);
        break;
    case GROUP_OUT_STOP: take_stop(t, o->stop, now_us); break;
    case GROUP_OUT_RELEASE:
        t->is_stopped = false;
        mark(t, PHASE_RELEASE, now_us);
        break;
    case GROUP_OUT_VIEW:
        take_view(t, o);
        mark(t, PHASE_READ, now_us);
        break;
    case GROUP_OUT_DECIDE:
        decide(t, o, now_us);
        mark(t, PHASE_READ, now_us);
        break;
    case GROUP_OUT_OFFSET_READ:
        stored(t, TALLY_ZOOKEEPER, o->offset.topic, o->offset.partition,
               o->offset.zk_rc == ZK_OK ? o->offset.offset : -1);
        mark(t, PHASE_READ, now_us);
        break;
    case GROUP_OUT_CLAIM:
        t->claims[outcome_of(o->claim.zk_rc, ZK_NODE_EXISTS)]++;
        mark(t, PHASE_CLAIM, now_us);
        break;
    case GROUP_OUT_TRY_END: mark(t, PHASE_CLAIM, now_us); break;
    case GROUP_OUT_REBALANCE_END: end(t, o, now_us); break;
    case GROUP_OUT_ASSIGN:
        for (size_t i = 0; i < o->assign.count; i++)
            hold(t, &o->assign.claims[i], now_us);
        break;
    case GROUP_OUT_FETCH_START: hold(t, &o->fetch_start, now_us); break;
    case GROUP_OUT_FETCH_STOP:
        let_go(t, find(t, o->fetch_stop.topic, o->fetch_stop.partition), now_us);
        break;
    case GROUP_OUT_CLOSE_SESSION: let_go_all(t, true, now_us); break;
    case GROUP_OUT_COMMIT: committed(t, o, now_us); break;
    case GROUP_OUT_OFFSETS_READ: take_kafka(t, o, false, now_us); break;
    case GROUP_OUT_OFFSETS_STORED: take_kafka(t, o, true, now_us); break;
    case GROUP_OUT_FOREIGN:
        stored(t, o->foreign.is_in_kafka ? TALLY_KAFKA : TALLY_ZOOKEEPER, o->foreign.topic,
               o->foreign.partition, o->foreign.found);
        break;
    case GROUP_OUT_LEASE: take_lease(t, o, now_us); break;
    case GROUP_OUT_EVICTED: fence(t, FENCE_EVICTED); break;
    default: break;
    }
}

static enum answer answer_of(int zk_rc)
{
    switch (zk_rc) {
    case ZK_OK: return ANSWER_OK;
    case ZK_NO_NODE: return ANSWER_NO_NODE;
    case ZK_NODE_EXISTS: return ANSWER_NODE_EXISTS;
    case ZK_BAD_VERSION: return ANSWER_BAD_VERSION;
    case ZK_NO_AUTH: return ANSWER_NO_AUTH;
    case ZK_CONNECTION_LOSS:
    case ZK_OPERATION_TIMEOUT: return ANSWER_LOST;
    case ZK_SESSION_EXPIRED:
    case ZK_SESSION_MOVED:
    case ZK_CLOSING: return ANSWER_SESSION;
    default: return ANSWER_OTHER;
    }
}

void tally_op(struct tally *t, enum zk_op_type type, int zk_rc, int64_t took_us)
{
    if (!t)
        return;
    t->answers[type][answer_of(zk_rc)]++;
    histogram_add(&t->times[type], took_us);
}

void tally_watch(struct tally *t, enum zk_event_type type)
{
    if (t && type > 0 && type < EVENTS)
        t->events[type]++;
}

/* ---- what is told ---- */

const struct histogram *tally_rebalances(const struct tally *t)
{
    return &t->durations;
}

static void add_counts(struct json *j, const char *key, const char *const *names,
                       const uint64_t *counts, size_t count)
{
    json_object_begin(j, key);
    for (size_t i = 0; i < count; i++)
        if (names[i])
            json_int(j, names[i], (int64_t)counts[i]);
    json_object_end(j);
}

static void add_group(const struct tally *t, struct json *j)
{
    json_object_begin(j, "group");
    json_int(j, "members", t->has_view ? (int64_t)t->member_count : -1);
    json_list_begin(j, "topics");
    for (size_t i = 0; i < t->topic_count; i++) {
        json_object_begin(j, NULL);
        json_text(j, "topic", t->topics[i].name);
        json_int(j, "partitions", (int64_t)t->topics[i].partitions);
        json_object_end(j);
    }
    json_list_end(j);
    json_object_end(j);
}

static void add_requests(const struct tally *t, struct json *j)
{
    json_list_begin(j, "requests");
    for (int i = 0; i < ZK_OP_TYPE_COUNT; i++) {
        if (t->times[i].count == 0)
            continue;
        json_object_begin(j, NULL);
        json_text(j, "op", zk_op_name((enum zk_op_type)i));
        add_counts(j, "answers", answer_names, t->answers[i], ANSWERS);
        histogram_json(&t->times[i], j, "time");
        json_object_end(j);
    }
    json_list_end(j);
}

static void add_rebalancing(const struct tally *t, struct json *j)
{
    json_object_begin(j, "rebalancing");
    json_int(j, "attempts", (int64_t)t->attempts);
    json_object_begin(j, "ended");
    for (size_t i = 0; i < CAUSES; i++)
        add_counts(j, cause_names[i], ending_names, t->rebalances[i], ENDINGS);
    json_object_end(j);
    histogram_json(&t->durations, j, "duration");
    json_object_begin(j, "phases");
    for (size_t i = 0; i < PHASES; i++)
        histogram_json(&t->phases[i], j, phase_names[i]);
    json_object_end(j);
    json_object_end(j);
}

static void add_unowned(const struct tally *t, struct json *j, int64_t now_us)
{
    json_list_begin(j, "unowned");
    for (size_t i = 0; i < t->known_count; i++) {
        const struct known *k = &t->known[i];
        bool is_now = k->is_wanted && !k->is_held;
        if (!is_now && k->unowned_us == 0)
            continue;
        json_object_begin(j, NULL);
        json_text(j, "topic", k->topic);
        json_int(j, "partition", k->partition);
        json_bool(j, "now", is_now);
        json_int(j, "ms", (k->unowned_us + (is_now ? now_us - k->since_us : 0)) / 1000);
        json_object_end(j);
    }
    json_list_end(j);
}

void tally_json(struct tally *t, struct json *j, int64_t now_us)
{
    if (!t)
        return;
    check_lease(t, now_us);
    add_group(t, j);
    add_requests(t, j);
    add_rebalancing(t, j);
    add_counts(j, "claims", claim_names, t->claims, OUTCOMES);
    json_object_begin(j, "commits");
    for (size_t i = 0; i < ARRAY_LEN(store_names); i++)
        add_counts(j, store_names[i], commit_names, t->commits[i], OUTCOMES);
    json_object_end(j);
    add_counts(j, "fenced", fence_names, t->fences, FENCES);
    add_counts(j, "watch_events", event_names, t->events, EVENTS);
    add_unowned(t, j, now_us);
    json_list_begin(j, "bucket_bounds_us");
    for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++)
        json_int(j, NULL, histogram_bounds_us[i]);
    json_list_end(j);
}
