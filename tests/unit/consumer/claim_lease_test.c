/* Claims under a lease: what is handed out until when, what counts as finished, what is in the
 * application's hands; of the gate alone, and of the streams that ask it. */
#include "tests/unit/test.h"
#include "zkconsumer/consumer/loop.h"
#include "zkconsumer/consumer/stream.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/wire/message_set.h"
#include "zkconsumer/io/boot_clock.h"
#include <event2/event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>

/* The clock that the leases of these tests read. */
static _Atomic int64_t now_ms;
static _Atomic int64_t step_ms;      /* it goes on by so much with each look */
static struct claim *closed_by_look; /* by the next one; NULL: none */

static int64_t test_now_ms(void)
{
    if (closed_by_look)
        claim_close(closed_by_look, GATE_REVOKED);
    closed_by_look = NULL;
    return atomic_fetch_add(&now_ms, atomic_load(&step_ms));
}

static struct gate_lease *lease_until(int64_t end_ms)
{
    struct gate_lease *lease = gate_lease_new();
    assert_non_null(lease);
    lease->now_ms = test_now_ms;
    gate_lease_move(lease, end_ms);
    atomic_store(&now_ms, 0);
    atomic_store(&step_ms, 0);
    return lease;
}

static struct claim *bound_claim(struct gate_lease *lease, zkc_stream *stream, int64_t position,
                                 bool counts_when_taken)
{
    struct claim *claim = claim_new(stream, 3, position, false);
    assert_non_null(claim);
    claim_bind(claim, lease, counts_when_taken);
    return claim;
}

static struct claim *claim_under(struct gate_lease *lease, zkc_stream *stream, int64_t position)
{
    return bound_claim(lease, stream, position, false);
}

static void finish(struct claim *claim, int64_t next, enum zkc_err want, bool want_drained)
{
    bool is_drained;
    assert_int_equal(claim_finish(claim, next, &is_drained), want);
    assert_int_equal(is_drained, want_drained);
}

/* ---- the gate ---- */

static void test_nothing_passes_at_or_after_the_end(void **state)
{
    (void)state;
    struct gate_lease *lease = lease_until(100);
    struct claim *claim = claim_under(lease, NULL, 0);
    static const struct {
        int64_t now_ms;
        enum gate_answer want;
    } cases[] = {{0, GATE_PASSED},
                 {99, GATE_PASSED},
                 {100, GATE_FENCED},
                 {101, GATE_FENCED},
                 {5000, GATE_FENCED}};
    int64_t offset = 0;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        atomic_store(&now_ms, cases[i].now_ms);
        assert_int_equal(claim_pass(claim, offset), cases[i].want);
        offset += cases[i].want == GATE_PASSED;
        assert_int_equal(gate_position(&claim->gate), offset); /* fenced: nothing changed */
        assert_int_equal(claim->handed, offset);
    }
    gate_lease_move(lease, 6000); /* the same session again: it goes on where it stopped */
    assert_int_equal(claim_pass(claim, offset), GATE_PASSED);
    claim_close(claim, GATE_LOST);
    atomic_store(&now_ms, 7000);
    assert_int_equal(claim_pass(claim, offset + 1), GATE_CLOSED); /* closed says more than fenced */
    claim_unref(claim);
    gate_lease_unref(lease);
}

static void test_a_new_session_does_not_open_an_old_claim(void **state)
{
    (void)state;
    struct gate_lease *old = lease_until(100), *new = lease_until(10000);
    struct claim *before = claim_under(old, NULL, 0), *after = claim_under(new, NULL, 0);
    gate_lease_end(old);
    assert_int_equal(claim_pass(before, 0), GATE_FENCED);
    gate_lease_move(old, INT64_MAX); /* whoever mixes the two up */
    assert_int_equal(claim_pass(before, 0), GATE_FENCED);
    assert_int_equal(claim_pass(after, 0), GATE_PASSED);
    gate_lease_unref(old); /* claims keep their own */
    gate_lease_unref(new);
    assert_int_equal(claim_pass(before, 0), GATE_FENCED);
    assert_int_equal(claim_pass(after, 1), GATE_PASSED);
    claim_unref(before);
    claim_unref(after);
    gate_lease_unref(NULL);
}

static void test_a_lease_begins_over(void **state)
{
    (void)state;
    struct gate_lease *lease = gate_lease_new();
    assert_non_null(lease);
    assert_true(gate_lease_is_over(lease));
    gate_lease_move(lease, boot_clock_ms() + INT32_MAX);
    assert_false(gate_lease_is_over(lease));
    gate_lease_unref(lease);
}

/* The one look at the clock comes behind the gate: a lease that ends on the way stops the message,
 * and nothing tells that it had passed. */
