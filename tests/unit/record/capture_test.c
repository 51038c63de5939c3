/* Lines of captures: what is read of each form, and what is said of those that are wrong. */
#include "study/record/capture.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/zk/op.h"

#define RAW "{\"seq\":1,\"t\":1700000000.5,\"who\":\"m1\",\"c\":2,"

static bool decode(struct capture_decoder *d, const char *text, struct capture_line *line,
                   struct why *why)
{
    return capture_decode(d, bytes_of(text, strlen(text)), line, why);
}

static const struct wrong_case {
    const char *line, *why;
} wrong[] = {
    {"", "expected one JSON object"},
    {"[1]", "expected one JSON object: it is another value"},
    {"{\"seq\":1", "expected one JSON object"},
    {"{}", "\"k\": expected a line of a capture"},
    {"{\"k\":7}", "\"k\": expected a string"},
    {"{\"k\":\"open\"}", "\"t\": expected seconds since 1970"},
    {"{\"k\":\"open\",\"t\":-1}", "\"t\": expected seconds since 1970"},
    {"{\"k\":\"open\",\"t\":\"now\"}", "\"t\": expected seconds since 1970"},
    {"{\"k\":\"open\",\"t\":4102444800}", "\"t\": expected seconds since 1970, before 2100"},
    {"{\"k\":\"open\",\"ns\":-1}", "\"ns\": expected nanoseconds"},
    {"{\"k\":\"open\",\"ns\":-1,\"t\":1}", "\"ns\": expected nanoseconds"},
    {"{\"k\":\"open\",\"ns\":1.5}", "\"ns\": expected an integer"},
    {"{\"k\":\"open\",\"ns\":4102444800000000001}",
     "\"ns\": expected nanoseconds, at most 4102444800000000000"},
    {"{\"k\":\"open\",\"ns\":9223372036854775807}", "\"ns\": expected nanoseconds"},
    {"{\"ms\":4102444800001,\"mark\":\"x\"}", "\"ms\": expected milliseconds"},
    {"{\"k\":\"open\",\"t\":1,\"c\":-1}", "\"c\": expected the number of a connection"},
    {"{\"k\":\"capture\",\"t\":1,\"schema\":\"zkcapture/9\"}", "\"schema\": expected zkcapture/1"},
    {RAW "\"k\":\"conn\",\"s\":\"SX\",\"timeout\":1}", "\"s\": expected a session"},
    {RAW "\"k\":\"conn\",\"s\":\"-1\",\"timeout\":1}", "\"s\": expected a session"},
    {RAW "\"k\":\"conn\",\"s\":\"1\"}", "\"timeout\": expected an integer"},
    {RAW "\"k\":\"req\",\"op\":\"create\"}", "\"path\": expected a string"},
    {RAW "\"k\":\"req\",\"op\":\"create\",\"path\":\"a\"}",
     "\"path\": expected a path that begins"},
    {RAW "\"k\":\"req\",\"op\":\"create\",\"path\":\"/a\",\"data\":{\"hex\":\"0\"}}",
     "\"data\": expected a string, null, or {\"hex\": digits}"},
    {RAW "\"k\":\"req\",\"op\":\"create\",\"path\":\"/a\",\"data\":{\"hex\":\"0g\"}}",
     "\"data\": expected"},
    {RAW "\"k\":\"req\",\"op\":\"multi\"}", "\"ops\": expected a list of operations"},
    {RAW "\"k\":\"req\",\"op\":\"multi\",\"ops\":[{\"op\":\"fly\",\"path\":\"/a\"}]}",
     "\"op\": expected the name of an operation"},
    {RAW "\"k\":\"rsp\",\"op\":\"exists\"}", "\"zxid\": expected an integer"},
    {RAW "\"k\":\"rsp\",\"op\":\"getChildren\",\"zxid\":1,\"children\":[1]}",
     "\"children\": expected a list of strings"},
    {RAW "\"k\":\"rsp\",\"op\":\"exists\",\"zxid\":1,\"stat\":{\"ephemeralOwner\":true}}",
     "\"ephemeralOwner\": expected a session"},
    {"{\"ms\":-1,\"mark\":\"x\"}", "\"ms\": expected milliseconds"},
    {"{\"ms\":1}", "\"op\": expected an operation"},
    {"{\"ms\":1,\"m\":\"m1\",\"delivered\":\"t\",\"from\":0,\"to\":1}",
     "\"delivered\": expected a partition"},
    {"{\"ms\":1,\"m\":\"m1\",\"delivered\":\"t/0\",\"from\":2,\"to\":1}",
     "\"to\": expected an offset"},
    {"{\"ms\":1,\"m\":\"m1\",\"op\":\"connect\",\"session\":\"0\"}", "\"timeout\": expected"},
};

