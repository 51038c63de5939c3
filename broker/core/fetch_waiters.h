/* Fetches that wait for data: kafka.server.RequestPurgatory, DelayedFetch (0.8.2),
 * wire-protocol 7.1.
 *
 * One set of waiters per network loop, used on its thread only; an append on another thread is told
 * to the loop by the shell (a wake-up, coalesced: bytes add up). An idle waiter costs memory and
 * nothing else: an append looks at the waiters of its own partition, time at the earliest deadline.
 *
 * When a fetch is answered at once is fetch_is_due(). What is waiting has then asked only
 * for partitions without an error. */
#ifndef ZKC_BROKER_FETCH_WAITERS_H
#define ZKC_BROKER_FETCH_WAITERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zkconsumer/error.h>

/* `readable_bytes`: of all partitions, each at most its max bytes. */
bool fetch_is_due(int32_t max_wait_ms, int32_t min_bytes, size_t partition_count,
                  uint64_t readable_bytes, bool any_error);

struct fetch_waiter;
struct fetch_watch_list;

/* A waiter's interest in a partition. */
struct fetch_watch {
    struct fetch_watch *next, *prev; /* in its partition's list */
    struct fetch_watch_list *list;
    struct fetch_waiter *waiter;
    uint32_t bytes;     /* readable by now */
    uint32_t bytes_max; /* what the fetch takes of it at most */
};

/* The waiters of one partition on this loop; zero is empty. The shell keeps it beside the
 * partition; it must stay in place while it is not empty. */
struct fetch_watch_list {
    struct fetch_watch *first;
};

/* One waiting fetch; owned by the caller, in place until it is over. `watches` follow it. */
struct fetch_waiter {
    int64_t deadline_ms;
    uint64_t bytes_missing; /* until min_bytes are there; 0: due */
    size_t heap_index;
    struct fetch_waiter *next_due; /* in the list of those that are due */
    enum { WAITER_OVER, WAITER_WAITING, WAITER_DUE } state;
    size_t watch_count;
    struct fetch_watch watches[];
};

struct fetch_waiters {
    struct fetch_waiter **heap; /* by deadline */
    size_t count, cap;
    struct fetch_waiter *due_first, *due_last;
};

void fetch_waiters_init(struct fetch_waiters *w);
void fetch_waiters_deinit(struct fetch_waiters *w); /* no waiter may be left */

/* bytes of a waiter for that many partitions, to be allocated (not moved) by the caller. */
size_t fetch_waiter_size(size_t partitions);

struct fetch_interest {
    struct fetch_watch_list *partition;
    uint32_t bytes;     /* readable now */
    uint32_t bytes_max; /* partition_max_bytes; not negative */
};

/* Begins to wait until `deadline_ms` (now + max_wait_ms, the loop's clock) or until min_bytes are
 * readable. Overwrites *waiter. A partition may be asked twice. ZKC_ERR_NOMEM: it does not wait;
 * answer now. */
ZKC_MUST_CHECK enum zkc_err fetch_wait(struct fetch_waiters *w, struct fetch_waiter *waiter,
                                       int64_t deadline_ms, int32_t min_bytes,
                                       const struct fetch_interest *interests, size_t count);

/* `bytes` were appended to the partition. */
void fetch_appended(struct fetch_waiters *w, struct fetch_watch_list *partition, uint64_t bytes);

/* The partition's leader moved, it was deleted, or its log fell out: whoever waits for it is due.
 */
void fetch_partition_changed(struct fetch_waiters *w, struct fetch_watch_list *partition);

/* The next one to be answered: bytes are there, or its deadline has come; it is over then, and the
 * caller reads again what it asked for. NULL: none. */
struct fetch_waiter *fetch_next_due(struct fetch_waiters *w, int64_t now_ms);

/* Ends the wait without an answer: the connection is gone. Not for one that is over. */
void fetch_cancel(struct fetch_waiters *w, struct fetch_waiter *waiter);

/* When to call fetch_next_due(); INT64_MAX: after the next append; INT64_MIN: now. */
int64_t fetch_deadline_ms(const struct fetch_waiters *w);

#endif
