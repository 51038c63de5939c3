/* Produce: every partition's set is appended at once; when some of them have to be on disk first,
 * the answer waits for the flushes. */
#include "broker/io/clock.h"
#include "broker/io/serve_internal.h"
#include <stdlib.h>

struct flush_wait {
    struct flush_waiter waiter;
    struct waiting_produce *produce;
    struct produce_response_partition *answer;
};

struct waiting_produce {
    struct waiting_request base; /* first: it is what is freed */
    struct produce_response response;
    struct event *timer; /* of an answer that comes later on purpose; NULL */
    size_t left;         /* flushes */
    struct flush_wait flushes[];
};

/* A partition that was appended to, and is to be flushed before the answer. */
struct due {
    struct partition *partition; /* a reference */
    int64_t until;
    struct produce_response_partition *answer;
};

static void fields(struct wire_codec *c, void *m)
{
    produce_response_fields(c, m);
}

static void append(struct serve_loop *l, struct bytes topic,
                   const struct produce_request_partition *ask,
                   struct produce_response_partition *answer, struct due *due, size_t *due_count)
{
    enum kafka_error error;
    const struct config *config = l->server->options.config;
    struct partition *p = serve_partition(l, topic, ask->index, &error);
    if (p && l->request.produce.acks == -1 && config->min_insync_replicas > 1)
        error = KAFKA_ERR_NOT_ENOUGH_REPLICAS;
    struct append_result result = {.error = error, .first_offset = -1};
    if (p && !error) /* the frame is ours to change: offsets are written into it */
        partition_append(p, (uint8_t *)(uintptr_t)ask->records.data, ask->records.len, &l->append,
                         &result);
    answer->error_code = (int16_t)result.error;
    answer->base_offset = result.error ? -1 : result.first_offset;
    if (result.error || !result.must_wait) {
        partition_put(p);
        return;
    }
    due[(*due_count)++] =
        (struct due){.partition = p, .until = result.end_offset, .answer = answer};
}

static size_t partition_count(const struct produce_request *request)
{
    size_t count = 0;
    for (size_t t = 0; t < request->topic_data_count; t++)
        count += request->topic_data[t].partition_data_count;
    return count;
}

static void free_waiting(struct waiting_request *base)
{
    struct waiting_produce *w = (struct waiting_produce *)base;
    if (w->timer)
        event_free(w->timer);
    free(w);
}

static void on_late_answer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct waiting_produce *w = arg;
    serve_answer(w->base.connection, w->base.request.header.correlation_id, fields, &w->response);
    serve_wait_end(&w->base);
}

static void answer(struct connection *c, const struct request *request,
                   struct produce_response *response)
{
    serve_answer(c, request->header.correlation_id, fields, response);
}

/* The connection is gone. With flushes under way the object waits for them. */
static void cancel(struct pending *p)
{
    struct waiting_produce *w = (struct waiting_produce *)p;
    w->base.connection = NULL;
    if (!w->left)
        serve_wait_end(&w->base);
}

/* The names in the answer are views into the frame, which does not stay. */
static bool keep_names(struct arena *arena, struct produce_response *response)
{
    for (size_t t = 0; t < response->responses_count; t++)
        if (!serve_keep_name(arena, &response->responses[t].name))
            return false;
    return true;
}

static struct waiting_produce *wait_new(struct serve_loop *l, struct connection *c,
                                        const struct produce_response *response, size_t flushes)
{
    struct waiting_produce *w = calloc(1, sizeof *w + flushes * sizeof w->flushes[0]);
    if (!w)
        return NULL;
    w->base.free = free_waiting;
    w->response = *response;
    serve_wait(l, c, &w->base, cancel);
    return w;
}

/* Sends what produce_answer_decide() says; true: done. False: later, by a timer of *w. */
static bool decide(struct connection *c, const struct request *request,
                   struct produce_response *response)
{
    switch (produce_answer_decide(&request->produce, response)) {
    case PRODUCE_ANSWER: answer(c, request, response); return true;
    case PRODUCE_NO_ANSWER: connection_unanswered(c); return true;
    case PRODUCE_CLOSE:
        connection_refuse(c, "a Produce without acknowledgement failed");
        return true;
    case PRODUCE_ANSWER_LATER:
        if (request->produce.timeout_ms > 0)
            return false;
        answer(c, request, response);
        return true;
    }
    return true;
}

static void answer_later(struct waiting_produce *w)
{
    int32_t ms = w->base.request.produce.timeout_ms;
    w->timer = evtimer_new(thread_loop_base(w->base.loop->thread), on_late_answer, w);
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    if (w->timer && event_add(w->timer, &tv) == 0)
        return;
    connection_refuse(w->base.connection, "no memory for a timer");
    serve_wait_end(&w->base);
}

static void on_flushed(void *arg)
{
    struct flush_wait *f = arg;
    struct waiting_produce *w = f->produce;
    if (f->waiter.error) {
        f->answer->error_code = (int16_t)f->waiter.error;
        f->answer->base_offset = -1;
    }
    if (--w->left)
        return;
    struct connection *c = w->base.connection;
    if (c && !decide(c, &w->base.request, &w->response)) {
        answer_later(w);
        return;
    }
    serve_wait_end(&w->base);
}

static void wait_for_flushes(struct serve_loop *l, struct connection *c,
                             struct produce_response *response, const struct due *due, size_t count)
{
    struct waiting_produce *w =
        keep_names(&l->arena, response) ? wait_new(l, c, response, count) : NULL;
    for (size_t i = 0; w && i < count; i++) {
        struct flush_wait *f = &w->flushes[i];
        *f = (struct flush_wait){.produce = w, .answer = due[i].answer};
        f->waiter.loop = l->thread;
        loop_item_init(&f->waiter.item, on_flushed, f);
        w->left++;
    }
    for (size_t i = 0; i < count; i++) {
        if (w)
            partition_wait_flush(due[i].partition, due[i].until, &w->flushes[i].waiter);
        partition_put(due[i].partition);
    }
    if (!w)
        connection_refuse(c, "no memory for an answer that waits");
}

void serve_produce(struct serve_loop *l, struct connection *c)
{
    const struct produce_request *request = &l->request.produce;
    struct produce_response response;
    size_t due_count = 0;
    struct due *due = arena_alloc_array(&l->arena, partition_count(request), sizeof *due);
    if (!due || produce_answer_make(request, &l->arena, &response)) {
        connection_refuse(c, "no memory for the answer");
        return;
    }
    for (size_t t = 0; t < request->topic_data_count; t++)
        for (size_t i = 0; i < request->topic_data[t].partition_data_count; i++)
            append(l, request->topic_data[t].name, &request->topic_data[t].partition_data[i],
                   &response.responses[t].partition_responses[i], due, &due_count);
    if (due_count) {
        wait_for_flushes(l, c, &response, due, due_count);
        return;
    }
    if (decide(c, &l->request, &response))
        return;
    struct waiting_produce *w =
        keep_names(&l->arena, &response) ? wait_new(l, c, &response, 0) : NULL;
    if (w)
        answer_later(w);
    else
        connection_refuse(c, "no memory for an answer that waits");
}
