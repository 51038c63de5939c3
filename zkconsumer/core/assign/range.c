#include "zkconsumer/core/assign/range.h"
#include <assert.h>
#include <stdbool.h>

struct assign_run assign_range(size_t partition_count, size_t thread_count, size_t thread)
{
    assert(thread < thread_count);
    size_t share = partition_count / thread_count;
    size_t extra = partition_count % thread_count;
    bool gets_extra = thread < extra;
    return (struct assign_run){
        .first = thread * share + (gets_extra ? thread : extra),
        .count = share + gets_extra,
    };
}
