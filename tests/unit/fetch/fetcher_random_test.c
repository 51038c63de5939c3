/* A fetcher, a broker and an application that do anything at any time, from a seed. What must hold
 * is checked after every step; in the end the troubles stop and everything must have been read.
 *
 * Messages of a partition carry their own name, so that a wrong one is seen. FETCHER_SEED=n in the
 * environment runs one seed. */
#include "tests/unit/test.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/fetch/fetch_wire.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include "zkconsumer/core/wire/list_offsets.h"
#include "zkconsumer/core/wire/message_set.h"

#define TOPICS        3
#define PER_TOPIC     4
#define PARTITIONS    (TOPICS * PER_TOPIC)
#define SINKS         3
#define STEPS         600
#define BYTES_MAX     400
#define LARGE         (2 * BYTES_MAX) /* a message that does not fit */
#define TURNS_MAX     4               /* that may follow each other without an answer */
#define SEEDS_DEFAULT 400

/* The broker's side. */
struct log {
    int64_t start, end;
    bool is_led_here;
    int64_t large_at; /* offset of a message that does not fit; -1 */
};

/* What the application knows. */
struct claim {
    bool is_here; /* in the fetcher */
    bool is_paused;
    bool is_located; /* position is known */
    bool is_stuck;   /* told too large; until a seek, or until it fits */
    int64_t position;
    uint64_t tag; /* of the claim */
};

struct world {
    uint64_t seed;
    struct rng rng;
    struct fetcher_config config;
    struct fetcher *f;
    struct fetch_wire_decoder decoder;
    int64_t now_ms;
    bool is_calm; /* no more troubles */

    struct log logs[PARTITIONS];
    struct claim claims[PARTITIONS];
    uint64_t tags;
    size_t queued[SINKS], queue_max;
    bool told_full[SINKS];

    bool is_outstanding;
    enum fetcher_output_type request_type;
    struct fetch_wire_sent sent;
    struct buf request;  /* the body on its way */
    struct buf response; /* likewise */
    struct buf records[PARTITIONS];
    uint64_t requests;
    uint64_t last_asked[PARTITIONS];  /* number of the request */
    uint64_t ready_since[PARTITIONS]; /* requests when it became fetchable; 0: it is not */
};

#define CHECK(w, condition)                                                                        \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("FETCHER_SEED=%" PRIu64 " at %" PRId64 ": %s", (w)->seed, (w)->now_ms,        \
                     #condition);                                                                  \
    } while (0)

static const char *const topics[TOPICS] = {"orders", "orders-2", "pages"};

static struct topic_partition name_of(size_t i)
{
    return (struct topic_partition){topics[i / PER_TOPIC], (int32_t)(i % PER_TOPIC) * 7};
}

static size_t index_of(struct bytes topic, int32_t partition)
{
    for (size_t i = 0; i < PARTITIONS; i++)
        if (bytes_equal_text(topic, name_of(i).topic) && partition == name_of(i).partition)
            return i;
    fail_msg("a partition that does not exist");
    return 0;
}

static size_t sink_of(size_t i)
{
    return i % SINKS;
}

static bool chance(struct world *w, unsigned percent)
{
    return !w->is_calm && rng_below(&w->rng, 100) < percent;
}

static void step(struct world *w, struct fetcher_input in);

/* ---- the broker ---- */

static void append_message(struct buf *out, size_t i, int64_t offset, bool is_large)
{
    uint8_t value[LARGE] = {0};
    snprintf((char *)value, sizeof value, "%zu:%" PRId64, i, offset);
    message_set_append(out, offset, BYTES_NULL, bytes_of(value, is_large ? LARGE : 24));
}

/* As Kafka 0.8 to 2.x: cut at the limit, wherever that is. */
static struct bytes read_log(struct world *w, size_t i, int64_t offset, int32_t bytes_max)
{
    struct buf *out = &w->records[i];
    const struct log *log = &w->logs[i];
    buf_clear(out);
    for (; offset < log->end && out->len < (size_t)bytes_max; offset++)
        append_message(out, i, offset, offset == log->large_at);
    assert_int_equal(out->failed, ZKC_OK);
    return bytes_of(out->data, out->len < (size_t)bytes_max ? out->len : (size_t)bytes_max);
}

