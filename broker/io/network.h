/* The broker's port: one loop accepts, num.network.threads loops serve connections, each of which
 * belongs to one. */
#ifndef BROKER_IO_NETWORK_H
#define BROKER_IO_NETWORK_H

#include "broker/io/connection.h"
#include "zkconsumer/core/base/why.h"

struct config;
struct journal;
struct thread_loop;
struct network;

struct network_options {
    const struct config *config; /* outlives the network, as the others do */
    struct journal *journal;
    struct thread_loop *accept_loop;
    connection_request_fn *on_request; /* on the threads of the loops */
    void *user;
};

/* Listens; nothing is accepted yet. NULL: `why` says why. */
struct network *network_new(const struct network_options *options, struct why *why);

/* The port that is listened on. */
uint16_t network_port(const struct network *n);

/* Begins to accept. False: `why`. */
bool network_start(struct network *n, struct why *why);

/* Accepts no more, closes all connections and ends the threads: afterwards no handler runs. Called
 * on the accepting loop's thread. */
void network_stop(struct network *n);
void network_free(struct network *n); /* NULL is allowed; stops first */

/* ---- for what serves requests: the loop that it runs on ---- */

struct thread_loop *network_loop_thread(struct network_loop *loop);

/* A place for what a thread keeps for itself (struct request_loop). */
void **network_loop_slot(struct network_loop *loop);

/* Calls fn on each loop's thread, one after the other, and waits for it; after network_start(). */
size_t network_loop_count(const struct network *n);
struct network_loop *network_loop_at(struct network *n, size_t index);

#endif
