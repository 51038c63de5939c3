#include "zkconsumer/cli/program.h"
#include "zkconsumer/cli/help.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/suggest.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zkconsumer/version.h>

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

static enum cli_exit print_version(const struct cli_program *p)
{
    bool done = printf("%s %s\n", p->name, ZKC_VERSION_TEXT) >= 0 && fflush(stdout) == 0;
    return done ? CLI_DONE : CLI_FAILED;
}

/* What a command of the program is called by. */
static const char *words_of(const struct cli_program *p, const struct cli_command *c, char *out,
                            size_t size)
{
    snprintf(out, size, "%s %s", p->name, c->name);
    return out;
}

/* ---- commands that are none ---- */

/* The commands whose names begin with this word. */
static void list_commands(const struct cli_program *p, FILE *file, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i < p->commands.count; i++) {
        const struct cli_command *c = p->commands.list[i];
        if (strncmp(c->name, word, len) == 0 && c->name[len] == ' ')
            fprintf(file, "  %s %s\n      %s\n", p->name, c->name, c->summary);
    }
}

/* The second word of a command of two; NULL or an option: there is none. */
static void refuse_second(const struct cli_program *p, const char *first, const char *second)
{
    size_t len = strlen(first);
    struct suggestion near;
    if (!second || *second == '-') {
        report_error("\"%s\" needs to be told what to do:", first);
        return;
    }
    suggestion_init(&near, second, strlen(second));
    for (size_t i = 0; i < p->commands.count; i++) {
        const char *name = p->commands.list[i]->name;
        if (strncmp(name, first, len) == 0 && name[len] == ' ')
            suggestion_offer(&near, name + len + 1, strlen(name + len + 1));
    }
    if (suggestion_is_near(&near))
        report_error("unknown command \"%s %s\"; did you mean \"%s %.*s\"? There are:", first,
                     second, first, (int)near.nearest_len, near.nearest);
    else
        report_error("unknown command \"%s %s\"; there are:", first, second);
}

static enum cli_exit refuse_command(const struct cli_program *p, char *const *argv)
{
    if (commands_begin_with(p->commands, argv[0])) {
        refuse_second(p, argv[0], argv[1]);
        list_commands(p, stderr, argv[0]);
        return CLI_FAILED;
    }
    struct suggestion near;
    suggestion_init(&near, argv[0], strlen(argv[0]));
    for (size_t i = 0; i < p->commands.count; i++)
        suggestion_offer(&near, p->commands.list[i]->name, strcspn(p->commands.list[i]->name, " "));
    if (suggestion_is_near(&near))
        report_error("unknown command \"%s\"; did you mean \"%.*s\"?", argv[0],
                     (int)near.nearest_len, near.nearest);
    else
        report_error("unknown command \"%s\"; %s help lists the commands", argv[0], p->name);
    return CLI_FAILED;
}

/* ---- help ---- */

static enum cli_exit print_command(const char *words, const struct cli_command *command,
                                   const char *man_of)
{
    struct buf text;
    buf_init(&text, HELP_BYTES_MAX);
    if (man_of)
        help_append_man(words, command, man_of, &text);
    else
        help_append_text(words, command, &text);
    return print(&text);
}

static enum cli_exit print_overview(const struct cli_program *p, bool is_man)
{
    struct buf text;
    buf_init(&text, HELP_BYTES_MAX);
    (is_man ? help_append_overview_man : help_append_overview)(p, &text);
    return print(&text);
}

static bool write_page(const char *folder, const char *words, struct buf *page)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.1", folder, words);
    for (char *c = path + strlen(folder); *c; c++)
        if (*c == ' ')
            *c = '-';
    FILE *file = fopen(path, "we");
    bool done = file && write_text(page, file);
    done = file && fclose(file) == 0 && done;
    if (!done)
        report_error("%s: %s", path, strerror(errno));
    return done;
}