static void test_what_the_lease_stops_behind_the_gate_is_taken_back(void **state)
{
    (void)state;
    struct gate_lease *lease = lease_until(100);
    struct claim *claim = claim_under(lease, NULL, 5);
    assert_int_equal(claim_pass(claim, 7), GATE_PASSED);
    finish(claim, 8, ZKC_OK, false);
    atomic_store(&now_ms, 100);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(claim_pass(claim, 20), GATE_FENCED);
        assert_int_equal(gate_position(&claim->gate), 8);
        assert_true(claim_is_drained(claim));
        finish(claim, 21, ZKC_ERR_INVALID, false);
    }
    gate_lease_move(lease, 200);
    assert_int_equal(claim_pass(claim, 20), GATE_PASSED);
    assert_int_equal(gate_position(&claim->gate), 21);
    claim_unref(claim);

    claim = claim_under(lease, NULL, -1); /* a position that is not known is not known again */
    atomic_store(&now_ms, 200);
    assert_int_equal(claim_pass(claim, 20), GATE_FENCED);
    assert_int_equal(gate_position(&claim->gate), -1);
    claim_unref(claim);
    gate_lease_unref(lease);
}

/* A gate that is closed in that moment has given away a position that counts the message. */
static void test_what_cannot_be_taken_back_is_late(void **state)
{
    (void)state;
    struct gate_lease *lease = lease_until(100);
    static const struct {
        int64_t now_ms;
        enum gate_answer want;
    } cases[] = {{99, GATE_PASSED}, {100, GATE_LATE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct claim *claim = claim_under(lease, NULL, 5);
        atomic_store(&now_ms, cases[i].now_ms);
        closed_by_look = claim;
        assert_int_equal(claim_pass(claim, 5), cases[i].want);
        assert_int_equal(gate_position(&claim->gate), 6);
        assert_false(claim_want_drained(claim));
        finish(claim, 6, ZKC_OK, true);
        assert_int_equal(claim_pass(claim, 6), GATE_CLOSED);
        claim_unref(claim);
    }
    gate_lease_unref(lease);
}

/* Commits read the position at any time there. */
static void test_nothing_is_taken_back_where_taking_counts(void **state)
{
    (void)state;
    struct gate_lease *lease = lease_until(100);
    struct claim *claim = bound_claim(lease, NULL, 5, true);
    atomic_store(&now_ms, 100);
    assert_int_equal(claim_pass(claim, 5), GATE_FENCED);
    assert_int_equal(gate_position(&claim->gate), 5);
    atomic_store(&now_ms, 99);
    atomic_store(&step_ms, 1);
    assert_int_equal(claim_pass(claim, 5), GATE_LATE);
    assert_int_equal(gate_position(&claim->gate), 6);
    assert_int_equal(claim_pass(claim, 6), GATE_FENCED);
    claim_unref(claim);
    gate_lease_unref(lease);
}

static void test_finished_follows_what_was_handed_out(void **state)
{
    (void)state;
    struct gate_lease *lease = lease_until(100);
    struct claim *claim = claim_under(lease, NULL, 5);
    assert_true(claim_is_drained(claim));
    assert_int_equal(claim->finished, 5);
    assert_int_equal(claim_pass(claim, 5), GATE_PASSED);
    assert_int_equal(claim_pass(claim, 9), GATE_PASSED);
    assert_false(claim_is_drained(claim));
    finish(claim, 6, ZKC_OK, false);
    assert_int_equal(claim->finished, 6);
    finish(claim, 11, ZKC_ERR_INVALID, false); /* was never handed out */
    finish(claim, 4, ZKC_OK, false);           /* late: below what is finished */
    assert_int_equal(claim->finished, 6);
    assert_false(claim_is_drained(claim));
    finish(claim, 10, ZKC_OK, false);
    assert_true(claim_is_drained(claim));
    finish(claim, 10, ZKC_OK, false); /* nobody wants to hear of it */
    assert_int_equal(claim_pass(claim, 10), GATE_PASSED);
    assert_int_equal(claim_close(claim, GATE_REVOKED), 11);
    assert_false(claim_want_drained(claim));
    finish(claim, 11, ZKC_OK, true);
    assert_true(claim_want_drained(claim));
    claim_void(claim);
    finish(claim, 11, ZKC_ERR_NOT_OWNED, false);
    claim_unref(claim);
    gate_lease_unref(lease);
}

static void test_positions_that_move_without_a_hand_over(void **state)
{
    (void)state;
    struct gate_lease *lease = lease_until(100);
    struct claim *claim = claim_under(lease, NULL, -1);
    assert_int_equal(claim->finished, -1);
    claim_skip(claim, 700); /* auto.offset.reset has decided */
    assert_int_equal(claim->finished, 700);
    assert_true(claim_is_drained(claim));
    assert_int_equal(claim_pass(claim, 700), GATE_PASSED);
    claim_skip(claim, 900); /* 700 is in somebody's hands: not done with */
    assert_int_equal(claim->finished, 700);
    assert_false(claim_is_drained(claim));
    finish(claim, 701, ZKC_OK, false);
    claim_skip(claim, 20); /* backwards, as after a log that was cut */
    assert_int_equal(claim->finished, 20);
    assert_true(claim_is_drained(claim));
    claim_unref(claim);
    gate_lease_unref(lease);
}

/* A pause or a seek puts a new claim in the place of one of which a message may still be out. */
static void replaced(bool is_continuation)
{
    struct gate_lease *lease = lease_until(100);
    struct claim *old = claim_under(lease, NULL, 5);
    assert_int_equal(claim_pass(old, 5), GATE_PASSED);
    assert_int_equal(claim_close(old, GATE_REVOKED), 6);
    struct claim *new = claim_under(lease, NULL, is_continuation ? 6 : 100);
    claim_replace(new, claim_ref(old), is_continuation);
    /* What lies between is finished only when the old message is; a seek leaves it behind. */
    assert_int_equal(claims_finished(new), is_continuation ? 5 : 100);
    assert_false(claims_drained(new, false));
    assert_int_equal(claim_pass(new, is_continuation ? 6 : 100), GATE_PASSED);
    finish(new, is_continuation ? 7 : 101, ZKC_OK, false);
    assert_int_equal(claims_finished(new), is_continuation ? 5 : 101);
    assert_false(claims_drained(new, true));
    finish(old, 6, ZKC_OK, true); /* the loop wants to hear of the old one, too */
    assert_true(claims_drained(new, true));
    assert_int_equal(claims_finished(new), is_continuation ? 7 : 101);
    assert_null(new->older); /* done with */
    claims_end(claim_ref(new));
    finish(new, 7, ZKC_ERR_NOT_OWNED, false);
    claim_unref(new);
    claim_unref(old);
    gate_lease_unref(lease);
}

static void test_claims_that_replace_each_other(void **state)
{
    (void)state;
    replaced(true);
    replaced(false);
}

static void test_the_end_of_claims_makes_all_void(void **state)
{
    (void)state;
    struct gate_lease *lease = lease_until(100);
    struct claim *claims[3];
    for (int i = 0; i < 3; i++) {
        claims[i] = claim_under(lease, NULL, i);
        assert_int_equal(claim_pass(claims[i], i), GATE_PASSED);
        if (i > 0)
            claim_replace(claims[i], claim_ref(claims[i - 1]), true);
    }
    assert_int_equal(claims_finished(claims[2]), 0); /* the first that is out holds up the rest */
    claims_end(claim_ref(claims[2]));
    for (int i = 0; i < 3; i++) {
        finish(claims[i], i + 1, ZKC_ERR_NOT_OWNED, false);
        claim_unref(claims[i]);
    }
    gate_lease_unref(lease);
    assert_int_equal(claims_finished(NULL), -1);
    assert_true(claims_drained(NULL, true));
    claims_end(NULL);
}

/* A thread that takes and finishes against a loop that closes and waits for the drain: what the
 * loop then believes to be finished is all that was handed out, and it always hears of it. */
struct race {
    struct claim *claim;
    atomic_int told, late;
    atomic_int_fast64_t seen;
};

static void *take_and_finish(void *arg)
{
    struct race *race = arg;
    for (int64_t offset = 0;; offset++) {
        enum gate_answer answer;
        while ((answer = claim_pass(race->claim, offset)) == GATE_FENCED)
            sched_yield();
        race->late += answer == GATE_LATE;
        if (answer == GATE_CLOSED) {
            /* As the stream does: it had raised `handed` for a moment. */
            if (race->claim->drain_wanted && claim_is_drained(race->claim))
                atomic_fetch_add(&race->told, 1);
            return NULL;
        }
        bool is_drained;
        atomic_store(&race->seen, offset + 1);
        if (claim_finish(race->claim, offset + 1, &is_drained) == ZKC_OK && is_drained)
            atomic_fetch_add(&race->told, 1);
    }
}

static void race_to_drain(bool ends_lease)
{
    for (int i = 0; i < 200; i++) {
        struct gate_lease *lease = lease_until(100);
        struct race race = {.claim = claim_under(lease, NULL, 0)};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, take_and_finish, &race), 0);
        while (atomic_load(&race.seen) < i * 5)
            sched_yield();
        if (ends_lease)
            gate_lease_end(lease);
        int64_t position = claim_close(race.claim, i & 1 ? GATE_REVOKED : GATE_LOST);
        bool is_drained = claim_want_drained(race.claim);
        if (is_drained)
            assert_int_equal(race.claim->finished, position);
        pthread_join(thread, NULL);
        assert_true(claim_is_drained(race.claim));
        assert_int_equal(race.claim->finished, position);
        assert_int_equal(race.seen, position); /* each once, none left out */
        assert_in_range(race.late, 0, ends_lease);
        if (!is_drained && !race.told)
            fail_msg("drained, and the loop was not told");
        claim_unref(race.claim);
        gate_lease_unref(lease);
    }
}

