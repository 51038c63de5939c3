#include "zkconsumer/cli/group_held.h"
#include "zkconsumer/cli/group_check.h"
#include "zkconsumer/cli/group_read.h"
#include "zkconsumer/cli/zk_reader.h"
#include "zkconsumer/core/zk/consumer_id.h"

#define ANSWERS_BYTES_MAX ((size_t)1 << 30)

static void look(const struct group_view *view, group_held_fn *fn, void *user)
{
    for (size_t i = 0; i < view->topic_count; i++) {
        const struct group_topic *t = &view->topics[i];
        for (size_t k = 0; k < t->partition_count; k++) {
            const struct group_partition *p = &t->partitions[k];
            if (p->owner &&
                !group_check_member(view, zk_thread_id_consumer(bytes_of_text(p->owner))))
                fn(t->name, p->partition, p->owner, user);
        }
    }
}

enum zkc_err group_held_each(const zkc_conf *conf, const char *group, int64_t timeout_ms,
                             group_held_fn *fn, void *user, struct why *why)
{
    struct zk_reader *r;
    struct arena arena;
    struct group_read read;
    struct group_read_options what = {.without_ends = true};
    enum zkc_err err =
        zk_reader_open_with(zkc_conf_get(conf, "zookeeper.connect"),
                            zkc_conf_get(conf, "zookeeper.auth"), timeout_ms, &r, why);
    if (err)
        return err;
    arena_init(&arena, ANSWERS_BYTES_MAX);
    err = group_read(r, group, &what, &arena, &read, why);
    if (!err)
        look(&read.view, fn, user);
    arena_deinit(&arena);
    zk_reader_close(r);
    return err;
}
