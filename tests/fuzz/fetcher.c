/* A fetcher whose broker answers any bytes. The input is a list of events: a byte for what happens,
 * two for a length, and so many bytes of an answer's body. */
#include "tests/fuzz/fuzz.h"
#include "zkconsumer/core/fetch/fetch_wire.h"
#include <assert.h>
#include <stdlib.h>

#define PARTITIONS 3

struct run {
    struct fetcher *f;
    struct fetch_wire_decoder decoder;
    struct fetch_wire_sent sent;
    bool is_outstanding;
    int64_t now_ms;
    int64_t positions[PARTITIONS]; /* -1: not known */
};

static void send_request(struct run *r, const struct fetcher_output *o)
{
    struct buf body;
    assert(!r->is_outstanding && o->request.count > 0);
    buf_init(&body, 1 << 20);
    fetch_wire_encode(o, &body, &r->sent);
    assert(!body.failed);
    buf_deinit(&body);
    r->is_outstanding = true;
}

static void carry_out(struct run *r, const struct fetcher_output *o)
{
    int64_t *position = &r->positions[o->tag];
    char text[512];
    switch (o->type) {
    case FETCHER_OUT_FETCH:
    case FETCHER_OUT_LIST_OFFSETS: send_request(r, o); break;
    case FETCHER_OUT_CHUNK:
        assert(o->chunk.offset == *position && o->chunk.next_offset > *position);
        assert(o->chunk.records.len > 0);
        *position = o->chunk.next_offset;
        break;
    case FETCHER_OUT_MOVED:
        assert(o->moved.new_offset >= 0);
        *position = o->moved.new_offset;
        break;
    case FETCHER_OUT_ERROR: fetcher_error_text(r->f, o, text, sizeof text); break;
    case FETCHER_OUT_LEADER_LOST:
        assert(o->lost.from != FETCHER_FROM_OFFSET || o->lost.offset == *position);
        *position = -1;
        break;
    }
}

static void step(struct run *r, struct fetcher_input in)
{
    struct fetcher_outputs out;
    in.now_ms = r->now_ms;
    fetcher_step(r->f, &in, &out);
    for (size_t i = 0; i < out.count; i++)
        carry_out(r, &out.list[i]);
}

static void add(struct run *r, int32_t i)
{
    struct fetcher_status status;
    struct topic_partition name = {"t", i};
    if (fetcher_status(r->f, name, &status))
        return;
    enum fetcher_from from = i == 2 ? FETCHER_FROM_RESET : FETCHER_FROM_OFFSET;
    r->positions[i] = i == 2 ? -1 : 5;
    step(r,
         (struct fetcher_input){
             .type = FETCHER_IN_ADD,
             .partition = name,
             .add = {
                 .from = from, .offset = 5, .tag = (uint64_t)i, .sink = 1, .sink_has_room = true}});
}

static void answer(struct run *r, struct bytes body)
{
    struct fetcher_input in;
    r->is_outstanding = false;
    fetch_wire_decode(&r->decoder, &r->sent, body, &in);
    step(r, in);
}

static void happen(struct run *r, uint8_t what, struct bytes body)
{
    r->now_ms += what >> 2;
    for (int32_t i = 0; i < PARTITIONS; i++)
        add(r, i);
    for (int turns = 0; fetcher_deadline_ms(r->f) <= r->now_ms; turns++) {
        assert(turns < 4);
        step(r, (struct fetcher_input){.type = FETCHER_IN_TURN});
    }
    if (!r->is_outstanding) {
        r->now_ms = fetcher_deadline_ms(r->f) == INT64_MAX ? r->now_ms : fetcher_deadline_ms(r->f);
        return;
    }
    if ((what & 3) != 3) {
        answer(r, body);
        return;
    }
    r->is_outstanding = false;
    step(r, fetch_wire_failed(&r->sent, ZKC_ERR_UNREACHABLE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fetcher_config config = {
        .fetch_bytes_max = 100,
        .fetch_bytes_min = 1,
        .fetch_wait_max_ms = 50,
        .backoff_ms = 20,
        .stuck_backoff_ms = 30,
        .answer_bytes_max = 300,
        .reset = FETCHER_RESET_SMALLEST,
    };
    struct run r = {.f = fetcher_new(&config)};
    assert(r.f);
    fetch_wire_decoder_init(&r.decoder);
    while (size >= 3) {
        size_t len = (size_t)(data[1] << 8 | data[2]);
        len = len < size - 3 ? len : size - 3;
        /* A copy of its own size, so that reading past its end is seen. */
        uint8_t *body = malloc(len + 1);
        assert(body);
        memcpy(body, data + 3, len);
        happen(&r, data[0], bytes_of(body, len));
        free(body);
        data += 3 + len;
        size -= 3 + len;
    }
    fetch_wire_decoder_deinit(&r.decoder);
    fetcher_free(r.f);
    return 0;
}
