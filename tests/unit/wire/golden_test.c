/* Frames of real clients and brokers: read, compared with what they mean, written again to the same
 * bytes; and cut short at every byte. */
#include "tests/unit/test.h"
#include "tests/unit/wire/message_types.h"
#include "tests/unit/wire/vectors.h"
#include "zkconsumer/core/wire/fetch.h"
#include "zkconsumer/core/wire/frame.h"

#define ARENA_MAX  (1 << 20)
#define OUTPUT_MAX (1 << 20)

/* Both parts of a frame, in any form of memory that fits all. */
struct decoded {
    max_align_t header[8];
    max_align_t body[8];
    struct arena arena;
};

/* Both descriptions of a frame. The headers here have one form. */
struct frame_types {
    const struct message_type *header, *body;
    int16_t version; /* of the body */
};

static enum zkc_err decode(struct decoded *d, struct bytes contents,
                           const struct frame_types *types, char *reason)
{
    assert_true(types->header->size <= sizeof d->header && types->body->size <= sizeof d->body);
    memset(d, 0, sizeof *d);
    arena_init(&d->arena, ARENA_MAX);
    struct wire_codec c;
    wire_codec_read(&c, 0, contents, &d->arena);
    types->header->fields(&c, d->header);
    c.version = types->version;
    types->body->fields(&c, d->body);
    enum zkc_err err = wire_codec_end(&c);
    memcpy(reason, c.reason, sizeof c.reason);
    return err;
}

static void assert_prints(const char *where, const struct message_type *type, int16_t version,
                          void *message, const json_t *want)
{
    struct buf out;
    buf_init(&out, OUTPUT_MAX);
    struct wire_codec c;
    wire_codec_print(&c, version, &out);
    type->fields(&c, message);
    assert_int_equal(wire_codec_end(&c), ZKC_OK);
    json_error_t error;
    json_t *got = json_loads(buf_text(&out), 0, &error);
    if (!got)
        fail_msg("%s: %s does not print JSON: %s: %s", where, type->name, error.text,
                 buf_text(&out));
    if (!json_equal(got, want))
        fail_msg("%s: %s: got %s, want %s", where, type->name, buf_text(&out), json_dumps(want, 0));
    json_decref(got);
    buf_deinit(&out);
}

static void assert_writes(const char *where, struct decoded *d, const struct frame_types *types,
                          struct bytes frame)
{
    struct wire_codec size;
    wire_codec_size(&size, 0);
    types->header->fields(&size, d->header);
    size.version = types->version;
    types->body->fields(&size, d->body);
    struct buf out;
    buf_init(&out, frame.len); /* not a byte more than it takes */
    size_t mark = wire_frame_begin(&out);
    struct wire_codec c;
    wire_codec_write(&c, 0, &out);
    types->header->fields(&c, d->header);
    c.version = types->version;
    types->body->fields(&c, d->body);
    if (wire_codec_end(&c))
        fail_msg("%s: %s", where, c.reason);
    wire_frame_end(&out, mark);
    if (!bytes_equal(buf_bytes(&out), frame))
        fail_msg("%s: written again it differs", where);
    assert_int_equal(size.position + WIRE_FRAME_SIZE_BYTES, frame.len);
    assert_int_equal(c.position, size.position);
    buf_deinit(&out);
}

/* The hand-written parser of fetch answers against the description, on the same bytes. */
static void assert_twins(const char *where, struct bytes body)
{
    struct arena arena;
    arena_init(&arena, ARENA_MAX);
    struct wire_codec c;
    struct fetch_response m = {0};
    wire_codec_read(&c, 0, body, &arena);
    fetch_response_fields(&c, &m);
    bool good = wire_codec_end(&c) == ZKC_OK;

    struct fetch_response_reader r;
    struct fetch_response_view view;
    fetch_response_reader_init(&r, body);
    for (size_t t = 0; t < m.responses_count; t++) {
        for (size_t p = 0; p < m.responses[t].partitions_count; p++) {
            if (fetch_response_next(&r, &view) != FETCH_RESPONSE_PARTITION) {
                if (good)
                    fail_msg("%s: the reader ends early: %s", where, r.reason);
                goto ended;
            }
            const struct fetch_response_partition *want = &m.responses[t].partitions[p];
            if (!good && !want->records.data)
                continue; /* where the description has failed it says nothing */
            if (!bytes_equal(view.topic, m.responses[t].topic) ||
                view.partition != want->partition_index || view.error_code != want->error_code ||
                view.high_watermark != want->high_watermark ||
                view.records.data != want->records.data || view.records.len != want->records.len)
                fail_msg("%s: topic %zu, partition %zu differs", where, t, p);
        }
    }
ended:;
    enum fetch_response_result end = fetch_response_next(&r, &view);
    if (end != (good ? FETCH_RESPONSE_END : FETCH_RESPONSE_MALFORMED))
        fail_msg("%s: the reader ends with %d, the description with \"%s\"", where, end, c.reason);
    assert_int_equal(fetch_response_next(&r, &view), end);
    assert_true(good || r.reason[0]);
    arena_deinit(&arena);
}

