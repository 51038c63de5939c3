/* Operations of one lane that could not be sent for want of memory, and are to be answered as lost.
 * They are numbered without gaps, and while one of them waits no later one of its lane is sent: so
 * there can be any number of them, and nothing has to be allocated. */
#ifndef ZKC_CONSUMER_UNSENT_H
#define ZKC_CONSUMER_UNSENT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct unsent {
    uint32_t seq, count; /* so many from this one on; zeroed: none */
};

static inline void unsent_put(struct unsent *u, uint32_t seq)
{
    assert(u->count == 0 || seq == u->seq + u->count);
    if (u->count == 0)
        u->seq = seq;
    u->count++;
}

/* The first of them. False: there is none. */
static inline bool unsent_take(struct unsent *u, uint32_t *seq)
{
    if (u->count == 0)
        return false;
    *seq = u->seq++;
    u->count--;
    return true;
}

#endif
