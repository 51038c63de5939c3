/* The gate: what decides, on the taking thread and for each single message, whether it is handed
 * out. In `safe` a lease has its say as well, and the claim knows what the application is done
 * with.
 *
 * One atomic word per claim holds the state and the consumed position (the next offset to hand
 * out). The taking thread passes with one compare-and-swap (open, p) -> (open, offset + 1); the
 * loop closes with one fetch-or and gets the position in the same step. So once it is closed
 * nothing more is handed out, and the position that the loop commits covers exactly what was handed
 * out.
 *
 * A claim is one partition while it is held by one stream. It ends for good: after a revoke, and
 * also for pause and seek, the loop closes it, drops what is queued of it, and makes a new claim
 * (for pause, when it resumes) at the position returned or the one sought. Hence whatever was
 * fetched for the old position cannot be mistaken for the new one.
 *
 * In `compat` the loop closes claims where 0.8.2 clears its queues (zookeeper-consumer 3.6): the
 * message that the application has already been given is its own, the rest of the chunk is not
 * handed out. */
#ifndef ZKC_CONSUMER_GATE_H
#define ZKC_CONSUMER_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <zkconsumer/stream.h>

enum gate_state {
    GATE_OPEN = 0,
    GATE_REVOKED = 1, /* given back, moved (seek) or paused */
    GATE_LOST = 2     /* somebody else's, perhaps; wins over revoked */
};

#define GATE_POSITION_MAX ((INT64_C(1) << 62) - 2)

struct gate {
    /* Bits 63..62: state, 0 open; 61..0: position + 1, so that -1 (not known yet) is 0. */
    _Atomic uint64_t word;
};

enum gate_answer {
    GATE_PASSED,
    GATE_BELOW, /* already consumed */
    GATE_CLOSED,
    GATE_FENCED, /* the lease is over, perhaps only for now: nothing changed, ask again later */
    GATE_LATE    /* passed, although the lease is over: it was in flight, see claim_pass() */
};

/* position: -1: not known yet. Here and below one that cannot be is taken for the nearest that can:
 * no partition log gets that far, so the broker will call it out of range. */
void gate_init(struct gate *gate, int64_t position);

/* gate_pass(), and what the word was before, for gate_take_back(). */
static inline enum gate_answer gate_pass_from(struct gate *gate, int64_t offset, uint64_t *from)
{
    uint64_t seen = atomic_load_explicit(&gate->word, memory_order_relaxed);
    uint64_t next = (uint64_t)offset + 2;
    do {
        if (seen >> 62)
            return GATE_CLOSED;
        if (next <= seen)
            return GATE_BELOW;
    } while (!atomic_compare_exchange_weak_explicit(&gate->word, &seen, next, memory_order_acq_rel,
                                                    memory_order_relaxed));
    *from = seen;
    return GATE_PASSED;
}

/* Asks to hand out the message at `offset` (0 .. GATE_POSITION_MAX - 1). Taking thread. */
static inline enum gate_answer gate_pass(struct gate *gate, int64_t offset)
{
    uint64_t from;
    return gate_pass_from(gate, offset, &from);
}

/* Undoes gate_pass_from(), unless the gate was closed since: then its position counts the message,
 * and the answer is false. Taking thread. */
bool gate_take_back(struct gate *gate, int64_t offset, uint64_t from);

static inline bool gate_is_closed(const struct gate *gate)
{
    return atomic_load_explicit(&gate->word, memory_order_relaxed) >> 62;
}

enum gate_state gate_state(const struct gate *gate);

/* The consumed position, -1 while unknown. Any thread. */
int64_t gate_position(const struct gate *gate);

/* Moves the position of an open gate, up or down, and leaves what is queued in place, as 0.8.2 does
 * when the broker says that an offset is out of range (6.4). False: closed, nothing done. */
bool gate_move(struct gate *gate, int64_t position);

