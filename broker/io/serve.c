#include "broker/io/serve.h"
#include "broker/io/serve_internal.h"
#include <stdio.h>
#include <stdlib.h>

/* What a compressed set of a producer may open to. Kafka has no limit. */
#define DECOMPRESSED_BYTES_MAX (64 * 1024 * 1024)

/* ---- for all requests ---- */

const struct cluster_view *serve_view(struct serve_loop *l)
{
    static const struct cluster_view none = {.controller_id = -1};
    const struct cluster_view *view = view_newest(l->server->options.views, &l->view);
    return view ? view : &none;
}

struct partition *serve_partition(struct serve_loop *l, struct bytes topic, int32_t number,
                                  enum kafka_error *error)
{
    const struct server_options *o = &l->server->options;
    *error = cluster_view_check(serve_view(l), (int32_t)o->config->broker_id, topic, number);
    if (*error)
        return NULL;
    char name[TOPIC_NAME_MAX + 1];
    snprintf(name, sizeof name, "%.*s", (int)topic.len, (const char *)topic.data);
    struct partition *p = store_find(o->store, name, number);
    if (!p)
        *error = KAFKA_ERR_NOT_LEADER_OR_FOLLOWER; /* it is about to be created: ask again */
    return p;
}

bool serve_keep_name(struct arena *arena, struct bytes *name)
{
    uint8_t *copy = arena_alloc(arena, name->len);
    if (!copy)
        return false;
    if (name->len)
        memcpy(copy, name->data, name->len);
    name->data = copy;
    return true;
}

void serve_wait(struct serve_loop *l, struct connection *c, struct waiting_request *w,
                void (*cancel)(struct pending *p))
{
    w->pending.cancel = cancel;
    w->loop = l;
    w->connection = c;
    w->arena = l->arena;
    w->request = l->request;
    arena_init(&l->arena, REQUEST_ARENA_BYTES_MAX);
    TAILQ_INSERT_TAIL(&l->waiting, w, link);
    connection_wait(c, &w->pending);
}

void serve_wait_end(struct waiting_request *w)
{
    TAILQ_REMOVE(&w->loop->waiting, w, link);
    arena_deinit(&w->arena);
    w->free(w);
}

void serve_answer(struct connection *c, int32_t correlation_id, serve_fields_fn *fields,
                  void *message)
{
    struct buf *out = connection_out(c);
    size_t mark = answer_begin(out, correlation_id);
    struct wire_codec codec;
    wire_codec_write(&codec, 0, out);
    fields(&codec, message);
    if (codec.failed) {
        connection_refuse(c, codec.reason);
        return;
    }
    answer_end(out, mark);
    connection_answered(c);
}

/* ---- requests that need nobody else ---- */

static void api_versions_fields(struct wire_codec *c, void *m)
{
    api_versions_response_fields(c, m);
}

static void serve_api_versions(struct serve_loop *l, struct connection *c)
{
    struct api_versions_response response;
    if (api_versions_answer(l->request.api_versions_error, &l->arena, &response)) {
        connection_refuse(c, "no memory for the answer");
        return;
    }
    serve_answer(c, l->request.header.correlation_id, api_versions_fields, &response);
}

struct creation {
    struct loop_item item;
    struct server *server;
    size_t len;
    uint8_t name[];
};

static void on_creation(void *arg)
{
    struct creation *creation = arg;
    const struct server_main *main = &creation->server->options.main;
    main->create_topic(bytes_of(creation->name, creation->len), main->user);
    free(creation);
}

/* Without memory nothing happens: the client asks again. */
static void ask_for_topic(struct server *s, struct bytes name)
{
    struct creation *creation = malloc(sizeof *creation + name.len);
    if (!creation)
        return;
    loop_item_init(&creation->item, on_creation, creation);
    creation->server = s;
    creation->len = name.len;
    memcpy(creation->name, name.data, name.len);
    thread_loop_post(s->options.main.loop, &creation->item);
}

static void metadata_fields(struct wire_codec *c, void *m)
{
    metadata_response_fields(c, m);
}

static void serve_metadata(struct serve_loop *l, struct connection *c)
{
    const struct metadata_request *request = &l->request.metadata;
    struct metadata_rules rules = {.auto_create =
                                       l->server->options.config->auto_create_topics_enable};
    struct metadata_response response;
    size_t create_count = 0;
    struct bytes *create = arena_alloc_array(&l->arena, request->topics_count, sizeof *create);
    if (!create || metadata_answer(serve_view(l), &rules, request, &l->arena, &response, create,
                                   &create_count)) {
        connection_refuse(c, "no memory for the metadata");
        return;
    }
    for (size_t i = 0; i < create_count; i++)
        ask_for_topic(l->server, create[i]);
    serve_answer(c, l->request.header.correlation_id, metadata_fields, &response);
}

