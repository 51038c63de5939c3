#include "zkconsumer/consumer/source.h"
#include "zkconsumer/consumer/loop.h"
#include <event2/event.h>
#include <stdlib.h>

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
    struct fetch_wire_sent sent; /* the outstanding request */
    struct event *send_failed;
    bool is_closing;
    struct frame *frame; /* of the answer being fed */
    int64_t sent_ns;     /* the outstanding request was */
    struct fetch_numbers numbers;
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
    struct fetcher_input in = fetch_wire_failed(&s->sent, err);
    in.now_ms = loop_now_ms();
    source_feed(s, &in);
}

static void send_request(struct source *s, const struct fetcher_output *o)
{
    struct buf *body = &s->shared->request;
    buf_clear(body);
    fetch_wire_encode(o, body, &s->sent);
    enum zkc_err err = body->failed;
    s->sent_ns = loop_now_ns();
    if (!err)
        err = broker_connection_send(s->connection, (int16_t)s->sent.api, FETCH_WIRE_VERSION,
                                     buf_bytes(body), answered, s);
    if (!err)
        return;
    log_line(s->shared->log, 3, LOG_FACILITY_FETCH, "request to %s: %s",
             broker_connection_name(s->connection), zkc_err_text(err));
    event_active(s->send_failed, EV_TIMEOUT, 1);
}

static void carry_out(struct source *s, const struct fetcher_output *o)
{
    if (o->type == FETCHER_OUT_FETCH || o->type == FETCHER_OUT_LIST_OFFSETS)
        send_request(s, o);
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

static void count_answer(struct fetch_numbers *n, int64_t took_us, int64_t bytes, int64_t now_ms)
{
    n->bytes_min = n->requests == 0 || bytes < n->bytes_min ? bytes : n->bytes_min;
    n->bytes_max = bytes > n->bytes_max ? bytes : n->bytes_max;
    n->took_us_max = took_us > n->took_us_max ? took_us : n->took_us_max;
    n->requests++;
    n->bytes += (uint64_t)bytes;
    n->took_us += took_us;
    meter_add(&n->request_rate, 1, now_ms);
    meter_add(&n->byte_rate, (uint64_t)bytes, now_ms);
}

static void count(struct source *s, struct bytes body)
{
    int64_t took_us = (loop_now_ns() - s->sent_ns) / 1000, now_ms = loop_now_ms();
    if (s->sent.api != API_FETCH)
        return;
    count_answer(&s->numbers, took_us, (int64_t)body.len, now_ms);
    count_answer(&s->shared->numbers, took_us, (int64_t)body.len, now_ms);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct fetcher_input in = {.type = FETCHER_IN_TURN, .now_ms = loop_now_ms()};
    source_feed(arg, &in);
}

static void take_answer(struct source *s, struct frame *frame, struct bytes body)
{
    struct fetcher_input in;
    struct fetch_wire_decoder *decoder = &s->shared->decoder;
    if (!fetch_wire_decode(decoder, &s->sent, body, &in)) {
        log_line(s->shared->log, 3, LOG_FACILITY_FETCH, "answer of broker %d (%s): %s",
                 s->broker_id, broker_connection_name(s->connection), decoder->reason);
        if (in.failed.err == ZKC_ERR_PROTOCOL)
            broker_connection_reset(s->connection, decoder->reason);
    }
    in.now_ms = loop_now_ms();
    s->frame = frame;
    source_feed(s, &in);
    s->frame = NULL;
}

static void answered(enum zkc_err err, struct frame *frame, struct bytes body, const char *text,
                     void *user)
{
    struct source *s = user;
    if (s->is_closing)
        return;
    if (err) {
        log_cause(s->shared->log, 4, LOG_FACILITY_FETCH, broker_connection_name(s->connection),
                  "%s", text);
        fail_request(s, err);
    } else {
        count(s, body);
        take_answer(s, frame, body);
    }
    s->shared->on_answered(s->shared->user);
    if (fetcher_deadline_ms(s->fetcher) <= loop_now_ms())
        on_turn(-1, 0, s); /* the next request, without another pass of the loop */
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
    s->numbers.since_ms = loop_now_ms();
    meter_add(&s->numbers.request_rate, 0, s->numbers.since_ms);
    meter_add(&s->numbers.byte_rate, 0, s->numbers.since_ms);
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
    shared->numbers.since_ms = loop_now_ms();
    buf_init(&shared->request, DIAL_REQUEST_BYTES_MAX);
    fetch_wire_decoder_init(&shared->decoder);
}

void source_shared_deinit(struct source_shared *shared)
{
    buf_deinit(&shared->request);
    fetch_wire_decoder_deinit(&shared->decoder);
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
const char *source_host(const struct source *s)
{
    return s->host;
}
int32_t source_port(const struct source *s)
{
    return s->port;
}

void source_add_numbers(struct source *s, int64_t now_ms, struct fetch_numbers *sum)
{
    struct fetch_numbers *n = &s->numbers;
    if (n->requests > 0 && (sum->requests == 0 || n->bytes_min < sum->bytes_min))
        sum->bytes_min = n->bytes_min;
    sum->bytes_max = n->bytes_max > sum->bytes_max ? n->bytes_max : sum->bytes_max;
    sum->took_us_max = n->took_us_max > sum->took_us_max ? n->took_us_max : sum->took_us_max;
    sum->since_ms = n->since_ms < sum->since_ms ? n->since_ms : sum->since_ms;
    sum->requests += n->requests;
    sum->bytes += n->bytes;
    sum->took_us += n->took_us;
    sum->request_rate.rate += meter_rate(&n->request_rate, now_ms);
    sum->byte_rate.rate += meter_rate(&n->byte_rate, now_ms);
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