static void test_draining_races_with_the_taking_thread(void **state)
{
    (void)state;
    race_to_drain(false);
    race_to_drain(true);
}

/* The lease is moved by one thread and read by another: no message passes beyond its end. */
static void *take_under_a_moving_lease(void *arg)
{
    struct race *race = arg;
    for (int64_t offset = 0;;) {
        switch (claim_pass(race->claim, offset)) {
        case GATE_PASSED: atomic_store(&race->seen, ++offset); break;
        case GATE_LATE: atomic_fetch_add(&race->late, 1); break;
        case GATE_FENCED: sched_yield(); break;
        case GATE_BELOW:
        case GATE_CLOSED: return NULL;
        }
    }
}

static void test_an_ended_lease_stops_another_thread(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct gate_lease *lease = lease_until(100);
        struct race race = {.claim = claim_under(lease, NULL, 0)};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, take_under_a_moving_lease, &race), 0);
        while (atomic_load(&race.seen) < i)
            sched_yield();
        gate_lease_end(lease);
        atomic_thread_fence(memory_order_seq_cst); /* who is not seen yet sees the end */
        int64_t at_end = atomic_load(&race.seen);
        for (int k = 0; k < 20; k++)
            sched_yield();
        claim_close(race.claim, GATE_LOST);
        pthread_join(thread, NULL);
        /* The one in flight may be through, and one be late: of the closing, that came before it
         * was taken back. The gate's position says less: it goes on with each attempt. */
        assert_in_range(race.seen, at_end, at_end + 1);
        assert_in_range(race.late, 0, 1);
        claim_unref(race.claim);
        gate_lease_unref(lease);
    }
}

