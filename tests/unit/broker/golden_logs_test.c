/* Log folders of Kafka 0.8.2.2: taken as they are and checked from the beginning, they come to what
 * Kafka's own classes found in them. */
#include "tests/unit/broker/memory_log.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/wire/message_set.h"
#include <jansson.h>

#define LOGS TEST_VECTORS "/broker/logs/"

/* As the recording broker had it. */
static struct log_config config(void)
{
    struct log_config c = log_config_default();
    c.index_interval_bytes = 200;
    c.index_bytes_max = 4096;
    c.segment_bytes = 1500;
    return c;
}

static json_t *expected(const char *scene)
{
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, LOGS "%s/expected.json", scene);
    json_t *json = json_load_file(path, 0, &error);
    if (!json)
        fail_msg("%s: %s", path, error.text);
    return json;
}

static int64_t number(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* The offset behind the last message of the folder. */
static int64_t expected_end(json_t *segments)
{
    int64_t end = 0;
    size_t i, j;
    json_t *segment, *batch;
    json_array_foreach(segments, i, segment)
    {
        json_array_foreach(json_object_get(segment, "batches"), j, batch)
        {
            end = number(batch, "last_offset") + 1;
        }
    }
    return end;
}

/* Every offset of every batch is found where the batch begins. */
static void assert_found(const char *where, const struct partition_log *log, json_t *segments)
{
    size_t i, j;
    json_t *segment, *batch;
    json_array_foreach(segments, i, segment)
    {
        const struct segment_file *file = log->segments[i].file;
        json_array_foreach(json_object_get(segment, "batches"), j, batch)
        {
            size_t position = (size_t)number(batch, "position");
            for (int64_t offset = number(batch, "base_offset");
                 offset <= number(batch, "last_offset"); offset++) {
                struct bytes got;
                assert_int_equal(memory_log_read(log, offset, SIZE_MAX, &got), LOG_FOUND);
                if (got.data != file->log.data + position || got.len != file->log.len - position)
                    fail_msg("%s: offset %" PRId64 " is not found at %zu", where, offset, position);
            }
        }
    }
}

/* Each segment has its size and its messages. */
static void assert_loaded(const char *where, const struct partition_log *log, json_t *segments)
{
    size_t i;
    json_t *segment;
    assert_int_equal(log->count, json_array_size(segments));
    assert_int_equal(log->end_offset > 0, true);
    json_array_foreach(segments, i, segment)
    {
        assert_int_equal(log->segments[i].size, number(segment, "valid_bytes"));
    }
    int64_t end = expected_end(segments);
    if (log->end_offset < end)
        fail_msg("%s: ends at %" PRId64 ", expected %" PRId64, where, log->end_offset, end);
    assert_found(where, log, segments);
}

static const struct scene {
    const char *name;
    bool was_recovered; /* Kafka itself has rebuilt its indexes: ours must be the same */
    bool is_torn;
} scenes[] = {
    {"codec-none", true, false},         {"codec-gzip", true, false},
    {"codec-snappy", true, false},       {"codec-lz4", true, false},
    {"codec-mixed", true, false},        {"keys-nulls", true, false},
    {"segments", true, false},           {"__consumer_offsets", true, false},
    {"compacted", false, false},         {"compacted-gzip", false, false},
    {"compacted-deleted", false, false}, {"killed", true, false},
    {"recovered", true, false},          {"torn", false, true},
};

static void each_partition(void (*check)(const struct scene *, const char *where,
                                         const char *folder, json_t *segments))
{
    for (const struct scene *s = scenes; s < scenes + ARRAY_LEN(scenes); s++) {
        json_t *json = expected(s->name), *partition;
        const char *name;
        json_object_foreach(json_object_get(json, "partitions"), name, partition)
        {
            char folder[512];
            snprintf(folder, sizeof folder, LOGS "%s/%s", s->name, name);
            check(s, name, folder, json_object_get(partition, "segments"));
        }
        json_decref(json);
    }
}

static void check_recovery(const struct scene *s, const char *where, const char *folder,
                           json_t *segments)
{
    static const size_t chunks[] = {0, 1, 7, 4096};
    struct log_config c = config();
    for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
        struct memory_folder before = memory_folder_read(folder);
        struct memory_folder f = memory_folder_read(folder);
        struct partition_log log;
        memory_log_load(&log, &f, &c, 0, chunks[i], 0);
        assert_loaded(where, &log, segments);
        for (size_t k = 0; s->was_recovered && k < f.count; k++) {
            struct bytes stored = buf_bytes(&before.files[k]->index);
            struct bytes rebuilt = buf_bytes(&f.files[k]->index);
            if (stored.len < rebuilt.len ||
                (rebuilt.len && memcmp(stored.data, rebuilt.data, rebuilt.len) != 0))
                fail_msg("%s: the index of segment %zu is another", where, k);
            for (size_t b = rebuilt.len; b < stored.len; b++)
                assert_int_equal(stored.data[b], 0);
        }
        partition_log_deinit(&log);
        memory_folder_free(&f);
        memory_folder_free(&before);
    }
}

