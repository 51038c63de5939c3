/* The log of a partition: which segments it has, where the next message goes, where a message is.
 * Source: kafka.log.Log, LogSegment (0.8.2).
 *
 * The machine holds the rules and the numbers; files are the shell's. It needs no lock of its own:
 *
 *   - one writer at a time (the writer's lock): everything that is not const;
 *   - const functions look at memory only, and briefly. A second lock, held by the shell around
 *     them and around the functions marked [changes], and never during I/O, is enough for readers
 *     that do not wait for a writer's disk. log_append_plan() reads only: the writer calls it
 *     without that lock.
 *
 * An append, in this order:
 *   1. plan:   e = log_append_plan(log, set, len, now, &a);  e: the answer. a.data.len 0: nothing
 *   2. roll:   if a.roll: create <a.base_offset>.log and .index (delete ones that exist); trim the
 *              old .index to its entries. What is left of the old segment is flushed in the
 * background; then log_flushed(log, a.base_offset)
 *   3. write:  a.data to the .log at a.position, all of it
 *   4. commit: [changes] log_append_commit(log, &a, file of the new segment); never fails
 *   5. index:  a.index_bytes to the .index at a.index_position; a failure is no error of the append
 *   6. flush:  if a.flush_due: fsync the .log files from the recovery point on, log_flushed()
 *   7. answer: a.first_offset; wake fetches with a.data.len bytes.
 * If 2 or 3 fails: cut the .log to a.position (and remove what 2 created), do not commit; the next
 * append is planned for the same place. A flush that failed must not be answered as success, and
 * its segment not be trusted: take the partition off line. */
#ifndef ZKC_BROKER_PARTITION_LOG_H
#define ZKC_BROKER_PARTITION_LOG_H

#include "zkconsumer/core/zk/log_config.h"
#include "broker/core/produced_set.h"
#include "broker/core/segment_index.h"

/* An open segment, the shell's own; carried here, never looked into. */
struct segment_file;

struct log_segment {
    int64_t base_offset;
    uint32_t size;       /* bytes of the .log that count: what a reader may read */
    int64_t created_ms;  /* wall clock; of loading, for what was loaded (as in 0.8.2) */
    int64_t modified_ms; /* wall clock; of the last append, or the file's mtime */
    struct segment_index index;
    struct segment_file *file;
};

/* Where the last appends begin: readers at the tail are found without looking into a file. */
#define LOG_RECENT_MAX 32

struct log_recent {
    int64_t offset;
    uint32_t position; /* in the active segment */
};

struct partition_log {
    struct log_config config;
    struct log_segment *segments; /* ascending; never empty once in use */
    size_t count, cap;
    int64_t end_offset;     /* of the next message; with one replica also the high watermark */
    int64_t recovery_point; /* below it everything is flushed */
    int64_t flushed_ms;     /* wall clock of the last flush, or of loading */
    uint64_t bytes;         /* of all segments */
    struct log_recent recent[LOG_RECENT_MAX];
    size_t recent_first, recent_count;
};

void partition_log_init(struct partition_log *log, const struct log_config *config, int64_t now_ms);
void partition_log_deinit(struct partition_log *log); /* files are left to the shell */

/* ---- Loading: segments in ascending order, then log_loaded() ----
 *
 * From a folder's files (log_names.h) and the directory's recovery point R (0 when not known; the
 * log's end after a clean stop): a segment must be checked (segment_scan.h) when the base of the
 * segment behind it is above R, or it is the last. It is rebuilt as well when its index is missing
 * or corrupt. A check that ends before the file does cuts it and deletes all later segments. No
 * segment: create 0. A file that cannot be read is no torn tail: do not cut, do not serve. */

bool log_segment_needs_check(int64_t next_base_offset, int64_t recovery_point, bool is_last);

struct log_segment_loaded {
    int64_t base_offset;
    uint32_t size;
    int64_t modified_ms;
    struct segment_index index; /* taken */
    struct segment_file *file;
};

/* ZKC_ERR_NOMEM; ZKC_ERR_INVALID: not above the one before. The index is taken in any case. */
ZKC_MUST_CHECK enum zkc_err log_load_segment(struct partition_log *log,
                                             const struct log_segment_loaded *segment,
                                             int64_t now_ms);

/* `end_offset`: next_offset of the check of the last segment. */
void log_loaded(struct partition_log *log, int64_t end_offset, int64_t recovery_point);

/* ---- Appending ---- */

