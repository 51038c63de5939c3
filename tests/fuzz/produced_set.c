/* Any message set a producer may send: what is accepted is whole, has the next offsets, and is
 * accepted again. */
#include "broker/core/produced_set.h"
#include "broker/core/segment_scan.h"
#include "tests/fuzz/fuzz.h"
#include "zkconsumer/core/wire/message_set.h"
#include <assert.h>
#include <stdlib.h>

#define OPENED_MAX (1 << 20)
#define NEXT       1000

/* What was accepted is a valid piece of a segment, and its messages have every offset. */
static void check_accepted(const struct produced_set *set)
{
    struct segment_check check;
    segment_check_begin(&check, NEXT, set->data.len, 0, 4096);
    segment_check_feed(&check, set->data);
    assert(segment_check_end(&check) == ZKC_OK);
    assert(check.valid_bytes == set->data.len);
    assert(check.next_offset == set->last_offset + 1);
    segment_check_deinit(&check);

    const struct message_iter_limits limits = {2 * OPENED_MAX};
    struct message_iter it;
    struct message_view message;
    int64_t expected = NEXT;
    message_iter_init(&it, set->data, &limits);
    while (message_iter_next(&it, &message) == MESSAGE_ITER_MESSAGE)
        assert(message.offset == expected++);
    assert(it.end == MESSAGE_ITER_END);
    assert(expected == set->last_offset + 1);
    message_iter_deinit(&it);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct produced_limits limits = {
        .message_bytes_max = 100000, .set_bytes_max = 200000, .decompressed_bytes_max = OPENED_MAX};
    uint8_t *copy = malloc(size + 1);
    struct buf rewritten;
    struct produced_set set;
    assert(copy);
    if (size)
        memcpy(copy, data, size);
    buf_init(&rewritten, INT32_MAX);
    enum kafka_error error = produced_set_accept(copy, size, NEXT, &limits, &rewritten, &set);
    assert((error == KAFKA_ERR_NONE) == (set.reason[0] == 0));
    if (error)
        assert(set.entries == 0 && set.first_offset == -1);
    else if (set.entries)
        check_accepted(&set);
    buf_deinit(&rewritten);
    free(copy);
    return 0;
}
