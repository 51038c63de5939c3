#include "tests/unit/test.h"
#include "zkconsumer/consumer/gate.h"
#include <pthread.h>
#include <sched.h>

/* ---- the word ---- */

static const struct pass_case {
    const char *name;
    int64_t position, offset;
    enum gate_answer want;
    int64_t position_after;
} pass_cases[] = {
    {"the next one", 5, 5, GATE_PASSED, 6},
    {"after a gap", 5, 9, GATE_PASSED, 10},
    {"consumed already", 5, 4, GATE_BELOW, 5},
    {"the first", 0, 0, GATE_PASSED, 1},
    {"offset 0 below 1", 1, 0, GATE_BELOW, 1},
    {"position not known", -1, 0, GATE_PASSED, 1},
    {"position not known, high offset", -1, 700, GATE_PASSED, 701},
    {"the last that can be", 0, GATE_POSITION_MAX - 1, GATE_PASSED, GATE_POSITION_MAX},
    {"above 32 bits", INT64_C(1) << 40, INT64_C(1) << 40, GATE_PASSED, (INT64_C(1) << 40) + 1},
};

static void test_pass(void **state)
{
    (void)state;
    for (const struct pass_case *c = pass_cases; c < pass_cases + ARRAY_LEN(pass_cases); c++) {
        struct gate gate;
        gate_init(&gate, c->position);
        if (gate_position(&gate) != c->position || gate_state(&gate) != GATE_OPEN)
            fail_msg("%s: starts wrong", c->name);
        enum gate_answer got = gate_pass(&gate, c->offset);
        if (got != c->want || gate_position(&gate) != c->position_after)
            fail_msg("%s: got %d, position %" PRId64, c->name, got, gate_position(&gate));
    }
}

static void test_closed_gate_lets_nothing_through(void **state)
{
    (void)state;
    for (enum gate_state how = GATE_REVOKED; how <= GATE_LOST; how++) {
        struct gate gate;
        gate_init(&gate, 7);
        assert_int_equal(gate_pass(&gate, 7), GATE_PASSED);
        assert_false(gate_is_closed(&gate));
        assert_int_equal(gate_close(&gate, how), 8);
        assert_true(gate_is_closed(&gate));
        assert_int_equal(gate_state(&gate), how);
        assert_int_equal(gate_pass(&gate, 8), GATE_CLOSED);
        assert_int_equal(gate_pass(&gate, 3), GATE_CLOSED);
        assert_false(gate_move(&gate, 0));
        assert_false(gate_raise(&gate, 100));
        assert_int_equal(gate_position(&gate), 8);
    }
}

static void test_lost_wins_over_revoked(void **state)
{
    (void)state;
    struct gate gate;
    gate_init(&gate, -1);
    assert_int_equal(gate_close(&gate, GATE_REVOKED), -1);
    assert_int_equal(gate_close(&gate, GATE_LOST), -1);
    assert_int_equal(gate_state(&gate), GATE_LOST);
    assert_int_equal(gate_close(&gate, GATE_REVOKED), -1);
    assert_int_equal(gate_state(&gate), GATE_LOST);
}

static void test_moving_an_open_gate(void **state)
{
    (void)state;
    struct gate gate;
    gate_init(&gate, 50);
    assert_true(gate_move(&gate, 20));
    assert_int_equal(gate_position(&gate), 20);
    assert_true(gate_move(&gate, 90));
    assert_int_equal(gate_pass(&gate, 89), GATE_BELOW);
    assert_false(gate_raise(&gate, 90));
    assert_false(gate_raise(&gate, 30));
    assert_true(gate_raise(&gate, 91));
    assert_int_equal(gate_position(&gate), 91);
    assert_true(gate_move(&gate, -1));
    assert_true(gate_raise(&gate, 0));
    assert_int_equal(gate_position(&gate), 0);
}

/* A znode or a broker may say anything. */
static void test_impossible_positions_are_bounded(void **state)
{
    (void)state;
    struct gate gate;
    gate_init(&gate, INT64_MAX);
    assert_int_equal(gate_state(&gate), GATE_OPEN);
    assert_int_equal(gate_position(&gate), GATE_POSITION_MAX);
    gate_init(&gate, INT64_MIN);
    assert_int_equal(gate_state(&gate), GATE_OPEN);
    assert_int_equal(gate_position(&gate), -1);
    assert_false(gate_raise(&gate, -7));
    assert_true(gate_raise(&gate, INT64_MAX));
    assert_int_equal(gate_position(&gate), GATE_POSITION_MAX);
    assert_true(gate_move(&gate, 5));
    assert_true(gate_move(&gate, INT64_MAX));
    assert_int_equal(gate_state(&gate), GATE_OPEN);
    assert_int_equal(gate_position(&gate), GATE_POSITION_MAX);
    assert_true(gate_move(&gate, -2));
    assert_int_equal(gate_close(&gate, GATE_LOST), -1);
}

/* ---- a taking thread against the loop ---- */

struct race {
    struct claim *claim;
    int64_t handed_out; /* how many, from offset 0 */
    atomic_int_fast64_t seen;
};

