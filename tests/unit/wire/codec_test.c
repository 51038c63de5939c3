#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "tests/unit/wire/vectors.h"
#include "zkconsumer/core/wire/codec.h"

/* One field of every kind, and a list of structs. */
struct item {
    int32_t number;
    struct bytes name;
};

struct everything {
    bool flag;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint32_t u32;
    struct bytes string;
    struct bytes nullable_string;
    struct bytes bytes;
    struct bytes nullable_bytes;
    int64_t *offsets;
    size_t offsets_count;
    struct item *items;
    size_t items_count;
    int16_t later; /* version 1 */
};

static void item_fields(struct wire_codec *c, struct item *m)
{
    wire_struct_begin(c);
    wire_i32(c, "number", &m->number);
    wire_string(c, "name", &m->name);
    wire_struct_end(c);
}

static void everything_fields(struct wire_codec *c, struct everything *m)
{
    wire_struct_begin(c);
    wire_bool(c, "flag", &m->flag);
    wire_i8(c, "i8", &m->i8);
    wire_i16(c, "i16", &m->i16);
    wire_i32(c, "i32", &m->i32);
    wire_i64(c, "i64", &m->i64);
    wire_u32(c, "u32", &m->u32);
    wire_string(c, "string", &m->string);
    wire_nullable_string(c, "nullable_string", &m->nullable_string);
    wire_bytes(c, "bytes", &m->bytes);
    wire_nullable_bytes(c, "nullable_bytes", &m->nullable_bytes);
    m->offsets = wire_array_begin(c, "offsets", m->offsets, &m->offsets_count, 8, 8);
    for (size_t i = 0; i < m->offsets_count; i++)
        wire_i64(c, NULL, &m->offsets[i]);
    wire_array_end(c);
    m->items = wire_array_begin(c, "items", m->items, &m->items_count, sizeof *m->items, 6);
    for (size_t i = 0; i < m->items_count; i++)
        item_fields(c, &m->items[i]);
    wire_array_end(c);
    if (c->version >= 1)
        wire_i16(c, "later", &m->later);
    wire_struct_end(c);
}

static int64_t offsets[] = {INT64_MIN, -1, INT64_MAX};
static struct item items[] = {{-5, {(const uint8_t *)"five", 4}}, {6, {(const uint8_t *)"", 0}}};
static const struct everything sample = {
    .flag = true,
    .i8 = -2,
    .i16 = INT16_MIN,
    .i32 = 0x01020304,
    .i64 = -0x0102030405060708,
    .u32 = 0xfffefdfc,
    .string = {(const uint8_t *)"t\"\\\n\xc3\xa4\xff", 7},
    .bytes = {(const uint8_t *)"\0\xff", 2},
    .offsets = offsets,
    .offsets_count = 3,
    .items = items,
    .items_count = 2,
    .later = 7,
};

static const char sample_hex[] = "01fe8000"
                                 "01020304"
                                 "fefdfcfbfaf9f8f8"
                                 "fffefdfc"
                                 "000774225c0ac3a4ff"
                                 "ffff"
                                 "0000000200ff"
                                 "ffffffff"
                                 "000000038000000000000000ffffffffffffffff7fffffffffffffff"
                                 "00000002fffffffb000466697665000000060000";

static const char sample_json[] =
    "{\"flag\": true, \"i8\": -2, \"i16\": -32768, \"i32\": 16909060, "
    "\"i64\": -72623859790382856, \"u32\": 4294901244, "
    "\"string\": \"t\\\"\\\\\\u000a\xc3\xa4\\u00ff\", \"nullable_string\": null, "
    "\"bytes\": {\"hex\": \"00ff\"}, \"nullable_bytes\": null, "
    "\"offsets\": [-9223372036854775808, -1, 9223372036854775807], "
    "\"items\": [{\"number\": -5, \"name\": \"five\"}, {\"number\": 6, \"name\": \"\"}]}";

