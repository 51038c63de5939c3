/* The questions for offsets in Kafka against recorded frames of 0.8.2.2's consumer and broker
 * (tests/vectors/wire/offsets.json): the same bytes after the header, the same meaning. */
#include "tests/unit/test.h"
#include "tests/unit/wire/vectors.h"
#include "zkconsumer/core/group/offset_wire.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include <stdlib.h>

#define ARENA_MAX (1 << 16)
#define HEADER_BYTES                                                                               \
    (4 + 2 + 2 + 4 + 2) /* size, api, version, correlation; length of the client id */

struct recorded {
    json_t *entry;
    struct bytes request, response; /* whole frames */
};

static struct recorded find(json_t *vectors, int api_key, const char *client, int error_code)
{
    json_t *v;
    size_t i;
    json_array_foreach(vectors, i, v)
    {
        json_t *body = json_object_get(json_object_get(v, "response"), "body");
        json_t *code = json_object_get(body, "error_code");
        if (!code) {
            json_t *topic = json_array_get(json_object_get(body, "topics"), 0);
            json_t *partition = json_array_get(json_object_get(topic, "partitions"), 0);
            code = json_object_get(partition, "error_code");
        }
        if (json_integer_value(json_object_get(v, "api_key")) == api_key &&
            strcmp(member_text(v, "client"), client) == 0 && json_integer_value(code) == error_code)
            return (struct recorded){v, bytes_of_hex(member_text(v, "request_hex")),
                                     bytes_of_hex(member_text(v, "response_hex"))};
    }
    fail_msg("no frame of api %d by %s with error %d", api_key, client, error_code);
    return (struct recorded){0};
}

static void forget(struct recorded *r)
{
    free((void *)(uintptr_t)r->request.data);
    free((void *)(uintptr_t)r->response.data);
}

static void expect_request(const struct recorded *r, const struct group_output *ask)
{
    size_t client_len = strlen(member_text(r->entry, "client"));
    struct arena arena;
    struct buf body;
    arena_init(&arena, ARENA_MAX);
    buf_init(&body, ARENA_MAX);
    assert_int_equal(offset_wire_encode(ask, &arena, &body), ZKC_OK);
    struct bytes want = bytes_of(r->request.data + HEADER_BYTES + client_len,
                                 r->request.len - HEADER_BYTES - client_len);
    assert_int_equal(body.len, want.len);
    assert_memory_equal(body.data, want.data, want.len);
    assert_int_equal(r->request.data[5], offset_wire_api(ask->offsets_ask.request));
    assert_int_equal(r->request.data[7], offset_wire_version(ask->offsets_ask.request));
    buf_deinit(&body);
    arena_deinit(&arena);
}

static enum zkc_err decode(const struct recorded *r, enum group_offsets_request request,
                           struct arena *arena, struct group_offsets_answer *out)
{
    struct why why;
    arena_init(arena, ARENA_MAX);
    return offset_wire_decode(request, bytes_of(r->response.data + 8, r->response.len - 8), arena,
                              out, &why);
}

static struct group_output ask_of(enum group_offsets_request request, const char *group,
                                  const struct group_offset *list, size_t count)
{
    struct group_output o = {.type = GROUP_OUT_OFFSETS_ASK};
    o.offsets_ask.request = request;
    o.offsets_ask.group = group;
    o.offsets_ask.list = list;
    o.offsets_ask.count = count;
    return o;
}

static void test_find(void **state)
{
    (void)state;
    json_t *vectors = vectors_json("offsets.json");
    struct group_output ask = ask_of(GROUP_OFFSETS_FIND, "g-zk", NULL, 0);
    struct group_offsets_answer a;
    struct arena arena;
    struct recorded r = find(vectors, 10, "", 0);
    expect_request(&r, &ask);
    assert_int_equal(decode(&r, GROUP_OFFSETS_FIND, &arena, &a), ZKC_OK);
    assert_int_equal(a.kafka_error, 0);
    assert_string_equal(a.host, "127.0.0.1");
    assert_int_equal(a.port, 24302);
    arena_deinit(&arena);
    forget(&r);
    r = find(vectors, 10, "", 15);
    expect_request(&r, &ask);
    assert_int_equal(decode(&r, GROUP_OFFSETS_FIND, &arena, &a), ZKC_OK);
    assert_int_equal(a.kafka_error, KAFKA_ERR_COORDINATOR_NOT_AVAILABLE);
    arena_deinit(&arena);
    forget(&r);
    json_decref(vectors);
}

