/* The view of the cluster as the threads that answer requests see it: the main thread publishes
 * copies, which do not change; each loop holds on to the newest that it knows. */
#ifndef BROKER_IO_VIEW_H
#define BROKER_IO_VIEW_H

#include "broker/core/cluster_view.h"
#include <pthread.h>
#include <stdatomic.h>

struct shared_view {
    atomic_uint refs;
    struct cluster_view view;
};

struct view_board {
    atomic_uint number; /* of the newest */
    pthread_mutex_t lock;
    struct shared_view *newest; /* under the lock; NULL: none yet */
};

void view_board_init(struct view_board *b);
void view_board_deinit(struct view_board *b);

/* Copies it. ZKC_ERR_NOMEM: the one before stays. Main thread. */
ZKC_MUST_CHECK enum zkc_err view_board_publish(struct view_board *b, const struct cluster_view *v);

/* What a loop holds; begin with {0}. */
struct view_holder {
    unsigned number;
    struct shared_view *held;
};

/* The newest one; lent until the next call with this holder. NULL: none yet. */
const struct cluster_view *view_newest(struct view_board *b, struct view_holder *h);
void view_holder_deinit(struct view_holder *h);

#endif
