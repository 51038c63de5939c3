/* A safe member's life when nothing goes wrong, operation by operation. */
#include "tests/unit/group/zk_safe_world.h"
#include "tests/unit/test.h"

static void test_one_member_registers_claims_delivers_and_leaves(void **state)
{
    (void)state;
    struct safe_world *w = safe_world_new(1, 2);
    struct zk_safe_config config = safe_world_config();
    struct safe_member *m = safe_world_join(w, "g_a", &config);
    w->log_end[0] = 3;
    safe_connect(m);
    safe_world_calm(w);
    static const char *const joined[] = {
        "create ids/g_a",
        "create ids",
        "create /consumers/g",
        "create /consumers",
        "create /consumers/g",
        "create ids",
        "create ids/g_a",
        "getData w /brokers/topics/t",
        "getChildren w ids",
        "getData ids/g_a",
        "getChildren owners/t",
        "create owners/t",
        "create owners",
        "create owners/t",
        "multi create owners/t/0 = g_a-0; setData owners/t/0 = g_a-0 v0; "
        "create owners/t/1 = g_a-0; setData owners/t/1 = g_a-0 v0",
        "getData offsets/t/0",
        "exists w owners/t/0",
        "getData offsets/t/1",
        "exists w owners/t/1",
        NULL,
    };
    safe_expect(m, joined);
    assert_true(m->is_registered && m->is_settled);
    assert_string_equal(zk_safe_state_name(m->machine), "owning");
    assert_true(safe_gate_is_open(m, 0) && safe_gate_is_open(m, 1));
    assert_true(safe_take(m, 0) && safe_take(m, 0));
    safe_finish(m, 0);
    safe_leave(m);
    safe_world_calm(w);
    static const char *const left[] = {
        "multi create offsets/t/0 = 2; delete owners/t/0 v1",
        "multi create offsets/t/1 = 0; delete owners/t/1 v1",
        "create offsets/t",
        "create offsets",
        "create offsets/t",
        "multi create offsets/t/0 = 2; delete owners/t/0 v1; "
        "create offsets/t/1 = 0; delete owners/t/1 v1",
        NULL,
    };
    safe_expect(m, left);
    assert_null(m->machine);
    assert_string_equal(fake_zk_text(w->zk, SAFE_OFFSETS "0"), "2");
    assert_false(fake_zk_exists(w->zk, SAFE_IDS "g_a"));
    safe_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_member_registers_claims_delivers_and_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
