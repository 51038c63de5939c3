/* The name of a partition. Logs and tools write it as [topic,partition], traces as topic/partition.
 */
#ifndef ZKC_BASE_TOPIC_PARTITION_H
#define ZKC_BASE_TOPIC_PARTITION_H

#include <stddef.h>
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

/* In a list that is sorted so: where `want` stands, or belongs. `at` tells the name of an element.
 */
static inline size_t topic_partition_place(const void *list, size_t count,
                                           struct topic_partition (*at)(const void *list, size_t i),
                                           struct topic_partition want)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (topic_partition_compare(at(list, middle), want) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
