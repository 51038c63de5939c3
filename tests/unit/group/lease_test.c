/* The lease by the table of safe mode, section 3, and by its stories: what must not extend it. */
#include "tests/unit/test.h"
#include "zkconsumer/core/group/lease.h"
#include "zkconsumer/core/zk/op.h"

#define S      6000
#define MARGIN (S / 50 + 2)

static struct lease fresh(enum zk_fence fence, unsigned bugs)
{
    struct lease l;
    lease_init(&l, fence, bugs);
    return l;
}

/* One write of the probe: sent and answered; fails the test when it was not due. */
static void write_probe(struct lease *l, int64_t sent_ms, int64_t answered_ms, bool is_first)
{
    assert_true(lease_is_due(l, sent_ms));
    assert_int_equal(lease_is_first(l), is_first);
    lease_sent(l, sent_ms);
    assert_false(lease_is_due(l, INT64_MAX - 1));
    lease_answered(l, answered_ms);
}

static void probe(struct lease *l, int64_t at_ms, int64_t trip_ms)
{
    write_probe(l, at_ms, at_ms + trip_ms, true);
    write_probe(l, at_ms + trip_ms, at_ms + 2 * trip_ms, false);
}

static void test_new_session_runs_from_the_connect_request(void **state)
{
    (void)state;
    struct lease l = fresh(ZK_FENCE_LEASE, 0);
    assert_int_equal(lease_end_ms(&l), INT64_MIN);
    assert_int_equal(lease_deadline_ms(&l), INT64_MAX);
    lease_connected(&l, 1300, S, 1000, true);
    assert_int_equal(lease_end_ms(&l), 1000 + S - MARGIN);
    assert_int_equal(lease_deadline_ms(&l), 1300 + S / 3);
}

static void test_probe_renews_from_the_first_write_of_the_one_before(void **state)
{
    (void)state;
    struct lease l = fresh(ZK_FENCE_LEASE, 0);
    lease_connected(&l, 0, S, 0, true);
    probe(&l, 2000, 10);
    assert_int_equal(lease_end_ms(&l), S - MARGIN); /* the first probe proves nothing yet */
    assert_int_equal(lease_deadline_ms(&l), 2010 + S / 3);
    assert_false(lease_is_due(&l, 4009));
    write_probe(&l, 4100, 4110, true);
    assert_int_equal(lease_end_ms(&l), S - MARGIN); /* one write is not enough: story 2 */
    write_probe(&l, 4111, 4120, false);
    assert_int_equal(lease_end_ms(&l), 2000 + S - MARGIN);
    probe(&l, 6110, 1);
    assert_int_equal(lease_end_ms(&l), 4100 + S - MARGIN); /* from W1, not from W2 */
}

static void test_distance_counts_from_the_answer_to_the_first_write(void **state)
{
    (void)state; /* story 3: counted from the sending, no ping may fit in between */
    struct lease l = fresh(ZK_FENCE_LEASE, 0);
    lease_connected(&l, 0, S, 0, true);
    write_probe(&l, 2000, 5000, true);
    write_probe(&l, 5000, 5001, false);
    assert_int_equal(lease_deadline_ms(&l), 5000 + S / 3);
    write_probe(&l, 7000, 7001, true);
    write_probe(&l, 7001, 9900, false); /* W2 slower than the distance: the next is due at once */
    assert_true(lease_is_due(&l, 9900));
}

static void test_connection_lost_begins_the_chain_anew(void **state)
{
    (void)state;
    struct lease l = fresh(ZK_FENCE_LEASE, 0);
    lease_connected(&l, 0, S, 0, true);
    probe(&l, 2000, 1);
    lease_disconnected(&l);
    assert_int_equal(lease_end_ms(&l), S - MARGIN); /* runs on */
    assert_int_equal(lease_deadline_ms(&l), INT64_MAX);
    lease_answered(&l, 2500); /* late: of the lost connection */
    lease_connected(&l, 3000, S, 2900, false);
    assert_int_equal(lease_end_ms(&l), S - MARGIN); /* the answer to the connect alone: nothing */
    write_probe(&l, 3000, 3050, true);
    assert_int_equal(lease_end_ms(&l), 2900 + S - MARGIN);
    write_probe(&l, 3050, 3100, false);
    assert_int_equal(lease_end_ms(&l), 2900 + S - MARGIN); /* not from 2000: another connection */
}

static void test_reattachment_never_shortens(void **state)
{
    (void)state;
    struct lease l = fresh(ZK_FENCE_LEASE, 0);
    lease_connected(&l, 0, S, 0, true);
    probe(&l, 2000, 1);
    probe(&l, 4001, 1);
    lease_disconnected(&l);
    lease_connected(&l, 5000, S, 1500, false); /* "or earlier": the shell may not know better */
    probe(&l, 5000, 1);
    assert_int_equal(lease_end_ms(&l), 2000 + S - MARGIN);
}

