#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/fetch/fetch_wire.h"
#include "zkconsumer/core/wire/list_offsets.h"

static struct fetcher_target targets[] = {
    {.topic = "b", .partition = 1, .offset = 7, .time = -2, .bytes_max = 1000},
    {.topic = "c", .partition = 0, .offset = INT64_MAX, .time = -1, .bytes_max = 1000},
    {.topic = "c", .partition = 100000, .offset = 0, .time = -1, .bytes_max = 1},
    {.topic = "a-longer.topic_name", .partition = 3, .offset = 1, .time = -2, .bytes_max = 2},
    {.topic = "b", .partition = 0, .offset = 9, .time = -1, .bytes_max = 1000},
};

static struct fetcher_output request(enum fetcher_output_type type)
{
    return (struct fetcher_output){
        .type = type,
        .request = {.number = 77,
                    .targets = targets,
                    .count = ARRAY_LEN(targets),
                    .wait_max_ms = 100,
                    .bytes_min = 1},
    };
}

/* Where the topics begin in targets. */
static const size_t topic_first[] = {0, 1, 3, 4, 5};

static void test_fetch_is_encoded_as_described(void **state)
{
    (void)state;
    struct fetch_request_partition partitions[ARRAY_LEN(targets)];
    struct fetch_request_topic topics[4];
    for (size_t i = 0; i < ARRAY_LEN(targets); i++)
        partitions[i] = (struct fetch_request_partition){targets[i].partition, targets[i].offset,
                                                         targets[i].bytes_max};
    for (size_t i = 0; i < ARRAY_LEN(topics); i++)
        topics[i] = (struct fetch_request_topic){bytes_of_text(targets[topic_first[i]].topic),
                                                 partitions + topic_first[i],
                                                 topic_first[i + 1] - topic_first[i]};
    struct fetch_request want = {-1, 100, 1, topics, ARRAY_LEN(topics)};
    struct buf described, body;
    struct wire_codec codec;
    buf_init(&described, 10000);
    buf_init(&body, 10000);
    wire_codec_write(&codec, 0, &described);
    fetch_request_fields(&codec, &want);
    assert_int_equal(wire_codec_end(&codec), ZKC_OK);

    struct fetch_wire_sent sent;
    struct fetcher_output output = request(FETCHER_OUT_FETCH);
    fetch_wire_encode(&output, &body, &sent);
    assert_int_equal(body.failed, ZKC_OK);
    assert_int_equal(body.len, described.len);
    assert_memory_equal(body.data, described.data, body.len);
    assert_int_equal(sent.api, API_FETCH);
    assert_int_equal(sent.number, 77);
    assert_int_equal(sent.count, ARRAY_LEN(targets));
    buf_deinit(&described);
    buf_deinit(&body);
}

static void test_list_offsets_is_encoded_as_described(void **state)
{
    (void)state;
    struct list_offsets_request_partition partitions[ARRAY_LEN(targets)];
    struct list_offsets_request_topic topics[4];
    for (size_t i = 0; i < ARRAY_LEN(targets); i++)
        partitions[i] =
            (struct list_offsets_request_partition){targets[i].partition, targets[i].time, 1};
    for (size_t i = 0; i < ARRAY_LEN(topics); i++)
        topics[i] = (struct list_offsets_request_topic){
            bytes_of_text(targets[topic_first[i]].topic), partitions + topic_first[i],
            topic_first[i + 1] - topic_first[i]};
    struct list_offsets_request want = {-1, topics, ARRAY_LEN(topics)};
    struct buf described, body;
    struct wire_codec codec;
    buf_init(&described, 10000);
    buf_init(&body, 10000);
    wire_codec_write(&codec, 0, &described);
    list_offsets_request_fields(&codec, &want);
    assert_int_equal(wire_codec_end(&codec), ZKC_OK);

    struct fetch_wire_sent sent;
    struct fetcher_output output = request(FETCHER_OUT_LIST_OFFSETS);
    fetch_wire_encode(&output, &body, &sent);
    assert_int_equal(body.len, described.len);
    assert_memory_equal(body.data, described.data, body.len);
    assert_int_equal(sent.api, API_LIST_OFFSETS);
    buf_deinit(&described);
    buf_deinit(&body);
}

