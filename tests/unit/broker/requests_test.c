/* Requests: frames that real brokers were sent, and what is answered. */
#include "broker/core/log_names.h"
#include "broker/core/requests.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/wire/frame.h"
#include <jansson.h>

#define ARENA_MAX (1 << 20)

static struct bytes unhex(const char *hex, uint8_t *out)
{
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        out[i] = (uint8_t)byte;
    }
    return bytes_of(out, n);
}

static enum zkc_err read_hex(const char *hex, struct request *r, struct arena *arena,
                             uint8_t *memory, struct why *why)
{
    struct bytes frame = unhex(hex, memory);
    return request_read(bytes_of(frame.data + 4, frame.len - 4), arena, r, why);
}

/* ---- What closes the connection: tests/vectors/broker/odd_input.json, recorded of real brokers
 * ---- */

static void test_odd_input(void **state)
{
    (void)state;
    json_error_t error;
    json_t *file = json_load_file(TEST_VECTORS "/broker/odd_input.json", 0, &error), *v;
    size_t i, closed = 0, answered = 0;
    if (!file)
        fail_msg("odd_input.json: %s", error.text);
    json_array_foreach(file, i, v)
    {
        const char *what = json_string_value(json_object_get(v, "what"));
        bool want = json_is_true(json_object_get(v, "answered"));
        static uint8_t memory[1 << 16];
        struct bytes frame = unhex(json_string_value(json_object_get(v, "request_hex")), memory);
        struct bytes contents;
        int32_t size;
        struct request r;
        struct why why;
        struct arena arena;
        arena_init(&arena, ARENA_MAX);
        enum wire_frame_result framed = wire_frame_next(frame, 104857600, &size, &contents);
        bool got =
            framed == WIRE_FRAME_COMPLETE && request_read(contents, &arena, &r, &why) == ZKC_OK;
        if (got != want)
            fail_msg("%s: %s", what, got ? "answered" : why.text);
        closed += !got;
        answered += got;
        arena_deinit(&arena);
    }
    assert_true(closed > 10 && answered > 2);
    json_decref(file);
}

static void test_closing_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *hex, *why;
    } cases[] = {
        {"0000000d03e700000000000500036f6464", "api key 999, version 0"},
        {"0000000d000a00000000000500036f6464", "api key 10, version 0"}, /* ConsumerMetadata */
        {"0000000d000800010000000500036f6464", "OffsetCommit request (api key 8) of version 1"},
        {"0000000d000000010000000500036f6464", "Produce request (api key 0) of version 1"},
        {"0000000d00000000ffff000500036f6464", "Produce: acks"},
        {"0000000a0003000000000005ffff", "Metadata: topics"},
        {"000000060003000000000005", "request header"},
        {"0000000e0003000000000005ffff7fffffff", "Metadata: topics"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t memory[100];
        struct request r;
        struct why why;
        struct arena arena;
        arena_init(&arena, ARENA_MAX);
        assert_int_equal(read_hex(cases[i].hex, &r, &arena, memory, &why), ZKC_ERR_PROTOCOL);
        if (!strstr(why.text, cases[i].why))
            fail_msg("%s: \"%s\"", cases[i].hex, why.text);
        assert_int_equal(arena.allocated, 0); /* F16: refused before memory is taken */
        arena_deinit(&arena);
    }
}

/* ---- ApiVersions ---- */

