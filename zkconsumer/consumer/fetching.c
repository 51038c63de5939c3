#include "zkconsumer/consumer/fetching.h"
#include "zkconsumer/consumer/loop.h"
#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/base/why.h"
#include "zkconsumer/core/fetch/fetcher.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/fetch.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include "zkconsumer/core/wire/list_offsets.h"
#include "zkconsumer/core/wire/metadata.h"
#include "zkconsumer/core/zk/java_hash.h"
#include "zkconsumer/io/broker_connection.h"
#include <assert.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <zkconsumer/consumer.h>

/* A request names every partition at most; an answer's arrays are small beside its records. */
#define REQUEST_BYTES_MAX  (8 * 1024 * 1024)
#define ARENA_BYTES_MAX    (16 * 1024 * 1024)
#define METADATA_BYTES_MAX (64 * 1024 * 1024)

/* One answer holds at least one partition's share, and not more than this otherwise (as much as a
 * broker of Kafka takes as one request). */
#define ANSWER_BYTES_MAX (100 * 1024 * 1024)

/* A stream, seen from the fetchers: room is what its queue has, and nothing may wait before it. */
struct sink {
    zkc_stream *stream;
    struct waiting *first, *last; /* chunks that found it full; of one answer of each broker */
    bool told_room;               /* what the fetchers were told last */
};

struct waiting {
    struct waiting *next;
    struct chunk chunk; /* with references of its own to claim and buffer */
    char *text;         /* of a report */
};

struct source;

struct held {
    const char *topic; /* the stream's */
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
};

/* One fetcher of one leader broker. */
struct source {
    struct fetching *fetching;
    struct source *next;
    int32_t broker_id;
    unsigned index; /* of num.consumer.fetchers */
    char *host;
    int32_t port;
    struct fetcher *fetcher;
    struct broker_connection *connection;
    struct event *timer;
    uint64_t request; /* outstanding; 0: none */
    bool is_listing;  /* it is a ListOffsets */
    struct event *send_failed;
    bool is_closing;
    struct frame *frame; /* of the answer being fed */
};

struct question {
    struct broker_connection *connection; /* NULL: none is open */
    uint32_t seq;
    fetching_metadata_fn *fn;
    void *user;
    struct event *later; /* sending failed: told from the loop */
};

struct lost {
    char *topic;
    int32_t partition;
};

struct fetching {
    struct fetching_options o;
    struct rng rng;
    struct source *sources;
    struct sink **sinks;
    size_t sink_count;
    struct held *held; /* sorted by topic and partition */
    size_t held_count;
    struct zkc_owned *owned; /* as many; what is lent to callers */
    struct arena arena;
    struct buf request;
    struct fetch_response_view *entries; /* of an answer */
    size_t entries_cap;
    struct question question;
    struct lost *lost; /* to be told from the loop */
    size_t lost_count, lost_cap;
    struct event *tell_lost;
    int64_t answer_bytes_max;
};

/* ---- sinks ---- */

static void release_frame(void *owner)
{
    frame_unref(owner);
}

static void free_waiting(struct waiting *w)
{
    claim_unref(w->chunk.claim);
    if (w->chunk.buffer.owner)
        w->chunk.buffer.release(w->chunk.buffer.owner);
    free(w->text);
    free(w);
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
    struct sink *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->stream = stream;
    s->told_room = true;
    return f->sinks[f->sink_count++] = s;
}

static bool sink_has_room(const struct sink *s)
{
    return !s->first && stream_room(s->stream) > 0;
}

/* Drops what waits of closed claims, then lets the stream take what it can. */
static void sink_drain(struct sink *s)
{
    struct waiting **at = &s->first;
    s->last = NULL;
    while (*at) {
        struct waiting *w = *at;
        if (gate_is_closed(&w->chunk.claim->gate)) {
            *at = w->next;
            free_waiting(w);
            continue;
        }
        s->last = w;
        at = &w->next;
    }
    while (s->first) {
        struct waiting *w = s->first;
        if (!stream_push(s->stream, &w->chunk))
            return;
        s->first = w->next;
        w->chunk.buffer.owner = NULL; /* the stream's now */
        free_waiting(w);
    }
    s->last = NULL;
}

