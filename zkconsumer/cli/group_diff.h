/* What has happened in a group between two readings, in words: a line for each event. */
#ifndef ZKC_CLI_GROUP_DIFF_H
#define ZKC_CLI_GROUP_DIFF_H

#include "zkconsumer/cli/group_check.h"
#include "zkconsumer/core/base/buf.h"

struct group_moment {
    const struct group_view *view;
    const struct group_problems *problems;
};

/* Appends, each with `time` and a blank in front:
 *
 *     member joined: g_a                     member left: g_a
 *     [t,0] owner: none -> g_a-0             [t,0] offset 10, log end 12, lag 2
 *     problem: [t,1] has no owner            solved: [t,1] has no owner
 *
 * in this order, by name and number. `before` NULL: everything is new, and is told as it is. An
 * offset is told when it or the log's end has changed. */
void group_diff_append(const struct group_moment *before, const struct group_moment *now,
                       const char *time, struct buf *out);

#endif
