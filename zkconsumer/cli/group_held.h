/* Partitions of a group that nobody reads and nobody can: owner nodes of what is no member. */
#ifndef ZKC_CLI_GROUP_HELD_H
#define ZKC_CLI_GROUP_HELD_H

#include "zkconsumer/cli/group_view.h"
#include "zkconsumer/core/base/why.h"
#include <zkconsumer/conf.h>

typedef void group_held_fn(const char *topic, int32_t partition, const char *holder, void *user);

/* Looks, where `conf` says, with a session of its own, and calls fn for each partition whose owner
 * node names somebody who is not registered in the group. Errors as zk_reader_open(), group_read().
 */
ZKC_MUST_CHECK enum zkc_err group_held_each(const zkc_conf *conf, const char *group,
                                            int64_t timeout_ms, group_held_fn *fn, void *user,
                                            struct why *why);

#endif
