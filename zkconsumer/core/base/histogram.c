#include "zkconsumer/core/base/histogram.h"

const int64_t histogram_bounds_us[HISTOGRAM_BOUNDS] = {
    500,    1000,   2000,    5000,    10000,   20000,    50000,    100000,
    200000, 500000, 1000000, 2000000, 5000000, 10000000, 30000000, 60000000};

void histogram_add(struct histogram *h, int64_t us)
{
    size_t i = 0;
    us = us < 0 ? 0 : us;
    while (i < HISTOGRAM_BOUNDS && us > histogram_bounds_us[i])
        i++;
    h->buckets[i]++;
    h->count++;
    h->sum_us += us;
    h->max_us = us > h->max_us ? us : h->max_us;
}

void histogram_json(const struct histogram *h, struct json *j, const char *key)
{
    json_object_begin(j, key);
    json_int(j, "count", (int64_t)h->count);
    json_int(j, "sum_us", h->sum_us);
    json_int(j, "max_us", h->max_us);
    json_list_begin(j, "buckets");
    for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
        json_int(j, NULL, (int64_t)h->buckets[i]);
    json_list_end(j);
    json_object_end(j);
}
