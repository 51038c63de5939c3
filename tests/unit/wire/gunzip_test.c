/* gunzip beside zlib's inflate(): the same data out, the same end, and nothing taken that is
 * broken. Built twice: with whatever the library has, and with zlib as where ISA-L is missing. */
#include "tests/unit/test.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/wire/gunzip.h"
#include <zlib.h>

#define PLAIN_MAX  100000
#define PACKED_MAX (2 * PLAIN_MAX)

static uint8_t plain[PLAIN_MAX], packed[PACKED_MAX], out[PLAIN_MAX + 1];

/* Runs of bytes, copies from before and noise. */
static size_t make_plain(struct rng *rng)
{
    size_t len = rng_below(rng, 3) == 0 ? rng_below(rng, 300) : rng_below(rng, PLAIN_MAX);
    for (size_t i = 0; i < len;) {
        size_t run = 1 + rng_below(rng, 400);
        size_t back = 1 + rng_below(rng, 40000);
        uint64_t kind = rng_below(rng, 3);
        for (; run && i < len; run--, i++)
            plain[i] = kind == 0                ? 'x'
                       : kind == 1 && back <= i ? plain[i - back]
                                                : (uint8_t)rng_next(rng);
    }
    return len;
}

/* Adds a member with any level, strategy and header. */
static size_t add_member(struct rng *rng, size_t at, size_t from, size_t len)
{
    z_stream z = {.next_in = plain + from, .avail_in = (uInt)len};
    char extra[] = "extra", name[] = "name", comment[] = "comment";
    gz_header header = {.time = 1, .hcrc = (int)rng_below(rng, 2)};
    assert_int_equal(deflateInit2(&z, (int)rng_below(rng, 10), Z_DEFLATED, MAX_WBITS + 16,
                                  1 + (int)rng_below(rng, 9), (int)rng_below(rng, 5)),
                     Z_OK);
    if (rng_below(rng, 2)) {
        header.extra = rng_below(rng, 2) ? (Bytef *)extra : NULL;
        header.extra_len = sizeof extra;
        header.name = rng_below(rng, 2) ? (Bytef *)name : NULL;
        header.comment = rng_below(rng, 2) ? (Bytef *)comment : NULL;
        assert_int_equal(deflateSetHeader(&z, &header), Z_OK);
    }
    z.next_out = packed + at;
    z.avail_out = (uInt)(PACKED_MAX - at);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return PACKED_MAX - z.avail_out;
}