/* Queues a chunk behind what waits already. Takes over one reference of its buffer. */
static bool sink_put(struct sink *s, const struct chunk *chunk)
{
    if (!s->first && stream_push(s->stream, chunk))
        return true;
    struct waiting *w = calloc(1, sizeof *w);
    if (!w)
        return false;
    w->chunk = *chunk;
    claim_ref(chunk->claim);
    if (chunk->text) {
        w->text = strdup(chunk->text);
        w->chunk.text = w->text;
    }
    if (s->last)
        s->last->next = w;
    else
        s->first = w;
    s->last = w;
    return true;
}

static void source_feed(struct source *s, const struct fetcher_input *in);

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
        for (struct source *s = f->sources; s; s = s->next)
            source_feed(s, &in);
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

static struct held *find_held(struct fetching *f, const char *topic, int32_t partition)
{
    size_t lo = 0, hi = f->held_count;
    struct topic_partition want = {topic, partition};
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        struct topic_partition tp = {f->held[mid].topic, f->held[mid].partition};
        int order = topic_partition_compare(tp, want);
        if (order == 0)
            return &f->held[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static struct held *held_of(struct fetching *f, uint64_t tag)
{
    assert(tag < f->held_count);
    return &f->held[tag];
}

static int64_t held_position(const struct held *h)
{
    return h->is_paused ? h->position : gate_position(&h->claim->gate);
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

/* ---- sources: outputs of the fetcher ---- */

static void answered(enum zkc_err err, struct frame *frame, struct bytes body, const char *text,
                     void *user);

static void arm(struct source *s)
{
    int64_t at = fetcher_deadline_ms(s->fetcher);
    if (at == INT64_MAX) {
        event_del(s->timer);
        return;
    }
    int64_t ms = at - loop_now_ms();
    if (ms < 0)
        ms = 0;
    struct timeval tv = {ms / 1000, (ms % 1000) * 1000};
    event_add(s->timer, &tv);
}

static void fail_request(struct source *s, enum zkc_err err)
{
    struct fetcher_input in = {
        .type = FETCHER_IN_FAILED, .now_ms = loop_now_ms(), .failed = {s->request, err}};
    s->request = 0;
    source_feed(s, &in);
}

static void send_body(struct source *s, const struct fetcher_request *request, int16_t api_key,
                      enum zkc_err err)
{
    struct fetching *f = s->fetching;
    s->request = request->number;
    s->is_listing = api_key == API_LIST_OFFSETS;
    if (!err)
        err =
            broker_connection_send(s->connection, api_key, 0, buf_bytes(&f->request), answered, s);
    if (!err)
        return;
    log_line(f->o.log, 3, LOG_FACILITY_FETCH, "request to %s: %s",
             broker_connection_name(s->connection), zkc_err_text(err));
    event_active(s->send_failed, EV_TIMEOUT, 1);
}

/* How many targets from `at` on belong to one topic. */
static size_t run_of_topic(const struct fetcher_request *r, size_t at)
{
    size_t n = 1;
    while (at + n < r->count && strcmp(r->targets[at].topic, r->targets[at + n].topic) == 0)
        n++;
    return n;
}

static void send_fetch(struct source *s, const struct fetcher_request *r)
{
    struct fetching *f = s->fetching;
    struct wire_codec c;
    arena_clear(&f->arena);
    buf_clear(&f->request);
    struct fetch_request m = {
        .replica_id = -1, .max_wait_ms = r->wait_max_ms, .min_bytes = r->bytes_min};
    m.topics = arena_alloc_array(&f->arena, r->count, sizeof *m.topics);
    for (size_t i = 0, n; m.topics && i < r->count; i += n) {
        n = run_of_topic(r, i);
        struct fetch_request_topic *t = &m.topics[m.topics_count++];
        t->topic = bytes_of_text(r->targets[i].topic);
        t->partitions = arena_alloc_array(&f->arena, n, sizeof *t->partitions);
        for (size_t k = 0; t->partitions && k < n; k++)
            t->partitions[t->partitions_count++] = (struct fetch_request_partition){
                .partition = r->targets[i + k].partition,
                .fetch_offset = r->targets[i + k].offset,
                .partition_max_bytes = r->targets[i + k].bytes_max};
    }
    enum zkc_err err = f->arena.failed;
    wire_codec_write(&c, 0, &f->request);
    if (!err) {
        fetch_request_fields(&c, &m);
        err = wire_codec_end(&c);
    }
    send_body(s, r, API_FETCH, err);
}

static void send_list_offsets(struct source *s, const struct fetcher_request *r)
{
    struct fetching *f = s->fetching;
    struct wire_codec c;
    arena_clear(&f->arena);
    buf_clear(&f->request);
    struct list_offsets_request m = {.replica_id = -1};
    m.topics = arena_alloc_array(&f->arena, r->count, sizeof *m.topics);
    for (size_t i = 0, n; m.topics && i < r->count; i += n) {
        n = run_of_topic(r, i);
        struct list_offsets_request_topic *t = &m.topics[m.topics_count++];
        t->name = bytes_of_text(r->targets[i].topic);
        t->partitions = arena_alloc_array(&f->arena, n, sizeof *t->partitions);
        for (size_t k = 0; t->partitions && k < n; k++)
            t->partitions[t->partitions_count++] = (struct list_offsets_request_partition){
                .partition_index = r->targets[i + k].partition,
                .timestamp = r->targets[i + k].time,
                .max_num_offsets = 1};
    }
    enum zkc_err err = f->arena.failed;
    wire_codec_write(&c, 0, &f->request);
    if (!err) {
        list_offsets_request_fields(&c, &m);
        err = wire_codec_end(&c);
    }
    send_body(s, r, API_LIST_OFFSETS, err);
}

static void take_chunk(struct source *s, const struct fetcher_output *o)
{
    struct held *h = held_of(s->fetching, o->tag);
    h->high_watermark = o->chunk.high_watermark;
    struct chunk chunk = {.claim = h->claim,
                          .fetch_offset = o->chunk.offset,
                          .high_watermark = o->chunk.high_watermark,
                          .records = o->chunk.records,
                          .buffer = {frame_ref(s->frame), release_frame}};
    if (sink_put(h->sink, &chunk))
        return;
    /* No memory to keep it: fetch it again, from the same offset. */
    frame_unref(s->frame);
    h->from = FETCHER_FROM_OFFSET;
    h->offset = o->chunk.offset;
    h->source = NULL;
}

static void take_error(struct source *s, const struct fetcher_output *o)
{
    struct fetching *f = s->fetching;
    struct held *h = held_of(f, o->tag);
    char text[512];
    fetcher_error_text(s->fetcher, o, text, sizeof text);
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

static void take_moved(struct source *s, const struct fetcher_output *o)
{
    struct fetching *f = s->fetching;
    struct held *h = held_of(f, o->tag);
    if (o->moved.why == FETCHER_WHY_OUT_OF_RANGE)
        log_line(f->o.log, 4, LOG_FACILITY_FETCH,
                 "[%s,%d] offset %lld is out of range: reset to %lld (auto.offset.reset)", h->topic,
                 h->partition, (long long)o->moved.old_offset, (long long)o->moved.new_offset);
    else
        log_line(f->o.log, 6, LOG_FACILITY_FETCH, "[%s,%d] starts at offset %lld", h->topic,
                 h->partition, (long long)o->moved.new_offset);
    if (h->is_paused)
        h->position = o->moved.new_offset;
    else
        gate_move(&h->claim->gate, o->moved.new_offset);
}

static void take_leader_lost(struct source *s, const struct fetcher_output *o)
{
    struct fetching *f = s->fetching;
    struct held *h = held_of(f, o->tag);
    log_cause(f->o.log, 4, LOG_FACILITY_FETCH, "leader lost",
              "[%s,%d] is not fetched from broker %d (%s) any more: %s; looking for its leader",
              h->topic, h->partition, s->broker_id, broker_connection_name(s->connection),
              o->lost.err == ZKC_ERR_BROKER ? kafka_error_name(o->lost.kafka_error)
                                            : zkc_err_text(o->lost.err));
    h->source = NULL;
    h->from = o->lost.from;
    h->offset = o->lost.offset;
    tracing_fetch(f->o.tracing, false, h->topic, h->partition);
    leader_lost(f, h);
}

static void carry_out(struct source *s, const struct fetcher_output *o)
{
    switch (o->type) {
    case FETCHER_OUT_LIST_OFFSETS: send_list_offsets(s, &o->request); break;
    case FETCHER_OUT_FETCH: send_fetch(s, &o->request); break;
    case FETCHER_OUT_CHUNK: take_chunk(s, o); break;
    case FETCHER_OUT_MOVED: take_moved(s, o); break;
    case FETCHER_OUT_ERROR: take_error(s, o); break;
    case FETCHER_OUT_LEADER_LOST: take_leader_lost(s, o); break;
    }
}

/* A chunk that could not be kept left its partition without a source while the fetcher has it: take
 * it out there, and look for its leader again. */
static void drop_unkept(struct source *s)
{
    struct fetching *f = s->fetching;
    for (size_t i = 0; i < f->held_count; i++) {
        struct held *h = &f->held[i];
        struct topic_partition tp = {h->topic, h->partition};
        struct fetcher_status status;
        if (h->source || !fetcher_status(s->fetcher, tp, &status))
            continue;
        struct fetcher_input in = {
            .type = FETCHER_IN_REMOVE, .now_ms = loop_now_ms(), .partition = tp};
        struct fetcher_outputs out;
        fetcher_step(s->fetcher, &in, &out);
        leader_lost(f, h);
    }
}

static void source_feed(struct source *s, const struct fetcher_input *in)
{
    struct fetcher_outputs out;
    bool has_chunks = false;
    fetcher_step(s->fetcher, in, &out);
    for (size_t i = 0; i < out.count; i++) {
        has_chunks |= out.list[i].type == FETCHER_OUT_CHUNK;
        carry_out(s, &out.list[i]);
    }
    if (has_chunks)
        drop_unkept(s);
    arm(s);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct fetcher_input in = {.type = FETCHER_IN_TURN, .now_ms = loop_now_ms()};
    source_feed(arg, &in);
}

/* ---- sources: answers ---- */

static bool grow_entries(struct fetching *f, size_t count)
{
    if (count < f->entries_cap)
        return true;
    size_t cap = f->entries_cap ? f->entries_cap * 2 : 32;
    struct fetch_response_view *entries = realloc(f->entries, cap * sizeof *entries);
    if (!entries)
        return false;
    f->entries = entries;
    f->entries_cap = cap;
    return true;
}

static enum zkc_err feed_fetched(struct source *s, struct bytes body, struct why *why)
{
    struct fetching *f = s->fetching;
    struct fetch_response_reader reader;
    enum fetch_response_result result;
    size_t n = 0;
    fetch_response_reader_init(&reader, body);
    do {
        if (!grow_entries(f, n))
            return ZKC_ERR_NOMEM;
        result = fetch_response_next(&reader, &f->entries[n]);
        n += result == FETCH_RESPONSE_PARTITION;
    } while (result == FETCH_RESPONSE_PARTITION);
    if (result == FETCH_RESPONSE_MALFORMED) {
        why_set(why, "%s", reader.reason);
        return ZKC_ERR_PROTOCOL;
    }
    struct fetcher_input in = {.type = FETCHER_IN_FETCHED,
                               .now_ms = loop_now_ms(),
                               .fetched = {s->request, f->entries, n}};
    s->request = 0;
    source_feed(s, &in);
    return ZKC_OK;
}

static enum zkc_err feed_listed(struct source *s, struct bytes body, struct why *why)
{
    struct fetching *f = s->fetching;
    struct wire_codec c;
    struct list_offsets_response m = {0};
    arena_clear(&f->arena);
    wire_codec_read(&c, 0, body, &f->arena);
    list_offsets_response_fields(&c, &m);
    enum zkc_err err = wire_codec_end(&c);
    if (err) {
        why_set(why, "%s", c.reason);
        return err;
    }
    size_t count = 0, n = 0;
    for (size_t i = 0; i < m.topics_count; i++)
        count += m.topics[i].partitions_count;
    struct fetcher_listed *list = arena_alloc_array(&f->arena, count, sizeof *list);
    if (!list)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < m.topics_count; i++)
        for (size_t k = 0; k < m.topics[i].partitions_count; k++) {
            const struct list_offsets_response_partition *p = &m.topics[i].partitions[k];
            list[n++] = (struct fetcher_listed){
                .topic = m.topics[i].name,
                .partition = p->partition_index,
                .kafka_error = p->error_code,
                .offset = p->old_style_offsets_count ? p->old_style_offsets[0] : -1};
        }
    struct fetcher_input in = {
        .type = FETCHER_IN_LISTED, .now_ms = loop_now_ms(), .listed = {s->request, list, n}};
    s->request = 0;
    source_feed(s, &in);
    return ZKC_OK;
}

static void answered_with(struct source *s, enum zkc_err err, struct frame *frame,
                          struct bytes body, const char *text)
{
    struct fetching *f = s->fetching;
    struct why why;
    why_set(&why, "out of memory");
    if (err) {
        log_cause(f->o.log, 4, LOG_FACILITY_FETCH, broker_connection_name(s->connection), "%s",
                  text);
        fail_request(s, err);
        return;
    }
    s->frame = frame;
    err = s->is_listing ? feed_listed(s, body, &why) : feed_fetched(s, body, &why);
    s->frame = NULL;
    if (!err)
        return;
    log_line(f->o.log, 3, LOG_FACILITY_FETCH, "answer of broker %d (%s): %s", s->broker_id,
             broker_connection_name(s->connection), why.text);
    if (err == ZKC_ERR_PROTOCOL)
        broker_connection_reset(s->connection, why.text);
    fail_request(s, err);
}

static void answered(enum zkc_err err, struct frame *frame, struct bytes body, const char *text,
                     void *user)
{
    struct source *s = user;
    if (s->is_closing)
        return;
    answered_with(s, err, frame, body, text);
    tell_rooms(s->fetching);
}

static void on_send_failed(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    fail_request(arg, ZKC_ERR_SYSTEM);
}

/* ---- sources: birth and death ---- */

static void source_free(struct source *s)
{
    s->is_closing = true;
    broker_connection_close(s->connection);
    if (s->timer)
        event_free(s->timer);
    if (s->send_failed)
        event_free(s->send_failed);
    fetcher_free(s->fetcher);
    free(s->host);
    free(s);
}

/* Fetchers without partitions go, as 0.8.2's leader finder has it (shutdownIdleFetcherThreads). */
static void sweep(struct fetching *f)
{
    struct source **at = &f->sources;
    while (*at) {
        struct source *s = *at;
        if (fetcher_partition_count(s->fetcher) > 0) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        source_free(s);
    }
}

static struct broker_connection *connect_to(struct fetching *f, const char *host, int32_t port,
                                            size_t response_bytes_max)
{
    struct broker_connection_config config = {
        .base = f->o.base,
        .resolver = f->o.resolver,
        .host = host,
        .port = (uint16_t)port,
        .client_id = f->o.conf->client_id,
        .request_timeout_ms = f->o.conf->socket_timeout_ms,
        .backoff_ms = 50,
        .backoff_max_ms = 2000,
        .receive_buffer_bytes = f->o.conf->socket_receive_buffer_bytes,
        .response_bytes_max = response_bytes_max,
        .send_bytes_max = REQUEST_BYTES_MAX,
        .requests_max = 4,
        .seed = rng_next(&f->rng),
    };
    return broker_connection_new(&config);
}

static struct source *source_new(struct fetching *f, const struct group_leader *l, unsigned index)
{
    const struct conf_view *conf = f->o.conf;
    struct fetcher_config config = {
        .fetch_bytes_max = conf->fetch_message_bytes_max,
        .fetch_bytes_min = conf->fetch_bytes_min,
        .fetch_wait_max_ms = conf->fetch_wait_ms_max,
        .backoff_ms = conf->refresh_leader_backoff_ms > 0 ? conf->refresh_leader_backoff_ms : 1,
        .stuck_backoff_ms = 1000,
        .answer_bytes_max = f->answer_bytes_max,
        .reset = conf->offset_reset == CONF_RESET_SMALLEST  ? FETCHER_RESET_SMALLEST
                 : conf->offset_reset == CONF_RESET_LARGEST ? FETCHER_RESET_LARGEST
                                                            : FETCHER_RESET_ERROR,
    };
    struct source *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->fetching = f;
    s->broker_id = l->broker_id;
    s->index = index;
    s->port = l->port;
    s->host = strdup(l->host);
    s->fetcher = fetcher_new(&config);
    s->timer = evtimer_new(f->o.base, on_turn, s);
    s->send_failed = event_new(f->o.base, -1, 0, on_send_failed, s);
    if (s->host)
        s->connection = connect_to(f, s->host, l->port, (size_t)f->answer_bytes_max);
    if (!s->host || !s->fetcher || !s->timer || !s->send_failed || !s->connection) {
        source_free(s);
        return NULL;
    }
    s->next = f->sources;
    f->sources = s;
    return s;
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
    for (struct source *s = f->sources; s; s = s->next)
        if (s->broker_id == l->broker_id && s->index == index && s->port == l->port &&
            strcmp(s->host, l->host) == 0)
            return s;
    return source_new(f, l, index);
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
                                           .tag = (uint64_t)(h - f->held),
                                           .sink = (uint64_t)(uintptr_t)h->sink,
                                           .sink_has_room = sink_has_room(h->sink),
                                           .is_paused = h->is_paused}};
        source_feed(h->source, &in);
    }
    sweep(f);
}

