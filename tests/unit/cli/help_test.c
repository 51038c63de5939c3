#include "tests/unit/test.h"
#include "zkconsumer/cli/help.h"
#include <zkconsumer/version.h>

static const struct cli_option options[] = {
    {"topic", 't', "TOPIC[:STREAMS]", true, "What to read.\nMay be given again."},
    {"zookeeper zkconnect", 0, "HOSTS", false, ".dots at the beginning, back\\slashes"},
    {"quiet", 'q', NULL, false,
     "A text that is long enough to be broken into more than one line, since it has more than "
     "eighty characters, and then a word that is longer than a line: "
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
};
static const struct cli_pair examples[] = {{"zkconsumer demo it -q", "Does it."}};
static const struct cli_pair exits[] = {{"0", "done"}, {"3", "not reached"}};

static const struct cli_command command = {
    .name = "demo it",
    .summary = "Shows how help looks",
    .synopsis = "[OPTION ...] TOPIC\n--quiet",
    .description = "One paragraph.\nAnother.",
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
};

static const struct cli_command bare = {
    .name = "", .summary = "Has \"quotes\"", .synopsis = "FILE", .description = "'twas `^~"};

static void test_text(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 10000);
    help_append_text("zkconsumer demo it", &command, &out);
    assert_string_equal(
        buf_text(&out),
        "Usage: zkconsumer demo it [OPTION ...] TOPIC\n"
        "       zkconsumer demo it --quiet\n"
        "\n"
        "Shows how help looks.\n"
        "\n"
        "One paragraph.\n"
        "\n"
        "Another.\n"
        "\n"
        "Options:\n"
        "  -t, --topic=TOPIC[:STREAMS] ...\n"
        "      What to read.\n"
        "      May be given again.\n"
        "  --zookeeper=HOSTS, --zkconnect\n"
        "      .dots at the beginning, back\\slashes\n"
        "  -q, --quiet\n"
        "      A text that is long enough to be broken into more than one line, since it\n"
        "      has more than eighty characters, and then a word that is longer than a\n"
        "      line:\n"
        "      "
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "\n"
        "\n"
        "Examples:\n"
        "  zkconsumer demo it -q\n"
        "      Does it.\n"
        "\n"
        "Exit status:\n"
        "  0         done\n"
        "  3         not reached\n");
    buf_deinit(&out);
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is missing in:\n%s", part, text);
}

static void test_manual_page(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 10000);
    help_append_man("zkconsumer demo it", &command, "zkconsumer other", &out);
    const char *page = buf_text(&out);
    expect(page, ".TH ZKCONSUMER-DEMO-IT 1 ");
    expect(page, ".SH NAME\nzkconsumer\\-demo\\-it \\- Shows how help looks\n");
    expect(page, ".SH SYNOPSIS\n.B zkconsumer demo it\n[OPTION ...] TOPIC\n.br\n"
                 ".B zkconsumer demo it\n\\-\\-quiet\n");
    expect(page, ".SH DESCRIPTION\nOne paragraph.\n.PP\nAnother.\n");
    expect(page, ".TP\n.B \\-t, \\-\\-topic=TOPIC[:STREAMS] ...\nWhat to read.\n.br\n");
    expect(page, ".TP\n.B \\-\\-zookeeper=HOSTS, \\-\\-zkconnect\n"
                 "\\&.dots at the beginning, back\\eslashes\n");
    expect(page, ".SH EXAMPLES\n.TP\n.B zkconsumer demo it \\-q\nDoes it.\n");
    expect(page, ".SH EXIT STATUS\n.TP\n.B 0\ndone\n");
    expect(page, ".SH SEE ALSO\n.BR zkconsumer (1),\n.BR other (1)\n");
    buf_clear(&out);
    help_append_man("kafka-demo", &bare, "zkconsumer", &out);
    assert_string_equal(buf_text(&out), ".TH KAFKA-DEMO 1 \"\" \"zkconsumer " ZKC_VERSION_TEXT
                                        "\" \"User Commands\"\n.nh\n.ad l\n"
                                        ".SH NAME\nkafka\\-demo \\- Has \\(dqquotes\\(dq\n"
                                        ".SH SYNOPSIS\n.B kafka\\-demo\nFILE\n"
                                        ".SH DESCRIPTION\n\\&\\(aqtwas \\(ga\\(ha\\(ti\n"
                                        ".SH SEE ALSO\n.BR zkconsumer (1)\n");
    buf_deinit(&out);
}

static void test_overview_lists_the_commands(void **state)
{
    (void)state;
    const struct cli_command *const commands[] = {&command, &bare};
    const struct cli_program program = {
        .name = "prog",
        .summary = "what it is",
        .text = "First.\nSecond.",
        .commands = {commands, ARRAY_LEN(commands)},
        .exits = exits,
        .exit_count = ARRAY_LEN(exits),
    };
    struct buf out;
    buf_init(&out, 10000);
    help_append_overview(&program, &out);
    expect(buf_text(&out), "Usage: prog COMMAND");
    expect(buf_text(&out),
           "\nCommands:\n  demo it           Shows how help looks\n\nExit status:\n");
    expect(buf_text(&out), "  3         not reached\n");
    buf_clear(&out);
    help_append_overview_man(&program, &out);
    expect(buf_text(&out), ".TH PROG 1 ");
    expect(buf_text(&out), ".SH NAME\nprog \\- what it is\n");
    expect(buf_text(&out), ".BR prog\\-demo\\-it (1)\nShows how help looks\n.SH EXIT STATUS\n");
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_manual_page),
        cmocka_unit_test(test_overview_lists_the_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
