#include "zkconsumer/cli/complete.h"
#include <stdio.h>
#include <string.h>

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* The first sentence of a text, as one line. */
static void append_sentence(struct buf *out, const char *text)
{
    const char *end = strstr(text, ". ");
    size_t len = end ? (size_t)(end - text) : strcspn(text, "\n");
    if (!end && len && text[len - 1] == '.')
        len--;
    buf_append(out, text, len);
    buf_append_byte(out, '\n');
}

static void append_word(struct buf *out, const char *lead, const char *word, size_t len,
                        const char *meaning)
{
    buf_appendf(out, "%s%.*s\t", lead, (int)len, word);
    append_sentence(out, meaning);
}

/* ---- values of options ---- */

struct key_search {
    struct buf *out;
    const char *lead, *typed;
};

/* A key, or, where that is typed already, the values that it has. */
static void append_key(const char *key, const char *values, const char *text, void *user)
{
    const struct key_search *search = user;
    const char *equals = strchr(search->typed, '=');
    char lead[512];
    if (!equals) {
        snprintf(lead, sizeof lead, "%s%s=", search->lead, key);
        if (begins_with(key, search->typed))
            append_word(search->out, "", lead, strlen(lead), text);
        return;
    }
    if (strlen(key) != (size_t)(equals - search->typed) || !begins_with(search->typed, key))
        return;
    snprintf(lead, sizeof lead, "%s%s=", search->lead, key);
    while (*values) {
        size_t len = strcspn(values, ",");
        if (len >= strlen(equals + 1) && begins_with(values, equals + 1))
            append_word(search->out, lead, values, len, text);
        values += len + strspn(values + len, ", ");
    }
}

/* "before|after" names what may be given; FILE and FOLDER are the shell's; settings are those of
 * the command; else nothing is known. */
static void append_values(struct buf *out, const struct cli_command *c, const struct cli_option *o,
                          const char *lead, const char *typed)
{
    const char *at = o->argument;
    if (strcmp(at, "KEY=VALUE") == 0 && c->keys_each) {
        c->keys_each(append_key, &(struct key_search){out, lead, typed});
        return;
    }
    if (strcmp(at, "FILE") == 0) {
        buf_append_text(out, COMPLETE_FILES "\n");
        return;
    }
    if (!strchr(at, '|'))
        return;
    while (*at) {
        size_t len = strcspn(at, "|");
        if (strncmp(at, typed, strlen(typed)) == 0 && len >= strlen(typed))
            append_word(out, lead, at, len, o->text);
        at += len + (at[len] == '|');
    }
}

static const struct cli_option *find_option(const struct cli_command *c, const char *word,
                                            size_t len)
{
    for (size_t k = 0; k < c->option_count; k++) {
        const struct cli_option *o = &c->options[k];
        if (len > 2 && cli_names_contain(o->names, word + 2, len - 2))
            return o;
        if (len == 2 && o->letter && word[1] == o->letter)
            return o;
    }
    return NULL;
}

/* The option whose value is being typed as a word of its own; NULL: none. */
static const struct cli_option *waiting_option(const struct cli_command *c,
                                               const char *const *words, size_t count)
{
    const char *before = count > 1 ? words[count - 2] : "";
    if (before[0] != '-' || strchr(before, '='))
        return NULL;
    const struct cli_option *o = find_option(c, before, strlen(before));
    return o && o->argument ? o : NULL;
}

static bool is_given(const struct cli_option *o, const struct cli_command *c,
                     const char *const *words, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++)
        if (words[i][0] == '-' && find_option(c, words[i], strcspn(words[i], "=")) == o)
            return true;
    return false;
}

static void append_options(struct buf *out, const struct cli_command *c, const char *const *words,
                           size_t count, const char *typed)
{
    for (size_t k = 0; k < c->option_count; k++) {
        const struct cli_option *o = &c->options[k];
        char name[128];
        cli_option_name(o, name, sizeof name - 1);
        if (!begins_with(name, typed) || (!o->is_repeatable && is_given(o, c, words, count)))
            continue;
        if (o->argument)
            strcat(name, "=");
        append_word(out, "", name, strlen(name), o->text);
    }
}

