#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/compression.h"
#include "zkconsumer/core/wire/xxh32.h"
#include <lz4frame.h>
#include <snappy-c.h>
#include <zlib.h>

#define OUTPUT_MAX (1 << 20)

static const int codecs[] = {COMPRESSION_GZIP, COMPRESSION_SNAPPY, COMPRESSION_LZ4};

/* Text that compresses well, or nearly not at all. */
static void fill(uint8_t *data, size_t len, bool dense)
{
    uint32_t x = 12345;
    for (size_t i = 0; i < len; i++) {
        x = x * 1103515245 + 12345;
        data[i] = dense ? (uint8_t)(x >> 16) : "abcd efgh "[i % 10];
    }
}

static void encode(int codec, struct bytes in, struct buf *out)
{
    const char *reason;
    buf_init(out, 2 * OUTPUT_MAX);
    if (compression_encode(codec, in, out, &reason))
        fail_msg("codec %d: %s", codec, reason);
}

static enum zkc_err decode(int codec, struct bytes in, struct buf *out)
{
    const char *reason = NULL;
    enum zkc_err err = compression_decode(codec, in, out, &reason);
    assert_true(err == ZKC_OK || reason);
    assert_int_equal(out->failed, ZKC_OK);
    return err;
}

static void test_round_trips(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 13, 32767, 32768, 32769, 65536, 65537, 300000};
    static uint8_t plain[300000];
    for (size_t c = 0; c < ARRAY_LEN(codecs); c++) {
        for (size_t s = 0; s < 2 * ARRAY_LEN(sizes); s++) {
            size_t len = sizes[s / 2];
            fill(plain, len, s % 2);
            struct buf packed, out;
            encode(codecs[c], bytes_of(plain, len), &packed);
            buf_init(&out, len + 3); /* not a byte more */
            buf_append(&out, "xyz", 3);
            assert_int_equal(decode(codecs[c], buf_bytes(&packed), &out), ZKC_OK);
            assert_int_equal(out.len, len + 3);
            assert_memory_equal(out.data, "xyz", 3);
            assert_memory_equal(out.data + 3, plain, len);
            buf_deinit(&packed);
            buf_deinit(&out);
        }
    }
}

static void test_output_over_the_maximum_is_refused(void **state)
{
    (void)state;
    static uint8_t plain[100000];
    fill(plain, sizeof plain, false);
    for (size_t c = 0; c < ARRAY_LEN(codecs); c++) {
        struct buf packed, out;
        encode(codecs[c], bytes_of(plain, sizeof plain), &packed);
        const size_t maxima[] = {0, 1, 1000, sizeof plain - 1};
        for (size_t i = 0; i < ARRAY_LEN(maxima); i++) {
            buf_init(&out, maxima[i]);
            assert_int_equal(decode(codecs[c], buf_bytes(&packed), &out), ZKC_ERR_TOO_LARGE);
            assert_int_equal(out.len, 0);
            buf_deinit(&out);
        }
        buf_deinit(&packed);
    }
}

/* A bomb: 64 MB of zeros. Memory stops at the buffer's maximum. */
static void test_bombs(void **state)
{
    (void)state;
    const size_t len = 64 << 20;
    uint8_t *plain = calloc(1, len);
    assert_non_null(plain);
    for (size_t c = 0; c < ARRAY_LEN(codecs); c++) {
        const char *reason;
        struct buf packed, out;
        buf_init(&packed, 2 * len);
        assert_int_equal(compression_encode(codecs[c], bytes_of(plain, len), &packed, &reason),
                         ZKC_OK);
        buf_init(&out, OUTPUT_MAX);
        assert_int_equal(decode(codecs[c], buf_bytes(&packed), &out), ZKC_ERR_TOO_LARGE);
        assert_true(out.cap <= OUTPUT_MAX);
        buf_deinit(&out);
        buf_deinit(&packed);
    }
    free(plain);
}

/* A raw snappy block of a few bytes that announces 4 GB: refused before anything is allocated. */
static void test_snappy_does_not_believe_its_length(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, SIZE_MAX);
    assert_int_equal(decode(COMPRESSION_SNAPPY,
                            bytes_of("\xff\xff\xff\xff\x0f\x00"
                                     "a",
                                     7),
                            &out),
                     ZKC_ERR_CORRUPT);
    assert_null(out.data);
    buf_deinit(&out);
}

