/* Frames of ZooKeeper's protocol into the lines of a capture: what was sent and answered, what is
 * cut short, what lies about its lengths. */
#include "study/record/tap.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/wire/big_endian.h"
#include <jansson.h>

static const struct tap_moment moment = {7, 1700000000123456, 42000000001};

/* A frame from words: "i5" a 32-bit number, "l9" a 64-bit one, "b1" a boolean, "sTEXT" a string,
 * "n" a null string. */
static struct bytes frame_of(uint8_t *out, const char *words)
{
    uint8_t *at = out;
    char copy[512], *save = NULL;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        size_t len = strlen(w + 1);
        switch (*w) {
        case 'i': write_i32(at, (int32_t)strtol(w + 1, NULL, 0)), at += 4; break;
        case 'l': write_i64(at, strtoll(w + 1, NULL, 0)), at += 8; break;
        case 'b': *at++ = (uint8_t)(w[1] - '0'); break;
        case 'n': write_i32(at, -1), at += 4; break;
        default:
            write_i32(at, (int32_t)len);
            memcpy(at + 4, w + 1, len);
            at += 4 + len;
        }
    }
    return bytes_of(out, (size_t)(at - out));
}

/* The line without its beginning, which is the same for all. */
static char *line_of(struct buf *out)
{
    static const char head[] =
        "{\"seq\":7,\"t\":1700000000.123456,\"ns\":42000000001,\"who\":\"m1\",\"c\":3,";
    json_error_t error;
    const char *text = buf_text(out);
    assert_non_null(text);
    json_t *json = json_loads(text, 0, &error);
    if (!json)
        fail_msg("%s: %s", text, error.text);
    json_decref(json);
    if (strncmp(text, head, strlen(head)) != 0)
        fail_msg("%s", text);
    assert_int_equal(text[out->len - 1], '\n');
    char *rest = strndup(text + strlen(head), out->len - strlen(head) - 2); /* without }\n */
    assert_non_null(rest);
    buf_clear(out);
    return rest;
}

#define STAT "l4 l5 l1000 l2000 i1 i2 i0 l0x100000001 i3 i0 l6"
#define STAT_JSON                                                                                  \
    "\"stat\":{\"czxid\":4,\"mzxid\":5,\"ctime\":1000,\"mtime\":2000,\"version\":1,\"cversion\":"  \
    "2,"                                                                                           \
    "\"aversion\":0,\"ephemeralOwner\":\"100000001\",\"dataLength\":3,\"numChildren\":0,"          \
    "\"pzxid\":6}"

static const struct exchange {
    const char *request, *request_line, *answer, *answer_line;
} exchanges[] = {
    {"i1 i3 s/a b1", "\"k\":\"req\",\"xid\":1,\"op\":\"exists\",\"path\":\"/a\",\"watch\":true",
     "i1 l9 i0 " STAT,
     "\"k\":\"rsp\",\"xid\":1,\"op\":\"exists\",\"path\":\"/a\",\"zxid\":9," STAT_JSON},
    {"i2 i4 s/a b0", "\"k\":\"req\",\"xid\":2,\"op\":\"getData\",\"path\":\"/a\",\"watch\":false",
     "i2 l9 i-101",
     "\"k\":\"rsp\",\"xid\":2,\"op\":\"getData\",\"path\":\"/a\",\"zxid\":9,\"err\":\"NoNode\""},
    {"i3 i1 s/a sone i1 i31 sworld sanyone i1",
     "\"k\":\"req\",\"xid\":3,\"op\":\"create\",\"path\":\"/a\",\"data\":\"one\",\"flags\":\"E\"",
     "i3 l10 i0 s/a",
     "\"k\":\"rsp\",\"xid\":3,\"op\":\"create\",\"path\":\"/a\",\"zxid\":10,\"created\":\"/a\""},
    {"i4 i1 s/a n i2 i1 sdigest suser:secret i31 sip s10.0.0.1 i0",
     "\"k\":\"req\",\"xid\":4,\"op\":\"create\",\"path\":\"/a\",\"data\":null,"
     "\"acl\":[\"digest:*:1\",\"ip:10.0.0.1:31\"],\"flags\":\"\"",
     "i4 l11 i-110",
     "\"k\":\"rsp\",\"xid\":4,\"op\":\"create\",\"path\":\"/"
     "a\",\"zxid\":11,\"err\":\"NodeExists\""},
    {"i5 i8 s/a b1",
     "\"k\":\"req\",\"xid\":5,\"op\":\"getChildren\",\"path\":\"/a\",\"watch\":true",
     "i5 l11 i0 i2 sx sy",
     "\"k\":\"rsp\",\"xid\":5,\"op\":\"getChildren\",\"path\":\"/a\",\"zxid\":11,"
     "\"children\":[\"x\",\"y\"]"},
    {"i6 i14 i13 b0 i-1 s/a i3 i2 b0 i-1 s/b i-1 i-1 b1 i-1",
     "\"k\":\"req\",\"xid\":6,\"op\":\"multi\",\"ops\":[{\"op\":\"check\",\"path\":\"/a\","
     "\"version\":3},{\"op\":\"delete\",\"path\":\"/b\",\"version\":-1}]",
     "i6 l12 i0 i-1 b0 i-103 i-103 i-1 b0 i-2 i-2 i-1 b1 i-1",
     "\"k\":\"rsp\",\"xid\":6,\"op\":\"multi\",\"zxid\":12,\"results\":[{\"op\":\"error\","
     "\"err\":\"BadVersion\"},{\"op\":\"error\",\"err\":\"RuntimeInconsistency\"}]"},
    {"i-2 i11", "\"k\":\"req\",\"xid\":-2,\"op\":\"ping\"", "i-2 l12 i0",
     "\"k\":\"rsp\",\"xid\":-2,\"op\":\"ping\",\"zxid\":12"},
    {"i-4 i100 i0 sdigest suser:secret",
     "\"k\":\"req\",\"xid\":-4,\"op\":\"auth\",\"type\":0,\"scheme\":\"digest\"", "i-4 l12 i0",
     "\"k\":\"rsp\",\"xid\":-4,\"op\":\"auth\",\"zxid\":12"},
    {"i-8 i101 l5 i1 s/d i0 i1 s/c",
     "\"k\":\"req\",\"xid\":-8,\"op\":\"setWatches\",\"relzxid\":5,\"paths\":{\"data\":[\"/d\"],"
     "\"exist\":[],\"child\":[\"/c\"]}",
     "i-8 l12 i0", "\"k\":\"rsp\",\"xid\":-8,\"op\":\"setWatches\",\"zxid\":12"},
    {"i7 i77 s/odd", "\"k\":\"req\",\"xid\":7,\"op\":\"?\"", "i7 l12 i-6",
     "\"k\":\"rsp\",\"xid\":7,\"op\":\"?\",\"zxid\":12,\"err\":\"Error\""},
    {"i8 i-11", "\"k\":\"req\",\"xid\":8,\"op\":\"closeSession\"", "i8 l13 i0",
     "\"k\":\"rsp\",\"xid\":8,\"op\":\"closeSession\",\"zxid\":13"},
};