static void check_cut_short(const char *where, struct bytes contents,
                            const struct frame_types *types)
{
    char reason[WIRE_REASON_SIZE];
    for (size_t len = 0; len < contents.len; len++) {
        /* A copy of just that size, so that reading beyond it is seen. */
        uint8_t *copy = malloc(len ? len : 1);
        assert_non_null(copy);
        memcpy(copy, contents.data, len);
        struct decoded d;
        if (decode(&d, bytes_of(copy, len), types, reason) != ZKC_ERR_PROTOCOL)
            fail_msg("%s: cut to %zu bytes it is taken", where, len);
        assert_non_null(strstr(reason, "at byte"));
        arena_deinit(&d.arena);
        if (types->body->api_key == API_FETCH && types->body->is_response && len >= 4)
            assert_twins(where, bytes_of(copy + 4, len - 4));
        free(copy);
    }
}

static void check_left_over(const char *where, struct bytes contents,
                            const struct frame_types *types)
{
    char reason[WIRE_REASON_SIZE];
    uint8_t *longer = calloc(1, contents.len + 1);
    assert_non_null(longer);
    memcpy(longer, contents.data, contents.len);
    struct decoded d;
    if (decode(&d, bytes_of(longer, contents.len + 1), types, reason) != ZKC_ERR_PROTOCOL)
        fail_msg("%s: with a byte too many it is taken", where);
    assert_non_null(strstr(reason, "left over"));
    arena_deinit(&d.arena);
    if (types->body->api_key == API_FETCH && types->body->is_response)
        assert_twins(where, bytes_of(longer + 4, contents.len - 3));
    free(longer);
}

static void check_frame(const char *where, const char *hex, const json_t *want,
                        const struct frame_types *types)
{
    assert_non_null(types->body);
    bool is_fetch_answer = types->body->api_key == API_FETCH && types->body->is_response;
    struct bytes frame = bytes_of_hex(hex), contents;
    int32_t size;
    assert_int_equal(wire_frame_next(frame, 1 << 20, &size, &contents), WIRE_FRAME_COMPLETE);
    assert_int_equal(contents.len + WIRE_FRAME_SIZE_BYTES, frame.len);

    struct decoded d;
    char reason[WIRE_REASON_SIZE];
    if (decode(&d, contents, types, reason))
        fail_msg("%s: %s", where, reason);
    assert_prints(where, types->header, 0, d.header, json_object_get(want, "header"));
    assert_prints(where, types->body, types->version, d.body, json_object_get(want, "body"));
    assert_writes(where, &d, types, frame);
    arena_deinit(&d.arena);
    if (is_fetch_answer)
        assert_twins(where, bytes_of(contents.data + 4, contents.len - 4));
    check_cut_short(where, contents, types);
    check_left_over(where, contents, types);
    free((void *)frame.data);
}

static void check_file(const char *name, size_t frames_min)
{
    json_t *vectors = vectors_json(name), *v;
    size_t i, frames = 0;
    json_array_foreach(vectors, i, v)
    {
        for (int is_response = 0; is_response <= 1; is_response++) {
            const char *kind = is_response ? "response" : "request";
            char key[32], where[128];
            snprintf(key, sizeof key, "%s_hex", kind);
            snprintf(where, sizeof where, "%s[%zu].%s", name, i, kind);
            const char *hex = json_string_value(json_object_get(v, key));
            if (!hex)
                continue; /* no answer came, or only one of the two was noted */
            int16_t api_key = (int16_t)json_integer_value(json_object_get(v, "api_key"));
            struct frame_types types = {
                .header = header_type_of(is_response),
                .body = message_type_of(api_key, is_response),
                .version = (int16_t)json_integer_value(json_object_get(v, "version"))};
            check_frame(where, hex, json_object_get(v, kind), &types);
            frames++;
        }
    }
    if (frames < frames_min)
        fail_msg("%s: only %zu frames", name, frames);
    json_decref(vectors);
}

static void test_metadata_frames(void **state)
{
    (void)state;
    check_file("metadata.json", 9);
}

static void test_fetch_frames(void **state)
{
    (void)state;
    check_file("fetch.json", 54);
}

static void test_list_offsets_frames(void **state)
{
    (void)state;
    check_file("list_offsets.json", 12);
}

static void test_broker_frames(void **state)
{
    (void)state;
    check_file("broker.json", 18);
}

static void test_documented_frames(void **state)
{
    (void)state;
    check_file("documented.json", 10);
}

static void test_offsets_frames(void **state)
{
    (void)state;
    check_file("offsets.json", 22);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metadata_frames),     cmocka_unit_test(test_fetch_frames),
        cmocka_unit_test(test_list_offsets_frames), cmocka_unit_test(test_broker_frames),
        cmocka_unit_test(test_documented_frames),   cmocka_unit_test(test_offsets_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
