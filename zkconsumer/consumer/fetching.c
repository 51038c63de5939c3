#include "zkconsumer/consumer/fetching.h"
#include "zkconsumer/consumer/dial.h"
#include "zkconsumer/consumer/loop.h"
#include "zkconsumer/consumer/sink.h"
#include "zkconsumer/consumer/source.h"
#include "zkconsumer/core/fetch/fetcher.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include "zkconsumer/core/zk/java_hash.h"
#include "zkconsumer/io/frame.h"
#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <zkconsumer/consumer.h>

/* One answer holds at least one partition's share, and not more than this otherwise (as much as a
 * broker of Kafka takes as one request). */
#define ANSWER_BYTES_MAX (100 * 1024 * 1024)

struct held {
    const char *topic; /* the hub's */
    int32_t partition;
    int32_t thread;
    struct sink *sink;
    struct claim *claim; /* closed while paused */
    bool is_paused;
    struct source *source;  /* where it is fetched; NULL: its leader is being looked for */
    enum fetcher_from from; /* where fetching starts, while source is NULL */
    int64_t offset;
    int64_t position;       /* while paused: what the closed gate said */
    int64_t high_watermark; /* as last told by a leader before; -1 */

    /* safe */
    struct gate_lease *lease; /* NULL: none, as in compat without a fence; a reference */
    uint64_t number;
    bool is_continuation; /* of a paused one: it goes on where it stopped */
    uint32_t moves;       /* as in group_position */
};

/* A claim that was ended and may still be in the application's hands. */
struct ended {
    const char *topic; /* the hub's */
    int32_t partition;
    uint64_t number;
    struct claim *claims; /* references */
    int64_t moved_to; /* it was paused, and moved: what its claims have finished is of before; -1 */
    uint32_t moves;
};

struct lost {
    char *topic;
    int32_t partition;
};

struct fetching {
    struct fetching_options o;
    struct dial dial;
    struct source_shared shared;
    struct source **sources;
    size_t source_count;
    struct sink **sinks;
    size_t sink_count;
    struct held **held; /* sorted by topic and partition; each stays in its place while it is held,
                         * as the tag by which fetchers know it */
    size_t held_count, held_cap;
    struct zkc_owned *owned; /* as many; what is lent to callers */
    struct ended *ended;     /* room for all that is held, too, so that ending cannot fail */
    size_t ended_count, ended_cap;
    struct leader_query *query;
    struct lost *lost; /* to be told from the loop */
    size_t lost_count, lost_cap;
    struct event *tell_lost;
    bool has_unkept; /* a chunk could not be kept in this step */
};

/* ---- sinks ---- */

static void release_frame(void *owner)
{
    frame_unref(owner);
}

static struct sink *sink_of(struct fetching *f, zkc_stream *stream)
{
    for (size_t i = 0; i < f->sink_count; i++)
        if (f->sinks[i]->stream == stream)
            return f->sinks[i];
    struct sink **sinks = realloc(f->sinks, (f->sink_count + 1) * sizeof(struct sink *));
    if (!sinks)
        return NULL;
    f->sinks = sinks;
    struct sink *s = sink_new(stream);
    if (s)
        f->sinks[f->sink_count++] = s;
    return s;
}

/* Tells all fetchers where room has come or gone. */
static void tell_rooms(struct fetching *f)
{
    for (size_t i = 0; i < f->sink_count; i++) {
        struct sink *sink = f->sinks[i];
        bool has_room = sink_has_room(sink);
        if (has_room == sink->told_room)
            continue;
        sink->told_room = has_room;
        struct fetcher_input in = {.type = FETCHER_IN_ROOM,
                                   .now_ms = loop_now_ms(),
                                   .room = {(uint64_t)(uintptr_t)sink, has_room}};
        for (size_t k = 0; k < f->source_count; k++)
            source_feed(f->sources[k], &in);
    }
}

void fetching_room(struct fetching *f, zkc_stream *stream)
{
    for (size_t i = 0; i < f->sink_count; i++)
        if (f->sinks[i]->stream == stream)
            sink_drain(f->sinks[i]);
    tell_rooms(f);
}

/* ---- partitions ---- */

static struct topic_partition name_at(const void *list, size_t i)
{
    const struct held *h = ((struct held *const *)list)[i];
    return (struct topic_partition){h->topic, h->partition};
}

