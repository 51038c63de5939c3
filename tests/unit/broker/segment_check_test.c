/* Recovery: every way to cut a log short, every bit of it wrong, garbage behind it. */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/broker/memory_log.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/crc32.h"
#include "zkconsumer/core/wire/message_set.h"

#define BASE     1000
#define MESSAGES 7

/* A log of plain and compressed messages; `ends` are where its entries end, `nexts` the offset
 * behind each of them. */
struct sample {
    struct buf log;
    size_t ends[MESSAGES];
    int64_t nexts[MESSAGES];
    size_t count;
};

static void end_entry(struct sample *s, int64_t next)
{
    s->ends[s->count] = s->log.len;
    s->nexts[s->count++] = next;
}

static struct sample make(void)
{
    struct sample s = {.count = 0};
    int64_t offset = BASE;
    buf_init(&s.log, 1 << 20);
    for (int i = 0; i < MESSAGES; i++) {
        if (i == 3) {
            struct buf inner;
            buf_init(&inner, 1 << 20);
            for (int k = 0; k < 3; k++)
                message_set_append(&inner, offset++, BYTES_NULL, bytes_of_text("inside a wrapper"));
            assert_int_equal(
                message_set_append_wrapper(&s.log, offset - 1, COMPRESSION_GZIP, buf_bytes(&inner)),
                ZKC_OK);
            buf_deinit(&inner);
        } else {
            message_set_append(&s.log, offset++, i % 2 ? bytes_of_text("key") : BYTES_NULL,
                               bytes_of_text(i == 5 ? "" : "a value"));
        }
        end_entry(&s, offset);
    }
    return s;
}

/* How many entries lie wholly within the first `len` bytes. */
static size_t whole(const struct sample *s, size_t len)
{
    size_t n = 0;
    while (n < s->count && s->ends[n] <= len)
        n++;
    return n;
}

static struct segment_check check(struct bytes log, size_t chunk)
{
    struct segment_check c;
    segment_check_begin(&c, BASE, log.len, 60, 4096);
    bool more = true;
    for (size_t at = 0; at < log.len && more; at += chunk)
        more = segment_check_feed(
            &c, bytes_of(log.data + at, chunk < log.len - at ? chunk : log.len - at));
    assert_int_equal(segment_check_end(&c), ZKC_OK);
    return c;
}

static void assert_valid(const struct sample *s, struct bytes log, size_t entries, const char *what,
                         size_t at)
{
    static const size_t chunks[] = {1, 5, 18, 1 << 20};
    for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
        struct segment_check c = check(log, chunks[i]);
        size_t want = entries ? s->ends[entries - 1] : 0;
        int64_t next = entries ? s->nexts[entries - 1] : BASE;
        if (c.valid_bytes != want || c.next_offset != next)
            fail_msg("%s %zu: %u bytes valid, next %" PRId64 "; expected %zu and %" PRId64, what,
                     at, c.valid_bytes, c.next_offset, want, next);
        assert_int_equal(c.why.text[0] != 0, want < log.len);
        /* The index names entries that are there, in order, and no two closer than the interval. */
        uint32_t last = 0;
        for (size_t k = 0; k < c.index.count; k++) {
            uint32_t position = read_u32(c.index.entries + 8 * k + 4);
            int64_t offset = BASE + read_u32(c.index.entries + 8 * k);
            assert_true(position > last + 60 && position < want);
            size_t n = whole(s, position);
            assert_int_equal(s->ends[n - 1], position);
            assert_int_equal(s->nexts[n - 1], offset);
            last = position;
        }
        segment_check_deinit(&c);
    }
}

static void test_cut_at_every_byte(void **state)
{
    (void)state;
    struct sample s = make();
    for (size_t len = 0; len <= s.log.len; len++)
        assert_valid(&s, bytes_of(s.log.data, len), whole(&s, len), "cut at", len);
    buf_deinit(&s.log);
}

static void test_every_bit_wrong(void **state)
{
    (void)state;
    struct sample s = make();
    size_t kept_offsets = 0;
    for (size_t bit = 0; bit < 8 * s.log.len; bit++) {
        size_t n = whole(&s, bit / 8); /* entries before the one that is damaged */
        size_t in_entry = bit / 8 - (n ? s.ends[n - 1] : 0);
        s.log.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (in_entry >= 8) {
            assert_valid(&s, buf_bytes(&s.log), n, "bit", bit);
        } else {
            /* No CRC covers the offset: one that is not too low and not too far passes. What is
             * behind it may then be too low. */
            struct segment_check c = check(buf_bytes(&s.log), 64);
            assert_true(c.valid_bytes >= (n ? s.ends[n - 1] : 0));
            assert_true(c.next_offset >= (n ? s.nexts[n - 1] : BASE));
            assert_true(c.next_offset <= (int64_t)BASE + INT32_MAX + 1);
            kept_offsets += c.valid_bytes > (n ? s.ends[n - 1] : 0);
            segment_check_deinit(&c);
        }
        s.log.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(kept_offsets > 0);
    assert_valid(&s, buf_bytes(&s.log), s.count, "restored", 0);
    buf_deinit(&s.log);
}

static void test_garbage_behind(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        size_t len;
        uint8_t bytes[40];
    } tails[] = {
        {"zeros of a preallocated file", 40, {0}},
        {"ones", 40, {[0 ... 39] = 0xff}},
        {"the largest size", 30, {0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0x7f, 0xff, 0xff, 0xff}},
        {"a negative size", 30, {0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff}},
        {"a size of 13", 40, {0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0, 0, 0, 13}},
        {"a single byte", 1, {0}},
    };
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        struct sample s = make();
        buf_append(&s.log, tails[i].bytes, tails[i].len);
        assert_valid(&s, buf_bytes(&s.log), s.count, tails[i].what, i);
        buf_deinit(&s.log);
    }
}