/* Moves it up only: false if it is closed or already there or further. */
bool gate_raise(struct gate *gate, int64_t position);

/* Closes it and returns the final position. Closing again adds to the state and returns the same.
 */
int64_t gate_close(struct gate *gate, enum gate_state state);

/* ---- leases ---- */

/* Until when a ZooKeeper session surely lives, shared by the loop, which moves the end, and by all
 * claims made in that session. A new session has a new one: what was claimed in the old is not
 * opened again by it (safe mode, SF2). */
struct gate_lease {
    _Atomic int64_t end_ms; /* nothing is handed out at or after it; INT64_MIN: over for good */
    atomic_uint refs;
    int64_t (*now_ms)(void); /* loop_now_ms, which counts system suspend; a test's own */
};

/* One that is over until it is moved, with one reference. NULL: out of memory. */
struct gate_lease *gate_lease_new(void);
struct gate_lease *gate_lease_ref(struct gate_lease *lease);
void gate_lease_unref(struct gate_lease *lease); /* any thread; NULL is allowed */

/* Loop's thread. Moving one that has been ended does nothing. */
void gate_lease_move(struct gate_lease *lease, int64_t end_ms);
void gate_lease_end(struct gate_lease *lease);

static inline bool gate_lease_is_over_at(const struct gate_lease *lease, int64_t now_ms)
{
    return now_ms >= atomic_load_explicit(&lease->end_ms, memory_order_acquire);
}

static inline bool gate_lease_is_over(const struct gate_lease *lease)
{
    return gate_lease_is_over_at(lease, lease->now_ms());
}

/* ---- claims ---- */

struct deliveries; /* what was handed out, for the trace; gate.c */

/* Shared by the loop, which made it, and by the chunks of it that wait in the stream.
 *
 * A claim that is bound to a lease also counts what is in the application's hands: `handed` is
 * raised before a message passes the gate and `finished` when the application is done with it, so
 * that once the gate is closed, handed <= finished means that it holds nothing (safe mode, SF1). */
struct claim {
    struct gate gate;
    atomic_uint refs;
    const char *topic; /* the stream's, or set by the owner; lives longer than any claim */
    int32_t partition;
    zkc_stream *stream;            /* lives longer than any claim */
    struct deliveries *deliveries; /* NULL unless deliveries are traced */

    /* All unused unless bound. */
    struct gate_lease *lease; /* NULL: not bound; a reference */
    int64_t passed_ms;        /* the taking thread's: when its last message passed, by the lease's
                               * clock */
    bool counts_when_taken;   /* commits follow the gate's position, not `finished` */
    _Atomic int64_t handed;   /* offset after the last message handed out */
    _Atomic int64_t finished; /* the application is done with everything below; -1 not known */
    atomic_bool drain_wanted; /* the loop wants to hear when all that was handed out is finished */
    atomic_bool is_void;      /* what is still out does not count any more */

    /* The loop's: the claim that this one has replaced while the partition stayed ours (a pause, a
     * seek), as long as something of it is out; a reference. */
    struct claim *older;
    bool is_continuation; /* of what `older` had reached; else from somewhere else */
};

/* A claim with one reference; `is_traced`: record what is handed out. NULL: out of memory. Loop's
 * thread. */
struct claim *claim_new(zkc_stream *stream, int32_t partition, int64_t position, bool is_traced);
struct claim *claim_ref(struct claim *claim);
void claim_unref(struct claim *claim); /* any thread; NULL is allowed */

/* Puts it under a lease (a reference is taken). Before anybody else knows of it. */
void claim_bind(struct claim *claim, struct gate_lease *lease, bool counts_when_taken);

/* True when the lease that a claim is bound to is over. */
static inline bool claim_is_fenced(const struct claim *claim)
{
    return claim->lease && gate_lease_is_over(claim->lease);
}

/* Nothing of it is in the application's hands, and if it is closed nothing will be. Any thread. */
bool claim_is_drained(const struct claim *claim);