/* Where it stands, or belongs. */
static size_t place_of(const struct fetching *f, const char *topic, int32_t partition)
{
    return topic_partition_place(f->held, f->held_count, name_at,
                                 (struct topic_partition){topic, partition});
}

static struct held *find_held(const struct fetching *f, const char *topic, int32_t partition)
{
    size_t at = place_of(f, topic, partition);
    struct held *h = at < f->held_count ? f->held[at] : NULL;
    return h && h->partition == partition && strcmp(h->topic, topic) == 0 ? h : NULL;
}

static struct held *held_of(uint64_t tag)
{
    return (struct held *)(uintptr_t)tag;
}

static int64_t held_position(const struct held *h)
{
    return h->is_paused ? h->position : gate_position(&h->claim->gate);
}

/* Where a paused one was moved to: what its claims have finished is of before. -1: it was not, or
 * the place is not known yet. */
static int64_t moved_to(const struct held *h)
{
    return h->is_paused && !h->is_continuation ? h->position : -1;
}

static int64_t held_finished(const struct held *h)
{
    int64_t moved = moved_to(h);
    return moved >= 0 ? moved : claims_finished(h->claim);
}

static struct drained drained_held(const struct held *h)
{
    return (struct drained){h->topic, h->partition, h->number, held_finished(h), h->moves};
}

static struct drained drained_ended(const struct ended *e)
{
    int64_t finished = e->moved_to >= 0 ? e->moved_to : claims_finished(e->claims);
    return (struct drained){e->topic, e->partition, e->number, finished, e->moves};
}

/* What was taken, or, where it has to be acknowledged, that. */
static int64_t held_consumed(const struct fetching *f, const struct held *h)
{
    return f->o.conf->is_acknowledged && h->lease ? held_finished(h) : held_position(h);
}

static void forget_lost(struct fetching *f)
{
    for (size_t i = 0; i < f->lost_count; i++)
        free(f->lost[i].topic);
    f->lost_count = 0;
}

/* Tells the owner of a partition that has no leader, from the loop. Without memory for it, the
 * partition is not fetched until the next rebalance; that is said. */
static void leader_lost(struct fetching *f, const struct held *h)
{
    if (f->lost_count == f->lost_cap) {
        size_t cap = f->lost_cap ? f->lost_cap * 2 : 8;
        struct lost *lost = realloc(f->lost, cap * sizeof *lost);
        if (!lost)
            goto fail;
        f->lost = lost;
        f->lost_cap = cap;
    }
    char *topic = strdup(h->topic);
    if (!topic)
        goto fail;
    f->lost[f->lost_count++] = (struct lost){topic, h->partition};
    event_active(f->tell_lost, EV_TIMEOUT, 1);
    return;
fail:
    f->o.on_error(ZKC_ERR_NOMEM, "a partition is not fetched until the next rebalance", f->o.user);
}

static void tell_lost(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct fetching *f = arg;
    while (f->lost_count > 0) {
        struct lost lost = f->lost[--f->lost_count];
        if (find_held(f, lost.topic, lost.partition))
            f->o.on_leader_lost(lost.topic, lost.partition, f->o.user);
        free(lost.topic);
    }
}

/* A claim of the partition, which is or will be held; NULL: out of memory. */
static struct claim *make_claim(struct fetching *f, const struct held *h, int64_t position)
{
    struct claim *claim =
        claim_new(h->sink->stream, h->partition, position, tracing_wants_deliveries(f->o.tracing));
    if (!claim)
        return NULL;
    claim->topic = h->topic;
    if (h->lease)
        claim_bind(claim, h->lease, f->o.conf->mode == CONF_MODE_COMPAT);
    return claim;
}

/* Puts a new claim in the place of the old one, which is closed. */
static enum zkc_err renew_claim(struct fetching *f, struct held *h, int64_t position,
                                bool is_continuation)
{
    struct claim *claim = make_claim(f, h, position);
    if (!claim)
        return ZKC_ERR_NOMEM;
    claim_close(h->claim, GATE_REVOKED);
    tracing_deliveries(f->o.tracing, h->claim);
    if (h->lease)
        claim_replace(claim, h->claim, is_continuation);
    else
        claim_unref(h->claim);
    h->claim = claim;
    return ZKC_OK;
}

/* It goes on somewhere else, as it was asked to; offset < 0: that is not known yet, and told then.
 */
