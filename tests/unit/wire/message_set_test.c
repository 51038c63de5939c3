#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/crc32.h"
#include "zkconsumer/core/wire/message_set.h"

#define SET_MAX (4 << 20)

static const struct message_iter_limits limits = {.decompressed_bytes_max = 1 << 20};

/* Where things are in an entry, by the protocol's table. */
enum { AT_SIZE = 8, AT_CRC = 12, AT_MAGIC = 16, AT_ATTRIBUTES = 17, AT_KEY_LEN = 18 };

static void append(struct buf *set, int64_t offset, const char *key, const char *value)
{
    message_set_append(set, offset, bytes_of_text(key), bytes_of_text(value));
    assert_int_equal(set->failed, ZKC_OK);
}

static void append_wrapper(struct buf *set, int64_t offset, enum compression_codec codec,
                           const struct buf *inner)
{
    assert_int_equal(message_set_append_wrapper(set, offset, codec, buf_bytes(inner)), ZKC_OK);
}

static void repair_crc(uint8_t *entry)
{
    size_t bytes = MESSAGE_OVERHEAD + read_u32(entry + AT_SIZE);
    write_i32(entry + AT_CRC, (int32_t)wire_crc32(entry + AT_MAGIC, bytes - AT_MAGIC));
}

/* Iterates the whole set; writes what comes as text: "5 k=v; 6 null=null; corrupt; end". */
static const char *story(struct bytes set, struct message_fault *fault)
{
    static char text[4096];
    size_t at = 0;
    struct message_iter it;
    struct message_view m;
    message_iter_init(&it, set, &limits);
    for (;;) {
        assert_true(at < sizeof text - 200);
        enum message_iter_result r = message_iter_next(&it, &m);
        if (r == MESSAGE_ITER_MESSAGE) {
            at += (size_t)sprintf(text + at, "%" PRId64 " ", m.offset);
            at += (size_t)(m.key.data ? sprintf(text + at, "%.*s=", (int)m.key.len, m.key.data)
                                      : sprintf(text + at, "null="));
            at +=
                (size_t)(m.value.data ? sprintf(text + at, "%.*s; ", (int)m.value.len, m.value.data)
                                      : sprintf(text + at, "null; "));
            continue;
        }
        if (fault && (r == MESSAGE_ITER_CORRUPT || r == MESSAGE_ITER_TOO_LARGE))
            *fault = it.fault;
        static const char *const names[] = {"",          "end",       "partial",
                                            "too large", "corrupt; ", "nomem"};
        at += (size_t)sprintf(text + at, "%s", names[r]);
        if (r != MESSAGE_ITER_CORRUPT) {
            assert_int_equal(message_iter_next(&it, &m), r); /* and stays so */
            break;
        }
    }
    message_iter_deinit(&it);
    return text;
}

static void test_plain_messages(void **state)
{
    (void)state;
    struct buf set;
    buf_init(&set, SET_MAX);
    append(&set, 5, "k", "value");
    append(&set, 6, NULL, NULL);
    append(&set, 9, "", "");
    assert_string_equal(story(buf_bytes(&set), NULL), "5 k=value; 6 null=null; 9 =; end");
    /* The first entry as Kafka would write it, its CRC by zlib's definition. */
    assert_memory_equal(set.data,
                        "\0\0\0\0\0\0\0\5\0\0\0\x14\x8f\xaa\x55\x88\0\0\0\0\0\1k\0\0\0\5value", 32);

    struct message_set_extent x = message_set_extent(buf_bytes(&set));
    assert_int_equal(x.state, MESSAGE_SET_OK);
    assert_int_equal(x.valid_bytes, set.len);
    assert_int_equal(x.entries, 3);
    assert_int_equal(x.next_offset, 10);
    buf_deinit(&set);
}

static void test_nothing(void **state)
{
    (void)state;
    assert_string_equal(story(BYTES_NULL, NULL), "end");
    assert_string_equal(story(bytes_of("", 0), NULL), "end");
    struct message_set_extent x = message_set_extent(BYTES_NULL);
    assert_int_equal(x.state, MESSAGE_SET_EMPTY);
    assert_int_equal(x.next_offset, -1);
    assert_int_equal(x.valid_bytes, 0);
}

