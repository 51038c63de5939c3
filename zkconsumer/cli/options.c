#include "zkconsumer/cli/options.h"
#include "zkconsumer/cli/suggest.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTION_NONE SIZE_MAX

const char *cli_option_name(const struct cli_option *option, char *buffer, size_t size)
{
    snprintf(buffer, size, "--%.*s", (int)strcspn(option->names, " "), option->names);
    return buffer;
}

bool cli_names_contain(const char *names, const char *name, size_t len)
{
    while (*names) {
        size_t n = strcspn(names, " ");
        if (n == len && memcmp(names, name, len) == 0)
            return true;
        names += n + (names[n] == ' ');
    }
    return false;
}

static size_t find_name(const struct cli_args *args, const char *name, size_t len)
{
    for (size_t i = 0; i < args->option_count; i++)
        if (cli_names_contain(args->options[i].names, name, len))
            return i;
    return OPTION_NONE;
}

static size_t find_letter(const struct cli_args *args, char letter)
{
    for (size_t i = 0; i < args->option_count; i++)
        if (args->options[i].letter && args->options[i].letter == letter)
            return i;
    return OPTION_NONE;
}

static void explain_unknown(const struct cli_args *args, const char *name, size_t len, char *why,
                            size_t why_size)
{
    struct suggestion best;
    suggestion_init(&best, name, len);
    for (size_t i = 0; i < args->option_count; i++) {
        for (const char *n = args->options[i].names; *n;) {
            size_t n_len = strcspn(n, " ");
            suggestion_offer(&best, n, n_len);
            n += n_len + (n[n_len] == ' ');
        }
    }
    if (suggestion_is_near(&best))
        snprintf(why, why_size, "unknown option --%.*s; did you mean --%.*s?", (int)len, name,
                 (int)best.nearest_len, best.nearest);
    else
        snprintf(why, why_size, "unknown option --%.*s; --help lists the options", (int)len, name);
}

static bool add(struct cli_args *args, size_t option, const char *value, char *why, size_t why_size)
{
    char name[64];
    if (!args->options[option].is_repeatable && cli_args_has(args, option)) {
        snprintf(why, why_size, "%s is given twice",
                 cli_option_name(&args->options[option], name, sizeof name));
        return false;
    }
    args->given[args->given_count++] = (struct cli_given){option, value};
    return true;
}

/* The value of argv[*i] that stands in the argument after it. */
static bool take_value(int argc, char *const *argv, int *i, const char *shown, const char *argument,
                       const char **value, char *why, size_t why_size)
{
    if (*i + 1 == argc || strncmp(argv[*i + 1], "--", 2) == 0) {
        snprintf(why, why_size, "%s needs a value: %s=%s", shown, shown, argument);
        return false;
    }
    *value = argv[++*i];
    return true;
}

static bool parse_long(struct cli_args *args, int argc, char *const *argv, int *i, char *why,
                       size_t why_size)
{
    const char *name = argv[*i] + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] == '=' ? name + len + 1 : NULL;
    size_t option = find_name(args, name, len);
    if (option == OPTION_NONE) {
        explain_unknown(args, name, len, why, why_size);
        return false;
    }
    const struct cli_option *o = &args->options[option];
    if (value && !o->argument) {
        snprintf(why, why_size, "--%.*s takes no value", (int)len, name);
        return false;
    }
    if (o->argument && !value &&
        !take_value(argc, argv, i, argv[*i], o->argument, &value, why, why_size))
        return false;
    return add(args, option, value, why, why_size);
}

static bool parse_letters(struct cli_args *args, int argc, char *const *argv, int *i, char *why,
                          size_t why_size)
{
    for (const char *at = argv[*i] + 1; *at; at++) {
        size_t option = find_letter(args, *at);
        if (option == OPTION_NONE) {
            snprintf(why, why_size, "unknown option -%c; --help lists the options", *at);
            return false;
        }
        const struct cli_option *o = &args->options[option];
        const char *value = NULL;
        if (o->argument && at[1]) {
            value = at + 1;
        } else if (o->argument) {
            char shown[64];
            cli_option_name(o, shown, sizeof shown);
            if (!take_value(argc, argv, i, shown, o->argument, &value, why, why_size))
                return false;
        }
        if (!add(args, option, value, why, why_size))
            return false;
        if (value)
            return true; /* it was the rest of the argument, or the next one */
    }
    return true;
}

static bool parse(struct cli_args *args, int argc, char *const *argv, char *why, size_t why_size)
{
    bool options_ended = false;
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i];
        if (options_ended || arg[0] != '-' || !arg[1]) {
            args->operands[args->operand_count++] = arg;
        } else if (strcmp(arg, "--") == 0) {
            options_ended = true;
        } else if (arg[1] == '-') {
            if (!parse_long(args, argc, argv, &i, why, why_size))
                return false;
        } else if (!parse_letters(args, argc, argv, &i, why, why_size)) {
            return false;
        }
    }
    return true;
}

bool cli_args_init(struct cli_args *args, const struct cli_option *options, size_t option_count,
                   int argc, char *const *argv, char *why, size_t why_size)
{
    *args = (struct cli_args){.options = options, .option_count = option_count};
    size_t letters = 0; /* a cluster of letters is many options in one argument */
    for (int i = 0; i < argc; i++)
        letters += strlen(argv[i]) + 1;
    args->given = calloc(letters + 1, sizeof *args->given);
    args->operands = calloc((size_t)argc + 1, sizeof *args->operands);
    if (!args->given || !args->operands) {
        snprintf(why, why_size, "out of memory");
        cli_args_deinit(args);
        return false;
    }
    if (!parse(args, argc, argv, why, why_size)) {
        cli_args_deinit(args);
        return false;
    }
    return true;
}

void cli_args_deinit(struct cli_args *args)
{
    free(args->given);
    free(args->operands);
    *args = (struct cli_args){0};
}

const char *cli_args_value(const struct cli_args *args, size_t option, size_t i)
{
    assert(option < args->option_count);
    for (size_t g = 0; g < args->given_count; g++)
        if (args->given[g].option == option && i-- == 0)
            return args->given[g].value;
    return NULL;
}

bool cli_args_has(const struct cli_args *args, size_t option)
{
    assert(option < args->option_count);
    for (size_t g = 0; g < args->given_count; g++)
        if (args->given[g].option == option)
            return true;
    return false;
}

const char *cli_args_text(const struct cli_args *args, size_t option, const char *otherwise)
{
    const char *value = cli_args_value(args, option, 0);
    return value ? value : otherwise;
}

bool cli_parse_number(const char *text, int64_t min, int64_t max, int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!*digits || digits[strspn(digits, "0123456789")])
        return false;
    errno = 0;
    long long n = strtoll(text, NULL, 10);
    if (errno || n < min || n > max)
        return false;
    *out = n;
    return true;
}

bool cli_args_number(const struct cli_args *args, size_t option, int64_t min, int64_t max,
                     int64_t *out, char *why, size_t why_size)
{
    const char *text = cli_args_value(args, option, 0);
    if (!text || cli_parse_number(text, min, max, out))
        return true;
    char name[64];
    snprintf(why, why_size, "%s=%s: expected a whole number, %" PRId64 " .. %" PRId64,
             cli_option_name(&args->options[option], name, sizeof name), text, min, max);
    return false;
}