/* ---- streams ---- */

struct bench {
    struct event_base *base;
    zkc_loop *loop;
    struct stream_hub *hub;
    zkc_stream *stream, *other;
    struct gate_lease *lease;
    struct claim *claim, *other_claim;
    struct buf set;
    unsigned drained, polled, brought;
    zkc_stream *drained_stream;
    atomic_int_fast64_t taken; /* by another thread */
};

static void on_drained(zkc_stream *stream, void *user)
{
    struct bench *b = user;
    b->drained++;
    b->drained_stream = stream;
}

static void on_polled(void *user)
{
    struct bench *b = user;
    b->polled++;
}

static void make_hub(struct bench *b, enum stream_done done_by)
{
    struct stream_hub_options options = {.loop = b->loop,
                                         .chunks_max = 4,
                                         .consumer_timeout_ms = -1,
                                         .decompressed_bytes_max = 1 << 20,
                                         .done_by = done_by,
                                         .on_drained = on_drained,
                                         .on_polled = on_polled,
                                         .user = b,
                                         .now_ms = test_now_ms};
    b->hub = stream_hub_new(&options);
    assert_non_null(b->hub);
    b->stream = stream_new(b->hub, "orders", 0);
    b->other = stream_new(b->hub, "orders", 1);
    assert_non_null(b->stream);
    assert_non_null(b->other);
    b->lease = lease_until(100);
    b->claim = bound_claim(b->lease, b->stream, 0, done_by == STREAM_DONE_TAKEN);
    b->other_claim = bound_claim(b->lease, b->other, 0, done_by == STREAM_DONE_TAKEN);
    buf_init(&b->set, 1 << 20);
    for (int64_t o = 0; o < 3; o++)
        message_set_append(&b->set, o, bytes_of_text("k"), bytes_of_text("v"));
}

static struct bench *bench_new(struct event_base *base)
{
    struct bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->base = base;
    assert_int_equal(zkc_loop_open(base, &b->loop), ZKC_OK);
    return b;
}

static int set_up(void **state)
{
    struct bench *b = bench_new(event_base_new());
    make_hub(b, STREAM_DONE_NEXT);
    *state = b;
    return 0;
}

static int set_up_explicit(void **state)
{
    struct bench *b = bench_new(event_base_new());
    make_hub(b, STREAM_DONE_ACKNOWLEDGED);
    *state = b;
    return 0;
}

static int set_up_taken(void **state)
{
    struct bench *b = bench_new(event_base_new());
    make_hub(b, STREAM_DONE_TAKEN);
    *state = b;
    return 0;
}

static int set_up_thread(void **state)
{
    struct bench *b = bench_new(NULL);
    make_hub(b, STREAM_DONE_NEXT);
    *state = b;
    return 0;
}

