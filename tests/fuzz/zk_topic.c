/* Topics and partition states; each input is read as both. */
#include "tests/fuzz/fuzz.h"
#include "zkconsumer/core/zk/topic.h"
#include <assert.h>

static void check_topic(struct bytes data)
{
    struct zk_topic t;
    struct why why;
    enum zkc_err err = zk_topic_read(data, &t, &why);
    if (err) {
        assert(err == ZKC_ERR_CORRUPT && why.text[0]);
        return;
    }
    assert(!why.text[0] || t.partition_count == 0);
    for (size_t i = 0; i < t.partition_count; i++) {
        assert(t.partitions[i].partition > (i ? t.partitions[i - 1].partition : -1));
        assert(!t.partitions[i].broker_ids == !t.partitions[i].broker_count);
    }
    zk_topic_deinit(&t);
}

static void check_state(struct bytes data)
{
    struct zk_partition_state s;
    struct why why;
    enum zkc_err err = zk_partition_state_read(data, &s, &why);
    assert((err != ZKC_OK) == (why.text[0] != '\0'));
    if (err) {
        assert(err == ZKC_ERR_CORRUPT);
        return;
    }
    assert(!s.isr == !s.isr_count);
    zk_partition_state_deinit(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_topic(bytes_of(data, size));
    check_state(bytes_of(data, size));
    return 0;
}
