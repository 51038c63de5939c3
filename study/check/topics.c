/* Which topics are there. One that is made again has other messages under the same offsets: the
 * books of what was delivered begin anew. What the group has committed stays in ZooKeeper, as in
 * Kafka, so that its owners go on from there, or from where auto.offset.reset says. */
#include "study/check/state.h"
#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/core/zk/topic.h"
#include <string.h>

static void begin_anew(struct partition *p)
{
    p->is_reborn = p->is_of_before = true;
    p->delivered.count = p->skipped.count = 0;
    p->floor = p->floor_asked = p->produced = -1;
    p->produce_count = p->produce_gone = 0;
}

static bool has_partition(const struct zk_topic *t, uint64_t number)
{
    for (size_t i = 0; i < t->partition_count; i++)
        if ((uint64_t)t->partitions[i].partition == number)
            return true;
    return false;
}

void check_topics(struct check *c, const struct trace_event *e)
{
    const struct trace_txn *x = &e->zk_txn;
    if (e->type != TRACE_ZK_TXN || x->class_of != TRACE_CLASS_TOPIC)
        return;
    const char *topic = zk_path_leaf(x->path);
    bool creates = strcmp(x->what, "create") == 0, deletes = strcmp(x->what, "delete") == 0;
    struct zk_topic now = {0};
    struct why why;
    if (!deletes && (!x->value || zk_topic_read(bytes_of(x->value, x->value_len), &now, &why)))
        return;
    for (uint32_t i = 0; i < c->partition_names.count; i++) {
        struct partition *p = &c->partitions[i];
        if (strcmp(c->partition_names.list[i].text, topic) != 0)
            continue;
        if (creates)
            begin_anew(p);
        p->is_gone = !has_partition(&now, c->partition_names.list[i].number);
    }
    zk_topic_deinit(&now);
}