/* A set with a message of each codec, wrappers in the middle and nested. */
static void build_mixed(struct buf *set)
{
    struct buf inner, outer;
    buf_init(set, SET_MAX);
    buf_init(&inner, SET_MAX);
    buf_init(&outer, SET_MAX);
    append(set, 0, "a", "plain");
    for (int codec = COMPRESSION_GZIP; codec <= COMPRESSION_LZ4; codec++) {
        buf_clear(&inner);
        append(&inner, 10 * codec, "b", "first in it");
        append(&inner, 10 * codec + 1, NULL, "second in it");
        append_wrapper(set, 10 * codec + 1, codec, &inner);
    }
    buf_clear(&inner);
    append(&inner, 40, "c", "deep");
    append(&outer, 39, "c", "less deep");
    append_wrapper(&outer, 40, COMPRESSION_LZ4, &inner);
    append(&outer, 41, "c", "less deep again");
    append_wrapper(set, 41, COMPRESSION_GZIP, &outer);
    append(set, 50, "z", "last");
    buf_deinit(&inner);
    buf_deinit(&outer);
}

static const char mixed_story[] =
    "0 a=plain; 10 b=first in it; 11 null=second in it; 20 b=first in it; 21 null=second in it; "
    "30 b=first in it; 31 null=second in it; 39 c=less deep; 40 c=deep; 41 c=less deep again; "
    "50 z=last; ";

static void test_wrappers(void **state)
{
    (void)state;
    struct buf set;
    build_mixed(&set);
    char want[sizeof mixed_story + 10];
    snprintf(want, sizeof want, "%send", mixed_story);
    assert_string_equal(story(buf_bytes(&set), NULL), want);
    struct message_set_extent x = message_set_extent(buf_bytes(&set));
    assert_int_equal(x.entries, 6);
    assert_int_equal(x.next_offset, 51);
    buf_deinit(&set);
}

static void test_views_of_a_wrapper_stay_while_it_lasts(void **state)
{
    (void)state;
    struct buf set, inner;
    buf_init(&set, SET_MAX);
    buf_init(&inner, SET_MAX);
    for (int i = 0; i < 100; i++)
        append(&inner, i, "key", "the same value in each of them");
    append_wrapper(&set, 99, COMPRESSION_SNAPPY, &inner);
    struct message_iter it;
    struct message_view m[100];
    message_iter_init(&it, buf_bytes(&set), &limits);
    for (int i = 0; i < 100; i++)
        assert_int_equal(message_iter_next(&it, &m[i]), MESSAGE_ITER_MESSAGE);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(m[i].offset, i);
        assert_true(bytes_equal_text(m[i].value, "the same value in each of them"));
    }
    message_iter_deinit(&it);
    buf_deinit(&set);
    buf_deinit(&inner);
}

/* F14: cut at every byte, whole messages come and the rest is no error; F15: without one whole
 * entry it is "too large", with the size that would do as soon as it is there. */
