#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/consumer/loop.h"
#include "zkconsumer/consumer/stream.h"
#include "zkconsumer/core/wire/message_set.h"
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a fetched buffer that counts how often it is released ---- */

struct frame {
    struct buf set;
    atomic_int released;
};

static void frame_init(struct frame *f)
{
    buf_init(&f->set, 1 << 20);
    atomic_init(&f->released, 0);
}

static void frame_deinit(struct frame *f)
{
    buf_deinit(&f->set);
}

static void release_frame(void *owner)
{
    struct frame *f = owner;
    atomic_fetch_add(&f->released, 1);
}

/* Messages first .. last, each with its offset as text. */
static void append_messages(struct buf *set, int64_t first, int64_t last)
{
    for (int64_t o = first; o <= last; o++) {
        char text[32];
        snprintf(text, sizeof text, "m%" PRId64, o);
        message_set_append(set, o, bytes_of_text("k"), bytes_of_text(text));
    }
}

static void append_wrapper(struct buf *set, int64_t first, int64_t last)
{
    struct buf inner;
    buf_init(&inner, 1 << 20);
    append_messages(&inner, first, last);
    assert_int_equal(message_set_append_wrapper(set, last, COMPRESSION_GZIP, buf_bytes(&inner)),
                     ZKC_OK);
    buf_deinit(&inner);
}

static struct chunk chunk_of(struct claim *claim, struct frame *f, int64_t fetch_offset)
{
    return (struct chunk){.claim = claim,
                          .fetch_offset = fetch_offset,
                          .high_watermark = 1000,
                          .records = buf_bytes(&f->set),
                          .buffer = {f, release_frame}};
}

/* ---- a hub on a base of the test: its thread is the loop's ---- */

struct bench {
    struct event_base *base;
    zkc_loop *loop;
    struct stream_hub *hub;
    zkc_stream *stream, *other;
    struct claim *claim;
    struct frame frame;
    /* what the hub told */
    unsigned rooms, skips, bads;
    zkc_stream *room_of;
    int64_t skip_position, skip_fetch_offset, bad_offset;
    char bad_text[600];
    /* what the callback got */
    unsigned brought, stop_after;
    int64_t last_offset;
    enum zkc_err last_err;
};

static void on_room(zkc_stream *stream, void *user)
{
    struct bench *b = user;
    b->rooms++;
    b->room_of = stream;
}

static void on_skip(struct claim *claim, int64_t position, int64_t fetch_offset, void *user)
{
    struct bench *b = user;
    assert_non_null(claim->stream);
    b->skips++;
    b->skip_position = position;
    b->skip_fetch_offset = fetch_offset;
}

static void on_bad(struct claim *claim, int64_t offset, const char *text, void *user)
{
    struct bench *b = user;
    assert_non_null(claim->stream);
    b->bads++;
    b->bad_offset = offset;
    snprintf(b->bad_text, sizeof b->bad_text, "%s", text);
}

static struct stream_hub_options options_of(struct bench *b)
{
    return (struct stream_hub_options){.loop = b->loop,
                                       .chunks_max = 2,
                                       .consumer_timeout_ms = -1,
                                       .decompressed_bytes_max = 1 << 20,
                                       .on_room = on_room,
                                       .on_skip = on_skip,
                                       .on_bad = on_bad,
                                       .user = b};
}

static void set_up_hub(struct bench *b)
{
    struct stream_hub_options options = options_of(b);
    b->hub = stream_hub_new(&options);
    assert_non_null(b->hub);
    b->stream = stream_new(b->hub, "orders", 0);
    b->other = stream_new(b->hub, "orders", 1);
    assert_non_null(b->stream);
    assert_non_null(b->other);
    b->claim = claim_new(b->stream, 3, 0, false);
    assert_non_null(b->claim);
    frame_init(&b->frame);
}

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    b->base = event_base_new();
    assert_int_equal(zkc_loop_open(b->base, &b->loop), ZKC_OK);
    set_up_hub(b);
    *state = b;
    return 0;
}

/* The same with a thread of the loop's own: the test's may wait. */
static int set_up_thread(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    assert_int_equal(zkc_loop_open(NULL, &b->loop), ZKC_OK);
    set_up_hub(b);
    *state = b;
    return 0;
}

static void free_hub(void *arg)
{
    struct bench *b = arg;
    claim_unref(b->claim);
    stream_hub_free(b->hub);
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    assert_int_equal(loop_call(b->loop, free_hub, b), ZKC_OK);
    zkc_loop_close(b->loop);
    if (b->base)
        event_base_free(b->base);
    frame_deinit(&b->frame);
    free(b);
    return 0;
}

