/* kafka-run-class: Kafka's tools by the names of their classes. */
#ifndef ZKC_CLI_RUN_CLASS_H
#define ZKC_CLI_RUN_CLASS_H

#include "zkconsumer/cli/commands.h"

/* The words behind the link's name: the class, and what is the tool's. */
enum cli_exit run_class(const struct cli_program *p, int argc, char *const *argv);

#endif