static struct fetch_response_partition answer_fetch(struct world *w, struct bytes topic,
                                                    const struct fetch_request_partition *asked)
{
    size_t i = index_of(topic, asked->partition);
    const struct log *log = &w->logs[i];
    struct fetch_response_partition p = {.partition_index = asked->partition, .high_watermark = -1};
    if (!log->is_led_here) {
        p.error_code = KAFKA_ERR_NOT_LEADER_OR_FOLLOWER;
    } else if (chance(w, 2)) {
        p.error_code = (int16_t)(rng_below(&w->rng, 9) + 2);
    } else if (asked->fetch_offset < log->start || asked->fetch_offset > log->end) {
        p.error_code = KAFKA_ERR_OFFSET_OUT_OF_RANGE;
    } else {
        p.high_watermark = log->end;
        p.records = read_log(w, i, asked->fetch_offset, asked->partition_max_bytes);
    }
    return p;
}

static void write_fetch_response(struct world *w, const struct fetch_request *request)
{
    struct fetch_response_topic answers[PARTITIONS + 1];
    struct fetch_response_partition partitions[PARTITIONS];
    size_t count = 0;
    for (size_t t = 0; t < request->topics_count; t++) {
        const struct fetch_request_topic *asked = &request->topics[t];
        answers[t] = (struct fetch_response_topic){asked->topic, partitions + count, 0};
        for (size_t k = 0; k < asked->partitions_count; k++) {
            if (chance(w, 1))
                continue; /* leaves one out */
            partitions[count++] = answer_fetch(w, asked->topic, &asked->partitions[k]);
            answers[t].partitions_count++;
        }
    }
    if (chance(w, 20) && request->topics_count > 1) { /* 0.8.2's order is a hash map's */
        struct fetch_response_topic first = answers[0];
        answers[0] = answers[request->topics_count - 1];
        answers[request->topics_count - 1] = first;
    }
    struct fetch_response response = {answers, request->topics_count};
    struct wire_codec codec;
    wire_codec_write(&codec, 0, &w->response);
    fetch_response_fields(&codec, &response);
    assert_int_equal(wire_codec_end(&codec), ZKC_OK);
}

static void write_list_response(struct world *w, const struct list_offsets_request *request)
{
    struct list_offsets_response_topic answers[PARTITIONS + 1];
    struct list_offsets_response_partition partitions[PARTITIONS];
    int64_t offsets[PARTITIONS];
    size_t count = 0;
    for (size_t t = 0; t < request->topics_count; t++) {
        const struct list_offsets_request_topic *asked = &request->topics[t];
        answers[t] = (struct list_offsets_response_topic){asked->name, partitions + count,
                                                          asked->partitions_count};
        for (size_t k = 0; k < asked->partitions_count; k++, count++) {
            const struct log *log =
                &w->logs[index_of(asked->name, asked->partitions[k].partition_index)];
            offsets[count] =
                asked->partitions[k].timestamp == LIST_OFFSETS_LATEST ? log->end : log->start;
            partitions[count] = (struct list_offsets_response_partition){
                .partition_index = asked->partitions[k].partition_index,
                .old_style_offsets = &offsets[count],
                .old_style_offsets_count = 1,
            };
            if (!log->is_led_here || chance(w, 5)) {
                partitions[count].error_code = KAFKA_ERR_NOT_LEADER_OR_FOLLOWER;
                partitions[count].old_style_offsets_count = 0;
            }
        }
    }
    struct list_offsets_response response = {answers, request->topics_count};
    struct wire_codec codec;
    wire_codec_write(&codec, 0, &w->response);
    list_offsets_response_fields(&codec, &response);
    assert_int_equal(wire_codec_end(&codec), ZKC_OK);
}

static void answer_request(struct world *w)
{
    struct arena arena;
    struct wire_codec codec;
    arena_init(&arena, 1 << 20);
    buf_clear(&w->response);
    wire_codec_read(&codec, 0, buf_bytes(&w->request), &arena);
    if (w->request_type == FETCHER_OUT_FETCH) {
        struct fetch_request request = {0};
        fetch_request_fields(&codec, &request);
        assert_int_equal(wire_codec_end(&codec), ZKC_OK);
        write_fetch_response(w, &request);
    } else {
        struct list_offsets_request request = {0};
        list_offsets_request_fields(&codec, &request);
        assert_int_equal(wire_codec_end(&codec), ZKC_OK);
        write_list_response(w, &request);
    }
    arena_deinit(&arena);
}

