/* Message sets: the iterator ends, stays within its limits, agrees with the shallow look; and what
 * it hands out, written again, reads the same. Each input runs twice: as it is, and with the CRCs
 * of its entries put right, because no mutation would ever hit them. */
#include "zkconsumer/core/wire/message_set.h"
#include "tests/fuzz/fuzz.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/crc32.h"
#include <assert.h>
#include <stdlib.h>

#define DECOMPRESSED_MAX (1 << 18)

static const struct message_iter_limits limits = {.decompressed_bytes_max = DECOMPRESSED_MAX};

static void check_memory(const struct message_iter *it)
{
    size_t used = 0;
    for (size_t i = 0; i <= MESSAGE_DEPTH_MAX; i++) {
        assert(it->levels[i].data.len <= it->levels[i].data.cap);
        used += it->levels[i].data.len;
    }
    assert(used <= DECOMPRESSED_MAX);
}

/* Appends the set's messages to `out`; returns how it ended. */
static enum message_iter_result copy_messages(struct bytes set, struct buf *out)
{
    struct message_iter it;
    struct message_view m;
    enum message_iter_result result;
    message_iter_init(&it, set, &limits);
    do {
        result = message_iter_next(&it, &m);
        check_memory(&it);
        if (result == MESSAGE_ITER_MESSAGE)
            message_set_append(out, m.offset, m.key, m.value);
        else if (result == MESSAGE_ITER_CORRUPT)
            assert(it.fault.reason[0] && it.fault.position < set.len);
    } while (result == MESSAGE_ITER_MESSAGE || result == MESSAGE_ITER_CORRUPT);
    assert(message_iter_next(&it, &m) == result);
    message_iter_deinit(&it);
    return result;
}

static void check_set(struct bytes set)
{
    struct message_set_extent x = message_set_extent(set);
    assert(x.valid_bytes <= set.len);
    assert((x.next_offset == -1) == (x.entries == 0));

    struct buf copy, again;
    buf_init(&copy, 1 << 24);
    buf_init(&again, 1 << 24);
    enum message_iter_result end = copy_messages(set, &copy);
    if (x.state == MESSAGE_SET_TOO_LARGE)
        assert(end == MESSAGE_ITER_TOO_LARGE);
    if (x.state == MESSAGE_SET_EMPTY)
        assert(end == MESSAGE_ITER_END && copy.len == 0);

    if (!copy.failed) {
        assert(copy_messages(buf_bytes(&copy), &again) == MESSAGE_ITER_END);
        assert(bytes_equal(buf_bytes(&copy), buf_bytes(&again)));
    }
    buf_deinit(&copy);
    buf_deinit(&again);
}

static void repair_crcs(uint8_t *data, size_t size)
{
    for (size_t at = 0; size - at >= MESSAGE_OVERHEAD + MESSAGE_SIZE_MIN;) {
        int32_t entry = read_i32(data + at + 8);
        if (entry < MESSAGE_SIZE_MIN || (size_t)entry > size - at - MESSAGE_OVERHEAD)
            return;
        uint8_t *covered = data + at + MESSAGE_OVERHEAD + 4;
        write_i32(covered - 4, (int32_t)wire_crc32(covered, (size_t)entry - 4));
        at += MESSAGE_OVERHEAD + (size_t)entry;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_set(bytes_of(data, size));
    uint8_t *repaired = malloc(size ? size : 1);
    assert(repaired);
    if (size)
        memcpy(repaired, data, size);
    repair_crcs(repaired, size);
    check_set(bytes_of(repaired, size));
    free(repaired);
    return 0;
}
