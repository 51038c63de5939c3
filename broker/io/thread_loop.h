/* A libevent loop with a thread of its own or on the caller's, and the way by which work comes to
 * it from other threads. Only the loop's thread touches its event base. */
#ifndef BROKER_IO_THREAD_LOOP_H
#define BROKER_IO_THREAD_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct thread_loop;

typedef void thread_loop_fn(void *arg);

/* Something to run on a loop's thread, part of the object that it concerns. While it is posted,
 * posting it again does nothing: it is a wake-up, not a message. */
struct loop_item {
    thread_loop_fn *run;
    void *arg;
    struct loop_item *next; /* this and the rest: the queue's, under the loop's lock */
    struct loop_item *previous;
    bool is_posted;
};

static inline void loop_item_init(struct loop_item *item, thread_loop_fn *run, void *arg)
{
    *item = (struct loop_item){.run = run, .arg = arg};
}

/* NULL: out of memory, or no descriptor is left (errno). */
struct thread_loop *thread_loop_new(void);

/* To be ended before, if it was started. What is still posted is forgotten. NULL is allowed. */
void thread_loop_free(struct thread_loop *l);

struct event_base *thread_loop_base(struct thread_loop *l);

/* A thread of its own turns the loop, with all signals blocked. False: errno. */
bool thread_loop_start(struct thread_loop *l, const char *name);

/* Turns the loop on the calling thread until thread_loop_leave(). */
void thread_loop_run(struct thread_loop *l);

/* Any thread: the loop ends after the turn under way. */
void thread_loop_leave(struct thread_loop *l);

/* Waits for the end of its own thread; if there is none, nothing. */
void thread_loop_join(struct thread_loop *l);

/* Any thread. The item is off the queue before it runs, so it may post itself again and may free
 * what it is part of. Items run in the order of posting. */
void thread_loop_post(struct thread_loop *l, struct loop_item *item);

/* Takes the item back: afterwards it does not run, unless somebody posts it again. Loop's thread.
 */
void thread_loop_cancel(struct thread_loop *l, struct loop_item *item);

#endif
