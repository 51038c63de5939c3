#include "tests/unit/test.h"
#include "zkconsumer/cli/dispatch.h"

enum { GET, PUT, GROUP, EXECUTE, ALL, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [GET] = {"get", 0, NULL, false, "Gets."},
    [PUT] = {"put", 0, NULL, false, "Puts."},
    [GROUP] = {"group", 0, "GROUP", true, "The group."},
    [EXECUTE] = {"execute", 0, NULL, false, "Really."},
    [ALL] = {"all", 0, NULL, false, "All."},
};

/* What a command was given, as a line. */
static char got[256];

static enum cli_exit keep(const struct cli_args *args, const char *name)
{
    size_t len = (size_t)snprintf(got, sizeof got, "%s as %s:", name, args->called_as);
    for (size_t i = 0; i < args->given_count; i++)
        len += (size_t)snprintf(got + len, sizeof got - len, " %s=%s",
                                args->options[args->given[i].option].names,
                                args->given[i].value ? args->given[i].value : "");
    return CLI_PROBLEM;
}

static enum cli_exit run_get(const struct cli_args *args)
{
    return keep(args, "get");
}

static enum cli_exit run_put(const struct cli_args *args)
{
    return keep(args, "put");
}

static const struct cli_option get_options[] = {
    {"group group.id", 'G', "GROUP", false, "One group."},
};
static const struct cli_option put_options[] = {
    {"dry-run", 'n', NULL, false, "Not really."},
    {"consumer group", 0, "GROUP", true, "Groups."},
};
static const struct cli_command get = {
    .options = get_options, .option_count = ARRAY_LEN(get_options), .run = run_get};
static const struct cli_command put = {
    .options = put_options, .option_count = ARRAY_LEN(put_options), .run = run_put};

static const struct dispatch_action actions[] = {
    {.flag = GET, .command = &get},
    {.flag = PUT,
     .command = &put,
     .own = {EXECUTE, ALL},
     .own_count = 2,
     .unless = "execute",
     .word = "--dry-run"},
};

static const struct dispatch_case {
    const char *words[6];
    const char *want; /* NULL: refused */
} cases[] = {
    {{"--get", "--group=--a b"}, "get as link: group group.id=--a b"},
    {{"--group", "a", "--get"}, "get as link: group group.id=a"},
    {{"--put", "--group=a", "--group=b", "--execute"},
     "put as link: consumer group=a consumer group=b"},
    {{"--put", "--all"}, "put as link: dry-run="},
    {{"--get", "--group=a", "--group=b"}, NULL}, /* the command takes one */
    {{"--get", "--all"}, NULL},                  /* is none of its options */
    {{"--get", "--put"}, NULL},
    {{"--group=a"}, NULL},
    {{"--get", "more"}, NULL},
    {{NULL}, NULL},
};

static void test_actions(void **state)
{
    (void)state;
    for (const struct dispatch_case *c = cases; c < cases + ARRAY_LEN(cases); c++) {
        struct cli_args args;
        char why[256];
        int argc = 0;
        while (argc < 6 && c->words[argc])
            argc++;
        got[0] = 0;
        assert_true(cli_args_init(&args, options, OPTIONS, argc, (char *const *)(uintptr_t)c->words,
                                  why, sizeof why));
        args.called_as = "link";
        enum cli_exit code = dispatch(&args, actions, ARRAY_LEN(actions));
        cli_args_deinit(&args);
        assert_int_equal(code, c->want ? CLI_PROBLEM : CLI_FAILED);
        assert_string_equal(got, c->want ? c->want : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_actions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
