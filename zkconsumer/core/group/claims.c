#include "zkconsumer/core/group/claims.h"

const struct group_claim *claims_find(const struct group_claim *claims, size_t count,
                                      const char *topic, int32_t partition)
{
    size_t lo = 0, hi = count;
    struct topic_partition want = {topic, partition};
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        struct topic_partition tp = {claims[mid].topic, claims[mid].partition};
        int order = topic_partition_compare(tp, want);
        if (order == 0)
            return &claims[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}
