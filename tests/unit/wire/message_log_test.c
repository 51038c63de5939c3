/* Message sets that real brokers wrote: whole partition logs of Kafka 0.8.2.2 with every codec,
 * format 0 of later brokers, sets from the wire, and answers to Fetch 0 that were converted. What
 * is in the logs was read by Kafka's own classes. */
#include "tests/unit/test.h"
#include "tests/unit/wire/vectors.h"
#include "zkconsumer/core/wire/fetch.h"
#include "zkconsumer/core/wire/message_set.h"

static const struct message_iter_limits limits = {.decompressed_bytes_max = 1 << 20};

static void check_record(const char *where, struct message_iter *it, const json_t *want)
{
    struct message_view m;
    enum message_iter_result r = message_iter_next(it, &m);
    if (r != MESSAGE_ITER_MESSAGE)
        fail_msg("%s: result %d: %s", where, r, it->fault.reason);
    if (m.offset != json_integer_value(json_object_get(want, "offset")) ||
        !bytes_equal_json(m.key, json_object_get(want, "key")) ||
        !bytes_equal_json(m.value, json_object_get(want, "value")))
        fail_msg("%s: offset %" PRId64 " is not %s", where, m.offset, json_dumps(want, 0));
}

static size_t check_segment(const char *where, struct bytes log, const json_t *segment)
{
    struct message_iter it;
    struct message_view m;
    size_t records = 0, b, r;
    json_t *batch, *record;
    json_t *batches = json_object_get(segment, "batches");
    message_iter_init(&it, log, &limits);
    json_array_foreach(batches, b, batch)
    {
        json_array_foreach(json_object_get(batch, "records"), r, record)
        {
            check_record(where, &it, record);
            records++;
        }
    }
    const json_t *valid = json_object_get(segment, "valid_bytes");
    size_t valid_bytes = valid ? (size_t)json_integer_value(valid) : log.len;
    assert_int_equal(message_iter_next(&it, &m),
                     valid_bytes < log.len ? MESSAGE_ITER_PARTIAL : MESSAGE_ITER_END);
    message_iter_deinit(&it);

    struct message_set_extent x = message_set_extent(log);
    assert_int_equal(x.state, log.len ? MESSAGE_SET_OK : MESSAGE_SET_EMPTY);
    assert_int_equal(x.valid_bytes, valid_bytes);
    assert_int_equal(x.entries, json_array_size(batches));
    const json_t *last = json_array_get(batches, json_array_size(batches) - 1);
    if (last)
        assert_int_equal(x.next_offset,
                         json_integer_value(json_object_get(last, "last_offset")) + 1);
    return records;
}

static const struct scene {
    const char *name;
    size_t records;
} scenes[] = {
    {"0.8.2.2-codec-none", 24},
    {"0.8.2.2-codec-gzip", 24},
    {"0.8.2.2-codec-snappy", 24},
    {"0.8.2.2-codec-lz4", 24},
    {"0.8.2.2-codec-mixed", 15},
    {"0.8.2.2-keys-nulls", 9},
    {"0.8.2.2-segments", 30},
    {"0.8.2.2-compacted", 18},
    {"0.8.2.2-compacted-deleted", 18},
    {"0.8.2.2-compacted-gzip", 26},
    {"0.8.2.2-torn", 64},
    {"0.8.2.2-__consumer_offsets", 3},
    {"1.1.1-format-v0", 12},
    {"2.8.2-format-v0", 12},
};

static void test_logs(void **state)
{
    (void)state;
    for (const struct scene *scene = scenes; scene < scenes + ARRAY_LEN(scenes); scene++) {
        char path[300];
        snprintf(path, sizeof path, "logs/%s/expected.json", scene->name);
        json_t *expected = vectors_json(path), *partition, *segment;
        const char *folder;
        size_t records = 0, s;
        json_object_foreach(json_object_get(expected, "partitions"), folder, partition)
        {
            json_array_foreach(json_object_get(partition, "segments"), s, segment)
            {
                snprintf(path, sizeof path, "logs/%s/%s/%s", scene->name, folder,
                         member_text(segment, "file"));
                struct bytes log = vectors_file(path);
                assert_int_equal(log.len, json_integer_value(json_object_get(segment, "size")));
                records += check_segment(path, log, segment);
                free((void *)log.data);
            }
        }
        if (records != scene->records)
            fail_msg("%s: %zu records", scene->name, records);
        json_decref(expected);
    }
}

