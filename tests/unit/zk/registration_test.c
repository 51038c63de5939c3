#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "tests/unit/vectors.h"
#include "tests/unit/zk/plain.h"
#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/core/zk/registration.h"

/* ---- writing ---- */

static const struct {
    const char *name;
    struct zk_registration registration;
    const char *want; /* as Kafka 0.8.2.2 wrote it (seen), but for the strategy */
} written[] = {
    {"one topic",
     {.subscriptions = &(struct zk_subscription){"t", 1},
      .subscription_count = 1,
      .timestamp = "1424990000456"},
     "{\"version\":1,\"subscription\":{\"t\":1},\"pattern\":\"static\",\"timestamp\":"
     "\"1424990000456\"}"},
    {"two topics, in the order given",
     {.subscriptions = (struct zk_subscription[]){{"b", 2}, {"a", 1}},
      .subscription_count = 2,
      .timestamp = "1"},
     "{\"version\":1,\"subscription\":{\"b\":2,\"a\":1},\"pattern\":\"static\",\"timestamp\":"
     "\"1\"}"},
    {"no topic",
     {.timestamp = "1"},
     "{\"version\":1,\"subscription\":{},\"pattern\":\"static\",\"timestamp\":\"1\"}"},
    {"white list",
     {.pattern = ZK_PATTERN_WHITE_LIST,
      .subscriptions = &(struct zk_subscription){"m\\..*", 2},
      .subscription_count = 1,
      .timestamp = "1"},
     "{\"version\":1,\"subscription\":{\"m\\\\..*\":2},\"pattern\":\"white_list\",\"timestamp\":"
     "\"1\"}"},
    {"black list",
     {.pattern = ZK_PATTERN_BLACK_LIST,
      .subscriptions = &(struct zk_subscription){"a/b.*", 1},
      .subscription_count = 1,
      .timestamp = "1"},
     "{\"version\":1,\"subscription\":{\"a\\/"
     "b.*\":1},\"pattern\":\"black_list\",\"timestamp\":\"1\"}"},
    {"strategy, no timestamp",
     {.subscriptions = &(struct zk_subscription){"t", 1},
      .subscription_count = 1,
      .strategy = "ceil"},
     "{\"version\":1,\"subscription\":{\"t\":1},\"pattern\":\"static\",\"strategy\":\"ceil\"}"},
};

static void test_writes_as_java(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(written); i++) {
        struct buf b;
        buf_init(&b, 1000);
        zk_registration_write(&b, &written[i].registration);
        if (strcmp(buf_text(&b), written[i].want) != 0)
            fail_msg("%s: %s", written[i].name, buf_text(&b));
        buf_deinit(&b);
    }
}

static void test_reads_what_it_writes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(written); i++) {
        struct zk_registration r;
        struct why java, why;
        struct buf b;
        assert_int_equal(zk_registration_read(bytes_of_text(written[i].want), &r, &java, &why),
                         ZKC_OK);
        assert_string_equal(java.text, "");
        assert_string_equal(why.text, "");
        buf_init(&b, 1000);
        zk_registration_write(&b, &r);
        assert_string_equal(buf_text(&b), written[i].want);
        buf_deinit(&b);
        zk_registration_deinit(&r);
    }
}

/* ---- reading as Java does ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Bytes as the vectors write them, for one topic or regular expression. */
static void append_escaped(struct buf *out, const char *text)
{
    for (const uint8_t *at = (const uint8_t *)text; *at; at++) {
        if (*at > 0x20 && *at < 0x7f && *at != '\\')
            buf_append_byte(out, *at);
        else
            buf_appendf(out, "\\x%02x", *at);
    }
}

