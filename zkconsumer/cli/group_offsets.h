/* What the commands that write a group's offsets in ZooKeeper share. */
#ifndef ZKC_CLI_GROUP_OFFSETS_H
#define ZKC_CLI_GROUP_OFFSETS_H

#include "zkconsumer/cli/admin.h"
#include "zkconsumer/cli/log_ends.h"

/* Partitions of one topic; everything in the arena of the `admin` that read it. */
struct partition_list {
    struct log_end *list;
    size_t count;
};

/* --group and --topic, the latter if given, may be names; else reported. */
bool group_offsets_check_names(const struct cli_args *args, size_t group, size_t topic);

/* The partitions of a topic, with the leaders that their state nodes name; `only` >= 0: this one.
 * ZKC_ERR_INVALID: no such topic or partition. */
ZKC_MUST_CHECK enum zkc_err group_offsets_partitions(struct admin *a, const char *topic,
                                                     int64_t only, struct partition_list *out);

/* Asks the leaders (log_ends.h); any partition without an answer is an error, but with a real time
 * one that has no offset so early gets -1. The order of the list changes as log_ends.h says. */
ZKC_MUST_CHECK enum zkc_err group_offsets_ask(struct admin *a, struct partition_list *w,
                                              int64_t time);

/* ZKC_ERR_INVALID with the first member's name when somebody is registered in the group. */
ZKC_MUST_CHECK enum zkc_err group_offsets_refuse_live(struct admin *a, const char *group);

/* Writes an offset. `forced`: although the group may be live; beside an owner node the number is
 * written with a leading zero, the same number to every reader, by which a live owner in safe mode
 * sees that it is asked to move (safe mode: a forced reset). */
ZKC_MUST_CHECK enum zkc_err group_offsets_write(struct admin *a, const char *group,
                                                const char *topic, int32_t partition,
                                                int64_t offset, bool forced);

/* The committed offset; -1: none, or what is there is no offset. */
ZKC_MUST_CHECK enum zkc_err group_offsets_read(struct admin *a, const char *group,
                                               const char *topic, int32_t partition, int64_t *out);

struct group_offset {
    const char *topic;
    int32_t partition;
    int64_t offset;
    const char *trouble; /* NULL; else why what the node holds is no offset */
};

/* Takes a committed offset; false: no more of them. */
typedef bool group_offset_fn(const struct group_offset *offset, void *user);

/* Calls `take` for each partition of the topic that has an offset node, by number. */
ZKC_MUST_CHECK enum zkc_err group_offsets_each(struct admin *a, const char *group,
                                               const char *topic, group_offset_fn *take,
                                               void *user);

/* The children of a node in the order of their names, numbers by number; none if it is not there
 * (out->zk_rc says so). The path is taken over and freed. */
ZKC_MUST_CHECK enum zkc_err group_offsets_children(struct admin *a, char *path,
                                                   struct zk_result *out);

#endif
