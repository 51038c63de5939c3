#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/wire/frame.h"

static const struct frame_case {
    const char *name;
    const char *arrived;
    size_t len;
    enum wire_frame_result want;
    int32_t size;
} cases[] = {
    {"nothing", "", 0, WIRE_FRAME_PARTIAL, 0},
    {"half a size", "\0\0\0", 3, WIRE_FRAME_PARTIAL, 0},
    {"only a size", "\0\0\0\2", 4, WIRE_FRAME_PARTIAL, 2},
    {"a byte missing", "\0\0\0\2a", 5, WIRE_FRAME_PARTIAL, 2},
    {"whole", "\0\0\0\2ab", 6, WIRE_FRAME_COMPLETE, 2},
    {"whole, and more", "\0\0\0\2abcd", 8, WIRE_FRAME_COMPLETE, 2},
    {"size 0", "\0\0\0\0ab", 6, WIRE_FRAME_INVALID, 0},
    {"size -1", "\xff\xff\xff\xff", 4, WIRE_FRAME_INVALID, -1},
    {"size -2^31", "\x80\0\0\0", 4, WIRE_FRAME_INVALID, INT32_MIN},
    {"size 2^31-1", "\x7f\xff\xff\xff", 4, WIRE_FRAME_INVALID, INT32_MAX},
    {"the maximum", "\0\0\3\xe8", 4, WIRE_FRAME_PARTIAL, 1000},
    {"one more", "\0\0\3\xe9", 4, WIRE_FRAME_INVALID, 1001},
};

static void test_frames(void **state)
{
    (void)state;
    for (const struct frame_case *t = cases; t < cases + ARRAY_LEN(cases); t++) {
        int32_t size = 77;
        struct bytes contents = BYTES_NULL;
        enum wire_frame_result got =
            wire_frame_next(bytes_of(t->arrived, t->len), 1000, &size, &contents);
        if (got != t->want || size != t->size)
            fail_msg("%s: result %d, size %" PRId32, t->name, got, size);
        if (got == WIRE_FRAME_COMPLETE && !bytes_equal(contents, bytes_of(t->arrived + 4, 2)))
            fail_msg("%s: wrong contents", t->name);
    }
}

static void test_writes_frames(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 100);
    buf_append(&out, "before", 6);
    size_t mark = wire_frame_begin(&out);
    buf_append(&out, "abc", 3);
    wire_frame_end(&out, mark);
    mark = wire_frame_begin(&out);
    wire_frame_end(&out, mark);
    assert_true(bytes_equal(buf_bytes(&out), bytes_of("before\0\0\0\3abc\0\0\0\0", 17)));
    buf_deinit(&out);

    buf_init(&out, 5); /* fails in the middle */
    mark = wire_frame_begin(&out);
    buf_append(&out, "abc", 3);
    wire_frame_end(&out, mark);
    assert_int_equal(out.failed, ZKC_ERR_TOO_LARGE);
    buf_deinit(&out);

    ALLOC_FAIL_EACH(n, failed, {
        buf_init(&out, 100);
        mark = wire_frame_begin(&out);
        wire_frame_end(&out, mark);
        failed = out.failed == ZKC_ERR_NOMEM;
        buf_deinit(&out);
    });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_writes_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
