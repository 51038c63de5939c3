/* zkconsumer: finds the command, reads its options, runs it. Under a name of Kafka's (a link to the
 * program) it is that tool. */
#include "zkconsumer/cli/commands.h"
#include "zkconsumer/cli/help.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/stdio_fds.h"
#include "zkconsumer/cli/suggest.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zkconsumer/version.h>

#define HELP_BYTES_MAX (1 << 20)

typedef void append_fn(const struct cli_command *command, struct buf *out);

static bool write_text(struct buf *text, FILE *file)
{
    const char *chars = buf_text(text);
    bool done = chars && fputs(chars, file) >= 0 && fflush(file) == 0;
    buf_deinit(text);
    return done;
}

static enum cli_exit print(struct buf *text)
{
    if (write_text(text, stdout))
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
    struct cli_commands all = commands_all();
    struct buf text;
    buf_init(&text, HELP_BYTES_MAX);
    (is_man ? help_append_overview_man : help_append_overview)(all.list, all.count, &text);
    return print(&text);
}

static enum cli_exit print_version(void)
{
    bool done = printf("zkconsumer %s\n", ZKC_VERSION_TEXT) >= 0 && fflush(stdout) == 0;
    return done ? CLI_DONE : CLI_FAILED;
}

/* The commands whose names begin with this word. */
static void list_commands(FILE *file, const char *word)
{
    struct cli_commands all = commands_all();
    size_t len = strlen(word);
    for (size_t i = 0; i < all.count; i++)
        if (strncmp(all.list[i]->name, word, len) == 0 && all.list[i]->name[len] == ' ')
            fprintf(file, "  zkconsumer %s\n      %s\n", all.list[i]->name, all.list[i]->summary);
}

/* The second word of a command of two; NULL or an option: there is none. */
static void refuse_second(const char *first, const char *second)
{
    struct cli_commands all = commands_all();
    size_t len = strlen(first);
    struct suggestion near;
    if (!second || *second == '-') {
        report_error("\"%s\" needs to be told what to do:", first);
        return;
    }
    suggestion_init(&near, second, strlen(second));
    for (size_t i = 0; i < all.count; i++) {
        const char *name = all.list[i]->name;
        if (strncmp(name, first, len) == 0 && name[len] == ' ')
            suggestion_offer(&near, name + len + 1, strlen(name + len + 1));
    }
    if (suggestion_is_near(&near))
        report_error("unknown command \"%s %s\"; did you mean \"%s %.*s\"? There are:", first,
                     second, first, (int)near.nearest_len, near.nearest);
    else
        report_error("unknown command \"%s %s\"; there are:", first, second);
}

static enum cli_exit refuse_command(char *const *argv)
{
    struct cli_commands all = commands_all();
    if (commands_begin_with(all, argv[0])) {
        refuse_second(argv[0], argv[1]);
        list_commands(stderr, argv[0]);
        return CLI_FAILED;
    }
    struct suggestion near;
    suggestion_init(&near, argv[0], strlen(argv[0]));
    for (size_t i = 0; i < all.count; i++)
        suggestion_offer(&near, all.list[i]->name, strcspn(all.list[i]->name, " "));
    if (suggestion_is_near(&near))
        report_error("unknown command \"%s\"; did you mean \"%.*s\"?", argv[0],
                     (int)near.nearest_len, near.nearest);
    else
        report_error("unknown command \"%s\"; zkconsumer help lists the commands", argv[0]);
    return CLI_FAILED;
}

/* ---- help ---- */

static bool write_page(const char *folder, const struct cli_command *command)
{
    struct cli_commands all = commands_all();
    char path[4096];
    struct buf text;
    buf_init(&text, HELP_BYTES_MAX);
    if (command)
        help_append_man(command, &text);
    else
        help_append_overview_man(all.list, all.count, &text);
    snprintf(path, sizeof path, "%s/zkconsumer%s%s.1", folder, command ? "-" : "",
             command ? command->name : "");
    for (char *c = path + strlen(folder); *c; c++)
        if (*c == ' ')
            *c = '-';
    FILE *file = fopen(path, "we");
    bool done = file && write_text(&text, file);
    done = file && fclose(file) == 0 && done;
    if (!done)
        report_error("%s: %s", path, strerror(errno));
    return done;
}

