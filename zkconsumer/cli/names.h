/* Names of groups and topics, and filters, that options give. */
#ifndef ZKC_CLI_NAMES_H
#define ZKC_CLI_NAMES_H

#include "zkconsumer/cli/options.h"
#include <zkconsumer/consumer.h>

/* Whether it may be a group's name, as Kafka has them; else reported, about --group. */
bool names_check_group(const char *group);

/* The same of all values of a repeatable option. */
bool names_check_groups(const struct cli_args *args, size_t option);

/* Whether it may be a topic's name; else reported, about --topic. */
bool names_check_topic(const char *topic);
bool names_check_topics(const struct cli_args *args, size_t option);

/* Whether its expression is one of Java's; else reported, about --whitelist or --blacklist. */
bool names_check_filter(const struct zkc_filter *filter);

#endif
