#include "tests/unit/group/world.h"
#include "tests/unit/test.h"
static void test_join(void **state)
{
    (void)state;
    struct world *w = world_new(&(struct world_options){.seed = 1});
    world_put_topic(w, "t", 4);
    struct zk_compat_config c = world_config();
    struct world_member *m = world_join(w, &c);
    world_settle(w, 1000);
    for (size_t i = 0; i < world_asked_count(m); i++)
        printf("%s\n", world_asked(m, i));
    world_check_settled(w);
    struct world_member *m2 = world_join(w, &c);
    world_settle(w, 1000);
    world_check_settled(w);
    printf("%d attempts m1, %d m2, outs %zu\n", m->attempts, m2->attempts, m->outputs_max);
    world_leave(m);
    world_settle(w, 1000);
    world_check_settled(w);
    world_free(w);
}
int main(void)
{
    const struct CMUnitTest t[] = {cmocka_unit_test(test_join)};
    return cmocka_run_group_tests(t, NULL, NULL);
}
