/* Every allocation of every step of a broker's life fails once: it says so, and leaks nothing. */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/broker/machine_sim.h"
#include "tests/unit/test.h"

static size_t fail_step, fail_alloc;
static bool has_failed;

static void arm(struct sim *s)
{
    if (s->steps == fail_step)
        alloc_fail_at(fail_alloc);
}

static void disarm(struct sim *s)
{
    if (s->steps == fail_step)
        has_failed = alloc_fail_stop();
}

static bool is_over(const struct sim *s)
{
    return s->brokers[0].fatal[0] != 0;
}

/* Registration, a topic made, found, changed, deleted; the session lost and found. Returns the
 * number of steps. */
static size_t live(void)
{
    struct sim *s = sim_new(1);
    struct broker_config c = sim_config(0);
    c.default_partitions = 2;
    s->before_step = arm;
    s->after_step = disarm;
    zk_model_create(s->zk, "/brokers", NULL);
    zk_model_create(s->zk, "/brokers/ids", NULL);
    zk_model_create(s->zk, "/brokers/ids/0",
                    "{\"version\":1,\"host\":\"127.0.0.1\",\"port\":22200}");
    sim_start(s, 0, &c);
    sim_run(s);
    zk_model_delete(s->zk, "/brokers/ids/0");
    sim_run(s);
    if (!is_over(s))
        sim_create_topic(s, 0, "t");
    sim_run(s);
    zk_model_set(s->zk, "/config/topics/t", "{\"version\":1,\"config\":{\"odd\":\"1\"}}");
    sim_run(s);
    if (!is_over(s))
        sim_expire(s, 0);
    sim_run(s);
    zk_model_create(s->zk, "/admin/delete_topics/t", "");
    sim_run(s);
    if (has_failed != is_over(s))
        fail_msg("step %zu, allocation %zu: failed %d, told \"%s\"", fail_step, fail_alloc,
                 has_failed, s->brokers[0].fatal);
    if (!has_failed) {
        assert_true(s->brokers[0].is_ready);
        assert_false(zk_model_has(s->zk, "/brokers/topics/t"));
        assert_int_equal(s->brokers[0].deleted, 2);
    }
    size_t steps = s->steps;
    sim_free(s);
    return steps;
}

static void test_every_allocation(void **state)
{
    (void)state;
    fail_step = SIZE_MAX;
    has_failed = false;
    size_t steps = live(), failures = 0;
    for (fail_step = 0; fail_step < steps; fail_step++)
        for (fail_alloc = 0;; fail_alloc++) {
            has_failed = false;
            live();
            if (!has_failed)
                break;
            failures++;
        }
    assert_true(failures > 100);
}

static enum zkc_err make(const void *input)
{
    struct broker_machine *m = NULL;
    enum zkc_err err = broker_machine_new(input, &m);
    broker_machine_free(m);
    return err;
}

static void test_new(void **state)
{
    (void)state;
    struct broker_config c = sim_config(0);
    alloc_fail_each(make, &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
