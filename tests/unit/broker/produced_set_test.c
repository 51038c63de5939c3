/* What a broker makes of a produced set. */
#include "broker/core/produced_set.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/crc32.h"
#include "zkconsumer/core/wire/message_set.h"

#define NEXT 500

static const struct produced_limits usual = {
    .message_bytes_max = 1000, .set_bytes_max = 4000, .decompressed_bytes_max = 10000};

static void add(struct buf *set, const char *value)
{
    message_set_append(set, 7, bytes_of_text("k"), bytes_of_text(value));
}

static void add_wrapper(struct buf *set, enum compression_codec codec, int messages)
{
    struct buf inner;
    char value[32];
    buf_init(&inner, 1 << 20);
    for (int i = 0; i < messages; i++) {
        snprintf(value, sizeof value, "inner %d", i);
        message_set_append(&inner, 0, BYTES_NULL, bytes_of_text(value));
    }
    assert_int_equal(message_set_append_wrapper(set, 3, codec, buf_bytes(&inner)), ZKC_OK);
    buf_deinit(&inner);
}

/* Gives the entry that begins at `at` the CRC of what it holds now. */
static void seal(struct buf *set, size_t at)
{
    size_t bytes = 12 + (size_t)read_i32(set->data + at + 8);
    write_i32(set->data + at + 12, (int32_t)wire_crc32(set->data + at + 16, bytes - 16));
}

static enum kafka_error accept(struct buf *set, struct buf *rewritten, struct produced_set *out)
{
    return produced_set_accept(set->data, set->len, NEXT, &usual, rewritten, out);
}

/* ---- What is accepted ---- */

static void test_plain_in_place(void **state)
{
    (void)state;
    struct buf set, rewritten;
    struct produced_set out;
    buf_init(&set, 1 << 20);
    buf_init(&rewritten, 1 << 20);
    for (int i = 0; i < 3; i++)
        add(&set, "value");
    assert_int_equal(accept(&set, &rewritten, &out), KAFKA_ERR_NONE);
    assert_ptr_equal(out.data.data, set.data);
    assert_int_equal(out.data.len, set.len);
    assert_int_equal(out.first_offset, NEXT);
    assert_int_equal(out.last_offset, NEXT + 2);
    assert_int_equal(out.entries, 3);
    assert_false(out.is_compressed);
    for (int i = 0; i < 3; i++)
        assert_int_equal(read_i64(set.data + (size_t)i * set.len / 3), NEXT + i);
    assert_int_equal(rewritten.cap, 0);
    buf_deinit(&set);
}

/* Everything is put into one wrapper of the last codec, as by 0.8.2. */
static void test_compressed_is_written_anew(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int plain_before, wrapped, wrapped_too, plain_after;
        enum compression_codec codec, codec_too;
    } cases[] = {
        {"gzip", 0, 3, 0, 0, COMPRESSION_GZIP, 0},
        {"snappy", 0, 3, 0, 0, COMPRESSION_SNAPPY, 0},
        {"lz4", 0, 3, 0, 0, COMPRESSION_LZ4, 0},
        {"one message", 0, 1, 0, 0, COMPRESSION_GZIP, 0},
        {"with plain ones", 2, 3, 0, 1, COMPRESSION_GZIP, 0},
        {"two wrappers", 0, 3, 2, 0, COMPRESSION_GZIP, COMPRESSION_SNAPPY},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf set, rewritten;
        struct produced_set out;
        buf_init(&set, 1 << 20);
        buf_init(&rewritten, 1 << 20);
        for (int k = 0; k < cases[i].plain_before; k++)
            add(&set, "before");
        add_wrapper(&set, cases[i].codec, cases[i].wrapped);
        if (cases[i].codec_too)
            add_wrapper(&set, cases[i].codec_too, cases[i].wrapped_too);
        for (int k = 0; k < cases[i].plain_after; k++)
            add(&set, "after");
        int64_t n =
            cases[i].plain_before + cases[i].wrapped + cases[i].wrapped_too + cases[i].plain_after;
        assert_int_equal(accept(&set, &rewritten, &out), KAFKA_ERR_NONE);
        assert_true(out.is_compressed);
        assert_int_equal(out.entries, 1);
        assert_int_equal(out.first_offset, NEXT);
        assert_int_equal(out.last_offset, NEXT + n - 1);
        assert_ptr_equal(out.data.data, rewritten.data);
        assert_int_equal(read_i64(out.data.data), out.last_offset);
        assert_int_equal(out.data.data[17] & 7,
                         cases[i].codec_too ? cases[i].codec_too : cases[i].codec);
        struct message_iter it;
        struct message_view m;
        const struct message_iter_limits limits = {10000};
        int64_t expected = NEXT;
        message_iter_init(&it, out.data, &limits);
        while (message_iter_next(&it, &m) == MESSAGE_ITER_MESSAGE)
            assert_int_equal(m.offset, expected++);
        assert_int_equal(it.end, MESSAGE_ITER_END);
        assert_int_equal(expected, NEXT + n);
        message_iter_deinit(&it);
        buf_deinit(&set);
        buf_deinit(&rewritten);
    }
}

