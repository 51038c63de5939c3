#include "tests/unit/test.h"
#include "zkconsumer/cli/complete.h"

static const struct cli_option options[] = {
    {"commit", 0, "before|after", false, "When. And more."},
    {"config consumer.config", 'F', "FILE", false, "A file."},
    {"topic", 't', "TOPIC", true, "What to read\nand more"},
    {"quiet", 'q', NULL, false, "Says less."},
    {"set", 'X', "KEY=VALUE", true, "A setting."},
};

static void keys_each(cli_key_fn *fn, void *user)
{
    fn("mode", "safe, compat, sane", "How. And why.", user);
    fn("mode.depth", "", "How deep.", user);
    fn("on", "true, false", "Whether.", user);
}

#define COMMAND(n, k, w)                                                                           \
    {                                                                                              \
        .name = n, .kafka = k, .summary = n " it", .words = w, .options = options,                 \
        .option_count = ARRAY_LEN(options), .keys_each = keys_each                                 \
    }

static const struct cli_command take = COMMAND("take", "kafka-take kafka.tools.Take", NULL);
static const struct cli_command list = COMMAND("groups list", NULL, NULL);
static const struct cli_command drop = COMMAND("groups drop", "kafka.tools.Drop", NULL);
static const struct cli_command shells = COMMAND("shells", NULL, "bash zsh");
static const struct cli_command link = COMMAND("", "kafka-link kafka.admin.Link", NULL);
static const struct cli_command *const all[] = {&take, &list, &drop, &shells, &link};

static const struct complete_case {
    const char *line; /* words separated by blanks; a blank at the end begins a new one */
    const char *want; /* words separated by blanks, without what they mean */
} cases[] = {
    {"zkconsumer ", "take groups shells help"},
    {"zkconsumer g", "groups"},
    {"zkconsumer x", ""},
    {"zkconsumer groups ", "list drop"},
    {"zkconsumer groups d", "drop"},
    {"zkconsumer groups nothing ", ""},
    {"zkconsumer help gr", "groups"},
    {"zkconsumer help groups l", "list"},
    {"zkconsumer shells ", "--commit= --config= --topic= --quiet --set= bash zsh"},
    {"zkconsumer shells z", "zsh"},
    {"zkconsumer take -X ", "mode= mode.depth= on="},
    {"zkconsumer take -X mo", "mode= mode.depth="},
    {"zkconsumer take -X mode=s", "mode=safe mode=sane"},
    {"zkconsumer take -X mode.depth=", ""},
    {"zkconsumer take --set=mode=c", "--set=mode=compat"},
    {"zkconsumer take --set=mode.", "--set=mode.depth="},
    {"zkconsumer take --set on=", "on=true on=false"},
    {"zkconsumer take --set off=", ""},
    {"zkconsumer take --c", "--commit= --config="},
    {"zkconsumer take --quiet --q", ""},
    {"zkconsumer take -q --q", ""},
    {"zkconsumer take --topic=a --t", "--topic="},
    {"zkconsumer take --consumer.config=x --conf", ""},
    {"zkconsumer take --commit ", "before after"},
    {"zkconsumer take --commit a", "after"},
    {"zkconsumer take --commit=", "--commit=before --commit=after"},
    {"zkconsumer take --commit=b", "--commit=before"},
    {"zkconsumer take --commit=x", ""},
    {"zkconsumer take --config ", ":files"},
    {"zkconsumer take -F ", ":files"},
    {"zkconsumer take --consumer.config=/et", ":files"},
    {"zkconsumer take --topic ", ""},
    {"zkconsumer take --nothing=", ""},
    {"/usr/bin/kafka-take --c", "--commit= --config="},
    {"kafka-take.sh --q", "--quiet"},
    {"kafka-run-class ", "kafka.tools.Take kafka.tools.Drop kafka.admin.Link"},
    {"kafka-link --q", "--quiet"},
    {"kafka-run-class kafka.tools.D", "kafka.tools.Drop"},
    {"kafka-run-class kafka.tools.Drop --q", "--quiet"},
    {"kafka-run-class kafka.tools.None --q", ""},
    {"zkconsumer", ""},
};

static void test_words(void **state)
{
    (void)state;
    for (const struct complete_case *c = cases; c < cases + ARRAY_LEN(cases); c++) {
        char room[256], got[512] = "";
        const char *words[32];
        size_t count = 0;
        snprintf(room, sizeof room, "%s", c->line);
        for (char *at = room; at; count++) {
            words[count] = at;
            at = strchr(at, ' ');
            if (at)
                *at++ = 0;
        }
        struct buf out;
        buf_init(&out, 100000);
        complete_append((struct cli_commands){all, ARRAY_LEN(all)}, words, count, &out);
        char *rest = NULL;
        for (char *line = strtok_r((char *)(uintptr_t)buf_text(&out), "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest)) {
            strcat(got, got[0] ? " " : "");
            strncat(got, line, strcspn(line, "\t"));
        }
        if (strcmp(got, c->want) != 0)
            fail_msg("\"%s\": got \"%s\", expected \"%s\"", c->line, got, c->want);
        buf_deinit(&out);
    }
}

static void test_what_words_mean(void **state)
{
    (void)state;
    struct buf out;
    const char *words[] = {"zkconsumer", "take", "--"};
    buf_init(&out, 100000);
    complete_append((struct cli_commands){all, ARRAY_LEN(all)}, words, 3, &out);
    assert_string_equal(buf_text(&out), "--commit=\tWhen\n--config=\tA file\n"
                                        "--topic=\tWhat to read\n--quiet\tSays less\n"
                                        "--set=\tA setting\n");
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_what_words_mean),
    };
    return cmocka_run_group_tests_name("complete", tests, NULL, NULL);
}
