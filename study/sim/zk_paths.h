/* Each path of the world once, with a number: trees, watches and answers use the number. Paths are
 * never forgotten. */
#ifndef STUDY_SIM_ZK_PATHS_H
#define STUDY_SIM_ZK_PATHS_H

#include "study/sim/pool.h"
#include "study/trace/event.h"

#define ZK_PATH_ROOT 0 /* number of "/" */
#define ZK_PATH_NONE UINT32_MAX

struct zk_path {
    const char *text;
    const char *leaf; /* in text */
    uint32_t id, parent;
    int32_t hash, leaf_hash; /* Java's */
    struct trace_path info;
    uint32_t next; /* in the hash table */
    bool is_valid; /* ZooKeeper takes it */
};

struct zk_paths {
    struct pool *pool;
    struct zk_path **list;
    uint32_t count, cap;
    uint32_t *table;
    uint32_t table_size; /* a power of two */
};

void zk_paths_init(struct zk_paths *p, struct pool *pool);

/* The number of a path; made if it is new. */
uint32_t zk_paths_id(struct zk_paths *p, const char *text);
static inline const struct zk_path *zk_path_at(const struct zk_paths *p, uint32_t id)
{
    return p->list[id];
}

#endif