/* What a vector's second column says: "ok PATTERN topic:streams ..." sorted by topic. */
static void describe(const struct zk_registration *r, struct buf *out)
{
    char *topics[64];
    assert_true(r->subscription_count <= 64);
    for (size_t i = 0; i < r->subscription_count; i++) {
        struct buf b;
        buf_init(&b, 10000);
        append_escaped(&b, r->subscriptions[i].topic);
        buf_appendf(&b, ":%d", r->subscriptions[i].streams);
        topics[i] = strdup(buf_text(&b));
        buf_deinit(&b);
    }
    qsort(topics, r->subscription_count, sizeof *topics, by_text);
    buf_appendf(out, "ok %s", zk_pattern_name(r->pattern));
    for (size_t i = 0; i < r->subscription_count; i++) {
        buf_appendf(out, " %s%s", r->pattern == ZK_PATTERN_STATIC ? "" : "raw=", topics[i]);
        free(topics[i]);
    }
}

/* Text in which C strings hold what Java's do: a character 0 as U+FFFD; and where Java makes one
 * U+FFFD of several bad bytes and we one of each, in both cases one. Owned. */
static char *comparable(const char *text)
{
    static const char replacement[] = "\\xef\\xbf\\xbd";
    const size_t len = sizeof replacement - 1;
    char *out = calloc(1, 3 * strlen(text) + 1);
    for (char *to = out; *text;) {
        bool is_zero = strncmp(text, "\\x00", 4) == 0;
        if (!is_zero && strncmp(text, replacement, len) != 0) {
            *to++ = *text++;
            continue;
        }
        text += is_zero ? 4 : len;
        if ((size_t)(to - out) >= len && strncmp(to - len, replacement, len) == 0)
            continue;
        memcpy(to, replacement, len);
        to += len;
    }
    return out;
}

/* Whatever Java reads, we read, and the same out of it. What it cannot read, we cannot, or we say
 * so; but for regular expressions that do not compile, which is not the registration's matter. */
static void test_reads_as_java(void **state)
{
    (void)state;
    struct vectors v = vectors_read("zk/registrations.txt");
    size_t read = 0, failed = 0;
    for (size_t i = 0; i < v.count; i++) {
        char *data = v.lines[i];
        char *want = vectors_cut(data, '\t');
        size_t len = vectors_unescape(data);
        struct zk_registration r;
        struct why java, why;
        bool java_reads = strncmp(want, "ok ", 3) == 0;
        enum zkc_err err = zk_registration_read(bytes_of(data, len), &r, &java, &why);
        if (java_reads == (err || java.text[0]) && strcmp(want, "fails RuntimeException") != 0)
            fail_msg("line %zu, %s: Java %s; %s (%s) (%s)", i, data, want, zkc_err_name(err),
                     java.text, why.text);
        assert_int_equal(err != ZKC_OK, why.text[0] != '\0');
        failed += !java_reads;
        if (err)
            continue;
        if (java_reads) {
            struct buf got;
            buf_init(&got, 10000);
            describe(&r, &got);
            char *ours = comparable(buf_text(&got)), *theirs = comparable(want);
            if (strcmp(ours, theirs) != 0)
                fail_msg("line %zu, %s: Java %s; we %s", i, data, theirs, ours);
            free(ours);
            free(theirs);
            buf_deinit(&got);
            read++;
        }
        zk_registration_deinit(&r);
    }
    assert_true(read > 50 && failed > 50);
    vectors_free(&v);
}

/* ---- what only we read, and what is refused ---- */

static const struct {
    const char *name;
    const char *data;
    const char *timestamp; /* NULL: none */
    const char *strategy;  /* NULL: none */
    const char *java;      /* beginning of the reason; "": Java reads it too */
} lenient[] = {
    {"timestamp as a number",
     "{\"version\":1,\"subscription\":{\"t\":1},\"pattern\":\"static\",\"timestamp\":"
     "1424990000456}",
     "1424990000456", NULL, "number 1424990000456 is no 32-bit integer"},
    {"version as a real",
     "{\"version\":1.5,\"subscription\":{\"t\":1},\"pattern\":\"static\",\"timestamp\":\"7\"}", "7",
     NULL, "number 1.5 is no 32-bit integer"},
    {"line feed in the topic", "{\"subscription\":{\"a\nb\":1},\"pattern\":\"static\"}", NULL, NULL,
     "control character 0x0a in a string"},
    {"the first thing counts",
     "{\"a\":-2147483649,\"b\":1.5,\"subscription\":{\"t\":1},\"pattern\":\"static\"}", NULL, NULL,
     "number -2147483649 is no"},
    {"odd timestamp and strategy",
     "{\"subscription\":{},\"pattern\":\"static\",\"timestamp\":[],\"strategy\":{}}", NULL, NULL,
     ""},
    {"strategy", "{\"strategy\":\"ceil,range\",\"subscription\":{},\"pattern\":\"static\"}", NULL,
     "ceil,range", ""},
};