static void free_hub(void *arg)
{
    struct bench *b = arg;
    claim_unref(b->claim);
    claim_unref(b->other_claim);
    stream_hub_free(b->hub);
    gate_lease_unref(b->lease);
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    assert_int_equal(loop_call(b->loop, free_hub, b), ZKC_OK);
    zkc_loop_close(b->loop);
    if (b->base)
        event_base_free(b->base);
    buf_deinit(&b->set);
    free(b);
    return 0;
}

static void turn(struct bench *b)
{
    event_base_loop(b->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static void push(struct bench *b, zkc_stream *stream, struct claim *claim)
{
    struct chunk chunk = {
        .claim = claim, .high_watermark = 3, .records = buf_bytes(&b->set), .fetch_offset = 0};
    assert_true(stream_push(stream, &chunk));
}

static void expect(zkc_stream *stream, int64_t offset, struct zkc_message *m)
{
    assert_int_equal(zkc_stream_next(stream, 0, m), ZKC_OK);
    assert_int_equal(m->offset, offset);
}

static void expect_nothing(zkc_stream *stream)
{
    struct zkc_message m;
    assert_int_equal(zkc_stream_next(stream, 0, &m), ZKC_ERR_TIMED_OUT);
}

static uint64_t late_of(zkc_stream *stream)
{
    struct stream_counts n;
    stream_count(stream, &n);
    return n.late;
}

static void test_asking_for_the_next_finishes_the_one_before(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    push(b, b->stream, b->claim);
    expect(b->stream, 0, &m);
    assert_int_equal(b->claim->finished, 0);
    assert_false(claim_is_drained(b->claim));
    expect_nothing(b->other); /* another stream's business */
    assert_int_equal(b->claim->finished, 0);
    expect(b->stream, 1, &m);
    assert_int_equal(b->claim->finished, 1);
    expect(b->stream, 2, &m);
    expect_nothing(b->stream);
    assert_int_equal(b->claim->finished, 3);
    assert_true(claim_is_drained(b->claim));
}

static void test_consumer_next_finishes_whatever_stream_it_came_from(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    push(b, b->stream, b->claim);
    push(b, b->other, b->other_claim);
    for (int i = 0; i < 6; i++) {
        int64_t before = b->claim->finished + b->other_claim->finished;
        assert_int_equal(before, i ? i - 1 : 0);
        assert_int_equal(stream_hub_next(b->hub, 0, &m), ZKC_OK);
    }
    assert_int_equal(stream_hub_next(b->hub, 0, &m), ZKC_ERR_TIMED_OUT);
    assert_int_equal(b->claim->finished, 3);
    assert_int_equal(b->other_claim->finished, 3);
}

static void is_finished_afterwards(zkc_stream *stream, const struct zkc_message *m, void *user)
{
    (void)stream;
    struct bench *b = user;
    assert_int_equal(b->claim->finished, m->offset);
    b->brought++;
}

static void test_callback_finishes_when_it_returns(void **state)
{
    struct bench *b = *state;
    zkc_stream_set_on_message(b->stream, is_finished_afterwards, b, 0);
    push(b, b->stream, b->claim);
    turn(b);
    assert_int_equal(b->brought, 3);
    assert_int_equal(b->claim->finished, 3);
}

static void test_a_message_is_acknowledged_early(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    push(b, b->stream, b->claim);
    expect(b->stream, 0, &m);
    assert_int_equal(zkc_message_acknowledge(&m), ZKC_OK);
    assert_int_equal(b->claim->finished, 1);
    assert_int_equal(zkc_message_acknowledge(NULL), ZKC_ERR_INVALID);
    m.claim = NULL;
    assert_int_equal(zkc_message_acknowledge(&m), ZKC_ERR_INVALID);
}

/* In compat a fence binds claims, too: but there a message counts when it is taken. */
static void test_nothing_to_acknowledge_where_taking_counts(void **state)
{
    struct bench *b = *state;
    struct zkc_message m, *dup;
    push(b, b->stream, b->claim);
    expect(b->stream, 0, &m);
    dup = zkc_message_dup(&m);
    assert_int_equal(zkc_message_acknowledge(&m), ZKC_ERR_INVALID);
    assert_int_equal(zkc_message_acknowledge(dup), ZKC_ERR_INVALID);
    assert_int_equal(gate_position(&b->claim->gate), 1);
    zkc_message_free(dup);
    expect(b->stream, 1, &m);
    expect(b->stream, 2, &m);
    expect_nothing(b->stream);
    claim_close(b->claim, GATE_REVOKED);
    assert_true(claim_want_drained(b->claim)); /* nothing of it is kept for an acknowledgement */
}

static void test_explicit_acknowledgement(void **state)
{
    struct bench *b = *state;
    struct zkc_message m, *dups[3];
    push(b, b->stream, b->claim);
    for (int i = 0; i < 3; i++) {
        expect(b->stream, i, &m);
        dups[i] = zkc_message_dup(&m);
        assert_non_null(dups[i]);
    }
    expect_nothing(b->stream);
    assert_int_equal(b->claim->finished, 0); /* asking says nothing */
    assert_int_equal(zkc_message_acknowledge(dups[1]), ZKC_OK);
    assert_int_equal(b->claim->finished, 2);
    assert_int_equal(zkc_message_acknowledge(dups[0]), ZKC_OK); /* included already */
    assert_int_equal(b->claim->finished, 2);
    claim_close(b->claim, GATE_REVOKED);
    assert_false(claim_want_drained(b->claim));
    turn(b);
    assert_int_equal(b->drained, 0);
    assert_int_equal(zkc_message_acknowledge(dups[2]), ZKC_OK);
    turn(b);
    assert_int_equal(b->drained, 1);
    assert_ptr_equal(b->drained_stream, b->stream);
    claim_void(b->claim);
    assert_int_equal(zkc_message_acknowledge(dups[2]), ZKC_ERR_NOT_OWNED);
    for (int i = 0; i < 3; i++)
        zkc_message_free(dups[i]);
}

static void test_the_loop_hears_when_the_last_one_is_finished(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    push(b, b->stream, b->claim);
    expect(b->stream, 0, &m);
    assert_int_equal(claim_close(b->claim, GATE_REVOKED), 1);
    assert_false(claim_want_drained(b->claim));
    turn(b);
    assert_int_equal(b->drained, 0);
    expect_nothing(b->stream); /* the rest is not handed out */
    turn(b);
    assert_int_equal(b->drained, 1);
    assert_int_equal(b->claim->finished, 1);
}

static void test_delivery_stops_and_goes_on_with_the_lease(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    push(b, b->stream, b->claim);
    push(b, b->stream, b->claim);
    expect(b->stream, 0, &m);
    atomic_store(&now_ms, 100);
    for (int i = 0; i < 3; i++)
        expect_nothing(b->stream);
    assert_int_equal(stream_hub_next(b->hub, 0, &m), ZKC_ERR_TIMED_OUT);
    assert_int_equal(b->claim->finished, 1); /* the one in hand was finished by asking */
    gate_lease_move(b->lease, 200);
    stream_hub_look_again(b->hub);
    expect(b->stream, 1, &m); /* none skipped, none twice */
    expect(b->stream, 2, &m);
    expect_nothing(b->stream);
    assert_int_equal(late_of(b->stream), 0);
}

static void test_a_lost_claim_gives_way_to_the_next(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    push(b, b->stream, b->claim);
    expect(b->stream, 0, &m);
    gate_lease_end(b->lease);
    expect_nothing(b->stream);
    struct gate_lease *lease = lease_until(1000);
    struct claim *claim = claim_under(lease, b->stream, 1);
    push(b, b->stream, claim); /* of the new session; the old claim stands before it */
    expect_nothing(b->stream);
    claim_close(b->claim, GATE_LOST);
    stream_hub_look_again(b->hub);
    expect(b->stream, 1, &m);
    claim_unref(claim);
    gate_lease_unref(lease);
}

static void test_the_clock_is_read_once_for_each_message(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    push(b, b->stream, b->claim);
    atomic_store(&step_ms, 1);
    for (int i = 0; i < 3; i++) {
        expect(b->stream, i, &m);
        assert_int_equal(now_ms, i + 1);
        assert_int_equal(stream_hub_polled_ms(b->hub, 50), i); /* the same look says it, too */
    }
}

static void test_what_is_late_in_flight_is_counted(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    push(b, b->stream, b->claim);
    expect(b->stream, 0, &m);
    atomic_store(&now_ms, 100);
    closed_by_look = b->claim; /* the lease is over, and the gate is closed behind the message */
    expect(b->stream, 1, &m);
    assert_int_equal(late_of(b->stream), 1);
    expect_nothing(b->stream);
    assert_int_equal(late_of(b->stream), 1);
    assert_true(claim_want_drained(b->claim));
    assert_int_equal(b->claim->finished, 2);
}

static void test_what_is_late_where_taking_counts_is_counted(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    push(b, b->stream, b->claim);
    atomic_store(&now_ms, 99);
    atomic_store(&step_ms, 1); /* the lease ends between the gate and the end of the call */
    expect(b->stream, 0, &m);
    assert_int_equal(late_of(b->stream), 1);
    atomic_store(&step_ms, 0);
    expect_nothing(b->stream);
    assert_int_equal(late_of(b->stream), 1);
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void test_fd_rests_while_the_lease_is_over(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    int fd = zkc_stream_fd(b->stream);
    push(b, b->stream, b->claim);
    expect(b->stream, 0, &m);
    atomic_store(&now_ms, 100);
    expect_nothing(b->stream);
    assert_false(is_readable(fd));
    stream_hub_look_again(b->hub);
    assert_true(is_readable(fd)); /* a look costs nothing */
    expect_nothing(b->stream);
    assert_false(is_readable(fd));
    gate_lease_move(b->lease, 200);
    stream_hub_look_again(b->hub);
    assert_true(is_readable(fd));
    expect(b->stream, 1, &m);
}

static void count_brought(zkc_stream *stream, const struct zkc_message *m, void *user)
{
    (void)stream;
    (void)m;
    struct bench *b = user;
    if (++b->brought == 1)
        atomic_store(&now_ms, 100);
}

static void test_callbacks_wait_for_the_lease(void **state)
{
    struct bench *b = *state;
    zkc_stream_set_on_message(b->stream, count_brought, b, 0);
    push(b, b->stream, b->claim);
    turn(b);
    turn(b);
    assert_int_equal(b->brought, 1);
    gate_lease_move(b->lease, 200);
    stream_hub_look_again(b->hub);
    turn(b);
    assert_int_equal(b->brought, 3);
}

struct taker {
    zkc_stream *stream;
    atomic_bool has_begun;
    enum zkc_err err;
    int64_t offset;
};

static void *take_one(void *arg)
{
    struct taker *t = arg;
    struct zkc_message m;
    atomic_store(&t->has_begun, true);
    t->err = zkc_stream_next(t->stream, -1, &m);
    t->offset = m.offset;
    return NULL;
}

/* However the two meet, a taker that waits for its lease is woken when it goes on. */
static void test_waiting_takers_hear_of_the_lease(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    push(b, b->stream, b->claim);
    expect(b->stream, 0, &m);
    for (int i = 1; i < 3; i++) {
        atomic_store(&now_ms, 100 * i);
        struct taker taker = {.stream = b->stream};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, take_one, &taker), 0);
        while (!atomic_load(&taker.has_begun))
            sched_yield();
        for (int k = 0; k < i * 10; k++)
            sched_yield();
        gate_lease_move(b->lease, 100 * i + 100);
        stream_hub_look_again(b->hub);
        pthread_join(thread, NULL);
        assert_int_equal(taker.err, ZKC_OK);
        assert_int_equal(taker.offset, i);
    }
}

/* Takes all that there is, until the claim is closed. */
static void *take_until_closed(void *arg)
{
    struct bench *b = arg;
    struct zkc_message m;
    while (!gate_is_closed(&b->claim->gate))
        if (zkc_stream_next(b->stream, 0, &m) == ZKC_OK)
            atomic_store(&b->taken, m.offset + 1);
    (void)!zkc_stream_next(b->stream, 0, &m); /* done with the last one */
    return NULL;
}

static void test_a_taker_that_finishes_meets_a_loop_that_waits(void **state)
{
    struct bench *b = *state;
    buf_clear(&b->set);
    for (int64_t o = 0; o < 1000; o++)
        message_set_append(&b->set, o, bytes_of_text("k"), bytes_of_text("v"));
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        claim_unref(b->claim);
        b->claim = claim_under(b->lease, b->stream, 0);
        b->drained = 0;
        atomic_store(&b->taken, 0);
        push(b, b->stream, b->claim);
        assert_int_equal(pthread_create(&thread, NULL, take_until_closed, b), 0);
        while (atomic_load(&b->taken) < i * 5)
            sched_yield();
        int64_t position = claim_close(b->claim, GATE_REVOKED);
        bool is_drained = claim_want_drained(b->claim);
        if (is_drained)
            assert_int_equal(b->claim->finished, position);
        pthread_join(thread, NULL);
        turn(b);
        if (!is_drained && !b->drained)
            fail_msg("drained, and the loop was not told");
        assert_int_equal(b->claim->finished, position);
        assert_int_equal(b->taken, position);
        stream_drop_closed(b->stream);
    }
}