static void test_api_versions(void **state)
{
    (void)state;
    static const struct {
        const char *hex;
        int16_t error;
        size_t keys;
    } cases[] = {
        {"0000000d001200000000000500036f6464", 0, 7},
        {"0000000d001200630000000500036f6464", 35, 1},
        {"0000000d0012ffff0000000500036f6464", 35, 1},
        {"0000000e001200030000000500036f646400", 35, 1}, /* a newer client, header v2 */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t memory[100];
        struct request r;
        struct why why;
        struct arena arena;
        struct api_versions_response response;
        arena_init(&arena, ARENA_MAX);
        assert_int_equal(read_hex(cases[i].hex, &r, &arena, memory, &why), ZKC_OK);
        assert_int_equal(api_versions_answer(r.api_versions_error, &arena, &response), ZKC_OK);
        assert_int_equal(response.error_code, cases[i].error);
        assert_int_equal(response.api_keys_count, cases[i].keys);
        for (size_t k = 0; k < response.api_keys_count; k++) {
            assert_true(response.api_keys[k].min_version == 0 &&
                        response.api_keys[k].max_version == 0);
            assert_true(k == 0 || response.api_keys[k].api_key > response.api_keys[k - 1].api_key);
        }
        assert_int_equal(response.api_keys[response.api_keys_count - 1].api_key, 18);
        arena_deinit(&arena);
    }
    /* The whole frame of a refusal, as brokers from 2.4 on write it. */
    struct buf out;
    struct arena arena;
    struct wire_codec c;
    struct api_versions_response response;
    uint8_t want[32];
    buf_init(&out, 100);
    arena_init(&arena, ARENA_MAX);
    assert_int_equal(api_versions_answer(KAFKA_ERR_UNSUPPORTED_VERSION, &arena, &response), ZKC_OK);
    size_t mark = answer_begin(&out, 5);
    wire_codec_write(&c, 0, &out);
    api_versions_response_fields(&c, &response);
    answer_end(&out, mark);
    assert_true(bytes_equal(buf_bytes(&out), unhex("00000010000000050023000000010012000000"
                                                   "00",
                                                   want)));
    buf_deinit(&out);
    arena_deinit(&arena);
}

/* ---- Produce ---- */

static struct produce_request_partition parts_a[] = {{.index = 3}, {.index = 4}};
static struct produce_request_partition parts_b[] = {{.index = 0}};
static struct produce_request_topic produce_topics[] = {
    {{(const uint8_t *)"a", 1}, parts_a, 2},
    {{(const uint8_t *)"b", 1}, parts_b, 1},
};

static void test_produce_answers(void **state)
{
    (void)state;
    static const struct {
        int16_t acks;
        bool fails[3];
        enum produce_answer want;
        int16_t codes[3];
    } cases[] = {
        {1, {0, 0, 0}, PRODUCE_ANSWER, {0, 0, 0}},  {-1, {0, 1, 0}, PRODUCE_ANSWER, {0, 3, 0}},
        {-7, {0, 0, 0}, PRODUCE_ANSWER, {0, 0, 0}}, {0, {0, 0, 0}, PRODUCE_NO_ANSWER, {0, 0, 0}},
        {0, {0, 0, 1}, PRODUCE_CLOSE, {0, 0, 3}},   {2, {0, 1, 0}, PRODUCE_ANSWER_LATER, {7, 3, 7}},
        {2, {1, 1, 1}, PRODUCE_ANSWER, {3, 3, 3}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct produce_request request = {
            .acks = cases[i].acks, .topic_data = produce_topics, .topic_data_count = 2};
        struct produce_response response;
        struct arena arena;
        arena_init(&arena, ARENA_MAX);
        assert_int_equal(produce_answer_make(&request, &arena, &response), ZKC_OK);
        assert_int_equal(response.responses_count, 2);
        struct produce_response_partition *p[3] = {&response.responses[0].partition_responses[0],
                                                   &response.responses[0].partition_responses[1],
                                                   &response.responses[1].partition_responses[0]};
        assert_int_equal(p[1]->index, 4);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(p[k]->error_code, -1);
            assert_int_equal(p[k]->base_offset, -1);
            p[k]->error_code = cases[i].fails[k] ? 3 : 0;
        }
        assert_int_equal(produce_answer_decide(&request, &response), cases[i].want);
        for (int k = 0; k < 3; k++)
            assert_int_equal(p[k]->error_code, cases[i].codes[k]);
        arena_deinit(&arena);
    }
}

/* ---- Fetch: the frame with its records is what the description writes ---- */

