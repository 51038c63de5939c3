/* Looking up offsets by time for the application: at the partition's leader, looked for again while
 * there is none or it has changed, until somebody stops waiting. Loop's thread. */
#ifndef ZKC_CONSUMER_LOOKUP_H
#define ZKC_CONSUMER_LOOKUP_H

#include "zkconsumer/consumer/consumer.h"

struct lookup;

/* Where the answer goes: everything is the caller's, who waits, until lookup_forget(). */
struct lookup_call {
    const char *topic;
    int32_t partition;
    int64_t time_ms;
    bool wants_exact;
    int64_t *offsets; /* room for count_max */
    size_t count_max;
    size_t *count;
    bool *is_exact;
    struct loop_wait
        *wait; /* ended with ZKC_OK, ZKC_ERR_BROKER, ZKC_ERR_NOT_OWNED, _CLOSED, _NOMEM */
};

/* ZKC_ERR_NOT_OWNED, ZKC_ERR_NOMEM. */
ZKC_MUST_CHECK enum zkc_err lookup_start(zkc_consumer *c, const struct lookup_call *call);

/* Nobody waits for it any more. */
void lookup_forget(zkc_consumer *c, const struct loop_wait *wait);

/* Ends all that wait, with ZKC_ERR_CLOSED. */
void lookup_end_all(zkc_consumer *c);

#endif