/* ---- polling ---- */

static int64_t polled_at(struct bench *b, int64_t at_ms)
{
    atomic_store(&now_ms, at_ms);
    return stream_hub_polled_ms(b->hub, at_ms);
}

static void test_an_application_that_has_nothing_need_not_poll(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    assert_int_equal(polled_at(b, 10), 10);
    push(b, b->stream, b->claim);
    assert_int_equal(polled_at(b, 20), 10); /* something waits since then */
    expect(b->stream, 0, &m);
    assert_int_equal(polled_at(b, 30), 20); /* it has one in its hands since then */
    push(b, b->stream, b->claim);
    assert_int_equal(polled_at(b, 40), 20);
    expect(b->stream, 1, &m);
    assert_int_equal(polled_at(b, 50), 40);
    expect(b->stream, 2, &m);
    assert_int_equal(polled_at(b, 60), 50);
    expect_nothing(b->stream);
    assert_int_equal(polled_at(b, 70), 70); /* done with everything */
    assert_int_equal(polled_at(b, 80), 80);
}

static void test_each_stream_that_has_something_is_to_be_polled(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    atomic_store(&now_ms, 10);
    push(b, b->stream, b->claim);
    push(b, b->other, b->other_claim);
    atomic_store(&now_ms, 20);
    expect(b->stream, 0, &m);
    assert_int_equal(polled_at(b, 30), 10); /* the other one stands still */
    expect(b->other, 0, &m);
    assert_int_equal(polled_at(b, 40), 20);
    assert_int_equal(stream_hub_next(b->hub, 0, &m), ZKC_OK); /* over all streams */
    assert_int_equal(polled_at(b, 50), 40);
    assert_int_equal(polled_at(b, 60), 40);
}

