/* Shared by serve*.c. */
#ifndef BROKER_IO_SERVE_INTERNAL_H
#define BROKER_IO_SERVE_INTERNAL_H

#include "broker/core/fetch_waiters.h"
#include "broker/core/requests.h"
#include "broker/io/config.h"
#include "broker/io/journal.h"
#include "broker/io/network.h"
#include "broker/io/partition.h"
#include "broker/io/serve.h"
#include "broker/io/store.h"
#include "broker/io/thread_loop.h"
#include "zkconsumer/core/base/topic_partition.h"
#include <event2/event.h>
#include <sys/queue.h>

#define WATCHED_BUCKETS 256

/* A partition that fetches on this loop wait for. It stays a while when nobody waits any more:
 * until it is told of messages that nobody wants. */
struct watched_partition {
    struct watched_partition *next; /* in its bucket */
    struct serve_loop *loop;
    struct partition *partition; /* a reference */
    struct fetch_watch_list watches;
    struct read_waiter reader;
    struct loop_item item;
};

/* A request that waits for something. It owns what it needs of the request: the arena with it, and
 * copies of its names. */
struct waiting_request {
    struct pending pending;
    TAILQ_ENTRY(waiting_request) link;
    struct serve_loop *loop;
    struct connection *connection; /* NULL: gone, nobody wants the answer */
    struct arena arena;
    struct request request;
    void (*free)(struct waiting_request *w); /* of the whole object, its arena excepted */
};

/* What one network loop needs. */
struct serve_loop {
    struct server *server;
    struct network_loop *network;
    struct thread_loop *thread;
    struct view_holder view;
    struct arena arena; /* of the request being served */
    struct request request;
    struct log_append append;
    struct fetch_waiters fetches;
    struct event *fetch_timer;
    struct loop_item view_item;
    struct watched_partition *watched[WATCHED_BUCKETS];
    TAILQ_HEAD(, waiting_request) waiting;
};

struct server {
    struct server_options options;
    struct serve_loop *loops;
    size_t loops_count;
};

/* The view; an empty one before there is any. */
const struct cluster_view *serve_view(struct serve_loop *l);

/* The partition, when this broker serves it; else NULL and the error to answer. The caller puts
 * it. */
struct partition *serve_partition(struct serve_loop *l, struct bytes topic, int32_t number,
                                  enum kafka_error *error);

/* Begins to wait: takes the loop's arena and request over into `w`, whose `free` is set. */
void serve_wait(struct serve_loop *l, struct connection *c, struct waiting_request *w,
                void (*cancel)(struct pending *p));

/* Ends it: frees it, its arena too. */
void serve_wait_end(struct waiting_request *w);

/* A copy of a name in the arena, for what outlives the frame. False: the arena failed. */
bool serve_keep_name(struct arena *arena, struct bytes *name);

typedef void serve_fields_fn(struct wire_codec *c, void *message);

/* Writes an answer, and ends the request by it. */
void serve_answer(struct connection *c, int32_t correlation_id, serve_fields_fn *fields,
                  void *message);

void serve_produce(struct serve_loop *l, struct connection *c);
void serve_fetch(struct serve_loop *l, struct connection *c);
void serve_offset_commit(struct serve_loop *l, struct connection *c);
void serve_offset_fetch(struct serve_loop *l, struct connection *c);

/* Fetches of a loop. */
bool serve_fetches_init(struct serve_loop *l);
void serve_fetches_deinit(struct serve_loop *l);
void serve_fetches_check_view(struct serve_loop *l);

#endif
