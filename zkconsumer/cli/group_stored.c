#include "zkconsumer/cli/group_stored.h"
#include "zkconsumer/cli/kafka_offsets.h"
#include "zkconsumer/cli/report.h"

static size_t count_partitions(const struct group_view *view)
{
    size_t count = 0;
    for (size_t t = 0; t < view->topic_count; t++)
        count += view->topics[t].partition_count;
    return count;
}

static void choose(struct group_partition *p, const struct kafka_offset *kafka)
{
    p->stored_missing = kafka->missing;
    if (kafka->missing)
        p->offset = GROUP_UNKNOWN;
    if (kafka->offset < 0)
        return;
    p->is_stored = true;
    p->znode_offset = p->offset;
    p->offset = kafka->offset;
    p->offset_odd = NULL;
}

enum zkc_err group_stored_read(struct zk_reader *r, struct group_read *read, struct arena *arena,
                               struct why *why)
{
    struct group_view *view = &read->view;
    struct kafka_offset *list = arena_alloc_array(arena, count_partitions(view), sizeof *list);
    bool is_asked;
    size_t count = 0;
    why_set(why, "out of memory");
    if (!list)
        return arena->failed;
    for (size_t t = 0; t < view->topic_count; t++)
        for (size_t p = 0; p < view->topics[t].partition_count; p++)
            list[count++] = (struct kafka_offset){
                view->topics[t].name, view->topics[t].partitions[p].partition, -1, NULL};
    enum zkc_err err =
        kafka_offsets_read(r, &read->brokers, view->group, list, count, arena, &is_asked, why);
    const struct kafka_offset *at = list;
    for (size_t t = 0; !err && is_asked && t < view->topic_count; t++)
        for (size_t p = 0; p < view->topics[t].partition_count; p++)
            choose(&view->topics[t].partitions[p], at++);
    return err;
}

enum zkc_err group_stored_read_or_tell(struct zk_reader *r, struct group_read *read,
                                       struct arena *arena)
{
    struct why why;
    enum zkc_err err = group_stored_read(r, read, arena, &why);
    if (err)
        report_warning("offsets in Kafka are not known, those in ZooKeeper are shown: %s",
                       why.text);
    return err;
}

bool group_stored_has(const struct group_view *view)
{
    for (size_t t = 0; t < view->topic_count; t++)
        for (size_t p = 0; p < view->topics[t].partition_count; p++)
            if (view->topics[t].partitions[p].is_stored)
                return true;
    return false;
}

bool group_stored_differs(const struct group_partition *p)
{
    return p->is_stored && p->znode_offset >= 0 && p->znode_offset != p->offset;
}