static void test_fetch_layout(void **state)
{
    (void)state;
    struct fetch_request_partition pa[] = {{.partition = 0}, {.partition = 1}};
    struct fetch_request_partition pb[] = {{.partition = 7}};
    struct fetch_request_topic topics[] = {{{(const uint8_t *)"aa", 2}, pa, 2},
                                           {{(const uint8_t *)"b", 1}, pb, 1}};
    struct fetch_request request = {.topics = topics, .topics_count = 2};
    static const char *const records[] = {"first records", "", "more"};
    struct fetch_answer_partition answers[3] = {
        {0, 0, 10, 13, 0}, {1, 1, -1, 0, 0}, {7, 0, 4, 4, 0}};
    struct fetch_response_partition ra[] = {{0, 0, 10, {(const uint8_t *)records[0], 13}},
                                            {1, 1, -1, {(const uint8_t *)records[1], 0}}};
    struct fetch_response_partition rb[] = {{7, 0, 4, {(const uint8_t *)records[2], 4}}};
    struct fetch_response_topic rt[] = {{{(const uint8_t *)"aa", 2}, ra, 2},
                                        {{(const uint8_t *)"b", 1}, rb, 1}};
    struct fetch_response response = {.responses = rt, .responses_count = 2};
    struct buf want, got, whole;
    struct wire_codec c;
    buf_init(&want, 1000);
    buf_init(&got, 1000);
    buf_init(&whole, 1000);
    size_t mark = answer_begin(&want, 99);
    wire_codec_write(&c, 0, &want);
    fetch_response_fields(&c, &response);
    assert_int_equal(wire_codec_end(&c), ZKC_OK);
    answer_end(&want, mark);

    fetch_answer_layout(&got, 99, &request, answers, 3);
    assert_int_equal(got.failed, ZKC_OK);
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        buf_append(&whole, got.data + at, answers[i].split - at);
        buf_append_text(&whole, records[i]);
        at = answers[i].split;
    }
    buf_append(&whole, got.data + at, got.len - at);
    assert_true(bytes_equal(buf_bytes(&whole), buf_bytes(&want)));

    /* Behind something else, and too large. */
    buf_clear(&got);
    buf_append_text(&got, "before");
    fetch_answer_layout(&got, 99, &request, answers, 3);
    assert_memory_equal(got.data + 6, want.data, 4);
    answers[0].records_len = INT32_MAX;
    buf_clear(&got);
    fetch_answer_layout(&got, 99, &request, answers, 3);
    assert_int_equal(got.failed, ZKC_ERR_TOO_LARGE);
    buf_deinit(&want);
    buf_deinit(&got);
    buf_deinit(&whole);
}

/* ---- Metadata ---- */

static int32_t one[] = {1}, two_one[] = {2, 1};
static struct view_broker brokers[] = {{1, (char *)"h1", 9091}, {3, (char *)"h3", 9093}};
static struct view_partition old_parts[] = {
    {.partition = 0,
     .replicas = one,
     .replica_count = 1,
     .node = VIEW_NODE_READ,
     .leader = 1,
     .isr = one,
     .isr_count = 1},
    {.partition = 1,
     .replicas = two_one,
     .replica_count = 2,
     .node = VIEW_NODE_READ,
     .leader = 2,
     .isr = two_one,
     .isr_count = 1},
    {.partition = 4, .replicas = one, .replica_count = 1, .node = VIEW_NODE_READ, .leader = -1},
    {.partition = 5,
     .replicas = two_one,
     .replica_count = 2,
     .node = VIEW_NODE_READ,
     .leader = 1,
     .isr = one,
     .isr_count = 1},
};
static struct view_partition new_parts[] = {
    {.partition = 0, .replicas = one, .replica_count = 1, .node = VIEW_NODE_ABSENT}};
static struct view_topic view_topics[] = {
    {.name = (char *)"fresh", .partitions = new_parts, .partition_count = 1},
    {.name = (char *)"old", .partitions = old_parts, .partition_count = 4},
};
static const struct cluster_view view = {brokers, 2, view_topics, 2, 1};

