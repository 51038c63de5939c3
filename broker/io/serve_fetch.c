/* Fetch: answered at once, or when enough has arrived, or when its time is over
 * (broker/core/fetch_waiters.h). Before it waits it watches its partitions and reads once more, so
 * that no append falls in between. Records go from the segment files to the socket, uncopied. */
#include "broker/io/clock.h"
#include "broker/io/file_ref.h"
#include "broker/io/serve_internal.h"
#include <stdlib.h>

#define TIMER_MS_MAX (3600 * 1000)

struct waiting_fetch {
    struct waiting_request base; /* first: it is what is freed */
    int64_t deadline_ms;
    struct fetch_waiter waiter; /* last: its watches follow it */
};

struct read {
    size_t count; /* partitions asked */
    struct fetch_answer_partition *answers;
    struct partition_read *reads;
    uint64_t bytes;
    bool is_complete; /* an error, or the end of a segment: no reason to wait */
};

static size_t partition_count(const struct fetch_request *request)
{
    size_t count = 0;
    for (size_t t = 0; t < request->topics_count; t++)
        count += request->topics[t].partitions_count;
    return count;
}

static void read_one(struct serve_loop *l, struct bytes topic,
                     const struct fetch_request_partition *ask, struct read *r, size_t i)
{
    struct fetch_answer_partition *answer = &r->answers[i];
    struct partition_read *got = &r->reads[i];
    enum kafka_error error;
    *got = (struct partition_read){.high_watermark = -1};
    struct partition *p = serve_partition(l, topic, ask->partition, &error);
    if (p)
        partition_read(p, ask->fetch_offset, ask->partition_max_bytes, got);
    else
        got->error = error;
    partition_put(p);
    *answer = (struct fetch_answer_partition){.partition = ask->partition,
                                              .error_code = (int16_t)got->error,
                                              .high_watermark = got->high_watermark,
                                              .records_len = got->file ? got->len : 0};
    r->bytes += answer->records_len;
    r->is_complete = r->is_complete || got->error || (got->file && got->is_old_segment);
}

/* Reads all partitions of the request; what it makes lies in the loop's arena. False: out of
 * memory. */
static bool read_all(struct serve_loop *l, const struct fetch_request *request, struct read *r)
{
    struct arena *arena = &l->arena;
    *r = (struct read){.count = partition_count(request)};
    r->answers = arena_alloc_array(arena, r->count, sizeof *r->answers);
    r->reads = arena_alloc_array(arena, r->count, sizeof *r->reads);
    if (!r->answers || !r->reads)
        return false;
    size_t i = 0;
    for (size_t t = 0; t < request->topics_count; t++)
        for (size_t k = 0; k < request->topics[t].partitions_count; k++)
            read_one(l, request->topics[t].topic, &request->topics[t].partitions[k], r, i++);
    return true;
}

static bool is_due(const struct fetch_request *request, const struct read *r)
{
    return fetch_is_due(request->max_wait_ms, request->min_bytes, r->count, r->bytes,
                        r->is_complete);
}

static void release(struct read *r)
{
    for (size_t i = 0; i < r->count; i++)
        file_ref_put(r->reads[i].file);
}

/* Answers with what was read; takes the files over. */
static void answer(struct connection *c, const struct request *request, struct read *r)
{
    struct buf *out = connection_out(c);
    fetch_answer_layout(out, request->header.correlation_id, &request->fetch, r->answers, r->count);
    bool ok = !out->failed;
    for (size_t i = 0; i < r->count; i++) {
        struct partition_read *got = &r->reads[i];
        if (!got->file)
            continue;
        struct connection_part part = {
            .at = r->answers[i].split, .file = got->file, .offset = got->position, .len = got->len};
        if (ok)
            ok = connection_out_file_take(c, &part);
        else
            file_ref_put(got->file);
    }
    if (ok)
        connection_answered(c);
    else
        connection_refuse(c, "no memory for the answer");
}

/* ---- partitions that are waited for ---- */