static void test_snappy_in_both_framings(void **state)
{
    (void)state;
    static uint8_t plain[100000];
    fill(plain, sizeof plain, false);
    struct buf packed, out;
    encode(COMPRESSION_SNAPPY, bytes_of(plain, sizeof plain), &packed);
    /* Java's: header, then blocks of 32 KiB. */
    assert_memory_equal(packed.data, "\x82SNAPPY\0\0\0\0\1\0\0\0\1", 16);
    size_t blocks = 0;
    for (size_t at = 16; at < packed.len; at += 4 + read_u32(packed.data + at))
        blocks++;
    assert_int_equal(blocks, 4);

    size_t len = snappy_max_compressed_length(sizeof plain);
    char *raw = malloc(len);
    assert_non_null(raw);
    assert_int_equal(snappy_compress((const char *)plain, sizeof plain, raw, &len), SNAPPY_OK);
    buf_init(&out, OUTPUT_MAX);
    assert_int_equal(decode(COMPRESSION_SNAPPY, bytes_of(raw, len), &out), ZKC_OK);
    assert_true(bytes_equal(buf_bytes(&out), bytes_of(plain, sizeof plain)));
    free(raw);
    buf_deinit(&packed);
    buf_deinit(&out);
}

static void test_gzip_members_in_a_row(void **state)
{
    (void)state;
    struct buf packed, out;
    const char *reason;
    encode(COMPRESSION_GZIP, bytes_of_text("first "), &packed);
    assert_int_equal(
        compression_encode(COMPRESSION_GZIP, bytes_of_text("second"), &packed, &reason), ZKC_OK);
    buf_init(&out, 100);
    assert_int_equal(decode(COMPRESSION_GZIP, buf_bytes(&packed), &out), ZKC_OK);
    assert_string_equal(buf_text(&out), "first second");
    buf_clear(&out);
    buf_append(&packed, "\0\0\0", 3); /* no member: ignored, as by Java */
    assert_int_equal(decode(COMPRESSION_GZIP, buf_bytes(&packed), &out), ZKC_OK);
    assert_string_equal(buf_text(&out), "first second");
    buf_clear(&out);
    packed.len -= 3;
    buf_append(&packed, "\x1f\x8b\x08", 3); /* the beginning of one: cut short */
    assert_int_equal(decode(COMPRESSION_GZIP, buf_bytes(&packed), &out), ZKC_ERR_CORRUPT);
    assert_int_equal(out.len, 0);
    buf_deinit(&packed);
    buf_deinit(&out);
}

/* A frame as liblz4 writes it, with Java's checksum or another one. */
static void check_lz4_frame(const LZ4F_preferences_t *preferences, size_t header_len)
{
    static uint8_t plain[200000], frame[300000];
    fill(plain, sizeof plain, false);
    size_t len = LZ4F_compressFrame(frame, sizeof frame, plain, sizeof plain, preferences);
    assert_false(LZ4F_isError(len));
    uint8_t right = frame[header_len - 1];
    assert_int_equal(right, (uint8_t)(wire_xxh32(frame + 4, header_len - 5) >> 8));
    uint8_t java = (uint8_t)(wire_xxh32(frame, header_len - 1) >> 8);
    assert_int_not_equal(java, right);
    for (int checksum = 0; checksum < 256; checksum++) {
        frame[header_len - 1] = (uint8_t)checksum;
        struct buf out;
        buf_init(&out, OUTPUT_MAX);
        enum zkc_err want = checksum == right || checksum == java ? ZKC_OK : ZKC_ERR_CORRUPT;
        assert_int_equal(decode(COMPRESSION_LZ4, bytes_of(frame, len), &out), want);
        assert_true(want ? out.len == 0
                         : bytes_equal(buf_bytes(&out), bytes_of(plain, sizeof plain)));
        buf_deinit(&out);
    }
}

static void test_lz4_with_either_checksum(void **state)
{
    (void)state;
    LZ4F_preferences_t p = {
        .frameInfo = {.blockSizeID = LZ4F_max64KB, .blockMode = LZ4F_blockIndependent}};
    check_lz4_frame(&p, 7);
    p.frameInfo.contentSize = 200000;
    check_lz4_frame(&p, 15);
    p = (LZ4F_preferences_t){.frameInfo = {.blockSizeID = LZ4F_max4MB,
                                           .blockMode = LZ4F_blockLinked,
                                           .contentChecksumFlag = LZ4F_contentChecksumEnabled,
                                           .blockChecksumFlag = LZ4F_blockChecksumEnabled}};
    check_lz4_frame(&p, 7);
}

static void test_lz4_as_java_writes_it(void **state)
{
    (void)state;
    struct buf packed;
    encode(COMPRESSION_LZ4, bytes_of_text("some text"), &packed);
    /* FLG 60, BD 40, checksum 1a: from KafkaLZ4BlockOutputStream of 0.8.2.2. */
    assert_memory_equal(packed.data, "\x04\x22\x4d\x18\x60\x40\x1a", 7);
    buf_deinit(&packed);
}

