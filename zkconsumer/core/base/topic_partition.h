/* The name of a partition. Logs and tools write it as [topic,partition], traces as topic/partition. */
#ifndef ZKC_BASE_TOPIC_PARTITION_H
#define ZKC_BASE_TOPIC_PARTITION_H

#include <stdint.h>
#include <string.h>

/* Kafka allows 249 characters; 0.8 allowed 255 (Topic.maxNameLength). */
#define TOPIC_NAME_MAX 255

struct topic_partition {
    const char *topic; /* borrowed or owned as the holder says */
    int32_t partition;
};

/* By topic in byte order, then by number. */
static inline int topic_partition_compare(struct topic_partition a, struct topic_partition b)
{
    int c = strcmp(a.topic, b.topic);
    return c ? c : (a.partition > b.partition) - (a.partition < b.partition);
}

/* How many at the front are consecutive partitions of one topic; at least 1. */
static inline size_t topic_partition_run(const struct topic_partition *ps, size_t count)
{
    size_t n = 1;
    while (n < count && strcmp(ps[n].topic, ps[0].topic) == 0 &&
           ps[n].partition == ps[n - 1].partition + 1)
        n++;
    return n;
}

#endif