struct log_append {
    /* what was planned */
    struct bytes data;    /* to write; len 0: nothing to append, answer first_offset -1 */
    int64_t first_offset; /* -1: nothing */
    int64_t last_offset;
    bool roll;
    int64_t base_offset;  /* of the segment it goes to */
    uint32_t position;    /* in its .log */
    uint8_t *index_bytes; /* new entries for its .index; owned */
    size_t index_len;
    uint64_t index_position; /* in its .index */
    bool flush_due;
    int64_t now_ms;
    char reason[160]; /* of an error */
    /* memory that is kept from append to append */
    struct buf rewritten;
    size_t index_cap;
    struct log_segment *segments; /* larger array for a roll; NULL: there is room */
    size_t segments_cap;
    uint8_t *index_grown; /* larger array for the index; NULL: there is room */
    size_t index_grown_cap;
    size_t decompressed_bytes_max;
};

/* One per writing thread is enough; for many appends. `decompressed_bytes_max` bounds what a
 * compressed set may open to. */
void log_append_init(struct log_append *a, size_t decompressed_bytes_max);
void log_append_deinit(struct log_append *a);

/* Checks the set and says what is to be done. Writes offsets into `set` (see produced_set.h);
 * a->data lies in it or in a->rewritten. Errors: those of produced_set_accept(). */
enum kafka_error log_append_plan(const struct partition_log *log, uint8_t *set, size_t len,
                                 int64_t now_ms, struct log_append *a);

/* [changes] What was planned has been written. `file`: the new segment's, when a->roll. */
void log_append_commit(struct partition_log *log, struct log_append *a, struct segment_file *file);

/* ---- Reading ---- */

enum log_locate_result {
    LOG_FOUND,
    LOG_AT_END,       /* the offset is the log's end: nothing to read, and no error */
    LOG_OUT_OF_RANGE, /* below the first segment or above the end: error 1 */
};

/* Bytes of one segment, from which a message may be looked for. The shell takes its own reference
 * to `file` while it still holds the lock. */
struct log_range {
    int64_t base_offset;
    struct segment_file *file;
    uint32_t position;  /* begin here */
    uint32_t end;       /* readable up to here */
    bool is_exact;      /* the message begins at `position`: no segment_scan() needed */
    int64_t end_offset; /* of the log: the high watermark to answer */
};

/* Where `offset` may be read. Then, unless exact: read from range->position, segment_scan() until
 * FOUND; when it reaches range->end, go on with log_locate_next(); when there is no next segment,
 * treat it as LOG_AT_END. The answer is the bytes from the message on: at most the partition's max
 * bytes, at most up to range->end (an answer never crosses a segment's end), cut anywhere; max
 * bytes 0 gives none, a negative number error -1 (0.8.2), both after the range was checked.
 * range->end_offset is set in any case. */
enum log_locate_result log_locate(const struct partition_log *log, int64_t offset,
                                  struct log_range *range);

/* The segment behind the one with this base, from its beginning. False: there is none. */
bool log_locate_next(const struct partition_log *log, int64_t base_offset, struct log_range *range);

int64_t log_start_offset(const struct partition_log *log);

/* ListOffsets 0 (kafka.server.KafkaApis.fetchOffsetsBefore): base offsets of segments that were
 * last changed at or before `timestamp` (and the end, for "now"), the newest first; -1 latest, -2
 * earliest. Writes at most `room` and at most max_num_offsets, returns the number;
 * log_offsets_max() is room enough. max_num_offsets < 0: returns SIZE_MAX, to be answered -1. */
size_t log_offsets_before(const struct partition_log *log, int64_t timestamp,
                          int32_t max_num_offsets, int64_t now_ms, int64_t *offsets, size_t room);
static inline size_t log_offsets_max(const struct partition_log *log)
{
    return log->count + 1;
}

/* ---- Flushing ---- */

/* When the log is due for a flush by flush_ms; INT64_MAX: never, or nothing to flush. Wall clock.
 */
int64_t log_flush_deadline_ms(const struct partition_log *log);

/* The base offset of the first segment that has bytes which are not flushed: fsync the .log files
 * from it on, then log_flushed(end_offset as it was before). */
int64_t log_unflushed_from(const struct partition_log *log);

/* [changes] Everything below `offset` is on disk. */
void log_flushed(struct partition_log *log, int64_t offset, int64_t now_ms);

/* ---- Retention, every log.retention.check.interval.ms ---- */

/* How many of the oldest segments have to go: by age first, then by size. When it is all of them,
 * roll first: log_roll() with a new file for end_offset. */
size_t log_expired(const struct partition_log *log, int64_t now_ms);

/* [changes] Begins an empty segment at end_offset, whose files the shell has created.
 * ZKC_ERR_NOMEM; ZKC_ERR_INVALID: the active segment is empty: nothing to leave. */
ZKC_MUST_CHECK enum zkc_err log_roll(struct partition_log *log, struct segment_file *file,
                                     int64_t now_ms);

/* [changes] Takes the oldest segment out and gives it to the caller, who renames both files to
 * .deleted, ends the index, and removes them file_delete_delay_ms later. Not the last one. */
struct log_segment log_drop_oldest(struct partition_log *log);

#endif