/* Sets of producers (inner offsets all 0), and of brokers, with and without padding. */
static void test_sets_from_the_wire(void **state)
{
    (void)state;
    json_t *sets = vectors_json("message_sets.json"), *set, *want;
    size_t i, k;
    json_array_foreach(sets, i, set)
    {
        const char *name = member_text(set, "name");
        struct bytes bytes = bytes_of_hex(member_text(set, "set_hex"));
        struct message_iter it;
        struct message_view m;
        message_iter_init(&it, bytes, &limits);
        json_array_foreach(json_object_get(set, "messages"), k, want)
        {
            assert_int_equal(message_iter_next(&it, &m), MESSAGE_ITER_MESSAGE);
            const json_t *key = json_object_get(want, "key");
            if (m.offset != json_integer_value(json_object_get(want, "offset")) ||
                !bytes_equal_text(m.key, json_string_value(key)) ||
                !bytes_equal_text(m.value, member_text(want, "value")))
                fail_msg("%s: message %zu differs", name, k);
        }
        assert_true(k > 2);
        enum message_iter_result end = message_iter_next(&it, &m);
        if (end != MESSAGE_ITER_END)
            fail_msg("%s: ends with %d, %s", name, end, it.fault.reason);
        message_iter_deinit(&it);
        free((void *)bytes.data);
    }
    assert_int_equal(i, 6);
    json_decref(sets);
}

/* Every set in the recorded answers to Fetch 0: no message of it is broken, its messages reach as
 * far as the shallow look says, and never below what was asked for but inside a wrapper. */
static size_t check_answer(size_t number, const char *hex, int64_t fetch_offset)
{
    struct bytes frame = bytes_of_hex(hex);
    const size_t header = 8; /* size and correlation id */
    struct fetch_response_reader reader;
    struct fetch_response_view part;
    size_t messages = 0;
    fetch_response_reader_init(&reader, bytes_of(frame.data + header, frame.len - header));
    while (fetch_response_next(&reader, &part) == FETCH_RESPONSE_PARTITION) {
        struct message_set_extent x = message_set_extent(part.records);
        struct message_iter it;
        struct message_view m;
        enum message_iter_result r;
        int64_t last = -1;
        assert_int_not_equal(x.state, MESSAGE_SET_CORRUPT);
        message_iter_init(&it, part.records, &limits);
        while ((r = message_iter_next(&it, &m)) == MESSAGE_ITER_MESSAGE) {
            messages++;
            if (m.offset < last)
                fail_msg("answer %zu: offset %" PRId64 " after %" PRId64, number, m.offset, last);
            last = m.offset;
        }
        if (r == MESSAGE_ITER_CORRUPT)
            fail_msg("answer %zu: %s", number, it.fault.reason);
        assert_int_equal(last, x.next_offset < 0 ? -1 : x.next_offset - 1);
        assert_true(last == -1 || last >= fetch_offset);
        message_iter_deinit(&it);
    }
    assert_false(reader.malformed);
    free((void *)frame.data);
    return messages;
}

static void test_recorded_answers(void **state)
{
    (void)state;
    json_t *vectors = vectors_json("fetch.json"), *v;
    size_t i, messages = 0;
    json_array_foreach(vectors, i, v)
    {
        json_t *topic = json_array_get(
            json_object_get(json_object_get(json_object_get(v, "request"), "body"), "topics"), 0);
        json_t *partition = json_array_get(json_object_get(topic, "partitions"), 0);
        messages += check_answer(i, member_text(v, "response_hex"),
                                 json_integer_value(json_object_get(partition, "fetch_offset")));
    }
    assert_true(messages > 50);
    json_decref(vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logs),
        cmocka_unit_test(test_sets_from_the_wire),
        cmocka_unit_test(test_recorded_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
