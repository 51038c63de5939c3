/* What a group has left in ZooKeeper, for consumers that clean up before or after themselves. */
#ifndef ZKC_CLI_GROUP_TRACES_H
#define ZKC_CLI_GROUP_TRACES_H

#include "zkconsumer/cli/zk_reader.h"
#include <zkconsumer/conf.h>

struct group_traces {
    size_t member_count; /* registered now */
    bool has_offsets;    /* there is /consumers/<g>/offsets */
};

/* Looks, where `conf` says, with a session of its own; `deletes`: and removes the group if nobody
 * is registered in it. Errors as zk_reader_open(), zk_reader_run(), zk_reader_delete_tree(). */
ZKC_MUST_CHECK enum zkc_err group_traces_look(const zkc_conf *conf, const char *group, bool deletes,
                                              int64_t timeout_ms, struct group_traces *out,
                                              struct why *why);

#endif
