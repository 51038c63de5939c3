/* zkconsumer: its commands; and under a name of Kafka's (a link to the program) that tool. */
#include "zkconsumer/cli/program.h"
#include "zkconsumer/cli/run_class.h"
#include "zkconsumer/cli/stdio_fds.h"
#include "zkconsumer/core/base/array.h"
#include <string.h>

static const struct cli_pair exits[] = {
    {"0", "done; for checks: healthy"},
    {"1", "usage, bad configuration, or a failure that no other code names"},
    {"2", "a check ran and found a problem"},
    {"3", "ZooKeeper or a broker could not be reached"},
    {"4", "the time was up, or only a part could be done"},
    {"130, 143", "ended by a second SIGINT or SIGTERM before it could leave in order"},
};

static struct cli_program zkconsumer(void)
{
    return (struct cli_program){
        .name = "zkconsumer",
        .summary = "consumer groups coordinated through ZooKeeper",
        .text =
            "Command line of Kafka-style consumer groups that are coordinated through ZooKeeper, "
            "as Kafka did before 0.9. It joins groups beside Kafka's own Java consumers, on the "
            "same znodes.\n"
            "Data goes to stdout; everything else goes to stderr, where lines about the state "
            "begin with \"% \". Long options take their value as --option=value or --option "
            "value. Options that Kafka's tools spell in two ways are accepted in both: "
            "--zookeeper, --zkconnect and --zookeeper.connect are one.",
        .commands = commands_all(),
        .exits = exits,
        .exit_count = ARRAY_LEN(exits),
    };
}

int main(int argc, char **argv)
{
    stdio_fds_occupy();
    struct cli_program program = zkconsumer();
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";
    const struct cli_command *tool = commands_find_kafka(program.commands, name);
    argc -= argc > 0;
    argv++;
    if (strncmp(name, KAFKA_RUN_CLASS, strlen(KAFKA_RUN_CLASS)) == 0)
        return run_class(&program, argc, argv);
    if (tool)
        return program_run_command(&program, name, tool, name, argc, argv);
    return program_run(&program, argc, argv);
}