static void test_commit(void **state)
{
    (void)state;
    json_t *vectors = vectors_json("offsets.json");
    struct group_offset offsets[] = {{"t1", 0, 20, 0}};
    struct group_output ask = ask_of(GROUP_OFFSETS_COMMIT, "g-zk", offsets, 1);
    struct group_offsets_answer a;
    struct arena arena;
    struct recorded r = find(vectors, 8, "java-0.8.2.2-zkconsumer", 0);
    expect_request(&r, &ask);
    assert_int_equal(decode(&r, GROUP_OFFSETS_COMMIT, &arena, &a), ZKC_OK);
    assert_int_equal(a.count, 1);
    assert_string_equal(a.list[0].topic, "t1");
    assert_int_equal(a.list[0].kafka_error, 0);
    arena_deinit(&arena);
    forget(&r);
    r = find(vectors, 8, "java-0.8.2.2-simple", 15);
    assert_int_equal(decode(&r, GROUP_OFFSETS_COMMIT, &arena, &a), ZKC_OK);
    assert_int_equal(a.list[0].kafka_error, KAFKA_ERR_COORDINATOR_NOT_AVAILABLE);
    arena_deinit(&arena);
    forget(&r);
    json_decref(vectors);
}

static void test_fetch(void **state)
{
    (void)state;
    json_t *vectors = vectors_json("offsets.json");
    struct group_offset offsets[] = {{"t1", 0, -1, 0}};
    struct group_output ask = ask_of(GROUP_OFFSETS_FETCH, "simple-g1", offsets, 1);
    struct group_offsets_answer a;
    struct arena arena;
    struct recorded r = find(vectors, 9, "java-0.8.2.2-simple", 16);
    expect_request(&r, &ask);
    assert_int_equal(decode(&r, GROUP_OFFSETS_FETCH, &arena, &a), ZKC_OK);
    assert_int_equal(a.count, 1);
    assert_int_equal(a.list[0].offset, -1);
    assert_int_equal(a.list[0].kafka_error, KAFKA_ERR_NOT_COORDINATOR);
    arena_deinit(&arena);
    forget(&r);
    r = find(vectors, 9, "crafted", 0);
    assert_int_equal(decode(&r, GROUP_OFFSETS_FETCH, &arena, &a), ZKC_OK);
    assert_int_equal(a.count, 2);
    assert_int_equal(a.list[0].offset, 2);
    assert_string_equal(a.list[1].topic, "absent-topic");
    assert_int_equal(a.list[1].kafka_error, KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION);
    arena_deinit(&arena);
    forget(&r);
    json_decref(vectors);
}

/* Several topics: entries of one topic come together. */
static void test_topics_are_grouped(void **state)
{
    (void)state;
    static const uint8_t want[] = {0, 1, 'g', 0, 0, 0, 2,                         /**/
                                   0, 1, 'a', 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, /* two of a */
                                   0, 1, 'b', 0, 0, 0, 1, 0, 0, 0, 0};
    struct group_offset offsets[] = {{"a", 1, -1, 0}, {"a", 3, -1, 0}, {"b", 0, -1, 0}};
    struct group_output ask = ask_of(GROUP_OFFSETS_FETCH, "g", offsets, 3);
    struct arena arena;
    struct buf body;
    arena_init(&arena, ARENA_MAX);
    buf_init(&body, ARENA_MAX);
    assert_int_equal(offset_wire_encode(&ask, &arena, &body), ZKC_OK);
    assert_int_equal(body.len, sizeof want);
    assert_memory_equal(body.data, want, sizeof want);
    buf_deinit(&body);
    arena_deinit(&arena);
}

static void test_answers_cut_short(void **state)
{
    (void)state;
    json_t *vectors = vectors_json("offsets.json");
    static const struct {
        int api_key;
        const char *client;
        int error;
        enum group_offsets_request request;
    } cases[] = {{10, "", 0, GROUP_OFFSETS_FIND},
                 {9, "crafted", 0, GROUP_OFFSETS_FETCH},
                 {8, "java-0.8.2.2-zkconsumer", 0, GROUP_OFFSETS_COMMIT}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct recorded r = find(vectors, cases[i].api_key, cases[i].client, cases[i].error);
        for (size_t len = 0; len < r.response.len - 8; len++) {
            struct group_offsets_answer a;
            struct arena arena;
            struct why why;
            arena_init(&arena, ARENA_MAX);
            assert_int_equal(offset_wire_decode(cases[i].request,
                                                bytes_of(r.response.data + 8, len), &arena, &a,
                                                &why),
                             ZKC_ERR_PROTOCOL);
            assert_true(why.text[0]);
            arena_deinit(&arena);
        }
        forget(&r);
    }
    json_decref(vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_commit),
        cmocka_unit_test(test_fetch),
        cmocka_unit_test(test_topics_are_grouped),
        cmocka_unit_test(test_answers_cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
