#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/base/array.h"

static const struct api apis[] = {
    {API_PRODUCE, 0, 0, "Produce"},
    {API_FETCH, 0, 0, "Fetch"},
    {API_LIST_OFFSETS, 0, 0, "ListOffsets"},
    {API_METADATA, 0, 0, "Metadata"},
    {API_OFFSET_COMMIT, 0, 0, "OffsetCommit"},
    {API_OFFSET_FETCH, 0, 0, "OffsetFetch"},
    {API_API_VERSIONS, 0, 0, "ApiVersions"},
};

const struct api *api_find(int16_t key)
{
    for (size_t i = 0; i < ARRAY_LEN(apis); i++)
        if (apis[i].key == key)
            return &apis[i];
    return NULL;
}

const struct api *api_all(size_t *count)
{
    *count = ARRAY_LEN(apis);
    return apis;
}
