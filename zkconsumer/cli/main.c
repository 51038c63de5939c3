/* zkconsumer: finds the command, reads its options, runs it. */
#include "zkconsumer/cli/help.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/stdio_fds.h"
#include "zkconsumer/cli/suggest.h"
#include "zkconsumer/core/base/array.h"
#include <stdio.h>
#include <string.h>
#include <zkconsumer/version.h>

static const struct cli_command *const commands[] = {
    &command_consume,
    &command_produce,
    &command_groups_list,
    &command_groups_describe,
    &command_topics_list,
    &command_topics_describe,
    &command_topics_create,
    &command_topics_add_partitions,
    &command_topics_delete,
    &command_offsets_get,
    &command_offsets_set,
};

#define HELP_BYTES_MAX (1 << 20)

typedef void append_fn(const struct cli_command *command, struct buf *out);

static enum cli_exit print(struct buf *text)
{
    const char *chars = buf_text(text);
    bool done = chars && fputs(chars, stdout) >= 0 && fflush(stdout) == 0;
    buf_deinit(text);
    if (done)
        return CLI_DONE;
    report_error("the help could not be written");
    return CLI_FAILED;
}

static enum cli_exit print_command(const struct cli_command *command, append_fn *append)
{
    struct buf text;
    buf_init(&text, HELP_BYTES_MAX);
    append(command, &text);
    return print(&text);
}

static enum cli_exit print_overview(bool is_man)
{
    struct buf text;
    buf_init(&text, HELP_BYTES_MAX);
    (is_man ? help_append_overview_man : help_append_overview)(commands, ARRAY_LEN(commands),
                                                               &text);
    return print(&text);
}

static enum cli_exit print_version(void)
{
    bool done = printf("zkconsumer %s\n", ZKC_VERSION_TEXT) >= 0 && fflush(stdout) == 0;
    return done ? CLI_DONE : CLI_FAILED;
}

/* How many of the words are the command's name; 0: they are not. */
static int words_of(const struct cli_command *command, int argc, char *const *argv)
{
    const char *name = command->name;
    for (int i = 0; i < argc; i++) {
        size_t len = strcspn(name, " ");
        if (strlen(argv[i]) != len || memcmp(argv[i], name, len) != 0)
            return 0;
        if (!name[len])
            return i + 1;
        name += len + 1;
    }
    return 0;
}

/* The command that the words begin with, and how many words name it. */
static const struct cli_command *find(int argc, char *const *argv, int *words)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        *words = words_of(commands[i], argc, argv);
        if (*words)
            return commands[i];
    }
    return NULL;
}

static bool begins_a_command(const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strncmp(commands[i]->name, word, len) == 0 && commands[i]->name[len] == ' ')
            return true;
    return false;
}

static enum cli_exit refuse_command(char *const *argv)
{
    if (begins_a_command(argv[0])) {
        report_error("\"%s\" needs to be told what to do:", argv[0]);
        for (size_t i = 0; i < ARRAY_LEN(commands); i++)
            if (strncmp(commands[i]->name, argv[0], strlen(argv[0])) == 0)
                fprintf(stderr, "  zkconsumer %s\n      %s\n", commands[i]->name,
                        commands[i]->summary);
        return CLI_FAILED;
    }
    struct suggestion near;
    suggestion_init(&near, argv[0], strlen(argv[0]));
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        suggestion_offer(&near, commands[i]->name, strcspn(commands[i]->name, " "));
    if (suggestion_is_near(&near))
        report_error("unknown command \"%s\"; did you mean \"%.*s\"?", argv[0],
                     (int)near.nearest_len, near.nearest);
    else
        report_error("unknown command \"%s\"; zkconsumer help lists the commands", argv[0]);
    return CLI_FAILED;
}

static enum cli_exit run_help(int argc, char *const *argv)
{
    bool is_man = argc > 0 && strcmp(argv[0], "--man") == 0;
    argc -= is_man;
    argv += is_man;
    if (argc == 0)
        return print_overview(is_man);
    int words;
    const struct cli_command *command = find(argc, argv, &words);
    if (!command || words != argc)
        return refuse_command(argv);
    return print_command(command, is_man ? help_append_man : help_append_text);
}

/* --help and --version win over anything else that is wrong with the line: who asks for help has
 * not got the options right yet. */
static bool asks_for(const char *word, int argc, char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

static enum cli_exit run_command(const struct cli_command *command, int argc, char *const *argv)
{
    if (asks_for("--help", argc, argv) || asks_for("-h", argc, argv))
        return print_command(command, help_append_text);
    struct cli_args args;
    char why[512];
    if (!cli_args_init(&args, command->options, command->option_count, argc, argv, why,
                       sizeof why)) {
        report_error("%s", why);
        report_error("zkconsumer %s --help describes the command", command->name);
        return CLI_FAILED;
    }
    enum cli_exit code = command->run(&args);
    cli_args_deinit(&args);
    return code;
}

int main(int argc, char **argv)
{
    stdio_fds_occupy();
    argc--;
    argv++;
    if (argc == 0) {
        report_error("no command; zkconsumer --help lists the commands");
        return CLI_FAILED;
    }
    if (asks_for("--version", argc, argv) || strcmp(argv[0], "-V") == 0)
        return print_version();
    if (strcmp(argv[0], "help") == 0)
        return run_help(argc - 1, argv + 1);
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
        return print_overview(false);
    int words;
    const struct cli_command *command = find(argc, argv, &words);
    if (!command)
        return refuse_command(argv);
    return run_command(command, argc - words, argv + words);
}
