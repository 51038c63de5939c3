/* Serving requests: what broker/core/requests.h says of each, with partitions, sockets and
 * ZooKeeper behind it. Everything runs on the thread of the connection's loop; what belongs to
 * others comes and goes by posting. */
#ifndef BROKER_IO_SERVE_H
#define BROKER_IO_SERVE_H

#include "broker/io/connection.h"
#include "broker/io/view.h"
#include "zkconsumer/core/zk/op.h"

struct config;
struct journal;
struct network;
struct store;
struct thread_loop;
struct server;

typedef void server_result_fn(const struct zk_result *result, void *user);

/* What the main thread does for a request; both are called on its loop. */
struct server_main {
    struct thread_loop *loop;
    void (*create_topic)(struct bytes name, void *user);
    void (*zk_send)(const struct zk_op *op, server_result_fn *fn, void *fn_user, void *user);
    void *user;
};

struct server_options {
    const struct config *config;
    struct journal *journal;
    struct store *store;
    struct view_board *views;
    struct server_main main;
};

/* NULL: out of memory. */
struct server *server_new(const struct server_options *options);

/* Gives each loop of the network what it needs. To be called between network_new() and
 * network_start(). False: out of memory. */
bool server_attach(struct server *s, struct network *n);

/* Frees everything, requests that still wait included; to be called when neither the network's
 * threads, nor the store's, nor ZooKeeper's session are there any more. NULL is allowed. */
void server_free(struct server *s);

/* connection_request_fn; user: the server. */
void server_on_request(struct connection *c, struct bytes frame, void *user);

/* The view has changed: fetches that wait for what is no longer served here are answered. Main
 * thread. */
void server_view_changed(struct server *s);

#endif
