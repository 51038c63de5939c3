/* Transaction logs of real servers are read as what their client did; broken ones are refused with
 * the place, and what is before it counts. */
#include "study/record/txn_log.h"
#include "tests/unit/test.h"
#include "tests/unit/vectors.h"
#include "tests/unit/wire/vectors.h"
#include "zkconsumer/core/base/buf.h"
#include <stdlib.h>

static void append_part(struct buf *told, const struct txn_part *p)
{
    static const char *const names[] = {
        [TXN_CREATE] = "create", [TXN_DELETE] = "delete", [TXN_SET] = "set", [TXN_CHECK] = "check"};
    buf_appendf(told, " %s %.*s", names[p->kind], (int)p->path.len, (const char *)p->path.data);
    if (p->kind == TXN_CREATE || p->kind == TXN_SET)
        buf_appendf(told, "=%.*s%s", (int)p->data.len, (const char *)p->data.data,
                    p->is_ephemeral ? " ephemeral" : "");
}

/* A line each: its place in the order, number of the request, and what it is. */
static enum txn_next tell(struct bytes file, struct buf *told, struct why *why)
{
    static const char *const names[] = {[TXN_OTHER] = " other",
                                        [TXN_CREATE_SESSION] = " session",
                                        [TXN_CLOSE_SESSION] = " close",
                                        [TXN_ERROR] = " error",
                                        [TXN_MULTI] = " multi"};
    static struct txn_log log;
    struct txn txn;
    uint64_t session = 0;
    enum txn_next next = TXN_BROKEN;
    if (!txn_log_open(&log, file, why))
        return TXN_BROKEN;
    while ((next = txn_log_next(&log, &txn, why)) == TXN_NEXT) {
        session = session ? session : txn.session;
        assert_true(txn.session == session && session);
        assert_in_range(txn.time_ms, INT64_C(1700000000000), INT64_C(4000000000000));
        buf_appendf(told, "%d", (int)(txn.zxid & 0xffffffff));
        if (txn.kind < TXN_CREATE || txn.kind > TXN_CHECK)
            buf_appendf(told, "%s", names[txn.kind]);
        for (size_t i = 0; i < txn.part_count; i++)
            append_part(told, &txn.parts[i]);
        buf_appendf(told, "\n");
    }
    return next;
}

static const char expected[] = "1 session\n"
                               "2 create /g=\n"
                               "3 create /g/ids=one\n"
                               "4 create /g/ids/a=mine ephemeral\n"
                               "5 set /g/ids=two\n"
                               "6 error\n"
                               "7 multi create /g/owner=a-0 ephemeral set /g/owner=a-0 check /g\n"
                               "8 error\n"
                               "9 multi check /g\n"
                               "10 delete /g/owner\n"
                               "11 other\n"
                               "12 close\n";

static void test_real_logs(void **state)
{
    struct vectors v = vectors_read("record/txn_log.hex");
    (void)state;
    assert_int_equal(v.count, 2);
    for (size_t i = 0; i < v.count; i++) {
        struct bytes file = bytes_of_hex(vectors_cut(v.lines[i], ' '));
        struct buf told;
        struct why why;
        buf_init(&told, 1 << 16);
        assert_int_equal(tell(file, &told, &why), TXN_END);
        assert_string_equal(buf_text(&told), expected);
        buf_deinit(&told);
        free((void *)(uintptr_t)file.data);
    }
    vectors_free(&v);
}

/* However a log is cut, what is whole is read, and what is not is told, unless it is cut where one
 * ends. */
static void test_cut(void **state)
{
    struct vectors v = vectors_read("record/txn_log.hex");
    (void)state;
    struct bytes file = bytes_of_hex(vectors_cut(v.lines[0], ' '));
    size_t ends = 0, whole = 0;
    for (size_t len = 0; len < file.len; len++) {
        uint8_t *copy = malloc(len + 1); /* so that reading beyond it is found */
        struct buf told;
        struct why why;
        assert_non_null(copy);
        memcpy(copy, file.data, len);
        copy = realloc(copy, len ? len : 1);
        buf_init(&told, 1 << 16);
        enum txn_next next = tell(bytes_of(copy, len), &told, &why);
        const char *text = told.len ? buf_text(&told) : "";
        assert_memory_equal(text, expected, strlen(text));
        assert_true(next == TXN_END || *why.text);
        whole = strlen(text) > whole ? strlen(text) : whole;
        ends += next == TXN_END;
        buf_deinit(&told);
        free(copy);
    }
    assert_int_equal(whole, strlen(expected));
    assert_int_equal(ends,
                     1 + 12 + 20 - 12); /* its head, each transaction, a frame's head of zeros on */
    free((void *)(uintptr_t)file.data);
    vectors_free(&v);
}

static void test_broken(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        const char *why;
    } cases[] = {
        {0, 'X', "begins with ZKLG"},
        {7, 3, "expected version 2 of the transaction log, found 3"},
        {16, 1, "at byte 16: the checksum"},
        {24, 0x7f, "at byte 16: the file is cut short in the middle"},
        {24, 0xff, "at byte 16: expected a transaction of at least 32 bytes"},
        {27, 3, "at byte 16: expected a transaction of at least 32 bytes"},
        {28, 0x55, "at byte 16: the checksum"},
    };
    struct vectors v = vectors_read("record/txn_log.hex");
    (void)state;
    struct bytes file = bytes_of_hex(vectors_cut(v.lines[0], ' '));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t *at = (uint8_t *)(uintptr_t)file.data + cases[i].at, before = *at;
        struct buf told;
        struct why why;
        buf_init(&told, 1 << 16);
        *at = cases[i].value;
        assert_int_equal(tell(file, &told, &why), TXN_BROKEN);
        if (!strstr(why.text, cases[i].why))
            fail_msg("%zu: %s", i, why.text);
        *at = before;
        buf_deinit(&told);
    }
    free((void *)(uintptr_t)file.data);
    vectors_free(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_logs),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
