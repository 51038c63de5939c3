/* Virtual time: events in order of (time, tie), and seeded chance.
 *
 * Ties, events of equal time, come in the order of their birth, or in a seeded permutation of it.
 * Nothing is allocated while a world runs, but for the growth of the heap to its greatest size; a
 * want of memory there is rescue_fail() (pool.h). */
#ifndef STUDY_SIM_KERNEL_H
#define STUDY_SIM_KERNEL_H

#include "study/sim/pool.h"
#include "study/sim/sim.h"

/* ---- chance ---- */

/* Numbers f(seed, stream, counter): one stream for each actor and purpose, so that one more actor
 * or fault does not shift anybody else's. */
struct stream {
    uint64_t key, counter;
};

struct stream stream_of(uint64_t seed, const char *actor, const char *purpose);
uint64_t stream_next(struct stream *s);
/* Uniform in 0 .. n-1; 0 when n is 0. */
uint64_t stream_below(struct stream *s, uint64_t n);
/* Integer arithmetic only: the same on every machine. */
uint64_t stream_draw(struct stream *s, const struct sim_dist *dist);

/* A permutation of all 64-bit numbers (finaliser of splitmix64). */
uint64_t mix64(uint64_t x);

/* ---- events ---- */

typedef void kernel_fn(void *actor, void *arg);

struct kernel_event {
    uint64_t at_ns, order;
    kernel_fn *fn;
    void *actor, *arg;
};

struct kernel {
    uint64_t now_ns;
    struct kernel_event *heap; /* 4-ary */
    size_t count, cap;
    uint64_t born; /* events so far */
    uint64_t ran;
    uint64_t tie_key; /* 0: ties in the order of birth */
    uint64_t allocations;
    struct rescue *rescue; /* may be NULL */
};

/* The heap is allocated with the first event. */
void kernel_init(struct kernel *k, uint64_t seed, bool shuffle_ties);
void kernel_deinit(struct kernel *k);

/* fn(actor, arg) at at_ns, which is not in the past. There is no cancelling: who may not want it
 * any more looks when it comes (timer below). */
void kernel_at(struct kernel *k, uint64_t at_ns, kernel_fn *fn, void *actor, void *arg);

/* Time of the next event; SIM_NEVER: none. */
uint64_t kernel_next_ns(const struct kernel *k);
/* Runs the next event. There must be one. */
void kernel_run_one(struct kernel *k);

/* ---- timers ---- */

/* One deadline that moves. Moving it back costs nothing: the event that comes too early looks, and
 * goes on. */
struct timer {
    struct kernel *kernel;
    kernel_fn *fn; /* called with actor and NULL when the deadline has come */
    void *actor;
    uint64_t due_ns;    /* SIM_NEVER: not armed */
    uint64_t queued_ns; /* of the earliest event that is on its way; SIM_NEVER: none */
};

void timer_init(struct timer *t, struct kernel *k, kernel_fn *fn, void *actor);
void timer_arm(struct timer *t, uint64_t due_ns); /* SIM_NEVER: disarms */

#endif
