/* zkstudy: finds the command, reads its options, runs it. */
#include "study/commands.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include <stdio.h>
#include <string.h>
#include <zkconsumer/version.h>

static const struct cli_command *const commands[] = {
    &command_sim,   &command_sweep,  &command_story,  &command_shrink,
    &command_check, &command_record, &command_import, &command_ablate,
};

static enum cli_exit written(void)
{
    return fflush(stdout) == 0 && !ferror(stdout) ? CLI_DONE : CLI_FAILED;
}

static enum cli_exit print_overview(void)
{
    printf("Usage: zkstudy COMMAND [OPTION ...]\n\n"
           "Studies how groups of consumers rebalance, in traces and in simulated worlds.\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        printf("  %-8s %s\n", commands[i]->name, commands[i]->summary);
    printf("\nzkstudy COMMAND --help describes a command.\n");
    return written();
}

static void print_option(const struct cli_option *o)
{
    char name[64], head[160];
    snprintf(head, sizeof head, "%s%s%s", cli_option_name(o, name, sizeof name),
             o->argument ? "=" : "", o->argument ? o->argument : "");
    printf("  %-22s %s\n", head, o->text);
}

static enum cli_exit print_command(const struct cli_command *c)
{
    for (const char *form = c->synopsis, *end; *form; form = end + (*end == '\n')) {
        end = strchrnul(form, '\n');
        printf("%s zkstudy %s %.*s\n", form == c->synopsis ? "Usage:" : "      ", c->name,
               (int)(end - form), form);
    }
    printf("\n%s\n\nOptions:\n", c->description);
    for (size_t i = 0; i < c->option_count; i++)
        print_option(&c->options[i]);
    if (c->example_count)
        printf("\nExamples:\n");
    for (size_t i = 0; i < c->example_count; i++)
        printf("  %s\n      %s\n", c->examples[i].term, c->examples[i].text);
    printf("\nExit codes:\n");
    for (size_t i = 0; i < c->exit_count; i++)
        printf("  %s  %s\n", c->exits[i].term, c->exits[i].text);
    return written();
}

static bool asks_for_help(int argc, char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static enum cli_exit run(const struct cli_command *c, int argc, char *const *argv)
{
    if (asks_for_help(argc, argv))
        return print_command(c);
    struct cli_args args;
    char why[512];
    if (!cli_args_init(&args, c->options, c->option_count, argc, argv, why, sizeof why)) {
        report_error("%s", why);
        report_error("zkstudy %s --help describes the command", c->name);
        return CLI_FAILED;
    }
    enum cli_exit code = c->run(&args);
    cli_args_deinit(&args);
    return code;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        report_error("no command; zkstudy --help lists the commands");
        return CLI_FAILED;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("zkstudy %s\n", ZKC_VERSION_TEXT);
        return written();
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return print_overview();
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(argv[1], commands[i]->name) == 0)
            return run(commands[i], argc - 2, argv + 2);
    report_error("unknown command \"%s\"; zkstudy --help lists the commands", argv[1]);
    return CLI_FAILED;
}
