#include "zkconsumer/consumer/source.h"
#include "zkconsumer/consumer/loop.h"
#include "zkconsumer/core/base/why.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/list_offsets.h"
#include <event2/event.h>
#include <stdlib.h>

/* An answer's arrays are small beside its records. */
#define ARENA_BYTES_MAX (16 * 1024 * 1024)

/* A partition whose next message does not fit, or is corrupt, is tried again after this. */
#define STUCK_BACKOFF_MS 1000

struct source {
    struct source_shared *shared;
    int32_t broker_id;
    unsigned index;
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

/* ---- requests ---- */

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
    struct source_shared *shared = s->shared;
    s->request = request->number;
    s->is_listing = api_key == API_LIST_OFFSETS;
    if (!err)
        err = broker_connection_send(s->connection, api_key, 0, buf_bytes(&shared->request),
                                     answered, s);
    if (!err)
        return;
    log_line(shared->log, 3, LOG_FACILITY_FETCH, "request to %s: %s",
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
    struct source_shared *shared = s->shared;
    struct wire_codec c;
    arena_clear(&shared->arena);
    buf_clear(&shared->request);
    struct fetch_request m = {
        .replica_id = -1, .max_wait_ms = r->wait_max_ms, .min_bytes = r->bytes_min};
    m.topics = arena_alloc_array(&shared->arena, r->count, sizeof *m.topics);
    for (size_t i = 0, n; m.topics && i < r->count; i += n) {
        n = run_of_topic(r, i);
        struct fetch_request_topic *t = &m.topics[m.topics_count++];
        t->topic = bytes_of_text(r->targets[i].topic);
        t->partitions = arena_alloc_array(&shared->arena, n, sizeof *t->partitions);
        for (size_t k = 0; t->partitions && k < n; k++)
            t->partitions[t->partitions_count++] = (struct fetch_request_partition){
                .partition = r->targets[i + k].partition,
                .fetch_offset = r->targets[i + k].offset,
                .partition_max_bytes = r->targets[i + k].bytes_max};
    }
    enum zkc_err err = shared->arena.failed;
    wire_codec_write(&c, 0, &shared->request);
    if (!err) {
        fetch_request_fields(&c, &m);
        err = wire_codec_end(&c);
    }
    send_body(s, r, API_FETCH, err);
}

static void send_list_offsets(struct source *s, const struct fetcher_request *r)
{
    struct source_shared *shared = s->shared;
    struct wire_codec c;
    arena_clear(&shared->arena);
    buf_clear(&shared->request);
    struct list_offsets_request m = {.replica_id = -1};
    m.topics = arena_alloc_array(&shared->arena, r->count, sizeof *m.topics);
    for (size_t i = 0, n; m.topics && i < r->count; i += n) {
        n = run_of_topic(r, i);
        struct list_offsets_request_topic *t = &m.topics[m.topics_count++];
        t->name = bytes_of_text(r->targets[i].topic);
        t->partitions = arena_alloc_array(&shared->arena, n, sizeof *t->partitions);
        for (size_t k = 0; t->partitions && k < n; k++)
            t->partitions[t->partitions_count++] = (struct list_offsets_request_partition){
                .partition_index = r->targets[i + k].partition,
                .timestamp = r->targets[i + k].time,
                .max_num_offsets = 1};
    }
    enum zkc_err err = shared->arena.failed;
    wire_codec_write(&c, 0, &shared->request);
    if (!err) {
        list_offsets_request_fields(&c, &m);
        err = wire_codec_end(&c);
    }
    send_body(s, r, API_LIST_OFFSETS, err);
}

static void carry_out(struct source *s, const struct fetcher_output *o)
{
    if (o->type == FETCHER_OUT_FETCH)
        send_fetch(s, &o->request);
    else if (o->type == FETCHER_OUT_LIST_OFFSETS)
        send_list_offsets(s, &o->request);
    else
        s->shared->on_output(s, o, s->shared->user);
}

void source_feed(struct source *s, const struct fetcher_input *in)
{
    struct fetcher_outputs out;
    fetcher_step(s->fetcher, in, &out);
    for (size_t i = 0; i < out.count; i++)
        carry_out(s, &out.list[i]);
    s->shared->on_step(s, s->shared->user);
    arm(s);
}

/* ---- answers ---- */

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct fetcher_input in = {.type = FETCHER_IN_TURN, .now_ms = loop_now_ms()};
    source_feed(arg, &in);
}

static bool grow_entries(struct source_shared *shared, size_t count)
{
    if (count < shared->entries_cap)
        return true;
    size_t cap = shared->entries_cap ? shared->entries_cap * 2 : 32;
    struct fetch_response_view *entries = realloc(shared->entries, cap * sizeof *entries);
    if (!entries)
        return false;
    shared->entries = entries;
    shared->entries_cap = cap;
    return true;
}

