/* The keys that --property takes, for completion. */
#ifndef ZKC_CLI_CONF_KEYS_H
#define ZKC_CLI_CONF_KEYS_H

#include "zkconsumer/cli/command.h"

/* Those of a consumer (zkc_conf_describe), and those of librdkafka's producer. */
cli_keys_fn conf_keys_of_consumer, conf_keys_of_producer;

#endif