static void complete_command(const struct cli_command *c, const char *const *words, size_t count,
                             struct buf *out)
{
    const char *typed = words[count - 1];
    const char *equals = typed[0] == '-' ? strchr(typed, '=') : NULL;
    const struct cli_option *waiting = waiting_option(c, words, count);
    if (waiting) {
        append_values(out, c, waiting, "", typed);
    } else if (equals) {
        const struct cli_option *o = find_option(c, typed, (size_t)(equals - typed));
        char lead[256];
        snprintf(lead, sizeof lead, "%.*s", (int)(equals + 1 - typed), typed);
        if (o && o->argument)
            append_values(out, c, o, lead, equals + 1);
    } else {
        append_options(out, c, words, count, typed);
        for (const char *at = c->words ? c->words : ""; *at;) {
            size_t len = strcspn(at, " ");
            if (strncmp(at, typed, strlen(typed)) == 0)
                append_word(out, "", at, len, c->summary);
            at += len + (at[len] == ' ');
        }
    }
}

/* ---- names of commands ---- */

static bool is_first_with(struct cli_commands all, size_t command, size_t prefix_len)
{
    const char *name = all.list[command]->name;
    for (size_t i = 0; i < command; i++) {
        const char *other = all.list[i]->name;
        if (strncmp(other, name, prefix_len) == 0 &&
            (other[prefix_len] == ' ' || other[prefix_len] == 0))
            return false;
    }
    return true;
}

/* The next word of each command that begins with the words typed so far. */
static void append_names(struct cli_commands all, const char *const *words, size_t count,
                         struct buf *out)
{
    const char *typed = words[count - 1];
    for (size_t i = 0; i < all.count; i++) {
        const char *at = all.list[i]->name;
        size_t word = 0;
        while (word + 1 < count) {
            size_t len = strcspn(at, " ");
            if (strlen(words[word]) != len || memcmp(words[word], at, len) != 0 || !at[len])
                break;
            at += len + 1;
            word++;
        }
        size_t len = strcspn(at, " ");
        if (word + 1 < count || !len || !begins_with(at, typed) ||
            !is_first_with(all, i, (size_t)(at - all.list[i]->name) + len))
            continue;
        if (at[len])
            append_word(out, "", at, len, "several commands");
        else
            append_word(out, "", at, len, all.list[i]->summary);
    }
}

static void append_classes(struct cli_commands all, const char *typed, struct buf *out)
{
    size_t len;
    for (size_t i = 0; i < all.count; i++) {
        const char *class = commands_class(all.list[i], &len);
        if (class && begins_with(class, typed))
            append_word(out, "", class, len, all.list[i]->summary);
    }
}

void complete_append(struct cli_commands all, const char *const *words, size_t count,
                     struct buf *out)
{
    if (count < 2)
        return;
    const char *slash = strrchr(words[0], '/');
    const char *program = slash ? slash + 1 : words[0];
    const struct cli_command *c = commands_find_kafka(all, program);
    if (begins_with(program, KAFKA_RUN_CLASS)) {
        if (count == 2) {
            append_classes(all, words[1], out);
            return;
        }
        c = commands_find_kafka(all, words[1]);
        words++;
        count--;
        if (!c)
            return;
    }
    if (c) {
        complete_command(c, words + 1, count - 1, out);
        return;
    }
    words++;
    count--;
    bool asks_for_help = count > 1 && strcmp(words[0], "help") == 0;
    int named = 0;
    if (!asks_for_help)
        c = commands_find(all, (int)count - 1, (char *const *)(uintptr_t)words, &named);
    if (c) {
        complete_command(c, words + named, count - (size_t)named, out);
        return;
    }
    append_names(all, words + asks_for_help, count - asks_for_help, out);
    if (count == 1 && begins_with("help", words[0]))
        append_word(out, "", "help", 4, "describes a command");
}
