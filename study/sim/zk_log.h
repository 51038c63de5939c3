/* Transactions that a server has logged and does not know to be committed, oldest first. */
#ifndef STUDY_SIM_ZK_LOG_H
#define STUDY_SIM_ZK_LOG_H

#include "study/sim/zk_tree.h"

struct zk_log {
    struct zk_txn **list; /* a reference each */
    size_t first, count, cap;
};

static inline struct zk_txn *zk_log_at(const struct zk_log *l, size_t i)
{
    return l->list[l->first + i];
}
static inline struct zk_txn *zk_log_head(const struct zk_log *l) /* NULL: empty */
{
    return l->count ? zk_log_at(l, 0) : NULL;
}
static inline struct zk_txn *zk_log_last(const struct zk_log *l) /* NULL: empty */
{
    return l->count ? zk_log_at(l, l->count - 1) : NULL;
}
void zk_log_put(struct zk_log *l, struct pool *p, struct zk_txn *x); /* takes over the reference */
void zk_log_pop(struct zk_log *l, struct pool *p);
void zk_log_cut(struct zk_log *l, struct pool *p, int64_t zxid); /* what is younger than zxid */

#endif