static const struct metadata_topic *find(const struct metadata_response *m, const char *name)
{
    for (size_t i = 0; i < m->topics_count; i++)
        if (bytes_equal_text(m->topics[i].name, name))
            return &m->topics[i];
    fail_msg("no topic %s", name);
    return NULL;
}

static void test_metadata_of_all(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, ARENA_MAX);
    struct metadata_request request = {NULL, 0};
    struct metadata_rules rules = {.auto_create = true};
    struct metadata_response m;
    size_t n;
    assert_int_equal(metadata_answer(&view, &rules, &request, &arena, &m, NULL, &n), ZKC_OK);
    assert_int_equal(n, 0);
    assert_int_equal(m.brokers_count, 2);
    assert_int_equal(m.brokers[1].node_id, 3);
    assert_true(bytes_equal_text(m.brokers[1].host, "h3"));
    assert_int_equal(m.topics_count, 2);
    const struct metadata_topic *fresh = find(&m, "fresh"), *old = find(&m, "old");
    assert_int_equal(fresh->error_code, KAFKA_ERR_LEADER_NOT_AVAILABLE);
    assert_int_equal(fresh->partitions_count, 0);
    assert_int_equal(old->error_code, 0);
    assert_int_equal(old->partitions_count, 4);
    static const struct {
        int16_t error;
        int32_t index, leader;
        size_t replicas, isr;
    } want[] = {{0, 0, 1, 1, 1}, {5, 1, -1, 0, 0}, {5, 4, -1, 0, 0}, {0, 5, 1, 2, 1}};
    for (size_t i = 0; i < 4; i++) {
        const struct metadata_partition *p = &old->partitions[i];
        if (p->error_code != want[i].error || p->partition_index != want[i].index ||
            p->leader_id != want[i].leader || p->replica_nodes_count != want[i].replicas ||
            p->isr_nodes_count != want[i].isr)
            fail_msg("partition %zu: error %d, leader %d", i, p->error_code, p->leader_id);
    }
    arena_deinit(&arena);
}

static void test_metadata_of_some(void **state)
{
    (void)state;
    char too_long[LOG_TOPIC_NAME_MAX + 1], longest[LOG_TOPIC_NAME_MAX];
    memset(too_long, 'x', sizeof too_long);
    memset(longest, 'x', sizeof longest);
    struct metadata_request_topic asked[] = {
        {{(const uint8_t *)"old", 3}},       {{(const uint8_t *)"missing", 7}},
        {{(const uint8_t *)"bad/name", 8}},  {{(const uint8_t *)"", 0}},
        {{(const uint8_t *)"a\0b", 3}},      {bytes_of(too_long, sizeof too_long)},
        {bytes_of(longest, sizeof longest)}, {{(const uint8_t *)"old", 3}},
    };
    static const int16_t want_on[] = {0, 5, 17, 17, 17, 17, 5, 0};
    static const int16_t want_off[] = {0, 3, 17, 17, 17, 17, 3, 0};
    struct metadata_request request = {asked, ARRAY_LEN(asked)};
    for (int on = 0; on <= 1; on++) {
        struct arena arena;
        struct metadata_response m;
        struct bytes create[ARRAY_LEN(asked)];
        struct metadata_rules rules = {.auto_create = on};
        size_t n;
        arena_init(&arena, ARENA_MAX);
        assert_int_equal(metadata_answer(&view, &rules, &request, &arena, &m, create, &n), ZKC_OK);
        assert_int_equal(n, on ? 2 : 0);
        for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
            if (m.topics[i].error_code != (on ? want_on : want_off)[i])
                fail_msg("topic %zu: error %d", i, m.topics[i].error_code);
            assert_true(m.topics[i].error_code == 0 || m.topics[i].partitions_count == 0);
        }
        if (on)
            assert_true(bytes_equal_text(create[0], "missing"));
        arena_deinit(&arena);
    }
}

