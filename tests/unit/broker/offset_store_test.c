/* Offsets in ZooKeeper: OffsetCommit 0 and OffsetFetch 0 on a ZooKeeper in memory. */
#include "broker/core/offset_store.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/broker/zk_model.h"
#include "tests/unit/test.h"

#define ARENA_MAX (1 << 20)

static struct view_topic topics[] = {{.name = (char *)"t"}, {.name = (char *)"u"}};
static const struct cluster_view view = {.topics = topics, .topic_count = 2, .controller_id = -1};

static struct bytes text(const char *s)
{
    return bytes_of_text(s);
}

/* Runs a commit to its end; `fail_at` >= 0: that operation's connection is lost. */
static void commit(struct zk_model *z, const struct offset_commit_request *request, int fail_at,
                   struct arena *arena, struct offset_commit_response *response)
{
    struct offset_commit_program c;
    const struct zk_op *op;
    enum offset_step step;
    assert_int_equal(offset_commit_begin(&c, request, &view, 10, arena, response, &step, &op),
                     ZKC_OK);
    for (int i = 0; step == OFFSET_SEND; i++) {
        zk_model_session(z, 0);
        struct zk_result r = {.zk_rc = ZK_CONNECTION_LOSS};
        zk_model_send(z, 0, 0, 0, op);
        struct model_arrival a = {.is_event = false};
        if (i != fail_at) {
            assert_true(zk_model_serve(z, 0));
            assert_true(zk_model_arrive(z, 0, &a));
            r = a.result;
        }
        step = offset_commit_next(&c, &r, &op);
        model_arrival_free(&a);
        zk_model_expire(z, 0);
        assert_true(i < 1000);
    }
    offset_commit_deinit(&c);
}

static void test_commit_and_fetch(void **state)
{
    (void)state;
    struct zk_model *z = zk_model_new();
    struct arena arena;
    arena_init(&arena, ARENA_MAX);
    struct offset_commit_request_partition pt[] = {
        {0, 5, -1, BYTES_NULL}, {1, -1, -1, text("ten bytes!")}, {2, 7, -1, text("eleven byte")}};
    struct offset_commit_request_partition pm[] = {{0, 1, -1, BYTES_NULL}};
    struct offset_commit_request_topic ct[] = {{text("t"), pt, 3}, {text("missing"), pm, 1}};
    struct offset_commit_request request = {.group_id = text("g"), .topics = ct, .topics_count = 2};
    struct offset_commit_response response;
    commit(z, &request, -1, &arena, &response);
    assert_int_equal(response.topics_count, 2);
    static const int16_t want[] = {0, 0, KAFKA_ERR_OFFSET_METADATA_TOO_LARGE};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(response.topics[0].partitions[i].error_code, want[i]);
        assert_int_equal(response.topics[0].partitions[i].partition_index, i);
    }
    assert_int_equal(response.topics[1].partitions[0].error_code,
                     KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_string_equal(zk_model_text(z, "/consumers/g/offsets/t/0"), "5");
    assert_string_equal(zk_model_text(z, "/consumers/g/offsets/t/1"), "-1");
    assert_false(zk_model_has(z, "/consumers/g/offsets/t/2"));
    assert_null(zk_model_text(z, "/consumers/g"));
    /* As ZkUtils.updatePersistentPath: set; then the parents, then the node. */
    assert_string_equal(buf_text(&z->writes[0]), "setData /consumers/g/offsets/t/0 5 NoNode\n"
                                                 "create /consumers/g/offsets/t null NoNode\n"
                                                 "create /consumers/g/offsets null NoNode\n"
                                                 "create /consumers/g null NoNode\n"
                                                 "create /consumers null\n"
                                                 "create /consumers/g null\n"
                                                 "create /consumers/g/offsets null\n"
                                                 "create /consumers/g/offsets/t null\n"
                                                 "create /consumers/g/offsets/t/0 5\n"
                                                 "setData /consumers/g/offsets/t/1 -1 NoNode\n"
                                                 "create /consumers/g/offsets/t null NodeExists\n"
                                                 "create /consumers/g/offsets/t/1 -1\n");

    pt[0].committed_offset = 6;
    commit(z, &request, -1, &arena, &response);
    assert_string_equal(zk_model_text(z, "/consumers/g/offsets/t/0"), "6");

    zk_model_create(z, "/consumers/g/offsets/u", NULL);
    zk_model_create(z, "/consumers/g/offsets/u/0", "6\n");
    int32_t partitions[] = {0, 1, 9}, zero[] = {0};
    struct offset_fetch_request_topic ft[] = {
        {text("t"), partitions, 3}, {text("missing"), zero, 1}, {text("u"), zero, 1}};
    struct offset_fetch_request fetch = {text("g"), ft, 3};
    struct offset_fetch_response fetched;
    struct offset_fetch_program f;
    const struct zk_op *op;
    enum offset_step step;
    assert_int_equal(offset_fetch_begin(&f, &fetch, &view, &arena, &fetched, &step, &op), ZKC_OK);
    while (step == OFFSET_SEND) {
        struct zk_result r = zk_model_do(z, op);
        step = offset_fetch_next(&f, &r, &op);
        free((void *)r.data.data);
    }
    offset_fetch_deinit(&f);
    static const struct {
        int topic, partition;
        int64_t offset;
        int16_t error;
    } got[] = {{0, 0, 6, 0}, {0, 1, -1, 0}, {0, 2, -1, 3}, {1, 0, -1, 3}, {2, 0, -1, -1}};
    for (size_t i = 0; i < ARRAY_LEN(got); i++) {
        const struct offset_fetch_response_partition *p =
            &fetched.topics[got[i].topic].partitions[got[i].partition];
        if (p->committed_offset != got[i].offset || p->error_code != got[i].error ||
            !bytes_equal_text(p->metadata, ""))
            fail_msg("case %zu: offset %" PRId64 ", error %d", i, p->committed_offset,
                     p->error_code);
    }
    arena_deinit(&arena);
    zk_model_free(z);
}

