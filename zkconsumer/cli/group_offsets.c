#include "zkconsumer/cli/group_offsets.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/core/zk/offset.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdlib.h>

bool group_offsets_check_names(const struct cli_args *args, size_t group, size_t topic)
{
    return names_check_group(cli_args_text(args, group, "")) &&
           (!cli_args_has(args, topic) || names_check_topic(cli_args_text(args, topic, "")));
}

static int by_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int64_t m, n;
    if (cli_parse_number(x, 0, INT32_MAX, &m) && cli_parse_number(y, 0, INT32_MAX, &n) && m != n)
        return m < n ? -1 : 1;
    return strcmp(x, y);
}

enum zkc_err group_offsets_children(struct admin *a, char *path, struct zk_result *out)
{
    enum zkc_err err = admin_do(a, ZK_OP_CHILDREN, path, BYTES_NULL, out);
    if (!err && out->zk_rc != ZK_OK)
        out->children_count = 0;
    if (!err && out->children_count)
        qsort((void *)(uintptr_t)out->children, out->children_count, sizeof *out->children,
              by_name);
    return err;
}

enum zkc_err group_offsets_each(struct admin *a, const char *group, const char *topic,
                                group_offset_fn *take, void *user)
{
    struct zk_result partitions, result;
    enum zkc_err err = group_offsets_children(a, zk_path_offset_topic(group, topic), &partitions);
    for (size_t i = 0; !err && i < partitions.children_count; i++) {
        struct group_offset o = {.topic = topic};
        int64_t number;
        struct why why;
        if (!cli_parse_number(partitions.children[i], 0, INT32_MAX, &number))
            continue;
        o.partition = (int32_t)number;
        err =
            admin_do(a, ZK_OP_GET, zk_path_offset(group, topic, o.partition), BYTES_NULL, &result);
        if (err || result.zk_rc != ZK_OK)
            continue; /* gone meanwhile */
        if (zk_offset_read(result.data, &o.offset, &why))
            o.trouble = why.text;
        if (!take(&o, user))
            break;
    }
    return err;
}

enum zkc_err group_offsets_partitions(struct admin *a, const char *topic, int64_t only,
                                      struct partition_list *out)
{
    struct zk_topic t;
    bool found;
    enum zkc_err err = admin_read_topic(a, topic, &t, &found);
    out->count = 0;
    out->list = err ? NULL : arena_alloc_array(&a->arena, t.partition_count, sizeof *out->list);
    for (size_t i = 0; out->list && !err && i < t.partition_count; i++) {
        int32_t partition = t.partitions[i].partition;
        struct zk_partition_state state;
        struct zk_result result;
        struct why why;
        if (only >= 0 && partition != only)
            continue;
        struct log_end *end = &out->list[out->count++];
        *end = (struct log_end){.topic = topic, .partition = partition, .leader = -1};
        err =
            admin_do(a, ZK_OP_GET, zk_path_partition_state(topic, partition), BYTES_NULL, &result);
        if (err || result.zk_rc != ZK_OK || zk_partition_state_read(result.data, &state, &why))
            continue;
        end->leader = state.leader;
        zk_partition_state_deinit(&state);
    }
    if (!err)
        zk_topic_deinit(&t);
    if (!err && out->count == 0) {
        why_set(&a->why,
                only >= 0 && found ? "topic %s has no partition %lld" : "there is no topic %s",
                topic, (long long)only);
        err = ZKC_ERR_INVALID;
    }
    return err;
}

enum zkc_err group_offsets_ask(struct admin *a, struct partition_list *w, int64_t time)
{
    struct brokers brokers;
    enum zkc_err err = brokers_read(a->zk, &a->arena, &brokers, &a->why);
    if (!err)
        err = log_ends_read(&brokers, w->list, w->count, time, zk_reader_left_ms(a->zk), &a->arena);
    for (size_t i = 0; !err && i < w->count; i++) {
        if (w->list[i].err == ZKC_ERR_OFFSET_RANGE && time >= 0) {
            w->list[i].offset = -1;
        } else if (w->list[i].err) {
            why_set(&a->why, "[%s,%d]: %s; nothing was written", w->list[i].topic,
                    w->list[i].partition, w->list[i].missing);
            err = w->list[i].err;
        }
    }
    return err;
}

enum zkc_err group_offsets_refuse_live(struct admin *a, const char *group)
{
    struct zk_result ids;
    enum zkc_err err = group_offsets_children(a, zk_path_ids(group), &ids);
    if (err || ids.children_count == 0)
        return err;
    why_set(&a->why,
            "group %s has %zu members, the first is %s. Stop them first, or use --force: 0.8's "
            "consumers would not see new offsets before their next rebalance",
            group, ids.children_count, ids.children[0]);
    return ZKC_ERR_INVALID;
}

enum zkc_err group_offsets_write(struct admin *a, const char *group, const char *topic,
                                 int32_t partition, int64_t offset, bool forced)
{
    struct zk_result owner = {.zk_rc = ZK_NO_NODE};
    char text[ZK_OFFSET_TEXT_SIZE + 1] = "0";
    enum zkc_err err = ZKC_OK;
    if (forced && offset >= 0)
        err = admin_do(a, ZK_OP_EXISTS, zk_path_owner(group, topic, partition), BYTES_NULL, &owner);
    if (err)
        return err;
    size_t lead = owner.zk_rc == ZK_OK;
    size_t len = lead + zk_offset_format(offset, text + lead);
    return admin_write(a, zk_path_offset(group, topic, partition), bytes_of(text, len));
}

enum zkc_err group_offsets_read(struct admin *a, const char *group, const char *topic,
                                int32_t partition, int64_t *out)
{
    struct zk_result result;
    struct why why;
    enum zkc_err err =
        admin_do(a, ZK_OP_GET, zk_path_offset(group, topic, partition), BYTES_NULL, &result);
    if (err || result.zk_rc != ZK_OK || zk_offset_read(result.data, out, &why))
        *out = -1;
    return err;
}