/* Asks the taking thread to post stream_hub_options.on_drained when the application has finished.
 * True: it has already. Loop's thread, after claim_close(). */
bool claim_want_drained(struct claim *claim);

/* The application is done with everything below `next`, which was handed out. True: the loop wants
 * to hear of it. ZKC_ERR_NOT_OWNED: the claim is void. ZKC_ERR_INVALID: more than was handed out.
 * Any thread. */
enum zkc_err claim_finish(struct claim *claim, int64_t next, bool *is_drained);

/* claim_finish() of the last message handed out, by the taking thread, without the memory barrier
 * that two threads need which each look at what the other has just written: whether the loop wants
 * to hear of it is still to be asked, with claim_hears_finished(), unless the next message passes
 * the gate: then the gate was open, and whoever closes it after that sees what is finished. */
static inline void claim_finish_last(struct claim *claim, int64_t next)
{
    if (atomic_load_explicit(&claim->is_void, memory_order_relaxed) ||
        next > atomic_load_explicit(&claim->handed, memory_order_relaxed) ||
        next <= atomic_load_explicit(&claim->finished, memory_order_relaxed))
        return; /* void, moved, or acknowledged */
    /* Nothing that another thread acknowledges meanwhile is above the last one. */
    atomic_store_explicit(&claim->finished, next, memory_order_relaxed);
}

/* True: the loop wants to hear of what is finished. Any thread. */
bool claim_hears_finished(const struct claim *claim);

/* Moves the finished offset along with a position that moves without a hand-over, if nothing is in
 * the application's hands. Taking thread, or the loop while nothing is queued. */
void claim_skip(struct claim *claim, int64_t position);

/* From now on claim_finish() changes nothing. Loop's thread. */
void claim_void(struct claim *claim);

/* Claims of one partition that have followed each other, newest first. Loop's thread.
 *
 * `claim` takes the place of `older`, which is closed, and takes over the reference to it. */
void claim_replace(struct claim *claim, struct claim *older, bool is_continuation);
/* What the application has finished without a gap, by all of them; of none (NULL): -1. */
int64_t claims_finished(struct claim *newest);
/* Nothing of any is out; with `wants_drained`, see claim_want_drained(). */
bool claims_drained(struct claim *newest, bool wants_drained);
/* Makes all void, and gives the references back. NULL is allowed. */
void claims_end(struct claim *newest);

/* gate_close() that also waits out a hand-out that is being recorded for the trace: afterwards
 * claim_collect() gives everything up to the position returned. Loop's thread. */
int64_t claim_close(struct claim *claim, enum gate_state state);

/* Asks gate and lease, and records the hand-over if deliveries are traced. Taking thread.
 *
 * The lease's clock is read once for each message, after the gate let it through: the answer comes
 * right behind, so that as good as nothing can happen between the look and the hand-over. If the
 * lease is over the message is taken back (GATE_FENCED). Only what cannot be taken back is late: a
 * message whose claim the loop closed in that same moment, since the position that this returned
 * counts it. GATE_LATE says so; there is one at most in a stream.
 *
 * Where messages count when they are taken, the loop may read (and commit) the position at any
 * time, so nothing can be taken back: the lease is asked before the gate, too, and what passes both
 * the gate and the lease's end in between is late. */
enum gate_answer claim_pass(struct claim *claim, int64_t offset);

/* A run of messages handed out, without gaps in their offsets. */
struct delivered {
    int64_t first, last;       /* offsets */
    int64_t first_ns, last_ns; /* CLOCK_MONOTONIC of their hand-over */
};

/* Calls fn for each run since the last call, in the order of their hand-over; nothing unless the
 * claim is traced. Returns how many messages went unrecorded because too many runs had come
 * together. Loop's thread. */
typedef void claim_delivered_fn(const struct claim *claim, const struct delivered *run, void *user);
uint64_t claim_collect(struct claim *claim, claim_delivered_fn *fn, void *user);

#endif