static void turn(struct bench *b)
{
    event_base_loop(b->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static bool push(struct bench *b, struct frame *f, int64_t fetch_offset)
{
    struct chunk chunk = chunk_of(b->claim, f, fetch_offset);
    return stream_push(b->stream, &chunk);
}

/* The next message must be this one, and is taken without waiting. */
static void expect(zkc_stream *stream, int64_t offset)
{
    struct zkc_message m;
    enum zkc_err err = zkc_stream_next(stream, 0, &m);
    if (err || m.err || m.offset != offset)
        fail_msg("expected %" PRId64 ", got %s, offset %" PRId64 " %s", offset, zkc_err_name(err),
                 err ? -1 : m.offset, err ? "" : zkc_err_name(m.err));
    char text[32];
    snprintf(text, sizeof text, "m%" PRId64, offset);
    assert_int_equal(m.value_len, strlen(text));
    assert_memory_equal(m.value, text, m.value_len);
}

static void expect_nothing(zkc_stream *stream)
{
    struct zkc_message m;
    assert_int_equal(zkc_stream_next(stream, 0, &m), ZKC_ERR_TIMED_OUT);
}

static void expect_report(zkc_stream *stream, enum zkc_err want, int64_t offset, const char *part)
{
    struct zkc_message m;
    assert_int_equal(zkc_stream_next(stream, 0, &m), ZKC_OK);
    assert_int_equal(m.err, want);
    assert_int_equal(m.offset, offset);
    assert_string_equal(m.topic, "orders");
    assert_null(m.key);
    assert_int_equal(strlen(m.value), m.value_len);
    if (!strstr(m.value, part))
        fail_msg("\"%s\" does not say \"%s\"", (const char *)m.value, part);
}

static int64_t position(const struct bench *b)
{
    return gate_position(&b->claim->gate);
}

/* ---- what is taken ---- */

static void test_messages_come_in_order_and_count(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 2);
    assert_true(push(b, &b->frame, 0));
    struct zkc_message m;
    assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_OK);
    assert_string_equal(m.topic, "orders");
    assert_int_equal(m.partition, 3);
    assert_int_equal(m.offset, 0);
    assert_int_equal(m.key_len, 1);
    assert_memory_equal(m.key, "k", 1);
    assert_int_equal(m.high_watermark, 1000);
    assert_int_equal(position(b), 1); /* taken is consumed */
    expect(b->stream, 1);
    expect(b->stream, 2);
    assert_int_equal(position(b), 3);
    assert_int_equal(b->frame.released, 0); /* the last message is still lent */
    expect_nothing(b->stream);
    assert_int_equal(b->frame.released, 1);
    expect_nothing(b->other);

    struct stream_counts counts;
    stream_count(b->stream, &counts);
    assert_int_equal(counts.messages, 3);
    assert_int_equal(counts.bytes, 3 * 3);
    assert_int_equal(counts.chunks, 0);
    assert_int_equal(counts.chunk_bytes, 0);
    assert_int_equal(counts.reports, 0);
    turn(b);
    assert_int_equal(b->skips + b->bads + b->rooms, 0);
}

static void test_null_is_not_empty(void **state)
{
    struct bench *b = *state;
    message_set_append(&b->frame.set, 0, BYTES_NULL, bytes_of("", 0));
    message_set_append(&b->frame.set, 1, bytes_of("", 0), BYTES_NULL);
    assert_true(push(b, &b->frame, 0));
    struct zkc_message m;
    assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_OK);
    assert_null(m.key);
    assert_non_null(m.value);
    assert_int_equal(m.value_len, 0);
    struct zkc_message *dup = zkc_message_dup(&m);
    assert_non_null(dup);
    assert_null(dup->key);
    assert_non_null(dup->value);
    zkc_message_free(dup);
    assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_OK);
    assert_non_null(m.key);
    assert_int_equal(m.key_len, 0);
    assert_null(m.value);
    dup = zkc_message_dup(&m);
    assert_non_null(dup);
    assert_non_null(dup->key);
    assert_null(dup->value);
    zkc_message_free(dup);
    zkc_message_free(NULL);
}

/* A fetch for offset 7 inside of a wrapper brings the whole wrapper. */
static void test_wrapper_is_opened_and_what_was_consumed_skipped(void **state)
{
    struct bench *b = *state;
    claim_unref(b->claim);
    b->claim = claim_new(b->stream, 3, 7, false);
    append_wrapper(&b->frame.set, 5, 9);
    append_messages(&b->frame.set, 10, 10);
    assert_true(push(b, &b->frame, 7));
    for (int64_t offset = 7; offset <= 10; offset++)
        expect(b->stream, offset);
    expect_nothing(b->stream);
    turn(b);
    assert_int_equal(b->skips, 0);
}

static void test_incomplete_last_message_is_no_error(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 1);
    b->frame.set.len -= 5;
    assert_true(push(b, &b->frame, 0));
    expect(b->stream, 0);
    expect_nothing(b->stream);
}

static void test_message_outlives_its_stream_when_copied(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 1);
    assert_true(push(b, &b->frame, 0));
    struct zkc_message m;
    assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_OK);
    struct zkc_message *dup = zkc_message_dup(&m);
    assert_non_null(dup);
    free_hub(b);
    memset(b->frame.set.data, 0, b->frame.set.len);
    assert_string_equal(dup->topic, "orders");
    assert_int_equal(dup->partition, 3);
    assert_int_equal(dup->offset, 0);
    assert_memory_equal(dup->key, "k", 1);
    assert_memory_equal(dup->value, "m0", 2);
    assert_int_equal(dup->value_len, 2);
    assert_int_equal(dup->high_watermark, 1000);
    zkc_message_free(dup);
    frame_deinit(&b->frame);
    set_up_hub(b); /* for the tear-down */
}

/* ---- bounds ---- */

static void test_queue_is_bounded_and_tells_of_room(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 0);
    assert_int_equal(stream_room(b->stream), 2);
    assert_true(push(b, &b->frame, 0));
    assert_true(push(b, &b->frame, 1));
    struct stream_counts counts;
    stream_count(b->stream, &counts);
    assert_int_equal(counts.chunks, 2);
    assert_int_equal(counts.chunk_bytes, 2 * b->frame.set.len);
    turn(b);
    assert_int_equal(b->rooms, 0); /* nobody asked */

    assert_false(push(b, &b->frame, 2));
    assert_int_equal(b->frame.released, 0);
    assert_int_equal(stream_room(b->stream), 0);
    turn(b);
    assert_int_equal(b->rooms, 0); /* still full */
    expect(b->stream, 0);
    turn(b);
    assert_int_equal(b->rooms, 1);
    assert_ptr_equal(b->room_of, b->stream);
    assert_int_equal(stream_room(b->stream), 1);
    turn(b);
    assert_int_equal(b->rooms, 1);              /* once for each asking */
    assert_int_equal(stream_room(b->other), 2); /* each stream has its own */
}

