/* Going through the bytes of a segment: finding a message's position, and checking what a crash
 * left. Reading the bytes is the shell's. */
#ifndef ZKC_BROKER_SEGMENT_SCAN_H
#define ZKC_BROKER_SEGMENT_SCAN_H

#include "broker/core/segment_index.h"
#include "zkconsumer/core/base/why.h"

/* ---- Finding (kafka.log.FileMessageSet.searchFor) ---- */

enum scan_result {
    SCAN_FOUND,   /* the message begins at *position */
    SCAN_MORE,    /* go on reading at *position, which may lie beyond what was read */
    SCAN_CORRUPT, /* no entry begins at *position: the file was damaged since it was checked */
};

/* Looks for the first entry whose offset is at least `target`. `read` are bytes of the segment from
 * `*position` on, where an entry begins; at least 12 of them unless the segment ends before. Only
 * offsets and sizes are looked at. 4096 bytes at a time are enough for most (index.interval.bytes).
 */
enum scan_result segment_scan(struct bytes read, int64_t target, uint32_t *position);

/* ---- Checking (kafka.log.LogSegment.recover) ---- */

/* A check under way. It takes the bytes in pieces of any size, in order, and keeps a few of them
 * only. A message counts when it is whole, its CRC is right, its format is 0, and its offset is
 * above the one before and fits the segment. The first that does not count ends the check; what
 * follows is not looked at. Compressed sets are not opened. */
struct segment_check {
    int64_t base_offset;
    int64_t next_offset;        /* behind the last message that counts */
    uint32_t valid_bytes;       /* where the segment is to be cut */
    struct segment_index index; /* owned: rebuilt */
    int32_t index_interval_bytes;
    size_t index_entries_max;
    uint32_t last_index_position;
    bool ended;          /* a message did not count */
    enum zkc_err failed; /* ZKC_ERR_NOMEM: nothing is known */
    struct why why;      /* what was wrong with it */
    uint8_t head[18];    /* of the entry under way, up to its attributes */
    size_t head_len;
    uint32_t body_left; /* bytes of the entry still to come, 0: in its head */
    uint32_t entry_bytes;
    uint32_t crc;
    uint64_t file_bytes;
};

/* Begins at `position` of the segment, where an entry of at least `next_offset` begins: 0 and the
 * base offset for a whole segment. `file_bytes` is the size of the file: an entry that claims more
 * is torn, and costs nothing. */
void segment_check_begin(struct segment_check *c, int64_t base_offset, uint64_t file_bytes,
                         int32_t index_interval_bytes, int32_t index_bytes_max);

/* To begin at the last entry of an index that is trusted (a segment that ended cleanly, or lies
 * below the recovery point): finds the end offset without reading all of it. The index is not
 * rebuilt then. */
void segment_check_begin_at(struct segment_check *c, int64_t base_offset, uint64_t file_bytes,
                            struct index_entry from);

/* False: no more is needed. */
bool segment_check_feed(struct segment_check *c, struct bytes piece);

/* The file has ended, or feed said false. ZKC_OK: c->valid_bytes, c->next_offset, c->index; when
 * valid_bytes is less than the file's size, cut it there and delete all later segments.
 * ZKC_ERR_NOMEM. */
ZKC_MUST_CHECK enum zkc_err segment_check_end(struct segment_check *c);

/* Hands the rebuilt index over to the caller. */
struct segment_index segment_check_take_index(struct segment_check *c);

void segment_check_deinit(struct segment_check *c);

#endif
