/* ZooKeeper's transaction logs: whatever they hold, nothing is read beyond the file, and what is
 * broken is told with a reason. Checksums are mended first, or no mutation would get past them. */
#include "study/record/txn_log.h"
#include "tests/fuzz/fuzz.h"
#include "zkconsumer/core/wire/big_endian.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void mend(uint8_t *data, size_t size)
{
    for (size_t at = 16; at + 13 < size;) {
        int32_t len = read_i32(data + at + 8);
        if (len < 1 || (size_t)len >= size - at - 12)
            return;
        write_i64(data + at, (int64_t)adler32(adler32(0, NULL, 0), data + at + 12, (uInt)len));
        data[at + 12 + (size_t)len] = 'B';
        at += 12 + (size_t)len + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct txn_log log;
    struct txn txn;
    struct why why;
    uint8_t *copy = malloc(size + 1);
    assert(copy);
    memcpy(copy, data, size);
    mend(copy, size);
    struct bytes file = bytes_of(copy, size);
    enum txn_next next = TXN_END;
    if (txn_log_open(&log, file, &why))
        while ((next = txn_log_next(&log, &txn, &why)) == TXN_NEXT) {
            assert(txn.part_count <= TXN_PARTS_MAX);
            for (size_t i = 0; i < txn.part_count; i++)
                assert(!txn.parts[i].path.data ||
                       (txn.parts[i].path.data >= copy && txn.parts[i].path.data <= copy + size));
        }
    assert(next == TXN_END || *why.text);
    free(copy);
    return 0;
}
