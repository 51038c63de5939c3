/* A chunk's way: stream_push() puts it into the ring (loop), next_chunk() takes it out and makes it
 * the current one (taking thread, one lock), next_message() hands out its messages (no lock), the
 * call after the last one releases it. Whatever becomes of its claim meanwhile is the gate's word:
 * a closed claim's chunks leave the ring by stream_drop_closed() or when they are taken, and the
 * current one at the next message. */
#include "zkconsumer/consumer/stream.h"
#include "zkconsumer/consumer/loop.h"
#include "zkconsumer/core/base/topic_partition.h"
#include "zkconsumer/core/wire/message_set.h"
#include <assert.h>
#include <event2/event.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define NOTICES_MAX       8
#define BATCH_MAX_DEFAULT 256
#define NOMEM_PAUSE_MS    100 /* callback mode: before the same message is tried again */

/* Not of enum zkc_err. */
#define TAKE_PENDING 1 /* nothing to return yet */
#define TAKE_MESSAGE 2 /* a message stands in `current`, to be passed through the gate */

/* What the taking thread tells the loop: on_skip, on_bad. */
struct notice {
    struct claim *claim;
    bool is_skip;
    int64_t position; /* on_skip */
    int64_t offset;   /* on_skip: where the chunk begins */
    char *text;       /* on_bad; owned; NULL: no memory for it */
};

struct queued {
    struct claim *claim;
    int64_t fetch_offset;
    int64_t high_watermark;
    struct bytes records;
    struct chunk_buffer buffer;
    enum zkc_err err;
    char *text; /* owned; may be NULL in a report, too */
};

/* The chunk being iterated, the taking thread's own. */
struct current {
    bool is_active;
    struct queued chunk;
    struct message_iter iter;
    struct message_view message; /* read last */
    bool is_held;                /* the lease did not let it through: it is the next one still */
};

struct zkc_stream {
    struct stream_hub *hub;
    char *topic;
    int32_t index;

    /* Under the hub's lock. */
    struct queued *ring;
    size_t head, count;
    size_t queued_bytes;
    uint64_t fetched_bytes;
    int64_t offered_ms; /* since when there has been something for the application, if there is */
    bool wants_room;
    pthread_cond_t came;
    unsigned waiters;
    int fd; /* -1: not asked for yet */
    bool is_fd_set;
    struct notice notices[NOTICES_MAX];
    size_t notice_count;

    /* The taking thread's. */
    struct current current;
    char *report;         /* text of the report handed out last; owned */
    int64_t in_hand_next; /* asking for the next finishes the current claim up to here; -1 */
    bool owes_drained;    /* it has, and whether the loop waits for that was not looked at yet */

    /* Written by the taking thread only, read by any. */
    _Atomic uint64_t messages, bytes, reports;
    _Atomic uint64_t late;     /* messages handed out after the lease's end: GATE_LATE */
    _Atomic int64_t polled_ms; /* when the last call of the application ended */
    atomic_bool is_holding;    /* it has taken something that it is not known to be done with */
    atomic_bool is_drained;    /* on_drained is to be called */

    /* The loop's. */
    struct loop_item told; /* room, notices, drained */
    struct loop_item pump; /* callback mode */
    struct event *again;   /* callback mode, after a lack of memory */
    zkc_message_fn *on_message;
    void *on_message_user;
    unsigned batch_max;
};

struct stream_hub {
    struct stream_hub_options options;

    pthread_mutex_t lock; /* of all below and of the parts of the streams named above */
    zkc_stream **streams;
    size_t stream_count;
    bool is_ended;
    enum zkc_err failure;
    pthread_cond_t any; /* zkc_consumer_next() waits for any stream */
    unsigned any_waiters;

    size_t turn;

    bool is_fenced;            /* somebody waits for a lease; under the lock */
    _Atomic int64_t polled_ms; /* when the last zkc_consumer_next() ended */
    atomic_bool poll_wanted;
    struct loop_item polled; /* on_polled */

    bool is_shared; /* each stream takes from all topics; the loop's */
    char **topics;  /* stream_hub_topic(), sorted; the loop's */
    size_t topic_count, topic_cap;

    zkc_stream *taking; /* whose chunk zkc_consumer_next() is in; that taking thread's */
};

static void notice_release(struct notice *notice)
{
    claim_unref(notice->claim);
    free(notice->text);
}

static void queued_release(struct queued *chunk)
{
    if (chunk->buffer.release)
        chunk->buffer.release(chunk->buffer.owner);
    claim_unref(chunk->claim);
    free(chunk->text);
    *chunk = (struct queued){0};
}

/* ---- life ---- */

static void run_polled(void *arg)
{
    struct stream_hub *hub = arg;
    if (hub->options.on_polled)
        hub->options.on_polled(hub->options.user);
}