static void moved(struct fetching *f, struct held *h, int64_t offset)
{
    h->moves++;
    if (h->lease && offset >= 0)
        tracing_moved(f->o.tracing, h->topic, h->partition, offset);
}

/* ---- what the sources say ---- */

static void take_chunk(struct fetching *f, struct source *s, const struct fetcher_output *o)
{
    struct held *h = held_of(o->tag);
    h->high_watermark = o->chunk.high_watermark;
    struct chunk chunk = {.claim = h->claim,
                          .fetch_offset = o->chunk.offset,
                          .high_watermark = o->chunk.high_watermark,
                          .records = o->chunk.records,
                          .buffer = {frame_ref(source_frame(s)), release_frame}};
    if (sink_put(h->sink, &chunk))
        return;
    /* No memory to keep it: fetch it again, from the same offset. */
    frame_unref(source_frame(s));
    h->from = FETCHER_FROM_OFFSET;
    h->offset = o->chunk.offset;
    h->source = NULL;
    f->has_unkept = true;
}

static void take_error(struct fetching *f, struct source *s, const struct fetcher_output *o)
{
    struct held *h = held_of(o->tag);
    char text[512];
    fetcher_error_text(source_fetcher(s), o, text, sizeof text);
    log_line(f->o.log, 3, LOG_FACILITY_FETCH, "%s", text);
    struct chunk chunk = {.claim = h->claim,
                          .fetch_offset = o->error.offset,
                          .high_watermark = o->error.high_watermark,
                          .err = o->error.err,
                          .text = text};
    if (!h->is_paused && !sink_put(h->sink, &chunk))
        log_line(f->o.log, 3, LOG_FACILITY_FETCH, "the stream was not told: out of memory");
    f->o.on_error(o->error.err, text, f->o.user);
}

/* In compat the gate of the claim moves, and what is queued stays, as in 0.8.2. A claim under a
 * lease whose position was known is replaced: what the application still finishes of it must not be
 * taken for something at the new place. */
static void move_claim(struct fetching *f, struct held *h, int64_t position)
{
    if (h->lease && gate_position(&h->claim->gate) >= 0 && !renew_claim(f, h, position, false))
        return;
    gate_move(&h->claim->gate, position);
    if (h->lease)
        claim_skip(h->claim, position);
}

static void take_moved(struct fetching *f, const struct fetcher_output *o)
{
    struct held *h = held_of(o->tag);
    if (o->moved.why == FETCHER_WHY_OUT_OF_RANGE)
        log_line(f->o.log, 4, LOG_FACILITY_FETCH,
                 "[%s,%d] offset %lld is out of range: reset to %lld (auto.offset.reset)", h->topic,
                 h->partition, (long long)o->moved.old_offset, (long long)o->moved.new_offset);
    else
        log_line(f->o.log, 6, LOG_FACILITY_FETCH, "[%s,%d] starts at offset %lld", h->topic,
                 h->partition, (long long)o->moved.new_offset);
    if (h->is_paused) {
        h->position = o->moved.new_offset;
        h->is_continuation = false;
    } else {
        move_claim(f, h, o->moved.new_offset);
    }
    moved(f, h, o->moved.new_offset);
}

static void take_leader_lost(struct fetching *f, struct source *s, const struct fetcher_output *o)
{
    struct held *h = held_of(o->tag);
    log_cause(f->o.log, 4, LOG_FACILITY_FETCH, "leader lost",
              "[%s,%d] is not fetched from broker %d (%s) any more: %s; looking for its leader",
              h->topic, h->partition, source_broker_id(s), source_address(s),
              o->lost.err == ZKC_ERR_BROKER ? kafka_error_name(o->lost.kafka_error)
                                            : zkc_err_text(o->lost.err));
    h->source = NULL;
    h->from = o->lost.from;
    h->offset = o->lost.offset;
    tracing_fetch(f->o.tracing, false, h->topic, h->partition);
    leader_lost(f, h);
}

static void on_output(struct source *s, const struct fetcher_output *o, void *user)
{
    struct fetching *f = user;
    switch (o->type) {
    case FETCHER_OUT_CHUNK: take_chunk(f, s, o); break;
    case FETCHER_OUT_MOVED: take_moved(f, o); break;
    case FETCHER_OUT_ERROR: take_error(f, s, o); break;
    case FETCHER_OUT_LEADER_LOST: take_leader_lost(f, s, o); break;
    case FETCHER_OUT_LIST_OFFSETS:
    case FETCHER_OUT_FETCH: break; /* the source's own */
    }
}

