/* What connections and their loops know of each other. */
#ifndef BROKER_IO_NETWORK_INTERNAL_H
#define BROKER_IO_NETWORK_INTERNAL_H

#include "broker/io/network.h"
#include "broker/io/thread_loop.h"
#include <event2/event.h>
#include <event2/event_struct.h>
#include <pthread.h>

#define SCRATCH_BYTES (128 * 1024)

TAILQ_HEAD(connection_list, connection);

struct network_loop {
    struct network *network;
    struct thread_loop *thread;
    void *slot;
    struct connection_list connections; /* the one that was silent longest comes first */
    struct event *idle_timer;
    uint8_t *scratch; /* SCRATCH_BYTES: what is read when nothing is left over from before */

    struct loop_item arrivals_item;
    pthread_mutex_t lock;
    struct arrival *arrivals; /* accepted, to be taken over; under the lock */
    struct loop_item stop_item;
};

/* A connection ended: accepting may go on, and one more of this address is welcome. Any thread. */
void network_connection_ended(struct network *n, const char *peer);

const struct network_options *network_options(const struct network *n);

#endif
