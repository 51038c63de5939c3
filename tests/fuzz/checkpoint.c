/* Any checkpoint file: what is read and written again reads the same. */
#include "broker/core/checkpoint.h"
#include "tests/fuzz/fuzz.h"
#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct checkpoint first, second;
    struct why why;
    if (checkpoint_read(bytes_of(data, size), &first, &why) != ZKC_OK)
        return 0;
    struct buf out;
    buf_init(&out, 1 << 24);
    checkpoint_write_begin(&out, first.count);
    for (size_t i = 0; i < first.count; i++)
        checkpoint_write_entry(&out, first.entries[i].at, first.entries[i].offset);
    assert(checkpoint_read(buf_bytes(&out), &second, &why) == ZKC_OK);
    assert(second.count == first.count);
    for (size_t i = 0; i < first.count; i++) {
        assert(topic_partition_compare(first.entries[i].at, second.entries[i].at) == 0);
        assert(checkpoint_find(&second, first.entries[i].at, -1) == first.entries[i].offset);
    }
    buf_deinit(&out);
    checkpoint_deinit(&first);
    checkpoint_deinit(&second);
    return 0;
}
