/* What a change cost, measured from the events of a run. What theory says it costs: predict.h. */
#ifndef STUDY_RUN_MEASURE_H
#define STUDY_RUN_MEASURE_H

#include "study/trace/event.h"

/* From the warm-up's end on. Reads and writes are answered operations, offset commits by the timer
 * apart. */
struct measures {
    uint64_t causes;     /* changes of what the assignment should be */
    uint64_t rebalances; /* of single members */
    uint64_t attempts, failed;
    uint64_t attempt_ns;  /* in all of them together, without the backoffs */
    uint64_t failed_ns;   /* in those that failed */
    uint64_t rounds_lost; /* the most attempts in a row that one rebalance lost */
    uint64_t conflicts;   /* claims that met another's node */
    uint64_t reads, writes, notifications;
    uint64_t watches;                       /* left with reads */
    uint64_t commits;                       /* of offsets, among the writes */
    uint64_t first_cause_ns, last_cause_ns; /* 0: none */
};

struct measure {
    uint64_t from_ns;
    struct measures sum;
};

/* A sink; user is the measure. Needs level 2. */
void measure_take(const struct trace_event *event, void *measure);

#endif