static void *take_all(void *arg)
{
    struct race *race = arg;
    for (int64_t offset = 0;; offset++) {
        switch (claim_pass(race->claim, offset)) {
        case GATE_PASSED:
        case GATE_LATE:
            race->handed_out++;
            atomic_store(&race->seen, race->handed_out);
            break;
        case GATE_BELOW: return race;
        case GATE_FENCED:
        case GATE_CLOSED: return NULL;
        }
    }
}

/* The position that closing returns is the number of messages handed out: none is handed out after
 * it, none before it is missed. */
static void race_once(bool is_traced, enum gate_state how, int64_t wait_for)
{
    struct race race = {.claim = claim_new(NULL, 0, 0, is_traced)};
    assert_non_null(race.claim);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, take_all, &race), 0);
    while (atomic_load(&race.seen) < wait_for)
        sched_yield();
    int64_t position = claim_close(race.claim, how);
    void *failed;
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_int_equal(position, race.handed_out);
    assert_int_equal(gate_position(&race.claim->gate), position);
    claim_unref(race.claim);
}

static void test_close_races_with_the_taking_thread(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++)
        race_once(i & 1, i & 2 ? GATE_REVOKED : GATE_LOST, i * 5);
}

/* ---- what was handed out, for the trace ---- */

struct runs {
    struct delivered list[8];
    size_t count;
    int64_t messages;
};

static void gather(const struct claim *claim, const struct delivered *run, void *user)
{
    (void)claim;
    struct runs *runs = user;
    if (runs->count < ARRAY_LEN(runs->list))
        runs->list[runs->count] = *run;
    runs->count++;
    runs->messages += run->last - run->first + 1;
    assert_true(run->last_ns >= run->first_ns);
}

static void pass(struct claim *claim, int64_t offset)
{
    assert_int_equal(claim_pass(claim, offset), GATE_PASSED);
}

static void test_runs_break_at_gaps(void **state)
{
    (void)state;
    struct claim *claim = claim_new(NULL, 3, 10, true);
    assert_non_null(claim);
    pass(claim, 10);
    pass(claim, 11);
    assert_int_equal(claim_pass(claim, 9), GATE_BELOW);
    pass(claim, 15);
    struct runs runs = {0};
    assert_int_equal(claim_collect(claim, gather, &runs), 0);
    assert_int_equal(runs.messages, 3);
    assert_int_equal(runs.list[0].first, 10);
    assert_int_equal(runs.list[runs.count - 1].first, 15);
    assert_int_equal(runs.list[runs.count - 1].last, 15);

    memset(&runs, 0, sizeof runs);
    claim_collect(claim, gather, &runs);
    assert_int_equal(runs.count, 0); /* each once */
    pass(claim, 16);
    claim_close(claim, GATE_LOST);
    assert_int_equal(claim_pass(claim, 17), GATE_CLOSED);
    claim_collect(claim, gather, &runs);
    assert_int_equal(runs.count, 1);
    assert_int_equal(runs.list[0].last, 16);
    claim_unref(claim);
}

static void test_too_many_runs_are_counted(void **state)
{
    (void)state;
    struct claim *claim = claim_new(NULL, 3, 0, true);
    assert_non_null(claim);
    for (int64_t i = 0; i < 5000; i++)
        pass(claim, i * 2);
    struct runs runs = {0};
    uint64_t lost = claim_collect(claim, gather, &runs);
    assert_true(lost > 0);
    assert_int_equal(runs.messages + (int64_t)lost, 5000);
    assert_int_equal(claim_collect(claim, gather, &runs), 0);
    claim_unref(claim);
}

/* What is collected while a thread takes, and after closing, is everything, once. */
static void test_collecting_races_with_the_taking_thread(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct race race = {.claim = claim_new(NULL, 0, 0, true)};
        assert_non_null(race.claim);
        struct runs runs = {0};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, take_all, &race), 0);
        int64_t lost = 0;
        while (atomic_load(&race.seen) < i * 10)
            lost += (int64_t)claim_collect(race.claim, gather, &runs);
        int64_t position = claim_close(race.claim, GATE_REVOKED);
        lost += (int64_t)claim_collect(race.claim, gather, &runs);
        assert_int_equal(runs.messages, position);
        assert_int_equal(lost, 0);
        pthread_join(thread, NULL);
        assert_int_equal(race.handed_out, position);
        claim_unref(race.claim);
    }
}

static void test_untraced_claim_records_nothing(void **state)
{
    (void)state;
    struct claim *claim = claim_new(NULL, 3, 0, false);
    assert_non_null(claim);
    pass(claim, 0);
    struct runs runs = {0};
    assert_int_equal(claim_collect(claim, gather, &runs), 0);
    assert_int_equal(runs.count, 0);
    claim_unref(claim_ref(claim));
    claim_unref(claim);
    claim_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pass),
        cmocka_unit_test(test_closed_gate_lets_nothing_through),
        cmocka_unit_test(test_lost_wins_over_revoked),
        cmocka_unit_test(test_moving_an_open_gate),
        cmocka_unit_test(test_impossible_positions_are_bounded),
        cmocka_unit_test(test_close_races_with_the_taking_thread),
        cmocka_unit_test(test_runs_break_at_gaps),
        cmocka_unit_test(test_too_many_runs_are_counted),
        cmocka_unit_test(test_collecting_races_with_the_taking_thread),
        cmocka_unit_test(test_untraced_claim_records_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