/* A chunk that could not be kept left its partition without a source while the fetcher has it: take
 * it out there, and look for its leader again. */
static void drop_unkept(struct source *s, void *user)
{
    struct fetching *f = user;
    if (!f->has_unkept)
        return;
    f->has_unkept = false;
    for (size_t i = 0; i < f->held_count; i++) {
        struct held *h = f->held[i];
        struct topic_partition tp = {h->topic, h->partition};
        struct fetcher_status status;
        if (h->source || !fetcher_status(source_fetcher(s), tp, &status))
            continue;
        struct fetcher_input in = {
            .type = FETCHER_IN_REMOVE, .now_ms = loop_now_ms(), .partition = tp};
        struct fetcher_outputs out;
        fetcher_step(source_fetcher(s), &in, &out);
        leader_lost(f, h);
    }
}

static void on_answered(void *user)
{
    tell_rooms(user);
}

/* ---- sources ---- */

/* Fetchers without partitions go, as 0.8.2's leader finder has it (shutdownIdleFetcherThreads). */
static void sweep(struct fetching *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->source_count; i++) {
        if (fetcher_partition_count(source_fetcher(f->sources[i])) > 0)
            f->sources[kept++] = f->sources[i];
        else
            source_free(f->sources[i]);
    }
    f->source_count = kept;
}

/* Which of num.consumer.fetchers a partition belongs to (AbstractFetcherManager.getFetcherId). */
static unsigned fetcher_index(const struct fetching *f, const struct held *h)
{
    uint32_t hash = 31u * (uint32_t)java_hash(h->topic) + (uint32_t)h->partition;
    int32_t n = (int32_t)hash;
    n = n == INT32_MIN ? 0 : n < 0 ? -n : n;
    return (unsigned)(n % f->o.conf->fetchers_per_broker);
}

static struct source *source_for(struct fetching *f, const struct group_leader *l,
                                 const struct held *h)
{
    unsigned index = fetcher_index(f, h);
    for (size_t i = 0; i < f->source_count; i++)
        if (source_is(f->sources[i], l->broker_id, l->host, l->port, index))
            return f->sources[i];
    struct source **sources = realloc(f->sources, (f->source_count + 1) * sizeof(struct source *));
    if (!sources)
        return NULL;
    f->sources = sources;
    struct source *s = source_new(&f->shared, l->broker_id, l->host, l->port, index);
    if (s)
        f->sources[f->source_count++] = s;
    return s;
}

void fetching_leaders(struct fetching *f, const struct group_leader *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct held *h = find_held(f, list[i].topic, list[i].partition);
        if (!h || h->source)
            continue;
        h->source = list[i].port > 0 && list[i].port < 65536 ? source_for(f, &list[i], h) : NULL;
        if (!h->source) {
            leader_lost(f, h);
            continue;
        }
        tracing_fetch(f->o.tracing, true, h->topic, h->partition);
        struct fetcher_input in = {.type = FETCHER_IN_ADD,
                                   .now_ms = loop_now_ms(),
                                   .partition = {h->topic, h->partition},
                                   .add = {.from = h->from,
                                           .offset = h->offset,
                                           .tag = (uint64_t)(uintptr_t)h,
                                           .sink = (uint64_t)(uintptr_t)h->sink,
                                           .sink_has_room = sink_has_room(h->sink),
                                           .is_paused = h->is_paused}};
        source_feed(h->source, &in);
    }
    sweep(f);
}

void fetching_ask(struct fetching *f, uint32_t seq, const char *host, int32_t port,
                  const char *const *topics, size_t topic_count, leader_query_fn *fn, void *user)
{
    leader_query_ask(f->query, seq, host, port, topics, topic_count, fn, user);
}

/* ---- holding and letting go ---- */

static void held_free(struct held *h)
{
    claims_end(h->claim);
    gate_lease_unref(h->lease);
    free(h);
}

