#include "tests/unit/test.h"
#include "tests/unit/vectors.h"
#include "zkconsumer/core/zk/json.h"

static void test_escapes_as_java(void **state)
{
    (void)state;
    struct vectors v = vectors_read("zk/escapes.txt");
    for (size_t i = 0; i < v.count; i++) {
        char *text = v.lines[i];
        char *want = vectors_cut(text, '\t');
        struct buf b;
        vectors_unescape(text);
        vectors_unescape(want);
        buf_init(&b, 1000);
        zk_json_append_string(&b, text);
        size_t len = strlen(want);
        if (b.len != len + 2 || b.data[0] != '"' || b.data[len + 1] != '"' ||
            memcmp(b.data + 1, want, len) != 0)
            fail_msg("%s: Java \"%s\", we %s", text, want, buf_text(&b));
        buf_deinit(&b);
    }
    assert_true(v.count >= 10);
    vectors_free(&v);
}

/* Every text that is written is read back, whatever is in it. */
static void test_reads_back_every_character(void **state)
{
    (void)state;
    for (unsigned first = 1; first < 0x800; first++) {
        char text[4] = {0};
        if (first < 0x80) {
            text[0] = (char)first;
        } else {
            text[0] = (char)(0xC0 | first >> 6);
            text[1] = (char)(0x80 | (first & 0x3F));
        }
        struct buf b;
        struct why why;
        json_t *json;
        buf_init(&b, 100);
        buf_append_text(&b, "{\"k\":");
        zk_json_append_string(&b, text);
        buf_append_text(&b, "}");
        assert_int_equal(zk_json_read_object(buf_bytes(&b), &json, NULL, &why), ZKC_OK);
        assert_string_equal(json_string_value(json_object_get(json, "k")), text);
        json_decref(json);
        buf_deinit(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes_as_java),
        cmocka_unit_test(test_reads_back_every_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