/* ---- leaders ---- */

static void question_end(struct fetching *f, const char *failure, const struct group_leader *list,
                         size_t count)
{
    struct question q = f->question;
    f->question.connection = NULL;
    f->question.fn = NULL;
    broker_connection_close(q.connection);
    if (q.fn)
        q.fn(q.seq, failure, list, count, q.user);
}

static const struct metadata_broker *broker_of(const struct metadata_response *m, int32_t id)
{
    for (size_t i = 0; i < m->brokers_count; i++)
        if (m->brokers[i].node_id == id)
            return &m->brokers[i];
    return NULL;
}

static char *arena_text(struct arena *arena, struct bytes b)
{
    char *text = arena_alloc(arena, b.len + 1);
    if (text && b.len)
        memcpy(text, b.data, b.len);
    return text;
}

/* The leaders that an answer names, in the arena. */
static struct group_leader *leaders_of(struct fetching *f, const struct metadata_response *m,
                                       size_t *count)
{
    size_t total = 0;
    for (size_t i = 0; i < m->topics_count; i++)
        total += m->topics[i].partitions_count;
    struct group_leader *list = arena_alloc_array(&f->arena, total, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < m->topics_count; i++) {
        const char *topic = arena_text(&f->arena, m->topics[i].name);
        for (size_t k = 0; topic && k < m->topics[i].partitions_count; k++) {
            const struct metadata_partition *p = &m->topics[i].partitions[k];
            const struct metadata_broker *b = broker_of(m, p->leader_id);
            if (!b || !b->host.data)
                continue;
            const char *host = arena_text(&f->arena, b->host);
            if (host)
                list[(*count)++] =
                    (struct group_leader){topic, p->partition_index, p->leader_id, host, b->port};
        }
    }
    return f->arena.failed ? NULL : list;
}