static enum zkc_err feed_fetched(struct source *s, struct bytes body, struct why *why)
{
    struct source_shared *shared = s->shared;
    struct fetch_response_reader reader;
    enum fetch_response_result result;
    size_t n = 0;
    fetch_response_reader_init(&reader, body);
    do {
        if (!grow_entries(shared, n))
            return ZKC_ERR_NOMEM;
        result = fetch_response_next(&reader, &shared->entries[n]);
        n += result == FETCH_RESPONSE_PARTITION;
    } while (result == FETCH_RESPONSE_PARTITION);
    if (result == FETCH_RESPONSE_MALFORMED) {
        why_set(why, "%s", reader.reason);
        return ZKC_ERR_PROTOCOL;
    }
    struct fetcher_input in = {.type = FETCHER_IN_FETCHED,
                               .now_ms = loop_now_ms(),
                               .fetched = {s->request, shared->entries, n}};
    s->request = 0;
    source_feed(s, &in);
    return ZKC_OK;
}

static enum zkc_err feed_listed(struct source *s, struct bytes body, struct why *why)
{
    struct source_shared *shared = s->shared;
    struct wire_codec c;
    struct list_offsets_response m = {0};
    arena_clear(&shared->arena);
    wire_codec_read(&c, 0, body, &shared->arena);
    list_offsets_response_fields(&c, &m);
    enum zkc_err err = wire_codec_end(&c);
    if (err) {
        why_set(why, "%s", c.reason);
        return err;
    }
    size_t count = 0, n = 0;
    for (size_t i = 0; i < m.topics_count; i++)
        count += m.topics[i].partitions_count;
    struct fetcher_listed *list = arena_alloc_array(&shared->arena, count, sizeof *list);
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
    struct source_shared *shared = s->shared;
    struct why why;
    why_set(&why, "out of memory");
    if (err) {
        log_cause(shared->log, 4, LOG_FACILITY_FETCH, broker_connection_name(s->connection), "%s",
                  text);
        fail_request(s, err);
        return;
    }
    s->frame = frame;
    err = s->is_listing ? feed_listed(s, body, &why) : feed_fetched(s, body, &why);
    s->frame = NULL;
    if (!err)
        return;
    log_line(shared->log, 3, LOG_FACILITY_FETCH, "answer of broker %d (%s): %s", s->broker_id,
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
    s->shared->on_answered(s->shared->user);
}

static void on_send_failed(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    fail_request(arg, ZKC_ERR_SYSTEM);
}

/* ---- birth and death ---- */

void source_free(struct source *s)
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

static void configure(const struct source_shared *shared, struct fetcher_config *config)
{
    const struct conf_view *conf = shared->dial->conf;
    *config = (struct fetcher_config){
        .fetch_bytes_max = conf->fetch_message_bytes_max,
        .fetch_bytes_min = conf->fetch_bytes_min,
        .fetch_wait_max_ms = conf->fetch_wait_ms_max,
        .backoff_ms = conf->refresh_leader_backoff_ms > 0 ? conf->refresh_leader_backoff_ms : 1,
        .stuck_backoff_ms = STUCK_BACKOFF_MS,
        .answer_bytes_max = shared->answer_bytes_max,
        .reset = conf->offset_reset == CONF_RESET_SMALLEST  ? FETCHER_RESET_SMALLEST
                 : conf->offset_reset == CONF_RESET_LARGEST ? FETCHER_RESET_LARGEST
                                                            : FETCHER_RESET_ERROR,
    };
}

struct source *source_new(struct source_shared *shared, int32_t broker_id, const char *host,
                          int32_t port, unsigned index)
{
    struct fetcher_config config;
    struct source *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    configure(shared, &config);
    s->shared = shared;
    s->broker_id = broker_id;
    s->index = index;
    s->port = port;
    s->host = strdup(host);
    s->fetcher = fetcher_new(&config);
    s->timer = evtimer_new(shared->dial->base, on_turn, s);
    s->send_failed = event_new(shared->dial->base, -1, 0, on_send_failed, s);
    s->connection = dial_broker(shared->dial, host, port, (size_t)shared->answer_bytes_max);
    if (!s->host || !s->fetcher || !s->timer || !s->send_failed || !s->connection) {
        source_free(s);
        return NULL;
    }
    return s;
}

bool source_is(const struct source *s, int32_t broker_id, const char *host, int32_t port,
               unsigned index)
{
    return s->broker_id == broker_id && s->index == index && s->port == port &&
           strcmp(s->host, host) == 0;
}

void source_shared_init(struct source_shared *shared)
{
    arena_init(&shared->arena, ARENA_BYTES_MAX);
    buf_init(&shared->request, DIAL_REQUEST_BYTES_MAX);
    shared->entries = NULL;
    shared->entries_cap = 0;
}

void source_shared_deinit(struct source_shared *shared)
{
    arena_deinit(&shared->arena);
    buf_deinit(&shared->request);
    free(shared->entries);
}

struct frame *source_frame(const struct source *s)
{
    return s->frame;
}
struct fetcher *source_fetcher(const struct source *s)
{
    return s->fetcher;
}
int32_t source_broker_id(const struct source *s)
{
    return s->broker_id;
}
const char *source_address(const struct source *s)
{
    return broker_connection_name(s->connection);
}

void source_stats(const struct source *s, struct json *j)
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