static void test_writes_and_sizes(void **state)
{
    (void)state;
    struct bytes want = bytes_of_hex(sample_hex);
    struct everything m = sample;
    struct buf out;
    struct wire_codec c;
    buf_init(&out, 1000);
    wire_codec_write(&c, 0, &out);
    everything_fields(&c, &m);
    assert_int_equal(wire_codec_end(&c), ZKC_OK);
    assert_true(bytes_equal(buf_bytes(&out), want));
    assert_memory_equal(&m, &sample, sizeof m);

    wire_codec_size(&c, 0);
    everything_fields(&c, &m);
    assert_int_equal(wire_codec_end(&c), ZKC_OK);
    assert_int_equal(c.position, want.len);
    wire_codec_size(&c, 1);
    everything_fields(&c, &m);
    assert_int_equal(c.position, want.len + 2);
    buf_deinit(&out);
    free((void *)want.data);
}

static void test_prints(void **state)
{
    (void)state;
    struct everything m = sample;
    struct buf out;
    struct wire_codec c;
    buf_init(&out, 1000);
    wire_codec_print(&c, 0, &out);
    everything_fields(&c, &m);
    assert_int_equal(wire_codec_end(&c), ZKC_OK);
    assert_string_equal(buf_text(&out), sample_json);
    json_t *json = json_loads(buf_text(&out), 0, NULL);
    assert_non_null(json);
    json_decref(json);

    buf_clear(&out);
    m = (struct everything){.string = bytes_of("", 0), .bytes = bytes_of(sample_hex, 49)};
    wire_codec_print(&c, 1, &out);
    everything_fields(&c, &m);
    assert_int_equal(wire_codec_end(&c), ZKC_OK);
    assert_non_null(strstr(buf_text(&out), "\"flag\": false"));
    assert_non_null(strstr(buf_text(&out), "\"bytes\": {\"length\": 49}"));
    assert_non_null(strstr(buf_text(&out), "\"items\": [], \"later\": 0}"));
    buf_deinit(&out);
}

static void test_prints_only_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},             /* four bytes */
        {"\xe2\x82\xac", "\xe2\x82\xac"},                     /* three */
        {"\xe2\x82", "\\u00e2\\u0082"},                       /* cut short */
        {"\xc0\xaf", "\\u00c0\\u00af"},                       /* longer than needed */
        {"\xe0\x80\xaf", "\\u00e0\\u0080\\u00af"},            /* the same */
        {"\xed\xa0\x80", "\\u00ed\\u00a0\\u0080"},            /* a surrogate */
        {"\xf4\x90\x80\x80", "\\u00f4\\u0090\\u0080\\u0080"}, /* above U+10FFFF */
        {"\xe2\x28\xa1", "\\u00e2(\\u00a1"},                  /* wrong second byte */
        {"\x80", "\\u0080"},                                  /* no first byte */
        {"\x1f\x7f", "\\u001f\x7f"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct item m = {1, bytes_of_text(cases[i].text)};
        char want[100];
        snprintf(want, sizeof want, "{\"number\": 1, \"name\": \"%s\"}", cases[i].want);
        struct buf out;
        struct wire_codec c;
        buf_init(&out, 1000);
        wire_codec_print(&c, 0, &out);
        item_fields(&c, &m);
        assert_string_equal(buf_text(&out), want);
        json_t *json = json_loads(want, 0, NULL);
        if (!json)
            fail_msg("case %zu: not JSON", i);
        json_decref(json);
        buf_deinit(&out);
    }
}