/* What zlib makes of the first member; the result in our words. */
static enum gunzip_result ask_zlib(struct bytes in, uint8_t *data, size_t *len, size_t *rest)
{
    z_stream z = {.next_in = (uint8_t *)in.data,
                  .avail_in = (uInt)in.len,
                  .next_out = data,
                  .avail_out = PLAIN_MAX + 1};
    assert_int_equal(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
    int rc = inflate(&z, Z_NO_FLUSH);
    *len = PLAIN_MAX + 1 - z.avail_out;
    *rest = z.avail_in;
    inflateEnd(&z);
    if (rc == Z_STREAM_END)
        return GUNZIP_END;
    return rc == Z_OK || rc == Z_BUF_ERROR ? GUNZIP_MORE : GUNZIP_CORRUPT;
}

/* Ours, with room for at most `step` bytes at a time (0: for all of it). */
static enum gunzip_result run_ours(struct gunzip *g, size_t step, size_t *len)
{
    *len = 0;
    for (;;) {
        size_t room = PLAIN_MAX + 1 - *len, wrote = SIZE_MAX;
        if (step && step < room)
            room = step;
        enum gunzip_result result = gunzip_next(g, out + *len, room, &wrote);
        assert_true(wrote <= room);
        *len += wrote;
        if (result != GUNZIP_MORE || wrote < room || *len == PLAIN_MAX + 1)
            return result;
    }
}

/* Of exactly its size, so that reading over its end is seen. */
static struct gunzip *begin(size_t len, uint8_t **copy)
{
    *copy = malloc(len ? len : 1);
    assert_non_null(*copy);
    memcpy(*copy, packed, len);
    struct gunzip *g = gunzip_new(bytes_of(*copy, len));
    assert_non_null(g);
    return g;
}

static size_t any_step(struct rng *rng)
{
    return rng_below(rng, 2) ? 0 : 1 + rng_below(rng, 1 + rng_below(rng, 70000));
}

static void test_members_one_after_the_other(void **state)
{
    (void)state;
    struct rng rng;
    for (uint64_t seed = 0; seed < 300; seed++) {
        rng_init(&rng, seed);
        size_t len = make_plain(&rng), first = rng_below(&rng, len + 1), got;
        size_t packed_len = add_member(&rng, 0, 0, first);
        packed_len = add_member(&rng, packed_len, first, len - first);
        uint8_t *copy;
        struct gunzip *g = begin(packed_len, &copy);
        if (run_ours(g, any_step(&rng), &got) != GUNZIP_END || got != first ||
            memcmp(out, plain, got) != 0)
            fail_msg("seed %" PRIu64 ": first member, %zu of %zu bytes", seed, got, first);
        gunzip_next_member(g);
        if (run_ours(g, any_step(&rng), &got) != GUNZIP_END || got != len - first ||
            memcmp(out, plain + first, got) != 0)
            fail_msg("seed %" PRIu64 ": second member, %zu of %zu bytes", seed, got, len - first);
        assert_int_equal(gunzip_rest(g).len, 0);
        gunzip_free(g);
        free(copy);
    }
}

/* The member ends with the checksum and the length of what is in `out`. */
static bool is_checked(struct bytes member, size_t len)
{
    const uint8_t *t = member.data + member.len - 8;
    uint32_t crc =
        (uint32_t)t[0] | (uint32_t)t[1] << 8 | (uint32_t)t[2] << 16 | (uint32_t)t[3] << 24;
    uint32_t size =
        (uint32_t)t[4] | (uint32_t)t[5] << 8 | (uint32_t)t[6] << 16 | (uint32_t)t[7] << 24;
    return member.len >= 18 && crc == crc32_z(0, out, len) && size == len;
}

/* Bytes changed, taken away or added. What zlib takes is taken; what else is taken (a flag that
 * means nothing, a code that nothing uses) has the right checksum all the same. */
static void test_broken_members(void **state)
{
    (void)state;
    static uint8_t want[PLAIN_MAX + 1];
    struct rng rng;
    size_t ends = 0, mores = 0, corrupts = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        rng_init(&rng, seed);
        size_t len = make_plain(&rng) % 5000, want_len, want_rest, got;
        size_t packed_len = add_member(&rng, 0, 0, len);
        for (uint64_t n = rng_below(&rng, 3); n > 0; n--)
            packed[rng_below(&rng, rng_below(&rng, 2) ? packed_len : 24) % packed_len] ^=
                (uint8_t)(1 << rng_below(&rng, 8));
        if (rng_below(&rng, 3) == 0)
            packed_len = rng_below(&rng, packed_len + 1);
        else if (rng_below(&rng, 2))
            packed[packed_len++] = (uint8_t)rng_next(&rng);
        uint8_t *copy;
        struct gunzip *g = begin(packed_len, &copy);
        enum gunzip_result wants =
            ask_zlib(bytes_of(copy, packed_len), want, &want_len, &want_rest);
        enum gunzip_result result = run_ours(g, any_step(&rng), &got);
        ends += wants == GUNZIP_END;
        mores += wants == GUNZIP_MORE;
        corrupts += wants == GUNZIP_CORRUPT;
        if (wants == GUNZIP_END && (result != GUNZIP_END || got != want_len ||
                                    memcmp(out, want, got) != 0 || gunzip_rest(g).len != want_rest))
            fail_msg("seed %" PRIu64 ": not what zlib makes of it", seed);
        if (result == GUNZIP_END &&
            !is_checked(bytes_of(copy, packed_len - gunzip_rest(g).len), got))
            fail_msg("seed %" PRIu64 ": taken with a wrong checksum", seed);
        gunzip_free(g);
        free(copy);
    }
    assert_true(ends > 100 && mores > 100 && corrupts > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_one_after_the_other),
        cmocka_unit_test(test_broken_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
