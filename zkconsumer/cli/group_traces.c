#include "zkconsumer/cli/group_traces.h"
#include "zkconsumer/core/zk/path.h"
#include <stdlib.h>

#define ANSWERS_BYTES_MAX ((size_t)64 << 20)

static enum zkc_err look(struct zk_reader *r, const char *group, bool deletes, struct arena *arena,
                         struct group_traces *out, struct why *why)
{
    char *ids = zk_path_ids(group), *offsets = zk_path_offsets(group), *all = zk_path_group(group);
    struct zk_op ops[] = {{.type = ZK_OP_CHILDREN, .path = ids},
                          {.type = ZK_OP_EXISTS, .path = offsets}};
    struct zk_result results[2];
    enum zkc_err err = ids && offsets && all ? ZKC_OK : ZKC_ERR_NOMEM;
    if (err)
        why_set(why, "out of memory");
    else
        err = zk_reader_run(r, ops, 2, arena, results, why);
    if (!err) {
        out->member_count = results[0].zk_rc == ZK_OK ? results[0].children_count : 0;
        out->has_offsets = results[1].zk_rc == ZK_OK;
        if (deletes && out->member_count == 0)
            err = zk_reader_delete_tree(r, all, why);
    }
    free(ids);
    free(offsets);
    free(all);
    return err;
}

enum zkc_err group_traces_look(const zkc_conf *conf, const char *group, bool deletes,
                               int64_t timeout_ms, struct group_traces *out, struct why *why)
{
    struct zk_reader *r;
    struct arena arena;
    *out = (struct group_traces){0};
    enum zkc_err err =
        zk_reader_open_with(zkc_conf_get(conf, "zookeeper.connect"),
                            zkc_conf_get(conf, "zookeeper.auth"), timeout_ms, &r, why);
    if (err)
        return err;
    arena_init(&arena, ANSWERS_BYTES_MAX);
    err = look(r, group, deletes, &arena, out, why);
    arena_deinit(&arena);
    zk_reader_close(r);
    return err;
}
