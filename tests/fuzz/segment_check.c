/* Any bytes of a segment: what counts does not depend on the pieces it is read in, and counts
 * again. The first byte is the size of the pieces. */
#include "broker/core/segment_scan.h"
#include "tests/fuzz/fuzz.h"
#include <assert.h>

static struct segment_check check(struct bytes log, size_t piece)
{
    struct segment_check c;
    segment_check_begin(&c, 0, log.len, 100, 64);
    bool more = true;
    for (size_t at = 0; at < log.len && more; at += piece)
        more = segment_check_feed(
            &c, bytes_of(log.data + at, piece < log.len - at ? piece : log.len - at));
    assert(segment_check_end(&c) == ZKC_OK);
    assert(c.valid_bytes <= log.len);
    assert((c.valid_bytes < log.len) == (c.why.text[0] != 0));
    return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct bytes log = bytes_of(data + 1, size - 1);
    struct segment_check whole = check(log, log.len + 1);
    struct segment_check pieces = check(log, 1 + data[0] % 64);
    struct segment_check again = check(bytes_of(log.data, whole.valid_bytes), 1000);
    assert(pieces.valid_bytes == whole.valid_bytes && pieces.next_offset == whole.next_offset);
    assert(again.valid_bytes == whole.valid_bytes && again.next_offset == whole.next_offset);
    assert(pieces.index.count == whole.index.count && again.index.count == whole.index.count);

    uint32_t position = 0;
    if (whole.next_offset > 0)
        assert(segment_scan(bytes_of(log.data, whole.valid_bytes), whole.next_offset - 1,
                            &position) == SCAN_FOUND);
    position = 0;
    segment_scan(log, INT64_MAX, &position);

    struct segment_index index;
    if (segment_index_lend(&index, log, (uint32_t)log.len) == ZKC_OK) {
        segment_index_lookup(&index, 0, INT64_MAX);
        segment_index_lookup(&index, 0, 0);
    }
    segment_check_deinit(&whole);
    segment_check_deinit(&pieces);
    segment_check_deinit(&again);
    return 0;
}