/* ---- Hostile ---- */

/* A small request cannot ask for a large answer: the arena ends it. */
static void test_answers_are_bounded(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct metadata_request_topic *asked = calloc(N, sizeof *asked);
    for (size_t i = 0; i < N; i++)
        asked[i].name = bytes_of_text("old");
    struct metadata_request request = {asked, N};
    struct metadata_rules rules = {.auto_create = false};
    struct metadata_response m;
    struct arena arena;
    size_t n;
    arena_init(&arena, ARENA_MAX);
    assert_int_equal(metadata_answer(&view, &rules, &request, &arena, &m, NULL, &n),
                     ZKC_ERR_TOO_LARGE);
    assert_true(arena.allocated <= ARENA_MAX);
    arena_deinit(&arena);
    free(asked);
}

static enum zkc_err answer_metadata(const void *input)
{
    (void)input;
    struct metadata_request request = {NULL, 0};
    struct metadata_rules rules = {.auto_create = false};
    struct metadata_response m;
    struct arena arena;
    size_t n;
    arena_init(&arena, ARENA_MAX);
    enum zkc_err err = metadata_answer(&view, &rules, &request, &arena, &m, NULL, &n);
    arena_deinit(&arena);
    return err;
}

static enum zkc_err answer_produce(const void *input)
{
    (void)input;
    struct produce_request request = {.topic_data = produce_topics, .topic_data_count = 2};
    struct produce_response response;
    struct arena arena;
    arena_init(&arena, ARENA_MAX);
    enum zkc_err err = produce_answer_make(&request, &arena, &response);
    arena_deinit(&arena);
    return err;
}

static enum zkc_err copy_view(const void *input)
{
    struct cluster_view copy;
    enum zkc_err err = cluster_view_copy(input, &copy);
    if (!err) {
        assert_int_equal(copy.topic_count, 2);
        assert_string_equal(copy.topics[1].name, "old");
        assert_int_equal(copy.topics[1].partitions[3].replicas[0], 2);
        assert_string_equal(copy.brokers[1].host, "h3");
        cluster_view_deinit(&copy);
    }
    return err;
}

static void test_without_memory(void **state)
{
    (void)state;
    alloc_fail_each(answer_metadata, NULL);
    alloc_fail_each(answer_produce, NULL);
    alloc_fail_each(copy_view, &view);
}

static void test_checks(void **state)
{
    (void)state;
    static const struct {
        const char *topic;
        int32_t partition, me;
        enum kafka_error want;
    } cases[] = {
        {"old", 0, 1, KAFKA_ERR_NONE},
        {"old", 0, 3, KAFKA_ERR_NOT_LEADER_OR_FOLLOWER},
        {"old", 1, 3, KAFKA_ERR_LEADER_NOT_AVAILABLE},
        {"old", 1, 2, KAFKA_ERR_NONE}, /* ours, though our registration is gone for a moment */
        {"old", 2, 1, KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION},
        {"old", -1, 1, KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION},
        {"old", 4, 1, KAFKA_ERR_LEADER_NOT_AVAILABLE},
        {"fresh", 0, 1, KAFKA_ERR_LEADER_NOT_AVAILABLE},
        {"ol", 0, 1, KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION},
        {"", 0, 1, KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (cluster_view_check(&view, cases[i].me, bytes_of_text(cases[i].topic),
                               cases[i].partition) != cases[i].want)
            fail_msg("%s/%d at %d", cases[i].topic, cases[i].partition, cases[i].me);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd_input),        cmocka_unit_test(test_closing_says_why),
        cmocka_unit_test(test_api_versions),     cmocka_unit_test(test_produce_answers),
        cmocka_unit_test(test_fetch_layout),     cmocka_unit_test(test_metadata_of_all),
        cmocka_unit_test(test_metadata_of_some), cmocka_unit_test(test_answers_are_bounded),
        cmocka_unit_test(test_without_memory),   cmocka_unit_test(test_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
