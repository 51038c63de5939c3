#include "zkconsumer/cli/replica_list.h"
#include "zkconsumer/cli/options.h"
#include <inttypes.h>
#include <stdlib.h>

static size_t count_parts(const char *text, char separator, const char *end)
{
    size_t count = 1;
    for (; text < end; text++)
        count += *text == separator;
    return count;
}

/* A number between blanks. */
static bool read_id(const char *at, const char *end, int32_t *out)
{
    char text[16];
    int64_t id;
    while (at < end && *at == ' ')
        at++;
    while (end > at && end[-1] == ' ')
        end--;
    if (at == end || (size_t)(end - at) >= sizeof text)
        return false;
    memcpy(text, at, (size_t)(end - at));
    text[end - at] = 0;
    if (!cli_parse_number(text, 0, INT32_MAX, &id))
        return false;
    *out = (int32_t)id;
    return true;
}

static bool has(const struct zk_replicas *p, int32_t id)
{
    size_t i = 0;
    while (i < p->broker_count && p->broker_ids[i] != id)
        i++;
    return i < p->broker_count;
}

/* The brokers of one partition, [at, end). */
static enum zkc_err read_partition(const char *at, const char *end, struct zk_replicas *p,
                                   struct why *why)
{
    size_t count = count_parts(at, ':', end);
    p->broker_ids = count <= REPLICA_LIST_REPLICAS_MAX ? calloc(count, sizeof(int32_t)) : NULL;
    if (!p->broker_ids) {
        why_set(why, "partition %" PRId32 " has %zu replicas", p->partition, count);
        return count <= REPLICA_LIST_REPLICAS_MAX ? ZKC_ERR_NOMEM : ZKC_ERR_CONFIG;
    }
    for (size_t i = 0; i < count; i++) {
        size_t len = 0;
        int32_t id;
        while (at + len < end && at[len] != ':')
            len++;
        if (!read_id(at, at + len, &id)) {
            why_set(why, "partition %" PRId32 ": \"%.*s\" is no broker's number", p->partition,
                    len < 64 ? (int)len : 64, at);
            return ZKC_ERR_CONFIG;
        }
        if (has(p, id)) {
            why_set(why, "partition %" PRId32 " has broker %" PRId32 " twice", p->partition, id);
            return ZKC_ERR_CONFIG;
        }
        p->broker_ids[p->broker_count++] = id;
        at += len + 1;
    }
    return ZKC_OK;
}

enum zkc_err replica_list_parse(const char *text, struct zk_topic *out, struct why *why)
{
    size_t count = count_parts(text, ',', text + strlen(text));
    struct zk_topic t = {0};
    enum zkc_err err = ZKC_OK;
    if (count > REPLICA_LIST_PARTITIONS_MAX) {
        why_set(why, "%zu partitions, more than %d", count, REPLICA_LIST_PARTITIONS_MAX);
        return ZKC_ERR_CONFIG;
    }
    t.partitions = calloc(count, sizeof *t.partitions);
    if (!t.partitions) {
        why_set(why, "out of memory");
        return ZKC_ERR_NOMEM;
    }
    for (const char *at = text; !err && t.partition_count < count;) {
        size_t len = strcspn(at, ",");
        struct zk_replicas *p = &t.partitions[t.partition_count];
        p->partition = (int32_t)t.partition_count++;
        err = read_partition(at, at + len, p, why);
        if (!err && p->broker_count != t.partitions[0].broker_count) {
            why_set(why, "partition %" PRId32 " has %zu replicas, partition 0 has %zu",
                    p->partition, p->broker_count, t.partitions[0].broker_count);
            err = ZKC_ERR_CONFIG;
        }
        at += len + 1;
    }
    if (err)
        zk_topic_deinit(&t);
    else
        *out = t;
    return err;
}