/* ---- what comes out ---- */

static bool is_fetchable(const struct world *w, size_t i)
{
    const struct claim *c = &w->claims[i];
    return c->is_here && !c->is_paused && c->is_located && !w->told_full[sink_of(i)];
}

static void check_request(struct world *w, const struct fetcher_output *o)
{
    bool seen[PARTITIONS] = {false};
    const struct fetcher_request *r = &o->request;
    CHECK(w, !w->is_outstanding);
    CHECK(w, r->count > 0);
    w->requests++;
    for (size_t k = 0; k < r->count; k++) {
        const struct fetcher_target *t = &r->targets[k];
        size_t i = index_of(bytes_of_text(t->topic), t->partition);
        const struct claim *c = &w->claims[i];
        CHECK(w, !seen[i]);
        seen[i] = true;
        CHECK(w, c->is_here);
        if (o->type == FETCHER_OUT_FETCH) {
            CHECK(w, is_fetchable(w, i));
            CHECK(w, t->offset == c->position);
            CHECK(w, t->bytes_max == w->config.fetch_bytes_max);
            w->last_asked[i] = w->requests;
        } else {
            CHECK(w, !c->is_located);
            CHECK(w, t->time == LIST_OFFSETS_LATEST || t->time == LIST_OFFSETS_EARLIEST);
        }
    }
}

static void send_request(struct world *w, const struct fetcher_output *o)
{
    check_request(w, o);
    w->is_outstanding = true;
    w->request_type = o->type;
    buf_clear(&w->request);
    fetch_wire_encode(o, &w->request, &w->sent);
    assert_int_equal(w->request.failed, ZKC_OK);
}

static void check_messages(struct world *w, size_t i, const struct fetcher_chunk *chunk)
{
    struct message_iter it;
    struct message_view message;
    struct message_iter_limits limits = {1 << 20};
    int64_t next = chunk->offset;
    char want[40];
    message_iter_init(&it, chunk->records, &limits);
    while (message_iter_next(&it, &message) == MESSAGE_ITER_MESSAGE) {
        CHECK(w, message.offset == next);
        snprintf(want, sizeof want, "%zu:%" PRId64, i, next++);
        CHECK(w, strcmp((const char *)message.value.data, want) == 0);
    }
    CHECK(w, it.end == MESSAGE_ITER_END); /* whole entries only */
    CHECK(w, next == chunk->next_offset);
    message_iter_deinit(&it);
}

static void take_chunk(struct world *w, size_t i, const struct fetcher_chunk *chunk)
{
    struct claim *c = &w->claims[i];
    CHECK(w, c->is_located);
    CHECK(w, chunk->offset == c->position);
    CHECK(w, chunk->next_offset > chunk->offset);
    check_messages(w, i, chunk);
    c->position = chunk->next_offset;
    c->is_stuck = false;
    w->queued[sink_of(i)]++;
    CHECK(w, w->queued[sink_of(i)] <= w->queue_max - 1 + PARTITIONS); /* and one answer */
}

