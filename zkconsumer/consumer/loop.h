/* The inside of a loop: how work comes to its thread. loop.h of the public headers says what a loop
 * is.
 *
 * Only the loop's thread touches the event base, so a base of ours is made without locks. Other
 * threads put items on a queue and write an eventfd. One turn runs the items that were posted
 * before it began; what they post runs in the next turn, so that sockets and timers get theirs.
 *
 * In a forked child a loop is dead: loop_is_foreign() is true, and whatever is called must return
 * ZKC_ERR_WRONG_PROCESS without touching locks or descriptors. */
#ifndef ZKC_CONSUMER_LOOP_H
#define ZKC_CONSUMER_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <zkconsumer/loop.h>

typedef void loop_fn(void *arg);

/* Something to run on the loop's thread, part of the object that it concerns. While it is posted,
 * posting it again does nothing: it is a wake-up, not a message. */
struct loop_item {
    loop_fn *run;
    void *arg;
    struct loop_item *next; /* this and the rest: the queue's, under the loop's lock */
    uint64_t turn;
    bool is_posted;
};

static inline void loop_item_init(struct loop_item *item, loop_fn *run, void *arg)
{
    *item = (struct loop_item){.run = run, .arg = arg};
}

/* Any thread. The item is off the queue before it runs, so it may post itself again and may free
 * what it is part of. */
void loop_post(zkc_loop *loop, struct loop_item *item);

/* Takes the item back; afterwards it does not run and may be freed, if no other thread posts it.
 * Loop's thread. */
void loop_cancel(zkc_loop *loop, struct loop_item *item);

/* Runs fn(arg) on the loop's thread and returns when it has returned; called there, at once. On an
 * application's own base it waits until that is dispatched.
 *
 * ZKC_ERR_WRONG_PROCESS  in a forked child; fn has not run */
ZKC_MUST_CHECK enum zkc_err loop_call(zkc_loop *loop, loop_fn *fn, void *arg);

/* libevent's base. Loop's thread. */
struct event_base *loop_base(zkc_loop *loop);

/* True when base and thread are ours, not the application's. Any thread. */
bool loop_is_own(const zkc_loop *loop);

/* The resolver that everything on this loop shares, made at the first call; NULL: out of memory.
 * Loop's thread. */
struct resolver;
struct resolver *loop_resolver(zkc_loop *loop);

/* The observers on this loop, first of a list (observer.h). Loop's thread. */
struct observer;
struct observer **loop_observers(zkc_loop *loop);

/* True in a forked child. A load of one word (MADV_WIPEONFORK), fit for every call. Any thread. */
bool loop_is_foreign(const zkc_loop *loop);

/* CLOCK_MONOTONIC: what threads wait by and traces are written in. Any thread. */
int64_t loop_now_ns(void);

/* The clock of machines, fetchers and leases, which counts system suspend (io/boot_clock.h). Not to
 * be mixed with the other. Any thread. */
int64_t loop_now_ms(void);

/* A condition variable on CLOCK_MONOTONIC, and a wait until deadline_ns on it (-1: for ever).
 * False: the deadline has passed. */
void loop_cond_init(pthread_cond_t *cond);
bool loop_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline_ns);

/* Waiting, off the loop's thread, for an answer that comes later than loop_call() returns:
 *
 *     w = loop_wait_new();
 *     loop_call(loop, start, ...);         remembers w, later calls loop_wait_end(w, err)
 *     if (!loop_wait(w, timeout_ms, &err))
 *         loop_call(loop, forget, ...);    makes sure that w is not ended any more
 *     loop_wait_free(w); */
struct loop_wait;
struct loop_wait *loop_wait_new(void); /* NULL: out of memory */
void loop_wait_free(struct loop_wait *w);
void loop_wait_end(struct loop_wait *w, enum zkc_err err);
/* Instead of freeing: the loop still knows it, and ends it later. */
void loop_wait_abandon(struct loop_wait *w);
/* False: timeout_ms (-1: for ever) passed. */
bool loop_wait(struct loop_wait *w, int timeout_ms, enum zkc_err *err);

#endif
