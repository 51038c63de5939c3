#include "tests/unit/test.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/auth.h"

static const struct auth_case {
    const char *text, *scheme, *credentials; /* NULL: no credentials of this form */
} cases[] = {
    {"digest:user:password", "digest", "user:password"},
    {"digest:user:", "digest", "user:"}, /* an empty password is one */
    {"digest:user:a:b", "digest", "user:a:b"},
    {"x509:CN=me", "x509", "CN=me"},
    {"abcdefghijklmnopqrstuvwxyz01234:c", "abcdefghijklmnopqrstuvwxyz01234", "c"},
    {"abcdefghijklmnopqrstuvwxyz012345:c", NULL, NULL},
    {"digest:user", NULL, NULL},
    {"digest::password", NULL, NULL},
    {"digest:", NULL, NULL},
    {"digest", NULL, NULL},
    {":user:password", NULL, NULL},
    {"di gest:user:password", NULL, NULL},
    {"", NULL, NULL},
};

static void test_split(void **state)
{
    (void)state;
    for (const struct auth_case *c = cases; c < cases + ARRAY_LEN(cases); c++) {
        char scheme[ZK_AUTH_SCHEME_SIZE];
        struct bytes credentials;
        bool is_good = zk_auth_split(c->text, scheme, &credentials);
        if (is_good != (c->scheme != NULL))
            fail_msg("%s: %s", c->text, is_good ? "taken" : "refused");
        if (is_good &&
            (strcmp(scheme, c->scheme) != 0 || !bytes_equal_text(credentials, c->credentials)))
            fail_msg("%s: split into %s and %.*s", c->text, scheme, (int)credentials.len,
                     (const char *)credentials.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_split)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