static void carry_out(struct world *w, const struct fetcher_output *o)
{
    if (o->type == FETCHER_OUT_FETCH || o->type == FETCHER_OUT_LIST_OFFSETS) {
        send_request(w, o);
        return;
    }
    size_t i = index_of(bytes_of_text(o->partition.topic), o->partition.partition);
    struct claim *c = &w->claims[i];
    CHECK(w, c->is_here);
    CHECK(w, o->tag == c->tag);
    CHECK(w, o->sink == sink_of(i));
    switch (o->type) {
    case FETCHER_OUT_CHUNK: take_chunk(w, i, &o->chunk); break;
    case FETCHER_OUT_MOVED:
        CHECK(w, !c->is_located || o->moved.why == FETCHER_WHY_OUT_OF_RANGE);
        CHECK(w, o->moved.new_offset >= 0);
        c->is_located = true;
        c->is_stuck = false;
        c->position = o->moved.new_offset;
        break;
    case FETCHER_OUT_ERROR:
        if (o->error.err == ZKC_ERR_TOO_LARGE) {
            CHECK(w, o->error.offset == c->position);
            CHECK(w, w->logs[i].large_at == c->position);
            CHECK(w, o->error.bytes_needed == 12 + 14 + LARGE);
            CHECK(w, !c->is_stuck); /* said once */
            c->is_stuck = true;
        } else {
            CHECK(w, o->error.err == ZKC_ERR_OFFSET_RANGE);
            CHECK(w, w->config.reset == FETCHER_RESET_ERROR);
            c->is_stuck = true;
        }
        break;
    case FETCHER_OUT_LEADER_LOST:
        CHECK(w, o->lost.is_paused == c->is_paused);
        CHECK(w, o->lost.err == ZKC_ERR_BROKER || o->lost.kafka_error == 0);
        if (o->lost.from == FETCHER_FROM_OFFSET)
            CHECK(w, o->lost.offset == c->position);
        c->is_here = false;
        c->is_stuck = false;
        break;
    default: fail_msg("output %d", o->type);
    }
}

static void check_status(struct world *w)
{
    size_t here = 0;
    for (size_t i = 0; i < PARTITIONS; i++) {
        struct fetcher_status status;
        struct claim *c = &w->claims[i];
        bool is_here = fetcher_status(w->f, name_of(i), &status);
        CHECK(w, is_here == c->is_here);
        if (!is_here) {
            w->ready_since[i] = 0;
            continue;
        }
        here++;
        CHECK(w, status.is_paused == c->is_paused);
        if (status.state == FETCHER_STATE_FETCHING)
            CHECK(w, status.offset == c->position);
        if (status.offset == -1)
            c->is_located = false; /* out of range: it is looked for again */
        bool is_ready = is_fetchable(w, i) && status.state == FETCHER_STATE_FETCHING;
        if (is_ready && !status.is_asked_for && !w->is_outstanding) /* nobody is forgotten */
            CHECK(w, fetcher_deadline_ms(w->f) <= w->now_ms + w->config.backoff_ms);
        if (status.state == FETCHER_STATE_WAITING && !w->is_outstanding)
            CHECK(w, fetcher_deadline_ms(w->f) <= w->now_ms + w->config.stuck_backoff_ms);
        if (!is_ready || w->last_asked[i] == w->requests)
            w->ready_since[i] = 0;
        else if (w->ready_since[i] == 0)
            w->ready_since[i] = w->requests + 1;
        else /* nobody starves while answers are cut */
            CHECK(w, w->requests < w->ready_since[i] + 2 * PARTITIONS);
    }
    CHECK(w, here == fetcher_partition_count(w->f));
}

static void step(struct world *w, struct fetcher_input in)
{
    struct fetcher_outputs out;
    in.now_ms = w->now_ms;
    fetcher_step(w->f, &in, &out);
    for (size_t i = 0; i < out.count; i++)
        carry_out(w, &out.list[i]);
    check_status(w);
}

/* What a shell does after each event: full sinks are said, then it is the fetcher's turn. */
static void settle(struct world *w)
{
    for (size_t s = 0; s < SINKS; s++) {
        bool is_full = w->queued[s] >= w->queue_max;
        if (is_full == w->told_full[s])
            continue;
        w->told_full[s] = is_full;
        step(w, (struct fetcher_input){.type = FETCHER_IN_ROOM,
                                       .room = {.sink = s, .has_room = !is_full}});
    }
    for (int turns = 0; fetcher_deadline_ms(w->f) <= w->now_ms; turns++) {
        CHECK(w, turns < TURNS_MAX);
        step(w, (struct fetcher_input){.type = FETCHER_IN_TURN});
    }
}

/* ---- what happens ---- */

static int64_t some_offset(struct world *w, size_t i)
{
    int64_t range = w->logs[i].end - w->logs[i].start + 6;
    int64_t offset = w->logs[i].start - 3 + (int64_t)rng_below(&w->rng, (uint64_t)range);
    return offset < 0 ? 0 : offset;
}

