/* The trace: what happened, for analysis; format rbtrace/1 (docs/trace.md). JSON Lines, one object
 * per line, the first one the header (`run`), the last one `end`. All numbers of reports come from
 * it.
 *
 * Lines are gathered in a buffer of bounded size and written when it holds 64 KiB, on trace_flush()
 * and at the end. What cannot be written (full disk) is dropped,
 * counted in `drops` of the `end` event, and reported once. One consumer writes one file. Loop's
 * thread. */
#ifndef ZKC_CONSUMER_TRACE_H
#define ZKC_CONSUMER_TRACE_H

#include "zkconsumer/core/base/json.h"
#include <stdbool.h>
#include <stdint.h>

/* 0: states and truth; 1: and what each attempt did; 2: and each operation. */
enum { TRACE_STATES = 0, TRACE_ATTEMPTS = 1, TRACE_OPERATIONS = 2 };

struct trace;

struct trace_options {
    const char *path;   /* created or emptied */
    const char *source; /* `src`: the name of this actor; copied */
    int level;
    int64_t origin_ns;       /* of `t`, on now_ns's clock */
    int64_t (*now_ns)(void); /* NULL: loop_now_ns (CLOCK_MONOTONIC) */
    /* The first time that something could not be written; not from inside of trace_open(). */
    void (*on_failed)(const char *text, void *user);
    void *user;
};

/* Opens the file, for this trace alone; the caller writes the header next.
 *
 * ZKC_ERR_SYSTEM  cannot be opened; is a pipe, on which writing could wait; or another consumer, of
 *                 this process or another, is writing it
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err trace_open(const struct trace_options *options, struct trace **out,
                                       char *why, size_t why_size);

/* Begins the header, `run`, with the common keys and those that are the trace's own: schema, clock,
 * wall0 (nanoseconds since 1970 at the origin), level. As trace_begin() otherwise. */
struct json *trace_begin_header(struct trace *trace);

/* Begins an event with its common keys (ev, t, src, seq). The caller adds the others by json_int()
 * and so on and then calls trace_end(). NULL: this level is not traced, or there is no trace
 * (`trace` may be NULL): add nothing and do not call trace_end(). */
struct json *trace_begin(struct trace *trace, int level, const char *ev);
/* The same with the time at which it happened (now_ns's clock), for what is learnt of later. */
struct json *trace_begin_at(struct trace *trace, int level, const char *ev, int64_t at_ns);
void trace_end(struct trace *trace);

/* A time of now_ns's clock as the trace writes it: since the run's origin. */
int64_t trace_time(const struct trace *trace, int64_t at_ns);

/* Counts events that were lost before they came here. */
void trace_dropped(struct trace *trace, uint64_t count);

/* Writes what is buffered; call it by a timer. NULL is allowed. */
void trace_flush(struct trace *trace);

/* Writes the `end` event with its reason ("done"), flushes, closes. NULL is allowed. */
void trace_close(struct trace *trace, const char *reason);

#endif