/* What producers really send: Java's gzip, snappy and lz4 (with its wrong checksum). */
static void test_java_wrappers(void **state)
{
    (void)state;
    static const uint8_t gzip[] = {
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x5a, 0x6f, 0xdf, 0xd2,
        0xd6, 0x00, 0x01, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x4c, 0x1f, 0x8b, 0x08, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0x63, 0x60, 0x80, 0x03, 0xb9, 0x13, 0x51, 0x77, 0xd6,
        0x81, 0x59, 0x2c, 0xd9, 0xa9, 0x95, 0x06, 0x40, 0x9a, 0xa7, 0x2c, 0x31, 0xa7, 0x34, 0x55,
        0x37, 0xbd, 0x2a, 0xb3, 0x40, 0xd7, 0x80, 0x01, 0x49, 0xa5, 0xc5, 0x6f, 0xf5, 0x6a, 0xb8,
        0x4a, 0x43, 0x34, 0x95, 0x86, 0xc8, 0x2a, 0x3f, 0x65, 0xe8, 0xba, 0xc2, 0x55, 0x1a, 0xa1,
        0xa9, 0x34, 0x02, 0x00, 0x16, 0x6c, 0xb2, 0xaa, 0x7e, 0x00, 0x00, 0x00};
    uint8_t set[sizeof gzip];
    struct buf rewritten;
    struct produced_set out;
    memcpy(set, gzip, sizeof set);
    buf_init(&rewritten, 1 << 20);
    assert_int_equal(produced_set_accept(set, sizeof set, NEXT, &usual, &rewritten, &out), 0);
    assert_int_equal(out.last_offset, NEXT + 2);
    buf_deinit(&rewritten);
}

static void test_nothing_to_append(void **state)
{
    (void)state;
    struct buf set, rewritten;
    struct produced_set out;
    buf_init(&set, 1 << 20);
    buf_init(&rewritten, 1 << 20);
    assert_int_equal(produced_set_accept((uint8_t *)"", 0, NEXT, &usual, &rewritten, &out), 0);
    assert_int_equal(out.entries, 0);
    assert_int_equal(out.first_offset, -1);
    add(&set, "value");
    set.len--; /* incomplete */
    assert_int_equal(accept(&set, &rewritten, &out), 0);
    assert_int_equal(out.entries, 0);
    assert_int_equal(out.data.len, 0);
    buf_clear(&set);
    add_wrapper(&set, COMPRESSION_GZIP, 0); /* a wrapper around nothing */
    assert_int_equal(accept(&set, &rewritten, &out), 0);
    assert_int_equal(out.entries, 0);
    assert_int_equal(out.first_offset, -1);
    buf_deinit(&set);
    buf_deinit(&rewritten);
}

static void test_every_cut(void **state)
{
    (void)state;
    struct buf set, rewritten;
    buf_init(&set, 1 << 20);
    buf_init(&rewritten, 1 << 20);
    add(&set, "one");
    size_t first = set.len;
    add(&set, "another");
    for (size_t len = 0; len <= set.len; len++) {
        struct produced_set out;
        uint8_t *copy = malloc(len + 1);
        memcpy(copy, set.data, len);
        assert_int_equal(produced_set_accept(copy, len, NEXT, &usual, &rewritten, &out), 0);
        size_t want = len == set.len ? 2 : len >= first ? 1 : 0;
        assert_int_equal(out.entries, want);
        assert_int_equal(out.data.len, want == 2 ? set.len : want ? first : 0);
        free(copy);
    }
    buf_deinit(&set);
    buf_deinit(&rewritten);
}

/* ---- What is refused ---- */