struct stream_hub *stream_hub_new(const struct stream_hub_options *options)
{
    assert(options->chunks_max > 0);
    struct stream_hub *hub = calloc(1, sizeof *hub);
    if (!hub)
        return NULL;
    hub->options = *options;
    if (!hub->options.now_ms)
        hub->options.now_ms = loop_now_ms;
    pthread_mutex_init(&hub->lock, NULL);
    loop_cond_init(&hub->any);
    loop_item_init(&hub->polled, run_polled, hub);
    return hub;
}

/* The application has finished what it had of the current claim: tells the loop, if it waits. */
static void tell_drained(zkc_stream *s)
{
    if (s->owes_drained && claim_hears_finished(s->current.chunk.claim))
        stream_tell_drained(s);
    s->owes_drained = false;
}

static void current_end(zkc_stream *s)
{
    if (!s->current.is_active)
        return;
    tell_drained(s);
    message_iter_deinit(&s->current.iter);
    queued_release(&s->current.chunk);
    s->current.is_active = s->current.is_held = false;
}

static void stream_free(zkc_stream *s)
{
    zkc_loop *loop = s->hub->options.loop;
    loop_cancel(loop, &s->told);
    loop_cancel(loop, &s->pump);
    if (s->again)
        event_free(s->again);
    current_end(s);
    for (; s->count; s->count--, s->head = (s->head + 1) % s->hub->options.chunks_max)
        queued_release(&s->ring[s->head]);
    for (size_t i = 0; i < s->notice_count; i++)
        notice_release(&s->notices[i]);
    if (s->fd >= 0)
        close(s->fd);
    pthread_cond_destroy(&s->came);
    free(s->report);
    free(s->ring);
    free(s->topic);
    free(s);
}

void stream_hub_free(struct stream_hub *hub)
{
    if (!hub)
        return;
    loop_cancel(hub->options.loop, &hub->polled);
    for (size_t i = 0; i < hub->stream_count; i++)
        stream_free(hub->streams[i]);
    free(hub->streams);
    for (size_t i = 0; i < hub->topic_count; i++)
        free(hub->topics[i]);
    free(hub->topics);
    pthread_cond_destroy(&hub->any);
    pthread_mutex_destroy(&hub->lock);
    free(hub);
}

static void run_told(void *arg);
static void run_pump(void *arg);

/* The list is replaced under the lock: a taking thread may be walking it. */
static bool add_to_hub(struct stream_hub *hub, zkc_stream *s)
{
    pthread_mutex_lock(&hub->lock);
    zkc_stream **list = realloc(hub->streams, (hub->stream_count + 1) * sizeof(zkc_stream *));
    if (list) {
        hub->streams = list;
        hub->streams[hub->stream_count++] = s;
    }
    pthread_mutex_unlock(&hub->lock);
    return list != NULL;
}

zkc_stream *stream_new(struct stream_hub *hub, const char *topic, int32_t index)
{
    zkc_stream *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->hub = hub;
    s->index = index;
    s->fd = -1;
    s->in_hand_next = -1;
    s->topic = strdup(topic);
    s->ring = calloc(hub->options.chunks_max, sizeof *s->ring);
    loop_cond_init(&s->came);
    loop_item_init(&s->told, run_told, s);
    loop_item_init(&s->pump, run_pump, s);
    if (!s->topic || !s->ring || !add_to_hub(hub, s)) {
        stream_free(s);
        return NULL;
    }
    return s;
}

void stream_hub_share(struct stream_hub *hub)
{
    hub->is_shared = true;
}