static void test_xxh32(void **state)
{
    (void)state;
    /* Values of the reference implementation. */
    assert_int_equal(wire_xxh32((const uint8_t *)"", 0), 0x02cc5d05);
    assert_int_equal(wire_xxh32((const uint8_t *)"a", 1), 0x550d7456);
    assert_int_equal(wire_xxh32((const uint8_t *)"abc", 3), 0x32d153ff);
    assert_int_equal(wire_xxh32((const uint8_t *)"Nobody inspects the spammish repetition", 39),
                     0xe2293b2f);
}

/* Cut anywhere, it is not taken, or gives no more than a beginning and says so by failing. */
static void test_streams_cut_short(void **state)
{
    (void)state;
    static uint8_t plain[70000];
    fill(plain, sizeof plain, false);
    for (size_t c = 0; c < ARRAY_LEN(codecs); c++) {
        struct buf packed, out;
        encode(codecs[c], bytes_of(plain, sizeof plain), &packed);
        buf_init(&out, OUTPUT_MAX);
        for (size_t len = 0; len < packed.len; len += len < 64 ? 1 : 7) {
            uint8_t *copy = malloc(len ? len : 1);
            assert_non_null(copy);
            memcpy(copy, packed.data, len);
            enum zkc_err err = decode(codecs[c], bytes_of(copy, len), &out);
            /* Between snappy's blocks, and right behind its header, a cut cannot be seen; the CRC
             * of the message sees it. */
            if (err == ZKC_OK && codecs[c] != COMPRESSION_SNAPPY)
                fail_msg("codec %d cut to %zu bytes is taken", codecs[c], len);
            assert_true(err == ZKC_OK || (err == ZKC_ERR_CORRUPT && out.len == 0));
            buf_clear(&out);
            free(copy);
        }
        buf_deinit(&packed);
        buf_deinit(&out);
    }
}

static void test_nonsense_is_corrupt(void **state)
{
    (void)state;
    static const char nonsense[] = "this is not compressed by anything that we know";
    struct buf out;
    buf_init(&out, OUTPUT_MAX);
    for (size_t c = 0; c < ARRAY_LEN(codecs); c++) {
        assert_int_equal(decode(codecs[c], bytes_of_text(nonsense), &out), ZKC_ERR_CORRUPT);
        assert_int_equal(decode(codecs[c], bytes_of_text(""), &out), ZKC_ERR_CORRUPT);
    }
    assert_int_equal(decode(COMPRESSION_NONE, bytes_of_text(nonsense), &out), ZKC_ERR_CORRUPT);
    assert_int_equal(decode(4, bytes_of_text(nonsense), &out), ZKC_ERR_CORRUPT);
    assert_int_equal(decode(-1, bytes_of_text(nonsense), &out), ZKC_ERR_CORRUPT);
    assert_string_equal(compression_codec_name(COMPRESSION_SNAPPY), "snappy");
    assert_null(compression_codec_name(4));
    assert_null(compression_codec_name(-1));
    buf_deinit(&out);
}

static void test_allocations_that_fail(void **state)
{
    (void)state;
    static uint8_t plain[70000];
    fill(plain, sizeof plain, false);
    for (size_t c = 0; c < ARRAY_LEN(codecs); c++) {
        struct buf packed, out;
        const char *reason;
        ALLOC_FAIL_EACH(n, failed, {
            buf_init(&packed, OUTPUT_MAX);
            enum zkc_err err =
                compression_encode(codecs[c], bytes_of(plain, sizeof plain), &packed, &reason);
            assert_true(err == ZKC_OK || (err == ZKC_ERR_NOMEM && packed.len == 0));
            failed = err != ZKC_OK;
            if (failed)
                buf_deinit(&packed);
        });
        ALLOC_FAIL_EACH(n, failed, {
            buf_init(&out, OUTPUT_MAX);
            enum zkc_err err = decode(codecs[c], buf_bytes(&packed), &out);
            assert_true(err == ZKC_OK || (err == ZKC_ERR_NOMEM && out.len == 0));
            failed = err != ZKC_OK;
            buf_deinit(&out);
        });
        buf_deinit(&packed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_output_over_the_maximum_is_refused),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_snappy_does_not_believe_its_length),
        cmocka_unit_test(test_snappy_in_both_framings),
        cmocka_unit_test(test_gzip_members_in_a_row),
        cmocka_unit_test(test_lz4_with_either_checksum),
        cmocka_unit_test(test_lz4_as_java_writes_it),
        cmocka_unit_test(test_xxh32),
        cmocka_unit_test(test_streams_cut_short),
        cmocka_unit_test(test_nonsense_is_corrupt),
        cmocka_unit_test(test_allocations_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
