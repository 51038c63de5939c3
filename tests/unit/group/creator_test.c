#include "tests/support/fake_zk.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/group/creator.h"

#define PATH "/a/b/c/d"

/* What is there at first, and which creates follow. */
static const struct depth_case {
    const char *name;
    const char *exists; /* NULL: nothing */
    const char *creates[8];
    int want;
} depths[] = {
    {"parent is there", "/a/b/c", {"/a/b/c/d"}, ZK_OK},
    {"one missing", "/a/b", {"/a/b/c/d", "/a/b/c", "/a/b/c/d"}, ZK_OK},
    {"two missing", "/a", {"/a/b/c/d", "/a/b/c", "/a/b", "/a/b/c", "/a/b/c/d"}, ZK_OK},
    {"all missing",
     NULL,
     {"/a/b/c/d", "/a/b/c", "/a/b", "/a", "/a/b", "/a/b/c", "/a/b/c/d"},
     ZK_OK},
    {"is there itself", "/a/b/c/d", {"/a/b/c/d"}, ZK_NODE_EXISTS},
};

static void check_op(const struct zk_op *op, bool is_leaf)
{
    assert_int_equal(op->type, ZK_OP_CREATE);
    assert_int_equal(op->ephemeral, is_leaf);
    assert_true(is_leaf ? bytes_equal_text(op->data, "data") : bytes_is_null(op->data));
}

static void test_parents_are_made(void **state)
{
    (void)state;
    for (const struct depth_case *c = depths; c < depths + ARRAY_LEN(depths); c++) {
        struct fake_zk *zk = fake_zk_new();
        int64_t session = fake_zk_open(zk);
        if (c->exists)
            fake_zk_put(zk, c->exists, "old");
        struct creator creator;
        struct zk_op op;
        int zk_rc = 1;
        assert_int_equal(creator_begin(&creator, PATH, bytes_of_text("data"), true, &op), ZKC_OK);
        size_t i = 0;
        do {
            if (!c->creates[i] || strcmp(op.path, c->creates[i]) != 0)
                fail_msg("%s: create %zu is %s", c->name, i, op.path);
            check_op(&op, strcmp(op.path, PATH) == 0);
            i++;
        } while (creator_next(&creator, fake_zk_run(zk, session, &op)->zk_rc, &op, &zk_rc));
        if (c->creates[i] || zk_rc != c->want)
            fail_msg("%s: ended after %zu creates with %d", c->name, i, zk_rc);
        assert_int_equal(fake_zk_owner(zk, PATH), c->want == ZK_OK ? session : 0);
        creator_deinit(&creator);
        fake_zk_free(zk);
    }
}

/* Answers one after the other; after the last one it must have ended. */
static const struct answers_case {
    const char *name;
    int answers[12];
    size_t count;
    int want;
} scripts[] = {
    {"parent made by another", {ZK_NO_NODE, ZK_NODE_EXISTS, ZK_OK}, 3, ZK_OK},
    {"leaf made by another", {ZK_NO_NODE, ZK_OK, ZK_NODE_EXISTS}, 3, ZK_NODE_EXISTS},
    {"leaf refused", {ZK_NO_AUTH}, 1, ZK_NO_AUTH},
    {"parent refused", {ZK_NO_NODE, ZK_NO_AUTH}, 2, ZK_NO_AUTH},
    {"parent is an ephemeral", {ZK_NO_CHILDREN_FOR_EPHEMERALS}, 1, ZK_NO_CHILDREN_FOR_EPHEMERALS},
    {"parent vanishes again", {ZK_NO_NODE, ZK_OK, ZK_NO_NODE, ZK_OK, ZK_OK}, 5, ZK_OK},
    {"nothing takes children, the root neither",
     {ZK_NO_NODE, ZK_NO_NODE, ZK_NO_NODE, ZK_NO_NODE},
     4,
     ZK_NO_NODE},
};

static void test_answers(void **state)
{
    (void)state;
    for (const struct answers_case *c = scripts; c < scripts + ARRAY_LEN(scripts); c++) {
        struct creator creator;
        struct zk_op op;
        int zk_rc = 1;
        size_t i = 0;
        assert_int_equal(creator_begin(&creator, PATH, BYTES_NULL, false, &op), ZKC_OK);
        while (i < c->count && creator_next(&creator, c->answers[i], &op, &zk_rc))
            i++;
        if (i + 1 != c->count || zk_rc != c->want)
            fail_msg("%s: ended after %zu of %zu answers with %d", c->name, i + 1, c->count, zk_rc);
        creator_deinit(&creator);
    }
}

/* Somebody deletes the parents again and again: it ends, and never with success. */
static void test_steps_are_bounded(void **state)
{
    (void)state;
    static const int again[][2] = {{ZK_NO_NODE, ZK_OK}, {ZK_NO_NODE, ZK_NODE_EXISTS}};
    for (size_t k = 0; k < ARRAY_LEN(again); k++)
        for (size_t first = 0; first < 2; first++) {
            struct creator creator;
            struct zk_op op;
            int zk_rc = ZK_OK, steps = 0;
            assert_int_equal(creator_begin(&creator, PATH, BYTES_NULL, true, &op), ZKC_OK);
            bool more = first == 0 || creator_next(&creator, ZK_NO_NODE, &op, &zk_rc);
            while (more && steps++ < 1000)
                more = creator_next(&creator, again[k][(size_t)steps % 2 == 0], &op, &zk_rc);
            assert_in_range(steps, 10, 100);
            assert_int_equal(zk_rc, ZK_NO_NODE);
            creator_deinit(&creator);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parents_are_made),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_steps_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
