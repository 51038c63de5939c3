/* A cluster as its brokers tell it, for tools that are given --broker-list and no ZooKeeper. */
#ifndef ZKC_CLI_CLUSTER_ASK_H
#define ZKC_CLI_CLUSTER_ASK_H

#include "zkconsumer/cli/brokers.h"
#include "zkconsumer/core/wire/metadata.h"

struct cluster {
    struct brokers brokers;
    struct metadata_topic *topics; /* all of them */
    size_t topic_count;
};

/* Asks the brokers of `list` ("host:port,host:port"), the first that answers, for all topics:
 * asking for one could make a broker create it. Everything is in `arena`.
 *
 * ZKC_ERR_INVALID      `list` is none
 * ZKC_ERR_UNREACHABLE  nobody answers; and as broker_link_ask() */
ZKC_MUST_CHECK enum zkc_err cluster_ask(const char *list, const char *client_id, int64_t timeout_ms,
                                        struct arena *arena, struct cluster *out, struct why *why);

/* NULL: there is none. */
const struct metadata_topic *cluster_topic(const struct cluster *c, const char *name);
const struct metadata_partition *cluster_partition(const struct metadata_topic *t, int32_t number);

#endif