static void test_dropping_makes_room(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 0);
    assert_true(push(b, &b->frame, 0));
    assert_true(push(b, &b->frame, 1));
    assert_int_equal(stream_room(b->stream), 0);
    assert_int_equal(stream_drop_closed(b->stream), 0);
    claim_close(b->claim, GATE_REVOKED);
    assert_int_equal(stream_drop_closed(b->stream), 2);
    assert_int_equal(b->frame.released, 2);
    turn(b);
    assert_int_equal(b->rooms, 1);
}

/* ---- revoked, sought, moved ---- */

static void test_closed_claim_hands_out_nothing_more(void **state)
{
    struct bench *b = *state;
    struct claim *staying = claim_new(b->stream, 4, 0, false);
    append_messages(&b->frame.set, 0, 4);
    assert_true(push(b, &b->frame, 0));
    struct chunk second = chunk_of(staying, &b->frame, 0);
    assert_true(stream_push(b->stream, &second));
    expect(b->stream, 0);
    expect(b->stream, 1);
    assert_int_equal(claim_close(b->claim, GATE_LOST), 2);
    assert_int_equal(stream_drop_closed(b->stream), 0); /* what is queued is another's */

    struct zkc_message m; /* the rest of the chunk is passed over, the next one begins */
    assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_OK);
    assert_int_equal(m.partition, 4);
    assert_int_equal(m.offset, 0);
    assert_int_equal(b->frame.released, 1);
    assert_int_equal(position(b), 2);

    assert_true(push(b, &b->frame, 2)); /* too late: taken and dropped */
    assert_int_equal(b->frame.released, 2);
    struct stream_counts counts;
    stream_count(b->stream, &counts);
    assert_int_equal(counts.chunks, 0);
    claim_unref(staying);
}

static void test_queued_chunk_of_closed_claim_is_passed_over(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 4);
    assert_true(push(b, &b->frame, 0));
    struct chunk report = {
        .claim = b->claim, .fetch_offset = 5, .err = ZKC_ERR_TOO_LARGE, .text = "large"};
    assert_true(stream_push(b->stream, &report));
    claim_close(b->claim, GATE_REVOKED);
    expect_nothing(b->stream); /* even if the loop has not dropped it */
    assert_int_equal(b->frame.released, 1);
}

/* Seek: the old claim is closed, a new one begins elsewhere in the same partition. */
static void test_new_claim_does_not_see_the_old_ones_chunks(void **state)
{
    struct bench *b = *state;
    struct frame later;
    frame_init(&later);
    append_messages(&b->frame.set, 0, 4);
    append_messages(&later.set, 100, 101);
    assert_true(push(b, &b->frame, 0));
    expect(b->stream, 0);
    assert_int_equal(claim_close(b->claim, GATE_REVOKED), 1);
    claim_unref(b->claim);
    b->claim = claim_new(b->stream, 3, 100, false);
    assert_true(push(b, &later, 100));
    expect(b->stream, 100);
    expect(b->stream, 101);
    expect_nothing(b->stream);
    frame_deinit(&later);
}

/* ConsumerIterator.makeNext: a chunk that begins above the position moves it up, and says so. */
static void test_chunk_above_the_position_moves_it(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 50, 51);
    assert_true(push(b, &b->frame, 50));
    assert_true(
        gate_move(&b->claim->gate, 20)); /* reset backwards, as for an offset out of range */
    expect(b->stream, 50);
    assert_int_equal(b->skips, 0); /* told by the loop only */
    turn(b);
    assert_int_equal(b->skips, 1);
    assert_int_equal(b->skip_position, 20);
    assert_int_equal(b->skip_fetch_offset, 50);
}

static void test_first_chunk_of_an_unknown_position_is_no_skip(void **state)
{
    struct bench *b = *state;
    assert_true(gate_move(&b->claim->gate, -1));
    append_messages(&b->frame.set, 50, 50);
    assert_true(push(b, &b->frame, 50));
    expect(b->stream, 50);
    turn(b);
    assert_int_equal(b->skips, 0);
}

/* After a jump forward what is queued counts as consumed. Unlike 0.8.2 the last message of a chunk
 * is no exception: it would be handed out twice and take the position back. */
static void test_jump_forward_skips_what_is_queued(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 4);
    assert_true(push(b, &b->frame, 0));
    expect(b->stream, 0);
    assert_true(gate_move(&b->claim->gate, 100));
    expect_nothing(b->stream);
    assert_int_equal(position(b), 100);
    turn(b);
    assert_int_equal(b->skips, 0);
}

/* ---- reports ---- */

static void test_reports_of_the_loop_come_in_their_turn(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 0);
    assert_true(push(b, &b->frame, 0));
    char text[] = "[orders,3] offset 1 does not fit";
    struct chunk report = {
        .claim = b->claim, .fetch_offset = 1, .err = ZKC_ERR_TOO_LARGE, .text = text};
    assert_true(stream_push(b->stream, &report));
    memset(text, 'x', sizeof text - 1); /* it was copied */
    expect(b->stream, 0);
    expect_report(b->stream, ZKC_ERR_TOO_LARGE, 1, "[orders,3] offset 1 does not fit");
    assert_int_equal(position(b), 1); /* a report is not consumption */
    expect_nothing(b->stream);

    report.err = ZKC_ERR_OFFSET_RANGE;
    report.text = NULL;
    assert_true(stream_push(b->stream, &report));
    expect_report(b->stream, ZKC_ERR_OFFSET_RANGE, 1, zkc_err_text(ZKC_ERR_OFFSET_RANGE));
    struct stream_counts counts;
    stream_count(b->stream, &counts);
    assert_int_equal(counts.reports, 2);
    assert_int_equal(counts.messages, 1);
}