static void metadata_answered(enum zkc_err err, struct frame *frame, struct bytes body,
                              const char *text, void *user)
{
    (void)frame;
    struct fetching *f = user;
    if (!f->question.fn || err == ZKC_ERR_CLOSED)
        return;
    if (err) {
        question_end(f, text, NULL, 0);
        return;
    }
    struct wire_codec c;
    struct metadata_response m = {0};
    char reason[WIRE_REASON_SIZE + 128];
    arena_clear(&f->arena);
    wire_codec_read(&c, 0, body, &f->arena);
    metadata_response_fields(&c, &m);
    size_t count = 0;
    struct group_leader *list = NULL;
    if (wire_codec_end(&c) == ZKC_OK)
        list = leaders_of(f, &m, &count);
    snprintf(reason, sizeof reason, "metadata of %s: %s",
             broker_connection_name(f->question.connection),
             c.reason[0] ? c.reason : "out of memory");
    question_end(f, list ? NULL : reason, list, count);
}

static void question_failed(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct fetching *f = arg;
    if (f->question.fn)
        question_end(f, "the question could not be sent: out of memory or descriptors", NULL, 0);
}

static enum zkc_err send_question(struct fetching *f, const char *host, int32_t port,
                                  const char *const *topics, size_t topic_count)
{
    struct wire_codec c;
    struct metadata_request m = {0};
    arena_clear(&f->arena);
    buf_clear(&f->request);
    m.topics = arena_alloc_array(&f->arena, topic_count, sizeof *m.topics);
    if (!m.topics)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < topic_count; i++)
        m.topics[m.topics_count++].name = bytes_of_text(topics[i]);
    wire_codec_write(&c, 0, &f->request);
    metadata_request_fields(&c, &m);
    enum zkc_err err = wire_codec_end(&c);
    if (!err) {
        f->question.connection = connect_to(f, host, port, METADATA_BYTES_MAX);
        err = f->question.connection ? ZKC_OK : ZKC_ERR_NOMEM;
    }
    if (!err)
        err = broker_connection_send(f->question.connection, API_METADATA, 0,
                                     buf_bytes(&f->request), metadata_answered, f);
    return err;
}