/* NULL: out of memory. */
static struct held *held_new(struct fetching *f, const struct zkc_owned *o, uint64_t number,
                             struct gate_lease *lease)
{
    zkc_stream *stream = stream_find(f->o.hub, o->topic, o->stream);
    struct held *h = stream ? malloc(sizeof *h) : NULL;
    if (!h)
        return NULL;
    *h = (struct held){.topic = stream_hub_topic(f->o.hub, o->topic),
                       .partition = o->partition,
                       .thread = o->stream,
                       .sink = sink_of(f, stream),
                       .from = FETCHER_FROM_OFFSET,
                       .offset = o->offset,
                       .high_watermark = -1,
                       .lease = lease ? gate_lease_ref(lease) : NULL,
                       .number = number};
    if (o->offset == ZKC_OFFSET_BEGINNING)
        h->from = FETCHER_FROM_EARLIEST;
    else if (o->offset == FETCHING_END)
        h->from = FETCHER_FROM_LATEST;
    else if (o->offset < 0)
        h->from = FETCHER_FROM_RESET;
    h->claim = h->topic && h->sink ? make_claim(f, h, o->offset < 0 ? -1 : o->offset) : NULL;
    if (h->claim)
        return h;
    held_free(h);
    return NULL;
}

/* Room for so many. */
static bool reserve(struct fetching *f, size_t count)
{
    if (count <= f->held_cap)
        return true;
    size_t cap = f->held_cap ? f->held_cap : 8;
    while (cap < count)
        cap *= 2;
    struct held **held = realloc(f->held, cap * sizeof(struct held *));
    f->held = held ? held : f->held;
    struct zkc_owned *owned = realloc(f->owned, cap * sizeof *owned);
    f->owned = owned ? owned : f->owned;
    if (!held || !owned)
        return false;
    f->held_cap = cap;
    return true;
}

enum zkc_err fetching_hold(struct fetching *f, const struct zkc_owned *list, size_t count,
                           struct gate_lease *lease)
{
    assert(f->held_count == 0);
    if (!reserve(f, count))
        return ZKC_ERR_NOMEM;
    for (; f->held_count < count; f->held_count++) {
        struct held *h = held_new(f, &list[f->held_count], 0, lease);
        if (!h) {
            while (f->held_count > 0)
                held_free(f->held[--f->held_count]);
            return ZKC_ERR_NOMEM;
        }
        f->held[f->held_count] = h;
    }
    for (size_t i = 0; i < count; i++)
        tracing_own_begin(f->o.tracing, f->held[i]->topic, f->held[i]->partition, list[i].offset);
    if (count == 0)
        sweep(f);
    return ZKC_OK;
}

static void drop_queued(struct fetching *f, struct held *h)
{
    stream_drop_closed(h->sink->stream);
    sink_drain(h->sink);
    tell_rooms(f);
}

static void let_go(struct fetching *f, struct held *h, enum gate_state gates, const char *why)
{
    if (h->source) {
        struct fetcher_input in = {.type = FETCHER_IN_REMOVE,
                                   .now_ms = loop_now_ms(),
                                   .partition = {h->topic, h->partition}};
        source_feed(h->source, &in);
        tracing_fetch(f->o.tracing, false, h->topic, h->partition);
    }
    int64_t position = claim_close(h->claim, gates);
    if (!h->is_paused)
        h->position = position;
    tracing_deliveries(f->o.tracing, h->claim);
    tracing_own_end(f->o.tracing, h->topic, h->partition, why, h->number);
}

void fetching_stop(struct fetching *f, enum gate_state gates, const char *why,
                   struct zkc_owned **list, size_t *count)
{
    for (size_t i = 0; i < f->held_count; i++) {
        struct held *h = f->held[i];
        let_go(f, h, gates, why);
        f->owned[i] = (struct zkc_owned){h->topic, h->partition, h->thread, held_consumed(f, h)};
    }
    for (size_t i = 0; i < f->held_count; i++)
        held_free(f->held[i]);
    *list = f->owned;
    *count = f->held_count;
    f->held_count = 0;
    forget_lost(f);
    for (size_t i = 0; i < f->sink_count; i++) {
        stream_drop_closed(f->sinks[i]->stream);
        sink_drain(f->sinks[i]);
    }
    tell_rooms(f);
    stream_hub_look_again(f->o.hub);
}

/* ---- one by one ---- */

static bool reserve_ended(struct fetching *f, size_t count)
{
    if (count <= f->ended_cap)
        return true;
    struct ended *ended = realloc(f->ended, count * 2 * sizeof *ended);
    if (!ended)
        return false;
    f->ended = ended;
    f->ended_cap = count * 2;
    return true;
}

