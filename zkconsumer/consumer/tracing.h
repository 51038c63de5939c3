/* From what a consumer does to the events of its trace (rbtrace/1, docs/trace.md): outputs of its
 * group machine, operations, sessions, partitions taken and given back, deliveries. All calls do
 * nothing when no trace is written. Loop's thread. */
#ifndef ZKC_CONSUMER_TRACING_H
#define ZKC_CONSUMER_TRACING_H

#include "zkconsumer/consumer/conf.h"
#include "zkconsumer/consumer/gate.h"
#include "zkconsumer/consumer/log.h"
#include "zkconsumer/core/group/output.h"

struct tracing;

/* Opens the trace of conf->trace_path, if any, and writes its header and m_start. `topics`: what is
 * subscribed to. *out is NULL without a trace. Errors of trace_open(). */
ZKC_MUST_CHECK enum zkc_err tracing_open(const struct conf_view *conf, const char *member,
                                         struct log *log, struct tracing **out, char *why,
                                         size_t why_size);
void tracing_close(struct tracing *t, bool is_clean); /* m_exit, end; NULL is allowed */
void tracing_flush(struct tracing *t);

/* What was subscribed to, or assigned. */
/* streams: of each topic; 0: they differ, or there are none. */
void tracing_start(struct tracing *t, const char *const *topics, size_t count, int32_t streams);

/* An output of the machine, before it is carried out. */
void tracing_output(struct tracing *t, const struct group_output *o);

/* An operation was answered. bytes_out: zk_op_bytes() when it was sent. */
void tracing_op(struct tracing *t, enum group_lane lane, const struct zk_op *op,
                const struct zk_result *result, size_t bytes_out, int64_t sent_ns);
void tracing_watch(struct tracing *t, const struct zk_watch_event *event);
void tracing_session(struct tracing *t, const char *state, int64_t session_id, const char *server);

void tracing_own_begin(struct tracing *t, const char *topic, int32_t partition, int64_t offset);
/* claim: 0 in compat; in safe mode as in the `processed` or `void` that follows. */
void tracing_own_end(struct tracing *t, const char *topic, int32_t partition, const char *why,
                     uint64_t claim);
void tracing_fetch(struct tracing *t, bool starts, const char *topic, int32_t partition);
/* safe. end_ms on loop_now_ms(); INT64_MIN: over, INT64_MAX: without end. */
void tracing_lease(struct tracing *t, int64_t session_id, int64_t end_ms);
/* Of a claim that was stopped: the application is done with it, or its time is up. */
void tracing_processed(struct tracing *t, const char *topic, int32_t partition, int64_t finished,
                       uint64_t claim);
void tracing_void(struct tracing *t, const char *topic, int32_t partition, int64_t finished,
                  uint64_t claim);
void tracing_moved(struct tracing *t, const char *topic, int32_t partition, int64_t offset);

/* Collects what was handed out of the claim. */
void tracing_deliveries(struct tracing *t, struct claim *claim);

/* Whether claims must record what they hand out. */
bool tracing_wants_deliveries(const struct tracing *t);

#endif
