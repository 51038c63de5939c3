/* A group in words: columns for people and awk, or one JSON object on one line for programs. */
#ifndef ZKC_CLI_GROUP_PRINT_H
#define ZKC_CLI_GROUP_PRINT_H

#include "zkconsumer/cli/group_check.h"
#include "zkconsumer/core/base/buf.h"

/* Partitions under Kafka's headers (kafka-consumer-groups: "unknown" for an offset that is not
 * there, "none" for no owner), then members, then a line "problem: ..." for each problem; parts
 * without lines are left out. */
void group_print_table(const struct group_view *view, const struct group_problems *problems,
                       struct buf *out);

/* The partitions alone, to the byte as kafka-consumer-groups --zookeeper of Kafka 0.10.0 prints
 * them (ConsumerGroupCommand.describePartition). */
void group_print_kafkas(const struct group_view *view, struct buf *out);

/* {"group":..,"exists":..,"members":[{"id":..,"session":"0x..","pattern":..,"subscription":{topic:
 * streams},"error":..}],"partitions":[{"topic":..,"partition":..,"offset":..,"log_end":..,"lag":..,
 * "leader":..,"owner":..,"session":..}],"problems":[{"kind":..,"topic":..,"partition":..,"member":..,
 * "text":..}],"unchecked":..}. What is not known is null, never 0. */
void group_print_json(const struct group_view *view, const struct group_problems *problems,
                      struct buf *out);

/* Log end minus committed offset; false if one of them is not known. May be negative. */
bool group_lag(const struct group_partition *p, int64_t *lag);

#endif