static void test_wrong(void **state)
{
    struct capture_decoder d;
    struct capture_line line;
    struct why why;
    (void)state;
    capture_decoder_init(&d);
    for (const struct wrong_case *c = wrong; c < wrong + ARRAY_LEN(wrong); c++) {
        if (decode(&d, c->line, &line, &why))
            fail_msg("%s was taken", c->line);
        if (strncmp(why.text, c->why, strlen(c->why)) != 0)
            fail_msg("%s: %s; expected %s", c->line, why.text, c->why);
    }
    capture_decoder_deinit(&d);
}

static void read_one(struct capture_decoder *d, const char *text, struct capture_line *line)
{
    struct why why;
    if (!decode(d, text, line, &why))
        fail_msg("%s: %s", text, why.text);
}

static void test_recorded(void **state)
{
    struct capture_decoder d;
    struct capture_line x;
    (void)state;
    capture_decoder_init(&d);
    read_one(&d,
             RAW "\"k\":\"req\",\"xid\":5,\"op\":\"create2\",\"path\":\"/a\",\"data\":"
                 "{\"hex\":\"00ff\"},\"flags\":\"ES\"}",
             &x);
    assert_int_equal(x.kind, CAPTURE_REQUEST);
    assert_int_equal(x.op, CAPTURE_CREATE);
    assert_true(x.is_ephemeral && !x.is_whole && !x.has_ns && x.t_ns == 1700000000500000000);
    assert_true(bytes_equal(x.data, bytes_of("\0\xff", 2)));
    read_one(&d,
             RAW "\"ns\":77,\"k\":\"rsp\",\"op\":\"getData\",\"zxid\":9,\"data\":\"q\",\"stat\":"
                 "{\"ephemeralOwner\":\"1a\"}}",
             &x);
    assert_true(x.kind == CAPTURE_ANSWER && x.has_ns && x.t_ns == 77);
    assert_true(x.has_stat && x.owner == 0x1a && x.zxid == 9 && x.zk_rc == ZK_OK);
    read_one(&d,
             RAW "\"k\":\"rsp\",\"op\":\"multi\",\"zxid\":9,\"results\":[{\"op\":\"check\"},"
                 "{\"op\":\"error\",\"err\":\"BadVersion\"}]}",
             &x);
    assert_int_equal(x.part_count, 2);
    assert_int_equal(x.parts[1].zk_rc, ZK_BAD_VERSION);
    read_one(&d, RAW "\"k\":\"connok\",\"timeout\":0,\"s\":\"0\"}", &x);
    assert_true(x.kind == CAPTURE_CONNECTED && x.is_expired);
    read_one(&d, RAW "\"k\":\"conn\",\"timeout\":6000,\"s\":\"S12\"}", &x);
    assert_true(x.kind == CAPTURE_CONNECT && x.session == 12);
    read_one(&d, RAW "\"k\":\"req\",\"op\":\"ping\"}", &x);
    assert_int_equal(x.kind, CAPTURE_OTHER);
    read_one(&d, RAW "\"k\":\"something new\"}", &x);
    assert_int_equal(x.kind, CAPTURE_OTHER);
    read_one(&d, RAW "\"k\":\"req\",\"op\":\"exists\",\"raw\":\"00\"}", &x);
    assert_int_equal(x.kind, CAPTURE_OTHER);
    capture_decoder_deinit(&d);
}

static void test_scene(void **state)
{
    struct capture_decoder d;
    struct capture_line x;
    (void)state;
    capture_decoder_init(&d);
    read_one(
        &d,
        "{\"ms\":5,\"m\":\"m1\",\"op\":\"getChildren\",\"path\":\"/a\",\"w\":1,\"got\":[\"x\"]}",
        &x);
    assert_true(x.is_whole && x.is_answered && x.has_watch && x.t_ns == 5000000);
    assert_true(x.child_count == 1 && strcmp(x.children[0], "x") == 0);
    read_one(&d,
             "{\"ms\":5,\"m\":\"m1\",\"op\":\"setData\",\"path\":\"/a\",\"data\":\"3\","
             "\"unanswered\":1}",
             &x);
    assert_true(x.kind == CAPTURE_REQUEST && !x.is_answered);
    read_one(&d,
             "{\"ms\":5,\"m\":\"m1\",\"op\":\"connect\",\"timeout\":6000,\"session\":\"S1\","
             "\"got\":\"expired\"}",
             &x);
    assert_true(x.kind == CAPTURE_CONNECT && x.is_expired && x.session == 1);
    read_one(&d,
             "{\"ms\":5,\"m\":\"m1\",\"op\":\"connect\",\"timeout\":6000,\"session\":\"0\","
             "\"got\":\"S2\"}",
             &x);
    assert_true(x.is_answered && x.session == 0 && x.session_given == 2);
    read_one(&d, "{\"ms\":5,\"m\":\"m1\",\"delivered\":\"a.b/12\",\"from\":3,\"to\":4}", &x);
    assert_string_equal(x.p.topic, "a.b");
    assert_true(x.p.partition == 12 && x.first == 3 && x.last == 4);
    read_one(&d, "{\"ms\":5,\"m\":\"m1\",\"app\":\"streams returned\"}", &x);
    assert_int_equal(x.kind, CAPTURE_OTHER);
    capture_decoder_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
