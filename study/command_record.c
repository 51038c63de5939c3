/* zkstudy record: what passes between clients and ZooKeeper, into a file. */
#include "study/commands.h"
#include "study/record/recorder.h"
#include "zkconsumer/cli/lines.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/stop.h"
#include "zkconsumer/core/base/array.h"
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define COMMAND_BYTES_MAX 4096

enum { LISTEN, ZOOKEEPER, OUT, COMMANDS, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [LISTEN] = {"listen", 'l', "[LABEL=]HOST:PORT", true,
                "where clients connect; one for each member, with its label"},
    [ZOOKEEPER] = {"zookeeper", 'z', "HOST:PORT,...", false, "the servers; connections take turns"},
    [OUT] = {"out", 'o', "FILE", false, "the capture; created or emptied"},
    [COMMANDS] = {"commands", 0, NULL, false, "take commands from standard input, a line each"},
};

struct recording {
    struct event_base *base;
    struct recorder *recorder;
    struct lines lines;
    struct event *input;
};

static void print_line(const char *text, void *user)
{
    (void)user;
    printf("%s\n", text);
    fflush(stdout);
}

static void on_stop(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    event_base_loopbreak(arg);
}

static void carry_out(struct recording *x, struct bytes record)
{
    char line[COMMAND_BYTES_MAX];
    struct why answer;
    snprintf(line, sizeof line, "%.*s", (int)record.len, (const char *)record.data);
    if (strcmp(line, "quit") == 0) {
        event_base_loopbreak(x->base);
        return;
    }
    recorder_command(x->recorder, line, &answer);
    print_line(answer.text, NULL);
}

static void on_input(evutil_socket_t fd, short what, void *arg)
{
    struct recording *x = arg;
    struct bytes record;
    (void)what;
    uint8_t *at = lines_reserve(&x->lines, COMMAND_BYTES_MAX / 2);
    ssize_t n = at ? read(fd, at, COMMAND_BYTES_MAX / 2) : 0;
    if (n <= 0) { /* no more commands, or one that is none; what is recorded goes on */
        if (!at)
            report_error("expected commands of at most %d bytes", COMMAND_BYTES_MAX);
        event_del(x->input);
        return;
    }
    lines_add(&x->lines, (size_t)n);
    while (lines_next(&x->lines, &record))
        carry_out(x, record);
}

static enum cli_exit record(struct recording *x, bool takes_commands)
{
    struct event *stop = event_new(x->base, stop_fd(), EV_READ | EV_PERSIST, on_stop, x->base);
    x->input = event_new(x->base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, x);
    lines_init(&x->lines, bytes_of_text("\n"), COMMAND_BYTES_MAX);
    bool ok = stop && x->input && event_add(stop, NULL) == 0 &&
              (!takes_commands || event_add(x->input, NULL) == 0);
    for (size_t i = 0; ok && i < recorder_listener_count(x->recorder); i++)
        printf("listening %d %s\n", recorder_port(x->recorder, i), recorder_label(x->recorder, i));
    fflush(stdout);
    if (ok)
        event_base_dispatch(x->base);
    else
        report_error("standard input cannot be waited for: it is a file");
    if (stop)
        event_free(stop);
    if (x->input)
        event_free(x->input);
    lines_deinit(&x->lines);
    return ok ? CLI_DONE : CLI_FAILED;
}

static enum cli_exit run(const struct cli_args *args)
{
    static const char example[] = "--listen=m1=127.0.0.1:2191 --zookeeper=127.0.0.1:2181 "
                                  "--out=run.capture";
    const char *listens[1024];
    struct recorder_options o = {.listens = listens,
                                 .servers = cli_args_text(args, ZOOKEEPER, NULL),
                                 .path = cli_args_text(args, OUT, NULL),
                                 .say = print_line};
    struct recording x = {0};
    struct why why;
    if (!report_takes_no_operands(args) || !report_needs(args, LISTEN, example) ||
        !report_needs(args, ZOOKEEPER, example) || !report_needs(args, OUT, example))
        return CLI_FAILED;
    const char *text;
    while ((text = cli_args_value(args, LISTEN, o.listen_count))) {
        if (o.listen_count == ARRAY_LEN(listens)) {
            report_error("--listen: expected at most %zu", ARRAY_LEN(listens));
            return CLI_FAILED;
        }
        listens[o.listen_count++] = text;
    }
    x.base = stop_init() ? event_base_new() : NULL;
    enum zkc_err err = x.base ? recorder_new(x.base, &o, &x.recorder, &why) : ZKC_ERR_NOMEM;
    if (err) {
        report_error("%s", err == ZKC_ERR_NOMEM ? "out of memory" : why.text);
        if (x.base)
            event_base_free(x.base);
        return CLI_FAILED;
    }
    enum cli_exit code = record(&x, cli_args_has(args, COMMANDS));
    uint64_t drops = recorder_drops(x.recorder);
    recorder_free(x.recorder);
    event_base_free(x.base);
    if (drops) {
        report_error("%s: %" PRIu64 " lines could not be written", o.path, drops);
        code = CLI_FAILED;
    }
    return code;
}

static const struct cli_pair examples[] = {
    {"zkstudy record -l m1=127.0.0.1:2191 -l m2=127.0.0.1:2192 -z 127.0.0.1:2181 -o run.capture",
     "two members, each with a port of its own; ends with Ctrl-C"},
    {"zkstudy record -l 127.0.0.1:2191 -z zk1:2181,zk2:2181,zk3:2181 -o run.capture",
     "any number of members behind one port, told apart by what they register"},
};

static const struct cli_pair exits[] = {
    {"0", "ended by Ctrl-C, SIGTERM or the command quit"},
    {"1", "usage, cannot listen, or lines that could not be written"},
};

const struct cli_command command_record = {
    .name = "record",
    .summary = "Record what clients say to ZooKeeper",
    .synopsis = "--listen=[LABEL=]HOST:PORT ... --zookeeper=HOST:PORT,... --out=FILE [--commands]",
    .description =
        "A proxy between any clients (Kafka's Java consumers, ours) and real ZooKeeper "
        "servers. Requests, answers, watch events, sessions and the ends of connections are "
        "written as lines of a capture, which zkstudy import turns into a trace. Passwords and "
        "secrets of authentication are left out; what nodes hold is not.\n"
        "With --commands, "
        "lines of standard input are carried out and answered by ok or error: mark TEXT, cut "
        "LABEL, refuse LABEL, hole LABEL, heal LABEL, hold LABEL OP [PATH], go LABEL, quit.",
    .options = options,
    .option_count = OPTION_COUNT,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
