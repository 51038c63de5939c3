#include "study/check/decode.h"
#include "study/trace/event_json.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/zk/op.h"

static enum trace_line decode(const char *line, struct trace_event *e, struct why *why)
{
    static struct trace_decoder d;
    static bool is_made;
    if (!is_made)
        trace_decoder_init(&d);
    is_made = true;
    if (line)
        return trace_decode(&d, bytes_of_text(line), e, why);
    trace_decoder_deinit(&d);
    is_made = false;
    return TRACE_LINE_BROKEN;
}

/* An event of each type, written and read again, is written the same. */
static void test_round_trip(void **state)
{
    static const char *const lines[] = {
        "{\"ev\":\"run\",\"t\":0,\"src\":\"ctl\",\"seq\":0,\"gs\":0,\"schema\":\"rbtrace/"
        "1\",\"mode\":\"zookeeper:compat\",\"variant\":\"0.8\",\"strategy\":\"range\","
        "\"scenario\":\"S01\",\"seed\":7,\"clock\":\"virtual\",\"level\":2,\"n\":3,\"topics\":{"
        "\"a\":2,\"b\":4},\"P\":6,\"cfg\":{\"zookeeper.session.timeout.ms\":6000,\"rebalance."
        "backoff.ms\":2000,\"rebalance.max.retries\":4,\"auto.commit.interval.ms\":60000}}",
        "{\"ev\":\"end\",\"t\":1,\"src\":\"ctl\",\"seq\":1,\"gs\":1,\"reason\":\"done\",\"events\":"
        "9,\"drops\":0}",
        "{\"ev\":\"phase\",\"t\":1,\"src\":\"ctl\",\"seq\":1,\"gs\":1,\"name\":\"heal\"}",
        "{\"ev\":\"cause\",\"t\":1,\"src\":\"ctl\",\"seq\":1,\"gs\":1,\"id\":4,\"kind\":\"join\","
        "\"who\":\"m3\"}",
        "{\"ev\":\"fault\",\"t\":1,\"src\":\"ctl\",\"seq\":1,\"gs\":1,\"id\":4,\"kind\":\"cut\","
        "\"target\":\"m3\",\"peer\":\"zk*\",\"dir\":\"both\"}",
        "{\"ev\":\"m_start\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"id\":\"g_"
        "c1\","
        "\"topics\":[\"a\",\"b\"],\"strategy\":\"range\",\"observed\":true}",
        "{\"ev\":\"m_exit\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"clean\":true,"
        "\"code\":0}",
        "{\"ev\":\"suspend\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\"}",
        "{\"ev\":\"produce\",\"t\":1,\"src\":\"led\",\"seq\":1,\"gs\":1,\"p\":\"a/"
        "3\",\"o0\":0,\"o1\":9,\"t0\":0,\"t1\":1,\"h\":\"77aa\"}",
        "{\"ev\":\"zk_session\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"what\":"
        "\"open\",\"sid\":\"ff\",\"server\":\"zk1\"}",
        "{\"ev\":\"zk_txn\",\"t\":1,\"src\":\"zk1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"zxid\":9,"
        "\"what\":\"create\",\"cls\":\"owner\",\"path\":\"/consumers/g/owners/a/"
        "3\",\"sid\":\"ff\",\"val\":\"g_c1-0\",\"eph\":\"ff\",\"part\":0,\"n\":1}",
        "{\"ev\":\"zk_role\",\"t\":1,\"src\":\"zk1\",\"seq\":1,\"gs\":1,\"server\":\"zk1\","
        "\"role\":"
        "\"leading\",\"epoch\":2}",
        "{\"ev\":\"zk_state\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"state\":"
        "\"connected\",\"server\":\"zk1\"}",
        "{\"ev\":\"zk_watch\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"path\":\"/"
        "x\",\"type\":\"NodeDeleted\",\"zxid_seen\":4,\"sent\":1}",
        "{\"ev\":\"zk_op\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"op\":"
        "\"getChildren\",\"path\":\"/x\",\"watch\":true,\"rc\":\"NoNode\",\"zxid\":4,\"lat\":7}",
        "{\"ev\":\"rb_trigger\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"why\":"
        "\"watch\",\"cause\":3}",
        "{\"ev\":\"rb_begin\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"rb\":2}",
        "{\"ev\":\"rb_try\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"rb\":2,\"i\":"
        "0}",
        "{\"ev\":\"view\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"rb\":2,\"i\":0,"
        "\"h\":\"1b9d41c07a3e55f0\",\"nm\":1,\"np\":2,\"zx0\":1,\"zx1\":2,\"mlist\":[\"g_c1\"],"
        "\"plist\":[\"a/0\",\"a/1\"]}",
        "{\"ev\":\"decide\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"rb\":2,\"i\":"
        "0,"
        "\"want\":[\"a/3-6\",\"a/8\",\"b/0\"]}",
        "{\"ev\":\"claim\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"rb\":2,\"i\":0,"
        "\"p\":\"a/4\",\"rc\":\"exists\",\"holder\":\"m2\"}",
        "{\"ev\":\"release\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"rb\":2,\"i\":"
        "0,\"p\":\"a/4\",\"rc\":\"ok\",\"foreign\":true}",
        "{\"ev\":\"rb_try_end\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"rb\":2,"
        "\"i\":0,\"ok\":false,\"why\":\"exists\",\"ops\":{\"create\":2,\"getChildren\":6},"
        "\"bytes\":{\"in\":48,\"out\":12},\"ns\":{\"read\":9,\"stop\":0,\"commit\":1,\"release\":2,"
        "\"claim\":3}}",
        "{\"ev\":\"rb_backoff\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"rb\":2,"
        "\"i\":0,\"ns\":2000000000}",
        "{\"ev\":\"rb_end\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"rb\":2,\"ok\":"
        "true,\"tries\":1,\"gave_up\":false,\"told_app\":false}",
        "{\"ev\":\"own_begin\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"p\":\"a/"
        "4\",\"o\":-1}",
        "{\"ev\":\"own_end\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"p\":\"a/"
        "4\",\"why\":\"lost\"}",
        "{\"ev\":\"fetch_start\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"ps\":"
        "[\"a/4\",\"a/5\"]}",
        "{\"ev\":\"offset_read\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"p\":\"a/"
        "4\",\"o\":77,\"zxid\":3}",
        "{\"ev\":\"commit\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"p\":\"a/"
        "4\",\"o\":77,\"rc\":\"ok\",\"prev\":70,\"applied\":3}",
        "{\"ev\":\"deliver\",\"t\":9,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"p\":\"a/"
        "4\",\"o0\":611,\"o1\":640,\"t0\":3,\"t1\":8,\"h\":\"77aa\"}",
        "{\"ev\":\"processed\",\"t\":9,\"src\":\"m1\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"p\":\"a/"
        "4\",\"o\":611,\"claim\":5}",
        "{\"ev\":\"store\",\"t\":9,\"src\":\"b0\",\"seq\":1,\"gs\":1,\"m\":\"m1\",\"p\":\"a/"
        "4\",\"o\":611,\"prev\":600,\"sid\":\"ff\",\"sent\":8,\"awaited\":true}",
        "{\"ev\":\"sample\",\"t\":9,\"src\":\"zk1\",\"seq\":1,\"gs\":1,\"role\":\"zk\",\"watches\":"
        "3,\"q\":1,\"ops\":{\"create\":2}}",
        "{\"ev\":\"viol\",\"t\":9,\"src\":\"check\",\"seq\":1,\"gs\":1,\"inv\":\"C3\",\"sev\":"
        "\"must\",\"detail\":\"x\",\"refs\":[4,7]}",
    };
    (void)state;
    struct buf out;
    buf_init(&out, 1 << 16);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct trace_event e;
        struct why why;
        if (decode(lines[i], &e, &why) != TRACE_LINE_EVENT)
            fail_msg("%s: %s", lines[i], why.text);
        buf_clear(&out);
        trace_event_json(&e, &out);
        const char *text = buf_text(&out);
        assert_non_null(text);
        if (strncmp(text, lines[i], strlen(lines[i])) != 0 || strlen(text) != strlen(lines[i]) + 1)
            fail_msg("%s came back as %s", lines[i], text);
    }
    buf_deinit(&out);
    decode(NULL, NULL, NULL);
}

