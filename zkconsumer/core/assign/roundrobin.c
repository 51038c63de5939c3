#include "zkconsumer/core/assign/roundrobin.h"
#include "zkconsumer/core/zk/java_hash.h"
#include <stdlib.h>
#include <string.h>

static int by_hash(const void *a, const void *b)
{
    const struct assign_deal *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    int c = strcmp(x->topic, y->topic);
    return c ? c : (x->partition > y->partition) - (x->partition < y->partition);
}

void assign_roundrobin_order(struct assign_deal *deals, size_t count)
{
    for (size_t i = 0; i < count; i++)
        deals[i].hash = java_hash_partition(deals[i].topic, deals[i].partition);
    if (count)
        qsort(deals, count, sizeof *deals, by_hash);
}
