/* The invariants of a group in zookeeper mode, checked over the events of a trace: the same for a
 * simulated run (as a sink of it) and for a real one (fed from its files).
 *
 * MUST: a bug of the implementation or of the simulator. COUNT: what is studied; it is measured and
 * never an error. An invariant whose events are not in the trace is not passed: `unknown` says what
 * is missing. Z3, Z4 and Z6 bind mode zookeeper:compat only, SF1 - SF8 members in mode
 * zookeeper:safe. Beside members of another mode SF7 promises nothing, and SF3 - SF5 are decided
 * among those in safe mode, where all writes are known.
 *
 * Memory grows with members, partitions, and the gaps in what was delivered; not with the length of
 * the run. Source: reference/rebalance-study.md 5, and 1.2, 1.3, 1.8 for the counts. */
#ifndef STUDY_CHECK_CHECK_H
#define STUDY_CHECK_CHECK_H

#include "study/trace/event.h"
#include <zkconsumer/error.h>

enum check_id {
    CHECK_C1,
    CHECK_C2,
    CHECK_C3,
    CHECK_C4,
    CHECK_C5,
    CHECK_C6,
    CHECK_C7,
    CHECK_C8,
    CHECK_C10,
    CHECK_Z1,
    CHECK_Z2,
    CHECK_Z3,
    CHECK_Z4,
    CHECK_Z5,
    CHECK_Z6,
    CHECK_Z7,
    CHECK_Z8,
    CHECK_Z9,
    CHECK_Z10,
    CHECK_Z11,
    CHECK_SF1,
    CHECK_SF2,
    CHECK_SF3,
    CHECK_SF4,
    CHECK_SF5,
    CHECK_SF6,
    CHECK_SF7,
    CHECK_SF8,
    CHECK_MUST_COUNT,            /* above: MUST; below: COUNT */
    CHECK_C9 = CHECK_MUST_COUNT, /* orphans */
    CHECK_DUAL,
    CHECK_LATENT,
    CHECK_GAP,
    CHECK_PAUSED,
    CHECK_FROZEN,
    CHECK_RECORD_MISMATCH,
    CHECK_VIEWS,
    CHECK_CLAIM_CONFLICTS,
    CHECK_GIVE_UPS,
    CHECK_FOREIGN_DELETES,
    CHECK_STALE_COMMITS,
    CHECK_REGRESSIONS,
    CHECK_REGRESSION_DEPTH,
    CHECK_DUPLICATES,
    CHECK_SKIPPED,
    CHECK_UNSEEN,
    CHECK_OWN_NODE,
    CHECK_STALE_SYNCS,
    CHECK_UNFENCED,
};
#define CHECK_COUNT (CHECK_UNFENCED + 1)

enum check_unit { CHECK_TIMES, CHECK_NS, CHECK_MESSAGES, CHECK_PARTITIONS, CHECK_VIEWS_AT_ONCE };

struct check_result {
    const char *id;   /* "C3", "dual_ps" */
    const char *text; /* what is asserted, or counted */
    bool is_must;
    enum check_unit unit; /* of found; CHECK_NS: partition-nanoseconds */
    uint64_t checked;     /* how often it could have failed, or have counted */
    uint64_t found;       /* violations; what was counted */
    const char *unknown;  /* why it could not be decided; NULL: it was */
    const char *first;    /* of the violations: what happened; NULL: none */
    uint64_t first_ns;    /* when */
};

struct check;

struct check_options {
    /* Every violation of a MUST, as the event `viol`, lent for the call. May be NULL. */
    void (*on_violation)(const struct trace_event *violation, void *user);
    void *user;
};

/* NULL: out of memory. `options` may be NULL. */
struct check *check_new(const struct check_options *options);
void check_free(struct check *c);

/* A sink; user is the check. Wants level 2; with less, less can be decided. */
void check_take(const struct trace_event *event, void *check);

/* After the last event, once: what can be said only then. ZKC_ERR_NOMEM: memory ran out on the way,
 * and the results are those of the events before. */
ZKC_MUST_CHECK enum zkc_err check_finish(struct check *c);

/* Lent as long as the check. */
struct check_result check_result(const struct check *c, enum check_id id);
/* Of a time (CHECK_NS), before the end: what has passed up to each partition's last change. */
uint64_t check_time_so_far(const struct check *c, enum check_id id);
/* Violations of all MUSTs so far. */
uint64_t check_violations(const struct check *c);
/* The id of an invariant or count; CHECK_COUNT: there is none of this name. */
enum check_id check_by_name(const char *name);
const char *check_name(enum check_id id);

#endif