#define COMMON "\"t\":1,\"src\":\"m1\",\"seq\":1,\"m\":\"m1\""

static const struct {
    const char *line, *says;
} refused[] = {
    {"", "one JSON object"},
    {"7", "one JSON object"},
    {"[1]", "one JSON object"},
    {"{\"ev\":\"claim\"", "one JSON object"},
    {"{\"t\":1,\"src\":\"m1\",\"seq\":1}", "\"ev\": expected a string"},
    {"{\"ev\":\"rb_begin\",\"src\":\"m1\",\"seq\":1}", "\"t\": expected"},
    {"{\"ev\":\"rb_begin\",\"t\":-1,\"src\":\"m1\",\"seq\":1}", "\"t\": expected"},
    {"{\"ev\":\"rb_begin\",\"t\":1.5,\"src\":\"m1\",\"seq\":1}", "\"t\": expected an integer"},
    {"{\"ev\":\"rb_begin\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"rb\":1}", "\"m\": expected"},
    {"{\"ev\":\"rb_begin\"," COMMON "}", "rb_begin: \"rb\": expected"},
    {"{\"ev\":\"rb_begin\"," COMMON ",\"rb\":4294967296}", "\"rb\": expected a number below"},
    {"{\"ev\":\"own_end\"," COMMON ",\"p\":\"a\",\"why\":\"x\"}", "\"p\": expected a partition"},
    {"{\"ev\":\"own_end\"," COMMON ",\"p\":\"/1\",\"why\":\"x\"}", "\"p\": expected a partition"},
    {"{\"ev\":\"own_end\"," COMMON ",\"p\":\"a/-1\",\"why\":\"x\"}", "\"p\": expected"},
    {"{\"ev\":\"own_end\"," COMMON ",\"p\":\"a/1-2\",\"why\":\"x\"}", "\"p\": expected"},
    {"{\"ev\":\"own_end\"," COMMON ",\"p\":\"a/2147483648\",\"why\":\"x\"}", "\"p\": expected"},
    {"{\"ev\":\"decide\"," COMMON ",\"rb\":1,\"i\":0,\"want\":[\"a/4-2\"]}", "\"want\": expected"},
    {"{\"ev\":\"decide\"," COMMON ",\"rb\":1,\"i\":0,\"want\":[\"a/0-2147483647\"]}", "million"},
    {"{\"ev\":\"decide\"," COMMON ",\"rb\":1,\"i\":0,\"want\":[7]}", "\"want\": expected"},
    {"{\"ev\":\"view\"," COMMON ",\"rb\":1,\"i\":0,\"h\":\"zz\",\"nm\":0,\"np\":0}", "hexadecimal"},
    {"{\"ev\":\"view\"," COMMON ",\"rb\":1,\"i\":0,\"h\":\"1\",\"nm\":2,\"np\":0,\"mlist\":[]}",
     "as many members"},
    {"{\"ev\":\"deliver\"," COMMON ",\"p\":\"a/1\",\"o0\":5,\"o1\":4,\"t0\":1,\"t1\":1}", "\"o1\""},
    {"{\"ev\":\"deliver\"," COMMON ",\"p\":\"a/1\",\"o0\":5,\"o1\":5,\"t0\":2,\"t1\":1}", "\"t1\""},
    {"{\"ev\":\"rb_end\"," COMMON ",\"rb\":1,\"ok\":1}", "\"ok\": expected true or false"},
    {"{\"ev\":\"zk_op\"," COMMON ",\"op\":\"fly\",\"path\":\"/\",\"rc\":\"Ok\"}", "\"op\""},
    {"{\"ev\":\"run\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"schema\":\"rbtrace/2\"}", "rbtrace/1"},
    {"{\"ev\":\"run\",\"t\":1,\"src\":\"m1\",\"seq\":1,\"schema\":\"rbtrace/"
     "1\",\"zookeeper.claim\":1}",
     "\"zookeeper.claim\": expected a text, true or false"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct trace_event e;
        struct why why;
        if (decode(refused[i].line, &e, &why) != TRACE_LINE_BROKEN)
            fail_msg("%s is taken", refused[i].line);
        if (!strstr(why.text, refused[i].says))
            fail_msg("%s: %s, expected to read %s", refused[i].line, why.text, refused[i].says);
    }
    decode(NULL, NULL, NULL);
}

