/* One client's connection, on one loop: requests are framed and handed out one at a time, in order;
 * the next one when the last is answered, as Kafka's brokers do it. Used on its loop's thread only.
 *
 * Memory is bounded: a request takes memory as its bytes arrive, not as its size announces; what a
 * slow reader does not take stays as ranges of files where it can, and no further request is read
 * while more than CONNECTION_OUT_BYTES of answers wait. */
#ifndef BROKER_IO_CONNECTION_H
#define BROKER_IO_CONNECTION_H

#include "zkconsumer/core/base/buf.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define CONNECTION_OUT_BYTES   (64 * 1024)
#define CONNECTION_AHEAD_BYTES (64 * 1024) /* read of later requests while one is being served */

struct connection;
struct file_ref;
struct network_loop;

/* A request that is not answered yet. `cancel` is called when its connection goes away first; it is
 * then forgotten here. */
struct pending {
    void (*cancel)(struct pending *p);
};

/* A whole request, without its size; valid, and to be changed at will, during the call. The handler
 * ends each request by exactly one of the four below, now or later. */
typedef void connection_request_fn(struct connection *c, struct bytes frame, void *user);

/* Answers: fill in connection_out(), a frame with its size (wire_frame_begin()), and
 * connection_out_file() for parts that are sent from files; then connection_answered(). */
struct buf *connection_out(struct connection *c);

/* Behind the first `at` bytes of connection_out() comes a part of a file; parts are given in order.
 * Takes over one reference to the file. False: out of memory, the reference is released; refuse
 * then. */
struct connection_part {
    size_t at;
    struct file_ref *file;
    int64_t offset;
    size_t len; /* above 0 */
};
bool connection_out_file_take(struct connection *c, const struct connection_part *part);
void connection_answered(struct connection *c);

/* There is nothing to say (acks=0). */
void connection_unanswered(struct connection *c);

/* The request cannot be answered: the connection is closed, `why` goes to the journal. */
void connection_refuse(struct connection *c, const char *why);

/* It will be answered later; `p` is borrowed until then, or until it is cancelled. */
void connection_wait(struct connection *c, struct pending *p);

const char *connection_peer(const struct connection *c); /* "127.0.0.1:4711" */
struct network_loop *connection_loop(const struct connection *c);

/* ---- for the network ---- */

/* Takes over `fd`. False: out of memory; fd is closed. */
bool connection_new_take(struct network_loop *loop, int fd, const char *peer);
void connection_close(struct connection *c, const char *why); /* why NULL: no line */
int64_t connection_used_ms(const struct connection *c);       /* when it last did something */

/* Closes those that have been silent for longer than idle_ms and do not wait for us; -1: all. */
void connection_close_idle(struct network_loop *loop, int64_t idle_ms);

#endif
