#include "tests/unit/test.h"
#include "zkconsumer/cli/options.h"

enum { TOPIC, ZOOKEEPER, QUIET, EXIT, MAX, OPTIONS };

static const struct cli_option table[OPTIONS] = {
    [TOPIC] = {"topic", 't', "TOPIC", true, "a topic"},
    [ZOOKEEPER] = {"zookeeper zkconnect zookeeper.connect", 0, "HOSTS", false, "where"},
    [QUIET] = {"quiet", 'q', NULL, false, "say less"},
    [EXIT] = {"exit-at-end", 'e', NULL, false, "end"},
    [MAX] = {"max-messages", 'c', "N", false, "how many"},
};

#define WORDS(...)                                                                                 \
    (char *[])                                                                                     \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static const struct {
    const char *name;
    char **argv;
    const char *want; /* what was given as "index=value " and operands as "value ", or the error */
} cases[] = {
    {"value after =", WORDS("--topic=a"), "0=a "},
    {"value as the next argument", WORDS("--topic", "a"), "0=a "},
    {"empty value", WORDS("--topic="), "0= "},
    {"value with = inside", WORDS("--topic=a=b"), "0=a=b "},
    {"value with leading dashes after =", WORDS("--topic=--a"), "0=--a "},
    {"negative number as a value", WORDS("--max-messages", "-5"), "4=-5 "},
    {"a single dash is a value", WORDS("--topic", "-"), "0=- "},
    {"second spelling", WORDS("--zkconnect", "h:1"), "1=h:1 "},
    {"third spelling", WORDS("--zookeeper.connect=h:1/c"), "1=h:1/c "},
    {"letter with value", WORDS("-t", "a"), "0=a "},
    {"letter with value attached", WORDS("-ta"), "0=a "},
    {"cluster of letters", WORDS("-qe"), "2 3 "},
    {"cluster that ends in a value", WORDS("-qec5"), "2 3 4=5 "},
    {"repeated", WORDS("-t", "a", "--topic=b"), "0=a 0=b "},
    {"operands among options", WORDS("x", "-q", "y"), "2 x y "},
    {"dashes end the options", WORDS("-q", "--", "-e", "--nonsense"), "2 -e --nonsense "},
    {"a single dash is an operand", WORDS("-"), "- "},

    {"unknown, near", WORDS("--topc=a"), "unknown option --topc; did you mean --topic?"},
    {"unknown, near a second spelling", WORDS("--zkconect=a"),
     "unknown option --zkconect; did you mean --zkconnect?"},
    {"unknown, cut short", WORDS("--max=5"), "unknown option --max; did you mean --max-messages?"},
    {"unknown, near nothing", WORDS("--frobnicate"),
     "unknown option --frobnicate; --help lists the options"},
    {"unknown letter", WORDS("-qx"), "unknown option -x; --help lists the options"},
    {"no value at the end", WORDS("--topic"), "--topic needs a value: --topic=TOPIC"},
    {"no value before an option", WORDS("--topic", "--quiet"),
     "--topic needs a value: --topic=TOPIC"},
    {"no value for a letter", WORDS("-t"), "--topic needs a value: --topic=TOPIC"},
    {"value for a flag", WORDS("--quiet=yes"), "--quiet takes no value"},
    {"given twice", WORDS("-q", "--quiet"), "--quiet is given twice"},
    {"given twice in two spellings", WORDS("--zookeeper=a", "--zkconnect=b"),
     "--zookeeper is given twice"},
};

static void describe(const struct cli_args *args, char *out, size_t size)
{
    size_t len = 0;
    *out = 0;
    for (size_t i = 0; i < args->given_count; i++) {
        const struct cli_given *g = &args->given[i];
        len += (size_t)snprintf(out + len, size - len, "%zu%s%s ", g->option, g->value ? "=" : "",
                                g->value ? g->value : "");
    }
    for (size_t i = 0; i < args->operand_count; i++)
        len += (size_t)snprintf(out + len, size - len, "%s ", args->operands[i]);
}

static void test_command_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cli_args args;
        char got[256];
        int argc = 0;
        while (cases[i].argv[argc])
            argc++;
        if (cli_args_init(&args, table, OPTIONS, argc, cases[i].argv, got, sizeof got)) {
            describe(&args, got, sizeof got);
            cli_args_deinit(&args);
        }
        if (strcmp(got, cases[i].want) != 0)
            fail_msg("%s: got \"%s\"", cases[i].name, got);
    }
}

static void test_values_are_found_by_option(void **state)
{
    (void)state;
    struct cli_args args;
    char why[128];
    char **argv = WORDS("-t", "a", "-q", "-t", "b");
    assert_true(cli_args_init(&args, table, OPTIONS, 5, argv, why, sizeof why));
    assert_true(cli_args_has(&args, QUIET));
    assert_false(cli_args_has(&args, EXIT));
    assert_string_equal(cli_args_value(&args, TOPIC, 0), "a");
    assert_string_equal(cli_args_value(&args, TOPIC, 1), "b");
    assert_null(cli_args_value(&args, TOPIC, 2));
    assert_string_equal(cli_args_text(&args, ZOOKEEPER, "localhost"), "localhost");
    cli_args_deinit(&args);
}

static const struct {
    const char *text;
    bool ok;
    int64_t want;
} numbers[] = {
    {"0", true, 0},
    {"-5", true, -5},
    {"+5", true, 5},
    {"100", true, 100},
    {"101", false, 0},
    {"-6", false, 0},
    {"", false, 0},
    {"-", false, 0},
    {" 1", false, 0},
    {"1 ", false, 0},
    {"1.5", false, 0},
    {"0x10", false, 0},
    {"99999999999999999999", false, 0},
};

static void test_numbers_have_a_range(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        int64_t got = 77;
        bool ok = cli_parse_number(numbers[i].text, -5, 100, &got);
        if (ok != numbers[i].ok || got != (ok ? numbers[i].want : 77))
            fail_msg("\"%s\": ok=%d got=%" PRId64, numbers[i].text, ok, got);
    }
    struct cli_args args;
    char why[128] = "";
    int64_t n = 7;
    assert_true(cli_args_init(&args, table, OPTIONS, 1, WORDS("-c0"), why, sizeof why));
    assert_false(cli_args_number(&args, MAX, 1, 9, &n, why, sizeof why));
    assert_string_equal(why, "--max-messages=0: expected a whole number, 1 .. 9");
    assert_int_equal(n, 7);
    cli_args_deinit(&args);
    assert_true(cli_args_init(&args, table, OPTIONS, 0, WORDS(NULL), why, sizeof why));
    assert_true(cli_args_number(&args, MAX, 1, 9, &n, why, sizeof why));
    assert_int_equal(n, 7);
    cli_args_deinit(&args);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command_lines),
        cmocka_unit_test(test_values_are_found_by_option),
        cmocka_unit_test(test_numbers_have_a_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