static void test_cut_at_every_byte(void **state)
{
    (void)state;
    struct buf set;
    build_mixed(&set);
    size_t entry = 0, whole = 0, next = MESSAGE_OVERHEAD + read_u32(set.data + AT_SIZE);
    for (size_t len = 0; len <= set.len; len++) {
        if (len == next) {
            whole = len;
            entry++;
            if (len + MESSAGE_OVERHEAD < set.len)
                next = len + MESSAGE_OVERHEAD + read_u32(set.data + len + AT_SIZE);
        }
        uint8_t *copy = malloc(len ? len : 1);
        assert_non_null(copy);
        memcpy(copy, set.data, len);
        struct message_set_extent x = message_set_extent(bytes_of(copy, len));
        assert_int_equal(x.valid_bytes, whole);
        assert_int_equal(x.entries, entry);
        struct message_fault fault = {0};
        const char *got = story(bytes_of(copy, len), &fault);
        const char *end = len == whole ? "end" : whole ? "partial" : "too large";
        const char *tail = strrchr(got, ';');
        assert_string_equal(tail ? tail + 2 : got, end);
        /* What comes before is the beginning of the whole story. */
        assert_memory_equal(got, mixed_story, strlen(got) - strlen(end));
        if (whole == 0 && len > 0) {
            assert_int_equal(x.state, MESSAGE_SET_TOO_LARGE);
            assert_int_equal(x.size_needed, len < 12 ? 0 : next);
            assert_int_equal(fault.size_needed, x.size_needed);
            assert_int_equal(fault.err, ZKC_ERR_TOO_LARGE);
            assert_int_equal(x.next_offset, -1);
        } else {
            assert_int_equal(x.state, len ? MESSAGE_SET_OK : MESSAGE_SET_EMPTY);
        }
        free(copy);
    }
    assert_int_equal(entry, 6);
    buf_deinit(&set);
}

static void test_too_large_says_what_is_needed(void **state)
{
    (void)state;
    struct message_fault fault;
    uint8_t huge[20] = {0, 0, 0, 0, 0, 0, 0, 7, 0x7f, 0xff, 0xff, 0xff};
    assert_string_equal(story(bytes_of(huge, sizeof huge), &fault), "too large");
    assert_true(fault.size_needed == (size_t)INT32_MAX + 12);
    assert_int_equal(fault.offset, 7);
    assert_string_equal(fault.reason,
                        "a message of 2147483659 bytes does not fit into the 20 fetched");
    assert_true(message_set_extent(bytes_of(huge, sizeof huge)).size_needed ==
                (size_t)INT32_MAX + 12);
}