static void list_offsets_fields(struct wire_codec *c, void *m)
{
    list_offsets_response_fields(c, m);
}

static void list_offsets(struct serve_loop *l, struct bytes topic,
                         const struct list_offsets_request_partition *ask,
                         struct list_offsets_response_partition *answer)
{
    enum kafka_error error;
    struct partition *p = serve_partition(l, topic, ask->partition_index, &error);
    int64_t *offsets = NULL;
    size_t count = 0;
    if (p)
        error = partition_offsets(p, ask->timestamp, ask->max_num_offsets, &offsets, &count);
    partition_put(p);
    int64_t *kept = error ? NULL : arena_alloc_array(&l->arena, count, sizeof *kept);
    if (kept && count)
        memcpy(kept, offsets, count * sizeof *kept);
    free(offsets);
    answer->error_code = (int16_t)error;
    answer->old_style_offsets = kept;
    answer->old_style_offsets_count = kept ? count : 0;
}

static void serve_list_offsets(struct serve_loop *l, struct connection *c)
{
    const struct list_offsets_request *request = &l->request.list_offsets;
    struct list_offsets_response response;
    if (list_offsets_answer_make(request, &l->arena, &response)) {
        connection_refuse(c, "no memory for the answer");
        return;
    }
    for (size_t t = 0; t < request->topics_count; t++)
        for (size_t i = 0; i < request->topics[t].partitions_count; i++)
            list_offsets(l, request->topics[t].name, &request->topics[t].partitions[i],
                         &response.topics[t].partitions[i]);
    if (l->arena.failed)
        connection_refuse(c, "no memory for the answer");
    else
        serve_answer(c, l->request.header.correlation_id, list_offsets_fields, &response);
}

/* ---- dispatch ---- */

void server_on_request(struct connection *c, struct bytes frame, void *user)
{
    (void)user;
    struct serve_loop *l = *network_loop_slot(connection_loop(c));
    struct why why;
    arena_clear(&l->arena);
    if (request_read(frame, &l->arena, &l->request, &why)) {
        connection_refuse(c, why.text);
        return;
    }
    switch ((enum api_key)l->request.header.api_key) {
    case API_PRODUCE: serve_produce(l, c); break;
    case API_FETCH: serve_fetch(l, c); break;
    case API_LIST_OFFSETS: serve_list_offsets(l, c); break;
    case API_METADATA: serve_metadata(l, c); break;
    case API_OFFSET_COMMIT: serve_offset_commit(l, c); break;
    case API_OFFSET_FETCH: serve_offset_fetch(l, c); break;
    case API_API_VERSIONS: serve_api_versions(l, c); break;
    case API_FIND_COORDINATOR: break; /* not in the table: refused before */
    }
}

/* ---- life ---- */

static void on_view_item(void *arg)
{
    serve_fetches_check_view(arg);
}

struct server *server_new(const struct server_options *options)
{
    struct server *s = calloc(1, sizeof *s);
    if (s)
        s->options = *options;
    return s;
}

static bool serve_loop_init(struct serve_loop *l, struct server *s, struct network_loop *network)
{
    l->server = s;
    l->network = network;
    l->thread = network_loop_thread(network);
    TAILQ_INIT(&l->waiting);
    arena_init(&l->arena, REQUEST_ARENA_BYTES_MAX);
    log_append_init(&l->append, DECOMPRESSED_BYTES_MAX);
    loop_item_init(&l->view_item, on_view_item, l);
    *network_loop_slot(network) = l;
    return serve_fetches_init(l);
}

bool server_attach(struct server *s, struct network *n)
{
    size_t count = network_loop_count(n);
    s->loops = calloc(count, sizeof *s->loops);
    bool ok = s->loops != NULL;
    while (ok && s->loops_count < count) {
        size_t i = s->loops_count++;
        ok = serve_loop_init(&s->loops[i], s, network_loop_at(n, i));
    }
    return ok;
}

void server_view_changed(struct server *s)
{
    for (size_t i = 0; i < s->loops_count; i++)
        thread_loop_post(s->loops[i].thread, &s->loops[i].view_item);
}

void server_free(struct server *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->loops_count; i++) {
        struct serve_loop *l = &s->loops[i];
        while (!TAILQ_EMPTY(&l->waiting))
            serve_wait_end(TAILQ_FIRST(&l->waiting));
        serve_fetches_deinit(l);
        log_append_deinit(&l->append);
        arena_deinit(&l->arena);
        view_holder_deinit(&l->view);
    }
    free(s->loops);
    free(s);
}
