/* The offset index of a segment, in the form of its .index file: entries of 8 bytes, big-endian
 * (offset - base) and position in the .log, both int32 and ascending. An entry says: whoever looks
 * for its offset or a later one may begin there. It is a hint: it may be missing or have fewer
 * entries. Source: kafka.log.OffsetIndex. */
#ifndef ZKC_BROKER_SEGMENT_INDEX_H
#define ZKC_BROKER_SEGMENT_INDEX_H

#include "zkconsumer/core/base/bytes.h"
#include <zkconsumer/error.h>

#define INDEX_ENTRY_BYTES 8

struct index_entry {
    int64_t offset;
    uint32_t position;
};

/* Either owned memory that grows, or lent: bytes of the file, mapped or read by the shell, that
 * stay as long as the segment. */
struct segment_index {
    const uint8_t *entries;
    size_t count;
    uint8_t *owned;   /* NULL: lent, or empty */
    size_t owned_cap; /* entries */
};

/* Takes over the bytes of an .index file, lent. `file` may have any length; entries of zero behind
 * the last (a file that was preallocated and not trimmed) are left out.
 *
 * Only its ends are looked at, so that a start does not read all of it.
 *
 * ZKC_ERR_CORRUPT  not a multiple of 8 bytes, the last entry not above the first, or beyond the
 *                  segment's size: rebuild it (segment_scan.h) */
ZKC_MUST_CHECK enum zkc_err segment_index_lend(struct segment_index *x, struct bytes file,
                                               uint32_t segment_size);

void segment_index_deinit(struct segment_index *x);

/* The last entry at or below `offset`; the segment's beginning when there is none. */
struct index_entry segment_index_lookup(const struct segment_index *x, int64_t base_offset,
                                        int64_t offset);

/* The last entry; the segment's beginning when there is none. */
struct index_entry segment_index_last(const struct segment_index *x, int64_t base_offset);

/* Appends one. ZKC_ERR_NOMEM. */
ZKC_MUST_CHECK enum zkc_err segment_index_add(struct segment_index *x, int64_t base_offset,
                                              struct index_entry entry);

/* The same in two steps, the second of which cannot fail: room() is 0 when that many more entries
 * fit, else the number of entries to allocate (malloc, INDEX_ENTRY_BYTES each) and to install(),
 * which takes the memory; append() takes entries as the file has them. */
size_t segment_index_room(const struct segment_index *x, size_t entries);
void segment_index_install(struct segment_index *x, uint8_t *grown, size_t cap);
void segment_index_append(struct segment_index *x, const uint8_t *entries, size_t count);

void index_entry_write(uint8_t out[INDEX_ENTRY_BYTES], int64_t base_offset,
                       struct index_entry entry);

/* When an entry is due: before a message that lies more than index.interval.bytes behind the entry
 * before (LogSegment.append and .recover), and only while there is room in index_bytes_max. Unlike
 * 0.8.2, which looks once per append, we look at each message, as 0.8.2 itself does when it
 * recovers: a consumer that continues inside a large batch is found as fast. */
static inline bool index_entry_is_due(uint32_t position, uint32_t last_position, int32_t interval)
{
    return (int64_t)position - last_position > interval;
}

#endif