/* Where the name stands among the topics, or belongs. */
static size_t topic_position(const struct stream_hub *hub, const char *name)
{
    size_t lo = 0, hi = hub->topic_count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (strcmp(hub->topics[mid], name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const char *stream_hub_topic(struct stream_hub *hub, const char *name)
{
    size_t at = topic_position(hub, name);
    if (at < hub->topic_count && strcmp(hub->topics[at], name) == 0)
        return hub->topics[at];
    if (hub->topic_count == hub->topic_cap) {
        size_t cap = hub->topic_cap ? hub->topic_cap * 2 : 8;
        char **topics = realloc(hub->topics, cap * sizeof *topics);
        if (!topics)
            return NULL;
        hub->topics = topics;
        hub->topic_cap = cap;
    }
    char *topic = strdup(name);
    if (!topic)
        return NULL;
    memmove(&hub->topics[at + 1], &hub->topics[at], (hub->topic_count - at) * sizeof *hub->topics);
    hub->topics[at] = topic;
    hub->topic_count++;
    return topic;
}

static bool is_stream(const zkc_stream *s, const char *topic, int32_t index)
{
    return s->index == index && (s->hub->is_shared || (topic && strcmp(s->topic, topic) == 0));
}

zkc_stream *stream_find(struct stream_hub *hub, const char *topic, int32_t index)
{
    zkc_stream *found = NULL;
    pthread_mutex_lock(&hub->lock);
    for (size_t i = 0; i < hub->stream_count && !found; i++)
        if (is_stream(hub->streams[i], topic, index))
            found = hub->streams[i];
    pthread_mutex_unlock(&hub->lock);
    return found;
}

void stream_hub_each(struct stream_hub *hub, stream_fn *fn, void *user)
{
    for (size_t i = 0; i < hub->stream_count; i++) /* only the loop's thread adds any */
        fn(hub->streams[i], user);
}

const char *zkc_stream_topic(const zkc_stream *stream)
{
    return stream->topic;
}
int zkc_stream_index(const zkc_stream *stream)
{
    return stream->index;
}

/* ---- the loop's side ---- */

/* Something may be there to take: wakes whoever takes. Under the lock. */
static void wake_taker(zkc_stream *s)
{
    if (s->waiters)
        pthread_cond_signal(&s->came);
    if (s->hub->any_waiters)
        pthread_cond_signal(&s->hub->any);
    if (s->fd >= 0 && !s->is_fd_set)
        s->is_fd_set = eventfd_write(s->fd, 1) == 0;
    if (s->on_message)
        loop_post(s->hub->options.loop, &s->pump);
}

/* There is nothing that the application could take or be done with. Under the lock. */
static bool has_nothing(const zkc_stream *s)
{
    return !s->count && !atomic_load(&s->is_holding);
}

size_t stream_room(zkc_stream *s)
{
    struct stream_hub *hub = s->hub;
    pthread_mutex_lock(&hub->lock);
    size_t room = hub->options.chunks_max - s->count;
    if (!room)
        s->wants_room = true;
    pthread_mutex_unlock(&hub->lock);
    return room;
}

bool stream_push(zkc_stream *s, const struct chunk *chunk)
{
    struct stream_hub *hub = s->hub;
    struct queued queued = {
        .claim = claim_ref(chunk->claim),
        .fetch_offset = chunk->fetch_offset,
        .high_watermark = chunk->high_watermark,
        .records = chunk->records,
        .buffer = chunk->buffer,
        .err = chunk->err,
        .text = chunk->text ? strdup(chunk->text) : NULL, /* NULL will do: see hand_out_report() */
    };
    pthread_mutex_lock(&hub->lock);
    bool is_full = s->count == hub->options.chunks_max;
    bool is_wanted = !hub->is_ended && !gate_is_closed(&queued.claim->gate);
    if (is_full && is_wanted) {
        s->wants_room = true;
    } else if (is_wanted) {
        if (has_nothing(s))
            s->offered_ms = hub->options.now_ms();
        s->ring[(s->head + s->count++) % hub->options.chunks_max] = queued;
        s->queued_bytes += queued.records.len;
        s->fetched_bytes += queued.records.len;
        wake_taker(s);
    }
    pthread_mutex_unlock(&hub->lock);
    if (!is_wanted) {
        queued_release(&queued);
    } else if (is_full) {
        queued.buffer.release = NULL;
        queued_release(&queued);
        return false;
    }
    return true;
}

/* Takes the oldest chunk out. Under the lock. */
static struct queued pop(zkc_stream *s)
{
    struct queued chunk = s->ring[s->head];
    s->head = (s->head + 1) % s->hub->options.chunks_max;
    s->count--;
    s->queued_bytes -= chunk.records.len;
    return chunk;
}

/* Takes out what is queued of closed claims, or everything; under the lock. */
static size_t drop(zkc_stream *s, bool everything)
{
    size_t count = s->count, dropped = 0;
    for (size_t i = 0; i < count; i++) {
        struct queued chunk = pop(s);
        if (everything || gate_is_closed(&chunk.claim->gate)) {
            queued_release(&chunk);
            dropped++;
        } else {
            s->ring[(s->head + s->count++) % s->hub->options.chunks_max] = chunk;
            s->queued_bytes += chunk.records.len;
        }
    }
    return dropped;
}

size_t stream_drop_closed(zkc_stream *s)
{
    pthread_mutex_lock(&s->hub->lock);
    size_t dropped = drop(s, false);
    bool is_room_wanted = s->wants_room && dropped;
    pthread_mutex_unlock(&s->hub->lock);
    if (is_room_wanted)
        loop_post(s->hub->options.loop, &s->told);
    return dropped;
}

void stream_hub_end(struct stream_hub *hub)
{
    pthread_mutex_lock(&hub->lock);
    hub->is_ended = true;
    for (size_t i = 0; i < hub->stream_count; i++) {
        zkc_stream *s = hub->streams[i];
        drop(s, true);
        wake_taker(s);
    }
    pthread_cond_broadcast(&hub->any);
    pthread_mutex_unlock(&hub->lock);
}

void stream_hub_set_failure(struct stream_hub *hub, enum zkc_err err)
{
    pthread_mutex_lock(&hub->lock);
    hub->failure = err;
    for (size_t i = 0; err && i < hub->stream_count; i++)
        wake_taker(hub->streams[i]);
    pthread_cond_broadcast(&hub->any);
    pthread_mutex_unlock(&hub->lock);
}

void stream_hub_look_again(struct stream_hub *hub)
{
    pthread_mutex_lock(&hub->lock);
    for (size_t i = 0; hub->is_fenced && i < hub->stream_count; i++)
        wake_taker(hub->streams[i]);
    if (hub->is_fenced)
        pthread_cond_broadcast(&hub->any);
    hub->is_fenced = false;
    pthread_mutex_unlock(&hub->lock);
}

/* Under the lock. */
static int64_t polled_ms(const zkc_stream *s, int64_t now_ms)
{
    int64_t at = atomic_load(&s->polled_ms);
    if (s->waiters || s->on_message || has_nothing(s))
        return now_ms;
    return at > s->offered_ms ? at : s->offered_ms;
}

int64_t stream_hub_polled_ms(struct stream_hub *hub, int64_t now_ms)
{
    pthread_mutex_lock(&hub->lock);
    int64_t asked_ms = hub->any_waiters ? now_ms : atomic_load(&hub->polled_ms);
    int64_t first_ms = now_ms;
    for (size_t i = 0; i < hub->stream_count; i++) {
        int64_t at = polled_ms(hub->streams[i], now_ms);
        first_ms = at < first_ms ? at : first_ms;
    }
    pthread_mutex_unlock(&hub->lock);
    return asked_ms > first_ms ? asked_ms : first_ms;
}

void stream_hub_want_poll(struct stream_hub *hub)
{
    atomic_store(&hub->poll_wanted, true);
    pthread_mutex_lock(&hub->lock);
    bool is_asking = hub->any_waiters;
    for (size_t i = 0; i < hub->stream_count; i++)
        is_asking = is_asking || hub->streams[i]->waiters || hub->streams[i]->on_message;
    pthread_mutex_unlock(&hub->lock);
    if (is_asking && atomic_exchange(&hub->poll_wanted, false))
        loop_post(hub->options.loop, &hub->polled);
}

static void run_told(void *arg)
{
    zkc_stream *s = arg;
    struct stream_hub *hub = s->hub;
    struct notice notices[NOTICES_MAX];
    pthread_mutex_lock(&hub->lock);
    size_t count = s->notice_count;
    memcpy(notices, s->notices, count * sizeof *notices);
    s->notice_count = 0;
    bool has_room = s->wants_room && s->count < hub->options.chunks_max;
    if (has_room)
        s->wants_room = false;
    pthread_mutex_unlock(&hub->lock);

    for (size_t i = 0; i < count; i++) {
        struct notice *n = &notices[i];
        if (n->is_skip && hub->options.on_skip)
            hub->options.on_skip(n->claim, n->position, n->offset, hub->options.user);
        if (!n->is_skip && hub->options.on_bad)
            hub->options.on_bad(n->claim, n->offset, n->text ? n->text : "out of memory",
                                hub->options.user);
        notice_release(n);
    }
    if (has_room && hub->options.on_room)
        hub->options.on_room(s, hub->options.user);
    if (atomic_exchange(&s->is_drained, false) && hub->options.on_drained)
        hub->options.on_drained(s, hub->options.user);
}

void stream_count(zkc_stream *s, struct stream_counts *out)
{
    pthread_mutex_lock(&s->hub->lock);
    out->chunks = s->count;
    out->chunk_bytes = s->queued_bytes;
    out->fetched_bytes = s->fetched_bytes;
    pthread_mutex_unlock(&s->hub->lock);
    out->messages = atomic_load_explicit(&s->messages, memory_order_relaxed);
    out->bytes = atomic_load_explicit(&s->bytes, memory_order_relaxed);
    out->reports = atomic_load_explicit(&s->reports, memory_order_relaxed);
    out->late = atomic_load_explicit(&s->late, memory_order_relaxed);
}

/* ---- the taking thread ---- */

/* Only this thread writes them, so no locked instruction is needed. */
static inline void add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

void stream_tell_drained(zkc_stream *s)
{
    atomic_store(&s->is_drained, true);
    loop_post(s->hub->options.loop, &s->told);
}

/* Something of the current claim goes into the application's hands, which is done with everything
 * below `next` when it asks for more. */
static void into_hands(zkc_stream *s, int64_t next)
{
    if (s->current.chunk.claim->lease && s->hub->options.done_by != STREAM_DONE_ACKNOWLEDGED)
        s->in_hand_next = next;
}

/* Each call ends with a message that passes the gate of the same claim, or with tell_drained(). */
static void finish_in_hand(zkc_stream *s)
{
    if (s->in_hand_next < 0)
        return;
    claim_finish_last(s->current.chunk.claim, s->in_hand_next);
    s->in_hand_next = -1;
    s->owes_drained = true;
}

/* The application asks: every call of the taking thread begins with it. */
static void begin_poll(struct stream_hub *hub, zkc_stream *s)
{
    if (s)
        finish_in_hand(s);
    if (atomic_load_explicit(&hub->poll_wanted, memory_order_relaxed) &&
        atomic_exchange(&hub->poll_wanted, false))
        loop_post(hub->options.loop, &hub->polled);
}

/* Every call ends with it; a message that is handed out has noted the time. */
static void note_poll(zkc_stream *s, int64_t at_ms)
{
    atomic_store_explicit(&s->polled_ms, at_ms, memory_order_relaxed);
}

static void end_poll(zkc_stream *s, int result)
{
    if (result != ZKC_OK)
        note_poll(s, s->hub->options.now_ms());
    tell_drained(s);
    atomic_store_explicit(&s->is_holding, s->current.is_active, memory_order_relaxed);
}

/* Leaves a notice for the loop, taking over what it holds. When it has eight of this stream to
 * read, more are not kept: what the application must know has been handed out to it. */
static void tell_loop_take(zkc_stream *s, struct notice *notice)
{
    pthread_mutex_lock(&s->hub->lock);
    bool is_kept = s->notice_count < NOTICES_MAX;
    if (is_kept)
        s->notices[s->notice_count++] = *notice;
    pthread_mutex_unlock(&s->hub->lock);
    if (!is_kept)
        notice_release(notice);
    loop_post(s->hub->options.loop, &s->told);
}

/* A report instead of a message; takes over `text` (NULL: the error's own words). */
static void hand_out_report(zkc_stream *s, const struct queued *chunk, enum zkc_err err,
                            int64_t offset, char *text, struct zkc_message *out)
{
    free(s->report);
    s->report = text;
    const char *value = text ? text : zkc_err_text(err);
    *out = (struct zkc_message){
        .topic = chunk->claim->topic,
        .partition = chunk->claim->partition,
        .offset = offset,
        .value = value,
        .value_len = strlen(value),
        .high_watermark = chunk->high_watermark,
        .err = err,
    };
    note_poll(s, s->hub->options.now_ms());
    add(&s->reports, 1);
}

static char *fault_text(const zkc_stream *s, int64_t offset, const char *what)
{
    char text[TOPIC_NAME_MAX + 320];
    snprintf(text, sizeof text, "[%s,%" PRId32 "] offset %" PRId64 ": %s",
             s->current.chunk.claim->topic, s->current.chunk.claim->partition, offset, what);
    return strdup(text);
}

/* Reports data that is no message, if it is anybody's business: true. */
static bool report_fault(zkc_stream *s, enum zkc_err err, int64_t offset, const char *what,
                         struct zkc_message *out)
{
    struct queued *chunk = &s->current.chunk;
    struct gate *gate = &chunk->claim->gate;
    if (gate_is_closed(gate) || (offset >= 0 && offset < gate_position(gate)))
        return false;
    struct notice notice = {
        .claim = claim_ref(chunk->claim), .offset = offset, .text = fault_text(s, offset, what)};
    tell_loop_take(s, &notice);
    hand_out_report(s, chunk, err, offset, fault_text(s, offset, what), out);
    return true;
}

/* A broken message. Once it is reported the position moves past it, unless the offset is itself not
 * to be believed: it stands outside of what the checksum covers. */
static bool report_corrupt(zkc_stream *s, int64_t offset, const char *reason,
                           struct zkc_message *out)
{
    const struct queued *chunk = &s->current.chunk;
    char what[200];
    snprintf(what, sizeof what, "the stored data cannot be read: %s", reason);
    if (!report_fault(s, ZKC_ERR_CORRUPT, offset, what, out))
        return false;
    if (offset >= chunk->fetch_offset && offset < chunk->high_watermark &&
        gate_raise(&chunk->claim->gate, offset + 1) && chunk->claim->lease)
        claim_skip(chunk->claim, offset + 1);
    return true;
}

static bool report_too_large(zkc_stream *s, size_t size_needed, struct zkc_message *out)
{
    size_t fetched = s->current.chunk.records.len;
    char what[160];
    snprintf(what, sizeof what,
             "a message of %zu bytes does not fit into the %zu that were fetched; raise "
             "fetch.message.max.bytes",
             size_needed > fetched ? size_needed : fetched + 1, fetched);
    return report_fault(s, ZKC_ERR_TOO_LARGE, s->current.chunk.fetch_offset, what, out);
}

static void fill(const zkc_stream *s, const struct message_view *m, struct zkc_message *out)
{
    const struct queued *chunk = &s->current.chunk;
    bool is_acknowledged = chunk->claim->lease && s->hub->options.done_by != STREAM_DONE_TAKEN;
    *out = (struct zkc_message){
        .topic = chunk->claim->topic,
        .partition = chunk->claim->partition,
        .offset = m->offset,
        .key = m->key.data,
        .key_len = m->key.len,
        .value = m->value.data,
        .value_len = m->value.len,
        .high_watermark = chunk->high_watermark,
        .claim = is_acknowledged ? chunk->claim : NULL,
    };
}

/* Reads the next message of the current chunk. TAKE_MESSAGE, or what next_message() returns. */
static int read_message(zkc_stream *s, struct zkc_message *out)
{
    struct message_iter *iter = &s->current.iter;
    struct message_view *m = &s->current.message;
    for (;;) {
        switch (message_iter_next(iter, m)) {
        case MESSAGE_ITER_MESSAGE:
            if (m->offset < GATE_POSITION_MAX)
                return TAKE_MESSAGE;
            if (report_corrupt(s, m->offset, "its offset cannot be", out))
                return ZKC_OK;
            continue;
        case MESSAGE_ITER_CORRUPT:
            if (report_corrupt(s, iter->fault.offset, iter->fault.reason, out))
                return ZKC_OK;
            continue;
        case MESSAGE_ITER_TOO_LARGE: {
            bool is_reported = report_too_large(s, iter->fault.size_needed, out);
            current_end(s);
            return is_reported ? ZKC_OK : TAKE_PENDING;
        }
        case MESSAGE_ITER_NOMEM: return ZKC_ERR_NOMEM;
        case MESSAGE_ITER_END:
        case MESSAGE_ITER_PARTIAL: current_end(s); return TAKE_PENDING;
        }
    }
}

static void hand_out(zkc_stream *s, struct zkc_message *out)
{
    const struct message_view *m = &s->current.message;
    const struct claim *claim = s->current.chunk.claim;
    s->owes_drained = false; /* see claim_finish_last() */
    fill(s, m, out);
    add(&s->messages, 1);
    add(&s->bytes, m->key.len + m->value.len);
    into_hands(s, m->offset + 1);
    if (claim->lease)
        note_poll(s, claim->passed_ms);
}

/* The gate was closed on a message that was on its way out: now nothing of it is out. */
static void end_closed(zkc_stream *s)
{
    struct claim *claim = s->current.chunk.claim;
    if (claim->lease && claim_hears_finished(claim))
        stream_tell_drained(s);
    current_end(s);
}

/* True when the lease is over still after stream_hub_look_again() was told to wake us. */
static bool wait_for_lease(zkc_stream *s)
{
    s->current.is_held = true;
    pthread_mutex_lock(&s->hub->lock);
    s->hub->is_fenced = true;
    pthread_mutex_unlock(&s->hub->lock);
    return claim_is_fenced(s->current.chunk.claim);
}

/* The next message of the current chunk. TAKE_PENDING: there is no further one, and the chunk has
 * been released; or, while the chunk is still current, its lease is over. */
static int next_message(zkc_stream *s, struct zkc_message *out)
{
    for (;;) {
        int result = s->current.is_held ? TAKE_MESSAGE : read_message(s, out);
        if (result != TAKE_MESSAGE)
            return result;
        s->current.is_held = false;
        switch (claim_pass(s->current.chunk.claim, s->current.message.offset)) {
        case GATE_LATE: add(&s->late, 1); /* fall through */
        case GATE_PASSED: hand_out(s, out); return ZKC_OK;
        case GATE_BELOW: break; /* a wrapper begins before what was asked for */
        case GATE_CLOSED: end_closed(s); return TAKE_PENDING;
        case GATE_FENCED:
            if (wait_for_lease(s))
                return TAKE_PENDING;
            break;
        }
    }
}

/* The oldest chunk whose claim is open. False: none. */
static bool pop_open(zkc_stream *s, struct queued *out)
{
    bool is_found = false;
    pthread_mutex_lock(&s->hub->lock);
    bool is_room_wanted = s->wants_room && s->count;
    while (s->count && !is_found) {
        *out = pop(s);
        is_found = !gate_is_closed(&out->claim->gate);
        if (!is_found)
            queued_release(out);
    }
    pthread_mutex_unlock(&s->hub->lock);
    if (is_room_wanted)
        loop_post(s->hub->options.loop, &s->told);
    return is_found;
}

static void current_begin(zkc_stream *s, const struct queued *chunk)
{
    struct gate *gate = &chunk->claim->gate;
    int64_t position = gate_position(gate);
    /* ConsumerIterator.makeNext: a chunk above the position moves it up. */
    if (position < chunk->fetch_offset && gate_raise(gate, chunk->fetch_offset) && position >= 0) {
        struct notice notice = {.claim = claim_ref(chunk->claim),
                                .is_skip = true,
                                .position = position,
                                .offset = chunk->fetch_offset};
        tell_loop_take(s, &notice);
    }
    if (chunk->claim->lease && position < chunk->fetch_offset)
        claim_skip(chunk->claim, chunk->fetch_offset);
    struct message_iter_limits limits = {.decompressed_bytes_max =
                                             s->hub->options.decompressed_bytes_max};
    s->current.chunk = *chunk;
    s->current.is_active = true;
    message_iter_init(&s->current.iter, chunk->records, &limits);
}

/* What can be had without waiting. TAKE_PENDING: nothing. */
static int take(zkc_stream *s, struct zkc_message *out)
{
    for (;;) {
        if (s->current.is_active) {
            int result = next_message(s, out);
            if (result != TAKE_PENDING || s->current.is_active)
                return result;
        }
        struct queued chunk;
        if (!pop_open(s, &chunk))
            return TAKE_PENDING;
        if (chunk.err) {
            hand_out_report(s, &chunk, chunk.err, chunk.fetch_offset, chunk.text, out);
            chunk.text = NULL;
            queued_release(&chunk);
            return ZKC_OK;
        }
        current_begin(s, &chunk);
    }
}

/* ---- waiting ---- */

struct waiting {
    int timeout_ms;
    int64_t deadline_ns; /* -1: none; set at the first wait */
    bool has_begun;
};

static struct waiting waiting_of(const struct stream_hub *hub, int timeout_ms)
{
    return (struct waiting){.timeout_ms =
                                timeout_ms < 0 ? hub->options.consumer_timeout_ms : timeout_ms};
}

/* False: the time is over. Under the lock. */
static bool wait_once(struct stream_hub *hub, struct waiting *w, pthread_cond_t *cond,
                      unsigned *waiters)
{
    if (w->timeout_ms == 0)
        return false;
    if (!w->has_begun) {
        w->has_begun = true;
        w->deadline_ns = w->timeout_ms < 0 ? -1 : loop_now_ns() + (int64_t)w->timeout_ms * 1000000;
    }
    ++*waiters;
    bool is_in_time = loop_cond_wait(cond, &hub->lock, w->deadline_ns);
    --*waiters;
    if (!is_in_time)
        w->timeout_ms = 0; /* one more look, then it is over */
    return true;
}

/* Whether a look is worth while: what the taking thread is in the middle of comes first, and waits
 * for its lease. Taking thread, under the lock. */
static bool has_something(const zkc_stream *s)
{
    const struct claim *claim = s->current.chunk.claim;
    if (s->current.is_active)
        return gate_is_closed(&claim->gate) || !claim_is_fenced(claim);
    return s->count;
}

/* The next stream in turn that has something to take; NULL: none. Under the lock. */
static zkc_stream *next_ready(struct stream_hub *hub)
{
    for (size_t i = 0; i < hub->stream_count; i++) {
        size_t at = (hub->turn + i) % hub->stream_count;
        zkc_stream *s = hub->streams[at];
        if (has_something(s)) {
            hub->turn = at + 1;
            return s;
        }
    }
    return NULL;
}

/* Nothing is there to take: the descriptor says so from now on. Under the lock. */
static void clear_fd(zkc_stream *s)
{
    eventfd_t count;
    if (s->is_fd_set && eventfd_read(s->fd, &count) == 0)
        s->is_fd_set = false;
}

static enum zkc_err state_of(const struct stream_hub *hub)
{
    return hub->is_ended ? ZKC_ERR_END : hub->failure;
}

/* Waits until something is queued: ZKC_OK. */
static enum zkc_err await_one(zkc_stream *s, struct waiting *w)
{
    struct stream_hub *hub = s->hub;
    enum zkc_err err = ZKC_OK;
    pthread_mutex_lock(&hub->lock);
    while (!has_something(s) && !(err = state_of(hub))) {
        clear_fd(s);
        if (w->timeout_ms && zkc_loop_is_current(hub->options.loop))
            err = ZKC_ERR_INVALID;
        else if (!wait_once(hub, w, &s->came, &s->waiters))
            err = ZKC_ERR_TIMED_OUT;
        if (err)
            break;
    }
    pthread_mutex_unlock(&hub->lock);
    return err;
}

/* The same for any stream of the hub, in turn. */
static enum zkc_err await_any(struct stream_hub *hub, struct waiting *w, zkc_stream **out)
{
    enum zkc_err err = ZKC_OK;
    pthread_mutex_lock(&hub->lock);
    while (!(*out = next_ready(hub)) && !(err = state_of(hub))) {
        for (size_t i = 0; i < hub->stream_count; i++)
            clear_fd(hub->streams[i]);
        if (w->timeout_ms && zkc_loop_is_current(hub->options.loop))
            err = ZKC_ERR_INVALID;
        else if (!wait_once(hub, w, &hub->any, &hub->any_waiters))
            err = ZKC_ERR_TIMED_OUT;
        if (err)
            break;
    }
    pthread_mutex_unlock(&hub->lock);
    return err;
}

enum zkc_err zkc_stream_next(zkc_stream *s, int timeout_ms, struct zkc_message *out)
{
    if (loop_is_foreign(s->hub->options.loop))
        return ZKC_ERR_WRONG_PROCESS;
    struct waiting w = waiting_of(s->hub, timeout_ms);
    begin_poll(s->hub, s);
    int result;
    while ((result = take(s, out)) == TAKE_PENDING)
        if ((result = (int)await_one(s, &w)))
            break;
    end_poll(s, result);
    return (enum zkc_err)result;
}

static int hub_take(struct stream_hub *hub, struct waiting *w, struct zkc_message *out)
{
    for (;;) {
        zkc_stream *s = hub->taking;
        int result = s && s->current.is_active ? next_message(s, out) : TAKE_PENDING;
        if (result != TAKE_PENDING)
            return result;
        enum zkc_err err = await_any(hub, w, &hub->taking);
        if (err)
            return (int)err;
        result = take(hub->taking, out);
        if (result != TAKE_PENDING)
            return result;
    }
}

enum zkc_err stream_hub_next(struct stream_hub *hub, int timeout_ms, struct zkc_message *out)
{
    if (loop_is_foreign(hub->options.loop))
        return ZKC_ERR_WRONG_PROCESS;
    struct waiting w = waiting_of(hub, timeout_ms);
    zkc_stream *before = hub->taking;
    begin_poll(hub, before);
    int result = hub_take(hub, &w, out);
    if (before)
        end_poll(before, result);
    if (hub->taking)
        end_poll(hub->taking, result);
    atomic_store(&hub->polled_ms,
                 hub->taking ? atomic_load(&hub->taking->polled_ms) : hub->options.now_ms());
    return (enum zkc_err)result;
}

int zkc_stream_fd(zkc_stream *s)
{
    if (loop_is_foreign(s->hub->options.loop))
        return -1;
    pthread_mutex_lock(&s->hub->lock);
    if (s->fd < 0) {
        /* Readable at first: the taking thread may be in the middle of a chunk. */
        s->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
        s->is_fd_set = s->fd >= 0;
    }
    int fd = s->fd;
    pthread_mutex_unlock(&s->hub->lock);
    return fd;
}

/* ---- callback mode: the loop is the taking thread ---- */

static void pause_pump(zkc_stream *s)
{
    struct timeval pause = {.tv_usec = NOMEM_PAUSE_MS * 1000};
    if (!s->again || event_add(s->again, &pause) < 0)
        loop_post(s->hub->options.loop, &s->pump);
}

static void run_pump(void *arg)
{
    zkc_stream *s = arg;
    for (unsigned n = 0; n < s->batch_max; n++) {
        struct zkc_message message;
        if (!s->on_message || s->hub->is_ended)
            return;
        int result = take(s, &message);
        if (result == TAKE_PENDING)
            return;
        if (result == ZKC_ERR_NOMEM) {
            hand_out_report(s, &s->current.chunk, ZKC_ERR_NOMEM,
                            gate_position(&s->current.chunk.claim->gate), NULL, &message);
            pause_pump(s);
        }
        s->on_message(s, &message, s->on_message_user);
        finish_in_hand(s);
        tell_drained(s);
        if (result == ZKC_ERR_NOMEM)
            return;
    }
    if (s->on_message)
        loop_post(s->hub->options.loop, &s->pump);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    run_pump(arg);
}

void zkc_stream_set_on_message(zkc_stream *s, zkc_message_fn *fn, void *user, unsigned batch_max)
{
    zkc_loop *loop = s->hub->options.loop;
    if (loop_is_foreign(loop))
        return;
    s->on_message = fn;
    s->on_message_user = user;
    s->batch_max = batch_max ? batch_max : BATCH_MAX_DEFAULT;
    if (!s->again)
        s->again = evtimer_new(loop_base(loop), on_again, s); /* NULL: without a pause, then */
    loop_post(loop, &s->pump);
}