static void test_reads(void **state)
{
    (void)state;
    struct bytes in = bytes_of_hex(sample_hex);
    struct arena arena;
    struct wire_codec c;
    struct everything m = {0};
    arena_init(&arena, 10000);
    wire_codec_read(&c, 0, in, &arena);
    everything_fields(&c, &m);
    assert_int_equal(wire_codec_end(&c), ZKC_OK);
    assert_string_equal(c.reason, "");
    assert_true(m.flag);
    assert_int_equal(m.i8, -2);
    assert_int_equal(m.i16, INT16_MIN);
    assert_int_equal(m.i32, 0x01020304);
    assert_true(m.i64 == -0x0102030405060708);
    assert_int_equal(m.u32, 0xfffefdfc);
    assert_true(bytes_equal(m.string, sample.string));
    assert_true(m.string.data > in.data && m.string.data < in.data + in.len); /* a view */
    assert_true(bytes_is_null(m.nullable_string));
    assert_true(bytes_equal(m.bytes, sample.bytes));
    assert_true(bytes_is_null(m.nullable_bytes));
    assert_int_equal(m.offsets_count, 3);
    assert_memory_equal(m.offsets, offsets, sizeof offsets);
    assert_int_equal(m.items_count, 2);
    assert_true(bytes_equal_text(m.items[0].name, "five"));
    assert_false(bytes_is_null(m.items[1].name)); /* empty is not null */
    assert_int_equal(m.items[1].name.len, 0);
    assert_int_equal(m.later, 0);
    arena_deinit(&arena);
    free((void *)in.data);
}

static void test_reads_any_true(void **state)
{
    (void)state;
    struct arena arena;
    struct wire_codec c;
    bool v[3];
    arena_init(&arena, 0);
    wire_codec_read(&c, 0, bytes_of("\x02\x80\x00", 3), &arena);
    for (int i = 0; i < 3; i++)
        wire_bool(&c, "flag", &v[i]);
    assert_int_equal(wire_codec_end(&c), ZKC_OK);
    assert_true(v[0] && v[1] && !v[2]);
}

/* Everything up to `items` cut out of the sample, with one part of it replaced. */
static void test_says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *name, *from, *to; /* in the hex of the sample */
        const char *reason;
    } cases[] = {
        {"string beyond the end", "000774225c", "7fff74225c",
         "string at byte 22: a string of 32767 bytes, but only "},
        {"string null", "000774225c0ac3a4ff", "ffff",
         "string at byte 22: a string of length -1, expected 0 or more"},
        {"nullable string -2", "c3a4ffffff", "c3a4fffffe",
         "nullable_string at byte 31: a string of length -2, expected -1 or more"},
        {"bytes -1", "0000000200ff", "ffffffff",
         "bytes at byte 35: a bytes field of length -1, expected 0 or more"},
        {"bytes beyond the end", "0000000200ff", "0000100000ff",
         "bytes at byte 35: a bytes field of 4096 bytes, but only "},
        {"nullable bytes -2147483648", "00ffffffffff", "00ff80000000",
         "nullable_bytes at byte 41: a bytes field of length -2147483648, expected -1 or more"},
        {"array -1", "000000038000", "ffffffff8000",
         "offsets at byte 45: an array of -1 elements, expected 0 or more"},
        {"array 2^31-1", "000000038000", "7fffffff8000",
         "offsets at byte 45: an array of 2147483647 elements of at least 8 bytes, but only 44 "
         "bytes are left"},
        {"one element too many", "000000038000", "000000068000",
         "offsets at byte 45: an array of 6 elements of at least 8 bytes, but only 44 bytes are "
         "left"},
        {"in a list", "000466697665", "ffff66697665",
         "items[0].name at byte 79: a string of length -1, expected 0 or more"},
        {"in its second element", "000000060000", "000000060001",
         "items[1].name at byte 89: a string of 1 bytes, but only 0 are left"},
        {"a byte more", "000000060000", "00000006000000",
         "at byte 89: 1 bytes are left over behind the last field"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char hex[sizeof sample_hex + 20];
        const char *at = strstr(sample_hex, cases[i].from);
        assert_non_null(at);
        snprintf(hex, sizeof hex, "%.*s%s%s", (int)(at - sample_hex), sample_hex, cases[i].to,
                 at + strlen(cases[i].from));
        struct bytes in = bytes_of_hex(hex);
        struct arena arena;
        struct wire_codec c;
        struct everything m = {0};
        arena_init(&arena, 10000);
        wire_codec_read(&c, 0, in, &arena);
        everything_fields(&c, &m);
        assert_int_equal(wire_codec_end(&c), ZKC_ERR_PROTOCOL);
        if (strncmp(c.reason, cases[i].reason, strlen(cases[i].reason)) != 0)
            fail_msg("%s: \"%s\"", cases[i].name, c.reason);
        arena_deinit(&arena);
        free((void *)in.data);
    }
}

