#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/base/array.h"
#include <stddef.h>

static const struct api apis[] = {
    {API_FETCH, 0, 0, "Fetch"},
    {API_LIST_OFFSETS, 0, 0, "ListOffsets"},
    {API_METADATA, 0, 0, "Metadata"},
};

const struct api *api_find(int16_t key)
{
    for (size_t i = 0; i < ARRAY_LEN(apis); i++)
        if (apis[i].key == key)
            return &apis[i];
    return NULL;
}