struct taps {
    struct tap tap;
    struct buf out;
    uint8_t frame[1024];
};

static void expect(struct taps *t, const char *line)
{
    char *got = line_of(&t->out);
    if (strcmp(got, line) != 0)
        fail_msg("got      %s\nexpected %s", got, line);
    free(got);
}

static void request(struct taps *t, const char *words, const char *line)
{
    assert_int_equal(tap_request(&t->tap, moment, frame_of(t->frame, words), &t->out), ZKC_OK);
    expect(t, line);
}

static void answer(struct taps *t, const char *words, const char *line)
{
    tap_answer(&t->tap, moment, frame_of(t->frame, words), &t->out);
    expect(t, line);
}

static void set_up(struct taps *t)
{
    buf_init(&t->out, TAP_LINE_MAX);
    assert_int_equal(tap_init(&t->tap, "m1", 3), ZKC_OK);
}

static void connect_session(struct taps *t)
{
    request(t, "i0 l5 i6000 l0", "\"k\":\"conn\",\"zxid\":5,\"timeout\":6000,\"s\":\"0\"");
    answer(t, "i0 i4000 l0x10002 s0123456789abcdef",
           "\"k\":\"connok\",\"timeout\":4000,\"s\":\"10002\"");
}

static void tear_down(struct taps *t)
{
    tap_deinit(&t->tap);
    buf_deinit(&t->out);
}

static void test_exchanges(void **state)
{
    struct taps t;
    (void)state;
    set_up(&t);
    tap_opened(&t.tap, moment, "z:1", &t.out);
    expect(&t, "\"k\":\"open\",\"server\":\"z:1\"");
    connect_session(&t);
    for (const struct exchange *e = exchanges; e < exchanges + ARRAY_LEN(exchanges); e++) {
        request(&t, e->request, e->request_line);
        answer(&t, e->answer, e->answer_line);
    }
    answer(&t, "i-1 l-1 i0 i4 i3 s/a",
           "\"k\":\"event\",\"type\":\"NodeChildrenChanged\",\"state\":\"SyncConnected\","
           "\"path\":\"/a\"");
    tap_closed(&t.tap, moment, "client", &t.out);
    expect(&t, "\"k\":\"close\",\"why\":\"client\",\"s\":\"10002\"");
    tear_down(&t);
}

/* Answers go by their requests' order; pings overtake; what nobody asked for is told as it is. */
static void test_order(void **state)
{
    struct taps t;
    (void)state;
    set_up(&t);
    connect_session(&t);
    for (int i = 1; i <= 100; i++) {
        char words[64];
        snprintf(words, sizeof words, "i%d i3 s/n%d b0", i, i);
        assert_int_equal(tap_request(&t.tap, moment, frame_of(t.frame, words), &t.out), ZKC_OK);
        buf_clear(&t.out);
    }
    request(&t, "i-2 i11", "\"k\":\"req\",\"xid\":-2,\"op\":\"ping\"");
    answer(&t, "i-2 l1 i0", "\"k\":\"rsp\",\"xid\":-2,\"op\":\"ping\",\"zxid\":1");
    answer(&t, "i2 l1 i-101", "\"k\":\"rsp\",\"xid\":2,\"op\":\"?\",\"zxid\":1,\"err\":\"NoNode\"");
    answer(
        &t, "i1 l1 i-101",
        "\"k\":\"rsp\",\"xid\":1,\"op\":\"exists\",\"path\":\"/n1\",\"zxid\":1,\"err\":\"NoNode\"");
    answer(
        &t, "i2 l1 i-101",
        "\"k\":\"rsp\",\"xid\":2,\"op\":\"exists\",\"path\":\"/n2\",\"zxid\":1,\"err\":\"NoNode\"");
    tear_down(&t);
}