/* Spoils the value of the n-th message (0 the first) of a set of equal ones. */
static void spoil(struct frame *f, size_t n, size_t messages)
{
    size_t each = f->set.len / messages;
    f->set.data[(n + 1) * each - 1] ^= 1;
}

static void test_corrupt_message_is_reported_and_passed(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 3);
    spoil(&b->frame, 1, 4);
    spoil(&b->frame, 3, 4);
    assert_true(push(b, &b->frame, 0));
    expect(b->stream, 0);
    expect_report(b->stream, ZKC_ERR_CORRUPT, 1, "[orders,3] offset 1");
    assert_int_equal(position(b), 2); /* it has been told; a commit need not bring it again */
    expect(b->stream, 2);
    expect_report(b->stream, ZKC_ERR_CORRUPT, 3, "[orders,3] offset 3");
    assert_int_equal(position(b), 4);
    expect_nothing(b->stream);
    turn(b);
    assert_int_equal(b->bads, 2);
    assert_int_equal(b->bad_offset, 3);
    assert_non_null(strstr(b->bad_text, "[orders,3] offset 3"));
}

/* An offset that cannot be is not a place to go on from. */
static void test_corrupt_offset_does_not_move_the_position(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 5000, 5000); /* the log ends at 1000 */
    spoil(&b->frame, 0, 1);
    assert_true(push(b, &b->frame, 0));
    expect_report(b->stream, ZKC_ERR_CORRUPT, 5000, "offset 5000");
    assert_int_equal(position(b), 0);
    expect_nothing(b->stream);
}

static void test_huge_offset_is_corrupt(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, INT64_MAX - 1, INT64_MAX - 1);
    append_messages(&b->frame.set, 0, 0);
    assert_true(push(b, &b->frame, 0));
    expect_report(b->stream, ZKC_ERR_CORRUPT, INT64_MAX - 1, "offset");
    assert_int_equal(position(b), 0);
    expect(b->stream, 0);
}

static void test_corrupt_message_below_the_position_is_nobodys_business(void **state)
{
    struct bench *b = *state;
    assert_true(gate_move(&b->claim->gate, 2));
    append_messages(&b->frame.set, 0, 3);
    spoil(&b->frame, 0, 4);
    assert_true(push(b, &b->frame, 2));
    expect(b->stream, 2);
    turn(b);
    assert_int_equal(b->bads, 0);
}

static void test_corrupt_message_of_closed_claim_is_not_reported(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 1);
    spoil(&b->frame, 1, 2);
    assert_true(push(b, &b->frame, 0));
    expect(b->stream, 0);
    claim_close(b->claim, GATE_LOST);
    expect_nothing(b->stream);
    turn(b);
    assert_int_equal(b->bads, 0);
}

static void test_message_larger_than_the_fetch_is_reported(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 0);
    b->frame.set.len -= 3;
    assert_true(push(b, &b->frame, 0));
    expect_report(b->stream, ZKC_ERR_TOO_LARGE, 0, "fetch.message.max.bytes");
    assert_int_equal(position(b), 0);
    expect_nothing(b->stream);
    turn(b);
    assert_int_equal(b->bads, 1);
}

static void test_many_notices_do_not_pile_up(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 9);
    for (size_t i = 0; i < 10; i++)
        spoil(&b->frame, i, 10);
    assert_true(push(b, &b->frame, 0));
    for (int64_t i = 0; i < 10; i++)
        expect_report(b->stream, ZKC_ERR_CORRUPT, i, "offset"); /* the application gets each one */
    turn(b);
    assert_int_equal(b->bads, 8);
}

/* ---- the end, failures, waiting ---- */

static void test_end_is_for_good(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 1);
    assert_true(push(b, &b->frame, 0));
    stream_hub_end(b->hub);
    assert_int_equal(b->frame.released, 1);
    struct zkc_message m;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_ERR_END);
        assert_int_equal(zkc_stream_next(b->other, -1, &m), ZKC_ERR_END);
        assert_int_equal(stream_hub_next(b->hub, -1, &m), ZKC_ERR_END);
    }
    assert_true(push(b, &b->frame, 0)); /* too late: taken and dropped */
    assert_int_equal(b->frame.released, 2);
    assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_ERR_END);
}

static void test_end_lets_the_current_chunk_finish(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 1);
    assert_true(push(b, &b->frame, 0));
    expect(b->stream, 0);
    stream_hub_end(b->hub);
    expect(b->stream, 1);
    struct zkc_message m;
    assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_ERR_END);
}

static void test_end_with_a_closed_claim_is_at_once(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 1);
    assert_true(push(b, &b->frame, 0));
    expect(b->stream, 0);
    claim_close(b->claim, GATE_REVOKED);
    stream_hub_end(b->hub);
    struct zkc_message m;
    assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_ERR_END);
}

static void test_failure_is_told_while_nothing_is_queued(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    stream_hub_set_failure(b->hub, ZKC_ERR_REBALANCE);
    assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_ERR_REBALANCE);
    assert_int_equal(zkc_stream_next(b->stream, -1, &m), ZKC_ERR_REBALANCE);
    assert_int_equal(stream_hub_next(b->hub, 0, &m), ZKC_ERR_REBALANCE);
    append_messages(&b->frame.set, 0, 0);
    assert_true(push(b, &b->frame, 0));
    expect(b->stream, 0);
    stream_hub_set_failure(b->hub, ZKC_OK);
    expect_nothing(b->stream);
}