static void add(struct world *w, size_t i)
{
    struct claim *c = &w->claims[i];
    if (c->is_here) { /* again: nothing happens */
        step(w, (struct fetcher_input){
                    .type = FETCHER_IN_ADD,
                    .partition = name_of(i),
                    .add = {.from = FETCHER_FROM_OFFSET,
                            .offset = 1 << 20,
                            .tag = 1 << 20,
                            .sink = sink_of(i),
                            .sink_has_room = !w->told_full[sink_of(i)]},
                });
        return;
    }
    enum fetcher_from from = (enum fetcher_from)rng_below(&w->rng, 4);
    if (w->is_calm)
        from = FETCHER_FROM_EARLIEST;
    *c = (struct claim){.is_here = true,
                        .is_paused = chance(w, 10),
                        .is_located = from == FETCHER_FROM_OFFSET,
                        .position = some_offset(w, i),
                        .tag = ++w->tags};
    step(w, (struct fetcher_input){
                .type = FETCHER_IN_ADD,
                .partition = name_of(i),
                .add = {.from = from,
                        .offset = c->position,
                        .tag = c->tag,
                        .sink = sink_of(i),
                        .sink_has_room = !w->told_full[sink_of(i)],
                        .is_paused = c->is_paused},
            });
}

static void seek(struct world *w, size_t i, int64_t offset)
{
    struct claim *c = &w->claims[i];
    c->position = offset;
    c->is_located = true;
    c->is_stuck = false;
    w->ready_since[i] = 0;
    step(w, (struct fetcher_input){
                .type = FETCHER_IN_SEEK,
                .partition = name_of(i),
                .seek = {.from = FETCHER_FROM_OFFSET, .offset = offset},
            });
}

static void receive(struct world *w)
{
    struct fetcher_input in;
    if (!w->is_outstanding)
        return;
    uint64_t outstanding = w->sent.number;
    if (chance(w, 3)) { /* an answer to another request: nothing happens */
        in = fetch_wire_failed(&w->sent, ZKC_ERR_TIMED_OUT);
        in.failed.request = outstanding - 1;
        step(w, in);
    }
    w->is_outstanding = false;
    if (chance(w, 6)) {
        step(w,
             fetch_wire_failed(&w->sent, chance(w, 30) ? ZKC_ERR_TOO_LARGE : ZKC_ERR_UNREACHABLE));
        return;
    }
    answer_request(w);
    bool is_cut = chance(w, 2);
    struct bytes body = bytes_of(w->response.data, w->response.len - is_cut);
    CHECK(w, fetch_wire_decode(&w->decoder, &w->sent, body, &in) == !is_cut);
    step(w, in);
    if (chance(w, 5))
        step(w, in); /* twice: nothing happens */
}

static void change_log(struct world *w, size_t i)
{
    struct log *log = &w->logs[i];
    switch (rng_below(&w->rng, 6)) {
    case 0: log->is_led_here = !log->is_led_here; break;
    case 1: log->start += (int64_t)rng_below(&w->rng, (uint64_t)(log->end - log->start) + 1); break;
    case 2: log->large_at = chance(w, 20) ? log->end : log->large_at; break;
    default: log->end += (int64_t)rng_below(&w->rng, 30);
    }
}

static void act(struct world *w, size_t i)
{
    struct claim *c = &w->claims[i];
    switch (rng_below(&w->rng, 12)) {
    case 0:
        c->is_here = c->is_stuck = false;
        w->ready_since[i] = 0;
        step(w, (struct fetcher_input){.type = FETCHER_IN_REMOVE, .partition = name_of(i)});
        break;
    case 1:
    case 2:
        c->is_paused = c->is_here && !c->is_paused;
        step(w, (struct fetcher_input){.type = c->is_paused ? FETCHER_IN_PAUSE : FETCHER_IN_RESUME,
                                       .partition = name_of(i)});
        break;
    case 3:
        if (c->is_here)
            seek(w, i, some_offset(w, i));
        break;
    case 4:
    case 5: change_log(w, i); break;
    default: add(w, i);
    }
}