/* Every frame of the table, cut at each byte: a line comes out, and what did not fit is in it raw.
 */
static void test_cut_short(void **state)
{
    uint8_t frame[1024];
    (void)state;
    for (const struct exchange *e = exchanges; e < exchanges + ARRAY_LEN(exchanges); e++) {
        size_t whole = frame_of(frame, e->request).len;
        for (size_t len = 0; len <= whole; len++) {
            struct taps t;
            set_up(&t);
            connect_session(&t);
            frame_of(t.frame, e->request);
            assert_int_equal(tap_request(&t.tap, moment, bytes_of(t.frame, len), &t.out), ZKC_OK);
            char *line = line_of(&t.out);
            bool is_raw = strstr(line, "\"raw\":\"") != NULL;
            if (len < 8 && !is_raw)
                fail_msg("%s cut at %zu: %s", e->request, len, line);
            free(line);
            size_t answer_len = frame_of(t.frame, e->answer).len;
            if (len < answer_len) {
                tap_answer(&t.tap, moment, bytes_of(t.frame, len), &t.out);
                free(line_of(&t.out));
            }
            tear_down(&t);
        }
    }
}

static void test_lies(void **state)
{
    static const struct {
        const char *frame, *line;
    } cases[] = {
        {"i1 i3 i99 i1", "\"k\":\"req\",\"xid\":1,\"op\":\"exists\",\"raw\":"
                         "\"00000001000000030000006300000001\""},
        {"i1 i101 l0 i2147483647", "\"k\":\"req\",\"xid\":1,\"op\":\"setWatches\",\"raw\":"
                                   "\"000000010000006500000000000000007fffffff\""},
        {"i1 i1 s/a i-2 i2147483647", "\"k\":\"req\",\"xid\":1,\"op\":\"create\",\"raw\":"
                                      "\"0000000100000001000000022f61fffffffe7fffffff\""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct taps t;
        set_up(&t);
        connect_session(&t);
        request(&t, cases[i].frame, cases[i].line);
        tear_down(&t);
    }
}

/* What is no text stands in hexadecimal; what is asks for no escape beyond JSON's. */
static void test_data(void **state)
{
    static const uint8_t set[] = {0,   0, 0, 1, 0, 0,   0,    5,    0, 0, 0, 2, '/',
                                  'a', 0, 0, 0, 3, 'x', 0xff, 0xfe, 0, 0, 0, 9};
    struct taps t;
    (void)state;
    set_up(&t);
    connect_session(&t);
    assert_int_equal(tap_request(&t.tap, moment, bytes_of(set, sizeof set), &t.out), ZKC_OK);
    expect(&t, "\"k\":\"req\",\"xid\":1,\"op\":\"setData\",\"path\":\"/a\","
               "\"data\":{\"hex\":\"78fffe\"},\"version\":9");
    tear_down(&t);
}

static void test_too_many_wait(void **state)
{
    struct taps t;
    (void)state;
    set_up(&t);
    connect_session(&t);
    for (int i = 0; i < TAP_PENDING_MAX; i++) {
        assert_int_equal(tap_request(&t.tap, moment, frame_of(t.frame, "i1 i9 s/a"), &t.out),
                         ZKC_OK);
        buf_clear(&t.out);
    }
    assert_int_equal(tap_request(&t.tap, moment, frame_of(t.frame, "i1 i9 s/a"), &t.out),
                     ZKC_ERR_TOO_LARGE);
    tear_down(&t);
}

static void test_peek(void **state)
{
    struct taps t;
    (void)state;
    set_up(&t);
    assert_string_equal(tap_peek(&t.tap, frame_of(t.frame, "i0 l0 i1 l0")).op, "connect");
    connect_session(&t);
    struct tap_request r = tap_peek(&t.tap, frame_of(t.frame, "i1 i4 s/a/b b0"));
    assert_string_equal(r.op, "getData");
    assert_true(bytes_equal_text(r.path, "/a/b"));
    assert_string_equal(tap_peek(&t.tap, frame_of(t.frame, "i1")).op, "?");
    assert_true(bytes_is_null(tap_peek(&t.tap, frame_of(t.frame, "i1 i-11")).path));
    tear_down(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchanges), cmocka_unit_test(test_order),
        cmocka_unit_test(test_cut_short), cmocka_unit_test(test_lies),
        cmocka_unit_test(test_data),      cmocka_unit_test(test_too_many_wait),
        cmocka_unit_test(test_peek),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
