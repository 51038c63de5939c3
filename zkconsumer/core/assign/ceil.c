#include "zkconsumer/core/assign/ceil.h"
#include <assert.h>

struct assign_run assign_ceil(size_t partition_count, size_t thread_count, size_t thread)
{
    assert(thread < thread_count);
    size_t share = partition_count / thread_count + (partition_count % thread_count != 0);
    size_t first = thread * share;
    size_t left = first < partition_count ? partition_count - first : 0;
    return (struct assign_run){.first = first, .count = share < left ? share : left};
}