/* zkconsumer help --man-pages FOLDER: a page for each command, and zkconsumer.1. */
static enum cli_exit write_pages(const char *folder)
{
    struct cli_commands all = commands_all();
    if (!write_page(folder, NULL))
        return CLI_FAILED;
    for (size_t i = 0; i < all.count; i++)
        if (!write_page(folder, all.list[i]))
            return CLI_FAILED;
    return CLI_DONE;
}

static enum cli_exit run_help(int argc, char *const *argv)
{
    if (argc == 2 && strcmp(argv[0], "--man-pages") == 0)
        return write_pages(argv[1]);
    bool is_man = argc > 0 && strcmp(argv[0], "--man") == 0;
    argc -= is_man;
    argv += is_man;
    if (argc == 0)
        return print_overview(is_man);
    int words;
    const struct cli_command *command = commands_find(commands_all(), argc, argv, &words);
    if (!command && argc == 1)
        command = commands_find_kafka(commands_all(), argv[0]);
    else if (command && words != argc)
        command = NULL;
    if (command)
        return print_command(command, is_man ? help_append_man : help_append_text);
    if (argc > 1 || is_man || !commands_begin_with(commands_all(), argv[0]))
        return refuse_command(argv);
    list_commands(stdout, argv[0]);
    return fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
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

/* ---- running ---- */

static enum cli_exit run_command(const struct cli_command *command, const char *called_as, int argc,
                                 char *const *argv)
{
    if (asks_for("--help", argc, argv) || asks_for("-h", argc, argv))
        return print_command(command, help_append_text);
    if (asks_for("--version", argc, argv))
        return print_version();
    struct cli_args args;
    char why[512];
    if (!cli_args_init(&args, command->options, command->option_count, argc, argv, why,
                       sizeof why)) {
        report_error("%s", why);
        report_error("zkconsumer %s --help describes the command", command->name);
        return CLI_FAILED;
    }
    args.called_as = called_as;
    enum cli_exit code = command->run(&args);
    cli_args_deinit(&args);
    return code;
}

static void append_classes(struct buf *out)
{
    struct cli_commands all = commands_all();
    for (size_t i = 0; i < all.count; i++) {
        const char *class = all.list[i]->kafka ? strstr(all.list[i]->kafka, "kafka.tools.") : NULL;
        if (class)
            buf_appendf(out, "  %s\n      %s\n", class, all.list[i]->summary);
    }
}

static enum cli_exit run_class(int argc, char *const *argv)
{
    const struct cli_command *command = argc ? commands_find_kafka(commands_all(), argv[0]) : NULL;
    if (command)
        return run_command(command, argv[0], argc - 1, argv + 1);
    if (argc && (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0))
        return print_version();
    bool is_help = argc && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
    struct buf text;
    buf_init(&text, HELP_BYTES_MAX);
    if (is_help)
        buf_append_text(&text, "Usage: kafka-run-class CLASS [OPTION ...]\n\nClasses:\n");
    append_classes(&text);
    if (is_help)
        return print(&text);
    if (argc)
        report_error("there is no class %s here; there are:", argv[0]);
    else
        report_error("which class? There are:");
    fputs(buf_text(&text) ? buf_text(&text) : "", stderr);
    buf_deinit(&text);
    return CLI_FAILED;
}

static enum cli_exit run_program(int argc, char *const *argv)
{
    if (argc == 0) {
        report_error("no command; zkconsumer --help lists the commands");
        return CLI_FAILED;
    }
    if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0)
        return print_version();
    if (strcmp(argv[0], "help") == 0)
        return run_help(argc - 1, argv + 1);
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
        return print_overview(false);
    int words;
    const struct cli_command *command = commands_find(commands_all(), argc, argv, &words);
    if (!command)
        return refuse_command(argv);
    return run_command(command, NULL, argc - words, argv + words);
}

int main(int argc, char **argv)
{
    stdio_fds_occupy();
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";
    const struct cli_command *tool = commands_find_kafka(commands_all(), name);
    argc -= argc > 0;
    argv++;
    if (tool)
        return run_command(tool, name, argc, argv);
    if (strncmp(name, KAFKA_RUN_CLASS, strlen(KAFKA_RUN_CLASS)) == 0)
        return run_class(argc, argv);
    return run_program(argc, argv);
}