/* A report, and an answer that there is nothing to be had for now, end a poll as a message does. */
static void test_every_answer_is_of_a_poll(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    atomic_store(&now_ms, 10);
    struct chunk report = {.claim = b->claim, .err = ZKC_ERR_OFFSET_RANGE};
    assert_true(stream_push(b->stream, &report));
    push(b, b->stream, b->claim);
    atomic_store(&now_ms, 20);
    assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_OK);
    assert_int_equal(m.err, ZKC_ERR_OFFSET_RANGE);
    assert_int_equal(polled_at(b, 30), 20);
    gate_lease_move(b->lease, 15);
    assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_ERR_TIMED_OUT);
    assert_int_equal(polled_at(b, 40), 30);
    assert_int_equal(stream_hub_next(b->hub, 0, &m), ZKC_ERR_TIMED_OUT);
    assert_int_equal(polled_at(b, 50), 40);
}

static void test_the_next_poll_is_told_once(void **state)
{
    struct bench *b = *state;
    stream_hub_want_poll(b->hub);
    turn(b);
    assert_int_equal(b->polled, 0);
    expect_nothing(b->other);
    expect_nothing(b->stream);
    turn(b);
    assert_int_equal(b->polled, 1);
    struct zkc_message m;
    stream_hub_want_poll(b->hub);
    assert_int_equal(stream_hub_next(b->hub, 0, &m), ZKC_ERR_TIMED_OUT);
    turn(b);
    assert_int_equal(b->polled, 2);
    zkc_stream_set_on_message(b->stream, count_brought, b, 0);
    stream_hub_want_poll(b->hub); /* a callback always asks */
    turn(b);
    assert_int_equal(b->polled, 3);
}