enum zkc_err fetching_start(struct fetching *f, const struct zkc_owned *owned, uint64_t number,
                            int64_t stored, struct gate_lease *lease)
{
    assert(!find_held(f, owned->topic, owned->partition));
    if (!reserve_ended(f, f->ended_count + f->held_count + 1))
        return ZKC_ERR_NOMEM;
    struct held *h = reserve(f, f->held_count + 1) ? held_new(f, owned, number, lease) : NULL;
    if (!h)
        return ZKC_ERR_NOMEM;
    size_t at = place_of(f, h->topic, h->partition);
    memmove(&f->held[at + 1], &f->held[at], (f->held_count - at) * sizeof(struct held *));
    f->held[at] = h;
    f->held_count++;
    tracing_own_begin(f->o.tracing, h->topic, h->partition, stored);
    if (owned->offset != stored)
        moved(f, h, owned->offset);
    return ZKC_OK;
}

bool fetching_end(struct fetching *f, const char *topic, int32_t partition, uint64_t number,
                  enum gate_state gate, const char *why, struct zkc_owned *owned)
{
    struct held *h = find_held(f, topic, partition);
    if (!h || h->number != number) {
        const char *name = stream_hub_topic(f->o.hub, topic);
        if (name && reserve_ended(f, f->ended_count + f->held_count + 1))
            f->ended[f->ended_count++] = (struct ended){name, partition, number, NULL, -1, 0};
        return false;
    }
    let_go(f, h, gate, why);
    *owned = (struct zkc_owned){h->topic, h->partition, h->thread, h->position};
    size_t at = place_of(f, topic, partition);
    memmove(&f->held[at], &f->held[at + 1], (--f->held_count - at) * sizeof(struct held *));
    claims_drained(h->claim, true);
    f->ended[f->ended_count++] =
        (struct ended){h->topic, h->partition, number, h->claim, moved_to(h), h->moves};
    h->claim = NULL;
    drop_queued(f, h);
    stream_hub_look_again(f->o.hub);
    held_free(h);
    if (f->held_count == 0)
        sweep(f);
    return true;
}

static void forget_ended(struct fetching *f, size_t at)
{
    claims_end(f->ended[at].claims);
    f->ended[at] = f->ended[--f->ended_count];
}

bool fetching_take_drained(struct fetching *f, struct drained *out)
{
    for (size_t i = 0; i < f->ended_count; i++) {
        const struct ended *e = &f->ended[i];
        if (!claims_drained(e->claims, false))
            continue;
        *out = drained_ended(e);
        forget_ended(f, i);
        return true;
    }
    return false;
}

bool fetching_void(struct fetching *f, uint64_t number, struct drained *was)
{
    bool is_found = false;
    for (size_t i = f->ended_count; i-- > 0;) {
        const struct ended *e = &f->ended[i];
        if (number != 0 && e->number != number)
            continue;
        if (was)
            *was = drained_ended(e);
        forget_ended(f, i);
        is_found = true;
    }
    return is_found;
}

void fetching_finished(struct fetching *f, fetching_finished_fn *fn, void *user)
{
    for (size_t i = 0; i < f->held_count; i++) {
        struct drained d = drained_held(f->held[i]);
        fn(&d, user);
    }
    for (size_t i = 0; i < f->ended_count; i++) {
        struct drained d = drained_ended(&f->ended[i]);
        fn(&d, user);
    }
}

void fetching_owned(struct fetching *f, struct zkc_owned **list, size_t *count)
{
    for (size_t i = 0; i < f->held_count; i++) {
        const struct held *h = f->held[i];
        f->owned[i] = (struct zkc_owned){h->topic, h->partition, h->thread, held_position(h)};
    }
    *list = f->owned;
    *count = f->held_count;
}

void fetching_consumed(struct fetching *f, struct zkc_owned **list, size_t *count)
{
    fetching_owned(f, list, count);
    for (size_t i = 0; i < f->held_count; i++)
        f->owned[i].offset = held_consumed(f, f->held[i]);
}

/* ---- calls of the application ---- */

enum zkc_err fetching_leader(struct fetching *f, const char *topic, int32_t partition,
                             const char **host, int32_t *port)
{
    const struct held *h = find_held(f, topic, partition);
    if (!h)
        return ZKC_ERR_NOT_OWNED;
    *host = h->source ? source_host(h->source) : NULL;
    *port = h->source ? source_port(h->source) : -1;
    return ZKC_OK;
}

