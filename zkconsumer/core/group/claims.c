#include "zkconsumer/core/group/claims.h"

static struct topic_partition name_at(const void *claims, size_t i)
{
    const struct group_claim *c = (const struct group_claim *)claims + i;
    return (struct topic_partition){c->topic, c->partition};
}

size_t claims_place(const struct group_claim *claims, size_t count, const char *topic,
                    int32_t partition)
{
    return topic_partition_place(claims, count, name_at,
                                 (struct topic_partition){topic, partition});
}

const struct group_claim *claims_find(const struct group_claim *claims, size_t count,
                                      const char *topic, int32_t partition)
{
    size_t at = claims_place(claims, count, topic, partition);
    struct topic_partition want = {topic, partition};
    bool is_found = at < count && topic_partition_compare(name_at(claims, at), want) == 0;
    return is_found ? &claims[at] : NULL;
}
