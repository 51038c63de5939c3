#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/cli/picks.h"

static const char *written(const struct picks *p, char *out, size_t size)
{
    size_t len = 0;
    out[0] = 0;
    for (size_t i = 0; i < p->count; i++)
        len += (size_t)snprintf(out + len, size - len, "%s,%d,%lld\n", p->list[i].topic,
                                p->list[i].partition, (long long)p->list[i].offset);
    return out;
}

static void test_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *out; /* what is read; else what is wrong */
        enum zkc_err err;
    } cases[] = {
        {"", "", ZKC_OK},
        {"\n \n", "", ZKC_OK},
        {"orders,1,7\norders,0,5\nclicks,0,3\n", "clicks,0,3\norders,0,5\norders,1,7\n", ZKC_OK},
        {" orders , 10 , 7 \r\n\r\norders,9,7", "orders,9,7\norders,10,7\n", ZKC_OK},
        {"o,2147483647,9223372036854775807", "o,2147483647,9223372036854775807\n", ZKC_OK},
        {"orders,1,7\nclicks,0,3\norders,1,8", "partition 1 of topic orders is given twice",
         ZKC_ERR_CONFIG},
        {"\norders,1", "line 2: expected topic,partition,offset", ZKC_ERR_CONFIG},
        {"orders,1,", "line 1: expected topic,partition,offset", ZKC_ERR_CONFIG},
        {"orders,1,2,3", "line 1: expected topic,partition,offset", ZKC_ERR_CONFIG},
        {"orders,-1,2", "line 1: expected topic,partition,offset", ZKC_ERR_CONFIG},
        {"orders,1,-2", "line 1: expected topic,partition,offset", ZKC_ERR_CONFIG},
        {"orders,2147483648,2", "line 1: expected topic,partition,offset", ZKC_ERR_CONFIG},
        {"orders,x,2", "line 1: expected topic,partition,offset", ZKC_ERR_CONFIG},
        {"orders,1,11111111111111111111111111111111111", "line 1: expected topic,partition,offset",
         ZKC_ERR_CONFIG},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct picks p;
        struct why why;
        char text[256];
        picks_init(&p);
        enum zkc_err err = picks_add_lines(&p, bytes_of_text(cases[i].text), &why);
        assert_string_equal(err ? why.text : written(&p, text, sizeof text), cases[i].out);
        assert_int_equal(err, cases[i].err);
        picks_deinit(&p);
    }
    struct picks p;
    struct why why;
    picks_init(&p);
    assert_int_equal(picks_add_lines(&p, bytes_of_text("a/b,1,2"), &why), ZKC_ERR_CONFIG);
    assert_non_null(strstr(why.text, "line 1: "));
    picks_deinit(&p);
}

static void test_topics(void **state)
{
    (void)state;
    struct picks p;
    struct why why;
    char text[256];
    size_t count;
    picks_init(&p);
    assert_int_equal(picks_add_topic(&p, "orders", "2,0", &why), ZKC_OK);
    assert_int_equal(picks_add_topic(&p, "clicks", "1-2", &why), ZKC_OK);
    assert_string_equal(written(&p, text, sizeof text),
                        "clicks,1,-1\nclicks,2,-1\norders,0,-1\norders,2,-1\n");
    assert_int_equal(picks_of(&p, "orders", &count)->partition, 0);
    assert_int_equal(count, 2);
    assert_null(picks_of(&p, "order", &count));
    assert_int_equal(count, 0);
    assert_non_null(picks_find(&p, "clicks", 2));
    assert_null(picks_find(&p, "clicks", 0));
    assert_int_equal(picks_add_topic(&p, "orders", "2", &why), ZKC_ERR_CONFIG);
    assert_int_equal(picks_add_topic(&p, "x", "", &why), ZKC_ERR_CONFIG);
    assert_int_equal(picks_add_topic(&p, "x y", "1", &why), ZKC_ERR_CONFIG);
    picks_deinit(&p);
    picks_init(&p);
    assert_null(picks_find(&p, "clicks", 0));
    assert_null(picks_of(&p, "clicks", &count));
    picks_deinit(&p);
}

static enum zkc_err read_lines(const void *input)
{
    struct picks p;
    struct why why;
    picks_init(&p);
    enum zkc_err err = picks_add_lines(&p, bytes_of_text(input), &why);
    picks_deinit(&p);
    return err;
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    alloc_fail_each(read_lines, "orders,1,7\nclicks,0,3\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_topics),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
