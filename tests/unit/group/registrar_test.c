#include "tests/unit/test.h"
#include "zkconsumer/core/group/registrar.h"

#define PATH "/consumers/g/ids/g_me"

struct answer {
    int zk_rc;
    const char *data;
};

/* A script of answers; `asks` is what is asked for, a letter an operation: c create, g get. */
static const struct registrar_case {
    const char *name;
    struct answer answers[8];
    const char *asks;
    enum registrar_step want;
    int zk_rc;
} cases[] = {
    {"free", {{ZK_OK, NULL}}, "c", REGISTRAR_DONE, ZK_OK},
    {"parents are made",
     {{ZK_NO_NODE, NULL}, {ZK_NO_NODE, NULL}, {ZK_OK, NULL}, {ZK_OK, NULL}, {ZK_OK, NULL}},
     "ccccc",
     REGISTRAR_DONE,
     ZK_OK},
    {"own data: the answer was lost",
     {{ZK_NODE_EXISTS, NULL}, {ZK_OK, "mine"}},
     "cg",
     REGISTRAR_DONE,
     ZK_OK},
    {"another's data", /* read twice, as 0.8.2 does */
     {{ZK_NODE_EXISTS, NULL}, {ZK_OK, "other"}, {ZK_OK, "other"}},
     "cgg",
     REGISTRAR_WAIT,
     ZK_OK},
    {"null data",
     {{ZK_NODE_EXISTS, NULL}, {ZK_OK, NULL}, {ZK_OK, NULL}},
     "cgg",
     REGISTRAR_WAIT,
     ZK_OK},
    {"gone before the first read",
     {{ZK_NODE_EXISTS, NULL}, {ZK_NO_NODE, NULL}, {ZK_NO_NODE, NULL}, {ZK_OK, NULL}},
     "cggc",
     REGISTRAR_DONE,
     ZK_OK},
    {"gone between the reads: again at once",
     {{ZK_NODE_EXISTS, NULL}, {ZK_OK, "other"}, {ZK_NO_NODE, NULL}, {ZK_OK, NULL}},
     "cggc",
     REGISTRAR_DONE,
     ZK_OK},
    {"gone, and taken again",
     {{ZK_NODE_EXISTS, NULL},
      {ZK_OK, "other"},
      {ZK_NO_NODE, NULL},
      {ZK_NODE_EXISTS, NULL},
      {ZK_OK, "third"},
      {ZK_OK, "third"}},
     "cggcgg",
     REGISTRAR_WAIT,
     ZK_OK},
    {"the second read is ours", /* only the first is compared */
     {{ZK_NODE_EXISTS, NULL}, {ZK_OK, "other"}, {ZK_OK, "mine"}},
     "cgg",
     REGISTRAR_WAIT,
     ZK_OK},
    {"create refused", {{ZK_NO_AUTH, NULL}}, "c", REGISTRAR_FAILED, ZK_NO_AUTH},
    {"parent refused",
     {{ZK_NO_NODE, NULL}, {ZK_NO_AUTH, NULL}},
     "cc",
     REGISTRAR_FAILED,
     ZK_NO_AUTH},
    {"read refused",
     {{ZK_NODE_EXISTS, NULL}, {ZK_NO_AUTH, NULL}, {ZK_NO_AUTH, NULL}},
     "cgg",
     REGISTRAR_FAILED,
     ZK_NO_AUTH},
};

static void check_op(const struct registrar_case *c, size_t i, const struct zk_op *op)
{
    bool is_create = c->asks[i] == 'c';
    if (op->type != (is_create ? ZK_OP_CREATE : ZK_OP_GET))
        fail_msg("%s: operation %zu is a %s", c->name, i, zk_op_name(op->type));
    bool is_node = strcmp(op->path, PATH) == 0;
    assert_false(op->watch);
    assert_int_equal(op->ephemeral, is_create && is_node);
    if (is_create)
        assert_true(is_node ? bytes_equal_text(op->data, "mine") : bytes_is_null(op->data));
}

static enum registrar_step run(struct registrar *r, const struct registrar_case *c, int *zk_rc)
{
    struct zk_op op;
    enum registrar_step step = registrar_begin(r, PATH, bytes_of_text("mine"), &op, zk_rc);
    size_t i = 0;
    for (; step == REGISTRAR_SEND && c->asks[i]; i++) {
        check_op(c, i, &op);
        struct zk_result result = {.zk_rc = c->answers[i].zk_rc,
                                   .data = bytes_of_text(c->answers[i].data)};
        step = registrar_next(r, &result, &op, zk_rc);
    }
    if (c->asks[i])
        fail_msg("%s: ended after %zu operations", c->name, i);
    return step;
}

static void test_conflicts(void **state)
{
    (void)state;
    for (const struct registrar_case *c = cases; c < cases + ARRAY_LEN(cases); c++) {
        struct registrar r = {0};
        int zk_rc = 1;
        enum registrar_step step = run(&r, c, &zk_rc);
        if (step != c->want || (step == REGISTRAR_FAILED && zk_rc != c->zk_rc))
            fail_msg("%s: step %d, %d", c->name, step, zk_rc);
        registrar_deinit(&r);
    }
}

/* After a wait it tries again, for ever, with the same data. */
static void test_waits_for_ever(void **state)
{
    (void)state;
    const struct registrar_case *taken = &cases[3], *is_free = &cases[0];
    struct registrar r = {0};
    int zk_rc;
    for (unsigned i = 1; i <= 100; i++) {
        assert_int_equal(run(&r, taken, &zk_rc), REGISTRAR_WAIT);
        assert_int_equal(r.conflicts, i);
    }
    assert_int_equal(run(&r, is_free, &zk_rc), REGISTRAR_DONE);
    assert_int_equal(r.conflicts, 0);
    registrar_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conflicts),
        cmocka_unit_test(test_waits_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
