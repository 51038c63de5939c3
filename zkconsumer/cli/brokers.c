#include "zkconsumer/cli/brokers.h"
#include "zkconsumer/cli/options.h"
#include "zkconsumer/core/zk/broker.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
    int32_t x = ((const struct broker *)a)->id, y = ((const struct broker *)b)->id;
    return (x > y) - (x < y);
}

static char *copy_text(struct arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_alloc(arena, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static void read_one(struct broker *broker, struct bytes data, struct arena *arena)
{
    struct zk_broker registered;
    struct why why;
    if (zk_broker_read(data, &registered, &why) != ZKC_OK) {
        broker->problem = copy_text(arena, why.text);
        return;
    }
    broker->host = copy_text(arena, registered.host);
    broker->port = (uint16_t)registered.port;
    broker->version = registered.version;
    zk_broker_deinit(&registered);
}

static enum zkc_err read_all(struct zk_reader *r, const struct zk_result *names,
                             struct arena *arena, struct brokers *out, struct why *why)
{
    size_t count = names->children_count;
    struct zk_op *ops = arena_alloc_array(arena, count, sizeof *ops);
    struct zk_result *results = arena_alloc_array(arena, count, sizeof *results);
    out->list = arena_alloc_array(arena, count, sizeof *out->list);
    for (size_t i = 0; out->list && i < count; i++) {
        size_t size = sizeof ZK_PATH_BROKER_IDS + 1 + strlen(names->children[i]);
        char *path = arena_alloc(arena, size);
        if (path)
            snprintf(path, size, ZK_PATH_BROKER_IDS "/%s", names->children[i]);
        ops[i] = (struct zk_op){.type = ZK_OP_GET, .path = path};
    }
    if (arena->failed)
        return arena->failed;
    enum zkc_err err = zk_reader_run(r, ops, count, arena, results, why);
    for (size_t i = 0; !err && i < count; i++) {
        int64_t id;
        if (results[i].zk_rc != ZK_OK || !cli_parse_number(names->children[i], 0, INT32_MAX, &id))
            continue;
        out->list[out->count] = (struct broker){.id = (int32_t)id};
        read_one(&out->list[out->count++], results[i].data, arena);
    }
    qsort(out->list, out->count, sizeof *out->list, by_id);
    return err ? err : arena->failed;
}

enum zkc_err brokers_read(struct zk_reader *r, struct arena *arena, struct brokers *out,
                          struct why *why)
{
    *out = (struct brokers){0};
    struct zk_op op = {.type = ZK_OP_CHILDREN, .path = ZK_PATH_BROKER_IDS};
    struct zk_result names;
    enum zkc_err err = zk_reader_run(r, &op, 1, arena, &names, why);
    if (!err && names.zk_rc == ZK_OK)
        err = read_all(r, &names, arena, out, why);
    if (err == ZKC_ERR_NOMEM || err == ZKC_ERR_TOO_LARGE)
        why_set(why, "%s: %s", ZK_PATH_BROKER_IDS, zkc_err_text(err));
    return err;
}

const struct broker *brokers_find(const struct brokers *brokers, int32_t id)
{
    struct broker key = {.id = id};
    if (!brokers->count)
        return NULL;
    return bsearch(&key, brokers->list, brokers->count, sizeof key, by_id);
}

size_t brokers_append_addresses(const struct brokers *brokers, struct buf *out)
{
    size_t count = 0;
    for (size_t k = 0; k < brokers->count; k++) {
        const struct broker *b = &brokers->list[k];
        if (!b->host)
            continue;
        bool is_ipv6 = strchr(b->host, ':') != NULL;
        buf_appendf(out, is_ipv6 ? "%s[%s]:%" PRIu16 : "%s%s:%" PRIu16, count++ ? "," : "", b->host,
                    b->port);
    }
    return count;
}

const char *brokers_version_fallback(const struct brokers *brokers)
{
    int32_t oldest = INT32_MAX;
    for (size_t k = 0; k < brokers->count; k++) {
        const struct broker *b = &brokers->list[k];
        if (b->host && b->version < oldest)
            oldest = b->version;
    }
    return oldest <= 1 ? "0.8.2.2" : oldest == 2 ? "0.9.0.1" : NULL;
}
