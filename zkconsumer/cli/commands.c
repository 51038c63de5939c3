#include "zkconsumer/cli/commands.h"
#include <string.h>

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

const struct cli_command *commands_find(struct cli_commands all, int argc, char *const *argv,
                                        int *words)
{
    for (size_t i = 0; i < all.count; i++) {
        *words = words_of(all.list[i], argc, argv);
        if (*words)
            return all.list[i];
    }
    return NULL;
}

const struct cli_command *commands_find_kafka(struct cli_commands all, const char *name)
{
    size_t len = strlen(name);
    if (len > 3 && strcmp(name + len - 3, ".sh") == 0)
        len -= 3;
    for (size_t i = 0; i < all.count; i++)
        if (all.list[i]->kafka && cli_names_contain(all.list[i]->kafka, name, len))
            return all.list[i];
    return NULL;
}

const char *commands_class(const struct cli_command *command, size_t *len)
{
    const char *at = command->kafka ? command->kafka : "";
    for (*len = strcspn(at, " "); *len && !memchr(at, '.', *len); *len = strcspn(at, " "))
        at += *len + (at[*len] == ' ');
    return *len ? at : NULL;
}

bool commands_begin_with(struct cli_commands all, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i < all.count; i++)
        if (strncmp(all.list[i]->name, word, len) == 0 && all.list[i]->name[len] == ' ')
            return true;
    return false;
}
