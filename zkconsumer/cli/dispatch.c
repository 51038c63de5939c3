#include "zkconsumer/cli/dispatch.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/buf.h"
#include <string.h>

#define WORDS_BYTES_MAX ((size_t)1 << 20)

static size_t first_len(const struct cli_option *o)
{
    return strcspn(o->names, " ");
}

static const struct dispatch_action *choose(const struct cli_args *args,
                                            const struct dispatch_action *actions, size_t count)
{
    const struct dispatch_action *chosen = NULL;
    struct buf names;
    size_t asked = 0;
    buf_init(&names, 1024);
    for (size_t i = 0; i < count; i++) {
        const struct cli_option *flag = &args->options[actions[i].flag];
        buf_appendf(&names, "%s--%.*s", i ? ", " : "", (int)first_len(flag), flag->names);
        if (!cli_args_has(args, actions[i].flag))
            continue;
        chosen = &actions[i];
        asked++;
    }
    if (asked != 1)
        report_error("Command must include exactly one action: %s",
                     buf_text(&names) ? buf_text(&names) : "");
    buf_deinit(&names);
    return asked == 1 ? chosen : NULL;
}

static bool is_own(const struct dispatch_action *action, size_t option)
{
    size_t i = 0;
    while (i < action->own_count && action->own[i] != option)
        i++;
    return i < action->own_count || option == action->flag;
}

static bool knows(const struct cli_command *command, const struct cli_option *o)
{
    size_t i = 0;
    while (i < command->option_count &&
           !cli_names_contain(command->options[i].names, o->names, first_len(o)))
        i++;
    return i < command->option_count;
}

static bool has_named(const struct cli_args *args, const char *name)
{
    for (size_t i = 0; i < args->given_count; i++)
        if (cli_names_contain(args->options[args->given[i].option].names, name, strlen(name)))
            return true;
    return false;
}

/* The command line of the action's command. NULL: reported. */
static char **make_words(const struct cli_args *args, const struct dispatch_action *action,
                         struct arena *arena, int *count)
{
    char **words = arena_alloc_array(arena, args->given_count + 1, sizeof *words);
    *count = 0;
    for (size_t i = 0; words && i < args->given_count; i++) {
        const struct cli_given *given = &args->given[i];
        const struct cli_option *o = &args->options[given->option];
        const struct cli_option *flag = &args->options[action->flag];
        if (is_own(action, given->option))
            continue;
        if (!knows(action->command, o)) {
            report_error("--%.*s does nothing with --%.*s", (int)first_len(o), o->names,
                         (int)first_len(flag), flag->names);
            return NULL;
        }
        words[(*count)++] = arena_format(arena, "--%.*s%s%s", (int)first_len(o), o->names,
                                         given->value ? "=" : "", given->value ? given->value : "");
    }
    if (words && action->word && !has_named(args, action->unless))
        words[(*count)++] = arena_format(arena, "%s", action->word);
    if (words && !arena->failed)
        return words;
    report_error("out of memory");
    return NULL;
}

enum cli_exit dispatch(const struct cli_args *args, const struct dispatch_action *actions,
                       size_t count)
{
    struct arena arena;
    struct cli_args passed;
    char why[512];
    int word_count;
    enum cli_exit code = CLI_FAILED;
    const struct dispatch_action *action =
        report_takes_no_operands(args) ? choose(args, actions, count) : NULL;
    if (!action)
        return CLI_FAILED;
    arena_init(&arena, WORDS_BYTES_MAX);
    char **words = make_words(args, action, &arena, &word_count);
    if (words && cli_args_init(&passed, action->command->options, action->command->option_count,
                               word_count, words, why, sizeof why)) {
        passed.called_as = args->called_as;
        code = action->command->run(&passed);
        cli_args_deinit(&passed);
    } else if (words) {
        report_error("%s", why);
    }
    arena_deinit(&arena);
    return code;
}
