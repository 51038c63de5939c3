/* One event of a trace as one JSON line, format rbtrace/1. */
#ifndef STUDY_TRACE_EVENT_JSON_H
#define STUDY_TRACE_EVENT_JSON_H

#include "study/trace/event.h"
#include "zkconsumer/core/base/buf.h"

/* Appends the line, its '\n' included. What does not fit leaves out->failed set. */
void trace_event_json(const struct trace_event *event, struct buf *out);

#endif