void fetching_ask(struct fetching *f, uint32_t seq, const char *host, int32_t port,
                  const char *const *topics, size_t topic_count, fetching_metadata_fn *fn,
                  void *user)
{
    if (f->question.connection) { /* nobody waits for that answer any more */
        f->question.fn = NULL;
        question_end(f, NULL, NULL, 0);
    }
    f->question.seq = seq;
    f->question.fn = fn;
    f->question.user = user;
    if (send_question(f, host, port, topics, topic_count))
        event_active(f->question.later, EV_TIMEOUT, 1);
}

/* ---- holding and letting go ---- */

static bool hold(struct fetching *f, struct held *h, const struct zkc_owned *o)
{
    zkc_stream *stream = stream_find(f->o.hub, o->topic, o->stream);
    if (!stream)
        return false;
    *h = (struct held){.topic = zkc_stream_topic(stream),
                       .partition = o->partition,
                       .thread = o->stream,
                       .sink = sink_of(f, stream),
                       .from = FETCHER_FROM_OFFSET,
                       .offset = o->offset,
                       .high_watermark = -1};
    if (o->offset == ZKC_OFFSET_BEGINNING)
        h->from = FETCHER_FROM_EARLIEST;
    else if (o->offset == FETCHING_END)
        h->from = FETCHER_FROM_LATEST;
    else if (o->offset < 0)
        h->from = FETCHER_FROM_RESET;
    h->claim = claim_new(stream, o->partition, o->offset < 0 ? -1 : o->offset,
                         tracing_wants_deliveries(f->o.tracing));
    return h->sink && h->claim;
}