static void test_a_buffer_that_is_too_small(void **state)
{
    (void)state;
    struct fetch_wire_sent sent;
    struct fetcher_output output = request(FETCHER_OUT_FETCH);
    struct buf whole;
    buf_init(&whole, 10000);
    fetch_wire_encode(&output, &whole, &sent);
    for (size_t max = 0; max <= whole.len; max++) {
        struct buf body;
        buf_init(&body, max);
        fetch_wire_encode(&output, &body, &sent);
        assert_int_equal(body.failed, max < whole.len ? ZKC_ERR_TOO_LARGE : ZKC_OK);
        buf_deinit(&body);
    }
    buf_deinit(&whole);
}

static void write_fetch_answer(struct buf *out, size_t partitions_of_b)
{
    struct fetch_response_partition a[] = {
        {3, 0, 50, bytes_of_text("some records")},
    };
    struct fetch_response_partition b[] = {{1, 6, -1, BYTES_NULL}, {0, 0, 9, bytes_of("", 0)}};
    struct fetch_response_topic topics[] = {{bytes_of_text("a"), a, 1},
                                            {bytes_of_text("b"), b, partitions_of_b}};
    struct fetch_response m = {topics, 2};
    struct wire_codec codec;
    wire_codec_write(&codec, 0, out);
    fetch_response_fields(&codec, &m);
    assert_int_equal(wire_codec_end(&codec), ZKC_OK);
}

static const struct fetch_wire_sent fetch_sent = {API_FETCH, 77, 3};

static void test_fetch_answer(void **state)
{
    (void)state;
    struct buf body;
    struct fetch_wire_decoder d;
    struct fetcher_input in;
    buf_init(&body, 10000);
    fetch_wire_decoder_init(&d);
    for (size_t of_b = 2; of_b > 0; of_b--) { /* again with the same memory */
        buf_clear(&body);
        write_fetch_answer(&body, of_b);
        assert_true(fetch_wire_decode(&d, &fetch_sent, buf_bytes(&body), &in));
        assert_int_equal(in.type, FETCHER_IN_FETCHED);
        assert_int_equal(in.fetched.request, 77);
        assert_int_equal(in.fetched.count, 1 + of_b);
        const struct fetch_response_view *v = in.fetched.list;
        assert_true(bytes_equal_text(v[0].topic, "a"));
        assert_int_equal(v[0].partition, 3);
        assert_int_equal(v[0].high_watermark, 50);
        assert_true(bytes_equal_text(v[0].records, "some records"));
        assert_true(bytes_equal_text(v[1].topic, "b"));
        assert_int_equal(v[1].partition, 1);
        assert_int_equal(v[1].error_code, 6);
    }
    fetch_wire_decoder_deinit(&d);
    buf_deinit(&body);
}

static void write_list_answer(struct buf *out)
{
    int64_t offsets[] = {42, 17};
    struct list_offsets_response_partition a[] = {{3, 0, offsets, 2, 0, 0}, {4, 0, NULL, 0, 0, 0}};
    struct list_offsets_response_partition b[] = {{1, 6, NULL, 0, 0, 0}};
    struct list_offsets_response_topic topics[] = {{bytes_of_text("a"), a, 2},
                                                   {bytes_of_text("b"), b, 1}};
    struct list_offsets_response m = {topics, 2};
    struct wire_codec codec;
    wire_codec_write(&codec, 0, out);
    list_offsets_response_fields(&codec, &m);
    assert_int_equal(wire_codec_end(&codec), ZKC_OK);
}

static const struct fetch_wire_sent list_sent = {API_LIST_OFFSETS, 78, 3};