static void assert_text(const char *name, const char *got, const char *want)
{
    if (!got != !want || (got && strcmp(got, want) != 0))
        fail_msg("%s: %s, not %s", name, got ? got : "NULL", want ? want : "NULL");
}

static void test_reads_more_than_java(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lenient); i++) {
        struct zk_registration r;
        struct why java, why;
        enum zkc_err err = zk_registration_read(bytes_of_text(lenient[i].data), &r, &java, &why);
        if (err || strncmp(java.text, lenient[i].java, strlen(lenient[i].java)) != 0 ||
            (!lenient[i].java[0] && java.text[0]))
            fail_msg("%s: %s (%s) (%s)", lenient[i].name, zkc_err_name(err), java.text, why.text);
        assert_text(lenient[i].name, r.timestamp, lenient[i].timestamp);
        assert_text(lenient[i].name, r.strategy, lenient[i].strategy);
        zk_registration_deinit(&r);
    }
}

static const struct {
    const char *data;
    const char *why; /* beginning */
} refused[] = {
    {"", "no data"},
    {"mytopic", "no JSON that can be read"},
    {"{}", "\"subscription\" is missing"},
    {"[]", "a JSON array"},
    {"{\"subscription\":{\"t\":1}}", "\"pattern\" is missing"},
    {"{\"subscription\":{\"t\":1},\"pattern\":5}", "\"pattern\" is no string"},
    {"{\"subscription\":5,\"pattern\":\"static\"}", "\"subscription\" is no object"},
    {"{\"subscription\":{\"t\":0},\"pattern\":\"static\"}", "stream count of \"t\""},
    {"{\"subscription\":{\"t\":\"1\"},\"pattern\":\"static\"}", "stream count of \"t\""},
    {"{\"subscription\":{\"t\":1.0},\"pattern\":\"static\"}", "stream count of \"t\""},
    {"{\"subscription\":{\"t\":1,\"u\":-3},\"pattern\":\"static\"}", "stream count of \"u\""},
    {"{\"subscription\":{\"t\":65537},\"pattern\":\"static\"}",
     "stream count of \"t\": expected an integer in 1 .. 65536"},
    {"{\"subscription\":{\"t\":99999999999999999999},\"pattern\":\"static\"}", "no JSON"},
};

static void test_refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct zk_registration r;
        struct why java, why;
        enum zkc_err err = zk_registration_read(bytes_of_text(refused[i].data), &r, &java, &why);
        if (err != ZKC_ERR_CORRUPT ||
            strncmp(why.text, refused[i].why, strlen(refused[i].why)) != 0)
            fail_msg("%s: %s (%s)", refused[i].data, zkc_err_name(err), why.text);
    }
    struct zk_registration r;
    struct why java, why;
    assert_int_equal(zk_registration_read(BYTES_NULL, &r, &java, &why), ZKC_ERR_CORRUPT);
    assert_string_equal(why.text, "no data; expected a JSON object");
}