static void test_nothing_follows_a_failure(void **state)
{
    (void)state;
    struct arena arena;
    struct wire_codec c;
    struct item m = {9, bytes_of_text("x")};
    int64_t after = 9;
    arena_init(&arena, 0);
    wire_codec_read(&c, 0, bytes_of("\0\0\0\1\0\7abc", 9), &arena);
    item_fields(&c, &m);
    wire_i64(&c, "after", &after);
    assert_int_equal(c.failed, ZKC_ERR_PROTOCOL);
    assert_int_equal(m.number, 1);
    assert_true(bytes_is_null(m.name));
    assert_int_equal(after, 0);
    assert_string_equal(c.reason, "name at byte 6: a string of 7 bytes, but only 3 are left");
}

static void test_refuses_what_cannot_be_written(void **state)
{
    (void)state;
    static uint8_t long_text[INT16_MAX + 1];
    struct buf out;
    struct wire_codec c;
    buf_init(&out, 100000);
    struct item m = {1, BYTES_NULL};
    wire_codec_write(&c, 0, &out);
    item_fields(&c, &m);
    assert_int_equal(wire_codec_end(&c), ZKC_ERR_INVALID);
    assert_string_equal(c.reason, "name at byte 4: null, where a string must be");

    buf_clear(&out);
    m.name = bytes_of(long_text, sizeof long_text);
    wire_codec_write(&c, 0, &out);
    item_fields(&c, &m);
    assert_int_equal(wire_codec_end(&c), ZKC_ERR_TOO_LARGE);
    assert_string_equal(c.reason,
                        "name at byte 4: a string of 32768 bytes, at most 32767 are possible");
    m.name.len--;
    buf_clear(&out);
    wire_codec_write(&c, 0, &out);
    item_fields(&c, &m);
    assert_int_equal(wire_codec_end(&c), ZKC_OK);
    assert_int_equal(out.len, 4 + 2 + INT16_MAX);
    buf_deinit(&out);
}

static void test_output_has_a_maximum(void **state)
{
    (void)state;
    struct everything m = sample;
    struct wire_codec size;
    wire_codec_size(&size, 0);
    everything_fields(&size, &m);
    for (size_t max = 0; max < size.position; max++) {
        struct buf out;
        struct wire_codec c;
        buf_init(&out, max);
        wire_codec_write(&c, 0, &out);
        everything_fields(&c, &m);
        assert_int_equal(wire_codec_end(&c), ZKC_ERR_TOO_LARGE);
        assert_non_null(strstr(c.reason, "the output is larger than its maximum"));
        assert_true(out.len <= max);
        buf_deinit(&out);
    }
    for (size_t max = 0; max < sizeof sample_json - 1; max++) {
        struct buf out;
        struct wire_codec c;
        buf_init(&out, max);
        wire_codec_print(&c, 0, &out);
        everything_fields(&c, &m);
        assert_int_equal(wire_codec_end(&c), ZKC_ERR_TOO_LARGE);
        buf_deinit(&out);
    }
}