static void test_list_offsets_answer(void **state)
{
    (void)state;
    struct buf body;
    struct fetch_wire_decoder d;
    struct fetcher_input in;
    buf_init(&body, 10000);
    fetch_wire_decoder_init(&d);
    write_list_answer(&body);
    for (int again = 0; again < 2; again++) {
        assert_true(fetch_wire_decode(&d, &list_sent, buf_bytes(&body), &in));
        assert_int_equal(in.type, FETCHER_IN_LISTED);
        assert_int_equal(in.listed.request, 78);
        assert_int_equal(in.listed.count, 3);
        const struct fetcher_listed *l = in.listed.list;
        assert_true(bytes_equal_text(l[0].topic, "a"));
        assert_int_equal(l[0].partition, 3);
        assert_int_equal(l[0].offset, 42);
        assert_int_equal(l[1].offset, -1);
        assert_int_equal(l[1].kafka_error, 0);
        assert_true(bytes_equal_text(l[2].topic, "b"));
        assert_int_equal(l[2].kafka_error, 6);
    }
    fetch_wire_decoder_deinit(&d);
    buf_deinit(&body);
}

static void expect_refused(struct fetch_wire_decoder *d, const struct fetch_wire_sent *sent,
                           struct bytes body, const char *what, size_t i)
{
    struct fetcher_input in;
    if (fetch_wire_decode(d, sent, body, &in))
        fail_msg("%s %zu: accepted", what, i);
    if (in.type != FETCHER_IN_FAILED || in.failed.request != sent->number ||
        in.failed.err != ZKC_ERR_PROTOCOL || d->reason[0] == 0)
        fail_msg("%s %zu: %s \"%s\"", what, i, zkc_err_name(in.failed.err), d->reason);
}

static void test_malformed_answers(void **state)
{
    (void)state;
    struct buf bodies[2];
    const struct fetch_wire_sent *const sent[] = {&fetch_sent, &list_sent};
    struct fetch_wire_decoder d;
    fetch_wire_decoder_init(&d);
    for (size_t k = 0; k < 2; k++) {
        buf_init(&bodies[k], 10000);
        if (k == 0)
            write_fetch_answer(&bodies[k], 2);
        else
            write_list_answer(&bodies[k]);
        for (size_t len = 0; len < bodies[k].len; len++) {
            uint8_t *copy = malloc(len + 1); /* so that reading past the end is seen */
            assert_non_null(copy);
            memcpy(copy, bodies[k].data, len);
            expect_refused(&d, sent[k], bytes_of(copy, len), "cut at", len);
            free(copy);
        }
        struct fetch_wire_sent fewer = *sent[k];
        fewer.count = 2;
        expect_refused(&d, &fewer, buf_bytes(&bodies[k]), "more than asked for", k);
        buf_deinit(&bodies[k]);
    }
    fetch_wire_decoder_deinit(&d);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct buf fetch, list;
    buf_init(&fetch, 10000);
    buf_init(&list, 10000);
    write_fetch_answer(&fetch, 2);
    write_list_answer(&list);
    ALLOC_FAIL_EACH(n, failed, {
        struct fetch_wire_decoder d;
        struct fetcher_input in;
        fetch_wire_decoder_init(&d);
        bool first = fetch_wire_decode(&d, &fetch_sent, buf_bytes(&fetch), &in);
        if (!first)
            assert_int_equal(in.failed.err, ZKC_ERR_NOMEM);
        bool second = fetch_wire_decode(&d, &list_sent, buf_bytes(&list), &in);
        if (!second)
            assert_int_equal(in.failed.err, ZKC_ERR_NOMEM);
        failed = !first || !second;
        fetch_wire_decoder_deinit(&d);
    });
    buf_deinit(&fetch);
    buf_deinit(&list);
}

static void test_failed(void **state)
{
    (void)state;
    struct fetcher_input in = fetch_wire_failed(&fetch_sent, ZKC_ERR_TIMED_OUT);
    assert_int_equal(in.type, FETCHER_IN_FAILED);
    assert_int_equal(in.failed.request, 77);
    assert_int_equal(in.failed.err, ZKC_ERR_TIMED_OUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fetch_is_encoded_as_described),
        cmocka_unit_test(test_list_offsets_is_encoded_as_described),
        cmocka_unit_test(test_a_buffer_that_is_too_small),
        cmocka_unit_test(test_fetch_answer),
        cmocka_unit_test(test_list_offsets_answer),
        cmocka_unit_test(test_malformed_answers),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
