#include "study/sim/zk_paths.h"
#include "study/sim/java_set.h"
#include "zkconsumer/core/zk/path.h"
#include <string.h>

#define TABLE_FIRST 1024

void zk_paths_init(struct zk_paths *p, struct pool *pool)
{
    *p = (struct zk_paths){.pool = pool, .table_size = TABLE_FIRST};
    p->table = pool_take(pool, TABLE_FIRST * sizeof *p->table);
    memset(p->table, 0xff, TABLE_FIRST * sizeof *p->table);
    zk_paths_id(p, "/");
}

/* PathUtils.validatePath, roughly: from the root, no empty or dotted element, no slash at the end.
 */
static bool is_valid(const char *text)
{
    if (text[0] != '/')
        return false;
    if (text[1] == '\0')
        return true;
    for (const char *at = text; *at;) {
        const char *name = at + 1;
        size_t len = strcspn(name, "/");
        if (len == 0 || zk_znode_name_span(bytes_of(name, len)) != len ||
            (len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.'))
            return false;
        at = name + len;
    }
    return true;
}

static void grow_table(struct zk_paths *p)
{
    p->table_size *= 2;
    pool_give(p->pool, p->table);
    p->table = pool_take(p->pool, p->table_size * sizeof *p->table);
    memset(p->table, 0xff, p->table_size * sizeof *p->table);
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t *slot = &p->table[(uint32_t)p->list[i]->hash * 2654435761u & (p->table_size - 1)];
        p->list[i]->next = *slot;
        *slot = i;
    }
}

static uint32_t parent_of(struct zk_paths *p, const char *text)
{
    char parent[4096];
    const char *slash = strrchr(text, '/');
    size_t len = slash ? (size_t)(slash - text) : 0;
    if (len == 0 || len >= sizeof parent)
        return ZK_PATH_ROOT;
    memcpy(parent, text, len);
    parent[len] = '\0';
    return zk_paths_id(p, parent);
}

uint32_t zk_paths_id(struct zk_paths *p, const char *text)
{
    size_t len = strlen(text);
    int32_t hash = java_text_hash(text, len);
    uint32_t slot = (uint32_t)hash * 2654435761u & (p->table_size - 1);
    for (uint32_t id = p->table[slot]; id != ZK_PATH_NONE; id = p->list[id]->next)
        if (p->list[id]->hash == hash && strcmp(p->list[id]->text, text) == 0)
            return id;
    uint32_t parent = parent_of(p, text); /* may add paths */
    if (p->count == p->cap) {
        p->cap = p->cap ? p->cap * 2 : TABLE_FIRST;
        p->list = pool_resize(p->pool, p->list, p->cap * sizeof(struct zk_path *));
    }
    if (p->count >= p->table_size)
        grow_table(p);
    char *copy = pool_take(p->pool, len + 1);
    memcpy(copy, text, len + 1);
    struct zk_path *path = pool_take(p->pool, sizeof *path);
    const char *slash = strrchr(copy, '/');
    const char *leaf = slash ? slash + 1 : copy;
    *path = (struct zk_path){.text = copy,
                             .leaf = leaf,
                             .id = p->count,
                             .parent = parent,
                             .hash = hash,
                             .leaf_hash = java_text_hash(leaf, strlen(leaf)),
                             .info = trace_path_read(copy),
                             .is_valid = is_valid(copy)};
    slot = (uint32_t)hash * 2654435761u & (p->table_size - 1);
    path->next = p->table[slot];
    p->table[slot] = p->count;
    p->list[p->count++] = path;
    return path->id;
}