static struct watched_partition **watched_slot(struct serve_loop *l, const struct partition *p)
{
    size_t hash = ((uintptr_t)p >> 6) % WATCHED_BUCKETS;
    struct watched_partition **at = &l->watched[hash];
    while (*at && (*at)->partition != p)
        at = &(*at)->next;
    return at;
}

static void unwatch(struct watched_partition *w)
{
    struct watched_partition **at = watched_slot(w->loop, w->partition);
    *at = w->next;
    partition_unwatch(w->partition, &w->reader);
    thread_loop_cancel(w->loop->thread, &w->item);
    partition_put(w->partition);
    free(w);
}

static void serve_due(struct serve_loop *l);

static void on_news(void *arg)
{
    struct watched_partition *w = arg;
    struct serve_loop *l = w->loop;
    uint64_t bytes = atomic_exchange(&w->reader.bytes, 0);
    if (!w->watches.first) {
        unwatch(w);
        return;
    }
    if (atomic_exchange(&w->reader.is_gone, false))
        fetch_partition_changed(&l->fetches, &w->watches);
    else
        fetch_appended(&l->fetches, &w->watches, bytes);
    serve_due(l);
}

/* Takes the reference to `p` over. */
static struct watched_partition *watch_take(struct serve_loop *l, struct partition *p)
{
    struct watched_partition **at = watched_slot(l, p);
    if (*at) {
        partition_put(p);
        return *at;
    }
    struct watched_partition *w = calloc(1, sizeof *w);
    if (!w) {
        partition_put(p);
        return NULL;
    }
    w->loop = l;
    w->partition = p;
    loop_item_init(&w->item, on_news, w);
    w->reader.loop = l->thread;
    w->reader.item = &w->item;
    *at = w;
    partition_watch(p, &w->reader);
    return w;
}

/* Fills in who is to be watched. False: a partition has gone meanwhile, or there is no memory. */
static bool watch_all(struct serve_loop *l, const struct fetch_request *request,
                      struct fetch_interest *interests)
{
    size_t i = 0;
    for (size_t t = 0; t < request->topics_count; t++)
        for (size_t k = 0; k < request->topics[t].partitions_count; k++) {
            const struct fetch_request_partition *ask = &request->topics[t].partitions[k];
            enum kafka_error error;
            struct partition *p =
                serve_partition(l, request->topics[t].topic, ask->partition, &error);
            struct watched_partition *w = p ? watch_take(l, p) : NULL;
            if (!w)
                return false;
            interests[i++] = (struct fetch_interest){
                .partition = &w->watches, .bytes_max = (uint32_t)ask->partition_max_bytes};
        }
    return true;
}

/* ---- waiting ---- */

static void arm_timer(struct serve_loop *l)
{
    int64_t deadline_ms = fetch_deadline_ms(&l->fetches);
    if (deadline_ms == INT64_MAX) {
        event_del(l->fetch_timer);
        return;
    }
    int64_t ms = deadline_ms - clock_now_ms();
    ms = ms < 0 ? 0 : ms > TIMER_MS_MAX ? TIMER_MS_MAX : ms;
    event_add(l->fetch_timer, &(struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000});
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    serve_due(arg);
}

static void free_waiting(struct waiting_request *base)
{
    free(base);
}

static void cancel(struct pending *p)
{
    struct waiting_fetch *w = (struct waiting_fetch *)p;
    if (w->waiter.state != WAITER_OVER)
        fetch_cancel(&w->base.loop->fetches, &w->waiter);
    arm_timer(w->base.loop);
    serve_wait_end(&w->base);
}

/* Watches what is asked and reads again. True: it waits from here on, and `r` was released. False:
 * to be answered now with `r`, which is new, and good if *has_read. */
static bool begin_wait(struct serve_loop *l, struct waiting_fetch *w, struct read *r,
                       bool *has_read)
{
    const struct fetch_request *request = &w->base.request.fetch;
    arena_clear(&l->arena);
    struct fetch_interest *interests =
        arena_alloc_array(&l->arena, partition_count(request), sizeof *interests);
    bool is_watched = interests && watch_all(l, request, interests);
    *has_read = read_all(l, request, r);
    if (!*has_read || !is_watched || is_due(request, r))
        return false;
    for (size_t i = 0; i < r->count; i++)
        interests[i].bytes = r->answers[i].records_len;
    if (fetch_wait(&l->fetches, &w->waiter, w->deadline_ms, request->min_bytes, interests,
                   r->count))
        return false;
    release(r);
    return true;
}

