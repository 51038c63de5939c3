/* OffsetCommit and OffsetFetch: their operations in ZooKeeper are sent by the main thread, one
 * after the other; the object goes there and comes back, so that only one thread has it at a
 * time. */
#include "broker/core/offset_store.h"
#include "broker/io/serve_internal.h"
#include <stdlib.h>

struct waiting_offsets {
    struct waiting_request base; /* first: it is what is freed */
    bool is_commit;
    union {
        struct offset_commit_program committer;
        struct offset_fetch_program fetcher;
    };
    union {
        struct offset_commit_response commit_response;
        struct offset_fetch_response fetch_response;
    };
    const struct zk_op *op;    /* to send next */
    struct loop_item out_item; /* to the main thread */
    struct loop_item back_item;
};

static void free_waiting(struct waiting_request *base)
{
    struct waiting_offsets *w = (struct waiting_offsets *)base;
    if (w->is_commit)
        offset_commit_deinit(&w->committer);
    else
        offset_fetch_deinit(&w->fetcher);
    free(w);
}

static void commit_fields(struct wire_codec *c, void *m)
{
    offset_commit_response_fields(c, m);
}
static void fetch_fields(struct wire_codec *c, void *m)
{
    offset_fetch_response_fields(c, m);
}

static void answer(struct waiting_offsets *w)
{
    struct connection *c = w->base.connection;
    int32_t id = w->base.request.header.correlation_id;
    if (c && w->is_commit)
        serve_answer(c, id, commit_fields, &w->commit_response);
    else if (c)
        serve_answer(c, id, fetch_fields, &w->fetch_response);
    serve_wait_end(&w->base);
}

static void on_back(void *arg)
{
    answer(arg);
}

/* ---- on the main thread ---- */

static void send_next(struct waiting_offsets *w);

static void on_result(const struct zk_result *result, void *user)
{
    struct waiting_offsets *w = user;
    enum offset_step step = w->is_commit ? offset_commit_next(&w->committer, result, &w->op)
                                         : offset_fetch_next(&w->fetcher, result, &w->op);
    if (step == OFFSET_SEND)
        send_next(w);
    else
        thread_loop_post(w->base.loop->thread, &w->back_item);
}

static void send_next(struct waiting_offsets *w)
{
    const struct server_main *main = &w->base.loop->server->options.main;
    main->zk_send(w->op, on_result, w, main->user);
}

static void on_out(void *arg)
{
    send_next(arg);
}

/* ---- on the loop's thread ---- */

/* It is with the main thread, and comes back in any case. */
static void cancel(struct pending *p)
{
    ((struct waiting_offsets *)p)->base.connection = NULL;
}

static struct waiting_offsets *wait_new(struct serve_loop *l, struct connection *c, bool is_commit)
{
    struct waiting_offsets *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->base.free = free_waiting;
    w->is_commit = is_commit;
    loop_item_init(&w->out_item, on_out, w);
    loop_item_init(&w->back_item, on_back, w);
    serve_wait(l, c, &w->base, cancel);
    return w;
}

static void go(struct waiting_offsets *w, enum zkc_err err, enum offset_step step)
{
    if (err) {
        connection_refuse(w->base.connection, "no memory for the offsets");
        serve_wait_end(&w->base);
    } else if (step == OFFSET_SEND) {
        thread_loop_post(w->base.loop->server->options.main.loop, &w->out_item);
    } else {
        answer(w);
    }
}

static bool keep_commit_names(struct arena *arena, struct offset_commit_request *request)
{
    bool ok = serve_keep_name(arena, &request->group_id);
    for (size_t t = 0; ok && t < request->topics_count; t++)
        ok = serve_keep_name(arena, &request->topics[t].name);
    return ok;
}

void serve_offset_commit(struct serve_loop *l, struct connection *c)
{
    bool ok = keep_commit_names(&l->arena, &l->request.offset_commit);
    struct waiting_offsets *w = ok ? wait_new(l, c, true) : NULL;
    if (!w) {
        connection_refuse(c, "no memory for the offsets");
        return;
    }
    enum offset_step step = OFFSET_DONE;
    enum zkc_err err =
        offset_commit_begin(&w->committer, &w->base.request.offset_commit, serve_view(l),
                            (size_t)l->server->options.config->offset_metadata_max_bytes,
                            &w->base.arena, &w->commit_response, &step, &w->op);
    go(w, err, step);
}

static bool keep_fetch_names(struct arena *arena, struct offset_fetch_request *request)
{
    bool ok = serve_keep_name(arena, &request->group_id);
    for (size_t t = 0; ok && t < request->topics_count; t++)
        ok = serve_keep_name(arena, &request->topics[t].name);
    return ok;
}

void serve_offset_fetch(struct serve_loop *l, struct connection *c)
{
    bool ok = keep_fetch_names(&l->arena, &l->request.offset_fetch);
    struct waiting_offsets *w = ok ? wait_new(l, c, false) : NULL;
    if (!w) {
        connection_refuse(c, "no memory for the offsets");
        return;
    }
    enum offset_step step = OFFSET_DONE;
    enum zkc_err err = offset_fetch_begin(&w->fetcher, &w->base.request.offset_fetch, serve_view(l),
                                          &w->base.arena, &w->fetch_response, &step, &w->op);
    go(w, err, step);
}
