#include "broker/io/view.h"
#include <stdlib.h>

static void put(struct shared_view *v)
{
    if (!v || atomic_fetch_sub(&v->refs, 1) != 1)
        return;
    cluster_view_deinit(&v->view);
    free(v);
}

void view_board_init(struct view_board *b)
{
    *b = (struct view_board){0};
    pthread_mutex_init(&b->lock, NULL);
}

void view_board_deinit(struct view_board *b)
{
    put(b->newest);
    pthread_mutex_destroy(&b->lock);
}

enum zkc_err view_board_publish(struct view_board *b, const struct cluster_view *v)
{
    struct shared_view *copy = malloc(sizeof *copy);
    if (!copy || cluster_view_copy(v, &copy->view)) {
        free(copy);
        return ZKC_ERR_NOMEM;
    }
    atomic_init(&copy->refs, 1);
    pthread_mutex_lock(&b->lock);
    struct shared_view *old = b->newest;
    b->newest = copy;
    atomic_fetch_add(&b->number, 1);
    pthread_mutex_unlock(&b->lock);
    put(old);
    return ZKC_OK;
}

const struct cluster_view *view_newest(struct view_board *b, struct view_holder *h)
{
    if (atomic_load(&b->number) != h->number) {
        pthread_mutex_lock(&b->lock);
        put(h->held);
        h->held = b->newest;
        atomic_fetch_add(&h->held->refs, 1);
        h->number = atomic_load(&b->number);
        pthread_mutex_unlock(&b->lock);
    }
    return h->held ? &h->held->view : NULL;
}

void view_holder_deinit(struct view_holder *h)
{
    put(h->held);
    *h = (struct view_holder){0};
}
