/* A broker that does what the test says, on a loopback port that the system picks, on the test's
 * own event base: it hands over each request as it came, and sends back, whole, in pieces or
 * broken, what it is told to. */
#ifndef ZKC_TEST_FAKE_BROKER_H
#define ZKC_TEST_FAKE_BROKER_H

#include "zkconsumer/core/base/bytes.h"
#include "zkconsumer/core/wire/request_header.h"

struct event_base;
struct fake_broker;
struct fake_connection;

/* A request arrived whole. `connection` lives until it is closed or the broker is freed. */
typedef void fake_request_fn(struct fake_connection *connection,
                             const struct request_header *header, struct bytes body, void *user);

#define FAKE_CONNECTIONS_MAX 32 /* open at a time */

/* Listens on 127.0.0.1. Fails the test if it cannot. */
struct fake_broker *fake_broker_new(struct event_base *base, fake_request_fn *on_request,
                                    void *user);
void fake_broker_free(struct fake_broker *b); /* resets what is open; NULL is allowed */

uint16_t fake_broker_port(const struct fake_broker *b);
size_t fake_broker_accepted(const struct fake_broker *b); /* connections, ever */

/* The connection accepted last, if it is open; else NULL. */
struct fake_connection *fake_broker_last(struct fake_broker *b);

/* Stops and goes on to read requests: what the client writes piles up meanwhile. For connections
 * open now and those that come. */
void fake_broker_set_reading(struct fake_broker *b, bool is_reading);

/* An answer as it should be. */
void fake_answer(struct fake_connection *c, int32_t correlation_id, struct bytes body);

/* Any bytes; and the same in pieces of `piece` bytes, each in a turn of the loop of its own, after
 * whatever is being sent in pieces already. */
void fake_send(struct fake_connection *c, struct bytes bytes);
void fake_send_in_pieces(struct fake_connection *c, struct bytes bytes, size_t piece);

/* Ends the connection: in order (FIN) once all is sent, or with a reset (RST) at once. Requests
 * that come after fake_close() are not handed over. */
void fake_close(struct fake_connection *c);
void fake_reset(struct fake_connection *c);

#endif