static void test_waiting_on_the_loops_thread_is_refused(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    assert_int_equal(zkc_stream_next(b->stream, -1, &m), ZKC_ERR_INVALID);
    assert_int_equal(zkc_stream_next(b->stream, 5, &m), ZKC_ERR_INVALID);
    assert_int_equal(stream_hub_next(b->hub, -1, &m), ZKC_ERR_INVALID);
    append_messages(&b->frame.set, 0, 0);
    assert_true(push(b, &b->frame, 0));
    assert_int_equal(zkc_stream_next(b->stream, -1, &m), ZKC_OK); /* nothing to wait for */
}

struct taker {
    struct bench *b;
    bool is_hub;
    int timeout_ms;
    enum zkc_err err;
    int64_t offset;
};

static void *take_one(void *arg)
{
    struct taker *t = arg;
    struct zkc_message m = {.offset = -1};
    t->err = t->is_hub ? stream_hub_next(t->b->hub, t->timeout_ms, &m)
                       : zkc_stream_next(t->b->stream, t->timeout_ms, &m);
    t->offset = m.offset;
    return NULL;
}

static void push_one(void *arg)
{
    struct bench *b = arg;
    push(b, &b->frame, 0);
}

static void end_hub(void *arg)
{
    struct bench *b = arg;
    stream_hub_end(b->hub);
}

static void fail_hub(void *arg)
{
    struct bench *b = arg;
    stream_hub_set_failure(b->hub, ZKC_ERR_REBALANCE);
}

static const struct wake_case {
    const char *name;
    loop_fn *wake;
    enum zkc_err want;
    int64_t offset;
} wake_cases[] = {
    {"a chunk", push_one, ZKC_OK, 0},
    {"a failure", fail_hub, ZKC_ERR_REBALANCE, -1},
    {"the end", end_hub, ZKC_ERR_END, -1},
};

/* Each starts a thread that waits, or is about to: it must come back either way. */
static void test_waiting_takers_are_woken(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 0);
    for (int hub = 0; hub < 2; hub++) {
        for (const struct wake_case *c = wake_cases; c < wake_cases + ARRAY_LEN(wake_cases); c++) {
            struct taker taker = {.b = b, .is_hub = hub, .timeout_ms = -1};
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, take_one, &taker), 0);
            sched_yield();
            assert_int_equal(loop_call(b->loop, c->wake, b), ZKC_OK);
            pthread_join(thread, NULL);
            if (taker.err != c->want || taker.offset != c->offset)
                fail_msg("%s: got %s", c->name, zkc_err_name(taker.err));
            stream_hub_set_failure(b->hub, ZKC_OK);
        }
        assert_int_equal(loop_call(b->loop, free_hub, b), ZKC_OK);
        frame_deinit(&b->frame);
        set_up_hub(b);
        append_messages(&b->frame.set, 0, 0);
    }
}

/* zkc_consumer_next() before zkc_consumer_subscribe(), and the consumer closed meanwhile. */
static void test_waiting_without_streams_is_woken(void **state)
{
    struct bench *b = *state;
    struct stream_hub_options options = options_of(b);
    struct stream_hub *full = b->hub;
    b->hub = stream_hub_new(&options);
    assert_non_null(b->hub);
    struct taker taker = {.b = b, .is_hub = true, .timeout_ms = -1};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, take_one, &taker), 0);
    for (int i = 0; i < 100; i++)
        sched_yield(); /* lets it begin to wait; must be right without, too */
    assert_int_equal(loop_call(b->loop, end_hub, b), ZKC_OK);
    pthread_join(thread, NULL);
    assert_int_equal(taker.err, ZKC_ERR_END);
    stream_hub_free(b->hub);
    b->hub = full;
}

static void test_waiting_ends_in_time(void **state)
{
    struct bench *b = *state;
    struct zkc_message m;
    int64_t before_ns = loop_now_ns();
    assert_int_equal(zkc_stream_next(b->stream, 3, &m), ZKC_ERR_TIMED_OUT);
    assert_int_equal(stream_hub_next(b->hub, 3, &m), ZKC_ERR_TIMED_OUT);
    assert_true(loop_now_ns() - before_ns >= 6 * 1000000); /* never before the time */
}

/* consumer.timeout.ms: what -1 waits. */
static void test_consumer_timeout(void **state)
{
    struct bench *b = *state;
    struct stream_hub_options options = options_of(b);
    options.consumer_timeout_ms = 2;
    struct stream_hub *hub = stream_hub_new(&options);
    zkc_stream *stream = stream_new(hub, "t", 0);
    struct zkc_message m;
    assert_int_equal(zkc_stream_next(stream, -1, &m), ZKC_ERR_TIMED_OUT);
    assert_int_equal(stream_hub_next(hub, -1, &m), ZKC_ERR_TIMED_OUT);
    stream_hub_free(hub);
}

/* ---- the descriptor ---- */

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void test_fd_tells_whether_to_look(void **state)
{
    struct bench *b = *state;
    int fd = zkc_stream_fd(b->stream);
    assert_true(fd >= 0);
    assert_int_equal(zkc_stream_fd(b->stream), fd);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    expect_nothing(b->stream); /* it may be readable before the first look */
    assert_false(is_readable(fd));

    append_messages(&b->frame.set, 0, 1);
    assert_true(push(b, &b->frame, 0));
    assert_true(is_readable(fd));
    expect(b->stream, 0);
    assert_true(is_readable(fd)); /* the rest of the chunk */
    expect(b->stream, 1);
    expect_nothing(b->stream);
    assert_false(is_readable(fd));
    assert_true(push(b, &b->frame, 2)); /* all below the position: a look for nothing */
    assert_true(is_readable(fd));
    expect_nothing(b->stream);
    assert_false(is_readable(fd));

    struct zkc_message m;
    assert_int_equal(stream_hub_next(b->hub, 0, &m), ZKC_ERR_TIMED_OUT);
    assert_true(push(b, &b->frame, 2));
    assert_int_equal(stream_hub_next(b->hub, 0, &m), ZKC_ERR_TIMED_OUT);
    assert_false(is_readable(fd));

    stream_hub_set_failure(b->hub, ZKC_ERR_REBALANCE);
    assert_true(is_readable(fd));
    stream_hub_set_failure(b->hub, ZKC_OK);
    expect_nothing(b->stream);
    assert_false(is_readable(fd));
    stream_hub_end(b->hub);
    assert_true(is_readable(fd));
    assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_ERR_END);
    assert_true(is_readable(fd)); /* as the end of a file */
}