enum zkc_err fetching_hold(struct fetching *f, const struct zkc_owned *list, size_t count)
{
    assert(f->held_count == 0);
    free(f->held);
    free(f->owned);
    f->held = calloc(count + 1, sizeof *f->held);
    f->owned = calloc(count + 1, sizeof *f->owned);
    if (!f->held || !f->owned)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        if (!hold(f, &f->held[i], &list[i])) {
            for (size_t k = 0; k <= i; k++)
                claim_unref(f->held[k].claim);
            return ZKC_ERR_NOMEM;
        }
    f->held_count = count;
    for (size_t i = 0; i < count; i++)
        tracing_own_begin(f->o.tracing, f->held[i].topic, f->held[i].partition, list[i].offset);
    if (count == 0)
        sweep(f);
    return ZKC_OK;
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
    tracing_own_end(f->o.tracing, h->topic, h->partition, why);
}

void fetching_stop(struct fetching *f, enum gate_state gates, const char *why,
                   struct zkc_owned **list, size_t *count)
{
    for (size_t i = 0; i < f->held_count; i++) {
        struct held *h = &f->held[i];
        let_go(f, h, gates, why);
        f->owned[i] = (struct zkc_owned){h->topic, h->partition, h->thread, h->position};
    }
    for (size_t i = 0; i < f->held_count; i++)
        claim_unref(f->held[i].claim);
    *list = f->owned;
    *count = f->held_count;
    f->held_count = 0;
    forget_lost(f);
    for (size_t i = 0; i < f->sink_count; i++) {
        stream_drop_closed(f->sinks[i]->stream);
        sink_drain(f->sinks[i]);
    }
    tell_rooms(f);
}

