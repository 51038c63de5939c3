#include "zkconsumer/cli/group_traces.h"
#include "zkconsumer/cli/offset_store.h"
#include "zkconsumer/core/zk/path.h"

static enum zkc_err delete (struct admin *a, const char *group) {
    char *all = arena_format(&a->arena, "/consumers/%s", group);
    return all ? zk_reader_delete_tree(a->zk, all, &a->why) : a->arena.failed;
}

static enum zkc_err look(struct admin *a, const char *group, enum group_traces_use use,
                         struct group_traces *out)
{
    struct zk_result ids, offsets;
    size_t kept;
    enum zkc_err err = admin_do(a, ZK_OP_CHILDREN, zk_path_ids(group), BYTES_NULL, &ids);
    if (!err)
        err = admin_do(a, ZK_OP_EXISTS, zk_path_offsets(group), BYTES_NULL, &offsets);
    if (err)
        return err;
    out->member_count = ids.zk_rc == ZK_OK ? ids.children_count : 0;
    out->has_offsets = offsets.zk_rc == ZK_OK;
    if (use == GROUP_TRACES_KEEP || out->member_count > 0)
        return ZKC_OK;
    if (use == GROUP_TRACES_DELETE_AND_TELL)
        err = offset_store_tell_kept(a, group, NULL, &kept);
    return err ? err : delete (a, group);
}

enum zkc_err group_traces_look(const zkc_conf *conf, const char *group, enum group_traces_use use,
                               int64_t timeout_ms, struct group_traces *out, struct why *why)
{
    struct admin a;
    *out = (struct group_traces){0};
    enum zkc_err err = admin_open_conf(&a, conf, timeout_ms);
    if (!err) {
        err = look(&a, group, use, out);
        admin_close(&a);
    }
    *why = a.why;
    return err;
}