/* F17 of the faults seen elsewhere: 300 KB of data in a node; and the limit itself. */
static void test_large_data(void **state)
{
    (void)state;
    size_t len = ZK_DATA_BYTES_MAX + 1;
    char *data = malloc(len);
    struct zk_registration r;
    struct why java, why;
    memset(data, ' ', len);
    static const char json[] = "{\"subscription\":{},\"pattern\":\"static\"}";
    memcpy(data + 300000, json, sizeof json - 1);
    assert_int_equal(zk_registration_read(bytes_of(data, len - 1), &r, &java, &why), ZKC_OK);
    zk_registration_deinit(&r);
    assert_int_equal(zk_registration_read(bytes_of(data, len), &r, &java, &why), ZKC_ERR_TOO_LARGE);
    assert_string_equal(why.text, "1048577 bytes of data; expected at most 1048576");
    memset(data, '[', len - 1); /* as deep as it can be */
    assert_int_equal(zk_registration_read(bytes_of(data, len - 1), &r, &java, &why),
                     ZKC_ERR_CORRUPT);
    memset(data, '\x01', len - 1); /* every byte grows to six */
    data[0] = '"';
    assert_int_equal(zk_registration_read(bytes_of(data, len - 1), &r, &java, &why),
                     ZKC_ERR_CORRUPT);
    free(data);
}

static const char rich[] = "{\"version\":- 1,\"subscription\":{\"\\w\\u0041\\ud83d\\ude00\":2,"
                           "\"\xC3\xA9\\\\\":1},\"pattern\":\"static\",\"timestamp\":12345678901,"
                           "\"strategy\":\"ceil\"}";

/* Cut short at any byte it is refused. */
static void test_cut_anywhere(void **state)
{
    (void)state;
    for (size_t len = 0; len < sizeof rich - 1; len++) {
        char *data = malloc(len + !len); /* of its exact size: a sanitizer sees reads behind it */
        memcpy(data, rich, len);
        struct zk_registration r;
        struct why java, why;
        assert_int_equal(zk_registration_read(bytes_of(data, len), &r, &java, &why),
                         ZKC_ERR_CORRUPT);
        assert_true(why.text[0]);
        free(data);
    }
}

/* ---- plain and others ---- */

/* All that was read, or why it was not. */
static void outcome(struct bytes data, struct buf *out)
{
    struct zk_registration r;
    struct why java, why;
    enum zkc_err err = zk_registration_read(data, &r, &java, &why);
    if (err) {
        buf_appendf(out, "%s", zkc_err_name(err));
        return;
    }
    zk_registration_write(out, &r);
    buf_appendf(out, " %d %s", (int)r.pattern, java.text[0] ? "not Java" : "");
    zk_registration_deinit(&r);
}

static const char plain[] = "{\"version\":1,\"subscription\":{\"a\":10,\"b.c\":2},\"pattern\":"
                            "\"static\",\"timestamp\":\"1424\",\"strategy\":\"ceil\"}";

static void test_plain_is_read_as_others(void **state)
{
    (void)state;
    expect_same_when_changed(plain, outcome);
    struct buf many; /* more subscriptions than are read straight; the last one comes twice */
    buf_init(&many, 10000);
    for (int n = 14; n < 20; n++)
        for (int last = n - 1; last <= n; last++) {
            buf_clear(&many);
            buf_append_text(&many, "{\"version\":1,\"subscription\":{");
            for (int i = 0; i < n; i++)
                buf_appendf(&many, "%s\"t%d\":%d", i ? "," : "", i, i + 1);
            buf_appendf(&many, ",\"t%d\":7},\"pattern\":\"static\"}", last);
            expect_same_behind_a_blank((const char *)many.data, many.len, outcome);
        }
    buf_deinit(&many);
}

static enum zkc_err read_once(const void *data)
{
    struct zk_registration r;
    struct why java, why;
    enum zkc_err err = zk_registration_read(bytes_of_text(data), &r, &java, &why);
    if (err)
        return err;
    assert_int_equal(r.subscription_count, 2);
    assert_string_equal(r.strategy, "ceil");
    zk_registration_deinit(&r);
    return ZKC_OK;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    alloc_fail_each(read_once, rich);
    alloc_fail_each(read_once, plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes_as_java), cmocka_unit_test(test_reads_what_it_writes),
        cmocka_unit_test(test_reads_as_java),  cmocka_unit_test(test_reads_more_than_java),
        cmocka_unit_test(test_refuses),        cmocka_unit_test(test_large_data),
        cmocka_unit_test(test_cut_anywhere),   cmocka_unit_test(test_plain_is_read_as_others),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