int main(void)
{
#define T(test)          cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define T_EXPLICIT(test) cmocka_unit_test_setup_teardown(test, set_up_explicit, tear_down)
#define T_TAKEN(test)    cmocka_unit_test_setup_teardown(test, set_up_taken, tear_down)
#define T_THREAD(test)   cmocka_unit_test_setup_teardown(test, set_up_thread, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_passes_at_or_after_the_end),
        cmocka_unit_test(test_what_the_lease_stops_behind_the_gate_is_taken_back),
        cmocka_unit_test(test_what_cannot_be_taken_back_is_late),
        cmocka_unit_test(test_nothing_is_taken_back_where_taking_counts),
        cmocka_unit_test(test_a_new_session_does_not_open_an_old_claim),
        cmocka_unit_test(test_a_lease_begins_over),
        cmocka_unit_test(test_finished_follows_what_was_handed_out),
        cmocka_unit_test(test_positions_that_move_without_a_hand_over),
        cmocka_unit_test(test_claims_that_replace_each_other),
        cmocka_unit_test(test_the_end_of_claims_makes_all_void),
        cmocka_unit_test(test_draining_races_with_the_taking_thread),
        cmocka_unit_test(test_an_ended_lease_stops_another_thread),
        T(test_asking_for_the_next_finishes_the_one_before),
        T(test_consumer_next_finishes_whatever_stream_it_came_from),
        T(test_callback_finishes_when_it_returns),
        T(test_a_message_is_acknowledged_early),
        T_EXPLICIT(test_explicit_acknowledgement),
        T_TAKEN(test_nothing_to_acknowledge_where_taking_counts),
        T_TAKEN(test_what_is_late_where_taking_counts_is_counted),
        T(test_the_loop_hears_when_the_last_one_is_finished),
        T(test_delivery_stops_and_goes_on_with_the_lease),
        T(test_a_lost_claim_gives_way_to_the_next),
        T(test_the_clock_is_read_once_for_each_message),
        T(test_what_is_late_in_flight_is_counted),
        T(test_fd_rests_while_the_lease_is_over),
        T(test_callbacks_wait_for_the_lease),
        T(test_a_taker_that_finishes_meets_a_loop_that_waits),
        T_THREAD(test_waiting_takers_hear_of_the_lease),
        T(test_an_application_that_has_nothing_need_not_poll),
        T(test_each_stream_that_has_something_is_to_be_polled),
        T(test_every_answer_is_of_a_poll),
        T(test_the_next_poll_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
