/* What a controller decides, as a table; and over all small cases, what must always hold. */
#include "broker/core/controller.h"
#include "tests/unit/test.h"

static struct view_broker all[] = {{1, NULL, 0}, {2, NULL, 0}, {3, NULL, 0}};

static void test_decisions(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t live; /* brokers 1 .. live */
        int32_t replicas[3], isr[3];
        size_t replica_count, isr_count;
        enum view_node node;
        int32_t leader, epoch;
        bool writes;
        int32_t want_leader, want_epoch;
        bool want_keeps;
    } cases[] = {
        {"new", 3, {2, 1}, {0}, 2, 0, VIEW_NODE_ABSENT, 0, 0, true, 2, 0, false},
        {"new, the preferred is dead",
         1,
         {2, 1},
         {0},
         2,
         0,
         VIEW_NODE_ABSENT,
         0,
         0,
         true,
         1,
         0,
         false},
        {"new, all dead", 0, {2, 1}, {0}, 2, 0, VIEW_NODE_ABSENT, 0, 0, false, 0, 0, false},
        {"new, nobody assigned", 3, {0}, {0}, 0, 0, VIEW_NODE_ABSENT, 0, 0, false, 0, 0, false},
        {"not read", 3, {2}, {0}, 1, 0, VIEW_NODE_UNREAD, 0, 0, false, 0, 0, false},
        {"broken", 3, {2}, {0}, 1, 0, VIEW_NODE_BROKEN, 0, 0, false, 0, 0, false},
        {"led", 3, {2}, {2}, 1, 1, VIEW_NODE_READ, 2, 5, false, 0, 0, false},
        {"leader died", 1, {2}, {2}, 1, 1, VIEW_NODE_READ, 2, 5, true, -1, 6, false},
        {"is known dead", 1, {2}, {0}, 1, 0, VIEW_NODE_READ, -1, 6, false, 0, 0, false},
        {"came back", 2, {2}, {0}, 1, 0, VIEW_NODE_READ, -1, 6, true, 2, 7, false},
        {"came back, unclean off", 2, {2}, {2}, 1, 1, VIEW_NODE_READ, -1, 6, true, 2, 7, false},
        {"died, others assigned", 1, {2, 1}, {2}, 2, 1, VIEW_NODE_READ, 2, 5, true, -1, 6, true},
        {"dead, others assigned", 1, {2, 1}, {2}, 2, 1, VIEW_NODE_READ, -1, 6, false, 0, 0, false},
        {"Kafka's followers live",
         1,
         {2, 1},
         {2, 1},
         2,
         2,
         VIEW_NODE_READ,
         2,
         5,
         true,
         1,
         6,
         false},
        {"Kafka left nobody in sync",
         1,
         {2, 1},
         {0},
         2,
         0,
         VIEW_NODE_READ,
         -1,
         6,
         true,
         1,
         7,
         false},
        {"in sync, but not assigned", 3, {1}, {3}, 1, 1, VIEW_NODE_READ, 9, 5, true, -1, 6, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cluster_view v = {.brokers = all, .broker_count = cases[i].live};
        struct view_partition p = {
            .replicas = (int32_t *)cases[i].replicas,
            .replica_count = cases[i].replica_count,
            .node = cases[i].node,
            .leader = cases[i].leader,
            .leader_epoch = cases[i].epoch,
            .isr = (int32_t *)cases[i].isr,
            .isr_count = cases[i].isr_count,
        };
        struct controller_decision d = controller_decide(&v, &p);
        if (d.writes != cases[i].writes || (d.writes && (d.leader != cases[i].want_leader ||
                                                         d.leader_epoch != cases[i].want_epoch ||
                                                         d.keeps_isr != cases[i].want_keeps)))
            fail_msg("%s: writes %d, leader %d, epoch %d, keeps %d", cases[i].name, d.writes,
                     d.leader, d.leader_epoch, d.keeps_isr);
        if (d.writes && d.leader >= 0)
            assert_true(d.isr_count == 1 && d.isr[0] == d.leader);
        else if (d.writes)
            assert_int_equal(d.isr_count, 0);
    }
}

/* A decision is final until brokers come or go; who leads lives, and is assigned. */
static void test_decisions_settle(void **state)
{
    (void)state;
    for (unsigned live = 0; live < 8; live++)
        for (unsigned replicas = 0; replicas < 16; replicas++)
            for (unsigned isr = 0; isr < 8; isr++)
                for (int32_t leader = -1; leader <= 3; leader++) {
                    struct view_broker brokers[3];
                    struct cluster_view v = {.brokers = brokers};
                    int32_t assigned[2], in_sync[3];
                    struct view_partition p = {.replicas = assigned,
                                               .isr = in_sync,
                                               .node = leader ? VIEW_NODE_READ : VIEW_NODE_ABSENT,
                                               .leader = leader};
                    for (int32_t b = 1; b <= 3; b++) {
                        if (live & (1u << (b - 1)))
                            brokers[v.broker_count++] = (struct view_broker){.id = b};
                        if (isr & (1u << (b - 1)))
                            in_sync[p.isr_count++] = b;
                    }
                    if (replicas % 4)
                        assigned[p.replica_count++] = (int32_t)(replicas % 4);
                    if (replicas / 4 && replicas / 4 != replicas % 4)
                        assigned[p.replica_count++] = (int32_t)(replicas / 4);
                    struct controller_decision d = controller_decide(&v, &p);
                    if (!d.writes)
                        continue;
                    assert_true(d.leader == -1 || cluster_view_lives(&v, d.leader));
                    bool is_assigned = d.leader == -1;
                    for (size_t i = 0; i < p.replica_count; i++)
                        is_assigned |= assigned[i] == d.leader;
                    assert_true(is_assigned);
                    p.node = VIEW_NODE_READ;
                    p.leader = d.leader;
                    p.leader_epoch = d.leader_epoch;
                    if (!d.keeps_isr) {
                        p.isr = d.isr;
                        p.isr_count = d.isr_count;
                    }
                    struct controller_decision again = controller_decide(&v, &p);
                    /* What is without a leader and an ISR may be led by any replica that lives. */
                    if (again.writes)
                        assert_true(d.leader == -1 && again.leader >= 0 && p.isr_count == 0);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_decisions_settle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
