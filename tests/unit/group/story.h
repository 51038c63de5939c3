/* What stories of group machines share: short names over world.h. */
#ifndef ZKC_TEST_GROUP_STORY_H
#define ZKC_TEST_GROUP_STORY_H

#include "tests/unit/group/world.h"
#include "tests/unit/test.h"

/* A world without delays, with topic "t" of so many partitions (0: without it). */
struct world *new_world(int partitions);
struct world_member *join(struct world *w);
void settle(struct world *w);

/* How many partitions it believes to own. */
size_t owned(const struct world_member *m);
void assert_state(const struct world_member *m, const char *name);
struct zk_subscription sub(const char *topic, int streams);

/* A hook: something that happens once, to the first request that begins so. */
struct once {
    enum zk_op_type type;
    const char *path;
    int lane; /* -1: any */
    int skip; /* requests alike that pass before */
    enum world_verdict verdict;
    int zk_rc;
    bool always;
    const char *remove; /* this node goes before the request is run */
    int done;
};

enum world_verdict do_once(struct world *w, const struct world_request *r, int *zk_rc, void *once);

#endif
