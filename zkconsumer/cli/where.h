/* What and from where to read, as written on the command line. */
#ifndef ZKC_CLI_WHERE_H
#define ZKC_CLI_WHERE_H

#include "zkconsumer/core/base/topic_partition.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHERE_STREAMS_MAX    1000
#define WHERE_PARTITIONS_MAX 10000

struct where_topic {
    char name[TOPIC_NAME_MAX + 1];
    int32_t streams;
};

/* TOPIC or TOPIC:STREAMS. False: `why` says what is wrong. */
bool where_parse_topic(const char *text, struct where_topic *out, char *why, size_t why_size);

/* "3", "0,2,5", "0-7" and mixtures: partition numbers, in the order given, each once. On success
 * the caller owns *list (free). */
bool where_parse_partitions(const char *text, int32_t **list, size_t *count, char *why,
                            size_t why_size);

enum where_start_kind {
    WHERE_BEGINNING,
    WHERE_END,
    WHERE_STORED,   /* the group's committed offset */
    WHERE_OFFSET,   /* n */
    WHERE_FROM_END, /* n messages before the end, or the beginning if there are less */
};

struct where_start {
    enum where_start_kind kind;
    int64_t n; /* OFFSET, FROM_END */
};

/* "beginning", "end", "stored", N or -N, as kcat's -o. */
bool where_parse_start(const char *text, struct where_start *out, char *why, size_t why_size);

#endif