static void test_every_bit_wrong(void **state)
{
    (void)state;
    struct buf set, rewritten;
    buf_init(&set, 1 << 20);
    buf_init(&rewritten, 1 << 20);
    add(&set, "one");
    for (size_t bit = 8 * 12; bit < 8 * set.len; bit++) {
        struct produced_set out;
        set.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (accept(&set, &rewritten, &out) != KAFKA_ERR_CORRUPT_MESSAGE)
            fail_msg("bit %zu: taken", bit);
        assert_int_equal(out.entries, 0);
        assert_true(out.reason[0] != 0);
        set.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    buf_deinit(&set);
    buf_deinit(&rewritten);
}

typedef void make_fn(struct buf *set);

static void size_13(struct buf *set)
{
    add(set, "value");
    write_i32(set->data + 8, 13);
}
static void size_negative(struct buf *set)
{
    add(set, "value");
    write_i32(set->data + 8, -1);
}
static void format_1(struct buf *set)
{
    add(set, "value");
    set->data[16] = 1;
    seal(set, 0);
}
static void key_too_long(struct buf *set)
{
    add(set, "value");
    write_i32(set->data + 18, 100);
    seal(set, 0);
}
static void key_very_negative(struct buf *set)
{
    add(set, "value");
    write_i32(set->data + 18, -2);
    seal(set, 0);
}
static void value_too_long(struct buf *set)
{
    add(set, "value");
    write_i32(set->data + 23, 6);
    seal(set, 0);
}
static void codec_5(struct buf *set)
{
    add(set, "value");
    set->data[17] = 5;
    seal(set, 0);
}
static void no_gzip(struct buf *set)
{
    add(set, "value");
    set->data[17] = COMPRESSION_GZIP;
    seal(set, 0);
}
static void wrapper_without_value(struct buf *set)
{
    message_set_append(set, 0, BYTES_NULL, BYTES_NULL);
    set->data[17] = COMPRESSION_GZIP;
    seal(set, 0);
}
static void inner_crc(struct buf *set)
{
    struct buf inner;
    buf_init(&inner, 1000);
    add(&inner, "value");
    inner.data[inner.len - 1] ^= 1;
    assert_int_equal(message_set_append_wrapper(set, 0, COMPRESSION_GZIP, buf_bytes(&inner)), 0);
    buf_deinit(&inner);
}
static void inner_cut(struct buf *set)
{
    struct buf inner;
    buf_init(&inner, 1000);
    add(&inner, "value");
    inner.len--;
    assert_int_equal(message_set_append_wrapper(set, 0, COMPRESSION_GZIP, buf_bytes(&inner)), 0);
    buf_deinit(&inner);
}
static void nested_deep(struct buf *set)
{
    struct buf a, b;
    buf_init(&a, 100000);
    buf_init(&b, 100000);
    add(&a, "value");
    for (int i = 0; i < 100; i++) {
        buf_clear(&b);
        assert_int_equal(message_set_append_wrapper(&b, 0, COMPRESSION_SNAPPY, buf_bytes(&a)), 0);
        struct buf c = a;
        a = b;
        b = c;
    }
    buf_append(set, a.data, a.len);
    buf_deinit(&a);
    buf_deinit(&b);
}
static void too_large(struct buf *set)
{
    char value[1000];
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = 0;
    add(set, value);
}
static void bomb(struct buf *set)
{
    struct buf inner;
    buf_init(&inner, 1 << 20);
    uint8_t *value = calloc(1, 20000);
    message_set_append(&inner, 0, BYTES_NULL, bytes_of(value, 20000));
    free(value);
    assert_int_equal(message_set_append_wrapper(set, 0, COMPRESSION_GZIP, buf_bytes(&inner)), 0);
    buf_deinit(&inner);
}
static void set_too_large(struct buf *set)
{
    for (int i = 0; i < 200; i++)
        add(set, "value");
}
static void good_then_bad(struct buf *set)
{
    add(set, "value");
    size_t at = set->len;
    add(set, "value");
    set->data[at + 20] ^= 1;
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        make_fn *make;
        enum kafka_error want;
        const char *reason;
    } cases[] = {
        {"a size of 13", size_13, KAFKA_ERR_CORRUPT_MESSAGE, "size 13"},
        {"a negative size", size_negative, KAFKA_ERR_CORRUPT_MESSAGE, "size -1"},
        {"format 1", format_1, KAFKA_ERR_CORRUPT_MESSAGE, "format 1"},
        {"a key too long", key_too_long, KAFKA_ERR_CORRUPT_MESSAGE, "do not fit"},
        {"a key of length -2", key_very_negative, KAFKA_ERR_CORRUPT_MESSAGE, "do not fit"},
        {"a value too long", value_too_long, KAFKA_ERR_CORRUPT_MESSAGE, "do not fit"},
        {"codec 5", codec_5, KAFKA_ERR_CORRUPT_MESSAGE, "codec, 5"},
        {"gzip that is none", no_gzip, KAFKA_ERR_CORRUPT_MESSAGE, "gzip"},
        {"a wrapper without value", wrapper_without_value, KAFKA_ERR_CORRUPT_MESSAGE,
         "without a value"},
        {"a wrong CRC inside", inner_crc, KAFKA_ERR_CORRUPT_MESSAGE, "CRC"},
        {"an incomplete message inside", inner_cut, KAFKA_ERR_CORRUPT_MESSAGE, "incomplete"},
        {"100 wrappers inside each other", nested_deep, KAFKA_ERR_MESSAGE_TOO_LARGE, ""},
        {"too large", too_large, KAFKA_ERR_MESSAGE_TOO_LARGE, "at most 1000"},
        {"opens to too much", bomb, KAFKA_ERR_MESSAGE_TOO_LARGE, "larger than"},
        {"the whole set too large", set_too_large, KAFKA_ERR_RECORD_LIST_TOO_LARGE, "4000"},
        {"the second is corrupt", good_then_bad, KAFKA_ERR_CORRUPT_MESSAGE, "CRC"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf set, rewritten;
        struct produced_set out;
        buf_init(&set, 1 << 20);
        buf_init(&rewritten, 1 << 20);
        cases[i].make(&set);
        enum kafka_error got = accept(&set, &rewritten, &out);
        if (got != cases[i].want || !strstr(out.reason, cases[i].reason))
            fail_msg("%s: got %d, \"%s\"", cases[i].name, got, out.reason);
        assert_int_equal(out.first_offset, -1);
        assert_int_equal(out.entries, 0);
        buf_deinit(&set);
        buf_deinit(&rewritten);
    }
}

static void test_null(void **state)
{
    (void)state;
    struct buf rewritten;
    struct produced_set out;
    buf_init(&rewritten, 1000);
    assert_int_equal(produced_set_accept(NULL, 0, NEXT, &usual, &rewritten, &out),
                     KAFKA_ERR_CORRUPT_MESSAGE);
}

/* Exactly the maximum is taken. */
static void test_largest(void **state)
{
    (void)state;
    struct buf set, rewritten;
    struct produced_set out;
    buf_init(&set, 1 << 20);
    buf_init(&rewritten, 1 << 20);
    add(&set, "value");
    struct produced_limits limits = usual;
    limits.message_bytes_max = (int32_t)set.len;
    limits.set_bytes_max = (int32_t)set.len;
    assert_int_equal(produced_set_accept(set.data, set.len, NEXT, &limits, &rewritten, &out), 0);
    limits.set_bytes_max--;
    assert_int_equal(produced_set_accept(set.data, set.len, NEXT, &limits, &rewritten, &out),
                     KAFKA_ERR_RECORD_LIST_TOO_LARGE);
    limits.message_bytes_max--;
    assert_int_equal(produced_set_accept(set.data, set.len, NEXT, &limits, &rewritten, &out),
                     KAFKA_ERR_MESSAGE_TOO_LARGE);
    buf_deinit(&set);
}

static enum zkc_err accept_compressed(const void *input)
{
    const struct buf *produced = input;
    struct buf rewritten;
    struct produced_set out;
    uint8_t set[1000];
    memcpy(set, produced->data, produced->len);
    buf_init(&rewritten, 1 << 20);
    enum kafka_error error =
        produced_set_accept(set, produced->len, NEXT, &usual, &rewritten, &out);
    buf_deinit(&rewritten);
    if (error == KAFKA_ERR_UNKNOWN_SERVER_ERROR)
        return ZKC_ERR_NOMEM;
    assert_int_equal(error, KAFKA_ERR_NONE);
    return ZKC_OK;
}

static void test_without_memory(void **state)
{
    (void)state;
    struct buf set;
    buf_init(&set, 1 << 20);
    add_wrapper(&set, COMPRESSION_SNAPPY, 5);
    alloc_fail_each(accept_compressed, &set);
    buf_deinit(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_in_place), cmocka_unit_test(test_compressed_is_written_anew),
        cmocka_unit_test(test_java_wrappers),  cmocka_unit_test(test_nothing_to_append),
        cmocka_unit_test(test_every_cut),      cmocka_unit_test(test_every_bit_wrong),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_null),
        cmocka_unit_test(test_largest),        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