static void test_lost_in_the_middle_of_a_probe(void **state)
{
    (void)state;
    struct lease l = fresh(ZK_FENCE_LEASE, 0);
    lease_connected(&l, 0, S, 0, true);
    probe(&l, 2000, 1);
    write_probe(&l, 4001, 4002, true);
    lease_sent(&l, 4002);
    lease_unanswered(&l, 4200);
    assert_int_equal(lease_deadline_ms(&l), 4200);
    probe(&l, 4200, 1);
    assert_int_equal(lease_end_ms(&l), S - MARGIN); /* the pair before was not complete */
    probe(&l, 6201, 1);
    assert_int_equal(lease_end_ms(&l), 4200 + S - MARGIN);
}

static void test_over_and_new(void **state)
{
    (void)state;
    struct lease l = fresh(ZK_FENCE_LEASE, 0);
    lease_connected(&l, 0, S, 0, true);
    lease_sent(&l, 2000);
    lease_over(&l);
    assert_int_equal(lease_end_ms(&l), INT64_MIN);
    lease_answered(&l, 2001);
    assert_int_equal(lease_end_ms(&l), INT64_MIN);
    lease_connected(&l, 9000, 2 * S, 8000, true);
    assert_int_equal(lease_end_ms(&l), 8000 + 2 * (S - MARGIN) + 2);
}

static void test_other_fences(void **state)
{
    (void)state;
    struct lease none = fresh(ZK_FENCE_NONE, 0), link = fresh(ZK_FENCE_DISCONNECT, 0);
    lease_connected(&none, 0, S, 0, true);
    lease_connected(&link, 0, S, 0, true);
    assert_int_equal(lease_end_ms(&none), INT64_MAX);
    assert_int_equal(lease_end_ms(&link), INT64_MAX);
    lease_disconnected(&none);
    lease_disconnected(&link);
    assert_int_equal(lease_end_ms(&none), INT64_MAX);
    assert_int_equal(lease_end_ms(&link), INT64_MIN);
    lease_connected(&link, 9, S, 8, false);
    assert_int_equal(lease_end_ms(&link), INT64_MAX);
    assert_int_equal(lease_deadline_ms(&link), INT64_MAX); /* no probes */
    lease_over(&none);
    assert_int_equal(lease_end_ms(&none), INT64_MIN);
}

static const struct answer_case {
    int zk_rc;
    bool is_answer;
} answers[] = {
    {ZK_OK, true},
    {ZK_BAD_VERSION, true},
    {ZK_NO_NODE, true},
    {ZK_NO_AUTH, true},
    {ZK_CONNECTION_LOSS, false},
    {ZK_OPERATION_TIMEOUT, false},
    {ZK_INVALID_STATE, false},
    {ZK_RUNTIME_INCONSISTENCY, false},
    {ZK_SESSION_EXPIRED, false},
    {ZK_SESSION_MOVED, false},
    {ZK_CLOSING, false},
    {ZK_AUTH_FAILED, false},
    {ZK_API_ERROR, false},
};

static void test_what_is_an_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++)
        if (lease_is_answer(answers[i].zk_rc) != answers[i].is_answer)
            fail_msg("%s", zk_rc_name(answers[i].zk_rc));
}

/* Each planted bug lets the lease run longer than the rule does, in the same story. */
static void test_planted_bugs(void **state)
{
    (void)state;
    static const struct {
        unsigned bug;
        int64_t end_ms;
    } cases[] = {
        {0, 2000 + S - MARGIN},
        {ZK_SAFE_BUG_LEASE_FROM_RECEIPT, 4201 + S - MARGIN},
        {ZK_SAFE_BUG_LEASE_FROM_LAST_PROBE, 4001 + S - MARGIN},
        {ZK_SAFE_BUG_LEASE_WITHOUT_MARGIN, 2000 + S},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct lease l = fresh(ZK_FENCE_LEASE, cases[i].bug);
        lease_connected(&l, 0, S, 0, true);
        probe(&l, 2000, 1);
        probe(&l, 4001, 100);
        assert_int_equal(lease_end_ms(&l), cases[i].end_ms);
    }
    struct lease l = fresh(ZK_FENCE_LEASE, ZK_SAFE_BUG_LEASE_ONE_WRITE);
    lease_connected(&l, 0, S, 0, true);
    write_probe(&l, 2000, 2001, true);
    write_probe(&l, 4001, 4002, true);
    assert_int_equal(lease_end_ms(&l), 2000 + S - MARGIN);
    for (unsigned i = 0; i < ZK_SAFE_BUG_COUNT; i++)
        assert_non_null(zk_safe_bug_name(i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_session_runs_from_the_connect_request),
        cmocka_unit_test(test_probe_renews_from_the_first_write_of_the_one_before),
        cmocka_unit_test(test_distance_counts_from_the_answer_to_the_first_write),
        cmocka_unit_test(test_connection_lost_begins_the_chain_anew),
        cmocka_unit_test(test_reattachment_never_shortens),
        cmocka_unit_test(test_lost_in_the_middle_of_a_probe),
        cmocka_unit_test(test_over_and_new),
        cmocka_unit_test(test_other_fences),
        cmocka_unit_test(test_what_is_an_answer),
        cmocka_unit_test(test_planted_bugs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