enum zkc_err fetching_position(struct fetching *f, const char *topic, int32_t partition,
                               int64_t *out)
{
    const struct held *h = find_held(f, topic, partition);
    if (!h)
        return ZKC_ERR_NOT_OWNED;
    *out = held_position(h);
    return ZKC_OK;
}

static int64_t log_end(const struct held *h)
{
    struct fetcher_status status;
    struct topic_partition tp = {h->topic, h->partition};
    if (h->source && fetcher_status(source_fetcher(h->source), tp, &status) &&
        status.high_watermark >= 0)
        return status.high_watermark;
    return h->high_watermark;
}

enum zkc_err fetching_log_end(struct fetching *f, const char *topic, int32_t partition,
                              int64_t *out)
{
    const struct held *h = find_held(f, topic, partition);
    if (!h)
        return ZKC_ERR_NOT_OWNED;
    *out = log_end(h);
    return ZKC_OK;
}

static void feed_one(struct held *h, enum fetcher_input_type type)
{
    if (!h->source)
        return;
    struct fetcher_input in = {
        .type = type, .now_ms = loop_now_ms(), .partition = {h->topic, h->partition}};
    in.seek.from = h->from;
    in.seek.offset = h->offset;
    source_feed(h->source, &in);
}

enum zkc_err fetching_seek(struct fetching *f, const char *topic, int32_t partition, int64_t offset)
{
    struct held *h = find_held(f, topic, partition);
    if (!h)
        return ZKC_ERR_NOT_OWNED;
    if (offset > GATE_POSITION_MAX ||
        (offset < 0 && offset != ZKC_OFFSET_BEGINNING && offset != ZKC_OFFSET_END))
        return ZKC_ERR_INVALID;
    struct held before = *h;
    h->from = offset == ZKC_OFFSET_BEGINNING ? FETCHER_FROM_EARLIEST
              : offset == ZKC_OFFSET_END     ? FETCHER_FROM_LATEST
                                             : FETCHER_FROM_OFFSET;
    h->offset = offset < 0 ? -1 : offset;
    h->position = h->offset;
    h->is_continuation = false;
    if (!h->is_paused) {
        enum zkc_err err =
            renew_claim(f, h, h->from == FETCHER_FROM_OFFSET ? h->offset : -1, false);
        if (err) {
            h->from = before.from;
            h->offset = before.offset;
            return err;
        }
        drop_queued(f, h);
    }
    moved(f, h, h->offset);
    feed_one(h, FETCHER_IN_SEEK);
    return ZKC_OK;
}

enum zkc_err fetching_pause(struct fetching *f, const char *topic, int32_t partition)
{
    struct held *h = find_held(f, topic, partition);
    if (!h)
        return ZKC_ERR_NOT_OWNED;
    if (h->is_paused)
        return ZKC_OK;
    h->position = claim_close(h->claim, GATE_REVOKED);
    h->is_paused = h->is_continuation = true;
    tracing_deliveries(f->o.tracing, h->claim);
    feed_one(h, FETCHER_IN_PAUSE);
    if (h->position >= 0) { /* what was fetched beyond it is fetched again */
        h->from = FETCHER_FROM_OFFSET;
        h->offset = h->position;
        feed_one(h, FETCHER_IN_SEEK);
    }
    drop_queued(f, h);
    return ZKC_OK;
}

enum zkc_err fetching_resume(struct fetching *f, const char *topic, int32_t partition)
{
    struct held *h = find_held(f, topic, partition);
    if (!h)
        return ZKC_ERR_NOT_OWNED;
    if (!h->is_paused)
        return ZKC_OK;
    enum zkc_err err = renew_claim(f, h, h->position, h->is_continuation);
    if (err)
        return err;
    h->is_paused = false;
    feed_one(h, FETCHER_IN_RESUME);
    return ZKC_OK;
}

void fetching_trace_deliveries(struct fetching *f)
{
    for (size_t i = 0; i < f->held_count; i++)
        tracing_deliveries(f->o.tracing, f->held[i]->claim);
}

/* ---- statistics ---- */

static int64_t lag(const struct held *h)
{
    int64_t position = held_position(h), end = log_end(h);
    return position >= 0 && end >= 0 ? end - position : -1;
}