static bool write_command_page(const char *folder, const char *words, const struct cli_command *c,
                               const char *see)
{
    struct buf page;
    buf_init(&page, HELP_BYTES_MAX);
    help_append_man(words, c, see, &page);
    return write_page(folder, words, &page);
}

/* The page of a command, and one for each of its links. */
static bool write_pages_of(const struct cli_program *p, const char *folder,
                           const struct cli_command *c)
{
    char words[256], see[256];
    words_of(p, c, words, sizeof words);
    snprintf(see, sizeof see, "%s", p->name);
    if (c->name[0]) {
        if (!write_command_page(folder, words, c, see))
            return false;
        snprintf(see, sizeof see, "%s %s", p->name, words);
        for (char *at = see + strlen(p->name) + 1; *at; at++)
            if (*at == ' ')
                *at = '-';
    }
    for (const char *at = c->kafka ? c->kafka : ""; *at;) {
        size_t len = strcspn(at, " ");
        snprintf(words, sizeof words, "%.*s", (int)len, at);
        if (!memchr(at, '.', len) && !write_command_page(folder, words, c, see))
            return false;
        at += len + (at[len] == ' ');
    }
    return true;
}

static enum cli_exit write_pages(const struct cli_program *p, const char *folder)
{
    struct buf page;
    buf_init(&page, HELP_BYTES_MAX);
    help_append_overview_man(p, &page);
    if (!write_page(folder, p->name, &page))
        return CLI_FAILED;
    for (size_t i = 0; i < p->commands.count; i++)
        if (!write_pages_of(p, folder, p->commands.list[i]))
            return CLI_FAILED;
    return CLI_DONE;
}

static enum cli_exit run_help(const struct cli_program *p, int argc, char *const *argv)
{
    if (argc == 2 && strcmp(argv[0], "--man-pages") == 0)
        return write_pages(p, argv[1]);
    char words[256];
    bool is_man = argc > 0 && strcmp(argv[0], "--man") == 0;
    argc -= is_man;
    argv += is_man;
    if (argc == 0)
        return print_overview(p, is_man);
    int count;
    const struct cli_command *command = commands_find(p->commands, argc, argv, &count);
    if (command && count != argc)
        command = NULL;
    if (command)
        return print_command(words_of(p, command, words, sizeof words), command,
                             is_man ? p->name : NULL);
    if (argc == 1 && (command = commands_find_kafka(p->commands, argv[0])))
        return print_command(argv[0], command, is_man ? p->name : NULL);
    if (argc > 1 || is_man || !commands_begin_with(p->commands, argv[0]))
        return refuse_command(p, argv);
    list_commands(p, stdout, argv[0]);
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

enum cli_exit program_run_command(const struct cli_program *p, const char *words,
                                  const struct cli_command *command, const char *called_as,
                                  int argc, char *const *argv)
{
    if (asks_for("--help", argc, argv) || asks_for("-h", argc, argv))
        return print_command(words, command, NULL);
    if (asks_for("--version", argc, argv))
        return print_version(p);
    struct cli_args args;
    char why[512];
    if (!cli_args_init(&args, command->options, command->option_count, argc, argv, why,
                       sizeof why)) {
        report_error("%s", why);
        report_error("%s --help describes the command", words);
        return CLI_FAILED;
    }
    args.called_as = called_as;
    enum cli_exit code = command->run(&args);
    cli_args_deinit(&args);
    return code;
}

enum cli_exit program_run(const struct cli_program *p, int argc, char *const *argv)
{
    if (argc == 0) {
        report_error("no command; %s --help lists the commands", p->name);
        return CLI_FAILED;
    }
    if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0)
        return print_version(p);
    if (strcmp(argv[0], "help") == 0)
        return run_help(p, argc - 1, argv + 1);
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
        return print_overview(p, false);
    int count;
    char words[256];
    const struct cli_command *command = commands_find(p->commands, argc, argv, &count);
    if (!command)
        return refuse_command(p, argv);
    return program_run_command(p, words_of(p, command, words, sizeof words), command, NULL,
                               argc - count, argv + count);
}
