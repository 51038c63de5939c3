#include "study/sim/zk_log.h"
#include <string.h>

void zk_log_put(struct zk_log *l, struct pool *p, struct zk_txn *x)
{
    if (l->first + l->count == l->cap) {
        if (l->first > l->cap / 2) {
            memmove(l->list, l->list + l->first, l->count * sizeof(struct zk_txn *));
            l->first = 0;
        } else {
            l->cap = l->cap ? l->cap * 2 : 64;
            l->list = pool_resize(p, l->list, l->cap * sizeof(struct zk_txn *));
        }
    }
    l->list[l->first + l->count++] = x;
}

void zk_log_pop(struct zk_log *l, struct pool *p)
{
    zk_txn_unref(p, l->list[l->first]);
    l->first++;
    l->count--;
}

void zk_log_cut(struct zk_log *l, struct pool *p, int64_t zxid)
{
    while (l->count > 0 && zk_log_last(l)->zxid > zxid) {
        zk_txn_unref(p, zk_log_last(l));
        l->count--;
    }
}
