/* What a group has left in ZooKeeper, for consumers that clean up before or after themselves. */
#ifndef ZKC_CLI_GROUP_TRACES_H
#define ZKC_CLI_GROUP_TRACES_H

#include "zkconsumer/core/base/why.h"
#include <zkconsumer/conf.h>

struct group_traces {
    size_t member_count; /* registered now */
    bool has_offsets;    /* there is /consumers/<g>/offsets */
};

enum group_traces_use {
    GROUP_TRACES_KEEP,
    GROUP_TRACES_DELETE,          /* removes the group if nobody is registered in it */
    GROUP_TRACES_DELETE_AND_TELL, /* and says which offsets of it stay, in Kafka */
};

/* Looks, where `conf` says, with a session of its own. Errors as zk_reader_open(), zk_reader_run(),
 * zk_reader_delete_tree(). */
ZKC_MUST_CHECK enum zkc_err group_traces_look(const zkc_conf *conf, const char *group,
                                              enum group_traces_use use, int64_t timeout_ms,
                                              struct group_traces *out, struct why *why);

#endif
