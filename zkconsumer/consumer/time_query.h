/* Asks a partition's leader for offsets by time (ListOffsets), on a connection of its own. Version
 * 0, which every broker from 0.8 to 3.9 speaks, gives starts of segments; version 1 gives the
 * message, and is used where the broker offers it: it is asked first (ApiVersions), which 0.8
 * answers by closing the connection, and 0.9 not at all. Loop's thread. */
#ifndef ZKC_CONSUMER_TIME_QUERY_H
#define ZKC_CONSUMER_TIME_QUERY_H

#include "zkconsumer/consumer/dial.h"
#include <stdbool.h>

#define TIME_QUERY_OFFSETS_MAX 1000

struct time_query;

struct time_query_ask {
    const char *host;
    int32_t port;
    const char *topic;
    int32_t partition;
    int64_t time_ms; /* or -1: the end, -2: the beginning */
    int32_t count_max;
    bool wants_exact; /* version 1 where there is one */
};

/* Never from inside of time_query_start(). `offsets` is borrowed, newest first. `kafka_error` with
 * ZKC_ERR_BROKER. The query is gone after it. */
struct time_query_answer {
    enum zkc_err err;
    const char *text; /* of an error */
    int16_t kafka_error;
    bool is_exact;
    const int64_t *offsets;
    size_t count;
};
typedef void time_query_fn(const struct time_query_answer *answer, void *user);

/* Copies everything but `dial`. NULL: out of memory. */
struct time_query *time_query_start(struct dial *dial, const struct time_query_ask *ask,
                                    time_query_fn *fn, void *user);

/* Ends one that has not been answered; fn is not called. NULL is allowed. */
void time_query_free(struct time_query *q);

#endif