/* Kafka 2.x and later fill up with an entry of offset -1 that is never complete. */
static void test_padding_is_no_message(void **state)
{
    (void)state;
    struct buf set;
    static const char padding[] = "\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\x3d";
    buf_init(&set, SET_MAX);
    buf_append(&set, padding, 12);
    buf_append(&set, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
    assert_string_equal(story(buf_bytes(&set), NULL), "end");
    assert_int_equal(message_set_extent(buf_bytes(&set)).state, MESSAGE_SET_EMPTY);
    buf_clear(&set);
    append(&set, 3, "k", "v");
    size_t valid = set.len;
    buf_append(&set, padding, 12);
    assert_string_equal(story(buf_bytes(&set), NULL), "3 k=v; end");
    assert_int_equal(message_set_extent(buf_bytes(&set)).valid_bytes, valid);
    assert_int_equal(message_set_extent(buf_bytes(&set)).state, MESSAGE_SET_OK);
    buf_deinit(&set);
}

/* Every flipped bit of the middle one of three messages is found; its neighbours come. */
static void test_flipped_bits_are_found(void **state)
{
    (void)state;
    struct buf set;
    buf_init(&set, SET_MAX);
    append(&set, 1, "key", "one");
    size_t begin = set.len;
    append(&set, 2, "key", "two");
    size_t end = set.len;
    append(&set, 3, "key", "three");
    for (size_t bit = (begin + AT_CRC) * 8; bit < end * 8; bit++) {
        set.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        struct message_fault fault;
        const char *got = story(buf_bytes(&set), &fault);
        if (strcmp(got, "1 key=one; corrupt; 3 key=three; end") != 0)
            fail_msg("bit %zu: %s", bit, got);
        assert_int_equal(fault.err, ZKC_ERR_CORRUPT);
        assert_int_equal(fault.offset, 2);
        assert_int_equal(fault.position, begin);
        set.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    buf_deinit(&set);
}

/* In a compressed set as well; here the CRC of the wrapper is right. */
static void test_faults_inside_a_wrapper(void **state)
{
    (void)state;
    struct buf set, inner;
    struct message_fault fault;
    buf_init(&set, SET_MAX);
    buf_init(&inner, SET_MAX);
    append(&inner, 1, NULL, "one");
    size_t second = inner.len;
    append(&inner, 2, NULL, "two");
    append(&inner, 3, NULL, "three");
    inner.data[second + AT_CRC] ^= 1;
    append(&set, 0, NULL, "zero");
    size_t wrapper = set.len;
    append_wrapper(&set, 3, COMPRESSION_GZIP, &inner);
    append(&set, 4, NULL, "four");
    assert_string_equal(story(buf_bytes(&set), &fault),
                        "0 null=zero; 1 null=one; corrupt; 3 null=three; 4 null=four; end");
    assert_int_equal(fault.offset, 2);
    assert_int_equal(fault.position, wrapper); /* in the set that was fetched */
    assert_non_null(strstr(fault.reason, "the CRC is "));

    /* A size that cannot be: the rest of the wrapper is lost, what follows it is not. */
    inner.data[second + AT_CRC] ^= 1;
    write_i32(inner.data + second + AT_SIZE, 13);
    set.len = wrapper;
    append_wrapper(&set, 3, COMPRESSION_GZIP, &inner);
    append(&set, 4, NULL, "four");
    assert_string_equal(story(buf_bytes(&set), &fault),
                        "0 null=zero; 1 null=one; corrupt; 4 null=four; end");
    assert_int_equal(fault.position, wrapper);
    assert_string_equal(fault.reason,
                        "the set inside of a compressed message ends with an incomplete entry");
    buf_deinit(&set);
    buf_deinit(&inner);
}

/* One entry between two good ones, broken in a way that its CRC does not tell. */
static const struct broken_case {
    const char *name;
    size_t at;
    const char *bytes;
    size_t len;
    const char *want, *reason;
} broken_cases[] = {
    {"magic 1", AT_MAGIC, "\1", 1, "1 k=v; corrupt; 3 k=v; end",
     "a message of format 1, where only format 0 was asked for"},
    {"magic 2", AT_MAGIC, "\2", 1, "1 k=v; corrupt; 3 k=v; end",
     "a message of format 2, where only format 0 was asked for"},
    {"magic 3", AT_MAGIC, "\3", 1, "1 k=v; corrupt; 3 k=v; end",
     "a message of an unknown format, 3"},
    {"codec 4", AT_ATTRIBUTES, "\4", 1, "1 k=v; corrupt; 3 k=v; end",
     "an unknown compression codec, 4"},
    {"codec 7", AT_ATTRIBUTES, "\7", 1, "1 k=v; corrupt; 3 k=v; end",
     "an unknown compression codec, 7"},
    {"gzip that is none", AT_ATTRIBUTES, "\1", 1, "1 k=v; corrupt; 3 k=v; end",
     "gzip: not a gzip stream"},
    {"snappy that is none", AT_ATTRIBUTES, "\2", 1, "1 k=v; corrupt; 3 k=v; end", "snappy: "},
    {"lz4 that is none", AT_ATTRIBUTES, "\3", 1, "1 k=v; corrupt; 3 k=v; end",
     "lz4: not an lz4 frame"},
    {"other attributes are no codec", AT_ATTRIBUTES, "\xf8", 1, "1 k=v; 2 key=value; 3 k=v; end",
     ""},
    {"key length -2", AT_KEY_LEN, "\xff\xff\xff\xfe", 4, "1 k=v; corrupt; 3 k=v; end",
     "a key of length -2 in 8 bytes"},
    {"key length 2^31-1", AT_KEY_LEN, "\x7f\xff\xff\xff", 4, "1 k=v; corrupt; 3 k=v; end",
     "a key of length 2147483647 in 8 bytes"},
    {"key one too long", AT_KEY_LEN, "\0\0\0\x9", 4, "1 k=v; corrupt; 3 k=v; end",
     "a key of length 9 in 8 bytes"},
    {"value length -2", AT_KEY_LEN + 7, "\xff\xff\xff\xfe", 4, "1 k=v; corrupt; 3 k=v; end",
     "a value of length -2 in 5 bytes"},
    {"value one too long", AT_KEY_LEN + 7, "\0\0\0\6", 4, "1 k=v; corrupt; 3 k=v; end",
     "a value of length 6 in 5 bytes"},
    {"value length 2^31-1", AT_KEY_LEN + 7, "\x7f\xff\xff\xff", 4, "1 k=v; corrupt; 3 k=v; end",
     "a value of length 2147483647 in 5 bytes"},
    {"a shorter value", AT_KEY_LEN + 7, "\0\0\0\4", 4, "1 k=v; 2 key=valu; 3 k=v; end", ""},
    {"a wrapper without value", AT_ATTRIBUTES, "\1\0\0\0\3key\xff\xff\xff\xff", 12,
     "1 k=v; corrupt; 3 k=v; end", "a compressed message without a value"},
    {"size 13", AT_SIZE, "\0\0\0\x0d", 4, "1 k=v; corrupt; end",
     "an entry of size 13, at least 14 expected"},
    {"size 0", AT_SIZE, "\0\0\0\0", 4, "1 k=v; corrupt; end",
     "an entry of size 0, at least 14 expected"},
    {"size -1", AT_SIZE, "\xff\xff\xff\xff", 4, "1 k=v; corrupt; end",
     "an entry of size -1, at least 14 expected"},
    {"size -2^31", AT_SIZE, "\x80\0\0\0", 4, "1 k=v; corrupt; end",
     "an entry of size -2147483648, at least 14 expected"},
    {"size 2^31-1: cannot be told from a cut", AT_SIZE, "\x7f\xff\xff\xff", 4, "1 k=v; partial",
     ""},
};

static void test_broken_entries(void **state)
{
    (void)state;
    for (const struct broken_case *t = broken_cases; t < broken_cases + ARRAY_LEN(broken_cases);
         t++) {
        struct buf set;
        buf_init(&set, SET_MAX);
        append(&set, 1, "k", "v");
        size_t at = set.len;
        append(&set, 2, "key", "value");
        memcpy(set.data + at + t->at, t->bytes, t->len);
        if (t->at != AT_SIZE)
            repair_crc(set.data + at);
        append(&set, 3, "k", "v");
        struct message_fault fault = {0};
        const char *got = story(buf_bytes(&set), &fault);
        if (strcmp(got, t->want) != 0 || strncmp(fault.reason, t->reason, strlen(t->reason)) != 0 ||
            (!*t->reason && *fault.reason))
            fail_msg("%s: %s (%s)", t->name, got, fault.reason);
        if (*fault.reason && (fault.position != at || fault.offset != 2))
            fail_msg("%s: at %zu, offset %" PRId64, t->name, fault.position, fault.offset);
        buf_deinit(&set);
    }
}

static void test_extent_of_broken_sets(void **state)
{
    (void)state;
    struct buf set;
    buf_init(&set, SET_MAX);
    append(&set, 1, "k", "v");
    size_t at = set.len;
    append(&set, 2, "k", "v");
    write_i32(set.data + at + AT_SIZE, 13);
    struct message_set_extent x = message_set_extent(buf_bytes(&set));
    assert_int_equal(x.state, MESSAGE_SET_CORRUPT);
    assert_int_equal(x.valid_bytes, at);
    assert_int_equal(x.next_offset, 2);
    x = message_set_extent(bytes_of(set.data + at, set.len - at));
    assert_int_equal(x.state, MESSAGE_SET_CORRUPT);
    assert_int_equal(x.next_offset, -1);

    /* Offsets that no log has. */
    static const int64_t offsets[] = {-1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
        set.len = at;
        append(&set, offsets[i], "k", "v");
        x = message_set_extent(buf_bytes(&set));
        assert_int_equal(x.state, MESSAGE_SET_CORRUPT);
        assert_int_equal(x.next_offset, 2);
    }
    set.len = at;
    append(&set, INT64_MAX - 1, "k", "v");
    x = message_set_extent(buf_bytes(&set));
    assert_int_equal(x.state, MESSAGE_SET_OK);
    assert_true(x.next_offset == INT64_MAX);
    buf_deinit(&set);
}

/* F16: wrappers 100 deep. */
static void test_nested_sets_have_a_limit(void **state)
{
    (void)state;
    struct buf sets[2];
    buf_init(&sets[0], SET_MAX);
    buf_init(&sets[1], SET_MAX);
    append(&sets[0], 7, "k", "v");
    for (int depth = 1; depth <= 100; depth++) {
        struct buf *inner = &sets[(depth + 1) % 2], *outer = &sets[depth % 2];
        buf_clear(outer);
        append_wrapper(outer, 7, COMPRESSION_GZIP + depth % 3, inner);
        struct message_fault fault;
        const char *got = story(buf_bytes(outer), &fault);
        if (depth <= MESSAGE_DEPTH_MAX) {
            assert_string_equal(got, "7 k=v; end");
        } else {
            assert_string_equal(got, "corrupt; end");
            assert_string_equal(fault.reason, "compressed messages nested deeper than 4");
        }
    }
    buf_deinit(&sets[0]);
    buf_deinit(&sets[1]);
}

static size_t memory_of(const struct message_iter *it)
{
    size_t bytes = 0;
    for (size_t i = 0; i <= MESSAGE_DEPTH_MAX; i++)
        bytes += it->levels[i].data.cap;
    return bytes;
}

/* A bomb of each codec, and one packed twice: memory stays within the limit, what follows comes. */
static void test_bombs(void **state)
{
    (void)state;
    const size_t len = 32 << 20;
    uint8_t *zeros = calloc(1, len);
    struct buf set, inner, twice;
    assert_non_null(zeros);
    buf_init(&inner, 2 * len);
    message_set_append(&inner, 1, BYTES_NULL, bytes_of(zeros, len));
    for (int codec = COMPRESSION_GZIP; codec <= COMPRESSION_LZ4; codec++) {
        for (int again = 0; again <= 1; again++) {
            buf_init(&set, 2 * len);
            append_wrapper(&set, 1, codec, &inner);
            if (again) {
                buf_init(&twice, 2 * len);
                append_wrapper(&twice, 1, COMPRESSION_GZIP, &set);
                buf_deinit(&set);
                set = twice;
            }
            append(&set, 2, NULL, "after");
            struct message_iter it;
            struct message_view m;
            message_iter_init(&it, buf_bytes(&set), &limits);
            assert_int_equal(message_iter_next(&it, &m), MESSAGE_ITER_CORRUPT);
            assert_int_equal(it.fault.err, ZKC_ERR_TOO_LARGE);
            assert_string_equal(it.fault.reason,
                                "decompressed it is larger than the 1048576 bytes allowed");
            assert_true(memory_of(&it) <= limits.decompressed_bytes_max);
            assert_int_equal(message_iter_next(&it, &m), MESSAGE_ITER_MESSAGE);
            assert_int_equal(m.offset, 2);
            message_iter_deinit(&it);
            buf_deinit(&set);
        }
    }
    buf_deinit(&inner);
    free(zeros);
}

/* The limit holds for all levels together. */
static void test_limit_counts_all_levels(void **state)
{
    (void)state;
    static uint8_t value[1000];
    struct buf inner, middle, set;
    buf_init(&inner, SET_MAX);
    buf_init(&middle, SET_MAX);
    buf_init(&set, SET_MAX);
    message_set_append(&inner, 1, BYTES_NULL, bytes_of(value, sizeof value));
    append_wrapper(&middle, 1, COMPRESSION_SNAPPY, &inner);
    append_wrapper(&set, 1, COMPRESSION_SNAPPY, &middle);
    for (int missing = 0; missing <= 1; missing++) {
        struct message_iter it;
        struct message_view m;
        struct message_iter_limits exact = {inner.len + middle.len - (size_t)missing};
        message_iter_init(&it, buf_bytes(&set), &exact);
        assert_int_equal(message_iter_next(&it, &m),
                         missing ? MESSAGE_ITER_CORRUPT : MESSAGE_ITER_MESSAGE);
        assert_int_equal(message_iter_next(&it, &m), MESSAGE_ITER_END);
        message_iter_deinit(&it);
    }
    buf_deinit(&inner);
    buf_deinit(&middle);
    buf_deinit(&set);
}

/* Without memory for a wrapper the iterator stays where it is; the next call has it. */
static void test_allocations_that_fail(void **state)
{
    (void)state;
    struct buf set;
    build_mixed(&set);
    ALLOC_FAIL_EACH(n, failed, {
        struct message_iter it;
        struct message_view m;
        int64_t sum = 0;
        size_t messages = 0;
        message_iter_init(&it, buf_bytes(&set), &limits);
        for (;;) {
            enum message_iter_result r = message_iter_next(&it, &m);
            if (r == MESSAGE_ITER_NOMEM) {
                failed = true;
                continue;
            }
            if (r == MESSAGE_ITER_END)
                break;
            assert_int_equal(r, MESSAGE_ITER_MESSAGE);
            sum += m.offset;
            messages++;
        }
        assert_int_equal(messages, 11);
        assert_int_equal(sum, 0 + 10 + 11 + 20 + 21 + 30 + 31 + 39 + 40 + 41 + 50);
        message_iter_deinit(&it);
    });
    struct buf inner;
    buf_init(&inner, SET_MAX);
    append(&inner, 1, "k", "v");
    for (int codec = COMPRESSION_GZIP; codec <= COMPRESSION_LZ4; codec++) {
        ALLOC_FAIL_EACH(n, failed, {
            struct buf out;
            buf_init(&out, SET_MAX);
            enum zkc_err err = message_set_append_wrapper(&out, 1, codec, buf_bytes(&inner));
            assert_true(err == ZKC_OK || (err == ZKC_ERR_NOMEM && out.len == 0 && !out.failed));
            failed = err != ZKC_OK;
            buf_deinit(&out);
        });
    }
    buf_deinit(&inner);
    buf_deinit(&set);
}

static void test_what_cannot_be_written(void **state)
{
    (void)state;
    struct buf out, inner;
    buf_init(&out, 60);
    buf_init(&inner, 1000);
    append(&inner, 1, "key", "value");
    assert_int_equal(message_set_append_wrapper(&out, 1, COMPRESSION_NONE, buf_bytes(&inner)),
                     ZKC_ERR_INVALID);
    assert_int_equal(
        message_set_append_wrapper(&out, 1, (enum compression_codec)4, buf_bytes(&inner)),
        ZKC_ERR_INVALID);
    assert_int_equal(message_set_append_wrapper(&out, 1, COMPRESSION_SNAPPY, buf_bytes(&inner)),
                     ZKC_ERR_TOO_LARGE);
    assert_int_equal(out.failed, ZKC_OK);
    assert_int_equal(out.len, 0);
    message_set_append(&out, 1, BYTES_NULL, bytes_of(inner.data, 34));
    assert_int_equal(out.failed, ZKC_OK);
    assert_int_equal(out.len, 60);
    message_set_append(&out, 1, BYTES_NULL, BYTES_NULL);
    assert_int_equal(out.failed, ZKC_ERR_TOO_LARGE);
    assert_int_equal(out.len, 60);
    buf_clear(&out);
    message_set_append(&out, 1, BYTES_NULL, bytes_of(inner.data, SIZE_MAX));
    assert_int_equal(out.failed, ZKC_ERR_TOO_LARGE);
    buf_deinit(&out);
    buf_deinit(&inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_messages),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_wrappers),
        cmocka_unit_test(test_views_of_a_wrapper_stay_while_it_lasts),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_too_large_says_what_is_needed),
        cmocka_unit_test(test_padding_is_no_message),
        cmocka_unit_test(test_flipped_bits_are_found),
        cmocka_unit_test(test_faults_inside_a_wrapper),
        cmocka_unit_test(test_broken_entries),
        cmocka_unit_test(test_extent_of_broken_sets),
        cmocka_unit_test(test_nested_sets_have_a_limit),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_limit_counts_all_levels),
        cmocka_unit_test(test_allocations_that_fail),
        cmocka_unit_test(test_what_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