/* Entries that are whole but do not belong there. */
static void test_whole_but_wrong(void **state)
{
    (void)state;
    struct sample s = make();
    size_t len = s.log.len;
    static const struct {
        const char *what;
        int64_t offset;
        const char *why;
    } offsets[] = {
        {"an offset again", BASE + 2, "offset 1002"},
        {"below the base", 3, "offset 3"},
        {"negative", -1, "offset -1"},
        {"too far", (int64_t)BASE + INT32_MAX + 1, "too far"},
    };
    for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
        message_set_append(&s.log, offsets[i].offset, BYTES_NULL, BYTES_NULL);
        assert_valid(&s, buf_bytes(&s.log), s.count, offsets[i].what, i);
        struct segment_check c = check(buf_bytes(&s.log), 100);
        if (!strstr(c.why.text, offsets[i].why))
            fail_msg("%s: \"%s\"", offsets[i].what, c.why.text);
        segment_check_deinit(&c);
        s.log.len = len;
    }
    /* Format 1 with a right CRC. */
    message_set_append(&s.log, 2000, BYTES_NULL, bytes_of_text("padding for a timestamp"));
    s.log.data[len + 16] = 1;
    uint8_t *entry = s.log.data + len;
    write_i32(entry + 12, (int32_t)wire_crc32(entry + 16, s.log.len - len - 16));
    assert_valid(&s, buf_bytes(&s.log), s.count, "format 1", 0);
    /* A gap, as compaction leaves it, is fine. */
    s.log.len = len;
    message_set_append(&s.log, BASE + 5000, BYTES_NULL, BYTES_NULL);
    struct segment_check c = check(buf_bytes(&s.log), 100);
    assert_int_equal(c.valid_bytes, s.log.len);
    assert_int_equal(c.next_offset, BASE + 5001);
    segment_check_deinit(&c);
    buf_deinit(&s.log);
}

/* The index stays within index_bytes_max; the check goes on. */
static void test_index_is_full(void **state)
{
    (void)state;
    struct sample s = make();
    struct segment_check c;
    segment_check_begin(&c, BASE, s.log.len, 0, 17);
    segment_check_feed(&c, buf_bytes(&s.log));
    assert_int_equal(segment_check_end(&c), ZKC_OK);
    assert_int_equal(c.index.count, 2);
    assert_int_equal(c.valid_bytes, s.log.len);
    segment_check_deinit(&c);
    buf_deinit(&s.log);
}

static void test_a_file_too_large_for_positions(void **state)
{
    (void)state;
    struct segment_check c;
    uint8_t head[18] = {0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0x7f, 0xff, 0xff, 0xff};
    segment_check_begin(&c, BASE, UINT64_C(1) << 40, 4096, 4096);
    assert_false(segment_check_feed(&c, bytes_of(head, sizeof head)));
    assert_int_equal(segment_check_end(&c), ZKC_OK);
    assert_int_equal(c.valid_bytes, 0);
    segment_check_deinit(&c);
}

static enum zkc_err check_with_index(const void *input)
{
    const struct sample *s = input;
    struct segment_check c;
    segment_check_begin(&c, BASE, s->log.len, 10, 4096);
    segment_check_feed(&c, buf_bytes(&s->log));
    enum zkc_err err = segment_check_end(&c);
    segment_check_deinit(&c);
    return err;
}

static void test_without_memory(void **state)
{
    (void)state;
    struct sample s = make();
    alloc_fail_each(check_with_index, &s);
    buf_deinit(&s.log);
}

/* ---- Indexes of files ---- */

