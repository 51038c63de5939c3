#include "tests/unit/test.h"
#include "zkconsumer/cli/property_option.h"

/* 255 bytes, the longest key; and one more. */
#define KEY_15  "123456789012345"
#define KEY_60  KEY_15 KEY_15 KEY_15 KEY_15
#define KEY_255 KEY_60 KEY_60 KEY_60 KEY_60 KEY_15

static const struct cli_option table[] = {{"property", 'X', "KEY=VALUE", true, "a setting"}};

static const struct {
    const char *given[3];
    const char *want; /* what was taken, "key>value " each */
    bool ok;
} cases[] = {
    {{NULL}, "", true},
    {{"a=b"}, "a>b ", true},
    {{"a=b", "c=d", "a=e"}, "a>b c>d a>e ", true},
    {{"a="}, "a> ", true},
    {{"a=b=c"}, "a>b=c ", true},
    {{KEY_255 "=b"}, KEY_255 ">b ", true},
    {{KEY_255 "6=b"}, "", false},
    {{""}, "", false},
    {{"a"}, "", false},
    {{"=b"}, "", false},
    {{"a=b", "c", "e=f"}, "a>b ", false},
    {{"a=b", "refused=d", "e=f"}, "a>b ", false},
};

static bool take(const char *key, const char *value, void *user)
{
    char *got = user;
    if (strcmp(key, "refused") == 0)
        return false;
    snprintf(got + strlen(got), 512 - strlen(got), "%s>%s ", key, value);
    return true;
}

static void test_keys_and_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char got[512] = "";
        struct cli_given given[3] = {{0}};
        struct cli_args args = {.options = table, .option_count = 1, .given = given};
        for (size_t n = 0; n < 3 && cases[i].given[n]; n++)
            given[args.given_count++].value = cases[i].given[n];
        bool ok = property_option_each(&args, 0, take, got);
        if (ok != cases[i].ok || strcmp(got, cases[i].want) != 0)
            fail_msg("case %zu: %d, got \"%s\"", i, ok, got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_and_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