static void test_fd_asked_for_in_the_middle_of_a_chunk(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 1);
    assert_true(push(b, &b->frame, 0));
    expect(b->stream, 0);
    assert_true(is_readable(zkc_stream_fd(b->stream)));
    expect(b->stream, 1);
}

/* ---- callbacks on the loop ---- */

static void on_message(zkc_stream *stream, const struct zkc_message *m, void *user)
{
    struct bench *b = user;
    b->brought++;
    b->last_offset = m->offset;
    b->last_err = m->err;
    if (b->brought == b->stop_after)
        zkc_stream_set_on_message(stream, NULL, NULL, 0);
}

static void test_messages_are_brought_in_batches(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 4);
    assert_true(push(b, &b->frame, 0));
    zkc_stream_set_on_message(b->stream, on_message, b, 2);
    assert_int_equal(b->brought, 0); /* never from inside of the call */
    turn(b);
    assert_int_equal(b->brought, 2);
    turn(b);
    assert_int_equal(b->brought, 4);
    turn(b);
    turn(b);
    assert_int_equal(b->brought, 5);
    assert_int_equal(b->last_offset, 4);
    assert_int_equal(position(b), 5);

    struct frame next;
    frame_init(&next);
    append_messages(&next.set, 5, 5);
    assert_true(push(b, &next, 5));
    assert_int_equal(b->brought, 5);
    turn(b);
    assert_int_equal(b->brought, 6);
    turn(b);
    frame_deinit(&next);
}

static void test_callback_may_end_itself(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 4);
    assert_true(push(b, &b->frame, 0));
    b->stop_after = 2;
    zkc_stream_set_on_message(b->stream, on_message, b, 0);
    for (int i = 0; i < 3; i++)
        turn(b);
    assert_int_equal(b->brought, 2);
    assert_int_equal(position(b), 2);
    expect(b->stream, 2); /* taking goes on where it stopped */
}

static void end_on_message(zkc_stream *stream, const struct zkc_message *m, void *user)
{
    (void)stream;
    (void)m;
    struct bench *b = user;
    b->brought++;
    stream_hub_end(b->hub); /* as zkc_consumer_close() does */
}

static void test_nothing_is_brought_after_the_end(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 4);
    assert_true(push(b, &b->frame, 0));
    zkc_stream_set_on_message(b->stream, end_on_message, b, 0);
    for (int i = 0; i < 3; i++)
        turn(b);
    assert_int_equal(b->brought, 1);
}

/* ---- several streams ---- */

static void test_hub_takes_from_all_streams_in_turn(void **state)
{
    struct bench *b = *state;
    struct claim *claim = claim_new(b->other, 7, 0, false);
    struct frame second;
    frame_init(&second);
    append_messages(&b->frame.set, 0, 1);
    append_messages(&second.set, 2, 3);
    assert_true(push(b, &b->frame, 0));
    assert_true(push(b, &second, 2));
    struct chunk chunk = chunk_of(claim, &b->frame, 0);
    assert_true(stream_push(b->other, &chunk));

    static const struct {
        int32_t partition;
        int64_t offset;
    } want[] = {{3, 0}, {3, 1}, {7, 0}, {7, 1}, {3, 2}, {3, 3}}; /* chunk by chunk */
    struct zkc_message m;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(stream_hub_next(b->hub, 0, &m), ZKC_OK);
        if (m.partition != want[i].partition || m.offset != want[i].offset)
            fail_msg("%zu: got %" PRId32 "/%" PRId64, i, m.partition, m.offset);
    }
    assert_int_equal(stream_hub_next(b->hub, 0, &m), ZKC_ERR_TIMED_OUT);
    claim_unref(claim);
    frame_deinit(&second);
}

static void test_hub_without_streams_waits_and_ends(void **state)
{
    struct bench *b = *state;
    struct stream_hub_options options = options_of(b);
    struct stream_hub *hub = stream_hub_new(&options);
    assert_non_null(hub);
    struct zkc_message m;
    assert_int_equal(stream_hub_next(hub, 0, &m), ZKC_ERR_TIMED_OUT);
    assert_null(stream_find(hub, "orders", 0));
    stream_hub_end(hub);
    assert_int_equal(stream_hub_next(hub, 0, &m), ZKC_ERR_END);
    stream_hub_free(hub);
    stream_hub_free(NULL);
}

static void test_streams_are_found(void **state)
{
    struct bench *b = *state;
    assert_ptr_equal(stream_find(b->hub, "orders", 0), b->stream);
    assert_ptr_equal(stream_find(b->hub, "orders", 1), b->other);
    assert_null(stream_find(b->hub, "orders", 2));
    assert_null(stream_find(b->hub, "order", 0));
    assert_string_equal(zkc_stream_topic(b->other), "orders");
    assert_int_equal(zkc_stream_index(b->other), 1);
}