static void finish(struct waiting_fetch *w, struct read *r, bool has_read)
{
    struct connection *c = w->base.connection;
    if (has_read)
        answer(c, &w->base.request, r);
    else
        connection_refuse(c, "no memory for the answer");
    serve_wait_end(&w->base);
}

/* Answers those that are due. One that was woken by less than it asked for waits again. */
static void serve_due(struct serve_loop *l)
{
    int64_t now_ms = clock_now_ms();
    struct fetch_waiter *waiter;
    while ((waiter = fetch_next_due(&l->fetches, now_ms))) {
        struct waiting_fetch *w =
            (struct waiting_fetch *)((char *)waiter - offsetof(struct waiting_fetch, waiter));
        const struct fetch_request *request = &w->base.request.fetch;
        struct read r;
        arena_clear(&l->arena);
        bool has_read = read_all(l, request, &r);
        if (has_read && !is_due(request, &r) && w->deadline_ms > now_ms) {
            release(&r);
            if (begin_wait(l, w, &r, &has_read))
                continue;
        }
        finish(w, &r, has_read);
    }
    arm_timer(l);
}

static bool keep_names(struct arena *arena, struct fetch_request *request)
{
    for (size_t t = 0; t < request->topics_count; t++)
        if (!serve_keep_name(arena, &request->topics[t].topic))
            return false;
    return true;
}

static struct waiting_fetch *wait_new(size_t partitions)
{
    size_t size = offsetof(struct waiting_fetch, waiter) + fetch_waiter_size(partitions);
    struct waiting_fetch *w = calloc(1, size > sizeof *w ? size : sizeof *w);
    if (!w)
        return NULL;
    w->base.free = free_waiting;
    w->waiter.state = WAITER_OVER;
    return w;
}

void serve_fetch(struct serve_loop *l, struct connection *c)
{
    struct fetch_request *request = &l->request.fetch;
    struct read r;
    if (!read_all(l, request, &r)) {
        connection_refuse(c, "no memory for the answer");
        return;
    }
    struct waiting_fetch *w = NULL;
    if (!is_due(request, &r))
        w = keep_names(&l->arena, request) ? wait_new(r.count) : NULL;
    if (!w) {
        answer(c, &l->request, &r);
        return;
    }
    release(&r);
    w->deadline_ms = clock_now_ms() + request->max_wait_ms;
    serve_wait(l, c, &w->base, cancel);
    bool has_read;
    if (begin_wait(l, w, &r, &has_read))
        arm_timer(l);
    else
        finish(w, &r, has_read);
}

/* ---- of a loop ---- */

bool serve_fetches_init(struct serve_loop *l)
{
    fetch_waiters_init(&l->fetches);
    l->fetch_timer = evtimer_new(thread_loop_base(l->thread), on_timer, l);
    return l->fetch_timer != NULL;
}

void serve_fetches_deinit(struct serve_loop *l)
{
    for (size_t i = 0; i < WATCHED_BUCKETS; i++)
        while (l->watched[i])
            unwatch(l->watched[i]);
    fetch_waiters_deinit(&l->fetches);
    if (l->fetch_timer)
        event_free(l->fetch_timer);
}

/* Leaders may have moved: whoever waits for what is not ours any more is to be told. */
void serve_fetches_check_view(struct serve_loop *l)
{
    const struct cluster_view *view = serve_view(l);
    int32_t me = (int32_t)l->server->options.config->broker_id;
    for (size_t i = 0; i < WATCHED_BUCKETS; i++)
        for (struct watched_partition *w = l->watched[i]; w; w = w->next) {
            struct bytes topic = bytes_of_text(partition_topic(w->partition));
            if (cluster_view_check(view, me, topic, partition_number(w->partition)))
                fetch_partition_changed(&l->fetches, &w->watches);
        }
    serve_due(l);
}