static void check_clean(const struct scene *s, const char *where, const char *folder,
                        json_t *segments)
{
    if (s->is_torn)
        return;
    struct log_config c = config();
    struct memory_folder f = memory_folder_read(folder);
    struct partition_log log;
    memory_log_load(&log, &f, &c, INT64_MAX, 0, 0);
    assert_loaded(where, &log, segments);
    partition_log_deinit(&log);
    memory_folder_free(&f);
}

static void test_recovered_from_the_beginning(void **state)
{
    (void)state;
    each_partition(check_recovery);
}

static void test_taken_as_clean(void **state)
{
    (void)state;
    each_partition(check_clean);
}

/* What Kafka made of the torn log, we make of it: the same bytes, index included. */
static void test_torn_becomes_recovered(void **state)
{
    (void)state;
    struct log_config c = config();
    struct memory_folder torn = memory_folder_read(LOGS "torn/killed-0");
    struct memory_folder want = memory_folder_read(LOGS "recovered/killed-0");
    struct partition_log log;
    memory_log_load(&log, &torn, &c, 0, 100, 0);
    assert_int_equal(torn.count, want.count);
    for (size_t i = 0; i < want.count; i++) {
        assert_true(bytes_equal(buf_bytes(&torn.files[i]->log), buf_bytes(&want.files[i]->log)));
        assert_true(
            bytes_equal(buf_bytes(&torn.files[i]->index), buf_bytes(&want.files[i]->index)));
    }
    assert_int_equal(log.end_offset, 64);
    partition_log_deinit(&log);
    memory_folder_free(&torn);
    memory_folder_free(&want);
}

/* The messages of a log, produced again one by one, come to the same folder. */
static void test_appended_anew(void **state)
{
    (void)state;
    static const char *const folders[] = {LOGS "segments/segments-0", LOGS "segments/segments-1",
                                          LOGS "codec-none/codec-none-0"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        struct memory_folder want = memory_folder_read(folders[i]), got = {NULL, 0};
        struct log_config c = config();
        if (strstr(folders[i], "codec-none"))
            c.segment_bytes = 1 << 20;
        struct partition_log log;
        struct log_append a;
        log_append_init(&a, 1 << 20);
        memory_log_load(&log, &got, &c, 0, 0, 0);
        for (size_t s = 0; s < want.count; s++) {
            struct bytes set = buf_bytes(&want.files[s]->log);
            struct buf one;
            buf_init(&one, 1 << 20);
            for (size_t at = 0, n; at < set.len; at += n) {
                n = 12 + (size_t)(set.data[at + 8] << 24 | set.data[at + 9] << 16 |
                                  set.data[at + 10] << 8 | set.data[at + 11]);
                buf_clear(&one);
                buf_append(&one, set.data + at, n);
                memset(one.data, 0xee, 8); /* whatever the producer says */
                assert_int_equal(memory_log_append(&log, &got, &a, one.data, n, 0), 0);
            }
            buf_deinit(&one);
        }
        assert_int_equal(got.count, want.count);
        for (size_t s = 0; s < want.count; s++) {
            assert_int_equal(got.files[s]->base_offset, want.files[s]->base_offset);
            assert_true(bytes_equal(buf_bytes(&got.files[s]->log), buf_bytes(&want.files[s]->log)));
            assert_true(
                bytes_equal(buf_bytes(&got.files[s]->index), buf_bytes(&want.files[s]->index)));
        }
        partition_log_deinit(&log);
        log_append_deinit(&a);
        memory_folder_free(&got);
        memory_folder_free(&want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recovered_from_the_beginning),
        cmocka_unit_test(test_taken_as_clean),
        cmocka_unit_test(test_torn_becomes_recovered),
        cmocka_unit_test(test_appended_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