static void read_some(struct world *w)
{
    size_t s = rng_below(&w->rng, SINKS);
    w->queued[s] -= rng_below(&w->rng, w->queued[s] + 1);
}

static void happen(struct world *w)
{
    switch (rng_below(&w->rng, 10)) {
    case 0:
    case 1:
    case 2: act(w, rng_below(&w->rng, PARTITIONS)); break;
    case 3: read_some(w); break;
    case 4: w->now_ms += (int64_t)rng_below(&w->rng, 300); break;
    default: w->now_ms += (int64_t)rng_below(&w->rng, 120); receive(w);
    }
    settle(w);
}

/* ---- the end ---- */

static bool is_all_read(const struct world *w)
{
    for (size_t i = 0; i < PARTITIONS; i++) {
        const struct claim *c = &w->claims[i];
        if (!c->is_here || !c->is_located || c->position != w->logs[i].end)
            return false;
    }
    return true;
}

/* No more troubles: the application wants everything, takes everything, and goes around what does
 * not fit; and the log stands still. */
static void calm_down(struct world *w)
{
    w->is_calm = true;
    for (size_t i = 0; i < PARTITIONS; i++) {
        w->logs[i].is_led_here = true;
        w->claims[i].is_paused = false;
        step(w, (struct fetcher_input){.type = FETCHER_IN_RESUME, .partition = name_of(i)});
    }
    for (int rounds = 0; !is_all_read(w); rounds++) {
        CHECK(w, rounds < 3000);
        for (size_t i = 0; i < PARTITIONS; i++) {
            struct claim *c = &w->claims[i];
            if (!c->is_here)
                add(w, i);
            else if (c->is_stuck) /* behind what does not fit, or to where there is something */
                seek(w, i,
                     c->position >= w->logs[i].start && c->position < w->logs[i].end
                         ? c->position + 1
                         : w->logs[i].start);
        }
        memset(w->queued, 0, sizeof w->queued);
        settle(w);
        receive(w);
        settle(w);
        w->now_ms += 10;
    }
    /* Idle, with a broker that does not wait: no spin. */
    uint64_t before = w->requests;
    for (int64_t end = w->now_ms + 10000; w->now_ms < end; w->now_ms += 10) {
        settle(w);
        receive(w);
        settle(w);
    }
    CHECK(w, w->requests - before <= (uint64_t)(10000 / w->config.backoff_ms) + 2);
}

static void run_seed(uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->seed = seed;
    rng_init(&w->rng, seed);
    w->config = (struct fetcher_config){
        .fetch_bytes_max = BYTES_MAX,
        .fetch_bytes_min = 1,
        .fetch_wait_max_ms = (int32_t)rng_below(&w->rng, 3) * 100,
        .backoff_ms = 200,
        .stuck_backoff_ms = 1000,
        .answer_bytes_max = rng_below(&w->rng, 2) ? 1 << 20 : 3 * BYTES_MAX,
        .reset = (enum fetcher_reset)rng_below(&w->rng, 3),
    };
    w->queue_max = 1 + rng_below(&w->rng, 3);
    w->f = fetcher_new(&w->config);
    assert_non_null(w->f);
    fetch_wire_decoder_init(&w->decoder);
    buf_init(&w->request, 1 << 20);
    buf_init(&w->response, 1 << 20);
    for (size_t i = 0; i < PARTITIONS; i++) {
        buf_init(&w->records[i], 1 << 20);
        w->logs[i] = (struct log){
            .start = (int64_t)rng_below(&w->rng, 10), .is_led_here = true, .large_at = -1};
        w->logs[i].end = w->logs[i].start + (int64_t)rng_below(&w->rng, 50);
    }
    for (int n = 0; n < STEPS; n++)
        happen(w);
    calm_down(w);
    for (size_t i = 0; i < PARTITIONS; i++)
        buf_deinit(&w->records[i]);
    buf_deinit(&w->request);
    buf_deinit(&w->response);
    fetch_wire_decoder_deinit(&w->decoder);
    fetcher_free(w->f);
    free(w);
}

static void test_seeds(void **state)
{
    (void)state;
    const char *one = getenv("FETCHER_SEED");
    if (one) {
        run_seed(strtoull(one, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= SEEDS_DEFAULT; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_seeds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