static void held_stats(const struct held *h, const struct tally *tally, enum tally_store store,
                       struct json *j)
{
    json_object_begin(j, NULL);
    json_text(j, "topic", h->topic);
    json_int(j, "partition", h->partition);
    json_int(j, "stream", h->thread);
    json_int(j, "leader", h->source ? source_broker_id(h->source) : -1);
    json_bool(j, "paused", h->is_paused);
    json_int(j, "position", held_position(h));
    json_int(j, "log_end", log_end(h));
    json_int(j, "lag", lag(h));
    json_int(j, "committed", tally_committed(tally, h->topic, h->partition, store));
    json_int(j, "committed_zookeeper",
             tally_committed(tally, h->topic, h->partition, TALLY_ZOOKEEPER));
    if (h->lease) {
        json_int(j, "claim", (int64_t)h->number);
        json_int(j, "finished", held_finished(h));
    }
    json_object_end(j);
}

size_t fetching_count(const struct fetching *f)
{
    return f->held_count;
}

int64_t fetching_max_lag(const struct fetching *f)
{
    int64_t max = -1;
    for (size_t i = 0; i < f->held_count; i++)
        if (lag(f->held[i]) > max)
            max = lag(f->held[i]);
    return max;
}

const struct fetch_numbers *fetching_numbers(const struct fetching *f)
{
    return &f->shared.numbers;
}

static bool is_same_broker(const struct source *a, const struct source *b)
{
    return source_port(a) == source_port(b) && strcmp(source_host(a), source_host(b)) == 0;
}

void fetching_each_broker(struct fetching *f, fetching_broker_fn *fn, void *user)
{
    int64_t now_ms = loop_now_ms();
    for (size_t i = 0; i < f->source_count; i++) {
        struct fetch_numbers sum = {.since_ms = now_ms};
        bool is_first = true;
        for (size_t k = 0; k < i; k++)
            is_first = is_first && !is_same_broker(f->sources[k], f->sources[i]);
        for (size_t k = i; is_first && k < f->source_count; k++)
            if (is_same_broker(f->sources[k], f->sources[i]))
                source_add_numbers(f->sources[k], now_ms, &sum);
        if (is_first)
            fn(source_host(f->sources[i]), source_port(f->sources[i]), &sum, user);
    }
}

void fetching_stats(struct fetching *f, const struct tally *tally, enum tally_store store,
                    struct json *j)
{
    json_list_begin(j, "brokers");
    for (size_t i = 0; i < f->source_count; i++)
        source_stats(f->sources[i], j);
    json_list_end(j);
    json_list_begin(j, "partitions");
    for (size_t i = 0; i < f->held_count; i++)
        held_stats(f->held[i], tally, store, j);
    json_list_end(j);
}

/* ---- birth and death ---- */

struct fetching *fetching_new(const struct fetching_options *options)
{
    struct fetching *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    int64_t share = (int64_t)options->conf->fetch_message_bytes_max + 65536;
    f->o = *options;
    f->dial =
        (struct dial){.base = options->base, .resolver = options->resolver, .conf = options->conf};
    rng_init(&f->dial.rng, options->seed);
    f->shared = (struct source_shared){
        .dial = &f->dial,
        .log = options->log,
        .answer_bytes_max = share > ANSWER_BYTES_MAX ? share : ANSWER_BYTES_MAX,
        .on_output = on_output,
        .on_step = drop_unkept,
        .on_answered = on_answered,
        .user = f,
    };
    source_shared_init(&f->shared);
    f->tell_lost = event_new(options->base, -1, 0, tell_lost, f);
    f->query = leader_query_new(&f->dial);
    if (!f->tell_lost || !f->query) {
        fetching_free(f);
        return NULL;
    }
    return f;
}

void fetching_free(struct fetching *f)
{
    if (!f)
        return;
    leader_query_free(f->query);
    for (size_t i = 0; i < f->held_count; i++) {
        claim_close(f->held[i]->claim, GATE_REVOKED);
        held_free(f->held[i]);
    }
    free(f->held);
    fetching_void(f, 0, NULL);
    free(f->ended);
    for (size_t i = 0; i < f->source_count; i++)
        source_free(f->sources[i]);
    free(f->sources);
    for (size_t i = 0; i < f->sink_count; i++)
        sink_free(f->sinks[i]);
    free(f->sinks);
    forget_lost(f);
    free(f->lost);
    free(f->owned);
    source_shared_deinit(&f->shared);
    if (f->tell_lost)
        event_free(f->tell_lost);
    free(f);
}