static void test_free_releases_everything(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 4);
    assert_true(push(b, &b->frame, 0));
    expect(b->stream, 0); /* one current, one queued, one report */
    assert_true(push(b, &b->frame, 5));
    struct chunk report = {
        .claim = b->claim, .fetch_offset = 1, .err = ZKC_ERR_CORRUPT, .text = "bad"};
    assert_true(stream_push(b->stream, &report));
    free_hub(b);
    assert_int_equal(b->frame.released, 2);
    frame_deinit(&b->frame);
    set_up_hub(b); /* for the tear-down */
}

/* ---- threads ---- */

struct race {
    struct bench *b;
    uint64_t taken;
    atomic_int_fast64_t seen;
    enum zkc_err err;
};

static void *take_until_the_end(void *arg)
{
    struct race *race = arg;
    struct zkc_message m;
    int64_t next = 0;
    while (!(race->err = zkc_stream_next(race->b->stream, -1, &m))) {
        if (m.offset != next++)
            return race;
        race->taken++;
        atomic_store(&race->seen, (int64_t)race->taken);
    }
    return NULL;
}

struct pusher {
    struct bench *b;
    int64_t next; /* offset that the next chunk begins with */
    int64_t position;
    int pushed;
    atomic_int released;
};

struct pushed_frame {
    struct buf set;
    struct pusher *pusher;
};

static void free_pushed(void *owner)
{
    struct pushed_frame *f = owner;
    atomic_fetch_add(&f->pusher->released, 1);
    buf_deinit(&f->set);
    free(f);
}

static void push_while_there_is_room(void *arg)
{
    struct pusher *p = arg;
    while (stream_room(p->b->stream)) {
        struct pushed_frame *f = malloc(sizeof *f);
        buf_init(&f->set, 1 << 20);
        f->pusher = p;
        append_messages(&f->set, p->next, p->next + 9);
        struct chunk chunk = {.claim = p->b->claim,
                              .fetch_offset = p->next,
                              .high_watermark = 1000000,
                              .records = buf_bytes(&f->set),
                              .buffer = {f, free_pushed}};
        bool is_taken = stream_push(p->b->stream, &chunk);
        assert_true(is_taken);
        p->next += 10;
        p->pushed++;
    }
}

static void revoke_all(void *arg)
{
    struct pusher *p = arg;
    p->position = claim_close(p->b->claim, GATE_REVOKED);
    stream_drop_closed(p->b->stream);
    stream_hub_end(p->b->hub);
}

/* What the loop reads when it closes the gate is what the application has got, to the message. */
static void test_position_is_what_was_handed_out(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < 60; i++) {
        struct pusher pusher = {.b = b};
        struct race race = {.b = b};
        if (i & 1) {
            claim_unref(b->claim);
            b->claim = claim_new(b->stream, 3, 0, true);
        }
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, take_until_the_end, &race), 0);
        do {
            assert_int_equal(loop_call(b->loop, push_while_there_is_room, &pusher), ZKC_OK);
        } while (atomic_load(&race.seen) < i * 7);
        assert_int_equal(loop_call(b->loop, revoke_all, &pusher), ZKC_OK);
        void *failed;
        pthread_join(thread, &failed);
        assert_null(failed);
        assert_int_equal(race.err, ZKC_ERR_END);
        assert_int_equal(pusher.position, race.taken);

        assert_int_equal(loop_call(b->loop, free_hub, b), ZKC_OK);
        assert_int_equal(atomic_load(&pusher.released), pusher.pushed);
        frame_deinit(&b->frame);
        set_up_hub(b);
    }
}

static void *take_from_other(void *arg)
{
    struct race *race = arg;
    struct zkc_message m;
    while (!(race->err = zkc_stream_next(race->b->other, -1, &m)))
        race->taken++;
    return NULL;
}

struct two {
    struct bench *b;
    struct claim *claim;
    unsigned pushed;
};

static void push_both(void *arg)
{
    struct two *two = arg;
    struct bench *b = two->b;
    struct chunk mine = chunk_of(b->claim, &b->frame, 0);
    struct chunk others = chunk_of(two->claim, &b->frame, 0);
    if (stream_room(b->stream) && stream_room(b->other)) {
        assert_true(stream_push(b->stream, &mine));
        assert_true(stream_push(b->other, &others));
        gate_move(&b->claim->gate, 0); /* the same again */
        gate_move(&two->claim->gate, 0);
        two->pushed++;
    }
}

static void test_streams_are_taken_from_in_parallel(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 9);
    struct two two = {.b = b, .claim = claim_new(b->other, 4, 0, false)};
    struct race races[2] = {{.b = b}, {.b = b}};
    pthread_t threads[2];
    assert_int_equal(pthread_create(&threads[0], NULL, take_from_other, &races[0]), 0);
    while (two.pushed < 300) {
        assert_int_equal(loop_call(b->loop, push_both, &two), ZKC_OK);
        struct zkc_message m;
        while (zkc_stream_next(b->stream, 0, &m) == ZKC_OK)
            races[1].taken++;
    }
    assert_int_equal(loop_call(b->loop, end_hub, b), ZKC_OK);
    pthread_join(threads[0], NULL);
    struct stream_counts counts;
    stream_count(b->other, &counts);
    assert_int_equal(counts.messages, races[0].taken);
    stream_count(b->stream, &counts);
    assert_int_equal(counts.messages, races[1].taken);
    claim_unref(two.claim);
}

/* ---- fork ---- */