void fetching_owned(struct fetching *f, struct zkc_owned **list, size_t *count)
{
    for (size_t i = 0; i < f->held_count; i++) {
        const struct held *h = &f->held[i];
        f->owned[i] = (struct zkc_owned){h->topic, h->partition, h->thread, held_position(h)};
    }
    *list = f->owned;
    *count = f->held_count;
}

/* ---- calls of the application ---- */

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
    if (h->source && fetcher_status(h->source->fetcher, tp, &status) && status.high_watermark >= 0)
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

static void drop_queued(struct fetching *f, struct held *h)
{
    stream_drop_closed(h->sink->stream);
    sink_drain(h->sink);
    tell_rooms(f);
}

/* Ends the claim and makes a new one at h->from, h->offset. */
static enum zkc_err renew_claim(struct fetching *f, struct held *h)
{
    int64_t position = h->from == FETCHER_FROM_OFFSET ? h->offset : -1;
    struct claim *claim =
        claim_new(h->sink->stream, h->partition, position, tracing_wants_deliveries(f->o.tracing));
    if (!claim)
        return ZKC_ERR_NOMEM;
    claim_close(h->claim, GATE_REVOKED);
    tracing_deliveries(f->o.tracing, h->claim);
    claim_unref(h->claim);
    h->claim = claim;
    return ZKC_OK;
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
    if (!h->is_paused) {
        enum zkc_err err = renew_claim(f, h);
        if (err) {
            h->from = before.from;
            h->offset = before.offset;
            return err;
        }
        drop_queued(f, h);
    }
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
    h->is_paused = true;
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
    struct claim *claim = claim_new(h->sink->stream, h->partition, h->position,
                                    tracing_wants_deliveries(f->o.tracing));
    if (!claim)
        return ZKC_ERR_NOMEM;
    claim_unref(h->claim);
    h->claim = claim;
    h->is_paused = false;
    feed_one(h, FETCHER_IN_RESUME);
    return ZKC_OK;
}

