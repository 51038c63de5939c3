#include "study/run/repro.h"
#include "tests/unit/run/scenarios.h"
#include "tests/unit/test.h"

static void test_reads_what_it_writes(void **state)
{
    (void)state;
    struct scenario *s =
        parse_scenario("members = 3\nabout = a \"quoted\" \xC3\xA9\nfault.1 = at 1s crash m1\n");
    struct run_result result = {.violated = CHECK_Z5,
                                .violated_ns = 31200000001,
                                .detail = "m1 deletes \"t/0\"",
                                .hash = 0xfedcba9876543210};
    struct repro r;
    struct why why;
    struct buf out, before, after;
    buf_init(&out, REPRO_BYTES_MAX);
    buf_init(&before, REPRO_BYTES_MAX);
    buf_init(&after, REPRO_BYTES_MAX);
    repro_write(s, 17, &result, &out);
    assert_non_null(strstr(buf_text(&out), "\"detail\":\"m1 deletes \\\"t/0\\\"\""));
    assert_int_equal(repro_parse("r", buf_bytes(&out), &r, &why), ZKC_OK);
    assert_int_equal(r.seed, 17);
    assert_int_equal(r.violated, CHECK_Z5);
    assert_int_equal(r.violated_ns, 31200000001);
    assert_true(r.hash == 0xfedcba9876543210);
    scenario_write(s, &before);
    scenario_write(r.scenario, &after);
    assert_string_equal(buf_text(&before), buf_text(&after));
    repro_deinit(&r);
    repro_deinit(&r); /* twice is allowed */
    buf_deinit(&out);
    buf_deinit(&before);
    buf_deinit(&after);
    scenario_free(s);
}

#define HEAD "{\"format\":\"zkstudy-repro/1\",\"seed\":1,\"violated\":\"Z5\",\"violated_ns\":5,"
#define HASH "\"hash\":\"0123456789abcdef\","

static const struct {
    const char *text, *says;
} refused[] = {
    {"", "r:1: expected JSON"},
    {"{\n\"format\":", "r:2: expected JSON"},
    {"[]", "r: expected \"format\""},
    {"{}", "r: expected \"format\""},
    {"{\"format\":\"zkstudy-repro/2\"}", "r: expected \"format\": \"zkstudy-repro/1\""},
    {"{\"format\":\"zkstudy-repro/1\"}", "r: expected \"seed\""},
    {"{\"format\":\"zkstudy-repro/1\",\"seed\":-1}", "r: expected \"seed\""},
    {"{\"format\":\"zkstudy-repro/1\",\"seed\":1}", "r: expected \"violated\""},
    {"{\"format\":\"zkstudy-repro/1\",\"seed\":1,\"violated\":\"dual_ps\"}",
     "r: expected \"violated\", the name of a MUST"},
    {"{\"format\":\"zkstudy-repro/1\",\"seed\":1,\"violated\":\"Z5\"}",
     "r: expected \"violated_ns\""},
    {HEAD "\"hash\":\"xyz\"}", "r: expected \"hash\""},
    {HEAD "\"hash\":\"0123456789abcdef0\"}", "r: expected \"hash\""},
    {HEAD HASH "\"seed\":2}", "expected JSON: duplicate"},
    {HEAD HASH "\"scenario\":\"members = 2\"}", "r: expected \"scenario\", a list of lines"},
    {HEAD HASH "\"scenario\":[1]}", "r: expected \"scenario\", a list of lines"},
    {HEAD HASH "\"scenario\":[\"late = 1\",\"membrs = 2\"]}", "r:2: unknown key \"membrs\""},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct repro r;
        struct why why;
        assert_int_equal(repro_parse("r", bytes_of_text(refused[i].text), &r, &why),
                         ZKC_ERR_CONFIG);
        if (!strstr(why.text, refused[i].says))
            fail_msg("%s: %s", refused[i].text, why.text);
    }
    struct repro r;
    struct why why;
    assert_int_equal(repro_read("/no/such/file", &r, &why), ZKC_ERR_SYSTEM);
    assert_non_null(strstr(why.text, "/no/such/file: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_it_writes),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