static void test_forked_child_is_kept_out(void **state)
{
    struct bench *b = *state;
    append_messages(&b->frame.set, 0, 1);
    assert_true(push(b, &b->frame, 0));
    expect(b->stream, 0); /* the child has the middle of a chunk in its memory, too */
    pid_t child = fork();
    if (child == 0) {
        struct zkc_message m;
        bool is_good = zkc_stream_next(b->stream, -1, &m) == ZKC_ERR_WRONG_PROCESS &&
                       stream_hub_next(b->hub, -1, &m) == ZKC_ERR_WRONG_PROCESS &&
                       zkc_stream_fd(b->stream) == -1 && position(b) == 1;
        zkc_stream_set_on_message(b->stream, on_message, b, 0);
        _exit(is_good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    expect(b->stream, 1);
}

/* ---- no memory ---- */

static void test_setting_up_without_memory(void **state)
{
    struct bench *b = *state;
    struct stream_hub_options options = options_of(b);
    ALLOC_FAIL_EACH(n, failed, {
        struct stream_hub *hub = stream_hub_new(&options);
        zkc_stream *stream = hub ? stream_new(hub, "t", 0) : NULL;
        struct claim *claim = stream ? claim_new(stream, 0, 0, true) : NULL;
        failed = !claim;
        claim_unref(claim);
        stream_hub_free(hub);
    });
}

static void test_copy_without_memory(void **state)
{
    (void)state;
    struct zkc_message m = {.topic = "t", .value = "v", .value_len = 1};
    alloc_fail_at(0);
    assert_null(zkc_message_dup(&m));
    assert_true(alloc_fail_stop());
}

static void test_report_without_memory_for_its_text(void **state)
{
    struct bench *b = *state;
    struct chunk report = {
        .claim = b->claim, .fetch_offset = 1, .err = ZKC_ERR_TOO_LARGE, .text = "lost"};
    alloc_fail_at(0);
    assert_true(stream_push(b->stream, &report));
    assert_true(alloc_fail_stop());
    expect_report(b->stream, ZKC_ERR_TOO_LARGE, 1, zkc_err_text(ZKC_ERR_TOO_LARGE));
}

static void test_wrapper_without_memory_is_tried_again(void **state)
{
    struct bench *b = *state;
    append_wrapper(&b->frame.set, 0, 2);
    assert_true(push(b, &b->frame, 0));
    struct zkc_message m;
    alloc_fail_at(0);
    assert_int_equal(zkc_stream_next(b->stream, 0, &m), ZKC_ERR_NOMEM);
    assert_true(alloc_fail_stop());
    for (int64_t offset = 0; offset <= 2; offset++)
        expect(b->stream, offset);
}

static void test_callback_is_told_of_a_lack_of_memory(void **state)
{
    struct bench *b = *state;
    append_wrapper(&b->frame.set, 0, 2);
    zkc_stream_set_on_message(b->stream, on_message, b, 0);
    turn(b);
    assert_true(push(b, &b->frame, 0));
    alloc_fail_at(0);
    turn(b);
    assert_true(alloc_fail_stop());
    assert_int_equal(b->brought, 1);
    assert_int_equal(b->last_err, ZKC_ERR_NOMEM);
    turn(b);
    assert_int_equal(b->brought, 1); /* not in a busy loop */
    while (b->brought < 4)           /* but after a pause */
        event_base_loop(b->base, EVLOOP_ONCE);
    assert_int_equal(b->last_offset, 2);
}

int main(void)
{
#define T(test)        cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define T_THREAD(test) cmocka_unit_test_setup_teardown(test, set_up_thread, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_messages_come_in_order_and_count),
        T(test_null_is_not_empty),
        T(test_wrapper_is_opened_and_what_was_consumed_skipped),
        T(test_incomplete_last_message_is_no_error),
        T(test_message_outlives_its_stream_when_copied),
        T(test_queue_is_bounded_and_tells_of_room),
        T(test_dropping_makes_room),
        T(test_closed_claim_hands_out_nothing_more),
        T(test_queued_chunk_of_closed_claim_is_passed_over),
        T(test_new_claim_does_not_see_the_old_ones_chunks),
        T(test_chunk_above_the_position_moves_it),
        T(test_first_chunk_of_an_unknown_position_is_no_skip),
        T(test_jump_forward_skips_what_is_queued),
        T(test_reports_of_the_loop_come_in_their_turn),
        T(test_corrupt_message_is_reported_and_passed),
        T(test_corrupt_offset_does_not_move_the_position),
        T(test_huge_offset_is_corrupt),
        T(test_corrupt_message_below_the_position_is_nobodys_business),
        T(test_corrupt_message_of_closed_claim_is_not_reported),
        T(test_message_larger_than_the_fetch_is_reported),
        T(test_many_notices_do_not_pile_up),
        T(test_end_is_for_good),
        T(test_end_lets_the_current_chunk_finish),
        T(test_end_with_a_closed_claim_is_at_once),
        T(test_failure_is_told_while_nothing_is_queued),
        T(test_waiting_on_the_loops_thread_is_refused),
        T_THREAD(test_waiting_takers_are_woken),
        T_THREAD(test_waiting_without_streams_is_woken),
        T_THREAD(test_waiting_ends_in_time),
        T_THREAD(test_consumer_timeout),
        T(test_fd_tells_whether_to_look),
        T(test_fd_asked_for_in_the_middle_of_a_chunk),
        T(test_messages_are_brought_in_batches),
        T(test_callback_may_end_itself),
        T(test_nothing_is_brought_after_the_end),
        T(test_hub_takes_from_all_streams_in_turn),
        T(test_hub_without_streams_waits_and_ends),
        T(test_streams_are_found),
        T(test_free_releases_everything),
        T_THREAD(test_position_is_what_was_handed_out),
        T_THREAD(test_streams_are_taken_from_in_parallel),
        T(test_forked_child_is_kept_out),
        T(test_setting_up_without_memory),
        T(test_copy_without_memory),
        T(test_report_without_memory_for_its_text),
        T(test_wrapper_without_memory_is_tried_again),
        T(test_callback_is_told_of_a_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