/* Each operation may fail, without a word of the others' fate. */
static void test_operations_fail(void **state)
{
    (void)state;
    for (int fail_at = 0; fail_at < 12; fail_at++) {
        struct zk_model *z = zk_model_new();
        struct arena arena;
        arena_init(&arena, ARENA_MAX);
        struct offset_commit_request_partition pt[] = {{0, 5, -1, BYTES_NULL},
                                                       {1, 6, -1, BYTES_NULL}};
        struct offset_commit_request_topic ct[] = {{text("t"), pt, 2}};
        struct offset_commit_request request = {
            .group_id = text("g"), .topics = ct, .topics_count = 1};
        struct offset_commit_response response;
        commit(z, &request, fail_at, &arena, &response);
        assert_int_equal(response.topics[0].partitions[0].error_code, fail_at < 9 ? -1 : 0);
        assert_int_equal(response.topics[0].partitions[1].error_code, fail_at < 9 ? 0 : -1);
        arena_deinit(&arena);
        zk_model_free(z);
    }
}

static void test_illegal_names(void **state)
{
    (void)state;
    static const char *const groups[] = {"", "a/b", ".", "..", "a\x01", "\xff"};
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        struct zk_model *z = zk_model_new();
        struct arena arena;
        arena_init(&arena, ARENA_MAX);
        struct offset_commit_request_partition pt[] = {{0, 5, -1, BYTES_NULL}};
        struct offset_commit_request_topic ct[] = {{text("t"), pt, 1}};
        struct offset_commit_request request = {
            .group_id = text(groups[i]), .topics = ct, .topics_count = 1};
        struct offset_commit_response response;
        commit(z, &request, -1, &arena, &response);
        assert_int_equal(response.topics[0].partitions[0].error_code, -1);
        int32_t zero[] = {0};
        struct offset_fetch_request_topic ft[] = {{text("t"), zero, 1}};
        struct offset_fetch_request fetch = {text(groups[i]), ft, 1};
        struct offset_fetch_response fetched;
        struct offset_fetch_program f;
        const struct zk_op *op;
        enum offset_step step;
        assert_int_equal(offset_fetch_begin(&f, &fetch, &view, &arena, &fetched, &step, &op), 0);
        assert_int_equal(step, OFFSET_DONE);
        assert_int_equal(fetched.topics[0].partitions[0].error_code, -1);
        offset_fetch_deinit(&f);
        assert_int_equal(z->node_count, 0);
        arena_deinit(&arena);
        zk_model_free(z);
    }
}

static enum zkc_err begin_both(const void *input)
{
    (void)input;
    struct arena arena;
    arena_init(&arena, ARENA_MAX);
    struct offset_commit_request_topic ct[] = {{text("missing"), NULL, 0}};
    struct offset_commit_request request = {.group_id = text("g"), .topics = ct, .topics_count = 1};
    struct offset_commit_response response;
    struct offset_commit_program c;
    struct offset_fetch_request_topic ft[] = {{text("missing"), NULL, 0}};
    struct offset_fetch_request fetch = {text("g"), ft, 1};
    struct offset_fetch_response fetched;
    struct offset_fetch_program f = {.request = NULL};
    const struct zk_op *op;
    enum offset_step step;
    enum zkc_err err = offset_commit_begin(&c, &request, &view, 10, &arena, &response, &step, &op);
    if (!err)
        err = offset_fetch_begin(&f, &fetch, &view, &arena, &fetched, &step, &op);
    offset_commit_deinit(&c);
    offset_fetch_deinit(&f);
    arena_deinit(&arena);
    return err;
}

static void test_without_memory(void **state)
{
    (void)state;
    alloc_fail_each(begin_both, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commit_and_fetch),
        cmocka_unit_test(test_operations_fail),
        cmocka_unit_test(test_illegal_names),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