/* What later versions add is no error. */
/* As members write them: true and false for switches that are one of these. */
static void test_switches(void **state)
{
    struct trace_event e;
    struct why why;
    (void)state;
    assert_int_equal(decode("{\"ev\":\"run\",\"t\":1,\"src\":\"m1\",\"seq\":0,\"schema\":"
                            "\"rbtrace/1\",\"zookeeper.watch.brokers\":false,"
                            "\"zookeeper.claim\":\"multi\",\"source\":\"capture\"}",
                            &e, &why),
                     TRACE_LINE_EVENT);
    assert_int_equal(e.run.switch_count, 2);
    assert_string_equal(e.run.switches[0].value, "false");
    assert_string_equal(e.run.switches[1].value, "multi");
    assert_true(e.run.is_capture);
    decode(NULL, NULL, NULL);
}

static void test_unknown(void **state)
{
    (void)state;
    struct trace_event e;
    struct why why;
    assert_int_equal(decode("{\"ev\":\"co_req\"," COMMON "}", &e, &why), TRACE_LINE_UNKNOWN);
    assert_int_equal(e.seq, 1);
    assert_int_equal(decode("{\"ev\":\"suspend\"," COMMON ",\"more\":{}}", &e, &why),
                     TRACE_LINE_EVENT);
    assert_true(e.gs == UINT64_MAX);
    assert_int_equal(decode("{\"ev\":\"fetch_stop\"," COMMON ",\"ps\":\"*\"}", &e, &why),
                     TRACE_LINE_EVENT);
    assert_null(e.fetch.ps);
    decode(NULL, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
