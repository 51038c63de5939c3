/* Events on their way out: numbered, hashed, handed to the sinks. */
#ifndef STUDY_SIM_TRACER_H
#define STUDY_SIM_TRACER_H

#include "study/sim/kernel.h"

/* Who speaks. */
struct trace_source {
    const char *name;
    uint64_t seq;
};

struct tracer {
    struct kernel *kernel;
    const struct trace_sink *sinks;
    size_t sink_count;
    int level; /* the highest that anybody wants */
    uint64_t gs, hash;
};

/* The sinks are borrowed. */
void tracer_init(struct tracer *t, struct kernel *k, const struct trace_sink *sinks, size_t count);

/* An event of now to be filled in. */
struct trace_event tracer_event(const struct tracer *t, enum trace_type type, const char *m);
void tracer_emit(struct tracer *t, struct trace_source *source, struct trace_event *e);

#endif
