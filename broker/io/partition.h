/* A partition that this broker keeps: its log in memory (broker/core/partition_log.h) and in files.
 * Any thread, unless it says otherwise.
 *
 * Two locks, taken in this order: `writer` around everything that changes the log, its disk writes
 * included; `view` around memory only, so that readers never wait for a disk.
 *
 * What readers see ends at `visible`: the log's end; or, where every message is flushed before it
 * is acknowledged (log.flush.interval.messages=1), what is flushed, so that nothing is read that a
 * crash takes back.
 *
 * When a write fails: what was written is cut off again, the producer gets an error, and the next
 * write is tried (a full disk may have room again). When that is not possible, or a flush fails,
 * nothing is written to this partition any more until the broker starts again: what is in the file
 * cannot be trusted further than the last flush. Reading goes on. */
#ifndef BROKER_IO_PARTITION_H
#define BROKER_IO_PARTITION_H

#include "broker/core/partition_log.h"
#include "broker/io/thread_loop.h"
#include <stdatomic.h>

struct file_ref;
struct journal;
struct partition;

struct partition_env {
    struct journal *journal;
    struct thread_loop *flusher; /* its thread calls fsync() for us */
};

/* ---- life ---- */

/* Creates the folder and an empty log. NULL: `why`. */
struct partition *partition_create(const struct partition_env *env, const char *dir,
                                   const char *topic, int32_t number,
                                   const struct log_config *config, struct why *why);

/* Loads a folder that is there. is_clean: the broker before stopped in order; else everything from
 * `recovery_point` on is checked, and what a crash tore is cut off. NULL: out of memory. A folder
 * that cannot be read is a partition that answers errors: partition_fault(). */
struct partition *partition_load(const struct partition_env *env, const char *dir,
                                 const char *topic, int32_t number, const struct log_config *config,
                                 int64_t recovery_point, bool is_clean);

struct partition *partition_get(struct partition *p);
void partition_put(struct partition *p); /* the last one closes the files; NULL is allowed */

const char *partition_topic(const struct partition *p);
int32_t partition_number(const struct partition *p);

/* Settings of its topic have changed. */
void partition_configure(struct partition *p, const struct log_config *config);

/* Takes it out of service and removes its folder; who waits is woken and finds it gone. */
void partition_delete(struct partition *p);

/* Why nothing can be written, for people; copied to `why`, "" if it can. */
void partition_fault(struct partition *p, struct why *why);

/* ---- writing ---- */

/* Somebody who waits for a flush; part of the caller's object, left alone until `item` has run on
 * `loop` (which happens once, in any case). */
struct flush_waiter {
    struct thread_loop *loop;
    struct loop_item item;
    enum kafka_error error; /* set before it runs */
    int64_t until;          /* the rest is ours */
    struct flush_waiter *next;
};

struct append_result {
    enum kafka_error error;
    int64_t first_offset; /* -1: nothing was appended */
    bool must_wait;       /* acknowledge after partition_wait_flush() only */
    int64_t end_offset;   /* to wait for */
};

/* `set` may be changed. `a` is the thread's own. An error was put into the journal. */
void partition_append(struct partition *p, uint8_t *set, size_t len, struct log_append *a,
                      struct append_result *out);

/* Runs w->item when everything below `until` is on disk, or cannot be brought there. */
void partition_wait_flush(struct partition *p, int64_t until, struct flush_waiter *w);

/* ---- reading ---- */

struct partition_read {
    enum kafka_error error;
    int64_t high_watermark;
    struct file_ref *file; /* a reference for the caller; NULL: no bytes */
    uint32_t position;
    uint32_t len;
    bool is_old_segment; /* there is more in a later segment: no reason to wait */
};

/* The bytes to answer a fetch with. */
void partition_read(struct partition *p, int64_t offset, int32_t max_bytes,
                    struct partition_read *out);

/* ListOffsets 0. Fills *offsets (to be freed). */
enum kafka_error partition_offsets(struct partition *p, int64_t timestamp, int32_t max_count,
                                   int64_t **offsets, size_t *count);

int64_t partition_end_offset(struct partition *p);

/* A loop on which fetches wait for messages of a partition; part of the caller's object. While it
 * is linked, `item` is posted to `loop` each time something has happened. */
struct read_waiter {
    struct thread_loop *loop;
    struct loop_item *item;
    atomic_uint_fast64_t bytes; /* that readers may read now, since the caller took the number */
    atomic_bool is_gone;        /* the partition is no longer served here: look again */
    struct read_waiter *next, **previous; /* ours */
};

void partition_watch(struct partition *p, struct read_waiter *w);
/* Afterwards nothing is posted any more; what is posted already is the caller's to cancel. */
void partition_unwatch(struct partition *p, struct read_waiter *w);

/* The leader moved, or it is no longer served: who waits is to look again. */
void partition_disturb(struct partition *p);

/* ---- housekeeping ---- */

/* Asks for a flush of everything; nobody waits. */
void partition_flush_soon(struct partition *p);

/* Flushes now, on the calling thread. False: it failed. */
bool partition_flush(struct partition *p);

int64_t partition_recovery_point(struct partition *p);
int64_t partition_flush_deadline_ms(struct partition *p); /* wall clock; INT64_MAX: never */

/* A file that was renamed to .deleted. */
typedef void partition_removed_fn(const char *path, int64_t delay_ms, void *user);

/* Drops expired segments. */
void partition_retain(struct partition *p, partition_removed_fn *removed, void *user);

/* Flushes and trims its files; nothing may be appended any more. False: a flush failed. */
bool partition_finish(struct partition *p);

/* For the end, when the flusher's thread is no more: forgets a flush that was asked for, and who
 * waits for it. */
void partition_drop_flush(struct partition *p);

#endif
