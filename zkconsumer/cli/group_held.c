#include "zkconsumer/cli/group_held.h"
#include "zkconsumer/cli/admin.h"
#include "zkconsumer/cli/group_check.h"
#include "zkconsumer/cli/group_read.h"
#include "zkconsumer/core/zk/consumer_id.h"

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
    struct admin a;
    struct group_read read;
    struct group_read_options what = {.without_ends = true};
    enum zkc_err err = admin_open_conf(&a, conf, timeout_ms);
    if (!err) {
        err = group_read(a.zk, group, &what, &a.arena, &read, &a.why);
        if (!err)
            look(&read.view, fn, user);
        admin_close(&a);
    }
    *why = a.why;
    return err;
}
