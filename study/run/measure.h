/* What a change cost, measured from the events of a run; and what theory says it costs. Sources:
 * reference/zookeeper-consumer.md 3.3 for operations, rebalance-study.md 2 (F8) for notifications.
 */
#ifndef STUDY_RUN_MEASURE_H
#define STUDY_RUN_MEASURE_H

#include "study/trace/event.h"

/* From the warm-up's end on. Reads and writes are answered operations, offset commits by the timer
 * apart. */
struct measures {
    uint64_t causes;     /* changes of what the assignment should be */
    uint64_t rebalances; /* of single members */
    uint64_t attempts, failed;
    uint64_t conflicts; /* claims that met another's node */
    uint64_t reads, writes, notifications;
    uint64_t commits;                       /* of offsets, among the writes */
    uint64_t first_cause_ns, last_cause_ns; /* 0: none */
};

struct measure {
    uint64_t from_ns;
    struct measures sum;
};

/* A sink; user is the measure. Needs level 2. */
void measure_take(const struct trace_event *event, void *measure);

struct predicted {
    bool is_known; /* for one join, or one member that goes, of a group of plain topics */
    double reads, writes, notifications, rebalances;
};

/* For one change that leaves n members, of P partitions in T topics with B brokers. Failed attempts
 * and their conflicts are taken as measured: how many there are is chance, what each costs is not.
 */
struct predicted predict(const struct measures *m, uint64_t n, uint64_t partitions, uint64_t topics,
                         uint64_t brokers, bool is_join);

#endif
