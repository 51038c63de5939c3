/* zkbroker: a broker in Kafka's protocol, on ZooKeeper. Reads its configuration, runs. */
#include "broker/io/broker.h"
#include "broker/io/config.h"
#include "broker/io/journal.h"
#include "zkconsumer/cli/help.h"
#include "zkconsumer/cli/stdio_fds.h"
#include "zkconsumer/core/base/array.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <zkconsumer/version.h>

enum { OPTION_OVERRIDE, OPTION_KEYS, OPTION_MAN, OPTION_VERSION, OPTION_HELP, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_OVERRIDE] = {.names = "override",
                         .argument = "KEY=VALUE",
                         .is_repeatable = true,
                         .text = "Sets a key, whatever the file says."},
    [OPTION_KEYS] = {.names = "keys", .text = "Lists all keys with their defaults."},
    [OPTION_MAN] = {.names = "man", .text = "Prints the manual page, as source for man(1)."},
    [OPTION_VERSION] = {.names = "version", .letter = 'V', .text = "Says which version this is."},
    [OPTION_HELP] = {.names = "help", .letter = 'h', .text = "Shows this."},
};

static const struct cli_pair examples[] = {
    {"zkbroker server.properties", "With broker.id, zookeeper.connect and log.dirs in the file."},
    {"zkbroker server.properties --override broker.id=1 --override port=0",
     "A second one of the same file, at any free port."},
};

static const struct cli_pair exits[] = {
    {"0", "stopped in order"},
    {"1", "configuration, folders, port, or another broker with this id"},
    {"3", "ZooKeeper is not reached"},
};

static const struct cli_command command = {
    .name = "",
    .summary = "A broker in Kafka's protocol, on ZooKeeper",
    .synopsis = "SERVER.PROPERTIES [--override KEY=VALUE ...]\n"
                "--keys",
    .description =
        "Runs a broker that Kafka's clients of 0.8 take for a Kafka 0.8.2: metadata in ZooKeeper, "
        "messages on disk in Kafka's own files. The file has Kafka's keys; zkbroker --keys lists "
        "them. At least broker.id, zookeeper.connect and log.dirs have to be set.\n"
        "It logs to stderr. \"started\" with its port is said when it serves; port=0 takes any "
        "free port. SIGTERM and SIGINT stop it in order, a second one at once; SIGHUP opens "
        "log.file again.",
    .options = options,
    .option_count = OPTION_COUNT,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
};

static int print_help(bool is_man)
{
    struct buf text;
    buf_init(&text, HELP_BYTES_MAX);
    if (is_man)
        help_append_man("zkbroker", &command, "zkconsumer", &text);
    else
        help_append_text("zkbroker", &command, &text);
    bool done = buf_text(&text) && fputs(buf_text(&text), stdout) >= 0 && fflush(stdout) == 0;
    buf_deinit(&text);
    return done ? BROKER_DONE : BROKER_FAILED;
}

static int print_keys(void)
{
    const struct config_doc *doc;
    for (size_t i = 0; (doc = config_doc(i)); i++)
        if (doc->is_idle)
            printf("%s\n    accepted without effect: %s\n", doc->name, doc->text);
        else
            printf("%s%s%s\n    %s\n", doc->name, doc->default_text ? "=" : "",
                   doc->default_text ? doc->default_text : "", doc->text);
    return fflush(stdout) == 0 ? 0 : 1;
}

/* Notes come before the journal can be opened, as it is configured: they are kept until then. */
struct notes {
    struct note {
        int level;
        struct why text;
    } * list;
    size_t count;
};

static void keep_note(int level, const char *text, void *user)
{
    struct notes *notes = user;
    struct note *list = realloc(notes->list, (notes->count + 1) * sizeof *list);
    if (!list)
        return;
    notes->list = list;
    notes->list[notes->count].level = level;
    why_set(&notes->list[notes->count].text, "%s", text);
    notes->count++;
}

/* Connections and segments each take a descriptor. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int run_with(const struct config *config, const struct notes *notes)
{
    struct journal *journal = journal_new(config->log_file, (int)config->log_level);
    if (!journal) {
        fprintf(stderr, "zkbroker: log.file=%s: %s\n", config->log_file, strerror(errno));
        return BROKER_FAILED;
    }
    for (size_t i = 0; i < notes->count; i++)
        journal_always(journal, notes->list[i].level, "%s", notes->list[i].text.text);
    enum broker_exit code = broker_run(config, journal);
    journal_free(journal);
    return code;
}

static int run(const char *path, const struct cli_args *args)
{
    const char *overrides[256];
    size_t count = 0;
    while (count < ARRAY_LEN(overrides) &&
           (overrides[count] = cli_args_value(args, OPTION_OVERRIDE, count)))
        count++;
    struct config config;
    struct notes notes = {0};
    struct why why;
    int code = BROKER_FAILED;
    if (config_read(&config, path, overrides, count, keep_note, &notes, &why)) {
        code = run_with(&config, &notes);
        config_deinit(&config);
    } else {
        for (size_t i = 0; i < notes.count; i++)
            fprintf(stderr, "zkbroker: %s\n", notes.list[i].text.text);
        fprintf(stderr, "zkbroker: %s\n", why.text);
    }
    free(notes.list);
    return code;
}

static int run_args(const struct cli_args *args)
{
    if (cli_args_has(args, OPTION_HELP))
        return print_help(false);
    if (cli_args_has(args, OPTION_MAN))
        return print_help(true);
    if (cli_args_has(args, OPTION_VERSION))
        return printf("zkbroker %s\n", ZKC_VERSION_TEXT) < 0;
    if (cli_args_has(args, OPTION_KEYS))
        return print_keys();
    if (args->operand_count != 1) {
        fprintf(stderr, "zkbroker: expected one file of properties; zkbroker --help says more\n");
        return BROKER_FAILED;
    }
    return run(args->operands[0], args);
}

int main(int argc, char **argv)
{
    stdio_fds_occupy();
    signal(SIGPIPE, SIG_IGN); /* sendfile() has no flag against it */
    signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is an error of write() */
    raise_descriptor_limit();
    struct cli_args args;
    char why[512];
    if (!cli_args_init(&args, options, OPTION_COUNT, argc - 1, argv + 1, why, sizeof why)) {
        fprintf(stderr, "zkbroker: %s\n", why);
        return BROKER_FAILED;
    }
    int code = run_args(&args);
    cli_args_deinit(&args);
    return code;
}