/* A count that the input could hold, but the arena may not. */
static void test_arrays_are_bounded_by_the_arena(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    size_t len = 4 + COUNT * 8;
    uint8_t *in = calloc(1, len);
    assert_non_null(in);
    in[2] = COUNT >> 8;
    in[3] = COUNT & 0xff;
    struct arena arena;
    struct wire_codec c;
    size_t count = 77;
    arena_init(&arena, COUNT * 8 - 1);
    wire_codec_read(&c, 0, bytes_of(in, len), &arena);
    assert_null(wire_array_begin(&c, "offsets", NULL, &count, 8, 8));
    wire_array_end(&c);
    assert_int_equal(c.failed, ZKC_ERR_TOO_LARGE);
    assert_int_equal(count, 0);
    assert_int_equal(arena.allocated, 0);
    assert_string_equal(
        c.reason,
        "offsets at byte 4: an array of 10000 elements is over the memory allowed for a message");
    arena_deinit(&arena);
    free(in);
}

static void test_allocations_that_fail(void **state)
{
    (void)state;
    struct bytes in = bytes_of_hex(sample_hex);
    ALLOC_FAIL_EACH(n, failed, {
        struct arena arena;
        struct wire_codec c;
        struct everything m = {0};
        arena_init(&arena, 10000);
        wire_codec_read(&c, 0, in, &arena);
        everything_fields(&c, &m);
        enum zkc_err err = wire_codec_end(&c);
        assert_true(err == ZKC_OK || err == ZKC_ERR_NOMEM);
        assert_true(err == ZKC_OK || strstr(c.reason, "out of memory"));
        failed = err != ZKC_OK;
        arena_deinit(&arena);
    });
    ALLOC_FAIL_EACH(n, failed, {
        struct buf out;
        struct wire_codec c;
        struct everything m = sample;
        buf_init(&out, 10000);
        wire_codec_write(&c, 0, &out);
        everything_fields(&c, &m);
        enum zkc_err err = wire_codec_end(&c);
        assert_true(err == ZKC_OK || err == ZKC_ERR_NOMEM);
        failed = err != ZKC_OK;
        buf_deinit(&out);
    });
    ALLOC_FAIL_EACH(n, failed, {
        struct buf out;
        struct wire_codec c;
        struct everything m = sample;
        buf_init(&out, 10000);
        wire_codec_print(&c, 0, &out);
        everything_fields(&c, &m);
        failed = wire_codec_end(&c) == ZKC_ERR_NOMEM;
        buf_deinit(&out);
    });
    free((void *)in.data);
}

/* A reason that would be longer than its room is cut, not overrun. */
static void test_long_reasons_are_cut(void **state)
{
    (void)state;
    static const char name[] = "a_name_of_fifty_bytes_____________________________";
    struct arena arena;
    struct wire_codec c;
    size_t count;
    arena_init(&arena, 100000);
    uint8_t in[64] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0x7f, 0xff};
    wire_codec_read(&c, 0, bytes_of(in, sizeof in), &arena);
    for (int i = 0; i < 5; i++) {
        wire_array_begin(&c, name, NULL, &count, 1, 1);
        assert_int_equal(count, 1);
        if (i < 4)
            continue;
        struct bytes v;
        wire_string(&c, NULL, &v);
    }
    for (int i = 0; i < 5; i++)
        wire_array_end(&c);
    assert_int_equal(c.failed, ZKC_ERR_PROTOCOL);
    assert_int_equal(strlen(c.reason), WIRE_REASON_SIZE - 1);
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes_and_sizes),
        cmocka_unit_test(test_prints),
        cmocka_unit_test(test_prints_only_utf8),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_reads_any_true),
        cmocka_unit_test(test_says_what_is_wrong),
        cmocka_unit_test(test_nothing_follows_a_failure),
        cmocka_unit_test(test_refuses_what_cannot_be_written),
        cmocka_unit_test(test_output_has_a_maximum),
        cmocka_unit_test(test_arrays_are_bounded_by_the_arena),
        cmocka_unit_test(test_allocations_that_fail),
        cmocka_unit_test(test_long_reasons_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