void fetching_trace_deliveries(struct fetching *f)
{
    for (size_t i = 0; i < f->held_count; i++)
        tracing_deliveries(f->o.tracing, f->held[i].claim);
}

/* ---- statistics ---- */

static void source_stats(const struct source *s, struct json *j)
{
    struct broker_connection_stats b;
    broker_connection_stats(s->connection, &b);
    json_object_begin(j, NULL);
    json_int(j, "id", s->broker_id);
    json_int(j, "fetcher", s->index);
    json_text(j, "address", broker_connection_name(s->connection));
    json_bool(j, "connected", b.is_connected);
    json_int(j, "partitions", (int64_t)fetcher_partition_count(s->fetcher));
    json_int(j, "connects", (int64_t)b.connects);
    json_int(j, "connect_failures", (int64_t)b.connect_failures);
    json_int(j, "requests", (int64_t)b.requests);
    json_int(j, "responses", (int64_t)b.responses);
    json_int(j, "bytes_sent", (int64_t)b.bytes_sent);
    json_int(j, "bytes_received", (int64_t)b.bytes_received);
    json_object_end(j);
}

static void held_stats(const struct held *h, struct json *j)
{
    int64_t position = held_position(h), end = log_end(h);
    json_object_begin(j, NULL);
    json_text(j, "topic", h->topic);
    json_int(j, "partition", h->partition);
    json_int(j, "stream", h->thread);
    json_int(j, "leader", h->source ? h->source->broker_id : -1);
    json_bool(j, "paused", h->is_paused);
    json_int(j, "position", position);
    json_int(j, "log_end", end);
    json_int(j, "lag", position >= 0 && end >= 0 ? end - position : -1);
    json_object_end(j);
}

void fetching_stats(struct fetching *f, struct json *j)
{
    json_list_begin(j, "brokers");
    for (const struct source *s = f->sources; s; s = s->next)
        source_stats(s, j);
    json_list_end(j);
    json_list_begin(j, "partitions");
    for (size_t i = 0; i < f->held_count; i++)
        held_stats(&f->held[i], j);
    json_list_end(j);
}

/* ---- birth and death ---- */

struct fetching *fetching_new(const struct fetching_options *options)
{
    struct fetching *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->o = *options;
    f->answer_bytes_max = ANSWER_BYTES_MAX;
    if (f->answer_bytes_max < (int64_t)options->conf->fetch_message_bytes_max + 65536)
        f->answer_bytes_max = (int64_t)options->conf->fetch_message_bytes_max + 65536;
    rng_init(&f->rng, options->seed);
    arena_init(&f->arena, ARENA_BYTES_MAX);
    buf_init(&f->request, REQUEST_BYTES_MAX);
    f->tell_lost = event_new(options->base, -1, 0, tell_lost, f);
    f->question.later = event_new(options->base, -1, 0, question_failed, f);
    if (!f->tell_lost || !f->question.later) {
        fetching_free(f);
        return NULL;
    }
    return f;
}

void fetching_free(struct fetching *f)
{
    if (!f)
        return;
    f->question.fn = NULL;
    if (f->question.connection)
        question_end(f, NULL, NULL, 0);
    for (size_t i = 0; i < f->held_count; i++) {
        claim_close(f->held[i].claim, GATE_REVOKED);
        claim_unref(f->held[i].claim);
    }
    free(f->held);
    while (f->sources) {
        struct source *s = f->sources;
        f->sources = s->next;
        source_free(s);
    }
    for (size_t i = 0; i < f->sink_count; i++) {
        for (struct waiting *w = f->sinks[i]->first, *next; w; w = next) {
            next = w->next;
            free_waiting(w);
        }
        free(f->sinks[i]);
    }
    free(f->sinks);
    forget_lost(f);
    free(f->lost);
    free(f->owned);
    free(f->entries);
    arena_deinit(&f->arena);
    buf_deinit(&f->request);
    if (f->tell_lost)
        event_free(f->tell_lost);
    if (f->question.later)
        event_free(f->question.later);
    free(f);
}