static void test_indexes_that_are_lent(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        size_t len;
        uint8_t bytes[40];
        enum zkc_err want;
        size_t entries;
    } files[] = {
        {"empty", 0, {0}, ZKC_OK, 0},
        {"only zeros", 32, {0}, ZKC_OK, 0},
        {"one", 8, {0, 0, 0, 2, 0, 0, 0, 99}, ZKC_OK, 1},
        {"one, not trimmed", 24, {0, 0, 0, 2, 0, 0, 0, 99}, ZKC_OK, 1},
        {"cut", 7, {0, 0, 0, 2, 0, 0, 0}, ZKC_ERR_CORRUPT, 0},
        {"beyond the segment", 8, {0, 0, 0, 2, 0, 0, 0, 100}, ZKC_ERR_CORRUPT, 0},
        {"no offset", 8, {0, 0, 0, 0, 0, 0, 0, 9}, ZKC_ERR_CORRUPT, 0},
        {"negative", 8, {0x80, 0, 0, 2, 0, 0, 0, 9}, ZKC_ERR_CORRUPT, 0},
        {"offsets descend",
         16,
         {0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 10},
         ZKC_ERR_CORRUPT,
         0},
        {"positions descend",
         16,
         {0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 8},
         ZKC_ERR_CORRUPT,
         0},
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct segment_index x = {.entries = NULL};
        enum zkc_err got = segment_index_lend(&x, bytes_of(files[i].bytes, files[i].len), 100);
        if (got != files[i].want || x.count != files[i].entries)
            fail_msg("%s: got %s, %zu entries", files[i].what, zkc_err_name(got), x.count);
        segment_index_deinit(&x);
    }
}

/* Look-ups against going through all of it, in lent and in owned memory. */
static void test_lookups(void **state)
{
    (void)state;
    for (size_t n = 0; n < 9; n++) {
        struct segment_index owned = {.entries = NULL}, lent;
        for (size_t i = 0; i < n; i++)
            assert_int_equal(segment_index_add(&owned, BASE,
                                               (struct index_entry){BASE + 3 + 2 * (int64_t)i,
                                                                    10 * (uint32_t)(i + 1)}),
                             ZKC_OK);
        assert_int_equal(
            segment_index_lend(&lent, bytes_of(owned.entries, n * INDEX_ENTRY_BYTES), 1000),
            ZKC_OK);
        for (int64_t offset = BASE; offset < BASE + 30; offset++) {
            struct index_entry want = {BASE, 0};
            for (size_t i = 0; i < n && BASE + 3 + 2 * (int64_t)i <= offset; i++)
                want = (struct index_entry){BASE + 3 + 2 * (int64_t)i, 10 * (uint32_t)(i + 1)};
            struct index_entry a = segment_index_lookup(&owned, BASE, offset);
            struct index_entry b = segment_index_lookup(&lent, BASE, offset);
            assert_true(a.offset == want.offset && a.position == want.position);
            assert_true(b.offset == want.offset && b.position == want.position);
        }
        segment_index_deinit(&owned);
        segment_index_deinit(&lent);
    }
}

/* An index that was lent goes on growing in memory of its own. */
static void test_lent_index_grows(void **state)
{
    (void)state;
    static const uint8_t file[8] = {0, 0, 0, 2, 0, 0, 0, 99};
    struct segment_index x;
    assert_int_equal(segment_index_lend(&x, bytes_of(file, 8), 100), ZKC_OK);
    assert_int_equal(segment_index_add(&x, BASE, (struct index_entry){BASE + 5, 200}), ZKC_OK);
    assert_int_equal(x.count, 2);
    assert_int_equal(segment_index_lookup(&x, BASE, BASE + 4).position, 99);
    assert_int_equal(segment_index_last(&x, BASE).position, 200);
    segment_index_deinit(&x);
}

/* ---- Scanning ---- */

static void test_scan(void **state)
{
    (void)state;
    struct sample s = make();
    for (size_t piece = 12; piece < 200; piece += 7) {
        for (int64_t target = BASE; target < s.nexts[s.count - 1] + 1; target++) {
            uint32_t position = 0;
            enum scan_result got = SCAN_MORE;
            while (got == SCAN_MORE && position < s.log.len) {
                size_t left = s.log.len - position;
                got = segment_scan(bytes_of(s.log.data + position, piece < left ? piece : left),
                                   target, &position);
            }
            size_t n = 0;
            while (n < s.count && s.nexts[n] <= target)
                n++;
            assert_int_equal(got, n < s.count ? SCAN_FOUND : SCAN_MORE);
            assert_int_equal(position, n ? s.ends[n - 1] : 0);
        }
    }
    s.log.data[8] = 0xff;
    uint32_t position = 0;
    assert_int_equal(segment_scan(buf_bytes(&s.log), BASE, &position), SCAN_CORRUPT);
    buf_deinit(&s.log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_every_bit_wrong),
        cmocka_unit_test(test_garbage_behind),
        cmocka_unit_test(test_whole_but_wrong),
        cmocka_unit_test(test_index_is_full),
        cmocka_unit_test(test_a_file_too_large_for_positions),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_indexes_that_are_lent),
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_lent_index_grows),
        cmocka_unit_test(test_scan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
