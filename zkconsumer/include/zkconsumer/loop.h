/* The loop that consumers live on: the application's own libevent base, or a thread of ours.
 *
 * Any number of consumers share a loop; all their work and all their callbacks happen on its thread.
 * Functions of this library that are marked "any thread" may be called from anywhere: called off
 * the loop's thread they hand the call over to the loop and wait for its answer. */
#ifndef ZKCONSUMER_LOOP_H
#define ZKCONSUMER_LOOP_H

#include <stdbool.h>
#include <zkconsumer/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct event_base; /* libevent's */

typedef struct zkc_loop zkc_loop;

/* Wraps `base`, which must outlive the loop and which the application dispatches itself, on the
 * thread that calls this function; or, with NULL, makes a base and a thread that runs it. The
 * library leaves the process's signal handlers and masks alone (SIGPIPE never reaches it: it sends
 * with MSG_NOSIGNAL).
 *
 * ZKC_ERR_NOMEM
 * ZKC_ERR_SYSTEM  no descriptor or no thread to be had */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_loop_open(struct event_base *base, zkc_loop **out);

/* Ends the loop: stops and joins its thread if it is ours. Every consumer on it must have been
 * freed. Not to be called on the loop's own thread if that is ours. NULL is allowed. */
ZKC_API void zkc_loop_close(zkc_loop *loop);

/* True on the thread that runs the loop. Any thread. */
ZKC_API bool zkc_loop_is_current(const zkc_loop *loop);

#ifdef __cplusplus
}
#endif
#endif
