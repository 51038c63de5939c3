#include "tests/unit/group/story.h"

#define STEPS_MAX 20000

struct world *new_world(int partitions)
{
    struct world *w = world_new(&(struct world_options){.seed = 1});
    if (partitions > 0)
        world_put_topic(w, "t", partitions);
    return w;
}

struct world_member *join(struct world *w)
{
    struct zk_compat_config c = world_config();
    return world_join(w, &c);
}

void settle(struct world *w)
{
    world_settle(w, STEPS_MAX);
}

size_t owned(const struct world_member *m)
{
    size_t n;
    zk_compat_owned(m->machine, &n);
    return n;
}

void assert_state(const struct world_member *m, const char *name)
{
    assert_string_equal(zk_compat_state_name(m->machine), name);
}

struct zk_subscription sub(const char *topic, int streams)
{
    return (struct zk_subscription){(char *)(uintptr_t)topic, streams};
}

enum world_verdict do_once(struct world *w, const struct world_request *r, int *zk_rc, void *user)
{
    struct once *o = user;
    if ((o->done && !o->always) || r->op->type != o->type ||
        strncmp(zk_op_path(r->op), o->path, strlen(o->path)) != 0 ||
        (o->lane >= 0 && r->lane != (enum group_lane)o->lane))
        return WORLD_RUN;
    if (o->skip > 0) {
        o->skip--;
        return WORLD_RUN;
    }
    o->done++;
    if (o->remove)
        world_remove(w, o->remove);
    *zk_rc = o->zk_rc;
    return o->verdict;
}
