#include "zkconsumer/core/zk/consumer_id.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

char *zk_consumer_id_generate(const char *group, const char *host_name, int64_t now_ms,
                              uint64_t random)
{
    char hex[17];
    snprintf(hex, sizeof hex, "%" PRIx64, random);
    size_t size = strlen(group) + strlen(host_name) + sizeof "_--" + 20 + 8;
    char *id = malloc(size);
    if (id)
        snprintf(id, size, "%s_%s-%" PRId64 "-%.8s", group, host_name, now_ms, hex);
    return id;
}

char *zk_consumer_id_fixed(const char *group, const char *configured_id)
{
    size_t size = strlen(group) + strlen(configured_id) + sizeof "_";
    char *id = malloc(size);
    if (id)
        snprintf(id, size, "%s_%s", group, configured_id);
    return id;
}

char *zk_thread_id(const char *consumer_id, int32_t thread)
{
    size_t size = strlen(consumer_id) + sizeof "-" + 11;
    char *id = malloc(size);
    if (id)
        snprintf(id, size, "%s-%" PRId32, consumer_id, thread);
    return id;
}

struct bytes zk_thread_id_consumer(struct bytes thread_id)
{
    for (size_t i = thread_id.len; i > 0; i--)
        if (thread_id.data[i - 1] == '-')
            return bytes_of(thread_id.data, i - 1);
    return BYTES_NULL;
}
