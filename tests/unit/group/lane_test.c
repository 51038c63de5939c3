/* Outputs and lanes. */
#include "tests/unit/test.h"
#include "zkconsumer/core/group/output.h"

static const struct zk_op op = {.type = ZK_OP_GET, .path = "/x"};

static struct group_outputs out;

static uint32_t sent(void)
{
    assert_int_equal(out.count, 1);
    assert_int_equal(out.list[0].type, GROUP_OUT_OP);
    assert_int_equal(out.list[0].op.lane, GROUP_LANE_COMMIT);
    assert_string_equal(out.list[0].op.op.path, "/x");
    uint32_t seq = out.list[0].op.seq;
    group_outputs_clear(&out);
    return seq;
}

static void send(struct lane *lanes, bool connected)
{
    lane_send(lanes, GROUP_LANE_COMMIT, &op, connected, &out);
}

static void test_answered(void **state)
{
    (void)state;
    struct lane lanes[GROUP_LANE_COUNT] = {0};
    struct lane *lane = &lanes[GROUP_LANE_COMMIT];
    assert_false(lane_answered(lane, 0, ZK_OK)); /* nothing was asked */
    send(lanes, true);
    uint32_t first = sent();
    assert_false(lane_answered(lane, first + 1, ZK_OK));
    assert_true(lane_answered(lane, first, ZK_NO_NODE));
    assert_false(lane_answered(lane, first, ZK_NO_NODE)); /* once */
    send(lanes, true);
    uint32_t second = sent();
    assert_int_not_equal(first, second);
    assert_false(lane_answered(lane, first, ZK_OK));
    assert_true(lane_answered(lane, second, ZK_OK));
    assert_false(lanes[GROUP_LANE_EVENTS].busy);
}

static void test_retriable_codes(void **state)
{
    (void)state;
    static const struct {
        int zk_rc;
        bool is_retried;
    } codes[] = {
        {ZK_CONNECTION_LOSS, true}, {ZK_OPERATION_TIMEOUT, true},     {ZK_SESSION_EXPIRED, true},
        {ZK_SESSION_MOVED, true},   {ZK_RUNTIME_INCONSISTENCY, true}, {ZK_OK, false},
        {ZK_NO_NODE, false},        {ZK_NODE_EXISTS, false},          {ZK_NO_AUTH, false},
        {ZK_BAD_ARGUMENTS, false},  {ZK_SYSTEM_ERROR, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct lane lanes[GROUP_LANE_COUNT] = {0};
        struct lane *lane = &lanes[GROUP_LANE_COMMIT];
        send(lanes, true);
        uint32_t seq = sent();
        assert_int_equal(lane_answered(lane, seq, codes[i].zk_rc), !codes[i].is_retried);
        assert_int_equal(lane->busy, codes[i].is_retried);
        assert_int_equal(lane->parked, codes[i].is_retried);
        lanes_resend(lanes, &out);
        if (codes[i].is_retried) {
            uint32_t again = sent();
            assert_false(lane_answered(lane, seq, ZK_OK)); /* the first is nobody's now */
            assert_true(lane_answered(lane, again, ZK_OK));
        }
        assert_int_equal(out.count, 0);
    }
}

static void test_parked(void **state)
{
    (void)state;
    struct lane lanes[GROUP_LANE_COUNT] = {0};
    send(lanes, false);
    assert_int_equal(out.count, 0);
    assert_false(lane_answered(&lanes[GROUP_LANE_COMMIT], 0, ZK_OK)); /* was not sent */
    lanes_resend(lanes, &out);
    uint32_t seq = sent();
    lanes_resend(lanes, &out); /* is under way */
    assert_int_equal(out.count, 0);
    assert_true(lane_answered(&lanes[GROUP_LANE_COMMIT], seq, ZK_OK));
}

static void test_abandoned(void **state)
{
    (void)state;
    struct lane lanes[GROUP_LANE_COUNT] = {0};
    struct lane *lane = &lanes[GROUP_LANE_COMMIT];
    send(lanes, true);
    uint32_t old = sent();
    lane_abandon(lane);
    assert_false(lane_answered(lane, old, ZK_CONNECTION_LOSS));
    assert_false(lane->parked);
    send(lanes, false); /* another in its place waits for a connection */
    assert_false(lane_answered(lane, old, ZK_OK));
    lanes_resend(lanes, &out);
    uint32_t seq = sent();
    assert_false(lane_answered(lane, old, ZK_OK));
    assert_true(lane_answered(lane, seq, ZK_OK));
}

/* Texts live side by side until there is no room, and are cut then. */
static void test_texts(void **state)
{
    (void)state;
    group_outputs_clear(&out);
    const char *first = group_text(&out, "%s %d", "one", 1);
    const char *second = group_text(&out, "two");
    assert_string_equal(first, "one 1");
    assert_string_equal(second, "two");
    char full[GROUP_OUTPUT_TEXT_SIZE + 10];
    memset(full, 'x', sizeof full);
    full[sizeof full - 1] = 0;
    const char *cut = group_text(&out, "%s", full);
    assert_int_equal(strlen(cut), GROUP_OUTPUT_TEXT_SIZE - sizeof "one 1" - sizeof "two" - 1);
    assert_string_equal(group_text(&out, "no room"), "");
    assert_string_equal(first, "one 1");
    group_notice(&out, 3, "member", ZKC_ERR_NOMEM, "no room %d", 7);
    assert_int_equal(out.count, 1);
    assert_string_equal(out.list[0].notice.text, "");
    assert_int_equal(out.list[0].notice.err, ZKC_ERR_NOMEM);
    group_outputs_clear(&out);
    assert_string_equal(group_text(&out, "room again"), "room again");
    group_outputs_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answered), cmocka_unit_test(test_retriable_codes),
        cmocka_unit_test(test_parked),   cmocka_unit_test(test_abandoned),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
